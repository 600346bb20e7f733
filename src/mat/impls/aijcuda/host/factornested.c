/*
  Factorizations of matrices that contain ours, by packages that read the arrays of the inner matrices directly, and QR factorizations, which have no operations but
  composed functions:

  - MATSOLVERSPQR: QR of MATSEQAIJ, and of A^T A as MATNORMAL or MATNORMALHERMITIAN;
  - MATSOLVERMUMPS: LU and Cholesky of MATNEST.

  MATSOLVERMKL_CPARDISO is refused for our sequential matrices: it takes every type but MATSEQAIJ itself for a parallel one.

  The factor is theirs; its phases are called with all matrices of ours inside the operand open to host code.
*/
#include "host.h"
#include "../core/core.h"

static const char FACTOR_KEY[] = "petscsparsecuda_factor_nested";

typedef PetscErrorCode (*FactoryFn)(Mat, MatFactorType, Mat *);
typedef PetscErrorCode (*QRSymbolicFn)(Mat, Mat, IS, const MatFactorInfo *);
typedef PetscErrorCode (*QRNumericFn)(Mat, Mat, const MatFactorInfo *);

/* The phases that ours stand in front of, kept beside the factor. */
typedef struct {
  struct _MatOps ops;
  QRSymbolicFn   qrsymbolic;
  QRNumericFn    qrnumeric;
} ParentFactor;

