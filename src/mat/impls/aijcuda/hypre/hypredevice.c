/*
  Matrices of ours to MATHYPRE on the device, for a hypre that computes there and counts with 32 bits: hypre's arrays are filled from ours by one kernel a block, with rows in the
  order that PETSc's conversion gives them (the diagonal entry in front). PETSc's conversion goes by the host: 8 s for 214 million entries.

  A MATHYPRE that was made here knows the pattern it was made of, so that MAT_REUSE_MATRIX writes values alone. PETSc's conversion cannot fill it: that has a matrix for lists of
  coordinates inside, which this one lacks.
*/
#include "hypre.h"

#if defined(PETSC_HAVE_HYPRE_DEVICE) && !defined(PETSC_USE_64BIT_INDICES)
  #include "../../../../petsc/hypre.h"
  #include <petscmathypre.h>
  #include <petscsparsecuda/convert.h>

/* What a MATHYPRE that was made here is known by; composed with it. */
typedef struct {
  MPI_Comm            petsc_comm, hypre_comm; /* of PETSc, and PETSc's duplicate of it for hypre's messages */
  MatAIJCUDAPattern   pattern;                /* of the matrix that it was made of, owned */
  hypre_ParCSRMatrix *matrix;                 /* what hypre sees, owned by the MATHYPRE: another one when somebody replaced it */
  HYPRE_Complex      *values[2];              /* [nonzeros of the block] device, of its blocks: others when somebody moved or replaced them */
} Origin;

static const char origin_key[] = "PetscSparseCUDAOrigin";

