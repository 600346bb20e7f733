static char help[] = "MatCreateMPIAIJWithSeqAIJ() with blocks of our type.\n\n";

#include "testmat.h"

/* The off-diagonal block with global columns. */
static PetscErrorCode CreateGlobal(Mat B, const PetscInt garray[], PetscInt N, MatType type, Mat *O)
{
  PetscInt           m, n;
  const PetscInt    *columns;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, &m, NULL));
  PetscCall(MatCreate(PETSC_COMM_SELF, O));
  PetscCall(MatSetSizes(*O, m, N, m, N));
  PetscCall(MatSetType(*O, type));
  PetscCall(MatSetOption(*O, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < m; i++) {
    PetscCall(MatGetRow(B, i, &n, &columns, &values));
    for (PetscInt k = 0; k < n; k++) PetscCall(MatSetValue(*O, i, garray[columns[k]], values[k], INSERT_VALUES));
    PetscCall(MatRestoreRow(B, i, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(*O, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*O, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char           *type;
  const PetscInt *garray;
  PetscInt        M, N, nb, *copy, n;
  Mat             A, Ad, Ao, D, O, C, blocks[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestCreate(MATMPIAIJ, 39, 39, layout, 5, 1, &A));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, &garray));
    PetscCall(MatConvert(Ad, type, MAT_INITIAL_MATRIX, &D));
    PetscCall(MatConvert(Ao, type, MAT_INITIAL_MATRIX, &O));
    PetscCall(MatGetSize(O, NULL, &nb));
    PetscCall(PetscMalloc1(nb, &copy));
    PetscCall(PetscArraycpy(copy, garray, nb));
    PetscCall(MatGetSize(A, &M, &N));
    PetscCall(MatCreateMPIAIJWithSeqAIJ(PETSC_COMM_WORLD, M, N, D, O, copy, &C));
    PetscCall(TestHasType(C, type, "MatCreateMPIAIJWithSeqAIJ"));
    PetscCall(TestCompare(A, C, "MatCreateMPIAIJWithSeqAIJ"));
    PetscCall(TestBlocks(C, &n, blocks));
    for (PetscInt k = 0; k < n; k++) PetscCall(TestBlockHasType(blocks[k], k, type, "a block of MatCreateMPIAIJWithSeqAIJ"));
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(C, 2));
    PetscCall(TestCompare(A, C, "MatCreateMPIAIJWithSeqAIJ, scaled"));
    PetscCall(MatDestroy(&C));
    PetscCall(MatConvert(Ad, type, MAT_INITIAL_MATRIX, &D));
    PetscCall(CreateGlobal(Ao, garray, N, type, &O));
    PetscCall(MatCreateMPIAIJWithSeqAIJ(PETSC_COMM_WORLD, M, N, D, O, NULL, &C));
    PetscCall(TestHasType(C, type, "MatCreateMPIAIJWithSeqAIJ without ghost columns"));
    PetscCall(TestCompare(A, C, "MatCreateMPIAIJWithSeqAIJ without ghost columns"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&C));
  }
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
         args: -mat_type hisparsecuda

TEST*/
