#pragma once
/*
  MATHISPARSECUDA: the types of a storage that is smaller than CSR. All but the storage is MATDCSRCUDA's.
*/
#include "../aijcuda/core/core.h"

PETSC_INTERN const MatDeviceStorageOps MatDeviceStorageHiSparse; /* hisparsestorage.c */

/* hisparse.c */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJHiSparseCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJHiSparseCUDA(Mat);
