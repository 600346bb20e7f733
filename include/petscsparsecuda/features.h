#pragma once
/* What the structure of a matrix looks like, in numbers by which a storage is chosen (kernels/features). */
#include <petscsparsecuda/dcsr.h>

/*
  The features. Those of the paper have its names (N. Sedaghati, T. Mu, L.-N. Pouchet, S. Parthasarathy, P. Sadayappan: Automatic Selection of Sparse Matrix Representation on GPUs, ICS 2015, table 4), where a block is
  a run of entries of a row with consecutive columns. Sizes of rows are those of the whole matrix. What is counted entry by entry is counted on a fixed sample of large matrices: so are the last three groups below.
*/
#define DCSR_FEATURES(X) \
  X(N_ROWS, "n_rows")     /* rows */ \
  X(N_COLS, "n_cols")     /* columns */ \
  X(NNZ_TOT, "nnz_tot")   /* entries */ \
  X(NNZ_FRAC, "nnz_frac") /* percentage of entries that are there */ \
  X(NNZ_MIN, "nnz_min")   /* entries of a row: the fewest, */ \
  X(NNZ_MAX, "nnz_max")   /* the most, */ \
  X(NNZ_MU, "nnz_mu")     /* mean */ \
  X(NNZ_SIG, "nnz_sig")   /* and standard deviation */ \
  X(EMPTY, "empty")       /* share of rows without entries */ \
  X(NNZB_TOT, "nnzb_tot") /* runs of all rows, as the sample tells */ \
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
  X(PIECES, "pieces")         /* such diagonals, per 128 rows */ \
  X(WIDE, "wide")             /* share of blocks of nonzeros whose columns do not fit into windows of 16 bits */ \
  X(BLOCK_SIZE, "block_size") /* rows of the full dense blocks that the sample has; 1: none */

#define DCSR_FEATURE_ENUM(name, text) DCSR_FEATURE_##name,
typedef enum {
  DCSR_FEATURES(DCSR_FEATURE_ENUM) DCSR_NUM_FEATURES
} DCSRFeature;
#undef DCSR_FEATURE_ENUM

PETSC_INTERN const char *const DCSRFeatureNames[DCSR_NUM_FEATURES];

PETSC_INTERN PetscErrorCode DCSRFeaturesGet(DCSRView csr, cudaStream_t stream, double features[DCSR_NUM_FEATURES]); /* compact, columns of a row sorted; on the host; synchronizes */
