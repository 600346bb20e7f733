/* The composed functions of our types: those that stand in for the parent's, and those that other objects look for by our names. */
#include "type.h"
#include "../../../petsc/parents.h"
#include "../aijcuda/host/composed.h"
#include "../aijcuda/hypre/hypre.h"
#include "../aijcuda/insert/preallocation.h"
#include "../aijcuda/product/product.h"
#include "../aijcuda/transpose/transpose.h"

/* One function that stands in: its name, where the parent's is kept, ours. */
#define SEQ_REPLACED(X) \
  X("MatSeqAIJSetPreallocation_C", setpreallocation, MatSeqAIJSetPreallocation_SeqAIJCUDA) \
  X("MatSeqAIJSetPreallocationCSR_C", setpreallocationcsr, MatSeqAIJSetPreallocationCSR_SeqAIJCUDA) \
  X("MatSeqAIJSetColumnIndices_C", setcolumnindices, MatSeqAIJSetColumnIndices_SeqAIJCUDA) \
  X("MatStoreValues_C", storevalues, MatStoreValues_SeqAIJCUDA) \
  X("MatRetrieveValues_C", retrievevalues, MatRetrieveValues_SeqAIJCUDA) \
  X("MatIsTranspose_C", istranspose, MatIsTranspose_SeqAIJCUDA) \
  X("MatIsHermitianTranspose_C", ishermitiantranspose, MatIsHermitianTranspose_SeqAIJCUDA) \
  X("MatResetPreallocation_C", resetpreallocation, MatResetPreallocation_SeqAIJCUDA) \
  X("MatResetHash_C", resethash, MatResetHash_SeqAIJCUDA) \
  X("MatReorderForNonzeroDiagonal_C", reorder, MatReorderForNonzeroDiagonal_SeqAIJCUDA) \
  X("MatSeqAIJKron_C", kron, MatSeqAIJKron_SeqAIJCUDA) \
  X("MatSetPreallocationCOO_C", setpreallocationcoo, MatSetPreallocationCOO_SeqAIJCUDA) \
  X("MatSetValuesCOO_C", setvaluescoo, MatSetValuesCOO_SeqAIJCUDA)
#define MPI_REPLACED(X) \
  X("MatMPIAIJSetPreallocation_C", setpreallocation, MatMPIAIJSetPreallocation_MPIAIJCUDA) \
  X("MatMPIAIJSetPreallocationCSR_C", setpreallocationcsr, MatMPIAIJSetPreallocationCSR_MPIAIJCUDA) \
  X("MatIsTranspose_C", istranspose, MatIsTranspose_MPIAIJCUDA) \
  X("MatMPIAIJSetUseScalableIncreaseOverlap_C", setscalableoverlap, MatMPIAIJSetUseScalableIncreaseOverlap_MPIAIJCUDA) \
  X("MatResetPreallocation_C", resetpreallocation, MatResetPreallocation_MPIAIJCUDA) \
  X("MatResetHash_C", resethash, MatResetHash_MPIAIJCUDA) \
  X("MatSetPreallocationCOO_C", setpreallocationcoo, MatSetPreallocationCOO_MPIAIJCUDA) \
  X("MatSetValuesCOO_C", setvaluescoo, MatSetValuesCOO_MPIAIJCUDA)

