/*
  The list that products with the transpose of diagonals of blocks read. Masked diagonals make it for the collapsed matrix (diagonalstranspose.cu); each of its segments then gets the masks of rows,
  which are those of the segments that its blocks are in.
*/
#include "blockdiagonals.cuh"

namespace
{

/* A thread block takes a slice of columns, a thread a segment. */
struct ExtendArguments {
  PetscInt                         num_slices; // of rows
  const HiSparseSlice             *slices;
  const HiSparseSegment           *segments;
  const uint32_t                  *transposed_slices;
  const HiSparseTransposedSegment *from;
  BlockDiagonalsTransposedSegment *to;
};

__global__ void __launch_bounds__(HISPARSE_SLICE_ROWS) ExtendKernel(const ExtendArguments a)
{
  const PetscCount first_column = (PetscCount)blockIdx.x * HISPARSE_SLICE_ROWS;

  for (uint32_t k = a.transposed_slices[blockIdx.x] + threadIdx.x; k < a.transposed_slices[blockIdx.x + 1]; k += HISPARSE_SLICE_ROWS) {
    const int32_t                   r0      = a.from[k].r0;
    const int                       offset  = r0 >> BLOCK_DIAGONALS_WORD_SHIFT & (HISPARSE_SLICE_WORDS - 1); // of the first 32-row group in its slice of rows
    BlockDiagonalsTransposedSegment segment = {};

    segment.r0 = r0;
    for (int half = 0; half < 2; half++) {
      const PetscCount       row_slice = (PetscCount)(r0 >> BLOCK_DIAGONALS_SLICE_SHIFT) + half;
      const bool             has       = row_slice >= 0 && row_slice < a.num_slices;
      const HiSparseSlice    slice     = has ? a.slices[row_slice] : HiSparseSlice();
      const HiSparseSegment *part      = has ? FindSegment(slice, a.segments, row_slice * HISPARSE_SLICE_ROWS + first_column - r0) : NULL;

      if (part == NULL) continue;
      segment.position[half] = (PetscCount)slice.values + part->values;
      if (half == 0) segment.position[0] += BitsBefore(part->mask, offset);
      else
        for (int q = 0; q < HISPARSE_SLICE_WORDS - offset; q++) segment.position[1] -= __popc(segment.mask[q]);
      for (int q = 0; q < BLOCK_DIAGONALS_WORDS; q++)
        if ((offset + q) / HISPARSE_SLICE_WORDS == half) segment.mask[q] = part->mask[(offset + q) % HISPARSE_SLICE_WORDS];
    }
    a.to[k] = segment;
  }
}

} // namespace

/*
  BlockDiagonalsTransposeCreate - the list of A^T x, when it is not there

  Synchronizes when there is something to make. Errors: PETSC_ERR_MEM; the structure is as it was.

  Cost: as HiSparseDiagonalsTransposeCreate() for a matrix with an entry for each block, and two bisections a segment.
*/
PetscErrorCode BlockDiagonalsTransposeCreate(HiSparseDiagonals *d, cudaStream_t stream)
{
  BlockDiagonalsTransposedSegment *segments = NULL;
  uint32_t                        *slices;
  PetscCount                       num_segments;
  PetscErrorCode                   ierr;

  PetscFunctionBegin;
  if (d->transposed_slices != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseDiagonalsTransposeCreate(d, stream));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(d->num_transposed_segments, "segments of diagonals of blocks of the transpose", stream, &segments));
  if (d->num_column_slices > 0)
    ExtendKernel<<<(unsigned int)d->num_column_slices, HISPARSE_SLICE_ROWS, 0, stream>>>(
      ExtendArguments{d->num_slices, d->slices, d->segments, d->transposed_slices, d->transposed_segments, segments});
  PetscCallCUDAGoto(ierr, failed, cudaGetLastError());
  slices               = d->transposed_slices;
  num_segments         = d->num_transposed_segments;
  d->transposed_slices = NULL;
  PetscCall(HiSparseDiagonalsTransposeDestroy(d, stream)); // the rest of it has served
  d->transposed_blocks       = segments;
  d->transposed_slices       = slices;
  d->num_transposed_segments = num_segments;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&segments, stream));
  PetscCall(HiSparseDiagonalsTransposeDestroy(d, stream));
  PetscFunctionReturn(ierr);
}
