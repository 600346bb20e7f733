/*
  PETSc's own factorizations (MATSOLVERPETSC) of matrices of ours: the factor is PETSc's, its symbolic and numeric phases read our host arrays directly,
  so they are called between MatAIJCUDAHostBegin() and MatAIJCUDAHostEnd().
*/
#include <petscsparsecuda/aijcuda.h>

static const char FACTOR_KEY[] = "petscsparsecuda_factor";

/* The operations of the factor that ours stand in front of, kept beside the factor. */
typedef struct {
  struct _MatOps ops;
} ParentFactor;

static PetscErrorCode GetParentFactor(Mat F, ParentFactor **parent)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)F, FACTOR_KEY, (PetscObject *)&container));
  PetscCheck(container != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Factor was not made by our factory");
  PetscCall(PetscContainerGetPointer(container, parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrapNumeric(Mat);

/* ILU(0) starts from a duplicate of A's header, with A's composed functions: the factor is PETSc's own and gets PETSc's own back. */
static PetscErrorCode RestoreComposed(Mat F)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)F, MATSEQAIJ, &is));
  if (is) {
    PetscCall(MatSeqAIJDCSRCUDAComposeFunctions(F, PETSC_FALSE));
    PetscCall(MatSeqAIJCUDAComposeThunks(F, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A phase of the factorization with the operand's mirror up to date. */
#define DEFINE_PHASE(operation, parameters, arguments) \
  static PetscErrorCode MatFactor_AIJCUDA_##operation parameters \
  { \
    ParentFactor  *parent; \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(GetParentFactor(F, &parent)); \
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ)); \
    ierr = (*parent->ops.operation)arguments; \
    PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr)); \
    PetscCall(WrapNumeric(F)); \
    PetscCall(RestoreComposed(F)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_PHASE(lufactorsymbolic, (Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info), (F, A, rows, columns, info))
DEFINE_PHASE(ilufactorsymbolic, (Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info), (F, A, rows, columns, info))
DEFINE_PHASE(choleskyfactorsymbolic, (Mat F, Mat A, IS rows, const MatFactorInfo *info), (F, A, rows, info))
DEFINE_PHASE(iccfactorsymbolic, (Mat F, Mat A, IS rows, const MatFactorInfo *info), (F, A, rows, info))
DEFINE_PHASE(lufactornumeric, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info))
DEFINE_PHASE(choleskyfactornumeric, (Mat F, Mat A, const MatFactorInfo *info), (F, A, info))

#define WRAP(operation) \
  do { \
    if (F->ops->operation != NULL && F->ops->operation != MatFactor_AIJCUDA_##operation) { \
      parent->ops.operation = F->ops->operation; \
      F->ops->operation     = MatFactor_AIJCUDA_##operation; \
    } \
  } while (0)

/* The symbolic phase sets the numeric one. */
static PetscErrorCode WrapNumeric(Mat F)
{
  ParentFactor *parent;

  PetscFunctionBegin;
  PetscCall(GetParentFactor(F, &parent));
  WRAP(lufactornumeric);
  WRAP(choleskyfactornumeric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factorizations that PETSc has for MATSEQAIJ, and its factories. */
static const MatFactorType factor_types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};
static PetscErrorCode (*parent_factories[PETSC_STATIC_ARRAY_LENGTH(factor_types)])(Mat, MatFactorType, Mat *);

/* PETSc's factory, whose factors of matrices of ours get our phases in front of its own; factors of other matrices are left alone. */
static PetscErrorCode MatGetFactor_AIJCUDA_petsc(Mat A, MatFactorType type, Mat *factor)
{
  PetscErrorCode (*create)(Mat, MatFactorType, Mat *) = NULL;
  ParentFactor  *parent;
  Mat            F;
  PetscBool      ours;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factor_types); k++)
    if (factor_types[k] == type) create = parent_factories[k];
  PetscCheck(create != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "PETSc has no %s factorization of MATSEQAIJ", MatFactorTypes[type]);
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // a factor that is MATSEQAIJ does not obey -mat_seqaij_type
  ierr = (*create)(A, type, factor);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (*factor == NULL || !ours) PetscFunctionReturn(PETSC_SUCCESS);
  F = *factor;
  PetscCall(PetscNew(&parent));
  PetscCall(PetscObjectContainerCompose((PetscObject)F, FACTOR_KEY, parent, PetscCtxDestroyDefault));
  WRAP(lufactorsymbolic);
  WRAP(ilufactorsymbolic);
  WRAP(choleskyfactorsymbolic);
  WRAP(iccfactorsymbolic);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDARegisterFactors - Registers PETSc's factorizations for one of our sequential types.

  Not Collective

  Input Parameter:
. type - the sequential type

  Note:
  MatGetFactor() finds an exact type name before a prefix, but only when no solver type is given; with MATSOLVERPETSC given it takes the first prefix, which is
  MATSEQAIJ. So our factory takes PETSc's place there too, and passes other matrices on.
*/
PetscErrorCode MatAIJCUDARegisterFactors(MatType type)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factor_types); k++) {
    PetscCall(MatSolverTypeGet(MATSOLVERPETSC, MATSEQAIJ, factor_types[k], NULL, NULL, &parent_factories[k]));
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, MATSEQAIJ, factor_types[k], MatGetFactor_AIJCUDA_petsc));
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, type, factor_types[k], MatGetFactor_AIJCUDA_petsc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
