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

/* Looks at all; device [1]. */
PetscErrorCode Find(DCSRView view, int br, int bc, List list, int *device, cudaStream_t stream, PetscBool *full)
{
  int not_full = 1;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCall(Queue(view, br, bc, 0, list, device, stream));
  PetscCall(DCSRReadNumbers(&not_full, device, sizeof(not_full), stream));
  *full = (PetscBool)!not_full;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of the list, if there is memory for them. */
PetscErrorCode TryAllocate(cudaStream_t stream, DCSRView *view, int **device)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc_Private(((size_t)view->num_rows + 1) * sizeof(int32_t), stream, &view->row_offsets));
  if (view->row_offsets != NULL) PetscCall(PetscSparseCUDATryMalloc(view->num_nonzeros, stream, &view->columns));
  if (view->columns != NULL) PetscCall(PetscSparseCUDATryMalloc(1, stream, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

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

/* DCSRFullBlocksFind - Whether all blocks are full. Synchronizes. Errors: PETSC_ERR_MEM */
PetscErrorCode DCSRFullBlocksFind(DCSRView view, int br, int bc, cudaStream_t stream, PetscBool *full)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  int           *device = NULL;

  PetscFunctionBegin;
  *full = PETSC_FALSE;
  PetscCall(PetscSparseCUDAMalloc(1, "whether blocks are full", stream, &device));
  PetscCallGoto(ierr, cleanup, Find(view, br, bc, List{NULL, NULL}, device, stream, full));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRBlockListCreate - The list of the br x bc blocks of compact storage with sorted rows; synchronizes when sizes allow that it consists of them
  list->view.row_offsets is NULL, with no error, when some block is not full or there is no memory for a list. Cost: one read of the structure, 4 bytes a block.
*/
PetscErrorCode DCSRBlockListCreate(DCSRView view, PetscInt br, PetscInt bc, cudaStream_t stream, DCSRBlockList *list)
{
  int           *device = NULL;
  PetscBool      full   = PETSC_FALSE;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  if (!DCSRFullBlocksMayBe(view, br, bc)) PetscFunctionReturn(PETSC_SUCCESS);
  list->rows              = (int)br;
  list->columns           = (int)bc;
  list->view.num_rows     = view.num_rows / br;
  list->view.num_columns  = view.num_columns / bc;
  list->view.num_nonzeros = list->view.capacity = list->view.used = view.num_nonzeros / (br * bc);
  PetscCallGoto(ierr, cleanup, TryAllocate(stream, &list->view, &device));
  if (device != NULL) PetscCallGoto(ierr, cleanup, Find(view, list->rows, list->columns, List{(int32_t *)list->view.row_offsets, list->view.columns}, device, stream, &full));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  if (!full) PetscCall(DCSRBlockListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListWrite - The structure of compact storage that a list describes; the arrays of view are allocated by the caller. Asynchronous. Cost: one write of it. */
PetscErrorCode DCSRBlockListWrite(DCSRBlockList list, DCSRView view, cudaStream_t stream)
{
  const DCSRView l = list.view;
  unsigned int   grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)l.num_rows + WARPS - 1) / WARPS, DCSR_LOOP_BLOCKS, &grid));
#define EXPAND(BC) ExpandKernel<BC><<<grid, THREADS, 0, stream>>>(List{(int32_t *)l.row_offsets, l.columns}, (PetscCount)l.num_rows, list.rows, list.columns, Offsets(view), view.columns)
  FOR_COLUMNS(list.columns, EXPAND);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListExpand - DCSRBlockListWrite() into a new view, owned by the caller; zero after an error. */
PetscErrorCode DCSRBlockListExpand(DCSRBlockList list, cudaStream_t stream, DCSRView *view)
{
  const DCSRView   l            = list.view;
  const PetscCount num_nonzeros = l.num_nonzeros * list.rows * list.columns;
  PetscErrorCode   ierr;
  PetscBool        wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(l.num_rows * list.rows, l.num_columns * list.columns, num_nonzeros, wide, stream, view));
  PetscCallGoto(ierr, failed, DCSRBlockListWrite(list, *view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRBlockListDestroy - Frees the arrays of a list; it is zero afterwards. */
PetscErrorCode DCSRBlockListDestroy(DCSRBlockList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&list->view, stream));
  PetscCall(PetscArrayzero(list, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

DCSRPreload(FindKernel<3>);
