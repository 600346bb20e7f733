static char help[] = "The random order of vertices for coarsening against PETSc's random numbers and the loop of PCGAMG.\n\n";

#include "../entries/kerneltest.h"
#include "randomorder.h"
#include <petscsparsecuda/coarsen.h>

#define NUM_REALS 1000

/* The generator is that of PETSc; this needs no device. */
static PetscErrorCode TestReals(void)
{
  PetscReal   numbers[NUM_REALS], number;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(DCSRGetRandomReals(NUM_REALS, numbers));
  for (PetscInt k = 0; k < NUM_REALS; k++) {
    PetscCall(PetscRandomGetValueReal(random, &number));
    PetscCheck(number == numbers[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Random number %" PetscInt_FMT " is %.17g, not %.17g", k, (double)numbers[k], (double)number);
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPermutation(PetscInt n)
{
  int32_t     *got, *numbers, *permutation = NULL, *position = NULL;
  PetscInt    *expected;
  size_t       before, after;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc3(n, &expected, n, &got, n, &numbers));
  PetscCall(RandomOrder(n, expected));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(PetscSparseCUDAMalloc(n, "test", stream, &permutation));
  PetscCall(PetscSparseCUDAMalloc(n, "test", stream, &position));
  PetscCall(DCSRGetRandomPermutation(n, stream, permutation, position));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), permutation, stream, got));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*numbers), position, stream, numbers));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscCall(PetscSparseCUDAFree(&position, stream));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory leaked", after - before);
  for (PetscInt k = 0; k < n; k++) {
    PetscCheck(got[k] == expected[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Of %" PetscInt_FMT " vertices number %" PetscInt_FMT " is %d, not %" PetscInt_FMT, n, k, (int)got[k], expected[k]);
    PetscCheck(numbers[got[k]] == k, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Of %" PetscInt_FMT " vertices %d is said to be number %d, not %" PetscInt_FMT, n, (int)got[k], (int)numbers[got[k]], k);
  }
  PetscCall(PetscFree3(expected, got, numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 257, 1000, 4099, 1000000, (1 << 24) + 1}; // single precision does not know the last one
  PetscBool      usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestReals());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  for (size_t k = 0; usable && k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) PetscCall(TestPermutation(sizes[k]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: numbers
         args: -device_enable none
      test:
         suffix: permutation
         requires: cuda

TEST*/
