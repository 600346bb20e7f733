static char help[] =
  "-pc_gamg_restriction tentative: restrictions are the transposes of what was smoothed, coarse operators R A P, also with new values and another matrix; an error with a matrix that is known to be symmetric.\n\
  -problem, -near_null, -n: see problem.c; -type of the matrix\n\
  -supported n: so many levels at least are set up on the device\n\n";

#include "problem.h"

typedef struct {
  char     type[64];
  PetscInt supported;
} Wanted;

/* The matrices of a level: operator, prolongator, transposed restriction, operator of the next coarser level. */
typedef struct {
  Mat A, P, R, C;
} Level;

static PetscErrorCode GetLevel(KSP ksp, PetscInt k, Level *l)
{
  KSP smoother;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetSmoother(pc, k, &smoother));
  PetscCall(KSPGetOperators(smoother, &l->A, NULL));
  PetscCall(PCMGGetSmoother(pc, k - 1, &smoother));
  PetscCall(KSPGetOperators(smoother, &l->C, NULL));
  PetscCall(PCMGGetInterpolation(pc, k, &l->P));
  PetscCall(PCMGGetRestriction(pc, k, &l->R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a matrix as MATAIJ. */
static PetscErrorCode GetCopy(Mat A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the norm of X - a Y is small beside that of X; a 0: the ratio of their norms. */
static PetscErrorCode CheckDifference(Mat X, PetscReal a, Mat Y, PetscReal tolerance, const char what[], const char problem[], PetscInt k)
{
  Mat       difference;
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(MatNorm(X, NORM_FROBENIUS, &size));
  PetscCall(MatNorm(Y, NORM_FROBENIUS, &norm));
  if (a == 0) a = size / norm;
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &difference));
  PetscCall(MatAXPY(difference, -a, Y, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(difference, NORM_FROBENIUS, &norm));
  PetscCheck(norm <= tolerance * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, level %" PetscInt_FMT ": %s differs by %g of %g", problem, k, what, (double)norm, (double)size);
  PetscCall(MatDestroy(&difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarse operator is R A P. */
static PetscErrorCode CheckGalerkin(KSP ksp, const char what[], const char problem[])
{
  PC       pc;
  PetscInt num_levels, bs[2];
  Level    l;
  Mat      A, P, R, T, C, AP, RAP;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &num_levels));
  PetscCheck(num_levels > 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: there are %" PetscInt_FMT " levels only", problem, num_levels);
  for (PetscInt k = 1; k < num_levels; k++) {
    PetscCall(GetLevel(ksp, k, &l));
    PetscCheck(l.R != l.P, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, level %" PetscInt_FMT ": there is no restriction", problem, k);
    PetscCall(GetCopy(l.A, &A));
    PetscCall(GetCopy(l.P, &P));
    PetscCall(GetCopy(l.R, &T));
    PetscCall(MatTranspose(T, MAT_INITIAL_MATRIX, &R));
    PetscCall(GetCopy(l.C, &C));
    PetscCall(MatMatMult(A, P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AP));
    PetscCall(MatMatMult(R, AP, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &RAP));
    PetscCall(CheckDifference(RAP, 1, C, 1e3 * PETSC_MACHINE_EPSILON, what, problem, k));
    PetscCall(MatGetBlockSizes(l.P, NULL, &bs[0]));
    PetscCall(MatGetBlockSize(l.C, &bs[1]));
    PetscCheck(bs[0] == bs[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, level %" PetscInt_FMT ": blocks of %" PetscInt_FMT " and %" PetscInt_FMT, problem, k, bs[0], bs[1]);
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&P));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&T));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&AP));
    PetscCall(MatDestroy(&RAP));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prolongator is the transposed restriction, smoothed: their difference is a multiple of D^-1 A R^T. */
static PetscErrorCode CheckRestrictions(KSP ksp, const char problem[])
{
  PC       pc;
  PetscInt num_levels;
  Level    l;
  Mat      A, P, T, AT;
  Vec      d;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &num_levels));
  for (PetscInt k = 1; k < num_levels; k++) {
    PetscCall(GetLevel(ksp, k, &l));
    PetscCall(GetCopy(l.A, &A));
    PetscCall(GetCopy(l.P, &P));
    PetscCall(GetCopy(l.R, &T));
    PetscCall(MatMatMult(A, T, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AT));
    PetscCall(MatCreateVecs(A, NULL, &d));
    PetscCall(MatGetDiagonal(A, d));
    PetscCall(VecReciprocal(d));
    PetscCall(MatDiagonalScale(AT, d, NULL));
    PetscCall(MatAXPY(T, -1.0, P, DIFFERENT_NONZERO_PATTERN));
    PetscCall(CheckDifference(T, 0, AT, 1e4 * PETSC_MACHINE_EPSILON, "the restriction", problem, k));
    PetscCall(VecDestroy(&d));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&P));
    PetscCall(MatDestroy(&T));
    PetscCall(MatDestroy(&AT));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values in the same positions. */
static PetscErrorCode ScaleRows(Mat A, PetscReal by)
{
  Vec          d;
  PetscInt     begin, end;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(VecGetOwnershipRange(d, &begin, &end));
  PetscCall(VecGetArrayWrite(d, &array));
  for (PetscInt i = begin; i < end; i++) array[i - begin] = 1 + by * (PetscReal)(i % 5);
  PetscCall(VecRestoreArrayWrite(d, &array));
  PetscCall(MatDiagonalScale(A, d, NULL));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSolve(KSP ksp, const char problem[])
{
  Mat                A;
  Vec                x, b;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s", problem, KSPConvergedReasons[reason]);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing of symmetry is known. */
static PetscErrorCode Unsymmetric(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_STRUCTURALLY_SYMMETRIC, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It is an error while the matrix is known to be symmetric, and afterwards none. */
static PetscErrorCode CheckSymmetric(KSP ksp, Mat A, const char problem[])
{
  PetscBool      known, spd;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsSPDKnown(A, &known, &spd));
  if (!known || !spd) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_INCOMP, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: error %d with a symmetric matrix", problem, (int)ierr);
  PetscCall(Unsymmetric(A));
  // KSPBCGS needs 40 to 70 iterations, as rounding has it. Another type than the one whose setup failed: a second setup of the same KSPGMRES loses the memory of the first
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 100));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const ProblemOptions *o, const void *context)
{
  const Wanted *w       = (const Wanted *)context;
  const char   *problem = Problems[o->problem];
  PetscInt      count[2];
  Mat           A, B;
  KSP           ksp;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(o, w->type, &A));
  PetscCall(ProblemCreateKSP(o, A, &ksp));
  PetscCall(CheckSymmetric(ksp, A, problem));
  PetscCall(ProblemCountSupported(&count[0]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ProblemCountSupported(&count[1]));
  PetscCheck(count[1] - count[0] >= w->supported, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " levels were set up on the device", problem, count[1] - count[0]);
  PetscCall(CheckGalerkin(ksp, "the first product", problem));
  PetscCall(CheckRestrictions(ksp, problem));
  PetscCall(CheckSolve(ksp, problem));

  PetscCall(ScaleRows(A, 0.25));
  PetscCall(KSPSetOperators(ksp, A, A)); // KSPSetUp() does not see new values before PETSc 3.26
  PetscCall(KSPSetUp(ksp));
  PetscCall(CheckGalerkin(ksp, "the product of new values", problem));
  PetscCall(CheckSolve(ksp, problem));

  // another matrix, and then new values of that
  PetscCall(ProblemCreate(o, w->type, &B));
  PetscCall(Unsymmetric(B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetUp(ksp));
  PetscCall(CheckGalerkin(ksp, "the product of another matrix", problem));
  PetscCall(ScaleRows(B, 0.5));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetUp(ksp));
  PetscCall(CheckGalerkin(ksp, "the product of its new values", problem));
  PetscCall(CheckSolve(ksp, problem));

  // levels again, on the same KSP
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(CheckGalerkin(ksp, "the product after KSPReset()", problem));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Wanted wanted = {MATAIJDCSRCUDA, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", wanted.type, sizeof(wanted.type), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-supported", &wanted.supported, NULL));
  PetscCall(ProblemsTest(TestProblem, &wanted));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   testset:
      args: -malloc_dump -n 12 -problem 7point,27point,unsymmetric,elasticity -pc_gamg_restriction tentative -mg_levels_ksp_type gmrespoly -pc_gamg_aggressive_coarsening 0 -pc_gamg_coarse_eq_limit 20
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
         args: -type {{aij aijdcsrcuda}}
      test:
         suffix: clear
         nsize: {{1 3}}
         args: -type {{aij aijdcsrcuda}} -problem 7point -mat_product_clear
      # Levels on two of four processes, and with another numbering
      test:
         suffix: processes
         nsize: 4
         args: -type aij -pc_gamg_process_eq_limit 60
      test:
         suffix: repartition
         nsize: 3
         args: -type aij -problem 7point,unsymmetric -pc_gamg_repartition -pc_gamg_mat_partitioning_type average -pc_gamg_process_eq_limit 30
      test:
         suffix: first
         nsize: 3
         args: -pc_gamg_join_latency 1e9

   testset:
      requires: cuda
      args: -malloc_dump -n 12 -problem 7point,27point,unsymmetric,elasticity -pc_gamg_restriction tentative -mg_levels_ksp_type gmrespoly -pc_gamg_aggressive_coarsening 0 -pc_gamg_coarse_eq_limit 20 -use_gpu_aware_mpi 0 -supported 2
      output_file: output/empty.out
      test:
         suffix: device
         nsize: {{1 2 3}}
         args: -type {{aijdcsrcuda aijhisparsecuda aijautocuda}}
      test:
         suffix: device_first
         nsize: {{2 3}}
         args: -pc_gamg_join_latency 1e9

TEST*/
