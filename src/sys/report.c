/*
  -mat_dcsr_report: counters of the copies between host and device by cause and by who asked for them, and lines about what was done where. Printed when PETSc ends, summed over
  all processes. Nothing is counted without the option but vectors that live on the host.
*/
#include "testing.h"
#include <stdarg.h>

#define NAMED_ROWS   (REPORT_MAX_ROWS - 2 * REPORT_NUM_CAUSES) /* what does not fit there is counted under its cause alone, for which there is room */
#define MAX_LINES    64
#define LINE_LENGTH  160
#define HOST_VECTORS 100 /* that many are told of: a program that puts its vectors on the host by mistake needs more */

/* A line about what was done where. */
typedef struct {
  char       text[LINE_LENGTH];
  PetscInt64 times;
} Line;

static const char *const causes[REPORT_NUM_CAUSES] = {"lists and results",    "structure of matrices",      "values of matrices", "vectors on the host",
                                                      "entries that are set", "other matrices on the host", "PCGAMG on the host"};
/* In front of the names of PETSc's operations that are called through the host copy. */
static const char *const prefixes[] = {"MatHost_SeqAIJCUDA_", "MatHost_MPIAIJCUDA_", "MatHost_AIJCUDA_"};

ReportRow ReportRows[REPORT_MAX_ROWS];
int       ReportNumRows = 0;

static PetscBool                  active       = PETSC_FALSE;
static PetscInt64                 host_vectors = 0; /* copied so far */
static PetscSparseCUDAReportScope scope        = {REPORT_OTHER, NULL};
static Line                       lines[MAX_LINES];
static int                        num_lines = 0, lines_lost = 0;

/* Whether there was room for it. */
static PetscBool AddRow(ReportRow table[], int *n, int most, const ReportRow *row)
{
  int k;

  for (k = 0; k < *n; k++) {
    if (table[k].cause == row->cause && table[k].to_host == row->to_host && !strcmp(table[k].who, row->who)) break;
  }
  if (k == *n) {
    if (*n >= most) return PETSC_FALSE;
    table[(*n)++] = *row;
  } else {
    table[k].count += row->count;
    table[k].bytes += row->bytes;
    table[k].seconds += row->seconds;
  }
  return PETSC_TRUE;
}

/* PetscSparseCUDAReportActive - Whether -mat_dcsr_report was given. */
PetscBool PetscSparseCUDAReportActive(void)
{
  return active;
}

/*
  PetscSparseCUDAReportEnter - Says what the copies from now on are for; returns what was said before, for PetscSparseCUDAReportLeave().
  REPORT_OTHER leaves the cause as it is. who: name of the function that wants them, borrowed for good; NULL leaves the name as it is.
*/
PetscSparseCUDAReportScope PetscSparseCUDAReportEnter(PetscSparseCUDACause cause, const char who[])
{
  const PetscSparseCUDAReportScope outer = scope;

  if (cause != REPORT_OTHER) scope.cause = cause;
  if (who != NULL) scope.who = who;
  return outer;
}

/* PetscSparseCUDAReportLeave - Goes back to what PetscSparseCUDAReportEnter() has returned. */
void PetscSparseCUDAReportLeave(PetscSparseCUDAReportScope outer)
{
  scope = outer;
}

/* PetscSparseCUDAReportCopy - Counts a copy under what PetscSparseCUDAReportEnter() has said. seconds: that the host spent on it, with the wait for work queued before. */
void PetscSparseCUDAReportCopy(PetscBool to_host, size_t bytes, PetscLogDouble seconds)
{
  const char *who = scope.who, *what = "";
  ReportRow   row = {"", (int)scope.cause, to_host ? 1 : 0, 1, (double)bytes, seconds};

  if (!active) return;
  for (size_t k = 0; who != NULL && k < PETSC_STATIC_ARRAY_LENGTH(prefixes); k++) {
    const size_t length = strlen(prefixes[k]);

    if (strncmp(who, prefixes[k], length)) continue;
    who += length;
    what = "operation ";
  }
  if (who != NULL) (void)snprintf(row.who, sizeof(row.who), "%s%s", what, who);
  if (AddRow(ReportRows, &ReportNumRows, NAMED_ROWS, &row)) return;
  row.who[0] = 0;
  (void)AddRow(ReportRows, &ReportNumRows, REPORT_MAX_ROWS, &row);
}

