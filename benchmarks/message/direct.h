#pragma once
/*
  An exchange of ghost values without MPI, between processes of one machine that stand in a row: each writes to memory of its neighbors that they have opened to it (CUDA IPC), and tells them by a flag
  there. The host waits for nothing. Memory for ghost values is there twice: who has got values of step k knows that its neighbor has used those of step k - 2.
*/
#include <petscsys.h>
#include <petscdevice_cuda.h>

typedef struct _n_Direct *Direct;

/* The two sides of a process. */
enum {
  DIRECT_BEFORE,
  DIRECT_AFTER,
  DIRECT_NUM_SIDES
};

PETSC_INTERN PetscErrorCode DirectCreate(MPI_Comm, PetscInt, Direct *);
PETSC_INTERN PetscErrorCode DirectDestroy(Direct *);
PETSC_INTERN PetscErrorCode DirectPut(Direct, const PetscReal[], const PetscReal[], cudaStream_t);
PETSC_INTERN PetscErrorCode DirectWait(Direct, cudaStream_t);
PETSC_INTERN PetscErrorCode DirectConsume(Direct, PetscBool, PetscReal[], PetscReal[], cudaStream_t);
PETSC_INTERN PetscErrorCode DirectCheck(Direct);

/* What uses ghost values, for any exchange: x = x / 2 + ghost / 4 on both sides; NULL where there is no neighbor. */
PETSC_INTERN PetscErrorCode ExchangeConsume(PetscInt, const PetscReal *const[DIRECT_NUM_SIDES], PetscReal *const[DIRECT_NUM_SIDES], cudaStream_t);
