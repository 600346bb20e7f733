/*
  Which code serves a matrix product: the device (productcycle.c with productseq.c or productmpi.c, and productdense.c) or the parent's host code.

  The latter is called through the host copy: the symbolic and numeric operations that the parent chose for a product are kept beside the result and called between
  MatAIJCUDAHostBegin() and MatAIJCUDAHostEnd() of all matrices that take part.
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"
#include "../host/host.h"
#include "../insert/insert.h"

static const char PRODUCT_KEY[] = "petscsparsecuda_product";

/* What the parent set on the result of a product. */
typedef struct {
  PetscErrorCode (*symbolic)(Mat);
  PetscErrorCode (*numeric)(Mat);
  PetscErrorCode (*numeric_of_two)(Mat, Mat, Mat); /* with the operands as arguments; NULL: none */
} ParentProduct;

static PetscErrorCode GetParentProduct(Mat C, ParentProduct **parent)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)C, PRODUCT_KEY, (PetscObject *)&container));
  if (container == NULL) {
    PetscCall(PetscNew(parent));
    PetscCall(PetscSparseCUDACompose((PetscObject)C, PRODUCT_KEY, *parent, PetscCtxDestroyDefault));
  } else PetscCall(PetscContainerGetPointer(container, parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix whose arrays are read: a MATMAIJ and a virtual transpose have none of their own. */
static PetscErrorCode GetUnderlying(Mat *A)
{
  PetscBool is_maij, is_transpose;

  PetscFunctionBegin;
  if (*A == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*A, &is_maij, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (is_maij) {
    PetscCall(MatMAIJPrepare_AIJCUDA(*A));
    PetscCall(MatMAIJGetAIJ(*A, A));
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)*A, MATTRANSPOSEVIRTUAL, &is_transpose));
  if (is_transpose) PetscCall(MatTransposeGetMat(*A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AccessOperand(Mat A, PetscErrorCode (*access)(Mat, int))
{
  PetscFunctionBegin;
  PetscCall(GetUnderlying(&A));
  if (A != NULL) PetscCall((*access)(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The different operands of C's product; absent ones are NULL. */
static void GetOperands(Mat C, Mat operands[3])
{
  Mat_Product *product = C->product;

  operands[0] = product != NULL ? product->A : NULL;
  operands[1] = product != NULL && product->B != product->A ? product->B : NULL;
  operands[2] = product != NULL && product->C != product->A && product->C != product->B ? product->C : NULL;
}

/* Ends host access to the operands after an operation that returned ierr, which is handed on. */
static PetscErrorCode FinishOperands(PetscInt n, const Mat operands[], PetscErrorCode ierr)
{
  for (PetscInt k = 0; k < n; k++) {
    const PetscErrorCode ended = AccessOperand(operands[k], MatAIJCUDAHostEnd);

    if (ierr == PETSC_SUCCESS) ierr = ended;
  }
  return ierr;
}

static PetscErrorCode BeginOperands(PetscInt n, const Mat operands[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const PetscErrorCode ierr = AccessOperand(operands[k], MatAIJCUDAHostBegin);

    if (ierr != PETSC_SUCCESS) PetscCall(FinishOperands(k, operands, ierr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the parent's code for C = A B reads no host array of a parallel matrix: with a dense matrix on the device it leaves all to products of blocks, which choose
  for themselves.
*/
static PetscErrorCode LeavesProductToBlocks(Mat C, PetscBool *leaves)
{
  Mat       local;
  PetscBool is_mpi, is_dense, on_host;

  PetscFunctionBegin;
  *leaves = PETSC_FALSE;
  if (C->product == NULL || C->product->type != MATPRODUCT_AB || MatAIJCUDAInHostCode()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsMPIAIJCUDA(C->product->A, &is_mpi));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->B, MATMPIDENSE, &is_dense));
  if (!is_mpi || !is_dense) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLocalMatrix(C->product->B, &local));
  PetscCall(PetscObjectTypeCompare((PetscObject)local, MATSEQDENSE, &on_host));
  *leaves = (PetscBool)!on_host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether hypre computes a product that the parent's code serves: by the algorithm of that name, with a MATHYPRE, or with a virtual transpose. */
static PetscErrorCode UsesHYPRE(Mat C, PetscBool *uses)
{
  PetscFunctionBegin;
  *uses = PETSC_FALSE;
  if (C->product == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(C->product->alg, "hypre", uses));
  if (!*uses) PetscCall(PetscObjectTypeCompare((PetscObject)C->product->B, MATHYPRE, uses));
  if (!*uses) PetscCall(PetscObjectTypeCompare((PetscObject)C->product->A, MATTRANSPOSEVIRTUAL, uses));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The parent's numeric phase. hypre gets the values on the host; that the operands count as bound to the CPU makes PETSc look there for i and j, too, which a hypre with
  GPU support would get from the device.
*/
static PetscErrorCode CallNumeric(Mat C, const Mat operands[3], PetscErrorCode (*numeric)(Mat))
{
  Mat            matrices[3];
  PetscBool      hypre, bound[3][3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(UsesHYPRE(C, &hypre));
  for (int k = 0; hypre && k < 3; k++) {
    matrices[k] = operands[k];
    PetscCall(GetUnderlying(&matrices[k]));
    PetscCall(MatAIJCUDABoundBegin(matrices[k], bound[k]));
  }
  ierr = (*numeric)(C);
  for (int k = 2; hypre && k >= 0; k--) PetscCall(MatAIJCUDABoundEnd(matrices[k], bound[k])); // in this order, because the same matrix may be there twice
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's numeric phase, which writes C and, of three matrices, an intermediate product. PETSc may compute that one by a function, without MatProductNumeric(). */
static PetscErrorCode NumericOnHost(Mat C, PetscErrorCode (*numeric)(Mat))
{
  Mat            operands[3], between = C->product != NULL ? C->product->Dwork : NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  GetOperands(C, operands);
  for (int k = 0; k < 3; k++)
    if (between == operands[k]) between = NULL;
  PetscCall(BeginOperands(3, operands));
  ierr = MatAIJCUDAHostBegin(C, HOST_WRITE);
  if (ierr == PETSC_SUCCESS) {
    ierr = MatAIJCUDAHostBegin(between, HOST_WRITE);
    if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDAHostFinish(between, HOST_WRITE, CallNumeric(C, operands, numeric));
    ierr = MatAIJCUDAHostFinish(C, HOST_WRITE, ierr);
  }
  PetscCall(FinishOperands(3, operands, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJCUDA(Mat C)
{
  ParentProduct *parent;
  PetscBool      leaves;

  PetscFunctionBegin;
  PetscCall(GetParentProduct(C, &parent));
  PetscCall(LeavesProductToBlocks(C, &leaves));
  if (leaves) {
    PetscCall(MatMPIAIJCUDAFinishInsertion(C->product->A));
    PetscCall((*parent->numeric)(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(NumericOnHost(C, parent->numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc calls this for a product that is a step of one of three matrices. */
static PetscErrorCode NumericOfTwo_AIJCUDA(Mat A, Mat B, Mat C)
{
  const Mat      operands[] = {A, B};
  ParentProduct *parent;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetParentProduct(C, &parent));
  PetscCheck(parent->numeric_of_two != NULL, PetscObjectComm((PetscObject)C), PETSC_ERR_ORDER, "Call MatProductSymbolic() first");
  PetscCall(BeginOperands(2, operands));
  ierr = MatAIJCUDAHostBegin(C, HOST_WRITE);
  if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDAHostFinish(C, HOST_WRITE, (*parent->numeric_of_two)(A, B, C));
  PetscCall(FinishOperands(2, operands, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts our function in front of the one with three matrices that is set on C. */
static PetscErrorCode WrapNumericOfTwo(Mat C, ParentProduct *parent)
{
  PetscErrorCode (**numeric)(Mat, Mat, Mat) = NULL;

  PetscFunctionBegin;
  if (C->product == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (C->product->type == MATPRODUCT_AB) numeric = &C->ops->matmultnumeric;
  else if (C->product->type == MATPRODUCT_AtB) numeric = &C->ops->transposematmultnumeric;
  else if (C->product->type == MATPRODUCT_ABt) numeric = &C->ops->mattransposemultnumeric;
  if (numeric != NULL && *numeric != NULL && *numeric != NumericOfTwo_AIJCUDA) {
    parent->numeric_of_two = *numeric;
    *numeric               = NumericOfTwo_AIJCUDA;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's symbolic phase between host accesses. C may be a matrix of ours that has another structure, or become one. */
static PetscErrorCode SymbolicOnHost(Mat C, PetscErrorCode (*symbolic)(Mat))
{
  Mat            operands[3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  GetOperands(C, operands);
  PetscCall(BeginOperands(3, operands));
  ierr = MatAIJCUDAHostBegin(C, HOST_BUILD);
  if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDAHostFinish(C, HOST_BUILD, (*symbolic)(C));
  PetscCall(FinishOperands(3, operands, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSetTypeOfFirst - Gives the result of a product the type of the first factor, if both are ours. Logically Collective.

  C is after its symbolic phase, which leaves it with the type of another factor or with an older one. It is converted in place: MatSetType() would take the product's functions, null spaces and more
  from it.
*/
PetscErrorCode ProductSetTypeOfFirst(Mat C)
{
  const Mat A = C->product != NULL ? C->product->A : NULL;
  PetscBool same, seq[2], mpi[2];

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq[0]));
  PetscCall(MatIsSeqAIJCUDA(C, &seq[1]));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi[0]));
  PetscCall(MatIsMPIAIJCUDA(C, &mpi[1]));
  if (!(seq[0] && seq[1]) && !(mpi[0] && mpi[1])) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectObjectTypeCompare((PetscObject)A, (PetscObject)C, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  if (seq[0]) PetscCall((*MatAIJCUDAHook.from_seqaij)(C, ((PetscObject)A)->type_name, MAT_INPLACE_MATRIX, &C));
  else PetscCall((*MatAIJCUDAHook.from_mpiaij)(C, ((PetscObject)A)->type_name, MAT_INPLACE_MATRIX, &C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductWrapNumeric_AIJCUDA - Puts ours in front of the numeric phase that is set on the result of a product, so that host code finds current host copies. Logically Collective.

  Any matrix without a numeric phase of the parent's code is left alone.
*/
PetscErrorCode MatProductWrapNumeric_AIJCUDA(Mat C)
{
  ParentProduct *parent;

  PetscFunctionBegin;
  if (C->product == NULL || C->ops->productnumeric == NULL || ProductCycleSupports(C)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetParentProduct(C, &parent));
  PetscCall(WrapNumericOfTwo(C, parent));
  if (C->ops->productnumeric != MatProductNumeric_AIJCUDA) parent->numeric = C->ops->productnumeric;
  C->ops->productnumeric = MatProductNumeric_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatProductKeepOps_AIJCUDA - Puts the functions of the product that C is the result of into the table of operations that C is about to get. */
void MatProductKeepOps_AIJCUDA(Mat C, struct _MatOps *ops)
{
  ops->productsymbolic         = C->ops->productsymbolic;
  ops->productnumeric          = C->ops->productnumeric;
  ops->matmultnumeric          = C->ops->matmultnumeric;
  ops->transposematmultnumeric = C->ops->transposematmultnumeric;
  ops->mattransposemultnumeric = C->ops->mattransposemultnumeric;
}

static PetscErrorCode MatProductSymbolic_AIJCUDA(Mat C)
{
  ParentProduct *parent;
  PetscBool      leaves;

  PetscFunctionBegin;
  PetscCall(GetParentProduct(C, &parent));
  PetscCall(LeavesProductToBlocks(C, &leaves));
  if (leaves) {
    PetscCall(MatMPIAIJCUDAFinishInsertion(C->product->A));
    PetscCall((*parent->symbolic)(C));
  } else PetscCall(SymbolicOnHost(C, parent->symbolic));
  PetscCall(ProductSetTypeOfFirst(C));
  PetscCall(MatProductWrapNumeric_AIJCUDA(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductWrapSymbolic_AIJCUDA - Puts ours in front of the symbolic phase that is set on the result of a product, so that host code finds current host copies in all phases. Logically Collective.

  C has its product set; without a symbolic phase it is left alone.
*/
PetscErrorCode MatProductWrapSymbolic_AIJCUDA(Mat C)
{
  ParentProduct *parent;

  PetscFunctionBegin;
  if (C->ops->productsymbolic != NULL && C->ops->productsymbolic != MatProductSymbolic_AIJCUDA) {
    PetscCall(GetParentProduct(C, &parent));
    parent->symbolic        = C->ops->productsymbolic;
    C->ops->productsymbolic = MatProductSymbolic_AIJCUDA;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's choice of product code, from a scratch matrix of the parent type. */
static PetscErrorCode GetParentSetFromOptions(PetscBool is_mpi, PetscErrorCode (**f)(Mat))
{
  static PetscErrorCode (*known[2])(Mat) = {NULL, NULL};

  PetscFunctionBegin;
  if (known[is_mpi] == NULL) {
    Mat A;

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetOptionsPrefix(A, "petscsparsecuda_parent_"));
    PetscCall(MatSetSizes(A, 0, 0, 0, 0));
    PetscCall(MatSetType(A, is_mpi ? MATMPIAIJ : MATSEQAIJ));
    known[is_mpi] = A->ops->productsetfromoptions;
    PetscCall(MatDestroy(&A));
  }
  *f = known[is_mpi];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's code for C's product. */
static PetscErrorCode SetFromOptionsOnHost(Mat C)
{
  PetscErrorCode (*f)(Mat) = NULL;
  PetscBool is_mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->A, MATMPIAIJ, &is_mpi));
  PetscCall(GetParentSetFromOptions(is_mpi, &f));
  PetscCall((*f)(C));
  PetscCall(MatProductWrapSymbolic_AIJCUDA(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the products that MatMatMult() and its like make; others have -mat_product_algorithm. */
static const struct {
  const char *algorithm, *backend_cpu;
} api_options[] = {
  [MATPRODUCT_AB]   = {"-matmatmult_via", "-matmatmult_backend_cpu"},
  [MATPRODUCT_AtB]  = {"-mattransposematmult_via", "-mattransposematmult_backend_cpu"},
  [MATPRODUCT_ABt]  = {"-matmattransmult_via", "-matmattransmult_backend_cpu"},
  [MATPRODUCT_PtAP] = {"-matptap_via", "-matptap_backend_cpu"},
  [MATPRODUCT_RARt] = {"-matrart_via", "-matrart_backend_cpu"},
  [MATPRODUCT_ABC]  = {"-matmatmatmult_via", "-matmatmatmult_backend_cpu"},
};

/* The names of our algorithm. */
static PetscErrorCode IsOurAlgorithm(const char name[], PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmpAny(name, is, MATPRODUCTALGORITHMDEFAULT, "dcsr", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What options and MatProductSetAlgorithm() ask for: our algorithm, or another one of the parent's. The option that names ours, which the parent does not know, is copied. */
static PetscErrorCode GetAlgorithm(Mat C, PetscBool *ours, size_t n, char option[])
{
  const PetscBool api = C->product->api_user;
  const char     *key = api ? api_options[C->product->type].algorithm : "-mat_product_algorithm";
  PetscBool       cpu = PETSC_FALSE, set;

  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)C);
  PetscCall(PetscOptionsString(key, "Algorithm of the product", "MatProductSetAlgorithm", C->product->alg, option, n, &set));
  PetscCall(PetscOptionsBool(api ? api_options[C->product->type].backend_cpu : "-mat_product_algorithm_backend_cpu", "Use the host's code", "MatProductSetFromOptions", cpu, &cpu, NULL));
  PetscOptionsEnd();
  PetscCall(IsOurAlgorithm(set ? option : C->product->alg, ours));
  if (!set || !*ours) option[0] = '\0';
  if (cpu) *ours = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SetFromOptionsOnHost() without the names of our algorithm, which the parent refuses. */
static PetscErrorCode SetFromOptionsOnHostByDefault(Mat C, const char option[])
{
  const char    *key    = C->product->api_user ? api_options[C->product->type].algorithm : "-mat_product_algorithm";
  const char    *prefix = ((PetscObject)C)->prefix;
  char           name[256];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatProductSetAlgorithm(C, MATPRODUCTALGORITHMDEFAULT));
  PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s", prefix != NULL ? prefix : "", key + 1));
  PetscCall(PetscOptionsClearValue(((PetscObject)C)->options, name));
  ierr = SetFromOptionsOnHost(C);
  PetscCall(PetscOptionsSetValue(((PetscObject)C)->options, name, option));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatProductSymbolicOnHost_AIJCUDA - Symbolic phase by the parent's code, for a product that the device cannot serve any more. Collective. */
PetscErrorCode MatProductSymbolicOnHost_AIJCUDA(Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatProductSetAlgorithm(C, MATPRODUCTALGORITHMDEFAULT));
  PetscCall(SetFromOptionsOnHost(C));
  PetscUseTypeMethod(C, productsymbolic);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asks the device. */
static PetscErrorCode SetFromOptionsOnDevice(Mat C, PetscBool *done)
{
  PetscBool is_seq, is_mpi;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (MatAIJCUDAInHostCode()) PetscFunctionReturn(PETSC_SUCCESS); // which reads the result's host arrays
  PetscCall(MatIsSeqAIJCUDA(C->product->A, &is_seq));
  PetscCall(MatIsMPIAIJCUDA(C->product->A, &is_mpi));
  if (is_seq) PetscCall(MatProductSetFromOptions_SeqAIJCUDA(C, done));
  if (is_mpi) PetscCall(MatProductSetFromOptions_MPIAIJCUDA(C, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AreOperandsAlike(Mat C, PetscBool *alike)
{
  const Mat_Product *product = C->product;

  PetscFunctionBegin;
  PetscCall(MatOperandsAlike(product->A, product->B, alike));
  if (*alike && product->type == MATPRODUCT_ABC) PetscCall(MatOperandsAlike(product->A, product->C, alike));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_AIJCUDA - Chooses the code of a product with sparse matrices of ours; C has its product set. Collective.

  C has no symbolic phase afterwards when sequential and parallel matrices are mixed, which PETSc refuses then.
  The device's algorithm is called "default" or "dcsr"; a request for one of MATAIJ's other algorithms goes to the host.
*/
PetscErrorCode MatProductSetFromOptions_AIJCUDA(Mat C)
{
  char      option[64] = "";
  PetscBool alike, ours, done = PETSC_FALSE, renamed;

  PetscFunctionBegin;
  PetscCall(ProductRightDrop(C));
  PetscCall(AreOperandsAlike(C, &alike));
  if (!alike) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetAlgorithm(C, &ours, sizeof(option), option));
  if (ours) PetscCall(SetFromOptionsOnDevice(C, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(C->product->alg, "dcsr", &renamed));
  if (option[0] != '\0') PetscCall(SetFromOptionsOnHostByDefault(C, option));
  else {
    if (renamed) PetscCall(MatProductSetAlgorithm(C, MATPRODUCTALGORITHMDEFAULT));
    PetscCall(SetFromOptionsOnHost(C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type under whose name PETSc composes product code: the parent's for ours, the host's for dense matrices on the device. */
static PetscErrorCode GetProductTypeName(Mat A, const char **name)
{
  const char *const names[] = {MATSEQAIJ, MATMPIAIJ, MATSEQDENSE, MATMPIDENSE, MATSEQMAIJ, MATMPIMAIJ};

  PetscFunctionBegin;
  *name = ((PetscObject)A)->type_name;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    PetscBool is;

    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, names[k], &is));
    if (is) *name = names[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_AIJCUDA_Mixed - Chooses the code of a product of a sparse matrix of ours and a MATDENSE or MATMAIJ; C has its product set. Collective.

  PETSc's code for the products that the device does not serve is composed on one of the operands under the names of the parent types.
*/
PetscErrorCode MatProductSetFromOptions_AIJCUDA_Mixed(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  const char *name_a, *name_b;
  char        function[128];
  PetscErrorCode (*f)(Mat) = NULL;
  PetscBool is_seq, done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is_seq));
  if (is_seq && !MatAIJCUDAInHostCode()) PetscCall(MatProductSetFromOptions_SeqAIJCUDA_SeqDense(C, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetProductTypeName(A, &name_a));
  PetscCall(GetProductTypeName(B, &name_b));
  PetscCall(PetscSNPrintf(function, sizeof(function), "MatProductSetFromOptions_%s_%s_C", name_a, name_b));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, function, &f));
  if (f == NULL) PetscCall(PetscObjectQueryFunction((PetscObject)B, function, &f));
  if (f != NULL) PetscCall((*f)(C));
  PetscCall(MatProductWrapSymbolic_AIJCUDA(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
