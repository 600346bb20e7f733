static char help[] = "Times the explicit transpose, allocation included, and the renewal of its values, against cuSPARSE and the floor of their bytes, on matrices generated on the device.\n\
  -cases a,b,c : only these\n\
  -output file : result records as JSON Lines, appended\n\
  -commit id   : for the records\n\
  -methods     : also the time of the radix sort where a symmetric pattern makes it unnecessary (not recorded)\n\
  -samples n   : samples of one measurement at most\n";

#include "../common/benchmatrix.h"
#include "../common/benchrecord.h"
#include "../common/benchtime.h"
#include "../spmvt/spmvtcusparse.h"
#include "transposecheck.h"
#include <petscsparsecuda/transpose.h>

static const char *const names[] = {"3d27-200", "3d7-256", "2d5-4096", "rmat20", "uniform4m", "elast3-80", "band4", "tall", "wide"};

/* All that one case needs. */
typedef struct {
  BenchMatrix       matrix;
  BenchTimer        timer;
  BenchRecorder     recorder;
  cudaStream_t      stream;
  PetscReal         bandwidth; /* bytes a microsecond of a copy */
  PetscBool         methods;
  DCSRTransposeKind kind; /* of the calls that are measured */
  PetscBool         with_permutation;
  DCSRView          transpose;   /* for the renewal of its values */
  int32_t          *permutation; /* of this */
  PetscInt          failures;
} Bench;

