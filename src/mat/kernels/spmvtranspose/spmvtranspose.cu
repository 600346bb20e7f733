/*
  MultTranspose, y = A^T x + z, without a stored transpose: plans and their application. The launch rule (src/tuning) says which kernel runs.
*/
#include "../common/preload.cuh"
#include "../common/sum.cuh"
#include "marks.cuh"
#include "planmarks.cuh"
#include "tile.cuh"
#include "tileblocks.cuh"
#include "tilebuild.cuh"
#include <petscsparsecuda/blocklist.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

const char *const DCSRSpMVTransposeKinds[] = {"auto", "atomic", "tile", "DCSRSpMVTransposeKind", "DCSR_SPMVT_", NULL};

struct _n_DCSRSpMVTransposePlan {
  DCSRSpMVTransposeKind kind;
  int                   kernel; // index into TILE_INSTANCES or ATOMIC_INSTANCES
  size_t                bytes;  // device memory
  char                  description[128];
  PetscInt              num_rows, num_columns;
  PetscCount            num_nonzeros, nonempty_size, num_tiles, list_size, list_capacity;
  double                max_ratio; // of the rule
  double                max_heavy;
  int                   later;          // tile instance that will pay when there are more products, -1 for none
  PetscCount            later_capacity; // room for its lists
  SpMVTransposeMark    *marks;          // [NumMarks(num_nonzeros)]
  int32_t              *nonempty_rows;  // [nonempty_size], see planmarks.cuh and marks.cuh; NULL when no row is empty
  SpMVTransposeTile    *tiles;          // [num_tiles]
  uint16_t             *positions;      // [num_nonzeros]
  int32_t              *list_columns;   // [list_capacity], list_size of them are used
  uint16_t             *list_begins;    // [list_capacity], in the memory of list_columns

  // by blocks: nonzeros, rows and columns of the above are those of the list
  const TileBlocksInstance *blocks; // NULL: entry by entry
  DCSRBlockList             list;   // a reference; NULL: entry by entry
};

