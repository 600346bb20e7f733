/*
  Products of matrices that consist of full blocks, as those of several unknowns a point do. The result has full blocks, too: the symbolic phase is that of the lists of blocks, and each of their terms
  stands for a product of two small matrices. Positions of terms, a byte or two for each product of blocks, are made at once, and all values come by numericblocks.cu, with the bits of the other kernels.
*/
#include "spgemmimpl.h"

/* The list of the result, and where its blocks' terms go; *done: there is memory for that, and no row is too long. */
static PetscErrorCode MultiplyLists(SpGEMMBlocks *b, cudaStream_t stream, PetscBool *done)
{
  const SpGEMMStats *stats;
  DCSRView          *c;
  PetscCount         num_nonzeros;
  size_t             bound;

  PetscFunctionBegin;
  PetscCall(DCSRBlockListCreate(b->a->rows, b->b->columns, &b->c));
  c = &b->c->view;
  PetscCall(DCSRSpGEMMSymbolic(b->a->view, b->b->view, PETSC_FALSE, stream, c, &b->product));
  stats        = &b->product->stats;
  num_nonzeros = c->num_nonzeros * b->c->rows * b->c->columns;
  bound        = SpGEMMMemoryBound(c->num_rows * b->c->rows, num_nonzeros, PETSC_FALSE);
  if (c->wide || stats->bin_rows[SPGEMM_BIN_BLOCK] + stats->bin_rows[SPGEMM_BIN_LONG] > 0) PetscFunctionReturn(PETSC_SUCCESS);
  b->product->positions.of_blocks = PETSC_TRUE;
  PetscCall(SpGEMMMakePositions(b->product, b->a->view, b->b->view, *c, bound, stream));
  *done = (PetscBool)(b->product->positions.numbers != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SpGEMMBlocksSymbolic - The blocks of C = A B, a list. Synchronizes
  The sizes of blocks are those that A and B say. blocks->product is NULL, with no error, when there is no kernel for these, some block is not full, a row of C has more blocks than a table, or there is no
  memory for positions.
*/
PetscErrorCode SpGEMMBlocksSymbolic(DCSRView A, DCSRView B, cudaStream_t stream, SpGEMMBlocks *blocks)
{
  PetscBool      done = PETSC_FALSE;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (A.column_block != B.row_block || !SpGEMMHasBlockKernel((int)A.row_block, (int)A.column_block, (int)B.column_block)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, DCSRBlockListGet(A, A.row_block, A.column_block, stream, &blocks->a));
  if (blocks->a != NULL) PetscCallGoto(ierr, cleanup, DCSRBlockListGet(B, B.row_block, B.column_block, stream, &blocks->b));
  if (blocks->b != NULL) PetscCallGoto(ierr, cleanup, MultiplyLists(blocks, stream, &done));
cleanup:
  if (!done || ierr != PETSC_SUCCESS) PetscCall(SpGEMMBlocksDestroy(blocks, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMBlocksNumeric - The values of C, whose list SpGEMMBlocksSymbolic() gave. A may be rows of a larger matrix. Asynchronous */
PetscErrorCode SpGEMMBlocksNumeric(const SpGEMMBlocks *b, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  const DCSRSpGEMM product  = b->product;
  const int        sizes[3] = {b->a->rows, b->a->columns, b->b->columns};
  const int32_t   *list     = product->list;
  DCSRView         lists[3] = {b->a->view, b->b->view, b->c->view};

  PetscFunctionBegin;
  lists[0].values = A.values;
  lists[1].values = B.values;
  lists[2].values = C.values;
  for (int bin = 1; bin < SPGEMM_BIN_BLOCK; bin++) {
    const PetscCount n = product->stats.bin_rows[bin];

    PetscCall(SpGEMMNumericBlocks(lists[0], lists[1], lists[2], A, sizes, &product->positions, &product->rules->bins[bin], n, list, stream));
    if (list != NULL) list += n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMBlocksDestroy - Frees what a product of blocks keeps; it is zero afterwards. */
PetscErrorCode SpGEMMBlocksDestroy(SpGEMMBlocks *blocks, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMDestroy(&blocks->product, stream));
  PetscCall(DCSRBlockListDestroy(&blocks->a, stream));
  PetscCall(DCSRBlockListDestroy(&blocks->b, stream));
  PetscCall(DCSRBlockListDestroy(&blocks->c, stream));
  PetscCall(PetscArrayzero(blocks, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
