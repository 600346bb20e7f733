#pragma once
/*
  Layer 1: what PetscSparseCUDAView() asks, and nobody else. A header of its own, since no kernel needs it.
*/
#include <petscsparsecuda/tuning.h>

PETSC_INTERN PetscErrorCode PetscSparseCUDADeviceObstacle(const char *[]);
PETSC_INTERN PetscErrorCode PetscSparseCUDATuningOfDevice(int, DCSRDeviceFacts *, const PetscSparseCUDATuning **);
PETSC_INTERN cudaError_t    PetscSparseCUDAPreloadTry(void);
