/*
  Transposed matrices: copies with a flag that share structure and values with what they are the transpose of. Most functions of hisparse.c ask the format for the other direction; those that take more
  are here.
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/transpose.h>

/* HiSparseTranspose - the transpose of a matrix, which shares structure and values with it as a copy does */
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
  HiSparseTransposeValues - the values of a matrix for its transpose, which shares them then

  done PETSC_FALSE: the two do not share their structure, or are no transposes of each other; nothing was done.
*/
PetscErrorCode HiSparseTransposeValues(HiSparse hisparse, HiSparse transpose, cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  *done = (PetscBool)(hisparse->structure == transpose->structure && hisparse->transposed != transpose->transposed);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  hisparse->values->references++;
  PetscCall(HiSparseValuesDestroy(&transpose->values, stream));
  transpose->values = hisparse->values;
  transpose->scale  = hisparse->scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseTransposedGetCSR - HiSparseGetCSR() for a transposed matrix: CSR of what is stored, as workspace, and its transpose

  When values alone are asked for, the structure is written again, the same as before. Synchronizes. Errors: PETSC_ERR_MEM; the contents of the arrays are undefined then.
*/
PetscErrorCode HiSparseTransposedGetCSR(HiSparse hisparse, PetscBool values, DCSRView csr, cudaStream_t stream)
{
  DCSRView       stored;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(hisparse->num_columns, hisparse->num_rows, hisparse->num_nonzeros, csr.wide, stream, &stored));
  if (values) PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(&stored, stream));
  PetscCallGoto(ierr, cleanup, hisparse->ops->getcsr(hisparse->structure->data, hisparse->values, hisparse->scale, PETSC_TRUE, values, stored, stream));
  if (!values) csr.values = NULL;
  PetscCallGoto(ierr, cleanup, DCSRTranspose(stored, PETSC_FALSE, csr, NULL, stream));
cleanup:
  PetscCall(DCSRViewFree(&stored, stream));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseTransposedMultHermitian - y = A^H x + z for a transposed matrix A = S^T and complex scalars: S conj(x) + conj(z), conjugated

  z may be y, or NULL. Cost: beside the product, two or three passes over vectors. Workspace: a scalar for each row. Errors: PETSC_ERR_MEM.
*/
PetscErrorCode HiSparseTransposedMultHermitian(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscScalar   *conjugate = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(hisparse->num_rows, "conjugates of a vector", stream, &conjugate));
  PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(hisparse->num_rows, x, conjugate, stream));
  if (z != NULL) PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(hisparse->num_columns, z, y, stream));
  PetscCallGoto(ierr, cleanup, hisparse->ops->mult(hisparse->structure->data, hisparse->values, HISPARSE_FORWARD, hisparse->scale, conjugate, z != NULL ? y : NULL, y, stream));
  PetscCallGoto(ierr, cleanup, HiSparseConjugateVector(hisparse->num_columns, y, y, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&conjugate, stream));
  PetscFunctionReturn(ierr);
}
