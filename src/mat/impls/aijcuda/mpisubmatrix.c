/*
  Submatrices of parallel matrices on the device, when every process asks for rows and columns of its own, these in ascending order: then both blocks are submatrices of blocks,
  and ghost columns learn their new numbers along the scatter of products. All others go through the mirror.
*/
#include <petscsparsecuda/thunks.h>

/* The index sets that MATMPIAIJ composes with such a submatrix; the same names, so that either code can use it again. */
static const char ROWS_KEY[] = "isrow_d", COLUMNS_KEY[] = "iscol_d", GHOSTS_KEY[] = "iscol_o";

/* Whether the indices of this process lie in [begin, end). */
static PetscErrorCode IsInside(IS is, PetscInt begin, PetscInt end, PetscBool *inside)
{
  PetscInt n, least, largest;

  PetscFunctionBegin;
  *inside = PETSC_TRUE;
  PetscCall(ISGetLocalSize(is, &n));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISGetMinMax(is, &least, &largest));
  *inside = (PetscBool)(least >= begin && largest < end);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether this process asks for rows and ascending columns of its own. */
static PetscErrorCode AreOwn(Mat A, IS rows, IS columns, PetscBool *own)
{
  PetscBool       rows_inside, columns_inside, ascend = PETSC_TRUE;
  PetscInt        n;
  const PetscInt *indices;

  PetscFunctionBegin;
  PetscCall(IsInside(rows, A->rmap->rstart, A->rmap->rend, &rows_inside));
  PetscCall(IsInside(columns, A->cmap->rstart, A->cmap->rend, &columns_inside));
  PetscCall(ISGetLocalSize(columns, &n));
  PetscCall(ISGetIndices(columns, &indices));
  for (PetscInt k = 1; k < n && ascend; k++) ascend = (PetscBool)(indices[k - 1] < indices[k]);
  PetscCall(ISRestoreIndices(columns, &indices));
  *own = (PetscBool)(rows_inside && columns_inside && ascend);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index set counted from begin, for this process alone. */
static PetscErrorCode GetLocal(IS is, PetscInt begin, IS *local)
{
  PetscBool       stride;
  PetscInt        n, first, step, bs, *shifted;
  const PetscInt *indices;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(is, &n));
  PetscCall(PetscObjectTypeCompare((PetscObject)is, ISSTRIDE, &stride));
  if (stride) {
    PetscCall(ISStrideGetInfo(is, &first, &step));
    PetscCall(ISCreateStride(PETSC_COMM_SELF, n, first - begin, step, local));
  } else {
    PetscCall(PetscMalloc1(n, &shifted));
    PetscCall(ISGetIndices(is, &indices));
    for (PetscInt k = 0; k < n; k++) shifted[k] = indices[k] - begin;
    PetscCall(ISRestoreIndices(is, &indices));
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, shifted, PETSC_OWN_POINTER, local));
  }
  PetscCall(ISGetBlockSize(is, &bs));
  PetscCall(ISSetBlockSize(*local, bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New global numbers of the ghost columns, -1: not in the submatrix; [ghosts] to be freed. Collective. */
static PetscErrorCode NumberGhosts(Mat A, IS columns, int32_t **numbers)
{
  Mat_MPIAIJ     *a = (Mat_MPIAIJ *)A->data;
  PetscInt        n, begin = 0;
  const PetscInt *indices;
  int32_t        *own;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(columns, &n));
  PetscCallMPI(MPI_Exscan(&n, &begin, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMalloc1(A->cmap->n + 1, &own));
  PetscCall(PetscMalloc1(a->B->cmap->n + 1, numbers));
  for (PetscInt k = 0; k < A->cmap->n; k++) own[k] = -1;
  PetscCall(ISGetIndices(columns, &indices));
  for (PetscInt k = 0; k < n; k++) own[indices[k] - A->cmap->rstart] = (int32_t)(begin + k);
  PetscCall(ISRestoreIndices(columns, &indices));
  PetscCall(PetscSFBcastWithMemTypeBegin(a->Mvctx, MPI_INT32_T, PETSC_MEMTYPE_HOST, own, PETSC_MEMTYPE_HOST, *numbers, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(a->Mvctx, MPI_INT32_T, own, *numbers, MPI_REPLACE));
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the off-diagonal block with columns by their new global numbers. */
static PetscErrorCode GetOffDiagonalView(Mat A, IS rows, const int32_t numbers[], PetscInt num_columns, DCSRView *view, cudaStream_t stream)
{
  Mat            B      = ((Mat_MPIAIJ *)A->data)->B;
  int32_t       *map    = NULL;
  PetscInt      *memory = NULL;
  DCSRIndices    indices;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  PetscCall(MatSeqAIJCUDACopyToDevice(B));
  PetscCall(MatSeqAIJCUDACompact(B));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(B->cmap->n, "new numbers of ghost columns", stream, &map));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(map, numbers, (size_t)B->cmap->n * sizeof(*map), stream));
  PetscCallGoto(ierr, cleanup, MatAIJCUDAGetIndices(rows, B->rmap->n, "row", stream, &indices, &memory));
  PetscCallGoto(ierr, cleanup, DCSRSubmatrixMapped(MatSeqAIJCUDAGet(B)->view, &indices, map, num_columns, stream, view));
cleanup:
  PetscCall(PetscSparseCUDAFree(&map, stream));
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MATMPIAIJ needs to use the submatrix again: its rows, its columns, and those ghost columns of A that have become ghost columns. */
static PetscErrorCode ComposeIndices(Mat A, IS rows, IS columns, const int32_t numbers[], Mat C)
{
  const Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data, *c = (Mat_MPIAIJ *)C->data;
  PetscInt         *kept, n                       = 0;
  IS                ghosts;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->B->cmap->n, &kept));
  for (PetscInt k = 0; k < a->B->cmap->n && n < c->B->cmap->n; k++)
    if (numbers[k] == c->garray[n]) kept[n++] = k;
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, kept, PETSC_OWN_POINTER, &ghosts));
  PetscCall(PetscObjectCompose((PetscObject)C, ROWS_KEY, (PetscObject)rows));
  PetscCall(PetscObjectCompose((PetscObject)C, COLUMNS_KEY, (PetscObject)columns));
  PetscCall(PetscObjectCompose((PetscObject)C, GHOSTS_KEY, (PetscObject)ghosts));
  PetscCall(ISDestroy(&ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An empty matrix of the type of A for so many rows and columns of this process. */
static PetscErrorCode CreateEmpty(Mat A, IS rows, IS columns, Mat *C)
{
  PetscInt m, n, rbs, cbs;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(rows, &m));
  PetscCall(ISGetLocalSize(columns, &n));
  PetscCall(ISGetBlockSize(rows, &rbs));
  PetscCall(ISGetBlockSize(columns, &cbs));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), C));
  PetscCall(MatSetSizes(*C, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*C, rbs, cbs));
  PetscCall(MatSetType(*C, ((PetscObject)A)->type_name));
  PetscCall(PetscLayoutSetUp((*C)->rmap));
  PetscCall(PetscLayoutSetUp((*C)->cmap));
  PetscCall(MatMPIAIJCUDASetEmpty(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSubmatrix(Mat A, IS rows, IS columns, Mat *C)
{
  Mat_MPIAIJ    *a          = (Mat_MPIAIJ *)A->data;
  IS             local_rows = NULL, local_columns = NULL;
  int32_t       *numbers = NULL;
  DCSRView       views[2];
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, GetLocal(rows, A->rmap->rstart, &local_rows));
  PetscCallGoto(ierr, cleanup, GetLocal(columns, A->cmap->rstart, &local_columns));
  PetscCallGoto(ierr, cleanup, NumberGhosts(A, columns, &numbers));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAGetSubmatrixView(a->A, local_rows, local_columns, &views[0]));
  PetscCallGoto(ierr, cleanup, GetOffDiagonalView(A, local_rows, numbers, A->cmap->N, &views[1], stream));
  PetscCallGoto(ierr, cleanup, CreateEmpty(A, rows, columns, C));
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, MatMPIAIJCUDASetBlock(*C, (PetscBool)k, &views[k]));
  PetscCallGoto(ierr, cleanup, MatAssemblyBegin(*C, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, cleanup, MatAssemblyEnd(*C, MAT_FINAL_ASSEMBLY));
  PetscCallGoto(ierr, cleanup, ComposeIndices(A, local_rows, local_columns, numbers, *C));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(ISDestroy(&local_rows));
  PetscCall(ISDestroy(&local_columns));
  PetscCall(PetscFree(numbers));
  if (ierr != PETSC_SUCCESS) (void)MatDestroy(C);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks are made before one of them changes. */
static PetscErrorCode ReuseSubmatrix(Mat A, IS rows, IS columns, IS ghosts, Mat C)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data, *c = (Mat_MPIAIJ *)C->data;
  DCSRView       views[2];
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAGetSubmatrixView(a->A, rows, columns, &views[0]));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAGetSubmatrixView(a->B, rows, ghosts, &views[1]));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAReuseView(c->A, &views[0]));
  PetscCallGoto(ierr, cleanup, MatSeqAIJCUDAReuseView(c->B, &views[1]));
  PetscCallGoto(ierr, cleanup, PetscObjectStateIncrease((PetscObject)C));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The index sets that are needed to use a submatrix again; *device: the device can do it, on all processes. Collective. */
