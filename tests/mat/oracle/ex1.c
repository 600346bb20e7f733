static char help[] = "Applies a long random sequence of Mat operations to one matrix kept in MATAIJ and in -mat_type, and compares after each.\n\
  -mat_type (dcsrcuda)  type under test\n\
  -other_type type      the matrix changes between the two, and some operands have it\n\
  -seed n               of the sequence; another one each time without this, printed first; printed when something is wrong\n\
  -steps n              operations of a sequence\n\
  -sequences n          one after another, each with the next seed\n\
  -life n               operations until the next new matrix\n\
  -only name            operations whose name contains this\n\
  -prefer name          operations whose name contains this come eight times as often\n\
  -every                compares entry by entry after every operation, not after some\n\
  -trace                prints each operation before it is done, for crashes\n\n";

#include <time.h>
#include <petscsparsecuda.h>
#include "oracle.h"

#define LOG_LENGTH 20

static const OracleOperation *const tables[] = {OracleValueOperations, OracleStructureOperations, OracleProductOperations, OracleAccessOperations, OracleInsertionOperations, OracleBlockOperations,
                                                OracleDenseOperations, OracleSolveOperations,     OracleReaderOperations,  OracleLargeOperations,  OracleDeviceOperations};

static PetscBool OracleIsNamed(const OracleOperation *op, const char part[])
{
  char *found = NULL;

  if (part[0]) (void)PetscStrstr(op->name, part, &found);
  return (PetscBool)(found != NULL);
}

/* How often an operation comes; 0 when it does not apply to the present matrix. */
static PetscInt OracleWeight(Oracle o, const OracleOperation *op, const char only[], const char prefer[])
{
  if ((only[0] && !OracleIsNamed(op, only)) || (op->square && !o->square) || (op->max_size && o->size > op->max_size)) return 0;
  return op->weight * (OracleIsNamed(op, prefer) ? 8 : 1);
}

/* Draws by weight among those that apply to the present matrix; NULL when none does. */
static const OracleOperation *OracleDraw(Oracle o, const char only[], const char prefer[])
{
  PetscInt total = 0, ticket;

  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tables); t++)
    for (const OracleOperation *op = tables[t]; op->name; op++) total += OracleWeight(o, op, only, prefer);
  if (total == 0) return NULL;
  ticket = OracleShared(o, total);
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tables); t++)
    for (const OracleOperation *op = tables[t]; op->name; op++) {
      ticket -= OracleWeight(o, op, only, prefer);
      if (ticket < 0) return op;
    }
  return NULL;
}