/* Functions under names with our type in them: products, conversions. */
static const MatAIJCUDANamedFunction seq_functions[] = {
  NAMED_FUNCTION("MatProductSetFromOptions_%s_%s_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_seqaij_%s_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_seqaij_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_seqaijcusparse_%s_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_seqaijcusparse_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_seqdense_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_seqdensecuda_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_seqdense_%s_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_seqmaij_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_TRIPLE_PRODUCTS("seqaij", MatProductSetFromOptions_AIJCUDA),
  NAMED_PARENT("MatProductSetFromOptions_is_%s_C", "MatProductSetFromOptions_is_seqaij_C"),
  NAMED_FUNCTION("MatConvert_seqaij_%s_C", MatConvert_SeqAIJ_SeqAIJCUDA),
  NAMED_FUNCTION("MatConvert_%s_seqaij_C", MatConvert_SeqAIJCUDA_SeqAIJ),
  NAMED_FUNCTION("MatConvert_%s_is_C", MatConvert_AIJCUDA_IS),
};
static const MatAIJCUDANamedFunction mpi_functions[] = {
  NAMED_FUNCTION("MatProductSetFromOptions_%s_%s_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_mpiaij_%s_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_mpiaij_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_mpiaijcusparse_%s_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_mpiaijcusparse_C", MatProductSetFromOptions_AIJCUDA),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_mpidense_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_mpidensecuda_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_mpidense_%s_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_mpidensecuda_%s_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_FUNCTION("MatProductSetFromOptions_%s_mpimaij_C", MatProductSetFromOptions_AIJCUDA_Mixed),
  NAMED_TRIPLE_PRODUCTS("mpiaij", MatProductSetFromOptions_AIJCUDA),
  NAMED_PARENT("MatProductSetFromOptions_is_%s_C", "MatProductSetFromOptions_is_mpiaij_C"),
  NAMED_FUNCTION("MatConvert_mpiaij_%s_C", MatConvert_MPIAIJ_MPIAIJCUDA),
  NAMED_FUNCTION("MatConvert_%s_mpiaij_C", MatConvert_MPIAIJCUDA_MPIAIJ),
  NAMED_FUNCTION("MatConvert_%s_is_C", MatConvert_AIJCUDA_IS),
};

/* The same with the names that users say, which a family has for its sequential and its parallel type. */
static const MatAIJCUDANamedFunction seq_user_functions[] = {
  NAMED_FUNCTION("MatConvert_seqaij_%s_C", MatConvert_SeqAIJ_SeqAIJCUDA),
};
static const MatAIJCUDANamedFunction mpi_user_functions[] = {
  NAMED_FUNCTION("MatConvert_mpiaij_%s_C", MatConvert_MPIAIJ_MPIAIJCUDA),
};

static PetscErrorCode ComposeSeq(Mat A, MatType type, PetscBool compose)
{
  const MatAIJCUDATypes *types;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAComposeNamed(A, type, PETSC_STATIC_ARRAY_LENGTH(seq_functions), seq_functions, compose));
  PetscCall(MatAIJCUDAComposeHYPRE(A, type, compose));
  PetscCall(MatAIJCUDATypesFind(type, &types));
  if (types == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAComposeNamed(A, types->root, PETSC_STATIC_ARRAY_LENGTH(seq_user_functions), seq_user_functions, compose));
  PetscCall(MatAIJCUDAComposeNamed(A, types->aij, PETSC_STATIC_ARRAY_LENGTH(seq_user_functions), seq_user_functions, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDACompose - Composes the functions of a MATSEQAIJ that becomes ours; the names are of the type. */
PetscErrorCode MatSeqAIJCUDACompose(Mat A, MatType type)
{
  PetscFunctionBegin;
#define COMPOSE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, ours));
  SEQ_REPLACED(COMPOSE)
#undef COMPOSE
  PetscCall(ComposeSeq(A, type, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDARemoveComposed - Removes the functions with our names, from a matrix that goes. */
PetscErrorCode MatSeqAIJCUDARemoveComposed(Mat A, MatType type)
{
  PetscFunctionBegin;
  PetscCall(ComposeSeq(A, type, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDARestoreComposed - Removes the functions with our names and puts the parent's back, in a matrix that becomes MATSEQAIJ. */
PetscErrorCode MatSeqAIJCUDARestoreComposed(Mat A, MatType type)
{
  PetscFunctionBegin;
#define RESTORE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, MatAIJCUDAParentSeq.field));
  SEQ_REPLACED(RESTORE)
#undef RESTORE
  PetscCall(ComposeSeq(A, type, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComposeMPI(Mat A, const MatAIJCUDATypes *types, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAComposeNamed(A, types->mpi, PETSC_STATIC_ARRAY_LENGTH(mpi_functions), mpi_functions, compose));
  PetscCall(MatAIJCUDAComposeHYPRE(A, types->mpi, compose));
  PetscCall(MatAIJCUDAComposeNamed(A, types->root, PETSC_STATIC_ARRAY_LENGTH(mpi_user_functions), mpi_user_functions, compose));
  PetscCall(MatAIJCUDAComposeNamed(A, types->aij, PETSC_STATIC_ARRAY_LENGTH(mpi_user_functions), mpi_user_functions, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDACompose - MatSeqAIJCUDACompose() for a parallel matrix. */
PetscErrorCode MatMPIAIJCUDACompose(Mat A, const MatAIJCUDATypes *types)
{
  PetscFunctionBegin;
#define COMPOSE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, ours));
  MPI_REPLACED(COMPOSE)
#undef COMPOSE
  PetscCall(ComposeMPI(A, types, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDARemoveComposed - MatSeqAIJCUDARemoveComposed() for a parallel matrix; the parent's destroy removes what ours stands in for. */
PetscErrorCode MatMPIAIJCUDARemoveComposed(Mat A, const MatAIJCUDATypes *types)
{
  PetscFunctionBegin;
  PetscCall(ComposeMPI(A, types, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDARestoreComposed - MatSeqAIJCUDARestoreComposed() for a parallel matrix. */
PetscErrorCode MatMPIAIJCUDARestoreComposed(Mat A, const MatAIJCUDATypes *types)
{
  PetscFunctionBegin;
#define RESTORE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, MatAIJCUDAParentMPI.field));
  MPI_REPLACED(RESTORE)
#undef RESTORE
  PetscCall(ComposeMPI(A, types, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
