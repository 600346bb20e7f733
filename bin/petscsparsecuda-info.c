static char help[] = "Prints what a report of a fault of petscsparsecuda needs; start it as the program in question is started, with the same options and number of processes.\n\n";

#include <petscsparsecuda.h>

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDAView(PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscFinalize());
  return 0;
}
