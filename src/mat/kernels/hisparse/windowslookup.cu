/*
  Where the entries of a batch are among 16-bit columns in windows: a bisection in the row, which decodes the columns that it looks at.
*/
#include "../common/offsets.cuh"
#include "../common/search.cuh"
#include "../insert/lookup.cuh"
#include "windows.cuh"

namespace
{

struct FindInWindows {
  Offsets         row_offsets;
  const uint16_t *columns, *upper;
  const int32_t  *windows;
  int             shift; // 2^shift columns a load

  __device__ __forceinline__ int32_t Column(PetscCount k) const
  {
    const PetscCount   block = k / WINDOWS_BLOCK;
    const int          place = WindowsPlace((int)(k % WINDOWS_BLOCK), shift);
    const unsigned int code  = columns[block * WINDOWS_BLOCK + place];
    const int32_t      first = windows[block * WINDOWS_COUNT];

    if (first < 0) return (int32_t)(code | (unsigned int)upper[(PetscCount)(-1 - first) * WINDOWS_BLOCK + place] << 16);
    return windows[block * WINDOWS_COUNT + (code >> WINDOWS_BITS)] + (int32_t)code;
  }

  __device__ PetscCount operator()(PetscInt row, int32_t column) const
  {
    const FindInWindows find = *this;
    const PetscCount    end = row_offsets((PetscCount)row + 1), k = PartitionPoint(row_offsets(row), end, [=](PetscCount e) { return find.Column(e) < column; });

    return k < end && Column(k) == column ? k : -1;
  }
};

} // namespace

/*
  WindowsLookup - finds out which entries of a batch are in a matrix, and where

  Input Parameters:
+ w      - the structure
. batch  - sorted distinct entries, at least one
- stream - asynchronous on it

  Output Parameter:
. lookup - positions among the values; zero after an error, to be freed with DCSRLookupDestroy()

  Errors: PETSC_ERR_MEM.
*/
PetscErrorCode WindowsLookup(Windows w, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup)
{
  FindInWindows find = {};

  PetscFunctionBegin;
  find.row_offsets.offsets = w->row_offsets;
  find.row_offsets.wide    = w->wide;
  find.columns             = w->columns;
  find.upper               = w->upper;
  find.windows             = w->windows;
  find.shift               = w->config.vec == 2 ? 1 : w->config.vec == 4 ? 2 : 3;
  PetscCall(LookupCreate(find, batch, stream, lookup));
  PetscFunctionReturn(PETSC_SUCCESS);
}
