#pragma once
/*
  Result records: one JSON object a line. A number that is not known is given as -1 and written as null.
*/
#include <petscsys.h>
#include <stdio.h>

typedef struct {
  FILE       *file; /* NULL: nothing is written */
  const char *benchmark;
  char        gpu[256], driver[32], cuda[32], petsc[32], commit[64], date[32];
} BenchRecorder;

PETSC_INTERN PetscErrorCode BenchRecorderCreate(const char[], const char[], const char[], BenchRecorder *); /* benchmark, output file or NULL, commit or NULL */
PETSC_INTERN PetscErrorCode BenchRecorderDestroy(BenchRecorder *);
/* case, metric, unit, ours, best, competitor or NULL, floor */
PETSC_INTERN PetscErrorCode BenchRecorderAdd(BenchRecorder *, const char[], const char[], const char[], PetscReal, PetscReal, const char[], PetscReal);
