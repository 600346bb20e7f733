/* Functions of the tests' library on matrices. */
#include "testlib.h"
#include "kernels.h"
#include "../../src/mat/impls/aijcuda/core/core.h"
#include "../../src/mat/impls/hisparse/hisparse.h"

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscsparsecuda(void);

/* PetscDLLibraryRegister_petscsparsecudatests - The name that PETSc looks for is made of that of the file. */
PetscErrorCode PetscDLLibraryRegister_petscsparsecudatests(void)
{
  PetscFunctionBegin;
  PetscCall(PetscDLLibraryRegister_petscsparsecuda());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* TestLibIsOurs - Whether a matrix is of a type of this library. Not collective. */
PetscErrorCode TestLibIsOurs(Mat A, PetscBool *ours)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  *ours = (PetscBool)(seq || mpi);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fragments one sequential matrix. */
static PetscErrorCode FragmentBlock(Mat A, PetscInt max_segments, PetscInt slack)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DCSRView        from, view;
  size_t          offset_size;
  PetscBool       device;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAGetCompact(A, &from));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  view              = from;
  view.values       = NULL;
  view.columns      = NULL;
  view.row_offsets  = NULL;
  view.max_segments = max_segments;
  view.pitch        = (PetscCount)PetscMax(view.num_rows, 1);
  PetscCall(DCSRFragmentCapacity(from, view.max_segments, slack, stream, &view.capacity));
  offset_size = view.wide ? sizeof(int64_t) : sizeof(int32_t);
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view.capacity, "values of a fragmented matrix", stream, &view.values));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view.capacity, "columns of a fragmented matrix", stream, &view.columns));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private(2 * offset_size * (size_t)view.pitch * (size_t)view.max_segments, "segments of a fragmented matrix", stream, &view.segments));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view.num_rows, "row sizes of a fragmented matrix", stream, &view.row_sizes));
  if (!view.wide && max_segments > 1) PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view.num_rows + 1, "offsets of the base of a fragmented matrix", stream, &view.base_offsets));
  PetscCallGoto(ierr, failed, DCSRFragment(from, slack, &view, stream));
  PetscCall(MatSeqAIJCUDADropPlans(A));
  PetscCall(DCSRViewFree(&d->device.view, stream));
  d->device.view = view;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

