/*
  New blocks join dense blocks, when the new entries of a batch are whole blocks. Blocks lie one behind the other, so that a new one moves all behind it: the list and the values go to new arrays, where block k is behind as many
  more as new blocks belong before it. Nothing is sorted, and no row is looked at: what moves is the array.
*/
#include "blocksfind.cuh"
#include "newblocks.cuh"

namespace
{

constexpr int THREADS = 256, TILE = 256; // of a thread block; blocks that it moves

/* Where the new blocks belong: block k of those there has new ones before it as long as their positions are not above k. */
struct FindPosition {
  const int32_t  *offsets, *columns;
  const uint64_t *keys;
  int             column_bits;
  int32_t        *positions;

  __device__ void operator()(PetscCount q) const
  {
    const PetscInt row = (PetscInt)(keys[q] >> column_bits);

    positions[q] = LowerBound(columns, offsets[row], offsets[row + 1], (int32_t)(keys[q] & ((1ull << column_bits) - 1)));
  }
};

/* First block of a row, with the new ones in the rows before. */
struct WriteOffset {
  const int32_t  *offsets;
  const uint64_t *keys;
  PetscCount      num_new;
  int             column_bits;
  int32_t        *to;

  __device__ void operator()(PetscInt row) const { to[row] = offsets[row] + (int32_t)LowerBound(keys, (PetscCount)0, num_new, (uint64_t)row << column_bits); }
};

/* The column of a new block. */
struct WriteColumn {
  const uint64_t *keys;
  int             column_bits;
  const int32_t  *positions;
  int32_t        *to;

  __device__ void operator()(PetscCount q) const { to[q + positions[q]] = (int32_t)(keys[q] & ((1ull << column_bits) - 1)); }
};

/* A thread block moves a tile of blocks. Most tiles move as a whole when there are few new blocks. */
template <typename Stored>
__global__ void __launch_bounds__(THREADS)
  MoveKernel(int square, int32_t num_blocks, PetscCount num_new, const int32_t *__restrict__ positions, const int32_t *__restrict__ columns, const Stored *__restrict__ values, int32_t *__restrict__ new_columns, Stored *__restrict__ new_values)
{
  __shared__ int32_t shifts[TILE]; // new blocks before each
  const int32_t      begin = (int32_t)blockIdx.x * TILE, end = min(begin + TILE, num_blocks);
  const int          num = (end - begin) * square; // values
  const PetscCount   low = UpperBound(positions, (PetscCount)0, num_new, begin), high = UpperBound(positions, low, num_new, end - 1);
  const Stored      *from = values + (PetscCount)begin * square;
  Stored            *to   = new_values + (begin + low) * square;

  for (int32_t k = begin + (int32_t)threadIdx.x; k < end; k += THREADS) {
    const int32_t shift = (int32_t)UpperBound(positions, low, high, k);

    shifts[k - begin]      = shift;
    new_columns[k + shift] = columns[k];
  }
  if (low == high) { // the same for all threads
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < num; e += THREADS) to[e] = from[e];
    return;
  }
  __syncthreads();
#pragma unroll 4
  for (int e = (int)threadIdx.x; e < num; e += THREADS) to[(shifts[e / square] - (int32_t)low) * square + e] = from[e];
}

/* New arrays for all blocks. */
struct Room {
  BlocksList list;
  int32_t   *positions; // [new blocks]
  void      *values;    // as wide as those that are there
};

