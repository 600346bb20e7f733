/*
  The format of 16-bit columns in windows, behind the table of formats (hisparseimpl.h). Values are those of CSR, in CSR's order, so that functions of entries.h work on them.

  A^T x reads a transposed structure in the same format with values of its own: 10.2 bytes a nonzero in order and the same bits every time, where gathering values by a permutation would read 6 bytes and a sector of 32.
*/
#include "hisparseimpl.h"
#include "windowsimpl.h"
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/transpose.h>

typedef struct {
  PetscScalar *values;             /* [nonzeros] in CSR's order; owned */
  PetscScalar *transposed;         /* [nonzeros] of A^T, without the conjugate; NULL before the first product with it; owned */
  PetscBool    transposed_current; /* transposed are these values; whoever writes values sets it PETSC_FALSE */
} WindowsFormatValues;

/* Compact CSR without columns. */
static DCSRView ViewWithoutColumns(const WindowsStructure *s, const WindowsFormatValues *v)
{
  DCSRView view = {0};

  view.num_rows     = s->windows->num_rows;
  view.num_columns  = s->windows->num_columns;
  view.num_nonzeros = view.capacity = view.used = s->windows->num_nonzeros;
  view.wide                                     = s->windows->wide;
  view.row_offsets                              = s->windows->row_offsets;
  view.values                                   = v ? v->values : NULL;
  return view;
}

/* The same with 32-bit columns, which ReturnView() frees. v may be NULL. */
static PetscErrorCode GetView(const WindowsStructure *s, const WindowsFormatValues *v, cudaStream_t stream, DCSRView *view)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *view = ViewWithoutColumns(s, v);
  PetscCall(PetscSparseCUDAMalloc(view->num_nonzeros, "32-bit columns for one call", stream, &view->columns));
  PetscCallGoto(ierr, failed, WindowsDecode(s->windows, view->columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&view->columns, stream));
  PetscFunctionReturn(ierr);
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

