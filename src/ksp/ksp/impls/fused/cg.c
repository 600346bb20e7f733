/*
  KSPCG of PETSc with our solve around it: with a matrix of ours all that a step does beside the product is three kernels with PCJACOBI, four and PCApply() with other preconditioners, and the host waits
  once. Norms, monitors, histories, tests and what ends a solve are those of PETSc's KSPSolve_CG(), whose order of work this follows.

  Where the norm does not need it, z = B r of a step is begun after the test of convergence, and its sums reach the host with those of the step, which does nothing when they are not what they should be.
*/
#include "estimate.h"
#include "../../../../petsc/methods.h"

/* PETSc's operations, static functions that are the same for all. */
static PetscErrorCode (*parent_create)(KSP)                           = NULL;
static PetscErrorCode (*parent_setup)(KSP)                            = NULL;
static PetscErrorCode (*parent_solve)(KSP)                            = NULL;
static PetscErrorCode (*parent_setfromoptions)(KSP, PetscOptionItems) = NULL;

/* Numbers of two steps are on the device, each in turn: three sums (smooth.h). */
#define NUM_NUMBERS (2 * DCSR_CG_SUMS)

/* A solve. */
typedef struct {
  KSP         ksp;
  Estimate    e;
  Vec         r, w, p;              /* w is z, too, as in PETSc's */
  PetscInt    max_it;               /* when the solve began */
  PetscInt    step;                 /* number of the step of now, from 0 on */
  PetscBool   residual;             /* the second sum is that of r */
  PetscBool   late;                 /* the host learns beta with the sums of its step */
  PetscScalar numbers[NUM_NUMBERS]; /* on the host, as far as they were asked for */
  PetscScalar beta, alpha;          /* of the step of now */
} Solve;

/* The sums of a step, on the device or those on the host. */
static PetscScalar *SumsOf(PetscScalar numbers[], PetscInt step)
{
  return numbers + DCSR_CG_SUMS * (step % 2);
}

