/* Features of a matrix, made of counts: of the sizes of all rows, and of the entries of a sample of them. */
#include "selectfeatures.h"
#include "../../src/mat/kernels/hisparse/diagonalsimpl.h"

#define FEATURES_THREADS 256
#define FEATURES_WARPS   (FEATURES_THREADS / 32)
#define FEATURES_FULL    0xffffffffu

namespace
{

typedef unsigned long long Count;

__device__ __forceinline__ Count WarpSum(Count n)
{
  for (int delta = 16; delta > 0; delta /= 2) n += __shfl_down_sync(FEATURES_FULL, n, delta);
  return n; // of the first lane
}

__device__ __forceinline__ Count WarpMin(Count n)
{
  for (int delta = 16; delta > 0; delta /= 2) n = min(n, __shfl_down_sync(FEATURES_FULL, n, delta));
  return n;
}

__device__ __forceinline__ Count WarpMax(Count n)
{
  for (int delta = 16; delta > 0; delta /= 2) n = max(n, __shfl_down_sync(FEATURES_FULL, n, delta));
  return n;
}

/* Whole warps call these. */
__device__ __forceinline__ void AddTo(Count *sum, Count n)
{
  n = WarpSum(n);
  if (threadIdx.x % 32 == 0 && n > 0) atomicAdd(sum, n);
}

__device__ __forceinline__ void MinTo(Count *least, Count n)
{
  n = WarpMin(n);
  if (threadIdx.x % 32 == 0 && n < ~0ull) atomicMin(least, n);
}

__device__ __forceinline__ void MaxTo(Count *most, Count n)
{
  n = WarpMax(n);
  if (threadIdx.x % 32 == 0 && n > 0) atomicMax(most, n);
}

/* Sizes of all rows. */
template <typename Offset>
__global__ void __launch_bounds__(FEATURES_THREADS) FeaturesRowsKernel(const Offset *row_offsets, PetscInt num_rows, SelectFeatureCounts *counts)
{
  Count least = ~0ull, most = 0, squares = 0, empty = 0;

  for (PetscCount r = (PetscCount)blockIdx.x * FEATURES_THREADS + threadIdx.x; r < num_rows; r += (PetscCount)gridDim.x * FEATURES_THREADS) {
    const Count size = (Count)(row_offsets[r + 1] - row_offsets[r]);

    least = min(least, size);
    most  = max(most, size);
    squares += size * size;
    empty += size == 0;
  }
  MinTo(&counts->min_row, least);
  MaxTo(&counts->max_row, most);
  AddTo(&counts->squares, squares);
  AddTo(&counts->empty, empty);
}

/* Whether a column is among n ascending ones. */
__device__ __forceinline__ bool HasColumn(const int32_t *columns, int n, int32_t column)
{
  int begin = 0, end = n;

  while (begin < end) {
    const int middle = (begin + end) / 2;

    if (columns[middle] < column) begin = middle + 1;
    else end = middle;
  }
  return begin < n && columns[begin] == column;
}

/* What a lane counts of runs. */
struct Runs {
  Count runs, squares, shortest, longest;

