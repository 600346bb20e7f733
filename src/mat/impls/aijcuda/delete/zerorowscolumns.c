/*
  MatZeroRowsColumns() of a parallel matrix on the device. Rows travel to the processes that own them; one flag a ghost column and, for the right-hand side, its entry of
  x travel the way of products. The values of the blocks stay where they are.
*/
#include "delete.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/delete.h>
#include <petscsf.h>

/* What goes on this process. */
typedef struct {
  PetscInt       n;                  /* rows of this process */
  PetscInt      *rows;               /* [n] host, local, in any order; owned */
  PetscInt       num_ghosts;         /* ghost columns that go */
  unsigned char *ghost_flags;        /* [columns of the off-diagonal block] host, 1: the column goes; owned */
  PetscInt      *device_rows;        /* [n] device, owned; NULL before PrepareOffDiagonal() or without rows */
  unsigned char *device_row_flags;   /* [rows of the block] device, owned; NULL before PrepareOffDiagonal() */
  unsigned char *device_ghost_flags; /* [columns of the block] device, owned; NULL before PrepareOffDiagonal() */
} Removal;

static PetscErrorCode RemovalDestroy(Removal *r, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(r->rows));
  PetscCall(PetscFree(r->ghost_flags));
  PetscCall(PetscSparseCUDAFree(&r->device_rows, stream));
  PetscCall(PetscSparseCUDAFree(&r->device_row_flags, stream));
  PetscCall(PetscSparseCUDAFree(&r->device_ghost_flags, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all processes delete on the device now: a decision for all, because what follows communicates. Collective. */
static PetscErrorCode DeletesOnDevice(Mat A, PetscBool *device)
{
  Mat_MPIAIJ *a         = (Mat_MPIAIJ *)A->data;
  Mat         blocks[2] = {a->A, a->B};
  PetscBool   ours, use, congruent;

  PetscFunctionBegin;
  *device = (PetscBool)(A->assembled && a->Mvctx != NULL);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatIsSeqAIJCUDA(blocks[k], &ours));
    use = PETSC_FALSE;
    if (ours) PetscCall(MatSeqAIJCUDAUseDevice(blocks[k], &use));
    *device = (PetscBool)(*device && use && MatSeqAIJCUDAGet(blocks[k])->host.active == 0);
  }
  PetscCall(MatHasCongruentLayouts(A, &congruent)); // rows and columns of the same numbers have the same owners
  *device = (PetscBool)(*device && congruent);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of this process among those that any process lists: a flag for each. Collective. */
static PetscErrorCode FindRows(Mat A, PetscInt n, const PetscInt rows[], Removal *r)
{
  const PetscInt m = A->rmap->n;
  PetscInt      *ones, *flags;
  PetscSF        sf;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &ones));
  PetscCall(PetscCalloc1(m, &flags));
  for (PetscInt k = 0; k < n; k++) ones[k] = 1;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
  PetscCall(PetscSFSetGraphLayout(sf, A->rmap, n, NULL, PETSC_USE_POINTER, rows));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, ones, flags, MPI_MAX));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, ones, flags, MPI_MAX));
  PetscCall(PetscSFDestroy(&sf));
  for (PetscInt row = 0; row < m; row++) r->n += flags[row];
  PetscCall(PetscMalloc1(r->n, &r->rows));
  for (PetscInt row = 0, k = 0; row < m; row++)
    if (flags[row]) r->rows[k++] = row;
  PetscCall(PetscFree(ones));
  PetscCall(PetscFree(flags));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asks the owners which ghost columns go: the scatter of products takes entries of any type. Collective. */
