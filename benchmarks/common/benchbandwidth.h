#pragma once
/*
  What floors are made of: the bandwidth of device memory for mixes of what is read and written.
*/
#include "benchtime.h"

/* Bytes a microsecond, read and written bytes both counted: the best of several kernels and of CUDA's own function where there is one. */
typedef struct {
  PetscReal read;  /* a sum: nothing is written */
  PetscReal triad; /* c = a + s b: one third is written */
  PetscReal copy;  /* half is written */
  PetscReal write; /* nothing is read */
} BenchBandwidth;

PETSC_INTERN PetscErrorCode BenchBandwidthMeasure(BenchTimer *, BenchBandwidth *);
/* Bytes a microsecond for so many bytes read and written: the better one of the two measured mixes between which this mix lies. */
PETSC_INTERN PetscReal BenchBandwidthOf(const BenchBandwidth *, PetscReal, PetscReal);
