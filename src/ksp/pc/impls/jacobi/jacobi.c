/*
  PCJACOBI of PETSc with our code around it. Unless a matrix is known to be symmetric positive definite, PETSc's setup takes the reciprocals of its diagonal to the host and back, to look for
  zeros and write ones in their place. For matrices of ours the reciprocals are made on the device, with that step.
*/
#include "jacobi.h"
#include <petscsparsecuda/disabled.h>
#include <petscsparsecuda/smooth.h>
#include "../../../../mat/impls/aijcuda/core/core.h"
#include "../../../../petsc/ksp.h"

/* PETSc's operations. */
static PetscErrorCode (*parent_create)(PC)                   = NULL;
static PetscErrorCode (*parent_setup)(PC)                    = NULL;
static PetscErrorCode (*parent_apply)(PC, Vec, Vec)          = NULL;
static PetscErrorCode (*parent_applytranspose)(PC, Vec, Vec) = NULL;

/* Whether our code makes the reciprocals. PC_JACOBI_ROWL1 does more, and for symmetric application there are those of square roots, too. */
static PetscErrorCode IsOurs(PC pc, PetscBool *ours)
{
  const PCJacobiStruct *jacobi = (const PCJacobiStruct *)pc->data;
  PetscBool             seq, mpi;

  PetscFunctionBegin;
  *ours = PETSC_FALSE;
  if (jacobi->diag == NULL || jacobi->diagsqrt != NULL || jacobi->type == PC_JACOBI_ROWL1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSeqAIJCUDA(pc->pmat, &seq));
  PetscCall(MatIsMPIAIJCUDA(pc->pmat, &mpi));
  *ours = (PetscBool)(seq || mpi);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecReplaceZeros_AIJCUDA - Numbers of a vector but zero become their reciprocals, if wanted, and then zeros value, wherever they are; found: there were zeros on this process; NULL: nobody asks. */
PetscErrorCode VecReplaceZeros_AIJCUDA(Vec v, PetscScalar value, PetscBool reciprocals, PetscBool *found)
{
  PetscInt       n;
  PetscScalar   *x;
  PetscMemType   memory;
  cudaStream_t   stream;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (found != NULL) *found = PETSC_FALSE;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayAndMemType(v, &x, &memory));
  if (PetscMemTypeDevice(memory)) {
    PetscCallGoto(ierr, restore, PetscSparseCUDAGetStream(&stream));
    PetscCallGoto(ierr, restore, DCSRReplaceZeros(n, value, reciprocals, x, stream, found));
  } else {
    for (PetscInt i = 0; i < n; i++) {
      if (reciprocals && x[i] != 0.0) x[i] = (PetscScalar)1.0 / x[i]; // zero where it was infinite
      if (x[i] != 0.0) continue;
      x[i] = value;
      if (found != NULL) *found = PETSC_TRUE;
    }
  }
restore:
  PetscCall(VecRestoreArrayAndMemType(v, &x));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's setup does with a vector for them. */
static PetscErrorCode SetReciprocals(PC pc, const PCJacobiStruct *jacobi, Vec diag, PetscBool *found)
{
  PetscBool known, spd, fix;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  PetscCall(MatIsSPDKnown(pc->pmat, &known, &spd));
  fix = (PetscBool)(jacobi->fixdiag && (!known || !spd));
  if (jacobi->type == PC_JACOBI_ROWMAX) PetscCall(MatGetRowMaxAbs(pc->pmat, diag, NULL));
  else if (jacobi->type == PC_JACOBI_ROWSUM) PetscCall(MatGetRowSum(pc->pmat, diag));
  else PetscCall(MatGetDiagonal(pc->pmat, diag));
  PetscCall(VecReplaceZeros_AIJCUDA(diag, fix ? 1.0 : 0.0, PETSC_TRUE, fix ? found : NULL));
  if (jacobi->useabs) PetscCall(VecAbs(diag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Jacobi_AIJCUDA(PC pc)
{
  PCJacobiStruct *jacobi = (PCJacobiStruct *)pc->data;
  PetscBool       ours, found;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(IsOurs(pc, &ours));
  if (!ours) {
    PetscCall((*parent_setup)(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecLockReadPop(jacobi->diag));
  ierr = SetReciprocals(pc, jacobi, jacobi->diag, &found);
  PetscCall(VecLockReadPush(jacobi->diag));
  PetscCall(ierr);
  if (found) PetscCall(PetscInfo(pc, "Zero detected in diagonal of matrix, using 1 at those locations\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc makes the reciprocals when they are used first, with its own setup. They are made here before it does, as a duplicate of like unless that is NULL. */
static PetscErrorCode CreateReciprocals(PC pc, Vec like)
{
  PCJacobiStruct *jacobi = (PCJacobiStruct *)pc->data;

  PetscFunctionBegin;
  if (jacobi->diag != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (like != NULL) PetscCall(VecDuplicate(like, &jacobi->diag));
  else PetscCall(MatCreateVecs(pc->pmat, &jacobi->diag, NULL));
  PetscCall(VecLockReadPush(jacobi->diag));
  PetscCall(PCSetUp_Jacobi_AIJCUDA(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_Jacobi_AIJCUDA(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(CreateReciprocals(pc, NULL));
  PetscCall((*parent_apply)(pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_Jacobi_AIJCUDA(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(CreateReciprocals(pc, NULL));
  PetscCall((*parent_applytranspose)(pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_Jacobi_AIJCUDA(PC pc)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(pc));
  parent_setup            = pc->ops->setup; // static functions of PETSc, the same for all
  parent_apply            = pc->ops->apply;
  parent_applytranspose   = pc->ops->applytranspose;
  pc->ops->setup          = PCSetUp_Jacobi_AIJCUDA;
  pc->ops->apply          = PCApply_Jacobi_AIJCUDA;
  pc->ops->applytranspose = PCApplyTranspose_Jacobi_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCJacobiGetReciprocals_AIJCUDA - What an application of PCJACOBI multiplies with, made as the application would. Collective
  like: a vector that they become a duplicate of when they are not there yet; NULL: one of the matrix. d is borrowed, locked for reading; NULL: pc is not a PCJACOBI with our code. With KSPSetErrorIfNotConverged() PETSc looks for infinities in vectors whose values are on the host, not in those on the
  device.
*/
PetscErrorCode PCJacobiGetReciprocals_AIJCUDA(PC pc, Vec like, Vec *d)
{
  PetscFunctionBegin;
  *d = NULL;
  if (pc->ops->apply != PCApply_Jacobi_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSetUp(pc));
  PetscCall(CreateReciprocals(pc, like));
  *d = ((PCJacobiStruct *)pc->data)->diag;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc's private struct is the one that we know: what its public functions set has to be found in our fields. */
static PetscErrorCode StructFits(PetscBool *fits)
{
  const PCJacobiStruct *jacobi;
  PC                    pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCJacobiSetType(pc, PC_JACOBI_ROWSUM));
  PetscCall(PCJacobiSetUseAbs(pc, PETSC_TRUE));
  PetscCall(PCJacobiSetFixDiagonal(pc, PETSC_FALSE));
  PetscCall(PCJacobiSetRowl1Scale(pc, 0.375));
  jacobi = (const PCJacobiStruct *)pc->data;
  *fits  = (PetscBool)(jacobi->diag == NULL && jacobi->diagsqrt == NULL && jacobi->type == PC_JACOBI_ROWSUM && jacobi->useabs && !jacobi->fixdiag && jacobi->scale == (PetscReal)0.375);
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCJacobiRegister_AIJCUDA - Registers PCJACOBI again, with our code around PETSc's.
  Part of PetscSparseCUDAInitialize(), and does nothing when called once more. When PETSc's struct is another one, PETSc's code stays alone, and PetscInfo() says so.
*/
PetscErrorCode PCJacobiRegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(PC);
  PetscBool fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCInitializePackage());
  PetscCall(PetscFunctionListFind(PCList, PCJACOBI, &create));
  if (create == NULL || create == PCCreate_Jacobi_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(StructFits(&fits));
  if (fits) {
    parent_create = create;
    PetscCall(PCRegister(PCJACOBI, PCCreate_Jacobi_AIJCUDA));
  } else PetscCall(PetscSparseCUDADisabled("The struct of PCJACOBI is not the one of PETSc 3.26: zeros on diagonals are looked for by PETSc's code, on the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
