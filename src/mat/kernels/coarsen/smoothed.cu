/*
  The smoothed prolongator of single unknowns and one vector in one go: P = (I - omega D^-1 A) P0, filtered when that is wanted. Neither A P0 nor the unfiltered P is made. Of a parallel matrix both
  blocks are read, the diagonal one first, and what ghost columns have of P0 came from their owners.

  P0 has at most one entry a row, so that a row of A P0 is the row of A with columns replaced by coarse numbers, and equal ones added up, in the order of the row: the bits are the same every time.
  A first pass counts what stays of each row, a second one does it again and writes: A read twice costs less than a pool that is written and read. Where rows are filtered both are one kernel, so that
  what they keep cannot differ: two instances of a template may round differently. Otherwise the first pass reads columns alone.

  Short rows, which touch few coarse numbers: a lane has a row, of which its warp has loaded the entries together. Others: a warp has a row; equal numbers among its 32 entries are added by the first of
  them, and sums are in a table in shared memory. Rows that touch more than a table takes make the caller do without.
*/
#include "../common/blockreduce.cuh"
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/preload.cuh"
#include "../common/reduce.h"
#include "../common/rowloop.cuh"
#include "../common/scalar.cuh"
#include "../delete/compact.cuh"
#include <petscsparsecuda/filter.h>
#include <petscsparsecuda/tentative.h>

namespace
{

constexpr double  SHORT_MEAN      = 30;                                  // entries a row up to which threads are tried
constexpr int     SHORT_WARPS     = 2;                                   // of a thread block
constexpr int     SHORT_ENTRIES   = sizeof(PetscScalar) > 8 ? 512 : 896; // that a warp loads at once: 28 a row, so that all its lanes have something to add
constexpr int     SHORT_BATCH     = sizeof(PetscScalar) > 8 ? 4 : 7;     // loads of a lane at once: two of entries, then two by columns
constexpr int     SHORT_POSITIONS = 12;                                  // coarse numbers of a row, in registers
constexpr int     WARP_THREADS    = 256;
constexpr int     WARP_POSITIONS  = 128;
constexpr int32_t EMPTY           = -1;        // coarse number of nothing
constexpr int32_t GONE            = INT32_MAX; // of an entry that leaves

/* A block of a matrix. */
struct BlockOf {
  Offsets            offsets;
  const int32_t     *columns;
  const PetscScalar *values;
  int32_t            shift; // of its columns in arrays for the columns of all blocks

  BlockOf() = default;
  BlockOf(const DCSRView &view, PetscInt s) : offsets(view), columns(view.columns), values(view.values), shift((int32_t)s) {}
};

/* The entry of a row of P0 in either block, with its global column. */
struct PackRow {
  BlockOf         blocks[2];
  int             num_blocks;
  int32_t         begin;  // first own column
  const int32_t  *ghosts; // global numbers of ghost columns
  int32_t        *numbers;
  PetscScalar    *weights;
  __device__ void operator()(PetscInt row) const
  {
    weights[row] = PetscScalar(0);
    numbers[row] = EMPTY;
    for (int b = 0; b < num_blocks; b++) {
      const PetscCount k = blocks[b].offsets(row);

      if (blocks[b].offsets(row + 1) <= k) continue;
      weights[row] = blocks[b].values[k];
      numbers[row] = b == 0 ? begin + blocks[b].columns[k] : ghosts[blocks[b].columns[k]];
    }
  }
};

/* Global numbers become those of own columns, and of others behind them. */
struct Localize {
  int32_t         begin, num_own;
  int32_t        *numbers;
  __device__ void operator()(PetscInt k) const
  {
    const int32_t number = numbers[k];

    if (number != EMPTY) numbers[k] = number >= begin && number < begin + num_own ? number - begin : num_own + number;
  }
};

/* What kernels get. */
struct Smoothing {
  PetscInt           num_rows;
  BlockOf            blocks[2];   // of A
  int                num_blocks;  // 2: the second one has ghost columns
  const int32_t     *numbers;     // [columns of both blocks] columns of P0; EMPTY: the row has no entry
  const PetscScalar *weights;     // the same of its values
  PetscReal          factor;      // of D^-1 A
  PetscReal          threshold2;  // squared
  const PetscReal   *null_vector; // [coarse numbers] near null space of the coarse level; NULL: nothing is filtered
  int32_t           *sizes;       // [num_rows] written by the first pass: more than there are positions where a row does not fit
  DCSRView           to;          // written by the second one; zero in the first

