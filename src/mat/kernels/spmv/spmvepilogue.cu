/* The epilogue of a product as a kernel of its own: where the product comes from storage that has none, and where there is nothing to multiply. */
#include "../common/foreach.cuh"
#include "spmvoutput.cuh"

namespace
{

struct ApplyEpilogue {
  const PetscScalar *product; // NULL: zero; may be the output
  SpMVEpilogue       output;

  __device__ void operator()(PetscCount i) const { output.Write(i, product != NULL ? product[i] : PetscScalar(0.0)); }
};

} // namespace

/*
  DCSRSpMVEpilogueApply - y = alpha d (b - product) + beta x + gamma q or y = y - alpha d product, entry by entry. Asynchronous, one launch
  All [num_rows], device. product: A x, NULL: zero; it may be y in the first form. x is read where beta is not 0. y may be q or b, and x when there is no product.
*/
PetscErrorCode DCSRSpMVEpilogueApply(PetscInt num_rows, const PetscScalar product[], const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (product == NULL && epilogue->b == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach((PetscCount)num_rows, ApplyEpilogue{product, {*epilogue, x, y}}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
