#pragma once
/* To be replaced by the header of the kernels that coarsen. */
#include <petscsys.h>

PETSC_INTERN PetscErrorCode DCSRGetRandomReals(PetscInt, PetscReal[]);
