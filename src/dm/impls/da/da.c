/*
  DMDA is registered again. Its creation is PETSc's, and two of its operations have our code around them:

  - DMCreateMatrix() of PETSc counts the entries of each row on the host and inserts them as zeros. For matrices of ours on the device PETSc's code is told to skip both (DMSetMatrixPreallocateSkip()), and
    does all the rest: sizes, type, options, block size, numbering, view. Then the pattern is made on the device (matrix.c).
  - DMCreateInterpolation() with several unknowns a point makes a MATMAIJ, which multiplies with the arrays of the matrix below it. PETSc makes a MATAIJ of it for its own device types, and so do we for ours.
*/
#include "da.h"
#include "../../../mat/impls/aijcuda/core/core.h"
#include "../../../mat/impls/aijcuda/insert/insert.h"
#include <petsc/private/dmimpl.h>

static PetscErrorCode (*parent_create)(DM)                          = NULL;
static PetscErrorCode (*parent_creatematrix)(DM, Mat *)             = NULL;
static PetscErrorCode (*parent_interpolation)(DM, DM, Mat *, Vec *) = NULL;

/* Whether DMCreateMatrix() makes a matrix of ours; its options have no prefix. */
static PetscErrorCode MakesOurs(DM dm, PetscBool *ours)
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
  if (mpi) PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose pattern the device makes; NULL when it cannot, on all processes. */
static PetscErrorCode CreateOnDevice(DM dm, Mat *A)
{
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  dm->prealloc_skip = PETSC_TRUE;
  ierr              = (*parent_creatematrix)(dm, A);
  dm->prealloc_skip = PETSC_FALSE;
  PetscCall(ierr);
  PetscCall(IsOnDevice(*A, &device));
  if (device) ierr = DMDASetMatrixPattern(dm, *A);
  if (!device || ierr != PETSC_SUCCESS) PetscCall(MatDestroy(A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreateMatrix_DA_AIJCUDA(DM dm, Mat *A)
{
  PetscBool ours;

  PetscFunctionBegin;
  *A = NULL;
  PetscCall(MakesOurs(dm, &ours));
  if (ours) PetscCall(DMDAHasStencilOfDevice(dm, &ours));
  if (ours) PetscCall(CreateOnDevice(dm, A));
  if (*A == NULL) PetscCall((*parent_creatematrix)(dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a matrix of ours of an interpolation, which is MATAIJ or MATMAIJ of such. With -dm_bind_below PETSc has marked it as bound: a conversion keeps no mark. */
static PetscErrorCode MakeInterpolationOurs(MatType type, Mat *P)
{
  const PetscBool bound = (PetscBool)((*P)->boundtocpu && (*P)->bindingpropagates);
  PetscBool       maij;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*P, &maij, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (maij) PetscCall(MatConvert(*P, MATAIJ, MAT_INPLACE_MATRIX, P));
  PetscCall(MatConvert(*P, type, MAT_INPLACE_MATRIX, P));
  if (!bound) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSetBindingPropagates(*P, PETSC_TRUE));
  PetscCall(MatBindToCPU(*P, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreateInterpolation_DA_AIJCUDA(DM coarse, DM fine, Mat *P, Vec *scale)
{
  const MatType          type = coarse->mattype;
  const MatAIJCUDATypes *types;
  PetscBool              ours = PETSC_FALSE;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDATypesFind(type, &types));
  if (types != NULL) PetscCall(PetscSparseCUDADeviceUsable(&ours));
  if (ours) coarse->mattype = MATAIJ;
  ierr            = (*parent_interpolation)(coarse, fine, P, scale);
  coarse->mattype = type;
  PetscCall(ierr);
  if (ours) PetscCall(MakeInterpolationOurs(type, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreate_DA_AIJCUDA(DM dm)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(dm));
  parent_creatematrix          = dm->ops->creatematrix; // functions of PETSc, the same for all
  parent_interpolation         = dm->ops->createinterpolation;
  dm->ops->creatematrix        = DMCreateMatrix_DA_AIJCUDA;
  dm->ops->createinterpolation = DMCreateInterpolation_DA_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMDARegister_AIJCUDA - Registers DMDA again, with our code around PETSc's; part of PetscSparseCUDAInitialize(). */
PetscErrorCode DMDARegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(DM);

  PetscFunctionBegin;
  PetscCall(DMInitializePackage());
  PetscCall(PetscFunctionListFind(DMList, DMDA, &create));
  if (create != NULL && create != DMCreate_DA_AIJCUDA) {
    parent_create = create;
    PetscCall(DMRegister(DMDA, DMCreate_DA_AIJCUDA));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
