#pragma once
/* Matrices for tests of PCGAMG, and solves whose iterations and views are compared with those of MATAIJ. */
#include <petscsparsecuda.h>
#include <petscksp.h>

typedef enum {
  PROBLEM_5POINT,
  PROBLEM_7POINT,
  PROBLEM_27POINT,
  PROBLEM_ANISOTROPIC, /* 7 points, 1 : 0.1 : 0.01 */
  PROBLEM_ELASTICITY,  /* three unknowns a point, springs between the points of a cube */
  PROBLEM_UNSYMMETRIC, /* 7 points, with some couplings in one direction alone */
  PROBLEM_RANDOM,      /* with isolated rows, hubs, missing diagonals */
  NUM_PROBLEMS
} Problem;
extern const char *const Problems[];

typedef enum {
  NEAR_NULL_NONE,
  NEAR_NULL_HOST,        /* rigid body modes, or constants and a linear function, in ordinary vectors */
  NEAR_NULL_DEVICE,      /* the same in vectors of the matrix */
  NEAR_NULL_COORDINATES, /* PCSetCoordinates() */
  NEAR_NULL_MEMORY       /* as NEAR_NULL_HOST in arrays of the program, containers "memory" of the vectors */
} NearNull;
extern const char *const NearNulls[];

/* A problem as the options say. */
typedef struct {
  Problem   problem;
  NearNull  near_null;
  PetscInt  n;              /* points in a direction; vertices of a random graph are n^3 */
  PetscInt  seed, degree;   /* of a random graph, */
  PetscInt  hubs;           /* vertices with many neighbors, */
  PetscReal isolated, bare; /* parts without neighbors, and without a diagonal entry, */
  PetscBool local;          /* neighbors have close numbers */
  PetscBool every_other;    /* every other process has no rows */
  PetscBool mpi;            /* MATMPIAIJ also on one process */
} ProblemOptions;

/* What a solve leaves. */
typedef struct {
  PetscInt  its;
  PetscReal rnorm, rtol_norm; /* at the end, and the norm that it had to reach */
  PetscReal rtol;
  Vec       x;    /* on the host */
  FILE     *view; /* of the KSP, on the first process; else NULL */
} Solution;

PetscErrorCode ProblemFromOptions(ProblemOptions *);
PetscErrorCode ProblemsTest(PetscErrorCode (*)(const ProblemOptions *, const void *), const void *);
PetscErrorCode ProblemCreate(const ProblemOptions *, const char[], Mat *);
PetscErrorCode ProblemCreateKSP(const ProblemOptions *, Mat, KSP *);
PetscErrorCode ProblemCountSupported(PetscInt *);
PetscErrorCode ProblemSolve(Mat, KSP, Solution *);
PetscErrorCode SolutionCompare(const ProblemOptions *, const Solution *, const Solution *, const char[]);
PetscErrorCode SolutionDestroy(Solution *);
