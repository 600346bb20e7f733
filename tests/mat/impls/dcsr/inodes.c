static char help[] = "A MATSEQAIJ has duplicates of its own type with its inodes, also with -mat_seqaij_type.\n\n";

#include "testmat.h"

static PetscErrorCode CheckInodes(Mat A, PetscInt expected, const char what[])
{
  PetscInt  num, limit, *sizes;
  PetscBool plain;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrcmp(type, MATSEQAIJ, &plain));
  PetscCheck(plain, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has type %s", what, type);
  PetscCall(MatInodeGetInodeSizes(A, &num, &sizes, &limit));
  PetscCheck(num == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s has %" PetscInt_FMT " inodes where %" PetscInt_FMT " should be", what, num, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Dense blocks of 3 x 3, in a matrix of the type that becomes MATSEQAIJ. */
static PetscErrorCode CreateBlocks(MatType type, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, 3 * n, 3 * n, 3 * n, 3 * n));
  PetscCall(MatSetType(*A, type));
  for (PetscInt row = 0; row < 3 * n; row++)
    for (PetscInt k = 0; k < 3; k++) PetscCall(MatSetValue(*A, row, row - row % 3 + k, (PetscScalar)(row + 10 * k + 1), INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*A, MATSEQAIJ, MAT_INPLACE_MATRIX, A));
  PetscCall(MatSetOption(*A, MAT_USE_INODES, PETSC_TRUE));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A, B, C;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(CreateBlocks(type, 4, &A));
  PetscCall(CheckInodes(A, 4, "the original"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(CheckInodes(B, 4, "a duplicate"));
  PetscCall(MatScale(B, 2.0));
  PetscCall(TestAssemble(B, MAT_FINAL_ASSEMBLY));
  PetscCall(CheckInodes(B, 4, "a duplicate that was assembled"));
  PetscCall(MatConvert(B, MATSEQAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(CheckInodes(C, 4, "a duplicate of a duplicate"));
  PetscCall(MatScale(A, 2.0));
  PetscCall(TestCompare(A, C, "duplicates of MATSEQAIJ"));
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
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: option
         args: -mat_seqaij_type seqaijdcsrcuda

TEST*/
