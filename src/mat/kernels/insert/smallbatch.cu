/*
  A short list in any order is inserted in one launch: one thread block sorts it, adds repeats up, looks the entries up and appends new ones, all in shared memory. The
  host learns what it must as soon as that is known, in pinned memory, and goes on. The general way takes about 20 launches, as many allocations and four waits, whatever
  the length of the list.

  Appending needs fragmented storage, and the batch before may have left a compact one with room behind its entries. All other thread blocks make the segments of its rows
  then, while the first steps are under way. The thread block that starts last takes the list: those that it waits for have started, so that the wait ends on any device.
*/
#include "../common/message.h"
#include "../storage/segments.cuh"
#include "append.cuh"
#include "find.cuh"
#include "pack.cuh"
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_scan.cuh>

namespace
{

constexpr PetscCount MAX_MOVED = 1 << 15; // old entries that one thread block moves: 32 for each thread
constexpr int        LONG_RUN  = 512;     // repeats that are added up in order, as in reduce.cu: more of them have another order there

/* What the host learns, a message. */
struct SmallResult {
  PetscCount num_new, pool;
  int        done, grown;  // done: the list is inserted, or is about to be; 0: nothing has changed
  int        num_distinct; // entries of the batch, when the list has become one
};

struct SmallBatch {
  DCSRSmallList  list;
  PackEntry      pack;    // when the list has no keys
  uint64_t       ignored; // sorts behind all keys
  DCSRView       view;    // with segments and with row offsets: segments are to be made
  DCSRBatch      batch;   // what the list becomes when there is no room for new entries; without keys: nothing
  DCSRNewEntries policy;
  bool           append;
  double         slack;
  DCSRMessage   *message; // for the result
  uint32_t       number;  // of it
};

/* Thread blocks of a launch that have begun, and that have made their segments; zero between launches, which are in one order. */
__device__ unsigned int num_begun, num_made;

struct Less {
  __device__ bool operator()(uint64_t a, uint64_t b) const { return a < b; }
};

/* Everything but what a thread keeps for itself: thread t has entry t of the sorted list, later distinct entry t, later new entry t. */
template <int THREADS>
struct SmallShared {
  using Sort      = cub::BlockMergeSort<uint64_t, THREADS, 1, int>;
  using Scan      = cub::BlockScan<int, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
  using NeedsScan = cub::BlockScan<Needs, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
  union Temporary {
    typename Sort::TempStorage sort;
    typename Scan::TempStorage scan;
    Needs                      before[THREADS];
  } temporary;
  typename NeedsScan::TempStorage needs;
  uint64_t                        keys[THREADS];   // sorted, then distinct, then new
  PetscScalar                     values[THREADS]; // in the order of the keys, then of the new ones
  int                             begins[THREADS + 1];
};

/* Share k of num of the rows get their segments. */
template <int THREADS, typename Offset>
__device__ void MakeShare(const DCSRView &view, unsigned int k, unsigned int num)
{
  for (PetscCount row = (PetscCount)k * THREADS + threadIdx.x; row < view.num_rows; row += (PetscCount)num * THREADS) MakeSegments<Offset>(view, row);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&num_made, 1u);
}

/* Waits for all other thread blocks, and prepares the next launch. */
__device__ void WaitForSegments()
{
  if (gridDim.x == 1) return;
  if (threadIdx.x == 0) {
    while (*(volatile unsigned int *)&num_made < gridDim.x - 1)
      ;
    num_begun = 0;
    num_made  = 0;
    __threadfence();
  }
  __syncthreads();
}

/* One thread sends the result to the host. */
__device__ void Send(const SmallBatch &b, const SmallResult &result)
{
  volatile SmallResult *to = (volatile SmallResult *)b.message->words;

  to->num_new = result.num_new;
  to->pool    = result.pool;
  to->done    = result.done;
  to->grown   = result.grown;

  to->num_distinct = result.num_distinct;
  __threadfence_system();
  *(volatile uint32_t *)&b.message->number = b.number;
}

