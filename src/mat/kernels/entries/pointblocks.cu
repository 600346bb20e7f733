/*
  Diagonal blocks of few rows: their inverses, and products with them. A group of lanes of a warp, one for each row and column, inverts a block in shared memory; a thread makes a row of a product.
*/
#include "../common/message.h"
#include "../common/overlap.cuh"
#include "../common/preload.cuh"
#include "../common/scalar.cuh"
#include "../common/search.cuh"
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/pointblocks.h>

namespace
{

constexpr int INVERT_THREADS = 64; // so that complex blocks of 32 rows fit into the shared memory that each kernel may have
constexpr int APPLY_THREADS  = 256;

/* First row, rows and place of a block. */
struct Block {
  PetscInt     first;
  int          n;
  PetscCount   row_stride, column_stride;
  PetscScalar *inverse;

  __device__ Block(const DCSRPointBlocks &blocks, PetscInt b)
  {
    const bool equal = blocks.size > 0;

    first         = equal ? b * blocks.size : blocks.starts[b];
    n             = equal ? (int)blocks.size : (int)(blocks.starts[b + 1] - first);
    row_stride    = equal ? 1 : n;
    column_stride = equal ? blocks.num_rows : 1;
    inverse       = blocks.inverses + (equal ? (PetscCount)first : blocks.offsets[b]);
  }
};

/* A block in the shared memory of LANES lanes, which go through all of this together. Padding keeps a column in different banks. */
template <int LANES>
struct Elimination {
  static constexpr int LD = LANES + 1;
  PetscScalar         *a; // [LANES][LD] by rows
  PetscScalar         *f; // [LANES] the column that is eliminated
  int                 *p; // [LANES] rows of the pivots

  /* The diagonal block of the rows from first on; a lane a row. */
  template <typename Offset>
  __device__ void Load(const Offset *row_offsets, const int32_t *columns, const PetscScalar *values, PetscInt first, int n, int lane) const
  {
    if (lane < n) {
      const Offset end = row_offsets[first + lane + 1];
      Offset       k   = LowerBound(columns, row_offsets[first + lane], end, (int32_t)first);

      for (int c = 0; c < n; c++) a[lane * LD + c] = PetscScalar(0.0);
      for (; k < end && columns[k] < first + n; k++) a[lane * LD + columns[k] - first] = values[k];
    }
    __syncwarp();
  }

  /* The row of the largest entry of column k from row k on, the first of several; a value that is no number counts as the largest. */
  __device__ int FindPivot(int k, int n, int lane, PetscReal *largest) const
  {
    PetscReal value = lane >= k && lane < n ? AbsoluteValue(a[lane * LD + k]) : PetscReal(-1.0);
    int       row   = lane;

    if (value != value) value = PETSC_MAX_REAL;
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
      const PetscReal other     = __shfl_xor_sync(0xffffffffu, value, step);
      const int       other_row = __shfl_xor_sync(0xffffffffu, row, step);

      if (other > value || (other == value && other_row < row)) {
        value = other;
        row   = other_row;
      }
    }
    *largest = value;
    return row;
  }

  __device__ void Swap(int i, int j) const
  {
    const PetscScalar t = a[i];

    a[i] = a[j];
    a[j] = t;
  }

  /* Gauss and Jordan's step k; lanes beyond n and blocks that are done wait with the others. */
  __device__ void Step(int k, int n, int lane, PetscReal smallest, bool *singular) const
  {
    PetscReal   largest;
    PetscScalar inverse = PetscScalar(0.0), own = PetscScalar(0.0);
    const int   row    = FindPivot(k, n, lane, &largest);
    const bool  active = k < n && lane < n;

    if (active) {
      *singular |= largest < smallest || largest == PetscReal(0.0);
      if (lane == 0) p[k] = row;
      if (row != k) Swap(k * LD + lane, row * LD + lane);
    }
    __syncwarp();
    if (active) {
      inverse = PetscScalar(1.0) / a[k * LD + k];
      own     = (lane == k ? PetscScalar(1.0) : a[k * LD + lane]) * inverse;
      f[lane] = a[lane * LD + k];
    }
    __syncwarp();
    if (active) {
      for (int i = 0; i < n; i++) {
        PetscScalar *entry = a + i * LD + lane;

        if (i == k) *entry = own;
        else *entry = (lane == k ? PetscScalar(0.0) : *entry) - f[i] * own;
      }
    }
    __syncwarp();
  }

