/*
  Products of sequential matrices on the device, and of the diagonal blocks of parallel ones without ghost columns: what is their own; productcycle.c has the rest. All kinds are one or two multiplications, of which a recipe says what their
  factors are. Two can be done in slices (productslices.c).
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"
#include "../insert/insert.h"
#include "../parallel/ghosts.h"
#include "../parallel/parallel.h"

typedef enum {
  FACTOR_A,
  FACTOR_B,
  FACTOR_C,
  FACTOR_TRANSPOSE,
  FACTOR_WORK,
  FACTOR_NONE
} Factor;

typedef struct {
  Factor transposed; /* operand whose transpose is a factor */
  Factor work[2];    /* the factors of the intermediate product */
  Factor result[2];  /* the factors of the result */
} Recipe;

static const Recipe recipes[] = {
  [MATPRODUCT_AB] = {FACTOR_NONE, {FACTOR_NONE, FACTOR_NONE}, {FACTOR_A, FACTOR_B}},       [MATPRODUCT_AtB] = {FACTOR_A, {FACTOR_NONE, FACTOR_NONE}, {FACTOR_TRANSPOSE, FACTOR_B}},
  [MATPRODUCT_ABt] = {FACTOR_B, {FACTOR_NONE, FACTOR_NONE}, {FACTOR_A, FACTOR_TRANSPOSE}}, [MATPRODUCT_PtAP] = {FACTOR_B, {FACTOR_A, FACTOR_B}, {FACTOR_TRANSPOSE, FACTOR_WORK}},
  [MATPRODUCT_RARt] = {FACTOR_B, {FACTOR_A, FACTOR_TRANSPOSE}, {FACTOR_B, FACTOR_WORK}},   [MATPRODUCT_ABC] = {FACTOR_NONE, {FACTOR_B, FACTOR_C}, {FACTOR_A, FACTOR_WORK}},
};

/* What a product keeps. */
typedef struct {
  DCSRView      work;            /* structure of the intermediate product, or its list of blocks alone; values NULL between phases */
  DCSRSpGEMM    work_plan, plan; /* of the intermediate product and of the result */
  ProductSlices slices;          /* with more than one there are no such structure and plans */
  DCSRView      fresh;           /* the result with new values, which it gets when nothing has failed; values owned, NULL between phases */
} SeqProduct;

/* Operands, by their factors. */
static void GetMats(Mat C, Mat mats[])
{
  mats[FACTOR_A]             = C->product->A;
  mats[FACTOR_B]             = C->product->B;
  mats[FACTOR_C]             = C->product->type == MATPRODUCT_ABC ? C->product->C : NULL;
  mats[PRODUCT_MAX_MATS - 1] = NULL;
}

static void GetTransposed(Mat C, int which[])
{
  const Factor transposed = recipes[C->product->type].transposed;

  which[0] = transposed == FACTOR_NONE ? -1 : (int)transposed;
  which[1] = -1;
}

static void GetBlocks(Mat C, Mat blocks[])
{
  blocks[0] = C;
  blocks[1] = NULL;
}

