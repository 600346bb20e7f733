#pragma once
/*
  Row-binned SpGEMM, C = A B. An entry c_ij of C is the sum of its terms a_ik b_kj.

  Columns are taken in windows of 16. A row of C is a small hash table of windows, each with one bit for each of its columns. A run of neighboring columns is one
  slot of the table. Counting is counting of bits, and sorting the windows sorts the row.

  The symbolic phase traverses the terms once. It puts each row's columns into a pool, sorted, wherever there is room: no row knows where the rows before it end.
  Tables of growing size (levels) are tried. A row whose table is full waits for the next level. The columns move to their positions when C's size is known.

  The numeric phase makes each row's table from its columns and traverses the terms a second time.
*/
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/spgemm.h>
#include <petscsparsecuda/tuning.h>

#define SPGEMM_WINDOW_BITS 4 /* log2 of the columns of a window; a mask and the position of its first entry are one 32-bit word */
#define SPGEMM_NO_WINDOW   0xffffffffu

#define SPGEMM_THREADS 256 /* threads of a thread block, unless its file says otherwise */
#define SPGEMM_BLOCKS  8   /* thread blocks for each multiprocessor, of kernels whose thread blocks take rows until there are none left */

/*
  Levels of the symbolic phase: groups of lanes, warps, thread blocks, slices. Rows of the last level do not go through the pool: a slice of their columns is a
  bitmap with a bit for each column.
*/
#define SPGEMM_NUM_LEVELS    4
#define SPGEMM_BLOCK_WINDOWS 3072    /* A thread block sorts rows of at most so many windows. */
#define SPGEMM_BLOCK_SLOTS   12      /* log2 of the slots of its table */
#define SPGEMM_SLICE_WORDS   16384   /* 32-bit words of the bitmap of a slice, in shared memory */
#define SPGEMM_MAX_LONG_ROWS 4194304 /* Rows of the last level have more than SPGEMM_BLOCK_WINDOWS entries each. No device holds so many. */

/* Chunks of long rows, whose values a warp computes. */
#define SPGEMM_CHUNK_ENTRIES 256 /* entries of C in a chunk */
#define SPGEMM_CHUNK_SLOTS   9   /* log2 of the slots of its table */

/* A chunk reads every row of B that its row of A meets. The terms of a row are sorted instead when both of these are exceeded. */
#define SPGEMM_HUGE_ENTRIES 512 /* entries of the row of A */
#define SPGEMM_SEARCH_RATIO 2   /* searches of all chunks of the row for each of its terms */

/* Chunks of the pool that warps take. */
#define SPGEMM_POOL_CHUNK 1024 /* A chunk has at least so many entries. */
#define SPGEMM_POOL_STEPS 64   /* A warp that needs room at least so often takes it ahead. */
#define SPGEMM_POOL_AHEAD 8    /* Its chunk is room for so many times what it needs now. */

#define SPGEMM_MAX_THREAD_COLUMNS 536870896 /* of B, where threads take rows: a window and 7 more bits are sorted as one word, of which one value means none */
#define SPGEMM_NUM_SIZES          8         /* sizes that a sample distinguishes */

/* The bins of the numeric phase: rows without entries, rows of a group of lanes (the table in src/tuning), rows in chunks, whose columns a thread block or slices found. */
#define SPGEMM_NUM_BINS    11
#define SPGEMM_BIN_EMPTY   0
#define SPGEMM_BIN_BLOCK   9
#define SPGEMM_BIN_LONG    10
#define SPGEMM_BIN_PENDING 255 /* minus the level that the row waits for */

/* The part of the table that kernels need, by value. */
typedef struct {
  int max_windows[SPGEMM_NUM_BINS];
  int max_entries[SPGEMM_NUM_BINS];
} SpGEMMBinLimits;

/* What a sample of the rows of a matrix finds. */
typedef struct {
  unsigned long long num_entries;
  unsigned long long num_windows; /* of neighboring columns */
} SpGEMMShape;

