#pragma once
/*
  What the parent types have beside their tables of operations: composed functions ("..._C"). They are the same for all matrices of a type, so they are asked for once, from
  scratch matrices. Operations of the table are captured by each matrix (parent of Mat_SeqAIJCUDA and Mat_MPIAIJCUDA), since the parent changes them.
*/
#include "mat.h"

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
  X("MatMPIAIJSetUseScalableIncreaseOverlap_C", setscalableoverlap, (Mat, PetscBool)) \
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
