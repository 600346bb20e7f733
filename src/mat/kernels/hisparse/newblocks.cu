/*
  The new entries of a batch as whole blocks, for the formats of full blocks: those of MatSetValuesBlocked(), for example.
*/
#include "hisparseimpl.h"
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include "../common/select.h"

namespace
{

/* The new entries of a batch, as parts of blocks. */
struct NewEntries {
  const PetscCount *where; // [num_entries] of the lookup
  const uint64_t   *keys;  // [num_entries] ascending
  int               column_bits, size;

  __device__ __forceinline__ uint64_t Row(PetscCount t) const { return keys[t] >> column_bits; }
  __device__ __forceinline__ uint64_t Column(PetscCount t) const { return keys[t] & ((1ull << column_bits) - 1); }
  __device__ __forceinline__ bool     IsNew(PetscCount t) const { return where[t] < 0 && where[t] != DCSR_NOWHERE; }
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
    if (entries.keys[place] != first || !entries.IsNew(place)) atomicAdd(count, 1ull);
  }
};

/* Row and column of a block, in the place of the first entry. */
struct MakeBlockKey {
  NewEntries        entries;
  const PetscCount *firsts;
  uint64_t         *keys;

  __device__ void operator()(PetscCount k) const { keys[k] = (entries.Row(firsts[k]) / entries.size) << entries.column_bits | entries.Column(firsts[k]) / entries.size; }
};

/* Arrays that exist while blocks are looked for. */
struct Work {
  PetscCount         *firsts; // [new entries] of the batch, those that are the first of their block in front
  unsigned long long *counts; // [2] strays, first entries
};

/* Keys of the new blocks, whose number would be num. */
PetscErrorCode FindBlocks(const NewEntries &entries, const DCSRLookup *lookup, PetscCount num, Work *work, cudaStream_t stream, HiSparseNewBlocks *blocks)
{
  const PetscCount   num_new = (PetscCount)lookup->numbers.num_new;
  unsigned long long counts[2];
  unsigned char     *flags;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num_new, "first entries of new blocks", stream, &work->firsts));
  PetscCall(PetscSparseCUDAMalloc(2, "numbers of new entries", stream, &work->counts));
  PetscCall(PetscSparseCUDAMalloc(PetscMax(num, num_new / (PetscCount)sizeof(*blocks->keys) + 1), "keys of new blocks", stream, &blocks->keys));
  PetscCallCUDA(cudaMemsetAsync(work->counts, 0, 2 * sizeof(*work->counts), stream));
  flags = (unsigned char *)blocks->keys; // until there are keys
  PetscCallCUDA(DCSRForEach(num_new, FlagFirst{entries, lookup->entries, flags, work->counts}, stream));
  PetscCall(DCSRSelectFlagged64("first entries of new blocks", num_new, lookup->entries, flags, work->firsts, (PetscCount *)(work->counts + 1), stream));
  PetscCallCUDA(cudaMemcpyAsync(counts, work->counts, sizeof(counts), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (counts[0] > 0 || (PetscCount)counts[1] != num) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(num, MakeBlockKey{entries, work->firsts, blocks->keys}, stream));
  blocks->n = num;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseNewBlocksCreate - the new entries of a batch as whole blocks

  Input Parameters:
+ size   - of blocks
. batch  - sorted distinct entries
. lookup - of the batch, with its numbers on the host; gets its list of new entries
- stream - synchronizes with it

  Output Parameter:
. blocks - the new blocks; n is 0 when some new entries, or none, are no whole blocks. Free it with HiSparseNewBlocksDestroy(), also after an error

  Errors: PETSC_ERR_MEM.

  Cost: a search for each new entry of the batch, and one read of the list of them.
*/
PetscErrorCode HiSparseNewBlocksCreate(int size, const DCSRBatch *batch, DCSRLookup *lookup, cudaStream_t stream, HiSparseNewBlocks *blocks)
{
  const PetscCount num_new = (PetscCount)lookup->numbers.num_new, square = (PetscCount)size * size;
  Work             work = {};
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(blocks, 1));
  if (num_new == 0 || num_new % square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRLookupListNew(lookup, stream));
  PetscCallGoto(ierr, cleanup, FindBlocks(NewEntries{lookup->where, batch->keys, batch->column_bits, size}, lookup, num_new / square, &work, stream, blocks));
cleanup:
  PetscCall(PetscSparseCUDAFree(&work.firsts, stream));
  PetscCall(PetscSparseCUDAFree(&work.counts, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseNewBlocksDestroy - frees the array of new blocks; all 0 is fine */
PetscErrorCode HiSparseNewBlocksDestroy(HiSparseNewBlocks *blocks, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&blocks->keys, stream));
  blocks->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
