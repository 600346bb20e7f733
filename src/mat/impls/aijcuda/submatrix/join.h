#pragma once
/*
  Parallel matrices whose rows or columns all go to the first process.
*/
#include "../core/core.h"

PETSC_INTERN PetscErrorCode MatMPIAIJCUDAJoinColumns(Mat, Mat *); /* mpijoin.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAJoinRows(Mat, Mat *);
