/* Where 32 bits are not enough. */
#include "width.h"

PetscCount DCSRMaxNarrow   = DCSR_MAX_NARROW;
PetscCount DCSRMaxNonzeros = PETSC_INT_MAX;

/* DCSRNeedsWide - Whether arrays of n entries need 64-bit offsets */
PetscErrorCode DCSRNeedsWide(PetscCount n, PetscBool *wide)
{
  PetscFunctionBegin;
  *wide = (PetscBool)(n > DCSRMaxNarrow);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGetMaxNonzeros - The nonzeros that a sequential matrix may have, of which PETSc keeps the number as PetscInt. */
PetscErrorCode DCSRGetMaxNonzeros(PetscCount *max_nonzeros)
{
  PetscFunctionBegin;
  *max_nonzeros = DCSRMaxNonzeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCheckNonzeros - To be called before a matrix gets more nonzeros, with as many as it would have: PETSC_ERR_ARG_OUTOFRANGE when there are more than DCSRGetMaxNonzeros() gives. */
PetscErrorCode DCSRCheckNonzeros(PetscCount num_nonzeros)
{
  PetscFunctionBegin;
  PetscCheck(num_nonzeros <= DCSRMaxNonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "A matrix, or a block of a parallel matrix, with %" PetscCount_FMT " nonzeros on this process: at most %" PetscCount_FMT
             " fit into PetscInt. Use more processes, or configure PETSc with --with-64-bit-indices",
             num_nonzeros, DCSRMaxNonzeros);
  PetscFunctionReturn(PETSC_SUCCESS);
}
