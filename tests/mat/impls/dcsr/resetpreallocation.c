static char help[] =
  "MatResetPreallocation() where the preallocation was made for other arrays than there are: on the host before the device has changed the pattern, on the device before the matrix is bound to the CPU.\n\n";

#include "testmat.h"

#define ROOM 10 /* entries that are preallocated in a row, of a block */

/* How the matrix came to be. */
typedef enum {
  CONVERTED, /* preallocated as MATAIJ, converted in place */
  UNBOUND,   /* preallocated while it was bound to the CPU */
  BOUND,     /* bound after its first assembly */
  BOUND_BARE /* the same without a preallocation */
} Way;

/* A diagonal, zeros beside it that go again, and room. */
static PetscErrorCode Create(MatType type, Way way, PetscInt n, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, way == CONVERTED ? MATAIJ : type));
  if (way == UNBOUND) PetscCall(MatBindToCPU(*A, PETSC_TRUE));
  if (way != BOUND_BARE) PetscCall(MatSeqAIJSetPreallocation(*A, ROOM, NULL));
  if (way != BOUND_BARE) PetscCall(MatMPIAIJSetPreallocation(*A, ROOM, NULL, ROOM, NULL));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, 1, INSERT_VALUES));
    if (way != BOUND_BARE) PetscCall(MatSetValue(*A, i, (i + 1) % n, 0, INSERT_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  if (way == CONVERTED) PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  if (way == UNBOUND) PetscCall(MatBindToCPU(*A, PETSC_FALSE));
  if (way != BOUND_BARE) PetscCall(MatEliminateZeros(*A, PETSC_FALSE));
  if (way >= BOUND) PetscCall(MatBindToCPU(*A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many entries in a row as were preallocated, or the diagonal again, which is all that is there. */
static PetscErrorCode Fill(Mat A, Way way)
{
  const PetscInt width = way == BOUND_BARE ? 1 : ROOM;
  PetscInt       n, begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < width; k++) PetscCall(MatSetValue(A, i, (i + 3 * k) % n, (PetscReal)(i + k + 1), INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int way = CONVERTED; way <= BOUND_BARE; way++) {
    char what[64];

    for (int k = 0; k < 2; k++) {
      PetscCall(Create(k ? type : MATAIJ, (Way)way, 60, &A[k]));
      for (int pass = 0; pass < 2; pass++) {
        PetscCall(MatResetPreallocation(A[k]));
        PetscCall(Fill(A[k], (Way)way));
      }
    }
    PetscCall(PetscSNPrintf(what, sizeof(what), "way %d", way));
    PetscCall(TestCompare(A[0], A[1], what));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      args: -mat_type {{dcsrcuda hisparsecuda}} -malloc_debug -malloc_dump

TEST*/
