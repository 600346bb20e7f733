/* KSPCHEBYSHEV of PETSc with our solve around it, of all its kinds. */
#include "fused.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include "../../../../petsc/methods.h"
#include "../../../../petsc/vec.h"

#define NUM_WORK 3 /* work vectors of PETSc's KSPCHEBYSHEV */

/* PETSc's operations, static functions that are the same for all. Its setup chooses between two of solve. */
static PetscErrorCode (*parent_create)(KSP)                           = NULL;
static PetscErrorCode (*parent_setup)(KSP)                            = NULL;
static PetscErrorCode (*parent_setfromoptions)(KSP, PetscOptionItems) = NULL;
static PetscErrorCode (*parent_solve_first)(KSP)                      = NULL;
static PetscErrorCode (*parent_solve_fourth)(KSP)                     = NULL;

/* The eigenvalues that PETSc's solve uses: those that were set, else those that were computed, else those that PCGAMG has provided. */
static void GetEigenvalues(const KSP_Chebyshev *cheb, PetscReal *emax, PetscReal *emin)
{
  const PetscReal *t = cheb->tform;

  *emax = cheb->emax != 0.0            ? cheb->emax
          : cheb->emax_computed != 0.0 ? t[2] * cheb->emin_computed + t[3] * cheb->emax_computed
          : cheb->emax_provided != 0.0 ? t[2] * cheb->emin_provided + t[3] * cheb->emax_provided
                                       : 0.0;
  *emin = cheb->emin != 0.0            ? cheb->emin
          : cheb->emin_computed != 0.0 ? t[0] * cheb->emin_computed + t[1] * cheb->emax_computed
          : cheb->emin_provided != 0.0 ? t[0] * cheb->emin_provided + t[1] * cheb->emax_provided
                                       : 0.0;
}

