/*
  Values between CSR and masked diagonals of blocks. A thread has a row of blocks: the entries of its k-th block are in columns k * b and on of the b rows of CSR, in which neighbor blocks are neighbors, so that what
  one block leaves of a sector the next one finds in the cache.
*/
#include "blockdiagonals.cuh"
#include "blocksimpl.h"
#include "../common/offsets.cuh"

namespace
{

/* A block of the matrix and its entries in CSR. ToCSR: they are written there, times alpha. */
template <typename Stored, bool ToCSR>
struct CopyBlocks {
  struct Result {};
  int          size;
  Offsets      row_offsets; // of CSR
  Stored      *values;
  PetscScalar *csr_values, alpha;
  bool         scaled;

  __device__ Result Begin() const { return Result(); }
  __device__ void   Visit(PetscCount row, PetscCount, int k, BlockPlace place, Result &) const
  {
    for (int a = 0; a < size; a++) {
      PetscScalar *const csr  = csr_values + row_offsets(row * size + a) + (PetscCount)k * size;
      Stored *const      mine = values + place.first + (PetscCount)a * size * place.stride;

      for (int c = 0; c < size; c++) {
        if (!ToCSR) mine[(PetscCount)c * place.stride] = ToStored<Stored>(csr[c]);
        else if (scaled) csr[c] = alpha * FromStored(mine[(PetscCount)c * place.stride]);
        else csr[c] = FromStored(mine[(PetscCount)c * place.stride]);
      }
    }
  }
  __device__ void Store(PetscCount, const Result &) const {}
};

template <typename Stored>
PetscErrorCode SetStored(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockRows(d, CopyBlocks<Stored, false>{d->size, Offsets(csr), (Stored *)v->values, csr.values, 1.0, false}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode GetStored(const BlockDiagonals *d, const HiSparseDiagonalsValues *v, PetscScalar alpha, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitBlockRows(d, CopyBlocks<Stored, true>{d->size, Offsets(csr), (Stored *)v->values, csr.values, alpha, alpha != PetscScalar(1.0)}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
