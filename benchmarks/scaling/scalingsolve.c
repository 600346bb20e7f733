/*
  What a program pays on several GPUs: assembly, products with vectors, the setup of PCGAMG, the solve, the Galerkin product, memory; see scaling.h.
*/
#include "scaling.h"
#include "../../src/petsc/sys.h"
#include <petscsparsecuda.h>

#define SMALLEST_REDUCTION 1e-3 // of the residual; with the default tolerance of KSP all solves do better

/* The system, and what is made of it. */
typedef struct {
  Mat A;
  Vec x, b;
  KSP ksp;
} System;

/* A matrix and the seconds that it took. */
static PetscErrorCode Assemble(Scaling *s, const ScalingGrid *grid, MatType type, Mat *A, PetscReal *seconds)
{
  ScalingEntries entries;
  PetscLogDouble begin;

  PetscFunctionBegin;
  PetscCall(ScalingEntriesCreate(s, grid, &entries));
  PetscCall(ScalingNow(s, &begin));
  PetscCall(MatCreate(s->comm, A));
  PetscCall(MatSetSizes(*A, entries.num_rows, entries.num_rows, entries.total_rows, entries.total_rows));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, entries.n, entries.i, entries.j));
  PetscCall(MatSetValuesCOO(*A, entries.v, INSERT_VALUES));
  PetscCall(ScalingSince(s, begin, seconds));
  PetscCall(ScalingEntriesDestroy(&entries));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SPD_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureAssembly(Scaling *s, const ScalingGrid *grid, MatType type, PetscInt repetitions, System *system, PetscReal *seconds)
{
  PetscReal samples[BENCH_MAX_REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < repetitions; r++) {
    PetscCall(MatDestroy(&system->A));
    PetscCall(Assemble(s, grid, type, &system->A, samples + r));
  }
  PetscCall(BenchMedian(repetitions, samples, seconds));
  PetscCall(MatCreateVecs(system->A, &system->x, &system->b));
  PetscCall(VecSet(system->x, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult(void *ctx)
{
  System *system = (System *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMult(system->A, system->x, system->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix is symmetric: b is what Mult() makes, but for rounding. */
static PetscErrorCode MultTranspose(void *ctx)
{
  System *system = (System *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMultTranspose(system->A, system->x, system->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver without a setup. */
static PetscErrorCode CreateSolver(Scaling *s, Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(s->comm, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureSetup(Scaling *s, PetscInt repetitions, System *system, PetscReal *first, PetscReal *median)
{
  PetscReal      samples[BENCH_MAX_REPETITIONS];
  PetscLogDouble begin;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < repetitions; r++) {
    PetscCall(KSPDestroy(&system->ksp));
    PetscCall(CreateSolver(s, system->A, &system->ksp));
    PetscCall(ScalingNow(s, &begin));
    PetscCall(KSPSetUp(system->ksp));
    PetscCall(ScalingSince(s, begin, samples + r));
  }
  *first = samples[0];
  PetscCall(BenchMedian(repetitions, samples, median));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The setup of a next step: the matrix counts as one with new values, and interpolations are kept. */
static PetscErrorCode MeasureRefresh(Scaling *s, PetscInt repetitions, const System *system, PetscReal *median)
{
  PetscReal      samples[BENCH_MAX_REPETITIONS], unused;
  PetscLogDouble begin;

  PetscFunctionBegin;
  for (PetscInt r = -2; r < repetitions; r++) { // the first ones make what the others keep
    PetscCall(PetscObjectStateIncrease((PetscObject)system->A));
    PetscCall(ScalingNow(s, &begin));
    PetscCall(KSPSetUp(system->ksp));
    PetscCall(ScalingSince(s, begin, r < 0 ? &unused : samples + r));
  }
  PetscCall(BenchMedian(repetitions, samples, median));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup for the table of phases. */
static PetscErrorCode MeasurePhases(Scaling *s, const char name[], Mat A)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(CreateSolver(s, A, &ksp));
  PetscCall(ScalingMeasurePhases(s, name, ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution reduces the residual. */
static PetscErrorCode CheckSolution(Scaling *s, const System *system, MatType type)
{
  Vec       r;
  PetscReal residual, norm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(system->b, &r));
  PetscCall(MatMult(system->A, system->x, r));
  PetscCall(VecAYPX(r, -1.0, system->b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(system->b, NORM_2, &norm));
  PetscCall(VecDestroy(&r));
  if (!(residual <= SMALLEST_REDUCTION * norm) && s->rank == 0) PetscCall(BenchWrong(s->bench, "%s: the residual is %g of the right-hand side", type, (double)(residual / norm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureSolve(Scaling *s, PetscInt repetitions, System *system, PetscReal *median, PetscReal *iterations)
{
  PetscReal      samples[BENCH_MAX_REPETITIONS], unused;
  PetscLogDouble begin;
  PetscInt       its;

  PetscFunctionBegin;
  for (PetscInt r = -1; r < repetitions; r++) { // the first one warms up
    PetscCall(ScalingNow(s, &begin));
    PetscCall(KSPSolve(system->ksp, system->b, system->x));
    PetscCall(ScalingSince(s, begin, r < 0 ? &unused : samples + r));
  }
  PetscCall(BenchMedian(repetitions, samples, median));
  PetscCall(KSPGetIterationNumber(system->ksp, &its));
  *iterations = (PetscReal)its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Galerkin product of the finest level. */
static PetscErrorCode MeasureProduct(Scaling *s, PetscInt repetitions, const System *system, PetscReal *whole, PetscReal *numeric)
{
  PetscReal      samples[2][BENCH_MAX_REPETITIONS], unused;
  PetscLogDouble begin;
  PetscInt       num_levels;
  PC             pc;
  Mat            P, C;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(system->ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &num_levels));
  if (num_levels < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMGGetInterpolation(pc, num_levels - 1, &P));
  for (PetscInt r = -1; r < repetitions; r++) { // the first one warms up
    PetscCall(ScalingNow(s, &begin));
    PetscCall(MatPtAP(system->A, P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(ScalingSince(s, begin, r < 0 ? &unused : &samples[0][r]));
    PetscCall(PetscObjectStateIncrease((PetscObject)system->A)); // its values count as new
    PetscCall(ScalingNow(s, &begin));
    PetscCall(MatPtAP(system->A, P, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(ScalingSince(s, begin, r < 0 ? &unused : &samples[1][r]));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(BenchMedian(repetitions, samples[0], whole));
  PetscCall(BenchMedian(repetitions, samples[1], numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingMeasureType - see scaling.h */
PetscErrorCode ScalingMeasureType(Scaling *s, const ScalingGrid *grid, MatType type, PetscInt repetitions, const char name[], PetscReal values[])
{
  System system = {NULL, NULL, NULL, NULL};
  PC     pc;

  PetscFunctionBegin;
  PetscCall(MeasureAssembly(s, grid, type, repetitions, &system, &values[SCALING_ASSEMBLY]));
  PetscCall(ScalingMeasure(s, MultTranspose, &system, &values[SCALING_MULT_TRANSPOSE]));
  PetscCall(ScalingMeasure(s, Mult, &system, &values[SCALING_MULT])); // leaves the right-hand side
  if (s->device) PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE));
  if (s->device) PetscCall(BenchMemoryBegin());
  PetscCall(MeasureSetup(s, repetitions, &system, &values[SCALING_SETUP_FIRST], &values[SCALING_SETUP]));
  PetscCall(MeasureSolve(s, repetitions, &system, &values[SCALING_SOLVE], &values[SCALING_ITERATIONS]));
  PetscCall(BenchMemoryEnd(s->comm, &values[SCALING_PEAK_MEMORY]));
  PetscCall(CheckSolution(s, &system, type));
  PetscCall(MeasureRefresh(s, repetitions, &system, &values[SCALING_REFRESH]));
  PetscCall(KSPGetPC(system.ksp, &pc));
  if (name != NULL && s->levels) PetscCall(ScalingMeasureLevels(s, name, pc));
  if (name != NULL && s->phases) PetscCall(MeasurePhases(s, name, system.A));
  PetscCall(MeasureProduct(s, repetitions, &system, &values[SCALING_PTAP], &values[SCALING_PTAP_NUMERIC]));
  PetscCall(KSPDestroy(&system.ksp));
  PetscCall(VecDestroy(&system.x));
  PetscCall(VecDestroy(&system.b));
  PetscCall(MatDestroy(&system.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
