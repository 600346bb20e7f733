#pragma once
/*
  Floor 4: KSPCHEBYSHEV and KSPRICHARDSON with PCJACOBI, a step in one kernel. What the files share.

  Both types are registered again, with our solve around PETSc's. Ours takes the plain case, a fixed number of steps whose norms nobody asks for, as smoothers have it; PETSc's has all others. docs/smoothers.md says which.
*/
#include <petsc/private/kspimpl.h>

/* What KSPFusedGetReason() says of a solve that was ours. */
#define KSP_FUSED "one kernel a step"

/* The iterates of a solve. The last one is written where the solution belongs, the others in turn into two work vectors. */
typedef struct {
  KSP ksp;
  Mat A;
  Vec d; /* reciprocals of PCJACOBI */
  Vec x; /* iterate of now; NULL: zero */
  Vec q; /* the one before; NULL: zero, or there is none */
} KSPFusedIteration;

/* Numbers that the steps of a solve follow from, beside matrices and vectors: KSPFusedGetKey(). */
#define KSP_FUSED_KEY 12

/* fused.c */
PETSC_INTERN PetscErrorCode KSPFusedWhyNot(KSP, Vec, Vec, KSPFusedIteration *, const char **);
PETSC_INTERN PetscErrorCode KSPFusedCreate(KSP);
PETSC_INTERN PetscErrorCode KSPFusedSetFromOptions(KSP, PetscOptionItems);
PETSC_INTERN PetscErrorCode KSPFusedBegin(KSP, KSPFusedIteration *, PetscBool *);
PETSC_INTERN PetscErrorCode KSPFusedStep(KSPFusedIteration *, PetscScalar, PetscScalar, PetscScalar);
PETSC_INTERN PetscErrorCode KSPFusedEnd(KSPFusedIteration *);
PETSC_INTERN PetscErrorCode KSPFusedGetReason(KSP, const char **);
PETSC_INTERN PetscErrorCode KSPFusedRegister_AIJCUDA(void);

/* chebyshev.c */
PETSC_INTERN PetscErrorCode KSPChebyshevRegister_AIJCUDA(void);
PETSC_INTERN PetscBool      KSPChebyshevGetFactors_AIJCUDA(KSP, PetscReal[2]);

/* richardson.c */
PETSC_INTERN PetscErrorCode KSPRichardsonRegister_AIJCUDA(void);
PETSC_INTERN PetscBool      KSPRichardsonGetFactors_AIJCUDA(KSP, PetscReal[2]);

/* apply.c: solves without KSPSolve() around them */
PETSC_INTERN PetscBool      KSPIsSilent(KSP);
PETSC_INTERN PetscErrorCode KSPFusedApplyWhyNot(KSP, Vec, Vec, PetscBool, const char **);
PETSC_INTERN PetscErrorCode KSPFusedApply(KSP, Vec, Vec, PetscBool);
PETSC_INTERN void           KSPFusedGetKey(KSP, PetscInt64[KSP_FUSED_KEY], PetscBool *);
