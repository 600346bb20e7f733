static char help[] = "Times sums of sparse matrices against cuSPARSE csrgeam2 and the floor, on matrices generated on the device.\n\
  -cases a,b,c : only these\n\
  -output file : result records as JSON Lines, appended\n\
  -commit id   : for the records\n\
  -samples n   : samples of one measurement at most\n";

#include "../common/bench.h"
#include "../common/benchmatrix.h"
#include "spaddcusparse.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/spadd.h>

#define TOLERANCE 1e-12

/* The second summand. */
typedef enum {
  ITSELF,
  COPY, /* the same pattern in other memory */
  TRANSPOSED,
  DIAGONAL,
  MATRIX
} Second;

typedef struct {
  const char *name, *matrix;
  Second      second;
  const char *other; /* of MATRIX */
} Case;

static const Case cases[] = {
  {"add-3d27-128", "3d27-128", ITSELF, NULL},
  {"add-3d7-128", "3d7-128", ITSELF, NULL},
  {"add-rmat20", "rmat20", ITSELF, NULL},
  {"add-3d27-128-copy", "3d27-128", COPY, NULL},
  {"add-3d7-128-copy", "3d7-128", COPY, NULL},
  {"add-rmat20-copy", "rmat20", COPY, NULL},
  {"add-rmat20-t", "rmat20", TRANSPOSED, NULL},
  {"add-3d27-3d7-128", "3d27-128", MATRIX, "3d7-128"},
  {"add-3d7-3d27-128", "3d7-128", MATRIX, "3d27-128"},
  {"add-2d5-2d9-1024", "2d5-1024", MATRIX, "2d9-1024"},
  {"add-elast3-80", "elast3-80", ITSELF, NULL},
  {"add-elast3-80-diag", "elast3-80", DIAGONAL, NULL},
  {"add-3d7-64", "3d7-64", ITSELF, NULL},
  {"add-longrow-t", "longrow", TRANSPOSED, NULL},
  {"add-powerlaw-t", "powerlaw", TRANSPOSED, NULL},
  {"add-hypersparse", "hypersparse", ITSELF, NULL},
};

typedef struct {
  DCSRView    a, b, c; /* c: its arrays are owned */
  PetscScalar alpha, beta;
} Sum;