/*
  TestLibFragment - Spreads each row of the device copy of an assembled matrix of ours over max_segments segments, at most DCSR_MAX_SEGMENTS, with slack unused entries behind the last one, if that is not the first; structure
  and values stay what they are.
*/
PetscErrorCode TestLibFragment(Mat A, PetscInt max_segments, PetscInt slack)
{
  PetscBool seq;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  for (int k = 0; k < (seq ? 1 : 2); k++) PetscCall(FragmentBlock(seq ? A : MatMPIAIJCUDAGetBlock(A, k), max_segments, slack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the states of an assembled matrix promise (state.c). */
static const struct {
  PetscBool host;    /* there are host arrays, */
  PetscBool csr;     /* CSR on the device, */
  PetscBool storage; /* storage */
} promises[] = {
  [STATE_NEW] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},       [STATE_HOST] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, // a matrix without entries may have no arrays
  [STATE_HOST_NEWER] = {PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}, [STATE_EQUAL] = {PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},        [STATE_EQUAL_STORAGE] = {PETSC_TRUE, PETSC_FALSE, PETSC_TRUE},
  [STATE_CSR] = {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},        [STATE_CSR_STORAGE] = {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}, [STATE_STORAGE] = {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
};

static PetscErrorCode CheckState(Mat A)
{
  const Mat_SeqAIJCUDA    *d     = MatSeqAIJCUDAGet(A);
  const MatSeqAIJCUDAState state = MatSeqAIJCUDAGetState(A);
  const char              *name  = MatSeqAIJCUDAStates[state];
  const PetscBool          csr   = (PetscBool)(d->device.view.row_offsets != NULL || d->device.view.segments != NULL);

  PetscFunctionBegin;
  PetscCheck(state != STATE_HOST_OPEN && state != STATE_DEVICE_OPEN, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An assembled matrix with the state \"%s\"", name);
  PetscCheck(!promises[state].host || MatSeqAIJCUDAHasHostArrays(A), PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" without host arrays", name);
  PetscCheck(!promises[state].csr || csr, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" without CSR on the device", name);
  PetscCheck(!promises[state].storage || d->device.data != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "State \"%s\" without storage", name);
  PetscCheck(state != STATE_HOST || A->offloadmask != PETSC_OFFLOAD_GPU, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The newest values are on the device, under another structure than that of now");
  PetscCheck(!MatSeqAIJCUDAHostHasGaps(A), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The host arrays of an assembled matrix have gaps");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Clears *valid when CSR or the storage of products of a sequential matrix breaks an invariant. */
static PetscErrorCode CheckBlock(Mat A, PetscBool *valid)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       ok;
  PetscInt        row;
  const char     *what;
  PetscCount      where;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(CheckState(A));
  if (MatSeqAIJCUDADeviceHasStructure(A) && !MatSeqAIJCUDACSRReleased(A)) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(DCSRIsValid(d->device.view, stream, &ok, &row, &what));
    if (!ok) PetscCall(PetscInfo(A, "CSR is not valid: %s, row %" PetscInt_FMT "\n", what, row));
    *valid = (PetscBool)(*valid && ok);
  }
  if (d->device.storage->destroy != MatDeviceStorageHiSparse.destroy || d->device.data == NULL || d->device.nonzerostate != A->nonzerostate) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(HiSparseIsValid(*(HiSparse *)d->device.data, stream, &ok, &what, &where));
  if (!ok) PetscCall(PetscInfo(A, "Storage %s is not valid: %s %" PetscCount_FMT "\n", MATHISPARSECUDA, what, where));
  *valid = (PetscBool)(*valid && ok);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  TestLibIsValid - Whether the device storage of an assembled matrix of ours is valid, the same on all processes; -info says what is not. A matrix without a device copy is valid. Collective.

  CSR: segments of different rows never overlap, only the last segment of a row is partly used, columns of a row are distinct, and sorted in each segment; nothing lies beyond the allocation pointer.
  Diagonals: segments of a slice ascend, have entries, and only such as are in the matrix; their values follow each other; no two slices share a segment or a value; the CSR remainder is sorted, and in
  no segment. What products with the transpose read has the same entries with the same values.
*/
PetscErrorCode TestLibIsValid(Mat A, PetscBool *valid)
{
  PetscBool seq, ours;

  PetscFunctionBegin;
  PetscCall(TestLibIsOurs(A, &ours));
  PetscCheck(ours && A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix is of type %s, or not assembled", ((PetscObject)A)->type_name);
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  *valid = PETSC_TRUE;
  for (int k = 0; k < (seq ? 1 : 2); k++) PetscCall(CheckBlock(seq ? A : MatMPIAIJCUDAGetBlock(A, k), valid));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, valid, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* TestLibGetProducts - How many products with a matrix and with its transpose are expected in all, by the hint; 0: not known. Of a parallel matrix that of the diagonal block. */
PetscErrorCode TestLibGetProducts(Mat A, PetscCount *n, PetscCount *n_transpose, PetscBool *minimum)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (mpi) A = MatMPIAIJCUDAGetBlock(A, 0);
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  *n           = seq ? MatSeqAIJCUDAGet(A)->device.expected[0] : 0;
  *n_transpose = seq ? MatSeqAIJCUDAGet(A)->device.expected[1] : 0;
  *minimum     = (PetscBool)(seq && MatSeqAIJCUDAGet(A)->device.hint == HINT_AT_LEAST);
  PetscFunctionReturn(PETSC_SUCCESS);
}
