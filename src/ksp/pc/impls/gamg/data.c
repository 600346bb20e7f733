/*
  The near null space of the level under way. It stays on the device, where prolongators are made; PETSc's code, which has it on the host, gets a copy where it reads or moves it.
*/
#include "gamg.h"
#include <petscdm.h>
#include <petscsparsecuda/record.h>
#include <petscsparsecuda/report.h>
#include <petscsparsecuda/tentative.h>

/* With this name a null space keeps the copy of its vectors. */
#define KEPT_KEY "PetscSparseCUDA near null space"

typedef struct {
  PetscReal        *data;     /* [vectors][num_rows] device, owned */
  PetscInt          num_rows; /* of this process */
  PetscObjectState *states;   /* [vectors but the constant one] owned: of the vectors when they were copied */
} KeptVectors;

/* Whether PETSc's code can be left out: what it does with data on the host needs them there. PETSc's setup asks single processes, too. */
static PetscErrorCode CanStayOnDevice(PC pc, Mat A, PetscBool *can)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  *can = (PetscBool)((seq || mpi) && A->assembled && !A->boundtocpu && GAMGGet(pc)->injection_index_size == 0 && A->rmap->bs > 0 && A->rmap->n % A->rmap->bs == 0);
  if (*can && seq) *can = (PetscBool)!MatSeqAIJCUDAGet(A)->no_device;
  if (*can && mpi) *can = (PetscBool)!MatMPIAIJCUDAGet(A)->no_device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space of the matrix, or the one that the first field of a DM has; NULL: none. */
