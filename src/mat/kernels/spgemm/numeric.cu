/*
  Values of rows whose table and sums a group of lanes holds in shared memory. The group takes one row of B after the other, whose entries lie side by side in the
  lanes. Columns of a row of B are distinct: lanes never add to the same sum. Sums have the order of the row of A: they are bitwise reproducible without atomic
  operations.
*/
#include "grid.cuh"
#include "table.cuh"
#include "../common/preload.cuh"

namespace
{

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

/* Loads an entry for each lane of the row of B that the group's lane number from holds. It is on its way while other rows of B are used. */
template <int Lanes, typename Offset>
__device__ inline void Load(const Factors<Offset> &f, Offset begin, int length, int from, bool is_there, int lane, Offset *b, int *left, int32_t *column, PetscScalar *value)
{
  *b    = ShuffleFrom<Lanes>(begin, from);
  *left = ShuffleFrom<Lanes>(length, from);
  if (!is_there) *left = 0;
  if (lane < *left) {
    *column = f.b_columns[*b + lane];
    *value  = f.b_values[*b + lane];
  }
}

/* Adds the terms of a row to its sums. All groups of a warp traverse together; a_length is 0 for a group without a row. */
template <int Lanes, int Ahead, typename Offset>
__device__ inline void AddTerms(const Factors<Offset> &f, PetscCount a_begin, int a_length, int lane, const WindowTable &table, PetscScalar *sums)
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
    Offset      b[Ahead];
    int         left[Ahead];
    PetscScalar value[Ahead];
    int32_t     column[Ahead];

#pragma unroll
    for (int u = 0; u < Ahead; u++) Load<Lanes>(f, begin, length, u, u < steps, lane, &b[u], &left[u], &column[u], &value[u]);
    for (int s = 0; s < steps; s += Ahead) {
#pragma unroll
      for (int u = 0; u < Ahead; u++) {
        const PetscScalar factor = ShuffleFrom<Lanes>(a, (s + u) % Lanes);

        if (lane < left[u]) sums[table.Position(column[u])] += factor * value[u];
        if (__any_sync(FULL_WARP, left[u] > Lanes))
          for (int k = Lanes + lane; k < left[u]; k += Lanes) sums[table.Position(f.b_columns[b[u] + k])] += factor * f.b_values[b[u] + k];
        __syncwarp();
        Load<Lanes>(f, begin, length, (s + u + Ahead) % Lanes, s + u + Ahead < steps, lane, &b[u], &left[u], &column[u], &value[u]);
      }
    }
  }
}

template <int Lanes, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS, Lanes < 16 ? 6 : 4)
  NumericKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, PetscScalar *c_values, PetscCount n, const int32_t *list, int log2_slots, int max_entries)
{
  extern __shared__ char shared[];
  const int              lane = threadIdx.x % Lanes;
  const GroupShared      s(shared, threadIdx.x / Lanes * GroupPitch<Lanes>(GroupShared::Bytes(log2_slots, max_entries)), log2_slots);
  const WindowTable      table = {s.slots, log2_slots};
  const PetscCount       item  = (PetscCount)blockIdx.x * (blockDim.x / Lanes) + threadIdx.x / Lanes;
  const int32_t          row   = item >= n ? -1 : list ? list[item] : (int32_t)item;
  const PetscCount       begin = row < 0 ? 0 : f.a_offsets(row), position = row < 0 ? 0 : c_offsets(row);
  const int              length = row < 0 ? 0 : (int)(f.a_offsets(row + 1) - begin), num_entries = row < 0 ? 0 : (int)(c_offsets(row + 1) - position);

  for (int slot = lane; slot < 1 << log2_slots; slot += Lanes) s.slots[slot] = WindowTable::EMPTY;
  for (int k = lane; k < num_entries; k += Lanes) s.sums[k] = 0.0;
  __syncwarp();
  BuildTable<Lanes>(table, c_columns + position, num_entries, lane);
  AddTerms<Lanes, (Lanes < 16 ? 2 : 4)>(f, begin, length, lane, table, s.sums);
  for (int k = lane; k < num_entries; k += Lanes) c_values[position + k] = s.sums[k];
}

template <int Lanes, typename Offset>
PetscErrorCode Launch(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  Grid g;

  PetscFunctionBegin;
  PetscCall(GetGrid(Lanes, GroupPitch<Lanes>(GroupShared::Bytes(bin->log2_slots, bin->max_entries)), n, &g));
  PetscCall(LaunchOn(g, stream, NumericKernel<Lanes, Offset>, Factors<Offset>(A, B), Offsets(C), (const int32_t *)C.columns, C.values, n, list, bin->log2_slots, bin->max_entries));
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

/* SpGEMMNumericHolds - Whether the device holds the smallest thread block of a bin of groups. */
PetscBool SpGEMMNumericHolds(const PetscSparseCUDATuning *tuning, const SpGEMMBin *bin)
{
  const size_t pitch = GroupPitch<8>(GroupShared::Bytes(bin->log2_slots, bin->max_entries)); // no other one is larger

  return PetscSparseCUDATuningHolds(tuning, LEAST_THREADS, (size_t)(LEAST_THREADS / bin->min_lanes) * pitch, 1);
}

/*
  SpGEMMNumericGroups - Values of rows of C, list [n] (device) or NULL for rows 0 to n - 1, whose row offsets and columns are there. Asynchronous
  A and B are compact. The table of bin holds every row of the list. lanes of a group: 4, 8, 16 or 32; raised to what the bin asks for.
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

// of nearly every setup of PCGAMG
DCSRPreload(NumericKernel<8, int32_t>);
