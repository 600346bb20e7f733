#pragma once
/* Composed functions of insertion: preallocation, the hash of MatSetValues(), lists of coordinates. Installed by the tables of the types. */
#include "../core/core.h"

PETSC_INTERN PetscErrorCode MatSeqAIJSetPreallocation_SeqAIJCUDA(Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatSeqAIJSetColumnIndices_SeqAIJCUDA(Mat, PetscInt *);
PETSC_INTERN PetscErrorCode MatResetHash_SeqAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatResetPreallocation_SeqAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatResetPreallocation_MPIAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJCUDA(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatMPIAIJSetPreallocationCSR_MPIAIJCUDA(Mat, const PetscInt[], const PetscInt[], const PetscScalar[]);
PETSC_INTERN PetscErrorCode MatResetHash_MPIAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_SeqAIJCUDA(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_SeqAIJCUDA(Mat, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_MPIAIJCUDA(Mat, const PetscScalar[], InsertMode);