  __device__ void Add(int length)
  {
    runs++;
    squares += (Count)length * (Count)length;
    shortest = min(shortest, (Count)length);
    longest  = max(longest, (Count)length);
  }
};

/*
  The runs of a row, 32 entries at a time. The lane where a run starts knows its length when the next one starts among the same entries; the last run stays open, and the first lane ends it. Every lane
  of the warp calls this with the same row.
*/
__device__ __forceinline__ void CountRuns(const int32_t *columns, int n, Runs *runs)
{
  const int lane = threadIdx.x % 32;
  int       open = 0; // length so far of the run that has not ended; the same in all lanes

  for (int base = 0; base < n; base += 32) {
    const int          k = base + lane, here = min(32, n - base);
    const bool         starts = k < n && (k == 0 || columns[k - 1] != columns[k] - 1);
    const unsigned int all    = __ballot_sync(FEATURES_FULL, starts);

    if (all == 0) {
      open += here;
      continue;
    }
    if (lane == 0 && open + __ffs(all) - 1 > 0) runs->Add(open + __ffs(all) - 1);
    if (starts) {
      const unsigned int later = lane < 31 ? all >> (lane + 1) : 0;

      if (later) runs->Add(__ffs(later));
    }
    open = here - (31 - __clz(all));
  }
  if (lane == 0 && open > 0) runs->Add(open);
}

/* A thread block takes a slice of rows, a warp a row. */
template <typename Offset>
__global__ void __launch_bounds__(FEATURES_THREADS) FeaturesEntriesKernel(const Offset *row_offsets, const int32_t *columns, PetscInt num_rows, PetscCount num_slices, SelectFeatureCounts *counts)
{
  const PetscCount first = (PetscCount)blockIdx.x * num_slices / gridDim.x * FEATURES_SLICE_ROWS;
  const int        rows = num_rows - first < FEATURES_SLICE_ROWS ? (int)(num_rows - first) : FEATURES_SLICE_ROWS, lane = threadIdx.x % 32;
  Runs             runs    = {0, 0, ~0ull, 0}; // of this lane
  Count            entries = 0, row_squares = 0, least = ~0ull, most = 0, similar = 0, compared = 0, distance = 0;
  __shared__ Count first_column, last_column;

  if (threadIdx.x == 0) {
    first_column = ~0ull;
    last_column  = 0;
  }
  __syncthreads();
  for (int i = threadIdx.x / 32; i < rows; i += FEATURES_WARPS) {
    const Offset   begin = row_offsets[first + i], size = row_offsets[first + i + 1] - begin;
    const int      n       = size < FEATURES_LONG ? (int)size : FEATURES_LONG;
    const Count    before  = runs.runs;
    const Offset   above   = i > 0 ? row_offsets[first + i - 1] : begin; // the row before, without entries for the first row of a slice
    const int      n_above = begin - above < FEATURES_LONG ? (int)(begin - above) : FEATURES_LONG;
    const int32_t *mine    = columns + begin;
    Count          in_row;

    CountRuns(mine, n, &runs);
    in_row = __shfl_sync(FEATURES_FULL, WarpSum(runs.runs - before), 0);
    if (lane == 0) {
      row_squares += in_row * in_row;
      least = min(least, in_row);
      most  = max(most, in_row);
      entries += n;
      if (i > 0) compared += n;
      if (n > 0) {
        atomicMin(&first_column, (Count)mine[0]);
        atomicMax(&last_column, (Count)mine[size - 1] + 1);
      }
    }
    for (int k = lane; k < n; k += 32) {
      const PetscCount away = (PetscCount)mine[k] - (first + i);

      distance += (Count)(away < 0 ? -away : away);
      if (n_above > 0) similar += HasColumn(columns + above, n_above, mine[k]);
    }
    __syncwarp();
  }
  AddTo(&counts->entries, entries);
  AddTo(&counts->runs, runs.runs);
  AddTo(&counts->run_squares, row_squares);
  MinTo(&counts->min_runs, least);
  MaxTo(&counts->max_runs, most);
  AddTo(&counts->length_squares, runs.squares);
  MinTo(&counts->min_run, runs.shortest);
  MaxTo(&counts->max_run, runs.longest);
  AddTo(&counts->similar, similar);
  AddTo(&counts->compared, compared);
  AddTo(&counts->distance, distance);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&counts->slices, 1ull);
    atomicAdd(&counts->rows, (Count)rows);
    if (last_column > 0) atomicAdd(&counts->spread, last_column - first_column);
  }
}

