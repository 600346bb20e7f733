/* Features of a matrix, made of counts. */
#include "featuresimpl.h"
#include "../hisparse/hisparseimpl.h"

#define DCSR_FEATURE_NAME(name, text) text,
const char *const DCSRFeatureNames[DCSR_NUM_FEATURES] = {DCSR_FEATURES(DCSR_FEATURE_NAME)};

/* Standard deviation of n numbers by their sum and the sum of their squares. */
static double Deviation(double n, double sum, double squares)
{
  const double mean = n > 0 ? sum / n : 0;

  return n > 0 ? PetscSqrtReal((PetscReal)PetscMax(squares / n - mean * mean, 0.0)) : 0;
}

static double Share(unsigned long long part, unsigned long long all)
{
  return all > 0 ? (double)part / (double)all : 0;
}

/* Sizes of rows. */
static void SetRows(DCSRView csr, const FeatureCounts *c, double f[])
{
  const double rows = csr.num_rows, nonzeros = (double)csr.num_nonzeros;

  f[DCSR_FEATURE_N_ROWS]   = rows;
  f[DCSR_FEATURE_N_COLS]   = csr.num_columns;
  f[DCSR_FEATURE_NNZ_TOT]  = nonzeros;
  f[DCSR_FEATURE_NNZ_FRAC] = csr.num_columns > 0 ? 100 * nonzeros / rows / csr.num_columns : 0;
  f[DCSR_FEATURE_NNZ_MIN]  = (double)c->min_row;
  f[DCSR_FEATURE_NNZ_MAX]  = (double)c->max_row;
  f[DCSR_FEATURE_NNZ_MU]   = nonzeros / rows;
  f[DCSR_FEATURE_NNZ_SIG]  = Deviation(rows, nonzeros, (double)c->squares);
  f[DCSR_FEATURE_EMPTY]    = (double)c->empty / rows;
}

/* What the sample tells; there is at least one entry in the matrix, though perhaps none in the sample. */
static void SetEntries(DCSRView csr, const FeatureCounts *c, double f[])
{
  const double columns = PetscMax((double)csr.num_columns, 1.0);

  f[DCSR_FEATURE_NNZB_TOT]   = Share(c->runs, c->entries) * (double)csr.num_nonzeros;
  f[DCSR_FEATURE_NNZB_MIN]   = (double)c->min_runs;
  f[DCSR_FEATURE_NNZB_MAX]   = (double)c->max_runs;
  f[DCSR_FEATURE_NNZB_MU]    = Share(c->runs, c->rows);
  f[DCSR_FEATURE_NNZB_SIG]   = Deviation((double)c->rows, (double)c->runs, (double)c->run_squares);
  f[DCSR_FEATURE_SNZB_MIN]   = c->runs > 0 ? (double)c->min_run : 0;
  f[DCSR_FEATURE_SNZB_MAX]   = (double)c->max_run;
  f[DCSR_FEATURE_SNZB_MU]    = Share(c->entries, c->runs);
  f[DCSR_FEATURE_SNZB_SIG]   = Deviation((double)c->runs, (double)c->entries, (double)c->length_squares);
  f[DCSR_FEATURE_SIMILARITY] = Share(c->similar, c->compared);
  f[DCSR_FEATURE_DISTANCE]   = Share(c->distance, c->entries) / columns;
  f[DCSR_FEATURE_SPREAD]     = Share(c->spread, c->slices) / columns;
}

/* What the formats of HiSparse look at. */
static PetscErrorCode SetFormats(DCSRView csr, cudaStream_t stream, double f[])
{
  HiSparseSample sample;

  PetscFunctionBegin;
  PetscCall(HiSparseSampleTake(csr, 1, stream, &sample));
  f[DCSR_FEATURE_DIAGONALS]  = Share(sample.in_pieces, sample.entries);
  f[DCSR_FEATURE_PIECES]     = Share(sample.pieces, sample.rows) * HISPARSE_SLICE_ROWS;
  f[DCSR_FEATURE_WIDE]       = Share(sample.wide_blocks, sample.blocks);
  f[DCSR_FEATURE_BLOCK_SIZE] = PetscMax(sample.block_size, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRFeaturesGet - The features of a matrix

  Input Parameters:
+ csr    - compact, columns of a row sorted; values are not read
- stream - synchronizes it

  Output Parameter:
. features - [DCSR_NUM_FEATURES] host; zeros for a matrix without rows, and where entries would be counted and there are none

  Errors: PETSC_ERR_MEM; PETSC_ERR_ARG_WRONGSTATE for storage that is not compact.

  Cost: that of FeaturesCount() and of HiSparseSampleTake().
*/
PetscErrorCode DCSRFeaturesGet(DCSRView csr, cudaStream_t stream, double features[DCSR_NUM_FEATURES])
{
  FeatureCounts counts;

  PetscFunctionBegin;
  PetscCheck(csr.row_offsets != NULL || csr.segments == NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Features are those of compact storage, call DCSRDefragment() first");
  PetscCall(PetscArrayzero(features, DCSR_NUM_FEATURES));
  if (csr.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FeaturesCount(csr, stream, &counts));
  SetRows(csr, &counts, features);
  if (csr.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  SetEntries(csr, &counts, features);
  PetscCall(SetFormats(csr, stream, features));
  PetscFunctionReturn(PETSC_SUCCESS);
}
