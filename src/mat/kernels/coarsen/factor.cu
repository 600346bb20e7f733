/*
  The factorizations of the tentative prolongator: the rows of the near null space that belong to an aggregate, in the order of its members, are a matrix with zero rows below it when
  it has more columns than rows. A warp factors it in shared memory, a thread block does when it is larger, and in global memory when it is larger still.

  Reference: Vanek, Mandel, Brezina, Computing 56 (1996), section 4 (tentative prolongator by QR); householder.cuh.
*/
#include <cmath>
#include "householder.cuh"
#include "../common/preload.cuh"
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/tentative.h>

namespace
{

constexpr int    WARP_THREADS   = 128;       // thread block of warps that factor a matrix each
constexpr size_t WARP_BYTES     = 12 << 10;  // of shared memory for a warp: four of them need no opt-in
constexpr int    WARP_BLOCKS    = 64;        // thread blocks for each multiprocessor
constexpr int    BLOCK_THREADS  = 256;       // thread block that factors a matrix in shared memory
constexpr size_t BLOCK_BYTES    = 160 << 10; // of shared memory for it, at most
constexpr int    GLOBAL_THREADS = 1024;      // thread block that factors a matrix in global memory

struct WarpTeam {
  __device__ int       Size() const { return 32; }
  __device__ int       Rank() const { return (int)threadIdx.x % 32; }
  __device__ void      Sync() const { __syncwarp(); }
  __device__ PetscReal Sum(PetscReal x) const
  {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
  }
  __device__ PetscReal Max(PetscReal x) const
  {
    for (int d = 16; d > 0; d /= 2) {
      const PetscReal other = __shfl_xor_sync(0xffffffffu, x, d); // PetscMax() evaluates one of its arguments twice, which not all threads would do

      x = PetscMax(x, other);
    }
    return x;
  }
};

template <int Threads>
struct BlockTeam {
  PetscReal *partial; // [Threads / 32] shared

  __device__ int       Size() const { return Threads; }
  __device__ int       Rank() const { return (int)threadIdx.x; }
  __device__ void      Sync() const { __syncthreads(); }
  __device__ PetscReal Sum(PetscReal x) const
  {
    x = WarpTeam().Sum(x);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int w = 0; w < Threads / 32; w++) x += partial[w];
    __syncthreads();
    return x;
  }
  __device__ PetscReal Max(PetscReal x) const
  {
    x = WarpTeam().Max(x);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int w = 0; w < Threads / 32; w++) x = PetscMax(x, partial[w]);
    __syncthreads();
    return x;
  }
};

/* What the kernels get. A matrix and the factors of its reflectors have so many numbers that they decide who takes it. */
struct Factorizations {
  DCSRTentative   t;
  PetscInt        num_aggregates;
  const int64_t  *offsets;
  const uint32_t *members;

  __host__ __device__ PetscCount LeadingDimension(PetscCount size) const { return PetscMax(size * t.row_block, (PetscCount)t.num_columns); }
  __host__ __device__ size_t     Bytes(PetscCount size) const { return (size_t)(LeadingDimension(size) + 1) * (size_t)t.num_columns * sizeof(PetscReal); }
  __device__ PetscCount          Size(PetscInt k) const { return (PetscCount)(offsets[k + 1] - offsets[k]); }
};

/* The position of the row of a member: in the near null space, and in Q. */
template <typename Index>
struct MemberRow {
  PetscCount vertex; // or num_vertices + slot
  Index      row;    // of it

  __device__ MemberRow(const Factorizations &f, PetscInt k, Index r) : vertex(f.members[f.offsets[k] + r / (Index)f.t.row_block]), row(r % (Index)f.t.row_block) {}
};

template <typename Index, typename Team>
__device__ void LoadMatrix(const Team &team, const Factorizations &f, PetscInt k, Index num_rows, PetscReal *A, Index ld)
{
  const PetscCount stride = (PetscCount)f.t.num_vertices * f.t.row_block;

  for (Index r = (Index)team.Rank(); r < ld; r += team.Size()) {
    const PetscReal *from = NULL;
    PetscCount       step = 0;

    if (r < num_rows) {
      const MemberRow<Index> m(f, k, r);

      step = m.vertex < f.t.num_vertices ? stride : 1;
      from = m.vertex < f.t.num_vertices ? f.t.data + m.vertex * f.t.row_block + m.row : f.t.foreign_data + ((m.vertex - f.t.num_vertices) * f.t.row_block + m.row) * f.t.num_columns;
    }
    for (PetscInt j = 0; j < f.t.num_columns; j++) A[(size_t)j * ld + r] = from ? from[j * step] : 0;
  }
}

template <typename Index, typename Team>
__device__ void StoreR(const Team &team, const Factorizations &f, PetscInt k, const PetscReal *A, Index ld)
{
  const PetscCount n = f.t.num_columns, stride = f.num_aggregates * n;

  for (PetscCount e = team.Rank(); e < n * n; e += team.Size()) {
    const PetscCount i = e % n, j = e / n;

    f.t.coarse[j * stride + k * n + i] = i <= j ? A[(size_t)j * ld + i] : 0;
  }
}

template <typename Index, typename Team>
__device__ void StoreQ(const Team &team, const Factorizations &f, PetscInt k, Index num_rows, const PetscReal *A, Index ld)
{
  const Index n = (Index)f.t.num_columns;

  for (Index e = (Index)team.Rank(); e < num_rows * n; e += team.Size()) {
    const MemberRow<Index> m(f, k, e / n);
    const bool             own   = m.vertex < f.t.num_vertices;
    const PetscCount       block = own ? f.t.positions[m.vertex] : m.vertex - f.t.num_vertices;

    (own ? f.t.values : f.t.foreign_values)[(block * f.t.row_block + m.row) * f.t.num_columns + e % n] = A[(size_t)(e % n) * ld + e / n];
  }
}

