#pragma once
/*
  Layer 4: KSPCHEBYSHEV, KSPRICHARDSON and KSPGMRESPOLY with PCJACOBI, a step in one kernel, or with PCPBJACOBI, a step in two, and KSPCG. What the files share.

  All but KSPGMRESPOLY are registered again, with our solve around PETSc's. Ours takes the plain case, a fixed number of steps whose norms nobody asks for, as smoothers have it; PETSc's has all others.
  docs/smoothers.md says which.
  KSPGMRESPOLY is ours; in the other cases its steps are operations of vectors, as PETSc's would be.
*/
#include <petscsparsecuda/disabled.h>
#include <petscsparsecuda/sys.h>
#include <petscsparsecuda/pointblocks.h>
#include "../../../../petsc/ksp.h"

/* What -info says of a solve that was ours. */
#define KSP_FUSED "steps are kernels of the library"

/* What is kept with a KSP: a container composed with it. */
#define KSP_FUSED_CONTEXT "KSPFused_AIJCUDA"
typedef struct {
  PetscBool   fused; /* -ksp_fused */
  const char *said;  /* static: what PetscInfo() was told last: KSP_FUSED, or why the solve was PETSc's; NULL: nothing yet */
} KSPFusedContext;

/* The iterates of a solve. The last one is written where the solution belongs, the others in turn into two work vectors. */
typedef struct {
  KSP      ksp;
  Mat      A;
  Vec      d;         /* reciprocals of PCJACOBI; NULL: the preconditioner is PCPBJACOBI */
  Vec      x;         /* iterate of now; NULL: zero */
  Vec      q;         /* the one before; NULL: zero, or there is none */
  PetscInt num_steps; /* of the solve */
} KSPFusedIteration;

/*
  Numbers that tell whether something is as it was, for whoever does without KSPSolve() and PETSc's look at everything in each solve: KSPFusedGetKey(). All fields have one size, so that bytes between
  them need no care when two keys are compared.

  What a decision reads of a KSP or a matrix belongs here, or the decision will not be made anew when it changes.
*/
typedef struct {
  PetscInt64 id, state, nonzero_state;                                 /* 0: there is no matrix */
  PetscInt64 flags;                                                    /* KSPFusedMatFlag */
  PetscInt64 mult, multadd, multtranspose, multtransposeadd, residual; /* its operations: MatSetOperation() raises no state */
} KSPFusedMatKey;

/* MatSetNullSpace() raises no state. */
typedef enum {
  KSP_FUSED_MAT_ASSEMBLED            = 1,
  KSP_FUSED_MAT_BOUND                = 2,
  KSP_FUSED_MAT_NULL_SPACE           = 4,
  KSP_FUSED_MAT_TRANSPOSE_NULL_SPACE = 8
} KSPFusedMatFlag;

typedef struct {
  PetscInt64     id, pc;     /* of the KSP and its PC */
  PetscInt64     flags;      /* KSPFusedFlag */
  PetscInt64     factors[2]; /* bits of the numbers that the steps are made of */
  PetscInt64     max_it, nwork;
  PetscInt64     solve, converged, apply; /* functions of the KSP, and of the PC */
  KSPFusedMatKey A;                       /* the operator, which may be another one than that of the residual */
} KSPFusedKey;

typedef enum {
  KSP_FUSED_OURS       = 1, /* the solve is one of ours, and its numbers are known */
  KSP_FUSED_ASKED      = 2, /* -ksp_fused */
  KSP_FUSED_SILENT     = 4, /* KSPIsSilent() */
  KSP_FUSED_SET_UP     = 8, /* KSPSetUp() would do nothing */
  KSP_FUSED_PC_SET_UP  = 16,
  KSP_FUSED_NO_NORM    = 32, /* KSP_NORM_NONE and the side of the preconditioner, which the type supports */
  KSP_FUSED_GUESS_ZERO = 64,
  KSP_FUSED_HISTORY    = 128,
  KSP_FUSED_ERRORS     = 256 /* KSPSetErrorIfNotConverged() */
} KSPFusedFlag;

