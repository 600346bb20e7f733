static char help[] = "Deletion by local numbers, grid points and index sets: MatZeroRowsLocal(), MatZeroRowsStencil(), MatZeroRowsIS(), MatZeroRowsColumnsLocal() and the like against MATAIJ.\n\n";

#include "testmat.h"
#include <petscdmda.h>

#define NX       9
#define NY       8
#define DOF      2
#define MAX_ROWS 12

typedef enum {
  BY_LOCAL,
  BY_LOCAL_IS,
  BY_STENCIL,
  BY_IS,
  NUM_NAMINGS
} Naming;

typedef struct {
  PetscBool   columns, keep, vectors, fragmented, bound;
  PetscScalar diag;
  Naming      naming;
} Case;

/* The 5-point star with coupled unknowns, values by position. */
static PetscErrorCode EnterPoint(Mat A, PetscInt i, PetscInt j)
{
  const PetscInt di[] = {0, -1, 1, 0, 0}, dj[] = {0, 0, 0, -1, 1};
  MatStencil     rows[DOF], columns[5 * DOF];
  PetscScalar    v[DOF * 5 * DOF];
  PetscInt       n = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(rows, DOF));
  PetscCall(PetscArrayzero(columns, 5 * DOF));
  for (int k = 0; k < 5; k++) {
    if (j + dj[k] < 0 || j + dj[k] >= NY) continue; /* the other direction is periodic */
    for (PetscInt c = 0; c < DOF; c++) {
      columns[n].i   = i + di[k];
      columns[n].j   = j + dj[k];
      columns[n++].c = c;
    }
  }
  for (PetscInt c = 0; c < DOF; c++) {
    rows[c].i = i;
    rows[c].j = j;
    rows[c].c = c;
    for (PetscInt k = 0; k < n; k++) v[c * n + k] = 1 + (PetscReal)((i * 31 + j * 17 + c * 5 + k * 3) % 29) / 7;
  }
  PetscCall(MatSetValuesStencil(A, DOF, rows, n, columns, v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(DM dm, MatType type, Mat *A)
{
  PetscInt xs, ys, xm, ym;

  PetscFunctionBegin;
  PetscCall(DMSetMatType(dm, type));
  PetscCall(DMCreateMatrix(dm, A));
  PetscCall(DMDAGetCorners(dm, &xs, &ys, NULL, &xm, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) PetscCall(EnterPoint(*A, i, j));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local numbers: unknowns of this rank and of its ghost points, one of them twice; the last rank lists nothing. */
static PetscErrorCode LocalRows(Mat A, PetscInt *n, PetscInt rows[])
{
  ISLocalToGlobalMapping map;
  PetscInt               num_local;
  PetscMPIInt            rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCall(ISLocalToGlobalMappingGetSize(map, &num_local));
  *n = 0;
  if (size > 1 && rank == size - 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (; *n < MAX_ROWS - 1; (*n)++) rows[*n] = (7 * *n + 2) % num_local;
  rows[(*n)++] = rows[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of this rank, and one that is nobody's. */
static PetscErrorCode StencilRows(DM dm, PetscInt *n, MatStencil rows[])
{
  PetscInt xs, ys, xm, ym;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(dm, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(PetscArrayzero(rows, MAX_ROWS));
  *n = 0;
  for (PetscInt j = ys; j < ys + ym && *n < MAX_ROWS - 1; j += 2) {
    rows[*n].i     = xs + j % xm;
    rows[*n].j     = j;
    rows[(*n)++].c = j % DOF;
  }
  rows[*n].i     = xs;
  rows[(*n)++].j = ys - 5;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeleteLocal(Mat A, const Case *c, Vec x, Vec b)
{
  PetscInt n, rows[MAX_ROWS];
  IS       is;

  PetscFunctionBegin;
  PetscCall(LocalRows(A, &n, rows));
  if (c->naming == BY_LOCAL && c->columns) PetscCall(MatZeroRowsColumnsLocal(A, n, rows, c->diag, x, b));
  else if (c->naming == BY_LOCAL) PetscCall(MatZeroRowsLocal(A, n, rows, c->diag, x, b));
  else {
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, rows, PETSC_COPY_VALUES, &is));
    if (c->columns) PetscCall(MatZeroRowsColumnsLocalIS(A, is, c->diag, x, b));
    else PetscCall(MatZeroRowsLocalIS(A, is, c->diag, x, b));
    PetscCall(ISDestroy(&is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same rows by their global numbers; no index set at all where there are none and PETSc allows it. */
static PetscErrorCode DeleteIS(Mat A, const Case *c, Vec x, Vec b)
{
  ISLocalToGlobalMapping map;
  PetscInt               n, rows[MAX_ROWS];
  IS                     is;

  PetscFunctionBegin;
  PetscCall(LocalRows(A, &n, rows));
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCall(ISLocalToGlobalMappingApply(map, n, rows, rows));
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, n, rows, PETSC_COPY_VALUES, &is));
  if (c->columns) PetscCall(MatZeroRowsColumnsIS(A, is, c->diag, x, b));
  else PetscCall(MatZeroRowsIS(A, n > 0 ? is : NULL, c->diag, x, b));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Delete(DM dm, Mat A, const Case *c, Vec x, Vec b)
{
  PetscInt   n = 0;
  MatStencil rows[MAX_ROWS];

  PetscFunctionBegin;
  if (c->naming == BY_IS) PetscCall(DeleteIS(A, c, x, b));
  else if (c->naming == BY_STENCIL) {
    PetscCall(StencilRows(dm, &n, rows));
    if (c->columns) PetscCall(MatZeroRowsColumnsStencil(A, n, rows, c->diag, x, b));
    else PetscCall(MatZeroRowsStencil(A, n, rows, c->diag, x, b));
  } else PetscCall(DeleteLocal(A, c, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(DM dm, const char type[], const Case *c)
{
  static const char *const namings[] = {"Local", "LocalIS", "Stencil", "IS"};
  char                     what[256];
  Vec                      x[2], b[2];
  Mat                      M[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "MatZeroRows%s%s, %s, diagonal %g%s%s%s", c->columns ? "Columns" : "", namings[c->naming], c->keep ? "pattern kept" : "pattern not kept",
                          (double)PetscRealPart(c->diag), c->vectors ? ", vectors" : "", c->fragmented ? ", fragmented" : "", c->bound ? ", bound to the CPU" : ""));
  for (int k = 0; k < 2; k++) {
    x[k] = b[k] = NULL;
    PetscCall(CreateMatrix(dm, k ? type : MATAIJ, &M[k]));
    PetscCall(MatSetOption(M[k], MAT_KEEP_NONZERO_PATTERN, c->keep));
    if (c->vectors) {
      PetscCall(MatCreateVecs(M[k], &x[k], &b[k]));
      PetscCall(TestFill(x[k], 7));
      PetscCall(TestFill(b[k], 8));
    }
  }
  PetscCall(TestCompareProducts(M[0], M[1], what)); // a device copy and plans to be renewed
  if (c->fragmented) PetscCall(TestFragment(M[1], 2));
  if (c->bound) PetscCall(MatBindToCPU(M[1], PETSC_TRUE));
  for (int k = 0; k < 2; k++) PetscCall(Delete(dm, M[k], c, x[k], b[k]));
  if (c->bound) PetscCall(MatBindToCPU(M[1], PETSC_FALSE));
  if (c->vectors) PetscCall(TestCompareVec(b[0], b[1], what));
  PetscCall(TestIsValid(M[1], what));
  PetscCall(TestCompare(M[0], M[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(MatDestroy(&M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  DM          dm;
  Case        c;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, NX, NY, PETSC_DECIDE, PETSC_DECIDE, DOF, 1, NULL, NULL, &dm));
  PetscCall(DMSetUp(dm));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (c.naming = BY_LOCAL; c.naming < NUM_NAMINGS; c.naming++)
    for (int flags = 0; flags < 16; flags++)
      for (int state = 0; state < 3; state++) {
        if (size > 3 && state != (flags + (int)c.naming) % 3) continue; /* a sample, for the sake of time */
        c.columns    = (PetscBool)(flags & 1);
        c.keep       = (PetscBool)((flags & 2) != 0);
        c.vectors    = (PetscBool)((flags & 4) != 0);
        c.diag       = flags & 8 ? 2.5 : 0.0;
        c.fragmented = (PetscBool)(state == 1);
        c.bound      = (PetscBool)(state == 2);
        PetscCall(RunCase(dm, type, &c));
      }
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 3 8}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         nsize: {{1 3}}
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: hidden
         nsize: {{1 3}}
         args: -mat_dcsr_test_hide_host

TEST*/
