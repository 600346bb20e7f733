static char help[] = "Every kind of DM that makes matrices: DMCreateMatrix(), entries, copies before the first assembly, a solve, and interpolation, with MATAIJ and with our type.\n\n";

/*
  DMPATCH and DMPRODUCT make no matrices. DMFOREST needs p4est, which makes a DMPLEX of it before it makes a matrix.
*/
#include "mat/impls/dcsr/testmat.h"
#include <petscdmcomposite.h>
#include <petscdmda.h>
#include <petscdmnetwork.h>
#include <petscdmplex.h>
#include <petscdmredundant.h>
#include <petscdmshell.h>
#include <petscdmsliced.h>
#include <petscdmstag.h>
#include <petscdmswarm.h>
#include <petscksp.h>

#define NONE     DM_BOUNDARY_NONE
#define PERIODIC DM_BOUNDARY_PERIODIC

static PetscErrorCode CreateGrid(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, NONE, PERIODIC, DMDA_STENCIL_STAR, 9, 8, PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStag1D(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMStagCreate1d(PETSC_COMM_WORLD, NONE, 16, 1, 2, DMSTAG_STENCIL_BOX, 1, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStag2D(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMStagCreate2d(PETSC_COMM_WORLD, NONE, NONE, 8, 8, PETSC_DECIDE, PETSC_DECIDE, 1, 1, 1, DMSTAG_STENCIL_BOX, 1, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStagStar(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMStagCreate2d(PETSC_COMM_WORLD, PERIODIC, NONE, 8, 8, PETSC_DECIDE, PETSC_DECIDE, 0, 1, 2, DMSTAG_STENCIL_STAR, 1, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStagNone(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMStagCreate2d(PETSC_COMM_WORLD, NONE, NONE, 6, 8, PETSC_DECIDE, PETSC_DECIDE, 2, 0, 1, DMSTAG_STENCIL_NONE, 0, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateStag3D(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMStagCreate3d(PETSC_COMM_WORLD, NONE, NONE, NONE, 4, 4, 4, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 0, 0, 1, 1, DMSTAG_STENCIL_BOX, 1, NULL, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(DM *dm)
{
  const PetscInt faces[2] = {5, 4};
  PetscFE        fe;
  DM             next;

  PetscFunctionBegin;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 2, PETSC_FALSE, faces, NULL, NULL, NULL, PETSC_TRUE, 0, PETSC_FALSE, dm));
  PetscCall(DMPlexDistribute(*dm, 0, NULL, &next));
  if (next != NULL) {
    PetscCall(DMDestroy(dm));
    *dm = next;
  }
  PetscCall(PetscFECreateLagrange(PETSC_COMM_WORLD, 2, 2, PETSC_FALSE, 2, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A star of edges with unknowns at both ends and on them. */
static PetscErrorCode CreateStar(PetscBool jacobian, DM *dm)
{
  const PetscInt num_edges = 7;
  PetscInt       edges[14], n, begin, end, key, number = 0;
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (PetscInt k = 0; k < num_edges; k++) {
    edges[2 * k]     = 0;
    edges[2 * k + 1] = k + 1;
  }
  n = rank == 0 ? num_edges : 0;
  PetscCall(DMNetworkCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMNetworkSetNumSubNetworks(*dm, PETSC_DECIDE, 1));
  PetscCall(DMNetworkAddSubnetwork(*dm, "star", n, edges, NULL));
  PetscCall(DMNetworkRegisterComponent(*dm, "number", sizeof(PetscInt), &key));
  PetscCall(DMNetworkLayoutSetUp(*dm));
  PetscCall(DMNetworkGetEdgeRange(*dm, &begin, &end));
  for (PetscInt e = begin; e < end; e++) PetscCall(DMNetworkAddComponent(*dm, e, key, &number, 2));
  PetscCall(DMNetworkGetVertexRange(*dm, &begin, &end));
  for (PetscInt v = begin; v < end; v++) PetscCall(DMNetworkAddComponent(*dm, v, key, &number, 1));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMNetworkDistribute(dm, 0));
  if (jacobian) PetscCall(DMNetworkHasJacobian(*dm, PETSC_TRUE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateNetwork(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(CreateStar(PETSC_FALSE, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateNetworkJacobian(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(CreateStar(PETSC_TRUE, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSwarm(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMSWARM));
  PetscCall(DMSetDimension(*dm, 2));
  PetscCall(DMSwarmSetType(*dm, DMSWARM_BASIC));
  PetscCall(DMSwarmRegisterPetscDatatypeField(*dm, "u", 1, PETSC_SCALAR));
  PetscCall(DMSwarmFinalizeFieldRegister(*dm));
  PetscCall(DMSwarmSetLocalSizes(*dm, 11, 2));
  PetscCall(DMSwarmVectorDefineField(*dm, "u"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateRedundant(DM *dm)
{
  PetscFunctionBegin;
  PetscCall(DMRedundantCreate(PETSC_COMM_WORLD, 0, 6, dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateComposite(DM *dm)
{
  DM parts[2];

  PetscFunctionBegin;
  PetscCall(CreateGrid(&parts[0]));
  PetscCall(CreateRedundant(&parts[1]));
  PetscCall(DMCompositeCreate(PETSC_COMM_WORLD, dm));
  for (int k = 0; k < 2; k++) {
    PetscCall(DMCompositeAddDM(*dm, parts[k]));
    PetscCall(DMDestroy(&parts[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A ring of blocks of two unknowns; the neighbors of other processes are ghosts. */
static PetscErrorCode CreateSliced(DM *dm)
{
  static PetscInt d_nnz[5], o_nnz[5]; /* not copied */
  const PetscInt  n = 5;
  PetscInt        ghosts[2];
  PetscMPIInt     rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  ghosts[0] = ((rank + size - 1) % size) * n + n - 1;
  ghosts[1] = ((rank + 1) % size) * n;
  for (PetscInt i = 0; i < n; i++) {
    o_nnz[i] = size > 1 && (i == 0 || i == n - 1);
    d_nnz[i] = 3 - o_nnz[i];
  }
  PetscCall(DMSlicedCreate(PETSC_COMM_WORLD, 2, n, size > 1 ? 2 : 0, ghosts, d_nnz, o_nnz, dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shell that knows vectors alone makes a matrix without preallocation, and copies of it before it is assembled: MATSEQAIJ of PETSc 3.26 refuses them. */
static PetscErrorCode CreateShell(DM *dm)
{
  Vec v;

  PetscFunctionBegin;
  PetscCall(DMShellCreate(PETSC_COMM_WORLD, dm));
  PetscCall(VecCreateFromOptions(PETSC_COMM_WORLD, "shell_", 1, PETSC_DECIDE, 17, &v));
  PetscCall(DMShellSetGlobalVector(*dm, v));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddToGrid(DM dm, Mat A)
{
  const PetscScalar v[4] = {0.5, 0.25, 0.125, 0.5};
  PetscInt          x, y, m, n;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(dm, &x, &y, NULL, &m, &n, NULL));
  for (PetscInt j = y; j < y + n; j++)
    for (PetscInt i = x; i < x + m; i++) {
      const MatStencil at = {0, j, i, 0};

      PetscCall(MatSetValuesBlockedStencil(A, 1, &at, 1, &at, v, ADD_VALUES));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddToStag(DM dm, Mat A)
{
  const PetscScalar v = 0.5;
  PetscInt          x, y, m, n;

  PetscFunctionBegin;
  PetscCall(DMStagGetCorners(dm, &x, &y, NULL, &m, &n, NULL, NULL, NULL, NULL));
  for (PetscInt j = y; j < y + n; j++)
    for (PetscInt i = x; i < x + m; i++) {
      const DMStagStencil at = {DMSTAG_ELEMENT, i, j, 0, 0};

      PetscCall(DMStagMatSetValuesStencil(dm, A, 1, &at, 1, &at, &v, ADD_VALUES));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddToMesh(DM dm, Mat A)
{
  PetscSection local, global;
  PetscInt     begin, end;

  PetscFunctionBegin;
  PetscCall(DMGetLocalSection(dm, &local));
  PetscCall(DMGetGlobalSection(dm, &global));
  PetscCall(DMPlexGetHeightStratum(dm, 0, &begin, &end));
  for (PetscInt cell = begin; cell < end; cell++) {
    PetscInt     n, *indices;
    PetscScalar *v;

    PetscCall(DMPlexGetClosureIndices(dm, local, global, cell, PETSC_TRUE, &n, &indices, NULL, NULL));
    PetscCall(PetscMalloc1(n * n, &v));
    for (PetscInt k = 0; k < n * n; k++) v[k] = k % (n + 1) == 0 ? 1.0 : -0.125 / n;
    PetscCall(DMPlexMatSetClosure(dm, local, global, A, cell, v, ADD_VALUES));
    PetscCall(DMPlexRestoreClosureIndices(dm, local, global, cell, PETSC_TRUE, &n, &indices, NULL, NULL));
    PetscCall(PetscFree(v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  PetscErrorCode (*create)(DM *);
  PetscErrorCode (*add)(DM, Mat); /* values by the DM's own numbers of unknowns; NULL: no such numbers */
  PetscBool sequential;           /* PETSc makes wrong matrices on several processes */
  PetscBool parallel;             /* MATSEQAIJ cannot do what this DM asks for */
  PetscBool options_alone;        /* the type is that of -mat_type, DMSetMatType() does not matter */
  PetscBool refines;              /* DMRefine() and DMCreateInterpolation() */
} Kind;

static const Kind kinds[] = {{"DMDA", CreateGrid, AddToGrid, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMSTAG in 1D", CreateStag1D, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMSTAG in 2D", CreateStag2D, AddToStag, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMSTAG, star", CreateStagStar, AddToStag, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
                             {"DMSTAG, no stencil", CreateStagNone, AddToStag, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
                             {"DMSTAG in 3D", CreateStag3D, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMPLEX", CreateMesh, AddToMesh, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMNETWORK", CreateNetwork, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
                             {"DMNETWORK with Jacobians", CreateNetworkJacobian, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
                             {"DMSWARM", CreateSwarm, NULL, PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
                             {"DMREDUNDANT", CreateRedundant, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMCOMPOSITE", CreateComposite, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
                             {"DMSLICED", CreateSliced, NULL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
                             {"DMSHELL", CreateShell, NULL, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}};

/* Where entries are: those of a matrix that DMCreateMatrix() has filled with zeros, otherwise blocks beside the diagonal. */
typedef struct {
  PetscInt  begin, end;
  PetscInt *offsets; /* [end - begin + 1] */
  PetscInt *columns;
} Pattern;

static PetscErrorCode PatternCreate(Mat A, Pattern *p)
{
  PetscInt  bs, n, largest = 0;
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatAssembled(A, &assembled));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &p->begin, &p->end));
  PetscCall(PetscMalloc1(p->end - p->begin + 1, &p->offsets));
  for (int pass = 0; pass < 2; pass++) {
    p->offsets[0] = 0;
    for (PetscInt row = p->begin, k = 0; row < p->end; row++) {
      const PetscInt *columns = NULL;
      PetscInt        num     = 0;

      if (assembled) {
        PetscCall(MatGetRow(A, row, &num, &columns, NULL));
        if (pass) PetscCall(PetscArraycpy(&p->columns[k], columns, num));
        k += num;
        PetscCall(MatRestoreRow(A, row, &num, &columns, NULL));
      } else
        for (PetscInt c = PetscMax(row / bs - 1, 0) * bs; c < PetscMin((row / bs + 2) * bs, n); c++, k++)
          if (pass) p->columns[k] = c;
      p->offsets[row - p->begin + 1] = k;
      largest                        = k;
    }
    if (!pass) PetscCall(PetscMalloc1(largest, &p->columns));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PatternDestroy(Pattern *p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(p->offsets));
  PetscCall(PetscFree(p->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows with a large entry on the diagonal. */
static PetscErrorCode EnterRows(const Pattern *p, Mat A)
{
  PetscFunctionBegin;
  for (PetscInt row = p->begin; row < p->end; row++) {
    const PetscInt first = p->offsets[row - p->begin], n = p->offsets[row - p->begin + 1] - first;
    PetscScalar   *v;

    PetscCall(PetscMalloc1(n, &v));
    for (PetscInt k = 0; k < n; k++) v[k] = p->columns[first + k] == row ? 2.0 + row % 3 : -1.0 / (n + p->columns[first + k] % 5);
    PetscCall(MatSetValues(A, 1, &row, n, &p->columns[first], v, INSERT_VALUES));
    PetscCall(PetscFree(v));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every process adds to the diagonal, with local numbers: to unknowns of others, too. */
static PetscErrorCode AddLocally(const Kind *kind, DM dm, Mat A)
{
  ISLocalToGlobalMapping map;
  const PetscInt        *global;
  PetscInt               n = 0;

  PetscFunctionBegin;
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  if (map != NULL) PetscCall(ISLocalToGlobalMappingGetSize(map, &n));
  if (map != NULL) PetscCall(ISLocalToGlobalMappingGetIndices(map, &global));
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar v = 1.0 + i % 2;

    if (global[i] >= 0) PetscCall(MatSetValuesLocal(A, 1, &i, 1, &i, &v, ADD_VALUES));
  }
  if (map != NULL) PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &global));
  if (kind->add != NULL) PetscCall((*kind->add)(dm, A));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, Vec *x)
{
  Vec                b;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(TestFill(b, 3));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, 100 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "KSPSolve: %s", KSPConvergedReasons[reason]);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSolutions(Mat A, Mat B, const char what[])
{
  const PetscScalar *a, *b;
  PetscInt           n;
  PetscReal          norm;
  Vec                x, y;

  PetscFunctionBegin;
  PetscCall(Solve(A, &x));
  PetscCall(Solve(B, &y));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(PetscAbsScalar(a[i] - b[i]) <= (PetscReal)1e5 * PETSC_MACHINE_EPSILON * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: unknown %" PetscInt_FMT " is %g and should be %g", what, i,
               (double)PetscRealPart(b[i]), (double)PetscRealPart(a[i]));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DM, and what it makes with a type, which is that of -mat_type as well. */
static PetscErrorCode Create(const Kind *kind, MatType type, PetscBool only, DM *dm, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", type));
  PetscCall((*kind->create)(dm));
  PetscCall(DMSetMatType(*dm, type));
  PetscCall(DMSetMatrixPreallocateOnly(*dm, only));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePattern(const Kind *kind, Pattern *pattern)
{
  DM  dm;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Create(kind, MATAIJ, PETSC_FALSE, &dm, &A));
  PetscCall(PatternCreate(A, pattern));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestInterpolation(const Kind *kind, DM dm[2])
{
  PetscInt sizes[2] = {0, 0};
  Mat      P[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    DM        fine;
    PetscBool mesh;

    PetscCall(DMRefine(dm[k], PETSC_COMM_WORLD, &fine));
    PetscCall(PetscObjectTypeCompare((PetscObject)fine, DMPLEX, &mesh));
    if (mesh) {
      PetscCall(DMCopyDisc(dm[k], fine));
      PetscCall(DMPlexSetRegularRefinement(fine, PETSC_TRUE));
      PetscCall(DMSetCoarseDM(fine, dm[k]));
    }
    PetscCall(DMCreateInterpolation(dm[k], fine, &P[k], NULL));
    if (kind->create == CreateGrid) { // point-block smoothers of Galerkin operators go by it
      Mat A, C;

      PetscCall(DMCreateMatrix(fine, &A));
      PetscCall(MatShift(A, 2.0));
      PetscCall(MatPtAP(A, P[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
      PetscCall(MatGetBlockSize(C, &sizes[k]));
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&A));
    }
    PetscCall(DMDestroy(&fine));
  }
  PetscCheck(sizes[0] == sizes[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: blocks of a Galerkin operator have %" PetscInt_FMT " rows, with MATAIJ %" PetscInt_FMT, kind->name, sizes[1], sizes[0]);
  PetscCall(TestCompareProducts(P[0], P[1], kind->name));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&P[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* only: DMCreateMatrix() preallocates and enters nothing, where it knows the difference. */
static PetscErrorCode TestKind(const Kind *kind, const char type[], PetscBool only)
{
  const MatType types[2] = {MATAIJ, type};
  PetscBool     assembled[2];
  Pattern       pattern;
  DM            dm[2];
  Mat           A[2], copies[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(kind, types[k], only, &dm[k], &A[k]));
    PetscCall(MatAssembled(A[k], &assembled[k]));
    PetscCall(MatDuplicate(A[k], MAT_DO_NOT_COPY_VALUES, &copies[k]));
  }
  PetscCheck(assembled[0] == assembled[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: assembled by one type alone", kind->name);
  PetscCall(TestHasType(A[1], type, kind->name));
  if (assembled[0]) PetscCall(TestCompare(A[0], A[1], kind->name));
  PetscCall(CreatePattern(kind, &pattern));
  for (int k = 0; k < 2; k++) {
    PetscCall(EnterRows(&pattern, A[k]));
    PetscCall(AddLocally(kind, dm[k], A[k]));
    PetscCall(EnterRows(&pattern, copies[k]));
  }
  PetscCall(PatternDestroy(&pattern));
  PetscCall(TestCompare(A[0], A[1], kind->name));
  PetscCall(CompareSolutions(A[0], A[1], kind->name));
  PetscCall(TestHasType(copies[1], type, kind->name));
  PetscCall(TestCompare(copies[0], copies[1], kind->name));
  if (kind->refines && !only) PetscCall(TestInterpolation(kind, dm));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&copies[k]));
    PetscCall(MatDestroy(&A[k]));
    PetscCall(DMDestroy(&dm[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscInt    only = -1;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_type"));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-kind", &only, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(kinds); k++) {
    if ((only >= 0 && only != k) || (size > 1 ? kinds[k].sequential : kinds[k].parallel)) continue;
    for (int preallocate = 0; preallocate < 2; preallocate++) PetscCall(TestKind(&kinds[k], type, (PetscBool)preallocate));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2}}
      output_file: output/empty.out
      args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      test:
         suffix: device
         requires: cuda
      test:
         suffix: host
         args: -device_enable none

TEST*/
