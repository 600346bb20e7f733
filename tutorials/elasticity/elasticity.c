static char help
  [] = "Linear elasticity: a beam of steel, clamped at one end, sinks under its weight. Its middle third loses stiffness in steps: the matrix gets new values, and PCGAMG keeps its interpolation.\n\
  -n <4>        elements across the beam, which is a square\n\
  -length <10>  of the beam, in widths\n\
  -steps <3>    solves; in the first one the stiffness is the same everywhere\n\
  -factor <0.5> that the stiffness of the middle third is multiplied with from step to step\n\
  -vtk <file>   writes the displaced beam into a file for ParaView; its name ends with .vts\n\
  -verbose      prints times, iterations, and how far the end of the beam sinks\n\
Options of PETSc's KSP and PC apply, and -mat_type: aij is PETSc's own on the host, aijcusparse on the GPU.\n\n";

/*
  Hexahedra with eight nodes and three unknowns a node. So that products go by blocks the matrix has a block size, and blocks that are full: all nine entries are stored. So that PCGAMG takes few
  iterations for any size the matrix has the rigid body modes as its near null space. Values are computed on the host; tutorials/timestepping has kernels that do it on the GPU.
*/
#include <petscdmda.h>
#include <petscksp.h>
#include <petscsparsecuda.h>
#include <petsctime.h>

#define WIDTH   0.1   /* m */
#define YOUNG   210e9 /* Pa */
#define POISSON 0.3
#define WEIGHT  (7850 * 9.81) /* N / m^3 */

/* How far beam theory and solution are apart, as a part of theory: n elements across the beam are too stiff when it bends; theory neglects shear, and that the clamped end cannot contract. */
#define THEORY_TOLERANCE(n, length) (0.7 / ((PetscReal)(n) * (PetscReal)(n)) + 1.5 / ((PetscReal)(length) * (PetscReal)(length)))

#define CORNERS 8
#define ROWS    (3 * CORNERS)             /* of the matrix of an element */
#define ENTRIES ((PetscCount)ROWS * ROWS) /* of the same, by rows */

