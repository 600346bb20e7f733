static char help[] = "Sparse times dense of matrices of full blocks: bit by bit the product row by row, and that one where blocks are not full.\n\n";

#include "../entries/kerneltest.h"
#include "../entries/producttest.h"
#include "../../../lib/sweeps.h"
#include "../../small.h"
#include "../../../../src/mat/kernels/spmm/spmmimpl.h"

#define COLUMNS 34
#define ROOM    3 /* rows of X and Y behind the last, which are not numbers and stay as they are */

static const int sizes[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {2, 3}, {3, 2}, {3, 6}, {6, 3}, {2, 32}, {7, 7}, {3, 1}};

/* Of blocks. Some rows of the third one are long, and some of them have so many blocks that their rows are. */
static const struct {
  const char *name;
  Pattern     pattern;
  PetscInt    m, n;
} cases[] = {{"stencil", STENCIL9, 121, 121}, {"every other row is empty", HOLES, 61, 70}, {"skewed", SKEWED, 97, 700}, {"one row", RANDOM4, 1, 30}};

typedef struct {
  DCSRView     view; /* without sizes of blocks */
  PetscInt     ldx, ldy;
  PetscScalar *x, *y, *got[2]; /* on the device; on the host, row by row and by blocks */
  cudaStream_t stream;
} Case;

static PetscErrorCode Apply(Case *c, DCSRSpMMPlan plan, PetscInt columns, PetscScalar *got)
{
  const size_t bytes = (size_t)c->ldy * COLUMNS * sizeof(*got);

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(c->y, 0xff, bytes, c->stream));
  PetscCall(DCSRSpMMApply(plan, c->view, columns, c->x, c->ldx, c->y, c->ldy, c->stream));
  PetscCall(KernelTestToHost(bytes, c->y, c->stream, got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* plans: row by row, by blocks. Bit by bit; up to rounding complex ones, whose terms the compiler may fuse in another way, and single columns, which are products with vectors. */
static PetscErrorCode Compare(Case *c, DCSRSpMMPlan plans[2], PetscInt columns, const char what[])
{
  const size_t all = (size_t)c->ldy * COLUMNS;
  PetscBool    same;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(Apply(c, plans[k], columns, c->got[k]));
  PetscCall(PetscMemcmp(c->got[0], c->got[1], all * sizeof(*c->got[0]), &same));
  if (columns == 1 || PetscDefined(USE_COMPLEX)) {
    same = PETSC_TRUE;
    for (size_t k = 0; k < all; k++)
      same = (PetscBool)(same && (c->got[0][k] != c->got[0][k] ? c->got[1][k] != c->got[1][k] : PetscAbsScalar(c->got[0][k] - c->got[1][k]) <= 1e4 * PETSC_MACHINE_EPSILON));
  }
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %" PetscInt_FMT " columns: by blocks the product is another one", what, columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKind(Case *c, const int size[2], DCSRSpMMKind kind, PetscBool full, const char what[])
{
  static const PetscInt columns[] = {1, 2, 7, 16, 34};
  PetscBool             small;
  DCSRSpMMPlan          plans[2];
  DCSRView              view = c->view;

  PetscFunctionBegin;
  PetscCall(TestIsSmall(&small));
  PetscCall(DCSRSpMMPlanCreate(view, kind, c->stream, &plans[0]));
  view.row_block    = size[0];
  view.column_block = size[1];
  PetscCall(DCSRSpMMPlanCreate(view, kind, c->stream, &plans[1]));
  PetscCheck(plans[0]->list == NULL && (plans[1]->list != NULL) == full && (!full || plans[1]->list->rows == size[0]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the plan has other blocks", what);
  for (size_t k = 0; full && k < PETSC_STATIC_ARRAY_LENGTH(columns); k++) PetscCall(Compare(c, plans, columns[k], what));
  for (PetscInt width = 2; full && !small && width <= (kind == DCSR_SPMM_STAGED ? 32 : 16); width *= 2) {
    for (PetscInt slots = 1; slots <= SPMM_MAX_SLOTS; slots *= 2) {
      for (int k = 0; k < 2; k++) PetscCall(DCSRSpMMPlanSetConfig(plans[k], width, slots));
      PetscCall(Compare(c, plans, width, what));
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(DCSRSpMMPlanDestroy(&plans[k], c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStorage(const KernelTestMatrix *A, const KernelTestStorage *storage, const int size[2], PetscBool full, cudaStream_t stream)
{
  Case   c = {.ldx = A->n + ROOM, .ldy = A->m + ROOM, .stream = stream};
  size_t before, after, n = (size_t)c.ldx * COLUMNS;
  char   what[128];

  PetscFunctionBegin;
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(KernelTestViewCreate(A, storage, stream, &c.view));
  PetscCall(PetscMalloc2(PetscMax(n, (size_t)c.ldy * COLUMNS), &c.got[0], (size_t)c.ldy * COLUMNS, &c.got[1]));
  for (size_t k = 0; k < n; k++) c.got[0][k] = (PetscInt)(k % (size_t)c.ldx) < A->n ? KernelTestNumber((PetscCount)k, 5) : (PetscScalar)NAN;
  PetscCall(KernelTestToDevice(n * sizeof(*c.x), c.got[0], stream, (void **)&c.x));
  PetscCall(KernelTestToDevice((size_t)c.ldy * COLUMNS * sizeof(*c.y), NULL, stream, (void **)&c.y));
  for (DCSRSpMMKind kind = DCSR_SPMM_DIRECT; kind <= DCSR_SPMM_STAGED; kind = (DCSRSpMMKind)(kind + 1)) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, blocks of %d x %d, %s, %s", A->name, size[0], size[1], storage->name, DCSRSpMMKinds[kind]));
    PetscCall(TestKind(&c, size, kind, full, what));
  }
  PetscCall(PetscSparseCUDAFree(&c.x, stream));
  PetscCall(PetscSparseCUDAFree(&c.y, stream));
  PetscCall(PetscFree2(c.got[0], c.got[1]));
  PetscCall(KernelTestViewDestroy(&c.view, stream));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes of device memory are left", A->name, after - before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KernelTestStorage storage[2] = {{"narrow", PETSC_FALSE, 0, 0}, {"wide", PETSC_TRUE, 0, 0}};
  cudaStream_t            stream;
  PetscBool               usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(PetscSparseCUDAGetStream(&stream));
  for (size_t k = 0; usable && k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    KernelTestMatrix blocks, A;

    PetscCall(ProductTestMatrixCreate(cases[k].name, cases[k].pattern, cases[k].m, cases[k].n, 1, &blocks));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
      const PetscBool by_blocks = (PetscBool)(sizes[s][0] <= SPMM_MAX_BLOCK_ROWS && sizes[s][1] > 1);

      PetscCall(ProductTestExpand(&blocks, sizes[s][0], sizes[s][1], 2, &A));
      for (int wide = 0; wide < 2; wide++) PetscCall(TestStorage(&A, &storage[wide], sizes[s], by_blocks, stream));
      if (A.i[A.m - 1] < A.nz && A.j[A.i[A.m - 1]] > 0) { // a block that is not full
        A.j[A.i[A.m - 1]]--;
        PetscCall(TestStorage(&A, &storage[0], sizes[s], PETSC_FALSE, stream));
      }
      PetscCall(KernelTestMatrixDestroy(&A));
    }
    PetscCall(KernelTestMatrixDestroy(&blocks));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
