/*
  The cycle of PCGAMG with values in single precision (-pc_gamg_level_values single, half, auto): while it is under way, products of our matrices with vectors read values that are rounded, those of the
  finest matrix to FP16 on request. The same finest matrix multiplies with its own values outside of it, for the Krylov method.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda.h>
#include <petscsparsecuda/record.h>

#define RESERVE_PART  4    /* of the memory of the device: so much stays free where auto rounds values */
#define LARGEST_ERROR 1e-3 /* of a row in FP16 over its diagonal entry; 11 bits make up to 5e-4 where the others of a row are as large */

const char *const GAMGLevelValuesNames[] = {"double", "single", "half", "auto", "GAMGLevelValues", "GAMG_VALUES_", NULL};

/* PETSc's, the same for all PC. */
static struct _PCOps parent_ops;
static PetscErrorCode (*parent_view)(PC, PetscViewer) = NULL;

/* The finest matrix, or its diagonal block. */
static Mat GetFinest(PC pc)
{
  PetscBool mpi;

  return MatIsMPIAIJCUDA(pc->pmat, &mpi) == PETSC_SUCCESS && mpi ? MatMPIAIJCUDAGetBlock(pc->pmat, 0) : pc->pmat;
}

/* A call of PETSc's operation, in single precision or not; made: with the rounded values that are there. */
#define PetscCallInPrecision(single, made, ...) \
  do { \
    const PetscBool   single_   = (single); \
    MatDeviceRounding rounding_ = {single_ ? GetFinest(pc) : NULL, context->half, (made)}; \
    PetscErrorCode    ierr_; \
\
    if (single_) MatDeviceStorageUseSingle(PETSC_TRUE, &rounding_); \
    ierr_ = __VA_ARGS__; \
    if (single_) MatDeviceStorageUseSingle(PETSC_FALSE, &rounding_); \
    PetscCall(ierr_); \
  } while (0)

/* What guards have not seen is not read: matrices that PrepareLevels() does not know, or that have new values since. */
static PetscBool OnlyMade(const GAMGContext *context)
{
  return (PetscBool)(context->level_values == GAMG_VALUES_AUTO);
}

/* Whether an application reads rounded values: the residuals between several cycles would be those of another system, and auto asks for guards. */
static PetscBool ReadsRounded(PC pc, const GAMGContext *context, PetscBool guarded)
{
  return (PetscBool)(context->single && ((PC_MG *)pc->data)->cyclesperpcapply <= 1 && (context->level_values == GAMG_VALUES_AUTO ? guarded : context->level_values != GAMG_VALUES_DOUBLE));
}

