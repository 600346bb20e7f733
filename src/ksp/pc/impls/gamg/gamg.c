/*
  PCGAMG registered again: PETSc's, whose operations of a level ours stand around. A level that support.c takes is set up on the device, all others by PETSc.

  PCGAMGSetType() forgets the operations, so it is replaced too. The private struct of PCGAMGAGG is looked at before (probe.c).
*/
#include "gamg.h"
#include <petscsparsecuda.h>
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"

static const char context_key[] = "PCGAMG_AIJCUDA";

typedef PetscErrorCode (*SetTypeFn)(PC, PCGAMGType);
typedef PetscErrorCode (*SetProcessLimitFn)(PC, PetscInt);

/* PETSc's, the same for all PC. */
static PetscErrorCode (*parent_create)(PC) = NULL, (*parent_setup)(PC) = NULL, (*parent_setfromoptions)(PC, PetscOptionItems) = NULL;
static SetTypeFn         parent_settype         = NULL;
static SetProcessLimitFn parent_setprocesslimit = NULL;

/* What belongs to a level, or to a setup that has ended or failed, goes. */
const GAMGChecks *GAMGTestChecks = NULL;

static PetscErrorCode ResetContext(GAMGContext *context)
{
  PetscFunctionBegin;
  context->supported      = PETSC_FALSE;
  context->data_on_device = PETSC_FALSE;
  context->data_is_coarse = PETSC_FALSE;
  context->data_error     = PETSC_SUCCESS;
  PetscCall(GAMGAggregatesDestroy(&context->aggregates));
  if (context->check != NULL) PetscCall((*GAMGTestChecks->reset)(&context->check));
  PetscCall(GAMGFreeData(context));
  PetscCall(GAMGUnderWayReset(&context->under_way));
  PetscCall(MatDestroy(&context->restricting.tentative));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyContext(PetscCtxRt context)
{
  GAMGContext **c = (GAMGContext **)context;

  PetscFunctionBegin;
  PetscCall(ResetContext(*c));
  PetscCall(GAMGRestrictionReset(*c));
  PetscCall(GAMGCoarseDestroy(&(*c)->coarse));
  PetscCall(GAMGTuneDestroy(&(*c)->tune));
  PetscCall(PetscFree(*c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGGetContext - What our operations keep with a PCGAMG; made at the first call, owned by the PC and destroyed with it */
PetscErrorCode GAMGGetContext(PC pc, GAMGContext **context)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)pc, context_key, context));
  if (*context != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(context));
  (*context)->device_setup = PETSC_TRUE;
  (*context)->join_levels  = PETSC_TRUE;
  (*context)->join_latency = -1;
  (*context)->level_values = GAMG_VALUES_AUTO;
  (*context)->coarse_cycle = GAMG_COARSE_GRAPH;
  (*context)->max_levels   = PETSC_MG_MAXLEVELS;
  PetscCall(PetscSparseCUDACompose((PetscObject)pc, context_key, *context, DestroyContext));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space: on the device when the finest level may be supported. PETSc calls this on single processes, too: those without rows, when the others have a copy of the last setup. */
static PetscErrorCode CreateDefaultData(PC pc, Mat A)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (context->data_on_device) context->data_error = GAMGCreateDefaultData(pc, A);
  else PetscCall((*context->parent.createdefaultdata)(pc, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGraph(PC pc, Mat A, Mat *G)
{
  GAMGContext   *context;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (context->data_on_device && GAMGGet(pc)->current_level == 0) {
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)pc), context->data_error, &ierr));
    PetscCall(ierr);
  }
  PetscCall(GAMGAggregatesDestroy(&context->aggregates));
  if (context->check != NULL) PetscCall((*GAMGTestChecks->reset)(&context->check));
  PetscCall(GAMGSupports(pc, A, context, G));
  if (!context->supported) {
    PetscCall(GAMGDataToHost(pc, A));
    PetscCall(GAMGCreateGraphByPETSc(pc, A, G));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (context->checks != NULL) PetscCall((*context->checks->graph)(pc, A, *G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Aggregates stay in the context: the lists that PETSc's setup passes on are empty. */
static PetscErrorCode Coarsen(PC pc, Mat *G, PetscCoarsenData **lists)
{
  GAMGContext   *context;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (!context->supported) {
    PetscCall((*context->parent.coarsen)(pc, G, lists));
    context->tune.graph = *G;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_COARSEN], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_MIS], 0, 0, 0, 0));
  ierr = GAMGSwitchCoarsening(pc);
  if (ierr == PETSC_SUCCESS) ierr = GAMGCoarsen(*G, context->coarsening, &context->aggregates);
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_MIS], 0, 0, 0, 0));
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_COARSEN], 0, 0, 0, 0));
  PetscCall(MatDestroy(G)); // PETSc keeps it to the end of the level, and loses it, which may be the matrix itself, in an error
  PetscCall(ierr);
  if (context->checks != NULL) PetscCall((*context->checks->aggregates)(pc, &context->aggregates));
  PetscCall(PetscCDCreate(0, lists));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A trial ends when the finest level is not coarsened; nothing stays of it: PETSc would lose P, the lists, and the graph, which may be in these. */
