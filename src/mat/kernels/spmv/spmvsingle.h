#pragma once
/*
  Launch configurations for values in single precision alone, in the form of the groups in spmvrule.h, and their rule. The SWEEP groups are compiled with SPMV_SINGLE_SWEEP alone.
*/
#include "spmvrule.h"

/* Those that a rule names, and that are not among the kernels of spmvrule.h: none yet. */
#define SPMV_SPLIT_SINGLE_CONFIGS(X)
#define SPMV_VECTOR_SINGLE_CONFIGS(X)
/* The end of a table that may be empty: no configuration that exists. */
#define SPMV_SINGLE_END \
  { \
    {DCSR_SPMV_AUTO, 0, 0, 0, 0, 0, 0}, {NULL, NULL}, \
    { \
      NULL, NULL \
    } \
  }

/* For values in single precision alone: 4 consecutive ones are a load of 16 bytes, as their columns are, and take half the registers. */
#define SPMV_SPLIT_SINGLE_SWEEP_CONFIGS(X) \
  X(2, 128, 4, 4, SPMV_LOAD_ONCE, 1536) \
  X(2, 128, 4, 4, SPMV_LOAD_ONCE, 1792) \
  X(2, 128, 8, 2, SPMV_LOAD_ONCE, 1536) \
  X(1, 128, 8, 4, SPMV_LOAD_ONCE, 1536) \
  X(2, 128, 8, 4, SPMV_LOAD_ONCE, 1280) \
  X(2, 128, 8, 4, SPMV_LOAD_ONCE, 1536) \
  X(4, 128, 8, 4, SPMV_LOAD_ONCE, 1536) \
  X(8, 128, 8, 4, SPMV_LOAD_ONCE, 1536) \
  X(2, 128, 12, 4, SPMV_LOAD_ONCE, 1024) \
  X(8, 128, 12, 4, SPMV_LOAD_ONCE, 1024) \
  X(1, 128, 16, 4, SPMV_LOAD_ONCE, 1024) \
  X(2, 128, 16, 4, SPMV_LOAD_ONCE, 1024) \
  X(2, 256, 8, 4, SPMV_LOAD_ONCE, 1536) \
  X(8, 256, 8, 4, SPMV_LOAD_ONCE, 1536)
#define SPMV_VECTOR_SINGLE_SWEEP_CONFIGS(X) \
  X(2, 256, 8, 0, SPMV_LOAD_ONCE, 0) \
  X(4, 256, 4, 0, SPMV_LOAD_ONCE, 0) \
  X(4, 256, 8, 0, SPMV_LOAD_ONCE, 0) \
  X(8, 256, 4, 0, SPMV_LOAD_ONCE, 0) \
  X(8, 256, 8, 0, SPMV_LOAD_ONCE, 0) \
  X(16, 256, 4, 0, SPMV_LOAD_ONCE, 0)

PETSC_INTERN PetscBool SpMVRuleSingle(DCSRView view, const DCSRFacts *facts, SpMVConfig *config);
