#pragma once
/* Parts of the benchmark of sparse products that launch or compare on the device. */
#include "../common/benchcusparse.h"

/* Prolongators (aggregates of 3 points in every direction, one smoothing step) of a grid of nx x ny x nz points: the tentative one, whose values are 1. */
PETSC_INTERN PetscErrorCode SpGEMMBenchTentative(PetscInt, PetscInt, PetscInt, cudaStream_t, DCSRView *);
/* Whether two compact matrices have the same structure, and the largest difference of their values, which may be NULL in both; the width of offsets may differ. */
PETSC_INTERN PetscErrorCode SpGEMMBenchCompare(DCSRView, DCSRView, cudaStream_t, PetscBool *, PetscReal *);
/*
  C = A B by cuSPARSE with algorithm 1, 2 or 3 and the chunk fraction of 3; C's arrays are allocated, *workspace is the sum of its buffers. An error of cuSPARSE is returned as PETSC_ERR_GPU without a
  message.
*/
PETSC_INTERN PetscErrorCode SpGEMMBenchCusparse(const BenchCusparseLibrary *, DCSRView, DCSRView, PetscInt, float, cudaStream_t, DCSRView *, size_t *);

/* Values of C again and again by cusparseSpGEMMreuse. */
#define SPGEMM_REUSE_ALGORITHMS 2

typedef struct {
  const BenchCusparseLibrary *library;
  cudaStream_t                stream;
  cusparseSpGEMMAlg_t         algorithm;
  cusparseSpMatDescr_t        a, b, c;
  cusparseSpGEMMDescr_t       product;
  DCSRView                    c_view; /* the result; its arrays are owned */
  char                       *buffers[5];
  size_t                      bytes; /* of the buffers that are kept */
} SpGEMMReuse;

/* The structure with the i-th algorithm; to be destroyed also when it fails. Errors of cuSPARSE are returned as above. */
PETSC_INTERN PetscErrorCode SpGEMMReuseCreate(const BenchCusparseLibrary *, DCSRView, DCSRView, PetscInt, cudaStream_t, SpGEMMReuse *);
PETSC_INTERN PetscErrorCode SpGEMMReuseRun(SpGEMMReuse *); /* the values */
PETSC_INTERN PetscErrorCode SpGEMMReuseDestroy(SpGEMMReuse *);
