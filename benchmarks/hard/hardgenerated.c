/*
  Draws systems, and makes their matrices of those of hardsystem.h; see hardgenerated.h.
*/
#include "hardgenerated.h"
#include "hardelasticity.h"
#include "hardelements.h"
#include "hardvolumes.h"
#include <petscsparsecuda.h>

#define FIRST_SEED 100 // hashes of the systems have smaller ones
#define SCALING    50  // seed of D

/* Numbers that follow each other. */
typedef struct {
  PetscInt64 key;
  PetscInt   seed;
} Dice;

static PetscReal Between(Dice *d, double low, double high)
{
  return (PetscReal)(low + (high - low) * HardHash(d->key++, d->seed));
}

/* Exponents are of ten. */
static PetscReal Power(Dice *d, double low, double high)
{
  return PetscPowReal(10, Between(d, low, high));
}

static PetscInt Pick(Dice *d, PetscInt low, PetscInt high)
{
  return low + (PetscInt)Between(d, 0, (double)(high - low) + 0.999);
}

/* Finite volumes or elements in a square or a cube. */
static void Box(Dice *d, HardFillFn *fill, HardGenerated *g)
{
  g->system.fill   = fill;
  g->system.dim    = Pick(d, 0, 2) > 0 ? 3 : 2;
  g->system.degree = fill == HardElementsFill ? 1 : 0;
  for (int k = 0; k < 3; k++) g->system.n[k] = k < g->system.dim ? (g->system.dim == 2 ? 2048 : 160) : 1;
}

static void Field(Dice *d, HardField field, double lowest, HardGenerated *g)
{
  g->system.field    = field;
  g->system.block    = Pick(d, 1, 8);
  g->system.fraction = Between(d, 0.1, 0.6);
  g->system.contrast = Power(d, lowest, 8);
}

static void Checkerboard(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  Field(d, HARD_CHECKERBOARD, 1, g);
}

static void Islands(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  Field(d, HARD_ISLANDS, -8, g);
}

static void Channels(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  Field(d, HARD_CHANNELS, -8, g);
}

static void Lognormal(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  g->system.field  = HARD_LOGNORMAL;
  g->system.sigma  = Between(d, 1, 4);
  g->system.length = Between(d, 1, 8);
}

static void Anisotropy(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  for (int k = 0; k < 3; k++) g->system.weight[k] = k == 2 ? 1 : Power(d, 0, 4);
}

static void Rotated(Dice *d, HardGenerated *g)
{
  Box(d, HardElementsFill, g);
  g->system.angle[0] = Between(d, 0, 90);
  g->system.angle[1] = g->system.dim == 3 ? Between(d, 0, 60) : 0;
  g->system.epsilon  = Power(d, -4, -0.3);
}

static void Stretched(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  g->system.stretch = Power(d, 1, 3.5);
}

static void Elements(Dice *d, HardGenerated *g)
{
  Box(d, HardElementsFill, g);
  g->system.degree = Pick(d, 1, g->system.dim == 2 ? HARD_MAX_DEGREE : 2);
  g->system.height = Power(d, -1.5, 0);
}

static void Convection(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  g->system.flow   = Pick(d, 0, 1) ? HARD_STRAIGHT : HARD_RECIRCULATING;
  g->system.peclet = Power(d, -1, 4);
  g->ksp_type      = Pick(d, 0, 1) ? KSPGMRES : KSPBCGS;
}

/* Stiff or soft inclusions, up to nearly incompressible. */
static void Elasticity(Dice *d, HardGenerated *g)
{
  g->system.fill = HardElasticityFill;
  g->system.dim  = 3;
  for (int k = 0; k < 3; k++) g->system.n[k] = 68;
  Field(d, HARD_ISLANDS, -6, g);
  g->system.contrast = PetscMin(g->system.contrast, (PetscReal)1e6);
  g->system.nu       = (PetscReal)0.5 - Power(d, -3, -0.5);
  g->unknowns        = (PetscInt)Power(d, 4, 4.6);
}

