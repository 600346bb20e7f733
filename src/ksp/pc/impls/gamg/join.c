/*
  Levels on fewer processes. A level that is too small to gain from being split belongs on one GPU: each product of a split level waits for ghost values, however little there is to multiply. PETSc
  moves levels of some dozens of rows a process, a limit for processors; ours decides for GPUs by what the work and the exchange take, and moves matrices as they lie on the devices.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include "../../../../mat/impls/aijcuda/submatrix/join.h"
#include <petscsparsecuda/tuning.h>

#define PRODUCTS_IN_CYCLE 5   /* of a level with its matrix: two steps of a smoother before and after, and a residual */
#define GROWTH            2.0 /* nonzeros a row of a coarse matrix over those of the next finer one, about */

typedef struct {
  PetscBool one;   /* the next coarser level goes to one process */
  PetscBool rule;  /* by our rule: PETSc would leave it split */
  PetscBool whole; /* PETSc would leave it on as many processes: the rule has the last word when the coarse operator is there */
  JoinRule  costs; /* of the first process; set with rule */
} Choice;

/* Whether our rule decides: nothing explicit was said, and the matrix is large and of ours; a latency from the options holds for all. */
static PetscErrorCode RuleApplies(PC pc, const GAMGContext *context, const JoinRule *rule, PetscBool *applies)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  PetscMPIInt    size;

  PetscFunctionBegin;
  *applies = PETSC_FALSE;
  if (!context->join_levels || context->process_limit_given || gamg->repart || gamg->level_reduction_factors[gamg->current_level] >= 0 || gamg->use_aggs_in_asm || gamg->asm_hem_aggs > 0)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (context->join_latency >= 0) {
    *applies = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (pc->pmat->rmap->N / size >= rule->smallest_system) *applies = context->supported;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether N rows with so many nonzeros are better off on one of n processes: what splitting saves in the products of a cycle is less than what exchanges take, with the vectors that move to the level
  and back.
*/
static PetscBool IsTooSmall(const JoinRule *rule, PetscReal N, PetscReal nonzeros, PetscInt n, PetscReal latency)
{
  const int       way    = use_gpu_aware_mpi ? 1 : 0;
  const PetscReal others = 1 - (PetscReal)1 / (PetscReal)n; // the part of other processes
  const PetscReal work = nonzeros * (PetscReal)(sizeof(PetscScalar) + sizeof(int32_t)) / (PetscReal)rule->product, moved = 2 * N * (PetscReal)sizeof(PetscScalar) / (PetscReal)rule->bandwidth[way];

  if (latency < 0) latency = (PetscReal)rule->latency[way];
  return (PetscBool)(others * (PRODUCTS_IN_CYCLE * work + moved) < PRODUCTS_IN_CYCLE * latency);
}

/* What becomes of the level below A, P leads to it. PETSc's own choice is that of PCGAMGCreateLevel_GAMG(). Collective. */
static PetscErrorCode Choose(PC pc, const GAMGContext *context, Mat A, Mat P, PetscMPIInt num_active, PetscBool last, Choice *choice)
{
  const PC_GAMG               *gamg   = GAMGGet(pc);
  const float                  parts  = (float)P->cmap->N / (float)gamg->min_eq_proc + 0.5F; // PETSc's number of processes
  const PetscSparseCUDATuning *tuning = NULL;
  PetscBool                    applies;
  PetscReal                    nonzeros;
  MatInfo                      info;

  PetscFunctionBegin;
  choice->one = choice->rule = choice->whole = PETSC_FALSE;
  if (gamg->level_reduction_factors[gamg->current_level] >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  choice->whole = (PetscBool)(num_active == 1);
  if (num_active == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (last && !gamg->use_parallel_coarse_grid_solver) choice->one = PETSC_TRUE;
  else choice->one = (PetscBool)(parts < 2);
  if (choice->one) PetscFunctionReturn(PETSC_SUCCESS);
  choice->whole = (PetscBool)(parts >= (float)num_active);
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  choice->costs = tuning->join;
  PetscCallMPI(MPI_Bcast(&choice->costs, (PetscMPIInt)sizeof(choice->costs), MPI_BYTE, 0, PetscObjectComm((PetscObject)pc))); // other processes may have other GPUs, and all decide alike
  PetscCall(RuleApplies(pc, context, &choice->costs, &applies));
  if (!applies) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  nonzeros    = (PetscReal)(GROWTH * info.nz_used) * (PetscReal)P->cmap->N / (PetscReal)PetscMax(A->rmap->N, 1);
  choice->one = choice->rule = IsTooSmall(&choice->costs, (PetscReal)P->cmap->N, nonzeros, num_active, context->join_latency);
  if (choice->rule)
    PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ", %" PetscInt_FMT " rows, about %g nonzeros: too small to be split, on one of %d processes\n", gamg->current_level + 1, P->cmap->N,
                        (double)nonzeros, num_active));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last word of the rule, with the nonzeros of the coarse operator: the estimate is half of them with 7 points. Collective. */
static PetscErrorCode StaysSplit(PC pc, const GAMGContext *context, const Choice *choice, Mat C, PetscMPIInt num_active, PetscBool *stays)
{
  MatInfo info;

  PetscFunctionBegin;
  *stays = PETSC_FALSE;
  if (!choice->rule || !choice->whole) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(C, MAT_GLOBAL_SUM, &info));
  *stays = (PetscBool)!IsTooSmall(&choice->costs, (PetscReal)C->rmap->N, (PetscReal)info.nz_used, num_active, context->join_latency);
  if (*stays) PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT " has %g nonzeros: split\n", GAMGGet(pc)->current_level + 1, (double)info.nz_used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether matrices can be moved as they lie on the devices. Collective. */
static PetscErrorCode CanMove(PC pc, Mat A, Mat P, Mat tentative, const IS *permutation, PetscBool *can)
{
  const PC_GAMG *gamg = GAMGGet(pc);
  PetscBool      mpi[2];

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi[0]));
  PetscCall(MatIsMPIAIJCUDA(P, &mpi[1]));
  *can = (PetscBool)(mpi[0] && mpi[1] && permutation == NULL && !gamg->repart && !gamg->cpu_pin_coarse_grids);
  if (*can) PetscCall(MatMPIAIJCUDAStructureOnDevice(A, can));
  if (*can) PetscCall(MatMPIAIJCUDAStructureOnDevice(P, can));
  if (*can && tentative != NULL) PetscCall(MatIsMPIAIJCUDA(tentative, can));
  if (*can && tentative != NULL) PetscCall(MatMPIAIJCUDAStructureOnDevice(tentative, can));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space of all processes goes to the first one, on the host, column-major, with data_cell_cols columns. Collective. */
static PetscErrorCode GatherData(PC pc)
{
  PC_GAMG       *gamg = GAMGGet(pc);
  const PetscInt num  = gamg->data_cell_cols;
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  PetscReal     *all  = NULL;
  PetscCount     sum  = 0;
  PetscMPIInt    n, rank, size, total, *counts, *begins;

  PetscFunctionBegin;
  if (num == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GAMGCoarseDataToHost(pc, comm));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMPIIntCast(gamg->data_sz / num, &n));
  PetscCall(PetscMalloc2(size, &counts, size, &begins));
  PetscCallMPI(MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, comm));
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscCall(PetscMPIIntCast(sum, &begins[r]));
    sum += counts[r];
  }
  PetscCall(PetscMPIIntCast(sum, &total));
  PetscCall(PetscMalloc1(rank == 0 ? (size_t)total * (size_t)num : 0, &all));
  for (PetscInt k = 0; k < num; k++)
    PetscCallMPI(MPI_Gatherv(gamg->data + (size_t)k * (size_t)n, n, MPIU_REAL, rank == 0 ? all + (size_t)k * (size_t)total : NULL, counts, begins, MPIU_REAL, 0, comm));
  PetscCall(PetscFree2(counts, begins));
  PetscCall(PetscFree(gamg->data));
  gamg->data    = all;
  gamg->data_sz = rank == 0 ? total * num : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What renews the values of a coarse matrix on the first process: the product where it is split. */
