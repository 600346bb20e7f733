/* Where 32 bits are not enough. */
#include <petscsparsecuda/dcsr.h>

static PetscCount narrow_entries = -1; // as many entries have 32-bit offsets; -1: not read yet
static PetscCount most_nonzeros  = PETSC_INT_MAX;

static PetscErrorCode Forget(void)
{
  PetscFunctionBegin;
  narrow_entries = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRWidthInitialize - Reads the test hooks -mat_dcsr_test_wide_from and -mat_dcsr_test_max_nonzeros, once until PetscFinalize(). */
PetscErrorCode DCSRWidthInitialize(void)
{
  PetscInt from = DCSR_MAX_NARROW, most = PETSC_INT_MAX;

  PetscFunctionBegin;
  if (narrow_entries >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_wide_from", &from, NULL));
  PetscCheck(from >= 0 && from <= DCSR_MAX_NARROW, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_dcsr_test_wide_from %" PetscInt_FMT " must be 0 to %d", from, DCSR_MAX_NARROW);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_max_nonzeros", &most, NULL));
  PetscCall(PetscRegisterFinalize(Forget));
  narrow_entries = from;
  most_nonzeros  = most;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRNeedsWide - Whether arrays of n entries need 64-bit offsets: more than DCSR_MAX_NARROW, or more than the test hook -mat_dcsr_test_wide_from says */
PetscErrorCode DCSRNeedsWide(PetscCount n, PetscBool *wide)
{
  PetscFunctionBegin;
  PetscCall(DCSRWidthInitialize());
  *wide = (PetscBool)(n > narrow_entries);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGetMaxNonzeros - The nonzeros that a sequential matrix may have, of which PETSc keeps the number as PetscInt; fewer with the test hook -mat_dcsr_test_max_nonzeros. */
PetscErrorCode DCSRGetMaxNonzeros(PetscCount *max_nonzeros)
{
  PetscFunctionBegin;
  PetscCall(DCSRWidthInitialize());
  *max_nonzeros = most_nonzeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCheckNonzeros - To be called before a matrix gets more nonzeros, with as many as it would have: PETSC_ERR_ARG_OUTOFRANGE when there are more than DCSRGetMaxNonzeros() gives. */
PetscErrorCode DCSRCheckNonzeros(PetscCount num_nonzeros)
{
  PetscFunctionBegin;
  PetscCall(DCSRWidthInitialize());
  PetscCheck(num_nonzeros <= most_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "A matrix, or a block of a parallel matrix, with %" PetscCount_FMT " nonzeros on this process: at most %" PetscCount_FMT " fit into PetscInt. Use more processes, or configure PETSc with --with-64-bit-indices", num_nonzeros,
             most_nonzeros);
  PetscFunctionReturn(PETSC_SUCCESS);
}