  __device__ bool IsWeak(PetscScalar value, PetscReal largest) const { return SquaredValue(value) < threshold2 * largest || value == PetscScalar(0); } // NaN is not
};

__device__ inline PetscScalar Reciprocal(PetscScalar value)
{
  return value == PetscScalar(0) ? value : PetscScalar(1) / value; // as VecReciprocal()
}

/* What a row gives of the near null space, and by what it is scaled so that it gives as much without what leaves: as filter.cu with one vector. */
struct Given {
  PetscScalar kept, lost;

  __device__ PetscScalar Scale() const
  {
    const PetscScalar before = kept + lost;

    return AbsoluteValue(before) > 0 && (PetscReal)DCSR_FILTER_LARGEST_SCALE * AbsoluteValue(kept) > AbsoluteValue(before) ? before / kept : PetscScalar(1);
  }
};

/* Entries of A as a warp has loaded them for its 32 rows. */
struct Loaded {
  int32_t     *numbers;   // [SHORT_ENTRIES] shared, coarse
  PetscScalar *products;  // [SHORT_ENTRIES] shared, with the entry of P0; NULL: numbers alone are wanted
  PetscScalar *diagonals; // [32] shared, of A, those that were loaded; NULL likewise
  PetscCount  *ends;      // [32] shared, of the rows

  /*
    All lanes together; arrays may be written behind n. What is gathered by the columns of a batch comes together, too. Loads have no conditions, as those of an entry would wait for its column
    otherwise, and stores none, as the compiler would move loads behind them.
  */
  __device__ void Load(const Smoothing &s, const BlockOf &block, bool has_diagonal, PetscInt first_row, PetscCount first, PetscCount begin, int n) const
  {
    static_assert(SHORT_ENTRIES % (32 * SHORT_BATCH) == 0, "whole batches");
    for (int from = threadIdx.x % 32; from < n; from += 32 * SHORT_BATCH) {
      int32_t     column[SHORT_BATCH], number[SHORT_BATCH];
      PetscScalar value[SHORT_BATCH], weight[SHORT_BATCH];

#pragma unroll
      for (int j = 0; j < SHORT_BATCH; j++) {
        const PetscCount k = begin + (from + 32 * j < n ? from + 32 * j : n - 1);

        column[j] = block.columns[k];
        if (products) value[j] = block.values[k];
      }
#pragma unroll
      for (int j = 0; j < SHORT_BATCH; j++) {
        number[j] = s.numbers[block.shift + column[j]];
        if (products) weight[j] = s.weights[block.shift + column[j]];
      }
#pragma unroll
      for (int j = 0; j < SHORT_BATCH; j++) {
        const int at = from + 32 * j, own = column[j] - first_row;

        numbers[at] = number[j];
        if (!products) continue;
        products[at] = value[j] * weight[j];
        if (has_diagonal && at < n && own >= 0 && own < 32 && begin + at < ends[own] && begin + at >= (own > 0 ? ends[own - 1] : first)) diagonals[own] = value[j];
      }
    }
  }
};

/* The row of a lane, in registers: indices of its arrays are constants of unrolled loops. A table in shared memory waits for each comparison, and leaves room for 14 warps a multiprocessor, not 20. */
struct ShortRow {
  int32_t     numbers[SHORT_POSITIONS]; // GONE: nothing
  PetscScalar sums[SHORT_POSITIONS];
  int         num  = 0; // that were found
  bool        fits = true;

  __device__ ShortRow()
  {
#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) numbers[k] = GONE;
  }

