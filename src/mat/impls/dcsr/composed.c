/* The composed functions of our types: those that stand in for the parent's, and those that other objects look for by our names. */
#include "dcsr.h"
#include "../aijcuda/core/parents.h"
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
  X("MatResetPreallocation_C", resetpreallocation, MatResetPreallocation_MPIAIJCUDA) \
  X("MatResetHash_C", resethash, MatResetHash_MPIAIJCUDA) \
  X("MatSetPreallocationCOO_C", setpreallocationcoo, MatSetPreallocationCOO_MPIAIJCUDA) \
  X("MatSetValuesCOO_C", setvaluescoo, MatSetValuesCOO_MPIAIJCUDA)

/* Composes a function under a name in which the type stands for each %s, or removes it. */
static PetscErrorCode Compose(Mat A, MatType type, const char format[], PetscErrorCodeFn *f)
{
  char name[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), format, type, type));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What only MATDCSRCUDA has: names of both forms of the type, and a test hook. */
static PetscErrorCode ComposeForDCSR(Mat A, PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *))
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDCSRCUDAFragment_C", convert != NULL ? MatDCSRCUDAFragment_Private : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_aijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaij_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_seqaijdcsrcuda_dcsrcuda_C", convert));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComposeSeq(Mat A, MatType type, PetscBool compose)
{
  PetscErrorCode (*product)(Mat)                           = compose ? MatProductSetFromOptions_AIJCUDA : NULL;
  PetscErrorCode (*mixed)(Mat)                             = compose ? MatProductSetFromOptions_AIJCUDA_Mixed : NULL;
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *) = compose ? MatConvert_SeqAIJ_SeqAIJDCSRCUDA : NULL;
  PetscErrorCode (*back)(Mat, MatType, MatReuse, Mat *)    = compose ? MatConvert_SeqAIJDCSRCUDA_SeqAIJ : NULL;
  char      name[256];
  PetscBool dcsr;

  PetscFunctionBegin;
  PetscCall(Compose(A, type, "MatProductSetFromOptions_%s_%s_C", (PetscErrorCodeFn *)product));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_seqaij_%s_C", (PetscErrorCodeFn *)product));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_%s_seqaij_C", (PetscErrorCodeFn *)product));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_seqaijcusparse_%s_C", (PetscErrorCodeFn *)product));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_%s_seqaijcusparse_C", (PetscErrorCodeFn *)product));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_%s_seqdense_C", (PetscErrorCodeFn *)mixed));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_%s_seqdensecuda_C", (PetscErrorCodeFn *)mixed));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_seqdense_%s_C", (PetscErrorCodeFn *)mixed));
  PetscCall(Compose(A, type, "MatProductSetFromOptions_%s_seqmaij_C", (PetscErrorCodeFn *)mixed));
  PetscCall(MatAIJCUDAComposeTripleProducts(A, type, MATSEQAIJ, product));
  PetscCall(PetscSNPrintf(name, sizeof(name), "MatProductSetFromOptions_is_%s_C", type));
  PetscCall(MatAIJCUDAComposeAlias(A, "MatProductSetFromOptions_is_seqaij_C", name, compose));
  PetscCall(Compose(A, type, "MatConvert_seqaij_%s_C", (PetscErrorCodeFn *)convert));
  PetscCall(Compose(A, type, "MatConvert_%s_seqaij_C", (PetscErrorCodeFn *)back));
  PetscCall(Compose(A, type, "MatConvert_%s_is_C", (PetscErrorCodeFn *)(compose ? MatConvert_AIJCUDA_IS : NULL)));
  PetscCall(MatAIJCUDAComposeHYPRE(A, type, compose));
  PetscCall(PetscStrcmp(type, MATSEQAIJDCSRCUDA, &dcsr));
  if (dcsr) PetscCall(ComposeForDCSR(A, convert));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJDCSRCUDACompose - Composes the functions of a sequential matrix.

  Not Collective

  Input Parameters:
+ A    - a MATSEQAIJ that becomes ours
- type - the type that the names are of
*/
PetscErrorCode MatSeqAIJDCSRCUDACompose(Mat A, MatType type)
{
  PetscFunctionBegin;
#define COMPOSE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, ours));
  SEQ_REPLACED(COMPOSE)
#undef COMPOSE
  PetscCall(ComposeSeq(A, type, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJDCSRCUDARemoveComposed - Removes the functions with our names, from a matrix that goes.
*/
PetscErrorCode MatSeqAIJDCSRCUDARemoveComposed(Mat A, MatType type)
{
  PetscFunctionBegin;
  PetscCall(ComposeSeq(A, type, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJDCSRCUDARestoreComposed - Removes the functions with our names and puts the parent's back, in a matrix that becomes MATSEQAIJ.
*/
PetscErrorCode MatSeqAIJDCSRCUDARestoreComposed(Mat A, MatType type)
{
  PetscFunctionBegin;
#define RESTORE(name, field, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, MatAIJCUDAParentSeq.field));
  SEQ_REPLACED(RESTORE)
#undef RESTORE
  PetscCall(ComposeSeq(A, type, PETSC_FALSE));
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
  PetscCall(MatAIJCUDAComposeHYPRE(A, MATMPIAIJDCSRCUDA, compose));
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
