#pragma once
/*
  State of files of this folder that the tests' library looks at and sets (tests/lib/sys.c).
*/
#include <petscsparsecuda/preload.h>
#include <petscsparsecuda/report.h>
#include <petscsparsecuda/sys.h>
#include <pthread.h>

/* memory.c */
PETSC_INTERN cudaMemPool_t MemoryPool; /* of the device that is current at first use; NULL before */
/* Zeros without the tests' library. */
PETSC_INTERN PetscInt MemoryTestFail;      /* the n-th of the next allocations, counted from 1, fails as if the device were full; 0: none */
PETSC_INTERN size_t   MemoryTestAvailable; /* bytes of the device that seem to be available; 0: those that are */

/* preload.c: a group of kernels, and the thread that loads them. */
typedef struct {
  PetscSparseCUDAKernel *kernels; /* of the files that are linked */
  PetscBool              asked;   /* somebody wants them */
  PetscBool              started; /* the thread was */
  PetscBool              running; /* it is to be joined */
  pthread_t              thread;
} PreloadGroup;
PETSC_INTERN PreloadGroup PreloadGroups[PETSCSPARSECUDA_PRELOAD_NUM_GROUPS];

/* report.c: a row of the table. */
#define REPORT_MAX_ROWS    64
#define REPORT_NAME_LENGTH 48
typedef struct {
  char           who[REPORT_NAME_LENGTH]; /* empty: nobody */
  int            cause, to_host;
  double         count, bytes;
  PetscLogDouble seconds; /* that the host spent in the copies */
} ReportRow;
PETSC_INTERN ReportRow ReportRows[REPORT_MAX_ROWS];
PETSC_INTERN int       ReportNumRows;

/* transfer.c */
PETSC_INTERN int TransferThreads; /* that a transfer may use; 0: plain copies, also before initialization */