/* Sorted keys and their values; returns how many count. */
template <int THREADS>
__device__ int SortSmall(const SmallBatch &b, SmallShared<THREADS> &s, bool *bad)
{
  const int t           = (int)threadIdx.x;
  uint64_t  key[1]      = {b.ignored};
  int       position[1] = {t};

  if (t < b.list.n) {
    const uint64_t packed = b.list.keys ? b.list.keys[t] : b.pack(t, bad);

    if (packed != NO_KEY && !*bad) key[0] = packed;
  }
  typename SmallShared<THREADS>::Sort(s.temporary.sort).StableSort(key, position, Less());
  s.keys[t] = key[0];
  if (key[0] != b.ignored) s.values[t] = b.list.values[position[0]];
  return __syncthreads_count(key[0] != b.ignored);
}

/* Distinct keys in place of num sorted ones, and where their values begin; returns how many there are. */
template <int THREADS>
__device__ int FindDistinct(int num, SmallShared<THREADS> &s)
{
  const int      t    = (int)threadIdx.x;
  const uint64_t key  = s.keys[t];
  const int      head = t < num && (t == 0 || s.keys[t - 1] != key);
  int            d, num_distinct;

  typename SmallShared<THREADS>::Scan(s.temporary.scan).ExclusiveSum(head, d, num_distinct);
  __syncthreads(); // all have read the keys
  if (head) {
    s.keys[d]   = key;
    s.begins[d] = t;
  }
  if (t == 0) s.begins[num_distinct] = num;
  __syncthreads();
  return num_distinct;
}

/* The sum or the last of the values of distinct entry t, in the order of the list, and whether one of them is not zero. */
template <bool Add, int THREADS>
__device__ PetscScalar ReduceDistinct(int t, const SmallShared<THREADS> &s, bool *nonzero)
{
  const int   begin = s.begins[t], end = s.begins[t + 1];
  PetscScalar sum = s.values[Add ? begin : end - 1];

  for (int k = begin; k < end; k++) {
    *nonzero = *nonzero || !(s.values[k] == PetscScalar(0.0));
    if (Add && k > begin) sum += s.values[k];
  }
  return sum;
}

template <typename Offset>
__device__ PetscCount FindEntry(const DCSRView &view, PetscInt row, int32_t column)
{
  return view.row_offsets ? FindCompact<Offset>{view}(row, column) : FindInSegments<Offset>{view}(row, column);
}

/* Pool entries and old entries that the new entries' rows take; returns those of all. */
template <int THREADS, typename Offset>
__device__ Needs SumNeeds(const SmallBatch &b, const NewRows &rows, SmallShared<THREADS> &s)
{
  const int t    = (int)threadIdx.x;
  Needs     mine = {0, 0}, before, all;

  if (t < rows.num && rows.IsLeader(t)) {
    const RowPlan plan = PlanRow<Offset>(b.view, rows.keys.Row(t), (int32_t)(rows.End(t) - t), b.slack);

    if (plan.length > 0) mine = Needs{plan.length, plan.num_old};
  }
  typename SmallShared<THREADS>::NeedsScan(s.needs).ExclusiveScan(mine, before, Needs{0, 0}, AddNeeds(), all);
  s.temporary.before[t] = before;
  __syncthreads();
  return all;
}

/* What a thread knows of its distinct entry. */
struct Found {
  uint64_t    key;
  PetscScalar value; // of the repeats together
  PetscCount  where; // as in DCSRLookup
};

/* Looks distinct entry t up; *bad when its repeats are not to be added up here. */
template <int THREADS, typename Offset, bool Add>
__device__ Found LookUp(const SmallBatch &b, int t, const SmallShared<THREADS> &s, bool *bad)
{
  const uint64_t key         = s.keys[t];
  const PetscInt row         = (PetscInt)(key >> b.list.column_bits);
  const int32_t  column      = (int32_t)(key & (((uint64_t)1 << b.list.column_bits) - 1));
  const bool     is_diagonal = b.list.diagonal != DCSR_NO_DIAGONAL && (int64_t)column - (int64_t)row == (int64_t)b.list.diagonal;
  bool           nonzero     = false;
  Found          found;

  if (Add && s.begins[t + 1] - s.begins[t] > LONG_RUN) *bad = true;
  found.key   = key;
  found.value = ReduceDistinct<Add>(t, s, &nonzero);
  found.where = FindEntry<Offset>(b.view, row, column);
  if (found.where < 0 && b.list.ignore_zeros && !nonzero && !is_diagonal) found.where = DCSR_NOWHERE;
  return found;
}

