/*
  Entries of a list that belong to other processes: where they are, and copies of them for sending.
*/
#include "../common/foreach.cuh"
#include "../common/temporary.cuh"
#include <petscsparsecuda/insert.h>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

namespace
{

struct IsRemote {
  PetscInt           row_begin, row_end;
  const PetscInt    *rows, *columns;
  const PetscScalar *values; // NULL: zeros count
  __device__ bool    operator()(PetscCount k) const { return rows[k] >= 0 && columns[k] >= 0 && (rows[k] < row_begin || rows[k] >= row_end) && (!values || values[k] != PetscScalar(0.0)); }
};

template <typename T>
struct Gather {
  const PetscCount *where;
  const T          *from;
  T                 missing;
  T                *to;
  __device__ void   operator()(PetscCount k) const { to[k] = where[k] < 0 ? missing : from[where[k]]; }
};

template <typename T>
PetscErrorCode GatherEntries(PetscCount n, const PetscCount where[], const T from[], T missing, T to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach(n, Gather<T>{where, from, missing, to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRListRemote - the positions where [num] of the entries whose rows lie outside of row_begin to before row_end, ascending; synchronizes with the stream
  rows, columns, values [n] on the device; entries with negative indices and values of zero are ignored; without values (NULL) all count. where is on the device, to be freed with
  PetscSparseCUDAFree(); NULL when there are none.
*/
PetscErrorCode DCSRListRemote(PetscInt row_begin, PetscInt row_end, PetscCount n, const PetscInt rows[], const PetscInt columns[], const PetscScalar values[], cudaStream_t stream, PetscCount *num,
                              PetscCount **where)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscCount    *all = NULL, *count = NULL;

  PetscFunctionBegin;
  *num   = 0;
  *where = NULL;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "positions of entries for other processes", stream, &all));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "count of entries for other processes", stream, &count));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace to find entries for other processes", n, stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceSelect::If(storage, bytes, thrust::counting_iterator<PetscCount>(0), all, count, (int64_t)n, IsRemote{row_begin, row_end, rows, columns, values}, stream);
                }));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(num, count, sizeof(*num), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  if (*num > 0) {
    PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(*num, "positions of entries for other processes", stream, where));
    PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(*where, all, (size_t)*num * sizeof(**where), cudaMemcpyDeviceToDevice, stream));
  }
cleanup:
  PetscCall(PetscSparseCUDAFree(&all, stream));
  PetscCall(PetscSparseCUDAFree(&count, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGatherIndices, DCSRGatherValues - to[k] = from[where[k]] for k < n, and -1 or zero where where[k] is negative; all on the device; asynchronous */
PetscErrorCode DCSRGatherIndices(PetscCount n, const PetscCount where[], const PetscInt from[], PetscInt to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(GatherEntries(n, where, from, (PetscInt)-1, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRGatherValues(PetscCount n, const PetscCount where[], const PetscScalar from[], PetscScalar to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(GatherEntries(n, where, from, PetscScalar(0.0), to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
