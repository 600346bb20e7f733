#pragma once
/* Kernels that insert entries of lists in device memory into a matrix, on the stream of the current context. */
#include <petscsparsecuda.h>

PETSC_EXTERN PetscErrorCode OracleLaunchInsert(MatDCSRCUDAInserter, PetscInt, const PetscInt[], const PetscInt[], const PetscScalar[]);
PETSC_EXTERN PetscErrorCode OracleLaunchInsertBlocks(MatDCSRCUDAInserter, PetscInt, const PetscInt[], const PetscInt[], const PetscScalar[]);
