/*
  Sequential matrices of rows and columns of a parallel one, on the device: rows of other processes are fetched, each once for all submatrices of a process (gatheredrows.c). What was gathered
  stays with the first submatrix, so that using them again takes values alone.
*/
#include "gatheredrows.h"
#include "submatrix.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include "../parallel/parallel.h"

static const char ROWS_KEY[] = "petscsparsecuda_gathered_rows";

static PetscErrorCode RowsDestroy(PetscCtxRt data)
{
  GatheredRows *x = *(GatheredRows **)data;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GatheredRowsDestroy(x, stream));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What submatrices were made of; NULL: the parent's code made them. */
static PetscErrorCode GetRows(PetscInt n, Mat B[], GatheredRows **x)
{
  PetscContainer container = NULL;

  PetscFunctionBegin;
  *x = NULL;
  if (n > 0) PetscCall(PetscObjectQuery((PetscObject)B[0], ROWS_KEY, (PetscObject *)&container));
  if (container != NULL) PetscCall(PetscContainerGetPointer(container, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gather(Mat A, const DCSRView blocks[], PetscInt n, const IS rows[], cudaStream_t stream, GatheredRows **rows_of)
{
  GatheredRows  *x;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&x));
  ierr = GatheredRowsCreate(A, blocks, n, rows, stream, x);
  if (ierr != PETSC_SUCCESS) (void)RowsDestroy((void *)&x);
  PetscCall(ierr);
  *rows_of = x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One submatrix of gathered rows with values; of a column that is listed more than once the last position counts. */
static PetscErrorCode Select(Mat A, const GatheredRows *x, IS rows, IS columns, cudaStream_t stream, DCSRView *view)
{
  const PetscInt  num_columns = GatheredRowsNumColumns(x);
  PetscInt        n, bad = -1;
  const PetscInt *indices;
  int32_t        *numbers;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(columns, &n));
  PetscCall(ISGetIndices(columns, &indices));
  PetscCall(PetscMalloc1(num_columns, &numbers));
  for (PetscInt k = 0; k < num_columns; k++) numbers[k] = -1;
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt column = GatheredRowsFindColumn(x, indices[k]);

    if (indices[k] < 0 || indices[k] >= A->cmap->N) bad = k;
    else if (column >= 0) numbers[column] = (int32_t)k;
  }
  if (bad < 0) ierr = GatheredRowsSelect(x, A, rows, numbers, n, stream, view);
  else
    ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERROR_INITIAL,
                      "Requested column %" PetscInt_FMT " at place %" PetscInt_FMT " of the index set, and the matrix has %" PetscInt_FMT, indices[bad], bad, A->cmap->N);
  PetscCall(PetscFree(numbers));
  PetscCall(ISRestoreIndices(columns, &indices));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether every process wants one matrix, all of a square A as it is: MATMPIAIJ hands the block sizes of A on then. Collective. */