static PetscErrorCode AllocateTranspose(Bench *b, DCSRView *T)
{
  const DCSRView A = b->matrix.view;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateCompact(A.num_columns, A.num_rows, A.num_nonzeros, PETSC_FALSE, b->stream, T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours, with all that it allocates; a BenchFn. */
static PetscErrorCode WholeRun(void *ctx, cudaStream_t stream)
{
  Bench   *b           = (Bench *)ctx;
  int32_t *permutation = NULL;
  DCSRView T;

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
  Bench       *b = (Bench *)ctx;
  DCSRView     T;
  SpMVTCsr2csc c;

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
  Bench *b = (Bench *)ctx;

  PetscFunctionBegin;
  PetscCall(DCSRTransposeNumeric(b->matrix.view, b->permutation, PETSC_FALSE, b->transpose.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareViews(Bench *b, const char what[], DCSRView T, DCSRView expected)
{
  PetscCount offsets, columns, values;

  PetscFunctionBegin;
  PetscCall(TransposeCountDifferences(T.row_offsets, expected.row_offsets, ((size_t)T.num_rows + 1) * sizeof(int32_t), b->stream, &offsets));
  PetscCall(TransposeCountDifferences(T.columns, expected.columns, (size_t)T.num_nonzeros * sizeof(int32_t), b->stream, &columns));
  PetscCall(TransposeCountDifferences(T.values, expected.values, (size_t)T.num_nonzeros * sizeof(PetscScalar), b->stream, &values));
  if (offsets + columns + values > 0) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "WRONG: %s on %s differs from cuSPARSE in %" PetscCount_FMT " row offsets, %" PetscCount_FMT " columns, %" PetscCount_FMT " words of values\n", what, b->matrix.name, offsets, columns, values));
    b->failures++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every method, and the renewal, against cuSPARSE's result; leaves ours and its permutation behind. */
static PetscErrorCode Check(Bench *b)
{
  static const char *const methods[] = {"auto", "sort"};
  const DCSRView           A         = b->matrix.view;
  DCSRView                 expected;
  SpMVTCsr2csc             c;

  PetscFunctionBegin;
  PetscCall(AllocateTranspose(b, &expected));
  PetscCall(AllocateTranspose(b, &b->transpose));
  PetscCall(PetscSparseCUDAMalloc(A.num_nonzeros, "permutation", b->stream, &b->permutation));
  PetscCall(SpMVTCsr2cscCreate(A, expected, CUSPARSE_ACTION_NUMERIC, b->stream, &c));
  PetscCall(SpMVTCsr2cscRun(&c, b->stream));
  PetscCall(SpMVTCsr2cscDestroy(&c, b->stream));
  for (int kind = DCSR_TRANSPOSE_AUTO; kind <= DCSR_TRANSPOSE_SORT; kind++) {
    for (int with = 0; with < 2; with++) {
      PetscCallCUDA(cudaMemsetAsync(b->transpose.values, -1, (size_t)A.num_nonzeros * sizeof(PetscScalar), b->stream));
      PetscCall(DCSRTransposeWith(A, (DCSRTransposeKind)kind, PETSC_FALSE, b->transpose, with ? b->permutation : NULL, b->stream));
      PetscCall(CompareViews(b, methods[kind], b->transpose, expected));
    }
  }
  PetscCallCUDA(cudaMemsetAsync(b->transpose.values, -1, (size_t)A.num_nonzeros * sizeof(PetscScalar), b->stream));
  PetscCall(ValuesRun(b, b->stream));
  PetscCall(CompareViews(b, "renewal", b->transpose, expected));
  PetscCall(DCSRViewFree(&expected, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Record(Bench *b, const char metric[], PetscReal ours, PetscReal best, PetscReal bound)
{
  PetscFunctionBegin;
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "%-12s %-18s ours %9.2f us  cuSPARSE %9.2f us  ratio %5.2f  floor %8.2f us  of floor %5.3f\n", b->matrix.name, metric, (double)ours, (double)best, (double)(best / ours), (double)bound, (double)(bound / ours)));
  PetscCall(BenchRecorderAdd(&b->recorder, b->matrix.name, metric, "us", ours, best, "cuSPARSE csr2csc", bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of A and its transpose. */
static PetscReal WholeBytes(DCSRView A)
{
  return 2.0 * (PetscReal)A.num_nonzeros * (sizeof(PetscScalar) + sizeof(int32_t)) + ((PetscReal)A.num_rows + A.num_columns + 2) * sizeof(int32_t);
}

/* The method that AUTO may not have taken. */
static PetscErrorCode Methods(Bench *b)
{
  PetscReal us;

  PetscFunctionBegin;
  b->kind = DCSR_TRANSPOSE_SORT;
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, WholeRun, b, &us));
  b->kind = DCSR_TRANSPOSE_AUTO;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-12s by the radix sort %9.2f us\n", b->matrix.name, (double)us));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(Bench *b, const char name[])
{
  PetscReal whole, with_permutation, values, best, best_run;

  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(name, b->stream, &b->matrix));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s; %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros\n", b->matrix.name, b->matrix.what, b->matrix.view.num_rows, b->matrix.view.num_columns, b->matrix.view.num_nonzeros));
  PetscCall(Check(b));
  b->kind             = DCSR_TRANSPOSE_AUTO;
  b->with_permutation = PETSC_FALSE;
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, WholeRun, b, &whole));
  if (b->methods) PetscCall(Methods(b));
  b->with_permutation = PETSC_TRUE;
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, WholeRun, b, &with_permutation));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, CusparseRun, b, &best));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, ValuesRun, b, &values));
  best_run = best; // cuSPARSE has no renewal: all is done again
  PetscCall(Record(b, "whole", whole, best, WholeBytes(b->matrix.view) / b->bandwidth));
  PetscCall(Record(b, "whole-permutation", with_permutation, best, (WholeBytes(b->matrix.view) + (PetscReal)b->matrix.view.num_nonzeros * sizeof(int32_t)) / b->bandwidth));
  PetscCall(Record(b, "values", values, best_run, 2.0 * (PetscReal)b->matrix.view.num_nonzeros * sizeof(PetscScalar) / b->bandwidth));
  PetscCall(DCSRViewFree(&b->transpose, b->stream));
  PetscCall(PetscSparseCUDAFree(&b->permutation, b->stream));
  PetscCall(BenchMatrixDestroy(&b->matrix, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  char      output[PETSC_MAX_PATH_LEN] = "", commit[64] = "";
  char     *chosen[64];
  PetscInt  num_chosen = PETSC_STATIC_ARRAY_LENGTH(chosen);
  PetscBool cases;
  Bench     b;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&b, sizeof(b)));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscSparseCUDAGetStream(&b.stream));
  PetscCall(BenchTimerCreate(b.stream, &b.timer));
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Explicit transpose benchmark", NULL);
  PetscCall(PetscOptionsString("-output", "File of result records", NULL, output, output, sizeof(output), NULL));
  PetscCall(PetscOptionsString("-commit", "Commit for the records", NULL, commit, commit, sizeof(commit), NULL));
  PetscCall(PetscOptionsBool("-methods", "Time each method", NULL, b.methods, &b.methods, NULL));
  PetscCall(PetscOptionsInt("-samples", "Samples of one measurement at most", NULL, b.timer.samples, &b.timer.samples, NULL));
  PetscCall(PetscOptionsStringArray("-cases", "Cases", NULL, chosen, &num_chosen, &cases));
  PetscOptionsEnd();
  PetscCall(BenchRecorderCreate("transpose", output, commit, &b.recorder));
  PetscCall(BenchTimerCopyBandwidth(&b.timer, &b.bandwidth));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, driver %s, CUDA %s, copy bandwidth %.3f TB/s\n", b.recorder.gpu, b.recorder.driver, b.recorder.cuda, (double)b.bandwidth * 1e-6));
  for (PetscInt i = 0; i < (cases ? num_chosen : (PetscInt)PETSC_STATIC_ARRAY_LENGTH(names)); i++) PetscCall(Case(&b, cases ? chosen[i] : names[i]));
  for (PetscInt i = 0; cases && i < num_chosen; i++) PetscCall(PetscFree(chosen[i]));
  PetscCall(BenchRecorderDestroy(&b.recorder));
  PetscCall(BenchTimerDestroy(&b.timer));
  PetscCheck(b.failures == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " wrong results", b.failures);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Run());
  PetscCall(PetscFinalize());
  return 0;
}
