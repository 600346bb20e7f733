#pragma once
/* DMPLEX of PETSc with our code around it. */
#include <petscdmplex.h>

/* plex.c */
PETSC_INTERN PetscErrorCode DMPlexRegister_AIJCUDA(void);

/* matrix.c */
PETSC_INTERN PetscErrorCode DMPlexHasPatternOfElements(DM, PetscBool *);
PETSC_INTERN PetscErrorCode DMPlexSetMatrixPattern(DM, Mat, PetscBool *);
