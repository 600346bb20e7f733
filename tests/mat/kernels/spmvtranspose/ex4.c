static char help[] = "Transpose products of matrices of full blocks, without a stored transpose, against the host.\n\n";

#include "../entries/kerneltest.h"
#include "../entries/producttest.h"
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/spmvtranspose.h>

static const int sizes[][2] = {{2, 2}, {2, 3}, {3, 2}, {3, 3}, {3, 6}, {6, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {3, 1}};

#define TILE 2048 /* blocks */

static const struct {
  const char *name;
  Pattern     pattern;
  PetscInt    m, n;
} cases[] = {{"stencil", STENCIL9, 900, 900}, {"every other row is empty", HOLES, 1200, 1000}, {"two heavy columns", AGGREGATES, 3000, 2}, {"skewed", SKEWED, 97, 700}, {"one row", RANDOM4, 1, 30}};

/* y = op(A) x + z on the host, and the sums of absolute values that bound rounding errors. */
static void HostMult(const KernelTestMatrix *A, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], PetscReal scale[])
{
  for (PetscInt k = 0; k < A->n; k++) {
    y[k]     = z[k];
    scale[k] = PetscAbsScalar(z[k]);
  }
  for (PetscInt r = 0; r < A->m; r++) {
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      const PetscScalar term = (conjugate ? PetscConj(A->a[k]) : A->a[k]) * x[r];

      y[A->j[k]] += term;
      scale[A->j[k]] += PetscAbsScalar(term);
    }
  }
}

/* The plan goes by blocks, or not. */
static PetscErrorCode CheckPlan(DCSRSpMVTransposePlan plan, PetscBool by_blocks, const char what[], const char storage[])
{
  const char *description;
  PetscBool   blocks;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &description));
  blocks = (PetscBool)(strstr(description, "blocks of") != NULL);
  PetscCheck(blocks == by_blocks, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the plan is %s", what, storage, description);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProducts(const KernelTestMatrix *A, DCSRView view, DCSRSpMVTransposePlan plan, const char what[], const char storage[], cudaStream_t stream)
{
  const size_t bytes = (size_t)A->n * sizeof(PetscScalar);
  PetscScalar *x, *z, *expected, *got, *dx, *dy;
  PetscReal   *scale;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(A->m, &x, A->n, &z, A->n, &expected, A->n, &got, A->n, &scale));
  for (PetscInt r = 0; r < A->m; r++) x[r] = KernelTestNumber(r, 8);
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*x), x, stream, (void **)&dx));
  for (int variant = 0; variant < 4; variant++) {
    const PetscBool conjugate = (PetscBool)(variant & 1), add = (PetscBool)(variant >> 1);

    for (PetscInt r = 0; r < A->n; r++) z[r] = add ? KernelTestNumber(r, 9) : 0.0;
    PetscCall(KernelTestToDevice(bytes, z, stream, (void **)&dy));
    PetscCall(DCSRSpMVTransposeApply(plan, view, conjugate, dx, add ? dy : NULL, dy, stream));
    PetscCall(KernelTestToHost(bytes, dy, stream, got));
    HostMult(A, conjugate, x, z, expected, scale);
    PetscCall(KernelTestCompareScalars(A->n, got, expected, scale, what, A->name, storage));
    PetscCall(PetscSparseCUDAFree(&dy, stream));
  }
  PetscCall(PetscSparseCUDAFree(&dx, stream));
  PetscCall(PetscFree5(x, z, expected, got, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles are of blocks where they are asked for, and by the rule where each multiprocessor has one. */
static PetscErrorCode TestStorage(const KernelTestMatrix *A, const KernelTestStorage *storage, const int size[2], PetscBool by_blocks, cudaStream_t stream)
{
  DCSRSpMVTransposePlan plan;
  DCSRDeviceFacts       facts;
  DCSRView              view;
  size_t                before, after;
  char                  what[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "blocks of %d x %d", size[0], size[1]));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(KernelTestViewCreate(A, storage, stream, &view));
  view.row_block    = size[0];
  view.column_block = size[1];
  PetscCall(DCSRGetDeviceFacts(&facts));
  PetscCall(DCSRSpMVTransposePlanCreate(view, DCSR_SPMVT_AUTO, stream, &plan));
  PetscCall(CheckPlan(plan, (PetscBool)(by_blocks && A->nz / (size[0] * size[1]) >= (PetscCount)TILE * facts.num_multiprocessors), what, storage->name));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, stream));
  PetscCall(DCSRSpMVTransposePlanCreate(view, DCSR_SPMVT_TILE, stream, &plan));
  PetscCall(CheckPlan(plan, by_blocks, what, storage->name));
  PetscCall(TestProducts(A, view, plan, what, storage->name, stream));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, stream));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes of device memory are left", A->name, what, after - before);
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
      const PetscBool by_blocks = (PetscBool)(sizes[s][0] < 7 && sizes[s][1] > 1);

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