static void Plain(Dice *d, HardGenerated *g)
{
  Elasticity(d, g);
  g->system.contrast = Power(d, 0, 3);
  g->plain           = PETSC_TRUE;
}

static void Components(Dice *d, HardGenerated *g)
{
  Elasticity(d, g);
  g->system.contrast = Power(d, 0, 3);
  g->decades         = Between(d, 1, 12);
  g->components      = PETSC_TRUE;
}

/* The shift is near the smallest eigenvalue. */
static void Shifted(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  g->shift     = Power(d, -0.5, 1.5);
  g->unshifted = PETSC_TRUE;
  g->ksp_type  = KSPMINRES;
}

static void Indefinite(Dice *d, HardGenerated *g)
{
  Box(d, HardVolumesFill, g);
  g->shift    = Power(d, 0.1, 1.1);
  g->ksp_type = KSPGMRES;
}

static void Scaled(Dice *d, HardGenerated *g)
{
  static void (*const draw[])(Dice *, HardGenerated *) = {Islands, Anisotropy, Elements, Convection, Elasticity};

  (*draw[g->number % 5])(d, g);
  g->scale = Pick(d, 0, 1) ? Power(d, -30, -5) : Power(d, 5, 30);
}

static void Rescaled(Dice *d, HardGenerated *g)
{
  static void (*const draw[])(Dice *, HardGenerated *) = {Islands, Anisotropy, Convection};

  (*draw[g->number % 3])(d, g);
  g->decades   = Power(d, -1, 1.1);
  g->near_null = (PetscBool)Pick(d, 0, 1);
}

static void Singular(Dice *d, HardGenerated *g)
{
  if (Pick(d, 0, 1)) Checkerboard(d, g);
  else Anisotropy(d, g);
  g->singular = -1;
}

static void NearlySingular(Dice *d, HardGenerated *g)
{
  Singular(d, g);
  g->singular = Power(d, -11, -3);
}

static const struct {
  const char *name;
  PetscInt    count; // HARD_NUM_GENERATED of all
  void (*draw)(Dice *, HardGenerated *);
} kinds[] = {
  {"checkerboard", 16, Checkerboard},
  {"islands", 16, Islands},
  {"channels", 12, Channels},
  {"lognormal", 8, Lognormal},
  {"anisotropy", 12, Anisotropy},
  {"rotated", 14, Rotated},
  {"stretched", 8, Stretched},
  {"elements", 8, Elements},
  {"convection", 20, Convection},
  {"elasticity", 16, Elasticity},
  {"plain", 6, Plain},
  {"components", 8, Components},
  {"shifted", 8, Shifted},
  {"indefinite", 10, Indefinite},
  {"scaled", 12, Scaled},
  {"rescaled", 14, Rescaled},
  {"singular", 6, Singular},
  {"nearly-singular", 6, NearlySingular},
};