namespace
{

typedef void (*TileFn)(PetscCount, const PetscScalar *, const SpMVTransposeMark *, const int32_t *, TileLists, const PetscScalar *, PetscScalar *);
typedef void (*TileBuildFn)(PetscCount, const int32_t *, PetscCount, SpMVTransposeTile *, uint16_t *, TileListOutput, SpMVTransposeFound *);
typedef void (*AtomicFn)(PetscCount, const PetscScalar *, const int32_t *, const SpMVTransposeMark *, const int32_t *, const PetscScalar *, PetscScalar *);

struct TileInstance {
  const char *name;
  int         nonzeros, threads, min_blocks, width, build_threads;
  bool        ahead;
  size_t      build_bytes;
  TileFn      apply[2]; // transpose, Hermitian transpose
  TileBuildFn build;
};

#define SPMVT_TILE_INSTANCE(T, THREADS, BLOCKS, WIDTH, AHEAD) \
  {"tile<" #T "," #THREADS "," #BLOCKS "," #WIDTH "," #AHEAD ">", \
   T, \
   THREADS, \
   BLOCKS, \
   WIDTH, \
   TileBuild<T>::threads, \
   AHEAD, \
   sizeof(TileBuild<T>::Storage), \
   {TileKernel<T, THREADS, BLOCKS, WIDTH, AHEAD, false>, TileKernel<T, THREADS, BLOCKS, WIDTH, AHEAD, bool(PetscDefined(USE_COMPLEX))>}, \
   TileBuildKernel<T>},
// clang-format off
const TileInstance TILE_INSTANCES[] = {
  SPMVT_TILE_KERNELS(SPMVT_TILE_INSTANCE)
#if defined(SPMV_SWEEP)
  SPMVT_TILE_SWEEP_KERNELS(SPMVT_TILE_INSTANCE)
#endif
};
// clang-format on
#undef SPMVT_TILE_INSTANCE
constexpr int NUM_TILE_INSTANCES = (int)PETSC_STATIC_ARRAY_LENGTH(TILE_INSTANCES);

/* One atomic a nonzero. Each warp has Words times 32 consecutive nonzeros, from first on. */
template <int Words, bool Conjugate, bool EmptyRows>
__device__ inline void AddNonzeros(PetscCount first, PetscCount num_nonzeros, const PetscScalar *__restrict__ values, const int32_t *__restrict__ columns, const SpMVTransposeMark *__restrict__ marks,
                                   const int32_t *__restrict__ nonempty_rows, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  PetscScalar value[Words];
  int32_t     column[Words], row[Words];

#pragma unroll
  for (int i = 0; i < Words; i++) {
    const PetscCount k = PetscMin(first + 32 * i, num_nonzeros - 1); // no branch around the loads

    value[i]  = LoadStreaming(values + k);
    column[i] = __ldcs(columns + k);
    row[i]    = RowOfNonzero<EmptyRows>(LoadMark(marks, k), k, nonempty_rows);
  }
#pragma unroll
  for (int i = 0; i < Words; i++) value[i] = Times<Conjugate>(value[i], x[row[i]]);
  WaitForPreviousKernel();
#pragma unroll
  for (int i = 0; i < Words; i++)
    if (first + 32 * i < num_nonzeros) AddAtomically(y + column[i], value[i]);
}

template <int Threads, int Words, bool Conjugate>
__global__ static void __launch_bounds__(Threads)
  AtomicKernel(PetscCount num_nonzeros, const PetscScalar *__restrict__ values, const int32_t *__restrict__ columns, const SpMVTransposeMark *__restrict__ marks,
               const int32_t *__restrict__ nonempty_rows, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  const PetscCount first = (((PetscCount)blockIdx.x * Threads + threadIdx.x) / 32) * (32 * Words) + threadIdx.x % 32;

  if (nonempty_rows) AddNonzeros<Words, Conjugate, true>(first, num_nonzeros, values, columns, marks, nonempty_rows, x, y);
  else AddNonzeros<Words, Conjugate, false>(first, num_nonzeros, values, columns, marks, nonempty_rows, x, y);
}

struct AtomicInstance {
  const char *name;
  int         threads, words;
  AtomicFn    apply[2]; // transpose, Hermitian transpose
};

#define SPMVT_ATOMIC_INSTANCE(THREADS, WORDS) \
  {"one atomic a nonzero<" #THREADS "," #WORDS ">", THREADS, WORDS, {AtomicKernel<THREADS, WORDS, false>, AtomicKernel<THREADS, WORDS, bool(PetscDefined(USE_COMPLEX))>}},
// clang-format off
const AtomicInstance ATOMIC_INSTANCES[] = {
  SPMVT_ATOMIC_KERNELS(SPMVT_ATOMIC_INSTANCE)
#if defined(SPMV_SWEEP)
  SPMVT_ATOMIC_SWEEP_KERNELS(SPMVT_ATOMIC_INSTANCE)
#endif
};
// clang-format on
#undef SPMVT_ATOMIC_INSTANCE

constexpr int INITIAL_THREADS = 256;
constexpr int INITIAL_ITEMS   = 4;

/* y = z, or 0 when z is NULL. */
__global__ static void __launch_bounds__(INITIAL_THREADS) InitialKernel(PetscCount n, const PetscScalar *__restrict__ z, PetscScalar *__restrict__ y)
{
  const PetscCount first = (PetscCount)blockIdx.x * (INITIAL_THREADS * INITIAL_ITEMS) + threadIdx.x;

  LetNextKernelStart();
#pragma unroll
  for (int i = 0; i < INITIAL_ITEMS; i++) {
    const PetscCount k = first + i * INITIAL_THREADS;

    if (k < n) y[k] = z ? z[k] : PetscScalar(0.0);
  }
}

/* Kernels with more than 48 KiB of shared memory need an attribute. The driver remembers that for each kernel and device. */
template <typename Fn>
PetscErrorCode AllowShared(Fn kernel, size_t bytes)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t TileBytes(const TileInstance &instance)
{
  return (size_t)instance.nonzeros * sizeof(PetscScalar);
}

/* Asks for the shared memory of a thread block, and for as much of the multiprocessor's memory as its resident thread blocks need. The rest stays cache. */
PetscErrorCode ConfigureTile(const TileInstance &instance, TileFn kernel)
{
  DCSRDeviceFacts facts;
  size_t          bytes; // that the resident thread blocks take

  PetscFunctionBegin;
  PetscCall(AllowShared(kernel, TileBytes(instance)));
  PetscCall(DCSRGetDeviceFacts(&facts));
  bytes = instance.min_blocks * (TileBytes(instance) + (size_t)facts.reserved_shared_bytes);
  PetscCallCUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributePreferredSharedMemoryCarveout, (int)PetscMin((size_t)100, 100 * bytes / (size_t)facts.shared_bytes + 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a multiprocessor of the device holds so many thread blocks of the product, and one that builds. */
bool TileFits(const PetscSparseCUDATuning *tuning, const TileInstance &instance, int blocks)
{
  return PetscSparseCUDATuningHolds(tuning, instance.threads, TileBytes(instance), blocks) && PetscSparseCUDATuningHolds(tuning, instance.build_threads, instance.build_bytes, 1);
}

/* The rule's instance, or that of a later rule where scalars are large or the device's shared memory is small; -1: too few nonzeros. any_size: those of the last rule with tiles are never too few. */
int ChooseTile(const PetscSparseCUDATuning *tuning, PetscCount num_nonzeros, bool any_size, double *max_ratio)
{
  for (const SpMVTransposeRule *rule = tuning->spmvt.tile; rule->tile_nonzeros > 0; rule++) {
    const bool last = rule[1].tile_nonzeros == 0;

    if (num_nonzeros < rule->min_nonzeros && !(last && any_size)) continue;
    for (int i = 0; i < NUM_TILE_INSTANCES; i++) {
      const TileInstance &instance = TILE_INSTANCES[i];

      if (instance.nonzeros != rule->tile_nonzeros || instance.threads != rule->tile_threads || instance.width != rule->tile_width || instance.ahead != (bool)rule->tile_ahead ||
          !TileFits(tuning, instance, 2))
        continue;
      *max_ratio = rule->max_ratio;
      return i;
    }
  }
  return -1;
}

/* One more than there are marks, so that the scan ends with the number of rows that are not empty. */
struct StartsOfMark {
  const SpMVTransposeMark *marks;
  PetscCount               num_marks;
  __device__ uint32_t      operator()(PetscCount w) const { return w < num_marks ? (uint32_t)__popc(marks[w].bits) : 0u; }
};

/* Builds num_tiles tiles, each stride-th of the matrix; asynchronous. found is 0 before. */
PetscErrorCode LaunchBuild(const TileInstance &instance, DCSRView view, PetscCount num_tiles, PetscCount stride, SpMVTransposeTile *tiles, uint16_t *positions, TileListOutput list,
                           SpMVTransposeFound *found, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AllowShared(instance.build, instance.build_bytes));
  instance.build<<<(unsigned int)num_tiles, instance.build_threads, instance.build_bytes, stream>>>(view.num_nonzeros, view.columns, stride, tiles, positions, list, found);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode LaunchMarks_Offset(DCSRSpMVTransposePlan plan, DCSRView view, SpMVTransposeFound *found, cudaStream_t stream)
{
  const unsigned int blocks      = (unsigned int)NumMarkBlocks(view.num_nonzeros);
  const Offset      *row_offsets = (const Offset *)view.row_offsets;

  PetscFunctionBegin;
  if (plan->nonempty_rows != NULL) MarkKernel<Offset, true><<<blocks, MARK_THREADS, 0, stream>>>(row_offsets, (PetscCount)view.num_rows, view.num_nonzeros, plan->marks, plan->nonempty_rows, found);
  else MarkKernel<Offset, false><<<blocks, MARK_THREADS, 0, stream>>>(row_offsets, (PetscCount)view.num_rows, view.num_nonzeros, plan->marks, NULL, found);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks, and what was found of rows; with plan->nonempty_rows, for matrices that have empty ones. Asynchronous. */
PetscErrorCode LaunchMarks(DCSRSpMVTransposePlan plan, DCSRView view, SpMVTransposeFound *found, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (view.wide) PetscCall(LaunchMarks_Offset<int64_t>(plan, view, found, stream));
  else PetscCall(LaunchMarks_Offset<int32_t>(plan, view, found, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* found to the host. Synchronizes. */
PetscErrorCode GetFound(const SpMVTransposeFound *found, cudaStream_t stream, SpMVTransposeFound *host)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(host, found, sizeof(*host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether so many of the sampled tiles have heavy columns that one atomic a nonzero would take long. */
bool TilesAreHeavy(DCSRSpMVTransposePlan plan, const SpMVTransposeFound *found, PetscCount num_tiles)
{
  return (double)found->heavy_tiles > plan->max_heavy * (double)num_tiles;
}

/* Whether tiles pay, as the rule says, from what was found in so many tiles with so many nonzeros. */
bool TilesPay(DCSRSpMVTransposePlan plan, const SpMVTransposeFound *found, PetscCount num_tiles, PetscCount num_nonzeros)
{
  return (double)found->list_size <= plan->max_ratio * (double)num_nonzeros || TilesAreHeavy(plan, found, num_tiles);
}

/* Tiles of a sample: full ones, each stride-th. */
PetscCount SampleSize(const TileInstance &instance, PetscCount num_nonzeros, PetscCount *stride)
{
  const PetscCount num_full = num_nonzeros / instance.nonzeros;

  *stride = PetscMax(num_full / SPMVT_SAMPLE_TILES, (PetscCount)1);
  return num_full / *stride;
}

/* One allocation for both lists. */
PetscErrorCode AllocateLists(PetscCount capacity, cudaStream_t stream, TileListOutput *list)
{
  char *memory = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)capacity * (sizeof(*list->columns) + sizeof(*list->begins)), "distinct columns of tiles", stream, &memory));
  *list = {(int32_t *)memory, (uint16_t *)(memory + (size_t)capacity * sizeof(*list->columns)), capacity};
  PetscFunctionReturn(PETSC_SUCCESS);
}

void KeepLists(DCSRSpMVTransposePlan plan, const TileListOutput *list)
{
  plan->list_columns  = list->columns;
  plan->list_begins   = list->begins;
  plan->list_capacity = list->capacity;
}

/* Lists that were given much more room than they took move to as much as they need. */
PetscErrorCode ShrinkLists(DCSRSpMVTransposePlan plan, cudaStream_t stream)
{
  const size_t   size = (size_t)plan->list_size;
  TileListOutput list;

  PetscFunctionBegin;
  if (8 * (plan->list_capacity - plan->list_size) <= plan->list_capacity) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AllocateLists(plan->list_size, stream, &list));
  PetscCallCUDA(cudaMemcpyAsync(list.columns, plan->list_columns, size * sizeof(*list.columns), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(list.begins, plan->list_begins, size * sizeof(*list.begins), cudaMemcpyDeviceToDevice, stream));
  PetscCall(PetscSparseCUDAFree(&plan->list_columns, stream));
  KeepLists(plan, &list);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FreeTiles(DCSRSpMVTransposePlan plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&plan->tiles, stream));
  PetscCall(PetscSparseCUDAFree(&plan->positions, stream));
  PetscCall(PetscSparseCUDAFree(&plan->list_columns, stream));
  plan->list_begins = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles and lists, with room for so many entries of these at first; host: what was found, of rows too. Synchronizes, once more when there was too little room. */
PetscErrorCode BuildTiles(DCSRSpMVTransposePlan plan, DCSRView view, const TileInstance &instance, PetscCount capacity, SpMVTransposeFound *found, cudaStream_t stream, SpMVTransposeFound *host)
{
  TileListOutput list;

  PetscFunctionBegin;
  plan->num_tiles = (view.num_nonzeros + instance.nonzeros - 1) / instance.nonzeros;
  PetscCall(PetscSparseCUDAMalloc(plan->num_tiles, "tiles of the transpose product", stream, &plan->tiles));
  PetscCall(PetscSparseCUDAMalloc(view.num_nonzeros, "positions of the transpose product", stream, &plan->positions));
  do {
    PetscCall(PetscSparseCUDAFree(&plan->list_columns, stream));
    PetscCall(AllocateLists(capacity, stream, &list));
    KeepLists(plan, &list);
    PetscCallCUDA(cudaMemsetAsync(&found->list_size, 0, sizeof(found->list_size) + sizeof(found->heavy_tiles), stream));
    PetscCall(LaunchBuild(instance, view, plan->num_tiles, 1, plan->tiles, plan->positions, list, found, stream));
    PetscCall(GetFound(found, stream, host));
    plan->list_size = (PetscCount)host->list_size;
    capacity        = plan->list_size;
  } while (capacity > list.capacity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Describe(DCSRSpMVTransposePlan plan)
{
  const PetscCount n = plan->blocks != NULL ? plan->list->view.num_nonzeros : plan->num_nonzeros;

  PetscFunctionBegin;
  plan->bytes = (size_t)NumMarks(n) * sizeof(*plan->marks) + (size_t)plan->nonempty_size * sizeof(*plan->nonempty_rows);
  if (plan->kind == DCSR_SPMVT_TILE)
    plan->bytes += (size_t)plan->num_tiles * sizeof(*plan->tiles) + (size_t)n * sizeof(*plan->positions) + (size_t)plan->list_capacity * (sizeof(*plan->list_columns) + sizeof(*plan->list_begins));
  if (plan->blocks != NULL) {
    plan->bytes += ((size_t)n + (size_t)plan->list->view.num_rows + 1) * sizeof(int32_t);
    PetscCall(PetscSNPrintf(plan->description, sizeof(plan->description), "tiles of %d blocks of %d x %d, %.2f atomics a nonzero", TILE_BLOCKS, plan->list->rows, plan->list->columns,
                            (double)(plan->list_size * plan->list->columns) / (double)plan->num_nonzeros));
  } else if (plan->kind == DCSR_SPMVT_TILE) {
    PetscCall(PetscSNPrintf(plan->description, sizeof(plan->description), "%s, %.2f atomics a nonzero", TILE_INSTANCES[plan->kernel].name, (double)plan->list_size / (double)plan->num_nonzeros));
  } else PetscCall(PetscSNPrintf(plan->description, sizeof(plan->description), "%s", ATOMIC_INSTANCES[plan->kernel].name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks and the list of rows, where a thread block would traverse far (planmarks.cuh). */
template <typename Offset>
PetscErrorCode ListRowsOfAll(DCSRSpMVTransposePlan plan, DCSRView view, cudaStream_t stream)
{
  uint32_t      *num_starts = NULL;
  PetscErrorCode ierr       = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(NumMarks(view.num_nonzeros) + 1, "rows before each mark", stream, &num_starts));
  PetscCallGoto(ierr, done, MarkRows<Offset>(view, plan->marks, num_starts, stream));
  PetscCallCUDAGoto(ierr, done, DCSRForEach((PetscCount)view.num_rows, WriteNonemptyRow<Offset>{(const Offset *)view.row_offsets, plan->marks, plan->nonempty_rows}, stream));
done:
  PetscCall(PetscSparseCUDAFree(&num_starts, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of rows that are not empty, and the marks that go with it. */
PetscErrorCode ListRows(DCSRSpMVTransposePlan plan, DCSRView view, bool far, SpMVTransposeFound *found, cudaStream_t stream)
{
  PetscFunctionBegin;
  plan->nonempty_size = far ? PetscMin((PetscCount)view.num_rows, view.num_nonzeros) : (PetscCount)view.num_rows + NumMarkBlocks(view.num_nonzeros);
  PetscCall(PetscSparseCUDAMalloc(plan->nonempty_size, "list of rows that are not empty", stream, &plan->nonempty_rows));
  if (!far) PetscCall(LaunchMarks(plan, view, found, stream));
  else if (view.wide) PetscCall(ListRowsOfAll<int64_t>(plan, view, stream));
  else PetscCall(ListRowsOfAll<int32_t>(plan, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles, with room for so many entries of lists at first. With decide they stay when they pay. On an error there are none, and the plan is as it was. */
PetscErrorCode AddTiles(DCSRSpMVTransposePlan plan, DCSRView view, int choice, PetscCount capacity, bool decide, SpMVTransposeFound *found, cudaStream_t stream, SpMVTransposeFound *host)
{
  const TileInstance &instance = TILE_INSTANCES[choice];
  PetscErrorCode      ierr     = PETSC_SUCCESS;
  bool                stay     = false;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, BuildTiles(plan, view, instance, capacity, found, stream, host));
  if (decide && !TilesPay(plan, host, plan->num_tiles, view.num_nonzeros)) goto done;
  PetscCallGoto(ierr, done, ShrinkLists(plan, stream));
  for (int c = 0; c < 2; c++) PetscCallGoto(ierr, done, ConfigureTile(instance, instance.apply[c]));
  plan->kind   = DCSR_SPMVT_TILE;
  plan->kernel = choice;
  stay         = true;
done:
  if (!stay) PetscCall(FreeTiles(plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Marks, and tiles when choice >= 0; found is 0. With decide they are made when they pay, and left for later when one more product alone would not pay for them: unless columns are heavy, for which
  atomics may wait very long. A sample decides, when there is to be more than one product of large matrices.
*/
PetscErrorCode FillCompact(DCSRSpMVTransposePlan plan, DCSRView view, int choice, bool decide, bool one, SpMVTransposeFound *found, cudaStream_t stream)
{
  SpMVTransposeFound host     = {0, 0, 0};
  PetscCount         capacity = view.num_nonzeros, stride = 1, sampled = 0;

  PetscFunctionBegin;
  if (choice >= 0 && decide && (one || view.num_nonzeros >= SPMVT_SAMPLE_NONZEROS)) sampled = SampleSize(TILE_INSTANCES[choice], view.num_nonzeros, &stride);
  if (sampled) PetscCall(LaunchBuild(TILE_INSTANCES[choice], view, sampled, stride, NULL, NULL, {NULL, NULL, 0}, found, stream));
  PetscCall(LaunchMarks(plan, view, found, stream));
  if (sampled || choice < 0) PetscCall(GetFound(found, stream, &host));
  if (sampled) {
    const PetscCount nonzeros = sampled * TILE_INSTANCES[choice].nonzeros;

    capacity = PetscMin(capacity, (PetscCount)(((double)host.list_size / (double)nonzeros + 0.1) * (double)view.num_nonzeros));
    if (!TilesPay(plan, &host, sampled, nonzeros)) choice = -1;
    else if (one && !TilesAreHeavy(plan, &host, sampled)) {
      plan->later          = choice;
      plan->later_capacity = capacity;
      choice               = -1;
    }
  }
  if (choice >= 0) PetscCall(AddTiles(plan, view, choice, capacity, decide, found, stream, &host));
  if (host.rows != SPMVT_ROWS_FULL) PetscCall(ListRows(plan, view, host.rows == SPMVT_ROWS_FAR, found, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of blocks where the matrix consists of them, and there is a kernel; of its own accord for matrices that give each multiprocessor a tile. Tiles of it are built by instance *choice then. */
PetscErrorCode FindBlocks(DCSRSpMVTransposePlan plan, DCSRView view, bool wanted, const PetscSparseCUDATuning *tuning, cudaStream_t stream, int *choice)
{
  const TileBlocksInstance *blocks = TileBlocksFind(tuning, view.row_block, view.column_block);

  PetscFunctionBegin;
  if (blocks == NULL || (!wanted && view.num_nonzeros / (blocks->rows * blocks->columns) < (PetscCount)TILE_BLOCKS * tuning->device.num_multiprocessors)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRBlockListGet(view, blocks->rows, blocks->columns, stream, &plan->list));
  if (plan->list == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  plan->blocks = blocks;
  for (int c = 0; c < 2; c++) PetscCall(AllowShared(blocks->apply[c], TileBlocksBytes(blocks)));
  for (*choice = 0; TILE_INSTANCES[*choice].nonzeros != TILE_BLOCKS;) (*choice)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* kernel >= 0 forces an instantiation of the kind; one: perhaps there is but one product. */
PetscErrorCode FillPlan(DCSRSpMVTransposePlan plan, DCSRView view, DCSRSpMVTransposeKind kind, int kernel, bool one, cudaStream_t stream)
{
  const PetscSparseCUDATuning *tuning = NULL;
  SpMVTransposeFound          *found  = NULL;
  PetscErrorCode               ierr   = PETSC_SUCCESS;
  int                          choice = kind == DCSR_SPMVT_ATOMIC ? -1 : kernel;
  bool                         decide = kind == DCSR_SPMVT_AUTO;

  PetscFunctionBegin;
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(view.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Products with transposes need compact storage, or a base and its overflow");
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  plan->max_heavy = tuning->spmvt.max_heavy;
  plan->kernel    = kind == DCSR_SPMVT_ATOMIC && kernel >= 0 ? kernel : tuning->spmvt.atomic;
  if (kind != DCSR_SPMVT_ATOMIC && choice < 0) PetscCall(FindBlocks(plan, view, !decide, tuning, stream, &choice));
  if (plan->blocks != NULL) { // the plan is that of the list; making it costs less than one product
    view   = plan->list->view;
    decide = one = false;
  } else if (kind != DCSR_SPMVT_ATOMIC && choice < 0) choice = ChooseTile(tuning, view.num_nonzeros, kind == DCSR_SPMVT_TILE, &plan->max_ratio);
  PetscCall(PetscSparseCUDAMalloc(NumMarks(view.num_nonzeros), "row marks of the transpose product", stream, &plan->marks));
  PetscCall(PetscSparseCUDAMalloc(1, "facts of a matrix", stream, &found));
  PetscCallCUDAGoto(ierr, done, cudaMemsetAsync(found, 0, sizeof(*found), stream));
  PetscCallGoto(ierr, done, FillCompact(plan, view, choice, decide, one, found, stream));
done:
  PetscCall(PetscSparseCUDAFree(&found, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = z or 0; never overlapping, because the next kernel reads x, values and plan before it waits. */
PetscErrorCode Initialize(PetscInt n, const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const PetscCount block = INITIAL_THREADS * INITIAL_ITEMS;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRLaunch(false, InitialKernel, ((PetscCount)n + block - 1) / block, INITIAL_THREADS, 0, stream, (PetscCount)n, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x + z; the kernel starts while y is still initialized. */
PetscErrorCode Apply(DCSRSpMVTransposePlan plan, DCSRView view, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const bool                     initialize    = z != y;
  const PetscScalar *const       values        = view.values;
  const int32_t *const           columns       = view.columns;
  const SpMVTransposeMark *const marks         = plan->marks;
  const int32_t *const           nonempty_rows = plan->nonempty_rows;

  PetscFunctionBegin;
  if (initialize) PetscCall(Initialize(view.num_columns, z, y, stream));
  if (plan->blocks != NULL) {
    const DCSRView &list = plan->list->view;

    PetscCallCUDA(DCSRLaunch(initialize, plan->blocks->apply[conjugate ? 1 : 0], plan->num_tiles, plan->blocks->threads, TileBlocksBytes(plan->blocks), stream, list.num_nonzeros,
                             (const int32_t *)list.row_offsets, values, marks, nonempty_rows, TileLists{plan->tiles, plan->positions, plan->list_columns, plan->list_begins}, x, y));
  } else if (plan->kind == DCSR_SPMVT_TILE) {
    const TileInstance &instance = TILE_INSTANCES[plan->kernel];
    const TileLists     lists    = {plan->tiles, plan->positions, plan->list_columns, plan->list_begins};

    PetscCallCUDA(
      DCSRLaunch(initialize, instance.apply[conjugate ? 1 : 0], plan->num_tiles, instance.threads, TileBytes(instance), stream, view.num_nonzeros, values, marks, nonempty_rows, lists, x, y));
  } else {
    const AtomicInstance &instance = ATOMIC_INSTANCES[plan->kernel];
    const PetscCount      block    = (PetscCount)instance.threads * instance.words;

    PetscCallCUDA(
      DCSRLaunch(initialize, instance.apply[conjugate ? 1 : 0], (view.num_nonzeros + block - 1) / block, instance.threads, 0, stream, view.num_nonzeros, values, columns, marks, nonempty_rows, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpMVTransposeCountStarts - num_starts [num_marks + 1] (device): the first nonzeros before each mark, at last the number of rows that are not empty. The bits of the marks are there. Asynchronous */
PetscErrorCode SpMVTransposeCountStarts(PetscCount num_marks, const SpMVTransposeMark marks[], uint32_t num_starts[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSum("workspace of row marks", thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), StartsOfMark{marks, num_marks}), num_marks + 1, num_starts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpMVTransposePlanCreate - DCSRSpMVTransposePlanCreate(), or with one DCSRSpMVTransposePlanCreateForOne(); kernel: an instance of the kind, which has to fit, -1: the rule's choice */
PetscErrorCode SpMVTransposePlanCreate(DCSRView view, DCSRSpMVTransposeKind kind, int kernel, PetscBool one, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *plan = NULL;
  PetscCheck((PetscCount)view.num_rows <= (PetscCount)INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "The transpose product takes at most 2^31 - 1 local rows, not %" PetscInt_FMT ". Use more ranks",
             view.num_rows);
  PetscCall(PetscNew(plan));
  (*plan)->kind         = DCSR_SPMVT_ATOMIC;
  (*plan)->later        = -1;
  (*plan)->num_rows     = view.num_rows;
  (*plan)->num_columns  = view.num_columns;
  (*plan)->num_nonzeros = view.num_nonzeros;
  PetscCallGoto(ierr, failed, FillPlan(*plan, view, kind, kernel, one == PETSC_TRUE, stream));
  PetscCallGoto(ierr, failed, Describe(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSpMVTransposePlanDestroy(plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposePlanCreate - analyzes the structure for MultTranspose; synchronizes once, for large matrices twice
  view is compact storage with at most 2^31 - 1 rows; values are not read. DCSR_SPMVT_AUTO lets the rule choose. Where the matrix consists of full blocks of the sizes that view says, tiles are of blocks.
  plan is valid while the structure stays; DCSRSpMVTransposePlanDestroy() releases it. It is NULL after an error, and nothing stays allocated.
  Cost: one pass over the row offsets, two when there are empty rows, and for tiles one over the columns. Memory: a quarter byte a nonzero (and 4 bytes a row when there are empty ones); with tiles 2
  bytes a nonzero and 6 a distinct column of a tile more, and up to 6 a nonzero while it is made.
*/
PetscErrorCode DCSRSpMVTransposePlanCreate(DCSRView view, DCSRSpMVTransposeKind kind, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscFunctionBegin;
  PetscCall(SpMVTransposePlanCreate(view, kind, -1, PETSC_FALSE, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposePlanCreateForOne - DCSRSpMVTransposePlanCreate() when more than one product is not certain

  What one product alone would not pay for is left to DCSRSpMVTransposePlanComplete(), which is called before the second one. Parameters and errors are the same; it synchronizes once, or twice where
  columns have very many nonzeros, so that all is made at once.
*/
PetscErrorCode DCSRSpMVTransposePlanCreateForOne(DCSRView view, DCSRSpMVTransposeKind kind, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscFunctionBegin;
  PetscCall(SpMVTransposePlanCreate(view, kind, -1, PETSC_TRUE, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposePlanCreateForRows - DCSRSpMVTransposePlanCreate() for some rows of a larger matrix, one atomic a nonzero
  view has no empty rows; its row r is row rows[r] of the larger matrix, as long as x. rows [num_rows], device, are copied. Errors are the same.
*/
PetscErrorCode DCSRSpMVTransposePlanCreateForRows(DCSRView view, const int32_t rows[], cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  const size_t   bytes = (size_t)view.num_rows * sizeof(*rows);
  PetscErrorCode ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRSpMVTransposePlanCreate(view, DCSR_SPMVT_ATOMIC, stream, plan));
  if ((*plan)->nonempty_rows != NULL)
    PetscCallGoto(ierr, failed, PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_PLIB, PETSC_ERROR_INITIAL, "The matrix has empty rows"));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view.num_rows, "rows of a transpose product", stream, &(*plan)->nonempty_rows));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync((*plan)->nonempty_rows, rows, bytes, cudaMemcpyDeviceToDevice, stream));
  (*plan)->nonempty_size = view.num_rows;
  (*plan)->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSpMVTransposePlanDestroy(plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVTransposePlanIsComplete - whether DCSRSpMVTransposePlanComplete() has nothing to do */
PetscBool DCSRSpMVTransposePlanIsComplete(DCSRSpMVTransposePlan plan)
{
  return plan->later < 0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
  DCSRSpMVTransposePlanComplete - makes what pays when there are more products than one, for the structure of the plan; synchronizes once, rarely twice, when there is something to do
  Cost: one pass over the columns, or nothing. After PETSC_ERR_MEM the plan is as it was.
*/
PetscErrorCode DCSRSpMVTransposePlanComplete(DCSRSpMVTransposePlan plan, DCSRView view, cudaStream_t stream)
{
  PetscErrorCode      ierr  = PETSC_SUCCESS;
  SpMVTransposeFound *found = NULL, host;

  PetscFunctionBegin;
  if (plan->later < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "facts of a matrix", stream, &found));
  PetscCallGoto(ierr, done, AddTiles(plan, view, plan->later, plan->later_capacity, true, found, stream, &host));
  plan->later = -1;
  PetscCallGoto(ierr, done, Describe(plan));
done:
  PetscCall(PetscSparseCUDAFree(&found, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVTransposePlanDestroy - releases a plan; *plan may be NULL and is afterwards. Work that uses the plan has been enqueued on the stream. */
PetscErrorCode DCSRSpMVTransposePlanDestroy(DCSRSpMVTransposePlan *plan, cudaStream_t stream)
{
  DCSRSpMVTransposePlan p = *plan;

  PetscFunctionBegin;
  if (p == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&p->marks, stream));
  PetscCall(PetscSparseCUDAFree(&p->nonempty_rows, stream));
  PetscCall(FreeTiles(p, stream));
  PetscCall(DCSRBlockListDestroy(&p->list, stream));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposePlanGetInfo - what a plan decided; each output may be NULL
  kind is DCSR_SPMVT_ATOMIC or DCSR_SPMVT_TILE. bytes: device memory that the plan holds. description: one line for people; belongs to the plan.
*/
PetscErrorCode DCSRSpMVTransposePlanGetInfo(DCSRSpMVTransposePlan plan, DCSRSpMVTransposeKind *kind, size_t *bytes, const char **description)
{
  PetscFunctionBegin;
  if (kind) *kind = plan->kind;
  if (bytes) *bytes = plan->bytes;
  if (description) *description = plan->description;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposeApply - y = op(A) x + z with op the transpose or (conjugate) the Hermitian transpose. Asynchronous; nothing is allocated
  x [num_rows], z and y [num_columns], device. z is NULL for none, and may be y; y is not x. Sums meet in y by atomics, so the last bits vary from run to run.
*/
PetscErrorCode DCSRSpMVTransposeApply(DCSRSpMVTransposePlan plan, DCSRView view, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const size_t bytes = (size_t)view.num_columns * sizeof(*y);

  PetscFunctionBegin;
  PetscCheck(plan->num_rows == view.num_rows && plan->num_columns == view.num_columns && plan->num_nonzeros == view.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The plan was made for another structure: create it again after the nonzero state has changed");
  PetscCheck(view.values != NULL || !view.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it cannot be multiplied");
  if (view.num_nonzeros) PetscCall(Apply(plan, view, conjugate, x, z, y, stream));
  else if (bytes && z == NULL) PetscCallCUDA(cudaMemsetAsync(y, 0, bytes, stream));
  else if (bytes && z != y) PetscCallCUDA(cudaMemcpyAsync(y, z, bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(DCSRForEachKernel<PetscCount, MarkRow<int32_t>>);
