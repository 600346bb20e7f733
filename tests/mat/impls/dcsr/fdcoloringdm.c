static char
  help[] = "Jacobians by colors of functions on a DMDA: colorings of the DMDA, of unknowns of a process and of all, and of the matrix; vectors on the device. And Newton's method with them.\n\n";

#include "testmat.h"
#include <petscdmda.h>
#include <petscsnes.h>

#define NUM_UNKNOWNS 2

typedef struct {
  PetscScalar u[NUM_UNKNOWNS];
} Point;

/* How colors are found. */
typedef enum {
  COLORS_GLOBAL, /* DMCreateColoring() */
  COLORS_LOCAL,
  COLORS_JP, /* MatColoringApply() */
  COLORS_GREEDY,
  COLORS_SL,
  NUM_COLORINGS
} Coloring;

static const char *const coloring_names[NUM_COLORINGS] = {"IS_COLORING_GLOBAL", "IS_COLORING_LOCAL", MATCOLORINGJP, MATCOLORINGGREEDY, MATCOLORINGSL};

static PetscErrorCode CreateGrid(MatType type, VecType vectors, DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 10, PETSC_DECIDE, PETSC_DECIDE, NUM_UNKNOWNS, 1, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMSetMatType(*dm, type));
  PetscCall(DMSetVecType(*dm, vectors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What edges between points add at both ends, and points themselves, for the edges and points of a process. */
static void AddPoints(const DMDALocalInfo *info, Point **u, Point **f)
{
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++)
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      for (int axis = 0; axis < 2; axis++) {
        const PetscInt i1 = i + !axis, j1 = j + axis;

        if (i1 == info->mx || j1 == info->my) continue;
        for (int k = 0; k < NUM_UNKNOWNS; k++) {
          f[j][i].u[k] += u[j][i].u[k] - u[j1][i1].u[k];
          f[j1][i1].u[k] += u[j1][i1].u[k] - u[j][i].u[k];
        }
      }
      f[j][i].u[0] += u[j][i].u[0] * (1.0 + 0.3 * u[j][i].u[1]) - 1.0;
      f[j][i].u[1] += u[j][i].u[1] + 0.2 * u[j][i].u[0] * u[j][i].u[0] - 0.5;
    }
}

/* The same for the points of a process alone, from all their edges. */
static void InsertPoints(const DMDALocalInfo *info, Point **u, Point **f)
{
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++)
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      for (int k = 0; k < NUM_UNKNOWNS; k++) {
        f[j][i].u[k] = 0.0;
        if (i > 0) f[j][i].u[k] += u[j][i].u[k] - u[j][i - 1].u[k];
        if (j > 0) f[j][i].u[k] += u[j][i].u[k] - u[j - 1][i].u[k];
        if (i < info->mx - 1) f[j][i].u[k] += u[j][i].u[k] - u[j][i + 1].u[k];
        if (j < info->my - 1) f[j][i].u[k] += u[j][i].u[k] - u[j + 1][i].u[k];
      }
      f[j][i].u[0] += u[j][i].u[0] * (1.0 + 0.3 * u[j][i].u[1]) - 1.0;
      f[j][i].u[1] += u[j][i].u[1] + 0.2 * u[j][i].u[0] * u[j][i].u[0] - 0.5;
    }
}