/*
  PetscSparseCUDAReportLine - Adds a line about what was done where, as for printf(), or counts it once more.
  The lines of the first process are printed, so that all processes say the same or the first one speaks for them.
*/
PetscErrorCode PetscSparseCUDAReportLine(const char format[], ...)
{
  char    text[LINE_LENGTH];
  va_list arguments;

  PetscFunctionBegin;
  if (!active) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  for (int k = 0; k < num_lines; k++) {
    if (!strcmp(lines[k].text, text)) {
      lines[k].times++;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (num_lines == MAX_LINES) lines_lost++;
  else {
    PetscCall(PetscStrncpy(lines[num_lines].text, text, sizeof(text)));
    lines[num_lines++].times = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAReportHostVector - Counts a vector on the host that an operation on the device has asked for. often: whether this one makes it often, once in a program: time to tell the user */
PetscErrorCode PetscSparseCUDAReportHostVector(PetscBool *often)
{
  PetscFunctionBegin;
  *often = (PetscBool)(++host_vectors == HOST_VECTORS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of all processes, on the first one; the others get none. table has room for REPORT_MAX_ROWS of each. */
static PetscErrorCode GatherRows(ReportRow table[], int *n, PetscMPIInt size)
{
  ReportRow  *all    = NULL;
  int        *counts = NULL;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) PetscCall(PetscMalloc2((size_t)size * REPORT_MAX_ROWS, &all, size, &counts));
  PetscCallMPI(MPI_Gather(&ReportNumRows, 1, MPI_INT, counts, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Gather(ReportRows, (PetscMPIInt)sizeof(ReportRows), MPI_BYTE, all, (PetscMPIInt)sizeof(ReportRows), MPI_BYTE, 0, PETSC_COMM_WORLD));
  *n = 0;
  for (PetscMPIInt p = 0; rank == 0 && p < size; p++) {
    for (int k = 0; k < counts[p]; k++) (void)AddRow(table, n, REPORT_MAX_ROWS * size, &all[p * REPORT_MAX_ROWS + k]);
  }
  PetscCall(PetscFree2(all, counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int MoreSeconds(const void *a, const void *b)
{
  const double x = ((const ReportRow *)a)->seconds, y = ((const ReportRow *)b)->seconds;

  return x < y ? 1 : x > y ? -1 : strcmp(((const ReportRow *)a)->who, ((const ReportRow *)b)->who);
}

/* The rows, those that took longest first. */
static PetscErrorCode PrintRows(ReportRow table[], int n)
{
  PetscFunctionBegin;
  qsort(table, (size_t)n, sizeof(*table), MoreSeconds);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-28s %-9s %-32s %10s %12s %10s\n", "copied", "to", "asked for by", "copies", "MB", "seconds"));
  for (int k = 0; k < n; k++) {
    const ReportRow *r = &table[k];

    PetscCall(
      PetscPrintf(PETSC_COMM_SELF, "  %-28s %-9s %-32s %10.0f %12.3f %10.4f\n", causes[r->cause], r->to_host ? "host" : "device", r->who[0] ? r->who : "-", r->count, r->bytes / 1e6, r->seconds));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Print(ReportRow table[], int n, PetscMPIInt size, PetscBool device, PetscInt64 vectors)
{
  PetscFunctionBegin;
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "petscsparsecuda: -mat_dcsr_report, %d process%s, %s\n", size, size == 1 ? "" : "es, summed", device ? "with a GPU" : "no GPU: everything was done on the host"));
  if (n > 0) PetscCall(PrintRows(table, n));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "  nothing was copied between host and device\n"));
  if (vectors >= HOST_VECTORS)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %" PetscInt64_FMT " vectors lived on the host: -vec_type cuda, -dm_vec_type cuda or MatCreateVecs() puts them on the device\n", vectors));
  for (int k = 0; k < num_lines; k++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s", lines[k].text));
    if (lines[k].times > 1) PetscCall(PetscPrintf(PETSC_COMM_SELF, " (%" PetscInt64_FMT " times)", lines[k].times));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  }
  if (lines_lost) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  and %d more\n", lines_lost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prints the report and forgets everything: another PetscInitialize() begins anew. */
static PetscErrorCode Finalize(void)
{
  ReportRow  *table   = NULL;
  PetscInt64  vectors = host_vectors;
  PetscMPIInt rank, size;
  PetscBool   device;
  int         n;

  PetscFunctionBegin;
  if (active) {
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    device = PetscDeviceInitialized(PETSC_DEVICE_CUDA);
    if (rank == 0) PetscCall(PetscMalloc1((size_t)size * REPORT_MAX_ROWS, &table));
    PetscCall(GatherRows(table, &n, size));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &vectors, 1, MPIU_INT64, MPI_SUM, PETSC_COMM_WORLD));
    if (rank == 0) PetscCall(Print(table, n, size, device, vectors));
    PetscCall(PetscFree(table));
  }
  active        = PETSC_FALSE;
  host_vectors  = 0;
  ReportNumRows = num_lines = lines_lost = 0;
  scope.cause                            = REPORT_OTHER;
  scope.who                              = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAReportInitialize - Reads the option -mat_dcsr_report, and has the report printed when PETSc ends. Collective on PETSC_COMM_WORLD */
PetscErrorCode PetscSparseCUDAReportInitialize(void)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_dcsr_report", &active, NULL));
  PetscCall(PetscRegisterFinalize(Finalize));
  PetscFunctionReturn(PETSC_SUCCESS);
}
