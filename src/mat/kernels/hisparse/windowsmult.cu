/*
  y = A x + z with 16-bit columns in windows. Thread blocks and sums of rows are those of the split kernel (../spmv/spmvsplit.cu). A warp's nonzeros are consecutive here: their columns come by one load of vec columns a
  lane, their values by loads of two a lane. The first columns of the four windows are the same in all lanes. Selects choose among them: a shuffle a nonzero, with 16 windows, keeps the unit busy that the gathers need.
  Values in single precision are converted where they are multiplied, when all loads are under way.
*/
#include "../spmv/spmvsplit.cuh"
#include "storedvalues.cuh"
#include "windows.cuh"
#include "../common/preload.cuh"

template <typename Offset, typename Stored, typename Output>
struct WindowsArgs {
  SpMVSplitArgs<Offset, Output> split; /* without 32-bit columns, and without values */
  const Stored                 *values;
  const uint16_t               *columns;
  const int32_t                *windows;
  const uint16_t               *upper;
  PetscScalar                   scale;
  bool                          conjugate;
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

/*
  Two values under a condition, 0 without it; read once. The load is predicated: as a choice the compiler copies what it loaded, and waits for it before it issues the next load (see diagonals.cuh). Only the last thread
  block has pairs behind the end.
*/
template <typename Stored>
__device__ __forceinline__ void WindowsLoadPair(bool has, const Stored *p, Stored *v)
{
#if defined(__CUDA_ARCH__)
  unsigned long policy;

  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  if constexpr (sizeof(Stored) % 8 == 0) {
    constexpr int      loads = (int)sizeof(Stored) / 8;
    unsigned long long w[2 * loads];

  #pragma unroll
    for (int i = 0; i < loads; i++)
      asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; mov.b64 %0, 0; mov.b64 %1, 0; @p ld.global.nc.L1::no_allocate.L2::cache_hint.v2.b64 {%0, %1}, [%3], %4; }"
          : "=l"(w[2 * i]), "=l"(w[2 * i + 1])
          : "r"((unsigned int)has), "l"((const unsigned long long *)p + 2 * i), "l"(policy));
    memcpy(v, w, sizeof(w));
  } else {
    unsigned int w[2];

    asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; mov.b32 %0, 0; mov.b32 %1, 0; @p ld.global.nc.L1::no_allocate.L2::cache_hint.v2.b32 {%0, %1}, [%3], %4; }" : "=r"(w[0]), "=r"(w[1]) : "r"((unsigned int)has), "l"(p), "l"(policy));
    memcpy(v, w, sizeof(w));
  }
#else
  for (int i = 0; i < 2; i++) v[i] = has ? p[i] : Stored(0.0);
#endif
}

/* Loads the thread's values; behind the end of the matrix they are what no row reads. */
template <int THREADS, int ITEMS, int VEC, typename Stored>
__device__ __forceinline__ void WindowsLoadValues(const Stored *values, PetscCount count, Stored *v)
{
  const int n = count < THREADS * ITEMS ? (int)count : THREADS * ITEMS, first = WindowsPosition<ITEMS, VEC>(0);

#pragma unroll
  for (int p = 0; p < ITEMS / 2; p++) {
    const int step = p / (VEC / 2) * (SPMV_WARP * VEC) + p % (VEC / 2) * (2 * SPMV_WARP);

    WindowsLoadPair(first + step < n, values + first + step, v + 2 * p);
  }
}

/* The column of the code in bits SHIFT to SHIFT + 15 of a word. In C the tests of the two bits take three instructions each. */
template <int SHIFT>
__device__ __forceinline__ int32_t WindowsGetColumn(const int4 &windows, uint32_t word)
{
  constexpr uint32_t odd = 1u << WINDOWS_BITS << SHIFT, upper = 2u << WINDOWS_BITS << SHIFT;
  int32_t            window;

#if defined(__CUDA_ARCH__)
  asm("{ .reg .pred p, q; .reg .b32 a, b, t; and.b32 t, %1, %6; setp.ne.u32 p, t, 0; and.b32 t, %1, %7; setp.ne.u32 q, t, 0; selp.b32 a, %3, %2, p; selp.b32 b, %5, %4, p; selp.b32 %0, b, a, q; }"
      : "=r"(window)
      : "r"(word), "r"(windows.x), "r"(windows.y), "r"(windows.z), "r"(windows.w), "n"(odd), "n"(upper));
#else
  window = word & upper ? (word & odd ? windows.w : windows.z) : (word & odd ? windows.y : windows.x);
#endif
  return window + (int32_t)(word >> SHIFT & 0xffffu);
}

