/*
  Explicit transpose of compact storage: a stable radix sort of the column indices that carries the entry index, so that the values can be refreshed by one gather.
*/
#include "../entries/rowloop.cuh"
#include "../entries/temporary.cuh"
#include <petscsparsecuda/convert.h>
#include <cub/device/device_for.cuh>
#include <cub/device/device_radix_sort.cuh>

namespace
{

template <typename Offset>
struct WriteIndex {
  Offset         *indices;
  __device__ void operator()(PetscCount k) const { indices[k] = (Offset)k; }
};

/* Row offsets of the transpose from its sorted row indices: bisection, so that neither a dense column nor a run of empty ones costs more than others. */
template <typename Offset>
struct FindRowOffset {
  const uint32_t *sorted;
  PetscCount      n;
  Offset         *row_offsets;

  __device__ void operator()(PetscCount row) const
  {
    PetscCount first = 0, last = n;

    while (first < last) {
      const PetscCount middle = first + (last - first) / 2;

      if ((PetscCount)sorted[middle] < row) first = middle + 1;
      else last = middle;
    }
    row_offsets[row] = (Offset)first;
  }
};

struct WriteRow {
  using Result = void;
  int32_t        *rows;
  __device__ void Visit(RowEntry e) const { rows[e.position] = (int32_t)e.row; }
};

template <typename Offset>
struct GatherRow {
  const int32_t  *rows;
  const Offset   *permutation;
  int32_t        *columns;
  __device__ void operator()(PetscCount k) const { columns[k] = rows[permutation[k]]; }
};

template <typename Offset>
struct GatherValue {
  const PetscScalar *values;
  const Offset      *permutation;
  PetscScalar       *transposed;
  __device__ void    operator()(PetscCount k) const { transposed[k] = values[permutation[k]]; }
};

#if PetscDefined(USE_COMPLEX)
template <typename Offset>
struct GatherConjugate {
  const PetscScalar *values;
  const Offset      *permutation;
  PetscScalar       *transposed;
  __device__ void    operator()(PetscCount k) const { transposed[k] = thrust::conj(values[permutation[k]]); }
};
#endif

int SignificantBits(PetscInt n)
{
  int bits = 0;

  while (bits < 31 && ((int64_t)1 << bits) < (int64_t)n) bits++;
  return bits;
}

/* The transpose's columns array serves as key buffer before it gets its own contents; only one more key and one more index buffer are needed. */
template <typename Offset>
PetscErrorCode Symbolic(DCSRView A, DCSRView T, Offset *permutation, cudaStream_t stream)
{
  const PetscCount            n           = A.num_nonzeros;
  const int                   bits        = SignificantBits(A.num_columns);
  PetscErrorCode              ierr        = PETSC_SUCCESS;
  uint32_t                   *other_key   = NULL;
  Offset                     *other_index = NULL;
  cub::DoubleBuffer<uint32_t> keys;
  cub::DoubleBuffer<Offset>   indices;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sort buffer of columns", stream, &other_key));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sort buffer of entry indices", stream, &other_index));
  keys    = cub::DoubleBuffer<uint32_t>((uint32_t *)T.columns, other_key);
  indices = cub::DoubleBuffer<Offset>(permutation, other_index);
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(T.columns, A.columns, (size_t)n * sizeof(*T.columns), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk(n, WriteIndex<Offset>{permutation}, stream));
  if (bits) PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sort columns", stream, [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, indices, n, 0, bits, stream); }));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk((PetscCount)T.num_rows + 1, FindRowOffset<Offset>{keys.Current(), n, (Offset *)T.row_offsets}, stream));
  if (indices.Current() != permutation) PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(permutation, indices.Current(), (size_t)n * sizeof(Offset), cudaMemcpyDeviceToDevice, stream));
  // the index buffer is free now: it takes the row of every entry
  PetscCallGoto(ierr, cleanup, RowLoop(A, NULL, WriteRow{(int32_t *)other_index}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk(n, GatherRow<Offset>{(const int32_t *)other_index, permutation, T.columns}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&other_key, stream));
  PetscCall(PetscSparseCUDAFree(&other_index, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Numeric(DCSRView A, const Offset *permutation, PetscBool conjugate, PetscScalar *values, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  if (conjugate) {
    PetscCallCUDA(cub::DeviceFor::Bulk(A.num_nonzeros, GatherConjugate<Offset>{A.values, permutation, values}, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#else
  (void)conjugate;
#endif
  PetscCallCUDA(cub::DeviceFor::Bulk(A.num_nonzeros, GatherValue<Offset>{A.values, permutation, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRTransposeSymbolic - structure of the transpose

  Input Parameters:
+ A      - compact storage; at most 2^31 - 1 rows; values are not read
. T      - num_rows = A.num_columns, num_columns = A.num_rows, num_nonzeros and wide as in A; row_offsets [T.num_rows + 1] and columns [num_nonzeros] are allocated; values are not touched
- stream - asynchronous on it

  Output Parameter:
. permutation - [num_nonzeros] device, int64_t when wide, int32_t otherwise: entry k of T is entry permutation[k] of A

  Note: the sort is stable, so columns of T come out sorted. Bitwise reproducible.

  Cost: a radix sort of num_nonzeros pairs over the bits that num_columns needs. Workspace: 8 bytes an entry (12 when wide), released at the end.
*/
PetscErrorCode DCSRTransposeSymbolic(DCSRView A, DCSRView T, void *permutation, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(A.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage can be transposed, call DCSRDefragment() first");
  PetscCheck(T.row_offsets != NULL && T.num_rows == A.num_columns && T.num_columns == A.num_rows && T.num_nonzeros == A.num_nonzeros && T.wide == A.wide, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "The target does not have the shape of the transpose");
  PetscCheck((PetscCount)A.num_rows <= (PetscCount)INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " rows are too many for 32-bit column indices of the transpose", A.num_rows);
  if (!A.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(T.row_offsets, 0, ((size_t)T.num_rows + 1) * (T.wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  else if (A.wide) PetscCall(Symbolic(A, T, (int64_t *)permutation, stream));
  else PetscCall(Symbolic(A, T, (int32_t *)permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRTransposeNumeric - values of the transpose

  Input Parameters:
+ A           - compact storage with values
. permutation - [num_nonzeros] device, from DCSRTransposeSymbolic()
. conjugate   - PETSC_TRUE for the Hermitian transpose
- stream      - asynchronous on it

  Output Parameter:
. values - [num_nonzeros] device

  Cost: one gather.
*/
PetscErrorCode DCSRTransposeNumeric(DCSRView A, const void *permutation, PetscBool conjugate, PetscScalar *values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!A.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(A.values != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values to transpose");
  if (A.wide) PetscCall(Numeric(A, (const int64_t *)permutation, conjugate, values, stream));
  else PetscCall(Numeric(A, (const int32_t *)permutation, conjugate, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
