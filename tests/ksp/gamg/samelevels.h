#pragma once
/* Two PCGAMG that have to be the same: their levels, and what they make of a vector. */
#include <petscksp.h>

PetscErrorCode LevelsCreateKSP(Mat, KSP *);           /* GMRES with PCGAMG and the options */
PetscErrorCode LevelsCompare(KSP, KSP, const char[]); /* after KSPSetUp(); the first one is right */
