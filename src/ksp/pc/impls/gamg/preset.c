/*
  Presets: settings of PCGAMG for a class of problems, by one word. A preset is put on when a setup begins, since it depends on the matrix, and taken back before anything else reads or changes the
  settings. What the user gave, by an option or a setter, stays: setters stand around PETSc's to note it.
*/
#include "gamg.h"
#include "../jacobi/jacobi.h"
#include "../../../ksp/impls/fused/fused.h"
#include <petscsparsecuda.h>

#define NEARLY_SYMMETRIC 1e-3 /* the relative difference to the transpose, with a diagonal of ones */
#define MANY_CYCLES      40   /* of a solve, from which on -info tells of presets */

const char *const        GAMGStrengths[] = {"absolute", "signed", "GAMGStrength", "GAMG_STRENGTH_", NULL};
static const char *const GAMGPresets[]   = {"none", "robust", "GAMGPreset", "GAMG_PRESET_", NULL};

/* Kinds of systems that a preset tells apart. */
typedef enum {
  SYSTEM_SCALAR, /* single unknowns */
  SYSTEM_BLOCKS, /* several unknowns a point */
  SYSTEM_UNSYMMETRIC,
  SYSTEM_UNSYMMETRIC_BLOCKS,
  NUM_SYSTEMS
} System;

/* The preset robust: chosen by experiments with small systems that have jumps, anisotropy and distorted elements; those of benchmarks/hard had no part in that. */
static const GAMGChoice robust[NUM_SYSTEMS] = {
  [SYSTEM_SCALAR]             = {0.05, 0.1, 2, 1, GAMG_STRENGTH_SIGNED, GAMG_RESTRICTION_TRANSPOSE, 0},
  [SYSTEM_BLOCKS]             = {0.02, 0.1, 1, 2, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TRANSPOSE, 0},
  [SYSTEM_UNSYMMETRIC]        = {0.05, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TENTATIVE, 3},
  [SYSTEM_UNSYMMETRIC_BLOCKS] = {0.02, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TENTATIVE, 3},
};

/* GAMGGetSettings - The settings of a PC. */
void GAMGGetSettings(PC pc, const GAMGContext *context, GAMGSettings *s)
{
  const PC_GAMG        *gamg    = GAMGGet(pc);
  const GAMGAggOptions *options = GAMGGetAggOptions(pc);

  for (int l = 0; l < PETSC_MG_MAXLEVELS; l++) s->threshold[l] = gamg->threshold[l];
  s->filter      = GAMGGetFilter(gamg, 0);
  s->aggressive  = options->aggressive_coarsening_levels;
  s->nsmooths    = options->nsmooths;
  s->strength    = context->strength;
  s->restriction = context->restricting.kind;
  s->poly        = context->poly;
}

/* GAMGSetSettings - Other settings for a PC. */
void GAMGSetSettings(PC pc, GAMGContext *context, const GAMGSettings *s)
{
  PC_GAMG        *gamg    = GAMGGet(pc);
  GAMGAggOptions *options = GAMGGetAggOptions(pc);

  for (int l = 0; l < PETSC_MG_MAXLEVELS; l++) gamg->threshold[l] = s->threshold[l];
  GAMGSetFilter(gamg, s->filter);
  options->aggressive_coarsening_levels = s->aggressive;
  options->nsmooths                     = s->nsmooths;
  context->strength                     = s->strength;
  context->restricting.kind             = s->restriction;
  context->poly                         = s->poly;
}