/* What the symbolic phase finds; on the device, and after it on the host. */
typedef struct {
  unsigned long long num_nonzeros;
  unsigned long long num_terms;
  unsigned long long num_factors;                   /* sample: entries of A in its rows */
  unsigned long long num_unknown;                   /* sample: terms of the rows whose table was full */
  unsigned long long pool_used;                     /* entries taken from the pool, or that would have been with enough room */
  unsigned int       bin_rows[SPGEMM_NUM_BINS];     /* rows of C in each bin */
  unsigned int       level_rows[SPGEMM_NUM_LEVELS]; /* rows that waited for each level; not kept for the first, which sees all */
  unsigned int       taken;                         /* third level: rows that thread blocks have taken */
  unsigned int       shared_rows;                   /* third level: rows that should be shared by many thread blocks */
  unsigned int       no_room;                       /* whether rows found no room in the pool, or in the list of those that wait */
  unsigned long long num_squares;                   /* sample: sum over the rows of the squares of their numbers of terms */
  unsigned long long num_padded;                    /* sample: entries of C, those of each row rounded up to a multiple of four */
  SpGEMMShape        b;                             /* sample: rows of B */
  unsigned int       window_rows[SPGEMM_NUM_SIZES]; /* sample: rows by their number of windows (SizeOf() in table.cuh) */
} SpGEMMStats;

/* Arrays of the symbolic phase, all on the device. */
typedef struct {
  int32_t       *counts;    /* [m + 1] entries of each row of C, then 0 */
  unsigned char *bins;      /* [m] bin of each row, or SPGEMM_BIN_PENDING - level */
  void          *starts;    /* [m] where its columns are in the pool: uint32_t, or uint64_t when wide */
  int32_t       *columns;   /* [capacity] the pool; NULL: nothing is kept, the rows are only counted */
  int32_t       *waiting;   /* [max_waiting] rows of the third level; NULL in a sample */
  int32_t       *long_rows; /* [min(m, SPGEMM_MAX_LONG_ROWS)] rows of the last level */
  PetscCount     capacity, max_waiting;
  PetscBool      wide;
  SpGEMMStats   *stats;
} SpGEMMPool;

/* How many chunks SpGEMMListChunks() found, and how many rows whose terms may be sorted; on the device. */
typedef struct {
  unsigned long long chunks;
  unsigned long long huge;
} SpGEMMChunkNumbers;

/* The rows of a matrix as windows; on the device, owned; NULL: not made. */
typedef struct {
  void               *offsets; /* [rows + 1] of the width of the matrix's row offsets */
  unsigned long long *words;   /* [num_words] window and, in the upper half, mask of its columns */
  PetscCount          num_words;
} SpGEMMWindows;

/* A row whose row of A is long. */
typedef struct {
  PetscCount         a_begin, a_length; /* of A */
  PetscCount         c_begin, c_length; /* of C */
  unsigned long long terms;
  int32_t            row;
  int32_t            sorted; /* whether its terms are sorted: no chunks */
} SpGEMMHugeRow;

/*
  Where each term of a row goes, for values again: for each entry of A in the row, and each of the row of B that it meets, the place in the row of C. When no row of B has more than one entry, instead
  the ends of the lists of terms of C's entries, and these lists: places in the row of A.
*/
typedef struct {
  PetscBool      of_blocks;   /* A, B and C are lists of blocks: no lists of terms */
  PetscBool      one;         /* of blocks: rows of B have at most one */
  PetscBool      single;      /* lists */
  PetscBool      direct;      /* row j of B, of those that A meets, has one entry, number j: as in tentative prolongators */
  PetscBool      wide;        /* offsets are int64_t, else int32_t */
  int            bytes;       /* of a number: 1, or 2 where rows of C have more than 256 entries and there are no lists */
  int            max_length;  /* entries of the longest row of A */
  int            max_entries; /* of the longest row of C */
  PetscCount     total;       /* numbers of all rows */
  void          *offsets;     /* [rows of C + 1] device, owned: where the numbers of each row begin; rows of chunks have none; NULL: not made */
  unsigned char *numbers;     /* [total * bytes] device, owned; NULL: not made */
} SpGEMMPositions;

/* The entries of a row of B that lie in a chunk of a row of C. */
typedef struct {
  uint32_t a, b; /* entry of the row of A, from its first; first entry of B */
} SpGEMMPart;

