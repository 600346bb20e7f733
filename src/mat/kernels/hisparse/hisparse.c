/*
  A second way to store a sequential matrix: creation, copies that share, the scale factor, the flag of transposed ones, and the calls of the format's functions (hisparseimpl.h).
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/transpose.h>

const char *const HiSparseFormats[]    = {"auto", "diagonals", "blocks", "blockdiagonals", "csr", "HiSparseFormat", "HISPARSE_", NULL};
const char *const HiSparsePrecisions[] = {"scalar", "single", "HiSparsePrecision", "HISPARSE_VALUES_", NULL};

/* Largest absolute value of a scale factor that stands beside the values, and inverse of the smallest one. */
#define MAX_FACTOR (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e12 : (PetscReal)1e100)

static const HiSparseFormatOps *FormatOps(HiSparseFormat format)
{
  switch (format) {
  case HISPARSE_DIAGONALS:
    return &HiSparseFormatDiagonals;
  case HISPARSE_BLOCKS:
    return &HiSparseFormatBlocks;
  case HISPARSE_BLOCK_DIAGONALS:
    return &HiSparseFormatBlockDiagonals;
  default:
    return NULL;
  }
}

/* data becomes shared's; on an error it stays the caller's. */
static PetscErrorCode SharedCreate(void *data, HiSparseShared **shared)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(shared));
  (*shared)->references = 1;
  (*shared)->data       = data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One reference less; *shared is NULL afterwards. */
static PetscErrorCode SharedDestroy(HiSparseShared **shared, PetscErrorCode (*destroy)(void **, cudaStream_t), cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*shared != NULL && --(*shared)->references == 0) {
    PetscCall(destroy(&(*shared)->data, stream));
    PetscCall(PetscFree(*shared));
  }
  *shared = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The object of a structure and values of ops, which are its own then; on an error they stay the caller's. */
static PetscErrorCode Create(DCSRView csr, HiSparseFormat format, HiSparsePrecision precision, void *structure, void *values, HiSparse *hisparse)
{
  HiSparse       h;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  PetscCallGoto(ierr, failed, SharedCreate(structure, &h->structure));
  PetscCallGoto(ierr, failed, SharedCreate(values, &h->values));
  h->format       = format;
  h->precision    = precision;
  h->ops          = FormatOps(format);
  h->num_rows     = csr.num_rows;
  h->num_columns  = csr.num_columns;
  h->num_nonzeros = csr.num_nonzeros;
  h->scale        = 1.0;
  *hisparse       = h;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(h->structure));
  PetscCall(PetscFree(h));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseCreate - a matrix in one of the formats that are smaller than CSR

  Input Parameters:
+ csr       - compact, columns of a row sorted, with values; is not needed afterwards
. format    - HISPARSE_AUTO: the rule chooses; HISPARSE_DIAGONALS, HISPARSE_BLOCKS, HISPARSE_BLOCK_DIAGONALS: this one, when it fits the matrix at all; HISPARSE_CSR: none
. precision - HISPARSE_VALUES_SINGLE: values are rounded to single precision, but for those outside of diagonals
- stream    - synchronizes it

  Output Parameter:
. hisparse - NULL when CSR is as good, and after an error; free it with HiSparseDestroy()

  Errors: PETSC_ERR_MEM; PETSC_ERR_ARG_WRONGSTATE for storage that is not compact or has no values.

  Cost: a read of the columns, and of the values, and a write of what is made.