/* memory has f.Bytes() of the aggregate. */
template <typename Index, typename Team>
__device__ void FactorAggregate(const Team &team, const Factorizations &f, PetscInt k, PetscReal *memory)
{
  const Index      num_rows = (Index)(f.Size(k) * f.t.row_block), ld = (Index)f.LeadingDimension(f.Size(k));
  const int        n = (int)f.t.num_columns;
  PetscReal *const A = memory, *const tau = memory + (size_t)n * ld;

  LoadMatrix(team, f, k, num_rows, A, ld);
  HouseholderFactor(team, A, ld, n, tau);
  StoreR(team, f, k, A, ld);
  team.Sync();
  HouseholderGenerate(team, A, ld, n, tau);
  StoreQ(team, f, k, num_rows, A, ld);
  team.Sync();
}

extern __shared__ char factor_shared[];

/* A warp takes an aggregate of up to slot bytes. */
__global__ void __launch_bounds__(WARP_THREADS) WarpKernel(Factorizations f, size_t slot)
{
  constexpr int    warps  = WARP_THREADS / 32;
  PetscReal *const memory = (PetscReal *)(factor_shared + threadIdx.x / 32 * slot);

  for (PetscCount k = (PetscCount)blockIdx.x * warps + threadIdx.x / 32; k < f.num_aggregates; k += (PetscCount)gridDim.x * warps) {
    if (f.Bytes(f.Size((PetscInt)k)) <= slot) FactorAggregate<int>(WarpTeam(), f, (PetscInt)k, memory);
  }
}

/* A thread block reads one aggregate, and takes it if it has more bytes than a warp takes and up to so many. */
__global__ void __launch_bounds__(BLOCK_THREADS) BlockKernel(Factorizations f, size_t most)
{
  __shared__ PetscReal partial[BLOCK_THREADS / 32];
  const PetscInt       k     = (PetscInt)blockIdx.x;
  const size_t         bytes = f.Bytes(f.Size(k));

  if (bytes > WARP_BYTES && bytes <= most) FactorAggregate<int>(BlockTeam<BLOCK_THREADS>{partial}, f, k, (PetscReal *)factor_shared);
}

/* The same for those with more than least bytes, in global memory: each has room there for its rows, or for a square matrix. */
__global__ void __launch_bounds__(GLOBAL_THREADS) GlobalKernel(Factorizations f, size_t least, PetscReal *memory)
{
  __shared__ PetscReal partial[GLOBAL_THREADS / 32];
  const PetscInt       k = (PetscInt)blockIdx.x;
  const PetscCount     n = f.t.num_columns;

  if (f.Bytes(f.Size(k)) > least) FactorAggregate<PetscCount>(BlockTeam<GLOBAL_THREADS>{partial}, f, k, memory + (f.offsets[k] * f.t.row_block + k * (n + 1)) * n);
}

PetscErrorCode FactorInGlobalMemory(const Factorizations &f, PetscCount num_members, size_t least, cudaStream_t stream)
{
  const PetscCount n      = f.t.num_columns;
  PetscReal       *memory = NULL;
  PetscErrorCode   ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((num_members * f.t.row_block + f.num_aggregates * (n + 1)) * n, "near null space of large aggregates", stream, &memory));
  GlobalKernel<<<(unsigned int)f.num_aggregates, GLOBAL_THREADS, 0, stream>>>(f, least, memory);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
cleanup:
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRTentativeFactor - Q and R of the near null space of each aggregate; t says what is read and written. Asynchronous
  PETSC_ERR_MEM when an aggregate is too large for shared memory and global memory is short. The bits depend on the sizes of aggregates and on the near null space alone.
  Cost: of order (num_columns)^2 passes over the matrix of each aggregate, and as many sums of its team.
*/
PetscErrorCode DCSRTentativeFactor(DCSRTentative t, const DCSRMembers *m, cudaStream_t stream)
{
  const Factorizations f       = {t, m->num_aggregates, m->offsets, m->members};
  const size_t         largest = f.Bytes(m->max_size);
  DCSRDeviceFacts      facts;
  size_t               most;
  unsigned int         grid;

  PetscFunctionBegin;
  if (m->num_aggregates == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRGetDeviceFacts(&facts));
  most = PetscMin(BLOCK_BYTES, (size_t)facts.block_shared_bytes - 1024); // partial sums are there too
  if (f.Bytes(1) <= WARP_BYTES) {
    const size_t slot = PetscMin(largest, WARP_BYTES);

    PetscCall(DCSRGetGrid((m->num_aggregates + WARP_THREADS / 32 - 1) / (WARP_THREADS / 32), WARP_BLOCKS, &grid));
    WarpKernel<<<grid, WARP_THREADS, WARP_THREADS / 32 * slot, stream>>>(f, slot);
    PetscCallCUDA(cudaGetLastError());
  }
  if (largest > WARP_BYTES && f.Bytes(1) <= most) {
    const size_t bytes = PetscMin(largest, most);

    PetscCallCUDA(cudaFuncSetAttribute(BlockKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    BlockKernel<<<(unsigned int)m->num_aggregates, BLOCK_THREADS, bytes, stream>>>(f, bytes);
    PetscCallCUDA(cudaGetLastError());
  }
  if (largest > most) PetscCall(FactorInGlobalMemory(f, m->num_members, most, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(WarpKernel);
