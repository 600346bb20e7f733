#pragma once
/*
  Lists of coordinates wherever they are, and what CUB does with them on the device.
*/
#include "insertbench.h"

#define INSERT_COO_REPETITIONS 5 /* behind one that warms up */

typedef struct {
  PetscInt           num_rows;
  PetscCount         n;
  PetscBool          on_host;
  const PetscInt    *i, *j;
  PetscInt          *i_copy, *j_copy; /* [n] what MatSetPreallocationCOO() gets, since it may change it */
  const PetscScalar *v;
} InsertCOOList;

PETSC_INTERN const InsertMode InsertRefillModes[2]; /* in this order new values are set */

/*
  Milliseconds of the assembly by CUB and, unless the last argument is NULL, of new values in both modes. The matrix is ours, compared when it is there: assembled and not refilled yet or, with the
  last argument, refilled in both modes, once to warm up and INSERT_COO_REPETITIONS times each.
*/
PETSC_INTERN PetscErrorCode InsertListMeasureRebuild(Bench *, const char[], const InsertCOOList *, Mat, PetscReal *, PetscReal[2]);
