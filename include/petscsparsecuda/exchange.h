#pragma once
/*
  Entries on their way to the processes that own their rows.
*/
#include <petscmat.h>

/* Who sends how much to whom; made once for a list of entries, used for its indices and for any number of values. */
typedef struct {
  MPI_Comm     comm;
  PetscMPIInt  num_to, num_from;
  PetscMPIInt *to, *from;             /* [num_to], [num_from] ranks, owned */
  PetscInt    *to_counts, *to_starts; /* [num_to], [num_to + 1] entries for each, owned */
  PetscInt    *from_counts;           /* [num_from], owned */
  PetscInt     num_sent, num_received;
  PetscInt    *order; /* [num_sent] entry of the list at each place of the send buffer, ascending for each receiver, owned */
} MatExchange;

PETSC_INTERN PetscErrorCode MatExchangeCreate(PetscLayout, PetscInt, const PetscInt[], MatExchange *);
PETSC_INTERN PetscErrorCode MatExchangeIndices(const MatExchange *, const PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatExchangeValues(const MatExchange *, const PetscScalar[], PetscScalar[]);
PETSC_INTERN PetscErrorCode MatExchangeDestroy(MatExchange *);