/* Contributions to points of other processes go there, from vectors of the DM's type. */
static PetscErrorCode AddLocal(DM dm, Vec local, Vec F)
{
  Point       **u, **f;
  Vec           sums;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  PetscCall(DMGetLocalVector(dm, &sums));
  PetscCall(VecZeroEntries(sums));
  PetscCall(DMDAVecGetArrayRead(dm, local, &u));
  PetscCall(DMDAVecGetArray(dm, sums, &f));
  AddPoints(&info, u, f);
  PetscCall(DMDAVecRestoreArray(dm, sums, &f));
  PetscCall(DMDAVecRestoreArrayRead(dm, local, &u));
  PetscCall(VecZeroEntries(F));
  PetscCall(DMLocalToGlobalBegin(dm, sums, ADD_VALUES, F));
  PetscCall(DMLocalToGlobalEnd(dm, sums, ADD_VALUES, F));
  PetscCall(DMRestoreLocalVector(dm, &sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertLocal(DM dm, Vec local, Vec F)
{
  Point       **u, **f;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(dm, &info));
  PetscCall(DMDAVecGetArrayRead(dm, local, &u));
  PetscCall(DMDAVecGetArray(dm, F, &f));
  InsertPoints(&info, u, f);
  PetscCall(DMDAVecRestoreArray(dm, F, &f));
  PetscCall(DMDAVecRestoreArrayRead(dm, local, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool add = PETSC_FALSE; /* -add */

/* What colors of unknowns of a process call: x has ghost points. */
static PetscErrorCode LocalFunction(PETSC_UNUSED void *unused, Vec local, Vec F, void *ctx)
{
  PetscFunctionBegin;
  if (add) PetscCall(AddLocal((DM)ctx, local, F));
  else PetscCall(InsertLocal((DM)ctx, local, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Function(void *unused, Vec x, Vec F, void *ctx)
{
  const DM dm = (DM)ctx;
  Vec      local;

  PetscFunctionBegin;
  PetscCall(DMGetLocalVector(dm, &local));
  PetscCall(DMGlobalToLocalBegin(dm, x, INSERT_VALUES, local));
  PetscCall(DMGlobalToLocalEnd(dm, x, INSERT_VALUES, local));
  PetscCall(LocalFunction(unused, local, F, ctx));
  PetscCall(DMRestoreLocalVector(dm, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SNESFunction(SNES snes, Vec x, Vec F, PETSC_UNUSED void *ctx)
{
  DM dm;

  PetscFunctionBegin;
  PetscCall(SNESGetDM(snes, &dm));
  PetscCall(Function(NULL, x, F, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateColors(DM dm, Mat A, Coloring which, ISColoring *colors)
{
  MatColoring coloring;

  PetscFunctionBegin;
  if (which == COLORS_GLOBAL || which == COLORS_LOCAL) {
    PetscCall(DMCreateColoring(dm, which == COLORS_LOCAL ? IS_COLORING_LOCAL : IS_COLORING_GLOBAL, colors));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatColoringCreate(A, &coloring));
  PetscCall(MatColoringSetType(coloring, coloring_names[which]));
  PetscCall(MatColoringSetDistance(coloring, 2));
  PetscCall(MatColoringApply(coloring, colors));
  PetscCall(MatColoringDestroy(&coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* before: MatFDColoringSetF() comes before MatFDColoringSetUp() */
static PetscErrorCode CreateFDColoring(DM dm, Mat A, Coloring which, MatMFFDType fdtype, Vec before, MatFDColoring *c)
{
  ISColoring colors;

  PetscFunctionBegin;
  PetscCall(CreateColors(dm, A, which, &colors));
  PetscCall(MatFDColoringCreate(A, colors, c));
  PetscCall(MatFDColoringSetType(*c, fdtype));
  PetscCall(MatFDColoringSetFunction(*c, (MatFDColoringFn *)(which == COLORS_LOCAL ? LocalFunction : Function), dm));
  if (which == COLORS_LOCAL) PetscCall(MatFDColoringUseDM(A, *c));
  if (before != NULL) PetscCall(MatFDColoringSetF(*c, before));
  PetscCall(MatFDColoringSetUp(A, colors, *c));
  PetscCall(ISColoringDestroy(&colors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry far from the stencil in the first row of each process, which no color of unknowns of this process and their neighbors writes. */
static PetscErrorCode AddFarEntries(Mat A)
{
  PetscInt    n, begin;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, begin, rank == 0 ? n - 1 : 0, 7.0, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Jacobian at three points, with function values that are given and with those that MatFDColoringApply() computes, as a MATAIJ. */
static PetscErrorCode Differentiate(MatType type, VecType vectors, Coloring which, MatMFFDType fdtype, PetscBool early, PetscBool far, Mat J[3])
{
  DM            dm;
  Mat           A;
  Vec           x, F;
  MatFDColoring c;

  PetscFunctionBegin;
  PetscCall(CreateGrid(type, vectors, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  if (far) PetscCall(AddFarEntries(A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &F));
  PetscCall(TestFill(x, 5));
  PetscCall(Function(NULL, x, F, dm));
  PetscCall(CreateFDColoring(dm, A, which, fdtype, early ? F : NULL, &c));
  for (int k = 0; k < 3; k++) {
    if (k > 0) PetscCall(VecScale(x, 0.75));
    if (k > 0) PetscCall(Function(NULL, x, F, dm));
    if (k != 1 && !(k == 0 && early)) PetscCall(MatFDColoringSetF(c, F));
    PetscCall(MatFDColoringApply(A, c, x, NULL));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &J[k]));
  }
  PetscCall(MatFDColoringDestroy(&c));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&F));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestJacobian(MatType type, VecType vectors, Coloring which, MatMFFDType fdtype, PetscBool early, PetscBool far)
{
  Mat J[2][3];

  PetscFunctionBegin;
  PetscCall(Differentiate(MATAIJ, VECSTANDARD, which, fdtype, early, far, J[0]));
  PetscCall(Differentiate(type, vectors, which, fdtype, early, far, J[1]));
  for (int k = 0; k < 3; k++) {
    PetscReal norm, error;

    PetscCall(MatNorm(J[0][k], NORM_FROBENIUS, &norm));
    PetscCall(MatAXPY(J[1][k], -1.0, J[0][k], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(J[1][k], NORM_FROBENIUS, &error));
    PetscCheck(error <= 100 * PETSC_SQRT_MACHINE_EPSILON * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "MatFDColoringApply(), %s, %s, vectors %s, Jacobian %d: the norm of the error is %g of that of the matrix", coloring_names[which], fdtype, vectors, k, (double)(error / norm));
    for (int t = 0; t < 2; t++) PetscCall(MatDestroy(&J[t][k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* use_mat: the colors are not those of the DMDA. */
static PetscErrorCode Newton(MatType type, VecType vectors, PetscBool use_mat, MatMFFDType fdtype, PetscInt *iterations, Vec *x)
{
  DM                  dm;
  Mat                 A;
  SNES                snes;
  SNESConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-snes_fd_color_use_mat", use_mat ? "true" : "false"));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_fd_type", fdtype));
  PetscCall(CreateGrid(type, vectors, &dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, x));
  PetscCall(VecSet(*x, 0.25));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetFunction(snes, NULL, SNESFunction, NULL));
  PetscCall(SNESSetJacobian(snes, A, A, SNESComputeJacobianDefaultColor, NULL));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(SNESSolve(snes, NULL, *x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "SNESSolve(), %s, vectors %s, %s: %s", type, vectors, fdtype, SNESConvergedReasons[reason]);
  PetscCall(SNESGetIterationNumber(snes, iterations));
  PetscCall(SNESDestroy(&snes));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNewton(MatType type, VecType vectors, PetscBool use_mat, MatMFFDType fdtype)
{
  PetscInt  n, iterations[2];
  PetscReal norm, largest = 0;
  Vec       x[2];

  PetscFunctionBegin;
  PetscCall(Newton(MATAIJ, VECSTANDARD, use_mat, fdtype, &iterations[0], &x[0]));
  PetscCall(Newton(type, vectors, use_mat, fdtype, &iterations[1], &x[1]));
  PetscCheck(PetscAbsInt(iterations[0] - iterations[1]) <= 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "SNESSolve(), %s, vectors %s, %s: %" PetscInt_FMT " iterations, MATAIJ has %" PetscInt_FMT, type,
             vectors, fdtype, iterations[1], iterations[0]);
  PetscCall(VecNorm(x[0], NORM_INFINITY, &norm));
  PetscCall(VecGetLocalSize(x[0], &n));
  {
    const PetscScalar *a, *b;

    PetscCall(VecGetArrayRead(x[0], &a));
    PetscCall(VecGetArrayRead(x[1], &b));
    for (PetscInt i = 0; i < n; i++) largest = PetscMax(largest, PetscAbsScalar(a[i] - b[i]));
    PetscCall(VecRestoreArrayRead(x[0], &a));
    PetscCall(VecRestoreArrayRead(x[1], &b));
  }
  PetscCheck(largest <= 100 * PETSC_SQRT_MACHINE_EPSILON * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SNESSolve(), %s, vectors %s, %s: solutions differ by %g", type, vectors, fdtype, (double)largest);
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const MatMFFDType fdtypes[] = {MATMFFD_WP, MATMFFD_DS};
  char                    *type, vectors[64] = VECSTANDARD;
  PetscMPIInt              size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_type"));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vectors", vectors, sizeof(vectors), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-add", &add, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int t = 0; t < 2; t++) {
    for (Coloring which = COLORS_GLOBAL; which < NUM_COLORINGS; which++)
      for (int early = 0; early < 2; early++)
        if (t == 0 || which != COLORS_LOCAL || size == 1)
          PetscCall(TestJacobian(type, vectors, which, fdtypes[t], (PetscBool)early, PETSC_FALSE)); /* PETSc has no ds for colors of unknowns of a process on several */
    for (int use_mat = 0; use_mat < 2; use_mat++) PetscCall(TestNewton(type, vectors, (PetscBool)use_mat, fdtypes[t]));
  }
  if (size > 1) PetscCall(TestJacobian(type, vectors, COLORS_LOCAL, MATMFFD_WP, PETSC_FALSE, PETSC_TRUE));
  PetscCall(PetscOptionsClearValue(NULL, "-snes_fd_color_use_mat"));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_fd_type"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      test:
         suffix: 1
      test:
         suffix: add
         args: -add
      test:
         suffix: device
         requires: cuda
         args: -vectors cuda
      test:
         suffix: device_add
         requires: cuda
         args: -vectors cuda -add

TEST*/
