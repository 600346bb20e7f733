/*
  The format of dense blocks behind the table of formats (hisparseimpl.h). What does not depend on where an entry is goes through functions of entries.h.
*/
#include "blocksimpl.h"
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/spadd.h>

static PetscCount NumEntries(const Blocks *blocks)
{
  return blocks->num_blocks * blocks->size * blocks->size;
}

/* The values as a pool without structure: for what treats all entries alike. */
static DCSRView ValuesView(const Blocks *blocks, const BlocksValues *v)
{
  DCSRView view = {0};

  view.num_rows     = blocks->num_rows;
  view.num_columns  = blocks->num_columns;
  view.num_nonzeros = view.capacity = view.used = NumEntries(blocks);
  view.row_offsets                              = blocks->list.offsets; // not read: says that the pool has no gaps
  view.values                                   = v->values;
  return view;
}

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

static PetscErrorCode ValuesDestroy_Blocks(void **values, cudaStream_t stream)
{
  BlocksValues *v = (BlocksValues *)*values;

  PetscFunctionBegin;
  if (v == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&v->values, stream));
  PetscCall(PetscFree(*values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesCreate_Blocks(void *structure, cudaStream_t stream, void **values)
{
  BlocksValues  *v;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *values = NULL;
  PetscCall(PetscNew(&v));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(NumEntries((const Blocks *)structure), "values of blocks", stream, &v->values));
  *values = v;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(v));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode ValuesCopy_Blocks(void *structure, const void *from, void *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(((BlocksValues *)to)->values, ((const BlocksValues *)from)->values, (size_t)NumEntries((const Blocks *)structure) * sizeof(PetscScalar), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues_Blocks(void *structure, void *values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlocksSetValues((const Blocks *)structure, csr.values, ((BlocksValues *)values)->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure, with blocks of this size. */
static PetscErrorCode SetUp(Blocks *blocks, DCSRView csr, int size, cudaStream_t stream)
{
  PetscFunctionBegin;
  blocks->num_rows    = csr.num_rows;
  blocks->num_columns = csr.num_columns;
  blocks->size        = size;
  blocks->num_blocks  = csr.num_nonzeros / (size * size);
  PetscCall(BlocksRuleApply(size, blocks->num_blocks, csr.num_rows / size, blocks->config));
  PetscCall(BlocksRuleApply(size, blocks->num_blocks, csr.num_columns / size, blocks->config + 1));
  PetscCall(BlocksEncode(csr, stream, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Blocks(DCSRView csr, PETSC_UNUSED HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values)
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
  PetscCallGoto(ierr, failed, SetUp(blocks, csr, size, stream));
  PetscCallGoto(ierr, failed, ValuesCreate_Blocks(blocks, stream, values));
  PetscCallGoto(ierr, failed, SetValues_Blocks(blocks, *values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(ValuesDestroy_Blocks(values, stream));
  PetscCall(StructureDestroy_Blocks(structure, stream));
  PetscFunctionReturn(ierr);
}

/* Device memory of a list. */
static size_t ListBytes(const BlocksList *list, PetscCount num_blocks)
{
  if (list->offsets == NULL) return 0;
  return ((size_t)list->num_rows + 1 + (size_t)num_blocks * (list->places ? 2 : 1) + (size_t)list->num_long) * sizeof(int32_t);
}

static PetscErrorCode GetInfo_Blocks(void *structure, PETSC_UNUSED void *values, HiSparseInfo *info)
{
  const Blocks *blocks = (const Blocks *)structure;

  PetscFunctionBegin;
  info->transpose_bytes = ListBytes(&blocks->transpose, blocks->num_blocks);
  info->bytes           = ListBytes(&blocks->list, blocks->num_blocks) + (size_t)NumEntries(blocks) * sizeof(PetscScalar) + info->transpose_bytes;
  info->num_pieces      = blocks->num_blocks;
  info->num_others      = 0;
  info->block_size      = blocks->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCSR_Blocks(void *structure, void *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (with_structure) PetscCall(BlocksGetStructure((const Blocks *)structure, csr, stream));
  if (with_values) PetscCall(BlocksGetValues((const Blocks *)structure, alpha, ((const BlocksValues *)values)->values, csr.values, stream));
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
  PetscCall(BlocksMult((const Blocks *)structure, ((const BlocksValues *)values)->values, &factor, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* alpha is that of op(A). */
static PetscErrorCode MultTranspose_Blocks(void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const BlocksFactor factor = {alpha, conjugate};

  PetscFunctionBegin;
  PetscCall(BlocksMultTranspose((const Blocks *)structure, ((const BlocksValues *)values)->values, &factor, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions of a pool of values, */
#define DEFINE_ON_VALUES(Name, parameters, call) \
  static PetscErrorCode Name##_Blocks parameters \
  { \
    const DCSRView view = ValuesView((const Blocks *)structure, (const BlocksValues *)values); \
\
    PetscFunctionBegin; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_ON_VALUES(Scale, (void *structure, void *values, PetscScalar alpha, cudaStream_t stream), DCSRScale(view, alpha, stream))
DEFINE_ON_VALUES(Zero, (void *structure, void *values, cudaStream_t stream), DCSRZero(view, stream))
DEFINE_ON_VALUES(Conjugate, (void *structure, void *values, cudaStream_t stream), DCSRConjugate(view, stream))
DEFINE_ON_VALUES(RealPart, (void *structure, void *values, cudaStream_t stream), DCSRRealPart(view, stream))
DEFINE_ON_VALUES(ImaginaryPart, (void *structure, void *values, cudaStream_t stream), DCSRImaginaryPart(view, stream))
DEFINE_ON_VALUES(NormFrobeniusSquared, (void *structure, void *values, cudaStream_t stream, PetscReal *norm2), DCSRNormFrobeniusSquared(view, stream, norm2))

/* and those that need to know where entries are. */
#define DEFINE_ON_BLOCKS(Name, parameters, call) \
  static PetscErrorCode Name##_Blocks parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define STRUCTURE ((Blocks *)structure)
#define VALUES    (((BlocksValues *)values)->values)
DEFINE_ON_BLOCKS(DiagonalScale, (void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream), BlocksDiagonalScale(STRUCTURE, VALUES, left, right, stream))
DEFINE_ON_BLOCKS(DiagonalAdd, (void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream), BlocksDiagonalAdd(STRUCTURE, VALUES, d, scalar, insert, stream))
DEFINE_ON_BLOCKS(GetDiagonal, (void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream), BlocksGetDiagonal(STRUCTURE, VALUES, alpha, diagonal, stream))
DEFINE_ON_BLOCKS(CountMissingDiagonal, (void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing), BlocksCountMissingDiagonal(STRUCTURE, n, stream, missing))
DEFINE_ON_BLOCKS(NormOne, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), BlocksNormOne(STRUCTURE, VALUES, stream, norm))
DEFINE_ON_BLOCKS(NormInfinity, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), BlocksNormInfinity(STRUCTURE, VALUES, stream, norm))
DEFINE_ON_BLOCKS(RowSumAbs, (void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream), BlocksSumAbs(STRUCTURE, PETSC_FALSE, VALUES, alpha, sums, stream))
DEFINE_ON_BLOCKS(ColumnSumsAbs, (void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream), BlocksColumnSumsAbs(STRUCTURE, VALUES, alpha, sums, stream))

static PetscErrorCode IsValid_Blocks(void *structure, PETSC_UNUSED void *values, cudaStream_t stream, HiSparseViolation *violation)
{
  PetscFunctionBegin;
  PetscCall(BlocksIsValid((const Blocks *)structure, stream, violation));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Lookup_Blocks(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(BlocksLookup((const Blocks *)structure, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetFound_Blocks(PETSC_UNUSED void *structure, void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlocksSetFound(batch, lookup, mode, ((BlocksValues *)values)->values, stream));
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
  *same = (PetscBool)(a->num_rows == b->num_rows && a->num_columns == b->num_columns && a->size == b->size && a->num_blocks == b->num_blocks);
  if (*same) PetscCall(HiSparseSameArrays((int)PETSC_STATIC_ARRAY_LENGTH(arrays), arrays, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddValues_Blocks(const void *structure, PetscScalar alpha, const void *values, PetscScalar beta, const void *others, void *sum, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRAddValues(NumEntries((const Blocks *)structure), alpha, ((const BlocksValues *)values)->values, beta, ((const BlocksValues *)others)->values, ((BlocksValues *)sum)->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HiSparseFormatOps HiSparseFormatBlocks = {
  .create               = Create_Blocks,
  .structuredestroy     = StructureDestroy_Blocks,
  .valuescreate         = ValuesCreate_Blocks,
  .valuescopy           = ValuesCopy_Blocks,
  .valuesdestroy        = ValuesDestroy_Blocks,
  .getinfo              = GetInfo_Blocks,
  .values_alone         = PETSC_TRUE,
  .setvalues            = SetValues_Blocks,
  .getcsr               = GetCSR_Blocks,
  .isvalid              = IsValid_Blocks,
  .prepare              = Prepare_Blocks,
  .mult                 = Mult_Blocks,
  .multtranspose        = MultTranspose_Blocks,
  .lookup               = Lookup_Blocks,
  .setfound             = SetFound_Blocks,
  .scale                = Scale_Blocks,
  .zero                 = Zero_Blocks,
  .conjugate            = Conjugate_Blocks,
  .realpart             = RealPart_Blocks,
  .imaginarypart        = ImaginaryPart_Blocks,
  .diagonalscale        = DiagonalScale_Blocks,
  .diagonaladd          = DiagonalAdd_Blocks,
  .getdiagonal          = GetDiagonal_Blocks,
  .countmissingdiagonal = CountMissingDiagonal_Blocks,
  .normfrobeniussquared = NormFrobeniusSquared_Blocks,
  .normone              = NormOne_Blocks,
  .norminfinity         = NormInfinity_Blocks,
  .rowsumabs            = RowSumAbs_Blocks,
  .columnsumsabs        = ColumnSumsAbs_Blocks,
  .samestructure        = SameStructure_Blocks,
  .addvalues            = AddValues_Blocks,
};