template <typename Offset>
PetscErrorCode Launch(DCSRView csr, SelectFeatureCounts *counts, cudaStream_t stream)
{
  const PetscCount num_slices = ((PetscCount)csr.num_rows + FEATURES_SLICE_ROWS - 1) / FEATURES_SLICE_ROWS;
  const PetscCount blocks     = ((PetscCount)csr.num_rows + FEATURES_THREADS - 1) / FEATURES_THREADS;

  PetscFunctionBegin;
  FeaturesRowsKernel<<<(unsigned int)PetscMin(blocks, (PetscCount)FEATURES_SLICES), FEATURES_THREADS, 0, stream>>>((const Offset *)csr.row_offsets, csr.num_rows, counts);
  PetscCallCUDA(cudaGetLastError());
  if (csr.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  FeaturesEntriesKernel<<<(unsigned int)PetscMin(num_slices, (PetscCount)FEATURES_SLICES), FEATURES_THREADS, 0, stream>>>((const Offset *)csr.row_offsets, csr.columns, csr.num_rows, num_slices,
                                                                                                                          counts);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SelectFeaturesCount - Counts sizes of rows, and entries of a sample

  Input Parameters:
+ csr    - compact, columns of a row sorted, at least one row
- stream - synchronizes it

  Output Parameter:
. counts - on the host; sums of squares of more than 2^64 wrap around

  Errors: PETSC_ERR_MEM.

  Cost: a read of the row offsets; of at most 131072 rows the first 1024 columns, and a search in the row before for each.
*/
PetscErrorCode SelectFeaturesCount(DCSRView csr, cudaStream_t stream, SelectFeatureCounts *counts)
{
  SelectFeatureCounts *device = NULL;
  PetscErrorCode       ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(counts, 1));
  counts->min_row = counts->min_runs = counts->min_run = ~0ull;
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc(1, "counts of features", stream, &device));
  PetscCallGoto(ierr, done, PetscSparseCUDACopyToDevice(device, counts, sizeof(*counts), stream));
  if (csr.wide) PetscCallGoto(ierr, done, Launch<int64_t>(csr, device, stream));
  else PetscCallGoto(ierr, done, Launch<int32_t>(csr, device, stream));
  PetscCallCUDAGoto(ierr, done, cudaMemcpyAsync(counts, device, sizeof(*counts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, done, cudaStreamSynchronize(stream));
done:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SELECT_FEATURE_NAME(name, text) text,
const char *const SelectFeatureNames[SELECT_NUM_FEATURES] = {SELECT_FEATURES(SELECT_FEATURE_NAME)};

/* Standard deviation of n numbers by their sum and the sum of their squares. */
static double Deviation(double n, double sum, double squares)
{
  const double mean = n > 0 ? sum / n : 0;

  return n > 0 ? PetscSqrtReal((PetscReal)PetscMax(squares / n - mean * mean, 0.0)) : 0;
}

static double Share(unsigned long long part, unsigned long long all)
{
  return all > 0 ? (double)part / (double)all : 0;
}

/* Sizes of rows. */
static void SetRows(DCSRView csr, const SelectFeatureCounts *c, double f[])
{
  const double rows = csr.num_rows, nonzeros = (double)csr.num_nonzeros;

  f[SELECT_FEATURE_N_ROWS]   = rows;
  f[SELECT_FEATURE_N_COLS]   = csr.num_columns;
  f[SELECT_FEATURE_NNZ_TOT]  = nonzeros;
  f[SELECT_FEATURE_NNZ_FRAC] = csr.num_columns > 0 ? 100 * nonzeros / rows / csr.num_columns : 0;
  f[SELECT_FEATURE_NNZ_MIN]  = (double)c->min_row;
  f[SELECT_FEATURE_NNZ_MAX]  = (double)c->max_row;
  f[SELECT_FEATURE_NNZ_MU]   = nonzeros / rows;
  f[SELECT_FEATURE_NNZ_SIG]  = Deviation(rows, nonzeros, (double)c->squares);
  f[SELECT_FEATURE_EMPTY]    = (double)c->empty / rows;
}

/* What the sample gives; there is at least one entry in the matrix, though perhaps none in the sample. */
static void SetEntries(DCSRView csr, const SelectFeatureCounts *c, double f[])
{
  const double columns = PetscMax((double)csr.num_columns, 1.0);

  f[SELECT_FEATURE_NNZB_TOT]   = Share(c->runs, c->entries) * (double)csr.num_nonzeros;
  f[SELECT_FEATURE_NNZB_MIN]   = (double)c->min_runs;
  f[SELECT_FEATURE_NNZB_MAX]   = (double)c->max_runs;
  f[SELECT_FEATURE_NNZB_MU]    = Share(c->runs, c->rows);
  f[SELECT_FEATURE_NNZB_SIG]   = Deviation((double)c->rows, (double)c->runs, (double)c->run_squares);
  f[SELECT_FEATURE_SNZB_MIN]   = c->runs > 0 ? (double)c->min_run : 0;
  f[SELECT_FEATURE_SNZB_MAX]   = (double)c->max_run;
  f[SELECT_FEATURE_SNZB_MU]    = Share(c->entries, c->runs);
  f[SELECT_FEATURE_SNZB_SIG]   = Deviation((double)c->runs, (double)c->entries, (double)c->length_squares);
  f[SELECT_FEATURE_SIMILARITY] = Share(c->similar, c->compared);
  f[SELECT_FEATURE_DISTANCE]   = Share(c->distance, c->entries) / columns;
  f[SELECT_FEATURE_SPREAD]     = Share(c->spread, c->slices) / columns;
}

/* What the formats of HiSparse are selected by. */
static PetscErrorCode SetFormats(DCSRView csr, cudaStream_t stream, double f[])
{
  HiSparseSample sample;

  PetscFunctionBegin;
  PetscCall(HiSparseSampleTake(csr, 1, stream, &sample));
  f[SELECT_FEATURE_DIAGONALS]  = Share(sample.in_segments, sample.entries);
  f[SELECT_FEATURE_SEGMENTS]   = Share(sample.segments, sample.rows) * HISPARSE_SLICE_ROWS;
  f[SELECT_FEATURE_BLOCK_SIZE] = PetscMax(sample.block_size, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SelectFeaturesGet - The features of a matrix

  Input Parameters:
+ csr    - compact, columns of a row sorted; values are not read
- stream - synchronizes it

  Output Parameter:
. features - [SELECT_NUM_FEATURES] host; zeros for a matrix without rows, and where entries would be counted and there are none

  Errors: PETSC_ERR_MEM; PETSC_ERR_ARG_WRONGSTATE for storage that is not compact.

  Cost: that of SelectFeaturesCount() and of HiSparseSampleTake().
*/
PetscErrorCode SelectFeaturesGet(DCSRView csr, cudaStream_t stream, double features[SELECT_NUM_FEATURES])
{
  SelectFeatureCounts counts;

  PetscFunctionBegin;
  PetscCheck(csr.row_offsets != NULL || csr.segments == NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Features are those of compact storage, call DCSRDefragment() first");
  PetscCall(PetscArrayzero(features, SELECT_NUM_FEATURES));
  if (csr.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SelectFeaturesCount(csr, stream, &counts));
  SetRows(csr, &counts, features);
  if (csr.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  SetEntries(csr, &counts, features);
  PetscCall(SetFormats(csr, stream, features));
  PetscFunctionReturn(PETSC_SUCCESS);
}
