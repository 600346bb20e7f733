/* What products with another storage would take: by the table of this GPU, or by bytes where there is none. */
#include "auto.h"
#include "autotable.h"

/*
  The hand-written rule for what a conversion costs, NVIDIA H200: so many products y = A x with rows, and a time that does not depend on the matrix, which the host waits for allocations and counts. Of diagonals:
  3d27-200 2510 us where the product takes 654, 2d5-4096 876 and 312, 3d7-64 219 and 12; of blocks: rgg15x3 1541 and 258; of diagonals of blocks: elast3-80 2261 and 380.
*/
typedef struct {
  double fixed;   /* microseconds */
  double convert; /* products, as those below */
  double update;
} AutoRule;

// clang-format off
static const AutoRule rules[] = {
  [HISPARSE_DIAGONALS]       = {200, 3.5, 1.4},
  [HISPARSE_WINDOWS]         = {200, 5.5, 1.5},
  [HISPARSE_BLOCKS]          = {200, 5.5, 1.4},
  [HISPARSE_BLOCK_DIAGONALS] = {200, 5.5, 1.6},
};
// clang-format on
#define RULE_LIST_FIXED 150 /* the list of transpose products: 2d5-4096 313 us, 3d7-64 165 */
#define RULE_LIST       0.6

/* Masked diagonals, as their bytes are counted: of a piece, and rows of a slice. */
#define PIECE_BYTES 24
#define SLICE_ROWS  128

