#pragma once
/*
  y = A x + z where A is a base with an overflow, by the split kernel: a thread block multiplies the overflow of its rows together with its entries of the base, and who sums a row adds both. The order
  is fixed, so that the bits are always the same.
*/
#include "spmvdevice.cuh"

/* An overflow as kernels see it. */
struct SpMVOverflowRows {
  const SpMVOverflowMark *marks;
  const int32_t          *rows, *offsets, *columns, *blocks;
  const PetscScalar      *values;

  __device__ __forceinline__ uint2 Mark(int32_t row) const { return __ldg((const uint2 *)marks + row / 32); }
  /* Begin and end of the overflow of a row, whose mark it is. */
  __device__ __forceinline__ int2 Range(int32_t row, uint2 mark) const
  {
    const unsigned int bit = 1u << (row % 32);

    if (!(mark.x & bit)) return make_int2(0, 0);
    const int32_t *offset = offsets + (int32_t)mark.y + __popc(mark.x & (bit - 1u));

    return make_int2(__ldg(offset), __ldg(offset + 1));
  }
  /* The sum of entries begin, begin + STRIDE, ... before end. */
  template <int STRIDE>
  __device__ __forceinline__ PetscScalar Sum(int32_t begin, int32_t end, const PetscScalar *x) const
  {
    PetscScalar sum(0.0);

    for (int32_t i = begin; i < end; i += STRIDE) sum += values[i] * SpMVGather(x, columns[i]);
    return sum;
  }
};

static inline SpMVOverflowRows SpMVOverflowGetRows(DCSROverflow o)
{
  return {o->marks, o->rows, o->offsets, o->columns, o->blocks, o->values};
}

/* An Output (spmvoutput.cuh) of the split kernel, which adds the overflow of all rows but those that Write() is for. */
struct SpMVAddWithOverflow {
  SpMVAdd            add;
  SpMVOverflowRows   overflow;
  const PetscScalar *x;

  using Row = SpMVAdd::Row;

  __device__ __forceinline__ void Prefetch(PetscCount, int, int, int) const {}

  template <typename Index>
  __device__ __forceinline__ Row Load(Index i) const
  {
    return add.Load(i);
  }
  template <typename Index>
  __device__ __forceinline__ void Store(Index i, PetscScalar sum, const Row &row) const
  {
    add.Store(i, sum, row);
  }
  template <typename Index>
  __device__ __forceinline__ void Write(Index i, PetscScalar sum) const
  {
    const int2 range = overflow.Range(i, overflow.Mark(i));

    add.Write(i, sum + overflow.Sum<1>(range.x, range.y, x));
  }
};

/* The overflow of the rows that a thread block finishes. Loads that depend on each other come between those of the base: behind these they would be waited for. Other outputs have none. */
template <int THREADS, int TILE, typename Output>
struct SpMVStage {
  static constexpr int CAPACITY = 0;

  __device__ __forceinline__      SpMVStage(const Output &, PetscScalar *) {}
  __device__ __forceinline__ void LoadEntries(void) {}
  __device__ __forceinline__ void LoadMark(int32_t, bool) {}
  __device__ __forceinline__ void LoadRange(int32_t) {}
  __device__ __forceinline__ void Multiply(void) {}
};

template <int THREADS, int TILE>
struct SpMVStage<THREADS, TILE, SpMVAddWithOverflow> {
  static constexpr int ITEMS = (TILE / 2 + THREADS - 1) / THREADS, CAPACITY = ITEMS * THREADS;

  const SpMVAddWithOverflow &output;
  PetscScalar               *terms; // [CAPACITY] shared
  int2                       block; // begin and end
  int32_t                    c[ITEMS];
  PetscScalar                v[ITEMS];
  uint2                      mark;
  int2                       row;

  __device__ __forceinline__ SpMVStage(const SpMVAddWithOverflow &o, PetscScalar *shared) : output(o), terms(shared), block(__ldg((const int2 *)o.overflow.blocks + blockIdx.x)), row(make_int2(0, 0))
  {}
  /* Whether the entries fit; otherwise each row reads its own. */
  __device__ __forceinline__ bool Fits(void) const { return block.y - block.x <= CAPACITY; }
  __device__ __forceinline__ int  Count(void) const { return Fits() ? block.y - block.x : 0; }
  __device__ __forceinline__ void LoadEntries(void)
  {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int k = j * THREADS + (int)threadIdx.x;

      if (k < Count()) {
        c[j] = output.overflow.columns[block.x + k];
        v[j] = output.overflow.values[block.x + k];
      }
    }
  }
  __device__ __forceinline__ void LoadMark(int32_t r, bool mine)
  {
    mark = mine ? output.overflow.Mark(r) : make_uint2(0, 0);
  }
  __device__ __forceinline__ void LoadRange(int32_t r)
  {
    row = output.overflow.Range(r, mark);
  }
  __device__ __forceinline__ void Multiply(void)
  {
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
      const int k = j * THREADS + (int)threadIdx.x;

      if (k < Count()) terms[k] = v[j] * SpMVGather(output.x, c[j]);
    }
  }
  /* The part of lane sub of the row whose range was loaded last. */
  template <int LANES>
  __device__ __forceinline__ PetscScalar Sum(int sub) const
  {
    PetscScalar sum(0.0);

    if (!Fits()) return output.overflow.Sum<LANES>(row.x + sub, row.y, output.x);
    for (int32_t i = row.x + sub; i < row.y; i += LANES) sum += terms[i - block.x];
    return sum;
  }
};

static inline SpMVAddWithOverflow SpMVOverflowGetOutput(DCSROverflow overflow, const PetscScalar x[], const PetscScalar z[], PetscScalar y[])
{
  return {{z, y}, SpMVOverflowGetRows(overflow), x};
}
