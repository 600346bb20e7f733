/*
  Settings of PCGAMG that are tried on the user's matrix (-pc_gamg_tune): several hierarchies are set up, a short solve tells how fast each converges, and the settings whose setups and solves would
  take least are kept.

  A trial has a PC of its own, with the options and settings of the user's, which stays as it is until the best settings are known. What the user gave is never another: candidates that differ in that
  alone are tried once.

  The lists of candidates and the rules that end a search were chosen by experiments with small systems. Systems of benchmarks/hard changed the lists, but those that are held out had no part in that.
*/
#include "gamg.h"
#include "../../../ksp/impls/fused/fused.h"
#include <petscsparsecuda.h>
#include <petsctime.h>

#define FEWEST_SOLVES  5                 /* for which anything is tried */
#define MIN_ITERATIONS 6                 /* of a trial, */
#define MAX_ITERATIONS 60                /* and at most */
#define TRIAL_RTOL     1e-3              /* where it may end */
#define DIGITS         8                 /* of the solves that are to come */
#define FEWEST_DIGITS  1e-4              /* an iteration: fewer are no convergence */
#define WIN            0.97              /* of the best cost so far: what a trial has to be below to be the best */
#define LONGEST        ((PetscReal)0.06) /* of the time of all solves that are to come: what a search may take, */
#define FEWEST_SETUPS  2                 /* but at least the time of so many setups and solves, */
#define MOST_SETUPS    4                 /* and at most of so many */
#define HOPELESS       1.5               /* times the iterations of the best: where a trial ends */
#define MAX_COMPLEXITY 6                 /* of the operators of a trial */
#define NUM_TIMINGS    3                 /* of a cycle, the least of which counts */
#define MAX_DEGREE     3                 /* of smoothers that are tried on the best hierarchy */
#define MAX_OPTION     512               /* characters of some options, and */
#define MAX_OPTIONS    2048              /* of all that are to be typed */
#define MAX_COARSE     0.6               /* aggregates over vertices of the finest level */
#define SLOW_SOLVES    2                 /* that have converged much worse than the first one (GAMG_SLOW) in a row: settings are looked for again */
#define SHORT          3                 /* iterations: shorter solves tell nothing */

static const char *const GAMGCosts[] = {"time", "model", "GAMGCost", "GAMG_COST_", NULL};

/* Model of the costs, in place of times, so that choices are the same everywhere: an H200's, rounded. */
#define MODEL_BANDWIDTH      4e12 /* bytes a second */
#define MODEL_LATENCY        3e-6 /* seconds of a launch */
#define MODEL_ENTRY_BYTES    12
#define MODEL_SINGLE_BYTES   8   /* of an entry in cycles in single precision */
#define MODEL_SETUP_READS    150 /* of all operators */
#define MODEL_REFRESH_READS  40
#define MODEL_LAUNCHES       8   /* of a level in a cycle, besides those of its smoothers */
#define MODEL_SETUP_LAUNCHES 250 /* of a level in a setup */

/* What is tried, in this order. */
typedef struct {
  PetscBool  own; /* the settings that the user's PC has */
  GAMGChoice choice;
} Candidate;

#define NUM_CANDIDATES 4 /* at most */

static const Candidate scalar_candidates[] = {
  {PETSC_FALSE, {0.05, 0.1, 2, 1, GAMG_STRENGTH_SIGNED, GAMG_RESTRICTION_TRANSPOSE, 0}},
  {PETSC_FALSE, {0.02, 0.1, 2, 1, GAMG_STRENGTH_SIGNED, GAMG_RESTRICTION_TRANSPOSE, 0}}, // large jumps: smaller operators
  {PETSC_FALSE, {0.05, 0.1, 2, 2, GAMG_STRENGTH_SIGNED, GAMG_RESTRICTION_TRANSPOSE, 0}}, // two dimensions, elements: fewer cycles
  {PETSC_TRUE, {0}},
};
static const Candidate unsymmetric_candidates[] = {
  {PETSC_FALSE, {0.05, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TENTATIVE, 3}},
  {PETSC_TRUE, {0}},
  {PETSC_FALSE, {0.05, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TRANSPOSE, 3}},
  {PETSC_FALSE, {0.1, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TENTATIVE, 3}},
};
static const Candidate unsymmetric_block_candidates[] = {
  {PETSC_FALSE, {0.02, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TENTATIVE, 3}},
  {PETSC_TRUE, {0}},
  {PETSC_FALSE, {0.02, 0.1, 1, 1, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TRANSPOSE, 3}},
};
static const Candidate block_candidates[] = {
  {PETSC_FALSE, {0.02, 0.1, 1, 2, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TRANSPOSE, 0}},
  {PETSC_TRUE, {0}},
  {PETSC_FALSE, {0.08, 0.1, 1, 2, GAMG_STRENGTH_ABSOLUTE, GAMG_RESTRICTION_TRANSPOSE, 0}},
};

/* What a trial found. Times are those of the slowest process, in seconds. */
typedef struct {
  PetscReal setup, refresh, cycle; /* cycle: one application of the PC in an iteration, with the product of the Krylov method */
  PetscInt  steps;                 /* iterations of the trial */
  PetscInt  iterations;            /* for DIGITS digits; PETSC_INT_MAX: it does not converge */
  PetscReal digits;                /* an iteration */
  PetscReal solve, cost;           /* of one solve; of setup, and of as many refreshes and solves as there are to come */
} Result;

/* A search under way. */
typedef struct {
  PC               pc;            /* the user's, borrowed */
  GAMGContext     *context;       /* of it, borrowed */
  PetscInt         num_solves;    /* that are to come */
  PetscBool        symmetric;     /* the matrix of the hierarchies */
  PetscBool        smoother_free; /* no option says anything of smoothers */
  PetscBool        cg;            /* the method of the short solves; KSPBCGS otherwise */
  Vec              b, x, y;
  PetscBool        fails[3]; /* what was set of errors that end setups: of pc, of its mat and its pmat */
  PC               trial;    /* owned; NULL between trials */
  Result           best;
  const Candidate *candidate; /* the best; NULL: none so far */
  GAMGSettings     settings;  /* of it */
  PetscInt         num_tried;
  PetscReal        seconds; /* so far */
  PetscReal        spent;   /* the same, or by the model */
} Search;

