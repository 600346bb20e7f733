/* What users may ask of the storage of MATDCSRCUDA. */
#include "dcsr.h"
#include "../aijcuda/core/core.h"

/* Applies f to the sequential matrices of ours that A consists of. */
static PetscErrorCode ForEachBlock(Mat A, PetscErrorCode (*f)(Mat, void *), void *context)
{
  PetscBool is_seq, is_mpi;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatIsSeqAIJCUDA(A, &is_seq));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  PetscCheck(is_seq || is_mpi, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "Matrix is of type %s, this function is for %s", ((PetscObject)A)->type_name, MATDCSRCUDA);
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Call MatAssemblyBegin() and MatAssemblyEnd() first");
  if (is_seq) PetscCall((*f)(A, context));
  else {
    PetscCall((*f)(((Mat_MPIAIJ *)A->data)->A, context));
    PetscCall((*f)(((Mat_MPIAIJ *)A->data)->B, context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Defragment_Seq(Mat A, PETSC_UNUSED void *context)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDCSRCUDADefragment - Makes the device storage of a `MATDCSRCUDA` matrix compact: one segment a row, no gaps, sorted columns.

  Not Collective

  Input Parameter:
. A - the assembled matrix

  Options Database Key:
. -mat_dcsr_defragment (auto|never|always) - when it is done without being asked for: when products pay for it, not for products, or by every insertion

  Level: intermediate

  Notes:
  Insertion of small batches into an assembled matrix leaves fragmented storage, whose products are slower. Without this call it becomes compact when products have lost
  what that costs; who knows that many products follow the last batch saves the loss.

  Structure and values stay what they are, only their position changes. Afterwards there is no room for further entries: the next small batch is merged.

  Errors: `PETSC_ERR_ARG_WRONG` for a matrix of another type, `PETSC_ERR_ARG_WRONGSTATE` for one that is not assembled, `PETSC_ERR_MEM` when the second copy does not fit.

  Cost: one read and one write of the matrix, and the memory of a second copy while it runs; nothing when its storage is compact already.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDASetValuesDevice()`
@*/
PetscErrorCode MatDCSRCUDADefragment(Mat A)
{
  PetscFunctionBegin;
  PetscCall(ForEachBlock(A, Defragment_Seq, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetMemoryUsed_Seq(Mat A, void *context)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*d->device.csr->bytes)(A, (PetscCount *)context));
  if (d->device.data != NULL) PetscCall((*d->device.storage->bytes)(A, (PetscCount *)context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDCSRCUDAGetMemoryUsed - Gives the device memory of this process that a `MATDCSRCUDA` matrix and its products with vectors hold.

  Not Collective

  Input Parameter:
. A - the assembled matrix

  Output Parameter:
. bytes - of its device arrays, without those that the notes name

  Level: intermediate

  Notes:
  Counted are the matrix itself, with the unused entries of its storage, the plans of its products with vectors, and a stored transpose. A matrix without a device copy
  has none of these.

  Not counted are the plans of products with the stored transpose and with dense matrices, the list of coordinates that `MatSetPreallocationCOO()` keeps, values that wait
  to be inserted, what the exchange with other processes needs, and copies of the structure that were made for code of programs.

  Errors: `PETSC_ERR_ARG_WRONG` for a matrix of another type, `PETSC_ERR_ARG_WRONGSTATE` for one that is not assembled.

  Cost: no work on the device.

.seealso: `MATDCSRCUDA`, `MatGetInfo()`
@*/
PetscErrorCode MatDCSRCUDAGetMemoryUsed(Mat A, PetscCount *bytes)
{
  PetscFunctionBegin;
  PetscAssertPointer(bytes, 2);
  *bytes = 0;
  PetscCall(ForEachBlock(A, GetMemoryUsed_Seq, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
