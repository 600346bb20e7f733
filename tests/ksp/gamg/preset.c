static char help[] = "Presets of PCGAMG: iterations of hard problems, what the user gave, and what is left when a preset is taken back.\n\
  -system (checkerboard|anisotropic|rotated|bricks|elastic), -n points in a direction\n\
  -most n, -least n: iterations with -pc_gamg_preset robust and without\n\
  -type: of the matrix\n\n";

#include <petscsparsecuda.h>
#include <petscksp.h>
#include "../../../src/petsc/ksp.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"

typedef enum {
  CHECKERBOARD, /* 7 points, coefficients 1 and 1e4 in cubes of eight points a side */
  ANISOTROPIC,  /* 7 points, one direction 1 : 100 */
  ROTATED,      /* 9 points in two dimensions, 1 : 100 at 30 degrees: couplings of both signs */
  BRICKS,       /* 27 points, trilinear elements 1 : 1 : 10: couplings of both signs */
  ELASTIC,      /* three unknowns a point that hang together */
  NUM_SYSTEMS
} System;
static const char *const Systems[] = {"checkerboard", "anisotropic", "rotated", "bricks", "elastic", "System", "", NULL};

#define JUMP 1e4

/* Point of a number; z is 0 in two dimensions. */
static void GetPoint(PetscInt n, PetscInt k, PetscInt x[])
{
  x[0] = k % n;
  x[1] = k / n % n;
  x[2] = k / n / n;
}

static PetscReal GetCoefficient(const PetscInt x[])
{
  return ((x[0] + 8) / 8 + (x[1] + 8) / 8 + (x[2] + 8) / 8) % 2 ? JUMP : 1;
}

/* Coupling of two different points, at most one apart in each direction. */
static PetscReal GetCoupling(System system, const PetscInt x[], const PetscInt y[])
{
  const PetscInt  d[3] = {PetscAbsInt(x[0] - y[0]), PetscAbsInt(x[1] - y[1]), PetscAbsInt(x[2] - y[2])};
  const PetscReal k[2] = {2, -1}, m[2] = {4. / 6, 1. / 6}, h[3] = {1, 1, 10};
  PetscReal       a = GetCoefficient(x), b = GetCoefficient(y), value = 0;

  switch (system) {
  case CHECKERBOARD:
    return d[0] + d[1] + d[2] == 1 ? -2 * a * b / (a + b) : 0;
  case ANISOTROPIC:
    return d[0] + d[1] + d[2] == 1 ? (d[0] ? -1 : -0.01) : 0;
  case ROTATED: // 0.75 and 0.25 are squares of cosine and sine of 30 degrees
    a = 0.75 + 0.01 * 0.25;
    b = 0.25 + 0.01 * 0.75;
    if (d[0] + d[1] == 1) return d[0] ? -a : -b;
    return ((x[0] - y[0]) * (x[1] - y[1]) > 0 ? -1 : 1) * 0.5 * 0.99 * PetscSqrtReal(0.75 * 0.25);
  case BRICKS:
    for (int i = 0; i < 3; i++) {
      PetscReal term = k[d[i]] / h[i];

      for (int j = 0; j < 3; j++)
        if (j != i) term *= m[d[j]] * h[j];
      value += term;
    }
    return value;
  default:
    return d[0] + d[1] + d[2] == 1 ? -1 : 0;
  }
}

