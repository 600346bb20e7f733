/* Transposes of full blocks: that of their list, whose entries are blocks, and from it the place of each entry. The radix sort of entry by entry has as many pairs as entries. */
#include "../common/preload.cuh"
#include "values.cuh"
#include "transposeimpl.h"
#include <petscsparsecuda/common.h>

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / 32;

/* Lists of A and of its transpose, and the block of A behind each one of the transpose. */
struct Lists {
  const int32_t *offsets, *t_offsets, *t_columns, *blocks;
  int            br, bc; // of A
};

/* Entries of a block row of the transpose, a warp; permutation or values may be NULL. */
template <typename Offset, bool Conjugate>
__global__ void __launch_bounds__(THREADS) EntriesKernel(Lists l, PetscCount num_rows, Offset *permutation, const PetscScalar *from, PetscScalar *values)
{
  for (PetscCount row = (PetscCount)blockIdx.x * WARPS + threadIdx.x / 32; row < num_rows; row += (PetscCount)gridDim.x * WARPS) {
    const int32_t      begin = l.t_offsets[row];
    const unsigned int n     = (unsigned int)(l.t_offsets[row + 1] - begin) * l.br; // entries of a row, less than 2^31 as columns
    const PetscCount   first = (PetscCount)begin * l.br * l.bc;

    for (unsigned int p = threadIdx.x % 32; p < n; p += 32) {
      const unsigned int step  = p / l.br;
      const int32_t      block = l.blocks[begin + step], f = l.offsets[l.t_columns[begin + step]], next = l.offsets[l.t_columns[begin + step] + 1];
      const PetscCount   source = (PetscCount)f * l.br * l.bc + (PetscCount)(p - step * l.br) * (next - f) * l.bc + (PetscCount)(block - f) * l.bc;

      for (int c = 0; c < l.bc; c++) {
        const PetscCount k = first + (PetscCount)c * n + p;

        if (permutation) permutation[k] = (Offset)(source + c);
        if (values) values[k] = Taken<Conjugate>(from[source + c]);
      }
    }
  }
}

template <typename Offset, bool Conjugate>
PetscErrorCode Launch(DCSRBlockList list, DCSRBlockList t, const int32_t blocks[], DCSRView A, DCSRView T, void *permutation, cudaStream_t stream)
{
  const Lists  lists = {(const int32_t *)list->view.row_offsets, (const int32_t *)t->view.row_offsets, t->view.columns, blocks, list->rows, list->columns};
  unsigned int grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)t->view.num_rows + WARPS - 1) / WARPS, DCSR_LOOP_BLOCKS, &grid));
  EntriesKernel<Offset, Conjugate><<<grid, THREADS, 0, stream>>>(lists, (PetscCount)t->view.num_rows, (Offset *)permutation, A.values, T.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode WriteEntries(DCSRBlockList list, DCSRBlockList t, const int32_t blocks[], DCSRView A, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (T.values == NULL && permutation == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (A.wide && conjugate) PetscCall((Launch<int64_t, true>(list, t, blocks, A, T, permutation, stream)));
  else if (A.wide) PetscCall((Launch<int64_t, false>(list, t, blocks, A, T, permutation, stream)));
  else if (conjugate) PetscCall((Launch<int32_t, true>(list, t, blocks, A, T, permutation, stream)));
  else PetscCall((Launch<int32_t, false>(list, t, blocks, A, T, permutation, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  TransposeFullBlocks - DCSRTranspose() of a matrix of full blocks of the sizes that A says; synchronizes when sizes allow them
  *done: PETSC_FALSE, with no error, when A does not consist of them; T is as undefined as it was. Room for a list in T is filled.
*/
PetscErrorCode TransposeFullBlocks(DCSRView A, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream, PetscBool *done)
{
  DCSRBlockList  list, t = NULL;
  int32_t       *blocks = NULL;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(DCSRBlockListGet(A, A.row_block, A.column_block, stream, &list));
  *done = (PetscBool)(list != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, DCSRBlockListCreate(list->columns, list->rows, &t));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateStructure(list->view.num_columns, list->view.num_rows, list->view.num_nonzeros, PETSC_FALSE, stream, &t->view));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->view.num_nonzeros, "blocks behind those of a transpose", stream, &blocks));
  PetscCallGoto(ierr, cleanup, DCSRTransposeSymbolic(list->view, t->view, blocks, stream));
  PetscCallGoto(ierr, cleanup, DCSRBlockListWrite(t, T, stream));
  PetscCallGoto(ierr, cleanup, WriteEntries(list, t, blocks, A, conjugate, T, permutation, stream));
  if (T.list != NULL && T.list->rows == 0) DCSRBlockListMove(t, T.list);
cleanup:
  PetscCall(DCSRBlockListDestroy(&list, stream));
  PetscCall(DCSRBlockListDestroy(&t, stream));
  PetscCall(PetscSparseCUDAFree(&blocks, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG with several unknowns a point
DCSRPreload(EntriesKernel<int32_t, false>);
