/*
  y = A x + z with 16-bit columns in windows. Thread blocks and sums of rows are those of the split kernel (../spmv/spmvsplit.cu). A warp's nonzeros are consecutive here: their columns come by one load of vec columns a
  lane, their values by loads of two a lane, and the first columns of the 16 windows stand in the lanes, where a shuffle finds them.
*/
#include "../spmv/spmvsplit.cuh"
#include "windows.cuh"
#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
#endif

template <typename Offset>
struct WindowsArgs {
  SpMVSplitArgs<Offset> split; /* without 32-bit columns */
  const uint16_t       *columns;
  const int32_t        *windows;
  const uint16_t       *upper;
  PetscScalar           scale;
  bool                  conjugate;
};

/* Position in the thread block of the thread's first value of pair p; the second one is behind it. */
template <int ITEMS, int VEC>
__device__ __forceinline__ int WindowsPosition(int p)
{
  const int lane = threadIdx.x % SPMV_WARP, warp = threadIdx.x / SPMV_WARP;

  return warp * (SPMV_WARP * ITEMS) + p / (VEC / 2) * (SPMV_WARP * VEC) + p % (VEC / 2) * (2 * SPMV_WARP) + 2 * lane;
}

/* Loads the thread's halves of columns, two a word. */
template <int ITEMS, int VEC>
__device__ __forceinline__ void WindowsLoadHalves(const uint16_t *halves, uint32_t *words)
{
  const int lane = threadIdx.x % SPMV_WARP, warp = threadIdx.x / SPMV_WARP;

#pragma unroll
  for (int g = 0; g < ITEMS / VEC; g++) SpMVLoad<SPMV_LOAD_ONCE, VEC / 2>((const uint32_t *)(halves + warp * (SPMV_WARP * ITEMS) + g * (SPMV_WARP * VEC) + lane * VEC), words + g * (VEC / 2));
}

/* Loads the thread's values; behind the end of the matrix they are 0. */
template <int THREADS, int ITEMS, int VEC>
__device__ __forceinline__ void WindowsLoadValues(const PetscScalar *values, PetscCount count, PetscScalar *v)
{
  if (count >= THREADS * ITEMS) {
#pragma unroll
    for (int p = 0; p < ITEMS / 2; p++) SpMVLoad<SPMV_LOAD_ONCE, 2>(values + WindowsPosition<ITEMS, VEC>(p), v + 2 * p);
  } else {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      const int k = WindowsPosition<ITEMS, VEC>(i / 2) + i % 2;

      v[i] = k < count ? values[k] : PetscScalar(0.0);
    }
  }
}

/* 32-bit columns of the words of a thread; window is the first column of window number lane % 16 of the block. */
template <int ITEMS, int VEC>
__device__ __forceinline__ void WindowsGetColumns(const uint32_t *words, int32_t window, const uint16_t *upper, int begin, int32_t *c)
{
  const int32_t first = __shfl_sync(SPMV_FULL_MASK, window, 0);

  if (first < 0) {
    uint32_t uppers[ITEMS / 2];

    WindowsLoadHalves<ITEMS, VEC>(upper + (PetscCount)(-1 - first) * WINDOWS_BLOCK + begin, uppers);
#pragma unroll
    for (int p = 0; p < ITEMS / 2; p++) {
      c[2 * p]     = (int32_t)__byte_perm(words[p], uppers[p], 0x5410);
      c[2 * p + 1] = (int32_t)__byte_perm(words[p], uppers[p], 0x7632);
    }
  } else {
#pragma unroll
    for (int p = 0; p < ITEMS / 2; p++) {
      const uint32_t lower = words[p] & 0xffffu, higher = words[p] >> 16;

      c[2 * p]     = __shfl_sync(SPMV_FULL_MASK, window, lower >> WINDOWS_BITS) + (int32_t)(lower & (WINDOWS_WIDTH - 1));
      c[2 * p + 1] = __shfl_sync(SPMV_FULL_MASK, window, higher >> WINDOWS_BITS) + (int32_t)(higher & (WINDOWS_WIDTH - 1));
    }
  }
}

