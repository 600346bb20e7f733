#pragma once
/*
  What all benchmarks do: beginning and end, options, which cases run, times as a program sees them, wrong results and records.
*/
#include "benchbandwidth.h"
#include "benchrecord.h"
#include "benchtime.h"

#define BENCH_MAX_REPETITIONS 101

typedef struct {
  BenchTimer     timer;
  BenchRecorder  recorder;
  cudaStream_t   stream;
  BenchBandwidth bandwidth; /* of device memory */
  PetscReal      l2_bytes;  /* of the L2 cache */
  PetscInt       num_cases; /* that run */
  PetscInt       failures;  /* wrong results */

  /* Options: what is here before they are read are their defaults. */
  char      output[PETSC_MAX_PATH_LEN], commit[64];
  char      only[64]; /* what the names of cases contain that run */
  PetscBool some;     /* only those cases run that are chosen */
  char     *chosen[64];
  PetscInt  num_chosen;
  PetscInt  samples;     /* of the timer */
  PetscReal budget_us;   /* of the timer */
  PetscInt  repetitions; /* of what is timed as a program sees it */
  PetscBool quiet;       /* no line for people about the device: the records go to standard output */
} Bench;

PETSC_INTERN PetscErrorCode BenchInitialize(int *, char ***, const char[], Bench *);         /* PetscInitialize() of one process; the bench is zero, but for defaults of its options */
PETSC_INTERN PetscErrorCode BenchInitializeParallel(int *, char ***, const char[], Bench *); /* the same of any number of processes */
PETSC_INTERN PetscErrorCode BenchOpen(Bench *, const char[]);                                /* after the options: timer, bandwidth and records of the benchmark of that name; needs a device */
PETSC_INTERN PetscErrorCode BenchClose(Bench *);                                             /* frees all; an error when results were wrong */

/* Options, between PetscOptionsBegin() and PetscOptionsEnd(): -output and -commit; -cases and -samples; -only; -repetitions. */
PETSC_INTERN PetscErrorCode BenchOptions(Bench *, PetscOptionItems);
PETSC_INTERN PetscErrorCode BenchOptionsCases(Bench *, PetscOptionItems);
PETSC_INTERN PetscErrorCode BenchOptionsOnly(Bench *, PetscOptionItems);
PETSC_INTERN PetscErrorCode BenchOptionsRepetitions(Bench *, PetscOptionItems);

PETSC_INTERN PetscErrorCode BenchWants(Bench *, const char[], PetscBool *);                 /* whether the options let a case run */
PETSC_INTERN PetscErrorCode BenchGetCases(const Bench *, PetscInt *, const char *const **); /* number and names of matrices: those of -cases, in its order, take the place of the given ones */

PETSC_INTERN PetscErrorCode BenchMeasure(Bench *, BenchFn *, void *, PetscReal[2]);              /* by the timer: cold and warm */
PETSC_INTERN PetscErrorCode BenchNow(PetscLogDouble *);                                          /* the time, after the device has done all of its work */
PETSC_INTERN PetscErrorCode BenchMedian(PetscInt, PetscReal[], PetscReal *);                     /* the samples are sorted */
PETSC_INTERN PetscErrorCode BenchWrong(Bench *, const char[], ...) PETSC_ATTRIBUTE_FORMAT(2, 3); /* one more wrong result: says which */
/*
  Microseconds below which so many bytes of device memory cannot be read and written. What of the written ones the L2 cache can hold is not counted: it may be there still when the time ends.
  BenchFloorWarm() is for calls back to back: -1 when the bytes fit into the L2 cache, or hardly exceed it.
*/
PETSC_INTERN PetscReal BenchFloor(const Bench *, PetscReal, PetscReal);
PETSC_INTERN PetscReal BenchFloorWarm(const Bench *, PetscReal, PetscReal);
/* A record, with the arguments of BenchRecorderAdd(), and a line for people. BenchRecord(): the competitor's figure is of this run. */
PETSC_INTERN PetscErrorCode BenchRecord(Bench *, const char[], const char[], const char[], PetscReal, PetscReal, const char[], PetscReal);
PETSC_INTERN PetscErrorCode BenchRecordBest(Bench *, const char[], const char[], const char[], PetscReal, PetscReal, const char[], PetscBool, PetscReal);
