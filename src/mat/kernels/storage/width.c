/* Where 32 bits are not enough. */
#include <petscsparsecuda/dcsr.h>

static PetscCount narrow_entries = -1; // as many entries have 32-bit offsets; -1: not read yet

static PetscErrorCode Forget(void)
{
  PetscFunctionBegin;
  narrow_entries = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRWidthInitialize - Reads the test hook -mat_dcsr_test_wide_from, once until PetscFinalize(). */
PetscErrorCode DCSRWidthInitialize(void)
{
  PetscInt from = PETSC_INT32_MAX;

  PetscFunctionBegin;
  if (narrow_entries >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_wide_from", &from, NULL));
  PetscCheck(from >= 0 && from <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_dcsr_test_wide_from %" PetscInt_FMT " must be 0 to %d", from, PETSC_INT32_MAX);
  PetscCall(PetscRegisterFinalize(Forget));
  narrow_entries = from;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRNeedsWide - Whether arrays of n entries need 64-bit offsets

  Not Collective

  Input Parameter:
. n - entries

  Output Parameter:
. wide - PETSC_TRUE from 2^31 entries on, or when there are more than the test hook -mat_dcsr_test_wide_from says
*/
PetscErrorCode DCSRNeedsWide(PetscCount n, PetscBool *wide)
{
  PetscFunctionBegin;
  PetscCall(DCSRWidthInitialize());
  *wide = (PetscBool)(n > narrow_entries);
  PetscFunctionReturn(PETSC_SUCCESS);
}
