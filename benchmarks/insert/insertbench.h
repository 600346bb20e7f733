#pragma once
/*
  What the parts of the benchmark of insertion share.
*/
#include <petscmat.h>
#include <petscsparsecuda.h>
#include "../common/benchrecord.h"
#include "../common/benchtime.h"
#include "insertlists.h"
#include "insertrebuild.h"

typedef struct {
  BenchTimer    timer;
  BenchRecorder recorder;
  PetscReal     bandwidth; /* bytes a microsecond of a copy */
  PetscInt      stencil_n, hexahedra_n, grid_n;
  char          only[64];
  PetscInt      num_cases, failures;
} InsertBench;

/* What one record says; numbers that are not known are -1, as in benchrecord.h. */
typedef struct {
  const char *name, *metric, *unit;
  PetscReal   ours, best;
  const char *competitor;
  PetscReal   floor;
} InsertResult;

PETSC_INTERN PetscErrorCode InsertBenchWants(InsertBench *, const char[], PetscBool *); /* whether -only lets a case run */
PETSC_INTERN PetscErrorCode InsertBenchRecord(InsertBench *, const InsertResult *);     /* a record and a line for people */
PETSC_INTERN PetscErrorCode InsertBenchTime(PetscLogDouble *);                          /* the time, after the device has done all of its work */
PETSC_INTERN PetscErrorCode InsertBenchMedian(PetscInt, PetscReal[], PetscReal *);
/* Compares two matrices by their number of nonzeros and a product with a random vector, and says WRONG when they differ. */
PETSC_INTERN PetscErrorCode InsertBenchCompare(InsertBench *, const char[], Mat, Mat);
PETSC_INTERN PetscErrorCode InsertBenchCompareRebuild(InsertBench *, const char[], Mat, const InsertRebuild *);

PETSC_INTERN PetscErrorCode InsertBenchCOO(InsertBench *);
PETSC_INTERN PetscErrorCode InsertBenchSetValues(InsertBench *);
PETSC_INTERN PetscErrorCode InsertBenchBatches(InsertBench *);
