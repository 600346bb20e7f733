static char help[] = "CG with PCGAMG: solutions with our type and with MATAIJ are the same, and iterations agree within one, for scalar and three-dof problems, and again after the values changed.\n\
  -problem (poisson2d|poisson3d|elasticity), default all of them\n\
  -n points in a direction, four times as many in two dimensions\n\n";

#include "hostcopy.h"
#include <petscsparsecuda.h>
#include <petscksp.h>
#include <petscdmda.h>

#define SOLUTION_TOLERANCE (1e4 * PETSC_SMALL) /* of the norm; that of the solver, PETSC_SMALL, is for the preconditioned residual */

typedef enum {
  POISSON2D,
  POISSON3D,
  ELASTICITY
} Problem;
static const char *const Problems[] = {"poisson2d", "poisson3d", "elasticity", "Problem", "", NULL};

/* Anisotropy and jumps make the thresholds matter. */
static PetscReal Weight(PetscInt direction, PetscInt i, PetscInt j, PetscInt n)
{
  return (direction == 0 ? 1 : 0.5) * (i > n / 2 && j > n / 3 ? 10 : 1);
}

static PetscErrorCode EnterPoisson(DM dm, Problem problem, PetscInt n, Mat A)
{
  const PetscInt steps[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  DMDALocalInfo  info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        MatStencil  row = {k, j, i, 0}, cols[7];
        PetscScalar vals[7];
        PetscInt    count = 1;

        cols[0] = row;
        vals[0] = 0.001;
        for (PetscInt d = 0; d < (problem == POISSON2D ? 2 : 3); d++)
          for (PetscInt s = -1; s <= 1; s += 2) {
            const PetscInt  x = i + s * steps[d][0], y = j + s * steps[d][1], z = k + s * steps[d][2];
            const PetscReal w = 0.5 * (Weight(d, i, j, n) + Weight(d, x, y, n));

            if (x < 0 || y < 0 || z < 0 || x >= info.mx || y >= info.my || z >= info.mz) continue;
            cols[count].i = x;
            cols[count].j = y;
            cols[count].k = z;
            cols[count].c = 0;
            vals[count++] = -w;
            vals[0] += w;
          }
        PetscCall(MatSetValuesStencil(A, 1, &row, count, cols, vals, INSERT_VALUES));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Springs between all points of the 26 neighbours: three unknowns a point, six rigid body modes, held at the left side. */
static PetscErrorCode EnterElasticity(DM dm, Mat A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
        for (PetscInt m = 0; m < 27; m++) {
          const PetscInt  d[3] = {m % 3 - 1, (m / 3) % 3 - 1, m / 9 - 1};
          const PetscReal r2   = (PetscReal)(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
          MatStencil      row[3], col[3];
          PetscScalar     block[9], minus[9];

          for (PetscInt c = 0; c < 3; c++) {
            row[c].k = k;
            row[c].j = j;
            row[c].i = i;
            row[c].c = c;
            col[c].k = k + d[2];
            col[c].j = j + d[1];
            col[c].i = i + d[0];
            col[c].c = c;
          }
          for (PetscInt c = 0; c < 9; c++) {
            block[c] = r2 > 0 ? d[c / 3] * d[c % 3] / (r2 * r2) : (i == 0 && c / 3 == c % 3 ? 1 : 0);
            minus[c] = -block[c];
          }
          PetscCall(MatSetValuesStencil(A, 3, row, 3, row, block, ADD_VALUES));
          if (r2 > 0 && col[0].i >= 0 && col[0].j >= 0 && col[0].k >= 0 && col[0].i < info.mx && col[0].j < info.my && col[0].k < info.mz)
            PetscCall(MatSetValuesStencil(A, 3, row, 3, col, minus, ADD_VALUES));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Problem problem, PetscInt n, MatType type, Mat *A)
{
  const PetscInt dof = problem == ELASTICITY ? 3 : 1;
  DM             dm;
  Vec            coordinates;
  MatNullSpace   modes;

  PetscFunctionBegin;
  if (problem == POISSON2D) PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 4 * n, 4 * n, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, &dm));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, problem == ELASTICITY ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, n, n, n, PETSC_DECIDE, PETSC_DECIDE,
                           PETSC_DECIDE, dof, 1, NULL, NULL, NULL, &dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMDASetUniformCoordinates(dm, 0, 1, 0, 1, 0, 1));
  PetscCall(DMSetMatType(dm, type));
  PetscCall(DMCreateMatrix(dm, A));
  PetscCall(problem == ELASTICITY ? EnterElasticity(dm, *A) : EnterPoisson(dm, problem, problem == POISSON2D ? 4 * n : n, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  if (problem == ELASTICITY) {
    PetscCall(DMGetCoordinates(dm, &coordinates));
    PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
    PetscCall(MatSetNearNullSpace(*A, modes));
    PetscCall(MatNullSpaceDestroy(&modes));
  }
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution has the error that the tolerance of the solver leaves open. */
static PetscErrorCode CompareSolutions(Problem problem, const char type[], Vec expected, Vec x)
{
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(VecNorm(expected, NORM_2, &norm));
  PetscCall(VecAXPY(x, -1, expected));
  PetscCall(VecNorm(x, NORM_2, &difference));
  PetscCheck(difference <= SOLUTION_TOLERANCE * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the solution with %s differs from that with MATAIJ by %g of its norm", Problems[problem], type,
             (double)(difference / norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two solves; in between the values change, so that the second sets up again. solutions: [2] on the host */
static PetscErrorCode Solve(Mat A, PetscInt its[2], Vec solutions[2])
{
  KSP ksp;
  PC  pc;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, PETSC_SMALL, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "double"));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(TestCopyToHost(x, &solutions[k]));
    PetscCall(MatShift(A, 0.05));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both types on one problem. */
static PetscErrorCode Compare(Problem problem, PetscInt n, const char type[], PetscBool verbose)
{
  PetscInt its[2][2];
  Vec      x[2][2];
  Mat      A;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(problem, n, k ? type : MATAIJ, &A));
    PetscCall(Solve(A, its[k], x[k]));
    PetscCall(MatDestroy(&A));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %" PetscInt_FMT " and %" PetscInt_FMT " iterations\n", Problems[problem], k ? type : MATAIJ, its[k][0], its[k][1]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCheck(PetscAbsInt(its[0][k] - its[1][k]) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, solve %d: %" PetscInt_FMT " iterations with MATAIJ, %" PetscInt_FMT " with %s", Problems[problem], k + 1,
               its[0][k], its[1][k], type);
    PetscCall(CompareSolutions(problem, type, x[0][k], x[1][k]));
    PetscCall(VecDestroy(&x[0][k]));
    PetscCall(VecDestroy(&x[1][k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      type[128] = MATDCSRCUDA;
  PetscInt  n         = 10;
  Problem   problem   = POISSON2D;
  PetscBool verbose   = PETSC_FALSE, one;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL)); /* not -mat_type, which DMCreateMatrix() would read for both */
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-problem", Problems, (PetscEnum *)&problem, &one));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  for (Problem p = POISSON2D; p <= ELASTICITY; p++)
    if (!one || p == problem) PetscCall(Compare(p, n, type, verbose));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 4}}
      output_file: output/empty.out
      test:
         suffix: default
      test:
         suffix: hisparse
         args: -type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: misk
         args: -pc_gamg_aggressive_square_graph false
      test:
         suffix: rowl1
         args: -mg_levels_pc_type jacobi -mg_levels_pc_jacobi_type rowl1
      test:
         suffix: mis
         args: -pc_gamg_mat_coarsen_type mis
      test:
         suffix: hem
         args: -pc_gamg_mat_coarsen_type hem
      test:
         suffix: threshold
         args: -pc_gamg_threshold 0.05 -pc_gamg_aggressive_coarsening 0
      test:
         suffix: filter
         args: -pc_gamg_threshold 0.02 -pc_gamg_low_memory_threshold_filter
      test:
         suffix: prolongator_filter
         args: -options_left no -pc_gamg_prolongator_filter 0.05
      test:
         suffix: reuse
         args: -pc_gamg_reuse_interpolation
      test:
         suffix: unsmoothed
         args: -pc_gamg_agg_nsmooths 0
      test:
         suffix: parallel_coarse
         args: -pc_gamg_parallel_coarse_grid_solver -pc_gamg_process_eq_limit 20 -mg_coarse_pc_type jacobi
      test:
         suffix: sor
         args: -mg_levels_pc_type sor

TEST*/
