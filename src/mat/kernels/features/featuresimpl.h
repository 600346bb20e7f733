#pragma once
/* What the files of this folder share. */
#include <petscsparsecuda/features.h>

#define FEATURES_SLICE_ROWS 128  /* consecutive rows of a part of the sample */
#define FEATURES_SLICES     1024 /* such parts at most, spread evenly over the matrix */
#define FEATURES_LONG       1024 /* entries of a row that are looked at */

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
} FeatureCounts;

PETSC_INTERN PetscErrorCode FeaturesCount(DCSRView csr, cudaStream_t stream, FeatureCounts *counts); /* counts.cu */
