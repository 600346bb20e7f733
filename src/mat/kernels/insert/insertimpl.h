#pragma once
/*
  What the chunks of batch insertion hand to each other: where the entries of a batch are (lookup.cu), and the two ways in which new ones are inserted into the matrix,
  a merge of everything into compact storage (merge.cu) and appending to the rows they belong to (append.cu). insertbatch.c chooses.
*/
#include "../common/message.h"
#include <petscsparsecuda/insert.h>

/* Numbers that the device counts, one copy for the host. */
typedef struct {
  unsigned long long num_new;
  unsigned long long before_end;  /* num_entries - t of the first batch entry t that is new; 0 when there is none */
  PetscCount         num_listed;  /* length of the list of new ones */
  PetscCount         pool, moved; /* what appending takes from the pool, and how many old entries it moves */
  PetscCount         num_ranked;  /* new entries, as DCSRLookupRankNew() counts them */
  unsigned int       num_done;    /* thread blocks that have counted them */
} DCSRLookupNumbers;

/* Where the entries of a batch are in a matrix, and which are new. Device arrays are owned; is_new and device lie behind where, in the same allocation. */
typedef struct {
  PetscCount         num_entries; /* of the batch */
  PetscCount        *where;       /* [num_entries] device: position; ~position before which it belongs (any negative number on fragmented storage) when it is new; DCSR_NOWHERE */
  uint32_t          *is_new;      /* [(num_entries + 31) / 32] device: a bit for each entry, whether it is new */
  PetscCount        *ranks;       /* device, after DCSRLookupRankNew(): new entries in the chunks of DCSR_RANK_CHUNK entries before each; else NULL */
  PetscCount        *entries;     /* [num_entries] device: the new entries of the batch, ascending, after DCSRLookupListNew(); else NULL */
  DCSRLookupNumbers *device;      /* [1] device */
  DCSRLookupNumbers  numbers;     /* on the host, after DCSRLookupFinish() */
  DCSRNumbersSent    sent;        /* between DCSRLookupSend() and DCSRLookupFinish() */
  PetscBool          is_sent;
} DCSRLookup;

#define DCSR_RANK_CHUNK 2048 /* entries of a batch whose new ones are counted together */

/* where of an entry that is not there and is not to be. */
#define DCSR_NOWHERE PETSC_INT64_MIN

PETSC_INTERN PetscErrorCode DCSRLookupCreate(DCSRView view, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup);
PETSC_INTERN PetscErrorCode DCSRLookupTiles(DCSRView view, const DCSRBatch *batch, DCSRLookup *lookup, cudaStream_t stream, PetscBool *done); /* lookuptiles.cu */
PETSC_INTERN PetscErrorCode DCSRLookupRankNew(DCSRLookup *lookup, cudaStream_t stream);                                                       /* merge.cu */
PETSC_INTERN PetscErrorCode DCSRLookupListNew(DCSRLookup *lookup, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRLookupSend(DCSRLookup *lookup, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRLookupFinish(DCSRLookup *lookup, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRLookupDestroy(DCSRLookup *lookup, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRLookupWriteFound(DCSRView view, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream);

/* view, batch, lookup with its ranks, mode, spare entries that the new pool should have, stream */
PETSC_INTERN PetscErrorCode DCSRMergeBatch(DCSRView *view, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, PetscCount spare, cudaStream_t stream);

#define DCSR_MAX_SLACK 32 /* unused entries behind a segment at most: more could not be used in place */

/* What appending takes. */
typedef struct {
  PetscCount *before; /* [2 * (num_entries + 1)] device, owned: pool entries and moved entries of the rows before, a pair for each new entry and a last one for all */
  PetscReal   slack;  /* unused entries behind a new segment, as a part of the row's entries */
} DCSRAppendPlan;

PETSC_INTERN PetscErrorCode DCSRAppendPlanCreate(DCSRView view, const DCSRBatch *batch, const DCSRLookup *lookup, PetscReal slack, cudaStream_t stream, DCSRAppendPlan *plan);
PETSC_INTERN PetscErrorCode DCSRAppendPlanDestroy(DCSRAppendPlan *plan, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRAppendBatch(DCSRView *view, const DCSRBatch *batch, const DCSRLookup *lookup, const DCSRAppendPlan *plan, InsertMode mode, cudaStream_t stream);

/*
  view, list, mode, policy, whether new entries may be appended, slack, room for a batch, stream; entries that were not there, what those that were inserted took from the pool, whether any did,
  whether all is done (smallbatch.cu)
*/
PETSC_INTERN PetscErrorCode DCSRSmallBatch(DCSRView view, const DCSRSmallList *list, InsertMode mode, DCSRNewEntries policy, PetscBool append, PetscReal slack, DCSRBatch *batch, cudaStream_t stream,
                                           PetscCount *num_new, PetscCount *pool, PetscBool *grown, PetscBool *done);
