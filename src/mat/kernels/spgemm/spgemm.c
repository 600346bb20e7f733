/*
  The phases of a product.

  Symbolic: a sample of the rows of a large product gives the size of tables and pool. One traversal of the terms, level by level, puts the columns into the pool. One
  synchronization brings the size of C. Row offsets are summed, and the columns move to their positions.

  Numeric: values, bin by bin. The second time it writes down where terms go, and reads that from then on.
*/
#include "spgemmimpl.h"

/* The sample. */
#define SAMPLE_ROWS  4096 /* A sample has at most so many rows. */
#define UNKNOWN_PART 0.6  /* The entries of rows that are too long for a sample are estimated as this part of their terms. */

/* The pool. */
#define POOL_MINIMUM    6291456 /* Without a sample the pool has at least so many entries (24 MiB). */
#define POOL_LEAST      0.01    /* The pool exceeds the expected entries by at least this part. */
#define POOL_DEVIATIONS 5       /* So many standard errors of the sample come on top of that. */
#define POOL_MARGIN     0.08    /* The pool exceeds the expected entries by at most this part. */

/* Windows of B are made when the workspace keeps to this part of C's size and so many bytes with them, positions when they do. */
#define WORKSPACE_PART  0.5
#define WORKSPACE_BYTES 67108864

PetscBool DCSRSpGEMMSmallRoom = PETSC_FALSE;

/* What a sample of the rows of C gives. */
typedef struct {
  SpGEMMStats stats;
  PetscCount  num_rows; /* of the sample; 0: none was taken */
  double      entries;  /* of C that are expected */
  double      padded;   /* the same with each row rounded up to a multiple of four */
} Sample;