/* VEC is 2 to this. */
template <int VEC>
__device__ __forceinline__ constexpr int WindowsShift()
{
  return VEC == 2 ? 1 : VEC == 4 ? 2 : 3;
}

/* An entry behind the thread block's end that belongs to its last row. */
struct WindowsOver {
  int32_t      window; /* first column of window number lane % 16 of the block that the entry is in */
  unsigned int code;
  PetscScalar  value;
};

/* Loads entry k for the threads that take part. All threads of the thread block call this, for entries of one block. */
template <int VEC, typename Offset>
__device__ __forceinline__ void WindowsLoadOver(const WindowsArgs<Offset> &a, PetscCount k, bool takes_part, WindowsOver *over)
{
  const PetscCount b = k / WINDOWS_BLOCK;

  over->window = __ldg(a.windows + b * WINDOWS_COUNT + threadIdx.x % WINDOWS_COUNT);
  if (!takes_part) return;
  over->code  = a.columns[b * WINDOWS_BLOCK + WindowsPlace((int)(k % WINDOWS_BLOCK), WindowsShift<VEC>())];
  over->value = a.split.values[k];
}

/* Its column. */
template <int VEC, typename Offset>
__device__ __forceinline__ int32_t WindowsGetColumn(const WindowsArgs<Offset> &a, const WindowsOver &over, PetscCount k, bool takes_part)
{
  const int32_t first = __shfl_sync(SPMV_FULL_MASK, over.window, 0), mine = __shfl_sync(SPMV_FULL_MASK, over.window, over.code >> WINDOWS_BITS);

  if (first >= 0) return mine + (int32_t)(over.code & (WINDOWS_WIDTH - 1));
  return takes_part ? (int32_t)(over.code | (unsigned int)a.upper[(PetscCount)(-1 - first) * WINDOWS_BLOCK + WindowsPlace((int)(k % WINDOWS_BLOCK), WindowsShift<VEC>())] << 16) : 0;
}

template <typename Offset>
__device__ __forceinline__ PetscScalar WindowsValue(const WindowsArgs<Offset> &a, PetscScalar value)
{
#if PetscDefined(USE_COMPLEX)
  if (a.conjugate) value = thrust::conj(value);
#endif
  return value * a.scale;
}

/* Complex values in double precision take twice the registers; with as many threads on a multiprocessor they would be spilled. */
constexpr int WINDOWS_RESIDENT_PART = sizeof(PetscScalar) > sizeof(double) ? 5 : 8; // of 8

