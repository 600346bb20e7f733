static char help[] = "Exchanges of a PetscSF that works on a stream of its own, as with the Kokkos backend, and vectors in device memory whose type has another name.\n\n";

#include "testmat.h"
#include <petscsparsecuda/sys.h>
#include "../../../../src/mat/impls/aijcuda/exchange/exchange.h"
#include "../../../../src/mat/impls/aijcuda/parallel/parallel.h"
#include "../../../../src/petsc/vec.h"

#define SIZE          3000
#define PER_ROW       7
#define BUSY_PRODUCTS 100 /* queued before what an exchange has to wait for: milliseconds */
#define REPEAT        5

static PetscBool usable;
static TestBusy  busy;

/* Buffers of the CUDA backend go on with its functions on another stream, which the library takes for Kokkos' from now on. With the Kokkos backend nothing changes. */
static PetscErrorCode SetStream(PetscSF sf, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (sf->backend == PETSCSF_BACKEND_CUDA) PetscCall(PetscSparseCUDASetSFStream(sf, stream));
  sf->backend = PETSCSF_BACKEND_KOKKOS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All operations that scatter, while much is queued before them. */
static PetscErrorCode Operations(Mat A, Vec x, Vec y, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMultTranspose(A, y, x));
  PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  PetscCall(VecScale(x, 0.125));
  PetscCall(MatMultTransposeAdd(A, x, y, y));
  PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  PetscCall(VecScale(y, 0.0625));
  PetscCall(MatMultHermitianTranspose(A, y, x));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  PetscCall(MatNorm(A, NORM_1, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(Mat A, Vec x[2], Vec y[2], int k, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(TestFill(x[k], 1));
  PetscCall(TestFill(y[k], 2));
  PetscCall(Operations(A, x[k], y[k], norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The library says what PetscSF would ask the device for. */
static PetscErrorCode TestNumThreads(void)
{
  struct cudaDeviceProp properties;
  PetscSF               sf;
  int                   device;

  PetscFunctionBegin;
  if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&properties, device));
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  PetscCall(PetscSparseCUDASetSFNumThreads(sf));
  PetscCheck(sf->maxResidentThreadsPerGPU == properties.maxThreadsPerMultiProcessor * properties.multiProcessorCount, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d threads, not %d times %d",
             (int)sf->maxResidentThreadsPerGPU, properties.maxThreadsPerMultiProcessor, properties.multiProcessorCount);
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOwnStream(Mat A, Vec x[2], Vec y[2])
{
  const PetscSF        sf      = ((Mat_MPIAIJ *)A->data)->Mvctx;
  const PetscSFBackend backend = sf->backend;
  cudaStream_t         stream  = NULL;
  PetscReal            norms[2];

  PetscFunctionBegin;
  PetscCall(Run(A, x, y, 0, &norms[0])); // makes the buffers
  if (usable) {
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCallCUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    PetscCall(SetStream(sf, stream));
  }
  for (int k = 0; k < REPEAT; k++) {
    PetscCall(Run(A, x, y, 1, &norms[1]));
    PetscCall(TestCompareVec(x[0], x[1], "x"));
    PetscCall(TestCompareVec(y[0], y[1], "y"));
    PetscCheck(PetscAbsReal(norms[0] - norms[1]) <= 100 * PETSC_MACHINE_EPSILON * norms[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Norms %g and %g", (double)norms[0], (double)norms[1]);
  }
  sf->backend = backend; // the next operation gives the buffers the library's stream again
  if (usable) {
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCallCUDA(cudaStreamDestroy(stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The memory is asked for, not the name of the type. */
static PetscErrorCode TestMemory(Mat A)
{
  Vec       v, host;
  char     *own;
  PetscBool kokkos;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCheck(VecIsOnDevice(v) == usable, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A vector of the matrix is%s on the device", usable ? " not" : "");
  PetscCall(PetscStrallocpy(((PetscObject)v)->type_name, &own));
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, "someothername"));
  PetscCheck(VecIsOnDevice(v) == usable, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A vector whose type has another name is%s on the device", usable ? " not" : "");
  PetscCall(PetscObjectChangeTypeName((PetscObject)v, own));
  PetscCall(PetscFree(own));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &kokkos, VECSEQKOKKOS, VECMPIKOKKOS, ""));
  if (!kokkos) PetscCall(VecBindToCPU(v, PETSC_TRUE)); // which cannot be bound
  PetscCheck(kokkos || !VecIsOnDevice(v), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A vector that is bound to the CPU is on the device");
  PetscCall(VecCreate(PETSC_COMM_WORLD, &host));
  PetscCall(VecSetSizes(host, PETSC_DECIDE, SIZE));
  PetscCall(VecSetType(host, VECSTANDARD));
  PetscCheck(!VecIsOnDevice(host), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A vector on the host is on the device");
  PetscCall(VecDestroy(&host));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  VecType     vec_type;
  PetscMPIInt size;
  Mat         A, B;
  Vec         x[2], y[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (usable) PetscCall(TestBusyCreate(&busy));
  PetscCall(TestNumThreads());
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, PER_ROW, 1, &A, &B));
  PetscCall(MatSetFromOptions(B)); // -mat_vec_type
  PetscCall(MatGetVecType(B, &vec_type));
  for (int k = 0; k < 2; k++) PetscCall(MatCreateVecs(B, &x[k], &y[k]));
  PetscCall(TestMemory(B));
  if (size > 1) PetscCall(TestOwnStream(B, x, y));
  PetscCall(TestCompareProducts(A, B, vec_type));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(TestBusyDestroy(&busy));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/empty.out
      nsize: {{1 2 3}}
      test:
         suffix: stream
      test:
         suffix: kokkos
         requires: cuda kokkos_kernels
         args: -mat_vec_type kokkos -sf_backend {{cuda kokkos}}

TEST*/
