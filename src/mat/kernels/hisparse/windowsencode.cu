/*
  Columns of CSR become 16-bit columns in windows, and come back.

  The windows of a block are found from the left: each begins at the smallest column that none before it covers. No other choice of windows of this width needs fewer, and it is the same every time.
*/
#include "../common/scan.h"
#include "windows.cuh"
#include "../common/preload.cuh"

static_assert(WINDOWS_BLOCK * sizeof(uint16_t) == WINDOWS_THREADS * sizeof(uint4), "A thread moves 16 bytes of a block");

/* A thread block encodes a block of nonzeros. is_wide[b] says whether that was not possible; the lower halves of its columns are written then. */
__global__ void __launch_bounds__(WINDOWS_THREADS) WindowsEncodeKernel(const int32_t *columns, PetscCount num_nonzeros, int shift, uint16_t *encoded, int32_t *windows, int32_t *is_wide)
{
  __shared__ __align__(16) uint16_t codes[WINDOWS_BLOCK];
  __shared__ unsigned int           minima[2][WINDOWS_WARPS];
  const PetscCount                  base = (PetscCount)blockIdx.x * WINDOWS_BLOCK, count = num_nonzeros - base;
  unsigned int                      column[WINDOWS_ITEMS], code[WINDOWS_ITEMS];
  int32_t                           mine; // window number threadIdx.x
  bool                              fits;

  WindowsLoadBlock(columns + base, count, column);
  fits = WindowsFind(column, code, &mine, minima);
#pragma unroll
  for (int i = 0; i < WINDOWS_ITEMS; i++) codes[WindowsPlace(i * WINDOWS_THREADS + (int)threadIdx.x, shift)] = (uint16_t)(fits ? code[i] : column[i] != WINDOWS_NONE ? column[i] & 0xffffu : 0u);
  __syncthreads();
  ((uint4 *)(encoded + base))[threadIdx.x] = ((const uint4 *)codes)[threadIdx.x];
  if (threadIdx.x < WINDOWS_COUNT) windows[(PetscCount)blockIdx.x * WINDOWS_COUNT + threadIdx.x] = mine - ((int32_t)threadIdx.x << WINDOWS_BITS);
  if (threadIdx.x == 0) is_wide[blockIdx.x] = !fits;
}

/* number[b] is the number of blocks with 32-bit columns before block b. */
__global__ void __launch_bounds__(WINDOWS_THREADS) WindowsUpperKernel(const int32_t *columns, PetscCount num_nonzeros, int shift, const int32_t *number, int32_t *windows, uint16_t *upper)
{
  const PetscCount base = (PetscCount)blockIdx.x * WINDOWS_BLOCK, count = num_nonzeros - base, n = number[blockIdx.x];

  if (number[blockIdx.x + 1] == n) return;
  for (int k = (int)threadIdx.x; k < WINDOWS_BLOCK; k += WINDOWS_THREADS) upper[n * WINDOWS_BLOCK + WindowsPlace(k, shift)] = k < count ? (uint16_t)((unsigned int)columns[base + k] >> 16) : (uint16_t)0;
  if (threadIdx.x == 0) windows[(PetscCount)blockIdx.x * WINDOWS_COUNT] = (int32_t)(-1 - n);
}

__global__ void __launch_bounds__(WINDOWS_THREADS) WindowsDecodeKernel(const uint16_t *encoded, const int32_t *windows, const uint16_t *upper, PetscCount num_nonzeros, int shift, int32_t *columns)
{
  __shared__ __align__(16) uint16_t codes[WINDOWS_BLOCK];
  __shared__ int32_t                firsts[WINDOWS_COUNT];
  const PetscCount                  base = (PetscCount)blockIdx.x * WINDOWS_BLOCK, count = num_nonzeros - base;

  ((uint4 *)codes)[threadIdx.x] = ((const uint4 *)(encoded + base))[threadIdx.x];
  if (threadIdx.x < WINDOWS_COUNT) firsts[threadIdx.x] = windows[(PetscCount)blockIdx.x * WINDOWS_COUNT + threadIdx.x];
  __syncthreads();
  for (int k = (int)threadIdx.x; k < WINDOWS_BLOCK && k < count; k += WINDOWS_THREADS) {
    const int          place = WindowsPlace(k, shift);
    const unsigned int code  = codes[place];

    if (firsts[0] < 0) columns[base + k] = (int32_t)(code | (unsigned int)upper[(PetscCount)(-1 - firsts[0]) * WINDOWS_BLOCK + place] << 16);
    else columns[base + k] = firsts[code >> WINDOWS_BITS] + (int32_t)code;
  }
}

/* vec = 2^shift */
static int WindowsGetShift(Windows w)
{
  return w->config.vec == 2 ? 1 : w->config.vec == 4 ? 2 : 3;
}

