#pragma once
/*
  What a solver with some options costs on a system: first setup and solve, and again with new values.
*/
#include "hardsystem.h"

typedef enum {
  HARD_WHOLE,      /* seconds: setup and solve by a new KSP */
  HARD_STEP,       /* seconds: new values from device memory (MATSEQAIJ: from the host), setup and solve by a KSP that has solved before */
  HARD_ITERATIONS, /* cycles of the preconditioner of the first solve: one in an iteration of CG, two in one of BiCGStab */
  HARD_COMPLEXITY, /* of PCGAMG, nonzeros of the operators of all levels over those of the matrix */
  HARD_MEMORY,     /* bytes in use on the device during the first setup and solve, the matrix included */
  HARD_SEARCH,     /* seconds: setup and solve by a new KSP that searches for its settings, which the others are of */
  HARD_NUM_METRICS
} HardMetric;

/* For which systems a configuration is. */
typedef enum {
  HARD_SCALAR      = 1, /* symmetric */
  HARD_BLOCKS      = 2,
  HARD_UNSYMMETRIC = 4,
  HARD_ANY         = 7
} HardWhere;

typedef struct {
  const char *name;    /* ends the case of the records */
  MatType     type;    /* of the matrix */
  int         where;   /* HardWhere, added up */
  PetscBool   rival;   /* not ours */
  const char *options; /* that are set while it runs; others stay as they are */
  PetscBool   tunes;   /* they begin a search, and what it finds is measured */
} HardConfiguration;

typedef struct {
  PetscBool device;         /* there is one: times are until it is done */
  PetscInt  repetitions[2]; /* of HARD_WHOLE and HARD_STEP, whose medians count; what takes longer than 2 s runs once */
  PetscInt  max_cycles;     /* of a solve */
  PetscReal max_seconds;    /* of a setup and solve */
} HardLimits;

typedef struct {
  PetscReal value[HARD_NUM_METRICS]; /* -1: there is none */
  PetscReal setup[2], solve[2];      /* seconds: the last parts of HARD_WHOLE and HARD_STEP */
  PetscReal residual;                /* the larger true one, over the right-hand side */
  char      tuned[512];              /* options that a search found, empty without one */
  char      failed[256];             /* why it did not work, without quotation marks; empty: it did */
} HardResult;

PETSC_INTERN HardWhere HardSystemWhere(const HardSystem *);
/*
  The matrix is one of HardProblemCreateMat(), and has the same values afterwards. Before, the same is done with a system of the other problem, unless it is NULL, so that nothing counts that a process
  does once.
  Divergence, errors and limits that are exceeded are results.
*/
/* limits, problem, the small one, the matrix, configuration */
PETSC_INTERN PetscErrorCode HardMeasure(const HardLimits *, const HardProblem *, const HardProblem *, Mat, const HardConfiguration *, HardResult *);
