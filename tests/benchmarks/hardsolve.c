static char help[] = "What the benchmark hard does with one configuration: figures of one that works, the reason of one that does not, and nothing that the next one would see.\n\n";

#include "hard/hardgrid.h"
#include "hard/hardsolve.h"
#include "hard/hardsystem.h"
#include "hard/hardelasticity.h"
#include "hard/hardelements.h"
#include "hard/hardvolumes.h"
#include "common/benchmemory.h"
#include <petscsparsecuda/sys.h>
#include <petscsparsecuda.h>

#define UNKNOWNS 3000
#define SMALL    700

static HardLimits limits = {PETSC_FALSE, {3, 3}, 500, 100};

typedef struct {
  HardProblem problem, small;
  Mat         A;
  Vec         x, y;
} Case;

static PetscErrorCode CaseCreate(const char name[], MatType type, Case *c)
{
  const HardSystem *system;

  PetscFunctionBegin;
  PetscCall(HardSystemFind(name, &system));
  PetscCall(HardProblemCreate(PETSC_COMM_SELF, system, UNKNOWNS, &c->problem));
  PetscCall(HardProblemCreate(PETSC_COMM_SELF, system, SMALL, &c->small));
  PetscCall(HardProblemCreateMat(&c->problem, type, &c->A));
  PetscCall(MatCreateVecs(c->A, &c->x, &c->y));
  PetscCall(HardProblemSetRandom(&c->problem, c->x));
  PetscCall(MatMult(c->A, c->x, c->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(HardProblemDestroy(&c->problem));
  PetscCall(HardProblemDestroy(&c->small));
  PetscCall(MatDestroy(&c->A));
  PetscCall(VecDestroy(&c->x));
  PetscCall(VecDestroy(&c->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix has its values again, and the options are gone. */
static PetscErrorCode Measure(Case *c, const HardLimits *l, const char options[], HardResult *result)
{
  MatType           type;
  HardConfiguration configuration = {.name = "test", .where = HARD_ANY, .options = options};
  const char       *tune;
  PetscBool         left, same;
  Vec               z;

  PetscFunctionBegin;
  PetscCall(MatGetType(c->A, &type));
  configuration.type = type;
  PetscCall(PetscStrstr(options, "tune", (char **)&tune));
  configuration.tunes = (PetscBool)(tune != NULL);
  PetscCall(HardMeasure(l, &c->problem, &c->small, c->A, &configuration, result));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_type", &left));
  PetscCheck(!left, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Options of a configuration are left");
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_gamg_agg_nsmooths", &left));
  PetscCheck(!left, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Options that a search found are left");
  PetscCall(VecDuplicate(c->y, &z));
  PetscCall(MatMult(c->A, c->x, z));
  PetscCall(VecEqual(c->y, z, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the matrix has other values after \"%s\"", c->problem.system->name, options);
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver that converges, in single precision, too. */
static const char *WorkingOptions(const Case *c)
{
  return HardSystemIsSymmetric(c->problem.system) ? "-pc_type gamg -pc_gamg_coarse_eq_limit 100" : "-pc_type jacobi";
}

static PetscErrorCode CheckWorks(Case *c)
{
  const PetscBool symmetric = HardSystemIsSymmetric(c->problem.system);
  HardResult      r;

  PetscFunctionBegin;
  PetscCall(Measure(c, &limits, WorkingOptions(c), &r));
  PetscCheck(!r.failed[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s failed: %s", c->problem.system->name, r.failed);
  PetscCheck(r.value[HARD_WHOLE] > 0 && r.value[HARD_STEP] > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no times", c->problem.system->name);
  PetscCheck(r.value[HARD_ITERATIONS] > 0 && (symmetric || (PetscInt)r.value[HARD_ITERATIONS] % 2 == 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g cycles", c->problem.system->name,
             (double)r.value[HARD_ITERATIONS]);
  PetscCheck(symmetric ? r.value[HARD_COMPLEXITY] > 1 && r.value[HARD_COMPLEXITY] < 3 : r.value[HARD_COMPLEXITY] == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: complexity %g", c->problem.system->name,
             (double)r.value[HARD_COMPLEXITY]);
  PetscCheck(r.residual > 0 && r.residual < (PetscReal)1e-3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: residual %g", c->problem.system->name, (double)r.residual);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a search finds is measured in its place. */
static PetscErrorCode CheckTunes(Case *c)
{
  const char *position;
  HardResult  r;

  PetscFunctionBegin;
  PetscCall(Measure(c, &limits, "-pc_type gamg -pc_gamg_tune 100", &r));
  PetscCall(PetscStrstr(r.tuned, "-pc_gamg_agg_nsmooths", (char **)&position));
  PetscCheck(!r.failed[0] && position != NULL && r.value[HARD_SEARCH] > 0 && r.value[HARD_WHOLE] > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: found \"%s\" in %g s, failed: %s", c->problem.system->name,
             r.tuned, (double)r.value[HARD_SEARCH], r.failed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFails(Case *c, const HardLimits *l, const char options[], const char reason[])
{
  HardResult r;
  PetscBool  begins;

  PetscFunctionBegin;
  PetscCall(Measure(c, l, options, &r));
  PetscCall(PetscStrbeginswith(r.failed, reason, &begins));
  PetscCheck(begins, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s with \"%s\" says: %s", c->problem.system->name, options, r.failed);
  PetscCheck(r.value[HARD_WHOLE] == -1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "What failed has a time");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All settings of a grid are different, and those that are tried work. */
static PetscErrorCode CheckGrid(Case *c)
{
  const HardWhere where = HardSystemWhere(c->problem.system);
  const int       n     = HardGridSize(where);
  char(*all)[512], options[600];
  PetscBool  same;
  HardResult r;

  PetscFunctionBegin;
  PetscCheck(n > 50, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A grid of %d", n);
  PetscCall(PetscMalloc1(n, &all));
  for (int k = 0; k < n; k++) {
    PetscCall(HardGridGet(where, k, sizeof(*all), all[k]));
    for (int j = 0; j < k; j++) {
      PetscCall(PetscStrcmp(all[j], all[k], &same));
      PetscCheck(!same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Settings %d and %d are both %s", j, k, all[k]);
    }
  }
  for (int k = 0; k < n; k += n / 4) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_type gamg %s", all[k]));
    PetscCall(Measure(c, &limits, options, &r));
    PetscCheck(!r.failed[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s with %s: %s", c->problem.system->name, options, r.failed);
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const names[]  = {"checkerboard-8-1e4", "elasticity-beam", "convection-10"};
  char                     type[64] = MATAIJ;
  HardLimits               few, short_time;
  Case                     c;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscSparseCUDADeviceUsable(&limits.device));
  few                    = limits;
  few.max_cycles         = 4;
  short_time             = limits;
  short_time.max_seconds = 0;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
    PetscCall(CaseCreate(names[k], type, &c));
    PetscCall(CheckFails(&c, &few, "-pc_type jacobi", HardSystemIsSymmetric(c.problem.system) ? "DIVERGED_ITS after 4" : "DIVERGED_ITS after 2"));
    PetscCall(CheckFails(&c, &limits, "-pc_type lu -pc_factor_mat_solver_type none_such", "error 92: "));
    PetscCall(CheckFails(&c, &short_time, WorkingOptions(&c), "setup and solve took"));
    PetscCall(CheckWorks(&c));
    PetscCall(CheckTunes(&c));
    PetscCall(CheckGrid(&c));
    PetscCall(CaseDestroy(&c));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      test:
         suffix: host
      test:
         suffix: device
         requires: cuda
         args: -type {{dcsrcuda hisparsecuda}} -use_gpu_aware_mpi 0

TEST*/
