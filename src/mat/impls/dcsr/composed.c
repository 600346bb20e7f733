/* The composed functions of our types: those that stand in for the parent's, and those that other objects look for by our names. */
#include <petscsparsecuda/dcsrimpl.h>
#include <petscsparsecuda/composed.h>
#include <petscsparsecuda/preallocation.h>

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
  X("MatResetPreallocation_C", resetpreallocation, MatResetPreallocation_MPIAIJCUDA) \
  X("MatResetHash_C", resethash, MatResetHash_MPIAIJCUDA) \
  X("MatSetPreallocationCOO_C", setpreallocationcoo, MatSetPreallocationCOO_MPIAIJCUDA) \
  X("MatSetValuesCOO_C", setvaluescoo, MatSetValuesCOO_MPIAIJCUDA)

static PetscErrorCode ComposeSeq(Mat A, PetscBool compose)
{
  PetscErrorCode (*product)(Mat)                           = compose ? MatProductSetFromOptions_AIJCUDA : NULL;
  PetscErrorCode (*mixed)(Mat)                             = compose ? MatProductSetFromOptions_AIJCUDA_Mixed : NULL;
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *) = compose ? MatConvert_SeqAIJ_SeqAIJDCSRCUDA : NULL;
  PetscErrorCode (*back)(Mat, MatType, MatReuse, Mat *)    = compose ? MatConvert_SeqAIJDCSRCUDA_SeqAIJ : NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijdcsrcuda_seqaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaij_seqaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijdcsrcuda_seqaij_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijcusparse_seqaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijdcsrcuda_seqaijcusparse_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijdcsrcuda_seqdense_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijdcsrcuda_seqdensecuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqdense_seqaijdcsrcuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijdcsrcuda_seqmaij_C", mixed));
  PetscCall(MatAIJCUDAComposeTripleProducts(A, MATSEQAIJDCSRCUDA, MATSEQAIJ, product));
  PetscCall(MatAIJCUDAComposeAlias(A, "MatProductSetFromOptions_is_seqaij_C", "MatProductSetFromOptions_is_seqaijdcsrcuda_C", compose));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDCSRCUDAFragment_C", compose ? MatDCSRCUDAFragment_Private : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_seqaijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_aijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijdcsrcuda_seqaij_C", back));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijdcsrcuda_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijdcsrcuda_is_C", compose ? MatConvert_AIJCUDA_IS : NULL));
  PetscCall(MatAIJCUDAComposeHYPRE(A, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJDCSRCUDACompose - Composes the functions of a sequential matrix.

  Not Collective

  Input Parameter:
. A - a MATSEQAIJ that becomes ours
*/
PetscErrorCode MatSeqAIJDCSRCUDACompose(Mat A)
{
  PetscFunctionBegin;
#define COMPOSE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, ours));
  SEQ_REPLACED(COMPOSE)
#undef COMPOSE
  PetscCall(ComposeSeq(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJDCSRCUDARemoveComposed - Removes the functions with our names, from a matrix that goes.
*/
PetscErrorCode MatSeqAIJDCSRCUDARemoveComposed(Mat A)
{
  PetscFunctionBegin;
  PetscCall(ComposeSeq(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJDCSRCUDARestoreComposed - Removes the functions with our names and puts the parent's back, in a matrix that becomes MATSEQAIJ.
*/
PetscErrorCode MatSeqAIJDCSRCUDARestoreComposed(Mat A)
{
  PetscFunctionBegin;
#define RESTORE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, MatAIJCUDAParentSeq.field));
  SEQ_REPLACED(RESTORE)
#undef RESTORE
  PetscCall(ComposeSeq(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComposeMPI(Mat A, PetscBool compose)
{
  PetscErrorCode (*product)(Mat)                           = compose ? MatProductSetFromOptions_AIJCUDA : NULL;
  PetscErrorCode (*mixed)(Mat)                             = compose ? MatProductSetFromOptions_AIJCUDA_Mixed : NULL;
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *) = compose ? MatConvert_MPIAIJ_MPIAIJDCSRCUDA : NULL;
  PetscErrorCode (*back)(Mat, MatType, MatReuse, Mat *)    = compose ? MatConvert_MPIAIJDCSRCUDA_MPIAIJ : NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpiaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaij_mpiaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpiaij_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpidense_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpidensecuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpidense_mpiaijdcsrcuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpidensecuda_mpiaijdcsrcuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpimaij_C", mixed));
  PetscCall(MatAIJCUDAComposeTripleProducts(A, MATMPIAIJDCSRCUDA, MATMPIAIJ, product));
  PetscCall(MatAIJCUDAComposeAlias(A, "MatProductSetFromOptions_is_mpiaij_C", "MatProductSetFromOptions_is_mpiaijdcsrcuda_C", compose));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDCSRCUDAFragment_C", compose ? MatDCSRCUDAFragment_Private : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_aijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijdcsrcuda_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijdcsrcuda_mpiaij_C", back));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijdcsrcuda_is_C", compose ? MatConvert_AIJCUDA_IS : NULL));
  PetscCall(MatAIJCUDAComposeHYPRE(A, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJDCSRCUDACompose - MatSeqAIJDCSRCUDACompose() for a parallel matrix.
*/
PetscErrorCode MatMPIAIJDCSRCUDACompose(Mat A)
{
  PetscFunctionBegin;
#define COMPOSE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, ours));
  MPI_REPLACED(COMPOSE)
#undef COMPOSE
  PetscCall(ComposeMPI(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJDCSRCUDARemoveComposed - MatSeqAIJDCSRCUDARemoveComposed() for a parallel matrix; the parent's destroy removes what ours stands in for.
*/
PetscErrorCode MatMPIAIJDCSRCUDARemoveComposed(Mat A)
{
  PetscFunctionBegin;
  PetscCall(ComposeMPI(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJDCSRCUDARestoreComposed - MatSeqAIJDCSRCUDARestoreComposed() for a parallel matrix.
*/
PetscErrorCode MatMPIAIJDCSRCUDARestoreComposed(Mat A)
{
  PetscFunctionBegin;
#define RESTORE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, MatAIJCUDAParentMPI.field));
  MPI_REPLACED(RESTORE)
#undef RESTORE
  PetscCall(ComposeMPI(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
