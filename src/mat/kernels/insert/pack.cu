/*
  Rows and columns of a list become keys, piece by piece, so that a list in host memory is never in device memory as a whole. The same pass learns whether the
  keys come sorted and whether there are repeats, across the borders of pieces too.
*/
#include "../common/message.h"
#include "pack.cuh"

namespace
{

constexpr int THREADS = 256;

/* Thread blocks of a loop over n keys. */
PetscErrorCode GetGrid(PetscCount n, unsigned int *grid)
{
  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((n + THREADS - 1) / THREADS, DCSR_LOOP_BLOCKS, grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes what a warp saw about its keys, NO_KEY where a lane has none; one atomic a warp and only when there is something to say. */
__device__ void NoteFacts(bool has_key, uint64_t key, uint64_t before, DCSRListFacts *facts)
{
  const bool     compare = key != NO_KEY && before != NO_KEY;
  const unsigned ignored = __ballot_sync(0xffffffffu, has_key && key == NO_KEY), unsorted = __ballot_sync(0xffffffffu, compare && key < before);
  const unsigned repeated = __ballot_sync(0xffffffffu, compare && key == before);

  if (threadIdx.x % 32 != 0) return;
  if (ignored) atomicAdd(&facts->num_ignored, (unsigned long long)__popc(ignored));
  if (unsorted && !*(volatile unsigned int *)&facts->unsorted) atomicOr(&facts->unsorted, 1u);
  if (repeated && !*(volatile unsigned int *)&facts->repeated) atomicOr(&facts->repeated, 1u);
}

/* n keys from [first] on of num_given, out of a piece of the list that begins there; the keys before are there. */
__global__ void __launch_bounds__(THREADS) PackKernel(PackEntry pack, PetscCount first, PetscCount n, PetscCount num_given, uint64_t *keys, DCSRListFacts *facts)
{
  const PetscCount rounds = (n + (PetscCount)gridDim.x * THREADS - 1) / ((PetscCount)gridDim.x * THREADS);

  for (PetscCount r = 0; r < rounds; r++) {
    const PetscCount k   = (r * gridDim.x + blockIdx.x) * THREADS + threadIdx.x;
    bool             bad = false, unused = false;
    const uint64_t   key = k < n ? pack(k, &bad) : NO_KEY;
    // the neighbor's key comes from its lane, only the first lane packs twice, or looks at the piece before
    uint64_t before = __shfl_up_sync(0xffffffffu, key, 1);

    if (threadIdx.x % 32 == 0) {
      if (k > 0) before = k < n ? pack(k - 1, &unused) : NO_KEY;
      else before = first > 0 ? keys[first - 1] : NO_KEY;
    }
    if (k < n) keys[first + k] = key;
    if (bad) atomicMax(&facts->bad_end, (unsigned long long)(num_given - (first + k)));
    NoteFacts(k < n, key, before, facts);
  }
}

/* The same facts about keys that exist already. */
__global__ void __launch_bounds__(THREADS) InspectKernel(PetscCount n, const uint64_t *keys, DCSRListFacts *facts)
{
  const PetscCount rounds = (n + (PetscCount)gridDim.x * THREADS - 1) / ((PetscCount)gridDim.x * THREADS);

  for (PetscCount r = 0; r < rounds; r++) {
    const PetscCount k = (r * gridDim.x + blockIdx.x) * THREADS + threadIdx.x;

    NoteFacts(k < n, k < n ? keys[k] : NO_KEY, k > 0 && k < n ? keys[k - 1] : NO_KEY, facts);
  }
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

/* Waits for them. */
PetscErrorCode GetFacts(const DCSRListFacts *device, cudaStream_t stream, DCSRListFacts *facts)
{
  PetscFunctionBegin;
  PetscCall(DCSRReadNumbers(facts, device, sizeof(*facts), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says which index is too large. */
PetscErrorCode ReportBadIndex(const DCSRListPacker *packer, PetscCount k, cudaStream_t stream)
{
  uint64_t key;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToHost(&key, packer->keys + k, sizeof(key), stream));
  PetscCheck(!(key & BAD_ROW), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO row index %" PetscInt_FMT " is >= the matrix row size %" PetscInt_FMT, k, (PetscInt)(key & ~BAD_ROW),
             packer->window.num_global_rows);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Entry %" PetscCount_FMT " of the list: COO column index %" PetscInt_FMT " is >= the matrix column size %" PetscInt_FMT, k, (PetscInt)key, packer->window.num_global_columns);
}

} // namespace

/*
  DCSRListPackerCreate - room for the keys of a list that will come in pieces

  Input Parameters:
+ window - which rows and columns count
. n      - entries of the whole list
- stream - of all that is done with the packer

  Output Parameter:
. packer - zero after an error; append n entries, then DCSRListPackerFinish(); free it with DCSRListPackerDestroy()

  Errors: PETSC_ERR_SUP when rows and columns need more bits than a key has, PETSC_ERR_MEM.
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
  DCSRListPackerAppend - the next entries of the list

  Input Parameters:
+ packer  - the packer
. n       - entries
. rows    - [n] global row indices, device; negative: ignored
. columns - [n] global column indices, device; negative: ignored
- stream  - asynchronous on it: the arrays have been read when the work queued on it is done
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
  DCSRListPackerAppendFromHost - DCSRListPackerAppend() for entries in host memory

  Input Parameters:
+ packer  - the packer
. n       - entries
. rows    - [n] global row indices, host; negative: ignored; may be changed or freed when the call returns
. columns - [n] global column indices, host; likewise
. piece   - how many travel to the device at a time, at least 1; DCSR_LIST_PIECE unless for a test
- stream  - the work comes after what is queued on it

  Cost: one copy at the speed of the bus. A piece is packed before the next one arrives in its place, which is short beside its copy, and meanwhile the host goes
  on filling pinned buffers. Device memory: a piece of both arrays, until the last one is packed.

  Errors: PETSC_ERR_MEM; the packer can only be destroyed then.
*/
PetscErrorCode DCSRListPackerAppendFromHost(DCSRListPacker *packer, PetscCount n, const PetscInt rows[], const PetscInt columns[], PetscCount piece, cudaStream_t stream)
{
  const PetscCount room = PetscMin(n, piece);
  PetscErrorCode   ierr = PETSC_SUCCESS;
  PetscInt        *i = NULL, *j = NULL;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(room, "rows of a piece of a list", stream, &i));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(room, "columns of a piece of a list", stream, &j));
  for (PetscCount first = 0; first < n; first += piece) {
    const PetscCount num = PetscMin(piece, n - first);

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

/*
  DCSRListPackerFinish - sorts the entries that were appended

  Input Parameters:
+ packer - all entries are there; loses its keys to the list
- stream - synchronizes with it two or three times

  Output Parameter:
. list - the sorted list, zero after an error; free it with DCSRListDestroy()

  Cost: what DCSRListSort() says. What was given to DCSRListPackerAppend() is not needed, and should be freed before for the sake of memory.

  Errors: PETSC_ERR_ARG_OUTOFRANGE with the first index that is too large, PETSC_ERR_MEM.
*/
PetscErrorCode DCSRListPackerFinish(DCSRListPacker *packer, cudaStream_t stream, DCSRList *list)
{
  const int      row_bits = DCSRKeyBits(packer->window.row_end - packer->window.row_begin);
  DCSRListFacts  facts;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  PetscCheck(packer->num_packed == packer->num_given, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries of a list of %" PetscCount_FMT, packer->num_packed, packer->num_given);
  if (packer->num_given > 0) {
    PetscCall(GetFacts(packer->facts, stream, &facts));
    if (facts.bad_end > 0) PetscCall(ReportBadIndex(packer, packer->num_given - (PetscCount)facts.bad_end, stream));
  }
  list->column_bits = packer->column_bits;
  list->num_given   = packer->num_given;
  list->keys        = packer->keys;
  packer->keys      = NULL;
  if (list->num_given > 0) PetscCallGoto(ierr, failed, DCSRListSort(list, row_bits + list->column_bits, &facts, stream));
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
  PetscCall(PetscArrayzero(packer, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
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

  Cost: one pass when the list is sorted; otherwise what DCSRListSort() says on top.

  Errors: PETSC_ERR_ARG_OUTOFRANGE with the first index that is too large, PETSC_ERR_SUP, PETSC_ERR_MEM.
*/
PetscErrorCode DCSRListCreate(const DCSRWindow *window, PetscCount n, const PetscInt rows[], const PetscInt columns[], cudaStream_t stream, DCSRList *list)
{
  DCSRListPacker packer;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  PetscCall(DCSRListPackerCreate(window, n, stream, &packer));
  PetscCallGoto(ierr, cleanup, DCSRListPackerAppend(&packer, n, rows, columns, stream));
  PetscCallGoto(ierr, cleanup, DCSRListPackerFinish(&packer, stream, list));
cleanup:
  PetscCall(DCSRListPackerDestroy(&packer, stream));
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
  DCSRListFacts  facts, *device = NULL;
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
  InspectKernel<<<grid, THREADS, 0, stream>>>(n, list->keys, device);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  PetscCallGoto(ierr, cleanup, GetFacts(device, stream, &facts));
  PetscCallGoto(ierr, cleanup, DCSRListSort(list, DCSRKeyBits(num_rows) + column_bits, &facts, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
