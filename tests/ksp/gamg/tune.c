static char help[] = "Tuning of PCGAMG: what is found can be typed, what is given stays, a pattern is looked at once, and systems that multigrid cannot solve end as they do without tuning.\n\
  -type: of the matrix\n\
  -bad: systems that multigrid cannot solve\n\n";

#include "problem.h"
#include "../../../src/petsc/ksp.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"

#define SOLVES 100 /* that are said to come */

static PetscErrorCode CreateSolver(const ProblemOptions *o, Mat A, const char prefix[], PetscInt n, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  (void)o;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCGAMG));
  PetscCall(PCGAMGCUDASetTune(*pc, n));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations for a right-hand side that is always the same; negative: why it did not converge. */
static PetscErrorCode Solve(KSP ksp, PetscInt *its)
{
  KSPConvergedReason reason;
  PetscRandom        random;
  Mat                A;
  Vec                x, b;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(b, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) *its = (PetscInt)reason;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetTuning(PC pc, GAMGTuning **t)
{
  GAMGContext *context;

  PetscFunctionBegin;
  *t = NULL;
  PetscCall(GAMGGetContext(pc, &context));
  *t = &context->tune;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of its own, in place of those of the program, to be ended with EndOptions(). */
static PetscErrorCode BeginOptions(PetscOptions *options)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(options));
  PetscCall(PetscOptionsPush(*options));
  PetscCall(PetscOptionsSetValue(NULL, "-t_pc_gamg_tune_cost", "model"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EndOptions(PetscOptions *options)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is found is found again, with as many iterations as when it is typed. */
static PetscErrorCode TestFound(const ProblemOptions *o, Mat A)
{
  const char  *found[2];
  PetscInt     its[3], num_tried = 0;
  KSP          ksp[3];
  PC           pc[3];
  GAMGTuning  *t;
  PetscBool    same;
  PetscOptions options;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateSolver(o, A, "t_", SOLVES, &ksp[k], &pc[k]));
    PetscCall(Solve(ksp[k], &its[k]));
    PetscCall(PCGAMGCUDAGetTuned(pc[k], &found[k]));
    PetscCall(GetTuning(pc[k], &t));
    num_tried = t->num_tried;
    PetscCheck(found[k] != NULL && num_tried > 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " hierarchies were tried, and nothing was found", Problems[o->problem], num_tried);
  }
  PetscCall(PetscStrcmp(found[0], found[1], &same));
  PetscCheck(same && its[0] == its[1] && its[0] > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s with %" PetscInt_FMT " iterations, and again %s with %" PetscInt_FMT, Problems[o->problem], found[0],
             its[0], found[1], its[1]);
  PetscCall(BeginOptions(&options));
  PetscCall(PetscOptionsInsertString(NULL, found[0]));
  PetscCall(CreateSolver(o, A, "t_", 0, &ksp[2], &pc[2]));
  PetscCall(Solve(ksp[2], &its[2]));
  PetscCall(EndOptions(&options));
  PetscCheck(its[2] == its[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " iterations when tuned, and %" PetscInt_FMT " with %s", Problems[o->problem], its[0], its[2], found[0]);
  for (int k = 0; k < 3; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is given by options is in what is found, except for thresholds, of which there may be many; with all settings given there is one hierarchy to try. */
static PetscErrorCode TestGiven(const ProblemOptions *o, Mat A)
{
  static const char *const given[] = {"-t_pc_gamg_threshold 0.01", "-t_pc_gamg_prolongator_filter 0.02", "-t_pc_gamg_aggressive_coarsening 1",
                                      "-t_pc_gamg_agg_nsmooths 1", "-t_pc_gamg_strength absolute",       "-t_mg_levels_ksp_max_it 2"};
  const char              *found, *position;
  PetscInt                 its;
  KSP                      ksp;
  PC                       pc;
  PetscOptions             options;
  GAMGTuning              *t;

  PetscFunctionBegin;
  PetscCall(BeginOptions(&options));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(given); k++) {
    PetscCall(PetscOptionsInsertString(NULL, given[k]));
    PetscCall(CreateSolver(o, A, "t_", SOLVES, &ksp, &pc));
    PetscCall(Solve(ksp, &its));
    PetscCall(PCGAMGCUDAGetTuned(pc, &found));
    PetscCall(GetTuning(pc, &t));
    PetscCheck(found != NULL, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: nothing was found with %s", Problems[o->problem], given[k]);
    for (size_t j = GAMGHasFilter() ? 1 : 2; j <= PetscMin(k, 4); j++) { // the filter is the first of them
      PetscCall(PetscStrstr(found, given[j], (char **)&position));
      PetscCheck(position != NULL, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s was given, and %s was found", Problems[o->problem], given[j], found);
    }
    PetscCall(PetscStrstr(found, "threshold", (char **)&position));
    PetscCheck(position == NULL, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: thresholds were given, and %s was found", Problems[o->problem], found);
    if (k >= 4) PetscCheck(t->num_tried == 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: all is given, and %" PetscInt_FMT " hierarchies were tried", Problems[o->problem], t->num_tried);
    if (k >= 5) PetscCheck(t->degree == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the degree is given, and %" PetscInt_FMT " was found", Problems[o->problem], t->degree);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(EndOptions(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For few solves nothing is tried. */
static PetscErrorCode TestFew(const ProblemOptions *o, Mat A)
{
  const char *found;
  PetscInt    its;
  KSP         ksp;
  PC          pc;
  GAMGTuning *t;

  PetscFunctionBegin;
  PetscCall(CreateSolver(o, A, "few_", 4, &ksp, &pc));
  PetscCall(Solve(ksp, &its));
  PetscCall(PCGAMGCUDAGetTuned(pc, &found));
  PetscCall(GetTuning(pc, &t));
  PetscCheck(found == NULL && !t->done, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: for four solves %" PetscInt_FMT " hierarchies were tried", Problems[o->problem], t->num_tried);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves that fail are slow ones, those with an initial guess are not compared; a search without a result leaves that of before. A becomes indefinite. */
static PetscErrorCode TestFailures(const ProblemOptions *o, Mat A, KSP ksp, GAMGTuning *t)
{
  PetscInt its;

  PetscFunctionBegin;
  t->slow   = 0;
  t->digits = 100; // nothing converges as fast
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(Solve(ksp, &its));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCheck(t->slow == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: a solve with an initial guess is compared", Problems[o->problem]);
  t->wait      = 0;
  t->num_tried = -1;
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 1));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatScale(A, 0.5));
    PetscCall(Solve(ksp, &its));
  }
  PetscCheck(t->num_tried > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: solves failed, and settings were not looked for again", Problems[o->problem]);
  t->slow      = 2;
  t->wait      = 0;
  t->num_tried = -1;
  PetscCall(MatScale(A, -1));
  PetscCall(MatShift(A, 1));
  PetscCall(Solve(ksp, &its));
  PetscCheck(t->num_tried > 0 && t->found && t->options != NULL, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: a search without a result has thrown away that of before", Problems[o->problem]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values are no reason to look again, a new pattern is, and so are two solves that converge much worse. */
static PetscErrorCode TestSteps(const ProblemOptions *o, Mat A)
{
  PetscInt    its, begin, end, N;
  KSP         ksp;
  PC          pc;
  GAMGTuning *t;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(CreateSolver(o, A, "t_", SOLVES, &ksp, &pc));
  PetscCall(GetTuning(pc, &t));
  PetscCall(Solve(ksp, &its));
  t->num_tried = -1;
  PetscCall(MatScale(A, 2));
  PetscCall(PCGAMGSetType(pc, PCGAMGAGG)); // as PCSetFromOptions() does
  PetscCall(Solve(ksp, &its));
  PetscCheck(t->num_tried == -1 && t->solves == 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: settings were looked for again for new values, after %" PetscCount_FMT " solves", Problems[o->problem],
             t->solves);
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    if (i < 8 || i >= N - 8) PetscCall(MatSetValue(A, i, N - 1 - i, -1e-3, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Solve(ksp, &its));
  PetscCheck(t->num_tried > 0 && t->solves == 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: settings were not looked for again for a new pattern", Problems[o->problem]);
  t->digits    = 100; // nothing converges as fast
  t->num_tried = -1;
  for (int k = 0; k < 6; k++) {
    PetscCall(MatScale(A, 0.5));
    PetscCall(Solve(ksp, &its));
    if (t->num_tried > 0) break;
  }
  PetscCheck(t->num_tried > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: solves converged much worse than the first one, and settings were not looked for again", Problems[o->problem]);
  PetscCall(TestFailures(o, A, ksp, t));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often an event has ended; it must not be under way. */
static PetscErrorCode GetCount(const char name[], PetscInt *count)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  PetscCheck(info.depth == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s is left open", name);
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A search whose hierarchies all end early leaves the log and what the KSP has set as they were. */
static PetscErrorCode TestLeft(const ProblemOptions *o, Mat A, const char option[])
{
  static const char *const names[] = {"KSPSolve", "PCSetUp", "PCSetUp_GAMG+"};
  PetscInt                 its, before[3], after[3];
  KSP                      ksp;
  PC                       pc;
  PetscOptions             options;
  GAMGTuning              *t;

  PetscFunctionBegin;
  PetscCall(BeginOptions(&options));
  PetscCall(PetscOptionsInsertString(NULL, option));
  PetscCall(PetscOptionsSetValue(NULL, "-t_pc_gamg_threshold", "0.99"));
  PetscCall(CreateSolver(o, A, "t_", SOLVES, &ksp, &pc));
  PetscCall(GetTuning(pc, &t));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  for (int k = 0; k < 3; k++) PetscCall(GetCount(names[k], &before[k]));
  PetscCall(Solve(ksp, &its));
  PetscCheck(t->done && !t->found && t->num_tried > 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: without couplings one of %" PetscInt_FMT " hierarchies was coarsened", Problems[o->problem],
             t->num_tried);
  for (int k = 0; k < 3; k++) {
    PetscCall(GetCount(names[k], &after[k]));
    PetscCheck(after[k] > before[k], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s is not counted after a search", Problems[o->problem], names[k]);
  }
  PetscCheck(after[0] == before[0] + 1 && pc->erroriffailure && pc->pmat->erroriffailure, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s: %" PetscInt_FMT " solves are counted, or errors are let pass after a search", Problems[o->problem], after[0] - before[0]);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(EndOptions(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smoothers' iterations that the program sets after a search are its own, as long as smoothers are the same: PETSc makes new ones for another number of levels. */
static PetscErrorCode TestDegree(const ProblemOptions *o, Mat A)
{
  PetscInt num_levels, num_before, its, degree;
  KSP      ksp, smoother;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(o, A, "t_", SOLVES, &ksp, &pc));
  PetscCall(PCGAMGSetReuseInterpolation(pc, PETSC_FALSE));
  PetscCall(Solve(ksp, &its));
  PetscCall(PCMGGetLevels(pc, &num_before));
  for (PetscInt level = 1; level < num_before; level++) {
    PetscCall(PCMGGetSmoother(pc, level, &smoother));
    PetscCall(KSPSetTolerances(smoother, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 5));
  }
  for (int k = 0; k < 2; k++) {
    if (k > 0) PetscCall(PCGAMGCUDASetTune(pc, 0)); // forgets what was found
    PetscCall(MatScale(A, 2));
    PetscCall(Solve(ksp, &its));
    PetscCall(PCMGGetLevels(pc, &num_levels));
    PetscCall(PCMGGetSmoother(pc, num_levels - 1, &smoother));
    PetscCall(KSPGetTolerances(smoother, NULL, NULL, NULL, &degree));
    PetscCheck(num_levels < 2 || num_levels != num_before || degree == 5, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: smoothers have %" PetscInt_FMT " iterations, and 5 were set", Problems[o->problem],
               degree);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a flow on n x n points against the x axis, or of diffusion, whose rows at the boundary are penalties or the identity. */
static PetscErrorCode CreateFlow(const char type[], PetscReal wind, PetscReal penalty, Mat *A)
{
  const PetscInt n = 20;
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    const PetscInt  i = r % n, j = r / n, columns[5] = {r, r - 1, r + 1, r - n, r + n};
    const PetscBool boundary = (PetscBool)(i == 0 || i == n - 1), inner[5] = {PETSC_TRUE, (PetscBool)(i > 0), (PetscBool)(i < n - 1), (PetscBool)(j > 0), (PetscBool)(j < n - 1)};
    const PetscReal values[5] = {4 + wind + (boundary ? penalty : 0), -1 - wind, -1, -1, -1};

    for (int k = 0; k < 5; k++)
      if (inner[k] && (k == 0 || !boundary || penalty > 0)) PetscCall(MatSetValue(*A, r, columns[k], values[k], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Penalties do not hide a flow, and rows of the identity do not make diffusion unsymmetric. */
static PetscErrorCode TestSymmetry(const char type[])
{
  static const struct {
    PetscReal wind, penalty;
  } flows[] = {{0, 0}, {0, 1e6}, {5, 0}, {5, 1e6}};
  Mat          A;
  PC           pc;
  GAMGContext *context;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(flows); k++) {
    PetscCall(CreateFlow(type, flows[k].wind, flows[k].penalty, &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(GAMGGetContext(pc, &context));
    PetscCall(GAMGPresetLook(pc, context));
    PetscCheck(context->unsymmetric == (PetscBool)(flows[k].wind > 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A flow of %g with penalties of %g is taken for %ssymmetric", (double)flows[k].wind,
               (double)flows[k].penalty, context->unsymmetric ? "un" : "");
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles of a large problem on the device read single precision where guards do not look after them, unless the user says something of it; a search that is forgotten leaves the default. */
static PetscErrorCode TestPrecision(const ProblemOptions *o, const void *ctx)
{
  Mat          A, P;
  const char  *found, *position;
  PetscInt     its;
  KSP          ksp;
  PC           pc;
  GAMGContext *context;
  PetscOptions options;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(o, (const char *)ctx, &A));
  PetscCall(BeginOptions(&options));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &P));
  for (int k = 0; k < 3; k++) { // with KSPBCGS, since nothing is known of A; with KSPCG; with KSPBCGS and the option
    if (k == 2) PetscCall(PetscOptionsInsertString(NULL, "-t_pc_gamg_level_values double"));
    PetscCall(CreateSolver(o, A, "t_", SOLVES, &ksp, &pc));
    if (k != 1) PetscCall(KSPSetOperators(ksp, A, P));
    for (int s = 0; s < (k == 1 ? 6 : 1); s++) PetscCall(Solve(ksp, &its)); // the default rounds from three million unknowns a process on, which two have then
    PetscCall(GAMGGetContext(pc, &context));
    PetscCall(PCGAMGCUDAGetTuned(pc, &found));
    PetscCheck(found != NULL && its > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: nothing was found", Problems[o->problem]);
    PetscCall(PetscStrstr(found, "-t_pc_gamg_level_values single", (char **)&position));
    PetscCheck(context->single == (k < 2) && (position != NULL) == (k == 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %d: cycles read %s precision, and %s was found", Problems[o->problem], k,
               context->single ? "single" : "double", found);
    PetscCall(PCGAMGCUDASetTune(pc, 0));
    PetscCheck(context->level_values == (k < 2 ? GAMG_VALUES_AUTO : GAMG_VALUES_DOUBLE), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: single precision stays after the search is forgotten",
               Problems[o->problem]);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(EndOptions(&options));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const ProblemOptions *o, const void *ctx)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(o, (const char *)ctx, &A));
  PetscCall(TestFound(o, A));
  PetscCall(TestGiven(o, A));
  PetscCall(TestFew(o, A));
  PetscCall(TestLeft(o, A, ""));
  PetscCall(TestLeft(o, A, "-t_pc_gamg_aggressive_square_graph 0")); // another coarsening, whose lists have another matrix than the graph
  PetscCall(TestDegree(o, A));
  PetscCall(TestSteps(o, A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  DIAGONAL,   /* no couplings */
  ONE,        /* unknown */
  SINGULAR,   /* with a null space that is attached */
  INDEFINITE, /* a shifted Laplacian */
  NOT_A_NUMBER,
  NUM_BAD
} Bad;
static const char *const bad_names[] = {"diagonal matrix", "one unknown", "singular system", "indefinite system", "NaN"};

static PetscErrorCode CreateBad(Bad bad, const char type[], Mat *A)
{
  const PetscInt N = bad == ONE ? 1 : 400;
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscScalar diagonal = bad == DIAGONAL ? 1 + i % 3 : bad == SINGULAR ? (i > 0) + (i < N - 1) : bad == INDEFINITE ? 1.5 : 2;

    if (bad == NOT_A_NUMBER && i == 17) diagonal = PETSC_MAX_REAL * 2.0 - PETSC_MAX_REAL * 2.0;
    PetscCall(MatSetValue(*A, i, i, diagonal, INSERT_VALUES));
    if (bad == DIAGONAL) continue;
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    if (i < N - 1) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (bad == SINGULAR) {
    MatNullSpace null_space;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null_space));
    PetscCall(MatSetNullSpace(*A, null_space));
    PetscCall(MatNullSpaceDestroy(&null_space));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Error, reason, or convergence: the same kind of outcome. */
static PetscErrorCode TestBad(Bad bad, const char type[])
{
  PetscErrorCode ierr[2];
  PetscInt       its[2] = {0, 0};
  Mat            A;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(CreateBad(bad, type, &A));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateSolver(NULL, A, "t_", k ? SOLVES : 0, &ksp, &pc));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr[k] = Solve(ksp, &its[k]);
    PetscCall(PetscPopErrorHandler());
    if (ierr[k] == PETSC_SUCCESS) PetscCall(KSPDestroy(&ksp));
  }
  PetscCheck((ierr[0] == PETSC_SUCCESS) == (ierr[1] == PETSC_SUCCESS) && (its[0] < 0) == (its[1] < 0), PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s: error %d and %" PetscInt_FMT " iterations, and error %d and %" PetscInt_FMT " when tuned", bad_names[bad], (int)ierr[0], its[0], (int)ierr[1], its[1]);
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Trials that end while a level is made, and the program's setup after them: of PETSc's event for that only the last one is open. */
static PetscErrorCode TestLimited(const char type[])
{
  PetscInt           its;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  GAMGTuning        *t;
  PetscOptions       options;
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(CreateFlow(type, 0, 0, &A));
  PetscCall(BeginOptions(&options));
  PetscCall(PetscOptionsSetValue(NULL, "-t_pc_gamg_max_complexity", "1.001"));
  PetscCall(CreateSolver(NULL, A, "t_", SOLVES, &ksp, &pc));
  PetscCall(GetTuning(pc, &t));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Solve(ksp, &its);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE && t->num_tried > 1 && !t->found, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Error %d, %" PetscInt_FMT " trials, beyond the limit of complexity", (int)ierr,
             t->num_tried);
  PetscCall(PetscLogEventGetId(" PCGAMGCreateL", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  PetscCheck(info.depth == 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%d events of a level are open", info.depth);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(EndOptions(&options));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      type[64]    = MATDCSRCUDA;
  PetscBool bad_systems = PETSC_FALSE, precision = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bad", &bad_systems, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-precision", &precision, NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-t_pc_gamg_tune_cost", "model"));
  if (!bad_systems) PetscCall(ProblemsTest(precision ? TestPrecision : TestProblem, type));
  if (!bad_systems && !precision) PetscCall(TestSymmetry(type));
  for (int bad = 0; bad < NUM_BAD && bad_systems; bad++) PetscCall(TestBad((Bad)bad, type));
  if (bad_systems) PetscCall(TestLimited(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -options_left 0 -use_gpu_aware_mpi 0
    output_file: output/empty.out
    test:
      nsize: {{1 3}}
      args: -malloc_dump -type {{aij aijdcsrcuda}} -n 8 -problem 7point,anisotropic
    test:
      suffix: blocks
      nsize: {{1 3}}
      args: -malloc_dump -type {{aij aijdcsrcuda}} -n 6 -problem elasticity
    test:
      suffix: bad
      nsize: {{1 2}}
      args: -bad -type {{aij aijdcsrcuda}} -malloc_dump 0
    test:
      suffix: device
      requires: cuda
      nsize: {{1 3}}
      args: -malloc_dump -n 12 -problem 27point,anisotropic,elasticity -near_null coordinates
    test:
      suffix: precision
      requires: cuda !single
      nsize: {{1 2}}
      args: -precision -malloc_dump -n 100 -problem 7point

TEST*/
