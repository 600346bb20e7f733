#pragma once
/*
  Flagged columns that become zero, for every format whose values are HiSparseDiagonalsValues.
*/
#include "storedvalues.cuh"

namespace
{

/* Entries of flagged columns in other rows become zero, and what each row loses is subtracted from the right-hand side, if there is one. */
struct Columns {
  const unsigned char *flags;
  const PetscScalar   *x;
  PetscScalar         *b;

  template <typename Stored>
  __device__ __forceinline__ PetscScalar Take(PetscInt row, PetscInt column, Stored *value) const
  {
    PetscScalar old;

    if (!flags[column] || flags[row]) return PetscScalar(0);
    old    = FromStored(*value);
    *value = ToStored<Stored>(PetscScalar(0));
    return x ? old * x[column] : PetscScalar(0);
  }
  __device__ __forceinline__ void Subtract(PetscInt row, PetscScalar sum) const
  {
    if (b && !flags[row]) b[row] -= sum;
  }
};

} // namespace
