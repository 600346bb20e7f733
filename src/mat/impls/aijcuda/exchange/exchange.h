#pragma once
/*
  Entries on their way to the processes that own their rows: the stash in which they wait, and the exchange that takes them there with PetscSF.

  Buffers are filled by owner, in the order of ranks, and in program order for each owner. Every owner's part is padded to full blocks with entries of row -1,
  which insertion ignores: the star forest then has a leaf a block, not an entry, and a pattern that is kept serves whatever fits.
*/
#include <petscmat.h>
#include <petscsf.h>
#include <petscsparsecuda/exportable.h>

#define MAT_EXCHANGE_BLOCK 64 /* entries */

/* What a pattern is made with. */
typedef struct {
  PetscSFNode *receivers; /* [num_to] where each receiver counts, owned */
  PetscInt    *counts;    /* [num_to] blocks for each, owned */
  PetscInt    *offsets;   /* [num_to] where they begin in its buffer, owned */
  PetscSFNode *positions; /* [num_sent / MAT_EXCHANGE_BLOCK] where each block goes, owned */
} MatExchangeBegun;

/* Who sends how much to whom; serves for indices and for any number of values. */
typedef struct {
  PetscMPIInt       num_to;
  PetscMPIInt      *to;           /* [num_to] ranks, ascending, owned */
  PetscInt         *to_starts;    /* [num_to + 1] where the part of each begins in the send buffer, multiples of MAT_EXCHANGE_BLOCK, owned */
  PetscInt          num_sent;     /* length of the send buffer, padding included */
  PetscInt          num_received; /* the same of the receive buffer */
  PetscSF           sf;           /* leaves are the blocks of the send buffers, roots those of the receive buffers; NULL: there is no pattern */
  MatExchangeBegun *begun;        /* owned; NULL unless a pattern is begun, and not there yet */
} MatExchange;

/* Entries that lie together, on the host or on the device. */
typedef struct {
  PetscMemType mtype; /* of all arrays */
  PetscCount   n;
  PetscCount   capacity;
  PetscInt    *rows, *columns; /* [capacity] global, owned; NULL when capacity is 0 */
  PetscScalar *values;         /* [capacity] owned */
} OffProcessPart;

/* Values for rows of other processes until the next assembly. */
typedef struct {
  PetscInt        num_parts, max_parts;
  OffProcessPart *parts;    /* [max_parts] in program order, owned */
  PetscInt       *starts;   /* [number of processes + 1] host: where the entries for each process begin in order, owned; NULL until OffProcessStashSort() */
  PetscCount     *order;    /* [n] the entries by owner, in memory of the one part there is then, owned; NULL until OffProcessStashSort() */
  MatExchange     exchange; /* pattern of the last assembly while it is kept */
} OffProcessStash;

/* Exchange (exchange.c) */
PETSC_INTERN PetscErrorCode MatExchangeSortHost(PetscLayout, PetscCount, const PetscInt[], PetscCount **, PetscInt[]);
PETSC_INTERN PetscErrorCode MatExchangeCreateBegin(PetscLayout, const PetscInt[], MatExchange *);
PETSC_INTERN PetscErrorCode MatExchangeCreateEnd(PetscLayout, MatExchange *);
PETSC_INTERN PetscBool      MatExchangeFits(const MatExchange *, PetscMPIInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatExchangeGetSendOrder(const MatExchange *, const PetscInt[], PetscMemType, const PetscCount[], cudaStream_t, PetscCount **);
PETSC_INTERN PetscErrorCode MatExchangeIndices(const MatExchange *, PetscMemType, const PetscInt[], PetscMemType, PetscInt[]);
PETSC_INTERN PetscErrorCode MatExchangeValues(const MatExchange *, PetscMemType, const PetscScalar[], PetscMemType, PetscScalar[]);
PETSC_INTERN PetscErrorCode MatExchangeColumns(const MatExchange *, PetscMemType, const int32_t[], PetscMemType, int32_t[]);
PETSC_INTERN PetscErrorCode MatExchangeDestroy(MatExchange *);

/* PetscSF and device memory (sfdevice.c) */
PETSC_INTERN PetscErrorCode PetscSparseCUDASetSFNumThreads(PetscSF);
PETSC_INTERN PetscErrorCode PetscSparseCUDASetSFStream(PetscSF, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAFollowSF(PetscSF);
PETSC_INTERN PetscErrorCode PetscSparseCUDASFBcast(PetscSF, MPI_Datatype, const void *, void *, cudaStream_t);                              /* roots, leaves */
PETSC_INTERN PetscErrorCode PetscSparseCUDASFReduce(PetscSF, MPI_Datatype, PetscMemType, const void *, PetscMemType, void *, cudaStream_t); /* leaves, roots */

/* Stash (offprocess.c) */
PETSC_INTERN PetscErrorCode OffProcessPartDestroy(OffProcessPart *, cudaStream_t);
PETSC_INTERN PetscErrorCode OffProcessStashAppend(OffProcessStash *, PetscInt, PetscInt, PetscScalar);
PETSC_INTERN PetscErrorCode OffProcessStashAppendDevice(OffProcessStash *, PetscCount, PetscInt **, PetscInt **, PetscScalar **);
PETSC_INTERN PetscCount     OffProcessStashCount(const OffProcessStash *);
PETSC_INTERN PetscBool      OffProcessStashOnDevice(const OffProcessStash *);
PETSC_INTERN PetscErrorCode OffProcessStashSort(OffProcessStash *, PetscLayout, cudaStream_t);
PETSC_INTERN PetscErrorCode OffProcessStashBeginPattern(OffProcessStash *, PetscLayout, PetscBool *);
PETSC_INTERN PetscErrorCode OffProcessStashExchange(OffProcessStash *, PetscLayout, PetscBool, PetscMemType, cudaStream_t, OffProcessPart *);
PETSC_INTERN PetscErrorCode OffProcessStashClear(OffProcessStash *, cudaStream_t);
PETSC_INTERN PetscErrorCode OffProcessStashDestroy(OffProcessStash *, cudaStream_t);

/* Memory of either kind, for parts and buffers (offprocess.c): type, entries and their size, what for, stream */
PETSC_INTERN PetscErrorCode OffProcessMalloc_Private(PetscMemType, PetscCount, size_t, const char[], cudaStream_t, void **);
PETSC_INTERN PetscErrorCode OffProcessFree_Private(PetscMemType, cudaStream_t, void **);
#define OffProcessMalloc(mtype, n, what, stream, ptr) OffProcessMalloc_Private(mtype, n, sizeof(**(ptr)), what, stream, (void **)(ptr))
#define OffProcessFree(mtype, stream, ptr)            OffProcessFree_Private(mtype, stream, (void **)(ptr))
