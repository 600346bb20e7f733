#include <petscsparsecuda/sys.h>

/*
  PetscSparseCUDADeviceUsable - Says whether CUDA kernels can run in this process, without raising an error when they cannot.

  Not Collective

  Output Parameter:
. usable - PETSC_FALSE without a driver, without a device, or when the options forbid one (-device_enable none, -device_enable_cuda none)

  Note:
  Asked once; PETSc has no public query, and raises an error on first use of a missing device.
*/
PetscErrorCode PetscSparseCUDADeviceUsable(PetscBool *usable)
{
  static int answer = -1;

  PetscFunctionBegin;
  if (answer < 0) {
    const char *const names[] = {"-device_enable", "-device_enable_cuda"};
    int               count   = 0;

    answer = 1;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
      char      value[32] = "";
      PetscBool set, none;

      PetscCall(PetscOptionsGetString(NULL, NULL, names[k], value, sizeof(value), &set));
      PetscCall(PetscStrcasecmp(value, "none", &none));
      if (set && none) answer = 0;
    }
    if (answer && (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)) {
      (void)cudaGetLastError(); // a later check must not find this one
      answer = 0;
    }
    if (answer) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  }
  *usable = answer ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAGetStream - The stream of the current PetscDeviceContext, which PETSc's own vectors use too.

  Not Collective

  Output Parameter:
. stream - borrowed; ask again for each operation, the current context may be switched
*/
PetscErrorCode PetscSparseCUDAGetStream(cudaStream_t *stream)
{
  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
