/*
  Accesses of host code to a matrix: its host arrays are made current before, and what it may have written is noted after. The functions of the parent types are called between MatAIJCUDAHostBegin()
  and MatAIJCUDAHostEnd().
*/
#include "state.h"
#include <petscsparsecuda/report.h>

/* The host arrays get the structure of the device. */
static PetscErrorCode CopyStructureToHost(Mat A)
{
  DCSRView       view;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetStructure(A, &view));
  ierr = MatSeqAIJCUDADownloadStructure(A, view);
  PetscCall(MatSeqAIJCUDARestoreStructure(A, &view));
  PetscCall(ierr);
  if (A->offloadmask == PETSC_OFFLOAD_BOTH) MatSeqAIJCUDANoteValues(A, VALUES_GONE_FROM_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDADuplicateHostStructure - Gives B, a duplicate of A that has the device copy, the structure on the host, without values, from that of A: no copy from the device, and no CSR made for one.

  Nothing is done when A has no structure on the host. For matrices whose structure on the host is there all the time, such as small blocks of parallel ones.
*/
PetscErrorCode MatSeqAIJCUDADuplicateHostStructure(Mat A, Mat B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasHostArrays(A) || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  ierr = MatSeqAIJCUDACopyHostStructure(A, B);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ_STRUCTURE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values to the host arrays.

  Host code that changes the structure counts as having written the values, too: while the newest values are on the device, so is their structure, whatever the
  nonzerostate says. MatCreateMPIAIJWithSeqAIJ() raises it before it asks for the values of a block that it is about to renumber.
*/
static PetscErrorCode CopyValuesToHost(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(MatSeqAIJCUDAHasDevice(A) && MatSeqAIJCUDAGet(A)->device.view.num_nonzeros == ((Mat_SeqAIJ *)A->data)->i[A->rmap->n], PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "The newest values are on the device, under a structure that is no longer current");
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(MatSeqAIJCUDADownloadValues(A));
  MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the host copy up to date. */
static PetscErrorCode UpdateHostCopy(Mat A, int access)
{
  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasHost(A)) PetscCallLogged(PETSCSPARSECUDA_CopyToHost, A, CopyStructureToHost(A));
  if ((access & HOST_READ_VALUES) && A->offloadmask == PETSC_OFFLOAD_GPU) PetscCallLogged(PETSCSPARSECUDA_CopyToHost, A, CopyValuesToHost(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether values that are read stay with an operation of the parent that works on A, code PETSC_FALSE: its own access lasts longer than this one, which need not be counted.
  MatDuplicate() of PETSc 3.24 does not give back what it has got from MatSeqAIJGetArrayRead().
*/
static PetscBool IsInside(const Mat_SeqAIJCUDA *d, int access, PetscBool code)
{
  return (PetscBool)(!code && access == HOST_READ && d->host.operations > 0);
}

/* MatAIJCUDAHostBegin(), or without code MatAIJCUDAArrayBegin(), for a sequential matrix that is known to be ours. */
static PetscErrorCode HostBegin_Seq(Mat A, int access, PetscBool code)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  if (d->host.active == 0) PetscCall(MatSeqAIJCUDAShowHostArrays(A));
  ierr = UpdateHostCopy(A, access);
  if (ierr != PETSC_SUCCESS && d->host.active == 0) PetscCall(MatSeqAIJCUDAHideHostArrays(A));
  PetscCall(ierr);
  if (!IsInside(d, access, code)) d->host.active++;
  if (code) d->host.operations++;
  // what is about to be written counts as written, so that device operations inside the host operation see it
  if ((access & (HOST_WRITE_VALUES | HOST_WRITE_STRUCTURE)) && A->offloadmask == PETSC_OFFLOAD_BOTH) MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of either. */
static PetscErrorCode HostEnd_Seq(Mat A, int access, PetscBool code)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A); // asked for again: the operation may have merged another matrix into A

  PetscFunctionBegin;
  if (d->host.active > 0 && !IsInside(d, access, code)) d->host.active--;
  if (code && d->host.operations > 0) d->host.operations--;
  if (d->host.active == 0) PetscCall(MatSeqAIJCUDAHideHostArrays(A));
  if ((access & (HOST_WRITE_VALUES | HOST_WRITE_STRUCTURE)) && A->offloadmask != PETSC_OFFLOAD_GPU) {
    MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
    PetscCall(PetscObjectStateIncrease((PetscObject)A)); // parallel operations write into blocks without a word to them
  }
  if ((access & HOST_WRITE_STRUCTURE) && A->offloadmask != PETSC_OFFLOAD_GPU) PetscCall(MatSeqAIJCUDADropDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAInHostCode - Whether an operation of the parent types is running: what it builds, it writes into host arrays directly.

  Arrays that somebody holds do not count: parent operations do not give them back when they end with an error, and processes must agree on where values go.
*/
PetscBool MatAIJCUDAInHostCode(void)
{
  return (PetscBool)(MatAIJCUDAScope.host > 0);
}

static PetscErrorCode HostEnd(Mat A, int access, PetscBool code)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    PetscCall(HostEnd_Seq(A, access, code));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

    PetscCall(HostEnd(a->A, access, code));
    PetscCall(HostEnd(a->B, access, code));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostBegin(Mat A, int access, PetscBool code)
{
  PetscBool      is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    PetscCall(HostBegin_Seq(A, access, code));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

    PetscCall((*MatAIJCUDAHook.finish_insertion_mpi)(A));
    PetscCall(HostBegin(a->A, access, code));
    ierr = HostBegin(a->B, access, code);
    if (ierr != PETSC_SUCCESS) PetscCall(HostEnd(a->A, access, code));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAHostBegin - Brings the host copy of a matrix up to date for host code that is about to use it directly; access is a sum of HostAccess.

  A is any matrix or NULL; others than ours are left alone, parallel ones are treated block by block.
  Every call that succeeds is followed by MatAIJCUDAHostEnd() or MatAIJCUDAHostFinish() with the same access.
*/
PetscErrorCode(MatAIJCUDAHostBegin)(Mat A, int access)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin_Private(A, access, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, for the function who. */
PetscErrorCode MatAIJCUDAHostBegin_Private(Mat A, int access, const char who[])
{
  PetscFunctionBegin;
  PetscCallReported(REPORT_OTHER, who, HostBegin(A, access, PETSC_TRUE));
  MatAIJCUDAScope.host++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAHostEnd - Notes what host code did to the host copy since MatAIJCUDAHostBegin() with the same access; the data of A may have been replaced meanwhile. */
PetscErrorCode MatAIJCUDAHostEnd(Mat A, int access)
{
  PetscFunctionBegin;
  MatAIJCUDAScope.host--;
  PetscCall(HostEnd(A, access, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAArrayBegin - MatAIJCUDAHostBegin() for an array that leaves our hands until MatAIJCUDAArrayEnd(). */
PetscErrorCode MatAIJCUDAArrayBegin(Mat A, int access)
{
  PetscFunctionBegin;
  PetscCallReported(REPORT_OTHER, "MatSeqAIJGetArray() and the like", HostBegin(A, access, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAArrayEnd - The array has come back. */
PetscErrorCode MatAIJCUDAArrayEnd(Mat A, int access)
{
  PetscFunctionBegin;
  PetscCall(HostEnd(A, access, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAShowToReader - Brings the host copy up to date for host code that reads it without MatAIJCUDAHostBegin(), right after this call; access is HOST_READ_STRUCTURE or HOST_READ.

  A is any matrix or NULL; others than ours are left alone, parallel ones are treated block by block. The test hook hides the arrays again after the next access, those of a block not before the
  device has been used: PETSc reads the structure of blocks between calls of their operations.
*/
PetscErrorCode MatAIJCUDAShowToReader(Mat A, int access)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin_Private(A, access, "host code that does not ask"));
  PetscCall(MatAIJCUDAHostEnd(A, access));
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) PetscCall(MatSeqAIJCUDAShowHostArrays(A));
  if (is && MatSeqAIJCUDAGet(A)->host.role == ROLE_BLOCK && MatSeqAIJCUDAGet(A)->host.hidden != NULL) MatSeqAIJCUDAGet(A)->host.hidden->computed = PETSC_FALSE;
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    PetscCall(MatAIJCUDAShowToReader(((Mat_MPIAIJ *)A->data)->A, access));
    PetscCall(MatAIJCUDAShowToReader(((Mat_MPIAIJ *)A->data)->B, access));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAKeepStructure - Host code that reads the structure of an assembled matrix directly was met: the structure is made, and from now on at once after every change.

  Costs a copy of the structure to the host whenever it has changed; insertion no longer appends to rows.
*/
PetscErrorCode MatSeqAIJCUDAKeepStructure(Mat A)
{
  PetscFunctionBegin;
  MatSeqAIJCUDAGet(A)->host.at_once = PETSC_TRUE;
  PetscCall(MatAIJCUDAShowToReader(A, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAInheritKept - B, which something made of A, has its structure on the host at once where A has it as a matrix that stands alone. */
void MatSeqAIJCUDAInheritKept(Mat A, Mat B)
{
  const MatHostCopy *a = &MatSeqAIJCUDAGet(A)->host;

  if (a->role != ROLE_BLOCK && a->at_once) MatSeqAIJCUDAGet(B)->host.at_once = PETSC_TRUE;
}

/* MatSeqAIJCUDAUpdateKept - Makes the structure on the host after a change, where it is kept. */
PetscErrorCode MatSeqAIJCUDAUpdateKept(Mat A)
{
  PetscFunctionBegin;
  if (!MatSeqAIJCUDAKeepsStructure(A) || MatSeqAIJCUDAHasHost(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin_Private(A, HOST_READ_STRUCTURE, "a change of a kept structure"));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAUpdateBlock - Makes the structure on the host of a block of a parallel matrix after a change, where blocks have it at once. */
PetscErrorCode MatSeqAIJCUDAUpdateBlock(Mat A)
{
  PetscFunctionBegin;
  if (!MatSeqAIJCUDABlockKeepsStructure(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin_Private(A, HOST_READ_STRUCTURE, "a change of a block"));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the accesses to a matrix, or to its blocks, only the one that is about to end is left. */
static PetscErrorCode ForgetArrays(Mat A)
{
  PetscBool is = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    MatSeqAIJCUDAGet(A)->host.active = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (is) {
    PetscCall(ForgetArrays(((Mat_MPIAIJ *)A->data)->A));
    PetscCall(ForgetArrays(((Mat_MPIAIJ *)A->data)->B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAHostFinish - MatAIJCUDAHostEnd() after host code that may have failed: ierr is what it returned, and is handed on.

  After an error the host copy stays where the host code left it: what it had leave to write counts as written. Arrays that it holds do not come back.
*/
PetscErrorCode MatAIJCUDAHostFinish(Mat A, int access, PetscErrorCode ierr)
{
  PetscErrorCode ended;

  if (ierr != PETSC_SUCCESS) (void)ForgetArrays(A);
  ended = MatAIJCUDAHostEnd(A, access);
  return ierr != PETSC_SUCCESS ? ierr : ended;
}

/* MatAIJCUDAHostBeginTwo - MatAIJCUDAHostBegin() for two matrices, each of which may be NULL, or for neither when it fails. */
PetscErrorCode MatAIJCUDAHostBeginTwo_Private(Mat A, int access_a, Mat B, int access_b, const char who[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin_Private(A, access_a, who));
  ierr = MatAIJCUDAHostBegin_Private(B, access_b, who);
  if (ierr != PETSC_SUCCESS) PetscCall(MatAIJCUDAHostFinish(A, access_a, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAHostFinishTwo - MatAIJCUDAHostFinish() for two matrices. */
PetscErrorCode MatAIJCUDAHostFinishTwo(Mat A, int access_a, Mat B, int access_b, PetscErrorCode ierr)
{
  return MatAIJCUDAHostFinish(A, access_a, MatAIJCUDAHostFinish(B, access_b, ierr));
}