/* GAMGReplaceSettings - A choice in place of the settings that the user did not give. */
void GAMGReplaceSettings(PC pc, const GAMGContext *context, const GAMGChoice *choice, GAMGSettings *s)
{
  if (!context->given.threshold) {
    s->threshold[0] = choice->threshold;
    for (int l = 1; l < PETSC_MG_MAXLEVELS; l++) s->threshold[l] = s->threshold[l - 1] * GAMGGet(pc)->threshold_scale;
  }
  if (!context->given.filter && GAMGHasFilter()) s->filter = choice->filter;
  if (!context->given.aggressive) s->aggressive = choice->aggressive;
  if (!context->given.nsmooths) s->nsmooths = choice->nsmooths;
  if (!context->given.strength) s->strength = choice->strength;
  if (!context->given.restriction) s->restriction = choice->restriction;
  s->poly = choice->poly;
}

/* 1 in each row, and 0 where a diagonal entry d is all that a row has, as MatZeroRows() leaves them: y = A x is d x there. z is work, and y afterwards. */
static PetscErrorCode GetInterior(Vec d, Vec x, Vec y, Vec z, Vec interior)
{
  PetscFunctionBegin;
  PetscCall(VecPointwiseMult(z, d, x));
  PetscCall(VecAXPY(z, -1, y));
  PetscCall(VecCopy(z, y));
  PetscCall(VecReplaceZeros_AIJCUDA(y, 1.0, PETSC_FALSE, NULL));
  PetscCall(VecPointwiseDivide(interior, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  |B x - B^H x| / |B x| for B = D^-1/2 A D^-1/2, without rows and columns that have a diagonal entry alone. With the scaling no part of a system hides another one: penalties, materials. x, y, z, d and
  interior are work. Collective.
*/
static PetscErrorCode GetAsymmetry(Mat A, Vec x, Vec y, Vec z, Vec d, Vec interior, PetscReal *asymmetry)
{
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(KSPSetNoise_AIJCUDA(A, x));
  PetscCall(MatMult(A, x, y));
  PetscCall(GetInterior(d, x, y, z, interior));
  PetscCall(VecSqrtAbs(d));
  PetscCall(VecReplaceZeros_AIJCUDA(d, 1.0, PETSC_TRUE, NULL));
  PetscCall(VecPointwiseMult(x, x, interior));
  PetscCall(VecPointwiseMult(x, x, d));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultHermitianTranspose(A, x, z));
  PetscCall(VecAXPY(z, -1, y));
  PetscCall(VecPointwiseMult(z, z, interior));
  PetscCall(VecPointwiseMult(y, y, d));
  PetscCall(VecPointwiseMult(z, z, d));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecNorm(z, NORM_2, &difference));
  *asymmetry = norm > 0 ? difference / norm : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGPresetLook - Finds out whether the matrix of a PC is symmetric, or nearly so, by what is known of it, or by products. Collective
  Rounding and finite differences leave matrices that are symmetric but for little, and boundary conditions rows with a diagonal alone: methods for symmetric systems work there.
  Cost: where nothing is known, three products with a vector of noise.
*/
PetscErrorCode GAMGPresetLook(PC pc, GAMGContext *context)
{
  const Mat      A = pc->pmat;
  PetscBool      known, symmetric;
  PetscReal      asymmetry = 0;
  Vec            x = NULL, y = NULL, z = NULL, d = NULL, interior = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatIsHermitianKnown(A, &known, &symmetric));
  context->unsymmetric = PETSC_FALSE;
  if (known && symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, MatCreateVecs(A, &x, &y));
  PetscCallGoto(ierr, cleanup, VecDuplicate(y, &z));
  PetscCallGoto(ierr, cleanup, VecDuplicate(y, &d));
  PetscCallGoto(ierr, cleanup, VecDuplicate(y, &interior));
  PetscCallGoto(ierr, cleanup, GetAsymmetry(A, x, y, z, d, interior, &asymmetry));
  context->unsymmetric = (PetscBool)(asymmetry > NEARLY_SYMMETRIC);
  PetscCallGoto(ierr, cleanup, PetscInfo(pc, "The matrix is taken for %s: its relative asymmetry is %g\n", context->unsymmetric ? "unsymmetric" : "symmetric", (double)asymmetry));
cleanup:
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&interior));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGSmootherIsGiven - Whether the options say something of smoothers, of all levels or of some, under a name such as ksp_type */
PetscErrorCode GAMGSmootherIsGiven(PC pc, const char name[], PetscBool *given)
{
  const PetscObject o = (PetscObject)pc;
  char              option[128];

  PetscFunctionBegin;
  *given = PETSC_FALSE;
  for (int level = -1; level <= PETSC_MG_MAXLEVELS && !*given; level++) {
    if (level < 0) PetscCall(PetscSNPrintf(option, sizeof(option), "-mg_levels_%s", name));
    else if (level == 0) PetscCall(PetscSNPrintf(option, sizeof(option), "-mg_fine_%s", name));
    else PetscCall(PetscSNPrintf(option, sizeof(option), "-mg_levels_%d_%s", level, name));
    PetscCall(PetscOptionsHasName(o->options, o->prefix, option, given));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options that make KSPGMRESPOLY the smoother, with the prefix of the PC. */
static PetscErrorCode SmootherOptions(PC pc, size_t size, char type[], char degree[])
{
  const char *prefix = ((PetscObject)pc)->prefix != NULL ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(type, size, "-%smg_levels_ksp_type", prefix));
  PetscCall(PetscSNPrintf(degree, size, "-%smg_levels_ksp_max_it", prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc keeps smoothers when the next hierarchy has as many levels, with the iterations that they have. */
static PetscErrorCode RestoreDegree(PC pc)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt level = 1; mg->levels != NULL && level < mg->nlevels; level++)
    PetscCall(KSPSetTolerances(mg->levels[level]->smoothd, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, mg->default_smoothd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGPresetBeginSmoothers - Makes KSPGMRESPOLY the smoother of the hierarchy that is about to be made, when the settings say so and no option of the user says another one
  set: whether there are options that GAMGPresetEndSmoothers() has to take away. PETSc's setup makes all smoothers KSPCHEBYSHEV and asks the options then: there is no other moment.
*/
PetscErrorCode GAMGPresetBeginSmoothers(PC pc, GAMGContext *context, PetscBool *set)
{
  const PetscOptions options = ((PetscObject)pc)->options;
  char               type[256], degree[256], value[16];
  PetscBool          given[2];

  PetscFunctionBegin;
  *set = PETSC_FALSE;
  if (context->poly_set) PetscCall(RestoreDegree(pc));
  context->poly_set = PETSC_FALSE;
  if (context->poly == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGSmootherIsGiven(pc, "ksp_type", &given[0]));
  PetscCall(GAMGSmootherIsGiven(pc, "ksp_max_it", &given[1]));
  if (given[0] || given[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmootherOptions(pc, sizeof(type), type, degree));
  PetscCall(PetscSNPrintf(value, sizeof(value), "%" PetscInt_FMT, context->poly));
  PetscCall(PetscOptionsSetValue(options, type, KSPGMRESPOLY));
  PetscCall(PetscOptionsSetValue(options, degree, value));
  *set = context->poly_set = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPresetEndSmoothers - Takes the options of GAMGPresetBeginSmoothers() away. */
PetscErrorCode GAMGPresetEndSmoothers(PC pc, PetscBool set)
{
  char type[256], degree[256];

  PetscFunctionBegin;
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmootherOptions(pc, sizeof(type), type, degree));
  PetscCall(PetscOptionsClearValue(((PetscObject)pc)->options, type));
  PetscCall(PetscOptionsClearValue(((PetscObject)pc)->options, degree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGPresetPut - Puts on what tuning has found, or the preset, if there is such a thing and the PC has a matrix
  pc is without the settings of a preset. context has what GAMGPresetLook() found; its own keeps the settings of before. Of the types of PCGAMG only PCGAMGAGG has presets.
*/
PetscErrorCode GAMGPresetPut(PC pc, GAMGContext *context)
{
  const PetscBool tuned = (PetscBool)(context->tune.found && !context->tune.own);
  GAMGSettings    settings;
  System          system;
  PetscBool       is_agg;
  PetscInt        bs;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(GAMGGet(pc)->gamg_type_name, PCGAMGAGG, &is_agg));
  if ((context->preset == GAMG_PRESET_NONE && !tuned) || !is_agg || pc->pmat == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSize(pc->pmat, &bs));
  if (context->unsymmetric) system = bs > 1 ? SYSTEM_UNSYMMETRIC_BLOCKS : SYSTEM_UNSYMMETRIC;
  else system = bs > 1 ? SYSTEM_BLOCKS : SYSTEM_SCALAR;
  GAMGGetSettings(pc, context, &context->own);
  settings = context->own;
  GAMGReplaceSettings(pc, context, tuned ? &context->tune.choice : &robust[system], &settings);
  GAMGSetSettings(pc, context, &settings);
  context->preset_holds = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPresetTakeBack - The settings are those without a preset again. */
PetscErrorCode GAMGPresetTakeBack(PC pc, GAMGContext *context)
{
  PetscFunctionBegin;
  if (context->preset_holds) GAMGSetSettings(pc, context, &context->own);
  context->preset_holds = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets given if one of two options is there; the second may be NULL. */
static PetscErrorCode NoteOption(PC pc, const char option[], const char alias[], PetscBool *given)
{
  const char *const names[2] = {option, alias};
  PetscBool         has;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (names[k] == NULL) continue;
    PetscCall(PetscOptionsHasName(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, names[k], &has));
    if (has) *given = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPresetSetFromOptions - Reads strength and preset, and notes which settings are given; PETSc's code calls setters for the others. No preset is on. Collective. */
PetscErrorCode GAMGPresetSetFromOptions(PC pc, GAMGContext *context, PetscOptionItems PetscOptionsObject)
{
  PetscEnum strength = (PetscEnum)context->strength, preset = (PetscEnum)context->preset;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-pc_gamg_strength", "Couplings that count for a threshold: all by their absolute values, or not those of the diagonal's sign", "PCGAMG", GAMGStrengths, strength,
                             &strength, &given));
  PetscCall(PetscOptionsEnum("-pc_gamg_preset", "Settings for hard problems, where none are given", "PCGAMG", GAMGPresets, preset, &preset, NULL));
  context->strength = (GAMGStrength)strength;
  context->preset   = (GAMGPreset)preset;
  if (given) context->given.strength = PETSC_TRUE;
  PetscCall(NoteOption(pc, "-pc_gamg_threshold", NULL, &context->given.threshold)); // a setter is called from 3.26 on
  PetscCall(NoteOption(pc, "-pc_gamg_aggressive_coarsening", "-pc_gamg_square_graph", &context->given.aggressive));
  PetscCall(NoteOption(pc, "-pc_gamg_agg_nsmooths", NULL, &context->given.nsmooths));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPresetView - Lines for KSPView() about what is not PETSc's default. Collective on the viewer. */
PetscErrorCode GAMGPresetView(const GAMGContext *context, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (context->preset_holds && context->preset != GAMG_PRESET_NONE && !context->tune.found) PetscCall(PetscViewerASCIIPrintf(viewer, "      Preset: %s\n", GAMGPresets[context->preset]));
  if (context->strength == GAMG_STRENGTH_SIGNED) PetscCall(PetscViewerASCIIPrintf(viewer, "      Couplings with the sign of the diagonal do not count for thresholds, where unknowns are single\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPresetTell - After a solve of so many cycles: -info tells of presets when they were many. */
PetscErrorCode GAMGPresetTell(PC pc, const GAMGContext *context, PetscCount cycles)
{
  const char *prefix = ((PetscObject)pc)->prefix;

  PetscFunctionBegin;
  if (prefix == NULL) prefix = "";
  if (cycles > MANY_CYCLES && context->preset == GAMG_PRESET_NONE && context->tune.num_solves == 0)
    PetscCall(PetscInfo(pc, "%" PetscCount_FMT " cycles in a solve: -%spc_gamg_preset robust may need fewer, and -%spc_gamg_tune n looks for settings for n solves\n", cycles, prefix, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's setters, the same for all PC. */
typedef PetscErrorCode SetThresholdFn(PC, PetscReal[], PetscInt);
typedef PetscErrorCode SetRealFn(PC, PetscReal);
typedef PetscErrorCode SetIntFn(PC, PetscInt);
static SetThresholdFn *parent_threshold  = NULL;
static SetRealFn      *parent_filter     = NULL;
static SetIntFn       *parent_aggressive = NULL, *parent_nsmooths = NULL, *parent_levels = NULL;

/* A setter of PETSc's, without the preset, which is put on again around what it set. */
#define PetscCallSetter(pc, context, ...) \
  do { \
    const PetscBool held_ = context->preset_holds; \
\
    PetscCall(GAMGPresetTakeBack(pc, context)); \
    PetscCall(__VA_ARGS__); \
    if (held_) PetscCall(GAMGPresetPut(pc, context)); \
  } while (0)

static PetscErrorCode SetThreshold(PC pc, PetscReal v[], PetscInt n)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (n > 0) context->given.threshold = PETSC_TRUE; // otherwise those of coarser levels are derived from the first
  PetscCallSetter(pc, context, (*parent_threshold)(pc, v, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_SETTER(name, Type, field) \
  static PetscErrorCode name(PC pc, Type value) \
  { \
    GAMGContext *context; \
\
    PetscFunctionBegin; \
    PetscCall(GAMGGetContext(pc, &context)); \
    context->given.field = PETSC_TRUE; \
    PetscCallSetter(pc, context, (*parent_##field)(pc, value)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_SETTER(SetProlongatorFilter, PetscReal, filter)
DEFINE_SETTER(SetAggressiveLevels, PetscInt, aggressive)
DEFINE_SETTER(SetNSmooths, PetscInt, nsmooths)
#undef DEFINE_SETTER

static PetscErrorCode SetNlevels(PC pc, PetscInt n)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->max_levels = n;
  PetscCall((*parent_levels)(pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGPatchSetters - Puts our setters around PETSc's, of a PC of type PCGAMGAGG; after PCGAMGSetType(), which makes those of PCGAMGAGG and their settings anew */
PetscErrorCode GAMGPatchSetters(PC pc)
{
  const struct {
    const char        *name;
    PetscErrorCodeFn  *ours;
    PetscErrorCodeFn **parent;
  } setters[] = {
    {"PCGAMGSetThreshold_C", (PetscErrorCodeFn *)SetThreshold, (PetscErrorCodeFn **)&parent_threshold},
    {"PCGAMGSetProlongatorFilter_C", (PetscErrorCodeFn *)SetProlongatorFilter, (PetscErrorCodeFn **)&parent_filter},
    {"PCGAMGSetAggressiveLevels_C", (PetscErrorCodeFn *)SetAggressiveLevels, (PetscErrorCodeFn **)&parent_aggressive},
    {"PCGAMGSetNSmooths_C", (PetscErrorCodeFn *)SetNSmooths, (PetscErrorCodeFn **)&parent_nsmooths},
    {"PCGAMGSetNlevels_C", (PetscErrorCodeFn *)SetNlevels, (PetscErrorCodeFn **)&parent_levels},
  };
  GAMGContext      *context;
  PetscErrorCodeFn *now;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->given.aggressive = context->given.nsmooths = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(setters); k++) {
    PetscCall(PetscObjectQueryFunction((PetscObject)pc, setters[k].name, &now));
    if (now == NULL || now == setters[k].ours) continue; // the filter came with 3.26
    *setters[k].parent = now;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, setters[k].name, setters[k].ours));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
