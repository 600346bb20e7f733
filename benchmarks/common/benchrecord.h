#pragma once
/*
  Result records: one JSON object a line. A number that is not known is given as -1 and written as null.
*/
#include <petscsys.h>
#include <stdio.h>

/* How floors are made (docs/measuring.md); records with a floor name it. 1, which records without the key have, was the bandwidth of a copy for everything. */
#define BENCH_FLOOR_VERSION 2

typedef struct {
  FILE       *file; /* NULL: nothing is written */
  const char *benchmark;
  int         gpus;   /* that were used together; 0: the benchmark is of one, and records do not say */
  const char *failed; /* why there is no figure of ours, in the records that follow; NULL: there is one */
  char        gpu[256], driver[32], cuda[32], petsc[32], commit[64], date[32];
} BenchRecorder;

PETSC_INTERN PetscErrorCode BenchRecorderCreate(const char[], const char[], const char[], BenchRecorder *); /* benchmark, output file or NULL, commit or NULL */
PETSC_INTERN PetscErrorCode BenchRecorderDestroy(BenchRecorder *);
/* case, metric, unit, ours, best, competitor or NULL, whether its figure was measured earlier on the same GPU model, floor */
PETSC_INTERN PetscErrorCode BenchRecorderAdd(BenchRecorder *, const char[], const char[], const char[], PetscReal, PetscReal, const char[], PetscBool, PetscReal);
