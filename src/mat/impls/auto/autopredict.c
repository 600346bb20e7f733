/* What products with another storage would take, by bytes, and what making it costs: by the table of this GPU, or in products where there is none. */
#include "auto.h"
#include <petscsparsecuda/tuning.h>

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
  [HISPARSE_BLOCKS]          = {200, 5.5, 1.4},
  [HISPARSE_BLOCK_DIAGONALS] = {200, 5.5, 1.6},
};
// clang-format on
#define RULE_LIST_FIXED 150 /* the list of transpose products: 2d5-4096 313 us, 3d7-64 165 */
#define RULE_LIST       0.6
#define RULE_LOOK       50 /* microseconds of a look */

/* What was learnt for the current device. */
static PetscErrorCode GetTable(const PetscSparseCUDATuning **table)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a conversion costs, in products with rows that take so many microseconds. */
static void PriceByProducts(HiSparseFormat format, double us, AutoPrediction *prediction)
{
  const AutoRule *rule = &rules[format];

  prediction->convert = rule->fixed + rule->convert * us;
  prediction->list    = RULE_LIST_FIXED + RULE_LIST * us;
  prediction->update  = rule->update * us;
  prediction->by      = "products";
}

/* The same by what was learnt. */
static void PriceByTable(const PetscSparseCUDATuning *table, DCSRView csr, HiSparseFormat format, AutoPrediction *prediction)
{
  const double terms[AUTO_NUM_TERMS] = {[AUTO_TERM_ONE] = 1, [AUTO_TERM_VECTORS] = 1e-6 * sizeof(PetscScalar) * ((double)csr.num_rows + (double)csr.num_columns), [AUTO_TERM_VALUES] = 1e-6 * sizeof(PetscScalar) * (double)csr.num_nonzeros};
  double       us[AUTO_NUM_TARGETS];

  for (int t = 0; t < AUTO_NUM_TARGETS; t++) {
    us[t] = 0;
    for (int k = 0; k < AUTO_NUM_TERMS; k++) us[t] += table->costs.factors[format][t][k] * terms[k];
  }
  prediction->convert = us[AUTO_TARGET_CONVERT];
  prediction->list    = us[AUTO_TARGET_LIST];
  prediction->update  = us[AUTO_TARGET_UPDATE];
  prediction->by      = table->name;
}

/* MatAutoCUDALookTime - What HiSparseLookQueue() and MatAutoCUDAPredict() take, in microseconds. */
PetscErrorCode MatAutoCUDALookTime(double *us)
{
  const PetscSparseCUDATuning *table;

  PetscFunctionBegin;
  PetscCall(GetTable(&table));
  *us = table == NULL ? RULE_LOOK : table->costs.sampling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAutoCUDAPredict - What a matrix gains by HiSparse, and what that costs; the format of the prediction is HISPARSE_CSR when rows are expected to be as good.

  csr is compact, with at least one entry, and the columns of a row are sorted. facts are those that the plan of a product knows, or NULL.
  samples: [2] of looks that were queued before: of size 1, and of the blocks that this one has, if any; NULL: they are taken, and the host waits. With samples and facts nothing is queued.
  format is HISPARSE_AUTO, or the only one that is in question; us the microseconds of y = A x with rows.
  Costs what HiSparsePredict() does.
*/
PetscErrorCode MatAutoCUDAPredict(DCSRView csr, const DCSRFacts *facts, const HiSparseSample samples[], HiSparseFormat format, double us, cudaStream_t stream, AutoPrediction *prediction)
{
  const PetscSparseCUDATuning *table;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(prediction, 1));
  prediction->format = format;
  prediction->by     = "bytes";
  PetscCall(HiSparsePredict(csr, facts, samples, stream, &prediction->format, &prediction->forward));
  prediction->transpose = prediction->forward;
  if (prediction->format == HISPARSE_CSR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetTable(&table));
  if (table == NULL) PriceByProducts(prediction->format, us, prediction);
  else PriceByTable(table, csr, prediction->format, prediction);
  if (prediction->forward >= 1) prediction->format = HISPARSE_CSR;
  PetscFunctionReturn(PETSC_SUCCESS);
}
