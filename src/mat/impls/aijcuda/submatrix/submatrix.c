/*
  Submatrices and permutations of sequential matrices on the device. Off the device, and in the midst of host code, which may read the arrays of the result directly, the wrapper of
  the same name does it.
*/
#include "submatrix.h"
#include "../core/core.h"
#include "../host/wrappers.h"

/* Copies the indices of an index set that is no stride, which must lie in [0, end), to the device. */
static PetscErrorCode CopyIndices(IS is, PetscInt end, const char what[], cudaStream_t stream, PetscInt **device)
{
  const PetscInt *indices;
  PetscInt        n, bad = -1;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(is, &n));
  PetscCall(ISGetIndices(is, &indices));
  for (PetscInt k = 0; k < n && bad < 0; k++)
    if (indices[k] < 0 || indices[k] >= end) bad = k;
  PetscCheck(bad < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Requested %s %" PetscInt_FMT " at place %" PetscInt_FMT " of the index set, and the matrix has %" PetscInt_FMT, what, indices[bad],
             bad, end);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "index set", stream, device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(*device, indices, (size_t)n * sizeof(*indices), stream));
  PetscCallGoto(ierr, cleanup, PetscLogCpuToGpu((PetscLogDouble)n * sizeof(*indices)));
cleanup:
  PetscCall(ISRestoreIndices(is, &indices));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscSparseCUDAFree(device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAGetIndices - An index set, of indices in [0, end), as kernels see it, for work queued on the stream; what is "row" or "column", for the message.

  *memory is to be freed with PetscSparseCUDAFree(); NULL for a stride, and after an error.
*/
PetscErrorCode MatAIJCUDAGetIndices(IS is, PetscInt end, const char what[], cudaStream_t stream, DCSRIndices *indices, PetscInt **memory)
{
  PetscBool stride;
  PetscInt  last;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(indices, 1));
  *memory = NULL;
  PetscCall(ISGetLocalSize(is, &indices->n));
  PetscCall(PetscObjectTypeCompare((PetscObject)is, ISSTRIDE, &stride));
  if (stride) {
    PetscCall(ISStrideGetInfo(is, &indices->first, &indices->step));
    indices->sorted = (PetscBool)(indices->step > 0);
    last            = indices->first + (indices->n - 1) * indices->step;
    PetscCheck(indices->n == 0 || (PetscMin(indices->first, last) >= 0 && PetscMax(indices->first, last) < end), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Requested %ss %" PetscInt_FMT " to %" PetscInt_FMT ", and the matrix has %" PetscInt_FMT, what, indices->first, last, end);
  } else {
    PetscCall(ISSorted(is, &indices->sorted));
    PetscCall(CopyIndices(is, end, what, stream, memory));
    indices->indices = *memory;
    indices->step    = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAGetSubmatrixView - Rows and columns of a matrix that uses the device as new storage there; its arrays belong to the caller, zero after an error. */
PetscErrorCode MatSeqAIJCUDAGetSubmatrixView(Mat A, IS rows, IS columns, DCSRView *view)
{
  DCSRIndices    r, c;
  PetscInt      *row_memory = NULL, *column_memory = NULL;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, MatAIJCUDAGetIndices(rows, A->rmap->n, "row", stream, &r, &row_memory));
  PetscCallGoto(ierr, cleanup, MatAIJCUDAGetIndices(columns, A->cmap->n, "column", stream, &c, &column_memory));
  PetscCallGpuTimeGoto(ierr, cleanup, DCSRSubmatrix(MatSeqAIJCUDAGet(A)->device.view, &r, &c, stream, view));
cleanup:
  PetscCall(PetscSparseCUDAFree(&row_memory, stream));
  PetscCall(PetscSparseCUDAFree(&column_memory, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSubmatrix(Mat A, IS rows, IS columns, Mat *B)
{
  PetscInt rbs, cbs;
  DCSRView view;

  PetscFunctionBegin;
  PetscCall(ISGetBlockSize(rows, &rbs));
  PetscCall(ISGetBlockSize(columns, &cbs));
  PetscCall(MatSeqAIJCUDAGetSubmatrixView(A, rows, columns, &view));
  PetscCall(MatSeqAIJCUDACreateFromView(A, rbs, cbs, &view, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReuseSubmatrix(Mat A, IS rows, IS columns, Mat B)
{
  DCSRView view;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetSubmatrixView(A, rows, columns, &view));
  PetscCall(MatSeqAIJCUDAReuseView(B, PETSC_FALSE, &view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device makes all of them. */
static PetscErrorCode UseDevice(Mat A, PetscInt n, MatReuse reuse, Mat B[], PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAStructureOnDevice(A, device));
  for (PetscInt k = 0; k < n && reuse == MAT_REUSE_MATRIX && *device; k++) {
    PetscCall(MatIsSeqAIJCUDA(B[k], device));
    if (*device) PetscCall(MatSeqAIJCUDAStructureOnDevice(B[k], device));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_SeqAIJCUDA(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  PetscBool      device;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(UseDevice(A, n, reuse, reuse == MAT_REUSE_MATRIX ? *B : NULL, &device));
  if (!device) {
    PetscCall(MatHost_AIJCUDA_createsubmatrices(A, n, rows, columns, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_REUSE_MATRIX) {
    for (PetscInt k = 0; k < n; k++) PetscCall(ReuseSubmatrix(A, rows[k], columns[k], (*B)[k]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscCalloc1(n + 1, B)); // MatDestroySubMatrices() expects one more
  for (PetscInt k = 0; k < n; k++) PetscCallGoto(ierr, failed, CreateSubmatrix(A, rows[k], columns[k], &(*B)[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  for (PetscInt k = 0; k < n; k++) (void)MatDestroy(&(*B)[k]);
  (void)PetscFree(*B);
  PetscFunctionReturn(ierr);
}

static PetscErrorCode MatPermute_SeqAIJCUDA(Mat A, IS rows, IS columns, Mat *B)
{
  PetscBool device;
  DCSRView  view;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAStructureOnDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_permute(A, rows, columns, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDAGetSubmatrixView(A, rows, columns, &view));
  PetscCall(MatSeqAIJCUDACreateFromView(A, A->rmap->bs, A->cmap->bs, &view, B));
  if (rows == columns) PetscCall(MatPropagateSymmetryOptions(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetSubmatrixOps - Puts our submatrices into a table that has the wrappers already. */
PetscErrorCode MatSeqAIJCUDASetSubmatrixOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->createsubmatrices = MatCreateSubMatrices_SeqAIJCUDA;
  ops->permute           = MatPermute_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
