/*
  A list of keys in any order becomes a sorted one: keys that do not count leave, and what is not sorted yet goes through CUB's radix sort over the bits in use. Where rows come in order, each is sorted
  by itself instead, in one pass.
  Lists that come sorted were noticed when they were packed (pack.cu), and stay as they are.
*/
#include "../common/foreach.cuh"
#include "../common/message.h"
#include "../common/temporary.cuh"
#include "listimpl.h"
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

template <typename Index>
struct GatherKeys {
  const uint64_t *from;
  const Index    *order;
  uint64_t       *to;
  __device__ void operator()(PetscCount k) const { to[k] = from[order[k]]; }
};

/* Keeps the entries that count: keys and order of num_entries entries in place of keys of num_given. */
template <typename Index>
PetscErrorCode DropIgnored(DCSRList *list, cudaStream_t stream)
{
  PetscErrorCode ierr  = PETSC_SUCCESS;
  uint64_t      *keys  = NULL;
  Index         *order = NULL;
  PetscCount    *count = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_entries, "order of a list of entries", stream, &order));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of entries", stream, &count));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to select entries", (PetscCount)list->num_given, stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<Index>(0), order, count, (int64_t)list->num_given, KeyCounts{list->keys}, stream);
                }));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_entries, "keys of a list of entries", stream, &keys));
  if (list->num_entries) PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(list->num_entries, GatherKeys<Index>{list->keys, order, keys}, stream));
  PetscCall(PetscSparseCUDAFree(&list->keys, stream));
  list->keys  = keys;
  list->order = order;
  keys        = NULL;
  order       = NULL;
cleanup:
  PetscCall(PetscSparseCUDAFree(&keys, stream));
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(PetscSparseCUDAFree(&count, stream));
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

/* The place of a key in its row is the number of those that come before it, equal ones in the order in which they were given. All n keys count, rows ascend. */
template <typename Index>
struct PlaceInRow {
  const uint64_t *keys;
  const Index    *order; // NULL: all of the list counts, and rows have DCSR_LIST_ROW entries at most
  PetscCount      n;
  int             column_bits;
  uint64_t       *sorted;
  Index          *sorted_order; // with order
  int8_t         *shifts;       // without

  __device__ void operator()(PetscCount k) const
  {
    const uint64_t key = keys[k], first = key >> column_bits << column_bits, last = first | (((uint64_t)1 << column_bits) - 1);
    PetscCount     begin   = k, place;
    int            smaller = 0;

    for (; begin > 0; begin--) {
      const uint64_t other = keys[begin - 1];

      if (other < first) break;
      smaller += other <= key;
    }
    for (PetscCount i = k + 1; i < n; i++) {
      const uint64_t other = keys[i];

      if (other > last) break;
      smaller += other < key;
    }
    place         = begin + smaller;
    sorted[place] = key;
    if (order) sorted_order[place] = order[k];
    else shifts[place] = (int8_t)(k - place);
  }
};

/* Sorts each row by itself. Each entry reads its row, from the cache: with about 44 entries a row that takes as long as a radix sort of the list (H200). */
template <typename Index>
PetscErrorCode SortRows(DCSRList *list, cudaStream_t stream)
{
  const PetscCount n      = list->num_entries;
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  uint64_t        *sorted = NULL;
  Index           *order  = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted keys", stream, &sorted));
  if (list->order) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "sorted order", stream, &order));
  else PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "shifts of a list of entries", stream, &list->shifts));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, PlaceInRow<Index>{list->keys, (const Index *)list->order, n, list->column_bits, sorted, order, list->shifts}, stream));
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

/* Sorts, knowing the facts about the keys. */
template <typename Index>
PetscErrorCode Finish(DCSRList *list, int bits, const DCSRListFacts *facts, cudaStream_t stream)
{
  PetscFunctionBegin;
  // begun for nothing: all entries stay where they are or near to it, or those that stay have an order of their own
  if (facts->num_ignored || !facts->unsorted || !facts->scattered) PetscCall(PetscSparseCUDAFree(&list->order, stream));
  if (facts->num_ignored) PetscCall(DropIgnored<Index>(list, stream));
  list->num_distinct = list->num_entries;
  if (list->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  // an ignored entry hides how its neighbors compare
  if (facts->unsorted || facts->num_ignored) PetscCall(facts->scattered ? SortKeys<Index>(list, bits, stream) : SortRows<Index>(list, stream));
  list->may_repeat = (PetscBool)(facts->unsorted || facts->num_ignored || facts->repeated);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  list has num_given keys, in the order of the list; the rest of it is zero but for column_bits, and the order by DCSRListFillOrder(). facts about the keys are on the host. After an error the list may
  be half done and can only be destroyed.
  Entries may repeat afterwards: DCSRListFindRuns() finds out, for reducing values as often as one likes, and DCSRBatchCreate() does once, with the values at hand.
  Cost: nothing when the list is sorted without repeats; one pass when rows ascend with at most DCSR_LIST_ROW entries, behind one that drops those that do not count; otherwise a radix sort of 12 bytes
  an entry, over the bits in use. Memory: at most 24 bytes an entry while it sorts, keys included, 17 by rows when all of the list counts; 4 and 1 remain beside the keys.
*/
PetscErrorCode DCSRListSort(DCSRList *list, int bits, const DCSRListFacts *facts, cudaStream_t stream)
{
  PetscFunctionBegin;
  list->num_entries = list->num_given - (PetscCount)facts->num_ignored;
  PetscCall(DCSRNeedsWide(list->num_given + 1, &list->wide));
  if (list->wide) PetscCall(Finish<int64_t>(list, bits, facts, stream));
  else PetscCall(Finish<int32_t>(list, bits, facts, stream));
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
