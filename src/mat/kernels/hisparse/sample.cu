/* What the selection of a format counts, on a sample of the matrix. Counts are the same every time. */
#include "diagonalsimpl.h"
#include "../common/message.h"
#include <cstddef>
#include "../common/preload.cuh"

#define SAMPLE_SLICES  256  /* thread blocks, one wave */
#define SAMPLE_ROWS    2048 /* rows of dense blocks */
#define SAMPLE_THREADS 1024 /* for a slice, whose rows a warp takes one after the other */
#define SAMPLE_BUCKETS 4096
#define SAMPLE_LONG    512 /* entries of a row that is too long to be counted on diagonals */

#define SAMPLE_BYTES offsetof(HiSparseSample, block_size) /* what is counted */

static_assert(SAMPLE_BYTES <= DCSR_MESSAGE_WORDS * sizeof(uint32_t), "What is counted goes to the host in one message");

/* Buckets of a diagonal in two tables. A diagonal counts as full when both say so, which other diagonals in the same bucket seldom bring about. */
__device__ __forceinline__ unsigned int SampleBucket(int32_t diagonal, int table)
{
  return ((unsigned int)diagonal * (table ? 0x9e3779b1u : 0x85ebca6bu)) >> 20;
}

/* Adds the numbers of all lanes to *sum. */
__device__ __forceinline__ void SampleAdd(unsigned int n, unsigned long long *sum)
{
  n = __reduce_add_sync(0xffffffffu, n);
  if (threadIdx.x % 32 == 0 && n > 0) atomicAdd(sum, (unsigned long long)n);
}

