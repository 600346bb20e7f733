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
PETSC_INTERN PetscErrorCode DCSRSubmatrix(DCSRView, const DCSRIndices *, const DCSRIndices *, cudaStream_t, DCSRView *);                        /* A, rows, columns, submatrix */
PETSC_INTERN PetscErrorCode DCSRSubmatrixMapped(DCSRView, const DCSRIndices *, const int32_t[], PetscBool, PetscInt, cudaStream_t, DCSRView *); /* A, rows, new columns [A.num_columns] or -1, whether they ascend, how many there are, submatrix */
PETSC_INTERN PetscErrorCode DCSRHaveSameStructure(DCSRView, DCSRView, cudaStream_t, PetscBool *);                                               /* both compact; synchronizes */
