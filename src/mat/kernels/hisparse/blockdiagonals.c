/* Masked diagonals of blocks as a format of HiSparse: creation, and the table of functions. The structure is that of masked diagonals of the collapsed matrix. */
#include "blocksimpl.h"
#include "diagonalsimpl.h"

/* BlockDiagonalsConfigFind - the first launch configuration for a size of blocks that exists */
PetscErrorCode BlockDiagonalsConfigFind(int size, BlockDiagonalsConfig *config)
{
  PetscInt i = 0;

  PetscFunctionBegin;
  do PetscCall(BlockDiagonalsConfigGet(i++, config));
  while (config->size != size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The masked diagonals of the matrix that has an entry for each block of csr; all blocks of this size are full. One block makes a segment, since there is no remainder for blocks: slices at the border
  of a grid have a few blocks of some diagonals. Segments that are short on average do not fit.
*/
static PetscErrorCode EncodeCollapsed(DCSRView csr, int size, cudaStream_t stream, HiSparseDiagonals *d, PetscBool *fits)
{
  Blocks         blocks = {0};
  DCSRView       view   = {0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  blocks.num_rows    = csr.num_rows;
  blocks.num_columns = csr.num_columns;
  blocks.size        = size;
  blocks.num_blocks  = csr.num_nonzeros / (size * size);
  PetscCallGoto(ierr, cleanup, BlocksEncode(csr, stream, &blocks));
  view.num_rows     = csr.num_rows / size;
  view.num_columns  = csr.num_columns / size;
  view.num_nonzeros = view.capacity = view.used = blocks.num_blocks;
  view.row_offsets                              = blocks.list.offsets;
  view.columns                                  = blocks.list.columns;
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsEncode(view, HISPARSE_SLICE_ROWS, stream, d, fits));
  *fits = (PetscBool)(*fits && d->num_segment_values == d->num_nonzeros && d->num_nonzeros * HISPARSE_MIN_PART >= d->num_segments * PetscMin(view.num_rows, HISPARSE_SLICE_ROWS));
cleanup:
  PetscCall(BlocksListDestroy(&blocks.list, stream));
  PetscFunctionReturn(ierr);
}

/* The structure with blocks of this size; *structure is NULL after an error, and when it does not fit. */
static PetscErrorCode CreateOfSize(DCSRView csr, int size, cudaStream_t stream, void **structure)
{
  HiSparseDiagonals *d;
  PetscBool          fits;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *structure = NULL;
  PetscCall(BlocksAreFull(csr, size, stream, &fits));
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&d));
  *structure = d;
  d->size    = size;
  PetscCallGoto(ierr, failed, BlockDiagonalsConfigFind(size, &d->block_config));
  PetscCallGoto(ierr, failed, EncodeCollapsed(csr, size, stream, d, &fits));
  if (!fits) PetscCall(HiSparseDiagonalsDestroy(structure, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDiagonalsDestroy(structure, stream));
  PetscFunctionReturn(ierr);
}

/* The largest blocks that fit. */
static PetscErrorCode Create_BlockDiagonals(DCSRView csr, cudaStream_t stream, void **structure, PetscCount *num_others)
{
  PetscFunctionBegin;
  *structure  = NULL;
  *num_others = 0;
  for (int i = 0; *structure == NULL && i < BLOCKS_NUM_SIZES; i++) PetscCall(CreateOfSize(csr, BlocksSizes[i], stream, structure));
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
