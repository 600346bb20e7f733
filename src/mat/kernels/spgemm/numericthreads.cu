/*
  Values of short rows by single threads, as threads.cu finds their structure. A thread's windows and sums lie in shared memory so that each lane has banks of its
  own. Its sums have the order of the row of A.
*/
#include "table.cuh"

namespace
{

constexpr int THREADS = 128;
constexpr int SLOTS   = 16; // of the only bin whose values threads compute: groups are faster at longer rows

/* The windows and sums of a lane: entry k of each array is at [k * 32]. */
template <int Slots>
struct LaneSums {
  unsigned    *windows; /* [Slots] */
  unsigned    *words;   /* [Slots] position of a window's first entry above, mask of its columns below */
  PetscScalar *sums;    /* [max_entries] */

  static __host__ __device__ size_t WarpBytes(int max_entries) { return 32 * ((size_t)Slots * 2 * sizeof(unsigned) + (size_t)max_entries * sizeof(PetscScalar)); }
  __device__                        LaneSums(char *shared, int max_entries)
  {
    char     *warp = shared + threadIdx.x / 32 * WarpBytes(max_entries);
    const int lane = threadIdx.x % 32;

    sums    = (PetscScalar *)warp + lane;
    windows = (unsigned *)(warp + (size_t)max_entries * 32 * sizeof(PetscScalar)) + lane;
    words   = windows + Slots * 32;
  }
  __device__ unsigned Slot(unsigned window) const { return (window * 2654435769u) / (0x80000000u / (Slots / 2)); }
  __device__ void     Insert(unsigned window, unsigned word) const
  {
    unsigned slot = Slot(window);

    while (windows[slot * 32] != SPGEMM_NO_WINDOW) slot = (slot + 1) & (Slots - 1);
    windows[slot * 32] = window;
    words[slot * 32]   = word;
  }
  __device__ unsigned Get(unsigned window) const
  {
    unsigned slot = Slot(window);

    while (windows[slot * 32] != window) slot = (slot + 1) & (Slots - 1);
    return words[slot * 32];
  }
  /* From the columns of a row of C; sums are zero. */
  __device__ void Build(const int32_t *columns, int n) const
  {
    unsigned window = SPGEMM_NO_WINDOW, word = 0;

#pragma unroll
    for (int s = 0; s < Slots; s++) windows[s * 32] = SPGEMM_NO_WINDOW;
    for (int k = 0; k < n; k++) {
      const int32_t column = columns[k];

      sums[k * 32] = 0.0;
      if (WindowOf(column) != window) {
        if (k > 0) Insert(window, word);
        window = WindowOf(column);
        word   = (unsigned)k << 16;
      }
      word |= BitOf(column);
    }
    if (n > 0) Insert(window, word);
  }
};

template <int Slots, typename Offset>
__device__ inline void AddTerms(const Factors<Offset> &f, PetscCount a_begin, int a_length, const LaneSums<Slots> &table)
{
  unsigned window = SPGEMM_NO_WINDOW, word = 0;
  Offset   begin = 0, end = 0;

  if (a_length > 0) {
    begin = f.b_offsets[f.a_columns[a_begin]];
    end   = f.b_offsets[f.a_columns[a_begin] + 1];
  }
  for (int k = 0; k < a_length; k++) {
    const PetscScalar a = f.a_values[a_begin + k];
    const Offset      b = begin, stop = end;

    if (k + 1 < a_length) { // on its way while this row of B is used
      begin = f.b_offsets[f.a_columns[a_begin + k + 1]];
      end   = f.b_offsets[f.a_columns[a_begin + k + 1] + 1];
    }
    for (Offset e = b; e < stop; e += 4) {
      int32_t     column[4];
      PetscScalar value[4];

#pragma unroll
      for (int u = 0; u < 4; u++)
        if (e + u < stop) {
          column[u] = f.b_columns[e + u];
          value[u]  = f.b_values[e + u];
        }
#pragma unroll
      for (int u = 0; u < 4; u++)
        if (e + u < stop) {
          if (WindowOf(column[u]) != window) {
            window = WindowOf(column[u]);
            word   = table.Get(window);
          }
          table.sums[((word >> 16) + __popc(word & (BitOf(column[u]) - 1))) * 32] += a * value[u];
        }
    }
  }
}

template <int Slots, typename Offset>
__global__ void __launch_bounds__(THREADS)
  NumericThreadKernel(Factors<Offset> f, Offsets c_offsets, const int32_t *c_columns, PetscScalar *c_values, PetscCount n, const int32_t *list, int max_entries)
{
  extern __shared__ char shared[];
  const LaneSums<Slots>  table(shared, max_entries);
  const PetscCount       item = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (item >= n) return;
  const int32_t    row   = list ? list[item] : (int32_t)item;
  const PetscCount begin = f.a_offsets(row), position = c_offsets(row);
  const int        num_entries = (int)(c_offsets(row + 1) - position);

  table.Build(c_columns + position, num_entries);
  AddTerms<Slots>(f, begin, (int)(f.a_offsets(row + 1) - begin), table);
  for (int k = 0; k < num_entries; k++) c_values[position + k] = table.sums[k * 32];
}

template <int Slots, typename Offset>
PetscErrorCode Launch(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, PetscCount n, const int32_t *list, cudaStream_t stream)
{
  const size_t bytes = THREADS / 32 * LaneSums<Slots>::WarpBytes(bin->max_entries);

  PetscFunctionBegin;
  if (bytes > 48 << 10) PetscCallCUDA(cudaFuncSetAttribute(NumericThreadKernel<Slots, Offset>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  NumericThreadKernel<Slots, Offset><<<DCSRNumBlocks(n, THREADS), THREADS, bytes, stream>>>(Factors<Offset>(A, B), Offsets(C), C.columns, C.values, n, list, bin->max_entries);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMNumericThreads - Values of rows whose columns are there: a thread takes a row. See SpGEMMNumericGroups(). The bin has 16 slots.
*/
PetscErrorCode SpGEMMNumericThreads(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, PetscCount n, const int32_t list[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (B.wide) PetscCall((Launch<SLOTS, int64_t>(A, B, C, bin, n, list, stream)));
  else PetscCall((Launch<SLOTS, int32_t>(A, B, C, bin, n, list, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
