/* The instances of A^T x; see sweeps.h. */
#include "sweeps.h"
#include "../../src/mat/kernels/spmvtranspose/tilebuild.cuh"

namespace
{

struct Instance {
  const char *name;
  size_t      shared_bytes; // of a thread block: the product's, or that of building
};

#define TILE(T, THREADS, BLOCKS, WIDTH, AHEAD) {"tile<" #T "," #THREADS "," #BLOCKS "," #WIDTH "," #AHEAD ">", PetscMax(T * sizeof(PetscScalar), sizeof(TileBuild<T>::Storage))},
#define ATOMIC(THREADS, WORDS)                 {"one atomic a nonzero<" #THREADS "," #WORDS ">", 0},
// clang-format off
const Instance TILES[] = {
  SPMVT_TILE_KERNELS(TILE)
#if defined(SPMV_SWEEP)
  SPMVT_TILE_SWEEP_KERNELS(TILE)
#endif
};
const Instance ATOMICS[] = {
  SPMVT_ATOMIC_KERNELS(ATOMIC)
#if defined(SPMV_SWEEP)
  SPMVT_ATOMIC_SWEEP_KERNELS(ATOMIC)
#endif
};
// clang-format on
constexpr int NUM_TILES = (int)PETSC_STATIC_ARRAY_LENGTH(TILES), NUM_ATOMICS = (int)PETSC_STATIC_ARRAY_LENGTH(ATOMICS);

} // namespace

PetscErrorCode DCSRSpMVTransposeGetKernel(int kernel, const char **name)
{
  PetscFunctionBegin;
  if (kernel < NUM_TILES) *name = TILES[kernel].name;
  else *name = kernel < NUM_TILES + NUM_ATOMICS ? ATOMICS[kernel - NUM_TILES].name : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSpMVTransposeKernelFits(int kernel, PetscBool *fits)
{
  DCSRDeviceFacts facts;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  *fits = (PetscBool)(kernel >= NUM_TILES || TILES[kernel].shared_bytes <= (size_t)facts.block_shared_bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DCSRSpMVTransposePlanCreateKernel(DCSRView view, int kernel, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscFunctionBegin;
  if (kernel < NUM_TILES) PetscCall(SpMVTransposePlanCreate(view, DCSR_SPMVT_TILE, kernel, PETSC_FALSE, stream, plan));
  else PetscCall(SpMVTransposePlanCreate(view, DCSR_SPMVT_ATOMIC, kernel - NUM_TILES, PETSC_FALSE, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}
