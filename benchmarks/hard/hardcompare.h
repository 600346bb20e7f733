#pragma once
/*
  A solve of a generated system with cycles in some precision.
*/
#include "hardgenerated.h"

typedef struct {
  PetscBool   solved; /* converged, and the true residual agrees */
  PetscInt    its;
  PetscReal   residual; /* the true one, over the right-hand side */
  int         bits;     /* of the values of the finest level that cycles read at the end */
  const char *end;      /* KSPConvergedReasons */
  const char *guard;    /* why guards asked for more bits; NULL: they did not */
} HardOutcome;

/* the system, matrix, matrix of the preconditioner, right-hand side, -pc_gamg_level_values. An error is an outcome, too, but leaves memory behind. Collective */
PETSC_INTERN PetscErrorCode HardCompareSolve(const HardGenerated *, Mat, Mat, Vec, const char[], HardOutcome *);
