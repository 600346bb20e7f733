/*
  Values between CSR and masked diagonals of blocks, and the structure of CSR.
*/
#include "blockdiagonalscopy.cuh"
#include "../common/foreach.cuh"
#include "blocksimpl.h"
#include "../common/preload.cuh"

namespace
{

/* From the values of CSR. */
struct FromCSR {
  static constexpr bool to_order = false, add = false;
  Offsets               row_offsets;
  const PetscScalar    *values;

  __device__ __forceinline__ PetscScalar Load(bool has, PetscCount e) const { return LoadValueIf(has, values + e); }
};

/* To the values of CSR, times alpha. */
struct ToCSR {
  static constexpr bool to_order = true, add = false;
  Offsets               row_offsets;
  PetscScalar          *values, alpha;
  bool                  scaled;

  __device__ __forceinline__ void Store(PetscCount e, PetscScalar value) const { values[e] = scaled ? alpha * value : value; }
};

template <typename Stored>
PetscErrorCode SetStored(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CopyBlocks<Stored>(d, v, FromCSR{Offsets(csr), csr.values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode GetStored(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CopyBlocks<Stored>(d, v, ToCSR{Offsets(csr), csr.values, alpha, alpha != PetscScalar(1.0)}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row offsets of the matrix from those of the collapsed one. */
struct ExpandOffsets {
  int            size;
  const int32_t *offsets; // of blocks
  Offsets        row_offsets;

  __device__ void operator()(PetscCount i) const
  {
    const PetscCount row    = i / size;
    const int        a      = (int)(i - row * size);
    const PetscCount before = (PetscCount)offsets[row] * size, n = a > 0 ? offsets[row + 1] - offsets[row] : 0;

    row_offsets.Set(i, (before + a * n) * size);
  }
};

/* Row offsets and columns: those of the collapsed matrix, which are a list of blocks (blocksimpl.h). */
PetscErrorCode GetStructure(const BlockDiagonals *d, DCSRView csr, cudaStream_t stream)
{
  const HiSparseDiagonals *collapsed = d->blocks;
  HiSparseDiagonalsValues  none      = {};
  DCSRView                 view      = {};
  Blocks                   blocks    = {};
  PetscErrorCode           ierr      = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(collapsed->num_rows, collapsed->num_columns, collapsed->num_nonzeros, PETSC_FALSE, stream, &view));
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsGetCSR(d->blocks, &none, 1.0, PETSC_TRUE, PETSC_FALSE, view, stream));
  blocks.num_rows      = csr.num_rows;
  blocks.num_columns   = csr.num_columns;
  blocks.size          = d->size;
  blocks.num_blocks    = collapsed->num_nonzeros;
  blocks.list.num_rows = collapsed->num_rows;
  blocks.list.offsets  = (int32_t *)view.row_offsets;
  blocks.list.columns  = view.columns;
  PetscCallGoto(ierr, cleanup, BlocksGetStructure(&blocks, csr, stream));
cleanup:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

} // namespace

/*
  BlockDiagonalsSetValues - the values of compact CSR

  Input Parameters:
+ d      - the structure
. v      - what is written
. csr    - compact CSR of the same structure
- stream - asynchronous on it

  Note: values are rounded when they are stored in single precision.

  Cost: a read and a write of the values, and a read of the pieces.
*/
PetscErrorCode BlockDiagonalsSetValues(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, SetStored, d, v, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlockDiagonalsGetCSR - compact CSR, columns of a row sorted

  Input Parameters:
+ d              - the structure
. v              - its values
. alpha          - factor of the values
. with_structure - row offsets and columns are wanted; PETSC_FALSE: csr has row offsets
. with_values    - values are wanted
. csr            - its arrays are allocated
- stream         - asynchronous on it

  Errors: PETSC_ERR_MEM, for CSR of the collapsed matrix, which with_structure takes.

  Cost: a read of the values and a write of what is wanted.
*/
PetscErrorCode BlockDiagonalsGetCSR(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (with_structure) PetscCall(GetStructure(d, csr, stream));
  if (with_values) PetscCall(HISPARSE_WITH_STORED(v, GetStored, d, v, alpha, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BlockDiagonalsRowOffsets - the row offsets of compact CSR, in its array

  Input Parameters:
+ d      - the structure
. csr    - its row offsets are allocated; nothing else is looked at
- stream - asynchronous on it

  Errors: PETSC_ERR_MEM, for those of the collapsed matrix.

  Cost: a read of the pieces.
*/
PetscErrorCode BlockDiagonalsRowOffsets(const BlockDiagonals *d, DCSRView csr, cudaStream_t stream)
{
  const PetscCount n         = d->blocks->num_rows;
  DCSRView         collapsed = {};
  PetscErrorCode   ierr      = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)(n + 1) * sizeof(int32_t), "row offsets of blocks", stream, &collapsed.row_offsets));
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsRowOffsets(d->blocks, collapsed, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n * d->size + 1, ExpandOffsets{d->size, (const int32_t *)collapsed.row_offsets, Offsets(csr)}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&collapsed.row_offsets, stream));
  PetscFunctionReturn(ierr);
}

HiSparsePreload(CopyBlocksKernel<2, PetscScalar, FromCSR>);
HiSparsePreload(CopyBlocksKernel<3, PetscScalar, FromCSR>);
