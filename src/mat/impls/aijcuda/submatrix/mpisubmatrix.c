/*
  Submatrices of parallel matrices on the device. When every process asks for rows and columns of its own, these in ascending order, both blocks are submatrices of blocks, and ghost columns
  learn their new numbers along the scatter of products. Otherwise rows of other processes are fetched first (gatheredrows.c), and the columns of the gathered rows learn their new numbers
  from the processes that own them; what was gathered stays with the submatrix, so that using it again takes values alone. Permutations are the same.
*/
#include "gatheredrows.h"
#include "submatrix.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include "../parallel/parallel.h"

/* The index sets that MATMPIAIJ composes with such a submatrix; the same names, so that either code can use it again. */
static const char ROWS_KEY[] = "isrow_d", COLUMNS_KEY[] = "iscol_d", GHOSTS_KEY[] = "iscol_o";
/* What we compose with one that was made of gathered rows, */
static const char GATHERED_KEY[] = "petscsparsecuda_gathered";
/* and the states [2] of the blocks of the matrix that another one was made of. */
static const char BLOCKS_KEY[] = "petscsparsecuda_submatrix_of";

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

/* New global numbers of the ghost columns, -1: not in the submatrix, whose columns are own ones counted from begin; [ghosts] to be freed. Collective. */
static PetscErrorCode NumberGhosts(Mat A, IS columns, PetscInt begin, int32_t **numbers)
{
  Mat_MPIAIJ     *a = (Mat_MPIAIJ *)A->data;
  PetscInt        n, first = 0;
  const PetscInt *indices;
  int32_t        *own;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(columns, &n));
  PetscCallMPI(MPI_Exscan(&n, &first, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMalloc1(A->cmap->n + 1, &own));
  PetscCall(PetscMalloc1(a->B->cmap->n + 1, numbers));
  for (PetscInt k = 0; k < A->cmap->n; k++) own[k] = -1;
  PetscCall(ISGetIndices(columns, &indices));
  for (PetscInt k = 0; k < n; k++) own[indices[k] - begin] = (int32_t)(first + k);
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
  PetscCallGoto(ierr, cleanup, DCSRSubmatrixMapped(MatSeqAIJCUDAGet(B)->device.view, &indices, map, PETSC_TRUE, num_columns, stream, view));
cleanup:
  PetscCall(PetscSparseCUDAFree(&map, stream));
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether C was made of A as A's pattern is now, on all processes. Collective. */
static PetscErrorCode IsMadeOf(Mat A, Mat C, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(MatOperandIsOfBlocks(A, C, BLOCKS_KEY, is));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
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
  PetscCall(MatOperandNoteBlocks(A, C, BLOCKS_KEY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type of A for so many rows and columns of this process; without blocks. */
static PetscErrorCode CreateSized(Mat A, IS rows, IS columns, Mat *C)
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks [2], with the columns of the second one by their new global numbers; all processes have them, or an error. Collective. */
static PetscErrorCode GetBlockViews(Mat A, IS rows, IS columns, const int32_t numbers[], cudaStream_t stream, DCSRView views[])
{
  PetscErrorCode ierr = MatSeqAIJCUDAGetSubmatrixView(((Mat_MPIAIJ *)A->data)->A, rows, columns, &views[0]);

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = GetOffDiagonalView(A, rows, numbers, A->cmap->N, &views[1], stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage becomes a new matrix; of n ghost columns those that it does not use are dropped; ghosts [n] are their global numbers, NULL: their own. Collective. */
static PetscErrorCode CreateFromViews(Mat A, IS rows, IS columns, DCSRView views[], PetscInt n, const PetscInt ghosts[], cudaStream_t stream, Mat *C)
{
  int32_t       *used = NULL;
  PetscInt       num;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = GhostColumnsRenumber(n, &views[1], stream, &num, &used);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  for (PetscInt k = 0; k < num && ghosts != NULL; k++) used[k] = (int32_t)ghosts[used[k]];
  PetscCallGoto(ierr, cleanup, CreateSized(A, rows, columns, C));
  PetscCallGoto(ierr, cleanup, MatMPIAIJCUDAInstallBlocks(*C, views, num, used));
cleanup:
  PetscCall(PetscFree(used));
  if (ierr != PETSC_SUCCESS) {
    for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
    (void)MatDestroy(C);
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSubmatrix(Mat A, IS rows, IS columns, Mat *C)
{
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
  PetscCallGoto(ierr, cleanup, NumberGhosts(A, columns, A->cmap->rstart, &numbers));
  PetscCallGoto(ierr, cleanup, GetBlockViews(A, local_rows, local_columns, numbers, stream, views));
  PetscCallGoto(ierr, cleanup, CreateFromViews(A, rows, columns, views, A->cmap->N, NULL, stream, C));
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

/* Whether new storage has the structure of both blocks of C, on this process. */
static PetscErrorCode HaveSameStructures(Mat C, const DCSRView views[], cudaStream_t stream, PetscBool *same)
{
  const Mat_MPIAIJ *c         = (const Mat_MPIAIJ *)C->data;
  const Mat         blocks[2] = {c->A, c->B};

  PetscFunctionBegin;
  for (int k = 0; k < 2 && *same; k++) {
    PetscCall(MatSeqAIJCUDACopyToDevice(blocks[k]));
    PetscCall(MatSeqAIJCUDACompact(blocks[k]));
    PetscCall(DCSRHaveSameStructure(views[k], MatSeqAIJCUDAGet(blocks[k])->device.view, stream, same));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  New storage, made by work of this process that ended with ierr, with the ghost columns of C if same, gives its values to both blocks of C when it has their structures,
  on all processes; freed. Collective.
*/
static PetscErrorCode ReuseViews(Mat C, PetscBool same, DCSRView views[], PetscErrorCode ierr)
{
  const Mat_MPIAIJ *c         = (const Mat_MPIAIJ *)C->data;
  const Mat         blocks[2] = {c->A, c->B};
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (ierr == PETSC_SUCCESS) ierr = HaveSameStructures(C, views, stream, &same);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)C)));
  for (int k = 0; k < 2 && same; k++) PetscCallGoto(ierr, cleanup, MatSeqAIJCUDATakeValues(blocks[k], &views[k]));
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(ierr);
  PetscCheck(same, PetscObjectComm((PetscObject)C), PETSC_ERR_ARG_SIZ, "Cannot reuse matrix. wrong number of nonzeros, or others");
  PetscCall(PetscObjectStateIncrease((PetscObject)C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether a matrix with n ghost columns, of which its off-process block uses some, has those of C. The block is renumbered to those that it uses; ghosts == NULL: its columns are global numbers below
  n.
*/
static PetscErrorCode HasGhostsOf(Mat C, PetscInt n, const PetscInt ghosts[], DCSRView *block, cudaStream_t stream, PetscBool *same)
{
  const Mat_MPIAIJ *c = (const Mat_MPIAIJ *)C->data;
  int32_t          *used;
  PetscInt          num;

  PetscFunctionBegin;
  PetscCall(GhostColumnsRenumber(n, block, stream, &num, &used));
  *same = (PetscBool)(num == c->B->cmap->n);
  for (PetscInt k = 0; k < num && *same; k++) *same = (PetscBool)((ghosts != NULL ? ghosts[used[k]] : used[k]) == c->garray[k]);
  PetscCall(PetscFree(used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of A, which is not as it was when C was made of it, or another matrix. Collective. */
static PetscErrorCode ReuseOfChanged(Mat A, IS local_rows, IS local_columns, Mat C)
{
  int32_t       *numbers = NULL;
  PetscBool      same    = PETSC_FALSE;
  DCSRView       views[2];
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(NumberGhosts(A, local_columns, 0, &numbers));
  ierr = GetBlockViews(A, local_rows, local_columns, numbers, stream, views);
  if (ierr == PETSC_SUCCESS) ierr = HasGhostsOf(C, A->cmap->N, NULL, &views[1], stream, &same);
  ierr = ReuseViews(C, same, views, ierr);
  if (ierr == PETSC_SUCCESS) ierr = ComposeIndices(A, local_rows, local_columns, numbers, C);
  PetscCall(PetscFree(numbers));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReuseSubmatrix(Mat A, IS rows, IS columns, IS ghosts, Mat C)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  DCSRView       views[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(views, 2));
  ierr = MatSeqAIJCUDAGetSubmatrixView(a->A, rows, columns, &views[0]);
  if (ierr == PETSC_SUCCESS) ierr = MatSeqAIJCUDAGetSubmatrixView(a->B, rows, ghosts, &views[1]);
  PetscCall(ReuseViews(C, PETSC_TRUE, views, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stays with a submatrix whose rows or columns are of other processes, or not in order. */
typedef struct {
  GatheredRows rows;
  int32_t     *numbers; /* [columns of rows] host, owned: their global numbers in the submatrix, -1: not there */
} Gathered;

static PetscErrorCode GatheredDestroy(PetscCtxRt data)
{
  Gathered    *g = *(Gathered **)data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GatheredRowsDestroy(&g->rows, stream));
  PetscCall(PetscFree(g->numbers));
  PetscCall(PetscFree(g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New global numbers of the columns of A that this process owns, [A->cmap->n], -1: not in the submatrix; of a column that is listed more than once the last position counts. Collective. */
static PetscErrorCode NumberOwnColumns(Mat A, IS columns, PetscInt numbers[])
{
  PetscInt        n, end, *positions;
  PetscInt64      all;
  const PetscInt *indices;
  PetscSF         sf = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(columns, &n));
  all = n;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCheck(all <= PETSC_INT32_MAX, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt64_FMT " columns are too many for a matrix on the device: MatBindToCPU() the matrix", all);
  PetscCallMPI(MPI_Scan(&n, &end, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMalloc1(n, &positions));
  for (PetscInt k = 0; k < n; k++) positions[k] = end - n + k;
  for (PetscInt k = 0; k < A->cmap->n; k++) numbers[k] = -1;
  PetscCall(ISGetIndices(columns, &indices));
  PetscCallGoto(ierr, cleanup, LayoutCreateSF(A->cmap, n, indices, &sf));
  PetscCallGoto(ierr, cleanup, PetscSFReduceBegin(sf, MPIU_INT, positions, numbers, MPI_MAX));
  PetscCallGoto(ierr, cleanup, PetscSFReduceEnd(sf, MPIU_INT, positions, numbers, MPI_MAX));
cleanup:
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(ISRestoreIndices(columns, &indices));
  PetscCall(PetscFree(positions));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New global numbers of the columns of the gathered rows. Collective. */
static PetscErrorCode NumberColumns(Mat A, IS columns, Gathered *g)
{
  const PetscInt n = A->cmap->n, num_ghosts = g->rows.stack.columns.device.num_ghosts;
  PetscInt      *numbers;
  PetscSF        sf = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + num_ghosts, &numbers));
  PetscCallGoto(ierr, cleanup, NumberOwnColumns(A, columns, numbers));
  PetscCallGoto(ierr, cleanup, LayoutCreateSF(A->cmap, num_ghosts, g->rows.stack.columns.ghosts, &sf));
  PetscCallGoto(ierr, cleanup, PetscSFBcastBegin(sf, MPIU_INT, numbers, numbers + n, MPI_REPLACE));
  PetscCallGoto(ierr, cleanup, PetscSFBcastEnd(sf, MPIU_INT, numbers, numbers + n, MPI_REPLACE));
  PetscCallGoto(ierr, cleanup, PetscMalloc1(n + num_ghosts, &g->numbers));
  for (PetscInt k = 0; k < n + num_ghosts; k++) g->numbers[k] = (int32_t)numbers[k];
cleanup:
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscFree(numbers));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gathers what a submatrix is made of. Collective. */
static PetscErrorCode Gather(Mat A, const DCSRView blocks[], IS rows, IS columns, cudaStream_t stream, Gathered **gathered)
{
  Gathered      *g;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *gathered = NULL;
  PetscCall(PetscNew(&g));
  PetscCallGoto(ierr, failed, GatheredRowsCreate(A, blocks, 1, &rows, stream, &g->rows));
  PetscCallGoto(ierr, failed, NumberColumns(A, columns, g));
  *gathered = g;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)GatheredDestroy((void *)&g);
  PetscFunctionReturn(ierr);
}

/* The columns of the submatrix outside of [begin, end) that gathered rows may have, ascending; to be freed. */
static PetscErrorCode GetGhostCandidates(const Gathered *g, PetscInt begin, PetscInt end, PetscInt *n, PetscInt **candidates)
{
  const PetscInt num_columns = GatheredRowsNumColumns(&g->rows);

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PetscMalloc1(num_columns, candidates));
  for (PetscInt k = 0; k < num_columns; k++)
    if (g->numbers[k] >= 0 && (g->numbers[k] < begin || g->numbers[k] >= end)) (*candidates)[(*n)++] = g->numbers[k];
  PetscCall(PetscSortInt(*n, *candidates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks of the submatrix, [2], whose own columns are [begin, end) and whose ghost columns are among n ascending ones; all processes have them, or an error. Collective. */
static PetscErrorCode SelectBlocks(Mat A, const DCSRView blocks[], Gathered *g, IS rows, PetscInt begin, PetscInt end, PetscInt n, const PetscInt ghosts[], cudaStream_t stream, DCSRView views[])
{
  const PetscInt num_columns = GatheredRowsNumColumns(&g->rows);
  int32_t       *own = NULL, *others = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(num_columns, &own, num_columns, &others));
  for (PetscInt k = 0; k < num_columns; k++) {
    const PetscInt number   = g->numbers[k];
    PetscInt       position = -1;

    own[k] = number >= begin && number < end ? (int32_t)(number - begin) : -1;
    if (number >= 0 && own[k] < 0) PetscCall(PetscFindInt(number, n, ghosts, &position));
    others[k] = (int32_t)PetscMax(position, -1);
  }
  ierr = GatheredRowsFill(&g->rows, blocks, stream);
  if (ierr == PETSC_SUCCESS) ierr = GatheredRowsSelect(&g->rows, A, rows, own, end - begin, stream, &views[0]);
  if (ierr == PETSC_SUCCESS) ierr = GatheredRowsSelect(&g->rows, A, rows, others, n, stream, &views[1]);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(GatheredRowsDropValues(&g->rows, stream));
  PetscCall(PetscFree2(own, others));
  if (ierr != PETSC_SUCCESS)
    for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&views[k], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The submatrix of any rows and columns; with keep, what it was made of stays with it. Collective. */
static PetscErrorCode CreateGathered(Mat A, IS rows, IS columns, PetscBool keep, Mat *C)
{
  Gathered      *g = NULL;
  GatheredRows   none;
  DCSRView       blocks[2], views[2];
  PetscInt       n, end, num_ghosts, *ghosts = NULL;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscArrayzero(&none, 1));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GatheredRowsGetBlocks(A, &none, stream, blocks));
  PetscCall(Gather(A, blocks, rows, columns, stream, &g));
  PetscCallGoto(ierr, cleanup, ISGetLocalSize(columns, &n));
  PetscCallMPI(MPI_Scan(&n, &end, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallGoto(ierr, cleanup, GetGhostCandidates(g, end - n, end, &num_ghosts, &ghosts));
  PetscCallGoto(ierr, cleanup, SelectBlocks(A, blocks, g, rows, end - n, end, num_ghosts, ghosts, stream, views));
  PetscCallGoto(ierr, cleanup, CreateFromViews(A, rows, columns, views, num_ghosts, ghosts, stream, C));
  if (keep) {
    PetscCallGoto(ierr, cleanup, PetscSparseCUDACompose((PetscObject)*C, GATHERED_KEY, g, GatheredDestroy));
    g = NULL;
  }
cleanup:
  PetscCall(PetscFree(ghosts));
  if (g != NULL) PetscCall(GatheredDestroy((void *)&g));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of such a submatrix of A, whose pattern is another one than when its rows were gathered; views are there after an error, too, for ReuseViews(). Collective. */
static PetscErrorCode SelectChanged(Mat A, const DCSRView blocks[], Gathered *g, IS rows, Mat C, cudaStream_t stream, DCSRView views[], PetscBool *same_ghosts)
{
  PetscInt       n, *ghosts;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetGhostCandidates(g, C->cmap->rstart, C->cmap->rend, &n, &ghosts));
  ierr = SelectBlocks(A, blocks, g, rows, C->cmap->rstart, C->cmap->rend, n, ghosts, stream, views);
  if (ierr == PETSC_SUCCESS) ierr = HasGhostsOf(C, n, ghosts, &views[1], stream, same_ghosts);
  PetscCall(PetscFree(ghosts));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of A into such a submatrix; what it was made of is renewed when the pattern of A has changed. Collective. */
static PetscErrorCode ReuseGathered(Mat A, IS rows, IS columns, Gathered *g, Mat C)
{
  const Mat_MPIAIJ *c = (const Mat_MPIAIJ *)C->data;
  DCSRView          blocks[2], views[2];
  PetscBool         current, same_ghosts = PETSC_TRUE;
  cudaStream_t      stream;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GatheredRowsGetBlocks(A, &g->rows, stream, blocks));
  PetscCall(GatheredRowsAreCurrent(A, &g->rows, &current));
  if (current) ierr = SelectBlocks(A, blocks, g, rows, C->cmap->rstart, C->cmap->rend, c->B->cmap->n, c->garray, stream, views);
  else {
    PetscCall(PetscInfo(C, "The pattern of the matrix has changed: its rows are gathered anew\n"));
    PetscCall(Gather(A, blocks, rows, columns, stream, &g));
    PetscCall(PetscSparseCUDACompose((PetscObject)C, GATHERED_KEY, g, GatheredDestroy));
    ierr = SelectChanged(A, blocks, g, rows, C, stream, views, &same_ghosts);
  }
  PetscCall(ReuseViews(C, same_ghosts, views, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetGathered(Mat C, Gathered **g)
{
  PetscContainer container;

  PetscFunctionBegin;
  *g = NULL;
  PetscCall(PetscObjectQuery((PetscObject)C, GATHERED_KEY, (PetscObject *)&container));
  if (container != NULL) PetscCall(PetscContainerGetPointer(container, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Such a submatrix by the parent's code, which has nothing to use again; C keeps what it was made of. Collective. */
static PetscErrorCode ReuseGatheredOnHost(Mat A, IS rows, IS columns, Mat C)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatHost_MPIAIJCUDA_createsubmatrix(A, rows, columns, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatCopy(T, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&T));
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

static PetscErrorCode ReuseAny(Mat A, PetscBool device, IS rows, IS columns, Mat *C)
{
  IS        local_rows = NULL, local_columns = NULL, ghosts = NULL;
  PetscBool ours, current;
  Gathered *g;

  PetscFunctionBegin;
  PetscCall(GetGathered(*C, &g));
  if (g != NULL) {
    PetscCall(MatIsMPIAIJCUDA(*C, &ours));
    if (device && ours) PetscCall(MatMPIAIJCUDAStructureOnDevice(*C, &device));
    if (device && ours) PetscCall(ReuseGathered(A, rows, columns, g, *C));
    else PetscCall(ReuseGatheredOnHost(A, rows, columns, *C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (device) PetscCall(GetComposed(*C, &local_rows, &local_columns, &ghosts, &device));
  if (device) {
    PetscCall(IsMadeOf(A, *C, &current));
    if (current) PetscCall(ReuseSubmatrix(A, local_rows, local_columns, ghosts, *C));
    else PetscCall(ReuseOfChanged(A, local_rows, local_columns, *C));
  } else PetscCall(MatHost_MPIAIJCUDA_createsubmatrix(A, rows, columns, MAT_REUSE_MATRIX, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrix_MPIAIJCUDA(Mat A, IS rows, IS columns, MatReuse reuse, Mat *C)
{
  PetscBool device, own;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAStructureOnDevice(A, &device));
  if (reuse == MAT_REUSE_MATRIX) PetscCall(ReuseAny(A, device, rows, columns, C));
  else if (!device) PetscCall(MatHost_MPIAIJCUDA_createsubmatrix(A, rows, columns, reuse, C));
  else {
    PetscCall(AreOwn(A, rows, columns, &own));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &own, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
    if (own) PetscCall(CreateSubmatrix(A, rows, columns, C));
    else PetscCall(CreateGathered(A, rows, columns, PETSC_TRUE, C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A permuted matrix has the rows and columns that the index sets list, in their order. */
static PetscErrorCode MatPermute_MPIAIJCUDA(Mat A, IS rows, IS columns, Mat *B)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAStructureOnDevice(A, &device));
  if (device) PetscCall(CreateGathered(A, rows, columns, PETSC_FALSE, B));
  else {
    PetscCall(MatHost_MPIAIJCUDA_permute(A, rows, columns, B));
    PetscCall(MatConvert(*B, ((PetscObject)A)->type_name, MAT_INPLACE_MATRIX, B)); // the parent leaves a MATMPIAIJ
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASetSubmatrixOps - Puts our submatrices into a table that has the wrappers already. */
PetscErrorCode MatMPIAIJCUDASetSubmatrixOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->createsubmatrix   = MatCreateSubMatrix_MPIAIJCUDA;
  ops->createsubmatrices = MatMPIAIJCUDACreateSubMatrices;
  ops->permute           = MatPermute_MPIAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
