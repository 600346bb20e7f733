/*
  MatCreateGraph(): a plain MATAIJ, because PETSc's coarsenings read the graph's host arrays directly. The device computes it, and it comes to the host when it is done. Off the device, and in the
  midst of host code, the parent's code makes it from an alias of our host copy.

  What PCGAMG needs of a graph that stays on the device (src/ksp/pc/impls/gamg) is made of the same parts.
*/
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/graph.h>
#include "graph.h"
#include "../core/core.h"
#include "../host/host.h"
#include "../parallel/parallel.h"

/* Device memory, in copies of the matrix, that a graph takes: itself; with the transpose, what sorts that, and the sum of both. */
#define COPIES_ALONE  1
#define COPIES_SUMMED 5

/* What MatCreateGraph() was asked for. */
typedef struct {
  PetscBool       symmetrize;
  PetscBool       transpose; /* symmetry is wanted and not known */
  PetscBool       scale;
  PetscReal       filter;    /* negative: none */
  PetscInt        num_index; /* rows and columns of a block that count; 0: all */
  const PetscInt *index;     /* [num_index] which */
} GraphWish;

/* A MATSEQAIJ on the host copy's arrays, which stay ours. It is made between MatAIJCUDAHostBegin() and MatAIJCUDAHostFinish(), so that -mat_seqaij_type does not make it ours. */
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

/* The graph of a matrix of ours whose host copy is up to date. */
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
  if (*graph == alias) { // nothing was scaled or filtered; a graph of its own must outlive our host copy
    PetscCall(MatDestroy(graph));
    PetscCall(MatDuplicate(alias, MAT_COPY_VALUES, graph));
  }
  PetscCall(MatDestroy(&alias));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sequential matrices of G on this process, [2]; their number. */
