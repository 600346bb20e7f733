/*
  Composed functions of MATSEQAIJ and MATMPIAIJ ("..._C") that use the host arrays directly, called through the mirror.

  Composed functions are the same for all matrices of a type, so the parent's are asked for once, from a scratch matrix.
*/
#include <petscsparsecuda/aijcuda.h>

/* The parent's composed functions; set once by MatAIJCUDACaptureParents(). */
typedef struct {
  PetscErrorCode (*setpreallocation)(Mat, PetscInt, const PetscInt[]);
  PetscErrorCode (*setpreallocationcsr)(Mat, const PetscInt[], const PetscInt[], const PetscScalar[]);
  PetscErrorCode (*setcolumnindices)(Mat, PetscInt *);
  PetscErrorCode (*storevalues)(Mat);
  PetscErrorCode (*retrievevalues)(Mat);
  PetscErrorCode (*istranspose)(Mat, Mat, PetscReal, PetscBool *);
  PetscErrorCode (*ishermitiantranspose)(Mat, Mat, PetscReal, PetscBool *);
  PetscErrorCode (*resetpreallocation)(Mat);
  PetscErrorCode (*resethash)(Mat);
  PetscErrorCode (*reorder)(Mat, PetscReal, IS, IS);
  PetscErrorCode (*kron)(Mat, Mat, MatReuse, Mat *);
  PetscErrorCode (*setpreallocationcoo)(Mat, PetscCount, PetscInt[], PetscInt[]);
  PetscErrorCode (*setvaluescoo)(Mat, const PetscScalar[], InsertMode);
} ParentFunctions;

static ParentFunctions seq, mpi;

/* Where the parent composes the list of MatSetPreallocationCOO(). */
static const char COO_KEY[] = "__PETSc_MatCOOStruct_Host";

