/*
  The entries of a transposed block of a parallel matrix by their positions in the whole matrix.
*/
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include <petscsparsecuda/transpose.h>

namespace
{

template <typename Offset>
struct WriteCoordinates {
  const Offset   *row_offsets;
  const int32_t  *columns;
  PetscInt        num_rows, row_begin;
  const PetscInt *column_map;
  PetscInt       *i, *j;

  __device__ void operator()(PetscCount k) const
  {
    // the row is the last that begins at k or before, so that rows without entries do no harm
    const PetscInt row = PartitionPoint((PetscInt)0, num_rows, [&](PetscInt r) { return (PetscCount)row_offsets[r + 1] <= k; });

    i[k] = column_map[columns[k]];
    j[k] = row + row_begin;
  }
};

} // namespace

/*
  DCSRGetTransposedCoordinates - global rows and columns of the entries of the transpose of a compact block A of a parallel matrix, in the order of the block. Asynchronous
  row_begin: global number of the first row of A. column_map [num_columns], device: global numbers of its columns. i and j [num_nonzeros], device: the global column and row of each entry of A. Cost: a
  bisection of the row offsets an entry.
*/
PetscErrorCode DCSRGetTransposedCoordinates(DCSRView A, PetscInt row_begin, const PetscInt column_map[], PetscInt i[], PetscInt j[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(A.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage can be transposed, call DCSRDefragment() first");
  if (A.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (A.wide) PetscCallCUDA(DCSRForEach(A.num_nonzeros, WriteCoordinates<int64_t>{(const int64_t *)A.row_offsets, A.columns, A.num_rows, row_begin, column_map, i, j}, stream));
  else PetscCallCUDA(DCSRForEach(A.num_nonzeros, WriteCoordinates<int32_t>{(const int32_t *)A.row_offsets, A.columns, A.num_rows, row_begin, column_map, i, j}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
