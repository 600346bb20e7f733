/*
  Fragmented -> compact: a prefix sum of the row sizes, one move, and a sort of only those rows that came out unsorted.
*/
#include "../entries/rowloop.cuh"
#include "../entries/temporary.cuh"
#include <petscsparsecuda/convert.h>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

/* Row sizes as a sequence of num_rows + 1 offsets wants them: nothing after the last. */
template <typename Offset>
struct SizeOfRow {
  const int32_t    *row_sizes;
  PetscInt          num_rows;
  __device__ Offset operator()(PetscCount row) const { return row < num_rows ? (Offset)row_sizes[row] : 0; }
};

/* Moves entries to their row's place in segment order. */
template <typename Offset>
struct MoveEntry {
  using Result = void;
  DCSRView from, to;

  __device__ void Visit(RowEntry e) const
  {
    const PetscCount k = (PetscCount)((const Offset *)to.row_offsets)[e.row] + e.index;

    to.columns[k] = from.columns[e.position];
    if (to.values) to.values[k] = from.values[e.position];
  }
};

/* Lists and flags rows with a descent among their columns, for the segmented sort. */
template <typename Offset>
struct ListUnsorted {
  using Result = int;
  const Offset       *row_offsets;
  const int32_t      *columns;
  unsigned long long *count;
  int64_t            *begins, *ends;
  unsigned char      *flags;

  __device__ Result Identity() const { return 0; }
  __device__ Result Map(RowEntry e) const { return e.index > 0 && columns[e.position - 1] > columns[e.position]; }
  __device__ Result Combine(Result a, Result b) const { return a | b; }
  __device__ void   Store(PetscInt row, Result unsorted) const
  {
    flags[row] = (unsigned char)unsorted;
    if (unsorted) {
      const unsigned long long q = atomicAdd(count, 1ull);

      begins[q] = (int64_t)row_offsets[row];
      ends[q]   = (int64_t)row_offsets[row + 1];
    }
  }
};

/* Brings the sorted rows back. */
struct CopyUnsorted {
  using Result = void;
  const unsigned char *unsorted;
  const int32_t       *columns;
  const PetscScalar   *values;
  DCSRView             to;

  __device__ void Visit(RowEntry e) const
  {
    if (!unsorted[e.row]) return;
    to.columns[e.position] = columns[e.position];
    if (to.values) to.values[e.position] = values[e.position];
  }
};

PetscErrorCode SortSegments(DCSRView to, int64_t num_segments, const int64_t *begins, const int64_t *ends, const unsigned char *unsorted, cudaStream_t stream)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  int32_t       *columns = NULL;
  PetscScalar   *values  = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(to.num_nonzeros, "sorted columns", stream, &columns));
  if (to.values) {
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(to.num_nonzeros, "sorted values", stream, &values));
    PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sort rows", stream, [&](void *storage, size_t &bytes) {
                    return cub::DeviceSegmentedSort::SortPairs(storage, bytes, to.columns, columns, to.values, values, (int64_t)to.num_nonzeros, num_segments, begins, ends, stream);
                  }));
  } else {
    PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sort rows", stream, [&](void *storage, size_t &bytes) {
                    return cub::DeviceSegmentedSort::SortKeys(storage, bytes, to.columns, columns, (int64_t)to.num_nonzeros, num_segments, begins, ends, stream);
                  }));
  }
  PetscCallGoto(ierr, cleanup, RowLoop(to, NULL, CopyUnsorted{unsorted, columns, values, to}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&columns, stream));
  PetscCall(PetscSparseCUDAFree(&values, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode SortUnsortedRows(DCSRView to, cudaStream_t stream)
{
  PetscErrorCode      ierr  = PETSC_SUCCESS;
  unsigned long long *count = NULL, num_unsorted = 0;
  int64_t            *begins = NULL, *ends = NULL;
  unsigned char      *flags = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of unsorted rows", stream, &count));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(to.num_rows, "begins of unsorted rows", stream, &begins));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(to.num_rows, "ends of unsorted rows", stream, &ends));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(to.num_rows, "flags of unsorted rows", stream, &flags));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(count, 0, sizeof(*count), stream));
  PetscCallGoto(ierr, cleanup, RowLoop(to, NULL, ListUnsorted<Offset>{(const Offset *)to.row_offsets, to.columns, count, begins, ends, flags}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&num_unsorted, count, sizeof(num_unsorted), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  if (num_unsorted) PetscCallGoto(ierr, cleanup, SortSegments(to, (int64_t)num_unsorted, begins, ends, flags, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  PetscCall(PetscSparseCUDAFree(&ends, stream));
  PetscCall(PetscSparseCUDAFree(&flags, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Defragment(DCSRView from, DCSRView to, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (from.row_offsets) PetscCallCUDA(cudaMemcpyAsync(to.row_offsets, from.row_offsets, ((size_t)from.num_rows + 1) * sizeof(Offset), cudaMemcpyDeviceToDevice, stream));
  else {
    auto sizes = thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), SizeOfRow<Offset>{from.row_sizes, from.num_rows});

    PetscCall(DCSRWithTemporary("workspace to sum row sizes", stream, [&](void *storage, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(storage, bytes, sizes, (Offset *)to.row_offsets, (PetscCount)from.num_rows + 1, stream); }));
  }
  if (!from.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RowLoop(from, NULL, MoveEntry<Offset>{from, to}, stream));
  PetscCall(SortUnsortedRows<Offset>(to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRDefragment - compact storage of the same matrix

  Input Parameters:
+ from   - fragmented storage (compact storage is copied)
. to     - num_rows, num_columns, num_nonzeros and wide are set; row_offsets [num_rows + 1], columns and values [num_nonzeros] are allocated; values may be NULL to take the structure alone
- stream - synchronizes with it once, to learn whether a row needs sorting

  Cost: one read and write of the entries. Rows that come out unsorted are sorted (CUB's segmented sort), which takes workspace for a second copy of the entries; sorted ones are left alone.

  Errors: PETSC_ERR_MEM; from is never changed, to is undefined then.
*/
PetscErrorCode DCSRDefragment(DCSRView from, DCSRView to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(from.num_rows == to.num_rows && from.num_nonzeros == to.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The target has %" PetscInt_FMT " rows and %" PetscCount_FMT " entries, the matrix %" PetscInt_FMT " and %" PetscCount_FMT,
             to.num_rows, to.num_nonzeros, from.num_rows, from.num_nonzeros);
  PetscCheck(to.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "The target needs row offsets");
  PetscCheck(from.row_offsets == NULL || from.wide == to.wide, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Compact storage is copied only between equal offset widths");
  PetscCheck(to.values == NULL || from.values != NULL || !from.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The target wants values, the matrix has structure only");
  if (to.wide) PetscCall(Defragment<int64_t>(from, to, stream));
  else PetscCall(Defragment<int32_t>(from, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
