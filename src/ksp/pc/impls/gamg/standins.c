/* Stand-ins for what is not there yet: nothing is served with them, since no random number fits. This file goes with the last of them. */
#include <petscsparsecuda/coarsen.h>
#include "gamg.h"

#define MISSING SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "Not there yet")

PetscErrorCode DCSRGetRandomReals(PetscInt n, PetscReal r[])
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(r, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GAMGCreateDefaultData(PC pc, Mat A)
{
  PetscFunctionBegin;
  MISSING;
}

PetscErrorCode GAMGDataToHost(PC pc, Mat A)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GAMGCreateGraph(PC pc, Mat A, Mat *G)
{
  PetscFunctionBegin;
  MISSING;
}

PetscErrorCode GAMGCoarsen(Mat G, PetscInt hops, PetscBool by_number, GAMGAggregates *aggregates)
{
  PetscFunctionBegin;
  MISSING;
}

PetscErrorCode GAMGAggregatesDestroy(GAMGAggregates *aggregates)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GAMGCreateProlongator(PC pc, Mat A, GAMGAggregates *aggregates, Mat *P)
{
  PetscFunctionBegin;
  MISSING;
}

PetscErrorCode GAMGSmoothProlongator(PC pc, Mat A, Mat *P)
{
  PetscFunctionBegin;
  MISSING;
}

PetscErrorCode PCJacobiRegister_AIJCUDA(void)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
