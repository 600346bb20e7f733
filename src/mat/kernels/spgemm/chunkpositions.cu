/*
  The numeric phase of long rows when it is repeated. A first repetition writes down, for each chunk of a row of C (chunks.cu), its parts: the entries of one row of B that lie in the chunk, and where in
  the chunk each of them goes. Those after it search nothing and make no tables. Rows whose terms are sorted the first time (huge.cu) have chunks here, too: most of their chunks meet few of the rows of B,
  and these alone are parts. Sums have the order of the row of A, and the bits of the first time.
*/
#include "table.cuh"
#include "../common/search.cuh"
#include "../common/scan.h"

namespace
{

constexpr int THREADS = 128;
constexpr int BLOCKS  = 64; // thread blocks for each multiprocessor, several times as many as it holds
constexpr int AHEAD   = 4;  // parts that are loaded together

constexpr int SHORT_ROW = 8; // entries of a row of B whose chunks a lane looks for

/* A chunk of a row of C, and its row of A. */
struct Chunk {
  int32_t    row, number, num; // number: of the chunk in its row, which has num of them
  PetscCount a_begin, a_length;
  PetscCount row_begin, begin; // of C: of the row, of the chunk
  int        n;                // entries of the chunk

  template <typename Offset>
  __device__ Chunk(const Factors<Offset> &f, const Offsets &c_offsets, unsigned long long item)
  {
    row                  = (int32_t)(item >> 32);
    number               = (int32_t)item;
    a_begin              = f.a_offsets(row);
    a_length             = f.a_offsets(row + 1) - a_begin;
    row_begin            = c_offsets(row);
    begin                = row_begin + (PetscCount)number * SPGEMM_CHUNK_ENTRIES;
    const PetscCount end = c_offsets(row + 1);
    num                  = (int32_t)((end - row_begin + SPGEMM_CHUNK_ENTRIES - 1) / SPGEMM_CHUNK_ENTRIES);
    n                    = end - begin < SPGEMM_CHUNK_ENTRIES ? (int)(end - begin) : SPGEMM_CHUNK_ENTRIES;
  }
  __device__ PetscCount Words() const { return (a_length + 31) / 32; } // a bit for each entry of the row of A
  /* The number of the chunk with a column of the row, whose columns begin at begins. */
  __device__ int Of(const int32_t *begins, int32_t column) const
  {
    return LastWhere(0, (int)num, [&](int m) { return begins[(PetscCount)m * SPGEMM_CHUNK_ENTRIES] <= column; });
  }
};

/* The chunks of a product. Those of a row lie one behind the other, beginning with its first. */
struct Chunks {
  PetscCount                n;
  const unsigned long long *items; /* [n] row, and in the lower half the number of the chunk in the row */
};

/* Calls visit(item) for the chunks of a warp. */
template <typename Visit>
__device__ inline void ForChunks(const Chunks &chunks, Visit visit)
{
  for (PetscCount item = (PetscCount)blockIdx.x * (THREADS / 32) + threadIdx.x / 32; item < chunks.n; item += (PetscCount)gridDim.x * (THREADS / 32)) visit(item);
}

template <typename Offset>
__global__ void __launch_bounds__(THREADS) CountWordsKernel(Factors<Offset> f, Offsets c_offsets, Chunks chunks, int64_t *words)
{
  for (PetscCount item = (PetscCount)blockIdx.x * THREADS + threadIdx.x; item < chunks.n; item += (PetscCount)gridDim.x * THREADS) words[item] = Chunk(f, c_offsets, chunks.items[item]).Words();
}

/* Marks entries of rows of A in the chunks that their rows of B meet, and counts them. */
struct Marks {
  const int64_t *first_word; /* [chunks + 1] */
  uint32_t      *words;
  int64_t       *counts; /* [chunks + 1] */

