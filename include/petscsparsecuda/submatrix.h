#pragma once
/*
  Submatrices of compact storage: rows in any order and with repeats, columns in any order. Permuting a matrix is the same.
*/
#include <petscsparsecuda/dcsr.h>

/* An index set as kernels see it. */
typedef struct {
  PetscInt        n;
  const PetscInt *indices;     /* [n] device; NULL: first, first + step, ... */
  PetscInt        first, step; /* of a stride */
  PetscBool       sorted;      /* ascending */
} DCSRIndices;

/* The view is new compact storage with sorted columns, whose arrays the caller owns; zero after an error. It synchronizes. */
PETSC_INTERN PetscErrorCode DCSRSubmatrix(DCSRView A, const DCSRIndices *rows, const DCSRIndices *columns, cudaStream_t stream, DCSRView *B);
/* map [A.num_columns] on the device has the new columns, negative where a column does not stay. ascend: these ascend. num_columns: how many there are. */
PETSC_INTERN PetscErrorCode DCSRSubmatrixMapped(DCSRView A, const DCSRIndices *rows, const int32_t map[], PetscBool ascend, PetscInt num_columns, cudaStream_t stream, DCSRView *B);
PETSC_INTERN PetscErrorCode DCSRHaveSameStructure(DCSRView A, DCSRView B, cudaStream_t stream, PetscBool *same); /* both compact; synchronizes */
