/* Values of all formats: an array of those in diagonal segments, and one of those of the CSR remainder. Nothing here depends on what a position stands for. */
#include "hisparseimpl.h"
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/spadd.h>

/* Bytes of a value in a segment. */
static size_t ValueBytes(const HiSparseValues *v)
{
  static const size_t bytes[] = {[HISPARSE_VALUES_SCALAR] = sizeof(PetscScalar), [HISPARSE_VALUES_SINGLE] = DCSR_SINGLE_BYTES, [HISPARSE_VALUES_HALF] = sizeof(uint16_t)};

  return bytes[v->precision];
}

/* HiSparseValuesCreate - values with one reference, not initialized; *values is NULL after an error */
PetscErrorCode HiSparseValuesCreate(PetscCount num_values, PetscCount num_others, HiSparsePrecision precision, cudaStream_t stream, HiSparseValues **values)
{
  HiSparseValues *v;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *values = NULL;
  PetscCall(PetscNew(&v));
  v->references = 1;
  v->precision  = precision;
  v->num_values = num_values;
  v->num_others = num_others;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private((size_t)num_values * ValueBytes(v), "values of diagonals", stream, &v->values));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_others, "values outside of diagonals", stream, &v->remainder_values));
  *values = v;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseValuesDestroy(&v, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseValuesDestroy - one reference less; NULL is fine, and *values is NULL afterwards */
PetscErrorCode HiSparseValuesDestroy(HiSparseValues **values, cudaStream_t stream)
{
  HiSparseValues *v = *values;

  PetscFunctionBegin;
  *values = NULL;
  if (v == NULL || --v->references > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&v->values, stream));
  PetscCall(PetscSparseCUDAFree(&v->remainder_values, stream));
  PetscCall(PetscSparseCUDAFree(&v->transposed_values, stream));
  PetscCall(PetscSparseCUDAFree(&v->scales, stream));
  PetscCall(PetscSparseCUDAFree(&v->corrections, stream));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseValuesBytes - device memory of the values, and the part of it that only products with the transpose read */
size_t HiSparseValuesBytes(const HiSparseValues *v, size_t *transpose_bytes)
{
  const size_t others = (size_t)v->num_others * sizeof(PetscScalar);

  *transpose_bytes = v->transposed_values != NULL ? others : 0;
  return (size_t)v->num_values * ValueBytes(v) + others + *transpose_bytes + v->half_bytes;
}

/* HiSparseValuesCopy - to gets the values of from, which are as many */
PetscErrorCode HiSparseValuesCopy(const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream)
{
  const size_t others = (size_t)from->num_others * sizeof(PetscScalar);

  PetscFunctionBegin;
  to->transposed_is_current = PETSC_FALSE;
  PetscCallCUDA(cudaMemcpyAsync(to->values, from->values, (size_t)from->num_values * ValueBytes(from), cudaMemcpyDeviceToDevice, stream));
  if (others > 0) PetscCallCUDA(cudaMemcpyAsync(to->remainder_values, from->remainder_values, others, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseValuesRound - to, which is rounded, gets the values of from, which are PetscScalar; those of the CSR remainder stay what they are */
PetscErrorCode HiSparseValuesRound(const HiSparseFormatOps *ops, const void *structure, const HiSparseValues *from, HiSparseValues *to, cudaStream_t stream)
{
  const size_t others = (size_t)from->num_others * sizeof(PetscScalar);

  PetscFunctionBegin;
  to->transposed_is_current = PETSC_FALSE;
  if (to->precision == HISPARSE_VALUES_HALF) PetscCall((*ops->roundhalf)(structure, from, to, stream));
  else PetscCall(DCSRRoundValues(from->num_values, (const PetscScalar *)from->values, to->values, stream));
  if (others > 0) PetscCallCUDA(cudaMemcpyAsync(to->remainder_values, from->remainder_values, others, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleArray(PetscCount n, PetscScalar alpha, void *values, cudaStream_t stream)
{
  DCSRView view = {0};

  PetscFunctionBegin;
  view.num_nonzeros = view.capacity = view.used = n;
  view.values                                   = (PetscScalar *)values;
  PetscCall(DCSRScale(view, alpha, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseValuesScale - multiplies all values, which are PetscScalar */
PetscErrorCode HiSparseValuesScale(HiSparseValues *v, PetscScalar alpha, cudaStream_t stream)
{
  PetscFunctionBegin;
  v->transposed_is_current = PETSC_FALSE;
  PetscCall(ScaleArray(v->num_values, alpha, v->values, stream));
  PetscCall(ScaleArray(v->num_others, alpha, v->remainder_values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseValuesAdd - sum = alpha a + beta b, all of one structure and PetscScalar; sum may be a or b */
PetscErrorCode HiSparseValuesAdd(PetscScalar alpha, const HiSparseValues *a, PetscScalar beta, const HiSparseValues *b, HiSparseValues *sum, cudaStream_t stream)
{
  PetscFunctionBegin;
  sum->transposed_is_current = PETSC_FALSE;
  PetscCall(DCSRAddValues(a->num_values, alpha, (const PetscScalar *)a->values, beta, (const PetscScalar *)b->values, (PetscScalar *)sum->values, stream));
  if (a->num_others > 0) PetscCall(DCSRAddValues(a->num_others, alpha, a->remainder_values, beta, b->remainder_values, sum->remainder_values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
