/*
  The selection of a format: the time of y = A x is predicted from the bytes that a format reads and writes, counted on a sample of the matrix, and the part of the bandwidth of a copy that its kernels
  reach.
*/
#include "diagonalsimpl.h"
#include <petscsparsecuda/tuning.h>

#define RULE_GAIN  0.90  /* time over that of CSR from which on CSR stays */
#define RULE_WAVES 0.125 /* what a second wave that is nearly empty adds */
#define RULE_NONE  1e300 /* cost of what the matrix cannot have */

/*
  HiSparseRuleWaves - by how much longer a product with diagonals takes because its slices, a warp each, do not fill the device evenly; resident: threads that a multiprocessor holds

  With a little more than one wave of slices the second one runs nearly alone. Of the matrices of benchmarks/select on an H200, which holds 3,696 slices, those with 1.0 to 1.9 waves took 0.9 to 1.2
  times what the others take of the time of their bytes; from two waves on slices end at different times, and others take their place.
*/
double HiSparseRuleWaves(PetscCount num_slices, int num_multiprocessors, int resident)
{
  const double waves = (double)num_slices / ((double)num_multiprocessors * resident / 32);

  return waves > 1 && waves < 2 ? 1 + RULE_WAVES * (2 / waves - 1) : 1;
}

/*
  HiSparseIndexEntries - entries that share a column index in products with CSR of a matrix of full square blocks of so many rows, 0: of one without (kernels/spmv/spmvblocks.cu)

  Products look for blocks of the sizes that csr says alone: 1 unless the matrix consists of such ones.
*/
PetscInt HiSparseIndexEntries(DCSRView csr, int block_size)
{
  const PetscInt br = csr.row_block, bc = csr.column_block;

  return block_size > 0 && DCSRFullBlocksMayBe(csr, br, bc) && block_size % br == 0 && block_size % bc == 0 ? br * bc : 1;
}

/* Bytes that CSR and diagonals move, over their efficiency; by format. waves: of HiSparseRuleWaves(). */
static void GetCosts(DCSRView csr, const HiSparseSample *sample, int block_size, double waves, const HiSparseRules *rule, double costs[HISPARSE_CSR + 1])
{
  const double scalar = sizeof(PetscScalar), rows = (double)csr.num_rows, entries = (double)csr.num_nonzeros, shared = (double)HiSparseIndexEntries(csr, block_size);
  const double vectors = scalar * (rows + (double)csr.num_columns), offsets = rows * (csr.wide ? sizeof(int64_t) : sizeof(int32_t));
  const double part = (double)sample->entries > 0 ? entries / (double)sample->entries : 0, others = (double)(sample->entries - sample->in_segments) * part;

  costs[HISPARSE_CSR] = (vectors + offsets + entries * (scalar + sizeof(int32_t))) / rule->csr;
  if (shared > 1) costs[HISPARSE_CSR] = PetscMin(costs[HISPARSE_CSR], (vectors + offsets + entries * (scalar + sizeof(int32_t) / shared)) / rule->csr_blocks);
  costs[HISPARSE_DIAGONALS] = waves *
                                (vectors + part * ((double)sample->in_segments * scalar + (double)sample->segments * sizeof(HiSparseSegment)) + rows / HISPARSE_SLICE_ROWS * sizeof(HiSparseSlice)) /
                                rule->diagonals +
                              others * (scalar + sizeof(int32_t)) / rule->remainder;
}

