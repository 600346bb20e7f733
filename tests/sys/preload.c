static char help[] = "The thread that loads kernels beforehand: all of them can be loaded, and a program may end, and PETSc may begin again, while it runs.\n\n";

#include "../lib/sys.h"
#include <petscsparsecuda/preload.h>
#include <petscsparsecuda/sys.h>
#include <petscsparsecuda.h>

/* Uses the device for the first time, which starts the thread. */
static PetscErrorCode Use(PetscBool wait)
{
  PetscBool    usable, wanted = PETSC_TRUE;
  PetscInt     loaded, failed, more, failed_more;
  cudaStream_t stream;
  char        *memory;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAMalloc(1, "a test", stream, &memory));
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  if (!wait) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_dcsr_preload", &wanted, NULL));
  PetscCall(PetscSparseCUDATestPreloadWait(&loaded, &failed));
  PetscCall(PetscSparseCUDAPreloadAsk(PETSCSPARSECUDA_PRELOAD_HISPARSE)); // while the device is in use
  PetscCall(PetscSparseCUDATestPreloadWait(&more, &failed_more));
  PetscCheck(failed_more == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " kernels cannot be loaded", failed_more);
  PetscCheck(wanted ? more > loaded : more == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " kernels were loaded, and %" PetscInt_FMT " after others were asked for", loaded, more);
  PetscCheck(failed == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " kernels cannot be loaded", failed);
  PetscCheck(wanted ? loaded > 0 : loaded == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " kernels were loaded", loaded);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(Use(k == 1 ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(PetscFinalize());
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

/*TEST

  test:
    requires: cuda
    nsize: {{1 2}}
    args: -mat_dcsr_preload {{true false}}
    output_file: output/empty.out
  test:
    suffix: host
    args: -device_enable none -mat_dcsr_preload {{true false}}
    output_file: output/empty.out

TEST*/
