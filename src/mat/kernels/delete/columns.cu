/*
  Columns are made zero, and what they contributed goes to the right-hand side. The flags of the columns are asked at every entry, because no list says which rows a column meets.
*/
#include "../common/rowloop.cuh"
#include <petscsparsecuda/delete.h>

namespace
{

struct ZeroColumnEntry {
  using Result = void;
  const int32_t       *columns;
  PetscScalar         *values;
  const unsigned char *row_flags, *column_flags;

  __device__ void Visit(RowEntry e) const
  {
    if (column_flags[columns[e.position]] && !row_flags[e.row]) values[e.position] = 0;
  }
};

/* The same, and the sum of what each row loses goes to the right-hand side. */
struct SubtractColumns {
  using Result = PetscScalar;
  const int32_t       *columns;
  PetscScalar         *values;
  const unsigned char *row_flags, *column_flags;
  const PetscScalar   *x;
  PetscScalar         *b;

  __device__ Result Identity() const { return Result(0); }
  // each entry is mapped once, so that it can be taken away here
  __device__ Result Map(RowEntry e) const
  {
    const int32_t column = columns[e.position];
    PetscScalar   value;

    if (!column_flags[column] || row_flags[e.row]) return Identity();
    value              = values[e.position];
    values[e.position] = 0;
    return value * x[column];
  }
  __device__ Result Combine(Result a, Result b) const { return a + b; }
  __device__ void   Store(PetscInt row, Result sum) const
  {
    if (!row_flags[row]) b[row] -= sum;
  }
};

} // namespace

/*
  DCSRZeroColumns - sets the values of flagged columns to zero, in all rows but the flagged ones, and subtracts what goes from a right-hand side: b -= A_flagged x. Asynchronous
  row_flags [num_rows], device: not 0 for rows that are left alone, and their entries of b too. column_flags [num_columns], device: not 0 for columns that become zero. x [num_columns], device, is read
  in flagged columns alone. b [num_rows], device, is NULL together with x.
  Cost: one read of the columns, and of the values that go. PETSC_ERR_MEM when the matrix has long rows, before anything is changed.
*/
PetscErrorCode DCSRZeroColumns(DCSRView view, const unsigned char row_flags[], const unsigned char column_flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!view.num_nonzeros || view.values == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (x != NULL && b != NULL) PetscCall(RowLoop(view, SubtractColumns{view.columns, view.values, row_flags, column_flags, x, b}, stream));
  else PetscCall(RowLoop(view, ZeroColumnEntry{view.columns, view.values, row_flags, column_flags}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