PetscErrorCode RoomDestroy(Room *room, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(BlocksListDestroy(&room->list, stream));
  PetscCall(PetscSparseCUDAFree(&room->positions, stream));
  PetscCall(PetscSparseCUDAFree(&room->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays, and what is not moved: offsets, columns of new blocks, long rows; *room owns what was made, also after an error. */
PetscErrorCode RoomCreate(const Blocks *blocks, const HiSparseNewBlocks *fresh, int column_bits, cudaStream_t stream, Room *room)
{
  const BlocksList *old  = &blocks->list;
  BlocksList       *list = &room->list;
  const PetscCount  num  = blocks->num_blocks + fresh->n;

  PetscFunctionBegin;
  list->num_rows = old->num_rows;
  PetscCall(PetscSparseCUDAMalloc((size_t)list->num_rows + 1, "offsets of rows of blocks", stream, &list->offsets));
  PetscCall(PetscSparseCUDAMalloc(num, "columns of blocks", stream, &list->columns));
  PetscCall(PetscSparseCUDAMalloc(fresh->n, "positions of new blocks", stream, &room->positions));
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)num * (size_t)(blocks->size * blocks->size) * HiSparseDiagonalsValueBytes(&blocks->all), "values of blocks", stream, &room->values));
  PetscCallCUDA(DCSRForEach(fresh->n, FindPosition{old->offsets, old->columns, fresh->keys, column_bits, room->positions}, stream));
  PetscCallCUDA(DCSRForEach(fresh->n, WriteColumn{fresh->keys, column_bits, room->positions, list->columns}, stream));
  PetscCallCUDA(DCSRForEach((PetscInt)(list->num_rows + 1), WriteOffset{old->offsets, fresh->keys, fresh->n, column_bits, list->offsets}, stream));
  PetscCall(BlocksListFindLong(list, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All blocks move in; *room gets the old arrays. */
template <typename Stored>
PetscErrorCode RoomUse(Blocks *blocks, HiSparseDiagonalsValues *v, PetscCount num_new, Room *room, cudaStream_t stream)
{
  const Room     old  = {blocks->list, room->positions, v->values};
  const unsigned grid = (unsigned)((blocks->num_blocks + TILE - 1) / TILE);

  PetscFunctionBegin;
  MoveKernel<<<grid, THREADS, 0, stream>>>(blocks->size * blocks->size, (int32_t)blocks->num_blocks, num_new, room->positions, blocks->list.columns, (const Stored *)v->values, room->list.columns, (Stored *)room->values);
  PetscCallCUDA(cudaGetLastError());
  blocks->list = room->list;
  blocks->num_blocks += num_new;
  v->values = room->values;
  *room     = old;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  BlocksGrow - adds or replaces the entries of a batch, of which some are new

  Input Parameters:
+ blocks - the structure, which nobody else has
. v      - its values, which nobody else has either
. batch  - sorted distinct entries
. lookup - of BlocksLookup(), with its numbers on the host; gets its list of new entries
. mode   - ADD_VALUES, otherwise the values replace
- stream - synchronizes with it once, and again when rows may be long

  Output Parameter:
. done - PETSC_FALSE: the new entries are no whole blocks, or too many; nothing has changed

  Errors: PETSC_ERR_MEM; structure and values are as they were.

  Cost: searches for each entry of the batch, a read and a write of everything, and the memory of a second copy meanwhile. The numbers of blocks->all and the configurations are the caller's business.
*/
PetscErrorCode BlocksGrow(Blocks *blocks, HiSparseDiagonalsValues *v, const DCSRBatch *batch, DCSRLookup *lookup, InsertMode mode, cudaStream_t stream, PetscBool *done)
{
  HiSparseNewBlocks fresh;
  Room              room = {};
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCallGoto(ierr, cleanup, HiSparseNewBlocksCreate(blocks->size, batch, lookup, stream, &fresh));
  if (fresh.n == 0 || fresh.n > blocks->num_blocks / HISPARSE_MAX_NEW_PART || blocks->num_blocks + fresh.n >= BLOCKS_MAX_NUMBER) goto cleanup;
  PetscCallGoto(ierr, cleanup, RoomCreate(blocks, &fresh, batch->column_bits, stream, &room));
  // all memory is there: from here on nothing fails for want of it
  PetscCallGoto(ierr, cleanup, HISPARSE_WITH_STORED(v, RoomUse, blocks, v, fresh.n, &room, stream));
  PetscCallGoto(ierr, cleanup, HISPARSE_WITH_STORED(v, HiSparseSetBatch, FindInBlocks(blocks), v, batch, lookup, mode, stream));
  PetscCallGoto(ierr, cleanup, BlocksListDestroy(&blocks->transpose, stream));
  *done = PETSC_TRUE;
cleanup:
  PetscCall(RoomDestroy(&room, stream));
  PetscCall(HiSparseNewBlocksDestroy(&fresh, stream));
  PetscFunctionReturn(ierr);
}
