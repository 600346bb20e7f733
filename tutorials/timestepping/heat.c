static char help[] = "The heat equation with a coefficient that changes, by implicit Euler with steps of adaptive length: the matrix gets new values in each, and PCGAMG keeps its interpolation.\n\
  -n <16>       inner points in each direction of a cube\n\
  -time <0.25>  when it ends\n\
  -verbose      prints steps, iterations, the error, and steps per second\n\
Options of PETSc's TS, SNES, KSP and PC apply, and -mat_type: aij is PETSc's own on the host, aijcusparse on the GPU.\n\n";

/*
  The matrix is filled by COO lists, whose structure goes in once. Where vectors are on the device, kernels compute values and source there, for any type of matrix: -mat_type aijcusparse shows what
  PETSc's own does.
*/
#include "heat.h"
#include <petscsparsecuda.h>
#include <petsctime.h>

/* Squares of the distance of points, and steps at the tolerance below, explain the error of the solution at the end. */
#define ERROR_CONSTANT 2.5
#define STEP_TOLERANCE 1e-4

typedef struct {
  HeatGrid     grid;
  PetscBool    device;    /* kernels compute values and source */
  PetscScalar *values;    /* [HEAT_POINTS * num_rows] where they are computed, owned */
  Mat          stiffness; /* -div(k grad) */
  PetscReal    time;      /* of its values */
  Vec          source;    /* at the same time */
} Heat;

