#pragma once
/*
  The competitor of batches and lists: a matrix by CUB. It is a sorted list of keys with values, and CSR. A batch is sorted alone, merged with the list, and equal keys are added up; out come the list
  of the new matrix and its CSR arrays. The first batch needs no merge: that is a list of coordinates made into a matrix.
*/
#include "insertlists.h"
#include <petscsparsecuda/dcsr.h>

/* All arrays are in device memory and allocated beforehand; whoever rebuilds has no allocation to wait for, and keeps the keys of the matrix. */
typedef struct {
  PetscInt     num_rows, num_columns;
  int          column_bits, row_bits;  /* keys are row << column_bits | column; only their bits are sorted */
  PetscCount   capacity;               /* entries of matrix and batch together */
  PetscCount   batch_capacity;         /* entries of a batch */
  PetscCount   num_entries, num_saved; /* of the matrix, of the copy */
  PetscBool    counting;               /* num_entries is still to come: in host_count when counted has happened */
  uint64_t    *keys;                   /* [capacity] of the matrix, ascending */
  uint64_t    *merged_keys;            /* [capacity] those and the batch's */
  uint64_t    *batch_keys[2];          /* [batch_capacity] as they come; sorted */
  PetscScalar *values, *merged_values, *batch_values;
  int32_t     *row_offsets, *columns; /* CSR with values */
  uint64_t    *saved_keys;            /* [num_saved] copy to return to, or NULL */
  PetscScalar *saved_values;
  int64_t     *count, *host_count; /* of entries, on the device and in pinned memory */
  cudaEvent_t  counted;
  char        *work;
  size_t       work_bytes;
} InsertRebuild;

PETSC_INTERN PetscErrorCode InsertRebuildCreate(PetscInt, PetscInt, PetscCount, PetscCount, cudaStream_t, InsertRebuild *); /* rows, columns, capacity, largest batch */
PETSC_INTERN PetscErrorCode InsertRebuildDestroy(InsertRebuild *, cudaStream_t);
PETSC_INTERN PetscErrorCode InsertRebuildClear(InsertRebuild *);              /* no entries */
PETSC_INTERN PetscErrorCode InsertRebuildSave(InsertRebuild *, cudaStream_t); /* notes the present entries */
PETSC_INTERN PetscErrorCode InsertRebuildRestore(InsertRebuild *, cudaStream_t);
/* entries, rows, columns, values: what is measured. Launches alone; the host waits only for the number of entries that the batch before left, after it has launched the sort. */
PETSC_INTERN PetscErrorCode InsertRebuildAppend(InsertRebuild *, PetscCount, const PetscInt[], const PetscInt[], const PetscScalar[], cudaStream_t);
PETSC_INTERN PetscErrorCode InsertRebuildFinish(InsertRebuild *); /* waits for num_entries */
PETSC_INTERN PetscErrorCode InsertRebuildView(const InsertRebuild *, DCSRView *);

/* New values for a list's matrix: where each of its sums lies in the sorted list is kept. */
typedef struct {
  PetscCount n, num_sums; /* of the list, of the matrix */
  uint32_t  *positions;   /* [n] of the sorted list's values in the list */
  int32_t   *begins;      /* [num_sums + 1] of the sums in positions; NULL when no entry is repeated */
} InsertRefill;

PETSC_INTERN PetscErrorCode InsertRefillCreate(const InsertRebuild *, PetscCount, const PetscInt[], const PetscInt[], cudaStream_t, InsertRefill *); /* of the list that the matrix was made of */
PETSC_INTERN PetscErrorCode InsertRefillDestroy(InsertRefill *, cudaStream_t);
PETSC_INTERN PetscErrorCode InsertRefillValues(const InsertRefill *, const PetscScalar[], PetscBool, PetscScalar[],
                                               cudaStream_t); /* values of the list, added or not, values of the matrix: what is measured */
