#pragma once
#include <petscsparsecuda/product.h>

PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatDCSRCUDAFragment_Private(Mat, PetscInt, PetscInt);

/* Deletion from parallel matrices (mpi/delete.c) */
PETSC_INTERN PetscErrorCode MatZeroRows_MPIAIJDCSRCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatEliminateZeros_MPIAIJDCSRCUDA(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_MPIAIJDCSRCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec); /* mpi/zerorowscolumns.c */
