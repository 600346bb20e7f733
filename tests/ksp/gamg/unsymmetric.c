static char help[] =
  "Upwind convection and recirculating flow: BiCGStab with PCGAMG that restricts with the tentative prolongator and smooths with a polynomial of GMRES takes few iterations, and with PCGAMG's defaults many.\n\
  -type of the matrix\n\
  -defaults: the options are the defaults\n\
  -times n: that many times the iterations are allowed\n\
  -print: iterations\n\n";

#include <petscsparsecuda.h>
#include <petscksp.h>

/* A system, and iterations of BiCGStab that reduce the residual by 1e8. */
typedef struct {
  PetscInt  dim, n; /* of the grid: directions, and points in each */
  PetscBool recirculating;
  PetscReal peclet; /* of a mesh width */
  PetscInt  most;   /* with the options for unsymmetric systems */
  PetscInt  least;  /* with the defaults, unless they diverge */
} Flow;
static const Flow flows[] = {
  {3, 20, PETSC_FALSE, 1, 9, 0},    {3, 20, PETSC_FALSE, 10, 9, 50},   {3, 20, PETSC_FALSE, 100, 9, 50},  {3, 20, PETSC_FALSE, 1e4, 9, 50}, {2, 80, PETSC_FALSE, 1, 12, 25},
  {2, 80, PETSC_FALSE, 10, 12, 50}, {2, 80, PETSC_FALSE, 100, 12, 50}, {2, 80, PETSC_FALSE, 1e4, 12, 50}, {2, 80, PETSC_TRUE, 1, 17, 40},   {2, 80, PETSC_TRUE, 10, 23, 50},
  {2, 80, PETSC_TRUE, 100, 26, 60}, {2, 80, PETSC_TRUE, 1000, 26, 60}, {3, 20, PETSC_TRUE, 10, 13, 50},   {3, 20, PETSC_TRUE, 100, 14, 50},
};

/* Velocity at a point of the unit cube: constant and askew; or around its middle, without divergence and zero at the boundary. */
static void GetVelocity(const Flow *f, const PetscReal x[], PetscReal v[])
{
  const PetscReal ways[] = {1, 0.6, 0.3};

  for (PetscInt d = 0; d < 3; d++) v[d] = d < f->dim ? ways[d] : 0;
  if (!f->recirculating) return;
  v[0] = 4 * x[0] * (1 - x[0]) * (1 - 2 * x[1]) * (f->dim == 3 ? 4 * x[2] * (1 - x[2]) : 1);
  v[1] = -4 * x[1] * (1 - x[1]) * (1 - 2 * x[0]) * (f->dim == 3 ? 4 * x[2] * (1 - x[2]) : 1);
  v[2] = 0;
}

/* The row of a point, times h^2: 2 dim + 1 points, the upstream neighbor has what convection brings. Boundaries are Dirichlet's. */
static PetscErrorCode SetRow(const Flow *f, Mat A, PetscInt row)
{
  const PetscReal h     = 1 / (PetscReal)(f->n + 1);
  PetscReal       x[3]  = {0.5, 0.5, 0.5}, v[3];
  PetscInt        at[3] = {0, 0, 0}, stride = 1;
  PetscScalar     diagonal = 2 * f->dim;

  PetscFunctionBegin;
  for (PetscInt d = 0, rest = row; d < f->dim; d++, rest /= f->n) {
    at[d] = rest % f->n;
    x[d]  = h * (PetscReal)(at[d] + 1);
  }
  GetVelocity(f, x, v);
  for (PetscInt d = 0; d < f->dim; d++, stride *= f->n) {
    const PetscReal carried = f->peclet * PetscAbsReal(v[d]);

    diagonal += carried;
    if (at[d] > 0) PetscCall(MatSetValue(A, row, row - stride, -1 - (v[d] > 0 ? carried : 0), INSERT_VALUES));
    if (at[d] < f->n - 1) PetscCall(MatSetValue(A, row, row + stride, -1 - (v[d] < 0 ? carried : 0), INSERT_VALUES));
  }
  PetscCall(MatSetValue(A, row, row, diagonal, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRows(const Flow *f, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) PetscCall(SetRow(f, A, row));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Flow *f, MatType type, Mat *A)
{
  const PetscInt n = f->dim == 3 ? f->n * f->n * f->n : f->n * f->n;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 7, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 7, NULL, 7, NULL));
  PetscCall(SetRows(f, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, PetscInt *its, KSPConvergedReason *reason)
{
  KSP ksp;
  PC  pc;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char               type[64] = MATAIJDCSRCUDA;
  PetscBool          defaults = PETSC_FALSE, print = PETSC_FALSE;
  PetscInt           times = 1;
  Mat                A;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-defaults", &defaults, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-times", &times, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(flows); k++) {
    const Flow *f = &flows[k];

    PetscCall(CreateMatrix(f, type, &A));
    PetscCall(Solve(A, &its, &reason));
    PetscCall(MatDestroy(&A));
    if (print)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "-D, %s, Peclet %g: %" PetscInt_FMT " iterations, %s\n", f->dim, f->recirculating ? "recirculating" : "constant", (double)f->peclet, its,
                            KSPConvergedReasons[reason]));
    PetscCheck(defaults ? reason < 0 || its >= f->least : reason > 0 && its <= times * f->most, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%" PetscInt_FMT "-D, %s flow, Peclet %g: %" PetscInt_FMT " iterations, %s", f->dim, f->recirculating ? "recirculating" : "constant", (double)f->peclet, its,
               KSPConvergedReasons[reason]);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -options_left no -malloc_dump -pc_gamg_threshold 0.05 -pc_gamg_prolongator_filter 0.1 -pc_gamg_restriction tentative -mg_levels_ksp_type gmrespoly -mg_levels_ksp_max_it 3
      output_file: output/empty.out
      requires: !single
      timeoutfactor: 3
      test:
         suffix: 1
         nsize: {{1 2 3}}
         args: -type aij
      test:
         suffix: device
         requires: cuda
         nsize: {{1 2 3}}
         args: -use_gpu_aware_mpi 0 -type {{aijdcsrcuda aijhisparsecuda}}
      # FGMRES has one cycle an iteration.
      test:
         suffix: fgmres
         args: -type aij -ksp_type fgmres -ksp_gmres_restart 50 -times 2

   # The preset is these options, and what tuning finds converges as well.
   testset:
      args: -malloc_dump -type aij
      output_file: output/empty.out
      requires: !single
      timeoutfactor: 3
      test:
         suffix: preset
         nsize: {{1 2}}
         args: -pc_gamg_preset robust
      test:
         suffix: tuned
         args: -pc_gamg_tune 100 -pc_gamg_tune_cost model -times 2
      test:
         suffix: preset_device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -type aijdcsrcuda -pc_gamg_preset robust

   test:
      suffix: defaults
      requires: !single
      args: -type aij -defaults
      output_file: output/empty.out

TEST*/
