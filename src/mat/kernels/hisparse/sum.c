/* Sums of matrices that a format adds by itself. */
#include "hisparseimpl.h"

/* Y += a X with one structure: in place, or into values of Y's own. */
static PetscErrorCode AddValues(HiSparse Y, PetscScalar a, HiSparse X, cudaStream_t stream)
{
  HiSparseValues *sum;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(HiSparseValuesToWrite(Y, stream, &sum));
  PetscCallGoto(ierr, failed, HiSparseValuesAdd(Y->scale, Y->values, a * X->scale, X->values, sum, stream));
  PetscCall(HiSparseValuesWritten(Y, sum, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (sum != Y->values) PetscCall(HiSparseValuesDestroy(&sum, stream));
  PetscFunctionReturn(ierr);
}

/* Y += a X with any structures; num_nonzeros -1: it cannot be done. */
static PetscErrorCode Unite(HiSparse Y, PetscScalar a, HiSparse X, PetscCount max_nonzeros, cudaStream_t stream, PetscCount *num_nonzeros)
{
  const PetscBool    own   = (PetscBool)(Y->values->references == 1);
  HiSparseStructure *fresh = NULL; // for a new structure
  void              *structure;
  HiSparseValues    *values;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *num_nonzeros = -1;
  PetscCall(PetscNew(&fresh));
  PetscCallGoto(ierr, cleanup, Y->ops->unite(Y->structure->data, Y->values, Y->scale, X->structure->data, X->values, a * X->scale, max_nonzeros, own, stream, &structure, &values, num_nonzeros));
  if (*num_nonzeros < 0) goto cleanup;
  PetscCallGoto(ierr, cleanup, HiSparseValuesWritten(Y, values, stream));
  if (structure != Y->structure->data) {
    fresh->references = 1;
    fresh->data       = structure;
    PetscCallGoto(ierr, cleanup, HiSparseStructureDestroy(&Y->structure, Y->ops, stream));
    Y->structure = fresh;
    fresh        = NULL;
  }
  Y->num_nonzeros = *num_nonzeros;
cleanup:
  PetscCall(PetscFree(fresh));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseAXPY - Y = Y + a X for matrices of one size, which may share structure and values, or be the same one

  max_nonzeros are the most entries that Y may have afterwards, not fewer than it has. HISPARSE_SUM_NONE: nothing was done, since the formats differ, or one of the two is transposed, or there would be
  too many entries, or the format cannot do this. Synchronizes, unless the two share their structure. Errors: PETSC_ERR_MEM; both are as they were.

  Cost: two reads and one write of the values; a read of both structures, unless they are shared, and when they differ a traversal of them.
*/
PetscErrorCode HiSparseAXPY(HiSparse Y, PetscScalar a, HiSparse X, PetscCount max_nonzeros, cudaStream_t stream, HiSparseSum *sum)
{
  const PetscCount before = Y->num_nonzeros;
  PetscCount       after  = -1;
  PetscBool        same   = (PetscBool)(Y->structure == X->structure);

  PetscFunctionBegin;
  *sum = HISPARSE_SUM_NONE;
  PetscCall(HiSparseCheckValues(Y));
  PetscCall(HiSparseCheckValues(X));
  if (Y->format != X->format || Y->transposed != X->transposed || Y->num_rows != X->num_rows || Y->num_columns != X->num_columns) PetscFunctionReturn(PETSC_SUCCESS);
  if (!same) PetscCall(Y->ops->samestructure(Y->structure->data, X->structure->data, stream, &same));
  if (same) {
    PetscCall(AddValues(Y, a, X, stream));
    *sum = HISPARSE_SUM_SAME;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (X->num_nonzeros > max_nonzeros || Y->ops->unite == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Unite(Y, a, X, max_nonzeros, stream, &after));
  if (after > before) *sum = HISPARSE_SUM_GROWN;
  else if (after == before) *sum = X->num_nonzeros == before ? HISPARSE_SUM_SAME : HISPARSE_SUM_SUBSET;
  PetscFunctionReturn(PETSC_SUCCESS);
}
