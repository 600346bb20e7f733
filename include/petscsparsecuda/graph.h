#pragma once
/*
  Graphs of matrices, for coarsening. A node is as many consecutive rows as its block has, bs; an edge is a block of bs x bs with a stored entry. Storage is compact.
*/
#include <petscsparsecuda/delete.h>

/* What becomes of the columns of a matrix. */
typedef struct {
  PetscInt       bs;        /* rows of a node, and columns unless there is a map */
  PetscInt       num_nodes; /* columns of the graph */
  const int32_t *map;       /* [columns of the matrix] device, ascending: the node of each; NULL: column / bs */
  PetscBool      dense;     /* each row of a node has the same columns, bs of them for each edge, as DCSRBlocksAreDense() says */
} DCSRNodes;

/* Couplings, entries off the diagonal, that count as zero, and diagonal entries that are not read. */
typedef struct {
  int       sign;     /* 1: those with a positive real part, -1: with a negative one, 0: none */
  PetscBool diagonal; /* whether entries with equal numbers of row and column are a diagonal */
  PetscBool keeps;    /* the diagonal is strong, whatever its values are */
} DCSRWeak;

PETSC_INTERN PetscErrorCode DCSRBlocksAreDense(DCSRView view, PetscInt bs, cudaStream_t stream, PetscBool *dense); /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRCollapse(DCSRView view, DCSRNodes nodes, cudaStream_t stream, DCSRView *graph);    /* structure, which the caller owns; synchronizes */
PETSC_INTERN PetscErrorCode DCSRCollapseValues(DCSRView view, DCSRNodes nodes, PetscInt n, const PetscInt index[], cudaStream_t stream, DCSRView graph); /* index [n] on the host */
PETSC_INTERN PetscErrorCode DCSRGetStrengthScaling(PetscInt n, PetscScalar d[], cudaStream_t stream); /* d [n] on the device: from diagonal entries to what scales them to one */
PETSC_INTERN PetscErrorCode DCSRZeroWeak(DCSRView view, DCSRWeak weak, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRGetStrong(DCSRView view, const PetscScalar left[], const PetscScalar right[], PetscReal threshold, DCSRWeak weak, cudaStream_t stream, DCSRView *to,
                                          DCSRDeletion *deletion); /* synchronizes */
