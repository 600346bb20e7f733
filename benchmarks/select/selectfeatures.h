#pragma once
/* The structure of a matrix in numbers that the selection of a storage may be learnt from. */
#include <petscsparsecuda/dcsr.h>

/*
  The features. Those of the paper have its names (N. Sedaghati, T. Mu, L.-N. Pouchet, S. Parthasarathy, P. Sadayappan: Automatic Selection of Sparse Matrix Representation on GPUs, ICS 2015, table 4),
  where a block is a run of entries of a row with consecutive columns. Sizes of rows are those of the whole matrix. What is counted entry by entry is counted on a fixed sample of large matrices: so
  are the last three groups below.
*/
#define SELECT_FEATURES(X) \
  X(N_ROWS, "n_rows")     /* rows */ \
  X(N_COLS, "n_cols")     /* columns */ \
  X(NNZ_TOT, "nnz_tot")   /* entries */ \
  X(NNZ_FRAC, "nnz_frac") /* percentage of entries that are there */ \
  X(NNZ_MIN, "nnz_min")   /* entries of a row: the fewest, */ \
  X(NNZ_MAX, "nnz_max")   /* the most, */ \
  X(NNZ_MU, "nnz_mu")     /* mean */ \
  X(NNZ_SIG, "nnz_sig")   /* and standard deviation */ \
  X(EMPTY, "empty")       /* share of rows without entries */ \
  X(NNZB_TOT, "nnzb_tot") /* runs of all rows, by the sample */ \
  X(NNZB_MIN, "nnzb_min") /* runs of a row */ \
  X(NNZB_MAX, "nnzb_max") \
  X(NNZB_MU, "nnzb_mu") \
  X(NNZB_SIG, "nnzb_sig") \
  X(SNZB_MIN, "snzb_min") /* entries of a run */ \
  X(SNZB_MAX, "snzb_max") \
  X(SNZB_MU, "snzb_mu") \
  X(SNZB_SIG, "snzb_sig") \
  X(SIMILARITY, "similarity") /* share of entries whose column the row before has, too */ \
  X(DISTANCE, "distance")     /* mean distance of a column from the diagonal, over the number of columns */ \
  X(SPREAD, "spread")         /* mean of the last column less the first one, plus 1, of 128 rows, over the number of columns */ \
  X(DIAGONALS, "diagonals")   /* share of entries that are on masked diagonals of 128 rows */ \
  X(SEGMENTS, "pieces")       /* such diagonals, per 128 rows */ \
  X(BLOCK_SIZE, "block_size") /* rows of the full dense blocks that the sample has; 1: none */

#define SELECT_FEATURE_ENUM(name, text) SELECT_FEATURE_##name,
typedef enum {
  SELECT_FEATURES(SELECT_FEATURE_ENUM) SELECT_NUM_FEATURES
} SelectFeature;
#undef SELECT_FEATURE_ENUM

#define FEATURES_SLICE_ROWS 128  /* consecutive rows of a part of the sample */
#define FEATURES_SLICES     1024 /* such parts at most, spread evenly over the matrix */
#define FEATURES_LONG       1024 /* entries of a row that are sampled */

/* Counts, all of integers: the same every time. What is a minimum begins with all bits set. */
typedef struct {
  /* of all rows */
  unsigned long long min_row, max_row;
  unsigned long long squares; /* of the sizes of rows */
  unsigned long long empty;   /* rows without entries */
  /* of the sample */
  unsigned long long slices, rows, entries;
  unsigned long long runs, run_squares, min_runs, max_runs; /* of rows: sum over the rows, of the squares; the fewest and the most */
  unsigned long long min_run, max_run, length_squares;      /* of runs: the shortest, the longest, sum of the squares of lengths */
  unsigned long long similar;                               /* entries whose column the row before has */
  unsigned long long compared;                              /* entries of rows that have a row before them in the sample */
  unsigned long long distance;                              /* sum of |column - row| */
  unsigned long long spread;                                /* sum over slices of last column - first column + 1 */
} SelectFeatureCounts;

PETSC_INTERN const char *const SelectFeatureNames[SELECT_NUM_FEATURES];

PETSC_INTERN PetscErrorCode SelectFeaturesGet(DCSRView csr, cudaStream_t stream, double features[SELECT_NUM_FEATURES]); /* compact, columns of a row sorted; on the host; synchronizes */
PETSC_INTERN PetscErrorCode SelectFeaturesCount(DCSRView csr, cudaStream_t stream, SelectFeatureCounts *counts);        /* at least one row */
