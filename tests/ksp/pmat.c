static char help[] = "Solves with a preconditioning matrix of our type and an operator on the host, MATAIJ or MATSHELL, take the iterations of two MATAIJ and give the same solution.\n\n";

#include "../mat/impls/dcsr/testmat.h"
#include "../lib/sys.h"
#include <petscksp.h>
#include <petscsparsecuda/report.h>

#define SIZE      24 /* of a square of points */
#define TOLERANCE PETSC_SQRT_MACHINE_EPSILON

/* What a MATSHELL multiplies with. */
typedef struct {
  Mat A;    /* MATAIJ, borrowed */
  Vec x, y; /* on the host */
} Shell;

static const struct {
  const char *ksp, *pc, *smoother; /* smoother: of the levels, or of the blocks */
} solvers[] = {{KSPCG, PCJACOBI, NULL},           {KSPGMRES, PCJACOBI, NULL},   {KSPCG, PCGAMG, PCJACOBI}, {KSPGMRES, PCGAMG, PCJACOBI},
               {KSPRICHARDSON, PCGAMG, PCJACOBI}, {KSPGMRES, PCBJACOBI, PCILU}, {KSPCG, PCBJACOBI, PCILU}, {KSPCHEBYSHEV, PCJACOBI, NULL}};

static PetscErrorCode CreateLaplacian(MatType type, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE * SIZE, SIZE * SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt i = row / SIZE, j = row % SIZE;

    PetscCall(MatSetValue(*A, row, row, 4.125, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, row, row - SIZE, -1, INSERT_VALUES));
    if (i < SIZE - 1) PetscCall(MatSetValue(*A, row, row + SIZE, -1, INSERT_VALUES));
    if (j > 0) PetscCall(MatSetValue(*A, row, row - 1, -1, INSERT_VALUES));
    if (j < SIZE - 1) PetscCall(MatSetValue(*A, row, row + 1, -1, INSERT_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultShell(Mat M, Vec x, Vec y)
{
  Shell *shell;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(M, &shell));
  PetscCall(VecCopy(x, shell->x));
  PetscCall(MatMult(shell->A, shell->x, shell->y));
  PetscCall(VecCopy(shell->y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateShell(Mat A, Shell *shell, Mat *M)
{
  PetscInt n;

  PetscFunctionBegin;
  shell->A = A;
  PetscCall(MatCreateVecs(A, &shell->x, &shell->y));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, SIZE * SIZE, SIZE * SIZE, shell, M));
  PetscCall(MatShellSetOperation(*M, MATOP_MULT, (PetscErrorCodeFn *)MultShell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOption(const char prefix[], const char name[], const char value[])
{
  char option[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(option, sizeof(option), "-%s%s", prefix, name));
  if (value != NULL) PetscCall(PetscOptionsSetValue(NULL, option, value));
  else PetscCall(PetscOptionsClearValue(NULL, option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Twice, the second time after new values. */
static PetscErrorCode Solve(int which, const char prefix[], Mat A, Mat P, Vec b, Vec x, PetscInt iterations[2])
{
  KSP ksp;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetType(ksp, solvers[which].ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, solvers[which].pc));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "double"));
  PetscCall(SetOption(prefix, "mg_levels_pc_type", solvers[which].smoother));
  PetscCall(SetOption(prefix, "sub_pc_type", solvers[which].smoother));
  PetscCall(KSPSetTolerances(ksp, TOLERANCE, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    if (k) PetscCall(MatScale(P, 2));
    if (k) PetscCall(KSPSetOperators(ksp, A, P));
    PetscCall(VecSet(x, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations[k]));
  }
  PetscCall(MatScale(P, 0.5));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever the types of the vectors are. */
static PetscErrorCode Compare(Vec x, Vec expected, int which)
{
  PetscReal difference, norm;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(expected, &d));
  PetscCall(VecCopy(x, d));
  PetscCall(VecAXPY(d, -1, expected));
  PetscCall(VecNorm(d, NORM_INFINITY, &difference));
  PetscCall(VecNorm(expected, NORM_INFINITY, &norm));
  PetscCheck(difference <= 1000 * TOLERANCE * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s with %s: solutions differ by %g of %g", solvers[which].ksp, solvers[which].pc, (double)difference,
             (double)norm);
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char          *type;
  Shell          shell;
  Mat            A, M, P, Q;
  Vec            b[2], x[2]; /* of MATAIJ; of the type that is asked for */
  PetscBool      use_shell = PETSC_FALSE, on_device = PETSC_FALSE, device;
  PetscInt       expected[2], iterations[2];
  PetscInt64     count;
  PetscLogDouble bytes;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-shell", &use_shell, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-vectors_on_device", &on_device, NULL));
  PetscCall(CreateLaplacian(MATAIJ, &A));
  PetscCall(CreateLaplacian(MATAIJ, &Q));
  PetscCall(CreateLaplacian(type, &P));
  PetscCall(CreateShell(A, &shell, &M));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(k && on_device ? P : A, &x[k], &b[k]));
    PetscCall(TestFill(b[k], 1));
  }
  for (int which = 0; which < (int)PETSC_STATIC_ARRAY_LENGTH(solvers); which++) {
    PetscCall(Solve(which, "host_", A, Q, b[0], x[0], expected));
    PetscCall(Solve(which, "mixed_", use_shell ? M : A, P, b[1], x[1], iterations));
    for (int k = 0; k < 2; k++)
      PetscCheck(PetscAbs(iterations[k] - expected[k]) <= 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s with %s: %" PetscInt_FMT " iterations and not %" PetscInt_FMT, solvers[which].ksp, solvers[which].pc,
                 iterations[k], expected[k]);
    PetscCall(Compare(x[1], x[0], which));
  }
  PetscCall(TestUsesDevice(P, &device));
  PetscSparseCUDATestGetReport(REPORT_VECTOR, PETSC_FALSE, &count, &bytes);
  PetscCheck((count > 0) == (device && PetscSparseCUDAReportActive()), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt64_FMT " copies of vectors to the device", count);
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
  }
  PetscCall(VecDestroy(&shell.x));
  PetscCall(VecDestroy(&shell.y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2}}
      args: -shell {{no yes}} -vectors_on_device {{no yes}}
      test:
         suffix: same
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda

   test:
      suffix: report
      requires: cuda
      nsize: {{1 2}}
      args: -vectors_on_device -mat_dcsr_report
      filter: grep -o "product of a .*aij on the host with a vector on the device" | sed -e "s/seq\\|mpi//" | sort -u

TEST*/
