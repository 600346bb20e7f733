/*
  The nonzero pattern of DMCreateMatrix() of a DMDA, as PETSc's dm/impls/da/fdda.c makes it on the host, made on the device. What PETSc preallocates there, which may be more than it uses, is what
  MatGetInfo() reports.
*/
#include "da.h"
#include "../../../mat/impls/aijcuda/core/core.h"
#include "../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda/stencil.h>
#include "../../../petsc/dm.h"

#define MAX_FILLED 10000 /* unknowns of a point with fills, whose lists have up to three times the square of that */

/* Unknowns of the smallest box of the grid. */
static PetscErrorCode SmallestBox(DM dm, PetscInt64 *unknowns)
{
  DM_DA          *dd = (DM_DA *)dm->data;
  PetscInt        boxes[3];
  const PetscInt *widths[3];

  PetscFunctionBegin;
  *unknowns = 1;
  PetscCall(DMDAGetInfo(dm, NULL, NULL, NULL, NULL, &boxes[0], &boxes[1], &boxes[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(dm, &widths[0], &widths[1], &widths[2]));
  for (PetscInt k = 0; k < dm->dim; k++) {
    PetscInt least = widths[k][0];

    for (PetscInt b = 1; b < boxes[k]; b++) least = PetscMin(least, widths[k][b]);
    *unknowns *= least;
  }
  *unknowns *= dd->w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills in one dimension, which PETSc makes in its own way: for a stencil of one point to either side, and only where every process has two points does it enter each row once. */
static PetscErrorCode SupportsFillsIn1D(DM dm, PetscBool *supports)
{
  DM_DA          *dd = (DM_DA *)dm->data;
  const PetscInt *widths;

  PetscFunctionBegin;
  *supports = (PetscBool)(dd->s <= 1 && dd->dfill != NULL);
  PetscCall(DMDAGetOwnershipRanges(dm, &widths, NULL, NULL));
  for (PetscInt b = 0; b < dd->m; b++)
    if (widths[b] < 2) *supports = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DMDAHasStencilOfDevice - Whether the device can make the pattern of a matrix of a DMDA. Collective
  PETSC_FALSE, on all processes: when nothing is to be preallocated or only structure is wanted, when a matrix will be bound to the CPU (-dm_bind_below), for a part of a DMDA that the additive Schwarz
  method has made, for preallocation alone in one dimension, which takes PETSc no time, when columns do not fit into 32 bits, and when a process has no usable device. Cost: one reduction of a flag,
  when all else allows it.
*/
PetscErrorCode DMDAHasStencilOfDevice(DM dm, PetscBool *has)
{
  DM_DA     *dd = (DM_DA *)dm->data;
  PetscInt64 least;

  PetscFunctionBegin;
  *has = PETSC_FALSE;
  if (dm->prealloc_skip || dm->structure_only || dd->xo != 0 || dd->yo != 0 || dd->zo != 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (dm->dim == 3 && dd->bz == DM_BOUNDARY_PERIODIC && dd->P < dd->s) PetscFunctionReturn(PETSC_SUCCESS); // around one layer of points PETSc's numbering of ghost points is another one
  if (dm->dim == 1 && dm->prealloc_only) PetscFunctionReturn(PETSC_SUCCESS);
  if ((double)dd->M * (double)dd->N * (double)dd->P * (double)dd->w > (double)PETSC_INT32_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  if (dd->ofill != NULL && dd->w > MAX_FILLED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SmallestBox(dm, &least));
  if (least < dm->bind_below) PetscFunctionReturn(PETSC_SUCCESS);
  *has = PETSC_TRUE;
  if (dm->dim == 1 && dd->ofill != NULL) PetscCall(SupportsFillsIn1D(dm, has));
  if (!*has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDADeviceUsable(has));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, has, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a boundary means for the pattern: in two and three dimensions PETSc enters no column for ghost points outside of the grid, in one dimension, without fills, those of mirrors. */
static DCSRGridEnds EndsOf(DM dm, DMBoundaryType boundary)
{
  const DM_DA *dd = (const DM_DA *)dm->data;

  if (boundary == DM_BOUNDARY_PERIODIC) return DCSR_GRID_WRAP;
  return boundary == DM_BOUNDARY_MIRROR && dm->dim == 1 && dd->ofill == NULL ? DCSR_GRID_REFLECT : DCSR_GRID_CUT;
}

static PetscErrorCode CreateStencil(DM dm, DCSRStencil *stencil)
{
  static const PetscInt one           = 1;
  DM_DA                *dd            = (DM_DA *)dm->data;
  const PetscInt        boxes[3]      = {dd->m, dd->n, dd->p}, *widths[3];
  const DMBoundaryType  boundaries[3] = {dd->bx, dd->by, dd->bz};
  DCSRGridStencil       grid = {.width = dd->s, .star = (PetscBool)(dd->stencil_type == DMDA_STENCIL_STAR), .dof = dd->w, .center_fill = dd->ofill != NULL ? dd->dfill : NULL, .other_fill = dd->ofill};
  PetscMPIInt           rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)dm), &rank));
  PetscCall(DMDAGetOwnershipRanges(dm, &widths[0], &widths[1], &widths[2]));
  for (PetscInt k = 0, number = rank; k < 3; k++) {
    if (k >= dm->dim) grid.axes[k] = (DCSRGridAxis){1, &one, 0, DCSR_GRID_CUT};
    else grid.axes[k] = (DCSRGridAxis){boxes[k], widths[k], number % boxes[k], EndsOf(dm, boundaries[k])};
    number /= grid.axes[k].num_boxes;
  }
  PetscCall(DCSRStencilCreate(&grid, stencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc preallocates entries that a stencil reaches twice around a short axis once. */
static PetscBool DropsRepeats(DM dm)
{
  const DM_DA   *dd       = (const DM_DA *)dm->data;
  const PetscInt boxes[3] = {dd->m, dd->n, dd->p}, points[3] = {dd->M, dd->N, dd->P};

  for (PetscInt k = 0; k < dm->dim; k++)
    if (dm->dim > 1 && boxes[k] == 1 && 2 * dd->s >= points[k]) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* -dm_preallocate_only: what PETSc preallocates, and no entries. */
static PetscErrorCode Preallocate(DM dm, DCSRStencil stencil, Mat A)
{
  const DM_DA    *dd   = (const DM_DA *)dm->data;
  const PetscBool none = (PetscBool)(dd->bx == DM_BOUNDARY_NONE && dd->by == DM_BOUNDARY_NONE && (dm->dim == 2 || dd->bz == DM_BOUNDARY_NONE));
  PetscInt       *own = NULL, *others = NULL;
  PetscBool       seq;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (none && dd->ofill == NULL) PetscCall(MatSetOption(A, MAT_SORTED_FULL, PETSC_TRUE));
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(PetscMalloc2(A->rmap->n, &own, A->rmap->n, &others));
  PetscCallGoto(ierr, cleanup, DCSRStencilCountRows(stencil, (PetscBool)!DropsRepeats(dm), own, seq ? NULL : others));
  if (seq) PetscCallGoto(ierr, cleanup, MatSeqAIJSetPreallocation(A, 0, own));
  else PetscCallGoto(ierr, cleanup, MatMPIAIJSetPreallocation(A, 0, own, 0, others));
cleanup:
  PetscCall(PetscFree2(own, others));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc preallocates for the two blocks. */
static PetscErrorCode CountAllocated(DM dm, DCSRStencil stencil, Mat A, PetscCount num[2])
{
  const DM_DA     *dd  = (const DM_DA *)dm->data;
  const PetscCount row = (2 * (PetscCount)dd->s + 1) * dd->w; // in one dimension all rows are given that many
  PetscMPIInt      size;

  PetscFunctionBegin;
  PetscCall(DCSRStencilCount(stencil, (PetscBool)!DropsRepeats(dm), num));
  if (dm->dim > 1 || dd->ofill != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  num[0] = A->rmap->n * (size == 1 && dd->bx == DM_BOUNDARY_NONE ? row : PetscMin(row, (PetscCount)A->cmap->n));
  num[1] = A->rmap->n * PetscMin(row, (PetscCount)A->cmap->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetSeqPattern(DCSRStencil stencil, Mat A)
{
  DCSRView       view;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRStencilBuild(stencil, PETSC_FALSE, stream, &view));
  ierr = MatSeqAIJCUDASetDeviceMatrix(A, &view);
  PetscCall(DCSRViewFree(&view, stream)); // nothing, unless there was an error
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks. The matrix is assembled afterwards. */
static PetscErrorCode SetBlockPatterns(DCSRStencil stencil, Mat A)
{
  DCSRView     view;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(DCSRStencilBuild(stencil, (PetscBool)k, stream, &view));
    PetscCall(MatMPIAIJCUDASetBlock(A, (PetscBool)k, &view));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries of the stencil, as zeros, in an assembled matrix. */
static PetscErrorCode SetPattern(DM dm, DCSRStencil stencil, Mat A)
{
  PetscBool  seq;
  PetscCount allocated[2];

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  if (seq) PetscCall(SetSeqPattern(stencil, A));
  else PetscCall(SetBlockPatterns(stencil, A));
  PetscCall(CountAllocated(dm, stencil, A, allocated));
  for (int k = 0; k < (seq ? 1 : 2); k++) {
    Mat_SeqAIJ *block = (Mat_SeqAIJ *)(seq ? A : MatMPIAIJCUDAGetBlock(A, k))->data;

    block->maxnz = (PetscInt)PetscMin(PetscMax(allocated[k], (PetscCount)block->nz), (PetscCount)PETSC_INT_MAX);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateAndSetPattern(DM dm, Mat A)
{
  DCSRStencil    stencil;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateStencil(dm, &stencil));
  if (dm->prealloc_only) ierr = Preallocate(dm, stencil, A);
  else ierr = SetPattern(dm, stencil, A);
  PetscCall(DCSRStencilDestroy(&stencil));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DMDASetMatrixPattern - Gives an empty matrix the pattern of a DMDA, with zero values, and assembles it; when the DMDA is to preallocate only, preallocates it. Collective
  DMDAHasStencilOfDevice() for dm. A is a matrix of ours that DMCreateMatrix() has made and not preallocated, and that inserts on the device. done is PETSC_TRUE. PETSC_ERR_MEM is on all processes when
  one has it.
*/
PetscErrorCode DMDASetMatrixPattern(DM dm, Mat A, PetscBool *done)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *done = PETSC_TRUE;
  if (dm->prealloc_only) {
    PetscCall(CreateAndSetPattern(dm, A)); // collective calls that agree on errors themselves
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ierr = CreateAndSetPattern(dm, A);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
