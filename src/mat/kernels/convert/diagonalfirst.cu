/*
  Rows with the diagonal entry in front: it and the first entry of its row change places, the others stay. That is how hypre orders the rows of diagonal blocks.
*/
#include "../common/rowloop.cuh"
#include "../common/search.cuh"
#include <petscsparsecuda/convert.h>

namespace
{

/* Moves an entry to its position in the row. The lane with the first entry alone has to search for the diagonal one. */
struct CopyDiagonalFirst {
  using Result = void;
  DCSRView     from;
  int32_t     *columns; // NULL: values alone
  PetscScalar *values;

  __device__ void Visit(RowEntry e) const
  {
    const PetscCount begin = e.position - e.index, end = begin + e.size;
    const int32_t    column = from.columns[e.position];
    PetscCount       to     = e.position;

    if (column == e.row) to = begin;
    else if (e.index == 0) {
      const PetscCount diagonal = LowerBound(from.columns, begin, end, (int32_t)e.row);

      if (diagonal < end && from.columns[diagonal] == e.row) to = diagonal;
    }
    if (columns) columns[to] = column;
    values[to] = from.values[e.position];
  }
};

} // namespace

/*
  DCSRCopyDiagonalFirst - columns (or NULL) and values, [num_nonzeros] on the device, of compact storage with the diagonal entry of each row in front. Asynchronous
  Rows without a diagonal entry are copied as they are. Cost: one read and write of the entries, and a bisection a row.
*/
PetscErrorCode DCSRCopyDiagonalFirst(DCSRView from, int32_t columns[], PetscScalar values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(from.row_offsets != NULL || !from.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Rows are reordered in compact storage alone");
  PetscCheck(from.values != NULL || !from.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, no values to copy");
  if (from.num_nonzeros) PetscCall(RowLoop(from, CopyDiagonalFirst{from, columns, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