/* The table of the current device, NULL when there is none. */
static PetscErrorCode GetTable(const AutoTable **table)
{
  static int              asked = -1; // the device that was asked last
  static const AutoTable *known = NULL;
  struct cudaDeviceProp   properties;
  int                     device;
  PetscBool               same;

  PetscFunctionBegin;
  *table = NULL;
  if (AutoTables[0] == NULL) {
    if (asked < 0) PetscCall(PetscInfo(NULL, "No GPU has a table of what storages gain: autocuda chooses by bytes; \"make bench BENCHMARKS=select\" and benchmarks/select/train.py make one\n"));
    asked = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaGetDevice(&device));
  if (device != asked) {
    PetscCallCUDA(cudaGetDeviceProperties(&properties, device));
    known = NULL;
    for (size_t k = 0; AutoTables[k] != NULL && known == NULL; k++) {
      PetscCall(PetscStrcmp(AutoTables[k]->gpu, properties.name, &same));
      if (same) known = AutoTables[k];
    }
    if (known == NULL) PetscCall(PetscInfo(NULL, "There is no table of what storages gain on %s: autocuda chooses by bytes; \"make bench BENCHMARKS=select\" and benchmarks/select/train.py make one\n", properties.name));
    asked = device;
  }
  *table = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A time, by the terms of a matrix. */
static double Evaluate(const double factors[AUTO_NUM_TERMS], const double terms[AUTO_NUM_TERMS])
{
  double sum = 0;

  for (int k = 0; k < AUTO_NUM_TERMS; k++) sum += factors[k] * terms[k];
  return PetscMax(sum, 1e-3);
}

/* The terms of a matrix whose features are known; us: of y = A x with rows. As in benchmarks/select/train.py. */
static void GetTerms(const double f[DCSR_NUM_FEATURES], double us, double terms[AUTO_NUM_TERMS])
{
  const double rows = f[DCSR_FEATURE_N_ROWS], entries = f[DCSR_FEATURE_NNZ_TOT], size = PetscMax(f[DCSR_FEATURE_BLOCK_SIZE], 1.0), scalar = sizeof(PetscScalar), million = 1e6;

  terms[AUTO_TERM_ONE]        = 1;
  terms[AUTO_TERM_VECTORS]    = scalar * (rows + f[DCSR_FEATURE_N_COLS]) / million;
  terms[AUTO_TERM_VALUES]     = scalar * entries / million;
  terms[AUTO_TERM_PIECES]     = PIECE_BYTES * f[DCSR_FEATURE_PIECES] * rows / SLICE_ROWS / million;
  terms[AUTO_TERM_BLOCKS]     = entries / (size * size) / million;
  terms[AUTO_TERM_BLOCK_ROWS] = rows / size / million;
  terms[AUTO_TERM_OUTSIDE]    = (scalar + (double)sizeof(int32_t)) * (1 - f[DCSR_FEATURE_DIAGONALS]) * entries / million;
  terms[AUTO_TERM_ROWS]       = us;
}

/* By bytes: the rule of HiSparse has its format, and the ratio of bytes is that of times. */
static PetscErrorCode PredictByBytes(DCSRView csr, HiSparsePrecision precision, const AutoTimesOfRows *rows, cudaStream_t stream, AutoPrediction *prediction)
{
  const AutoRule *rule;
  double          ratio;

  PetscFunctionBegin;
  PetscCall(HiSparsePredict(csr, precision, stream, &prediction->format, &ratio));
  if (prediction->format == HISPARSE_CSR) PetscFunctionReturn(PETSC_SUCCESS);
  rule                  = &rules[prediction->format];
  prediction->forward   = ratio;
  prediction->transpose = ratio;
  prediction->convert   = rule->fixed + rule->convert * rows->forward;
  prediction->list      = RULE_LIST_FIXED + RULE_LIST * rows->forward;
  prediction->update    = rule->update * rows->forward;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a matrix may have a format, as far as its features tell. */
static PetscBool MayHave(HiSparseFormat format, const double f[DCSR_NUM_FEATURES])
{
  if (format == HISPARSE_DIAGONALS) return (PetscBool)(f[DCSR_FEATURE_DIAGONALS] >= 0.5);
  if (format == HISPARSE_BLOCKS || format == HISPARSE_BLOCK_DIAGONALS) return (PetscBool)(f[DCSR_FEATURE_BLOCK_SIZE] > 1);
  return PETSC_TRUE;
}

/* What was learnt of one format. */
static void Foretell(const AutoTable *table, HiSparseFormat format, const double terms[AUTO_NUM_TERMS], const AutoTimesOfRows *rows, AutoPrediction *prediction)
{
  const double(*factors)[AUTO_NUM_TERMS] = table->factors[format];

  prediction->format    = format;
  prediction->forward   = Evaluate(factors[AUTO_TARGET_FORWARD], terms) / rows->forward + table->margin;
  prediction->transpose = Evaluate(factors[AUTO_TARGET_TRANSPOSE], terms) / rows->transpose + table->margin;
  prediction->convert   = Evaluate(factors[AUTO_TARGET_CONVERT], terms);
  prediction->list      = Evaluate(factors[AUTO_TARGET_LIST], terms);
  prediction->update    = Evaluate(factors[AUTO_TARGET_UPDATE], terms);
  prediction->by        = table->gpu;
}

/* By what was learnt: the format whose products, so many of either direction, take least time with the conversion; not more than rows. */
static PetscErrorCode PredictByTable(const AutoTable *table, DCSRView csr, const AutoTimesOfRows *rows, cudaStream_t stream, AutoPrediction *prediction)
{
  const HiSparseFormat asked = prediction->format;
  double               features[DCSR_NUM_FEATURES], terms[AUTO_NUM_TERMS], least = PETSC_MAX_REAL;
  AutoPrediction       one;

  PetscFunctionBegin;
  PetscCall(DCSRFeaturesGetFormats(csr, stream, features));
  GetTerms(features, rows->forward, terms);
  prediction->format = HISPARSE_CSR;
  for (HiSparseFormat format = HISPARSE_DIAGONALS; format < HISPARSE_CSR; format++) {
    double us;

    if ((asked != HISPARSE_AUTO && format != asked) || !MayHave(format, features)) continue;
    Foretell(table, format, terms, rows, &one);
    us = one.convert + (rows->num_transpose > 0 ? one.list : 0) + rows->num_forward * one.forward * rows->forward + rows->num_transpose * one.transpose * rows->transpose;
    if (us >= least) continue;
    least       = us;
    *prediction = one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAutoCUDAPredict - What a matrix gains by HiSparse, and what that costs

  Not Collective

  Input Parameters:
+ csr       - compact, columns of a row sorted, with at least one entry
. format    - HISPARSE_AUTO, or the only one that is in question
. precision - of the values that would be stored
. rows      - what products with rows take, and how many are expected
- stream    - synchronizes it

  Output Parameter:
. prediction - its format is HISPARSE_CSR when rows are expected to be as good

  Cost: that of HiSparsePredict(), or with a table that of DCSRFeaturesGetFormats(). Errors: PETSC_ERR_MEM.

  Note:
  A table is of values that are PetscScalar. Those in single precision are judged by bytes.
*/
PetscErrorCode MatAutoCUDAPredict(DCSRView csr, HiSparseFormat format, HiSparsePrecision precision, const AutoTimesOfRows *rows, cudaStream_t stream, AutoPrediction *prediction)
{
  const AutoTable *table = NULL;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(prediction, 1));
  prediction->format = format;
  prediction->by     = "bytes";
  if (precision == HISPARSE_VALUES_SCALAR) PetscCall(GetTable(&table));
  if (table == NULL) PetscCall(PredictByBytes(csr, precision, rows, stream, prediction));
  else PetscCall(PredictByTable(table, csr, rows, stream, prediction));
  if (prediction->forward >= 1 && prediction->transpose >= 1) prediction->format = HISPARSE_CSR;
  PetscFunctionReturn(PETSC_SUCCESS);
}
