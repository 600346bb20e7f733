static char help[] = "The Arnoldi process: basis and Hessenberg matrix are those of the host, and the same bits in each run.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/smooth.h>

#define NUM_STEPS   12 /* more than DCSR_SUM_MAX */
#define NUM_NUMBERS (1 + NUM_STEPS * (NUM_STEPS + 1))

/* Where the numbers of step k are. */
static PetscScalar *Column(PetscScalar numbers[], int k)
{
  return numbers + 1 + k * (NUM_STEPS + 1);
}

/* w = A x for a chain that is not symmetric. */
static void Multiply(PetscInt n, const PetscScalar x[], PetscScalar w[])
{
  for (PetscInt i = 0; i < n; i++) w[i] = (PetscReal)(3 + i % 5) * x[i] - (i > 0 ? x[i - 1] : 0.0) - (i < n - 1 ? (PetscReal)0.5 * x[i + 1] : 0.0);
}

static PetscReal Square(PetscInt n, const PetscScalar x[])
{
  PetscReal sum = 0;

  for (PetscInt i = 0; i < n; i++) sum += PetscRealPart(PetscConj(x[i]) * x[i]);
  return sum;
}

/* All steps on the host. basis: [NUM_STEPS][n]; w: [n]. */
static void RunHost(PetscInt n, const PetscScalar d[], const PetscScalar b[], PetscScalar basis[], PetscScalar w[], PetscScalar numbers[])
{
  for (PetscInt i = 0; i < n; i++) w[i] = d[i] * b[i];
  numbers[0] = Square(n, w);
  for (int k = 0; k < NUM_STEPS; k++) {
    const PetscReal square = PetscRealPart(k == 0 ? numbers[0] : Column(numbers, k - 1)[k]);
    PetscScalar    *h = Column(numbers, k), *v = basis + k * n;

    for (PetscInt i = 0; i < n; i++) v[i] = w[i] / PetscSqrtReal(square);
    Multiply(n, v, w);
    for (PetscInt i = 0; i < n; i++) w[i] *= d[i];
    for (int j = 0; j <= k; j++) {
      h[j] = 0.0;
      for (PetscInt i = 0; i < n; i++) h[j] += PetscConj(basis[j * n + i]) * w[i];
    }
    for (int j = 0; j <= k; j++)
      for (PetscInt i = 0; i < n; i++) w[i] -= h[j] * basis[j * n + i];
    h[k + 1] = Square(n, w);
  }
}

