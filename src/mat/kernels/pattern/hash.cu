/*
  A hash of 128 bits of the structure of a matrix: two sums, modulo 2^64, of numbers that are each made of one row offset, or column index, and its position. Integer sums
  have the same value in any order, and positions make them depend on the order of the entries.
*/
#include "../common/temporary.cuh"
#include "mix.cuh"
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

/* Of a number of the structure and its position. */
__host__ __device__ inline Hash HashNumber(uint64_t position, uint64_t value)
{
  return Hash{{MixFirst(MixFirst(position + 0x9e3779b97f4a7c15ULL) + value), MixSecond(MixSecond(position + 0xd1b54a32d192ed03ULL) ^ (value * 0x9e3779b97f4a7c15ULL))}};
}

/* Of number k of the structure: row offsets first, then columns. */
template <typename Offset>
struct HashWord {
  const Offset  *row_offsets;
  const int32_t *columns;
  PetscCount     num_offsets;

  __device__ Hash operator()(PetscCount k) const { return HashNumber((uint64_t)k, k < num_offsets ? (uint64_t)row_offsets[k] : (uint64_t)columns[k - num_offsets]); }
};

template <typename Offset>
PetscErrorCode Reduce(DCSRView A, cudaStream_t stream, uint64_t hash[])
{
  const PetscCount num_offsets = (PetscCount)A.num_rows + 1, n = num_offsets + A.num_nonzeros;
  const auto       words = thrust::make_transform_iterator(thrust::counting_iterator<PetscCount>(0), HashWord<Offset>{(const Offset *)A.row_offsets, A.columns, num_offsets});

  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary("workspace to hash a pattern", n, stream, [&](void *storage, size_t &bytes) {
    return cub::DeviceReduce::Reduce(storage, bytes, words, (Hash *)hash, n, AddHash(), Hash{{0, 0}}, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRPatternHash - 128 bits [DCSR_PATTERN_WORDS] (device) that identify the structure of a matrix, together with their numbers of rows, columns and nonzeros. Asynchronous
  A is compact storage; the width of its offsets does not matter. Cost: one read of row offsets and columns.
  Structures that differ have the same hash with the chance of a random number of 128 bits, 3e-39: a program that compares a million patterns a second would meet such a pair once in about 1e25 years.
  The sums are those of Zobrist's hashing (1970) with mixing functions for his table of random numbers: where at least one offset or column differs, each sum differs by a combination of values of its
  mixing function, which are as good as uniformly distributed over 64 bits, and the two functions have nothing in common. Patterns that are constructed to collide are another matter: nobody gains
  anything by that here.
*/
PetscErrorCode DCSRPatternHash(DCSRView A, cudaStream_t stream, uint64_t hash[])
{
  PetscFunctionBegin;
  if (A.wide) PetscCall(Reduce<int64_t>(A, stream, hash));
  else PetscCall(Reduce<int32_t>(A, stream, hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRPatternGet - The number of nonzeros and the hash of a structure (compact storage), as DCSRPatternGetHost() finds them for the same structure; synchronizes with the stream. Cost: that of
  DCSRPatternHash().
*/
PetscErrorCode DCSRPatternGet(DCSRView A, cudaStream_t stream, DCSRPattern *pattern)
{
  PetscErrorCode ierr   = PETSC_SUCCESS;
  uint64_t      *device = NULL;

  PetscFunctionBegin;
  pattern->num_nonzeros = A.num_nonzeros;
  PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "hash of a pattern", stream, &device));
  PetscCallGoto(ierr, cleanup, DCSRPatternHash(A, stream, device));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(pattern->hash, device, sizeof(pattern->hash), stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRPatternGetHost - The same for arrays on the host: m rows, row offsets i [m + 1], columns j [i[m]], ascending in each row i = NULL: no row has an entry. Cost: one pass over the arrays. */
PetscErrorCode DCSRPatternGetHost(PetscInt m, const PetscInt i[], const PetscInt j[], DCSRPattern *pattern)
{
  const PetscCount num_offsets = (PetscCount)m + 1, nnz = i != NULL ? (PetscCount)i[m] : 0;
  Hash             sum = {{0, 0}};

  PetscFunctionBegin;
  for (PetscCount k = 0; k < num_offsets; k++) sum = AddHash()(sum, HashNumber((uint64_t)k, i != NULL ? (uint64_t)i[k] : 0));
  for (PetscCount k = 0; k < nnz; k++) sum = AddHash()(sum, HashNumber((uint64_t)(num_offsets + k), (uint64_t)j[k]));
  pattern->num_nonzeros = nnz;
  pattern->hash[0]      = sum.word[0];
  pattern->hash[1]      = sum.word[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRPatternEqual - Whether two structures with the same numbers of rows and columns are the same */
PetscBool DCSRPatternEqual(const DCSRPattern *a, const DCSRPattern *b)
{
  return (PetscBool)(a->num_nonzeros == b->num_nonzeros && a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1]);
}

/* DCSRPatternHashEqual - Whether two hashes on the device are the same; synchronizes. */
PetscErrorCode DCSRPatternHashEqual(const uint64_t a[], const uint64_t b[], cudaStream_t stream, PetscBool *equal)
{
  uint64_t host[2][DCSR_PATTERN_WORDS];

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(host[0], a, sizeof(host[0]), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(host[1], b, sizeof(host[1]), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *equal = (PetscBool)(host[0][0] == host[1][0] && host[0][1] == host[1][1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