/* SpGEMMGetMaxWarps - Warps that take chunks of the pool in one level: those of SPGEMM_BLOCKS thread blocks for each multiprocessor. */
PetscErrorCode SpGEMMGetMaxWarps(PetscCount *max_warps)
{
  DCSRDeviceFacts facts;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  *max_warps = (PetscCount)facts.num_multiprocessors * SPGEMM_BLOCKS * (SPGEMM_THREADS / 32);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Hold(DCSRSpGEMM product, size_t bytes)
{
  product->held += bytes;
  product->workspace = PetscMax(product->workspace, product->held);
}

/* What the bins hold. One whose tables the device does not hold takes no rows: the next one has them. */
static SpGEMMBinLimits GetLimits(const PetscSparseCUDATuning *tuning)
{
  SpGEMMBinLimits limits;

  for (int k = 0; k < SPGEMM_NUM_BINS; k++) {
    const SpGEMMBin *bin   = &tuning->spgemm.bins[k];
    const PetscBool  holds = (PetscBool)(bin->log2_slots && SpGEMMNumericHolds(tuning, bin));

    limits.max_windows[k] = holds ? 3 << bin->log2_slots >> 2 : 0;
    limits.max_entries[k] = holds ? bin->max_entries : 0;
  }
  limits.max_windows[SPGEMM_BIN_BLOCK] = SPGEMM_BLOCK_WINDOWS;
  limits.max_entries[SPGEMM_BIN_BLOCK] = PETSC_INT32_MAX;
  return limits;
}

/* mean: entries of a row of B, or when it is known, of one that an entry of A meets */
static int GetLanes(const SpGEMMRules *rules, double mean)
{
  int k = 0;

  while (mean > rules->lanes[k].mean) k++;
  return rules->lanes[k].lanes;
}

static PetscErrorCode FreePool(SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&pool->counts, stream));
  PetscCall(PetscSparseCUDAFree(&pool->bins, stream));
  PetscCall(PetscSparseCUDAFree(&pool->starts, stream));
  PetscCall(PetscSparseCUDAFree(&pool->columns, stream));
  PetscCall(PetscSparseCUDAFree(&pool->waiting, stream));
  PetscCall(PetscSparseCUDAFree(&pool->long_rows, stream));
  PetscCall(PetscSparseCUDAFree(&pool->stats, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays for num_rows rows; the pool itself has pool->capacity entries. After an error FreePool() takes what is there. */
static PetscErrorCode AllocatePool(PetscInt num_rows, cudaStream_t stream, SpGEMMPool *pool)
{
  const PetscInt num_long = PetscMin(num_rows, SPGEMM_MAX_LONG_ROWS);
  const size_t   start    = pool->wide ? sizeof(uint64_t) : sizeof(uint32_t);

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((PetscCount)num_rows + 1, "entries of the rows of a product", stream, &pool->counts));
  PetscCall(PetscSparseCUDAMalloc(num_rows, "bins of the rows of a product", stream, &pool->bins));
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)num_rows * start, "positions of the rows of a product", stream, &pool->starts));
  PetscCall(PetscSparseCUDAMalloc(pool->max_waiting, "rows of a product that wait for blocks", stream, &pool->waiting));
  PetscCall(PetscSparseCUDAMalloc(num_long, "long rows of a product", stream, &pool->long_rows));
  PetscCall(PetscSparseCUDAMalloc(pool->capacity, "columns of a product", stream, &pool->columns));
  PetscCallCUDA(cudaMemsetAsync(pool->counts + num_rows, 0, sizeof(*pool->counts), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of all these arrays. */
static size_t PoolBytes(PetscInt num_rows, const SpGEMMPool *pool)
{
  const size_t start = pool->wide ? sizeof(uint64_t) : sizeof(uint32_t);

  return (size_t)num_rows * (sizeof(*pool->counts) + sizeof(*pool->bins) + start) + (size_t)PetscMin(num_rows, SPGEMM_MAX_LONG_ROWS) * sizeof(*pool->long_rows) +
         (size_t)pool->max_waiting * sizeof(*pool->waiting) + (size_t)pool->capacity * sizeof(*pool->columns);
}

static PetscErrorCode GetStats(const SpGEMMPool *pool, cudaStream_t stream, SpGEMMStats *stats)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(stats, pool->stats, sizeof(*stats), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a sample that have at most as many windows as the sizes up to this one. */
static PetscCount CountFitting(const SpGEMMStats *stats, int size)
{
  PetscCount fit = 0;

  for (int k = 0; k <= size; k++) fit += stats->window_rows[k];
  return fit;
}

/* The slots of the first level's tables: most rows of the sample fit. */
static int ChooseSlots(const SpGEMMStats *stats, PetscCount num_rows, int lanes)
{
  static const int sizes[] = {0, 2, 4, 6}; // up to 12, 24, 48 and 96 windows

  for (int k = 0; k < 4; k++)
    if (CountFitting(stats, sizes[k]) * 50 >= num_rows * 49) return PetscMin(lanes == 4 ? 4 + k : 5 + k, 7); // groups of few lanes clear small tables, others have room for fewer collisions
  return CountFitting(stats, 6) * 2 >= num_rows ? 7 : 9;
}

/* Whether rows have so few windows that they are read as windows. */
static PetscBool HasWindows(const SpGEMMRules *rules, const SpGEMMShape *shape)
{
  return (PetscBool)((double)shape->num_windows <= rules->window_gain * (double)shape->num_entries);
}

/* Up to 14, 28 and 56 windows. */
static const int thread_sizes[] = {1, 3, 5};

/* Whether threads take rows, and the slots of their tables. Nearly all rows have to fit, and to have about the same number of terms, since a warp waits for its longest row. */
static PetscBool ChooseThreads(const SpGEMMRules *rules, DCSRView A, DCSRView B, const SpGEMMStats *stats, PetscCount num_samples, int *log2_slots)
{
  const double mean = (double)(stats->num_terms + stats->num_unknown) / (double)num_samples, squares = (double)stats->num_squares / (double)num_samples;

  if (A.num_rows < rules->thread_rows || B.num_columns > SPGEMM_MAX_THREAD_COLUMNS || squares > (1.0 + rules->max_variation * rules->max_variation) * mean * mean) return PETSC_FALSE;
  if (A.num_rows < A.num_columns / 2) return PETSC_FALSE; // a restriction: rows of B that neighboring threads read lie apart
  if (A.num_nonzeros / rules->thread_length >= A.num_rows) return PETSC_FALSE;
  for (int k = 0; k < 3; k++) {
    *log2_slots = 4 + k;
    if (CountFitting(stats, thread_sizes[k]) * 50 >= num_samples * 49) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Bytes of the windows of B, of which there are so many. */
static size_t WindowsBytes(DCSRView B, PetscCount num_words)
{
  return (size_t)num_words * sizeof(unsigned long long) + ((size_t)B.num_rows + 1) * (B.wide ? sizeof(int64_t) : sizeof(int32_t));
}

/* SpGEMMMemoryBound - The part of C's size that workspace and positions may take, in bytes. */
size_t SpGEMMMemoryBound(PetscInt num_rows, PetscCount num_nonzeros, PetscBool wide)
{
  const size_t result = (size_t)num_nonzeros * (sizeof(int32_t) + sizeof(PetscScalar)) + ((size_t)num_rows + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t));

  return (size_t)(WORKSPACE_PART * (double)result) + WORKSPACE_BYTES;
}

/* Whether the workspace keeps to its bound with the windows of B. */
static PetscBool WindowsFit(DCSRView A, DCSRView B, const Sample *sample, size_t others)
{
  const double words = (double)sample->stats.b.num_windows / (double)PetscMax(sample->stats.b.num_entries, 1) * (double)B.num_nonzeros;

  return (PetscBool)(others + WindowsBytes(B, (PetscCount)words) <= SpGEMMMemoryBound(A.num_rows, (PetscCount)sample->entries, (PetscBool)(sample->entries > (double)PETSC_INT32_MAX)));
}

/* What threads read in place of the rows of B. */
static PetscErrorCode PrepareThreads(DCSRSpGEMM product, DCSRView A, DCSRView B, const Sample *sample, cudaStream_t stream, SpGEMMLevel *level)
{
  PetscFunctionBegin;
  if (!level->threads) PetscFunctionReturn(PETSC_SUCCESS);
  if (HasWindows(product->rules, &sample->stats.b) && A.num_nonzeros / product->rules->window_reuse >= B.num_rows && WindowsFit(A, B, sample, product->held)) {
    PetscCall(SpGEMMMakeWindows(B, stream, &level->windows));
    Hold(product, WindowsBytes(B, level->windows.num_words));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeThreads(DCSRSpGEMM product, DCSRView B, cudaStream_t stream, SpGEMMLevel *level)
{
  PetscFunctionBegin;
  if (level->windows.words != NULL) product->held -= WindowsBytes(B, level->windows.num_words);
  PetscCall(SpGEMMFreeWindows(&level->windows, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sample of the rows of C and of B. */
static PetscErrorCode TakeSample(DCSRView A, DCSRView B, SpGEMMLevel *level, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream, Sample *sample)
{
  const PetscInt num_samples = PetscMin(A.num_rows, SAMPLE_ROWS);
  double         unknown, part;
  SpGEMMPool     counter;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&counter, sizeof(counter)));
  counter.stats     = pool->stats;
  level->stride     = A.num_rows / num_samples;
  level->num_rows   = num_samples;
  level->lanes      = 32;
  level->log2_slots = 9;
  PetscCall(SpGEMMSymbolicGroups(A, B, level, limits, &counter, stream));
  PetscCall(SpGEMMSampleShape(B, PetscMin(B.num_rows, SAMPLE_ROWS), &pool->stats->b, stream));
  PetscCall(GetStats(pool, stream, &sample->stats));
  unknown          = UNKNOWN_PART * (double)sample->stats.num_unknown;
  part             = (double)num_samples / (double)A.num_rows;
  sample->num_rows = num_samples;
  sample->entries  = ((double)sample->stats.num_nonzeros + unknown) / part;
  sample->padded   = ((double)sample->stats.num_padded + unknown) / part;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first level: from the shape of the product, and from a sample of the rows when there are many. */
static PetscErrorCode ChooseLevel(const SpGEMMRules *rules, DCSRView A, DCSRView B, int *lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream, SpGEMMLevel *level,
                                  Sample *sample)
{
  const PetscInt     num_rows = A.num_rows;
  const SpGEMMStats *stats    = &sample->stats;
  int                log2_slots;

  PetscFunctionBegin;
  level->lanes      = num_rows <= rules->few_rows ? 32 : *lanes;
  level->part_lanes = *lanes;
  level->log2_slots = 6;
  level->num_rows   = num_rows;
  level->stride     = 1;
  if (num_rows <= rules->sample_rows || A.num_nonzeros <= rules->sample_entries) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TakeSample(A, B, level, limits, pool, stream, sample));
  if (stats->num_factors) *lanes = GetLanes(rules, (double)(stats->num_terms + stats->num_unknown) / (double)stats->num_factors);
  level->num_rows   = num_rows;
  level->stride     = 1;
  level->log2_slots = ChooseSlots(stats, sample->num_rows, *lanes);
  level->lanes      = num_rows <= rules->few_rows || level->log2_slots == 9 ? 32 : *lanes;
  level->part_lanes = *lanes;
  level->threads    = ChooseThreads(rules, A, B, stats, sample->num_rows, &log2_slots);
  if (level->threads) level->log2_slots = log2_slots;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By how much the entries of C may be more than a sample says, as a part of them. */
static double GetMargin(const Sample *sample)
{
  const double mean = (double)(sample->stats.num_terms + sample->stats.num_unknown) / (double)sample->num_rows, square = (double)sample->stats.num_squares / (double)sample->num_rows;
  const double deviation = PetscSqrtReal((PetscReal)PetscMax(square - mean * mean, 0)) / PetscMax(mean, 1),
               margin    = POOL_LEAST + POOL_DEVIATIONS * deviation / PetscSqrtReal((PetscReal)sample->num_rows);

  return sample->stats.num_unknown ? POOL_MARGIN : PetscMin(margin, POOL_MARGIN);
}

/* Entries of the pool: those expected, and those that warps leave unused of their chunks. Without a sample twice the entries of A are expected. */
static PetscCount ChooseCapacity(DCSRView A, PetscCount max_warps, const SpGEMMLevel *level, const Sample *sample)
{
  const PetscCount unused = PetscMin((PetscCount)A.num_rows, max_warps) * SPGEMM_POOL_CHUNK;

  if (sample->num_rows == 0) return PetscMax(A.num_nonzeros * 2, POOL_MINIMUM) + unused;
  if (!level->threads) return (PetscCount)(sample->entries * (1 + POOL_MARGIN)) + unused; // of a chunk for eight rows, half a row's room is lost
  // rows of threads begin at multiples of four entries and leave nothing else unused; few warps take chunks when the sample has no other rows
  return (PetscCount)(sample->padded * (1 + GetMargin(sample))) + (CountFitting(&sample->stats, thread_sizes[level->log2_slots - 4]) == sample->num_rows ? unused / 4 : unused);
}

/* Rows that may wait for thread blocks: twice as many as the sample says do not fit into a warp's table. */
static PetscCount ChooseWaiting(DCSRView A, const Sample *sample)
{
  if (sample->num_rows == 0) return (PetscCount)A.num_rows;
  return PetscMin((PetscCount)A.num_rows, (PetscCount)(2 * ((double)A.num_rows / (double)sample->num_rows) * (double)sample->stats.window_rows[SPGEMM_NUM_SIZES - 1]) + A.num_rows / 64 + 65536);
}

/* The traversal of the terms, level by level; its statistics come to the host. */
static PetscErrorCode Traverse(DCSRView A, DCSRView B, const SpGEMMLevel *level, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream, SpGEMMStats *stats)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(pool->stats, 0, sizeof(*pool->stats), stream));
  if (level->threads) PetscCall(SpGEMMSymbolicThreads(A, B, &level->windows, level->log2_slots, limits, pool, stream));
  else PetscCall(SpGEMMSymbolicGroups(A, B, level, limits, pool, stream));
  PetscCall(SpGEMMSymbolicWarps(A, B, level->part_lanes, limits, pool, stream));
  PetscCall(SpGEMMSymbolicBlocks(A, B, level->part_lanes, limits, pool, stream));
  PetscCall(SpGEMMCountSlices(A, B, pool, stream));
  PetscCall(GetStats(pool, stream, stats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A larger pool in place of one that was too small. The traversal has counted how large it must be. */
static PetscErrorCode EnlargePool(DCSRSpGEMM product, PetscInt num_rows, SpGEMMPool *pool, cudaStream_t stream)
{
  PetscCount max_warps = 0;

  PetscFunctionBegin;
  PetscCall(SpGEMMGetMaxWarps(&max_warps));
  PetscCall(PetscInfo(NULL, "A pool of %" PetscCount_FMT " entries was too small for a product: once more with %llu\n", pool->capacity, product->stats.pool_used));
  PetscCall(PetscSparseCUDAFree(&pool->columns, stream));
  pool->capacity = (PetscCount)product->stats.pool_used + max_warps * SPGEMM_POOL_CHUNK;
  if (pool->capacity > (PetscCount)UINT32_MAX && !pool->wide) {
    PetscCall(PetscSparseCUDAFree(&pool->starts, stream));
    PetscCall(PetscSparseCUDAMalloc_Private((size_t)num_rows * sizeof(uint64_t), "positions of the rows of a product", stream, &pool->starts));
    pool->wide = PETSC_TRUE;
  }
  PetscCall(PetscSparseCUDAMalloc(pool->capacity, "columns of a product", stream, &pool->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a traversal that found too little room: as much as it asked for. */
static PetscErrorCode MakeRoom(DCSRSpGEMM product, PetscInt num_rows, SpGEMMPool *pool, cudaStream_t stream)
{
  const PetscCount num_waiting = product->stats.level_rows[2];
  const PetscBool  too_many    = (PetscBool)(num_waiting > pool->max_waiting);

  PetscFunctionBegin;
  product->held -= PoolBytes(num_rows, pool);
  if (too_many) {
    PetscCall(PetscInfo(NULL, "A list of %" PetscCount_FMT " waiting rows was too short for a product: once more with %" PetscCount_FMT "\n", pool->max_waiting, num_waiting));
    PetscCall(PetscSparseCUDAFree(&pool->waiting, stream));
    pool->max_waiting = num_waiting;
    PetscCall(PetscSparseCUDAMalloc(pool->max_waiting, "rows of a product that wait for blocks", stream, &pool->waiting));
  }
  if (!too_many || product->stats.pool_used + 4 > (unsigned long long)pool->capacity) PetscCall(EnlargePool(product, num_rows, pool, stream));
  Hold(product, PoolBytes(num_rows, pool));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of all rows into the pool, once its size is chosen. */
static PetscErrorCode FillChosenPool(DCSRSpGEMM product, DCSRView A, DCSRView B, const SpGEMMLevel *level, const SpGEMMBinLimits *limits, SpGEMMPool *pool, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Traverse(A, B, level, limits, pool, stream, &product->stats));
  for (int attempt = 0; attempt < 2 && product->stats.no_room; attempt++) { // the rows that found no position in a list have not counted what room they need
    PetscCall(MakeRoom(product, A.num_rows, pool, stream));
    PetscCall(Traverse(A, B, level, limits, pool, stream, &product->stats));
  }
  PetscCheck(!product->stats.no_room, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A pool of %" PetscCount_FMT " entries is too small for a product of %llu nonzeros", pool->capacity,
             product->stats.num_nonzeros);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of all rows into the pool. */
static PetscErrorCode FillPool(DCSRSpGEMM product, DCSRView A, DCSRView B, SpGEMMPool *pool, cudaStream_t stream)
{
  const PetscSparseCUDATuning *tuning = NULL;
  SpGEMMBinLimits              limits;
  SpGEMMLevel                  level;
  Sample                       sample;
  PetscCount                   max_warps = 0;
  PetscErrorCode               ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  limits = GetLimits(tuning);
  PetscCall(SpGEMMGetMaxWarps(&max_warps));
  PetscCall(PetscMemzero(&level, sizeof(level)));
  PetscCall(PetscMemzero(&sample, sizeof(sample)));
  PetscCall(PetscSparseCUDAMalloc(1, "statistics of a product", stream, &pool->stats));
  PetscCallCUDA(cudaMemsetAsync(pool->stats, 0, sizeof(*pool->stats), stream));
  PetscCall(ChooseLevel(product->rules, A, B, &product->lanes, &limits, pool, stream, &level, &sample));
  product->threads     = level.threads;
  product->few_factors = (PetscBool)(A.num_nonzeros / product->rules->thread_factors <= A.num_rows);
  pool->capacity       = ChooseCapacity(A, max_warps, &level, &sample);
  pool->max_waiting    = ChooseWaiting(A, &sample);
  if (DCSRSpGEMMSmallRoom) pool->capacity = pool->max_waiting = 1;
  pool->wide = (PetscBool)(pool->capacity > (PetscCount)UINT32_MAX);
  Hold(product, PoolBytes(A.num_rows, pool));
  PetscCallGoto(ierr, cleanup, PrepareThreads(product, A, B, &sample, stream, &level)); // before the pool: its temporary arrays are freed
  PetscCallGoto(ierr, cleanup, AllocatePool(A.num_rows, stream, pool));
  PetscCallGoto(ierr, cleanup, FillChosenPool(product, A, B, &level, &limits, pool, stream));
cleanup:
  PetscCall(FreeThreads(product, B, stream, &level));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether every row of C is in one and the same bin. */
static PetscBool HasOneBin(const SpGEMMStats *stats, PetscInt num_rows)
{
  for (int bin = 0; bin < SPGEMM_NUM_BINS; bin++)
    if (stats->bin_rows[bin] == (unsigned int)num_rows) return (PetscBool)(bin != SPGEMM_BIN_BLOCK && bin != SPGEMM_BIN_LONG);
  return PETSC_FALSE;
}

/* Rows that are sorted, from n rows on the device. */
static PetscErrorCode GetHuge(DCSRSpGEMM product, PetscCount n, const SpGEMMHugeRow rows[], cudaStream_t stream)
{
  PetscFunctionBegin;
  product->num_huge = 0;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &product->huge));
  PetscCall(PetscSparseCUDACopyToHost(product->huge, rows, (size_t)n * sizeof(*rows), stream));
  for (PetscCount k = 0; k < n; k++)
    if (product->huge[k].sorted) product->huge[product->num_huge++] = product->huge[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chunks of the rows of the last two bins, and which of these rows are sorted instead. Synchronizes when some may be. */
static PetscErrorCode MakeChunks(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t rows[], cudaStream_t stream)
{
  const PetscCount   max_huge = PetscMin(n, A.num_nonzeros / SPGEMM_HUGE_ENTRIES);
  SpGEMMHugeRow     *huge     = NULL;
  SpGEMMChunkNumbers numbers;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  product->max_chunks = C.num_nonzeros / SPGEMM_CHUNK_ENTRIES + n;
  PetscCall(PetscSparseCUDAMalloc(product->max_chunks, "chunks of long rows of a product", stream, &product->chunks));
  PetscCall(PetscSparseCUDAMalloc(1, "number of chunks of long rows of a product", stream, &product->numbers));
  Hold(product, (size_t)product->max_chunks * sizeof(*product->chunks));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(max_huge, "rows of a product that are sorted", stream, &huge));
  PetscCallGoto(ierr, cleanup, SpGEMMListChunks(A, B, C, n, rows, product->chunks, product->numbers, max_huge, huge, stream));
  if (max_huge > 0 && A.num_columns > SPGEMM_HUGE_ENTRIES) {
    PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&numbers, product->numbers, sizeof(numbers), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
    PetscCallGoto(ierr, cleanup, GetHuge(product, (PetscCount)numbers.huge, huge, stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&huge, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of each bin in the product's list; columns of rows of slices; chunks of long rows. */
static PetscErrorCode MakeLists(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, const SpGEMMPool *pool, cudaStream_t stream)
{
  const PetscCount num_block = product->stats.bin_rows[SPGEMM_BIN_BLOCK], num_long = product->stats.bin_rows[SPGEMM_BIN_LONG];
  const int32_t   *long_rows;

  PetscFunctionBegin;
  if (HasOneBin(&product->stats, product->num_rows)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(product->num_rows, "rows of a product by bin", stream, &product->list));
  Hold(product, (size_t)product->num_rows * sizeof(*product->list));
  PetscCall(SpGEMMSortRows(product->num_rows, pool->bins, &product->stats, product->list, stream));
  if (num_block + num_long == 0) PetscFunctionReturn(PETSC_SUCCESS);
  long_rows = product->list + product->num_rows - product->stats.bin_rows[SPGEMM_BIN_EMPTY] - num_block - num_long; // they are the last in the list
  PetscCall(SpGEMMCopyLongColumns(C, pool, num_block, long_rows, stream));
  PetscCall(MakeChunks(product, A, B, C, num_block + num_long, long_rows, stream));
  PetscCall(SpGEMMFillSlices(A, B, C, num_long, long_rows + num_block, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateResult(DCSRView A, DCSRView B, PetscCount num_nonzeros, cudaStream_t stream, DCSRView *C)
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(A.num_rows, B.num_columns, num_nonzeros, wide, stream, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that follows the checks, but the values, which have no memory before the pool is freed: the two together would be the most that a setup of PCGAMG holds. */
static PetscErrorCode Symbolic(DCSRSpGEMM product, DCSRView A, DCSRView B, SpGEMMPool *pool, cudaStream_t stream, DCSRView *C)
{
  PetscFunctionBegin;
  if (A.num_nonzeros == 0 || B.num_nonzeros == 0) {
    PetscCall(AllocateResult(A, B, 0, stream, C));
    PetscCallCUDA(cudaMemsetAsync(C->row_offsets, 0, ((size_t)A.num_rows + 1) * (C->wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FillPool(product, A, B, pool, stream));
  PetscCall(AllocateResult(A, B, (PetscCount)product->stats.num_nonzeros, stream, C));
  product->num_nonzeros = C->num_nonzeros;
  PetscCall(SpGEMMScan(A.num_rows, pool->counts, *C, stream));
  PetscCall(SpGEMMCopyColumns(*C, pool, stream));
  PetscCall(MakeLists(product, A, B, *C, pool, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether threads compute the values of a bin. They load an entry of B at a time, so that rows of B have to be short. */
static PetscBool UsesThreads(DCSRSpGEMM product, int bin)
{
  const SpGEMMRules *rules = product->rules;

  return (PetscBool)(product->threads && product->few_factors && product->lanes <= rules->thread_lanes && product->stats.bin_rows[bin] >= (unsigned int)rules->thread_rows &&
                     rules->bins[bin].max_entries <= rules->thread_entries);
}

static size_t PositionsBytes(PetscInt num_rows, const SpGEMMPositions *p)
{
  return (p->numbers ? (size_t)p->total * (size_t)p->bytes : 0) + (p->offsets ? ((size_t)num_rows + 1) * (p->wide ? sizeof(int64_t) : sizeof(int32_t)) : 0);
}

/* Rows of the bins from first on that one launch takes, whose *bin they fit: all of them where there are few, for which launches are the time. */
static PetscCount NextRows(DCSRSpGEMM product, int *first, SpGEMMBin *bin)
{
  const PetscCount num_short = product->num_rows - (PetscCount)product->stats.bin_rows[SPGEMM_BIN_EMPTY] - product->stats.bin_rows[SPGEMM_BIN_BLOCK] - product->stats.bin_rows[SPGEMM_BIN_LONG];
  PetscCount       n         = 0;

  *bin = product->rules->bins[*first];
  for (; *first < SPGEMM_BIN_BLOCK && (n == 0 || num_short <= product->rules->few_rows); (*first)++) {
    const SpGEMMBin *b = &product->rules->bins[*first];

    if (!product->stats.bin_rows[*first]) continue;
    if (n == 0) *bin = *b;
    bin->log2_slots  = PetscMax(bin->log2_slots, b->log2_slots);
    bin->max_entries = PetscMax(bin->max_entries, b->max_entries);
    bin->min_lanes   = PetscMax(bin->min_lanes, b->min_lanes);
    n += product->stats.bin_rows[*first];
  }
  return n;
}

/* Calls a function of positions.cu for all rows of the bins of groups. */
static PetscErrorCode ForBins(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, int lanes,
                              PetscErrorCode (*f)(DCSRView, DCSRView, DCSRView, const SpGEMMPositions *, const SpGEMMBin *, int, PetscCount, const int32_t[], cudaStream_t), cudaStream_t stream)
{
  const int32_t *list = product->list;

  PetscFunctionBegin;
  for (int bin = 1; bin < SPGEMM_BIN_BLOCK;) {
    SpGEMMBin        limits;
    const PetscCount rows = NextRows(product, &bin, &limits);

    PetscCall((*f)(A, B, C, &product->positions, &limits, lanes, rows, list, stream));
    if (list != NULL) list += rows;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes down where the terms of n rows go, those of the list or all. */
static PetscErrorCode FillPositions(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, PetscCount n, size_t bound, cudaStream_t stream)
{
  SpGEMMPositions *p         = &product->positions;
  size_t           available = 0;

  PetscFunctionBegin;
  p->bytes = 1;
  for (int bin = 1; bin < SPGEMM_BIN_BLOCK; bin++)
    if (product->stats.bin_rows[bin] && product->rules->bins[bin].max_entries > 256) p->bytes = 2;
  PetscCall(DCSRNeedsWide((PetscCount)product->stats.num_terms + C.num_nonzeros, &p->wide));
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  if (2 * ((size_t)PetscMin(product->stats.num_terms, bound) * (size_t)p->bytes + (size_t)A.num_rows * sizeof(int64_t)) > available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpGEMMPositionsMeasure(A, B, C, n, product->list, stream, p));
  if (p->offsets && (size_t)p->total * (size_t)p->bytes + PositionsBytes(A.num_rows, p) <= bound) PetscCall(PetscSparseCUDATryMalloc(p->total * p->bytes, stream, &p->numbers));
  if (p->numbers) PetscCall(ForBins(product, A, B, C, product->lanes, SpGEMMPositionsFill, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in chunks. */
static PetscCount NumLong(DCSRSpGEMM product)
{
  return (PetscCount)product->stats.bin_rows[SPGEMM_BIN_BLOCK] + product->stats.bin_rows[SPGEMM_BIN_LONG];
}

/* SpGEMMMakePositions - Where the terms of all rows but those of chunks go, if there is memory for it within the bound, and twice as much. Synchronizes */
PetscErrorCode SpGEMMMakePositions(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, size_t bound, cudaStream_t stream)
{
  const PetscCount num_long = NumLong(product), n = product->num_rows - (PetscCount)product->stats.bin_rows[SPGEMM_BIN_EMPTY] - num_long;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  if (n == 0 || (num_long == 0 && product->stats.num_terms > bound)) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = FillPositions(product, A, B, C, n, bound, stream);
  if (ierr != PETSC_SUCCESS || product->positions.numbers == NULL) PetscCall(SpGEMMPositionsFree(&product->positions, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Chunks of the rows that are sorted, behind the n others. *num: of all. */
static PetscErrorCode AddSortedChunks(DCSRSpGEMM product, PetscCount n, cudaStream_t stream, PetscCount *num)
{
  unsigned long long *chunks;
  PetscCount          count = 0;

  PetscFunctionBegin;
  for (PetscCount k = 0; k < product->num_huge; k++) count += (product->huge[k].c_length + SPGEMM_CHUNK_ENTRIES - 1) / SPGEMM_CHUNK_ENTRIES;
  *num = n + count;
  PetscCall(PetscMalloc1(count, &chunks));
  count = 0;
  for (PetscCount k = 0; k < product->num_huge; k++)
    for (PetscCount c = 0; c * SPGEMM_CHUNK_ENTRIES < product->huge[k].c_length; c++) chunks[count++] = (unsigned long long)product->huge[k].row << 32 | (unsigned long long)c;
  if (count) PetscCall(PetscSparseCUDACopyToDevice(product->chunks + n, chunks, (size_t)count * sizeof(*chunks), stream));
  PetscCall(PetscFree(chunks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the terms of chunks go, if the memory that the bound leaves, and half of what there is, suffice. */
static PetscErrorCode MakeChunkPositions(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  const size_t       bound = SpGEMMMemoryBound(A.num_rows, C.num_nonzeros, C.wide), used = PositionsBytes(A.num_rows, &product->positions);
  size_t             available = 0;
  SpGEMMChunkNumbers numbers;
  PetscCount         num;

  PetscFunctionBegin;
  if (B.wide || used >= bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDACopyToHost(&numbers, product->numbers, sizeof(numbers), stream));
  PetscCall(AddSortedChunks(product, (PetscCount)numbers.chunks, stream, &num));
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  PetscCall(SpGEMMChunkPositionsMake(A, B, C, num, product->chunks, (PetscCount)numbers.chunks, PetscMin(bound - used, available / 2), stream, &product->chunk_positions));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of the bins of groups, by their positions; lists are for the entries of C. */
static PetscErrorCode NumericByPositions(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  const int lanes = product->positions.single ? GetLanes(product->rules, (double)C.num_nonzeros / (double)PetscMax(C.num_rows, 1)) : product->lanes;

  PetscFunctionBegin;
  PetscCall(ForBins(product, A, B, C, lanes, SpGEMMNumericPositions, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by tables. */
static PetscErrorCode NumericByTables(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  const SpGEMMBin *bins = product->rules->bins;
  const int32_t   *list = product->list;

  PetscFunctionBegin;
  for (int bin = 1; bin < SPGEMM_BIN_BLOCK; bin++) {
    const PetscCount n = product->stats.bin_rows[bin];

    if (UsesThreads(product, bin)) PetscCall(SpGEMMNumericThreads(A, B, C, &bins[bin], n, list, stream));
    else PetscCall(SpGEMMNumericGroups(A, B, C, &bins[bin], product->lanes, n, list, stream));
    if (list != NULL) list += n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of all bins. */
static PetscErrorCode Numeric(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (C.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (product->blocks.product != NULL) {
    PetscCall(SpGEMMBlocksNumeric(&product->blocks, A, B, C, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (product->num_numeric++ == 1) {
    PetscCall(SpGEMMMakePositions(product, A, B, C, SpGEMMMemoryBound(A.num_rows, C.num_nonzeros, C.wide), stream));
    if (NumLong(product) > 0) PetscCall(MakeChunkPositions(product, A, B, C, stream));
  }
  if (product->positions.numbers) PetscCall(NumericByPositions(product, A, B, C, stream));
  else PetscCall(NumericByTables(product, A, B, C, stream));
  if (product->chunk_positions.places) PetscCall(SpGEMMNumericChunkPositions(A, B, C, product->chunks, &product->chunk_positions, stream));
  else {
    PetscCall(SpGEMMNumericChunks(A, B, C, product->max_chunks, product->chunks, product->numbers, stream));
    PetscCall(SpGEMMNumericHuge(A, B, C, product->num_huge, product->huge, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFactors(DCSRView A, DCSRView B, PetscBool values)
{
  PetscFunctionBegin;
  PetscCheck(A.row_offsets != NULL && (B.row_offsets != NULL || B.list != NULL), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage can be multiplied, call DCSRDefragment() first");
  PetscCheck(A.num_columns == B.num_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A has %" PetscInt_FMT " columns and B %" PetscInt_FMT " rows", A.num_columns, B.num_rows);
  PetscCheck((PetscCount)A.num_rows <= (PetscCount)PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " rows are more than lists of 32-bit row numbers hold", A.num_rows);
  PetscCheck(!values || ((A.values != NULL || A.num_nonzeros == 0) && (B.values != NULL || B.num_nonzeros == 0)), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "A matrix with structure only has no values to multiply");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C when the product goes by blocks: its sizes and its list, and with structure the arrays. */
static PetscErrorCode GetResultOfBlocks(DCSRSpGEMM product, PetscBool structure, cudaStream_t stream, DCSRView *C)
{
  const DCSRBlockList c = product->blocks.c;

  PetscFunctionBegin;
  if (structure) PetscCall(DCSRBlockListExpand(c, stream, C));
  C->num_rows     = c->view.num_rows * c->rows;
  C->num_columns  = c->view.num_columns * c->columns;
  C->num_nonzeros = C->capacity = C->used = c->view.num_nonzeros * c->rows * c->columns;
  C->list                                 = DCSRBlockListReference(c);
  product->num_nonzeros                   = C->num_nonzeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By blocks, or else entry by entry; *found: C is there. */
static PetscErrorCode FindStructure(DCSRSpGEMM product, DCSRView A, DCSRView B, PetscBool structure, cudaStream_t stream, DCSRView *C, PetscBool *found)
{
  SpGEMMPool     pool;
  PetscErrorCode ierr, freed;

  PetscFunctionBegin;
  *found = PETSC_TRUE;
  PetscCall(SpGEMMBlocksSymbolic(A, B, stream, &product->blocks));
  if (product->blocks.product != NULL) {
    PetscCall(GetResultOfBlocks(product, structure, stream, C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *found = (PetscBool)(B.row_offsets != NULL || A.num_nonzeros == 0);
  if (!*found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&pool, sizeof(pool)));
  ierr  = Symbolic(product, A, B, &pool, stream, C);
  freed = FreePool(&pool, stream);
  PetscCall(ierr);
  PetscCall(freed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpGEMMSymbolic(), with structure or where C has a list without. */
static PetscErrorCode SymbolicOf(DCSRView A, DCSRView B, PetscBool structure, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product)
{
  const PetscSparseCUDATuning *tuning = NULL;
  PetscBool                    found  = PETSC_FALSE;
  PetscErrorCode               ierr;

  PetscFunctionBegin;
  *product = NULL;
  PetscCall(PetscMemzero(C, sizeof(*C)));
  PetscCall(CheckFactors(A, B, values));
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  PetscCall(PetscNew(product));
  (*product)->rules    = &tuning->spgemm;
  (*product)->num_rows = A.num_rows;
  (*product)->lanes    = GetLanes(&tuning->spgemm, (double)B.num_nonzeros / (double)PetscMax(B.num_rows, 1));
  ierr                 = FindStructure(*product, A, B, structure, stream, C, &found);
  C->row_block         = A.row_block;
  C->column_block      = B.column_block;
  if (ierr == PETSC_SUCCESS && found && values) ierr = DCSRViewAllocateValues(C, stream);
  if (ierr == PETSC_SUCCESS && found && values) ierr = Numeric(*product, A, B, *C, stream);
  if (ierr != PETSC_SUCCESS || !found) {
    PetscCall(DCSRViewFree(C, stream));
    PetscCall(DCSRSpGEMMDestroy(product, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpGEMMSymbolic - The structure of C = A B, and with values its values, too; A and B are compact, and have values then
  Synchronizes once, for the size of C; what follows is asynchronous. C is compact with sorted rows, owned by the caller; values NULL when they were not wanted. product is for DCSRSpGEMMNumeric();
  DCSRSpGEMMDestroy() frees it. C's arrays and product are NULL after an error.
  Where A and B consist of full blocks of the sizes that they say, all is done by blocks (blockproduct.c), which synchronizes for each list and for positions. B may be a list without structure; where
  blocks cannot be used then, product is NULL with no
  error.
  Cost: one traversal of the terms in shared memory for the structure and one for the values. The traversal for the structure is done once more when rows differ so much that the pool was chosen too
  small.
  Workspace: about half of C's size and 64 MiB for products with a sample, more where rows of C have one or two entries, or are too long for the sample (docs/spgemm.md says what it is made of).
  Reference: rows in bins by work as Dalton, Olson and Bell, Optimizing sparse matrix-matrix multiplication for the GPU, ACM TOMS 41, 2015; the bits of neighboring columns in one word as Deveci, Trott
  and Rajamanickam, Multithreaded sparse matrix-matrix multiplication, Parallel Computing 78, 2018.
*/
PetscErrorCode DCSRSpGEMMSymbolic(DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product)
{
  PetscFunctionBegin;
  PetscCall(SymbolicOf(A, B, PETSC_TRUE, values, stream, C, product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpGEMMSymbolicOfList - DCSRSpGEMMSymbolic() for who multiplies with C alone: where the product goes by blocks, C has a list and no row offsets and columns
  DCSRSpGEMMExpand() makes these.
*/
PetscErrorCode DCSRSpGEMMSymbolicOfList(DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product)
{
  PetscFunctionBegin;
  PetscCall(SymbolicOf(A, B, PETSC_FALSE, values, stream, C, product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpGEMMExpand - Row offsets and columns of a C that has a list alone; its values stay. Asynchronous */
PetscErrorCode DCSRSpGEMMExpand(DCSRView *C, cudaStream_t stream)
{
  DCSRView structure;

  PetscFunctionBegin;
  PetscCall(DCSRBlockListExpand(C->list, stream, &structure));
  C->wide        = structure.wide;
  C->row_offsets = structure.row_offsets;
  C->columns     = structure.columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpGEMMNumeric - The values of C = A B again, with the patterns of the call of DCSRSpGEMMSymbolic() that gave product. Asynchronous but for the second time
  C has the structure of that call, with values allocated [num_nonzeros]. Cost: one traversal of the terms. The second time that values are computed costs one more, and synchronizes: it writes down
  where each term goes, one or two bytes each, and nine for a row of B that meets a chunk of a long row, when that takes no more than half of C's size and 64 MiB. Those after it make no tables. By
  blocks
  all times are alike.
*/
PetscErrorCode DCSRSpGEMMNumeric(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CheckFactors(A, B, PETSC_TRUE));
  PetscCheck(A.num_rows == product->num_rows && C.num_rows == A.num_rows && C.num_nonzeros == product->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The product was made for %" PetscInt_FMT " rows and %" PetscCount_FMT " nonzeros, C has %" PetscInt_FMT " and %" PetscCount_FMT, product->num_rows, product->num_nonzeros, C.num_rows,
             C.num_nonzeros);
  PetscCall(Numeric(product, A, B, C, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpGEMMAllocates - Whether DCSRSpGEMMNumeric() allocates device memory in the middle, to sort the terms of some rows; that of positions comes before the first value. */
PetscBool DCSRSpGEMMAllocates(DCSRSpGEMM product)
{
  return (PetscBool)(product->num_huge > 0 && product->chunk_positions.places == NULL);
}

/* DCSRSpGEMMGetInfo - What a product did; see DCSRSpGEMMInfo. */
PetscErrorCode DCSRSpGEMMGetInfo(DCSRSpGEMM product, DCSRSpGEMMInfo *info)
{
  PetscFunctionBegin;
  if (product->blocks.product != NULL) {
    const SpGEMMBlocks *b = &product->blocks;

    PetscCall(DCSRSpGEMMGetInfo(b->product, info));
    info->num_products *= b->a->rows * b->a->columns * b->b->columns;
    info->blocks[0] = b->a->rows;
    info->blocks[1] = b->a->columns;
    info->blocks[2] = b->b->columns;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->num_products = (PetscCount)product->stats.num_terms;
  info->workspace    = product->workspace;
  info->positions    = PositionsBytes(product->num_rows, &product->positions) + (product->chunk_positions.places ? SpGEMMChunkPositionsBytes(&product->chunk_positions) : 0);
  for (int bin = 0; bin < SPGEMM_NUM_BINS; bin++) {
    if (!product->stats.bin_rows[bin]) continue;
    info->bin_names[info->num_bins]  = product->rules->bins[bin].name;
    info->bin_rows[info->num_bins++] = product->stats.bin_rows[bin];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpGEMMDestroy - Frees what a product keeps; *product is NULL afterwards. */
PetscErrorCode DCSRSpGEMMDestroy(DCSRSpGEMM *product, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*product == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&(*product)->list, stream));
  PetscCall(PetscSparseCUDAFree(&(*product)->chunks, stream));
  PetscCall(PetscSparseCUDAFree(&(*product)->numbers, stream));
  PetscCall(SpGEMMPositionsFree(&(*product)->positions, stream));
  PetscCall(SpGEMMChunkPositionsFree(&(*product)->chunk_positions, stream));
  PetscCall(SpGEMMBlocksDestroy(&(*product)->blocks, stream));
  PetscCall(PetscFree((*product)->huge));
  PetscCall(PetscFree(*product));
  PetscFunctionReturn(PETSC_SUCCESS);
}
