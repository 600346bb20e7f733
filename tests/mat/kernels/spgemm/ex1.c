static char help[] = "Sparse products C = A B of all shapes, bins and offset widths: structure exact, values to rounding, numeric and symbolic phases bitwise the same.\n\n";

#include "../entries/kerneltest.h"
#include "../entries/producttest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/spgemm.h>

static const ProductTestCase cases[] = {
  {"no entries in A", ZERO, RANDOM4, 20, 30, 40},
  {"no entries in B", RANDOM4, ZERO, 20, 30, 40},
  {"no rows", ZERO, RANDOM4, 0, 30, 40},
  {"no columns", RANDOM4, ZERO, 20, 30, 0},
  {"identity times band", IDENTITY, BAND, 300, 300, 500},
  {"permutation times random", PERMUTED, RANDOM40, 1000, 1000, 900},
  {"stencil squared", STENCIL9, STENCIL9, 3600, 3600, 3600},
  {"stencil times aggregates", STENCIL9, AGGREGATES, 3600, 3600, 400},
  {"random times aggregates", RANDOM40, AGGREGATES, 500, 900, 100},
  {"band squared", BAND, BAND, 2000, 2000, 2000},
  {"blocks squared", BLOCKS, BLOCKS, 1200, 1200, 1200},
  {"random squared", RANDOM4, RANDOM4, 5000, 5000, 5000},
  {"more random squared", RANDOM40, RANDOM40, 700, 700, 20000},
  {"skewed squared", SKEWED, SKEWED, 600, 600, 600},
  {"skewed times random, wide", SKEWED, RANDOM4, 500, 4000, 60000},
  {"dense rows, tall times wide", DENSE_ROWS, RANDOM4, 400, 300, 9000},
  {"dense rows squared", DENSE_ROWS, DENSE_ROWS, 500, 500, 500},
  {"dense columns squared", DENSE_COLS, DENSE_COLS, 800, 800, 800},
  {"dense columns times dense rows", DENSE_COLS, DENSE_ROWS, 60, 700, 3000},
  {"every other row", HOLES, HOLES, 900, 900, 900},
  {"one column", RANDOM4, DENSE_COLS, 300, 200, 1},
  {"one row of B", DENSE_COLS, RANDOM40, 200, 1, 5000},
  {"one row of A, long", DENSE_ROWS, RANDOM40, 1, 5000, 150000},
  {"rows of slices", DENSE_ROWS, RANDOM40, 120, 6000, 1300000},
  {"rows of one slice", DENSE_ROWS, DENSE_ROWS, 55, 60, 400000},
  {"a row whose products are sorted", DENSE_ROWS, RANDOM4, 3, 400000, 400000},
  {"many short rows: stencil squared", STENCIL9, STENCIL9, 90000, 90000, 90000},
  {"many short rows: stencil times aggregates", STENCIL9, AGGREGATES, 90000, 90000, 10000},
  {"many short rows: blocks squared", BLOCKS, BLOCKS, 72000, 72000, 72000},
  {"many short rows: blocks squared, a few longer", BLOCKS_FEW, BLOCKS_FEW, 72000, 72000, 72000},
  {"many short rows: blocks times random", BLOCKS, RANDOM4, 72000, 72000, 500000},
  {"many short rows: band times random", BAND, RANDOM4, 80000, 80000, 70000},
  {"many short rows: random squared", RANDOM4, RANDOM4, 80001, 80001, 80001},
  {"many short rows: every other row", HOLES, STENCIL9, 90000, 90000, 90000},
  {"rows that blocks share", DENSE_ROWS, RANDOM40, 101, 1500, 60000},
  {"more rows that blocks share than there is room for", SKEWED, RANDOM4, 2300, 100000, 100000},
  {"long rows whose products are many", DENSE_ROWS, DENSE_ROWS, 1500, 1500, 1500},
  {"long rows of B", DENSE_COLS, DENSE_ROWS, 5, 51, 200000},
  {"long rows of B, slices", DENSE_COLS, DENSE_ROWS, 3, 60, 600000},
  {"few dense rows squared", FEW_DENSE, FEW_DENSE, 45000, 45000, 45000},
  {"few dense rows squared, with a sample", FEW_DENSE, FEW_DENSE, 60000, 60000, 60000},
  {"random times one or none", RANDOM40, ONE_OR_NONE, 600, 900, 70},
  {"one or none squared", ONE_OR_NONE, ONE_OR_NONE, 70000, 70000, 70000},
  {"rows as long as lists may be", DENSE_ROWS, PERMUTED, 120, 255, 4000},
  {"rows as long as lists may be, few columns", DENSE_ROWS, AGGREGATES, 120, 255, 20},
  {"rows too long for lists", DENSE_ROWS, AGGREGATES, 120, 300, 50},
  {"rows of all lengths times aggregates", SKEWED, AGGREGATES, 50000, 2000, 200},
  {"a row of A in chunks", DENSE_ROWS, AGGREGATES, 2, 1100000, 50000},
};

