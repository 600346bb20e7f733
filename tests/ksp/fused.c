static char help[] = "KSPCHEBYSHEV and KSPRICHARDSON with a kernel a step give what PETSc's code gives, and leave to it what is not plain.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/ksp/ksp/impls/fused/fused.h"
#include "../../src/petsc/mat.h"

/* What a smoother is; those of different kinds are compared with themselves, with and without fusion. */
typedef enum {
  FIRST,
  FOURTH,
  OPT_FOURTH,
  RICHARDSON,
  NUM_METHODS
} Method;
static const char *const methods[NUM_METHODS] = {"first kind", "fourth kind", "optimized fourth kind", "Richardson"};

/* What keeps a solve from being plain. */
typedef enum {
  PLAIN,
  OPTION,
  NORMS,
  MONITOR,
  RESIDUAL_HISTORY,
  ERROR_HISTORY,
  CONVERGENCE_TEST,
  NULL_SPACE,
  TRANSPOSE_NULL_SPACE, /* none: KSPSolve() removes it from the right-hand side */
  OPERATION,
  BLOCK_OPERATION, /* of the diagonal block of a parallel matrix */
  OTHER_PC,
  TRANSPOSED,
  BOUND,
  NO_STEP,
  ERRORS, /* none: KSPSetErrorIfNotConverged() */
#if PETSC_VERSION_LT(3, 26, 0)
  SCALED, /* KSPSetDiagonalScale(), which went */
#endif
  NUM_OBSTACLES
} Obstacle;
static const char *const reasons[NUM_OBSTACLES] = {KSP_FUSED,
                                                   "-ksp_fused is false",
                                                   "norms are computed",
                                                   "there are monitors",
                                                   "a history of the residual or the error is kept",
                                                   "a history of the residual or the error is kept",
                                                   "there is a convergence test",
                                                   "the matrix has a null space",
                                                   KSP_FUSED,
                                                   "the matrix is none of ours, not on the device, or has products of the program",
                                                   "the matrix is none of ours, not on the device, or has products of the program",
                                                   "the preconditioner is neither PCJACOBI nor PCPBJACOBI",
                                                   "the system is transposed",
                                                   "the matrix is none of ours, not on the device, or has products of the program",
                                                   "there is no step",
#if PETSC_VERSION_LT(3, 26, 0)
                                                   [SCALED] = "the system is scaled",
#endif
                                                   [ERRORS] = KSP_FUSED};

static PetscBool device;             /* the type is on the device */
static PCType    pc_type = PCJACOBI; /* of the smoothers */

/* A chain of blocks with jumps. Symmetric and diagonally dominant. */
static PetscErrorCode CreateMatrix(MatType type, PetscInt n, PetscInt bs, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * bs, n * bs));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt  p    = i / bs;
    const PetscReal left = p == 0 ? 0 : 1 + p % 4, right = p == n - 1 ? 0 : 1 + (p + 1) % 4;

    for (PetscInt c = 0; c < bs; c++) PetscCall(MatSetValue(*A, i, p * bs + c, p * bs + c == i ? left + right + 1 : (PetscReal)0.125, INSERT_VALUES));
    if (p > 0) PetscCall(MatSetValue(*A, i, i - bs, -left, INSERT_VALUES));
    if (p < n - 1) PetscCall(MatSetValue(*A, i, i + bs, -right, INSERT_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoMonitor(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt n, PETSC_UNUSED PetscReal norm, PETSC_UNUSED void *ctx)
{
  return PETSC_SUCCESS;
}

static PetscErrorCode NeverConverged(PETSC_UNUSED KSP ksp, PETSC_UNUSED PetscInt n, PETSC_UNUSED PetscReal norm, KSPConvergedReason *reason, PETSC_UNUSED PetscCtx ctx)
{
  *reason = KSP_CONVERGED_ITERATING;
  return PETSC_SUCCESS;
}

/* A smoother, with the eigenvalues of the matrix bounded by hand so that two have the same. */
static PetscErrorCode CreateSmoother(Mat A, Method method, PetscInt max_it, PetscBool nonzero, Obstacle obstacle, PetscBool fused, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, fused ? "fused_" : "plain_"));
  PetscCall(KSPSetType(*ksp, method == RICHARDSON ? KSPRICHARDSON : KSPCHEBYSHEV));
  if (method == RICHARDSON) PetscCall(KSPRichardsonSetScale(*ksp, 0.625));
  else {
    PetscCall(KSPChebyshevSetEigenvalues(*ksp, 2.125, 0.25));
    PetscCall(KSPChebyshevSetKind(*ksp, method == FIRST ? KSP_CHEBYSHEV_FIRST : method == FOURTH ? KSP_CHEBYSHEV_FOURTH : KSP_CHEBYSHEV_OPT_FOURTH));
  }
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, obstacle == OTHER_PC ? PCNONE : pc_type));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, obstacle == NO_STEP ? 0 : max_it));
  PetscCall(KSPSetNormType(*ksp, obstacle == NORMS || obstacle == RESIDUAL_HISTORY ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_NONE));
  if (obstacle == RESIDUAL_HISTORY) PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(*ksp, obstacle == CONVERGENCE_TEST ? NeverConverged : KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, nonzero));
  if (obstacle == ERRORS) PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