  /* The inverse with its columns where the rows of the pivots came from. */
  __device__ void Permute(int n, int lane) const
  {
    if (lane < n)
      for (int k = n - 1; k >= 0; k--)
        if (p[k] != k) Swap(lane * LD + k, lane * LD + p[k]);
    __syncwarp();
  }
};

template <int LANES, typename Offset>
__global__ void __launch_bounds__(INVERT_THREADS) InvertKernel(const Offset *row_offsets, const int32_t *columns, const PetscScalar *values, DCSRPointBlocks blocks, PetscReal smallest, int *singular)
{
  constexpr int GROUPS = INVERT_THREADS / LANES;
  __shared__ __align__(16) PetscReal memory[GROUPS * LANES * (LANES + 2) * (sizeof(PetscScalar) / sizeof(PetscReal))]; // scalars that are complex have constructors
  __shared__ int                     pivots[INVERT_THREADS];
  const int                          group = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
  PetscScalar                       *own = (PetscScalar *)memory + group * LANES * (LANES + 2);
  const Elimination<LANES>           e   = {own, own + LANES * (LANES + 1), pivots + group * LANES};
  const PetscCount                   b   = (PetscCount)blockIdx.x * GROUPS + group;
  const Block                        block(blocks, (PetscInt)(b < blocks.num_blocks ? b : blocks.num_blocks - 1));
  const int                          n  = block.n;
  bool                               is = false;

  e.Load(row_offsets, columns, values, block.first, n, lane);
  for (int k = 0; k < blocks.max_size; k++) e.Step(k, n, lane, smallest, &is);
  e.Permute(n, lane);
  if (b >= blocks.num_blocks || lane >= n) return;
  for (int c = 0; c < n; c++) block.inverse[lane * block.row_stride + c * block.column_stride] = e.a[lane * (LANES + 1) + c];
  if (is && lane == 0) atomicMin(singular, (int)b);
}

