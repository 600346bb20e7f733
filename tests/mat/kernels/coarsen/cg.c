static char help[] = "Conjugate gradients with a solution and without: vectors and sums of each step are those of the host, and the same bits in each run.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/smooth.h>

#define NUM_STEPS 4
#define NUM_SUMS  (3 * NUM_STEPS + 2)

/* On the host. */
typedef struct {
  PetscScalar *d, *b, *r, *p, *w, *x; /* [n] */
  PetscScalar  sums[NUM_SUMS];
} Reference;

/* The same on the device. */
typedef struct {
  void        *d, *b;
  PetscScalar *r, *p, *x, *sums;
  char        *work;
} Device;

/* w = A p for a chain. */
static void Multiply(PetscInt n, const PetscScalar p[], PetscScalar w[])
{
  for (PetscInt i = 0; i < n; i++) w[i] = (PetscReal)(3 + i % 5) * p[i] - (i > 0 ? p[i - 1] : 0.0) - (i < n - 1 ? p[i + 1] : 0.0);
}

static void AddUp(PetscInt n, const Reference *h, PetscBool residual, PetscScalar sums[])
{
  sums[0] = sums[1] = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar z = h->d[i] * h->r[i];

    sums[0] += PetscConj(h->r[i]) * z;
    sums[1] += PetscRealPart(residual ? PetscConj(h->r[i]) * h->r[i] : PetscConj(z) * z);
  }
}