#if PETSC_VERSION_LT(3, 26, 0)
  PetscCall(KSPSetDiagonalScale(*ksp, (PetscBool)(obstacle == SCALED)));
  PetscCall(KSPSetDiagonalScaleFix(*ksp, (PetscBool)(obstacle == SCALED)));
#endif
  if (obstacle == MONITOR) PetscCall(KSPMonitorSet(*ksp, NoMonitor, NULL, NULL));
  if (obstacle == RESIDUAL_HISTORY) PetscCall(KSPSetResidualHistory(*ksp, NULL, 10, PETSC_TRUE));
  if (obstacle == ERROR_HISTORY) PetscCall(KSPSetErrorHistory(*ksp, NULL, 10, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relative, of vectors of any type. */
static PetscErrorCode CompareSolutions(Vec x, Vec y, PetscReal tolerance, const char what[])
{
  Vec       difference;
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &difference));
  PetscCall(VecCopy(x, difference));
  PetscCall(VecAXPY(difference, -1.0, y));
  PetscCall(VecNorm(difference, NORM_INFINITY, &norm));
  PetscCall(VecNorm(y, NORM_INFINITY, &size));
  PetscCheck(norm <= tolerance * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: solutions differ by %g of %g", what, (double)norm, (double)size);
  PetscCall(VecDestroy(&difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(KSP ksp, const char expected[], const char what[])
{
  KSPFusedContext *context;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  PetscCall(PetscStrcmp(context->said, expected, &same));
  PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: \"%s\" and not \"%s\"", what, context->said, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, Obstacle obstacle, Vec b, Vec x)
{
  PetscFunctionBegin;
  if (obstacle == TRANSPOSED) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Twice, the second time from the solution of the first. With and without fusion. */
static PetscErrorCode TestSmoother(Mat A, Method method, PetscInt max_it, PetscBool nonzero, Obstacle obstacle)
{
  const PetscReal    tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;
  char               what[128];
  KSP                ksps[2];
  Vec                b, x[2];
  PetscInt           its[2];
  KSPConvergedReason converged[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %" PetscInt_FMT " steps, guess %s, %s", methods[method], max_it, nonzero ? "given" : "zero", reasons[obstacle]));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(TestFill(b, 3));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestFill(x[k], 5));
    PetscCall(CreateSmoother(A, method, max_it, nonzero, obstacle, (PetscBool)(k == 0), &ksps[k]));
  }
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(Solve(ksps[k], obstacle, b, x[k]));
      PetscCall(KSPGetIterationNumber(ksps[k], &its[k]));
      PetscCall(KSPGetConvergedReason(ksps[k], &converged[k]));
    }
    PetscCheck(its[0] == its[1] && converged[0] == converged[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " iterations, %s, and should be %" PetscInt_FMT ", %s", what, its[0],
               KSPConvergedReasons[converged[0]], its[1], KSPConvergedReasons[converged[1]]);
    PetscCall(CompareSolutions(x[0], x[1], tolerance, what));
    PetscCall(CheckReason(ksps[0], device || (obstacle != PLAIN && obstacle != OTHER_PC && obstacle != TRANSPOSE_NULL_SPACE && obstacle != ERRORS) ? reasons[obstacle] : reasons[BOUND], what));
    PetscCall(CheckReason(ksps[1], reasons[OPTION], what));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksps[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSmoothers(Mat A)
{
  const PetscInt steps[] = {1, 2, 3, 4, 5};

  PetscFunctionBegin;
  for (int method = 0; method < NUM_METHODS; method++)
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(steps); k++)
      for (int nonzero = 0; nonzero < 2; nonzero++) PetscCall(TestSmoother(A, (Method)method, steps[k], (PetscBool)nonzero, PLAIN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*own_mult)(Mat, Vec, Vec);

static PetscErrorCode MultTwice(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*own_mult)(A, x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of the program, and the type's own again. */
static PetscErrorCode SetMult(Mat A, Obstacle obstacle, PetscBool set)
{
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectHasFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", &parallel));
  if (obstacle == BLOCK_OPERATION && parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &A, NULL, NULL));
  if (set) own_mult = A->ops->mult;
  PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)(set ? MultTwice : own_mult)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is done to the matrix, and back. */
static PetscErrorCode SetObstacle(Mat A, Obstacle obstacle, PetscBool set)
{
  MatNullSpace constants = NULL;

  PetscFunctionBegin;
  if (set) PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
  if (obstacle == NULL_SPACE) PetscCall(MatSetNullSpace(A, constants));
  if (obstacle == TRANSPOSE_NULL_SPACE) PetscCall(MatSetTransposeNullSpace(A, constants));
  if (obstacle == OPERATION || obstacle == BLOCK_OPERATION) PetscCall(SetMult(A, obstacle, set));
  if (obstacle == BOUND) PetscCall(MatBindToCPU(A, set));
  if (obstacle == ERRORS && !set) PetscCall(MatSetErrorIfFailure(A, PETSC_FALSE));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the option is for is not an obstacle of its own: PETSc's side of every comparison has it. */
static PetscErrorCode TestObstacles(Mat A)
{
  PetscFunctionBegin;
  for (int obstacle = NORMS; obstacle < NUM_OBSTACLES; obstacle++) {
    PetscCall(SetObstacle(A, (Obstacle)obstacle, PETSC_TRUE));
    for (int method = 0; method < NUM_METHODS; method++) {
      if (obstacle == NO_STEP && method == RICHARDSON) continue; // PETSc ends without a reason
      PetscCall(TestSmoother(A, (Method)method, 3, PETSC_FALSE, (Obstacle)obstacle));
    }
    PetscCall(SetObstacle(A, (Obstacle)obstacle, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatResidual() against that of MATAIJ, into a vector of its own and into the right-hand side. */
static PetscErrorCode TestResidual(MatType type, PetscInt m, PetscInt n, TestLayout layout, PetscInt per_row)
{
  Mat A[2];
  Vec x[2], b[2], r[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, m, n, layout, per_row, 7, &A[0], &A[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(A[k], &x[k], &b[k]));
    PetscCall(VecDuplicate(b[k], &r[k]));
    PetscCall(TestFill(x[k], 2));
    PetscCall(TestFill(b[k], 9));
    PetscCall(MatResidual(A[k], b[k], x[k], r[k]));
  }
  PetscCall(TestCompareVec(r[0], r[1], "MatResidual()"));
  PetscCall(VecCopy(r[0], b[0])); // MATAIJ's would lose b
  PetscCall(MatResidual(A[1], b[1], x[1], r[1]));
  if (device) PetscCall(MatResidual(A[1], b[1], x[1], b[1]));
  else PetscCall(VecCopy(r[1], b[1]));
  PetscCall(TestCompareVec(b[0], b[1], "MatResidual() into the right-hand side"));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(VecDestroy(&r[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on the host are copied. */
static PetscErrorCode TestHostVectors(MatType type)
{
  Mat A[2];
  Vec x, b, r[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 50, 50, TEST_EVEN, 5, 3, &A[0], &A[1]));
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(TestFill(x, 2));
  PetscCall(TestFill(b, 9));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDuplicate(b, &r[k]));
    PetscCall(MatResidual(A[k], b, x, r[k]));
  }
  PetscCall(TestCompareVec(r[0], r[1], "MatResidual() with vectors on the host"));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&r[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetView(KSP ksp, char **text)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(TestTextOpen(PETSC_COMM_WORLD, &viewer));
  PetscCall(KSPView(ksp, viewer));
  PetscCall(TestTextClose(&viewer, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG with its smoothers, inside CG: iterations, solutions and views. */
static PetscErrorCode TestGAMG(MatType type, PetscInt n, PetscInt bs)
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10;
  Mat             A;
  Vec             b, x[2];
  KSP             ksps[2];
  PC              pc;
  PetscInt        its[2];
  PetscBool       same, estimates;
  char           *views[2];

  PetscFunctionBegin;
  PetscCall(CreateMatrix(type, n, bs, &A));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(TestFill(b, 3));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-ksp_fused", k == 0 ? "1" : "0")); // without a prefix, for all smoothers
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksps[k]));
    PetscCall(KSPSetType(ksps[k], KSPCG));
    PetscCall(KSPSetOperators(ksps[k], A, A));
    PetscCall(KSPGetPC(ksps[k], &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(PCGAMGCUDASetLevelValues(pc, "double"));
    PetscCall(PetscOptionsSetValue(NULL, "-gamg_mg_levels_pc_type", pc_type)); // of GPUs; also without one
    PetscCall(KSPSetOptionsPrefix(ksps[k], "gamg_"));
    PetscCall(KSPSetFromOptions(ksps[k]));
    PetscCall(KSPSolve(ksps[k], b, x[k]));
    PetscCall(KSPGetIterationNumber(ksps[k], &its[k]));
    PetscCall(GetView(ksps[k], &views[k]));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_fused"));
  PetscCheck(its[0] == its[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "PCGAMG, blocks of %" PetscInt_FMT ": %" PetscInt_FMT " iterations, and should be %" PetscInt_FMT, bs, its[0], its[1]);
  PetscCall(CompareSolutions(x[0], x[1], tolerance, "PCGAMG"));
  PetscCall(PetscStrcmp(views[0], views[1], &same));
  PetscCall(PetscStrcmp(pc_type, PCPBJACOBI, &estimates)); // by the smoothers: the eigenvalues differ in digits that are printed
  PetscCheck(same || estimates, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PCGAMG is viewed as\n%s\nand not\n%s", views[0], views[1]);
  for (int k = 0; k < 2; k++) {
    KSP      smoother;
    PetscInt num_levels;

    PetscCall(KSPGetPC(ksps[k], &pc));
    PetscCall(PCMGGetLevels(pc, &num_levels));
    PetscCheck(num_levels > 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "PCGAMG has one level");
    PetscCall(PCMGGetSmoother(pc, num_levels - 1, &smoother));
    PetscCall(CheckReason(smoother, k == 1 ? reasons[OPTION] : device ? KSP_FUSED : reasons[BOUND], "Smoother of PCGAMG"));
    free(views[k]);
    PetscCall(KSPDestroy(&ksps[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[][2] = {{1, 1}, {5, 1}, {203, 1}, {101, 3}, {4001, 1}};
  char                 *type;
  Mat                   A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(KSPFusedRegister_AIJCUDA()); // once more does nothing
  PetscCall(PetscOptionsSetValue(NULL, "-plain_ksp_fused", "0"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    PetscCall(CreateMatrix(type, sizes[k][0], sizes[k][1], &A));
    PetscCall(TestUsesDevice(A, &device));
    PetscCall(TestSmoothers(A));
    if (sizes[k][0] == 203) PetscCall(TestObstacles(A));
    pc_type = PCPBJACOBI;
    if (sizes[k][0] < 4001) PetscCall(TestSmoothers(A));
    if (sizes[k][1] > 1) PetscCall(TestObstacles(A));
    pc_type = PCJACOBI;
    PetscCall(MatDestroy(&A));
  }
  PetscCall(TestResidual(type, 0, 0, TEST_EVEN, 0));
  PetscCall(TestResidual(type, 1, 1, TEST_LAST_RANK, 1));
  PetscCall(TestResidual(type, 300, 300, TEST_EVEN, 7));
  PetscCall(TestResidual(type, 300, 200, TEST_EVERY_OTHER, 5));
  PetscCall(TestResidual(type, 40, 900, TEST_LAST_RANK, 200));
  PetscCall(TestHostVectors(type));
  PetscCall(TestGAMG(type, 3000, 1));
  PetscCall(TestGAMG(type, 1000, 3));
  pc_type = PCPBJACOBI;
  PetscCall(TestGAMG(type, 1000, 3));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: host
         args: -device_enable none

TEST*/
