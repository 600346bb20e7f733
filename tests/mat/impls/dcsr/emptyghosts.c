static char help[] = "MatCopy() and MatAXPY() with SAME_NONZERO_PATTERN where one of two matrices of one pattern has ghost columns without entries.\n\n";

#include "testmat.h"

/* The diagonal and an entry far from it in all rows but the first of this process, or in all: that one goes again, its column stays. */
static PetscErrorCode Create(MatType type, PetscInt n, PetscBool more, PetscReal value, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, value + i, INSERT_VALUES));
    if (i > begin || more) PetscCall(MatSetValue(*A, i, (i + n / 2) % n, i > begin ? -value - i : 0, INSERT_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  if (more) PetscCall(MatEliminateZeros(*A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A[2], B[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int more = 0; more < 2; more++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(Create(k ? type : MATAIJ, 40, k ? (PetscBool)more : PETSC_FALSE, 3, &A[k]));
      PetscCall(Create(k ? type : MATAIJ, 40, k ? (PetscBool)!more : PETSC_FALSE, 7, &B[k]));
      PetscCall(MatAXPY(B[k], 2, A[k], SAME_NONZERO_PATTERN));
    }
    PetscCall(TestCompare(B[0], B[1], "the sum"));
    for (int k = 0; k < 2; k++) PetscCall(MatCopy(A[k], B[k], SAME_NONZERO_PATTERN));
    PetscCall(TestCompare(B[0], B[1], "the copy"));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDestroy(&A[k]));
      PetscCall(MatDestroy(&B[k]));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # On the host MATAIJ refuses such matrices.
   test:
      requires: cuda
      nsize: {{1 2 3}}
      output_file: output/empty.out
      args: -use_gpu_aware_mpi 0 -mat_type {{dcsrcuda hisparsecuda}} -malloc_dump

TEST*/
