/*
  Host code of PETSc that reads the arrays of a MATAIJ without asking, and in front of which nothing of ours can be put: no operation of the matrix, no composed function,
  no registered constructor. PETSc announces it to log handlers, with the objects, so we listen in their positions and bring the host copies up to date. We are no log handler:
  PETSc has four positions, and a program may need them all.

  - MatCreateMPIAIJSumSeqAIJ() sends i and j of the sequential matrices. They keep their structure on the host from then on.
  - Products with MAT_STRUCTURE_ONLY are done by MATSEQAIJ's own code, whatever the type of the operands is. So are the values of products of MATAIJ, also when an operand has become ours since.
  - MatMPIAIJGetLocalMat(), MatMPIAIJGetLocalMatMerge() and what products and PCBDDC gather by rows read the blocks of a parallel matrix. Large ones have no structure on the host before.
  - MATMAIJ multiplies with, and is converted from, the arrays of the matrix that it was made of: once one is met, it asks for them (maij.c).

  Products of a MATAIJ on the host with vectors on the device are announced, too: PETSc copies these, and nobody but -mat_dcsr_report says so.

  Only an event that is active is announced: -log_exclude mat, and a PETSc configured with --with-log=0, leave these readers with -mat_dcsr_host_structure eager, which does for all but MATMAIJ.
*/
#include "host.h"
#include "../core/core.h"

#if PetscDefined(USE_LOG)
  #include <petscsparsecuda/report.h>
  #include "../../../../petsc/vec.h"

/* What the code behind an event reads, by way of its first object. */
typedef enum {
  EVENT_OTHER,
  EVENT_SUM,       /* the structure of a sequential matrix */
  EVENT_SUM_PHASE, /* the same, which it got hold of before the event */
  EVENT_PRODUCT,   /* operands of the product that the object is the result of */
  EVENT_BLOCKS,    /* the blocks of parallel matrices, which are the first two objects */
  EVENT_MULTIPLY,  /* the matrix below a MATMAIJ; a vector, which is the second object */
  EVENT_CONVERT    /* the matrix below a MATMAIJ */
} EventKind;

