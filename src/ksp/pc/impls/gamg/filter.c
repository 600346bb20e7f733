/*
  PETSc's filter of prolongators (-pc_gamg_prolongator_filter) on the device: weak couplings between nodes and coarse nodes leave the prolongator, and its rows are corrected so that it gives
  the near null space of the level as before.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/exchange/exchange.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda/filter.h>

/* What a process has to do with. */
typedef struct {
  Mat           P;         /* borrowed */
  PetscBool     mpi;       /* P has ghost columns, or might */
  DCSRFilter    filter;    /* its flags are owned */
  PetscReal    *coarse[2]; /* [columns][vectors] device, exportable, owned: near null space of the coarse level in the columns of each block */
  int32_t      *kept[2];   /* [columns] device, owned: whether an entry of the column stays, then whether one of its coarse node does */
  JoinedColumns columns;   /* zero on one process */
  DCSRView      to[2];     /* what stays, zero where all stays, owned */
  cudaStream_t  stream;
} Filter;

static PetscErrorCode Destroy(Filter *f)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&f->coarse[k], f->stream));
    PetscCall(PetscSparseCUDAFree(&f->kept[k], f->stream));
    PetscCall(DCSRViewFree(&f->to[k], f->stream));
  }
  PetscCall(DCSRFilterDestroy(&f->filter, f->stream));
  PetscCall(JoinedColumnsDestroy(&f->columns, f->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGPackCoarse - The near null space of the coarse level, which the context of pc has as [vectors][own columns]. Asynchronous on stream.
  coarse is [n][vectors] on the device for the n own columns of the prolongator, exportable, owned by the caller; NULL after an error.
*/
PetscErrorCode GAMGPackCoarse(PC pc, PetscInt n, cudaStream_t stream, PetscReal **coarse)
{
  const PetscInt num_vectors = GAMGGet(pc)->data_cell_rows;
  GAMGContext   *context;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *coarse = NULL;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCheck(context->num_data_rows == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A near null space of %" PetscInt_FMT " rows for %" PetscInt_FMT " coarse rows", context->num_data_rows, n);
  PetscCall(PetscSparseCUDAMallocExportable((size_t)n * (size_t)num_vectors, "near null space of the coarse level", stream, coarse));
  PetscCallGoto(ierr, failed, DCSRFilterPackCoarse(n, num_vectors, context->data, *coarse, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(coarse, stream));
  PetscFunctionReturn(ierr);
}

/* Storage, near null space but for its values in ghost columns, flags, and the columns that are kept as far as this process knows. */
static PetscErrorCode Prepare(PC pc, PetscReal threshold, Filter *f)
{
  DCSRFilter *filter = &f->filter;

  PetscFunctionBegin;
  for (int k = 0; k < filter->num_blocks; k++) {
    const Mat    block = f->mpi ? MatMPIAIJCUDAGetBlock(f->P, k) : f->P;
    const size_t n     = (size_t)block->cmap->n;

    PetscCall(MatSeqAIJCUDAGetCompact(block, &filter->blocks[k].view));
    PetscCall(PetscSparseCUDAMalloc(n, "columns of a prolongator", f->stream, &f->kept[k]));
    if (n > 0) PetscCallCUDA(cudaMemsetAsync(f->kept[k], 0, n * sizeof(*f->kept[k]), f->stream));
  }
  PetscCall(GAMGPackCoarse(pc, f->P->cmap->n, f->stream, &f->coarse[0]));
  filter->blocks[0].coarse = f->coarse[0];
  if (f->mpi) {
    PetscCall(JoinedColumnsCreateOf(f->P, f->stream, &f->columns));
    PetscCall(PetscSparseCUDAMallocExportable((size_t)MatMPIAIJCUDAGetBlock(f->P, 1)->cmap->n * (size_t)filter->num_vectors, "near null space in ghost columns", f->stream, &f->coarse[1]));
    filter->blocks[1].coarse  = f->coarse[1];
    filter->blocks[1].numbers = f->columns.device.ghosts;
  }
  PetscCall(DCSRFilterMark(filter, threshold, f->stream));
  for (int k = 0; k < filter->num_blocks; k++) PetscCall(DCSRFilterNoteColumns(filter, k, f->kept[k], f->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space travels to ghost columns, along the scatter of products. Collective. */
static PetscErrorCode GetGhosts(Filter *f)
{
  MPI_Datatype   unit = MPIU_REAL; // with one vector: PetscSF would not know its like of one number
  PetscMPIInt    count;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(f->filter.num_vectors, &count));
  if (count > 1) {
    PetscCallMPI(MPI_Type_contiguous(count, MPIU_REAL, &unit));
    PetscCallMPI(MPI_Type_commit(&unit));
  }
  ierr = PetscSparseCUDASFBcast(((Mat_MPIAIJ *)f->P->data)->Mvctx, unit, f->coarse[0], f->coarse[1], f->stream);
  if (count > 1) PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From columns to coarse nodes: all columns of one that keeps something are kept. *num_empty: columns of the others. */
static void FindEmpty(PetscInt n, PetscInt num_vectors, int32_t kept[], PetscInt *num_empty)
{
  *num_empty = 0;
  for (PetscInt node = 0; node < n; node += num_vectors) {
    int32_t any = 0;

    for (PetscInt i = 0; i < num_vectors; i++) any |= kept[node + i];
    for (PetscInt i = 0; i < num_vectors; i++) kept[node + i] = any;
    if (!any) *num_empty += num_vectors;
  }
}

/*
  What all processes keep of the own columns, on the host, from the flags of own and ghost columns; and what these are after FindEmpty(). own [columns] and ghost [ghost columns] on the host.
  Collective.
*/
static PetscErrorCode ExchangeKept(Filter *f, int32_t own[], int32_t ghost[], PetscInt *num_empty)
{
  const PetscSF sf = f->mpi ? ((Mat_MPIAIJ *)f->P->data)->Mvctx : NULL;

  PetscFunctionBegin;
  if (f->mpi) {
    PetscCall(PetscSFReduceBegin(sf, MPI_INT, ghost, own, MPI_MAX));
    PetscCall(PetscSFReduceEnd(sf, MPI_INT, ghost, own, MPI_MAX));
  }
  FindEmpty(f->P->cmap->n, f->filter.num_vectors, own, num_empty);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, num_empty, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)f->P)));
  if (f->mpi && *num_empty > 0) {
    PetscCall(PetscSFBcastBegin(sf, MPI_INT, own, ghost, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPI_INT, own, ghost, MPI_REPLACE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* kept [2] on the host, from the device or back. */
static PetscErrorCode CopyKept(Filter *f, PetscBool to_device, int32_t *kept[])
{
  PetscFunctionBegin;
  for (int k = 0; k < f->filter.num_blocks; k++) {
    const size_t size = (size_t)f->filter.blocks[k].view.num_columns * sizeof(*kept[k]);

    if (size == 0) continue;
    if (to_device) PetscCall(PetscSparseCUDACopyToDevice(f->kept[k], kept[k], size, f->stream));
    else PetscCall(PetscSparseCUDACopyToHost(kept[k], f->kept[k], size, f->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGIsCoarsest - Whether the coarse operator that P leads to is going to be factored, as PETSc's setup decides it. The same on all processes. */
PetscBool GAMGIsCoarsest(PC pc, Mat P)
{
  const PC_GAMG *gamg = GAMGGet(pc);

  return (PetscBool)(P->cmap->N <= gamg->coarse_eq_limit || gamg->current_level + 2 >= PetscMin(gamg->Nlevels, PETSC_MG_MAXLEVELS));
}

/*
  A coarse node all of whose couplings are weak keeps them: without any its row of the coarse operator would be empty, and PETSc's setup ends with an error where that is factored. Smoothers of other
  levels do with such rows. Collective; ierr: of what came before, on this process.
*/
static PetscErrorCode SpareColumns(PC pc, Filter *f, PetscErrorCode ierr)
{
  const MPI_Comm comm    = PetscObjectComm((PetscObject)f->P);
  int32_t       *kept[2] = {NULL, NULL};
  PetscInt       num_empty;

  PetscFunctionBegin;
  for (int k = 0; k < f->filter.num_blocks; k++)
    if (ierr == PETSC_SUCCESS) ierr = PetscMalloc1(f->filter.blocks[k].view.num_columns, &kept[k]);
  if (ierr == PETSC_SUCCESS) ierr = CopyKept(f, PETSC_FALSE, kept);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = ExchangeKept(f, kept[0], kept[1], &num_empty);
  if (ierr == PETSC_SUCCESS && num_empty > 0) {
    PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": %" PetscInt_FMT " columns of the prolongator would be empty, and keep weak couplings\n", GAMGGet(pc)->current_level, num_empty));
    ierr = CopyKept(f, PETSC_TRUE, kept);
    for (int k = 0; k < f->filter.num_blocks; k++)
      if (ierr == PETSC_SUCCESS) ierr = DCSRFilterSpareColumns(&f->filter, k, f->kept[k], f->stream);
  }
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(kept[k]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In PETSc's words, which programs look for. Collective, whether this process tells or not. */
static PetscErrorCode TellEntries(PC pc, Mat before, Mat after)
{
  MatInfo info[2];

  PetscFunctionBegin;
  PetscCall(MatGetInfo(before, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(MatGetInfo(after, MAT_GLOBAL_SUM, &info[1]));
  PetscCall(PetscInfo(pc, "Prolongator filter: nnz before=%g after=%g reduction=%g%%\n", info[0].nz_used, info[1].nz_used,
                      info[0].nz_used > 0 ? 100 * (info[0].nz_used - info[1].nz_used) / info[0].nz_used : 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part after all processes have what they need: an error of one is handed on to where they meet. Collective. */
static PetscErrorCode CreateFiltered(PC pc, Filter *f, PetscErrorCode ierr, Mat *filtered)
{
  PetscFunctionBegin;
  if (GAMGIsCoarsest(pc, f->P)) ierr = SpareColumns(pc, f, ierr);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)f->P), ierr, &ierr));
  PetscCall(ierr);
  if (f->mpi) ierr = GetGhosts(f);
  if (ierr == PETSC_SUCCESS) ierr = DCSRFilterApply(&f->filter, f->to, f->stream);
  PetscCall(MatAIJCUDACreateReduced(f->P, f->to, ierr, filtered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces *P. Collective. */
static PetscErrorCode FilterOnDevice(PC pc, PetscInt num_vectors, PetscReal threshold, Mat *P)
{
  Mat            filtered = NULL;
  Filter         f;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&f, 1));
  PetscCall(PetscSparseCUDAGetStream(&f.stream));
  PetscCall(MatIsMPIAIJCUDA(*P, &f.mpi));
  f.P                  = *P;
  f.filter.row_block   = (*P)->rmap->bs;
  f.filter.num_vectors = num_vectors;
  f.filter.num_blocks  = f.mpi ? 2 : 1;
  if (f.mpi) PetscCall(MatMPIAIJCUDAUseCurrentStream(*P));
  ierr = Prepare(pc, threshold, &f);
  ierr = CreateFiltered(pc, &f, ierr, &filtered);
  if (ierr == PETSC_SUCCESS) ierr = TellEntries(pc, *P, filtered);
  PetscCall(Destroy(&f));
  PetscCall(MatDestroy(P)); // after an error, too: its values are others
  PetscCall(ierr);
  *P = filtered;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGFilterByPETSc - PETSc's filter of the smoothed prolongator of the current level: its operation, told that nothing is to be smoothed. Collective */
PetscErrorCode GAMGFilterByPETSc(PC pc, Mat *P)
{
  PC_MG          *mg    = (PC_MG *)pc->data;
  const PetscInt  level = GAMGGet(pc)->current_level, num_smooths = GAMGGetAggOptions(pc)->nsmooths;
  const PetscReal emin = mg->min_eigen_DinvA[level], emax = mg->max_eigen_DinvA[level];
  GAMGContext    *context;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GAMGCoarseDataToHost(pc, PetscObjectComm((PetscObject)*P)));
  GAMGGetAggOptions(pc)->nsmooths = 0;
  ierr                            = (*context->parent.optprolongator)(pc, *P, P); // the matrix gives the communicator
  GAMGGetAggOptions(pc)->nsmooths = num_smooths;
  mg->min_eigen_DinvA[level]      = emin;
  mg->max_eigen_DinvA[level]      = emax;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGFilterProlongator - Removes weak couplings from the prolongator of the current level, and keeps what it makes of the coarse near null space, which pc has. Collective
  Couplings whose Frobenius norm is below threshold (positive) times the largest one of their node are weak. P is the smoothed prolongator, one of ours on the device; it is another matrix afterwards,
  without stored zeros, and NULL after an error. PETSC_ERR_MEM is on all processes when on one.
  Pattern and values are those of PETSc's filter (PCGAMGSetProlongatorFilter()) but for rounding, unless that leaves a column to the coarsest level without entries: all couplings with that coarse node
  stay then. Ghost columns that no entry is left in are dropped. With more than DCSR_FILTER_MAX_VECTORS vectors in the near null space PETSc's code filters on the host.
  Cost: some ten reads of the prolongator. A number a coarse unknown goes to the host, and on several processes three messages with such numbers
  to each neighbor. New storage beside the old one, and a byte an entry.
*/
PetscErrorCode GAMGFilterProlongator(PC pc, PetscReal threshold, Mat *P)
{
  const PetscInt num_vectors = GAMGGet(pc)->data_cell_rows;
  GAMGContext   *context;
  Mat            copy = NULL;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (num_vectors > DCSR_FILTER_MAX_VECTORS) {
    PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": prolongator filter by PETSc on the host, %" PetscInt_FMT " vectors are more than %d\n", GAMGGet(pc)->current_level, num_vectors,
                        DCSR_FILTER_MAX_VECTORS));
    PetscCall(GAMGFilterByPETSc(pc, P));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (context->checks != NULL) PetscCall((*context->checks->keepprolongator)(*P, &copy));
  PetscCall(FilterOnDevice(pc, num_vectors, threshold, P));
  if (copy != NULL) PetscCall((*context->checks->filter)(pc, *P, &copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
