#pragma once
/*
  Reductions of device arrays to numbers on the host, by CUB, which is compiled for them once, in a fixed order: the same bits every time.
*/
#include <petscsparsecuda/sys.h>

/* What a reduction of row sizes gives. */
typedef struct {
  int64_t num_nonzeros;      /* their sum */
  int64_t num_nonempty_rows; /* those that are not 0 */
  int64_t max_row_size;      /* the largest one, or 0 */
} DCSRSizeFacts;

/*
  DCSRReduceSizes      - facts about row sizes
  DCSRReduceSum        - sum
  DCSRReduceSumSquares - sum of the squared absolute values
  DCSRReduceMax        - the largest one, or 0 when all are negative
  The n numbers are on the device, the result is on the host; 0 when n is 0. Each synchronizes with the stream. Nothing stays allocated after PETSC_ERR_MEM.
*/
PETSC_INTERN PetscErrorCode DCSRReduceSizes(PetscCount, const int32_t[], cudaStream_t, DCSRSizeFacts *);
PETSC_INTERN PetscErrorCode DCSRReduceSum(PetscCount, const PetscReal[], cudaStream_t, PetscReal *);
PETSC_INTERN PetscErrorCode DCSRReduceSumSquares(PetscCount, const PetscScalar[], cudaStream_t, PetscReal *);
PETSC_INTERN PetscErrorCode DCSRReduceMax(PetscCount, const PetscReal[], cudaStream_t, PetscReal *);
