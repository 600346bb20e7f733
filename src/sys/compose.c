#include <petscsparsecuda/sys.h>

/*
  PetscSparseCUDACompose - PetscObjectContainerCompose() that is not collective: the container belongs to this process, also that of an object of several
  One with their communicator takes a tag of it. Where some processes alone compose something, because the others have no rows, or no memory, tags differ from then on, and later messages never arrive.
*/
PetscErrorCode PetscSparseCUDACompose(PetscObject object, const char name[], void *pointer, PetscCtxDestroyFn *destroy)
{
  PetscContainer container;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  ierr = PetscObjectCompose(object, name, (PetscObject)container);
  if (ierr == PETSC_SUCCESS) ierr = PetscContainerSetPointer(container, pointer);
  if (ierr == PETSC_SUCCESS) ierr = PetscContainerSetCtxDestroy(container, destroy);
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(ierr);
}
