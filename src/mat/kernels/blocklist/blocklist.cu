/* Lists of full blocks: made of compact storage, and the storage that a list describes. */
#include "../common/message.h"
#include "../common/offsets.cuh"
#include "../common/preload.cuh"
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/common.h>

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / 32;

/* Calls a template for the number of columns of a block: divisions by a constant are multiplications. 0: any. */
#define FOR_COLUMNS(bc, call) \
  do { \
    if ((bc) == 2) call(2); \
    else if ((bc) == 3) call(3); \
    else if ((bc) == 6) call(6); \
    else call(0); \
  } while (0)

/* Where a list goes; NULL: nobody wants one. */
struct List {
  int32_t *offsets, *columns;
};

/*
  A warp takes a block row of the samples, which are spread evenly over all. What is no list of full blocks is noted, and nothing is written outside of the list's arrays.
*/
template <int BC>
__global__ void __launch_bounds__(THREADS) FindKernel(Offsets offsets, const int32_t *columns, PetscCount num_rows, PetscCount num_samples, int br, int any_bc, List list, int *not_full)
{
  const int        lane = (int)threadIdx.x % 32, bc = BC > 0 ? BC : any_bc;
  const PetscCount base = offsets(0);

  for (PetscCount s = (PetscCount)blockIdx.x * WARPS + threadIdx.x / 32; s < num_samples && !*(volatile int *)not_full; s += (PetscCount)gridDim.x * WARPS) {
    const PetscCount   row = s * num_rows / num_samples, f = offsets(row * br), first_block = (f - base) / (br * bc);
    const unsigned int n  = (unsigned int)(offsets(row * br + 1) - f); // less than 2^31
    bool               ok = n % bc == 0 && first_block * (br * bc) == f - base;

    for (int r = 1; r < br; r++) ok = ok && offsets(row * br + r + 1) - offsets(row * br + r) == n;
    if (lane == 0 && list.offsets != NULL) {
      list.offsets[row] = (int32_t)first_block;
      if (row == num_rows - 1) list.offsets[num_rows] = (int32_t)((offsets(num_rows * br) - base) / (br * bc));
    }
    for (unsigned int p = lane; p < n && ok; p += 32) {
      const unsigned int block = p / bc;
      const int          c     = (int)(p - block * bc);
      const int32_t      first = columns[f + (p - c)];

      ok = first % bc == 0;
      for (int r = 0; r < br; r++) ok = ok && columns[f + (PetscCount)r * n + p] == first + c;
      if (c == 0 && list.columns != NULL) list.columns[first_block + block] = first / bc;
    }
    if (!ok) *not_full = 1;
  }
}

/* Rows and columns of the storage of a block row, a warp. */
template <int BC>
__global__ void __launch_bounds__(THREADS) ExpandKernel(List list, PetscCount num_rows, int br, int any_bc, Offsets row_offsets, int32_t *columns)
{
  const int lane = (int)threadIdx.x % 32, bc = BC > 0 ? BC : any_bc;

  for (PetscCount row = (PetscCount)blockIdx.x * WARPS + threadIdx.x / 32; row < num_rows; row += (PetscCount)gridDim.x * WARPS) {
    const int32_t      begin = list.offsets[row];
    const unsigned int n     = (unsigned int)(list.offsets[row + 1] - begin) * bc; // less than 2^31, as columns
    const PetscCount   first = (PetscCount)begin * br * bc;

    if (lane < br) row_offsets.Set(row * br + lane, first + (PetscCount)lane * n);
    if (row == num_rows - 1 && lane == 0) row_offsets.Set(num_rows * br, first + (PetscCount)br * n);
#pragma unroll 4
    for (unsigned int p = lane; p < n; p += 32) {
      const unsigned int block  = p / bc;
      const int32_t      column = list.columns[begin + block] * bc + (int32_t)(p - block * bc);

      for (int r = 0; r < br; r++) columns[first + (PetscCount)r * n + p] = column;
    }
  }
}