  /* Adds to the sum of a number, a new one if it is not there. */
  __device__ __forceinline__ void Add(int32_t number, PetscScalar value)
  {
    bool there = false;

#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) {
      if (there || k > num) break;
      there = numbers[k] == number || k == num;
      if (!there) continue;
      sums[k]    = (k == num ? PetscScalar(0) : sums[k]) + value;
      numbers[k] = number;
      if (k == num) {
        num++;
        break;
      }
    }
    fits = fits && there;
  }

  /* Adds entries [k, end) of what was loaded. The next one is read before this one is added. */
  __device__ __forceinline__ void AddLoaded(const Loaded &loaded, int k, int end)
  {
    int32_t     number  = k < end ? loaded.numbers[k] : EMPTY;
    PetscScalar product = k < end && loaded.products ? loaded.products[k] : PetscScalar(0);

    for (; k < end; k++) {
      const int         next         = k + 1 < end ? k + 1 : k;
      const int32_t     next_number  = loaded.numbers[next];
      const PetscScalar next_product = loaded.products ? loaded.products[next] : PetscScalar(0);

      if (number != EMPTY) Add(number, product);
      number  = next_number;
      product = next_product;
    }
  }

  __device__ void Smooth(const Smoothing &s, PetscInt row, PetscScalar inverse)
  {
    const int32_t own = s.numbers[row];

    if (own != EMPTY) Add(own, 0);
#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) {
      const PetscScalar smoothed = s.factor * (inverse * sums[k]);

      if (k < num) sums[k] = numbers[k] == own ? s.weights[row] + smoothed : smoothed;
    }
  }

  __device__ void Filter(const Smoothing &s)
  {
    PetscReal largest = 0;
    Given     given   = {0, 0};

#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) {
      if (k < num) largest = SquaredValue(sums[k]) > largest ? SquaredValue(sums[k]) : largest; // NaN is not larger
    }
#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) {
      if (k >= num) break;

      const PetscScalar product = sums[k] * s.null_vector[numbers[k]];

      if (s.IsWeak(sums[k], largest)) {
        numbers[k] = GONE;
        given.lost += product;
      } else given.kept += product;
    }
#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) {
      if (k < num) sums[k] *= given.Scale();
    }
  }

  __device__ int Size() const
  {
    int size = 0;

#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) size += numbers[k] != GONE;
    return fits ? size : SHORT_POSITIONS + 1;
  }

  __device__ void Write(const DCSRView &to, PetscCount begin) const
  {
#pragma unroll
    for (int k = 0; k < SHORT_POSITIONS; k++) {
      PetscCount at = begin;

      if (k >= num) break;
      if (numbers[k] == GONE) continue;
#pragma unroll
      for (int other = 0; other < SHORT_POSITIONS; other++) at += numbers[other] < numbers[k];
      to.columns[at] = numbers[k];
      to.values[at]  = sums[k];
    }
  }
};

