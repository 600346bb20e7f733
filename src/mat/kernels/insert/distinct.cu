/*
  The distinct entries of a sorted list and their values, in two passes over tiles of it: the first one counts entries that differ from the one before, the second one writes them, with the
  sum of their repeats in the order in which they were given, so that the same input gives the same bits. Nothing is noted for further values of the same list, as list.cu does.
*/
#include "../common/message.h"
#include "listimpl.h"
#include "sources.cuh"
#include "tiles.cuh"

namespace
{

constexpr int        THREADS = 256;
constexpr int        ITEMS   = 8; // entries of a thread: their loads are under way together
constexpr int        TILE    = THREADS * ITEMS;
constexpr int        WORDS   = TILE / 32;
constexpr PetscCount FEW     = (PetscCount)1 << 20; // entries of a list for all of which there is room before it is known how many are distinct: 16 MiB at most

/* What the first pass learns. */
struct DistinctNumbers {
  PetscCount   num_distinct;
  unsigned int has_long; // some entry has more repeats than a thread should add up
  unsigned int num_done; // thread blocks
};

/* One thread sends them to the host, when the numbers are there. */
__device__ void TellNumbers(const DistinctNumbers *numbers, DCSRMessage *message, uint32_t number)
{
  volatile DistinctNumbers *to = (volatile DistinctNumbers *)message->words;

  to->num_distinct = *(const volatile PetscCount *)&numbers->num_distinct;
  to->has_long     = *(const volatile unsigned int *)&numbers->has_long; // other multiprocessors have written it
  __threadfence_system();
  *(volatile uint32_t *)&message->number = number;
}

/* Entries that differ from the one before, in each tile; then in the tiles before. message: for the host, or NULL. */
__global__ void __launch_bounds__(THREADS)
  CountFirstsKernel(const uint64_t *keys, PetscCount n, PetscCount num_tiles, PetscCount *counts, DistinctNumbers *numbers, DCSRMessage *message, uint32_t number)
{
  __shared__ int   num_firsts;
  const PetscCount begin = (PetscCount)blockIdx.x * TILE + threadIdx.x;
  uint64_t         key[ITEMS], before[ITEMS];
  int              num = 0;

  if (threadIdx.x == 0) num_firsts = 0;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const PetscCount k = begin + j * THREADS < n ? begin + j * THREADS : n - 1;

    key[j]    = keys[k];
    before[j] = keys[k > 0 ? k - 1 : 0];
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const PetscCount k     = begin + j * THREADS;
    const bool       first = k == 0 || key[j] != before[j];

    // the second entry of a long run is one that sees its length
    if (!first && k + LONG_RUN - 1 < n && keys[k + LONG_RUN - 1] == key[j]) numbers->has_long = 1;
    num += __popc(__ballot_sync(0xffffffffu, k < n && first));
  }
  if (threadIdx.x % 32 == 0) atomicAdd(&num_firsts, num);
  __syncthreads();
  if (threadIdx.x == 0) counts[blockIdx.x] = num_firsts;
  if (SumCountsOfTiles<THREADS>(counts, num_tiles, &numbers->num_distinct, &numbers->num_done) && message) TellNumbers(numbers, message, number);
}

/* A sorted list with its values. */
template <typename Index>
struct SortedList {
  const uint64_t    *keys;
  Sources<Index>     sources;
  const PetscScalar *values;
  PetscCount         n;

  __device__ __forceinline__ PetscScalar Value(PetscCount k) const { return values[sources[k]]; }

  /* The sum of the entries from k on that have its key. Where there are more than a thread should add up, nobody wants the sum. */
  __device__ __forceinline__ PetscScalar Sum(PetscCount k, uint64_t key, PetscScalar sum) const
  {
    for (PetscCount i = k + 1; i < n && i < k + LONG_RUN && keys[i] == key; i++) sum += Value(i);
    return sum;
  }
};

/* firsts_before [tiles] are the distinct entries of the tiles before. LAST: the last of equal entries counts, not their sum. */
template <typename Index, bool LAST>
__global__ void __launch_bounds__(THREADS) WriteDistinctKernel(SortedList<Index> list, const PetscCount *firsts_before, uint64_t *keys, PetscScalar *values)
{
  __shared__ unsigned int firsts[WORDS]; // bits
  __shared__ int          before_word[WORDS];
  const PetscCount        begin = (PetscCount)blockIdx.x * TILE, n = list.n, before_tile = firsts_before[blockIdx.x];
  const unsigned int      lane = threadIdx.x % 32;
  uint64_t                key[ITEMS], before[ITEMS];
  PetscScalar             value[ITEMS];

#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const PetscCount i = begin + j * THREADS + threadIdx.x, k = i < n ? i : n - 1;

    key[j]    = list.keys[k];
    before[j] = list.keys[k > 0 ? k - 1 : 0];
    value[j]  = list.Value(k);
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const PetscCount   k    = begin + j * THREADS + threadIdx.x;
    const unsigned int bits = __ballot_sync(0xffffffffu, k < n && (k == 0 || key[j] != before[j]));

    if (lane == 0) firsts[(j * THREADS + threadIdx.x) / 32] = bits;
  }
  __syncthreads();
  if (threadIdx.x < 32) CountBeforeWords<WORDS>(firsts, before_word);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {
    const int          i     = j * THREADS + (int)threadIdx.x;
    const PetscCount   k     = begin + i;
    const unsigned int bits  = firsts[i / 32];
    const bool         first = bits >> lane & 1;
    const PetscCount   t     = before_tile + before_word[i / 32] + __popc(bits & ((1u << lane) - 1)); // distinct entries before entry k
    bool               repeats;                                                                       // the next one has the same key

    if (k >= n) continue;
    if (k + 1 >= n) repeats = false;
    else repeats = i + 1 < TILE ? !(firsts[(i + 1) / 32] >> (i + 1) % 32 & 1) : list.keys[k + 1] == key[j];
    if (first) keys[t] = key[j];
    if (LAST && !repeats) values[first ? t : t - 1] = value[j];
    if (!LAST && first) values[t] = repeats ? list.Sum(k, key[j], value[j]) : value[j];
  }
}

