#pragma once
/*
  Thunks around composed functions ("..._C") of MATSEQAIJ and MATMPIAIJ that use the host arrays directly. The tables of the types (impls/dcsr/composed.c) say which function of
  ours stands in for which.
*/
#include "../core/core.h"

PETSC_INTERN PetscErrorCode MatAIJCUDAHostReplaced(Mat);
PETSC_INTERN PetscErrorCode MatAIJCUDAComposeTripleProducts(Mat, const char[], const char[], PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode MatAIJCUDAComposeAlias(Mat, const char[], const char[], PetscBool);

/* The parent's functions, called through the mirror. */
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_SetPreallocation(Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_ResetHash(Mat);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_SetColumnIndices(Mat, PetscInt *);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_ResetPreallocation(Mat);
PETSC_INTERN PetscErrorCode MatHost_MPIAIJCUDA_ResetPreallocation(Mat);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_IsTranspose(Mat, Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_IsHermitianTranspose(Mat, Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJSetPreallocationCSR_SeqAIJCUDA(Mat, const PetscInt[], const PetscInt[], const PetscScalar[]);
PETSC_INTERN PetscErrorCode MatStoreValues_SeqAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatRetrieveValues_SeqAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatReorderForNonzeroDiagonal_SeqAIJCUDA(Mat, PetscReal, IS, IS);
PETSC_INTERN PetscErrorCode MatSeqAIJKron_SeqAIJCUDA(Mat, Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatIsTranspose_MPIAIJCUDA(Mat, Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatConvert_AIJCUDA_IS(Mat, MatType, MatReuse, Mat *);
