#pragma once
/*
  Tiles of the merged entries of two compact matrices. The entries of both are in the order of rows and columns, A's entry before B's where both have one. They are cut into chunks of equal
  size, whatever the rows are (merge path: Green, McColl, Bader, GPU Merge Path, ICS 2012). A row counts as one more entry, so that a tile has few rows, too (Merrill, Garland, Merge-based
  parallel sparse matrix-vector multiplication, SC 2016). An entry that both have is in one tile.
*/
#include "../common/search.cuh"
#include "summand.cuh"

namespace
{

constexpr int ADD_ITEMS = 8;                       // entries of a thread
constexpr int ADD_TILE  = ADD_THREADS * ADD_ITEMS; // entries and rows of a tile, one less unless an entry of both is at its end
constexpr int ADD_WORDS = ADD_TILE / 32;           // words of a bit an entry

struct AddPlanArrays {
  Summand       a, b;
  DCSRAddSplit *splits;
  uint32_t     *bits; // [2 * ADD_WORDS] a tile
  PetscCount   *matched;
  PetscCount    num_tiles, num_rows, num_entries; // of A and B together
};

inline AddPlanArrays MakeArrays(const DCSRAddPlan *plan, DCSRView A, DCSRView B)
{
  return AddPlanArrays{MakeSummand(A, plan->map_a), MakeSummand(B, plan->map_b), plan->splits, plan->bits, plan->matched, plan->num_tiles, A.num_rows, A.num_nonzeros + B.num_nonzeros};
}

/* The tile of a thread block. */
struct Tile {
  DCSRAddSplit begin, end;
  int          num_a, num_b, num;

  __device__ __forceinline__ explicit Tile(const DCSRAddSplit splits[]) : begin(splits[blockIdx.x]), end(splits[blockIdx.x + 1])
  {
    num_a = (int)(end.a - begin.a);
    num_b = (int)(end.b - begin.b);
    num   = num_a + num_b;
  }
};

/* How many of the first k entries of a merged row are A's. */
__device__ PetscCount MergePath(const Summand &a, const Summand &b, PetscCount a_begin, PetscCount a_size, PetscCount b_begin, PetscCount b_size, PetscCount k)
{
  return PartitionPoint(k > b_size ? k - b_size : 0, k < a_size ? k : a_size, [&](PetscCount i) { return a.Column(a_begin + i) <= b.Column(b_begin + k - 1 - i); });
}

/* A thread a tile: where it begins. */
__global__ void __launch_bounds__(ADD_THREADS) SplitKernel(AddPlanArrays p)
{
  const PetscCount t = (PetscCount)blockIdx.x * ADD_THREADS + threadIdx.x, d = t * (ADD_TILE - 1);
  const PetscCount num_rows = p.num_rows;
  PetscCount       row, a_begin, b_begin, k;
  DCSRAddSplit     split;

  if (t > p.num_tiles) return;
  if (t == p.num_tiles) {
    p.splits[t] = DCSRAddSplit{p.a.Offset(num_rows), p.b.Offset(num_rows), (PetscInt)num_rows};
    return;
  }
  row     = LastWhere((PetscCount)0, num_rows, [&](PetscCount r) { return p.a.Offset(r) + p.b.Offset(r) + r <= d; });
  a_begin = p.a.Offset(row);
  b_begin = p.b.Offset(row);
  k       = d - (a_begin + b_begin + row); // the row itself, and its entries before the tile
  split   = DCSRAddSplit{a_begin, b_begin, (PetscInt)(k > 0 ? row + 1 : row)};
  if (k > 1) {
    const PetscCount b_size = p.b.Offset(row + 1) - b_begin, i = MergePath(p.a, p.b, a_begin, p.a.Offset(row + 1) - a_begin, b_begin, b_size, k - 1);
    PetscCount       j = k - 1 - i;

    if (i > 0 && j < b_size && p.a.Column(a_begin + i - 1) == p.b.Column(b_begin + j)) j++; // both have it: not in two tiles
    split.a += i;
    split.b += j;
  }
  p.splits[t] = split;
}

} // namespace
