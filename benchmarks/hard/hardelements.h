#pragma once
#include "hardsystem.h"

#define HARD_MAX_DEGREE 4

PETSC_INTERN HardFillFn HardElementsFill; /* -div(K grad u) with a constant tensor K by tensor product elements on a uniform grid; points of the boundary are left out, u = 0 there */
