/*
  Entries that are zero, or small, leave the pattern.
*/
#include "../common/scalar.cuh"
#include "compact.cuh"

namespace
{

struct KeepNonzero {
  bool      keep_diagonal;
  PetscReal tolerance;

  __device__ bool operator()(const DCSRView &view, RowEntry e) const
  {
    const PetscScalar value = view.values[e.position];

    // a value that is not a number is neither zero nor small
    if (!(value == PetscScalar(0) || AbsoluteValue(value) <= tolerance)) return true;
    return keep_diagonal && view.columns[e.position] == e.row;
  }
};

} // namespace

/*
  DCSREliminateZeros - new compact storage without the entries that are zero or small: of at most tolerance, 0: zeros alone; with keep_diagonal entries (i, i) stay. Synchronizes with the stream
  to owns its arrays, columns sorted; zero when no entry goes. The view is never changed, and nothing stays allocated after PETSC_ERR_MEM. Cost: one read of the entries when none goes; see
  DCSRCompactIf().
*/
PetscErrorCode DCSREliminateZeros(DCSRView view, PetscBool keep_diagonal, PetscReal tolerance, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion)
{
  PetscFunctionBegin;
  PetscCheck(view.values != NULL || !view.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values that could be zero");
  PetscCheck(tolerance >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The tolerance %g must not be negative", (double)tolerance);
  PetscCall(DCSRCompactIf(view, KeepNonzero{keep_diagonal == PETSC_TRUE, tolerance}, stream, to, deletion));
  PetscFunctionReturn(PETSC_SUCCESS);
}