/* The norm that is asked for, of the residual of a step; PETSc ends the solve when it is no number. */
static PetscErrorCode GetNorm(Solve *s, PetscInt step, PetscReal *norm)
{
  const PetscScalar *sums = SumsOf(s->numbers, step);
  KSP                ksp  = s->ksp;

  PetscFunctionBegin;
  *norm = 0.0;
  if (ksp->normtype == KSP_NORM_NATURAL) {
    KSPCheckDot(ksp, sums[0]);
    *norm = PetscSqrtReal(PetscAbsScalar(sums[0]));
  } else if (ksp->normtype != KSP_NORM_NONE) {
    *norm = PetscSqrtReal(PetscRealPart(sums[1]));
    KSPCheckNorm(ksp, *norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells everybody of an iterate, and asks whether it is good enough. */
static PetscErrorCode Tell(KSP ksp, PetscInt it, PetscReal norm)
{
  PetscFunctionBegin;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscCall((*ksp->converged)(ksp, it, norm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another preconditioner than PCJACOBI, whose diagonal kernels apply themselves; sums: those of the step that it is for. */
static PetscErrorCode Apply(Solve *s, PetscInt step)
{
  PetscFunctionBegin;
  if (s->e.pc != NULL) PetscCall(EstimateCGApply(&s->e, s->r, s->w, (PetscBool)(s->residual || s->late), SumsOf(s->e.numbers, step)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first residual, of the guess. */
static PetscErrorCode Begin(Solve *s)
{
  KSP         ksp         = s->ksp;
  KSP_CG     *cg          = (KSP_CG *)ksp->data;
  PetscScalar products[2] = {0.0, 0.0};
  PetscReal   norm;

  PetscFunctionBegin;
  if (!ksp->guess_zero) PetscCall(MatResidual(s->e.A, ksp->vec_rhs, ksp->vec_sol, s->r));
  PetscCall(EstimateCGStart(&s->e, ksp->guess_zero ? ksp->vec_rhs : s->r, s->residual, s->r, s->p, s->e.numbers));
  if (!s->late) PetscCall(Apply(s, 0));
  PetscCall(DCSRCGGet(s->e.numbers, s->e.stream, s->numbers));
  PetscCall(GetNorm(s, 0, &norm));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (!ksp->guess_zero) {
    PetscCall(VecDot(s->r, ksp->vec_sol, &products[0]));
    PetscCall(VecDot(ksp->vec_rhs, ksp->vec_sol, &products[1]));
  }
  cg->obj = 0.5 * (PetscRealPart(products[0]) - PetscRealPart(products[1]));
  PetscCall(Tell(ksp, 0, norm));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->late) PetscCall(Apply(s, 0));
  else {
    s->beta = s->numbers[0];
    KSPCheckDot(ksp, s->beta);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a step can be begun: the reason says why not. */
static PetscErrorCode CheckPreconditioner(Solve *s, PetscScalar before)
{
  KSP ksp = s->ksp;

  PetscFunctionBegin;
  if (s->beta == (PetscScalar)0.0) {
    ksp->reason = KSP_CONVERGED_ATOL;
    PetscCall(PetscInfo(ksp, "converged due to beta = 0\n"));
  } else if (!PetscDefined(USE_COMPLEX) && s->step > 0 && PetscRealPart(s->beta) * PetscRealPart(before) < 0.0) {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED, "Diverged due to indefinite preconditioner, beta %g, betaold %g", (double)PetscRealPart(s->beta),
               (double)PetscRealPart(before));
    ksp->reason = KSP_DIVERGED_INDEFINITE_PC;
    PetscCall(PetscInfo(ksp, "diverging due to indefinite preconditioner\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a step was one: otherwise the iterate has stayed as it was. before: p^H A p of the step before. */
static PetscErrorCode CheckMatrix(Solve *s, PetscScalar before)
{
  const PetscScalar curvature = SumsOf(s->numbers, s->step)[2];
  KSP               ksp       = s->ksp;

  PetscFunctionBegin;
  KSPCheckDot(ksp, curvature);
  if (curvature != (PetscScalar)0.0 && (s->step == 0 || PetscSign(PetscRealPart(curvature)) * PetscSign(PetscRealPart(before)) >= 0.0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->converged_neg_curve) {
    PetscCall(PetscInfo(ksp, "converged due to negative curvature: %g\n", (double)PetscRealPart(curvature)));
    ksp->reason = KSP_CONVERGED_NEG_CURVE;
  } else {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED, "Diverged due to indefinite matrix, dpi %g, dpiold %g", (double)PetscRealPart(curvature),
               (double)PetscRealPart(before));
    ksp->reason = KSP_DIVERGED_INDEFINITE_MAT;
    PetscCall(PetscInfo(ksp, "diverging due to indefinite matrix\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the host learns late: beta of the step of now, of which it knows the other numbers, too. before: that of the step before. */
static PetscErrorCode CheckLate(Solve *s, PetscScalar before)
{
  KSP ksp = s->ksp;

  PetscFunctionBegin;
  s->beta  = SumsOf(s->numbers, s->step)[0];
  ksp->its = s->step; // this step has not begun
  KSPCheckDot(ksp, s->beta);
  ksp->its = s->step + 1;
  PetscCall(CheckPreconditioner(s, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step; the reason says whether it was the last. before: the numbers of the one before. */
static PetscErrorCode Step(Solve *s, PetscScalar beta_before, PetscScalar curvature_before)
{
  PetscScalar *sums = SumsOf(s->e.numbers, s->step), *next = SumsOf(s->e.numbers, s->step + 1), *before = s->step > 0 ? next : NULL; // in next are still those of the step before
  KSP          ksp = s->ksp;
  KSP_CG      *cg  = (KSP_CG *)ksp->data;
  PetscReal    norm, ratio;

  PetscFunctionBegin;
  if (s->step > 0 || s->e.pc != NULL) PetscCall(EstimateCGTurn(&s->e, s->e.pc != NULL ? s->w : s->r, before, sums, s->p));
  PetscCall(MatMult(s->e.A, s->p, s->w));
  PetscCall(EstimateCGUpdate(&s->e, s->p, s->w, s->residual, before, sums, s->r, ksp->vec_sol, next));
  if (!s->late) PetscCall(Apply(s, s->step + 1));
  PetscCall(DCSRCGGet(s->e.numbers, s->e.stream, s->numbers));
  if (s->late) PetscCall(CheckLate(s, beta_before));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(s->step == 0 || !ksp->calc_sings || ksp->max_it == s->max_it, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "Can not change maxit AND calculate eigenvalues");
  ratio = s->step > 0 ? PetscAbsScalar(s->beta / beta_before) : 0.0;
  if (ksp->calc_sings && s->step > 0) cg->e[s->step] = PetscSqrtReal(ratio) / s->alpha; // below the diagonal of the matrix whose eigenvalues are wanted; on it d
  PetscCall(CheckMatrix(s, curvature_before));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  s->alpha = s->beta / SumsOf(s->numbers, s->step)[2];
  if (ksp->calc_sings) cg->d[s->step] = PetscSqrtReal(ratio) * cg->e[s->step] + (PetscReal)1.0 / s->alpha;
  PetscCall(GetNorm(s, s->step + 1, &norm));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  cg->obj -= 0.5 * PetscRealPart(s->alpha * s->beta);
  PetscCall(Tell(ksp, s->step + 1, norm));
  if (ksp->reason && s->step >= ksp->max_it) ksp->reason = KSP_DIVERGED_ITS; // a monitor has made it less: PETSc's last line
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->late) {
    PetscCall(Apply(s, s->step + 1));
    if (s->step + 1 < ksp->max_it) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(DCSRCGGet(s->e.numbers, s->e.stream, s->numbers)); // there is no next step, with which it would come
  }
  s->beta = SumsOf(s->numbers, s->step + 1)[0];
  KSPCheckDot(ksp, s->beta);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Iterate(Solve *s)
{
  KSP         ksp         = s->ksp;
  PetscScalar beta_before = 0.0, curvature_before = 0.0;

  PetscFunctionBegin;
  ksp->its  = 0;
  s->max_it = ksp->max_it;
  if (ksp->calc_sings) ((KSP_CG *)ksp->data)->e[0] = 0.0;
  PetscCall(Begin(s));
  for (s->step = 0; !ksp->reason && (s->step == 0 || s->step < ksp->max_it); s->step++) {
    ksp->its = s->step + 1;
    if (!s->late) PetscCall(CheckPreconditioner(s, beta_before));
    if (ksp->reason) break;
    PetscCall(Step(s, beta_before, curvature_before));
    beta_before      = SumsOf(s->numbers, s->step)[0];
    curvature_before = SumsOf(s->numbers, s->step)[2];
  }
  if (!ksp->reason) ksp->reason = KSP_DIVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the settings of a KSP are not those of the steps, the same on all processes, as a static string; NULL: they are. */
static const char *WhyNotSettings(KSP ksp)
{
  const KSP_CG *cg = (const KSP_CG *)ksp->data;

  if (cg->radius != 0.0 || cg->obj_min < 0.0) return "there is a trust region or a target of the objective";
  if (cg->singlereduction) return "there is one reduction a step";
  if (PetscDefined(USE_COMPLEX) && cg->type != KSP_CG_HERMITIAN) return "the system is complex symmetric";
  if (ksp->chknorm > 0) return "the first norms are not computed";
  if (ksp->transpose_solve) return "the system is transposed";
  if (KSPIsScaled(ksp)) return "the system is scaled";
  if (ksp->nwork != 3) return "the work vectors are other ones";
  if (ksp->max_it < 1) return "there is no step";
  return NULL;
}

static PetscErrorCode KSPSolve_CG_AIJCUDA(KSP ksp)
{
  const char    *why = WhyNotSettings(ksp);
  Solve          s   = {0};
  PetscBool      asked, jacobi, can = PETSC_FALSE;
  Vec            vecs[4];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(KSPFusedIsAsked(ksp, &asked));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCJACOBI, &jacobi));
  if (!asked) why = "-ksp_fused is false";
  if (why == NULL) {
    s.ksp = ksp, s.r = ksp->work[0], s.w = ksp->work[1], s.p = ksp->work[2];
    s.residual = (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED);
    s.late     = (PetscBool)(!jacobi && (s.residual || ksp->normtype == KSP_NORM_NONE));
    s.e.pc     = jacobi ? NULL : ksp->pc;
    vecs[0] = s.r, vecs[1] = s.w, vecs[2] = s.p, vecs[3] = ksp->vec_sol;
    PetscCallGoto(ierr, cleanup, EstimateBegin(ksp, PETSC_TRUE, (PetscBool)(ksp->reason == KSP_CONVERGED_ITERATING), 4, vecs, 0, NUM_NUMBERS, &s.e, &can));
    if (!can) why = "the matrix or vectors are not on the device, or there is a null space";
  }
  PetscCallGoto(ierr, cleanup, KSPFusedSay(ksp, why));
  if (can) PetscCallGoto(ierr, cleanup, Iterate(&s));
  else PetscCallGoto(ierr, cleanup, (*parent_solve)(ksp));
cleanup:
  PetscCall(EstimateEnd(&s.e));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc counts a step that finds an indefinite matrix, and takes its entry of d, which nobody has written, for eigenvalues. */
static PetscErrorCode KSPSetUp_CG_AIJCUDA(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall((*parent_setup)(ksp));
  if (ksp->calc_sings) {
    PetscCall(PetscArrayzero(((KSP_CG *)ksp->data)->e, ksp->max_it + 1));
    PetscCall(PetscArrayzero(((KSP_CG *)ksp->data)->d, ksp->max_it));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetFromOptions_CG_AIJCUDA(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall((*parent_setfromoptions)(ksp, PetscOptionsObject));
  PetscCall(KSPFusedSetFromOptions(ksp, PetscOptionsObject));
  if (ksp->ops->solve == parent_solve) ksp->ops->solve = KSPSolve_CG_AIJCUDA; // -ksp_cg_single_reduction false puts PETSc's there
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_CG_AIJCUDA(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(ksp));
  PetscCall(KSPFusedCreate(ksp));
  parent_setup             = ksp->ops->setup;
  parent_solve             = ksp->ops->solve;
  parent_setfromoptions    = ksp->ops->setfromoptions;
  ksp->ops->setup          = KSPSetUp_CG_AIJCUDA;
  ksp->ops->solve          = KSPSolve_CG_AIJCUDA;
  ksp->ops->setfromoptions = KSPSetFromOptions_CG_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPCGRegister_AIJCUDA - Registers KSPCG again, with our solve around PETSc's; not when PETSc's struct is another one than ours, of which KSPEstimateCGRegister() asks the same */
PetscErrorCode KSPCGRegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(KSP);
  PetscBool fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, KSPCG, &create));
  if (create == NULL || create == KSPCreate_CG_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPEstimateCGFits(&fits));
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS); // the estimates say so
  parent_create = create;
  PetscCall(KSPRegister(KSPCG, KSPCreate_CG_AIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
