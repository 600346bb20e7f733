/*
  Filling rows of groups of lanes: the windows of the row again, now sorted, which gives every entry its place in the row; then the columns, and with values a
  second walk that adds each product to its place. The sums are in shared memory, C is written once, coalesced.
*/
#include "table.cuh"

namespace
{

constexpr int COUNTING_WINDOWS = 64; // a row of more windows is sorted by a bitonic network, smaller ones by counting smaller windows

/* Shared memory of a group: keys and {mask, base} of the table, then an area for windows to sort, columns on their way out, and sums. */
struct FillShared {
  unsigned    *keys;
  uint2       *slots; // x: mask, y: place of the window's first entry in the row
  uint2       *windows;
  int32_t     *columns;
  PetscScalar *sums;

  static __host__ __device__ size_t Bytes(int log2_slots, int entries) { return (12ull << log2_slots) + (size_t)entries * (sizeof(PetscScalar) > 8 ? sizeof(PetscScalar) : 8); }
  __device__                        FillShared(char *shared, int group, int log2_slots, int entries)
  {
    char *mine = shared + group * Bytes(log2_slots, entries);

    slots   = (uint2 *)mine;
    keys    = (unsigned *)(mine + (8 << log2_slots));
    mine    = mine + (12 << log2_slots);
    windows = (uint2 *)mine;
    columns = (int32_t *)mine;
    sums    = (PetscScalar *)mine;
  }
};

/* Enters a product row into the table. */
struct InsertProcess {
  WindowTable table;
  uint2      *slots;

  __device__ bool operator()(int32_t column, PetscScalar) const
  {
    if (column >= 0) SetBit(&slots[table.Insert(WindowOf(column), 1 << table.log2_slots)].x, BitOf(column));
    return false;
  }
};

/* Adds a product row to the sums. */
struct AddProcess {
  WindowTable  table;
  const uint2 *slots;
  PetscScalar *sums;

  __device__ bool operator()(int32_t column, PetscScalar product) const
  {
    if (column >= 0) {
      const uint2 slot = slots[table.Find(WindowOf(column))];

      sums[slot.y + __popc(slot.x & (BitOf(column) - 1))] += product;
    }
    __syncwarp();
    return false;
  }
};

/* The windows of the table, in any order: {window, slot << 8 | entries}; returns how many. */
template <int Lanes>
__device__ inline int ListWindows(const FillShared &s, int num_slots, int lane)
{
  int num = 0;

  for (int first = 0; first < num_slots; first += Lanes) {
    const int      slot   = first + lane;
    const unsigned key    = slot < num_slots ? s.keys[slot] : SPGEMM_NO_WINDOW;
    const unsigned ballot = __ballot_sync(FULL_WARP, key != SPGEMM_NO_WINDOW) >> (threadIdx.x % 32 / Lanes * Lanes) & (unsigned)((1ull << Lanes) - 1);

    if (key != SPGEMM_NO_WINDOW) s.windows[num + __popc(ballot & ((1u << lane) - 1))] = make_uint2(key, (unsigned)slot << 8 | __popc(s.slots[slot].x));
    num += __popc(ballot);
  }
  return num;
}

/* Places by counting the entries of smaller windows. */
template <int Lanes>
__device__ inline void PlaceByCounting(const FillShared &s, int num, int lane)
{
  for (int k = lane; k < num; k += Lanes) {
    const uint2 mine = s.windows[k];
    unsigned    base = 0;

    for (int j = 0; j < num; j++) {
      const uint2 other = s.windows[j];

      if (other.x < mine.x) base += other.y & 255;
    }
    s.slots[mine.y >> 8].y = base;
  }
}

/* Places by sorting the windows; a warp. */
__device__ inline void PlaceBySorting(const FillShared &s, int num, int lane)
{
  int      padded = 64;
  unsigned base   = 0;

  while (padded < num) padded *= 2;
  for (int k = num + lane; k < padded; k += 32) s.windows[k] = make_uint2(SPGEMM_NO_WINDOW, 0);
  __syncwarp();
  for (int size = 2; size <= padded; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int k = lane; k < padded / 2; k += 32) {
        const int   i = 2 * k - (k & (stride - 1)), j = i + stride;
        const uint2 x = s.windows[i], y = s.windows[j];

        if ((x.x > y.x) == ((i & size) == 0)) {
          s.windows[i] = y;
          s.windows[j] = x;
        }
      }
      __syncwarp();
    }
  for (int first = 0; first < num; first += 32) {
    const uint2 mine = first + lane < num ? s.windows[first + lane] : make_uint2(SPGEMM_NO_WINDOW, 0);
    unsigned    sum  = mine.y & 255;

    for (int k = 1; k < 32; k *= 2) {
      const unsigned before = __shfl_up_sync(FULL_WARP, sum, k);

      if (lane >= k) sum += before;
    }
    if (first + lane < num) s.slots[mine.y >> 8].y = base + sum - (mine.y & 255);
    base += __shfl_sync(FULL_WARP, sum, 31);
  }
}

