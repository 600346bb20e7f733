#pragma once
/*
  What the benchmarks of y = A x and y = A^T x have in common: operands, the result to compare with, and the competitor.
*/
#include "bench.h"
#include "benchcusparse.h"
#include <petscsparsecuda/spmv.h>

typedef struct {
  Bench       *bench;
  BenchMatrix  matrix;
  PetscBool    transpose;
  PetscBool    borrowed;              /* the matrix belongs to another product */
  PetscCount   n;                     /* entries of y */
  PetscCount   num_rows, num_columns; /* of the matrix that have entries */
  PetscScalar *x, *y, *reference;
  PetscReal   *bound; /* sums of absolute values */
} BenchProduct;

PETSC_INTERN PetscErrorCode BenchProductCreate(Bench *, const char[], PetscBool, BenchProduct *);               /* the case of that name, which is printed; transpose */
PETSC_INTERN PetscErrorCode BenchProductCreateOther(const BenchProduct *, BenchProduct *);                      /* the other direction with the same matrix, to be destroyed first */
PETSC_INTERN PetscErrorCode BenchProductCreateView(Bench *, const char[], DCSRView, PetscBool, BenchProduct *); /* with a compact matrix of the caller and its name; transpose */
PETSC_INTERN PetscErrorCode BenchProductDestroy(BenchProduct *);
PETSC_INTERN PetscErrorCode
                            BenchProductBytes(const BenchProduct *, PetscReal *,
                                              PetscReal *); /* that a product with CSR, with a column for a full block, reads and writes at least: offsets and x of rows and columns without entries are not read */
PETSC_INTERN PetscErrorCode BenchPlanCreate(DCSRView, cudaStream_t, DCSRSpMVPlan *);                         /* as dcsrcuda makes it of a matrix with the block sizes of the view */
PETSC_INTERN PetscErrorCode BenchProductCheck(BenchProduct *, const char[], BenchFn *, void *);              /* one call into a y full of NaN, compared with the reference */
PETSC_INTERN PetscErrorCode BenchProductCheckTo(BenchProduct *, const char[], PetscReal, BenchFn *, void *); /* the same with another tolerance, of the sums of absolute values */
PETSC_INTERN PetscErrorCode BenchProductMeasureCusparse(BenchProduct *, PetscReal[2],
                                                        const char *[2]); /* the best algorithm of cuSPARSE, cold and warm separately, and its name; results are checked */
