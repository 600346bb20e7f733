static char help[] = "Sparse products of matrices of full blocks: structure and values bit by bit those of the product entry by entry, and that one where blocks cannot be used.\n\n";

#include "../entries/kerneltest.h"
#include "../entries/producttest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/spgemm.h>

/* Rows and columns of a block of A, columns of one of B. */
static const int sizes[][3] = {{2, 2, 2}, {2, 2, 3}, {3, 2, 3}, {3, 3, 3}, {3, 3, 6}, {6, 3, 6}, {6, 6, 6}, {4, 4, 4}, {5, 5, 5}};

/* Of blocks, and whether the product goes by blocks; otherwise a row has too many for a table. */
static const struct {
  ProductTestCase c;
  PetscBool       by_blocks;
} cases[] = {{{"stencil squared", STENCIL9, STENCIL9, 1600, 1600, 1600}, PETSC_TRUE},
             {{"random times aggregates", RANDOM40, AGGREGATES, 300, 500, 60}, PETSC_TRUE},
             {{"random times random", RANDOM40, RANDOM4, 200, 300, 900}, PETSC_TRUE},
             {{"skewed times random", SKEWED, RANDOM4, 97, 700, 450}, PETSC_TRUE},
             {{"rows of more than 256 blocks", RANDOM40, RANDOM40, 60, 90, 500}, PETSC_TRUE},
             {{"band squared", BAND, BAND, 500, 500, 500}, PETSC_TRUE},
             {{"every other row", HOLES, HOLES, 400, 400, 400}, PETSC_TRUE},
             {{"random times one or none", RANDOM40, ONE_OR_NONE, 300, 500, 70}, PETSC_TRUE},
             {{"permutation times random", PERMUTED, RANDOM4, 300, 300, 200}, PETSC_TRUE},
             {{"one row", RANDOM40, RANDOM4, 1, 300, 200}, PETSC_TRUE},
             {{"many rows: stencil times aggregates", STENCIL9, AGGREGATES, 40000, 40000, 5000}, PETSC_TRUE},
             {{"rows of more than 512 blocks", RANDOM40, RANDOM40, 50, 200, 3000}, PETSC_FALSE},
             {{"no entries in A", ZERO, RANDOM4, 20, 30, 40}, PETSC_FALSE},
             {{"no entries in B", RANDOM4, ZERO, 20, 30, 40}, PETSC_FALSE}};

