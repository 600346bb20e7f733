/*
  Whether the structure of a matrix is symmetric, from one pass over it that looks for no partner. An entry above the diagonal adds a number that is made of its row and its column, one below it
  subtracts the number of the entry that it mirrors. The sums are zero when all entries have their partners, and with the chance of a random number of 128 bits otherwise; hash.cu says why. Blocks
  of any number of processes add up.

  Searching for every partner takes more than twice the time, and cannot be done for entries whose partners are on other processes.
*/
#include "../common/preload.cuh"
#include "../common/rowloop.cuh"
#include "mix.cuh"

namespace
{

/* What a thread has found. Sums of integers are the same in any order, so that rows are not kept apart. */
struct Skewness {
  using Result = void;
  const int32_t      *columns, *ghosts;
  uint32_t            row_begin, column_begin; // all numbers are below 2^31
  unsigned long long *to;
  Hash                sum;

  /* The contribution of entry (row, column). */
  __device__ void Visit(RowEntry e)
  {
    const uint32_t row = row_begin + (uint32_t)e.row, column = ghosts ? (uint32_t)ghosts[columns[e.position]] : column_begin + (uint32_t)columns[e.position];
    const uint64_t sign  = row < column ? 0 : ~(uint64_t)0; // x ^ sign - sign is x or -x
    const uint64_t key   = (uint64_t)(row < column ? row : column) << 32 | (row < column ? column : row);
    const uint64_t first = MixFirst(key + 0x9e3779b97f4a7c15ULL), second = MixSecond(key ^ 0xd1b54a32d192ed03ULL);

    if (row != column) sum = AddHash()(sum, Hash{{(first ^ sign) - sign, (second ^ sign) - sign}});
  }
  __device__ void End()
  {
    sum = ReduceBlock<ROW_LOOP_THREADS>(sum, AddHash());
    if (threadIdx.x > 0) return;
    for (int k = 0; k < DCSR_PATTERN_WORDS; k++)
      if (sum.word[k] != 0) atomicAdd(to + k, (unsigned long long)sum.word[k]); // blocks of which none has a chunk leave the others alone
  }
};

} // namespace

/*
  DCSRPatternSkewness - What a block of a matrix (compact or fragmented storage) adds to the skewness of the structure; synchronizes with the stream
  row_begin, column_begin: number of its first row and column. ghosts [A.num_columns], device: numbers of its columns; NULL: column_begin + c.
  skewness [DCSR_PATTERN_WORDS], host: sums over all blocks, modulo 2^64, are zero when the structure is symmetric, and not zero when it is not, but for the chance of a random number of 128 bits.
  Cost:
  one read of the structure.
*/
PetscErrorCode DCSRPatternSkewness(DCSRView A, PetscInt row_begin, PetscInt column_begin, const int32_t ghosts[], cudaStream_t stream, uint64_t skewness[])
{
  unsigned long long *sum  = NULL;
  PetscErrorCode      ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < DCSR_PATTERN_WORDS; k++) skewness[k] = 0;
  if (A.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "skewness of a pattern", stream, &sum));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(sum, 0, DCSR_PATTERN_WORDS * sizeof(*sum), stream));
  PetscCallGoto(ierr, cleanup, RowLoop(A, Skewness{A.columns, ghosts, (uint32_t)row_begin, (uint32_t)column_begin, sum, {{0, 0}}}, stream));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(skewness, sum, DCSR_PATTERN_WORDS * sizeof(*sum), stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&sum, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(RowLoopListKernel<int32_t, true>);
