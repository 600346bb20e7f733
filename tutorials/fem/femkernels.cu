/* Assembly by kernels: insertion from inside the kernel, and the COO interface with arrays that a kernel fills. */
#include "femkernels.h"
#include <petscdevice_cuda.h>
#include <petscsparsecuda_device.h>

#define THREADS 256

/* The eight rows of an element are computed by eight neighbouring threads. */
static __global__ void __launch_bounds__(THREADS) InsertKernel(MatDCSRCUDAInserter ins, PetscInt n, PetscInt first, PetscInt num_elements, const PetscInt nodes[])
{
  const PetscCount thread  = (PetscCount)blockIdx.x * THREADS + threadIdx.x;
  const PetscInt   element = (PetscInt)(thread / 8);
  const int        a       = (int)(thread % 8);
  PetscInt         columns[8];
  PetscScalar      row[8];

  if (element >= num_elements) return;
  for (int b = 0; b < 8; b++) columns[b] = nodes[8 * (PetscCount)element + b];
  ElementMatrixRow(n, first + element, a, row);
  MatDCSRCUDAInsertBlock(ins, 1, &nodes[thread], 8, columns, row);
}

/* The order of a COO list is free: entry b of all rows of all elements, then entry b + 1; so neighbouring threads write side by side. */
static __global__ void __launch_bounds__(THREADS) COOIndicesKernel(PetscInt num_elements, const PetscInt nodes[], PetscInt i[], PetscInt j[])
{
  const PetscCount thread = (PetscCount)blockIdx.x * THREADS + threadIdx.x, num_rows = 8 * (PetscCount)num_elements;

  if (thread >= num_rows) return;
  for (int b = 0; b < 8; b++) {
    i[b * num_rows + thread] = nodes[thread];
    j[b * num_rows + thread] = nodes[thread / 8 * 8 + b];
  }
}

static __global__ void __launch_bounds__(THREADS) COOValuesKernel(PetscInt n, PetscInt first, PetscInt num_elements, PetscScalar v[])
{
  const PetscCount thread = (PetscCount)blockIdx.x * THREADS + threadIdx.x, num_rows = 8 * (PetscCount)num_elements;
  PetscScalar      row[8];

  if (thread >= num_rows) return;
  ElementMatrixRow(n, first + (PetscInt)(thread / 8), (int)(thread % 8), row);
  for (int b = 0; b < 8; b++) v[b * num_rows + thread] = row[b];
}

static unsigned int NumBlocks(const Mesh *mesh)
{
  return (unsigned int)((8 * (PetscCount)mesh->num_elements + THREADS - 1) / THREADS);
}

/* The nodes in device memory, where a simulation has them anyway. Copies without a stream are not in order with the stream of PETSc when that is a non-blocking one. */
static PetscErrorCode MeshToDevice(Mesh *mesh, cudaStream_t stream)
{
  const size_t bytes = 8 * (size_t)mesh->num_elements * sizeof(*mesh->nodes);

  PetscFunctionBeginUser;
  if (mesh->device_nodes == NULL && bytes > 0) {
    PetscCallCUDA(cudaMalloc((void **)&mesh->device_nodes, bytes));
    PetscCallCUDA(cudaMemcpyAsync(mesh->device_nodes, mesh->nodes, bytes, cudaMemcpyHostToDevice, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MeshFreeDevice(Mesh *mesh)
{
  PetscFunctionBeginUser;
  if (mesh->device_nodes != NULL) PetscCallCUDA(cudaFree(mesh->device_nodes));
  mesh->device_nodes = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks on the stream the begin and the end of the kernels, whose time is read at the end of an assembly. */
typedef struct {
  cudaEvent_t begin, end;
} Timer;

static PetscErrorCode TimerBegin(Timer *timer, cudaStream_t stream)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaEventCreate(&timer->begin));
  PetscCallCUDA(cudaEventCreate(&timer->end));
  PetscCallCUDA(cudaEventRecord(timer->begin, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimerRead(Timer *timer, float *milliseconds)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaEventSynchronize(timer->end));
  PetscCallCUDA(cudaEventElapsedTime(milliseconds, timer->begin, timer->end));
  PetscCallCUDA(cudaEventDestroy(timer->begin));
  PetscCallCUDA(cudaEventDestroy(timer->end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kernels call MatDCSRCUDAInsertBlock(), a MatSetValues() for threads. Nothing is known about the pattern beforehand but an upper bound for the number of insertions. */
PetscErrorCode AssembleInserter(Mesh *mesh, Mat A, float *kernel_time)
{
  PetscInt            capacity;
  PetscBool           set;
  MatDCSRCUDAInserter ins;
  cudaStream_t        stream;
  Timer               timer;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-capacity", &capacity, &set));
  PetscCall(MatDCSRCUDAGetInserter(A, set ? (PetscCount)capacity : 64 * (PetscCount)mesh->num_elements, ADD_VALUES, &ins));
  PetscCall(PetscGetCurrentCUDAStream(&stream)); // the inserter's buffers belong to this stream
  PetscCall(MeshToDevice(mesh, stream));
  PetscCall(TimerBegin(&timer, stream));
  if (mesh->num_elements > 0) {
    InsertKernel<<<NumBlocks(mesh), THREADS, 0, stream>>>(ins, mesh->n, mesh->first, mesh->num_elements, mesh->device_nodes);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCallCUDA(cudaEventRecord(timer.end, stream));
  PetscCall(MatDCSRCUDARestoreInserter(A, &ins));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCallCUDA(cudaStreamSynchronize(stream)); // only for the sake of the time that is printed
  PetscCall(TimerRead(&timer, kernel_time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of indices goes in first; as long as it stays what it is, new values need MatSetValuesCOO() alone. */
PetscErrorCode AssembleCOO(Mesh *mesh, Mat A, float *kernel_time)
{
  const PetscCount num_entries = 64 * (PetscCount)mesh->num_elements;
  PetscInt        *i = NULL, *j = NULL;
  PetscScalar     *v = NULL;
  cudaStream_t     stream;
  Timer            timer;

  PetscFunctionBeginUser;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(MeshToDevice(mesh, stream));
  if (mesh->num_elements > 0) {
    PetscCallCUDA(cudaMallocAsync((void **)&i, (size_t)num_entries * sizeof(*i), stream));
    PetscCallCUDA(cudaMallocAsync((void **)&j, (size_t)num_entries * sizeof(*j), stream));
    PetscCallCUDA(cudaMallocAsync((void **)&v, (size_t)num_entries * sizeof(*v), stream));
    COOIndicesKernel<<<NumBlocks(mesh), THREADS, 0, stream>>>(mesh->num_elements, mesh->device_nodes, i, j);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCall(MatSetPreallocationCOO(A, num_entries, i, j));
  PetscCall(TimerBegin(&timer, stream));
  if (mesh->num_elements > 0) {
    COOValuesKernel<<<NumBlocks(mesh), THREADS, 0, stream>>>(mesh->n, mesh->first, mesh->num_elements, v);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCallCUDA(cudaEventRecord(timer.end, stream));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(TimerRead(&timer, kernel_time));
  if (mesh->num_elements > 0) {
    PetscCallCUDA(cudaFreeAsync(i, stream));
    PetscCallCUDA(cudaFreeAsync(j, stream));
    PetscCallCUDA(cudaFreeAsync(v, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
