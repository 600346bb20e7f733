/* Batches of entries in device memory, and what MatSetValues() would have to do about them. */
#include "insert.h"
#include "../core/core.h"
#include "../exchange/exchange.h"

static PetscErrorCode Insert_Seq(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode)
{
  const DCSRWindow window = {A->rmap->N, A->cmap->N, 0, A->rmap->N, 0, A->cmap->N, PETSC_FALSE};
  DCSRSmallList    small  = {n};
  DCSRList         list;
  cudaStream_t     stream;
  PetscBool        done;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDAFinishInsertion(A)); // what came before
  small.rows    = i;
  small.columns = j;
  small.values  = v;
  PetscCall(MatSeqAIJCUDAInsertSmall(A, &small, mode, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRListCreate(&window, n, i, j, stream, &list));
  PetscCall(MatSeqAIJCUDAInsertList(A, &list, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of the entries of other processes, device arrays for the caller to free; *num is 0 when they are to be ignored. */
static PetscErrorCode CopyRemote(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], cudaStream_t stream, PetscCount *num, PetscInt **rows, PetscInt **columns,
                                 PetscScalar **values)
{
  const Mat_MPIAIJ *a     = (Mat_MPIAIJ *)A->data;
  const PetscBool   drop  = (PetscBool)(((Mat_SeqAIJ *)a->A->data)->ignorezeroentries && A->insertmode == ADD_VALUES); // on the diagonal, too, as MATMPIAIJ
  PetscCount       *where = NULL;
  PetscErrorCode    ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  *num = 0;
  if (a->donotstash) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRListRemote(A->rmap->rstart, A->rmap->rend, n, i, j, drop ? v : NULL, stream, num, &where));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(*num, "rows of entries of other processes", stream, rows));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(*num, "columns of entries of other processes", stream, columns));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(*num, "values of entries of other processes", stream, values));
  PetscCallGoto(ierr, cleanup, DCSRGatherIndices(*num, where, i, *rows, stream));
  PetscCallGoto(ierr, cleanup, DCSRGatherIndices(*num, where, j, *columns, stream));
  PetscCallGoto(ierr, cleanup, DCSRGatherValues(*num, where, v, *values, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&where, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNoRemote(Mat A, PetscCount num)
{
  PetscFunctionBegin;
  PetscCheck(num == 0 || !A->nooffprocentries, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "Setting %" PetscCount_FMT " entries in off process rows even though MatSetOption(,MAT_NO_OFF_PROC_ENTRIES,PETSC_TRUE) was set", num);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of this process are merged into the matrix, those of others the stash. */
static PetscErrorCode Insert_MPI(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode)
{
  PetscInt      *rows = NULL, *columns = NULL;
  PetscScalar   *values = NULL;
  PetscCount     num;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatMPIAIJCUDAFinishInsertion(A)); // what came before
  PetscCallGoto(ierr, cleanup, CopyRemote(A, n, i, j, v, stream, &num, &rows, &columns, &values));
  PetscCallGoto(ierr, cleanup, CheckNoRemote(A, num));
  PetscCallGoto(ierr, cleanup, MatMPIAIJCUDAInsertEntries(A, n, i, j, v, mode));
  if (num > 0) PetscCallGoto(ierr, cleanup, OffProcessStashAppendDevice(&MatMPIAIJCUDAGet(A)->off_process, num, &rows, &columns, &values));
cleanup:
  PetscCall(PetscSparseCUDAFree(&rows, stream));
  PetscCall(PetscSparseCUDAFree(&columns, stream));
  PetscCall(PetscSparseCUDAFree(&values, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatSetValues() does to a matrix before it looks at the values. */
static PetscErrorCode BeginInsertion(Mat A, InsertMode mode)
{
  PetscFunctionBegin;
  if (!A->preallocated) PetscCall(MatSetUp(A));
  if (A->insertmode == NOT_SET_VALUES) A->insertmode = mode;
  else PetscCheck(A->insertmode == mode, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Cannot mix add values and insert values");
  if (A->assembled) {
    A->was_assembled = PETSC_TRUE;
    A->assembled     = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDCSRCUDASetValuesDevice - Inserts or adds a list of entries in device memory.

  Not Collective (except for the `MatSetUp()` of a matrix that was not set up)

  Input Parameters:
+ A    - the matrix, of type `MATDCSRCUDA`
. n    - number of entries
. i    - global row indices, array of length `n` in device memory; negative: ignored
. j    - global column indices, array of length `n` in device memory; negative: ignored
. v    - values, array of length `n` in device memory
- mode - `ADD_VALUES` or `INSERT_VALUES`

  Level: intermediate

  Notes:
  Entries come in any order, with repeats: `ADD_VALUES` adds repeats in the order of the list, `INSERT_VALUES` keeps the last. Entries that are not in the matrix are made.
  Call `MatAssemblyBegin()` and `MatAssemblyEnd()` afterwards, as after `MatSetValues()`, with which it may be mixed; entries of other processes travel then.

  The arrays are read by work that is queued on the stream of the current `PetscDeviceContext`: what fills them must be done or queued there before, and they may be
  changed or freed by work queued there, or when it is done.

  Cost: a radix sort of the list unless it is sorted already, and binary searches for each entry; for at most 1,024 entries on one process one launch, where the storage has room. New entries of a
  small batch, at most 1/64 of the entries of a matrix that was assembled before, are appended to their rows in place on one process, as long as there is room in the storage; others cost one pass over
  the local matrix, or two when it has to be defragmented first. docs/insertion.md has the rules and `-mat_dcsr_defragment`, `-mat_dcsr_slack` and `-mat_dcsr_max_segments` change them. The device
  needs room for 28 bytes an entry while the list is sorted and reduced, for up to 48 a distinct entry afterwards, and for a second copy of the matrix while new entries are not appended.

  Errors: `PETSC_ERR_ARG_OUTOFRANGE` for an index that is too large or a new nonzero that `MatSetOption()` forbids, `PETSC_ERR_MEM`; on one process the matrix is as it was before, on several the
  entries of the diagonal block may have joined it. `PETSC_ERR_ARG_WRONG` for a matrix of another type, and for entries of other processes that `MatSetOption()` excludes.
  `PETSC_ERR_ARG_WRONGSTATE` when the other mode was used since the last assembly, and when the matrix does not insert on the device, such as on a process without one.
  `PETSC_ERR_SUP` for another mode.

  The method is King, Gilray, Kirby, Might, Dynamic-CSR (ISC 2016), section 3, with one sort a batch.

.seealso: `MATDCSRCUDA`, `MatSetValues()`, `MatSetPreallocationCOO()`, `MatDCSRCUDAGetInserter()`
@*/
PetscErrorCode MatDCSRCUDASetValuesDevice(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[], const PetscScalar v[], InsertMode mode)
{
  PetscBool is_seq, is_mpi, device;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidType(A, 1);
  PetscCheck(mode == ADD_VALUES || mode == INSERT_VALUES, PETSC_COMM_SELF, PETSC_ERR_SUP, "Only ADD_VALUES and INSERT_VALUES");
  PetscCall(MatIsSeqAIJCUDA(A, &is_seq));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  PetscCheck(is_seq || is_mpi, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix is of type %s and must be of type " MATDCSRCUDA, ((PetscObject)A)->type_name);
  PetscCall(BeginInsertion(A, mode));
  if (is_seq) PetscCall(MatSeqAIJCUDATakesValuesOnDevice(A, &device));
  else PetscCall(MatMPIAIJCUDATakesValuesOnDevice(A, &device));
  PetscCheck(
    device, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
    "The matrix does not insert on the device: it is bound to the CPU, has structure only, was preallocated on the host and not assembled since, or has ghost columns that do not ascend: use MatSetValues()");
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (is_seq) PetscCallLogged(PETSCSPARSECUDA_Insert, A, Insert_Seq(A, n, i, j, v, mode));
  else PetscCallLogged(PETSCSPARSECUDA_Insert, A, Insert_MPI(A, n, i, j, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}
