/*
  Transposed matrices: copies with a flag that share structure and values with what they are the transpose of. Most functions of hisparse.c call the other function of the format for them; those that take more are here.
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/transpose.h>

/*
  HiSparseTranspose - the transpose of a matrix, which shares structure and values with it

  Input Parameters:
+ hisparse - the matrix
- stream   - not used: nothing is copied

  Output Parameter:
. transpose - free it with HiSparseDestroy()

  Errors: PETSC_ERR_MEM on the host.

  Note: what HiSparseDuplicate() says of copies holds here, too.
*/
PetscErrorCode HiSparseTranspose(HiSparse hisparse, cudaStream_t stream, HiSparse *transpose)
{
  PetscFunctionBegin;
  PetscCall(HiSparseDuplicate(hisparse, stream, transpose));
  (*transpose)->transposed  = (PetscBool)!hisparse->transposed;
  (*transpose)->num_rows    = hisparse->num_columns;
  (*transpose)->num_columns = hisparse->num_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseTransposeValues - the values of a matrix for its transpose, which was made of the same structure

  Input Parameters:
+ hisparse  - the matrix
. transpose - gets the values, shared with hisparse, in place of those it has
- stream    - on which values are freed that nobody has any more

  Output Parameter:
. done - PETSC_FALSE: the two do not share their structure, or are no transposes of each other; nothing was done
*/
PetscErrorCode HiSparseTransposeValues(HiSparse hisparse, HiSparse transpose, cudaStream_t stream, PetscBool *done)
{
  HiSparseShared *old = transpose->values;

  PetscFunctionBegin;
  *done = (PetscBool)(hisparse->structure == transpose->structure && hisparse->transposed != transpose->transposed);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  hisparse->values->references++;
  transpose->values = hisparse->values;
  transpose->scale  = hisparse->scale;
  if (--old->references == 0) {
    PetscCall(transpose->ops->valuesdestroy(&old->data, stream));
    PetscCall(PetscFree(old));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseTransposedGetCSR - HiSparseGetCSR() for a transposed matrix

  Errors: PETSC_ERR_MEM; the contents of the arrays are undefined then.

  Cost: that of the matrix which is stored, and a transpose of CSR, with CSR of the stored matrix as workspace. When values alone are asked for, the structure is written again, the same as before. Synchronizes.
*/
PetscErrorCode HiSparseTransposedGetCSR(HiSparse hisparse, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream)
{
  DCSRView       stored;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!structure && !values) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRViewAllocateStructure(hisparse->num_columns, hisparse->num_rows, hisparse->num_nonzeros, csr.wide, stream, &stored));
  if (values) PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(&stored, stream));
  PetscCallGoto(ierr, cleanup, hisparse->ops->getcsr(hisparse->structure->data, hisparse->values->data, hisparse->scale, PETSC_TRUE, values, stored, stream));
  if (values) PetscCallGoto(ierr, cleanup, DCSRTranspose(stored, PETSC_FALSE, csr, NULL, stream));
  else PetscCallGoto(ierr, cleanup, DCSRTransposeSymbolic(stored, csr, NULL, stream));
cleanup:
  PetscCall(DCSRViewFree(&stored, stream));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseTransposedMultHermitian - y = A^H x + z for a transposed matrix A = S^T and complex scalars: S conj(x) + conj(z), conjugated

  Input Parameters:
+ hisparse - transposed
. x        - [rows] device
. z        - [columns] device, may be y; or NULL
- stream   - asynchronous on it

  Output Parameter:
. y - [columns] device, not x

  Errors: PETSC_ERR_MEM.

  Cost: beside the product, two or three passes over vectors; workspace: [rows] scalars.
*/
PetscErrorCode HiSparseTransposedMultHermitian(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscScalar   *conjugate = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(hisparse->num_rows, "conjugates of a vector", stream, &conjugate));
  PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(hisparse->num_rows, x, conjugate, stream));
  if (z != NULL) PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(hisparse->num_columns, z, y, stream));
  PetscCallGoto(ierr, cleanup, hisparse->ops->mult(hisparse->structure->data, hisparse->values->data, hisparse->scale, conjugate, z != NULL ? y : NULL, y, stream));
  PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(hisparse->num_columns, y, y, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&conjugate, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseTransposedRowSumAbs - HiSparseRowSumAbs() for a transposed matrix; complex scalars take workspace for [rows] numbers */
PetscErrorCode HiSparseTransposedRowSumAbs(HiSparse hisparse, PetscScalar sums[], cudaStream_t stream)
{
  const PetscReal alpha = PetscAbsScalar(hisparse->scale);
  PetscReal      *reals = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (!PetscDefined(USE_COMPLEX)) {
    PetscCall(hisparse->ops->columnsumsabs(hisparse->structure->data, hisparse->values->data, alpha, (PetscReal *)(void *)sums, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(hisparse->num_rows, "sums of rows", stream, &reals));
  PetscCallGoto(ierr, cleanup, hisparse->ops->columnsumsabs(hisparse->structure->data, hisparse->values->data, alpha, reals, stream));
  PetscCallGoto(ierr, cleanup, HiSparseScalarsFromReals(hisparse->num_rows, reals, sums, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&reals, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseTransposedColumnSumsAbs - HiSparseColumnSumsAbs() for a transposed matrix; complex scalars take workspace for [columns] scalars */
PetscErrorCode HiSparseTransposedColumnSumsAbs(HiSparse hisparse, PetscReal sums[], cudaStream_t stream)
{
  const PetscReal alpha   = PetscAbsScalar(hisparse->scale);
  PetscScalar    *scalars = NULL;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (!PetscDefined(USE_COMPLEX)) {
    PetscCall(hisparse->ops->rowsumabs(hisparse->structure->data, hisparse->values->data, alpha, (PetscScalar *)(void *)sums, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(hisparse->num_columns, "sums of columns", stream, &scalars));
  PetscCallGoto(ierr, cleanup, hisparse->ops->rowsumabs(hisparse->structure->data, hisparse->values->data, alpha, scalars, stream));
  PetscCallGoto(ierr, cleanup, HiSparseRealsFromScalars(hisparse->num_columns, scalars, sums, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&scalars, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseTransposedRowMaxAbs - HiSparseRowMaxAbs() for a transposed matrix: of its CSR, which is made for the call */
PetscErrorCode HiSparseTransposedRowMaxAbs(HiSparse hisparse, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  DCSRView       csr;
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(hisparse->num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(hisparse->num_rows, hisparse->num_columns, hisparse->num_nonzeros, wide, stream, &csr));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(&csr, stream));
  PetscCallGoto(ierr, cleanup, HiSparseTransposedGetCSR(hisparse, PETSC_TRUE, PETSC_TRUE, csr, stream));
  PetscCallGoto(ierr, cleanup, DCSRRowMaxAbs(csr, largest, indices, stream));
cleanup:
  PetscCall(DCSRViewFree(&csr, stream));
  PetscFunctionReturn(ierr);
}