/* The matrix under test becomes one of the other type. */
static PetscErrorCode OracleChangeType(Oracle o)
{
  const char *type = o->type;

  PetscFunctionBegin;
  o->operation = "MatConvert() to the other type";
  o->type      = o->other;
  o->other     = type;
  PetscCall(MatConvert(o->B, o->type, MAT_INPLACE_MATRIX, &o->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operation; then a comparison that leaves the matrix where it is, and now and then the entries one by one. */
static PetscErrorCode OracleStep(Oracle o, const OracleOperation *op)
{
  PetscFunctionBegin;
  if (o->other && OracleFlip(o, 4)) PetscCall(OracleChangeType(o));
  if (OracleFlip(o, 8)) PetscCall(OracleChangeContext(o));
  o->operation = op->name;
  for (int k = 0; k < 2; k++) { /* whatever the last one left behind, new entries are welcome */
    PetscCall(MatSetOption(k ? o->B : o->A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(k ? o->B : o->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscCall(op->function(o));
  PetscCall(OracleUpdateNorm(o));
  PetscCall(OracleComparePattern(o, o->A, o->B));
  PetscCall(OracleCompareMult(o, o->A, o->B, o->norm));
  if (OracleFlip(o, 4) || o->every) PetscCall(OracleCompareMat(o, o->A, o->B, PETSC_TRUE, o->norm));
  if (o->norm > 1e4) OracleBoth(MatScale(o->A, 1 / o->norm), MatScale(o->B, 1 / o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *log_of_operations[LOG_LENGTH];

/* What repeats the sequence, and what was done last. */
static void OracleReport(Oracle o)
{
  PetscInt M = 0, N = 0;

  if (o->A != NULL) (void)MatGetSize(o->A, &M, &N);
  fprintf(stderr, "[%d] failed at step %d with -mat_type %s -seed %d, in %s, on a %d x %d matrix; the last operations, newest first:\n", o->rank, (int)o->step, o->type, (int)o->seed, o->operation,
          (int)M, (int)N);
  for (PetscInt k = o->step; k >= 0 && k > o->step - LOG_LENGTH; k--) fprintf(stderr, "[%d]   %s\n", o->rank, log_of_operations[k % LOG_LENGTH]);
}

/* A crash, or the end of the time: the seed is not lost. */
static PetscErrorCode OracleSignal(int signal, void *ctx)
{
  OracleReport((Oracle)ctx);
  return PetscSignalHandlerDefault(signal, NULL);
}

/* What -seed says, or another one each time, printed: what PETSc reports at the end, as memory that was not freed, comes after all that could tell it. */
static PetscErrorCode OracleGetSeed(Oracle o)
{
  struct timespec now; /* PetscTime() may begin with the program: seeds of a few thousand microseconds */
  PetscBool       set;

  PetscFunctionBegin;
  PetscCheck(clock_gettime(CLOCK_REALTIME, &now) == 0, PETSC_COMM_SELF, PETSC_ERR_SYS, "No clock to draw a seed from: give -seed");
  o->seed = (PetscInt)(((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000) % 1000000007);
  PetscCallMPI(MPI_Bcast(&o->seed, 1, MPIU_INT, 0, o->comm));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &o->seed, &set));
  if (!set) PetscCall(PetscPrintf(o->comm, "seed %" PetscInt_FMT "\n", o->seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the options say. */
typedef struct {
  char      type[128], other[128];  /* names of types; other: "" when there is none */
  char      only[128], prefer[128]; /* parts of names of operations; "": all, none */
  PetscInt  steps, life;            /* operations of a sequence, and of a matrix */
  PetscBool trace;
} Plan;

static PetscErrorCode OracleTrace(Oracle o)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(o->B, &bound));
  fprintf(stderr, "[%d] %d %s%s\n", o->rank, (int)o->step, o->operation, bound ? " (bound to the CPU)" : "");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operations that the seed of o says, from the first matrix to the last. */
static PetscErrorCode OracleRun(Oracle o, const Plan *plan)
{
  PetscFunctionBegin;
  o->type  = plan->type;
  o->other = plan->other[0] ? plan->other : NULL;
  o->state = o->fill = (uint64_t)o->seed << 32;
  for (o->step = 0; o->step < plan->steps; o->step++) {
    const OracleOperation *op   = NULL;
    PetscErrorCode         ierr = PETSC_SUCCESS;

    log_of_operations[o->step % LOG_LENGTH] = o->operation = "a new matrix";
    if (o->step % plan->life == 0) ierr = OracleCreateMatrices(o);
    if (ierr == PETSC_SUCCESS) op = OracleDraw(o, plan->only, plan->prefer);
    if (op != NULL) {
      log_of_operations[o->step % LOG_LENGTH] = o->operation = op->name;
      if (plan->trace) PetscCall(OracleTrace(o));
      ierr = OracleStep(o, op);
    }
    if (ierr) OracleReport(o);
    PetscCall(ierr);
  }
  PetscCall(MatDestroy(&o->A));
  PetscCall(MatDestroy(&o->B));
  PetscCall(OracleDestroyContexts());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt         sequences = 1;
  Plan             plan      = {"dcsrcuda", "", "", "", 200, 40, PETSC_FALSE};
  struct _n_Oracle oracle;
  Oracle           o = &oracle;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", plan.type, sizeof(plan.type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-other_type", plan.other, sizeof(plan.other), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", plan.only, sizeof(plan.only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-prefer", plan.prefer, sizeof(plan.prefer), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &plan.steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-sequences", &sequences, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-life", &plan.life, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-trace", &plan.trace, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-every", &o->every, NULL));
  o->comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_size(o->comm, &o->size));
  PetscCallMPI(MPI_Comm_rank(o->comm, &o->rank));
  PetscCall(OracleGetSeed(o));
  PetscCall(PetscPushSignalHandler(OracleSignal, o));
  for (PetscInt k = 0; k < sequences; k++, o->seed++) PetscCall(OracleRun(o, &plan));
  PetscCall(PetscPopSignalHandler());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: matrices.c compare.c values.c structure.c products.c access.c insertion.c blocks.c dense.c solves.c readers.c large.c device.c devicekernels.cu

   testset:
      output_file: output/empty.out
      timeoutfactor: 5
      test:
         suffix: 1
         args: -steps 1000 -seed {{1 2 3 4}}
      test:
         suffix: 2
         nsize: 2
         args: -steps 1000 -seed {{11 12 13}}
      test:
         suffix: 3
         nsize: 3
         args: -steps 1000 -seed {{21 22}}
      test:
         suffix: 8
         nsize: 8
         args: -steps 500 -seed {{31 32}}
      test:
         suffix: on_demand
         nsize: {{2 3}}
         args: -steps 600 -seed 141 -mat_dcsr_test_small_block 0 -mat_dcsr_test_hide_host {{0 1}}
      test:
         suffix: new_seed
         nsize: {{1 2 3}}
         args: -steps 600 -mat_type {{dcsrcuda hisparsecuda}}
         filter: awk "/^seed / {seed = \$0; next} {print; lines++} END {if (lines) print seed}"
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -steps 600 -seed 91 -mat_type hisparsecuda -mat_hisparse_format {{auto diagonals}}
      test:
         suffix: hisparse_mixed
         nsize: {{1 3}}
         args: -steps 600 -seed 101 -mat_type hisparsecuda -mat_hisparse_format diagonals -other_type dcsrcuda
      test:
         suffix: auto
         nsize: {{1 3}}
         args: -steps 600 -seed 121 -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch {{1 3}}
      test:
         suffix: auto_mixed
         nsize: {{1 3}}
         args: -steps 600 -seed 131 -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 2 -other_type {{dcsrcuda hisparsecuda}}
      test:
         suffix: insertion
         nsize: {{1 3 8}}
         args: -steps 400 -seed 41 -prefer insertion
      test:
         suffix: insertion_segments
         nsize: {{1 3}}
         args: -steps 400 -seed 51 -prefer insertion -mat_dcsr_defragment never -mat_dcsr_slack {{0.1 1}} -mat_dcsr_max_segments {{2 4}}
      test:
         suffix: insertion_always
         args: -steps 400 -seed 61 -prefer insertion -mat_dcsr_defragment always
      test:
         suffix: insertion_small_stage
         nsize: {{1 3}}
         args: -steps 400 -seed 71 -prefer insertion -mat_dcsr_stage_entries 5
      test:
         suffix: insertion_wide
         nsize: {{1 3}}
         args: -steps 400 -seed 81 -prefer insertion -mat_dcsr_test_wide_from 100 -mat_dcsr_defragment {{auto never}}

TEST*/
