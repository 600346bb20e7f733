#include "changes.h"
#include <petscsparsecuda.h>
#include "../../../src/petsc/mat.h"
#include "../../../src/petsc/ksp.h"

/* The solver of a level and its operator. */
static PetscErrorCode GetLevel(PC pc, PetscInt level, KSP *ksp, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, ksp));
  PetscCall(KSPGetOperators(*ksp, A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a matrix with other values. */
static PetscErrorCode GetOther(Mat A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(MatScale(*B, 1.25));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeNothing(PETSC_UNUSED PC pc, PETSC_UNUSED PetscInt level)
{
  return PETSC_SUCCESS;
}

/* ---- Residuals */

static PetscErrorCode HalfResidual(Mat A, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecScale(r, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeResidual(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(PCMGSetResidual(pc, level, HalfResidual, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeFinestResidual(PC pc, PETSC_UNUSED PetscInt level)
{
  PetscInt num_levels;

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &num_levels));
  PetscCall(ChangeResidual(pc, num_levels - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeResidualMatrix(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(GetOther(A, &B));
  PetscCall(PCMGSetResidual(pc, level, NULL, B));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of residuals is that of transposed ones, too. */
static PetscErrorCode ChangeResidualTranspose(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(GetOther(A, &B));
  PetscCall(PCMGSetResidualTranspose(pc, level, NULL, B));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Null spaces */

static PetscErrorCode SetConstants(Mat A, PetscErrorCode (*set)(Mat, MatNullSpace))
{
  MatNullSpace constants;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_TRUE, 0, NULL, &constants));
  PetscCall((*set)(A, constants));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_NULL_SPACE(name, set, which) \
  static PetscErrorCode name(PC pc, PETSC_UNUSED PetscInt level) \
  { \
    PetscInt num_levels; \
    KSP      ksp; \
    Mat      A; \
\
    PetscFunctionBegin; \
    PetscCall(PCMGGetLevels(pc, &num_levels)); \
    PetscCall(GetLevel(pc, which, &ksp, &A)); \
    PetscCall(SetConstants(A, set)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_NULL_SPACE(ChangeNullSpace, MatSetNullSpace, level)
DEFINE_NULL_SPACE(ChangeTransposeNullSpace, MatSetTransposeNullSpace, level)
DEFINE_NULL_SPACE(ChangeCoarsestNullSpace, MatSetNullSpace, 0)
DEFINE_NULL_SPACE(ChangeCoarsestTransposeNullSpace, MatSetTransposeNullSpace, 0)
DEFINE_NULL_SPACE(ChangeFinestNullSpace, MatSetNullSpace, num_levels - 1)
DEFINE_NULL_SPACE(ChangeFinestTransposeNullSpace, MatSetTransposeNullSpace, num_levels - 1)

static PetscErrorCode ApplyOnce(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec))
{
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall((*apply)(pc, b, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeNullSpaceAndBack(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(ChangeNullSpace(pc, level));
  PetscCall(ApplyOnce(pc, PCApply));
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(MatSetNullSpace(A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup that keeps the interpolations, and with them the matrix of the coarsest level with its null space. */
static PetscErrorCode ChangeCoarsestNullSpaceAndSetUp(PC pc, PetscInt level)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(ChangeCoarsestNullSpace(pc, level));
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Matrices */

/* Another operator for the smoother alone, set up at once. */
static PetscErrorCode ChangeOperator(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(GetOther(A, &B));
  PetscCall(MatShift(B, 0.5));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetUp(ksp));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With eigenvalues that are given nothing but the operator is another one. */
static PetscErrorCode ChangeOperatorGiven(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 2.2, 0.2));
  for (int k = 0; k < 4; k++) PetscCall(ApplyOnce(pc, PCApply)); // recorded with these
  PetscCall(ChangeOperator(pc, level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeOperatorLater(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(GetOther(A, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix that the diagonal is taken from. */
static PetscErrorCode ChangePMat(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(GetOther(A, &B));
  PetscCall(KSPSetOperators(ksp, A, B));
  PetscCall(KSPSetUp(ksp));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeValues(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(MatScale(A, 1.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeValuesReuse(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(ChangeValues(pc, level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeCoarsestValues(PC pc, PETSC_UNUSED PetscInt level)
{
  PetscFunctionBegin;
  PetscCall(ChangeValues(pc, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeArray(PC pc, PetscInt level)
{
  PetscScalar *a;
  KSP          ksp;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(MatSeqAIJGetArray(A, &a));
  a[0] *= 5;
  PetscCall(MatSeqAIJRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeBound(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeType(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeOurType(PC pc, PetscInt level)
{
  PetscBool is;
  KSP       ksp;
  Mat       A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is, MATSEQAIJDCSRCUDA, MATMPIAIJDCSRCUDA, ""));
  PetscCall(MatConvert(A, is ? MATAIJHISPARSECUDA : MATAIJDCSRCUDA, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Operations: those of PETSc, or of a type, with a factor. All matrices of a level have the same. */

static PetscErrorCode (*petsc_mult)(Mat, Vec, Vec), (*petsc_multtranspose)(Mat, Vec, Vec), (*petsc_multadd)(Mat, Vec, Vec, Vec);

static PetscErrorCode MultScaled(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*petsc_mult)(A, x, y));
  PetscCall(VecScale(y, 1.25));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTransposeScaled(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*petsc_multtranspose)(A, x, y));
  PetscCall(VecScale(y, 0.75));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultAddScaled(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*petsc_multadd)(A, x, z, y));
  PetscCall(VecScale(y, 0.875));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeMult(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  petsc_mult = A->ops->mult;
  PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)MultScaled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeResidualOperation(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(MatSetOperation(A, MATOP_RESIDUAL, (PetscErrorCodeFn *)HalfResidual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeRestrictionOperation(PC pc, PetscInt level)
{
  Mat P;

  PetscFunctionBegin;
  PetscCall(PCMGGetInterpolation(pc, level, &P));
  petsc_multtranspose = P->ops->multtranspose;
  PetscCall(MatSetOperation(P, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MultTransposeScaled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeInterpolationOperation(PC pc, PetscInt level)
{
  Mat P;

  PetscFunctionBegin;
  PetscCall(PCMGGetInterpolation(pc, level, &P));
  petsc_multadd = P->ops->multadd;
  PetscCall(MatSetOperation(P, MATOP_MULT_ADD, (PetscErrorCodeFn *)MultAddScaled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Interpolations and vectors */

static PetscErrorCode ChangeInterpolation(PC pc, PetscInt level)
{
  Mat P, Q;

  PetscFunctionBegin;
  PetscCall(PCMGGetInterpolation(pc, level, &P));
  PetscCall(GetOther(P, &Q));
  PetscCall(PCMGSetInterpolation(pc, level, Q));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeRestriction(PC pc, PetscInt level)
{
  Mat P, R;

  PetscFunctionBegin;
  PetscCall(PCMGGetInterpolation(pc, level, &P));
  PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatScale(R, 0.75));
  PetscCall(PCMGSetRestriction(pc, level, R));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeInterpolationValues(PC pc, PetscInt level)
{
  Mat P;

  PetscFunctionBegin;
  PetscCall(PCMGGetInterpolation(pc, level, &P));
  PetscCall(MatScale(P, 0.875));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeVectors(PC pc, PetscInt level)
{
  PetscErrorCode (*const sets[])(PC, PetscInt, Vec) = {PCMGSetR, PCMGSetX, PCMGSetRhs};
  KSP ksp;
  Mat A;
  Vec v;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sets); k++) {
    PetscCall(MatCreateVecs(A, NULL, &v));
    PetscCall((*sets[k])(pc, level, v));
    PetscCall(VecDestroy(&v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeBoundVector(PC pc, PetscInt level)
{
  PetscFunctionBegin;
  PetscCall(VecBindToCPU(((PC_MG *)pc->data)->levels[level]->r, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Smoothers */

static PetscErrorCode ChangeJacobiType(PC pc, PetscInt level)
{
  KSP ksp;
  PC  jacobi;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPGetPC(ksp, &jacobi));
  PetscCall(PCJacobiSetType(jacobi, PC_JACOBI_ROWL1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeJacobiReset(PC pc, PetscInt level)
{
  KSP ksp;
  Mat A;
  PC  jacobi;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &ksp, &A));
  PetscCall(KSPGetPC(ksp, &jacobi));
  PetscCall(PCJacobiSetUseAbs(jacobi, PETSC_TRUE));
  PetscCall(PetscObjectReference((PetscObject)A));
  PetscCall(PCReset(jacobi));
  PetscCall(PCSetOperators(jacobi, A, A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangePCType(PC pc, PetscInt level)
{
  KSP ksp;
  PC  jacobi;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPGetPC(ksp, &jacobi));
  PetscCall(PCSetType(jacobi, PCNONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopAtOnce(PETSC_UNUSED KSP ksp, PetscInt n, PETSC_UNUSED PetscReal norm, KSPConvergedReason *reason, PETSC_UNUSED PetscCtx ctx)
{
  *reason = n >= 1 ? KSP_CONVERGED_ITS : KSP_CONVERGED_ITERATING;
  return PETSC_SUCCESS;
}

static PetscErrorCode ChangeTest(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetConvergenceTest(ksp, StopAtOnce, NULL, NULL));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_PRECONDITIONED));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleSolution(PETSC_UNUSED KSP ksp, PETSC_UNUSED Vec b, Vec x, PETSC_UNUSED PetscCtx ctx)
{
  PetscFunctionBegin;
  PetscCall(VecScale(x, 1.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangePreSolve(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetPreSolve(ksp, ScaleSolution, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangePostSolve(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetPostSolve(ksp, ScaleSolution, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeKSPType(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeFused(PC pc, PetscInt level)
{
  char name[64];
  KSP  ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(PetscSNPrintf(name, sizeof(name), "-mg_levels_%" PetscInt_FMT "_ksp_fused", level));
  PetscCall(PetscOptionsSetValue(NULL, name, "0"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsClearValue(NULL, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeGuess(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeKnoll(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetInitialGuessKnoll(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeErrors(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeTransform(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPChebyshevEstEigSet(ksp, 0.0, 0.25, 0.0, 1.25));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeScale(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPRichardsonSetScale(ksp, 0.375));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeSmootherUp(PC pc, PetscInt level)
{
  KSP down, up;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetLevel(pc, level, &down, &A));
  PetscCall(PCMGGetSmootherUp(pc, level, &up));
  PetscCall(KSPSetOperators(up, A, A));
  PetscCall(KSPSetInitialGuessNonzero(up, PETSC_TRUE));
  PetscCall(KSPSetTolerances(up, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  PetscCall(KSPSetUp(up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Cycles */

static PetscErrorCode ChangeCycleType(PC pc, PETSC_UNUSED PetscInt level)
{
  PetscFunctionBegin;
  PetscCall(PCMGSetCycleType(pc, PC_MG_CYCLE_W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeCycles(PC pc, PETSC_UNUSED PetscInt level)
{
  PetscFunctionBegin;
  PetscCall(PCMGMultiplicativeSetCycles(pc, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeSteps(PC pc, PETSC_UNUSED PetscInt level)
{
  PetscFunctionBegin;
  PetscCall(PCMGSetNumberSmooth(pc, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyTranspose(PC pc, PETSC_UNUSED PetscInt level)
{
  PetscFunctionBegin;
  PetscCall(ApplyOnce(pc, PCApplyTranspose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_GE(3, 26, 0)
static PetscErrorCode ApplyExplicitTranspose(PC pc, PetscInt level)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &ksp));
  PetscCall(KSPSetUseExplicitTranspose(ksp, PETSC_TRUE));
  PetscCall(ApplyOnce(pc, PCApplyTranspose));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* ---- The coarsest solver */

static PetscErrorCode GetFactor(PC pc, KSP *ksp, PC *factor)
{
  PetscInt  num_blocks, first;
  PetscBool is;
  KSP      *block;

  PetscFunctionBegin;
  PetscCall(PCMGGetCoarseSolve(pc, ksp));
  PetscCall(KSPGetPC(*ksp, factor));
  PetscCall(PetscObjectTypeCompare((PetscObject)*factor, PCBJACOBI, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCBJacobiGetSubKSP(*factor, &num_blocks, &first, &block));
  *ksp = block[0];
  PetscCall(KSPGetPC(*ksp, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors are those of another matrix. */
static PetscErrorCode ChangeFactors(PC pc, PETSC_UNUSED PetscInt level)
{
  KSP ksp;
  PC  factor;
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(GetFactor(pc, &ksp, &factor));
  PetscCall(PCGetOperators(factor, &A, NULL));
  PetscCall(GetOther(A, &B));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeFactorsAtOnce(PC pc, PetscInt level)
{
  KSP ksp;
  PC  factor;

  PetscFunctionBegin;
  PetscCall(ChangeFactors(pc, level));
  PetscCall(GetFactor(pc, &ksp, &factor));
  PetscCall(KSPSetUp(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeCoarsestPostSolve(PC pc, PETSC_UNUSED PetscInt level)
{
  KSP ksp;
  PC  factor;

  PetscFunctionBegin;
  PetscCall(GetFactor(pc, &ksp, &factor));
  PetscCall(KSPSetPostSolve(ksp, ScaleSolution, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChangeCoarsestPC(PC pc, PETSC_UNUSED PetscInt level)
{
  KSP ksp;
  PC  factor;

  PetscFunctionBegin;
  PetscCall(GetFactor(pc, &ksp, &factor));
  PetscCall(PCSetType(factor, PCILU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const Change Changes[] = {
  {"nothing", ChangeNothing, CYCLES_GRAPH, PETSC_FALSE, NULL, PETSC_FALSE},
  {"PCMGSetResidual(), function", ChangeResidual, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCMGSetResidual(), function, finest level", ChangeFinestResidual, CYCLES_GRAPH, PETSC_FALSE, NULL, PETSC_FALSE},
  {"PCMGSetResidual(), matrix", ChangeResidualMatrix, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCMGSetResidualTranspose(), matrix", ChangeResidualTranspose, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetNullSpace()", ChangeNullSpace, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetNullSpace() and back", ChangeNullSpaceAndBack, CYCLES_PETSC, PETSC_FALSE, NULL, PETSC_FALSE},
  {"MatSetTransposeNullSpace()", ChangeTransposeNullSpace, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetNullSpace(), coarsest level", ChangeCoarsestNullSpace, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetNullSpace(), coarsest level, with a setup", ChangeCoarsestNullSpaceAndSetUp, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetTransposeNullSpace(), coarsest level", ChangeCoarsestTransposeNullSpace, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetNullSpace(), finest level", ChangeFinestNullSpace, CYCLES_GRAPH, PETSC_FALSE, NULL, PETSC_FALSE},
  {"MatSetTransposeNullSpace(), finest level", ChangeFinestTransposeNullSpace, CYCLES_GRAPH, PETSC_FALSE, NULL, PETSC_FALSE},
  {"KSPSetOperators() and KSPSetUp()", ChangeOperator, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetOperators() with given eigenvalues", ChangeOperatorGiven, CYCLES_GRAPH, PETSC_TRUE, KSPCHEBYSHEV, PETSC_FALSE},
  {"KSPSetOperators()", ChangeOperatorLater, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetOperators(), matrix of the preconditioner", ChangePMat, CYCLES_GRAPH, PETSC_FALSE, NULL, PETSC_FALSE},
  {"MatScale()", ChangeValues, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatScale() with KSPSetReusePreconditioner()", ChangeValuesReuse, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatScale(), coarsest level", ChangeCoarsestValues, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSeqAIJGetArray()", ChangeArray, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_TRUE},
  {"MatBindToCPU()", ChangeBound, CYCLES_PETSC, PETSC_FALSE, NULL, PETSC_FALSE},
  {"MatConvert() in place to MATAIJ", ChangeType, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatConvert() in place to another type of ours", ChangeOurType, CYCLES_ANY, PETSC_FALSE, NULL, PETSC_FALSE},
  {"MatSetOperation(), product", ChangeMult, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetOperation(), residual", ChangeResidualOperation, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetOperation(), product of restrictions", ChangeRestrictionOperation, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatSetOperation(), product of interpolations", ChangeInterpolationOperation, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCMGSetInterpolation()", ChangeInterpolation, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCMGSetRestriction()", ChangeRestriction, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"MatScale() of an interpolation", ChangeInterpolationValues, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCMGSetR(), PCMGSetX() and PCMGSetRhs()", ChangeVectors, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"VecBindToCPU()", ChangeBoundVector, CYCLES_PETSC, PETSC_FALSE, NULL, PETSC_FALSE},
  {"PCJacobiSetType()", ChangeJacobiType, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCReset() of PCJACOBI", ChangeJacobiReset, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCSetType()", ChangePCType, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetConvergenceTest() and KSPSetNormType()", ChangeTest, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetPreSolve()", ChangePreSolve, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetPostSolve()", ChangePostSolve, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetType()", ChangeKSPType, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"-ksp_fused 0", ChangeFused, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetInitialGuessNonzero()", ChangeGuess, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetInitialGuessKnoll()", ChangeKnoll, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetErrorIfNotConverged()", ChangeErrors, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPChebyshevEstEigSet()", ChangeTransform, CYCLES_GRAPH, PETSC_TRUE, KSPCHEBYSHEV, PETSC_FALSE},
  {"KSPRichardsonSetScale()", ChangeScale, CYCLES_GRAPH, PETSC_TRUE, KSPRICHARDSON, PETSC_FALSE},
  {"PCMGGetSmootherUp()", ChangeSmootherUp, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCMGSetCycleType()", ChangeCycleType, CYCLES_PETSC, PETSC_FALSE, NULL, PETSC_FALSE},
  {"PCMGMultiplicativeSetCycles()", ChangeCycles, CYCLES_PETSC, PETSC_FALSE, NULL, PETSC_FALSE},
  {"PCMGSetNumberSmooth()", ChangeSteps, CYCLES_GRAPH, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCApplyTranspose()", ApplyTranspose, CYCLES_GRAPH, PETSC_FALSE, NULL, PETSC_FALSE},
#if PETSC_VERSION_GE(3, 26, 0) // before, a second solve transposes the transpose
  {"PCApplyTranspose() with KSPSetUseExplicitTranspose()", ApplyExplicitTranspose, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
#endif
  {"KSPSetOperators(), coarsest level", ChangeFactors, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetOperators() and KSPSetUp(), coarsest level", ChangeFactorsAtOnce, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"KSPSetPostSolve(), coarsest level", ChangeCoarsestPostSolve, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
  {"PCSetType(), coarsest level", ChangeCoarsestPC, CYCLES_PETSC, PETSC_TRUE, NULL, PETSC_FALSE},
};
const PetscInt NumChanges = PETSC_STATIC_ARRAY_LENGTH(Changes);
