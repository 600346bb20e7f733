/* Whether the pattern of a matrix is symmetric, and the symmetric pattern that has it. */
#include "graph.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/pattern.h>

/* MatAIJCUDAIsSymmetricKnown - Whether A is known to be symmetric. */
PetscErrorCode MatAIJCUDAIsSymmetricKnown(Mat A, PetscBool *symmetric)
{
  PetscBool known;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(A, &known, symmetric));
  *symmetric = (PetscBool)(known && *symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the rows of this process add to the skewness. */
static PetscErrorCode GetSkewness(Mat A, PetscBool is_mpi, uint64_t skewness[])
{
  const PetscInt begin     = A->rmap->rstart;
  const Mat      blocks[2] = {is_mpi ? MatMPIAIJCUDAGetBlock(A, 0) : A, is_mpi ? MatMPIAIJCUDAGetBlock(A, 1) : NULL};
  uint64_t       part[DCSR_PATTERN_WORDS];
  DCSRView       views[2];
  cudaStream_t   stream;
  JoinedColumns  columns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (int k = 0; k < (is_mpi ? 2 : 1); k++) PetscCall(MatSeqAIJCUDAGetCompact(blocks[k], &views[k]));
  PetscCall(DCSRPatternSkewness(views[0], begin, begin, NULL, stream, skewness));
  if (!is_mpi) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(JoinedColumnsCreateOf(A, stream, &columns));
  ierr = DCSRPatternSkewness(views[1], begin, 0, columns.device.ghosts, stream, part);
  PetscCall(JoinedColumnsDestroy(&columns, stream));
  PetscCall(ierr);
  for (int k = 0; k < DCSR_PATTERN_WORDS; k++) skewness[k] += part[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAHasSymmetricPattern - Whether every entry of A, square and with its structure on the device, has a partner across the diagonal, whatever was said of A. Collective.

  Errors are on all processes. Costs one read of the structure, and a reduction of 16 bytes.
*/
PetscErrorCode MatAIJCUDAHasSymmetricPattern(Mat A, PetscBool *symmetric)
{
  uint64_t       skewness[DCSR_PATTERN_WORDS] = {0, 0};
  PetscBool      is_mpi;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  ierr = GetSkewness(A, is_mpi, skewness);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, skewness, DCSR_PATTERN_WORDS, MPI_UINT64_T, MPI_SUM, PetscObjectComm((PetscObject)A)));
  *symmetric = (PetscBool)(skewness[0] == 0 && skewness[1] == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDACreateSymmetricPattern - A matrix with the entries of A, square and with its structure on the device, and of its transpose; the values have no meaning. Collective.

  G is A itself, with one more reference, when its pattern is symmetric; otherwise a new matrix of A's type; NULL after an error.
  Costs MatAIJCUDAHasSymmetricPattern(); and when the pattern is not symmetric, a transpose and a sum.
*/
PetscErrorCode MatAIJCUDACreateSymmetricPattern(Mat A, Mat *G)
{
  PetscBool      symmetric;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *G = NULL;
  PetscCall(MatAIJCUDAHasSymmetricPattern(A, &symmetric));
  if (symmetric) {
    PetscCall(PetscObjectReference((PetscObject)A));
    *G = A;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, G));
  ierr = MatAXPY(*G, 1.0, A, DIFFERENT_NONZERO_PATTERN);
  if (ierr != PETSC_SUCCESS) (void)MatDestroy(G);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