/* The three-term recurrence of the polynomials of first kind: c_k = T_k(mu) / T_k's scaling; y_k+1 = omega (y_k - y_k-1 + scale D r_k) + y_k-1. */
static PetscErrorCode KSPSolve_Chebyshev_First_AIJCUDA(KSP ksp)
{
  KSPFusedIteration iteration;
  PetscBool         plain;
  PetscReal         emax, emin;
  PetscScalar       scale, mu, c_before = 1.0, c, c_next, omega;

  PetscFunctionBegin;
  PetscCall(KSPFusedBegin(ksp, &iteration, &plain));
  if (!plain) {
    PetscCall((*parent_solve_first)(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  GetEigenvalues((const KSP_Chebyshev *)ksp->data, &emax, &emin);
  scale = 2.0 / (emax + emin);
  mu    = 1.0 / (1.0 - scale * emin);
  c     = mu;
  PetscCall(KSPFusedStep(&iteration, scale, 1.0, 0.0));
  while (ksp->its < ksp->max_it) {
    c_next = 2.0 * mu * c - c_before;
    omega  = 2.0 * mu * c / c_next;
    PetscCall(KSPFusedStep(&iteration, omega * scale, omega, 1.0 - omega));
    c_before = c;
    c        = c_next;
  }
  PetscCall(KSPFusedEnd(&iteration));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPChebyshevGetFactors_AIJCUDA - The eigenvalues that our solve with polynomials of first kind is made of; PETSC_FALSE: the KSP has another solve, or none are known. */
PetscBool KSPChebyshevGetFactors_AIJCUDA(KSP ksp, PetscReal factors[2])
{
  if (ksp->ops->solve != KSPSolve_Chebyshev_First_AIJCUDA) return PETSC_FALSE;
  GetEigenvalues((const KSP_Chebyshev *)ksp->data, &factors[0], &factors[1]);
  return (PetscBool)(factors[0] > 0.0);
}

/*
  The polynomials of fourth kind: x goes by multiples of d, and d_k+1 = (2k - 1) / (2k + 3) d_k + (8k + 4) / (2k + 3) scale D r_k. PETSc updates the residual by A d; here the kernel makes it of x, so
  that d is all that it writes.
*/
static PetscErrorCode FourthKind(const KSPFusedIteration *iteration)
{
  KSP              ksp   = iteration->ksp;
  const PetscReal *betas = ((const KSP_Chebyshev *)ksp->data)->betas;
  Vec              x = ksp->vec_sol, d = ksp->work[0];
  PetscReal        emax, emin, scale;

  PetscFunctionBegin;
  GetEigenvalues((const KSP_Chebyshev *)ksp->data, &emax, &emin);
  scale = 1.0 / emax;
  PetscCall(KSPFusedSmooth(iteration, 4.0 / 3.0 * scale, 0.0, iteration->x, 0.0, NULL, d));
  PetscCall(VecAXPBY(x, betas[0], 1.0, d));
  for (PetscInt i = 1; i < ksp->max_it; i++) {
    PetscCall(KSPFusedSmooth(iteration, scale * (8.0 * i + 4.0) / (2.0 * i + 3.0), 0.0, x, (2.0 * i - 1.0) / (2.0 * i + 3.0), d, d));
    PetscCall(VecAXPBY(x, betas[i], 1.0, d));
  }
  ksp->its    = ksp->max_it;
  ksp->reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_Chebyshev_Fourth_AIJCUDA(KSP ksp)
{
  KSPFusedIteration iteration;
  PetscBool         plain;

  PetscFunctionBegin;
  PetscCall(KSPFusedBegin(ksp, &iteration, &plain));
  if (plain && ((const KSP_Chebyshev *)ksp->data)->num_betas_alloc >= ksp->max_it) PetscCall(FourthKind(&iteration));
  else PetscCall((*parent_solve_fourth)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Vectors that a KSP keeps through a setup of PETSc, which makes its work vectors anew each time: device memory, and with several processes pinned memory of the host, given back and asked for on every
  level in every step.

  VecDuplicateVecs() of the vector that KSPSetWorkVecs() takes for a model, that of the solution, hands them out once. That is the first thing which PETSc's setup does, so that there is one of these
  at a time.
*/
static struct {
  KSP ksp;                                                /* NULL: nothing is kept, or it has been handed out */
  Vec work[NUM_WORK];                                     /* with a reference each; the first one is the model */
  PetscErrorCode (*duplicatevecs)(Vec, PetscInt, Vec **); /* of the model */
} kept;

static void KeepEnd(void)
{
  kept.work[0]->ops->duplicatevecs = kept.duplicatevecs;
  kept.ksp                         = NULL;
}

static PetscErrorCode HandOut(PETSC_UNUSED Vec model, PetscInt n, Vec **work)
{
  PetscFunctionBegin;
  KeepEnd();
  PetscCheck(n == NUM_WORK, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PETSc's setup of KSPCHEBYSHEV wants %" PetscInt_FMT " work vectors, not %d", n, NUM_WORK);
  PetscCall(PetscMalloc1(n, work));
  PetscCall(PetscArraycpy(*work, kept.work, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KeepBegin(KSP ksp)
{
  PetscFunctionBegin;
  kept.ksp = ksp;
  for (int k = 0; k < NUM_WORK; k++) {
    kept.work[k] = ksp->work[k];
    PetscCall(PetscObjectReference((PetscObject)kept.work[k]));
  }
  ksp->vec_sol                     = kept.work[0];
  kept.duplicatevecs               = kept.work[0]->ops->duplicatevecs;
  kept.work[0]->ops->duplicatevecs = HandOut;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a setup that has failed before it came to its work vectors. */
static PetscErrorCode KeepCancel(KSP ksp)
{
  PetscFunctionBegin;
  if (kept.ksp != ksp) PetscFunctionReturn(PETSC_SUCCESS);
  KeepEnd();
  for (int k = 0; k < NUM_WORK; k++) PetscCall(VecDestroy(&kept.work[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the work vectors of the KSP are where those of MatCreateVecs() of its matrix would be. The same on all processes. */
static PetscErrorCode CanKeep(KSP ksp, Mat A, PetscBool *can)
{
  PetscBool host;

  PetscFunctionBegin;
  *can = (PetscBool)(ksp->nwork == NUM_WORK && ksp->work != NULL);
  PetscCall(PetscStrcmpAny(A->defaultvectype, &host, VECSTANDARD, VECSEQ, VECMPI, ""));
  if (A->boundtocpu) host = PETSC_TRUE;
  for (int k = 0; k < NUM_WORK && *can; k++) {
    PetscCall(PetscLayoutCompare(ksp->work[k]->map, A->rmap, can));
    if (VecIsOnDevice(ksp->work[k]) == host) *can = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc's setup is going to estimate eigenvalues: they are neither set nor, with PCJACOBI, provided, and they are not those of the matrices as they are now. */
static PetscErrorCode IsEstimateDue(KSP ksp, Mat A, Mat P, PetscBool *due)
{
  const KSP_Chebyshev *cheb = (const KSP_Chebyshev *)ksp->data;
  PetscBool            jacobi, same;

  PetscFunctionBegin;
  if (cheb->kspest == NULL) {
    PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCJACOBI, &jacobi));
    *due = (PetscBool)((cheb->emin == 0.0 || cheb->emax == 0.0) && !(jacobi && cheb->emin_provided != 0.0 && cheb->emax_provided != 0.0));
  } else {
    PetscCall(KSPChebyshevIsEstimateOf(cheb, A, P, &same));
    *due = (PetscBool)!same;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the estimator, in its KSPSolve(), when its type and its options are known. */
static PetscErrorCode BeforeEstimate(KSP kspest, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x, PETSC_UNUSED PetscCtx ctx)
{
  PetscFunctionBegin;
  PetscCall(KSPSetPreSolve(kspest, NULL, NULL));
  PetscCall(KSPEstimateBegin(kspest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AfterEstimate(KSP kspest)
{
  PetscFunctionBegin;
  if (kspest == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (kspest->presolve == BeforeEstimate) PetscCall(KSPSetPreSolve(kspest, NULL, NULL));
  PetscCall(KSPEstimateEnd(kspest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's setup with a matrix of ours. It keeps the work vectors that there are. The noise that an estimate starts from, which PETSc makes on the host, is made where it is used, and given to PETSc's
  code as a right-hand side to estimate with.
*/
static PetscErrorCode SetUpWithNoise(KSP ksp, Mat A, Mat P)
{
  KSP_Chebyshev  *cheb     = (KSP_Chebyshev *)ksp->data;
  const PetscBool usenoisy = cheb->usenoisy;
  const Vec       rhs = ksp->vec_rhs, sol = ksp->vec_sol;
  PetscBool       due = PETSC_FALSE, keep = PETSC_FALSE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(IsEstimateDue(ksp, A, P, &due));
  if (due && usenoisy && ksp->nwork == 0) PetscCall(KSPSetWorkVecs(ksp, NUM_WORK));
  PetscCall(CanKeep(ksp, A, &keep));
  if (keep && due) PetscCall(VecZeroEntries(ksp->work[0])); // the guess of the estimate, as in new vectors
  if (keep && due && usenoisy) PetscCall(KSPSetNoise_AIJCUDA(A, ksp->work[1]));
  if (due && cheb->kspest == NULL) PetscCall(KSPChebyshevEstEigSet(ksp, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE)); // as PETSc's setup would
  if (due && cheb->kspest != NULL && cheb->kspest->presolve == NULL) PetscCall(KSPSetPreSolve(cheb->kspest, BeforeEstimate, NULL));
  if (keep) PetscCall(KeepBegin(ksp));
  if (keep && due && usenoisy) {
    cheb->usenoisy = PETSC_FALSE;
    ksp->vec_rhs   = ksp->work[1];
  }
  ierr           = (*parent_setup)(ksp);
  cheb->usenoisy = usenoisy; // as views and the user see it
  ksp->vec_rhs   = rhs;
  ksp->vec_sol   = sol;
  PetscCall(KeepCancel(ksp));
  PetscCall(AfterEstimate(cheb->kspest));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's setup has put one of its two solves into the table: ours goes around it. */
static PetscErrorCode KSPSetUp_Chebyshev_AIJCUDA(KSP ksp)
{
  const PetscBool first = (PetscBool)(((const KSP_Chebyshev *)ksp->data)->chebykind == KSP_CHEBYSHEV_FIRST);
  Mat             A, P;
  PetscBool       seq, mpi;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (seq || mpi) PetscCall(SetUpWithNoise(ksp, A, P));
  else PetscCall((*parent_setup)(ksp));
  if (first) {
    parent_solve_first = ksp->ops->solve;
    ksp->ops->solve    = KSPSolve_Chebyshev_First_AIJCUDA;
  } else {
    parent_solve_fourth = ksp->ops->solve;
    ksp->ops->solve     = KSPSolve_Chebyshev_Fourth_AIJCUDA;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_Chebyshev_AIJCUDA(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall((*parent_setfromoptions)(ksp, PetscOptionsObject));
  PetscCall(KSPFusedSetFromOptions(ksp, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_Chebyshev_AIJCUDA(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(ksp));
  PetscCall(KSPFusedCreate(ksp));
  parent_setup             = ksp->ops->setup;
  parent_setfromoptions    = ksp->ops->setfromoptions;
  ksp->ops->setup          = KSPSetUp_Chebyshev_AIJCUDA;
  ksp->ops->setfromoptions = KSPSetFromOptions_Chebyshev_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc's private struct is the one that we were compiled with: what its public functions set has to be found in our fields. */
static PetscErrorCode StructFits(PetscBool *fits)
{
  const KSP_Chebyshev *cheb;
  KSP                  ksp, estimator;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 3.25, 0.375)); // ends the estimation, so it comes first
  PetscCall(KSPChebyshevEstEigSet(ksp, 0.5, 0.25, 0.125, 1.75));
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_FALSE));
  PetscCall(KSPChebyshevSetKind(ksp, KSP_CHEBYSHEV_OPT_FOURTH));
  PetscCall(KSPChebyshevEstEigGetKSP(ksp, &estimator));
  cheb  = (const KSP_Chebyshev *)ksp->data;
  *fits = (PetscBool)(cheb->emax == (PetscReal)3.25 && cheb->emin == (PetscReal)0.375 && cheb->emax_computed == 0.0 && cheb->emin_computed == 0.0 && cheb->emax_provided == 0.0 &&
                      cheb->emin_provided == 0.0 && cheb->betas == NULL && cheb->num_betas_alloc == 0 && cheb->kspest == estimator && estimator != NULL && cheb->tform[0] == (PetscReal)0.5 &&
                      cheb->tform[1] == (PetscReal)0.25 && cheb->tform[2] == (PetscReal)0.125 && cheb->tform[3] == (PetscReal)1.75 && !cheb->usenoisy && cheb->chebykind == KSP_CHEBYSHEV_OPT_FOURTH);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPChebyshevRegister_AIJCUDA - Registers KSPCHEBYSHEV again, with our solve around PETSc's; not when PETSc's struct is another one than ours */
PetscErrorCode KSPChebyshevRegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(KSP);
  PetscBool fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, KSPCHEBYSHEV, &create));
  if (create == NULL || create == KSPCreate_Chebyshev_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(StructFits(&fits));
  if (fits) {
    parent_create = create;
    PetscCall(KSPRegister(KSPCHEBYSHEV, KSPCreate_Chebyshev_AIJCUDA));
  } else PetscCall(PetscSparseCUDADisabled("The struct of KSPCHEBYSHEV is not the one of PETSc 3.26: its steps are PETSc's, several kernels each"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
