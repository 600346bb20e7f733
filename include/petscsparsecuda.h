#pragma once
/*
  Sparse matrix types for PETSc on NVIDIA GPUs, as an add-on to an unmodified PETSc.

  Load with -dll_append libpetscsparsecuda.so, or link the library and call PetscSparseCUDAInitialize() after PetscInitialize().
*/
#include <petscmat.h>

/* SUBMANSEC = Mat */

#define MATDCSRCUDA       "dcsrcuda"
#define MATAIJDCSRCUDA    "aijdcsrcuda"
#define MATSEQAIJDCSRCUDA "seqaijdcsrcuda"
#define MATMPIAIJDCSRCUDA "mpiaijdcsrcuda"

/*S
  MatDCSRCUDAInserter - What a CUDA kernel needs to put entries into a matrix; passed to kernels by value.

  Level: intermediate

  Note:
  From `MatDCSRCUDAGetInserter()`. Kernels insert with `MatDCSRCUDAInsert()` and `MatDCSRCUDAInsertBlock()` of petscsparsecuda_device.h and leave the members alone.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDAGetInserter()`, `MatDCSRCUDARestoreInserter()`
S*/
typedef struct {
  PetscInt           *rows, *columns; /* [capacity] device memory */
  PetscScalar        *values;         /* [capacity] device memory */
  unsigned long long *count;          /* device memory: entries inserted so far, those for which there is no room included */
  PetscCount          capacity;
  InsertMode          mode; /* for MatDCSRCUDARestoreInserter() */
} MatDCSRCUDAInserter;

PETSC_EXTERN PetscErrorCode PetscSparseCUDAInitialize(void);

PETSC_EXTERN PetscErrorCode MatDCSRCUDAIsValid(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode MatDCSRCUDADefragment(Mat);
PETSC_EXTERN PetscErrorCode MatDCSRCUDASetValuesDevice(Mat, PetscCount, const PetscInt[], const PetscInt[], const PetscScalar[], InsertMode);
PETSC_EXTERN PetscErrorCode MatDCSRCUDAGetMemoryUsed(Mat, PetscCount *);

PETSC_EXTERN PetscErrorCode MatDCSRCUDAGetInserter(Mat, PetscCount, InsertMode, MatDCSRCUDAInserter *);
PETSC_EXTERN PetscErrorCode MatDCSRCUDARestoreInserter(Mat, MatDCSRCUDAInserter *);