/* 32-bit columns of the words of a thread. */
template <int ITEMS, int VEC>
__device__ __forceinline__ void WindowsGetColumns(const uint32_t *words, const int4 &windows, const uint16_t *upper, int begin, int32_t *c)
{
  if (windows.x < 0) {
    uint32_t uppers[ITEMS / 2];

    WindowsLoadHalves<ITEMS, VEC>(upper + (PetscCount)(-1 - windows.x) * WINDOWS_BLOCK + begin, uppers);
#pragma unroll
    for (int p = 0; p < ITEMS / 2; p++) {
      c[2 * p]     = (int32_t)__byte_perm(words[p], uppers[p], 0x5410);
      c[2 * p + 1] = (int32_t)__byte_perm(words[p], uppers[p], 0x7632);
    }
  } else {
#pragma unroll
    for (int p = 0; p < ITEMS / 2; p++) {
      c[2 * p]     = WindowsGetColumn<0>(windows, words[p]);
      c[2 * p + 1] = WindowsGetColumn<16>(windows, words[p]);
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
template <typename Stored>
struct WindowsOver {
  int32_t  window; /* number lane % 4 of the block that it is in */
  uint32_t code;
  Stored   value;
};

/* Where the column of entry k lies, in the order of its block. */
template <int VEC>
__device__ __forceinline__ int WindowsPlaceInBlock(PetscCount k)
{
  return WindowsPlace((int)(k % WINDOWS_BLOCK), WindowsShift<VEC>());
}

/* Loads entry k, for the threads that take part, of which there is one in the warp. All lanes call this, for entries of one block. */
template <int VEC, typename Offset, typename Stored, typename Output>
__device__ __forceinline__ void WindowsLoadOver(const WindowsArgs<Offset, Stored, Output> &a, PetscCount k, bool takes_part, WindowsOver<Stored> *over)
{
  const PetscCount b = k / WINDOWS_BLOCK;

  over->window = __ldg(a.windows + b * WINDOWS_COUNT + threadIdx.x % WINDOWS_COUNT);
  if (!takes_part) return;
  over->code  = a.columns[b * WINDOWS_BLOCK + WindowsPlaceInBlock<VEC>(k)];
  over->value = a.values[k];
}

/* Its column. The windows are found by shuffles here, because four registers for a second set of them would keep gathers from being under way together. */
template <int VEC, typename Offset, typename Stored, typename Output>
__device__ __forceinline__ int32_t WindowsGetOverColumn(const WindowsArgs<Offset, Stored, Output> &a, PetscCount k, bool takes_part, const WindowsOver<Stored> &over)
{
  const int32_t first = __shfl_sync(SPMV_FULL_MASK, over.window, 0), mine = __shfl_sync(SPMV_FULL_MASK, over.window, over.code >> WINDOWS_BITS);

  if (first >= 0) return mine + (int32_t)over.code;
  return takes_part ? (int32_t)(over.code | (uint32_t)a.upper[(PetscCount)(-1 - first) * WINDOWS_BLOCK + WindowsPlaceInBlock<VEC>(k)] << 16) : 0;
}

/*
  A zero that the compiler takes for a number that differs from lane to lane. Without it the words that all threads load alike go to uniform registers, and the warp waits for them before it loads its columns and values.
*/
__device__ __forceinline__ unsigned int WindowsZero()
{
#if defined(__CUDA_ARCH__)
  unsigned int lower_lanes;

  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower_lanes));
  return lower_lanes >> 31;
#else
  return 0;
#endif
}

template <typename Offset, typename Stored, typename Output>
__device__ __forceinline__ PetscScalar WindowsValue(const WindowsArgs<Offset, Stored, Output> &a, Stored stored)
{
  PetscScalar value = FromStored(stored);

#if PetscDefined(USE_COMPLEX)
  if (a.conjugate) value = thrust::conj(value);
#endif
  return value;
}

/* Sums of rows are multiplied by the scale of the matrix. */
struct WindowsFinish {
  PetscScalar scale;

  __device__ __forceinline__ PetscScalar operator()(PetscScalar sum) const { return sum * scale; }
};

/* Complex values in double precision take twice the registers; with as many threads on a multiprocessor they would be spilled. */
constexpr int WINDOWS_RESIDENT_PART = sizeof(PetscScalar) > sizeof(double) ? 5 : 8; // of 8

template <typename Output, typename Stored, typename Offset, int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
__global__ void __launch_bounds__(THREADS, RESIDENT *WINDOWS_RESIDENT_PART / 8 / THREADS) WindowsMultKernel(const WindowsArgs<Offset, Stored, Output> a)
{
  constexpr int tile = THREADS * ITEMS;
  __shared__ __align__(16) unsigned char shared[(tile + THREADS) * sizeof(PetscScalar)];
  __shared__ __align__(16) unsigned char scratch[THREADS / SPMV_WARP * sizeof(PetscScalar)];
  PetscScalar                           *terms      = (PetscScalar *)shared;
  const PetscCount                       base       = (PetscCount)blockIdx.x * tile;
  const int                              i          = threadIdx.x / LANES;
  const int4                             windows    = __ldg((const int4 *)a.windows + base / WINDOWS_BLOCK);
  const int4                             word       = __ldg((const int4 *)a.split.blocks + blockIdx.x + WindowsZero());
  const SpMVBlock                        block      = {word.x, word.y, word.z, word.w};
  const bool                             takes_part = (int)threadIdx.x < block.over;
  Offset                                 begin(0), end(0); // what is computed from them waits for them: not before the gathers are on their way
  int32_t                                c[ITEMS];
  uint32_t                               words[ITEMS / 2];
  Stored                                 v[ITEMS];
  PetscScalar                            products[ITEMS];
  const bool                             warp_takes_part = (int)(threadIdx.x & ~31u) < block.over || windows.x == INT32_MIN; // no window begins there; so they are loaded before the branch
  WindowsOver<Stored>                    over            = {0, 0, Stored(0.0)};

  static_assert(WINDOWS_BLOCK % tile == 0 && ITEMS % VEC == 0, "A thread block has nonzeros of one block");
  static_assert(WINDOWS_COUNT * sizeof(int32_t) == sizeof(int4), "The first columns of windows are one load");
  WindowsLoadHalves<ITEMS, VEC>(a.columns + base, words);
  WindowsLoadValues<THREADS, ITEMS, VEC>(a.values + base, a.split.num_nonzeros - base, v);
  if (warp_takes_part) WindowsLoadOver<VEC>(a, base + tile + (takes_part ? threadIdx.x : 0), takes_part, &over);
  WindowsGetColumns<ITEMS, VEC>(words, windows, a.upper, (int)(base % WINDOWS_BLOCK), c);
  if (a.split.rows.row_index == NULL) a.split.rows.output.Prefetch(block.row, block.rows, (int)threadIdx.x, THREADS);
  if (i < block.rows) { // behind the columns, so that gathers do not wait for the chain of these two loads
    begin = a.split.row_offsets[block.row + i];
    end   = a.split.row_offsets[block.row + i + 1];
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++) products[j] = WindowsValue(a, v[j]) * SpMVGather(a.split.x, c[j]);
#pragma unroll
  for (int p = 0; p < ITEMS / 2; p++) SpMVStoreShared<2>(terms + WindowsPosition<ITEMS, VEC>(p), products + 2 * p);
  if (warp_takes_part) {
    const int32_t over_c = WindowsGetOverColumn<VEC>(a, base + tile + threadIdx.x, takes_part, over);

    if (takes_part) terms[tile + threadIdx.x] = WindowsValue(a, over.value) * SpMVGather(a.split.x, over_c);
  }
  __syncthreads();
  SpMVSplitSumRows<THREADS, LANES>(a.split, block, base, (int)(begin - base), (int)(end - base), terms, WindowsFinish{a.scale});
  if (block.part & (SPMV_PART_LEADING | SPMV_PART_TRAILING)) SpMVSplitLongRows<THREADS, tile>(a.split, block, base, terms, (PetscScalar *)scratch, WindowsFinish{a.scale});
}

template <typename Output, typename Stored, typename Offset, int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
static PetscErrorCode WindowsLaunchStored(Windows w, const WindowsValues *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  static bool                         asked = false;
  DCSRView                            view;
  WindowsArgs<Offset, Stored, Output> args;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&view, sizeof(view)));
  view.row_offsets  = w->row_offsets;
  view.num_nonzeros = w->num_nonzeros;
  args              = {SpMVSplitGetArgs<Offset>(w->plan, &view, view.values, x, output), (const Stored *)values->values, w->columns, w->windows, w->upper, values->scale, values->conjugate == PETSC_TRUE};
  PetscCall(SpMVPreferL1((const void *)WindowsMultKernel<Output, Stored, Offset, THREADS, ITEMS, VEC, RESIDENT, LANES>, THREADS, &asked));
  WindowsMultKernel<Output, Stored, Offset, THREADS, ITEMS, VEC, RESIDENT, LANES><<<w->plan->num_blocks, THREADS, 0, stream>>>(args);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Output, typename Offset, int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
