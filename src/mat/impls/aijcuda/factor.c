/*
  Factorizations of matrices of ours, by PETSc itself (MATSOLVERPETSC) and by other packages: the factor is theirs, its symbolic and numeric phases read our host arrays
  directly, so they are called between MatAIJCUDAHostBegin() and MatAIJCUDAHostEnd().
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

/* X(package, name): solver packages whose factorizations of MATAIJ read the host arrays directly. Those that this PETSc has are registered again. */
#define PACKAGES(X) \
  X(MATSOLVERPETSC, petsc) \
  X(MATSOLVERBAS, bas) \
  X(MATSOLVERSUPERLU, superlu) \
  X(MATSOLVERSUPERLU_DIST, superlu_dist) \
  X(MATSOLVERSTRUMPACK, strumpack) \
  X(MATSOLVERUMFPACK, umfpack) \
  X(MATSOLVERCHOLMOD, cholmod) \
  X(MATSOLVERKLU, klu) \
  X(MATSOLVERESSL, essl) \
  X(MATSOLVERLUSOL, lusol) \
  X(MATSOLVERMUMPS, mumps) \
  X(MATSOLVERMKL_PARDISO, mkl_pardiso) \
  X(MATSOLVERMKL_CPARDISO, mkl_cpardiso) \
  X(MATSOLVERPASTIX, pastix) \
  X(MATSOLVERMATLAB, matlab)

static const MatFactorType factor_types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC, MAT_FACTOR_ILUDT};
static const MatType       parent_types[] = {MATSEQAIJ, MATMPIAIJ};

typedef PetscErrorCode (*FactoryFn)(Mat, MatFactorType, Mat *);
typedef FactoryFn Factories[PETSC_STATIC_ARRAY_LENGTH(parent_types)][MAT_FACTOR_NUM_TYPES]; /* of one package, by type of matrix and of factorization */

/* The package's factory, whose factors of matrices of ours get our phases in front of its own; factors of other matrices are left alone. */
static PetscErrorCode GetFactor(const char package[], Factories factories, Mat A, MatFactorType type, Mat *factor)
{
  ParentFactor *parent;
  Mat           F;
  FactoryFn     create;
  PetscBool     parallel, ours[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  create = factories[parallel][type];
  PetscCheck(create != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "Solver package %s has no %s factorization of %s", package, MatFactorTypes[type], parent_types[parallel]);
  PetscCall((*create)(A, type, factor));
  PetscCall(MatIsSeqAIJCUDA(A, &ours[0]));
  PetscCall(MatIsMPIAIJCUDA(A, &ours[1]));
  if (*factor == NULL || !(ours[0] || ours[1])) PetscFunctionReturn(PETSC_SUCCESS);
  F = *factor;
  PetscCall(PetscNew(&parent));
  PetscCall(PetscObjectContainerCompose((PetscObject)F, FACTOR_KEY, parent, PetscCtxDestroyDefault));
  WRAP(lufactorsymbolic);
  WRAP(ilufactorsymbolic);
  WRAP(choleskyfactorsymbolic);
  WRAP(iccfactorsymbolic);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_FACTORY(package, name) \
  static Factories      parents_##name; \
  static PetscErrorCode MatGetFactor_AIJCUDA_##name(Mat A, MatFactorType type, Mat *factor) \
  { \
    PetscFunctionBegin; \
    PetscCall(GetFactor(package, parents_##name, A, type, factor)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PACKAGES(DEFINE_FACTORY)
#undef DEFINE_FACTORY

/* Puts a factory of ours in the place of all that a package has for MATSEQAIJ and MATMPIAIJ. */
static PetscErrorCode RegisterPackage(const char package[], FactoryFn ours, Factories parents)
{
  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(parent_types); t++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factor_types); k++) {
      FactoryFn create;

      PetscCall(MatSolverTypeGet(package, parent_types[t], factor_types[k], NULL, NULL, &create));
      if (create == NULL || create == ours) continue;
      parents[t][factor_types[k]] = create;
      PetscCall(MatSolverTypeRegister(package, parent_types[t], factor_types[k], ours));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDARegisterFactors - Registers PETSc's factorizations for one of our sequential types, and has those of all solver packages called through the mirror.

  Not Collective

  Input Parameter:
. type - the sequential type

  Note:
  MatGetFactor() finds an exact type name before a prefix, but only when no solver type is given; with one given it takes the first prefix, which is MATSEQAIJ or
  MATMPIAIJ. So our factories take the packages' place there, and pass other matrices on.
*/
PetscErrorCode MatAIJCUDARegisterFactors(MatType type)
{
  PetscFunctionBegin;
#define REGISTER(package, name) PetscCall(RegisterPackage(package, MatGetFactor_AIJCUDA_##name, parents_##name));
  PACKAGES(REGISTER)
#undef REGISTER
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(factor_types); k++)
    if (parents_petsc[0][factor_types[k]] != NULL) PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, type, factor_types[k], MatGetFactor_AIJCUDA_petsc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