/* Corners in the order of DMDAGetElements(). */
static const int corners[CORNERS][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

typedef struct {
  DM           dm;    /* nodes; x is along the beam, z points upwards */
  PetscInt     n, nx; /* elements across the beam, and along it */
  PetscReal    h;     /* length of an element */
  PetscInt     num;   /* elements of this process: those from first on in x, of which there are row, for all y and z */
  PetscInt     first, row;
  PetscInt    *nodes;                /* [CORNERS * num] global numbers, owned */
  PetscReal    matrices[2][ENTRIES]; /* of an element of unit size and stiffness: a free one, and one at the clamped end */
  PetscScalar *values;               /* [ENTRIES * num] owned */
} Beam;

/* Place of an element along the beam. */
static PetscInt GetX(const Beam *beam, PetscInt e)
{
  return beam->first + e % beam->row;
}

/* Clamped corners have no displacement. */
static PetscBool IsClamped(const Beam *beam, PetscInt e, int corner)
{
  return (PetscBool)(GetX(beam, e) == 0 && corners[corner][0] == 0);
}

/* Derivatives of the eight shape functions of a unit cube at one of its Gauss points. */
static void Gradients(int point, PetscReal g[CORNERS][3])
{
  const PetscReal near = 0.5 + 0.5 / PetscSqrtReal(3);

  for (int a = 0; a < CORNERS; a++) {
    PetscReal shape[3];

    for (int d = 0; d < 3; d++) shape[d] = corners[a][d] == corners[point][d] ? near : 1 - near;
    for (int d = 0; d < 3; d++) g[a][d] = (corners[a][d] ? 1 : -1) * shape[(d + 1) % 3] * shape[(d + 2) % 3];
  }
}

/* Rows and columns of clamped corners are those of the identity. */
static void UnitMatrices(PetscReal matrices[2][ENTRIES])
{
  const PetscReal lambda = POISSON / ((1 + POISSON) * (1 - 2 * POISSON)), mu = 0.5 / (1 + POISSON);
  PetscReal       g[CORNERS][3];

  for (int k = 0; k < ENTRIES; k++) matrices[0][k] = 0;
  for (int point = 0; point < 8; point++) {
    Gradients(point, g);
    for (int k = 0; k < ENTRIES; k++) {
      const int a = k / ROWS / 3, i = k / ROWS % 3, b = k % ROWS / 3, j = k % 3;

      matrices[0][k] += (lambda * g[a][i] * g[b][j] + mu * g[a][j] * g[b][i]) / 8;
      for (int d = 0; d < 3 && i == j; d++) matrices[0][k] += mu * g[a][d] * g[b][d] / 8;
    }
  }
  for (int k = 0; k < ENTRIES; k++) matrices[1][k] = corners[k / ROWS / 3][0] && corners[k % ROWS / 3][0] ? matrices[0][k] : k / ROWS == k % ROWS;
}

/* The mesh, and the elements of this process. */
static PetscErrorCode BeamCreate(PetscInt n, PetscInt length, Beam *beam)
{
  const PetscInt        *local;
  PetscInt               num, num_corners;
  ISLocalToGlobalMapping map;

  PetscFunctionBeginUser;
  beam->n  = n;
  beam->nx = n * length;
  beam->h  = WIDTH / (PetscReal)n;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, beam->nx + 1, n + 1, n + 1, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 3, 1, NULL,
                         NULL, NULL, &beam->dm));
  PetscCall(DMSetUp(beam->dm));
  PetscCall(DMDASetUniformCoordinates(beam->dm, 0, WIDTH * (PetscReal)length, 0, WIDTH, 0, WIDTH));
  PetscCall(DMDASetElementType(beam->dm, DMDA_ELEMENT_Q1));
  PetscCall(DMDAGetElementsCorners(beam->dm, &beam->first, NULL, NULL));
  PetscCall(DMDAGetElementsSizes(beam->dm, &beam->row, NULL, NULL));
  PetscCall(DMDAGetElements(beam->dm, &num, &num_corners, &local));
  beam->num = num;
  PetscCall(PetscMalloc2(CORNERS * (size_t)num, &beam->nodes, ENTRIES * (size_t)num, &beam->values));
  PetscCall(DMGetLocalToGlobalMapping(beam->dm, &map));
  PetscCall(ISLocalToGlobalMappingApplyBlock(map, CORNERS * num, local, beam->nodes));
  PetscCall(DMDARestoreElements(beam->dm, &num, &num_corners, &local));
  UnitMatrices(beam->matrices);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries of all elements. What couples clamped nodes to others has a negative column, which COO lists ignore; their own blocks are there, and full. */
static PetscErrorCode SetStructure(const Beam *beam, Mat A)
{
  PetscInt *i, *j;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2((size_t)(ENTRIES * beam->num), &i, (size_t)(ENTRIES * beam->num), &j));
  for (PetscInt e = 0; e < beam->num; e++) {
    const PetscInt *nodes = &beam->nodes[CORNERS * (PetscCount)e];

    for (int k = 0; k < ENTRIES; k++) {
      const int       a = k / ROWS / 3, b = k % ROWS / 3;
      const PetscBool ignored = (PetscBool)(a != b && (IsClamped(beam, e, a) || IsClamped(beam, e, b)));

      i[ENTRIES * e + k] = 3 * nodes[a] + k / ROWS % 3;
      j[ENTRIES * e + k] = ignored ? -1 : 3 * nodes[b] + k % 3;
    }
  }
  PetscCall(MatSetPreallocationCOO(A, ENTRIES * beam->num, i, j));
  PetscCall(PetscFree2(i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Beam *beam, Mat *A)
{
  Vec          coordinates; /* three of a node, as there are displacements */
  PetscInt     local, global;
  MatNullSpace modes;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinates(beam->dm, &coordinates));
  PetscCall(VecGetLocalSize(coordinates, &local));
  PetscCall(VecGetSize(coordinates, &global));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, local, local, global, global));
  PetscCall(MatSetBlockSize(*A, 3));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(SetStructure(beam, *A));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
  PetscCall(MatSetNearNullSpace(*A, modes));
  PetscCall(MatNullSpaceDestroy(&modes));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SPD_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of each element is a multiple of one of two. */