/* The columns of the row in order, through shared memory. */
template <int Lanes>
__device__ inline void WriteColumns(const FillShared &s, int num_slots, int num_entries, int lane, int32_t *columns)
{
  for (int slot = lane; slot < num_slots; slot += Lanes) {
    const unsigned key  = s.keys[slot];
    const uint2    mine = s.slots[slot];
    unsigned       mask = key == SPGEMM_NO_WINDOW ? 0 : mine.x;

    for (unsigned k = mine.y; mask; k++) {
      s.columns[k] = (int32_t)(key << SPGEMM_WINDOW_BITS | (__ffs(mask) - 1));
      mask &= mask - 1;
    }
  }
  __syncwarp();
  for (int k = lane; k < num_entries; k += Lanes) columns[k] = s.columns[k];
}

template <int Lanes, bool Values, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) FillKernel(Factors<Offset> f, Offsets c_offsets, int32_t *c_columns, PetscScalar *c_values, PetscCount n, const int32_t *list, int log2_slots, int max_entries)
{
  extern __shared__ char shared[];
  constexpr int          groups    = SPGEMM_THREADS / Lanes;
  const int              num_slots = 1 << log2_slots, lane = threadIdx.x % Lanes;
  const FillShared       s(shared, threadIdx.x / Lanes, log2_slots, max_entries);
  const WindowTable      table = {s.keys, log2_slots};
  const PetscCount       item  = (PetscCount)blockIdx.x * groups + threadIdx.x / Lanes;
  const int32_t          row   = item >= n ? -1 : list ? list[item] : (int32_t)item;
  const PetscCount       begin = row < 0 ? 0 : f.a_offsets(row), place = row < 0 ? 0 : c_offsets(row);
  const int              length = row < 0 ? 0 : (int)(f.a_offsets(row + 1) - begin), num_entries = row < 0 ? 0 : (int)(c_offsets(row + 1) - place);
  int                    num_windows;

  for (int slot = lane; slot < num_slots; slot += Lanes) {
    s.keys[slot]  = SPGEMM_NO_WINDOW;
    s.slots[slot] = make_uint2(0, 0);
  }
  __syncwarp();
  WalkProducts<Lanes, false>(f, begin, length, lane, InsertProcess{table, s.slots});
  __syncwarp();
  num_windows = ListWindows<Lanes>(s, num_slots, lane);
  __syncwarp();
  if (Lanes == 32 && num_windows > COUNTING_WINDOWS) PlaceBySorting(s, num_windows, lane);
  else PlaceByCounting<Lanes>(s, num_windows, lane);
  __syncwarp();
  WriteColumns<Lanes>(s, num_slots, num_entries, lane, c_columns + place);
  if constexpr (Values) {
    __syncwarp();
    for (int k = lane; k < num_entries; k += Lanes) s.sums[k] = 0.0;
    __syncwarp();
    WalkProducts<Lanes, true>(f, begin, length, lane, AddProcess{table, s.slots, s.sums});
    for (int k = lane; k < num_entries; k += Lanes) c_values[place + k] = s.sums[k];
  }
}

/* Values alone: the table is made from the columns of C, whose places are known. */
template <int Lanes, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS) NumericKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, PetscScalar *c_values, PetscCount n, const int32_t *list, int log2_slots, int max_entries)
{
  extern __shared__ char shared[];
  constexpr int          groups    = SPGEMM_THREADS / Lanes;
  const int              num_slots = 1 << log2_slots, lane = threadIdx.x % Lanes;
  const FillShared       s(shared, threadIdx.x / Lanes, log2_slots, max_entries);
  const WindowTable      table = {s.keys, log2_slots};
  const PetscCount       item  = (PetscCount)blockIdx.x * groups + threadIdx.x / Lanes;
  const int32_t          row   = item >= n ? -1 : list ? list[item] : (int32_t)item;
  const PetscCount       begin = row < 0 ? 0 : f.a_offsets(row), place = row < 0 ? 0 : c_offsets(row);
  const int              length = row < 0 ? 0 : (int)(f.a_offsets(row + 1) - begin), num_entries = row < 0 ? 0 : (int)(c_offsets(row + 1) - place);

  for (int slot = lane; slot < num_slots; slot += Lanes) {
    s.keys[slot]  = SPGEMM_NO_WINDOW;
    s.slots[slot] = make_uint2(0, 0);
  }
  for (int k = lane; k < num_entries; k += Lanes) s.sums[k] = 0.0;
  __syncwarp();
  for (int k = lane; k < num_entries; k += Lanes) {
    const unsigned window = WindowOf(c_columns[place + k]);

    if (k == 0 || WindowOf(c_columns[place + k - 1]) != window) s.slots[table.Insert(window, num_slots)].y = (unsigned)k;
  }
  __syncwarp();
  for (int k = lane; k < num_entries; k += Lanes) {
    const int32_t column = c_columns[place + k];

    atomicOr(&s.slots[table.Find(WindowOf(column))].x, BitOf(column));
  }
  __syncwarp();
  WalkProducts<Lanes, true>(f, begin, length, lane, AddProcess{table, s.slots, s.sums});
  for (int k = lane; k < num_entries; k += Lanes) c_values[place + k] = s.sums[k];
}

