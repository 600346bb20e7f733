/*
  The size of blocks of a matrix, and the launch rule of the products with them (src/tuning has the table).
*/
#include "blocksimpl.h"
#include <petscsparsecuda/tuning.h>

const int BlocksSizes[BLOCKS_NUM_SIZES] = {6, 4, 3, 2};

/* BlocksFindSize - the largest size of blocks that a matrix has, with all blocks full; 0 for none. As BlocksAreFull() */
PetscErrorCode BlocksFindSize(DCSRView csr, cudaStream_t stream, int *size)
{
  PetscFunctionBegin;
  *size = 0;
  for (int i = 0; *size == 0 && i < BLOCKS_NUM_SIZES; i++) {
    PetscBool full;

    PetscCall(BlocksAreFull(csr, BlocksSizes[i], stream, &full));
    if (full) *size = BlocksSizes[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksRuleApply - the launch configuration of a list with so many rows of blocks */
PetscErrorCode BlocksRuleApply(int size, PetscCount num_blocks, PetscInt num_rows, BlocksConfig *config)
{
  const PetscCount             mean   = (num_blocks + num_rows - 1) / num_rows;
  const PetscSparseCUDATuning *tuning = NULL;
  const BlocksRule            *rule;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  rule = tuning->hisparse.shapes;
  for (size_t i = 1; i < tuning->hisparse.num_shapes && (rule->size != size || mean > rule->row_size || !PetscSparseCUDATuningHolds(tuning, rule->threads, 0, 1)); i++) rule++;
  *config = (BlocksConfig){rule->size, rule->step, rule->batch, rule->ahead, rule->threads, rule->resident};
  PetscFunctionReturn(PETSC_SUCCESS);
}
