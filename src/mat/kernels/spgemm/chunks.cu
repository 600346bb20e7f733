/*
  Values of long rows. A warp takes a chunk of a row of C, whose columns are known, and from every row of B the entries between the chunk's first and last column.
  Chunks are disjoint: a row of any length is the work of many warps, and its sums still have the order of the row of A.
*/
#include "table.cuh"

namespace
{

constexpr int CHUNK_THREADS = 128;
constexpr int CHUNK_SLOTS   = 1 << SPGEMM_CHUNK_SLOTS;
constexpr int CHUNK_BLOCKS  = 64; // thread blocks for each multiprocessor, several times as many as it holds
constexpr int AHEAD         = 4;  // rows of B that are loaded together

struct ChunkShared {
  unsigned long long slots[CHUNK_SLOTS];
  PetscScalar        sums[SPGEMM_CHUNK_ENTRIES];
};

/* The part of a row of B that lies in a chunk, and its entry of A. Each lane holds one. */
template <typename Offset>
struct Row {
  Offset      begin;
  int         length;
  PetscScalar a;

  /* The entries between columns first and last in the row of B that entry k of A names. Both searches take their steps together, since each waits for memory. */
  __device__ void Find(const Factors<Offset> &f, PetscCount k, int32_t first, int32_t last)
  {
    const int32_t column = f.a_columns[k];
    Offset        low = f.b_offsets[column], high = f.b_offsets[column + 1], end_low = low, end_high = high;

    a = f.a_values[k];
    if (low < high) {
      const int32_t smallest = f.b_columns[low], largest = f.b_columns[high - 1];

      if (smallest >= first) high = low;
      else if (largest < first) low = high;
      if (largest <= last) end_low = end_high;
      else if (smallest > last) end_high = end_low;
    }
    while (low < high || end_low < end_high) {
      const Offset  middle = low + (high - low) / 2, end_middle = end_low + (end_high - end_low) / 2;
      const int32_t c = low < high ? f.b_columns[middle] : first, end_c = end_low < end_high ? f.b_columns[end_middle] : last;

      if (low < high) {
        if (c < first) low = middle + 1;
        else high = middle;
      }
      if (end_low < end_high) {
        if (end_c <= last) end_low = end_middle + 1;
        else end_high = end_middle;
      }
    }
    begin  = low;
    length = (int)(end_low - low);
  }
};

/* Adds the terms of up to 32 rows of B, one row after the other. AHEAD rows are on their way together. */
template <typename Offset>
__device__ inline void AddRows(const Factors<Offset> &f, const Row<Offset> &row, const WindowTable &table, PetscScalar *sums, int lane)
{
  for (unsigned live = __ballot_sync(FULL_WARP, row.length > 0); live;) {
    Offset      b[AHEAD];
    int         left[AHEAD];
    int32_t     column[AHEAD];
    PetscScalar factor[AHEAD], value[AHEAD];

#pragma unroll
    for (int u = 0; u < AHEAD; u++, live &= live - 1) {
      const int step = live ? __ffs(live) - 1 : 0;

      b[u]      = ShuffleFrom<32>(row.begin, step);
      left[u]   = ShuffleFrom<32>(row.length, step);
      factor[u] = ShuffleFrom<32>(row.a, step);
      if (!live) left[u] = 0;
      if (lane < left[u]) {
        column[u] = f.b_columns[b[u] + lane];
        value[u]  = f.b_values[b[u] + lane];
      }
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
      if (lane < left[u]) sums[table.Position(column[u])] += factor[u] * value[u];
      for (int k = 32 + lane; k < left[u]; k += 32) sums[table.Position(f.b_columns[b[u] + k])] += factor[u] * f.b_values[b[u] + k];
      __syncwarp();
    }
  }
}

template <typename Offset>
__device__ inline void AddChunk(const Factors<Offset> &f, PetscCount a_begin, PetscCount a_end, int32_t first, int32_t last, const WindowTable &table, PetscScalar *sums, int lane)
{
  for (PetscCount base = a_begin; base < a_end; base += 32) {
    Row<Offset> row = {0, 0, 0.0};

    if (base + lane < a_end) row.Find(f, base + lane, first, last);
    AddRows(f, row, table, sums, lane);
  }
}

template <typename Offset>
__global__ void __launch_bounds__(CHUNK_THREADS)
  ChunkKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, PetscScalar *c_values, const unsigned long long *chunks, const SpGEMMChunkNumbers *numbers)
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
  SpGEMMNumericChunks - Values of rows of any length, whose columns are there; of C those of the rows of the chunks are written. Asynchronous
  A and B are compact. chunks and numbers, device, are of SpGEMMListChunks(); max_chunks: at least as many as there are.
  Cost: the terms, and (entries of the row of A) x (entries of the row of C) / SPGEMM_CHUNK_ENTRIES searches: every chunk reads every row of B that its row of A meets.
*/
PetscErrorCode SpGEMMNumericChunks(DCSRView A, DCSRView B, DCSRView C, PetscCount max_chunks, const unsigned long long chunks[], const SpGEMMChunkNumbers *numbers, cudaStream_t stream)
{
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((max_chunks + CHUNK_THREADS / 32 - 1) / (CHUNK_THREADS / 32), CHUNK_BLOCKS, &blocks));
  if (blocks == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (B.wide) PetscCall(Launch<int64_t>(A, B, C, blocks, chunks, numbers, stream));
  else PetscCall(Launch<int32_t>(A, B, C, blocks, chunks, numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
