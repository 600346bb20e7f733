/* Masked diagonals as a format of HiSparse: creation and destruction of structure and values, and the table of functions. */
#include "hisparseimpl.h"
#include <petscsparsecuda/entries.h>

/* HiSparseDiagonalsTransposeDestroy - frees what products with the transpose read; the next one makes it again */
PetscErrorCode HiSparseDiagonalsTransposeDestroy(HiSparseDiagonals *d, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&d->transposed_pieces, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_slices, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_parts, stream));
  PetscCall(PetscSparseCUDAFree(&d->transposed_slice_parts, stream));
  PetscCall(PetscSparseCUDAFree(&d->part_sums, stream));
  PetscCall(HiSparseOverflowDestroy(&d->transposed_overflow, stream));
  PetscCall(PetscSparseCUDAFree(&d->permutation, stream));
  d->num_transposed_pieces = 0;
  d->num_transposed_parts  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StructureDestroy(void **structure, cudaStream_t stream)
{
  HiSparseDiagonals *d = (HiSparseDiagonals *)*structure;

  PetscFunctionBegin;
  if (d == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&d->slices, stream));
  PetscCall(PetscSparseCUDAFree(&d->pieces, stream));
  PetscCall(HiSparseOverflowDestroy(&d->overflow, stream));
  PetscCall(PetscSparseCUDAFree(&d->overflow_slices, stream));
  PetscCall(HiSparseDiagonalsTransposeDestroy(d, stream));
  PetscCall(PetscFree(*structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsValuesDestroy - frees values; NULL is fine, and *values is NULL afterwards */
PetscErrorCode HiSparseDiagonalsValuesDestroy(void **values, cudaStream_t stream)
{
  HiSparseDiagonalsValues *v = (HiSparseDiagonalsValues *)*values;

  PetscFunctionBegin;
  if (v == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&v->values, stream));
  PetscCall(PetscSparseCUDAFree(&v->overflow_values, stream));
  PetscCall(PetscSparseCUDAFree(&v->transposed_values, stream));
  PetscCall(PetscFree(*values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of the value of an entry in a piece. */
static size_t ValueBytes(HiSparsePrecision precision)
{
  return precision == HISPARSE_VALUES_SINGLE ? DCSR_SINGLE_BYTES : sizeof(PetscScalar);
}

/* HiSparseDiagonalsValueBytes - bytes of the value of an entry in a piece, of values that are made for a structure */
size_t HiSparseDiagonalsValueBytes(const HiSparseDiagonals *d)
{
  return ValueBytes(d->precision);
}

/* HiSparseDiagonalsPieceBytes - bytes of some values of pieces, in the precision that they have */
size_t HiSparseDiagonalsPieceBytes(const void *values, PetscCount n)
{
  return (size_t)n * ValueBytes(((const HiSparseDiagonalsValues *)values)->precision);
}

/* Values for a structure in one of the precisions. */
static PetscErrorCode ValuesCreate(const HiSparseDiagonals *d, HiSparsePrecision precision, cudaStream_t stream, void **values)
{
  const PetscCount         begin = d->used_values == d->num_piece_values ? d->num_piece_values : 0; // what belongs to nothing is behind it
  const size_t             size  = ValueBytes(precision);
  HiSparseDiagonalsValues *v;
  PetscErrorCode           ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&v));
  *values      = v;
  v->precision = precision;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private((size_t)d->values_capacity * size, "values of diagonals", stream, &v->values));
  if (begin < d->values_capacity) PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync((char *)v->values + (size_t)begin * size, 0, (size_t)(d->values_capacity - begin) * size, stream));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(d->num_nonzeros - d->num_piece_values, "values outside of diagonals", stream, &v->overflow_values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDiagonalsValuesDestroy(values, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseDiagonalsValuesCreate - values for a structure, not initialized but for those that belong to nothing; *values is NULL after an error */
PetscErrorCode HiSparseDiagonalsValuesCreate(void *structure, cudaStream_t stream, void **values)
{
  PetscFunctionBegin;
  PetscCall(ValuesCreate((const HiSparseDiagonals *)structure, ((const HiSparseDiagonals *)structure)->precision, stream, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsRound - values that are PetscScalar, in single precision; those of the overflow stay what they are. *to NULL: made, and NULL after an error */
PetscErrorCode HiSparseDiagonalsRound(void *structure, const void *from, cudaStream_t stream, void **to)
{
  const HiSparseDiagonals       *d      = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *source = (const HiSparseDiagonalsValues *)from;
  const size_t                   others = (size_t)(d->num_nonzeros - d->num_piece_values);
  HiSparseDiagonalsValues       *target;

  PetscFunctionBegin;
  if (*to == NULL) PetscCall(ValuesCreate(d, HISPARSE_VALUES_SINGLE, stream, to));
  target                   = (HiSparseDiagonalsValues *)*to;
  target->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCall(DCSRRoundValues(d->values_capacity, (const PetscScalar *)source->values, target->values, stream));
  if (others > 0) PetscCallCUDA(cudaMemcpyAsync(target->overflow_values, source->overflow_values, others * sizeof(*target->overflow_values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDiagonalsValuesCopy - copies all values; the transposed overflow is made again when it is needed */
PetscErrorCode HiSparseDiagonalsValuesCopy(void *structure, const void *from, void *to, cudaStream_t stream)
{
  const HiSparseDiagonals       *d      = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *source = (const HiSparseDiagonalsValues *)from;
  HiSparseDiagonalsValues       *target = (HiSparseDiagonalsValues *)to;
  const size_t                   others = (size_t)(d->num_nonzeros - d->num_piece_values);

  PetscFunctionBegin;
  target->transposed_state = HISPARSE_TRANSPOSED_STALE;
  PetscCallCUDA(cudaMemcpyAsync(target->values, source->values, (size_t)d->values_capacity * HiSparseDiagonalsValueBytes(d), cudaMemcpyDeviceToDevice, stream));
  if (others > 0) PetscCallCUDA(cudaMemcpyAsync(target->overflow_values, source->overflow_values, others * sizeof(*target->overflow_values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalsCreate - structure and values of compact CSR as masked diagonals

  Input Parameters:
+ csr       - compact, columns of a row sorted, with values
. precision - of the values of pieces; those in single precision are rounded
- stream    - synchronizes it

  Output Parameters:
+ structure - a HiSparseDiagonals *; NULL when more than half of the entries are on diagonals with too few entries
- values    - a HiSparseDiagonalsValues *; NULL with structure

  Errors: PETSC_ERR_MEM; both are NULL then.
*/
PetscErrorCode HiSparseDiagonalsCreate(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values)
{
  HiSparseDiagonals *d;
  PetscBool          fits;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *values = NULL;
  PetscCall(PetscNew(&d));
  *structure   = d;
  d->precision = PetscDefined(USE_REAL_SINGLE) ? HISPARSE_VALUES_SCALAR : precision;
  PetscCallGoto(ierr, failed, HiSparseConfigGet(0, &d->config));
  PetscCallGoto(ierr, failed, HiSparseDiagonalsEncode(csr, HISPARSE_MIN_PART, stream, d, &fits));
  if (!fits) {
    PetscCall(StructureDestroy(structure, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallGoto(ierr, failed, HiSparseDiagonalsValuesCreate(d, stream, values));
  PetscCallGoto(ierr, failed, HiSparseDiagonalsSetValues(d, *values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDiagonalsValuesDestroy(values, stream));
  PetscCall(StructureDestroy(structure, stream));
  PetscFunctionReturn(ierr);
}

/* Adds the device memory of the overflow of one direction. */
static PetscErrorCode OverflowBytes(const HiSparseOverflow *overflow, size_t *bytes)
{
  const size_t offset_size = overflow->view.wide ? sizeof(int64_t) : sizeof(int32_t);
  size_t       plan        = 0;

  PetscFunctionBegin;
  if (overflow->view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *bytes += (size_t)overflow->view.num_rows * (sizeof(*overflow->rows) + offset_size) + offset_size + (size_t)overflow->view.num_nonzeros * sizeof(*overflow->view.columns);
  if (overflow->sums != NULL) *bytes += (size_t)overflow->view.num_rows * sizeof(*overflow->sums);
  if (overflow->plan != NULL) PetscCall(DCSRSpMVPlanGetInfo(overflow->plan, NULL, NULL, &plan, NULL));
  *bytes += plan;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetInfo(void *structure, void *values, HiSparseInfo *info)
{
  const HiSparseDiagonals       *d          = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *v          = (const HiSparseDiagonalsValues *)values;
  const size_t                   overflow   = (size_t)(d->num_nonzeros - d->num_piece_values);
  size_t                         transposed = 0;

  PetscFunctionBegin;
  info->precision    = v->precision;
  info->num_pieces   = d->num_pieces;
  info->num_others   = (PetscCount)overflow;
  info->values_bytes = HiSparseDiagonalsPieceBytes(v, d->values_capacity) + overflow * sizeof(*v->overflow_values);
  info->bytes        = (size_t)d->num_slices * sizeof(*d->slices) + (size_t)d->pieces_capacity * sizeof(*d->pieces) + info->values_bytes;
  if (d->overflow_slices != NULL) info->bytes += ((size_t)d->num_slices + 1) * sizeof(*d->overflow_slices);
  PetscCall(OverflowBytes(&d->overflow, &info->bytes));
  if (d->transposed_slices != NULL) transposed = (size_t)d->num_transposed_pieces * sizeof(*d->transposed_pieces) + ((size_t)d->num_column_slices + 1) * sizeof(*d->transposed_slices);
  if (d->num_transposed_parts > 0)
    transposed += ((size_t)d->num_transposed_parts + 1) * sizeof(*d->transposed_parts) + ((size_t)d->num_column_slices + 1) * sizeof(*d->transposed_slice_parts) + (size_t)d->num_transposed_parts * HISPARSE_SLICE_ROWS * sizeof(*d->part_sums);
  if (d->permutation != NULL) transposed += overflow * (d->overflow.view.wide ? sizeof(int64_t) : sizeof(int32_t));
  if (v->transposed_values != NULL) {
    transposed += overflow * sizeof(*v->transposed_values);
    info->values_bytes += overflow * sizeof(*v->transposed_values);
  }
  PetscCall(OverflowBytes(&d->transposed_overflow, &transposed));
  info->transpose_bytes = transposed;
  info->bytes += transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseCopyArray - an array of the device again, NULL for NULL; *to, which points to a pointer, stays NULL after an error */
PetscErrorCode HiSparseCopyArray(const void *from, size_t bytes, const char what[], cudaStream_t stream, void *to)
{
  void          *copy = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *(void **)to = NULL;
  if (from == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc_Private(bytes, what, stream, &copy));
  if (bytes > 0) PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(copy, from, bytes, cudaMemcpyDeviceToDevice, stream));
  *(void **)to = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&copy, stream));
  PetscFunctionReturn(ierr);
}

/* The arrays of a structure; *to has the numbers, and no arrays but those that were made. */
static PetscErrorCode CopyArrays(const HiSparseDiagonals *from, cudaStream_t stream, HiSparseDiagonals *to)
{
  const DCSRView *view   = &from->overflow.view;
  const size_t    offset = view->wide ? sizeof(int64_t) : sizeof(int32_t);

  PetscFunctionBegin;
  PetscCall(HiSparseCopyArray(from->slices, (size_t)from->num_slices * sizeof(*from->slices), "slices of diagonals", stream, &to->slices));
  PetscCall(HiSparseCopyArray(from->pieces, (size_t)from->pieces_capacity * sizeof(*from->pieces), "pieces of diagonals", stream, &to->pieces));
  PetscCall(HiSparseCopyArray(from->overflow_slices, ((size_t)from->num_slices + 1) * sizeof(*from->overflow_slices), "rows of slices outside of diagonals", stream, &to->overflow_slices));
  PetscCall(HiSparseCopyArray(from->overflow.rows, (size_t)view->num_rows * sizeof(*from->overflow.rows), "rows outside of diagonals", stream, &to->overflow.rows));
  PetscCall(HiSparseCopyArray(view->columns, (size_t)view->num_nonzeros * sizeof(*view->columns), "columns outside of diagonals", stream, &to->overflow.view.columns));
  PetscCall(HiSparseCopyArray(view->row_offsets, ((size_t)view->num_rows + 1) * offset, "row offsets outside of diagonals", stream, &to->overflow.view.row_offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure alone, in the same places. */
static PetscErrorCode StructureCopy(void *structure, cudaStream_t stream, void **copy)
{
  const HiSparseDiagonals *from = (const HiSparseDiagonals *)structure;
  HiSparseDiagonals       *to;
  PetscErrorCode           ierr;

  PetscFunctionBegin;
  *copy = NULL;
  PetscCall(PetscNew(&to));
  *to                           = *from;
  to->slices                    = NULL;
  to->pieces                    = NULL;
  to->overflow_slices           = NULL;
  to->overflow.rows             = NULL;
  to->overflow.plan             = NULL;
  to->overflow.sums             = NULL;
  to->overflow.view.columns     = NULL;
  to->overflow.view.row_offsets = NULL;
  to->num_transposed_pieces     = 0;
  to->transposed_pieces         = NULL;
  to->transposed_slices         = NULL;
  to->num_transposed_parts      = 0;
  to->transposed_parts          = NULL;
  to->transposed_slice_parts    = NULL;
  to->part_sums                 = NULL;
  to->permutation               = NULL;
  PetscCall(PetscArrayzero(&to->transposed_overflow, 1));
  *copy = to;
  PetscCallGoto(ierr, failed, CopyArrays(from, stream, to));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(StructureDestroy(copy, stream));
  PetscFunctionReturn(ierr);
}

/* Slices, pieces and the entries outside of them, in the same places. */
static PetscErrorCode SameStructure(const void *structure, const void *other, cudaStream_t stream, PetscBool *same)
{
  const HiSparseDiagonals *a = (const HiSparseDiagonals *)structure, *b = (const HiSparseDiagonals *)other;
  const DCSRView          *v = &a->overflow.view, *w = &b->overflow.view;
  const HiSparseArrays     arrays[] = {
        {a->slices, b->slices, (size_t)a->num_slices * sizeof(*a->slices)},
        {a->pieces, b->pieces, (size_t)a->used_pieces * sizeof(*a->pieces)},
        {a->overflow.rows, b->overflow.rows, (size_t)v->num_rows * sizeof(*a->overflow.rows)},
        {v->columns, w->columns, (size_t)v->num_nonzeros * sizeof(*v->columns)},
        {v->row_offsets, w->row_offsets, v->num_rows > 0 ? ((size_t)v->num_rows + 1) * (v->wide ? sizeof(int64_t) : sizeof(int32_t)) : 0},
  };

  PetscFunctionBegin;
  *same = (PetscBool)(a->precision == b->precision && a->num_rows == b->num_rows && a->num_columns == b->num_columns && a->num_nonzeros == b->num_nonzeros && a->num_piece_values == b->num_piece_values && a->num_pieces == b->num_pieces &&
                      a->used_pieces == b->used_pieces && a->used_values == b->used_values && a->values_capacity == b->values_capacity && v->num_rows == w->num_rows && v->num_nonzeros == w->num_nonzeros && v->wide == w->wide);
  if (*same) PetscCall(HiSparseSameArrays((int)PETSC_STATIC_ARRAY_LENGTH(arrays), arrays, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HiSparseFormatOps HiSparseFormatDiagonals = {
  .create               = HiSparseDiagonalsCreate,
  .structuredestroy     = StructureDestroy,
  .valuescreate         = HiSparseDiagonalsValuesCreate,
  .valuescopy           = HiSparseDiagonalsValuesCopy,
  .round                = HiSparseDiagonalsRound,
  .valuesdestroy        = HiSparseDiagonalsValuesDestroy,
  .getinfo              = GetInfo,
  .setvalues            = HiSparseDiagonalsSetValues,
  .getcsr               = HiSparseDiagonalsGetCSR,
  .prepare              = HiSparseDiagonalsPrepare,
  .mult                 = HiSparseDiagonalsMult,
  .multtranspose        = HiSparseDiagonalsMultTranspose,
  .multepilogue         = HiSparseDiagonalsMultEpilogue,
  .lookup               = HiSparseDiagonalsLookup,
  .setfound             = HiSparseDiagonalsSetFound,
  .structurecopy        = StructureCopy,
  .grow                 = HiSparseDiagonalsGrow,
  .rowoffsets           = HiSparseDiagonalsRowOffsets,
  .setlist              = HiSparseDiagonalsSetList,
  .countwithoutdiagonal = HiSparseDiagonalsCountWithoutDiagonal,
  .zerorows             = HiSparseDiagonalsZeroRows,
  .zerocolumns          = HiSparseDiagonalsZeroColumns,
  .shrink               = HiSparseDiagonalsShrink,
  .scale                = HiSparseDiagonalsScale,
  .zero                 = HiSparseDiagonalsZero,
  .conjugate            = HiSparseDiagonalsConjugate,
  .realpart             = HiSparseDiagonalsRealPart,
  .imaginarypart        = HiSparseDiagonalsImaginaryPart,
  .diagonalscale        = HiSparseDiagonalsDiagonalScale,
  .diagonaladd          = HiSparseDiagonalsDiagonalAdd,
  .getdiagonal          = HiSparseDiagonalsGetDiagonal,
  .countmissingdiagonal = HiSparseDiagonalsCountMissingDiagonal,
  .normfrobeniussquared = HiSparseDiagonalsNormFrobeniusSquared,
  .normone              = HiSparseDiagonalsNormOne,
  .norminfinity         = HiSparseDiagonalsNormInfinity,
  .rowsumabs            = HiSparseDiagonalsRowSumAbs,
  .columnsumsabs        = HiSparseDiagonalsColumnSumsAbs,
  .rowmaxabs            = HiSparseDiagonalsRowMaxAbs,
  .samestructure        = SameStructure,
  .addvalues            = HiSparseDiagonalsAddValues,
  .unite                = HiSparseDiagonalsUnite,
};
