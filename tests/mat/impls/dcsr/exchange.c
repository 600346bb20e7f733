static char help[] = "Stash and exchange of entries of other processes: what arrives, in which order, from and to host and device memory, with a new and a kept pattern.\n\n";

#include "testmat.h"
#include <src/mat/impls/aijcuda/exchange/exchange.h>
#include "../../../../src/petsc/sys.h"

static uint64_t state;

static PetscInt Random(PetscInt end)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((state >> 33) % (uint64_t)end);
}

/* Entry k of what a rank sends, the same wherever it is asked for; entries come in the order of k. Rows may be the rank's own: it leaves those out. */
static void Entry(PetscLayout map, PetscMPIInt rank, uint64_t seed, PetscInt k, PetscInt *row, PetscInt *column, PetscScalar *v)
{
  state   = seed + 7919 * (uint64_t)rank + 104729 * (uint64_t)k;
  *row    = Random(map->N);
  *row    = Random(map->N); /* the first one of a new state hardly differs from its neighbors' */
  *column = Random(1000);
  *v      = (PetscScalar)(1000000 * (PetscReal)rank + k);
}

static PetscBool IsOwn(PetscLayout map, PetscMPIInt rank, PetscInt row)
{
  return (PetscBool)(row >= map->range[rank] && row < map->range[rank + 1]);
}

