static char help[] = "Sparse products again and again: structure and values bit by bit the same.\n\
  -repeats n  of each phase (1000)\n\
  -bins       prints how many rows the numeric phase has in which bin\n\n";

#include "../entries/kerneltest.h"
#include "../entries/producttest.h"
#include <petscsparsecuda/spgemm.h>

/* Together they have rows for all bins, and few entries, which all go to the host each time. */
static const ProductTestCase cases[] = {
  {"stencil squared", STENCIL9, STENCIL9, 1600, 1600, 1600},
  {"band squared", BAND, BAND, 1000, 1000, 1000},
  {"blocks squared", BLOCKS, BLOCKS, 600, 600, 600},
  {"random times aggregates", RANDOM40, AGGREGATES, 500, 900, 100},
  {"random times one or none", RANDOM40, ONE_OR_NONE, 500, 900, 70},
  {"more random", RANDOM40, RANDOM40, 200, 200, 20000},
  {"skewed times random, wide", SKEWED, RANDOM4, 97, 4000, 60000},
  {"every other row", HOLES, HOLES, 900, 900, 900},
  {"a row of slices", DENSE_ROWS, RANDOM40, 4, 6000, 1300000},
  {"rows of one slice", DENSE_ROWS, DENSE_ROWS, 12, 60, 400000},
};

/* A result on the host, in pinned memory: copies are most of the time. */
typedef struct {
  char  *bytes;
  size_t offsets, columns, values; /* bytes of each */
} Result;

static PetscErrorCode ResultCreate(DCSRView C, Result *r)
{
  PetscFunctionBegin;
  r->offsets = (size_t)(C.num_rows + 1) * (C.wide ? sizeof(int64_t) : sizeof(int32_t));
  r->columns = (size_t)C.num_nonzeros * sizeof(int32_t);
  r->values  = (size_t)C.num_nonzeros * sizeof(PetscScalar);
  PetscCallCUDA(cudaMallocHost((void **)&r->bytes, r->offsets + r->columns + r->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResultGet(DCSRView C, PetscBool structure, cudaStream_t stream, Result *r)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(r->bytes, C.values, r->values, cudaMemcpyDeviceToHost, stream));
  if (structure) PetscCallCUDA(cudaMemcpyAsync(r->bytes + r->values, C.row_offsets, r->offsets, cudaMemcpyDeviceToHost, stream));
  if (structure) PetscCallCUDA(cudaMemcpyAsync(r->bytes + r->values + r->offsets, C.columns, r->columns, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSame(const Result *first, const Result *now, PetscBool structure, const char name[], const char phase[], PetscInt repeat)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscMemcmp(first->bytes, now->bytes, first->values, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the values of %s %" PetscInt_FMT " are not those of the first", name, phase, repeat);
  if (structure) PetscCall(PetscMemcmp(first->bytes + first->values, now->bytes + first->values, first->offsets + first->columns, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the structure of %s %" PetscInt_FMT " is not that of the first", name, phase, repeat);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintBins(DCSRSpGEMM product, const char name[])
{
  DCSRSpGEMMInfo info;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(product, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s:", name));
  for (PetscInt bin = 0; bin < info.num_bins; bin++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s %" PetscCount_FMT, info.bin_names[bin], info.bin_rows[bin]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values only, into an array that is overwritten in between. */
static PetscErrorCode RepeatNumeric(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, PetscInt repeats, const char name[], const Result *first, Result *now, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < repeats; k++) {
    PetscCallCUDA(cudaMemsetAsync(C.values, 0xff, first->values, stream));
    PetscCall(DCSRSpGEMMNumeric(product, A, B, C, stream));
    PetscCall(ResultGet(C, PETSC_FALSE, stream, now));
    PetscCall(CheckSame(first, now, PETSC_FALSE, name, "numeric phase", k));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const ProductTestCase *c, DCSRView A, DCSRView B, PetscInt repeats, PetscBool bins, cudaStream_t stream)
{
  Result     first, now;
  DCSRView   C, D;
  DCSRSpGEMM product, again;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, stream, &C, &product));
  if (bins) PetscCall(PrintBins(product, c->name));
  PetscCall(ResultCreate(C, &first));
  PetscCall(ResultCreate(C, &now));
  PetscCall(ResultGet(C, PETSC_TRUE, stream, &first));
  for (PetscInt k = 0; k < repeats; k++) {
    PetscCall(DCSRSpGEMMSymbolic(A, B, PETSC_TRUE, stream, &D, &again));
    PetscCheck(D.num_nonzeros == C.num_nonzeros && D.wide == C.wide, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " nonzeros in place of %" PetscCount_FMT, c->name, D.num_nonzeros,
               C.num_nonzeros);
    PetscCall(ResultGet(D, PETSC_TRUE, stream, &now));
    PetscCall(CheckSame(&first, &now, PETSC_TRUE, c->name, "product", k));
    PetscCall(DCSRSpGEMMDestroy(&again, stream));
    PetscCall(DCSRViewFree(&D, stream));
  }
  PetscCall(RepeatNumeric(product, A, B, C, repeats, c->name, &first, &now, stream));
  PetscCall(DCSRSpGEMMDestroy(&product, stream));
  PetscCall(DCSRViewFree(&C, stream));
  PetscCallCUDA(cudaFreeHost(first.bytes));
  PetscCallCUDA(cudaFreeHost(now.bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KernelTestStorage storage = {"narrow", PETSC_FALSE, 0, 0};
  cudaStream_t            stream  = NULL;
  PetscBool               usable, bins = PETSC_FALSE;
  PetscInt                repeats = 1000;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeats", &repeats, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bins", &bins, NULL));
  if (usable) PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; usable && k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const ProductTestCase *c = &cases[k];
    KernelTestMatrix       A, B;
    DCSRView               a, b;

    PetscCall(ProductTestFactorsCreate(c, &A, &B));
    PetscCall(KernelTestViewCreate(&A, &storage, stream, &a));
    PetscCall(KernelTestViewCreate(&B, &storage, stream, &b));
    PetscCall(TestCase(c, a, b, repeats, bins, stream));
    PetscCall(KernelTestViewDestroy(&a, stream));
    PetscCall(KernelTestViewDestroy(&b, stream));
    PetscCall(KernelTestMatrixDestroy(&A));
    PetscCall(KernelTestMatrixDestroy(&B));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
