/*
  Factorizations of matrices of ours. Factors are PETSc's, or those of packages that PETSc calls; our symbolic and numeric phases stand in front of theirs.

  - Packages that work on the host read the arrays of a MATAIJ directly: their phases run between MatAIJCUDAHostBegin() and MatAIJCUDAHostFinish().
  - MATSOLVERCUSPARSE works on a MATSEQAIJCUSPARSE: the symbolic phase makes such a copy of the matrix, which is kept beside the factor, and the numeric phase renews
    its values on the device.
*/
#include "host.h"
#include "../core/core.h"

static const char FACTOR_KEY[] = "petscsparsecuda_factor";

/* What is kept beside the factor. */
typedef struct {
  struct _MatOps ops;      /* the operations that ours stand in front of */
  PetscBool      cusparse; /* phases work on the copy */
  Mat            copy;     /* MATSEQAIJCUSPARSE, NULL before the symbolic phase and for other packages */
} ParentFactor;

static PetscErrorCode DestroyParentFactor(PetscCtxRt ctx)
{
  ParentFactor *parent = *(ParentFactor **)ctx;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&parent->copy));
  PetscCall(PetscFree(parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
static PetscErrorCode RestoreComposed(Mat F, Mat A)
{
  PetscBool is, ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)F, MATSEQAIJ, &is));
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (is && ours) PetscCall((*MatAIJCUDAHook.restore_composed)(F, ((PetscObject)A)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A becomes MATSEQAIJCUSPARSE, with its values on the device, and obeys what that type's options say of factors. */
static PetscErrorCode ConvertToCUSPARSE(Mat A)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);
  const PetscScalar *values;
  PetscBool          cpu_solve = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_seqaij_seqaijcusparse_C", &convert));
  PetscCheck(convert != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MATSEQAIJ of this PETSc has no conversion to MATSEQAIJCUSPARSE");
  PetscCall((*convert)(A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &A));
  PetscCall(PetscOptionsGetBool(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_cusparse_use_cpu_solve", &cpu_solve, NULL));
  PetscCall(MatCUSPARSESetUseCPUSolve(A, cpu_solve));
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(A, &values));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(A, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A was ours when the factor was made, and may have become MATSEQAIJ. */
static PetscErrorCode CreateCopy(Mat A, Mat *copy)
{
  PetscBool      ours;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDestroy(copy));
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (ours) PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INITIAL_MATRIX, copy));
  else PetscCall(MatDuplicate(A, MAT_COPY_VALUES, copy));
  PetscCallGoto(ierr, failed, MatSetOptionsPrefix(*copy, ((PetscObject)A)->prefix));
  PetscCallGoto(ierr, failed, MatPropagateSymmetryOptions(A, *copy));
  PetscCallGoto(ierr, failed, ConvertToCUSPARSE(*copy));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatDestroy(copy));
  PetscFunctionReturn(ierr);
}

