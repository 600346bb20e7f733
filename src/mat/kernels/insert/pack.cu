/*
  Rows and columns of a list become keys, chunk by chunk, so that a list in host memory is never in device memory as a whole. The same pass learns whether the
  keys come sorted and whether there are repeats, across the borders of chunks too.
*/
#include "../common/message.h"
#include "pack.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int ITEMS   = 4; // entries of a thread: their loads are under way together
constexpr int TILE    = THREADS * ITEMS;

/* Thread blocks of a loop over n keys. */
PetscErrorCode GetGrid(PetscCount n, unsigned int *grid)
{
  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((n + TILE - 1) / TILE, DCSR_LOOP_BLOCKS, grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a thread saw of its keys. */
struct Seen {
  unsigned int num_ignored, unsorted, repeated, scattered;

  __device__ __forceinline__ void Add(uint64_t key, uint64_t before)
  {
    const bool compare = key != NO_KEY && before != NO_KEY;

    num_ignored += key == NO_KEY;
    unsorted |= compare && key < before;
    repeated |= compare && key == before;
  }
};

/* Notes what the threads of a block saw. Accesses to one position wait for each other, also those that read: a thread block makes one of each kind at most. */
__device__ void NoteFacts(const Seen &seen, DCSRListFacts *facts)
{
  __shared__ unsigned long long num_ignored;
  const int                     unsorted = __syncthreads_or((int)seen.unsorted), repeated = __syncthreads_or((int)seen.repeated), ignored = __syncthreads_or(seen.num_ignored > 0);
  const int                     scattered = __syncthreads_or((int)seen.scattered);

  if (ignored) {
    if (threadIdx.x == 0) num_ignored = 0;
    __syncthreads();
    if (seen.num_ignored) atomicAdd(&num_ignored, (unsigned long long)seen.num_ignored);
    __syncthreads();
  }
  if (threadIdx.x > 0) return;
  if (ignored) atomicAdd(&facts->num_ignored, num_ignored);
  if (unsorted && !*(volatile unsigned int *)&facts->unsorted) atomicOr(&facts->unsorted, 1u);
  if (repeated && !*(volatile unsigned int *)&facts->repeated) atomicOr(&facts->repeated, 1u);
  if (scattered && !*(volatile unsigned int *)&facts->scattered) atomicOr(&facts->scattered, 1u);
}

/* n keys from [first] on of num_given, out of a chunk of the list that begins there; the keys before are there. */
__global__ void __launch_bounds__(THREADS) PackKernel(PackEntry pack, PetscCount first, PetscCount n, PetscCount num_given, uint64_t *keys, DCSRListFacts *facts)
{
  Seen seen = {0, 0, 0, 0};

  for (PetscCount begin = (PetscCount)blockIdx.x * TILE; begin < n; begin += (PetscCount)gridDim.x * TILE) { // all threads of a block go round as often
    const bool is_lane_0 = threadIdx.x % 32 == 0;
    PetscInt   row[ITEMS], column[ITEMS], row_before[ITEMS], column_before[ITEMS], row_far[ITEMS];

    // the neighbor's key comes from its lane, only the first lane packs twice, or reads the chunk before
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const PetscCount i = begin + j * THREADS + threadIdx.x, k = i < n ? i : n - 1, before = is_lane_0 && k > 0 ? k - 1 : k;

      row[j]           = pack.rows[k];
      column[j]        = pack.columns[k];
      row_before[j]    = pack.rows[before];
      column_before[j] = pack.columns[before];
      row_far[j]       = k >= DCSR_LIST_ROW ? pack.rows[k - DCSR_LIST_ROW] : -1;
    }
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const PetscCount k   = begin + j * THREADS + threadIdx.x;
      bool             bad = false, unused = false;
      const uint64_t   key    = pack.Key(row[j], column[j], &bad);
      uint64_t         before = __shfl_up_sync(0xffffffffu, key, 1);
      PetscInt         above  = __shfl_up_sync(0xffffffffu, row[j], 1);

      if (k >= n) continue; // not before the shuffles
      if (is_lane_0) {
        if (k > 0) before = pack.Key(row_before[j], column_before[j], &unused);
        else before = first > 0 ? keys[first - 1] : NO_KEY;
        if (k > 0) above = row_before[j];
        else above = first == 0 ? row[j] : before == NO_KEY ? PETSC_INT_MAX : pack.window.row_begin + (PetscInt)(before >> pack.column_bits); // nobody knows
      }
      keys[first + k] = key;
      if (bad) atomicMax(&facts->bad_end, (unsigned long long)(num_given - (first + k)));
      seen.Add(key, before);
      // the last: a row that is too long; where a key says nothing about that, entries are ignored
      seen.scattered |= row[j] < 0 || row[j] < above ||
                        (k >= DCSR_LIST_ROW ? row_far[j] == row[j] : key != NO_KEY && first + k >= DCSR_LIST_ROW && keys[first + k - DCSR_LIST_ROW] >> pack.column_bits == key >> pack.column_bits);
    }
  }
  NoteFacts(seen, facts);
}

