static char help[] = "SOR of matrices with equal rows, which are no inodes in ours, whatever was done to them before.\n\n";

#include "testmat.h"

#define BLOCK 3

/* Dense blocks on the diagonal and beside it, whose positions, [3 num_blocks rows] each, and values are to be freed; every process has as many rows. */
static PetscErrorCode GetEntries(Mat A, PetscInt num_blocks, PetscInt seed, PetscInt *n, PetscInt **i, PetscInt **j, PetscScalar **v)
{
  PetscInt begin, end, N, capacity;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &N, NULL));
  capacity = (end - begin) * num_blocks * BLOCK;
  PetscCall(PetscMalloc3(capacity, i, capacity, j, capacity, v));
  *n = 0;
  for (PetscInt row = begin; row < end; row++) {
    for (PetscInt k = 0; k < num_blocks * BLOCK; k++) {
      const PetscInt column = (row / BLOCK * BLOCK + k) % N;

      (*i)[*n]     = row;
      (*j)[*n]     = column;
      (*v)[(*n)++] = row == column ? 20.0 + row % 5 : (PetscScalar)((row + 3 * column + seed) % 7) / (PetscScalar)7.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By MatSetValues(), or as values of a list. */
static PetscErrorCode Enter(Mat A, PetscBool list, PetscInt num_blocks, PetscInt seed)
{
  PetscInt     n, *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(GetEntries(A, num_blocks, seed, &n, &i, &j, &v));
  if (list) PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  else {
    for (PetscInt e = 0; e < n; e++) PetscCall(MatSetValue(A, i[e], j[e], v[e], INSERT_VALUES));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One symmetric sweep in each process. */
static PetscErrorCode CompareSOR(Mat A, Mat reference, const char what[])
{
  Mat mats[] = {A, reference};
  Vec b[2], x[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(mats[k], &x[k], &b[k]));
    PetscCall(TestFill(b[k], 5));
    PetscCall(MatSOR(mats[k], b[k], 1.0, (MatSORType)(SOR_LOCAL_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS), 0.0, 1, 1, x[k]));
  }
  PetscCall(TestCompareVec(x[0], x[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt n, PetscBool list, Mat *A)
{
  PetscInt     num, *i, *j;
  PetscScalar *v;
  PetscLayout  rmap;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, BLOCK * n, BLOCK * n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  if (!list) PetscCall(MatSetUp(*A));
  else {
    PetscCall(MatGetLayouts(*A, &rmap, NULL));
    PetscCall(PetscLayoutSetUp(rmap));
    PetscCall(GetEntries(*A, 2, 0, &num, &i, &j, &v));
    PetscCall(TestPreallocateCOO(*A, num, i, j));
    PetscCall(PetscFree3(i, j, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From new to new values, to a new pattern, and duplicates. */
static PetscErrorCode TestSequence(MatType type, PetscBool list)
{
  Mat mats[2], copies[2];

  PetscFunctionBegin;
  PetscCall(Create(type, 20, list, &mats[0]));
  PetscCall(Create(MATAIJ, 20, list, &mats[1]));
  PetscCall(MatSetOption(mats[1], MAT_USE_INODES, PETSC_FALSE));
  for (int k = 0; k < 2; k++) PetscCall(Enter(mats[k], list, 2, 1));
  PetscCall(CompareSOR(mats[0], mats[1], "a new matrix"));
  for (int k = 0; k < 2; k++) PetscCall(Enter(mats[k], list, 2, 2));
  PetscCall(CompareSOR(mats[0], mats[1], "new values"));
  for (int k = 0; k < 2; k++) PetscCall(MatDuplicate(mats[k], MAT_COPY_VALUES, &copies[k]));
  PetscCall(CompareSOR(copies[0], copies[1], "duplicates"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(copies[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(Enter(copies[k], PETSC_FALSE, 3, 3));
  }
  PetscCall(CompareSOR(copies[0], copies[1], "a new pattern"));
  for (int k = 0; k < 2; k++) PetscCall(Enter(copies[k], PETSC_FALSE, 3, 4));
  PetscCall(CompareSOR(copies[0], copies[1], "new values in a new pattern"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&mats[k]));
    PetscCall(MatDestroy(&copies[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestSequence(type, PETSC_FALSE));
  PetscCall(TestSequence(type, PETSC_TRUE));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3}}
      test:
         suffix: 1
         args: -mat_type {{dcsrcuda hisparsecuda}}
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager

TEST*/