/* HardGeneratedGet - see hardgenerated.h. Every third has the other type of matrix, every other one the preset. */
PetscErrorCode HardGeneratedGet(PetscInt seed, PetscInt k, HardGenerated *g)
{
  Dice   dice = {1000 * (PetscInt64)k, FIRST_SEED + seed};
  size_t kind = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  g->mat_type = k % 3 == 2 ? MATHISPARSECUDA : MATDCSRCUDA;
  for (; kind < PETSC_STATIC_ARRAY_LENGTH(kinds) && k >= kinds[kind].count; kind++) k -= kinds[kind].count;
  PetscCheck(k >= 0 && kind < PETSC_STATIC_ARRAY_LENGTH(kinds), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "There are %d generated systems", HARD_NUM_GENERATED);
  g->kind     = kinds[kind].name;
  g->number   = k;
  g->ksp_type = KSPCG;
  g->unknowns = (PetscInt)Power(&dice, 4, 5.4);
  (*kinds[kind].draw)(&dice, g);
  g->robust   = (PetscBool)(k % 2 == 1 || g->system.flow != HARD_NO_FLOW);
  g->solution = (PetscBool)(k % 4 < 2 || g->singular != 0);
  PetscCall(PetscSNPrintf(g->name, sizeof(g->name), "%s-%" PetscInt_FMT, g->kind, k));
  g->system.name = g->name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D A D, or D A; one of its near null space is D^-1 times the vector of ones. */
static PetscErrorCode Rescale(const HardGenerated *g, Mat A)
{
  const PetscBool symmetric = HardSystemIsSymmetric(&g->system);
  MatNullSpace    near      = NULL;
  PetscScalar    *array;
  PetscInt        begin, end;
  Vec             d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(VecGetOwnershipRange(d, &begin, &end));
  PetscCall(VecGetArrayWrite(d, &array));
  for (PetscInt row = begin; row < end; row++) array[row - begin] = PetscPowReal(10, g->decades * (PetscReal)(HardHash(g->components ? row % 3 : row, SCALING) - 0.5));
  PetscCall(VecRestoreArrayWrite(d, &array));
  PetscCall(MatDiagonalScale(A, d, symmetric ? d : NULL));
  if (g->near_null && symmetric) {
    PetscCall(VecReciprocal(d));
    PetscCall(VecNormalize(d, NULL));
    PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, 1, &d, &near));
  }
  PetscCall(MatSetNearNullSpace(A, near));
  PetscCall(MatNullSpaceDestroy(&near));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeSingular(PetscReal more, Mat A)
{
  Vec          ones, sums;
  PetscReal    norm;
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &ones, &sums));
  PetscCall(VecSet(ones, -1));
  PetscCall(MatMult(A, ones, sums));
  PetscCall(MatDiagonalSet(A, sums, ADD_VALUES));
  PetscCall(MatGetDiagonal(A, sums));
  PetscCall(VecNorm(sums, NORM_INFINITY, &norm));
  if (more > 0) PetscCall(MatShift(A, more * norm));
  else {
    PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatSetNullSpace(A, null));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscCall(VecDestroy(&ones));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A symmetric matrix that need not be positive definite any more. n: cells in each direction */
static PetscErrorCode Shift(const HardGenerated *g, const PetscInt n[3], Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_SPD_ETERNAL, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatShift(A, -g->shift * (PetscReal)g->system.dim * PetscSqr(PETSC_PI / (PetscReal)n[0])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardGeneratedCreate - see hardgenerated.h */
PetscErrorCode HardGeneratedCreate(MPI_Comm comm, const HardGenerated *g, PetscInt unknowns, Mat *A, Mat *P, Vec *b)
{
  HardProblem problem;
  Vec         x;

  PetscFunctionBegin;
  PetscCall(HardProblemCreate(comm, &g->system, unknowns > 0 ? unknowns : g->unknowns, &problem));
  if (g->plain) {
    problem.num_points *= problem.block_size;
    problem.begin *= problem.block_size;
    problem.end *= problem.block_size;
    problem.block_size = 1;
  }
  PetscCall(HardProblemCreateMat(&problem, g->mat_type, A));
  if (g->singular != 0) PetscCall(MakeSingular(g->singular, *A));
  if (g->decades != 0) PetscCall(Rescale(g, *A));
  if (g->scale != 0) PetscCall(MatScale(*A, g->scale));
  if (g->unshifted) PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, P));
  else {
    PetscCall(PetscObjectReference((PetscObject)*A));
    *P = *A;
  }
  if (g->shift != 0) PetscCall(Shift(g, problem.n, *A));
  PetscCall(MatCreateVecs(*A, &x, b));
  PetscCall(HardProblemSetRandom(&problem, g->solution ? x : *b));
  if (g->solution) PetscCall(MatMult(*A, x, *b));
  PetscCall(VecDestroy(&x));
  PetscCall(HardProblemDestroy(&problem));
  PetscFunctionReturn(PETSC_SUCCESS);
}
