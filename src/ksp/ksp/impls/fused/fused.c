/* What fused KSPCHEBYSHEV, KSPRICHARDSON and KSPGMRESPOLY have in common: the option, the plain case, and a step. */
#include "fused.h"
#include "../../../pc/impls/jacobi/jacobi.h"
#include "../../../pc/impls/pbjacobi/pbjacobi.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include "../../../../petsc/ksp.h"
#include "../../../../petsc/vec.h"

static PetscErrorCode DestroyContext(PetscCtxRt context)
{
  KSPFusedContext **c = (KSPFusedContext **)context;

  PetscFunctionBegin;
  PetscCall(PetscFree(*c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedCreate - What a constructor of a fused type does beside PETSc's
  -ksp_fused without a prefix is for all of them, also for the smoothers inside a preconditioner; with the prefix of a KSP it is for that one.
*/
PetscErrorCode KSPFusedCreate(KSP ksp)
{
  KSPFusedContext *context;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  if (context == NULL) {
    PetscCall(PetscNew(&context));
    context->fused = PETSC_TRUE;
    PetscCall(PetscSparseCUDACompose((PetscObject)ksp, KSP_FUSED_CONTEXT, context, DestroyContext));
    PetscCall(PetscOptionsGetBool(((PetscObject)ksp)->options, NULL, "-ksp_fused", &context->fused, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPFusedSetFromOptions - The option of a fused type, part of KSPSetFromOptions() */
PetscErrorCode KSPFusedSetFromOptions(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  KSPFusedContext *context;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  if (context == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscOptionsHeadBegin(PetscOptionsObject, "KSP options of petscsparsecuda");
  PetscCall(PetscOptionsBool("-ksp_fused", "Steps are kernels of the library where that is possible", "KSPCHEBYSHEV", context->fused, &context->fused, NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPFusedIsAsked - What -ksp_fused says of a KSP; PETSC_FALSE for one that never had a fused type. */
PetscErrorCode KSPFusedIsAsked(KSP ksp, PetscBool *asked)
{
  KSPFusedContext *context;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  *asked = (PetscBool)(context != NULL && context->fused);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the settings of a KSP are not those of the plain case, in words; NULL: they are. */
static const char *WhyNotSettings(KSP ksp)
{
  if (ksp->transpose_solve) return "the system is transposed";
  if (KSPIsScaled(ksp)) return "the system is scaled";
  if (ksp->normtype != KSP_NORM_NONE) return "norms are computed";
  if (ksp->numbermonitors > 0) return "there are monitors";
  if (ksp->res_hist != NULL || ksp->err_hist != NULL) return "a history of the residual or the error is kept";
  if (ksp->converged != KSPConvergedSkip && ksp->converged != KSPConvergedDefault) return "there is a convergence test";
  if (ksp->max_it < 1) return "there is no step";
  if (ksp->reason != KSP_CONVERGED_ITERATING) return "the preconditioner has failed";
  return NULL;
}

/* The same of matrices and vectors; if there is none, the matrix and the reciprocals are set. */
static PetscErrorCode WhyNotObjects(KSP ksp, Vec rhs, Vec sol, KSPFusedIteration *iteration, const char **why)
{
  const DCSRPointBlocks *blocks = NULL;
  MatNullSpace           space;
  PetscBool              can, richardson;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &iteration->A, NULL));
  PetscCall(MatGetNullSpace(iteration->A, &space));
  PetscCall(MatAIJCUDACanSmooth(iteration->A, &can));
  if (space != NULL) *why = "the matrix has a null space";
  else if (!can) *why = "the matrix is none of ours, not on the device, or has products of the program";
  else {
    PetscCall(PCJacobiGetReciprocals_AIJCUDA(ksp->pc, NULL, &iteration->d));
    if (iteration->d == NULL) PetscCall(PCPBJacobiGetBlocks_AIJCUDA(ksp->pc, &blocks));
    if (iteration->d == NULL && blocks == NULL) *why = "the preconditioner is neither PCJACOBI nor PCPBJACOBI";
    else if (blocks != NULL && ksp->nwork < 3) { // steps that read the iterate before the last one need a third
      PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPRICHARDSON, &richardson));
      if (!richardson) *why = "the work vectors are those of another preconditioner";
    }
    if (*why == NULL && (!VecIsOnDevice(rhs) || !VecIsOnDevice(sol) || (iteration->d != NULL && !VecIsOnDevice(iteration->d)))) *why = "vectors are not on the device";
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedWhyNot - Why a solve of a KSP that is set up, and of one of the fused types, is not the plain case
  why is a static string; NULL: it is the plain case, and the matrix and the reciprocals of iteration are set.
*/
PetscErrorCode KSPFusedWhyNot(KSP ksp, Vec rhs, Vec sol, KSPFusedIteration *iteration, const char **why)
{
  PetscBool asked;

  PetscFunctionBegin;
  PetscCall(KSPFusedIsAsked(ksp, &asked));
  if (!asked) *why = "-ksp_fused is false";
  else *why = WhyNotSettings(ksp);
  if (*why == NULL) PetscCall(WhyNotObjects(ksp, rhs, sol, iteration, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPFusedSay - PetscInfo() about a solve, when it is another one than the last time: why it is PETSc's, a static string, or NULL for one of ours. */
PetscErrorCode KSPFusedSay(KSP ksp, const char why[])
{
  static const char yes[] = KSP_FUSED;
  const char       *said  = why == NULL ? yes : why;
  KSPFusedContext  *context;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  if (context == NULL || context->said == said) PetscFunctionReturn(PETSC_SUCCESS);
  context->said = said;
  PetscCall(PetscInfo(ksp, "%s%s\n", why == NULL ? "Fused: " : "PETSc's code solves, because ", said));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedBegin - Whether a solve is the plain case, which PetscInfo() says when the answer changes, and its first iterate. Neighbor-wise Collective
  The KSP is in its solve. plain = PETSC_FALSE: PETSc's code has to solve. Processes may have different answers, since PETSc's code communicates as ours does.
*/
PetscErrorCode KSPFusedBegin(KSP ksp, KSPFusedIteration *iteration, PetscBool *plain)
{
  const char *why;

  PetscFunctionBegin;
  PetscCall(KSPFusedWhyNot(ksp, ksp->vec_rhs, ksp->vec_sol, iteration, &why));
  PetscCall(KSPFusedSay(ksp, why));
  *plain               = (PetscBool)(why == NULL);
  iteration->ksp       = ksp;
  iteration->x         = ksp->guess_zero ? NULL : ksp->vec_sol;
  iteration->q         = NULL;
  iteration->num_steps = ksp->max_it;
  if (*plain) ksp->its = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedSmooth - y = alpha M (b - A x) + beta x + gamma q with the preconditioner M and the right-hand side b of a KSP. Neighbor-wise Collective
  x NULL: zero, then beta is 0. q is read when gamma is not 0. y may be q, not x. With point blocks the KSP has a third work vector, or y is no q that is read.
  Cost: one kernel, with point blocks two, on several processes one more, and without the matrix where x is NULL.
*/
PetscErrorCode KSPFusedSmooth(const KSPFusedIteration *iteration, PetscScalar alpha, PetscScalar beta, Vec x, PetscScalar gamma, Vec q, Vec y)
{
  const KSP ksp = iteration->ksp;
  Vec       r   = ksp->vec_rhs;

  PetscFunctionBegin;
  if (iteration->d != NULL) {
    PetscCall(MatAIJCUDASmooth(iteration->A, alpha, iteration->d, r, beta, x, gamma, q, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (x != NULL) {
    r = gamma != 0.0 && q == y ? ksp->work[2] : y;
    PetscCall(MatAIJCUDASmooth(iteration->A, 1.0, NULL, ksp->vec_rhs, 0.0, x, 0.0, NULL, r));
  }
  PetscCall(PCPBJacobiStep_AIJCUDA(ksp->pc, alpha, r, beta, x, gamma, q, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedStep - The next iterate: alpha D (b - A x) + beta x + gamma q, where x is the iterate of now and q the one before. Neighbor-wise Collective
  Cost: that of KSPFusedSmooth().
*/
PetscErrorCode KSPFusedStep(KSPFusedIteration *iteration, PetscScalar alpha, PetscScalar beta, PetscScalar gamma)
{
  KSP ksp = iteration->ksp;
  Vec y;

  PetscFunctionBegin;
  if (ksp->its + 1 == iteration->num_steps && iteration->x != ksp->vec_sol) y = ksp->vec_sol;
  else y = iteration->x == ksp->work[0] ? ksp->work[1] : ksp->work[0];
  PetscCall(KSPFusedSmooth(iteration, alpha, iteration->x != NULL ? beta : 0.0, iteration->x, iteration->q != NULL ? gamma : 0.0, iteration->q, y));
  iteration->q = iteration->x;
  iteration->x = y;
  ksp->its++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPFusedEnd - After the last step: a solution that is not in its place, of a single step from a guess that is not zero, is copied there; the reason */
PetscErrorCode KSPFusedEnd(KSPFusedIteration *iteration)
{
  KSP ksp = iteration->ksp;

  PetscFunctionBegin;
  if (iteration->x != ksp->vec_sol)
    PetscCall(MatAIJCUDASmooth(iteration->A, 1.0, NULL, iteration->x, 0.0, NULL, 0.0, NULL, ksp->vec_sol)); // as all of a solve, work of the library, which may be recorded
  ksp->reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPFusedRegister_AIJCUDA - Registers KSPCHEBYSHEV, KSPRICHARDSON and KSPCG again, with our solve around PETSc's, and KSPGMRESPOLY.
  Part of PetscSparseCUDAInitialize(), and does nothing when called once more. Where PETSc's struct is another one, PETSc's code stays alone, and PetscInfo() says so.
*/
PetscErrorCode KSPFusedRegister_AIJCUDA(void)
{
  PetscFunctionBegin;
  PetscCall(KSPInitializePackage());
  PetscCall(KSPChebyshevRegister_AIJCUDA());
  PetscCall(KSPRichardsonRegister_AIJCUDA());
  PetscCall(KSPCGRegister_AIJCUDA()); // before estimates, which look for the solve
  PetscCall(KSPEstimateRegister_AIJCUDA());
  PetscCall(KSPGMRESPolyRegister_AIJCUDA());
  PetscFunctionReturn(PETSC_SUCCESS);
}
