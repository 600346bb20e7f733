static char help[] = "Each process has a GPU of its own when there are enough of them, without options: all that the library uses is on the device that PETSc has chosen, and products are right.\n\n";

#include "../lib/sys.h"
#include <petscsparsecuda/exportable.h>
#include <petscsparsecuda/preload.h>
#include <petscsparsecuda.h>
#include <petscmat.h>

#define NAME_LENGTH 32
#define COPY_BYTES  ((size_t)80 << 20) /* more than one thread copies */

/* Whether memory is on the device of this process; on one without any, -1, it may be anywhere. */
static PetscErrorCode CheckPosition(const char what[], const void *ptr, int device)
{
  struct cudaPointerAttributes attributes;

  PetscFunctionBegin;
  if (ptr == NULL || device < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaPointerGetAttributes(&attributes, ptr));
  PetscCheck(attributes.type == cudaMemoryTypeDevice && attributes.device == device, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: memory of type %d on device %d, this process has device %d", what,
             (int)attributes.type, attributes.device, device);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Processes sit on different GPUs as far as there are some. Launchers may show each process another one, so that numbers say nothing. */
static PetscErrorCode CheckDevices(int device)
{
  char       *all, name[NAME_LENGTH] = "";
  PetscMPIInt size, num_distinct     = 0;
  int         count;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallCUDA(cudaGetDeviceCount(&count));
  PetscCallCUDA(cudaDeviceGetPCIBusId(name, NAME_LENGTH, device));
  PetscCall(PetscMalloc1(size * NAME_LENGTH, &all));
  PetscCallMPI(MPI_Allgather(name, NAME_LENGTH, MPI_CHAR, all, NAME_LENGTH, MPI_CHAR, PETSC_COMM_WORLD));
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscMPIInt s = 0;

    while (s < r && strncmp(all + s * NAME_LENGTH, all + r * NAME_LENGTH, NAME_LENGTH) != 0) s++;
    num_distinct += s == r;
  }
  PetscCall(PetscFree(all));
  PetscCheck(num_distinct >= PetscMin(size, count), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d processes are on %d of %d GPUs", size, num_distinct, count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The library's own memory, copies in threads, and kernels that a thread has loaded. */
static PetscErrorCode CheckLibrary(int device)
{
  char        *pooled, *exportable, *host;
  PetscInt     loaded, failed;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAMalloc(COPY_BYTES, "a test", stream, &pooled));
  PetscCall(PetscSparseCUDAMallocExportable(COPY_BYTES, "a test", stream, &exportable));
  PetscCall(CheckPosition("pool", pooled, device));
  PetscCall(CheckPosition("exportable memory", exportable, device));
  PetscCall(PetscMalloc1(COPY_BYTES, &host));
  for (size_t k = 0; k < COPY_BYTES; k++) host[k] = (char)(k % 101);
  PetscCall(PetscSparseCUDACopyToDevice(pooled, host, COPY_BYTES, stream));
  PetscCallCUDA(cudaMemcpyAsync(exportable, pooled, COPY_BYTES, cudaMemcpyDeviceToDevice, stream));
  PetscCall(PetscArrayzero(host, COPY_BYTES));
  PetscCall(PetscSparseCUDACopyToHost(host, exportable, COPY_BYTES, stream));
  for (size_t k = 0; k < COPY_BYTES; k++) PetscCheck(host[k] == (char)(k % 101), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Byte %zu comes back as %d", k, (int)host[k]);
  PetscCall(PetscFree(host));
  PetscCall(PetscSparseCUDAFree(&exportable, stream));
  PetscCall(PetscSparseCUDAFree(&pooled, stream));
  PetscCall(PetscSparseCUDATestPreloadWait(&loaded, &failed));
  PetscCheck(failed == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " kernels cannot be loaded", failed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid's Laplacian, with entries that make it unsymmetric. */
static PetscErrorCode CreateMat(MatType type, Mat *A)
{
  const PetscInt n = 23;
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt columns[] = {row - n, row % n > 0 ? row - 1 : -1, row, row % n < n - 1 ? row + 1 : -1, row + n < n * n ? row + n : -1};

    for (int k = 0; k < 5; k++)
      if (columns[k] >= 0) PetscCall(MatSetValue(*A, row, columns[k], k == 2 ? 4.0 : -1.0 - 0.01 * k - 0.001 * (PetscScalar)(row % 7), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x or A^T x against MATAIJ. */
static PetscErrorCode CheckMult(Mat A, Mat reference, PetscBool transpose, int device)
{
  Vec                x, y, x2, y2, difference;
  const PetscScalar *array;
  PetscScalar       *from, *to;
  PetscMemType       mtype;
  PetscReal          norm, error;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatCreateVecs(reference, &x2, &y2));
  PetscCall(VecGetLocalSize(x2, &n));
  PetscCall(VecGetArray(x2, &from));
  for (PetscInt k = 0; k < n; k++) from[k] = 1.0 + 0.1 * (PetscScalar)(k % 13);
  PetscCall(VecRestoreArray(x2, &from));
  PetscCall(VecCopy(x2, x));
  if (transpose) {
    PetscCall(MatMultTranspose(A, x, y));
    PetscCall(MatMultTranspose(reference, x2, y2));
  } else {
    PetscCall(MatMult(A, x, y));
    PetscCall(MatMult(reference, x2, y2));
  }
  PetscCall(VecGetArrayReadAndMemType(y, &array, &mtype));
  if (n > 0 && device >= 0) PetscCheck(PetscMemTypeDevice(mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A product is not in device memory");
  PetscCall(CheckPosition("vector", array, device));
  PetscCall(VecRestoreArrayReadAndMemType(y, &array));
  PetscCall(VecNorm(y2, NORM_2, &norm));
  PetscCall(VecDuplicate(y2, &difference)); // on the host
  PetscCall(VecGetArray(difference, &to));
  PetscCall(VecGetArrayRead(y, &array));
  PetscCall(PetscArraycpy(to, array, n));
  PetscCall(VecRestoreArrayRead(y, &array));
  PetscCall(VecRestoreArray(difference, &to));
  PetscCall(VecAXPY(difference, -1.0, y2));
  PetscCall(VecNorm(difference, NORM_2, &error));
  PetscCheck(error <= 100 * PETSC_MACHINE_EPSILON * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A product differs by %g of %g from MATAIJ's", (double)error, (double)norm);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&x2));
  PetscCall(VecDestroy(&y2));
  PetscCall(VecDestroy(&difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProducts(MatType type, int device)
{
  Mat A, reference, product, wanted;

  PetscFunctionBegin;
  PetscCall(CreateMat(type, &A));
  PetscCall(CreateMat(MATAIJ, &reference));
  for (int k = 0; k < 2; k++) PetscCall(CheckMult(A, reference, (PetscBool)k, device));
  PetscCall(MatPtAP(A, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &product));
  PetscCall(MatPtAP(reference, reference, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &wanted));
  for (int k = 0; k < 2; k++) PetscCall(CheckMult(product, wanted, (PetscBool)k, device));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&reference));
  PetscCall(MatDestroy(&product));
  PetscCall(MatDestroy(&wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool usable, show = PETSC_FALSE;
  int       device = -1;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCall(CheckDevices(device));
    PetscCall(CheckLibrary(device));
  }
  PetscCall(CheckProducts("aijdcsrcuda", device));
  PetscCall(CheckProducts("aijhisparsecuda", device));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &show, NULL));
  if (usable && show) {
    char name[NAME_LENGTH] = "";

    PetscCallCUDA(cudaDeviceGetPCIBusId(name, NAME_LENGTH, device));
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "device %d, %s\n", device, name));
    PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    nsize: {{1 2 4}}
    output_file: output/empty.out
  test:
    suffix: host
    nsize: 2
    args: -device_enable none
    output_file: output/empty.out

TEST*/
