/*
  MatAXPY() on the device, which MatAYPX() and with it PCGAMG's smoothed prolongators go through, and missing diagonal entries.

  What a sum needs is counted and allocated before anything is changed, for both blocks of a parallel matrix; the rest cannot fail for want of memory. When Y has all
  entries of X, whatever the caller says of the patterns, it is updated in place, and its structure and what was made of it stay. Storage beside CSR adds by itself where it can, on one process. PETSc
  adds matrices of different types itself, row by row.
*/
#include "sum.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include "../insert/insert.h"
#include "../parallel/ghosts.h"
#include <petscsparsecuda/spadd.h>

/* A smaller part of a fragmented matrix than this is inserted into it, other sums make it compact: the rule of batches (kernels/insert/insertbatch.c). */
#define FRAGMENTED_PART 64

/* Y += a X for sequential matrices on its way. Device arrays are owned. */
typedef struct {
  Mat         Y;
  DCSRView    x;             /* X on the device, borrowed */
  PetscInt    num_columns;   /* of the sum */
  int32_t    *map_y, *map_x; /* columns of the sum behind those of Y and X; NULL: the same */
  DCSRAddPlan plan;
  PetscBool   grows; /* Y gets the storage in sum; otherwise it is updated */
  DCSRView    sum;
} BlockSum;

