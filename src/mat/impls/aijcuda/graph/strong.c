/*
  The strong entries of a matrix: those whose absolute value is above a threshold when rows and columns are scaled so that the diagonal is one. The diagonal has no privilege.
*/
#include "graph.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/graph.h>

/* What scales the rows and columns of this process; collective because a vector is made. */
static PetscErrorCode CreateScaling(Mat G, Vec *scaling)
{
  HostVecBuffer  buffer = {NULL, 0};
  DeviceArray    array;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  array.v = NULL;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatCreateVecs(G, scaling, NULL));
  PetscCallGoto(ierr, cleanup, MatGetDiagonal(G, *scaling));
  PetscCallGoto(ierr, cleanup, GetDeviceArray(G, *scaling, G->rmap->n, ARRAY_READ_WRITE, &buffer, stream, &array));
  PetscCallGoto(ierr, cleanup, DCSRGetStrengthScaling(array.n, array.device, stream));
cleanup:
  ierr = RestoreDeviceArray(&array, stream, ierr);
  PetscCall(PetscSparseCUDAFree(&buffer.array, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The strong entries of a block, owned by the caller, zero when all are; rows are scaled by left, columns by right; weak: couplings that count as zero. */
static PetscErrorCode GetStrongBlock(Mat G, Mat block, Vec left, Vec right, PetscReal threshold, DCSRWeak weak, cudaStream_t stream, DCSRView *view)
{
  HostVecBuffer  buffers[2] = {{NULL, 0}, {NULL, 0}};
  DeviceArray    arrays[2];
  DCSRDeletion   deletion;
  DCSRView       all;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  arrays[0].v = arrays[1].v = NULL;
  PetscCall(MatSeqAIJCUDAGetCompact(block, &all));
  PetscCallGoto(ierr, cleanup, GetDeviceArray(G, left, block->rmap->n, ARRAY_READ, &buffers[0], stream, &arrays[0]));
  PetscCallGoto(ierr, cleanup, GetDeviceArray(G, right, block->cmap->n, ARRAY_READ, &buffers[1], stream, &arrays[1]));
  PetscCallGoto(ierr, cleanup, DCSRGetStrong(all, arrays[0].device, arrays[1].device, threshold, weak, stream, view, &deletion));
cleanup:
  for (int k = 0; k < 2; k++) {
    ierr = RestoreDeviceArray(&arrays[k], stream, ierr);
    PetscCall(PetscSparseCUDAFree(&buffers[k].array, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All blocks. Collective. */
static PetscErrorCode CreateStrong(Mat G, PetscBool mpi, Vec scaling, PetscReal threshold, int weak, PetscBool keeps, cudaStream_t stream, Mat *S)
{
  const Mat_MPIAIJ *g = (const Mat_MPIAIJ *)G->data;
  DCSRView          views[2];
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(views, 2));
  if (mpi) PetscCall(MatMPIAIJCUDAScatter(G, scaling, g->lvec, INSERT_VALUES, SCATTER_FORWARD));
  ierr = GetStrongBlock(G, mpi ? g->A : G, scaling, scaling, threshold, (DCSRWeak){weak, PETSC_TRUE, keeps}, stream, &views[0]);
  if (ierr == PETSC_SUCCESS && mpi) ierr = GetStrongBlock(G, g->B, scaling, g->lvec, threshold, (DCSRWeak){weak, PETSC_FALSE, PETSC_FALSE}, stream, &views[1]);
  PetscCall(MatAIJCUDACreateReduced(G, views, ierr, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDACreateStrong - The strong entries of a square matrix G without blocks, whose structure is on the device. Collective.

  S is of G's type: entries (i, j) with |g_ij| sqrt(1 / |g_ii|) sqrt(1 / |g_jj|) > threshold >= 0, with their values in G; a diagonal entry that is missing or zero counts as an infinite one.
  weak: 1, entries off the diagonal with a positive real part count as zero; -1, those with a negative one; 0, none. keeps: stored diagonal entries are strong, whatever they are, as with MatFilter().
  S is NULL after an error, which is on all processes. Costs three passes over the matrix, and a scatter of one number a row.
*/
PetscErrorCode MatAIJCUDACreateStrong(Mat G, PetscReal threshold, int weak, PetscBool keeps, Mat *S)
{
  Vec            scaling = NULL;
  PetscBool      is_mpi;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *S = NULL;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatIsMPIAIJCUDA(G, &is_mpi));
  ierr = CreateScaling(G, &scaling);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)G), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, CreateStrong(G, is_mpi, scaling, threshold, weak, keeps, stream, S));
cleanup:
  PetscCall(VecDestroy(&scaling));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
