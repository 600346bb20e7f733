#pragma once
/*
  The tests' library, libpetscsparsecudatests.so: the library with what tests alone need. Programs of tests are linked with it, or with its objects and those of the library, and PETSc's own tests load
  it.
  It compares levels of PCGAMG with PETSc's (-pc_gamg_device_check, gamgcheck.c).
*/
#include "sys.h"
#include <petscmat.h>

PETSC_EXTERN PetscErrorCode TestLibIsOurs(Mat, PetscBool *);                                  /* whether a matrix is of a type of this library */
PETSC_EXTERN PetscErrorCode TestLibFragment(Mat, PetscInt, PetscInt);                         /* see testlib.c */
PETSC_EXTERN PetscErrorCode TestLibIsValid(Mat, PetscBool *);                                 /* see testlib.c */
PETSC_EXTERN PetscErrorCode TestLibGetProducts(Mat, PetscCount *, PetscCount *, PetscBool *); /* see testlib.c */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscsparsecudatests(void);                /* as it is loaded by -dll_append */
