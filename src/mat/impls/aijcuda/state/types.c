/* The families of our types: which names belong together, and which types the blocks of a parallel matrix have. */
#include "state.h"

#define MAX_FAMILIES 4
static const MatAIJCUDATypes *families[MAX_FAMILIES]; // DCSR comes first, and most often
static size_t                 num_families = 0;

/*
  MatAIJCUDATypesRegister - Makes a family of types known; its names stay. Their constructors and the storage of the sequential types are registered as well.

  Registering a family again does nothing. PETSC_ERR_PLIB: there are too many families.
*/
PetscErrorCode MatAIJCUDATypesRegister(const MatAIJCUDATypes *types)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < num_families; k++)
    if (families[k] == types) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(num_families < MAX_FAMILIES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for the family of %s: raise MAX_FAMILIES", types->root);
  families[num_families++] = types;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDATypesFind - The family of a type: any of the four names of a family, another type, or NULL. *types is NULL when there is none with this name. */
PetscErrorCode MatAIJCUDATypesFind(MatType type, const MatAIJCUDATypes **types)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  *types = NULL;
  for (size_t k = 0; type != NULL && *types == NULL && k < num_families; k++) {
    PetscCall(PetscStrcmpAny(type, &same, families[k]->root, families[k]->aij, families[k]->seq, families[k]->mpi, ""));
    if (same) *types = families[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDATypesFindParallel - The same for the names of parallel types alone. */
PetscErrorCode MatAIJCUDATypesFindParallel(MatType type, const MatAIJCUDATypes **types)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  *types = NULL;
  for (size_t k = 0; type != NULL && *types == NULL && k < num_families; k++) {
    PetscCall(PetscStrcmp(type, families[k]->mpi, &same));
    if (same) *types = families[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
