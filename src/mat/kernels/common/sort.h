#pragma once
/*
  Radix sorts of device arrays, by CUB, which is compiled for them once. All are stable: equal keys keep their order.

  Keys are numbers without sign. Numbers with sign that are not negative sort as such.
*/
#include <petscsparsecuda/sys.h>

/*
  DCSRSortKeys  - keys in ascending order
  DCSRSortPairs - keys in ascending order, with a value each
  Arrays are [n], device; the sorted ones are others. Keys are compared by so many of their lowest bits, at least 1. Asynchronous. The workspace has room for all keys and values, unless they are few.
  The string says what the workspace is for, in the message of PETSC_ERR_MEM; nothing stays allocated then.
*/
PETSC_INTERN PetscErrorCode DCSRSortKeys32(const char[], PetscCount, int, const uint32_t[], uint32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSortPairs32With32(const char[], PetscCount, int, const uint32_t[], uint32_t[], const uint32_t[], uint32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSortPairs32With64(const char[], PetscCount, int, const uint32_t[], uint32_t[], const PetscCount[], PetscCount[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSortPairs32WithScalars(const char[], PetscCount, int, const uint32_t[], uint32_t[], const PetscScalar[], PetscScalar[], cudaStream_t);

/*
  DCSRSortBuffers - the same for arrays that may be overwritten, without room for all of them in the workspace
  keys: two arrays [n] on the device: keys, and as many that are overwritten. The pointers may be exchanged: the first one is that of the sorted keys afterwards, the second one that of anything.
  values:
  the same.
  After PETSC_ERR_MEM nothing stays allocated, and nothing has changed.
*/
PETSC_INTERN PetscErrorCode DCSRSortBuffers32With32(const char[], PetscCount, int, uint32_t *[2], uint32_t *[2], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSortBuffers64With32(const char[], PetscCount, int, uint64_t *[2], uint32_t *[2], cudaStream_t);