/* Values, with room for an even number of them: products load two at a time. The one too many is 0. */
static PetscErrorCode MallocEven(PetscCount n, const char what[], cudaStream_t stream, PetscScalar **values)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n + n % 2, what, stream, values));
  if (n % 2) PetscCallCUDA(cudaMemsetAsync(*values + n, 0, sizeof(**values), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesCreate_Windows(void *structure, cudaStream_t stream, void **values)
{
  const WindowsStructure *s = (const WindowsStructure *)structure;
  WindowsFormatValues    *v;
  PetscErrorCode          ierr;

  PetscFunctionBegin;
  *values = NULL;
  PetscCall(PetscNew(&v));
  PetscCallGoto(ierr, failed, MallocEven(s->windows->num_nonzeros, "values of a matrix with 16-bit columns", stream, &v->values));
  *values = v;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(v));
  PetscFunctionReturn(ierr);
}

/* All values from an array of as many. */
static PetscErrorCode SetAllValues(const WindowsStructure *s, WindowsFormatValues *v, const PetscScalar from[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(v->values, from, (size_t)s->windows->num_nonzeros * sizeof(*from), cudaMemcpyDeviceToDevice, stream));
  v->transposed_current = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ValuesCopy_Windows(void *structure, const void *from, void *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SetAllValues((const WindowsStructure *)structure, (WindowsFormatValues *)to, ((const WindowsFormatValues *)from)->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues_Windows(void *structure, void *values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SetAllValues((const WindowsStructure *)structure, (WindowsFormatValues *)values, csr.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Windows(DCSRView csr, PETSC_UNUSED HiSparsePrecision precision, cudaStream_t stream, void **structure, void **values)
{
  WindowsStructure *s;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  *structure = *values = NULL;
  PetscCall(PetscNew(&s));
  *structure = s;
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
  info->transpose_bytes = v->transposed ? n * sizeof(*v->transposed) : 0;
  if (s->transpose) info->transpose_bytes += s->transpose->bytes + n * (s->windows->wide ? sizeof(int64_t) : sizeof(int32_t));
  info->bytes      = s->windows->bytes + n * sizeof(*v->values) + info->transpose_bytes;
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
  if (with_values) {
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
  PetscCall(GetView(s, NULL, stream, &A));
  PetscCallGoto(ierr, done, DCSRViewAllocateStructure(w->num_columns, w->num_rows, w->num_nonzeros, w->wide, stream, &T));
  PetscCallGoto(ierr, done, PetscSparseCUDAMalloc_Private((size_t)w->num_nonzeros * (w->wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of a transpose with 16-bit columns", stream, &permutation));
  PetscCallGoto(ierr, done, DCSRTransposeSymbolic(A, T, permutation, stream));
  PetscCallGoto(ierr, done, WindowsCreate(T, NULL, stream, &windows));
  s->transpose   = windows;
  s->permutation = permutation;
  permutation    = NULL;
done:
  PetscCall(PetscSparseCUDAFree(&A.columns, stream));
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
  PetscCall(PetscSparseCUDAMalloc(w->num_nonzeros, "32-bit columns for a check", stream, &view->columns));
  PetscCall(WindowsDecode(w, view->columns, stream));
  view->num_rows     = w->num_rows;
  view->num_columns  = w->num_columns;
  view->num_nonzeros = view->capacity = view->used = w->num_nonzeros;
  view->wide                                       = w->wide;
  view->row_offsets                                = w->row_offsets;
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
  if (v->transposed == NULL) PetscCall(MallocEven(s->windows->num_nonzeros, "values of a transpose with 16-bit columns", stream, &v->transposed));
  if (!v->transposed_current) PetscCall(DCSRTransposeNumeric(ViewWithoutColumns(s, v), s->permutation, PETSC_FALSE, v->transposed, stream));
  v->transposed_current = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult_Windows(void *structure, void *values, PetscScalar alpha, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const WindowsValues v = {((const WindowsFormatValues *)values)->values, alpha, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(WindowsMult(((const WindowsStructure *)structure)->windows, &v, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* alpha is that of op(A). */
static PetscErrorCode MultTranspose_Windows(void *structure, void *values, PetscScalar alpha, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const WindowsValues v = {((const WindowsFormatValues *)values)->transposed, alpha, conjugate};

  PetscFunctionBegin;
  PetscCall(WindowsMult(((const WindowsStructure *)structure)->transpose, &v, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions of entries.h that write values and need no columns */
#define DEFINE_WRITES(Name, parameters, call) \
  static PetscErrorCode Name##_Windows parameters \
  { \
    const DCSRView view = ViewWithoutColumns((const WindowsStructure *)structure, (const WindowsFormatValues *)values); \
\
    PetscFunctionBegin; \
    ((WindowsFormatValues *)values)->transposed_current = PETSC_FALSE; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_WRITES(Scale, (void *structure, void *values, PetscScalar alpha, cudaStream_t stream), DCSRScale(view, alpha, stream))
DEFINE_WRITES(Zero, (void *structure, void *values, cudaStream_t stream), DCSRZero(view, stream))
DEFINE_WRITES(Conjugate, (void *structure, void *values, cudaStream_t stream), DCSRConjugate(view, stream))
DEFINE_WRITES(RealPart, (void *structure, void *values, cudaStream_t stream), DCSRRealPart(view, stream))
DEFINE_WRITES(ImaginaryPart, (void *structure, void *values, cudaStream_t stream), DCSRImaginaryPart(view, stream))

/* those that read them */
#define DEFINE_READS(Name, parameters, call) \
  static PetscErrorCode Name##_Windows parameters \
  { \
    const DCSRView view = ViewWithoutColumns((const WindowsStructure *)structure, (const WindowsFormatValues *)values); \
\
    PetscFunctionBegin; \
    PetscCall(call); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_READS(NormFrobeniusSquared, (void *structure, void *values, cudaStream_t stream, PetscReal *norm2), DCSRNormFrobeniusSquared(view, stream, norm2))
DEFINE_READS(NormInfinity, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), DCSRNormInfinity(view, stream, norm))

/* and those that need columns, which are made for the call. values may be NULL. */
#define DEFINE_WITH_COLUMNS(Name, parameters, values, call) \
  static PetscErrorCode Name##_Windows parameters \
  { \
    PetscErrorCode ierr = PETSC_SUCCESS; \
    DCSRView       view; \
\
    PetscFunctionBegin; \
    PetscCall(GetView((const WindowsStructure *)structure, (const WindowsFormatValues *)values, stream, &view)); \
    PetscCallGoto(ierr, done, call); \
  done: \
    PetscCall(PetscSparseCUDAFree(&view.columns, stream)); \
    PetscCall(ierr); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_WITH_COLUMNS(NormOne, (void *structure, void *values, cudaStream_t stream, PetscReal *norm), values, DCSRNormOne(view, stream, norm))
DEFINE_WITH_COLUMNS(CountMissingDiagonal, (void *structure, PetscCount n, cudaStream_t stream, PetscCount *missing), NULL, DCSRCountMissingDiagonal(view, n, stream, missing))
DEFINE_WITH_COLUMNS(ScaleBothSides, (void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream), values, DCSRDiagonalScale(view, left, right, stream))
DEFINE_WITH_COLUMNS(AddToDiagonal, (void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream), values, DCSRDiagonalAdd(view, d, scalar, insert, stream))
DEFINE_WITH_COLUMNS(CopyDiagonal, (void *structure, void *values, PetscScalar diagonal[], cudaStream_t stream), values, DCSRGetDiagonal(view, diagonal, stream))
DEFINE_WITH_COLUMNS(AddUpColumns, (void *structure, void *values, PetscReal sums[], cudaStream_t stream), values, DCSRColumnSumsAbs(view, sums, stream))

static PetscErrorCode DiagonalScale_Windows(void *structure, void *values, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (right) PetscCall(ScaleBothSides_Windows(structure, values, left, right, stream));
  else PetscCall(DCSRDiagonalScale(ViewWithoutColumns((const WindowsStructure *)structure, (const WindowsFormatValues *)values), left, NULL, stream));
  ((WindowsFormatValues *)values)->transposed_current = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalAdd_Windows(void *structure, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AddToDiagonal_Windows(structure, values, d, scalar, insert, stream));
  ((WindowsFormatValues *)values)->transposed_current = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal_Windows(void *structure, void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  const Windows w = ((const WindowsStructure *)structure)->windows;

  PetscFunctionBegin;
  PetscCall(CopyDiagonal_Windows(structure, values, diagonal, stream));
  PetscCall(ScaleArray(PetscMin(w->num_rows, w->num_columns), alpha, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowSumAbs_Windows(void *structure, void *values, PetscReal alpha, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRRowSumAbs(ViewWithoutColumns((const WindowsStructure *)structure, (const WindowsFormatValues *)values), sums, stream));
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

static PetscErrorCode SetFound_Windows(void *structure, void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRLookupWriteFound(ViewWithoutColumns((const WindowsStructure *)structure, (const WindowsFormatValues *)values), batch, lookup, mode, PETSC_FALSE, stream));
  ((WindowsFormatValues *)values)->transposed_current = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SameStructure_Windows(const void *structure, const void *other, cudaStream_t stream, PetscBool *same)
{
  const Windows        a = ((const WindowsStructure *)structure)->windows, b = ((const WindowsStructure *)other)->windows;
  const HiSparseArrays arrays[] = {
    {a->row_offsets, b->row_offsets, ((size_t)a->num_rows + 1) * (a->wide ? sizeof(int64_t) : sizeof(int32_t))},
    {a->columns, b->columns, (size_t)a->num_blocks * WINDOWS_BLOCK * sizeof(*a->columns)},
    {a->windows, b->windows, (size_t)a->num_blocks * WINDOWS_COUNT * sizeof(*a->windows)},
    {a->upper, b->upper, (size_t)a->num_wide * WINDOWS_BLOCK * sizeof(*a->upper)},
  };

  PetscFunctionBegin;
  *same = (PetscBool)(a->num_rows == b->num_rows && a->num_nonzeros == b->num_nonzeros && a->wide == b->wide && a->num_wide == b->num_wide && a->config.vec == b->config.vec);
  if (*same) PetscCall(HiSparseSameArrays((int)PETSC_STATIC_ARRAY_LENGTH(arrays), arrays, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HiSparseFormatOps HiSparseFormatWindows = {
  .create               = Create_Windows,
  .structuredestroy     = StructureDestroy_Windows,
  .valuescreate         = ValuesCreate_Windows,
  .valuescopy           = ValuesCopy_Windows,
  .valuesdestroy        = ValuesDestroy_Windows,
  .getinfo              = GetInfo_Windows,
  .values_alone         = PETSC_TRUE,
  .setvalues            = SetValues_Windows,
  .getcsr               = GetCSR_Windows,
  .isvalid              = IsValid_Windows,
  .prepare              = Prepare_Windows,
  .mult                 = Mult_Windows,
  .multtranspose        = MultTranspose_Windows,
  .lookup               = Lookup_Windows,
  .setfound             = SetFound_Windows,
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
};
