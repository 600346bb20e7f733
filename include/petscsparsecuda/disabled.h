#pragma once
/*
  Layer 1: what the library leaves to PETSc because this PETSc is not the one that it knows. A header of its own, since no kernel needs it.
*/
#include <petscsys.h>

PETSC_INTERN PetscErrorCode PetscSparseCUDADisabled(const char[]);
PETSC_INTERN const char    *PetscSparseCUDAGetDisabled(int);
