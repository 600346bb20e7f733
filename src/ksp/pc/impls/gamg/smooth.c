/*
  Smoothing of the tentative prolongator, P = (I - 1.4 / emax D^-1 A) P0: what PCGAMGAGG of PETSc does, with the same estimate of emax, and the vector that it starts from made on the device.
*/
#include "gamg.h"
#include "../jacobi/jacobi.h"
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
  PetscCallGoto(ierr, cleanup, MatCreateVecForSetup(A, &b));
  PetscCallGoto(ierr, cleanup, VecDuplicate(b, &x));
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
  PetscCallGoto(ierr, cleanup, MatCreateVecForSetup(A, &inverse));
  PetscCallGoto(ierr, cleanup, MatGetDiagonal(A, inverse));
  PetscCallGoto(ierr, cleanup, VecReplaceZeros_AIJCUDA(inverse, 0.0, PETSC_TRUE, NULL));
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

/* What smoothing at once reads and makes on a process. */
typedef struct {
  PetscBool    mpi;
  Mat          A, P0;
  DCSRView     a[2];    /* blocks of A, borrowed; the first one alone unless mpi */
  int32_t     *numbers; /* [columns of the blocks of A] device, owned: columns of P0 in its rows, also those of ghost columns */
  PetscScalar *weights; /* the same of its values */
  DCSRView     p[2];    /* blocks of P, owned; the first one alone unless mpi */
  int32_t     *ghosts;  /* [num_ghosts] host, owned: global numbers of the ghost columns of P */
  PetscInt     num_ghosts;
  cudaStream_t stream;
} AtOnce;

