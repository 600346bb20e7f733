#pragma once
/* What coarsecycle.c and coarsesolve.c share. */
#include "gamg.h"

/* coarsesolve.c */
PETSC_INTERN PetscErrorCode GAMGCoarseGetFactorPC(KSP, PC *);
PETSC_INTERN PetscErrorCode GAMGCoarseInvert(KSP, PetscScalar **, PetscInt *, const char **);
