/* DMCreateMatrix() of matrices of ours: PETSc's code makes the matrix and preallocates nothing, then the pattern is made on the device. */
#include "dmmatrix.h"
#include "../../../mat/impls/aijcuda/core/core.h"
#include "../../../mat/impls/aijcuda/insert/insert.h"
#include "../../../petsc/dm.h"

/* DMMatrixMakesOurs - Whether DMCreateMatrix() makes a matrix of ours, by the type of the DM or by -mat_type; options of such matrices have no prefix. Logically Collective */
PetscErrorCode DMMatrixMakesOurs(DM dm, PetscBool *ours)
{
  const MatAIJCUDATypes *types;
  char                   name[256];
  PetscBool              set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", name, sizeof(name), &set));
  PetscCall(MatAIJCUDATypesFind(set ? name : dm->mattype, &types));
  *ours = (PetscBool)(types != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether values of a matrix, which may have turned out to be of another type, go to the device on all processes. */
static PetscErrorCode IsOnDevice(Mat A, PetscBool *device)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  *device = PETSC_FALSE;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (seq) PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, device));
  if (mpi) PetscCall(MatMPIAIJCUDAAgreeBound(A));
  if (mpi) PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DMMatrixCreateOnDevice - A matrix whose pattern the device makes. Collective
  parent: DMCreateMatrix() of PETSc. pattern gives the matrix its pattern. A is NULL after an error and, on all processes, when values of such a matrix do not go to the device, or pattern did not do
  it.
*/
PetscErrorCode DMMatrixCreateOnDevice(DM dm, PetscErrorCode (*parent)(DM, Mat *), DMMatrixPatternFn pattern, Mat *A)
{
  PetscBool      done;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  dm->prealloc_skip = PETSC_TRUE;
  ierr              = (*parent)(dm, A);
  dm->prealloc_skip = PETSC_FALSE;
  PetscCall(ierr);
  PetscCall(IsOnDevice(*A, &done));
  if (done) ierr = (*pattern)(dm, *A, &done);
  if (!done || ierr != PETSC_SUCCESS) PetscCall(MatDestroy(A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
