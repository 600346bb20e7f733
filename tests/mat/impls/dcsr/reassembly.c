static char help[] = "Assembly again and again: same entries, new entries of this rank and of others, flush assemblies, MatResetPreallocation(), MatSetPreallocationCOO().\n\n";

#include "testmat.h"

#define Both(what, call) \
  do { \
    for (int k_ = 0; k_ < 2; k_++) { \
      const Mat M = k_ ? B : A; \
\
      PetscCall(call); \
    } \
    PetscCall(TestCompare(A, B, what)); \
  } while (0)

/* A band above the diagonal, entered by the rank before. */
static PetscErrorCode Band(Mat M, PetscInt offset, PetscBool flush)
{
  PetscInt    N;
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetSize(M, &N, NULL));
  for (PetscInt i = rank; i < N; i += size) {
    if (i + offset < N) PetscCall(MatSetValue(M, i, i + offset, (PetscReal)(i + 1), ADD_VALUES));
  }
  if (flush) {
    PetscCall(MatAssemblyBegin(M, MAT_FLUSH_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M, MAT_FLUSH_ASSEMBLY));
    for (PetscInt i = rank; i < N; i += size) PetscCall(MatSetValue(M, i, i, 1.5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reset(Mat M)
{
  PetscFunctionBegin;
  PetscCall(MatResetPreallocation(M));
  PetscCall(TestEnter(M, 3, 9));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode COO(Mat M, PetscInt pass)
{
  PetscInt    N, n = 0, i[64], j[64];
  PetscScalar v[64];
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetSize(M, &N, NULL));
  for (PetscInt r = rank; r < N && n < 63; r += size, n += 2) {
    i[n] = i[n + 1] = r;
    j[n]            = (r * 7 + pass) % N;
    j[n + 1]        = r % 5 ? (r * 3) % N : -1;
    v[n]            = (PetscReal)(r + 1);
    v[n + 1]        = (PetscReal)(2 * r - 5);
  }
  PetscCall(MatSetPreallocationCOO(M, n, i, j));
  for (int k = 0; k < 3; k++) PetscCall(MatSetValuesCOO(M, v, k == 1 ? INSERT_VALUES : ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestCreatePair(type, 40, 40, layout, 4, 1, &A, &B));
    for (PetscInt k = 1; k < 4; k++) Both("the same entries", TestEnter(M, 4, k));
    Both("nothing entered", MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY) || MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetOption(k ? B : A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
      PetscCall(MatSetOption(k ? B : A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    }
    for (PetscInt k = 0; k < 12; k += 3) Both("new entries", Band(M, k, (PetscBool)(k % 2)));
    Both("MatZeroEntries", MatZeroEntries(M));
    Both("entries after MatZeroEntries", Band(M, 20, PETSC_TRUE));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));

    /* preallocated, not filled, reset */
    for (int k = 0; k < 2; k++) {
      Mat *X = k ? &B : &A;

      PetscCall(TestCreate(k ? type : MATAIJ, 40, 40, layout, 0, 1, X));
      PetscCall(MatSeqAIJSetPreallocation(*X, 6, NULL));
      PetscCall(MatMPIAIJSetPreallocation(*X, 6, NULL, 6, NULL));
      PetscCall(TestEnter(*X, 2, 5));
    }
    PetscCall(TestCompare(A, B, "MatXAIJSetPreallocation on an assembled matrix"));
    Both("MatResetPreallocation", Reset(M));
    for (PetscInt pass = 0; pass < 3; pass++) Both("MatSetPreallocationCOO", COO(M, pass));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3 8}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda

TEST*/
