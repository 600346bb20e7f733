#pragma once
/*
  Values on their way to the device: MatSetValues(), lists of coordinates, kernels that insert.
*/
#include "../core/core.h"

/* coopattern.c */
PETSC_INTERN PetscErrorCode MatCOOPatternAttach(Mat, const char[], MatAIJCUDAPattern *);
PETSC_INTERN PetscErrorCode MatCOOPatternCheck(Mat, const char[], PetscBool *);

/* insert.c */
PETSC_INTERN PetscBool      MatSeqAIJCUDABuildsOnDevice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertsOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATakesValuesOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscBool      MatSeqAIJCUDAOptionChangesInsertion(Mat, MatOption, PetscBool);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetInsertOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatAIJCUDACheckIndices(PetscInt, const PetscInt[], PetscInt, const char[]);

PETSC_INTERN PetscErrorCode MatAIJCUDAStage(DCSRStage, const DCSRStageFormat *, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], PetscBool);

/* insertlocal.c */
PETSC_INTERN PetscErrorCode MatAIJCUDASetValuesLocal(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode,
                                                     PetscErrorCode (*)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[], const PetscScalar[], InsertMode));

/* preallocation.c */
PETSC_INTERN PetscErrorCode MatAIJCUDACheckPreallocation(PetscInt, PetscInt, PetscInt, const PetscInt[]);

/* mpiinsert.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAAgreeBound(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAInsertsOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDATakesValuesOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAFinishInsertion(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAInsertEntries(Mat, PetscCount, const PetscInt[], const PetscInt[], const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatAssemblyEndDevice_MPIAIJCUDA(Mat, MatAssemblyType, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetInsertOps(Mat, struct _MatOps *);

/* setrandom.c */
PETSC_INTERN PetscErrorCode MatSetRandom_SeqAIJCUDA(Mat, PetscRandom);
PETSC_INTERN PetscErrorCode MatSetRandom_MPIAIJCUDA(Mat, PetscRandom);

/* coo.c */
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_SeqAIJCUDA_Device(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_SeqAIJCUDA_Device(Mat, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDABuildView(Mat, DCSRList *, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetListValues(Mat, const DCSRList *, const PetscScalar[], const PetscScalar[], PetscCount, InsertMode);
PETSC_INTERN PetscErrorCode MatCOODevice_Remove(Mat);
PETSC_INTERN PetscErrorCode MatCOODevice_Has(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatCOODevice_Check(Mat);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGetDeviceCopy(const void *, size_t, cudaStream_t, const void **, void **);

/* mpicoo.c */
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA_Device(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_MPIAIJCUDA_Device(Mat, const PetscScalar[], InsertMode);