  __device__ void Set(PetscCount item, PetscCount entry) const
  {
    const uint32_t bit = 1u << (entry % 32);

    if (!(atomicOr(&words[first_word[item] + entry / 32], bit) & bit)) atomicAdd((unsigned long long *)&counts[item], 1ull);
  }
};

/* Marks the chunks of a row of C that a row of B meets, by the lanes of a warp; begins: every SPGEMM_CHUNK_ENTRIES-th of these columns begins a chunk. */
template <typename Offset>
__device__ inline void MarkRow(const Factors<Offset> &f, Offset begin, Offset end, const int32_t *begins, const Chunk &c, PetscCount first_item, PetscCount entry, const Marks &marks)
{
  const int lane = threadIdx.x % 32;

  if (end - begin <= c.num) { // a lane looks for the chunk of an entry of B
    for (Offset k = begin + lane; k < end; k += 32) marks.Set(first_item + c.Of(begins, f.b_columns[k]), entry);
  } else { // a lane looks for the first entry of B in a chunk, or behind it
    for (int m = lane; m < c.num; m += 32) {
      const Offset k = LowerBound(f.b_columns, begin, end, begins[(PetscCount)m * SPGEMM_CHUNK_ENTRIES]);

      if (k < end && (m + 1 == c.num || f.b_columns[k] < begins[((PetscCount)m + 1) * SPGEMM_CHUNK_ENTRIES])) marks.Set(first_item + m, entry);
    }
  }
}

/* The warp of a chunk takes as large a share of its row of A as each other chunk of the row, and marks where these entries have parts. Short rows of B are the work of a lane, others of the warp. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS) MarkKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, Chunks chunks, Marks marks)
{
  const int lane = threadIdx.x % 32;

  ForChunks(chunks, [&](PetscCount item) {
    const Chunk      c(f, c_offsets, chunks.items[item]);
    const PetscCount first_item = item - c.number, share = (c.a_length + c.num - 1) / c.num, first = share * c.number;
    const PetscCount last   = first + share < c.a_length ? first + share : c.a_length;
    const int32_t   *begins = c_columns + c.row_begin;

    for (PetscCount base = first; base < last; base += 32) {
      Offset begin = 0, end = 0;

      if (base + lane < last) {
        const int32_t column = f.a_columns[c.a_begin + base + lane];

        begin = f.b_offsets[column];
        end   = f.b_offsets[column + 1];
      }
      const bool is_short = end - begin <= SHORT_ROW;

      for (Offset k = begin; is_short && k < end; k++) marks.Set(first_item + c.Of(begins, f.b_columns[k]), base + lane);
      for (unsigned live = __ballot_sync(FULL_WARP, !is_short); live; live &= live - 1) {
        const int from = __ffs(live) - 1;

        MarkRow(f, ShuffleFrom<32>(begin, from), ShuffleFrom<32>(end, from), begins, c, first_item, base + from, marks);
      }
    }
  });
}

/* Lists the parts of chunks, and counts the terms of each chunk. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS)
  PartsKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, Chunks chunks, Marks marks, const int64_t *first_part, SpGEMMPart *parts, unsigned char *lengths, int64_t *terms)
{
  const int lane = threadIdx.x % 32;

  ForChunks(chunks, [&](PetscCount item) {
    const Chunk     c(f, c_offsets, chunks.items[item]);
    const int32_t   first = c_columns[c.begin], last = c_columns[c.begin + c.n - 1];
    const uint32_t *words = marks.words + marks.first_word[item];
    int64_t         part = first_part[item], sum = 0;

    for (PetscCount base = 0; base < c.Words(); base += 32) {
      const uint32_t mine = base + lane < c.Words() ? words[base + lane] : 0;

      for (unsigned live = __ballot_sync(FULL_WARP, mine != 0); live; live &= live - 1) {
        const int      from = __ffs(live) - 1;
        const uint32_t word = ShuffleFrom<32>(mine, from);

        if (word >> lane & 1) {
          const PetscCount entry  = (base + from) * 32 + lane;
          const int32_t    column = f.a_columns[c.a_begin + entry];
          const Offset     end = f.b_offsets[column + 1], b = LowerBound(f.b_columns, f.b_offsets[column], end, first);
          const int        length = (int)(UpperBound(f.b_columns, b, end, last) - b);
          const int64_t    at     = part + __popc(word & ((1u << lane) - 1));

          parts[at]   = {(uint32_t)entry, (uint32_t)b};
          lengths[at] = (unsigned char)(length - 1);
          sum += length;
        }
        part += __popc(word);
      }
    }
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(FULL_WARP, sum, k);
    if (lane == 0) terms[item] = sum;
  });
}

/* Up to 32 parts of a chunk, one a lane: entries of A and B, and where the places of its terms are. */
struct Batch {
  uint32_t a = 0, b = 0;
  int      length = 0;
  int      before, total; // terms of the parts before, and of all