typedef enum {
  FILL_COLUMNS,
  FILL_BOTH,
  FILL_VALUES
} FillKind;

template <int Lanes, typename Offset>
PetscErrorCode Launch(DCSRView A, DCSRView B, DCSRView C, FillKind kind, const SpGEMMBin *bin, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  constexpr int         groups = SPGEMM_THREADS / Lanes;
  const size_t          bytes  = groups * FillShared::Bytes(bin->log2_slots, bin->max_entries);
  const unsigned int    blocks = (unsigned int)((n + groups - 1) / groups);
  const Factors<Offset> f(A, B);
  const Offsets         c_offsets(C);

  PetscFunctionBegin;
  if (bytes > 48 << 10) {
    if (kind == FILL_VALUES) PetscCallCUDA(cudaFuncSetAttribute(NumericKernel<Lanes, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    else if (kind == FILL_BOTH) PetscCallCUDA(cudaFuncSetAttribute(FillKernel<Lanes, true, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    else PetscCallCUDA(cudaFuncSetAttribute(FillKernel<Lanes, false, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  }
  if (kind == FILL_VALUES) NumericKernel<Lanes, Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(f, c_offsets, C.columns, C.values, n, list, bin->log2_slots, bin->max_entries);
  else if (kind == FILL_BOTH) FillKernel<Lanes, true, Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(f, c_offsets, C.columns, C.values, n, list, bin->log2_slots, bin->max_entries);
  else FillKernel<Lanes, false, Offset><<<blocks, SPGEMM_THREADS, bytes, stream>>>(f, c_offsets, C.columns, C.values, n, list, bin->log2_slots, bin->max_entries);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode LaunchLanes(DCSRView A, DCSRView B, DCSRView C, FillKind kind, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  lanes = PetscMax(lanes, bin->min_lanes);
  if (lanes <= 4) PetscCall((Launch<4, Offset>(A, B, C, kind, bin, n, list, stream)));
  else if (lanes == 8) PetscCall((Launch<8, Offset>(A, B, C, kind, bin, n, list, stream)));
  else if (lanes == 16) PetscCall((Launch<16, Offset>(A, B, C, kind, bin, n, list, stream)));
  else PetscCall((Launch<32, Offset>(A, B, C, kind, bin, n, list, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LaunchFill(DCSRView A, DCSRView B, DCSRView C, FillKind kind, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (B.wide) PetscCall(LaunchLanes<int64_t>(A, B, C, kind, bin, lanes, n, list, stream));
  else PetscCall(LaunchLanes<int32_t>(A, B, C, kind, bin, lanes, n, list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMFillGroups - Columns, and values when asked for, of rows whose windows and entries a group of lanes holds in shared memory.

  Input Parameters:
+ A, B   - compact operands
. C      - row offsets are there, columns and values are written
. values - whether the values are computed, too
. bin    - its table holds every row of the list
. lanes  - of a group: 4, 8, 16 or 32; raised to what the bin asks for
. n      - rows
. list   - [n] device, or NULL for rows 0 to n - 1
- stream - asynchronous on it
*/
PetscErrorCode SpGEMMFillGroups(DCSRView A, DCSRView B, DCSRView C, PetscBool values, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(LaunchFill(A, B, C, values ? FILL_BOTH : FILL_COLUMNS, bin, lanes, n, list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMNumericGroups - The values alone, of rows whose columns are there; see SpGEMMFillGroups(). */
PetscErrorCode SpGEMMNumericGroups(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(LaunchFill(A, B, C, FILL_VALUES, bin, lanes, n, list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