/* Looks at so many block rows, 0: at all. */
PetscErrorCode Queue(DCSRView view, int br, int bc, PetscCount num_samples, List list, int *not_full, cudaStream_t stream)
{
  const PetscCount num_rows = view.num_rows / br;
  unsigned int     grid;

  PetscFunctionBegin;
  if (num_samples == 0 || num_samples > num_rows) num_samples = num_rows;
  PetscCall(DCSRGetGrid((num_samples + WARPS - 1) / WARPS, DCSR_LOOP_BLOCKS, &grid));
#define FIND(BC) FindKernel<BC><<<grid, THREADS, 0, stream>>>(Offsets(view), view.columns, num_rows, num_samples, br, bc, list, not_full)
  FOR_COLUMNS(bc, FIND);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills room for a list when all blocks are full; with no memory for it, or after an error, it stays room. */
PetscErrorCode Fill(DCSRView view, int br, int bc, cudaStream_t stream, DCSRBlockList list)
{
  DCSRView       made   = {};
  int           *device = NULL, not_full = 1;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  made.num_rows     = view.num_rows / br;
  made.num_columns  = view.num_columns / bc;
  made.num_nonzeros = made.capacity = made.used = view.num_nonzeros / (br * bc);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDATryMalloc_Private(((size_t)made.num_rows + 1) * sizeof(int32_t), stream, &made.row_offsets));
  if (made.row_offsets != NULL) PetscCallGoto(ierr, cleanup, PetscSparseCUDATryMalloc(made.num_nonzeros, stream, &made.columns));
  if (made.columns != NULL) PetscCallGoto(ierr, cleanup, PetscSparseCUDATryMalloc(1, stream, &device));
  if (device == NULL) goto cleanup;
  DCSRBlockListSearches++;
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallGoto(ierr, cleanup, Queue(view, br, bc, 0, List{(int32_t *)made.row_offsets, made.columns}, device, stream));
  PetscCallGoto(ierr, cleanup, DCSRReadNumbers(&not_full, device, sizeof(not_full), stream));
  list->rows    = br;
  list->columns = bc;
  if (!not_full) list->view = made;
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  if (not_full) PetscCall(DCSRViewFree(&made, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscInt DCSRBlockListSearches;

/* DCSRFullBlocksMayBe - Whether the sizes of a matrix allow that it consists of full br x bc blocks, which 32 bits number. */
PetscBool DCSRFullBlocksMayBe(DCSRView view, PetscInt br, PetscInt bc)
{
  const PetscInt most = 32; // rows, or columns, of a block

  return (PetscBool)(br > 0 && bc > 0 && br <= most && bc <= most && br * bc > 1 && view.row_offsets != NULL && view.num_nonzeros > 0 && view.num_rows % br == 0 && view.num_columns % bc == 0 &&
                     view.num_nonzeros % (br * bc) == 0 && view.num_nonzeros / (br * bc) <= DCSR_MAX_NARROW);
}

/*
  DCSRFullBlocksQueue - Notes whether one of so many block rows, 0: of all, has a block that is not full: not_full on the device, 0 before, becomes 1 then. Asynchronous
  Cost: a read of the columns of these rows; much less when some have no full blocks.
*/
PetscErrorCode DCSRFullBlocksQueue(DCSRView view, int br, int bc, PetscInt num_samples, int *not_full, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Queue(view, br, bc, num_samples, List{NULL, NULL}, not_full, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListCreate - A list of blocks of this size whose structure its caller sets, or with 0 room for a list; one reference, to be given back by DCSRBlockListDestroy(). */
PetscErrorCode DCSRBlockListCreate(int rows, int columns, DCSRBlockList *list)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(list));
  (*list)->references = 1;
  (*list)->rows       = rows;
  (*list)->columns    = columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListReference - One reference more; NULL is fine. */
DCSRBlockList DCSRBlockListReference(DCSRBlockList list)
{
  if (list != NULL) list->references++;
  return list;
}

/*
  DCSRBlockListGet - The list of the br x bc blocks of compact storage with sorted rows, a reference; synchronizes when it has to be made, and sizes allow that the storage consists of them
  It is that of view, which is made where there is but room for one, if these are the sizes that view says; otherwise a list of its own.
  *list is NULL, with no error, when some block is not full or there is no memory for a list. Cost: nothing, or one read of the structure, 4 bytes a block.
*/
PetscErrorCode DCSRBlockListGet(DCSRView view, PetscInt br, PetscInt bc, cudaStream_t stream, DCSRBlockList *list)
{
  const DCSRBlockList kept = br == view.row_block && bc == view.column_block ? view.list : NULL;
  PetscErrorCode      ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *list = NULL;
  if (kept != NULL && kept->rows == br && kept->columns == bc) {
    if (kept->view.row_offsets != NULL) *list = DCSRBlockListReference(kept);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!DCSRFullBlocksMayBe(view, br, bc)) PetscFunctionReturn(PETSC_SUCCESS);
  if (kept != NULL && kept->rows == 0) *list = DCSRBlockListReference(kept);
  else PetscCall(DCSRBlockListCreate(0, 0, list));
  ierr = Fill(view, (int)br, (int)bc, stream, *list);
  if ((*list)->view.row_offsets == NULL) PetscCall(DCSRBlockListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListWrite - The structure of compact storage that a list describes; the arrays of view are allocated by the caller. Asynchronous. Cost: one write of it. */
PetscErrorCode DCSRBlockListWrite(DCSRBlockList list, DCSRView view, cudaStream_t stream)
{
  const DCSRView l = list->view;
  unsigned int   grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)l.num_rows + WARPS - 1) / WARPS, DCSR_LOOP_BLOCKS, &grid));
#define EXPAND(BC) ExpandKernel<BC><<<grid, THREADS, 0, stream>>>(List{(int32_t *)l.row_offsets, l.columns}, (PetscCount)l.num_rows, list->rows, list->columns, Offsets(view), view.columns)
  FOR_COLUMNS(list->columns, EXPAND);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListExpand - DCSRBlockListWrite() into a new view, owned by the caller; zero after an error. */
PetscErrorCode DCSRBlockListExpand(DCSRBlockList list, cudaStream_t stream, DCSRView *view)
{
  const DCSRView   l            = list->view;
  const PetscCount num_nonzeros = l.num_nonzeros * list->rows * list->columns;
  PetscErrorCode   ierr;
  PetscBool        wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(l.num_rows * list->rows, l.num_columns * list->columns, num_nonzeros, wide, stream, view));
  PetscCallGoto(ierr, failed, DCSRBlockListWrite(list, *view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRBlockListDestroy - Gives a reference back, the last one with the list; NULL is fine, and *list is NULL afterwards. */
PetscErrorCode DCSRBlockListDestroy(DCSRBlockList *list, cudaStream_t stream)
{
  DCSRBlockList l = *list;

  PetscFunctionBegin;
  *list = NULL;
  if (l == NULL || --l->references > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRViewFree(&l->view, stream));
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

DCSRPreload(FindKernel<3>);