/* New entries in place of the distinct ones; returns how many there are. */
template <int THREADS>
__device__ int ListNew(const Found &found, SmallShared<THREADS> &s)
{
  const int is_new = found.where < 0 && found.where != DCSR_NOWHERE;
  int       q, num_new;

  typename SmallShared<THREADS>::Scan(s.temporary.scan).ExclusiveSum(is_new, q, num_new);
  if (is_new) {
    s.keys[q]   = found.key;
    s.values[q] = found.value;
  }
  __syncthreads();
  return num_new;
}

/* Distinct entry t becomes an entry of the batch. */
__device__ void MakeEntry(const DCSRBatch &batch, int t, const Found &found)
{
  batch.keys[t]   = found.key;
  batch.values[t] = found.value;
  if (batch.counts) batch.counts[t] = found.where != DCSR_NOWHERE;
}

/* The new entries are appended to the rows. */
template <int THREADS, typename Offset>
__device__ void Append(const Appending<Offset> &a, PetscCount moved)
{
  const int t = (int)threadIdx.x;

  __syncthreads(); // entries move with their new values
  for (PetscCount e = t; e < moved; e += THREADS) MoveOld<Offset>{a}(e);
  if (t < a.rows.num) PositionNew<Offset>{a}(t);
  __syncthreads();
  if (t < a.rows.num) CommitRow<Offset>{a}(t);
}

/* All threads of one thread block. */
template <int THREADS, typename Offset, bool Add>
__device__ void Insert(const SmallBatch &b, SmallShared<THREADS> &s)
{
  const int t   = (int)threadIdx.x;
  bool      bad = false;
  const int num = SortSmall(b, s, &bad), num_distinct = FindDistinct(num, s);
  Found     found = {0, PetscScalar(0.0), DCSR_NOWHERE};
  Needs     needs = {0, 0};

  if (t < num_distinct) found = LookUp<THREADS, Offset, Add>(b, t, s, &bad);
  bad               = __syncthreads_or(bad); // all have read keys and values
  const int num_new = ListNew(found, s);

  WaitForSegments();
  const bool              grow = num_new > 0 && b.policy == DCSR_NEW_ALLOW, refuse = bad || (num_new > 0 && b.policy == DCSR_NEW_FORBID);
  const Appending<Offset> a = {b.view, {{s.keys, NULL, b.list.column_bits}, num_new}, s.values, s.temporary.before, b.slack};

  if (grow && b.append) needs = SumNeeds<THREADS, Offset>(b, a.rows, s);
  const bool possible = !refuse && (!grow || (b.append && needs.pool <= b.view.capacity - b.view.used && needs.moved <= MAX_MOVED));

  const bool make_batch = !possible && !bad && b.batch.keys != NULL;

  if (t == 0) Send(b, SmallResult{num_new, needs.pool, possible, possible && grow, make_batch ? num_distinct : 0});
  if (make_batch && t < num_distinct) MakeEntry(b.batch, t, found);
  if (!possible) return;
  if (found.where >= 0) b.view.values[found.where] = Add ? b.view.values[found.where] + found.value : found.value;
  if (grow) Append<THREADS, Offset>(a, needs.moved);
}

template <int THREADS, typename Offset, bool Add>
__global__ void __launch_bounds__(THREADS) SmallBatchKernel(SmallBatch b)
{
  __shared__ SmallShared<THREADS> s;
  __shared__ unsigned int         ticket;

  if (gridDim.x > 1) {
    if (threadIdx.x == 0) ticket = atomicAdd(&num_begun, 1u);
    __syncthreads();
    if (ticket + 1 < gridDim.x) {
      MakeShare<THREADS, Offset>(b.view, ticket, gridDim.x - 1);
      return;
    }
  }
  Insert<THREADS, Offset, Add>(b, s);
}

