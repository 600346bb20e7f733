static char help[] = "Times the explicit transpose, allocation included, and the renewal of its values, against cuSPARSE and the floor of their bytes, on matrices generated on the device.\n\
  -cases a,b,c : only these\n\
  -output file : result records as JSON Lines, appended\n\
  -commit id   : for the records\n\
  -methods     : also the time of the radix sort where a symmetric pattern makes it unnecessary (not recorded)\n\
  -samples n   : samples of one measurement at most\n";

#include "../common/bench.h"
#include "../common/benchmatrix.h"
#include "../spmvt/spmvtcusparse.h"
#include "transposecheck.h"
#include <petscsparsecuda/transpose.h>

static const char *const names[] = {"3d27-200", "3d7-256", "2d5-4096", "rmat20", "uniform4m", "elast3-80", "band4", "tall", "wide"};

/* All that one case needs. */
typedef struct {
  Bench             bench;
  BenchMatrix       matrix;
  PetscBool         methods;
  DCSRTransposeKind kind; /* of the calls that are measured */
  PetscBool         with_permutation;
  DCSRView          transpose;   /* for the renewal of its values */
  int32_t          *permutation; /* of this */
} TransposeBench;

static PetscErrorCode AllocateTranspose(TransposeBench *b, DCSRView *T)
{
  const DCSRView A = b->matrix.view;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(A.num_columns, A.num_rows, A.num_nonzeros, PETSC_FALSE, b->bench.stream, T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours, with all that it allocates; a BenchFn. */
static PetscErrorCode WholeRun(void *ctx, cudaStream_t stream)
{
  TransposeBench *b           = (TransposeBench *)ctx;
  int32_t        *permutation = NULL;
  DCSRView        T;

  PetscFunctionBegin;
  PetscCall(AllocateTranspose(b, &T));
  if (b->with_permutation) PetscCall(PetscSparseCUDAMalloc(T.num_nonzeros, "permutation", stream, &permutation));
  PetscCall(DCSRTransposeWith(b->matrix.view, b->kind, PETSC_FALSE, T, permutation, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscCall(DCSRViewFree(&T, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuSPARSE's, with the transpose and the buffer that it allocates; a BenchFn. */
static PetscErrorCode CusparseRun(void *ctx, cudaStream_t stream)
{
  TransposeBench *b = (TransposeBench *)ctx;
  DCSRView        T;
  SpMVTCsr2csc    c;

  PetscFunctionBegin;
  PetscCall(AllocateTranspose(b, &T));
  PetscCall(SpMVTCsr2cscCreate(b->matrix.view, T, CUSPARSE_ACTION_NUMERIC, stream, &c));
  PetscCall(SpMVTCsr2cscRun(&c, stream));
  PetscCall(SpMVTCsr2cscDestroy(&c, stream));
  PetscCall(DCSRViewFree(&T, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesRun(void *ctx, cudaStream_t stream)
{
  TransposeBench *b = (TransposeBench *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRTransposeNumeric(b->matrix.view, b->permutation, PETSC_FALSE, b->transpose.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareViews(TransposeBench *b, const char what[], DCSRView T, DCSRView expected)
{
  PetscCount offsets, columns, values;

  PetscFunctionBegin;
  PetscCall(TransposeCountDifferences(T.row_offsets, expected.row_offsets, ((size_t)T.num_rows + 1) * sizeof(int32_t), b->bench.stream, &offsets));
  PetscCall(TransposeCountDifferences(T.columns, expected.columns, (size_t)T.num_nonzeros * sizeof(int32_t), b->bench.stream, &columns));
  PetscCall(TransposeCountDifferences(T.values, expected.values, (size_t)T.num_nonzeros * sizeof(PetscScalar), b->bench.stream, &values));
  if (offsets + columns + values > 0)
    PetscCall(BenchWrong(&b->bench, "%s on %s differs from cuSPARSE in %" PetscCount_FMT " row offsets, %" PetscCount_FMT " columns, %" PetscCount_FMT " words of values", what, b->matrix.name,
                         offsets, columns, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every method, and the renewal, against cuSPARSE's result; leaves ours and its permutation behind. */
static PetscErrorCode Check(TransposeBench *b)
{
  static const char *const methods[] = {"auto", "sort"};
  const DCSRView           A         = b->matrix.view;
  DCSRView                 expected;
  SpMVTCsr2csc             c;

  PetscFunctionBegin;
  PetscCall(AllocateTranspose(b, &expected));
  PetscCall(AllocateTranspose(b, &b->transpose));
  PetscCall(PetscSparseCUDAMalloc(A.num_nonzeros, "permutation", b->bench.stream, &b->permutation));
  PetscCall(SpMVTCsr2cscCreate(A, expected, CUSPARSE_ACTION_NUMERIC, b->bench.stream, &c));
  PetscCall(SpMVTCsr2cscRun(&c, b->bench.stream));
  PetscCall(SpMVTCsr2cscDestroy(&c, b->bench.stream));
  for (int kind = DCSR_TRANSPOSE_AUTO; kind <= DCSR_TRANSPOSE_SORT; kind++) {
    for (int with = 0; with < 2; with++) {
      PetscCallCUDA(cudaMemsetAsync(b->transpose.values, -1, (size_t)A.num_nonzeros * sizeof(PetscScalar), b->bench.stream));
      PetscCall(DCSRTransposeWith(A, (DCSRTransposeKind)kind, PETSC_FALSE, b->transpose, with ? b->permutation : NULL, b->bench.stream));
      PetscCall(CompareViews(b, methods[kind], b->transpose, expected));
    }
  }
  PetscCallCUDA(cudaMemsetAsync(b->transpose.values, -1, (size_t)A.num_nonzeros * sizeof(PetscScalar), b->bench.stream));
  PetscCall(ValuesRun(b, b->bench.stream));
  PetscCall(CompareViews(b, "renewal", b->transpose, expected));
  PetscCall(DCSRViewFree(&expected, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Record(TransposeBench *b, const char metric[], PetscReal ours, PetscReal best, PetscReal bound)
{
  PetscFunctionBegin;
  PetscCall(BenchRecord(&b->bench, b->matrix.name, metric, "us", ours, best, "cuSPARSE csr2csc", bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A read, its transpose written, and so many bytes of a permutation for each nonzero. */
static PetscReal WholeFloor(const TransposeBench *b, size_t permutation)
{
  const DCSRView  A      = b->matrix.view;
  const PetscReal matrix = (PetscReal)A.num_nonzeros * (PetscReal)(sizeof(PetscScalar) + sizeof(int32_t));

  return BenchFloor(&b->bench, matrix + ((PetscReal)A.num_rows + 1) * sizeof(int32_t), matrix + ((PetscReal)A.num_columns + 1) * sizeof(int32_t) + (PetscReal)A.num_nonzeros * (PetscReal)permutation);
}

/* The method that AUTO may not have taken. */
static PetscErrorCode Methods(TransposeBench *b)
{
  PetscReal us;

  PetscFunctionBegin;
  b->kind = DCSR_TRANSPOSE_SORT;
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, WholeRun, b, &us));
  b->kind = DCSR_TRANSPOSE_AUTO;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-12s by the radix sort %9.2f us\n", b->matrix.name, (double)us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(TransposeBench *b, const char name[])
{
  PetscReal whole, with_permutation, values, best, best_run, bytes;

  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(name, b->bench.stream, &b->matrix));
  PetscCall(BenchMatrixPrint(&b->matrix));
  PetscCall(Check(b));
  b->kind             = DCSR_TRANSPOSE_AUTO;
  b->with_permutation = PETSC_FALSE;
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, WholeRun, b, &whole));
  if (b->methods) PetscCall(Methods(b));
  b->with_permutation = PETSC_TRUE;
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, WholeRun, b, &with_permutation));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, CusparseRun, b, &best));
  PetscCall(BenchTimerMeasure(&b->bench.timer, PETSC_TRUE, ValuesRun, b, &values));
  best_run = best; // cuSPARSE has no renewal: all is done again
  bytes    = (PetscReal)b->matrix.view.num_nonzeros * (PetscReal)sizeof(PetscScalar);
  PetscCall(Record(b, "whole", whole, best, WholeFloor(b, 0)));
  PetscCall(Record(b, "whole-permutation", with_permutation, best, WholeFloor(b, sizeof(int32_t))));
  PetscCall(Record(b, "values", values, best_run, BenchFloor(&b->bench, bytes, bytes)));
  PetscCall(DCSRViewFree(&b->transpose, b->bench.stream));
  PetscCall(PetscSparseCUDAFree(&b->permutation, b->bench.stream));
  PetscCall(BenchMatrixDestroy(&b->matrix, b->bench.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const *cases = names;
  PetscInt           n     = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(names);
  TransposeBench     b     = {.methods = PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b.bench));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Explicit transpose benchmark", NULL);
  PetscCall(BenchOptions(&b.bench, PetscOptionsObject));
  PetscCall(BenchOptionsCases(&b.bench, PetscOptionsObject));
  PetscCall(PetscOptionsBool("-methods", "Time each method", NULL, b.methods, &b.methods, NULL));
  PetscOptionsEnd();
  PetscCall(BenchOpen(&b.bench, "transpose"));
  PetscCall(BenchGetCases(&b.bench, &n, &cases));
  for (PetscInt i = 0; i < n; i++) PetscCall(Case(&b, cases[i]));
  PetscCall(BenchClose(&b.bench));
  PetscCall(PetscFinalize());
  return 0;
}
