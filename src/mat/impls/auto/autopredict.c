/* What products take, by bytes, and what other storage costs, as it was learned (src/tuning). */
#include "auto.h"

/*
  y = A x with CSR takes a constant, and its bytes at 3.8 TB/s on an NVIDIA H200. Of 256 matrices of benchmarks/select that have a faster format 95 % are within 20 %; a product whose columns lie far
  apart takes up to three times as long, and is sampled and converted later than it might be.
*/
#define PRODUCT_US 5
#define BANDWIDTH  0.79 /* of that of the device */

/* MatAutoCUDAProductTime - What y = A x with CSR takes, in microseconds; block_size: of full blocks, or 0. */
double MatAutoCUDAProductTime(const PetscSparseCUDATuning *tuning, DCSRView csr, int block_size)
{
  const double columns = (double)csr.num_nonzeros / (double)HiSparseIndexEntries(csr, block_size);
  const double vectors = sizeof(PetscScalar) * ((double)csr.num_rows + (double)csr.num_columns), offsets = (double)csr.num_rows * (csr.wide ? sizeof(int64_t) : sizeof(int32_t));

  return PRODUCT_US + (vectors + offsets + (double)csr.num_nonzeros * sizeof(PetscScalar) + columns * sizeof(int32_t)) / (BANDWIDTH * tuning->device.bandwidth);
}

/* A learned cost, in microseconds. */
static double Cost(const AutoCosts *costs, DCSRView csr, HiSparseFormat format, AutoTarget target)
{
  const double terms[AUTO_NUM_TERMS] = {[AUTO_TERM_ONE]     = 1,
                                        [AUTO_TERM_VECTORS] = 1e-6 * sizeof(PetscScalar) * ((double)csr.num_rows + (double)csr.num_columns),
                                        [AUTO_TERM_VALUES]  = 1e-6 * sizeof(PetscScalar) * (double)csr.num_nonzeros};
  double       us                    = 0;

  for (int k = 0; k < AUTO_NUM_TERMS; k++) us += costs->factors[format][target][k] * terms[k];
  return us;
}

/*
  MatAutoCUDAPredict - What a matrix gains by HiSparse, and what that costs

  csr is compact, with at least one entry, and the columns of a row are sorted.
  samples: [2] that were taken before, of size 1, and of the blocks that this one has, if any; NULL: they are taken, and the host waits. With samples nothing is queued.
  format is HISPARSE_AUTO, or the only candidate. Costs what HiSparsePredict() does.
*/
PetscErrorCode MatAutoCUDAPredict(DCSRView csr, const HiSparseSample samples[], HiSparseFormat format, cudaStream_t stream, AutoPrediction *prediction)
{
  const PetscSparseCUDATuning *tuning;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(prediction, 1));
  prediction->format = format;
  PetscCall(HiSparsePredict(csr, samples, stream, &prediction->format, &prediction->forward));
  if (prediction->forward >= 1) prediction->format = HISPARSE_CSR;
  if (prediction->format == HISPARSE_CSR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  prediction->csr     = MatAutoCUDAProductTime(tuning, csr, samples != NULL ? samples[0].block_size : 0);
  prediction->gain    = (1 - prediction->forward) * prediction->csr;
  prediction->convert = Cost(&tuning->costs, csr, prediction->format, AUTO_TARGET_CONVERT);
  prediction->list    = Cost(&tuning->costs, csr, prediction->format, AUTO_TARGET_LIST);
  prediction->update  = Cost(&tuning->costs, csr, prediction->format, AUTO_TARGET_UPDATE);
  PetscFunctionReturn(PETSC_SUCCESS);
}
