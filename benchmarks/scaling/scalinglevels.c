/*
  Where the time of a cycle of PCGAMG goes: each operation of each level alone, as PCMG calls it; and of the products, what the kernels take without the exchange of ghost values, and the exchange
  without the kernels.
*/
#include "scaling.h"
#include <src/mat/impls/aijcuda/parallel/parallel.h>

/* A level with vectors of its own. */
typedef struct {
  KSP smoother;      /* borrowed; of the coarsest level the solver */
  Mat A;             /* borrowed */
  Mat P;             /* borrowed: from the next coarser level; NULL on the coarsest one */
  Mat diagonal, off; /* borrowed: blocks of A; off NULL on one process */
  Vec x, b, r;
  Vec coarse;               /* of the next coarser level; NULL on the coarsest one */
  Vec own_x, own_b, ghosts; /* of the blocks */
} Level;

/* A row of the table of what is measured. */
typedef struct {
  const char *metric;
  const char *title; /* of the column, at most 9 characters */
  ScalingFn  *fn;
  PetscBool   kernel;   /* each process alone */
  PetscBool   parallel; /* of matrices on several processes */
  PetscBool   coarsest; /* of the coarsest level, too */
  PetscBool   finer;    /* of all others */
  PetscInt    calls;    /* in a cycle; 0: a part of others */
} Operation;

