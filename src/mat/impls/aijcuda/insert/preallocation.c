/* Preallocation. On the device nothing is preallocated; what was asked for is remembered where options of MATAIJ depend on it. */
#include "insert.h"
#include "preallocation.h"
#include "../core/core.h"
#include "../host/composed.h"
#include "../parallel/parallel.h"

/* MatAIJCUDACheckPreallocation - What MATSEQAIJ checks about a preallocation of m rows of at most n entries. */
PetscErrorCode MatAIJCUDACheckPreallocation(PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[])
{
  PetscFunctionBegin;
  PetscCheck(nz >= 0 || nz == PETSC_DEFAULT || nz == PETSC_DECIDE || nnz != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "nz cannot be less than 0: value %" PetscInt_FMT, nz);
  for (PetscInt row = 0; nnz != NULL && row < m; row++) {
    PetscCheck(nnz[row] >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "nnz cannot be less than 0: local row %" PetscInt_FMT " value %" PetscInt_FMT, row, nnz[row]);
    PetscCheck(nnz[row] <= n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "nnz cannot be greater than row length: local row %" PetscInt_FMT " value %" PetscInt_FMT " rowlength %" PetscInt_FMT, row,
               nnz[row], n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJSetPreallocation_SeqAIJCUDA - MatSeqAIJSetPreallocation(). On the device room is made when the entries come: nothing is preallocated, and nothing forbids more, unless an option is set
  afterwards.
*/
PetscErrorCode MatSeqAIJSetPreallocation_SeqAIJCUDA(Mat A, PetscInt nz, const PetscInt nnz[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  if (A->hash_active) device = PETSC_FALSE;
  else PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (!device || nz == MAT_SKIP_ALLOCATION) {
    PetscCall(MatHost_SeqAIJCUDA_SetPreallocation(A, nz, nnz));
    MatSeqAIJCUDAGet(A)->staging.device_assembly = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDACheckPreallocation(A->rmap->n, A->cmap->n, nz, nnz));
  PetscCall(MatSeqAIJCUDASetEmpty(A));
  PetscCall(MatSeqAIJCUDASetRowLimits(A, nz, nnz));
  if (nz >= 0 || nnz) ((Mat_SeqAIJ *)A->data)->nonew = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJSetColumnIndices_SeqAIJCUDA - MatSeqAIJSetColumnIndices(). The columns fill what was preallocated, which is on the host then. */
PetscErrorCode MatSeqAIJSetColumnIndices_SeqAIJCUDA(Mat A, PetscInt *j)
{
  const PetscInt *limits;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetRowLimits(A, &limits));
  if (MatSeqAIJCUDAGet(A)->staging.device_assembly && limits != NULL && !A->assembled && !A->was_assembled) {
    PetscCall(MatHost_SeqAIJCUDA_SetPreallocation(A, 0, limits));
    MatSeqAIJCUDAGet(A)->staging.device_assembly = PETSC_FALSE;
  } else if (A->assembled) ((Mat_SeqAIJ *)A->data)->maxnz = ((Mat_SeqAIJ *)A->data)->nz; // arrays that came from the device have no more room
  PetscCall(MatHost_SeqAIJCUDA_SetColumnIndices(A, j));
  MatAIJCUDASetNonzeroState(A, A->nonzerostate + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatResetHash_SeqAIJCUDA - MatResetHash() */
PetscErrorCode MatResetHash_SeqAIJCUDA(Mat A)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (!device || !MatSeqAIJCUDAGet(A)->staging.device_assembly) {
    PetscCall(MatHost_SeqAIJCUDA_ResetHash(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDASetEmpty(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatResetPreallocation() leaves as it was. */
typedef struct {
  PetscInt *limits; /* [m] preallocation, NULL when there was none; owned */
  PetscInt  nonew;
  PetscBool ignore_zeros, keep_pattern;
} Preallocation;

static PetscErrorCode KeepPreallocation(Mat A, Preallocation *kept)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;
  const PetscInt   *limits;

  PetscFunctionBegin;
  *kept = (Preallocation){NULL, a->nonew, a->ignorezeroentries, a->keepnonzeropattern};
  PetscCall(MatSeqAIJCUDAGetRowLimits(A, &limits));
  if (limits == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(A->rmap->n + 1, &kept->limits)); // never NULL
  PetscCall(PetscArraycpy(kept->limits, limits, A->rmap->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After something that returned ierr. */
static PetscErrorCode RestoreOptions(Mat A, Preallocation *kept, PetscErrorCode ierr)
{
  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) {
    Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

    a->nonew              = kept->nonew;
    a->ignorezeroentries  = kept->ignore_zeros;
    a->keepnonzeropattern = kept->keep_pattern;
  }
  PetscCall(PetscFree(kept->limits));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for the empty matrix A. */
static PetscErrorCode RestorePreallocation(Mat A, Preallocation *kept, PetscErrorCode ierr)
{
  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS && kept->limits != NULL) ierr = MatSeqAIJCUDASetRowLimits(A, 0, kept->limits);
  PetscCall(RestoreOptions(A, kept, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a sequential matrix or a block on the host has the entries that were preallocated; without a note those that there are count, as they do in a MATAIJ's first assembly. */
static PetscErrorCode FillsOnHost(Mat A, Preallocation *kept, PetscBool *fills)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *fills = (PetscBool)(kept->limits == NULL);
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  if (!*fills) ierr = PetscArraycmp(kept->limits, a->ilen, A->rmap->n, fills);
  else {
    ierr = PetscMalloc1(A->rmap->n + 1, &kept->limits);
    if (ierr == PETSC_SUCCESS) ierr = PetscArraycpy(kept->limits, a->ilen, A->rmap->n);
  }
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ_STRUCTURE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's code asks for its own note of a preallocation, and trusts host arrays with that room. Where the note is ours, A gets the room anew. */
static PetscErrorCode ResetOnHost(Mat A)
{
  Preallocation  kept;
  PetscBool      fills;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (((Mat_SeqAIJ *)A->data)->ipre != NULL) {
    PetscCall(MatHost_SeqAIJCUDA_ResetPreallocation(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KeepPreallocation(A, &kept));
  ierr = FillsOnHost(A, &kept, &fills);
  if (ierr == PETSC_SUCCESS && fills) ierr = MatZeroEntries(A);
  else if (ierr == PETSC_SUCCESS) {
    ierr                                         = MatHost_SeqAIJCUDA_SetPreallocation(A, 0, kept.limits); // values that come next go to the host, too
    MatSeqAIJCUDAGet(A)->staging.device_assembly = PETSC_FALSE;
  }
  PetscCall(RestoreOptions(A, &kept, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same; collective, as PETSc's. */
static PetscErrorCode ResetParallelOnHost(Mat A)
{
  Mat_MPIAIJ    *a        = (Mat_MPIAIJ *)A->data;
  Preallocation  kept[2]  = {{NULL, 0, PETSC_FALSE, PETSC_FALSE}, {NULL, 0, PETSC_FALSE, PETSC_FALSE}};
  PetscBool      fills[2] = {PETSC_TRUE, PETSC_TRUE};
  int            all[3]; // error code, whether a note is ours, whether there is room that is not filled
  PetscErrorCode ierr;

  PetscFunctionBegin;
  all[1] = ((Mat_SeqAIJ *)a->A->data)->ipre == NULL || ((Mat_SeqAIJ *)a->B->data)->ipre == NULL;
  ierr   = KeepPreallocation(a->A, &kept[0]);
  if (ierr == PETSC_SUCCESS) ierr = KeepPreallocation(a->B, &kept[1]);
  if (ierr == PETSC_SUCCESS) ierr = FillsOnHost(a->A, &kept[0], &fills[0]);
  if (ierr == PETSC_SUCCESS) ierr = FillsOnHost(a->B, &kept[1], &fills[1]);
  all[0] = (int)ierr;
  all[2] = !fills[0] || !fills[1];
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  ierr = PetscSparseCUDAErrorOfAll(all[0], ierr);
  if (ierr == PETSC_SUCCESS && !all[1]) ierr = MatHost_MPIAIJCUDA_ResetPreallocation(A);
  else if (ierr == PETSC_SUCCESS && !all[2]) ierr = MatZeroEntries(A);
  else if (ierr == PETSC_SUCCESS) ierr = MatMPIAIJSetPreallocation_MPIAIJCUDA(A, 0, kept[0].limits, 0, kept[1].limits);
  ierr = RestoreOptions(a->A, &kept[0], ierr);
  PetscCall(RestoreOptions(a->B, &kept[1], ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatResetPreallocation_SeqAIJCUDA - MatResetPreallocation(). MATAIJ keeps the entries, as zeros, when they are just those that were preallocated. */
PetscErrorCode MatResetPreallocation_SeqAIJCUDA(Mat A)
{
  Preallocation kept;
  PetscBool     device, fills;

  PetscFunctionBegin;
  PetscCheck(A->insertmode == NOT_SET_VALUES, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot reset preallocation after setting some values but not yet calling MatAssemblyBegin()/MatAssemblyEnd()");
  if (A->num_ass == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (!device || !MatSeqAIJCUDAGet(A)->staging.device_assembly) {
    PetscCall(ResetOnHost(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatSeqAIJCUDAFillsPreallocation(A, &fills));
  if (fills) {
    PetscCall(MatZeroEntries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KeepPreallocation(A, &kept));
  PetscCall(RestorePreallocation(A, &kept, MatSeqAIJCUDASetEmpty(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatResetPreallocation_MPIAIJCUDA - The same; both blocks on all processes count, while MATAIJ may keep one of them. */
PetscErrorCode MatResetPreallocation_MPIAIJCUDA(Mat A)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  Preallocation  kept[2];
  PetscBool      device, fills[2];
  int            all[2]; // error code, whether there is room that is not filled
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(A->insertmode == NOT_SET_VALUES, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot reset preallocation after setting some values but not yet calling MatAssemblyBegin()/MatAssemblyEnd()");
  if (A->num_ass == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (!device || MatMPIAIJCUDAGet(A)->state == PARALLEL_HOST) {
    PetscCall(ResetParallelOnHost(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ierr = MatSeqAIJCUDAFillsPreallocation(a->A, &fills[0]);
  if (ierr == PETSC_SUCCESS) ierr = MatSeqAIJCUDAFillsPreallocation(a->B, &fills[1]);
  all[0] = (int)ierr;
  all[1] = ierr == PETSC_SUCCESS && !(fills[0] && fills[1]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscSparseCUDAErrorOfAll(all[0], ierr));
  if (!all[1]) {
    PetscCall(MatZeroEntries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KeepPreallocation(a->A, &kept[0]));
  PetscCall(KeepPreallocation(a->B, &kept[1]));
  ierr = MatMPIAIJCUDASetEmpty(A); // makes new blocks
  ierr = RestorePreallocation(a->A, &kept[0], ierr);
  PetscCall(RestorePreallocation(a->B, &kept[1], ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