/* The same facts about keys that exist already. */
__global__ void __launch_bounds__(THREADS) InspectKernel(PetscCount n, const uint64_t *keys, int column_bits, DCSRListFacts *facts)
{
  Seen seen = {0, 0, 0, 0};

  for (PetscCount begin = (PetscCount)blockIdx.x * TILE; begin < n; begin += (PetscCount)gridDim.x * TILE) {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const PetscCount k = begin + j * THREADS + threadIdx.x;

      if (k >= n) continue;
      const uint64_t key = keys[k], before = k > 0 ? keys[k - 1] : NO_KEY;

      seen.Add(key, before);
      seen.scattered |= key == NO_KEY || (k > 0 && key >> column_bits < before >> column_bits) || (k >= DCSR_LIST_ROW && keys[k - DCSR_LIST_ROW] >> column_bits == key >> column_bits);
    }
  }
  NoteFacts(seen, facts);
}

/* Facts about no keys yet, on the device. */
PetscErrorCode CreateFacts(cudaStream_t stream, DCSRListFacts **facts)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "facts about a list of entries", stream, facts));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(*facts, 0, sizeof(**facts), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(facts, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for those about a list that has nothing but entries yet; meanwhile the device begins its order. */
PetscErrorCode GetFacts(DCSRList *list, const DCSRListFacts *device, cudaStream_t stream, DCSRListFacts *facts)
{
  DCSRNumbersSent sent;

  PetscFunctionBegin;
  PetscCall(DCSRListAllocateOrder(list, stream)); // before: once they are on their way, nothing should fail
  PetscCall(DCSRSendNumbers(device, sizeof(*facts), stream, &sent));
  PetscCall(DCSRListFillOrder(list, stream));
  PetscCall(DCSRAwaitNumbers(&sent, stream, facts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says which index is too large. */
PetscErrorCode ReportBadIndex(const DCSRListPacker *packer, PetscCount k, cudaStream_t stream)
{
  uint64_t key;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToHost(&key, packer->keys + k, sizeof(key), stream));
  PetscCheck(!(key & BAD_ROW), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO row index %" PetscInt_FMT " is >= the matrix row size %" PetscInt_FMT, k,
             (PetscInt)(key & ~BAD_ROW), packer->window.num_global_rows);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO column index %" PetscInt_FMT " is >= the matrix column size %" PetscInt_FMT, k, (PetscInt)key,
          packer->window.num_global_columns);
}

} // namespace

/*
  DCSRListPackerCreate - room for the keys of a list of n entries that will come in chunks; window: which rows and columns count
  Append n entries, then DCSRListPackerFinish(); all on this stream. Free the packer with DCSRListPackerDestroy(); it is zero after an error. PETSC_ERR_SUP when rows and columns need more bits than a
  key has.
*/
PetscErrorCode DCSRListPackerCreate(const DCSRWindow *window, PetscCount n, cudaStream_t stream, DCSRListPacker *packer)
{
  const int      row_bits = DCSRKeyBits(window->row_end - window->row_begin), column_bits = DCSRKeyBits(window->outside ? window->num_global_columns : window->column_end - window->column_begin);
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(packer, 1));
  PetscCheck(row_bits + column_bits < 64, PETSC_COMM_SELF, PETSC_ERR_SUP, "%d bits for rows and %d for columns do not fit into 63: use more processes", row_bits, column_bits);
  packer->window      = *window;
  packer->column_bits = column_bits;
  packer->num_given   = n;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, CreateFacts(stream, &packer->facts));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(n, "keys of a list of entries", stream, &packer->keys));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRListPackerDestroy(packer, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListPackerAppend - the next n entries of the list: global rows and columns on the device, negative ones are ignored. Asynchronous: the arrays have been read when the work queued on the stream is
  done
*/
PetscErrorCode DCSRListPackerAppend(DCSRListPacker *packer, PetscCount n, const PetscInt rows[], const PetscInt columns[], cudaStream_t stream)
{
  unsigned int grid;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(packer->num_packed + n <= packer->num_given, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries of a list of %" PetscCount_FMT, packer->num_packed + n, packer->num_given);
  PetscCall(GetGrid(n, &grid));
  PackKernel<<<grid, THREADS, 0, stream>>>(PackEntry{packer->window, rows, columns, packer->column_bits}, packer->num_packed, n, packer->num_given, packer->keys, packer->facts);
  PetscCallCUDA(cudaGetLastError());
  packer->num_packed += n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListPackerAppendFromHost - DCSRListPackerAppend() for entries in host memory; may be changed or freed when the call returns
  chunk: how many travel to the device at a time, at least 1; DCSR_LIST_CHUNK unless for a test. The work comes after what is queued on the stream. After PETSC_ERR_MEM the packer can only be
  destroyed.
  Cost: one copy at the speed of the bus. A chunk is packed before the next one arrives in its place, which is short beside its copy, and meanwhile the host goes on filling pinned buffers. Device
  memory: a chunk of both arrays, until the last one is packed.
*/
PetscErrorCode DCSRListPackerAppendFromHost(DCSRListPacker *packer, PetscCount n, const PetscInt rows[], const PetscInt columns[], PetscCount chunk, cudaStream_t stream)
{
  const PetscCount room = PetscMin(n, chunk);
  PetscErrorCode   ierr = PETSC_SUCCESS;
  PetscInt        *i = NULL, *j = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(room, "rows of a chunk of a list", stream, &i));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(room, "columns of a chunk of a list", stream, &j));
  for (PetscCount first = 0; first < n; first += chunk) {
    const PetscCount num = PetscMin(chunk, n - first);

    PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(i, rows + first, (size_t)num * sizeof(*i), stream));
    PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(j, columns + first, (size_t)num * sizeof(*j), stream));
    PetscCallGoto(ierr, cleanup, PetscLogCpuToGpu((PetscLogDouble)((size_t)num * (sizeof(*i) + sizeof(*j)))));
    PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(packer, num, i, j, stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&i, stream));
  PetscCall(PetscSparseCUDAFree(&j, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all indices are those of the matrix; all entries were appended. */
static PetscErrorCode CheckPacked(const DCSRListPacker *packer, const DCSRListFacts *facts, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (facts->bad_end > 0) PetscCall(ReportBadIndex(packer, packer->num_given - (PetscCount)facts->bad_end, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListPackerSplit - what does not count of the entries that were appended, all of them, becomes a list of its own, with another window; synchronizes once
  rows and columns of entry k are in the first arrays, on the device, or from k = split on in the second ones; they are not needed afterwards. Both packers are for DCSRListPackerFinish(), also when
  one has
  nothing; the order of the second list tells the entries of the first one. rest is to be freed with DCSRListPackerDestroy(), also after an error. PETSC_ERR_ARG_OUTOFRANGE as DCSRListPackerFinish().
  Cost: one read of the keys; what another packer of the whole list would take is not read or written.
*/
PetscErrorCode DCSRListPackerSplit(DCSRListPacker *packer, const DCSRWindow *window, const PetscInt *const rows[2], const PetscInt *const columns[2], PetscCount split, cudaStream_t stream,
                                   DCSRListPacker *rest)
{
  DCSRListFacts  facts      = {};
  PetscInt      *indices[2] = {NULL, NULL};
  PetscErrorCode ierr       = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (packer->num_given > 0) PetscCall(PetscSparseCUDACopyToHost(&facts, packer->facts, sizeof(facts), stream));
  PetscCall(CheckPacked(packer, &facts, stream));
  PetscCall(DCSRListPackerCreate(window, (PetscCount)facts.num_ignored, stream, rest));
  if (facts.num_ignored == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRNeedsWide(packer->num_given + 1, &packer->wide));
  rest->wide = packer->wide;
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(rest->num_given, "entries that do not count", stream, &indices[k]));
  PetscCallGoto(ierr, cleanup, DCSRListSplit(packer->keys, packer->num_given, rest->num_given, rows, columns, split, stream, &packer->positions, &rest->map, indices));
  PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(rest, rest->num_given, indices[0], indices[1], stream));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&indices[k], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorts the entries that were appended. */
static PetscErrorCode SortPacked(DCSRListPacker *packer, cudaStream_t stream, DCSRList *list)
{
  const int       row_bits = DCSRKeyBits(packer->window.row_end - packer->window.row_begin);
  const PetscBool mapped   = (PetscBool)(packer->map != NULL);
  DCSRListFacts   facts;
  PetscErrorCode  ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  PetscCheck(packer->num_packed == packer->num_given, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries of a list of %" PetscCount_FMT, packer->num_packed, packer->num_given);
  list->column_bits = packer->column_bits;
  list->num_given   = packer->num_given;
  if (list->num_given == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (mapped || packer->positions) PetscCallGoto(ierr, failed, PetscSparseCUDACopyToHost(&facts, packer->facts, sizeof(facts), stream));
  else PetscCallGoto(ierr, failed, GetFacts(list, packer->facts, stream, &facts));
  PetscCallGoto(ierr, failed, CheckPacked(packer, &facts, stream));
  list->keys   = packer->keys;
  packer->keys = NULL;
  if (mapped) {
    list->order = packer->map;
    list->wide  = packer->wide;
    packer->map = NULL;
  }
  PetscCallGoto(ierr, failed, DCSRListSort(list, row_bits + list->column_bits, &facts, mapped, &packer->positions, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListPackerFinish - sorts the entries that were appended, all of them, and finds their repeats; synchronizes two or three times
  The packer loses its keys to the list, which is sorted, and zero after an error; free it with DCSRListDestroy(). PETSC_ERR_ARG_OUTOFRANGE with the first index that is too large.
  Cost: what DCSRListSort() says. What was given to DCSRListPackerAppend() is not needed, and should be freed before for the sake of memory.
*/
PetscErrorCode DCSRListPackerFinish(DCSRListPacker *packer, cudaStream_t stream, DCSRList *list)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(SortPacked(packer, stream, list));
  PetscCallGoto(ierr, failed, DCSRListFindRuns(list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRListPackerDestroy - frees a packer; a zero one is fine, and it is zero afterwards */
PetscErrorCode DCSRListPackerDestroy(DCSRListPacker *packer, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&packer->keys, stream));
  PetscCall(PetscSparseCUDAFree(&packer->facts, stream));
  PetscCall(PetscSparseCUDAFree(&packer->positions, stream));
  PetscCall(PetscSparseCUDAFree(&packer->map, stream));
  PetscCall(PetscArrayzero(packer, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListCreate - sorts the n entries of a list that lie in a window of the matrix; synchronizes with the stream
  rows and columns [n], device: global indices; negative ones are ignored. list is zero after an error; free it with DCSRListDestroy(). DCSRBatchCreate() or DCSRListFindRuns() find its repeats.
  PETSC_ERR_ARG_OUTOFRANGE with the first index that is too large, PETSC_ERR_SUP as DCSRListPackerCreate(). Cost: one pass when the list is sorted; otherwise what DCSRListSort() says on top.
*/
PetscErrorCode DCSRListCreate(const DCSRWindow *window, PetscCount n, const PetscInt rows[], const PetscInt columns[], cudaStream_t stream, DCSRList *list)
{
  DCSRListPacker packer;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  PetscCall(DCSRListPackerCreate(window, n, stream, &packer));
  PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(&packer, n, rows, columns, stream));
  PetscCallGoto(ierr, cleanup, SortPacked(&packer, stream, list));
cleanup:
  PetscCall(DCSRListPackerDestroy(&packer, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRListCreateFromKeys - DCSRListCreate() for keys [n] (device) that exist already: row << column_bits | column; all bits set: ignored. The list takes them over, *keys is NULL afterwards */
PetscErrorCode DCSRListCreateFromKeys(PetscInt num_rows, int column_bits, PetscCount n, uint64_t **keys, cudaStream_t stream, DCSRList *list)
{
  DCSRListFacts  facts, *device = NULL;
  void          *positions = NULL;
  unsigned int   grid;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  list->column_bits = column_bits;
  list->num_given   = n;
  list->keys        = *keys;
  *keys             = NULL;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, CreateFacts(stream, &device));
  PetscCallGoto(ierr, cleanup, GetGrid(n, &grid));
  InspectKernel<<<grid, THREADS, 0, stream>>>(n, list->keys, column_bits, device);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  PetscCallGoto(ierr, cleanup, GetFacts(list, device, stream, &facts));
  PetscCallGoto(ierr, cleanup, DCSRListSort(list, DCSRKeyBits(num_rows) + column_bits, &facts, PETSC_FALSE, &positions, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
