static char help[] = "DMCreateMatrix() of a DMDA: stencils, boundaries, widths, unknowns and fills, with MATAIJ and with our type; preallocation alone, options, -dm_bind_below, view and load.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/petsc/dm.h"
#include "../../src/petsc/mat.h"
#include <petscdmda.h>

#define NONE     DM_BOUNDARY_NONE
#define GHOSTED  DM_BOUNDARY_GHOSTED
#define MIRROR   DM_BOUNDARY_MIRROR
#define PERIODIC DM_BOUNDARY_PERIODIC
#define TWIST    DM_BOUNDARY_TWIST
#define STAR     DMDA_STENCIL_STAR
#define BOX      DMDA_STENCIL_BOX

typedef struct {
  PetscInt        dim, n[3];
  DMBoundaryType  boundaries[3];
  DMDAStencilType stencil;
  PetscInt        width, dof;
  int             fill; /* 0: none, 1: of the center and of the others, 2: of the others alone */
} Case;

/* Sizes fit 8 processes. */
static const Case cases[] = {{1, {25, 1, 1}, {NONE, NONE, NONE}, STAR, 1, 1, 0},
                             {1, {40, 1, 1}, {GHOSTED, NONE, NONE}, BOX, 2, 3, 0},
                             {1, {33, 1, 1}, {MIRROR, NONE, NONE}, STAR, 2, 2, 0},
                             {1, {24, 1, 1}, {PERIODIC, NONE, NONE}, STAR, 3, 1, 0},
                             {1, {24, 1, 1}, {TWIST, NONE, NONE}, STAR, 1, 1, 0},
                             {1, {16, 1, 1}, {PERIODIC, NONE, NONE}, STAR, 1, 3, 1},
                             {2, {17, 9, 1}, {NONE, NONE, NONE}, STAR, 1, 1, 0},
                             {2, {16, 11, 1}, {NONE, GHOSTED, NONE}, BOX, 1, 2, 0},
                             {2, {16, 16, 1}, {PERIODIC, PERIODIC, NONE}, STAR, 2, 1, 0},
                             {2, {16, 18, 1}, {PERIODIC, NONE, NONE}, BOX, 2, 1, 0},
                             {2, {24, 24, 1}, {MIRROR, MIRROR, NONE}, STAR, 2, 1, 0},
                             {2, {19, 8, 1}, {TWIST, PERIODIC, NONE}, BOX, 1, 1, 0},
                             {2, {12, 13, 1}, {NONE, PERIODIC, NONE}, BOX, 1, 4, 1},
                             {2, {13, 12, 1}, {NONE, NONE, NONE}, STAR, 1, 3, 2},
                             {2, {9, 9, 1}, {NONE, NONE, NONE}, STAR, 0, 2, 0},
                             {3, {9, 8, 7}, {NONE, NONE, NONE}, STAR, 1, 1, 0},
                             {3, {8, 9, 10}, {NONE, NONE, NONE}, BOX, 1, 1, 0},
                             {3, {8, 8, 9}, {PERIODIC, NONE, PERIODIC}, STAR, 2, 2, 0},
                             {3, {8, 8, 8}, {PERIODIC, PERIODIC, PERIODIC}, BOX, 1, 1, 0},
                             {3, {8, 10, 8}, {GHOSTED, PERIODIC, NONE}, BOX, 2, 1, 0},
                             {3, {8, 8, 1}, {NONE, PERIODIC, PERIODIC}, BOX, 1, 1, 0}, /* around one layer */
                             {3, {8, 9, 8}, {NONE, NONE, PERIODIC}, STAR, 1, 3, 1},
                             {3, {8, 8, 8}, {PERIODIC, NONE, NONE}, BOX, 1, 2, 2}};