static PetscErrorCode SetValues(Beam *beam, PetscReal factor, Mat A)
{
  PetscFunctionBeginUser;
  for (PetscInt e = 0; e < beam->num; e++) {
    const PetscInt   x         = GetX(beam, e);
    const PetscReal  stiffness = YOUNG * beam->h * (x >= beam->nx / 3 && x < 2 * beam->nx / 3 ? factor : 1);
    const PetscReal *unit      = beam->matrices[x == 0];

    for (int k = 0; k < ENTRIES; k++) beam->values[ENTRIES * e + k] = stiffness * unit[k];
  }
  PetscCall(MatSetValuesCOO(A, beam->values, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An eighth of the weight of an element at each of its corners. */
static PetscErrorCode SetWeight(const Beam *beam, Vec f)
{
  const PetscReal weight = WEIGHT * beam->h * beam->h * beam->h / 8;

  PetscFunctionBeginUser;
  for (PetscInt e = 0; e < beam->num; e++)
    for (int a = 0; a < CORNERS; a++)
      if (!IsClamped(beam, e, a)) PetscCall(VecSetValue(f, 3 * beam->nodes[CORNERS * (PetscCount)e + a] + 2, -weight, ADD_VALUES));
  PetscCall(VecAssemblyBegin(f));
  PetscCall(VecAssemblyEnd(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far the end sinks: the mean of its nodes. */
static PetscErrorCode GetSinking(const Beam *beam, Vec u, PetscReal *sinking)
{
  DMDALocalInfo         info;
  const PetscScalar ****array;

  PetscFunctionBeginUser;
  *sinking = 0;
  PetscCall(DMDAGetLocalInfo(beam->dm, &info));
  PetscCall(DMDAVecGetArrayDOFRead(beam->dm, u, (void *)&array));
  for (PetscInt z = info.zs; z < info.zs + info.zm && info.xs + info.xm == info.mx; z++)
    for (PetscInt y = info.ys; y < info.ys + info.ym; y++) *sinking -= PetscRealPart(array[z][y][info.mx - 1][2]) / (PetscReal)(info.my * info.mz);
  PetscCall(DMDAVecRestoreArrayDOFRead(beam->dm, u, (void *)&array));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sinking, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by Euler and Bernoulli: the integral along the beam of the bending moment times the distance from the end, over the stiffness. */
static PetscReal GetTheory(const Beam *beam, PetscReal factor)
{
  const PetscReal length = beam->h * (PetscReal)beam->nx, begin = beam->h * (PetscReal)(beam->nx / 3), end = beam->h * (PetscReal)(2 * beam->nx / 3);
  const PetscReal middle = PetscPowReal(length - begin, 4) - PetscPowReal(length - end, 4);

  return 12 * WEIGHT / (8 * YOUNG * WIDTH * WIDTH) * (PetscPowReal(length, 4) + (1 / factor - 1) * middle);
}

/* CG with PCGAMG, which keeps aggregates and interpolation when values are new. */
static PetscErrorCode CreateSolver(Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGSetReuseInterpolation(pc, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds, when all processes have come here, and the GPU has done what was queued before this product. */
static PetscErrorCode GetTime(Vec f, PetscLogDouble *now)
{
  PetscScalar product;

  PetscFunctionBeginUser;
  PetscCall(VecDot(f, f, &product));
  PetscCall(PetscTime(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values; the setup of PCGAMG, or from the second step on a refresh; a solve. */
static PetscErrorCode Step(Beam *beam, PetscInt step, PetscReal factor, KSP ksp, Vec f, Vec u, PetscBool verbose)
{
  const PetscReal theory = GetTheory(beam, factor), tolerance = THEORY_TOLERANCE(beam->n, beam->nx / beam->n);
  PetscLogDouble  t[4];
  PetscReal       sinking;
  PetscInt        its;
  Mat             A;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(GetTime(f, &t[0]));
  PetscCall(SetValues(beam, factor, A));
  PetscCall(GetTime(f, &t[1]));
  PetscCall(KSPSetUp(ksp));
  PetscCall(GetTime(f, &t[2]));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(GetTime(f, &t[3]));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(GetSinking(beam, u, &sinking));
  if (verbose)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "stiffness %g: values %.1f ms, %s %.1f ms, solve %.1f ms, %" PetscInt_FMT " iterations; the end sinks by %.2f um, by beam theory %.2f um\n", (double)factor,
                          1e3 * (t[1] - t[0]), step ? "refresh" : "setup", 1e3 * (t[2] - t[1]), 1e3 * (t[3] - t[2]), its, 1e6 * (double)sinking, 1e6 * (double)theory));
  PetscCheck(PetscAbsReal(sinking / theory - 1) <= tolerance, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The end sinks by %g m, by beam theory by %g m: more than %g %% apart", (double)sinking, (double)theory,
             100 * (double)tolerance);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nodes where they are now, with displacements so much larger that the largest is a fifth of the length. */
static PetscErrorCode WriteDisplaced(const Beam *beam, Vec u, const char file[])
{
  Vec         coordinates, displacement;
  PetscReal   largest;
  PetscViewer viewer;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinates(beam->dm, &coordinates));
  PetscCall(VecDuplicate(coordinates, &displacement)); // on the host
  PetscCall(VecCopy(u, displacement));
  PetscCall(VecNorm(displacement, NORM_INFINITY, &largest));
  PetscCall(VecAXPY(coordinates, beam->h * (PetscReal)beam->nx / 5 / largest, displacement));
  PetscCall(VecDestroy(&displacement));
  PetscCall(PetscObjectSetName((PetscObject)u, "displacement"));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(u, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char           file[PETSC_MAX_PATH_LEN];
  PetscInt       n = 4, length = 10, steps = 3, size;
  PetscReal      factor = 0.5, stiffness = 1;
  PetscBool      verbose = PETSC_FALSE, write;
  PetscLogDouble from, to;
  VecType        type;
  Beam           beam;
  Mat            A;
  Vec            f, u;
  KSP            ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-length", &length, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-factor", &factor, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vtk", file, sizeof(file), &write));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCheck(n >= 1 && length >= 3 && steps >= 1 && factor > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n and -steps must be at least 1, -length 3, -factor positive");
  PetscCheck(3 * ((double)n * length + 1) * (n + 1.) * (n + 1.) < PETSC_INT_MAX, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n and -length give more unknowns than PetscInt counts");

  PetscCall(PetscTime(&from));
  PetscCall(BeamCreate(n, length, &beam));
  PetscCall(CreateMatrix(&beam, &A));
  PetscCall(PetscTime(&to));
  PetscCall(MatGetSize(A, &size, NULL));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " unknowns: mesh and structure %.1f ms\n", size, 1e3 * (to - from)));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(DMSetVecType(beam.dm, type)); // on the GPU where the matrix is
  PetscCall(DMCreateGlobalVector(beam.dm, &u));
  PetscCall(VecDuplicate(u, &f));
  PetscCall(SetWeight(&beam, f));
  PetscCall(CreateSolver(A, &ksp));
  for (PetscInt step = 0; step < steps; step++, stiffness *= factor) PetscCall(Step(&beam, step, stiffness, ksp, f, u, verbose));
  if (write) PetscCall(WriteDisplaced(&beam, u, file));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree2(beam.nodes, beam.values));
  PetscCall(DMDestroy(&beam.dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      requires: double !complex

   testset:
      output_file: output/empty.out
      test:
         suffix: host
         nsize: {{1 3}}
         args: -mat_type {{aij dcsrcuda}} -length {{3 10}}
      test:
         suffix: device
         nsize: {{1 3}}
         requires: cuda
         args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      test:
         suffix: cusparse
         requires: cuda
         args: -mat_type aijcusparse
      test:
         suffix: pointblocks
         nsize: 2
         args: -mg_levels_pc_type pbjacobi

   test:
      suffix: vtk
      nsize: 2
      args: -n 2 -length 4 -vtk beam.vts
      filter: grep -a -o "WholeExtent=.[0-9 ]*\|Name=.displacement" beam.vts | sort -u

TEST*/
