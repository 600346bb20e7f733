/*
  A list of keys in any order becomes a sorted one: keys that do not count leave, and what is not sorted yet goes through CUB's radix sort over the bits in use. Where rows come in order, each is
  sorted
  by itself instead, in one pass.
  Lists that come sorted were noticed when they were packed (pack.cu), and stay as they are.
*/
#include "../common/foreach.cuh"
#include "../common/message.h"
#include "../common/temporary.cuh"
#include "listimpl.h"
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace
{

constexpr PetscCount FEW    = (PetscCount)1 << 20; // entries of a list whose runs are not copied to where they fit: that would save 4 MiB at most
constexpr PetscCount EARLY  = (PetscCount)1 << 24; // entries of a list whose order is begun before it is known whether it needs one: 64 MiB at most
constexpr uint64_t   NO_KEY = ~(uint64_t)0;        // of an entry that does not count

struct KeyCounts {
  const uint64_t *keys;
  __device__ bool operator()(PetscCount k) const { return keys[k] != NO_KEY; }
};

template <typename Index>
struct FillOrder {
  Index          *order;
  __device__ void operator()(PetscCount k) const { order[k] = (Index)k; }
};

/* Entry k of the sorted list out of the unsorted one: positions [n] of those that count, NULL: all do; map: where entries of the unsorted list came from, NULL: each is its own source. */
template <typename Index>
struct Given {
  const uint64_t *keys;
  const Index    *positions, *map;

  __device__ __forceinline__ PetscCount Position(PetscCount k) const { return positions ? (PetscCount)positions[k] : k; }
  __device__ __forceinline__ Index      Source(PetscCount position) const { return map ? map[position] : (Index)position; }
};

template <typename Index>
struct GatherGiven {
  Given<Index>    given;
  uint64_t       *keys;
  Index          *order;
  __device__ void operator()(PetscCount k) const
  {
    const PetscCount position = given.Position(k);

    keys[k]  = given.keys[position];
    order[k] = given.Source(position);
  }
};

/* The positions of the entries that count, ascending, and from the end on those of the others: [num_given], device, owned by the caller; NULL after an error. */
template <typename Index>
PetscErrorCode Partition(const uint64_t keys[], PetscCount n, cudaStream_t stream, Index **positions)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  PetscCount    *count = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of entries", stream, &count));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "order of a list of entries", stream, positions));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to select entries", n, stream, [&](void *storage, size_t &bytes) {
                  return cub::DevicePartition::If(storage, bytes, thrust::counting_iterator<Index>(0), *positions, count, (int64_t)n, KeyCounts{keys}, stream);
                }));
cleanup:
  PetscCall(PetscSparseCUDAFree(&count, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscSparseCUDAFree(positions, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the entries that count: keys and order of num_entries entries in place of keys, and of where they came from if that is said, of num_given. */
template <typename Index>
PetscErrorCode DropIgnored(DCSRList *list, const Index positions[], cudaStream_t stream)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  uint64_t      *keys  = NULL;
  Index         *order = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_entries, "order of a list of entries", stream, &order));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_entries, "keys of a list of entries", stream, &keys));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(list->num_entries, GatherGiven<Index>{{list->keys, positions, (const Index *)list->order}, keys, order}, stream));
  PetscCall(PetscSparseCUDAFree(&list->keys, stream));
  PetscCall(PetscSparseCUDAFree(&list->order, stream));
  list->keys  = keys;
  list->order = order;
  keys        = NULL;
  order       = NULL;