/* Where each term of a chunk goes, for values again. Arrays are on the device and owned; NULL: not made. */
typedef struct {
  PetscCount     num_chunks, num_parts, num_terms;
  PetscCount     first_sorted; /* chunks from here on are of rows that are sorted the first time */
  int64_t       *first_part;   /* [num_chunks + 1] */
  int64_t       *first_term;   /* [num_chunks + 1] */
  SpGEMMPart    *parts;        /* [num_parts] those of a chunk in the order of the row of A */
  unsigned char *lengths;      /* [num_parts] terms of a part, less one */
  unsigned char *places;       /* [num_terms] of each term in its chunk */
} SpGEMMChunkPositions;

/* How the first level works. */
typedef struct {
  PetscBool     threads;    /* a thread takes a row; otherwise a group of lanes */
  int           lanes;      /* of a group, which takes a row of C: 4, 8, 16 or 32 */
  int           part_lanes; /* of a part of a group, which takes a row of B: as many, or 4 to 32 of 32 */
  int           log2_slots; /* of a group's table */
  PetscCount    num_rows;   /* rows to do */
  PetscCount    stride;     /* distance of these rows: more than 1 in a sample */
  SpGEMMWindows windows;    /* zero unless threads read them */
} SpGEMMLevel;

/* What a product of matrices of full blocks keeps (blockproduct.c). */
typedef struct {
  DCSRBlockList a, b, c; /* the blocks of A, B and C, references */
  DCSRSpGEMM    product; /* of the lists a and b, with positions; owned */
} SpGEMMBlocks;

struct _n_DCSRSpGEMM {
  const SpGEMMRules   *rules;
  PetscInt             num_rows;
  PetscCount           num_nonzeros; /* of C */
  int                  lanes;        /* of a group */
  PetscBool            threads;      /* threads take short rows */
  PetscBool            few_factors;  /* rows of A are short */
  SpGEMMStats          stats;
  int32_t             *list;    /* [num_rows] device, owned: rows of C by bin; NULL when all rows are in one */
  unsigned long long  *chunks;  /* [max_chunks] device, owned: chunks of the rows of the last two bins; NULL when there are none */
  SpGEMMChunkNumbers  *numbers; /* [1] device, owned: how many; NULL when there are none */
  PetscCount           max_chunks;
  SpGEMMHugeRow       *huge; /* [num_huge] host, owned: rows of these bins whose terms are sorted; NULL when there are none */
  PetscCount           num_huge;
  PetscInt             num_numeric;     /* how often values were computed */
  SpGEMMPositions      positions;       /* from the second time on, of lists of blocks at once; zero before, and where they take too much memory */
  SpGEMMChunkPositions chunk_positions; /* the same */
  SpGEMMBlocks         blocks;          /* blocks.product NULL: values are computed entry by entry. Otherwise nothing of the above but the first three is used */
  size_t               held;            /* bytes of workspace now, while the symbolic phase lasts */
  size_t               workspace;       /* the most bytes of workspace at once */
};

/* spgemm.c */
PETSC_INTERN PetscErrorCode SpGEMMGetMaxWarps(PetscCount *max_warps);
PETSC_INTERN size_t         SpGEMMMemoryBound(PetscInt num_rows, PetscCount num_nonzeros, PetscBool wide);
PETSC_INTERN PetscErrorCode SpGEMMMakePositions(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, size_t bound, cudaStream_t stream);

