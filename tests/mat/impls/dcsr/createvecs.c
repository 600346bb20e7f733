static char help[] = "MatCreateVecs(): vectors of parallel matrices are zero, have the matrix's layout and block size, and none has an array on the host before somebody asks.\n\n";

#include <petscmat.h>
#include <petscsparsecuda.h>

/* Zeros everywhere, and nothing on the host when there is a device. On one process PETSc makes the vectors; the host array that it gives a VECSEQCUDA which is bound to the CPU may have any values. */
static PetscErrorCode CheckNew(Mat A, Vec v, PetscBool device, const char what[])
{
  PetscOffloadMask mask;
  PetscReal        norm;
  PetscInt         n;
  PetscMPIInt      size;
  PetscBool        bound;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetOffloadMask(v, &mask));
  PetscCheck(!device || size == 1 || n == 0 || mask == PETSC_OFFLOAD_GPU, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the new vector is not on the device alone, but %d", what, (int)mask);
  PetscCall(VecBoundToCPU(v, &bound));
  if (size == 1 && bound) {
    PetscCall(VecSet(v, 0.0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecNorm(v, NORM_INFINITY, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the new vector has the norm %g", what, (double)norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckLayout(Vec v, PetscLayout map, const char what[])
{
  PetscLayout own;
  PetscBool   same;
  PetscInt    bs[2];

  PetscFunctionBegin;
  PetscCall(VecGetLayout(v, &own));
  PetscCall(PetscLayoutCompare(own, map, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the vector has another layout", what);
  PetscCall(VecGetBlockSize(v, &bs[0]));
  PetscCall(PetscLayoutGetBlockSize(map, &bs[1]));
  PetscCheck(bs[0] == bs[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: blocks of %" PetscInt_FMT ", not %" PetscInt_FMT, what, bs[0], bs[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each process adds a block of ones to each block of all processes, by blocks, and reads its own on the host. */
static PetscErrorCode CheckUse(Vec v, const char what[])
{
  const PetscScalar *a;
  PetscScalar        ones[8];
  PetscInt           N, n, bs;
  PetscMPIInt        size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)v), &size));
  PetscCall(VecGetSize(v, &N));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetBlockSize(v, &bs));
  for (PetscInt k = 0; k < bs; k++) ones[k] = 1.0;
  for (PetscInt b = 0; b < N / bs; b++) PetscCall(VecSetValuesBlocked(v, 1, &b, ones, ADD_VALUES));
  PetscCall(VecAssemblyBegin(v));
  PetscCall(VecAssemblyEnd(v));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt k = 0; k < n; k++) PetscCheck(a[k] == (PetscReal)size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: local entry %" PetscInt_FMT " is %g, not %d", what, k, (double)PetscRealPart(a[k]), size);
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckVec(Mat A, Vec v, PetscLayout map, PetscBool device, const char what[])
{
  Vec w;

  PetscFunctionBegin;
  PetscCall(CheckLayout(v, map, what));
  PetscCall(CheckNew(A, v, device, what));
  PetscCall(CheckUse(v, what));
  PetscCall(VecDuplicate(v, &w));
  PetscCall(CheckLayout(w, map, what));
  PetscCall(VecSet(w, 0.0));
  PetscCall(CheckUse(w, what));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both sides, and their type; NULL: whichever. */
static PetscErrorCode CheckMatrix(Mat A, VecType type, PetscBool device, const char what[])
{
  Vec         v[2];
  VecType     got;
  PetscLayout maps[2];
  PetscBool   is;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v[0], &v[1]));
  PetscCall(MatGetLayouts(A, &maps[1], &maps[0]));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecGetType(v[k], &got));
    PetscCall(PetscStrcmp(got, type ? type : got, &is));
    PetscCheck(is, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the vector is of type %s, not %s", what, got, type);
    PetscCall(CheckVec(A, v[k], maps[k], device, what));
    PetscCall(VecDestroy(&v[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in blocks of 3, columns in blocks of 2; the process in the middle has nothing. */
static PetscErrorCode CreateMatrix(MatType type, Mat *A)
{
  PetscMPIInt rank, size;
  PetscInt    begin, end, m, n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  m = rank == 1 ? 0 : 12;
  n = rank == 1 && size > 2 ? 0 : 8;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*A, 3, 2));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) PetscCall(MatSetValue(*A, r, r % 8, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *standard, *own;
  PetscBool   device;
  PetscMPIInt size;
  Mat         A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsHasName(NULL, NULL, "-device", &device));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  standard = size > 1 ? VECMPI : VECSEQ;
  own      = !device ? standard : size > 1 ? VECMPICUDA : VECSEQCUDA;
  PetscCall(CreateMatrix(MATDCSRCUDA, &A));
  PetscCall(CheckMatrix(A, own, device, "a matrix"));
  PetscCall(MatSetVecType(A, VECSTANDARD));
  PetscCall(CheckMatrix(A, standard, PETSC_FALSE, "with standard vectors"));
  if (device) PetscCall(MatSetVecType(A, VECCUDA));
  PetscCall(CheckMatrix(A, own, device, "with vectors on the device again"));
  PetscCall(MatSetBindingPropagates(A, PETSC_TRUE));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(CheckMatrix(A, NULL, PETSC_FALSE, "bound to the CPU"));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(CheckMatrix(A, own, device, "not bound any more"));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(CheckMatrix(A, standard, PETSC_FALSE, "MATAIJ"));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: host
         args: -device_enable none
      test:
         requires: cuda
         suffix: device
         args: -device
      test:
         requires: cuda
         suffix: device_hisparse
         args: -device -mat_type hisparsecuda

TEST*/
