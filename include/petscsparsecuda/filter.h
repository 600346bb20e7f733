#pragma once
/*
  The filter of smoothed prolongators (PCGAMGSetProlongatorFilter()): weak couplings leave a prolongator, and what stays of each row is corrected so that it gives the near null space as before.

  A node is as many consecutive rows as the blocks of the prolongator have; a coarse node is as many consecutive columns as the near null space has vectors.
*/
#include <petscsparsecuda/delete.h>

#define DCSR_FILTER_MAX_VECTORS   6   /* of the near null space: their Gram matrix is in registers */
#define DCSR_FILTER_LARGEST_SCALE 1e4 /* PETSc's: with one vector, a row that would have to grow more stays as it is */

/* The part of the prolongator in own columns, or in ghost columns. Arrays are on the device and borrowed. */
typedef struct {
  DCSRView         view;    /* compact, with values, its rows ascending */
  const int32_t   *numbers; /* [num_columns] ascending: numbers of the columns, those of a coarse node begin at a multiple of its size; NULL: columns are their own numbers */
  const PetscReal *coarse;  /* [num_columns][vectors] near null space of the coarse level */
} DCSRFilterBlock;

/* A filter under way; zero before. */
typedef struct {
  PetscInt        row_block, num_vectors;
  int             num_blocks; /* 1, or 2 with ghost columns */
  DCSRFilterBlock blocks[2];
  unsigned char  *leaves[2]; /* [nonzeros] device, owned: the entry leaves, weak or zero; NULL before DCSRFilterMark() */
} DCSRFilter;

PETSC_INTERN PetscErrorCode DCSRFilterPackCoarse(PetscInt n, PetscInt num_vectors, const PetscReal data[], PetscReal coarse[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRFilterMark(DCSRFilter *filter, PetscReal threshold, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRFilterNoteColumns(const DCSRFilter *filter, int block, int32_t kept[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRFilterSpareColumns(DCSRFilter *filter, int block, const int32_t kept[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRFilterApply(DCSRFilter *filter, DCSRView to[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRFilterDestroy(DCSRFilter *filter, cudaStream_t stream);