/*
  Whether one step of smoothing, and the filter, can be done at once: single unknowns, one vector, and a coarse operator that is not factored, as the filter spares columns then. On several processes
  without the filter, and while the sum of own and of all coarse numbers is one of 32 bits. The same on all processes.
*/
static PetscErrorCode CanSmoothAtOnce(PC pc, Mat A, Mat P, PetscReal filter, PetscBool *can)
{
  PetscBool mpi, ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, can));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  PetscCall(MatIsMPIAIJCUDA(P, &ours));
  if (mpi && ours) *can = (PetscBool)(filter <= 0 && P->cmap->N < PETSC_INT32_MAX / 2);
  *can = (PetscBool)(*can && GAMGGetAggOptions(pc)->nsmooths == 1 && A->rmap->bs == 1 && GAMGGet(pc)->data_cell_rows == 1 && !(filter > 0 && GAMGIsCoarsest(pc, P)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyAtOnce(AtOnce *s)
{
  PetscFunctionBegin;
  for (int b = 0; b < 2; b++) PetscCall(DCSRViewFree(&s->p[b], s->stream));
  PetscCall(PetscSparseCUDAFree(&s->numbers, s->stream));
  PetscCall(PetscSparseCUDAFree(&s->weights, s->stream));
  PetscCall(PetscFree(s->ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of P0 as the kernels read them, and room for those of ghost columns of A. */
static PetscErrorCode PackTentative(AtOnce *s)
{
  const PetscInt n       = s->A->rmap->n + (s->mpi ? MatMPIAIJCUDANumGhosts(s->A) : 0);
  JoinedColumns  columns = {{0}};
  DCSRView       p0[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (s->mpi) PetscCall(MatMPIAIJCUDAUseCurrentStream(s->A)); // its scatter is used without a product
  for (int b = 0; b < 1 + (int)s->mpi; b++) {
    PetscCall(MatSeqAIJCUDAGetCompact(s->mpi ? MatMPIAIJCUDAGetBlock(s->A, b) : s->A, &s->a[b]));
    PetscCall(MatSeqAIJCUDAGetCompact(s->mpi ? MatMPIAIJCUDAGetBlock(s->P0, b) : s->P0, &p0[b]));
  }
  if (s->mpi) {
    PetscCall(PetscSparseCUDAMallocExportable(n, "columns of the tentative prolongator", s->stream, &s->numbers));
    PetscCall(PetscSparseCUDAMallocExportable(n, "values of the tentative prolongator", s->stream, &s->weights));
    PetscCall(JoinedColumnsCreateOf(s->P0, s->stream, &columns));
  } else {
    PetscCall(PetscSparseCUDAMalloc(n, "columns of the tentative prolongator", s->stream, &s->numbers));
    PetscCall(PetscSparseCUDAMalloc(n, "values of the tentative prolongator", s->stream, &s->weights));
  }
  ierr = DCSRTentativePack(1 + (int)s->mpi, p0, s->P0->cmap->rstart, columns.device.ghosts, s->numbers, s->weights, s->stream);
  PetscCall(JoinedColumnsDestroy(&columns, s->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of P0 that belong to ghost columns of A come from their owners, along the scatter of products. Collective. */
static PetscErrorCode ExchangeTentative(AtOnce *s)
{
  const PetscInt n = s->A->rmap->n, num_ghosts = MatMPIAIJCUDANumGhosts(s->A);
  const PetscSF  sf = ((Mat_MPIAIJ *)s->A->data)->Mvctx;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDASFBcast(sf, MPI_INT, s->numbers, s->numbers + n, s->stream));
  PetscCall(PetscSparseCUDASFBcast(sf, MPIU_SCALAR, s->weights, s->weights + n, s->stream));
  PetscCall(DCSRTentativeLocalize(n + num_ghosts, s->P0->cmap->rstart, s->P0->cmap->n, s->numbers, s->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of P on this process becomes its blocks; all is freed or taken, also after an error. */
static PetscErrorCode SplitSmoothed(AtOnce *s, DCSRView *all)
{
  const PetscLayout cmap    = s->P0->cmap;
  const DCSRColumns columns = {cmap->rstart, cmap->n, cmap->N, 0, NULL};
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, DCSRSplitColumns(*all, columns, s->stream, &s->p[0], &s->p[1]));
  for (int b = 0; b < 2; b++) PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(&s->p[b], s->stream));
  PetscCallGoto(ierr, cleanup, DCSRSplitValues(*all, s->p[0], s->p[1], s->stream));
  PetscCallGoto(ierr, cleanup, GhostColumnsRenumber(cmap->N, &s->p[1], s->stream, &s->num_ghosts, &s->ghosts));
cleanup:
  PetscCall(DCSRViewFree(all, s->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of P of this process, filtered when filter is positive; there is none unless *done. */
static PetscErrorCode SmoothTentative(PC pc, AtOnce *s, PetscReal factor, PetscReal filter, PetscBool *done)
{
  const PetscLayout cmap       = s->P0->cmap;
  const PetscInt    num_coarse = cmap->n + (s->mpi ? cmap->N : 0);
  PetscReal        *coarse     = NULL;
  DCSRView          all        = {0};
  PetscErrorCode    ierr       = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (filter > 0) PetscCall(GAMGPackCoarse(pc, cmap->n, s->stream, &coarse));
  PetscCallGpuTimeGoto(ierr, cleanup, DCSRSmoothTentative(1 + (int)s->mpi, s->a, s->numbers, s->weights, factor, filter, coarse, num_coarse, s->stream, &all, done));
  if (s->mpi && s->A->rmap->n == 0) {
    PetscCallGoto(ierr, cleanup, DCSRViewAllocateCompact(0, num_coarse, 0, PETSC_FALSE, s->stream, &all));
    PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(all.row_offsets, 0, sizeof(int32_t), s->stream));
    *done = PETSC_TRUE;
  }
  if (*done && s->mpi) PetscCallGoto(ierr, cleanup, SplitSmoothed(s, &all));
  else s->p[0] = all;
  PetscCall(PetscArrayzero(&all, 1));
cleanup:
  PetscCall(DCSRViewFree(&all, s->stream));
  PetscCall(PetscSparseCUDAFree(&coarse, s->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of P on all processes; *done when they are there on all. All processes have an error when one has. Collective. */
static PetscErrorCode MakeBlocks(PC pc, AtOnce *s, PetscReal factor, PetscReal filter, PetscBool *done)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)s->A);
  int            all[2]; /* the largest error code, and whether one process could not */
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PackTentative(s);
  if (s->mpi) {
    PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
    PetscCall(ierr);
    ierr = ExchangeTentative(s);
  }
  if (ierr == PETSC_SUCCESS) ierr = SmoothTentative(pc, s, factor, filter, done);
  if (!s->mpi) PetscFunctionReturn(ierr);
  all[0] = (int)ierr;
  all[1] = !*done;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MAX, comm));
  PetscCall(PetscSparseCUDAErrorOfAll(all[0], ierr));
  *done = (PetscBool)!all[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks become a matrix. Collective. */
static PetscErrorCode CreateSmoothed(AtOnce *s, Mat *P)
{
  PetscFunctionBegin;
  if (s->mpi) PetscCall(MatMPIAIJCUDACreateLike(s->P0, s->p, s->num_ghosts, s->ghosts, P));
  else PetscCall(MatSeqAIJCUDACreateFromView(s->A, 1, 1, &s->p[0], P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGSmoothAtOnce - Smooths and filters P without the matrices in between; P stays unless *done. Collective. */
PetscErrorCode GAMGSmoothAtOnce(PC pc, Mat A, PetscReal emax, PetscReal filter, Mat *P, PetscBool *done)
{
  const PetscLogEvent event    = petsc_gamg_setup_matmat_events[GAMGGet(pc)->current_level][2];
  Mat                 smoothed = NULL;
  AtOnce              s        = {.A = A, .P0 = *P};
  PetscErrorCode      ierr     = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCheck(emax != 0.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, "Computed maximum singular value as zero");
  PetscCall(MatIsMPIAIJCUDA(A, &s.mpi));
  PetscCall(PetscSparseCUDAGetStream(&s.stream));
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_OPTSM], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(event, 0, 0, 0, 0));
  ierr = MakeBlocks(pc, &s, -DAMPING / emax, filter, done);
  PetscCall(PetscLogEventEnd(event, 0, 0, 0, 0));
  if (ierr == PETSC_SUCCESS && *done) ierr = CreateSmoothed(&s, &smoothed);
  PetscCall(DestroyAtOnce(&s));
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
  when -pc_gamg_prolongator_filter says so. One step for single unknowns, on several processes without the filter, is done at once (DCSRSmoothTentative()): neither A P nor the prolongator before the
  filter is made then.
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