/* VALUES false: numbers alone, which tell the sizes of rows that are not filtered. */
template <bool VALUES>
__global__ static void __launch_bounds__(32 * SHORT_WARPS) ShortKernel(Smoothing s)
{
  constexpr int      warps = SHORT_WARPS, entries = VALUES ? SHORT_ENTRIES : 1;
  __shared__ int32_t numbers[warps][SHORT_ENTRIES];
  __shared__ __align__(16) char products[warps][entries * sizeof(PetscScalar)], diagonals[warps][32 * sizeof(PetscScalar)];
  __shared__ PetscCount         ends[warps][32];
  const int                     lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Loaded                  loaded = {numbers[warp], VALUES ? (PetscScalar *)products[warp] : NULL, VALUES ? (PetscScalar *)diagonals[warp] : NULL, ends[warp]};

  for (PetscCount first = ((PetscCount)blockIdx.x * warps + warp) * 32; first < s.num_rows; first += (PetscCount)gridDim.x * warps * 32) {
    const PetscCount row  = first + lane;
    const bool       mine = row < s.num_rows;
    ShortRow         r;

    if (VALUES) loaded.diagonals[lane] = 0;
    for (int b = 0; b < s.num_blocks; b++) {
      const BlockOf   &block        = s.blocks[b];
      const PetscCount begin_of_all = block.offsets(first), end_of_all = block.offsets(first + 32 < s.num_rows ? first + 32 : s.num_rows);
      const PetscCount begin = mine ? block.offsets(row) : end_of_all, end = mine ? block.offsets(row + 1) : end_of_all;

      __syncwarp(); // with the block before
      ends[warp][lane] = end;
      for (PetscCount part = begin_of_all; part < end_of_all; part += SHORT_ENTRIES) {
        const PetscCount end_of_part = part + SHORT_ENTRIES < end_of_all ? part + SHORT_ENTRIES : end_of_all;
        const PetscCount from = begin < end_of_part ? begin : end_of_part, to = end < end_of_part ? end : end_of_part;

        __syncwarp(); // with those of before
        loaded.Load(s, block, b == 0, (PetscInt)first, begin_of_all, part, (int)(end_of_part - part));
        __syncwarp();
        r.AddLoaded(loaded, (int)((from > part ? from : part) - part), (int)((to > part ? to : part) - part));
      }
    }
    __syncwarp();
    if (!mine) continue; // of the last warp of all
    if (VALUES) {
      r.Smooth(s, (PetscInt)row, Reciprocal(loaded.diagonals[lane]));
      if (s.null_vector) r.Filter(s);
    } else if (s.numbers[row] != EMPTY) r.Add(s.numbers[row], 0);
    if (s.to.row_offsets) r.Write(s.to, Offsets(s.to)(row));
    else s.sizes[row] = r.Size();
  }
}

__device__ inline PetscScalar ShuffleFrom(PetscScalar value, int lane)
{
  constexpr int num_words = (int)(sizeof(PetscScalar) / sizeof(int));
  int           words[num_words];

  memcpy(words, &value, sizeof(value));
#pragma unroll
  for (int w = 0; w < num_words; w++) words[w] = __shfl_sync(0xffffffffu, words[w], lane);
  memcpy(&value, words, sizeof(value));
  return value;
}

/* Adds what lanes have with the same number in the order of lanes; the first lane of each number has the sum, and gets true. All lanes together; number EMPTY: nothing. */
__device__ inline bool AddEqual(int32_t number, PetscScalar *value)
{
  const int         lane  = threadIdx.x % 32;
  unsigned int      same  = __match_any_sync(0xffffffffu, number == EMPTY ? ~lane : number); // ~lane is negative: no other has it
  const bool        first = __ffs((int)same) - 1 == lane;
  const int         most  = __reduce_max_sync(0xffffffffu, __popc(same));
  const PetscScalar own   = *value;

  same &= same - 1;
  for (int k = 1; k < most; k++) {
    const PetscScalar other = ShuffleFrom(own, same ? __ffs((int)same) - 1 : lane);

    if (same) *value += other;
    same &= same - 1;
  }
  return first && number != EMPTY;
}

/* The row of a warp: positions [0, num) of its table after Gather(), of which all lanes take each 32nd. Methods are for all lanes together unless they say otherwise. */
struct WarpRow {
  int32_t     *numbers; // [WARP_PLACES] shared
  PetscScalar *sums;    // the same
  int          lane, num;
  bool         fits; // all that this lane has added

  __device__ void Clear()
  {
    for (int k = lane; k < WARP_POSITIONS; k += 32) numbers[k] = EMPTY;
    fits = true;
    __syncwarp();
  }

  /* Adds to the sum of a number, in lanes that have different ones. */
  __device__ void Add(int32_t number, PetscScalar value)
  {
    unsigned int k = (unsigned int)number * 2654435761u >> 7;

    for (int tries = 0; tries < WARP_POSITIONS; tries++, k++) {
      const int32_t old = atomicCAS(&numbers[k % WARP_POSITIONS], EMPTY, number);

      if (old != EMPTY && old != number) continue;
      sums[k % WARP_POSITIONS] = old == EMPTY ? value : sums[k % WARP_POSITIONS] + value;
      return;
    }
    fits = false;
  }