cleanup:
  PetscCall(PetscSparseCUDAFree(&keys, stream));
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stable, so that equal keys stay in the order in which they were given. */
template <typename Index>
PetscErrorCode SortKeys(DCSRList *list, int bits, cudaStream_t stream)
{
  const PetscCount n     = list->num_entries;
  PetscErrorCode   ierr  = PETSC_SUCCESS;
  uint64_t        *keys2 = NULL;
  Index           *order = NULL, *order2 = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted keys", stream, &keys2));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted order", stream, &order2));
  if (list->order) {
    order       = (Index *)list->order;
    list->order = NULL;
  } else {
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "order of a list of entries", stream, &order));
    PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, FillOrder<Index>{order}, stream));
  }
  {
    cub::DoubleBuffer<uint64_t> keys_buffer(list->keys, keys2);
    cub::DoubleBuffer<Index>    order_buffer(order, order2);

    PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sort entries", n, stream, [&](void *storage, size_t &bytes) {
                    return cub::DeviceRadixSort::SortPairs(storage, bytes, keys_buffer, order_buffer, (int64_t)n, 0, bits, stream);
                  }));
    list->keys  = keys_buffer.Current();
    keys2       = keys_buffer.Alternate();
    list->order = order_buffer.Current();
    order       = order_buffer.Alternate();
    order2      = NULL;
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&keys2, stream));
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(PetscSparseCUDAFree(&order2, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

constexpr PetscCount LONGEST_ROW = 2 * DCSR_LIST_ROW;

/*
  The place of a key in its row is the number of those that come before it, equal ones in the order in which they were given. Rows ascend; those that do not count are among them, and are passed over.
  Rows have DCSR_LIST_ROW entries at most, or twice as many where two parts of a list meet, since ignored entries in them hide the others from what looks for long rows.
*/
template <typename Index>
struct PlaceInRow {
  Given<Index> given;
  PetscCount   n; // given entries
  int          column_bits;
  uint64_t    *sorted;
  Index       *sorted_order; // NULL: entry k of n is the k-th one, and moves are noted
  int8_t      *shifts;

  __device__ void operator()(PetscCount p) const
  {
    const PetscCount k = given.Position(p), above = k > LONGEST_ROW ? k - LONGEST_ROW : 0, below = k + LONGEST_ROW < n ? k + LONGEST_ROW : n;
    const uint64_t   key = given.keys[k], first = key >> column_bits << column_bits, last = first | (((uint64_t)1 << column_bits) - 1);
    int              before = 0, smaller = 0; // entries of the row that were given before, and those that belong before

    for (PetscCount i = k; i > above; i--) {
      const uint64_t other = given.keys[i - 1];

      if (other < first) break;
      before += other != NO_KEY;
      smaller += other <= key;
    }
    for (PetscCount i = k + 1; i < below; i++) {
      const uint64_t other = given.keys[i];

      if (other > last && other != NO_KEY) break;
      smaller += other < key;
    }
    sorted[p - before + smaller] = key;
    if (sorted_order) sorted_order[p - before + smaller] = given.Source(k);
    else shifts[p - before + smaller] = (int8_t)(before - smaller);
  }
};

/*
  Sorts each row by itself; positions: of the entries that count, NULL: all do. Each entry reads its row, from the cache: with about 44 entries a row that takes as long as a radix sort of the list
  (H200).
*/
template <typename Index>
PetscErrorCode SortRows(DCSRList *list, const Index positions[], cudaStream_t stream)
{
  const PetscCount   n = list->num_entries;
  const Given<Index> given{list->keys, positions, (const Index *)list->order};
  PetscErrorCode     ierr   = PETSC_SUCCESS;
  uint64_t          *sorted = NULL;
  Index             *order  = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted keys", stream, &sorted));
  if (positions || list->order) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted order", stream, &order));
  else PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "shifts of a list of entries", stream, &list->shifts));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, PlaceInRow<Index>{given, list->num_given, list->column_bits, sorted, order, list->shifts}, stream));
  PetscCall(PetscSparseCUDAFree(&list->keys, stream));
  PetscCall(PetscSparseCUDAFree(&list->order, stream));
  list->keys  = sorted;
  list->order = order;
  sorted      = NULL;
  order       = NULL;
cleanup:
  PetscCall(PetscSparseCUDAFree(&sorted, stream));
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the search for runs counts. */
struct RunNumbers {
  PetscCount         num_starts; // of runs, and the end of the last one
  unsigned long long has_long;   // whether one is long
};

/* Whether a run starts at entry k, or the last one ends there. */
struct StartsRun {
  const uint64_t *keys;
  PetscCount      n;
  RunNumbers     *numbers;

  __device__ bool operator()(PetscCount k) const
  {
    if (k + LONG_RUN < n && keys[k] == keys[k + LONG_RUN]) numbers->has_long = 1;
    return k == 0 || k == n || keys[k - 1] != keys[k];
  }
};

template <typename Index>
struct RunIsLong {
  const Index    *runs;
  __device__ bool operator()(Index t) const { return runs[t + 1] - runs[t] > LONG_RUN; }
};

/* Which runs are long, of which there is one at least. */
template <typename Index>
PetscErrorCode FindLongRuns(DCSRList *list, RunNumbers *device, cudaStream_t stream)
{
  const Index   *runs  = (const Index *)list->runs;
  PetscErrorCode ierr  = PETSC_SUCCESS;
  Index         *lists = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_entries / LONG_RUN, "long runs of equal entries", stream, &lists)); // more there cannot be
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to find long runs", (PetscCount)list->num_distinct, stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<Index>(0), lists, &device->num_starts, (int64_t)list->num_distinct, RunIsLong<Index>{runs}, stream);
                }));
  PetscCallGoto(ierr, cleanup, DCSRReadNumbers(&list->num_long_runs, &device->num_starts, sizeof(list->num_long_runs), stream));
  list->long_runs = lists;
  lists           = NULL;
