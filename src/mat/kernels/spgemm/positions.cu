/*
  The numeric phase when it is repeated. A first repetition writes down where in its row of C each term goes, one or two bytes a term; those after it read that in place of B's columns, and make no
  tables. Where rows of B have one entry, as in tentative prolongators, an entry of C has the list of its terms, and a lane adds them up; otherwise a group of lanes takes one row of B after the other,
  as in numeric.cu. Sums have the order of the row of A in both, and the same bits as there.
*/
#include "batch.cuh"
#include "grid.cuh"
#include "../common/scan.h"
#include <petscsparsecuda/tuning.h>

namespace
{

constexpr int COUNT_LANES = 8;    // that count the terms of a row
constexpr int MAX_SINGLE  = 255;  // entries of a row of A whose terms are listed: their numbers are bytes
constexpr int NO_TERM     = 0xff; // of an entry of A that meets an empty row of B

constexpr int MAX_LANE_ENTRIES = 2; // of the rows of A that a lane takes alone

/* Rows are few when a multiprocessor has at most so many warps for them. Then each waits for memory alone, and loads more at a time. */
constexpr int FEW_WARPS = 16;
constexpr int FEW_AHEAD = 16; // rows of B

/* What a kernel asks about all rows, on the device. */
struct Longest {
  int a, b, c;  /* entries of the longest row of A, of the longest row of B that it meets, of the longest row of C */
  int indirect; /* whether such a row of B has another number of entries than one, or its first is not the entry with the number of the row */
};

/* Adds up the terms of rows; counts has room for entries, too, when they are to be kept beside. */
template <typename Offset, typename Count>
__global__ void __launch_bounds__(SPGEMM_THREADS) CountKernel(Factors<Offset> f, Offsets c_offsets, Rows rows, bool entries, Count *counts, Longest *longest)
{
  const int        lane  = threadIdx.x % COUNT_LANES;
  const int32_t    row   = rows(((PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x) / COUNT_LANES);
  const PetscCount begin = row < 0 ? 0 : f.a_offsets(row), end = row < 0 ? 0 : f.a_offsets(row + 1);
  Count            sum      = 0;
  int              b        = 0;
  bool             indirect = false;

  for (PetscCount k = begin + lane; k < end; k += COUNT_LANES) {
    const int32_t column = f.a_columns[k];
    const Offset  first  = f.b_offsets[column];
    const int     length = (int)(f.b_offsets[column + 1] - first);

    sum += length;
    b = max(b, length);
    if (first != column || length != 1) indirect = true;
  }
  for (int k = COUNT_LANES / 2; k > 0; k /= 2) sum += __shfl_xor_sync(FULL_WARP, sum, k);
  if (row >= 0 && lane == 0) counts[row] = sum + (entries ? (Count)(c_offsets(row + 1) - c_offsets(row)) : 0);
  b           = __reduce_max_sync(FULL_WARP, b);
  const int a = __reduce_max_sync(FULL_WARP, (int)(end - begin)), c = __reduce_max_sync(FULL_WARP, row < 0 ? 0 : (int)(c_offsets(row + 1) - c_offsets(row)));

  if (indirect) longest->indirect = 1;
  if (threadIdx.x % 32 == 0 && b > *(volatile int *)&longest->b) atomicMax(&longest->b, b);
  if (threadIdx.x % 32 == 0 && a > *(volatile int *)&longest->a) atomicMax(&longest->a, a);
  if (threadIdx.x % 32 == 0 && c > *(volatile int *)&longest->c) atomicMax(&longest->c, c);
}

/* What kernels know of the row of their group. All groups of a warp go on together; lengths are 0 for a group without a row. */
template <int Lanes, typename Offset>
struct GroupRow {
  int        lane, group;
  PetscCount begin, position, numbers; /* of A, of C, of the row's numbers */
  int        length, num_entries;

  __device__ GroupRow(const Factors<Offset> &f, const Offsets &c_offsets, const Offsets &number_offsets, const Rows &rows)
  {
    lane              = threadIdx.x % Lanes;
    group             = threadIdx.x / Lanes;
    const int32_t row = rows((PetscCount)blockIdx.x * (blockDim.x / Lanes) + group);

    begin       = row < 0 ? 0 : f.a_offsets(row);
    position    = row < 0 ? 0 : c_offsets(row);
    numbers     = row < 0 ? 0 : number_offsets(row);
    length      = row < 0 ? 0 : (int)(f.a_offsets(row + 1) - begin);
    num_entries = row < 0 ? 0 : (int)(c_offsets(row + 1) - position);
  }
};

/* Makes the table of a group's row. */
template <int Lanes, typename Offset>
__device__ inline WindowTable MakeTable(const GroupRow<Lanes, Offset> &r, char *shared, int log2_slots, const int32_t *c_columns)
{
  const WindowTable table = {(unsigned long long *)shared, log2_slots};

  for (int slot = r.lane; slot < 1 << log2_slots; slot += Lanes) table.slots[slot] = WindowTable::EMPTY;
  __syncwarp();
  BuildTable<Lanes>(table, c_columns + r.position, r.num_entries, r.lane);
  return table;
}

/* Writes down where the terms of a row go. */
template <int Lanes, typename Offset, typename Number>
__global__ void __launch_bounds__(SPGEMM_THREADS) PlaceKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, Offsets number_offsets, Number *numbers, Rows rows, int log2_slots)
{
  extern __shared__ char        shared[];
  const GroupRow<Lanes, Offset> r(f, c_offsets, number_offsets, rows);
  const WindowTable             table      = MakeTable<Lanes>(r, shared + r.group * GroupPitch<Lanes>(sizeof(unsigned long long) << log2_slots), log2_slots, c_columns);
  const int                     max_length = __reduce_max_sync(FULL_WARP, r.length);

  numbers += r.numbers;
  for (int first = 0; first < max_length; first += Lanes) {
    const Batch<Lanes, Offset> batch(f, r.begin + first + r.lane, first + r.lane < r.length, r.lane);

    for (int s = 0; s < Lanes; s++) {
      const Offset b      = ShuffleFrom<Lanes>(batch.begin, s);
      const int    length = ShuffleFrom<Lanes>(batch.length, s), before = ShuffleFrom<Lanes>(batch.before, s);

      for (int k = r.lane; k < length; k += Lanes) numbers[before + k] = (Number)table.Position(f.b_columns[b + k]);
    }
    numbers += batch.total;
  }
}

/* Lists the terms of each entry of C, where each entry of A has at most one: ends of the lists, then the lists. */
template <int Lanes, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS)
  ListKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, Offsets number_offsets, unsigned char *numbers, Rows rows, int log2_slots, int max_length)
{
  extern __shared__ char        shared[];
  const GroupRow<Lanes, Offset> r(f, c_offsets, number_offsets, rows);
  const size_t                  slots  = sizeof(unsigned long long) << log2_slots;
  char                         *mine   = shared + r.group * GroupPitch<Lanes>(slots + max_length);
  const WindowTable             table  = MakeTable<Lanes>(r, mine, log2_slots, c_columns);
  unsigned char                *places = (unsigned char *)mine + slots;

  numbers += r.numbers;
  for (int k = r.lane; k < r.length; k += Lanes) {
    const int32_t column = f.a_columns[r.begin + k];
    const Offset  b      = f.b_offsets[column];

    places[k] = f.b_offsets[column + 1] > b ? (unsigned char)table.Position(f.b_columns[b]) : NO_TERM;
  }
  __syncwarp();
  for (int e = r.lane; e < r.num_entries; e += Lanes) {
    int at = 0;

    for (int k = 0; k < r.length; k++) at += places[k] < e;
    for (int k = 0; k < r.length; k++)
      if (places[k] == e) numbers[r.num_entries + at++] = (unsigned char)k;
    numbers[e] = (unsigned char)at;
  }
}

