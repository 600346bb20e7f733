/* Transposes of operands, made for a product or borrowed from matrices that keep theirs. */
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"

/* Whether X keeps its transpose anyway. */
static PetscErrorCode KeepsTranspose(Mat X, PetscBool *keeps)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(X, keeps));
  if (*keeps) *keeps = (PetscBool)(!X->boundtocpu && (X->form_explicit_transpose || MatSeqAIJCUDAGet(X)->options.deterministic));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductTransposeGet - Structure, and with the flag values, of the transpose of an operand X with view x, for work queued on the stream; made at the first call, and after ProductTransposeDestroy().

  *t is zero, or the transpose of a matrix of the same pattern. A matrix with MAT_FORM_EXPLICIT_TRANSPOSE lends its own.
  ProductTransposeDropValues() frees the values when the phase is over.
*/
PetscErrorCode ProductTransposeGet(Mat X, DCSRView x, PetscBool values, cudaStream_t stream, ProductTranspose *t)
{
  const PetscBool at_once = (PetscBool)(values && t->view.row_offsets == NULL && x.list != NULL && x.list->view.row_offsets != NULL); // sorting entries takes memory that values would add to
  PetscBool       keeps;

  PetscFunctionBegin;
  PetscCall(KeepsTranspose(X, &keeps));
  if (keeps) {
    PetscCall((*MatSeqAIJCUDAGet(X)->device.csr->prepare)(X, MULT_TRANSPOSE, stream)); // of the CSR that x is
    if (!t->shared) PetscCall(ProductTransposeDestroy(t, stream));
    t->view              = MatSeqAIJCUDAGet(X)->plans.transpose;
    t->view.row_block    = x.column_block;
    t->view.column_block = x.row_block;
    t->shared            = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (t->shared) PetscCall(PetscArrayzero(t, 1));
  if (t->view.row_offsets == NULL) PetscCall(DCSRTransposeKeep(x, at_once, stream, &t->view, &t->permutation));
  if (!values || at_once) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->view.values == NULL) PetscCall(DCSRViewAllocateValues(&t->view, stream));
  PetscCall(DCSRTransposeRenew(x, t->permutation, t->view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductTransposeDropValues - Frees the values, unless the matrix itself keeps them. */
PetscErrorCode ProductTransposeDropValues(ProductTranspose *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!t->shared) PetscCall(PetscSparseCUDAFree(&t->view.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductTransposeDestroy - Frees a transpose, unless the matrix itself keeps it; it is zero afterwards. */
PetscErrorCode ProductTransposeDestroy(ProductTranspose *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!t->shared) {
    PetscCall(DCSRViewFree(&t->view, stream));
    PetscCall(PetscSparseCUDAFree(&t->permutation, stream));
  }
  PetscCall(PetscArrayzero(t, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