cleanup:
  PetscCall(PetscSparseCUDAFree(&lists, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list gets the first entries of its runs, and their end, out of an array that may have more room. */
template <typename Index>
PetscErrorCode TakeRuns(DCSRList *list, Index **all, cudaStream_t stream)
{
  Index *runs;

  PetscFunctionBegin;
  if (list->num_entries <= FEW) {
    list->runs = *all;
    *all       = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(list->num_distinct + 1, "runs of equal entries", stream, &runs));
  list->runs = runs;
  PetscCallCUDA(cudaMemcpyAsync(runs, *all, (size_t)(list->num_distinct + 1) * sizeof(*runs), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* First entry of every run, and which runs are long. */
template <typename Index>
PetscErrorCode FindRuns(DCSRList *list, cudaStream_t stream)
{
  const PetscCount n      = list->num_entries;
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  Index           *all    = NULL;
  RunNumbers      *device = NULL, numbers;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of runs", stream, &device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n + 1, "runs of equal entries", stream, &all));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to find runs", (PetscCount)n + 1, stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<Index>(0), all, &device->num_starts, (int64_t)n + 1, StartsRun{list->keys, n, device}, stream);
                }));
  PetscCallGoto(ierr, cleanup, DCSRReadNumbers(&numbers, device, sizeof(numbers), stream));
  list->num_distinct = numbers.num_starts - 1;
  if (list->num_distinct == n) goto cleanup; // the repeats were not neighbors of each other after all
  PetscCallGoto(ierr, cleanup, TakeRuns(list, &all, stream));
  if (numbers.has_long) PetscCallGoto(ierr, cleanup, FindLongRuns<Index>(list, device, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscSparseCUDAFree(&all, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index>
PetscErrorCode AllocateOrder(DCSRList *list, cudaStream_t stream)
{
  Index *order;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(list->num_given, "order of a list of entries", stream, &order));
  list->order = order;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts what counts, knowing the facts about the keys; positions are of those entries, NULL: all count. */
template <typename Index>
PetscErrorCode Sort(DCSRList *list, int bits, const DCSRListFacts *facts, const Index positions[], cudaStream_t stream)
{
  PetscFunctionBegin;
  list->num_distinct = list->num_entries;
  list->may_repeat   = (PetscBool)(list->num_entries > 0 && (facts->unsorted || positions || facts->repeated)); // an ignored entry hides how its neighbors compare
  if (positions && (list->num_entries == 0 || facts->scattered)) PetscCall(DropIgnored<Index>(list, positions, stream));
  if (list->num_entries == 0 || !(facts->unsorted || positions)) PetscFunctionReturn(PETSC_SUCCESS);
  if (facts->scattered) PetscCall(SortKeys<Index>(list, bits, stream));
  else PetscCall(SortRows<Index>(list, positions, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds what counts, unless that is known, and sorts. */
template <typename Index>
PetscErrorCode Finish(DCSRList *list, int bits, const DCSRListFacts *facts, PetscBool mapped, Index **positions, cudaStream_t stream)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  // begun for nothing: all entries stay where they are or near to it, or those that stay have an order of their own
  if (!mapped && (facts->num_ignored || !facts->unsorted || !facts->scattered)) PetscCall(PetscSparseCUDAFree(&list->order, stream));
  if (facts->num_ignored && *positions == NULL) PetscCall(Partition<Index>(list->keys, list->num_given, stream, positions));
  ierr = Sort<Index>(list, bits, facts, *positions, stream);
  PetscCall(PetscSparseCUDAFree(positions, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last num of n positions, from the end on. */
template <typename Index>
struct TakeRest {
  const Index    *positions;
  PetscCount      n;
  const PetscInt *rows[2], *columns[2]; // of the list, from position split on in second arrays
  PetscCount      split;
  Index          *map;
  PetscInt       *to[2];

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount position = (PetscCount)positions[n - 1 - k];
    const int        which    = position >= split;

    map[k]   = (Index)position;
    to[0][k] = rows[which][position - (which ? split : 0)];
    to[1][k] = columns[which][position - (which ? split : 0)];
  }
};

} // namespace

/*
  DCSRListAllocateOrder - room for the order of a list that is not sorted yet, unless it is a large one
  DCSRListFillOrder     - the order in which entries were given, when there is room
  The list is zero but for num_given. Asynchronous. PETSC_ERR_MEM is of the first one alone.
  A sort begins with it. Most lists are to be sorted, and while the host waits for the facts about the keys the device would have nothing to do.
*/
PetscErrorCode DCSRListAllocateOrder(DCSRList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list->num_given > EARLY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRNeedsWide(list->num_given + 1, &list->wide));
  if (list->wide) PetscCall(AllocateOrder<int64_t>(list, stream));
  else PetscCall(AllocateOrder<int32_t>(list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRListFillOrder(DCSRList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list->order == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (list->wide) PetscCallCUDA(DCSRForEach(list->num_given, FillOrder<int64_t>{(int64_t *)list->order}, stream));
  else PetscCallCUDA(DCSRForEach(list->num_given, FillOrder<int32_t>{(int32_t *)list->order}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListSort - sorts the keys of a list, of so many bits; synchronizes with the stream when the facts say that there is something to do
  list has num_given keys, in the order of the list; the rest of it is zero but for column_bits, and the order: by DCSRListFillOrder(), or with mapped where the entries came from, of the width that
  wide
  says. facts about the keys are on the host. *positions are of DCSRListSplit() or NULL; they are freed. After an error the list may be half done and can only be destroyed.
  Entries may repeat afterwards: DCSRListFindRuns() finds out, for reducing values as often as one likes, and DCSRBatchCreate() does once, with the values at hand.
  Cost: nothing when the list is sorted without repeats; one pass when rows ascend with at most DCSR_LIST_ROW entries, behind one that finds those that count; otherwise a radix sort of 12 bytes
  an entry, over the bits in use. Memory: at most 24 bytes an entry while it sorts, keys included, 17 by rows when all of the list counts; 4 and 1 remain beside the keys.
*/
PetscErrorCode DCSRListSort(DCSRList *list, int bits, const DCSRListFacts *facts, PetscBool mapped, void **positions, cudaStream_t stream)
{
  PetscFunctionBegin;
  list->num_entries = list->num_given - (PetscCount)facts->num_ignored;
  if (!mapped) PetscCall(DCSRNeedsWide(list->num_given + 1, &list->wide));
  if (list->wide) PetscCall(Finish<int64_t>(list, bits, facts, mapped, (int64_t **)positions, stream));
  else PetscCall(Finish<int32_t>(list, bits, facts, mapped, (int32_t **)positions, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index>
static PetscErrorCode Split(const uint64_t keys[], PetscCount n, PetscCount num, const PetscInt *const rows[2], const PetscInt *const columns[2], PetscCount split, cudaStream_t stream,
                            void **positions, void **map, PetscInt *rest[2])
{
  PetscFunctionBegin;
  PetscCall(Partition<Index>(keys, n, stream, (Index **)positions));
  PetscCall(PetscSparseCUDAMalloc(num, "order of a list of entries", stream, (Index **)map));
  PetscCallCUDA(DCSRForEach(num, TakeRest<Index>{(const Index *)*positions, n, {rows[0], rows[1]}, {columns[0], columns[1]}, split, (Index *)*map, {rest[0], rest[1]}}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListSplit - the num of n entries of an unsorted list that do not count. Asynchronous
  keys [n], device. rows and columns of entry k are in the first arrays, or from k = split on in the second ones. *positions, of the width that DCSRNeedsWide(n + 1) says, are for DCSRListSort(); *map
  [num]: which entries the others are, in order; both device, to be freed, also after an error. rest [2][num], device: their rows and columns.
*/
PetscErrorCode DCSRListSplit(const uint64_t keys[], PetscCount n, PetscCount num, const PetscInt *const rows[2], const PetscInt *const columns[2], PetscCount split, cudaStream_t stream,
                             void **positions, void **map, PetscInt *rest[2])
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(n + 1, &wide));
  if (wide) PetscCall(Split<int64_t>(keys, n, num, rows, columns, split, stream, positions, map, rest));
  else PetscCall(Split<int32_t>(keys, n, num, rows, columns, split, stream, positions, map, rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListFindRuns - finds the repeats of a sorted list with its keys; does nothing when there are none, or when that was done
  Synchronizes with the stream when entries may repeat. After an error the list may be half done and can only be destroyed.
*/
PetscErrorCode DCSRListFindRuns(DCSRList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!list->may_repeat) PetscFunctionReturn(PETSC_SUCCESS);
  list->may_repeat = PETSC_FALSE;
  if (list->wide) PetscCall(FindRuns<int64_t>(list, stream));
  else PetscCall(FindRuns<int32_t>(list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRListForgetKeys - frees the keys of a list that serves only to reduce values from now on */
PetscErrorCode DCSRListForgetKeys(DCSRList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&list->keys, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRListDestroy - frees a list; a zero one is fine, and it is zero afterwards */
PetscErrorCode DCSRListDestroy(DCSRList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&list->keys, stream));
  PetscCall(PetscSparseCUDAFree(&list->order, stream));
  PetscCall(PetscSparseCUDAFree(&list->shifts, stream));
  PetscCall(PetscSparseCUDAFree(&list->runs, stream));
  PetscCall(PetscSparseCUDAFree(&list->long_runs, stream));
  PetscCall(PetscArrayzero(list, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