/* Loads a term for each lane, of the row of B that the group's lane number from holds. It is on its way while other rows of B are used. */
template <int Lanes, typename Offset, typename Number>
__device__ inline void Load(const Factors<Offset> &f, const Batch<Lanes, Offset> &batch, const Number *numbers, int from, bool is_there, int lane, int *left, int *place, PetscScalar *value)
{
  const Offset b      = ShuffleFrom<Lanes>(batch.begin, from);
  const int    before = ShuffleFrom<Lanes>(batch.before, from);

  *left = ShuffleFrom<Lanes>(batch.length, from);
  if (!is_there) *left = 0;
  if (lane < *left) {
    *place = numbers[before + lane];
    *value = f.b_values[b + lane];
  }
}

/* Adds the terms of a row of B after the first Lanes. */
template <int Lanes, typename Offset, typename Number>
__device__ inline void AddOthers(const Factors<Offset> &f, const Batch<Lanes, Offset> &batch, const Number *numbers, int from, int left, int lane, PetscScalar factor, PetscScalar *sums)
{
  const Offset b      = ShuffleFrom<Lanes>(batch.begin, from);
  const int    before = ShuffleFrom<Lanes>(batch.before, from);

#pragma unroll(Lanes < 16 ? 1 : 2)
  for (int k = Lanes + lane; k < left; k += Lanes) sums[numbers[before + k]] += factor * f.b_values[b + k];
}

