/*
  Smoothing of the tentative prolongator, P = (I - 1.4 / emax D^-1 A) P0: what PCGAMGAGG of PETSc does, with the same estimate of emax, and the vector that it starts from made on the device.
*/
#include "gamg.h"
#include "../../../ksp/impls/fused/fused.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda/tentative.h>

#define DAMPING        1.4 /* PETSc's, times the inverse of the largest eigenvalue */
#define NUM_ITERATIONS 10  /* of the estimate, unless the options say otherwise */

/* The solver whose iterations estimate the eigenvalues of D^-1 A; prefix of the PC, then pc_gamg_esteig_. */
static PetscErrorCode SetUpEstimator(PC pc, Mat A, KSP ksp)
{
  PetscBool   known, spd;
  const char *prefix;
  PC          jacobi;

  PetscFunctionBegin;
  PetscCall(KSPSetNestLevel(ksp, pc->kspnestlevel));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(ksp, "pc_gamg_esteig_"));
  PetscCall(MatIsSPDKnown(A, &known, &spd));
  if (known && spd) PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetErrorIfNotConverged(ksp, pc->erroriffailure));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &jacobi));
  PetscCall(PCSetType(jacobi, PCJACOBI)); // ours around PETSc's: it looks for zeros on the device
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, NUM_ITERATIONS));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EstimateEigenvalues(PC pc, Mat A, PetscReal *emax, PetscReal *emin)
{
  KSP            ksp = NULL;
  Vec            x = NULL, b = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, MatAIJCUDAPrepareMult(A, PETSC_FALSE));
  PetscCallGoto(ierr, cleanup, MatCreateVecs(A, &b, NULL));
  PetscCallGoto(ierr, cleanup, MatCreateVecs(A, &x, NULL));
  PetscCallGoto(ierr, cleanup, KSPSetNoise_AIJCUDA(A, b));
  PetscCallGoto(ierr, cleanup, KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCallGoto(ierr, cleanup, SetUpEstimator(pc, A, ksp));
  PetscCallGoto(ierr, cleanup, KSPEstimateBegin(ksp));
  PetscCallGoto(ierr, cleanup, KSPSolve(ksp, b, x));
  PetscCallGoto(ierr, cleanup, KSPCheckSolve(ksp, pc, x));
  PetscCallGoto(ierr, cleanup, KSPComputeExtremeSingularValues(ksp, emax, emin));
  PetscCallGoto(ierr, cleanup, PetscInfo(pc, "%s: Smooth P0: max eigen=%e min=%e PC=%s\n", ((PetscObject)pc)->prefix, (double)*emax, (double)*emin, PCJACOBI));
cleanup:
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest eigenvalue, from the user or estimated; what Chebyshev smoothers are told of it is noted with the level. */
static PetscErrorCode GetLargestEigenvalue(PC pc, Mat A, PetscReal *emax)
{
  PC_MG    *mg    = (PC_MG *)pc->data;
  PC_GAMG  *gamg  = GAMGGet(pc);
  PetscInt  level = gamg->current_level;
  PetscReal emin;

  PetscFunctionBegin;
  if (gamg->emax > 0) {
    emin  = gamg->emin;
    *emax = gamg->emax;
  } else PetscCall(EstimateEigenvalues(pc, A, emax, &emin));
  mg->min_eigen_DinvA[level] = gamg->use_sa_esteig ? emin : 0;
  mg->max_eigen_DinvA[level] = gamg->use_sa_esteig ? *emax : 0;
  if (gamg->use_sa_esteig) PetscCall(PetscInfo(pc, "%s: Smooth P0: level %" PetscInt_FMT ", cache spectra %g %g\n", ((PetscObject)pc)->prefix, level, (double)emin, (double)*emax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P becomes P + alpha D^-1 A P. */
static PetscErrorCode SmoothOnce(PC pc, Mat A, Vec inverse, PetscReal alpha, Mat *P)
{
  const PetscLogEvent event = petsc_gamg_setup_matmat_events[GAMGGet(pc)->current_level][2];
  Mat                 AP;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  PetscCallLogged(event, 0, MatMatMult(A, *P, MAT_INITIAL_MATRIX, PETSC_CURRENT, &AP));
  PetscCallGoto(ierr, failed, MatProductClear(AP));
  PetscCallGoto(ierr, failed, MatDiagonalScale(AP, inverse, NULL));
  PetscCallGoto(ierr, failed, MatAYPX(AP, alpha, *P, SUBSET_NONZERO_PATTERN));
  PetscCall(MatDestroy(P));
  *P = AP;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatDestroy(&AP));
  PetscFunctionReturn(ierr);
}

/* GAMGSmoothBySteps - Smooths P as PETSc does, by a product with the matrix for each step; the old P is destroyed. Collective. */
PetscErrorCode GAMGSmoothBySteps(PC pc, Mat A, PetscInt num_smooths, PetscReal emax, Mat *P)
{
  Vec            inverse = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(emax != 0.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, "Computed maximum singular value as zero");
  PetscCallGoto(ierr, cleanup, MatCreateVecs(A, &inverse, NULL));
  PetscCallGoto(ierr, cleanup, MatGetDiagonal(A, inverse));
  PetscCallGoto(ierr, cleanup, VecReciprocal(inverse));
  for (PetscInt k = 0; k < num_smooths; k++) {
    PetscCallGoto(ierr, cleanup, PetscLogEventBegin(petsc_gamg_setup_events[GAMG_OPTSM], 0, 0, 0, 0));
    ierr = SmoothOnce(pc, A, inverse, -DAMPING / emax, P);
    PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_OPTSM], 0, 0, 0, 0));
    PetscCallGoto(ierr, cleanup, ierr);
  }
cleanup:
  PetscCall(VecDestroy(&inverse));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether one step of smoothing, and the filter, can be done at once: single unknowns on one process, one vector, and a coarse operator that is not factored, as the filter spares columns then. */
static PetscErrorCode CanSmoothAtOnce(PC pc, Mat A, Mat P, PetscReal filter, PetscBool *can)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, can));
  *can = (PetscBool)(*can && GAMGGetAggOptions(pc)->nsmooths == 1 && A->rmap->bs == 1 && GAMGGet(pc)->data_cell_rows == 1 && !(filter > 0 && GAMGIsCoarsest(pc, P)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage of P, filtered when filter is positive; zero unless *done. */
static PetscErrorCode SmoothTentative(PC pc, Mat A, Mat P0, PetscReal factor, PetscReal filter, DCSRView *view, PetscBool *done)
{
  PetscReal     *coarse = NULL;
  DCSRView       a, p0;
  cudaStream_t   stream;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDAGetCompact(A, &a));
  PetscCall(MatSeqAIJCUDAGetCompact(P0, &p0));
  if (filter > 0) PetscCall(GAMGUploadCoarse(pc, P0->cmap->n, stream, &coarse));
  PetscCallGpuTimeGoto(ierr, cleanup, DCSRSmoothTentative(a, p0, factor, filter, coarse, stream, view, done));
cleanup:
  PetscCall(PetscSparseCUDAFree(&coarse, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGSmoothAtOnce - Smooths and filters P without the matrices in between; P stays unless *done. Collective. */
PetscErrorCode GAMGSmoothAtOnce(PC pc, Mat A, PetscReal emax, PetscReal filter, Mat *P, PetscBool *done)
{
  const PetscLogEvent event    = petsc_gamg_setup_matmat_events[GAMGGet(pc)->current_level][2];
  Mat                 smoothed = NULL;
  DCSRView            view;
  PetscErrorCode      ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCheck(emax != 0.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, "Computed maximum singular value as zero");
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_OPTSM], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(event, 0, 0, 0, 0));
  ierr = SmoothTentative(pc, A, *P, -DAMPING / emax, filter, &view, done);
  PetscCall(PetscLogEventEnd(event, 0, 0, 0, 0));
  if (ierr == PETSC_SUCCESS && *done) ierr = MatSeqAIJCUDACreateFromView(A, 1, 1, &view, &smoothed);
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_OPTSM], 0, 0, 0, 0));
  PetscCall(ierr);
  PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": prolongator smoothed%s at once%s\n", GAMGGet(pc)->current_level, filter > 0 ? " and filtered" : "",
                      *done ? "" : ": not done, a row touches too many aggregates"));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(P));
  *P = smoothed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At once where that can be done, otherwise by steps. */