static PetscErrorCode WantWhole(Mat A, PetscInt n, const IS rows[], const IS columns[], PetscBool *whole)
{
  PetscBool identity[2] = {PETSC_FALSE, PETSC_FALSE};
  PetscInt  sizes[2];

  PetscFunctionBegin;
  *whole = PETSC_FALSE;
  if (n == 1 && A->rmap->N == A->cmap->N) {
    PetscCall(ISIdentity(rows[0], &identity[0]));
    PetscCall(ISIdentity(columns[0], &identity[1]));
    PetscCall(ISGetLocalSize(rows[0], &sizes[0]));
    PetscCall(ISGetLocalSize(columns[0], &sizes[1]));
    *whole = (PetscBool)(identity[0] && identity[1] && sizes[0] == A->rmap->N && sizes[1] == A->cmap->N);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, whole, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateOne(Mat A, const GatheredRows *x, PetscBool whole, IS rows, IS columns, cudaStream_t stream, Mat *B)
{
  PetscInt rbs, cbs;
  DCSRView view;

  PetscFunctionBegin;
  PetscCall(ISGetBlockSize(rows, &rbs));
  PetscCall(ISGetBlockSize(columns, &cbs));
  if (whole) PetscCall(MatGetBlockSizes(A, &rbs, &cbs));
  PetscCall(Select(A, x, rows, columns, stream, &view));
  PetscCall(MatSeqAIJCUDACreateFromView(((Mat_MPIAIJ *)A->data)->A, rbs, cbs, &view, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The submatrices of one process, and what they are made of with the first of them. */
static PetscErrorCode CreateAll(Mat A, GatheredRows *x, PetscBool whole, PetscInt n, const IS rows[], const IS columns[], cudaStream_t stream, Mat B[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) PetscCall(CreateOne(A, x, whole, rows[k], columns[k], stream, &B[k]));
  PetscCall(GatheredRowsDropValues(x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New submatrices [n + 1], since MatDestroySubMatrices() expects one more. Collective. */
static PetscErrorCode Create(Mat A, PetscInt n, const IS rows[], const IS columns[], Mat *B[])
{
  GatheredRows   none, *x = NULL;
  DCSRView       blocks[2];
  PetscBool      whole;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(WantWhole(A, n, rows, columns, &whole));
  PetscCall(PetscArrayzero(&none, 1));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GatheredRowsGetBlocks(A, &none, stream, blocks));
  PetscCall(PetscCalloc1(n + 1, B));
  PetscCallGoto(ierr, failed, Gather(A, blocks, n, rows, stream, &x));
  x->singleis = A->submat_singleis;
  ierr        = GatheredRowsFill(x, blocks, stream);
  if (ierr == PETSC_SUCCESS) ierr = CreateAll(A, x, whole, n, rows, columns, stream, *B);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto failed;
  PetscCallGoto(ierr, failed, PetscSparseCUDACompose((PetscObject)(*B)[0], ROWS_KEY, x, RowsDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  for (PetscInt k = 0; k < n; k++) (void)MatDestroy(&(*B)[k]);
  (void)PetscFree(*B);
  if (x != NULL) {
    (void)GatheredRowsDropValues(x, stream);
    (void)RowsDestroy((void *)&x);
  }
  PetscFunctionReturn(ierr);
}

/* Values of gathered rows into the submatrices of one process. */
static PetscErrorCode ReuseAll(Mat A, const GatheredRows *x, PetscInt n, const IS rows[], const IS columns[], cudaStream_t stream, Mat B[])
{
  DCSRView view;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(Select(A, x, rows[k], columns[k], stream, &view));
    PetscCall(MatSeqAIJCUDAReuseView(B[k], x->singleis, &view));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of A into the submatrices, one after the other; what they were made of is renewed when the pattern of A has changed. Collective. */
static PetscErrorCode Reuse(Mat A, PetscInt n, const IS rows[], const IS columns[], GatheredRows *x, Mat B[])
{
  DCSRView       blocks[2];
  PetscBool      current;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(GatheredRowsGetBlocks(A, x, stream, blocks));
  PetscCall(GatheredRowsAreCurrent(A, x, &current));
  if (!current) {
    const PetscBool singleis = x->singleis;

    PetscCall(Gather(A, blocks, n, rows, stream, &x));
    x->singleis = singleis;
    PetscCall(PetscSparseCUDACompose((PetscObject)B[0], ROWS_KEY, x, RowsDestroy));
  }
  ierr = GatheredRowsFill(x, blocks, stream);
  if (ierr == PETSC_SUCCESS) ierr = ReuseAll(A, x, n, rows, columns, stream, B);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(GatheredRowsDropValues(x, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Such submatrices by the parent's code, which has nothing to use again; they keep what they were made of. Collective.

  One that was a factor in place has the name of the package still. MatCopy() may put another header over it, and MatHeaderMerge() of PETSc 3.26 frees no such name.
*/
static PetscErrorCode ReuseOnHost(Mat A, PetscInt n, const IS rows[], const IS columns[], Mat B[])
{
  Mat *T;

  PetscFunctionBegin;
  PetscCall(MatHost_AIJCUDA_createsubmatrices(A, n, rows, columns, MAT_INITIAL_MATRIX, &T));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(PetscFree(B[k]->solvertype));
    PetscCall(MatCopy(T[k], B[k], DIFFERENT_NONZERO_PATTERN));
  }
  PetscCall(MatDestroySubMatrices(n, &T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device makes the submatrices, on all processes. Each has to have one that keeps what they are made of. Collective. */
static PetscErrorCode UseDevice(Mat A, PetscInt n, Mat B[], PetscBool *device)
{
  PetscBool use;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAStructureOnDevice(A, device));
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  use = (PetscBool)(n > 0);
  for (PetscInt k = 0; k < n && B != NULL && use; k++) {
    PetscCall(MatIsSeqAIJCUDA(B[k], &use));
    if (use) PetscCall(MatSeqAIJCUDAStructureOnDevice(B[k], &use));
  }
  PetscCallMPI(MPIU_Allreduce(&use, device, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDACreateSubMatrices - createsubmatrices of parallel matrices of ours: MatCreateSubMatrices(). */
PetscErrorCode MatMPIAIJCUDACreateSubMatrices(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  const PetscBool again = (PetscBool)(reuse == MAT_REUSE_MATRIX);
  GatheredRows   *x     = NULL;
  PetscBool       device;

  PetscFunctionBegin;
  if (again) PetscCall(GetRows(n, *B, &x));
  PetscCall(UseDevice(A, n, again ? *B : NULL, &device));
  if (again && x != NULL && device) PetscCall(Reuse(A, n, rows, columns, x, *B));
  else if (again && x != NULL) PetscCall(ReuseOnHost(A, n, rows, columns, *B));
  else if (again || !device) PetscCall(MatHost_AIJCUDA_createsubmatrices(A, n, rows, columns, reuse, B));
  else PetscCall(Create(A, n, rows, columns, B));
  A->submat_singleis = PETSC_FALSE; // PCASM sets it anew before each call
  PetscFunctionReturn(PETSC_SUCCESS);
}