static PetscErrorCode GetNearNullSpace(PC pc, Mat A, MatNullSpace *space)
{
  DM          dm;
  PetscInt    num_fields = 0;
  PetscObject field      = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(A, space));
  if (*space != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetDM(pc, &dm));
  if (dm == NULL) PetscCall(MatGetDM(A, &dm));
  if (dm != NULL) PetscCall(DMGetNumFields(dm, &num_fields));
  if (num_fields > 0) PetscCall(DMGetField(dm, 0, NULL, &field));
  if (field != NULL) PetscCall(PetscObjectQuery(field, "nearnullspace", (PetscObject *)space));
  if (field != NULL && *space == NULL) PetscCall(PetscObjectQuery(field, "nullspace", (PetscObject *)space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGFreeData - Frees the near null space on the device, or forgets that it is constant or who keeps it. */
PetscErrorCode GAMGFreeData(GAMGContext *context)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  context->constant      = PETSC_FALSE;
  context->num_data_rows = 0;
  if (context->data_is_kept) context->data = NULL;
  context->data_is_kept = PETSC_FALSE;
  if (context->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree(&context->data, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The real part of a vector of any memory type. */
static PetscErrorCode SetVector(Mat A, Vec x, PetscReal vector[], cudaStream_t stream)
{
  const PetscInt n      = A->rmap->n;
  HostVecBuffer  buffer = {NULL, 0};
  DeviceArray    array;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&array, 1));
  ierr = GetDeviceArray(A, x, n, ARRAY_READ, &buffer, stream, &array);
  if (ierr == PETSC_SUCCESS) ierr = DCSRTentativeSetRealPart(n, array.device, vector, stream);
  ierr = RestoreDeviceArray(&array, stream, ierr);
  PetscCall(PetscSparseCUDAFree(&buffer.array, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors of a null space, [first + n][rows] on the device, owned by the caller, also after an error. */
static PetscErrorCode CopyVectors(Mat A, PetscBool has_constant, PetscInt n, const Vec vectors[], cudaStream_t stream, PetscReal **data)
{
  const size_t   m     = (size_t)A->rmap->n;
  const PetscInt first = has_constant ? 1 : 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)(first + n) * m, "near null space", stream, data));
  if (m == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (has_constant) PetscCall(DCSRTentativeSetOnes(A->rmap->n, *data, stream));
  for (PetscInt k = 0; k < n; k++) PetscCall(SetVector(A, vectors[k], *data + (size_t)(first + k) * m, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyKept(PetscCtxRt data)
{
  KeptVectors **k = (KeptVectors **)data;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscSparseCUDAReleaseUnused(PETSC_TRUE);
  PetscCall(PetscSparseCUDAFree(&(*k)->data, stream));
  PetscSparseCUDAReleaseUnused(PETSC_FALSE);
  PetscCall(PetscFree((*k)->states));
  PetscCall(PetscFree(*k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether nothing but operations of PETSc changes the vectors, all of which are on the host: those that MatNullSpaceCreateRigidBody() makes. */
static PetscErrorCode CanKeep(PetscInt n, const Vec vectors[], PetscBool *can)
{
  PetscFunctionBegin;
  *can = (PetscBool)(n > 0);
  for (PetscInt i = 0; i < n && *can; i++) PetscCall(VecOwnsHostArray(vectors[i], can));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a copy, or none when NULL, has the values that the vectors have. PETSc locks them, and who has unlocked them may change them. */
static PetscErrorCode IsCurrent(const KeptVectors *k, PetscInt num_rows, PetscInt n, const Vec vectors[], PetscBool *current)
{
  PetscObjectState state;

  PetscFunctionBegin;
  *current = (PetscBool)(k != NULL && k->num_rows == num_rows);
  for (PetscInt i = 0; i < n && *current; i++) {
    PetscCall(PetscObjectStateGet((PetscObject)vectors[i], &state));
    *current = (PetscBool)(state == k->states[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new copy that the null space keeps. */
static PetscErrorCode Keep(Mat A, MatNullSpace space, PetscBool has_constant, PetscInt n, const Vec vectors[], cudaStream_t stream, KeptVectors **kept)
{
  KeptVectors   *k;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *kept = NULL;
  PetscCall(PetscNew(&k));
  k->num_rows = A->rmap->n;
  PetscCallGoto(ierr, failed, PetscMalloc1(n, &k->states));
  for (PetscInt i = 0; i < n; i++) PetscCallGoto(ierr, failed, PetscObjectStateGet((PetscObject)vectors[i], &k->states[i]));
  PetscCallGoto(ierr, failed, CopyVectors(A, has_constant, n, vectors, stream, &k->data));
  PetscCallGoto(ierr, failed, PetscSparseCUDACompose((PetscObject)space, KEPT_KEY, k, DestroyKept));
  *kept = k;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DestroyKept((PetscCtxRt)&k));
  PetscFunctionReturn(ierr);
}

/* The vectors of a null space, on the device. A copy of those on the host, which takes a tenth of a setup, is kept; each process does so for itself. */
static PetscErrorCode SetVectors(Mat A, MatNullSpace space, PetscBool has_constant, PetscInt n, const Vec vectors[], cudaStream_t stream, GAMGContext *context)
{
  KeptVectors *kept;
  PetscBool    can, current;

  PetscFunctionBegin;
  context->num_data_rows = A->rmap->n;
  PetscCall(CanKeep(n, vectors, &can));
  if (!can || A->rmap->n == 0) {
    PetscCall(CopyVectors(A, has_constant, n, vectors, stream, &context->data));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectContainerQuery((PetscObject)space, KEPT_KEY, &kept));
  PetscCall(IsCurrent(kept, A->rmap->n, n, vectors, &current));
  if (!current) PetscCall(Keep(A, space, has_constant, n, vectors, stream, &kept));
  context->data         = kept->data;
  context->data_is_kept = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Constant components. */
static PetscErrorCode SetComponents(Mat A, cudaStream_t stream, GAMGContext *context)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)A->rmap->bs * (size_t)A->rmap->n, "near null space", stream, &context->data));
  context->num_data_rows = A->rmap->n;
  PetscCall(DCSRTentativeSetComponents(A->rmap->n, A->rmap->bs, context->data, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space is on the device, or it is the vector of ones of single unknowns. */
static PetscErrorCode SetData(Mat A, MatNullSpace space, GAMGContext *context, PetscInt *num_vectors)
{
  PetscBool    has_constant = PETSC_FALSE;
  PetscInt     n            = 0;
  const Vec   *vectors      = NULL;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (space != NULL) PetscCall(MatNullSpaceGetVecs(space, &has_constant, &n, &vectors));
  *num_vectors      = space != NULL ? n + (has_constant ? 1 : 0) : A->rmap->bs;
  context->constant = (PetscBool)(A->rmap->bs == 1 && n == 0 && (has_constant || space == NULL));
  if (context->constant || *num_vectors == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (space != NULL) PetscCall(SetVectors(A, space, has_constant, n, vectors, stream, context));
  else PetscCall(SetComponents(A, stream, context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCreateDefaultData - The near null space of the finest level, when the program has given no coordinates
  PC_GAMG has no data afterwards, also after an error, and PETSc's setup asks for default data each time then. Interpolation that is not reused makes PETSc keep a copy of the first near null space; so
  that it stays the first, that copy is made as ever, but for constants, which are the same each time.
  Cost: a copy of the near null space on the device, nothing for the vector of ones. The copy of vectors on the host, 48 bytes a row for rigid body modes, stays with the null space for later setups.
  Data for an injection, and matrices that are not on the device, go to PETSc's operation.
*/
PetscErrorCode GAMGCreateDefaultData(PC pc, Mat A)
{
  PC_GAMG       *gamg = GAMGGet(pc);
  GAMGContext   *context;
  MatNullSpace   space       = NULL;
  PetscInt       num_vectors = 0;
  PetscBool      device      = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGFreeData(context));
  PetscCall(CanStayOnDevice(pc, A, &device));
  device = (PetscBool)(device && context->device_setup);
  if (device) PetscCall(GetNearNullSpace(pc, A, &space));
  if (!device || (space != NULL && !gamg->reuse_prol)) {
    PetscCall((*context->parent.createdefaultdata)(pc, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscFree(gamg->data));
  gamg->data_sz = 0; // that of the last setup's coarsest level
  PetscCallGoto(ierr, failed, SetData(A, space, context, &num_vectors));
  gamg->data_cell_cols = num_vectors;
  gamg->data_cell_rows = A->rmap->bs;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(GAMGFreeData(context));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the near null space is on the device it becomes PC_GAMG's; on this process. After an error PCSetUp() frees what PC_GAMG has. */
static PetscErrorCode CopyToHost(PC_GAMG *gamg, GAMGContext *context)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (context->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc1(gamg->data_sz, &gamg->data));
  PetscCallReported(REPORT_PC, NULL, PetscSparseCUDACopyToHost(gamg->data, context->data, (size_t)gamg->data_sz * sizeof(*gamg->data), stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)((size_t)gamg->data_sz * sizeof(*gamg->data))));
  PetscCall(GAMGFreeData(context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCoarseDataToHost - Gives PETSc's code the near null space of a coarse level, which the prolongator to it has left on the device. Collective on comm: all who have the level, or one alone
  Nothing is done when it is there. All have an error when one has. Cost: a copy of it, and a reduction.
*/
PetscErrorCode GAMGCoarseDataToHost(PC pc, MPI_Comm comm)
{
  GAMGContext   *context;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (!context->data_is_coarse) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = CopyToHost(GAMGGet(pc), context);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGDataToHost - Gives PETSc's code the near null space of a level that is not supported, whose matrix is A. Nothing is done when it is there. */
PetscErrorCode GAMGDataToHost(PC pc, Mat A)
{
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (GAMGGet(pc)->current_level == 0 && GAMGGet(pc)->data == NULL) PetscCall((*context->parent.createdefaultdata)(pc, A));
  PetscCall(GAMGCoarseDataToHost(pc, PetscObjectComm((PetscObject)pc)));
  PetscCall(GAMGFreeData(context));
  PetscFunctionReturn(PETSC_SUCCESS);
}