  /* The row of A P0; returns the diagonal entry of A. */
  __device__ PetscScalar Multiply(const Smoothing &s, PetscInt row)
  {
    PetscScalar diagonal = 0;

    for (int b = 0; b < s.num_blocks; b++) {
      const BlockOf   &block = s.blocks[b];
      const PetscCount begin = block.offsets(row), end = block.offsets(row + 1);

      for (PetscCount first = begin; first < end; first += 32) {
        const PetscCount k      = first + lane;
        int32_t          number = EMPTY;
        PetscScalar      value  = 0;

        if (k < end) {
          const int32_t column = block.columns[k];

          number = s.numbers[block.shift + column];
          value  = block.values[k] * s.weights[block.shift + column];
          if (b == 0 && column == row) diagonal = block.values[k];
        }
        if (AddEqual(number, &value)) Add(number, value);
        __syncwarp();
      }
    }
    return AllReduceLanes(diagonal, 32, [](PetscScalar a, PetscScalar b) { return a + b; });
  }

  /* Moves what there is to the first places. */
  __device__ void Gather()
  {
    num = 0;
    for (int k = lane; k < WARP_POSITIONS; k += 32) {
      const int32_t      number = numbers[k];
      const PetscScalar  sum    = sums[k];
      const unsigned int there  = __ballot_sync(0xffffffffu, number != EMPTY);
      const int          to     = num + __popc(there & ((1u << lane) - 1));

      __syncwarp();
      if (number != EMPTY) { // never behind where it was, and others have read what was there
        numbers[to] = number;
        sums[to]    = sum;
      }
      num += __popc(there);
      __syncwarp();
    }
  }

  __device__ void Smooth(const Smoothing &s, PetscInt row, PetscScalar inverse)
  {
    const int32_t own = s.numbers[row];

    if (lane == 0 && own != EMPTY) Add(own, 0);
    __syncwarp();
    Gather();
    for (int k = lane; k < num; k += 32) {
      const PetscScalar smoothed = s.factor * (inverse * sums[k]);

      sums[k] = numbers[k] == own ? s.weights[row] + smoothed : smoothed;
    }
    __syncwarp();
  }

  __device__ void Filter(const Smoothing &s)
  {
    PetscReal largest = 0;
    Given     given   = {0, 0};

    for (int k = lane; k < num; k += 32) largest = SquaredValue(sums[k]) > largest ? SquaredValue(sums[k]) : largest; // NaN is not larger
    largest = AllReduceLanes(largest, 32, [](PetscReal a, PetscReal b) { return a > b ? a : b; });
    for (int k = lane; k < num; k += 32) {
      const PetscScalar product = sums[k] * s.null_vector[numbers[k]];

      if (s.IsWeak(sums[k], largest)) {
        numbers[k] = GONE;
        given.lost += product;
      } else given.kept += product;
    }
    given = AllReduceLanes(given, 32, [](const Given &a, const Given &b) { return Given{a.kept + b.kept, a.lost + b.lost}; });
    for (int k = lane; k < num; k += 32) sums[k] *= given.Scale();
    __syncwarp();
  }

  __device__ int Size() const
  {
    int size = fits ? 0 : WARP_POSITIONS + 1;

    for (int k = lane; k < num; k += 32) size += numbers[k] != GONE;
    return AllReduceLanes(size, 32, [](int a, int b) { return a + b; });
  }

  __device__ void Write(const DCSRView &to, PetscCount begin) const
  {
    for (int k = lane; k < num; k += 32) {
      PetscCount at = begin;

      if (numbers[k] == GONE) continue;
      for (int other = 0; other < num; other++) at += numbers[other] < numbers[k];
      to.columns[at] = numbers[k];
      to.values[at]  = sums[k];
    }
  }
};

