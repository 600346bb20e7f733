#pragma once
/*
  Settings of PCGAMG of which the best is what the preset and the tuning are compared with (-grid).
*/
#include "hardsolve.h"

#define HARD_SOLVES 100 // of which the first needs a setup, and the others have new values

PETSC_INTERN int HardGridSize(HardWhere); /* how many there are for a system */
/* where, which from 0 on, size, text: options of PCGAMG and its smoothers */
PETSC_INTERN PetscErrorCode HardGridGet(HardWhere, int, size_t, char[]);
