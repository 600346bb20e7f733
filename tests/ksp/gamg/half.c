static char help[] = "-pc_gamg_level_values half, auto: the finest level in FP16 where that serves, and what full precision solves is solved, in the same iterations within one.\n\
  -type of the matrix, whose finest level has diagonals, small as it is; -values; -n: points in a direction\n\
  -half: the finest level has FP16 where that is expected\n\n";

#include "problem.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"
#include <petscsparsecuda/record.h>

#define BLOCK 2 /* cells in a direction whose coefficients are equal */

/* Diffusion on a cube by 7 points, with convection upwind. */
typedef struct {
  const char *name;
  PetscReal   contrast;  /* of coefficients */
  PetscReal   weight[3]; /* of the directions */
  PetscReal   velocity, shift, scale;
  PetscBool   half;   /* FP16 serves to the end */
  PetscInt    more;   /* iterations that may be more, or less */
  PetscReal   damped; /* KSPRICHARDSON with this scale factor; 0: another method */
} System;

static const System systems[] = {
  {"smooth", 1.1, {1, 1, 1}, 0, 0, 1, PETSC_TRUE, 1, 0},           {"large", 1.1, {1, 1, 1}, 0, 0, 1e30, PETSC_TRUE, 1, 0},      {"small", 1.1, {1, 1, 1}, 0, 0, 1e-30, PETSC_TRUE, 1, 0},
  {"contrast", 1e4, {1, 1, 1}, 0, 0, 1, PETSC_TRUE, 1, 0},         {"more contrast", 1e8, {1, 1, 1}, 0, 0, 1, PETSC_TRUE, 1, 0}, {"too much for FP16", 1e14, {1, 1, 1}, 0, 0, 1, PETSC_FALSE, 1, 0},
  {"anisotropy", 1.1, {1, 0.01, 1e-4}, 0, 0, 1, PETSC_TRUE, 1, 0}, {"convection", 1.1, {1, 1, 1}, 3, 0, 1, PETSC_TRUE, 1, 0},    {"indefinite", 1.1, {1, 1, 1}, 0, 0.4, 1, PETSC_TRUE, 1, 0},
  {"stagnation", 1.1, {1, 1, 1}, 0, 0, 1, PETSC_TRUE, 1, 0.005},
};

typedef struct {
  char      type[64], values[16];
  PetscInt  n;
  PetscBool half;
} Options;

/* Numbers from 0 to 1 that depend on the block of a cell alone; the coefficients of many systems differ in all bits. */
static PetscReal Coefficient(const System *s, const PetscInt at[3])
{
  const PetscReal r = PetscAbsReal(PetscSinReal((PetscReal)(12 * (at[0] / BLOCK) + 78 * (at[1] / BLOCK) + 37 * (at[2] / BLOCK) + 1)));

  return s->contrast < 2 ? 1 + (s->contrast - 1) * r : (r > 0.5 ? s->contrast : 1) * (1 + r / 7);
}

