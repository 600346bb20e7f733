/* Sums of matrices that a format adds by itself. */
#include "hisparseimpl.h"

/* New data in place of shared ones, of which this matrix gives up its part. fresh: an object without references for it, which is used. */
static PetscErrorCode Replace(HiSparseShared **shared, void *data, PetscErrorCode (*destroy)(void **, cudaStream_t), cudaStream_t stream, HiSparseShared **fresh)
{
  HiSparseShared *old = *shared;

  PetscFunctionBegin;
  (*fresh)->references = 1;
  (*fresh)->data       = data;
  *shared              = *fresh;
  *fresh               = NULL;
  if (--old->references > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(destroy(&old->data, stream));
  PetscCall(PetscFree(old));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X with one structure: in place, or into values of Y's own. */
static PetscErrorCode AddValues(HiSparse Y, PetscScalar a, HiSparse X, cudaStream_t stream)
{
  const PetscBool own    = (PetscBool)(Y->values->references == 1);
  void           *values = Y->values->data, *structure = Y->structure->data;
  HiSparseShared *fresh = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (!own) {
    PetscCall(PetscNew(&fresh));
    PetscCallGoto(ierr, failed, Y->ops->valuescreate(structure, stream, &values));
  }
  PetscCallGoto(ierr, failed, Y->ops->addvalues(structure, Y->scale, Y->values->data, a * X->scale, X->values->data, values, stream));
  if (!own) PetscCall(Replace(&Y->values, values, Y->ops->valuesdestroy, stream, &fresh));
  Y->scale = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (!own && values != Y->values->data) PetscCall(Y->ops->valuesdestroy(&values, stream));
  PetscCall(PetscFree(fresh));
  PetscFunctionReturn(ierr);
}

/* Y += a X with any structures; num_nonzeros -1: it cannot be done. */
static PetscErrorCode Unite(HiSparse Y, PetscScalar a, HiSparse X, PetscCount max_nonzeros, cudaStream_t stream, PetscCount *num_nonzeros)
{
  const PetscBool own      = (PetscBool)(Y->values->references == 1);
  HiSparseShared *fresh[2] = {NULL, NULL};
  void           *structure, *values;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *num_nonzeros = -1;
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, PetscNew(&fresh[k]));
  PetscCallGoto(ierr, cleanup, Y->ops->unite(Y->structure->data, Y->values->data, Y->scale, X->structure->data, X->values->data, a * X->scale, max_nonzeros, own, stream, &structure, &values, num_nonzeros));
  if (*num_nonzeros < 0) goto cleanup;
  if (values != Y->values->data) PetscCallGoto(ierr, cleanup, Replace(&Y->values, values, Y->ops->valuesdestroy, stream, &fresh[0]));
  if (structure != Y->structure->data) PetscCallGoto(ierr, cleanup, Replace(&Y->structure, structure, Y->ops->structuredestroy, stream, &fresh[1]));
  Y->num_nonzeros = *num_nonzeros;
  Y->scale        = 1.0;
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(fresh[k]));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseAXPY - Y = Y + a X

  Input Parameters:
+ Y            - the matrix
. a            - the factor
. X            - another matrix of the size of Y; may share structure and values with it
. max_nonzeros - the most entries that Y may have afterwards, not fewer than it has
- stream       - synchronizes it, unless the two share their structure

  Output Parameter:
. sum - what became of it; HISPARSE_SUM_NONE: nothing was done, since the formats differ, or one of the two is transposed, or there would be more than max_nonzeros, or the format cannot do this

  Errors: PETSC_ERR_MEM; both are as they were.

  Cost: two reads and one write of the values; a read of both structures, unless they are shared, and when they differ a walk over them.

  Note: X may be Y.
*/
PetscErrorCode HiSparseAXPY(HiSparse Y, PetscScalar a, HiSparse X, PetscCount max_nonzeros, cudaStream_t stream, HiSparseSum *sum)
{
  const PetscCount before = Y->num_nonzeros;
  PetscCount       after  = -1;
  PetscBool        same   = (PetscBool)(Y->structure == X->structure);

  PetscFunctionBegin;
  *sum = HISPARSE_SUM_NONE;
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
