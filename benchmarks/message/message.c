static char help[] = "Messages between the first two processes, half a round trip, by kind of memory: mpiexec -n 2 message.\n\n";

/*
  With a GPU-aware MPI (-use_gpu_aware_mpi 1) it gets device memory as it is, else device memory is copied to pinned memory of the host and back, as PetscSF does it then. One line for each
  size and kind: bytes, kind, microseconds, GB/s.
*/
#include <petscsparsecuda/exportable.h>
#include "../../src/petsc/sys.h"
#include <petscsparsecuda.h>

#define WARM_UP 5
#define TAG     7

typedef enum {
  HOST,
  CUDA_MALLOC,
  EXPORTABLE,
  POOL,
  NUM_KINDS
} Kind;

static const char *const KINDS[] = {"pinned host memory", "cudaMalloc()", "exportable memory", "pool"};

/* bytes of a message, round trips */
static const struct {
  size_t bytes;
  int    n;
} SIZES[] = {{8, 200}, {256 << 10, 100}, {(size_t)64 << 20, 10}};

typedef struct {
  char        *buffer;
  char        *staged; /* pinned, when MPI does not get the buffer */
  size_t       bytes;
  Kind         kind;
  PetscMPIInt  rank, other;
  cudaStream_t stream;
} Message;

static PetscErrorCode Create(Message *m)
{
  PetscFunctionBegin;
  m->buffer = NULL;
  m->staged = NULL;
  switch (m->kind) {
  case HOST:
    PetscCallCUDA(cudaMallocHost((void **)&m->buffer, m->bytes));
    break;
  case CUDA_MALLOC:
    PetscCallCUDA(cudaMalloc((void **)&m->buffer, m->bytes));
    break;
  case EXPORTABLE:
    PetscCall(PetscSparseCUDAMallocExportable(m->bytes, "a message", m->stream, &m->buffer));
    break;
  default:
    PetscCall(PetscSparseCUDAMalloc(m->bytes, "a message", m->stream, &m->buffer));
  }
  if (m->kind != HOST && !use_gpu_aware_mpi) PetscCallCUDA(cudaMallocHost((void **)&m->staged, m->bytes));
  PetscCallCUDA(cudaMemset(m->buffer, m->rank == 0 ? 42 : 0, m->bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Message *m)
{
  PetscFunctionBegin;
  if (m->kind == HOST) PetscCallCUDA(cudaFreeHost(m->buffer));
  else if (m->kind == CUDA_MALLOC) PetscCallCUDA(cudaFree(m->buffer));
  else PetscCall(PetscSparseCUDAFree(&m->buffer, m->stream));
  if (m->staged != NULL) PetscCallCUDA(cudaFreeHost(m->staged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Send(Message *m)
{
  PetscFunctionBegin;
  if (m->staged != NULL) {
    PetscCallCUDA(cudaMemcpyAsync(m->staged, m->buffer, m->bytes, cudaMemcpyDeviceToHost, m->stream));
    PetscCallCUDA(cudaStreamSynchronize(m->stream));
  }
  PetscCallMPI(MPI_Send(m->staged != NULL ? m->staged : m->buffer, (PetscMPIInt)m->bytes, MPI_BYTE, m->other, TAG, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Receive(Message *m)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Recv(m->staged != NULL ? m->staged : m->buffer, (PetscMPIInt)m->bytes, MPI_BYTE, m->other, TAG, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  if (m->staged != NULL) {
    PetscCallCUDA(cudaMemcpyAsync(m->buffer, m->staged, m->bytes, cudaMemcpyHostToDevice, m->stream));
    PetscCallCUDA(cudaStreamSynchronize(m->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RoundTrips(Message *m, int n)
{
  PetscFunctionBegin;
  for (int k = 0; k < n; k++) {
    if (m->rank == 0) PetscCall(Send(m));
    PetscCall(Receive(m));
    if (m->rank == 1) PetscCall(Send(m));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has come: the first and the last byte. */
static PetscErrorCode Check(const Message *m)
{
  char got[2] = {0, 0};

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(&got[0], m->buffer, 1, cudaMemcpyDefault));
  PetscCallCUDA(cudaMemcpy(&got[1], m->buffer + m->bytes - 1, 1, cudaMemcpyDefault));
  PetscCheck(got[0] == 42 && got[1] == 42, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of %s arrive wrong", m->bytes, KINDS[m->kind]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(size_t bytes, int n, Kind kind, PetscMPIInt rank, cudaStream_t stream)
{
  Message        m = {.bytes = bytes, .kind = kind, .rank = rank, .other = 1 - rank, .stream = stream};
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (rank > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(&m));
  PetscCall(RoundTrips(&m, WARM_UP));
  PetscCall(PetscTime(&begin));
  PetscCall(RoundTrips(&m, n));
  PetscCall(PetscTime(&end));
  PetscCall(Check(&m));
  if (rank == 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10zu  %-20s %10.1f us %8.2f GB/s\n", bytes, KINDS[kind], (end - begin) / (2 * n) * 1e6, (double)bytes * 2 * n / (end - begin) * 1e-9));
  PetscCall(Destroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt  rank, size;
  int          device;
  char         name[32] = "";
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (size < 2 || !usable) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "messages need two processes with GPUs: mpiexec -n 2\n"));
  else {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaDeviceGetPCIBusId(name, sizeof(name), device));
    PetscCall(PetscSynchronizedPrintf(PETSC_COMM_WORLD, "rank %d: device %d, %s; MPI is%s given device memory\n", rank, device, name, use_gpu_aware_mpi ? "" : " not"));
    PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, PETSC_STDOUT));
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(SIZES); s++)
      for (int kind = 0; kind < NUM_KINDS; kind++) PetscCall(Measure(SIZES[s].bytes, SIZES[s].n, (Kind)kind, rank, stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}
