static char help[] = "Precisions of PCGAMG's cycles on generated systems, beside double precision: iterations, and systems that only double precision solves, which are an error.\n\
  -values name,...    : -pc_gamg_level_values; auto\n\
  -seed n             : other systems\n\
  -unknowns n         : about so many in each system; as drawn\n\
  -every n            : every n-th system\n\
  -only text          : systems whose names have it\n\
  -all                : a line for each, not only where something differs\n\
  -output file        : result records, appended\n\
  -commit id          : for the records\n\n";

/*
  Records: iterations with a precision beside those in double precision, and the bits of the finest level at the end. It runs on the host without a GPU, to see what double precision solves.
*/
#include "hardcompare.h"
#include "../common/bench.h"
#include <petscsparsecuda.h>

#define MAX_VALUES 8

/* What a precision came to, of the systems that double precision solves. */
typedef struct {
  PetscInt near, more, fewer, failed; /* within one iteration; others */
  PetscInt guarded[2];                /* guards asked for more bits: single, double precision at the end */
} Counts;

/* Options. */
static char     *values[MAX_VALUES];
static PetscInt  num_values = MAX_VALUES, seed, unknowns, every = 1;
static PetscBool all;

static void Count(const HardOutcome *full, const HardOutcome *o, Counts *c)
{
  if (!full->solved) return;
  if (!o->solved) c->failed++;
  else if (PetscAbsInt(o->its - full->its) <= 1) c->near++;
  else if (o->its > full->its) c->more++;
  else c->fewer++;
  if (o->guard != NULL) c->guarded[o->bits == 64]++;
}

static PetscErrorCode Print(const HardGenerated *g, PetscInt n, const char name[], const HardOutcome *full, const HardOutcome *o)
{
  const PetscBool differs = (PetscBool)(o->solved != full->solved || PetscAbsInt(o->its - full->its) > 1 || o->guard != NULL);

  PetscFunctionBegin;
  if (!all && !differs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-18s %7" PetscInt_FMT " %-6s %s  double %3" PetscInt_FMT " %.1e %s  %s %3" PetscInt_FMT " %.1e %s  %d bits%s%s%s\n", g->name, n, g->ksp_type,
                        g->mat_type[0] == 'd' ? "dcsr    " : "hisparse", full->its, (double)full->residual, full->end, name, o->its, (double)o->residual, o->end, o->bits, o->guard != NULL ? ", " : "",
                        o->guard != NULL ? o->guard : "", full->solved && !o->solved ? "  FAILED" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Record(Bench *bench, const HardGenerated *g, const char value[], const HardOutcome *full, const HardOutcome *o)
{
  char name[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s@%s", g->name, value));
  bench->recorder.failed = o->solved ? NULL : o->end;
  PetscCall(BenchRecorderAdd(&bench->recorder, name, "iterations", "1", o->solved ? (PetscReal)o->its : -1, full->solved ? (PetscReal)full->its : -1, "double", PETSC_FALSE, -1));
  bench->recorder.failed = NULL;
  PetscCall(BenchRecorderAdd(&bench->recorder, name, "bits", "bit", (PetscReal)o->bits, -1, NULL, PETSC_FALSE, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One system with all precisions; *solved: in double precision. */
static PetscErrorCode RunSystem(Bench *bench, const HardGenerated *g, Counts counts[], PetscBool *solved)
{
  HardOutcome full, o;
  PetscInt    n;
  Mat         A, P;
  Vec         b;

  PetscFunctionBegin;
  PetscCall(HardGeneratedCreate(PETSC_COMM_SELF, g, unknowns, &A, &P, &b));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(HardCompareSolve(g, A, P, b, "double", &full));
  *solved = full.solved;
  for (PetscInt k = 0; k < num_values; k++) {
    PetscCall(HardCompareSolve(g, A, P, b, values[k], &o));
    Count(&full, &o, &counts[k]);
    PetscCall(Print(g, n, values[k], &full, &o));
    PetscCall(Record(bench, g, values[k], &full, &o));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(Bench *bench)
{
  Counts         counts[MAX_VALUES];
  PetscInt       solved = 0;
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(counts, sizeof(counts)));
  PetscCall(PetscTime(&begin));
  for (PetscInt k = 0; k < HARD_NUM_GENERATED; k += every) {
    HardGenerated g;
    PetscBool     wants, is = PETSC_FALSE;

    PetscCall(HardGeneratedGet(seed, k, &g));
    PetscCall(BenchWants(bench, g.name, &wants));
    if (!wants) continue;
    PetscCall(RunSystem(bench, &g, counts, &is));
    solved += is;
  }
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " systems, of which double precision solves %" PetscInt_FMT "; %.0f s\n", bench->num_cases, solved, end - begin));
  for (PetscInt k = 0; k < num_values; k++) {
    const Counts *c = &counts[k];

    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%s: %" PetscInt_FMT " within one iteration, %" PetscInt_FMT " more, %" PetscInt_FMT " fewer; guards ended in single precision %" PetscInt_FMT ", in double %" PetscInt_FMT
                          "\n",
                          values[k], c->near, c->more, c->fewer, c->guarded[0], c->guarded[1]));
    if (c->failed > 0) PetscCall(BenchWrong(bench, "%s fails %" PetscInt_FMT " systems that double precision solves", values[k], c->failed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Bench *bench)
{
  PetscFunctionBegin;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Precisions of cycles", NULL);
  PetscCall(BenchOptions(bench, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(bench, PetscOptionsObject));
  PetscCall(PetscOptionsStringArray("-values", "Precisions", NULL, values, &num_values, NULL));
  PetscCall(PetscOptionsInt("-seed", "Other systems", NULL, seed, &seed, NULL));
  PetscCall(PetscOptionsInt("-unknowns", "In each system, about", NULL, unknowns, &unknowns, NULL));
  PetscCall(PetscOptionsBoundedInt("-every", "Every n-th system", NULL, every, &every, NULL, 1));
  PetscCall(PetscOptionsBool("-all", "A line for each", NULL, all, &all, NULL));
  PetscOptionsEnd();
  if (num_values == 0) PetscCall(PetscStrallocpy("auto", &values[num_values++]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     bench = {.quiet = PETSC_TRUE};
  PetscBool device;

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &bench));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ReadOptions(&bench));
  PetscCall(PetscSparseCUDADeviceUsable(&device));
  if (device) PetscCall(BenchRecorderCreate("hard-precision", bench.output, bench.commit, &bench.recorder));
  PetscCall(Run(&bench));
  PetscCall(BenchClose(&bench));
  for (PetscInt k = 0; k < num_values; k++) PetscCall(PetscFree(values[k]));
  PetscCall(PetscFinalize());
  return 0;
}
