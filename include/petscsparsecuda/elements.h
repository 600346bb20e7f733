#pragma once
/*
  Elements: lists of unknowns whose pairs are all entries of a matrix, as those of finite elements.
*/
#include <petscsparsecuda/dcsr.h>

/* Pairs (i, j) of all elements, element by element, into arrays of MatSetPreallocationCOO(). */
PETSC_INTERN PetscErrorCode DCSRElementsGetPairs(PetscInt num_elements, const PetscCount offsets[], const PetscInt unknowns[], PetscCount num_pairs, const PetscCount first_pairs[], PetscInt i[],
                                                 PetscInt j[], cudaStream_t stream);
