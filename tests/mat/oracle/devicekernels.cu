/* Kernels of the oracle that insert from the device. */
#include "devicekernels.h"
#include <petscsparsecuda_device.h>
#include <petscdevice_cuda.h>

#define THREADS 128

/* Entry by entry; threads of a warp leave and come back, as in a kernel with branches. */
__global__ static void InsertKernel(MatDCSRCUDAInserter ins, PetscInt n, const PetscInt *i, const PetscInt *j, const PetscScalar *v)
{
  const PetscInt k = (PetscInt)(blockIdx.x * blockDim.x + threadIdx.x);

  if (k >= n) return;
  if (k % 3) MatDCSRCUDAInsert(ins, i[k], j[k], v[k]);
  else MatDCSRCUDAInsert(ins, i[k], j[k], v[k]);
}

/* A thread has 2 rows, 3 columns and 6 values of the lists. */
__global__ static void InsertBlocksKernel(MatDCSRCUDAInserter ins, PetscInt n, const PetscInt *i, const PetscInt *j, const PetscScalar *v)
{
  const PetscInt k = (PetscInt)(blockIdx.x * blockDim.x + threadIdx.x);
  PetscInt       rows[2], columns[3];
  PetscScalar    values[6];

  if (k >= n) return;
  for (int a = 0; a < 2; a++) rows[a] = i[2 * k + a];
  for (int b = 0; b < 3; b++) columns[b] = j[3 * k + b];
  for (int c = 0; c < 6; c++) values[c] = v[6 * k + c];
  MatDCSRCUDAInsertBlock(ins, 2, rows, 3, columns, values);
}

PetscErrorCode OracleLaunchInsert(MatDCSRCUDAInserter ins, PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  InsertKernel<<<(unsigned int)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(ins, n, i, j, v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleLaunchInsertBlocks(MatDCSRCUDAInserter ins, PetscInt n, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  InsertBlocksKernel<<<(unsigned int)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(ins, n, i, j, v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
