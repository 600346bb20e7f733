#pragma once
/*
  What was learnt on a GPU of the time of conversions and new values (benchmarks/select/train.py writes autotable.c): microseconds, as sums.
*/
#include <petscsparsecuda/hisparse.h>

/* What is foretold. */
typedef enum {
  AUTO_TARGET_CONVERT, /* making the storage */
  AUTO_TARGET_LIST,    /* making what the first transpose product needs, more */
  AUTO_TARGET_UPDATE,  /* new values */
  AUTO_NUM_TARGETS
} AutoTarget;

/* The terms of a sum. */
typedef enum {
  AUTO_TERM_ONE,     /* 1 */
  AUTO_TERM_VECTORS, /* millions of bytes of both vectors, */
  AUTO_TERM_VALUES,  /* of the values */
  AUTO_NUM_TERMS
} AutoTerm;

/* What was learnt on one GPU. */
typedef struct {
  const char *gpu;                                                     /* as the device calls itself */
  const char *date;                                                    /* of the training */
  double      look;                                                    /* microseconds of a look at a matrix */
  double      factors[HISPARSE_CSR][AUTO_NUM_TARGETS][AUTO_NUM_TERMS]; /* by HiSparseFormat, not negative */
} AutoTable;

PETSC_INTERN const AutoTable *const AutoTables[]; /* ends with NULL */
