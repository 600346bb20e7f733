/*
  y = A^T x without a stored transpose: plan and product. Which kernel runs is the rule's matter, see spmvtransposeimpl.h.
*/
#include "marks.cuh"
#include "tile.cuh"

const char *const DCSRSpMVTransposeKinds[] = {"auto", "atomic", "tile", "DCSRSpMVTransposeKind", "DCSR_SPMVT_", NULL};

struct _n_DCSRSpMVTransposePlan {
  DCSRSpMVTransposeKind kind;
  int                   tile_kernel; // index into TILE_KERNELS, -1 without tiles
  size_t                bytes;       // device memory
  char                  description[128];
  PetscInt              num_rows, num_columns;
  PetscCount            num_nonzeros, num_nonempty, num_tiles, list_size;
  PetscBool             compact;
  SpMVTransposeMark    *marks;         // [NumMarks(num_nonzeros)]
  int32_t              *nonempty_rows; // [num_nonempty], NULL when no row is empty
  SpMVTransposeTile    *tiles;         // [num_tiles]
  uint16_t             *positions;     // [num_nonzeros]
  int32_t              *list_columns;  // [list_size]
  uint16_t             *list_begins;   // [list_size]
  RowLoopWork           work;          // fragmented storage
};

namespace
{

typedef void (*TileFn)(PetscCount, const PetscScalar *, const SpMVTransposeMark *, const int32_t *, TileLists, const PetscScalar *, PetscScalar *);
typedef void (*TileSortFn)(PetscCount, const int32_t *, int, PetscCount, SpMVTransposeTile *, uint16_t *);
typedef void (*TileListFn)(PetscCount, const int32_t *, const uint16_t *, SpMVTransposeTile *, const int64_t *, int32_t *, uint16_t *);

struct TileInstance {
  const char *name;
  int         nonzeros, threads, build_threads;
  size_t      build_bytes;
  TileFn      apply[2]; // transpose, Hermitian transpose
  TileSortFn  sort;
  TileListFn  list;
};

#define SPMVT_TILE_INSTANCE(T, THREADS, BLOCKS) \
  {"tile<" #T "," #THREADS "," #BLOCKS ">", \
   T, \
   THREADS, \
   TileBuild<T>::threads, \
   sizeof(TileBuild<T>::Storage), \
   {TileKernel<T, THREADS, BLOCKS, false>, TileKernel<T, THREADS, BLOCKS, bool(PetscDefined(USE_COMPLEX))>}, \
   TileSortKernel<T>, \
   TileListKernel<T>},
const TileInstance TILE_INSTANCES[] = {SPMVT_TILE_KERNELS(SPMVT_TILE_INSTANCE)};
#undef SPMVT_TILE_INSTANCE
constexpr int NUM_TILE_INSTANCES = (int)PETSC_STATIC_ARRAY_LENGTH(TILE_INSTANCES);

const SpMVTransposeRule RULES[] = {SPMVT_RULES};

/* One atomic a nonzero: each warp has ATOMIC_WORDS times 32 consecutive nonzeros. */
constexpr int ATOMIC_THREADS = 256;
constexpr int ATOMIC_WORDS   = 4;

template <bool Conjugate>
__global__ static void __launch_bounds__(ATOMIC_THREADS) AtomicKernel(PetscCount num_nonzeros, const PetscScalar *__restrict__ values, const int32_t *__restrict__ columns, const SpMVTransposeMark *__restrict__ marks,
                                                                      const int32_t *__restrict__ nonempty_rows, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y)
{
  const PetscCount first = (((PetscCount)blockIdx.x * ATOMIC_THREADS + threadIdx.x) / 32) * (32 * ATOMIC_WORDS) + threadIdx.x % 32;
  PetscScalar      value[ATOMIC_WORDS];
  int32_t          column[ATOMIC_WORDS], row[ATOMIC_WORDS];

#pragma unroll
  for (int i = 0; i < ATOMIC_WORDS; i++) {
    const PetscCount k = first + 32 * i;

    if (k < num_nonzeros) {
      value[i]  = LoadStreaming(values + k);
      column[i] = __ldcs(columns + k);
      row[i]    = RowOfNonzero(LoadMark(marks, k), k, nonempty_rows);
    }
  }
#pragma unroll
  for (int i = 0; i < ATOMIC_WORDS; i++)
    if (first + 32 * i < num_nonzeros) AddAtomically(y + column[i], Times<Conjugate>(value[i], x[row[i]]));
}

/* Fragmented storage: the same, walking the segments. */
template <bool Conjugate>
struct AddEntry {
  using Result = void;
  const PetscScalar *values;
  const int32_t     *columns;
  const PetscScalar *x;
  PetscScalar       *y;

