/*
  Products of parallel matrices on the device: AB, AtB and PtAP; ABt, RARt and ABC are AB with a right factor that the product makes (productright.c).

  A B: the blocks of A, joined, times a stack of B's rows of this process and of those that A's ghost columns want from others.
  A^T B: rows of A^T that belong to other processes, times B, are partial sums that their owners get; the diagonal block's transpose, joined with a matrix of ones
  that adds what has come, times a stack of B's rows of this process and of what has come. P^T A P is one after the other; in slices (productslices.c) the products of
  both transposed blocks with A P are formed without it, and the identity takes the place of the first one.

  In all local matrices the own columns are numbered first, so that splitting a result into blocks is a search in each of its rows.
*/
#include <petscsparsecuda/ghosts.h>
#include <petscsparsecuda/product.h>
#include <petscsparsecuda/slices.h>

/* What the phases of a product keep. */
typedef struct {
  ProductOperand   operands[2][2]; /* blocks of A and of B */
  PetscInt        *ghosts[2];      /* [num_ghosts] host, owned: global numbers of the columns of their off-diagonal blocks */
  PetscInt         num_ghosts[2];
  ProductTranspose transposes[2]; /* of the blocks of the operand whose transpose is a factor */
  ProductColumns   columns;       /* AtB: of B */
  ProductStack     fetched;       /* AB, PtAP: rows of B */
  DCSRView         work;          /* PtAP: structure of A P, with the columns of fetched; in slices that of the transposed diagonal block times A P */
  ProductSlices    slices[2];     /* PtAP: of the products with the transposed blocks; all zero without slices */
  DCSRSpGEMM       work_plan;
  DCSRView         sent; /* AtB, PtAP: structure of the partial sums for other processes */
  DCSRSpGEMM       sent_plan;
  ProductStack     returned;
  DCSRView         selection;
  DCSRView         result; /* structure of the result before it is split */
  DCSRSpGEMM       plan;
  PetscObjectState result_nonzerostate;
  PetscBool        computed; /* the symbolic phase computed the values, too, and nobody has asked for them yet */
} MPIProduct;

static Mat Block(Mat X, int which)
{
  return which ? ((Mat_MPIAIJ *)X->data)->B : ((Mat_MPIAIJ *)X->data)->A;
}

/* Whether the product makes its right factor itself. */
static PetscBool MakesRight(Mat C)
{
  const MatProductType type = C->product->type;

  return (PetscBool)(type == MATPRODUCT_ABt || type == MATPRODUCT_RARt || type == MATPRODUCT_ABC);
}

/* What is computed with these two factors. */
static MatProductType Kind(Mat C)
{
  return MakesRight(C) ? MATPRODUCT_AB : C->product->type;
}

static void GetMats(Mat C, Mat mats[2])
{
  mats[0] = C->product->type == MATPRODUCT_RARt ? C->product->B : C->product->A;
  mats[1] = MakesRight(C) ? C->product->Dwork : C->product->B;
}

/* Which operand is transposed. */
static int Transposed(Mat C)
{
  return Kind(C) == MATPRODUCT_PtAP ? 1 : 0;
}