static PetscErrorCode GetComposed(Mat C, IS *rows, IS *columns, IS *ghosts, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)C, ROWS_KEY, (PetscObject *)rows));
  PetscCall(PetscObjectQuery((PetscObject)C, COLUMNS_KEY, (PetscObject *)columns));
  PetscCall(PetscObjectQuery((PetscObject)C, GHOSTS_KEY, (PetscObject *)ghosts));
  PetscCall(MatIsMPIAIJCUDA(C, device));
  if (*device) PetscCall(MatMPIAIJCUDAStructureOnDevice(C, device));
  *device = (PetscBool)(*device && *rows != NULL && *columns != NULL && *ghosts != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrix_MPIAIJCUDA(Mat A, IS rows, IS columns, MatReuse reuse, Mat *C)
{
  IS        local_rows = NULL, local_columns = NULL, ghosts = NULL;
  PetscBool device, own = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAStructureOnDevice(A, &device));
  if (device && reuse == MAT_REUSE_MATRIX) PetscCall(GetComposed(*C, &local_rows, &local_columns, &ghosts, &device));
  else if (device) {
    PetscCall(AreOwn(A, rows, columns, &own));
    PetscCallMPI(MPIU_Allreduce(&own, &device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  }
  if (!device) PetscCall(MatHost_MPIAIJCUDA_createsubmatrix(A, rows, columns, reuse, C));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(ReuseSubmatrix(A, local_rows, local_columns, ghosts, *C));
  else PetscCall(CreateSubmatrix(A, rows, columns, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASetSubmatrixOps - Puts our submatrices into a table that has the thunks already; part of MatMPIAIJCUDASetOps(). */
PetscErrorCode MatMPIAIJCUDASetSubmatrixOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->createsubmatrix = MatCreateSubMatrix_MPIAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
