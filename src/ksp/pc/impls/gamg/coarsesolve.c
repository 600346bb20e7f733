/*
  The solver of the coarsest level as a matrix. PCGAMG's default is a factorization on the host, whose solves wait for the device twice in each cycle, for as long as all launches below the finest
  level take. The product with the inverse that this factorization gives is one launch.
*/
#include "coarse.h"
#include "../../../ksp/impls/fused/fused.h"
#include <petscsparsecuda/densemult.h>
#include "../../../../petsc/ksp.h"

/* So many rows at most: the host solves with as many right-hand sides, in 0.1 ms for 50, and the launch is less than one wave. */
#define MAX_ROWS 128

/* A KSP that does nothing but apply its preconditioner. */
static PetscErrorCode IsPreOnly(KSP ksp, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, is));
  *is = (PetscBool)(*is && KSPIsSilent(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioner inside of a PCBJACOBI with one block; NULL: there are several, or its KSP does more. */
static PetscErrorCode GetPCOfBlock(PC pc, PC *block)
{
  PetscInt  num_blocks, first;
  KSP      *ksps;
  PetscBool is;

  PetscFunctionBegin;
  *block = NULL;
  if (!pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCBJacobiGetSubKSP(pc, &num_blocks, &first, &ksps));
  if (num_blocks != 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsPreOnly(ksps[0], &is));
  if (is) PetscCall(KSPGetPC(ksps[0], block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGCoarseGetFactorPC - The PCLU or PCCHOLESKY that the sequential solver of the coarsest level consists of; borrowed. NULL: the solver is another one, or somebody looks at it */
PetscErrorCode GAMGCoarseGetFactorPC(KSP ksp, PC *factor)
{
  PetscBool is, blocks;

  PetscFunctionBegin;
  *factor = NULL;
  PetscCall(IsPreOnly(ksp, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, factor));
  PetscCall(PetscObjectTypeCompare((PetscObject)*factor, PCBJACOBI, &blocks));
  if (blocks) PetscCall(GetPCOfBlock(*factor, factor));
  if (*factor == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*factor, &is, PCLU, PCCHOLESKY, ""));
  if (!is || (*factor)->failedreason != PC_NOERROR) *factor = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for the columns of the identity; X on the host, [n][n], column by column. */
static PetscErrorCode SolveForIdentity(Mat F, PetscInt n, Mat *X)
{
  Mat            B = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *X = NULL;
  PetscCallGoto(ierr, done, MatCreateSeqDense(PETSC_COMM_SELF, n, n, NULL, &B));
  PetscCallGoto(ierr, done, MatShift(B, 1.0));
  PetscCallGoto(ierr, done, MatCreateSeqDense(PETSC_COMM_SELF, n, n, NULL, X));
  PetscCallGoto(ierr, done, MatMatSolve(F, B, *X));
done:
  PetscCall(MatDestroy(&B));
  if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(X));
  PetscFunctionReturn(ierr);
}

/* Whether a product with the inverse is as good as a solve: rounding is multiplied by the condition number. What is singular but for the shift of the factorization is not among them. */
static PetscErrorCode IsWellConditioned(Mat A, Mat X, PetscBool *well)
{
  PetscReal a, x;

  PetscFunctionBegin;
  PetscCall(MatNorm(A, NORM_1, &a));
  PetscCall(MatNorm(X, NORM_1, &x));
  *well = (PetscBool)(a * x <= 1.0 / PetscSqrtReal(PETSC_MACHINE_EPSILON)); // not a number: it is not
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row by row, as the device reads it. */
static PetscErrorCode Upload(Mat X, PetscInt n, PetscScalar **inverse)
{
  const PetscScalar *x;
  PetscScalar       *rows;
  cudaStream_t       stream;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc1(n * n, &rows));
  PetscCallGoto(ierr, done, MatDenseGetArrayRead(X, &x));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) rows[i * n + j] = x[i + j * n];
  PetscCallGoto(ierr, done, MatDenseRestoreArrayRead(X, &x));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(n * n, "inverse of the coarsest level", stream, inverse));
  ierr = PetscSparseCUDACopyToDevice(*inverse, rows, sizeof(**inverse) * (size_t)(n * n), stream);
  if (ierr != PETSC_SUCCESS) (void)PetscSparseCUDAFree(inverse, stream);
done:
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(ierr);
}

/*
  GAMGCoarseInvert - The inverse of the matrix of the coarsest level, by the factorization of its solver, which is sequential and set up
  inverse is [n][n] on the device, to be freed with PetscSparseCUDAFree(); NULL for n = 0, and when there is none: why, a static string, says so. Cost: n solves on the host, one copy to the device.
*/
PetscErrorCode GAMGCoarseInvert(KSP ksp, PetscScalar **inverse, PetscInt *n, const char **why)
{
  Mat            A, F, X = NULL;
  PC             pc;
  PetscBool      petsc, well = PETSC_FALSE;
  MatSolverType  package;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *inverse = NULL;
  *why     = "the coarsest level is not solved by a factorization";
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatGetLocalSize(A, n, NULL));
  PetscCall(GAMGCoarseGetFactorPC(ksp, &pc));
  if (pc == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *why = "the coarsest level has too many rows";
  if (*n > MAX_ROWS) PetscFunctionReturn(PETSC_SUCCESS);
  *why = "the factorization of the coarsest level has failed";
  PetscCall(KSPSetUpOnBlocks(ksp)); // it would come with the first cycle
  if (pc->failedreason != PC_NOERROR) PetscFunctionReturn(PETSC_SUCCESS);
  *why = "the coarsest level is factored by another package, or in place";
  PetscCall(PCFactorGetMatrix(pc, &F));
  if (F == NULL || F == A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatFactorGetSolverType(F, &package));
  PetscCall(PetscStrcmp(package, MATSOLVERPETSC, &petsc));
  if (!petsc) PetscFunctionReturn(PETSC_SUCCESS);
  *why = NULL;
  if (*n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SolveForIdentity(F, *n, &X));
  PetscCallGoto(ierr, done, IsWellConditioned(A, X, &well));
  if (well) PetscCallGoto(ierr, done, Upload(X, *n, inverse));
  else *why = "the matrix of the coarsest level is nearly singular";
  ierr = PETSC_SUCCESS;
done:
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(ierr);
}
