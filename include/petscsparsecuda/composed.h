#pragma once
/*
  Composed functions ("..._C") of MATSEQAIJ and MATMPIAIJ: what the parent types have, and thunks around those that use the host arrays directly. The tables of the types
  (impls/dcsr/composed.c) say which of ours stands in for which.
*/
#include <petscsparsecuda/aijcuda.h>

/* X(name, field, parameters) */
#define PARENT_SEQ_FUNCTIONS(X) \
  X("MatSeqAIJSetPreallocation_C", setpreallocation, (Mat, PetscInt, const PetscInt[])) \
  X("MatSeqAIJSetPreallocationCSR_C", setpreallocationcsr, (Mat, const PetscInt[], const PetscInt[], const PetscScalar[])) \
  X("MatSeqAIJSetColumnIndices_C", setcolumnindices, (Mat, PetscInt *)) \
  X("MatStoreValues_C", storevalues, (Mat)) \
  X("MatRetrieveValues_C", retrievevalues, (Mat)) \
  X("MatIsTranspose_C", istranspose, (Mat, Mat, PetscReal, PetscBool *)) \
  X("MatIsHermitianTranspose_C", ishermitiantranspose, (Mat, Mat, PetscReal, PetscBool *)) \
  X("MatResetPreallocation_C", resetpreallocation, (Mat)) \
  X("MatResetHash_C", resethash, (Mat)) \
  X("MatReorderForNonzeroDiagonal_C", reorder, (Mat, PetscReal, IS, IS)) \
  X("MatSeqAIJKron_C", kron, (Mat, Mat, MatReuse, Mat *)) \
  X("MatSetPreallocationCOO_C", setpreallocationcoo, (Mat, PetscCount, PetscInt[], PetscInt[])) \
  X("MatSetValuesCOO_C", setvaluescoo, (Mat, const PetscScalar[], InsertMode))
#define PARENT_MPI_FUNCTIONS(X) \
  X("MatMPIAIJSetPreallocation_C", setpreallocation, (Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[])) \
  X("MatMPIAIJSetPreallocationCSR_C", setpreallocationcsr, (Mat, const PetscInt[], const PetscInt[], const PetscScalar[])) \
  X("MatIsTranspose_C", istranspose, (Mat, Mat, PetscReal, PetscBool *)) \
  X("MatResetPreallocation_C", resetpreallocation, (Mat)) \
  X("MatResetHash_C", resethash, (Mat)) \
  X("MatSetPreallocationCOO_C", setpreallocationcoo, (Mat, PetscCount, PetscInt[], PetscInt[])) \
  X("MatSetValuesCOO_C", setvaluescoo, (Mat, const PetscScalar[], InsertMode))

/* The parent's functions; set once by MatAIJCUDACaptureParents(), and destroy() from the table of operations: a matrix whose header was merged has no record of its own. */
#define FIELD(name, field, parameters) PetscErrorCode(*field) parameters;
typedef struct {
  PARENT_SEQ_FUNCTIONS(FIELD)
  PetscErrorCode (*destroy)(Mat);
} MatAIJCUDAParentSeqFunctions;
typedef struct {
  PARENT_MPI_FUNCTIONS(FIELD)
  PetscErrorCode (*destroy)(Mat);
} MatAIJCUDAParentMPIFunctions;
#undef FIELD
PETSC_INTERN MatAIJCUDAParentSeqFunctions MatAIJCUDAParentSeq;
PETSC_INTERN MatAIJCUDAParentMPIFunctions MatAIJCUDAParentMPI;

PETSC_INTERN PetscErrorCode MatAIJCUDACaptureParents(void);
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