/* Structure, and values bit by bit; of complex ones up to rounding, since the compiler may fuse their terms in another way. */
static PetscErrorCode CheckSame(DCSRView C, DCSRView D, const char what[], cudaStream_t stream)
{
  KernelTestMatrix c, d;

  PetscFunctionBegin;
  PetscCall(KernelTestMatrixFromView(C, stream, &c));
  PetscCall(KernelTestMatrixFromView(D, stream, &d));
  PetscCall(KernelTestMatrixCompare(&d, &c, PetscDefined(USE_COMPLEX) ? 1000 * PETSC_MACHINE_EPSILON : 0.0, what));
  PetscCall(KernelTestMatrixDestroy(&c));
  PetscCall(KernelTestMatrixDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInfo(DCSRSpGEMM product, DCSRSpGEMM scalar, const int size[3], PetscBool by_blocks, const char what[])
{
  DCSRSpGEMMInfo info, expected;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(product, &info));
  PetscCall(DCSRSpGEMMGetInfo(scalar, &expected));
  PetscCheck(info.num_products == expected.num_products, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " terms in place of %" PetscCount_FMT, what, info.num_products, expected.num_products);
  for (int k = 0; k < 3; k++)
    PetscCheck(info.blocks[k] == (by_blocks ? size[k] : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: size %d of blocks is %d in place of %d", what, k, info.blocks[k], by_blocks ? size[k] : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetSizes(DCSRView *a, DCSRView *b, const int size[3])
{
  a->row_block    = size[0];
  a->column_block = b->row_block = size[1];
  b->column_block                = size[2];
}

/* The product by blocks, with values at once and afterwards, twice, beside the one entry by entry. */
static PetscErrorCode TestViews(DCSRView a, DCSRView b, const int size[3], PetscBool by_blocks, const char what[], cudaStream_t stream)
{
  DCSRView   C, D;
  DCSRSpGEMM scalar, product;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &C, &scalar));
  SetSizes(&a, &b, size);
  for (int values = 0; values < 2; values++) {
    PetscCall(DCSRSpGEMMSymbolic(a, b, (PetscBool)values, stream, &D, &product));
    PetscCall(CheckInfo(product, scalar, size, by_blocks, what));
    PetscCheck(D.row_block == size[0] && D.column_block == size[2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the result has other sizes of blocks", what);
    if (values) PetscCall(CheckSame(C, D, what, stream));
    else PetscCall(DCSRViewAllocateValues(&D, stream));
    for (int k = 0; k < 2; k++) {
      if (D.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(D.values, 0xff, (size_t)D.num_nonzeros * sizeof(PetscScalar), stream));
      PetscCall(DCSRSpGEMMNumeric(product, a, b, D, stream));
      PetscCall(CheckSame(C, D, what, stream));
    }
    PetscCall(DCSRSpGEMMDestroy(&product, stream));
    PetscCall(DCSRViewFree(&D, stream));
  }
  PetscCall(DCSRSpGEMMDestroy(&scalar, stream));
  PetscCall(DCSRViewFree(&C, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product as a list, which gets its structure later. */
static PetscErrorCode TestList(DCSRView a, DCSRView b, const int size[3], PetscBool by_blocks, const char what[], cudaStream_t stream)
{
  DCSRView   C, D;
  DCSRSpGEMM scalar, product;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &C, &scalar));
  SetSizes(&a, &b, size);
  PetscCall(DCSRSpGEMMSymbolicOfList(a, b, PETSC_TRUE, stream, &D, &product));
  PetscCheck((D.list != NULL) == by_blocks && (D.row_offsets == NULL) == by_blocks, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the product is %sa list", what, by_blocks ? "not " : "");
  if (by_blocks) PetscCall(DCSRSpGEMMExpand(&D, stream));
  PetscCall(CheckSame(C, D, what, stream));
  PetscCall(DCSRSpGEMMDestroy(&product, stream));
  PetscCall(DCSRViewFree(&D, stream));
  PetscCall(DCSRSpGEMMDestroy(&scalar, stream));
  PetscCall(DCSRViewFree(&C, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last two thirds of the block rows of A, whose offsets do not begin at 0, and B as a list alone. */
static PetscErrorCode TestRows(const KernelTestMatrix *A, DCSRView a, DCSRView b, const int size[3], PetscBool by_blocks, const char what[], cudaStream_t stream)
{
  const PetscInt first = a.num_rows / size[0] / 3 * size[0];
  DCSRBlockList  list;
  DCSRView       C, D, rows = a, alone = b;
  DCSRSpGEMM     scalar, product;

  PetscFunctionBegin;
  rows.num_rows -= first;
  rows.num_nonzeros = rows.used = rows.capacity = a.num_nonzeros - A->i[first];
  rows.row_offsets                              = (char *)a.row_offsets + (size_t)first * (a.wide ? sizeof(int64_t) : sizeof(int32_t));
  PetscCall(DCSRSpGEMMSymbolic(rows, b, PETSC_TRUE, stream, &C, &scalar));
  PetscCall(DCSRBlockListGet(b, size[1], size[2], stream, &list));
  if (list == NULL) PetscCall(DCSRBlockListCreate(size[1], size[2], &list));
  SetSizes(&rows, &alone, size);
  alone.list        = list;
  alone.row_offsets = NULL;
  alone.columns     = NULL;
  PetscCall(DCSRSpGEMMSymbolic(rows, alone, PETSC_TRUE, stream, &D, &product));
  PetscCheck((product != NULL) == by_blocks, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: with a list alone there is %s product", what, by_blocks ? "no" : "a");
  if (by_blocks) PetscCall(CheckSame(C, D, what, stream));
  PetscCall(DCSRSpGEMMDestroy(&product, stream));
  PetscCall(DCSRViewFree(&D, stream));
  PetscCall(DCSRBlockListDestroy(&list, stream));
  PetscCall(DCSRSpGEMMDestroy(&scalar, stream));
  PetscCall(DCSRViewFree(&C, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column of A moved into the next block makes the blocks of its row no full ones. */
static PetscErrorCode TestNotFull(KernelTestMatrix *A, DCSRView b, const int size[3], const char what[], cudaStream_t stream)
{
  const KernelTestStorage storage = {"narrow", PETSC_FALSE, 0, 0};
  const PetscInt          row     = A->m - 1;
  DCSRView                a;

  PetscFunctionBegin;
  if (A->i[row + 1] == A->i[row] || A->j[A->i[row]] == 0) PetscFunctionReturn(PETSC_SUCCESS);
  A->j[A->i[row]]--;
  PetscCall(KernelTestViewCreate(A, &storage, stream, &a));
  A->j[A->i[row]]++;
  PetscCall(TestViews(a, b, size, PETSC_FALSE, what, stream));
  PetscCall(KernelTestViewDestroy(&a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every allocation fails once: an error, or the right result all the same, and nothing is left behind. */
static PetscErrorCode TestOutOfMemory(DCSRView a, DCSRView b, const int size[3], cudaStream_t stream)
{
  PetscBool  done = PETSC_FALSE;
  DCSRView   C;
  DCSRSpGEMM scalar;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &C, &scalar));
  SetSizes(&a, &b, size);
  for (PetscInt n = 1; !done; n++) {
    size_t         before, after;
    DCSRView       D;
    DCSRSpGEMM     product;
    DCSRSpGEMMInfo info;
    PetscErrorCode ierr;

    PetscCall(KernelTestMemoryInUse(stream, &before));
    TestLibCallFailing(n, ierr, DCSRSpGEMMSymbolic(a, b, PETSC_TRUE, stream, &D, &product));
    PetscCheck(ierr == PETSC_SUCCESS || (ierr == PETSC_ERR_MEM && product == NULL && D.row_offsets == NULL && D.values == NULL), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Allocation %" PetscInt_FMT " fails: error %d, or something is left", n, (int)ierr);
    if (ierr == PETSC_SUCCESS) {
      PetscCall(CheckSame(C, D, "allocations that fail", stream));
      PetscCall(DCSRSpGEMMGetInfo(product, &info));
      done = (PetscBool)(info.blocks[0] > 0 || n > 100); // without blocks an allocation has failed
    }
    PetscCall(DCSRSpGEMMDestroy(&product, stream));
    PetscCall(DCSRViewFree(&D, stream));
    PetscCall(KernelTestMemoryInUse(stream, &after));
    PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " fails: %zu bytes are left", n, after - before);
  }
  PetscCall(DCSRSpGEMMDestroy(&scalar, stream));
  PetscCall(DCSRViewFree(&C, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSize(const KernelTestMatrix *collapsed_a, const KernelTestMatrix *collapsed_b, const ProductTestCase *c, const int size[3], PetscBool by_blocks, cudaStream_t stream)
{
  const KernelTestStorage storage[2] = {{"narrow", PETSC_FALSE, 0, 0}, {"wide", PETSC_TRUE, 0, 0}};
  KernelTestMatrix        A, B;
  char                    what[128];

  PetscFunctionBegin;
  PetscCall(ProductTestExpand(collapsed_a, size[0], size[1], 1, &A));
  PetscCall(ProductTestExpand(collapsed_b, size[1], size[2], 2, &B));
  for (int wide = 0; wide < 2; wide++) {
    DCSRView a, b;

    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %d x %d times %d x %d, %s", c->name, size[0], size[1], size[1], size[2], storage[wide].name));
    PetscCall(KernelTestViewCreate(&A, &storage[wide], stream, &a));
    PetscCall(KernelTestViewCreate(&B, &storage[1 - wide], stream, &b));
    PetscCall(TestViews(a, b, size, by_blocks, what, stream));
    PetscCall(TestList(a, b, size, by_blocks, what, stream));
    if (A.nz > 0 && B.nz > 0) PetscCall(TestRows(&A, a, b, size, by_blocks, what, stream));
    if (by_blocks) PetscCall(TestNotFull(&A, b, size, what, stream));
    if (c->a == SKEWED && size[0] == 3) PetscCall(TestOutOfMemory(a, b, size, stream));
    PetscCall(KernelTestViewDestroy(&a, stream));
    PetscCall(KernelTestViewDestroy(&b, stream));
  }
  PetscCall(KernelTestMatrixDestroy(&A));
  PetscCall(KernelTestMatrixDestroy(&B));
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
    KernelTestMatrix A, B;

    if (only >= 0 && (size_t)only != k) continue;
    PetscCall(ProductTestFactorsCreate(&cases[k].c, &A, &B));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) PetscCall(TestSize(&A, &B, &cases[k].c, sizes[s], cases[k].by_blocks, stream));
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
