/*
  Operands: whether one operation can take several matrices; on the device, what an operation keeps of matrices whose structure it used, to know them again, and copies of those that are not ours.
*/
#include "core.h"
#include <petscsparsecuda/report.h>
#include <petscsparsecuda/pattern.h>

/*
  MatOperandsAlike - Whether two matrices have data of the same kind, so that code for one may look into the other: both MATSEQAIJ, or both MATMPIAIJ, or subclasses of it.

  On one process a MATMPIAIJ and a MATSEQAIJ have the same communicator, layouts and root name, and are not alike. Operations with several matrices ask here, unless PETSc has compared the two
  matrices' operations, of which ours are others for sequential and for parallel ones.
*/
PetscErrorCode MatOperandsAlike(Mat X, Mat Y, PetscBool *alike)
{
  const MatType kinds[] = {MATSEQAIJ, MATMPIAIJ};

  PetscFunctionBegin;
  *alike = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds) && !*alike; k++) {
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)X, kinds[k], alike));
    if (*alike) PetscCall(PetscObjectBaseTypeCompare((PetscObject)Y, kinds[k], alike));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandHasType - Whether a sequential matrix is of a type that a product on the device can take; with foreign also MATSEQAIJ or MATSEQAIJCUSPARSE, of which the product makes a copy. */
PetscErrorCode MatOperandHasType(Mat X, PetscBool foreign, PetscBool *has)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, has));
  if (!*has && foreign) PetscCall(PetscObjectTypeCompareAny((PetscObject)X, has, MATSEQAIJ, MATSEQAIJCUSPARSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandUsable - Whether a sequential matrix can take part in a product on the device now; MatOperandHasType() says more about the parameters. */
PetscErrorCode MatOperandUsable(Mat X, PetscBool foreign, PetscBool *usable)
{
  PetscBool ours, cusparse;

  PetscFunctionBegin;
  PetscCall(MatOperandHasType(X, foreign, usable));
  if (!X->assembled || X->structure_only || X->cmap->n > PETSC_INT32_MAX || X->rmap->n >= PETSC_INT32_MAX) *usable = PETSC_FALSE;
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSeqAIJCUDA(X, &ours));
  PetscCall(PetscObjectTypeCompare((PetscObject)X, MATSEQAIJCUSPARSE, &cusparse));
  if (ours) PetscCall(MatSeqAIJCUDAUseDevice(X, usable));
  else if (cusparse) *usable = (PetscBool)!X->boundtocpu;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandNoteBlockSizes - Notes in a view of X the sizes of blocks that its layouts say, 0 when its options are against blocks, and lends it the list of X when it is all of its compact storage. */
PetscErrorCode MatOperandNoteBlockSizes(Mat X, DCSRView *view)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(X);
  PetscBool       ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, &ours));
  view->row_block    = !ours || d->options.blocks ? PetscAbs(X->rmap->bs) : 0;
  view->column_block = !ours || d->options.blocks ? PetscAbs(X->cmap->bs) : 0;
  if (!ours || view->row_offsets == NULL || view->row_offsets != d->device.view.row_offsets) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->plans.list == NULL && view->row_block * view->column_block > 1) PetscCall(DCSRBlockListCreate(0, 0, &d->plans.list));
  view->list = d->plans.list;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure of a foreign matrix, from its host arrays. */
static PetscErrorCode CopyForeignStructure(Mat X, MatOperand *o, cudaStream_t stream)
{
  const Mat_SeqAIJ *x   = (const Mat_SeqAIJ *)X->data;
  const PetscInt    m   = X->rmap->n;
  const PetscCount  nnz = x->i[m];
  DCSRView          view;
  PetscBool         wide;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(nnz, &wide));
  PetscCall(DCSRViewAllocateCompact(m, X->cmap->n, nnz, wide, stream, &view));
  PetscCallGoto(ierr, failed, DCSRCopyOffsetsToDevice(m + 1, x->i, wide, view.row_offsets, stream));
  PetscCallGoto(ierr, failed, DCSRCopyColumnsToDevice(nnz, x->j, view.columns, stream));
  PetscCall(DCSRViewFree(&o->copy, stream));
  o->copy              = view;
  o->copy_id           = ((PetscObject)X)->id;
  o->copy_nonzerostate = X->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

