#pragma once
/*
  The values of a list of coordinates as kernels read them: in the order in which they were given, by way of what a sorted list knows of it.
*/
#include <petscsparsecuda/insert.h>

namespace
{

/* The values of the unsorted list, in one array or, from position split on, in a second one. */
struct ListValues {
  const PetscScalar     *first, *second;
  PetscCount             split;
  __device__ PetscScalar operator[](PetscCount k) const { return k < split ? first[k] : second[k - split]; }
};

/* Distinct entries of a sorted list: entry t has the values Source(k) of the unsorted list, k from Begin(t) to Begin(t + 1). */
template <typename Index>
struct Runs {
  const Index          *order, *runs;
  __device__ PetscCount Begin(PetscCount t) const { return runs ? (PetscCount)runs[t] : t; }
  __device__ PetscCount Source(PetscCount k) const { return order ? (PetscCount)order[k] : k; }

  /* The sum of the values of a distinct entry. */
  __device__ __forceinline__ PetscScalar Sum(const ListValues &v, PetscCount t) const
  {
    const PetscCount begin = Begin(t), end = Begin(t + 1);
    PetscScalar      sum = v[Source(begin)];

    for (PetscCount k = begin + 1; k < end; k++) sum += v[Source(k)];
    return sum;
  }
};

} // namespace
