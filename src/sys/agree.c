/* What runs out of memory or is refused on one process alone is an error on all, so that nobody waits for the others in what comes next. */
#include <petscsparsecuda/sys.h>

/*
  PetscSparseCUDAErrorOfAll - The error of this process, or where it has none that of another one, which is raised here
  most: the largest error code on all processes, 0: none has one. mine: how the work of this process ended.
*/
PetscErrorCode PetscSparseCUDAErrorOfAll(int most, PetscErrorCode mine)
{
  if (mine != PETSC_SUCCESS || most == 0) return mine;
  return PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, (PetscErrorCode)most, PETSC_ERROR_INITIAL, "Another process has failed and says why");
}

/*
  PetscSparseCUDAAgree - After work of each process for itself, which ended with mine: all fail when one does. Collective on comm
  all is mine, or where that is no error the one of another process, which is raised here. Cost: one reduction of an integer.
*/
PetscErrorCode PetscSparseCUDAAgree(MPI_Comm comm, PetscErrorCode mine, PetscErrorCode *all)
{
  int code = (int)mine;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, comm));
  *all = PetscSparseCUDAErrorOfAll(code, mine);
  PetscFunctionReturn(PETSC_SUCCESS);
}