/* The same for masked diagonals of blocks; RULE_NONE without blocks. Blocks on short segments count four times, since few lanes take part in what loads them. */
static PetscErrorCode GetBlockDiagonalsCost(DCSRView csr, const HiSparseSample *given, int block_size, int num_multiprocessors, const HiSparseRules *rule, cudaStream_t stream, double *cost)
{
  const double   vectors = sizeof(PetscScalar) * ((double)csr.num_rows + (double)csr.num_columns), square = (double)block_size * block_size;
  const PetscInt block_rows = block_size > 0 ? csr.num_rows / block_size : 0;
  HiSparseSample sample;
  double         num_blocks, part, in_short;

  PetscFunctionBegin;
  *cost = RULE_NONE;
  if (block_size == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (given != NULL) sample = *given;
  else PetscCall(HiSparseSampleTake(csr, block_size, stream, &sample));
  num_blocks = (double)csr.num_nonzeros / square;
  part       = sample.entries > 0 ? num_blocks / (double)sample.entries : 0;
  in_short   = PetscMax(num_blocks - part * (double)sample.in_segments, 0.0);
  *cost      = HiSparseRuleWaves(((PetscCount)block_rows + 31) / 32, num_multiprocessors, BLOCK_DIAGONALS_RESIDENT(block_size)) * // a warp takes 32 rows
          (vectors + (num_blocks + 3 * in_short) * square * sizeof(PetscScalar) + part * (double)sample.segments * sizeof(HiSparseSegment) +
           (double)block_rows / HISPARSE_SLICE_ROWS * sizeof(HiSparseSlice)) /
          rule->block_diagonals;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cheapest format, HISPARSE_CSR when none gains enough. */
static HiSparseFormat GetCheapest(const double costs[HISPARSE_CSR + 1])
{
  HiSparseFormat best = HISPARSE_CSR;

  for (HiSparseFormat f = HISPARSE_DIAGONALS; f < HISPARSE_CSR; f++)
    if (costs[f] <= RULE_GAIN * costs[HISPARSE_CSR] && (best == HISPARSE_CSR || costs[f] < costs[best])) best = f;
  return best;
}

/* HiSparseMayPay - whether products with some format may be faster than those with CSR: smaller matrices stay CSR */
PetscBool HiSparseMayPay(PetscInt num_rows, PetscCount num_nonzeros)
{
  const PetscSparseCUDATuning *tuning = NULL;

  if (PetscSparseCUDAGetTuning(&tuning) != PETSC_SUCCESS) return PETSC_FALSE;
  return (PetscBool)(num_nonzeros >= tuning->hisparse.min_nonzeros && (PetscCount)num_rows >= tuning->hisparse.min_slices * HISPARSE_SLICE_ROWS);
}

/* The costs of all formats, by the sample, and by that of blocks if it is given. */
static PetscErrorCode GetAllCosts(DCSRView csr, const HiSparseSample *sample, const HiSparseSample *of_blocks, cudaStream_t stream, double costs[HISPARSE_CSR + 1])
{
  const int                    block_size = sample->block_size; // 0: none
  const PetscSparseCUDATuning *tuning     = NULL;
  double                       waves;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  waves = HiSparseRuleWaves(((PetscCount)csr.num_rows + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS, tuning->device.num_multiprocessors, HISPARSE_RESIDENT);
  GetCosts(csr, sample, block_size, waves, &tuning->hisparse, costs);
  PetscCall(GetBlockDiagonalsCost(csr, of_blocks, block_size, tuning->device.num_multiprocessors, &tuning->hisparse, stream, &costs[HISPARSE_BLOCK_DIAGONALS]));
  PetscCall(PetscInfo(NULL, "Bytes of a product by their bandwidth, over those of CSR: diagonals %.2f, diagonals of blocks of %d %.2f\n", costs[HISPARSE_DIAGONALS] / costs[HISPARSE_CSR], block_size,
                      block_size > 0 ? costs[HISPARSE_BLOCK_DIAGONALS] / costs[HISPARSE_CSR] : 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sample of size 1, whose blocks are all full in the whole matrix. */
static PetscErrorCode TakeSample(DCSRView csr, cudaStream_t stream, HiSparseSample *sample)
{
  DCSRBlockList list;

  PetscFunctionBegin;
  PetscCall(HiSparseSampleTake(csr, 1, stream, sample));
  PetscCall(DCSRBlockListGet(csr, sample->block_size, sample->block_size, stream, &list));
  if (list == NULL) sample->block_size = 0;
  PetscCall(DCSRBlockListDestroy(&list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparsePredict - the format with the fastest products, as the bytes predict it, and the time of y = A x over that with CSR

  csr is compact, with sorted rows and at least one nonzero, and says the sizes of blocks that products with CSR look for. samples are [2], of HiSparseSamplingTake(), of size 1 and of the size of the blocks that this one has, if it has any. NULL: they are
  counted, and the host waits. With samples it waits for nothing: whether all blocks are full is found when the format is made.

  HISPARSE_AUTO becomes HISPARSE_CSR when no format saves a tenth, as for small matrices; ratio is 1 then. It is very large for what the matrix cannot have. Errors: PETSC_ERR_MEM.
*/
PetscErrorCode HiSparsePredict(DCSRView csr, const HiSparseSample samples[], cudaStream_t stream, HiSparseFormat *format, double *ratio)
{
  double         costs[HISPARSE_CSR + 1];
  HiSparseSample taken;

  PetscFunctionBegin;
  *ratio = 1;
  if (*format == HISPARSE_AUTO && !HiSparseMayPay(csr.num_rows, csr.num_nonzeros)) *format = HISPARSE_CSR;
  if (*format == HISPARSE_CSR) PetscFunctionReturn(PETSC_SUCCESS);
  if (samples == NULL) PetscCall(TakeSample(csr, stream, &taken));
  PetscCall(GetAllCosts(csr, samples != NULL ? samples : &taken, samples != NULL ? samples + 1 : NULL, stream, costs));
  if (*format == HISPARSE_AUTO) *format = GetCheapest(costs);
  *ratio = costs[*format] / costs[HISPARSE_CSR];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseRuleApply - the format whose products are predicted to be the fastest; see HiSparsePredict() */
PetscErrorCode HiSparseRuleApply(DCSRView csr, cudaStream_t stream, HiSparseFormat *format)
{
  double ratio;

  PetscFunctionBegin;
  *format = HISPARSE_AUTO;
  PetscCall(HiSparsePredict(csr, NULL, stream, format, &ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}