static PetscErrorCode MultLevel(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMult(l->A, l->x, l->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultDiagonal(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMult(l->diagonal, l->own_x, l->own_b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultOffDiagonal(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMultAdd(l->off, l->ghosts, l->own_b, l->own_b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Exchange(void *ctx)
{
  Level            *l = (Level *)ctx;
  const Mat_MPIAIJ *a = (const Mat_MPIAIJ *)l->A->data;

  PetscFunctionBegin;
  PetscCall(VecScatterBegin(a->Mvctx, l->x, a->lvec, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(a->Mvctx, l->x, a->lvec, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A smoother, or the solver of the coarsest level. */
static PetscErrorCode Solve(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(KSPSolve(l->smoother, l->b, l->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(MatResidual(l->A, l->b, l->x, l->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Restrict(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(MatRestrict(l->P, l->r, l->coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prolong(void *ctx)
{
  Level *l = (Level *)ctx;

  PetscFunctionBegin;
  PetscCall(MatInterpolateAdd(l->P, l->coarse, l->x, l->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Operation operations[] = {
  {"mult", "mult", MultLevel, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, 0},
  {"diagonal-block", "diagonal", MultDiagonal, PETSC_TRUE, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, 0},
  {"off-diagonal-block", "off-diag", MultOffDiagonal, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, 0},
  {"exchange", "exchange", Exchange, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, 0},
  {"residual", "residual", Residual, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1},
  {"restriction", "restrict", Restrict, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1},
  {"prolongation", "prolong", Prolong, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 1},
  {"smoother", "smoother", Solve, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 2},
  {"coarse-solve", "coarse", Solve, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, 1},
};

static PetscErrorCode LevelCreate(PC pc, PetscInt k, Level *l)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(l, 1));
  PetscCall(PCMGGetSmoother(pc, k, &l->smoother));
  PetscCall(KSPGetOperators(l->smoother, &l->A, NULL));
  PetscCall(MatCreateVecs(l->A, &l->x, &l->b));
  PetscCall(VecDuplicate(l->b, &l->r));
  PetscCall(VecSet(l->x, 1.0));
  PetscCall(VecSet(l->r, 1.0));
  if (k > 0) {
    PetscCall(PCMGGetInterpolation(pc, k, &l->P));
    PetscCall(MatCreateVecs(l->P, &l->coarse, NULL));
    PetscCall(VecSet(l->coarse, 1.0));
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)l->A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(l->A, &l->diagonal, &l->off, NULL));
  else l->diagonal = l->A;
  PetscCall(MatCreateVecs(l->diagonal, &l->own_x, &l->own_b));
  PetscCall(VecSet(l->own_x, 1.0));
  if (mpi) {
    PetscCall(MatCreateVecs(l->off, &l->ghosts, NULL));
    PetscCall(VecSet(l->ghosts, 1.0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LevelDestroy(Level *l)
{
  Vec *vectors[] = {&l->x, &l->b, &l->r, &l->coarse, &l->own_x, &l->own_b, &l->ghosts};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(vectors); k++) PetscCall(VecDestroy(vectors[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Records without a line for people: there is a table. */
static PetscErrorCode Record(Scaling *s, const char name[], const char metric[], const char unit[], PetscReal value)
{
  PetscFunctionBegin;
  if (s->rank == 0) PetscCall(BenchRecorderAdd(&s->bench->recorder, name, metric, unit, value, -1, NULL, PETSC_FALSE, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows, nonzeros, and processes that have rows. */
static PetscErrorCode DescribeLevel(Scaling *s, const char name[], Mat A)
{
  MatInfo  info;
  PetscInt N, m, active;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  active = m > 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &active, 1, MPIU_INT, MPI_SUM, s->comm));
  PetscCall(Record(s, name, "rows", "1", (PetscReal)N));
  PetscCall(Record(s, name, "nonzeros", "1", (PetscReal)info.nz_used));
  PetscCall(Record(s, name, "gpus-with-rows", "1", (PetscReal)active));
  PetscCall(PetscPrintf(s->comm, "%-22s%10" PetscInt_FMT "%12.0f%6" PetscInt_FMT, name, N, (double)info.nz_used, active));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All operations of a level; their time in a cycle in seconds. */
static PetscErrorCode MeasureLevel(Scaling *s, const char name[], Level *l, PetscReal *in_cycle)
{
  PetscFunctionBegin;
  *in_cycle = 0;
  PetscCall(DescribeLevel(s, name, l->A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operations); k++) {
    const Operation *o       = operations + k;
    PetscReal        seconds = -1;

    if ((l->off != NULL || !o->parallel) && (l->P != NULL ? o->finer : o->coarsest)) {
      if (o->kernel) PetscCall(ScalingMeasureKernel(s, o->fn, l, &seconds));
      else PetscCall(ScalingMeasure(s, o->fn, l, &seconds));
      PetscCall(Record(s, name, o->metric, "us", (PetscReal)1e6 * seconds));
      *in_cycle += (PetscReal)o->calls * seconds;
    }
    if (seconds >= 0) PetscCall(PetscPrintf(s->comm, "%10.1f", (double)(1e6 * seconds)));
    else PetscCall(PetscPrintf(s->comm, "%10s", "-"));
  }
  PetscCall(Record(s, name, "in-cycle", "us", (PetscReal)1e6 * *in_cycle));
  PetscCall(PetscPrintf(s->comm, "%10.1f\n", (double)(1e6 * *in_cycle)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PC  pc;
  Vec x, b;
} Cycle;

static PetscErrorCode ApplyCycle(void *ctx)
{
  Cycle *c = (Cycle *)ctx;

  PetscFunctionBegin;
  PetscCall(PCApply(c->pc, c->b, c->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureCycle(Scaling *s, PC pc, PetscReal *seconds)
{
  Cycle cycle = {pc, NULL, NULL};
  Mat   A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatCreateVecs(A, &cycle.x, &cycle.b));
  PetscCall(VecSet(cycle.b, 1.0));
  PetscCall(ScalingMeasure(s, ApplyCycle, &cycle, seconds));
  PetscCall(VecDestroy(&cycle.x));
  PetscCall(VecDestroy(&cycle.b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingMeasureLevels - see scaling.h. Level 0 is the finest, as in the cases gamg-l1, ...; times are microseconds of one call, those of the last column of one cycle */
PetscErrorCode ScalingMeasureLevels(Scaling *s, const char name[], PC pc)
{
  PetscInt  num_levels;
  PetscReal sum = 0, cycle, in_cycle;
  char      level_name[64];

  PetscFunctionBegin;
  PetscCall(PCMGGetLevels(pc, &num_levels));
  PetscCall(PetscPrintf(s->comm, "%-22s%10s%12s%6s", "us", "rows", "nonzeros", "gpus"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(operations); k++) PetscCall(PetscPrintf(s->comm, "%10s", operations[k].title));
  PetscCall(PetscPrintf(s->comm, "%10s\n", "in cycle"));
  for (PetscInt k = 0; k < num_levels; k++) {
    Level level;

    PetscCall(PetscSNPrintf(level_name, sizeof(level_name), "%s-level%" PetscInt_FMT, name, k));
    PetscCall(LevelCreate(pc, num_levels - 1 - k, &level));
    PetscCall(MeasureLevel(s, level_name, &level, &in_cycle));
    PetscCall(LevelDestroy(&level));
    sum += in_cycle;
  }
  PetscCall(MeasureCycle(s, pc, &cycle));
  PetscCall(Record(s, name, "cycle", "us", (PetscReal)1e6 * cycle));
  PetscCall(PetscPrintf(s->comm, "%s: a cycle takes %.1f us, its operations alone %.1f us\n", name, (double)(1e6 * cycle), (double)(1e6 * sum)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
