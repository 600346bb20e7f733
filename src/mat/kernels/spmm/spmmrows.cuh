#pragma once
/*
  Sparse times dense for rows that are not long: a group of LANES x SLOTS lanes takes a row. A lane has NUM vectors of VECTOR columns of the tile in registers. The lanes of a slot
  read one entry and its row of X together. The slots read different entries, and are summed at the end. Sums go to Y through shared memory, so that columns are written in long chunks.
*/
#include "spmmimpl.h"
#include "../spmv/spmvdevice.cuh"

#define SPMM_THREADS 256

/* A view and a tile with the offset width known. */
template <typename Offset>
struct SpMMArgs {
  PetscInt           num_rows;
  Offset             long_size;
  const Offset      *row_offsets;
  const int32_t     *columns;
  const PetscScalar *values;
  const PetscScalar *x;
  size_t             ldx;
  PetscScalar       *y;
  size_t             ldy;
  int                num_columns; // of the tile, in use
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

/* COUNT entries of a row, SLOTS apart: all loads of a kind before what waits for them. */
template <int COUNT, int SLOTS, int PER_LANE, typename Offset, typename Reader>
__device__ __forceinline__ void SpMMAddEntries(const SpMMArgs<Offset> &a, const Reader &reader, Offset k, PetscScalar *sum)
{
  int32_t     column[COUNT];
  PetscScalar value[COUNT], x[COUNT][PER_LANE];

#pragma unroll
  for (int u = 0; u < COUNT; u++) SpMVLoad<SPMV_LOAD_CACHED, 1>(a.columns + k + u * SLOTS, column + u);
#pragma unroll
  for (int u = 0; u < COUNT; u++) SpMVLoad<SPMV_LOAD_CACHED, 1>(a.values + k + u * SLOTS, value + u);
#pragma unroll
  for (int u = 0; u < COUNT; u++) reader.Read(column[u], x[u]);
#pragma unroll
  for (int u = 0; u < COUNT; u++)
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) sum[c] += value[u] * x[u][c];
}

/* The entries that a slot takes of a row. */
template <int SLOTS, int PER_LANE, typename Offset, typename Reader>
__device__ __forceinline__ void SpMMSumRow(const SpMMArgs<Offset> &a, const Reader &reader, Offset k, Offset end, PetscScalar *sum)
{
  constexpr int count = PER_LANE * (int)sizeof(PetscScalar) > 16 ? 2 : 4;

  for (; k + (count - 1) * SLOTS < end; k += count * SLOTS) SpMMAddEntries<count, SLOTS, PER_LANE>(a, reader, k, sum);
  for (; k < end; k += SLOTS) SpMMAddEntries<1, SLOTS, PER_LANE>(a, reader, k, sum);
}

/* Sums of all rows of the thread block, column after column, to Y. */
template <int WIDTH, int ROWS, typename Offset>
__device__ __forceinline__ void SpMMWriteRows(const SpMMArgs<Offset> &a, PetscInt first, const PetscScalar *sums)
{
  for (int e = threadIdx.x; e < WIDTH * ROWS; e += SPMM_THREADS) {
    const int r = e % ROWS, c = e / ROWS;

    if (r < a.num_rows - first && c < a.num_columns) a.y[(size_t)c * a.ldy + first + r] = sums[c * (ROWS + 1) + r];
  }
}

/* Long rows get zeros here and are written afterwards. */
template <typename Offset, int LANES, int SLOTS, int NUM, int VECTOR, bool STAGED>
__global__ static void __launch_bounds__(SPMM_THREADS) SpMMRowsKernel(SpMMArgs<Offset> a)
{
  constexpr int per_lane = NUM * VECTOR, width = LANES * per_lane, rows = SPMM_THREADS / (LANES * SLOTS);
  __shared__ __align__(16) unsigned char scratch[sizeof(PetscScalar) * width * (rows + 1)];
  PetscScalar                           *sums  = (PetscScalar *)scratch, sum[per_lane];
  const int                              group = threadIdx.x / (LANES * SLOTS), slot = threadIdx.x % (LANES * SLOTS) / LANES, lane = threadIdx.x % LANES;
  const PetscInt                         first = (PetscInt)blockIdx.x * rows;

#pragma unroll
  for (int c = 0; c < per_lane; c++) sum[c] = PetscScalar(0.0);
  if (group < a.num_rows - first) {
    const SpMMReader<LANES, NUM, VECTOR, STAGED> reader(a, lane);
    const Offset                                 begin = a.row_offsets[first + group], end = a.row_offsets[first + group + 1];

    if (end - begin <= a.long_size) SpMMSumRow<SLOTS, per_lane>(a, reader, (Offset)(begin + slot), end, sum);
  }
#pragma unroll
  for (int d = LANES * SLOTS / 2; d >= LANES; d /= 2)
#pragma unroll
    for (int c = 0; c < per_lane; c++) sum[c] += SpMVShuffle(sum[c], [d](unsigned int w) { return __shfl_xor_sync(SPMV_FULL_MASK, w, d); });
  if (slot == 0) {
#pragma unroll
    for (int c = 0; c < per_lane; c++) sums[((c / VECTOR * LANES + lane) * VECTOR + c % VECTOR) * (rows + 1) + group] = sum[c];
  }
  __syncthreads();
  SpMMWriteRows<width, rows>(a, first, sums);
}