__global__ static void __launch_bounds__(WARP_THREADS) WarpKernel(Smoothing s)
{
  constexpr int      warps = WARP_THREADS / 32;
  __shared__ int32_t numbers[warps * WARP_POSITIONS];
  __shared__ __align__(16) char sums[warps * WARP_POSITIONS * sizeof(PetscScalar)];
  const int                     warp = threadIdx.x / 32;
  WarpRow                       r    = {numbers + warp * WARP_POSITIONS, (PetscScalar *)sums + warp * WARP_POSITIONS, (int)threadIdx.x % 32, 0, true};

  for (PetscCount row = (PetscCount)blockIdx.x * warps + warp; row < s.num_rows; row += (PetscCount)gridDim.x * warps) {
    r.Clear();

    const PetscScalar inverse = Reciprocal(r.Multiply(s, (PetscInt)row));

    r.Smooth(s, (PetscInt)row, inverse);
    if (s.null_vector) r.Filter(s);
    if (s.to.row_offsets) r.Write(s.to, Offsets(s.to)(row));
    else {
      const int size = r.Size();

      if (r.lane == 0) s.sizes[row] = size;
    }
    __syncwarp();
  }
}

/* Kernels, which are tried in this order. */
struct SmoothedRule {
  double  mean; // entries a row up to which
  int     rows; // of a thread block
  int     threads;
  int64_t positions;
  void (*numbers)(Smoothing); // counts rows that are not filtered
  void (*kernel)(Smoothing);
};
constexpr SmoothedRule SMOOTHED_RULES[] = {{SHORT_MEAN, 32 * SHORT_WARPS, 32 * SHORT_WARPS, SHORT_POSITIONS, ShortKernel<false>, ShortKernel<true>},
                                           {1e300, WARP_THREADS / 32, WARP_THREADS, WARP_POSITIONS, WarpKernel, WarpKernel}};

inline unsigned int GetGrid(const Smoothing &s, const SmoothedRule &rule)
{
  return (unsigned int)PetscMin(((PetscCount)s.num_rows + rule.rows - 1) / rule.rows, (PetscCount)1 << 30);
}

