/*
  Checks that all device memory that MPI is given can be exported to another process: LD_PRELOAD=exported.so PROGRAM, or conf/run-tests -U exported. A program that gives MPI other device
  memory, that of a stream-ordered pool for example, ends with the calls that led to it. With such memory results are right and messages take a hundred times longer.

  Variables of the environment
. EXPORTED_TRACE - if set, each process says in MPI_Finalize() how many device buffers it has given to MPI

  Notes:
  An MPI that is not GPU-aware gets no device memory, and there is nothing to check then: PETSCSPARSECUDA_MPI=own or another one, with -use_gpu_aware_mpi 1. Without a driver nothing is
  checked either. The functions are those through which PETSc and this library give buffers to MPI.
*/
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORTED  __attribute__((visibility("default")))
#define MAX_CALLS 100

static CUresult (*get_attribute)(void *, CUpointer_attribute, CUdeviceptr) = NULL;
static unsigned long num_buffers                                           = 0; /* in device memory */

__attribute__((constructor)) static void Initialize(void)
{
  void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

  if (driver != NULL) get_attribute = (CUresult(*)(void *, CUpointer_attribute, CUdeviceptr))dlsym(driver, "cuPointerGetAttribute");
}

static void Check(const char function[], const void *buffer, long n)
{
  CUmemorytype type;
  int          exportable = 0, rank = -1;
  void        *calls[MAX_CALLS];

  if (get_attribute == NULL || n == 0 || buffer == NULL || buffer == MPI_IN_PLACE || buffer == MPI_BOTTOM) return;
  if (get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)buffer) != CUDA_SUCCESS || type != CU_MEMORYTYPE_DEVICE) return;
  num_buffers++;
  if (get_attribute(&exportable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, (CUdeviceptr)buffer) == CUDA_SUCCESS && exportable) return;
  (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "exported: rank %d gives %s() device memory that cannot be exported, %p; the calls:\n", rank, function, buffer);
  backtrace_symbols_fd(calls, backtrace(calls, MAX_CALLS), STDERR_FILENO);
  (void)PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* function, parameters, arguments, what is checked */
#define POINT_TO_POINT(X) \
  X(Send, (const void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm), (buffer, n, type, rank, tag, comm)) \
  X(Recv, (void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status *status), (buffer, n, type, rank, tag, comm, status)) \
  X(Isend, (const void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request), (buffer, n, type, rank, tag, comm, request)) \
  X(Irecv, (void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request), (buffer, n, type, rank, tag, comm, request)) \
  X(Send_init, (const void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request), (buffer, n, type, rank, tag, comm, request)) \
  X(Recv_init, (void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request), (buffer, n, type, rank, tag, comm, request)) \
  X(Bcast, (void *buffer, int n, MPI_Datatype type, int rank, MPI_Comm comm), (buffer, n, type, rank, comm))
#define COLLECTIVE(X) \
  X(Allreduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (from, to, n, type, op, comm)) \
  X(Reduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int rank, MPI_Comm comm), (from, to, n, type, op, rank, comm)) \
  X(Scan, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (from, to, n, type, op, comm)) \
  X(Iallreduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request), (from, to, n, type, op, comm, request)) \
  X(Gather, (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype type2, int rank, MPI_Comm comm), (from, n, type, to, m, type2, rank, comm)) \
  X(Scatter, (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype type2, int rank, MPI_Comm comm), (from, n, type, to, m, type2, rank, comm)) \
  X(Allgather, (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype type2, MPI_Comm comm), (from, n, type, to, m, type2, comm)) \
  X(Allgatherv, (const void *from, int n, MPI_Datatype type, void *to, const int ns[], const int starts[], MPI_Datatype type2, MPI_Comm comm), (from, n, type, to, ns, starts, type2, comm)) \
  X(Alltoall, (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype type2, MPI_Comm comm), (from, n, type, to, m, type2, comm))

#define DEFINE_POINT_TO_POINT(name, parameters, arguments) \
  EXPORTED int MPI_##name parameters \
  { \
    Check("MPI_" #name, buffer, n); \
    return PMPI_##name arguments; \
  }
#define DEFINE_COLLECTIVE(name, parameters, arguments) \
  EXPORTED int MPI_##name parameters \
  { \
    Check("MPI_" #name, from, n); \
    Check("MPI_" #name, to, 1); \
    return PMPI_##name arguments; \
  }
POINT_TO_POINT(DEFINE_POINT_TO_POINT)
COLLECTIVE(DEFINE_COLLECTIVE)

EXPORTED int MPI_Finalize(void)
{
  int rank = -1;

  if (getenv("EXPORTED_TRACE") != NULL) {
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "exported: rank %d has given %lu device buffers to MPI\n", rank, num_buffers);
  }
  return PMPI_Finalize();
}
