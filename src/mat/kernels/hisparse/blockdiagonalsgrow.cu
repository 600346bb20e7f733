/*
  New blocks join masked diagonals of blocks, when the new entries of a batch are whole blocks: those of MatSetValuesBlocked(), for example. Structure and old values move as with single diagonals; new blocks are 0 at first,
  and then the batch goes to its places, which are searched for in the new structure.
*/
#include "blockdiagonals.cuh"
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../common/select.h"

namespace
{

/* The new entries of a batch, as parts of blocks. */
struct NewEntries {
  const PetscCount *where; // [num_entries] of the lookup: negative for new ones
  const uint64_t   *keys;  // [num_entries] ascending
  int               column_bits, size;

  __device__ __forceinline__ uint64_t Row(PetscCount t) const { return keys[t] >> column_bits; }
  __device__ __forceinline__ uint64_t Column(PetscCount t) const { return keys[t] & ((1ull << column_bits) - 1); }
};

/* Flags new entries that are the first of their block, and counts those whose block has no first entry that is new, too. With none, there are as many blocks as first entries. */
struct FlagFirst {
  NewEntries          entries;
  const PetscCount   *list;
  unsigned char      *flags;
  unsigned long long *count;

  __device__ void operator()(PetscCount q) const
  {
    const PetscCount t   = list[q];
    const uint64_t   row = entries.Row(t), column = entries.Column(t), first = (row - row % entries.size) << entries.column_bits | (column - column % entries.size);
    const PetscCount place = LowerBound(entries.keys, (PetscCount)0, t + 1, first);

    flags[q] = entries.keys[t] == first;
    if (entries.keys[place] != first || entries.where[place] >= 0) atomicAdd(count, 1ull);
  }
};

/* Row and column of a block, in the place of the first entry. */
struct MakeBlockKey {
  NewEntries        entries;
  const PetscCount *firsts;
  uint64_t         *keys;
  PetscCount       *list;

  __device__ void operator()(PetscCount k) const
  {
    keys[k] = (entries.Row(firsts[k]) / entries.size) << entries.column_bits | entries.Column(firsts[k]) / entries.size;
    list[k] = k;
  }
};

/* Entries of the batch to their places; all of them are there, but for those that are not to be. */
template <typename Stored>
struct SetEntries {
  NewEntries           entries;
  const PetscScalar   *from;
  FindInBlockDiagonals find;
  Stored              *values;
  bool                 add;

  __device__ void operator()(PetscCount t) const
  {
    if (entries.where[t] == DCSR_NOWHERE) return;
    Stored *value = values + find((PetscInt)entries.Row(t), (int32_t)entries.Column(t));

    *value = ToStored<Stored>(add ? FromStored(*value) + from[t] : from[t]);
  }
};

template <typename Stored>
PetscErrorCode SetStored(const BlockDiagonals *d, HiSparseDiagonalsValues *v, const DCSRBatch *batch, const NewEntries &entries, bool add, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(batch->num_entries, SetEntries<Stored>{entries, batch->values, FindInBlockDiagonals(d), (Stored *)v->values, add}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that exist while a batch joins. */
struct Work {
  PetscCount         *firsts; // [new entries] of the batch, those that are the first of their block in front
  PetscCount         *list;   // [new blocks] their numbers
  uint64_t           *keys;   // [new blocks]; before, a flag for each new entry
  unsigned long long *counts; // [2] strays, first entries
};

PetscErrorCode WorkDestroy(Work *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&work->firsts, stream));
  PetscCall(PetscSparseCUDAFree(&work->list, stream));
  PetscCall(PetscSparseCUDAFree(&work->keys, stream));
  PetscCall(PetscSparseCUDAFree(&work->counts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keys of the new blocks; *num -1: some new entries are no whole block. Synchronizes. */
PetscErrorCode FindBlocks(const NewEntries &entries, const DCSRLookup *lookup, Work *work, cudaStream_t stream, PetscCount *num)
{
  const PetscCount   num_new = (PetscCount)lookup->numbers.num_new, square = (PetscCount)entries.size * entries.size, most = num_new / square;
  unsigned long long counts[2];
  unsigned char     *flags;

  PetscFunctionBegin;
  *num = -1;
  if (num_new % square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(num_new, "first entries of new blocks", stream, &work->firsts));
  PetscCall(PetscSparseCUDAMalloc(most, "numbers of new blocks", stream, &work->list));
  PetscCall(PetscSparseCUDAMalloc(PetscMax(most, num_new / (PetscCount)sizeof(*work->keys) + 1), "keys of new blocks", stream, &work->keys));
  PetscCall(PetscSparseCUDAMalloc(2, "numbers of new entries", stream, &work->counts));
  PetscCallCUDA(cudaMemsetAsync(work->counts, 0, 2 * sizeof(*work->counts), stream));
  flags = (unsigned char *)work->keys; // until there are keys
  PetscCallCUDA(DCSRForEach(num_new, FlagFirst{entries, lookup->entries, flags, work->counts}, stream));
  PetscCall(DCSRSelectFlagged64("first entries of new blocks", num_new, lookup->entries, flags, work->firsts, (PetscCount *)(work->counts + 1), stream));
  PetscCallCUDA(cudaMemcpyAsync(counts, work->counts, sizeof(counts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (counts[0] > 0 || (PetscCount)counts[1] != most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(most, MakeBlockKey{entries, work->firsts, work->keys, work->list}, stream));
  *num = most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlockDiagonalsGrow - adds or replaces the entries of a batch, of which some are new

  Input Parameters:
+ d      - the structure, which nobody else has
. v      - its values, which nobody else has either
. batch  - sorted distinct entries
. lookup - of BlockDiagonalsLookup(), with its numbers on the host; gets its list of new entries
. mode   - ADD_VALUES, otherwise the values replace
- stream - synchronizes with it twice

  Output Parameter:
. done - PETSC_FALSE: the new entries are no whole blocks, or as in HiSparseDiagonalsGrow(); nothing has changed

  Errors: PETSC_ERR_MEM; structure and values are as they were.

  Cost: searches for each entry of the batch, and what HiSparseDiagonalsGrow() says, of blocks. The numbers of d->all are the caller's business.
*/
PetscErrorCode BlockDiagonalsGrow(BlockDiagonals *d, HiSparseDiagonalsValues *v, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  NewEntries         entries = {lookup->where, batch->keys, batch->column_bits, d->size};
  HiSparseNewEntries fresh   = {d->size, 0, NULL, NULL, NULL, batch->column_bits};
  Work               work    = {};
  PetscErrorCode     ierr    = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(DCSRLookupListNew(lookup, stream));
  PetscCallGoto(ierr, cleanup, FindBlocks(entries, lookup, &work, stream, &fresh.n));
  if (fresh.n < 0) goto cleanup;
  fresh.list = work.list;
  fresh.keys = work.keys;
  PetscCallGoto(ierr, cleanup, HiSparseDiagonalsGrowSlices(d->blocks, v, &fresh, NULL, stream, done));
  if (*done) PetscCallGoto(ierr, cleanup, HISPARSE_WITH_STORED(v, SetStored, d, v, batch, entries, mode == ADD_VALUES, stream));
  if (*done) PetscCallGoto(ierr, cleanup, BlockDiagonalsTransposeDestroy(d, stream));
cleanup:
  PetscCall(WorkDestroy(&work, stream));
  PetscFunctionReturn(ierr);
}
