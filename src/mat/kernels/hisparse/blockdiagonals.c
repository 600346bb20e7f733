/*
  The format of masked diagonals of blocks behind the table of formats (hisparseimpl.h). The structure of the collapsed matrix, and what treats all values alike, is that of masked diagonals.
*/
#include "blockdiagonalsimpl.h"
#include "blocksimpl.h"

static PetscErrorCode StructureDestroy_BlockDiagonals(void **structure, cudaStream_t stream)
{
  BlockDiagonals *d = (BlockDiagonals *)*structure;
  void           *blocks;

  PetscFunctionBegin;
  if (d == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  blocks = d->blocks;
  PetscCall(HiSparseFormatDiagonals.structuredestroy(&blocks, stream));
  PetscCall(BlockDiagonalsTransposeDestroy(d, stream));
  PetscCall(PetscFree(*structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlockDiagonalsConfigFind - the first launch configuration for a size of blocks that exists */
PetscErrorCode BlockDiagonalsConfigFind(int size, BlockDiagonalsConfig *config)
{
  PetscInt i = 0;

  PetscFunctionBegin;
  do PetscCall(BlockDiagonalsConfigGet(i++, config));
  while (config->size != size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of values, where those of the collapsed matrix count blocks. */
static void SetNumbers(BlockDiagonals *d)
{
  const HiSparseDiagonals *blocks = d->blocks;
  const PetscCount         square = (PetscCount)d->size * d->size;

  d->all.precision        = blocks->precision;
  d->all.num_rows         = blocks->num_rows * d->size;
  d->all.num_columns      = blocks->num_columns * d->size;
  d->all.num_nonzeros     = blocks->num_nonzeros * square;
  d->all.num_piece_values = blocks->num_piece_values * square;
  d->all.used_values      = blocks->used_values * square;
  d->all.values_capacity  = blocks->values_capacity * square;
}

/*
  The masked diagonals of the matrix that has an entry for each block of csr; all blocks of this size are full. One block makes a piece, since there is no place for blocks outside of pieces: slices at the border of a
  grid have a few blocks of some diagonals. Pieces that are thin on average do not fit.
*/
static PetscErrorCode EncodeCollapsed(DCSRView csr, int size, cudaStream_t stream, HiSparseDiagonals *diagonals, PetscBool *fits)
{
  Blocks         blocks = {0};
  DCSRView       view   = {0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  blocks.num_rows    = csr.num_rows;
  blocks.num_columns = csr.num_columns;
  blocks.size        = size;
  blocks.num_blocks  = csr.num_nonzeros / (size * size);
  PetscCallGoto(ierr, cleanup, BlocksEncode(csr, stream, &blocks));
  view.num_rows     = csr.num_rows / size;
  view.num_columns  = csr.num_columns / size;
  view.num_nonzeros = view.capacity = view.used = blocks.num_blocks;
  view.row_offsets                              = blocks.list.offsets;
  view.columns                                  = blocks.list.columns;
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsEncode(view, HISPARSE_SLICE_ROWS, stream, diagonals, fits));
  *fits = (PetscBool)(*fits && diagonals->num_piece_values == diagonals->num_nonzeros && diagonals->num_nonzeros * HISPARSE_MIN_PART >= diagonals->num_pieces * PetscMin(view.num_rows, HISPARSE_SLICE_ROWS));
cleanup:
  PetscCall(BlocksListDestroy(&blocks.list, stream));
  PetscFunctionReturn(ierr);
}

/* The structure with blocks of this size; *d is NULL after an error, and when it does not fit. */
static PetscErrorCode StructureCreate(DCSRView csr, int size, HiSparsePrecision precision, cudaStream_t stream, BlockDiagonals **d)
{
  PetscBool      fits;
  void          *structure;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *d = NULL;
  PetscCall(BlocksAreFull(csr, size, 0, stream, &fits));
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(d));
  (*d)->size = size;
  PetscCallGoto(ierr, failed, PetscNew(&(*d)->blocks));
  (*d)->blocks->precision = PetscDefined(USE_REAL_SINGLE) ? HISPARSE_VALUES_SCALAR : precision;
  PetscCallGoto(ierr, failed, BlockDiagonalsConfigFind(size, &(*d)->config));
  PetscCallGoto(ierr, failed, EncodeCollapsed(csr, size, stream, (*d)->blocks, &fits));
  if (!fits) goto failed;
  SetNumbers(*d);
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  structure = *d;
  *d        = NULL;
  PetscCall(StructureDestroy_BlockDiagonals(&structure, stream));
  PetscFunctionReturn(ierr);
}

/* The largest blocks that fit. */
static PetscErrorCode Create_BlockDiagonals(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values)
{
  static const int sizes[] = {6, 4, 3, 2};
  BlockDiagonals  *d       = NULL;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  *structure = *values = NULL;
  for (size_t i = 0; d == NULL && i < PETSC_STATIC_ARRAY_LENGTH(sizes); i++) PetscCall(StructureCreate(csr, sizes[i], precision, stream, &d));
  if (d == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *structure = d;
  PetscCallGoto(ierr, failed, HiSparseDiagonalsValuesCreate(d, stream, values));
  PetscCallGoto(ierr, failed, BlockDiagonalsSetValues(d, (HiSparseDiagonalsValues *)*values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDiagonalsValuesDestroy(values, stream));
  PetscCall(StructureDestroy_BlockDiagonals(structure, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode GetInfo_BlockDiagonals(void *structure, void *values, HiSparseInfo *info)
{
  const BlockDiagonals *d = (const BlockDiagonals *)structure;

  PetscFunctionBegin;
  PetscCall(HiSparseFormatDiagonals.getinfo(d->blocks, values, info));
  info->transpose_bytes = d->transposed_slices == NULL ? 0 : (size_t)d->num_transposed_pieces * sizeof(*d->transposed_pieces) + ((size_t)d->blocks->num_column_slices + 1) * sizeof(*d->transposed_slices);
  info->bytes += HiSparseDiagonalsPieceBytes(values, d->all.values_capacity) - info->values_bytes + info->transpose_bytes;
  info->values_bytes = HiSparseDiagonalsPieceBytes(values, d->all.values_capacity);
  info->block_size   = d->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_BlockDiagonals(void *structure, PETSC_UNUSED void *values, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(BlockDiagonalsTransposeCreate((BlockDiagonals *)structure, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StructureCopy_BlockDiagonals(void *structure, cudaStream_t stream, void **copy)
{
  const BlockDiagonals *from = (const BlockDiagonals *)structure;
  BlockDiagonals       *to;
  PetscErrorCode        ierr;

  PetscFunctionBegin;
  *copy = NULL;
  PetscCall(PetscNew(&to));
  *to                       = *from;
  to->blocks                = NULL;
  to->num_transposed_pieces = 0;
  to->transposed_pieces     = NULL;
  to->transposed_slices     = NULL;
  PetscCallGoto(ierr, failed, HiSparseFormatDiagonals.structurecopy(from->blocks, stream, (void **)&to->blocks));
  *copy = to;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(to));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Grow_BlockDiagonals(void *structure, void *values, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BlockDiagonalsGrow((BlockDiagonals *)structure, (HiSparseDiagonalsValues *)values, batch, lookup, mode, stream, done);
  SetNumbers((BlockDiagonals *)structure); // also after an error: blocks may be there already
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Lookup_BlockDiagonals(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(BlockDiagonalsLookup((const BlockDiagonals *)structure, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameStructure_BlockDiagonals(const void *structure, const void *other, cudaStream_t stream, PetscBool *same)
{
  const BlockDiagonals *a = (const BlockDiagonals *)structure, *b = (const BlockDiagonals *)other;

  PetscFunctionBegin;
  *same = (PetscBool)(a->size == b->size);
  if (*same) PetscCall(HiSparseFormatDiagonals.samestructure(a->blocks, b->blocks, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row has a diagonal entry when its row of blocks has a diagonal block. */
static PetscErrorCode CountMissingDiagonal_BlockDiagonals(void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing)
{
  const BlockDiagonals *d    = (const BlockDiagonals *)structure;
  const PetscCount      full = n / d->size, rest = n % d->size;
  PetscCount            more;

  PetscFunctionBegin;
  PetscCall(HiSparseDiagonalsCountMissingDiagonal(d->blocks, full, stream, missing));
  if (rest > 0) {
    PetscCall(HiSparseDiagonalsCountMissingDiagonal(d->blocks, full + 1, stream, &more));
    *missing = *missing * d->size + (more - *missing) * rest;
  } else *missing *= d->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other functions are calls. */
#define DEFINE_CALL(Name, parameters, call) \
  static PetscErrorCode Name##_BlockDiagonals parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define STRUCTURE ((BlockDiagonals *)structure)
#define VALUES    ((HiSparseDiagonalsValues *)values)
DEFINE_CALL(SetValues, (void *structure, void *values, DCSRView csr, cudaStream_t stream), BlockDiagonalsSetValues(STRUCTURE, VALUES, csr, stream))
DEFINE_CALL(GetCSR, (void *structure, void *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream), BlockDiagonalsGetCSR(STRUCTURE, VALUES, alpha, with_structure, with_values, csr, stream))
DEFINE_CALL(RowOffsets, (void *structure, DCSRView csr, cudaStream_t stream), BlockDiagonalsRowOffsets(STRUCTURE, csr, stream))
DEFINE_CALL(SetList, (void *structure, void *values, DCSRView csr, const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, PetscBool add, cudaStream_t stream),
            BlockDiagonalsSetList(STRUCTURE, VALUES, csr, list, v, more, split, add, stream))
DEFINE_CALL(Mult, (void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream), BlockDiagonalsMult(STRUCTURE, VALUES, alpha, x, z, y, stream))
DEFINE_CALL(MultEpilogue, (void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done),
            BlockDiagonalsMultEpilogue(STRUCTURE, VALUES, alpha, x, epilogue, y, stream, done))
DEFINE_CALL(MultTranspose, (void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream),
            BlockDiagonalsMultTranspose(STRUCTURE, VALUES, alpha, conjugate, x, z, y, stream))
DEFINE_CALL(CountWithoutDiagonal, (void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count), BlockDiagonalsCountWithoutDiagonal(STRUCTURE, n, rows, stream, count))
DEFINE_CALL(ZeroRows, (void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream), BlockDiagonalsZeroRows(STRUCTURE, VALUES, n, rows, diag, stream))
DEFINE_CALL(ZeroColumns, (void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream), BlockDiagonalsZeroColumns(STRUCTURE, VALUES, flags, x, b, stream))
DEFINE_CALL(DiagonalScale, (void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream), BlockDiagonalsDiagonalScale(STRUCTURE, VALUES, left, right, stream))
DEFINE_CALL(DiagonalAdd, (void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream), BlockDiagonalsDiagonalAdd(STRUCTURE, VALUES, d, scalar, insert, stream))
DEFINE_CALL(GetDiagonal, (void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream), BlockDiagonalsGetDiagonal(STRUCTURE, VALUES, alpha, diagonal, stream))
DEFINE_CALL(NormOne, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), BlockDiagonalsNormOne(STRUCTURE, VALUES, stream, norm))
DEFINE_CALL(NormInfinity, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), BlockDiagonalsNormInfinity(STRUCTURE, VALUES, stream, norm))
DEFINE_CALL(RowSumAbs, (void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream), BlockDiagonalsRowSumAbs(STRUCTURE, VALUES, alpha, sums, stream))
DEFINE_CALL(ColumnSumsAbs, (void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream), BlockDiagonalsColumnSumsAbs(STRUCTURE, VALUES, alpha, sums, stream))
DEFINE_CALL(RowMaxAbs, (void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream), BlockDiagonalsRowMaxAbs(STRUCTURE, VALUES, alpha, largest, indices, stream))

const HiSparseFormatOps HiSparseFormatBlockDiagonals = {
  .create               = Create_BlockDiagonals,
  .structuredestroy     = StructureDestroy_BlockDiagonals,
  .valuescreate         = HiSparseDiagonalsValuesCreate,
  .valuescopy           = HiSparseDiagonalsValuesCopy,
  .round                = HiSparseDiagonalsRound,
  .valuesdestroy        = HiSparseDiagonalsValuesDestroy,
  .getinfo              = GetInfo_BlockDiagonals,
  .setvalues            = SetValues_BlockDiagonals,
  .getcsr               = GetCSR_BlockDiagonals,
  .rowoffsets           = RowOffsets_BlockDiagonals,
  .setlist              = SetList_BlockDiagonals,
  .prepare              = Prepare_BlockDiagonals,
  .mult                 = Mult_BlockDiagonals,
  .multtranspose        = MultTranspose_BlockDiagonals,
  .multepilogue         = MultEpilogue_BlockDiagonals,
  .lookup               = Lookup_BlockDiagonals,
  .structurecopy        = StructureCopy_BlockDiagonals,
  .grow                 = Grow_BlockDiagonals,
  .setfound             = HiSparseDiagonalsSetFound,
  .countwithoutdiagonal = CountWithoutDiagonal_BlockDiagonals,
  .zerorows             = ZeroRows_BlockDiagonals,
  .zerocolumns          = ZeroColumns_BlockDiagonals,
  .scale                = HiSparseDiagonalsScale,
  .zero                 = HiSparseDiagonalsZero,
  .conjugate            = HiSparseDiagonalsConjugate,
  .realpart             = HiSparseDiagonalsRealPart,
  .imaginarypart        = HiSparseDiagonalsImaginaryPart,
  .diagonalscale        = DiagonalScale_BlockDiagonals,
  .diagonaladd          = DiagonalAdd_BlockDiagonals,
  .getdiagonal          = GetDiagonal_BlockDiagonals,
  .countmissingdiagonal = CountMissingDiagonal_BlockDiagonals,
  .normfrobeniussquared = HiSparseDiagonalsNormFrobeniusSquared,
  .normone              = NormOne_BlockDiagonals,
  .norminfinity         = NormInfinity_BlockDiagonals,
  .rowsumabs            = RowSumAbs_BlockDiagonals,
  .columnsumsabs        = ColumnSumsAbs_BlockDiagonals,
  .rowmaxabs            = RowMaxAbs_BlockDiagonals,
  .samestructure        = SameStructure_BlockDiagonals,
  .addvalues            = HiSparseDiagonalsAddValues,
};
