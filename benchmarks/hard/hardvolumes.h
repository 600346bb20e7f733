#pragma once
#include "hardsystem.h"

#define HARD_VOLUMES_ENTRIES 7 /* of a row at most */

PETSC_INTERN HardFillFn     HardVolumesFill; /* -div(k grad u) + w . grad u by finite volumes around the centers of cells, u = 0 at the boundary, upwind */
PETSC_INTERN PetscErrorCode HardFieldFill(const HardSystem *, const PetscInt[3], PetscInt, PetscInt, double[]); /* coefficients of the cells begin to end - 1 */
