static char help[] = "Products with small dense matrices: the sums of a loop on the host, of all sizes on both sides of a warp.\n\n";

#include <petscsparsecuda.h>
#include <petscsparsecuda/densemult.h>

#define MAX_SIZE 129

/* Small integers, whose sums are exact in any order. */
static PetscScalar Value(PetscInt i, PetscInt j)
{
  return (PetscScalar)((7 * i + 3 * j + i * j) % 11 - 5);
}

static PetscErrorCode Check(PetscInt m, PetscInt n, PetscScalar host[], PetscScalar device[], cudaStream_t stream)
{
  PetscScalar *const B = device, *const x = B + m * n, *const y = x + n, *const result = host + m * n + n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < m; i++)
    for (PetscInt j = 0; j < n; j++) host[i * n + j] = Value(i, j);
  for (PetscInt j = 0; j < n; j++) host[m * n + j] = Value(j, 2);
  for (PetscInt i = 0; i <= m; i++) result[i] = 99.0;
  PetscCall(PetscSparseCUDACopyToDevice(device, host, sizeof(*host) * (size_t)(m * n + n + m + 1), stream));
  PetscCall(DCSRDenseMult(m, n, B, x, y, stream));
  PetscCall(PetscSparseCUDACopyToHost(result, y, sizeof(*host) * (size_t)(m + 1), stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscInt i = 0; i < m; i++) {
    PetscScalar sum = 0.0;

    for (PetscInt j = 0; j < n; j++) sum += Value(i, j) * Value(j, 2);
    PetscCheck(result[i] == sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT ", row %" PetscInt_FMT ": %g, not %g", m, n, i, (double)PetscRealPart(result[i]),
               (double)PetscRealPart(sum));
  }
  PetscCheck(result[m] == (PetscScalar)99.0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " x %" PetscInt_FMT ": an entry behind the last row was written", m, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[]  = {0, 1, 2, 7, 8, 9, 31, 32, 33, 50, 64, 127, 128, MAX_SIZE};
  const size_t   capacity = MAX_SIZE * (MAX_SIZE + 3);
  PetscScalar   *host, *device;
  cudaStream_t   stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc1(capacity, &host));
  PetscCall(PetscSparseCUDAMalloc(capacity, "test", stream, &device));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(sizes); i++)
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(sizes); j++) PetscCall(Check(sizes[i], sizes[j], host, device, stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscFree(host));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      args: -malloc_dump
      output_file: output/empty.out

TEST*/
