/*
  MatSetValues() on the device: values are staged as they come, and at assembly, when the mode changes, when the stage is full, and before anything else looks at
  the matrix, they are sorted and join it.

  Differences to MATAIJ: a preallocation by the user allocates nothing but the list of its numbers, which MatGetInfo() reports, and forbids nothing unless an
  option asks for it afterwards; a new nonzero that an option forbids is found when the values are merged, at the latest by MatAssemblyEnd().
*/
#include "insert.h"
#include "../core/core.h"
#include "../host/host.h"
#include "../host/wrappers.h"

/*
  MatSeqAIJCUDABuildsOnDevice - Whether the first assembly since A was set up, preallocated or reset is under way on the device: no host array has been preallocated for it.

  It goes on as it began when the matrix is bound to the CPU meanwhile, which DMCreateMatrix() does; A is brought to the host when it ends.
*/
PetscBool MatSeqAIJCUDABuildsOnDevice(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->staging.device_assembly && MatSeqAIJCUDAHasDevice(A) && !A->assembled && !A->was_assembled);
}

/* Whether values for A go to the device: it must be able to compute with the matrix, and no code of the parent may be busy with host arrays. */
PetscErrorCode MatSeqAIJCUDAInsertsOnDevice(Mat A, PetscBool *inserts)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  *inserts = (PetscBool)(!d->no_device && (!A->boundtocpu || MatSeqAIJCUDABuildsOnDevice(A)) && !A->structure_only && !A->hash_active && (d->host.role == ROLE_USER || A->was_assembled) &&
                         d->host.role != ROLE_BLOCK && A->factortype == MAT_FACTOR_NONE && A->cmap->n <= PETSC_INT32_MAX && A->rmap->n < PETSC_INT32_MAX && !MatAIJCUDAInHostCode());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDATakesValuesOnDevice - Whether values that come now for A, with its structure of now, go to the device: one that was preallocated on the host and never assembled has arrays that only the
  parent understands, and so has one that has got new entries there in this assembly.
*/
PetscErrorCode MatSeqAIJCUDATakesValuesOnDevice(Mat A, PetscBool *takes)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, takes));
  *takes = (PetscBool)(*takes && (MatSeqAIJCUDAGet(A)->staging.device_assembly || A->was_assembled) && !MatSeqAIJCUDAHostHasGaps(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAOptionChangesInsertion - Whether an option has another value now than MatSetOption() is about to give it, and values that wait are merged into the matrix by what it says.

  MAT_ROW_ORIENTED and MAT_IGNORE_OFF_PROC_ENTRIES are obeyed when values come.
*/
PetscBool MatSeqAIJCUDAOptionChangesInsertion(Mat A, MatOption option, PetscBool flag)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;

  switch (option) {
  case MAT_IGNORE_ZERO_ENTRIES:
    return (PetscBool)(a->ignorezeroentries != flag);
  case MAT_NEW_NONZERO_LOCATIONS:
    return (PetscBool)(a->nonew != (flag ? 0 : 1));
  case MAT_NEW_NONZERO_LOCATION_ERR:
    return (PetscBool)(a->nonew != (flag ? -1 : 0));
  case MAT_NEW_NONZERO_ALLOCATION_ERR:
    return (PetscBool)(a->nonew != (flag ? -2 : 0));
  case MAT_STRUCTURE_ONLY:
    return flag;
  default:
    return PETSC_FALSE;
  }
}

/* MatAIJCUDACheckIndices - Rows or columns (what says which) must lie below end; negative ones are ignored elsewhere. */
PetscErrorCode MatAIJCUDACheckIndices(PetscInt n, const PetscInt indices[], PetscInt end, const char what[])
{
  PetscInt largest = -1;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) largest = PetscMax(largest, indices[k]);
  PetscCheck(largest < end, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s too large: %" PetscInt_FMT ", maximum is %" PetscInt_FMT, what, largest, end - 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAStage - A value block on the host goes to a stage; v is [m n], column by column with by_columns, NULL for zeros. The format says how the indices are read.

  Costs one copy on the host. The stream is asked for only when a full buffer travels.
*/
PetscErrorCode MatAIJCUDAStage(DCSRStage stage, const DCSRStageFormat *format, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], PetscBool by_columns)
{
  PetscInt    *indices;
  PetscScalar *values;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (v != NULL && DCSRStageReserve(stage, format, m, n, &indices, &values)) {
    for (PetscInt k = 0; k < m; k++) indices[k] = rows[k];
    for (PetscInt k = 0; k < n; k++) indices[m + k] = columns[k];
    memcpy(values, v, (size_t)m * (size_t)n * sizeof(*v));
    DCSRStageCommit(stage, m, n, by_columns);
  } else {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(DCSRStageAppend(stage, format, m, rows, n, columns, v, by_columns, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValues_SeqAIJCUDA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DCSRStageFormat format;
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDATakesValuesOnDevice(A, &device));
  if (!device) {
    PetscCall(MatHost_SeqAIJCUDA_setvalues(A, m, rows, n, columns, v, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDACheckIndices(m, rows, A->rmap->n, "Row"));
  PetscCall(MatAIJCUDACheckIndices(n, columns, A->cmap->n, "Column"));
  if (d->staging.stage == NULL) PetscCall(DCSRStageCreate((size_t)d->options.stage_size, &d->staging.stage));
  if (d->staging.mode != mode) PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  d->staging.mode     = mode;
  format.row_begin    = 0;
  format.column_begin = 0;
  format.column_bits  = DCSRKeyBits(A->cmap->n);
  format.ignore_zeros = (PetscBool)(a->ignorezeroentries && mode == ADD_VALUES);
  format.diagonal     = d->staging.diagonal;
  PetscCall(MatAIJCUDAStage(d->staging.stage, &format, m, rows, n, columns, v, (PetscBool)!a->roworiented));
  if (DCSRStageCount(d->staging.stage) >= PetscMax((PetscCount)d->options.stage_entries, d->device.view.num_nonzeros)) PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesLocal_SeqAIJCUDA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDASetValuesLocal(A, m, rows, n, columns, v, mode, MatSetValues_SeqAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts what waits. */
static PetscErrorCode MatGetInfo_SeqAIJCUDA(Mat A, MatInfoType type, MatInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  PetscCall((*MatSeqAIJCUDAGet(A)->parent.getinfo)(A, type, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No preallocation: the device needs none. */
static PetscErrorCode MatSetUp_SeqAIJCUDA(Mat A)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (device) PetscCall(MatSeqAIJCUDASetEmpty(A));
  else PetscCall((*MatSeqAIJCUDAGet(A)->parent.setup)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetInsertOps - Puts our operations of insertion into a table. */
PetscErrorCode MatSeqAIJCUDASetInsertOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->setvalues      = MatSetValues_SeqAIJCUDA;
  ops->setvalueslocal = MatSetValuesLocal_SeqAIJCUDA;
  ops->setup          = MatSetUp_SeqAIJCUDA;
  ops->setrandom      = MatSetRandom_SeqAIJCUDA;
  ops->getinfo        = MatGetInfo_SeqAIJCUDA;
  ops->copyhashtoxaij = MatCopyHashToXAIJ_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
