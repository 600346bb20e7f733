/*
  Values of rows whose table and sums a group of lanes holds in shared memory. One row of B after the other, its entries side by side in the lanes: columns of a row
  of B are distinct, so lanes never add to the same sum, and sums have the order of the row of A: bitwise reproducible without atomic operations.
*/
#include "table.cuh"

namespace
{

constexpr size_t MAX_BLOCK_BYTES = 37 << 10;
constexpr int    STEPS           = 4; // rows of B that a group loads together

/* Shared memory of a group. */
struct GroupShared {
  unsigned long long *slots;
  PetscScalar        *sums;

  static __host__ __device__ size_t Bytes(int log2_slots, int entries) { return (sizeof(unsigned long long) << log2_slots) + (size_t)entries * sizeof(PetscScalar); }
  __device__                        GroupShared(char *shared, size_t offset, int log2_slots)
  {
    slots = (unsigned long long *)(shared + offset);
    sums  = (PetscScalar *)(slots + (1 << log2_slots));
  }
};

/* Adds the products of a row to its sums; all groups of a warp walk together, a_length is 0 for a group without a row. */
template <int Lanes, typename Offset>
__device__ inline void AddProducts(const Factors<Offset> &f, PetscCount a_begin, int a_length, int lane, const WindowTable &table, PetscScalar *sums)
{
  const int max_length = __reduce_max_sync(FULL_WARP, a_length);

  for (int first = 0; first < max_length; first += Lanes) {
    const int   steps  = max_length - first < Lanes ? max_length - first : Lanes;
    Offset      begin  = 0;
    int         length = 0;
    PetscScalar a      = 0.0;

    if (first + lane < a_length) {
      const int32_t column = f.a_columns[a_begin + first + lane];

      begin  = f.b_offsets[column];
      length = (int)(f.b_offsets[column + 1] - begin);
      a      = f.a_values[a_begin + first + lane];
    }
    for (int s = 0; s < steps; s += STEPS) {
      Offset      b[STEPS];
      int         left[STEPS], most = 0;
      PetscScalar value[STEPS];
      int32_t     column[STEPS];

#pragma unroll
      for (int u = 0; u < STEPS; u++) { // on their way together
        b[u]    = ShuffleFrom<Lanes>(begin, (s + u) % Lanes);
        left[u] = s + u < steps ? ShuffleFrom<Lanes>(length, s + u) : 0;
        most    = left[u] > most ? left[u] : most;
        if (lane < left[u]) {
          column[u] = f.b_columns[b[u] + lane];
          value[u]  = f.b_values[b[u] + lane];
        }
      }
      const bool has_more = __any_sync(FULL_WARP, most > Lanes);

#pragma unroll
      for (int u = 0; u < STEPS; u++) {
        const PetscScalar factor = ShuffleFrom<Lanes>(a, (s + u) % Lanes);

        if (lane < left[u]) sums[table.Place(column[u])] += factor * value[u];
        if (has_more)
          for (int k = Lanes + lane; k < left[u]; k += Lanes) sums[table.Place(f.b_columns[b[u] + k])] += factor * f.b_values[b[u] + k];
        __syncwarp();
      }
    }
  }
}

template <int Lanes, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS, 6) NumericKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, PetscScalar *c_values, PetscCount n, const int32_t *list, int log2_slots, int max_entries)
{
  extern __shared__ char shared[];
  const int              lane = threadIdx.x % Lanes;
  const GroupShared      s(shared, threadIdx.x / Lanes * GroupPitch<Lanes>(GroupShared::Bytes(log2_slots, max_entries)), log2_slots);
  const WindowTable      table = {s.slots, log2_slots};
  const PetscCount       item  = (PetscCount)blockIdx.x * (blockDim.x / Lanes) + threadIdx.x / Lanes;
  const int32_t          row   = item >= n ? -1 : list ? list[item] : (int32_t)item;
  const PetscCount       begin = row < 0 ? 0 : f.a_offsets(row), place = row < 0 ? 0 : c_offsets(row);
  const int              length = row < 0 ? 0 : (int)(f.a_offsets(row + 1) - begin), num_entries = row < 0 ? 0 : (int)(c_offsets(row + 1) - place);

  for (int slot = lane; slot < 1 << log2_slots; slot += Lanes) s.slots[slot] = WindowTable::EMPTY;
  for (int k = lane; k < num_entries; k += Lanes) s.sums[k] = 0.0;
  __syncwarp();
  BuildTable<Lanes>(table, c_columns + place, num_entries, lane);
  AddProducts<Lanes>(f, begin, length, lane, table, s.sums);
  for (int k = lane; k < num_entries; k += Lanes) c_values[place + k] = s.sums[k];
}

template <int Lanes, typename Offset>
PetscErrorCode Launch(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  const size_t pitch   = GroupPitch<Lanes>(GroupShared::Bytes(bin->log2_slots, bin->max_entries));
  unsigned int threads = SPGEMM_THREADS, groups, blocks;
  size_t       bytes;

  PetscFunctionBegin;
  while (threads > 64 && threads / Lanes * pitch > MAX_BLOCK_BYTES) threads /= 2; // blocks of which a multiprocessor holds several
  groups = threads / Lanes;
  blocks = (unsigned int)((n + groups - 1) / groups);
  bytes  = groups * pitch;
  if (bytes > 48 << 10) PetscCallCUDA(cudaFuncSetAttribute(NumericKernel<Lanes, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  NumericKernel<Lanes, Offset><<<blocks, threads, bytes, stream>>>(Factors<Offset>(A, B), Offsets(C), C.columns, C.values, n, list, bin->log2_slots, bin->max_entries);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode LaunchLanes(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (lanes <= 4) PetscCall((Launch<4, Offset>(A, B, C, bin, n, list, stream)));
  else if (lanes == 8) PetscCall((Launch<8, Offset>(A, B, C, bin, n, list, stream)));
  else if (lanes == 16) PetscCall((Launch<16, Offset>(A, B, C, bin, n, list, stream)));
  else PetscCall((Launch<32, Offset>(A, B, C, bin, n, list, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMNumericGroups - Values of rows whose columns are there.

  Input Parameters:
+ A, B   - compact operands
. C      - row offsets and columns are there, values are written
. bin    - its table holds every row of the list
. lanes  - of a group: 4, 8, 16 or 32; raised to what the bin asks for
. n      - rows
. list   - [n] device, or NULL for rows 0 to n - 1
- stream - asynchronous on it
*/
PetscErrorCode SpGEMMNumericGroups(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  lanes = PetscMax(lanes, bin->min_lanes);
  if (B.wide) PetscCall(LaunchLanes<int64_t>(A, B, C, bin, lanes, n, list, stream));
  else PetscCall(LaunchLanes<int32_t>(A, B, C, bin, lanes, n, list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
