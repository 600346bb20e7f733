/*
  A short list in any order joins the rows in one launch of one thread block: it is sorted, reduced, looked up and appended in shared memory, and the host waits once.
  The general way takes about 20 launches, as many allocations and three waits, whatever the length of the list.
*/
#include "append.cuh"
#include "find.cuh"
#include "pack.cuh"
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_scan.cuh>

namespace
{

constexpr PetscCount MAX_MOVED = 1 << 15; // old entries that one thread block moves: 32 for each thread

/* What the host learns; the device writes it where the host reads it. */
struct SmallResult {
  int        done; // 0: nothing has changed, and the list has to go the general way
  PetscCount num_new, pool;
  uint64_t   first_new; // key of the first new entry, when there is one
};

struct SmallBatch {
  DCSRSmallList  list;
  PackEntry      pack;    // when the list has no keys
  uint64_t       ignored; // sorts behind all keys
  DCSRView       view;
  DCSRNewEntries policy;
  bool           append;
  double         slack;
};

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
    typename Sort::TempStorage      sort;
    typename Scan::TempStorage      scan;
    typename NeedsScan::TempStorage needs;
  } temporary;
  Needs       before[THREADS];
  PetscCount  entries[THREADS]; // the new ones among the distinct ones
  uint64_t    keys[THREADS];    // sorted, then distinct
  PetscScalar values[THREADS];  // in the order of the keys, then of the distinct ones
  int         begins[THREADS + 1];
};

