#pragma once
/* DMCreateMatrix() of matrices of ours whose pattern the device makes: what DMDA and DMPLEX share. */
#include <petscdm.h>

/* A function that gives an empty matrix of ours, which inserts on the device, its pattern; collective. It says whether it did, the same on all processes. */
typedef PetscErrorCode (*DMMatrixPatternFn)(DM, Mat, PetscBool *);

/* dmmatrix.c */
PETSC_INTERN PetscErrorCode DMMatrixMakesOurs(DM, PetscBool *);
PETSC_INTERN PetscErrorCode DMMatrixCreateOnDevice(DM, PetscErrorCode (*)(DM, Mat *), DMMatrixPatternFn, Mat *);
