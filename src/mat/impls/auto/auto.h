#pragma once
/*
  MATAUTOCUDA: rows, or HiSparse where and when that pays, chosen while the program runs.
*/
#include "../aijcuda/core/core.h"
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/pattern.h>

/* What a choice is made by. Times are microseconds. */
typedef struct {
  HiSparseFormat format;    /* HISPARSE_CSR: rows */
  double         forward;   /* time of y = A x with the format, over that with rows */
  double         transpose; /* the same of y = A^T x */
  double         convert;   /* making the storage */
  double         list;      /* making what the first transpose product needs, more */
  double         update;    /* new values for all of it */
  const char    *by;        /* what the price is by: "products", or the GPU of the table; "bytes": there is none, rows stay. Stays */
} AutoPrediction;

/* Times of products as they were measured, microseconds. */
typedef enum {
  AUTO_ROWS,
  AUTO_STORAGE,
  AUTO_NUM_SIDES
} AutoSide;

typedef struct {
  double us[AUTO_NUM_SIDES][DEVICE_NUM_WORKS];      /* the shortest; 0: not known */
  int    samples[AUTO_NUM_SIDES][DEVICE_NUM_WORKS]; /* how many were measured */
} AutoTimes;

/* What is kept of a pattern that was multiplied with before. */
typedef struct {
  PetscInt       num_rows, num_columns;
  DCSRPattern    pattern;
  PetscInt       format;  /* what the options of the matrix said */
  PetscBool      refused; /* rows are faster */
  PetscBool      judged;  /* both sides were measured */
  AutoPrediction prediction;
  AutoTimes      times;
  PetscCount     products; /* that the last matrix with it had */
} AutoPattern;

/* autostorage.c */
PETSC_INTERN MatDeviceStorageOps       MatDeviceStorageAuto;
PETSC_INTERN const MatDeviceChooserOps MatDeviceChooserAuto;
PETSC_INTERN void                      MatDeviceStorageAutoInitialize(void);
PETSC_INTERN void                      MatSeqAIJAutoCUDAExpect(Mat, PetscCount, PetscCount, PetscBool);

/* autopredict.c */
PETSC_INTERN PetscErrorCode MatAutoCUDALookTime(double *);
PETSC_INTERN PetscErrorCode MatAutoCUDAPredict(DCSRView, const DCSRFacts *, const HiSparseSample[], HiSparseFormat, double, cudaStream_t, AutoPrediction *);

/* autopatterns.c */
PETSC_INTERN PetscBool    MatAutoCUDAMayKnow(PetscInt, PetscInt, PetscCount);
PETSC_INTERN AutoPattern *MatAutoCUDAFindPattern(const AutoPattern *);
PETSC_INTERN AutoPattern *MatAutoCUDAKeepPattern(const AutoPattern *);
PETSC_INTERN void         MatAutoCUDAForgetPatterns(void);

/* auto.c */
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJAutoCUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJAutoCUDA(Mat);