/* Adds the terms of a row to its sums. */
template <int Lanes, int Ahead, typename Offset, typename Number>
__device__ inline void AddTerms(const Factors<Offset> &f, const GroupRow<Lanes, Offset> &r, const Number *numbers, PetscScalar *sums)
{
  const int max_length = __reduce_max_sync(FULL_WARP, r.length);

  for (int first = 0; first < max_length; first += Lanes) {
    const int                  steps    = max_length - first < Lanes ? max_length - first : Lanes;
    const bool                 is_there = first + r.lane < r.length;
    const PetscScalar          a        = is_there ? f.a_values[r.begin + first + r.lane] : PetscScalar(0.0);
    const Batch<Lanes, Offset> batch(f, r.begin + first + r.lane, is_there, r.lane);
    int                        left[Ahead], place[Ahead];
    PetscScalar                value[Ahead];

#pragma unroll
    for (int u = 0; u < Ahead; u++) Load(f, batch, numbers, u, u < steps, r.lane, &left[u], &place[u], &value[u]);
    for (int s = 0; s < steps; s += Ahead) {
#pragma unroll
      for (int u = 0; u < Ahead; u++) {
        const int         from   = (s + u) % Lanes;
        const PetscScalar factor = ShuffleFrom<Lanes>(a, from);

        if (r.lane < left[u]) sums[place[u]] += factor * value[u];
        if (__any_sync(FULL_WARP, left[u] > Lanes)) AddOthers(f, batch, numbers, from, left[u], r.lane, factor, sums);
        __syncwarp();
        Load(f, batch, numbers, (from + Ahead) % Lanes, s + u + Ahead < steps, r.lane, &left[u], &place[u], &value[u]);
      }
    }
    numbers += batch.total;
  }
}

/* Ahead: rows of B that are loaded together */
template <int Lanes, int Ahead, typename Offset, typename Number>
__global__ void __launch_bounds__(SPGEMM_THREADS, Ahead == FEW_AHEAD ? FEW_WARPS * 32 / SPGEMM_THREADS
                                                  : Lanes < 16       ? 5
                                                                     : 4)
  PlacedKernel(Factors<Offset> f, Offsets c_offsets, PetscScalar *c_values, Offsets number_offsets, const Number *numbers, Rows rows, int max_entries)
{
  extern __shared__ char        shared[];
  const GroupRow<Lanes, Offset> r(f, c_offsets, number_offsets, rows);
  PetscScalar                  *sums = (PetscScalar *)(shared + r.group * GroupPitch<Lanes>((size_t)max_entries * sizeof(PetscScalar)));

  for (int k = r.lane; k < r.num_entries; k += Lanes) sums[k] = 0.0;
  __syncwarp();
  AddTerms<Lanes, Ahead>(f, r, numbers + r.numbers, sums);
  for (int k = r.lane; k < r.num_entries; k += Lanes) c_values[r.position + k] = sums[k];
}

