#pragma once
#include "../core/core.h"

/* Messages of packed rows, one unit a row at first and one an entry later; what travels to processes comes first in the pairs, and what comes from them second. */
typedef struct {
  PetscBool    created;     /* false: all is zero */
  MPI_Comm     comm;        /* a reference to PETSc's */
  PetscMPIInt  tag;         /* of all messages */
  PetscInt     num_rows[2]; /* packed rows */
  PetscMPIInt  num[2];      /* processes */
  PetscMPIInt *ranks[2];    /* [num] host, owned */
  PetscInt    *begins[2];   /* [num] host, owned: the first unit of each process */
  PetscInt    *counts[2];   /* [num] host, owned: units of each process */
  PetscInt    *roots;       /* host, owned: the rows of this process that are wanted, as local numbers, for process after process */
  MPI_Request *requests;    /* [num[0] + num[1]] owned: of an exchange under way */
} RowMessages;

PETSC_INTERN PetscErrorCode RowMessagesCreate(PetscLayout, PetscInt, const PetscInt[], PetscBool, RowMessages *);
PETSC_INTERN PetscErrorCode RowMessagesCreateToFirst(MPI_Comm, const PetscInt[], RowMessages *);
PETSC_INTERN RowMessages    RowMessagesReversed(const RowMessages *);
PETSC_INTERN PetscErrorCode RowMessagesSetEntries(RowMessages *, const PetscInt[], const PetscInt[]);
PETSC_INTERN PetscErrorCode RowMessagesExchangeHost(const RowMessages *, MPI_Datatype, const void *, void *);
PETSC_INTERN PetscErrorCode RowMessagesExchange(const RowMessages *, MPI_Datatype, const void *, void *, cudaStream_t);
PETSC_INTERN PetscErrorCode RowMessagesDestroy(RowMessages *);
