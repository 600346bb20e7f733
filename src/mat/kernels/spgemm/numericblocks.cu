/*
  Values of products of full blocks. A warp has R rows of a block row of C in shared memory. It takes the blocks of the row of A one after the other, each of which multiplies a block row of B: a lane has
  N columns of it, and adds to them in R rows of C where the positions say. Blocks of a row of B meet different blocks of C, so that no two lanes add to the same entry, and sums have the order of the
  row of A, as in numeric.cu.

  Shared memory limits it, where 16 bytes go to and from a sum for BK terms: it is 75 % busy with half of the warps that a multiprocessor holds (3x3 times 3x6, 100^3 points, H200). Two columns a lane
  save instructions and take registers: restrictions, whose rows of B are long, take 3.7 ms for 4.3, prolongators, whose rows have six blocks, 7.7 for 6.5.
*/
#include "batch.cuh"
#include "grid.cuh"
#include "../common/preload.cuh"

namespace
{

constexpr int BATCH = 16; // blocks of A whose values are in shared memory at a time
constexpr int WARP  = 32;

/* Rows and columns of a block of A, columns of one of B, rows that a warp takes, and columns that a lane takes. */
#define BLOCK_SIZES(X) \
  X(2, 2, 2, 2, 1) \
  X(2, 2, 3, 2, 1) \
  X(3, 2, 3, 3, 1) \
  X(3, 3, 3, 3, 1) \
  X(3, 3, 6, 3, 1) \
  X(6, 3, 6, 3, 2) \
  X(6, 6, 6, 3, 2) \
  X(4, 4, 4, 2, 2) \
  X(5, 5, 5, 5, 1)

/* Long rows of C: a warp takes one row of each block row, so that a multiprocessor holds more warps. */
constexpr size_t MANY_BYTES = 12288; // of the sums of a warp

/* Values that are loaded and stored together, 16 bytes at most. */
template <int N>
struct alignas(PetscDefined(USE_COMPLEX) ? alignof(PetscScalar) : N * sizeof(PetscScalar)) Values {
  PetscScalar v[N];
};

/* A row of B, for all lanes. */
struct Row {
  int32_t begin; // block
  int     length, before;

  template <int Lanes>
  __device__ __forceinline__ Row(const Batch<Lanes, int32_t> &batch, int s)
      : begin(ShuffleFrom<Lanes>(batch.begin, s)), length(ShuffleFrom<Lanes>(batch.length, s)), before(ShuffleFrom<Lanes>(batch.before, s))
  {}
};

/* What a lane adds next: N columns of a block of B, and where in a row of C. */
template <int BK, int BC, int N>
struct Terms {
  Values<N> x[BK];
  int       at; // -1: nothing