/* As MatAXPY() does it. */
static PetscErrorCode SumRun(void *ctx, cudaStream_t stream)
{
  Sum        *s = (Sum *)ctx;
  DCSRAddPlan plan;

  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&s->c, stream));
  PetscCall(DCSRAddPlanCreate(s->a, s->b, NULL, NULL, stream, &plan));
  PetscCall(DCSRAddPlanAllocate(&plan, s->a.num_rows, s->a.num_columns, stream, &s->c));
  PetscCall(DCSRAddFill(&plan, s->alpha, s->a, s->beta, s->b, s->c, stream));
  PetscCall(DCSRAddPlanDestroy(&plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C += beta B, whose pattern is part of C's: found out, and then in place. */
static PetscErrorCode SumRunUpdate(void *ctx, cudaStream_t stream)
{
  Sum        *s = (Sum *)ctx;
  DCSRAddPlan plan;

  PetscFunctionBegin;
  PetscCall(DCSRAddPlanCreate(s->c, s->b, NULL, NULL, stream, &plan));
  PetscCheck(plan.num_matched == s->b.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A summand is no part of its sum");
  PetscCall(DCSRAddUpdate(&plan, s->c, s->beta, s->b, stream));
  PetscCall(DCSRAddPlanDestroy(&plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours against cuSPARSE's, structure and values. */
static PetscErrorCode Check(Bench *b, const char name[], const char what[], DCSRView ours, DCSRView theirs)
{
  PetscScalar *bound;
  PetscReal    error = PETSC_INFINITY;
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(DCSRSamePattern(ours, theirs, b->stream, &same));
  if (same) {
    PetscCall(PetscSparseCUDAMalloc(ours.num_nonzeros, "bound", b->stream, &bound));
    PetscCall(BenchVectorSet(ours.num_nonzeros, 1.0, bound, b->stream));
    PetscCall(BenchCompare(ours.num_nonzeros, ours.values, theirs.values, (PetscReal *)bound, b->stream, &error));
    PetscCall(PetscSparseCUDAFree(&bound, b->stream));
  }
  if (error > TOLERANCE) PetscCall(BenchWrong(b, "%s, %s: %s", name, what, same ? "values" : "structure"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal ValueBytes(DCSRView view)
{
  return (PetscReal)view.num_nonzeros * (PetscReal)sizeof(PetscScalar);
}

static PetscReal ViewBytes(DCSRView view)
{
  return ValueBytes(view) + ((PetscReal)view.num_nonzeros + (PetscReal)view.num_rows) * (PetscReal)sizeof(int32_t);
}

/* A read, B unless it is A, and C written. */
static PetscReal Floor(const Bench *b, const Sum *s)
{
  return BenchFloor(b, ViewBytes(s->a) + (s->a.values != s->b.values ? ViewBytes(s->b) : 0), ViewBytes(s->c));
}

/* B and the columns of C read; values that B has an entry for read and written. */
static PetscReal UpdateFloor(const Bench *b, const Sum *s)
{
  return BenchFloor(b, ViewBytes(s->b) + (PetscReal)s->c.num_nonzeros * (PetscReal)sizeof(int32_t) + ValueBytes(s->b), ValueBytes(s->b));
}

/* The best time of the competitor, and whether our sum is its. */
static PetscErrorCode MeasureCusparse(Bench *b, const char name[], Sum *s, PetscReal *best, const char **which)
{
  const BenchCusparseLibrary *l;
  PetscInt                    n;

  PetscFunctionBegin;
  *best = PETSC_MAX_REAL;
  PetscCall(BenchCusparseGetLibraries(b->stream, &n, &l));
  for (; n > 0; n--, l++) {
    for (int spgeam = 0; spgeam < (l->SpGEAM ? 2 : 1); spgeam++) {
      SpAddCusparse c;
      PetscReal     us;

      PetscCall(SpAddCusparseCreate(l, (PetscBool)spgeam, s->alpha, s->a, s->beta, s->b, b->stream, &c));
      PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SpAddCusparseRun, &c, &us));
      PetscCall(SumRun(s, b->stream));
      PetscCall(Check(b, name, "sum", s->c, c.c));
      PetscCall(SpAddCusparseDestroy(&c, b->stream));
      if (us >= *best) continue;
      *best = us;
      PetscCall(BenchCusparseName(l, spgeam ? "SpGEAM" : "csrgeam2", which));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseRecords(Bench *b, const char name[], Sum *s)
{
  PetscReal   ours, best, update;
  const char *which;

  PetscFunctionBegin;
  PetscCall(MeasureCusparse(b, name, s, &best, &which));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SumRun, s, &ours));
  PetscCall(BenchRecord(b, name, "time", "us", ours, best, which, Floor(b, s)));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, SumRunUpdate, s, &update));
  PetscCall(BenchRecord(b, name, "time-update", "us", update, -1, NULL, UpdateFloor(b, s)));
  PetscCall(DCSRViewFree(&s->c, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *b, const Case *c)
{
  BenchMatrix first, other;
  Sum         s = {.alpha = 1.0, .beta = -0.5};

  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(c->matrix, b->stream, &first));
  s.a = s.b = first.view;
  if (c->second == COPY || c->second == MATRIX) {
    PetscCall(BenchMatrixCreate(c->second == MATRIX ? c->other : c->matrix, b->stream, &other));
    s.b = other.view;
  } else if (c->second == TRANSPOSED) PetscCall(BenchCreateTranspose(first.view, b->stream, &s.b));
  else if (c->second == DIAGONAL) PetscCall(DCSRViewCreateDiagonal(s.a.num_rows, s.a.num_columns, NULL, 3.0, b->stream, &s.b));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s, %" PetscCount_FMT " + %" PetscCount_FMT " nonzeros\n", c->name, first.what, s.a.num_nonzeros, s.b.num_nonzeros));
  PetscCall(CaseRecords(b, c->name, &s));
  if (c->second == COPY || c->second == MATRIX) PetscCall(BenchMatrixDestroy(&other, b->stream));
  else if (c->second != ITSELF) PetscCall(DCSRViewFree(&s.b, b->stream));
  PetscCall(BenchMatrixDestroy(&first, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench b = {.commit = "unknown"};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Sum benchmark", NULL);
  PetscCall(BenchOptions(&b, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(BenchOpen(&b, "spadd"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscBool wants;

    PetscCall(BenchWants(&b, cases[k].name, &wants));
    if (wants) PetscCall(RunCase(&b, &cases[k]));
  }
  PetscCall(BenchClose(&b));
  PetscCall(PetscFinalize());
  return 0;
}
