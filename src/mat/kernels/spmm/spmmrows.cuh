#pragma once
/*
  Sparse times dense for rows that are not long: a group of LANES x SLOTS lanes takes a row. A lane has NUM vectors of VECTOR columns of the tile in registers. The lanes of a slot
  read one entry and its row of X together. The slots read different entries, and are summed at the end. Sums go to Y through shared memory, so that columns are written in long chunks.

  Of matrices that consist of full blocks of BR rows (blocklist.h) a group takes BR rows at once: what is read of X serves all of them, and a column of the list serves a block. Slots take the same entries
  in the same order, so that sums have the bits of those of single rows.
*/
#include "spmmimpl.h"
#include "../spmv/spmvdevice.cuh"

/* Threads of a thread block. Rows of blocks take more registers, and more shared memory for their sums. */
#define SPMM_THREADS       256
#define SPMM_BLOCK_ROWS(X) X(2) X(3) X(4) X(5) X(6)

template <int BR>
constexpr int SpMMThreads = BR == 1   ? SPMM_THREADS
                            : BR <= 3 ? SPMM_THREADS / 2
                                      : SPMM_THREADS / 4;

/* A view and a tile with the offset width known; of matrices of full blocks offsets, columns and rows are those of the list. */
template <typename Offset>
struct SpMMArgs {
  PetscInt           num_rows;
  Offset             long_size; // in entries of the matrix
  const Offset      *row_offsets;
  const int32_t     *columns;
  const PetscScalar *values;
  const PetscScalar *x;
  size_t             ldx;
  PetscScalar       *y;
  size_t             ldy;
  int                num_columns;   // of the tile, in use
  int                slots;         // the kernel's, which for blocks is no template argument
  int                block_columns; // columns of a block
};

/* The entries of a row that is not long, from begin to end, numbered as those of the matrix. */
template <typename Offset>
struct SpMMRow {
  const SpMMArgs<Offset> &a;
  Offset                  begin, end;

  __device__ __forceinline__ SpMMRow(const SpMMArgs<Offset> &a, PetscInt row) : a(a), begin(a.row_offsets[row]), end(a.row_offsets[row + 1])
  {
    if (end - begin > a.long_size) end = begin;
  }
  __device__ __forceinline__ void LoadColumn(Offset k, int32_t *column) const { SpMVLoad<SPMV_LOAD_CACHED, 1>(a.columns + k, column); }
  __device__ __forceinline__ void LoadValues(Offset k, PetscScalar *value) const { SpMVLoad<SPMV_LOAD_CACHED, 1>(a.values + k, value); }
};

/* The same of BR rows that consist of full blocks, numbered in each row. */
template <int BR>
struct SpMMRowOfBlocks {
  const int32_t     *columns;
  const PetscScalar *values;
  int                begin, end, block_columns;
  unsigned int       reciprocal; // of block_columns, at least 2, rounded up; 2^32 is 1

  __device__ __forceinline__ SpMMRowOfBlocks(const SpMMArgs<int32_t> &a, PetscInt row) : begin(0), block_columns(a.block_columns), reciprocal(0xffffffffu / (unsigned int)a.block_columns + 1)
  {
    const int32_t    first = a.row_offsets[row];
    const PetscCount n     = (PetscCount)(a.row_offsets[row + 1] - first) * block_columns;

    columns = a.columns + first;
    values  = a.values + (PetscCount)first * (BR * block_columns);
    end     = n <= a.long_size ? (int)n : 0;
  }
  __device__ __forceinline__ void LoadColumn(int k, int32_t *column) const
  {
    const int block = (int)__umulhi((unsigned int)k, reciprocal);

    SpMVLoad<SPMV_LOAD_CACHED, 1>(columns + block, column);
    *column = *column * block_columns + (k - block * block_columns);
  }
  __device__ __forceinline__ void LoadValues(int k, PetscScalar *value) const
  {
#pragma unroll
    for (int r = 0; r < BR; r++) SpMVLoad<SPMV_LOAD_CACHED, 1>(values + (PetscCount)r * end + k, value + r);
  }
};

/* The part of X that a lane reads. */
template <int LANES, int NUM, int VECTOR, bool STAGED>
struct SpMMReader {
  const PetscScalar *x[STAGED ? 1 : NUM];

  template <typename Offset>
  __device__ __forceinline__ SpMMReader(const SpMMArgs<Offset> &a, int lane)
  {
    if constexpr (STAGED) x[0] = a.x + lane * VECTOR;
    else {
#pragma unroll
      for (int j = 0; j < NUM; j++) { // a column that is not there reads the last one instead, and is never written
        const int c = j * LANES + lane;

        x[j] = a.x + (size_t)(c < a.num_columns ? c : a.num_columns - 1) * a.ldx;
      }
    }
  }

