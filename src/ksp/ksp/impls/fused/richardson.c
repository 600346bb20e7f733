/* KSPRICHARDSON of PETSc with our solve around it. */
#include "fused.h"
#include "../../../../petsc/methods.h"

/* PETSc's operations, static functions that are the same for all. */
static PetscErrorCode (*parent_create)(KSP)                           = NULL;
static PetscErrorCode (*parent_solve)(KSP)                            = NULL;
static PetscErrorCode (*parent_setfromoptions)(KSP, PetscOptionItems) = NULL;

static PetscErrorCode KSPSolve_Richardson_AIJCUDA(KSP ksp)
{
  const KSP_Richardson *richardson = (const KSP_Richardson *)ksp->data;
  KSPFusedIteration     iteration;
  PetscBool             plain = PETSC_FALSE;

  PetscFunctionBegin;
  if (!richardson->selfscale) PetscCall(KSPFusedBegin(ksp, &iteration, &plain));
  if (!plain) {
    PetscCall((*parent_solve)(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ksp->rnorm = 0.0;
  while (ksp->its < ksp->max_it) PetscCall(KSPFusedStep(&iteration, richardson->scale, 1.0, 0.0));
  PetscCall(KSPFusedEnd(&iteration));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPRichardsonGetFactors_AIJCUDA - The scale factor of our solve, and 0; PETSC_FALSE: the KSP has another solve, or chooses the factor itself. */
PetscBool KSPRichardsonGetFactors_AIJCUDA(KSP ksp, PetscReal factors[2])
{
  const KSP_Richardson *richardson = (const KSP_Richardson *)ksp->data;

  if (ksp->ops->solve != KSPSolve_Richardson_AIJCUDA || richardson->selfscale) return PETSC_FALSE;
  factors[0] = richardson->scale;
  factors[1] = 0.0;
  return PETSC_TRUE;
}

static PetscErrorCode KSPSetFromOptions_Richardson_AIJCUDA(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall((*parent_setfromoptions)(ksp, PetscOptionsObject));
  PetscCall(KSPFusedSetFromOptions(ksp, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_Richardson_AIJCUDA(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(ksp));
  PetscCall(KSPFusedCreate(ksp));
  parent_solve             = ksp->ops->solve;
  parent_setfromoptions    = ksp->ops->setfromoptions;
  ksp->ops->solve          = KSPSolve_Richardson_AIJCUDA;
  ksp->ops->setfromoptions = KSPSetFromOptions_Richardson_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc's private struct is the one that we were compiled with, as far as we read it. */
static PetscErrorCode StructFits(PetscBool *fits)
{
  const KSP_Richardson *richardson;
  KSP                   ksp;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  richardson = (const KSP_Richardson *)ksp->data;
  *fits      = (PetscBool)(richardson->scale == (PetscReal)1.0 && !richardson->selfscale);
  PetscCall(KSPRichardsonSetScale(ksp, 0.375));
  PetscCall(KSPRichardsonSetSelfScale(ksp, PETSC_TRUE));
  *fits = (PetscBool)(*fits && richardson->scale == (PetscReal)0.375 && richardson->selfscale);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPRichardsonRegister_AIJCUDA - Registers KSPRICHARDSON again, with our solve around PETSc's; not when PETSc's struct is another one than ours */
PetscErrorCode KSPRichardsonRegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(KSP);
  PetscBool fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, KSPRICHARDSON, &create));
  if (create == NULL || create == KSPCreate_Richardson_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(StructFits(&fits));
  if (fits) {
    parent_create = create;
    PetscCall(KSPRegister(KSPRICHARDSON, KSPCreate_Richardson_AIJCUDA));
  } else PetscCall(PetscSparseCUDADisabled("The struct of KSPRICHARDSON is not the one of PETSc 3.26: its steps are PETSc's, several kernels each"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
