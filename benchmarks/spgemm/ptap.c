static char help[] = "Times MatPtAP() with smoothed prolongators of aggregates of 3 points in every direction: with the intermediate product, in slices without it, and by blocks.\n\
  -only name       : only cases whose name contains it\n\
  -output file     : result records as JSON Lines, appended\n\
  -commit id       : for the records\n\
  -repetitions n   : of each measurement\n";

/*
  Times are those of a program: from the call until the device is done; medians after a repetition that warms up. Memory is the most that the library held at any time
  of the first product, without the operands. Slices are compared with the product that has none, bit for bit.
*/

#include "../common/bench.h"
#include "spgemmbench.h"
#include "../../tests/lib/sys.h"
#include <src/mat/impls/aijcuda/core/core.h>
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/spgemm.h>
#include <petscsparsecuda.h>

typedef struct {
  const char *name;           /* of the matrix */
  PetscInt    n;              /* points in every direction */
  int         block, columns; /* unknowns of a point, and columns of P of an aggregate: 3 and 6 rigid body modes */
} Grid;

static const Grid     grids[]  = {{"3d7-128", 128, 1, 1}, {"3d27-128", 128, 1, 1}, {"3d7-256", 256, 1, 1}, {"elast3-40", 40, 3, 6}, {"elast3-100", 100, 3, 6}};
static const PetscInt slices[] = {1, 2, 4, 8, 16};

/* What one number of slices took. */
typedef struct {
  PetscReal time, numeric, memory; /* us, us, MB */
} Figures;

/* Time of one call, in microseconds. */
static PetscErrorCode Call(Mat A, Mat P, MatReuse reuse, Mat *C, PetscReal *us)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(BenchNow(&begin));
  PetscCall(MatPtAP(A, P, reuse, PETSC_DETERMINE, C));
  PetscCall(BenchNow(&end));
  *us = (PetscReal)(end - begin) * 1e6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first product, whose memory is measured; C is kept. */
