static char help[] = "-mat_seqaij_type seqaijdcsrcuda: all sequential AIJ matrices, also the blocks of parallel ones, become ours, with vectors of the host.\n\n";

#include "testmat.h"

/* Operations of blocks that change the pattern: MATMPIAIJ, whose blocks they may be, reads the host arrays afterwards. */
static PetscErrorCode CompareChanged(Mat A, Mat B)
{
  PetscInt begin, rows[2];
  Mat      mats[2] = {A, B}, copies[2];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  rows[0] = begin;
  rows[1] = begin + 3;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(mats[k], MAT_COPY_VALUES, &copies[k]));
    PetscCall(MatScale(copies[k], 0.5));
  }
  PetscCall(TestCompareRows(copies[0], copies[1], "-mat_seqaij_type, duplicated"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(copies[k], MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
    PetscCall(MatZeroRows(copies[k], 2, rows, 3.0, NULL, NULL));
  }
  PetscCall(TestCompare(copies[0], copies[1], "-mat_seqaij_type, without two rows"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&copies[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  char      name[64];
  PetscInt  n;
  PetscBool set;
  Mat       A, B, C, blocks[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetString(NULL, "ours_", "-mat_seqaij_type", name, sizeof(name), &set));
  PetscCall(TestCreate(MATAIJ, 35, 35, TEST_EVEN, 5, 1, &A));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetOptionsPrefix(B, "ours_"));
  PetscCall(MatSetSizes(B, PETSC_DECIDE, PETSC_DECIDE, 35, 35));
  PetscCall(MatSetType(B, MATAIJ));
  PetscCall(TestEnter(B, 5, 1));
  PetscCall(TestBlocks(B, &n, blocks));
  if (set && n == 1) PetscCall(TestHasType(blocks[0], name, "-mat_seqaij_type")); /* blocks of a parallel matrix have their own prefix */
  PetscCall(TestCompare(A, B, "-mat_seqaij_type"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(MatShift(A, 1));
  PetscCall(MatShift(B, 1));
  PetscCall(TestCompare(A, B, "-mat_seqaij_type, scaled and shifted"));
  PetscCall(CompareChanged(A, B));
  PetscCall(MatMatMult(B, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &B));
  PetscCall(TestCompareProducts(B, C, "-mat_seqaij_type, MatMatMult"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
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
         suffix: ours
         args: -ours_mat_seqaij_type {{seqaijdcsrcuda seqaijhisparsecuda}}
      test:
         suffix: all
         args: -mat_seqaij_type seqaijdcsrcuda -ours_mat_seqaij_type seqaijdcsrcuda
      test:
         suffix: hidden
         args: -mat_seqaij_type seqaijdcsrcuda -ours_mat_seqaij_type seqaijdcsrcuda -mat_dcsr_test_hide_host

TEST*/
