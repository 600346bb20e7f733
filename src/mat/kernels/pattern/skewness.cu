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

/* The contribution of entry (row, column). */
__host__ __device__ inline Hash SkewnessOf(uint64_t row, uint64_t column)
{
  const bool     above = row < column;
  const uint64_t key   = above ? (row << 32) + column : (column << 32) + row;
  const uint64_t first = MixFirst(key + 0x9e3779b97f4a7c15ULL), second = MixSecond(key ^ 0xd1b54a32d192ed03ULL);

  if (row == column) return Hash{{0, 0}};
  return above ? Hash{{first, second}} : Hash{{0 - first, 0 - second}};
}

struct RowSkewness {
  using Result = Hash;
  const int32_t *columns, *ghosts;
  uint64_t       row_begin, column_begin;
  Hash          *rows; // [num_rows]

  __device__ Result Identity() const { return Hash{{0, 0}}; }
  __device__ Result Map(RowEntry e) const
  {
    const int32_t column = columns[e.position];

    return SkewnessOf(row_begin + (uint64_t)e.row, ghosts ? (uint64_t)ghosts[column] : column_begin + (uint64_t)column);
  }
  __device__ Result Combine(Result a, Result b) const { return AddHash()(a, b); }
  __device__ void   Store(PetscInt row, Result sum) const { rows[row] = sum; }
};

} // namespace

/*
  DCSRPatternSkewness - What a block of a matrix (compact or fragmented storage) adds to the skewness of the structure; synchronizes with the stream
  row_begin, column_begin: number of its first row and column. ghosts [A.num_columns], device: numbers of its columns; NULL: column_begin + c.
  skewness [DCSR_PATTERN_WORDS], host: sums over all blocks, modulo 2^64, are zero when the structure is symmetric, and not zero when it is not, but for the chance of a random number of 128 bits.
  Cost:
  one read of the structure; 16 bytes a row are written and read.
*/
PetscErrorCode DCSRPatternSkewness(DCSRView A, PetscInt row_begin, PetscInt column_begin, const int32_t ghosts[], cudaStream_t stream, uint64_t skewness[])
{
  Hash          *rows = NULL, *sum = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < DCSR_PATTERN_WORDS; k++) skewness[k] = 0;
  if (A.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(A.num_rows, "skewness of rows", stream, &rows));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "skewness of a pattern", stream, &sum));
  PetscCallGoto(ierr, cleanup, RowLoop(A, RowSkewness{A.columns, ghosts, (uint64_t)row_begin, (uint64_t)column_begin, rows}, stream));
  PetscCallGoto(ierr, cleanup, PatternSumHashes("workspace to sum the skewness of rows", (PetscCount)A.num_rows, (const uint64_t *)rows, stream, (uint64_t *)sum));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(skewness, sum, sizeof(*sum), stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&rows, stream));
  PetscCall(PetscSparseCUDAFree(&sum, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(RowLoopListKernel<int32_t, true>);