template <typename Offset, int LANES, int SLOTS, int NUM, int VECTOR, bool STAGED>
static PetscErrorCode SpMMRowsLaunch(const SpMMArgs<Offset> &a, cudaStream_t stream)
{
  constexpr int rows = SPMM_THREADS / (LANES * SLOTS);

  PetscFunctionBegin;
  SpMMRowsKernel<Offset, LANES, SLOTS, NUM, VECTOR, STAGED><<<(unsigned int)((a.num_rows - 1) / rows + 1), SPMM_THREADS, 0, stream>>>(a);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, int WIDTH, int SLOTS, bool STAGED>
static PetscErrorCode SpMMRowsOfSlots(const SpMMArgs<Offset> &a, cudaStream_t stream)
{
  constexpr int lanes = STAGED ? SPMM_STAGED_LANES(WIDTH) : SPMM_DIRECT_LANES(WIDTH), vector = STAGED ? SPMM_VECTOR(WIDTH) : 1;

  PetscFunctionBegin;
  if constexpr (lanes * SLOTS <= 32) PetscCall((SpMMRowsLaunch<Offset, lanes, SLOTS, WIDTH / lanes / vector, vector, STAGED>(a, stream)));
  else PetscCall((SpMMRowsOfSlots<Offset, WIDTH, SLOTS / 2, STAGED>(a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, int WIDTH, bool STAGED>
static PetscErrorCode SpMMRowsOfWidth(int slots, const SpMMArgs<Offset> &a, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (slots == 1) PetscCall((SpMMRowsOfSlots<Offset, WIDTH, 1, STAGED>(a, stream)));
  else if (slots == 2) PetscCall((SpMMRowsOfSlots<Offset, WIDTH, 2, STAGED>(a, stream)));
  else if (slots == 4) PetscCall((SpMMRowsOfSlots<Offset, WIDTH, 4, STAGED>(a, stream)));
  else PetscCall((SpMMRowsOfSlots<Offset, WIDTH, 8, STAGED>(a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, bool STAGED>
static PetscErrorCode SpMMRowsOfOffset(const DCSRView &view, PetscCount long_size, const SpMMTile *t, cudaStream_t stream)
{
  const SpMMArgs<Offset> a = {view.num_rows, (Offset)long_size, (const Offset *)view.row_offsets, view.columns, view.values, t->x, (size_t)t->ldx, t->y, (size_t)t->ldy, t->columns};

  PetscFunctionBegin;
  if (t->width == 2) PetscCall((SpMMRowsOfWidth<Offset, 2, STAGED>(t->slots, a, stream)));
  else if (t->width == 4) PetscCall((SpMMRowsOfWidth<Offset, 4, STAGED>(t->slots, a, stream)));
  else if (t->width == 8) PetscCall((SpMMRowsOfWidth<Offset, 8, STAGED>(t->slots, a, stream)));
  else if (t->width == 16) PetscCall((SpMMRowsOfWidth<Offset, 16, STAGED>(t->slots, a, stream)));
  else if constexpr (STAGED) PetscCall((SpMMRowsOfWidth<Offset, 32, STAGED>(t->slots, a, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool STAGED>
static PetscErrorCode SpMMRows(const DCSRView &view, PetscCount long_size, const SpMMTile *tile, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.wide) PetscCall((SpMMRowsOfOffset<int64_t, STAGED>(view, long_size, tile, stream)));
  else PetscCall((SpMMRowsOfOffset<int32_t, STAGED>(view, long_size, tile, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
