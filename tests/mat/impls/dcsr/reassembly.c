static char
  help[] = "Assembly again and again: same entries, new entries of this rank and of others, flush assemblies, MatResetPreallocation(), MatSetPreallocationCOO(); values that are never assembled.\n\n";

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

/* What replaces a matrix while values of it wait to be assembled. */
typedef enum {
  BY_PREALLOCATION,
  BY_CSR,
  BY_COO,
  BY_HASH, /* which wants a flush assembly before */
  NUM_REPLACEMENTS
} Replacement;

static PetscErrorCode ReplaceByCSR(Mat M)
{
  PetscInt     m, begin, *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(M, &m, NULL));
  PetscCall(MatGetOwnershipRange(M, &begin, NULL));
  PetscCall(PetscMalloc3(m + 1, &i, m, &j, m, &v));
  i[0] = 0;
  for (PetscInt k = 0; k < m; k++) {
    i[k + 1] = k + 1;
    j[k]     = begin + k;
    v[k]     = (PetscReal)(begin + k + 1);
  }
  PetscCall(MatSeqAIJSetPreallocationCSR(M, i, j, v));
  PetscCall(MatMPIAIJSetPreallocationCSR(M, i, j, v));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that are never assembled, on the first rows of this process, and what comes in their place. bind: while they wait, and until the new matrix is there. */
static PetscErrorCode Abandon(Mat M, Replacement replacement, PetscBool bind)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(M, &begin, &end));
  PetscCall(MatGetSize(M, &N, NULL));
  for (PetscInt i = begin; i < end && i < begin + 3; i++) {
    PetscCall(MatSetValue(M, i, (i + 1) % N, 7, INSERT_VALUES));
    PetscCall(MatSetValue(M, i, (i + N / 2) % N, 8, INSERT_VALUES));
  }
  if (replacement == BY_HASH) PetscCall(TestAssemble(M, MAT_FLUSH_ASSEMBLY));
  if (bind) PetscCall(MatBindToCPU(M, PETSC_TRUE));
  if (replacement == BY_CSR) PetscCall(ReplaceByCSR(M));
  if (replacement == BY_COO) PetscCall(COO(M, 1));
  if (replacement == BY_PREALLOCATION) {
    PetscCall(MatSeqAIJSetPreallocation(M, 6, NULL));
    PetscCall(MatMPIAIJSetPreallocation(M, 6, NULL, 6, NULL));
  }
  if (replacement == BY_HASH) PetscCall(MatResetHash(M));
  if (replacement != BY_COO && replacement != BY_CSR) PetscCall(TestEnter(M, 2, 3));
  if (bind) PetscCall(MatBindToCPU(M, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAbandon(MatType type)
{
  Mat M[2];

  PetscFunctionBegin;
  for (int test = 0; test < 4 * NUM_REPLACEMENTS; test++) {
    const PetscBool assembled = (PetscBool)(test % 2), bind = (PetscBool)(test / 2 % 2);

    for (int k = 0; k < 2; k++) {
      PetscCall(TestCreate(k ? type : MATAIJ, 40, 40, TEST_EVEN, 0, 1, &M[k]));
      PetscCall(MatSeqAIJSetPreallocation(M[k], 7, NULL));
      PetscCall(MatMPIAIJSetPreallocation(M[k], 7, NULL, 7, NULL));
      if (assembled) PetscCall(TestEnter(M[k], 2, 5));
      if (assembled) PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(Abandon(M[k], (Replacement)(test / 4), bind));
    }
    PetscCall(TestCompare(M[0], M[1], "values that were never assembled"));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatZeroEntries(M[k])); // nothing of them comes later
      PetscCall(TestAssemble(M[k], MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestCompare(M[0], M[1], "the assembly after values that were never assembled"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  }
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
  PetscCall(TestAbandon(type));
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
