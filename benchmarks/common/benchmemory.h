#pragma once
/*
  The most memory in use on the device of a process between two calls: a thread looks.
*/
#include <petscsys.h>

PETSC_INTERN PetscErrorCode BenchMemoryBegin(void);                /* needs a device; what is in use at the first call of the process, or at BenchMemoryMark(), does not count */
PETSC_INTERN PetscErrorCode BenchMemoryMark(void);                 /* likewise: for what others have left that cannot be freed */
PETSC_INTERN PetscErrorCode BenchMemoryEnd(MPI_Comm, PetscReal *); /* bytes, the most of any process; -1 when it cannot be known, or nothing began */