/* A step of the host, its direction first. */
static void Step(PetscInt n, Reference *h, PetscBool residual, int k)
{
  PetscScalar *sums = h->sums + 3 * k;

  for (PetscInt i = 0; i < n; i++) h->p[i] = h->d[i] * h->r[i] + (k > 0 ? sums[0] / sums[-3] * h->p[i] : 0.0);
  Multiply(n, h->p, h->w);
  sums[2] = 0.0;
  for (PetscInt i = 0; i < n; i++) sums[2] += PetscConj(h->w[i]) * h->p[i];
  for (PetscInt i = 0; i < n; i++) {
    h->r[i] -= sums[0] / sums[2] * h->w[i];
    h->x[i] += sums[0] / sums[2] * h->p[i];
  }
  AddUp(n, h, residual, sums + 3);
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

/* With x nothing moves where the curvature, or the product of residual and z, is 0, no number, or of another sign than before. */
static PetscErrorCode TestNoStep(PetscInt n, Device *v, const PetscScalar w[], PetscBool residual, PetscScalar sums[], cudaStream_t stream)
{
  const PetscReal nan = PetscSqrtReal(-(PetscReal)1);
  PetscScalar     saved[5], *before[2][2];
  void           *sums_before;

  PetscFunctionBegin;
  PetscCall(KernelTestToHost(sizeof(saved), sums, stream, saved));
  PetscCall(KernelTestToDevice(3 * sizeof(*saved), saved, stream, &sums_before));
  for (int m = 0; m < 2; m++) PetscCall(PetscMalloc2(n, &before[m][0], n, &before[m][1]));
  PetscCall(KernelTestToHost((size_t)n * sizeof(PetscScalar), v->r, stream, before[0][0]));
  PetscCall(KernelTestToHost((size_t)n * sizeof(PetscScalar), v->x, stream, before[0][1]));
  for (int c = 0; c < (PetscDefined(USE_COMPLEX) ? 5 : 6); c++) { // signs of complex products tell nothing
    const int         which = c % 2 ? 0 : 2;
    const PetscScalar value = c < 2 ? 0.0 : c < 4 ? nan : -saved[which];
    PetscBool         same[2];

    PetscCallCUDA(cudaMemcpyAsync(sums, saved, 3 * sizeof(*saved), cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaMemcpyAsync(sums + which, &value, sizeof(value), cudaMemcpyHostToDevice, stream));
    PetscCall(DCSRCGUpdate(n, (const PetscScalar *)v->d, v->p, w, residual, (const PetscScalar *)sums_before, sums, v->r, v->x, v->work, sums + 3, stream));
    PetscCall(KernelTestToHost((size_t)n * sizeof(PetscScalar), v->r, stream, before[1][0]));
    PetscCall(KernelTestToHost((size_t)n * sizeof(PetscScalar), v->x, stream, before[1][1]));
    for (int k = 0; k < 2; k++) PetscCall(PetscMemcmp(before[0][k], before[1][k], (size_t)n * sizeof(PetscScalar), &same[k]));
    PetscCheck(same[0] && same[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: the %s has moved in a step that is none", n, same[0] ? "solution" : "residual");
  }
  PetscCall(PetscSparseCUDAFree(&sums_before, stream));
  PetscCallCUDA(cudaMemcpyAsync(sums, saved, sizeof(saved), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (int m = 0; m < 2; m++) PetscCall(PetscFree2(before[m][0], before[m][1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps, those with x after one that is none; products are the host's, of the direction on the device. */
static PetscErrorCode RunDevice(PetscInt n, Reference *h, Device *v, PetscBool residual, PetscBool check, cudaStream_t stream, PetscScalar sums[])
{
  PetscScalar *p, *w;
  void        *product;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &p, n, &w));
  PetscCall(DCSRCGStart(n, (const PetscScalar *)v->d, (const PetscScalar *)v->b, residual, v->r, v->p, v->work, v->sums, stream));
  for (int k = 0; k < NUM_STEPS; k++) {
    if (k > 0) PetscCall(DCSRCGTurn(n, (const PetscScalar *)v->d, v->r, v->sums + 3 * (k - 1), v->sums + 3 * k, v->p, stream));
    PetscCall(KernelTestToHost((size_t)n * sizeof(*p), v->p, stream, p));
    Multiply(n, p, w);
    PetscCall(KernelTestToDevice((size_t)n * sizeof(*w), w, stream, &product));
    PetscCall(DCSRCGMultiply(n, v->p, (const PetscScalar *)product, v->work, v->sums + 3 * k, stream));
    if (v->x) PetscCall(TestNoStep(n, v, (const PetscScalar *)product, residual, v->sums + 3 * k, stream));
    PetscCall(DCSRCGUpdate(n, (const PetscScalar *)v->d, v->p, (const PetscScalar *)product, residual, v->x && k > 0 ? v->sums + 3 * (k - 1) : NULL, v->sums + 3 * k, v->r, v->x, v->work,
                           v->sums + 3 * k + 3, stream));
    PetscCall(PetscSparseCUDAFree(&product, stream));
    if (!check) continue;
    Step(n, h, residual, k);
    PetscCall(CheckVec(n, v->p, h->p, stream, "the direction"));
    PetscCall(CheckVec(n, v->r, h->r, stream, "the residual"));
    if (v->x) PetscCall(CheckVec(n, v->x, h->x, stream, "the solution"));
  }
  PetscCall(KernelTestToHost(NUM_SUMS * sizeof(*sums), v->sums, stream, sums));
  PetscCall(PetscFree2(p, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(PetscInt n, PetscBool solution, PetscBool residual, cudaStream_t stream)
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10;
  PetscScalar     sums[2][NUM_SUMS];
  Reference       h;
  Device          v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(n, &h.d, n, &h.b, n, &h.r, n, &h.p, n, &h.w, n, &h.x));
  for (PetscInt i = 0; i < n; i++) {
    h.d[i] = (PetscReal)1.0 / (PetscReal)(3 + i % 5);
    h.b[i] = h.r[i] = KernelTestNumber(i, 3);
    h.x[i]          = 0.0;
  }
  AddUp(n, &h, residual, h.sums);
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*h.d), h.d, stream, &v.d));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*h.b), h.b, stream, &v.b));
  PetscCall(PetscSparseCUDAMalloc(n, "residual", stream, &v.r));
  PetscCall(PetscSparseCUDAMalloc(n, "direction", stream, &v.p));
  v.x = NULL;
  if (solution) PetscCall(PetscSparseCUDAMalloc(n, "solution", stream, &v.x));
  PetscCall(PetscSparseCUDAMalloc(NUM_SUMS, "sums", stream, &v.sums));
  PetscCallCUDA(cudaMemsetAsync(v.sums, 0, NUM_SUMS * sizeof(*v.sums), stream));
  PetscCall(PetscSparseCUDAMalloc(DCSR_SUM_BYTES, "sums of thread blocks", stream, &v.work));
  for (int run = 0; run < 2; run++) {
    if (v.x) PetscCallCUDA(cudaMemsetAsync(v.x, 0, (size_t)n * sizeof(*v.x), stream));
    PetscCall(RunDevice(n, &h, &v, residual, (PetscBool)(run == 0), stream, sums[run]));
  }
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
  PetscCall(PetscSparseCUDAFree(&v.x, stream));
  PetscCall(PetscSparseCUDAFree(&v.sums, stream));
  PetscCall(PetscSparseCUDAFree(&v.work, stream));
  PetscCall(PetscFree6(h.d, h.b, h.r, h.p, h.w, h.x));
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
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
      for (int k = 0; k < 4; k++) PetscCall(Test(sizes[s], (PetscBool)(k / 2), (PetscBool)(k % 2), stream));
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
