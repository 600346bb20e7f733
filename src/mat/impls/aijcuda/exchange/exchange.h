#pragma once
/*
  What travels between processes: messages of packed rows and of entries, PetscSF with device memory, and the stash of entries on their way to the processes that own their rows.
*/
#include <petscmat.h>
#include <petscsf.h>
#include <petscsparsecuda/exportable.h>

/* Messages of packed rows, one unit a row at first and one an entry later, or of entries; what travels to processes comes first in the pairs, and what comes from them second. */
typedef struct {
  PetscBool    created;     /* false: all is zero */
  MPI_Comm     comm;        /* a reference to PETSc's */
  PetscMPIInt  tag;         /* of all messages */
  PetscInt     num_rows[2]; /* packed rows, or entries */
  PetscMPIInt  num[2];      /* processes */
  PetscMPIInt *ranks[2];    /* [num] host, owned */
  PetscInt    *begins[2];   /* [num] host, owned: the first unit of each process */
  PetscInt    *counts[2];   /* [num] host, owned: units of each process */
  PetscInt    *roots;       /* host, owned: the rows of this process that are wanted, as local numbers, for process after process */
  MPI_Request *requests;    /* [num[0] + num[1]] owned: of an exchange under way */
} RowMessages;

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
  RowMessages     messages; /* of the last assembly while they are kept; what is missing then travels with row -1 */
} OffProcessStash;

/* Messages (rowmessages.c) */
PETSC_INTERN PetscErrorCode RowMessagesCreate(PetscLayout, PetscInt, const PetscInt[], PetscBool, RowMessages *);
PETSC_INTERN PetscErrorCode RowMessagesCreateFromStarts(MPI_Comm, const PetscInt[], RowMessages *);
PETSC_INTERN PetscErrorCode RowMessagesCreateToFirst(MPI_Comm, const PetscInt[], RowMessages *);
PETSC_INTERN RowMessages    RowMessagesReversed(const RowMessages *);
PETSC_INTERN PetscErrorCode RowMessagesSetEntries(RowMessages *, const PetscInt[], const PetscInt[]);
PETSC_INTERN PetscErrorCode RowMessagesExchangeHost(const RowMessages *, MPI_Datatype, const void *, void *);
PETSC_INTERN PetscErrorCode RowMessagesExchangeWithMemType(const RowMessages *, MPI_Datatype, PetscMemType, const void *, PetscMemType, void *, cudaStream_t);
PETSC_INTERN PetscErrorCode RowMessagesExchange(const RowMessages *, MPI_Datatype, const void *, void *, cudaStream_t);
PETSC_INTERN PetscErrorCode RowMessagesDestroy(RowMessages *);

/* PetscSF and device memory (sfdevice.c) */
PETSC_INTERN PetscErrorCode PetscSparseCUDASetSFNumThreads(PetscSF);
PETSC_INTERN PetscErrorCode PetscSparseCUDASetSFStream(PetscSF, cudaStream_t);
PETSC_INTERN PetscErrorCode PetscSparseCUDAFollowSF(PetscSF);
PETSC_INTERN PetscErrorCode PetscSparseCUDASFBcast(PetscSF, MPI_Datatype, const void *, void *, cudaStream_t); /* roots, leaves */

/* Stash (offprocess.c) */
PETSC_INTERN PetscErrorCode OffProcessPartDestroy(OffProcessPart *, cudaStream_t);
PETSC_INTERN PetscErrorCode OffProcessStashAppend(OffProcessStash *, PetscInt, PetscInt, PetscScalar);
PETSC_INTERN PetscErrorCode OffProcessStashAppendDevice(OffProcessStash *, PetscCount, PetscInt **, PetscInt **, PetscScalar **);
PETSC_INTERN PetscCount     OffProcessStashCount(const OffProcessStash *);
PETSC_INTERN PetscBool      OffProcessStashOnDevice(const OffProcessStash *);
PETSC_INTERN PetscErrorCode OffProcessStashSort(OffProcessStash *, PetscLayout, cudaStream_t);
PETSC_INTERN PetscBool      OffProcessStashFits(const OffProcessStash *);
PETSC_INTERN PetscErrorCode OffProcessStashExchange(OffProcessStash *, PetscLayout, PetscBool, PetscMemType, cudaStream_t, OffProcessPart *);
PETSC_INTERN PetscErrorCode OffProcessStashClear(OffProcessStash *, cudaStream_t);
PETSC_INTERN PetscErrorCode OffProcessStashDestroy(OffProcessStash *, cudaStream_t);

/* Memory of either kind, for parts and buffers (offprocess.c): type, entries and their size, what for, stream */
PETSC_INTERN PetscErrorCode OffProcessMalloc_Private(PetscMemType, PetscCount, size_t, const char[], cudaStream_t, void **);
PETSC_INTERN PetscErrorCode OffProcessFree_Private(PetscMemType, cudaStream_t, void **);
#define OffProcessMalloc(mtype, n, what, stream, ptr) OffProcessMalloc_Private(mtype, n, sizeof(**(ptr)), what, stream, (void **)(ptr))
#define OffProcessFree(mtype, stream, ptr)            OffProcessFree_Private(mtype, stream, (void **)(ptr))