  __device__ Batch(const SpGEMMChunkPositions &p, int64_t part, bool is_there, int lane)
  {
    if (is_there) {
      a      = p.parts[part].a;
      b      = p.parts[part].b;
      length = p.lengths[part] + 1;
    }
    int sum = length;

#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int other = __shfl_up_sync(FULL_WARP, sum, d);

      if (lane >= d) sum += other;
    }
    before = sum - length;
    total  = ShuffleFrom<32>(sum, 31);
  }
};

/* Writes down where the terms of chunks go. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS) PlaceKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, Chunks chunks, SpGEMMChunkPositions p)
{
  __shared__ unsigned long long slots[THREADS / 32][1 << SPGEMM_CHUNK_SLOTS];
  const int                     lane  = threadIdx.x % 32;
  const WindowTable             table = {slots[threadIdx.x / 32], SPGEMM_CHUNK_SLOTS};

  ForChunks(chunks, [&](PetscCount item) {
    const Chunk    c(f, c_offsets, chunks.items[item]);
    unsigned char *places = p.places + p.first_term[item];

    for (int slot = lane; slot < 1 << SPGEMM_CHUNK_SLOTS; slot += 32) table.slots[slot] = WindowTable::EMPTY;
    __syncwarp();
    BuildTable<32>(table, c_columns + c.begin, c.n, lane);
    for (int64_t part = p.first_part[item]; part < p.first_part[item + 1]; part += 32) {
      const Batch batch(p, part + lane, part + lane < p.first_part[item + 1], lane);

      for (int s = 0; s < 32; s++) {
        const uint32_t b      = ShuffleFrom<32>(batch.b, s);
        const int      length = ShuffleFrom<32>(batch.length, s), before = ShuffleFrom<32>(batch.before, s);

        for (int k = lane; k < length; k += 32) places[before + k] = (unsigned char)table.Position(f.b_columns[(Offset)b + k]);
      }
      places += batch.total;
    }
    __syncwarp();
  });
}

/* Adds a term. Those of rows that were sorted the first time are rounded before they are added, as they were then. */
template <bool Rounded>
__device__ inline void AddTerm(PetscScalar *sum, PetscScalar a, PetscScalar b)
{
  if constexpr (Rounded) {
    const PetscScalar term  = a * b;
    PetscReal        *parts = (PetscReal *)sum;

#pragma unroll
    for (size_t k = 0; k < sizeof(PetscScalar) / sizeof(PetscReal); k++) {
#if defined(PETSC_USE_REAL_SINGLE)
      parts[k] = __fadd_rn(parts[k], ((const PetscReal *)&term)[k]);
#else
      parts[k] = __dadd_rn(parts[k], ((const PetscReal *)&term)[k]);
#endif
    }
  } else *sum += a * b;
}

/* Adds the terms of a chunk to its sums. AHEAD parts are on their way together. */
template <bool Rounded, typename Offset>
__device__ inline void AddParts(const Factors<Offset> &f, PetscCount a_begin, const SpGEMMChunkPositions &p, PetscCount item, PetscScalar *sums, int lane)
{
  const int64_t        end    = p.first_part[item + 1];
  const unsigned char *places = p.places + p.first_term[item];

  for (int64_t part = p.first_part[item]; part < end; part += 32) {
    const Batch       batch(p, part + lane, part + lane < end, lane);
    const int         steps = end - part < 32 ? (int)(end - part) : 32;
    const PetscScalar a     = lane < steps ? f.a_values[a_begin + batch.a] : PetscScalar(0.0);

    for (int s = 0; s < steps; s += AHEAD) {
      const unsigned char *place[AHEAD];
      const PetscScalar   *b[AHEAD];
      int                  left[AHEAD], first_place[AHEAD];
      PetscScalar          first_value[AHEAD];

#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        left[u]  = ShuffleFrom<32>(batch.length, (s + u) % 32);
        b[u]     = f.b_values + ShuffleFrom<32>(batch.b, (s + u) % 32);
        place[u] = places + ShuffleFrom<32>(batch.before, (s + u) % 32);
        if (s + u >= steps) left[u] = 0;
        if (lane < left[u]) {
          first_place[u] = place[u][lane];
          first_value[u] = b[u][lane];
        }
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const PetscScalar factor = ShuffleFrom<32>(a, (s + u) % 32);

        if (lane < left[u]) AddTerm<Rounded>(&sums[first_place[u]], factor, first_value[u]);
        for (int k = 32 + lane; k < left[u]; k += 32) AddTerm<Rounded>(&sums[place[u][k]], factor, b[u][k]);
        __syncwarp();
      }
    }
    places += batch.total;
  }
}

