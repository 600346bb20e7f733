#pragma once
/* PCPBJACOBI and PCVPBJACOBI of PETSc with our code around them. */
#include <petscpc.h>
#include <petscsparsecuda/pointblocks.h>

/* pbjacobi.c */
PETSC_INTERN PetscErrorCode PCPBJacobiRegister_AIJCUDA(void);
PETSC_INTERN PetscErrorCode PCPBJacobiGetBlocks_AIJCUDA(PC, const DCSRPointBlocks **);
PETSC_INTERN PetscErrorCode PCPBJacobiStep_AIJCUDA(PC, PetscScalar, Vec, PetscScalar, Vec, PetscScalar, Vec, Vec);