static PetscErrorCode SetFills(DM dm, PetscInt dof, PetscBool center)
{
  PetscInt *inside, *others;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(dof * dof, &inside, dof * dof, &others));
  for (PetscInt i = 0; i < dof; i++)
    for (PetscInt j = 0; j < dof; j++) {
      inside[i * dof + j] = i <= j;
      others[i * dof + j] = (i + 2 * j) % 3 == 0;
    }
  PetscCall(DMDASetBlockFills(dm, center ? inside : NULL, others));
  PetscCall(PetscFree2(inside, others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDM(const Case *c, MatType type, DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetDimension(*dm, c->dim));
  PetscCall(DMDASetSizes(*dm, c->n[0], c->n[1], c->n[2]));
  PetscCall(DMDASetBoundaryType(*dm, c->boundaries[0], c->boundaries[1], c->boundaries[2]));
  PetscCall(DMDASetDof(*dm, c->dof));
  PetscCall(DMDASetStencilType(*dm, c->stencil));
  PetscCall(DMDASetStencilWidth(*dm, c->width));
  if (c->n[2] == 1 && c->dim == 3) PetscCall(DMDASetNumProcs(*dm, PETSC_DECIDE, PETSC_DECIDE, 1));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMSetMatType(*dm, type));
  if (c->fill) PetscCall(SetFills(*dm, c->dof, (PetscBool)(c->fill == 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often entries that waited have joined a matrix. */
static PetscErrorCode NumInsertions(int *num)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("MatDCSRInsert", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *num = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMCreateMatrix() of both types. Where ours computes on the device nothing is inserted. */
static PetscErrorCode CreatePair(const Case *c, const char type[], PetscBool only, PetscInt bind_below, Mat *A, Mat *B)
{
  const MatType types[] = {MATAIJ, type};
  Mat          *made[]  = {A, B};
  int           before, after;
  PetscBool     device;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    DM dm;

    PetscCall(CreateDM(c, types[k], &dm));
    PetscCall(DMSetMatrixPreallocateOnly(dm, only));
    dm->bind_below = bind_below;
    PetscCall(NumInsertions(&before));
    PetscCall(DMCreateMatrix(dm, made[k]));
    PetscCall(NumInsertions(&after));
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(TestUsesDevice(*B, &device));
  if (device && !bind_below) PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "DMCreateMatrix() inserted entries");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is said about two matrices beside their entries. */
static PetscErrorCode CompareFacts(Mat A, Mat B, const char what[])
{
  MatInfo                info[2];
  PetscInt               bs[2], n[2], row[2];
  ISLocalToGlobalMapping maps[2];
  const PetscInt        *indices[2];
  PetscBool              same;
  DM                     dm;
  const Mat              both[] = {A, B};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetInfo(both[k], MAT_LOCAL, &info[k]));
    PetscCall(MatGetBlockSize(both[k], &bs[k]));
    PetscCall(MatGetLocalToGlobalMapping(both[k], &maps[k], NULL));
    PetscCheck(maps[k] != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no local to global mapping", what);
    PetscCall(ISLocalToGlobalMappingGetSize(maps[k], &n[k]));
    PetscCall(ISLocalToGlobalMappingGetIndices(maps[k], &indices[k]));
    PetscCall(MatGetDM(both[k], &dm));
    PetscCheck(dm != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no DM", what);
    PetscCall(MatGetOwnershipRange(both[k], &row[k], NULL));
  }
  PetscCheck(info[0].nz_used == info[1].nz_used && info[0].nz_allocated == info[1].nz_allocated, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g of %g entries used, MATAIJ uses %g of %g", what,
             info[1].nz_used, info[1].nz_allocated, info[0].nz_used, info[0].nz_allocated);
  PetscCheck(bs[0] == bs[1] && n[0] == n[1] && row[0] == row[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: block size, mapping or rows differ", what);
  PetscCall(PetscArraycmp(indices[0], indices[1], n[0], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: local to global mapping differs", what);
  PetscCheck(A->assembled == B->assembled && A->sortedfull == B->sortedfull && A->stencil.dim == B->stencil.dim && A->stencil.noc == B->stencil.noc, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: state or stencil differ", what);
  for (int k = 0; k < 2; k++) PetscCall(ISLocalToGlobalMappingRestoreIndices(maps[k], &indices[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values for all entries of a pattern, row by row, and then the diagonal once more by the numbers of the grid. */
static PetscErrorCode Enter(const Case *c, Mat pattern, Mat A)
{
  PetscInt begin, end, xs[3], xm[3];
  DM       dm;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_SORTED_FULL, PETSC_FALSE)); // preallocation alone leaves it on, and the diagonal is no full row
  PetscCall(MatGetOwnershipRange(pattern, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt *columns;
    PetscInt        n;
    PetscScalar    *values;

    PetscCall(MatGetRow(pattern, row, &n, &columns, NULL));
    PetscCall(PetscMalloc1(n, &values));
    for (PetscInt k = 0; k < n; k++) values[k] = (PetscScalar)(PetscReal)((row * 7 + columns[k] * 3) % 11 - 4);
    PetscCall(MatSetValues(A, 1, &row, n, columns, values, ADD_VALUES));
    PetscCall(PetscFree(values));
    PetscCall(MatRestoreRow(pattern, row, &n, &columns, NULL));
  }
  PetscCall(MatGetDM(A, &dm));
  PetscCall(DMDAGetCorners(dm, &xs[0], &xs[1], &xs[2], &xm[0], &xm[1], &xm[2]));
  for (PetscInt z = xs[2]; z < xs[2] + xm[2]; z++)
    for (PetscInt y = xs[1]; y < xs[1] + xm[1]; y++)
      for (PetscInt x = xs[0]; x < xs[0] + xm[0]; x++)
        for (PetscInt l = 0; l < c->dof; l++) {
          const MatStencil  at    = {.i = x, .j = y, .k = z, .c = l};
          const PetscScalar value = (PetscReal)(x + 2 * y + 3 * z + l + 1);

          PetscCall(MatSetValuesStencil(A, 1, &at, 1, &at, &value, ADD_VALUES));
        }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In parallel PETSc views the matrix of a DMDA in the numbering of the grid, and reads it so. */
static PetscErrorCode ViewAndLoad(const Case *c, Mat A, Mat B, const char type[])
{
  const Mat   both[] = {A, B};
  Mat         loaded[2], fresh[2];
  char        name[PETSC_MAX_PATH_LEN];
  PetscViewer viewer;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(CreatePair(c, type, PETSC_FALSE, 0, &fresh[0], &fresh[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "creatematrix-%d.dat", k));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
    PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
    PetscCall(MatView(both[k], viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    for (int way = 0; way < 2; way++) {
      PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &viewer));
      PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
      if (way == 0) {
        PetscCall(MatCreate(PETSC_COMM_WORLD, &loaded[k]));
        PetscCall(MatSetType(loaded[k], MATAIJ));
        PetscCall(MatLoad(loaded[k], viewer));
      } else PetscCall(MatLoad(fresh[k], viewer));
      PetscCall(PetscViewerDestroy(&viewer));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    if (rank == 0) (void)remove(name);
  }
  PetscCall(TestCompare(loaded[0], loaded[1], "MatView() of a matrix of a DMDA"));
  PetscCall(TestCompare(fresh[0], fresh[1], "MatLoad() into a matrix of a DMDA"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&loaded[k]));
    PetscCall(MatDestroy(&fresh[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every process sets an entry that the stencil does not have. */
static PetscErrorCode ExpectRefused(Mat A)
{
  PetscInt       begin, end, N;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetValue(A, begin, (begin + N / 2) % N, 1.0, INSERT_VALUES);
  if (ierr == PETSC_SUCCESS) ierr = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  if (ierr == PETSC_SUCCESS) ierr = MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A nonzero that the stencil does not have was no error");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c, const char type[])
{
  Mat A, B, C, D;

  PetscFunctionBegin;
  PetscCall(CreatePair(c, type, PETSC_FALSE, 0, &A, &B));
  PetscCall(TestHasType(B, type, "DMCreateMatrix()"));
  PetscCall(CompareFacts(A, B, "DMCreateMatrix()"));
  PetscCall(TestCompare(A, B, "DMCreateMatrix()"));
  PetscCall(TestIsValid(B, "DMCreateMatrix()"));
  if (c->dim > 1) { // in one dimension PETSc preallocates otherwise, and that is not ours
    PetscCall(CreatePair(c, type, PETSC_TRUE, 0, &C, &D));
    PetscCall(CompareFacts(C, D, "preallocation alone"));
    PetscCall(Enter(c, A, C));
    PetscCall(Enter(c, A, D));
    PetscCall(TestCompare(C, D, "values after preallocation alone"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(CreatePair(c, type, PETSC_FALSE, 100000, &C, &D));
  PetscCall(TestCompare(C, D, "DMCreateMatrix() with -dm_bind_below"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C)); // the pattern that A has
  PetscCall(Enter(c, C, A));
  PetscCall(Enter(c, C, B));
  PetscCall(TestCompare(A, B, "values"));
  PetscCall(CompareFacts(A, B, "values"));
  PetscCall(MatDestroy(&C));
  PetscCall(ViewAndLoad(c, A, B, type));
  if (c->dim > 1 && c->stencil == STAR && c->n[0] > 16) {
    PetscCall(ExpectRefused(A));
    PetscCall(ExpectRefused(B));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char    *type;
  PetscInt only = -1;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-case", &only, NULL));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    if (only < 0 || only == k) PetscCall(TestCase(&cases[k], type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3 8}}
      timeoutfactor: 5
      output_file: output/empty.out
      test:
         suffix: device
         requires: cuda
      test:
         suffix: host
         args: -device_enable none

TEST*/