/*
  A group holds the factors of the terms of its row in shared memory. What it loads at a time is on its way together: a loop that the compiler unrolls would wait for each entry of its rest. Room for
  more than a row has takes registers and with them warps: rows of 7 took 1.7 times as long with 8 entries a lane as with 2 (H200).
*/
template <int Lanes, int AHEAD, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS)
  ListedKernel(Factors<Offset> f, PetscCount b_entries, bool direct, Offsets c_offsets, PetscScalar *c_values, Offsets number_offsets, const unsigned char *numbers, Rows rows, int max_length)
{
  extern __shared__ char        shared[];
  const GroupRow<Lanes, Offset> r(f, c_offsets, number_offsets, rows);
  PetscScalar                  *a = (PetscScalar *)(shared + r.group * GroupPitch<Lanes>(2 * (size_t)max_length * sizeof(PetscScalar))), *b = a + max_length;

  numbers += r.numbers;
  const int first_begin = r.lane > 0 && r.lane < r.num_entries ? numbers[r.lane - 1] : 0, first_end = r.lane < r.num_entries ? numbers[r.lane] : 0; // before the lists are needed

  for (int k = r.lane; k < r.length; k += AHEAD * Lanes) {
    Offset      at[AHEAD];
    PetscScalar a_value[AHEAD], b_value[AHEAD];

#pragma unroll
    for (int u = 0; u < AHEAD; u++)
      if (k + u * Lanes < r.length) {
        at[u]      = f.a_columns[r.begin + k + u * Lanes];
        a_value[u] = f.a_values[r.begin + k + u * Lanes];
      }
    if (!direct) {
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        if (k + u * Lanes < r.length) at[u] = f.b_offsets[at[u]];
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
      if (k + u * Lanes < r.length) b_value[u] = f.b_values[at[u] < b_entries ? at[u] : b_entries - 1]; // of an empty row it is in no list
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
      if (k + u * Lanes < r.length) {
        a[k + u * Lanes] = a_value[u];
        b[k + u * Lanes] = b_value[u];
      }
  }
  __syncwarp();
  for (int e = r.lane; e < r.num_entries; e += Lanes) {
    const int   begin = e == r.lane ? first_begin : numbers[e - 1], end = e == r.lane ? first_end : numbers[e];
    PetscScalar sum = 0.0;

    for (int t = begin; t < end; t++) sum += a[numbers[r.num_entries + t]] * b[numbers[r.num_entries + t]];
    c_values[r.position + e] = sum;
  }
}

/* Lanes for lists: one for very short rows, more for long ones, of which the smallest thread block then holds few. */
PetscErrorCode ChooseListLanes(int max_length, int *lanes)
{
  const size_t bytes     = GroupPitch<4>(2 * (size_t)max_length * sizeof(PetscScalar));
  size_t       max_bytes = 0;

  PetscFunctionBegin;
  PetscCall(GetMaxBytes(&max_bytes));
  if (max_length <= MAX_LANE_ENTRIES) *lanes = 1;
  while (*lanes < 32 && LEAST_THREADS / *lanes * bytes > max_bytes) *lanes *= 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all launches of a product have in common. */
struct Launch {
  DCSRView               A, B, C;
  const SpGEMMPositions *p;
  SpGEMMBin              bin;
  Rows                   rows;
  bool                   few; // rows, so that a multiprocessor has at most FEW_WARPS warps for them
  cudaStream_t           stream;

  Offsets NumberOffsets() const
  {
    Offsets offsets;

    offsets.offsets = p->offsets;
    offsets.wide    = p->wide;
    return offsets;
  }
  template <int Lanes, typename Offset, typename Number>
  PetscErrorCode Place() const
  {
    Grid g;

    PetscFunctionBegin;
    PetscCall(GetGrid(Lanes, GroupPitch<Lanes>(sizeof(unsigned long long) << bin.log2_slots), rows.n, &g));
    PetscCall(LaunchOn(g, stream, PlaceKernel<Lanes, Offset, Number>, Factors<Offset>(A, B), Offsets(C), (const int32_t *)C.columns, NumberOffsets(), (Number *)p->numbers, rows, bin.log2_slots));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <int Lanes, int Ahead, typename Offset, typename Number>
  PetscErrorCode PlacedAhead() const
  {
    Grid g;

    PetscFunctionBegin;
    PetscCall(GetGrid(Lanes, GroupPitch<Lanes>((size_t)bin.max_entries * sizeof(PetscScalar)), rows.n, &g));
    PetscCall(LaunchOn(g, stream, PlacedKernel<Lanes, Ahead, Offset, Number>, Factors<Offset>(A, B), Offsets(C), C.values, NumberOffsets(), (const Number *)p->numbers, rows, bin.max_entries));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <int Lanes, typename Offset, typename Number>
  PetscErrorCode Placed() const
  {
    PetscFunctionBegin;
    if constexpr (Lanes < 16) PetscCall((PlacedAhead<Lanes, 2, Offset, Number>()));
    else if (few) PetscCall((PlacedAhead<Lanes, FEW_AHEAD, Offset, Number>()));
    else PetscCall((PlacedAhead<Lanes, 4, Offset, Number>()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <int Lanes, typename Offset>
  PetscErrorCode List() const
  {
    Grid g;

    PetscFunctionBegin;
    PetscCall(GetGrid(Lanes, GroupPitch<Lanes>((sizeof(unsigned long long) << bin.log2_slots) + (size_t)p->max_length), rows.n, &g));
    PetscCall(LaunchOn(g, stream, ListKernel<Lanes, Offset>, Factors<Offset>(A, B), Offsets(C), (const int32_t *)C.columns, NumberOffsets(), p->numbers, rows, bin.log2_slots, p->max_length));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <int Lanes, int AHEAD, typename Offset>
  PetscErrorCode ListedAhead() const
  {
    Grid g;

    PetscFunctionBegin;
    PetscCall(GetGrid(Lanes, GroupPitch<Lanes>(2 * (size_t)p->max_length * sizeof(PetscScalar)), rows.n, &g));
    PetscCall(LaunchOn(g, stream, ListedKernel<Lanes, AHEAD, Offset>, Factors<Offset>(A, B), B.num_nonzeros, (bool)p->direct, Offsets(C), C.values, NumberOffsets(), (const unsigned char *)p->numbers,
                       rows, p->max_length));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <int Lanes, typename Offset>
  PetscErrorCode Listed() const
  {
    PetscFunctionBegin;
    if (Lanes == 1) PetscCall((ListedAhead<Lanes, MAX_LANE_ENTRIES, Offset>()));
    else if (p->max_length <= 2 * Lanes) PetscCall((ListedAhead<Lanes, 2, Offset>()));
    else if (Lanes > 4 || p->max_length <= 4 * Lanes) PetscCall((ListedAhead<Lanes, 4, Offset>()));
    else PetscCall((ListedAhead<Lanes, 8, Offset>()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <int Lanes, typename Offset>
  PetscErrorCode Any(bool make) const
  {
    PetscFunctionBegin;
    if (p->single) PetscCall(make ? (List<Lanes, Offset>()) : (Listed<Lanes, Offset>()));
    else if (p->bytes == 1) PetscCall(make ? (Place<Lanes, Offset, uint8_t>()) : (Placed<Lanes, Offset, uint8_t>()));
    else PetscCall(make ? (Place<Lanes, Offset, uint16_t>()) : (Placed<Lanes, Offset, uint16_t>()));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <typename Offset>
  PetscErrorCode AnyLanes(int lanes, bool make) const
  {
    PetscFunctionBegin;
    if (lanes == 1) PetscCall((Listed<1, Offset>()));
    else if (lanes <= 4) PetscCall((Any<4, Offset>(make)));
    else if (lanes == 8) PetscCall((Any<8, Offset>(make)));
    else if (lanes == 16) PetscCall((Any<16, Offset>(make)));
    else PetscCall((Any<32, Offset>(make)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* More lanes for few rows, up to a warp. */
PetscErrorCode RaiseLanes(PetscCount n, int *lanes, bool *few)
{
  DCSRDeviceFacts facts;
  int             most = 32;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  while (most > *lanes && n * most > (PetscCount)FEW_WARPS * 32 * facts.num_multiprocessors) most /= 2;
  *lanes = PetscMax(*lanes, most);
  *few   = n * *lanes <= (PetscCount)FEW_WARPS * 32 * facts.num_multiprocessors;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One launch of the kernel that makes positions, or of the one that reads them. */
PetscErrorCode Run(DCSRView A, DCSRView B, DCSRView C, const SpGEMMPositions *p, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], bool make, cudaStream_t stream)
{
  Launch launch = {A, B, C, p, *bin, {n, list}, false, stream};

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  lanes = PetscMax(lanes, bin->min_lanes);
  if (p->single && !make) PetscCall(ChooseListLanes(p->max_length, &lanes));
  else PetscCall(RaiseLanes(n, &lanes, &launch.few));
  if (B.wide) PetscCall(launch.AnyLanes<int64_t>(lanes, make));
  else PetscCall(launch.AnyLanes<int32_t>(lanes, make));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, typename Count>
PetscErrorCode CountRows(DCSRView A, DCSRView B, DCSRView C, Rows rows, bool entries, Count counts[], Longest *longest, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(counts, 0, ((size_t)C.num_rows + 1) * sizeof(Count), stream));
  PetscCallCUDA(cudaMemsetAsync(longest, 0, sizeof(*longest), stream));
  CountKernel<Offset, Count><<<DCSRNumBlocks(rows.n * COUNT_LANES, SPGEMM_THREADS), SPGEMM_THREADS, 0, stream>>>(Factors<Offset>(A, B), Offsets(C), rows, entries, counts, longest);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The offsets of the rows' numbers; how many there are, and the longest rows, come to the host. */
template <typename Count>
PetscErrorCode MakeOffsets(DCSRView A, DCSRView B, DCSRView C, Rows rows, bool entries, Count offsets[], Longest *device, cudaStream_t stream, PetscCount *total, Longest *longest)
{
  Count last;

  PetscFunctionBegin;
  if (B.wide) PetscCall((CountRows<int64_t, Count>(A, B, C, rows, entries, offsets, device, stream)));
  else PetscCall((CountRows<int32_t, Count>(A, B, C, rows, entries, offsets, device, stream)));
  PetscCall(DCSRExclusiveSum("workspace to sum terms of a product", offsets, (PetscCount)C.num_rows + 1, stream));
  PetscCallCUDA(cudaMemcpyAsync(&last, offsets + C.num_rows, sizeof(last), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(longest, device, sizeof(*longest), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *total = (PetscCount)last;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMPositionsMeasure - How much room the positions of rows take, list [n] (device) or NULL for rows 0 to n - 1; offsets, and whether entries of C have lists. Synchronizes
  bytes and wide of p are chosen, bytes for places. p->offsets stays NULL when there is no memory for it.
*/
PetscErrorCode SpGEMMPositionsMeasure(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream, SpGEMMPositions *p)
{
  const bool     entries = !p->of_blocks && B.num_nonzeros <= (PetscCount)B.num_rows; // rows of one entry may have lists, whose ends are kept, too
  const Rows     rows    = {n, list};
  Longest       *device = NULL, longest = {0, 0, 0, 0};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc(1, stream, &device));
  if (device == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDATryMalloc_Private(((size_t)C.num_rows + 1) * (p->wide ? sizeof(int64_t) : sizeof(int32_t)), stream, &p->offsets));
  if (p->offsets == NULL) goto cleanup;
  if (p->wide) PetscCallGoto(ierr, cleanup, MakeOffsets(A, B, C, rows, entries, (int64_t *)p->offsets, device, stream, &p->total, &longest));
  else PetscCallGoto(ierr, cleanup, MakeOffsets(A, B, C, rows, entries, (int32_t *)p->offsets, device, stream, &p->total, &longest));
  p->single      = (PetscBool)(entries && longest.b <= 1 && longest.a <= MAX_SINGLE);
  p->one         = (PetscBool)(p->of_blocks && longest.b <= 1);
  p->direct      = (PetscBool)!longest.indirect;
  p->max_length  = longest.a;
  p->max_entries = longest.c;
  if (p->single) p->bytes = 1; // numbers of lists are
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMPositionsFill - Writes down where the terms of rows of C go, list [n] (device) or NULL; the table of bin holds every row of the list. Asynchronous */
PetscErrorCode SpGEMMPositionsFill(DCSRView A, DCSRView B, DCSRView C, const SpGEMMPositions *p, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Run(A, B, C, p, bin, lanes, n, list, true, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMNumericPositions - Values of rows of C whose positions are there; see SpGEMMNumericGroups(). bin->max_entries holds every row of the list. Asynchronous */
PetscErrorCode SpGEMMNumericPositions(DCSRView A, DCSRView B, DCSRView C, const SpGEMMPositions *p, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Run(A, B, C, p, bin, lanes, n, list, false, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMPositionsFree - Frees the arrays. */
PetscErrorCode SpGEMMPositionsFree(SpGEMMPositions *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&p->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&p->numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
