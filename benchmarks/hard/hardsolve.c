/*
  Setups, solves and new values of one configuration; see hardsolve.h.
*/
#include "hardsolve.h"
#include "../common/benchmemory.h"
#include <petscdevice_cuda.h>
#include <petscksp.h>
#include <petscsparsecuda.h>
#include <petscsparsecuda/sys.h>
#include <petsctime.h>
#include <ctype.h>

#define RTOL            (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-8)
#define LARGEST         (10 * RTOL)    // true residual over the right-hand side: rounding parts it from that of the iteration
#define SLOW            ((PetscReal)2) // seconds: not repeated
#define MAX_REPETITIONS 15

/* All that one configuration needs. */
typedef struct {
  const HardLimits  *limits;
  const HardProblem *problem;
  Mat                A;
  KSP                ksp;
  Vec                x, b;
  void              *values;  /* device memory for values of the matrix, or NULL */
  PetscBool          solving; /* setups are done */
  HardResult        *result;
} Run;

/* HardSystemWhere - what a system is */
HardWhere HardSystemWhere(const HardSystem *system)
{
  if (!HardSystemIsSymmetric(system)) return HARD_UNSYMMETRIC;
  return system->nu > 0 ? HARD_BLOCKS : HARD_SCALAR;
}

/* Sets the options of a configuration, or takes them away again. */
static PetscErrorCode SetOptions(const char options[], PetscBool set)
{
  int    n;
  char **words;

  PetscFunctionBegin;
  if (set) PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscStrToArray(options, ' ', &n, &words));
  for (int k = 0; k < n && !set; k++) {
    if (words[k][0] == '-' && isalpha((unsigned char)words[k][1])) PetscCall(PetscOptionsClearValue(NULL, words[k]));
  }
  PetscCall(PetscStrToArrayDestroy(n, words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Error handler that keeps the first message and prints nothing. */
static PetscErrorCode KeepMessage(MPI_Comm comm, int line, const char function[], const char file[], PetscErrorCode ierr, PetscErrorType type, const char message[], void *ctx)
{
  char *text = (char *)ctx;

  if (type == PETSC_ERROR_INITIAL && message != NULL && text[0] == '\0') {
    (void)snprintf(text, sizeof(((HardResult *)NULL)->failed), "error %d: %s", (int)ierr, message);
    for (; *text != '\0'; text++) {
      if (*text == '"' || *text == '\\' || iscntrl((unsigned char)*text)) *text = ' ';
    }
  }
  return ierr;
}

static PetscErrorCode Now(const Run *r, PetscLogDouble *time)
{
  PetscFunctionBegin;
  if (r->limits->device) PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscTime(time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Run *r)
{
  const PetscBool symmetric = HardSystemIsSymmetric(r->problem->system);

  PetscFunctionBegin;
  PetscCall(KSPCreate(r->problem->comm, &r->ksp));
  PetscCall(KSPSetOperators(r->ksp, r->A, r->A));
  PetscCall(KSPSetType(r->ksp, symmetric ? KSPCG : KSPBCGS));
  if (!symmetric) PetscCall(KSPSetPCSide(r->ksp, PC_RIGHT));
  PetscCall(KSPSetNormType(r->ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(r->ksp, RTOL, PETSC_CURRENT, PETSC_CURRENT, r->limits->max_cycles / (symmetric ? 1 : 2)));
  PetscCall(KSPSetFromOptions(r->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the solution is one; says why not. */
static PetscErrorCode CheckSolution(Run *r)
{
  KSPConvergedReason reason;
  PetscInt           its;
  Vec                residual;
  PetscReal          norm, b;

  PetscFunctionBegin;
  PetscCall(KSPGetConvergedReason(r->ksp, &reason));
  PetscCall(KSPGetIterationNumber(r->ksp, &its));
  if (reason <= 0) {
    PetscCall(PetscSNPrintf(r->result->failed, sizeof(r->result->failed), "%s after %" PetscInt_FMT " iterations", KSPConvergedReasons[reason], its));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->result->value[HARD_ITERATIONS] < 0) r->result->value[HARD_ITERATIONS] = (PetscReal)its * (HardSystemIsSymmetric(r->problem->system) ? 1 : 2);
  PetscCall(VecDuplicate(r->b, &residual));
  PetscCall(MatMult(r->A, r->x, residual));
  PetscCall(VecAXPY(residual, -1, r->b));
  PetscCall(VecNorm(residual, NORM_2, &norm));
  PetscCall(VecNorm(r->b, NORM_2, &b));
  PetscCall(VecDestroy(&residual));
  r->result->residual = PetscMax(r->result->residual, norm / b);
  if (!(norm <= LARGEST * b)) PetscCall(PetscSNPrintf(r->result->failed, sizeof(r->result->failed), "the true residual is %g of the right-hand side", (double)(norm / b)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One setup and solve; with values, which are on the device where there is one, these first. Seconds of all; the parts go into result->setup[part] and so on. */
static PetscErrorCode SolveOnce(Run *r, const PetscScalar values[], int part, PetscReal *seconds)
{
  PetscLogDouble begin, middle, end;

  PetscFunctionBegin;
  PetscCall(Now(r, &begin));
  if (values != NULL) PetscCall(MatSetValuesCOO(r->A, values, INSERT_VALUES));
  PetscCall(KSPSetUp(r->ksp));
  PetscCall(Now(r, &middle));
  r->solving = PETSC_TRUE;
  PetscCall(KSPSolve(r->ksp, r->b, r->x));
  PetscCall(Now(r, &end));
  r->solving             = PETSC_FALSE;
  r->result->setup[part] = (PetscReal)(middle - begin);
  r->result->solve[part] = (PetscReal)(end - middle);
  *seconds               = (PetscReal)(end - begin);
  PetscCall(CheckSolution(r));
  if (!r->result->failed[0] && *seconds > r->limits->max_seconds) PetscCall(PetscSNPrintf(r->result->failed, sizeof(r->result->failed), "setup and solve took %.3g s", (double)*seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median of at most all repetitions. */
static PetscErrorCode Median(PetscInt n, PetscReal samples[], PetscReal *median)
{
  PetscFunctionBegin;
  PetscCall(PetscSortReal(n, samples));
  *median = samples[n / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureWhole(Run *r)
{
  PetscReal samples[MAX_REPETITIONS];
  PetscInt  n = 0;

  PetscFunctionBegin;
  do {
    PetscCall(KSPDestroy(&r->ksp));
    if (n == 0 && r->limits->device) {
      PetscCall(PetscSparseCUDATrimMemory(PETSC_TRUE)); // what others have left does not count
      PetscCall(BenchMemoryBegin());
    }
    PetscCall(CreateSolver(r));
    PetscCall(SolveOnce(r, NULL, 0, &samples[n]));
    if (n == 0) PetscCall(BenchMemoryEnd(r->problem->comm, &r->result->value[HARD_MEMORY]));
    n++;
  } while (!r->result->failed[0] && n < PetscMin(r->limits->repetitions[HARD_WHOLE], MAX_REPETITIONS) && samples[0] < SLOW);
  if (!r->result->failed[0]) PetscCall(Median(n, samples, &r->result->value[HARD_WHOLE]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of step 1 and step 0 in turn. */
static PetscErrorCode MeasureStep(Run *r)
{
  const size_t bytes = (size_t)r->problem->num_entries * sizeof(PetscScalar);
  PetscReal    samples[MAX_REPETITIONS];
  PetscInt     n = 0;
  PetscBool    host;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)r->A, MATSEQAIJ, &host)); // PETSc reads its values on the host
  if (r->limits->device && !host) PetscCallCUDA(cudaMalloc(&r->values, bytes));
  do {
    const PetscScalar *values = r->problem->v[(n + 1) % 2];

    if (r->values != NULL) PetscCallCUDA(cudaMemcpy(r->values, values, bytes, cudaMemcpyHostToDevice));
    PetscCall(SolveOnce(r, r->values != NULL ? (const PetscScalar *)r->values : values, 1, &samples[n]));
    n++;
  } while (!r->result->failed[0] && n < PetscMin(r->limits->repetitions[HARD_STEP], MAX_REPETITIONS) && samples[0] < SLOW);
  if (!r->result->failed[0]) PetscCall(Median(n, samples, &r->result->value[HARD_STEP]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of PCGAMG: hypre's operators would have to become matrices on the host. */
static PetscErrorCode MeasureComplexity(Run *r)
{
  PC        pc;
  PetscBool is;
  PetscReal unused;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(r->ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCGAMG, &is));
  if (is) PetscCall(PCMGGetGridComplexity(pc, &unused, &r->result->value[HARD_COMPLEXITY]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Searches for settings, and sets the options that were found in place of those that searched. */
static PetscErrorCode MeasureSearch(Run *r, const char options[])
{
  PC          pc;
  const char *found;

  PetscFunctionBegin;
  PetscCall(CreateSolver(r));
  PetscCall(SolveOnce(r, NULL, 0, &r->result->value[HARD_SEARCH]));
  PetscCall(KSPGetPC(r->ksp, &pc));
  PetscCall(PCGAMGCUDAGetTuned(pc, &found));
  PetscCall(PetscSNPrintf(r->result->tuned, sizeof(r->result->tuned), "-pc_type gamg %s", found != NULL ? found : ""));
  r->result->value[HARD_ITERATIONS] = -1; // of the solve with what was found
  PetscCall(SetOptions(options, PETSC_FALSE));
  PetscCall(SetOptions(r->result->tuned, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureAll(Run *r, const HardConfiguration *c)
{
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(r->A, &r->x, &r->b));
  PetscCall(HardProblemSetRandom(r->problem, r->b));
  if (c->tunes) PetscCall(MeasureSearch(r, c->options));
  if (r->result->failed[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MeasureWhole(r));
  if (r->result->failed[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MeasureStep(r));
  PetscCall(MeasureComplexity(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also after an error, but then PETSc cannot destroy a KSP that was solving, nor all of what others have made: that is lost. */
static void Clear(Run *r, PetscBool lost)
{
  PetscReal unused;

  (void)BenchMemoryEnd(PETSC_COMM_SELF, &unused); // one that an error left running
  (void)MatSetValuesCOO(r->A, r->problem->v[0], INSERT_VALUES);
  if (!lost) {
    (void)KSPDestroy(&r->ksp);
    (void)VecDestroy(&r->x);
    (void)VecDestroy(&r->b);
  }
  if (r->values != NULL) (void)cudaFree(r->values);
  if (r->limits->device) (void)cudaGetLastError();
}

static PetscErrorCode SolveTwice(Run *r)
{
  PetscReal unused;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(r->A, &r->x, &r->b));
  PetscCall(HardProblemSetRandom(r->problem, r->b));
  PetscCall(CreateSolver(r));
  PetscCall(SolveOnce(r, NULL, 0, &unused));
  PetscCall(SolveOnce(r, r->problem->v[1], 1, &unused));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A small system with a matrix of its own; what becomes of it does not matter. */
static PetscErrorCode WarmUp(const HardLimits *limits, const HardProblem *problem, const HardConfiguration *c)
{
  HardResult     result = {.failed = ""};
  Run            r      = {.limits = limits, .problem = problem, .result = &result};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(HardProblemCreateMat(problem, c->type, &r.A));
  ierr = SolveTwice(&r);
  Clear(&r, (PetscBool)(ierr && (r.solving || c->rival)));
  PetscCall(MatDestroy(&r.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardMeasure - see hardsolve.h */
PetscErrorCode HardMeasure(const HardLimits *limits, const HardProblem *problem, const HardProblem *small, Mat A, const HardConfiguration *c, HardResult *result)
{
  Run            r                              = {.limits = limits, .problem = problem, .A = A, .result = result};
  char           unused[sizeof(result->failed)] = "";
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(result, sizeof(*result)));
  for (int k = 0; k < HARD_NUM_METRICS; k++) result->value[k] = -1;
  PetscCall(SetOptions(c->options, PETSC_TRUE));
  PetscCall(PetscPushErrorHandler(KeepMessage, unused));
  if (small != NULL) (void)WarmUp(limits, small, c);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscPushErrorHandler(KeepMessage, result->failed));
  ierr = MeasureAll(&r, c);
  if (ierr && !result->failed[0]) (void)snprintf(result->failed, sizeof(result->failed), "error %d", (int)ierr);
  Clear(&r, (PetscBool)(ierr && (r.solving || c->rival)));
  PetscCall(PetscPopErrorHandler());
  PetscCall(SetOptions(result->tuned[0] ? result->tuned : c->options, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
