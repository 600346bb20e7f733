/*
  Values of the distinct entries of a sorted list: the sum of the repeats or the last of them, always in the order in which they were given, so that the same
  input gives the same bits.
*/
#include "../common/blockreduce.cuh"
#include "../common/foreach.cuh"
#include "listimpl.h"
#include "sources.cuh"

namespace
{

constexpr int THREADS = 256;

/* The values of the unsorted list, in one array or, from position split on, in a second one. */
struct ListValues {
  const PetscScalar     *first, *second;
  PetscCount             split;
  __device__ PetscScalar operator[](PetscCount k) const { return k < split ? first[k] : second[k - split]; }
};

/* Distinct entries of a sorted list: entry t has the values sources[k] of the unsorted list, k from Begin(t) to Begin(t + 1). */
template <typename Index>
struct Runs {
  Sources<Index>        sources;
  const Index          *runs;
  __device__ PetscCount Begin(PetscCount t) const { return runs ? (PetscCount)runs[t] : t; }
};

template <typename Index>
Runs<Index> RunsOf(const DCSRList *list)
{
  return {SourcesOf<Index>(list), (const Index *)list->runs};
}

template <typename Index, bool Last, bool Add>
__global__ void __launch_bounds__(THREADS) ReduceKernel(Runs<Index> runs, ListValues v, PetscCount n, bool has_long, PetscScalar *result)
{
  for (PetscCount t = (PetscCount)blockIdx.x * THREADS + threadIdx.x; t < n; t += (PetscCount)gridDim.x * THREADS) {
    const PetscCount begin = runs.Begin(t), end = runs.Begin(t + 1);
    PetscScalar      sum;

    if (Last) sum = v[runs.sources[end - 1]];
    else {
      if (has_long && end - begin > LONG_RUN) continue;
      sum = v[runs.sources[begin]];
      for (PetscCount k = begin + 1; k < end; k++) sum += v[runs.sources[k]];
    }
    result[t] = Add ? result[t] + sum : sum;
  }
}

/* A thread block takes a long run. Every thread adds its share in order, and the shares are added in a fixed tree. */
template <typename Index, bool Add>
__global__ void __launch_bounds__(THREADS) ReduceLongKernel(Runs<Index> runs, ListValues v, const Index *long_runs, PetscScalar *result)
{
  const PetscCount t     = (PetscCount)long_runs[blockIdx.x];
  const PetscCount begin = runs.Begin(t), end = runs.Begin(t + 1), share = (end - begin + THREADS - 1) / THREADS;
  PetscScalar      sum(0.0);

  // interleaved, so that loads of order are coalesced
  for (PetscCount k = begin + threadIdx.x, i = 0; i < share; i++, k += THREADS)
    if (k < end) sum += v[runs.sources[k]];
  sum = ReduceBlock<THREADS>(sum, [](const PetscScalar &a, const PetscScalar &b) { return a + b; });
  if (threadIdx.x == 0) result[t] = Add ? result[t] + sum : sum;
}

template <typename Index, bool Last, bool Add>
PetscErrorCode Reduce(const DCSRList *list, ListValues v, PetscScalar result[], cudaStream_t stream)
{
  const Runs<Index> runs = RunsOf<Index>(list);
  unsigned int      blocks;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid((list->num_distinct + THREADS - 1) / THREADS, DCSR_LOOP_BLOCKS, &blocks));
  ReduceKernel<Index, Last, Add><<<blocks, THREADS, 0, stream>>>(runs, v, list->num_distinct, list->num_long_runs > 0, result);
  PetscCallCUDA(cudaGetLastError());
  if (!Last && list->num_long_runs) {
    ReduceLongKernel<Index, Add><<<(unsigned int)list->num_long_runs, THREADS, 0, stream>>>(runs, v, (const Index *)list->long_runs, result);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Index>
PetscErrorCode ReduceDispatch(const DCSRList *list, ListValues v, PetscBool last, PetscBool add, PetscScalar result[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (last) PetscCall((Reduce<Index, true, false>(list, v, result, stream)));
  else if (add) PetscCall((Reduce<Index, false, true>(list, v, result, stream)));
  else PetscCall((Reduce<Index, false, false>(list, v, result, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mostly the first value decides, so that long runs need nothing of their own. */
template <typename Index>
struct FlagNonzero {
  Runs<Index>        runs;
  const PetscScalar *v;
  const uint64_t    *keys;
  int                column_bits;
  PetscInt           diagonal;
  unsigned char     *flags;

  __device__ void operator()(PetscCount t) const
  {
    const PetscCount end = runs.Begin(t + 1);
    PetscCount       k   = runs.Begin(t);

    while (k < end && v[runs.sources[k]] == PetscScalar(0.0)) k++;
    flags[t] = k < end || (diagonal != DCSR_NO_DIAGONAL && (int64_t)(keys[t] & (((uint64_t)1 << column_bits) - 1)) - (int64_t)(keys[t] >> column_bits) == diagonal);
  }
};

} // namespace

/*
  DCSRListReduce - the values [num_distinct] (device) of the distinct entries of a sorted list; its keys are not needed. Asynchronous
  v [split] and more [num_given - split], device: values of the unsorted list; more is NULL when split is num_given. last: take the last of repeated entries, otherwise their sum. add: add to the
  result; not with last.
  Cost: one pass; without order and runs a plain copy. Deterministic. Runs of more than 512 equal entries get a thread block each.
*/
PetscErrorCode DCSRListReduce(const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, PetscBool last, PetscBool add, PetscScalar result[], cudaStream_t stream)
{
  const ListValues values{v, more, split};

  PetscFunctionBegin;
  if (list->num_distinct == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!last || !add, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "The last of repeated entries replaces, it is not added");
  if (!list->order && !list->shifts && !list->runs && !add && split == list->num_given) {
    PetscCallCUDA(cudaMemcpyAsync(result, v, (size_t)list->num_distinct * sizeof(*v), cudaMemcpyDeviceToDevice, stream));
  } else if (list->wide) PetscCall(ReduceDispatch<int64_t>(list, values, last, add, result, stream));
  else PetscCall(ReduceDispatch<int32_t>(list, values, last, add, result, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRListFlagNonzeros - which distinct entries of a sorted list were given a value that is not zero, or are on the diagonal: flags [num_distinct], device, 1 or 0. Asynchronous
  v [num_given], device: values of the unsorted list, whose keys are not needed. keys [num_distinct], device: the distinct ones. diagonal: column of the diagonal entry of row 0, DCSR_NO_DIAGONAL when
  there is no diagonal.
*/
PetscErrorCode DCSRListFlagNonzeros(const DCSRList *list, const PetscScalar v[], const uint64_t keys[], PetscInt diagonal, unsigned char flags[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (list->num_distinct == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (list->wide) PetscCallCUDA(DCSRForEach(list->num_distinct, FlagNonzero<int64_t>{RunsOf<int64_t>(list), v, keys, list->column_bits, diagonal, flags}, stream));
  else PetscCallCUDA(DCSRForEach(list->num_distinct, FlagNonzero<int32_t>{RunsOf<int32_t>(list), v, keys, list->column_bits, diagonal, flags}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
