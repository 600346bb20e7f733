/*
  Products of parallel matrices on the device: AB, AtB and PtAP; ABt, RARt and ABC are AB with a right factor that the product makes (productright.c).

  A B: the blocks of A side by side (productjoined.c) times a stack of B's rows of this process and of those that A's ghost columns want from others.
  A^T B: rows of A^T that belong to other processes, times B, are partial sums that their owners get; the diagonal block's transpose, joined with a matrix of ones
  that adds what has come, times a stack of B's rows of this process and of what has come.
  P^T A P: A P as A B, and the products of both transposed blocks with it, or in slices (productslices.c) these without it. The identity, joined with that matrix of ones, times a stack of the
  product with the diagonal block and of what has come is the result. That product is small beside A P, of which a stack would be a copy.

  This is what is their own; productcycle.c has the rest. In all local matrices the own columns are numbered first, so that splitting a result into blocks is a search in each of its rows.
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"
#include "../insert/insert.h"
#include "../parallel/ghosts.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/slices.h>

/* What a product keeps. The operands of SparseProduct are the blocks of the left factor and those of the right one. */
typedef struct {
  PetscInt     *ghosts[2]; /* [num_ghosts] host, owned: global numbers of the columns of their off-diagonal blocks */
  PetscInt      num_ghosts[2];
  JoinedColumns columns;   /* AtB: of B */
  RowStack      fetched;   /* AB, PtAP: rows of B */
  DCSRView      work;      /* PtAP: structure of A P, with the columns of fetched, or its list of blocks alone; zero in slices */
  DCSRView      own;       /* PtAP: structure of the transposed diagonal block times A P */
  DCSRSpGEMM    own_plan;  /* NULL in slices */
  ProductSlices slices[2]; /* PtAP: of the products with the transposed blocks; all zero without slices */
  ProductJoined left;      /* AB, PtAP: of the left factor's blocks times fetched */
  DCSRView      sent;      /* AtB, PtAP: structure of the partial sums for other processes */
  DCSRSpGEMM    sent_plan;
  RowStack      returned;
  DCSRView      selection;
  DCSRView      result;        /* structure of the result before it is split */
  DCSRSpGEMM    plan;          /* AtB, PtAP: of the result; NULL for AB, whose result is that of left */
  int32_t      *result_ghosts; /* [num_result_ghosts] host, owned until the result is installed: its ghost columns */
  PetscInt      num_result_ghosts;
} MPIProduct;

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

/* The parallel matrices that are multiplied. */
static void GetFactors(Mat C, Mat factors[2])
{
  factors[0] = C->product->type == MATPRODUCT_RARt ? C->product->B : C->product->A;
  factors[1] = MakesRight(C) ? C->product->Dwork : C->product->B;
}

/* The blocks of both. */
static void GetMats(Mat C, Mat mats[])
{
  Mat factors[2];

  GetFactors(C, factors);
  for (int k = 0; k < PRODUCT_MAX_MATS; k++) mats[k] = MatMPIAIJCUDAGetBlock(factors[k / 2], k % 2);
}

/* Which factor is transposed. */
static int Transposed(Mat C)
{
  return Kind(C) == MATPRODUCT_PtAP ? 1 : 0;
}

static void GetTransposed(Mat C, int which[])
{
  for (int k = 0; k < 2; k++) which[k] = Kind(C) == MATPRODUCT_AB ? -1 : 2 * Transposed(C) + k;
}

/* ProductMPIGetBlocks - The blocks of the result, [2]. */
void ProductMPIGetBlocks(Mat C, Mat blocks[])
{
  for (int k = 0; k < 2; k++) blocks[k] = MatMPIAIJCUDAGetBlock(C, k);
}

