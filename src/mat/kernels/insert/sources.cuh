#pragma once
/*
  Where the entries of a sorted list come from.
*/
#include <petscsparsecuda/insert.h>

namespace
{

template <typename Index>
struct Sources {
  const Index  *order;
  const int8_t *shifts;

  __device__ __forceinline__ PetscCount operator[](PetscCount k) const
  {
    if (shifts) return k + shifts[k];
    return order ? (PetscCount)order[k] : k;
  }
};

template <typename Index>
Sources<Index> SourcesOf(const DCSRList *list)
{
  return {(const Index *)list->order, list->shifts};
}

} // namespace
