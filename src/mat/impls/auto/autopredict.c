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

/* The sum of what the leaves say that the inputs lead to. */
static double Evaluate(const AutoTrees *trees, const double inputs[])
{
  double sum = trees->base;

  for (int t = 0; t < trees->num_trees; t++) {
    const AutoNode *node = trees->nodes + trees->roots[t];

    while (node->input >= 0) node += inputs[node->input] > (double)node->value ? node->right : 1;
    sum += (double)node->value;
  }
  return exp(sum);
}

/* By bytes. */
static void PredictByBytes(const AutoRule *rule, double ratio, double us, AutoPrediction *prediction)
{
  prediction->forward   = ratio;
  prediction->transpose = ratio;
  prediction->convert   = rule->fixed + rule->convert * us;
  prediction->update    = rule->update * us;
  prediction->by        = "bytes";
}

/* By what was learnt. */
static PetscErrorCode PredictByTable(const AutoTable *table, DCSRView csr, double ratio, double us, cudaStream_t stream, AutoPrediction *prediction)
{
  double inputs[AUTO_NUM_INPUTS];

  PetscFunctionBegin;
  PetscCall(DCSRFeaturesGet(csr, stream, inputs));
  inputs[AUTO_INPUT_FORMAT] = (double)prediction->format;
  inputs[AUTO_INPUT_BYTES]  = ratio;
  prediction->forward       = Evaluate(&table->trees[AUTO_TARGET_FORWARD], inputs);
  prediction->transpose     = Evaluate(&table->trees[AUTO_TARGET_TRANSPOSE], inputs);
  prediction->convert       = us * Evaluate(&table->trees[AUTO_TARGET_CONVERT], inputs);
  prediction->update        = us * Evaluate(&table->trees[AUTO_TARGET_UPDATE], inputs);
  prediction->by            = table->gpu;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAutoCUDAPredict - What a matrix gains by HiSparse, and what that costs

  Not Collective

  Input Parameters:
+ csr       - compact, columns of a row sorted, with at least one entry
. format    - HISPARSE_AUTO, or the only one that is in question
. precision - of the values that would be stored
. us        - microseconds of y = A x with rows
- stream    - synchronizes it

  Output Parameter:
. prediction - its format is HISPARSE_CSR when rows are expected to be as good

  Cost: that of HiSparsePredict(), and with a table that of DCSRFeaturesGet(). Errors: PETSC_ERR_MEM.
*/
PetscErrorCode MatAutoCUDAPredict(DCSRView csr, HiSparseFormat format, HiSparsePrecision precision, double us, cudaStream_t stream, AutoPrediction *prediction)
{
  const AutoTable *table;
  double           ratio;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(prediction, 1));
  prediction->format = format;
  prediction->by     = "bytes";
  PetscCall(HiSparsePredict(csr, precision, stream, &prediction->format, &ratio));
  if (prediction->format == HISPARSE_CSR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetTable(&table));
  if (table == NULL) PredictByBytes(&rules[prediction->format], ratio, us, prediction);
  else PetscCall(PredictByTable(table, csr, ratio, us, stream, prediction));
  prediction->list = RULE_LIST_FIXED + RULE_LIST * us;
  if (prediction->forward >= 1 && prediction->transpose >= 1) prediction->format = HISPARSE_CSR;
  PetscFunctionReturn(PETSC_SUCCESS);
}