static PetscErrorCode WindowsRun(Windows w, const WindowsValues *values, const PetscScalar x[], const Output &output, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (values->precision == HISPARSE_VALUES_SINGLE) PetscCall(WindowsLaunchStored<Output, StoredSingle, Offset, THREADS, ITEMS, VEC, RESIDENT, LANES>(w, values, x, output, stream));
  else PetscCall(WindowsLaunchStored<Output, PetscScalar, Offset, THREADS, ITEMS, VEC, RESIDENT, LANES>(w, values, x, output, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
static PetscErrorCode WindowsLaunch(Windows w, const WindowsValues *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  return WindowsRun<SpMVAdd, Offset, THREADS, ITEMS, VEC, RESIDENT, LANES>(w, values, x, SpMVAdd{z, y}, stream);
}

template <int THREADS, int ITEMS, int VEC, int RESIDENT, int LANES>
static PetscErrorCode WindowsLaunchEpilogue(Windows w, const WindowsValues *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  return WindowsRun<SpMVEpilogue, int32_t, THREADS, ITEMS, VEC, RESIDENT, LANES>(w, values, x, SpMVEpilogue{*epilogue, x, y}, stream);
}

#define WINDOWS_ENTRY(lanes, t, i, v, r)       {{DCSR_SPMV_SPLIT, lanes, t, i, v, SPMV_LOAD_ONCE, r}, WindowsLaunch<Offset, t, i, v, r, lanes>, sizeof(Offset) == 4 ? WindowsLaunchEpilogue<t, i, v, r, lanes> : NULL},
#define WINDOWS_SWEEP_ENTRY(lanes, t, i, v, r) {{DCSR_SPMV_SPLIT, lanes, t, i, v, SPMV_LOAD_ONCE, r}, WindowsLaunch<Offset, t, i, v, r, lanes>, NULL},

template <typename Offset>
static const WindowsEntry *WindowsGet(const SpMVConfig *config)
{
  static const WindowsEntry entries[] = {
    WINDOWS_CONFIGS(WINDOWS_ENTRY)
#if defined(SPMV_SWEEP)
      WINDOWS_SWEEP_CONFIGS(WINDOWS_SWEEP_ENTRY)
#endif
  };

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(entries); i++)
    if (SpMVConfigSame(&entries[i].config, config)) return entries + i;
  return NULL;
}

/* WindowsGetEntry - the launchers of a configuration for 32- or 64-bit offsets, NULL when it does not exist */
const WindowsEntry *WindowsGetEntry(const SpMVConfig *config, PetscBool wide)
{
  return wide ? WindowsGet<int64_t>(config) : WindowsGet<int32_t>(config);
}

#define PRELOADED(lanes, ...) HiSparsePreloaded(WindowsMultKernel<SpMVAdd, PetscScalar, int32_t, __VA_ARGS__, lanes>) HiSparsePreloaded(WindowsMultKernel<SpMVEpilogue, PetscScalar, int32_t, __VA_ARGS__, lanes>)
static DCSRPreloadedKernel preloaded[] = {WINDOWS_CONFIGS(PRELOADED)};
