#pragma once
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/transpose.h>

/*
  PetscInt host arrays become 32-bit columns and 32- or 64-bit offsets on the device, and come back. Arrays have n entries. wide: the offsets have 64 bits.
  On return host arrays may be changed, or are filled: copies to the host synchronize.
*/
PETSC_INTERN PetscErrorCode DCSRCopyOffsetsToDevice(PetscCount n, const PetscInt host[], PetscBool wide, void *device, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCopyOffsetsToHost(PetscCount n, const void *device, PetscBool wide, PetscInt host[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCopyColumnsToDevice(PetscCount n, const PetscInt host[], int32_t *device, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCopyColumnsToHost(PetscCount n, const int32_t *device, PetscInt host[], cudaStream_t stream);
/* The same on the device: PetscInt arrays for other code. */
PETSC_INTERN PetscErrorCode DCSRWidenOffsets(PetscCount n, const void *from, PetscBool wide, PetscInt *to, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRWidenColumns(PetscCount n, const int32_t *from, PetscInt *to, cudaStream_t stream);

/* Columns and values of compact storage with the diagonal entry of each row in front, as hypre wants them; columns may be NULL. */
PETSC_INTERN PetscErrorCode DCSRCopyDiagonalFirst(DCSRView from, int32_t columns[], PetscScalar values[], cudaStream_t stream);

/* Fragmented storage becomes compact. The caller allocates the arrays of to for num_nonzeros entries or more. Columns of a row come out sorted. */
PETSC_INTERN PetscErrorCode DCSRDefragment(DCSRView from, DCSRView to, cudaStream_t stream);
