static char help[] = "Products of sparse matrices against MATAIJ's: structure and values, all phases, reuse after changes of values and of patterns, replaced and foreign operands.\n\
  -triple        : products of three matrices alone\n\
  -out_of_memory : failing allocations in place of all else\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"
#include <petscsparsecuda/sys.h>

#define MAX_SITES 1000 /* more allocations than a product makes */

/* The operands of a product and of its reference. */
typedef struct {
  MatProductType type;
  MatType        mat_type;
  PetscInt       n;       /* operands */
  Mat            mats[3]; /* of the type under test */
  Mat            refs[3]; /* MATAIJ */
  TestLayout     layout;
  PetscInt       sizes[3][2];
  char           what[128];
} Operands;

static PetscBool device = PETSC_FALSE; /* whether there is one */

static PetscErrorCode Create(MatType type, MatProductType product, PetscInt size, PetscInt width, TestLayout layout, Operands *o)
{
  const PetscBool transposed  = (PetscBool)(product == MATPRODUCT_ABt || product == MATPRODUCT_RARt);
  const PetscInt  sizes[3][2] = {{size, size}, {transposed ? width : size, transposed ? size : width}, {width, width / 2 + 1}};

  PetscFunctionBegin;
  o->type     = product;
  o->mat_type = type;
  o->n        = product == MATPRODUCT_ABC ? 3 : 2;
  o->layout   = layout;
  for (PetscInt k = 0; k < 3; k++) {
    o->mats[k] = o->refs[k] = NULL;
    o->sizes[k][0]          = sizes[k][0];
    o->sizes[k][1]          = sizes[k][1];
    if (k < o->n) PetscCall(TestCreatePair(type, sizes[k][0], sizes[k][1], layout, 4, 1 + k, &o->refs[k], &o->mats[k]));
  }
  PetscCall(PetscSNPrintf(o->what, sizeof(o->what), "%s, %" PetscInt_FMT " x %" PetscInt_FMT ", layout %d", MatProductTypes[product], size, width, (int)layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Operands *o)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&o->mats[k]));
    PetscCall(MatDestroy(&o->refs[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the functions of users. */
static PetscErrorCode Multiply(MatProductType type, const Mat m[], MatReuse reuse, PetscReal fill, Mat *C)
{
  PetscFunctionBegin;
  if (type == MATPRODUCT_AB) PetscCall(MatMatMult(m[0], m[1], reuse, fill, C));
  else if (type == MATPRODUCT_AtB) PetscCall(MatTransposeMatMult(m[0], m[1], reuse, fill, C));
  else if (type == MATPRODUCT_ABt) PetscCall(MatMatTransposeMult(m[0], m[1], reuse, fill, C));
  else if (type == MATPRODUCT_PtAP) PetscCall(MatPtAP(m[0], m[1], reuse, fill, C));
  else if (type == MATPRODUCT_RARt) PetscCall(MatRARt(m[0], m[1], reuse, fill, C));
  else PetscCall(MatMatMatMult(m[0], m[1], m[2], reuse, fill, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the phases, up to the symbolic one. */
static PetscErrorCode Symbolic(MatProductType type, const Mat m[], const char algorithm[], Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(m[0], m[1], type == MATPRODUCT_ABC ? m[2] : NULL, C));
  PetscCall(MatProductSetType(*C, type));
  PetscCall(MatProductSetAlgorithm(*C, algorithm));
  PetscCall(MatProductSetFill(*C, 2.0));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Against a new product of the references. */
static PetscErrorCode Compare(const Operands *o, Mat C, const char step[])
{
  Mat  R;
  char what[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s: %s", o->what, step));
  PetscCall(Multiply(o->type, o->refs, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(TestIsValid(C, what));
  PetscCall(TestCompareProducts(R, C, what));
  PetscCall(TestCompareRows(R, C, what));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result was computed where it should be. */
static PetscErrorCode CheckPosition(const Operands *o, Mat C)
{
  PetscInt n;
  Mat      blocks[2];

  PetscFunctionBegin;
  PetscCall(TestHasType(C, TestRootName(((PetscObject)o->mats[0])->type_name), o->what));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestBlocks(C, &n, blocks));
  for (PetscInt k = 0; k < n; k++) PetscCheck(blocks[k]->offloadmask == PETSC_OFFLOAD_GPU, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the device did not compute the result", o->what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Enter(Operands *o, PetscInt k, PetscInt per_row, PetscInt seed)
{
  Mat both[2];

  PetscFunctionBegin;
  both[0] = o->mats[k];
  both[1] = o->refs[k];
  for (int i = 0; i < 2; i++) {
    PetscCall(MatSetOption(both[i], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(both[i], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(TestEnter(both[i], per_row, seed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New operands take the place of the old ones. */
static PetscErrorCode Replace(Operands *o, PetscInt per_row, PetscInt seed, Mat C)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < o->n; k++) {
    PetscCall(MatDestroy(&o->refs[k]));
    PetscCall(TestCreatePair(o->mat_type, o->sizes[k][0], o->sizes[k][1], o->layout, per_row, seed + k, &o->refs[k], &o->mats[k]));
  }
  PetscCall(MatProductReplaceMats(o->mats[0], o->mats[1], o->n > 2 ? o->mats[2] : NULL, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes of values and patterns between reuses of one result. */
static PetscErrorCode TestReuse(MatType type, MatProductType product, PetscInt size, PetscInt width, TestLayout layout, PetscBool transpose)
{
  PetscBool parallel;
  Operands  o;
  Mat       C, old[3];

  PetscFunctionBegin;
  PetscCall(Create(type, product, size, width, layout, &o));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)o.mats[0], MATMPIAIJ, &parallel));
  if (transpose)
    for (PetscInt k = 0; k < o.n; k++) PetscCall(MatSetOption(o.mats[k], MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, transpose ? 3.0 : PETSC_DETERMINE, &C));
  PetscCall(CheckPosition(&o, C));
  PetscCall(Compare(&o, C, "new"));
  if (product == MATPRODUCT_ABt && !device && parallel) { /* MATMPIAIJ's cannot be computed again */
    PetscCall(MatDestroy(&C));
    PetscCall(Destroy(&o));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Compare(&o, C, "again"));
  for (PetscInt k = 0; k < o.n; k++) {
    PetscCall(MatScale(o.mats[k], 2));
    PetscCall(MatScale(o.refs[k], 2));
    PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(Compare(&o, C, "one operand scaled"));
    PetscCall(Enter(&o, k, 4, 9));
    PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(Compare(&o, C, "one operand with other values"));
  }
  PetscCall(MatScale(C, 5)); /* what happens to the result does not matter */
  PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Compare(&o, C, "after the result was changed"));
  if (device) { /* MATAIJ's own products do not notice changes of patterns */
    for (PetscInt k = 0; k < o.n; k++) {
      PetscCall(Enter(&o, k, 7, 5));
      PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
      PetscCall(Compare(&o, C, "one operand with another pattern"));
    }
    for (PetscInt pass = 0; pass < 2; pass++) {
      for (PetscInt k = 0; k < 3; k++) old[k] = o.mats[k];
      PetscCall(Replace(&o, 3 + pass, 7, C));
      for (PetscInt k = 0; k < o.n; k++) PetscCall(MatDestroy(&old[k]));
      PetscCall(MatProductNumeric(C));
      PetscCall(Compare(&o, C, "replaced operands"));
    }
  }
  PetscCall(MatProductClear(C));
  PetscCall(Compare(&o, C, "cleared"));
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the result has the pattern object that it had: the symbolic phase has not been done again. */
static PetscErrorCode CheckKept(const Operands *o, Mat C, PetscObjectState *state, PetscBool kept)
{
  PetscObjectState now;

  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(C, &now));
  if (device)
    PetscCheck((*state == now) == kept, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: replaced operands of %s pattern, and the symbolic phase was%s done again", o->what, kept ? "the same" : "another",
               kept ? "" : " not");
  *state = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands replaced by other matrices: with the same patterns the work of the symbolic phase is kept, whether the old ones are still there or not. */
static PetscErrorCode TestReplaced(MatType type, MatProductType product, PetscInt size, PetscInt width, TestLayout layout, PetscBool transpose)
{
  PetscObjectState state;
  Operands         o;
  Mat              C, old[3];

  PetscFunctionBegin;
  PetscCall(Create(type, product, size, width, layout, &o));
  if (!device) {
    PetscCall(Destroy(&o));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSetOption(o.mats[1], MAT_FORM_EXPLICIT_TRANSPOSE, transpose));
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatGetNonzeroState(C, &state));
  for (PetscInt pass = 0; pass < 4; pass++) {
    const PetscInt per_row = pass == 3 ? 2 : 4;

    for (PetscInt k = 0; k < 3; k++) old[k] = o.mats[k];
    PetscCall(Replace(&o, per_row, 20 + 3 * pass, C));
    if (pass == 1) PetscCall(MatSetOption(o.mats[1], MAT_FORM_EXPLICIT_TRANSPOSE, transpose));
    if (pass != 1)
      for (PetscInt k = 0; k < o.n; k++) PetscCall(MatDestroy(&old[k]));
    if (pass == 2) PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    else PetscCall(MatProductNumeric(C));
    if (pass == 1)
      for (PetscInt k = 0; k < o.n; k++) PetscCall(MatDestroy(&old[k]));
    if (pass < 3 || size > 20) PetscCall(CheckKept(&o, C, &state, (PetscBool)(pass < 3)));
    PetscCall(Compare(&o, C, pass < 3 ? "replaced by operands of the same patterns" : "replaced by operands of other patterns"));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The symbolic phase alone gives a matrix with zeros, with which one can multiply. */
static PetscErrorCode TestPhases(MatType type, MatProductType product, PetscInt size, PetscInt width, TestLayout layout, const char algorithm[])
{
  Operands o;
  Mat      C, D, R, S;

  PetscFunctionBegin;
  PetscCall(Create(type, product, size, width, layout, &o));
  PetscCall(Symbolic(product, o.mats, algorithm, &C));
  if (device) {
    PetscCall(Multiply(product, o.refs, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(MatZeroEntries(R));
    PetscCall(TestCompareRows(R, C, "symbolic phase alone"));
    PetscCall(MatTransposeMatMult(R, R, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &S));
    PetscCall(MatTransposeMatMult(C, C, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(TestCompareRows(S, D, "product of symbolic phases"));
    PetscCall(MatProductNumeric(C));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&S));
    PetscCall(Multiply(product, o.refs, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(MatTransposeMatMult(R, R, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &S));
    PetscCall(MatTransposeMatMult(C, C, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(TestCompareRows(S, D, "product of results"));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&S));
    PetscCall(MatDestroy(&D));
  } else PetscCall(MatProductNumeric(C));
  PetscCall(Compare(&o, C, "by phases"));
  if (device) PetscCall(MatProductNumeric(C));
  PetscCall(Compare(&o, C, "numeric phase again"));
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Binding of operands and of the result, before and between the phases. */
static PetscErrorCode TestBinding(MatType type, MatProductType product, TestLayout layout)
{
  Operands o;
  Mat      C;

  PetscFunctionBegin;
  PetscCall(Create(type, product, 30, 12, layout, &o));
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatBindToCPU(C, PETSC_TRUE));
  PetscCall(MatScale(o.mats[1], 2));
  PetscCall(MatScale(o.refs[1], 2));
  PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Compare(&o, C, "bound result"));
  if (device) { // on the host MATAIJ may not reuse a result then
    PetscCall(Enter(&o, 0, 6, 77));
    PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(Compare(&o, C, "bound result with a new pattern"));
  }
  PetscCall(MatBindToCPU(C, PETSC_FALSE));
  PetscCall(MatBindToCPU(o.mats[0], PETSC_TRUE));
  PetscCall(MatScale(o.mats[0], 2));
  PetscCall(MatScale(o.refs[0], 2));
  PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Compare(&o, C, "operand bound after the symbolic phase"));
  PetscCall(MatDestroy(&C));
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Compare(&o, C, "bound operand"));
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operand of another type; sequential. */
static PetscErrorCode TestForeign(MatType type, MatProductType product, MatType other, PetscInt which)
{
  Operands o;
  Mat      C, foreign;

  PetscFunctionBegin;
  PetscCall(Create(type, product, 30, 12, TEST_EVEN, &o));
  PetscCall(MatDuplicate(o.refs[which], MAT_COPY_VALUES, &foreign));
  PetscCall(MatConvert(foreign, other, MAT_INPLACE_MATRIX, &foreign));
  PetscCall(MatDestroy(&o.mats[which]));
  o.mats[which] = foreign;
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  if (device || product != MATPRODUCT_RARt) PetscCall(TestHasType(C, ((PetscObject)o.mats[0])->type_name, "result with a foreign operand")); /* MATAIJ's code takes R's type */
  for (PetscInt k = 0; k < 2; k++) {
    Mat R;

    PetscCall(Multiply(product, o.refs, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(TestCompareRows(R, C, "foreign operand"));
    PetscCall(MatDestroy(&R));
    PetscCall(MatScale(o.mats[k], 3));
    PetscCall(MatScale(o.refs[k], 3));
    PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Algorithms by name: ours, and MATAIJ's. */
static PetscErrorCode TestAlgorithms(MatType type)
{
  const char *const options[][2] = {{"-matmatmult_via", "default"}, {"-matmatmult_via", "dcsr"},      {"-matmatmult_via", "scalable"},    {"-matptap_via", "dcsr"},
                                    {"-matptap_via", "scalable"},   {"-matptap_backend_cpu", "true"}, {"-matmatmult_backend_cpu", "true"}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); k++) {
    for (int bound = 0; bound < 2; bound++) {
      const MatProductType product = options[k][0][4] == 'p' ? MATPRODUCT_PtAP : MATPRODUCT_AB;
      Operands             o;
      Mat                  C;

      PetscCall(Create(type, product, 30, 12, TEST_EVEN, &o));
      if (bound) PetscCall(MatBindToCPU(o.mats[0], PETSC_TRUE));
      PetscCall(PetscOptionsSetValue(NULL, options[k][0], options[k][1]));
      PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
      PetscCall(PetscOptionsClearValue(NULL, options[k][0]));
      PetscCall(Compare(&o, C, options[k][1]));
      PetscCall(MatDestroy(&C));
      PetscCall(Destroy(&o));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has no product with the transpose of a parallel dense matrix: refused alike. (Factors whose layouts do not fit are refused by MATMPIAIJ itself, which loses memory.) */
static PetscErrorCode TestRefused(MatType type)
{
  PetscErrorCode ierr[2];
  Operands       o;
  Mat            dense, C[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(Create(type, MATPRODUCT_ABt, 30, 30, TEST_EVEN, &o));
  PetscCall(MatConvert(o.refs[1], MATDENSE, MAT_INITIAL_MATRIX, &dense));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr[i] = MatMatTransposeMult(i ? o.mats[0] : o.refs[0], dense, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[i]);
    PetscCall(PetscPopErrorHandler());
    PetscCall(MatDestroy(&C[i]));
  }
  PetscCheck(ierr[0] != PETSC_SUCCESS && ierr[0] == ierr[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "A B^T with a dense B: error %d with MATAIJ and %d with %s", (int)ierr[0], (int)ierr[1], type);
  PetscCall(MatDestroy(&dense));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operand of other sizes is refused, and the product goes on with the old one. */
static PetscErrorCode TestOtherSizes(MatType type, MatProductType product, TestLayout layout)
{
  PetscErrorCode ierr;
  Operands       o;
  Mat            C, other;

  PetscFunctionBegin;
  PetscCall(Create(type, product, 30, 12, layout, &o));
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(TestCreate(type, o.sizes[1][0] + (k ? 3 : 0), o.sizes[1][1] + (k ? 0 : 3), layout, 4, 1, &other));
    PetscCall(MatProductReplaceMats(NULL, other, NULL, C));
    PetscCall(MatDestroy(&other));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatProductNumeric(C);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == PETSC_ERR_ARG_SIZ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d with an operand of other sizes", o.what, (int)ierr);
    PetscCall(MatProductReplaceMats(NULL, o.mats[1], NULL, C));
    PetscCall(MatProductNumeric(C));
    PetscCall(Compare(&o, C, "after an operand of other sizes"));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product whose n-th device allocation fails; *failed when there were so many. */
static PetscErrorCode MultiplyFailing(const Operands *o, PetscInt n, MatReuse reuse, Mat *C, PetscBool *failed)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(n < MAX_SITES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: allocates without end", o->what);
  TestLibCallFailing(n, ierr, Multiply(o->type, o->mats, reuse, PETSC_DETERMINE, C));
  *failed = (PetscBool)(ierr != PETSC_SUCCESS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result is still what it was before the references changed. */
static PetscErrorCode CompareOld(const Operands *o, Mat R, Mat C, PetscInt n)
{
  char what[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s: old result after allocation %" PetscInt_FMT " failed", o->what, n));
  PetscCall(TestCompareRows(R, C, what));
  for (PetscInt k = 0; k < o->n; k++) PetscCall(TestCompareRows(o->refs[k], o->mats[k], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reuse with values, or a pattern, changed and the n-th allocation failing. */
static PetscErrorCode TestReuseFailing(MatType type, MatProductType product, PetscBool pattern, PetscInt n, PetscBool *failed)
{
  Operands o;
  Mat      C, R;

  PetscFunctionBegin;
  PetscCall(Create(type, product, 40, 17, TEST_EVEN, &o));
  PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Multiply(product, o.refs, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(Enter(&o, 1, pattern ? 7 : 4, 5));
  PetscCall(MultiplyFailing(&o, n, MAT_REUSE_MATRIX, &C, failed));
  if (*failed) {
    PetscCall(CompareOld(&o, R, C, n));
    PetscCall(Multiply(product, o.mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  }
  PetscCall(Compare(&o, C, "reuse with an allocation that failed"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&R));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNewFailing(MatType type, MatProductType product, PetscInt n, PetscBool *failed)
{
  Operands o;
  Mat      C = NULL;

  PetscFunctionBegin;
  PetscCall(Create(type, product, 40, 17, TEST_EVEN, &o));
  PetscCall(MultiplyFailing(&o, n, MAT_INITIAL_MATRIX, &C, failed));
  if (*failed) {
    PetscCall(MatDestroy(&C));
    PetscCall(Multiply(product, o.mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  }
  PetscCall(Compare(&o, C, "new with an allocation that failed"));
  PetscCall(MatDestroy(&C));
  PetscCall(Destroy(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every device allocation fails in turn: operands and the old result are what they were, nothing leaks. One process. */
static PetscErrorCode TestOutOfMemory(MatType type, MatProductType product)
{
  size_t before, after;

  PetscFunctionBegin;
  for (int what = 0; what < 3; what++) {
    PetscBool failed = PETSC_TRUE;

    for (PetscInt n = 1; failed; n++) {
      PetscCall(TestLibMemoryInUse(&before));
      if (what == 0) PetscCall(TestNewFailing(type, product, n, &failed));
      else PetscCall(TestReuseFailing(type, product, (PetscBool)(what == 2), n, &failed));
      PetscCall(TestLibMemoryInUse(&after));
      PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, case %d, allocation %" PetscInt_FMT ": %zu bytes were in use before and %zu are afterwards", MatProductTypes[product], what, n,
                 before, after);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(MatType type, MatProductType product, TestLayout layout, PetscBool sequential)
{
  const PetscInt sizes[][2] = {{60, 25}, {9, 1}, {5, 40}, {1, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < (layout == TEST_EVEN ? PETSC_STATIC_ARRAY_LENGTH(sizes) : 1); k++) {
    PetscCall(TestReuse(type, product, sizes[k][0], sizes[k][1], layout, (PetscBool)(k % 2)));
    PetscCall(TestReuse(type, product, sizes[k][0], sizes[k][1], layout, (PetscBool) !(k % 2)));
    PetscCall(TestReplaced(type, product, sizes[k][0], sizes[k][1], layout, (PetscBool)(k % 2)));
    PetscCall(TestReplaced(type, product, sizes[k][0], sizes[k][1], layout, (PetscBool) !(k % 2)));
    PetscCall(TestPhases(type, product, sizes[k][0], sizes[k][1], layout, k % 2 ? "dcsr" : "default"));
  }
  if (sequential || device || product != MATPRODUCT_ABt) PetscCall(TestBinding(type, product, layout));
  if (sequential && product != MATPRODUCT_ABC) {
    for (PetscInt which = 0; which < 2; which++) {
      PetscCall(TestForeign(type, product, MATSEQAIJ, which));
      if (device && (which == 1 || (product != MATPRODUCT_ABt && product != MATPRODUCT_RARt))) PetscCall(TestForeign(type, product, MATSEQAIJCUSPARSE, which));
    }
  }
  if (!sequential && device && (product == MATPRODUCT_AB || product == MATPRODUCT_PtAP)) PetscCall(TestForeign(type, product, MATMPIAIJCUSPARSE, 1)); /* as PCMG's GDSW makes a coarse space */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal and one more entry a row, by a list, which makes new blocks. */
static PetscErrorCode SetList(Mat A, PetscInt shift)
{
  PetscInt     begin, n, N, *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(PetscMalloc3(2 * n, &i, 2 * n, &j, 2 * n, &v));
  for (PetscInt k = 0; k < 2 * n; k++) {
    i[k] = begin + k / 2;
    j[k] = k % 2 ? (begin + k / 2 + shift) % N : begin + k / 2;
    v[k] = (PetscReal)(1 + k % 7 + shift);
  }
  PetscCall(MatSetPreallocationCOO(A, 2 * n, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New blocks in the same operand: a transpose that the product keeps must not be taken for its transpose. */
static PetscErrorCode TestNewBlocks(MatType type, MatProductType product)
{
  const PetscInt N = 60;
  PetscBool      equal;
  Mat            mats[3] = {NULL, NULL, NULL}, C, D;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &mats[k]));
    PetscCall(MatSetSizes(mats[k], PETSC_DECIDE, PETSC_DECIDE, N, N));
    PetscCall(MatSetType(mats[k], type));
    PetscCall(SetList(mats[k], 11 + 6 * k));
  }
  PetscCall(Multiply(product, mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(SetList(mats[1], 29));
  PetscCall(Multiply(product, mats, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(Multiply(product, mats, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatMultEqual(C, D, 3, &equal));
  PetscCheck(equal, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: an operand with new blocks", MatProductTypes[product]);
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscBool   out_of_memory = PETSC_FALSE, triple = PETSC_FALSE;
  PetscMPIInt size;
  Mat         A;
  PetscInt    n, only = -1;
  Mat         blocks[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestCreate(type, 1, 1, TEST_EVEN, 1, 1, &A));
  PetscCall(TestBlocks(A, &n, blocks));
  device = (PetscBool)!blocks[0]->boundtocpu;
  PetscCall(MatDestroy(&A));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-out_of_memory", &out_of_memory, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-product", &only, NULL)); /* one MatProductType alone */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-triple", &triple, NULL));
  for (MatProductType product = triple ? MATPRODUCT_PtAP : MATPRODUCT_AB; out_of_memory && device && product <= MATPRODUCT_ABC; product++)
    if (only < 0 || (PetscInt)product == only) PetscCall(TestOutOfMemory(type, product));
  for (MatProductType product = triple ? MATPRODUCT_PtAP : MATPRODUCT_AB; !out_of_memory && product <= MATPRODUCT_ABC; product++)
    for (TestLayout layout = TEST_EVEN; layout <= (size > 1 ? TEST_EVERY_OTHER : TEST_EVEN); layout++)
      if (only < 0 || (PetscInt)product == only) PetscCall(TestProduct(type, product, layout, (PetscBool)(n == 1)));
  if (!out_of_memory) PetscCall(TestAlgorithms(type));
  for (MatProductType product = MATPRODUCT_AB; !out_of_memory && device && product <= MATPRODUCT_RARt; product++) PetscCall(TestNewBlocks(type, product));
  for (MatProductType product = MATPRODUCT_AB; !out_of_memory && device && product <= MATPRODUCT_ABC; product++) PetscCall(TestOtherSizes(type, product, TEST_EVEN));
  if (!out_of_memory && size > 1) PetscCall(TestRefused(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: seq
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda
      test:
         suffix: auto
         nsize: {{1 3}}
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: mpi1
         args: -mat_type mpiaijdcsrcuda
      test:
         suffix: mpi
         timeoutfactor: 5
         nsize: {{3 8}}
      test:
         suffix: hidden
         nsize: {{1 3}}
         args: -mat_dcsr_test_hide_host
      test:
         suffix: eager
         nsize: {{1 3}}
         args: -mat_dcsr_host_structure eager
      test:
         suffix: wide
         nsize: {{1 3}}
         args: -mat_dcsr_test_wide_from 100
      test:
         suffix: slices
         nsize: {{1 3}}
         args: -triple -mat_dcsr_product_slices 4
      test:
         suffix: slices_wide
         nsize: {{1 3}}
         args: -triple -mat_dcsr_product_slices 3 -mat_dcsr_test_wide_from 100
      test:
         suffix: out_of_memory
         requires: cuda
         args: -out_of_memory -mat_type {{dcsrcuda mpiaijdcsrcuda}}
      test:
         suffix: out_of_memory_slices
         requires: cuda
         args: -out_of_memory -triple -mat_type {{dcsrcuda mpiaijdcsrcuda}} -mat_dcsr_product_slices 2

TEST*/