static PetscErrorCode DestroyPlan(DCSRSpGEMM *plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*plan != NULL) PetscCall(DCSRSpGEMMDestroy(plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Clear(MPIProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) PetscCall(ProductOperandDestroy(&p->operands[k / 2][k % 2], stream));
  for (int k = 0; k < 2; k++) PetscCall(ProductTransposeDestroy(&p->transposes[k], stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(p->ghosts[k]));
  PetscCall(ProductColumnsDestroy(&p->columns, stream));
  PetscCall(ProductStackDestroy(&p->fetched, stream));
  PetscCall(ProductStackDestroy(&p->returned, stream));
  PetscCall(DCSRViewFree(&p->work, stream));
  PetscCall(DCSRViewFree(&p->sent, stream));
  PetscCall(DCSRViewFree(&p->selection, stream));
  PetscCall(DCSRViewFree(&p->result, stream));
  PetscCall(DestroyPlan(&p->work_plan, stream));
  PetscCall(DestroyPlan(&p->sent_plan, stream));
  PetscCall(DestroyPlan(&p->plan, stream));
  PetscCall(PetscArrayzero(p, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(PetscCtxRt data)
{
  MPIProduct  *p = *(MPIProduct **)data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(Clear(p, stream));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values live while a phase runs. */
static PetscErrorCode DropValues(MPIProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(ProductTransposeDropValues(&p->transposes[k], stream));
  PetscCall(PetscSparseCUDAFree(&p->fetched.view.values, stream));
  PetscCall(PetscSparseCUDAFree(&p->returned.view.values, stream));
  PetscCall(PetscSparseCUDAFree(&p->work.values, stream));
  PetscCall(PetscSparseCUDAFree(&p->sent.values, stream));
  PetscCall(PetscSparseCUDAFree(&p->result.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many ghost columns there are on this process. */
static PetscInt NumGhosts(Mat X)
{
  const Mat_MPIAIJ *x = (const Mat_MPIAIJ *)X->data;

  return x->garray != NULL ? x->B->cmap->n : 0;
}

/* The star forest from the rows, or columns, of a layout to the ghost columns of X. Collective. */
static PetscErrorCode CreateGhostSF(Mat X, PetscLayout map, PetscSF *sf)
{
  const Mat_MPIAIJ *x = (const Mat_MPIAIJ *)X->data;

  PetscFunctionBegin;
  PetscCall(ProductCreateSF(map, NumGhosts(X), x->garray, sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views of the blocks of both operands. */
static PetscErrorCode GetOperands(Mat C, MPIProduct *p, cudaStream_t stream, DCSRView views[2][2])
{
  Mat mats[2];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 4; k++) PetscCall(ProductOperandGet(Block(mats[k / 2], k % 2), &p->operands[k / 2][k % 2], PETSC_TRUE, stream, &views[k / 2][k % 2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NotePatterns(Mat C, MPIProduct *p, DCSRView views[2][2], cudaStream_t stream)
{
  Mat mats[2];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 4; k++) PetscCall(ProductOperandNotePattern(views[k / 2][k % 2], &p->operands[k / 2][k % 2], stream));
  for (int k = 0; k < 2; k++) {
    p->num_ghosts[k] = NumGhosts(mats[k]);
    PetscCall(PetscMalloc1(p->num_ghosts[k], &p->ghosts[k]));
    PetscCall(PetscArraycpy(p->ghosts[k], ((Mat_MPIAIJ *)mats[k]->data)->garray, p->num_ghosts[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoteOperands(Mat C, MPIProduct *p, PetscBool values)
{
  Mat mats[2];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 4; k++) PetscCall(ProductOperandNote(Block(mats[k / 2], k % 2), &p->operands[k / 2][k % 2], values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transposes of both blocks. */
static PetscErrorCode GetTransposes(Mat C, MPIProduct *p, DCSRView views[2][2], PetscBool values, cudaStream_t stream)
{
  const int which = Transposed(C);
  Mat       mats[2];

  PetscFunctionBegin;
  GetMats(C, mats);
  for (int k = 0; k < 2; k++) PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, Block(mats[which], k), ProductTransposeGet(Block(mats[which], k), views[which][k], values, stream, &p->transposes[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure of the stack of B's rows. Collective. */
static PetscErrorCode CreateFetched(Mat C, MPIProduct *p, DCSRView B[2], cudaStream_t stream)
{
  Mat            mats[2];
  PetscSF        sf;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  GetMats(C, mats);
  PetscCall(CreateGhostSF(mats[0], mats[1]->rmap, &sf));
  ierr = ProductStackCreateFetched(mats[1], sf, B, stream, &p->fetched);
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of A, joined, times the stack of B's rows: into a new view or with values alone into one whose plan there is. */
static PetscErrorCode MultiplyJoined(Mat C, MPIProduct *p, DCSRView left, const char what[], PetscBool values, cudaStream_t stream, DCSRView *view, DCSRSpGEMM *plan)
{
  PetscFunctionBegin;
  if (*plan == NULL) PetscCall(ProductSymbolic(C, what, left, p->fetched.view, values, stream, view, plan));
  else {
    PetscCall(DCSRViewAllocateValues(view, stream));
    PetscCall(ProductNumeric(*plan, left, p->fetched.view, *view, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B. Collective. */
static PetscErrorCode MultiplyFetched(Mat C, MPIProduct *p, DCSRView A[2], DCSRView B[2], PetscBool values, cudaStream_t stream)
{
  DCSRView       left;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (values) PetscCall(ProductStackFill(&p->fetched, B, stream));
  PetscCall(ProductJoin(A[0], A[1], values, stream, &left));
  ierr = MultiplyJoined(C, p, left, "Product", values, stream, &p->result, &p->plan);
  PetscCall(ProductFreeJoined(A[0], &left, stream));
  PetscCall(PetscSparseCUDAFree(&p->fetched.view.values, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Structure of the stack of the right factor's rows and of partial sums. Collective. */
static PetscErrorCode CreateReturned(Mat C, MPIProduct *p, DCSRView right, const ProductColumns *columns, cudaStream_t stream)
{
  Mat            mats[2], X;
  PetscSF        sf;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  GetMats(C, mats);
  X = mats[Transposed(C)];
  PetscCall(CreateGhostSF(X, X->cmap, &sf));
  ierr = ProductStackCreateReturned(mats[1]->cmap, sf, p->sent, right, columns, stream, &p->returned, &p->selection);
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyUpperValues(DCSRView right, cudaStream_t stream, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateValues(view, stream));
  if (right.num_nonzeros > 0) PetscCallCUDA(cudaMemcpyAsync(view->values, right.values, (size_t)right.num_nonzeros * sizeof(*right.values), cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of that stack, after work of this process that ended with ierr. Collective. */
static PetscErrorCode FillReturned(PetscErrorCode ierr, MPIProduct *p, DCSRView right, const ProductColumns *columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = CopyUpperValues(right, stream, &p->returned.view);
  if (ierr == PETSC_SUCCESS) ierr = ProductStackPackValues(&p->returned, p->sent, columns, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)p->returned.rows.entries), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = ProductStackExchangeValues(&p->returned, stream);
  PetscCall(ProductStackFreeBuffers(&p->returned, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Partial sums for other processes: the transpose of the off-diagonal block times the right factor. */
static PetscErrorCode MultiplySent(Mat C, MPIProduct *p, DCSRView right, PetscBool values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (p->sent_plan == NULL) PetscCall(ProductSymbolic(C, "Rows for other processes", p->transposes[1].view, right, values, stream, &p->sent, &p->sent_plan));
  else {
    PetscCall(DCSRViewAllocateValues(&p->sent, stream));
    PetscCall(ProductNumeric(p->sent_plan, p->transposes[1].view, right, p->sent, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of this process and those that others have computed, of which there is a stack. */
static PetscErrorCode SumReturned(Mat C, MPIProduct *p, DCSRView own, PetscBool values, cudaStream_t stream)
{
  DCSRView       left;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ProductJoin(own, p->selection, values, stream, &left));
  if (p->plan == NULL) ierr = ProductSymbolic(C, "Product", left, p->returned.view, values, stream, &p->result, &p->plan);
  else {
    ierr = DCSRViewAllocateValues(&p->result, stream);
    if (ierr == PETSC_SUCCESS) ierr = ProductNumeric(p->plan, left, p->returned.view, p->result, stream);
  }
  PetscCall(ProductFreeJoined(own, &left, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The left factor, whose products with the rows of the right one are sums of this process, and the sums that others have computed; after work of this process that ended with ierr. Collective. */
static PetscErrorCode MultiplyReturned(PetscErrorCode ierr, Mat C, MPIProduct *p, DCSRView own, DCSRView right, const ProductColumns *columns, PetscBool values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (p->returned.rows.entries == NULL) {
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
    if (ierr == PETSC_SUCCESS) ierr = CreateReturned(C, p, right, columns, stream);
    PetscCall(ierr);
  }
  if (values) ierr = FillReturned(ierr, p, right, columns, stream);
  PetscCall(PetscSparseCUDAFree(&p->sent.values, stream));
  PetscCall(ierr);
  PetscCall(SumReturned(C, p, own, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transpose times the right factor, after work of this process that ended with ierr. Collective. */
static PetscErrorCode MultiplyTransposed(PetscErrorCode ierr, Mat C, MPIProduct *p, DCSRView right, const ProductColumns *columns, PetscBool values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = MultiplySent(C, p, right, values, stream);
  PetscCall(MultiplyReturned(ierr, C, p, p->transposes[0].view, right, columns, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transposed block of P times A P in slices, into a new view or with values alone into one that there is. */
static PetscErrorCode MultiplySliced(Mat C, DCSRView transpose, DCSRView A, DCSRView P, PetscBool values, cudaStream_t stream, ProductSlices *s, DCSRView *view)
{
  const DCSRView factors[3] = {transpose, A, P};

  PetscFunctionBegin;
  if (view->row_offsets == NULL) PetscCall(ProductSlicesSymbolic(C, factors, values, stream, s, view));
  else {
    PetscCall(DCSRViewAllocateValues(view, stream));
    PetscCall(ProductSlicesNumeric(C, factors, stream, s, *view));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The products of both transposed blocks of P with A P; into how many slices they are cut each process decides for itself, when the product is empty. *sliced: whether that was done. */
static PetscErrorCode MultiplyBothSliced(Mat C, MPIProduct *p, DCSRView A, PetscBool values, cudaStream_t stream, PetscBool *sliced)
{
  const PetscInt asked      = MatSeqAIJCUDAGet(Block(C->product->A, 0))->product_slices;
  const DCSRView factors[3] = {p->transposes[0].view, A, p->fetched.view};
  DCSRView      *views[2];

  PetscFunctionBegin;
  views[0] = &p->work;
  views[1] = &p->sent;
  if (p->work.row_offsets == NULL) PetscCall(ProductSlicesChoose(C, asked, factors, stream, &p->slices[0].num_slices));
  *sliced = (PetscBool)(p->slices[0].num_slices > 1);
  for (int k = 0; k < 2 && *sliced; k++) {
    p->slices[k].num_slices = PetscMax(PetscMin(p->slices[0].num_slices, p->transposes[k].view.num_rows), 1);
    PetscCall(MultiplySliced(C, p->transposes[k].view, A, p->fetched.view, values, stream, &p->slices[k], views[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T (A P) without A P. Collective. */
static PetscErrorCode FinishSliced(PetscErrorCode ierr, Mat C, MPIProduct *p, PetscBool values, cudaStream_t stream)
{
  DCSRView identity;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&identity, 1));
  if (ierr == PETSC_SUCCESS) ierr = DCSRIdentityCreate(p->work.num_rows, stream, &identity);
  ierr = MultiplyReturned(ierr, C, p, identity, p->work, &p->fetched.columns, values, stream);
  PetscCall(DCSRViewFree(&identity, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A P, or in slices the products of both transposed blocks of P with it. */
static PetscErrorCode ComputeIntermediate(Mat C, MPIProduct *p, DCSRView views[2][2], PetscBool values, cudaStream_t stream, PetscBool *sliced)
{
  DCSRView       A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ProductJoin(views[0][0], views[0][1], values, stream, &A));
  ierr = MultiplyBothSliced(C, p, A, values, stream, sliced);
  if (ierr == PETSC_SUCCESS && !*sliced) ierr = MultiplyJoined(C, p, A, "Intermediate product", values, stream, &p->work, &p->work_plan);
  PetscCall(ProductFreeJoined(views[0][0], &A, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P. Collective. */
static PetscErrorCode ComputeGalerkin(Mat C, MPIProduct *p, DCSRView views[2][2], PetscBool values, cudaStream_t stream)
{
  PetscBool      sliced = PETSC_FALSE;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (values) ierr = ProductStackFill(&p->fetched, views[1], stream);
  if (ierr == PETSC_SUCCESS) ierr = ComputeIntermediate(C, p, views, values, stream, &sliced);
  PetscCall(PetscSparseCUDAFree(&p->fetched.view.values, stream));
  if (sliced) PetscCall(FinishSliced(ierr, C, p, values, stream));
  else PetscCall(MultiplyTransposed(ierr, C, p, p->work, &p->fetched.columns, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of the result before it is split. */
static const ProductColumns *ResultColumns(Mat C, const MPIProduct *p)
{
  return Kind(C) == MATPRODUCT_AB ? &p->fetched.columns : &p->returned.columns;
}

/* A^T B */
static PetscErrorCode ComputeTransposed(Mat C, MPIProduct *p, DCSRView views[2][2], PetscBool values, cudaStream_t stream)
{
  DCSRView       right;
  Mat            mats[2];
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  GetMats(C, mats);
  PetscCall(PetscArrayzero(&right, 1));
  if (p->plan == NULL) ierr = ProductColumnsCreateOf(mats[1], stream, &p->columns);
  if (ierr == PETSC_SUCCESS) ierr = ProductJoin(views[1][0], views[1][1], values, stream, &right);
  ierr = MultiplyTransposed(ierr, C, p, right, &p->columns, values, stream);
  if (right.row_offsets != NULL) PetscCall(ProductFreeJoined(views[1][0], &right, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The result before it is split, after work of this process that ended with ierr: everything when the product is empty, and then values only with the flag; otherwise
  values alone. Values of the intermediate matrices may be there after an error. Collective.

  What the device does between two exchanges may fail on one process alone: all agree before the next exchange, so that nobody waits for the others. What comes after the
  last one the caller agrees about.
*/
static PetscErrorCode Compute(PetscErrorCode ierr, Mat C, MPIProduct *p, DCSRView views[2][2], PetscBool values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS && Kind(C) != MATPRODUCT_AB) ierr = GetTransposes(C, p, views, values, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
  PetscCall(ierr);
  if (Kind(C) != MATPRODUCT_AtB && p->fetched.rows.entries == NULL) PetscCall(CreateFetched(C, p, views[1], stream));
  if (Kind(C) == MATPRODUCT_AB) PetscCall(MultiplyFetched(C, p, views[0], views[1], values, stream));
  else if (Kind(C) == MATPRODUCT_AtB) PetscCall(ComputeTransposed(C, p, views, values, stream));
  else PetscCall(ComputeGalerkin(C, p, views, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the result, [2], and their ghost columns; with values, or zeros. */
static PetscErrorCode Split(Mat C, MPIProduct *p, PetscBool values, cudaStream_t stream, DCSRView blocks[], PetscInt *n, int32_t **columns)
{
  const DCSRColumns all = ResultColumns(C, p)->device;
  Mat               mats[2];
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  GetMats(C, mats);
  *columns = NULL;
  PetscCall(DCSRSplitColumns(p->result, all, stream, &blocks[0], &blocks[1]));
  for (int k = 0; k < 2; k++) {
    PetscCallGoto(ierr, failed, DCSRViewAllocateValues(&blocks[k], stream));
    if (!values) PetscCallGoto(ierr, failed, DCSRZero(blocks[k], stream));
  }
  if (values) PetscCallGoto(ierr, failed, DCSRSplitValues(p->result, blocks[0], blocks[1], stream));
  PetscCallGoto(ierr, failed, ProductRenumberGhosts(mats[1]->cmap->N, &blocks[1], stream, n, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(&blocks[0], stream));
  PetscCall(DCSRViewFree(&blocks[1], stream));
  PetscFunctionReturn(ierr);
}

/* Makes views the blocks of the result, which becomes a matrix of ours if it is not yet. Collective. */
static PetscErrorCode Install(Mat C, DCSRView blocks[], PetscInt n, const int32_t columns[])
{
  const PetscObjectState old = C->nonzerostate;
  Mat                    mats[2];
  PetscLayout            rows;

  PetscFunctionBegin;
  GetMats(C, mats);
  rows = Kind(C) == MATPRODUCT_AB ? mats[0]->rmap : mats[Transposed(C)]->cmap;
  PetscCall(MatSetSizes(C, rows->n, mats[1]->cmap->n, rows->N, mats[1]->cmap->N));
  PetscCall(MatSetType(C, ((PetscObject)mats[0])->type_name));
  PetscCall(ProductInstallBlocks(C, blocks, n, columns));
  PetscCall(ProductRaiseNonzeroState(C, old));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the result have new values on the device. */
static PetscErrorCode ResultChanged(Mat C)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSeqAIJCUDADeviceChanged(Block(C, k)));
    PetscCall(ProductReleaseBound(Block(C, k)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of the symbolic phase, into an empty product. Nothing stays allocated after an error, which all processes have. Collective. */
static PetscErrorCode Build(Mat C, MPIProduct *p, PetscBool values, cudaStream_t stream, DCSRView blocks[], PetscInt *n, int32_t **columns)
{
  DCSRView       views[2][2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(blocks, 2));
  *columns = NULL;
  ierr     = GetOperands(C, p, stream, views);
  ierr     = Compute(ierr, C, p, views, values, stream);
  if (ierr == PETSC_SUCCESS) ierr = NotePatterns(C, p, views, stream);
  if (ierr == PETSC_SUCCESS) ierr = Split(C, p, values, stream, blocks, n, columns); // the last that can fail
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) {
    PetscCall(DropValues(p, stream));
    PetscCall(NoteOperands(C, p, values));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&blocks[k], stream));
  PetscCall(PetscFree(*columns));
  PetscCall(Clear(p, stream));
  PetscFunctionReturn(ierr);
}

/* Builds everything anew and puts it in place of what was. Collective. */
static PetscErrorCode BuildAndInstall(Mat C, MPIProduct *p, PetscBool values)
{
  MPIProduct     built;
  DCSRView       blocks[2];
  PetscInt       n;
  int32_t       *columns;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscArrayzero(&built, 1));
  PetscCall(Build(C, &built, values, stream, blocks, &n, &columns));
  PetscCall(Clear(p, stream));
  *p   = built;
  ierr = Install(C, blocks, n, columns);
  PetscCall(PetscFree(columns));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(DCSRViewFree(&blocks[0], stream));
    PetscCall(DCSRViewFree(&blocks[1], stream));
  }
  PetscCall(ierr);
  PetscCall(ResultChanged(C));
  p->result_nonzerostate = C->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the result as compact storage on the device, when others took the structure from there. */
static PetscErrorCode PrepareResult(Mat C)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSeqAIJCUDACopyToDevice(Block(C, k)));
    PetscCall(MatSeqAIJCUDACompact(Block(C, k)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of the numeric phase with the structures there are. After an error, which all processes have, the result has its old values. Collective. */
static PetscErrorCode Refresh(Mat C, MPIProduct *p, DCSRView views[2][2], cudaStream_t stream)
{
  PetscErrorCode ierr = PrepareResult(C);

  PetscFunctionBegin;
  ierr = Compute(ierr, C, p, views, PETSC_TRUE, stream);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, DCSRSplitValues(p->result, MatSeqAIJCUDAGet(Block(C, 0))->view, MatSeqAIJCUDAGet(Block(C, 1))->view, stream));
  PetscCallGoto(ierr, cleanup, NoteOperands(C, p, PETSC_TRUE));
cleanup:
  PetscCall(DropValues(p, stream));
  PetscCall(ierr);
  PetscCall(ResultChanged(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the local part of an operand has the pattern that the product was built for; the same on all processes means that the layouts are the same, too. */
static PetscErrorCode OperandHasPattern(Mat X, const DCSRView views[], const MPIProduct *p, int which, cudaStream_t stream, PetscBool *has)
{
  PetscFunctionBegin;
  *has = (PetscBool)(NumGhosts(X) == p->num_ghosts[which]);
  if (*has) PetscCall(PetscArraycmp(((Mat_MPIAIJ *)X->data)->garray, p->ghosts[which], p->num_ghosts[which], has));
  for (int k = 0; k < 2 && *has; k++) PetscCall(ProductOperandHasPattern(Block(X, k), views[k], &p->operands[which][k], stream, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has changed on this process: patterns, values, and whether a ghost column is out of order. */
static PetscErrorCode GetOwnChanges(Mat C, const MPIProduct *p, DCSRView views[2][2], cudaStream_t stream, PetscBool changed[3])
{
  PetscBool has;
  Mat       mats[2];

  PetscFunctionBegin;
  GetMats(C, mats);
  changed[0] = (PetscBool)(p->result_nonzerostate != C->nonzerostate);
  changed[1] = PETSC_FALSE;
  changed[2] = (PetscBool) !(MatMPIAIJCUDAGhostsAscend(mats[0]) && MatMPIAIJCUDAGhostsAscend(mats[1]));
  for (int k = 0; k < 2; k++) {
    if (!changed[0]) {
      PetscCall(OperandHasPattern(mats[k], views[k], p, k, stream, &has));
      changed[0] = (PetscBool)!has;
    }
    for (int b = 0; b < 2; b++) {
      PetscCall(ProductOperandHasValues(Block(mats[k], b), &p->operands[k][b], &has));
      if (!has) changed[1] = PETSC_TRUE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Views of the operands, and whether patterns, and whether values, of operands or result have changed on some process. Collective. */
static PetscErrorCode GetChanges(Mat C, MPIProduct *p, cudaStream_t stream, DCSRView views[2][2], PetscBool *patterns, PetscBool *values)
{
  PetscBool      changed[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PetscErrorCode ierr       = GetOperands(C, p, stream, views);

  PetscFunctionBegin;
  if (ierr == PETSC_SUCCESS) ierr = GetOwnChanges(C, p, views, stream, changed);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
  PetscCall(ierr);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, changed, 3, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)C)));
  PetscCheck(!changed[2], PetscObjectComm((PetscObject)C), PETSC_ERR_SUP, "An operand was replaced by a matrix whose off-process columns are not in ascending order, as those of submatrices that the host made: make a new product with it");
  *patterns = changed[0];
  *values   = changed[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatProductNumeric_MPIAIJCUDA - Numeric phase of a product of parallel matrices on the device, or both phases again when a pattern has changed; see MatProductNumeric(). */
PetscErrorCode MatProductNumeric_MPIAIJCUDA(Mat C)
{
  MPIProduct     *p        = (MPIProduct *)C->product->data;
  const PetscBool computed = p != NULL ? p->computed : PETSC_FALSE;
  DCSRView        views[2][2];
  PetscBool       patterns = PETSC_FALSE, values = PETSC_FALSE;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCheck(p != NULL, PetscObjectComm((PetscObject)C), PETSC_ERR_ORDER, "Call MatProductSymbolic() first");
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatMPIAIJCUDAFinishInsertion(C));
  if (!computed && MakesRight(C)) PetscCall(ProductRightRefresh(C));
  PetscCall(GetChanges(C, p, stream, views, &patterns, &values));
  p->computed = PETSC_FALSE;
  if (patterns) {
    PetscCall(PetscInfo(C, "A pattern has changed since the symbolic phase, whose work is done again\n"));
    PetscCall(BuildAndInstall(C, p, PETSC_TRUE));
  } else if (!computed || values) PetscCall(Refresh(C, p, views, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(Mat C, PetscViewer viewer)
{
  const MPIProduct *p = (const MPIProduct *)C->product->data;

  PetscFunctionBegin;
  if (p == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProductViewPlan(viewer, "intermediate product on the first process", p->work_plan));
  PetscCall(ProductViewPlan(viewer, "rows of the first process for others", p->sent_plan));
  PetscCall(ProductViewPlan(viewer, "product on the first process", p->plan));
  for (int k = 0; k < 2; k++) PetscCall(ProductSlicesView(viewer, &p->slices[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the place of the right factor holds an operand: PETSc's basic products of three matrices keep what their first step makes there. */
static PetscBool RightIsOperand(Mat C)
{
  const Mat_Product *product = C->product;

  return (PetscBool)(product->Dwork != NULL && (product->Dwork == product->A || product->Dwork == product->B));
}

/* The right factor of operands that were replaced by others. */
static PetscErrorCode DropRight(Mat C)
{
  PetscFunctionBegin;
  if (!RightIsOperand(C)) PetscCall(MatDestroy(&C->product->Dwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the layouts fit; the parent says in words what does not. */
static PetscErrorCode LayoutsFit(Mat C, PetscBool *fit)
{
  const Mat_Product   *product = C->product;
  const MatProductType type    = product->type;

  PetscFunctionBegin;
  *fit = PETSC_TRUE;
  if (type == MATPRODUCT_ABt || type == MATPRODUCT_RARt) PetscCall(PetscLayoutCompare(product->A->cmap, product->B->cmap, fit));
  else if (type != MATPRODUCT_AtB) PetscCall(PetscLayoutCompare(product->A->cmap, product->B->rmap, fit));
  if (*fit && (type == MATPRODUCT_AtB || type == MATPRODUCT_PtAP)) PetscCall(PetscLayoutCompare(product->A->rmap, product->B->rmap, fit));
  if (*fit && type == MATPRODUCT_RARt) PetscCall(PetscLayoutCompare(product->A->rmap, product->B->cmap, fit));
  if (*fit && type == MATPRODUCT_ABC) PetscCall(PetscLayoutCompare(product->B->cmap, product->C->rmap, fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a parallel matrix can take part; its answer on this process. */
static PetscErrorCode OperandUsable(Mat X, PetscBool *usable)
{
  PetscBool blocks[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  *usable = (PetscBool)(X->assembled && !X->structure_only && !X->boundtocpu && X->rmap->N <= PETSC_INT32_MAX && X->cmap->N <= PETSC_INT32_MAX && MatMPIAIJCUDAGhostsAscend(X));
  for (int k = 0; k < 2 && *usable; k++) PetscCall(ProductOperandUsable(Block(X, k), PETSC_FALSE, &blocks[k]));
  *usable = (PetscBool)(*usable && blocks[0] && blocks[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device serves the product now. Collective. */
static PetscErrorCode Usable(Mat C, PetscBool *usable)
{
  const Mat mats[3] = {C->product->A, C->product->B, C->product->C};
  const int n       = C->product->type == MATPRODUCT_ABC ? 3 : 2;
  PetscBool fit, is, all = PETSC_TRUE;

  PetscFunctionBegin;
  *usable = PETSC_FALSE;
  if (C->structure_only || C->force_diagonals || C->product->type < MATPRODUCT_AB || C->product->type > MATPRODUCT_ABC || (MakesRight(C) && RightIsOperand(C))) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < n; k++) {
    PetscCall(MatIsMPIAIJCUDA(mats[k], &is));
    if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(LayoutsFit(C, &fit));
  if (!fit) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < n; k++) {
    PetscBool one;

    PetscCall(OperandUsable(mats[k], &one));
    all = (PetscBool)(all && one);
  }
  PetscCallMPI(MPIU_Allreduce(&all, usable, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)C)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_MPIAIJCUDA(Mat C)
{
  MPIProduct    *p;
  PetscBool      usable;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Usable(C, &usable));
  if (!usable) { // bound to the CPU meanwhile
    PetscCall(MatProductSymbolicOnHost_AIJCUDA(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DropRight(C));
  if (MakesRight(C)) PetscCall(ProductRightCreate(C));
  PetscCall(PetscNew(&p));
  ierr = BuildAndInstall(C, p, C->product->api_user);
  if (ierr != PETSC_SUCCESS) {
    PetscCall(Clear(p, stream));
    PetscCall(PetscFree(p));
    PetscCall(ierr);
  }
  p->computed            = C->product->api_user;
  C->product->data       = p;
  C->product->destroy    = Destroy;
  C->product->view       = View;
  C->ops->productnumeric = MatProductNumeric_MPIAIJCUDA;
  PetscCall(ProductSetNumericOfTwo(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_MPIAIJCUDA - Takes a product of parallel matrices to the device if it can serve it.

  Collective

  Input Parameter:
. C - the result, with its product set; A is a matrix of ours

  Output Parameter:
. done - whether the symbolic phase is set; the same on all processes
*/
PetscErrorCode MatProductSetFromOptions_MPIAIJCUDA(Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(DropRight(C));
  PetscCall(Usable(C, done));
  if (*done) C->ops->productsymbolic = MatProductSymbolic_MPIAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
