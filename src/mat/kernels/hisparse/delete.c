/*
  Deletion without CSR: listed rows and columns become zero; rows and zeros leave the pattern, where the format can do it.
*/
#include "hisparseimpl.h"

/* Whether these rows can be zeroed as they are: none of them lacks a diagonal entry that is to become a number. A list is of rows of what is stored, so that transposed matrices are left to CSR. Synchronizes. */
static PetscErrorCode CanZeroRows(HiSparse h, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream, PetscBool *can)
{
  PetscCount missing = 0;

  PetscFunctionBegin;
  *can = (PetscBool)!h->transposed;
  if (!*can || diag == (PetscScalar)0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(h->ops->countwithoutdiagonal(h->structure->data, n, rows, stream, &missing));
  *can = (PetscBool)(missing == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseZeroRows - sets the values of listed rows to zero and their diagonal entries to a number; the pattern stays

  Input Parameters:
+ hisparse - the matrix
. n        - length of the list
. rows     - [n] device, may repeat
. diag     - new value of diagonal entries
- stream   - synchronizes with it when diag is not 0

  Output Parameter:
. done - PETSC_FALSE: the matrix is transposed by its flag, or a row has no diagonal entry that could become diag; nothing has changed

  Errors: PETSC_ERR_MEM; the matrix is as it was.

  Cost: a read of the pieces of the rows' slices; all values once when they were shared or had a scale factor.
*/
PetscErrorCode HiSparseZeroRows(HiSparse hisparse, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(CanZeroRows(hisparse, n, rows, diag, stream, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseChangeScaledValues(hisparse, stream));
  PetscCall(hisparse->ops->zerorows(hisparse->structure->data, hisparse->values->data, n, rows, diag, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseZeroRowsColumns - the same for rows and the columns of the same numbers

  Input Parameters:
+ hisparse - the matrix
. n        - length of the list
. rows     - [n] device, may repeat
. flags    - [max(rows, columns)] device: not 0 for what is listed
. diag     - new value of diagonal entries
. x        - [columns] device, read in listed columns alone; or NULL
- stream   - synchronizes with it when diag is not 0

  Input/Output Parameter:
. b - [rows] device, b -= A_columns x in rows that are not listed; NULL together with x

  Output Parameter:
. done - as above

  Errors: PETSC_ERR_MEM; matrix and b are as they were.

  Cost: a read of the pieces, and of the values that go.
*/
PetscErrorCode HiSparseZeroRowsColumns(HiSparse hisparse, PetscInt n, const PetscInt rows[], const unsigned char flags[], PetscScalar diag, const PetscScalar x[], PetscScalar b[], cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(CanZeroRows(hisparse, n, rows, diag, stream, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseChangeScaledValues(hisparse, stream));
  PetscCall(hisparse->ops->zerocolumns(hisparse->structure->data, hisparse->values->data, flags, x, b, stream));
  PetscCall(hisparse->ops->zerorows(hisparse->structure->data, hisparse->values->data, n, rows, diag, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries go, where the format can do that; the matrix has structure and values of its own then. */
static PetscErrorCode Shrink(HiSparse h, const HiSparseRemoval *removal, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(deletion, 1));
  PetscCall(HiSparseChangeStructure(h, stream));
  PetscCall(HiSparseChangeScaledValues(h, stream));
  PetscCall(h->ops->shrink(h->structure->data, h->values->data, removal, stream, deletion, done));
  if (*done && deletion->changed) h->num_nonzeros = deletion->num_nonzeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseRemoveRows - listed rows leave the pattern, but for their diagonal entries

  Input Parameters:
+ hisparse - the matrix
. n        - length of the list
. rows     - [n] device, may repeat
. diag     - new value of diagonal entries; 0: they go, too
- stream   - synchronizes with it

  Output Parameters:
+ deletion - what was done
- done     - PETSC_FALSE: the format cannot do it or has to be made again, the matrix is transposed by its flag, or a row has no diagonal entry that could become diag; nothing has changed

  Errors: PETSC_ERR_MEM; the matrix is as it was.

  Cost: see HiSparseDiagonalsShrink(); structure and values once when they were shared.
*/
PetscErrorCode HiSparseRemoveRows(HiSparse hisparse, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done)
{
  const HiSparseRemoval removal = {PETSC_FALSE, n, rows, (PetscBool)(diag != (PetscScalar)0.0)};

  PetscFunctionBegin;
  PetscCall(CanZeroRows(hisparse, n, rows, diag, stream, done));
  *done = (PetscBool)(*done && hisparse->ops->shrink != NULL);
  if (*done) PetscCall(Shrink(hisparse, &removal, stream, deletion, done));
  if (*done) PetscCall(hisparse->ops->zerorows(hisparse->structure->data, hisparse->values->data, n, rows, diag, stream)); // what is left of them is on the diagonal
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseRemoveZeros - entries that are zero leave the pattern

  Input Parameters:
+ hisparse      - the matrix
. keep_diagonal - entries (i, i) stay, whatever their value
- stream        - synchronizes with it

  Output Parameters:
+ deletion - what was done
- done     - PETSC_FALSE: the format cannot do it or has to be made again; nothing has changed

  Errors: PETSC_ERR_MEM; the matrix is as it was.

  Cost: a read of the values, and as above. Which entries are zero and on the diagonal is the same for a transpose, but the facts about its rows are not: transposes are left to CSR, too.
*/
PetscErrorCode HiSparseRemoveZeros(HiSparse hisparse, PetscBool keep_diagonal, cudaStream_t stream, DCSRDeletion *deletion, PetscBool *done)
{
  const HiSparseRemoval removal = {PETSC_TRUE, 0, NULL, keep_diagonal};

  PetscFunctionBegin;
  *done = (PetscBool)(hisparse->ops->shrink != NULL && !hisparse->transposed);
  if (*done) PetscCall(Shrink(hisparse, &removal, stream, deletion, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
