#pragma once
#include "hardsystem.h"

#define HARD_ELASTICITY_ENTRIES 81 /* of a row at most */

PETSC_INTERN HardFillFn     HardElasticityFill;                                          /* linear elasticity with trilinear bricks; the side x = 0 is clamped, and its points are left out */
PETSC_INTERN PetscErrorCode HardElasticityCoordinates(const HardProblem *, PetscReal[]); /* of the points of this process, 3 each */
