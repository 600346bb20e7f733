/*
  What products on the device consist of: operands, explicit transposes, and multiplications of local matrices.
*/
#include <petscsparsecuda/product.h>
#include <petscsparsecuda/transpose.h>

/*
  ProductOperandUsable - Whether a sequential matrix can take part in a product on the device.

  Not Collective

  Input Parameters:
+ X       - any matrix
- foreign - whether it may also be MATSEQAIJ or MATSEQAIJCUSPARSE, of which the product makes a copy

  Output Parameter:
. usable - the answer
*/
PetscErrorCode ProductOperandUsable(Mat X, PetscBool foreign, PetscBool *usable)
{
  PetscBool ours, host, cusparse;

  PetscFunctionBegin;
  *usable = PETSC_FALSE;
  if (!X->assembled || X->structure_only || X->cmap->n > PETSC_INT32_MAX || X->rmap->n >= PETSC_INT32_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSeqAIJCUDA(X, &ours));
  if (ours) {
    PetscCall(MatSeqAIJCUDAUseDevice(X, usable));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!foreign) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)X, MATSEQAIJ, &host));
  PetscCall(PetscObjectTypeCompare((PetscObject)X, MATSEQAIJCUSPARSE, &cusparse));
  *usable = (PetscBool)(host || (cusparse && !X->boundtocpu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure of a foreign matrix, from its host arrays. */
static PetscErrorCode CopyForeignStructure(Mat X, ProductOperand *o, cudaStream_t stream)
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
static PetscErrorCode CopyForeignValues(Mat X, ProductOperand *o, cudaStream_t stream)
{
  const size_t bytes = (size_t)o->copy.num_nonzeros * sizeof(PetscScalar);
  PetscScalar *values;
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(X, NULL, NULL, &values, &mtype));
  if (PetscMemTypeDevice(mtype)) {
    if (bytes > 0) PetscCallCUDA(cudaMemcpyAsync(o->copy.values, values, bytes, cudaMemcpyDeviceToDevice, stream));
  } else {
    PetscCall(PetscSparseCUDACopyToDevice(o->copy.values, values, bytes, stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductOperandGet - The device storage of an operand, compact.

  Not Collective

  Input Parameters:
+ X      - a matrix that ProductOperandUsable() found usable
. o      - what the product knows of it
. values - whether its values are needed
- stream - they may be used in work queued on it

  Output Parameter:
. view - borrowed, until X changes

  Note:
  Values that are staged join the matrix, which may change its pattern: compare afterwards.
*/
PetscErrorCode ProductOperandGet(Mat X, ProductOperand *o, PetscBool values, cudaStream_t stream, DCSRView *view)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, &ours));
  if (ours) {
    PetscCall(MatSeqAIJCUDACopyToDevice(X));
    PetscCall(MatSeqAIJCUDACompact(X));
    *view = MatSeqAIJCUDAGet(X)->view;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (o->copy_id != ((PetscObject)X)->id || o->copy_nonzerostate != X->nonzerostate) PetscCall(CopyForeignStructure(X, o, stream));
  if (values) PetscCall(CopyForeignValues(X, o, stream));
  *view = o->copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductOperandNote - Notes what an operand is now: the product has used its structure, and with the flag its values.
*/
PetscErrorCode ProductOperandNote(Mat X, ProductOperand *o, PetscBool values)
{
  PetscFunctionBegin;
  o->id           = ((PetscObject)X)->id;
  o->nonzerostate = X->nonzerostate;
  o->state        = -1;
  if (values) PetscCall(PetscObjectStateGet((PetscObject)X, &o->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductOperandNotePattern - Notes the pattern of an operand, so that others can be compared with it when it is gone.

  Not Collective

  Input Parameters:
+ view   - compact, of the operand
- stream - asynchronous on it

  Errors: PETSC_ERR_MEM.

  Cost: one read of the structure.
*/
PetscErrorCode ProductOperandNotePattern(DCSRView view, ProductOperand *o, cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (o->hash == NULL) PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "hash of a pattern", stream, &o->hash));
  ierr = DCSRPatternHash(view, stream, o->hash);
  if (ierr != PETSC_SUCCESS) PetscCall(PetscSparseCUDAFree(&o->hash, stream)); // it is nobody's
  PetscCall(ierr);
  o->num_rows     = view.num_rows;
  o->num_columns  = view.num_columns;
  o->num_nonzeros = view.num_nonzeros;
  o->wide         = view.wide;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductOperandIsSame - Whether X is the matrix that ProductOperandNote() saw, with the pattern of that time. Not collective. */
PetscBool ProductOperandIsSame(Mat X, const ProductOperand *o)
{
  return (PetscBool)(o->id == ((PetscObject)X)->id && o->nonzerostate == X->nonzerostate);
}

/*
  ProductOperandHasPattern - Whether a matrix has the pattern that the product was made for.

  Not Collective

  Input Parameters:
+ X      - the operand now: the same matrix as then, or another one
. view   - of it, compact
. o      - what the product knows of the operand
- stream - synchronizes it when numbers alone do not tell

  Output Parameter:
. has - the answer; the same matrix with the same nonzerostate has it, others are compared by their sizes and by a hash of 128 bits (DCSRPatternHash() says how safe that is)

  Errors: PETSC_ERR_MEM.
*/
PetscErrorCode ProductOperandHasPattern(Mat X, DCSRView view, const ProductOperand *o, cudaStream_t stream, PetscBool *has)
{
  uint64_t      *hash = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *has = ProductOperandIsSame(X, o);
  if (*has || o->hash == NULL || view.wide != o->wide) PetscFunctionReturn(PETSC_SUCCESS);
  if (view.num_rows != o->num_rows || view.num_columns != o->num_columns || view.num_nonzeros != o->num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "hash of a pattern", stream, &hash));
  PetscCallGoto(ierr, cleanup, DCSRPatternHash(view, stream, hash));
  PetscCallGoto(ierr, cleanup, DCSRPatternHashEqual(o->hash, hash, stream, has));
cleanup:
  PetscCall(PetscSparseCUDAFree(&hash, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductOperandHasValues - Whether a matrix is the one whose values ProductOperandNote() noted last, and still has them.
*/
PetscErrorCode ProductOperandHasValues(Mat X, const ProductOperand *o, PetscBool *has)
{
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)X, &state));
  *has = (PetscBool)(ProductOperandIsSame(X, o) && o->state == state);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductOperandDestroy - Frees what is kept of an operand; it is zero afterwards. Not collective. */
PetscErrorCode ProductOperandDestroy(ProductOperand *o, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&o->copy, stream));
  PetscCall(PetscSparseCUDAFree(&o->hash, stream));
  PetscCall(PetscArrayzero(o, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure of the transpose of x. */
static PetscErrorCode BuildTranspose(DCSRView x, cudaStream_t stream, ProductTranspose *t)
{
  DCSRView       view;
  void          *permutation = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(x.num_columns, x.num_rows, x.num_nonzeros, x.wide, stream, &view));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private((size_t)x.num_nonzeros * (x.wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of a transpose", stream, &permutation));
  PetscCallGoto(ierr, failed, DCSRTransposeSymbolic(x, view, permutation, stream));
  t->view        = view;
  t->permutation = permutation;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(ierr);
}

/* Whether X keeps its transpose anyway. */
static PetscErrorCode KeepsTranspose(Mat X, PetscBool *keeps)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, keeps));
  if (*keeps) *keeps = (PetscBool)(!X->boundtocpu && (X->form_explicit_transpose || MatSeqAIJCUDAGet(X)->deterministic));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductTransposeGet - Structure, and with the flag values, of the transpose of an operand; made at the first call, and after ProductTransposeDestroy().

  Not Collective

  Input Parameters:
+ X      - the matrix
. x      - its view
. values - whether values are needed
- stream - they may be used in work queued on it

  Input/Output Parameter:
. t - zero, or the transpose of a matrix of the same pattern

  Note:
  A matrix with MAT_FORM_EXPLICIT_TRANSPOSE lends its own. ProductTransposeDropValues() frees the values when the phase is over.
*/
PetscErrorCode ProductTransposeGet(Mat X, DCSRView x, PetscBool values, cudaStream_t stream, ProductTranspose *t)
{
  PetscBool keeps;

  PetscFunctionBegin;
  PetscCall(KeepsTranspose(X, &keeps));
  if (keeps) {
    PetscCall((*MatSeqAIJCUDAGet(X)->csr->preparemult)(X, MULT_TRANSPOSE, stream)); // of the CSR that x is
    if (!t->shared) PetscCall(ProductTransposeDestroy(t, stream));
    t->view   = MatSeqAIJCUDAGet(X)->transpose;
    t->shared = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (t->shared) PetscCall(PetscArrayzero(t, 1));
  if (t->view.row_offsets == NULL) PetscCall(BuildTranspose(x, stream, t));
  if (!values) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->view.values == NULL) PetscCall(DCSRViewAllocateValues(&t->view, stream));
  PetscCall(DCSRTransposeNumeric(x, t->permutation, PETSC_FALSE, t->view.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductTransposeDropValues - Frees the values, unless the matrix itself keeps them. Not collective. */
PetscErrorCode ProductTransposeDropValues(ProductTranspose *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!t->shared) PetscCall(PetscSparseCUDAFree(&t->view.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductTransposeDestroy - Frees a transpose, unless the matrix itself keeps it; it is zero afterwards. Not collective. */
PetscErrorCode ProductTransposeDestroy(ProductTranspose *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!t->shared) {
    PetscCall(DCSRViewFree(&t->view, stream));
    PetscCall(PetscSparseCUDAFree(&t->permutation, stream));
  }
  PetscCall(PetscArrayzero(t, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductJoin - Two matrices side by side, for the time of a multiplication: the left one itself when the right one has no columns

  Not Collective

  Input Parameters:
+ left   - compact
. right  - the same, with as many rows
. values - with values
- stream - for the work

  Output Parameter:
. joined - to be freed with ProductFreeJoined(); zero after an error
*/
PetscErrorCode ProductJoin(DCSRView left, DCSRView right, PetscBool values, cudaStream_t stream, DCSRView *joined)
{
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *joined = left;
  if (right.num_columns == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArrayzero(joined, 1));
  PetscCall(DCSRNeedsWide(left.num_nonzeros + right.num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(left.num_rows, left.num_columns + right.num_columns, left.num_nonzeros + right.num_nonzeros, wide, stream, joined));
  if (values) PetscCallGoto(ierr, failed, DCSRViewAllocateValues(joined, stream));
  PetscCallGoto(ierr, failed, DCSRJoinColumns(left, right, values ? DCSR_WRITE_ALL : DCSR_WRITE_STRUCTURE, stream, *joined));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(joined, stream));
  PetscFunctionReturn(ierr);
}

/* ProductFreeJoined - Frees what ProductJoin() has allocated; not collective. */
PetscErrorCode ProductFreeJoined(DCSRView left, DCSRView *joined, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (joined->row_offsets != left.row_offsets) PetscCall(DCSRViewFree(joined, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each multiplication and the addition that follows it. */
static PetscErrorCode LogFlops(DCSRSpGEMM plan)
{
  DCSRSpGEMMInfo info;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(plan, &info));
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)info.num_products));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "warp 12, block 3": the bins that have rows. */
static PetscErrorCode PrintBins(const DCSRSpGEMMInfo *info, size_t n, char bins[])
{
  size_t used = 0;

  PetscFunctionBegin;
  bins[0] = '\0';
  for (PetscInt b = 0; b < info->num_bins; b++) {
    if (info->bin_rows[b] == 0) continue;
    PetscCall(PetscSNPrintf(bins + used, n - used, "%s%s %" PetscCount_FMT, used > 0 ? ", " : "", info->bin_names[b], info->bin_rows[b]));
    PetscCall(PetscStrlen(bins, &used));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InfoPlan(Mat C, const char what[], DCSRView A, DCSRView B, DCSRView result, DCSRSpGEMM plan)
{
  DCSRSpGEMMInfo info;
  char           bins[512];

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(plan, &info));
  PetscCall(PrintBins(&info, sizeof(bins), bins));
  PetscCall(PetscInfo(C,
                      "%s: (%" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros) times (%" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT "): %" PetscCount_FMT " nonzeros of %" PetscCount_FMT
                      " products, %.1f MB workspace, rows by bin: %s\n",
                      what, A.num_rows, A.num_columns, A.num_nonzeros, B.num_rows, B.num_columns, B.num_nonzeros, result.num_nonzeros, info.num_products, (double)info.workspace * 1e-6, bins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductCheckNumNonzeros - The host's structure, made when somebody asks, has PetscInt offsets: raises PETSC_ERR_ARG_OUTOFRANGE when they are too small for so many nonzeros.
*/
PetscErrorCode ProductCheckNumNonzeros(PetscCount num_nonzeros)
{
  PetscFunctionBegin;
  PetscCheck(num_nonzeros <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The product has %" PetscCount_FMT " nonzeros on one process, which do not fit into PetscInt: use more processes or configure PETSc with --with-64-bit-indices",
             num_nonzeros);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSymbolic - DCSRSpGEMMSymbolic() with log and -info.

  Not Collective

  Input Parameters:
+ C      - the result of the whole product, for -info
. what   - which of its multiplications this is
. A      - left factor
. B      - right factor
. values - compute values in the same pass; without it the result gets none
- stream - for the work

  Output Parameters:
+ result - owns its arrays; zero after an error
- plan   - to be freed with DCSRSpGEMMDestroy(); NULL after an error

  Errors: PETSC_ERR_MEM; PETSC_ERR_ARG_OUTOFRANGE for more nonzeros than PetscInt can count.
*/
PetscErrorCode ProductSymbolic(Mat C, const char what[], DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *result, DCSRSpGEMM *plan)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(result, 1));
  *plan = NULL;
  PetscCall(PetscLogGpuTimeBegin());
  ierr = DCSRSpGEMMSymbolic(A, B, values, stream, result, plan);
  PetscCallGoto(ierr, failed, EndGpuTime(ierr));
  PetscCallGoto(ierr, failed, ProductCheckNumNonzeros(result->num_nonzeros));
  PetscCallGoto(ierr, failed, InfoPlan(C, what, A, B, *result, *plan));
  if (values) PetscCallGoto(ierr, failed, LogFlops(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(result, stream));
  if (*plan != NULL) PetscCall(DCSRSpGEMMDestroy(plan, stream));
  PetscFunctionReturn(ierr);
}

/*
  ProductNumeric - DCSRSpGEMMNumeric() with log.
*/
PetscErrorCode ProductNumeric(DCSRSpGEMM plan, DCSRView A, DCSRView B, DCSRView result, cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  ierr = DCSRSpGEMMNumeric(plan, A, B, result, stream);
  PetscCall(EndGpuTime(ierr));
  PetscCall(LogFlops(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductViewPlan - One line about a multiplication of the viewer's first process. PETSc asks for it in MatView() with PETSC_VIEWER_ASCII_INFO.

  Collective on the viewer
*/
PetscErrorCode ProductViewPlan(PetscViewer viewer, const char what[], DCSRSpGEMM plan)
{
  DCSRSpGEMMInfo info;
  char           bins[512];
  PetscBool      ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || plan == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRSpGEMMGetInfo(plan, &info));
  PetscCall(PrintBins(&info, sizeof(bins), bins));
  PetscCall(PetscViewerASCIIPrintf(viewer, "dcsrcuda: %s: %" PetscCount_FMT " products, %.1f MB workspace, rows by bin: %s\n", what, info.num_products, (double)info.workspace * 1e-6, bins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductReleaseBound - After a product into a sequential result that is bound to the CPU: its mirror gets the values, and the device copy goes.
*/
PetscErrorCode ProductReleaseBound(Mat C)
{
  PetscFunctionBegin;
  if (!C->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin(C, HOST_READ));
  PetscCall(MatAIJCUDAHostEnd(C, HOST_READ));
  C->offloadmask = PETSC_OFFLOAD_CPU;
  PetscCall(MatSeqAIJCUDADropDevice(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NumericOfTwo(Mat A, Mat B, Mat C)
{
  Mat_Product   *product     = C->product;
  const Mat      operands[2] = {product->A, product->B};
  PetscBool      is_mpi;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(C, &is_mpi));
  product->A = A;
  product->B = B;
  ierr       = is_mpi ? MatProductNumeric_MPIAIJCUDA(C) : MatProductNumeric_SeqAIJCUDA(C);
  product->A = operands[0];
  product->B = operands[1];
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSetNumericOfTwo - Sets the numeric operation with the operands as arguments, which PETSc's basic code calls for a product that is a step of one of three matrices.

  Not Collective

  Input Parameter:
. C - the result of A B, A^T B or A B^T, computed on the device
*/
PetscErrorCode ProductSetNumericOfTwo(Mat C)
{
  PetscFunctionBegin;
  if (C->product->type == MATPRODUCT_AB) C->ops->matmultnumeric = NumericOfTwo;
  else if (C->product->type == MATPRODUCT_AtB) C->ops->transposematmultnumeric = NumericOfTwo;
  else if (C->product->type == MATPRODUCT_ABt) C->ops->mattransposemultnumeric = NumericOfTwo;
  PetscFunctionReturn(PETSC_SUCCESS);
}
