/*
  Whether one matrix is the transpose of another: every entry looks for its partner.
*/
#include "search.cuh"
#include "values.cuh"
#include <petscsparsecuda/transpose.h>

namespace
{

constexpr int THREADS = 256, LANES = 16;

enum {
  DIFFERENT = 1,
  TOO_LONG  = 2
};

template <typename Offset>
struct Matrix {
  const Offset      *row_offsets;
  const int32_t     *columns;
  const PetscScalar *values;
};

/* LANES lanes a row of A. *found collects what ends the test; plain stores would lose one of two. */
template <typename Offset, bool Conjugate>
__global__ void __launch_bounds__(THREADS) IsTransposeKernel(PetscInt num_rows, Matrix<Offset> A, Matrix<Offset> B, PetscReal tol, int *found)
{
  const PetscInt row = (PetscInt)blockIdx.x * (THREADS / LANES) + (PetscInt)threadIdx.x / LANES;

  if (row >= num_rows || *(volatile int *)found) return;
  const Offset begin = A.row_offsets[row], end = A.row_offsets[row + 1];

  if (end - begin > LONGEST_SEARCHED_ROW) {
    atomicOr(found, TOO_LONG);
    return;
  }
  for (Offset k = begin + (Offset)(threadIdx.x % LANES); k < end; k += LANES) {
    const int32_t column = A.columns[k];
    const Offset  first = B.row_offsets[column], last = B.row_offsets[column + 1];
    Offset        partner = max(first, last - 1 - (k - begin));

    if (partner < last && B.columns[partner] != (int32_t)row) partner = Search(B.columns, first, last, partner, (int32_t)row);
    if (partner >= last || PetscAbsScalar(Taken<Conjugate>(A.values[k]) - B.values[partner]) > tol) {
      atomicOr(found, DIFFERENT);
      return;
    }
  }
}

template <typename Offset>
PetscErrorCode IsTranspose(DCSRView A, DCSRView B, PetscReal tol, PetscBool conjugate, int *found, cudaStream_t stream)
{
  const Matrix<Offset> a = {(const Offset *)A.row_offsets, A.columns, A.values}, b = {(const Offset *)B.row_offsets, B.columns, B.values};
  const unsigned int   blocks = (unsigned int)((A.num_rows + THREADS / LANES - 1) / (THREADS / LANES));

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(found, 0, sizeof(*found), stream));
  if (conjugate) IsTransposeKernel<Offset, true><<<blocks, THREADS, 0, stream>>>(A.num_rows, a, b, tol, found);
  else IsTransposeKernel<Offset, false><<<blocks, THREADS, 0, stream>>>(A.num_rows, a, b, tol, found);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRIsTranspose - whether a compact matrix with values is the (conjugate: Hermitian) transpose of another, which may be itself, within a tolerance; synchronizes the stream
  tol: largest absolute difference of two entries. decided = PETSC_FALSE when rows are too long for this, or the matrices differ in their number of entries or width of offsets; is has no answer then.
  As many entries in both and a partner for every one of A means that the patterns are transposes of each other. Cost: a read of A, a few probes of B an entry. Workspace: none.
*/
PetscErrorCode DCSRIsTranspose(DCSRView A, DCSRView B, PetscReal tol, PetscBool conjugate, cudaStream_t stream, PetscBool *decided, PetscBool *is)
{
  int           *found = NULL, host = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *is      = (PetscBool)(A.num_rows == B.num_columns && A.num_columns == B.num_rows);
  *decided = (PetscBool)(!*is || (A.num_nonzeros == B.num_nonzeros && A.wide == B.wide));
  if (!*is || !*decided || A.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "flag of a transpose", stream, &found));
  if (A.wide) PetscCallGoto(ierr, cleanup, IsTranspose<int64_t>(A, B, tol, conjugate, found, stream));
  else PetscCallGoto(ierr, cleanup, IsTranspose<int32_t>(A, B, tol, conjugate, found, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&host, found, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *is      = (PetscBool)(host == 0);
  *decided = (PetscBool)(host != TOO_LONG); // a difference is an answer even so
cleanup:
  PetscCall(PetscSparseCUDAFree(&found, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
