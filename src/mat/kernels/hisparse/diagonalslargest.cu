/*
  Masked diagonals: the largest absolute value of each row.
*/
#include "../common/rowloop.cuh"
#include "diagonalsloop.cuh"
#include "storedlargest.cuh"

namespace
{

/* Of the overflow: rows have what was found in pieces, times alpha. Both products are rounded in the same way, so that equal entries stay equal. */
struct LargestOutside {
  using Result = LargestEntry;
  const int32_t     *rows, *columns;
  const PetscScalar *values;
  PetscReal          alpha;
  PetscScalar       *largest;
  PetscInt          *indices;

  __device__ Result Identity() const { return LargestEntry::None(); }
  __device__ Result Map(RowEntry e) const { return LargestEntry::Of(values[e.position], columns[e.position]); }
  __device__ Result Combine(Result a, Result b) const { return LargestEntry::Larger(a, b); }
  __device__ void   Store(PetscInt k, Result r) const
  {
    const PetscInt     row    = (PetscInt)rows[k];
    const PetscReal    before = PetscRealPart(largest[row]);
    const LargestEntry there  = before > 0 ? LargestEntry{before, indices ? (int32_t)indices[row] : 0} : LargestEntry::None();

    r.value *= alpha;
    LargestEntry::Larger(there, r).Store(row, 1, largest, indices);
  }
};

template <typename Stored>
PetscErrorCode FindInPieces(const HiSparseDiagonals *d, const HiSparseDiagonalsValues *v, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(VisitRows(d, LargestStored<Stored>{(const Stored *)v->values, alpha, largest, indices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  HiSparseDiagonalsRowMaxAbs - alpha times the largest absolute value of each row, and where it is

  Input Parameters:
+ structure - a HiSparseDiagonals
. values    - its HiSparseDiagonalsValues
. alpha     - the factor, above 0
- stream    - asynchronous on it

  Output Parameters:
+ largest - [rows] device, 0 for a row without entries or with zeros alone
- indices - [rows] device or NULL: the smallest column that attains it, 0 for such a row

  Errors: PETSC_ERR_MEM when rows have many entries outside of pieces.

  Cost: one read of the matrix.
*/
PetscErrorCode HiSparseDiagonalsRowMaxAbs(void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream)
{
  const HiSparseDiagonals       *d = (const HiSparseDiagonals *)structure;
  const HiSparseDiagonalsValues *v = (const HiSparseDiagonalsValues *)values;

  PetscFunctionBegin;
  PetscCall(HISPARSE_WITH_STORED(v, FindInPieces, d, v, alpha, largest, indices, stream));
  if (d->overflow.view.num_rows > 0) PetscCall(RowLoop(OverflowView(d, v), NULL, LargestOutside{d->overflow.rows, d->overflow.view.columns, v->overflow_values, alpha, largest, indices}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
