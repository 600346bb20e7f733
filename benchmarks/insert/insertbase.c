/*
  The matrix that batches go into, and how they do.
*/
#include "insertbench.h"

/* InsertBaseCreate - see insertbench.h */
PetscErrorCode InsertBaseCreate(Bench *b, InsertList *list, PetscCount max_batches, InsertBase *base)
{
  cudaStream_t stream = b->stream;

  PetscFunctionBegin;
  PetscCall(InsertRebuildCreate(list->num_rows, list->num_columns, list->n + max_batches, PetscMax(list->n, max_batches), stream, &base->rebuild));
  PetscCall(InsertRebuildAppend(&base->rebuild, list->n, list->i, list->j, list->v, stream));
  PetscCall(InsertRebuildSave(&base->rebuild, stream));
  base->num_entries = base->rebuild.num_entries;
  PetscCall(MatCreate(PETSC_COMM_SELF, &base->A));
  PetscCall(MatSetSizes(base->A, list->num_rows, list->num_columns, list->num_rows, list->num_columns));
  PetscCall(MatSetType(base->A, MATDCSRCUDA));
  PetscCall(MatSetPreallocationCOO(base->A, list->n, list->i, list->j));
  PetscCall(MatSetValuesCOO(base->A, list->v, INSERT_VALUES));
  PetscCall(MatCreateVecs(base->A, &base->x, &base->y));
  PetscCall(VecSet(base->x, 1.0));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(InsertListDestroy(list, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBaseCreateRMAT - see insertbench.h */
PetscErrorCode InsertBaseCreateRMAT(Bench *b, PetscCount max_batches, InsertBase *base)
{
  InsertList list;

  PetscFunctionBegin;
  PetscCall(InsertListRMAT(INSERT_RMAT_LEVELS, 0, INSERT_RMAT_ENTRIES, b->stream, &list));
  PetscCall(InsertBaseCreate(b, &list, max_batches, base));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBaseDestroy - frees both matrices */
PetscErrorCode InsertBaseDestroy(Bench *b, InsertBase *base)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&base->A));
  PetscCall(VecDestroy(&base->x));
  PetscCall(VecDestroy(&base->y));
  PetscCall(InsertRebuildDestroy(&base->rebuild, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBaseCopy - see insertbench.h */
PetscErrorCode InsertBaseCopy(const InsertBase *base, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(base->A, MAT_COPY_VALUES, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatMult(*A, base->x, base->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBatch - see insertbench.h */
PetscErrorCode InsertBatch(Mat A, const InsertList *list, PetscCount first, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(MatDCSRCUDASetValuesDevice(A, n, list->i + first, list->j + first, list->v + first, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBatchRebuild - see insertbench.h */
PetscErrorCode InsertBatchRebuild(Bench *b, InsertRebuild *rebuild, const InsertList *list, PetscCount first, PetscCount n)
{
  PetscFunctionBegin;
  PetscCall(InsertRebuildAppend(rebuild, n, list->i + first, list->j + first, list->v + first, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
