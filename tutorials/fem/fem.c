static char help[] = "Assembles a finite-element matrix on an unstructured mesh in one of three ways, and solves with it.\n\
  -n <16>                               elements in each direction of a cube\n\
  -method <inserter,coo,setvalues>      from inside a CUDA kernel, by the COO interface with device arrays, by MatSetValues() on the host\n\
  -compare                              assembles in the other two ways, too, and compares\n\
  -repeat <1>                           assembles that often; the first time pays for things that are done once\n\
  -capacity <64 * elements>             of the inserter, on every process\n\
  -verbose                              prints times, iterations and the error\n\n";

#include "femkernels.h"
#include <petsctime.h>
#include <petscsparsecuda.h>

/* A matrix by any of them has the same action, up to rounding. */
#define TOLERANCE (PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-12)
/* The error of the solution at the nodes is at most this times the square of an element's length. */
#define ERROR_CONSTANT 2.5

/* Numbers from a fixed sequence, the same on all processes. */
static PetscInt RandomBelow(PetscInt bound, uint64_t *state)
{
  uint64_t z;

  *state += 0x9e3779b97f4a7c15ull;
  z = (*state ^ (*state >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (PetscInt)((z ^ (z >> 31)) % (uint64_t)bound);
}

/*
  Numbers of the nodes, in an arbitrary order as those of unstructured meshes are: the nodes of each process are shuffled among themselves.

  Every process computes all of it, for brevity; a mesh from a file would bring the numbers of its own nodes and their neighbours.
*/
static PetscErrorCode NumberNodes(PetscLayout layout, PetscInt number[])
{
  const PetscInt *ranges;
  PetscMPIInt     size;
  uint64_t        state = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscLayoutGetRanges(layout, &ranges));
  for (PetscMPIInt r = 0; r < size; r++) {
    for (PetscInt k = ranges[r]; k < ranges[r + 1]; k++) {
      const PetscInt other = ranges[r] + RandomBelow(k - ranges[r] + 1, &state);

      number[k]     = number[other];
      number[other] = k;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Consecutive elements and nodes are about the same part of the cube: most nodes of a process's elements are rows of its own. */
static PetscErrorCode MeshCreate(PetscInt n, const PetscInt number[], Mesh *mesh)
{
  PetscInt total = n * n * n;

  PetscFunctionBeginUser;
  mesh->n            = n;
  mesh->num_elements = PETSC_DECIDE;
  mesh->device_nodes = NULL;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &mesh->num_elements, &total));
  PetscCallMPI(MPI_Scan(&mesh->num_elements, &mesh->first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  mesh->first -= mesh->num_elements;
  PetscCall(PetscMalloc1(8 * (size_t)mesh->num_elements, &mesh->nodes));
  for (PetscInt k = 0; k < mesh->num_elements; k++) {
    const PetscInt e = mesh->first + k, x = e % n, y = e / n % n, z = e / n / n;

    for (int a = 0; a < 8; a++) mesh->nodes[8 * (PetscCount)k + a] = number[x + (a & 1) + (n + 1) * (y + (a >> 1 & 1) + (n + 1) * (z + (a >> 2)))];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshDestroy(Mesh *mesh)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(mesh->nodes));
  PetscCall(MeshFreeDevice(mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As every PETSc program does it; no preallocation. */
static PetscErrorCode AssembleSetValues(Mesh *mesh, Mat A, float *kernel_time)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < mesh->num_elements; k++) {
    const PetscInt *nodes = &mesh->nodes[8 * (PetscCount)k];
    PetscScalar     v[64];

    for (int a = 0; a < 8; a++) ElementMatrixRow(mesh->n, mesh->first + k, a, &v[8 * a]);
    PetscCall(MatSetValues(A, 8, nodes, 8, nodes, v, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  *kernel_time = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const methods[]  = {"inserter", "coo", "setvalues"};
static AssembleFn *const assemble[] = {AssembleInserter, AssembleCOO, AssembleSetValues};
#define NUM_METHODS 3

static PetscErrorCode CreateMatrix(Mesh *mesh, PetscLayout layout, int method, PetscBool verbose, Mat *A)
{
  PetscInt       local, global;
  PetscLogDouble begin, end;
  float          kernel_time;

  PetscFunctionBeginUser;
  PetscCall(PetscLayoutGetLocalSize(layout, &local));
  PetscCall(PetscLayoutGetSize(layout, &global));
  PetscCall(PetscBarrier(NULL));
  PetscCall(PetscTime(&begin));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, local, local, global, global));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(MatSetFromOptions(*A));
  PetscCall((*assemble[method])(mesh, *A, &kernel_time));
  PetscCall(PetscBarrier(NULL));
  PetscCall(PetscTime(&end));
  if (verbose) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: assembled in %.1f ms", methods[method], 1e3 * (double)(end - begin)));
    if (kernel_time > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", of which %.1f ms in the kernel", (double)kernel_time));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of A x - B x for some x, relative to that of A x. */
static PetscErrorCode CompareMatrices(Mat A, Mat B, const char what[])
{
  Vec       x, y, z;
  PetscReal norm, difference;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, x, z));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecAXPY(z, -1, y));
  PetscCall(VecNorm(z, NORM_2, &difference));
  PetscCheck(difference <= TOLERANCE * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The matrix by %s differs by %g", what, (double)(difference / norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Integrals of the source term, -div(k grad u) + u for the solution u, with all shape functions. */
static PetscErrorCode SetRightHandSide(const Mesh *mesh, Vec f)
{
  const PetscReal h = 1 / (PetscReal)mesh->n, weight = h * h * h / 8;

  PetscFunctionBeginUser;
  for (PetscInt e = 0; e < mesh->num_elements; e++) {
    PetscReal   c[3][2], s[3][2], gradient[3]; /* cosines and sines at both Gauss points of each direction */
    PetscScalar v[8] = {0};

    for (int d = 0; d < 3; d++) {
      for (int side = 0; side < 2; side++) {
        const PetscReal x = PETSC_PI * GaussPoint(mesh->n, mesh->first + e, d, side << d);

        c[d][side] = PetscCosReal(x);
        s[d][side] = PetscSinReal(x);
      }
    }
    for (int q = 0; q < 8; q++) {
      const PetscReal cx = c[0][q & 1], cy = c[1][q >> 1 & 1], cz = c[2][q >> 2], sx = s[0][q & 1], sy = s[1][q >> 1 & 1], sz = s[2][q >> 2];
      const PetscReal k      = 1 + GaussPoint(mesh->n, mesh->first + e, 0, q) + GaussPoint(mesh->n, mesh->first + e, 1, q) + GaussPoint(mesh->n, mesh->first + e, 2, q);
      const PetscReal source = (1 + 3 * PETSC_PI * PETSC_PI * k) * cx * cy * cz + PETSC_PI * (sx * cy * cz + cx * sy * cz + cx * cy * sz);

      for (int a = 0; a < 8; a++) v[a] += weight * source * ShapeFunction(mesh->n, a, q, gradient);
    }
    PetscCall(VecSetValues(f, 8, &mesh->nodes[8 * (PetscCount)e], v, ADD_VALUES));
  }
  PetscCall(VecAssemblyBegin(f));
  PetscCall(VecAssemblyEnd(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution at the nodes; those that this process owns are numbered among themselves. */
static PetscErrorCode SetSolution(PetscInt n, const PetscInt number[], Vec u)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(u, &begin, &end));
  for (PetscInt k = begin; k < end; k++) {
    const PetscReal h = PETSC_PI / (PetscReal)n;
    const PetscReal x = h * (PetscReal)(k % (n + 1)), y = h * (PetscReal)(k / (n + 1) % (n + 1)), z = h * (PetscReal)(k / (n + 1) / (n + 1));

    PetscCall(VecSetValue(u, number[k], PetscCosReal(x) * PetscCosReal(y) * PetscCosReal(z), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(u));
  PetscCall(VecAssemblyEnd(u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Mesh *mesh, const PetscInt number[], Mat A, PetscBool verbose)
{
  KSP                ksp;
  PC                 pc;
  Vec                f, u, exact;
  PetscInt           iterations;
  PetscReal          error;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &u, &f));
  PetscCall(VecDuplicate(u, &exact));
  PetscCall(SetRightHandSide(mesh, f));
  PetscCall(SetSolution(mesh->n, number, exact));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_CONV_FAILED, "CG stopped after %" PetscInt_FMT " iterations: %s", iterations, KSPConvergedReasons[reason]);
  PetscCall(VecAXPY(u, -1, exact));
  PetscCall(VecNorm(u, NORM_INFINITY, &error));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, error %.2e at the nodes\n", iterations, (double)error));
  PetscCheck(error * (PetscReal)mesh->n * (PetscReal)mesh->n <= ERROR_CONSTANT, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Error %g at the nodes", (double)error);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&exact));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    n = 16, method = 0, repeat = 1, *number;
  PetscBool   compare = PETSC_FALSE, verbose = PETSC_FALSE;
  PetscLayout layout;
  Mesh        mesh;
  Mat         A = NULL, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-method", methods, NUM_METHODS, &method, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-compare", &compare, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCheck(n >= 1 && n < 1290, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n %" PetscInt_FMT " must be 1 to 1289", n);
  PetscCheck(repeat >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat %" PetscInt_FMT " must be at least 1", repeat);

  PetscCall(PetscLayoutCreateFromSizes(PETSC_COMM_WORLD, PETSC_DECIDE, (n + 1) * (n + 1) * (n + 1), 1, &layout));
  PetscCall(PetscMalloc1((n + 1) * (n + 1) * (n + 1), &number));
  PetscCall(NumberNodes(layout, number));
  PetscCall(MeshCreate(n, number, &mesh));

  for (PetscInt k = 0; k < repeat; k++) {
    PetscCall(MatDestroy(&A));
    PetscCall(CreateMatrix(&mesh, layout, (int)method, verbose, &A));
  }
  for (int other = 0; compare && other < NUM_METHODS; other++) {
    if (other == method) continue;
    PetscCall(CreateMatrix(&mesh, layout, other, verbose, &B));
    PetscCall(CompareMatrices(A, B, methods[other]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(Solve(&mesh, number, A, verbose));

  PetscCall(MatDestroy(&A));
  PetscCall(MeshDestroy(&mesh));
  PetscCall(PetscFree(number));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: femkernels.cu

   testset:
      nsize: {{1 2 4}}
      output_file: output/empty.out
      test:
         suffix: setvalues
         args: -n {{1 9}} -method setvalues
      test:
         suffix: device
         requires: cuda
         args: -n {{1 9 20}} -method {{inserter coo}} -compare

   # a process without a device says what to do instead
   test:
      suffix: nodevice
      args: -device_enable none -method inserter -petsc_ci_portable_error_output -error_output_stdout
      filter: grep -o "Inserting from a CUDA kernel .* here"

   # nothing is lost silently: 64 * 27 entries and room for 100
   test:
      suffix: overflow
      requires: cuda
      args: -n 3 -method inserter -capacity 100 -petsc_ci_portable_error_output -error_output_stdout
      filter: grep -o "Kernels inserted .*"

TEST*/
