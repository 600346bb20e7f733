/*
  The tentative prolongator of a level, and the near null space of the next one. Its structure and values are made on the device. Processes exchange what belongs to aggregates that
  reach over their borders.
*/
#include "prolongator.h"
#include <petscsparsecuda/common.h>
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda/report.h>

/* What is made on the way. */
typedef struct {
  Mat              A; /* of the level, borrowed */
  PetscInt         row_block, num_columns;
  PetscBool        constant; /* single unknowns and the vector of ones */
  DCSRAggregation  a;
  PetscInt         num_foreign; /* vertices of this process with roots on others */
  cudaStream_t     stream;
  int32_t         *numbers;   /* [num_vertices] device, owned */
  int32_t         *positions; /* [num_vertices + 1] device, owned: of vertices with roots of this process */
  const PetscReal *data;      /* [num_columns][rows] device, borrowed; NULL for constant and without rows */
  PetscReal       *uploaded;  /* the same, owned, when it was on the host; else NULL */
  PetscReal       *packed;    /* [num_foreign][row_block][num_columns] device, exportable, owned: rows for others; NULL when none travel */
  PetscReal       *received;  /* [foreign.members.num][row_block][num_columns] device, exportable, owned: rows of others; the same */
  PetscScalar     *returned;  /* the same for Q */
  PetscScalar     *arrived;   /* rows of Q, as packed */
  int32_t         *counts[2]; /* device, owned: sizes of aggregates, [num_roots], and [num_foreign] of those elsewhere; NULL unless constant */
  ForeignMembers   foreign;
  DCSRMembers      members;
  DCSRView         blocks[2]; /* diagonal and off-diagonal, owned; the second one has global columns */
  PetscReal       *coarse;    /* [num_columns][num_roots * num_columns] device, owned: R */
} Tentative;

