#pragma once
/* Launches of the numeric phase, whose groups of lanes share the shared memory of their thread block. */
#include "spgemmimpl.h"

namespace
{

constexpr int RESIDENT_BLOCKS = 6;  // thread blocks that a multiprocessor should hold at a time
constexpr int LEAST_THREADS   = 64; // of a thread block

/* Thread blocks of groups that need so many bytes each. */
struct Grid {
  unsigned int blocks, threads;
  size_t       bytes;
};

PetscErrorCode GetMaxBytes(size_t *max_bytes)
{
  DCSRDeviceFacts facts;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  *max_bytes = (size_t)(facts.shared_bytes / RESIDENT_BLOCKS - facts.reserved_shared_bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few groups are spread over all multiprocessors. */
PetscErrorCode GetGrid(int lanes, size_t pitch, PetscCount n, Grid *g)
{
  DCSRDeviceFacts facts;
  size_t          max_bytes = 0;

  PetscFunctionBegin;
  PetscCall(DCSRGetDeviceFacts(&facts));
  PetscCall(GetMaxBytes(&max_bytes));
  g->threads = SPGEMM_THREADS;
  while (g->threads > LEAST_THREADS && (g->threads / lanes * pitch > max_bytes || n * lanes < (PetscCount)g->threads * facts.num_multiprocessors)) g->threads /= 2;
  g->bytes  = g->threads / lanes * pitch;
  g->blocks = (unsigned int)((n + g->threads / lanes - 1) / (g->threads / lanes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allows a kernel as much shared memory as its grid asks for, and launches it. */
template <typename Kernel, typename... Arguments>
PetscErrorCode LaunchOn(const Grid &g, cudaStream_t stream, Kernel kernel, Arguments... arguments)
{
  PetscFunctionBegin;
  if (g.bytes > 48 << 10) PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)g.bytes));
  kernel<<<g.blocks, g.threads, g.bytes, stream>>>(arguments...);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