/* Seconds since a time, until the device and all processes are done. Collective. */
static PetscErrorCode GetSeconds(const Search *s, PetscLogDouble since, PetscReal *seconds)
{
  PetscLogDouble now;
  PetscBool      usable;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscCall(PetscTime(&now));
  *seconds = (PetscReal)(now - since);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPI_MAX, PetscObjectComm((PetscObject)s->pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space of the finest level that the program gave, by PCSetCoordinates() or in a setup before. */
static PetscErrorCode CopyData(PC from, PC to)
{
  const PC_GAMG *f = GAMGGet(from);
  PC_GAMG       *t = GAMGGet(to);
  PetscInt       m, bs, size;

  PetscFunctionBegin;
  t->data = t->orig_data = NULL;
  if (f->data != NULL) {
    PetscCall(PetscMalloc1(f->data_sz, &t->data));
    PetscCall(PetscArraycpy(t->data, f->data, f->data_sz));
  } else if (f->orig_data != NULL) {
    PetscCall(MatGetLocalSize(from->pmat, &m, NULL));
    PetscCall(MatGetBlockSize(from->pmat, &bs));
    size = m / bs * f->orig_data_cell_rows * f->orig_data_cell_cols;
    PetscCall(PetscMalloc1(size, &t->orig_data));
    PetscCall(PetscArraycpy(t->orig_data, f->orig_data, size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the program has set. */
static PetscErrorCode CopyOptions(const Search *s, PC to)
{
  PC_GAMG        *g = GAMGGet(to), kept = *g;
  const PC_MG    *from_mg = (const PC_MG *)s->pc->data;
  GAMGContext    *context;
  GAMGAggOptions *options = GAMGGetAggOptions(to);

  PetscFunctionBegin;
  *g                = *GAMGGet(s->pc);
  g->ops            = kept.ops;
  g->gamg_type_name = kept.gamg_type_name;
  g->subctx         = kept.subctx;
  g->asm_crs        = NULL;
  *options          = *GAMGGetAggOptions(s->pc);
  options->crs      = NULL;
  PetscCall(CopyData(s->pc, to));
  if (from_mg->am != ((PC_MG *)to->data)->am) PetscCall(PCMGSetType(to, from_mg->am));
  PetscCall(PCMGMultiplicativeSetCycles(to, from_mg->cyclesperpcapply));
  PetscCall(GAMGGetContext(to, &context));
  context->device_setup        = s->context->device_setup;
  context->level_values        = s->context->level_values == GAMG_VALUES_AUTO ? GAMG_VALUES_DOUBLE : s->context->level_values; // guards would look for solves of the program
  context->join_levels         = s->context->join_levels;
  context->join_latency        = s->context->join_latency;
  context->process_limit_given = s->context->process_limit_given;
  context->coarse_cycle        = s->context->coarse_cycle;
  context->max_levels          = s->context->max_levels;
  g->Nlevels                   = s->context->max_levels; // PETSc's PC_GAMG has those of the last setup
  context->max_complexity      = s->context->max_complexity > 0 ? PetscMin(s->context->max_complexity, MAX_COMPLEXITY) : MAX_COMPLEXITY;
  context->tune.trial          = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC like the user's with other settings; not set up. */
static PetscErrorCode CreateTrial(Search *s, const GAMGSettings *settings)
{
  GAMGContext *context;
  const char  *prefix;

  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)s->pc), &s->trial));
  PetscCall(PCGetOptionsPrefix(s->pc, &prefix));
  PetscCall(PCSetOptionsPrefix(s->trial, prefix));
  PetscCall(PetscObjectSetOptions((PetscObject)s->trial, ((PetscObject)s->pc)->options));
  PetscCall(PCSetOperators(s->trial, s->pc->mat, s->pc->pmat));
  PetscCall(PCSetUseAmat(s->trial, s->pc->useAmat));
  if (s->pc->dm != NULL) PetscCall(PCSetDM(s->trial, s->pc->dm));
  PetscCall(PCSetType(s->trial, PCGAMG));
  PetscCall(CopyOptions(s, s->trial));
  PetscCall(GAMGGetContext(s->trial, &context));
  GAMGSetSettings(s->trial, context, settings);
  PetscCall(PCSetErrorIfFailure(s->trial, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of the operators of all levels in 1e9 entries of 12 bytes, and how many levels there are. Collective. */
static PetscErrorCode GetModelSize(PC pc, PetscReal *bytes, PetscInt *num_levels)
{
  KSP     smoother;
  Mat     A;
  MatInfo info;

  PetscFunctionBegin;
  *bytes = 0;
  PetscCall(PCMGGetLevels(pc, num_levels));
  for (PetscInt level = 0; level < *num_levels; level++) {
    PetscCall(PCMGGetSmoother(pc, level, &smoother));
    PetscCall(KSPGetOperators(smoother, NULL, &A));
    PetscCall(MatGetInfo(A, MAT_GLOBAL_MAX, &info));
    *bytes += MODEL_ENTRY_BYTES * (PetscReal)info.nz_used;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What setups, refreshes and cycles take by the model. */
static PetscErrorCode ModelCosts(PC pc, Result *r)
{
  const PC_MG *mg = (const PC_MG *)pc->data;
  GAMGContext *context;
  PetscReal    bytes;
  PetscInt     num_levels, degree;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GetModelSize(pc, &bytes, &num_levels));
  degree     = num_levels < 2 ? 1 : mg->levels[num_levels - 1]->smoothd->max_it; // of smoothers, before and after the coarser levels; a product more is that of the residual
  r->setup   = MODEL_SETUP_READS * bytes / MODEL_BANDWIDTH + num_levels * MODEL_SETUP_LAUNCHES * MODEL_LATENCY;
  r->refresh = MODEL_REFRESH_READS * bytes / MODEL_BANDWIDTH + num_levels * MODEL_SETUP_LAUNCHES * MODEL_LATENCY / 3;
  if (context->single) bytes *= (PetscReal)MODEL_SINGLE_BYTES / MODEL_ENTRY_BYTES;
  r->cycle = (2 * degree + 1) * bytes / MODEL_BANDWIDTH + num_levels * (MODEL_LAUNCHES + 2 * degree) * MODEL_LATENCY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup with new values of the same pattern, as far as it is another one. */
static PetscErrorCode TimeRefresh(const Search *s, PC pc, PetscReal *seconds)
{
  const MatStructure flag = pc->flag;
  PetscLogDouble     since;

  PetscFunctionBegin;
  pc->flag = SAME_NONZERO_PATTERN;
  PetscCall(PetscTime(&since));
  PetscCall((*pc->ops->setup)(pc));
  pc->flag        = flag;
  pc->setupcalled = PETSC_TRUE;
  PetscCall(GetSeconds(s, since, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle and a product, warm. Collective. */
static PetscErrorCode TimeCycle(const Search *s, PC pc, PetscReal *seconds)
{
  PetscLogDouble since;
  PetscReal      t;

  PetscFunctionBegin;
  *seconds = PETSC_MAX_REAL;
  for (PetscInt k = -3; k < NUM_TIMINGS; k++) { // the first ones record what is below the finest level
    PetscCall(GetSeconds(s, 0, &t));
    PetscCall(PetscTime(&since));
    PetscCall((*pc->ops->apply)(pc, s->b, s->x));
    PetscCall(MatMult(s->pc->mat, s->x, s->y));
    PetscCall(GetSeconds(s, since, &t));
    if (k >= 0) *seconds = PetscMin(*seconds, t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norms of the residuals of a trial. */
typedef struct {
  PetscReal norms[MAX_ITERATIONS + 1];
  PetscInt  n;     /* of the last one */
  PetscReal limit; /* iterations for DIGITS digits beyond which it is hopeless; 0: none are */
  PetscBool failed;
} Norms;

/* Digits an iteration of the second half: the first iterations are faster. */
static PetscReal GetDigits(const Norms *norms)
{
  const PetscInt  half  = norms->n / 2;
  const PetscReal begin = norms->norms[half], end = norms->norms[norms->n];

  if (norms->n == 0 || begin <= 0 || end <= 0) return end <= 0 ? DIGITS : 0;
  return (PetscReal)PetscLog10Real(begin / end) / (PetscReal)(norms->n - half);
}

static PetscErrorCode TestConvergence(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, PetscCtx ctx)
{
  Norms *norms = (Norms *)ctx;

  PetscFunctionBegin;
  (void)ksp;
  *reason = KSP_CONVERGED_ITERATING;
  if (PetscIsInfOrNanReal(norm)) {
    norms->failed = PETSC_TRUE;
    *reason       = KSP_DIVERGED_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  norms->n         = it;
  norms->norms[it] = norm;
  if (norm == 0 || (it >= MIN_ITERATIONS && norm <= TRIAL_RTOL * norms->norms[0])) *reason = KSP_CONVERGED_RTOL;
  else if (it >= MAX_ITERATIONS || norm > 1e6 * norms->norms[0]) *reason = KSP_DIVERGED_ITS;
  else if (norms->limit > 0 && it >= MIN_ITERATIONS && GetDigits(norms) * norms->limit < DIGITS) *reason = KSP_DIVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A short solve. Collective. */
static PetscErrorCode Solve(const Search *s, PC pc, Norms *norms)
{
  KSP                ksp = NULL;
  KSPConvergedReason reason;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  norms->n      = 0;
  norms->failed = PETSC_FALSE;
  PetscCallGoto(ierr, cleanup, KSPCreate(PetscObjectComm((PetscObject)pc), &ksp));
  PetscCallGoto(ierr, cleanup, KSPSetNestLevel(ksp, pc->kspnestlevel));
  PetscCallGoto(ierr, cleanup, KSPSetOperators(ksp, pc->mat, pc->pmat));
  PetscCallGoto(ierr, cleanup, KSPSetPC(ksp, pc));
  PetscCallGoto(ierr, cleanup, KSPSetType(ksp, s->cg ? KSPCG : KSPBCGS));
  if (!s->cg) PetscCallGoto(ierr, cleanup, KSPSetPCSide(ksp, PC_RIGHT));
  PetscCallGoto(ierr, cleanup, KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCallGoto(ierr, cleanup, KSPSetConvergenceTest(ksp, TestConvergence, norms, NULL));
  PetscCallGoto(ierr, cleanup, KSPSetTolerances(ksp, 0, 0, PETSC_CURRENT, MAX_ITERATIONS));
  PetscCallGoto(ierr, cleanup, KSPSolve(ksp, s->b, s->x));
  PetscCallGoto(ierr, cleanup, KSPGetConvergedReason(ksp, &reason));
  if (reason < 0 && reason != KSP_DIVERGED_ITS) norms->failed = PETSC_TRUE;
cleanup:
  PetscCall(KSPDestroy(&ksp));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How fast a PC that is set up converges, and what that costs; setup and refresh are known. Collective. */
static PetscErrorCode Measure(const Search *s, PC pc, Result *r)
{
  Norms norms;

  PetscFunctionBegin;
  if (s->context->tune.cost == GAMG_COST_MODEL) PetscCall(ModelCosts(pc, r));
  else PetscCall(TimeCycle(s, pc, &r->cycle));
  if (!s->cg) r->cycle *= 2;
  norms.limit = s->best.solve > 0 ? HOPELESS * s->best.solve / r->cycle : 0;
  PetscCall(Solve(s, pc, &norms));
  r->steps  = norms.n;
  r->digits = norms.failed ? 0 : GetDigits(&norms);
  if (r->digits < FEWEST_DIGITS) r->digits = 0;
  r->iterations = r->digits > 0 ? (PetscInt)PetscCeilReal(DIGITS / r->digits) : PETSC_INT_MAX;
  r->solve      = r->digits > 0 ? (PetscReal)r->iterations * r->cycle : PETSC_MAX_REAL;
  r->cost       = r->digits > 0 ? r->setup + (PetscReal)s->num_solves * (r->refresh + r->solve) : PETSC_MAX_REAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As PCSetUp() does, without its events, which an error would leave open: the caller is in those of the user's PC. Collective. */
static PetscErrorCode SetUpTrial(PC pc)
{
  PetscFunctionBegin;
  PetscCall(MatSetErrorIfFailure(pc->pmat, PETSC_FALSE));
  PetscCall(MatSetErrorIfFailure(pc->mat, PETSC_FALSE));
  PetscCall(PCNoteMatState(pc));
  pc->flag = DIFFERENT_NONZERO_PATTERN;
  PetscCall((*pc->ops->setup)(pc));
  pc->setupcalled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends the events of PETSc's setup that a limit, which is an error, leaves open. */
static PetscErrorCode EndEvents(PC pc)
{
  GAMGContext *context;

  PetscFunctionBegin;
  if (pc == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGGetContext(pc, &context));
  if (!context->tune.limited) PetscFunctionReturn(PETSC_SUCCESS);
  if (context->tune.creates) PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_LEVEL], 0, 0, 0, 0));
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_SETUP], 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up a trial and measures it. Collective; what fails, fails on all processes. */
static PetscErrorCode RunTrial(Search *s, const GAMGSettings *settings, Result *r)
{
  PetscLogDouble since;

  PetscFunctionBegin;
  PetscCall(CreateTrial(s, settings));
  PetscCall(GetSeconds(s, 0, &r->setup));
  PetscCall(PetscTime(&since));
  PetscCall(SetUpTrial(s->trial));
  PetscCall(GetSeconds(s, since, &r->setup));
  if (s->context->tune.cost == GAMG_COST_TIME) PetscCall(TimeRefresh(s, s->trial, &r->refresh));
  PetscCall(Measure(s, s->trial, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TellTrial(const Search *s, const char options[], const Result *r, PetscErrorCode ierr)
{
  const char *text = NULL;

  PetscFunctionBegin;
  if (ierr != PETSC_SUCCESS) {
    PetscCall(PetscErrorMessage(ierr, &text, NULL));
    PetscCall(PetscInfo(s->pc, "Trial %" PetscInt_FMT " (%s): no hierarchy, %s\n", s->num_tried, options, text != NULL ? text : "an error"));
  } else if (r->digits <= 0) PetscCall(PetscInfo(s->pc, "Trial %" PetscInt_FMT " (%s): setup %g s, does not converge\n", s->num_tried, options, (double)r->setup));
  else
    PetscCall(PetscInfo(s->pc, "Trial %" PetscInt_FMT " (%s): setup %g s, again %g s, cycle %g s, %" PetscInt_FMT " iterations for %d digits; %" PetscInt_FMT " solves %g s\n", s->num_tried, options,
                        (double)r->setup, (double)r->refresh, (double)r->cycle, r->iterations, DIGITS, s->num_solves, (double)r->cost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Appends to options [size], after a space unless they are empty. */
static PetscErrorCode Append(size_t size, char options[], const char option[])
{
  PetscFunctionBegin;
  if (options[0] != '\0') PetscCall(PetscStrlcat(options, " ", size));
  PetscCall(PetscStrlcat(options, option, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Settings as options to type, without those that differ by level, which were given. */
static PetscErrorCode GetOptions(const Search *s, const GAMGSettings *settings, size_t size, char options[])
{
  const char *prefix = ((PetscObject)s->pc)->prefix;
  char        option[MAX_OPTION];

  PetscFunctionBegin;
  if (prefix == NULL) prefix = "";
  options[0] = '\0';
  if (!s->context->given.threshold) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%spc_gamg_threshold %g", prefix, (double)settings->threshold[0]));
    PetscCall(Append(size, options, option));
  }
  PetscCall(PetscSNPrintf(option, sizeof(option), "-%spc_gamg_strength %s", prefix, GAMGStrengths[settings->strength]));
  PetscCall(Append(size, options, option));
  if (GAMGHasFilter()) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%spc_gamg_prolongator_filter %g", prefix, (double)settings->filter));
    PetscCall(Append(size, options, option));
  }
  PetscCall(
    PetscSNPrintf(option, sizeof(option), "-%spc_gamg_aggressive_coarsening %" PetscInt_FMT " -%spc_gamg_agg_nsmooths %" PetscInt_FMT, prefix, settings->aggressive, prefix, settings->nsmooths));
  PetscCall(Append(size, options, option));
  if (settings->restriction != GAMG_RESTRICTION_TRANSPOSE) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%spc_gamg_restriction %s", prefix, GAMGRestrictions[settings->restriction]));
    PetscCall(Append(size, options, option));
  }
  if (settings->poly > 0 && s->smoother_free) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%smg_levels_ksp_type %s -%smg_levels_ksp_max_it %" PetscInt_FMT, prefix, KSPGMRESPOLY, prefix, settings->poly));
    PetscCall(Append(size, options, option));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A trial; an error of it is a result as well. Collective. */
static PetscErrorCode Try(Search *s, const Candidate *candidate, const GAMGSettings *settings)
{
  PetscLogDouble since;
  PetscReal      seconds;
  Result         r;
  char           options[MAX_OPTIONS];
  int            failed[2]; // on any process; in a way that nobody can destroy
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&r, 1));
  PetscCall(GetOptions(s, settings, sizeof(options), options));
  s->num_tried++;
  PetscCall(PetscTime(&since));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); // a method that breaks down is a result
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = RunTrial(s, settings, &r);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscFPTrapPop());
  failed[0] = ierr != PETSC_SUCCESS;
  failed[1] = failed[0] && ierr != PETSC_ERR_MEM && ierr != PETSC_ERR_ARG_OUTOFRANGE && ierr != PETSC_ERR_NOT_CONVERGED;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)s->pc)));
  PetscCall(EndEvents(s->trial));
  if (failed[0] && ierr == PETSC_SUCCESS) ierr = PETSC_ERR_LIB; // of another process
  if (failed[1]) s->trial = NULL;                               // it is lost: PETSc cannot destroy a solver in which there was an error, other than those of limits, which come before it solves
  else PetscCall(PCDestroy(&s->trial));
  PetscCall(GetSeconds(s, since, &seconds));
  s->seconds += seconds;
  s->spent += s->context->tune.cost == GAMG_COST_TIME ? seconds : r.setup + (PetscReal)r.steps * r.cycle;
  PetscCall(TellTrial(s, options, &r, ierr));
  if (ierr != PETSC_SUCCESS || r.digits <= 0 || (s->candidate != NULL && r.cost >= WIN * s->best.cost)) PetscFunctionReturn(PETSC_SUCCESS);
  s->candidate = candidate;
  s->best      = r;
  s->settings  = *settings;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether another trial may cost as much as a setup and solve with the best one. */
static PetscBool HasTime(const Search *s)
{
  const Result   *b     = &s->best;
  const PetscReal whole = b->setup + b->solve, share = LONGEST * (PetscReal)s->num_solves * (b->refresh + b->solve);

  return (PetscBool)(s->candidate == NULL || s->spent + whole <= PetscClipInterval(share, FEWEST_SETUPS * whole, MOST_SETUPS * whole));
}

static PetscBool SettingsAreEqual(const GAMGSettings *a, const GAMGSettings *b)
{
  PetscBool equal = (PetscBool)(a->filter == b->filter && a->aggressive == b->aggressive && a->nsmooths == b->nsmooths && a->strength == b->strength && a->restriction == b->restriction &&
                                a->poly == b->poly);

  for (int l = 0; l < PETSC_MG_MAXLEVELS; l++) equal = (PetscBool)(equal && a->threshold[l] == b->threshold[l]);
  return equal;
}

/* The candidates, as far as they are different with what the user gave. Collective. */
static PetscErrorCode TryCandidates(Search *s, PetscInt n, const Candidate candidates[])
{
  GAMGSettings own, tried[NUM_CANDIDATES];
  PetscInt     num = 0;

  PetscFunctionBegin;
  GAMGGetSettings(s->pc, s->context, &own);
  for (PetscInt k = 0; k < n && HasTime(s); k++) {
    PetscBool again = PETSC_FALSE;

    tried[num] = own;
    if (!candidates[k].own) GAMGReplaceSettings(s->pc, s->context, &candidates[k].choice, &tried[num]);
    for (PetscInt t = 0; t < num; t++) again = (PetscBool)(again || SettingsAreEqual(&tried[t], &tried[num]));
    if (!again) {
      PetscCall(Try(s, &candidates[k], &tried[num]));
      num++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateVectors(Search *s)
{
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(s->pc->pmat, &s->x, &s->b));
  PetscCall(VecDuplicate(s->b, &s->y));
  PetscCall(KSPSetNoise_AIJCUDA(s->pc->pmat, s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Destroys what a search has, and sets back what its solvers set of the PC and the matrices. Collective where there is a trial. */
static PetscErrorCode EndSearch(Search *s)
{
  PetscFunctionBegin;
  s->pc->erroriffailure       = s->fails[0];
  s->pc->mat->erroriffailure  = s->fails[1];
  s->pc->pmat->erroriffailure = s->fails[2];
  PetscCall(PCDestroy(&s->trial));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSearch(Search *s)
{
  PetscInt bs;

  PetscFunctionBegin;
  PetscCall(CreateVectors(s));
  PetscCall(MatGetBlockSize(s->pc->pmat, &bs));
  if (!s->symmetric && bs > 1) PetscCall(TryCandidates(s, PETSC_STATIC_ARRAY_LENGTH(unsymmetric_block_candidates), unsymmetric_block_candidates));
  else if (!s->symmetric) PetscCall(TryCandidates(s, PETSC_STATIC_ARRAY_LENGTH(unsymmetric_candidates), unsymmetric_candidates));
  else if (bs > 1) PetscCall(TryCandidates(s, PETSC_STATIC_ARRAY_LENGTH(block_candidates), block_candidates));
  else PetscCall(TryCandidates(s, PETSC_STATIC_ARRAY_LENGTH(scalar_candidates), scalar_candidates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a search found. */
static PetscErrorCode Keep(const Search *s, GAMGTuning *t)
{
  char options[MAX_OPTIONS];

  PetscFunctionBegin;
  t->done      = PETSC_TRUE;
  t->num_tried = s->num_tried;
  t->seconds   = s->seconds;
  t->found     = (PetscBool)(s->candidate != NULL);
  if (!t->found) {
    PetscCall(PetscInfo(s->pc, "Of %" PetscInt_FMT " hierarchies none converged: the settings stay\n", s->num_tried));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  t->own    = s->candidate->own;
  t->choice = s->candidate->choice;
  t->solve  = s->best.solve;
  PetscCall(GetOptions(s, &s->settings, sizeof(options), options));
  PetscCall(PetscStrallocpy(options, &t->options));
  PetscCall(PetscInfo(s->pc, "Tuned for %" PetscInt_FMT " solves in %g s: %s\n", t->num_solves, (double)t->seconds, options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets the degree of smoothers above the coarsest level that have the degree from; 0: of all. */
static PetscErrorCode SetDegree(PC pc, PetscInt from, PetscInt degree)
{
  const PC_MG *mg = (const PC_MG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt level = 1; mg->levels != NULL && level < mg->nlevels; level++) {
    KSP smoother = mg->levels[level]->smoothd;

    if (from == 0 || smoother->max_it == from) PetscCall(KSPSetTolerances(smoother, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, degree));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGTuneForget - Forgets what a search found: smoothers have the degree of before, unless the program has set another one since. */
PetscErrorCode GAMGTuneForget(PC pc, GAMGContext *context)
{
  GAMGTuning *t = &context->tune;

  PetscFunctionBegin;
  if (t->degree > 0) PetscCall(SetDegree(pc, t->degree, t->own_degree));
  if (t->single) context->level_values = GAMG_VALUES_AUTO;
  t->done       = PETSC_FALSE;
  t->found      = PETSC_FALSE;
  t->own        = PETSC_FALSE;
  t->cycle_done = PETSC_FALSE;
  t->degree     = 0;
  t->single     = PETSC_FALSE;
  t->digits     = 0;
  t->slow       = 0;
  t->solves     = 0;
  t->wait       = 0;
  PetscCall(PetscFree(t->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the short solves are by KSPCG: the matrix of the system is symmetric as well. */
static PetscErrorCode TakesCG(PC pc, const GAMGContext *context, PetscBool *cg)
{
  PetscBool known, symmetric;

  PetscFunctionBegin;
  *cg = (PetscBool)!context->unsymmetric;
  if (pc->mat == pc->pmat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsHermitianKnown(pc->mat, &known, &symmetric));
  *cg = (PetscBool)(*cg && known && symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InitializeSearch(PC pc, GAMGContext *context, Search *s)
{
  PetscBool given[2];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, 1));
  s->pc         = pc;
  s->context    = context;
  s->num_solves = context->tune.num_solves;
  s->symmetric  = (PetscBool)!context->unsymmetric;
  s->fails[0]   = pc->erroriffailure;
  s->fails[1]   = pc->mat->erroriffailure;
  s->fails[2]   = pc->pmat->erroriffailure;
  PetscCall(TakesCG(pc, context, &s->cg));
  PetscCall(GAMGSmootherIsGiven(pc, "ksp_type", &given[0]));
  PetscCall(GAMGSmootherIsGiven(pc, "ksp_max_it", &given[1]));
  s->smoother_free = (PetscBool)(!given[0] && !given[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A search for new values that has no result leaves that of the one before. */
static void PutBack(const GAMGTuning *before, GAMGContext *context)
{
  GAMGTuning *t = &context->tune;

  t->found      = PETSC_TRUE;
  t->own        = before->own;
  t->choice     = before->choice;
  t->cycle_done = before->cycle_done;
  t->degree     = before->degree;
  t->own_degree = before->own_degree;
  t->single     = before->single;
  t->digits     = before->digits;
  t->options    = before->options;
  if (t->single) context->level_values = GAMG_VALUES_SINGLE;
}

/*
  GAMGTune - Finds settings for the matrix of a PC that is about to make its hierarchy, and is without the settings of a preset. Collective
  context->tune has what was found afterwards, and GAMGPresetPut() puts it on. -info tells what each trial was and found. All processes come to the same result: times are those of the slowest one.
  A trial that is not set up (out of memory, too dense, not coarsened) or does not converge is not chosen. When none converges the settings stay, those of a search before included. Cost: see
  PCGAMGCUDASetTune().
*/
PetscErrorCode GAMGTune(PC pc, GAMGContext *context)
{
  GAMGTuning      *t     = &context->tune;
  const PetscBool  again = (PetscBool)(t->found && t->slow >= SLOW_SOLVES);
  const PetscCount wait  = again ? 2 * t->solves : 0; // twice as long as before this search
  GAMGTuning       before;
  Search           s;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  before = *t;
  if (again) t->options = NULL;
  PetscCall(GAMGTuneForget(pc, context));
  t->wait = wait;
  PetscCall(InitializeSearch(pc, context, &s));
  PetscCall(GAMGPresetPut(pc, context)); // what the user has
  ierr = RunSearch(&s);
  PetscCall(GAMGPresetTakeBack(pc, context));
  PetscCall(EndSearch(&s));
  if (ierr != PETSC_SUCCESS && again) PetscCall(PetscFree(before.options));
  PetscCall(ierr);
  PetscCall(Keep(&s, t));
  if (again && !t->found) PutBack(&before, context);
  else if (again) PetscCall(PetscFree(before.options));
  if (s.candidate != NULL) context->expected_cycles = (PetscCount)s.best.iterations * (s.cg ? 1 : 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGTuneIsDue - Whether settings are to be looked for in the setup that begins: the pattern is another one, or solves converge much worse than the first one did. The same on all processes. */
PetscErrorCode GAMGTuneIsDue(PC pc, const GAMGContext *context, PetscBool *due)
{
  const GAMGTuning *t = &context->tune;
  PetscBool         is_agg;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(GAMGGet(pc)->gamg_type_name, PCGAMGAGG, &is_agg));
  *due = PETSC_FALSE;
  if (!is_agg || t->num_solves < FEWEST_SOLVES || GAMGGet(pc)->injection_index_size > 0) PetscFunctionReturn(PETSC_SUCCESS);
  *due = (PetscBool)(!t->done || !pc->setupcalled || pc->flag == DIFFERENT_NONZERO_PATTERN || (t->slow >= SLOW_SOLVES && t->solves >= t->wait));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGTuneGetDigits - The digits an iteration of a solve that has ended; false: they are not known, as it was too short, nobody has looked at norms, or there was an initial guess, for which KSP has the
  norm of the right-hand side as the first one
*/
PetscBool GAMGTuneGetDigits(KSP ksp, PetscReal *digits)
{
  const PetscBool known = (PetscBool)(ksp->guess_zero && ksp->its >= SHORT && ksp->rnorm0 > 0 && ksp->rnorm > 0);

  *digits = known ? (PetscReal)PetscLog10Real(ksp->rnorm0 / ksp->rnorm) / (PetscReal)ksp->its : 0;
  return known;
}

/* GAMGTuneNoteSolve - After a solve: how fast it converged, compared with the first one since the search. Those that do not converge are slow. */
PetscErrorCode GAMGTuneNoteSolve(GAMGContext *context, KSP ksp)
{
  GAMGTuning *t = &context->tune;
  PetscReal   digits;

  PetscFunctionBegin;
  if (!t->found || (ksp->its == 0 && ksp->reason >= 0)) PetscFunctionReturn(PETSC_SUCCESS);
  t->solves++;
  if (ksp->reason < 0) {
    t->slow++;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!GAMGTuneGetDigits(ksp, &digits)) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->digits == 0) t->digits = digits;
  t->slow = digits < GAMG_SLOW * t->digits ? t->slow + 1 : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGTuneLimit - In a trial: an error when a finest level with matrix A has a prolongator P, or NULL, of nearly as many columns; PETSc would go on with a hierarchy that costs too much, or factor A.
  The same on all processes.
*/
PetscErrorCode GAMGTuneLimit(PC pc, Mat A, Mat P)
{
  const PetscReal rows = (PetscReal)(A->rmap->N / A->rmap->bs), columns = P != NULL ? (PetscReal)(P->cmap->N / P->cmap->bs) : rows;
  GAMGContext    *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  context->tune.limited = (PetscBool)(GAMGGet(pc)->current_level == 0 && rows > (PetscReal)GAMGGet(pc)->coarse_eq_limit && columns > MAX_COARSE * rows);
  PetscCheck(!context->tune.limited, PetscObjectComm((PetscObject)pc), PETSC_ERR_NOT_CONVERGED, "The finest level of a trial is not coarsened: %g aggregates of %g vertices", (double)columns,
             (double)rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGTuneView - A line for KSPView(). Collective on the viewer. */
PetscErrorCode GAMGTuneView(const GAMGContext *context, PetscViewer viewer)
{
  const GAMGTuning *t = &context->tune;

  PetscFunctionBegin;
  if (!t->done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "      Tuned for %" PetscInt_FMT " solves: %" PetscInt_FMT " hierarchies, %.2g s; %s%s\n", t->num_solves, t->num_tried, (double)t->seconds,
                                   t->found ? "type " : "none converged", t->found ? t->options : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGTuneDestroy - Frees what it has. */
PetscErrorCode GAMGTuneDestroy(GAMGTuning *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(t->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGTuneSetFromOptions - Reads the options of tuning. Collective. */
PetscErrorCode GAMGTuneSetFromOptions(PC pc, GAMGContext *context, PetscOptionItems PetscOptionsObject)
{
  PetscEnum cost = (PetscEnum)context->tune.cost;
  PetscInt  n    = context->tune.num_solves;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsBoundedInt("-pc_gamg_tune", "Solves that are expected with a pattern: settings that are not given are looked for on its first matrix; 0: none are", "PCGAMGCUDASetTune", n, &n,
                                   &given, 0));
  PetscCall(PetscOptionsEnum("-pc_gamg_tune_cost", "What hierarchies are judged by", "PCGAMGCUDASetTune", GAMGCosts, cost, &cost, NULL));
  context->tune.cost = (GAMGCost)cost;
  if (given) PetscCall(PCGAMGCUDASetTune(pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The degree of smoothers that are left to us; 0: they are not. They are Chebyshev's, the same before and after the coarser levels, of one degree, and no option gives their iterations. Collective. */
static PetscErrorCode GetFreeDegree(PC pc, PetscInt *degree)
{
  const PC_MG *mg = (const PC_MG *)pc->data; // PETSc's getters make another smoother where there is none
  PetscBool    chebyshev, given;

  PetscFunctionBegin;
  *degree = 0;
  PetscCall(GAMGSmootherIsGiven(pc, "ksp_max_it", &given));
  if (given || mg->nlevels < 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt level = 1; level < mg->nlevels; level++) {
    const PC_MG_Levels *l = mg->levels[level];

    PetscCall(PetscObjectTypeCompare((PetscObject)l->smoothd, KSPCHEBYSHEV, &chebyshev));
    if (!chebyshev || l->smoothd != l->smoothu || l->smoothd->max_it != mg->levels[1]->smoothd->max_it) PetscFunctionReturn(PETSC_SUCCESS);
  }
  *degree = mg->levels[1]->smoothd->max_it;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smoothers of another degree in a hierarchy that is set up. Collective. */
static PetscErrorCode PutDegree(PC pc, GAMGContext *context, PetscInt degree)
{
  PetscFunctionBegin;
  PetscCall(SetDegree(pc, 0, degree));
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGSetUpCycle(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle on the hierarchy that there is becomes the best when its solves take least. Collective. */
static PetscErrorCode TryCycle(Search *s, const char what[], PetscInt degree, PetscBool *best)
{
  Result r;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&r, 1));
  PetscCall(Measure(s, s->pc, &r));
  PetscCall(PetscInfo(s->pc, "Smoothers of degree %" PetscInt_FMT "%s: cycle %g s, %" PetscInt_FMT " iterations for %d digits\n", degree, what, (double)r.cycle, r.iterations, DIGITS));
  *best = (PetscBool)(r.digits > 0 && r.solve < WIN * s->best.solve);
  if (*best) s->best = r;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Degrees other than that of the user, which the trial had. A higher one is not tried when a lower one wins. own is 0 when it is not ours to choose. Collective. */
static PetscErrorCode TryDegrees(Search *s, PetscInt own, PetscInt *best)
{
  PetscBool wins;

  PetscFunctionBegin;
  *best = own;
  for (PetscInt degree = 1; own > 0 && degree <= MAX_DEGREE; degree++) {
    if (degree == own || (degree > own && *best < own)) continue;
    PetscCall(PutDegree(s->pc, s->context, degree));
    PetscCall(TryCycle(s, "", degree, &wins));
    if (wins) *best = degree;
  }
  if (own > 0) PetscCall(PutDegree(s->pc, s->context, *best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles in another precision in a hierarchy that is set up. Collective. */
static PetscErrorCode PutPrecision(PC pc, GAMGContext *context, GAMGLevelValues values)
{
  PetscFunctionBegin;
  context->level_values = values;
  PetscCall(GAMGCoarseDestroy(&context->coarse));
  PetscCall(GAMGReleaseSingle(pc, context));
  PetscCall(GAMGSetUpCycle(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles in single precision, with the degree that is best in double. They are not chosen when there is no memory for them. Collective. */
static PetscErrorCode TryPrecision(Search *s, PetscInt degree, PetscBool *single)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *single = PETSC_FALSE;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PutPrecision(s->pc, s->context, GAMG_VALUES_SINGLE);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)s->pc), ierr, &ierr));
  if (ierr != PETSC_ERR_MEM) PetscCall(ierr);
  if (ierr == PETSC_SUCCESS) PetscCall(TryCycle(s, ", cycles in single precision", degree, single));
  if (!*single) PetscCall(PutPrecision(s->pc, s->context, GAMG_VALUES_AUTO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the precision of cycles is left to us: nobody said anything of it, the matrix is on the device, and solves are not by KSPCG, whose cycles guards look after. Collective. */
static PetscErrorCode IsPrecisionFree(PC pc, const GAMGContext *context, PetscBool *is)
{
  PetscMemType type;
  PetscBool    seq, mpi, cg;

  PetscFunctionBegin;
  PetscCall(TakesCG(pc, context, &cg));
  PetscCall(MatIsSeqAIJCUDA(pc->pmat, &seq));
  PetscCall(MatIsMPIAIJCUDA(pc->pmat, &mpi));
  PetscCall(MatGetCurrentMemType(pc->pmat, &type));
  *is = (PetscBool)(!PetscDefined(USE_REAL_SINGLE) && (seq || mpi) && PetscMemTypeDevice(type) && !cg && !context->given.level_values && context->level_values == GAMG_VALUES_AUTO);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCycles(Search *s, PetscInt own, PetscBool precision, PetscInt *degree, PetscBool *single)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateVectors(s));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  ierr = TryDegrees(s, own, degree);
  if (ierr == PETSC_SUCCESS && precision) ierr = TryPrecision(s, *degree, single);
  PetscCall(PetscFPTrapPop());
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was found of cycles becomes a part of the options to type. */
static PetscErrorCode AppendCycle(PC pc, GAMGTuning *t)
{
  const char *prefix = ((PetscObject)pc)->prefix != NULL ? ((PetscObject)pc)->prefix : "";
  char        options[MAX_OPTIONS], option[MAX_OPTION];

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(options, t->options, sizeof(options)));
  if (t->degree > 0) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%smg_levels_ksp_max_it %" PetscInt_FMT, prefix, t->degree));
    PetscCall(Append(sizeof(options), options, option));
  }
  if (t->single) {
    PetscCall(PetscSNPrintf(option, sizeof(option), "-%spc_gamg_level_values %s", prefix, GAMGLevelValuesNames[GAMG_VALUES_SINGLE]));
    PetscCall(Append(sizeof(options), options, option));
  }
  PetscCall(PetscFree(t->options));
  PetscCall(PetscStrallocpy(options, &t->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks for the degree, when own is the one that is left to us, and for the precision. Collective. */
static PetscErrorCode SearchCycle(PC pc, GAMGContext *context, PetscInt own, PetscBool precision)
{
  GAMGTuning     *t      = &context->tune;
  const PetscBool before = pc->setupcalled;
  PetscInt        degree = own;
  Search          s;
  PetscLogDouble  since;
  PetscReal       seconds;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(InitializeSearch(pc, context, &s));
  s.best.solve    = t->solve;
  pc->setupcalled = PETSC_TRUE; // a solve with it is no reason to set it up
  PetscCall(PetscTime(&since));
  ierr            = RunCycles(&s, own, precision, &degree, &t->single);
  pc->setupcalled = before;
  context->cycles = 0; // and solves: the program's count
  t->solves       = 0;
  t->slow         = 0;
  t->digits       = 0;
  PetscCall(EndSearch(&s));
  if (ierr != PETSC_SUCCESS) {
    if (precision) context->level_values = GAMG_VALUES_AUTO;
    if (own > 0) PetscCall(SetDegree(pc, 0, own));
  }
  PetscCall(ierr);
  t->own_degree = own;
  t->degree     = degree;
  PetscCall(GetSeconds(&s, since, &seconds));
  t->seconds += seconds;
  PetscCall(AppendCycle(pc, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGTuneCycle - Finds the degree of smoothers and the precision of cycles for a hierarchy that has just been set up with settings of GAMGTune(), or puts on the degree that was found. Collective
  Smoothers have what the options say. A setup that makes a hierarchy may make smoothers, which have the degree of before the search, so that it is set after each of these. Another degree is the
  program's, and stays.
*/
PetscErrorCode GAMGTuneCycle(PC pc, GAMGContext *context)
{
  GAMGTuning *t = &context->tune;
  PetscInt    own;
  PetscBool   precision;

  PetscFunctionBegin;
  if (!t->found || (t->cycle_done && t->degree == 0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetFreeDegree(pc, &own));
  if (t->cycle_done) {
    if (own > 0 && own == t->own_degree && own != t->degree) PetscCall(PutDegree(pc, context, t->degree));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  t->cycle_done = PETSC_TRUE;
  PetscCall(IsPrecisionFree(pc, context, &precision));
  if (own > 0 || precision) PetscCall(SearchCycle(pc, context, own, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsGAMG(PC pc, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCGAMG, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCGAMGCUDASetTune - Looks for the settings of `PCGAMG` that make setups and solves fastest, by trying some on the matrix

  Logically Collective

  Input Parameters:
+ pc - the preconditioner; nothing happens unless it is of type `PCGAMG`
- n  - how many solves are expected with one nonzero pattern; fewer than 5: nothing is tried

  Options Database Keys:
+ -pc_gamg_tune n                - the same
- -pc_gamg_tune_cost (time|model) - what a hierarchy is judged by: times of the slowest process, or a model of them, which is the same in every run

  Level: intermediate

  Notes:
  The first setup of a pattern sets up some hierarchies one after the other, with a short solve for each, and then the one whose setups and solves take least for `n` solves. Looked for are thresholds,
  the strength of connections, the prolongator filter, the number of aggressive levels and of smoothing steps, the degree of Chebyshev smoothers, and, where solves are
  not by `KSPCG`, whether cycles read values in single precision (`-pc_gamg_level_values`). What was given by an option or by a setter is never changed.

  `KSPView()` prints the result as options to type, and what the search took; `-info :pc` has a line for each hierarchy.

  docs/gamg.md says how long the search takes, when trials end early, and when it is repeated.

  `n` solves by `KSPCG` are assumed, or by `KSPBCGS` where a matrix is not symmetric, to eight digits.

  What is found belongs to `pc`: another one looks for it again. Type what `PCGAMGCUDAGetTuned()` returns where a program makes a solver for each step.

.seealso: `PCGAMG`, `PCGAMGCUDAGetTuned()`, `PCGAMGSetThreshold()`, `PCGAMGSetProlongatorFilter()`
@*/
PetscErrorCode PCGAMGCUDASetTune(PC pc, PetscInt n)
{
  GAMGContext *context;
  PetscBool    is;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, n, 2);
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "The number of solves %" PetscInt_FMT " must not be negative", n);
  PetscCall(IsGAMG(pc, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGGetContext(pc, &context));
  context->tune.num_solves = n;
  if (n < FEWEST_SOLVES) PetscCall(GAMGTuneForget(pc, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCGAMGCUDAGetTuned - The settings that `PCGAMGCUDASetTune()` found

  Not Collective

  Input Parameter:
. pc - the preconditioner, set up

  Output Parameter:
. options - them as options to type, without those that were given, with the prefix of `pc`, which owns the string: it is there until the next setup, PCGAMGCUDASetTune() or PCGAMGSetType(); `NULL` when nothing was looked for, or nothing converged

  Level: intermediate

.seealso: `PCGAMG`, `PCGAMGCUDASetTune()`
@*/
PetscErrorCode PCGAMGCUDAGetTuned(PC pc, const char *options[])
{
  GAMGContext *context;
  PetscBool    is;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(options, 2);
  *options = NULL;
  PetscCall(IsGAMG(pc, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGGetContext(pc, &context));
  *options = context->tune.options;
  PetscFunctionReturn(PETSC_SUCCESS);
}