/* Whether the operands are of types that the device takes. The result has the type of A, which must be ours. */
static PetscErrorCode Fits(Mat C, PetscBool *fits)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  GetMats(C, mats);
  *fits = PETSC_TRUE;
  for (int k = 0; k < PRODUCT_MAX_MATS && *fits; k++)
    if (mats[k] != NULL) PetscCall(MatOperandHasType(mats[k], (PetscBool)(k > 0), fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device supports the product now. */
static PetscErrorCode Usable(Mat C, PetscBool *usable)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  GetMats(C, mats);
  *usable = (PetscBool)(!C->structure_only && !C->force_diagonals && C->product->type > MATPRODUCT_UNSPECIFIED && C->product->type <= MATPRODUCT_ABC);
  for (int k = 0; k < PRODUCT_MAX_MATS && *usable; k++)
    if (mats[k] != NULL) PetscCall(MatOperandUsable(mats[k], (PetscBool)(k > 0), usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A result that the symbolic phase has computed may be current; nobody else has to be asked. */
static PetscErrorCode StartNumeric(Mat C, SparseProduct *p, PetscBool *current)
{
  PetscFunctionBegin;
  *current = PETSC_FALSE;
  if (p->computed) PetscCall(ProductCycleHasValues(C, p, current));
  if (!*current) PetscCall(MatSeqAIJCUDAFinishInsertion(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static DCSRView GetFactor(const SparseProduct *p, Factor factor)
{
  if (factor == FACTOR_TRANSPOSE) return p->transposes[0].view;
  if (factor == FACTOR_WORK) return ((const SeqProduct *)p->data)->work;
  return p->views[factor];
}

/* The sequential matrix that has the result. */
static Mat GetResultBlock(Mat C, const SparseProduct *p)
{
  Mat blocks[2];

  (*p->ops->getblocks)(C, blocks);
  return blocks[0];
}

/* -mat_dcsr_product_slices of A. */
static PetscInt GetNumSlicesAsked(Mat C, const SparseProduct *p)
{
  Mat mats[PRODUCT_MAX_MATS];

  (*p->ops->getmats)(C, mats);
  return MatSeqAIJCUDAGet(mats[FACTOR_A])->options.product_slices;
}

/* The factors of L (X Y), if there are three, as ProductSlicesSymbolic() wants them. */
static void GetTriple(const Recipe *r, const SparseProduct *p, DCSRView triple[4])
{
  const DCSRView none = {0};

  triple[0] = GetFactor(p, r->result[0]);
  triple[1] = GetFactor(p, r->work[0]);
  triple[2] = none;
  triple[3] = GetFactor(p, r->work[1]);
}

/* Structures, plans and with the flag values of the result, in one or two multiplications or in slices. */
static PetscErrorCode MultiplyFirst(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  SeqProduct   *d = (SeqProduct *)p->data;
  const Recipe *r = &recipes[C->product->type];
  DCSRView      triple[4];

  PetscFunctionBegin;
  if (r->work[0] != FACTOR_NONE) {
    GetTriple(r, p, triple);
    PetscCall(ProductSlicesChoose(C, GetNumSlicesAsked(C, p), triple, stream, &d->slices.num_slices));
    if (d->slices.num_slices > 1) {
      PetscCall(ProductSlicesSymbolic(C, triple, values, stream, &d->slices, &p->blocks[0]));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(ProductSymbolicOfList(C, "Intermediate product", triple[1], triple[3], (PetscBool)(r->result[1] != FACTOR_WORK), values, stream, &d->work, &d->work_plan));
  }
  PetscCall(ProductSymbolic(C, "Product", GetFactor(p, r->result[0]), GetFactor(p, r->result[1]), values, stream, &p->blocks[0], &d->plan));
  if (d->plan == NULL) { // the intermediate product has a list of blocks alone, which do not serve here
    PetscCall(DCSRSpGEMMExpand(&d->work, stream));
    PetscCall(ProductSymbolic(C, "Product", GetFactor(p, r->result[0]), d->work, values, stream, &p->blocks[0], &d->plan));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the values of the result go when they are computed again: into the result, or beside it, where another process or the middle of the work may fail, so that they replace the old ones when all are there. */
static PetscErrorCode GetTarget(Mat C, const SparseProduct *p, cudaStream_t stream, DCSRView *target)
{
  SeqProduct *d = (SeqProduct *)p->data;

  PetscFunctionBegin;
  *target = MatSeqAIJCUDAGet(GetResultBlock(C, p))->device.view;
  if (p->ops->setvalues == NULL && (d->plan == NULL || !DCSRSpGEMMAllocates(d->plan))) PetscFunctionReturn(PETSC_SUCCESS);
  d->fresh        = *target;
  d->fresh.values = NULL;
  PetscCall(DCSRViewAllocateValues(&d->fresh, stream));
  *target = d->fresh;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of the result again. */
static PetscErrorCode MultiplyAgain(Mat C, SparseProduct *p, cudaStream_t stream)
{
  SeqProduct   *d = (SeqProduct *)p->data;
  const Recipe *r = &recipes[C->product->type];
  DCSRView      triple[4], target;

  PetscFunctionBegin;
  PetscCall(GetTarget(C, p, stream, &target));
  if (r->work[0] != FACTOR_NONE) {
    GetTriple(r, p, triple);
    if (d->slices.num_slices > 1) {
      PetscCall(ProductSlicesNumeric(C, triple, stream, &d->slices, target));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(DCSRViewAllocateValues(&d->work, stream));
    PetscCall(ProductNumeric(d->work_plan, triple[1], triple[3], d->work, stream));
  }
  PetscCall(ProductNumeric(d->plan, GetFactor(p, r->result[0]), GetFactor(p, r->result[1]), target, stream));
  if (p->ops->setvalues == NULL && d->fresh.values != NULL) PetscCall(MatSeqAIJCUDATakeValues(C, &d->fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  const SeqProduct *d     = (const SeqProduct *)p->data;
  const PetscBool   again = (PetscBool)(d->plan != NULL || d->slices.num_slices > 1);

  PetscFunctionBegin;
  if (again) PetscCall(MultiplyAgain(C, p, stream));
  else PetscCall(MultiplyFirst(C, p, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The multiplication has left the result, without values unless these were wanted. */
static PetscErrorCode GetResult(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  PetscFunctionBegin;
  (void)C;
  if (values) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRViewAllocateValues(&p->blocks[0], stream));
  PetscCall(DCSRZero(p->blocks[0], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Code of MATMPIAIJ that multiplies its blocks reads the results, too. */
static PetscErrorCode KeepStructureAsOperands(Mat C)
{
  Mat mats[PRODUCT_MAX_MATS];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS; k++) {
    PetscBool ours;

    PetscCall(MatIsSeqAIJCUDA(mats[k], &ours));
    if (ours) MatSeqAIJCUDAInheritKept(mats[k], C);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes device storage the result, which becomes a matrix of ours if it is not yet. */
static PetscErrorCode Install(Mat C, SparseProduct *p)
{
  const PetscInt m = p->blocks[0].num_rows, n = p->blocks[0].num_columns;
  PetscBool      ours;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, m, n, m, n));
  PetscCall(MatIsSeqAIJCUDA(C, &ours));
  if (!ours) PetscCall(MatSetType(C, ((PetscObject)C->product->A)->type_name));
  PetscCall(PetscLayoutSetUp(C->rmap));
  PetscCall(PetscLayoutSetUp(C->cmap));
  PetscCall(MatSeqAIJCUDASetDeviceMatrix(C, &p->blocks[0]));
  ((Mat_SeqAIJ *)C->data)->nonew = 0;
  PetscCall(KeepStructureAsOperands(C));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DropValues(SparseProduct *p, cudaStream_t stream)
{
  SeqProduct *d = (SeqProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&d->work.values, stream));
  PetscCall(PetscSparseCUDAFree(&d->fresh.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Clear(SparseProduct *p, cudaStream_t stream)
{
  SeqProduct *d = (SeqProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&d->work, stream));
  if (d->work_plan != NULL) PetscCall(DCSRSpGEMMDestroy(&d->work_plan, stream));
  if (d->plan != NULL) PetscCall(DCSRSpGEMMDestroy(&d->plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(const SparseProduct *p, PetscViewer viewer)
{
  const SeqProduct *d = (const SeqProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(ProductViewPlan(viewer, "intermediate product", d->work_plan));
  PetscCall(ProductViewPlan(viewer, "product", d->plan));
  PetscCall(ProductSlicesView(viewer, &d->slices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const ProductOps seq_ops = {
  .size          = sizeof(SeqProduct),
  .getmats       = GetMats,
  .gettransposed = GetTransposed,
  .getblocks     = GetBlocks,
  .fits          = Fits,
  .usable        = Usable,
  .startnumeric  = StartNumeric,
  .multiply      = Multiply,
  .getresult     = GetResult,
  .install       = Install,
  .dropvalues    = DropValues,
  .clear         = Clear,
  .view          = View,
};

/* Diagonal blocks of the operands, by their factors. */
static void GetDiagonalBlocks(Mat C, Mat mats[])
{
  GetMats(C, mats);
  for (int k = 0; k < PRODUCT_MAX_MATS; k++)
    if (mats[k] != NULL) mats[k] = MatMPIAIJCUDAGetBlock(mats[k], 0);
}

static PetscErrorCode StartNumericOfBlocks(Mat C, SparseProduct *p, PetscBool *current)
{
  PetscFunctionBegin;
  (void)p;
  *current = PETSC_FALSE; // other processes may have to multiply again
  PetscCall(MatMPIAIJCUDAFinishInsertion(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operand that has got ghost columns makes another kind of product. */
static PetscErrorCode CompareGhostsOfBlocks(Mat C, const SparseProduct *p, PetscBool *same, PetscBool *ascend)
{
  Mat       operands[3];
  const int n = ProductMPIGetOperands(C, operands);

  PetscFunctionBegin;
  (void)p;
  *same = *ascend = PETSC_TRUE;
  for (int k = 0; k < n; k++) {
    if (MatMPIAIJCUDANumGhosts(operands[k]) > 0) *same = PETSC_FALSE;
    if (!MatMPIAIJCUDAGhostsAscend(operands[k])) *ascend = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block, and an off-diagonal one without columns. */
static PetscErrorCode GetResultOfBlocks(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  const PetscInt m = p->blocks[0].num_rows;

  PetscFunctionBegin;
  PetscCall(GetResult(C, p, values, stream));
  PetscCall(DCSRViewAllocateCompact(m, 0, 0, PETSC_FALSE, stream, &p->blocks[1]));
  PetscCallCUDA(cudaMemsetAsync(p->blocks[1].row_offsets, 0, ((size_t)m + 1) * sizeof(int32_t), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right factor that a product with ghost columns has made goes: not earlier, since that product stays after an error. */
static PetscErrorCode InstallOfBlocks(Mat C, SparseProduct *p)
{
  PetscFunctionBegin;
  PetscCall(ProductInstallBlocks(C, p, 0, NULL));
  PetscCall(ProductRightDrop(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No process has failed. */
static PetscErrorCode SetValuesOfBlocks(Mat C, SparseProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  (void)stream;
  PetscCall(MatSeqAIJCUDATakeValues(GetResultBlock(C, p), &((SeqProduct *)p->data)->fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const ProductOps ProductBlocksOps = {
  .size          = sizeof(SeqProduct),
  .getmats       = GetDiagonalBlocks,
  .gettransposed = GetTransposed,
  .getblocks     = ProductMPIGetBlocks,
  .fits          = ProductMPIFits,
  .usable        = ProductMPIUsable,
  .choose        = ProductMPIChoose,
  .startnumeric  = StartNumericOfBlocks,
  .multiply      = Multiply,
  .getresult     = GetResultOfBlocks,
  .install       = InstallOfBlocks,
  .setvalues     = SetValuesOfBlocks,
  .compareghosts = CompareGhostsOfBlocks,
  .dropvalues    = DropValues,
  .clear         = Clear,
  .view          = View,
};

static PetscErrorCode MatProductSymbolic_SeqAIJCUDA(Mat C)
{
  PetscFunctionBegin;
  PetscCall(ProductCycleSymbolic(C, &seq_ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_SeqAIJCUDA - Takes a product of sequential matrices to the device if it can compute it; *done says whether the symbolic phase is set.

  C has its product set. A is a matrix of ours, the others are ours, MATSEQAIJ or MATSEQAIJCUSPARSE.
*/
PetscErrorCode MatProductSetFromOptions_SeqAIJCUDA(Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(ProductCycleSetFromOptions(C, &seq_ops, MatProductSymbolic_SeqAIJCUDA, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