static PetscErrorCode SetRow(const System *s, PetscInt n, PetscInt row, Mat A)
{
  const PetscInt stride[] = {1, n, n * n}, at[] = {row % n, row / n % n, row / (n * n)};
  PetscReal      diagonal = -s->shift;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    for (int side = -1; side <= 1; side += 2) {
      PetscInt        next[] = {at[0], at[1], at[2]};
      const PetscReal k = Coefficient(s, at), flow = side < 0 && d < 2 ? s->velocity : 0;
      PetscReal       face;

      next[d] += side;
      face = s->weight[d] * (next[d] < 0 || next[d] >= n ? k : 2 * k * Coefficient(s, next) / (k + Coefficient(s, next)));
      diagonal += face + flow;
      if (next[d] >= 0 && next[d] < n) PetscCall(MatSetValue(A, row, row + side * stride[d], -s->scale * (face + flow), INSERT_VALUES));
    }
  PetscCall(MatSetValue(A, row, row, s->scale * diagonal, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRows(const System *s, const Options *o, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) PetscCall(SetRow(s, o->n, row, A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemCreate(const System *s, const Options *o, Mat *A)
{
  const PetscBool symmetric = (PetscBool)(s->velocity == 0);
  Mat             diagonal  = NULL;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, o->n * o->n * o->n, o->n * o->n * o->n));
  PetscCall(MatSetType(*A, o->type));
  PetscCall(SetRows(s, o, *A));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, symmetric));
  PetscCall(MatSetOption(*A, MAT_SPD, (PetscBool)(symmetric && s->shift == 0)));
  PetscCall(MatGetDiagonalBlock(*A, &diagonal));
  MatSeqAIJCUDAGet(diagonal)->options.storage_format = HISPARSE_DIAGONALS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with some values; the residual is that of the matrix. */
static PetscErrorCode Solve(const System *s, Mat A, const char values[], KSP *ksp, PetscInt *its, KSPConvergedReason *reason)
{
  PetscReal norm, residual, rtol;
  Vec       b, x;
  PC        pc;

  PetscFunctionBegin;
  rtol = s->damped > 0 ? 0.7 : 1e-8;
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_level_values", values));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, s->damped > 0 ? KSPRICHARDSON : s->velocity != 0 || s->shift != 0 ? KSPGMRES : KSPCG));
  if (s->damped > 0) PetscCall(KSPRichardsonSetScale(*ksp, s->damped));
  if (s->velocity != 0 || s->shift != 0) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, rtol, 0.0, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGSetCoarseEqLim(pc, 20));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, s->scale));
  PetscCall(KSPSolve(*ksp, b, x));
  PetscCall(KSPGetIterationNumber(*ksp, its));
  PetscCall(KSPGetConvergedReason(*ksp, reason));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(VecScale(b, -1.0));
  PetscCall(MatMultAdd(A, x, b, b));
  PetscCall(VecNorm(b, NORM_2, &residual));
  PetscCheck(*reason <= 0 || residual <= 2 * rtol * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: residual %g of %g", s->name, values, (double)residual, (double)norm);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the finest level has now. */
static PetscErrorCode CheckPrecision(const System *s, const Options *o, KSP ksp)
{
  const PetscBool guarded = (PetscBool)(o->values[0] != 'a' || (s->velocity == 0 && s->shift == 0)); // not in solves of KSPGMRES with auto
  const PetscBool half    = (PetscBool)(o->half && s->half && guarded);
  GAMGContext    *context;
  PetscReal       error;
  Mat             A, diagonal;
  PC              pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCheck(context->half == half, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: the finest level is %sin FP16: %s; %s", s->name, o->values, context->half ? "" : "not ",
             context->guards.half_reason ? context->guards.half_reason : "", context->guards.reason ? context->guards.reason : "");
  PetscCheck(!o->half || !guarded || (context->guards.half_reason == NULL) == half, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: %s", s->name, o->values,
             context->guards.half_reason ? context->guards.half_reason : "no reason for single precision");
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatGetDiagonalBlock(A, &diagonal));
  PetscCall(MatDeviceStorageGetRounding(diagonal, &error));
  PetscCheck((error >= 0) == half, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: the error of a row is %g", s->name, o->values, (double)error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSystem(const System *s, const Options *o)
{
  PetscInt           its[2];
  KSPConvergedReason reason[2];
  Mat                A;
  KSP                ksp[2];

  PetscFunctionBegin;
  PetscCall(SystemCreate(s, o, &A));
  for (int k = 0; k < 2; k++) PetscCall(Solve(s, A, k ? o->values : "double", &ksp[k], &its[k], &reason[k]));
  PetscCheck(reason[0] <= 0 || (reason[1] > 0 && PetscAbsInt(its[0] - its[1]) <= s->more), PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s: %" PetscInt_FMT " iterations with %s, %" PetscInt_FMT " in full precision", s->name, its[1], KSPConvergedReasons[reason[1]], its[0]);
  PetscCall(PetscInfo(ksp[1], "%s: %" PetscInt_FMT " iterations in full precision, %" PetscInt_FMT "\n", s->name, its[0], its[1]));
  PetscCall(CheckPrecision(s, o, ksp[1]));
  if (s->half) { // new values, with the interpolations of now
    PetscCall(MatScale(A, 1.3));
    PetscCall(KSPSetUp(ksp[1]));
    PetscCall(CheckPrecision(s, o, ksp[1]));
  }
  for (int k = 0; k < 2; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const System *s, Mat A, const char values[], KSP *ksp)
{
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Solve(s, A, values, ksp, &its, &reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that is kept for new values looks at the rows of these. */
static PetscErrorCode TestReuse(const Options *o)
{
  const System *too_much = &systems[5];
  GAMGContext  *context;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x;

  PetscFunctionBegin;
  PetscCall(SystemCreate(&systems[0], o, &A));
  PetscCall(CreateSolver(&systems[0], A, "auto", &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatScale(A, 1.1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCheck(context->half == o->half, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Values of the same size are not rounded to FP16 with a preconditioner that is kept");
  PetscCall(SetRows(too_much, o, A));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 2));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCheck(!context->half && (context->guards.half_reason != NULL) == o->half, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Rows that FP16 changes too much are in FP16");
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two preconditioners of different precision with one matrix do not round it in turn. */
static PetscErrorCode TestShared(const Options *o)
{
  static const char *const values[] = {"auto", "half", "single"};
  PetscInt64               before   = 0, after, lost;
  Mat                      A;
  KSP                      ksp[3];
  Vec                      b, x;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-ksp_fused", "0")); // steps of KSPCG of ours have two small arrays for the time of a solve
  PetscCall(SystemCreate(&systems[0], o, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  for (int k = 0; k < 3; k++) PetscCall(CreateSolver(&systems[0], A, values[k], &ksp[k]));
  for (int round = 0; round < 6; round++) {
    if (round == 4) PetscCall(PetscSparseCUDAGetMemoryChanges(&before, &lost));
    for (int k = 0; k < 3; k++) PetscCall(KSPSolve(ksp[k], b, x));
  }
  PetscCall(PetscSparseCUDAGetMemoryChanges(&after, &lost));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Solves in turn take and release memory %" PetscInt64_FMT " times", after - before);
  for (int k = 0; k < 3; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Options o = {MATAIJDCSRCUDA, "auto", 9, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", o.type, sizeof(o.type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-values", o.values, sizeof(o.values), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &o.n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-half", &o.half, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(systems); k++)
    if (systems[k].half || o.values[0] == 'a') PetscCall(TestSystem(&systems[k], &o)); // half has no guards
  PetscCall(TestReuse(&o));
  PetscCall(TestShared(&o));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      requires: double !complex
      test:
         suffix: host
         nsize: {{1 2}}
         args: -device_enable none
      test:
         suffix: device
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0 -half -type {{aijdcsrcuda aijhisparsecuda}} -values {{half auto}}
      test:
         suffix: device_plain
         requires: cuda
         args: -half -ksp_fused 0 -pc_gamg_coarse_cycle petsc

TEST*/
