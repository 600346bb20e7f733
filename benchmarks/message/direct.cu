/* An exchange of ghost values without MPI, as a user of CUDA IPC would write it; see direct.h. Errors end the benchmark, which then frees nothing. */
#include "direct.h"
#include <cuda/atomic>

namespace
{

constexpr int          THREADS = 256;
constexpr int          LINE    = 128;        // bytes: flags do not share a line
constexpr unsigned int COPIES  = 2;          // of ghost values
constexpr long long    LATE    = 4000000000; // clocks, about two seconds: a neighbor is lost

/* Memory that neighbors write to, in this order: a flag for each side, then ghost values of each copy and side. */
struct Window {
  char *base;

  __host__ __device__ unsigned int *Flag(int side) const { return (unsigned int *)(base + side * LINE); }
  __host__ __device__ PetscReal    *Ghosts(unsigned int step, int side, PetscInt n) const
  {
    return (PetscReal *)(base + DIRECT_NUM_SIDES * LINE) + ((size_t)(step % COPIES) * DIRECT_NUM_SIDES + (size_t)side) * (size_t)n;
  }
};

size_t WindowBytes(PetscInt n)
{
  return DIRECT_NUM_SIDES * LINE + (size_t)COPIES * DIRECT_NUM_SIDES * (size_t)n * sizeof(PetscReal);
}

struct Sides {
  const PetscReal *from[DIRECT_NUM_SIDES];
  PetscReal       *to[DIRECT_NUM_SIDES];   // NULL: no neighbor
  unsigned int    *flag[DIRECT_NUM_SIDES]; // to be raised, or to be waited for
  unsigned int    *count;                  // [DIRECT_NUM_SIDES] blocks that have written
  int             *late;
  unsigned int     step;
  PetscInt         n;
};

/* The last block of a side raises the flag. */
__global__ void __launch_bounds__(THREADS) PutKernel(const Sides s)
{
  const int      side = (int)blockIdx.y;
  const PetscInt i    = (PetscInt)(blockIdx.x * THREADS + threadIdx.x);

  if (s.to[side] == NULL) return;
  if (i < s.n) s.to[side][i] = s.from[side][i];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x > 0 || atomicAdd(s.count + side, 1u) < gridDim.x - 1) return;
  s.count[side] = 0;
  __threadfence_system();
  cuda::atomic_ref<unsigned int, cuda::thread_scope_system>(*s.flag[side]).store(s.step, cuda::memory_order_release);
}

/* Flags count up; one may be ahead by a step. */
__device__ void Await(const Sides &s, int side)
{
  cuda::atomic_ref<unsigned int, cuda::thread_scope_system> flag(*s.flag[side]);
  const long long                                           begin = clock64();

  while ((int)(flag.load(cuda::memory_order_acquire) - s.step) < 0) {
    if (clock64() - begin < LATE) continue;
    *s.late = 1;
    return;
  }
}

__global__ void WaitKernel(const Sides s)
{
  if (threadIdx.x < DIRECT_NUM_SIDES && s.flag[threadIdx.x] != NULL) Await(s, (int)threadIdx.x);
}

template <bool Waits>
__global__ void __launch_bounds__(THREADS) ConsumeKernel(const Sides s)
{
  const int      side = (int)blockIdx.y;
  const PetscInt i    = (PetscInt)(blockIdx.x * THREADS + threadIdx.x);

  if (s.from[side] == NULL) return;
  if (Waits) {
    if (threadIdx.x == 0) Await(s, side);
    __syncthreads();
  }
  if (i < s.n) s.to[side][i] = 0.5 * s.to[side][i] + 0.25 * __ldcg(s.from[side] + i); // a neighbor wrote them behind the L1 cache
}

