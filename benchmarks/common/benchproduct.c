/*
  Products with a vector; see benchproduct.h.
*/
#include "benchproduct.h"

#define TOLERANCE 1e-12 /* of the sum of absolute values of a row, or column */

/* Operands and reference of a product with the matrix. */
static PetscErrorCode CreateOperands(BenchProduct *p)
{
  const DCSRView view   = p->matrix.view;
  cudaStream_t   stream = p->bench->stream;

  PetscFunctionBegin;
  p->n = p->transpose ? view.num_columns : view.num_rows;
  PetscCall(BenchVectorCreate(p->transpose ? view.num_rows : view.num_columns, 2, stream, &p->x));
  PetscCall(BenchVectorCreate(p->n, 3, stream, &p->y));
  PetscCall(PetscSparseCUDAMalloc(p->n, "reference", stream, &p->reference));
  PetscCall(PetscSparseCUDAMalloc(p->n, "rounding bound", stream, &p->bound));
  PetscCall(BenchReferenceMult(view, p->transpose, p->x, NULL, p->reference, p->bound, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductCreate - see benchproduct.h */
PetscErrorCode BenchProductCreate(Bench *b, const char name[], PetscBool transpose, BenchProduct *p)
{
  PetscFunctionBegin;
  p->bench     = b;
  p->transpose = transpose;
  p->borrowed  = PETSC_FALSE;
  PetscCall(BenchMatrixCreate(name, b->stream, &p->matrix));
  p->matrix.view.row_block = p->matrix.view.column_block = p->matrix.block;
  PetscCall(BenchMatrixPrint(&p->matrix));
  PetscCall(BenchCountNonempty(p->matrix.view, b->stream, &p->num_rows, &p->num_columns));
  PetscCall(CreateOperands(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductCreateOther - see benchproduct.h */
PetscErrorCode BenchProductCreateOther(const BenchProduct *of, BenchProduct *p)
{
  PetscFunctionBegin;
  p->bench       = of->bench;
  p->matrix      = of->matrix;
  p->transpose   = (PetscBool)!of->transpose;
  p->borrowed    = PETSC_TRUE;
  p->num_rows    = of->num_rows;
  p->num_columns = of->num_columns;
  PetscCall(CreateOperands(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductCreateView - see benchproduct.h */
PetscErrorCode BenchProductCreateView(Bench *b, const char name[], DCSRView view, PetscBool transpose, BenchProduct *p)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&p->matrix, sizeof(p->matrix)));
  p->bench       = b;
  p->matrix.name = name;
  p->matrix.view = view;
  p->transpose   = transpose;
  p->borrowed    = PETSC_TRUE;
  PetscCall(BenchCountNonempty(view, b->stream, &p->num_rows, &p->num_columns));
  PetscCall(CreateOperands(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductDestroy - frees all of it */
PetscErrorCode BenchProductDestroy(BenchProduct *p)
{
  cudaStream_t stream = p->bench->stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&p->x, stream));
  PetscCall(PetscSparseCUDAFree(&p->y, stream));
  PetscCall(PetscSparseCUDAFree(&p->reference, stream));
  PetscCall(PetscSparseCUDAFree(&p->bound, stream));
  if (!p->borrowed) PetscCall(BenchMatrixDestroy(&p->matrix, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchPlanCreate - see benchproduct.h */
PetscErrorCode BenchPlanCreate(DCSRView view, cudaStream_t stream, DCSRSpMVPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(DCSRSpMVPlanCreate(view, DCSR_SPMV_AUTO, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductBytes - see benchproduct.h */
PetscErrorCode BenchProductBytes(const BenchProduct *p, PetscReal *read, PetscReal *written)
{
  const DCSRView  view    = p->matrix.view;
  const size_t    offset  = view.wide ? sizeof(int64_t) : sizeof(int32_t);
  const PetscReal nonzero = (PetscReal)sizeof(PetscScalar) + (PetscReal)sizeof(int32_t) / (PetscReal)PetscMax(view.row_block * view.column_block, 1);

  PetscFunctionBegin;
  *read    = nonzero * (PetscReal)view.num_nonzeros + (PetscReal)offset * (PetscReal)p->num_rows + (PetscReal)sizeof(PetscScalar) * (PetscReal)(p->transpose ? p->num_rows : p->num_columns);
  *written = (PetscReal)sizeof(PetscScalar) * (PetscReal)p->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductCheckTo - see benchproduct.h */
PetscErrorCode BenchProductCheckTo(BenchProduct *p, const char what[], PetscReal tolerance, BenchFn *fn, void *ctx)
{
  cudaStream_t stream = p->bench->stream;
  PetscReal    error;

  PetscFunctionBegin;
  PetscCall(BenchVectorSet(p->n, (PetscScalar)NAN, p->y, stream));
  PetscCall((*fn)(ctx, stream));
  PetscCall(BenchCompare(p->n, p->y, p->reference, p->bound, stream, &error));
  if (error > tolerance) PetscCall(BenchWrong(p->bench, "%s on %s, relative error %g", what, p->matrix.name, (double)error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductCheck - see benchproduct.h */
PetscErrorCode BenchProductCheck(BenchProduct *p, const char what[], BenchFn *fn, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(BenchProductCheckTo(p, what, TOLERANCE, fn, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MeasureCusparse() is given. */
typedef struct {
  BenchProduct *product;
  PetscReal    *us;    /* [2], cold and warm, of the best */
  const char  **names; /* [2], of the best */
} CusparseBest;

/* One algorithm of cuSPARSE, checked; a BenchCusparseFn. */
static PetscErrorCode MeasureCusparse(BenchCusparse *c, void *ctx)
{
  CusparseBest *best = (CusparseBest *)ctx;
  PetscReal     us[2];

  PetscFunctionBegin;
  PetscCall(BenchProductCheck(best->product, c->name, BenchCusparseRun, c));
  PetscCall(BenchMeasure(best->product->bench, BenchCusparseRun, c, us));
  for (PetscInt k = 0; k < 2; k++) {
    if (us[k] >= best->us[k]) continue;
    best->us[k]    = us[k];
    best->names[k] = c->name;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchProductMeasureCusparse - see benchproduct.h */
PetscErrorCode BenchProductMeasureCusparse(BenchProduct *p, PetscReal us[2], const char *names[2])
{
  CusparseBest best = {.product = p, .us = us, .names = names};

  PetscFunctionBegin;
  us[0] = us[1] = PETSC_MAX_REAL;
  PetscCall(BenchCusparseForEach(p->matrix.view, p->transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE, p->x, p->y, p->bench->stream, MeasureCusparse, &best));
  PetscFunctionReturn(PETSC_SUCCESS);
}