static PetscErrorCode ToDevice(PetscCount n, const void *host, size_t size, cudaStream_t stream, void **device)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)n * size, "entries", stream, device));
  PetscCall(PetscSparseCUDACopyToDevice(*device, host, (size_t)n * size, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries [begin, end) go into the stash, as one part on the device or one by one. */
static PetscErrorCode AppendPart(OffProcessStash *s, PetscLayout map, PetscMPIInt rank, uint64_t seed, PetscInt begin, PetscInt end, PetscBool device, cudaStream_t stream)
{
  PetscInt    *rows, *columns, *rows_device, *columns_device, n = 0;
  PetscScalar *values, *values_device;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(end - begin, &rows, end - begin, &columns, end - begin, &values));
  for (PetscInt k = begin; k < end; k++) {
    Entry(map, rank, seed, k, &rows[n], &columns[n], &values[n]);
    if (!IsOwn(map, rank, rows[n])) n++;
  }
  if (device && n > 0) {
    PetscCall(ToDevice(n, rows, sizeof(*rows), stream, (void **)&rows_device));
    PetscCall(ToDevice(n, columns, sizeof(*columns), stream, (void **)&columns_device));
    PetscCall(ToDevice(n, values, sizeof(*values), stream, (void **)&values_device));
    PetscCall(OffProcessStashAppendDevice(s, n, &rows_device, &columns_device, &values_device));
  } else {
    for (PetscInt k = 0; k < n; k++) PetscCall(OffProcessStashAppend(s, rows[k], columns[k], values[k]));
  }
  PetscCall(PetscFree3(rows, columns, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A host copy of what arrived, in place. */
static PetscErrorCode ToHost(OffProcessPart *part, cudaStream_t stream)
{
  OffProcessPart host = *part;

  PetscFunctionBegin;
  if (PetscMemTypeHost(part->mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  host.mtype = PETSC_MEMTYPE_HOST;
  PetscCall(PetscMalloc1(part->n, &host.rows));
  PetscCall(PetscMalloc1(part->n, &host.columns));
  PetscCall(PetscMalloc1(part->n, &host.values));
  PetscCall(PetscSparseCUDACopyToHost(host.rows, part->rows, (size_t)part->n * sizeof(*part->rows), stream));
  PetscCall(PetscSparseCUDACopyToHost(host.columns, part->columns, (size_t)part->n * sizeof(*part->columns), stream));
  PetscCall(PetscSparseCUDACopyToHost(host.values, part->values, (size_t)part->n * sizeof(*part->values), stream));
  PetscCall(OffProcessPartDestroy(part, stream));
  *part = host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What arrived must be every other rank's entries for this one, by rank and in the order they were appended in; each rank had num. */
static PetscErrorCode Compare(PetscLayout map, PetscMPIInt size, PetscMPIInt rank, uint64_t seed, PetscInt num, const OffProcessPart *received)
{
  PetscCount at = 0;

  PetscFunctionBegin;
  for (PetscMPIInt r = 0; r < size; r++)
    for (PetscInt k = 0; r != rank && k < num; k++) {
      PetscInt    row, column;
      PetscScalar v;

      Entry(map, r, seed, k, &row, &column, &v);
      if (!IsOwn(map, rank, row)) continue;
      while (at < received->n && received->rows[at] < 0) at++;
      PetscCheck(at < received->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "entry %" PetscInt_FMT " of rank %d did not arrive", k, r);
      PetscCheck(received->rows[at] == row && received->columns[at] == column && received->values[at] == v, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "(%" PetscInt_FMT ",%" PetscInt_FMT ") arrived in place of entry %" PetscInt_FMT " of rank %d, (%" PetscInt_FMT ",%" PetscInt_FMT ")", received->rows[at], received->columns[at], k, r,
                 row, column);
      at++;
    }
  for (; at < received->n; at++) PetscCheck(received->rows[at] < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "row %" PetscInt_FMT " arrived too often", received->rows[at]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One assembly: num entries of each rank in parts, on the device where which has the bit of the part. */
static PetscErrorCode Round(OffProcessStash *s, PetscLayout map, uint64_t seed, PetscInt num, PetscInt which, PetscMemType mtype, cudaStream_t stream, PetscBool *kept)
{
  const PetscInt num_parts = 5;
  OffProcessPart received;
  PetscBool      fits;
  PetscMPIInt    size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt p = 0; p < num_parts; p++) PetscCall(AppendPart(s, map, rank, seed, num * p / num_parts, num * (p + 1) / num_parts, (PetscBool)(which >> p & 1), stream));
  PetscCall(OffProcessStashSort(s, map, stream));
  fits = OffProcessStashFits(s);
  PetscCallMPI(MPIU_Allreduce(&fits, kept, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscCall(OffProcessStashExchange(s, map, (PetscBool) !*kept, mtype, stream, &received));
  PetscCheck(OffProcessStashCount(s) == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the stash is not empty after the exchange");
  PetscCall(ToHost(&received, stream));
  PetscCall(Compare(map, size, rank, seed, num, &received));
  PetscCall(OffProcessPartDestroy(&received, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Assemblies one after the other with one stash. */
static PetscErrorCode Test(PetscInt n, PetscBool gaps, PetscInt which, PetscMemType mtype, cudaStream_t stream)
{
  OffProcessStash s;
  PetscLayout     map;
  PetscBool       kept;
  PetscMPIInt     rank, size;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&s, 1));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscLayoutCreateFromSizes(PETSC_COMM_WORLD, gaps ? (rank % 2 || size == 1 ? n : 0) : PETSC_DECIDE, gaps ? PETSC_DECIDE : n, 1, &map));
  PetscCall(Round(&s, map, 1, 900, which, mtype, stream, &kept));
  PetscCheck(!kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the first entries fitted a pattern that there was not");
  PetscCall(Round(&s, map, 1, 900, which >> 1, mtype, stream, &kept));
  PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the same entries did not fit");
  PetscCall(Round(&s, map, 1, 500, which, mtype, stream, &kept));
  PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "some of the entries did not fit");
  PetscCall(Round(&s, map, 1, 0, which, mtype, stream, &kept));
  PetscCheck(kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no entries did not fit");
  PetscCall(Round(&s, map, 2, 4000, which, mtype, stream, &kept));
  PetscCheck(!kept || size == 1 || n == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "more entries fitted");
  PetscCall(AppendPart(&s, map, rank, 3, 0, 100, (PetscBool)(which & 1), stream));
  PetscCall(OffProcessStashClear(&s, stream));
  PetscCall(Round(&s, map, 4, 70, which, mtype, stream, &kept));
  PetscCall(OffProcessStashDestroy(&s, stream));
  PetscCall(PetscLayoutDestroy(&map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FailMalloc(size_t bytes, PetscBool clear, int line, const char function[], const char file[], void **result)
{
  *result = NULL;
  return PETSC_ERR_MEM;
}

/* All ranks have num units for the last one, which with fails has no memory for what it tells the receivers. The errors of this rank, and after the agreement; they are destroyed after an error. */
static PetscErrorCode CreateToLast(MPI_Comm comm, PetscInt num, PetscBool fails, RowMessages *m, PetscErrorCode *ierr, PetscErrorCode *all)
{
  PetscErrorCode (*const allocate)(size_t, PetscBool, int, const char[], const char[], void **) = PetscTrMalloc;
  PetscInt   *starts;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscCalloc1(size + 1, &starts));
  starts[size] = num;
  PetscCall(PetscArrayzero(m, 1));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (fails && rank == size - 1) PetscTrMalloc = FailMalloc;
  *ierr         = RowMessagesCreateFromStarts(comm, starts, m);
  PetscTrMalloc = allocate;
  PetscCall(PetscSparseCUDAAgree(comm, *ierr, all));
  PetscCall(PetscPopErrorHandler());
  if (*all != PETSC_SUCCESS) {
    PetscCall(RowMessagesDestroy(m));
    PetscCheck(!m->created && m->ranks[0] == NULL && m->ranks[1] == NULL && m->requests == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "messages that were destroyed have something");
  }
  PetscCall(PetscFree(starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank fails before it tells anybody what it sends, then one has more to receive than PetscInt can tell, which it learns from the others: all have the error, and then new messages. */
static PetscErrorCode TestErrors(void)
{
  RowMessages    m;
  MPI_Comm       comm;
  PetscMPIInt    rank, size;
  PetscErrorCode ierr, all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &comm, NULL)); // PETSC_COMM_WORLD of objects, which the messages refer to
  PetscCall(CreateToLast(comm, 2, PETSC_TRUE, &m, &ierr, &all));
  PetscCheck(ierr == PETSC_ERR_MEM && all == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "errors %d and %d when one process has no memory", (int)ierr, (int)all);
  if (size > 1 && !PetscDefined(USE_64BIT_INDICES)) {
    PetscCall(CreateToLast(comm, PETSC_INT_MAX, PETSC_FALSE, &m, &ierr, &all));
    PetscCheck(ierr == (rank == size - 1 ? PETSC_ERR_ARG_OUTOFRANGE : PETSC_SUCCESS), PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d for what one process receives", (int)ierr);
    PetscCheck(all == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d after the agreement", (int)all);
  }
  PetscCall(CreateToLast(comm, 3, PETSC_FALSE, &m, &ierr, &all));
  PetscCheck(ierr == PETSC_SUCCESS && all == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "errors %d and %d afterwards", (int)ierr, (int)all);
  PetscCheck(m.num_rows[0] == 3 && m.num_rows[1] == (rank == size - 1 ? 3 * size : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " and %" PetscInt_FMT " units", m.num_rows[0], m.num_rows[1]);
  PetscCall(RowMessagesDestroy(&m));
  PetscCall(PetscCommDestroy(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank has no memory on the host for what comes to its device by way of it: all have the error, nothing was sent, and then messages arrive. */
static PetscErrorCode TestStaging(cudaStream_t stream)
{
  PetscErrorCode (*const allocate)(size_t, PetscBool, int, const char[], const char[], void **) = PetscTrMalloc;
  RowMessages    m;
  MPI_Comm       comm;
  PetscMPIInt    rank, size;
  PetscInt       numbers[3], *sent, *received, *got;
  PetscErrorCode ierr, all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscCommDuplicate(PETSC_COMM_WORLD, &comm, NULL));
  PetscCall(CreateToLast(comm, 3, PETSC_FALSE, &m, &ierr, &all));
  for (PetscInt k = 0; k < 3; k++) numbers[k] = 10 * rank + k;
  PetscCall(PetscMalloc1(m.num_rows[1], &got));
  PetscCall(PetscSparseCUDAMallocExportable(3, "units", stream, &sent));
  PetscCall(PetscSparseCUDAMallocExportable(m.num_rows[1], "units", stream, &received));
  PetscCall(PetscSparseCUDACopyToDevice(sent, numbers, sizeof(numbers), stream));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (rank == size - 1) PetscTrMalloc = FailMalloc;
  ierr          = RowMessagesExchange(&m, MPIU_INT, sent, received, stream);
  PetscTrMalloc = allocate;
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d when one process has no memory to stage messages", (int)ierr);
  PetscCall(RowMessagesExchange(&m, MPIU_INT, sent, received, stream));
  PetscCall(PetscSparseCUDACopyToHost(got, received, (size_t)m.num_rows[1] * sizeof(*got), stream));
  for (PetscInt k = 0; k < m.num_rows[1]; k++) PetscCheck(got[k] == 10 * (k / 3) + k % 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "unit %" PetscInt_FMT " is %" PetscInt_FMT, k, got[k]);
  PetscCall(PetscSparseCUDAFree(&sent, stream));
  PetscCall(PetscSparseCUDAFree(&received, stream));
  PetscCall(PetscFree(got));
  PetscCall(RowMessagesDestroy(&m));
  PetscCall(PetscCommDestroy(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {1, 40, 3000};
  char          *type;
  PetscBool      usable;
  PetscMPIInt    rank;
  cudaStream_t   stream = NULL;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  if (usable) PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
    for (int gaps = 0; gaps < 2; gaps++) {
      PetscCall(Test(sizes[k], (PetscBool)gaps, 0, PETSC_MEMTYPE_HOST, stream));
      if (!usable) continue;
      PetscCall(Test(sizes[k], (PetscBool)gaps, 31, PETSC_MEMTYPE_CUDA, stream));
      PetscCall(Test(sizes[k], (PetscBool)gaps, 10, PETSC_MEMTYPE_CUDA, stream));               /* parts of both kinds */
      PetscCall(Test(sizes[k], (PetscBool)gaps, rank % 2 ? 0 : 4, PETSC_MEMTYPE_CUDA, stream)); /* some ranks have host values only */
    }
  PetscCall(TestErrors());
  if (usable && !use_gpu_aware_mpi) PetscCall(TestStaging(stream));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   test:
      nsize: {{1 2 3 8}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out

TEST*/
