static char help[] = "Sparse times dense on all shapes: both kinds, all tiles, 32- and 64-bit offsets, leading dimensions with room, against a loop on the host.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sweeps.h"

#define MAX_COLUMNS 64
#define ROOM_X      3 /* rows of X behind the last, which are not numbers */
#define ROOM_Y      5 /* rows of Y behind the last, which must stay as they are */

static const PetscInt numbers_of_columns[] = {1, 2, 3, 7, 8, 16, 33, 64, 0};

/* Host arrays but for dx, dy; X and Y for the most columns. */
typedef struct {
  const KernelTestMatrix  *A;
  const KernelTestStorage *storage;
  DCSRView                 view;
  cudaStream_t             stream;
  PetscInt                 most, ldx, ldy; /* columns at most: few of large matrices */
  PetscScalar             *x, *expected, *got, *again;
  PetscReal               *scale; /* of the rounding errors */
  PetscScalar             *dx, *dy;
} Case;

static PetscErrorCode CaseCreate(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream, Case *c)
{
  size_t size_x, size_y;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(c, 1));
  c->A       = A;
  c->storage = storage;
  c->view    = view;
  c->stream  = stream;
  c->most    = A->n > 100000 || A->m > 100000 ? 8 : MAX_COLUMNS;
  c->ldx     = A->n + ROOM_X;
  c->ldy     = A->m + ROOM_Y;
  size_x     = (size_t)c->ldx * (size_t)c->most;
  size_y     = (size_t)c->ldy * (size_t)c->most;
  PetscCall(PetscMalloc5(size_x, &c->x, size_y, &c->expected, size_y, &c->got, size_y, &c->again, size_y, &c->scale));
  for (size_t k = 0; k < size_x; k++) c->x[k] = (PetscInt)(k % (size_t)c->ldx) < A->n ? KernelTestNumber((PetscCount)k, 5) : (PetscScalar)NAN;
  PetscCall(PetscArrayzero(c->expected, size_y));
  PetscCall(PetscArrayzero(c->scale, size_y));
  for (PetscInt j = 0; j < c->most; j++) {
    const PetscScalar *x = c->x + (size_t)j * (size_t)c->ldx;

    for (PetscInt r = 0; r < A->m; r++) {
      const size_t k = (size_t)j * (size_t)c->ldy + (size_t)r;

      for (PetscInt e = A->i[r]; e < A->i[r + 1]; e++) {
        c->expected[k] += A->a[e] * x[A->j[e]];
        c->scale[k] += PetscAbsScalar(A->a[e] * x[A->j[e]]);
      }
    }
  }
  PetscCall(KernelTestToDevice(size_x * sizeof(*c->x), c->x, stream, (void **)&c->dx));
  PetscCall(KernelTestToDevice(size_y * sizeof(*c->x), NULL, stream, (void **)&c->dy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(c->x, c->expected, c->got, c->again, c->scale));
  PetscCall(PetscSparseCUDAFree(&c->dx, c->stream));
  PetscCall(PetscSparseCUDAFree(&c->dy, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y as it is on the host after a product into what was zero. */
static PetscErrorCode Apply(Case *c, DCSRSpMMPlan plan, PetscInt columns, PetscScalar y[])
{
  const size_t bytes = (size_t)c->ldy * (size_t)c->most * sizeof(*y);

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(c->dy, 0, bytes, c->stream));
  PetscCall(DCSRSpMMApply(plan, c->view, columns, c->dx, c->ldx, c->dy, c->ldy, c->stream));
  PetscCall(KernelTestToHost(bytes, c->dy, c->stream, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckColumns(Case *c, DCSRSpMMPlan plan, PetscInt columns, const char what[])
{
  const size_t used = (size_t)c->ldy * (size_t)columns, all = (size_t)c->ldy * (size_t)c->most;
  PetscBool    same;

  PetscFunctionBegin;
  PetscCall(Apply(c, plan, columns, c->got));
  PetscCall(Apply(c, plan, columns, c->again));
  PetscCall(PetscMemcmp(c->got, c->again, all * sizeof(*c->got), &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %s, %s: not the same again", what, c->A->name, c->storage->name);
  PetscCall(KernelTestCompareScalars((PetscCount)used, c->got, c->expected, c->scale, what, c->A->name, c->storage->name)); // what is between columns is zero in both
  for (size_t k = used; k < all; k++) PetscCheck(c->got[k] == (PetscScalar)0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %s, %s: wrote behind the last column", what, c->A->name, c->storage->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKind(Case *c, DCSRSpMMKind kind)
{
  DCSRSpMMPlan plan;
  char         what[128];

  PetscFunctionBegin;
  PetscCall(DCSRSpMMPlanCreate(c->view, kind, c->stream, &plan));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(numbers_of_columns); k++) {
    if (numbers_of_columns[k] > c->most) continue;
    PetscCall(PetscSNPrintf(what, sizeof(what), "Product with %" PetscInt_FMT " columns, %s", numbers_of_columns[k], DCSRSpMMKinds[kind]));
    PetscCall(CheckColumns(c, plan, numbers_of_columns[k], what));
  }
  for (PetscInt width = 2; width <= 32 && kind != DCSR_SPMM_AUTO; width *= 2)
    for (PetscInt slots = 1; slots <= 8; slots *= 2) {
      PetscCall(DCSRSpMMPlanSetConfig(plan, width, slots));
      PetscCall(PetscSNPrintf(what, sizeof(what), "Product with tiles of %" PetscInt_FMT " columns, %" PetscInt_FMT " slots, %s", width, slots, DCSRSpMMKinds[kind]));
      PetscCall(CheckColumns(c, plan, PetscMin(c->most, width + 1), what));
    }
  PetscCall(DCSRSpMMPlanDestroy(&plan, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  Case c;

  PetscFunctionBegin;
  if (storage->max_segments > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CaseCreate(A, storage, view, stream, &c));
  for (DCSRSpMMKind kind = DCSR_SPMM_AUTO; kind <= DCSR_SPMM_STAGED; kind = (DCSRSpMMKind)(kind + 1)) PetscCall(TestKind(&c, kind));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
