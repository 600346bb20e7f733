/* PCGAMG's graph: a plain MATAIJ made by the parent's code from an alias of our host mirror, because coarsening reads the graph's host arrays directly. */
#include <petscsparsecuda/aijcuda.h>

/* A MATSEQAIJ on the mirror's arrays, which stay ours. */
static PetscErrorCode CreateAlias_Seq(Mat A, Mat *alias)
{
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, A->rmap->n, A->cmap->n, a->i, a->j, a->a, alias));
  PetscCall(MatSetBlockSizesFromMats(*alias, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same in parallel; both blocks are aliases. */
static PetscErrorCode CreateAlias_MPI(Mat A, Mat *alias)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscInt    n = a->B->cmap->n, *garray;
  Mat         diagonal, off_diagonal;

  PetscFunctionBegin;
  PetscCall(CreateAlias_Seq(a->A, &diagonal));
  PetscCall(CreateAlias_Seq(a->B, &off_diagonal));
  PetscCall(MatSetBlockSizes(diagonal, A->rmap->bs, A->cmap->bs));
  PetscCall(PetscMalloc1(n, &garray));
  PetscCall(PetscArraycpy(garray, a->garray, n));
  PetscCall(MatCreateMPIAIJWithSeqAIJ(PetscObjectComm((PetscObject)A), A->rmap->N, A->cmap->N, diagonal, off_diagonal, garray, alias));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph of a matrix of ours whose mirror is up to date. */
static PetscErrorCode CreateGraph(Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt index_size, PetscInt index[], Mat *graph)
{
  Mat       alias;
  PetscBool is_mpi;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  if (is_mpi) PetscCall(CreateAlias_MPI(A, &alias));
  else PetscCall(CreateAlias_Seq(A, &alias));
  PetscCall(MatPropagateSymmetryOptions(A, alias));
  PetscCall(MatCreateGraph(alias, symmetrize, scale, filter, index_size, index, graph));
  if (*graph == alias) { // nothing was scaled or filtered; a graph of its own must outlive our mirror
    PetscCall(MatDestroy(graph));
    PetscCall(MatDuplicate(alias, MAT_COPY_VALUES, graph));
  }
  PetscCall(MatDestroy(&alias));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCreateGraph_AIJCUDA - The graph of a matrix of ours, as MATAIJ; see MatCreateGraph() for the parameters.
*/
PetscErrorCode MatCreateGraph_AIJCUDA(Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt index_size, PetscInt index[], Mat *graph)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = CreateGraph(A, symmetrize, scale, filter, index_size, index, graph);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
