/*
  Fragmented -> compact. Where there is a base, its overflow is merged into it (spmv/spmvoverflow.cu). Without a base, or memory for that: a prefix sum of the row sizes and one move.
  Segments are sorted and have no column in common, so an entry's position in its row is its position in its segment and, for each other segment, the number of smaller columns there: a binary search,
  and none in rows of one segment.
*/
#include "../common/rowloop.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/spmv.h>

namespace
{

/* Moves an entry of fragmented storage to its position in the sorted row. */
template <typename From, typename To>
struct MoveEntry {
  using Result = void;
  DCSRView from, to;

  __device__ PetscCount Rank(RowEntry e, int32_t column) const
  {
    PetscCount left = e.size, rank = 0;

    for (PetscInt s = 0; left > 0; s++) {
      const From      *pair  = (const From *)from.segments + 2 * (e.row + s * from.pitch);
      const PetscCount begin = pair[0], length = pair[1] - begin, used = length < left ? length : left;

      if (s == 0 && used == left) return e.index; // one segment, as most rows have
      if (e.position >= begin && e.position < begin + used) rank += e.position - begin;
      else rank += LowerBound(from.columns, begin, begin + used, column) - begin;
      left -= used;
    }
    return rank;
  }
  __device__ void Visit(RowEntry e) const
  {
    const int32_t    column = from.columns[e.position];
    const PetscCount k      = (PetscCount)((const To *)to.row_offsets)[e.row] + Rank(e, column);

    to.columns[k] = column;
    if (to.values) to.values[k] = from.values[e.position];
  }
};

template <typename Offset>
PetscErrorCode CopyCompact(DCSRView from, DCSRView to, cudaStream_t stream)
{
  const size_t n = (size_t)from.num_nonzeros;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(to.row_offsets, from.row_offsets, ((size_t)from.num_rows + 1) * sizeof(Offset), cudaMemcpyDeviceToDevice, stream));
  if (n) PetscCallCUDA(cudaMemcpyAsync(to.columns, from.columns, n * sizeof(*to.columns), cudaMemcpyDeviceToDevice, stream));
  if (n && to.values) PetscCallCUDA(cudaMemcpyAsync(to.values, from.values, n * sizeof(*to.values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename From, typename To>
PetscErrorCode Defragment(DCSRView from, DCSRView to, cudaStream_t stream)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DCSROffsetsFromSizes("workspace to sum row sizes", from.row_sizes, (PetscCount)from.num_rows, (To *)to.row_offsets, stream));
  if (from.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (DCSROverflowIsFor(from) && !to.wide) PetscCall(DCSROverflowMerge(from, to, stream, &done));
  if (!done) PetscCall(RowLoop(from, MoveEntry<From, To>{from, to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRDefragment - compact storage of the same matrix, from fragmented storage (compact storage is copied). Asynchronous
  Of to num_rows, num_columns, num_nonzeros and wide are set; row_offsets [num_rows + 1], columns and values [num_nonzeros] are allocated; values may be NULL to take the structure alone.
  Cost: one read and write of the entries, and for each one outside of the base, or without a base of rows with several segments, a binary search in each of the other segments; 8 bytes for each
  one outside of the base, if the device has them. from is never changed; to is undefined after PETSC_ERR_MEM.
*/
PetscErrorCode DCSRDefragment(DCSRView from, DCSRView to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(from.num_rows == to.num_rows && from.num_nonzeros == to.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The target has %" PetscInt_FMT " rows and %" PetscCount_FMT " entries, the matrix %" PetscInt_FMT " and %" PetscCount_FMT, to.num_rows, to.num_nonzeros, from.num_rows,
             from.num_nonzeros);
  PetscCheck(to.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "The target needs row offsets");
  PetscCheck(from.row_offsets == NULL || from.wide == to.wide, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "Compact storage is copied only between equal offset widths");
  PetscCheck(to.values == NULL || from.values != NULL || !from.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The target wants values, the matrix has structure only");
  if (from.row_offsets && from.wide) PetscCall(CopyCompact<int64_t>(from, to, stream));
  else if (from.row_offsets) PetscCall(CopyCompact<int32_t>(from, to, stream));
  else if (from.wide && to.wide) PetscCall((Defragment<int64_t, int64_t>(from, to, stream)));
  else if (from.wide) PetscCall((Defragment<int64_t, int32_t>(from, to, stream)));
  else if (to.wide) PetscCall((Defragment<int32_t, int64_t>(from, to, stream)));
  else PetscCall((Defragment<int32_t, int32_t>(from, to, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
