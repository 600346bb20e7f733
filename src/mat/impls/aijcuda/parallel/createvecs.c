/*
  Vectors for parallel matrices. VecSetType() of PETSc 3.26 gives a VECMPICUDA a pinned array on the host and fills it with zeros, whether anybody wants it or not: pages that are found, pinned,
  written and freed again for each vector that a solver or a smoother makes. VECSEQCUDA has none until it is asked for, and so have these.
*/
#include "parallel.h"
#include "../core/core.h"

/* A vector of zeros that is on the device alone. */
static PetscErrorCode CreateOnDevice(PetscLayout map, Vec *v)
{
  PetscInt       bs;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscLayoutGetBlockSize(map, &bs));
  PetscCall(VecCreateMPICUDAWithArrays(map->comm, bs, map->n, map->N, NULL, NULL, v));
  PetscCallGoto(ierr, failed, VecSetLayout(*v, map));
  PetscCallGoto(ierr, failed, VecSet(*v, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(VecDestroy(v));
  PetscFunctionReturn(ierr);
}

/*
  MatAIJCUDABindVec - Binds a vector, bound already or not, to the CPU, with its newest entries on the host alone. Collective

  VecBindToCPU() of PETSc 3.26.1 leaves a VECCUDA of several processes with entries that are the same on both sides. VecCopy() of a vector that is not bound then writes those of the device, which
  nobody reads.
*/
PetscErrorCode MatAIJCUDABindVec(Vec v)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(VecBindToCPU(v, PETSC_FALSE));
  PetscCall(VecGetArray(v, &array));
  PetscCall(VecRestoreArray(v, &array));
  PetscCall(VecBindToCPU(v, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector as MatCreateVecs() makes it for other matrices. */
static PetscErrorCode CreateOfType(Mat A, PetscLayout map, Vec *v)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(VecCreate(map->comm, v));
  PetscCallGoto(ierr, failed, VecSetLayout(*v, map));
  PetscCallGoto(ierr, failed, VecSetType(*v, A->defaultvectype));
  if (A->boundtocpu && A->bindingpropagates) {
    PetscCallGoto(ierr, failed, VecSetBindingPropagates(*v, PETSC_TRUE));
    PetscCallGoto(ierr, failed, MatAIJCUDABindVec(*v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(VecDestroy(v));
  PetscFunctionReturn(ierr);
}

/* MatCreateVecs_MPIAIJCUDA - MatCreateVecs() for parallel matrices of ours; on several processes with devices the vectors have no array on the host until somebody asks for one. Collective. */
PetscErrorCode MatCreateVecs_MPIAIJCUDA(Mat A, Vec *right, Vec *left)
{
  PetscLayout const maps[2] = {A->cmap, A->rmap};
  Vec *const        v[2]    = {right, left};
  PetscMPIInt       size;
  PetscBool         device;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatAIJCUDAHasDeviceVectors(A, &device));
  for (int k = 0; k < 2; k++) {
    if (v[k] == NULL) continue;
    PetscCheck(maps[k]->n >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "PetscLayout for %s not yet setup: call MatSetSizes() and MatSetUp() before MatCreateVecs()",
               k ? "rows" : "columns");
    PetscCall(PetscLayoutSetUp(maps[k]));
  }
  for (int k = 0; k < 2; k++) {
    if (v[k] == NULL) continue;
    ierr = device && size > 1 ? CreateOnDevice(maps[k], v[k]) : CreateOfType(A, maps[k], v[k]);
    if (ierr != PETSC_SUCCESS && k == 1 && right != NULL) PetscCall(VecDestroy(right));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
