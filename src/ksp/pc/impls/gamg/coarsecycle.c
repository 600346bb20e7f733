/*
  The part of a V-cycle below the finest level, on one process. There the device is faster than the host that asks it: so all launches are recorded once as a CUDA graph, which is launched in their
  position.

  In the graph are smoothers, residuals, restrictions, prolongations and the coarsest level as they would be launched one by one, with the addresses of matrices and vectors and the numbers that
  smoothers are made of. A key has all that they and the choice of them follow from (coarsekey.c). While it stays the same the graph is launched; otherwise the launches are done one by one, and
  recorded again the next time when they took no memory. PETSc's cycle does what is not the plain case.

  The finest level stays outside: with it solves of KSPCG with 2,000 to 1,000,000 unknowns took 0.88 to 1.07 of the time, setups for new values 0.2 to 1.5 ms more (benchmarks/results/h200/graph.txt).
*/
#include "coarse.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include <petscsparsecuda/densemult.h>
#include <petscsparsecuda/record.h>
#include "../../../../petsc/ksp.h"
#include "../../../../petsc/vec.h"

const char *const GAMGCoarseCycles[] = {"petsc", "launches", "graph", "GAMGCoarseCycle", "GAMG_COARSE_", NULL};

/* After so many recordings since the setup, a recording has to serve this many launches of graphs. */
#define FREE_RECORDINGS    3
#define LAUNCHES_RECORDING 8