static PetscErrorCode Destroy(Tentative *t)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&t->numbers, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->positions, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->uploaded, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->packed, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->received, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->returned, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->arrived, t->stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&t->counts[k], t->stream));
    PetscCall(DCSRViewFree(&t->blocks[k], t->stream));
  }
  PetscCall(ForeignMembersDestroy(&t->foreign, t->stream));
  PetscCall(DCSRMembersDestroy(&t->members, t->stream));
  PetscCall(PetscSparseCUDAFree(&t->coarse, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes, and whether this process can do with the vector of ones. */
static PetscErrorCode SetUp(PC pc, Mat A, const GAMGAggregates *aggregates, Tentative *t)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  GAMGContext   *context;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(t, 1));
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(PetscSparseCUDAGetStream(&t->stream));
  PetscCall(MatGetBlockSize(A, &t->row_block));
  t->A           = A;
  t->num_columns = gamg->data_cell_cols;
  t->constant    = (PetscBool)(A->rmap->n == 0 || (context->constant && gamg->data == NULL));
  t->num_foreign = aggregates->num_remote;
  t->a           = (DCSRAggregation){aggregates->num_vertices, aggregates->begin, aggregates->num_roots, aggregates->parent, aggregates->first, aggregates->by_number};
  PetscCheck(t->num_columns >= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The near null space of level %" PetscInt_FMT " has no vectors", gamg->current_level);
  PetscCheck(t->a.num_vertices * t->row_block == A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%" PetscInt_FMT " vertices of the graph with %" PetscInt_FMT " rows each for %" PetscInt_FMT " rows of the matrix", t->a.num_vertices, t->row_block, A->rmap->n);
  PetscCheck((PetscInt64)t->a.num_roots * t->num_columns <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " aggregates with %" PetscInt_FMT " columns each: use more processes", t->a.num_roots, t->num_columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space of the level on the device. */
static PetscErrorCode GetData(PC pc, Tentative *t)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  const PetscInt m    = t->A->rmap->n;
  const size_t   n    = (size_t)m * (size_t)t->num_columns;
  GAMGContext   *context;

  PetscFunctionBegin;
  if (t->constant || m == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGGetContext(pc, &context));
  if (gamg->data == NULL && context->data != NULL) {
    PetscCheck(context->num_data_rows == m, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A near null space of %" PetscInt_FMT " rows for a matrix of %" PetscInt_FMT, context->num_data_rows, m);
    t->data = context->data;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAMalloc(n, "near null space", t->stream, &t->uploaded));
  t->data = t->uploaded;
  if (gamg->data != NULL) {
    PetscCheck((size_t)gamg->data_sz >= n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A near null space of %" PetscInt_FMT " numbers for %" PetscInt_FMT " rows and %" PetscInt_FMT " vectors", gamg->data_sz, m,
               t->num_columns);
    PetscCallReported(REPORT_PC, NULL, PetscSparseCUDACopyToDevice(t->uploaded, gamg->data, n * sizeof(*gamg->data), t->stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(n * sizeof(*gamg->data))));
  } else {
    PetscCheck(context->constant, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No near null space for a matrix of %" PetscInt_FMT " rows", m);
    PetscCall(DCSRTentativeSetOnes(m, t->uploaded, t->stream)); // another process has the vector of ones on the host
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse numbers and positions. */
static PetscErrorCode Number(Tentative *t)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(t->a.num_vertices, "coarse numbers", t->stream, &t->numbers));
  PetscCall(PetscSparseCUDAMalloc((size_t)t->a.num_vertices + 1, "positions of vertices", t->stream, &t->positions));
  PetscCall(DCSRAggregatesNumber(t->a, t->numbers, t->stream));
  PetscCall(DCSRAggregatesPositions(t->a, DCSR_ROOT_OWN, t->positions, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocates a block for so many vertices, and fills its structure. Columns of the off-diagonal one are global. */
static PetscErrorCode CreateBlock(Tentative *t, int k, PetscInt num_columns, PetscCount num_positions)
{
  const PetscCount n = num_positions * t->row_block * t->num_columns;
  PetscBool        wide;

  PetscFunctionBegin;
  PetscCall(DCSRCheckNonzeros(n));
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCall(DCSRViewAllocateCompact(t->A->rmap->n, num_columns, n, wide, t->stream, &t->blocks[k]));
  if (k == 0) PetscCall(DCSRTentativeStructure(t->a, DCSR_ROOT_OWN, t->positions, t->numbers, t->row_block, t->num_columns, t->stream, t->blocks[0]));
  else if (t->foreign.positions != NULL) PetscCall(DCSRTentativeStructure(t->a, DCSR_ROOT_FOREIGN, t->foreign.positions, t->foreign.numbers, t->row_block, t->num_columns, t->stream, t->blocks[1]));
  else PetscCallCUDA(cudaMemsetAsync(t->blocks[1].row_offsets, 0, ((size_t)t->A->rmap->n + 1) * (wide ? sizeof(int64_t) : sizeof(int32_t)), t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of aggregates. */
static PetscErrorCode CountMembers(Tentative *t)
{
  const PetscInt n = t->a.num_roots;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "sizes of aggregates", t->stream, &t->counts[0]));
  PetscCall(PetscSparseCUDAMalloc(t->num_foreign, "sizes of aggregates", t->stream, &t->counts[1]));
  if (n > 0) PetscCallCUDA(cudaMemsetAsync(t->counts[0], 0, (size_t)n * sizeof(*t->counts[0]), t->stream));
  PetscCall(DCSRAggregatesCount(t->a, t->numbers, t->counts[0], t->stream));
  PetscCall(DCSRAggregatesCountForeign(t->foreign.members.num, t->foreign.aggregates, t->counts[0], t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block for the vector of ones, and R. */
static PetscErrorCode FillConstant(Tentative *t)
{
  int32_t num_positions;

  PetscFunctionBegin;
  PetscCall(CountMembers(t));
  PetscCall(PetscSparseCUDACopyToHost(&num_positions, t->positions + t->a.num_vertices, sizeof(num_positions), t->stream));
  PetscCall(CreateBlock(t, 0, t->a.num_roots, num_positions));
  PetscCall(DCSRTentativeConstant(t->a, DCSR_ROOT_OWN, t->positions, t->numbers, t->counts[0], t->blocks[0].values, t->stream));
  PetscCall(DCSRTentativeConstantCoarse(t->a.num_roots, t->counts[0], t->coarse, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block for any near null space, the rows of Q that others get, and R. */
static PetscErrorCode FillFactors(Tentative *t)
{
  PetscFunctionBegin;
  PetscCall(DCSRAggregatesSort(t->a, t->numbers, t->foreign.members, t->stream, &t->members));
  PetscCall(CreateBlock(t, 0, t->a.num_roots * t->num_columns, t->members.num_members - t->foreign.members.num));
  PetscCall(
    DCSRTentativeFactor((DCSRTentative){t->a.num_vertices, t->row_block, t->num_columns, t->data, t->received, t->positions, t->blocks[0].values, t->returned, t->coarse}, &t->members, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block and R. */
static PetscErrorCode Fill(Tentative *t)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)t->a.num_roots * (size_t)t->num_columns * (size_t)t->num_columns, "near null space of the next level", t->stream, &t->coarse));
  PetscCallGpuTimeGoto(ierr, done, t->constant ? FillConstant(t) : FillFactors(t));
done:
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R becomes the near null space of the next level. */
static PetscErrorCode SetCoarseData(PC pc, Tentative *t)
{
  PC_GAMG     *gamg = GAMGGet(pc);
  GAMGContext *context;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGFreeData(context));
  PetscCall(PetscFree(gamg->data));
  gamg->data_cell_rows    = t->num_columns;
  gamg->data_sz           = t->num_columns * t->num_columns * t->a.num_roots;
  context->num_data_rows  = t->num_columns * t->a.num_roots;
  context->data           = t->coarse;
  t->coarse               = NULL;
  context->data_is_coarse = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there is a next level. */
static PetscErrorCode TellSize(PC pc, PetscInt num_aggregates)
{
  PetscFunctionBegin;
  if (num_aggregates > 0) PetscCall(PetscInfo(pc, "%s: New grid %" PetscInt_FMT " nodes\n", ((PetscObject)pc)->prefix, num_aggregates));
  else PetscCall(PetscInfo(pc, "%s: No selected points on coarse grid\n", ((PetscObject)pc)->prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSequential(PC pc, Tentative *t, Mat *P)
{
  PetscFunctionBegin;
  PetscCall(TellSize(pc, t->a.num_roots));
  if (t->a.num_roots == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetData(pc, t));
  PetscCall(Number(t));
  PetscCall(Fill(t));
  PetscCall(MatSeqAIJCUDACreateFromView(t->A, t->row_block, t->num_columns, &t->blocks[0], P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Data of this process and what it has for others. */
static PetscErrorCode Prepare(PC pc, Tentative *t)
{
  PetscFunctionBegin;
  PetscCall(GetData(pc, t));
  PetscCall(Number(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Buffers for rows that travel, and those for others. */
static PetscErrorCode PackRows(Tentative *t)
{
  const size_t n = (size_t)t->row_block * (size_t)t->num_columns;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMallocExportable((size_t)t->num_foreign * n, "rows for other processes", t->stream, &t->packed));
  PetscCall(PetscSparseCUDAMallocExportable((size_t)t->foreign.members.num * n, "rows of other processes", t->stream, &t->received));
  PetscCall(PetscSparseCUDAMallocExportable((size_t)t->foreign.members.num * n, "rows of other processes", t->stream, &t->returned));
  PetscCall(PetscSparseCUDAMallocExportable((size_t)t->num_foreign * n, "rows for other processes", t->stream, &t->arrived));
  PetscCall(DCSRTentativePackData(t->num_foreign, t->foreign.vertices, t->A->rmap->n, t->row_block, t->num_columns, t->data, t->packed, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What reaches over borders, before the blocks are made. Collective. */
static PetscErrorCode Gather(Tentative *t, PetscLayout coarse)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ForeignMembersCreate(t->A, t->row_block, t->a, t->num_foreign, t->numbers, coarse, t->num_columns, (PetscBool)!t->constant, t->stream, &t->foreign));
  if (t->constant) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PackRows(t);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)t->A), ierr, &ierr));
  PetscCall(ierr);
  PetscCall(ForeignMembersGatherData(&t->foreign, t->row_block * t->num_columns, t->packed, t->received, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the off-diagonal block. Collective. */
static PetscErrorCode Scatter(Tentative *t)
{
  PetscFunctionBegin;
  if (t->constant) {
    PetscCall(ForeignMembersBcastCounts(&t->foreign, t->counts[0], t->counts[1], t->stream));
    PetscCall(DCSRTentativeConstant(t->a, DCSR_ROOT_FOREIGN, t->foreign.positions, NULL, t->counts[1], t->blocks[1].values, t->stream));
  } else PetscCall(ForeignMembersScatterValues(&t->foreign, t->row_block * t->num_columns, t->returned, t->arrived, t->blocks[1].values, t->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks, but for the values of the off-diagonal one. */
static PetscErrorCode FillBlocks(Tentative *t, PetscInt num_columns)
{
  PetscFunctionBegin;
  PetscCall(Fill(t));
  PetscCall(CreateBlock(t, 1, num_columns, t->num_foreign));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks become those of P, whose sizes are set. Collective. */
static PetscErrorCode InstallBlocks(Tentative *t, PetscErrorCode ierr, Mat P)
{
  PetscInt n       = 0;
  int32_t *columns = NULL;

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = GhostColumnsRenumber(P->cmap->N, &t->blocks[1], t->stream, &n, &columns);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)P), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = MatMPIAIJCUDAInstallBlocks(P, t->blocks, n, columns);
  PetscCall(PetscFree(columns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all processes have to know: the error of one, whether an aggregate reaches over a border, and whether a process has more than the vector of ones. Collective. */
static PetscErrorCode Agree(Tentative *t, PetscErrorCode ierr, PetscBool *across)
{
  int facts[3] = {(int)ierr, t->num_foreign > 0, !t->constant};

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, facts, 3, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)t->A)));
  PetscCall(PetscSparseCUDAErrorOfAll(facts[0], ierr));
  *across     = facts[1] ? PETSC_TRUE : PETSC_FALSE;
  t->constant = facts[2] ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillParallel(PC pc, Tentative *t, PetscBool across, Mat P)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)P);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = Prepare(pc, t);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCall(ierr);
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_PROLA], 0, 0, 0, 0));
  if (across) ierr = Gather(t, P->cmap);
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_PROLA], 0, 0, 0, 0));
  if (ierr == PETSC_SUCCESS) ierr = FillBlocks(t, P->cmap->N);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCall(ierr);
  if (across) ierr = Scatter(t);
  PetscCall(InstallBlocks(t, ierr, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type of A with the sizes of the prolongator. Collective. */
static PetscErrorCode CreateEmpty(const Tentative *t, Mat *P)
{
  MatType type;

  PetscFunctionBegin;
  PetscCall(MatGetType(t->A, &type));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)t->A), P));
  PetscCall(MatSetSizes(*P, t->A->rmap->n, t->a.num_roots * t->num_columns, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*P, t->row_block, t->num_columns));
  PetscCall(MatSetType(*P, type));
  PetscCall(PetscLayoutSetUp((*P)->rmap));
  PetscCall(PetscLayoutSetUp((*P)->cmap));
  PetscCheck((*P)->cmap->N <= PETSC_INT32_MAX, PetscObjectComm((PetscObject)*P), PETSC_ERR_ARG_OUTOFRANGE, "A prolongator with %" PetscInt_FMT " columns: the device has 32 bits for a column",
             (*P)->cmap->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateParallel(PC pc, Tentative *t, PetscBool across, Mat *P)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, failed, CreateEmpty(t, P));
  PetscCallGoto(ierr, failed, TellSize(pc, (*P)->cmap->N / t->num_columns));
  if ((*P)->cmap->N == 0) PetscCall(MatDestroy(P));
  else PetscCallGoto(ierr, failed, FillParallel(pc, t, across, *P));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(P);
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Create(PC pc, Mat A, const GAMGAggregates *aggregates, Mat *P)
{
  PetscBool      mpi, across = PETSC_FALSE;
  Tentative      t;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  ierr = SetUp(pc, A, aggregates, &t);
  if (mpi) ierr = Agree(&t, ierr, &across);
  if (ierr == PETSC_SUCCESS) ierr = mpi ? CreateParallel(pc, &t, across, P) : CreateSequential(pc, &t, P);
  if (ierr == PETSC_SUCCESS && *P != NULL) ierr = SetCoarseData(pc, &t);
  PetscCall(Destroy(&t));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCreateProlongator - The tentative prolongator of a level, with the values, signs and stored zeros of PETSc's. Collective
  A, the matrix of the level, is one of ours that uses the device; P is of its type. NULL: there is no aggregate on any process, and nothing has changed.
  The near null space of pc is replaced by that of the next level, on the device. Errors are on all processes when on one; the near null space is as it was then.
  Cost: for the vector of ones of single unknowns some passes over the vertices; otherwise also a radix sort of them and the factorizations. On several processes messages have
  what belongs to vertices whose roots are elsewhere.
*/
PetscErrorCode GAMGCreateProlongator(PC pc, Mat A, GAMGAggregates *aggregates, Mat *P)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *P = NULL;
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_PROL], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_PROLB], 0, 0, 0, 0));
  ierr = Create(pc, A, aggregates, P);
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_PROLB], 0, 0, 0, 0));
  if (ierr == PETSC_SUCCESS && *P != NULL) ierr = MatViewFromOptions(*P, NULL, "-pc_gamg_agg_view_initial_prolongation");
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_PROL], 0, 0, 0, 0));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
