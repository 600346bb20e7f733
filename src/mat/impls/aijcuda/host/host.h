#pragma once
/*
  The code of the parent types, called through the host copy: conversions, factorizations, and code of PETSc that knows nothing of us.
*/
#include "../core/core.h"

/* wrappers.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetWrappers(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_copy(Mat, Mat, MatStructure);

/* mpiwrappers.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetWrappers(Mat, struct _MatOps *);

/* conversions.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAConvertToAIJ(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_AIJCUDA(Mat, MatType, MatReuse, Mat *);

/* subclasses.c */
PETSC_INTERN PetscErrorCode MatSeqAIJSetType_AIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJ_AIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJKeepDuplicates_AIJCUDA(Mat);
PETSC_INTERN PetscBool      MatAIJCUDAChangesType(Mat);
PETSC_INTERN PetscErrorCode MatAIJCUDASave(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatAIJCUDAForgetSaved(void);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterSubclasses(void);
PETSC_INTERN PetscErrorCode MatAIJCUDARestoreSaved(Mat, MatType);

/* copyhash.c */
PETSC_INTERN PetscErrorCode MatCopyHashToXAIJ_AIJCUDA(Mat, Mat);

/* fdcoloring.c */
PETSC_INTERN PetscErrorCode MatAIJCUDATakeColoringValues(Mat);
PETSC_INTERN PetscErrorCode MatAIJCUDAReturnColorings(Mat);

/* rowaccess.c */
PETSC_INTERN PetscErrorCode MatAIJCUDASetRowAccessOps(struct _MatOps *, PetscBool);

/* factor.c */
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterFactors(void);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterFactorsOf(MatType);

/* factornested.c */
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterNestedFactors(void);

/* foreign.c */
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterForeign(void);

/* events.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAListen(void);
PETSC_INTERN PetscBool      MatAIJCUDAListens(void);

/* maij.c */
PETSC_INTERN PetscErrorCode MatMAIJPrepare_AIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatMAIJShowMatrixBelow_AIJCUDA(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterMAIJ(void);
