static char help[] = "Host vectors, vectors of the matrix, bound vectors, placed arrays: any mix in any product.\n\n";

#include "testmat.h"

typedef enum {
  HOST,
  OURS,
  BOUND,
  PLACED,
  NUM_KINDS
} Kind;

static PetscErrorCode Create(Mat A, Kind kind, PetscBool left, PetscInt seed, PetscScalar array[], Vec *x)
{
  PetscInt n, N;

  PetscFunctionBegin;
  PetscCall(left ? MatGetLocalSize(A, &n, NULL) : MatGetLocalSize(A, NULL, &n));
  PetscCall(left ? MatGetSize(A, &N, NULL) : MatGetSize(A, NULL, &N));
  if (kind == HOST || kind == PLACED) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, x));
    PetscCall(VecSetSizes(*x, n, N));
    PetscCall(VecSetType(*x, VECSTANDARD));
    if (kind == PLACED) PetscCall(VecPlaceArray(*x, array));
  } else {
    PetscCall(MatCreateVecs(A, left ? NULL : x, left ? x : NULL));
    if (kind == BOUND) PetscCall(VecBindToCPU(*x, PETSC_TRUE));
  }
  PetscCall(TestFill(*x, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Kind kind, Vec *x)
{
  PetscFunctionBegin;
  if (kind == PLACED) PetscCall(VecResetArray(*x));
  PetscCall(VecDestroy(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kinds of x, y, z; the products into the left space (or, transposed, the right one). */
static PetscErrorCode Products(Mat A, Mat B, const Kind kinds[3], PetscBool transpose)
{
  const PetscBool left = (PetscBool)!transpose;
  PetscScalar     arrays[3][64];
  Vec             a[3], b[3];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(Create(A, HOST, k ? left : transpose, k, NULL, &a[k]));
    PetscCall(Create(B, kinds[k], k ? left : transpose, k, arrays[k], &b[k]));
  }
  if (transpose) {
    PetscCall(MatMultTranspose(A, a[0], a[1]));
    PetscCall(MatMultTranspose(B, b[0], b[1]));
    PetscCall(MatMultTransposeAdd(A, a[0], a[1], a[2]));
    PetscCall(MatMultTransposeAdd(B, b[0], b[1], b[2]));
  } else {
    PetscCall(MatMult(A, a[0], a[1]));
    PetscCall(MatMult(B, b[0], b[1]));
    PetscCall(MatMultAdd(A, a[0], a[1], a[2]));
    PetscCall(MatMultAdd(B, b[0], b[1], b[2]));
    PetscCall(MatMultAdd(A, a[0], a[2], a[2]));
    PetscCall(MatMultAdd(B, b[0], b[2], b[2]));
  }
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(TestCompareVec(a[k], b[k], "a product with mixed vectors"));
    PetscCall(Destroy(HOST, &a[k]));
    PetscCall(Destroy(kinds[k], &b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Others(Mat A, Mat B, Kind left, Kind right)
{
  PetscScalar arrays[2][64];
  Vec         a[2], b[2];

  PetscFunctionBegin;
  PetscCall(Create(A, HOST, PETSC_TRUE, 1, NULL, &a[0]));
  PetscCall(Create(A, HOST, PETSC_FALSE, 2, NULL, &a[1]));
  PetscCall(Create(B, left, PETSC_TRUE, 1, arrays[0], &b[0]));
  PetscCall(Create(B, right, PETSC_FALSE, 2, arrays[1], &b[1]));
  PetscCall(MatDiagonalScale(A, a[0], a[1]));
  PetscCall(MatDiagonalScale(B, b[0], b[1]));
  PetscCall(TestCompare(A, B, "MatDiagonalScale with mixed vectors"));
  PetscCall(MatDiagonalSet(A, a[0], INSERT_VALUES));
  PetscCall(MatDiagonalSet(B, b[0], INSERT_VALUES));
  PetscCall(TestCompare(A, B, "MatDiagonalSet with mixed vectors"));
  PetscCall(MatGetRowMaxAbs(A, a[0], NULL));
  PetscCall(MatGetRowMaxAbs(B, b[0], NULL));
  PetscCall(TestCompareVec(a[0], b[0], "MatGetRowMaxAbs with mixed vectors"));
  PetscCall(MatGetDiagonal(A, a[0]));
  PetscCall(MatGetDiagonal(B, b[0]));
  PetscCall(TestCompareVec(a[0], b[0], "MatGetDiagonal with mixed vectors"));
  for (int k = 0; k < 2; k++) PetscCall(Destroy(HOST, &a[k]));
  PetscCall(Destroy(left, &b[0]));
  PetscCall(Destroy(right, &b[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int bindings = PETSC_VERSION_LT(3, 26, 0) ? 1
                                                  : 2; // MatMultTransposeAdd() of MATSEQAIJ begins with VecCopy(), which before 3.26 does not fill a vector that is bound to the CPU, or not at once
  char     *type;
  Kind      kinds[3];
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(type, 50, 50, TEST_EVEN, 5, 1, &A, &B));
  for (int bound = 0; bound < bindings; bound++) {
    PetscCall(MatBindToCPU(B, (PetscBool)bound));
    for (kinds[0] = HOST; kinds[0] < NUM_KINDS; kinds[0]++)
      for (kinds[1] = HOST; kinds[1] < NUM_KINDS; kinds[1]++) {
        for (kinds[2] = HOST; kinds[2] < NUM_KINDS; kinds[2]++) {
          PetscCall(Products(A, B, kinds, PETSC_FALSE));
          PetscCall(Products(A, B, kinds, PETSC_TRUE));
        }
        PetscCall(Others(A, B, kinds[0], kinds[1]));
      }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
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