/* A step of KSPGMRESPOLY, in the order in which they are taken: y = x + alpha D (b - A x) + gamma (q - x), where q is the iterate before x. */
typedef struct {
  PetscReal     re, im; /* the root that it is for; the second step of a pair has the conjugate one */
  AlignedScalar alpha;  /* reciprocal of the root, or of its modulus in a pair */
  PetscReal     gamma;  /* 0 but in the second step of a pair */
} KSPGMRESPolyStep;

/* What is kept with a KSPGMRESPOLY. */
typedef struct {
  PetscInt          degree;    /* max_it when the steps were made; -1: there are none */
  PetscInt          num_steps; /* up to degree */
  KSPGMRESPolyStep *steps;     /* [degree] owned; NULL: none were made */
  PetscBool         failed;    /* there are none, for the preconditioner has failed, or numbers are not finite */
  PetscInt          setups;    /* how often the steps were made */
  PetscObjectId     ids[2];    /* of the operator and the matrix of the preconditioner when they were made, */
  PetscObjectState  states[2]; /* and their states */
} KSP_GMRESPoly;

/* fused.c */
PETSC_INTERN PetscErrorCode KSPFusedWhyNot(KSP, Vec, Vec, KSPFusedIteration *, const char **);
PETSC_INTERN PetscErrorCode KSPFusedIsAsked(KSP, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedCreate(KSP);
PETSC_INTERN PetscErrorCode KSPFusedSetFromOptions(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPFusedSay(KSP, const char[]);
PETSC_INTERN PetscErrorCode KSPFusedBegin(KSP, KSPFusedIteration *, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedSmooth(const KSPFusedIteration *, PetscScalar, PetscScalar, Vec, PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode KSPFusedStep(KSPFusedIteration *, PetscScalar, PetscScalar, PetscScalar);
PETSC_INTERN PetscErrorCode KSPFusedEnd(KSPFusedIteration *);
PETSC_INTERN PetscErrorCode KSPFusedRegister_AIJCUDA(void);

/* chebyshev.c */
PETSC_INTERN PetscErrorCode KSPChebyshevRegister_AIJCUDA(void);
PETSC_INTERN PetscBool      KSPChebyshevGetFactors_AIJCUDA(KSP, PetscReal[2]);

/* cg.c */
PETSC_INTERN PetscErrorCode KSPCGRegister_AIJCUDA(void);

/* estimate.c */
PETSC_INTERN PetscErrorCode KSPSetNoise_AIJCUDA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatCreateVecForSetup(Mat, Vec *);
PETSC_INTERN PetscErrorCode KSPEstimateBegin(KSP);
PETSC_INTERN PetscErrorCode KSPEstimateEnd(KSP);
PETSC_INTERN PetscErrorCode KSPEstimateRegister_AIJCUDA(void);

/* richardson.c */
PETSC_INTERN PetscErrorCode KSPRichardsonRegister_AIJCUDA(void);
PETSC_INTERN PetscBool      KSPRichardsonGetFactors_AIJCUDA(KSP, PetscReal[2]);

/* gmrespoly.c */
PETSC_INTERN PetscErrorCode KSPGMRESPolyRegister_AIJCUDA(void);
PETSC_INTERN PetscBool      KSPGMRESPolyGetFactors_AIJCUDA(KSP, PetscReal[2]);

/* apply.c: solves without KSPSolve() around them */
PETSC_INTERN PetscBool      KSPIsSilent(KSP);
PETSC_INTERN PetscErrorCode KSPFusedApplyWhyNot(KSP, Vec, Vec, PetscBool, const char **);
PETSC_INTERN PetscErrorCode KSPFusedApply(KSP, Vec, Vec, PetscBool);
PETSC_INTERN PetscErrorCode KSPFusedGetMatKey(Mat, KSPFusedMatKey *);
PETSC_INTERN PetscErrorCode KSPFusedGetKey(KSP, KSPFusedKey *);