/* Sorted keys and their values; returns how many count. */
template <int THREADS>
__device__ int SortSmall(const SmallBatch &b, SmallShared<THREADS> &s, bool *bad)
{
  const int t           = (int)threadIdx.x;
  uint64_t  key[1]      = {b.ignored};
  int       position[1] = {t};

  if (t < b.list.n) {
    const uint64_t packed = b.list.keys ? b.list.keys[t] : b.pack(t, bad);

    if (packed != NO_KEY) key[0] = packed;
  }
  *bad = __syncthreads_or(*bad);
  if (*bad) return 0;
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
  const int   end = s.begins[t + 1];
  PetscScalar sum = s.values[Add ? s.begins[t] : end - 1];

  for (int k = s.begins[t]; k < end; k++) {
    *nonzero = *nonzero || !(s.values[k] == PetscScalar(0.0));
    if (Add && k > s.begins[t]) sum += s.values[k];
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
  typename SmallShared<THREADS>::NeedsScan(s.temporary.needs).ExclusiveScan(mine, before, Needs{0, 0}, AddNeeds(), all);
  s.before[t] = before;
  __syncthreads();
  return all;
}

template <int THREADS, typename Offset, bool Add>
__global__ void __launch_bounds__(THREADS) SmallBatchKernel(SmallBatch b, SmallResult *result)
{
  extern __shared__ __align__(16) char memory[];
  SmallShared<THREADS>                &s   = *(SmallShared<THREADS> *)memory;
  const int                            t   = (int)threadIdx.x;
  bool                                 bad = false, nonzero = false;
  const int                            num = SortSmall(b, s, &bad);

  if (bad) {
    if (t == 0) result->done = 0;
    return;
  }
  const int   num_distinct = FindDistinct(num, s);
  PetscCount  where        = DCSR_NOWHERE;
  PetscScalar sum(0.0);

  if (t < num_distinct) {
    const uint64_t key    = s.keys[t];
    const PetscInt row    = (PetscInt)(key >> b.list.column_bits);
    const int32_t  column = (int32_t)(key & (((uint64_t)1 << b.list.column_bits) - 1));

    sum   = ReduceDistinct<Add>(t, s, &nonzero);
    where = FindEntry<Offset>(b.view, row, column);
    if (where < 0 && b.list.ignore_zeros && !nonzero && !(b.list.diagonal != DCSR_NO_DIAGONAL && (int64_t)column - (int64_t)row == b.list.diagonal)) where = DCSR_NOWHERE;
  }
  const int is_new = where < 0 && where != DCSR_NOWHERE;
  int       q, num_new;

  typename SmallShared<THREADS>::Scan(s.temporary.scan).ExclusiveSum(is_new, q, num_new);
  __syncthreads(); // all have read the values
  s.values[t] = sum;
  if (is_new) s.entries[q] = t;
  __syncthreads();
  const bool              grow = num_new > 0 && b.policy == DCSR_NEW_ALLOW, refuse = num_new > 0 && b.policy == DCSR_NEW_FORBID;
  const Appending<Offset> a   = {b.view, {{s.keys, s.entries, b.list.column_bits}, num_new}, s.values, s.before, b.slack};
  Needs                   all = {0, 0};

  if (grow && b.append) all = SumNeeds<THREADS, Offset>(b, a.rows, s);
  const bool possible = !grow || (b.append && all.pool <= b.view.capacity - b.view.used && all.moved <= MAX_MOVED);

  if (t == 0) *result = SmallResult{possible, num_new, all.pool, num_new > 0 ? s.keys[s.entries[0]] : 0};
  if (!possible || refuse) return;
  if (where >= 0) b.view.values[where] = Add ? b.view.values[where] + sum : sum;
  if (!grow) return;
  __syncthreads(); // entries move with their new values
  for (PetscCount e = t; e < all.moved; e += THREADS) MoveOld<Offset>{a}(e);
  if (t < num_new) PlaceNew<Offset>{a}(t);
  __syncthreads();
  if (t < num_new) CommitRow<Offset>{a}(t);
}

template <int THREADS, typename Offset, bool Add>
PetscErrorCode Launch(const SmallBatch &b, SmallResult *result, cudaStream_t stream)
{
  const int bytes = (int)sizeof(SmallShared<THREADS>);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(SmallBatchKernel<THREADS, Offset, Add>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  SmallBatchKernel<THREADS, Offset, Add><<<1, THREADS, bytes, stream>>>(b, result);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int THREADS>
PetscErrorCode Dispatch(const SmallBatch &b, bool add, SmallResult *result, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (b.view.wide && add) PetscCall((Launch<THREADS, int64_t, true>(b, result, stream)));
  else if (b.view.wide) PetscCall((Launch<THREADS, int64_t, false>(b, result, stream)));
  else if (add) PetscCall((Launch<THREADS, int32_t, true>(b, result, stream)));
  else PetscCall((Launch<THREADS, int32_t, false>(b, result, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

SmallResult *result_memory = NULL; // pinned, read by the host and written by the device

PetscErrorCode FreeResult(void)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFreeHost(result_memory));
  result_memory = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL when there is no pinned memory. */
PetscErrorCode GetResult(SmallResult **result)
{
  PetscFunctionBegin;
  if (result_memory == NULL) {
    if (cudaHostAlloc((void **)&result_memory, sizeof(*result_memory), cudaHostAllocDefault) == cudaSuccess) PetscCall(PetscRegisterFinalize(FreeResult));
    else {
      (void)cudaGetLastError();
      result_memory = NULL;
    }
  }
  *result = result_memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRInsertSmall - a short list joins a matrix, when its storage can take it as it is

  Input Parameters:
+ view   - compact or fragmented storage with values and at least one entry
. list   - at most DCSR_SMALL_LIST entries
. mode   - ADD_VALUES, otherwise the values replace
. policy - what happens to entries that are not there
. rule   - how new entries may be appended; NULL: they may not
- stream - synchronizes with it once

  Output Parameters:
+ view - the same arrays
. info - what happened, when done
- done - PETSC_FALSE: nothing has changed, as an index is too large, or new entries need other storage or move many old ones; the general way says which

  Cost: one launch of one thread block.

  Errors: PETSC_ERR_GPU; without pinned memory nothing is done.
*/
PetscErrorCode DCSRInsertSmall(DCSRView *view, const DCSRSmallList *list, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info, PetscBool *done)
{
  const PetscBool append = (PetscBool)(rule != NULL && rule->max_segments > 1 && view->row_offsets == NULL);
  SmallBatch      b      = {*list, {list->window, list->rows, list->columns, list->column_bits}, (uint64_t)1 << list->key_bits, *view, policy, append == PETSC_TRUE, append ? (double)rule->slack : 0};
  SmallResult    *result;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(PetscArrayzero(info, 1));
  PetscCall(GetResult(&result));
  if (result == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (list->n <= DCSR_SMALL_LIST / 8) PetscCall(Dispatch<DCSR_SMALL_LIST / 8>(b, mode == ADD_VALUES, result, stream)); // fewer barriers' worth of threads
  else PetscCall(Dispatch<DCSR_SMALL_LIST>(b, mode == ADD_VALUES, result, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *done = (PetscBool)(result->done != 0);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  info->num_new = result->num_new;
  if (result->num_new > 0 && policy == DCSR_NEW_FORBID) {
    info->row    = (PetscInt)(result->first_new >> list->column_bits);
    info->column = (PetscInt)(result->first_new & (((uint64_t)1 << list->column_bits) - 1));
  }
  if (result->num_new > 0 && policy == DCSR_NEW_ALLOW) {
    view->num_nonzeros += result->num_new;
    view->used += result->pool;
    info->structure_grown = info->storage_changed = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
