#pragma once
/*
  The blocks of compact storage that consists of full ones, as systems with several unknowns a point have them: a matrix with one entry a block, beside the storage, whose values stay where they are.

  Only full blocks count: then a block row fills the same range of the arrays as its rows do. With br x bc blocks, entry (r, c) of block k, in a block row with n blocks whose first one is block number f,
  is at br bc f + r n bc + k bc + c, behind the first entry of the first row: the storage may be some rows of a larger matrix.
*/
#include <petscsparsecuda/dcsr.h>

/* A list, or room for one that nobody has looked for yet. All who use a structure share one, by references; the last one frees it, so its arrays are there as long as any user is. */
typedef struct _n_DCSRBlockList *DCSRBlockList;
struct _n_DCSRBlockList {
  PetscInt references;
  int      rows, columns; /* of a block; 0: nobody has looked yet */
  DCSRView view;          /* [block rows x block columns] structure, device, owned; row_offsets NULL: some block is not full, or nobody has looked yet */
};

PETSC_INTERN PetscErrorCode DCSRBlockListCreate(int rows, int columns, DCSRBlockList *list);
PETSC_INTERN DCSRBlockList  DCSRBlockListReference(DCSRBlockList list);
PETSC_INTERN PetscErrorCode DCSRBlockListGet(DCSRView view, PetscInt br, PetscInt bc, cudaStream_t stream, DCSRBlockList *list);
PETSC_INTERN PetscErrorCode DCSRBlockListExpand(DCSRBlockList list, cudaStream_t stream, DCSRView *view);
PETSC_INTERN PetscErrorCode DCSRBlockListWrite(DCSRBlockList list, DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRBlockListDestroy(DCSRBlockList *list, cudaStream_t stream);
PETSC_INTERN PetscInt       DCSRBlockListSearches; /* so many structures were gone through for a list; for tests alone */
/* The same question without a list: by sizes alone, and of what they allow by looking. */
PETSC_INTERN PetscBool      DCSRFullBlocksMayBe(DCSRView view, PetscInt br, PetscInt bc);
PETSC_INTERN PetscErrorCode DCSRFullBlocksQueue(DCSRView view, int br, int bc, PetscInt num_samples, int *not_full, cudaStream_t stream);