*/
PetscErrorCode HiSparseCreate(DCSRView csr, HiSparseFormat format, HiSparsePrecision precision, cudaStream_t stream, HiSparse *hisparse)
{
  const HiSparseFormatOps *ops;
  void                    *structure = NULL, *values = NULL;
  PetscErrorCode           ierr;

  PetscFunctionBegin;
  *hisparse = NULL;
  PetscCheck(csr.row_offsets != NULL || csr.segments == NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage has a second format, call DCSRDefragment() first");
  PetscCheck(csr.values != NULL || csr.num_nonzeros == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values for a second format");
  if (csr.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (format == HISPARSE_AUTO) PetscCall(HiSparseRuleApply(csr, precision, stream, &format));
  ops = FormatOps(format);
  if (ops == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ops->create(csr, precision, stream, &structure, &values));
  if (structure == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, Create(csr, format, precision, structure, values, hisparse));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(ops->valuesdestroy(&values, stream));
  PetscCall(ops->structuredestroy(&structure, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseDestroy - frees a matrix, and what it shares when nobody else has it; NULL is fine, and *hisparse is NULL afterwards */
PetscErrorCode HiSparseDestroy(HiSparse *hisparse, cudaStream_t stream)
{
  HiSparse h = *hisparse;

  PetscFunctionBegin;
  if (h == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SharedDestroy(&h->values, h->ops->valuesdestroy, stream));
  PetscCall(SharedDestroy(&h->structure, h->ops->structuredestroy, stream));
  PetscCall(PetscFree(*hisparse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDuplicate - a copy that shares structure and values

  Input Parameters:
+ hisparse - the matrix
- stream   - not used: nothing is copied

  Output Parameter:
. copy - free it with HiSparseDestroy()

  Note: the first of the two that changes its values gets values of its own then. The scale factor is each one's own.
*/
PetscErrorCode HiSparseDuplicate(HiSparse hisparse, PETSC_UNUSED cudaStream_t stream, HiSparse *copy)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(copy));
  **copy = *hisparse;
  (*copy)->structure->references++;
  (*copy)->values->references++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseRound - a matrix with the same structure, and with its values in single precision, for products that read less

  Input Parameters:
+ hisparse - the matrix
- stream   - asynchronous on it

  Input/Output Parameter:
. single - what the last call gave, or NULL; it gets the values of now, and shares the structure. NULL afterwards when the values of the matrix are in single precision already. Free it with HiSparseDestroy()

  Errors: PETSC_ERR_MEM; *single is as it was, or NULL.

  Cost: a read of the values and a write of half as many bytes. A later change of the structure of the matrix copies that first, as long as both exist.
*/
PetscErrorCode HiSparseRound(HiSparse hisparse, cudaStream_t stream, HiSparse *single)
{
  HiSparse       h      = *single;
  void          *values = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (h != NULL && (h->structure != hisparse->structure || h->transposed != hisparse->transposed || hisparse->precision == HISPARSE_VALUES_SINGLE)) {
    PetscCall(HiSparseDestroy(single, stream));
    h = NULL;
  }
  if (hisparse->precision == HISPARSE_VALUES_SINGLE) PetscFunctionReturn(PETSC_SUCCESS);
  if (h != NULL) {
    PetscCall(h->ops->round(h->structure->data, hisparse->values->data, stream, &h->values->data));
    h->scale = hisparse->scale;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallGoto(ierr, failed, hisparse->ops->round(hisparse->structure->data, hisparse->values->data, stream, &values));
  PetscCallGoto(ierr, failed, PetscNew(&h));
  *h = *hisparse;
  PetscCallGoto(ierr, failed, SharedCreate(values, &h->values));
  h->structure->references++;
  h->precision = HISPARSE_VALUES_SINGLE;
  *single      = h;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(h));
  PetscCall(hisparse->ops->valuesdestroy(&values, stream));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseGetInfo - what a matrix became

  Input Parameter:
. hisparse - the matrix

  Output Parameter:
. info - on the host
*/
PetscErrorCode HiSparseGetInfo(HiSparse hisparse, HiSparseInfo *info)
{
  PetscFunctionBegin;
  info->precision  = HISPARSE_VALUES_SCALAR;
  info->block_size = 0;
  PetscCall(hisparse->ops->getinfo(hisparse->structure->data, hisparse->values->data, info));
  info->format       = hisparse->format;
  info->num_nonzeros = hisparse->num_nonzeros;
  info->transposed   = hisparse->transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseShare - Structure and values of a matrix become those of another one of the same sizes, too. */
PetscErrorCode HiSparseShare(HiSparse from, HiSparse to, cudaStream_t stream)
{
  HiSparseShared *structure = to->structure, *values = to->values;

  PetscFunctionBegin;
  from->structure->references++;
  from->values->references++;
  *to = *from;
  PetscCall(SharedDestroy(&values, to->ops->valuesdestroy, stream));
  PetscCall(SharedDestroy(&structure, to->ops->structuredestroy, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in place of the shared ones. */
static PetscErrorCode ReplaceValues(HiSparse h, void *values)
{
  HiSparseShared *own;

  PetscFunctionBegin;
  PetscCall(SharedCreate(values, &own));
  h->values->references--; // somebody else has them
  h->values = own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that nobody else has. copy: with what they were; otherwise whoever asks writes all of them, with write(), and an error of it leaves the old ones. */
static PetscErrorCode OwnValues(HiSparse h, PetscBool copy, HiSparseWrite *write, const void *from, cudaStream_t stream)
{
  void          *values = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (h->values->references == 1) {
    if (!copy) PetscCall(write(h, h->values->data, from, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(h->ops->valuescreate(h->structure->data, stream, &values));
  if (copy) PetscCallGoto(ierr, failed, h->ops->valuescopy(h->structure->data, h->values->data, values, stream));
  else PetscCallGoto(ierr, failed, write(h, values, from, stream));
  PetscCallGoto(ierr, failed, ReplaceValues(h, values));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(h->ops->valuesdestroy(&values, stream));
  PetscFunctionReturn(ierr);
}

/* Before some values change: they are nobody else's. */
static PetscErrorCode ChangeValues(HiSparse h, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(OwnValues(h, PETSC_TRUE, NULL, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseChangeStructure - Before the structure changes: it is nobody else's. The values may still be; they fit. */
PetscErrorCode HiSparseChangeStructure(HiSparse h, cudaStream_t stream)
{
  void           *copy = NULL;
  HiSparseShared *own;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (h->structure->references == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(h->ops->structurecopy(h->structure->data, stream, &copy));
  PetscCallGoto(ierr, failed, SharedCreate(copy, &own));
  h->structure->references--;
  h->structure = own;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(h->ops->structuredestroy(&copy, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseChangeScaledValues - Before some values change: they are nobody else's, and the scale factor is in them. */
PetscErrorCode HiSparseChangeScaledValues(HiSparse h, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ChangeValues(h, stream));
  if (h->scale != (PetscScalar)1.0) PetscCall(h->ops->scale(h->structure->data, h->values->data, h->scale, stream));
  h->scale = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseWriteValues - Values of which none of the old ones is read: write() writes all of them, to such as nobody else has. */
PetscErrorCode HiSparseWriteValues(HiSparse h, HiSparseWrite *write, const void *from, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(OwnValues(h, PETSC_FALSE, write, from, stream));
  h->scale = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteCSRValues(HiSparse h, void *values, const void *csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(h->ops->setvalues(h->structure->data, values, *(const DCSRView *)csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values for a transposed matrix. It is made again, as it is seen, so that later values come without a transpose; where its rows do not fit the format, CSR is transposed each time. */
static PetscErrorCode SetTransposedValues(HiSparse h, DCSRView csr, cudaStream_t stream)
{
  HiSparse           again;
  struct _n_HiSparse old = *h;
  DCSRView           stored;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(HiSparseCreate(csr, h->format, h->precision, stream, &again));
  if (again != NULL) {
    *h     = *again;
    *again = old;
    PetscCall(HiSparseDestroy(&again, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DCSRTransposeCreate(csr, PETSC_TRUE, PETSC_FALSE, stream, &stored));
  ierr = HiSparseWriteValues(h, WriteCSRValues, &stored, stream);
  PetscCall(DCSRViewFree(&stored, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseSetValues - new values from CSR

  Input Parameters:
+ hisparse - the matrix
. csr      - compact CSR of the structure that it was made of, with values
- stream   - asynchronous on it, but for transposed matrices

  Errors: PETSC_ERR_MEM when values were shared, and for transposed matrices; PETSC_ERR_PLIB for another number of rows, columns or entries.

  Cost: a read and a write of the values. A transposed matrix is made again, without the flag.
*/
PetscErrorCode HiSparseSetValues(HiSparse hisparse, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(csr.num_rows == hisparse->num_rows && csr.num_columns == hisparse->num_columns && csr.num_nonzeros == hisparse->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "CSR with %" PetscInt_FMT " rows, %" PetscInt_FMT " columns, %" PetscCount_FMT " entries has no values for a matrix with %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscCount_FMT "; make the matrix again", csr.num_rows, csr.num_columns,
             csr.num_nonzeros, hisparse->num_rows, hisparse->num_columns, hisparse->num_nonzeros);
  if (hisparse->transposed) {
    PetscCall(SetTransposedValues(hisparse, csr, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HiSparseWriteValues(hisparse, WriteCSRValues, &csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseGetCSR - the matrix as compact CSR, columns of a row sorted

  Input Parameters:
+ hisparse  - the matrix
. structure - row offsets and columns are wanted; PETSC_FALSE: csr has them
. values    - values are wanted
. csr       - its arrays are allocated, in the sizes of compact CSR, with offsets of either width
- stream    - asynchronous on it

  Errors: PETSC_ERR_MEM, PETSC_ERR_PLIB for other sizes; the contents of the arrays are undefined then.
*/
PetscErrorCode HiSparseGetCSR(HiSparse hisparse, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCheck(csr.num_rows == hisparse->num_rows && csr.num_columns == hisparse->num_columns && csr.num_nonzeros == hisparse->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "CSR with %" PetscInt_FMT " rows, %" PetscInt_FMT " columns, %" PetscCount_FMT " entries has no room for a matrix with %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscCount_FMT "; allocate it in these sizes", csr.num_rows, csr.num_columns,
             csr.num_nonzeros, hisparse->num_rows, hisparse->num_columns, hisparse->num_nonzeros);
  if (hisparse->transposed) PetscCall(HiSparseTransposedGetCSR(hisparse, structure, values, csr, stream));
  else if (structure || values) PetscCall(hisparse->ops->getcsr(hisparse->structure->data, hisparse->values->data, hisparse->scale, structure, values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparsePrepare - makes what the products of a direction need, if it is not there

  Input Parameters:
+ hisparse  - the matrix
. transpose - PETSC_TRUE: products with the transpose or the Hermitian transpose
- stream    - synchronizes it when there is something to make

  Errors: PETSC_ERR_MEM; the matrix is as it was.
*/
PetscErrorCode HiSparsePrepare(HiSparse hisparse, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(hisparse->ops->prepare(hisparse->structure->data, hisparse->values->data, (PetscBool)(transpose != hisparse->transposed), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseMult - y = A x + z

  Input Parameters:
+ hisparse - the matrix
. x        - [columns] device
. z        - [rows] device, may be y; or NULL: nothing is added
- stream   - asynchronous on it, but for the first product

  Output Parameter:
. y - [rows] device, not x

  Note: bitwise reproducible.
*/
PetscErrorCode HiSparseMult(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparsePrepare(hisparse, PETSC_FALSE, stream));
  if (hisparse->transposed) PetscCall(hisparse->ops->multtranspose(hisparse->structure->data, hisparse->values->data, hisparse->scale, PETSC_FALSE, x, z, y, stream));
  else PetscCall(hisparse->ops->mult(hisparse->structure->data, hisparse->values->data, hisparse->scale, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseMultEpilogue - y = alpha d (b - A x) + beta x + gamma q or y = y - alpha d A x, entry by entry

  Input Parameters:
+ hisparse - the matrix
. x        - [columns] device
. epilogue - what y becomes
- stream   - asynchronous on it, but for the first product

  Input/Output Parameter:
. y - [rows] device, may be b or q, not x

  Output Parameter:
. done - PETSC_FALSE: no kernel does it, as for a transposed matrix, and nothing was done; HiSparseMult() and DCSRSpMVEpilogueApply() do it

  Note: bitwise reproducible.
*/
PetscErrorCode HiSparseMultEpilogue(HiSparse hisparse, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (hisparse->transposed || hisparse->ops->multepilogue == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparsePrepare(hisparse, PETSC_FALSE, stream));
  PetscCall(hisparse->ops->multepilogue(hisparse->structure->data, hisparse->values->data, hisparse->scale, x, epilogue, y, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseMultTranspose - y = A^T x + z or y = A^H x + z

  Input Parameters:
+ hisparse  - the matrix
. conjugate - PETSC_TRUE: the Hermitian transpose
. x         - [rows] device
. z         - [columns] device, may be y; or NULL: nothing is added
- stream    - asynchronous on it, but for the first product

  Output Parameter:
. y - [columns] device, not x

  Note: bitwise reproducible.
*/
PetscErrorCode HiSparseMultTranspose(HiSparse hisparse, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparsePrepare(hisparse, PETSC_TRUE, stream));
  if (!hisparse->transposed) PetscCall(hisparse->ops->multtranspose(hisparse->structure->data, hisparse->values->data, conjugate ? PetscConj(hisparse->scale) : hisparse->scale, conjugate, x, z, y, stream));
  else if (conjugate && PetscDefined(USE_COMPLEX)) PetscCall(HiSparseTransposedMultHermitian(hisparse, x, z, y, stream));
  else PetscCall(hisparse->ops->mult(hisparse->structure->data, hisparse->values->data, hisparse->scale, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a factor may stand beside the values. One that is zero or not finite would make NaN of sums without terms; far from 1, sums of the values would over- or underflow where those of the matrix do not. */
static PetscBool IsFactor(PetscScalar scale)
{
  const PetscReal size = PetscAbsScalar(scale);

  return (PetscBool)(size >= 1 / MAX_FACTOR && size <= MAX_FACTOR);
}

/* HiSparseScale - multiplies the matrix by alpha: a factor beside the values, which stay as they are and shared; where that would be extreme, all values */
PetscErrorCode HiSparseScale(HiSparse hisparse, PetscScalar alpha, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (IsFactor(hisparse->scale * alpha)) hisparse->scale *= alpha;
  else {
    PetscCall(HiSparseChangeScaledValues(hisparse, stream));
    PetscCall(hisparse->ops->scale(hisparse->structure->data, hisparse->values->data, alpha, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteZeros(HiSparse h, void *values, PETSC_UNUSED const void *from, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(h->ops->zero(h->structure->data, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseZero - sets all values to zero, the structure stays */
PetscErrorCode HiSparseZero(HiSparse hisparse, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseWriteValues(hisparse, WriteZeros, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseConjugate - replaces all values by their complex conjugates; nothing to do for real scalars */
PetscErrorCode HiSparseConjugate(HiSparse hisparse, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX)) {
    PetscCall(ChangeValues(hisparse, stream));
    PetscCall(hisparse->ops->conjugate(hisparse->structure->data, hisparse->values->data, stream));
    hisparse->scale = PetscConj(hisparse->scale);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseRealPart - replaces all values by their real parts; nothing to do for real scalars */
PetscErrorCode HiSparseRealPart(HiSparse hisparse, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX)) {
    PetscCall(HiSparseChangeScaledValues(hisparse, stream));
    PetscCall(hisparse->ops->realpart(hisparse->structure->data, hisparse->values->data, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseImaginaryPart - replaces all values by their imaginary parts, as real numbers; zero for real scalars */
PetscErrorCode HiSparseImaginaryPart(HiSparse hisparse, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX)) {
    PetscCall(HiSparseChangeScaledValues(hisparse, stream));
    PetscCall(hisparse->ops->imaginarypart(hisparse->structure->data, hisparse->values->data, stream));
  } else PetscCall(HiSparseZero(hisparse, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalScale - multiplies rows and columns by factors

  Input Parameters:
+ hisparse - the matrix
. left     - [rows] device, or NULL
. right    - [columns] device, or NULL
- stream   - asynchronous on it
*/
PetscErrorCode HiSparseDiagonalScale(HiSparse hisparse, const PetscScalar left[], const PetscScalar right[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (left == NULL && right == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChangeValues(hisparse, stream));
  PetscCall(hisparse->ops->diagonalscale(hisparse->structure->data, hisparse->values->data, hisparse->transposed ? right : left, hisparse->transposed ? left : right, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseGetDiagonal - the diagonal, [min(rows, columns)] on the device; 0 where a row has no such entry */
PetscErrorCode HiSparseGetDiagonal(HiSparse hisparse, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(hisparse->ops->getdiagonal(hisparse->structure->data, hisparse->values->data, hisparse->scale, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseCountMissingDiagonal - how many of the first n rows have no diagonal entry; synchronizes */
PetscErrorCode HiSparseCountMissingDiagonal(HiSparse hisparse, PetscCount n, cudaStream_t stream, PetscCount *missing)
{
  const PetscCount inside = PetscMin(n, hisparse->transposed ? (PetscCount)hisparse->num_columns : n); // what is stored has no other rows

  PetscFunctionBegin;
  PetscCall(hisparse->ops->countmissingdiagonal(hisparse->structure->data, inside, stream, missing));
  *missing += n - inside;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseDiagonalAdd - changes the diagonal entries that are there

  Input Parameters:
+ hisparse - the matrix
. d        - [min(rows, columns)] device, or NULL: scalar for all
. scalar   - used when d is NULL
. insert   - PETSC_TRUE: replaces the entries; otherwise adds
- stream   - asynchronous on it
*/
PetscErrorCode HiSparseDiagonalAdd(HiSparse hisparse, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseChangeScaledValues(hisparse, stream));
  PetscCall(hisparse->ops->diagonaladd(hisparse->structure->data, hisparse->values->data, d, scalar, insert, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseNormFrobeniusSquared - sum of the squares of absolute values, on the host; synchronizes */
PetscErrorCode HiSparseNormFrobeniusSquared(HiSparse hisparse, cudaStream_t stream, PetscReal *norm2)
{
  const PetscReal scale = PetscAbsScalar(hisparse->scale);

  PetscFunctionBegin;
  PetscCall(hisparse->ops->normfrobeniussquared(hisparse->structure->data, hisparse->values->data, stream, norm2));
  *norm2 *= scale * scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseNormOne - largest column sum of absolute values, on the host; synchronizes */
PetscErrorCode HiSparseNormOne(HiSparse hisparse, cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall((hisparse->transposed ? hisparse->ops->norminfinity : hisparse->ops->normone)(hisparse->structure->data, hisparse->values->data, stream, norm));
  *norm *= PetscAbsScalar(hisparse->scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseNormInfinity - largest row sum of absolute values, on the host; synchronizes */
PetscErrorCode HiSparseNormInfinity(HiSparse hisparse, cudaStream_t stream, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall((hisparse->transposed ? hisparse->ops->normone : hisparse->ops->norminfinity)(hisparse->structure->data, hisparse->values->data, stream, norm));
  *norm *= PetscAbsScalar(hisparse->scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseRowSumAbs - row sums of absolute values, [rows] on the device */
PetscErrorCode HiSparseRowSumAbs(HiSparse hisparse, PetscScalar sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (hisparse->transposed) PetscCall(HiSparseTransposedRowSumAbs(hisparse, sums, stream));
  else PetscCall(hisparse->ops->rowsumabs(hisparse->structure->data, hisparse->values->data, PetscAbsScalar(hisparse->scale), sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseColumnSumsAbs - column sums of absolute values, [columns] on the device */
PetscErrorCode HiSparseColumnSumsAbs(HiSparse hisparse, PetscReal sums[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (hisparse->transposed) PetscCall(HiSparseTransposedColumnSumsAbs(hisparse, sums, stream));
  else PetscCall(hisparse->ops->columnsumsabs(hisparse->structure->data, hisparse->values->data, PetscAbsScalar(hisparse->scale), sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseRowMaxAbs - the largest absolute value of each row and where it is

  Input Parameters:
+ hisparse - the matrix
- stream   - asynchronous on it, but for transposed matrices

  Output Parameters:
+ largest - [rows] device, 0 for a row without entries or with zeros alone
- indices - [rows] device or NULL: the smallest column that attains it, 0 for such a row

  Errors: PETSC_ERR_MEM; the contents of the arrays are undefined then.

  Cost: one read of the matrix. For matrices that are transposed by their flag, CSR is made for the call.
*/
PetscErrorCode HiSparseRowMaxAbs(HiSparse hisparse, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  const PetscReal alpha = PetscAbsScalar(hisparse->scale);

  PetscFunctionBegin;
  if (hisparse->transposed) PetscCall(HiSparseTransposedRowMaxAbs(hisparse, largest, indices, stream));
  else PetscCall(hisparse->ops->rowmaxabs(hisparse->structure->data, hisparse->values->data, alpha, largest, indices, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
