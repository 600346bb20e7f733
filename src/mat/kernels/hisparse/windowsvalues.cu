/*
  16-bit columns in windows: values in single precision. Functions of entries.h work on those that are PetscScalar. What is done often is done here to those that are not; for the rest windows.c makes a copy as PetscScalar.
*/
#include "../common/foreach.cuh"
#include "storedvalues.cuh"
#include "windowsfind.cuh"

namespace
{

struct Round {
  const PetscScalar *from;
  StoredSingle      *to;
  __device__ void    operator()(PetscCount k) const { to[k] = ToStored<StoredSingle>(from[k]); }
};

/* A factor of 1 does not multiply: it would make infinite complex numbers NaN. */
struct Get {
  const StoredSingle *from;
  PetscScalar         alpha;
  bool                multiply;
  PetscScalar        *to;

  __device__ void operator()(PetscCount k) const
  {
    const PetscScalar value = FromStored(from[k]);

    to[k] = multiply ? value * alpha : value;
  }
};

struct Multiply {
  PetscScalar             alpha;
  __device__ StoredSingle operator()(StoredSingle value) const { return ToStored<StoredSingle>(FromStored(value) * alpha); }
};

#if PetscDefined(USE_COMPLEX)
struct Conjugate {
  __device__ StoredSingle operator()(StoredSingle value) const { return thrust::conj(value); }
};

struct RealPart {
  __device__ StoredSingle operator()(StoredSingle value) const { return StoredSingle(value.real()); }
};

struct ImaginaryPart {
  __device__ StoredSingle operator()(StoredSingle value) const { return StoredSingle(value.imag()); }
};
#endif

/* op to each value. */
template <typename Op>
struct Change {
  StoredSingle   *values;
  Op              op;
  __device__ void operator()(PetscCount k) const { values[k] = op(values[k]); }
};

template <typename Op>
PetscErrorCode ChangeAll(PetscCount n, void *values, Op op, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, Change<Op>{(StoredSingle *)values, op}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry that is there gets its value. */
template <bool Add>
struct SetFound {
  const PetscCount  *where;
  const PetscScalar *from;
  StoredSingle      *values;

  __device__ void operator()(PetscCount t) const
  {
    const PetscCount k = where[t];

    if (k >= 0) values[k] = ToStored<StoredSingle>(Add ? FromStored(values[k]) + from[t] : from[t]);
  }
};

template <typename Offset>
struct Gather {
  const Offset       *permutation;
  const StoredSingle *from;
  StoredSingle       *to;
  __device__ void     operator()(PetscCount k) const { to[k] = from[permutation[k]]; }
};

struct GetDiagonal {
  FindInWindows       find;
  const StoredSingle *values;
  PetscScalar         alpha;
  PetscScalar        *diagonal;

  __device__ void operator()(PetscInt row) const
  {
    const PetscCount k = find(row, (int32_t)row);

    diagonal[row] = k < 0 ? PetscScalar(0) : alpha * FromStored(values[k]);
  }
};

struct AddDiagonal {
  FindInWindows      find;
  StoredSingle      *values;
  const PetscScalar *d;
  PetscScalar        scalar;
  bool               insert;

  __device__ void operator()(PetscInt row) const
  {
    const PetscCount  k     = find(row, (int32_t)row);
    const PetscScalar value = d ? d[row] : scalar;

    if (k >= 0) values[k] = ToStored<StoredSingle>(insert ? value : FromStored(values[k]) + value);
  }
};

} // namespace

/* WindowsSingleRound - to [n] = from [n], rounded to single precision; both on the device, asynchronous on stream */
PetscErrorCode WindowsSingleRound(PetscCount n, const PetscScalar from[], void *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, Round{from, (StoredSingle *)to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsSingleGet - to [n] = alpha times from [n], which are in single precision; both on the device, asynchronous on stream */
PetscErrorCode WindowsSingleGet(PetscCount n, const void *from, PetscScalar alpha, PetscScalar to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, Get{(const StoredSingle *)from, alpha, alpha != PetscScalar(1), to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsSingleScale - multiplies n values by alpha, and rounds; asynchronous on stream */
PetscErrorCode WindowsSingleScale(PetscCount n, void *values, PetscScalar alpha, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ChangeAll(n, values, Multiply{alpha}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsSingleConjugate - replaces n values by their complex conjugates; nothing to do for real scalars; asynchronous on stream */
PetscErrorCode WindowsSingleConjugate(PetscCount n, void *values, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCall(ChangeAll(n, values, Conjugate(), stream));
#else
  (void)n;
  (void)values;
  (void)stream;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsSingleRealPart - replaces n values by their real parts; nothing to do for real scalars; asynchronous on stream */
PetscErrorCode WindowsSingleRealPart(PetscCount n, void *values, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCall(ChangeAll(n, values, RealPart(), stream));
#else
  (void)n;
  (void)values;
  (void)stream;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsSingleImaginaryPart - replaces n values by their imaginary parts, as real numbers; zero for real scalars; asynchronous on stream */
PetscErrorCode WindowsSingleImaginaryPart(PetscCount n, void *values, cudaStream_t stream)
{
  PetscFunctionBegin;
#if PetscDefined(USE_COMPLEX)
  PetscCall(ChangeAll(n, values, ImaginaryPart(), stream));
#else
  if (n > 0) PetscCallCUDA(cudaMemsetAsync(values, 0, (size_t)n * sizeof(StoredSingle), stream));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsSingleSetFound - the values of the entries that were there, as DCSRLookupWriteFound()

  Input Parameters:
+ values - in single precision, device
. batch  - the batch
. lookup - of WindowsLookup(), with its numbers on the host
. mode   - ADD_VALUES: sums are rounded; otherwise the values replace
- stream - asynchronous on it
*/
PetscErrorCode WindowsSingleSetFound(void *values, const DCSRBatch *batch, const DCSRLookup *lookup, InsertMode mode, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (batch->num_entries == (PetscCount)lookup->numbers.num_new) PetscFunctionReturn(PETSC_SUCCESS);
  if (mode == ADD_VALUES) PetscCallCUDA(DCSRForEach(batch->num_entries, SetFound<true>{lookup->where, batch->values, (StoredSingle *)values}, stream));
  else PetscCallCUDA(DCSRForEach(batch->num_entries, SetFound<false>{lookup->where, batch->values, (StoredSingle *)values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* WindowsSingleTranspose - values of the transpose of a structure that has its permutation, as DCSRTransposeNumeric(); both in single precision on the device, asynchronous on stream */
PetscErrorCode WindowsSingleTranspose(const WindowsStructure *s, const void *values, void *transposed, cudaStream_t stream)
{
  const PetscCount n = s->windows->num_nonzeros;

  PetscFunctionBegin;
  if (s->windows->wide) PetscCallCUDA(DCSRForEach(n, Gather<int64_t>{(const int64_t *)s->permutation, (const StoredSingle *)values, (StoredSingle *)transposed}, stream));
  else PetscCallCUDA(DCSRForEach(n, Gather<int32_t>{(const int32_t *)s->permutation, (const StoredSingle *)values, (StoredSingle *)transposed}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsSingleGetDiagonal - alpha times the diagonal entries, 0 where a row has none

  Input Parameters:
+ w      - the structure
. values - in single precision, device
. alpha  - the factor
- stream - asynchronous on it

  Output Parameter:
. diagonal - [min(num_rows, num_columns)] device

  Cost: a bisection a row.
*/
PetscErrorCode WindowsSingleGetDiagonal(Windows w, const void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(w->num_rows, w->num_columns), GetDiagonal{FindInWindows(w), (const StoredSingle *)values, alpha, diagonal}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsSingleDiagonalAdd - adds to, or replaces, the diagonal entries that exist, as DCSRDiagonalAdd(); what is stored is rounded

  Input Parameters:
+ w      - the structure
. values - in single precision, device
. d      - [min(num_rows, num_columns)] device, or NULL to use scalar for all rows
. scalar - used when d is NULL
. insert - PETSC_TRUE replaces, PETSC_FALSE adds
- stream - asynchronous on it

  Cost: a bisection a row.
*/
PetscErrorCode WindowsSingleDiagonalAdd(Windows w, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(PetscMin(w->num_rows, w->num_columns), AddDiagonal{FindInWindows(w), (StoredSingle *)values, d, scalar, insert == PETSC_TRUE}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
