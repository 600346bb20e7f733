#pragma once
/* The largest absolute value of a row and the smallest column where it is, as MatGetRowMaxAbs() of PETSc's AIJ finds them. */
#include "scalar.cuh"

namespace
{

struct LargestEntry {
  PetscReal value;  // 0: no entry that is larger
  int32_t   column; // INT32_MAX then

  static __device__ LargestEntry None() { return {0, INT32_MAX}; }
  /* Zeros and NaN lose against nothing at all, as on the host. */
  static __device__ LargestEntry Of(PetscScalar scalar, int32_t column)
  {
    const PetscReal value = AbsoluteValue(scalar);

    return value > 0 ? LargestEntry{value, column} : None();
  }
  static __device__ LargestEntry Larger(LargestEntry a, LargestEntry b) { return b.value > a.value || (b.value == a.value && b.column < a.column) ? b : a; }
  /* To the position of a row; indices may be NULL. */
  __device__ void Store(PetscCount row, PetscReal alpha, PetscScalar *largest, PetscInt *indices) const
  {
    largest[row] = PetscScalar(alpha * value);
    if (indices) indices[row] = value > 0 ? (PetscInt)column : 0;
  }
};

} // namespace