  __device__ void Visit(RowEntry e) const { AddAtomically(y + columns[e.position], Times<Conjugate>(values[e.position], x[e.row])); }
};

/* Kernels with more than 48 KiB of shared memory have to be told; once a kernel and device, which the driver remembers. */
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

/* Whether the device has the shared memory, of a multiprocessor for the given number of blocks. */
PetscErrorCode TileFits(const TileInstance &instance, int blocks, bool *fits)
{
  int device, block_bytes, total_bytes;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  PetscCallCUDA(cudaDeviceGetAttribute(&total_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  *fits = PetscMax(TileBytes(instance), instance.build_bytes) <= (size_t)block_bytes && blocks * (TileBytes(instance) + 1024) <= (size_t)total_bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rule's instance, or a smaller one where scalars are large or the device's shared memory is small; -1: too few nonzeros. */
PetscErrorCode ChooseTile(PetscCount num_nonzeros, bool any_size, int *choice, double *max_ratio)
{
  PetscFunctionBegin;
  *choice    = -1;
  *max_ratio = 0.0;
  for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(RULES) && *choice < 0; r++) {
    const bool last = r + 1 == PETSC_STATIC_ARRAY_LENGTH(RULES);

    if (num_nonzeros < RULES[r].min_nonzeros && !(last && any_size)) continue;
    for (int i = 0; i < NUM_TILE_INSTANCES; i++) {
      bool fits;

      if (TILE_INSTANCES[i].nonzeros != RULES[r].tile_nonzeros || TILE_INSTANCES[i].threads != RULES[r].tile_threads) continue;
      PetscCall(TileFits(TILE_INSTANCES[i], 2, &fits));
      if (!fits) continue;
      *choice    = i;
      *max_ratio = RULES[r].max_ratio;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct ListSizeOfTile {
  const SpMVTransposeTile *tiles;
  PetscCount               num_tiles;
  __device__ int64_t       operator()(PetscCount t) const { return t < num_tiles ? tiles[t].list_size : 0; }
};

int ColumnBits(PetscInt num_columns)
{
  int bits = 1;

  while (bits < 31 && ((int64_t)1 << bits) < (int64_t)num_columns) bits++;
  return bits;
}

PetscErrorCode SortTiles(const TileInstance &instance, DCSRView view, PetscCount num_tiles, PetscCount stride, SpMVTransposeTile *tiles, uint16_t *positions, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AllowShared(instance.sort, instance.build_bytes));
  instance.sort<<<(unsigned int)num_tiles, instance.build_threads, instance.build_bytes, stream>>>(view.num_nonzeros, view.columns, ColumnBits(view.num_columns), stride, tiles, positions);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums the sizes of the lists: list_begins [num_tiles + 1] device; the total on the host. Synchronizes. */
PetscErrorCode ScanLists(PetscCount num_tiles, const SpMVTransposeTile *tiles, int64_t *list_begins, cudaStream_t stream, PetscCount *total)
{
  int64_t result = 0;

  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary("workspace to place lists", stream, [&](void *storage, size_t &bytes) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), ListSizeOfTile{tiles, num_tiles}), list_begins, num_tiles + 1, stream);
  }));
  PetscCallCUDA(cudaMemcpyAsync(&result, list_begins + num_tiles, sizeof(result), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *total = (PetscCount)result;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimates distinct columns / nonzeros from full tiles evenly spread over the matrix. */
PetscErrorCode SampleRatio(const TileInstance &instance, DCSRView view, cudaStream_t stream, double *ratio)
{
  const PetscCount   num_full = view.num_nonzeros / instance.nonzeros;
  const PetscCount   stride   = PetscMax(num_full / SPMVT_SAMPLE_TILES, (PetscCount)1);
  const PetscCount   num      = num_full / stride;
  PetscErrorCode     ierr     = PETSC_SUCCESS;
  PetscCount         total    = 0;
  SpMVTransposeTile *tiles    = NULL;
  int64_t           *begins   = NULL;

  PetscFunctionBegin;
  *ratio = 1.0;
  if (!num) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num, "sample of tiles", stream, &tiles));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(num + 1, "sample of lists", stream, &begins));
  PetscCallGoto(ierr, cleanup, SortTiles(instance, view, num, stride, tiles, NULL, stream));
  PetscCallGoto(ierr, cleanup, ScanLists(num, tiles, begins, stream, &total));
  *ratio = (double)total / (double)(num * instance.nonzeros);
cleanup:
  PetscCall(PetscSparseCUDAFree(&tiles, stream));
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BuildTiles(DCSRSpMVTransposePlan plan, DCSRView view, int choice, cudaStream_t stream)
{
  const TileInstance &instance = TILE_INSTANCES[choice];
  PetscErrorCode      ierr     = PETSC_SUCCESS;
  int64_t            *begins   = NULL;

  PetscFunctionBegin;
  plan->kind        = DCSR_SPMVT_TILE;
  plan->tile_kernel = choice;
  plan->num_tiles   = (view.num_nonzeros + instance.nonzeros - 1) / instance.nonzeros;
  PetscCall(PetscSparseCUDAMalloc(plan->num_tiles, "tiles of the transpose product", stream, &plan->tiles));
  PetscCall(PetscSparseCUDAMalloc(view.num_nonzeros, "positions of the transpose product", stream, &plan->positions));
  PetscCall(PetscSparseCUDAMalloc(plan->num_tiles + 1, "begins of lists", stream, &begins));
  PetscCallGoto(ierr, cleanup, SortTiles(instance, view, plan->num_tiles, 1, plan->tiles, plan->positions, stream));
  PetscCallGoto(ierr, cleanup, ScanLists(plan->num_tiles, plan->tiles, begins, stream, &plan->list_size));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(plan->list_size, "distinct columns of tiles", stream, &plan->list_columns));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(plan->list_size, "begins of distinct columns", stream, &plan->list_begins));
  PetscCallGoto(ierr, cleanup, AllowShared(instance.list, instance.build_bytes));
  instance.list<<<(unsigned int)plan->num_tiles, instance.build_threads, instance.build_bytes, stream>>>(view.num_nonzeros, view.columns, plan->positions, plan->tiles, begins, plan->list_columns, plan->list_begins);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  for (int c = 0; c < 2; c++) PetscCallGoto(ierr, cleanup, AllowShared(instance.apply[c], TileBytes(instance)));
cleanup:
  PetscCall(PetscSparseCUDAFree(&begins, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Describe(DCSRSpMVTransposePlan plan)
{
  const size_t marks = (size_t)NumMarks(plan->num_nonzeros) * sizeof(*plan->marks);

  PetscFunctionBegin;
  if (plan->compact) plan->bytes = marks + (plan->nonempty_rows ? (size_t)plan->num_nonempty * sizeof(*plan->nonempty_rows) : 0);
  else plan->bytes = plan->work.max_long ? 2 * sizeof(*plan->work.counts) + (size_t)plan->work.max_long * (sizeof(*plan->work.long_rows) + sizeof(*plan->work.first_chunk)) + (size_t)plan->work.max_chunks * sizeof(*plan->work.chunk_long) : 0;
  if (plan->kind == DCSR_SPMVT_TILE) {
    plan->bytes += (size_t)plan->num_tiles * sizeof(*plan->tiles) + (size_t)plan->num_nonzeros * sizeof(*plan->positions) + (size_t)plan->list_size * (sizeof(*plan->list_columns) + sizeof(*plan->list_begins));
    PetscCall(PetscSNPrintf(plan->description, sizeof(plan->description), "%s, %.2f atomics a nonzero", TILE_INSTANCES[plan->tile_kernel].name, (double)plan->list_size / (double)plan->num_nonzeros));
  } else PetscCall(PetscSNPrintf(plan->description, sizeof(plan->description), plan->compact ? "one atomic a nonzero" : "one atomic a nonzero, %d lanes a row over its segments", plan->work.lanes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* tile_kernel >= 0 forces an instantiation. */
PetscErrorCode FillPlan(DCSRSpMVTransposePlan plan, DCSRView view, DCSRSpMVTransposeKind kind, int tile_kernel, cudaStream_t stream)
{
  double max_ratio, ratio;
  int    choice = tile_kernel;

  PetscFunctionBegin;
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  if (!plan->compact) {
    PetscCall(RowLoopWorkCreate(view, stream, &plan->work));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(NumMarks(view.num_nonzeros), "row marks of the transpose product", stream, &plan->marks));
  if (view.wide) PetscCall(BuildMarks<int64_t>(view, stream, plan->marks, &plan->nonempty_rows, &plan->num_nonempty));
  else PetscCall(BuildMarks<int32_t>(view, stream, plan->marks, &plan->nonempty_rows, &plan->num_nonempty));
  if (kind == DCSR_SPMVT_ATOMIC) PetscFunctionReturn(PETSC_SUCCESS);
  if (choice < 0) PetscCall(ChooseTile(view.num_nonzeros, kind == DCSR_SPMVT_TILE, &choice, &max_ratio));
  if (choice < 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (kind == DCSR_SPMVT_AUTO) {
    PetscCall(SampleRatio(TILE_INSTANCES[choice], view, stream, &ratio));
    if (ratio > max_ratio) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BuildTiles(plan, view, choice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreatePlan(DCSRView view, DCSRSpMVTransposeKind kind, int tile_kernel, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *plan = NULL;
  PetscCheck((PetscCount)view.num_rows <= (PetscCount)INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "The transpose product takes at most 2^31 - 1 local rows, not %" PetscInt_FMT ". Use more ranks", view.num_rows);
  PetscCall(PetscNew(plan));
  (*plan)->kind         = DCSR_SPMVT_ATOMIC;
  (*plan)->tile_kernel  = -1;
  (*plan)->num_rows     = view.num_rows;
  (*plan)->num_columns  = view.num_columns;
  (*plan)->num_nonzeros = view.num_nonzeros;
  (*plan)->compact      = view.row_offsets ? PETSC_TRUE : PETSC_FALSE;
  PetscCallGoto(ierr, failed, FillPlan(*plan, view, kind, tile_kernel, stream));
  PetscCallGoto(ierr, failed, Describe(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSpMVTransposePlanDestroy(plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ApplyCompact(DCSRSpMVTransposePlan plan, DCSRView view, PetscBool conjugate, const PetscScalar x[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (plan->kind == DCSR_SPMVT_TILE) {
    const TileInstance &instance = TILE_INSTANCES[plan->tile_kernel];
    const TileLists     lists    = {plan->tiles, plan->positions, plan->list_columns, plan->list_begins};

    instance.apply[conjugate ? 1 : 0]<<<(unsigned int)plan->num_tiles, instance.threads, TileBytes(instance), stream>>>(view.num_nonzeros, view.values, plan->marks, plan->nonempty_rows, lists, x, y);
  } else {
    constexpr PetscCount block_nonzeros = ATOMIC_THREADS * ATOMIC_WORDS;
    const unsigned int   blocks         = (unsigned int)((view.num_nonzeros + block_nonzeros - 1) / block_nonzeros);

    if (conjugate) AtomicKernel<true><<<blocks, ATOMIC_THREADS, 0, stream>>>(view.num_nonzeros, view.values, view.columns, plan->marks, plan->nonempty_rows, x, y);
    else AtomicKernel<false><<<blocks, ATOMIC_THREADS, 0, stream>>>(view.num_nonzeros, view.values, view.columns, plan->marks, plan->nonempty_rows, x, y);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRSpMVTransposePlanCreate - analyses the structure for transpose products

  Input Parameters:
+ view   - compact or fragmented storage with at most 2^31 - 1 rows; values are not read
. kind   - DCSR_SPMVT_AUTO lets the rule choose; DCSR_SPMVT_TILE is taken as DCSR_SPMVT_ATOMIC for fragmented storage
- stream - synchronizes with it up to three times

  Output Parameter:
. plan - valid while the structure stays; DCSRSpMVTransposePlanDestroy() releases it

  Cost: one read of the row offsets, and for tiles an on-chip sort of the columns. Memory: a quarter byte a nonzero (and 4 bytes a nonempty row when there are empty ones); with tiles 2 bytes a nonzero and 6 a distinct column of a tile more.

  Errors: PETSC_ERR_MEM; *plan is NULL then and nothing stays allocated.
*/
PetscErrorCode DCSRSpMVTransposePlanCreate(DCSRView view, DCSRSpMVTransposeKind kind, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscFunctionBegin;
  PetscCall(CreatePlan(view, kind, -1, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposePlanDestroy - releases a plan; *plan may be NULL and is afterwards

  Input Parameters:
+ plan   - the plan
- stream - work that uses the plan has been enqueued here
*/
PetscErrorCode DCSRSpMVTransposePlanDestroy(DCSRSpMVTransposePlan *plan, cudaStream_t stream)
{
  DCSRSpMVTransposePlan p = *plan;

  PetscFunctionBegin;
  if (p == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&p->marks, stream));
  PetscCall(PetscSparseCUDAFree(&p->nonempty_rows, stream));
  PetscCall(PetscSparseCUDAFree(&p->tiles, stream));
  PetscCall(PetscSparseCUDAFree(&p->positions, stream));
  PetscCall(PetscSparseCUDAFree(&p->list_columns, stream));
  PetscCall(PetscSparseCUDAFree(&p->list_begins, stream));
  PetscCall(RowLoopWorkDestroy(&p->work, stream));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMVTransposePlanGetInfo - what a plan decided

  Input Parameter:
. plan - the plan

  Output Parameters:
+ kind        - (may be NULL) DCSR_SPMVT_ATOMIC or DCSR_SPMVT_TILE
. bytes       - (may be NULL) device memory that the plan holds
- description - (may be NULL) one line for people; belongs to the plan
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
  DCSRSpMVTransposeApply - y = op(A) x + z with op the transpose or the Hermitian transpose

  Input Parameters:
+ plan      - made for the structure of view
. view      - the matrix
. conjugate - PETSC_TRUE for the Hermitian transpose
. x         - [num_rows] device
. z         - [num_columns] device, NULL for none; may be y
- stream    - asynchronous on it; nothing is allocated

  Output Parameter:
. y - [num_columns] device; not x

  Note: sums meet in y by atomics, so the last bits vary from run to run.
*/
PetscErrorCode DCSRSpMVTransposeApply(DCSRSpMVTransposePlan plan, DCSRView view, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const size_t bytes = (size_t)view.num_columns * sizeof(*y);

  PetscFunctionBegin;
  PetscCheck(plan->num_rows == view.num_rows && plan->num_columns == view.num_columns && plan->num_nonzeros == view.num_nonzeros && (plan->compact == PETSC_TRUE) == (view.row_offsets != NULL), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The plan was made for another structure: create it again after the nonzero state has changed");
  PetscCheck(view.values != NULL || !view.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it cannot be multiplied");
  if (bytes) {
    if (z == NULL) PetscCallCUDA(cudaMemsetAsync(y, 0, bytes, stream));
    else if (z != y) PetscCallCUDA(cudaMemcpyAsync(y, z, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  if (!view.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  if (plan->compact) PetscCall(ApplyCompact(plan, view, conjugate, x, y, stream));
  else if (conjugate) PetscCall(RowLoop(view, &plan->work, AddEntry<true>{view.values, view.columns, x, y}, stream));
  else PetscCall(RowLoop(view, &plan->work, AddEntry<false>{view.values, view.columns, x, y}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVTransposeGetTileKernel_Private - the name of an instantiation, NULL past the last. */
PetscErrorCode DCSRSpMVTransposeGetTileKernel_Private(int kernel, const char **name)
{
  PetscFunctionBegin;
  *name = kernel >= 0 && kernel < NUM_TILE_INSTANCES ? TILE_INSTANCES[kernel].name : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVTransposePlanCreateTile_Private - a plan with tiles for one instantiation; an error when the device lacks the shared memory. */
PetscErrorCode DCSRSpMVTransposePlanCreateTile_Private(DCSRView view, int kernel, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  bool fits;

  PetscFunctionBegin;
  PetscCheck(kernel >= 0 && kernel < NUM_TILE_INSTANCES, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "There are %d instantiations, not %d", NUM_TILE_INSTANCES, kernel);
  PetscCall(TileFits(TILE_INSTANCES[kernel], 1, &fits));
  PetscCheck(fits, PETSC_COMM_SELF, PETSC_ERR_SUP, "The device has too little shared memory for %s", TILE_INSTANCES[kernel].name);
  PetscCall(CreatePlan(view, DCSR_SPMVT_TILE, kernel, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpMVTransposePlanGetListSize_Private - entries in the lists of distinct columns. */
PetscErrorCode DCSRSpMVTransposePlanGetListSize_Private(DCSRSpMVTransposePlan plan, PetscCount *size)
{
  PetscFunctionBegin;
  *size = plan->list_size;
  PetscFunctionReturn(PETSC_SUCCESS);
}
