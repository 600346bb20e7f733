/*
  Whether this PETSc is the one that our setup of PCGAMG reproduces: its private struct, and the random numbers that order the vertices.
*/
#include <petscsparsecuda/coarsen.h>
#include <petscsparsecuda/disabled.h>
#include "gamg.h"

#define NUM_RANDOM 3
#define NUM_FLAGS  4 /* of PCGAMGAGG */

/* Setters and fields of PCGAMGAGG belong together. */
static PetscErrorCode FieldsFit(PC pc, PetscBool *fits)
{
  const GAMGAggOptions *options = GAMGGetAggOptions(pc);

  PetscFunctionBegin;
  PetscCall(PCGAMGSetNSmooths(pc, 1234567));
  PetscCall(PCGAMGSetAggressiveLevels(pc, 2345678));
  PetscCall(PCGAMGMISkSetAggressive(pc, 3456789));
  *fits = (PetscBool)(options->nsmooths == 1234567 && options->aggressive_coarsening_levels == 2345678 && options->aggressive_mis_k == 3456789 && options->crs == NULL);
  for (int k = 0; k <= NUM_FLAGS; k++) { // one flag at a time, and none
    PetscCall(PCGAMGSetAggressiveSquareGraph(pc, (PetscBool)(k == 0)));
    PetscCall(PCGAMGMISkSetMinDegreeOrdering(pc, (PetscBool)(k == 1)));
    PetscCall(PCGAMGSetLowMemoryFilter(pc, (PetscBool)(k == 2)));
    PetscCall(PCGAMGSetGraphSymmetrize(pc, (PetscBool)(k == 3)));
    *fits = (PetscBool)(*fits && options->use_aggressive_square_graph == (k == 0) && options->use_minimum_degree_ordering == (k == 1) && options->use_low_mem_filter == (k == 2) &&
                        options->graph_symmetrize == (k == 3));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGStructFits - Whether the private options of PCGAMGAGG are those that gamg.h knows; if not, -info says so and PETSc's setup stays alone. Cost: a scratch PC. */
PetscErrorCode GAMGStructFits(PetscBool *fits)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(FieldsFit(pc, fits));
  PetscCall(PCDestroy(&pc));
  if (!*fits) PetscCall(PetscSparseCUDADisabled("The private options of PCGAMGAGG are not those of PETSc 3.26.1: PCGAMG sets up on the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGRandomFits - Whether PETSc draws the numbers for its permutation of the vertices that ours is made of; if not, the same */
PetscErrorCode GAMGRandomFits(PetscBool *fits)
{
  PetscReal   theirs, ours[NUM_RANDOM];
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(DCSRGetRandomReals(NUM_RANDOM, ours));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  *fits = PETSC_TRUE;
  for (int k = 0; k < NUM_RANDOM; k++) {
    PetscCall(PetscRandomGetValueReal(random, &theirs));
    *fits = (PetscBool)(*fits && theirs == ours[k]);
  }
  PetscCall(PetscRandomDestroy(&random));
  if (!*fits) PetscCall(PetscSparseCUDADisabled("PetscRandom is not the one of PETSc 3.26.1: PCGAMG sets up on the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
