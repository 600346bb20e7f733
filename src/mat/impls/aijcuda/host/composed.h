#pragma once
/*
  Wrappers around composed functions ("..._C") of MATSEQAIJ and MATMPIAIJ that use the host arrays directly. The tables of the types (impls/dcsr/composed.c) say which function of
  ours stands in for which.
*/
#include "../core/core.h"

PETSC_INTERN PetscErrorCode MatAIJCUDAHostReplaced(Mat);

/* A function that PETSc looks for under a name with that of our type in it. */
typedef struct {
  const char       *format;   /* of the name; the type stands for each %s, of which there are three at most */
  PetscErrorCodeFn *function; /* NULL: the one that the parent type has, */
  const char       *parent;   /* under this name, if it has one, which reads no array of the matrix itself; otherwise NULL */
} MatAIJCUDANamedFunction;

#define NAMED_FUNCTION(format, function) \
  { \
    format, (PetscErrorCodeFn *)function, NULL \
  }
#define NAMED_PARENT(format, parent) \
  { \
    format, NULL, parent \
  }

/* Products of three matrices: all mixtures of a type of ours and its parent's. PETSc needs no name when all are ours. */
#define NAMED_TRIPLE_PRODUCTS(parent, function) \
  NAMED_FUNCTION("MatProductSetFromOptions_" parent "_" parent "_%s_C", function), NAMED_FUNCTION("MatProductSetFromOptions_" parent "_%s_" parent "_C", function), \
    NAMED_FUNCTION("MatProductSetFromOptions_" parent "_%s_%s_C", function), NAMED_FUNCTION("MatProductSetFromOptions_%s_" parent "_" parent "_C", function), \
    NAMED_FUNCTION("MatProductSetFromOptions_%s_" parent "_%s_C", function), NAMED_FUNCTION("MatProductSetFromOptions_%s_%s_" parent "_C", function)

PETSC_INTERN PetscErrorCode MatAIJCUDAComposeNamed(Mat, MatType, size_t, const MatAIJCUDANamedFunction[], PetscBool);

/* The parent's functions, called through the host copy. */
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
PETSC_INTERN PetscErrorCode MatMPIAIJSetUseScalableIncreaseOverlap_MPIAIJCUDA(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatConvert_AIJCUDA_IS(Mat, MatType, MatReuse, Mat *);