/* A cycle, PETSc's where ours does not serve. */
static PetscErrorCode ApplyCycle(PC pc, GAMGContext *context, Vec x, Vec y)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(GAMGCoarseApply(pc, context, x, y, &done));
  if (!done) PetscCall((*parent_ops.apply)(pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(PC pc, Vec x, Vec y)
{
  const PCFailedReason failed = pc->failedreason;
  GAMGContext         *context;
  PetscBool            again;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->cycles++;
  do {
    PetscCallInPrecision(ReadsRounded(pc, context, context->guards.solving), OnlyMade(context), ApplyCycle(pc, context, x, y));
    PetscCall(GAMGGuardCycle(pc, context, parent_ops.apply, failed, x, y, &again));
  } while (again);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyTranspose(PC pc, Vec x, Vec y)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->cycles++;
  PetscCallInPrecision(ReadsRounded(pc, context, PETSC_FALSE), PETSC_FALSE, (*parent_ops.applytranspose)(pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApply(PC pc, Mat X, Mat Y)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCallInPrecision(ReadsRounded(pc, context, PETSC_FALSE), PETSC_FALSE, (*parent_ops.matapply)(pc, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatApplyTranspose(PC pc, Mat X, Mat Y)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCallInPrecision(ReadsRounded(pc, context, PETSC_FALSE), PETSC_FALSE, (*parent_ops.matapplytranspose)(pc, X, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(PC pc, PetscViewer viewer)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall((*parent_view)(pc, viewer));
  PetscCall(GAMGGetContext(pc, &context));
  if (context->restricting.levels[0] != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, "      Restriction: transpose of the tentative prolongator\n"));
  if (context->single)
    PetscCall(PetscViewerASCIIPrintf(viewer, "      Values of level operators and prolongators on the device: single precision%s\n", context->half ? ", half of the finest operator" : ""));
  if (context->guards.half_reason != NULL)
    PetscCall(PetscViewerASCIIPrintf(viewer, "      Values of the finest operator on the device: not in half precision, since %s\n", context->guards.half_reason));
  if (context->guards.reason != NULL)
    PetscCall(PetscViewerASCIIPrintf(viewer, "      Values of level operators and prolongators on the device: not in single precision, since %s\n", context->guards.reason));
  PetscCall(GAMGPresetView(context, viewer));
  PetscCall(GAMGTuneView(context, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PostSolve(PC pc, KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGPresetTell(pc, context, context->cycles - context->cycles_before));
  PetscCall(GAMGTuneNoteSolve(context, ksp));
  PetscCall(GAMGGuardsPostSolve(pc, context, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what the cycles read of a matrix, or of its blocks, in single precision. */
static PetscErrorCode ReleaseSingle(Mat A)
{
  PetscBool mpi;

  PetscFunctionBegin;
  if (A == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  PetscCall(MatDeviceStorageReleaseSingle(mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A));
  if (mpi) PetscCall(MatDeviceStorageReleaseSingle(MatMPIAIJCUDAGetBlock(A, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGForEachMatrix - Calls a function for the matrices that cycles multiply with: operators, interpolations and restrictions of all levels, or NULL. One that has two of these parts comes once a level.
  Collective if the function is.
*/
PetscErrorCode GAMGForEachMatrix(PC pc, PetscErrorCode (*function)(Mat))
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  Mat          A, P;

  PetscFunctionBegin;
  for (PetscInt k = 0; mg->levels != NULL && k < mg->nlevels; k++) {
    const PC_MG_Levels *level = mg->levels[k];

    PetscCall(KSPGetOperators(level->smoothd, &A, &P));
    PetscCall((*function)(A));
    if (P != A) PetscCall((*function)(P));
    PetscCall((*function)(level->interpolate));
    if (level->restrct != level->interpolate) PetscCall((*function)(level->restrct));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGHasReserve - Whether a part of the device's memory is left to what comes after rounded values: they are welcome, and no more. Not collective */
PetscErrorCode GAMGHasReserve(PetscBool *has)
{
  size_t    available, total;
  PetscBool usable;

  PetscFunctionBegin;
  *has = PETSC_TRUE;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemGetInfo(&available, &total));
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  *has = (PetscBool)(available >= total / RESERVE_PART);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGReleaseSingle - Frees what cycles in single precision read of the matrices of all levels, the finest of the last setup, which is the program's, included. Not collective */
PetscErrorCode GAMGReleaseSingle(PC pc, GAMGContext *context)
{
  PetscFunctionBegin;
  if (context->single) PetscCall(GAMGForEachMatrix(pc, ReleaseSingle));
  context->single = PETSC_FALSE;
  context->half   = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResetOurs(PC pc)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGReleaseSingle(pc, context));
  PetscCall(PetscMemzero(&context->guards, sizeof(context->guards)));
  PetscCall(GAMGRestrictionReset(context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reset(PC pc)
{
  PetscFunctionBegin;
  PetscCall(ResetOurs(pc));
  PetscCall((*parent_ops.reset)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSetType() does not call PCReset(). */
static PetscErrorCode Destroy(PC pc)
{
  PetscFunctionBegin;
  PetscCall(ResetOurs(pc));
  PetscCall((*parent_ops.destroy)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether FP16 is asked for; by itself for single unknowns whose near null space is the constant, for which rounding loses nothing. */
static PetscErrorCode WantsHalf(PC pc, const GAMGContext *context, PetscBool *half)
{
  MatNullSpace near;

  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(pc->pmat, &near));
  *half = (PetscBool)(context->level_values == GAMG_VALUES_HALF || (context->level_values == GAMG_VALUES_AUTO && pc->pmat->rmap->bs == 1 && near == NULL && context->guards.half_reason == NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGHasNullSpace - Whether the finest matrices have one, which KSP projects out behind the cycle, where a comparison of cycles does not see it. Not collective */
PetscErrorCode GAMGHasNullSpace(PC pc, PetscBool *has)
{
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(pc->pmat, &null));
  if (null == NULL) PetscCall(MatGetNullSpace(pc->mat, &null));
  *has = (PetscBool)(null != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether auto may round: all processes have the matrix on the device, and it has no null space. Collective */
static PetscErrorCode MayRound(PC pc, PetscBool *may)
{
  PetscBool null;

  PetscFunctionBegin;
  PetscCall(GAMGHasNullSpace(pc, &null));
  PetscCall(PetscSparseCUDADeviceUsable(may));
  *may = (PetscBool)(*may && !null && !pc->pmat->boundtocpu);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, may, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What changes with the values of the finest matrices: whether it has, since the guards have noted it, which they do. */
static PetscBool NoteStates(PC pc, GAMGGuards *g)
{
  const PetscInt64 now[4] = {(PetscInt64)((PetscObject)pc->mat)->state, (PetscInt64)((PetscObject)pc->pmat)->state, (PetscInt64)((PetscObject)pc->mat)->id, (PetscInt64)((PetscObject)pc->pmat)->id};
  PetscBool        old    = PETSC_FALSE;

  for (int k = 0; k < 4; k++) {
    if (g->states[k] != now[k]) old = PETSC_TRUE;
    g->states[k] = now[k];
  }
  return old;
}

/* Whether the cycles of this PC are to read single precision; -info says why not when it was asked for. Collective */
static PetscErrorCode ChoosePrecision(PC pc, GAMGContext *context)
{
  PetscBool seq, mpi, may = PETSC_TRUE;

  PetscFunctionBegin;
  context->single = PETSC_FALSE;
  context->half   = PETSC_FALSE;
  if (context->level_values != GAMG_VALUES_AUTO) context->guards.reason = context->guards.half_reason = NULL;
  if (context->level_values == GAMG_VALUES_DOUBLE || context->guards.reason != NULL || (context->level_values == GAMG_VALUES_AUTO && !context->guards.known)) PetscFunctionReturn(PETSC_SUCCESS);
  (void)NoteStates(pc, &context->guards);
  context->guards.compare = PETSC_TRUE;
  PetscCall(MatIsSeqAIJCUDA(pc->pmat, &seq));
  PetscCall(MatIsMPIAIJCUDA(pc->pmat, &mpi));
  if (context->level_values == GAMG_VALUES_AUTO && (seq || mpi) && !PetscDefined(USE_REAL_SINGLE)) PetscCall(MayRound(pc, &may));
  if (PetscDefined(USE_REAL_SINGLE)) PetscCall(PetscInfo(pc, "-pc_gamg_level_values: no effect, PETSc is in single precision\n"));
  else if (!seq && !mpi) PetscCall(PetscInfo(pc, "-pc_gamg_level_values: no effect, matrices of type %s are none of ours\n", ((PetscObject)pc->pmat)->type_name));
  else if (!may) PetscCall(PetscInfo(pc, "-pc_gamg_level_values: no effect, the matrix is on the host or has a null space\n"));
  else context->single = PETSC_TRUE;
  if (context->single) PetscCall(WantsHalf(pc, context, &context->half));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes what the products of a cycle read, of all levels or of the finest matrix alone, so that the first cycle is like the others and a lack of memory is an error of the setup. Restrictions are
  transposes of prolongators, which not every cycle has.
*/
static PetscErrorCode PrepareLevels(PC pc, PetscBool all)
{
  const PetscBool restricts = (PetscBool)(((PC_MG *)pc->data)->am != PC_MG_KASKADE);
  PetscInt        num_levels;
  KSP             smoother;
  Mat             A, P, interpolation, restriction;

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &num_levels));
  for (PetscInt level = all ? 1 : PetscMax(num_levels - 1, 1); level < num_levels; level++) {
    PetscCall(PCMGGetSmoother(pc, level, &smoother));
    PetscCall(KSPGetOperators(smoother, &A, &P));
    PetscCall(MatAIJCUDAPrepareMult(A, PETSC_FALSE));
    if (!all) continue;
    PetscCall(PCMGGetInterpolation(pc, level, &interpolation));
    PetscCall(PCMGGetRestriction(pc, level, &restriction));
    PetscCall(MatAIJCUDAPrepareMult(interpolation, PETSC_FALSE));
    if (restricts) PetscCall(MatAIJCUDAPrepareMult(restriction, (PetscBool)(restriction->rmap->N == A->rmap->N))); // as MatRestrict()
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPRICHARDSON may leave its iterations to a PC, which would compute residuals inside of the cycle: those of rounded matrices. Without this operation it calls PCApply(); with auto it keeps it, and
  these cycles read full values. PCMGSetType() may have put it back since the last setup.
*/
static void KeepResidualsOutside(PC pc, GAMGContext *context)
{
  const PetscBool outside = (PetscBool)(context->single && context->level_values != GAMG_VALUES_AUTO);

  if (outside && pc->ops->applyrichardson != NULL) {
    context->applyrichardson = pc->ops->applyrichardson;
    pc->ops->applyrichardson = NULL;
  } else if (!outside && context->applyrichardson != NULL) {
    if (((PC_MG *)pc->data)->am == PC_MG_MULTIPLICATIVE) pc->ops->applyrichardson = context->applyrichardson;
    context->applyrichardson = NULL;
  }
}

static PetscErrorCode PrepareInPrecision(PC pc, GAMGContext *context, PetscBool all)
{
  PetscFunctionBegin;
  PetscCallInPrecision(context->single, PETSC_FALSE, PrepareLevels(pc, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounded values, whose memory is not there where *ierr is PETSC_ERR_MEM; *made: some process has new ones. Collective */
static PetscErrorCode TryRounded(PC pc, GAMGContext *context, PetscBool all, PetscBool *made, PetscErrorCode *ierr)
{
  PetscInt64 before, after, lost;
  PetscBool  reserve = PETSC_TRUE;
  int        codes[2];

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetMemoryChanges(&before, &lost));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = PrepareInPrecision(pc, context, all);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDAGetMemoryChanges(&after, &lost));
  if (*ierr == PETSC_SUCCESS && after != before) *ierr = GAMGHasReserve(&reserve);
  if (*ierr == PETSC_SUCCESS && !reserve) *ierr = PETSC_ERR_MEM;
  codes[0] = (int)*ierr;
  codes[1] = after != before;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  *ierr = PetscSparseCUDAErrorOfAll(codes[0], *ierr);
  *made = (PetscBool)(codes[1] != 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prepares products in the precision of now, of all levels or of the finest matrix; where auto lacks memory for rounded values, in full precision. *made: with auto, whether there are new values. Collective */
static PetscErrorCode Prepare(PC pc, GAMGContext *context, PetscBool all, PetscBool *made)
{
  const PetscBool optional = (PetscBool)(context->single && context->level_values == GAMG_VALUES_AUTO);
  PetscErrorCode  ierr     = PETSC_ERR_MEM;

  PetscFunctionBegin;
  if (optional) PetscCall(TryRounded(pc, context, all, made, &ierr));
  if (optional && ierr == PETSC_ERR_MEM) {
    PetscCall(PetscInfo(pc, "-pc_gamg_level_values auto: no memory for rounded values\n"));
    context->guards.reason = "there was no memory for them";
    PetscCall(GAMGReleaseSingle(pc, context));
  }
  if (ierr == PETSC_ERR_MEM) ierr = PrepareInPrecision(pc, context, PETSC_TRUE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGLeaveHalf - Single precision on the finest level, too, where it was FP16; what is below is as it was. Collective */
PetscErrorCode GAMGLeaveHalf(PC pc, GAMGContext *context, const char reason[])
{
  PetscBool made;

  PetscFunctionBegin;
  PetscCall(PetscInfo(pc, "-pc_gamg_level_values auto: cycles read single precision in place of FP16 from now on: %s\n", reason));
  context->half               = PETSC_FALSE;
  context->guards.half_reason = reason;
  PetscCall(Prepare(pc, context, PETSC_TRUE, &made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the finest matrix has FP16 on some process, and whether that is near enough. Collective */
static PetscErrorCode CheckHalf(PC pc, GAMGContext *context)
{
  PetscReal error;

  PetscFunctionBegin;
  if (!context->half) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDeviceStorageGetRounding(GetFinest(pc), &error));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &error, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  context->half = (PetscBool)(error >= 0);
  if (!context->half) PetscCall(PetscInfo(pc, "-pc_gamg_level_values: no FP16, the finest matrix has no masked diagonals on the device\n"));
  else PetscCall(PetscInfo(pc, "Cycles read values of the finest operator in FP16; off-diagonal entries of a row change by up to %g of the diagonal one\n", (double)error));
  if (context->half && context->level_values == GAMG_VALUES_AUTO && !(error <= LARGEST_ERROR)) PetscCall(GAMGLeaveHalf(pc, context, "rows of the finest operator would change too much"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rounded values for a solve that guards look after: where the setup did not know of it, and where the finest matrix has others since, with PCSetReusePreconditioner(), in another storage, or as another
  PC has released them. Collective
*/
static PetscErrorCode Renew(PC pc, GAMGContext *context)
{
  GAMGGuards     *g   = &context->guards;
  const PetscBool old = NoteStates(pc, g);
  PetscBool       made;

  PetscFunctionBegin;
  if (old && !context->single) PetscCall(ChoosePrecision(pc, context));
  if (!context->single) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Prepare(pc, context, old, &made));
  if (!context->single || (!old && !made)) PetscFunctionReturn(PETSC_SUCCESS);
  g->compare = PETSC_TRUE;
  PetscCall(CheckHalf(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreSolve(PC pc, KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->cycles_before = context->cycles;
  PetscCall(GAMGGuardsPreSolve(pc, context, ksp));
  if (context->guards.solving) PetscCall(Renew(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGSetUpCycle - Decides in which precision the cycles read values, and prepares their products and what they do below the finest level; after each setup. Collective */
PetscErrorCode GAMGSetUpCycle(PC pc, GAMGContext *context)
{
  const PetscBool had = context->single;
  PetscBool       made;

  PetscFunctionBegin;
  PetscCall(ChoosePrecision(pc, context));
  if (had && !context->single) { // kept for other values
    context->single = PETSC_TRUE;
    PetscCall(GAMGReleaseSingle(pc, context));
  }
  KeepResidualsOutside(pc, context);
  PetscCall(Prepare(pc, context, PETSC_TRUE, &made));
  PetscCall(CheckHalf(pc, context));
  if (context->single) PetscCall(PetscInfo(pc, "Cycles read values of level operators and prolongators in single precision where these are on the device\n"));
  PetscCallInPrecision(context->single, OnlyMade(context), GAMGCoarseSetUp(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCGAMGCUDASetLevelValues - Sets the precision of the values that cycles of `PCGAMG` read from level operators and prolongators on the device

  Logically Collective

  Input Parameters:
+ pc     - the preconditioner; nothing happens unless it is of type `PCGAMG`
- values - "double", "single", "half" or "auto"

  Options Database Key:
. -pc_gamg_level_values (double|single|half|auto) - the same; without a prefix for all `PC`, with one for that `PC`

  Level: intermediate

  Note:
  It takes effect in the next setup, "double" at once. Vectors, sums and the Krylov method are not concerned.

  Errors: `PETSC_ERR_ARG_OUTOFRANGE` for another name.

.seealso: `PCGAMG`, `PCGAMGCUDASetTune()`
@*/
PetscErrorCode PCGAMGCUDASetLevelValues(PC pc, const char values[])
{
  GAMGContext *context;
  PetscEnum    value;
  PetscBool    is, found;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(values, 2);
  PetscCall(PetscEnumFind(GAMGLevelValuesNames, values, &value, &found));
  PetscCheck(found, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Values of levels are double, single, half or auto, not %s", values);
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCGAMG, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGGetContext(pc, &context));
  context->level_values       = (GAMGLevelValues)value;
  context->given.level_values = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPatchCycle - Puts our operations of the cycle around PETSc's, of a PC just created by PETSc's constructor of PCGAMG */
PetscErrorCode GAMGPatchCycle(PC pc)
{
  PC_MG *mg = (PC_MG *)pc->data;

  PetscFunctionBegin;
  parent_ops                 = *pc->ops;
  parent_view                = mg->view;
  pc->ops->apply             = Apply;
  pc->ops->applytranspose    = ApplyTranspose;
  pc->ops->matapply          = MatApply;
  pc->ops->matapplytranspose = MatApplyTranspose;
  pc->ops->reset             = Reset;
  pc->ops->destroy           = Destroy;
  pc->ops->presolve          = PreSolve;
  pc->ops->postsolve         = PostSolve;
  mg->view                   = View;
  PetscFunctionReturn(PETSC_SUCCESS);
}