PetscErrorCode AllocateEntries(DCSRBatch *batch, PetscCount n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "distinct keys of a batch", stream, &batch->keys));
  PetscCall(PetscSparseCUDAMalloc(n, "values of a batch", stream, &batch->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index>
PetscErrorCode WriteDistinct(const DCSRList *list, const PetscScalar v[], PetscBool last, PetscCount num_tiles, const PetscCount counts[], DCSRBatch *batch, cudaStream_t stream)
{
  const SortedList<Index> sorted = {list->keys, SourcesOf<Index>(list), v, list->num_entries};

  PetscFunctionBegin;
  if (last) WriteDistinctKernel<Index, true><<<(unsigned int)num_tiles, THREADS, 0, stream>>>(sorted, counts, batch->keys, batch->values);
  else WriteDistinctKernel<Index, false><<<(unsigned int)num_tiles, THREADS, 0, stream>>>(sorted, counts, batch->keys, batch->values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both passes. The host learns of the first one during the second one when there are few entries. */
template <typename Index>
PetscErrorCode TakeDistinct(const DCSRList *list, const PetscScalar v[], PetscBool last, cudaStream_t stream, DCSRBatch *batch, PetscBool *done)
{
  const PetscCount n = list->num_entries, num_tiles = (n + TILE - 1) / TILE;
  constexpr int    PER_NUMBERS = sizeof(DistinctNumbers) / sizeof(PetscCount);
  const PetscBool  few         = (PetscBool)(n <= FEW);
  PetscErrorCode   ierr        = PETSC_SUCCESS;
  PetscCount      *counts; // behind the numbers
  DistinctNumbers *device = NULL, numbers;
  DCSRNumbersSent  sent;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1 + (num_tiles + PER_NUMBERS - 1) / PER_NUMBERS, "distinct entries of tiles", stream, &device));
  counts = (PetscCount *)(device + 1);
  if (few) PetscCallGoto(ierr, cleanup, AllocateEntries(batch, n, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallGoto(ierr, cleanup, DCSRExpectNumbers(device, sizeof(numbers), &sent));
  CountFirstsKernel<<<(unsigned int)num_tiles, THREADS, 0, stream>>>(list->keys, n, num_tiles, counts, device, sent.message, sent.number);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  if (few) PetscCallGoto(ierr, cleanup, WriteDistinct<Index>(list, v, last, num_tiles, counts, batch, stream));
  PetscCallGoto(ierr, cleanup, DCSRAwaitNumbers(&sent, stream, &numbers));
  batch->num_entries = numbers.num_distinct;
  *done              = (PetscBool)(last || !numbers.has_long);
  if (*done && !few) {
    PetscCallGoto(ierr, cleanup, AllocateEntries(batch, batch->num_entries, stream));
    PetscCallGoto(ierr, cleanup, WriteDistinct<Index>(list, v, last, num_tiles, counts, batch, stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRListTakeDistinct - the distinct entries of a list with their values; waits until it is known how many there are
  list is sorted, with its keys and at least one entry; its runs are not known. v [num_given], device: values of the unsorted list. last: take the last of repeated entries, otherwise their sum.
  batch has its number of entries, keys and values; it is to be freed with DCSRBatchDestroy() also after an error. done = PETSC_FALSE: more than LONG_RUN equal entries are to be added, for which the
  runs are needed; the batch is of no use.
  Cost: two reads of the keys and one of order and values, one write of the batch. Memory: the batch; when there are at most 2^20 entries as if all were distinct.
*/
PetscErrorCode DCSRListTakeDistinct(const DCSRList *list, const PetscScalar v[], PetscBool last, cudaStream_t stream, DCSRBatch *batch, PetscBool *done)
{
  PetscFunctionBegin;
  if (list->wide) PetscCall(TakeDistinct<int64_t>(list, v, last, stream, batch, done));
  else PetscCall(TakeDistinct<int32_t>(list, v, last, stream, batch, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
