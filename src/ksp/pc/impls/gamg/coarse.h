#pragma once
/* What coarsecycle.c, coarsekey.c and coarsesolve.c share. */
#include "gamg.h"
#include "../../../ksp/impls/fused/fused.h"

/* Keys say what cycles below the finest level follow from. All fields have one size, so that bytes between them need no care when two keys are compared. */

/* A PC of the coarsest solver, and its matrices. */
typedef struct {
  PetscInt64     id, apply, setupcalled; /* 0: there is none */
  KSPFusedMatKey A, P;
} GAMGPCKey;

/* The solver of the coarsest level. */
typedef struct {
  PetscInt64 solver;
  GAMGPCKey  pc, factor;          /* that of the solver, and the one that factors, which may be the same */
  PetscInt64 F, F_state, F_solve; /* the factors, and what solves with them */
} GAMGCoarsestKey;

/* A vector on the device; address 0: it is elsewhere. */
typedef struct {
  PetscInt64 id, address;
} GAMGVecKey;

typedef struct {
  KSPFusedKey ksp;
  GAMGVecKey  d, work[3]; /* reciprocals of PCJACOBI, the iterates between, and with PCPBJACOBI a residual */
  PetscInt64  blocks;     /* address of the inverses of PCPBJACOBI */
  PetscInt64  size;       /* rows of each */
} GAMGSmootherKey;

typedef struct {
  PetscInt64      residual; /* the function */
  GAMGVecKey      b, x, r;
  KSPFusedMatKey  A, interpolate, restriction;
  GAMGSmootherKey down, up;
} GAMGLevelKey;

/* All of it. */
typedef struct {
  PetscInt64      memory_lost; /* by the library */
  PetscInt64      timed;       /* -log_view_gpu_time */
  PetscInt64      single;      /* products read values in single precision */
  GAMGCoarsestKey coarsest;
  GAMGLevelKey    levels[]; /* those below the finest */
} * GAMGCoarseKey;

/* How the next cycle is done. */
typedef enum {
  COARSE_UNKNOWN,  /* the key has changed */
  COARSE_PETSC,    /* by PETSc's code, until the next setup */
  COARSE_LAUNCHES, /* one by one */
  COARSE_STEADY,   /* the same, and the last time they took no memory: they can be recorded */
  COARSE_GRAPH     /* there is a graph */
} GAMGCoarseState;

struct _n_GAMGCoarse {
  GAMGCoarseState state;
  PetscInt        num_levels; /* below the finest */
  GAMGCoarseKey   key;        /* what state is for */
  GAMGCoarseKey   now;        /* scratch */
  PetscInt        n;          /* rows of the coarsest level */
  PetscScalar    *inverse;    /* [n][n] device */
  GAMGCoarsestKey inverted;   /* the solver that it is of */
  const char     *why;        /* why there is no inverse; NULL: there is one, or n is 0 */
  const char     *said;       /* what PetscInfo() was told last */
  cudaGraphExec_t graph;      /* NULL: none */
  size_t          nodes;      /* its launches */
  PetscLogDouble  flops;      /* of a cycle below the finest level, as the launches log them */
  PetscBool       refused;    /* a recording has failed: there are no more */
  PetscInt64      recordings; /* since the setup */
  PetscInt64      launches;   /* of graphs since the setup */
};

/* coarsekey.c */
PETSC_INTERN PetscErrorCode GAMGCoarseKeyCreate(PetscInt, GAMGCoarseKey *);
PETSC_INTERN PetscErrorCode GAMGCoarseKeyCopy(PetscInt, GAMGCoarseKey, GAMGCoarseKey);
PETSC_INTERN PetscErrorCode GAMGCoarseKeyCompare(PetscInt, GAMGCoarseKey, GAMGCoarseKey, PetscBool *);
PETSC_INTERN Mat            GAMGLevelGetOperator(const PC_MG_Levels *);
PETSC_INTERN PetscErrorCode GAMGCoarseKeyGet(PC_MG_Levels **, PetscInt, GAMGCoarseKey);

/* coarsesolve.c */
PETSC_INTERN PetscErrorCode GAMGCoarseGetFactorPC(KSP, PC *);
PETSC_INTERN PetscErrorCode GAMGCoarseInvert(KSP, PetscScalar **, PetscInt *, const char **);
