/*
  The grid is all combinations of one word of each list; see hardgrid.h.
*/
#include "hardgrid.h"

#define MAX_LISTS 6

/* Each list ends with NULL. */
typedef const char *const List[7];

static List thresholds   = {"-pc_gamg_threshold 0.02", "-pc_gamg_threshold 0.05", "-pc_gamg_threshold 0.1", NULL};
static List strengths    = {"-pc_gamg_strength absolute", "-pc_gamg_strength signed", NULL};
static List aggressives  = {"-pc_gamg_aggressive_coarsening 1", "-pc_gamg_aggressive_coarsening 2", NULL};
static List steps        = {"-pc_gamg_agg_nsmooths 1", "-pc_gamg_agg_nsmooths 2", NULL};
static List cycles       = {"-mg_levels_ksp_max_it 2", "-mg_levels_ksp_max_it 2 -pc_gamg_level_values single", "-mg_levels_ksp_max_it 1 -pc_gamg_level_values single", NULL};
static List block_edges  = {"-pc_gamg_threshold 0", "-pc_gamg_threshold 0.02", "-pc_gamg_threshold 0.05", "-pc_gamg_threshold 0.08", NULL};
static List block_cycles = {"-mg_levels_ksp_max_it 2", "-mg_levels_ksp_max_it 3", "-mg_levels_ksp_max_it 2 -pc_gamg_level_values single", "-mg_levels_ksp_max_it 3 -pc_gamg_level_values single", NULL};
static List filters      = {"-pc_gamg_prolongator_filter 0.1", NULL};
static List some_filters = {"-pc_gamg_prolongator_filter 0.1", "-pc_gamg_prolongator_filter 0", NULL};
static List restrictions = {"-pc_gamg_restriction tentative", "-pc_gamg_restriction transpose", NULL};
static List polynomials  = {"-mg_levels_ksp_type gmrespoly -mg_levels_ksp_max_it 2", "-mg_levels_ksp_type gmrespoly -mg_levels_ksp_max_it 3", "-mg_levels_ksp_type gmrespoly -mg_levels_ksp_max_it 4",
                            NULL};

static const struct {
  HardWhere   where;
  List *const lists[MAX_LISTS + 1];
} grids[] = {
  {HARD_SCALAR, {&thresholds, &strengths, &aggressives, &steps, &cycles, &filters, NULL}},
  {HARD_BLOCKS, {&block_edges, &steps, &block_cycles, &some_filters, NULL}},
  {HARD_UNSYMMETRIC, {&thresholds, &aggressives, &steps, &restrictions, &polynomials, &filters, NULL}},
};

static List *const *FindLists(HardWhere where)
{
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(grids); k++) {
    if (grids[k].where == where) return grids[k].lists;
  }
  return NULL;
}

static int Length(List *list)
{
  int n = 0;

  while ((*list)[n] != NULL) n++;
  return n;
}

/* HardGridSize - see hardgrid.h */
int HardGridSize(HardWhere where)
{
  List *const *lists = FindLists(where);
  int          n     = 1;

  for (; *lists != NULL; lists++) n *= Length(*lists);
  return n;
}

/* HardGridGet - see hardgrid.h. The first list varies slowest. */
PetscErrorCode HardGridGet(HardWhere where, int k, size_t size, char options[])
{
  int rest = HardGridSize(where);

  PetscFunctionBegin;
  PetscCheck(k >= 0 && k < rest, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "There is no setting %d of %d", k, rest);
  options[0] = '\0';
  for (List *const *lists = FindLists(where); *lists != NULL; lists++) {
    rest /= Length(*lists);
    if (options[0] != '\0') PetscCall(PetscStrlcat(options, " ", size));
    PetscCall(PetscStrlcat(options, (**lists)[k / rest], size));
    k %= rest;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
