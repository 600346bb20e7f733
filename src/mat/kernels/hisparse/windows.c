/*
  The format of 16-bit columns in windows, behind the table of formats (hisparseimpl.h). Values are those of CSR, in CSR's order, so that functions of entries.h work on them when they are PetscScalar. What
  treats all values alike is that of masked diagonals. Values in single precision have functions of their own for the diagonal and for the transpose (windowsvalues.cu). For the other norms, sums of rows and columns, and scaling by diagonal matrices, they are copied as PetscScalar, which takes memory for a PetscScalar
  a nonzero, a read and a write of the values before, and the same again after a function that changes them.

  A^T x reads a transposed structure in the same format with values of its own: 10.2 bytes a nonzero in order and the same bits every time, where gathering values by a permutation would read 6 bytes and a sector of 32.
*/
#include "hisparseimpl.h"
#include "windowsimpl.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/transpose.h>

/* Values are not PetscScalar. */
static PetscBool IsSingle(const WindowsFormatValues *v)
{
  return (PetscBool)(v->precision == HISPARSE_VALUES_SINGLE);
}

/* Bytes of a value. */
static size_t ValueBytes(HiSparsePrecision precision)
{
  return precision == HISPARSE_VALUES_SINGLE ? DCSR_SINGLE_BYTES : sizeof(PetscScalar);
}

/* Compact CSR without columns; for values that are PetscScalar. */
static DCSRView ViewWithoutColumns(const WindowsStructure *s, const WindowsFormatValues *v)
{
  DCSRView view = WindowsRows(s->windows);

  view.values = (PetscScalar *)v->values;
  return view;
}

/* Compact CSR for one call, with 32-bit columns when they are asked for, and with values when v is not NULL: as PetscScalar, the values themselves or a copy. ReturnView() frees what was made. */
static PetscErrorCode GetView(const WindowsStructure *s, const WindowsFormatValues *v, PetscBool columns, cudaStream_t stream, DCSRView *view)
{
  PetscScalar   *copy = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *view = WindowsRows(s->windows);
  if (v != NULL && IsSingle(v)) {
    PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view->num_nonzeros, "values as PetscScalar for one call", stream, &copy));
    PetscCallGoto(ierr, failed, WindowsSingleGet(view->num_nonzeros, v->values, 1.0, copy, stream));
    view->values = copy;
  } else if (v != NULL) view->values = (PetscScalar *)v->values;
  if (columns) {
    PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(view->num_nonzeros, "32-bit columns for one call", stream, &view->columns));
    PetscCallGoto(ierr, failed, WindowsDecode(s->windows, view->columns, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&copy, stream));
  PetscCall(PetscSparseCUDAFree(&view->columns, stream));
  PetscFunctionReturn(ierr);
}

