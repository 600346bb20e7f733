#pragma once
/*
  The filter of smoothed prolongators (PCGAMGSetProlongatorFilter()): weak blocks leave a prolongator, and what stays of each row is corrected so that it gives the near null space as before.

  A node is as many consecutive rows as the blocks of the prolongator have; a coarse node is as many consecutive columns as the near null space has vectors.
*/
#include <petscsparsecuda/dcsr.h>

#define DCSR_FILTER_MAX_VECTORS 32 /* of the near null space */

/* The part of the prolongator in own columns, or in ghost columns. Arrays are on the device and borrowed. */
typedef struct {
  DCSRView         view;    /* compact, with values, its rows ascending */
  const int32_t   *numbers; /* [num_columns] ascending: numbers of the columns, those of a coarse node begin at a multiple of its size; NULL: columns are their own numbers */
  const PetscReal *coarse;  /* [num_columns][vectors] near null space of the coarse level */
} DCSRFilterBlock;

PETSC_INTERN PetscErrorCode DCSRFilterPackCoarse(PetscInt n, PetscInt num_vectors, const PetscReal data[], PetscReal coarse[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRFilterProlongator(PetscInt row_block, PetscInt num_vectors, PetscReal threshold, int num_blocks, const DCSRFilterBlock blocks[], cudaStream_t stream);