static PetscErrorCode SmoothInBestWay(PC pc, Mat A, PetscReal emax, PetscReal filter, Mat *P)
{
  GAMGContext   *context;
  Mat            tentative = *P;
  PetscBool      can, done = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(CanSmoothAtOnce(pc, A, *P, filter, &can));
  if (can) {
    PetscCall(PetscObjectReference((PetscObject)tentative));
    ierr = GAMGSmoothAtOnce(pc, A, emax, filter, P, &done);
    if (ierr == PETSC_SUCCESS && done && context->checks != NULL) ierr = (*context->checks->smoothed)(pc, A, emax, filter, tentative, *P);
    PetscCall(MatDestroy(&tentative));
    PetscCall(ierr);
  }
  if (!done) {
    PetscCall(GAMGSmoothBySteps(pc, A, GAMGGetAggOptions(pc)->nsmooths, emax, P));
    if (filter > 0) PetscCall(GAMGFilterProlongator(pc, filter, P));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The estimate, and the prolongator. */
static PetscErrorCode Smooth(PC pc, Mat A, PetscReal filter, Mat *P)
{
  PetscReal emax;

  PetscFunctionBegin;
  PetscCall(GetLargestEigenvalue(pc, A, &emax));
  PetscCall(SmoothInBestWay(pc, A, emax, filter, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same on the first process, which has all of A and P: with sequential matrices, to storage that is owned by the caller. Whether A is known to be positive definite decides about the method of the
  estimate, and about zeros on the diagonal in its preconditioner.
*/
static PetscErrorCode SmoothBlocks(PC pc, Mat A, PetscReal filter, Mat P, DCSRView *view)
{
  Mat              block = MatMPIAIJCUDAGetBlock(A, 0), smoothed = MatMPIAIJCUDAGetBlock(P, 0);
  const PetscBool3 spd = block->spd, symmetric = block->symmetric;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)smoothed));
  block->spd       = A->spd;
  block->symmetric = A->symmetric;
  ierr             = Smooth(pc, block, filter, &smoothed);
  block->spd       = spd;
  block->symmetric = symmetric;
  PetscCallGoto(ierr, failed, ierr);
  PetscCall(MatSeqAIJCUDATakeStorage(&smoothed, view));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatDestroy(&smoothed));
  PetscFunctionReturn(ierr);
}

/* The first process does it alone, and the others learn what it has found out. Collective. */
static PetscErrorCode SmoothOnFirst(PC pc, Mat A, PetscReal filter, Mat *P)
{
  PC_MG         *mg        = (PC_MG *)pc->data;
  const PetscInt level     = GAMGGet(pc)->current_level;
  DCSRView       blocks[2] = {{0}, {0}};
  Mat            smoothed;
  PetscReal      facts[3] = {0, 0, 0};
  PetscErrorCode ierr     = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (A->rmap->n > 0) {
    ierr     = SmoothBlocks(pc, A, filter, *P, &blocks[0]);
    facts[0] = mg->min_eigen_DinvA[level];
    facts[1] = mg->max_eigen_DinvA[level];
    facts[2] = (PetscReal)pc->failedreason;
  }
  PetscCallMPI(MPI_Bcast(facts, 3, MPIU_REAL, 0, PetscObjectComm((PetscObject)A)));
  mg->min_eigen_DinvA[level] = facts[0];
  mg->max_eigen_DinvA[level] = facts[1];
  pc->failedreason           = (PCFailedReason)(int)facts[2];
  PetscCall(MatAIJCUDACreateReduced(*P, blocks, ierr, &smoothed));
  PetscCall(MatDestroy(P));
  *P = smoothed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the first process has all of A and P, and nothing else would be asked of all: null spaces that users attach are removed from vectors of all processes. */
static PetscErrorCode CanSmoothOnFirst(Mat A, Mat P, PetscBool *can)
{
  MatNullSpace null_space, of_transpose;
  PetscBool    ours;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &null_space));
  PetscCall(MatGetTransposeNullSpace(A, &of_transpose));
  PetscCall(MatIsMPIAIJCUDA(A, can));
  PetscCall(MatIsMPIAIJCUDA(P, &ours));
  *can = (PetscBool)(*can && ours && null_space == NULL && of_transpose == NULL && GAMGIsOnFirst(A) && GAMGIsOnFirst(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGSmoothProlongator - Smooths the tentative prolongator of the current level, in place of PETSc's operation optprolongator. Collective
  A is the matrix of the level. P is another matrix afterwards.
  The numbers are PETSc's: the same solver with the same options and the same right-hand side estimates the largest eigenvalue, and the prolongator is that of the same steps but for rounding, filtered
  when -pc_gamg_prolongator_filter says so. One step for single unknowns on one process is done at once (DCSRSmoothTentative()): neither A P nor the prolongator before the filter is made then. A level
  that is on the first of several processes is one of them.
  Cost: the iterations of the estimate, and two reads of A; or a product A P, two passes over the result, and the filter (GAMGFilterProlongator()). Nothing of the size of a vector goes to the host but
  the near null space of the next level, which comes from there.
*/
PetscErrorCode GAMGSmoothProlongator(PC pc, Mat A, Mat *P)
{
  PC_MG          *mg     = (PC_MG *)pc->data;
  const PC_GAMG  *gamg   = GAMGGet(pc);
  const PetscInt  level  = gamg->current_level;
  const PetscReal filter = GAMGGetFilter(gamg, level);
  PetscBool       first;
  PetscErrorCode  ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_OPT], 0, 0, 0, 0));
  if (GAMGGetAggOptions(pc)->nsmooths > 0) {
    PetscCall(CanSmoothOnFirst(A, *P, &first));
    ierr = first ? SmoothOnFirst(pc, A, filter, P) : Smooth(pc, A, filter, P);
  } else {
    mg->min_eigen_DinvA[level] = 0;
    mg->max_eigen_DinvA[level] = 0;
    if (filter > 0) ierr = GAMGFilterProlongator(pc, filter, P);
  }
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_OPT], 0, 0, 0, 0));
  PetscCall(ierr);
  PetscCall(MatViewFromOptions(*P, NULL, "-pc_gamg_agg_view_prolongation"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
