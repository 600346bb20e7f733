#pragma once
/*
  Matrices of the kernel benchmarks, generated on the device: compact DCSR with 32-bit offsets, sorted columns and random values in [-1, 1].
  The same name gives the same matrix in every run.
*/
#include <petscsparsecuda/dcsr.h>

typedef struct {
  const char *name;      /* the `case` of the result records */
  const char *what;      /* one line for people */
  PetscBool   irregular; /* bound by gathers of x or additions to y: its floor is measured, too */
  PetscInt    block;     /* rows and columns of the full blocks that it consists of; 1: none */
  DCSRView    view;      /* compact; the arrays belong to this object */
} BenchMatrix;

PETSC_INTERN PetscErrorCode BenchMatrixCreate(const char[], cudaStream_t, BenchMatrix *);
PETSC_INTERN PetscErrorCode BenchMatrixDestroy(BenchMatrix *, cudaStream_t);
PETSC_INTERN PetscErrorCode BenchMatrixGetNames(PetscInt *, const char *const **); /* cases of the products with vectors, in the order of the tables */

PETSC_INTERN PetscErrorCode BenchMatrixFromKeys(PetscInt, PetscInt, PetscCount, unsigned long long *, cudaStream_t,
                                                DCSRView *);                                        /* rows, columns, keys as in benchkeys.h; free it with DCSRViewFree() */
PETSC_INTERN PetscErrorCode BenchMatrixPrint(const BenchMatrix *);                                  /* a line for people */
PETSC_INTERN PetscErrorCode BenchCountNonempty(DCSRView, cudaStream_t, PetscCount *, PetscCount *); /* rows and columns of a compact matrix that have entries; synchronizes */

/* The transpose of a compact matrix, to be freed with DCSRViewFree() */
PETSC_INTERN PetscErrorCode BenchCreateTranspose(DCSRView, cudaStream_t, DCSRView *);

/* Device vectors: random entries in [-1, 1] (length, seed), every entry the same (length, value). */
PETSC_INTERN PetscErrorCode BenchVectorCreate(PetscCount, PetscInt, cudaStream_t, PetscScalar **);
PETSC_INTERN PetscErrorCode BenchVectorSet(PetscCount, PetscScalar, PetscScalar[], cudaStream_t);

/*
  Reference products by the plainest kernels there are, with the sums of absolute values that bound the rounding error.
  y = A x + z and bound = |A| |x| + |z|, or with transpose y = A^T x + z; z may be NULL. Correct for rows of any length, fast for none.
*/
PETSC_INTERN PetscErrorCode BenchReferenceMult(DCSRView, PetscBool, const PetscScalar[], const PetscScalar[], PetscScalar[], PetscReal[], cudaStream_t);
/* Largest |y - reference| / bound over all entries; not a number anywhere gives infinity. Synchronizes. */
PETSC_INTERN PetscErrorCode BenchCompare(PetscCount, const PetscScalar[], const PetscScalar[], const PetscReal[], cudaStream_t, PetscReal *);
