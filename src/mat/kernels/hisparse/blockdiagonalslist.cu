/*
  Values of a list of coordinates to masked diagonals of blocks.
*/
#include "blockdiagonalscopy.cuh"
#include "../insert/listvalues.cuh"

namespace
{

/* A sorted list is in the order of CSR. */
template <typename Index>
struct FromList {
  static constexpr bool to_order = false;
  bool                  add;
  Offsets               row_offsets;
  Runs<Index>           runs;
  ListValues            list;

  __device__ __forceinline__ PetscScalar Load(bool has, PetscCount e) const { return has ? runs.Sum(list, e) : PetscScalar(0); }
};

template <typename Stored>
PetscErrorCode SetStored(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, const DCSRList *list, const ListValues &from, bool add, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list->wide) PetscCall(CopyBlocks<Stored>(d, v, FromList<int64_t>{add, Offsets(csr), {(const int64_t *)list->order, (const int64_t *)list->runs}, from}, stream));
  else PetscCall(CopyBlocks<Stored>(d, v, FromList<int32_t>{add, Offsets(csr), {(const int32_t *)list->order, (const int32_t *)list->runs}, from}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlockDiagonalsSetList - the values of a list of all entries, or these added to the values

  Input Parameters:
+ d      - the structure
. v      - what is written
. csr    - row offsets of compact CSR of the same structure; nothing else is looked at
. list   - sorted, without repeats in such numbers that a thread should not add them up
. from   - [split] values of the unsorted list, device
. more   - [num_given - split] its further values, device; NULL when split is num_given
. split  - as above
. add    - the values are added
- stream - asynchronous on it

  Cost: a read of the list and of its values, a write of the values, and a read of the pieces.
*/
PetscErrorCode BlockDiagonalsSetList(const BlockDiagonals *d, HiSparseDiagonalsValues *v, DCSRView csr, const DCSRList *list, const PetscScalar from[], const PetscScalar more[], PetscCount split, PetscBool add, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, SetStored, d, v, csr, list, ListValues{from, more, split}, add == PETSC_TRUE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
