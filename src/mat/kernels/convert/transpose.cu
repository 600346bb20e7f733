/*
  Explicit transpose of compact storage: a stable radix sort of the column indices that carries the entry index, so that the values can be refreshed by one gather.
*/
#include "../entries/temporary.cuh"
#include "../spmvtranspose/device.cuh"
#include "../spmvtranspose/marks.cuh"
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

/* Rows of the permuted entries, from row marks: those are a sixteenth of a row index an entry, so that the gather stays in L2. */
template <typename Offset>
struct FindRow {
  const SpMVTransposeMark *marks;
  const uint32_t          *num_nonempty; // device
  uint32_t                 num_rows;
  const int32_t           *nonempty_rows;
  const Offset            *permutation;
  int32_t                 *columns;

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount entry = permutation[k];

    columns[k] = RowOfNonzero(LoadMark(marks, entry), entry, *num_nonempty == num_rows ? NULL : nonempty_rows);
  }
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

/* The transpose's columns array takes the sorted column indices before it gets its own contents. */
template <typename Offset>
PetscErrorCode SortColumns(DCSRView A, DCSRView T, Offset *permutation, cudaStream_t stream)
{
  const PetscCount n       = A.num_nonzeros;
  const int        bits    = PetscMax(1, SignificantBits(A.num_columns));
  PetscErrorCode   ierr    = PETSC_SUCCESS;
  Offset          *indices = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "entry indices to sort", stream, &indices));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk(n, WriteIndex<Offset>{indices}, stream));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sort columns", stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceRadixSort::SortPairs(storage, bytes, (const uint32_t *)A.columns, (uint32_t *)T.columns, (const Offset *)indices, permutation, n, 0, bits, stream);
                }));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk((PetscCount)T.num_rows + 1, FindRowOffset<Offset>{(const uint32_t *)T.columns, n, (Offset *)T.row_offsets}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&indices, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Symbolic(DCSRView A, DCSRView T, Offset *permutation, cudaStream_t stream)
{
  const PetscCount   num_marks     = NumMarks(A.num_nonzeros);
  PetscErrorCode     ierr          = PETSC_SUCCESS;
  SpMVTransposeMark *marks         = NULL;
  uint32_t          *num_starts    = NULL;
  int32_t           *nonempty_rows = NULL;

  PetscFunctionBegin;
  PetscCall(SortColumns(A, T, permutation, stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_marks, "row marks", stream, &marks));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num_marks + 1, "scan of row marks", stream, &num_starts));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(A.num_rows, "list of rows that are not empty", stream, &nonempty_rows));
  PetscCallGoto(ierr, cleanup, MarkRows<Offset>(A, marks, num_starts, stream));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk((PetscCount)A.num_rows, WriteNonemptyRow<Offset>{(const Offset *)A.row_offsets, marks, nonempty_rows}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk(A.num_nonzeros, FindRow<Offset>{marks, num_starts + num_marks, (uint32_t)A.num_rows, nonempty_rows, permutation, T.columns}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&marks, stream));
  PetscCall(PetscSparseCUDAFree(&num_starts, stream));
  PetscCall(PetscSparseCUDAFree(&nonempty_rows, stream));
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

  Cost: a radix sort of num_nonzeros pairs over the bits that num_columns needs. Workspace: 12 bytes an entry (20 when wide), released at the end.
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