/* The values of A, which computes on the device, into the copy. */
static PetscErrorCode CopyValuesOnDevice(Mat A, PetscScalar *to)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(to, MatSeqAIJCUDAGet(A)->device.view.values, (size_t)MatSeqAIJCUDAGet(A)->device.view.num_nonzeros * sizeof(PetscScalar), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); // the factorization uses another stream
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from the host copy. */
static PetscErrorCode CopyValuesFromHost(Mat A, PetscScalar *to)
{
  const PetscScalar *from;
  cudaStream_t       stream;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJGetArrayRead(A, &from));
  ierr = PetscSparseCUDACopyToDevice(to, from, (size_t)((Mat_SeqAIJ *)A->data)->nz * sizeof(PetscScalar), stream);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &from));
  PetscCall(ierr);
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UpdateCopy(Mat A, Mat copy)
{
  PetscScalar   *to;
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(copy != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Call the symbolic factorization before the numeric one");
  PetscCheck(((Mat_SeqAIJ *)A->data)->nz == ((Mat_SeqAIJ *)copy->data)->nz, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The matrix has %" PetscInt_FMT " nonzeros and had %" PetscInt_FMT " in the symbolic factorization: call that again", ((Mat_SeqAIJ *)A->data)->nz, ((Mat_SeqAIJ *)copy->data)->nz);
  PetscCall(MatIsSeqAIJCUDA(A, &device));
  if (device) PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  PetscCall(MatSeqAIJCUSPARSEGetArrayWrite(copy, &to));
  ierr = device ? CopyValuesOnDevice(A, to) : CopyValuesFromHost(A, to);
  PetscCall(MatSeqAIJCUSPARSERestoreArrayWrite(copy, &to));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a phase works on: A itself with its host copy up to date, or the copy. */
static PetscErrorCode BeginPhase(ParentFactor *parent, Mat A, PetscBool symbolic, Mat *operand)
{
  PetscFunctionBegin;
  if (!parent->cusparse) PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  else if (symbolic) PetscCall(CreateCopy(A, &parent->copy));
  else PetscCall(UpdateCopy(A, parent->copy));
  *operand = parent->cusparse ? parent->copy : A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A phase of the factorization. */
#define DEFINE_PHASE(operation, symbolic, parameters, arguments) \
  static PetscErrorCode MatFactor_AIJCUDA_##operation parameters \
  { \
    ParentFactor  *parent; \
    Mat            operand; \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(GetParentFactor(F, &parent)); \
    PetscCall(BeginPhase(parent, A, symbolic, &operand)); \
    ierr = (*parent->ops.operation)arguments; \
    if (!parent->cusparse) ierr = MatAIJCUDAHostFinish(A, HOST_READ, ierr); \
    PetscCall(ierr); \
    PetscCall(WrapNumeric(F)); \
    PetscCall(RestoreComposed(F, A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_PHASE(lufactorsymbolic, PETSC_TRUE, (Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info), (F, operand, rows, columns, info))
DEFINE_PHASE(ilufactorsymbolic, PETSC_TRUE, (Mat F, Mat A, IS rows, IS columns, const MatFactorInfo *info), (F, operand, rows, columns, info))
DEFINE_PHASE(choleskyfactorsymbolic, PETSC_TRUE, (Mat F, Mat A, IS rows, const MatFactorInfo *info), (F, operand, rows, info))
DEFINE_PHASE(iccfactorsymbolic, PETSC_TRUE, (Mat F, Mat A, IS rows, const MatFactorInfo *info), (F, operand, rows, info))
DEFINE_PHASE(lufactornumeric, PETSC_FALSE, (Mat F, Mat A, const MatFactorInfo *info), (F, operand, info))
DEFINE_PHASE(choleskyfactornumeric, PETSC_FALSE, (Mat F, Mat A, const MatFactorInfo *info), (F, operand, info))

#define WRAP(operation) \
  do { \
    if (F->ops->operation != NULL && F->ops->operation != MatFactor_AIJCUDA_##operation) { \
      parent->ops.operation = F->ops->operation; \
      F->ops->operation     = MatFactor_AIJCUDA_##operation; \
    } \
  } while (0)

/* A dense matrix of the host with the host array of X, which is on the device. */
static PetscErrorCode CreateDenseOnHost(Mat X, PetscScalar array[], Mat *host)
{
  PetscInt m, n, M, N, lda;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(X, &m, &n));
  PetscCall(MatGetSize(X, &M, &N));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)X), m, n, M, N, array, host));
  PetscCall(MatDenseSetLDA(*host, lda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsDenseOnDevice(Mat X, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)X, is, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve on the host; X is the one matrix that may be on the device. */
static PetscErrorCode SolveInto(PetscErrorCode (*solve)(Mat, Mat, Mat), Mat F, Mat B, Mat X)
{
  Mat            host = NULL;
  PetscScalar   *x;
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(IsDenseOnDevice(X, &device));
  if (!device) {
    PetscCall((*solve)(F, B, X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetArray(X, &x));
  PetscCallGoto(ierr, cleanup, CreateDenseOnHost(X, x, &host));
  PetscCallGoto(ierr, cleanup, (*solve)(F, B == X ? host : B, host)); // MatMatSolve() may put the solutions into B
cleanup:
  PetscCall(MatDestroy(&host));
  PetscCall(MatDenseRestoreArray(X, &x));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve on the host with several right-hand sides. PETSc's accepts dense matrices of the host alone; those that belong to vectors of our matrices are on the device. */
static PetscErrorCode SolveOnHost(PetscErrorCode (*solve)(Mat, Mat, Mat), Mat F, Mat B, Mat X)
{
  Mat                host = NULL;
  const PetscScalar *b;
  PetscBool          device;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(IsDenseOnDevice(B, &device));
  if (!device || B == X) {
    PetscCall(SolveInto(solve, F, B, X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDenseGetArrayRead(B, &b));
  PetscCallGoto(ierr, cleanup, CreateDenseOnHost(B, (PetscScalar *)b, &host));
  PetscCallGoto(ierr, cleanup, SolveInto(solve, F, host, X));
cleanup:
  PetscCall(MatDestroy(&host));
  PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_SOLVE(operation) \
  static PetscErrorCode MatFactor_AIJCUDA_##operation(Mat F, Mat B, Mat X) \
  { \
    ParentFactor *parent; \
\
    PetscFunctionBegin; \
    PetscCall(GetParentFactor(F, &parent)); \
    PetscCall(SolveOnHost(parent->ops.operation, F, B, X)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_SOLVE(matsolve)
DEFINE_SOLVE(matsolvetranspose)

/* The symbolic phase sets the numeric one, and that the solves. */
static PetscErrorCode WrapNumeric(Mat F)
{
  ParentFactor *parent;

  PetscFunctionBegin;
  PetscCall(GetParentFactor(F, &parent));
  WRAP(lufactornumeric);
  WRAP(choleskyfactornumeric);
  if (parent->cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  WRAP(matsolve);
  WRAP(matsolvetranspose);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*FactoryFn)(Mat, MatFactorType, Mat *);

static const MatFactorType factor_types[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};
#define NUM_FACTOR_TYPES PETSC_STATIC_ARRAY_LENGTH(factor_types)

/* Gives a factor our phases in front of its own. */
static PetscErrorCode WrapFactor(Mat F, PetscBool cusparse)
{
  ParentFactor *parent;

  PetscFunctionBegin;
  PetscCall(PetscNew(&parent));
  parent->cusparse = cusparse;
  PetscCall(PetscSparseCUDACompose((PetscObject)F, FACTOR_KEY, parent, DestroyParentFactor));
  WRAP(lufactorsymbolic);
  WRAP(ilufactorsymbolic);
  WRAP(choleskyfactorsymbolic);
  WRAP(iccfactorsymbolic);
  PetscCall(WrapNumeric(F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CallFactory(const FactoryFn factories[], Mat A, MatFactorType type, Mat *F)
{
  FactoryFn create = NULL;

  PetscFunctionBegin;
  for (size_t k = 0; k < NUM_FACTOR_TYPES; k++)
    if (factor_types[k] == type) create = factories[k];
  PetscCheck(create != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP, "No %s factorization of %s", MatFactorTypes[type], ((PetscObject)A)->type_name);
  PetscCall((*create)(A, type, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factories of a package for MATSEQAIJ and MATMPIAIJ, NULL where it has none. */
typedef struct {
  FactoryFn seq[NUM_FACTOR_TYPES], mpi[NUM_FACTOR_TYPES];
} Factories;

/* A package's factory, whose factors get our phases in front of its own, also those of a MATAIJ: it may have become ours when its values are factored again. */
static PetscErrorCode GetFactorOnHost(const Factories *factories, Mat A, MatFactorType type, Mat *F)
{
  PetscBool      is_mpi;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // a factor that is MATSEQAIJ does not obey -mat_seqaij_type
  ierr = CallFactory(is_mpi ? factories->mpi : factories->seq, A, type, F);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  if (*F != NULL) PetscCall(WrapFactor(*F, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(name, package) for all that factor on the host. PETSc has some of the others, as it is configured. */
#define PACKAGES(X) \
  X(petsc, MATSOLVERPETSC) \
  X(bas, MATSOLVERBAS) \
  X(superlu, MATSOLVERSUPERLU) \
  X(superlu_dist, MATSOLVERSUPERLU_DIST) \
  X(strumpack, MATSOLVERSTRUMPACK) \
  X(umfpack, MATSOLVERUMFPACK) \
  X(cholmod, MATSOLVERCHOLMOD) \
  X(klu, MATSOLVERKLU) \
  X(essl, MATSOLVERESSL) \
  X(lusol, MATSOLVERLUSOL) \
  X(mumps, MATSOLVERMUMPS) \
  X(mkl_pardiso, MATSOLVERMKL_PARDISO) \
  X(mkl_cpardiso, MATSOLVERMKL_CPARDISO) \
  X(pastix, MATSOLVERPASTIX) \
  X(matlab, MATSOLVERMATLAB)

#define DEFINE_FACTORY(name, package) \
  static Factories      name##_factories; \
  static PetscErrorCode MatGetFactor_AIJCUDA_##name(Mat A, MatFactorType type, Mat *F) \
  { \
    PetscFunctionBegin; \
    PetscCall(GetFactorOnHost(&name##_factories, A, type, F)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
PACKAGES(DEFINE_FACTORY)
#undef DEFINE_FACTORY

static FactoryFn cusparse_factories[NUM_FACTOR_TYPES];

/* cuSPARSE's factorizations of matrices of ours that compute on the device, PETSc's of others. */
static PetscErrorCode MatGetFactor_AIJCUDA_cusparse(Mat A, MatFactorType type, Mat *F)
{
  PetscFunctionBegin;
  if (A->boundtocpu) {
    PetscCall(PetscInfo(A, "The matrix computes on the host: factorization %s by %s instead of %s\n", MatFactorTypes[type], MATSOLVERPETSC, MATSOLVERCUSPARSE));
    PetscCall(MatGetFactor_AIJCUDA_petsc(A, type, F));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (PetscDefined(USE_COMPLEX) && (type == MAT_FACTOR_CHOLESKY || type == MAT_FACTOR_ICC) && A->hermitian == PETSC_BOOL3_TRUE && A->symmetric != PETSC_BOOL3_TRUE) {
    PetscCall(PetscInfo(A, "PETSc has no factorization of Hermitian matrices by halves: use %s\n", MatFactorTypes[MAT_FACTOR_LU]));
    *F = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CallFactory(cusparse_factories, A, type, F));
  PetscCall(WrapFactor(*F, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our factory in place of a package's, which are kept in parents[]. */
static PetscErrorCode RegisterPackage(MatSolverType package, MatType type, FactoryFn ours, FactoryFn parents[])
{
  PetscFunctionBegin;
  for (size_t k = 0; k < NUM_FACTOR_TYPES; k++) {
    PetscCall(MatSolverTypeGet(package, type, factor_types[k], NULL, NULL, &parents[k]));
    if (parents[k] != NULL) PetscCall(MatSolverTypeRegister(package, type, factor_types[k], ours));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDARegisterFactors - Registers factorizations in front of PETSc's; once, before MatAIJCUDARegisterFactorsOf().

  MatGetFactor() finds an exact type name before a prefix, but only when no solver type is given; with a solver type it takes the first prefix, which is
  MATSEQAIJ. So our factories take the positions there too, and pass other matrices on. Without a solver type MATSOLVERPETSC comes first, as for MATSEQAIJ.
  PETSc has MATSOLVERPETSC under the names of subclasses, too.
*/
PetscErrorCode MatAIJCUDARegisterFactors(void)
{
  const MatType petsc_types[] = {MATSEQAIJPERM, MATSEQAIJCRL, MATSEQAIJMKL};

  PetscFunctionBegin;
#define REGISTER(name, package) \
  PetscCall(RegisterPackage(package, MATSEQAIJ, MatGetFactor_AIJCUDA_##name, name##_factories.seq)); \
  PetscCall(RegisterPackage(package, MATMPIAIJ, MatGetFactor_AIJCUDA_##name, name##_factories.mpi));
  PACKAGES(REGISTER)
#undef REGISTER
  for (size_t k = 0; k < NUM_FACTOR_TYPES; k++) {
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(petsc_types); t++) PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, petsc_types[t], factor_types[k], MatGetFactor_AIJCUDA_petsc));
    PetscCall(MatSolverTypeGet(MATSOLVERCUSPARSE, MATSEQAIJCUSPARSE, factor_types[k], NULL, NULL, &cusparse_factories[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDARegisterFactorsOf - Registers factorizations under the name of one of our sequential types. */
PetscErrorCode MatAIJCUDARegisterFactorsOf(MatType type)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < NUM_FACTOR_TYPES; k++) {
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, type, factor_types[k], MatGetFactor_AIJCUDA_petsc));
    if (cusparse_factories[k] != NULL) PetscCall(MatSolverTypeRegister(MATSOLVERCUSPARSE, type, factor_types[k], MatGetFactor_AIJCUDA_cusparse));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