/* The values of a view, which a function has changed, become those of the matrix. */
static PetscErrorCode TakeValues(WindowsFormatValues *v, const DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  v->transposed_current = PETSC_FALSE;
  if (IsSingle(v)) PetscCall(DCSRRoundValues(view->num_nonzeros, view->values, v->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReturnView(const WindowsFormatValues *v, cudaStream_t stream, DCSRView *view)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&view->columns, stream));
  if (v != NULL && IsSingle(v)) PetscCall(PetscSparseCUDAFree(&view->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array of n scalars times alpha. */
static PetscErrorCode ScaleArray(PetscInt n, PetscScalar alpha, PetscScalar array[], cudaStream_t stream)
{
  DCSRView view = {0};

  PetscFunctionBegin;
  if (alpha == (PetscScalar)1.0) PetscFunctionReturn(PETSC_SUCCESS);
  view.values = array;
  view.used   = n;
  PetscCall(DCSRScale(view, alpha, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StructureDestroy_Windows(void **structure, cudaStream_t stream)
{
  WindowsStructure *s = (WindowsStructure *)*structure;

  PetscFunctionBegin;
  if (s == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(WindowsDestroy(&s->windows, stream));
  PetscCall(WindowsDestroy(&s->transpose, stream));
  PetscCall(PetscSparseCUDAFree(&s->permutation, stream));
  PetscCall(PetscFree(*structure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesDestroy_Windows(void **values, cudaStream_t stream)
{
  WindowsFormatValues *v = (WindowsFormatValues *)*values;

  PetscFunctionBegin;
  if (v == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&v->values, stream));
  PetscCall(PetscSparseCUDAFree(&v->transposed, stream));
  PetscCall(PetscFree(*values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of a structure, with room for an even number of them: products load two at a time. The one too many is 0. */
static PetscErrorCode MallocEven(const WindowsStructure *s, HiSparsePrecision precision, const char what[], cudaStream_t stream, void **values)
{
  const size_t n = (size_t)s->windows->num_nonzeros, bytes = ValueBytes(precision);

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc_Private((n + n % 2) * bytes, what, stream, values));
  if (n % 2) PetscCallCUDA(cudaMemsetAsync((char *)*values + n * bytes, 0, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateValues(const WindowsStructure *s, HiSparsePrecision precision, cudaStream_t stream, void **values)
{
  WindowsFormatValues *v;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  *values = NULL;
  PetscCall(PetscNew(&v));
  v->precision = precision;
  PetscCallGoto(ierr, failed, MallocEven(s, precision, "values of a matrix with 16-bit columns", stream, &v->values));
  *values = v;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(v));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode ValuesCreate_Windows(void *structure, cudaStream_t stream, void **values)
{
  PetscFunctionBegin;
  PetscCall(CreateValues((const WindowsStructure *)structure, ((const WindowsStructure *)structure)->precision, stream, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Round_Windows(void *structure, const void *from, cudaStream_t stream, void **to)
{
  const WindowsStructure *s = (const WindowsStructure *)structure;
  WindowsFormatValues    *v;

  PetscFunctionBegin;
  if (*to == NULL) PetscCall(CreateValues(s, HISPARSE_VALUES_SINGLE, stream, to));
  v                     = (WindowsFormatValues *)*to;
  v->transposed_current = PETSC_FALSE;
  PetscCall(DCSRRoundValues(s->windows->num_nonzeros, (const PetscScalar *)((const WindowsFormatValues *)from)->values, v->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All values from an array of as many that are stored alike. */
static PetscErrorCode CopyAllValues(const WindowsStructure *s, WindowsFormatValues *v, const void *from, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(v->values, from, (size_t)s->windows->num_nonzeros * ValueBytes(v->precision), cudaMemcpyDeviceToDevice, stream));
  v->transposed_current = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesCopy_Windows(void *structure, const void *from, void *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CopyAllValues((const WindowsStructure *)structure, (WindowsFormatValues *)to, ((const WindowsFormatValues *)from)->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues_Windows(void *structure, void *values, DCSRView csr, cudaStream_t stream)
{
  WindowsFormatValues *v = (WindowsFormatValues *)values;

  PetscFunctionBegin;
  if (IsSingle(v)) PetscCall(TakeValues(v, &csr, stream));
  else PetscCall(CopyAllValues((const WindowsStructure *)structure, v, csr.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Windows(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values)
{
  WindowsStructure *s;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *structure = *values = NULL;
  PetscCall(PetscNew(&s));
  *structure   = s;
  s->precision = PetscDefined(USE_REAL_SINGLE) ? HISPARSE_VALUES_SCALAR : precision;
  PetscCallGoto(ierr, failed, WindowsCreate(csr, NULL, stream, &s->windows));
  PetscCallGoto(ierr, failed, ValuesCreate_Windows(s, stream, values));
  PetscCallGoto(ierr, failed, SetValues_Windows(s, *values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(ValuesDestroy_Windows(values, stream));
  PetscCall(StructureDestroy_Windows(structure, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode GetInfo_Windows(void *structure, void *values, HiSparseInfo *info)
{
  const WindowsStructure    *s = (const WindowsStructure *)structure;
  const WindowsFormatValues *v = (const WindowsFormatValues *)values;
  const size_t               n = (size_t)s->windows->num_nonzeros;

  PetscFunctionBegin;
  info->precision       = v->precision;
  info->values_bytes    = n * ValueBytes(v->precision) * (v->transposed ? 2 : 1);
  info->transpose_bytes = v->transposed ? n * ValueBytes(v->precision) : 0;
  if (s->transpose) info->transpose_bytes += s->transpose->bytes + n * (s->windows->wide ? sizeof(int64_t) : sizeof(int32_t));
  info->bytes      = s->windows->bytes + n * ValueBytes(v->precision) + info->transpose_bytes;
  info->num_pieces = s->windows->num_blocks - s->windows->num_wide;
  info->num_others = s->windows->num_wide;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCSR_Windows(void *structure, void *values, PetscScalar alpha, PetscBool with_structure, PetscBool with_values, DCSRView csr, cudaStream_t stream)
{
  const WindowsStructure    *s = (const WindowsStructure *)structure;
  const WindowsFormatValues *v = (const WindowsFormatValues *)values;

  PetscFunctionBegin;
  if (with_structure) {
    PetscCall(WindowsGetOffsets(s->windows, csr.wide, csr.row_offsets, stream));
    PetscCall(WindowsDecode(s->windows, csr.columns, stream));
  }
  if (with_values && IsSingle(v)) PetscCall(WindowsSingleGet(s->windows->num_nonzeros, v->values, alpha, csr.values, stream));
  else if (with_values) {
    PetscCallCUDA(cudaMemcpyAsync(csr.values, v->values, (size_t)s->windows->num_nonzeros * sizeof(*csr.values), cudaMemcpyDeviceToDevice, stream));
    if (alpha != (PetscScalar)1.0) PetscCall(DCSRScale(csr, alpha, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of A^T and the permutation. */
static PetscErrorCode CreateTranspose(WindowsStructure *s, cudaStream_t stream)
{
  const Windows  w           = s->windows;
  Windows        windows     = NULL;
  void          *permutation = NULL;
  DCSRView       A, T = {0};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(GetView(s, NULL, PETSC_TRUE, stream, &A));
  PetscCallGoto(ierr, done, DCSRViewAllocateStructure(w->num_columns, w->num_rows, w->num_nonzeros, w->wide, stream, &T));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc_Private((size_t)w->num_nonzeros * (w->wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of a transpose with 16-bit columns", stream, &permutation));
  PetscCallGoto(ierr, done, DCSRTransposeSymbolic(A, T, permutation, stream));
  PetscCallGoto(ierr, done, WindowsCreate(T, NULL, stream, &windows));
  s->transpose   = windows;
  s->permutation = permutation;
  permutation    = NULL;
done:
  PetscCall(ReturnView(NULL, stream, &A));
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscCall(DCSRViewFree(&T, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A structure of 16-bit columns, and that its columns are those of valid CSR, which *view is then; the caller frees them, also after an error. */
static PetscErrorCode CheckWindows(Windows w, cudaStream_t stream, DCSRView *view, HiSparseViolation *violation)
{
  PetscBool ok;
  PetscInt  row;

  PetscFunctionBegin;
  PetscCall(WindowsIsValid(w, stream, violation));
  if (violation->what != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *view = WindowsRows(w);
  PetscCall(PetscSparseCUDAMalloc(w->num_nonzeros, "32-bit columns for a check", stream, &view->columns));
  PetscCall(WindowsDecode(w, view->columns, stream));
  PetscCall(DCSRIsValid(*view, stream, &ok, &row, NULL));
  if (ok) PetscFunctionReturn(PETSC_SUCCESS);
  violation->what  = "columns of a row that do not ascend or are not in the matrix, or row offsets that do not, row";
  violation->where = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsValid_Windows(void *structure, PETSC_UNUSED void *values, cudaStream_t stream, HiSparseViolation *violation)
{
  const WindowsStructure *s = (const WindowsStructure *)structure;
  DCSRView                A = {0}, T = {0};
  PetscErrorCode          ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, CheckWindows(s->windows, stream, &A, violation));
  if (violation->what != NULL || s->transpose == NULL) goto done;
  PetscCallGoto(ierr, done, CheckWindows(s->transpose, stream, &T, violation));
  if (violation->what == NULL) PetscCallGoto(ierr, done, WindowsPermutationIsValid(A, T, s->permutation, stream, violation));
done:
  PetscCall(PetscSparseCUDAFree(&A.columns, stream));
  PetscCall(PetscSparseCUDAFree(&T.columns, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Prepare_Windows(void *structure, void *values, PetscBool transpose, cudaStream_t stream)
{
  WindowsStructure    *s = (WindowsStructure *)structure;
  WindowsFormatValues *v = (WindowsFormatValues *)values;

  PetscFunctionBegin;
  if (!transpose) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->transpose == NULL) PetscCall(CreateTranspose(s, stream));
  if (v->transposed == NULL) PetscCall(MallocEven(s, v->precision, "values of a transpose with 16-bit columns", stream, &v->transposed));
  if (v->transposed_current) PetscFunctionReturn(PETSC_SUCCESS);
  if (IsSingle(v)) PetscCall(WindowsSingleTranspose(s, v->values, v->transposed, stream));
  else PetscCall(DCSRTransposeNumeric(ViewWithoutColumns(s, v), s->permutation, PETSC_FALSE, (PetscScalar *)v->transposed, stream));
  v->transposed_current = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult_Windows(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const WindowsFormatValues *stored = (const WindowsFormatValues *)values;
  const WindowsValues        v      = {stored->values, alpha, PETSC_FALSE, stored->precision};

  PetscFunctionBegin;
  PetscCall(WindowsMult(((const WindowsStructure *)structure)->windows, &v, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultEpilogue_Windows(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  const WindowsFormatValues *stored = (const WindowsFormatValues *)values;
  const WindowsValues        v      = {stored->values, alpha, PETSC_FALSE, stored->precision};

  PetscFunctionBegin;
  PetscCall(WindowsMultEpilogue(((const WindowsStructure *)structure)->windows, &v, x, epilogue, y, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* alpha is that of op(A). */
static PetscErrorCode MultTranspose_Windows(void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const WindowsFormatValues *stored = (const WindowsFormatValues *)values;
  const WindowsValues        v      = {stored->transposed, alpha, conjugate, stored->precision};

  PetscFunctionBegin;
  PetscCall(WindowsMult(((const WindowsStructure *)structure)->transpose, &v, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values as those of masked diagonals that have nothing outside of them, for what treats all values alike; both structures are 0 before. */
static void GetAll(const WindowsStructure *s, const WindowsFormatValues *v, HiSparseDiagonals *all, HiSparseDiagonalsValues *values)
{
  all->precision    = v->precision;
  all->num_rows     = s->windows->num_rows;
  all->num_columns  = s->windows->num_columns;
  all->num_nonzeros = all->num_piece_values = all->used_values = all->values_capacity = s->windows->num_nonzeros;
  values->precision                                                                   = v->precision;
  values->values                                                                      = v->values;
}

/* Functions of masked diagonals on them, and whether they write values */
#define DEFINE_ON_ALL(Name, parameters, writes, call) \
  static PetscErrorCode Name##_Windows parameters \
  { \
    WindowsFormatValues    *v      = (WindowsFormatValues *)values; \
    HiSparseDiagonals       all    = {0}; \
    HiSparseDiagonalsValues stored = {0}; \
\
    PetscFunctionBegin; \
    GetAll((const WindowsStructure *)structure, v, &all, &stored); \
    if (writes) v->transposed_current = PETSC_FALSE; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_ON_ALL(Scale, (void *structure, void *values, PetscScalar alpha, cudaStream_t stream), PETSC_TRUE, HiSparseDiagonalsScale(&all, &stored, alpha, stream))
DEFINE_ON_ALL(Zero, (void *structure, void *values, cudaStream_t stream), PETSC_TRUE, HiSparseDiagonalsZero(&all, &stored, stream))
DEFINE_ON_ALL(Conjugate, (void *structure, void *values, cudaStream_t stream), PETSC_TRUE, HiSparseDiagonalsConjugate(&all, &stored, stream))
DEFINE_ON_ALL(RealPart, (void *structure, void *values, cudaStream_t stream), PETSC_TRUE, HiSparseDiagonalsRealPart(&all, &stored, stream))
DEFINE_ON_ALL(ImaginaryPart, (void *structure, void *values, cudaStream_t stream), PETSC_TRUE, HiSparseDiagonalsImaginaryPart(&all, &stored, stream))
DEFINE_ON_ALL(SetFound, (void *structure, void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream), PETSC_TRUE, HiSparseDiagonalsSetFound(&all, &stored, batch, lookup, mode, stream))
DEFINE_ON_ALL(NormFrobeniusSquared, (void *structure, void *values, cudaStream_t stream, PetscReal *norm2), PETSC_FALSE, HiSparseDiagonalsNormFrobeniusSquared(&all, &stored, stream, norm2))

/* The other functions of entries.h, on a view that is made for the call: its columns or not, and whether it changes values. values may be NULL. */
#define DEFINE_WITH_VIEW(Name, parameters, values, columns, changes, call) \
  static PetscErrorCode Name##_Windows parameters \
  { \
    WindowsFormatValues *v    = (WindowsFormatValues *)values; \
    PetscErrorCode       ierr = PETSC_SUCCESS; \
    DCSRView             view; \
\
    PetscFunctionBegin; \
    PetscCall(GetView((const WindowsStructure *)structure, v, columns, stream, &view)); \
    PetscCallGoto(ierr, done, call); \
    if (changes) PetscCallGoto(ierr, done, TakeValues(v, &view, stream)); \
  done: \
    PetscCall(ReturnView(v, stream, &view)); \
    PetscCall(ierr); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_WITH_VIEW(NormInfinity, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), values, PETSC_FALSE, PETSC_FALSE, DCSRNormInfinity(view, stream, norm))
DEFINE_WITH_VIEW(NormOne, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), values, PETSC_TRUE, PETSC_FALSE, DCSRNormOne(view, stream, norm))
DEFINE_WITH_VIEW(CountMissingDiagonal, (void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing), NULL, PETSC_TRUE, PETSC_FALSE, DCSRCountMissingDiagonal(view, n, stream, missing))
DEFINE_WITH_VIEW(DiagonalScale, (void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream), values, (PetscBool)(right != NULL), PETSC_TRUE, DCSRDiagonalScale(view, left, right, stream))
DEFINE_WITH_VIEW(AddToDiagonal, (void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream), values, PETSC_TRUE, PETSC_TRUE, DCSRDiagonalAdd(view, d, scalar, insert, stream))
DEFINE_WITH_VIEW(CopyDiagonal, (void *structure, void *values, PetscScalar diagonal[], cudaStream_t stream), values, PETSC_TRUE, PETSC_FALSE, DCSRGetDiagonal(view, diagonal, stream))
DEFINE_WITH_VIEW(AddUpRows, (void *structure, void *values, PetscScalar sums[], cudaStream_t stream), values, PETSC_FALSE, PETSC_FALSE, DCSRRowSumAbs(view, sums, stream))
DEFINE_WITH_VIEW(AddUpColumns, (void *structure, void *values, PetscReal sums[], cudaStream_t stream), values, PETSC_TRUE, PETSC_FALSE, DCSRColumnSumsAbs(view, sums, stream))

static PetscErrorCode DiagonalAdd_Windows(void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  WindowsFormatValues *v = (WindowsFormatValues *)values;

  PetscFunctionBegin;
  v->transposed_current = PETSC_FALSE;
  if (IsSingle(v)) PetscCall(WindowsSingleDiagonalAdd(((const WindowsStructure *)structure)->windows, v->values, d, scalar, insert, stream));
  else PetscCall(AddToDiagonal_Windows(structure, values, d, scalar, insert, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal_Windows(void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const Windows              w = ((const WindowsStructure *)structure)->windows;
  const WindowsFormatValues *v = (const WindowsFormatValues *)values;

  PetscFunctionBegin;
  if (IsSingle(v)) {
    PetscCall(WindowsSingleGetDiagonal(w, v->values, alpha, diagonal, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CopyDiagonal_Windows(structure, values, diagonal, stream));
  PetscCall(ScaleArray(PetscMin(w->num_rows, w->num_columns), alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowSumAbs_Windows(void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AddUpRows_Windows(structure, values, sums, stream));
  PetscCall(ScaleArray(((const WindowsStructure *)structure)->windows->num_rows, alpha, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ColumnSumsAbs_Windows(void *structure, void *values, PetscReal alpha, PetscReal sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AddUpColumns_Windows(structure, values, sums, stream));
  if (alpha != 1) PetscCall(WindowsScaleReals(((const WindowsStructure *)structure)->windows->num_columns, alpha, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Lookup_Windows(void *structure, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  PetscFunctionBegin;
  PetscCall(WindowsLookup(((const WindowsStructure *)structure)->windows, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameStructure_Windows(const void *structure, const void *other, cudaStream_t stream, PetscBool *same)
{
  const WindowsStructure *s = (const WindowsStructure *)structure, *t = (const WindowsStructure *)other;
  const Windows           a = s->windows, b = t->windows;
  const HiSparseArrays    arrays[] = {
       {a->row_offsets, b->row_offsets, ((size_t)a->num_rows + 1) * (a->wide ? sizeof(int64_t) : sizeof(int32_t))},
       {a->columns, b->columns, (size_t)a->num_blocks * WINDOWS_BLOCK * sizeof(*a->columns)},
       {a->windows, b->windows, (size_t)a->num_blocks * WINDOWS_COUNT * sizeof(*a->windows)},
       {a->upper, b->upper, (size_t)a->num_wide * WINDOWS_BLOCK * sizeof(*a->upper)},
  };

  PetscFunctionBegin;
  *same = (PetscBool)(s->precision == t->precision && a->num_rows == b->num_rows && a->num_nonzeros == b->num_nonzeros && a->wide == b->wide && a->num_wide == b->num_wide && a->config.vec == b->config.vec);
  if (*same) PetscCall(HiSparseSameArrays((int)PETSC_STATIC_ARRAY_LENGTH(arrays), arrays, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HiSparseFormatOps HiSparseFormatWindows = {
  .create               = Create_Windows,
  .structuredestroy     = StructureDestroy_Windows,
  .valuescreate         = ValuesCreate_Windows,
  .valuescopy           = ValuesCopy_Windows,
  .round                = Round_Windows,
  .valuesdestroy        = ValuesDestroy_Windows,
  .getinfo              = GetInfo_Windows,
  .values_alone         = PETSC_TRUE,
  .setvalues            = SetValues_Windows,
  .getcsr               = GetCSR_Windows,
  .isvalid              = IsValid_Windows,
  .prepare              = Prepare_Windows,
  .mult                 = Mult_Windows,
  .multtranspose        = MultTranspose_Windows,
  .multepilogue         = MultEpilogue_Windows,
  .lookup               = Lookup_Windows,
  .setfound             = SetFound_Windows,
  .countwithoutdiagonal = WindowsCountWithoutDiagonal,
  .zerorows             = WindowsZeroRows,
  .zerocolumns          = WindowsZeroColumns,
  .samestructure        = SameStructure_Windows,
  .scale                = Scale_Windows,
  .zero                 = Zero_Windows,
  .conjugate            = Conjugate_Windows,
  .realpart             = RealPart_Windows,
  .imaginarypart        = ImaginaryPart_Windows,
  .diagonalscale        = DiagonalScale_Windows,
  .diagonaladd          = DiagonalAdd_Windows,
  .getdiagonal          = GetDiagonal_Windows,
  .countmissingdiagonal = CountMissingDiagonal_Windows,
  .normfrobeniussquared = NormFrobeniusSquared_Windows,
  .normone              = NormOne_Windows,
  .norminfinity         = NormInfinity_Windows,
  .rowsumabs            = RowSumAbs_Windows,
  .columnsumsabs        = ColumnSumsAbs_Windows,
  .rowmaxabs            = WindowsRowMaxAbs,
};