  template <typename Number>
  __device__ __forceinline__ void Load(const PetscScalar *values, const Number *numbers, const Row &row, int t)
  {
    constexpr int each = BC / N; // lanes of a block
    const int     n    = row.length * each;

    at = -1;
    if (t < n) {
      const Values<N> *from = (const Values<N> *)(values + (PetscCount)row.begin * (BK * BC)) + t;

      at = (int)numbers[row.before + t / each] * each + t % each;
#pragma unroll
      for (int k = 0; k < BK; k++) x[k] = from[k * n];
    }
  }
  template <int R>
  __device__ __forceinline__ void Add(const PetscScalar *a, PetscScalar *sums, int width) const
  {
    if (at < 0) return;
#pragma unroll
    for (int r = 0; r < R; r++) {
      Values<N> *to = (Values<N> *)(sums + r * width) + at, sum = *to;

#pragma unroll
      for (int k = 0; k < BK; k++) {
#pragma unroll
        for (int c = 0; c < N; c++) sum.v[c] += a[r * BK + k] * x[k].v[c];
      }
      *to = sum;
    }
  }
};

/* The values of the first blocks of A, R rows of each, behind each other by block. */
template <int R, int BK>
__device__ __forceinline__ void StageBlocks(const PetscScalar *a, PetscCount pitch, int steps, int lane, PetscScalar *stage)
{
#pragma unroll
  for (int r = 0; r < R; r++)
    for (int p = lane; p < steps * BK; p += WARP) stage[(p / BK * R + r) * BK + p % BK] = a[r * pitch + p];
}

/* Shared memory of a warp. */
template <int BK, int BC, int R>
__host__ __device__ constexpr size_t WarpBytes(int max_entries)
{
  return ((size_t)R * BK * BATCH + (size_t)(max_entries * BC * R + 1) / 2 * 2) * sizeof(PetscScalar); // of pairs
}

template <int BR, int BK, int BC, int R, int N, typename Number>
__global__ void __launch_bounds__(SPGEMM_THREADS)
  BlocksKernel(Factors<int32_t> f, Offsets a_rows, const int32_t *c_offsets, PetscScalar *c_values, Offsets number_offsets, const Number *numbers, Rows rows, int max_entries)
{
  extern __shared__ char shared[];
  constexpr int          warps = BR / R; // of a block row
  const int              lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const PetscCount       item  = (PetscCount)blockIdx.x * (blockDim.x / WARP) + warp;
  const int32_t          row   = rows(item / warps);
  const int              first = (int)(item % warps) * R;

  if (row < 0) return;
  const PetscCount   begin  = f.a_offsets(row);
  const int          length = (int)(f.a_offsets(row + 1) - begin), width = (c_offsets[row + 1] - c_offsets[row]) * BC;
  PetscScalar       *stage = (PetscScalar *)(shared + warp * WarpBytes<BK, BC, R>(max_entries)), *sums = stage + R * BK * BATCH;
  const PetscScalar *a = f.a_values + a_rows(0) + begin * (BR * BK) + (PetscCount)first * length * BK;

  numbers += number_offsets(row);
  for (int k = lane; k < R * width; k += WARP) sums[k] = 0.0;
  for (int done = 0; done < length; done += BATCH) {
    const int                  steps = length - done < BATCH ? length - done : BATCH;
    const Batch<WARP, int32_t> batch(f, begin + done + lane, lane < steps, lane);
    Terms<BK, BC, N>           next;

    __syncwarp(); // the blocks of before are used
    StageBlocks<R, BK>(a + done * BK, (PetscCount)length * BK, steps, lane, stage);
    next.Load(f.b_values, numbers, Row(batch, 0), lane);
    for (int s = 0; s < steps; s++) {
      const Terms<BK, BC, N> now = next;

      next.Load(f.b_values, numbers, Row(batch, s + 1), lane); // empty behind the last one
      __syncwarp();                                            // what other lanes have added, or staged
      now.template Add<R>(stage + s * R * BK, sums, width);
      const Row current(batch, s);

      for (int t = WARP + lane; t < current.length * (BC / N); t += WARP) {
        Terms<BK, BC, N> more;

        more.Load(f.b_values, numbers, current, t);
        more.template Add<R>(stage + s * R * BK, sums, width);
      }
    }
    numbers += batch.total;
  }
  __syncwarp();
  PetscScalar *c = c_values + (PetscCount)c_offsets[row] * (BR * BC) + (PetscCount)first * width;

  for (int k = lane; k < R * width; k += WARP) c[k] = sums[k];
}

/* Shared memory of a warp of SingleKernel. */
template <int BR, int BK>
__host__ __device__ constexpr size_t SingleBytes()
{
  return (size_t)BR * BK * WARP * sizeof(PetscScalar);
}

/* Adds block number s of those staged times a column of the block of B that it meets. */
template <int BR, int BK, int BC>
__device__ __forceinline__ void AddBlock(const PetscScalar *stage, int s, const PetscScalar *b, PetscScalar sums[])
{
  PetscScalar x[BK];

#pragma unroll
  for (int k = 0; k < BK; k++) x[k] = b[k * BC];
#pragma unroll
  for (int r = 0; r < BR; r++) {
#pragma unroll
    for (int k = 0; k < BK; k++) sums[r] += stage[(s * BR + r) * BK + k] * x[k];
  }
}

/*
  Rows of B of one block, as tentative prolongators have them, are too short for a warp. A warp takes a block row of C, and a lane a column of it, whose sums stay in registers: of up to 32 blocks of A
  it takes those that add to its block, in their order.
*/
template <int BR, int BK, int BC, typename Number>
__global__ void __launch_bounds__(SPGEMM_THREADS)
  SingleKernel(Factors<int32_t> f, Offsets a_rows, const int32_t *c_offsets, PetscScalar *c_values, Offsets number_offsets, const Number *numbers, Rows rows)
{
  extern __shared__ char shared[];
  const int              lane = threadIdx.x % WARP;
  const int32_t          row  = rows((PetscCount)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP);

  if (row < 0) return;
  const PetscCount   begin  = f.a_offsets(row);
  const int          length = (int)(f.a_offsets(row + 1) - begin), width = (c_offsets[row + 1] - c_offsets[row]) * BC;
  PetscScalar       *stage = (PetscScalar *)(shared + threadIdx.x / WARP * SingleBytes<BR, BK>()), *c = c_values + (PetscCount)c_offsets[row] * (BR * BC);
  const PetscScalar *a = f.a_values + a_rows(0) + begin * (BR * BK);

  numbers += number_offsets(row);
  for (int first = 0; first < width; first += WARP) {
    const int   own = (first + lane) / BC, column = (first + lane) % BC;
    PetscScalar sums[BR] = {};
    int         used     = 0;

    for (int done = 0; done < length; done += WARP) {
      const int                  steps = length - done < WARP ? length - done : WARP;
      const Batch<WARP, int32_t> batch(f, begin + done + lane, lane < steps, lane);
      const int                  place = batch.length ? (int)numbers[used + batch.before] : -1;
      unsigned int               mine  = 0;

      used += batch.total;
      __syncwarp(); // the blocks of before are used
      StageBlocks<BR, BK>(a + done * BK, (PetscCount)length * BK, steps, lane, stage);
      for (int j = first / BC; j <= (first + WARP - 1) / BC; j++) {
        const unsigned int those = __ballot_sync(FULL_WARP, place == j);

        if (j == own) mine = those;
      }
      __syncwarp();
      while (__any_sync(FULL_WARP, mine)) {
        const int     s = mine ? __ffs(mine) - 1 : 0;
        const int32_t b = __shfl_sync(FULL_WARP, batch.begin, s);

        if (mine) AddBlock<BR, BK, BC>(stage, s, f.b_values + (PetscCount)b * (BK * BC) + column, sums);
        mine &= mine - 1;
      }
    }
    if (first + lane < width) {
#pragma unroll
      for (int r = 0; r < BR; r++) c[r * width + first + lane] = sums[r];
    }
  }
}

template <int BR, int BK, int BC, int R, int N, typename Number>
PetscErrorCode Launch(DCSRView A, DCSRView B, DCSRView C, DCSRView a_rows, const SpGEMMPositions *p, int max_entries, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  const Rows rows = {n, list};
  Offsets    offsets;
  Grid       g;

  PetscFunctionBegin;
  offsets.offsets = p->offsets;
  offsets.wide    = p->wide;
  if (p->one) {
    PetscCall(GetGrid(WARP, SingleBytes<BR, BK>(), n, &g));
    PetscCall(LaunchOn(g, stream, SingleKernel<BR, BK, BC, Number>, Factors<int32_t>(A, B), Offsets(a_rows), (const int32_t *)C.row_offsets, C.values, offsets, (const Number *)p->numbers, rows));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetGrid(WARP, WarpBytes<BK, BC, R>(max_entries), n * (BR / R), &g));
  PetscCall(LaunchOn(g, stream, BlocksKernel<BR, BK, BC, R, N, Number>, Factors<int32_t>(A, B), Offsets(a_rows), (const int32_t *)C.row_offsets, C.values, offsets, (const Number *)p->numbers, rows,
                     max_entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int BR, int BK, int BC, int R, int N>
PetscErrorCode LaunchRows(DCSRView A, DCSRView B, DCSRView C, DCSRView a_rows, const SpGEMMPositions *p, int max_entries, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (p->bytes == 1) PetscCall((Launch<BR, BK, BC, R, N, uint8_t>(A, B, C, a_rows, p, max_entries, n, list, stream)));
  else PetscCall((Launch<BR, BK, BC, R, N, uint16_t>(A, B, C, a_rows, p, max_entries, n, list, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int BR, int BK, int BC, int R, int N>
PetscErrorCode Run(DCSRView A, DCSRView B, DCSRView C, DCSRView a_rows, const SpGEMMPositions *p, int max_entries, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if ((size_t)max_entries * BC * R * sizeof(PetscScalar) > MANY_BYTES) PetscCall((LaunchRows<BR, BK, BC, 1, N>(A, B, C, a_rows, p, max_entries, n, list, stream)));
  else PetscCall((LaunchRows<BR, BK, BC, R, N>(A, B, C, a_rows, p, max_entries, n, list, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*RunFunction)(DCSRView, DCSRView, DCSRView, DCSRView, const SpGEMMPositions *, int, PetscCount, const int32_t[], cudaStream_t);

/* The function for blocks of these sizes; NULL: there is none. */
RunFunction GetRun(int br, int bk, int bc)
{
  static const struct {
    int         br, bk, bc;
    RunFunction run;
  } all[] = {
#define BLOCK_ENTRY(br, bk, bc, r, n) {br, bk, bc, Run<br, bk, bc, r, n>},
    BLOCK_SIZES(BLOCK_ENTRY)};

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++)
    if (all[k].br == br && all[k].bk == bk && all[k].bc == bc) return all[k].run;
  return NULL;
}

} // namespace

/* SpGEMMHasBlockKernel - Whether products of br x bk by bk x bc blocks have a kernel. */
PetscBool SpGEMMHasBlockKernel(int br, int bk, int bc)
{
  return (PetscBool)(GetRun(br, bk, bc) != NULL);
}

/*
  SpGEMMNumericBlocks - Values of block rows of C, list [n] (device) or NULL for rows 0 to n - 1. Asynchronous
  A, B and C are lists of blocks (DCSRBlockList) with the values of the matrices. rows is the matrix whose list A is, of which the offset of the first row counts. sizes: rows and columns of a block of
  A, columns of one of B, for which there is a kernel. bin->max_entries holds every row of the list. Cost: one read of B's values for each block of A that meets them, mostly from L2, and a byte or two for each product of two blocks.
*/
PetscErrorCode SpGEMMNumericBlocks(DCSRView A, DCSRView B, DCSRView C, DCSRView rows, const int sizes[3], const SpGEMMPositions *p, const SpGEMMBin *bin, PetscCount n, const int32_t list[],
                                   cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*GetRun(sizes[0], sizes[1], sizes[2]))(A, B, C, rows, p, PetscMin(bin->max_entries, p->max_entries), n, list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG with several unknowns a point
DCSRPreload(BlocksKernel<3, 3, 6, 3, 1, uint8_t>);
DCSRPreload(SingleKernel<3, 3, 6, uint8_t>);
