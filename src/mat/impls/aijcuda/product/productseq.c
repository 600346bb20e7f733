/*
  Products of sequential matrices on the device. All kinds are one or two multiplications, of which a recipe says what their factors are. Two can be done in slices
  (productslices.c).

  The phases share the structures of the explicit transpose and of the intermediate product, and what the kernels learned about both. Patterns are told by
  nonzerostate, and those of other matrices than before by a hash: when one has changed, the numeric phase does the work of the symbolic one again.
*/
#include <petscsparsecuda/product.h>

typedef enum {
  FACTOR_A,
  FACTOR_B,
  FACTOR_C,
  FACTOR_TRANSPOSE,
  FACTOR_WORK,
  NUM_FACTORS,
  FACTOR_NONE = NUM_FACTORS
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

/* What the phases of a product keep. */
typedef struct {
  ProductOperand   operands[3];
  ProductTranspose transpose;
  DCSRView         work;                /* structure of the intermediate product; values NULL between phases */
  DCSRSpGEMM       work_plan, plan;     /* of the intermediate product and of the result */
  ProductSlices    slices;              /* with more than one there are no such structure and plans */
  PetscObjectState result_nonzerostate; /* pattern of the result when it was made */
  PetscBool        computed;            /* the symbolic phase computed the values, too, and nobody has asked for them yet */
} SeqProduct;

/* Operands of C's product; absent ones are NULL. */
static void GetMats(Mat C, Mat mats[3])
{
  mats[0] = C->product->A;
  mats[1] = C->product->B;
  mats[2] = C->product->type == MATPRODUCT_ABC ? C->product->C : NULL;
}

static PetscErrorCode DropValues(SeqProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ProductTransposeDropValues(&p->transpose, stream));
  PetscCall(PetscSparseCUDAFree(&p->work.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Clear(SeqProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) PetscCall(ProductOperandDestroy(&p->operands[k], stream));
  PetscCall(ProductTransposeDestroy(&p->transpose, stream));
  PetscCall(DCSRViewFree(&p->work, stream));
  if (p->work_plan != NULL) PetscCall(DCSRSpGEMMDestroy(&p->work_plan, stream));
  if (p->plan != NULL) PetscCall(DCSRSpGEMMDestroy(&p->plan, stream));
  PetscCall(PetscArrayzero(p, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(PetscCtxRt data)
{
  SeqProduct  *p = *(SeqProduct **)data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(Clear(p, stream));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views of the operands; the others are zero. */
static PetscErrorCode GetOperands(Mat C, SeqProduct *p, PetscBool values, cudaStream_t stream, DCSRView factors[])
{
  Mat mats[3];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(factors, NUM_FACTORS));
  GetMats(C, mats);
  for (int k = 0; k < 3; k++)
    if (mats[k] != NULL) PetscCall(ProductOperandGet(mats[k], &p->operands[k], values, stream, &factors[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetTranspose(Mat C, SeqProduct *p, PetscBool values, cudaStream_t stream, DCSRView factors[])
{
  const Factor which = recipes[C->product->type].transposed;
  Mat          mats[3];

  PetscFunctionBegin;
  if (which == FACTOR_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  GetMats(C, mats);
  PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, mats[which], ProductTransposeGet(mats[which], factors[which], values, stream, &p->transpose));
  factors[FACTOR_TRANSPOSE] = p->transpose.view;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NotePatterns(Mat C, SeqProduct *p, const DCSRView factors[], cudaStream_t stream)
{
  Mat mats[3];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 3; k++)
    if (mats[k] != NULL) PetscCall(ProductOperandNotePattern(factors[k], &p->operands[k], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoteOperands(Mat C, SeqProduct *p, PetscBool values)
{
  Mat mats[3];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 3; k++)
    if (mats[k] != NULL) PetscCall(ProductOperandNote(mats[k], &p->operands[k], values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors of L (X Y), if there are three. */
static void GetTriple(const Recipe *r, const DCSRView factors[], DCSRView triple[3])
{
  triple[0] = factors[r->result[0]];
  triple[1] = factors[r->work[0]];
  triple[2] = factors[r->work[1]];
}

/* Structures, plans and with the flag values of the result, in one or two multiplications or in slices. */
static PetscErrorCode Multiply(Mat C, PetscBool values, DCSRView factors[], cudaStream_t stream, SeqProduct *p, DCSRView *result)
{
  const Recipe *r = &recipes[C->product->type];
  DCSRView      triple[3];

  PetscFunctionBegin;
  if (r->work[0] != FACTOR_NONE) {
    GetTriple(r, factors, triple);
    PetscCall(ProductSlicesChoose(C, MatSeqAIJCUDAGet(C->product->A)->product_slices, triple, stream, &p->slices.num_slices));
    if (p->slices.num_slices > 1) {
      PetscCall(ProductSlicesSymbolic(C, triple, values, stream, &p->slices, result));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(ProductSymbolic(C, "Intermediate product", factors[r->work[0]], factors[r->work[1]], values, stream, &p->work, &p->work_plan));
    factors[FACTOR_WORK] = p->work;
  }
  PetscCall(ProductSymbolic(C, "Product", factors[r->result[0]], factors[r->result[1]], values, stream, result, &p->plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of the result again, where that may run out of memory in the middle: they replace the old ones when all are there. */
static PetscErrorCode MultiplyApart(Mat C, DCSRView left, DCSRView right, cudaStream_t stream, SeqProduct *p)
{
  DCSRView       fresh = MatSeqAIJCUDAGet(C)->view;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  fresh.values = NULL;
  PetscCall(DCSRViewAllocateValues(&fresh, stream));
  ierr = ProductNumeric(p->plan, left, right, fresh, stream);
  if (ierr == PETSC_SUCCESS) ierr = MatSeqAIJCUDATakeValues(C, &fresh);
  PetscCall(PetscSparseCUDAFree(&fresh.values, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of the result again. */
static PetscErrorCode MultiplyAgain(Mat C, DCSRView factors[], cudaStream_t stream, SeqProduct *p)
{
  const Recipe  *r      = &recipes[C->product->type];
  const DCSRView result = MatSeqAIJCUDAGet(C)->view;
  DCSRView       triple[3];

  PetscFunctionBegin;
  if (r->work[0] != FACTOR_NONE) {
    if (p->slices.num_slices > 1) {
      GetTriple(r, factors, triple);
      PetscCall(ProductSlicesNumeric(C, triple, stream, &p->slices, result));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(DCSRViewAllocateValues(&p->work, stream));
    PetscCall(ProductNumeric(p->work_plan, factors[r->work[0]], factors[r->work[1]], p->work, stream));
    factors[FACTOR_WORK] = p->work;
  }
  if (DCSRSpGEMMAllocates(p->plan)) PetscCall(MultiplyApart(C, factors[r->result[0]], factors[r->result[1]], stream, p));
  else PetscCall(ProductNumeric(p->plan, factors[r->result[0]], factors[r->result[1]], result, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of the symbolic phase, into an empty product; the result gets values in any case. Nothing stays allocated after an error. */
static PetscErrorCode Build(Mat C, PetscBool values, cudaStream_t stream, SeqProduct *p, DCSRView *result)
{
  DCSRView       factors[NUM_FACTORS];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(result, 1));
  PetscCallGoto(ierr, failed, GetOperands(C, p, values, stream, factors));
  PetscCallGoto(ierr, failed, GetTranspose(C, p, values, stream, factors));
  PetscCallGoto(ierr, failed, Multiply(C, values, factors, stream, p, result));
  PetscCallGoto(ierr, failed, DropValues(p, stream));
  if (!values) {
    PetscCallGoto(ierr, failed, DCSRViewAllocateValues(result, stream));
    PetscCallGoto(ierr, failed, DCSRZero(*result, stream));
  }
  PetscCallGoto(ierr, failed, NotePatterns(C, p, factors, stream));
  PetscCallGoto(ierr, failed, NoteOperands(C, p, values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(Clear(p, stream));
  PetscCall(DCSRViewFree(result, stream));
  PetscFunctionReturn(ierr);
}

/* The work of the numeric phase with the structures there are. */
static PetscErrorCode Refresh(Mat C, SeqProduct *p, DCSRView factors[], cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, GetTranspose(C, p, PETSC_TRUE, stream, factors));
  PetscCallGoto(ierr, cleanup, MultiplyAgain(C, factors, stream, p));
  PetscCallGoto(ierr, cleanup, NoteOperands(C, p, PETSC_TRUE));
cleanup:
  PetscCall(DropValues(p, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Code of MATMPIAIJ that multiplies its blocks reads the results, too. */
static PetscErrorCode KeepStructureAsOperands(Mat C)
{
  Mat mats[3];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 3; k++) {
    PetscBool ours;

    PetscCall(MatIsSeqAIJCUDA(mats[k], &ours));
    if (ours && MatSeqAIJCUDAGet(mats[k])->keeps_structure) MatSeqAIJCUDAGet(C)->keeps_structure = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes device storage the result, which becomes a matrix of ours if it is not yet. */
static PetscErrorCode Install(Mat C, SeqProduct *p, DCSRView *result)
{
  const PetscInt m = result->num_rows, n = result->num_columns;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, m, n, m, n));
  PetscCall(MatSetType(C, ((PetscObject)C->product->A)->type_name));
  PetscCall(PetscLayoutSetUp(C->rmap));
  PetscCall(PetscLayoutSetUp(C->cmap));
  PetscCall(MatSeqAIJCUDASetDeviceMatrix(C, result));
  ((Mat_SeqAIJ *)C->data)->nonew = 0;
  PetscCall(KeepStructureAsOperands(C));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSeqAIJCUDADeviceChanged(C));
  PetscCall(ProductReleaseBound(C));
  p->result_nonzerostate = C->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Builds everything anew and puts it in place of what was; on an error all is as it was. */
static PetscErrorCode BuildAndInstall(Mat C, SeqProduct *p, PetscBool values)
{
  SeqProduct     built;
  DCSRView       result;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscArrayzero(&built, 1));
  PetscCall(Build(C, values, stream, &built, &result));
  PetscCall(Clear(p, stream));
  *p   = built;
  ierr = Install(C, p, &result);
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(&result, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether operands and result have the patterns that the product was built for. */
static PetscErrorCode HasPatterns(Mat C, const SeqProduct *p, const DCSRView factors[], cudaStream_t stream, PetscBool *has)
{
  Mat mats[3];

  PetscFunctionBegin;
  *has = (PetscBool)(p->result_nonzerostate == C->nonzerostate);
  GetMats(C, mats);
  for (int k = 0; k < 3 && *has; k++)
    if (mats[k] != NULL) PetscCall(ProductOperandHasPattern(mats[k], factors[k], &p->operands[k], stream, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the values of the operands are those that the result was computed from last. */
static PetscErrorCode HasValues(Mat C, const SeqProduct *p, PetscBool *has)
{
  Mat mats[3];

  PetscFunctionBegin;
  *has = (PetscBool)(p->result_nonzerostate == C->nonzerostate);
  GetMats(C, mats);
  for (int k = 0; k < 3 && *has; k++)
    if (mats[k] != NULL) PetscCall(ProductOperandHasValues(mats[k], &p->operands[k], has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatProductNumeric_SeqAIJCUDA - Numeric phase of a product of sequential matrices on the device, or both phases again when a pattern has changed; see MatProductNumeric(). */
PetscErrorCode MatProductNumeric_SeqAIJCUDA(Mat C)
{
  SeqProduct  *p = (SeqProduct *)C->product->data;
  DCSRView     factors[NUM_FACTORS];
  PetscBool    current, same;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCheck(p != NULL, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Call MatProductSymbolic() first");
  PetscCall(HasValues(C, p, &current));
  if (p->computed && current) {
    p->computed = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p->computed = PETSC_FALSE;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GetOperands(C, p, PETSC_TRUE, stream, factors));
  PetscCall(MatSeqAIJCUDACopyToDevice(C)); // when others took the structure from the device
  PetscCall(MatSeqAIJCUDACompact(C));
  PetscCall(HasPatterns(C, p, factors, stream, &same));
  if (same) {
    PetscCall(Refresh(C, p, factors, stream));
    PetscCall(MatSeqAIJCUDADeviceChanged(C));
    PetscCall(ProductReleaseBound(C));
  } else {
    PetscCall(PetscInfo(C, "A pattern has changed since the symbolic phase, whose work is done again\n"));
    PetscCall(BuildAndInstall(C, p, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(Mat C, PetscViewer viewer)
{
  const SeqProduct *p = (const SeqProduct *)C->product->data;

  PetscFunctionBegin;
  if (p == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProductViewPlan(viewer, "intermediate product", p->work_plan));
  PetscCall(ProductViewPlan(viewer, "product", p->plan));
  PetscCall(ProductSlicesView(viewer, &p->slices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device serves the product now. */
static PetscErrorCode Usable(Mat C, PetscBool *usable)
{
  Mat mats[3];

  PetscFunctionBegin;
  GetMats(C, mats);
  *usable = (PetscBool)(!C->structure_only && !C->force_diagonals && C->product->type > MATPRODUCT_UNSPECIFIED && C->product->type <= MATPRODUCT_ABC);
  for (int k = 0; k < 3 && *usable; k++) // the result has the type of A, which must be ours
    if (mats[k] != NULL) PetscCall(ProductOperandUsable(mats[k], (PetscBool)(k > 0), usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_SeqAIJCUDA(Mat C)
{
  SeqProduct    *p;
  PetscBool      usable;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Usable(C, &usable));
  if (!usable) { // bound to the CPU meanwhile
    PetscCall(MatProductSymbolicOnHost_AIJCUDA(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscNew(&p));
  ierr = BuildAndInstall(C, p, C->product->api_user);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(Clear(p, stream));
    PetscCall(PetscFree(p));
    PetscCall(ierr);
  }
  p->computed            = C->product->api_user;
  C->product->data       = p;
  C->product->destroy    = Destroy;
  C->product->view       = View;
  C->ops->productnumeric = MatProductNumeric_SeqAIJCUDA;
  PetscCall(ProductSetNumericOfTwo(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_SeqAIJCUDA - Takes a product of sequential matrices to the device if it can serve it.

  Not Collective

  Input Parameter:
. C - the result, with its product set; A is a matrix of ours, the others ours, MATSEQAIJ or MATSEQAIJCUSPARSE

  Output Parameter:
. done - whether the symbolic phase is set
*/
PetscErrorCode MatProductSetFromOptions_SeqAIJCUDA(Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(Usable(C, done));
  if (*done) C->ops->productsymbolic = MatProductSymbolic_SeqAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