/* blockproduct.c, numericblocks.cu */
PETSC_INTERN PetscErrorCode SpGEMMBlocksSymbolic(DCSRView A, DCSRView B, cudaStream_t stream, SpGEMMBlocks *blocks);
PETSC_INTERN PetscErrorCode SpGEMMBlocksNumeric(const SpGEMMBlocks *blocks, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMBlocksDestroy(SpGEMMBlocks *blocks, cudaStream_t stream);
PETSC_INTERN PetscBool      SpGEMMHasBlockKernel(int br, int bk, int bc);
PETSC_INTERN PetscErrorCode SpGEMMNumericBlocks(DCSRView A, DCSRView B, DCSRView C, DCSRView rows, const int sizes[3], const SpGEMMPositions *p, const SpGEMMBin *bin, PetscCount n,
                                                const int32_t list[], cudaStream_t stream);

/* shape.cu, windows.cu: a sample of a matrix; what threads read in place of B's columns */
PETSC_INTERN PetscErrorCode SpGEMMSampleShape(DCSRView view, PetscCount num_samples, SpGEMMShape *shape, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMMakeWindows(DCSRView B, cudaStream_t stream, SpGEMMWindows *windows);
PETSC_INTERN PetscErrorCode SpGEMMFreeWindows(SpGEMMWindows *windows, cudaStream_t stream);

/* threads.cu, symbolic.cu, long.cu: the levels, each for the rows that the one before could not finish */
PETSC_INTERN PetscErrorCode SpGEMMSymbolicGroups(DCSRView A, DCSRView B, const SpGEMMLevel *level, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMSymbolicThreads(DCSRView A, DCSRView B, const SpGEMMWindows *windows, int log2_slots, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMSymbolicWarps(DCSRView A, DCSRView B, int part_lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMSymbolicBlocks(DCSRView A, DCSRView B, int lanes, const SpGEMMBinLimits *limits, const SpGEMMPool *pool, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMCountSlices(DCSRView A, DCSRView B, const SpGEMMPool *pool, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMFillSlices(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream);

/* bins.cu: row offsets of C; columns out of the pool; rows by bin, in list [m]; chunks of rows for SpGEMMNumericChunks() */
PETSC_INTERN PetscErrorCode SpGEMMScan(PetscInt num_rows, const int32_t counts[], DCSRView C, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMCopyColumns(DCSRView C, const SpGEMMPool *pool, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMCopyLongColumns(DCSRView C, const SpGEMMPool *pool, PetscCount n, const int32_t list[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMSortRows(PetscInt num_rows, const unsigned char bins[], const SpGEMMStats *stats, int32_t list[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMListChunks(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], unsigned long long chunks[], SpGEMMChunkNumbers *numbers, PetscCount max_huge,
                                             SpGEMMHugeRow huge[], cudaStream_t stream);

/* numericthreads.cu, numeric.cu, chunks.cu: values of rows whose columns are known; list == NULL: all rows, in order */
PETSC_INTERN PetscErrorCode SpGEMMNumericThreads(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, PetscCount n, const int32_t list[], cudaStream_t stream);
PETSC_INTERN PetscBool      SpGEMMNumericHolds(const PetscSparseCUDATuning *tuning, const SpGEMMBin *bin);
PETSC_INTERN PetscErrorCode SpGEMMNumericGroups(DCSRView A, DCSRView B, DCSRView C, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMNumericChunks(DCSRView A, DCSRView B, DCSRView C, PetscCount max_chunks, const unsigned long long chunks[], const SpGEMMChunkNumbers *numbers, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMNumericHuge(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const SpGEMMHugeRow rows[], cudaStream_t stream); /* huge.cu; the list is on the host */

/* positions.cu: what repetitions of the numeric phase read in place of tables */
PETSC_INTERN PetscErrorCode SpGEMMPositionsMeasure(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const int32_t list[], cudaStream_t stream, SpGEMMPositions *p);
PETSC_INTERN PetscErrorCode SpGEMMPositionsFill(DCSRView A, DCSRView B, DCSRView C, const SpGEMMPositions *p, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMNumericPositions(DCSRView A, DCSRView B, DCSRView C, const SpGEMMPositions *p, const SpGEMMBin *bin, int lanes, PetscCount n, const int32_t list[],
                                                   cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMPositionsFree(SpGEMMPositions *p, cudaStream_t stream);

/* chunkpositions.cu: the same of rows in chunks */
PETSC_INTERN size_t         SpGEMMChunkPositionsBytes(const SpGEMMChunkPositions *p);
PETSC_INTERN PetscErrorCode SpGEMMChunkPositionsMake(DCSRView A, DCSRView B, DCSRView C, PetscCount n, const unsigned long long chunks[], PetscCount first_sorted, size_t bound, cudaStream_t stream,
                                                     SpGEMMChunkPositions *p);
PETSC_INTERN PetscErrorCode SpGEMMNumericChunkPositions(DCSRView A, DCSRView B, DCSRView C, const unsigned long long chunks[], const SpGEMMChunkPositions *p, cudaStream_t stream);
PETSC_INTERN PetscErrorCode SpGEMMChunkPositionsFree(SpGEMMChunkPositions *p, cudaStream_t stream);