/* The rows of a point; those next to the boundary are held there. */
static PetscErrorCode SetPoint(System system, PetscInt n, PetscInt num_points, PetscInt bs, PetscInt p, Mat A)
{
  PetscReal sum = 0;
  PetscInt  x[3], y[3];

  PetscFunctionBegin;
  GetPoint(n, p, x);
  for (PetscInt dz = -1; dz <= 1; dz++)
    for (PetscInt dy = -1; dy <= 1; dy++)
      for (PetscInt dx = -1; dx <= 1; dx++) {
        const PetscInt q = p + dx + n * (dy + n * dz);
        PetscReal      value;

        y[0] = x[0] + dx;
        y[1] = x[1] + dy;
        y[2] = x[2] + dz;
        if (q == p || (system == ROTATED && dz != 0)) continue;
        value = GetCoupling(system, x, y);
        sum -= value;
        if (value == 0 || q < 0 || q >= num_points || y[0] < 0 || y[0] >= n || y[1] < 0 || y[1] >= n) continue;
        for (PetscInt c = 0; c < bs; c++) PetscCall(MatSetValue(A, bs * p + c, bs * q + c, value, INSERT_VALUES));
      }
  for (PetscInt c = 0; c < bs; c++)
    for (PetscInt e = 0; e < bs; e++) PetscCall(MatSetValue(A, bs * p + c, bs * p + e, c == e ? sum : -0.04, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(System system, PetscInt n, const char type[], Mat *A)
{
  const PetscInt bs = system == ELASTIC ? 3 : 1, num_points = system == ROTATED ? n * n : n * n * n;
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, bs * num_points, bs * num_points));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt p = begin / bs; p < end / bs; p++) PetscCall(SetPoint(system, n, num_points, bs, p, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, const char prefix[], KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, PetscMax(1e-8, 1e3 * PETSC_MACHINE_EPSILON), PETSC_CURRENT, PETSC_CURRENT, 400));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCGAMG));
  PetscCall(PCGAMGCUDASetLevelValues(*pc, "double"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations to a solution that noise is the right side of, and whether it is one. */
static PetscErrorCode Solve(KSP ksp, PetscInt *its)
{
  Mat                A;
  Vec                x, b;
  PetscRandom        random;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(b, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No convergence: %s", KSPConvergedReasons[reason]);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool told; /* -info has told of presets */

static PetscErrorCode Listen(FILE *file, const char format[], va_list arguments)
{
  char   text[1024], *found;
  size_t length;

  PetscFunctionBegin;
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, &length, arguments));
  PetscCall(PetscStrstr(text, "-its_pc_gamg_preset robust may need fewer", &found));
  if (found != NULL) told = PETSC_TRUE;
  if (file == PETSC_STDERR) (void)fputs(text, file); // an error
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve, and whether -info tells of presets: after more than 40 cycles without one. */
static PetscErrorCode SolveListening(KSP ksp, PetscBool preset, PetscInt *its)
{
  PetscErrorCode (*print)(FILE *, const char[], va_list) = PetscVFPrintf;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  told = PETSC_FALSE;
  PetscCall(PetscInfoAllow(PETSC_TRUE));
  PetscVFPrintf = Listen;
  ierr          = Solve(ksp, its);
  PetscVFPrintf = print;
  PetscCall(PetscInfoAllow(PETSC_FALSE));
  PetscCall(ierr);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &told, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD)); // the first process tells
  if (PetscDefined(USE_INFO))
    PetscCheck(told == (PetscBool)(!preset && *its > 40), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "After %" PetscInt_FMT " iterations -info %s of presets", *its, told ? "tells" : "does not tell");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations without and with the preset, in one KSP: the levels are not those of the first setup. */
static PetscErrorCode TestIterations(Mat A, PetscInt least, PetscInt most)
{
  PetscInt its[3];
  KSP      ksp;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, "its_", &ksp, &pc));
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-its_pc_gamg_preset", k == 1 ? "robust" : "none"));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(SolveListening(ksp, (PetscBool)(k == 1), &its[k]));
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-its_pc_gamg_preset"));
  PetscCheck(its[0] >= least && its[1] <= most, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " iterations, and %" PetscInt_FMT " with -pc_gamg_preset robust: at least %" PetscInt_FMT ", and at most %" PetscInt_FMT " were expected", its[0], its[1], least, most);
  PetscCheck(its[2] == its[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " iterations, and %" PetscInt_FMT " when a preset was there meanwhile", its[0], its[2]);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a PC is set up with, as numbers. */
enum {
  THRESHOLD, /* of the finest level */
  COARSER,   /* of the next one */
  FILTER,
  AGGRESSIVE,
  NSMOOTHS,
  STRENGTH,
  NUM_NUMBERS
};
static const char *const names[NUM_NUMBERS]    = {"threshold", "threshold of the next level", "prolongator filter", "aggressive levels", "smoothing steps", "strength"};
static const PetscReal   defaults[NUM_NUMBERS] = {-1, -1, 0, 1, 1, GAMG_STRENGTH_ABSOLUTE}, scalars[NUM_NUMBERS] = {0.05, 0.05, 0.1, 2, 1, GAMG_STRENGTH_SIGNED},
                       blocks[NUM_NUMBERS] = {0.02, 0.02, 0.1, 1, 2, GAMG_STRENGTH_ABSOLUTE};

static PetscErrorCode CheckNumbers(PC pc, const PetscReal expected[], const char what[])
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  {
    const PetscReal numbers[NUM_NUMBERS] = {GAMGGet(pc)->threshold[0],
                                            GAMGGet(pc)->threshold[1],
                                            GAMGGetFilter(GAMGGet(pc), 0),
                                            (PetscReal)GAMGGetAggOptions(pc)->aggressive_coarsening_levels,
                                            (PetscReal)GAMGGetAggOptions(pc)->nsmooths,
                                            (PetscReal)context->strength};

    for (int k = 0; k < NUM_NUMBERS; k++)
      PetscCheck((k == FILTER && !GAMGHasFilter()) || PetscAbsReal(numbers[k] - expected[k]) < 1e-6, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s %g, not %g", what, names[k], (double)numbers[k],
                 (double)expected[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Settings that the user gives: an option, its value, and what becomes of the number. */
static const struct {
  const char *option, *value;
  int         which;
  PetscReal   number;
} given[] = {
  {"-given_pc_gamg_threshold", "0.03", THRESHOLD, 0.03},
  {"-given_pc_gamg_prolongator_filter", "0.05", FILTER, 0.05},
  {"-given_pc_gamg_aggressive_coarsening", "0", AGGRESSIVE, 0},
  {"-given_pc_gamg_agg_nsmooths", "3", NSMOOTHS, 3},
  {"-given_pc_gamg_strength", "absolute", STRENGTH, GAMG_STRENGTH_ABSOLUTE},
  {"-given_pc_gamg_threshold_scale", "0.5", COARSER, 0},
};

/* The same by a call; nothing where there is none. */
static PetscErrorCode Call(PC pc, int k)
{
  PetscReal value = given[k].number;

  PetscFunctionBegin;
  if (given[k].which == THRESHOLD) PetscCall(PCGAMGSetThreshold(pc, &value, 1));
#if PETSC_VERSION_GE(3, 26, 0)
  if (given[k].which == FILTER) PetscCall(PCGAMGSetProlongatorFilter(pc, value));
#endif
  if (given[k].which == AGGRESSIVE) PetscCall(PCGAMGSetAggressiveLevels(pc, (PetscInt)value));
  if (given[k].which == NSMOOTHS) PetscCall(PCGAMGSetNSmooths(pc, (PetscInt)value));
  if (given[k].which == STRENGTH) PetscCall(PetscOptionsSetValue(NULL, given[k].option, given[k].value));
  if (given[k].which == COARSER) PetscCall(PCGAMGSetThresholdScale(pc, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One setting is given, before options are read, between two setups, or by an option; the others are the preset's, and PETSc's when it is taken back. */
static PetscErrorCode TestGiven(Mat A, const PetscReal preset[], int k, int way)
{
  PetscReal   expected[NUM_NUMBERS], without[NUM_NUMBERS];
  const char *what = given[k].option;
  KSP         ksp;
  PC          pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, "given_", &ksp, &pc));
  PetscCall(PetscOptionsSetValue(NULL, "-given_pc_gamg_preset", "robust"));
  PetscCall(PetscArraycpy(expected, preset, NUM_NUMBERS));
  PetscCall(PetscArraycpy(without, defaults, NUM_NUMBERS));
  if (given[k].which == COARSER) {
    expected[COARSER] = 0.5 * expected[THRESHOLD];
    without[COARSER]  = way == 2 ? -0.5 : -1; // PETSc derives it when options are read
  } else expected[given[k].which] = without[given[k].which] = given[k].number;
  if (given[k].which == THRESHOLD) expected[COARSER] = without[COARSER] = given[k].number;
  if (way == 0) PetscCall(Call(pc, k));
  if (way == 2) PetscCall(PetscOptionsSetValue(NULL, given[k].option, given[k].value));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  if (way == 1) {
    PetscCall(CheckNumbers(pc, preset, "before anything is given"));
    PetscCall(Call(pc, k));
    if (given[k].which == STRENGTH) PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
  }
  PetscCall(CheckNumbers(pc, expected, what));
  PetscCall(KSPSetFromOptions(ksp)); // options once more change nothing
  PetscCall(CheckNumbers(pc, expected, what));
  PetscCall(PetscOptionsSetValue(NULL, "-given_pc_gamg_preset", "none"));
  if (given[k].which == COARSER) without[COARSER] = -0.5;
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(CheckNumbers(pc, without, what));
  PetscCall(PetscOptionsClearValue(NULL, given[k].option));
  PetscCall(PetscOptionsClearValue(NULL, "-given_pc_gamg_preset"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the view of a KSP has a text; on the first process. */
static PetscErrorCode ViewHas(KSP ksp, const char text[], PetscBool *has)
{
  char        buffer[65536], *found;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(buffer, sizeof(buffer)));
  PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, &viewer));
  PetscCall(PetscViewerSetType(viewer, PETSCVIEWERASCII));
  {
    FILE *file = tmpfile();

    PetscCall(PetscViewerASCIISetFILE(viewer, file));
    PetscCall(KSPView(ksp, viewer));
    PetscCall(PetscViewerFlush(viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    rewind(file);
    (void)!fread(buffer, 1, sizeof(buffer) - 1, file);
    fclose(file);
  }
  PetscCall(PetscStrstr(buffer, text, &found));
  *has = (PetscBool)(found != NULL);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, has, 1, MPI_C_BOOL, MPI_LOR, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines of views; another type of PCGAMG has no presets, and PCGAMGSetType() forgets what PETSc forgets. */
static PetscErrorCode TestView(Mat A, const PetscReal preset[])
{
  PetscBool preset_shown, strength_shown, asked;
  KSP       ksp;
  PC        pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, "view_", &ksp, &pc));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-view_pc_gamg_preset", k ? "robust" : "none"));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(ViewHas(ksp, "Preset: robust", &preset_shown));
    PetscCall(ViewHas(ksp, "Couplings with the sign", &strength_shown));
    asked = (PetscBool)(k && preset[STRENGTH] != GAMG_STRENGTH_ABSOLUTE);
    PetscCheck(preset_shown == (k == 1) && strength_shown == asked, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The view has %s preset and %s strength", preset_shown ? "a" : "no", strength_shown ? "a" : "no");
    PetscCall(KSPReset(ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
  }
  PetscCall(PCGAMGSetNSmooths(pc, 0));
  PetscCall(PCGAMGSetType(pc, PCGAMGCLASSICAL));
  PetscCall(PCGAMGSetType(pc, PCGAMGAGG));
  PetscCall(CheckNumbers(pc, defaults, "after PCGAMGSetType()"));
  PetscCall(KSPSetUp(ksp));
  PetscCall(CheckNumbers(pc, preset, "after PCGAMGSetType() and a setup"));
  PetscCall(PetscOptionsClearValue(NULL, "-view_pc_gamg_preset"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLevels(KSP ksp, Mat A, PetscBool two, const char what[])
{
  PetscInt n;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &n));
  PetscCheck((n == 2) == two, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " levels %s", n, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A hierarchy of two levels leaves PETSc that number as the most; not so with a preset, unless the program says it. */
static PetscErrorCode TestLevels(Mat A)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, "levels_", &ksp, &pc));
  PetscCall(PCGAMGSetCoarseEqLim(pc, 100000));
  PetscCall(CheckLevels(ksp, A, PETSC_TRUE, "with a large limit of equations"));
  PetscCall(PCGAMGSetCoarseEqLim(pc, 1));
  PetscCall(CheckLevels(ksp, A, PETSC_TRUE, "after two"));
  PetscCall(PetscOptionsSetValue(NULL, "-levels_pc_gamg_preset", "robust"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(CheckLevels(ksp, A, PETSC_FALSE, "with a preset"));
  PetscCall(PCGAMGSetNlevels(pc, 2));
  PetscCall(CheckLevels(ksp, A, PETSC_TRUE, "after PCGAMGSetNlevels()"));
  PetscCall(PetscOptionsClearValue(NULL, "-levels_pc_gamg_preset"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      type[64] = MATAIJDCSRCUDA;
  PetscEnum system   = (PetscEnum)CHECKERBOARD;
  PetscInt  n = 8, most = -1, least = 0;
  Mat       A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-system", Systems, &system, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-least", &least, NULL));
  PetscCall(CreateMatrix((System)system, n, type, &A));
  if (most >= 0) PetscCall(TestIterations(A, least, most));
  else {
    const PetscReal *preset = (System)system == ELASTIC ? blocks : scalars;

    for (int k = 0; k < (int)PETSC_STATIC_ARRAY_LENGTH(given); k++)
      for (int way = 0; way < 3; way++) PetscCall(TestGiven(A, preset, k, way));
    PetscCall(TestView(A, preset));
    PetscCall(TestLevels(A));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      test:
         suffix: settings
         nsize: {{1 2}}
         args: -system {{checkerboard elastic}}
      test:
         suffix: checkerboard
         requires: !single
         nsize: {{1 2}}
         args: -system checkerboard -n 24 -least 40 -most 13
      test:
         suffix: anisotropic
         requires: !single
         nsize: {{1 2}}
         args: -system anisotropic -n 24 -least 18 -most 13
      test:
         suffix: bricks
         requires: !single
         nsize: {{1 2}}
         args: -system bricks -n 24 -least 20 -most 12
      test:
         suffix: rotated
         requires: !single
         nsize: {{1 2}}
         args: -system rotated -n 60 -least 28 -most 24
      test:
         suffix: aij
         requires: !single
         args: -type aij -system checkerboard -n 24 -least 40 -most 13

   testset:
      requires: cuda !single
      nsize: {{1 3}}
      args: -malloc_dump -use_gpu_aware_mpi 0 -its_pc_gamg_device_check
      output_file: output/empty.out
      test:
         suffix: device
         args: -system {{checkerboard anisotropic bricks}} -n 24 -least 18 -most 14
      test:
         suffix: device_hisparse
         args: -type aijhisparsecuda -system checkerboard -n 24 -least 40 -most 13
      test:
         suffix: device_rotated
         args: -system rotated -n 60 -least 28 -most 24
      test:
         suffix: device_setup
         args: -system bricks -n 16 -least 1 -most 13 -its_pc_gamg_device_setup 0

TEST*/