/* Values of a foreign matrix, from where they are. */
static PetscErrorCode CopyForeignValues(Mat X, MatOperand *o, cudaStream_t stream)
{
  const size_t bytes = (size_t)o->copy.num_nonzeros * sizeof(PetscScalar);
  PetscScalar *values;
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(X, NULL, NULL, &values, &mtype));
  if (PetscMemTypeDevice(mtype)) {
    if (bytes > 0) PetscCallCUDA(cudaMemcpyAsync(o->copy.values, values, bytes, cudaMemcpyDeviceToDevice, stream));
  } else {
    PetscCallReported(REPORT_OPERAND, NULL, PetscSparseCUDACopyToDevice(o->copy.values, values, bytes, stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatOperandGet - The device storage of an operand that MatOperandUsable() found usable, compact, with sizes of blocks, for work queued on the stream; borrowed, until X changes.

  Values that are staged are merged into the matrix, which may change its pattern: compare afterwards.
*/
PetscErrorCode MatOperandGet(Mat X, MatOperand *o, PetscBool values, cudaStream_t stream, DCSRView *view)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, &ours));
  if (ours) {
    PetscCall(MatSeqAIJCUDAGetCompact(X, view));
    PetscCall(MatOperandNoteBlockSizes(X, view));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (o->copy_id != ((PetscObject)X)->id || o->copy_nonzerostate != X->nonzerostate) PetscCall(CopyForeignStructure(X, o, stream));
  if (values) PetscCall(CopyForeignValues(X, o, stream));
  *view = o->copy;
  PetscCall(MatOperandNoteBlockSizes(X, view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandNote - Notes what an operand is now: the product has used its structure, and with the flag its values. */
PetscErrorCode MatOperandNote(Mat X, MatOperand *o, PetscBool values)
{
  PetscFunctionBegin;
  o->id           = ((PetscObject)X)->id;
  o->nonzerostate = X->nonzerostate;
  o->state        = -1;
  if (values) PetscCall(PetscObjectStateGet((PetscObject)X, &o->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The hash of the pattern of X, whose compact storage the view is, on the device; one of ours keeps it for others. *hash is NULL before; the caller owns it, also after an error. */
static PetscErrorCode GetHash(Mat X, DCSRView view, cudaStream_t stream, uint64_t **hash)
{
  uint64_t     **kept = hash;
  PetscBool      ours;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, &ours));
  if (ours) kept = &MatSeqAIJCUDAGet(X)->plans.hash;
  if (*kept == NULL) {
    PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "hash of a pattern", stream, kept));
    ierr = DCSRPatternHash(view, stream, *kept);
    if (ierr != PETSC_SUCCESS) PetscCall(PetscSparseCUDAFree(kept, stream));
    PetscCall(ierr);
  }
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "hash of a pattern", stream, hash));
  PetscCallCUDA(cudaMemcpyAsync(*hash, *kept, DCSR_PATTERN_WORDS * sizeof(**hash), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandNotePattern - Notes the pattern of an operand X, whose view is compact, so that others can be compared with it when it is gone. o has no pattern yet. Asynchronous; reads the structure once. */
PetscErrorCode MatOperandNotePattern(Mat X, DCSRView view, MatOperand *o, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(GetHash(X, view, stream, &o->hash));
  o->num_rows     = view.num_rows;
  o->num_columns  = view.num_columns;
  o->num_nonzeros = view.num_nonzeros;
  o->wide         = view.wide;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandIsSame - Whether X is the matrix that MatOperandNote() saw, with the pattern of that time. */
PetscBool MatOperandIsSame(Mat X, const MatOperand *o)
{
  return (PetscBool)(o->id == ((PetscObject)X)->id && o->nonzerostate == X->nonzerostate);
}

/* MatOperandNoteBlocks - Notes in C the patterns of the blocks of X, a parallel matrix that C was made of; the note is composed with C under the key. */
PetscErrorCode MatOperandNoteBlocks(Mat X, Mat C, const char key[])
{
  MatOperand *blocks;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(2, &blocks));
  for (int k = 0; k < 2; k++) PetscCall(MatOperandNote(MatMPIAIJCUDAGetBlock(X, k), &blocks[k], PETSC_FALSE));
  PetscCall(PetscSparseCUDACompose((PetscObject)C, key, blocks, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandIsOfBlocks - Whether C has a note of MatOperandNoteBlocks() under this key, and was made of the blocks of X as they are. */
PetscErrorCode MatOperandIsOfBlocks(Mat X, Mat C, const char key[], PetscBool *is)
{
  MatOperand *blocks = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)C, key, &blocks));
  *is = (PetscBool)(blocks != NULL && MatOperandIsSame(MatMPIAIJCUDAGetBlock(X, 0), &blocks[0]) && MatOperandIsSame(MatMPIAIJCUDAGetBlock(X, 1), &blocks[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatOperandHasPattern - Whether a matrix, the same as then or another one, with a compact view, has the pattern that the product was made for.

  The same matrix with the same nonzerostate has it; others are compared by their sizes and by a hash of 128 bits (DCSRPatternHash() says how safe that is).
  Synchronizes the stream when numbers alone do not tell.
*/
PetscErrorCode MatOperandHasPattern(Mat X, DCSRView view, const MatOperand *o, cudaStream_t stream, PetscBool *has)
{
  uint64_t      *hash = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *has = MatOperandIsSame(X, o);
  if (*has || o->hash == NULL || view.wide != o->wide) PetscFunctionReturn(PETSC_SUCCESS);
  if (view.num_rows != o->num_rows || view.num_columns != o->num_columns || view.num_nonzeros != o->num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, GetHash(X, view, stream, &hash));
  PetscCallGoto(ierr, cleanup, DCSRPatternHashEqual(o->hash, hash, stream, has));
cleanup:
  PetscCall(PetscSparseCUDAFree(&hash, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandHasValues - Whether a matrix is the one whose values MatOperandNote() noted last, and still has them. */
PetscErrorCode MatOperandHasValues(Mat X, const MatOperand *o, PetscBool *has)
{
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)X, &state));
  *has = (PetscBool)(MatOperandIsSame(X, o) && o->state == state);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatOperandDestroy - Frees what is kept of an operand; it is zero afterwards. */
PetscErrorCode MatOperandDestroy(MatOperand *o, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&o->copy, stream));
  PetscCall(PetscSparseCUDAFree(&o->hash, stream));
  PetscCall(PetscArrayzero(o, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
