/* DCSR as the storage of a matrix: it is the CSR view itself, compact or fragmented, and what products with vectors keep beside it. */
#include "dcsr.h"
#include "../aijcuda/core/core.h"
#include <petscsparsecuda/spmvsingle.h>

static DCSRView GetView(Mat A)
{
  return MatSeqAIJCUDAGet(A)->device.view;
}

/* Makes the explicit transpose and its plan. */
static PetscErrorCode BuildExplicitTranspose(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  void           *permutation;
  DCSRView        view, transpose;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDACompact(A));
  view = d->device.view;
  PetscCall(MatOperandNoteBlockSizes(A, &view));
  PetscCall(DCSRTransposeKeep(view, PETSC_TRUE, stream, &transpose, &permutation));
  PetscCallGoto(ierr, failed, DCSRSpMVPlanCreate(transpose, d->options.spmv_kind, stream, &d->plans.spmv_transpose));
  d->plans.transpose   = transpose;
  d->plans.permutation = permutation;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&transpose, stream));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode RefreshExplicitTranspose(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->plans.spmv_transpose == NULL) PetscCall(BuildExplicitTranspose(A, stream));
  else PetscCall(DCSRTransposeRenew(d->device.view, d->plans.permutation, d->plans.transpose, stream));
  PetscCall(PetscObjectStateGet((PetscObject)A, &d->plans.transpose_state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product uses the stored transpose: MAT_FORM_EXPLICIT_TRANSPOSE, or bitwise reproducible products. */
static PetscBool UsesExplicitTranspose(Mat A, MultKind kind)
{
  return (PetscBool)(kind == MULT_TRANSPOSE && (A->form_explicit_transpose || MatSeqAIJCUDAGet(A)->options.deterministic));
}

/* Whether the CSR view is fragmented. */
static PetscBool IsFragmented(Mat A)
{
  const DCSRView *view = &MatSeqAIJCUDAGet(A)->device.view;

  return (PetscBool)(view->row_offsets == NULL && view->segments != NULL);
}

/* Whether products have a base and its overflow. */
static PetscBool HasOverflow(Mat A)
{
  return DCSROverflowIsFor(MatSeqAIJCUDAGet(A)->device.view);
}

/* What plans of products are made for: the base where there is one. */
static DCSRView GetPlanned(Mat A)
{
  return HasOverflow(A) ? DCSRViewGetBase(GetView(A)) : GetView(A);
}

/* The entries outside of the base, with the values of now. */
static PetscErrorCode PrepareOverflow(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA  *d = MatSeqAIJCUDAGet(A);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (d->plans.overflow == NULL) PetscCallLogged(PETSCSPARSECUDA_SpMVAnalysis, A, DCSROverflowCreate(d->device.view, stream, &d->plans.overflow));
  else if (d->plans.overflow_state != state) PetscCall(DCSROverflowSetValues(d->plans.overflow, d->device.view, stream));
  d->plans.overflow_state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Longer rows count as this long: 24 products pay for compact rows then. */
#define LONGEST_MEAN 48.0

/* Products need compact storage, or a base. Rows become compact, too, where so many products come that it pays: as many as the hint says, or came with the structure before. */
static PetscErrorCode DefragmentForProducts(Mat A)
{
  const Mat_SeqAIJCUDA *d        = MatSeqAIJCUDAGet(A);
  const DCSRView       *view     = &d->device.view;
  PetscCount            expected = d->device.hint == HINT_NONE ? d->device.last_products : d->device.expected[0] + d->device.expected[1];

  PetscFunctionBegin;
  if (IsFragmented(A) && !HasOverflow(A)) PetscCall(MatSeqAIJCUDACompact(A));
  if (!IsFragmented(A) || d->options.defragment != DCSR_DEFRAGMENT_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  if (SkiRentalAmortizesFor(SKI_COMPACT_ROWS, d->plans.fragmented_mults, expected, (PetscBool)(d->device.hint == HINT_AT_LEAST),
                            1 / PetscMin((double)view->num_nonzeros / (double)view->num_rows, LONGEST_MEAN)))
    PetscCall(MatSeqAIJCUDACompactIfRoom(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan of products. */
static PetscErrorCode PreparePlan(Mat A, cudaStream_t stream)
{
  DCSRView view = GetPlanned(A);

  PetscFunctionBegin;
  PetscCall(MatOperandNoteBlockSizes(A, &view));
  PetscCall(DCSRSpMVPlanCreate(view, MatSeqAIJCUDAGet(A)->options.spmv_kind, stream, &MatSeqAIJCUDAGet(A)->plans.spmv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan of transpose products, and what it was left without at first. */
static PetscErrorCode PrepareTransposePlan(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d    = MatSeqAIJCUDAGet(A);
  DCSRView        view = GetPlanned(A);
  const PetscBool buys = SkiRentalAmortizesFor(SKI_TRANSPOSE_LISTS, d->plans.transpose_mults, d->device.expected[1], (PetscBool)(d->device.hint == HINT_AT_LEAST), 1);

  PetscFunctionBegin;
  PetscCall(MatOperandNoteBlockSizes(A, &view));
  if (d->plans.spmvt == NULL && buys) PetscCall(DCSRSpMVTransposePlanCreate(view, d->options.spmvt_kind, stream, &d->plans.spmvt));
  else if (d->plans.spmvt == NULL) PetscCall(DCSRSpMVTransposePlanCreateForOne(view, d->options.spmvt_kind, stream, &d->plans.spmvt));
  else PetscCall(DCSRSpMVTransposePlanComplete(d->plans.spmvt, view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the plan of transpose products lacks something that it is to have now. */
static PetscBool WantsTransposePlan(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->plans.spmvt == NULL || (!DCSRSpMVTransposePlanIsComplete(d->plans.spmvt) &&
                                                SkiRentalAmortizesFor(SKI_TRANSPOSE_LISTS, d->plans.transpose_mults, d->device.expected[1], (PetscBool)(d->device.hint == HINT_AT_LEAST), 1)));
}

/* The plan of products with values in single precision. */
static DCSRSpMVPlan PlanOfSingle(const MatSingleValues *single, DCSRSpMVPlan plan)
{
  return single->plan != NULL ? single->plan : plan;
}

static PetscBool HasSingle(const MatSingleValues *single)
{
  return (PetscBool)(single->values != NULL || single->diagonals != NULL);
}

/* Whether there are rounded values of now, of no fewer bits than asked for. */
static PetscBool SingleIsCurrent(Mat A, const MatSingleValues *single)
{
  PetscBool half;

  (void)MatDeviceStorageIsFinest(A, &half);
  return (PetscBool)(HasSingle(single) && single->state == ((PetscObject)A)->state && (half || !single->half || single->diagonals == NULL));
}

/* Whether the next product with this plan, of A or of its explicit transpose, reads values in single precision. */
static PetscBool ReadsSingle(Mat A, DCSRSpMVPlan plan, const MatSingleValues *single)
{
  if (!MatDeviceStorageUsesSingle() || !DCSRSpMVPlanHasSingle(plan) || HasOverflow(A)) return PETSC_FALSE;
  return (PetscBool)(MatDeviceStorageMakesSingle() || SingleIsCurrent(A, single));
}

static PetscErrorCode DestroySingle(MatSingleValues *single, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseDestroy(&single->diagonals, stream));
  PetscCall(PetscSparseCUDAFree(&single->values, stream));
  PetscCall(DCSRSpMVPlanDestroy(&single->plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounded diagonals of A; NULL when they do not pay. */
static PetscErrorCode CreateDiagonals(Mat A, PetscBool half, cudaStream_t stream, HiSparse *diagonals)
{
  HiSparseFormat format = (HiSparseFormat)MatSeqAIJCUDAGet(A)->options.storage_format;
  DCSRView       view   = GetView(A);
  double         ratio;

  PetscFunctionBegin;
  PetscCall(MatOperandNoteBlockSizes(A, &view));
  PetscCall(HiSparsePredict(view, NULL, stream, &format, &ratio));
  if (format != HISPARSE_DIAGONALS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseCreateRounded(view, half ? HISPARSE_VALUES_HALF : HISPARSE_VALUES_SINGLE, stream, diagonals));
  if (*diagonals != NULL) PetscCall(HiSparsePrepare(*diagonals, PETSC_FALSE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, or nothing where there is no memory for them. */
static PetscErrorCode TryDiagonals(Mat A, cudaStream_t stream, MatSingleValues *single)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = CreateDiagonals(A, single->half, stream, &single->diagonals);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_SUCCESS) PetscCall(HiSparseDestroy(&single->diagonals, stream));
  if (ierr != PETSC_ERR_MEM) PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for values of a view of A, and a plan when the rule has another kernel for them and nobody has chosen one. */
static PetscErrorCode CreateValues(Mat A, DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, MatSingleValues *single)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc_Private((size_t)view.num_nonzeros * DCSR_SINGLE_BYTES, "values in single precision", stream, &single->values));
  if (MatSeqAIJCUDAGet(A)->options.spmv_kind != DCSR_SPMV_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, DCSRSpMVPlanCreateSingle(plan, view, stream, &single->plan));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DestroySingle(single, stream));
  PetscFunctionReturn(ierr);
}

/* New values of what is there. */
static PetscErrorCode SetSingle(DCSRView view, cudaStream_t stream, MatSingleValues *single)
{
  PetscFunctionBegin;
  if (single->diagonals != NULL) PetscCall(HiSparseSetRounded(single->diagonals, view, stream));
  else PetscCall(DCSRRoundValues(view.num_nonzeros, view.values, single->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not there yet, with values. */
static PetscErrorCode CreateSingle(Mat A, PetscBool finest, DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, MatSingleValues *single)
{
  PetscFunctionBegin;
  if (finest) PetscCall(TryDiagonals(A, stream, single));
  if (single->diagonals != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateValues(A, plan, view, stream, single));
  PetscCall(SetSingle(view, stream, single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounds the values of a view of A, that of the matrix or of its explicit transpose, where the next product reads them and they are not of now. */
static PetscErrorCode RoundValues(Mat A, DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, MatSingleValues *single)
{
  PetscBool half, finest;

  PetscFunctionBegin;
  if (!ReadsSingle(A, plan, single) || SingleIsCurrent(A, single)) PetscFunctionReturn(PETSC_SUCCESS);
  finest = (PetscBool)(MatDeviceStorageIsFinest(A, &half) && single == &MatSeqAIJCUDAGet(A)->plans.single);
  if (single->half != half && single->diagonals != NULL) PetscCall(DestroySingle(single, stream)); // values of CSR are the same
  single->half = half;
  if (HasSingle(single)) PetscCall(SetSingle(view, stream, single));
  else PetscCall(CreateSingle(A, finest, plan, view, stream, single));
  PetscCall(PetscObjectStateGet((PetscObject)A, &single->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the next product needs, at the first one after a change; does nothing else. */
static PetscErrorCode Prepare_DCSR(Mat A, MultKind kind, cudaStream_t stream)
{
  Mat_SeqAIJCUDA  *d = MatSeqAIJCUDAGet(A);
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(DefragmentForProducts(A));
  if (HasOverflow(A) && !UsesExplicitTranspose(A, kind)) {
    PetscCall(PrepareOverflow(A, stream));
    PetscCall(DCSROverflowPlan(d->plans.overflow, (PetscBool)(kind != MULT_FORWARD), stream));
  }
  if (kind == MULT_FORWARD) {
    if (d->plans.spmv == NULL) PetscCallLogged(PETSCSPARSECUDA_SpMVAnalysis, A, PreparePlan(A, stream));
    PetscCall(RoundValues(A, d->plans.spmv, d->device.view, stream, &d->plans.single));
  } else if (UsesExplicitTranspose(A, kind)) {
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (d->plans.spmv_transpose == NULL || d->plans.transpose_state != state) PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, A, RefreshExplicitTranspose(A, stream));
    PetscCall(RoundValues(A, d->plans.spmv_transpose, d->plans.transpose, stream, &d->plans.transpose_single));
  } else if (WantsTransposePlan(A)) PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, A, PrepareTransposePlan(A, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is rented was used once more. Not counted when products are prepared, which several processes do twice. */
static void CountMult(Mat A, PetscBool transpose)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  if (IsFragmented(A)) d->plans.fragmented_mults++;
  if (transpose) d->plans.transpose_mults++;
}

static PetscErrorCode MultForward(Mat A, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (ReadsSingle(A, d->plans.spmv, &d->plans.single) && d->plans.single.diagonals != NULL) PetscCall(HiSparseMult(d->plans.single.diagonals, x, z, y, stream));
  else if (ReadsSingle(A, d->plans.spmv, &d->plans.single)) PetscCall(DCSRSpMVApplySingle(PlanOfSingle(&d->plans.single, d->plans.spmv), d->device.view, d->plans.single.values, x, z, y, stream));
  else PetscCall(DCSRSpMVApply(d->plans.spmv, GetPlanned(A), x, z, y, stream));
  if (HasOverflow(A)) PetscCall(DCSROverflowAdd(d->plans.overflow, x, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultEpilogue_DCSR(Mat A, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (ReadsSingle(A, d->plans.spmv, &d->plans.single) && d->plans.single.diagonals != NULL) PetscCall(HiSparseMultEpilogue(d->plans.single.diagonals, x, epilogue, y, stream, done));
  else if (ReadsSingle(A, d->plans.spmv, &d->plans.single))
    PetscCall(DCSRSpMVApplyEpilogueSingle(PlanOfSingle(&d->plans.single, d->plans.spmv), d->device.view, d->plans.single.values, x, epilogue, y, stream, done));
  else PetscCall(DCSRSpMVApplyEpilogue(d->plans.spmv, GetPlanned(A), x, epilogue, y, stream, done));
  if (*done && HasOverflow(A)) PetscCall(DCSROverflowAddEpilogue(d->plans.overflow, x, epilogue, y, stream));
  if (*done) CountMult(A, PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTransposed(Mat A, MultKind kind, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (!UsesExplicitTranspose(A, kind)) {
    PetscCall(DCSRSpMVTransposeApply(d->plans.spmvt, GetPlanned(A), (PetscBool)(kind == MULT_HERMITIAN), x, z, y, stream));
    if (HasOverflow(A)) PetscCall(DCSROverflowAddTranspose(d->plans.overflow, (PetscBool)(kind == MULT_HERMITIAN), x, y, stream));
  } else if (ReadsSingle(A, d->plans.spmv_transpose, &d->plans.transpose_single))
    PetscCall(DCSRSpMVApplySingle(PlanOfSingle(&d->plans.transpose_single, d->plans.spmv_transpose), d->plans.transpose, d->plans.transpose_single.values, x, z, y, stream));
  else PetscCall(DCSRSpMVApply(d->plans.spmv_transpose, d->plans.transpose, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult_DCSR(Mat A, MultKind kind, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (kind == MULT_FORWARD) PetscCall(MultForward(A, x, z, y, stream));
  else PetscCall(MultTransposed(A, kind, x, z, y, stream));
  CountMult(A, (PetscBool)(kind != MULT_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReleaseSingle_DCSR(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!HasSingle(&d->plans.single) && !HasSingle(&d->plans.transpose_single)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DestroySingle(&d->plans.single, stream));
  PetscCall(DestroySingle(&d->plans.transpose_single, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetRounding_DCSR(Mat A, PetscReal *error)
{
  const MatSingleValues *single = &MatSeqAIJCUDAGet(A)->plans.single;
  cudaStream_t           stream;

  PetscFunctionBegin;
  *error = -1;
  if (single->diagonals == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(HiSparseGetRounding(single->diagonals, stream, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what products keep beside the view. */
static PetscErrorCode Destroy_DCSR(Mat A, PETSC_UNUSED void **data)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (d->plans.spmv == NULL && d->plans.spmvt == NULL && d->plans.overflow == NULL && d->plans.spmm == NULL && d->plans.permutation == NULL && d->plans.transpose.row_offsets == NULL &&
      !HasSingle(&d->plans.single) && !HasSingle(&d->plans.transpose_single) && d->plans.list == NULL)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRBlockListDestroy(&d->plans.list, stream));
  PetscCall(DCSRSpMVPlanDestroy(&d->plans.spmv, stream));
  PetscCall(DCSRSpMVPlanDestroy(&d->plans.spmv_transpose, stream));
  PetscCall(DCSRSpMVTransposePlanDestroy(&d->plans.spmvt, stream));
  PetscCall(DCSROverflowDestroy(&d->plans.overflow, stream));
  d->plans.transpose_mults = 0;
  PetscCall(DCSRSpMMPlanDestroy(&d->plans.spmm, stream));
  PetscCall(DCSRViewFree(&d->plans.transpose, stream));
  PetscCall(PetscSparseCUDAFree(&d->plans.permutation, stream));
  PetscCall(ReleaseSingle_DCSR(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BytesOfSingle(const MatSingleValues *single, PetscCount num_nonzeros, PetscCount *bytes)
{
  HiSparseInfo info;
  size_t       plan = 0;

  PetscFunctionBegin;
  if (single->diagonals != NULL) {
    PetscCall(HiSparseGetInfo(single->diagonals, &info));
    *bytes += (PetscCount)info.bytes;
  }
  if (single->values == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (single->plan != NULL) PetscCall(DCSRSpMVPlanGetInfo(single->plan, NULL, NULL, &plan, NULL));
  *bytes += (PetscCount)((size_t)num_nonzeros * DCSR_SINGLE_BYTES + plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The view, unless other storage has replaced it, and what products keep beside it. */
static PetscErrorCode Bytes_DCSR(Mat A, PetscCount *bytes)
{
  Mat_SeqAIJCUDA *d           = MatSeqAIJCUDAGet(A);
  const size_t    offset_size = d->device.view.wide ? sizeof(int64_t) : sizeof(int32_t);
  size_t          plan        = 0;

  PetscFunctionBegin;
  if (MatSeqAIJCUDACSRReleased(A)) PetscFunctionReturn(PETSC_SUCCESS);
  *bytes += (PetscCount)(d->device.view.capacity * (PetscCount)(sizeof(PetscScalar) + sizeof(int32_t)));
  if (d->device.view.row_offsets != NULL) *bytes += (PetscCount)((d->device.view.num_rows + 1) * offset_size);
  else *bytes += (PetscCount)(2 * offset_size * (size_t)d->device.view.pitch * (size_t)d->device.view.max_segments + (size_t)d->device.view.num_rows * sizeof(int32_t));
  if (d->device.view.base_offsets != NULL) *bytes += (PetscCount)((d->device.view.num_rows + 1) * offset_size);
  if (d->plans.overflow != NULL) {
    PetscCall(DCSROverflowGetBytes(d->plans.overflow, &plan));
    *bytes += (PetscCount)plan;
  }
  if (d->plans.spmv != NULL) {
    PetscCall(DCSRSpMVPlanGetInfo(d->plans.spmv, NULL, NULL, &plan, NULL));
    *bytes += (PetscCount)plan;
  }
  if (d->plans.spmvt != NULL) {
    PetscCall(DCSRSpMVTransposePlanGetInfo(d->plans.spmvt, NULL, &plan, NULL));
    *bytes += (PetscCount)plan;
  }
  PetscCall(BytesOfSingle(&d->plans.single, d->device.view.num_nonzeros, bytes));
  PetscCall(BytesOfSingle(&d->plans.transpose_single, d->device.view.num_nonzeros, bytes));
  if (d->plans.spmv_transpose != NULL) {
    const DCSRView *t = &d->plans.transpose, *list = &t->list->view;

    *bytes += (PetscCount)((t->num_rows + 1) * offset_size + (size_t)t->num_nonzeros * (sizeof(PetscScalar) + sizeof(int32_t)));
    *bytes += (PetscCount)(list->row_offsets != NULL ? 2 * (size_t)list->num_nonzeros * sizeof(int32_t) : (size_t)t->num_nonzeros * offset_size); // permutation, and the list
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View_DCSR(Mat A, PetscViewer viewer)
{
  static const char *const also[] = {"", ", values also in half precision, as diagonals", ", values also in single precision, as diagonals", ", values also in single precision"};
  Mat_SeqAIJCUDA          *d      = MatSeqAIJCUDAGet(A);
  const char              *kernel = "none yet";
  PetscCount               bytes  = 0;
  HiSparseInfo             info   = {0};
  int                      k      = HasSingle(&d->plans.single) || HasSingle(&d->plans.transpose_single) ? 3 : 0;

  PetscFunctionBegin;
  if (d->plans.single.diagonals != NULL) {
    PetscCall(HiSparseGetInfo(d->plans.single.diagonals, &info));
    k = info.precision == HISPARSE_VALUES_HALF ? 1 : 2;
  }
  PetscCall(Bytes_DCSR(A, &bytes));
  if (d->plans.spmv != NULL) PetscCall(DCSRSpMVPlanGetInfo(d->plans.spmv, NULL, NULL, NULL, &kernel));
  PetscCall(PetscViewerASCIIPrintf(viewer, "dcsrcuda: %s, %" PetscInt_FMT " segments a row, %" PetscCount_FMT " of %" PetscCount_FMT " pool entries used, %.2f bytes a nonzero%s, SpMV kernel %s\n",
                                   d->device.view.row_offsets != NULL ? "compact" : "fragmented", d->device.view.row_offsets != NULL ? 1 : d->device.view.max_segments, d->device.view.used,
                                   d->device.view.capacity, (double)bytes / (double)PetscMax(d->device.view.num_nonzeros, 1), also[k], kernel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale_DCSR(Mat A, PetscScalar s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRScale(GetView(A), s, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal_DCSR(Mat A, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRGetDiagonal(GetView(A), diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MatDeviceStorageOps MatDeviceStorageDCSR = {
  .name          = MATDCSRCUDA,
  .destroy       = Destroy_DCSR,
  .bytes         = Bytes_DCSR,
  .view          = View_DCSR,
  .prepare       = Prepare_DCSR,
  .mult          = Mult_DCSR,
  .multepilogue  = MultEpilogue_DCSR,
  .releasesingle = ReleaseSingle_DCSR,
  .getrounding   = GetRounding_DCSR,
  .scale         = Scale_DCSR,
  .getdiagonal   = GetDiagonal_DCSR,
};
