/*
  Values between CSR and masked diagonals of blocks, and the structure of CSR.
*/
#include "blockdiagonalscopy.cuh"
#include "../common/preload.cuh"

namespace
{

/* From the values of CSR. */
struct FromCSR {
  static constexpr bool to_order = false;
  Offsets               row_offsets;
  const PetscScalar    *values;

  __device__ __forceinline__ PetscScalar Load(bool has, PetscCount e) const { return LoadValueIf(has, values + e); }
};

/* To the values of CSR, times alpha. */
struct ToCSR {
  static constexpr bool to_order = true;
  Offsets               row_offsets;
  PetscScalar          *values, alpha;
  bool                  scaled;

  __device__ __forceinline__ void Store(PetscCount e, PetscScalar value) const { values[e] = scaled ? alpha * value : value; }
};

/* Row offsets and columns, by those of the collapsed matrix. */
PetscErrorCode GetStructure(const HiSparseDiagonals *d, DCSRView csr, cudaStream_t stream)
{
  HiSparseValues none = {};
  DCSRBlockList  list;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRBlockListCreate(d->size, d->size, &list));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateStructure(d->num_rows, d->num_columns, d->num_nonzeros, PETSC_FALSE, stream, &list->view));
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsGetCSR(d, &none, 1.0, PETSC_TRUE, PETSC_FALSE, list->view, stream));
  PetscCallGoto(ierr, cleanup, DCSRBlockListWrite(list, csr, stream));
cleanup:
  PetscCall(DCSRBlockListDestroy(&list, stream));
  PetscFunctionReturn(ierr);
}

} // namespace

/* BlockDiagonalsSetValues - the values of compact CSR of the same structure: a read and a write of the values, and a read of the segments */
PetscErrorCode BlockDiagonalsSetValues(const void *structure, HiSparseValues *v, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CopyBlocks((const HiSparseDiagonals *)structure, (PetscScalar *)v->values, FromCSR{Offsets(csr), csr.values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlockDiagonalsGetCSR - compact CSR, columns of a row sorted, whose arrays are allocated; without structure csr has it. Errors: PETSC_ERR_MEM, for CSR of the collapsed matrix, which with_structure
  takes
*/
PetscErrorCode BlockDiagonalsGetCSR(const void *structure, const HiSparseValues *v, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  const HiSparseDiagonals *d = (const HiSparseDiagonals *)structure;

  PetscFunctionBegin;
  if (with_structure) PetscCall(GetStructure(d, csr, stream));
  if (with_values) PetscCall(CopyBlocks(d, (PetscScalar *)v->values, ToCSR{Offsets(csr), csr.values, alpha, alpha != PetscScalar(1.0)}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HiSparsePreload(CopyBlocksKernel<2, FromCSR>);
HiSparsePreload(CopyBlocksKernel<3, FromCSR>);
