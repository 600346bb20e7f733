/*
  What products on the device consist of: multiplications of local matrices, with log, -info and view.
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"

/* Each multiplication and the addition that follows it. */
static PetscErrorCode LogFlops(DCSRSpGEMM plan)
{
  DCSRSpGEMMInfo info;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(plan, &info));
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)info.num_products));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "warp 12, block 3": the bins that have rows, and the sizes of blocks. */
static PetscErrorCode PrintBins(const DCSRSpGEMMInfo *info, size_t n, char bins[])
{
  size_t used = 0;

  PetscFunctionBegin;
  bins[0] = '\0';
  for (PetscInt b = 0; b < info->num_bins; b++) {
    if (info->bin_rows[b] == 0) continue;
    PetscCall(PetscSNPrintf(bins + used, n - used, "%s%s %" PetscCount_FMT, used > 0 ? ", " : "", info->bin_names[b], info->bin_rows[b]));
    PetscCall(PetscStrlen(bins, &used));
  }
  if (info->blocks[0] > 0) PetscCall(PetscSNPrintf(bins + used, n - used, ", of blocks %d x %d times %d x %d", info->blocks[0], info->blocks[1], info->blocks[1], info->blocks[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InfoPlan(Mat C, const char what[], DCSRView A, DCSRView B, DCSRView result, DCSRSpGEMM plan)
{
  DCSRSpGEMMInfo info;
  char           bins[512];

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(plan, &info));
  PetscCall(PrintBins(&info, sizeof(bins), bins));
  PetscCall(PetscInfo(C,
                      "%s: (%" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT " nonzeros) times (%" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscCount_FMT "): %" PetscCount_FMT
                      " nonzeros of %" PetscCount_FMT " products, %.1f MB workspace, rows by bin: %s\n",
                      what, A.num_rows, A.num_columns, A.num_nonzeros, B.num_rows, B.num_columns, B.num_nonzeros, result.num_nonzeros, info.num_products, (double)info.workspace * 1e-6, bins));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSymbolicOfList - DCSRSpGEMMSymbolicOfList() with log and -info, for which C is the result of the whole product and what says which of its multiplications this is.

  structure: the result gets row offsets and columns, too. The rest is as for ProductSymbolic().
*/
PetscErrorCode ProductSymbolicOfList(Mat C, const char what[], DCSRView A, DCSRView B, PetscBool structure, PetscBool values, cudaStream_t stream, DCSRView *result, DCSRSpGEMM *plan)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(result, 1));
  *plan = NULL;
  PetscCallGpuTimeGoto(ierr, failed, structure ? DCSRSpGEMMSymbolic(A, B, values, stream, result, plan) : DCSRSpGEMMSymbolicOfList(A, B, values, stream, result, plan));
  if (*plan == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, DCSRCheckNonzeros(result->num_nonzeros));
  PetscCallGoto(ierr, failed, InfoPlan(C, what, A, B, *result, *plan));
  if (values) PetscCallGoto(ierr, failed, LogFlops(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(result, stream));
  if (*plan != NULL) PetscCall(DCSRSpGEMMDestroy(plan, stream));
  PetscFunctionReturn(ierr);
}

/*
  ProductSymbolic - DCSRSpGEMMSymbolic() with log and -info; see ProductSymbolicOfList().

  With values these are computed in the same pass; without, the result gets none. The result owns its arrays, zero after an error; the plan is to be freed with DCSRSpGEMMDestroy(), NULL after an
  error.
  PETSC_ERR_ARG_OUTOFRANGE: more nonzeros than PetscInt can count.
*/
PetscErrorCode ProductSymbolic(Mat C, const char what[], DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *result, DCSRSpGEMM *plan)
{
  PetscFunctionBegin;
  PetscCall(ProductSymbolicOfList(C, what, A, B, PETSC_TRUE, values, stream, result, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductNumeric - DCSRSpGEMMNumeric() with log. */
PetscErrorCode ProductNumeric(DCSRSpGEMM plan, DCSRView A, DCSRView B, DCSRView result, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallGpuTime(DCSRSpGEMMNumeric(plan, A, B, result, stream));
  PetscCall(LogFlops(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductViewPlan - One line about a multiplication of the viewer's first process. PETSc asks for it in MatView() with PETSC_VIEWER_ASCII_INFO. Collective on the viewer. */
PetscErrorCode ProductViewPlan(PetscViewer viewer, const char what[], DCSRSpGEMM plan)
{
  DCSRSpGEMMInfo info;
  char           bins[512];
  PetscBool      ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || plan == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRSpGEMMGetInfo(plan, &info));
  PetscCall(PrintBins(&info, sizeof(bins), bins));
  PetscCall(PetscViewerASCIIPrintf(viewer, "dcsrcuda: %s: %" PetscCount_FMT " products, %.1f MB workspace, rows by bin: %s\n", what, info.num_products, (double)info.workspace * 1e-6, bins));
  PetscFunctionReturn(PETSC_SUCCESS);
}
