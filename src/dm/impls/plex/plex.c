/*
  DMPLEX is registered again, and DMCreateMatrix() has our code around PETSc's. PETSc's collects the neighbors of every point of the mesh on the host, counts the entries of each row and inserts them
  as zeros, which takes longer than the assembly of the matrix does. For matrices of ours on the device PETSc's code is told to skip that (DMSetMatrixPreallocateSkip()), and does all the rest: sizes,
  type, options, block size, numbering. Then the pattern is made on the device (matrix.c).
*/
#include "plex.h"
#include "../dmmatrix/dmmatrix.h"
#include "../../../petsc/dm.h"

static PetscErrorCode (*parent_create)(DM)              = NULL;
static PetscErrorCode (*parent_creatematrix)(DM, Mat *) = NULL;
static PetscErrorCode (*parent_clone)(DM, DM *)         = NULL;

static PetscErrorCode SetOperations(DM);

static PetscErrorCode DMCreateMatrix_Plex_AIJCUDA(DM dm, Mat *A)
{
  PetscBool ours;

  PetscFunctionBegin;
  *A = NULL;
  PetscCall(DMMatrixMakesOurs(dm, &ours));
  if (ours) PetscCall(DMPlexHasPatternOfElements(dm, &ours));
  if (ours) PetscCall(DMMatrixCreateOnDevice(dm, parent_creatematrix, DMPlexSetMatrixPattern, A));
  if (*A == NULL) PetscCall((*parent_creatematrix)(dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMClone() of PETSc gives the copy PETSc's operations. */
static PetscErrorCode DMClone_Plex_AIJCUDA(DM dm, DM *copy)
{
  PetscFunctionBegin;
  PetscCall((*parent_clone)(dm, copy));
  PetscCall(SetOperations(*copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of DMSetFromOptions(): a mesh that PETSc made, refined or distributed in place has PETSc's operations (DMPlexReplace_Internal() in PETSc 3.26). */
static PetscErrorCode SetOperationsFromOptions(PetscObject dm, PETSC_UNUSED PetscOptionItems PetscOptionsObject, PETSC_UNUSED void *ctx)
{
  PetscFunctionBegin;
  PetscCall(SetOperations((DM)dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our operations in place of PETSc's; those that somebody else has set stay. */
static PetscErrorCode SetOperations(DM dm)
{
  PetscFunctionBegin;
  if (dm->ops->creatematrix == parent_creatematrix) dm->ops->creatematrix = DMCreateMatrix_Plex_AIJCUDA;
  if (dm->ops->clone == parent_clone) dm->ops->clone = DMClone_Plex_AIJCUDA;
  PetscCall(PetscObjectAddOptionsHandler((PetscObject)dm, SetOperationsFromOptions, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMCreate_Plex_AIJCUDA(DM dm)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(dm));
  parent_creatematrix = dm->ops->creatematrix; // functions of PETSc, the same for all
  parent_clone        = dm->ops->clone;
  PetscCall(SetOperations(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMPlexRegister_AIJCUDA - Registers DMPLEX again, with our code around PETSc's; part of PetscSparseCUDAInitialize(). */
PetscErrorCode DMPlexRegister_AIJCUDA(void)
{
  PetscErrorCode (*create)(DM);

  PetscFunctionBegin;
  PetscCall(DMInitializePackage());
  PetscCall(PetscFunctionListFind(DMList, DMPLEX, &create));
  if (create != NULL && create != DMCreate_Plex_AIJCUDA) {
    parent_create = create;
    PetscCall(DMRegister(DMPLEX, DMCreate_Plex_AIJCUDA));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
