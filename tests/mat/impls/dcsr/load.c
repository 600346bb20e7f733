static char help[] = "MatView() to and MatLoad() from a binary file; text views do not fail.\n\n";

#include "testmat.h"
#include <stdio.h>

int main(int argc, char **argv)
{
  const PetscViewerFormat formats[] = {PETSC_VIEWER_ASCII_INFO, PETSC_VIEWER_ASCII_INFO_DETAIL, PETSC_VIEWER_ASCII_DENSE, PETSC_VIEWER_ASCII_MATLAB, PETSC_VIEWER_DEFAULT};
  char                   *type, name[64];
  PetscMPIInt             size, rank;
  PetscViewer             viewer;
  Mat                     A, B, C;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSNPrintf(name, sizeof(name), "load-%d.bin", size));
  for (int k = 0; k < 3; k++) {
    PetscCall(TestCreatePair(type, k == 2 ? 5 : 29, k == 1 ? 13 : 29, TEST_EVEN, k == 2 ? 0 : 4, 1, &A, &B));
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(B, 2)); /* so that the newest values are not where they were entered */
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
    PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
    PetscCall(MatView(B, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    for (int way = 0; way < 3; way++) { /* a type by name, the type of the file's reader changed later, a matrix that has values already */
      if (way < 2) {
        PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
        PetscCall(MatSetType(C, way ? MATAIJ : type));
      } else PetscCall(TestCreate(type, k == 2 ? 5 : 29, k == 1 ? 13 : 29, TEST_EVEN, 2, 1, &C));
      PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_READ, &viewer));
      PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
      PetscCall(MatLoad(C, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
      if (way == 1) PetscCall(MatConvert(C, type, MAT_INPLACE_MATRIX, &C));
      PetscCall(TestCompare(A, C, "MatLoad"));
      PetscCall(MatDestroy(&C));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    if (rank == 0) (void)remove(name);
    for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(formats); f++) {
      PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &viewer));
      PetscCall(PetscViewerPushFormat(viewer, formats[f]));
      PetscCall(MatView(B, viewer));
      PetscCall(PetscViewerPopFormat(viewer));
      PetscCall(PetscViewerDestroy(&viewer));
    }
    PetscCall(TestCompare(A, B, "the matrix after MatView"));
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

TEST*/
