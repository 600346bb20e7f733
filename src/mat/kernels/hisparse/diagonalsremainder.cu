/*
  The CSR remainder, the entries outside of diagonal segments: a CSR matrix without its empty rows, for DCSR's own product.
*/
#include "diagonalsimpl.h"
#include "../common/foreach.cuh"
#include "../common/scan.h"
#include "../common/search.cuh"

namespace
{

/* 1 for a row that has entries. */
template <typename Offset>
struct MarkRow {
  const Offset   *row_offsets;
  PetscInt        num_rows;
  int32_t        *marks; // [num_rows + 1]
  __device__ void operator()(PetscInt row) const { marks[row] = row < num_rows && row_offsets[row] < row_offsets[row + 1]; }
};

/* Number and first entry of a row that has entries, and the end. */
template <typename Offset>
struct WriteRow {
  const Offset  *row_offsets;
  PetscInt       num_rows;
  const int32_t *positions; // [num_rows + 1] rows with entries before each row
  int32_t       *rows;
  Offset        *offsets;

  __device__ void operator()(PetscInt row) const
  {
    const Offset begin = row_offsets[row];

    if (row == num_rows) offsets[positions[row]] = begin;
    else if (begin < row_offsets[row + 1]) {
      rows[positions[row]]    = (int32_t)row;
      offsets[positions[row]] = begin;
    }
  }
};

template <typename Offset>
PetscErrorCode Compress(DCSRView csr, int32_t *positions, cudaStream_t stream, HiSparseRemainder *remainder)
{
  const Offset    *row_offsets = (const Offset *)csr.row_offsets;
  const PetscCount n           = (PetscCount)csr.num_rows + 1;
  Offset          *offsets     = NULL;
  int32_t          num_rows;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscInt)n, MarkRow<Offset>{row_offsets, csr.num_rows, positions}, stream));
  PetscCall(DCSRExclusiveSum("rows outside of diagonals", positions, n, stream));
  PetscCallCUDA(cudaMemcpyAsync(&num_rows, positions + csr.num_rows, sizeof(num_rows), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscSparseCUDAMalloc(num_rows, "rows outside of diagonals", stream, &remainder->rows));
  PetscCall(PetscSparseCUDAMalloc((size_t)num_rows + 1, "row offsets outside of diagonals", stream, &offsets));
  remainder->view.row_offsets = offsets;
  remainder->view.num_rows    = num_rows;
  PetscCallCUDA(DCSRForEach((PetscInt)n, WriteRow<Offset>{row_offsets, csr.num_rows, positions, remainder->rows, offsets}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rows of the remainder a slice has. */
struct FindRows {
  const int32_t  *rows;
  int32_t         num_rows;
  int32_t        *slices;
  __device__ void operator()(PetscInt slice) const { slices[slice] = LowerBound(rows, (int32_t)0, num_rows, (int32_t)PetscMin((PetscCount)slice * HISPARSE_SLICE_ROWS, (PetscCount)INT32_MAX)); }
};

} // namespace

/*
  HiSparseRemainderCreate - a CSR matrix without its empty rows, of compact CSR with at least one entry and less than 2^31 - 1 rows

  The view has the columns of csr, which stay the caller's after an error, and row offsets of its own, as wide. Synchronizes. Errors: PETSC_ERR_MEM; *remainder is 0 then.

  Cost: three passes over the row offsets; workspace: 4 bytes a row.
*/
PetscErrorCode HiSparseRemainderCreate(DCSRView csr, cudaStream_t stream, HiSparseRemainder *remainder)
{
  int32_t       *positions = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(remainder, 1));
  remainder->view             = csr;
  remainder->view.row_offsets = NULL;
  remainder->view.values      = NULL;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc((size_t)csr.num_rows + 1, "numbers of rows outside of diagonals", stream, &positions));
  if (csr.wide) PetscCallGoto(ierr, failed, Compress<int64_t>(csr, positions, stream, remainder));
  else PetscCallGoto(ierr, failed, Compress<int32_t>(csr, positions, stream, remainder));
  PetscCall(PetscSparseCUDAFree(&positions, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  remainder->view.columns = NULL;
  PetscCall(PetscSparseCUDAFree(&positions, stream));
  PetscCall(HiSparseRemainderDestroy(remainder, stream));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseRemainderFindSlices - [num_slices + 1], the caller's: the first row of the remainder, which has entries, that is in each slice of rows or behind it. Asynchronous. Errors: PETSC_ERR_MEM;
  *slices is NULL then
*/
PetscErrorCode HiSparseRemainderFindSlices(const HiSparseRemainder *remainder, PetscInt num_slices, cudaStream_t stream, int32_t **slices)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)num_slices + 1, "rows of slices outside of diagonals", stream, slices));
  PetscCallCUDA(DCSRForEach((PetscInt)(num_slices + 1), FindRows{remainder->rows, (int32_t)remainder->view.num_rows, *slices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseRemainderDestroy - frees everything; all 0 is fine, and *remainder is so afterwards */
PetscErrorCode HiSparseRemainderDestroy(HiSparseRemainder *remainder, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMVPlanDestroy(&remainder->plan, stream));
  PetscCall(PetscSparseCUDAFree(&remainder->sums, stream));
  PetscCall(PetscSparseCUDAFree(&remainder->rows, stream));
  PetscCall(DCSRViewFree(&remainder->view, stream));
  PetscCall(PetscArrayzero(remainder, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
