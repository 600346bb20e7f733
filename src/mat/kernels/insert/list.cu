/*
  A list of entries in any order becomes a sorted one: keys are packed, those that do not count leave, and what is not sorted yet goes through CUB's radix sort
  over the bits in use. Lists that come sorted, as COO lists of stencils do, are noticed and cost one pass.
*/
#include "../entries/temporary.cuh"
#include <petscsparsecuda/insert.h>
#include <cub/device/device_for.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

constexpr int        THREADS  = 256;
constexpr int        LONG_RUN = 512;          // equal entries that one thread adds up
constexpr uint64_t   NO_KEY   = ~(uint64_t)0; // of an entry that does not count
constexpr PetscCount MAX_GRID = 132 * 16 * 8; // blocks of a grid-stride loop, enough for any device

/* What the packing pass learns. */
struct ListFacts {
  unsigned long long num_ignored;
  unsigned long long first_bad; // position of the first index that is too large
  unsigned int       unsorted;  // some key is smaller than the one before it
  unsigned int       repeated;  // some key equals the one before it
};

unsigned int Grid(PetscCount n)
{
  return (unsigned int)PetscMin((n + THREADS - 1) / THREADS, MAX_GRID);
}

/* The key of given entry k, NO_KEY when it does not count; *bad when an index is too large. */
struct PackEntry {
  DCSRWindow      window;
  const PetscInt *rows, *columns;
  int             column_bits;

  __device__ uint64_t operator()(PetscCount k, bool *bad) const
  {
    const PetscInt row = rows[k], column = columns[k];
    bool           inside;

    if (row < 0 || column < 0) return NO_KEY;
    if (row >= window.num_global_rows || column >= window.num_global_columns) {
      *bad = true;
      return NO_KEY;
    }
    if (row < window.row_begin || row >= window.row_end) return NO_KEY;
    inside = column >= window.column_begin && column < window.column_end;
    if (inside == (bool)window.outside) return NO_KEY;
    return (uint64_t)(row - window.row_begin) << column_bits | (uint64_t)(inside ? column - window.column_begin : column);
  }
};

/* Notes what a warp saw about its keys; one atomic a warp and only when there is something to say. */
__device__ void NoteFacts(uint64_t key, uint64_t before, bool has_before, bool bad, PetscCount k, ListFacts *facts)
{
  const bool     compare = has_before && key != NO_KEY && before != NO_KEY;
  const unsigned ignored = __ballot_sync(0xffffffffu, key == NO_KEY), unsorted = __ballot_sync(0xffffffffu, compare && key < before);
  const unsigned repeated = __ballot_sync(0xffffffffu, compare && key == before);

  if (bad) atomicMin(&facts->first_bad, (unsigned long long)k);
  if (threadIdx.x % 32 != 0) return;
  if (ignored) atomicAdd(&facts->num_ignored, (unsigned long long)__popc(ignored));
  if (unsorted && !*(volatile unsigned int *)&facts->unsorted) atomicOr(&facts->unsorted, 1u);
  if (repeated && !*(volatile unsigned int *)&facts->repeated) atomicOr(&facts->repeated, 1u);
}

/* Keys beyond the end of the list count as ignored and are taken off again on the host. */
__global__ void __launch_bounds__(THREADS) PackKernel(PackEntry pack, PetscCount n, uint64_t *keys, ListFacts *facts)
{
  const PetscCount rounds = (n + (PetscCount)gridDim.x * THREADS - 1) / ((PetscCount)gridDim.x * THREADS);

  for (PetscCount r = 0; r < rounds; r++) {
    const PetscCount k   = (r * gridDim.x + blockIdx.x) * THREADS + threadIdx.x;
    bool             bad = false, unused = false;
    const uint64_t   key = k < n ? pack(k, &bad) : NO_KEY;
    // the neighbor's key comes from its lane, only the first lane packs twice
    uint64_t before = __shfl_up_sync(0xffffffffu, key, 1);

    if (threadIdx.x % 32 == 0) before = k > 0 && k < n ? pack(k - 1, &unused) : NO_KEY;
    if (k < n) keys[k] = key;
    NoteFacts(key, before, k > 0 && k < n, bad, k, facts);
  }
}

/* The same facts about keys that exist already. */
__global__ void __launch_bounds__(THREADS) InspectKernel(PetscCount n, const uint64_t *keys, ListFacts *facts)
{
  const PetscCount rounds = (n + (PetscCount)gridDim.x * THREADS - 1) / ((PetscCount)gridDim.x * THREADS);

  for (PetscCount r = 0; r < rounds; r++) {
    const PetscCount k   = (r * gridDim.x + blockIdx.x) * THREADS + threadIdx.x;
    const uint64_t   key = k < n ? keys[k] : NO_KEY;

    NoteFacts(key, k > 0 && k < n ? keys[k - 1] : NO_KEY, k > 0 && k < n, false, k, facts);
  }
}