template <int LANES>
PetscErrorCode LaunchInvert(DCSRView view, const DCSRPointBlocks *blocks, int *singular, cudaStream_t stream)
{
  const unsigned int grid     = (unsigned int)(((PetscCount)blocks->num_blocks * LANES + INVERT_THREADS - 1) / INVERT_THREADS);
  const PetscReal    smallest = blocks->size == 1 ? (PetscReal)PETSC_MACHINE_EPSILON : (PetscReal)0.0;

  PetscFunctionBegin;
  if (view.wide) InvertKernel<LANES><<<grid, INVERT_THREADS, 0, stream>>>((const int64_t *)view.row_offsets, view.columns, view.values, *blocks, smallest, singular);
  else InvertKernel<LANES><<<grid, INVERT_THREADS, 0, stream>>>((const int32_t *)view.row_offsets, view.columns, view.values, *blocks, smallest, singular);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fewest lanes that have a row each. */
PetscErrorCode Invert(DCSRView view, const DCSRPointBlocks *blocks, int *singular, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (blocks->max_size <= 2) PetscCall(LaunchInvert<2>(view, blocks, singular, stream));
  else if (blocks->max_size <= 4) PetscCall(LaunchInvert<4>(view, blocks, singular, stream));
  else if (blocks->max_size <= 8) PetscCall(LaunchInvert<8>(view, blocks, singular, stream));
  else if (blocks->max_size <= 16) PetscCall(LaunchInvert<16>(view, blocks, singular, stream));
  else PetscCall(LaunchInvert<32>(view, blocks, singular, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = alpha D r + beta x + gamma q, and with D^T */
struct Step {
  PetscScalar        alpha, beta, gamma;
  const PetscScalar *r, *x, *q;
  PetscScalar       *y;
  bool               transpose;

  __device__ __forceinline__ PetscScalar Rest(PetscCount i) const
  {
    PetscScalar sum(0.0);

    if (beta != PetscScalar(0.0)) sum = beta * x[i];
    if (gamma != PetscScalar(0.0)) sum += gamma * q[i];
    return sum;
  }
};

/* Blocks of one size, which the compiler knows unless SIZE is 0. A thread block has whole blocks and reads what they multiply before it writes, so that y may be r. */
template <int SIZE>
__global__ void __launch_bounds__(APPLY_THREADS) StepKernel(PetscInt num_rows, int given_size, const PetscScalar *inverses, Step step)
{
  WaitForPreviousKernel();
  __shared__ __align__(16) PetscReal memory[APPLY_THREADS * (sizeof(PetscScalar) / sizeof(PetscReal))];
  const int                          size = SIZE > 0 ? SIZE : given_size, rows = APPLY_THREADS / size * size, local = (int)threadIdx.x;
  const PetscCount                   i      = (PetscCount)blockIdx.x * rows + local;
  const bool                         active = local < rows && i < num_rows;
  PetscScalar                       *r      = (PetscScalar *)memory, rest(0.0), sum(0.0);

  if (active) {
    r[local] = step.r[i];
    rest     = step.Rest(i);
  }
  __syncthreads();
  if (!active) return;
  const int          c = local % size;
  const PetscScalar *d = step.transpose ? inverses + (PetscCount)c * num_rows + (i - c) : inverses + i;

#pragma unroll
  for (int k = 0; k < size; k++) sum += d[step.transpose ? (PetscCount)k : (PetscCount)k * num_rows] * r[local - c + k];
  step.y[i] = step.alpha * sum + rest;
}

/* Blocks that have sizes of their own. */
struct ApplyRow {
  DCSRPointBlocks    blocks;
  const PetscScalar *x;
  PetscScalar       *y;
  bool               transpose;

  __device__ void operator()(PetscCount i) const
  {
    const Block block(blocks, blocks.blocks[i]);
    const int   r = (int)(i - block.first);
    PetscScalar sum(0.0);

    for (int k = 0; k < block.n; k++) sum += block.inverse[transpose ? k * block.n + r : r * block.n + k] * x[block.first + k];
    y[i] = sum;
  }
};

__global__ void __launch_bounds__(APPLY_THREADS) ApplyKernel(ApplyRow apply)
{
  const PetscCount i = (PetscCount)blockIdx.x * APPLY_THREADS + threadIdx.x;

  if (i < apply.blocks.num_rows) apply(i);
}

PetscErrorCode LaunchStep(const DCSRPointBlocks *blocks, const Step &step, cudaStream_t stream)
{
  static void (*const kernels[])(PetscInt, int, const PetscScalar *, Step) = {StepKernel<0>, StepKernel<0>, StepKernel<2>, StepKernel<3>, StepKernel<4>, StepKernel<5>, StepKernel<6>};
  const int size = (int)blocks->size, rows = APPLY_THREADS / size * size;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRLaunchOverlapping(kernels[size <= 6 ? size : 0], ((PetscCount)blocks->num_rows + rows - 1) / rows, APPLY_THREADS, stream, blocks->num_rows, size, blocks->inverses, step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where blocks of these sizes begin, and their inverses, and the block of each row; all on the host. */
void SetPlaces(PetscInt num_blocks, const PetscInt sizes[], PetscInt starts[], PetscCount offsets[], PetscInt blocks[])
{
  starts[0]  = 0;
  offsets[0] = 0;
  for (PetscInt b = 0; b < num_blocks; b++) {
    starts[b + 1]  = starts[b] + sizes[b];
    offsets[b + 1] = offsets[b] + (PetscCount)sizes[b] * sizes[b];
    for (PetscInt i = starts[b]; i < starts[b + 1]; i++) blocks[i] = b;
  }
}

/* The arrays of blocks that have sizes of their own. */
PetscErrorCode CreatePlaces(const PetscInt sizes[], cudaStream_t stream, DCSRPointBlocks *blocks, PetscCount *num_entries)
{
  const PetscInt n = blocks->num_blocks, m = blocks->num_rows;
  PetscInt      *starts, *owners;
  PetscCount    *offsets;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &starts, n + 1, &offsets, m, &owners));
  SetPlaces(n, sizes, starts, offsets, owners);
  *num_entries = offsets[n];
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n + 1, "first rows of point blocks", stream, &blocks->starts));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n + 1, "places of point blocks", stream, &blocks->offsets));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(m, "point blocks of rows", stream, &blocks->blocks));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(blocks->starts, starts, (size_t)(n + 1) * sizeof(*starts), stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(blocks->offsets, offsets, (size_t)(n + 1) * sizeof(*offsets), stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(blocks->blocks, owners, (size_t)m * sizeof(*owners), stream));
cleanup:
  PetscCall(PetscFree3(starts, offsets, owners));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DCSRPointBlocksCreate(PetscInt num_blocks, PetscInt size, const PetscInt sizes[], cudaStream_t stream, DCSRPointBlocks *blocks)
{
  PetscCount     num_entries = (PetscCount)num_blocks * size * size;
  PetscErrorCode ierr        = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(blocks, 1));
  blocks->num_blocks = num_blocks;
  blocks->size       = sizes == NULL ? size : 0;
  blocks->max_size   = blocks->size;
  blocks->num_rows   = num_blocks * blocks->size;
  if (sizes != NULL) {
    for (PetscInt b = 0; b < num_blocks; b++) {
      blocks->max_size = PetscMax(blocks->max_size, sizes[b]);
      blocks->num_rows += sizes[b];
    }
  }
  PetscCheck(blocks->max_size <= DCSR_POINT_BLOCK_MAX, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Point blocks of %" PetscInt_FMT " rows: %d is the most", blocks->max_size, DCSR_POINT_BLOCK_MAX);
  if (blocks->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (sizes != NULL) PetscCallGoto(ierr, failed, CreatePlaces(sizes, stream, blocks, &num_entries));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_entries, "inverses of point blocks", stream, &blocks->inverses));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRPointBlocksDestroy(blocks, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRPointBlocksInvert(DCSRView view, const DCSRPointBlocks *blocks, cudaStream_t stream, PetscInt *singular)
{
  int           *device = NULL, host = PETSC_INT32_MAX;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *singular = blocks->num_blocks;
  if (blocks->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(view.row_offsets != NULL && (view.values != NULL || view.num_nonzeros == 0) && view.num_rows == blocks->num_rows, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Blocks of %" PetscInt_FMT " rows of a matrix that has %" PetscInt_FMT ", compact and with values", blocks->num_rows, view.num_rows);
  PetscCall(PetscSparseCUDAMalloc(1, "first singular point block", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0x7f, sizeof(*device), stream)); // more than any block's number but the last ones of 2^31, of which there are never so many
  PetscCallGoto(ierr, cleanup, Invert(view, blocks, device, stream));
  PetscCallGoto(ierr, cleanup, DCSRReadNumbers(&host, device, sizeof(host), stream));
  *singular = (PetscInt)PetscMin((PetscCount)host, (PetscCount)blocks->num_blocks);
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRPointBlocksApply(const DCSRPointBlocks *blocks, PetscBool transpose, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  const Step   step = {1.0, 0.0, 0.0, x, NULL, NULL, y, transpose == PETSC_TRUE};
  unsigned int grid;

  PetscFunctionBegin;
  if (blocks->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (blocks->size > 0) {
    PetscCall(LaunchStep(blocks, step, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  grid = (unsigned int)(((PetscCount)blocks->num_rows + APPLY_THREADS - 1) / APPLY_THREADS);
  ApplyKernel<<<grid, APPLY_THREADS, 0, stream>>>(ApplyRow{*blocks, x, y, transpose == PETSC_TRUE});
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRPointBlocksStep(const DCSRPointBlocks *blocks, PetscScalar alpha, const PetscScalar r[], PetscScalar beta, const PetscScalar x[], PetscScalar gamma, const PetscScalar q[],
                                   PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (blocks->num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(blocks->size > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A step with blocks that have sizes of their own: apply them, and add up");
  PetscCall(LaunchStep(blocks, Step{alpha, beta, gamma, r, x, q, y, false}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRPointBlocksDestroy(DCSRPointBlocks *blocks, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&blocks->starts, stream));
  PetscCall(PetscSparseCUDAFree(&blocks->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&blocks->blocks, stream));
  PetscCall(PetscSparseCUDAFree(&blocks->inverses, stream));
  PetscCall(PetscArrayzero(blocks, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
