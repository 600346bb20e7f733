/* Transposes of full blocks: that of their list, whose entries are blocks, and from it the place of each entry. The radix sort of entry by entry has as many pairs as entries. */
#include "../common/preload.cuh"
#include "values.cuh"
#include "transposeimpl.h"
#include <petscsparsecuda/common.h>

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / 32;

/* The list of the transpose, and the block of A behind each of its blocks. */
struct Lists {
  const int32_t *offsets, *columns, *blocks;
  int            br, bc; // of A
};

/* Entries of a block row of the transpose, a warp; permutation or values may be NULL. */
template <typename Offset, bool Conjugate>
__global__ void __launch_bounds__(THREADS) EntriesKernel(Lists l, PetscCount num_rows, const Offset *row_offsets, Offset *permutation, const PetscScalar *from, PetscScalar *values)
{
  for (PetscCount row = (PetscCount)blockIdx.x * WARPS + threadIdx.x / 32; row < num_rows; row += (PetscCount)gridDim.x * WARPS) {
    const int32_t      begin = l.offsets[row];
    const unsigned int n     = (unsigned int)(l.offsets[row + 1] - begin) * l.br; // entries of a row, less than 2^31 as columns
    const PetscCount   first = (PetscCount)begin * l.br * l.bc;

    for (unsigned int p = threadIdx.x % 32; p < n; p += 32) {
      const unsigned int step = p / l.br;
      const PetscCount   r = (PetscCount)l.columns[begin + step] * l.br, f = row_offsets[r], length = row_offsets[r + 1] - f;
      const PetscCount   block  = ((PetscCount)l.blocks[begin + step] * l.br * l.bc - (f - row_offsets[0])) / l.br; // its first entry in a row; A may be some rows of a larger matrix
      const PetscCount   source = f + (PetscCount)(p - step * l.br) * length + block;

      for (int c = 0; c < l.bc; c++) {
        const PetscCount k = first + (PetscCount)c * n + p;

        if (permutation) permutation[k] = (Offset)(source + c);
        if (values) values[k] = Taken<Conjugate>(from[source + c]);
      }
    }
  }
}

template <typename Offset, bool Conjugate>
PetscErrorCode Launch(DCSRBlockList t, const int32_t blocks[], DCSRView A, DCSRView T, void *permutation, cudaStream_t stream)
{
  const Lists  lists = {(const int32_t *)t->view.row_offsets, t->view.columns, blocks, t->columns, t->rows};
  unsigned int grid;

  PetscFunctionBegin;
  PetscCall(DCSRGetGrid(((PetscCount)t->view.num_rows + WARPS - 1) / WARPS, DCSR_LOOP_BLOCKS, &grid));
  EntriesKernel<Offset, Conjugate><<<grid, THREADS, 0, stream>>>(lists, (PetscCount)t->view.num_rows, (const Offset *)A.row_offsets, (Offset *)permutation, A.values, T.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* TransposeBlocksEntries - Permutation and values, or one of both, of the transpose T of A by its list t and the blocks of A behind its blocks, as DCSRTranspose() has them. Asynchronous */
PetscErrorCode TransposeBlocksEntries(DCSRBlockList t, const int32_t blocks[], DCSRView A, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (T.values == NULL && permutation == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (A.wide && conjugate) PetscCall((Launch<int64_t, true>(t, blocks, A, T, permutation, stream)));
  else if (A.wide) PetscCall((Launch<int64_t, false>(t, blocks, A, T, permutation, stream)));
  else if (conjugate) PetscCall((Launch<int32_t, true>(t, blocks, A, T, permutation, stream)));
  else PetscCall((Launch<int32_t, false>(t, blocks, A, T, permutation, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  TransposeFullBlocks - DCSRTranspose() of a matrix of full blocks of the sizes that A says; synchronizes when sizes allow them
  *done: PETSC_FALSE, with no error, when A does not consist of them; T is as undefined as it was. The list of T, if there is one, is filled, and permutation is that of blocks then.
*/
PetscErrorCode TransposeFullBlocks(DCSRView A, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream, PetscBool *done)
{
  DCSRBlockList  list, t = DCSRBlockListReference(T.list);
  int32_t       *made = NULL, *blocks = T.list != NULL ? (int32_t *)permutation : NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, DCSRBlockListGet(A, A.row_block, A.column_block, stream, &list));
  *done = (PetscBool)(list != NULL);
  if (!*done) goto cleanup;
  if (t == NULL) PetscCallGoto(ierr, cleanup, DCSRBlockListCreate(list->columns, list->rows, &t));
  if (blocks == NULL) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(list->view.num_nonzeros, "blocks behind those of a transpose", stream, &made));
  if (blocks == NULL) blocks = made;
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateStructure(list->view.num_columns, list->view.num_rows, list->view.num_nonzeros, PETSC_FALSE, stream, &t->view));
  PetscCallGoto(ierr, cleanup, DCSRTranspose(list->view, PETSC_FALSE, t->view, blocks, stream));
  PetscCallGoto(ierr, cleanup, DCSRBlockListWrite(t, T, stream));
  PetscCallGoto(ierr, cleanup, TransposeBlocksEntries(t, blocks, A, conjugate, T, T.list != NULL ? NULL : permutation, stream));
cleanup:
  PetscCall(DCSRBlockListDestroy(&list, stream));
  PetscCall(DCSRBlockListDestroy(&t, stream));
  PetscCall(PetscSparseCUDAFree(&made, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG with several unknowns a point
DCSRPreload(EntriesKernel<int32_t, false>);
