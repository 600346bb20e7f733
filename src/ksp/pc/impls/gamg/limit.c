/*
  Limits of a hierarchy: operators that become dense fill the memory, or take minutes, before anyone sees why. Sizes are looked at before a coarse operator is made, by a sample of its rows on the
  device, and afterwards; beyond the limits the setup ends on all processes with an error that says what to do. What PETSc's setup loses in an error goes, so that the PC can be used again.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include "../../../../mat/impls/aijcuda/product/product.h"

#define BYTES_PER_ENTRY (sizeof(PetscScalar) + 2 * sizeof(int32_t)) /* of a product while it is made: its entries and the pool of columns */
#define SMALL_BYTES     16777216.0                                  /* products up to this size need no thought about memory */
#define MAX_FACTORED    2000                                        /* rows; coarsest levels have some dozens */
#define SAMPLE_ERROR    1.1                                         /* a sample may say so many times too much */

/* What is known of a coarse operator before it is made. */
typedef struct {
  PetscBool device;    /* the device makes it, where all processes have an error when one has */
  PetscBool fits;      /* into the memory of all devices */
  double    entries;   /* of all processes, an estimate or an upper bound; 0: not known */
  double    available; /* bytes of memory on all devices */
} Forecast;

/* Numbers that processes add up. */
typedef struct {
  double entries, available;
  double too_large, failed; /* processes on which it does not fit, and that have an error */
} LocalForecast;

/* GAMGUnderWayReset - Destroys the matrices of a setup that has failed. Collective. */
PetscErrorCode GAMGUnderWayReset(GAMGUnderWay *u)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < u->num_levels; k++) {
    PetscCall(MatDestroy(&u->operators[k]));
    PetscCall(MatDestroy(&u->prolongators[k]));
  }
  u->num_levels = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a matrix of ours on this process. */
static double GetLocalEntries(Mat A, PetscBool mpi)
{
  double n = (double)((Mat_SeqAIJ *)(mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A)->data)->nz;

  if (mpi) n += (double)((Mat_SeqAIJ *)MatMPIAIJCUDAGetBlock(A, 1)->data)->nz;
  return n;
}

