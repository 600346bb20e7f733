#pragma once
/* Vectors, index sets and the packing of PetscSF; see sys.h. */
#include "sys.h"
#include <petsc/private/isimpl.h>
#include <petsc/private/vecimpl.h>
#include <../src/vec/is/sf/impls/basic/sfpack.h>

/*
  VecIsOnDevice - Whether VecGetArrayAndMemType() of a vector gives device memory, whatever its type is called: VECCUDA and VECKOKKOS, unless they are bound to the CPU.

  PETSc calls this operation if there is one, and gives the host array otherwise. Nothing is allocated or copied, as it would be by asking for the array.
*/
static inline PetscBool VecIsOnDevice(Vec v)
{
  return (PetscBool)(v->ops->getarrayandmemtype != NULL && !v->boundtocpu);
}