static PetscErrorCode FindGhosts(Mat A, Removal *r)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  unsigned char *flags;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(A->cmap->n, &flags));
  PetscCall(PetscCalloc1(a->B->cmap->n, &r->ghost_flags));
  for (PetscInt k = 0; k < r->n; k++) flags[r->rows[k]] = 1;
  PetscCall(PetscSFBcastWithMemTypeBegin(a->Mvctx, MPI_UNSIGNED_CHAR, PETSC_MEMTYPE_HOST, flags, PETSC_MEMTYPE_HOST, r->ghost_flags, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(a->Mvctx, MPI_UNSIGNED_CHAR, flags, r->ghost_flags, MPI_REPLACE));
  for (PetscInt k = 0; k < a->B->cmap->n; k++) r->num_ghosts += r->ghost_flags[k];
  PetscCall(PetscFree(flags));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings x to the ghost vector. Collective. */
static PetscErrorCode ScatterSolution(Mat A, Vec x)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscInt    n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A vector x of %" PetscInt_FMT " local entries for a matrix of %" PetscInt_FMT " local columns", n, A->cmap->n);
  PetscCall(MatMPIAIJCUDAScatter(A, x, a->lvec, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings what the kernels on the off-diagonal block read to the device. */
static PetscErrorCode PrepareOffDiagonal(Mat B, Removal *r, cudaStream_t stream)
{
  const PetscInt m = B->rmap->n, num_ghosts = B->cmap->n;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(r->n, "list of rows", stream, &r->device_rows));
  PetscCall(PetscSparseCUDAMalloc(m, "flags of rows", stream, &r->device_row_flags));
  PetscCall(PetscSparseCUDAMalloc(num_ghosts, "flags of ghost columns", stream, &r->device_ghost_flags));
  PetscCall(PetscSparseCUDACopyToDevice(r->device_rows, r->rows, (size_t)r->n * sizeof(*r->rows), stream));
  PetscCall(PetscSparseCUDACopyToDevice(r->device_ghost_flags, r->ghost_flags, (size_t)num_ghosts * sizeof(*r->ghost_flags), stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)r->n * sizeof(*r->rows) + (PetscLogDouble)num_ghosts * sizeof(*r->ghost_flags)));
  PetscCall(DCSRFlagIndices(r->n, r->device_rows, m, r->device_row_flags, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns first: that may fail for want of memory, and then nothing was changed. The removed rows' entries of b are the diagonal block's. */
static PetscErrorCode ZeroOffDiagonal(Mat A, const Removal *r, Vec x, Vec b, cudaStream_t stream)
{
  Mat_MPIAIJ     *a    = (Mat_MPIAIJ *)A->data;
  Mat_SeqAIJCUDA *d    = MatSeqAIJCUDAGet(a->B);
  const DCSRView  view = d->device.view;
  DeviceArray     ghosts, rhs;
  PetscErrorCode  ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&ghosts, 1));
  PetscCall(PetscArrayzero(&rhs, 1));
  if (x != NULL && b != NULL) {
    PetscCallGoto(ierr, restore, GetDeviceArray(a->B, a->lvec, a->B->cmap->n, ARRAY_READ, &d->x, stream, &ghosts));
    PetscCallGoto(ierr, restore, GetDeviceArray(a->B, b, a->B->rmap->n, ARRAY_READ_WRITE, &d->y, stream, &rhs));
  }
  if (r->num_ghosts > 0) PetscCallGoto(ierr, restore, DCSRZeroColumns(view, r->device_row_flags, r->device_ghost_flags, ghosts.device, rhs.device, stream));
  PetscCallGoto(ierr, restore, DCSRZeroRows(view, r->n, r->device_rows, 0.0, stream)); // no entry of this block is on the diagonal
restore:
  ierr = RestoreDeviceArray(&ghosts, stream, ierr);
  ierr = RestoreDeviceArray(&rhs, stream, ierr);
  PetscCall(ierr);
  PetscCall(MatSeqAIJCUDADeviceChanged(a->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks; what is allocated for the off-diagonal one comes before the diagonal one is changed, on all processes. Collective. */
static PetscErrorCode ZeroBlocks(Mat A, Removal *r, PetscScalar diag, Vec x, Vec b, cudaStream_t stream)
{
  Mat_MPIAIJ     *a     = (Mat_MPIAIJ *)A->data;
  const PetscBool off   = (PetscBool)(r->n > 0 || r->num_ghosts > 0);
  const PetscInt  nz    = ((Mat_SeqAIJ *)a->A->data)->nz;
  const PetscBool nonew = (PetscBool)(((Mat_SeqAIJ *)a->A->data)->nonew != 0);

  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (off) ierr = PrepareOffDiagonal(a->B, r, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  ierr = MatZeroRowsColumns(a->A, r->n, r->rows, diag, x, b);
  if (ierr == PETSC_SUCCESS && off) ierr = ZeroOffDiagonal(A, r, x, b, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  // the block may have got diagonal entries: buffers of MatGetRow() are as long as the longest row was
  if (((Mat_SeqAIJ *)a->A->data)->nz != nz) PetscCall(PetscFree2(a->rowvalues, a->rowindices));
  if (!nonew) PetscCall(MatMPIAIJCUDASumNonzeroState(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may be wrong, and most of what may fail for want of memory, before anything is under way. */
static PetscErrorCode Prepare(Mat A, PetscInt n, const PetscInt rows[])
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++)
    PetscCheck(rows[k] >= 0 && rows[k] < A->rmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Row %" PetscInt_FMT " out of range [0,%" PetscInt_FMT ")", rows[k], A->rmap->N);
  PetscCall(MatSeqAIJCUDACopyToDevice(a->A));
  PetscCall(MatSeqAIJCUDACopyToDevice(a->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRowsColumns(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  PetscErrorCode ierr;
  Removal        r;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&r, 1));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = Prepare(A, n, rows);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCallGoto(ierr, cleanup, FindRows(A, n, rows, &r));
  PetscCallGoto(ierr, cleanup, FindGhosts(A, &r));
  if (x != NULL && b != NULL) PetscCallGoto(ierr, cleanup, ScatterSolution(A, x));
  PetscCallGoto(ierr, cleanup, ZeroBlocks(A, &r, diag, x, b, stream));
cleanup:
  PetscCall(RemovalDestroy(&r, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatZeroRowsColumns_MPIAIJCUDA - MatZeroRowsColumns() of a parallel matrix; see there for the parameters. Collective.

  Keeps the pattern whatever MAT_KEEP_NONZERO_PATTERN says, as MATMPIAIJ does. A removed row without a diagonal entry makes the diagonal block of its process go through
  the host, which inserts it or raises an error, as its options say. The parent does it when some process computes on the host, or rows and columns are not distributed alike.

  PETSC_ERR_ARG_OUTOFRANGE and PETSC_ERR_MEM are on all processes when one has it, and nothing was changed; except when PETSC_ERR_MEM is raised for the partial sums of very long rows of the
  off-diagonal block, or for b that lives on the host: then the diagonal block and its part of b are done.
*/
PetscErrorCode MatZeroRowsColumns_MPIAIJCUDA(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(DeletesOnDevice(A, &device));
  if (device) PetscCall(ZeroRowsColumns(A, n, rows, diag, x, b));
  else PetscCall(MatHost_MPIAIJCUDA_zerorowscolumns(A, n, rows, diag, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
