/* Masked diagonals as a format of HiSparse: the structure, and the table of functions. What is about structure alone serves diagonals of blocks, too. */
#include "diagonalsimpl.h"

/* HiSparseDiagonalsTransposeDestroy - frees what products with the transpose read; the next one makes it again */
PetscErrorCode HiSparseDiagonalsTransposeDestroy(HiSparseDiagonals *d, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&d->transposed_segments, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_blocks, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_slices, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_parts, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_slice_parts, stream));
  PetscCall(PetscSparseCUDAFree(&d->part_sums, stream));
  PetscCall(HiSparseRemainderDestroy(&d->transposed_remainder, stream));
  PetscCall(PetscSparseCUDAFree(&d->permutation, stream));
  d->num_transposed_segments = 0;
  d->num_transposed_parts    = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsDestroy - frees a structure; NULL is fine, and *structure is NULL afterwards */
PetscErrorCode HiSparseDiagonalsDestroy(void **structure, cudaStream_t stream)
{
  HiSparseDiagonals *d = (HiSparseDiagonals *)*structure;

  PetscFunctionBegin;
  if (d == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&d->slices, stream));
  PetscCall(PetscSparseCUDAFree(&d->segments, stream));
  PetscCall(HiSparseRemainderDestroy(&d->remainder, stream));
  PetscCall(PetscSparseCUDAFree(&d->remainder_slices, stream));
  PetscCall(HiSparseDiagonalsTransposeDestroy(d, stream));
  PetscCall(PetscFree(*structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does not fit when more than half of the entries are on diagonals with too few entries. */
static PetscErrorCode Create_Diagonals(DCSRView csr, cudaStream_t stream, void **structure, PetscCount *num_others)
{
  HiSparseDiagonals *d;
  PetscBool          fits;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  *structure = d;
  d->size    = 1;
  PetscCallGoto(ierr, failed, HiSparseDiagonalsEncode(csr, HISPARSE_MIN_PART, stream, d, &fits));
  *num_others = d->num_nonzeros - d->num_segment_values;
  if (!fits) PetscCall(HiSparseDiagonalsDestroy(structure, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDiagonalsDestroy(structure, stream));
  PetscFunctionReturn(ierr);
}

/* Adds the device memory of the remainder of one direction. */
static PetscErrorCode RemainderBytes(const HiSparseRemainder *remainder, size_t *bytes)
{
  const size_t offset_size = remainder->view.wide ? sizeof(int64_t) : sizeof(int32_t);
  size_t       plan        = 0;

  PetscFunctionBegin;
  if (remainder->view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *bytes += (size_t)remainder->view.num_rows * (sizeof(*remainder->rows) + offset_size) + offset_size + (size_t)remainder->view.num_nonzeros * sizeof(*remainder->view.columns);
  if (remainder->sums != NULL) *bytes += (size_t)remainder->view.num_rows * sizeof(*remainder->sums);
  if (remainder->plan != NULL) PetscCall(DCSRSpMVPlanGetInfo(remainder->plan, NULL, NULL, &plan, NULL));
  *bytes += plan;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsGetInfo - as in the table of a format */
PetscErrorCode HiSparseDiagonalsGetInfo(const void *structure, HiSparseInfo *info)
{
  const HiSparseDiagonals *d            = (const HiSparseDiagonals *)structure;
  const size_t             segment_size = d->size > 1 ? sizeof(*d->transposed_blocks) : sizeof(*d->transposed_segments);
  size_t                   transposed   = 0;

  PetscFunctionBegin;
  info->num_segments = d->num_segments;
  info->block_size   = d->size > 1 ? d->size : 0;
  info->bytes        = (size_t)d->num_slices * sizeof(*d->slices) + (size_t)d->num_segments * sizeof(*d->segments);
  if (d->remainder_slices != NULL) info->bytes += ((size_t)d->num_slices + 1) * sizeof(*d->remainder_slices);
  PetscCall(RemainderBytes(&d->remainder, &info->bytes));
  if (d->transposed_slices != NULL) transposed = (size_t)d->num_transposed_segments * segment_size + ((size_t)d->num_column_slices + 1) * sizeof(*d->transposed_slices);
  if (d->num_transposed_parts > 0)
    transposed += ((size_t)d->num_transposed_parts + 1) * sizeof(*d->transposed_parts) + ((size_t)d->num_column_slices + 1) * sizeof(*d->transposed_slice_parts) +
                  (size_t)d->num_transposed_parts * HISPARSE_SLICE_ROWS * sizeof(*d->part_sums);
  if (d->permutation != NULL) transposed += (size_t)d->remainder.view.num_nonzeros * (d->remainder.view.wide ? sizeof(int64_t) : sizeof(int32_t));
  PetscCall(RemainderBytes(&d->transposed_remainder, &transposed));
  info->transpose_bytes = transposed;
  info->bytes += transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsSameStructure - slices, segments and the entries outside of them, in the same positions */
PetscErrorCode HiSparseDiagonalsSameStructure(const void *structure, const void *other, cudaStream_t stream, PetscBool *same)
{
  const HiSparseDiagonals *a = (const HiSparseDiagonals *)structure, *b = (const HiSparseDiagonals *)other;
  const DCSRView          *v = &a->remainder.view, *w = &b->remainder.view;
  const HiSparseArrays     arrays[] = {
        {a->slices, b->slices, (size_t)a->num_slices * sizeof(*a->slices)},
        {a->segments, b->segments, (size_t)a->num_segments * sizeof(*a->segments)},
        {a->remainder.rows, b->remainder.rows, (size_t)v->num_rows * sizeof(*a->remainder.rows)},
        {v->columns, w->columns, (size_t)v->num_nonzeros * sizeof(*v->columns)},
        {v->row_offsets, w->row_offsets, v->num_rows > 0 ? ((size_t)v->num_rows + 1) * (v->wide ? sizeof(int64_t) : sizeof(int32_t)) : 0},
  };

  PetscFunctionBegin;
  *same = (PetscBool)(a->size == b->size && a->num_rows == b->num_rows && a->num_columns == b->num_columns && a->num_nonzeros == b->num_nonzeros && a->num_segment_values == b->num_segment_values &&
                      a->num_segments == b->num_segments && v->num_rows == w->num_rows && v->num_nonzeros == w->num_nonzeros && v->wide == w->wide);
  if (*same) PetscCall(HiSparseSameArrays((int)PETSC_STATIC_ARRAY_LENGTH(arrays), arrays, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HiSparseFormatOps HiSparseFormatDiagonals = {
  .create        = Create_Diagonals,
  .destroy       = HiSparseDiagonalsDestroy,
  .getinfo       = HiSparseDiagonalsGetInfo,
  .setvalues     = HiSparseDiagonalsSetValues,
  .getcsr        = HiSparseDiagonalsGetCSR,
  .prepare       = HiSparseDiagonalsPrepare,
  .mult          = HiSparseDiagonalsMult,
  .multepilogue  = HiSparseDiagonalsMultEpilogue,
  .getdiagonal   = HiSparseDiagonalsGetDiagonal,
  .samestructure = HiSparseDiagonalsSameStructure,
  .unite         = HiSparseDiagonalsUnite,
  .roundhalf     = PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE) ? NULL : HiSparseDiagonalsRoundHalf,
};