static PetscErrorCode MeasureMemory(Bench *b, Mat A, Mat P, Mat *C, PetscReal *megabytes)
{
  size_t    before, now, peak;
  PetscReal us;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(b->stream));
  PetscCall(PetscSparseCUDATestResetPeak());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(Call(A, P, MAT_INITIAL_MATRIX, C, &us));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  *megabytes = (PetscReal)(peak - before) * 1e-6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(Bench *b, Mat A, Mat P, PetscInt num_slices, Mat *C, Figures *f)
{
  PetscReal samples[2][BENCH_MAX_REPETITIONS];

  PetscFunctionBegin;
  MatSeqAIJCUDAGet(A)->options.product_slices = num_slices;
  PetscCall(MeasureMemory(b, A, P, C, &f->memory));
  for (PetscInt r = 0; r < b->repetitions; r++) {
    Mat D;

    PetscCall(Call(A, P, MAT_INITIAL_MATRIX, &D, &samples[0][r]));
    PetscCall(PetscObjectStateIncrease((PetscObject)A)); // its values count as new
    PetscCall(Call(A, P, MAT_REUSE_MATRIX, &D, &samples[1][r]));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(BenchMedian(b->repetitions, samples[0], &f->time));
  PetscCall(BenchMedian(b->repetitions, samples[1], &f->numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside those of the other way, if there are any. */
static PetscErrorCode Record(Bench *b, const char name[], const Figures *f, const Figures *other, const char way[])
{
  if (other->time < 0) way = NULL;
  PetscFunctionBegin;
  PetscCall(BenchRecord(b, name, "time", "us", f->time, other->time, way, -1));
  PetscCall(BenchRecord(b, name, "numeric", "us", f->numeric, other->numeric, way, -1));
  PetscCall(BenchRecord(b, name, "memory", "MB", f->memory, other->memory, way, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both ways give the same bits. */
static PetscErrorCode Compare(Bench *b, const char name[], Mat C, Mat D)
{
  PetscReal error;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(SpGEMMBenchCompare(MatSeqAIJCUDAGet(C)->device.view, MatSeqAIJCUDAGet(D)->device.view, b->stream, &same, &error));
  if (!same || error != 0) PetscCall(BenchWrong(b, "%s, %s", name, same ? "values differ" : "the structure differs"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the storage of the view. */
static PetscErrorCode CreateMat(DCSRView *view, int row_block, int column_block, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, view->num_rows, view->num_columns, view->num_rows, view->num_columns));
  PetscCall(MatSetBlockSizes(*A, row_block, column_block));
  PetscCall(MatSetType(*A, MATDCSRCUDA));
  PetscCall(MatSeqAIJCUDASetDeviceMatrix(*A, view));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P0 with a block of block x columns values for each of its entries. */
static PetscErrorCode MakeBlocks(const Grid *g, cudaStream_t stream, DCSRView *tentative)
{
  DCSRBlockList list;
  PetscScalar  *values;

  PetscFunctionBegin;
  if (g->block == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRBlockListCreate(g->block, g->columns, &list));
  list->view = *tentative;
  PetscCall(DCSRBlockListExpand(list, stream, tentative));
  PetscCall(DCSRViewAllocateValues(tentative, stream));
  PetscCall(PetscMalloc1(tentative->num_nonzeros, &values));
  for (PetscCount k = 0; k < tentative->num_nonzeros; k++) values[k] = (PetscReal)((k * 7919) % 1000003) / 500000 - 1;
  PetscCall(PetscSparseCUDACopyToDevice(tentative->values, values, (size_t)tentative->num_nonzeros * sizeof(*values), stream));
  PetscCall(PetscFree(values));
  PetscCall(DCSRBlockListDestroy(&list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operands: P has the pattern of A P0. */
static PetscErrorCode CreateOperands(const Grid *g, cudaStream_t stream, Mat *A, Mat *P)
{
  BenchMatrix matrix;
  DCSRView    tentative, smoothed;
  DCSRSpGEMM  plan;

  PetscFunctionBegin;
  PetscCall(BenchMatrixCreate(g->name, stream, &matrix));
  PetscCall(SpGEMMBenchTentative(g->n, g->n, g->n, stream, &tentative));
  PetscCall(MakeBlocks(g, stream, &tentative));
  PetscCall(DCSRSpGEMMSymbolic(matrix.view, tentative, PETSC_TRUE, stream, &smoothed, &plan));
  PetscCall(DCSRSpGEMMDestroy(&plan, stream));
  PetscCall(DCSRViewFree(&tentative, stream));
  PetscCall(CreateMat(&matrix.view, g->block, g->block, A));
  PetscCall(CreateMat(&smoothed, g->block, g->columns, P));
  PetscCall(PetscArrayzero(&matrix.view, 1)); // the Mat's now
  PetscCall(BenchMatrixDestroy(&matrix, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the intermediate product, and in slices. */
static PetscErrorCode RunSlices(Bench *b, const Grid *g)
{
  Mat     A = NULL, P = NULL, C[2] = {NULL, NULL};
  Figures whole = {-1, -1, -1}, f = {0, 0, 0};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(slices); k++) {
    char      name[64];
    PetscBool wants;

    PetscCall(PetscSNPrintf(name, sizeof(name), slices[k] > 1 ? "ptap-%s-slices%d" : "ptap-%s", g->name, (int)slices[k]));
    PetscCall(BenchWants(b, name, &wants));
    if (!wants) continue;
    if (A == NULL) PetscCall(CreateOperands(g, b->stream, &A, &P));
    PetscCall(Measure(b, A, P, slices[k], &C[k > 0], &f));
    PetscCall(Record(b, name, &f, &whole, "without slices"));
    if (k == 0) whole = f;
    else {
      if (C[0] != NULL) PetscCall(Compare(b, name, C[0], C[1]));
      PetscCall(MatDestroy(&C[1]));
    }
  }
  PetscCall(MatDestroy(&C[0]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By blocks, beside entry by entry. */
static PetscErrorCode RunBlocks(Bench *b, const Grid *g)
{
  Mat       A, P, C[2];
  Figures   figures[2];
  char      name[64];
  PetscBool wants;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "ptap-%s", g->name));
  PetscCall(BenchWants(b, name, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateOperands(g, b->stream, &A, &P));
  for (int k = 0; k < 2; k++) {
    MatSeqAIJCUDAGet(A)->options.blocks = MatSeqAIJCUDAGet(P)->options.blocks = (PetscBool)!k;
    PetscCall(Measure(b, A, P, 1, &C[k], &figures[k]));
  }
  PetscCall(Record(b, name, &figures[0], &figures[1], "entry by entry"));
  PetscCall(Compare(b, name, C[0], C[1]));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&C[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench     b = {.commit = "unknown", .repetitions = 7};
  PetscBool usable;

  PetscFunctionBeginUser;
  PetscCall(BenchInitialize(&argc, &argv, help, &b));
  PetscCall(PetscSparseCUDAInitialize());
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Benchmark of MatPtAP() in slices", NULL);
  PetscCall(BenchOptions(&b, PetscOptionsObject));
  PetscCall(BenchOptionsOnly(&b, PetscOptionsObject));
  PetscCall(BenchOptionsRepetitions(&b, PetscOptionsObject));
  PetscOptionsEnd();
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCheck(usable, PETSC_COMM_SELF, PETSC_ERR_SUP, "This benchmark needs a CUDA device");
  PetscCall(PetscSparseCUDAGetStream(&b.stream));
  PetscCall(BenchRecorderCreate("ptap", b.output, b.commit, &b.recorder)); // without the timer, whose memory would come from the same pool
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(grids); k++) PetscCall(grids[k].block > 1 ? RunBlocks(&b, &grids[k]) : RunSlices(&b, &grids[k]));
  PetscCheck(b.num_cases > 0, PETSC_COMM_SELF, PETSC_ERR_USER, "No case of a name that contains %s", b.only);
  PetscCall(BenchClose(&b));
  PetscCall(PetscFinalize());
  return 0;
}
