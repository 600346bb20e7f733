/*
  The format of dense blocks behind the table of formats (hisparseimpl.h). What treats all values alike is that of masked diagonals.
*/
#include "blocksimpl.h"

static PetscErrorCode StructureDestroy_Blocks(void **structure, cudaStream_t stream)
{
  Blocks *blocks = (Blocks *)*structure;

  PetscFunctionBegin;
  if (blocks == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BlocksListDestroy(&blocks->list, stream));
  PetscCall(BlocksListDestroy(&blocks->transpose, stream));
  PetscCall(PetscFree(*structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows from the number of blocks: the numbers of values, and the configurations. */
static PetscErrorCode SetNumbers(Blocks *blocks)
{
  const int          size = blocks->size;
  HiSparseDiagonals *all  = &blocks->all;

  PetscFunctionBegin;
  all->num_rows     = blocks->num_rows;
  all->num_columns  = blocks->num_columns;
  all->num_nonzeros = all->num_piece_values = all->used_values = all->values_capacity = blocks->num_blocks * size * size;
  PetscCall(BlocksRuleApply(size, blocks->num_blocks, blocks->num_rows / size, blocks->config));
  PetscCall(BlocksRuleApply(size, blocks->num_blocks, blocks->num_columns / size, blocks->config + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure, with blocks of this size. */
static PetscErrorCode SetUp(Blocks *blocks, DCSRView csr, int size, HiSparsePrecision precision, cudaStream_t stream)
{
  PetscFunctionBegin;
  blocks->num_rows      = csr.num_rows;
  blocks->num_columns   = csr.num_columns;
  blocks->size          = size;
  blocks->num_blocks    = csr.num_nonzeros / (size * size);
  blocks->all.precision = PetscDefined(USE_REAL_SINGLE) ? HISPARSE_VALUES_SCALAR : precision;
  PetscCall(SetNumbers(blocks));
  PetscCall(BlocksEncode(csr, stream, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Blocks(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values)
{
  Blocks        *blocks;
  int            size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *structure = *values = NULL;
  PetscCall(BlocksFindSize(csr, 0, stream, &size));
  if (size == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&blocks));
  *structure = blocks;
  PetscCallGoto(ierr, failed, SetUp(blocks, csr, size, precision, stream));
  PetscCallGoto(ierr, failed, HiSparseDiagonalsValuesCreate(blocks, stream, values));
  PetscCallGoto(ierr, failed, BlocksSetValues(blocks, (HiSparseDiagonalsValues *)*values, csr.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDiagonalsValuesDestroy(values, stream));
  PetscCall(StructureDestroy_Blocks(structure, stream));
  PetscFunctionReturn(ierr);
}

/* Device memory of a list. */
static size_t ListBytes(const BlocksList *list, PetscCount num_blocks)
{
  if (list->offsets == NULL) return 0;
  return ((size_t)list->num_rows + 1 + (size_t)num_blocks * (list->places ? 2 : 1) + (size_t)list->num_long) * sizeof(int32_t);
}

static PetscErrorCode GetInfo_Blocks(void *structure, void *values, HiSparseInfo *info)
{
  const Blocks *blocks = (const Blocks *)structure;

  PetscFunctionBegin;
  info->precision       = ((const HiSparseDiagonalsValues *)values)->precision;
  info->transpose_bytes = ListBytes(&blocks->transpose, blocks->num_blocks);
  info->values_bytes    = HiSparseDiagonalsPieceBytes(values, blocks->all.values_capacity);
  info->bytes           = ListBytes(&blocks->list, blocks->num_blocks) + info->values_bytes + info->transpose_bytes;
  info->num_pieces      = blocks->num_blocks;
  info->num_others      = 0;
  info->block_size      = blocks->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCSR_Blocks(void *structure, void *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (with_structure) PetscCall(BlocksGetStructure((const Blocks *)structure, csr, stream));
  if (with_values) PetscCall(BlocksGetValues((const Blocks *)structure, (const HiSparseDiagonalsValues *)values, alpha, csr.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_Blocks(void *structure, PETSC_UNUSED void *values, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(BlocksTransposeCreate((Blocks *)structure, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult_Blocks(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const BlocksFactor factor = {alpha, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(BlocksMult((const Blocks *)structure, (const HiSparseDiagonalsValues *)values, &factor, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultEpilogue_Blocks(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  const BlocksFactor factor = {alpha, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(BlocksMultEpilogue((const Blocks *)structure, (const HiSparseDiagonalsValues *)values, &factor, x, epilogue, y, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* alpha is that of op(A). */
static PetscErrorCode MultTranspose_Blocks(void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const BlocksFactor factor = {alpha, conjugate};

  PetscFunctionBegin;
  PetscCall(BlocksMultTranspose((const Blocks *)structure, (const HiSparseDiagonalsValues *)values, &factor, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StructureCopy_Blocks(void *structure, cudaStream_t stream, void **copy)
{
  const Blocks     *from = (const Blocks *)structure;
  const BlocksList *list = &from->list;
  Blocks           *to;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *copy = NULL;
  PetscCall(PetscNew(&to));
  *to = *from;
  PetscCall(PetscArrayzero(&to->transpose, 1));
  PetscCall(PetscArrayzero(&to->list, 1));
  to->list.num_rows = list->num_rows;
  to->list.num_long = list->num_long;
  *copy             = to;
  PetscCallGoto(ierr, failed, HiSparseCopyArray(list->offsets, ((size_t)list->num_rows + 1) * sizeof(*list->offsets), "offsets of rows of blocks", stream, &to->list.offsets));
  PetscCallGoto(ierr, failed, HiSparseCopyArray(list->columns, (size_t)from->num_blocks * sizeof(*list->columns), "columns of blocks", stream, &to->list.columns));
  PetscCallGoto(ierr, failed, HiSparseCopyArray(list->long_rows, (size_t)list->num_long * sizeof(*list->long_rows), "long rows of blocks", stream, &to->list.long_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(StructureDestroy_Blocks(copy, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Grow_Blocks(void *structure, void *values, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BlocksGrow((Blocks *)structure, (HiSparseDiagonalsValues *)values, batch, lookup, mode, stream, done);
  PetscCall(SetNumbers((Blocks *)structure)); // also after an error: blocks may be there already
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Lookup_Blocks(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(BlocksLookup((const Blocks *)structure, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameStructure_Blocks(const void *structure, const void *other, cudaStream_t stream, PetscBool *same)
{
  const Blocks        *a = (const Blocks *)structure, *b = (const Blocks *)other;
  const HiSparseArrays arrays[] = {
    {a->list.offsets, b->list.offsets, ((size_t)a->list.num_rows + 1) * sizeof(*a->list.offsets)},
    {a->list.columns, b->list.columns, (size_t)a->num_blocks * sizeof(*a->list.columns)},
  };

  PetscFunctionBegin;
  *same = (PetscBool)(a->all.precision == b->all.precision && a->num_rows == b->num_rows && a->num_columns == b->num_columns && a->size == b->size && a->num_blocks == b->num_blocks);
  if (*same) PetscCall(HiSparseSameArrays((int)PETSC_STATIC_ARRAY_LENGTH(arrays), arrays, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row has a diagonal entry when its row of blocks has a diagonal block; those behind the last column have none. */
static PetscErrorCode CountMissingDiagonal_Blocks(void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing)
{
  const Blocks    *blocks = (const Blocks *)structure;
  const PetscCount inside = PetscMin(n, (PetscCount)blocks->num_columns);

  PetscFunctionBegin;
  PetscCall(BlocksCountWithoutDiagonal(blocks, inside, NULL, stream, missing));
  *missing += n - inside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other functions are calls. */
#define DEFINE_CALL(Name, parameters, call) \
  static PetscErrorCode Name##_Blocks parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define STRUCTURE ((Blocks *)structure)
#define VALUES    ((HiSparseDiagonalsValues *)values)
DEFINE_CALL(SetValues, (void *structure, void *values, DCSRView csr, cudaStream_t stream), BlocksSetValues(STRUCTURE, VALUES, csr.values, stream))
DEFINE_CALL(DiagonalScale, (void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream), BlocksDiagonalScale(STRUCTURE, VALUES, left, right, stream))
DEFINE_CALL(DiagonalAdd, (void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream), BlocksDiagonalAdd(STRUCTURE, VALUES, d, scalar, insert, stream))
DEFINE_CALL(GetDiagonal, (void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream), BlocksGetDiagonal(STRUCTURE, VALUES, alpha, diagonal, stream))
DEFINE_CALL(CountWithoutDiagonal, (void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count), BlocksCountWithoutDiagonal(STRUCTURE, n, rows, stream, count))
DEFINE_CALL(ZeroRows, (void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream), BlocksZeroRows(STRUCTURE, VALUES, n, rows, diag, stream))
DEFINE_CALL(ZeroColumns, (void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream), BlocksZeroColumns(STRUCTURE, VALUES, flags, x, b, stream))
DEFINE_CALL(NormOne, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), BlocksNormOne(STRUCTURE, VALUES, stream, norm))
DEFINE_CALL(NormInfinity, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), BlocksNormInfinity(STRUCTURE, VALUES, stream, norm))
DEFINE_CALL(RowSumAbs, (void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream), BlocksSumAbs(STRUCTURE, PETSC_FALSE, VALUES, alpha, sums, stream))
DEFINE_CALL(ColumnSumsAbs, (void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream), BlocksColumnSumsAbs(STRUCTURE, VALUES, alpha, sums, stream))
DEFINE_CALL(RowMaxAbs, (void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream), BlocksRowMaxAbs(STRUCTURE, VALUES, alpha, largest, indices, stream))

const HiSparseFormatOps HiSparseFormatBlocks = {
  .create               = Create_Blocks,
  .structuredestroy     = StructureDestroy_Blocks,
  .valuescreate         = HiSparseDiagonalsValuesCreate,
  .valuescopy           = HiSparseDiagonalsValuesCopy,
  .round                = HiSparseDiagonalsRound,
  .valuesdestroy        = HiSparseDiagonalsValuesDestroy,
  .getinfo              = GetInfo_Blocks,
  .setvalues            = SetValues_Blocks,
  .getcsr               = GetCSR_Blocks,
  .prepare              = Prepare_Blocks,
  .mult                 = Mult_Blocks,
  .multtranspose        = MultTranspose_Blocks,
  .multepilogue         = MultEpilogue_Blocks,
  .lookup               = Lookup_Blocks,
  .structurecopy        = StructureCopy_Blocks,
  .grow                 = Grow_Blocks,
  .setfound             = HiSparseDiagonalsSetFound,
  .countwithoutdiagonal = CountWithoutDiagonal_Blocks,
  .zerorows             = ZeroRows_Blocks,
  .zerocolumns          = ZeroColumns_Blocks,
  .scale                = HiSparseDiagonalsScale,
  .zero                 = HiSparseDiagonalsZero,
  .conjugate            = HiSparseDiagonalsConjugate,
  .realpart             = HiSparseDiagonalsRealPart,
  .imaginarypart        = HiSparseDiagonalsImaginaryPart,
  .diagonalscale        = DiagonalScale_Blocks,
  .diagonaladd          = DiagonalAdd_Blocks,
  .getdiagonal          = GetDiagonal_Blocks,
  .countmissingdiagonal = CountMissingDiagonal_Blocks,
  .normfrobeniussquared = HiSparseDiagonalsNormFrobeniusSquared,
  .normone              = NormOne_Blocks,
  .norminfinity         = NormInfinity_Blocks,
  .rowsumabs            = RowSumAbs_Blocks,
  .columnsumsabs        = ColumnSumsAbs_Blocks,
  .rowmaxabs            = RowMaxAbs_Blocks,
  .samestructure        = SameStructure_Blocks,
  .addvalues            = HiSparseDiagonalsAddValues,
};