template <typename Offset>
__global__ void __launch_bounds__(THREADS) PlacedChunksKernel(Factors<Offset> f, Offsets c_offsets, PetscScalar *c_values, Chunks chunks, SpGEMMChunkPositions p)
{
  extern __shared__ char shared[];
  const int              lane = threadIdx.x % 32;
  PetscScalar           *sums = (PetscScalar *)shared + threadIdx.x / 32 * SPGEMM_CHUNK_ENTRIES;

  ForChunks(chunks, [&](PetscCount item) {
    const Chunk c(f, c_offsets, chunks.items[item]);

    for (int k = lane; k < c.n; k += 32) sums[k] = 0.0;
    __syncwarp();
    if (item < p.first_sorted) AddParts<false>(f, c.a_begin, p, item, sums, lane);
    else AddParts<true>(f, c.a_begin, p, item, sums, lane);
    for (int k = lane; k < c.n; k += 32) c_values[c.begin + k] = sums[k];
    __syncwarp();
  });
}

/* What the steps that make positions have in common. */
struct Maker {
  using Offset = int32_t;

  Factors<Offset>       f;
  Offsets               c_offsets;
  const int32_t        *c_columns;
  Chunks                chunks;
  SpGEMMChunkPositions *p;
  size_t                bound;
  unsigned int          blocks;
  cudaStream_t          stream;

