#pragma once
/*
  Factors for the tests of sparse products, made on the host.
*/
#include "kerneltest.h"

/* Patterns of test matrices. */
typedef enum {
  ZERO,       /* no entries */
  IDENTITY,   /* ones on the diagonal as far as it goes */
  PERMUTED,   /* one entry a row, scattered */
  AGGREGATES, /* one entry a row, neighbors together */
  BAND,       /* runs of neighboring columns */
  STENCIL9,   /* 9 points on a grid of about sqrt(m) */
  BLOCKS,     /* dense blocks of 6 */
  BLOCKS_FEW, /* the same, a few rows of many of them */
  RANDOM4,    /* random columns, 4 a row, repeats dropped */
  RANDOM40,   /* 40 a row */
  SKEWED,     /* row r has about (r mod 97)^2 / 8 */
  DENSE_ROWS, /* every 50th row is full, the others have 2 */
  DENSE_COLS, /* column 0 and the last are full */
  FEW_DENSE,  /* every 20,000th row is full, the others have 3 */
  HOLES,      /* every other row is empty */
  ONE_OR_NONE /* one entry a row, scattered, but for every third, which is empty */
} Pattern;

PETSC_INTERN PetscErrorCode ProductTestMatrixCreate(const char[], Pattern, PetscInt, PetscInt, PetscInt, KernelTestMatrix *); /* name, pattern, rows, columns, seed of the values */

/* A product C = A B: C is m x n, A is m x k. */
typedef struct {
  const char *name;
  Pattern     a, b;
  PetscInt    m, k, n;
} ProductTestCase;

PETSC_INTERN PetscErrorCode ProductTestFactorsCreate(const ProductTestCase *, KernelTestMatrix *, KernelTestMatrix *); /* A and B */

/* A matrix with a full block of so many rows and columns for each entry of another one; the seed of its values. */
PETSC_INTERN PetscErrorCode ProductTestExpand(const KernelTestMatrix *, int, int, PetscInt, KernelTestMatrix *);