PetscCount PaddedCount(PetscCount n)
{
  const PetscCount round = (PetscCount)Grid(n) * THREADS;

  return (n + round - 1) / round * round;
}

template <typename Launch>
PetscErrorCode GetFacts(PetscCount n, Launch launch, cudaStream_t stream, ListFacts *facts)
{
  const ListFacts initial = {0, ~0ull, 0, 0};
  ListFacts      *device  = NULL;
  PetscErrorCode  ierr    = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "facts about a list of entries", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(device, &initial, sizeof(initial), cudaMemcpyHostToDevice, stream));
  launch(device);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(facts, device, sizeof(*facts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  facts->num_ignored -= (unsigned long long)(PaddedCount(n) - n);
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to select entries", stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<Index>(0), order, count, (int64_t)list->num_given, KeyCounts{list->keys}, stream);
                }));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_entries, "keys of a list of entries", stream, &keys));
  if (list->num_entries) PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk(list->num_entries, GatherKeys<Index>{list->keys, order, keys}, stream));
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
    PetscCallCUDAGoto(ierr, cleanup, cub::DeviceFor::Bulk(n, FillOrder<Index>{order}, stream));
  }
  {
    cub::DoubleBuffer<uint64_t> keys_buffer(list->keys, keys2);
    cub::DoubleBuffer<Index>    order_buffer(order, order2);

    PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to sort entries", stream, [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(storage, bytes, keys_buffer, order_buffer, (int64_t)n, 0, bits, stream); }));
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

struct StartsRun {
  const uint64_t *keys;
  __device__ bool operator()(PetscCount k) const { return k == 0 || keys[k - 1] != keys[k]; }
};

template <typename Index>
struct RunIsLong {
  const Index    *runs;
  __device__ bool operator()(Index t) const { return runs[t + 1] - runs[t] > LONG_RUN; }
};

/* First entry of every run, and which runs are long. */
template <typename Index>
PetscErrorCode FindRuns(DCSRList *list, cudaStream_t stream)
{
  const PetscCount n    = list->num_entries;
  const Index      end  = (Index)n;
  PetscErrorCode   ierr = PETSC_SUCCESS;
  Index           *runs = NULL, *all = NULL, *lists = NULL;
  PetscCount      *count = NULL, num_long = 0;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of runs", stream, &count));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "runs of equal entries", stream, &all));
  PetscCallGoto(ierr, cleanup,
                DCSRWithTemporary("workspace to find runs", stream, [&](void *storage, size_t &bytes) { return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<Index>(0), all, count, (int64_t)n, StartsRun{list->keys}, stream); }));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&list->num_distinct, count, sizeof(PetscCount), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  if (list->num_distinct == n) goto cleanup; // the repeats were not neighbors of each other after all
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->num_distinct + 1, "runs of equal entries", stream, &runs));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(runs, all, (size_t)list->num_distinct * sizeof(*runs), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(runs + list->num_distinct, &end, sizeof(end), cudaMemcpyHostToDevice, stream));
  if (n - list->num_distinct >= LONG_RUN) { // only then can there be a long run, and at most n / LONG_RUN of them
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n / LONG_RUN, "long runs of equal entries", stream, &lists));
    PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to find long runs", stream, [&](void *storage, size_t &bytes) {
                    return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<Index>(0), lists, count, (int64_t)list->num_distinct, RunIsLong<Index>{runs}, stream);
                  }));
    PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&num_long, count, sizeof(num_long), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
    if (num_long == 0) PetscCall(PetscSparseCUDAFree(&lists, stream));
  }
  list->runs          = runs;
  list->long_runs     = lists;
  list->num_long_runs = num_long;
  runs                = NULL;
  lists               = NULL;
