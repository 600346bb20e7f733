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
  GAMGVecKey  d, work[2]; /* reciprocals of PCJACOBI, and the iterates between */
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
  GAMGCoarsestKey coarsest;
  GAMGLevelKey    levels[]; /* those below the finest */
} * GAMGCoarseKey;

/* coarsekey.c */
PETSC_INTERN PetscErrorCode GAMGCoarseKeyCreate(PetscInt, GAMGCoarseKey *);
PETSC_INTERN PetscErrorCode GAMGCoarseKeyCopy(PetscInt, GAMGCoarseKey, GAMGCoarseKey);
PETSC_INTERN PetscErrorCode GAMGCoarseKeyCompare(PetscInt, GAMGCoarseKey, GAMGCoarseKey, PetscBool *);
PETSC_INTERN Mat            GAMGLevelGetOperator(const PC_MG_Levels *);
PETSC_INTERN PetscErrorCode GAMGCoarseKeyGet(PC_MG_Levels **, PetscInt, GAMGCoarseKey);

/* coarsesolve.c */
PETSC_INTERN PetscErrorCode GAMGCoarseGetFactorPC(KSP, PC *);
PETSC_INTERN PetscErrorCode GAMGCoarseInvert(KSP, PetscScalar **, PetscInt *, const char **);
