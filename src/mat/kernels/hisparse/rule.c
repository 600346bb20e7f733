/*
  The choice of a format: the time of y = A x is foretold from the bytes that a format reads and writes, counted on a sample of the matrix, and the part of the bandwidth of a copy that its kernels reach.
*/
#include "hisparseimpl.h"
#include "windowsimpl.h"
#include "../spmv/spmvrule.h"

#define RULE_MIN_NONZEROS 200000 /* smaller matrices stay CSR: their products cost a launch and a chain of loads, whatever the bytes, */
#define RULE_MIN_SLICES   1024   /* and so do those with fewer slices, of which a warp each does not fill the device: 3d27-32, 256 slices, 12.7 us, CSR 7.5; 3d7-64, 2048 slices, 9.3 us, CSR 11.8 */
#define RULE_GAIN         0.90   /* time over that of CSR from which on CSR stays */

/*
  Part of the bandwidth of a copy that the bytes of a format move at; NVIDIA H200. An entry of the overflow counts with a value and a 32-bit column at an efficiency of its own: its rows are read and written a second
  time, by a launch of its own.
*/
typedef struct {
  double csr;
  double diagonals;
  double single; /* diagonals with values in single precision */
  double overflow;
  double windows;
} HiSparseRule;

// clang-format off
static const HiSparseRule HiSparseRuleH200 = {
  0.97, /* csr: 3d27-200 656 us, bytes at copy bandwidth 635; 2d5-4096 313 of 313; elast3-80 378 of 347 */
  0.98, /* diagonals: 0.96 to 1.01 on 3d27-200, 2d5-4096, 3d7-256, elast3-80 (438, 230, 289, 254 us; CSR 651, 312, 411, 379) */
  0.88, /* single: 3d27-200 252 us, 2d5-4096 165, elast3-80 156, 3d7-256 201; A^T x 258, 169, 172, 207 */
  0.30, /* overflow: band4 with a third of its entries in the overflow 146 us, CSR 97 us */
  0.83  /* windows: 0.85 on 3d27-200, 0.76 on perm27-128, 0.80 on mort27-128, 0.77 on rgg15-2M (633, 185, 176, 110 us; CSR's split kernel at its best 659, 188, 178, 108). 16 windows found by a shuffle: 708, 206, 199, 128 us */
};
// clang-format on

static const DCSRRuleTable RuleTables[] = {{90, &HiSparseRuleH200}};

/* Bytes of an average row that each format moves, over its efficiency. */
typedef struct {
  double csr, diagonals, windows;
} HiSparseCost;

static HiSparseCost GetCost(DCSRView csr, HiSparsePrecision precision, const HiSparseSample *sample, const HiSparseRule *rule)
{
  const double scalar = sizeof(PetscScalar), rows = (double)csr.num_rows, entries = (double)csr.num_nonzeros;
  const double vectors = scalar * (rows + (double)csr.num_columns), offsets = rows * (csr.wide ? sizeof(int64_t) : sizeof(int32_t));
  const double part = (double)sample->entries > 0 ? entries / (double)sample->entries : 0, others = (double)(sample->entries - sample->in_pieces) * part;
  const double value     = precision == HISPARSE_VALUES_SINGLE ? (double)(sizeof(PetscScalar) / sizeof(PetscReal) * sizeof(float)) : scalar; // of a piece
  const double diagonals = precision == HISPARSE_VALUES_SINGLE && !PetscDefined(USE_REAL_SINGLE) ? rule->single : rule->diagonals;
  const double wide      = (double)sample->wide_blocks / (double)sample->blocks;
  HiSparseCost cost;

  cost.csr       = (vectors + offsets + entries * (scalar + sizeof(int32_t))) / rule->csr;
  cost.diagonals = (vectors + part * ((double)sample->in_pieces * value + (double)sample->pieces * sizeof(HiSparsePiece)) + rows / HISPARSE_SLICE_ROWS * sizeof(HiSparseSlice)) / diagonals + others * (scalar + sizeof(int32_t)) / rule->overflow;
  cost.windows   = (vectors + offsets + entries * (scalar + (1 + wide) * sizeof(uint16_t) + (double)(WINDOWS_COUNT * sizeof(int32_t)) / WINDOWS_BLOCK)) / rule->windows;
  return cost;
}

/* Whether CSR would take the split kernel: 16-bit columns have no kernel for small matrices, nor for skewed ones. */
static PetscErrorCode IsSplit(DCSRView csr, cudaStream_t stream, PetscBool *split)
{
  SpMVConfig config;
  DCSRFacts  facts;

  PetscFunctionBegin;
  PetscCall(SpMVFactsGet(csr, stream, &facts));
  PetscCall(SpMVRuleApply(csr, &facts, DCSR_SPMV_AUTO, &config));
  *split = (PetscBool)(config.kind == DCSR_SPMV_SPLIT);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseRuleApply - the format whose products are foretold to be the fastest

  Input Parameters:
+ csr       - compact, rows sorted by column, with at least one nonzero
. precision - of the values that diagonals would have
- stream    - the stream; synchronizes

  Output Parameter:
. format - HISPARSE_DIAGONALS, HISPARSE_WINDOWS, or HISPARSE_CSR when neither saves a tenth of the time of CSR

  Cost: a sample of 1024 slices and 1024 blocks, and a pass over the row offsets when windows are in question. Errors: PETSC_ERR_MEM.
*/
PetscErrorCode HiSparseRuleApply(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, HiSparseFormat *format)
{
  const HiSparseRule *rule = NULL;
  HiSparseSample      sample;
  HiSparseCost        cost;
  PetscBool           split = PETSC_FALSE;

  PetscFunctionBegin;
  *format = HISPARSE_CSR;
  if (csr.num_nonzeros < RULE_MIN_NONZEROS || (PetscCount)csr.num_rows < (PetscCount)RULE_MIN_SLICES * HISPARSE_SLICE_ROWS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRGetRules(PETSC_STATIC_ARRAY_LENGTH(RuleTables), RuleTables, (const void **)&rule));
  PetscCall(HiSparseSampleTake(csr, stream, &sample));
  cost = GetCost(csr, precision, &sample, rule);
  PetscCall(PetscInfo(NULL, "Bytes of a product by their bandwidth, over those of CSR: diagonals %.2f, 16-bit columns %.2f\n", cost.diagonals / cost.csr, cost.windows / cost.csr));
  if (cost.diagonals <= RULE_GAIN * cost.csr && cost.diagonals <= cost.windows) *format = HISPARSE_DIAGONALS;
  else if (cost.windows <= RULE_GAIN * cost.csr) {
    PetscCall(IsSplit(csr, stream, &split));
    if (split) *format = HISPARSE_WINDOWS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