/* Entries of the rows of P^T A P on this process: an upper bound when that says enough, else an estimate by the diagonal blocks; allowed: so many are fine. */
static PetscErrorCode ForeseeHere(Mat A, Mat P, PetscBool mpi, double allowed, LocalForecast *f)
{
  const double mean = GetLocalEntries(P, mpi) / (double)PetscMax(P->rmap->n, 1);
  PetscReal    entries;
  size_t       available;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  f->available = (double)available;
  f->entries   = PetscMin(GetLocalEntries(A, mpi) * mean * mean, (double)P->cmap->n * (double)P->cmap->N);
  if (f->entries <= allowed && f->entries * BYTES_PER_ENTRY <= PetscMax(f->available, SMALL_BYTES)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAEstimatePtAP(mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A, mpi ? MatMPIAIJCUDAGetBlock(P, 0) : P, &entries));
  f->entries   = (double)entries;
  f->too_large = f->entries * BYTES_PER_ENTRY > PetscMax(f->available, SMALL_BYTES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error handler that is silent about memory: that is said once, with what to do. Others are for the handler below. */
static PetscErrorCode QuietAboutMemory(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code, PetscErrorType type, const char *message, PetscCtx ctx)
{
  PetscErrorCode ierr;

  if (code == PETSC_ERR_MEM) return code;
  (void)PetscPopErrorHandler();
  ierr = (PetscError)(comm, line, function, file, code, type, "%s", message != NULL ? message : " "); // in parentheses: conf/check-messages asks for rows of our own messages
  (void)PetscPushErrorHandler(QuietAboutMemory, ctx);
  return ierr;
}

/* Whether the device makes the product, on all processes. Collective. */
static PetscErrorCode IsOnDevice(Mat A, Mat P, PetscBool *mpi, PetscBool *device)
{
  PetscBool seq[2], is_mpi[2];

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq[0]));
  PetscCall(MatIsSeqAIJCUDA(P, &seq[1]));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi[0]));
  PetscCall(MatIsMPIAIJCUDA(P, &is_mpi[1]));
  *mpi    = (PetscBool)(is_mpi[0] && is_mpi[1]);
  *device = PETSC_FALSE;
  if (*mpi) PetscCall(MatMPIAIJCUDAStructureOnDevice(A, device));
  else if (seq[0] && seq[1]) PetscCall(MatSeqAIJCUDAStructureOnDevice(A, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of P^T A P; so many entries of all processes are allowed. Collective. */
static PetscErrorCode Foresee(PC pc, Mat A, Mat P, double allowed, Forecast *f)
{
  LocalForecast  here = {0, 0, 0, 0};
  PetscBool      mpi = PETSC_FALSE, device = PETSC_FALSE;
  PetscMPIInt    size;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(IsOnDevice(A, P, &mpi, &device));
  f->device    = device;
  f->fits      = PETSC_TRUE;
  f->entries   = 0;
  f->available = 0;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPushErrorHandler(QuietAboutMemory, NULL));
  ierr = ForeseeHere(A, P, mpi, allowed / size, &here);
  PetscCall(PetscPopErrorHandler());
  if (ierr == PETSC_ERR_MEM) here.too_large = 1;
  else here.failed = ierr != PETSC_SUCCESS;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &here, sizeof(here) / sizeof(double), MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  if (here.failed > 0) PetscCall(PetscSparseCUDAErrorOfAll(PETSC_ERR_LIB, ierr == PETSC_ERR_MEM ? PETSC_SUCCESS : ierr));
  f->fits      = (PetscBool)(here.too_large == 0);
  f->entries   = here.entries;
  f->available = here.available;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros of the finest operator, and of all but the one under way. Collective. */
static PetscErrorCode CountNonzeros(PC pc, const GAMGUnderWay *u, double *finest, double *all)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(pc->pmat, MAT_GLOBAL_SUM, &info));
  *finest = *all = PetscMax(info.nz_used, 1);
  for (PetscInt k = 0; k < u->num_levels - 1; k++) {
    PetscCall(MatGetInfo(u->operators[k], MAT_GLOBAL_SUM, &info));
    *all += info.nz_used;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options that make the operator of a level smaller, as they are to be typed. */
static PetscErrorCode GetCures(PC pc, const GAMGContext *context, PetscInt level, size_t length, char cures[])
{
  const PC_GAMG  *gamg        = GAMGGet(pc);
  const PetscInt  aggressive  = GAMGGetAggOptions(pc)->aggressive_coarsening_levels;
  const PetscReal threshold   = gamg->threshold[level];
  const char     *p           = ((PetscObject)pc)->prefix != NULL ? ((PetscObject)pc)->prefix : "";
  char            preset[128] = "", filter[128] = "", smaller[128] = "";

  PetscFunctionBegin;
  if (context->preset == GAMG_PRESET_NONE) PetscCall(PetscSNPrintf(preset, sizeof(preset), "-%spc_gamg_preset robust, or ", p));
  if (GAMGHasFilter() && GAMGGetFilter(gamg, 0) < 0.1) PetscCall(PetscSNPrintf(filter, sizeof(filter), "-%spc_gamg_prolongator_filter 0.1 (now %.3g), ", p, (double)GAMGGetFilter(gamg, 0)));
  if (threshold > 0) PetscCall(PetscSNPrintf(smaller, sizeof(smaller), "a smaller -%spc_gamg_threshold (now %.3g), ", p, (double)threshold));
  PetscCall(PetscSNPrintf(cures, length, "%s%s%s-%spc_gamg_aggressive_coarsening %" PetscInt_FMT " (now %" PetscInt_FMT ")", preset, filter, smaller, p, PetscMax(aggressive, level) + 1, aggressive));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of a coarse operator that is too large, with so many rows and nonzeros, 0: not known. Collective. */
static PetscErrorCode Refuse(PC pc, GAMGContext *context, PetscInt num_rows, const Forecast *f, double nonzeros, PetscErrorCode code)
{
  const PetscInt level = GAMGGet(pc)->current_level;
  double         finest, all;
  char           size[128] = "there is not enough memory for it", memory[128] = "", limit[128] = "", cures[512];

  PetscFunctionBegin;
  context->tune.limited = PETSC_TRUE;
  PetscCall(CountNonzeros(pc, &context->under_way, &finest, &all));
  if (nonzeros > 0)
    PetscCall(PetscSNPrintf(size, sizeof(size), "%.4g nonzeros (%.3g GB, operator complexity %.3g)", nonzeros, nonzeros * (sizeof(PetscScalar) + sizeof(int32_t)) * 1e-9, (all + nonzeros) / finest));
  if (f->device) PetscCall(PetscSNPrintf(memory, sizeof(memory), "; %.3g GB of device memory are free", f->available * 1e-9));
  if (context->max_complexity > 0)
    PetscCall(PetscSNPrintf(limit, sizeof(limit), "; -%spc_gamg_max_complexity is %.3g", ((PetscObject)pc)->prefix != NULL ? ((PetscObject)pc)->prefix : "", (double)context->max_complexity));
  PetscCall(GetCures(pc, context, level, sizeof(cures), cures));
  PetscFunctionReturn(PetscError(PetscObjectComm((PetscObject)pc), __LINE__, PETSC_FUNCTION_NAME, __FILE__, code, PETSC_ERROR_INITIAL,
                                 "PCGAMG level %" PetscInt_FMT ": P^T A P of %" PetscInt_FMT " rows is too large: %s%s%s. Use %s", level + 1, num_rows, size, memory, limit, cures));
}

/* The level below A by PETSc's code or ours, silent about memory where that is an error of all processes. */
static PetscErrorCode CreateLevel(PC pc, const Forecast *f, Mat A, PetscInt bs, Mat *P, Mat *C, PetscMPIInt *num_active, IS *permutation, PetscBool last)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (f->device) PetscCall(PetscPushErrorHandler(QuietAboutMemory, NULL));
  ierr = GAMGCreateLevel(pc, A, bs, P, C, num_active, permutation, last);
  if (f->device) PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(ierr);
}

/*
  A filter may leave a column of the prolongator without entries, and so a row of the coarse operator. Where that is factored PETSc raises an error, on the process that has the level alone: a trial
  ends before, on all. Operators that are too large to be factored are not looked at. Collective.
*/
static PetscErrorCode CheckRows(PC pc, GAMGContext *context, Mat C)
{
  PetscInt n, num_empty = 0;

  PetscFunctionBegin;
  if (!context->tune.trial || !(GAMGGetFilter(GAMGGet(pc), 0) > 0) || C->rmap->N > MAX_FACTORED) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt r = C->rmap->rstart; r < C->rmap->rend; r++) {
    PetscCall(MatGetRow(C, r, &n, NULL, NULL));
    if (n == 0) num_empty++;
    PetscCall(MatRestoreRow(C, r, &n, NULL, NULL));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &num_empty, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  context->tune.limited = (PetscBool)(num_empty > 0);
  PetscCheck(num_empty == 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_NOT_CONVERGED, "Rows of the coarsest operator of a trial have no entries");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCreateLevelInLimits - PETSc's operation createlevel: GAMGCreateLevel(), if the coarse operator fits into the memory and -pc_gamg_max_complexity (most nonzeros of all operators over those of the
  finest one, 0: no limit but memory). Collective PETSC_ERR_MEM when the operator does not fit into the memory of a device, PETSC_ERR_ARG_OUTOFRANGE beyond the limit; on all processes. C is NULL then,
  and matrices of this setup are in context->under_way.
  Cost: GAMGCreateLevel()'s; two reductions of few numbers on several processes; where an upper bound does not say that all is well, a sample of some rows of the operator. With a limit, the nonzeros
  of all levels.
*/
PetscErrorCode GAMGCreateLevelInLimits(PC pc, Mat A, PetscInt bs, Mat *P, Mat *C, PetscMPIInt *num_active, IS *permutation, PetscBool last)
{
  const PetscInt level = GAMGGet(pc)->current_level, num_rows = (*P)->cmap->N;
  double         finest = 0, all = 0, most = PETSC_MAX_REAL;
  GAMGContext   *context;
  GAMGUnderWay  *u;
  Forecast       f;
  MatInfo        info;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->tune.creates  = PETSC_TRUE;
  u                      = &context->under_way;
  *C                     = NULL;
  u->num_levels          = level + 1;
  u->operators[level]    = NULL;
  u->prolongators[level] = *P;
  if (context->max_complexity > 0) {
    PetscCall(CountNonzeros(pc, u, &finest, &all));
    most = PetscMax((double)context->max_complexity * finest - all, 0);
  }
  PetscCall(Foresee(pc, A, *P, most, &f));
  if (!f.fits) PetscCall(Refuse(pc, context, num_rows, &f, f.entries, PETSC_ERR_MEM));
  if (f.entries / SAMPLE_ERROR > most) PetscCall(Refuse(pc, context, num_rows, &f, f.entries, PETSC_ERR_ARG_OUTOFRANGE));
  ierr                   = CreateLevel(pc, &f, A, bs, P, C, num_active, permutation, last);
  u->prolongators[level] = *P;
  u->operators[level]    = *C;
  if (ierr == PETSC_ERR_MEM && f.device) PetscCall(Refuse(pc, context, num_rows, &f, 0, ierr));
  PetscCall(ierr);
  if (context->max_complexity > 0) {
    PetscCall(MatGetInfo(*C, MAT_GLOBAL_SUM, &info));
    if (info.nz_used > most) PetscCall(Refuse(pc, context, num_rows, &f, info.nz_used, PETSC_ERR_ARG_OUTOFRANGE));
  }
  if (last) PetscCall(CheckRows(pc, context, *C));
  context->tune.creates = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