/* Thread blocks: one, and those that make segments. The device holds all of them at a time, so that none waits until another one has ended. */
PetscErrorCode NumBlocks(const SmallBatch &b, int threads, unsigned int *blocks)
{
  DCSRDeviceFacts facts;
  unsigned int    wanted;

  PetscFunctionBegin;
  *blocks = 1;
  if (b.view.row_offsets == NULL || !b.append) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRGetDeviceFacts(&facts));
  wanted  = 1 + DCSRNumBlocks((PetscCount)b.view.num_rows, threads);
  *blocks = PetscMax(2, PetscMin(wanted, (unsigned int)(facts.num_multiprocessors * (DCSR_SMALL_LIST / threads))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int THREADS>
PetscErrorCode Launch(const SmallBatch &b, bool add, cudaStream_t stream)
{
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(NumBlocks(b, THREADS, &blocks));
  if (b.view.wide && add) SmallBatchKernel<THREADS, int64_t, true><<<blocks, THREADS, 0, stream>>>(b);
  else if (b.view.wide) SmallBatchKernel<THREADS, int64_t, false><<<blocks, THREADS, 0, stream>>>(b);
  else if (add) SmallBatchKernel<THREADS, int32_t, true><<<blocks, THREADS, 0, stream>>>(b);
  else SmallBatchKernel<THREADS, int32_t, false><<<blocks, THREADS, 0, stream>>>(b);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRSmallBatch - sorts and reduces a short list (at most DCSR_SMALL_LIST entries), looks its entries up and appends new ones, in one launch
  view is storage with values and at least one entry: fragmented, or compact, or compact with the arrays of segments, which are to be filled. mode and policy are as for DCSRInsertBatch(). append:
  whether new ones may be appended: there are arrays of segments. slack: unused entries behind a new segment, as a part of the row's entries.
  batch has room for n entries: what the list becomes when it is not inserted for want of room; without keys it becomes nothing. Its num_entries is 0 unless the list has become a batch. When done,
  num_new entries were not there. pool: what those that were inserted took from the pool. grown: whether new entries were inserted.
  done = PETSC_FALSE: entries, row offsets and, in fragmented storage, segments are as they were. Waits until the result is known; the work goes on then. Without pinned memory nothing is done.
*/
PetscErrorCode DCSRSmallBatch(DCSRView view, const DCSRSmallList *list, InsertMode mode, DCSRNewEntries policy, PetscBool append, PetscReal slack, DCSRBatch *batch, cudaStream_t stream,
                              PetscCount *num_new, PetscCount *pool, PetscBool *grown, PetscBool *done)
{
  SmallBatch  b = {*list, {list->window, list->rows, list->columns, list->column_bits}, (uint64_t)1 << list->key_bits, view, *batch, policy, append == PETSC_TRUE, (double)slack, NULL, 0};
  SmallResult result;

  static_assert(sizeof(SmallResult) <= sizeof(DCSRMessage::words), "a message");
  PetscFunctionBegin;
  *done  = PETSC_FALSE;
  *grown = PETSC_FALSE;
  PetscCall(DCSRMessageExpect(&b.message, &b.number));
  if (b.message == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (list->n <= DCSR_SMALL_LIST / 8) PetscCall(Launch<DCSR_SMALL_LIST / 8>(b, mode == ADD_VALUES, stream)); // fewer rounds of sorting
  else PetscCall(Launch<DCSR_SMALL_LIST>(b, mode == ADD_VALUES, stream));
  PetscCall(DCSRMessageWait(b.message, b.number, stream));
  PetscCall(PetscMemcpy(&result, b.message->words, sizeof(result)));
  *done    = (PetscBool)(result.done != 0);
  *grown   = (PetscBool)(result.grown != 0);
  *num_new = result.num_new;
  *pool    = result.pool;

  batch->num_entries = result.num_distinct;
  PetscFunctionReturn(PETSC_SUCCESS);
}