static PetscErrorCode GetParentFactor(Mat F, ParentFactor **parent)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)F, FACTOR_KEY, parent));
  PetscCheck(*parent != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The factor has lost its operations");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix inside a transpose or a normal matrix, or A itself. */
static PetscErrorCode GetInner(Mat A, Mat *inner)
{
  static const struct {
    MatType type;
    PetscErrorCode (*get)(Mat, Mat *);
  } wrappers[] = {
    {MATTRANSPOSEVIRTUAL, MatTransposeGetMat},
    {MATHERMITIANTRANSPOSEVIRTUAL, MatHermitianTransposeGetMat},
    {MATNORMAL, MatNormalGetMat},
    {MATNORMALHERMITIAN, MatNormalHermitianGetMat},
  };

  PetscFunctionBegin;
  *inner = A;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(wrappers); k++) {
    PetscBool is;

    PetscCall(PetscObjectTypeCompare((PetscObject)*inner, wrappers[k].type, &is));
    if (is) PetscCall((*wrappers[k].get)(*inner, inner));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices inside A, some of them NULL and not all of them ours; the caller frees the list. */
static PetscErrorCode GetInnerMats(Mat A, PetscInt *n, Mat **mats)
{
  PetscInt  num_rows = 1, num_columns = 1;
  Mat     **nested = NULL;
  PetscBool is_nest;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNEST, &is_nest));
  if (is_nest) PetscCall(MatNestGetSubMats(A, &num_rows, &num_columns, &nested));
  *n = num_rows * num_columns;
  PetscCall(PetscCalloc1(*n, mats));
  for (PetscInt k = 0; k < *n; k++) {
    const Mat M = is_nest ? nested[k / num_columns][k % num_columns] : A;

    if (M != NULL) PetscCall(GetInner(M, &(*mats)[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends what BeginMats() began, after something that returned ierr, which is handed on. */
static PetscErrorCode FinishMats(PetscInt n, Mat **mats, PetscErrorCode ierr)
{
  PetscErrorCode freed;

  for (PetscInt k = 0; k < n; k++) ierr = MatAIJCUDAHostFinish((*mats)[k], HOST_READ, ierr);
  freed = PetscFree(*mats);
  return ierr == PETSC_SUCCESS ? freed : ierr;
}

/* Opens the matrices inside A to host code; *mats is freed by FinishMats(). */
static PetscErrorCode BeginMats(Mat A, PetscInt *n, Mat **mats)
{
  PetscFunctionBegin;
  PetscCall(GetInnerMats(A, n, mats));
  for (PetscInt k = 0; k < *n; k++) {
    const PetscErrorCode ierr = MatAIJCUDAHostBegin((*mats)[k], HOST_READ);

    if (ierr != PETSC_SUCCESS) PetscCall(FinishMats(k, mats, ierr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrapNumeric(Mat);

/* A phase of the factorization. */
#define DEFINE_PHASE(name, phase, parameters, arguments) \
  static PetscErrorCode name parameters \
  { \
    ParentFactor *parent; \
    PetscInt      n; \
    Mat          *mats; \
\
    PetscFunctionBegin; \
    PetscCall(GetParentFactor(F, &parent)); \
    PetscCall(BeginMats(A, &n, &mats)); \
    PetscCall(FinishMats(n, &mats, (*parent->phase)arguments)); \
    PetscCall(WrapNumeric(F)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_PHASE(LUSymbolic, ops.lufactorsymbolic, (Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info), (F, A, rows, columns, info))
DEFINE_PHASE(CholeskySymbolic, ops.choleskyfactorsymbolic, (Mat F, Mat A, IS rows, const MatFactorInfo *info), (F, A, rows, info))
DEFINE_PHASE(QRSymbolic, qrsymbolic, (Mat F, Mat A, IS columns, const MatFactorInfo *info), (F, A, columns, info))
DEFINE_PHASE(LUNumeric, ops.lufactornumeric, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info))
DEFINE_PHASE(CholeskyNumeric, ops.choleskyfactornumeric, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info))
DEFINE_PHASE(QRNumeric, qrnumeric, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info))

#define WRAP(operation, ours) \
  do { \
    if (F->ops->operation != NULL && F->ops->operation != ours) { \
      parent->ops.operation = F->ops->operation; \
      F->ops->operation     = ours; \
    } \
  } while (0)

#define WRAP_COMPOSED(name, member, function_type, ours) \
  do { \
    PetscErrorCodeFn *f_; \
\
    PetscCall(PetscObjectQueryFunction((PetscObject)F, name, &f_)); \
    if (f_ != NULL && f_ != (PetscErrorCodeFn *)ours) { \
      parent->member = (function_type)f_; \
      PetscCall(PetscObjectComposeFunction((PetscObject)F, name, ours)); \
    } \
  } while (0)

/* Numeric phases, which packages set in symbolic ones and may set again in numeric ones. */
static PetscErrorCode WrapNumeric(Mat F)
{
  ParentFactor *parent;

  PetscFunctionBegin;
  PetscCall(GetParentFactor(F, &parent));
  WRAP(lufactornumeric, LUNumeric);
  WRAP(choleskyfactornumeric, CholeskyNumeric);
  WRAP_COMPOSED("MatQRFactorNumeric_C", qrnumeric, QRNumericFn, QRNumeric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrapFactor(Mat F)
{
  ParentFactor *parent;

  PetscFunctionBegin;
  PetscCall(PetscNew(&parent));
  PetscCall(PetscSparseCUDACompose((PetscObject)F, FACTOR_KEY, parent, PetscCtxDestroyDefault));
  WRAP(lufactorsymbolic, LUSymbolic);
  WRAP(choleskyfactorsymbolic, CholeskySymbolic);
  WRAP_COMPOSED("MatQRFactorSymbolic_C", qrsymbolic, QRSymbolicFn, QRSymbolic);
  PetscCall(WrapNumeric(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factories that ours stands in front of; no two packages here have the same types. */
static struct {
  const char   *package;
  MatType       type;
  MatFactorType factor_type;
  FactoryFn     create; /* NULL: this PETSc has none */
} parents[] = {
  {MATSOLVERSPQR, MATSEQAIJ, MAT_FACTOR_QR, NULL}, {MATSOLVERSPQR, MATNORMAL, MAT_FACTOR_QR, NULL},      {MATSOLVERSPQR, MATNORMALHERMITIAN, MAT_FACTOR_QR, NULL},
  {MATSOLVERMUMPS, MATNEST, MAT_FACTOR_LU, NULL},  {MATSOLVERMUMPS, MATNEST, MAT_FACTOR_CHOLESKY, NULL}, {MATSOLVERMKL_CPARDISO, MATSEQAIJ, MAT_FACTOR_LU, NULL},
};

/* The package's factor, with our phases in front of its own; they leave matrices without any of ours inside as they are. */
static PetscErrorCode MatGetFactor_AIJCUDA_Nested(Mat A, MatFactorType type, Mat *F)
{
  FactoryFn create = NULL;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  PetscCheck(!ours || type == MAT_FACTOR_QR, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Package %s of this PETSc does not take matrices of type %s: use %s, or MatConvert() to MATSEQAIJ first",
             MATSOLVERMKL_CPARDISO, ((PetscObject)A)->type_name, MATSOLVERMKL_PARDISO);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parents) && create == NULL; k++) {
    PetscBool is = PETSC_FALSE;

    if (parents[k].factor_type == type) PetscCall(PetscStrbeginswith(((PetscObject)A)->type_name, parents[k].type, &is)); // as PETSc compares
    if (is) create = parents[k].create;
  }
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "No %s factorization of %s", MatFactorTypes[type], ((PetscObject)A)->type_name);
  PetscCall((*create)(A, type, F));
  if (*F != NULL) PetscCall(WrapFactor(*F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDARegisterNestedFactors - Registers factorizations of matrices that contain ours, and QR factorizations, in place of the packages' own, which they call.

  PETSc has no function that lists packages, so those of PETSc 3.26 are named here.
*/
PetscErrorCode MatAIJCUDARegisterNestedFactors(void)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parents); k++) {
    FactoryFn create;

    PetscCall(MatSolverTypeGet(parents[k].package, parents[k].type, parents[k].factor_type, NULL, NULL, &create));
    if (create != MatGetFactor_AIJCUDA_Nested) parents[k].create = create;
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parents); k++) {
    if (parents[k].create != NULL) PetscCall(MatSolverTypeRegister(parents[k].package, parents[k].type, parents[k].factor_type, MatGetFactor_AIJCUDA_Nested));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
