#pragma once
/* Vectors, index sets and the packing of PetscSF; see sys.h. */
#include "sys.h"
#include <petsc/private/isimpl.h>
#include <petsc/private/vecimpl.h>
#include <../src/vec/is/sf/impls/basic/sfpack.h>

/*
  VecIsOnDevice - Whether VecGetArrayAndMemType() of a vector gives device memory, whatever its type is called: VECCUDA and VECKOKKOS, unless they are bound to the CPU.

  PETSc calls this operation if there is one, and gives the host array otherwise. Nothing is allocated or copied, as it would be by asking for the array.
*/
static inline PetscBool VecIsOnDevice(Vec v)
{
  return (PetscBool)(v->ops->getarrayandmemtype != NULL && !v->boundtocpu);
}

/* VecOwnsHostArray - Whether a vector is a VECSTANDARD in memory that it has allocated: not that of VecCreateSeqWithArray() or VecPlaceArray(), which the program may change unnoticed. */
static inline PetscErrorCode VecOwnsHostArray(Vec v, PetscBool *owns)
{
  const struct {
    VECHEADER
  } *x = v->data;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, owns, VECSEQ, VECMPI, ""));
  *owns = (PetscBool)(*owns && x->array_allocated != NULL && x->array == x->array_allocated);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSFSetUpVecScatter - Makes a star forest of a vector's entries, with its graph set, a scatter to a sequential vector, as VecScatterCreate() ends; from_n, to_n: local sizes of both */
static inline PetscErrorCode PetscSFSetUpVecScatter(PetscSF sf, PetscInt from_n, PetscInt to_n)
{
  PetscFunctionBegin;
  sf->vscat.bs     = 1;
  sf->vscat.unit   = MPIU_SCALAR;
  sf->vscat.from_n = from_n;
  sf->vscat.to_n   = to_n;
  PetscCall(VecScatterSetFromOptions(sf));
  PetscCall(PetscSFSetUp(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* VecCopyWait - Waits for the entries that VecCopy() brings from the device to a vector that is bound to the CPU; it has waited itself since 3.26. Without a GPU nothing is there to wait for. */
static inline PetscErrorCode VecCopyWait(void)
{
  PetscFunctionBegin;
  if (PETSC_VERSION_LT(3, 26, 0) && PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscDeviceContext dctx;

    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceContextSynchronize(dctx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  VecMAXPYSmall - VecMAXPY(), also for vectors on the device that have fewer entries than there are vectors: before 3.26 as many threads as entries read the coefficients, and others are used

  Collective: all processes do the same, since log events may wait for each other.
*/
static inline PetscErrorCode VecMAXPYSmall(Vec y, PetscInt n, const PetscScalar a[], Vec x[])
{
  PetscFunctionBegin;
  if (PETSC_VERSION_LT(3, 26, 0)) {
    for (PetscInt k = 0; k < n; k++) PetscCall(VecAXPY(y, a[k], x[k]));
  } else PetscCall(VecMAXPY(y, n, a, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
