/* Masked diagonals of blocks as a format of HiSparse: creation, and the table of functions. The structure is that of masked diagonals of the collapsed matrix. */
#include "diagonalsimpl.h"

const int BlockDiagonalsSizes[BLOCK_DIAGONALS_NUM_SIZES] = {6, 4, 3, 2};

/*
  The structure with blocks of this size, that of masked diagonals of the collapsed matrix, which is the list of blocks; *structure is NULL after an error, and when it does not fit. One block makes a segment, since there is no
  remainder for blocks: slices at the border of a grid have a few blocks of some diagonals. Segments that are short on average do not fit.
*/
static PetscErrorCode CreateOfSize(DCSRView csr, int size, cudaStream_t stream, void **structure)
{
  HiSparseDiagonals *d = NULL;
  DCSRBlockList      list;
  PetscBool          fits = PETSC_FALSE;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *structure = NULL;
  PetscCall(DCSRBlockListGet(csr, size, size, stream, &list));
  if (list == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscNew(&d));
  *structure = d;
  d->size    = size;
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsEncode(list->view, HISPARSE_SLICE_ROWS, stream, d, &fits));
  fits = (PetscBool)(fits && d->num_segment_values == d->num_nonzeros && d->num_nonzeros * HISPARSE_MIN_PART >= d->num_segments * PetscMin(list->view.num_rows, HISPARSE_SLICE_ROWS));
cleanup:
  PetscCall(DCSRBlockListDestroy(&list, stream));
  if (ierr != PETSC_SUCCESS || !fits) PetscCall(HiSparseDiagonalsDestroy(structure, stream));
  PetscFunctionReturn(ierr);
}

/* The largest blocks that fit. */
static PetscErrorCode Create_BlockDiagonals(DCSRView csr, cudaStream_t stream, void **structure, PetscCount *num_others)
{
  PetscFunctionBegin;
  *structure  = NULL;
  *num_others = 0;
  for (int i = 0; *structure == NULL && i < BLOCK_DIAGONALS_NUM_SIZES; i++) PetscCall(CreateOfSize(csr, BlockDiagonalsSizes[i], stream, structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_BlockDiagonals(void *structure, PETSC_UNUSED HiSparseValues *values, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(BlockDiagonalsTransposeCreate((HiSparseDiagonals *)structure, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HiSparseFormatOps HiSparseFormatBlockDiagonals = {
  .create        = Create_BlockDiagonals,
  .destroy       = HiSparseDiagonalsDestroy,
  .getinfo       = HiSparseDiagonalsGetInfo,
  .setvalues     = BlockDiagonalsSetValues,
  .getcsr        = BlockDiagonalsGetCSR,
  .prepare       = Prepare_BlockDiagonals,
  .mult          = BlockDiagonalsMult,
  .multepilogue  = BlockDiagonalsMultEpilogue,
  .getdiagonal   = BlockDiagonalsGetDiagonal,
  .samestructure = HiSparseDiagonalsSameStructure,
};
