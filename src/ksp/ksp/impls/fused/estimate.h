#pragma once
/*
  Krylov methods whose steps are kernels of ours, with all numbers on the device: KSPCG, and with PCJACOBI estimates of eigenvalues by KSPCG and KSPGMRES, whose solution nobody wants. Of these the host
  learns in the end what the numbers were.
*/
#include "fused.h"
#include <petscsparsecuda/smooth.h>

#define ESTIMATE_MAX_STEPS 100 /* they are all done before the host looks whether fewer were enough */

/* What the steps of an estimate work on. */
typedef struct {
  Mat          A;       /* borrowed, as all vectors */
  PC           pc;      /* of KSPCG with a solution when it is not PCJACOBI; otherwise NULL */
  Vec          d, b;    /* reciprocals of PCJACOBI, NULL with pc; right-hand side */
  PetscInt     n;       /* entries of this process */
  PetscScalar *basis;   /* [num_basis][n] device, owned; NULL where num_basis or n is 0 */
  PetscScalar *numbers; /* [num_numbers] device, owned: sums, zero at first */
  char        *work;    /* [DCSR_SUM_BYTES] device, owned */
  cudaStream_t stream;
} Estimate;

/* estimate.c */
PETSC_INTERN PetscBool      EstimateHasPlainSettings(KSP);
PETSC_INTERN PetscErrorCode EstimateBegin(KSP, PetscBool, PetscBool, size_t, const Vec[], PetscInt, PetscInt, Estimate *, PetscBool *);
PETSC_INTERN PetscErrorCode EstimateEnd(Estimate *);
PETSC_INTERN PetscErrorCode EstimateAddUp(const Estimate *, PetscInt, PetscScalar[]);
PETSC_INTERN PetscBool      EstimateAreFinite(PetscInt, const PetscScalar[]);

/* estimatecg.c: steps of KSPCG */
PETSC_INTERN PetscErrorCode EstimateCGStart(const Estimate *, Vec, PetscBool, Vec, Vec, PetscScalar[]);
PETSC_INTERN PetscErrorCode EstimateCGTurn(const Estimate *, Vec, const PetscScalar[], const PetscScalar[], Vec);
PETSC_INTERN PetscErrorCode EstimateCGApply(const Estimate *, Vec, Vec, PetscBool, PetscScalar[]);
PETSC_INTERN PetscErrorCode EstimateCGUpdate(const Estimate *, Vec, Vec, PetscBool, const PetscScalar[], PetscScalar[], Vec, Vec, PetscScalar[]);

/* estimatecg.c, estimategmres.c: PETSc's solve for which there is one of ours, and that one; NULL: PETSc's struct is another one than ours */
PETSC_INTERN PetscErrorCode KSPEstimateCGFits(PetscBool *);
PETSC_INTERN PetscErrorCode KSPEstimateCGRegister(PetscErrorCode (**)(KSP), PetscErrorCode (**)(KSP));
PETSC_INTERN PetscErrorCode KSPEstimateGMRESRegister(PetscErrorCode (**)(KSP), PetscErrorCode (**)(KSP));
