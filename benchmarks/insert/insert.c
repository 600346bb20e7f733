static char help[] = "Times insertion and assembly: lists of coordinates, kernels, MatSetValues(), and batches in device memory that join a matrix.\n\
  -output file   : result records as JSON Lines, appended\n\
  -commit id     : for the records\n\
  -only name     : only cases whose name contains it\n\
  -n n           : grid of the 27-point stencil of coo-device, coo-refill and coo-host\n\
  -hexahedra_n n : elements in each direction of coo-fem and fem-kernel\n\
  -grid_n n      : elements in each direction of setvalues-host and one-by-one\n";

/*
  Times are those of a program: from the first call until the device has done all of its work. Medians of several repetitions after one that warms up, but one
  repetition of what takes seconds.
*/

#include "insertbench.h"
#include "../common/benchmatrix.h"
#include "../../tutorials/fem/femkernels.h" // for insertfem.c: what the file with main() includes is linked
#include <petsctime.h>

#define TOLERANCE 1e-10 /* of the norm of a product, or of the sum of absolute values of a row */

/* InsertBenchWants - see insertbench.h */
PetscErrorCode InsertBenchWants(InsertBench *b, const char name[], PetscBool *wants)
{
  char *found;

  PetscFunctionBegin;
  PetscCall(PetscStrstr(name, b->only, &found));
  *wants = (PetscBool)(found != NULL);
  b->num_cases += *wants;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchRecord - see insertbench.h */
PetscErrorCode InsertBenchRecord(InsertBench *b, const InsertResult *r)
{
  PetscBool rate;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(r->unit, "entries/s", &rate));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-26s %-20s ours %10.4g %s", r->name, r->metric, (double)r->ours, r->unit));
  if (r->best >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  best %10.4g %s (%s)  ratio %6.2f", (double)r->best, r->unit, r->competitor, (double)(rate ? r->ours / r->best : r->best / r->ours)));
  else if (r->competitor) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s failed", r->competitor));
  if (r->floor >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  floor %10.4g %s  of floor %5.3f", (double)r->floor, r->unit, (double)(r->floor / r->ours)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(BenchRecorderAdd(&b->recorder, r->name, r->metric, r->unit, r->ours, r->best, r->competitor, r->floor));
  if (b->recorder.file) PetscCheck(fflush(b->recorder.file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the results"); // whatever happens to a later case
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchTime - see insertbench.h */
PetscErrorCode InsertBenchTime(PetscLogDouble *time)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscTime(time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchMedian - the median of n samples, which are sorted */
PetscErrorCode InsertBenchMedian(PetscInt n, PetscReal samples[], PetscReal *median)
{
  PetscFunctionBegin;
  PetscCall(PetscSortReal(n, samples));
  *median = samples[n / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchMatrixBytes - see insertbench.h */
PetscErrorCode InsertBenchMatrixBytes(Mat A, PetscReal *bytes)
{
  MatInfo  info;
  PetscInt num_rows;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatGetLocalSize(A, &num_rows, NULL));
  *bytes = (PetscReal)info.nz_used * (PetscReal)(sizeof(int32_t) + sizeof(PetscScalar)) + (PetscReal)sizeof(int32_t) * ((PetscReal)num_rows + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wrong(InsertBench *b, const char name[], const char what[], PetscReal ours, PetscReal theirs)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "WRONG: %s, %s: %.12g and %.12g\n", name, what, (double)ours, (double)theirs));
  b->failures++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareCounts(InsertBench *b, const char name[], Mat A, PetscReal count)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  if ((PetscReal)info.nz_used != count) PetscCall(Wrong(b, name, "numbers of nonzeros of ours and the competitor", (PetscReal)info.nz_used, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchCompare - see insertbench.h; A is ours */
PetscErrorCode InsertBenchCompare(InsertBench *b, const char name[], Mat A, Mat B)
{
  Vec       x, y, z;
  MatInfo   info;
  PetscReal error, norm;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(B, MAT_LOCAL, &info));
  PetscCall(CompareCounts(b, name, A, (PetscReal)info.nz_used));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(B, x, z));
  PetscCall(VecNorm(z, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1.0, z));
  PetscCall(VecNorm(y, NORM_2, &error));
  if (!(error <= TOLERANCE * norm)) PetscCall(Wrong(b, name, "norms of the difference of the products and of the product", error, norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchCompareRebuild - see insertbench.h */
PetscErrorCode InsertBenchCompareRebuild(InsertBench *b, const char name[], Mat A, const InsertRebuild *rebuild)
{
  const PetscScalar *x_array, *y_array;
  Vec                x, y;
  DCSRView           view;
  PetscScalar       *reference;
  PetscReal         *bound, error;
  PetscMemType       x_memory, y_memory;

  PetscFunctionBegin;
  PetscCall(CompareCounts(b, name, A, (PetscReal)rebuild->num_entries));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(InsertRebuildView(rebuild, &view));
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "reference", b->timer.stream, &reference));
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "rounding bound", b->timer.stream, &bound));
  PetscCall(VecGetArrayReadAndMemType(x, &x_array, &x_memory));
  PetscCall(VecGetArrayReadAndMemType(y, &y_array, &y_memory));
  PetscCheck(PetscMemTypeDevice(x_memory) && PetscMemTypeDevice(y_memory), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vectors of the matrix are not on the device");
  PetscCall(BenchReferenceMult(view, PETSC_FALSE, x_array, NULL, reference, bound, b->timer.stream));
  PetscCall(BenchCompare(view.num_rows, y_array, reference, bound, b->timer.stream, &error));
  PetscCall(VecRestoreArrayReadAndMemType(x, &x_array));
  PetscCall(VecRestoreArrayReadAndMemType(y, &y_array));
  if (!(error <= TOLERANCE)) PetscCall(Wrong(b, name, "largest difference of the products, relative, and what is allowed", error, TOLERANCE));
  PetscCall(PetscSparseCUDAFree(&reference, b->timer.stream));
  PetscCall(PetscSparseCUDAFree(&bound, b->timer.stream));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens the device and the file, and runs what -only lets run. */
static PetscErrorCode Run(InsertBench *b, const char output[], const char commit[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(BenchTimerCreate(stream, &b->timer));
  PetscCall(BenchRecorderCreate("insert", output, commit, &b->recorder));
  PetscCall(BenchTimerCopyBandwidth(&b->timer, &b->bandwidth));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, driver %s, CUDA %s, copy bandwidth %.3f TB/s\n", b->recorder.gpu, b->recorder.driver, b->recorder.cuda, (double)b->bandwidth * 1e-6));
  PetscCall(InsertBenchCOO(b));
  PetscCall(InsertBenchSetValues(b));
  PetscCall(InsertBenchBatches(b));
  PetscCall(InsertBenchSteady(b));
  PetscCall(InsertBenchSpMV(b));
  PetscCall(BenchRecorderDestroy(&b->recorder));
  PetscCall(BenchTimerDestroy(&b->timer));
  if (b->num_cases == 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "insert: no case has '%s' in its name\n", b->only));
  PetscCheck(b->failures == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " wrong results", b->failures);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char        output[PETSC_MAX_PATH_LEN] = "", commit[64] = "";
  InsertBench b;
  PetscMPIInt size;
  PetscBool   usable;

  PetscFunctionBeginUser;
  // One process sends nothing, and many MPI libraries are not GPU-aware.
  PetscCall(PetscOptionsSetValue(NULL, "-use_gpu_aware_mpi", "0"));
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "One process only: the benchmark measures one GPU");
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.stencil_n   = 200;
  b.hexahedra_n = 128;
  b.grid_n      = 1000;
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Insertion benchmark", NULL);
  PetscCall(PetscOptionsString("-output", "File of result records", NULL, output, output, sizeof(output), NULL));
  PetscCall(PetscOptionsString("-commit", "Commit for the records", NULL, commit, commit, sizeof(commit), NULL));
  PetscCall(PetscOptionsString("-only", "Only cases whose name contains this", NULL, b.only, b.only, sizeof(b.only), NULL));
  PetscCall(PetscOptionsBoundedInt("-n", "Grid of the 27-point stencil", NULL, b.stencil_n, &b.stencil_n, NULL, 2));
  PetscCall(PetscOptionsBoundedInt("-hexahedra_n", "Elements in each direction of the mesh of hexahedra", NULL, b.hexahedra_n, &b.hexahedra_n, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-grid_n", "Elements in each direction of the grid of squares", NULL, b.grid_n, &b.grid_n, NULL, 1));
  PetscOptionsEnd();
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(Run(&b, output, commit));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "insert: no usable GPU, nothing measured\n"));
  PetscCall(PetscFinalize());
  return 0;
}