/* Counts by the first rule that every row fits into; *rule is NULL when there is none. */
PetscErrorCode Count(const Smoothing &s, double mean, cudaStream_t stream, const SmoothedRule **rule, PetscCount *num_nonzeros)
{
  DCSRSizeFacts facts;

  PetscFunctionBegin;
  *rule = NULL;
  for (const SmoothedRule &r : SMOOTHED_RULES) {
    if (mean > r.mean || *rule != NULL) continue;
    (s.null_vector ? r.kernel : r.numbers)<<<GetGrid(s, r), r.threads, 0, stream>>>(s);
    PetscCallCUDA(cudaGetLastError());
    PetscCall(DCSRReduceSizes(s.num_rows, s.sizes, stream, &facts));
    if (facts.max_row_size <= r.positions) *rule = &r;
  }
  *num_nonzeros = (PetscCount)facts.num_nonzeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CountAndWrite(Smoothing *s, const DCSRView &A, PetscCount num_entries, PetscInt num_coarse, cudaStream_t stream, DCSRView *P, PetscBool *done)
{
  const SmoothedRule *rule;
  PetscCount          num_nonzeros;

  PetscFunctionBegin;
  PetscCall(Count(*s, (double)num_entries / (double)A.num_rows, stream, &rule, &num_nonzeros));
  if (rule == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRCheckNonzeros(num_nonzeros));
  s->to             = A;
  s->to.num_columns = num_coarse;
  PetscCall(AllocateFromSizes(s->to, s->sizes, num_nonzeros, stream, P));
  s->to = *P;
  rule->kernel<<<GetGrid(*s, *rule), rule->threads, 0, stream>>>(*s);
  PetscCallCUDA(cudaGetLastError());
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRTentativePack     - the entries of P0, compact with at most one a row, with values: global columns and values of its rows; asynchronous
  DCSRTentativeLocalize - global columns become those of this process, and others, behind these; asynchronous

  Input Parameters:
+ num_blocks - 1: P0[0] is all of P0; 2: P0[1] has columns of other processes
. begin      - global number of the first own column
. num_own    - own columns
. ghosts     - global numbers of the columns of P0[1], device; NULL with one block
- n          - numbers

  Output Parameters:
+ numbers - [rows of P0] device, -1 for a row without an entry; [n] changed in place
- weights - [rows of P0] device
*/
PetscErrorCode DCSRTentativePack(int num_blocks, const DCSRView P0[], PetscInt begin, const int32_t ghosts[], int32_t numbers[], PetscScalar weights[], cudaStream_t stream)
{
  PackRow pack = {{BlockOf(P0[0], 0), BlockOf(P0[num_blocks - 1], 0)}, num_blocks, (int32_t)begin, ghosts, numbers, weights};

  PetscFunctionBegin;
  for (int b = 0; b < num_blocks; b++)
    PetscCheck(P0[b].num_nonzeros <= P0[b].num_rows, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "A tentative prolongator of single unknowns has one entry a row, not %" PetscCount_FMT " in %" PetscInt_FMT " rows", P0[b].num_nonzeros, P0[b].num_rows);
  PetscCallCUDA(DCSRForEach(P0[0].num_rows, pack, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRTentativeLocalize(PetscInt n, PetscInt begin, PetscInt num_own, int32_t numbers[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, Localize{(int32_t)begin, (int32_t)num_own, numbers}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSmoothTentative - The smoothed prolongator P = P0 + factor D^-1 A P0 of single unknowns and one vector, D the diagonal of A, filtered or not; synchronizes with the stream
  A: [num_blocks] compact, with values: the diagonal block, square, and the off-diagonal one of a parallel matrix. numbers, weights [columns of both blocks], device: the entries of P0, as
  DCSRTentativePack() finds them, with numbers below num_coarse. null_vector [num_coarse], device: near null space of the coarse level; NULL: nothing is filtered, and zeros stay.
  The filter: entries below threshold times the largest one of their row, and zeros, leave, and the others are scaled.
  P is compact, its columns ascending, owned by the caller; zero unless done. done = PETSC_FALSE: a row of A touches more than 128 coarse numbers. PETSC_ERR_ARG_OUTOFRANGE for more entries than
  indices reach; nothing stays allocated after an error.
  Pattern and values are those of MatMatMult(), MatDiagonalScale(), MatAYPX() and DCSRFilterApply() but for rounding. A row of A without a diagonal entry, or with zero there, is that of P0.
  Cost: A read once, its columns twice, each entry with 4 and 12 bytes of P0, which are mostly in the L2 cache; A twice with a filter, or a warp a row. P written once.
*/
PetscErrorCode DCSRSmoothTentative(int num_blocks, const DCSRView A[], const int32_t numbers[], const PetscScalar weights[], PetscReal factor, PetscReal threshold, const PetscReal null_vector[],
                                   PetscInt num_coarse, cudaStream_t stream, DCSRView *P, PetscBool *done)
{
  Smoothing      s;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(P, 1));
  *done = PETSC_FALSE;
  PetscCheck(A[0].num_rows == A[0].num_columns && A[num_blocks - 1].num_rows == A[0].num_rows, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Blocks of %" PetscInt_FMT " and %" PetscInt_FMT " rows, the first one with %" PetscInt_FMT " columns", A[0].num_rows, A[num_blocks - 1].num_rows, A[0].num_columns);
  if (A[0].num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  memset(&s, 0, sizeof(s));
  s.num_rows = A[0].num_rows;
  for (int b = 0; b < num_blocks; b++) s.blocks[b] = BlockOf(A[b], b == 0 ? 0 : A[0].num_columns);
  s.num_blocks  = num_blocks;
  s.numbers     = numbers;
  s.weights     = weights;
  s.factor      = factor;
  s.threshold2  = threshold * threshold;
  s.null_vector = null_vector;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(s.num_rows, "row sizes of a prolongator", stream, &s.sizes));
  PetscCallGoto(ierr, cleanup, CountAndWrite(&s, A[0], A[0].num_nonzeros + (num_blocks > 1 ? A[1].num_nonzeros : 0), num_coarse, stream, P, done));
cleanup:
  PetscCall(PetscSparseCUDAFree(&s.sizes, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(ShortKernel<false>);
DCSRPreload(ShortKernel<true>);
