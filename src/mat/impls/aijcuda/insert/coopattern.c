/*
  The nonzero pattern that the list of a MatSetPreallocationCOO() was made for. MatSetValuesCOO() writes to positions in the arrays of that pattern, so the matrix must still
  have it. MATAIJ does not look, and puts values in wrong positions, or beyond the arrays.

  The pattern (core/pattern.c) stays with the container of the list, which MatDuplicate() hands on to copies. A block notes the list and the nonzerostate with which its pattern
  was found to be that of the list, and is looked at again when its nonzerostate, or the list, is another one.
*/
#include "insert.h"
#include "../core/core.h"

/* Composed with the container of a list. */
static const char PATTERN_KEY[] = "MatAIJCUDA_COOPattern";

static PetscErrorCode ContainerDestroy(PetscCtxRt data)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAPatternDestroy((MatAIJCUDAPattern *)data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes that the pattern of a block is that of the list. A plain MATSEQAIJ, which becomes ours in the assembly, is looked at once more. */
static PetscErrorCode Note(Mat block, PetscObjectId list, PetscObjectState nonzerostate)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  MatSeqAIJCUDAGet(block)->staging.coo_list         = list;
  MatSeqAIJCUDAGet(block)->staging.coo_nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsNoted(Mat block, PetscObjectId list, PetscBool *noted)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, noted));
  if (*noted) *noted = (PetscBool)(MatSeqAIJCUDAGet(block)->staging.coo_list == list && MatSeqAIJCUDAGet(block)->staging.coo_nonzerostate == block->nonzerostate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCOOPatternAttach - Composes the pattern of a list with its container, whose name is key.

  *pattern belongs to the container afterwards, and is NULL. To be called in MatSetPreallocationCOO(), which raises the nonzerostate of A once more when it is done.
*/
PetscErrorCode MatCOOPatternAttach(Mat A, const char key[], MatAIJCUDAPattern *pattern)
{
  PetscObject   list;
  PetscObjectId id;
  Mat           blocks[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, key, &list));
  PetscCheck(list != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "The list of coordinates is missing");
  PetscCall(PetscSparseCUDACompose(list, PATTERN_KEY, *pattern, ContainerDestroy));
  *pattern = NULL;
  PetscCall(PetscObjectGetId(list, &id));
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  for (int k = 0; k < 2 && blocks[k] != NULL; k++) PetscCall(Note(blocks[k], id, blocks[k]->nonzerostate + (blocks[k] == A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCOOPatternCheck - Raises PETSC_ERR_ARG_WRONGSTATE when A does not have the nonzero pattern of the list in the container key any more; only on processes whose part of the pattern is another one.

  What is staged joins A. *known: PETSC_FALSE when nothing is known of the pattern: the list is another type's, which the matrix had before.
  Costs nothing while the nonzerostate is what it was; else one pass over the structure, and a synchronization when it is on the device.
*/
PetscErrorCode MatCOOPatternCheck(Mat A, const char key[], PetscBool *known)
{
  PetscObject       list;
  PetscObjectId     id;
  MatAIJCUDAPattern pattern = NULL;
  Mat               blocks[2];
  PetscBool         same;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, key, &list));
  if (list != NULL) PetscCall(PetscObjectContainerQuery(list, PATTERN_KEY, &pattern));
  *known = (PetscBool)(pattern != NULL);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &same));
  if (same) PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  else PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId(list, &id));
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  for (int k = 0; k < 2 && blocks[k] != NULL; k++) {
    PetscCall(IsNoted(blocks[k], id, &same));
    if (same) continue;
    PetscCall(MatAIJCUDAHasPattern(A, k, pattern, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "The nonzero pattern is not the one of MatSetPreallocationCOO() any more (the %s has %" PetscInt_FMT " nonzeros and had %" PetscCount_FMT
               "): call it again before MatSetValuesCOO(), or add the values with MatSetValues()",
               blocks[1] == NULL ? "matrix"
               : k               ? "off-diagonal block"
                                 : "diagonal block",
               ((Mat_SeqAIJ *)blocks[k]->data)->nz, pattern->blocks[k].num_nonzeros);
    PetscCall(Note(blocks[k], id, blocks[k]->nonzerostate));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