/* The same on the device; products are the host's. basis, numbers: host, what came of it. */
static PetscErrorCode RunDevice(PetscInt n, const PetscScalar d[], const PetscScalar b[], cudaStream_t stream, PetscScalar basis[], PetscScalar numbers[])
{
  void        *d_device, *b_device, *product;
  PetscScalar *basis_device, *x_device, *w_device, *numbers_device, *x, *w;
  char        *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &x, n, &w));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*d), d, stream, &d_device));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*b), b, stream, &b_device));
  PetscCall(PetscSparseCUDAMalloc(NUM_STEPS * n, "basis", stream, &basis_device));
  PetscCall(PetscSparseCUDAMalloc(n, "vector", stream, &x_device));
  PetscCall(PetscSparseCUDAMalloc(n, "product", stream, &w_device));
  PetscCall(PetscSparseCUDAMalloc(NUM_NUMBERS, "numbers", stream, &numbers_device));
  PetscCall(PetscSparseCUDAMalloc(DCSR_SUM_BYTES, "sums of thread blocks", stream, &work));
  PetscCall(DCSRArnoldiStart(n, (const PetscScalar *)d_device, (const PetscScalar *)b_device, w_device, work, numbers_device, stream));
  for (int k = 0; k < NUM_STEPS; k++) {
    PetscScalar *h = Column(numbers_device, k), *current = k == 0 ? w_device : (PetscScalar *)product;

    PetscCall(DCSRArnoldiNormalize(n, k == 0 ? numbers_device : Column(numbers_device, k - 1) + k, current, n > 0 ? basis_device + k * n : NULL, x_device, stream));
    if (k > 0) PetscCall(PetscSparseCUDAFree(&product, stream));
    PetscCall(KernelTestToHost((size_t)n * sizeof(*x), x_device, stream, x));
    Multiply(n, x, w);
    PetscCall(KernelTestToDevice((size_t)n * sizeof(*w), w, stream, &product));
    PetscCall(DCSRArnoldiProject(n, (const PetscScalar *)d_device, k + 1, basis_device, (PetscScalar *)product, work, h, stream));
    PetscCall(DCSRArnoldiSubtract(n, k + 1, basis_device, (PetscScalar *)product, work, h, stream));
    PetscCall(KernelTestToHost((size_t)(k + 2) * sizeof(*numbers), h, stream, Column(numbers, k)));
  }
  PetscCall(KernelTestToHost(sizeof(*numbers), numbers_device, stream, numbers));
  PetscCall(KernelTestToHost((size_t)n * NUM_STEPS * sizeof(*basis), basis_device, stream, basis));
  PetscCall(PetscSparseCUDAFree(&product, stream));
  PetscCall(PetscSparseCUDAFree(&d_device, stream));
  PetscCall(PetscSparseCUDAFree(&b_device, stream));
  PetscCall(PetscSparseCUDAFree(&basis_device, stream));
  PetscCall(PetscSparseCUDAFree(&x_device, stream));
  PetscCall(PetscSparseCUDAFree(&w_device, stream));
  PetscCall(PetscSparseCUDAFree(&numbers_device, stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCall(PetscFree2(x, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(PetscInt n, cudaStream_t stream)
{
  const PetscReal tolerance               = PetscDefined(USE_REAL_SINGLE) ? 2e-3 : 1e-10;
  PetscScalar     numbers[3][NUM_NUMBERS] = {0}, *d, *b, *w, *basis[3];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &d, n, &b, n, &w));
  for (int run = 0; run < 3; run++) PetscCall(PetscMalloc1(NUM_STEPS * n, &basis[run]));
  for (PetscInt i = 0; i < n; i++) {
    d[i] = (PetscReal)1.0 / (PetscReal)(3 + i % 5);
    b[i] = KernelTestNumber(i, 3);
  }
  RunHost(n, d, b, basis[0], w, numbers[0]);
  for (int run = 1; run < 3; run++) PetscCall(RunDevice(n, d, b, stream, basis[run], numbers[run]));
  for (int k = 0; k < NUM_NUMBERS && n > 0; k++) {
    PetscCheck(numbers[1][k] == numbers[2][k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: number %d is %.17g, and %.17g in another run", n, k, (double)PetscRealPart(numbers[1][k]), (double)PetscRealPart(numbers[2][k]));
    PetscCheck(PetscAbsScalar(numbers[1][k] - numbers[0][k]) <= tolerance * (k == 0 ? PetscAbsScalar(numbers[0][0]) : 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: number %d is %.17g, not %.17g", n, k,
               (double)PetscRealPart(numbers[1][k]), (double)PetscRealPart(numbers[0][k]));
  }
  for (PetscInt i = 0; i < NUM_STEPS * n; i++)
    PetscCheck(PetscAbsScalar(basis[1][i] - basis[0][i]) <= tolerance, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: entry %" PetscInt_FMT " of the basis is %g, not %g", n, i, (double)PetscRealPart(basis[1][i]),
               (double)PetscRealPart(basis[0][i]));
  PetscCheck(n > 0 || numbers[1][0] == (PetscScalar)0.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The norm of no entries is %g", (double)PetscRealPart(numbers[1][0]));
  for (int run = 0; run < 3; run++) PetscCall(PetscFree(basis[run]));
  PetscCall(PetscFree3(d, b, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 33, 256, 257, 1000, 262145, 500003};
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
