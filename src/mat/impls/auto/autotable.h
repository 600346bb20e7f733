#pragma once
/*
  What was learnt of times on a GPU (benchmarks/select/train.py writes autotable.c): microseconds, as sums of what a format reads, writes and launches.
*/
#include <petscsparsecuda/features.h>
#include <petscsparsecuda/hisparse.h>

/* What is foretold. */
typedef enum {
  AUTO_TARGET_FORWARD,   /* y = A x */
  AUTO_TARGET_TRANSPOSE, /* y = A^T x */
  AUTO_TARGET_CONVERT,   /* making the storage */
  AUTO_TARGET_LIST,      /* making what the first transpose product needs, more */
  AUTO_TARGET_UPDATE,    /* new values */
  AUTO_NUM_TARGETS
} AutoTarget;

/* The terms of a sum. */
typedef enum {
  AUTO_TERM_ONE,        /* 1 */
  AUTO_TERM_VECTORS,    /* millions of bytes: of both vectors, */
  AUTO_TERM_VALUES,     /* of the values, */
  AUTO_TERM_PIECES,     /* of the pieces of masked diagonals */
  AUTO_TERM_BLOCKS,     /* millions of dense blocks, */
  AUTO_TERM_BLOCK_ROWS, /* of rows of such blocks */
  AUTO_TERM_OUTSIDE,    /* millions of bytes of entries outside of masked diagonals */
  AUTO_TERM_ROWS,       /* microseconds of y = A x with rows, which were measured */
  AUTO_NUM_TERMS
} AutoTerm;

/* What was learnt on one GPU. */
typedef struct {
  const char *gpu;    /* as the device calls itself */
  const char *date;   /* of the training */
  double      margin; /* a product counts as taking so much longer, as a part of that with rows */
  double      factors[HISPARSE_CSR][AUTO_NUM_TARGETS][AUTO_NUM_TERMS];
} AutoTable;

PETSC_INTERN const AutoTable *const AutoTables[]; /* ends with NULL */