  __device__ __forceinline__ void Read(int32_t row, PetscScalar *v) const
  {
#pragma unroll
    for (int j = 0; j < NUM; j++) {
      if constexpr (STAGED) SpMVLoad<SPMV_LOAD_CACHED, VECTOR>(x[0] + (size_t)row * (LANES * NUM * VECTOR) + j * LANES * VECTOR, v + j * VECTOR);
      else SpMVLoad<SPMV_LOAD_CACHED, 1>(x[j] + row, v + j);
    }
  }
};

/* COUNT entries of a row, slots apart: all loads of a kind before what waits for them. */
template <int COUNT, int BR, int PER_LANE, typename Row, typename Index, typename Reader>
__device__ __forceinline__ void SpMMAddEntries(const Row &row, const Reader &reader, Index k, int slots, PetscScalar sum[BR][PER_LANE])
{
  int32_t     column[COUNT];
  PetscScalar value[COUNT][BR], x[COUNT][PER_LANE];

#pragma unroll
  for (int u = 0; u < COUNT; u++) row.LoadColumn(k + u * slots, column + u);
#pragma unroll
  for (int u = 0; u < COUNT; u++) row.LoadValues(k + u * slots, value[u]);
#pragma unroll
  for (int u = 0; u < COUNT; u++) reader.Read(column[u], x[u]);
#pragma unroll
  for (int u = 0; u < COUNT; u++)
#pragma unroll
    for (int r = 0; r < BR; r++)
#pragma unroll
      for (int c = 0; c < PER_LANE; c++) sum[r][c] += value[u][r] * x[u][c];
}

/* The entries that a slot takes of a row, from k on; fewer at a time when COUNT are not left. */
template <int COUNT, int BR, int PER_LANE, typename Row, typename Index, typename Reader>
__device__ __forceinline__ void SpMMSumRow(const Row &row, const Reader &reader, Index k, int slots, PetscScalar sum[BR][PER_LANE])
{
  for (; k + (COUNT - 1) * slots < row.end; k += COUNT * slots) SpMMAddEntries<COUNT, BR, PER_LANE>(row, reader, k, slots, sum);
  if constexpr (COUNT > 1) SpMMSumRow<BR == 1 ? 1 : COUNT / 2, BR, PER_LANE>(row, reader, k, slots, sum);
}

/* Sums of all rows of the thread block, column after column, to Y. */
template <int WIDTH, typename Offset>
__device__ __forceinline__ void SpMMWriteRows(const SpMMArgs<Offset> &a, PetscCount first, PetscCount end, int rows, int threads, const PetscScalar *sums)
{
  for (int e = threadIdx.x; e < WIDTH * rows; e += threads) {
    const int r = e % rows, c = e / rows;

    if (first + r < end && c < a.num_columns) a.y[(size_t)c * a.ldy + first + r] = sums[c * (rows + 1) + r];
  }
}

/* Rows of a thread block; each has a sum for every column of the tile in shared memory. */
template <int BR, int LANES>
__host__ __device__ constexpr int SpMMRowsOfThreads(int slots)
{
  return BR * (SpMMThreads<BR> / (LANES * slots));
}

/* Long rows get zeros here and are written afterwards. SLOTS 0: those of a. */
template <typename Offset, int BR, int LANES, int SLOTS, int NUM, int VECTOR, bool STAGED>
__global__ static void __launch_bounds__(SpMMThreads<BR>, BR == 1 ? 0 : 1) SpMMRowsKernel(SpMMArgs<Offset> a)
{
  extern __shared__ __align__(16) unsigned char scratch[];
  constexpr int                                 per_lane = NUM * VECTOR, width = LANES * per_lane, count = per_lane * (int)sizeof(PetscScalar) > 16 || BR > 3 ? 2 : 4;
  const int                                     slots = SLOTS > 0 ? SLOTS : a.slots, rows = SpMMRowsOfThreads<BR, LANES>(slots);
  PetscScalar                                  *sums  = (PetscScalar *)scratch, sum[BR][per_lane];
  const int                                     group = threadIdx.x / (LANES * slots), slot = threadIdx.x % (LANES * slots) / LANES, lane = threadIdx.x % LANES;
  const PetscInt                                first = (PetscInt)blockIdx.x * (rows / BR);

#pragma unroll
  for (int r = 0; r < BR; r++)
#pragma unroll
    for (int c = 0; c < per_lane; c++) sum[r][c] = PetscScalar(0.0);
  if (group < a.num_rows - first) {
    const SpMMReader<LANES, NUM, VECTOR, STAGED>                            reader(a, lane);
    const std::conditional_t<BR == 1, SpMMRow<Offset>, SpMMRowOfBlocks<BR>> row(a, first + group);

    SpMMSumRow<count, BR, per_lane>(row, reader, row.begin + slot, slots, sum);
  }
#pragma unroll
  for (int d = 16; d >= LANES; d /= 2) // of the distances between slots
    if (d < LANES * slots)
#pragma unroll
      for (int r = 0; r < BR; r++)
#pragma unroll
        for (int c = 0; c < per_lane; c++) sum[r][c] += SpMVShuffle(sum[r][c], [d](unsigned int w) { return __shfl_xor_sync(SPMV_FULL_MASK, w, d); });
  if (slot == 0) {
#pragma unroll
    for (int r = 0; r < BR; r++)
#pragma unroll
      for (int c = 0; c < per_lane; c++) sums[((c / VECTOR * LANES + lane) * VECTOR + c % VECTOR) * (rows + 1) + group * BR + r] = sum[r][c];
  }
  __syncthreads();
  SpMMWriteRows<width>(a, (PetscCount)first * BR, (PetscCount)a.num_rows * BR, rows, SpMMThreads<BR>, sums);
}

