static char help[] = "Transpose products without a stored transpose, on all shapes, compact storages and kernels.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sweeps.h"

typedef struct {
  const KernelTestMatrix *A;
  DCSRView                view;
  cudaStream_t            stream;
  PetscScalar            *x, *z, *expected, *got; /* host */
  PetscReal              *scale;
  PetscScalar            *dx, *dz, *dy; /* device */
} Case;

/* expected and scale have n entries for each of: transpose, Hermitian transpose, and both with z added. */
static PetscErrorCode HostMult(Case *c)
{
  const KernelTestMatrix *A = c->A;

  PetscFunctionBegin;
  for (int which = 0; which < 4; which++) {
    PetscScalar *expected = c->expected + (PetscCount)which * A->n;
    PetscReal   *scale    = c->scale + (PetscCount)which * A->n;

    for (PetscInt k = 0; k < A->n; k++) {
      expected[k] = which & 2 ? c->z[k] : 0.0;
      scale[k]    = PetscAbsScalar(expected[k]);
    }
    for (PetscInt r = 0; r < A->m; r++) {
      for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
        const PetscScalar product = (which & 1 ? PetscConj(A->a[k]) : A->a[k]) * c->x[r];

        expected[A->j[k]] += product;
        scale[A->j[k]] += PetscAbsScalar(product);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x, y = op(A) x + z, and the latter in place. */
static PetscErrorCode CheckPlan(Case *c, DCSRSpMVTransposePlan plan, const char storage[])
{
  const char  *description;
  const size_t bytes = (size_t)c->A->n * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &description));
  for (int variant = 0; variant < 6; variant++) {
    const PetscBool conjugate = variant & 1 ? PETSC_TRUE : PETSC_FALSE;
    const int       add       = variant / 2;
    const PetscInt  which     = (variant & 1) + (add ? 2 : 0);

    if (bytes) PetscCallCUDA(cudaMemsetAsync(c->dy, 0xff, bytes, c->stream));
    if (bytes && add == 2) PetscCallCUDA(cudaMemcpyAsync(c->dy, c->dz, bytes, cudaMemcpyDeviceToDevice, c->stream));
    PetscCall(DCSRSpMVTransposeApply(plan, c->view, conjugate, c->dx, add == 0 ? NULL : (add == 1 ? c->dz : c->dy), c->dy, c->stream));
    PetscCall(KernelTestToHost(bytes, c->dy, c->stream, c->got));
    PetscCall(KernelTestCompareScalars(c->A->n, c->got, c->expected + (PetscCount)which * c->A->n, c->scale + (PetscCount)which * c->A->n, description, c->A->name, storage));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKinds(Case *c, const char storage[])
{
  DCSRSpMVTransposePlan plan;
  DCSRSpMVTransposeKind kind;
  size_t                bytes;

  PetscFunctionBegin;
  for (int wanted = DCSR_SPMVT_AUTO; wanted <= DCSR_SPMVT_TILE; wanted++) {
    PetscCall(DCSRSpMVTransposePlanCreate(c->view, (DCSRSpMVTransposeKind)wanted, c->stream, &plan));
    PetscCall(DCSRSpMVTransposePlanGetInfo(plan, &kind, &bytes, NULL));
    if (c->view.row_offsets) PetscCheck((bytes > 0) == (c->A->nz > 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes in the plan", c->A->name, storage, bytes);
    if (c->A->m > 16 * c->A->nz)
      PetscCheck(bytes <= 16 * (size_t)c->A->nz + 1024, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %zu bytes in the plan, though few rows have nonzeros", c->A->name, storage, bytes);
    PetscCheck(wanted != DCSR_SPMVT_ATOMIC || kind == DCSR_SPMVT_ATOMIC, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the wanted kind was not chosen", c->A->name, storage);
    PetscCheck(wanted != DCSR_SPMVT_TILE || kind == DCSR_SPMVT_TILE || c->view.row_offsets == NULL || !c->A->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the wanted kind was not chosen", c->A->name,
               storage);
    PetscCall(CheckPlan(c, plan, storage));
    PetscCall(DCSRSpMVTransposePlanDestroy(&plan, c->stream));
    PetscCall(DCSRSpMVTransposePlanDestroy(&plan, c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every instantiation. */
static PetscErrorCode TestKernels(Case *c, const char storage[])
{
  DCSRSpMVTransposePlan plan;
  PetscBool             fits;
  const char           *name;

  PetscFunctionBegin;
  if (c->view.row_offsets == NULL || !c->A->nz) PetscFunctionReturn(PETSC_SUCCESS);
  for (int kernel = 0;; kernel++) {
    PetscCall(DCSRSpMVTransposeGetKernel(kernel, &name));
    if (name == NULL) break;
    PetscCall(DCSRSpMVTransposeKernelFits(kernel, &fits));
    if (!fits) continue; // the largest tiles of complex numbers
    PetscCall(DCSRSpMVTransposePlanCreateKernel(c->view, kernel, c->stream, &plan));
    PetscCall(CheckPlan(c, plan, storage));
    PetscCall(DCSRSpMVTransposePlanDestroy(&plan, c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  Case c;

  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  c.A      = A;
  c.view   = view;
  c.stream = stream;
  PetscCall(PetscMalloc5(A->m, &c.x, A->n, &c.z, 4 * (size_t)A->n, &c.expected, A->n, &c.got, 4 * (size_t)A->n, &c.scale));
  for (PetscInt r = 0; r < A->m; r++) c.x[r] = KernelTestNumber(r, 8);
  for (PetscInt r = 0; r < A->n; r++) c.z[r] = KernelTestNumber(r, 9);
  PetscCall(HostMult(&c));
  PetscCall(KernelTestToDevice((size_t)A->m * sizeof(*c.x), c.x, stream, (void **)&c.dx));
  PetscCall(KernelTestToDevice((size_t)A->n * sizeof(*c.z), c.z, stream, (void **)&c.dz));
  PetscCall(KernelTestToDevice((size_t)A->n * sizeof(*c.z), NULL, stream, (void **)&c.dy));
  PetscCall(TestKinds(&c, storage->name));
  PetscCall(TestKernels(&c, storage->name));
  PetscCall(PetscSparseCUDAFree(&c.dx, stream));
  PetscCall(PetscSparseCUDAFree(&c.dz, stream));
  PetscCall(PetscSparseCUDAFree(&c.dy, stream));
  PetscCall(PetscFree5(c.x, c.z, c.expected, c.got, c.scale));
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