static PetscErrorCode BlockSumDestroy(BlockSum *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRAddPlanDestroy(&s->plan, stream));
  PetscCall(DCSRViewFree(&s->sum, stream));
  PetscCall(PetscSparseCUDAFree(&s->map_y, stream));
  PetscCall(PetscSparseCUDAFree(&s->map_x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of X that Y lacks: a subset has none, so that Y's options decide; otherwise PETSc makes a new matrix, which has none. */
static PetscErrorCode ApplyOptions(BlockSum *s, MatStructure str)
{
  const DCSRNewEntries policy = str == SUBSET_NONZERO_PATTERN ? MatSeqAIJCUDANewEntries(s->Y) : DCSR_NEW_ALLOW;
  const PetscCount     num    = s->x.num_nonzeros - s->plan.num_matched;

  PetscFunctionBegin;
  s->grows = (PetscBool)(num > 0 && policy == DCSR_NEW_ALLOW);
  PetscCheck(num == 0 || policy != DCSR_NEW_FORBID, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "The pattern of X is no subset of that of Y, which lacks %" PetscCount_FMT " of its entries, and options of Y forbid new ones: use DIFFERENT_NONZERO_PATTERN", num);
  if (s->grows) PetscCall(DCSRCheckNonzeros(s->plan.num_nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts and allocates; Y's device copy is current and compact. After an error too, BlockSumDestroy() frees what was taken. */
static PetscErrorCode BlockSumPrepare(BlockSum *s, MatStructure str, cudaStream_t stream)
{
  const DCSRView *y = &MatSeqAIJCUDAGet(s->Y)->device.view;

  PetscFunctionBegin;
  PetscCall(DCSRAddPlanCreate(*y, s->x, s->map_y, s->map_x, stream, &s->plan));
  PetscCall(ApplyOptions(s, str));
  if (s->grows) PetscCall(DCSRAddPlanAllocate(&s->plan, y->num_rows, s->num_columns, stream, &s->sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the sum the matrix. A block of a parallel matrix gets its host structure where it is kept. */
static PetscErrorCode TakeSum(BlockSum *s, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(s->Y);

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDADropPlans(s->Y));
  PetscCall(DCSRViewFree(&d->device.view, stream));
  d->device.view = s->sum;
  PetscCall(PetscArrayzero(&s->sum, 1));
  PetscCall(MatSeqAIJCUDAStructureChanged(s->Y));
  PetscCall(MatSeqAIJCUDAUpdateBlock(s->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X. */
static PetscErrorCode BlockSumFinish(BlockSum *s, PetscScalar a, cudaStream_t stream)
{
  const DCSRView y = MatSeqAIJCUDAGet(s->Y)->device.view;

  PetscFunctionBegin;
  if (s->grows) PetscCallGpuTime(DCSRAddFill(&s->plan, 1.0, y, a, s->x, s->sum, stream));
  else PetscCallGpuTime(DCSRAddUpdate(&s->plan, y, a, s->x, stream));
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)s->x.num_nonzeros));
  PetscCall(PetscInfo(s->Y, "%" PetscCount_FMT " entries added, %" PetscCount_FMT " of them new: %s\n", s->x.num_nonzeros, s->x.num_nonzeros - s->plan.num_matched, s->grows ? "merged" : "in place"));
  if (s->grows) PetscCall(TakeSum(s, stream));
  PetscCall(MatSeqAIJCUDADeviceChanged(s->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings a matrix to the device, compact, and looks at it. */
static PetscErrorCode GetCompactView(Mat X, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(X));
  PetscCall(MatSeqAIJCUDACompact(X));
  *view = MatSeqAIJCUDAGet(X)->device.view;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDACompleteDiagonal - Makes diagonal entries that are missing, with value zero; A uses the device, and is as it was after an error. */
PetscErrorCode MatSeqAIJCUDACompleteDiagonal(Mat A)
{
  BlockSum       s;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&s, 1));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  s.Y           = A;
  s.num_columns = A->cmap->n;
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACopyToDevice(A));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDACompact(A));
  PetscCallGoto(ierr, cleanup, DCSRViewCreateDiagonal(A->rmap->n, A->cmap->n, NULL, 0.0, stream, &s.x));
  PetscCallGoto(ierr, cleanup, BlockSumPrepare(&s, DIFFERENT_NONZERO_PATTERN, stream));
  if (s.grows) PetscCallGoto(ierr, cleanup, BlockSumFinish(&s, 1.0, stream));
cleanup:
  PetscCall(DCSRViewFree(&s.x, stream));
  PetscCall(BlockSumDestroy(&s, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X with equal patterns, both compact. */
static PetscErrorCode AddValues(Mat Y, PetscScalar a, DCSRView x)
{
  const DCSRView y = MatSeqAIJCUDAGet(Y)->device.view;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGpuTime(DCSRAXPYValues(y.num_nonzeros, a, x.values, y.values, stream));
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)y.num_nonzeros));
  PetscCall(MatSeqAIJCUDADeviceChanged(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values alone; like MATSEQAIJ, only a PETSc with debugging looks whether the patterns are the same. */
static PetscErrorCode AddSamePattern(Mat Y, PetscScalar a, Mat X)
{
  DCSRView     x, y;
  PetscBool    same;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(GetCompactView(X, &x));
  PetscCall(GetCompactView(Y, &y));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  same = (PetscBool)(x.num_nonzeros == y.num_nonzeros);
  if (same && PetscDefined(USE_DEBUG) && X->cmap->n == Y->cmap->n) PetscCall(DCSRSamePattern(x, y, stream, &same)); // blocks may have ghost columns without entries
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "MatStructure is not SAME_NONZERO_PATTERN");
  PetscCall(AddValues(Y, a, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Little joins fragmented storage, in place or in its slack. */
static PetscErrorCode AddToFragmented(Mat Y, PetscScalar a, DCSRView x, MatStructure str)
{
  Mat_SeqAIJ    *y     = (Mat_SeqAIJ *)Y->data;
  const PetscInt nonew = y->nonew;
  DCSRBatch      batch;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRBatchCreateFromView(a, x, stream, &batch));
  if (str != SUBSET_NONZERO_PATTERN) y->nonew = 0; // what forbids new entries does not forbid new matrices
  ierr     = MatSeqAIJCUDAInsertBatch(Y, &batch, ADD_VALUES);
  y->nonew = nonew;
  PetscCall(DCSRBatchDestroy(&batch, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By merging rows, or in place; *same when the patterns are the same. */
static PetscErrorCode AddToCompact(Mat Y, PetscScalar a, DCSRView x, MatStructure str, PetscBool *same)
{
  BlockSum       s;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&s, 1));
  s.Y           = Y;
  s.x           = x;
  s.num_columns = Y->cmap->n;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDACompact(Y));
  PetscCall(DCSRSamePattern(MatSeqAIJCUDAGet(Y)->device.view, x, stream, same));
  if (*same) {
    PetscCall(AddValues(Y, a, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallGoto(ierr, cleanup, BlockSumPrepare(&s, str, stream));
  PetscCallGoto(ierr, cleanup, BlockSumFinish(&s, a, stream));
cleanup:
  PetscCall(BlockSumDestroy(&s, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ends a sum whose pattern may be another one by an assembly, which forgets what was known of symmetry as with MATAIJ. That makes a new matrix, of which nothing is known, unless the caller says that X
  is a subset; what was said to be eternal stays so here.
*/
static PetscErrorCode AssembleSum(Mat Y, MatStructure str)
{
  PetscFunctionBegin;
  if (str != SUBSET_NONZERO_PATTERN) {
    if (!Y->symmetry_eternal) Y->symmetric = Y->hermitian = PETSC_BOOL3_UNKNOWN;
    if (!Y->structural_symmetry_eternal) Y->structurally_symmetric = PETSC_BOOL3_UNKNOWN;
    if (!Y->spd_eternal) Y->spd = PETSC_BOOL3_UNKNOWN;
  }
  PetscCall(MatAssemblyBegin(Y, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(Y, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddAnyPattern(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  const DCSRView *y    = &MatSeqAIJCUDAGet(Y)->device.view;
  PetscBool       same = PETSC_FALSE;
  DCSRView        x;

  PetscFunctionBegin;
  PetscCall(GetCompactView(X, &x));
  PetscCall(MatSeqAIJCUDACopyToDevice(Y));
  if (y->row_offsets == NULL && x.num_nonzeros <= y->num_nonzeros / FRAGMENTED_PART) PetscCall(AddToFragmented(Y, a, x, str));
  else PetscCall(AddToCompact(Y, a, x, str, &same));
  if (same && str == UNKNOWN_NONZERO_PATTERN) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AssembleSum(Y, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a sequential sum is the device's: not while host code holds the arrays of Y. */
static PetscErrorCode AddsOnDevice(Mat Y, Mat X, PetscBool *device)
{
  PetscBool ours;

  PetscFunctionBegin;
  *device = PETSC_FALSE;
  PetscCall(MatIsSeqAIJCUDA(Y, &ours));
  if (ours) PetscCall(MatIsSeqAIJCUDA(X, &ours));
  if (!ours || MatSeqAIJCUDAGet(Y)->host.active > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAUseDevice(Y, device));
  if (*device) PetscCall(MatSeqAIJCUDAUseDevice(X, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage beside CSR adds. *done PETSC_FALSE: it does not, and CSR has to. */
static PetscErrorCode AddStorage(Mat Y, PetscScalar a, Mat X, MatStructure str, PetscBool *done)
{
  const DCSRView *y = &MatSeqAIJCUDAGet(Y)->device.view, *x = &MatSeqAIJCUDAGet(X)->device.view;
  PetscCount      most;
  PetscBool       grows;
  MatDeviceSum    sum;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(MatSeqAIJCUDAFinishInsertion(Y));
  PetscCall(MatSeqAIJCUDAFinishInsertion(X));
  grows = (PetscBool)(str != SAME_NONZERO_PATTERN && (str != SUBSET_NONZERO_PATTERN || MatSeqAIJCUDANewEntries(Y) == DCSR_NEW_ALLOW));
  if (str == SAME_NONZERO_PATTERN && x->num_nonzeros != y->num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  if (grows) PetscCall(DCSRGetMaxNonzeros(&most));
  else most = y->num_nonzeros;
  PetscCall(MatSeqAIJCUDAStorageAXPY(Y, a, X, most, &sum));
  *done = (PetscBool)(sum != DEVICE_SUM_NONE);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)x->num_nonzeros));
  PetscCall(PetscInfo(Y, "%" PetscCount_FMT " entries added by storage: %s\n", x->num_nonzeros, sum == DEVICE_SUM_GROWN ? "merged" : "in place"));
  if (str == SAME_NONZERO_PATTERN || (sum == DEVICE_SUM_SAME && str == UNKNOWN_NONZERO_PATTERN)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AssembleSum(Y, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAXPY_SeqAIJCUDA - MatAXPY() for sequential matrices of ours */
PetscErrorCode MatAXPY_SeqAIJCUDA(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscBool device, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AddsOnDevice(Y, X, &device));
  if (device && X != Y) PetscCall(AddStorage(Y, a, X, str, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (!device) PetscCall(MatHost_AIJCUDA_axpy(Y, a, X, str));
  else if (X == Y) PetscCall(MatScale(Y, 1.0 + a));
  else if (str == SAME_NONZERO_PATTERN) PetscCall(AddSamePattern(Y, a, X));
  else PetscCall(AddAnyPattern(Y, a, X, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares the sums [2] of both blocks; garray [columns of the second sum] are its ghost columns, to be freed by the caller, also after an error. */
static PetscErrorCode PrepareBlocks(Mat Y, Mat X, MatStructure str, cudaStream_t stream, BlockSum sums[], PetscInt **garray)
{
  const Mat_MPIAIJ *y = (Mat_MPIAIJ *)Y->data, *x = (Mat_MPIAIJ *)X->data;
  const Mat         blocks[2] = {y->A, y->B}, others[2] = {x->A, x->B};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    sums[k].Y           = blocks[k];
    sums[k].num_columns = blocks[k]->cmap->n;
    PetscCall(GetCompactView(others[k], &sums[k].x));
    PetscCall(MatSeqAIJCUDACopyToDevice(blocks[k]));
    PetscCall(MatSeqAIJCUDACompact(blocks[k]));
    if (k == 1) PetscCall(GhostColumnsUnite(y->B->cmap->n, y->garray, x->B->cmap->n, x->garray, stream, &sums[k].num_columns, garray, &sums[k].map_y, &sums[k].map_x));
    PetscCall(BlockSumPrepare(&sums[k], str, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum of parallel matrices, on all processes or none; their assembly is left to the caller. Collective. */
static PetscErrorCode AddBlocks(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  PetscInt      *garray = NULL;
  BlockSum       sums[2];
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(sums, 2));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = PrepareBlocks(Y, X, str, stream, sums, &garray);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)Y), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, BlockSumFinish(&sums[k], a, stream));
  if (sums[1].grows && sums[1].num_columns > ((Mat_MPIAIJ *)Y->data)->B->cmap->n) PetscCallGoto(ierr, cleanup, MatMPIAIJCUDASetGhosts(Y, sums[1].num_columns, &garray));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(BlockSumDestroy(&sums[k], stream));
  PetscCall(PetscFree(garray));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same answer on all processes. */
static PetscErrorCode ParallelAddsOnDevice(Mat Y, Mat X, PetscBool *device)
{
  const Mat_MPIAIJ *y = (Mat_MPIAIJ *)Y->data, *x = (Mat_MPIAIJ *)X->data;
  PetscBool         ours, block[2]                = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(X, &ours));
  if (ours) {
    PetscCall(AddsOnDevice(y->A, x->A, &block[0]));
    PetscCall(AddsOnDevice(y->B, x->B, &block[1]));
  }
  *device = (PetscBool)(block[0] && block[1] && MatMPIAIJCUDAGet(X)->state != PARALLEL_HOST && MatMPIAIJCUDAGet(Y)->state != PARALLEL_HOST && !MatMPIAIJCUDAHasGlobalColumns(Y) &&
                        !MatMPIAIJCUDAHasGlobalColumns(X));
  if (*device) PetscCall(MatMPIAIJCUDAInsertsOnDevice(Y, device)); // the assembly at the end is the device's, too
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)Y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAXPY_MPIAIJCUDA - MatAXPY() for parallel matrices of ours: block by block, with the union of the ghost columns */
PetscErrorCode MatAXPY_MPIAIJCUDA(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  Mat_MPIAIJ *y = (Mat_MPIAIJ *)Y->data, *x = (Mat_MPIAIJ *)X->data;
  PetscBool   device;

  PetscFunctionBegin;
  PetscCall(ParallelAddsOnDevice(Y, X, &device));
  if (!device) PetscCall(MatHost_AIJCUDA_axpy(Y, a, X, str));
  else if (X == Y) PetscCall(MatScale(Y, 1.0 + a));
  else if (str == SAME_NONZERO_PATTERN) {
    PetscCall(MatAXPY(y->A, a, x->A, str));
    if (x->B->cmap->n == y->B->cmap->n) PetscCall(MatAXPY(y->B, a, x->B, str));
    else PetscCall(AddSamePattern(y->B, a, x->B)); // one has ghost columns without entries: these ascend in both, so that entries are in one order
    PetscCall(PetscObjectStateIncrease((PetscObject)Y));
  } else {
    PetscCall(AddBlocks(Y, a, X, str));
    PetscCall(AssembleSum(Y, str));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
