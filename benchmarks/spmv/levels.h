#pragma once
#include "../common/bench.h"

PETSC_INTERN PetscErrorCode LevelsSweep(Bench *, PetscInt, PetscBool); /* n, values in single precision */
