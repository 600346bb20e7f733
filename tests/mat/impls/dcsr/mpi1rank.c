static char help[] = "The parallel type on one rank, ranks without rows, empty matrices: every operation of the device once.\n\n";

#include "testmat.h"

#define Both(call) \
  do { \
    for (int k_ = 0; k_ < 2; k_++) { \
      const Mat M = k_ ? B : A; \
      const Vec x = k_ ? xb : xa, y = k_ ? yb : ya; \
      (void)M, (void)x, (void)y; \
      PetscCall(call); \
    } \
    PetscCall(TestCompare(A, B, #call)); \
    PetscCall(TestCompareVec(xa, xb, #call)); \
    PetscCall(TestCompareVec(ya, yb, #call)); \
  } while (0)

static PetscErrorCode Everything(Mat A, Mat B, PetscBool square)
{
  PetscReal a, b;
  Mat       C, D;
  Vec       xa, ya, xb, yb;

  PetscFunctionBegin;
  PetscCall(TestCompare(A, B, "at first"));
  PetscCall(MatCreateVecs(A, &xa, &ya));
  PetscCall(MatCreateVecs(B, &xb, &yb));
  PetscCall(TestFill(xa, 1));
  PetscCall(TestFill(xb, 1));
  Both(MatMult(M, x, y));
  Both(MatMultTranspose(M, y, x));
  Both(MatMultHermitianTranspose(M, y, x));
  Both(MatMultAdd(M, x, y, y));
  Both(MatMultTransposeAdd(M, y, x, x));
  Both(MatScale(M, 0.001));
  Both(VecScale(x, 0.01));
  Both(VecScale(y, 0.01));
  Both(MatDiagonalScale(M, y, x));
  Both(MatGetRowSumAbs(M, y));
  Both(MatConjugate(M));
  Both(MatRealPart(M));
  if (square) {
    Both(MatGetDiagonal(M, y));
    Both(MatShift(M, 2));
    Both(MatDiagonalSet(M, y, ADD_VALUES));
    Both(MatDiagonalSet(M, y, INSERT_VALUES));
  }
  for (int k = 0; k < 3; k++) {
    const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};

    PetscCall(MatNorm(A, types[k], &a));
    PetscCall(MatNorm(B, types[k], &b));
    PetscCheck(PetscAbsReal(a - b) <= 1e-5 * a, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatNorm: %g and should be %g", (double)b, (double)a);
  }
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestCompare(C, D, "MatTranspose"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatAXPY(C, 2, A, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(D, 2, B, SAME_NONZERO_PATTERN));
  PetscCall(TestCompare(C, D, "MatAXPY"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  Both(MatZeroEntries(M));
  PetscCall(VecDestroy(&xa));
  PetscCall(VecDestroy(&xb));
  PetscCall(VecDestroy(&ya));
  PetscCall(VecDestroy(&yb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[][3] = {/* rows, columns, entries a row */
                               {0, 0, 0}, {0, 5, 0}, {5, 0, 0}, {1, 1, 0}, {5, 5, 0}, {1, 9, 3}, {9, 1, 1}, {3, 40, 8}, {40, 3, 2}, {21, 21, 4}};
  char          *type, parallel[140];
  const char    *names[2];
  PetscMPIInt    size;
  Mat            A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(parallel, sizeof(parallel), "mpi%s%s", type[0] == 'a' ? "" : "aij", type));
  names[0] = type;
  names[1] = parallel;
  for (int k = 0; k < 2; k++)
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
      for (TestLayout layout = TEST_EVEN; layout <= (size > 1 ? TEST_EVERY_OTHER : TEST_EVEN); layout++) {
        PetscCall(TestCreate(MATAIJ, sizes[s][0], sizes[s][1], layout, sizes[s][2], 1, &A));
        PetscCall(TestCreate(names[k], sizes[s][0], sizes[s][1], layout, sizes[s][2], 1, &B));
        PetscCall(Everything(A, B, (PetscBool)(sizes[s][0] == sizes[s][1])));
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
