/*
  Hints to the matrices of levels about the products that follow a setup (MatAutoCUDASetProducts()): as many cycles as the last setup had, times what a cycle multiplies by the settings of the
  smoothers.

  Before a setup has had cycles the hint is a lower bound (MatAutoCUDASetMinimumProducts()): the fewest of the solves of benchmarks/results/h200/solve.jsonl. Who sets up multigrid solves with it,
  and a maximum of iterations is no forecast. Smoothers that have a tolerance, and cycles other than V and W, give no hint. Those that KSPRICHARDSON leaves to the PC, and products with
  dense matrices, are not counted.
*/
#include "gamg.h"
#include "../../../../petsc/ksp.h"

#define FIRST_CYCLES 6 /* that are expected at least to follow the first setup */

/* Products with its operator of one application of a smoother; -1: not known. A zero guess saves the first. */
static PetscErrorCode GetSmootherProducts(KSP smoother, PetscBool zero_guess, PetscInt *n)
{
  PetscBool   preonly;
  KSPNormType norm;
  PetscInt    iterations;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)smoother, KSPPREONLY, &preonly));
  PetscCall(KSPGetNormType(smoother, &norm));
  PetscCall(KSPGetTolerances(smoother, NULL, NULL, NULL, &iterations));
  if (preonly) *n = 0;
  else if (norm != KSP_NORM_NONE) *n = -1;
  else *n = zero_guess ? PetscMax(iterations - 1, 0) : iterations;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Products with the operator of a level: smoothing, the residual, smoothing. Of the visits of a cycle some begin with zero, others, in W cycles, with what the visit before has left. n -1: not known.
*/
static PetscErrorCode GetLevelProducts(const PC_MG_Levels *level, PetscCount visits, PetscCount with_zero, PetscCount *n)
{
  PetscInt first, again, up;

  PetscFunctionBegin;
  PetscCall(GetSmootherProducts(level->smoothd, PETSC_TRUE, &first));
  PetscCall(GetSmootherProducts(level->smoothd, PETSC_FALSE, &again));
  PetscCall(GetSmootherProducts(level->smoothu, PETSC_FALSE, &up));
  *n = first < 0 || up < 0 ? -1 : with_zero * first + (visits - with_zero) * again + (level->level > 0 ? visits * (1 + up) : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many products, or the largest number there is. */
static PetscErrorCode Tell(Mat A, PetscBool minimum, PetscCount n, PetscCount n_transpose)
{
  const PetscInt products = (PetscInt)PetscMin(n, (PetscCount)PETSC_INT_MAX), transpose = (PetscInt)PetscMin(n_transpose, (PetscCount)PETSC_INT_MAX);

  PetscFunctionBegin;
  if (minimum) PetscCall(MatAutoCUDASetMinimumProducts(A, products, transpose));
  else PetscCall(MatAutoCUDASetProducts(A, products, transpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with the matrices between a level and the next coarser one. A restriction may have either shape (MatRestrict()). */
static PetscErrorCode TellTransfers(const PC_MG_Levels *level, PetscBool minimum, PetscCount visits)
{
  const Mat       P = level->interpolate, R = level->restrct;
  const PetscBool own = (PetscBool)(R != NULL && R != P);

  PetscFunctionBegin;
  if (P != NULL) PetscCall(Tell(P, minimum, visits, own ? 0 : visits));
  if (P == NULL || !own) PetscFunctionReturn(PETSC_SUCCESS);
  if (R->rmap->N == P->rmap->N) PetscCall(Tell(R, minimum, 0, visits));
  else PetscCall(Tell(R, minimum, visits, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGHintProducts - Gives the matrices of all levels hints: how many products follow. After each setup. The cycles of context are counted anew. */
PetscErrorCode GAMGHintProducts(PC pc, GAMGContext *context)
{
  const PC_MG         *mg     = (const PC_MG *)pc->data;
  PC_MG_Levels *const *levels = mg->levels;
  PetscCount           cycles, visits, with_zero, n = 0;
  PetscBool            minimum;
  Mat                  A;

  PetscFunctionBegin;
  if (context->cycles > 0) context->expected_cycles = context->cycles;
  context->cycles = 0;
  minimum         = (PetscBool)(context->expected_cycles == 0);
  cycles          = minimum ? FIRST_CYCLES : context->expected_cycles;
  visits = with_zero = cycles;
  if (levels == NULL || mg->am != PC_MG_MULTIPLICATIVE) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = mg->nlevels - 1; k >= 0; k--) {
    PetscCall(GetLevelProducts(levels[k], visits, with_zero, &n));
    PetscCall(KSPGetOperators(levels[k]->smoothd, &A, NULL));
    if (A != NULL && n >= 0) PetscCall(Tell(A, minimum, n + (A == pc->mat ? cycles : 0), 0)); // and one of the Krylov method for each cycle
    if (k > 0) PetscCall(TellTransfers(levels[k], minimum, visits));
    with_zero = visits;
    if (k > 1) visits *= levels[k]->cycles;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
