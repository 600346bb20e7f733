static char help[] = "PetscSparseCUDAView() has all sections, with the option and by the call, and names what is left to PETSc once.\n\n";

#include <petscsparsecuda/disabled.h>
#include <petscsparsecuda.h>

int main(int argc, char **argv)
{
  PetscViewer binary;
  PetscBool   call = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-call", &call, NULL));
  if (call) {
    for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDADisabled("what the test has noted"));
    PetscCall(PetscSparseCUDAView(PETSC_VIEWER_STDOUT_WORLD));
    PetscCall(PetscViewerCreate(PETSC_COMM_WORLD, &binary)); // nothing is printed
    PetscCall(PetscViewerSetType(binary, PETSCVIEWERBINARY));
    PetscCall(PetscSparseCUDAView(binary));
    PetscCall(PetscViewerDestroy(&binary));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: option
    nsize: {{1 2}}
    args: -petscsparsecuda_info -device_enable {{none lazy}}
    filter: grep -oE "^[A-Za-z][A-Za-z ]*:"
  test:
    suffix: call
    nsize: 2
    args: -call -device_enable none
    filter: sed -n "/^Left to PETSc/,/ with /p" | sed "s/^  .*: 2 with/  HOST: 2 with/"
  test:
    suffix: device
    requires: cuda
    args: -petscsparsecuda_info
    filter: grep -cE ": 1 with GPU [0-9a-fA-F:.]+$"

TEST*/
