/*
  Finite-element assembly from inside a kernel: that of the tutorial, kernel and all.
*/
#include "insertbench.h"
#include "../../tutorials/fem/femkernels.h"

#define REPETITIONS 5

/* A new matrix; milliseconds from the inserter until the assembled matrix is done. */
static PetscErrorCode Assemble(Mesh *mesh, PetscReal *ms, Mat *A)
{
  const PetscInt num_nodes = (mesh->n + 1) * (mesh->n + 1) * (mesh->n + 1);
  PetscLogDouble begin, end;
  float          kernel_time;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, num_nodes, num_nodes, num_nodes, num_nodes));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(BenchNow(&begin));
  PetscCall(AssembleInserter(mesh, *A, &kernel_time));
  PetscCall(BenchNow(&end));
  *ms = (PetscReal)(1e3 * (end - begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The most memory during the first assembly, which warms up, and the median milliseconds of the others; the last matrix. */
static PetscErrorCode Measure(Bench *b, Mesh *mesh, PetscReal *peak, PetscReal *ms, Mat *A)
{
  PetscReal    samples[REPETITIONS], warm_up;
  InsertMemory memory;

  PetscFunctionBegin;
  PetscCall(InsertMemoryBegin(b, &memory));
  PetscCall(Assemble(mesh, &warm_up, A));
  PetscCall(InsertMemoryEnd(&memory, *A, peak));
  for (PetscInt k = 0; k < REPETITIONS; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(Assemble(mesh, samples + k, A));
  }
  PetscCall(BenchMedian(REPETITIONS, samples, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchFEMKernel - see insertbench.h. Floor: the nodes of the elements read once and the matrix written once. */
PetscErrorCode InsertBenchFEMKernel(Bench *b, PetscInt nodes[], const InsertList *list, const InsertCompetitor *competitor)
{
  static const char name[] = "fem-kernel";
  InsertResult      time = {name, "time", "ms", -1, competitor->ms, competitor->name, -1}, rate = {name, "rate", "entries/s", -1, -1, competitor->name, -1};
  Mesh              mesh = {InsertBenchSizes.hexahedra_n, 0, InsertBenchSizes.hexahedra_n * InsertBenchSizes.hexahedra_n * InsertBenchSizes.hexahedra_n, NULL, nodes};
  PetscReal         peak, bytes;
  Mat               A;

  PetscFunctionBegin;
  PetscCall(Measure(b, &mesh, &peak, &time.ours, &A));
  if (competitor->B != NULL) {
    PetscCall(MatSetValuesCOO(competitor->B, list->v, INSERT_VALUES)); // a refill has changed them
    PetscCall(InsertBenchCompare(b, name, A, competitor->B));
  }
  PetscCall(InsertBenchMatrixBytes(A, &bytes));
  time.floor = (PetscReal)1e-3 * BenchFloor(b, (PetscReal)(8 * sizeof(PetscInt)) * (PetscReal)mesh.num_elements, bytes);
  rate.ours  = (PetscReal)1e3 * (PetscReal)list->n / time.ours;
  if (time.best >= 0) rate.best = (PetscReal)1e3 * (PetscReal)list->n / time.best;
  PetscCall(MatDestroy(&A));
  PetscCall(InsertBenchRecord(b, &time));
  PetscCall(InsertBenchRecord(b, &rate));
  PetscCall(InsertMemoryRecord(b, name, peak));
  PetscFunctionReturn(PETSC_SUCCESS);
}
