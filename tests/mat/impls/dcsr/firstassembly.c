static char help[] = "The first assembly of a matrix that has been preallocated, and may have no new nonzeros beyond that: bound to the CPU meanwhile, copied, and filled by operations.\n\n";

#include "testmat.h"

/* A few entries for each row of this process, the first of them on the diagonal; step 1 adds to those of step 0. */
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
static PetscErrorCode CreatePreallocated(MatType type, Mat *A)
{
  PetscInt begin, end, first, last, *own, *others;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(*A, &first, &last));
  PetscCall(PetscCalloc2(end - begin, &own, end - begin, &others));
  for (PetscInt row = begin; row < end; row++)
    for (PetscInt k = 0; k < ENTRIES; k++) {
      const PetscInt column = (row + 11 * k) % SIZE;

      if (column >= first && column < last) own[row - begin]++;
      else others[row - begin]++;
    }
  PetscCall(MatSeqAIJSetPreallocation(*A, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(*A, 0, own, 0, others));
  PetscCall(PetscFree2(own, others));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound in the course of the first assembly, which goes on as it began: before values or among them; unbound among them, or after the assembly, as DMCreateMatrix() does, or not at all. */
static PetscErrorCode TestBinding(MatType type, PetscInt bind, PetscInt unbind, PetscBool copy)
{
  PetscInt     n;
  PetscMemType mtype;
  Mat          A[2], blocks[2], original;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreatePreallocated(k ? type : MATAIJ, &A[k]));
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
  if (bind < 2 && unbind > 2) {
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

/* MatDiagonalSet() sets values of a matrix that has none. */
static PetscErrorCode TestDiagonalSet(MatType type, PetscBool zero)
{
  Mat A[2];
  Vec d;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreatePreallocated(k ? type : MATAIJ, &A[k]));
    if (zero) PetscCall(MatZeroEntries(A[k]));
    PetscCall(MatCreateVecs(A[k], NULL, &d));
    PetscCall(TestFill(d, 4));
    PetscCall(MatDiagonalSet(A[k], d, INSERT_VALUES));
    PetscCall(VecDestroy(&d));
  }
  PetscCall(TestCompare(A[0], A[1], "MatDiagonalSet() of a preallocated matrix"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (PetscInt bind = 0; bind < 3; bind++) /* 2: not at all */
    for (PetscInt unbind = 1; unbind < 4; unbind++)
      for (int copy = 0; copy < 2; copy++)
        if (unbind > bind || bind == 2) PetscCall(TestBinding(type, bind, unbind, (PetscBool)copy));
  for (int zero = 0; zero < 2; zero++) PetscCall(TestDiagonalSet(type, (PetscBool)zero));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      test:
         suffix: 1
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager

TEST*/
