/*
  PETSc's filter of prolongators (-pc_gamg_prolongator_filter) on the device: weak couplings between nodes and coarse nodes leave the prolongator, and its rows are corrected so that it gives
  the near null space of the level as before.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/exchange/exchange.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda/delete.h>
#include <petscsparsecuda/filter.h>

/* What a process has to do with. */
typedef struct {
  Mat             P;          /* borrowed */
  int             num_blocks; /* 1, or 2 with ghost columns, on several processes */
  Mat             blocks[2];  /* of P, borrowed */
  DCSRFilterBlock views[2];   /* their storage, borrowed; arrays of the near null space belong to this */
  PetscReal      *coarse[2];  /* [columns][vectors] device, exportable, owned: near null space of the coarse level in the columns of each block */
  JoinedColumns   columns;    /* zero on one process */
  DCSRView        kept[2];    /* what stays, zero where all stays, owned */
  cudaStream_t    stream;
} Filter;

static PetscErrorCode Destroy(Filter *f)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&f->coarse[k], f->stream));
    PetscCall(DCSRViewFree(&f->kept[k], f->stream));
  }
  PetscCall(JoinedColumnsDestroy(&f->columns, f->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space of the coarse level to the device: PC_GAMG has it on the host, [vectors][own columns]. */
static PetscErrorCode UploadCoarse(const PC_GAMG *gamg, PetscInt num_vectors, Filter *f)
{
  const PetscInt n    = f->P->cmap->n;
  const size_t   size = (size_t)n * (size_t)num_vectors;
  PetscReal     *data = NULL;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCheck((size_t)gamg->data_sz >= size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A near null space of %" PetscInt_FMT " numbers for %" PetscInt_FMT " coarse rows and %" PetscInt_FMT " vectors", gamg->data_sz, n, num_vectors);
  PetscCall(PetscSparseCUDAMallocExportable(size, "near null space of the coarse level", f->stream, &f->coarse[0]));
  PetscCall(PetscSparseCUDAMalloc(size, "near null space of the coarse level", f->stream, &data));
  if (size > 0) PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(data, gamg->data, size * sizeof(*data), f->stream));
  PetscCallGoto(ierr, cleanup, PetscLogCpuToGpu((PetscLogDouble)(size * sizeof(*data))));
  PetscCallGoto(ierr, cleanup, DCSRFilterPackCoarse(n, num_vectors, data, f->coarse[0], f->stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&data, f->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage and near null space, but for its values in ghost columns; not collective. */
static PetscErrorCode Prepare(const PC_GAMG *gamg, PetscInt num_vectors, Filter *f)
{
  PetscFunctionBegin;
  for (int k = 0; k < f->num_blocks; k++) PetscCall(MatSeqAIJCUDAGetCompact(f->blocks[k], &f->views[k].view));
  PetscCall(UploadCoarse(gamg, num_vectors, f));
  f->views[0].coarse = f->coarse[0];
  if (f->num_blocks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(JoinedColumnsCreateOf(f->P, f->stream, &f->columns));
  PetscCall(PetscSparseCUDAMallocExportable((size_t)f->blocks[1]->cmap->n * (size_t)num_vectors, "near null space in ghost columns", f->stream, &f->coarse[1]));
  f->views[1].coarse  = f->coarse[1];
  f->views[1].numbers = f->columns.device.ghosts;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The near null space travels to ghost columns, along the scatter of products. Collective. */
static PetscErrorCode GetGhosts(Filter *f, PetscInt num_vectors)
{
  MPI_Datatype   unit;
  PetscMPIInt    count;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(num_vectors, &count));
  PetscCallMPI(MPI_Type_contiguous(count, MPIU_REAL, &unit));
  PetscCallMPI(MPI_Type_commit(&unit));
  ierr = PetscSparseCUDASFBcast(((Mat_MPIAIJ *)f->P->data)->Mvctx, unit, f->coarse[0], f->coarse[1], f->stream);
  PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernels, and new storage of what stays; not collective. */
static PetscErrorCode Apply(Filter *f, PetscInt num_vectors, PetscReal threshold)
{
  DCSRDeletion deletion;

  PetscFunctionBegin;
  PetscCall(DCSRFilterProlongator(f->P->rmap->bs, num_vectors, threshold, f->num_blocks, f->views, f->stream));
  for (int k = 0; k < f->num_blocks; k++) PetscCall(DCSREliminateZeros(f->views[k].view, PETSC_FALSE, 0, f->stream, &f->kept[k], &deletion));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TellEntries(PC pc, Mat before, Mat after, PetscReal threshold)
{
  MatInfo   info[2];
  PetscBool enabled;

  PetscFunctionBegin;
  PetscCall(PetscInfoEnabled(((PetscObject)pc)->classid, &enabled));
  if (!enabled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(before, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(MatGetInfo(after, MAT_GLOBAL_SUM, &info[1]));
  PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": prolongator filter with threshold %g on the device: %g entries before, %g after\n", GAMGGet(pc)->current_level, (double)threshold, info[0].nz_used, info[1].nz_used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Replaces *P. Collective. */
static PetscErrorCode FilterOnDevice(PC pc, PetscInt num_vectors, PetscReal threshold, Mat *P)
{
  const MPI_Comm comm     = PetscObjectComm((PetscObject)*P);
  Mat            filtered = NULL;
  PetscBool      mpi;
  Filter         f;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&f, 1));
  PetscCall(PetscSparseCUDAGetStream(&f.stream));
  PetscCall(MatIsMPIAIJCUDA(*P, &mpi));
  f.P          = *P;
  f.num_blocks = mpi ? 2 : 1;
  for (int k = 0; k < f.num_blocks; k++) f.blocks[k] = mpi ? MatMPIAIJCUDAGetBlock(*P, k) : *P;
  if (mpi) PetscCall(MatMPIAIJCUDAUseCurrentStream(*P));
  PetscCallGpuTimeGoto(ierr, agree, Prepare(GAMGGet(pc), num_vectors, &f));
agree:
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS && mpi) ierr = GetGhosts(&f, num_vectors);
  if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDACreateReduced(*P, f.kept, Apply(&f, num_vectors, threshold), &filtered);
  if (ierr == PETSC_SUCCESS) ierr = TellEntries(pc, *P, filtered, threshold);
  PetscCall(Destroy(&f));
  PetscCall(MatDestroy(P)); // after an error, too: its values are others
  PetscCall(ierr);
  *P = filtered;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGFilterByPETSc - PETSc's filter of a prolongator: its operation, told that nothing is to be smoothed

  Collective

  Input Parameter:
. pc - of type PCGAMG

  Input/Output Parameter:
. P - smoothed prolongator of the current level
*/
PetscErrorCode GAMGFilterByPETSc(PC pc, Mat *P)
{
  PC_MG          *mg    = (PC_MG *)pc->data;
  const PetscInt  level = GAMGGet(pc)->current_level, num_smooths = GAMGGetAggOptions(pc)->nsmooths;
  const PetscReal emin = mg->min_eigen_DinvA[level], emax = mg->max_eigen_DinvA[level];
  GAMGContext    *context;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  GAMGGetAggOptions(pc)->nsmooths = 0;
  ierr                            = (*context->parent.optprolongator)(pc, *P, P); // the matrix gives the communicator
  GAMGGetAggOptions(pc)->nsmooths = num_smooths;
  mg->min_eigen_DinvA[level]      = emin;
  mg->max_eigen_DinvA[level]      = emax;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGFilterProlongator - Removes weak couplings from the prolongator of the current level, and keeps what it makes of the coarse near null space

  Collective

  Input Parameters:
+ pc        - of type PCGAMG, with the near null space of the coarse level
- threshold - positive: couplings whose Frobenius norm is below threshold times the largest one of their node are weak

  Input/Output Parameter:
. P - smoothed prolongator, one of ours on the device; another matrix afterwards, without stored zeros; NULL after an error

  Errors: PETSC_ERR_MEM, on all processes when on one.

  Notes:
  Pattern and values are those of PETSc's filter (PCGAMGSetProlongatorFilter()) but for rounding. Ghost columns that no entry is left in are dropped.

  With more than DCSR_FILTER_MAX_VECTORS vectors in the near null space PETSc's code filters on the host.

  Cost: some ten reads of the prolongator. The near null space of the coarse level goes to the device, and on several processes a message with it to each neighbor. New storage beside the old one, and a byte an entry.
*/
PetscErrorCode GAMGFilterProlongator(PC pc, PetscReal threshold, Mat *P)
{
  const PetscInt num_vectors = GAMGGet(pc)->data_cell_rows;
  GAMGContext   *context;
  Mat            copy = NULL;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  if (num_vectors > DCSR_FILTER_MAX_VECTORS) {
    PetscCall(PetscInfo(pc, "Level %" PetscInt_FMT ": prolongator filter by PETSc on the host, %" PetscInt_FMT " vectors are more than %d\n", GAMGGet(pc)->current_level, num_vectors, DCSR_FILTER_MAX_VECTORS));
    PetscCall(GAMGFilterByPETSc(pc, P));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (context->device_check) PetscCall(GAMGCheckKeepProlongator(*P, &copy));
  PetscCall(FilterOnDevice(pc, num_vectors, threshold, P));
  if (copy != NULL) PetscCall(GAMGCheckFilter(pc, *P, &copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