/* Whether a parallel matrix can take part; its answer on this process. */
static PetscErrorCode OperandUsable(Mat X, PetscBool *usable)
{
  PetscBool blocks[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  *usable = (PetscBool)(X->assembled && !X->structure_only && !X->boundtocpu && X->rmap->N <= PETSC_INT32_MAX && X->cmap->N <= PETSC_INT32_MAX && MatMPIAIJCUDAGet(X)->state != PARALLEL_HOST);
  for (int k = 0; k < 2 && *usable; k++) PetscCall(MatOperandUsable(MatMPIAIJCUDAGetBlock(X, k), PETSC_FALSE, &blocks[k]));
  *usable = (PetscBool)(*usable && blocks[0] && blocks[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductMPIGetOperands - The operands [3], as the product has them, NULL for a third one that there is not, and how many these are. */
int ProductMPIGetOperands(Mat C, Mat operands[])
{
  operands[0] = C->product->A;
  operands[1] = C->product->B;
  operands[2] = C->product->type == MATPRODUCT_ABC ? C->product->C : NULL;
  return C->product->type == MATPRODUCT_ABC ? 3 : 2;
}

/* ProductMPIFits - Whether the operands are of types that the device takes: they are ours. */
PetscErrorCode ProductMPIFits(Mat C, PetscBool *fits)
{
  Mat       operands[3];
  const int n = ProductMPIGetOperands(C, operands);

  PetscFunctionBegin;
  *fits = PETSC_TRUE;
  for (int k = 0; k < n && *fits; k++) PetscCall(MatIsMPIAIJCUDA(operands[k], fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductMPIUsable - Whether the device supports the product now. Collective. */
PetscErrorCode ProductMPIUsable(Mat C, PetscBool *usable)
{
  Mat       operands[3];
  const int n = ProductMPIGetOperands(C, operands);
  PetscBool fit, all = PETSC_TRUE;

  PetscFunctionBegin;
  *usable = PETSC_FALSE;
  if (C->structure_only || C->force_diagonals || C->product->type < MATPRODUCT_AB || C->product->type > MATPRODUCT_ABC || (MakesRight(C) && ProductRightIsOperand(C)))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProductMPIFits(C, &fit));
  if (fit) PetscCall(ProductLayoutsFit(C, &fit));
  if (!fit) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < n; k++) {
    PetscBool one;

    PetscCall(OperandUsable(operands[k], &one));
    all = (PetscBool)(all && one);
  }
  PetscCallMPI(MPIU_Allreduce(&all, usable, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)C)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands may have been replaced: the right factor is made anew. Collective. */
static PetscErrorCode StartSymbolic(Mat C)
{
  PetscFunctionBegin;
  PetscCall(ProductRightDrop(C));
  if (MakesRight(C)) PetscCall(ProductRightCreate(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The right factor is renewed unless its values are those of the symbolic phase. Collective. */
static PetscErrorCode StartNumeric(Mat C, SparseProduct *p, PetscBool *current)
{
  PetscErrorCode ierr = MatMPIAIJCUDAFinishInsertion(C);

  PetscFunctionBegin;
  *current = PETSC_FALSE;
  if (!p->computed && MakesRight(C)) {
    PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)C), ierr, &ierr));
    if (ierr == PETSC_SUCCESS) ierr = ProductRightRefresh(C);
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ghost columns of both factors. */
static PetscErrorCode NoteGhosts(Mat C, SparseProduct *p)
{
  MPIProduct *d = (MPIProduct *)p->data;
  Mat         factors[2];

  PetscFunctionBegin;
  GetFactors(C, factors);
  for (int k = 0; k < 2; k++) {
    d->num_ghosts[k] = MatMPIAIJCUDANumGhosts(factors[k]);
    PetscCall(PetscMalloc1(d->num_ghosts[k], &d->ghosts[k]));
    PetscCall(PetscArraycpy(d->ghosts[k], ((Mat_MPIAIJ *)factors[k]->data)->garray, d->num_ghosts[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When they are the same on all processes, with the patterns of the blocks, the layouts are the same, too. */
static PetscErrorCode CompareGhosts(Mat C, const SparseProduct *p, PetscBool *same, PetscBool *ascend)
{
  const MPIProduct *d = (const MPIProduct *)p->data;
  Mat               factors[2];

  PetscFunctionBegin;
  GetFactors(C, factors);
  *same   = PETSC_TRUE;
  *ascend = (PetscBool)(MatMPIAIJCUDAGhostsAscend(factors[0]) && MatMPIAIJCUDAGhostsAscend(factors[1]));
  for (int k = 0; k < 2 && *same; k++) {
    *same = (PetscBool)(MatMPIAIJCUDANumGhosts(factors[k]) == d->num_ghosts[k]);
    if (*same) PetscCall(PetscArraycmp(((Mat_MPIAIJ *)factors[k]->data)->garray, d->ghosts[k], d->num_ghosts[k], same));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the right factor for the ghost columns of the left one: what is not there yet of their structure, and with the flag their values. Collective. */
static PetscErrorCode FetchRows(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  MPIProduct *d = (MPIProduct *)p->data;
  Mat         factors[2];

  PetscFunctionBegin;
  GetFactors(C, factors);
  if (!d->fetched.rows.messages.created) PetscCall(RowStackCreateFetched(factors[1], MatMPIAIJCUDANumGhosts(factors[0]), ((Mat_MPIAIJ *)factors[0]->data)->garray, &p->views[2], stream, &d->fetched));
  d->fetched.view.row_block    = p->views[2].row_block;
  d->fetched.view.column_block = p->views[2].column_block;
  if (values) PetscCall(RowStackFill(&d->fetched, &p->views[2], stream));
  if (d->fetched.view.list == NULL) PetscCall(DCSRBlockListCreate(0, 0, &d->fetched.view.list)); // last: it may fail on one process alone
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product on this process: into a new view, or with values alone into one whose plan there is. */
static PetscErrorCode MultiplyLocal(Mat C, const char what[], DCSRView left, DCSRView right, PetscBool values, cudaStream_t stream, DCSRView *view, DCSRSpGEMM *plan)
{
  PetscFunctionBegin;
  if (*plan == NULL) PetscCall(ProductSymbolic(C, what, left, right, values, stream, view, plan));
  else {
    PetscCall(DCSRViewAllocateValues(view, stream));
    PetscCall(ProductNumeric(*plan, left, right, *view, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of A, side by side, times the stack of B's rows, whose values are freed; structure: a list of blocks is not enough. */
static PetscErrorCode MultiplyFetched(Mat C, const char what[], SparseProduct *p, PetscBool structure, PetscBool values, cudaStream_t stream, DCSRView *view)
{
  MPIProduct *d = (MPIProduct *)p->data;

  PetscFunctionBegin;
  if (d->left.slices == NULL) PetscCall(ProductJoinedSymbolic(C, what, p->views, d->fetched.view, structure, values, stream, view, &d->left));
  else {
    PetscCall(DCSRViewAllocateValues(view, stream));
    PetscCall(ProductJoinedNumeric(&d->left, p->views, d->fetched.view, *view, stream));
  }
  PetscCall(PetscSparseCUDAFree(&d->fetched.view.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is multiplied at last when a factor is transposed, before the partial sums of other processes are joined to it. */
typedef struct {
  DCSRView             left, right; /* borrowed; their product are the sums of this process */
  const JoinedColumns *columns;     /* of right, borrowed */
  DCSRView             joined;      /* AtB: the blocks of B, to be freed with FreeJoinedBlocks() */
  DCSRView             identity;    /* PtAP, owned */
} Sums;

static PetscErrorCode SumsDestroy(const SparseProduct *p, Sums *sums, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (sums->joined.row_offsets != NULL) PetscCall(FreeJoinedBlocks(p->views[2], &sums->joined, stream));
  PetscCall(DCSRViewFree(&sums->identity, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of A^T B. */
static PetscErrorCode GetSumsOfTwo(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream, Sums *sums)
{
  MPIProduct *d = (MPIProduct *)p->data;
  Mat         factors[2];

  PetscFunctionBegin;
  GetFactors(C, factors);
  if (d->plan == NULL) PetscCall(JoinedColumnsCreateOf(factors[1], stream, &d->columns));
  PetscCall(JoinBlocks(p->views[2], p->views[3], values, stream, &sums->joined));
  sums->left    = p->transposes[0].view;
  sums->right   = sums->joined;
  sums->columns = &d->columns;
  PetscCall(MultiplyLocal(C, "Rows for other processes", p->transposes[1].view, sums->right, values, stream, &d->sent, &d->sent_plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transposed block of P times A P in slices, into a new view or with values alone into one that there is. */
static PetscErrorCode MultiplySliced(Mat C, const DCSRView factors[], PetscBool values, cudaStream_t stream, ProductSlices *s, DCSRView *view)
{
  PetscFunctionBegin;
  if (view->row_offsets == NULL) PetscCall(ProductSlicesSymbolic(C, factors, values, stream, s, view));
  else {
    PetscCall(DCSRViewAllocateValues(view, stream));
    PetscCall(ProductSlicesNumeric(C, factors, stream, s, *view));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The products of both transposed blocks of P with A P; into how many slices they are cut each process decides for itself, when the product is empty. *sliced: whether that was done. */
static PetscErrorCode MultiplyBothSliced(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream, PetscBool *sliced)
{
  MPIProduct    *d          = (MPIProduct *)p->data;
  const PetscInt asked      = MatSeqAIJCUDAGet(MatMPIAIJCUDAGetBlock(C->product->A, 0))->options.product_slices;
  DCSRView       factors[4] = {p->transposes[0].view, p->views[0], p->views[1], d->fetched.view};
  DCSRView      *views[2];

  PetscFunctionBegin;
  views[0] = &d->own;
  views[1] = &d->sent;
  if (d->own.row_offsets == NULL) PetscCall(ProductSlicesChoose(C, asked, factors, stream, &d->slices[0].num_slices));
  *sliced = (PetscBool)(d->slices[0].num_slices > 1);
  for (int k = 0; k < 2 && *sliced; k++) {
    d->slices[k].num_slices = PetscMax(PetscMin(d->slices[0].num_slices, p->transposes[k].view.num_rows), 1);
    factors[0]              = p->transposes[k].view;
    PetscCall(MultiplySliced(C, factors, values, stream, &d->slices[k], views[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transposed block of P times A P, whose blocks are listed once; where they do not serve, its structure is made. */
static PetscErrorCode MultiplyWork(Mat C, const char what[], DCSRView left, PetscBool values, cudaStream_t stream, MPIProduct *d, DCSRView *view, DCSRSpGEMM *plan)
{
  PetscFunctionBegin;
  if (d->work.list == NULL) PetscCall(DCSRBlockListCreate(0, 0, &d->work.list));
  PetscCall(MultiplyLocal(C, what, left, d->work, values, stream, view, plan));
  if (*plan != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DCSRSpGEMMExpand(&d->work, stream));
  PetscCall(MultiplyLocal(C, what, left, d->work, values, stream, view, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with A P, whose values are freed. */
static PetscErrorCode MultiplyBoth(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  MPIProduct *d = (MPIProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(MultiplyFetched(C, "Intermediate product", p, PETSC_FALSE, values, stream, &d->work));
  PetscCall(MultiplyWork(C, "Rows for other processes", p->transposes[1].view, values, stream, d, &d->sent, &d->sent_plan));
  PetscCall(MultiplyWork(C, "Rows of this process", p->transposes[0].view, values, stream, d, &d->own, &d->own_plan));
  PetscCall(PetscSparseCUDAFree(&d->work.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of P^T A P: the products of both transposed blocks with A P. */
static PetscErrorCode GetSumsOfThree(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream, Sums *sums)
{
  MPIProduct *d = (MPIProduct *)p->data;
  PetscBool   sliced;

  PetscFunctionBegin;
  PetscCall(MultiplyBothSliced(C, p, values, stream, &sliced));
  if (sliced) PetscCall(PetscSparseCUDAFree(&d->fetched.view.values, stream));
  else PetscCall(MultiplyBoth(C, p, values, stream));
  PetscCall(DCSRIdentityCreate(d->own.num_rows, stream, &sums->identity));
  sums->left    = sums->identity;
  sums->right   = d->own;
  sums->columns = &d->fetched.columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who returns which partial sums to whom, and the structure of the stack of the right factor's rows and of these. Collective. */
static PetscErrorCode CreateReturned(Mat C, SparseProduct *p, const Sums *sums, cudaStream_t stream)
{
  MPIProduct *d = (MPIProduct *)p->data;
  Mat         factors[2], X;

  PetscFunctionBegin;
  GetFactors(C, factors);
  X = factors[Transposed(C)];
  PetscCall(RowStackCreateReturned(factors[1]->cmap, X->cmap, ((Mat_MPIAIJ *)X->data)->garray, d->sent, sums->right, sums->columns, stream, &d->returned, &d->selection));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the right factor's rows of that stack, and packed ones for other processes. */
static PetscErrorCode PackReturned(MPIProduct *d, const Sums *sums, cudaStream_t stream)
{
  DCSRView      *view  = &d->returned.view;
  const DCSRView right = sums->right;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateValues(view, stream));
  if (right.num_nonzeros > 0) PetscCallCUDA(cudaMemcpyAsync(view->values, right.values, (size_t)right.num_nonzeros * sizeof(*right.values), cudaMemcpyDeviceToDevice, stream));
  PetscCall(RowStackPackValues(&d->returned, d->sent, sums->columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of this process and those that others have computed, of which there is a stack. */
static PetscErrorCode SumReturned(Mat C, MPIProduct *d, const Sums *sums, PetscBool values, cudaStream_t stream)
{
  DCSRView       left;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(JoinBlocks(sums->left, d->selection, values, stream, &left));
  ierr = MultiplyLocal(C, "Product", left, d->returned.view, values, stream, &d->result, &d->plan);
  PetscCall(FreeJoinedBlocks(sums->left, &left, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of this process, and those that it has for others. */
static PetscErrorCode GetSums(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream, Sums *sums)
{
  PetscFunctionBegin;
  if (Kind(C) == MATPRODUCT_AtB) PetscCall(GetSumsOfTwo(C, p, values, stream, sums));
  else PetscCall(GetSumsOfThree(C, p, values, stream, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B. Collective. */
static PetscErrorCode MultiplyTwo(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  MPIProduct *d = (MPIProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(FetchRows(C, p, values, stream));
  PetscCall(MultiplyFetched(C, "Product", p, PETSC_TRUE, values, stream, &d->result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B and P^T A P: work of this process, the agreement, an exchange, and so on. Collective. */
static PetscErrorCode MultiplyTransposed(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)C);
  MPIProduct    *d    = (MPIProduct *)p->data;
  Sums           sums;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&sums, 1));
  if (Kind(C) == MATPRODUCT_PtAP) ierr = FetchRows(C, p, values, stream); // agrees itself

  if (ierr == PETSC_SUCCESS) ierr = GetSums(C, p, values, stream, &sums);
  if (!d->returned.rows.messages.created) {
    PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
    if (ierr == PETSC_SUCCESS) ierr = CreateReturned(C, p, &sums, stream);
    if (ierr != PETSC_SUCCESS) goto cleanup; // on all processes
  }
  if (values) {
    if (ierr == PETSC_SUCCESS) ierr = PackReturned(d, &sums, stream);
    PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
    if (ierr == PETSC_SUCCESS) ierr = RowStackExchangeValues(&d->returned, stream);
    PetscCall(RowStackFreeBuffers(&d->returned, stream));
  }
  PetscCall(PetscSparseCUDAFree(&d->sent.values, stream));

  if (ierr == PETSC_SUCCESS) ierr = SumReturned(C, d, &sums, values, stream);
cleanup:
  PetscCall(SumsDestroy(p, &sums, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result before it is split. Collective. */
static PetscErrorCode Multiply(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (Kind(C) == MATPRODUCT_AB) PetscCall(MultiplyTwo(C, p, values, stream));
  else PetscCall(MultiplyTransposed(C, p, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result is split into blocks; ghost columns that it does not use are dropped. */
static PetscErrorCode GetResult(Mat C, SparseProduct *p, PetscBool values, cudaStream_t stream)
{
  MPIProduct       *d   = (MPIProduct *)p->data;
  const DCSRColumns all = Kind(C) == MATPRODUCT_AB ? d->fetched.columns.device : d->returned.columns.device;
  Mat               factors[2];

  PetscFunctionBegin;
  GetFactors(C, factors);
  PetscCall(DCSRSplitColumns(d->result, all, stream, &p->blocks[0], &p->blocks[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(DCSRViewAllocateValues(&p->blocks[k], stream));
    if (!values) PetscCall(DCSRZero(p->blocks[k], stream));
  }
  if (values) PetscCall(DCSRSplitValues(d->result, p->blocks[0], p->blocks[1], stream));
  PetscCall(GhostColumnsRenumber(factors[1]->cmap->N, &p->blocks[1], stream, &d->num_result_ghosts, &d->result_ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes views the blocks of the result. Collective. */
static PetscErrorCode Install(Mat C, SparseProduct *p)
{
  MPIProduct *d = (MPIProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(ProductInstallBlocks(C, p, d->num_result_ghosts, d->result_ghosts));
  PetscCall(PetscFree(d->result_ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the result, whose patterns are as they were, get the values. */
static PetscErrorCode SetValues(Mat C, SparseProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSplitValues(((MPIProduct *)p->data)->result, MatSeqAIJCUDAGet(MatMPIAIJCUDAGetBlock(C, 0))->device.view, MatSeqAIJCUDAGet(MatMPIAIJCUDAGetBlock(C, 1))->device.view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DropValues(SparseProduct *p, cudaStream_t stream)
{
  MPIProduct *d = (MPIProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&d->fetched.view.values, stream));
  PetscCall(PetscSparseCUDAFree(&d->returned.view.values, stream));
  PetscCall(PetscSparseCUDAFree(&d->work.values, stream));
  PetscCall(PetscSparseCUDAFree(&d->own.values, stream));
  PetscCall(PetscSparseCUDAFree(&d->sent.values, stream));
  PetscCall(PetscSparseCUDAFree(&d->result.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPlan(DCSRSpGEMM *plan, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*plan != NULL) PetscCall(DCSRSpGEMMDestroy(plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Clear(SparseProduct *p, cudaStream_t stream)
{
  MPIProduct *d = (MPIProduct *)p->data;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(d->ghosts[k]));
  PetscCall(PetscFree(d->result_ghosts));
  PetscCall(JoinedColumnsDestroy(&d->columns, stream));
  PetscCall(RowStackDestroy(&d->fetched, stream));
  PetscCall(RowStackDestroy(&d->returned, stream));
  PetscCall(DCSRViewFree(&d->work, stream));
  PetscCall(DCSRViewFree(&d->own, stream));
  PetscCall(DCSRViewFree(&d->sent, stream));
  PetscCall(DCSRViewFree(&d->selection, stream));
  PetscCall(DCSRViewFree(&d->result, stream));
  PetscCall(ProductJoinedDestroy(&d->left, stream));
  PetscCall(DestroyPlan(&d->own_plan, stream));
  PetscCall(DestroyPlan(&d->sent_plan, stream));
  PetscCall(DestroyPlan(&d->plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(const SparseProduct *p, PetscViewer viewer)
{
  const MPIProduct *d = (const MPIProduct *)p->data;

  PetscFunctionBegin;
  PetscCall(ProductJoinedView(viewer, d->plan != NULL ? "intermediate product on the first process" : "product on the first process", &d->left));
  PetscCall(ProductViewPlan(viewer, "rows of the first process for others", d->sent_plan));
  PetscCall(ProductViewPlan(viewer, "rows of the first process for itself", d->own_plan));
  PetscCall(ProductViewPlan(viewer, "product on the first process", d->plan));
  for (int k = 0; k < 2; k++) PetscCall(ProductSlicesView(viewer, &d->slices[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const ProductOps mpi_ops = {
  .size          = sizeof(MPIProduct),
  .getmats       = GetMats,
  .gettransposed = GetTransposed,
  .getblocks     = ProductMPIGetBlocks,
  .fits          = ProductMPIFits,
  .usable        = ProductMPIUsable,
  .choose        = ProductMPIChoose,
  .startsymbolic = StartSymbolic,
  .startnumeric  = StartNumeric,
  .multiply      = Multiply,
  .getresult     = GetResult,
  .install       = Install,
  .setvalues     = SetValues,
  .noteghosts    = NoteGhosts,
  .compareghosts = CompareGhosts,
  .dropvalues    = DropValues,
  .clear         = Clear,
  .view          = View,
};

/* ProductMPIChoose - Where no process has ghost columns of an operand, each multiplies its diagonal blocks: on levels that are on one process, and with block diagonal matrices. Collective. */
PetscErrorCode ProductMPIChoose(Mat C, const ProductOps **ops)
{
  Mat       operands[3];
  const int n      = ProductMPIGetOperands(C, operands);
  PetscBool ghosts = PETSC_FALSE;

  PetscFunctionBegin;
  for (int k = 0; k < n; k++) ghosts = (PetscBool)(ghosts || MatMPIAIJCUDANumGhosts(operands[k]) > 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ghosts, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)C)));
  *ops = ghosts ? &mpi_ops : &ProductBlocksOps;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_MPIAIJCUDA(Mat C)
{
  PetscFunctionBegin;
  PetscCall(ProductCycleSymbolic(C, &mpi_ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_MPIAIJCUDA - Takes a product of parallel matrices to the device if it can compute it; C has its product set, A is a matrix of ours. Collective.

  *done says whether the symbolic phase is set; the same on all processes.
*/
PetscErrorCode MatProductSetFromOptions_MPIAIJCUDA(Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(ProductCycleSetFromOptions(C, &mpi_ops, MatProductSymbolic_MPIAIJCUDA, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}
