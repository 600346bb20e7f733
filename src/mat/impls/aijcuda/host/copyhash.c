/*
  MatCopyHashToXAIJ() of a matrix whose values go to the device: it has no hash, and what was inserted so far is copied in place of that.

  With a hash, as on the host, PETSc's own function is in the table.
*/
#include "host.h"
#include "../core/core.h"

/* A block with the global numbers of its rows and columns. */
typedef struct {
  const Mat_SeqAIJ *block;
  PetscInt          num_rows, row_begin, column_begin;
  const PetscInt   *columns; /* [columns of the block] global numbers; NULL: they are counted from column_begin */
} GlobalBlock;

/* Sends what waits for other processes. Collective. */
static PetscErrorCode Flush(Mat A)
{
  PetscFunctionBegin;
  PetscUseTypeMethod(A, assemblybegin, MAT_FLUSH_ASSEMBLY);
  PetscUseTypeMethod(A, assemblyend, MAT_FLUSH_ASSEMBLY);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of A, whose host copies are current; returns how many. */
static int GetBlocks(Mat A, PetscBool is_mpi, GlobalBlock blocks[2])
{
  const Mat_MPIAIJ *a = (const Mat_MPIAIJ *)A->data;

  blocks[0] = (GlobalBlock){(const Mat_SeqAIJ *)(is_mpi ? a->A->data : A->data), A->rmap->n, A->rmap->rstart, A->cmap->rstart, NULL};
  if (is_mpi) blocks[1] = (GlobalBlock){(const Mat_SeqAIJ *)a->B->data, A->rmap->n, A->rmap->rstart, 0, a->garray};
  return is_mpi ? 2 : 1;
}

/* Room in B for the entries of the blocks; more may be inserted later, as after PETSc's own function. */
static PetscErrorCode Preallocate(int n, const GlobalBlock blocks[], Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(B, 0, blocks[0].block->ilen));
  PetscCall(MatMPIAIJSetPreallocation(B, 0, blocks[0].block->ilen, 0, n > 1 ? blocks[1].block->ilen : NULL));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* columns: scratch for the longest row */
static PetscErrorCode InsertRows(const GlobalBlock *b, PetscInt columns[], Mat B)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < b->num_rows; i++) {
    const PetscInt begin = b->block->i[i], n = b->block->ilen[i], row = b->row_begin + i;

    for (PetscInt k = 0; k < n; k++) columns[k] = b->columns != NULL ? b->columns[b->block->j[begin + k]] : b->column_begin + b->block->j[begin + k];
    if (n > 0) PetscCall(MatSetValues(B, 1, &row, n, columns, PetscSafePointerPlusOffset(b->block->a, begin), INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyEntries(Mat A, Mat B)
{
  GlobalBlock    blocks[2];
  PetscInt       longest = 0, *columns;
  PetscBool      is_mpi;
  int            n;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  n = GetBlocks(A, is_mpi, blocks);
  PetscCall(Preallocate(n, blocks, B));
  for (int k = 0; k < n; k++)
    for (PetscInt i = 0; i < blocks[k].num_rows; i++) longest = PetscMax(longest, blocks[k].block->ilen[i]);
  PetscCall(PetscMalloc1(longest, &columns));
  for (int k = 0; k < n && ierr == PETSC_SUCCESS; k++) ierr = InsertRows(&blocks[k], columns, B);
  PetscCall(PetscFree(columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCopyHashToXAIJ_AIJCUDA - Copies the entries that were inserted into A so far to B, another AIJ matrix of the same layout, which is assembled then; B may be A itself. Collective.

  PETSC_ERR_ARG_WRONGSTATE: A is assembled. The entries of A travel to the host.
*/
PetscErrorCode MatCopyHashToXAIJ_AIJCUDA(Mat A, Mat B)
{
  PetscBool      is_mpi;
  PetscErrorCode ierr, ended;

  PetscFunctionBegin;
  PetscCheck(!A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "Not for an assembled matrix: MatCopyHashToXAIJ() copies what was inserted before MatAssemblyBegin(); use MatCopy() or MatDuplicate()");
  if (A != B) {
    PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
    if (is_mpi) PetscCall(Flush(A));
    PetscCall(MatAIJCUDAArrayBegin(A, HOST_READ)); // and not as host code, in which B would be filled on the host
    ierr  = CopyEntries(A, B);
    ended = MatAIJCUDAArrayEnd(A, HOST_READ);
    if (ierr == PETSC_SUCCESS) ierr = ended;
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
    PetscCall(ierr);
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