typedef struct {
  Mat              P;            /* owned: the prolongator as it was, with its columns on all processes */
  Mat              split;        /* owned: the coarse matrix on all processes */
  PetscObjectState nonzerostate; /* of split, when its structure went to the first process */
} SplitProduct;

static PetscErrorCode SplitProductDestroy(PetscCtxRt data)
{
  SplitProduct **d = (SplitProduct **)data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&(*d)->P));
  PetscCall(MatDestroy(&(*d)->split));
  PetscCall(PetscFree(*d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PRODUCT_DESTROY_DEFINE(SplitProductDestroy)

/* New values, and where that has changed a new structure. Collective. */
static PetscErrorCode SplitProductNumeric(Mat C)
{
  SplitProduct *d = (SplitProduct *)C->product->data;
  Mat           joined;

  PetscFunctionBegin;
  PetscCall(MatPtAP(C->product->A, d->P, MAT_REUSE_MATRIX, PETSC_DETERMINE, &d->split));
  PetscCall(MatMPIAIJCUDAJoinRows(d->split, &joined));
  PetscCheck(joined != NULL, PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB, "A coarse matrix has become too large for one process");
  PetscCall(MatCopy(joined, C, d->split->nonzerostate == d->nonzerostate ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&joined));
  MatAIJCUDAForgetSymmetry(C); // MatPtAP() says afterwards what it knows
  d->nonzerostate = d->split->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C is the product of A and P, as for PETSc's setup, which asks for new values of it; split is what it was made of with split_P. Takes both of these, also after an error. */
static PetscErrorCode SplitProductCreate(Mat A, Mat P, Mat split_P, Mat split, Mat C)
{
  SplitProduct *d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  d->P            = split_P;
  d->split        = split;
  d->nonzerostate = split->nonzerostate;
  PetscCall(MatProductCreateWithMat(A, P, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_PtAP)); // forgets what follows
  C->product->data       = d;
  C->product->destroy    = PRODUCT_DESTROY(SplitProductDestroy);
  C->product->api_user   = PETSC_TRUE;
  C->ops->productnumeric = SplitProductNumeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The restriction of the level under way for a coarse matrix on the first process. Collective. */
static PetscErrorCode MoveRestriction(PC pc, GAMGContext *context)
{
  Mat            moved;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAJoinColumns(context->restricting.tentative, &moved));
  ierr = GAMGRestrictionSet(pc, context, moved);
  PetscCall(MatDestroy(&moved));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarse matrix on the first process, and the prolongator with all of its columns there; or the rule's last word is that both stay split. *C NULL: it is too large. Collective. */
static PetscErrorCode CreateOnFirst(PC pc, GAMGContext *context, const Choice *choice, Mat A, Mat *P, Mat *C, PetscMPIInt *num_active)
{
  Mat            split = NULL, moved = NULL;
  PetscBool      stays;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGalerkin(pc, context, A, *P, &split));
  ierr = StaysSplit(pc, context, choice, split, *num_active, &stays);
  if (ierr == PETSC_SUCCESS && stays) {
    *C = split;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(&split));
  PetscCall(ierr);
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_REDUCE], 0, 0, 0, 0));
  PetscCallGoto(ierr, done, MatMPIAIJCUDAJoinRows(split, C));
  if (*C == NULL) goto done;
  PetscCallGoto(ierr, done, MatMPIAIJCUDAJoinColumns(*P, &moved));
  PetscCallGoto(ierr, done, MatSetOption(moved, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
  if (context->restricting.tentative != NULL) PetscCallGoto(ierr, done, MoveRestriction(pc, context));
  PetscCallGoto(ierr, done, GatherData(pc));
done:
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_REDUCE], 0, 0, 0, 0));
  if (ierr != PETSC_SUCCESS || *C == NULL) PetscCall(MatDestroy(&split));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(MatDestroy(C));
    PetscCall(MatDestroy(&moved));
    PetscFunctionReturn(ierr);
  }
  if (*C == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SplitProductCreate(A, moved, *P, split, *C));
  *P          = moved;
  *num_active = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCreateLevel - The Galerkin product, and on which processes it is: PETSc's code, with our rule and our way to one process. Collective
  bs is the block size of the next coarser level; last: it is the coarsest. num_active are the processes that have rows. permutation is NULL, or PETSc's: where columns of P went.
  Where PETSc leaves a level on one process, as it does with the coarsest one, matrices of ours go there device by device, without structure on the host. Any other number of processes and any other
  type is PETSc's. -pc_gamg_join_levels: whether levels that are too small to be split go to one process. -pc_gamg_join_latency: microseconds of an exchange, with which the rule decides for any type
  and size.
  Cost: the Galerkin product; a message with the coarse rows of each process, and two passes over the prolongator.
