/*
  16-bit columns in windows: values in single precision, where functions of entries.h work on those that are PetscScalar. For the rest windows.c makes a copy as PetscScalar, or calls the functions of masked diagonals.
*/
#include "../common/foreach.cuh"
#include "storedvalues.cuh"
#include "windowsfind.cuh"

namespace
{

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

/* WindowsSingleGet - to [n] = alpha times from [n], which are in single precision; both on the device, asynchronous on stream */
PetscErrorCode WindowsSingleGet(PetscCount n, const void *from, PetscScalar alpha, PetscScalar to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, Get{(const StoredSingle *)from, alpha, alpha != PetscScalar(1), to}, stream));
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
