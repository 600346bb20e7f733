/*
  Matrix products by the parent's host code, called through the mirror: the symbolic and numeric operations that the parent chose for a product are kept
  beside the result and called between MatAIJCUDAHostBegin() and MatAIJCUDAHostEnd() of all matrices that take part.
*/
#include <petscsparsecuda/aijcuda.h>

static const char PRODUCT_KEY[] = "petscsparsecuda_product";

/* What the parent set on the result of a product. */
typedef struct {
  PetscErrorCode (*symbolic)(Mat);
  PetscErrorCode (*numeric)(Mat);
} ParentProduct;

static PetscErrorCode GetParentProduct(Mat C, ParentProduct **parent)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)C, PRODUCT_KEY, (PetscObject *)&container));
  if (container == NULL) {
    PetscCall(PetscNew(parent));
    PetscCall(PetscObjectContainerCompose((PetscObject)C, PRODUCT_KEY, *parent, PetscCtxDestroyDefault));
  } else PetscCall(PetscContainerGetPointer(container, parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATMAIJ reads the arrays of the matrix that it was made from. */
static PetscErrorCode AccessOperand(Mat A, PetscErrorCode (*access)(Mat, int))
{
  PetscBool is_maij;

  PetscFunctionBegin;
  if (A == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is_maij, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (is_maij) PetscCall(MatMAIJGetAIJ(A, &A));
  PetscCall((*access)(A, HOST_READ));
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

static PetscErrorCode MatProductNumeric_AIJCUDA(Mat C)
{
  ParentProduct *parent;
  Mat            operands[3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetParentProduct(C, &parent));
  GetOperands(C, operands);
  PetscCall(BeginOperands(3, operands));
  ierr = MatAIJCUDAHostBegin(C, HOST_WRITE);
  if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDAHostFinish(C, HOST_WRITE, (*parent->numeric)(C));
  PetscCall(FinishOperands(3, operands, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJCUDA(Mat C)
{
  ParentProduct *parent;
  Mat            operands[3];

  PetscFunctionBegin;
  PetscCall(GetParentProduct(C, &parent));
  GetOperands(C, operands);
  PetscCall(BeginOperands(3, operands));
  PetscCall(FinishOperands(3, operands, (*parent->symbolic)(C)));
  PetscCall(MatAIJCUDAHostWritten(C, HOST_BUILD)); // C may have become one of ours just now: its mirror is what was written
  if (C->ops->productnumeric != MatProductNumeric_AIJCUDA) {
    PetscCall(GetParentProduct(C, &parent)); // asked for again: the symbolic phase may have replaced C's inside
    parent->numeric        = C->ops->productnumeric;
    C->ops->productnumeric = parent->numeric != NULL ? MatProductNumeric_AIJCUDA : NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts our symbolic phase in front of the one that is set on C. */
static PetscErrorCode WrapSymbolic(Mat C)
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

/*
  MatProductSetFromOptions_AIJCUDA - Chooses the code of a product with sparse matrices of ours.

  Collective

  Input Parameter:
. C - the result, with its product set
*/
PetscErrorCode MatProductSetFromOptions_AIJCUDA(Mat C)
{
  PetscErrorCode (*f)(Mat) = NULL;
  PetscBool is_mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->A, MATMPIAIJ, &is_mpi));
  if (!is_mpi) PetscCall(PetscObjectBaseTypeCompare((PetscObject)C->product->B, MATMPIAIJ, &is_mpi));
  PetscCall(GetParentSetFromOptions(is_mpi, &f));
  PetscCall((*f)(C));
  PetscCall(WrapSymbolic(C));
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
  MatProductSetFromOptions_AIJCUDA_Mixed - Chooses the code of a product of a sparse matrix of ours and a MATDENSE or MATMAIJ.

  Collective

  Input Parameter:
. C - the result, with its product set

  Note:
  PETSc's code for these products is composed on one of the operands under the names of the parent types.
*/
PetscErrorCode MatProductSetFromOptions_AIJCUDA_Mixed(Mat C)
{
  Mat         A = C->product->A, B = C->product->B;
  const char *name_a, *name_b;
  char        function[128];
  PetscErrorCode (*f)(Mat) = NULL;

  PetscFunctionBegin;
  PetscCall(GetProductTypeName(A, &name_a));
  PetscCall(GetProductTypeName(B, &name_b));
  PetscCall(PetscSNPrintf(function, sizeof(function), "MatProductSetFromOptions_%s_%s_C", name_a, name_b));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, function, &f));
  if (f == NULL) PetscCall(PetscObjectQueryFunction((PetscObject)B, function, &f));
  if (f != NULL) PetscCall((*f)(C));
  PetscCall(WrapSymbolic(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
