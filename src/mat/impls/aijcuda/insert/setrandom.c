/*
  MatSetRandom() of a matrix that was preallocated on the device and never assembled.

  MATAIJ fills the rows up to their preallocation with entries in random columns. It reads the preallocation from host arrays, which say on the device that every row has room for none.
  The same numbers are drawn here, in the same order, and are entries of the same columns.
*/
#include "insert.h"
#include "../core/core.h"
#include "../host/wrappers.h"

/* Columns of one block of a matrix in ascending order; which of them an entry is in is drawn. */
typedef struct {
  PetscInt n;           /* how many there are */
  PetscInt first, skip; /* those from number first on have global numbers larger by skip */
} Columns;

/* Whether the host arrays of a sequential matrix, or of a block, know nothing of its preallocation. */
static PetscBool PreallocatedOnDevice(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDAGet(A)->staging.device_assembly && !A->assembled && !A->was_assembled);
}

/* Entries for the rows of this process, as many as limits of a block say, which are those that MatSetUp() alone leaves when there are none. */
static PetscErrorCode FillRows(Mat A, Mat block, const Columns *columns, PetscRandom r)
{
  const PetscInt *limits;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetRowLimits(block, &limits));
  PetscCheck(limits != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "MatSetRandom() fills what was preallocated, and nothing was: call MatSeqAIJSetPreallocation() or MatMPIAIJSetPreallocation() before it");
  if (columns->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < A->rmap->n; i++) {
    const PetscInt row = A->rmap->rstart + i;

    for (PetscInt k = 0; k < limits[i]; k++) {
      PetscScalar v;
      PetscInt    column;

      PetscCall(PetscRandomGetValue(r, &v));
      column = (PetscInt)(columns->n * PetscRealPart(v));
      PetscCall(MatAIJCUDACheckIndices(1, &column, columns->n, "Column"));
      if (column < 0) continue; // of an interval with negative numbers
      if (column >= columns->first) column += columns->skip;
      PetscCall(MatSetValues(A, 1, &row, 1, &column, &v, ADD_VALUES));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetRandom_SeqAIJCUDA - MatSetRandom(), which assembles the matrix afterwards. */
PetscErrorCode MatSetRandom_SeqAIJCUDA(Mat A, PetscRandom r)
{
  const Columns all = {A->cmap->n, 0, 0};

  PetscFunctionBegin;
  if (PreallocatedOnDevice(A)) PetscCall(FillRows(A, A, &all, r));
  else PetscCall(MatHost_SeqAIJCUDA_setrandom(A, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetRandom_MPIAIJCUDA - The same: the diagonal block first, then the off-diagonal one. */
PetscErrorCode MatSetRandom_MPIAIJCUDA(Mat A, PetscRandom r)
{
  Mat_MPIAIJ     *a       = (Mat_MPIAIJ *)A->data;
  const Columns   inside  = {A->cmap->n, 0, A->cmap->rstart};
  const Columns   outside = {A->cmap->N - A->cmap->n, A->cmap->rstart, A->cmap->n};
  const PetscBool device  = (PetscBool)(MatMPIAIJCUDAGet(A)->state != PARALLEL_HOST && !A->assembled && !A->was_assembled);

  PetscFunctionBegin;
  if (device) {
    PetscErrorCode ierr = FillRows(A, a->A, &inside, r);

    if (ierr == PETSC_SUCCESS) ierr = FillRows(A, a->B, &outside, r);
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr)); // the assembly follows
    PetscCall(ierr);
  } else PetscCall(MatHost_MPIAIJCUDA_setrandom(A, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
