#pragma once
/*
  Whole solves and their parts on several GPUs, one process each: what the files share.
*/
#include "../common/bench.h"
#include "../common/benchmemory.h"
#include <petscksp.h>

typedef struct {
  Bench      *bench;  /* recorder: the first process alone has a file */
  BenchTimer *timer;  /* of kernels; NULL without a device */
  MPI_Comm    comm;   /* of all processes */
  PetscMPIInt rank;   /* of this one */
  PetscMPIInt size;   /* processes, and GPUs */
  PetscBool   levels; /* the table of where the time of a cycle goes is wanted */
  PetscBool   phases; /* the same of a setup */
  PetscBool   device; /* matrices are on GPUs; without, everything runs on the host, and times are the host's */
} Scaling;

/* Points of a box; 27-point stencil. */
typedef struct {
  PetscInt nx, ny, nz;
} ScalingGrid;

/* Entries of the rows of this process, as PETSc's bench_kspsolve gives them. */
typedef struct {
  PetscBool    device;     /* where the arrays are */
  PetscInt     num_rows;   /* of this process */
  PetscInt     total_rows; /* of all */
  PetscCount   n;          /* entries */
  PetscInt    *i, *j;      /* [n] */
  PetscScalar *v;          /* [n] */
} ScalingEntries;

/* What is measured with a matrix type. */
typedef enum {
  SCALING_ASSEMBLY,
  SCALING_MULT,
  SCALING_MULT_TRANSPOSE,
  SCALING_SETUP_FIRST,
  SCALING_SETUP,
  SCALING_REFRESH,
  SCALING_SOLVE,
  SCALING_ITERATIONS,
  SCALING_PTAP,
  SCALING_PTAP_NUMERIC,
  SCALING_PEAK_MEMORY,
  SCALING_NUM_METRICS
} ScalingMetric;

/* Something that all processes do together. */
typedef PetscErrorCode ScalingFn(void *);

/* scalingtime.c: times until the slowest process is done, the same answer on all */
PETSC_INTERN PetscErrorCode ScalingNow(Scaling *, PetscLogDouble *);                           /* after all processes have done all of their work */
PETSC_INTERN PetscErrorCode ScalingSince(Scaling *, PetscLogDouble, PetscReal *);              /* seconds since then */
PETSC_INTERN PetscErrorCode ScalingMeasure(Scaling *, ScalingFn *, void *, PetscReal *);       /* median seconds of a call, of many in a row */
PETSC_INTERN PetscErrorCode ScalingMeasureKernel(Scaling *, ScalingFn *, void *, PetscReal *); /* the same of what each process does alone; on a device its time, without the host's for launches */

/* scalingentries.cu */
PETSC_INTERN PetscErrorCode ScalingEntriesCreate(Scaling *, const ScalingGrid *, ScalingEntries *);
PETSC_INTERN PetscErrorCode ScalingEntriesDestroy(ScalingEntries *);

/* scalingsolve.c: values[SCALING_NUM_METRICS], -1 where there is none; a name for the records of levels and phases, NULL: none */
PETSC_INTERN PetscErrorCode ScalingMeasureType(Scaling *, const ScalingGrid *, MatType, PetscInt, const char[], PetscReal[]);

/* scalinglevels.c: where the time of a cycle goes */
PETSC_INTERN PetscErrorCode ScalingMeasureLevels(Scaling *, const char[], PC);

/* scalingphases.c: where a setup goes; name is of the case. The KSP has not been set up yet */
PETSC_INTERN PetscErrorCode ScalingMeasurePhases(Scaling *, const char[], KSP);
