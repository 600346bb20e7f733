#pragma once
/*
  All our types: their life cycle, conversions and tables of operations. A type is its name and its storage.
*/
#include "../aijcuda/core/core.h"

/* Constructors of sequential and parallel types, which find the storage and the types of blocks by name (seqtype.c, mpitype.c) */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJCUDA(Mat, MatType);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJCUDA(Mat, MatType);

/* seqtype.c */
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJCUDA_SeqAIJ(Mat, MatType, MatReuse, Mat *);

/* mpitype.c */
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJCUDA_MPIAIJ(Mat, MatType, MatReuse, Mat *);

/* Constructors of MATDCSRCUDA (seqtype.c, mpitype.c) */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat);

/* Composed functions (composed.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompose(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARemoveComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARestoreComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDACompose(Mat, const MatAIJCUDATypes *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDARemoveComposed(Mat, const MatAIJCUDATypes *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDARestoreComposed(Mat, const MatAIJCUDATypes *);
