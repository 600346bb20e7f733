static char help[] = "MatBindToCPU(): on and off between operations, before the assembly, and what it does to matrices and vectors made from a bound one.\n\n";

#include "testmat.h"

/* A few entries for each row of this process, as many as Preallocate() says; step 1 adds to those of step 0. */
#define SIZE    43
#define ENTRIES 3

static PetscErrorCode EnterStep(Mat A, PetscInt step)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++)
    for (PetscInt k = step; k < ENTRIES; k += 1 + (step == 0)) PetscCall(MatSetValue(A, row, (row + 11 * k) % SIZE, (PetscScalar)(1 + row % 5 + 10 * k + 100 * step), ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the entries and no more: a new one for which there is none is an error. */
static PetscErrorCode Preallocate(Mat A)
{
  PetscInt begin, end, first, last, *own, *others;

  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &first, &last));
  PetscCall(PetscCalloc2(end - begin, &own, end - begin, &others));
  for (PetscInt row = begin; row < end; row++)
    for (PetscInt k = 0; k < ENTRIES; k++) {
      const PetscInt column = (row + 11 * k) % SIZE;

      if (column >= first && column < last) own[row - begin]++;
      else others[row - begin]++;
    }
  PetscCall(MatSeqAIJSetPreallocation(A, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(A, 0, own, 0, others));
  PetscCall(PetscFree2(own, others));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound in the course of the first assembly, which goes on as it began: before values or among them; unbound among them, or after the assembly, as DMCreateMatrix() does, or not at all. */
static PetscErrorCode TestFirstAssembly(MatType type, PetscInt bind, PetscInt unbind, PetscBool copy)
{
  PetscInt     n;
  PetscMemType mtype;
  Mat          A[2], blocks[2], original;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A[k]));
    PetscCall(MatSetSizes(A[k], PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
    PetscCall(MatSetType(A[k], k ? type : MATAIJ));
    PetscCall(Preallocate(A[k]));
    if (copy) {
      original = A[k];
      PetscCall(MatDuplicate(original, MAT_DO_NOT_COPY_VALUES, &A[k]));
      PetscCall(MatDestroy(&original));
    }
    for (PetscInt step = 0; step < 2; step++) {
      if (bind == step) PetscCall(MatBindToCPU(A[k], PETSC_TRUE));
      if (unbind == step) PetscCall(MatBindToCPU(A[k], PETSC_FALSE));
      PetscCall(EnterStep(A[k], step));
    }
    PetscCall(TestAssemble(A[k], MAT_FINAL_ASSEMBLY));
    if (unbind == 2) PetscCall(MatBindToCPU(A[k], PETSC_FALSE));
  }
  PetscCall(TestCompare(A[0], A[1], "bound in the course of the first assembly"));
  if (unbind > 2) {
    PetscCall(TestBlocks(A[1], &n, blocks));
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(MatSeqAIJGetCSRAndMemType(blocks[k], NULL, NULL, NULL, &mtype));
      PetscCheck(PetscMemTypeHost(mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB, "a matrix that was bound in the course of its first assembly is not on the host");
    }
    PetscCall(MatBindToCPU(A[1], PETSC_FALSE));
    PetscCall(TestCompare(A[0], A[1], "bound in the course of the first assembly, and not any more"));
  }
  for (int k = 0; k < 2; k++) { /* entries that are there */
    PetscCall(EnterStep(A[k], 1));
    PetscCall(TestAssemble(A[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestCompare(A[0], A[1], "the second assembly"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
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

  for (PetscInt bind = 0; bind < 3; bind++) /* 2: not at all */
    for (PetscInt unbind = 1; unbind < 4; unbind++)
      for (int copy = 0; copy < 2; copy++)
        if (unbind > bind || bind == 2) PetscCall(TestFirstAssembly(type, bind, unbind, (PetscBool)copy));
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
         args: -mat_type hisparsecuda -mat_hisparse_format {{diagonals windows}}
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: option
         args: -small_mat_bind_below 1000

TEST*/
