/*
  DMDA is registered again. Its creation is PETSc's, and two of its operations have our code around them:

  - DMCreateMatrix() of PETSc counts the entries of each row on the host and inserts them as zeros. For matrices of ours on the device PETSc's code is told to skip both (DMSetMatrixPreallocateSkip()),
    and
    does all the rest: sizes, type, options, block size, numbering, view. Then the pattern is made on the device (matrix.c).
  - DMCreateInterpolation() with several unknowns a point makes a MATMAIJ, which multiplies with the arrays of the matrix below it. PETSc makes a MATAIJ of it for its own device types, and so do we
    for ours.
*/
#include "da.h"
#include "../dmmatrix/dmmatrix.h"
#include "../../../mat/impls/aijcuda/core/core.h"
#include "../../../petsc/dm.h"

static PetscErrorCode (*parent_create)(DM)                          = NULL;
static PetscErrorCode (*parent_creatematrix)(DM, Mat *)             = NULL;
static PetscErrorCode (*parent_interpolation)(DM, DM, Mat *, Vec *) = NULL;

static PetscErrorCode DMCreateMatrix_DA_AIJCUDA(DM dm, Mat *A)
{
  PetscBool ours;

  PetscFunctionBegin;
  *A = NULL;
  PetscCall(DMMatrixMakesOurs(dm, &ours));
  if (ours) PetscCall(DMDAHasStencilOfDevice(dm, &ours));
  if (ours) PetscCall(DMMatrixCreateOnDevice(dm, parent_creatematrix, DMDASetMatrixPattern, A));
  if (*A == NULL) PetscCall((*parent_creatematrix)(dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a matrix of ours of an interpolation, which is MATAIJ or MATMAIJ of such. With -dm_bind_below PETSc has marked it as bound: a conversion keeps no mark. */
static PetscErrorCode MakeInterpolationOurs(DM coarse, MatType type, Mat *P)
{
  const PetscBool bound = (PetscBool)((*P)->boundtocpu && (*P)->bindingpropagates);
  PetscBool       maij;
  PetscInt        dof;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*P, &maij, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (maij) { // a conversion keeps no block sizes, by which a Galerkin operator gets those that PETSc's product with a MATMAIJ gives it
    PetscCall(MatConvert(*P, MATAIJ, MAT_INPLACE_MATRIX, P));
    PetscCall(DMGetBlockSize(coarse, &dof));
    PetscCall(MatSetBlockSizes(*P, dof, dof));
  }
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
  if (ours) PetscCall(MakeInterpolationOurs(coarse, type, P));
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
