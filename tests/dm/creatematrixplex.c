static char help[] = "DMCreateMatrix() of a DMPLEX: cells, degrees, fields, boundary conditions, overlap and clones, with MATAIJ and with our type; what is left to PETSc.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include <petscdmplex.h>
#include "../../src/petsc/mat.h"
#include <petscds.h>

typedef struct {
  PetscInt  dim;
  PetscBool simplex;
  PetscInt  size; /* faces of the box in each direction; uniform refinements of one simplex */
  PetscInt  overlap;
  PetscInt  num_fields; /* each of degree degrees[f], with components[f] components */
  PetscInt  degrees[2], components[2];
  PetscBool constrained; /* boundary conditions determine unknowns of the first field */
  PetscBool volumes;     /* neighbors in the way of finite volumes, which are left to PETSc */
  PetscBool periodic;
} Case;

static const Case cases[] = {{1, PETSC_FALSE, 17, 0, 1, {1, 0}, {1, 0}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, {2, PETSC_FALSE, 7, 0, 1, {1, 0}, {1, 0}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
                             {2, PETSC_FALSE, 6, 0, 1, {3, 0}, {1, 0}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},   {2, PETSC_FALSE, 6, 1, 1, {2, 0}, {2, 0}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},
                             {2, PETSC_TRUE, 3, 0, 2, {2, 1}, {2, 1}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}, /* Taylor and Hood */
                             {2, PETSC_TRUE, 3, 1, 1, {1, 0}, {3, 0}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},   {2, PETSC_FALSE, 8, 0, 1, {1, 0}, {1, 0}, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {2, PETSC_FALSE, 6, 0, 1, {0, 0}, {2, 0}, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},   {3, PETSC_FALSE, 4, 0, 1, {1, 0}, {1, 0}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},
                             {3, PETSC_FALSE, 3, 0, 1, {2, 0}, {3, 0}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},   {3, PETSC_FALSE, 3, 1, 2, {2, 0}, {3, 1}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
                             {3, PETSC_TRUE, 2, 0, 2, {2, 1}, {3, 1}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}};

static PetscErrorCode Zero(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[], void *ctx)
{
  for (PetscInt k = 0; k < n; k++) u[k] = 0.0;
  return PETSC_SUCCESS;
}

/* One simplex, refined. It is made by options, as most meshes are: PETSc replaces the mesh meanwhile. */
static PetscErrorCode CreateSimplices(const Case *c, DM *dm)
{
  static const char *const names[]  = {"-mesh_dm_plex_reference_cell_domain", "-mesh_dm_plex_cell", "-mesh_dm_refine_pre", "-mesh_dm_distribute"};
  const char *const        values[] = {"true", c->dim == 2 ? "triangle" : "tetrahedron", NULL, "false"};
  char                     refinements[8];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(refinements, sizeof(refinements), "%" PetscInt_FMT, c->size));
  for (int k = 0; k < 4; k++) PetscCall(PetscOptionsSetValue(NULL, names[k], values[k] != NULL ? values[k] : refinements));
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMPLEX));
  PetscCall(DMSetOptionsPrefix(*dm, "mesh_"));
  PetscCall(DMSetFromOptions(*dm));
  for (int k = 0; k < 4; k++) PetscCall(PetscOptionsClearValue(NULL, names[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(const Case *c, DM *dm)
{
  const PetscInt       faces[3] = {c->size, c->size, c->size};
  const DMBoundaryType around = c->periodic ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, boundaries[3] = {around, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  DM                   next;

  PetscFunctionBegin;
  if (!c->simplex) PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, c->dim, PETSC_FALSE, faces, NULL, NULL, boundaries, PETSC_TRUE, 0, PETSC_FALSE, dm));
  else PetscCall(CreateSimplices(c, dm));
  PetscCall(DMSetBasicAdjacency(*dm, c->volumes, (PetscBool)!c->volumes));
  PetscCall(DMPlexDistribute(*dm, c->overlap, NULL, &next));
  if (next != NULL) {
    PetscCall(DMDestroy(dm));
    *dm = next;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddFields(const Case *c, DM dm)
{
  const PetscInt one = 1;
  DMLabel        label;

  PetscFunctionBegin;
  for (PetscInt f = 0; f < c->num_fields; f++) {
    PetscFE fe;

    PetscCall(PetscFECreateLagrange(PETSC_COMM_WORLD, c->dim, c->components[f], c->simplex, c->degrees[f], PETSC_DETERMINE, &fe));
    PetscCall(DMSetField(dm, f, NULL, (PetscObject)fe));
    if (c->volumes) PetscCall(DMSetAdjacency(dm, f, PETSC_TRUE, PETSC_FALSE));
    PetscCall(PetscFEDestroy(&fe));
  }
  PetscCall(DMCreateDS(dm));
  if (!c->constrained) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMCreateLabel(dm, "wall"));
  PetscCall(DMGetLabel(dm, "wall", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "wall", label, 1, &one, 0, 0, NULL, (PetscVoidFn *)Zero, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NumPreallocations(int *num)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("DMPlexPrealloc", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *num = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMCreateMatrix() of both types. Where ours computes on the device PETSc does not look for neighbors, if the pattern is that of elements. */
static PetscErrorCode CreatePair(DM dm, const char type[], PetscBool elements, Mat *A, Mat *B)
{
  int       before, after;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(DMSetMatType(dm, MATAIJ));
  PetscCall(DMCreateMatrix(dm, A));
  PetscCall(DMSetMatType(dm, type));
  PetscCall(NumPreallocations(&before));
  PetscCall(DMCreateMatrix(dm, B));
  PetscCall(NumPreallocations(&after));
  PetscCall(TestUsesDevice(*B, &device));
  PetscCheck((before == after) == (device && elements), PETSC_COMM_SELF, PETSC_ERR_PLIB, "DMPlexPreallocateOperator() was called %d times", after - before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is said about two matrices beside their entries. */
static PetscErrorCode CompareFacts(Mat A, Mat B)
{
  const Mat       both[] = {A, B};
  MatInfo         info[2];
  PetscInt        bs[2], num_blocks[2];
  const PetscInt *sizes[2];
  DM              dm;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetInfo(both[k], MAT_LOCAL, &info[k]));
    PetscCall(MatGetBlockSize(both[k], &bs[k]));
    PetscCall(MatGetVariableBlockSizes(both[k], &num_blocks[k], &sizes[k]));
    PetscCall(MatGetDM(both[k], &dm));
    PetscCheck(dm != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No DM");
  }
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g entries, MATAIJ has %g", info[1].nz_used, info[0].nz_used);
  PetscCheck(bs[0] == bs[1] && num_blocks[0] == num_blocks[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Block sizes differ");
  PetscCheck(A->assembled == B->assembled, PETSC_COMM_SELF, PETSC_ERR_PLIB, "States differ");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of elements, whose entries depend on global numbers. */
static PetscErrorCode Enter(DM dm, Mat A)
{
  PetscSection local, global;
  PetscInt     begin, end;

  PetscFunctionBegin;
  PetscCall(DMGetLocalSection(dm, &local));
  PetscCall(DMGetGlobalSection(dm, &global));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &begin, &end));
  for (PetscInt cell = begin; cell < end; cell++) {
    PetscInt     n, *indices;
    PetscScalar *values;

    PetscCall(DMPlexGetClosureIndices(dm, local, global, cell, PETSC_TRUE, &n, &indices, NULL, NULL));
    PetscCall(PetscMalloc1(n * n, &values));
    for (PetscInt k = 0; k < n * n; k++) values[k] = (PetscScalar)(PetscReal)((indices[k / n] * 7 + indices[k % n] * 3 + 1) % 11);
    PetscCall(DMPlexMatSetClosure(dm, local, global, A, cell, values, ADD_VALUES));
    PetscCall(PetscFree(values));
    PetscCall(DMPlexRestoreClosureIndices(dm, local, global, cell, PETSC_TRUE, &n, &indices, NULL, NULL));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMatrices(const Case *c, DM dm, const char type[])
{
  const PetscBool elements = (PetscBool)(!c->volumes && !c->periodic);
  Mat             A, B;

  PetscFunctionBegin;
  PetscCall(CreatePair(dm, type, elements || c->periodic, &A, &B)); // periodic boxes identify points in the mesh itself
  PetscCall(TestHasType(B, type, "DMCreateMatrix()"));
  PetscCall(CompareFacts(A, B));
  PetscCall(TestCompare(A, B, "DMCreateMatrix()"));
  PetscCall(TestIsValid(B, "DMCreateMatrix()"));
  if (!c->volumes) {
    PetscCall(Enter(dm, A));
    PetscCall(Enter(dm, B));
    PetscCall(TestCompare(A, B, "element matrices"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c, const char type[])
{
  DM  dm, clone;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(DMClone(dm, &clone));
  PetscCall(AddFields(c, dm));
  PetscCall(AddFields(c, clone));
  PetscCall(TestMatrices(c, dm, type));
  PetscCall(TestMatrices(c, clone, type));
  PetscCall(DMSetMatrixPreallocateOnly(dm, PETSC_TRUE));
  PetscCall(CreatePair(dm, type, PETSC_FALSE, &A, &B));
  if (!c->volumes) {
    PetscCall(Enter(dm, A));
    PetscCall(Enter(dm, B));
    PetscCall(TestCompare(A, B, "values after preallocation alone"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&clone));
  PetscCall(DMDestroy(&dm));
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
      nsize: {{1 2 3 5}}
      timeoutfactor: 5
      output_file: output/empty.out
      test:
         suffix: device
         requires: cuda
      test:
         suffix: host
         args: -device_enable none

TEST*/