*/
PetscErrorCode GAMGCreateLevel(PC pc, Mat A, PetscInt bs, Mat *P, Mat *C, PetscMPIInt *num_active, IS *permutation, PetscBool last)
{
  PC_GAMG       *gamg  = GAMGGet(pc);
  const PetscInt limit = gamg->min_eq_proc;
  PetscBool      can   = PETSC_FALSE;
  GAMGContext   *context;
  Choice         choice;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(Choose(pc, context, A, *P, *num_active, last, &choice));
  if (choice.one && context->device_setup) PetscCall(CanMove(pc, A, *P, context->restricting.tentative, permutation, &can));
  if (can) {
    *C = NULL;
    PetscCall(CreateOnFirst(pc, context, &choice, A, P, C, num_active));
    if (*C != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (choice.rule || !choice.whole) PetscCall(GAMGCoarseDataToHost(pc, PetscObjectComm((PetscObject)pc))); // PETSc moves it
  if (choice.rule) gamg->min_eq_proc = PetscMax((*P)->cmap->N, limit);                                     // one process
  if (context->restricting.tentative != NULL) ierr = GAMGRestrictionCreateLevel(pc, context, A, bs, P, C, num_active, permutation, last);
  else ierr = (*context->parent.createlevel)(pc, A, bs, P, C, num_active, permutation, last);
  gamg->min_eq_proc = limit;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
