#pragma once
/* Krylov methods and preconditioners, with the structs that PETSc has in its sources alone: registration checks that they fit. See sys.h. */
#include "mat.h"
#include "vec.h"
#include <petsc/private/kspimpl.h>
#include <petsc/private/pcgamgimpl.h>
#include <petsc/private/pcimpl.h>
#include <petsc/private/pcmgimpl.h>

/* The private struct of PCJACOBI, field by field. */
typedef struct {
  Vec          diag;     /* reciprocals, owned by PETSc's code, and locked for reading; NULL until the first application */
  Vec          diagsqrt; /* the same of square roots, for symmetric application; NULL until then */
  PCJacobiType type;
  PetscBool    useabs;
  PetscBool    fixdiag;
  PetscReal    scale;
} PCJacobiStruct;

/* The private struct of PCGAMGAGG, field by field. */
typedef struct {
  PetscInt   nsmooths;
  PetscInt   aggressive_coarsening_levels;
  PetscInt   aggressive_mis_k;
  PetscBool  use_aggressive_square_graph;
  PetscBool  use_minimum_degree_ordering;
  PetscBool  use_low_mem_filter;
  PetscBool  graph_symmetrize;
  MatCoarsen crs; /* owned by PETSc's code, which also views it; NULL until the first graph */
} GAMGAggOptions;

/* KSPHasInternalCallbacks - Whether PETSc's own code is called before or after solves: SNES with Eisenstat-Walker's tolerances, from 3.26 on. */
static inline PetscBool KSPHasInternalCallbacks(KSP ksp)
{
#if PETSC_VERSION_LT(3, 26, 0)
  (void)ksp;
  return PETSC_FALSE;
#else
  return (PetscBool)(ksp->presolve_ew != NULL || ksp->postsolve_ew != NULL);
#endif
}

/* KSPIsScaled - Whether the system is scaled by diagonal matrices, as KSPSetDiagonalScale() and PCSetDiagonalScale() ask for before 3.26; not with a KSP without a PC. */
static inline PetscBool KSPIsScaled(KSP ksp)
{
#if PETSC_VERSION_LT(3, 26, 0)
  return (PetscBool)(ksp->dscale || ksp->viewDScale || (ksp->pc != NULL && ksp->pc->diagonalscale));
#else
  (void)ksp;
  return PETSC_FALSE;
#endif
}

/* KSPIsSetUpFor - Whether KSPSetUp() would find nothing to do for the values that its matrix has. Before 3.26 KSPs have no state of their own, but PCs have. */
static inline PetscErrorCode KSPIsSetUpFor(KSP ksp, PetscBool *is)
{
  PetscFunctionBegin;
  *is = (PetscBool)(ksp->setupstage == KSP_SETUP_NEWRHS && ksp->pc != NULL && ksp->pc->mat != NULL);
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
#if PETSC_VERSION_LT(3, 26, 0)
  PetscObjectState state;

  PetscCall(PetscObjectStateGet((PetscObject)ksp->pc->pmat, &state));
  *is = (PetscBool)(!ksp->pc->setupcalled || ksp->pc->matstate == state); // one that is not set up will be when it is applied, as after PCReset()
#else
  MatState state;

  PetscCall(MatGetState(ksp->pc->mat, &state));
  PetscCall(MatStateCompare(state, ksp->amatstate, is));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSetUpSeesValues - Whether KSPSetUp() calls the type's setup when the matrices have other values: from 3.26 on. Before, a type looks itself when it solves. */
static inline PetscBool KSPSetUpSeesValues(void)
{
  return (PetscBool)!PETSC_VERSION_LT(3, 26, 0);
}

/* PCNoteMatState - Notes the state of the matrix that a PC is set up for, as PCSetUp() does. */
static inline PetscErrorCode PCNoteMatState(PC pc)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 26, 0)
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &pc->matstate));
  PetscCall(MatGetNonzeroState(pc->pmat, &pc->matnonzerostate));
#else
  PetscCall(MatGetState(pc->pmat, &pc->matstate));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGHasFilter - Whether PCGAMG has a prolongator filter: from 3.26 on. */
static inline PetscBool GAMGHasFilter(void)
{
  return (PetscBool)!PETSC_VERSION_LT(3, 26, 0);
}

/* GAMGGetFilter - Its threshold on a level; 0: none. */
static inline PetscReal GAMGGetFilter(const PC_GAMG *gamg, PetscInt level)
{
#if PETSC_VERSION_LT(3, 26, 0)
  (void)gamg;
  (void)level;
  return 0;
#else
  return gamg->prolongator_filter * PetscPowRealInt(gamg->prolongator_filter_scale, level);
#endif
}

/* GAMGSetFilter - Sets that of the finest level. */
static inline void GAMGSetFilter(PC_GAMG *gamg, PetscReal threshold)
{
#if PETSC_VERSION_LT(3, 26, 0)
  (void)gamg;
  (void)threshold;
#else
  gamg->prolongator_filter = threshold;
#endif
}