template <typename Offset, int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
__global__ void __launch_bounds__(THREADS, RESIDENT *WINDOWS_RESIDENT_PART / 8 / THREADS) WindowsMultKernel(const WindowsArgs<Offset> a)
{
  constexpr int tile = THREADS * ITEMS;
  __shared__ __align__(16) unsigned char shared[(tile + THREADS) * sizeof(PetscScalar)];
  __shared__ __align__(16) unsigned char scratch[THREADS / SPMV_WARP * sizeof(PetscScalar)];
  PetscScalar                           *terms      = (PetscScalar *)shared;
  const PetscCount                       base       = (PetscCount)blockIdx.x * tile;
  const int                              i          = threadIdx.x / LANES;
  const int32_t                          window     = __ldg(a.windows + base / WINDOWS_BLOCK * WINDOWS_COUNT + threadIdx.x % WINDOWS_COUNT);
  const int4                             word       = __ldg((const int4 *)a.split.blocks + blockIdx.x);
  const SpMVBlock                        block      = {word.x, word.y, word.z, word.w};
  const bool                             takes_part = (int)threadIdx.x < block.over;
  int                                    begin = 0, end = 0;
  int32_t                                c[ITEMS];
  uint32_t                               words[ITEMS / 2];
  PetscScalar                            v[ITEMS];
  WindowsOver                            over = {0, 0, PetscScalar(0.0)};

  static_assert(WINDOWS_BLOCK % tile == 0 && ITEMS % VEC == 0, "A thread block has nonzeros of one block");
  WindowsLoadHalves<ITEMS, VEC>(a.columns + base, words);
  WindowsLoadValues<THREADS, ITEMS, VEC>(a.split.values + base, a.split.num_nonzeros - base, v);
  if (i < block.rows) {
    begin = (int)(a.split.row_offsets[block.row + i] - base);
    end   = (int)(a.split.row_offsets[block.row + i + 1] - base);
  }
  if (block.over > 0) WindowsLoadOver<VEC>(a, base + tile + (takes_part ? (int)threadIdx.x : 0), takes_part, &over);
  WindowsGetColumns<ITEMS, VEC>(words, window, a.upper, (int)(base % WINDOWS_BLOCK), c);
#pragma unroll
  for (int j = 0; j < ITEMS; j++) v[j] = WindowsValue(a, v[j]) * SpMVGather(a.split.x, c[j]);
#pragma unroll
  for (int p = 0; p < ITEMS / 2; p++) SpMVStoreShared<2>(terms + WindowsPosition<ITEMS, VEC>(p), v + 2 * p);
  if (block.over > 0) {
    const int32_t over_c = WindowsGetColumn<VEC>(a, over, base + tile + threadIdx.x, takes_part);

    if (takes_part) terms[tile + threadIdx.x] = WindowsValue(a, over.value) * SpMVGather(a.split.x, over_c);
  }
  __syncthreads();
  SpMVSplitSumRows<THREADS, LANES>(a.split, block, base, begin, end, terms);
  if (block.part & (SPMV_PART_LEADING | SPMV_PART_TRAILING)) SpMVSplitLongRows<THREADS, tile>(a.split, block, base, terms, (PetscScalar *)scratch);
}

template <typename Offset, int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
static PetscErrorCode WindowsLaunch(Windows w, const WindowsValues *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  static bool         asked = false;
  DCSRView            view;
  WindowsArgs<Offset> args;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&view, sizeof(view)));
  view.values       = (PetscScalar *)values->values;
  view.row_offsets  = w->row_offsets;
  view.num_nonzeros = w->num_nonzeros;
  args              = {SpMVSplitGetArgs<Offset>(w->plan, &view, x, z, y), w->columns, w->windows, w->upper, values->scale, values->conjugate == PETSC_TRUE};
  PetscCall(SpMVPreferL1((const void *)WindowsMultKernel<Offset, THREADS, ITEMS, VEC, RESIDENT, LANES>, THREADS, &asked));
  WindowsMultKernel<Offset, THREADS, ITEMS, VEC, RESIDENT, LANES><<<w->plan->num_blocks, THREADS, 0, stream>>>(args);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  SpMVConfig       config;
  WindowsLaunchFn *launch;
} WindowsEntry;

#define WINDOWS_ENTRY(lanes, t, i, v, r) {{DCSR_SPMV_SPLIT, lanes, t, i, v, SPMV_LOAD_ONCE, r}, WindowsLaunch<Offset, t, i, v, r, lanes>},

template <typename Offset>
static WindowsLaunchFn *WindowsGet(const SpMVConfig *config)
{
  static const WindowsEntry entries[] = {
    WINDOWS_CONFIGS(WINDOWS_ENTRY)
#if defined(SPMV_SWEEP)
      WINDOWS_SWEEP_CONFIGS(WINDOWS_ENTRY)
#endif
  };

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(entries); i++)
    if (SpMVConfigSame(&entries[i].config, config)) return entries[i].launch;
  return NULL;
}

/* WindowsGetLaunch - the launcher of a configuration for 32- or 64-bit offsets, NULL when it does not exist */
WindowsLaunchFn *WindowsGetLaunch(const SpMVConfig *config, PetscBool wide)
{
  return wide ? WindowsGet<int64_t>(config) : WindowsGet<int32_t>(config);
}
