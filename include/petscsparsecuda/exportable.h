#pragma once
/*
  Layer 1: device memory that other processes can be given (src/sys/exportable.c says why it is not the pool's). Buffers that PetscSF or MPI reads or writes are of this kind.
*/
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode PetscSparseCUDATryMallocExportable_Private(size_t, cudaStream_t, void **);
PETSC_INTERN PetscErrorCode PetscSparseCUDAMallocExportable_Private(size_t, const char[], cudaStream_t, void **);
PETSC_INTERN PetscErrorCode PetscSparseCUDACheckExportable(const void *, const char[]);
PETSC_INTERN PetscMemType   PetscSparseCUDAExportableMemType; /* the type that PetscSF gets for it: the device's; the host's in tests without a GPU, which set it before anything is allocated */

/* PetscSparseCUDATryMallocExportable - as PetscSparseCUDATryMalloc(), and PetscSparseCUDAFree() frees it as well. */
#define PetscSparseCUDATryMallocExportable(n, stream, ptr) PetscSparseCUDATryMallocExportable_Private((size_t)(n) * sizeof(**(ptr)), stream, (void **)(ptr))

/* PetscSparseCUDAMallocExportable - as PetscSparseCUDAMalloc(), and PetscSparseCUDAFree() frees it as well. */
#define PetscSparseCUDAMallocExportable(n, what, stream, ptr) PetscSparseCUDAMallocExportable_Private((size_t)(n) * sizeof(**(ptr)), what, stream, (void **)(ptr))
