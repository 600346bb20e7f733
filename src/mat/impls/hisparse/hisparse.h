#pragma once
/*
  MATHISPARSECUDA: the types of a storage that is smaller than CSR. All but the storage is MATDCSRCUDA's.
*/
#include "../aijcuda/core/core.h"
#include <petscsparsecuda/hisparse.h>

/* hisparsestorage.c */
PETSC_INTERN const MatDeviceStorageOps MatDeviceStorageHiSparse;

/* hisparse.c */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJHiSparseCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJHiSparseCUDA(Mat);