  /* Sums counts [chunks] to offsets in place; their total comes to the host. Synchronizes. */
  PetscErrorCode Sum(int64_t counts[], PetscCount *total) const
  {
    int64_t last;

    PetscFunctionBegin;
    PetscCallCUDA(cudaMemsetAsync(counts + chunks.n, 0, sizeof(*counts), stream));
    PetscCall(DCSRExclusiveSum("workspace to sum chunks of a product", counts, chunks.n + 1, stream));
    PetscCallCUDA(cudaMemcpyAsync(&last, counts + chunks.n, sizeof(last), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    *total = (PetscCount)last;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* Bits of the chunks; words stays NULL when they are too many. */
  PetscErrorCode Mark(Marks *marks, int64_t *first_word) const
  {
    PetscCount total;

    PetscFunctionBegin;
    CountWordsKernel<<<blocks, THREADS, 0, stream>>>(f, c_offsets, chunks, first_word);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(Sum(first_word, &total));
    if ((size_t)total * sizeof(*marks->words) > bound) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscSparseCUDATryMalloc(total, stream, &marks->words));
    if (marks->words == NULL) PetscFunctionReturn(PETSC_SUCCESS);
    *marks = {first_word, marks->words, p->first_part};
    PetscCallCUDA(cudaMemsetAsync(marks->words, 0, (size_t)total * sizeof(*marks->words), stream));
    PetscCallCUDA(cudaMemsetAsync(p->first_part, 0, (size_t)chunks.n * sizeof(*p->first_part), stream));
    MarkKernel<<<blocks, THREADS, 0, stream>>>(f, c_offsets, c_columns, chunks, *marks);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(Sum(p->first_part, &p->num_parts));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* Parts and places; places stay NULL when there is no room. */
  PetscErrorCode Fill(const Marks &marks) const
  {
    PetscFunctionBegin;
    if (SpGEMMChunkPositionsBytes(p) > bound) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscSparseCUDATryMalloc(p->num_parts, stream, &p->parts));
    if (p->parts) PetscCall(PetscSparseCUDATryMalloc(p->num_parts, stream, &p->lengths));
    if (p->lengths == NULL) PetscFunctionReturn(PETSC_SUCCESS);
    PartsKernel<<<blocks, THREADS, 0, stream>>>(f, c_offsets, c_columns, chunks, marks, p->first_part, p->parts, p->lengths, p->first_term);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(Sum(p->first_term, &p->num_terms));
    if (SpGEMMChunkPositionsBytes(p) > bound) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscSparseCUDATryMalloc(p->num_terms, stream, &p->places));
    if (p->places == NULL) PetscFunctionReturn(PETSC_SUCCESS);
    PlaceKernel<<<blocks, THREADS, 0, stream>>>(f, c_offsets, c_columns, chunks, *p);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* All of them, or places stay NULL. */
PetscErrorCode Make(const Maker &make, int64_t *first_word)
{
  Marks          marks = {NULL, NULL, NULL};
  PetscErrorCode ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc(make.chunks.n + 1, make.stream, &make.p->first_part));
  if (make.p->first_part) PetscCall(PetscSparseCUDATryMalloc(make.chunks.n + 1, make.stream, &make.p->first_term));
  if (make.p->first_term == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, make.Mark(&marks, first_word));
  if (marks.words) PetscCallGoto(ierr, cleanup, make.Fill(marks));
cleanup:
  PetscCall(PetscSparseCUDAFree(&marks.words, make.stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpGEMMChunkPositionsBytes - The device memory of the positions of chunks, as far as they are counted. */
size_t SpGEMMChunkPositionsBytes(const SpGEMMChunkPositions *p)
{
  return 2 * ((size_t)p->num_chunks + 1) * sizeof(int64_t) + (size_t)p->num_parts * (sizeof(SpGEMMPart) + 1) + (size_t)p->num_terms;
}

/*
  SpGEMMChunkPositionsMake - Writes down where the terms of chunks go, if that takes at most bound bytes; p->places is NULL otherwise. Synchronizes
  A and B are compact, B with 32-bit offsets; row offsets and columns of C are there. chunks [n], device: as those of SpGEMMListChunks(), a row's side by side and in order; from first_sorted on those of
  rows that SpGEMMNumericHuge() does the first time. Workspace: a bit for each chunk and entry of its row of A, at most bound bytes. Cost: a search for each part.
*/
PetscErrorCode SpGEMMChunkPositionsMake(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const unsigned long long chunks[], PetscCount first_sorted, size_t bound, cudaStream_t stream,
                                        SpGEMMChunkPositions *p)
{
  Maker          make       = {Factors<int32_t>(A, B), Offsets(C), C.columns, {n, chunks}, p, bound, 0, stream};
  int64_t       *first_word = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->num_chunks   = n;
  p->first_sorted = first_sorted;
  PetscCall(DCSRGetGrid((n + THREADS / 32 - 1) / (THREADS / 32), BLOCKS, &make.blocks));
  PetscCall(PetscSparseCUDATryMalloc(n + 1, stream, &first_word));
  if (first_word == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = Make(make, first_word);
  PetscCall(PetscSparseCUDAFree(&first_word, stream));
  if (ierr != PETSC_SUCCESS || p->places == NULL) PetscCall(SpGEMMChunkPositionsFree(p, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMNumericChunkPositions - Values of the rows of chunks whose positions are there; see SpGEMMNumericChunks(). Asynchronous */
PetscErrorCode SpGEMMNumericChunkPositions(DCSRView A, DCSRView B, DCSRView C, const unsigned long long chunks[], const SpGEMMChunkPositions *p, cudaStream_t stream)
{
  const Chunks all = {p->num_chunks, chunks};
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((all.n + THREADS / 32 - 1) / (THREADS / 32), BLOCKS, &blocks));
  PlacedChunksKernel<<<blocks, THREADS, THREADS / 32 * SPGEMM_CHUNK_ENTRIES * sizeof(PetscScalar), stream>>>(Factors<int32_t>(A, B), Offsets(C), C.values, all, *p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMChunkPositionsFree - Frees the arrays. */
PetscErrorCode SpGEMMChunkPositionsFree(SpGEMMChunkPositions *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&p->first_part, stream));
  PetscCall(PetscSparseCUDAFree(&p->first_term, stream));
  PetscCall(PetscSparseCUDAFree(&p->parts, stream));
  PetscCall(PetscSparseCUDAFree(&p->lengths, stream));
  PetscCall(PetscSparseCUDAFree(&p->places, stream));
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
