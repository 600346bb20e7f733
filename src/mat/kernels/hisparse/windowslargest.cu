/*
  16-bit columns in windows: the largest absolute value of each row.
*/
#include "../common/largest.cuh"
#include "../common/rowloop.cuh"
#include "storedvalues.cuh"
#include "windowsfind.cuh"

namespace
{

template <typename Stored>
struct LargestInWindows {
  using Result = LargestEntry;
  FindInWindows find;
  const Stored *values;
  PetscReal     alpha;
  PetscScalar  *largest;
  PetscInt     *indices;

  __device__ Result Identity() const { return LargestEntry::None(); }
  __device__ Result Map(RowEntry e) const { return LargestEntry::Of(FromStored(values[e.position]), find.Column(e.position)); }
  __device__ Result Combine(Result a, Result b) const { return LargestEntry::Larger(a, b); }
  __device__ void   Store(PetscInt row, Result r) const { r.Store(row, alpha, largest, indices); }
};

template <typename Stored>
PetscErrorCode FindLargest(Windows w, const void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RowLoop(WindowsRows(w), NULL, LargestInWindows<Stored>{FindInWindows(w), (const Stored *)values, alpha, largest, indices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  WindowsRowMaxAbs - alpha times the largest absolute value of each row, and where it is

  Input Parameters:
+ structure - a WindowsStructure
. values    - its WindowsFormatValues
. alpha     - the factor, above 0
- stream    - asynchronous on it

  Output Parameters:
+ largest - [rows] device, 0 for a row without entries or with zeros alone
- indices - [rows] device or NULL: the smallest column that attains it, 0 for such a row

  Errors: PETSC_ERR_MEM when the matrix has long rows.

  Cost: one read of the matrix.
*/
PetscErrorCode WindowsRowMaxAbs(void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  const WindowsFormatValues *v = (const WindowsFormatValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, FindLargest, ((const WindowsStructure *)structure)->windows, v->values, alpha, largest, indices, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