/* The upper halves, when there are any; number[] is the exclusive sum. */
static PetscErrorCode WindowsEncodeUpper(Windows w, const int32_t columns[], const int32_t number[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (w->num_wide == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(w->num_wide * WINDOWS_BLOCK, "upper halves of 32-bit columns", stream, &w->upper));
  w->bytes += (size_t)w->num_wide * WINDOWS_BLOCK * sizeof(*w->upper);
  WindowsUpperKernel<<<(unsigned int)w->num_blocks, WINDOWS_THREADS, 0, stream>>>(columns, w->num_nonzeros, WindowsGetShift(w), number, w->windows, w->upper);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsEncode - allocates and fills the columns of a structure whose sizes and configuration are set

  Input Parameters:
+ w       - at least one nonzero; columns, windows and upper are set. What was allocated stays with it after an error
. columns - [num_nonzeros] 32-bit columns, device
- stream  - the stream; synchronizes

  Cost: one read of the columns, up to 5 rounds over them in registers, one write of 2 bytes a nonzero. Errors: PETSC_ERR_MEM, PETSC_ERR_SUP.
*/
PetscErrorCode WindowsEncode(Windows w, const int32_t columns[], cudaStream_t stream)
{
  int32_t        num_wide = 0, *number = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  w->num_blocks = (w->num_nonzeros + WINDOWS_BLOCK - 1) / WINDOWS_BLOCK;
  PetscCheck(w->num_blocks < PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%" PetscCount_FMT " nonzeros are more than the blocks of one launch can cover", w->num_nonzeros);
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(w->num_blocks * WINDOWS_BLOCK, "16-bit columns", stream, &w->columns));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(w->num_blocks * WINDOWS_COUNT, "windows of 16-bit columns", stream, &w->windows));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(w->num_blocks + 1, "blocks with 32-bit columns", stream, &number));
  w->bytes += (size_t)w->num_blocks * (WINDOWS_BLOCK * sizeof(*w->columns) + WINDOWS_COUNT * sizeof(*w->windows));
  WindowsEncodeKernel<<<(unsigned int)w->num_blocks, WINDOWS_THREADS, 0, stream>>>(columns, w->num_nonzeros, WindowsGetShift(w), w->columns, w->windows, number);
  PetscCallCUDAGoto(ierr, done, cudaGetLastError());
  PetscCallCUDAGoto(ierr, done, cudaMemsetAsync(number + w->num_blocks, 0, sizeof(*number), stream));
  PetscCallGoto(ierr, done, DCSRExclusiveSum("numbers of blocks with 32-bit columns", number, w->num_blocks + 1, stream));
  PetscCallCUDAGoto(ierr, done, cudaMemcpyAsync(&num_wide, number + w->num_blocks, sizeof(num_wide), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, done, cudaStreamSynchronize(stream));
  w->num_wide = num_wide;
  PetscCallGoto(ierr, done, WindowsEncodeUpper(w, columns, number, stream));
done:
  PetscCall(PetscSparseCUDAFree(&number, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsDecode - the 32-bit columns again

  Input Parameters:
+ w      - the structure
- stream - asynchronous on it

  Output Parameter:
. columns - [num_nonzeros], device

  Cost: one read of 2 bytes and one write of 4 bytes a nonzero.
*/
PetscErrorCode WindowsDecode(Windows w, int32_t columns[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (w->num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  WindowsDecodeKernel<<<(unsigned int)w->num_blocks, WINDOWS_THREADS, 0, stream>>>(w->columns, w->windows, w->upper, w->num_nonzeros, WindowsGetShift(w), columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename From, typename To>
__global__ void __launch_bounds__(WINDOWS_THREADS) WindowsOffsetsKernel(PetscCount n, const From *from, To *to)
{
  const PetscCount i = (PetscCount)blockIdx.x * WINDOWS_THREADS + threadIdx.x;

  if (i < n) to[i] = (To)from[i];
}

/*
  WindowsGetOffsets - the row offsets

  Input Parameters:
+ w      - the structure
. wide   - whether row_offsets are int64_t, or int32_t
- stream - asynchronous on it

  Output Parameter:
. row_offsets - [num_rows + 1], device
*/
PetscErrorCode WindowsGetOffsets(Windows w, PetscBool wide, void *row_offsets, cudaStream_t stream)
{
  const PetscCount   n    = (PetscCount)w->num_rows + 1;
  const unsigned int grid = DCSRNumBlocks(n, WINDOWS_THREADS);

  PetscFunctionBegin;
  if (wide == w->wide) PetscCallCUDA(cudaMemcpyAsync(row_offsets, w->row_offsets, (size_t)n * (wide ? sizeof(int64_t) : sizeof(int32_t)), cudaMemcpyDeviceToDevice, stream));
  else if (wide) WindowsOffsetsKernel<<<grid, WINDOWS_THREADS, 0, stream>>>(n, (const int32_t *)w->row_offsets, (int64_t *)row_offsets);
  else WindowsOffsetsKernel<<<grid, WINDOWS_THREADS, 0, stream>>>(n, (const int64_t *)w->row_offsets, (int32_t *)row_offsets);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void __launch_bounds__(WINDOWS_THREADS) WindowsScaleKernel(PetscInt n, PetscReal alpha, PetscReal *array)
{
  const PetscCount i = (PetscCount)blockIdx.x * WINDOWS_THREADS + threadIdx.x;

  if (i < n) array[i] *= alpha;
}

/* WindowsScaleReals - multiplies array [n], device, by alpha; asynchronous on stream */
PetscErrorCode WindowsScaleReals(PetscInt n, PetscReal alpha, PetscReal array[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  WindowsScaleKernel<<<DCSRNumBlocks(n, WINDOWS_THREADS), WINDOWS_THREADS, 0, stream>>>(n, alpha, array);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(WindowsEncodeKernel);
