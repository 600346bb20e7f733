#pragma once
/*
  Row-binned SpGEMM, C = A B. Columns are taken in windows of 32: a row of C is a small hash table of windows with one bit for each column, so that a run of
  neighbouring columns is one entry of the table, counting is counting of bits, and sorting the windows sorts the row.

  Counting tries tables of growing size (levels); a row whose table is full goes on to the next level. Filling knows each row's windows and entries, and takes
  the smallest bin that holds them.
*/
#include <petscsparsecuda/spgemm.h>

#define SPGEMM_WINDOW_BITS 5 /* log2 of the columns of a window; one bit of a 32-bit mask each */
#define SPGEMM_NO_WINDOW   0xffffffffu

/* Counting levels: groups of lanes with tables of 2^SPGEMM_COUNT_SLOTS windows, warps, blocks, and dense bitmaps of slices of the columns. */
#define SPGEMM_NUM_LEVELS    4
#define SPGEMM_BLOCK_WINDOWS 3072  /* windows of a row that a block still sorts in shared memory, */
#define SPGEMM_BLOCK_SLOTS   12    /* in a table of 2^12 */
#define SPGEMM_SLICE_WINDOWS 16384 /* windows of a bitmap in shared memory: rows with more than a block sorts are counted slice by slice */
#define SPGEMM_CHUNK_ENTRIES 256   /* entries of such rows whose values a warp computes */
#define SPGEMM_CHUNK_SLOTS   9     /* in a table of 2^9 */

/* The bins of the fill: rows without entries; rows of a group of lanes (the table in spgemm.c); rows of a block; rows of slices. */
#define SPGEMM_NUM_BINS  9
#define SPGEMM_BIN_EMPTY 0
#define SPGEMM_BIN_BLOCK 7
#define SPGEMM_BIN_LONG  8

typedef struct {
  const char *name;
  int         log2_slots;  /* of a group's table of windows; three quarters of it are used at most; 0: not a bin of groups */
  int         max_entries; /* of a row of C */
  int         min_lanes;   /* smallest group: fewer lanes would leave shared memory for too few warps */
} SpGEMMBin;
PETSC_INTERN const SpGEMMBin SpGEMMBins[SPGEMM_NUM_BINS];

/* The part of the table that kernels need, by value. */
typedef struct {
  int max_windows[SPGEMM_NUM_BINS];
  int max_entries[SPGEMM_NUM_BINS];
} SpGEMMBinLimits;

/* What counting finds; on the device, and after it on the host. */
typedef struct {
  unsigned long long num_nonzeros;
  unsigned long long num_products;
  unsigned int       bin_rows[SPGEMM_NUM_BINS];     /* rows of C in each bin */
  unsigned int       level_rows[SPGEMM_NUM_LEVELS]; /* rows that were left to each level (not kept for the first, which sees all) */
} SpGEMMStats;

/* Arrays of the counting phase, all on the device. */
typedef struct {
  int32_t       *counts;   /* [m + 1] entries of each row of C, then 0 */
  unsigned char *bins;     /* [m] bin of each row */
  int32_t       *lists[2]; /* [m] each: rows left to the next level; levels 1 and 3 use the first, level 2 the second */
  SpGEMMStats   *stats;
} SpGEMMCount;

/* count.cu, long.cu: the levels, each for the rows that the one before could not finish. lanes: of a group, 4 to 32 */
PETSC_INTERN PetscErrorCode SpGEMMCountGroups(DCSRView, DCSRView, int, const SpGEMMBinLimits *, const SpGEMMCount *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMCountWarps(DCSRView, DCSRView, const SpGEMMBinLimits *, const SpGEMMCount *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMCountBlocks(DCSRView, DCSRView, const SpGEMMBinLimits *, const SpGEMMCount *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMCountSlices(DCSRView, DCSRView, const SpGEMMCount *, cudaStream_t);

/* bins.cu: row offsets of C; rows by bin, in list [m]; pieces of rows for SpGEMMNumericChunks() */
PETSC_INTERN PetscErrorCode SpGEMMScan(PetscInt, const int32_t[], DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMSortRows(PetscInt, const unsigned char[], const SpGEMMStats *, int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMListChunks(DCSRView, PetscCount, const int32_t[], unsigned long long[], unsigned long long *, cudaStream_t);

/* fill.cu, long.cu: columns, and with the flag values, of n rows (list == NULL: all, in order) */
PETSC_INTERN PetscErrorCode SpGEMMFillGroups(DCSRView, DCSRView, DCSRView, PetscBool, const SpGEMMBin *, int, PetscCount, const int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMFillBlocks(DCSRView, DCSRView, DCSRView, PetscCount, const int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMFillSlices(DCSRView, DCSRView, DCSRView, PetscCount, const int32_t[], cudaStream_t);

/* numeric.cu: values of rows whose columns are known */
PETSC_INTERN PetscErrorCode SpGEMMNumericGroups(DCSRView, DCSRView, DCSRView, const SpGEMMBin *, int, PetscCount, const int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode SpGEMMNumericChunks(DCSRView, DCSRView, DCSRView, PetscCount, const unsigned long long[], const unsigned long long *, cudaStream_t);