/* C = A B on the host, sums in the order of the row of A. */
static PetscErrorCode Multiply(const KernelTestMatrix *A, const KernelTestMatrix *B, KernelTestMatrix *C)
{
  PetscInt    *seen, *columns;
  PetscScalar *sums;
  PetscCount   room = 0, num_products = 0;

  PetscFunctionBegin;
  C->name = A->name;
  C->m    = A->m;
  C->n    = B->n;
  C->nz   = 0;
  for (PetscCount k = 0; k < A->nz; k++) num_products += B->i[A->j[k] + 1] - B->i[A->j[k]];
  PetscCall(PetscMalloc3(B->n, &seen, B->n, &columns, B->n, &sums));
  PetscCall(PetscMalloc1(A->m + 1, &C->i));
  for (PetscInt c = 0; c < B->n; c++) seen[c] = -1;
  for (PetscInt pass = 0; pass < 2; pass++) { // the first only counts
    if (pass) {
      PetscCall(PetscMalloc2(room, &C->j, room, &C->a));
    }
    C->i[0] = 0;
    for (PetscInt row = 0; row < A->m; row++) {
      PetscInt num = 0;

      for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++)
        for (PetscInt l = B->i[A->j[k]]; l < B->i[A->j[k] + 1]; l++) {
          const PetscInt c = B->j[l], mark = 2 * row + pass;

          if (seen[c] != mark) {
            seen[c]        = mark;
            sums[c]        = 0;
            columns[num++] = c;
          }
          sums[c] += A->a[k] * B->a[l];
        }
      if (pass) {
        PetscCall(PetscSortInt(num, columns));
        PetscCall(PetscArraycpy(C->j + C->nz, columns, num));
        for (PetscInt k = 0; k < num; k++) C->a[C->nz + k] = sums[columns[k]];
        C->nz += num;
      } else room += num;
      C->i[row + 1] = C->i[row] + num;
    }
  }
  PetscCheck(num_products >= C->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The reference is wrong");
  PetscCall(PetscFree3(seen, columns, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckView(DCSRView C, const KernelTestMatrix *expected, const char what[], cudaStream_t stream)
{
  KernelTestMatrix got;

  PetscFunctionBegin;
  PetscCall(KernelTestMatrixFromView(C, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, 1000 * PETSC_MACHINE_EPSILON, what));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of two results bit by bit. */
static PetscErrorCode CheckSame(DCSRView C, DCSRView D, const char what[], cudaStream_t stream)
{
  PetscScalar *c, *d;
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(C.num_nonzeros, &c, C.num_nonzeros, &d));
  PetscCall(KernelTestToHost((size_t)C.num_nonzeros * sizeof(*c), C.values, stream, c));
  PetscCall(KernelTestToHost((size_t)C.num_nonzeros * sizeof(*d), D.values, stream, d));
  PetscCall(PetscMemcmp(c, d, (size_t)C.num_nonzeros * sizeof(*c), &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the phases do not agree bit by bit", what);
  PetscCall(PetscFree2(c, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInfo(DCSRSpGEMM product, const KernelTestMatrix *A, const KernelTestMatrix *B, const KernelTestMatrix *C, const char what[])
{
  PetscBool      estimated = PETSC_FALSE; /* the entries of rows that are too long for a sample */
  const size_t   size = (size_t)C->nz * (sizeof(int32_t) + sizeof(PetscScalar)) + ((size_t)C->m + 1) * sizeof(int32_t), unsampled = (size_t)A->nz * 8;
  DCSRSpGEMMInfo info;
  PetscCount     num_products = 0, num_rows = 0;

  PetscFunctionBegin;
  if (A->nz == 0 || B->nz == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRSpGEMMGetInfo(product, &info));
  for (PetscCount k = 0; k < A->nz; k++) num_products += B->i[A->j[k] + 1] - B->i[A->j[k]];
  for (PetscInt bin = 0; bin < info.num_bins; bin++) {
    num_rows += info.bin_rows[bin];
    if (strchr(info.bin_names[bin], 'x') == NULL && strcmp(info.bin_names[bin], "empty")) estimated = PETSC_TRUE;
  }
  PetscCheck(info.num_products == num_products && num_rows == A->m, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscCount_FMT " products and %" PetscCount_FMT " rows are reported, there are %" PetscCount_FMT " and %" PetscInt_FMT, what, info.num_products, num_rows, num_products, A->m);
  PetscCheck(DCSRSpGEMMSmallRoom || estimated || info.workspace <= size / 2 + (64 << 20) + unsampled, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a workspace of %zu bytes for a product of %zu", what,
             info.workspace, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that nothing computes. */
static PetscErrorCode Poison(DCSRView D, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (D.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(D.values, 0xff, (size_t)D.num_nonzeros * sizeof(PetscScalar), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether positions of chunks fit into half of the bound: the marks that they are made of, and 16 bytes a chunk, 10 a term at most. Rows in chunks have more than 384 entries. */
static PetscBool ChunkPositionsFit(const KernelTestMatrix *A, const KernelTestMatrix *B, const KernelTestMatrix *C)
{
  PetscCount marks = 0, bytes = 0;

  for (PetscInt row = 0; row < C->m; row++) {
    const PetscCount chunks = (C->i[row + 1] - C->i[row] + 255) / 256, words = (A->i[row + 1] - A->i[row] + 31) / 32;

    if (C->i[row + 1] - C->i[row] <= 384) continue;
    marks += chunks * words * (PetscCount)sizeof(uint32_t);
    bytes += 16 * chunks;
    for (PetscInt k = A->i[row]; k < A->i[row + 1]; k++) bytes += 10 * (B->i[A->j[k] + 1] - B->i[A->j[k]]);
  }
  return (PetscBool)(PetscMax(marks, bytes) <= (32 << 20));
}

/* Values again and again, after the old ones were destroyed: the second time positions of terms are written down, if they fit; chunks: those of chunks must fit. */
static PetscErrorCode RepeatNumeric(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, DCSRView D, PetscBool chunks, const char what[], cudaStream_t stream)
{
  const size_t bound = (size_t)C.num_nonzeros * (sizeof(int32_t) + sizeof(PetscScalar)) / 2 + ((size_t)C.num_rows + 1) * (C.wide ? sizeof(int64_t) : sizeof(int32_t)) / 2 + (64 << 20);

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    DCSRSpGEMMInfo info;

    PetscCall(Poison(D, stream));
    PetscCall(DCSRSpGEMMNumeric(product, A, B, D, stream));
    PetscCall(CheckSame(C, D, what, stream));
    PetscCall(DCSRSpGEMMGetInfo(product, &info));
    PetscCheck(info.positions <= bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of positions, and the bound is %zu", what, info.positions, bound);
    PetscCheck(B.wide || !chunks || !DCSRSpGEMMAllocates(product), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: terms of long rows are still sorted", what);
    for (PetscInt bin = 0; bin < info.num_bins && info.positions == 0; bin++)
      PetscCheck(!strcmp(info.bin_names[bin], "empty") || !strchr(info.bin_names[bin], 'x') || info.num_products > 60000000, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s: rows of the bin %s have no positions", what, info.bin_names[bin]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure alone and then values; both at once; values again after the old ones were destroyed. */
static PetscErrorCode TestProduct(const ProductTestCase *c, const KernelTestMatrix *A, const KernelTestMatrix *B, const KernelTestMatrix *expected, PetscBool wide_a, PetscBool wide_b,
                                  cudaStream_t stream)
{
  const KernelTestStorage storage[2] = {{"narrow", PETSC_FALSE, 0, 0}, {"wide", PETSC_TRUE, 0, 0}};
  DCSRView                a, b, C, D;
  DCSRSpGEMM              product, both;
  char                    what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s A, %s B", c->name, storage[wide_a].name, storage[wide_b].name));
  PetscCall(KernelTestViewCreate(A, &storage[wide_a], stream, &a));
  PetscCall(KernelTestViewCreate(B, &storage[wide_b], stream, &b));
  PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_FALSE, stream, &C, &product));
  PetscCheck(C.values == NULL && C.num_nonzeros == expected->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " nonzeros in place of %" PetscCount_FMT, what, C.num_nonzeros, expected->nz);
  PetscCall(CheckInfo(product, A, B, expected, what));
  PetscCall(DCSRViewAllocateValues(&C, stream));
  if (C.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(C.values, 0xff, (size_t)C.num_nonzeros * sizeof(PetscScalar), stream));
  PetscCall(DCSRSpGEMMNumeric(product, a, b, C, stream));
  PetscCall(CheckView(C, expected, what, stream));
  PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &D, &both));
  PetscCall(CheckView(D, expected, what, stream));
  PetscCall(CheckSame(C, D, what, stream));
  PetscCall(RepeatNumeric(both, a, b, C, D, ChunkPositionsFit(A, B, expected), what, stream));
  PetscCall(DCSRSpGEMMDestroy(&product, stream));
  PetscCall(DCSRSpGEMMDestroy(&both, stream));
  PetscCall(DCSRViewFree(&C, stream));
  PetscCall(DCSRViewFree(&D, stream));
  PetscCall(KernelTestViewDestroy(&a, stream));
  PetscCall(KernelTestViewDestroy(&b, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every allocation of the second numeric phase fails once: an error before any value is written, or the right values all the same. */
static PetscErrorCode TestNoPositions(DCSRView a, DCSRView b, cudaStream_t stream)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt n = 1; !done; n++) {
    size_t         before, after;
    DCSRView       C, D;
    DCSRSpGEMM     product, other;
    DCSRSpGEMMInfo info;
    PetscErrorCode ierr;

    PetscCall(KernelTestMemoryInUse(stream, &before));
    PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &C, &product));
    PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &D, &other));
    PetscCall(Poison(D, stream));
    TestLibCallFailing(n, ierr, DCSRSpGEMMNumeric(product, a, b, D, stream));
    if (ierr == PETSC_SUCCESS) PetscCall(CheckSame(C, D, "allocations that fail", stream));
    PetscCall(DCSRSpGEMMGetInfo(product, &info));
    done = (PetscBool)(ierr == PETSC_SUCCESS && (info.positions > 0 || n > 20));
    for (int k = 0; k < 2; k++) {
      PetscCall(Poison(D, stream));
      PetscCall(DCSRSpGEMMNumeric(product, a, b, D, stream));
      PetscCall(CheckSame(C, D, "after allocations that fail", stream));
    }
    PetscCall(DCSRSpGEMMDestroy(&product, stream));
    PetscCall(DCSRSpGEMMDestroy(&other, stream));
    PetscCall(DCSRViewFree(&C, stream));
    PetscCall(DCSRViewFree(&D, stream));
    PetscCall(KernelTestMemoryInUse(stream, &after));
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " fails: %zu bytes are left", n, after - before);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every allocation fails once: an error, nothing is left behind. */
static PetscErrorCode TestOutOfMemory(const KernelTestMatrix *A, const KernelTestMatrix *B, cudaStream_t stream)
{
  const KernelTestStorage storage = {"narrow", PETSC_FALSE, 0, 0};
  DCSRView                a, b;
  PetscBool               done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(KernelTestViewCreate(A, &storage, stream, &a));
  PetscCall(KernelTestViewCreate(B, &storage, stream, &b));
  for (PetscInt n = 1; !done; n++) {
    size_t         before, after;
    DCSRView       C;
    DCSRSpGEMM     product;
    PetscErrorCode ierr;

    PetscCall(KernelTestMemoryInUse(stream, &before));
    TestLibCallFailing(n, ierr, DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &C, &product));
    done = (PetscBool)(ierr == PETSC_SUCCESS);
    PetscCheck(done || (ierr == PETSC_ERR_MEM && product == NULL && C.row_offsets == NULL && C.columns == NULL && C.values == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Allocation %" PetscInt_FMT " fails: error %d, or something is left", n, (int)ierr);
    PetscCall(DCSRSpGEMMDestroy(&product, stream));
    PetscCall(DCSRViewFree(&C, stream));
    PetscCall(KernelTestMemoryInUse(stream, &after));
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " fails: %zu bytes are left", n, after - before);
  }
  PetscCall(TestNoPositions(a, b, stream));
  PetscCall(KernelTestViewDestroy(&a, stream));
  PetscCall(KernelTestViewDestroy(&b, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  cudaStream_t stream;
  PetscBool    usable;
  PetscInt     only = -1;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-case", &only, NULL));
  if (usable) PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; usable && k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const ProductTestCase *c = &cases[k];
    KernelTestMatrix       A, B, C;

    if (only >= 0 && (size_t)only != k) continue;
    PetscCall(ProductTestFactorsCreate(c, &A, &B));
    PetscCall(Multiply(&A, &B, &C));
    for (int wide = 0; wide < 4; wide++) PetscCall(TestProduct(c, &A, &B, &C, (PetscBool)(wide % 2), (PetscBool)(wide / 2), stream));
    if (c->n == 400000 || c->a == SKEWED) PetscCall(TestOutOfMemory(&A, &B, stream));
    DCSRSpGEMMSmallRoom = PETSC_TRUE;
    PetscCall(TestProduct(c, &A, &B, &C, PETSC_FALSE, PETSC_FALSE, stream));
    if (c->n == 600) PetscCall(TestOutOfMemory(&A, &B, stream));
    DCSRSpGEMMSmallRoom = PETSC_FALSE;
    PetscCall(KernelTestMatrixDestroy(&A));
    PetscCall(KernelTestMatrixDestroy(&B));
    PetscCall(KernelTestMatrixDestroy(&C));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    requires: cuda
    output_file: output/empty.out

  test:
    suffix: wide
    requires: cuda
    args: -mat_dcsr_test_wide_from 1000
    output_file: output/empty.out

TEST*/