/* What converts it was chosen before the event. */
static PetscErrorCode BeginConvert(Mat M)
{
  PetscBool maij;

  PetscFunctionBegin;
  PetscCall(MatMAIJPrepare_AIJCUDA(M));
  PetscCall(MatMAIJShowMatrixBelow_AIJCUDA(M, &maij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether C is a MATAIJ, no matrix of ours, and X has data of that kind. */
static PetscErrorCode IsForeignAndAlike(Mat C, Mat X, PetscBool *is)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(C, &seq));
  PetscCall(MatIsMPIAIJCUDA(C, &mpi));
  *is = PETSC_FALSE;
  if (!seq && !mpi) PetscCall(MatOperandsAlike(C, X, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operand of a product of matrices. Products of ours need no help with matrices of ours; those of a MATAIJ that PETSc computes may have operands that have become ours since. */
static PetscErrorCode BeginOperand(Mat C, Mat operand)
{
  PetscBool maij, reads;

  PetscFunctionBegin;
  if (operand == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMAIJPrepare_AIJCUDA(operand));
  PetscCall(MatMAIJShowMatrixBelow_AIJCUDA(operand, &maij));
  if (maij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(IsForeignAndAlike(C, operand, &reads));
  if (C->structure_only) PetscCall(MatAIJCUDAShowToReader(operand, HOST_READ_STRUCTURE));
  else if (reads) PetscCall(MatAIJCUDAShowToReader(operand, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BeginProduct(Mat C)
{
  PetscFunctionBegin;
  if (C->product == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BeginOperand(C, C->product->A));
  PetscCall(BeginOperand(C, C->product->B));
  PetscCall(BeginOperand(C, C->product->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreateMPIAIJSumSeqAIJ(), or, with phase, one of the functions that it consists of. */
static PetscErrorCode BeginSum(Mat A, PetscBool phase)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(
    !phase || A->rmap->n == 0 || ((Mat_SeqAIJ *)A->data)->i != NULL, PETSC_COMM_SELF, PETSC_ERR_SUP,
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

/* A line of -mat_dcsr_report about the vectors of a product. */
static PetscErrorCode ReportMultiply(Mat A, Vec x)
{
  PetscMemType memory;
  PetscBool    seq, mpi;

  PetscFunctionBegin;
  if (!PetscSparseCUDAReportActive() || x == NULL || !VecIsOnDevice(x)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCall(MatGetCurrentMemType(A, &memory));
  if ((seq || mpi) && PetscMemTypeHost(memory)) PetscCall(PetscSparseCUDAReportLine("product of a %s on the host with a vector on the device, which PETSc copies", ((PetscObject)A)->type_name));
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
    X(MAT_MatMultNumeric, EVENT_PRODUCT) \
    X(MAT_TransposeMatMultNumeric, EVENT_PRODUCT) \
    X(MAT_MatTransposeMultNumeric, EVENT_PRODUCT) \
    X(MAT_PtAPNumeric, EVENT_PRODUCT) \
    X(MAT_RARtNumeric, EVENT_PRODUCT) \
    X(MAT_MatMatMultNumeric, EVENT_PRODUCT) \
    X(MAT_Mult, EVENT_MULTIPLY) \
    X(MAT_MultAdd, EVENT_MULTIPLY) \
    X(MAT_MultTranspose, EVENT_MULTIPLY) \
    X(MAT_MultTransposeAdd, EVENT_MULTIPLY) \
    X(MAT_Convert, EVENT_CONVERT)

static EventKind    *kinds     = NULL; /* [num_kinds] by event */
static PetscLogEvent num_kinds = 0;

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

static PetscErrorCode Serve(EventKind kind, PetscObject first, PetscObject second)
{
  PetscFunctionBegin;
  if (kind == EVENT_SUM || kind == EVENT_SUM_PHASE) PetscCall(BeginSum((Mat)first, (PetscBool)(kind == EVENT_SUM_PHASE)));
  else if (kind == EVENT_BLOCKS) {
    PetscCall(BeginBlocks(first));
    PetscCall(BeginBlocks(second));
  } else if (kind == EVENT_PRODUCT) PetscCall(BeginProduct((Mat)first));
  else if (kind == EVENT_MULTIPLY) {
    PetscCall(MatMAIJPrepare_AIJCUDA((Mat)first));
    PetscCall(ReportMultiply((Mat)first, (Vec)second));
  } else PetscCall(BeginConvert((Mat)first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*EventFn)(PetscLogHandler, PetscLogEvent, PetscObject, PetscObject, PetscObject, PetscObject);

/*
  Where PETSc's positions for log handlers are ours: each calls EventBegin(), which calls the function that was there, if any. A position without a handler stays free for PetscLogHandlerStart(), which
  overwrites what is ours; PetscLogHandlerStop() clears it. So positions are taken again by every event that begins, which any position that is still ours tells of, and by assemblies.
*/
static EventFn handler_begin[PETSC_LOG_HANDLER_MAX];

static PetscErrorCode EventBegin(PetscLogHandler, PetscLogEvent, PetscObject, PetscObject, PetscObject, PetscObject);

/* Takes the positions that are not ours; after StopListening() nothing. */
static void Attach(void)
{
  for (int k = 0; kinds != NULL && k < PETSC_LOG_HANDLER_MAX; k++) {
    PetscLogHandlerHot *position = &PetscLogHandlers[k];

    if (position->eventBegin == EventBegin) continue;
    handler_begin[k]     = position->eventBegin;
    position->eventBegin = EventBegin;
  }
}

/* Every event that begins in the program comes here, once for each position: those that are not ours cost a look into the table and at the positions. */
static PetscErrorCode EventBegin(PetscLogHandler handler, PetscLogEvent event, PetscObject first, PetscObject second, PetscObject third, PetscObject fourth)
{
  const EventKind kind = event < num_kinds ? kinds[event] : EVENT_OTHER;

  PetscFunctionBegin;
  if (handler != NULL) {
    for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++)
      if (PetscLogHandlers[k].handler == handler && handler_begin[k] != NULL) PetscCall((*handler_begin[k])(handler, event, first, second, third, fourth));
  }
  if (PetscUnlikely(kind != EVENT_OTHER && first != NULL)) PetscCall(Serve(kind, first, second));
  Attach();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StopListening(void)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(kinds));
  num_kinds = 0;
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++)
    if (PetscLogHandlers[k].eventBegin == EventBegin) PetscLogHandlers[k].eventBegin = handler_begin[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StartListening(void)
{
  PetscFunctionBegin;
  if (kinds != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateKinds());
  Attach();
  PetscCall(PetscRegisterFinalize(StopListening));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* MatAIJCUDAListens - Whether all events that matter to us are active in the stage of now; from now on they come here. */
PetscBool MatAIJCUDAListens(void)
{
  PetscBool listens = PETSC_FALSE;

#if PetscDefined(USE_LOG)
  #define IS_ACTIVE(event, kind) listens = (PetscBool)(listens && PetscLogStateEventCurrentlyActive(petsc_log_state, event));
  Attach();
  listens = (PetscBool)(kinds != NULL);
  EVENTS(IS_ACTIVE)
  #undef IS_ACTIVE
#endif
  return listens;
}

/*
  MatAIJCUDAListen - Prepares matrices of ours, from now on, for readers that PETSc announces to log handlers; part of PetscSparseCUDAInitialize(). Collective on PETSC_COMM_WORLD.

  It ends with PetscFinalize(). The program can start PETSC_LOG_HANDLER_MAX log handlers, before it and after it. But as many that are started, or stopped, with no event between them take all positions
  unseen; the next assembly on several processes takes these back.
  Costs a look into a table, and at the positions for log handlers, for every event that begins and each of these positions.
*/
PetscErrorCode MatAIJCUDAListen(void)
{
  PetscFunctionBegin;
#if PetscDefined(USE_LOG)
  PetscCall(StartListening());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