static PetscErrorCode OriginDestroy(PetscCtxRt ctx)
{
  Origin *o = *(Origin **)ctx;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAPatternDestroy(&o->pattern));
  if (o->hypre_comm != MPI_COMM_NULL) PetscCall(PetscCommRestoreComm(o->petsc_comm, &o->hypre_comm));
  PetscCall(PetscFree(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static hypre_CSRMatrix *GetBlock(hypre_ParCSRMatrix *matrix, int k)
{
  return k == 0 ? hypre_ParCSRMatrixDiag(matrix) : hypre_ParCSRMatrixOffd(matrix);
}

/* The storage of both blocks; the second one is zero in a sequential matrix. */
static PetscErrorCode GetViews(Mat A, DCSRView views[2])
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(views, 2));
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  for (int k = 0; k < 2 && blocks[k] != NULL; k++) PetscCall(MatSeqAIJCUDAGetCompact(blocks[k], &views[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is queued on the stream from now on comes after hypre's work, whose streams wait for the legacy default stream, and it for them. */
static PetscErrorCode WaitForHYPRE(cudaStream_t stream)
{
  cudaEvent_t event;

  PetscFunctionBegin;
  PetscCallCUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventRecord(event, cudaStreamLegacy));
  PetscCallCUDA(cudaStreamWaitEvent(stream, event, 0));
  PetscCallCUDA(cudaEventDestroy(event));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* hypre finds it there afterwards. */
static PetscErrorCode Fill(const DCSRView views[2], hypre_ParCSRMatrix *matrix, PetscBool structure)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(WaitForHYPRE(stream));
  for (int k = 0; k < 2; k++) {
    hypre_CSRMatrix *block = GetBlock(matrix, k);
    const size_t     n     = (size_t)views[k].num_nonzeros;

    if (structure && views[k].row_offsets != NULL)
      PetscCallCUDA(cudaMemcpyAsync(hypre_CSRMatrixI(block), views[k].row_offsets, ((size_t)views[k].num_rows + 1) * sizeof(HYPRE_Int), cudaMemcpyDeviceToDevice, stream));
    if (n == 0) continue;
    if (k == 0) PetscCall(DCSRCopyDiagonalFirst(views[k], structure ? hypre_CSRMatrixJ(block) : NULL, (PetscScalar *)hypre_CSRMatrixData(block), stream));
    else {
      if (structure) PetscCallCUDA(cudaMemcpyAsync(hypre_CSRMatrixJ(block), views[k].columns, n * sizeof(HYPRE_Int), cudaMemcpyDeviceToDevice, stream));
      PetscCallCUDA(cudaMemcpyAsync(hypre_CSRMatrixData(block), views[k].values, n * sizeof(HYPRE_Complex), cudaMemcpyDeviceToDevice, stream));
    }
  }
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* hypre's matrix with all that is needed for products. The caller destroys it after an error, too. Collective. */
static PetscErrorCode CreateParCSR(Mat A, const DCSRView views[2], MPI_Comm comm, hypre_ParCSRMatrix **matrix)
{
  HYPRE_BigInt   rows[] = {A->rmap->rstart, A->rmap->rend}, columns[] = {A->cmap->rstart, A->cmap->rend};
  const PetscInt num_ghosts = views[1].row_offsets != NULL ? MatMPIAIJCUDANumGhosts(A) : 0;

  PetscFunctionBegin;
  *matrix = hypre_ParCSRMatrixCreate(comm, A->rmap->N, A->cmap->N, rows, columns, num_ghosts, (HYPRE_Int)views[0].num_nonzeros, (HYPRE_Int)views[1].num_nonzeros);
  PetscCallHYPRE(hypre_ParCSRMatrixInitialize_v2(*matrix, HYPRE_MEMORY_DEVICE));
  for (PetscInt k = 0; k < num_ghosts; k++) hypre_ParCSRMatrixColMapOffd(*matrix)[k] = ((Mat_MPIAIJ *)A->data)->garray[k];
  PetscCall(Fill(views, *matrix, PETSC_TRUE));
  PetscCallHYPRE(hypre_MatvecCommPkgCreate(*matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The MATHYPRE has PETSc's communicator, hypre's matrix in it the one for hypre. It belongs to the MATHYPRE from then on. */
static PetscErrorCode Wrap(Mat A, Origin *o, Mat *H)
{
  PetscFunctionBegin;
  hypre_ParCSRMatrixComm(o->matrix) = PetscObjectComm((PetscObject)A);
  PetscCallHYPRE(HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE)); // where a new MATHYPRE is
  PetscCall(MatCreateFromParCSR(o->matrix, MATHYPRE, PETSC_OWN_POINTER, H));
  hypre_ParCSRMatrixComm(o->matrix) = o->hypre_comm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAConvertHYPREDevice - Makes a MATHYPRE on the device; NULL, on all processes, when hypre's numbers are too small or too wide for it. Collective.

  The values of A are on the device; the hypre of this PETSc computes there, and is initialized. Costs the matrix read and written once; a message to each neighbor.
*/
PetscErrorCode MatAIJCUDAConvertHYPREDevice(Mat A, Mat *H)
{
  const MPI_Comm comm   = PetscObjectComm((PetscObject)A);
  Origin        *o      = NULL;
  PetscBool      narrow = PETSC_TRUE;
  DCSRView       views[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *H = NULL;
  PetscCall(GetViews(A, views));
  for (int k = 0; k < 2; k++) narrow = (PetscBool)(narrow && !views[k].wide && sizeof(HYPRE_Int) == sizeof(int32_t));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &narrow, 1, MPI_C_BOOL, MPI_LAND, comm));
  if (!narrow) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&o));
  o->petsc_comm = comm;
  o->hypre_comm = MPI_COMM_NULL;
  PetscCallGoto(ierr, failed, PetscCommGetComm(comm, &o->hypre_comm));
  PetscCallGoto(ierr, failed, MatAIJCUDAPatternCreate(A, NULL, &o->pattern));
  PetscCallGoto(ierr, failed, CreateParCSR(A, views, o->hypre_comm, &o->matrix));
  for (int k = 0; k < 2; k++) o->values[k] = hypre_CSRMatrixData(GetBlock(o->matrix, k));
  PetscCallGoto(ierr, failed, Wrap(A, o, H));
  PetscCall(PetscSparseCUDACompose((PetscObject)*H, origin_key, o, OriginDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (o->matrix != NULL && *H == NULL) (void)hypre_ParCSRMatrixDestroy(o->matrix);
  PetscCall(MatDestroy(H));
  PetscCall(OriginDestroy((PetscCtxRt)&o));
  PetscFunctionReturn(ierr);
}

/*
  MatAIJCUDARefillHYPREDevice - Writes values into a MATHYPRE; *ours: whether MatAIJCUDAConvertHYPREDevice() made it. Collective.

  *done: whether H has the values of A now: it is ours, has the pattern of A, and is on the device like A.
  Costs the matrix read and its values written once, the pattern of A read once.
*/
PetscErrorCode MatAIJCUDARefillHYPREDevice(Mat A, Mat H, PetscBool *ours, PetscBool *done)
{
  Origin             *o = NULL;
  PetscMemType        type;
  hypre_ParCSRMatrix *matrix;
  DCSRView            views[2];
  Mat                 blocks[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)H, origin_key, &o));
  *ours = (PetscBool)(o != NULL);
  *done = PETSC_FALSE;
  if (!*ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetCurrentMemType(A, &type));
  PetscCall(MatHYPREGetParCSR(H, &matrix));
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  *done = (PetscBool)(PetscMemTypeDevice(type) && matrix == o->matrix && hypre_ParCSRMatrixMemoryLocation(matrix) == HYPRE_MEMORY_DEVICE);
  for (int k = 0; k < 2 && *done; k++) *done = (PetscBool)(hypre_CSRMatrixData(GetBlock(matrix, k)) == o->values[k]);
  for (int k = 0; k < 2 && blocks[k] != NULL && *done; k++) PetscCall(MatAIJCUDAHasPattern(A, k, o->pattern, done));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, done, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetViews(A, views));
  PetscCall(Fill(views, matrix, PETSC_FALSE));
  PetscCall(PetscObjectStateIncrease((PetscObject)H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else

PetscErrorCode MatAIJCUDAConvertHYPREDevice(PETSC_UNUSED Mat A, Mat *H)
{
  PetscFunctionBegin;
  *H = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAIJCUDARefillHYPREDevice(PETSC_UNUSED Mat A, PETSC_UNUSED Mat H, PetscBool *ours, PetscBool *done)
{
  PetscFunctionBegin;
  *ours = PETSC_FALSE;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
