#pragma once
/* PCJACOBI of PETSc with our code around it. */
#include <petscpc.h>

/* jacobi.c */
PETSC_INTERN PetscErrorCode PCJacobiRegister_AIJCUDA(void);
PETSC_INTERN PetscErrorCode PCJacobiGetReciprocals_AIJCUDA(PC, Vec, Vec *);
PETSC_INTERN PetscErrorCode VecReplaceZeros_AIJCUDA(Vec, PetscScalar, PetscBool, PetscBool *);
