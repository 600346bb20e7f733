#pragma once
/*
  Blocks of device memory that another process can be given, for memory.c.
*/
#include <petscsparsecuda/exportable.h>

PETSC_INTERN PetscErrorCode ExportableReserve(void);
PETSC_INTERN PetscErrorCode ExportableGet(size_t, void **);
PETSC_INTERN void           ExportableAdd(void *, size_t);
PETSC_INTERN PetscErrorCode ExportableReturn(void *, PetscBool *, PetscBool *);
PETSC_INTERN PetscErrorCode ExportableGiveBack(size_t);
PETSC_INTERN void           ExportableGetBytes(size_t *, size_t *);