/* The structure of a matrix; all of them have the same. */
static PetscErrorCode CreateMatrix(const HeatGrid *grid, Mat *A)
{
  PetscInt *i, *j, columns[HEAT_POINTS];

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, grid->num_rows, grid->num_rows, grid->n * grid->n * grid->n, grid->n * grid->n * grid->n));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(PetscMalloc2(HEAT_POINTS * (size_t)grid->num_rows, &i, HEAT_POINTS * (size_t)grid->num_rows, &j));
  for (PetscInt row = 0; row < grid->num_rows; row++) {
    HeatColumns(grid->n, grid->first + row, columns);
    for (int b = 0; b < HEAT_POINTS; b++) {
      i[b * (PetscCount)grid->num_rows + row] = grid->first + row;
      j[b * (PetscCount)grid->num_rows + row] = columns[b];
    }
  }
  PetscCall(MatSetPreallocationCOO(*A, HEAT_POINTS * (PetscCount)grid->num_rows, i, j));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SPD_ETERNAL, PETSC_TRUE));
  PetscCall(PetscFree2(i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* shift I - div(k grad) at a time. */
static PetscErrorCode SetValues(Heat *heat, PetscReal t, PetscReal shift, Mat A)
{
  const PetscCount num_rows = heat->grid.num_rows;

  PetscFunctionBeginUser;
  if (heat->device) PetscCall(HeatRowsOnDevice(&heat->grid, t, shift, heat->values));
  for (PetscInt row = 0; !heat->device && row < num_rows; row++) {
    PetscScalar v[HEAT_POINTS];

    HeatRow(heat->grid.n, heat->grid.first + row, t, shift, v);
    for (int b = 0; b < HEAT_POINTS; b++) heat->values[b * num_rows + row] = v[b];
  }
  PetscCall(MatSetValuesCOO(A, heat->values, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSource(Heat *heat, PetscReal t)
{
  PetscScalar *array;
  PetscMemType mtype;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayWriteAndMemType(heat->source, &array, &mtype));
  if (PetscMemTypeDevice(mtype)) PetscCall(HeatSourceOnDevice(&heat->grid, t, array));
  else
    for (PetscInt row = 0; row < heat->grid.num_rows; row++) array[row] = HeatSource(heat->grid.n, heat->grid.first + row, t);
  PetscCall(VecRestoreArrayWriteAndMemType(heat->source, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = u' - div(k grad u) - s; within a step the time is the same. */
static PetscErrorCode Function(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *context)
{
  Heat *heat = (Heat *)context;

  PetscFunctionBeginUser;
  (void)ts;
  if (t != heat->time) {
    PetscCall(SetValues(heat, t, 0, heat->stiffness));
    PetscCall(SetSource(heat, t));
    heat->time = t;
  }
  PetscCall(MatMult(heat->stiffness, u, f));
  PetscCall(VecAXPBYPCZ(f, 1, -1, 1, udot, heat->source));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Jacobian(TS ts, PetscReal t, Vec u, Vec udot, PetscReal shift, Mat J, Mat P, void *context)
{
  PetscFunctionBeginUser;
  (void)ts, (void)u, (void)udot;
  PetscCall(SetValues((Heat *)context, t, shift, P));
  if (J != P) { // -snes_mf_operator
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSolution(const HeatGrid *grid, PetscReal t, Vec u)
{
  PetscScalar *array;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayWrite(u, &array));
  for (PetscInt row = 0; row < grid->num_rows; row++) array[row] = HeatSolution(grid->n, grid->first + row, t);
  PetscCall(VecRestoreArrayWrite(u, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Implicit Euler whose steps are as long as the error of each allows; one linear solve a step. */
static PetscErrorCode CreateSolver(Heat *heat, Mat J, PetscReal end, TS *ts)
{
  TSAdapt adapt;
  SNES    snes;
  KSP     ksp;
  PC      pc;

  PetscFunctionBeginUser;
  PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
  PetscCall(TSSetProblemType(*ts, TS_LINEAR));
  PetscCall(TSSetType(*ts, TSBEULER));
  PetscCall(TSSetIFunction(*ts, NULL, Function, heat));
  PetscCall(TSSetIJacobian(*ts, J, J, Jacobian, heat));
  PetscCall(TSSetTimeStep(*ts, 1e-3));
  PetscCall(TSSetMaxTime(*ts, end));
  PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSSetTolerances(*ts, STEP_TOLERANCE, NULL, 0, NULL));
  PetscCall(TSGetAdapt(*ts, &adapt));
  PetscCall(TSAdaptSetType(adapt, TSADAPTBASIC));
  PetscCall(TSGetSNES(*ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGSetReuseInterpolation(pc, PETSC_TRUE));
  PetscCall(TSSetFromOptions(*ts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error at the end; the first steps pay for things that are done once. */
static PetscErrorCode Report(Heat *heat, TS ts, Vec u, PetscLogDouble seconds, PetscBool verbose)
{
  const PetscReal h = 1 / (PetscReal)(heat->grid.n + 1);
  PetscInt        steps, rejected, iterations;
  PetscReal       error, t;
  Vec             exact;

  PetscFunctionBeginUser;
  PetscCall(TSGetTime(ts, &t));
  PetscCall(VecDuplicate(u, &exact));
  PetscCall(SetSolution(&heat->grid, t, exact));
  PetscCall(VecAXPY(exact, -1, u));
  PetscCall(VecNorm(exact, NORM_INFINITY, &error));
  PetscCall(VecDestroy(&exact));
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(TSGetStepRejections(ts, &rejected));
  PetscCall(TSGetKSPIterations(ts, &iterations));
  if (verbose)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " steps, %" PetscInt_FMT " rejected, %" PetscInt_FMT " iterations, error %.1e at time %g; %.1f steps per second\n", steps, rejected,
                          iterations, (double)error, (double)t, (double)(steps + rejected) / (double)seconds));
  PetscCheck(error <= ERROR_CONSTANT * (h * h + STEP_TOLERANCE * (PetscReal)steps), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Error %g after %" PetscInt_FMT " steps", (double)error, steps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeatCreate(PetscInt n, Heat *heat)
{
  const size_t size  = HEAT_POINTS * sizeof(PetscScalar);
  PetscInt     total = n * n * n;
  PetscScalar *array;
  PetscMemType mtype;

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(heat, 1));
  heat->grid.n        = n;
  heat->grid.num_rows = PETSC_DECIDE;
  heat->time          = -1;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &heat->grid.num_rows, &total));
  PetscCallMPI(MPI_Scan(&heat->grid.num_rows, &heat->grid.first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  heat->grid.first -= heat->grid.num_rows;
  PetscCall(CreateMatrix(&heat->grid, &heat->stiffness));
  PetscCall(MatCreateVecs(heat->stiffness, &heat->source, NULL));
  PetscCall(VecGetArrayWriteAndMemType(heat->source, &array, &mtype));
  PetscCall(VecRestoreArrayWriteAndMemType(heat->source, &array));
  heat->device = (PetscBool)PetscMemTypeDevice(mtype);
  if (heat->device) PetscCall(HeatAllocate(size * (size_t)heat->grid.num_rows, &heat->values));
  else PetscCall(PetscMalloc1(HEAT_POINTS * (size_t)heat->grid.num_rows, &heat->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeatDestroy(Heat *heat)
{
  PetscFunctionBeginUser;
  PetscCall(MatDestroy(&heat->stiffness));
  PetscCall(VecDestroy(&heat->source));
  if (heat->device) PetscCall(HeatFree(&heat->values));
  else PetscCall(PetscFree(heat->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       n       = 16;
  PetscReal      end     = 0.25;
  PetscBool      verbose = PETSC_FALSE;
  PetscLogDouble from, to;
  Heat           heat;
  Mat            J;
  Vec            u;
  TS             ts;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &end, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCheck(n >= 1 && n <= 1290, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n %" PetscInt_FMT " must be 1 to 1290", n);
  PetscCall(HeatCreate(n, &heat));
  PetscCall(CreateMatrix(&heat.grid, &J));
  PetscCall(MatCreateVecs(J, &u, NULL));
  PetscCall(SetSolution(&heat.grid, 0, u));
  PetscCall(CreateSolver(&heat, J, end, &ts));
  PetscCall(PetscBarrier(NULL));
  PetscCall(PetscTime(&from));
  PetscCall(TSSolve(ts, u));
  PetscCall(PetscBarrier((PetscObject)u));
  PetscCall(PetscTime(&to));
  PetscCall(Report(&heat, ts, u, to - from, verbose));
  PetscCall(TSDestroy(&ts));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&J));
  PetscCall(HeatDestroy(&heat));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: heatkernels.cu
      requires: !complex

   testset:
      output_file: output/empty.out
      args: -time 0.05
      test:
         suffix: host
         nsize: {{1 3}}
         args: -n {{5 9}} -mat_type {{aij dcsrcuda}}
      test:
         suffix: device
         nsize: {{1 3}}
         requires: cuda
         args: -n {{5 9}} -mat_type {{dcsrcuda hisparsecuda}}
      # VecMAXPY() of VECCUDA is wrong with one entry before PETSc 3.26
      test:
         suffix: one
         nsize: {{1 3}}
         args: -n 1 -mat_type aij
      test:
         suffix: cusparse
         requires: cuda
         args: -n 9 -mat_type aijcusparse
      test:
         suffix: matrixfree
         args: -n 9 -snes_mf_operator

TEST*/
