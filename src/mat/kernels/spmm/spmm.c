/*
  Sparse times dense, Y = A X, tile by tile of at most 32 columns: plans, tiles, and where they read X. The kernels are in spmmrows.cuh and spmmlong.cu.

  Lanes over the columns of a row-major tile of X: Yang, Buluc, Owens: Design Principles for Sparse Matrix Multiplication on the GPU, Euro-Par 2018.
*/
#include "spmmimpl.h"

static PetscErrorCode PlanFill(DCSRSpMMPlan plan, DCSRView view, DCSRSpMMKind kind, cudaStream_t stream)
{
  const PetscSparseCUDATuning *tuning = NULL;
  SpMMFacts                    facts;
  size_t                       k = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  plan->rules = &tuning->spmm;
  plan->mean  = view.num_rows > 0 ? (double)view.num_nonzeros / (double)view.num_rows : 0;
  while (plan->mean > plan->rules->long_rows[k].mean) k++;
  plan->long_size = plan->rules->long_rows[k].size;
  plan->kind      = kind == DCSR_SPMM_AUTO ? DCSR_SPMM_STAGED : kind;
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpMMGetFacts(view, plan->long_size, stream, &facts));
  if (kind == DCSR_SPMM_AUTO && (PetscReal)facts.neighbors >= (PetscReal)plan->rules->direct_neighbors * (PetscReal)facts.samples) plan->kind = DCSR_SPMM_DIRECT;
  PetscCall(SpMMLongRowsCreate(view, plan->long_size, &facts, stream, &plan->long_rows));
  if (view.row_block > 1 && view.row_block <= SPMM_MAX_BLOCK_ROWS && view.column_block > 1) PetscCall(DCSRBlockListGet(view, view.row_block, view.column_block, stream, &plan->list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMMPlanCreate - reads the structure of a compact matrix and caches what products with dense matrices need
  Values are not read and may change, the structure may not. Where it consists of full blocks of the sizes that view says, products read 4 bytes of index a block, and X once for the rows of a block; the
  bits are the same, but for a single column. kind: how the dense factor is read, DCSR_SPMM_AUTO for the choice by a sample of the structure. plan is NULL on an error; free it with
  DCSRSpMMPlanDestroy(). PETSC_ERR_ARG_WRONGSTATE for fragmented storage.
  Costs one pass over the row offsets and one synchronization, and another pass when there are long rows; for blocks, what DCSRBlockListGet() does.
*/
PetscErrorCode DCSRSpMMPlanCreate(DCSRView view, DCSRSpMMKind kind, cudaStream_t stream, DCSRSpMMPlan *plan)
{
  PetscErrorCode ierr;
  DCSRSpMMPlan   p;

  PetscFunctionBegin;
  *plan = NULL;
  PetscCheck(view.segments == NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Products with dense matrices need compact storage");
  PetscCall(PetscNew(&p));
  PetscCallGoto(ierr, failed, PlanFill(p, view, kind, stream));
  *plan = p;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRSpMMPlanDestroy(&p, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRSpMMPlanDestroy - frees a plan; NULL is fine, and *plan is NULL afterwards */
PetscErrorCode DCSRSpMMPlanDestroy(DCSRSpMMPlan *plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*plan == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpMMLongRowsDestroy(&(*plan)->long_rows, stream));
  PetscCall(DCSRBlockListDestroy(&(*plan)->list, stream));
  PetscCall(DCSRSpMVPlanDestroy(&(*plan)->column, stream));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a row that are read at once: few of a short row, so that a warp has many rows. Where X is read where it is, a warp's rows are neighbors that read the same. */
static int GetSlots(DCSRSpMMPlan plan, int width, PetscBool staged)
{
  const SpMMRules *rules  = plan->rules;
  const int        lanes  = staged ? SPMM_STAGED_LANES(width) : SPMM_DIRECT_LANES(width);
  const int        room   = plan->mean >= rules->warp_entries ? 32 : staged ? rules->staged_lanes : lanes;
  const int        wanted = plan->slots > 0 ? (int)plan->slots : PetscMax(1, (int)PetscMin(plan->mean / rules->slot_entries, SPMM_MAX_SLOTS));
  int              slots  = 1;

  while (2 * slots <= wanted && 2 * slots <= SPMM_MAX_SLOTS && 2 * slots * lanes <= (plan->slots > 0 ? 32 : room)) slots *= 2;
  return slots;
}

/* Scratch of the tiles, whose widest has so many columns. */
typedef struct {
  PetscScalar *x;     /* row-major copy of a tile of X; NULL: X is read where it is */
  PetscScalar *parts; /* sums of the chunks of long rows */
} Scratch;

/* Queues one tile; x of the tile is where it is. */
static PetscErrorCode ApplyTile(DCSRSpMMPlan plan, DCSRView view, SpMMTile *tile, const Scratch *scratch, cudaStream_t stream)
{
  PetscFunctionBegin;
  tile->staged = (PetscBool)(scratch->x != NULL);
  tile->slots  = GetSlots(plan, tile->width, tile->staged);
  if (tile->staged) {
    PetscCall(SpMMStage(view.num_columns, tile, scratch->x, stream));
    tile->x = scratch->x;
    PetscCall(SpMMRowsStaged(plan, view, tile, stream));
  } else PetscCall(SpMMRowsDirect(plan, view, tile, stream));
  if (plan->long_rows.num_rows > 0) PetscCall(SpMMLong(view, &plan->long_rows, tile, scratch->parts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of the next tile of so many that are left: as few as hold them all. */
static int GetWidth(DCSRSpMMPlan plan, PetscInt left, PetscBool staged)
{
  const int most  = staged ? SPMM_MAX_WIDTH : SPMM_MAX_DIRECT_WIDTH;
  const int limit = plan->width > 0 ? PetscMin((int)plan->width, most) : most;
  int       width = 2;

  while (width < left && width < limit) width *= 2;
  return width;
}

static PetscErrorCode ApplyTiles(DCSRSpMMPlan plan, DCSRView view, PetscInt columns, const PetscScalar x[], PetscInt ldx, PetscScalar y[], PetscInt ldy, const Scratch *scratch, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt first = 0; first < columns;) {
    const PetscInt     left = columns - first;
    const PetscScalar *from = PetscSafePointerPlusOffset(x, (size_t)first * (size_t)ldx);
    PetscScalar       *to   = y + (size_t)first * (size_t)ldy;

    if (left == 1) {
      PetscCall(DCSRSpMVApply(plan->column, view, from, NULL, to, stream));
      first++;
    } else {
      const int width = GetWidth(plan, left, (PetscBool)(scratch->x != NULL));
      SpMMTile  tile  = {.width = width, .columns = (int)PetscMin(left, width), .x = from, .ldx = ldx, .y = to, .ldy = ldy};

      PetscCall(ApplyTile(plan, view, &tile, scratch, stream));
      first += tile.columns;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpMMApply - Y = A X on the device, asynchronous, bitwise the same every time; the plan was made from the same structure, A is compact
  x [num_columns x columns] and y [num_rows x columns], device, are column-major with leading dimensions ldx and ldy; only these entries of y are written.
  PETSC_ERR_MEM for the sums of long rows. A copy of a tile of X, up to 32 num_columns scalars, is welcome and not necessary.
  A is read once for every tile of 32 columns, or of 16 that are read where they are. A single column that is left is a Mult, whose plan is made at the first one. A plan must not be used at the same
  time on different streams.
*/
PetscErrorCode DCSRSpMMApply(DCSRSpMMPlan plan, DCSRView view, PetscInt columns, const PetscScalar x[], PetscInt ldx, PetscScalar y[], PetscInt ldy, cudaStream_t stream)
{
  Scratch        scratch = {NULL, NULL};
  const int      width   = GetWidth(plan, columns, PETSC_TRUE);
  PetscErrorCode ierr    = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (view.num_rows == 0 || columns == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (columns > 1 && plan->kind == DCSR_SPMM_STAGED && view.num_nonzeros > 0) PetscCallGoto(ierr, cleanup, PetscSparseCUDATryMalloc((size_t)width * (size_t)view.num_columns, stream, &scratch.x));
  if (columns > 1) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc((size_t)width * (size_t)plan->long_rows.num_chunks, "sums of long rows", stream, &scratch.parts));
  if (columns % GetWidth(plan, columns, (PetscBool)(scratch.x != NULL)) == 1 && plan->column == NULL)
    PetscCallGoto(ierr, cleanup, DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, stream, &plan->column)); // all that can fail comes first
  PetscCallGoto(ierr, cleanup, ApplyTiles(plan, view, columns, x, ldx, y, ldy, &scratch, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&scratch.x, stream));
  PetscCall(PetscSparseCUDAFree(&scratch.parts, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
