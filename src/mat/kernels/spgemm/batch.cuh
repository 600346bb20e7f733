#pragma once
/* Rows of a launch, and entries of A whose rows of B a group of lanes takes one after the other. */
#include "table.cuh"

namespace
{

/* The rows of a launch. */
struct Rows {
  PetscCount     n;
  const int32_t *list; /* [n] or NULL: rows 0 to n - 1 */

  __device__ int32_t operator()(PetscCount item) const { return item >= n ? -1 : list ? list[item] : (int32_t)item; }
};

/* Entries of A of a group, one a lane: the row of B, and how many terms come before. */
template <int Lanes, typename Offset>
struct Batch {
  Offset begin  = 0;
  int    length = 0, before = 0, total; /* total: of the batch */

  __device__ Batch(const Factors<Offset> &f, PetscCount k, bool is_there, int lane)
  {
    if (is_there) {
      const int32_t column = f.a_columns[k];

      begin  = f.b_offsets[column];
      length = (int)(f.b_offsets[column + 1] - begin);
    }
    int sum = length;

#pragma unroll
    for (int d = 1; d < Lanes; d *= 2) {
      const int other = __shfl_up_sync(FULL_WARP, sum, d, Lanes);

      if (lane >= d) sum += other;
    }
    before = sum - length;
    total  = ShuffleFrom<Lanes>(sum, Lanes - 1);
  }
};

} // namespace
