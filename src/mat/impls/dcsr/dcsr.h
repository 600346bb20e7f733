#pragma once
/*
  MATDCSRCUDA, and the constructors and conversions of all our types: a type is its name and its storage.
*/
#include "../aijcuda/core/core.h"

/* Dynamic CSR behind the seam for storage (dcsrstorage.c), and the constructors of sequential and parallel types, which find the storage and the types of blocks by name (seqdcsr.c, mpidcsr.c). */
PETSC_INTERN const MatDeviceStorageOps MatDeviceStorageDCSR;
PETSC_INTERN PetscErrorCode            MatCreate_SeqAIJCUDA(Mat, MatType);
PETSC_INTERN PetscErrorCode            MatCreate_MPIAIJCUDA(Mat, MatType);

/* seqdcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJCUDA_SeqAIJ(Mat, MatType, MatReuse, Mat *);

/* mpidcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJCUDA_MPIAIJ(Mat, MatType, MatReuse, Mat *);

/* Constructors of MATDCSRCUDA (seqdcsr.c, mpidcsr.c), a test hook (storage.c) */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat);

/* Composed functions (composed.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompose(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARemoveComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARestoreComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDACompose(Mat, const MatAIJCUDATypes *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDARemoveComposed(Mat, const MatAIJCUDATypes *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDARestoreComposed(Mat, const MatAIJCUDATypes *);
