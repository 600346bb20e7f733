/*
  What a cycle of PCGAMG multiplies with: operators of levels with a step of a smoother, prolongators added to a vector, transposes of prolongators. For the 27-point problem, every configuration of
  every kernel, a line each for the sweep's reader.
*/
#include "levels.h"
#include "../../src/mat/impls/aijcuda/core/core.h"
#include "../../src/mat/kernels/spmv/spmvimpl.h"
#include "../../tests/lib/sweeps.h"
#include "../common/benchproduct.h"
#include <petscksp.h>
#include <petscsparsecuda.h>
#include <petscsparsecuda/entries.h>

/* What is done with the product. */
typedef enum {
  LEVEL_STEP,     /* y = alpha d (b - A x) + beta x + gamma q */
  LEVEL_ADD,      /* y = A x + y */
  LEVEL_TRANSPOSE /* y = A x */
} LevelWork;

typedef struct {
  LevelWork        work;
  int              precision; /* SPMV_VALUES_* */
  DCSRSpMVPlan     plan;
  DCSRView         view;
  void            *single; /* the values in single precision */
  PetscScalar     *x, *y, *d, *b, *q;
  DCSRSpMVEpilogue epilogue;
} LevelProduct;

static PetscErrorCode Run(void *ctx, cudaStream_t stream)
{
  LevelProduct      *p      = (LevelProduct *)ctx;
  const PetscBool    single = (PetscBool)(p->precision == SPMV_VALUES_SINGLE);
  const PetscScalar *z      = p->work == LEVEL_ADD ? p->y : NULL;
  PetscBool          done   = PETSC_TRUE;

  PetscFunctionBegin;
  if (p->work == LEVEL_STEP && single) PetscCall(DCSRSpMVApplyEpilogueSingle(p->plan, p->view, p->single, p->x, &p->epilogue, p->y, stream, &done));
  else if (p->work == LEVEL_STEP) PetscCall(DCSRSpMVApplyEpilogue(p->plan, p->view, p->x, &p->epilogue, p->y, stream, &done));
  else if (single) PetscCall(DCSRSpMVApplySingle(p->plan, p->view, p->single, p->x, z, p->y, stream));
  else PetscCall(DCSRSpMVApply(p->plan, p->view, p->x, z, p->y, stream));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The kernel has no epilogue");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductCreate(DCSRView view, LevelWork work, PetscBool single, cudaStream_t stream, LevelProduct *p)
{
  const PetscInt m = view.num_rows;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->work      = work;
  p->precision = single ? SPMV_VALUES_SINGLE : SPMV_VALUES_SCALAR;
  p->view      = view;
  PetscCall(BenchVectorCreate(view.num_columns, 2, stream, &p->x));
  PetscCall(BenchVectorCreate(m, 3, stream, &p->y));
  PetscCall(BenchVectorCreate(m, 4, stream, &p->d));
  PetscCall(BenchVectorCreate(m, 5, stream, &p->b));
  PetscCall(BenchVectorCreate(m, 6, stream, &p->q));
  if (single) {
    PetscCall(PetscSparseCUDAMalloc_Private((size_t)view.num_nonzeros * sizeof(PetscScalar) / 2, "values in single precision", stream, &p->single));
    PetscCall(DCSRRoundValues(view.num_nonzeros, view.values, p->single, stream));
  }
  p->epilogue = (DCSRSpMVEpilogue){0.5, p->d, p->b, work == LEVEL_STEP ? 1.25 : 0.0, -0.25, p->q};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductDestroy(LevelProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&p->x, stream));
  PetscCall(PetscSparseCUDAFree(&p->y, stream));
  PetscCall(PetscSparseCUDAFree(&p->d, stream));
  PetscCall(PetscSparseCUDAFree(&p->b, stream));
  PetscCall(PetscSparseCUDAFree(&p->q, stream));
  PetscCall(PetscSparseCUDAFree(&p->single, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All bytes that have to come from memory or go there, with 16 or 8 bytes a nonzero less columns. */
static PetscReal Floor(const Bench *bench, const LevelProduct *p)
{
  const PetscReal value = p->precision == SPMV_VALUES_SINGLE ? 0.5 * sizeof(PetscScalar) : sizeof(PetscScalar), m = (PetscReal)p->view.num_rows, n = (PetscReal)p->view.num_columns;
  PetscReal       read = (value + sizeof(int32_t)) * (PetscReal)p->view.num_nonzeros + sizeof(int32_t) * m + sizeof(PetscScalar) * n;

  if (p->work == LEVEL_STEP) read += 3.0 * sizeof(PetscScalar) * m;
  if (p->work == LEVEL_ADD) read += sizeof(PetscScalar) * m;
  return BenchFloor(bench, read, sizeof(PetscScalar) * m);
}

static PetscErrorCode Measure(Bench *bench, const char name[], LevelProduct *p, const char what[], PetscReal *us)
{
  const SpMVConfig c = p->plan->config;

  PetscFunctionBegin;
  PetscCall(BenchTimerMeasure(&bench->timer, PETSC_TRUE, Run, p, us));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s %-12s %s %-6s lanes %2d threads %3d items %2d vec %d load %d resident %4d  cold %9.2f us  of floor %5.3f\n", what, name,
                        p->precision == SPMV_VALUES_SINGLE ? "single" : "double", DCSRSpMVKinds[c.kind], c.lanes, c.threads, c.items, c.vec, c.load, c.resident, (double)*us,
                        (double)(Floor(bench, p) / *us)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rule's choice first. */
static PetscErrorCode SweepMatrix(Bench *bench, const char name[], DCSRView view, LevelWork work, PetscBool single)
{
  LevelProduct p;
  DCSRFacts    facts;
  PetscReal    us;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(ProductCreate(view, work, single, bench->stream, &p));
  PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, bench->stream, &p.plan));
  PetscCall(DCSRSpMVPlanGetInfo(p.plan, NULL, &facts, NULL, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros, at most %" PetscCount_FMT " a row\n", name, (PetscInt)view.num_rows,
                        (PetscInt)view.num_columns, view.num_nonzeros, (PetscCount)facts.max_row_size));
  PetscCall(Measure(bench, name, &p, "rule ", &us));
  PetscCall(DCSRSpMVPlanDestroy(&p.plan, bench->stream));
  PetscCall(SpMVConfigGetCount(&n));
  for (PetscInt i = 0; i < n; i++) {
    SpMVConfig c;
    PetscBool  has;

    PetscCall(SpMVConfigGet(i, &c));
    PetscCall(DCSRSpMVPlanCreateWithConfig(view, &c, bench->stream, &p.plan));
    has = (PetscBool)((work == LEVEL_STEP ? p.plan->entry->launch_epilogue[p.precision] != NULL : p.plan->entry->launch[p.precision] != NULL));
    if (has) PetscCall(Measure(bench, name, &p, "sweep", &us));
    PetscCall(DCSRSpMVPlanDestroy(&p.plan, bench->stream));
  }
  PetscCall(ProductDestroy(&p, bench->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph Laplacian of 27 points, and ones on the diagonal more at the boundary. */
static PetscErrorCode CreateOperator(PetscInt n, cudaStream_t stream, Mat *A)
{
  BenchMatrix matrix;
  char        name[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "3d27-%" PetscInt_FMT, n));
  PetscCall(BenchMatrixCreate(name, stream, &matrix));
  PetscCall(BenchVectorSet(matrix.view.num_nonzeros, -1.0, (PetscScalar *)matrix.view.values, stream));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, matrix.view.num_rows, matrix.view.num_columns, matrix.view.num_rows, matrix.view.num_columns));
  PetscCall(MatSetType(*A, MATSEQAIJDCSRCUDA));
  PetscCall(MatSeqAIJCUDASetDeviceMatrix(*A, &matrix.view)); // which owns the arrays now
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatShift(*A, 27.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SweepLevel(Bench *bench, PC pc, PetscInt level, PetscInt distance, PetscBool single)
{
  DCSRView transpose;
  Mat      A, P, interpolation;
  KSP      smoother;
  char     name[32];

  PetscFunctionBegin;
  PetscCall(PCMGGetSmoother(pc, level, &smoother));
  PetscCall(KSPGetOperators(smoother, &A, &P));
  PetscCall(PetscSNPrintf(name, sizeof(name), "l%" PetscInt_FMT "-step", distance));
  PetscCall(SweepMatrix(bench, name, MatSeqAIJCUDAGet(A)->device.view, LEVEL_STEP, single));
  PetscCall(PCMGGetInterpolation(pc, level, &interpolation));
  PetscCall(PetscSNPrintf(name, sizeof(name), "p%" PetscInt_FMT "-add", distance));
  PetscCall(SweepMatrix(bench, name, MatSeqAIJCUDAGet(interpolation)->device.view, LEVEL_ADD, single));
  PetscCall(BenchCreateTranspose(MatSeqAIJCUDAGet(interpolation)->device.view, bench->stream, &transpose));
  PetscCall(PetscSNPrintf(name, sizeof(name), "p%" PetscInt_FMT "-transpose", distance));
  PetscCall(SweepMatrix(bench, name, transpose, LEVEL_TRANSPOSE, single));
  PetscCall(DCSRViewFree(&transpose, bench->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  LevelsSweep - The time of every configuration on the matrices of the two finest levels of PCGAMG's defaults

  Input Parameters:
+ bench  - the bench
. n      - points in a direction: one of the cases 3d27-n
- single - values in single precision
*/
PetscErrorCode LevelsSweep(Bench *bench, PetscInt n, PetscBool single)
{
  PetscInt num_levels;
  KSP      ksp;
  PC       pc;
  Mat      A;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(CreateOperator(n, bench->stream, &A));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCMGGetLevels(pc, &num_levels));
  for (PetscInt k = 0; k < 2 && k < num_levels - 1; k++) PetscCall(SweepLevel(bench, pc, num_levels - 1 - k, k, single));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
