#pragma once
/* The structs of Krylov methods whose steps are reproduced; see sys.h. */
#include "ksp.h"
#include <../src/ksp/ksp/impls/cg/cgimpl.h>
#include <../src/ksp/ksp/impls/cheby/chebyshevimpl.h>
#include <../src/ksp/ksp/impls/gmres/gmresimpl.h>
#include <../src/ksp/ksp/impls/rich/richardsonimpl.h>

/* KSPChebyshevIsEstimateOf - Whether the eigenvalues that an estimator has found are those of the matrices as they are now. */
static inline PetscErrorCode KSPChebyshevIsEstimateOf(const KSP_Chebyshev *cheb, Mat A, Mat P, PetscBool *is)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 26, 0)
  *is = (PetscBool)(((PetscObject)A)->id == cheb->amatid && ((PetscObject)P)->id == cheb->pmatid && ((PetscObject)A)->state == cheb->amatstate && ((PetscObject)P)->state == cheb->pmatstate);
#else
  MatState  a, p;
  PetscBool same;

  PetscCall(MatGetState(A, &a));
  PetscCall(MatGetState(P, &p));
  PetscCall(MatStateCompare(a, cheb->amatstate, is));
  PetscCall(MatStateCompare(p, cheb->pmatstate, &same));
  *is = (PetscBool)(*is && same);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPGMRESIsClassical - Whether KSPGMRES orthogonalizes by classical Gram-Schmidt without refinement, its default. */
static inline PetscBool KSPGMRESIsClassical(KSP ksp)
{
#if PETSC_VERSION_LT(3, 26, 0)
  const KSP_GMRES *gmres = (const KSP_GMRES *)ksp->data;

  return (PetscBool)(gmres->orthog == KSPGMRESClassicalGramSchmidtOrthogonalization && gmres->cgstype == KSP_GMRES_CGS_REFINE_NEVER);
#else
  return (PetscBool)(ksp->orthog == KSPOrthogonalizationClassicalGramSchmidt && ksp->cgstype == KSP_ORTHOGONALIZATION_CGS_REFINE_NEVER);
#endif
}
