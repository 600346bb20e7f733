/* Transposes of operands, made for a product or borrowed from matrices that keep theirs. */
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"

/* Structure of the transpose of x, and with the flag values, in the same pass, where it goes by blocks: sorting entries takes memory that values would add to. */
static PetscErrorCode BuildTranspose(DCSRView x, PetscBool values, cudaStream_t stream, ProductTranspose *t)
{
  DCSRView       view;
  void          *permutation = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(x.num_columns, x.num_rows, x.num_nonzeros, x.wide, stream, &view));
  view.row_block    = x.column_block;
  view.column_block = x.row_block;
  PetscCallGoto(ierr, failed, DCSRBlockListCreate(0, 0, &view.list));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private((size_t)x.num_nonzeros * (x.wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of a transpose", stream, &permutation));
  if (values && x.list != NULL && x.list->view.row_offsets != NULL) PetscCallGoto(ierr, failed, DCSRViewAllocateValues(&view, stream));
  PetscCallGoto(ierr, failed, DCSRTranspose(x, PETSC_FALSE, view, permutation, stream));
  t->view        = view;
  t->permutation = permutation;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(ierr);
}

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
  PetscBool keeps, built;

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
  built = (PetscBool)(t->view.row_offsets == NULL);
  if (built) PetscCall(BuildTranspose(x, values, stream, t));
  if (!values || (built && t->view.values != NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  if (t->view.values == NULL) PetscCall(DCSRViewAllocateValues(&t->view, stream));
  PetscCall(DCSRTransposeNumeric(x, t->permutation, PETSC_FALSE, t->view.values, stream));
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
