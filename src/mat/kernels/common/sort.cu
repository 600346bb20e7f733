/*
  Radix sorts of device arrays: see sort.h.
*/
#include "preload.cuh"
#include "sort.h"
#include "temporary.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <type_traits>

namespace
{

/* Values are moved as they are: where integers of the same size have an instance, scalars need none. */
using ScalarBits = std::conditional_t<sizeof(PetscScalar) == sizeof(uint32_t), uint32_t, std::conditional_t<sizeof(PetscScalar) == sizeof(PetscCount), PetscCount, PetscScalar>>;

template <typename Key, typename Value>
PetscErrorCode SortPairs(const char what[], PetscCount n, int bits, const Key keys[], Key sorted_keys[], const Value values[], Value sorted_values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, n, stream,
                              [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, sorted_keys, values, sorted_values, (int64_t)n, 0, bits, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Key, typename Value>
PetscErrorCode SortBuffers(const char what[], PetscCount n, int bits, Key *keys[2], Value *values[2], cudaStream_t stream)
{
  cub::DoubleBuffer<Key>   key_buffers(keys[0], keys[1]);
  cub::DoubleBuffer<Value> value_buffers(values[0], values[1]);

  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(storage, bytes, key_buffers, value_buffers, (int64_t)n, 0, bits, stream); }));
  keys[0]   = key_buffers.Current();
  keys[1]   = key_buffers.Alternate();
  values[0] = value_buffers.Current();
  values[1] = value_buffers.Alternate();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode DCSRSortKeys32(const char what[], PetscCount n, int bits, const uint32_t keys[], uint32_t sorted_keys[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRWithTemporary(what, n, stream, [&](void *storage, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(storage, bytes, keys, sorted_keys, (int64_t)n, 0, bits, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSortPairs32With32(const char what[], PetscCount n, int bits, const uint32_t keys[], uint32_t sorted_keys[], const uint32_t values[], uint32_t sorted_values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SortPairs(what, n, bits, keys, sorted_keys, values, sorted_values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSortPairs32With64(const char what[], PetscCount n, int bits, const uint32_t keys[], uint32_t sorted_keys[], const PetscCount values[], PetscCount sorted_values[],
                                     cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SortPairs(what, n, bits, keys, sorted_keys, values, sorted_values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSortPairs32WithScalars(const char what[], PetscCount n, int bits, const uint32_t keys[], uint32_t sorted_keys[], const PetscScalar values[], PetscScalar sorted_values[],
                                          cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SortPairs(what, n, bits, keys, sorted_keys, (const ScalarBits *)values, (ScalarBits *)sorted_values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSortBuffers32With32(const char what[], PetscCount n, int bits, uint32_t *keys[2], uint32_t *values[2], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SortBuffers(what, n, bits, keys, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSortBuffers64With32(const char what[], PetscCount n, int bits, uint64_t *keys[2], uint32_t *values[2], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SortBuffers(what, n, bits, keys, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreloadCUB();
