/*
  The size of blocks of a matrix, and the launch rule of the products with them. A table is read from the top, and the first row that fits is taken. Each compute capability that was measured has a table.
*/
#include "../spmv/spmvrule.h"
#include "blocksimpl.h"
#include <petscsparsecuda/common.h>

typedef struct {
  PetscCount   row_size; /* rows of blocks have at most so many blocks on average */
  BlocksConfig config;   /* and are of this size */
} BlocksRule;

typedef struct {
  const BlocksRule *rules;
  size_t            num_rules;
} BlocksRules;

// clang-format off
/* Not yet measured. A block a step, so that a warp has loads of several rows under way, but for long rows, which it would wait for. */
static const BlocksRule BlocksRulesH200[] = {
  {64,              {2, 1, 4, 1, 128, 1280}},
  {PETSC_COUNT_MAX, {2, 4, 4, 1, 128, 1280}},
  {64,              {3, 1, 4, 1, 128, 1152}},
  {PETSC_COUNT_MAX, {3, 3, 4, 1, 128, 1152}},
  {64,              {4, 1, 4, 1, 128, 1280}},
  {PETSC_COUNT_MAX, {4, 2, 4, 1, 128, 1280}},
  {64,              {6, 1, 2, 1, 128, 1024}},
  {PETSC_COUNT_MAX, {6, 2, 2, 1, 128, 1024}}
};
// clang-format on

static const BlocksRules   BlocksH200     = {BlocksRulesH200, PETSC_STATIC_ARRAY_LENGTH(BlocksRulesH200)};
static const DCSRRuleTable BlocksTables[] = {{90, &BlocksH200}};

const int BlocksSizes[BLOCKS_NUM_SIZES] = {6, 4, 3, 2};

/*
  BlocksFindSize - the largest size of blocks that a matrix has, with all blocks full

  Input Parameters:
+ csr         - compact, columns of a row sorted, at least one entry
. num_samples - rows of blocks that are looked at; 0 for all of them
- stream      - synchronizes it

  Output Parameter:
. size - 2, 3, 4 or 6; 0 for none

  Cost: as BlocksAreFull(). Errors: PETSC_ERR_MEM.
*/
PetscErrorCode BlocksFindSize(DCSRView csr, PetscInt num_samples, cudaStream_t stream, int *size)
{
  PetscFunctionBegin;
  *size = 0;
  for (int i = 0; *size == 0 && i < BLOCKS_NUM_SIZES; i++) {
    PetscBool full;

    PetscCall(BlocksAreFull(csr, BlocksSizes[i], num_samples, stream, &full));
    if (full) *size = BlocksSizes[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksRuleApply - the launch configuration of a list with so many rows of blocks */
PetscErrorCode BlocksRuleApply(int size, PetscCount num_blocks, PetscInt num_rows, BlocksConfig *config)
{
  const PetscCount   mean  = (num_blocks + num_rows - 1) / num_rows;
  const BlocksRules *table = NULL;
  size_t             i     = 0;

  PetscFunctionBegin;
  PetscCall(DCSRGetRules(PETSC_STATIC_ARRAY_LENGTH(BlocksTables), BlocksTables, (const void **)&table));
  while (i + 1 < table->num_rules && (table->rules[i].config.size != size || mean > table->rules[i].row_size)) i++;
  *config = table->rules[i].config;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define BLOCKS_CONFIG(size, step, batch, ahead, t, r) {size, step, batch, ahead, t, r},

static const BlocksConfig BlocksConfigs[] = {BLOCKS_CONFIGS(BLOCKS_CONFIG)
#if defined(SPMV_SWEEP)
                                               BLOCKS_SWEEP_CONFIGS(BLOCKS_CONFIG)
#endif
};

/* BlocksConfigGetCount - how many configurations there are, of all sizes */
PetscErrorCode BlocksConfigGetCount(PetscInt *n)
{
  PetscFunctionBegin;
  *n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(BlocksConfigs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BlocksConfigGet - the i-th of them */
PetscErrorCode BlocksConfigGet(PetscInt i, BlocksConfig *config)
{
  PetscFunctionBegin;
  *config = BlocksConfigs[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}
