/*
  The random order of vertices of PCGAMG's coarsening (PCGAMGCoarsen_AGG() in PETSc's agg.c), in parallel and bit for bit.

  PETSc goes through the positions i in order, draws a target s(i), and swaps positions i and s(i) when they differ and s(i) was not a target before. So swap i happens when
  first(s(i)) == i, where first(s) is the smallest i != s with s(i) == s. A position takes part in two swaps at most: as position at time i, and as target at time
  first(i). The element that ends at a position is found by going back in time from swap to swap: 1.3 steps on average, 8 at most for 8 million.
*/
#include "../common/preload.cuh"
#include <petscsparsecuda/coarsen.h>
#include <petscsparsecuda/common.h>

namespace
{

constexpr int PERMUTATION_THREADS = 256;
constexpr int PERMUTATION_BLOCKS  = 16; // for each multiprocessor: a thread jumps to its first number once, and steps to the next ones

/* The generator of PETSCRANDER48 with the seed that PetscRandomCreate(PETSC_COMM_SELF) gives it. */
constexpr uint64_t RANDOM_MASK = (1ull << 48) - 1, RANDOM_SEED = 0x12345678330eull;

/* So many steps of the generator as one. */
struct RandomSteps {
  uint64_t multiplier, increment;

  __host__ __device__ uint64_t operator()(uint64_t x) const { return (multiplier * x + increment) & RANDOM_MASK; }
};

/* The composition of two of these, first one first. */
__host__ __device__ inline RandomSteps Compose(RandomSteps first, RandomSteps second)
{
  return RandomSteps{(second.multiplier * first.multiplier) & RANDOM_MASK, (second.multiplier * first.increment + second.increment) & RANDOM_MASK};
}

__host__ __device__ inline RandomSteps MakeRandomSteps(uint64_t n)
{
  RandomSteps result = {1, 0}, power = {0x5deece66dull, 0xb};

  for (; n > 0; n /= 2) {
    if (n % 2) result = Compose(result, power);
    power = Compose(power, power);
  }
  return result;
}

/* What PetscRandomGetValueReal() gives in this state of the generator; the double is exact. */
__host__ __device__ inline PetscReal RandomReal(uint64_t x)
{
  return (PetscReal)((double)x * (1.0 / (double)(1ull << 48)));
}

/* The types are PETSc's, so that it rounds as there, also in single precision. */
__host__ __device__ inline int32_t SwapTarget(uint64_t x, PetscInt n)
{
  return (int32_t)((PetscInt)(RandomReal(x) * (PetscReal)n) % n);
}

__host__ __device__ inline bool SwapsItself(const int32_t target[], const uint32_t first[], int32_t i)
{
  return target[i] != i && first[target[i]] == (uint32_t)i;
}

/* The element that ends at a position. */
__host__ __device__ inline int32_t ElementAt(const int32_t target[], const uint32_t first[], PetscInt n, int32_t position)
{
  int32_t  q    = position;
  uint32_t time = (uint32_t)n;

  for (;;) {
    const bool as_position = (uint32_t)q < time && SwapsItself(target, first, q);
    const bool as_target   = first[q] < time; // the largest number stands for never

    if (as_target && (!as_position || first[q] > (uint32_t)q)) {
      time = first[q];
      q    = (int32_t)time;
    } else if (as_position) {
      time = (uint32_t)q;
      q    = target[q];
    } else return q;
  }
}

__global__ static void __launch_bounds__(PERMUTATION_THREADS) TargetsKernel(PetscInt n, RandomSteps stride, int32_t target[], uint32_t first[])
{
  PetscCount i = (PetscCount)blockIdx.x * PERMUTATION_THREADS + threadIdx.x;
  uint64_t   x = MakeRandomSteps((uint64_t)i + 1)(RANDOM_SEED);

  for (; i < n; i += (PetscCount)gridDim.x * PERMUTATION_THREADS, x = stride(x)) {
    const int32_t s = SwapTarget(x, n);

    target[i] = s;
    if (s != i) atomicMin(&first[s], (uint32_t)i);
  }
}

__global__ static void __launch_bounds__(PERMUTATION_THREADS) ElementsKernel(PetscInt n, const int32_t target[], const uint32_t first[], int32_t permutation[], int32_t position[])
{
  const PetscCount p = (PetscCount)blockIdx.x * PERMUTATION_THREADS + threadIdx.x;

  if (p < n) {
    const int32_t element = ElementAt(target, first, n, (int32_t)p);

    permutation[p]    = element;
    position[element] = (int32_t)p;
  }
}

} // namespace

/*
  DCSRGetRandomReals - The first numbers [n] of the generator behind DCSRGetRandomPermutation(), on the host.
  They are those of PetscRandomGetValueReal() of a new PetscRandom on PETSC_COMM_SELF, unless PETSc has another generator than this library was made for.
*/
PetscErrorCode DCSRGetRandomReals(PetscInt n, PetscReal numbers[])
{
  const RandomSteps one = MakeRandomSteps(1);
  uint64_t          x   = RANDOM_SEED;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    x          = one(x);
    numbers[k] = RandomReal(x);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRGetRandomPermutation - The order in which PCGAMG goes through n vertices, fewer than 2^31 - 2, and its inverse. Asynchronous
  permutation [n], device: the vertex at each position. position [n], device: the position of each vertex. Nothing stays allocated after PETSC_ERR_MEM.
  Cost: two kernels; n atomic minima and some 6 n reads at random positions. 8 n bytes of workspace.
*/
PetscErrorCode DCSRGetRandomPermutation(PetscInt n, cudaStream_t stream, int32_t permutation[], int32_t position[])
{
  int32_t       *target = NULL;
  uint32_t      *first  = NULL;
  unsigned int   grid;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "targets of swaps", stream, &target));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "times of swaps", stream, &first));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(first, 0xff, (size_t)n * sizeof(*first), stream)); // never
  PetscCallGoto(ierr, cleanup, DCSRGetGrid(DCSRNumBlocks(n, PERMUTATION_THREADS), PERMUTATION_BLOCKS, &grid));
  TargetsKernel<<<grid, PERMUTATION_THREADS, 0, stream>>>(n, MakeRandomSteps((uint64_t)grid * PERMUTATION_THREADS), target, first);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
  ElementsKernel<<<DCSRNumBlocks(n, PERMUTATION_THREADS), PERMUTATION_THREADS, 0, stream>>>(n, target, first, permutation, position);
  PetscCallCUDAGoto(ierr, cleanup, cudaGetLastError());
cleanup:
  PetscCall(PetscSparseCUDAFree(&target, stream));
  PetscCall(PetscSparseCUDAFree(&first, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(TargetsKernel);
DCSRPreload(ElementsKernel);
