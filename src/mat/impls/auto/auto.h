#pragma once
/*
  MATAUTOCUDA: CSR or HiSparse, selected while the program runs.
*/
#include "../aijcuda/core/core.h"
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/tuning.h>

/* What a format is selected by. Times are microseconds. */
typedef struct {
  HiSparseFormat format;  /* HISPARSE_CSR: no other is faster */
  double         forward; /* time of a product over that with CSR */
  double         csr;     /* what y = A x takes with CSR, */
  double         gain;    /* and what it saves */
  double         convert; /* cost of the storage, */
  double         list;    /* of what its first transpose product needs, more, */
  double         update;  /* and of new values for all of it */
} AutoPrediction;

/* autostorage.c */
PETSC_INTERN MatDeviceStorageOps       MatDeviceStorageAuto;
PETSC_INTERN const MatDeviceChooserOps MatDeviceChooserAuto;
PETSC_INTERN void                      MatDeviceStorageAutoInitialize(void);
PETSC_INTERN void                      MatSeqAIJAutoCUDAExpect(Mat, PetscCount, PetscCount, PetscBool);

/* autopredict.c */
PETSC_INTERN double         MatAutoCUDAProductTime(const PetscSparseCUDATuning *, DCSRView, int);
PETSC_INTERN PetscErrorCode MatAutoCUDAPredict(DCSRView, const HiSparseSample[], HiSparseFormat, cudaStream_t, AutoPrediction *);

/* auto.c */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJAutoCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJAutoCUDA(Mat);
