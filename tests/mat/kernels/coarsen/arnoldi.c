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

static PetscErrorCode CheckClose(PetscInt n, PetscScalar got, PetscScalar expected, PetscReal scale, int step, const char what[])
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsScalar(got - expected) <= 1e3 * PETSC_MACHINE_EPSILON * scale, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries, step %d: %s is %.17g, not %.17g", n, step, what,
             (double)PetscRealPart(got), (double)PetscRealPart(expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What a step has made, compared with what the host makes of what the device had before: errors of rounding grow by a factor a step. w: product; after: what the device has left of it; basis: [step +
  1][n], h: [step + 2]
*/
static PetscErrorCode CheckStep(PetscInt n, int step, const PetscScalar d[], PetscScalar w[], const PetscScalar after[], const PetscScalar basis[], const PetscScalar h[])
{
  PetscReal scale;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) w[i] *= d[i];
  scale = PetscSqrtReal(Square(n, w));
  for (int j = 0; j <= step; j++) {
    PetscScalar sum = 0.0;

    for (PetscInt i = 0; i < n; i++) sum += PetscConj(basis[j * n + i]) * w[i];
    PetscCall(CheckClose(n, h[j], sum, scale, step, "an inner product"));
  }
  for (int j = 0; j <= step; j++)
    for (PetscInt i = 0; i < n; i++) w[i] -= h[j] * basis[j * n + i];
  for (PetscInt i = 0; i < n; i++) PetscCall(CheckClose(n, after[i], w[i], 1, step, "an entry of what is left"));
  PetscCall(CheckClose(n, h[step + 1], Square(n, after), 1, step, "the square of a norm"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vector k of the basis is w / |w|, and so is the copy that is multiplied. */
static PetscErrorCode CheckVector(PetscInt n, int step, const PetscScalar w[], PetscReal square, const PetscScalar v[], const PetscScalar x[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(CheckClose(n, x[i], w[i] / PetscSqrtReal(square), 1, step, "an entry of a vector"));
    PetscCheck(v[i] == x[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries, step %d: the vector has another copy in the basis", n, step);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps; products are the host's. numbers: host. */
static PetscErrorCode Run(PetscInt n, const PetscScalar d[], const PetscScalar b[], cudaStream_t stream, PetscScalar numbers[])
{
  void        *d_device, *b_device, *product;
  PetscScalar *basis_device, *x_device, *w_device, *numbers_device, *basis, *x, *w, *product_host;
  char        *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(NUM_STEPS * n, &basis, n, &x, n, &w, n, &product_host));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*d), d, stream, &d_device));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*b), b, stream, &b_device));
  PetscCall(PetscSparseCUDAMalloc(NUM_STEPS * n, "basis", stream, &basis_device));
  PetscCall(PetscSparseCUDAMalloc(n, "vector", stream, &x_device));
  PetscCall(PetscSparseCUDAMalloc(n, "product", stream, &w_device));
  PetscCall(PetscSparseCUDAMalloc(NUM_NUMBERS, "numbers", stream, &numbers_device));
  PetscCall(PetscSparseCUDAMalloc(DCSR_SUM_BYTES, "sums of thread blocks", stream, &work));
  PetscCall(DCSRArnoldiStart(n, (const PetscScalar *)d_device, (const PetscScalar *)b_device, w_device, work, numbers_device, stream));
  PetscCall(KernelTestToHost(sizeof(*numbers), numbers_device, stream, numbers));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*w), w_device, stream, w));
  for (PetscInt i = 0; i < n; i++) PetscCall(CheckClose(n, w[i], d[i] * b[i], 1, 0, "an entry of the start"));
  PetscCall(CheckClose(n, numbers[0], Square(n, w), PetscMax(PetscAbsScalar(numbers[0]), 1), 0, "the square of the first norm"));
  for (int k = 0; k < NUM_STEPS && n > 0; k++) {
    PetscScalar *square = k == 0 ? numbers_device : Column(numbers_device, k - 1) + k, *h = Column(numbers_device, k);

    PetscCall(DCSRArnoldiNormalize(n, square, w_device, basis_device + k * n, x_device, stream));
    PetscCall(KernelTestToHost((size_t)n * sizeof(*x), x_device, stream, x));
    PetscCall(KernelTestToHost((size_t)n * sizeof(*x), basis_device + k * n, stream, basis + k * n));
    PetscCall(CheckVector(n, k, w, PetscRealPart(k == 0 ? numbers[0] : Column(numbers, k - 1)[k]), basis + k * n, x));
    Multiply(n, x, product_host);
    PetscCall(KernelTestToDevice((size_t)n * sizeof(*w), product_host, stream, &product));
    PetscCall(DCSRArnoldiProject(n, (const PetscScalar *)d_device, k + 1, basis_device, (PetscScalar *)product, work, h, stream));
    PetscCall(DCSRArnoldiSubtract(n, k + 1, basis_device, (PetscScalar *)product, work, h, stream));
    PetscCall(KernelTestToHost((size_t)(k + 2) * sizeof(*numbers), h, stream, Column(numbers, k)));
    PetscCall(KernelTestToHost((size_t)n * sizeof(*w), product, stream, w));
    PetscCall(CheckStep(n, k, d, product_host, w, basis, Column(numbers, k)));
    PetscCall(PetscSparseCUDAFree(&w_device, stream));
    w_device = (PetscScalar *)product;
  }
  PetscCall(PetscSparseCUDAFree(&d_device, stream));
  PetscCall(PetscSparseCUDAFree(&b_device, stream));
  PetscCall(PetscSparseCUDAFree(&basis_device, stream));
  PetscCall(PetscSparseCUDAFree(&x_device, stream));
  PetscCall(PetscSparseCUDAFree(&w_device, stream));
  PetscCall(PetscSparseCUDAFree(&numbers_device, stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCall(PetscFree4(basis, x, w, product_host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(PetscInt n, cudaStream_t stream)
{
  PetscScalar numbers[2][NUM_NUMBERS] = {0}, *d, *b;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &d, n, &b));
  for (PetscInt i = 0; i < n; i++) {
    d[i] = (PetscReal)1.0 / (PetscReal)(3 + i % 5);
    b[i] = KernelTestNumber(i, 3);
  }
  for (int run = 0; run < 2; run++) PetscCall(Run(n, d, b, stream, numbers[run]));
  for (int k = 0; k < NUM_NUMBERS; k++)
    PetscCheck(numbers[0][k] == numbers[1][k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries: number %d is %.17g, and %.17g in another run", n, k, (double)PetscRealPart(numbers[0][k]),
               (double)PetscRealPart(numbers[1][k]));
  PetscCall(PetscFree2(d, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 33, 256, 257, 1000, 270001};
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