/*
  A thread block takes a slice, a warp its rows. First the entries of each diagonal are counted, then those that are on full ones.
  Size b: a matrix of full blocks is sampled as if it had an entry for each block, the first one of its first row.
*/
template <typename Offset>
__global__ void __launch_bounds__(SAMPLE_THREADS) SampleSlicesKernel(const Offset *row_offsets, const int32_t *columns, PetscInt num_rows, int size, PetscCount num_slices, HiSparseSample *sample)
{
  __shared__ unsigned int counts[2][SAMPLE_BUCKETS];
  const PetscCount        first = (PetscCount)blockIdx.x * num_slices / gridDim.x * HISPARSE_SLICE_ROWS;
  const int               rows = num_rows - first < HISPARSE_SLICE_ROWS ? (int)(num_rows - first) : HISPARSE_SLICE_ROWS, lane = threadIdx.x % 32;
  unsigned int            in_segments = 0, segments = 0;

  for (int i = threadIdx.x; i < 2 * SAMPLE_BUCKETS; i += SAMPLE_THREADS) counts[0][i] = 0;
  __syncthreads();
  for (int pass = 0; pass < 2; pass++) {
    for (int i = threadIdx.x / 32; i < rows; i += SAMPLE_THREADS / 32) {
      const PetscCount begin = row_offsets[(first + i) * size], end = row_offsets[(first + i) * size + 1];

      if (end - begin > (PetscCount)SAMPLE_LONG * size) continue;
      for (PetscCount k = begin + (PetscCount)lane * size; k < end; k += 32 * size) {
        const int32_t       diagonal = columns[k] / size - i;
        unsigned int *const a = counts[0] + SampleBucket(diagonal, 0), *const b = counts[1] + SampleBucket(diagonal, 1);

        if (pass == 0) {
          atomicAdd(a, 1u);
          atomicAdd(b, 1u);
        } else in_segments += *a >= HISPARSE_SLICE_ROWS / 4 && *b >= HISPARSE_SLICE_ROWS / 4;
      }
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < SAMPLE_BUCKETS; i += SAMPLE_THREADS) segments += counts[0][i] >= HISPARSE_SLICE_ROWS / 4;
  __syncwarp();
  SampleAdd(in_segments, &sample->in_segments);
  SampleAdd(segments, &sample->segments);
  if (threadIdx.x == 0) {
    atomicAdd(&sample->rows, (unsigned long long)rows);
    atomicAdd(&sample->entries, (unsigned long long)(row_offsets[(first + rows) * size] - row_offsets[first * size]) / (unsigned int)(size * size));
  }
}

/* Slices of rows of blocks of so many rows, and when the size is 1 dense blocks. */
static PetscErrorCode SampleLaunch(DCSRView csr, int size, HiSparseSample *sample, cudaStream_t stream)
{
  const PetscInt     num_rows   = csr.num_rows / size;
  const PetscCount   num_slices = ((PetscCount)num_rows + HISPARSE_SLICE_ROWS - 1) / HISPARSE_SLICE_ROWS;
  const unsigned int slices     = (unsigned int)PetscMin(num_slices, SAMPLE_SLICES);

  PetscFunctionBegin;
  if (csr.wide) SampleSlicesKernel<<<slices, SAMPLE_THREADS, 0, stream>>>((const int64_t *)csr.row_offsets, csr.columns, num_rows, size, num_slices, sample);
  else SampleSlicesKernel<<<slices, SAMPLE_THREADS, 0, stream>>>((const int32_t *)csr.row_offsets, csr.columns, num_rows, size, num_slices, sample);
  PetscCallCUDA(cudaGetLastError());
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < BLOCK_DIAGONALS_NUM_SIZES; k++) {
    const int b = BlockDiagonalsSizes[k];

    if (DCSRFullBlocksMayBe(csr, b, b)) PetscCall(DCSRFullBlocksQueue(csr, b, b, SAMPLE_ROWS, &sample->not_full[k], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The counts, which are zero before. The caller frees them, also after an error. */
static PetscErrorCode SampleQueue(DCSRView csr, int size, cudaStream_t stream, HiSparseSample **sample)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(1, "counts of a sample", stream, sample));
  PetscCallCUDA(cudaMemsetAsync(*sample, 0, sizeof(**sample), stream));
  PetscCall(SampleLaunch(csr, size, *sample, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest blocks that the sample has; 0: none. */
static int FindBlockSize(DCSRView csr, const HiSparseSample *sample)
{
  for (int k = 0; k < BLOCK_DIAGONALS_NUM_SIZES; k++)
    if (DCSRFullBlocksMayBe(csr, BlockDiagonalsSizes[k], BlockDiagonalsSizes[k]) && !sample->not_full[k]) return BlockDiagonalsSizes[k];
  return 0;
}

/*
  HiSparseSampleTake - counts diagonals on a sample of compact CSR with at least one nonzero, and looks for dense blocks

  size is 1; or that of blocks, all of which are full: rows, entries and diagonals are those of blocks then, and nothing else is counted. Synchronizes. Errors: PETSC_ERR_MEM.

  Cost: a small launch, which reads of 32768 rows those that are not long, twice; one more launch, and at most 2048 rows of blocks, for each size of dense blocks that the sizes of the matrix allow.
  One wait.
*/
PetscErrorCode HiSparseSampleTake(DCSRView csr, int size, cudaStream_t stream, HiSparseSample *sample)
{
  HiSparseSample *device = NULL;
  PetscErrorCode  ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, SampleQueue(csr, size, stream, &device));
  PetscCallGoto(ierr, done, DCSRReadNumbers(sample, device, SAMPLE_BYTES, stream));
  sample->block_size = size == 1 ? FindBlockSize(csr, sample) : 0;
done:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseSamplingQueue - HiSparseSampleTake() that nobody waits for: sampling is asked for the counts later, on whatever stream, since they come to pinned memory

  *sampling NULL: no slot of that is free, and nothing was queued. Errors: PETSC_ERR_MEM.
*/
PetscErrorCode HiSparseSamplingQueue(DCSRView csr, int size, cudaStream_t stream, HiSparseSampling *sampling)
{
  HiSparseSample *device = NULL;
  PetscErrorCode  ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRPostCreate(sampling));
  if (*sampling == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, done, SampleQueue(csr, size, stream, &device));
  PetscCallGoto(ierr, done, DCSRPostSend(*sampling, device, SAMPLE_BYTES, stream));
done:
  if (ierr != PETSC_SUCCESS) DCSRPostDestroy(sampling);
  PetscCall(PetscSparseCUDAFree(&device, stream)); // in stream order: after the message
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseSamplingIsThere - whether the counts have come; never waits */
PetscBool HiSparseSamplingIsThere(HiSparseSampling sampling)
{
  return DCSRPostIsThere(sampling);
}

/* HiSparseSamplingTake - the sample, for which HiSparseSamplingIsThere(), of a csr with the structure and a size as they were queued; sampling ends, and *sampling is NULL afterwards */
PetscErrorCode HiSparseSamplingTake(DCSRView csr, int size, HiSparseSampling *sampling, HiSparseSample *sample)
{
  PetscFunctionBegin;
  PetscCall(DCSRPostTake(sampling, sample));
  sample->block_size = size == 1 ? FindBlockSize(csr, sample) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseSamplingDestroy - gives sampling up, whether the counts have come or not; NULL is fine */
void HiSparseSamplingDestroy(HiSparseSampling *sampling)
{
  DCSRPostDestroy(sampling);
}

HiSparsePreload(SampleSlicesKernel<int32_t>);
