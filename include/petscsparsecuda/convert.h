#pragma once
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/transpose.h>

/* Host <-> device index types: PetscInt host arrays to and from 32-bit columns and 32- or 64-bit offsets. Host arrays are free to be changed, or filled, on return: the copies to the host synchronize. */
PETSC_INTERN PetscErrorCode DCSRCopyOffsetsToDevice(PetscCount, const PetscInt[], PetscBool, void *, cudaStream_t); /* n, host [n], wide, device [n] */
PETSC_INTERN PetscErrorCode DCSRCopyOffsetsToHost(PetscCount, const void *, PetscBool, PetscInt[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRCopyColumnsToDevice(PetscCount, const PetscInt[], int32_t *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRCopyColumnsToHost(PetscCount, const int32_t *, PetscInt[], cudaStream_t);
/* The same on the device: PetscInt arrays for foreign code. */
PETSC_INTERN PetscErrorCode DCSRWidenOffsets(PetscCount, const void *, PetscBool, PetscInt *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRWidenColumns(PetscCount, const int32_t *, PetscInt *, cudaStream_t);

/* Fragmented -> compact. All three arrays of the target view are allocated by the caller for num_nonzeros entries or more; columns of a row come out sorted. */
PETSC_INTERN PetscErrorCode DCSRDefragment(DCSRView, DCSRView, cudaStream_t);
/* Compact -> fragmented, for tests and benchmarks: each row in up to max_segments pieces, piece s of all rows in pool region s, slack unused entries behind each last piece. */
PETSC_INTERN PetscErrorCode DCSRFragmentCapacity(DCSRView, PetscInt, PetscInt, cudaStream_t, PetscCount *);
PETSC_INTERN PetscErrorCode DCSRFragment(DCSRView, PetscInt, DCSRView *, cudaStream_t); /* from, slack, to: its arrays are allocated by the caller, pitch, max_segments, capacity are set; fills arrays and used */

/* Checks the invariants that docs/architecture.md lists; *ok, and when not ok *row and *what (a static string) say where and which. Synchronizes. */
PETSC_INTERN PetscErrorCode DCSRIsValid(DCSRView, cudaStream_t, PetscBool *, PetscInt *, const char **);
