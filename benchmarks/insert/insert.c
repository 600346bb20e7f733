static char help[] = "Times insertion and assembly: lists of coordinates, kernels, MatSetValues(), and batches in device memory that join a matrix.\n\
  -output file   : result records as JSON Lines, appended\n\
  -commit id     : for the records\n\
  -only name     : only cases whose name contains it\n\
  -n n           : grid of the 27-point stencil of coo-device, coo-refill and coo-host; coo-rows-L has 8 n^3 entries\n\
  -hexahedra_n n : elements in each direction of coo-fem and fem-kernel\n\
  -grid_n n      : elements in each direction of setvalues-host and one-by-one\n";

/*
  Times are those of a program: from the first call until the device has done all of its work. Medians of several repetitions after one that warms up, but one
  repetition of what takes seconds.
*/

#include "insertbench.h"
#include "../common/benchmatrix.h"
#include "../../tutorials/fem/femkernels.h" // for insertfem.c: what the file with main() includes is linked

#define TOLERANCE 1e-10 /* of the norm of a product, or of the sum of absolute values of a row */

InsertSizes InsertBenchSizes = {200, 128, 1000};

/* InsertBenchRecord - see insertbench.h */
PetscErrorCode InsertBenchRecord(Bench *b, const InsertResult *r)
{
  PetscFunctionBegin;
  PetscCall(BenchRecord(b, r->name, r->metric, r->unit, r->ours, r->best, r->competitor, r->floor));
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

static PetscErrorCode CompareCounts(Bench *b, const char name[], Mat A, PetscReal count)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  if ((PetscReal)info.nz_used != count) PetscCall(BenchWrong(b, "%s, numbers of nonzeros of ours and the competitor: %.12g and %.12g", name, (double)info.nz_used, (double)count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchCompare - see insertbench.h; A is ours */
PetscErrorCode InsertBenchCompare(Bench *b, const char name[], Mat A, Mat B)
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
  if (!(error <= TOLERANCE * norm)) PetscCall(BenchWrong(b, "%s, norms of the difference of the products and of the product: %.12g and %.12g", name, (double)error, (double)norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchCompareRebuild - see insertbench.h */
PetscErrorCode InsertBenchCompareRebuild(Bench *b, const char name[], Mat A, InsertRebuild *rebuild)
{
  const PetscScalar *x_array, *y_array;
  Vec                x, y;
  DCSRView           view;
  PetscScalar       *reference;
  PetscReal         *bound, error;
  PetscMemType       x_memory, y_memory;

  PetscFunctionBegin;
  PetscCall(InsertRebuildFinish(rebuild));
  PetscCall(CompareCounts(b, name, A, (PetscReal)rebuild->num_entries));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(InsertRebuildView(rebuild, &view));
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "reference", b->stream, &reference));
  PetscCall(PetscSparseCUDAMalloc(view.num_rows, "rounding bound", b->stream, &bound));
  PetscCall(VecGetArrayReadAndMemType(x, &x_array, &x_memory));
  PetscCall(VecGetArrayReadAndMemType(y, &y_array, &y_memory));
  PetscCheck(PetscMemTypeDevice(x_memory) && PetscMemTypeDevice(y_memory), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vectors of the matrix are not on the device");
  PetscCall(BenchReferenceMult(view, PETSC_FALSE, x_array, NULL, reference, bound, b->stream));
  PetscCall(BenchCompare(view.num_rows, y_array, reference, bound, b->stream, &error));
  PetscCall(VecRestoreArrayReadAndMemType(x, &x_array));
  PetscCall(VecRestoreArrayReadAndMemType(y, &y_array));
  if (!(error <= TOLERANCE)) PetscCall(BenchWrong(b, "%s, largest difference of the products, relative, and what is allowed: %.12g and %.12g", name, (double)error, TOLERANCE));
  PetscCall(PetscSparseCUDAFree(&reference, b->stream));
  PetscCall(PetscSparseCUDAFree(&bound, b->stream));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(Bench *b)
{
  PetscFunctionBegin;
  PetscCall(BenchOpen(b, "insert"));
  PetscCall(InsertBenchCOO(b));
  PetscCall(InsertBenchSetValues(b));
  PetscCall(InsertBenchBatches(b));
  PetscCall(InsertBenchSteady(b));
  PetscCall(InsertBenchSpMV(b));
  if (b->num_cases == 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "insert: no case has '%s' in its name\n", b->only));
  PetscCall(BenchClose(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  InsertSizes *sizes = &InsertBenchSizes;
  Bench        b     = {.commit = ""};
  PetscBool    usable;

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b));
  PetscCall(PetscSparseCUDAInitialize());
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Insertion benchmark", NULL);
  PetscCall(BenchOptions(&b, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(&b, PetscOptionsObject));
  PetscCall(PetscOptionsBoundedInt("-n", "Grid of the 27-point stencil", NULL, sizes->stencil_n, &sizes->stencil_n, NULL, 2));
  PetscCall(PetscOptionsBoundedInt("-hexahedra_n", "Elements in each direction of the mesh of hexahedra", NULL, sizes->hexahedra_n, &sizes->hexahedra_n, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-grid_n", "Elements in each direction of the grid of squares", NULL, sizes->grid_n, &sizes->grid_n, NULL, 1));
  PetscOptionsEnd();
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(Run(&b));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "insert: no usable GPU, nothing measured\n"));
  PetscCall(PetscFinalize());
  return 0;
}