/* A matrix that got new host arrays: the mirror is the matrix, the device copy is void. */
static PetscErrorCode HostReplaced(Mat A)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    MatSeqAIJCUDAGet(A)->host_structure = PETSC_TRUE;
    A->offloadmask                      = PETSC_OFFLOAD_CPU;
    ((Mat_SeqAIJ *)A->data)->inode.use  = PETSC_FALSE; // MatResetHash() turns it on again
    PetscCall(MatSeqAIJCUDADropDevice(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thunk around a parent function that discards the old entries: no copy to the mirror first. */
#define DEFINE_REPLACE(name, function, parameters, arguments) \
  static PetscErrorCode name parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatSeqAIJCUDAShowMirror(A)); \
    PetscCall((*function)arguments); \
    PetscCall(HostReplaced(A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* A thunk around a parent function that uses the old entries. */
#define DEFINE_COMPOSED(name, function, parameters, arguments, access) \
  static PetscErrorCode name parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBegin(A, access)); \
    ierr = (*function)arguments; \
    PetscCall(MatAIJCUDAHostFinish(A, access, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* The same with a second matrix that is read. */
#define DEFINE_COMPOSED_TWO(name, function, parameters, arguments) \
  static PetscErrorCode name parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, B, HOST_READ)); \
    ierr = (*function)arguments; \
    PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, B, HOST_READ, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

DEFINE_REPLACE(SetPreallocationOnHost, seq.setpreallocation, (Mat A, PetscInt nz, const PetscInt nnz[]), (A, nz, nnz))
DEFINE_REPLACE(ResetHashOnHost, seq.resethash, (Mat A), (A))
DEFINE_COMPOSED(MatSeqAIJSetPreallocationCSR_SeqAIJCUDA, seq.setpreallocationcsr, (Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[]), (A, i, j, v), HOST_BUILD)
DEFINE_COMPOSED(SetColumnIndicesOnHost, seq.setcolumnindices, (Mat A, PetscInt *j), (A, j), HOST_BUILD)
DEFINE_COMPOSED(MatStoreValues_SeqAIJCUDA, seq.storevalues, (Mat A), (A), HOST_READ)
DEFINE_COMPOSED(MatRetrieveValues_SeqAIJCUDA, seq.retrievevalues, (Mat A), (A), HOST_WRITE)
DEFINE_COMPOSED(ResetPreallocationOnHost, seq.resetpreallocation, (Mat A), (A), HOST_BUILD)
DEFINE_COMPOSED(MatReorderForNonzeroDiagonal_SeqAIJCUDA, seq.reorder, (Mat A, PetscReal atol, IS rows, IS columns), (A, atol, rows, columns), HOST_READ)
DEFINE_COMPOSED_TWO(IsTransposeOnHost, seq.istranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED_TWO(IsHermitianTransposeOnHost, seq.ishermitiantranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED_TWO(MatIsTranspose_MPIAIJCUDA, mpi.istranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED(ResetPreallocationOnHost_MPI, mpi.resetpreallocation, (Mat A), (A), HOST_BUILD)

static PetscErrorCode MatIsTranspose_SeqAIJCUDA(Mat A, Mat B, PetscReal tol, PetscBool *f)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatIsTransposeDevice_SeqAIJCUDA(A, B, tol, PETSC_FALSE, f, &done));
  if (!done) PetscCall(IsTransposeOnHost(A, B, tol, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIsHermitianTranspose_SeqAIJCUDA(Mat A, Mat B, PetscReal tol, PetscBool *f)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatIsTransposeDevice_SeqAIJCUDA(A, B, tol, PETSC_TRUE, f, &done));
  if (!done) PetscCall(IsHermitianTransposeOnHost(A, B, tol, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAParentSetPreallocation - MATSEQAIJ's MatSeqAIJSetPreallocation() */
PetscErrorCode MatSeqAIJCUDAParentSetPreallocation(Mat A, PetscInt nz, const PetscInt nnz[])
{
  PetscFunctionBegin;
  PetscCall((*seq.setpreallocation)(A, nz, nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDACheckPreallocation - What MATSEQAIJ checks about a preallocation of m rows of at most n entries. */
PetscErrorCode MatAIJCUDACheckPreallocation(PetscInt m, PetscInt n, PetscInt nz, const PetscInt nnz[])
{
  PetscFunctionBegin;
  PetscCheck(nz >= 0 || nz == PETSC_DEFAULT || nz == PETSC_DECIDE || nnz != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "nz cannot be less than 0: value %" PetscInt_FMT, nz);
  for (PetscInt row = 0; nnz != NULL && row < m; row++) {
    PetscCheck(nnz[row] >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "nnz cannot be less than 0: local row %" PetscInt_FMT " value %" PetscInt_FMT, row, nnz[row]);
    PetscCheck(nnz[row] <= n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "nnz cannot be greater than row length: local row %" PetscInt_FMT " value %" PetscInt_FMT " rowlength %" PetscInt_FMT, row, nnz[row], n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the device room is made when the entries come: nothing is preallocated, and nothing forbids more, unless an option is set afterwards. */
static PetscErrorCode MatSeqAIJSetPreallocation_SeqAIJCUDA(Mat A, PetscInt nz, const PetscInt nnz[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  if (A->hash_active) device = PETSC_FALSE;
  else PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (!device || nz == MAT_SKIP_ALLOCATION) {
    PetscCall(SetPreallocationOnHost(A, nz, nnz));
    MatSeqAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDACheckPreallocation(A->rmap->n, A->cmap->n, nz, nnz));
  PetscCall(MatSeqAIJCUDASetEmpty(A));
  PetscCall(MatSeqAIJCUDASetRowLimits(A, nz, nnz));
  if (nz >= 0 || nnz) ((Mat_SeqAIJ *)A->data)->nonew = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns fill what was preallocated, which is on the host then. */
static PetscErrorCode MatSeqAIJSetColumnIndices_SeqAIJCUDA(Mat A, PetscInt *j)
{
  const PetscInt *limits;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetRowLimits(A, &limits));
  if (MatSeqAIJCUDAGet(A)->device_assembly && limits != NULL && !A->assembled && !A->was_assembled) {
    PetscCall(SetPreallocationOnHost(A, 0, limits));
    MatSeqAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
  } else if (A->assembled) ((Mat_SeqAIJ *)A->data)->maxnz = ((Mat_SeqAIJ *)A->data)->nz; // arrays that came from the device have no more room
  PetscCall(SetColumnIndicesOnHost(A, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatResetHash_SeqAIJCUDA(Mat A)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (!device || !MatSeqAIJCUDAGet(A)->device_assembly) {
    PetscCall(ResetHashOnHost(A));
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

/* For the empty matrix A, which something has made that returned ierr. */
static PetscErrorCode RestorePreallocation(Mat A, Preallocation *kept, PetscErrorCode ierr)
{
  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS && kept->limits != NULL) ierr = MatSeqAIJCUDASetRowLimits(A, 0, kept->limits);
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

/* MATAIJ keeps the entries, as zeros, when they are just those that were preallocated. */
static PetscErrorCode MatResetPreallocation_SeqAIJCUDA(Mat A)
{
  Preallocation kept;
  PetscBool     device, fills;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (!device || !MatSeqAIJCUDAGet(A)->device_assembly) {
    PetscCall(ResetPreallocationOnHost(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(A->insertmode == NOT_SET_VALUES, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot reset preallocation after setting some values but not yet calling MatAssemblyBegin()/MatAssemblyEnd()");
  if (A->num_ass == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAFillsPreallocation(A, &fills));
  if (fills) {
    PetscCall(MatZeroEntries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KeepPreallocation(A, &kept));
  PetscCall(RestorePreallocation(A, &kept, MatSeqAIJCUDASetEmpty(A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same; both blocks on all processes count, while MATAIJ may keep one of them. */
static PetscErrorCode MatResetPreallocation_MPIAIJCUDA(Mat A)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  Preallocation  kept[2];
  PetscBool      device, fills[2];
  int            all[2]; // error code, whether there is room that is not filled
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (!device || !MatMPIAIJCUDAGet(A)->device_assembly) {
    PetscCall(ResetPreallocationOnHost_MPI(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(A->insertmode == NOT_SET_VALUES, PETSC_COMM_SELF, PETSC_ERR_SUP, "Cannot reset preallocation after setting some values but not yet calling MatAssemblyBegin()/MatAssemblyEnd()");
  if (A->num_ass == 0) PetscFunctionReturn(PETSC_SUCCESS);
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

static PetscErrorCode MatSeqAIJKron_SeqAIJCUDA(Mat A, Mat B, MatReuse reuse, Mat *C)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, B, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX) ierr = MatAIJCUDAHostBegin(*C, HOST_WRITE);
  if (ierr == PETSC_SUCCESS) {
    ierr = (*seq.kron)(A, B, reuse, C);
    if (reuse == MAT_REUSE_MATRIX) ierr = MatAIJCUDAHostFinish(*C, HOST_WRITE, ierr);
  }
  PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, B, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A host copy of an array that the caller may have given in device memory; *copy is NULL when the array is on the host already. */
static PetscErrorCode GetHostCopy(const void *array, size_t bytes, void **copy)
{
  PetscMemType   mtype;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *copy = NULL;
  if (array == NULL || bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetMemType(array, &mtype));
  if (PetscMemTypeHost(mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc(bytes, copy));
  PetscCallGoto(ierr, failed, PetscSparseCUDACopyToHost(*copy, array, bytes, stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(*copy));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode SetPreallocationCOO(Mat A, const ParentFunctions *parent, PetscCount n, PetscInt i[], PetscInt j[])
{
  void          *i_host = NULL, *j_host = NULL;
  MatCOOPattern  pattern = NULL;
  PetscBool      is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, GetHostCopy(i, (size_t)n * sizeof(PetscInt), &i_host));
  PetscCallGoto(ierr, done, GetHostCopy(j, (size_t)n * sizeof(PetscInt), &j_host));
  PetscCallGoto(ierr, done, MatIsSeqAIJCUDA(A, &is));
  if (is) PetscCallGoto(ierr, done, MatSeqAIJCUDAShowMirror(A));
  PetscCallGoto(ierr, done, (*parent->setpreallocationcoo)(A, n, i_host != NULL ? (PetscInt *)i_host : i, j_host != NULL ? (PetscInt *)j_host : j));
  PetscCallGoto(ierr, done, HostReplaced(A));
  PetscCallGoto(ierr, done, MatCOOPatternCreate(A, NULL, &pattern));
  PetscCallGoto(ierr, done, MatCOOPatternAttach(A, COO_KEY, &pattern));
done:
  PetscCall(PetscFree(i_host));
  PetscCall(PetscFree(j_host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list that the parent composed. */
static PetscErrorCode GetCOO(Mat A, void **coo)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, COO_KEY, (PetscObject *)&container));
  PetscCheck(container != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Call MatSetPreallocationCOO() before MatSetValuesCOO()");
  PetscCall(PetscContainerGetPointer(container, coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent writes where the list says, without a look at the pattern. Of a list that was made before the matrix became ours only the number of its places is known. */
static PetscErrorCode CheckPattern(Mat A, PetscBool is_mpi, const void *coo)
{
  PetscBool  known;
  PetscCount n, nz;

  PetscFunctionBegin;
  PetscCall(MatCOOPatternCheck(A, COO_KEY, &known));
  if (known) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < (is_mpi ? 2 : 1); k++) {
    const Mat block = !is_mpi ? A : k ? ((Mat_MPIAIJ *)A->data)->B : ((Mat_MPIAIJ *)A->data)->A;

    n  = !is_mpi ? ((const MatCOOStruct_SeqAIJ *)coo)->nz : k ? ((const MatCOOStruct_MPIAIJ *)coo)->Bnnz : ((const MatCOOStruct_MPIAIJ *)coo)->Annz;
    nz = ((Mat_SeqAIJ *)block->data)->nz;
    PetscCheck(n == nz, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "There are %" PetscCount_FMT " local nonzeros and were %" PetscCount_FMT " after MatSetPreallocationCOO(): call it again before MatSetValuesCOO()", nz, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValuesCOO(Mat A, const ParentFunctions *parent, PetscBool is_mpi, const PetscScalar v[], InsertMode mode)
{
  void          *coo, *v_host = NULL;
  PetscCount     n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetCOO(A, &coo));
  ierr = CheckPattern(A, is_mpi, coo);
  if (is_mpi) PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  n = is_mpi ? ((MatCOOStruct_MPIAIJ *)coo)->n : ((MatCOOStruct_SeqAIJ *)coo)->n;
  PetscCall(GetHostCopy(v, (size_t)n * sizeof(PetscScalar), &v_host));
  PetscCallGoto(ierr, done, MatAIJCUDAHostBegin(A, HOST_WRITE));
  ierr = (*parent->setvaluescoo)(A, v_host != NULL ? (PetscScalar *)v_host : v, mode);
  ierr = MatAIJCUDAHostFinish(A, HOST_WRITE, ierr);
done:
  PetscCall(PetscFree(v_host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_AIJCUDA_IS - MatConvert() to MATIS by the parent's function; without it PETSc would take a general one that gives MATIS other local matrices.

  Collective

  See MatConvert() for the parameters.
*/
PetscErrorCode MatConvert_AIJCUDA_IS(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_seqaij_is_C", &convert));
  if (convert == NULL) PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_mpiaij_is_C", &convert));
  PetscCheck(convert != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "MATAIJ of this PETSc has no conversion to MATIS");
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = (*convert)(A, type, reuse, B);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetPreallocationCOO_SeqAIJCUDA(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (device) PetscCall(MatSetPreallocationCOO_SeqAIJCUDA_Device(A, n, i, j));
  else {
    PetscCall(MatCOODevice_Remove(A));
    PetscCall(SetPreallocationCOO(A, &seq, n, i, j));
    MatSeqAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device) PetscCall(MatSetPreallocationCOO_MPIAIJCUDA_Device(A, n, i, j));
  else {
    PetscCall(MatCOODevice_Remove(A));
    MatMPIAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
    PetscCall(SetPreallocationCOO(A, &mpi, n, i, j));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_SeqAIJCUDA(Mat A, const PetscScalar v[], InsertMode mode)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Has(A, &device));
  if (device) PetscCall(MatSetValuesCOO_SeqAIJCUDA_Device(A, v, mode));
  else PetscCall(SetValuesCOO(A, &seq, PETSC_FALSE, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_MPIAIJCUDA(Mat A, const PetscScalar v[], InsertMode mode)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Has(A, &device));
  if (device) PetscCall(MatSetValuesCOO_MPIAIJCUDA_Device(A, v, mode));
  else PetscCall(SetValuesCOO(A, &mpi, PETSC_TRUE, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One composed function: its name, where the parent's is kept, ours. */
#define SEQ_COMPOSED(X) \
  X("MatSeqAIJSetPreallocation_C", seq.setpreallocation, MatSeqAIJSetPreallocation_SeqAIJCUDA) \
  X("MatSeqAIJSetPreallocationCSR_C", seq.setpreallocationcsr, MatSeqAIJSetPreallocationCSR_SeqAIJCUDA) \
  X("MatSeqAIJSetColumnIndices_C", seq.setcolumnindices, MatSeqAIJSetColumnIndices_SeqAIJCUDA) \
  X("MatStoreValues_C", seq.storevalues, MatStoreValues_SeqAIJCUDA) \
  X("MatRetrieveValues_C", seq.retrievevalues, MatRetrieveValues_SeqAIJCUDA) \
  X("MatIsTranspose_C", seq.istranspose, MatIsTranspose_SeqAIJCUDA) \
  X("MatIsHermitianTranspose_C", seq.ishermitiantranspose, MatIsHermitianTranspose_SeqAIJCUDA) \
  X("MatResetPreallocation_C", seq.resetpreallocation, MatResetPreallocation_SeqAIJCUDA) \
  X("MatResetHash_C", seq.resethash, MatResetHash_SeqAIJCUDA) \
  X("MatReorderForNonzeroDiagonal_C", seq.reorder, MatReorderForNonzeroDiagonal_SeqAIJCUDA) \
  X("MatSeqAIJKron_C", seq.kron, MatSeqAIJKron_SeqAIJCUDA) \
  X("MatSetPreallocationCOO_C", seq.setpreallocationcoo, MatSetPreallocationCOO_SeqAIJCUDA) \
  X("MatSetValuesCOO_C", seq.setvaluescoo, MatSetValuesCOO_SeqAIJCUDA)

#define MPI_COMPOSED(X) \
  X("MatIsTranspose_C", mpi.istranspose, MatIsTranspose_MPIAIJCUDA) \
  X("MatResetPreallocation_C", mpi.resetpreallocation, MatResetPreallocation_MPIAIJCUDA) \
  X("MatSetPreallocationCOO_C", mpi.setpreallocationcoo, MatSetPreallocationCOO_MPIAIJCUDA) \
  X("MatSetValuesCOO_C", mpi.setvaluescoo, MatSetValuesCOO_MPIAIJCUDA)

#define QUERY(name, parent, ours)   PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &parent));
#define COMPOSE(name, parent, ours) PetscCall(PetscObjectComposeFunction((PetscObject)A, name, compose ? ours : parent));

/*
  MatAIJCUDACaptureParents - Asks scratch matrices of the parent types for their composed functions.

  Not Collective

  Note:
  The scratch matrices have an options prefix of their own, or -mat_seqaij_type would make them ours.
*/
PetscErrorCode MatAIJCUDACaptureParents(void)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetOptionsPrefix(A, "petscsparsecuda_parent_"));
  PetscCall(MatSetSizes(A, 0, 0, 0, 0));
  PetscCall(MatSetType(A, MATSEQAIJ));
  SEQ_COMPOSED(QUERY)
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetOptionsPrefix(A, "petscsparsecuda_parent_"));
  PetscCall(MatSetSizes(A, 0, 0, 0, 0));
  PetscCall(MatSetType(A, MATMPIAIJ));
  MPI_COMPOSED(QUERY)
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAComposeAlias - Composes a function that PETSc looks for under a type name, under a name of ours, too, or removes that.

  Not Collective

  Input Parameters:
+ A       - a matrix of ours
. parent  - name under which the parent type has the function, which reads no array of A itself; nothing happens when it has none
. name    - the same with our type
- compose - PETSC_FALSE removes it
*/
PetscErrorCode MatAIJCUDAComposeAlias(Mat A, const char parent[], const char name[], PetscBool compose)
{
  PetscErrorCodeFn *f = NULL;

  PetscFunctionBegin;
  if (compose) PetscCall(PetscObjectQueryFunction((PetscObject)A, parent, &f));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAComposeTripleProducts - Composes the function that chooses the code of A B C under the names of all mixtures of a type of ours and its parent's, or removes it.

  Not Collective

  Input Parameters:
+ A       - a matrix of ours
. type    - its type
. parent  - the parent type
- product - the function; NULL removes it
*/
PetscErrorCode MatAIJCUDAComposeTripleProducts(Mat A, const char type[], const char parent[], PetscErrorCode (*product)(Mat))
{
  char name[256];

  PetscFunctionBegin;
  for (int ours = 1; ours < 7; ours++) { // bits: which operands are ours; PETSc needs no name when all are
    PetscCall(PetscSNPrintf(name, sizeof(name), "MatProductSetFromOptions_%s_%s_%s_C", ours & 4 ? type : parent, ours & 2 ? type : parent, ours & 1 ? type : parent));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, name, product));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAComposeThunks - Composes our functions over the parent's, or puts the parent's back.

  Not Collective

  Input Parameters:
+ A       - a sequential matrix
- compose - PETSC_FALSE puts the parent's back, for a matrix that becomes MATSEQAIJ
*/
PetscErrorCode MatSeqAIJCUDAComposeThunks(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  SEQ_COMPOSED(COMPOSE)
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDAComposeThunks - The same for a parallel matrix.
*/
PetscErrorCode MatMPIAIJCUDAComposeThunks(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  MPI_COMPOSED(COMPOSE)
  PetscFunctionReturn(PETSC_SUCCESS);
}
