/*
  Host code of PETSc that reads the arrays of a MATAIJ without asking, and in front of which nothing of ours can be put: no operation of the matrix, no composed function,
  no registered constructor. PETSc announces it to log handlers, with the objects, so a log handler of ours brings the mirrors up to date.

  - MatCreateMPIAIJSumSeqAIJ() sends i and j of the sequential matrices. They keep their structure on the host from then on.
  - Products with MAT_STRUCTURE_ONLY are done by MATSEQAIJ's own code, whatever the type of the operands is.
  - MatMPIAIJGetLocalMat(), MatMPIAIJGetLocalMatMerge() and what products and PCBDDC gather by rows read the blocks of a parallel matrix. Those of levels of PCGAMG have no structure on the host before.
  - MATMAIJ multiplies with, and is converted from, the arrays of the matrix that it was made of. MatCreateMAIJ() sets its operations after its constructor.

  Only an event that is active is announced: -log_exclude mat, and a PETSc configured with --with-log=0, leave these readers with -mat_dcsr_host_structure eager, which does for all but MATMAIJ.
*/
#include "host.h"
#include "../core/core.h"

#if PetscDefined(USE_LOG)
  #include <petsc/private/loghandlerimpl.h>
  #include <../src/mat/impls/maij/maij.h>

/* What the code behind an event reads, by way of its first object. */
typedef enum {
  EVENT_OTHER,
  EVENT_SUM,       /* the structure of a sequential matrix */
  EVENT_SUM_PHASE, /* the same, which it got hold of before the event */
  EVENT_PRODUCT,   /* operands of the product that the object is the result of */
  EVENT_BLOCKS,    /* the blocks of parallel matrices, which are the first two objects */
  EVENT_MULTIPLY,  /* the matrix below a MATMAIJ; the second object is a vector */
  EVENT_CONVERT    /* the matrix below a MATMAIJ */
} EventKind;

static PetscInt num_maij = 0; /* MATMAIJ matrices ever created */

