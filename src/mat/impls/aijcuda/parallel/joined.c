/* Two blocks side by side as one matrix, for the time of an operation. */
#include "parallel.h"

/*
  JoinBlocks - Two compact matrices with as many rows, side by side, for the time of an operation: the left one itself when the right one has no columns.

  To be freed with FreeJoinedBlocks(); zero after an error.
*/
PetscErrorCode JoinBlocks(DCSRView left, DCSRView right, PetscBool values, cudaStream_t stream, DCSRView *joined)
{
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *joined = left;
  if (right.num_columns == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArrayzero(joined, 1));
  PetscCall(DCSRNeedsWide(left.num_nonzeros + right.num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(left.num_rows, left.num_columns + right.num_columns, left.num_nonzeros + right.num_nonzeros, wide, stream, joined));
  joined->row_block    = left.row_block;
  joined->column_block = left.column_block;
  if (values) PetscCallGoto(ierr, failed, DCSRViewAllocateValues(joined, stream));
  PetscCallGoto(ierr, failed, DCSRJoinColumns(left, right, values ? DCSR_WRITE_ALL : DCSR_WRITE_STRUCTURE, stream, *joined));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(joined, stream));
  PetscFunctionReturn(ierr);
}

/* FreeJoinedBlocks - Frees what JoinBlocks() has allocated. */
PetscErrorCode FreeJoinedBlocks(DCSRView left, DCSRView *joined, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (joined->row_offsets != left.row_offsets) PetscCall(DCSRViewFree(joined, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