static PetscErrorCode LimitTrial(PC pc, const GAMGContext *context, Mat A, PetscCoarsenData *lists, Mat *P)
{
  Mat            graph = context->supported ? NULL : context->tune.graph, mat;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!context->tune.trial) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = GAMGTuneLimit(pc, A, *P);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MatDestroy(P));
    PetscCall(PetscCDGetMat(lists, &mat));
    if (mat != graph) PetscCall(MatDestroy(&graph));
    PetscCall(PetscCDDestroy(lists));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateProlongator(PC pc, Mat A, PetscCoarsenData *lists, Mat *P)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (!context->supported) {
    PetscCall((*context->parent.prolongator)(pc, A, lists, P));
    context->data_is_coarse = PETSC_TRUE;
    PetscCall(LimitTrial(pc, context, A, lists, P));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *P = NULL;
  if (context->checks != NULL) PetscCall((*context->checks->keepdata)(pc, A));
  PetscCallLogged(PETSCSPARSECUDA_GAMGTentative, pc, GAMGCreateProlongator(pc, A, &context->aggregates, P));
  PetscCall(GAMGAggregatesDestroy(&context->aggregates));
  PetscCall(LimitTrial(pc, context, A, lists, P));
  if (context->checks != NULL) PetscCall((*context->checks->prolongator)(pc, A, *P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SmoothProlongator(PC pc, Mat A, Mat *P)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGRestrictionKeep(pc, context, *P));
  if (context->supported) PetscCall(GAMGSmoothProlongator(pc, A, P));
  else PetscCall((*context->parent.optprolongator)(pc, A, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether and how levels go to one process, and the precision of cycles; without a prefix for all PC, with one for that one. */
static PetscErrorCode SetForAllFromOptions(PC pc, GAMGContext *context)
{
  PetscOptions options = ((PetscObject)pc)->options;
  const char  *prefix  = ((PetscObject)pc)->prefix;
  PetscEnum    values;
  PetscBool    given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(options, NULL, "-pc_gamg_join_levels", &context->join_levels, NULL));
  PetscCall(PetscOptionsGetReal(options, NULL, "-pc_gamg_join_latency", &context->join_latency, NULL));
  PetscCall(PetscOptionsGetEnum(options, NULL, "-pc_gamg_level_values", GAMGLevelValuesNames, &values, &given));
  if (given) PetscCall(PCGAMGCUDASetLevelValues(pc, GAMGLevelValuesNames[values]));
  PetscCall(PetscOptionsHasName(options, prefix, "-pc_gamg_process_eq_limit", &given));
  if (given) context->process_limit_given = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetFromOptions(PC pc, PetscOptionItems PetscOptionsObject)
{
  GAMGContext *context;
  PetscEnum    values, cycle, restriction;
  PetscBool    given;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  cycle       = (PetscEnum)context->coarse_cycle;
  restriction = (PetscEnum)context->restricting.kind;
  PetscCall((*context->parent.setfromoptions)(pc, PetscOptionsObject));
  if (GAMGTestChecks != NULL) {
    PetscBool check = (PetscBool)(context->checks != NULL);

    PetscCall(PetscOptionsGetBool(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, "-pc_gamg_device_check", &check, NULL));
    context->checks = check ? GAMGTestChecks : NULL;
  }
  PetscCall(SetForAllFromOptions(pc, context));
  values = (PetscEnum)context->level_values;
  PetscOptionsHeadBegin(PetscOptionsObject, "GAMG-AGG options of petscsparsecuda");
  PetscCall(PetscOptionsBool("-pc_gamg_device_setup", "Set up levels on the device where that gives what PETSc gives", "PCGAMG", context->device_setup, &context->device_setup, NULL));
  PetscCall(
    PetscOptionsEnum("-pc_gamg_level_values", "Precision of the values of level operators and prolongators that cycles read on the device", "PCGAMG", GAMGLevelValuesNames, values, &values, &given));
  if (given) context->given.level_values = PETSC_TRUE;
  PetscCall(PetscOptionsBool("-pc_gamg_join_levels", "Levels that are too small to be split go to one process", "PCGAMG", context->join_levels, &context->join_levels, NULL));
  PetscCall(PetscOptionsReal("-pc_gamg_join_latency", "Microseconds of an exchange of ghost values, by which this is decided for any type and size", "PCGAMG", context->join_latency,
                             &context->join_latency, NULL));
  PetscCall(GAMGPresetSetFromOptions(pc, context, PetscOptionsObject));
  PetscCall(GAMGTuneSetFromOptions(pc, context, PetscOptionsObject));
  PetscCall(PetscOptionsBoundedReal("-pc_gamg_max_complexity", "Most nonzeros of all operators over those of the finest one, 0: no limit but memory", "PCGAMG", context->max_complexity,
                                    &context->max_complexity, NULL, 0));
  PetscCall(PetscOptionsEnum("-pc_gamg_coarse_cycle", "What does the part of a cycle below the finest level", "PCGAMG", GAMGCoarseCycles, cycle, &cycle, NULL));
  PetscCall(PetscOptionsEnum("-pc_gamg_restriction", "What residuals are restricted with, of unsymmetric systems: transpose of the prolongator or of the tentative one", "PCGAMG", GAMGRestrictions,
                             restriction, &restriction, &given));
  if (given) context->given.restriction = PETSC_TRUE;
  PetscOptionsHeadEnd();
  context->level_values     = (GAMGLevelValues)values;
  context->coarse_cycle     = (GAMGCoarseCycle)cycle;
  context->restricting.kind = (GAMGRestriction)restriction;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our operations around those that PCGAMGAGG has just set. */
static PetscErrorCode Patch(PC pc)
{
  struct _PCGAMGOps *ops = GAMGGet(pc)->ops;
  GAMGContext       *context;
  PetscBool          is_agg;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(ResetContext(context));
  PetscCall(PetscStrcmp(GAMGGet(pc)->gamg_type_name, PCGAMGAGG, &is_agg));
  if (!is_agg || ops->creategraph == CreateGraph) PetscFunctionReturn(PETSC_SUCCESS);
  context->parent        = *ops;
  ops->createdefaultdata = CreateDefaultData;
  ops->creategraph       = CreateGraph;
  ops->coarsen           = Coarsen;
  ops->prolongator       = CreateProlongator;
  ops->optprolongator    = SmoothProlongator;
  ops->createlevel       = GAMGCreateLevelInLimits;
  ops->setfromoptions    = SetFromOptions;
  PetscCall(GAMGPatchSetters(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's code derives thresholds from those that it finds: without the preset, which is put on again after the setup that it was there for. */
static PetscErrorCode PCSetFromOptions_GAMG_AIJCUDA(PC pc, PetscOptionItems PetscOptionsObject)
{
  GAMGContext *context;
  PetscBool    held;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  held = context->preset_holds;
  PetscCall(GAMGPresetTakeBack(pc, context));
  PetscCall((*parent_setfromoptions)(pc, PetscOptionsObject));
  if (held) PetscCall(GAMGPresetPut(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGSetType_AIJCUDA(PC pc, PCGAMGType type)
{
  GAMGContext *context;
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGPresetTakeBack(pc, context));
  PetscCall(PetscStrcmp(GAMGGet(pc)->gamg_type_name, type, &same));
  if (!same) PetscCall(GAMGTuneForget(pc, context)); // PETSc sets the type in each PCSetFromOptions()
  PetscCall((*parent_settype)(pc, type));
  PetscCall(Patch(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGSetProcEqLim_AIJCUDA(PC pc, PetscInt n)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->process_limit_given = PETSC_TRUE;
  PetscCall((*parent_setprocesslimit)(pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc makes the interpolations anew in the setup that begins. */
static PetscBool MakesInterpolations(PC pc)
{
  return (PetscBool)(!pc->setupcalled || !GAMGGet(pc)->reuse_prol || pc->flag == DIFFERENT_NONZERO_PATTERN);
}

/* Whether rounded values stay, to be rounded again: of a hierarchy that stays, with the finest matrices of the last setup, and with memory left for the setup. */
static PetscErrorCode KeepsRounded(PC pc, PetscBool makes, PetscBool *keeps)
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  Mat          A, P;

  PetscFunctionBegin;
  *keeps = PETSC_FALSE;
  if (makes || mg->levels == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(mg->levels[mg->nlevels - 1]->smoothd, &A, &P));
  if (P == pc->pmat && (A == pc->mat || A == pc->pmat)) PetscCall(GAMGHasReserve(keeps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage beside CSR of a matrix, or of the blocks of a parallel one. */
static PetscErrorCode MakeStorage(Mat A)
{
  PetscBool mpi;

  PetscFunctionBegin;
  if (A == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  PetscCall(MatDeviceStorageMake(mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preset for the setup that begins, or what tuning finds. With one, or after one, PETSc's number of levels is not that of the last setup, which has other settings. */
static PetscErrorCode PutPreset(PC pc, GAMGContext *context, PetscBool tunes, PetscBool makes)
{
  const PetscBool held = context->preset_holds;

  PetscFunctionBegin;
  PetscCall(GAMGPresetTakeBack(pc, context));
  if (makes && (tunes || context->preset != GAMG_PRESET_NONE)) PetscCall(GAMGPresetLook(pc, context));
  if (tunes) PetscCall(GAMGTune(pc, context));
  PetscCall(GAMGPresetPut(pc, context));
  if (makes && (held || context->preset_holds || context->tune.found)) GAMGGet(pc)->Nlevels = context->max_levels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing of a setup outlives it, whether it fails or not. What assembly and the first setup needed for a while is given back: the vectors that come next are PETSc's. */
static PetscErrorCode PCSetUp_GAMG_AIJCUDA(PC pc)
{
  PC_GAMG       *gamg = GAMGGet(pc);
  GAMGContext   *context;
  PetscBool      tunes, makes, keeps = PETSC_FALSE, set = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(ResetContext(context));
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGTuneIsDue(pc, context, &tunes));
  if (tunes) pc->flag = DIFFERENT_NONZERO_PATTERN;
  makes = MakesInterpolations(pc);
  if (context->single) PetscCall(KeepsRounded(pc, makes, &keeps));
  if (!keeps) PetscCall(GAMGReleaseSingle(pc, context));
  PetscCall(PutPreset(pc, context, tunes, makes));
  PetscCall(GAMGRestrictionBegin(pc, context, makes));
  if (makes) PetscCall(GAMGPresetBeginSmoothers(pc, context, &set));
  if (gamg->ops->creategraph == CreateGraph && gamg->Nlevels > 1 && makes) PetscCall(GAMGSupportsData(pc, pc->pmat, &context->data_on_device));
  if (makes) MatDeviceStorageDefer(PETSC_TRUE);
  ierr = (*parent_setup)(pc);
  if (makes) MatDeviceStorageDefer(PETSC_FALSE);
  PetscCall(GAMGPresetEndSmoothers(pc, set));
  if (ierr == PETSC_SUCCESS) context->under_way.num_levels = 0;
  if (ierr != PETSC_SUCCESS && context->data_is_coarse) { // PETSc would take it for that of the finest level in the next setup
    PetscCall(PetscFree(gamg->data));
    gamg->data_sz = 0;
  }
  PetscCall(ResetContext(context));
  if (ierr != PETSC_SUCCESS && makes) PetscCall(GAMGRestrictionReset(context));
  PetscCall(ierr);
  if (makes) PetscCall(GAMGRestrictionEnd(pc, context));
  PetscCall(GAMGHintProducts(pc, context));
  PetscCall(GAMGForEachMatrix(pc, MakeStorage));
  PetscCall(GAMGGuardsBegin(context, makes));
  PetscCall(GAMGSetUpCycle(pc, context));
  context->guards.off = PETSC_TRUE;
  ierr                = makes ? GAMGTuneCycle(pc, context) : PETSC_SUCCESS;
  context->guards.off = PETSC_FALSE;
  PetscCall(ierr);
  PetscCall(PetscSparseCUDATrimMemory(PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_GAMG_AIJCUDA(PC pc)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(pc));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCGAMGSetType_C", &parent_settype));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCGAMGSetType_C", PCGAMGSetType_AIJCUDA));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc, "PCGAMGSetProcEqLim_C", &parent_setprocesslimit));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCGAMGSetProcEqLim_C", PCGAMGSetProcEqLim_AIJCUDA));
  parent_setup            = pc->ops->setup;
  parent_setfromoptions   = pc->ops->setfromoptions;
  pc->ops->setup          = PCSetUp_GAMG_AIJCUDA;
  pc->ops->setfromoptions = PCSetFromOptions_GAMG_AIJCUDA;
  PetscCall(GAMGPatchCycle(pc));
  PetscCall(Patch(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMGRegister_AIJCUDA - Registers PCGAMG again, with our operations around PETSc's; part of PetscSparseCUDAInitialize(). Not when PETSc's private struct is another one than ours. */
PetscErrorCode PCGAMGRegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(PC);
  PetscBool fits;

  PetscFunctionBegin;
  PetscCall(PCInitializePackage());
  PetscCall(PetscFunctionListFind(PCList, PCGAMG, &create));
  if (create == NULL || create == PCCreate_GAMG_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGStructFits(&fits));
  if (fits) PetscCall(GAMGRandomFits(&fits));
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  parent_create = create;
  PetscCall(PCRegister(PCGAMG, PCCreate_GAMG_AIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
