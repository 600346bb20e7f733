#pragma once
/*
  The search for the entries of a batch: a functor find(row, column) gives the position of an entry, or a negative number.
*/
#include "insertimpl.h"

namespace
{

constexpr int LOOKUP_THREADS = 256;

/* Notes new entries of a batch, the first of which has before_end entries from it to the end. Atomics wait for each other: a thread block says it once, and what is known already it does not say. */
__device__ __forceinline__ void NoteNew(DCSRLookupNumbers *numbers, unsigned long long num_new, unsigned long long before_end)
{
  atomicAdd(&numbers->num_new, num_new);
  if (*(volatile unsigned long long *)&numbers->before_end < before_end) atomicMax(&numbers->before_end, before_end);
}

template <typename Find>
__global__ void __launch_bounds__(LOOKUP_THREADS)
  LookupKernel(Find find, const uint64_t *keys, const unsigned char *counts, int column_bits, PetscCount n, PetscCount *where, uint32_t *bits, DCSRLookupNumbers *numbers)
{
  __shared__ unsigned first_new;
  const PetscCount    rounds = (n + (PetscCount)gridDim.x * LOOKUP_THREADS - 1) / ((PetscCount)gridDim.x * LOOKUP_THREADS);

  if (threadIdx.x == 0) first_new = LOOKUP_THREADS;
  for (PetscCount r = 0; r < rounds; r++) {
    const PetscCount t      = (r * gridDim.x + blockIdx.x) * LOOKUP_THREADS + threadIdx.x;
    bool             is_new = false;

    if (t < n) {
      const uint64_t   key    = keys[t];
      const int32_t    column = (int32_t)(key & (((uint64_t)1 << column_bits) - 1));
      const PetscInt   row    = (PetscInt)(key >> column_bits);
      const PetscCount k      = find(row, column);

      is_new   = k < 0 && (!counts || counts[t]);
      where[t] = k < 0 && !is_new ? DCSR_NOWHERE : k;
    }
    const int      num_new = __syncthreads_count(is_new);
    const unsigned ballot  = __ballot_sync(0xffffffffu, is_new);

    if (threadIdx.x % 32 == 0 && t < n) bits[t / 32] = ballot;
    if (num_new == 0) continue;
    if (is_new) atomicMin(&first_new, (unsigned)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      NoteNew(numbers, num_new, n - (t + first_new));
      first_new = LOOKUP_THREADS;
    }
    __syncthreads();
  }
}

template <typename Find>
PetscErrorCode Lookup(Find find, const DCSRBatch *batch, DCSRLookup *lookup, cudaStream_t stream)
{
  unsigned int blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((batch->num_entries + LOOKUP_THREADS - 1) / LOOKUP_THREADS, DCSR_LOOP_BLOCKS, &blocks));
  LookupKernel<<<blocks, LOOKUP_THREADS, 0, stream>>>(find, batch->keys, batch->counts, batch->column_bits, batch->num_entries, lookup->where, lookup->is_new, lookup->device);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of a lookup, and numbers that are zero: one allocation, since a short batch takes little longer than the calls that it makes. */
PetscErrorCode LookupAllocate(const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  constexpr PetscCount numbers = sizeof(DCSRLookupNumbers) / sizeof(PetscCount);
  PetscErrorCode       ierr    = PETSC_SUCCESS;

  static_assert(sizeof(DCSRLookupNumbers) % sizeof(PetscCount) == 0 && alignof(DCSRLookupNumbers) <= alignof(PetscCount), "they lie behind the positions");

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(lookup, 1));
  lookup->num_entries = batch->num_entries;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(batch->num_entries + numbers + (batch->num_entries + 63) / 64, "positions of a batch", stream, &lookup->where));
  lookup->device = (DCSRLookupNumbers *)(lookup->where + batch->num_entries);
  lookup->is_new = (uint32_t *)(lookup->device + 1);
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(lookup->device, 0, sizeof(*lookup->device), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRLookupDestroy(lookup, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRLookupCreate() with a functor. */
template <typename Find>
PetscErrorCode LookupCreate(Find find, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(LookupAllocate(batch, stream, lookup));
  PetscCallGoto(ierr, failed, Lookup(find, batch, lookup, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRLookupDestroy(lookup, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
