/*
  Values of long rows: a warp takes a chunk of a row of C, whose columns are known, and from every row of B the entries between the chunk's first and last column.
  Chunks are disjoint, so a row of any length is the work of many warps, and its sums still have the order of the row of A.
*/
#include "../entries/search.cuh"
#include "table.cuh"

namespace
{

constexpr int CHUNK_THREADS = 128;
constexpr int CHUNK_SLOTS   = 1 << SPGEMM_CHUNK_SLOTS;
constexpr int MAX_BLOCKS    = 132 * 64;

struct ChunkShared {
  unsigned long long slots[CHUNK_SLOTS];
  PetscScalar        sums[SPGEMM_CHUNK_ENTRIES];
};

template <typename Offset>
__device__ inline void AddChunk(const Factors<Offset> &f, PetscCount a_begin, PetscCount a_end, int32_t first, int32_t last, const WindowTable &table, PetscScalar *sums, int lane)
{
  for (PetscCount base = a_begin; base < a_end; base += 32) {
    Offset      begin = 0, end = 0;
    PetscScalar a = 0.0;

    if (base + lane < a_end) {
      const int32_t column = f.a_columns[base + lane];
      Offset        stop   = f.b_offsets[column + 1];

      begin = f.b_offsets[column];
      if (begin < stop && f.b_columns[begin] < first) begin = LowerBound(f.b_columns, begin, stop, first);
      if (begin < stop && f.b_columns[stop - 1] > last) stop = LowerBound(f.b_columns, begin, stop, last + 1);
      end = stop;
      a   = f.a_values[base + lane];
    }
    for (unsigned live = __ballot_sync(FULL_WARP, begin < end); live; live &= live - 1) {
      const int         step = __ffs(live) - 1;
      const Offset      b = ShuffleFrom<32>(begin, step), b_end = ShuffleFrom<32>(end, step);
      const PetscScalar factor = ShuffleFrom<32>(a, step);

      for (Offset k = b + lane; k < b_end; k += 32) sums[table.Place(f.b_columns[k])] += factor * f.b_values[k];
      __syncwarp();
    }
  }
}

template <typename Offset>
__global__ void __launch_bounds__(CHUNK_THREADS) ChunkKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, PetscScalar *c_values, const unsigned long long *chunks, const SpGEMMChunkNumbers *numbers)
{
  extern __shared__ char   shared[];
  ChunkShared             *s      = (ChunkShared *)shared + threadIdx.x / 32;
  const int                lane   = threadIdx.x % 32;
  const WindowTable        table  = {s->slots, SPGEMM_CHUNK_SLOTS};
  const unsigned long long stride = (unsigned long long)gridDim.x * (CHUNK_THREADS / 32);

  for (unsigned long long item = (unsigned long long)blockIdx.x * (CHUNK_THREADS / 32) + threadIdx.x / 32; item < numbers->chunks; item += stride) {
    const int32_t    row   = (int32_t)(chunks[item] >> 32);
    const PetscCount begin = c_offsets(row) + (PetscCount)(chunks[item] & 0xffffffffu) * SPGEMM_CHUNK_ENTRIES, left = c_offsets(row + 1) - begin;
    const int        n = left < SPGEMM_CHUNK_ENTRIES ? (int)left : SPGEMM_CHUNK_ENTRIES;

    for (int slot = lane; slot < CHUNK_SLOTS; slot += 32) s->slots[slot] = WindowTable::EMPTY;
    for (int k = lane; k < n; k += 32) s->sums[k] = 0.0;
    __syncwarp();
    BuildTable<32>(table, c_columns + begin, n, lane);
    AddChunk(f, f.a_offsets(row), f.a_offsets(row + 1), c_columns[begin], c_columns[begin + n - 1], table, s->sums, lane);
    for (int k = lane; k < n; k += 32) c_values[begin + k] = s->sums[k];
    __syncwarp();
  }
}

template <typename Offset>
PetscErrorCode Launch(DCSRView A, DCSRView B, DCSRView C, unsigned int blocks, const unsigned long long *chunks, const SpGEMMChunkNumbers *numbers, cudaStream_t stream)
{
  const size_t bytes = (CHUNK_THREADS / 32) * sizeof(ChunkShared);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(ChunkKernel<Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  ChunkKernel<Offset><<<blocks, CHUNK_THREADS, bytes, stream>>>(Factors<Offset>(A, B), Offsets(C), C.columns, C.values, chunks, numbers);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMNumericChunks - Values of rows of any length, whose columns are there.

  Input Parameters:
+ A, B       - compact operands
. C          - values of the rows of the chunks are written
. max_chunks - at least as many as there are
. chunks     - device, of SpGEMMListChunks()
. numbers    - device
- stream     - asynchronous on it

  Cost: every chunk looks at every row of B that the row meets, so beside the products (entries of the row of A) x (entries of the row of C) / SPGEMM_CHUNK_ENTRIES searches.
*/
PetscErrorCode SpGEMMNumericChunks(DCSRView A, DCSRView B, DCSRView C, PetscCount max_chunks, const unsigned long long chunks[], const SpGEMMChunkNumbers *numbers, cudaStream_t stream)
{
  const unsigned int blocks = (unsigned int)PetscMin((max_chunks + CHUNK_THREADS / 32 - 1) / (CHUNK_THREADS / 32), (PetscCount)MAX_BLOCKS);

  PetscFunctionBegin;
  if (blocks == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (B.wide) PetscCall(Launch<int64_t>(A, B, C, blocks, chunks, numbers, stream));
  else PetscCall(Launch<int32_t>(A, B, C, blocks, chunks, numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
