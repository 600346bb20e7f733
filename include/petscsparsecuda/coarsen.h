#pragma once
/*
  Coarsening of graphs as PETSc does it for PCGAMG: the random order of the vertices, the maximal independent set that is greedy in this order, and the root that takes
  each of the other vertices.

  The graph is the pattern of a compact matrix with sorted rows, which is symmetric. On several processes it is the two blocks of the rows of this process: own columns,
  and ghost columns in the order of their global numbers. In arrays ghosts follow own vertices: ghost g is at num_vertices + g.
*/
#include <petscsparsecuda/dcsr.h>

/* State of a vertex. All other numbers are those of vertices without decision: 1 + position in the random order. */
#define DCSR_SET_ROOT       0u
#define DCSR_SET_INELIGIBLE 0xfffffffeu /* without decision, and it may not become a root in this sweep */
#define DCSR_SET_OUT        0xffffffffu /* taken by a root, or removed: a vertex without neighbors */

/* Vertices that are still of interest. A pass over a list appends those that stay to the next one. */
typedef struct {
  int32_t *rows[2]; /* [num_vertices] device, owned: this list and the next one in turn */
  int32_t
     *counts; /* [3][2] device, in counts of the set: vertices of this list, of the next one, and zeros for the one after that; each with how many of them may still become roots or have just become
               one */
  int turn;   /* this list is rows[turn % 2], its counts are number turn % 3 */
  PetscInt  bound; /* there are no more vertices in this list */
  PetscBool all;   /* this list has all vertices, and nobody has written it */
} DCSRWorkList;

/* Rows that thread blocks share. */
typedef struct {
  PetscInt  num_rows, num_chunks;
  int32_t  *memory;      /* device, owned, all the arrays below; NULL when there are no such rows */
  int32_t  *rows;        /* [num_rows] */
  int32_t  *first_chunk; /* [num_rows] the chunks of a row are consecutive */
  int32_t  *chunk_row;   /* [num_chunks] position in rows */
  uint32_t *minima;      /* [num_rows] of the chunks so far */
} DCSRLongRows;

/* What is beside other processes; all zero on one process. */
typedef struct {
  PetscInt       begin, end;   /* global numbers of the vertices of this process */
  PetscInt       num_rows;     /* with ghost columns */
  int32_t       *rows;         /* [num_rows] device, owned: them, ascending */
  int32_t       *entry_rows;   /* [nonzeros of the ghost columns] device, owned: row of each entry */
  const int32_t *ghosts;       /* [num_ghosts] device, borrowed: global numbers, ascending */
  uint32_t      *reach;        /* [num_vertices + num_ghosts][2] device, exportable, owned: what is next to a vertex, see sweeps.cu; with two hops, else NULL */
  uint32_t      *nearest;      /* [num_vertices + num_ghosts] device, owned: smallest position of a root next to a vertex; with two hops, else NULL */
  int32_t       *saved[2];     /* [num_vertices] device, owned: the lists with which the sweep began; NULL in the first one, */
  PetscInt       num_saved[2]; /* which begins with all vertices; their lengths */
  int32_t       *taken;        /* [num_vertices] device, borrowed: global number of the root that took the vertex; -1: none so far */
  PetscInt       num_sweeps;   /* begun */
} DCSRBoundary;

/* An independent set that is being made. */
typedef struct {
  DCSRView     own, ghost;   /* structure, borrowed; ghost without columns on one process */
  PetscInt     num_vertices; /* of this process */
  PetscInt     num_ghosts;   /* 0 on one process */
  PetscInt     hops;         /* 1, or 2: two roots are further apart */
  int          lanes;        /* threads that share a row */
  int32_t     *permutation;  /* [num_vertices] device, owned: vertices in the random order */
  int32_t     *position;     /* [num_vertices] device, owned: its inverse */
  uint32_t    *state;        /* [num_vertices + num_ghosts] device, owned; that of ghosts as of the last exchange; exportable with a ghost part */
  uint32_t    *minima;       /* [num_vertices + num_ghosts] device, owned: smallest state in a row, for ghosts that in the rows of this process; with one hop a copy of the states */
  int32_t     *counts;       /* [DCSR_SET_COUNTS] device, owned */
  DCSRWorkList undone;       /* vertices without decision */
  DCSRWorkList open;         /* with two hops: rows whose smallest state may change */
  PetscInt     num_late;     /* vertices, in undone.rows[0], of which it is not known whether they have neighbors */
  DCSRLongRows long_rows;
  DCSRBoundary boundary;
} DCSRIndependentSet;

#define DCSR_SET_COUNTS 16

/* permutation.cu */
PETSC_INTERN PetscErrorCode DCSRGetRandomReals(PetscInt n, PetscReal numbers[]);                                                  /* on the host */
PETSC_INTERN PetscErrorCode DCSRGetRandomPermutation(PetscInt n, cudaStream_t stream, int32_t permutation[], int32_t position[]); /* both [n] on the device */

/* independentset.cu */
PETSC_INTERN PetscErrorCode DCSRIndependentSetCreate(DCSRView own, DCSRView ghost, PetscInt hops, cudaStream_t stream, DCSRIndependentSet *set);
PETSC_INTERN PetscErrorCode DCSRIndependentSetBegin(DCSRIndependentSet *set, cudaStream_t stream); /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRIndependentSetRemove(DCSRIndependentSet *set, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRIndependentSetDecide(DCSRIndependentSet *set, cudaStream_t stream); /* the same */
PETSC_INTERN PetscErrorCode DCSRIndependentSetDestroy(DCSRIndependentSet *set, cudaStream_t stream);

/* parents.cu: on one process, when all is decided. The arrays are [num_vertices] on the device; first is NULL with one hop. */
PETSC_INTERN PetscErrorCode DCSRIndependentSetGetParents(DCSRIndependentSet *set, cudaStream_t stream, int32_t parent[], int32_t first[], PetscInt *num_roots);

/* sweeps.cu: on several processes. state and, with two hops, boundary.reach travel between these steps, from vertices to ghosts. */
PETSC_INTERN PetscErrorCode DCSRBoundaryCreate(DCSRIndependentSet *set, PetscInt begin, const int32_t ghosts[], int32_t taken[], cudaStream_t stream); /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRSweepBegin(DCSRIndependentSet *set, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSweepTake(DCSRIndependentSet *set, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSweepReach(DCSRIndependentSet *set, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSweepEnd(DCSRIndependentSet *set, cudaStream_t stream, PetscInt *left); /* synchronizes */
PETSC_INTERN PetscErrorCode DCSRSweepsGetParents(DCSRIndependentSet *set, cudaStream_t stream, int32_t parent[], PetscInt *num_roots, PetscInt *num_remote);
PETSC_INTERN PetscErrorCode DCSRBoundaryDestroy(DCSRIndependentSet *set, cudaStream_t stream);
