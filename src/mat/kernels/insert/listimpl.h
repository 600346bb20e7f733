#pragma once
/*
  What the files about sorted lists share: list.cu sorts and finds runs, reduce.cu adds values up by runs, distinct.cu without them.
*/
#include <petscsparsecuda/insert.h>

#define LONG_RUN 512 /* equal entries that one thread adds up; more are added by a thread block, in another order */

/* list without runs, values, whether the last one counts, stream; batch, whether it is done (distinct.cu) */
PETSC_INTERN PetscErrorCode DCSRListTakeDistinct(const DCSRList *list, const PetscScalar v[], PetscBool last, cudaStream_t stream, DCSRBatch *batch, PetscBool *done);