/* The kernel with so many slots, or as many as a warp holds. */
template <typename Offset, int BR, int WIDTH, int SLOTS, bool STAGED>
static PetscErrorCode SpMMRowsOfSlots(SpMMArgs<Offset> a, cudaStream_t stream)
{
  constexpr int lanes = STAGED ? SPMM_STAGED_LANES(WIDTH) : SPMM_DIRECT_LANES(WIDTH), vector = STAGED ? SPMM_VECTOR(WIDTH) : 1;

  PetscFunctionBegin;
  if constexpr (lanes * SLOTS <= 32) {
    const int slots = SLOTS > 0 ? SLOTS : PetscMin(a.slots, 32 / lanes), rows = SpMMRowsOfThreads<BR, lanes>(slots);

    a.slots = slots;
    SpMMRowsKernel<Offset, BR, lanes, SLOTS, WIDTH / lanes / vector, vector, STAGED>
      <<<(unsigned int)((a.num_rows - 1) / (rows / BR) + 1), SpMMThreads<BR>, (size_t)WIDTH *(size_t)(rows + 1) * sizeof(PetscScalar), stream>>>(a);
    PetscCallCUDA(cudaGetLastError());
  } else PetscCall((SpMMRowsOfSlots<Offset, BR, WIDTH, SLOTS / 2, STAGED>(a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, int BR, int WIDTH, bool STAGED>
static PetscErrorCode SpMMRowsOfWidth(const SpMMArgs<Offset> &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if constexpr (BR > 1) PetscCall((SpMMRowsOfSlots<Offset, BR, WIDTH, 0, STAGED>(a, stream)));
  else if (a.slots == 1) PetscCall((SpMMRowsOfSlots<Offset, BR, WIDTH, 1, STAGED>(a, stream)));
  else if (a.slots == 2) PetscCall((SpMMRowsOfSlots<Offset, BR, WIDTH, 2, STAGED>(a, stream)));
  else if (a.slots == 4) PetscCall((SpMMRowsOfSlots<Offset, BR, WIDTH, 4, STAGED>(a, stream)));
  else PetscCall((SpMMRowsOfSlots<Offset, BR, WIDTH, 8, STAGED>(a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a: of a view, or of a list of blocks of BR rows and so many columns; values are those of the matrix in both. */
template <typename Offset, int BR, bool STAGED>
static PetscErrorCode SpMMRowsOf(DCSRView a, int block_columns, const PetscScalar values[], PetscCount long_size, const SpMMTile *t, cudaStream_t stream)
{
  const SpMMArgs<Offset> args = {a.num_rows, (Offset)long_size, (const Offset *)a.row_offsets, a.columns, values, t->x, (size_t)t->ldx, t->y, (size_t)t->ldy, t->columns, t->slots, block_columns};

  PetscFunctionBegin;
  if (t->width == 2) PetscCall((SpMMRowsOfWidth<Offset, BR, 2, STAGED>(args, stream)));
  else if (t->width == 4) PetscCall((SpMMRowsOfWidth<Offset, BR, 4, STAGED>(args, stream)));
  else if (t->width == 8) PetscCall((SpMMRowsOfWidth<Offset, BR, 8, STAGED>(args, stream)));
  else if (t->width == 16) PetscCall((SpMMRowsOfWidth<Offset, BR, 16, STAGED>(args, stream)));
  else if constexpr (STAGED) PetscCall((SpMMRowsOfWidth<Offset, BR, 32, STAGED>(args, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool STAGED>
static PetscErrorCode SpMMRows(DCSRView view, DCSRBlockList list, PetscCount long_size, const SpMMTile *tile, cudaStream_t stream)
{
  PetscFunctionBegin;
#define SPMM_ROWS_OF_BLOCKS(br) \
  case br: \
    PetscCall((SpMMRowsOf<int32_t, br, STAGED>(list->view, list->columns, view.values, long_size, tile, stream))); \
    break;
  switch (list != NULL ? list->rows : 1) {
    SPMM_BLOCK_ROWS(SPMM_ROWS_OF_BLOCKS)
  default:
    if (view.wide) PetscCall((SpMMRowsOf<int64_t, 1, STAGED>(view, 1, view.values, long_size, tile, stream)));
    else PetscCall((SpMMRowsOf<int32_t, 1, STAGED>(view, 1, view.values, long_size, tile, stream)));
  }
#undef SPMM_ROWS_OF_BLOCKS
  PetscFunctionReturn(PETSC_SUCCESS);
}
