/*
  Products of a sequential matrix with a dense one on the device: C = A B and C = A^T B, with dense matrices of any memory type.

  What is made of A's structure is kept with A, that of its transpose with the product, unless A keeps a transpose anyway.
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"
#include <petscsparsecuda/report.h>

/* What the phases of a product with the transpose keep. */
typedef struct {
  MatOperand       operand; /* pattern that the transpose and its plan are of */
  ProductTranspose transpose;
  DCSRSpMMPlan     plan;
} DenseProduct;

/* A dense matrix as kernels see it. */
typedef struct {
  Mat          mat;     /* NULL: nothing to give back */
  PetscScalar *array;   /* its own */
  PetscInt     lda;     /* of its own array */
  PetscBool    bound;   /* to the CPU, which the functions with a memory type would end */
  PetscScalar *scratch; /* [rows x columns] on the device, of a matrix whose array is on the host; else NULL */
} DenseArray;

static PetscErrorCode Clear(DenseProduct *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMMPlanDestroy(&p->plan, stream));
  PetscCall(ProductTransposeDestroy(&p->transpose, stream));
  PetscCall(MatOperandDestroy(&p->operand, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(PetscCtxRt data)
{
  DenseProduct *p = *(DenseProduct **)data;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(Clear(p, stream));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PRODUCT_DESTROY_DEFINE(Destroy)

/* A's storage and the plan that it keeps. */
static PetscErrorCode GetFactor(Mat A, cudaStream_t stream, DCSRView *view, DCSRSpMMPlan *plan)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetCompact(A, view));
  PetscCall(MatOperandNoteBlockSizes(A, view));
  if (d->plans.spmm == NULL) PetscCallLogged(PETSCSPARSECUDA_SpMVAnalysis, A, DCSRSpMMPlanCreate(*view, DCSR_SPMM_AUTO, stream, &d->plans.spmm));
  *plan = d->plans.spmm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage of A's transpose, with values, and its plan. */
static PetscErrorCode GetTransposedFactor(Mat A, DenseProduct *p, cudaStream_t stream, DCSRView *view, DCSRSpMMPlan *plan)
{
  DCSRView  a;
  PetscBool has;

  PetscFunctionBegin;
  PetscCall(MatOperandGet(A, &p->operand, PETSC_TRUE, stream, &a));
  PetscCall(MatOperandHasPattern(A, a, &p->operand, stream, &has));
  if (!has) {
    PetscCall(Clear(p, stream));
    PetscCall(MatOperandNotePattern(A, a, &p->operand, stream));
  }
  PetscCallLogged(PETSCSPARSECUDA_TransposeAnalysis, A, ProductTransposeGet(A, a, PETSC_TRUE, stream, &p->transpose));
  if (p->plan == NULL) PetscCall(DCSRSpMMPlanCreate(p->transpose.view, DCSR_SPMM_AUTO, stream, &p->plan));
  PetscCall(MatOperandNote(A, &p->operand, PETSC_FALSE));
  *view = p->transpose.view;
  *plan = p->plan;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t ColumnBytes(const DenseArray *x)
{
  return (size_t)x->mat->rmap->n * sizeof(PetscScalar);
}

/* Whether there is anything to copy between host and device. */
static PetscBool HasEntries(const DenseArray *x)
{
  return (PetscBool)(x->mat->rmap->n > 0 && x->mat->cmap->n > 0);
}

/* Scratch for a matrix on the host; the columns of one that is read are copied there. */
static PetscErrorCode StageDense(DenseArray *x, PetscBool read, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)x->mat->rmap->n * (size_t)x->mat->cmap->n, "a dense matrix that lives on the host", stream, &x->scratch));
  if (!read || !HasEntries(x)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallReported(REPORT_OPERAND, NULL, PetscSparseCUDACopyToDevice2D(x->scratch, ColumnBytes(x), x->array, (size_t)x->lda * sizeof(PetscScalar), ColumnBytes(x), (size_t)x->mat->cmap->n, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)ColumnBytes(x) * (PetscLogDouble)x->mat->cmap->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArray(Mat X, PetscBool read, DenseArray *x, PetscMemType *mtype)
{
  PetscFunctionBegin;
  *mtype   = PETSC_MEMTYPE_HOST;
  x->bound = X->boundtocpu;
  if (x->bound && read) PetscCall(MatDenseGetArrayRead(X, (const PetscScalar **)&x->array));
  else if (x->bound) PetscCall(MatDenseGetArrayWrite(X, &x->array));
  else if (read) PetscCall(MatDenseGetArrayReadAndMemType(X, (const PetscScalar **)&x->array, mtype));
  else PetscCall(MatDenseGetArrayWriteAndMemType(X, &x->array, mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After an error too, RestoreDense() gives back what was taken. */
static PetscErrorCode GetDense(Mat X, PetscBool read, cudaStream_t stream, DenseArray *x)
{
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &x->lda));
  PetscCall(GetArray(X, read, x, &mtype));
  x->mat = X;
  if (PetscMemTypeHost(mtype)) PetscCall(StageDense(x, read, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Results of a matrix that lives on the host. */
static PetscErrorCode CopyDenseToHost(const DenseArray *x, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!HasEntries(x)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallReported(REPORT_OPERAND, NULL, PetscSparseCUDACopyToHost2D(x->array, (size_t)x->lda * sizeof(PetscScalar), x->scratch, ColumnBytes(x), ColumnBytes(x), (size_t)x->mat->cmap->n, stream));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)ColumnBytes(x) * (PetscLogDouble)x->mat->cmap->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreArray(DenseArray *x, PetscBool read, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&x->scratch, stream));
  if (x->bound && read) PetscCall(MatDenseRestoreArrayRead(x->mat, (const PetscScalar **)&x->array));
  else if (x->bound) PetscCall(MatDenseRestoreArrayWrite(x->mat, &x->array));
  else if (read) PetscCall(MatDenseRestoreArrayReadAndMemType(x->mat, (const PetscScalar **)&x->array));
  else PetscCall(MatDenseRestoreArrayWriteAndMemType(x->mat, &x->array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back what GetDense() took, after an operation that returned ierr, which is handed on; results of one that failed are not copied. */
static PetscErrorCode RestoreDense(DenseArray *x, PetscBool read, cudaStream_t stream, PetscErrorCode ierr)
{
  PetscErrorCode restored;

  if (x->mat == NULL) return ierr;
  if (ierr == PETSC_SUCCESS && x->scratch != NULL && !read) ierr = CopyDenseToHost(x, stream);
  restored = RestoreArray(x, read, stream);
  return ierr != PETSC_SUCCESS ? ierr : restored;
}

static PetscErrorCode Launch(DCSRSpMMPlan plan, DCSRView view, const DenseArray *b, const DenseArray *c, cudaStream_t stream)
{
  const PetscInt columns = b->mat->cmap->n, ldb = b->scratch != NULL ? b->mat->rmap->n : b->lda, ldc = c->scratch != NULL ? c->mat->rmap->n : c->lda;

  PetscFunctionBegin;
  PetscCallGpuTime(DCSRSpMMApply(plan, view, columns, b->scratch != NULL ? b->scratch : b->array, ldb, c->scratch != NULL ? c->scratch : c->array, ldc, stream));
  PetscCall(PetscLogGpuFlops((2.0 * (PetscLogDouble)view.num_nonzeros - (PetscLogDouble)view.num_rows) * (PetscLogDouble)columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComputeOnDevice(Mat A, PetscBool transpose, Mat B, Mat C, cudaStream_t stream)
{
  DenseProduct  *p = (DenseProduct *)C->product->data;
  DenseArray     b = {.mat = NULL}, c = {.mat = NULL};
  DCSRView       view;
  DCSRSpMMPlan   plan = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!transpose) PetscCall(GetFactor(A, stream, &view, &plan));
  else PetscCallGoto(ierr, restore, GetTransposedFactor(A, p, stream, &view, &plan));
  PetscCallGoto(ierr, restore, GetDense(B, PETSC_TRUE, stream, &b));
  PetscCallGoto(ierr, restore, GetDense(C, PETSC_FALSE, stream, &c));
  ierr = Launch(plan, view, &b, &c, stream);
restore:
  ierr = RestoreDense(&b, PETSC_TRUE, stream, ierr);
  ierr = RestoreDense(&c, PETSC_FALSE, stream, ierr);
  PetscCall(ProductTransposeDropValues(&p->transpose, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For a matrix that was bound to the CPU after the symbolic phase. */
static PetscErrorCode ComputeByColumns(Mat A, PetscBool transpose, Mat B, Mat C)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < B->cmap->N; j++) {
    Vec x, y;

    PetscCall(MatDenseGetColumnVecRead(B, j, &x));
    PetscCall(MatDenseGetColumnVecWrite(C, j, &y));
    if (transpose) PetscCall(MatMultTranspose(A, x, y));
    else PetscCall(MatMult(A, x, y));
    PetscCall(MatDenseRestoreColumnVecWrite(C, j, &y));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compute(Mat A, PetscBool transpose, Mat B, Mat C)
{
  const PetscInt m = transpose ? A->cmap->n : A->rmap->n, k = transpose ? A->rmap->n : A->cmap->n;
  PetscBool      usable;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCheck(C->product != NULL && C->product->data != NULL, PETSC_COMM_SELF, PETSC_ERR_ORDER, "Call MatProductSymbolic() first");
  PetscCheck(B->rmap->n == k && C->rmap->n == m && C->cmap->n == B->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Sizes do not fit: %" PetscInt_FMT " x %" PetscInt_FMT "%s times %" PetscInt_FMT " x %" PetscInt_FMT " into %" PetscInt_FMT " x %" PetscInt_FMT, A->rmap->n, A->cmap->n,
             transpose ? ", transposed," : "", B->rmap->n, B->cmap->n, C->rmap->n, C->cmap->n);
  PetscCall(MatOperandUsable(A, PETSC_FALSE, &usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(ComputeOnDevice(A, transpose, B, C, stream));
  } else PetscCall(ComputeByColumns(A, transpose, B, C));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultNumeric_SeqAIJCUDA_SeqDense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(Compute(A, PETSC_FALSE, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_SeqAIJCUDA_SeqDense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(Compute(A, PETSC_TRUE, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_SeqAIJCUDA_SeqDense(Mat C)
{
  PetscFunctionBegin;
  PetscCall(Compute(C->product->A, (PetscBool)(C->product->type == MATPRODUCT_AtB), C->product->B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes, block sizes and type of the result: a dense matrix keeps its type, all others get that of B. */
static PetscErrorCode SetUpResult(Mat C)
{
  const Mat         A = C->product->A, B = C->product->B;
  const PetscBool   transpose = (PetscBool)(C->product->type == MATPRODUCT_AtB);
  const PetscLayout rows      = transpose ? A->cmap : A->rmap;
  PetscBool         dense;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->n, B->cmap->n));
  if (rows->bs > 0) PetscCall(PetscLayoutSetBlockSize(C->rmap, rows->bs));
  if (B->cmap->bs > 0) PetscCall(PetscLayoutSetBlockSize(C->cmap, B->cmap->bs));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATSEQDENSE, &dense));
  if (!dense) {
    PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
    PetscCall(MatSetVecType(C, B->defaultvectype));
  }
  PetscCall(MatSetUp(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_SeqAIJCUDA_SeqDense(Mat C)
{
  DenseProduct *p;

  PetscFunctionBegin;
  PetscCheck(C->product->data == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Product data not empty");
  PetscCall(SetUpResult(C));
  PetscCall(PetscNew(&p));
  C->product->data       = p;
  C->product->destroy    = PRODUCT_DESTROY(Destroy);
  C->ops->productnumeric = MatProductNumeric_SeqAIJCUDA_SeqDense;
  // PETSc calls the one with three matrices for a product that is part of a triple product with a dense matrix in the middle
  if (C->product->type == MATPRODUCT_AB) C->ops->matmultnumeric = MatMatMultNumeric_SeqAIJCUDA_SeqDense;
  else C->ops->transposematmultnumeric = MatTransposeMatMultNumeric_SeqAIJCUDA_SeqDense;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatProductSetFromOptions_SeqAIJCUDA_SeqDense - Takes a product of a sequential matrix with a dense one to the device if it can compute it; C has its product set.

  *done says whether the symbolic phase is set: for A B and A^T B with a matrix A of ours on the device and B a MATSEQDENSE or MATSEQDENSECUDA.
*/
PetscErrorCode MatProductSetFromOptions_SeqAIJCUDA_SeqDense(Mat C, PetscBool *done)
{
  const Mat A = C->product->A, B = C->product->B;
  PetscBool dense;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (C->product->type != MATPRODUCT_AB && C->product->type != MATPRODUCT_AtB) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATSEQDENSE, &dense));
  if (dense) PetscCall(MatOperandUsable(A, PETSC_FALSE, done));
  if (*done) C->ops->productsymbolic = MatProductSymbolic_SeqAIJCUDA_SeqDense;
  PetscFunctionReturn(PETSC_SUCCESS);
}
