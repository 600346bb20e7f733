/* The entries of a matrix that elements make, as a list of coordinates. */
#include "../common/foreach.cuh"
#include "../common/search.cuh"
#include <petscsparsecuda/elements.h>

namespace
{

/* Pair k of the list: neighbors have the same row, and columns that are stored one after the other. */
struct WritePair {
  const PetscCount *offsets, *first_pairs;
  const PetscInt   *unknowns;
  PetscInt          num_elements;
  PetscInt         *i, *j;

  __device__ void operator()(PetscCount k) const
  {
    const PetscInt   element = UpperBound(first_pairs, (PetscInt)0, num_elements, k) - 1;
    const PetscCount begin = offsets[element], size = offsets[element + 1] - begin, position = k - first_pairs[element];

    i[k] = unknowns[begin + position / size];
    j[k] = unknowns[begin + position % size];
  }
};

} // namespace

/*
  DCSRElementsGetPairs - all pairs of unknowns of an element, for all elements: i and j [num_pairs], rows and columns. Asynchronous
  All arrays are on the device. offsets [num_elements + 1]: where the unknowns of each element begin. first_pairs [num_elements + 1]: pairs of the elements before each, num_pairs at the end: the sum
  of the squares of the elements' numbers of unknowns. Cost: a binary search for the element of a pair.
*/
PetscErrorCode DCSRElementsGetPairs(PetscInt num_elements, const PetscCount offsets[], const PetscInt unknowns[], PetscCount num_pairs, const PetscCount first_pairs[], PetscInt i[], PetscInt j[],
                                    cudaStream_t stream)
{
  PetscFunctionBegin;
  if (num_pairs == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(DCSRForEach(num_pairs, WritePair{offsets, first_pairs, unknowns, num_elements, i, j}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
