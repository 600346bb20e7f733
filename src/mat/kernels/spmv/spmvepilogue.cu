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
  DCSRSpMVEpilogueApply - y = alpha d (b - product) + beta x + gamma q or y = y - alpha d product, entry by entry

  Input Parameters:
+ num_rows - length of the vectors
. product  - [num_rows] A x, device; NULL: zero. It may be y in the first form
. x        - [num_rows], device; read where beta is not 0
. epilogue - what y becomes
- stream   - asynchronous on it

  Input/Output Parameter:
. y - [num_rows], device; may be q or b, and x when there is no product

  Cost: one launch.
*/
PetscErrorCode DCSRSpMVEpilogueApply(PetscInt num_rows, const PetscScalar product[], const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (product == NULL && epilogue->b == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach((PetscCount)num_rows, ApplyEpilogue{product, {*epilogue, x, y}}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