PetscErrorCode Consume(const Sides &s, bool waits, cudaStream_t stream)
{
  const dim3 grid((unsigned int)((s.n + THREADS - 1) / THREADS), DIRECT_NUM_SIDES);

  PetscFunctionBegin;
  if (waits) ConsumeKernel<true><<<grid, THREADS, 0, stream>>>(s);
  else ConsumeKernel<false><<<grid, THREADS, 0, stream>>>(s);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

struct _n_Direct {
  MPI_Comm      comm;                       // not duplicated
  PetscInt      n;                          // ghost values of a side
  Window        own;                        // cudaMalloc()
  Window        neighbor[DIRECT_NUM_SIDES]; // opened; base is NULL where there is none
  unsigned int *count;                      // [DIRECT_NUM_SIDES], device
  int          *late, *late_host;           // device's and host's address of pinned memory
  unsigned int  step;                       // of the last DirectPut()
};

/* Opens the windows of the neighbors. */
static PetscErrorCode OpenNeighbors(Direct d)
{
  const MPI_Comm     comm = d->comm;
  cudaIpcMemHandle_t own, theirs;
  PetscMPIInt        rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallCUDA(cudaIpcGetMemHandle(&own, d->own.base));
  for (int side = 0; side < DIRECT_NUM_SIDES; side++) {
    const PetscMPIInt from = side == DIRECT_BEFORE ? rank - 1 : rank + 1, to = side == DIRECT_BEFORE ? rank + 1 : rank - 1;

    PetscCallMPI(MPI_Sendrecv(&own, sizeof(own), MPI_BYTE, to >= 0 && to < size ? to : MPI_PROC_NULL, side, &theirs, sizeof(theirs), MPI_BYTE, from >= 0 && from < size ? from : MPI_PROC_NULL, side,
                              comm, MPI_STATUS_IGNORE));
    if (from >= 0 && from < size) PetscCallCUDA(cudaIpcOpenMemHandle((void **)&d->neighbor[side].base, theirs, cudaIpcMemLazyEnablePeerAccess));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DirectCreate - Collective

  Input Parameters:
+ comm - processes of one machine, whose neighbors are rank - 1 and rank + 1
- n    - values that each gets from a neighbor

  Output Parameter:
. direct - to be destroyed on all processes
*/
PetscErrorCode DirectCreate(MPI_Comm comm, PetscInt n, Direct *direct)
{
  Direct d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  d->comm = comm;
  d->n    = n;
  PetscCallCUDA(cudaMalloc((void **)&d->own.base, WindowBytes(n)));
  PetscCallCUDA(cudaMemset(d->own.base, 0, WindowBytes(n)));
  PetscCallCUDA(cudaMalloc((void **)&d->count, DIRECT_NUM_SIDES * sizeof(*d->count)));
  PetscCallCUDA(cudaMemset(d->count, 0, DIRECT_NUM_SIDES * sizeof(*d->count)));
  PetscCallCUDA(cudaHostAlloc((void **)&d->late_host, sizeof(*d->late_host), cudaHostAllocMapped));
  *d->late_host = 0;
  PetscCallCUDA(cudaHostGetDevicePointer((void **)&d->late, d->late_host, 0));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(OpenNeighbors(d));
  PetscCallMPI(MPI_Barrier(comm));
  *direct = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DirectDestroy - Collective; waits for the device and closes the windows */
PetscErrorCode DirectDestroy(Direct *direct)
{
  Direct d = *direct;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  for (int side = 0; side < DIRECT_NUM_SIDES; side++)
    if (d->neighbor[side].base != NULL) PetscCallCUDA(cudaIpcCloseMemHandle(d->neighbor[side].base));
  PetscCallMPI(MPI_Barrier(d->comm)); // nobody frees what another one has open
  PetscCallCUDA(cudaFree(d->own.base));
  PetscCallCUDA(cudaFree(d->count));
  PetscCallCUDA(cudaFreeHost(d->late_host));
  PetscCall(PetscFree(*direct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The flags and ghost values that the neighbors write to. */
static Sides OwnSides(Direct d)
{
  Sides s = {};

  for (int side = 0; side < DIRECT_NUM_SIDES; side++) {
    if (d->neighbor[side].base == NULL) continue;
    s.flag[side] = d->own.Flag(side);
    s.from[side] = d->own.Ghosts(d->step, side, d->n);
  }
  s.late = d->late;
  s.step = d->step;
  s.n    = d->n;
  return s;
}

/*
  DirectPut - Writes to the neighbors; begins a step

  Input Parameters:
+ d      - the exchange
. first  - [n] device, for the neighbor before
. last   - [n] device, for the one after
- stream - asynchronous on it
*/
PetscErrorCode DirectPut(Direct d, const PetscReal first[], const PetscReal last[], cudaStream_t stream)
{
  const dim3 grid((unsigned int)((d->n + THREADS - 1) / THREADS), DIRECT_NUM_SIDES);
  Sides      s = {};

  PetscFunctionBegin;
  d->step++;
  for (int side = 0; side < DIRECT_NUM_SIDES; side++) {
    const Window w = d->neighbor[side];

    if (w.base == NULL) continue;
    s.from[side] = side == DIRECT_BEFORE ? first : last;
    s.to[side]   = w.Ghosts(d->step, 1 - side, d->n); // its other side is ours
    s.flag[side] = w.Flag(1 - side);
  }
  s.count = d->count;
  s.step  = d->step;
  s.n     = d->n;
  PutKernel<<<grid, THREADS, 0, stream>>>(s);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DirectWait - what is queued on the stream from now on has the ghost values of the step */
PetscErrorCode DirectWait(Direct d, cudaStream_t stream)
{
  PetscFunctionBegin;
  WaitKernel<<<1, 32, 0, stream>>>(OwnSides(d));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DirectConsume - ExchangeConsume() of the ghost values of the step, after DirectWait(), or with waits by itself */
PetscErrorCode DirectConsume(Direct d, PetscBool waits, PetscReal first[], PetscReal last[], cudaStream_t stream)
{
  Sides s = OwnSides(d);

  PetscFunctionBegin;
  s.to[DIRECT_BEFORE] = first;
  s.to[DIRECT_AFTER]  = last;
  PetscCall(Consume(s, waits, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DirectCheck - an error if a neighbor was too late, after the stream was waited for */
PetscErrorCode DirectCheck(Direct d)
{
  PetscFunctionBegin;
  PetscCheck(!*d->late_host, PETSC_COMM_SELF, PETSC_ERR_LIB, "A neighbor's flag did not come in time");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ExchangeConsume - see direct.h

  Input Parameters:
+ n      - values of a side
. ghosts - [n] each, device, or NULL
- stream - asynchronous on it

  Input/Output Parameter:
. x - [n] each, device
*/
PetscErrorCode ExchangeConsume(PetscInt n, const PetscReal *const ghosts[DIRECT_NUM_SIDES], PetscReal *const x[DIRECT_NUM_SIDES], cudaStream_t stream)
{
  Sides s = {};

  PetscFunctionBegin;
  for (int side = 0; side < DIRECT_NUM_SIDES; side++) {
    s.from[side] = ghosts[side];
    s.to[side]   = x[side];
  }
  s.n = n;
  PetscCall(Consume(s, false, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
