#pragma once
/* DMDA of PETSc with our code around it. */
#include <petscdmda.h>

/* da.c */
PETSC_INTERN PetscErrorCode DMDARegister_AIJCUDA(void);

/* matrix.c */
PETSC_INTERN PetscErrorCode DMDAHasStencilOfDevice(DM, PetscBool *);
PETSC_INTERN PetscErrorCode DMDASetMatrixPattern(DM, Mat, PetscBool *);
