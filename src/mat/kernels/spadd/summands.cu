/*
  Summands of other kinds: a matrix as a batch, for storage that rows cannot be merged with, and a diagonal matrix.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "summand.cuh"

namespace
{

/* The row of an entry is found among the row offsets. */
struct WriteKey {
  Summand         a;
  PetscCount      num_rows;
  int             column_bits;
  PetscScalar     alpha;
  uint64_t       *keys;
  PetscScalar    *values;
  __device__ void operator()(PetscCount k) const
  {
    const PetscCount row = LastWhere((PetscCount)0, num_rows, [&](PetscCount r) { return a.Offset(r) <= k; });

    keys[k]   = (uint64_t)row << column_bits | (uint32_t)a.columns[k];
    values[k] = alpha * a.values[k];
  }
};

struct WriteDiagonal {
  DCSRView           to;
  const PetscScalar *d;
  PetscScalar        number;
  __device__ void    operator()(PetscCount r) const
  {
    const PetscCount n = to.num_nonzeros;

    Offsets(to).Set(r, r < n ? r : n);
    if (r >= n) return;
    to.columns[r] = (int32_t)r;
    to.values[r]  = d ? d[r] : number;
  }
};

} // namespace

/*
  DCSRBatchCreateFromView - the entries of alpha A, compact, as a batch. Asynchronous
  batch is to be destroyed with DCSRBatchDestroy(); empty after an error. Cost: one read of A, a bisection of the row offsets an entry.
*/
PetscErrorCode DCSRBatchCreateFromView(PetscScalar alpha, DCSRView A, cudaStream_t stream, DCSRBatch *batch)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(batch, 1));
  PetscCheck(A.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Needs compact storage");
  batch->num_entries = A.num_nonzeros;
  batch->column_bits = DCSRKeyBits(A.num_columns);
  if (A.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(A.num_nonzeros, "keys of a matrix", stream, &batch->keys));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(A.num_nonzeros, "values of a batch", stream, &batch->values));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach(A.num_nonzeros, WriteKey{MakeSummand(A, NULL), A.num_rows, batch->column_bits, alpha, batch->keys, batch->values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRBatchDestroy(batch, stream));
  PetscFunctionReturn(ierr);
}

/*
  DCSRViewCreateDiagonal - a diagonal matrix of d [min(num_rows, num_columns)] (device), or of number when d is NULL. Asynchronous
  D is compact, its arrays are the caller's; all NULL after an error.
*/
PetscErrorCode DCSRViewCreateDiagonal(PetscInt num_rows, PetscInt num_columns, const PetscScalar d[], PetscScalar number, cudaStream_t stream, DCSRView *D)
{
  const PetscInt n = PetscMin(num_rows, num_columns);
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(D, 1));
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCall(DCSRViewAllocateCompact(num_rows, num_columns, n, wide, stream, D));
  PetscCallCUDAGoto(ierr, failed, DCSRForEach((PetscCount)num_rows + 1, WriteDiagonal{*D, d, number}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(D, stream));
  PetscFunctionReturn(ierr);
}