/* The matrix below a MATMAIJ, or NULL. */
static PetscErrorCode GetMatrixBelow(Mat M, Mat *A)
{
  PetscFunctionBegin;
  *A = NULL;
  if (num_maij == 0 || M == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMAIJGetAIJ(M, A));
  if (*A == M) *A = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsOnDevice(Vec x, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, is, VECSEQCUDA, VECMPICUDA, VECCUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a parallel MATMAIJ a ghost vector that lives where x does: PETSc 3.26 does not scatter between host and device when MPI is not GPU-aware. */
static PetscErrorCode MatchGhostVector(Mat M, Vec x)
{
  Mat_MPIMAIJ *maij = (Mat_MPIMAIJ *)M->data;
  PetscBool    parallel, device[2];
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATMPIMAIJ, &parallel));
  if (!parallel) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsOnDevice(x, &device[0]));
  PetscCall(IsOnDevice(maij->w, &device[1]));
  if (device[0] == device[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(maij->w, &n));
  PetscCall(VecDestroy(&maij->w));
  PetscCall(VecCreate(PETSC_COMM_SELF, &maij->w));
  PetscCall(VecSetSizes(maij->w, n, n));
  PetscCall(VecSetBlockSize(maij->w, maij->dof));
  PetscCall(VecSetType(maij->w, device[0] ? VECSEQCUDA : VECSEQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure and values of the matrix below a MATMAIJ. */
static PetscErrorCode ShowMatrixBelow(Mat A)
{
  PetscBool sequential;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &sequential));
  if (sequential) PetscCall(MatSeqAIJCUDAKeepStructure(A));
  PetscCall(MatAIJCUDAShowToReader(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeginMultiply(Mat M, Vec x)
{
  Mat       A;
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(GetMatrixBelow(M, &A));
  if (A == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  if (parallel) PetscCall(MatchGhostVector(M, x));
  PetscCall(ShowMatrixBelow(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeginConvert(Mat M)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetMatrixBelow(M, &A));
  if (A != NULL) PetscCall(ShowMatrixBelow(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operand of a product of matrices; products of ours need no help with matrices of ours. */
static PetscErrorCode BeginOperand(Mat operand, PetscBool structure_only)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(GetMatrixBelow(operand, &A));
  if (A != NULL) PetscCall(ShowMatrixBelow(A));
  else if (structure_only) PetscCall(MatAIJCUDAShowToReader(operand, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeginProduct(Mat C)
{
  PetscFunctionBegin;
  if (C->product == NULL || (num_maij == 0 && !C->structure_only)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BeginOperand(C->product->A, C->structure_only));
  PetscCall(BeginOperand(C->product->B, C->structure_only));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreateMPIAIJSumSeqAIJ(), or, with phase, one of the functions that it consists of. */
static PetscErrorCode BeginSum(Mat A, PetscBool phase)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!phase || A->rmap->n == 0 || ((Mat_SeqAIJ *)A->data)->i != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "MatCreateMPIAIJSumSeqAIJSymbolic() and MatCreateMPIAIJSumSeqAIJNumeric() read host arrays that a matrix of this type does not have: call MatCreateMPIAIJSumSeqAIJ(), or set -mat_dcsr_host_structure eager");
  if (!phase) PetscCall(MatSeqAIJCUDAKeepStructure(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values are asked for. */
static PetscErrorCode BeginBlocks(PetscObject object)
{
  PetscBool parallel = PETSC_FALSE;

  PetscFunctionBegin;
  if (object != NULL && object->classid == MAT_CLASSID) PetscCall(MatIsMPIAIJCUDA((Mat)object, &parallel));
  if (parallel) PetscCall(MatAIJCUDAShowToReader((Mat)object, HOST_READ_STRUCTURE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The events that matter to us, X(event, kind). */
  #define EVENTS(X) \
    X(MAT_Seqstompi, EVENT_SUM) \
    X(MAT_Seqstompisym, EVENT_SUM_PHASE) \
    X(MAT_Seqstompinum, EVENT_SUM_PHASE) \
    X(MAT_Getlocalmat, EVENT_BLOCKS) \
    X(MAT_GetBrowsOfAocols, EVENT_BLOCKS) \
    X(MAT_MatMultSymbolic, EVENT_PRODUCT) \
    X(MAT_TransposeMatMultSymbolic, EVENT_PRODUCT) \
    X(MAT_PtAPSymbolic, EVENT_PRODUCT) \
    X(MAT_PtAPNumeric, EVENT_PRODUCT) \
    X(MAT_Mult, EVENT_MULTIPLY) \
    X(MAT_MultAdd, EVENT_MULTIPLY) \
    X(MAT_MultTranspose, EVENT_MULTIPLY) \
    X(MAT_MultTransposeAdd, EVENT_MULTIPLY) \
    X(MAT_Convert, EVENT_CONVERT)

static EventKind      *kinds           = NULL; /* [num_kinds] by event */
static PetscLogEvent   num_kinds       = 0;
static PetscLogHandler listener        = NULL;
static const char      listener_type[] = "petscsparsecuda";

static PetscErrorCode CreateKinds(void)
{
  PetscFunctionBegin;
  #define LARGEST(event, kind) num_kinds = PetscMax(num_kinds, event + 1);
  #define SET(event, kind)     kinds[event] = kind;
  EVENTS(LARGEST)
  PetscCall(PetscCalloc1(num_kinds, &kinds));
  EVENTS(SET)
  #undef LARGEST
  #undef SET
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every event that begins in the program comes here: those that are not ours cost a look into the table. */
static PetscErrorCode EventBegin(PETSC_UNUSED PetscLogHandler handler, PetscLogEvent event, PetscObject first, PetscObject second, PETSC_UNUSED PetscObject third, PETSC_UNUSED PetscObject fourth)
{
  const EventKind kind = event < num_kinds ? kinds[event] : EVENT_OTHER;

  if (PetscLikely(kind == EVENT_OTHER || first == NULL)) return PETSC_SUCCESS;
  PetscFunctionBegin;
  if (kind == EVENT_SUM || kind == EVENT_SUM_PHASE) PetscCall(BeginSum((Mat)first, (PetscBool)(kind == EVENT_SUM_PHASE)));
  else if (kind == EVENT_BLOCKS) {
    PetscCall(BeginBlocks(first));
    PetscCall(BeginBlocks(second));
  } else if (kind == EVENT_PRODUCT) PetscCall(BeginProduct((Mat)first));
  else if (kind == EVENT_MULTIPLY) PetscCall(BeginMultiply((Mat)first, (Vec)second));
  else PetscCall(BeginConvert((Mat)first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListenerCreate(PetscLogHandler handler)
{
  PetscFunctionBegin;
  handler->ops->eventbegin = EventBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopListening(void)
{
  PetscFunctionBegin;
  PetscCall(PetscLogHandlerStop(listener));
  PetscCall(PetscLogHandlerDestroy(&listener));
  PetscCall(PetscFree(kinds));
  num_kinds = 0;
  num_maij  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StartListening(void)
{
  PetscBool room = PETSC_FALSE;

  PetscFunctionBegin;
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) room = (PetscBool)(room || PetscLogHandlers[k].handler == NULL);
  if (!room) PetscCall(PetscInfo(NULL, "All log handlers of PETSc are in use: MatCreateMPIAIJSumSeqAIJ() and MATMAIJ will not find the host arrays of device matrices\n"));
  if (!room || listener != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateKinds());
  PetscCall(PetscLogHandlerCreate(PETSC_COMM_WORLD, &listener));
  PetscCall(PetscLogHandlerRegister(listener_type, ListenerCreate));
  PetscCall(PetscLogHandlerSetType(listener, listener_type));
  PetscCall(PetscLogHandlerStart(listener));
  PetscCall(PetscRegisterFinalize(StopListening));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*parent_create_maij)(Mat) = NULL;

/* Counts, so that a program without MATMAIJ is not asked for it in every product. */
static PetscErrorCode MatCreate_MAIJ_AIJCUDA(Mat M)
{
  PetscFunctionBegin;
  num_maij++;
  PetscCall((*parent_create_maij)(M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RegisterMAIJ(void)
{
  const MatType types[] = {MATSEQMAIJ, MATMPIMAIJ, MATMAIJ};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscErrorCode (*create)(Mat);

    PetscCall(PetscFunctionListFind(MatList, types[k], &create));
    if (create == NULL || create == MatCreate_MAIJ_AIJCUDA) continue;
    parent_create_maij = create;
    PetscCall(MatRegister(types[k], MatCreate_MAIJ_AIJCUDA));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
  MatAIJCUDAListen - Starts the log handler that prepares matrices of ours for readers that PETSc announces; part of PetscSparseCUDAInitialize().

  Collective on PETSC_COMM_WORLD

  Note:
  It is stopped by PetscFinalize(). PETSc has room for PETSC_LOG_HANDLER_MAX log handlers; without room nothing is started, which -info tells.

  Cost: a look into a table for every event that begins.
*/
PetscErrorCode MatAIJCUDAListen(void)
{
  PetscFunctionBegin;
#if PetscDefined(USE_LOG)
  PetscCall(StartListening());
  PetscCall(RegisterMAIJ());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
