/*
  MatSetValuesLocal(), and so MatSetValuesStencil(), for matrices of ours: indices are mapped, and the values are staged without the detour through MatSetValues() and what it checks a second time.
*/
#include "insert.h"
#include "../core/core.h"
#include "../../../../petsc/vec.h"

#define NUM_ON_STACK 256 /* indices of a value block that need no memory: those of most elements and stencils */

typedef PetscErrorCode (*SetValuesFn)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode);

/* Global numbers of local indices; negative ones stay as they are. Without a map they are global already. */
static PetscErrorCode MapIndices(ISLocalToGlobalMapping map, PetscInt n, const PetscInt local[], PetscInt global[])
{
  PetscInt mapped = 0;

  PetscFunctionBegin;
  if (map == NULL) {
    PetscCall(PetscArraycpy(global, local, n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (map->bs == 1) {
    const PetscInt *const indices = map->indices, end = map->n;

    for (; mapped < n && local[mapped] < end; mapped++) global[mapped] = local[mapped] < 0 ? local[mapped] : indices[local[mapped]];
  }
  if (mapped < n) PetscCall(ISLocalToGlobalMappingApply(map, n, local, global)); // blocks; and the error for an index that is too large
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDASetValuesLocal - MatSetValuesLocal() of a matrix of ours; setvalues is what MatSetValues() of the type calls.

  Arrays are on the host. Negative indices are ignored; v is [m n], NULL for zeros.
  When something else has taken the place of this operation, such as the hash of a matrix without preallocation or a function of the user's, and in a PETSc for debugging, the values go through
  MatSetValues().
*/
PetscErrorCode MatAIJCUDASetValuesLocal(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode, SetValuesFn setvalues)
{
  PetscInt       some[NUM_ON_STACK], *indices = some, *more = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (m > NUM_ON_STACK || n > NUM_ON_STACK - m) {
    PetscCall(PetscMalloc1((size_t)m + (size_t)n, &more));
    indices = more;
  }
  PetscCallGoto(ierr, cleanup, MapIndices(A->rmap->mapping, m, rows, indices));
  PetscCallGoto(ierr, cleanup, MapIndices(A->cmap->mapping, n, columns, indices + m));
  if (A->ops->setvalues != setvalues || PetscDefined(USE_DEBUG)) PetscCallGoto(ierr, cleanup, MatSetValues(A, m, indices, n, indices + m, v, mode));
  else PetscCallGoto(ierr, cleanup, (*setvalues)(A, m, indices, n, indices + m, v, mode));
cleanup:
  PetscCall(PetscFree(more));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
