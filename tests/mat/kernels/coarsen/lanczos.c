static char help[] = "Conjugate gradients without a solution: vectors and sums of each step are those of the host, and the same bits in each run.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/smooth.h>

#define NUM_STEPS 4
#define NUM_SUMS  (3 * NUM_STEPS + 2)

/* On the host. */
typedef struct {
  PetscScalar *d, *b, *r, *p, *w; /* [n] */
  PetscScalar  sums[NUM_SUMS];
} Reference;

/* The same on the device. */
typedef struct {
  void        *d, *b;
  PetscScalar *r, *p, *sums;
  char        *work;
} Device;

/* w = A p for a chain. */
static void Multiply(PetscInt n, const PetscScalar p[], PetscScalar w[])
{
  for (PetscInt i = 0; i < n; i++) w[i] = (PetscReal)(3 + i % 5) * p[i] - (i > 0 ? p[i - 1] : 0.0) - (i < n - 1 ? p[i + 1] : 0.0);
}

static void AddUp(PetscInt n, const Reference *h, PetscScalar sums[])
{
  sums[0] = sums[1] = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar z = h->d[i] * h->r[i];

    sums[0] += PetscConj(h->r[i]) * z;
    sums[1] += PetscRealPart(PetscConj(z) * z);
  }
}

/* A step of the host, its direction first. */
static void Step(PetscInt n, Reference *h, int k)
{
  PetscScalar *sums = h->sums + 3 * k;

  for (PetscInt i = 0; i < n; i++) h->p[i] = h->d[i] * h->r[i] + (k > 0 ? sums[0] / sums[-3] * h->p[i] : 0.0);
  Multiply(n, h->p, h->w);
  sums[2] = 0.0;
  for (PetscInt i = 0; i < n; i++) sums[2] += PetscConj(h->w[i]) * h->p[i];
  for (PetscInt i = 0; i < n; i++) h->r[i] -= sums[0] / sums[2] * h->w[i];
  AddUp(n, h, sums + 3);
}

static PetscErrorCode CheckVec(PetscInt n, const PetscScalar device[], const PetscScalar expected[], cudaStream_t stream, const char what[])
{
  const PetscReal tolerance = 1e4 * PETSC_MACHINE_EPSILON;
  PetscScalar    *got;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &got));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*got), device, stream, got));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(PetscAbsScalar(got[i] - expected[i]) <= tolerance * (1 + PetscAbsScalar(expected[i])), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%" PetscInt_FMT " entries: %s has %g at %" PetscInt_FMT ", not %g", n, what, (double)PetscRealPart(got[i]), i, (double)PetscRealPart(expected[i]));
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps; products are the host's, of the direction on the device. */
static PetscErrorCode RunDevice(PetscInt n, Reference *h, Device *v, PetscBool check, cudaStream_t stream, PetscScalar sums[])
{
  PetscScalar *p, *w;
  void        *product;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &p, n, &w));
  PetscCall(DCSRLanczosStart(n, (const PetscScalar *)v->d, (const PetscScalar *)v->b, v->r, v->p, v->work, v->sums, stream));
  for (int k = 0; k < NUM_STEPS; k++) {
    if (k > 0) PetscCall(DCSRLanczosTurn(n, (const PetscScalar *)v->d, v->r, v->p, v->sums + 3 * (k - 1), stream));
    PetscCall(KernelTestToHost((size_t)n * sizeof(*p), v->p, stream, p));
    Multiply(n, p, w);
    PetscCall(KernelTestToDevice((size_t)n * sizeof(*w), w, stream, &product));
    PetscCall(DCSRLanczosMultiply(n, v->p, (const PetscScalar *)product, v->work, v->sums + 3 * k, stream));
    PetscCall(DCSRLanczosUpdate(n, (const PetscScalar *)v->d, (const PetscScalar *)product, v->r, v->work, v->sums + 3 * k, stream));
    PetscCall(PetscSparseCUDAFree(&product, stream));
    if (!check) continue;
    Step(n, h, k);
    PetscCall(CheckVec(n, v->p, h->p, stream, "the direction"));
    PetscCall(CheckVec(n, v->r, h->r, stream, "the residual"));
  }
  PetscCall(KernelTestToHost(NUM_SUMS * sizeof(*sums), v->sums, stream, sums));
  PetscCall(PetscFree2(p, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(PetscInt n, cudaStream_t stream)
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10;
  PetscScalar     sums[2][NUM_SUMS];
  Reference       h;
  Device          v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(n, &h.d, n, &h.b, n, &h.r, n, &h.p, n, &h.w));
  for (PetscInt i = 0; i < n; i++) {
    h.d[i] = (PetscReal)1.0 / (PetscReal)(3 + i % 5);
    h.b[i] = h.r[i] = KernelTestNumber(i, 3);
  }
  AddUp(n, &h, h.sums);
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*h.d), h.d, stream, &v.d));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*h.b), h.b, stream, &v.b));
  PetscCall(PetscSparseCUDAMalloc(n, "residual", stream, &v.r));
  PetscCall(PetscSparseCUDAMalloc(n, "direction", stream, &v.p));
  PetscCall(PetscSparseCUDAMalloc(NUM_SUMS, "sums", stream, &v.sums));
  PetscCall(PetscSparseCUDAMalloc(DCSR_SUM_BYTES, "sums of thread blocks", stream, &v.work));
  for (int run = 0; run < 2; run++) PetscCall(RunDevice(n, &h, &v, (PetscBool)(run == 0), stream, sums[run]));
  for (int k = 0; k < NUM_SUMS && n > 10; k++) { // fewer are solved before
    PetscCheck(sums[0][k] == sums[1][k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: sum %d is %.17g, and %.17g in another run", n, k, (double)PetscRealPart(sums[0][k]),
               (double)PetscRealPart(sums[1][k]));
    PetscCheck(PetscAbsScalar(sums[0][k] - h.sums[k]) <= tolerance * PetscAbsScalar(h.sums[k]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: sum %d is %.17g, not %.17g", n, k,
               (double)PetscRealPart(sums[0][k]), (double)PetscRealPart(h.sums[k]));
  }
  for (int k = 0; k < 3; k++) PetscCheck(n > 0 || sums[0][k] == (PetscScalar)0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sum %d of no entries is %g", k, (double)PetscRealPart(sums[0][k]));
  PetscCall(PetscSparseCUDAFree(&v.d, stream));
  PetscCall(PetscSparseCUDAFree(&v.b, stream));
  PetscCall(PetscSparseCUDAFree(&v.r, stream));
  PetscCall(PetscSparseCUDAFree(&v.p, stream));
  PetscCall(PetscSparseCUDAFree(&v.sums, stream));
  PetscCall(PetscSparseCUDAFree(&v.work, stream));
  PetscCall(PetscFree5(h.d, h.b, h.r, h.p, h.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 11, 33, 256, 257, 1000, 262144, 262145, 1000003};
  PetscBool      usable;
  cudaStream_t   stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) PetscCall(Test(sizes[s], stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      requires: cuda
      output_file: output/empty.out

TEST*/
