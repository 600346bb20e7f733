#pragma once
/*
  The competitor of batches: the matrix made anew. The batch is appended to the matrix's sorted list of entries, everything is sorted by CUB's radix sort and
  equal entries are added up; out come the list of the new matrix and its CSR arrays.
*/
#include "insertlists.h"
#include <petscsparsecuda/dcsr.h>

/* All arrays are in device memory and allocated beforehand; whoever rebuilds has no allocation to wait for, and keeps the keys of the matrix. */
typedef struct {
  PetscInt     num_rows, num_columns;
  int          column_bits, row_bits;  /* keys are row << column_bits | column; only their bits are sorted */
  PetscCount   capacity;               /* entries of matrix and batch together */
  PetscCount   num_entries, num_saved; /* of the matrix, of the copy */
  uint64_t    *keys, *keys_scratch;    /* [capacity] */
  PetscScalar *values, *values_scratch;
  int32_t     *row_offsets, *columns; /* CSR with values */
  uint64_t    *saved_keys;            /* [num_saved] copy to return to, or NULL */
  PetscScalar *saved_values;
  int64_t     *count;
  char        *work;
  size_t       work_bytes;
} InsertRebuild;

PETSC_INTERN PetscErrorCode InsertRebuildCreate(PetscInt, PetscInt, PetscCount, cudaStream_t, InsertRebuild *); /* rows, columns, capacity */
PETSC_INTERN PetscErrorCode InsertRebuildDestroy(InsertRebuild *, cudaStream_t);
PETSC_INTERN PetscErrorCode InsertRebuildClear(InsertRebuild *);              /* no entries */
PETSC_INTERN PetscErrorCode InsertRebuildSave(InsertRebuild *, cudaStream_t); /* notes the present entries */
PETSC_INTERN PetscErrorCode InsertRebuildRestore(InsertRebuild *, cudaStream_t);
/* entries, rows, columns, values: what is measured; the host waits for the number of entries */
PETSC_INTERN PetscErrorCode InsertRebuildAppend(InsertRebuild *, PetscCount, const PetscInt[], const PetscInt[], const PetscScalar[], cudaStream_t);
PETSC_INTERN PetscErrorCode InsertRebuildView(const InsertRebuild *, DCSRView *);