cleanup:
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(PetscSparseCUDAFree(&all, stream));
  PetscCall(PetscSparseCUDAFree(&runs, stream));
  PetscCall(PetscSparseCUDAFree(&lists, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts and finds runs, knowing the facts about the keys. */
template <typename Index>
PetscErrorCode Finish(DCSRList *list, int bits, const ListFacts *facts, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (facts->num_ignored) PetscCall(DropIgnored<Index>(list, stream));
  list->num_distinct = list->num_entries;
  if (list->num_entries == 0) PetscFunctionReturn(PETSC_SUCCESS);
  // an ignored entry hides how its neighbors compare
  if (facts->unsorted || facts->num_ignored) PetscCall(SortKeys<Index>(list, bits, stream));
  if (facts->unsorted || facts->num_ignored || facts->repeated) PetscCall(FindRuns<Index>(list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FinishList(DCSRList *list, int bits, const ListFacts *facts, cudaStream_t stream)
{
  PetscFunctionBegin;
  list->num_entries = list->num_given - (PetscCount)facts->num_ignored;
  list->wide        = (PetscBool)(list->num_given >= PETSC_INT32_MAX);
  if (list->wide) PetscCall(Finish<int64_t>(list, bits, facts, stream));
  else PetscCall(Finish<int32_t>(list, bits, facts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says which index is too large. */
PetscErrorCode ReportBadIndex(const DCSRWindow *window, const PetscInt rows[], const PetscInt columns[], PetscCount k)
{
  PetscInt row, column;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(&row, rows + k, sizeof(row), cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(&column, columns + k, sizeof(column), cudaMemcpyDeviceToHost));
  PetscCheck(row < window->num_global_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO row index %" PetscInt_FMT " is >= the matrix row size %" PetscInt_FMT, k, row, window->num_global_rows);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO column index %" PetscInt_FMT " is >= the matrix column size %" PetscInt_FMT, k, column, window->num_global_columns);
}

} // namespace

/* DCSRKeyBits - bits that numbers below n need */
int DCSRKeyBits(PetscInt n)
{
  int bits = 0;

  while (bits < 63 && ((uint64_t)1 << bits) < (uint64_t)n) bits++;
  return bits;
}

/*
  DCSRListCreate - sorts the entries of a list that lie in a window of the matrix

  Input Parameters:
+ window  - which rows and columns count
. n       - entries
. rows    - [n] global row indices, device; negative: ignored
. columns - [n] global column indices, device; negative: ignored
- stream  - synchronizes with it two or three times

  Output Parameter:
. list - the sorted list, zero after an error; free it with DCSRListDestroy()

  Cost: one pass when the list is sorted; otherwise a radix sort of 12 bytes an entry, over the bits that rows and columns need. Workspace: 24 bytes an entry.

  Errors: PETSC_ERR_ARG_OUTOFRANGE with the first index that is too large, PETSC_ERR_MEM.
*/
PetscErrorCode DCSRListCreate(const DCSRWindow *window, PetscCount n, const PetscInt rows[], const PetscInt columns[], cudaStream_t stream, DCSRList *list)
{
  const int      row_bits = DCSRKeyBits(window->row_end - window->row_begin);
  ListFacts      facts;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  list->column_bits = DCSRKeyBits(window->outside ? window->num_global_columns : window->column_end - window->column_begin);
  PetscCheck(row_bits + list->column_bits < 64, PETSC_COMM_SELF, PETSC_ERR_SUP, "%d bits for rows and %d for columns do not fit into 63: use more processes", row_bits, list->column_bits);
  list->num_given = n;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(n, "keys of a list of entries", stream, &list->keys));
  PetscCallGoto(ierr, failed,
                GetFacts(
                  n,
                  [&](ListFacts *f) {
                    PackKernel<<<Grid(n), THREADS, 0, stream>>>(PackEntry{*window, rows, columns, list->column_bits}, n, list->keys, f);
                  },
                  stream, &facts));
  if (facts.first_bad != ~0ull) PetscCallGoto(ierr, failed, ReportBadIndex(window, rows, columns, (PetscCount)facts.first_bad));
  PetscCallGoto(ierr, failed, FinishList(list, row_bits + list->column_bits, &facts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListCreateFromKeys - DCSRListCreate() for keys that exist already

  Input Parameters:
+ num_rows    - rows of the matrix
. column_bits - keys are row << column_bits | column; all bits set: ignored
. n           - entries
. keys        - [n] device; taken over by the list, *keys is NULL afterwards
- stream      - as above

  Output Parameter:
. list - as above
*/
PetscErrorCode DCSRListCreateFromKeys(PetscInt num_rows, int column_bits, PetscCount n, uint64_t **keys, cudaStream_t stream, DCSRList *list)
{
  ListFacts      facts;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  list->column_bits = column_bits;
  list->num_given   = n;
  list->keys        = *keys;
  *keys             = NULL;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed,
                GetFacts(
                  n, [&](ListFacts *f) { InspectKernel<<<Grid(n), THREADS, 0, stream>>>(n, list->keys, f); }, stream, &facts));
  PetscCallGoto(ierr, failed, FinishList(list, DCSRKeyBits(num_rows) + column_bits, &facts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
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
  PetscCall(PetscSparseCUDAFree(&list->runs, stream));
  PetscCall(PetscSparseCUDAFree(&list->long_runs, stream));
  PetscCall(PetscArrayzero(list, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
