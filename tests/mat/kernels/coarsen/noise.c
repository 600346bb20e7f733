static char help[] = "The noise of eigenvalue estimates has the bits of PETSc's; zeros of a vector become another number.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/smooth.h>
#include "../../../../src/petsc/ksp.h"

static PetscErrorCode TestNoise(PetscInt n, PetscInt begin, cudaStream_t stream)
{
  PetscScalar *device, *host;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "noise", stream, &device));
  PetscCall(PetscMalloc1(n, &host));
  PetscCall(DCSRSetNoise(n, begin, device, stream));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*host), device, stream, host));
  for (PetscInt k = 0; k < n; k++)
    PetscCheck(host[k] == KSPNoisyHash_Private(begin + k), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Number %" PetscInt_FMT " is %.17g, not %.17g", begin + k, (double)PetscRealPart(host[k]),
               (double)PetscRealPart(KSPNoisyHash_Private(begin + k)));
  PetscCall(PetscFree(host));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every step-th number is zero, or minus zero; 0: none. */
static PetscErrorCode TestZeros(PetscInt n, PetscInt step, PetscBool reciprocals, cudaStream_t stream)
{
  PetscScalar *host, *got;
  void        *device;
  PetscBool    found, expected = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &host, n, &got));
  for (PetscInt k = 0; k < n; k++) {
    host[k] = step > 0 && k % step == step - 1 ? (k % 2 ? 0.0 : -0.0) : KernelTestNumber(k, 3);
    if (host[k] == (PetscScalar)0) expected = PETSC_TRUE;
  }
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*host), host, stream, &device));
  PetscCall(DCSRReplaceZeros(n, 1.0, reciprocals, (PetscScalar *)device, stream, &found));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), device, stream, got));
  PetscCheck(found == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " numbers, every %" PetscInt_FMT " zero: %s were found", n, step, found ? "some" : "none");
  for (PetscInt k = 0; k < n; k++) {
    const PetscScalar value = host[k] == (PetscScalar)0 ? (PetscScalar)1 : reciprocals ? (PetscScalar)1 / host[k] : host[k];

    PetscCheck(PetscAbsScalar(got[k] - value) <= (reciprocals && PetscDefined(USE_COMPLEX) ? 4 * PETSC_MACHINE_EPSILON * PetscAbsScalar(value) : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%" PetscInt_FMT " numbers, every %" PetscInt_FMT " zero: number %" PetscInt_FMT " is %g", n, step, k, (double)PetscRealPart(got[k]));
  }
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscFree2(host, got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 1, 2, 33, 1000, 1000003}, begins[] = {0, 1, 65535, 1 << 24, 2000000000};
  PetscBool      usable;
  cudaStream_t   stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(begins); b++) PetscCall(TestNoise(sizes[s], begins[b], stream));
      for (PetscInt step = 0; step <= 999; step += 333) {
        PetscCall(TestZeros(sizes[s], step, PETSC_FALSE, stream));
        PetscCall(TestZeros(sizes[s], step, PETSC_TRUE, stream));
      }
      PetscCall(TestZeros(sizes[s], sizes[s], PETSC_FALSE, stream));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      requires: cuda
      output_file: output/empty.out

TEST*/
