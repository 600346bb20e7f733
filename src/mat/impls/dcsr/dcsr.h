#pragma once
/*
  MATDCSRCUDA.
*/
#include "../aijcuda/core/core.h"

/* Dynamic CSR behind the seam for storage (dcsrstorage.c), and the constructor of sequential types, which finds the storage of its type by name (seqdcsr.c). */
PETSC_INTERN const MatDeviceStorageOps MatDeviceStorageDCSR;
PETSC_INTERN PetscErrorCode            MatCreate_SeqAIJCUDA(Mat, MatType);

/* seqdcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJDCSRCUDA_SeqAIJ(Mat, MatType, MatReuse, Mat *);

/* mpidcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJDCSRCUDA_MPIAIJ(Mat, MatType, MatReuse, Mat *);

/* Constructors (seqdcsr.c, mpidcsr.c), a test hook (storage.c) */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat);
PETSC_INTERN PetscErrorCode MatDCSRCUDAFragment_Private(Mat, PetscInt, PetscInt);

/* Composed functions (composed.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJDCSRCUDACompose(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJDCSRCUDARemoveComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatSeqAIJDCSRCUDARestoreComposed(Mat, MatType);
PETSC_INTERN PetscErrorCode MatMPIAIJDCSRCUDACompose(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJDCSRCUDARemoveComposed(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJDCSRCUDARestoreComposed(Mat);
