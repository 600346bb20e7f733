/*
  The life cycle of a product with a sparse result on the device, for one and for several processes. What differs between them is in a table of functions (ProductOps), which
  productseq.c and productmpi.c fill.

  The phases share the structures of explicit transposes and of intermediate products, and what the kernels learned about both. Patterns are told by nonzerostate, and those
  of other matrices than before by a hash: when one has changed, the numeric phase does the work of the symbolic one again.

  What a process does for itself may fail there alone. Each phase is such work, an agreement, an exchange, and so on: nobody waits for one that has failed. A sequential
  result agrees with itself.
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

/* Frees what a product keeps; it is empty afterwards. Collective. */
static PetscErrorCode Clear(SparseProduct *p, cudaStream_t stream)
{
  const ProductOps *ops = p->ops;

  PetscFunctionBegin;
  for (int k = 0; k < PRODUCT_MAX_MATS; k++) PetscCall(MatOperandDestroy(&p->operands[k], stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(ProductTransposeDestroy(&p->transposes[k], stream));
    PetscCall(DCSRViewFree(&p->blocks[k], stream));
  }
  if (p->data != NULL) PetscCall((*ops->clear)(p, stream));
  PetscCall(PetscFree(p->data));
  PetscCall(PetscArrayzero(p, 1));
  p->ops = ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(PetscCtxRt data)
{
  SparseProduct *p = *(SparseProduct **)data;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(Clear(p, stream));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PRODUCT_DESTROY_DEFINE(Destroy)

/* Values live while a phase runs. */
static PetscErrorCode DropValues(SparseProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(ProductTransposeDropValues(&p->transposes[k], stream));
  PetscCall((*p->ops->dropvalues)(p, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views of the operands; the others are zero. */
static PetscErrorCode GetOperands(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(p->views, PRODUCT_MAX_MATS));
  (*p->ops->getmats)(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS; k++)
    if (mats[k] != NULL) PetscCall(MatOperandGet(mats[k], &p->operands[k], values, stream, &p->views[k]));
  if (p->ops->noteghosts != NULL) { // diagonal and off-diagonal blocks in turn; PETSc gives the latter one column a block
    for (int k = 1; k < PRODUCT_MAX_MATS; k += 2) p->views[k].column_block = p->views[k - 1].column_block;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetTransposes(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  Mat mats[PRODUCT_MAX_MATS];
  int which[2];

  PetscFunctionBegin;
  (*p->ops->getmats)(C, mats);
  (*p->ops->gettransposed)(C, which);
  for (int k = 0; k < 2; k++)
    if (which[k] >= 0) PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, mats[which[k]], ProductTransposeGet(mats[which[k]], p->views[which[k]], values, stream, &p->transposes[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NotePatterns(Mat C, SparseProduct *p, cudaStream_t stream)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  (*p->ops->getmats)(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS; k++)
    if (mats[k] != NULL) PetscCall(MatOperandNotePattern(mats[k], p->views[k], &p->operands[k], stream));
  if (p->ops->noteghosts != NULL) PetscCall((*p->ops->noteghosts)(C, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoteOperands(Mat C, SparseProduct *p, PetscBool values)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  (*p->ops->getmats)(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS; k++)
    if (mats[k] != NULL) PetscCall(MatOperandNote(mats[k], &p->operands[k], values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block that is bound to the CPU: its host copy gets the values, and the device copy goes. */
static PetscErrorCode ReleaseBound(Mat block)
{
  PetscFunctionBegin;
  if (!block->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin(block, HOST_READ));
  PetscCall(MatAIJCUDAHostEnd(block, HOST_READ));
  MatSeqAIJCUDANoteValues(block, VALUES_WRITTEN_ON_HOST);
  PetscCall(MatSeqAIJCUDADropDevice(block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the result have new values on the device. */
static PetscErrorCode ResultChanged(Mat C, const SparseProduct *p)
{
  Mat blocks[2];

  PetscFunctionBegin;
  (*p->ops->getblocks)(C, blocks);
  for (int k = 0; k < 2; k++) {
    if (blocks[k] == NULL || !MatSeqAIJCUDAHasDevice(blocks[k])) continue; // one that is bound to the CPU was released by its assembly
    PetscCall(MatSeqAIJCUDADeviceChanged(blocks[k]));
    PetscCall(ReleaseBound(blocks[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the result as compact storage on the device, when others took the structure from there. */
static PetscErrorCode PrepareResult(Mat C, const SparseProduct *p)
{
  Mat blocks[2];

  PetscFunctionBegin;
  (*p->ops->getblocks)(C, blocks);
  for (int k = 0; k < 2; k++) {
    if (blocks[k] == NULL) continue;
    PetscCall(MatSeqAIJCUDACopyToDevice(blocks[k]));
    PetscCall(MatSeqAIJCUDACompact(blocks[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of the symbolic phase, into an empty product; the result gets values in any case. Nothing stays allocated after an error, which all processes have. Collective. */
static PetscErrorCode Build(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)C);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscCalloc(p->ops->size, &p->data);
  if (ierr == PETSC_SUCCESS) ierr = GetOperands(C, p, values, stream);
  if (ierr == PETSC_SUCCESS) ierr = GetTransposes(C, p, values, stream);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));

  if (ierr == PETSC_SUCCESS) ierr = (*p->ops->multiply)(C, p, values, stream);

  if (ierr == PETSC_SUCCESS) ierr = NotePatterns(C, p, stream);
  if (ierr == PETSC_SUCCESS) ierr = (*p->ops->getresult)(C, p, values, stream); // the last that can fail
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));

  if (ierr == PETSC_SUCCESS) ierr = DropValues(p, stream);
  if (ierr == PETSC_SUCCESS) ierr = NoteOperands(C, p, values);
  if (ierr != PETSC_SUCCESS) PetscCall(Clear(p, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of the numeric phase with the structures there are. After an error, which all processes have, the result has its old values. Collective. */
static PetscErrorCode Refresh(Mat C, SparseProduct *p, cudaStream_t stream)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)C);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PrepareResult(C, p);
  if (ierr == PETSC_SUCCESS) ierr = GetTransposes(C, p, PETSC_TRUE, stream);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));

  if (ierr == PETSC_SUCCESS) ierr = (*p->ops->multiply)(C, p, PETSC_TRUE, stream);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));

  if (ierr == PETSC_SUCCESS && p->ops->setvalues != NULL) ierr = (*p->ops->setvalues)(C, p, stream);
  if (ierr == PETSC_SUCCESS) ierr = NoteOperands(C, p, PETSC_TRUE);
  PetscCall(DropValues(p, stream));
  PetscCall(ierr);
  PetscCall(ResultChanged(C, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Builds everything anew, of the kind that the table is for, and puts it in place of what was; when that cannot be built all is as it was. Collective. */
static PetscErrorCode BuildAndInstall(Mat C, SparseProduct *p, const ProductOps *ops, PetscBool values, cudaStream_t stream)
{
  SparseProduct  built;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&built, 1));
  built.ops = ops;
  PetscCall(Build(C, &built, values, stream));
  PetscCall(Clear(p, stream));
  *p   = built;
  ierr = (*p->ops->install)(C, p);
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&p->blocks[k], stream)); // what an error has left
  PetscCall(ierr);
  PetscCall(ResultChanged(C, p));
  p->result_nonzerostate = C->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductCycleHasValues - Whether the result has its pattern, and the operands have the values that it was computed from last, on this process. */
PetscErrorCode ProductCycleHasValues(Mat C, const SparseProduct *p, PetscBool *has)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  *has = (PetscBool)(p->result_nonzerostate == C->nonzerostate);
  (*p->ops->getmats)(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS && *has; k++)
    if (mats[k] != NULL) PetscCall(MatOperandHasValues(mats[k], &p->operands[k], has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductLayoutsFit - Whether the layouts of the operands of the product that C is the result of fit together; the same on all processes. */
PetscErrorCode ProductLayoutsFit(Mat C, PetscBool *fit)
{
  const Mat_Product   *product = C->product;
  const MatProductType type    = product->type;

  PetscFunctionBegin;
  if (type == MATPRODUCT_ABt || type == MATPRODUCT_RARt) PetscCall(PetscLayoutCompare(product->A->cmap, product->B->cmap, fit));
  else if (type == MATPRODUCT_AtB) PetscCall(PetscLayoutCompare(product->A->rmap, product->B->rmap, fit));
  else PetscCall(PetscLayoutCompare(product->A->cmap, product->B->rmap, fit));
  if (*fit && type == MATPRODUCT_PtAP) PetscCall(PetscLayoutCompare(product->A->rmap, product->B->rmap, fit));
  if (*fit && type == MATPRODUCT_RARt) PetscCall(PetscLayoutCompare(product->A->rmap, product->B->cmap, fit));
  if (*fit && type == MATPRODUCT_ABC) PetscCall(PetscLayoutCompare(product->B->cmap, product->C->rmap, fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The layouts that the result of the product has. */
static void GetResultLayouts(Mat C, PetscLayout *rows, PetscLayout *columns)
{
  const Mat_Product   *product = C->product;
  const MatProductType type    = product->type;

  *rows    = type == MATPRODUCT_AB || type == MATPRODUCT_ABt || type == MATPRODUCT_ABC ? product->A->rmap
             : type == MATPRODUCT_AtB                                                  ? product->A->cmap
             : type == MATPRODUCT_PtAP                                                 ? product->B->cmap
                                                                                       : product->B->rmap;
  *columns = type == MATPRODUCT_ABC ? product->C->cmap : type == MATPRODUCT_ABt || type == MATPRODUCT_RARt ? product->B->rmap : product->B->cmap;
}

/* ProductInstallBlocks - Makes the blocks of p, the second one with [n] ghost columns, host, ascending, those of the result, which becomes a parallel matrix of ours if it is not yet. Collective. */
PetscErrorCode ProductInstallBlocks(Mat C, SparseProduct *p, PetscInt n, const int32_t ghosts[])
{
  PetscLayout rows, columns;
  PetscBool   ours;

  PetscFunctionBegin;
  GetResultLayouts(C, &rows, &columns);
  PetscCall(MatSetSizes(C, rows->n, columns->n, rows->N, columns->N));
  PetscCall(MatIsMPIAIJCUDA(C, &ours));
  if (!ours) PetscCall(MatSetType(C, ((PetscObject)C->product->A)->type_name));
  PetscCall(MatMPIAIJCUDAInstallBlocks(C, p->blocks, n, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatProductReplaceMats() takes operands of any sizes. The same on all processes. */
static PetscErrorCode CheckLayouts(Mat C)
{
  PetscLayout rows, columns;
  PetscBool   fit;

  PetscFunctionBegin;
  GetResultLayouts(C, &rows, &columns);
  PetscCall(ProductLayoutsFit(C, &fit));
  if (fit) PetscCall(PetscLayoutCompare(rows, C->rmap, &fit));
  if (fit) PetscCall(PetscLayoutCompare(columns, C->cmap, &fit));
  PetscCheck(fit, PetscObjectComm((PetscObject)C), PETSC_ERR_ARG_SIZ,
             "An operand was replaced by a matrix whose sizes, on some process, do not fit those of the other operands or of the result: make a new product");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may have changed since the symbolic phase. */
typedef struct {
  PetscBool patterns, values; /* of operands or result */
  PetscBool order;            /* ghost columns of an operand do not ascend */
} Changes;

/* What has changed on this process, for which the operands are looked at. */
static PetscErrorCode GetOwnChanges(Mat C, SparseProduct *p, cudaStream_t stream, Changes *changes)
{
  PetscBool same = (PetscBool)(p->result_nonzerostate == C->nonzerostate), ghosts = PETSC_TRUE, ascend = PETSC_TRUE, has;
  Mat       mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  PetscCall(GetOperands(C, p, PETSC_TRUE, stream));
  if (p->ops->compareghosts != NULL) PetscCall((*p->ops->compareghosts)(C, p, &ghosts, &ascend));
  same = (PetscBool)(same && ghosts);
  (*p->ops->getmats)(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS && same; k++)
    if (mats[k] != NULL) PetscCall(MatOperandHasPattern(mats[k], p->views[k], &p->operands[k], stream, &same));
  PetscCall(ProductCycleHasValues(C, p, &has));
  changes->patterns = (PetscBool)!same;
  changes->values   = (PetscBool)!has;
  changes->order    = (PetscBool)!ascend;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has changed on some process, and whether one has failed, this one with ierr. Collective. */
static PetscErrorCode UniteChanges(Mat C, PetscErrorCode ierr, Changes *changes)
{
  int all[4] = {(int)ierr, changes->patterns, changes->values, changes->order};

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 4, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)C)));
  PetscCall(PetscSparseCUDAErrorOfAll(all[0], ierr));
  PetscCheck(!all[3], PetscObjectComm((PetscObject)C), PETSC_ERR_SUP,
             "An operand was replaced by a matrix whose off-process columns are not in ascending order, as those of submatrices that the host made: make a new product with it");
  changes->patterns = (PetscBool)all[1];
  changes->values   = (PetscBool)all[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the operands are still of types that the device takes, and the result is ours; the same on all processes. */
static PetscErrorCode TypesFit(Mat C, const SparseProduct *p, PetscBool *fit)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall((*p->ops->fits)(C, fit));
  PetscCall(MatIsSeqAIJCUDA(C, &seq));
  PetscCall(MatIsMPIAIJCUDA(C, &mpi));
  *fit = (PetscBool)(*fit && (seq || mpi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operand or the result has become a matrix of a type that the device does not take: the product is set up again, as MatProductReplaceMats() does it for other types, and computed. Collective. */
static PetscErrorCode SetUpAgain(Mat C)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(C, "An operand or the result has another type since the symbolic phase: the product is set up again\n"));
  PetscCall(MatProductDestroyData(C->product));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscUseTypeMethod(C, productnumeric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of both phases, when a pattern has changed. Collective. */
static PetscErrorCode BuildAgain(Mat C, SparseProduct *p, cudaStream_t stream)
{
  const ProductOps *ops = p->ops;
  PetscBool         current;

  PetscFunctionBegin;
  PetscCall(PetscInfo(C, "A pattern has changed since the symbolic phase, whose work is done again\n"));
  PetscCall(CheckLayouts(C));
  if (ops->choose != NULL) PetscCall((*ops->choose)(C, &ops));
  if (ops != p->ops) { // what is made before both phases of a product of another kind
    if (ops->startsymbolic != NULL) PetscCall((*ops->startsymbolic)(C));
    PetscCall((*ops->startnumeric)(C, p, &current));
  }
  PetscCall(BuildAndInstall(C, p, ops, PETSC_TRUE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numeric phase of a product on the device, or both phases again when a pattern has changed; see MatProductNumeric(). Collective. */
static PetscErrorCode Numeric(Mat C)
{
  SparseProduct *p       = (SparseProduct *)C->product->data;
  Changes        changes = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PetscBool      fits, computed, current = PETSC_FALSE;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(p != NULL, PetscObjectComm((PetscObject)C), PETSC_ERR_ORDER, "Call MatProductSymbolic() first");
  PetscCall(TypesFit(C, p, &fits));
  if (!fits) {
    PetscCall(SetUpAgain(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = (*p->ops->startnumeric)(C, p, &current);
  if (ierr == PETSC_SUCCESS && !current) ierr = GetOwnChanges(C, p, stream, &changes);
  PetscCall(UniteChanges(C, ierr, &changes));
  computed    = p->computed;
  p->computed = PETSC_FALSE;
  if (changes.patterns) PetscCall(BuildAgain(C, p, stream));
  else if (!computed || changes.values) PetscCall(Refresh(C, p, stream));
  MatAIJCUDAForgetSymmetry(C); // MatPtAP() and its like say afterwards what they know
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductCycleSupports - Whether the device computes the values of the product that C is the result of. */
PetscBool ProductCycleSupports(Mat C)
{
  return (PetscBool)(C->ops->productnumeric == Numeric);
}

/* The same with the operands as arguments: PETSc's basic code calls it for a product that is a step of one of three matrices, whose numeric phase is C's. */
static PetscErrorCode NumericOfTwo(Mat A, Mat B, Mat C)
{
  Mat_Product *product          = C->product;
  const Mat    operands[2]      = {product->A, product->B};
  PetscErrorCode (*of_all)(Mat) = C->ops->productnumeric;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  product->A             = A;
  product->B             = B;
  ierr                   = Numeric(C);
  product->A             = operands[0];
  product->B             = operands[1];
  C->ops->productnumeric = of_all;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(Mat C, PetscViewer viewer)
{
  const SparseProduct *p = C->product->destroy == PRODUCT_DESTROY(Destroy) ? (const SparseProduct *)C->product->data : NULL; // MatProductReplaceMats() leaves this function to other code's products

  PetscFunctionBegin;
  if (p != NULL) PetscCall((*p->ops->view)(p, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C has a product with these data. */
static PetscErrorCode SetProduct(Mat C, SparseProduct *p)
{
  PetscFunctionBegin;
  C->product->data       = p;
  C->product->destroy    = PRODUCT_DESTROY(Destroy);
  C->product->view       = View;
  C->ops->productnumeric = Numeric;
  if (C->product->type == MATPRODUCT_AB) C->ops->matmultnumeric = NumericOfTwo;
  else if (C->product->type == MATPRODUCT_AtB) C->ops->transposematmultnumeric = NumericOfTwo;
  else if (C->product->type == MATPRODUCT_ABt) C->ops->mattransposemultnumeric = NumericOfTwo;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductCycleSymbolic - Symbolic phase of a product on the device, or by the parent's code when the device cannot compute it any more; C has its product set. Collective.

  Values are computed, too, when MatMatMult() or its like asks for both phases.
  All processes have an error when one has: PETSC_ERR_MEM, or PETSC_ERR_ARG_OUTOFRANGE for more nonzeros than PetscInt can count.
*/
PetscErrorCode ProductCycleSymbolic(Mat C, const ProductOps *ops)
{
  SparseProduct *p;
  PetscBool      usable;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall((*ops->usable)(C, &usable));
  if (!usable) { // bound to the CPU meanwhile
    PetscCall(MatProductSymbolicOnHost_AIJCUDA(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (ops->choose != NULL) PetscCall((*ops->choose)(C, &ops));
  if (ops->startsymbolic != NULL) PetscCall((*ops->startsymbolic)(C));
  PetscCall(PetscNew(&p));
  p->ops = ops;
  ierr   = BuildAndInstall(C, p, ops, C->product->api_user, stream);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(Clear(p, stream));
    PetscCall(PetscFree(p));
    PetscCall(ierr);
  }
  p->computed = C->product->api_user;
  PetscCall(SetProduct(C, p));
  PetscCall(ProductSetTypeOfFirst(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductCycleSetFromOptions - Takes a product to the device if it can compute it; C has its product set. Collective.

  symbolic is ProductCycleSymbolic() with C and ops. *done says whether it is set; the same on all processes.
*/
PetscErrorCode ProductCycleSetFromOptions(Mat C, const ProductOps *ops, PetscErrorCode (*symbolic)(Mat), PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall((*ops->usable)(C, done));
  if (*done) C->ops->productsymbolic = symbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}
