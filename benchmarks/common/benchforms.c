/*
  Other forms of the matrices; see benchmatrix.h.
*/
#include "../../tests/lib/kernels.h"
#include "benchmatrix.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/transpose.h>

#define FRAGMENTED_SEGMENTS 4
#define FRAGMENTED_SLACK    2

/* BenchMatrixPrint - see benchmatrix.h */
PetscErrorCode BenchMatrixPrint(const BenchMatrix *matrix)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s; %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros\n", matrix->name, matrix->what, matrix->view.num_rows, matrix->view.num_columns,
                        matrix->view.num_nonzeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCreateFragmented - see benchmatrix.h */
PetscErrorCode BenchCreateFragmented(DCSRView from, cudaStream_t stream, DCSRView *view)
{
  int32_t *segments;

  PetscFunctionBegin;
  *view              = from;
  view->row_offsets  = NULL;
  view->max_segments = FRAGMENTED_SEGMENTS;
  view->pitch        = ((PetscCount)from.num_rows + 31) / 32 * 32;
  PetscCall(DCSRFragmentCapacity(from, FRAGMENTED_SEGMENTS, FRAGMENTED_SLACK, stream, &view->capacity));
  PetscCall(PetscSparseCUDAMalloc(view->capacity, "fragmented values", stream, &view->values));
  PetscCall(PetscSparseCUDAMalloc(view->capacity, "fragmented columns", stream, &view->columns));
  PetscCall(PetscSparseCUDAMalloc(from.num_rows, "fragmented row sizes", stream, &view->row_sizes));
  PetscCall(PetscSparseCUDAMalloc(2 * view->pitch * FRAGMENTED_SEGMENTS, "fragmented segments", stream, &segments));
  view->segments = segments;
  PetscCall(DCSRFragment(from, FRAGMENTED_SLACK, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCreateTranspose - see benchmatrix.h */
PetscErrorCode BenchCreateTranspose(DCSRView A, cudaStream_t stream, DCSRView *T)
{
  int32_t *permutation;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(A.num_columns, A.num_rows, A.num_nonzeros, A.wide, stream, T));
  PetscCall(PetscSparseCUDAMalloc(A.num_nonzeros, "permutation", stream, &permutation));
  PetscCall(DCSRTransposeSymbolic(A, *T, permutation, stream));
  PetscCall(DCSRTransposeNumeric(A, permutation, PETSC_FALSE, T->values, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