static PetscErrorCode GetBlocks(Mat G, PetscBool is_mpi, Mat blocks[], int *n)
{
  PetscFunctionBegin;
  blocks[0] = is_mpi ? ((Mat_MPIAIJ *)G->data)->A : G;
  blocks[1] = is_mpi ? ((Mat_MPIAIJ *)G->data)->B : NULL;
  *n        = is_mpi ? 2 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device makes the graph, on all processes; transpose: it is to be symmetrized. Collective. */
static PetscErrorCode MakeOnDevice(Mat A, PetscBool is_mpi, PetscBool transpose, PetscBool *device)
{
  const PetscReal bytes = (PetscReal)(transpose ? COPIES_SUMMED : COPIES_ALONE) * (sizeof(PetscScalar) + sizeof(int32_t));
  PetscReal       nz    = 0;
  size_t          available;
  int             n;
  Mat             blocks[2];

  PetscFunctionBegin;
  if (is_mpi) PetscCall(MatMPIAIJCUDAStructureOnDevice(A, device));
  else PetscCall(MatSeqAIJCUDAStructureOnDevice(A, device));
  if (A->rmap->bs > 1) *device = (PetscBool)(*device && A->cmap->bs == A->rmap->bs && A->rmap->N == A->cmap->N && A->rmap->rstart == A->cmap->rstart && A->rmap->rend == A->cmap->rend);
  if (*device) {
    PetscCall(GetBlocks(A, is_mpi, blocks, &n));
    for (int k = 0; k < n; k++) nz += ((Mat_SeqAIJ *)blocks[k]->data)->nz;
    PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
    *device = (PetscBool)(bytes * nz < (PetscReal)available);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sizes of the values of G; couplings of one sign count as zero. */
static PetscErrorCode TakeAbsoluteValues(Mat G, int weak, PetscBool is_mpi)
{
  int          n;
  Mat          blocks[2];
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GetBlocks(G, is_mpi, blocks, &n));
  for (int k = 0; k < n; k++) {
    PetscCall(MatSeqAIJCUDACopyToDevice(blocks[k]));
    PetscCall(DCSRZeroWeak(MatSeqAIJCUDAGet(blocks[k])->device.view, (DCSRWeak){weak, (PetscBool)(k == 0), PETSC_FALSE}, stream));
    PetscCall(DCSRAbsolute(MatSeqAIJCUDAGet(blocks[k])->device.view, stream));
    PetscCall(MatSeqAIJCUDADeviceChanged(blocks[k]));
  }
  if (is_mpi) PetscCall(PetscObjectStateIncrease((PetscObject)G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G becomes G + G^T. */
static PetscErrorCode AddTranspose(Mat G)
{
  Mat            T;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatTranspose(G, MAT_INITIAL_MATRIX, &T));
  ierr = MatAXPY(G, 1.0, T, G->structurally_symmetric == PETSC_BOOL3_TRUE ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN);
  PetscCall(MatDestroy(&T));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonal entries become 1 or -1. */
static PetscErrorCode ScaleDiagonal(Mat G)
{
  Vec            diagonal;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(G, &diagonal, NULL));
  PetscCallGoto(ierr, cleanup, MatGetDiagonal(G, diagonal));
  PetscCallGoto(ierr, cleanup, VecReciprocal(diagonal));
  PetscCallGoto(ierr, cleanup, VecSqrtAbs(diagonal));
  PetscCallGoto(ierr, cleanup, MatDiagonalScale(G, diagonal, diagonal));
cleanup:
  PetscCall(VecDestroy(&diagonal));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDACreateWeights - The graph of a square matrix A with the sizes of its entries, or of its blocks when it has any: a new matrix of A's type; NULL after an error. Collective.

  The structure of A is on the device. absolute: without blocks, absolute values; PETSC_FALSE: the values of A.
  weak, with absolute values: 1, entries off the diagonal with a positive real part count as zero; -1, those with a negative one; 0, none. transpose: those of the transpose are added.
  index: [num_index] which rows and columns of dense blocks count; 0: all.
  Costs a copy, or what MatAIJCUDACollapse() costs; with the transpose, one, and a sum.
*/
PetscErrorCode MatAIJCUDACreateWeights(Mat A, PetscBool absolute, int weak, PetscBool transpose, PetscInt num_index, const PetscInt index[], Mat *G)
{
  PetscBool      is_mpi;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *G = NULL;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  if (A->rmap->bs > 1) PetscCallGoto(ierr, failed, MatAIJCUDACollapse(A, PETSC_TRUE, num_index, index, G));
  else {
    ierr = MatDuplicate(A, MAT_COPY_VALUES, G);
    if (ierr == PETSC_SUCCESS && absolute) ierr = TakeAbsoluteValues(*G, weak, is_mpi);
    if (is_mpi) PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
    if (ierr != PETSC_SUCCESS) goto failed;
  }
  if (transpose) PetscCallGoto(ierr, failed, AddTranspose(*G));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(G);
  PetscFunctionReturn(ierr);
}

/* What MatCreateGraph() documents, but for the filter; then that becomes a MATAIJ. */
static PetscErrorCode ComputeGraph(Mat A, const GraphWish *wish, Mat *graph)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDACreateWeights(A, (PetscBool)(wish->scale || wish->filter >= 0), 0, wish->transpose, wish->num_index, wish->index, graph));
  if (wish->symmetrize) PetscCall(MatSetOption(*graph, MAT_SYMMETRIC, PETSC_TRUE));
  else PetscCall(MatPropagateSymmetryOptions(A, *graph));
  if (wish->scale) PetscCall(ScaleDiagonal(*graph));
  PetscCall(MatAIJCUDAConvertToAIJ(*graph, MAT_INPLACE_MATRIX, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGraphOnDevice(Mat A, const GraphWish *wish, Mat *graph)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *graph = NULL;
  PetscCallGoto(ierr, failed, ComputeGraph(A, wish, graph));
  PetscCallGoto(ierr, failed, MatViewFromOptions(*graph, NULL, "-mat_graph_view"));
  if (wish->filter >= 0) {
    PetscCallGoto(ierr, failed, MatFilter(*graph, wish->filter, PETSC_TRUE, PETSC_TRUE));
    PetscCallGoto(ierr, failed, MatViewFromOptions(*graph, NULL, "-mat_filter_graph_view"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatDestroy(graph));
  PetscFunctionReturn(ierr);
}

/*
  MatCreateGraph_AIJCUDA - The graph of a matrix of ours, as MATAIJ; see MatCreateGraph() for the parameters. Collective.

  Costs on the device two passes over the matrix, with symmetrize (where symmetry is not known) a transpose and a sum; then the copy to the host.
*/
PetscErrorCode MatCreateGraph_AIJCUDA(Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt index_size, PetscInt index[], Mat *graph)
{
  PetscBool      is_mpi, symmetric, device;
  GraphWish      wish = {symmetrize, PETSC_FALSE, scale, filter, index_size, index};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  PetscCall(MatAIJCUDAIsSymmetricKnown(A, &symmetric));
  wish.transpose = (PetscBool)(symmetrize && !symmetric);
  PetscCall(MakeOnDevice(A, is_mpi, wish.transpose, &device));
  if (device) {
    PetscCall(CreateGraphOnDevice(A, &wish, graph));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = CreateGraph(A, symmetrize, scale, filter, index_size, index, graph);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
