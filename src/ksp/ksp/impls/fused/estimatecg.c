/* The steps of KSPCG, and KSPCG that estimates eigenvalues: residuals and directions without a solution. PETSc's code makes the eigenvalues of what it leaves in KSP_CG. */
#include "estimate.h"
#include "../../../../petsc/methods.h"

static PetscErrorCode (*parent_solve)(KSP) = NULL; /* KSPSolve_CG(), or ours around it */

/* The reciprocals of PCJACOBI; NULL: another preconditioner makes z. */
static PetscErrorCode GetReciprocals(const Estimate *e, const PetscScalar **d)
{
  PetscFunctionBegin;
  *d = NULL;
  if (e->d != NULL) PetscCall(VecGetArrayReadAndMemType(e->d, d, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreReciprocals(const Estimate *e, const PetscScalar **d)
{
  PetscFunctionBegin;
  if (e->d != NULL) PetscCall(VecRestoreArrayReadAndMemType(e->d, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateCGStart - r = b, which may be r, and with PCJACOBI p = D r, with the first two sums of r (smooth.h), of all processes. Collective */
PetscErrorCode EstimateCGStart(const Estimate *e, Vec b, PetscBool residual, Vec r, Vec p, PetscScalar sums[])
{
  const PetscScalar *d, *b_array = NULL;
  PetscScalar       *r_array, *p_array;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(GetReciprocals(e, &d));
  if (b != r) {
    PetscCall(VecGetArrayReadAndMemType(b, &b_array, NULL));
    PetscCall(VecGetArrayWriteAndMemType(r, &r_array, NULL));
  } else PetscCall(VecGetArrayAndMemType(r, &r_array, NULL));
  PetscCall(VecGetArrayWriteAndMemType(p, &p_array, NULL));
  ierr = DCSRCGStart(e->n, d, b == r ? r_array : b_array, residual, r_array, p_array, e->work, sums, e->stream);
  PetscCall(VecRestoreArrayWriteAndMemType(p, &p_array));
  if (b != r) {
    PetscCall(VecRestoreArrayWriteAndMemType(r, &r_array));
    PetscCall(VecRestoreArrayReadAndMemType(b, &b_array));
  } else PetscCall(VecRestoreArrayAndMemType(r, &r_array));
  PetscCall(RestoreReciprocals(e, &d));
  PetscCall(ierr);
  PetscCall(EstimateAddUp(e, 2, sums));
  PetscCall(PetscLogGpuFlops(5.0 * (PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateCGTurn - The direction p of a step, of its residual r or, without PCJACOBI, z, its sums next and those of the step before, NULL in the first one. */
PetscErrorCode EstimateCGTurn(const Estimate *e, Vec r, const PetscScalar sums[], const PetscScalar next[], Vec p)
{
  const PetscScalar *d, *r_array;
  PetscScalar       *p_array;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(GetReciprocals(e, &d));
  PetscCall(VecGetArrayReadAndMemType(r, &r_array, NULL));
  PetscCall(VecGetArrayAndMemType(p, &p_array, NULL));
  ierr = DCSRCGTurn(e->n, d, r_array, sums, next, p_array, e->stream);
  PetscCall(VecRestoreArrayAndMemType(p, &p_array));
  PetscCall(VecRestoreArrayReadAndMemType(r, &r_array));
  PetscCall(RestoreReciprocals(e, &d));
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(3.0 * (PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  EstimateCGUpdate - The next residual r and, unless x is NULL, iterate, of the product w = A p: the third sum of the step and the first two of the next one, of all processes. Collective
  before: the sums of the step before; NULL in the first step or without x.
*/
PetscErrorCode EstimateCGUpdate(const Estimate *e, Vec p, Vec w, PetscBool residual, const PetscScalar before[], PetscScalar sums[], Vec r, Vec x, PetscScalar next[])
{
  const PetscScalar *d, *p_array, *w_array;
  PetscScalar       *r_array, *x_array = NULL;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(GetReciprocals(e, &d));
  PetscCall(VecGetArrayReadAndMemType(p, &p_array, NULL));
  PetscCall(VecGetArrayReadAndMemType(w, &w_array, NULL));
  PetscCall(VecGetArrayAndMemType(r, &r_array, NULL));
  if (x != NULL) PetscCall(VecGetArrayAndMemType(x, &x_array, NULL));
  PetscCallGoto(ierr, restore, DCSRCGMultiply(e->n, p_array, w_array, e->work, sums, e->stream));
  PetscCallGoto(ierr, restore, EstimateAddUp(e, 1, sums + 2));
  PetscCallGoto(ierr, restore, DCSRCGUpdate(e->n, d, p_array, w_array, residual, before, sums, r_array, x_array, e->work, next, e->stream));
  PetscCallGoto(ierr, restore, EstimateAddUp(e, 2, next));
restore:
  if (x != NULL) PetscCall(VecRestoreArrayAndMemType(x, &x_array));
  PetscCall(VecRestoreArrayAndMemType(r, &r_array));
  PetscCall(VecRestoreArrayReadAndMemType(w, &w_array));
  PetscCall(VecRestoreArrayReadAndMemType(p, &p_array));
  PetscCall(RestoreReciprocals(e, &d));
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops((x != NULL ? 11.0 : 9.0) * (PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateCGApply - z = B r for a preconditioner of others, with the first sum of the residual r of a step and, unless residual, the second, of all processes. Collective */
PetscErrorCode EstimateCGApply(const Estimate *e, Vec r, Vec z, PetscBool residual, PetscScalar next[])
{
  const PetscScalar *r_array, *z_array;
  PetscMemType       memory;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PCApply(e->pc, r, z));
  PetscCall(VecGetArrayReadAndMemType(r, &r_array, NULL));
  PetscCall(VecGetArrayReadAndMemType(z, &z_array, &memory));
  if (PetscMemTypeDevice(memory)) ierr = DCSRCGDots(e->n, z_array, r_array, residual, e->work, next, e->stream);
  PetscCall(VecRestoreArrayReadAndMemType(z, &z_array));
  PetscCall(VecRestoreArrayReadAndMemType(r, &r_array));
  PetscCall(ierr);
  PetscCheck(PetscMemTypeDevice(memory), PetscObjectComm((PetscObject)z), PETSC_ERR_ARG_WRONGSTATE, "The preconditioner has bound its result to the host; use -ksp_fused false");
  PetscCall(EstimateAddUp(e, residual ? 1 : 2, next));
  PetscCall(PetscLogGpuFlops((residual ? 2.0 : 4.0) * (PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps, and their numbers to the host. */
static PetscErrorCode Iterate(KSP ksp, const Estimate *e, PetscScalar numbers[])
{
  const Vec r = ksp->work[0], w = ksp->work[1], p = ksp->work[2];

  PetscFunctionBegin;
  PetscCall(EstimateCGStart(e, e->b, PETSC_FALSE, r, p, e->numbers));
  for (PetscInt k = 0; k < ksp->max_it; k++) {
    PetscScalar *sums = e->numbers + 3 * k;

    if (k > 0) PetscCall(EstimateCGTurn(e, r, sums - DCSR_CG_SUMS, sums, p));
    PetscCall(MatMult(e->A, p, w));
    PetscCall(EstimateCGUpdate(e, p, w, PETSC_FALSE, NULL, sums, r, NULL, sums + DCSR_CG_SUMS));
  }
  PetscCall(PetscSparseCUDACopyToHost(numbers, e->numbers, (3 * (size_t)ksp->max_it + 2) * sizeof(*numbers), e->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The convergence test before a step. */
static PetscErrorCode TestConvergence(KSP ksp, PetscInt k, const PetscScalar sums[])
{
  PetscFunctionBegin;
  ksp->rnorm = ksp->normtype == KSP_NORM_NONE ? 0.0 : PetscSqrtReal(PetscRealPart(sums[1]));
  PetscCall((*ksp->converged)(ksp, k, ksp->rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a step is one as that of a positive definite matrix and preconditioner is; before: sums of the one before, NULL for the first. */
static PetscBool IsUsual(const PetscScalar before[], const PetscScalar sums[])
{
  if (!EstimateAreFinite(5, sums) || sums[0] == (PetscScalar)0.0 || sums[2] == (PetscScalar)0.0) return PETSC_FALSE;
  return (PetscBool)(before == NULL || (PetscRealPart(before[0]) * PetscRealPart(sums[0]) > 0.0 && PetscRealPart(before[2]) * PetscRealPart(sums[2]) > 0.0));
}

/* What KSPCG leaves for its eigenvalues, a tridiagonal matrix, of the numbers of the steps. usual PETSC_FALSE: PETSc's code would end with an exception, which it has to find itself. */
static PetscErrorCode Follow(KSP ksp, const PetscScalar numbers[], PetscBool *usual)
{
  const KSP_CG *cg    = (const KSP_CG *)ksp->data;
  PetscScalar   alpha = 1.0, beta;

  PetscFunctionBegin;
  *usual = EstimateAreFinite(2, numbers);
  if (!*usual) PetscFunctionReturn(PETSC_SUCCESS);
  ksp->its = 0;
  cg->e[0] = 0.0;
  PetscCall(TestConvergence(ksp, 0, numbers));
  for (PetscInt k = 0; ksp->reason == KSP_CONVERGED_ITERATING; k++) {
    const PetscScalar *sums = numbers + 3 * k, *before = k > 0 ? sums - 3 : NULL;

    *usual = IsUsual(before, sums);
    if (!*usual) break;
    beta = before != NULL ? sums[0] / before[0] : 0.0;
    if (before != NULL) cg->e[k] = PetscSqrtReal(PetscAbsScalar(beta)) / alpha;
    alpha    = sums[0] / sums[2];
    cg->d[k] = PetscSqrtReal(PetscAbsScalar(beta)) * cg->e[k] + (PetscReal)1.0 / alpha;
    ksp->its = k + 1;
    PetscCall(TestConvergence(ksp, ksp->its, sums + 3));
    if (ksp->its == ksp->max_it && ksp->reason == KSP_CONVERGED_ITERATING) ksp->reason = KSP_DIVERGED_ITS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place of KSPSolve_CG(), for a KSP whose solution nobody wants; it is left as it is. */
static PetscErrorCode KSPSolve_CG_Estimate(KSP ksp)
{
  const KSP_CG   *cg    = (const KSP_CG *)ksp->data;
  const PetscBool plain = (PetscBool)(cg->radius == 0.0 && cg->obj_min >= 0.0 && !cg->singlereduction && (!PetscDefined(USE_COMPLEX) || cg->type == KSP_CG_HERMITIAN) && ksp->chknorm <= 0 &&
                                      ksp->nwork == 3);
  PetscScalar     numbers[3 * ESTIMATE_MAX_STEPS + 2];
  Estimate        e   = {0};
  PetscBool       can = PETSC_FALSE, usual = PETSC_FALSE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, EstimateBegin(ksp, plain, EstimateHasPlainSettings(ksp), plain ? 3 : 0, ksp->work, 0, plain ? 3 * ksp->max_it + 2 : 0, &e, &can));
  if (can) {
    PetscCallGoto(ierr, cleanup, Iterate(ksp, &e, numbers));
    PetscCallGoto(ierr, cleanup, Follow(ksp, numbers, &usual));
    PetscCallGoto(ierr, cleanup, PetscInfo(ksp, usual ? "Estimated without a solution\n" : "Estimated by PETSc's code, because a step is not one of a positive definite matrix\n"));
  }
  if (!usual) PetscCallGoto(ierr, cleanup, (*parent_solve)(ksp));
cleanup:
  PetscCall(EstimateEnd(&e));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateCGFits - Whether PETSc's private struct is the one that we were compiled with: what its public functions set has to be found in our fields */
PetscErrorCode KSPEstimateCGFits(PetscBool *fits)
{
  const KSP_CG *cg;
  KSP           ksp;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPCGSetRadius(ksp, 0.375));
  PetscCall(KSPCGSetObjectiveTarget(ksp, -0.625));
  cg    = (const KSP_CG *)ksp->data;
  *fits = (PetscBool)(cg->e == NULL && cg->d == NULL && cg->ee == NULL && cg->dd == NULL && cg->radius == (PetscReal)0.375 && cg->obj_min == (PetscReal)-0.625 && !cg->singlereduction);
  if (*fits) {
    PetscErrorCode (*const solve)(KSP) = ksp->ops->solve;

    PetscCall(KSPCGUseSingleReduction(ksp, PETSC_TRUE));
    *fits = (PetscBool)(cg->singlereduction && ksp->ops->solve != solve);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateCGRegister - Looks for the solve of KSPCG, PETSc's or ours around it, if the struct is ours */
PetscErrorCode KSPEstimateCGRegister(PetscErrorCode (**parent)(KSP), PetscErrorCode (**solve)(KSP))
{
  PetscBool fits = PETSC_FALSE;
  KSP       ksp;

  PetscFunctionBegin;
  PetscCall(KSPEstimateCGFits(&fits));
  if (fits) {
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    parent_solve = ksp->ops->solve;
    PetscCall(KSPDestroy(&ksp));
  }
  *parent = parent_solve;
  *solve  = KSPSolve_CG_Estimate;
  PetscFunctionReturn(PETSC_SUCCESS);
}
