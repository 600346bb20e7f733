/*
  Strong entries of a matrix: those that stay above a threshold when the matrix is scaled so that its diagonal is one.
*/
#include "../common/foreach.cuh"
#include "../common/scalar.cuh"
#include "../delete/compact.cuh"
#include <petscsparsecuda/graph.h>

namespace
{

/* The square root of the reciprocal, rounded as PETSc does it: reciprocal, absolute value, root. */
struct ScalingOfDiagonal {
  PetscScalar    *d;
  __device__ void operator()(PetscCount k) const
  {
    const PetscReal size = AbsoluteValue(d[k]);

    d[k] = size == 0 ? PetscReal(0) : PetscReal(sqrt(PetscReal(1) / size));
  }
};

/* Whether an entry is a coupling that counts as zero. Not the entries of a diagonal. */
__device__ inline bool IsWeak(const DCSRView &view, RowEntry e, DCSRWeak weak)
{
  return weak.sign != 0 && !(weak.diagonal && view.columns[e.position] == e.row) && weak.sign * RealPart(view.values[e.position]) > 0;
}

/* Rows are scaled first, then columns: the order of MatDiagonalScale(), so that ties fall as on the host. */
struct KeepStrong {
  const PetscScalar *left, *right;
  PetscReal          threshold;
  DCSRWeak           weak;

  __device__ bool operator()(const DCSRView &view, RowEntry e) const
  {
    PetscReal value = IsWeak(view, e, weak) ? PetscReal(0) : AbsoluteValue(view.values[e.position]);

    if (weak.keeps && weak.diagonal && view.columns[e.position] == e.row) return true;
    value *= RealPart(left[e.row]);
    value *= RealPart(right[view.columns[e.position]]);
    return value > threshold;
  }
};

struct ZeroWeak {
  using Result = void;
  DCSRView view;
  DCSRWeak weak;

  __device__ void Visit(RowEntry e) const
  {
    if (IsWeak(view, e, weak)) view.values[e.position] = PetscScalar(0);
  }
};

} // namespace

/* DCSRZeroWeak - Couplings that count as zero become zero, in compact or fragmented storage with values. Asynchronous */
PetscErrorCode DCSRZeroWeak(DCSRView view, DCSRWeak weak, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (weak.sign != 0 && view.num_nonzeros > 0) PetscCall(RowLoop(view, ZeroWeak{view, weak}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRGetStrengthScaling - From the diagonal entries d [n] (device) of a matrix to the numbers that scale them to one: sqrt(1 / |d|); zeros stay. Asynchronous */
PetscErrorCode DCSRGetStrengthScaling(PetscInt n, PetscScalar d[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach((PetscCount)n, ScalingOfDiagonal{d}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRGetStrong - New compact storage of the entries whose scaled absolute value is above a threshold; synchronizes with the stream
  view is compact or fragmented, with values. left [num_rows] and right [num_columns], device, are factors of rows and columns; left and threshold are not negative. weak: couplings that count as zero.
  to owns its arrays, with the values of view; zero when all entries stay. deletion: what was done. Nothing stays allocated after PETSC_ERR_MEM. Cost: that of DCSRCompactIf() (delete/compact.cuh).
*/
PetscErrorCode DCSRGetStrong(DCSRView view, const PetscScalar left[], const PetscScalar right[], PetscReal threshold, DCSRWeak weak, cudaStream_t stream, DCSRView *to, DCSRDeletion *deletion)
{
  PetscFunctionBegin;
  PetscCall(DCSRCompactIf(view, KeepStrong{left, right, threshold, weak}, stream, to, deletion));
  PetscFunctionReturn(PETSC_SUCCESS);
}
