/*
  The ghost columns of a parallel matrix: the global columns of its off-diagonal block, which is numbered by their positions, and the scatter that brings the entries of a
  vector for them.
*/
#include "ghosts.h"
#include "parallel.h"
#include "../core/core.h"
#include "../../../../petsc/vec.h"

/* MatMPIAIJCUDAGhostsAscend - Whether the ghost columns of X, any MATMPIAIJ, ascend on this process. */
PetscBool MatMPIAIJCUDAGhostsAscend(Mat X)
{
  const Mat_MPIAIJ *x = (const Mat_MPIAIJ *)X->data;

  for (PetscInt k = 1; x->garray != NULL && k < x->B->cmap->n; k++)
    if (x->garray[k - 1] >= x->garray[k]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/*
  MatMPIAIJCUDASetDeviceAssembly - Whether values go to the device from now on, and all code for the device may read the ghost columns: where they ascend on all processes. Collective.

  The host has made the ghost columns of A. wanted: whether this process wants it.
*/
PetscErrorCode MatMPIAIJCUDASetDeviceAssembly(Mat A, PetscBool wanted)
{
  Mat_MPIAIJCUDA *d      = MatMPIAIJCUDAGet(A);
  PetscBool       device = (PetscBool)(wanted && MatMPIAIJCUDAGhostsAscend(A));

  PetscFunctionBegin;
  d->state = PARALLEL_HOST;
  if (d->no_device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (device) d->state = PARALLEL_DEVICE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDAHasGlobalColumns - Whether the off-diagonal block of A, a parallel matrix, still has global columns; PETSc has no array for no ghost columns. */
PetscBool MatMPIAIJCUDAHasGlobalColumns(Mat A)
{
  const Mat_MPIAIJ *a = (const Mat_MPIAIJ *)A->data;

  return (PetscBool)(a->garray == NULL && a->B->cmap->n > 0);
}

/* Sets the number of columns of the off-diagonal block, on the host and on the device. */
static PetscErrorCode SetNumGhosts(Mat B, PetscInt n)
{
  PetscFunctionBegin;
  if (B->cmap->n == n && B->cmap->N == n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLayoutDestroy(&B->cmap));
  PetscCall(PetscLayoutCreateFromSizes(PETSC_COMM_SELF, n, n, 1, &B->cmap));
  MatSeqAIJCUDAGet(B)->device.view.num_columns = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetGhosts - Gives the off-diagonal block, whose columns on the device have been renumbered, its n ghost columns.

  *garray: [n] their global numbers, ascending; belongs to A, NULL afterwards. The scatter of products is made again in the next assembly.
*/
PetscErrorCode MatMPIAIJCUDASetGhosts(Mat A, PetscInt n, PetscInt **garray)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(SetNumGhosts(a->B, n));
  PetscCall(PetscFree(a->garray));
#if PetscDefined(USE_CTABLE)
  PetscCall(PetscHMapIDestroy(&a->colmap));
#else
  PetscCall(PetscFree(a->colmap));
#endif
  a->garray                            = *garray;
  *garray                              = NULL;
  MatMPIAIJCUDAGet(A)->columns_changed = PETSC_TRUE;
  PetscAssert(MatMPIAIJCUDAGhostsAscend(A), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Ghost columns have to ascend");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Merges two ascending lists; maps say where their entries went. */
static PetscInt Merge(PetscInt num_first, const PetscInt first[], PetscInt num_second, const PetscInt second[], PetscInt united[], int32_t first_map[], int32_t second_map[])
{
  PetscInt i = 0, j = 0, k = 0;

  for (; i < num_first || j < num_second; k++) {
    united[k] = j == num_second || (i < num_first && first[i] <= second[j]) ? first[i] : second[j];
    if (i < num_first && first[i] == united[k]) first_map[i++] = (int32_t)k;
    if (j < num_second && second[j] == united[k]) second_map[j++] = (int32_t)k;
  }
  return k;
}

static PetscErrorCode CopyMapToDevice(PetscInt n, const int32_t map[], cudaStream_t stream, int32_t **device)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "map of ghost columns", stream, device));
  if (n > 0) PetscCall(PetscSparseCUDACopyToDevice(*device, map, (size_t)n * sizeof(*map), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GhostColumnsUnite - The union of two lists of ghost columns, which are global numbers, ascending, on the host; and where the columns of either went.

  united: [n] host, ascending, never NULL, to be freed with PetscFree(); NULL after an error.
  first_map: [num_first] device, positions in the union for work queued on the stream, to be freed with PetscSparseCUDAFree(); NULL when the columns stay where they are, when there are none, and after
  an error. second_map: the same for the second list; the pointer to it may be NULL: not wanted.
  Costs time in proportion to both lists on the host; nothing is done on the device for a list that is the union.
*/
PetscErrorCode GhostColumnsUnite(PetscInt num_first, const PetscInt first[], PetscInt num_second, const PetscInt second[], cudaStream_t stream, PetscInt *n, PetscInt **united, int32_t **first_map,
                                 int32_t **second_map)
{
  int32_t       *maps[2] = {NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *united    = NULL;
  *first_map = NULL;
  if (second_map != NULL) *second_map = NULL;
  PetscCallGoto(ierr, cleanup, PetscMalloc2(num_first, &maps[0], num_second, &maps[1]));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(num_first + num_second + 1, united));
  *n = Merge(num_first, first, num_second, second, *united, maps[0], maps[1]);
  if (*n > num_first) PetscCallGoto(ierr, cleanup, CopyMapToDevice(num_first, maps[0], stream, first_map));
  if (*n > num_second && second_map != NULL) PetscCallGoto(ierr, cleanup, CopyMapToDevice(num_second, maps[1], stream, second_map));
cleanup:
  PetscCall(PetscFree2(maps[0], maps[1]));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(PetscFree(*united));
    PetscCall(PetscSparseCUDAFree(first_map, stream));
    if (second_map != NULL) PetscCall(PetscSparseCUDAFree(second_map, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDAExtendGhosts - Sees that [n] global columns, ascending, on the host, are ghost columns of this process; the off-diagonal block of A is current on the device. */
PetscErrorCode MatMPIAIJCUDAExtendGhosts(Mat A, PetscInt n, const int32_t columns[])
{
  Mat_MPIAIJ    *a     = (Mat_MPIAIJ *)A->data;
  Mat            B     = a->B;
  const PetscInt n_old = MatMPIAIJCUDANumGhosts(A);
  PetscInt       n_new = 0, *wanted = NULL, *garray = NULL;
  int32_t       *map = NULL;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACopyToDevice(B));
  PetscCall(MatSeqAIJCUDACompact(B));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(n, &wanted));
  for (PetscInt k = 0; k < n; k++) wanted[k] = columns[k];
  PetscCallGoto(ierr, cleanup, GhostColumnsUnite(n_old, a->garray, n, wanted, stream, &n_new, &garray, &map, NULL));
  if (map != NULL) PetscCallGoto(ierr, cleanup, DCSRViewMapColumns(MatSeqAIJCUDAGet(B)->device.view, map, stream));
  if (n_new > n_old || MatMPIAIJCUDAHasGlobalColumns(A)) {
    PetscCallGoto(ierr, cleanup, MatSeqAIJCUDADropPlans(B));
    PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAStructureChanged(B));
    PetscCallGoto(ierr, cleanup, MatMPIAIJCUDASetGhosts(A, n_new, &garray));
  }
cleanup:
  PetscCall(PetscFree(wanted));
  PetscCall(PetscFree(garray));
  PetscCall(PetscSparseCUDAFree(&map, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ghost vector of products again. */
static PetscErrorCode MakeGhostVector(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  if (MatMPIAIJCUDAHasGlobalColumns(A)) PetscCall(MatMPIAIJCUDAExtendGhosts(A, 0, NULL));
  PetscCall(VecDestroy(&a->lvec));
#if PetscDefined(USE_CTABLE)
  PetscCall(PetscHMapIDestroy(&a->colmap));
#else
  PetscCall(PetscFree(a->colmap));
#endif
  PetscCall(MatCreateVecs(a->B, &a->lvec, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the ghost columns are: their owners, and positions there; to be freed with PetscFree(). */
static PetscErrorCode FindGhosts(Mat A, PetscSFNode **nodes)
{
  const PetscLayout map    = A->cmap;
  const PetscInt   *garray = ((Mat_MPIAIJ *)A->data)->garray, n = ((Mat_MPIAIJ *)A->data)->B->cmap->n;
  PetscMPIInt       owner = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, nodes));
  for (PetscInt k = 0; k < n; k++) {
    if (garray[k] < map->range[owner] || garray[k] >= map->range[owner + 1]) PetscCall(PetscLayoutFindOwner(map, garray[k], &owner));
    (*nodes)[k].rank  = owner;
    (*nodes)[k].index = garray[k] - map->range[owner];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetUpMultiply - Makes the ghost vector and the scatter of products again. All processes have an error when one does. Collective.

  The scatter is the one of VecScatterCreate(), which would sort the ghost columns and ask all processes three times what they are.
*/
PetscErrorCode MatMPIAIJCUDASetUpMultiply(Mat A)
{
  Mat_MPIAIJ    *a     = (Mat_MPIAIJ *)A->data;
  PetscSFNode   *nodes = NULL;
  PetscErrorCode ierr  = MakeGhostVector(A);

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = FindGhosts(A, &nodes);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) PetscCall(PetscFree(nodes));
  PetscCall(ierr);
  PetscCall(VecScatterDestroy(&a->Mvctx));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &a->Mvctx));
  PetscCall(PetscSFSetFromOptions(a->Mvctx));
  PetscCall(PetscSFSetGraph(a->Mvctx, A->cmap->n, a->B->cmap->n, NULL, PETSC_OWN_POINTER, nodes, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUpVecScatter(a->Mvctx, A->cmap->n, a->B->cmap->n));
  PetscCall(VecScatterViewFromOptions(a->Mvctx, (PetscObject)A, "-matmult_vecscatter_view"));
  MatMPIAIJCUDAGet(A)->columns_changed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
