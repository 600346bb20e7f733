/* Lists of full blocks: made of compact storage, and the storage that a list describes. */
#include "../common/message.h"
#include "../common/offsets.cuh"
#include <petscsparsecuda/blocklist.h>

namespace
{

constexpr int THREADS = 256, LANES = 32; // that look at a block row

/* What is no list of full blocks is noted, and nothing is written outside of the list's arrays. */
template <typename Offset>
__global__ void __launch_bounds__(THREADS)
  FindKernel(const Offset *row_offsets, const int32_t *columns, int32_t num_block_rows, int br, int bc, int32_t *block_offsets, int32_t *block_columns, int *failed)
{
  const PetscCount row  = (PetscCount)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
  const int        lane = (int)threadIdx.x % LANES;

  if (row >= num_block_rows || *(volatile int *)failed) return;
  const Offset  f  = row_offsets[row * br];
  const int32_t n  = (int32_t)(row_offsets[row * br + 1] - f);
  bool          ok = n % bc == 0 && f % (br * bc) == 0;

  for (int r = 1; r < br; r++) ok = ok && row_offsets[row * br + r + 1] - row_offsets[row * br + r] == n;
  if (lane == 0) {
    block_offsets[row] = (int32_t)(f / (br * bc));
    if (row == num_block_rows - 1) block_offsets[row + 1] = (int32_t)(row_offsets[num_block_rows * br] / (br * bc));
  }
  for (int32_t p = lane; p < n && ok; p += LANES) {
    const int32_t c = p % bc, first = columns[f + p - c];

    ok = first % bc == 0;
    for (int r = 0; r < br; r++) ok = ok && columns[f + (Offset)r * n + p] == first + c;
    if (c == 0) block_columns[f / (br * bc) + p / bc] = first / bc;
  }
  if (!ok) *failed = 1;
}

/* Rows and columns of the storage of a block row. */
__global__ void __launch_bounds__(THREADS) ExpandKernel(const int32_t *block_offsets, const int32_t *block_columns, int32_t num_block_rows, int br, int bc, Offsets row_offsets, int32_t *columns)
{
  const PetscCount row  = (PetscCount)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
  const int        lane = (int)threadIdx.x % LANES;

  if (row >= num_block_rows) return;
  const int32_t    begin = block_offsets[row], n = (block_offsets[row + 1] - begin) * bc;
  const PetscCount first = (PetscCount)begin * br * bc;

  for (int r = lane; r < br; r += LANES) row_offsets.Set(row * br + r, first + (PetscCount)r * n);
  if (row == num_block_rows - 1 && lane == 0) row_offsets.Set((row + 1) * br, first + (PetscCount)br * n);
  for (int32_t p = lane; p < n; p += LANES) {
    const int32_t column = block_columns[begin + p / bc] * bc + p % bc;

    for (int r = 0; r < br; r++) columns[first + (PetscCount)r * n + p] = column;
  }
}

unsigned int Grid(PetscInt num_block_rows)
{
  return (unsigned int)(((PetscCount)num_block_rows * LANES + THREADS - 1) / THREADS);
}

/* Whether sizes allow that there is nothing but blocks. */
PetscBool MayBe(DCSRView view, PetscInt br, PetscInt bc)
{
  const PetscInt most = 32; // entries of a row or of a column of a block

  return (PetscBool)(br > 0 && bc > 0 && br <= most && bc <= most && br * bc > 1 && view.row_offsets != NULL && view.num_nonzeros > 0 && view.num_rows % br == 0 && view.num_columns % bc == 0 &&
                     view.num_nonzeros % (br * bc) == 0 && view.num_nonzeros / (br * bc) <= PETSC_INT32_MAX);
}

/* Fills the list; *full: there is nothing but full blocks. */
PetscErrorCode Find(DCSRView view, const DCSRBlockList *list, int *device, cudaStream_t stream, PetscBool *full)
{
  const DCSRView l      = list->view;
  int            failed = 1;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(device, 0, sizeof(*device), stream));
  if (view.wide)
    FindKernel<<<Grid(l.num_rows), THREADS, 0, stream>>>((const int64_t *)view.row_offsets, view.columns, (int32_t)l.num_rows, list->rows, list->columns, (int32_t *)l.row_offsets, l.columns, device);
  else FindKernel<<<Grid(l.num_rows), THREADS, 0, stream>>>((const int32_t *)view.row_offsets, view.columns, (int32_t)l.num_rows, list->rows, list->columns, (int32_t *)l.row_offsets, l.columns, device);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRReadNumbers(&failed, device, sizeof(failed), stream));
  *full = (PetscBool)!failed;
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

/*
  DCSRBlockListCreate - The list of the br x bc blocks of compact storage with sorted rows; synchronizes when sizes allow that it consists of them
  list->view.row_offsets is NULL, with no error, when some block is not full or there is no memory for a list. Cost: one read of the structure.
*/
PetscErrorCode DCSRBlockListCreate(DCSRView view, PetscInt br, PetscInt bc, cudaStream_t stream, DCSRBlockList *list)
{
  int           *device = NULL;
  PetscBool      full   = PETSC_FALSE;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(list, 1));
  if (!MayBe(view, br, bc)) PetscFunctionReturn(PETSC_SUCCESS);
  list->rows              = (int)br;
  list->columns           = (int)bc;
  list->view.num_rows     = view.num_rows / br;
  list->view.num_columns  = view.num_columns / bc;
  list->view.num_nonzeros = list->view.capacity = list->view.used = view.num_nonzeros / (br * bc);
  PetscCallGoto(ierr, cleanup, TryAllocate(stream, &list->view, &device));
  if (device != NULL) PetscCallGoto(ierr, cleanup, Find(view, list, device, stream, &full));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  if (!full) PetscCall(DCSRBlockListDestroy(list, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListExpand - The structure of compact storage that a list describes, owned by the caller; zero after an error. Asynchronous. Cost: one write of it. */
PetscErrorCode DCSRBlockListExpand(DCSRBlockList list, cudaStream_t stream, DCSRView *view)
{
  const DCSRView   l            = list.view;
  const PetscCount num_nonzeros = l.num_nonzeros * list.rows * list.columns;
  PetscBool        wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(l.num_rows * list.rows, l.num_columns * list.columns, num_nonzeros, wide, stream, view));
  ExpandKernel<<<Grid(l.num_rows), THREADS, 0, stream>>>((const int32_t *)l.row_offsets, l.columns, (int32_t)l.num_rows, list.rows, list.columns, Offsets(*view), view->columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRBlockListDestroy - Frees the arrays of a list; it is zero afterwards. */
PetscErrorCode DCSRBlockListDestroy(DCSRBlockList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewFree(&list->view, stream));
  PetscCall(PetscArrayzero(list, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
