/* Whether the storage of a HiSparse is valid: each format has its check. */
#include "kernels.h"
#include "../../src/mat/kernels/hisparse/hisparseimpl.h"

/* HiSparseIsValid - see kernels.h */
PetscErrorCode HiSparseIsValid(HiSparse hisparse, cudaStream_t stream, PetscBool *ok, const char **what, PetscCount *where)
{
  const void       *structure = hisparse->structure->data;
  HiSparseViolation violation = {NULL, 0};

  PetscFunctionBegin;
  switch (hisparse->format) {
  case HISPARSE_DIAGONALS:
    PetscCall(HiSparseDiagonalsIsValid(structure, stream, &violation));
    break;
  case HISPARSE_BLOCK_DIAGONALS:
    PetscCall(BlockDiagonalsIsValid(structure, stream, &violation));
    break;
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "Format %d has no check", (int)hisparse->format);
  }
  *ok    = (PetscBool)(violation.what == NULL);
  *what  = violation.what;
  *where = violation.where;
  PetscFunctionReturn(PETSC_SUCCESS);
}
