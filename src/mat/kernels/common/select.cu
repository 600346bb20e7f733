/*
  Selections from device arrays: see select.h.
*/
#include "select.h"
#include "temporary.cuh"
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace
{

template <typename Offset>
struct IsLong {
  const Offset *offsets;
  int32_t       limit;

  __device__ bool operator()(int32_t row) const { return (PetscCount)(offsets[row + 1] - offsets[row]) > limit; }
};

template <typename T>
PetscErrorCode Flagged(const char what[], PetscCount n, const T from[], const unsigned char flags[], T to[], PetscCount *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) { return cub::DeviceSelect::Flagged(storage, bytes, from, flags, to, num, (int64_t)n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode LongRows(const char what[], int32_t num_rows, const Offset offsets[], int32_t limit, int32_t rows[], int32_t *num, cudaStream_t stream)
{
  const IsLong<Offset> is_long = {offsets, limit};

  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, num_rows, stream,
                              [&](void *storage, size_t &bytes) { return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<int32_t>(0), rows, num, num_rows, is_long, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DCSRSelectFlagged8(const char what[], PetscCount n, const unsigned char from[], const unsigned char flags[], unsigned char to[], PetscCount *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Flagged(what, n, from, flags, to, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSelectFlagged32(const char what[], PetscCount n, const int32_t from[], const unsigned char flags[], int32_t to[], PetscCount *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Flagged(what, n, from, flags, to, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSelectFlagged64(const char what[], PetscCount n, const int64_t from[], const unsigned char flags[], int64_t to[], PetscCount *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Flagged(what, n, from, flags, to, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSelectFlaggedScalars(const char what[], PetscCount n, const PetscScalar from[], const unsigned char flags[], PetscScalar to[], PetscCount *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Flagged(what, n, from, flags, to, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSelectDistinct32(const char what[], PetscCount n, const int32_t sorted[], int32_t distinct[], PetscCount *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) { return cub::DeviceSelect::Unique(storage, bytes, sorted, distinct, num, (int64_t)n, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSelectLongRows32(const char what[], int32_t num_rows, const int32_t offsets[], int32_t limit, int32_t rows[], int32_t *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(LongRows(what, num_rows, offsets, limit, rows, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSelectLongRows64(const char what[], int32_t num_rows, const int64_t offsets[], int32_t limit, int32_t rows[], int32_t *num, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(LongRows(what, num_rows, offsets, limit, rows, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
