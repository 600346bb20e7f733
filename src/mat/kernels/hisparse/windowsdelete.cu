/*
  16-bit columns in windows: values of listed rows and of flagged columns become zero; the pattern stays. Columns are decoded where they are looked at, so that no 32-bit ones are made.
*/
#include "../common/rowloop.cuh"
#include "delete.cuh"
#include "windowsfind.cuh"

namespace
{

constexpr int THREADS = 128, WARP = 32, WARPS = THREADS / WARP;

/* A warp a listed row, a lane an entry. */
template <typename Stored>
__global__ void __launch_bounds__(THREADS) ZeroRowsKernel(PetscInt n, const PetscInt *list, const FindInWindows find, Stored *values, PetscScalar diag)
{
  const PetscCount q = (PetscCount)blockIdx.x * WARPS + threadIdx.x / WARP;

  if (q >= n) return;
  const PetscInt   row = list[q];
  const PetscCount end = find.row_offsets((PetscCount)row + 1);

  for (PetscCount k = find.row_offsets(row) + threadIdx.x % WARP; k < end; k += WARP) values[k] = ToStored<Stored>(find.Column(k) == row ? diag : PetscScalar(0));
}

/* Without a right-hand side, which takes no memory. */
template <typename Stored>
struct ZeroColumnEntry {
  using Result = void;
  FindInWindows find;
  Columns       columns;
  Stored       *values;

  __device__ void Visit(RowEntry e) const { columns.Take((PetscInt)e.row, (PetscInt)find.Column(e.position), values + e.position); }
};

/* The same, and the sum of what each row loses goes to the right-hand side. */
template <typename Stored>
struct SubtractColumns {
  using Result = PetscScalar;
  FindInWindows find;
  Columns       columns;
  Stored       *values;

  __device__ Result Identity() const { return Result(0); }
  // each entry is mapped once, so that it can be taken away here
  __device__ Result Map(RowEntry e) const { return columns.Take((PetscInt)e.row, (PetscInt)find.Column(e.position), values + e.position); }
  __device__ Result Combine(Result a, Result b) const { return a + b; }
  __device__ void   Store(PetscInt row, Result sum) const { columns.Subtract(row, sum); }
};

template <typename Stored>
PetscErrorCode ZeroRows(Windows w, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  PetscFunctionBegin;
  ZeroRowsKernel<Stored><<<DCSRNumBlocks((PetscCount)n, WARPS), THREADS, 0, stream>>>(n, rows, FindInWindows(w), (Stored *)values, diag);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Stored>
PetscErrorCode ZeroColumns(Windows w, void *values, const Columns &columns, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (columns.b != NULL) PetscCall(RowLoop(WindowsRows(w), NULL, SubtractColumns<Stored>{FindInWindows(w), columns, (Stored *)values}, stream));
  else PetscCall(RowLoop(WindowsRows(w), NULL, ZeroColumnEntry<Stored>{FindInWindows(w), columns, (Stored *)values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  WindowsCountWithoutDiagonal - how many listed rows lack the diagonal entry that they could have

  Input Parameters:
+ structure - a WindowsStructure
. n         - length of the list
. rows      - [n] device, may repeat
- stream    - synchronizes with it

  Output Parameter:
. count - the number, repeats included, on the host

  Errors: PETSC_ERR_MEM.

  Cost: a bisection in each of the rows.
*/
PetscErrorCode WindowsCountWithoutDiagonal(void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count)
{
  const Windows w = ((const WindowsStructure *)structure)->windows;

  PetscFunctionBegin;
  PetscCall(CountRowsWithoutDiagonal(n, rows, w->num_columns, FindInWindows(w), stream, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsZeroRows - sets the values of listed rows to zero and their diagonal entries to a number

  Input Parameters:
+ structure - a WindowsStructure
. values    - its WindowsFormatValues, which nobody else has
. n         - length of the list
. rows      - [n] device, may repeat
. diag      - new value of the diagonal entries that are there; rounded when values are in single precision
- stream    - asynchronous on it

  Cost: a read of the columns and a write of the values of these rows; the next product with the transpose renews its values.
*/
PetscErrorCode WindowsZeroRows(void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream)
{
  WindowsFormatValues *v = (WindowsFormatValues *)values;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  v->transposed_current = PETSC_FALSE;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroRows, ((const WindowsStructure *)structure)->windows, v->values, n, rows, diag, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  WindowsZeroColumns - sets the values of flagged columns to zero, in all rows but the flagged ones, and subtracts what goes from a right-hand side

  Input Parameters:
+ structure - a WindowsStructure
. values    - its WindowsFormatValues, which nobody else has
. flags     - [max(rows, columns)] device, of rows and of columns
. x         - [columns] device, read in flagged columns alone; or NULL
- stream    - asynchronous on it

  Input/Output Parameter:
. b - [rows] device, b -= A_flagged x in rows without a flag; NULL together with x

  Errors: PETSC_ERR_MEM when the matrix has long rows and there is a right-hand side, before anything is changed.

  Cost: a read of the columns and of the flags of columns, one an entry, and of the values that go.
*/
PetscErrorCode WindowsZeroColumns(void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream)
{
  WindowsFormatValues *v       = (WindowsFormatValues *)values;
  const Columns        columns = {flags, b ? x : NULL, x ? b : NULL};

  PetscFunctionBegin;
  v->transposed_current = PETSC_FALSE;
  PetscCall(HISPARSE_WITH_STORED(v, ZeroColumns, ((const WindowsStructure *)structure)->windows, v->values, columns, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
