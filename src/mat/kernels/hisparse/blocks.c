/* Dense blocks as a format of HiSparse: the structure, and the table of functions. */
#include "blocksimpl.h"

static PetscErrorCode Destroy_Blocks(void **structure, cudaStream_t stream)
{
  Blocks *blocks = (Blocks *)*structure;

  PetscFunctionBegin;
  if (blocks == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BlocksListDestroy(&blocks->list, stream));
  PetscCall(BlocksListDestroy(&blocks->transpose, stream));
  PetscCall(PetscFree(*structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Blocks(DCSRView csr, cudaStream_t stream, void **structure, PetscCount *num_others)
{
  Blocks        *blocks;
  int            size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *structure  = NULL;
  *num_others = 0;
  PetscCall(BlocksFindSize(csr, stream, &size));
  if (size == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&blocks));
  *structure          = blocks;
  blocks->num_rows    = csr.num_rows;
  blocks->num_columns = csr.num_columns;
  blocks->size        = size;
  blocks->num_blocks  = csr.num_nonzeros / (size * size);
  PetscCallGoto(ierr, failed, BlocksRuleApply(size, blocks->num_blocks, blocks->num_rows / size, &blocks->config[0]));
  PetscCallGoto(ierr, failed, BlocksRuleApply(size, blocks->num_blocks, blocks->num_columns / size, &blocks->config[1]));
  PetscCallGoto(ierr, failed, BlocksEncode(csr, stream, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(Destroy_Blocks(structure, stream));
  PetscFunctionReturn(ierr);
}

/* Device memory of a list. */
static size_t ListBytes(const BlocksList *list, PetscCount num_blocks)
{
  if (list->offsets == NULL) return 0;
  return ((size_t)list->num_rows + 1 + (size_t)num_blocks * (list->positions ? 2 : 1) + (size_t)list->num_long) * sizeof(int32_t);
}

static PetscErrorCode GetInfo_Blocks(const void *structure, HiSparseInfo *info)
{
  const Blocks *blocks = (const Blocks *)structure;

  PetscFunctionBegin;
  info->transpose_bytes = ListBytes(&blocks->transpose, blocks->num_blocks);
  info->bytes           = ListBytes(&blocks->list, blocks->num_blocks) + info->transpose_bytes;
  info->num_segments    = blocks->num_blocks;
  info->block_size      = blocks->size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_Blocks(void *structure, PETSC_UNUSED HiSparseValues *values, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(BlocksTransposeCreate((Blocks *)structure, stream));
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

const HiSparseFormatOps HiSparseFormatBlocks = {
  .create        = Create_Blocks,
  .destroy       = Destroy_Blocks,
  .getinfo       = GetInfo_Blocks,
  .setvalues     = BlocksSetValues,
  .getcsr        = BlocksGetCSR,
  .prepare       = Prepare_Blocks,
  .mult          = BlocksMult,
  .multepilogue  = BlocksMultEpilogue,
  .getdiagonal   = BlocksGetDiagonal,
  .samestructure = SameStructure_Blocks,
};
