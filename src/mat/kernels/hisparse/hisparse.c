/*
  A second way to store a sequential matrix: creation, copies that share, the scale factor, the flag of transposed ones, and the calls of the format's functions (hisparseimpl.h).
*/
#include "hisparseimpl.h"
#include <petscsparsecuda/transpose.h>

const char *const HiSparseFormats[] = {"auto", "diagonals", "blockdiagonals", "csr", "HiSparseFormat", "HISPARSE_", NULL};

/* Largest absolute value of a scale factor that stands beside the values, and inverse of the smallest one. */
#define MAX_FACTOR (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e12 : (PetscReal)1e100)

static const HiSparseFormatOps *FormatOps(HiSparseFormat format)
{
  switch (format) {
  case HISPARSE_DIAGONALS:
    return &HiSparseFormatDiagonals;
  case HISPARSE_BLOCK_DIAGONALS:
    return &HiSparseFormatBlockDiagonals;
  default:
    return NULL;
  }
}

/* HiSparseStructureDestroy - one reference less; NULL is fine, and *structure is NULL afterwards */
PetscErrorCode HiSparseStructureDestroy(HiSparseStructure **structure, const HiSparseFormatOps *ops, cudaStream_t stream)
{
  HiSparseStructure *s = *structure;

  PetscFunctionBegin;
  *structure = NULL;
  if (s == NULL || --s->references > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ops->destroy(&s->data, stream));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The precision that rounded values have where this one is asked for. */
static HiSparsePrecision AvailablePrecision(HiSparse h, HiSparsePrecision precision)
{
  const PetscBool half = (PetscBool)(h->ops->roundhalf != NULL && !h->transposed && h->num_rows == h->num_columns);

  return precision == HISPARSE_VALUES_HALF && !half ? HISPARSE_VALUES_SINGLE : precision;
}

/* Structure and values of a format; the caller destroys what is there after an error. structure->data NULL: the format does not fit. */
static PetscErrorCode CreateData(HiSparse h, DCSRView csr, HiSparsePrecision precision, cudaStream_t stream)
{
  PetscCount num_others;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h->structure));
  h->structure->references = 1;
  PetscCall(h->ops->create(csr, stream, &h->structure->data, &num_others));
  if (h->structure->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseValuesCreate(csr.num_nonzeros - num_others, num_others, AvailablePrecision(h, precision), stream, &h->values));
  PetscCall(h->ops->setvalues(h->structure->data, h->values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseCreate() in some precision; less than PetscScalar for diagonals alone. */
static PetscErrorCode Create(DCSRView csr, HiSparseFormat format, HiSparsePrecision precision, cudaStream_t stream, HiSparse *hisparse)
{
  HiSparse       h;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *hisparse = NULL;
  PetscCheck(csr.row_offsets != NULL || csr.segments == NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage has a second format, call DCSRDefragment() first");
  PetscCheck(csr.values != NULL || csr.num_nonzeros == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values for a second format");
  if (csr.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (format == HISPARSE_AUTO) PetscCall(HiSparseRuleApply(csr, stream, &format));
  if (FormatOps(format) == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&h));
  h->format       = format;
  h->ops          = FormatOps(format);
  h->num_rows     = csr.num_rows;
  h->num_columns  = csr.num_columns;
  h->num_nonzeros = csr.num_nonzeros;
  h->scale        = 1.0;
  PetscCallGoto(ierr, failed, CreateData(h, csr, precision, stream));
  if (h->structure->data == NULL) PetscCall(HiSparseDestroy(&h, stream));
  *hisparse = h;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDestroy(&h, stream));
  PetscFunctionReturn(ierr);
}

/*
  HiSparseCreate - a matrix in one of the formats that are smaller than CSR

  csr is compact, with sorted columns and values, and is not needed afterwards. HISPARSE_AUTO: the rule chooses; another format is made when it fits the matrix at all. *hisparse is NULL when CSR is as
  good, and after an error. Synchronizes. Errors: PETSC_ERR_MEM; PETSC_ERR_ARG_WRONGSTATE for storage that is not compact or has no values.

  Cost: a read of the columns, and of the values, and a write of what is made.
*/
PetscErrorCode HiSparseCreate(DCSRView csr, HiSparseFormat format, cudaStream_t stream, HiSparse *hisparse)
{
  PetscFunctionBegin;
  PetscCall(Create(csr, format, HISPARSE_VALUES_SCALAR, stream, hisparse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseCreateRounded - the same for HISPARSE_DIAGONALS, with nothing but values of less precision, as those that HiSparseRound() makes */
PetscErrorCode HiSparseCreateRounded(DCSRView csr, HiSparsePrecision precision, cudaStream_t stream, HiSparse *rounded)
{
  PetscFunctionBegin;
  PetscCall(Create(csr, HISPARSE_DIAGONALS, precision, stream, rounded));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDestroy - frees a matrix, and what it shares when nobody else has it; NULL is fine, and *hisparse is NULL afterwards */
PetscErrorCode HiSparseDestroy(HiSparse *hisparse, cudaStream_t stream)
{
  HiSparse h = *hisparse;

  PetscFunctionBegin;
  if (h == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseValuesDestroy(&h->values, stream));
  PetscCall(HiSparseStructureDestroy(&h->structure, h->ops, stream));
  PetscCall(PetscFree(*hisparse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseDuplicate - a copy that shares structure and values: the first of the two that changes its values gets values of its own then. The scale factor is each one's own. Nothing is copied */
PetscErrorCode HiSparseDuplicate(HiSparse hisparse, PETSC_UNUSED cudaStream_t stream, HiSparse *copy)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(copy));
  **copy = *hisparse;
  (*copy)->structure->references++;
  (*copy)->values->references++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseCheckValues - rounded values, of HiSparseRound(), are for products alone */
PetscErrorCode HiSparseCheckValues(HiSparse hisparse)
{
  PetscFunctionBegin;
  PetscCheck(hisparse->values->precision == HISPARSE_VALUES_SCALAR, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Rounded values are for products alone");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseRound - a matrix with the same structure, and with its values in single precision or FP16, for products that read less

  rounded is what the last call gave, or NULL; it gets the values of now, and shares the structure. All but products, facts and HiSparseDestroy() is for the matrix itself. Real square matrices with
  diagonals that are no transposes have FP16, for A x alone; others get single precision. Asynchronous. Errors: PETSC_ERR_MEM; *rounded is as it was, or NULL.

  Cost: a read of the values, of FP16 two, and a write of what is made.
*/
PetscErrorCode HiSparseRound(HiSparse hisparse, HiSparsePrecision precision, cudaStream_t stream, HiSparse *rounded)
{
  const HiSparseValues *from = hisparse->values;
  HiSparse              h    = *rounded;
  PetscErrorCode        ierr;

  PetscFunctionBegin;
  PetscCall(HiSparseCheckValues(hisparse));
  precision = AvailablePrecision(hisparse, precision);
  if (h != NULL && (h->structure != hisparse->structure || h->transposed != hisparse->transposed || h->values->precision != precision)) PetscCall(HiSparseDestroy(rounded, stream));
  h = *rounded;
  if (h == NULL) {
    PetscCall(PetscNew(&h));
    *h        = *hisparse;
    h->values = NULL;
    h->structure->references++;
    *rounded = h;
    PetscCallGoto(ierr, failed, HiSparseValuesCreate(from->num_values, from->num_others, precision, stream, &h->values));
  }
  PetscCallGoto(ierr, failed, HiSparseValuesRound(h->ops, h->structure->data, from, h->values, stream));
  h->scale = hisparse->scale;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDestroy(rounded, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseGetRounding - the largest error of a row over its diagonal entry, that entry apart, in FP16; infinite where a row lacks it or has values that are not finite, -1 in other precisions. Waits */
PetscErrorCode HiSparseGetRounding(HiSparse rounded, cudaStream_t stream, PetscReal *error)
{
  const HiSparseValues *v = rounded->values;
  double                largest;

  PetscFunctionBegin;
  *error = -1;
  if (v->precision != HISPARSE_VALUES_HALF) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(&largest, v->scales, sizeof(largest), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *error = (PetscReal)largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseGetInfo - what a matrix became, on the host */
PetscErrorCode HiSparseGetInfo(HiSparse hisparse, HiSparseInfo *info)
{
  size_t transposed;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(info, 1));
  PetscCall(hisparse->ops->getinfo(hisparse->structure->data, info));
  info->values_bytes = HiSparseValuesBytes(hisparse->values, &transposed);
  info->transpose_bytes += transposed;
  info->bytes += info->values_bytes;
  info->format       = hisparse->format;
  info->precision    = hisparse->values->precision;
  info->num_nonzeros = hisparse->num_nonzeros;
  info->num_others   = hisparse->values->num_others;
  info->transposed   = hisparse->transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseCopyValues - makes a matrix the same as another one of the same structure, with which it shares everything then

  done PETSC_FALSE: the two are stored in different ways; nothing has changed. Synchronizes when the two do not share their structure yet, which are compared then. Errors: PETSC_ERR_MEM.
*/
PetscErrorCode HiSparseCopyValues(HiSparse from, HiSparse to, cudaStream_t stream, PetscBool *done)
{
  HiSparseStructure *structure = to->structure;
  HiSparseValues    *values    = to->values;

  PetscFunctionBegin;
  *done = (PetscBool)(from->ops == to->ops && from->transposed == to->transposed && from->num_rows == to->num_rows && from->num_columns == to->num_columns && from->num_nonzeros == to->num_nonzeros);
  if (*done && from->structure != to->structure) PetscCall(from->ops->samestructure(from->structure->data, to->structure->data, stream, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  from->structure->references++;
  from->values->references++;
  *to = *from;
  PetscCall(HiSparseValuesDestroy(&values, stream));
  PetscCall(HiSparseStructureDestroy(&structure, to->ops, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseValuesToWrite - values that may be written, all of them: its own, or new ones where somebody else has those. Afterwards they go to HiSparseValuesWritten(), or new ones to
  HiSparseValuesDestroy()
*/
PetscErrorCode HiSparseValuesToWrite(HiSparse h, cudaStream_t stream, HiSparseValues **values)
{
  PetscFunctionBegin;
  PetscCall(HiSparseCheckValues(h));
  *values = h->values;
  if (h->values->references > 1) PetscCall(HiSparseValuesCreate(h->values->num_values, h->values->num_others, HISPARSE_VALUES_SCALAR, stream, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseValuesWritten - they are those of the matrix, without a factor */
PetscErrorCode HiSparseValuesWritten(HiSparse h, HiSparseValues *values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (values != h->values) PetscCall(HiSparseValuesDestroy(&h->values, stream));
  h->values = values;
  h->scale  = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values from CSR of what is stored. */
static PetscErrorCode SetStoredValues(HiSparse h, DCSRView csr, cudaStream_t stream)
{
  HiSparseValues *values;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(HiSparseValuesToWrite(h, stream, &values));
  PetscCallGoto(ierr, failed, h->ops->setvalues(h->structure->data, values, csr, stream));
  PetscCall(HiSparseValuesWritten(h, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (values != h->values) PetscCall(HiSparseValuesDestroy(&values, stream));
  PetscFunctionReturn(ierr);
}

/* New values for a transposed matrix. It is made again, as it is seen, so that later values come without a transpose; where its rows do not fit the format, CSR is transposed each time. */
static PetscErrorCode SetTransposedValues(HiSparse h, DCSRView csr, cudaStream_t stream)
{
  HiSparse           again;
  struct _n_HiSparse old = *h;
  DCSRView           stored;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(HiSparseCreate(csr, h->format, stream, &again));
  if (again != NULL) {
    *h     = *again;
    *again = old;
    PetscCall(HiSparseDestroy(&again, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DCSRTransposeCreate(csr, PETSC_TRUE, PETSC_FALSE, stream, &stored));
  ierr = SetStoredValues(h, stored, stream);
  PetscCall(DCSRViewFree(&stored, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSizes(HiSparse h, DCSRView csr)
{
  PetscFunctionBegin;
  PetscCheck(csr.num_rows == h->num_rows && csr.num_columns == h->num_columns && csr.num_nonzeros == h->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "CSR with %" PetscInt_FMT " rows, %" PetscInt_FMT " columns, %" PetscCount_FMT " entries is not that of a matrix with %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscCount_FMT,
             csr.num_rows, csr.num_columns, csr.num_nonzeros, h->num_rows, h->num_columns, h->num_nonzeros);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseSetValues - new values from compact CSR of the structure that the matrix was made of

  Asynchronous, but for transposed matrices, which are made again, without the flag. Errors: PETSC_ERR_MEM when values were shared, and for transposed matrices; PETSC_ERR_PLIB for another number of
  rows, columns or entries.

  Cost: a read and a write of the values.
*/
PetscErrorCode HiSparseSetValues(HiSparse hisparse, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CheckSizes(hisparse, csr));
  PetscCall(HiSparseCheckValues(hisparse));
  PetscCall((hisparse->transposed ? SetTransposedValues : SetStoredValues)(hisparse, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseSetRounded - new values, in their precision, of what HiSparseCreateRounded() made, as HiSparseSetValues() */
PetscErrorCode HiSparseSetRounded(HiSparse rounded, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CheckSizes(rounded, csr));
  PetscCall(rounded->ops->setvalues(rounded->structure->data, rounded->values, csr, stream));
  rounded->scale = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseGetCSR - the matrix as compact CSR, columns of a row sorted

  structure: row offsets and columns are wanted, otherwise csr has them; values: these are wanted. The arrays of csr are allocated, in the sizes of compact CSR, with offsets of either width.
  Errors: PETSC_ERR_MEM, PETSC_ERR_PLIB for other sizes; the contents of the arrays are undefined then.
*/
PetscErrorCode HiSparseGetCSR(HiSparse hisparse, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CheckSizes(hisparse, csr));
  PetscCall(HiSparseCheckValues(hisparse));
  if (!structure && !values) PetscFunctionReturn(PETSC_SUCCESS);
  if (hisparse->transposed) PetscCall(HiSparseTransposedGetCSR(hisparse, values, csr, stream));
  else PetscCall(hisparse->ops->getcsr(hisparse->structure->data, hisparse->values, hisparse->scale, structure, values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparsePrepare - makes what the products of a direction need, of the transpose or not, if it is not there; synchronizes then. Errors: PETSC_ERR_MEM; the matrix is as it was */
PetscErrorCode HiSparsePrepare(HiSparse hisparse, PetscBool transpose, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(hisparse->ops->prepare(hisparse->structure->data, hisparse->values, (PetscBool)(transpose != hisparse->transposed), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseMult - y = A x + z; z may be y, or NULL, and x is not y. Asynchronous, but for the first product */
PetscErrorCode HiSparseMult(HiSparse hisparse, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparsePrepare(hisparse, PETSC_FALSE, stream));
  PetscCall(hisparse->ops->mult(hisparse->structure->data, hisparse->values, hisparse->transposed ? HISPARSE_TRANSPOSE : HISPARSE_FORWARD, hisparse->scale, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  HiSparseMultEpilogue - y = alpha d (b - A x) + beta x + gamma q or y = y - alpha d A x, entry by entry; y may be b or q, not x

  done PETSC_FALSE: the matrix is transposed, for which no kernel does it, and nothing was done; HiSparseMult() and DCSRSpMVEpilogueApply() do it. Asynchronous, but for the first product.
*/
PetscErrorCode HiSparseMultEpilogue(HiSparse hisparse, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  *done = (PetscBool)!hisparse->transposed;
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparsePrepare(hisparse, PETSC_FALSE, stream));
  PetscCall(hisparse->ops->multepilogue(hisparse->structure->data, hisparse->values, hisparse->scale, x, epilogue, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HiSparseMultTranspose - y = A^T x + z, or with the Hermitian transpose; as HiSparseMult() */
PetscErrorCode HiSparseMultTranspose(HiSparse hisparse, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  const PetscBool hermitian = (PetscBool)(conjugate && PetscDefined(USE_COMPLEX));

  PetscFunctionBegin;
  PetscCall(HiSparsePrepare(hisparse, PETSC_TRUE, stream));
  if (!hisparse->transposed)
    PetscCall(
      hisparse->ops->mult(hisparse->structure->data, hisparse->values, hermitian ? HISPARSE_HERMITIAN : HISPARSE_TRANSPOSE, hermitian ? PetscConj(hisparse->scale) : hisparse->scale, x, z, y, stream));
  else if (hermitian) PetscCall(HiSparseTransposedMultHermitian(hisparse, x, z, y, stream));
  else PetscCall(hisparse->ops->mult(hisparse->structure->data, hisparse->values, HISPARSE_FORWARD, hisparse->scale, x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether a factor may stand beside the values. One that is zero or not finite would make NaN of sums without terms; far from 1, sums of the values would over- or underflow where those of the matrix
  do not.
*/
static PetscBool IsFactor(PetscScalar scale)
{
  const PetscReal size = PetscAbsScalar(scale);

  return (PetscBool)(size >= 1 / MAX_FACTOR && size <= MAX_FACTOR);
}

/* HiSparseScale - multiplies the matrix by alpha: a factor beside the values, which stay as they are and shared; where that would be extreme, all values */
PetscErrorCode HiSparseScale(HiSparse hisparse, PetscScalar alpha, cudaStream_t stream)
{
  HiSparseValues *values;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (IsFactor(hisparse->scale * alpha)) {
    hisparse->scale *= alpha;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HiSparseValuesToWrite(hisparse, stream, &values));
  if (values != hisparse->values) PetscCallGoto(ierr, failed, HiSparseValuesCopy(hisparse->values, values, stream));
  if (hisparse->scale != (PetscScalar)1.0) PetscCallGoto(ierr, failed, HiSparseValuesScale(values, hisparse->scale, stream));
  PetscCallGoto(ierr, failed, HiSparseValuesScale(values, alpha, stream));
  PetscCall(HiSparseValuesWritten(hisparse, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (values != hisparse->values) PetscCall(HiSparseValuesDestroy(&values, stream));
  PetscFunctionReturn(ierr);
}

/* HiSparseGetDiagonal - the diagonal, [min(rows, columns)] on the device; 0 where a row has no such entry */
PetscErrorCode HiSparseGetDiagonal(HiSparse hisparse, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseCheckValues(hisparse));
  PetscCall(hisparse->ops->getdiagonal(hisparse->structure->data, hisparse->values, hisparse->scale, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