/* GAMGCoarseDestroy - Frees what is kept for cycles below the finest level; NULL is fine. */
PetscErrorCode GAMGCoarseDestroy(GAMGCoarse *coarse)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (*coarse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGraphDestroy(&(*coarse)->graph));
  if ((*coarse)->inverse != NULL) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(PetscSparseCUDAFree(&(*coarse)->inverse, stream));
  }
  PetscCall(PetscFree((*coarse)->key));
  PetscCall(PetscFree((*coarse)->now));
  PetscCall(PetscFree(*coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A restriction, which PCMG leaves out when it is the transpose of the prolongation. */
static Mat Restriction(const PC_MG_Levels *level)
{
  return level->restrct != NULL ? level->restrct : level->interpolate;
}

/* Why a matrix is not among those that work on the device with what is there, with products that can be recorded. The storage of the others stays until their structure changes. */
static PetscErrorCode WhyNotMatrix(Mat A, const char **why)
{
  PetscBool seq, can;

  PetscFunctionBegin;
  if (*why != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatAIJCUDACanSmooth(A, &can));
  if (!seq || !can) *why = "a matrix is none of ours, not sequential, not on the device, or has products of the program";
  else PetscCall(MatDeviceStorageSettle(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WhyNotVector(Vec v, const char **why)
{
  PetscFunctionBegin;
  if (*why == NULL && !VecIsOnDevice(v)) *why = "a vector is not on the device";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of a smoother may be another one than that of the residual. */
static PetscErrorCode WhyNotSmoother(KSP ksp, Vec b, Vec x, PetscBool zero, const char **why)
{
  PetscFunctionBegin;
  if (*why == NULL) PetscCall(KSPFusedApplyWhyNot(ksp, b, x, zero, why));
  if (*why == NULL) PetscCall(WhyNotMatrix(ksp->pc->mat, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WhyNotLevel(const PC_MG_Levels *level, const char **why)
{
  PetscFunctionBegin;
  if (*why == NULL && (level->b == NULL || level->x == NULL || (level->level > 0 && (level->r == NULL || level->interpolate == NULL)))) *why = "a level is not complete";
  if (*why != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(WhyNotVector(level->b, why));
  PetscCall(WhyNotVector(level->x, why));
  if (level->level == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(WhyNotVector(level->r, why));
  PetscCall(WhyNotMatrix(GAMGLevelGetOperator(level), why));
  PetscCall(WhyNotMatrix(level->interpolate, why));
  PetscCall(WhyNotMatrix(Restriction(level), why));
  if (*why == NULL && level->residual != PCMGResidualDefault) *why = "residuals are computed by the program";
  PetscCall(WhyNotSmoother(level->smoothd, level->b, level->x, PETSC_TRUE, why));
  PetscCall(WhyNotSmoother(level->smoothu, level->b, level->x, PETSC_FALSE, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the coarsest level is not solved by the inverse. KSPSolve() removes null spaces from right-hand side and solution. */
static PetscErrorCode WhyNotCoarsest(const GAMGCoarsestKey *key, GAMGCoarse coarse, const char **why)
{
  const PetscInt64 spaces = KSP_FUSED_MAT_NULL_SPACE | KSP_FUSED_MAT_TRANSPOSE_NULL_SPACE;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(PetscArraycmp(key, &coarse->inverted, 1, &same));
  if (coarse->why != NULL) *why = coarse->why;
  else if (key->factor.id == 0) *why = "the coarsest level is not solved by a factorization";
  else if (!same) *why = "the matrix of the coarsest level, or its solver, has changed since the setup";
  else if ((key->pc.A.flags | key->factor.A.flags) & spaces) *why = "the matrix of the coarsest level has a null space";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the part of a cycle below the finest level is not the plain case. All that this reads has to be in the key, coarse->now. */
static PetscErrorCode WhyNot(PC_MG_Levels **levels, GAMGCoarse coarse, const char **why)
{
  PetscFunctionBegin;
  *why = NULL;
  PetscCall(WhyNotCoarsest(&coarse->now->coarsest, coarse, why));
  if (*why == NULL && coarse->now->timed) *why = "the time of each launch is asked for";
  for (PetscInt k = 0; k < coarse->num_levels && *why == NULL; k++) PetscCall(WhyNotLevel(levels[k], why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = B b, where B is the inverse of the coarsest matrix. */
static PetscErrorCode SolveCoarsest(GAMGCoarse coarse, Vec b, Vec x)
{
  const PetscScalar *from;
  PetscScalar       *to;
  cudaStream_t       stream;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(VecGetArrayReadAndMemType(b, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(x, &to, NULL));
  ierr = DCSRDenseMult(coarse->n, coarse->n, coarse->inverse, from, to, stream);
  PetscCall(VecRestoreArrayWriteAndMemType(x, &to));
  PetscCall(VecRestoreArrayReadAndMemType(b, &from));
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)coarse->n * (PetscLogDouble)coarse->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG's cycle of levels 0 to k, its launches one by one. */
static PetscErrorCode Launches(PC_MG_Levels **levels, GAMGCoarse coarse, PetscInt k)
{
  const PC_MG_Levels *level = levels[k];

  PetscFunctionBegin;
  if (k == 0) {
    PetscCall(SolveCoarsest(coarse, level->b, level->x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPFusedApply(level->smoothd, level->b, level->x, PETSC_TRUE));
  PetscCall((*level->residual)(GAMGLevelGetOperator(level), level->b, level->x, level->r));
  PetscCall(MatRestrict(Restriction(level), level->r, levels[k - 1]->b));
  PetscCall(Launches(levels, coarse, k - 1));
  PetscCall(MatInterpolateAdd(level->interpolate, levels[k - 1]->x, level->x, level->x));
  PetscCall(KSPFusedApply(level->smoothu, level->b, level->x, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, done; whether it took memory says whether it can be recorded. */
static PetscErrorCode DoLaunches(PC_MG_Levels **levels, GAMGCoarse coarse)
{
  PetscInt64     before, after, lost;
  PetscLogDouble flops;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetMemoryChanges(&before, &lost));
  PetscCall(PetscGetFlops(&flops));
  PetscCall(Launches(levels, coarse, coarse->num_levels - 1));
  PetscCall(PetscGetFlops(&coarse->flops));
  coarse->flops -= flops;
  PetscCall(PetscSparseCUDAGetMemoryChanges(&after, &lost));
  coarse->state = after == before ? COARSE_STEADY : COARSE_LAUNCHES;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, recorded. What cannot be recorded is no error: there is no graph then. */
static PetscErrorCode Record(PC pc, PC_MG_Levels **levels, GAMGCoarse coarse)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGraphDestroy(&coarse->graph));
  PetscCall(PetscSparseCUDAWatchMemory());
  PetscCall(PetscSparseCUDARecordBegin());
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Launches(levels, coarse, coarse->num_levels - 1);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDARecordEnd(&coarse->graph, &coarse->nodes));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscSparseCUDAGraphDestroy(&coarse->graph));
  coarse->recordings++;
  if (coarse->graph != NULL) {
    coarse->state = COARSE_GRAPH;
    PetscCall(PetscSparseCUDAGraphUpload(coarse->graph));
    PetscCall(PetscInfo(pc, "Levels below the finest: a CUDA graph of %zu launches, recording %" PetscInt64_FMT " of this setup\n", coarse->nodes, coarse->recordings));
  } else {
    coarse->state   = COARSE_LAUNCHES;
    coarse->refused = PETSC_TRUE;
    PetscCall(PetscInfo(pc, "Levels below the finest: their launches cannot be recorded as a CUDA graph\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether recording may pay. A single launch needs no graph; and where keys change all the time, recordings serve too few cycles. */
static PetscBool WorthRecording(const GAMGContext *context)
{
  const struct _n_GAMGCoarse *c = context->coarse;

  return (PetscBool)(context->coarse_cycle == GAMG_COARSE_GRAPH && !c->refused && c->num_levels > 1 && (c->recordings < FREE_RECORDINGS || c->launches >= LAUNCHES_RECORDING * c->recordings));
}

/* Compares the key, and decides anew when it has changed. */
static PetscErrorCode UpdateState(PC pc, PC_MG_Levels **levels, GAMGCoarse coarse)
{
  const char *why;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(GAMGCoarseKeyGet(levels, coarse->num_levels, coarse->now));
  PetscCall(GAMGCoarseKeyCompare(coarse->num_levels, coarse->key, coarse->now, &same));
  if (same && coarse->state != COARSE_UNKNOWN) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGraphDestroy(&coarse->graph));
  PetscCall(WhyNot(levels, coarse, &why));
  coarse->state = why != NULL ? COARSE_PETSC : COARSE_LAUNCHES;
  if (why != coarse->said && why != NULL) PetscCall(PetscInfo(pc, "Levels below the finest: PETSc's cycle, because %s\n", why));
  coarse->said = why;
  PetscCall(GAMGCoarseKeyGet(levels, coarse->num_levels, coarse->now)); // what was asked for may have been made
  PetscCall(GAMGCoarseKeyCopy(coarse->num_levels, coarse->now, coarse->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG's V-cycle and nothing else, on one process. */
static PetscErrorCode IsPlainCycle(PC pc, PetscBool *plain)
{
  const PC_MG *mg     = (const PC_MG *)pc->data;
  PetscInt     levels = mg->levels != NULL ? mg->levels[0]->levels : 0;
  PetscMPIInt  size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  *plain = (PetscBool)(size == 1 && levels > 1 && mg->am == PC_MG_MULTIPLICATIVE && mg->cyclesperpcapply == 1 && mg->stageApply == 0);
  for (PetscInt k = 0; k < levels && *plain; k++) {
    const PC_MG_Levels *l = mg->levels[k];

    *plain = (PetscBool)(l->cycles == 1 && l->cr == NULL && l->eventsmoothsolve == 0 && l->eventresidual == 0 && l->eventinterprestrict == 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PCMG begins a cycle. */
static PetscErrorCode SetOperators(PC_MG_Levels **levels)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < levels[0]->levels; k++) {
    if (levels[k]->A != NULL) continue;
    levels[k]->A = GAMGLevelGetOperator(levels[k]);
    PetscCall(PetscObjectReference((PetscObject)levels[k]->A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The right-hand side of the finest level may not be that of the cycle: PCEISENSTAT. */
static PetscErrorCode ChangesRHS(KSP ksp, PetscBool *changes)
{
  PetscErrorCode (*change)(PC, PetscBool *);

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp->pc, "PCPreSolveChangeRHS_C", &change));
  *changes = (PetscBool)(change != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cycle below the finest level, whose right-hand side is there; state says how. */
static PetscErrorCode BelowFinest(PC pc, PC_MG_Levels **levels, GAMGContext *context)
{
  GAMGCoarse coarse = context->coarse;

  PetscFunctionBegin;
  if (coarse->state == COARSE_STEADY && WorthRecording(context)) PetscCall(Record(pc, levels, coarse));
  if (coarse->state != COARSE_GRAPH) {
    PetscCall(DoLaunches(levels, coarse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGraphLaunch(coarse->graph));
  coarse->launches++;
  PetscCall(PetscLogGpuFlops(coarse->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A smoother of the finest level: its steps alone in the plain case, without the zeros that nobody reads. */
static PetscErrorCode SmoothFinest(PC pc, KSP ksp, Vec b, Vec x, PetscBool zero)
{
  const char *why;

  PetscFunctionBegin;
  PetscCall(KSPFusedApplyWhyNot(ksp, b, x, zero, &why));
  if (why == NULL) {
    PetscCall(KSPFusedApply(ksp, b, x, zero));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (zero) PetscCall(VecZeroEntries(x)); // by whose norm KSPSolve() knows that the guess is zero
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPCheckSolve(ksp, pc, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finest level of PCMG's cycle. */
static PetscErrorCode Cycle(PC pc, PC_MG_Levels **levels, GAMGContext *context, Vec b, Vec x)
{
  const PC_MG_Levels *finest = levels[context->coarse->num_levels], *next = levels[context->coarse->num_levels - 1];

  PetscFunctionBegin;
  PetscCall(SmoothFinest(pc, finest->smoothd, b, x, PETSC_TRUE));
  PetscCall((*finest->residual)(finest->A, b, x, finest->r));
  PetscCall(MatRestrict(Restriction(finest), finest->r, next->b));
  PetscCallLogged(PETSCSPARSECUDA_GAMGCoarseCycle, pc, BelowFinest(pc, levels, context));
  PetscCall(MatInterpolateAdd(finest->interpolate, next->x, x, x));
  PetscCall(SmoothFinest(pc, finest->smoothu, b, x, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGCoarseApply - A cycle whose part below the finest level is a graph, or launches of ours. Collective x is the correction; done = PETSC_FALSE: nothing was done, PETSc's cycle has to. */
PetscErrorCode GAMGCoarseApply(PC pc, GAMGContext *context, Vec b, Vec x, PetscBool *done)
{
  PC_MG_Levels **levels = ((PC_MG *)pc->data)->levels;
  GAMGCoarse     coarse = context->coarse;
  PetscBool      plain, down, up;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (coarse == NULL || coarse->state == COARSE_PETSC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsPlainCycle(pc, &plain));
  if (!plain || levels[0]->levels != coarse->num_levels + 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChangesRHS(levels[coarse->num_levels]->smoothd, &down));
  PetscCall(ChangesRHS(levels[coarse->num_levels]->smoothu, &up));
  if (down || up || levels[coarse->num_levels]->r == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SetOperators(levels));
  PetscCall(UpdateState(pc, levels, coarse));
  if (coarse->state == COARSE_PETSC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Cycle(pc, levels, context, b, x));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PC_MG_Levels **levels, GAMGCoarse *coarse)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(coarse));
  (*coarse)->num_levels = levels[0]->levels - 1;
  PetscCall(GAMGCoarseKeyCreate((*coarse)->num_levels, &(*coarse)->key));
  PetscCall(GAMGCoarseKeyCreate((*coarse)->num_levels, &(*coarse)->now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first launches make what products keep. The next ones take no memory, and are recorded before there is a right-hand side: in the setup, not in the first solve. */
static PetscErrorCode Prepare(PC pc, PC_MG_Levels **levels, GAMGContext *context)
{
  GAMGCoarse coarse = context->coarse;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAWatchMemory()); // temporaries of the first launches change nothing
  PetscCall(GAMGCoarseInvert(levels[0]->smoothd, &coarse->inverse, &coarse->n, &coarse->why));
  PetscCall(GAMGCoarseKeyGet(levels, coarse->num_levels, coarse->now));
  coarse->inverted = coarse->now->coarsest;
  PetscCall(UpdateState(pc, levels, coarse));
  if (coarse->state == COARSE_PETSC || !WorthRecording(context)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecZeroEntries(levels[coarse->num_levels - 1]->b));
  for (PetscInt k = 0; k < 2; k++) PetscCall(DoLaunches(levels, coarse));
  PetscCall(UpdateState(pc, levels, coarse));
  if (coarse->state == COARSE_LAUNCHES) PetscCall(DoLaunches(levels, coarse)); // memory has gone, as that of values in single precision before they are made anew
  if (coarse->state == COARSE_STEADY) PetscCall(Record(pc, levels, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCoarseSetUp - Prepares cycles whose part below the finest level is a graph; after each setup. Collective
  Cost: three cycles below the finest level, the inverse of the coarsest matrix, and a recording.
*/
PetscErrorCode GAMGCoarseSetUp(PC pc, GAMGContext *context)
{
  PC_MG_Levels **levels = ((PC_MG *)pc->data)->levels;
  PetscBool      plain, usable, ours;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  if (context->coarse_cycle == GAMG_COARSE_PETSC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsPlainCycle(pc, &plain));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCall(MatIsSeqAIJCUDA(pc->pmat, &ours));
  if (!plain || !usable || !ours || pc->failedreason != PC_NOERROR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(levels, &context->coarse));
  ierr = Prepare(pc, levels, context);
  if (ierr != PETSC_SUCCESS) PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
