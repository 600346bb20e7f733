static char help[] = "MatBindToCPU(): on and off between operations, before the assembly, and what it does to matrices and vectors made from a bound one.\n\n";

#include "testmat.h"

/* When the matrix is bound to the CPU while it is assembled */
typedef enum {
  NEVER,
  BEFORE, /* while the first values are set */
  BETWEEN,
  AROUND_FLUSH /* and there is a flush assembly before the others come */
} When;

/* New entries in three portions: in the diagonal block, in both, and of other processes. MATSEQAIJ leaves room between its entries until the assembly. */
static PetscErrorCode EnterPortions(Mat A, When when, PetscInt shift)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &N, NULL));
  for (PetscInt portion = 0; portion < 3; portion++) {
    if (when != NEVER) PetscCall(MatBindToCPU(A, (PetscBool)(portion == (when == BEFORE ? 0 : 1))));
    for (PetscInt i = begin; i < end; i += 2) {
      if (portion < 2) PetscCall(MatSetValue(A, i, begin + (i + shift + portion) % (end - begin), 3 + portion, ADD_VALUES));
      if (portion > 0) PetscCall(MatSetValue(A, i, (end + i + shift) % N, 5 + portion, ADD_VALUES));
      if (portion == 2) PetscCall(MatSetValue(A, (end + i) % N, (i + 3 * shift) % N, 7, ADD_VALUES));
    }
    if (portion == 1 && when == AROUND_FLUSH) PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatBindToCPU() on and off within one assembly, the first one and another; all columns of the off-diagonal block are there before, as ghosts that come on both sides have to be. */
static PetscErrorCode TestWithinAssembly(MatType type)
{
  Mat A[2];

  PetscFunctionBegin;
  for (int when = NEVER; when <= AROUND_FLUSH; when++) {
    for (int assembled = 0; assembled < 2; assembled++) {
      for (int k = 0; k < 2; k++) {
        PetscCall(MatCreate(PETSC_COMM_WORLD, &A[k]));
        PetscCall(MatSetSizes(A[k], PETSC_DECIDE, PETSC_DECIDE, 43, 43));
        PetscCall(MatSetType(A[k], k ? type : MATAIJ));
        PetscCall(MatSetUp(A[k]));
        if (assembled) {
          PetscCall(TestEnter(A[k], 9, 1));
          PetscCall(MatSetOption(A[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        }
        PetscCall(EnterPortions(A[k], k ? (When)when : NEVER, 2));
        PetscCall(EnterPortions(A[k], NEVER, 5));
      }
      PetscCall(TestCompare(A[0], A[1], "MatBindToCPU() within an assembly"));
      PetscCall(TestIsValid(A[1], "MatBindToCPU() within an assembly"));
      for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound, then new ghost columns on the last process alone, for which MATMPIAIJ takes its blocks apart on all. In two of three ways no entries of other processes are expected. */
static PetscErrorCode TestNewGhosts(MatType type)
{
  const MatOption options[] = {MAT_IGNORE_OFF_PROC_ENTRIES, MAT_NO_OFF_PROC_ENTRIES};
  PetscMPIInt     rank, size;
  PetscInt        begin, end;
  Vec             x[2], y[2];
  Mat             A[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int way = 0; way < 3; way++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(TestCreate(k ? type : MATAIJ, 43, 43, TEST_EVEN, 4, 1, &A[k]));
      PetscCall(MatSetOption(A[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      if (k) PetscCall(MatBindToCPU(A[k], PETSC_TRUE));
      if (way < 2) PetscCall(MatSetOption(A[k], options[way], PETSC_TRUE));
      PetscCall(MatGetOwnershipRange(A[k], &begin, &end));
      for (PetscInt i = begin; i < end && rank == size - 1; i++) {
        for (PetscInt j = 0; j < 43; j += 3) PetscCall(MatSetValue(A[k], i, j, 1 + i, ADD_VALUES));
      }
      PetscCall(TestAssemble(A[k], MAT_FINAL_ASSEMBLY));
      PetscCall(MatCreateVecs(A[k], &y[k], &x[k]));
      PetscCall(TestFill(x[k], 3));
      PetscCall(MatMultHermitianTranspose(A[k], x[k], y[k]));
      PetscCall(MatMultHermitianTransposeAdd(A[k], x[k], y[k], y[k]));
    }
    PetscCall(TestCompareVec(y[0], y[1], "new ghost columns of a bound matrix, Hermitian transpose products"));
    PetscCall(TestCompare(A[0], A[1], "new ghost columns of a bound matrix"));
    PetscCall(TestIsValid(A[1], "new ghost columns of a bound matrix"));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecDestroy(&x[k]));
      PetscCall(VecDestroy(&y[k]));
      PetscCall(MatDestroy(&A[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool bound;
  Vec       x, y, z;
  Mat       A, B, C;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(type, 43, 43, TEST_EVEN, 4, 1, &A, &B));
  for (int k = 0; k < 4; k++) { /* off, on, off, on; an operation that writes on each side */
    PetscCall(MatBindToCPU(B, (PetscBool)(k % 2)));
    PetscCall(TestCompareProducts(A, B, "a product after MatBindToCPU"));
    PetscCall(MatScale(A, 1.5));
    PetscCall(MatScale(B, 1.5));
    if (k < 2) {
      PetscCall(MatBindToCPU(B, (PetscBool)(k % 2))); /* again the same: nothing must happen */
      PetscCall(MatShift(A, 1));
      PetscCall(MatShift(B, 1));
    }
    PetscCall(TestCompare(A, B, "MatScale after MatBindToCPU"));
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
    PetscCall(MatScale(C, 2));
    PetscCall(MatScale(C, 0.5));
    PetscCall(TestCompare(A, C, "a duplicate of a bound matrix"));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatBoundToCPU(B, &bound));
  PetscCheck(bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatBoundToCPU: false after MatBindToCPU");
  PetscCall(MatDestroy(&B));

  /* bound while it is entered, as DMDA does */
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, 43, 43));
  PetscCall(MatSetType(B, type));
  PetscCall(MatSetOptionsPrefix(B, "small_"));
  PetscCall(MatSetFromOptions(B)); /* -small_mat_bind_below */
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatSetUp(B));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
  PetscCall(TestEnter(B, 4, 1));
  PetscCall(MatDestroy(&A));
  PetscCall(TestCreate(MATAIJ, 43, 43, TEST_EVEN, 4, 1, &A));
  PetscCall(TestCompare(A, B, "a matrix bound before its assembly"));

  /* what is made from it */
  PetscCall(MatSetBindingPropagates(B, PETSC_TRUE));
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(TestFill(x, 3));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
  PetscCall(MatMult(B, x, z));
  PetscCall(TestCompareVec(y, z, "MatMult bound and not"));
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &C));
  PetscCall(MatCopy(B, C, SAME_NONZERO_PATTERN));
  PetscCall(MatBindToCPU(C, PETSC_FALSE));
  PetscCall(TestCompare(A, C, "a copy of a bound matrix"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(TestWithinAssembly(type));
  PetscCall(TestNewGhosts(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: option
         args: -small_mat_bind_below 1000

TEST*/
