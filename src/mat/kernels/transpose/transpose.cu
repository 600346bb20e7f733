/*
  Explicit transpose of compact storage: by the list of its blocks, when they are full (blocks.cu); by searching, when the pattern is symmetric (symmetric.cuh); otherwise by a stable radix sort of the
  column indices that carries the entry index. Renewing the values later is one gather.
*/
#include "../common/foreach.cuh"
#include "../common/preload.cuh"
#include "../common/search.cuh"
#include "../common/sort.h"
#include "../spmvtranspose/device.cuh"
#include "../spmvtranspose/marks.cuh"
#include "symmetric.cuh"
#include "transposeimpl.h"

namespace
{

template <typename Offset>
struct WriteIndex {
  Offset         *indices;
  __device__ void operator()(PetscCount k) const { indices[k] = (Offset)k; }
};

/* Row offsets of the transpose from its sorted row indices: bisection, so that neither a dense column nor a run of empty ones costs more than others. */
template <typename Offset>
struct FindRowOffset {
  const uint32_t *sorted;
  PetscCount      n;
  Offset         *row_offsets;

  __device__ void operator()(PetscCount row) const
  {
    row_offsets[row] = (Offset)PartitionPoint((PetscCount)0, n, [&](PetscCount k) { return (PetscCount)sorted[k] < row; });
  }
};

template <typename Offset, bool Conjugate>
struct GatherValue {
  const PetscScalar *values;
  const Offset      *permutation;
  PetscScalar       *transposed;
  __device__ void    operator()(PetscCount k) const { transposed[k] = Taken<Conjugate>(values[permutation[k]]); }
};

/* The row marks of A, in memory that is freed afterwards. */
typedef struct {
  SpMVTransposeMark *marks;
  uint32_t          *num_starts;
  int32_t           *nonempty_rows;
} Marks;

template <typename Offset>
PetscErrorCode CreateMarks(DCSRView A, Marks *m, cudaStream_t stream)
{
  const PetscCount num_marks = NumMarks(A.num_nonzeros);

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num_marks, "row marks", stream, &m->marks));
  PetscCall(PetscSparseCUDAMalloc(num_marks + 1, "scan of row marks", stream, &m->num_starts));
  PetscCall(PetscSparseCUDAMalloc(A.num_rows, "list of rows that are not empty", stream, &m->nonempty_rows));
  PetscCall(MarkRows<Offset>(A, m->marks, m->num_starts, stream));
  PetscCallCUDA(DCSRForEach((PetscCount)A.num_rows, WriteNonemptyRow<Offset>{(const Offset *)A.row_offsets, m->marks, m->nonempty_rows}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DestroyMarks(Marks *m, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&m->marks, stream));
  PetscCall(PetscSparseCUDAFree(&m->num_starts, stream));
  PetscCall(PetscSparseCUDAFree(&m->nonempty_rows, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns and values of the transpose from the permutation. Rows come from row marks: those are a sixteenth of a row index an entry, so that looking them up stays in L2. */
template <typename Offset, bool Conjugate>
struct FinishEntry {
  const SpMVTransposeMark *marks;
  const uint32_t          *num_nonempty; // device
  uint32_t                 num_rows;
  const int32_t           *nonempty_rows;
  const Offset            *permutation;
  const PetscScalar       *from;
  PetscScalar             *values; // NULL: structure alone
  int32_t                 *columns;

  __device__ void operator()(PetscCount k) const
  {
    const PetscCount entry = permutation[k];

    columns[k] = RowOfNonzero(LoadMark(marks, entry), entry, *num_nonempty == num_rows ? NULL : nonempty_rows);
    if (values) values[k] = Taken<Conjugate>(from[entry]);
  }
};

template <typename Offset, bool Conjugate>
PetscErrorCode FinishEntries(DCSRView A, DCSRView T, const Marks *m, const Offset *permutation, cudaStream_t stream)
{
  const FinishEntry<Offset, Conjugate> finish{m->marks, m->num_starts + NumMarks(A.num_nonzeros), (uint32_t)A.num_rows, m->nonempty_rows, permutation, A.values, T.values, T.columns};

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(A.num_nonzeros, finish, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry indices in the order of the columns, and row offsets. The transpose's columns array takes the sorted column indices before it gets its own contents. */
template <typename Offset>
PetscErrorCode SortColumns(DCSRView A, DCSRView T, Offset *permutation, cudaStream_t stream)
{
  const PetscCount n       = A.num_nonzeros;
  const int        bits    = PetscMax(1, DCSRKeyBits(A.num_columns));
  PetscErrorCode   ierr    = PETSC_SUCCESS;
  Offset          *indices = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "entry indices to sort", stream, &indices));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, WriteIndex<Offset>{indices}, stream));
  if constexpr (sizeof(Offset) == sizeof(uint32_t))
    PetscCallGoto(ierr, cleanup,
                  DCSRSortPairs32With32("workspace to sort columns", n, bits, (const uint32_t *)A.columns, (uint32_t *)T.columns, (const uint32_t *)indices, (uint32_t *)permutation, stream));
  else
    PetscCallGoto(ierr, cleanup,
                  DCSRSortPairs32With64("workspace to sort columns", n, bits, (const uint32_t *)A.columns, (uint32_t *)T.columns, (const PetscCount *)indices, (PetscCount *)permutation, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach((PetscCount)T.num_rows + 1, FindRowOffset<Offset>{(const uint32_t *)T.columns, n, (Offset *)T.row_offsets}, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&indices, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode TransposeBySort(DCSRView A, PetscBool conjugate, DCSRView T, Offset *permutation, cudaStream_t stream)
{
  Marks          marks   = {NULL, NULL, NULL};
  PetscErrorCode ierr    = PETSC_SUCCESS;
  Offset        *scratch = NULL;

  PetscFunctionBegin;
  if (permutation == NULL) {
    PetscCall(PetscSparseCUDAMalloc(A.num_nonzeros, "permutation of a transpose", stream, &scratch));
    permutation = scratch;
  }
  PetscCallGoto(ierr, cleanup, SortColumns(A, T, permutation, stream));
  PetscCallGoto(ierr, cleanup, CreateMarks<Offset>(A, &marks, stream));
  if (conjugate) PetscCallGoto(ierr, cleanup, (FinishEntries<Offset, true>(A, T, &marks, permutation, stream)));
  else PetscCallGoto(ierr, cleanup, (FinishEntries<Offset, false>(A, T, &marks, permutation, stream)));
cleanup:
  PetscCall(DestroyMarks(&marks, stream));
  PetscCall(PetscSparseCUDAFree(&scratch, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *done: PETSC_FALSE when the pattern is not symmetric, and T is as undefined as it was. */
template <typename Offset>
PetscErrorCode TransposeSymmetric(DCSRView A, PetscBool conjugate, DCSRView T, Offset *permutation, cudaStream_t stream, PetscBool *done)
{
  SymmetricSource<Offset> from = {A, NULL, NULL};
  PetscErrorCode          ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (A.num_rows != A.num_columns) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(1, "flag of a symmetric pattern", stream, &from.failed));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(A.num_rows, "beginnings and ends of rows", stream, &from.ranges));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(T.row_offsets, A.row_offsets, ((size_t)T.num_rows + 1) * sizeof(Offset), cudaMemcpyDeviceToDevice, stream));
  PetscCallGoto(ierr, cleanup, RunSymmetric(from, conjugate, SymmetricTarget<Offset>{T.values, T.columns, permutation}, stream, done));
cleanup:
  PetscCall(PetscSparseCUDAFree(&from.failed, stream));
  PetscCall(PetscSparseCUDAFree(&from.ranges, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Transpose(DCSRView A, DCSRTransposeKind kind, PetscBool conjugate, DCSRView T, Offset *permutation, cudaStream_t stream)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (kind == DCSR_TRANSPOSE_AUTO) PetscCall(TransposeSymmetric(A, conjugate, T, permutation, stream, &done));
  if (!done) PetscCall(TransposeBySort(A, conjugate, T, permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode Gather(DCSRView A, const Offset *permutation, PetscBool conjugate, PetscScalar *values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (conjugate) PetscCallCUDA(DCSRForEach(A.num_nonzeros, GatherValue<Offset, true>{A.values, permutation, values}, stream));
  else PetscCallCUDA(DCSRForEach(A.num_nonzeros, GatherValue<Offset, false>{A.values, permutation, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRTranspose - the (conjugate: Hermitian) transpose of compact storage with at most 2^31 - 1 rows; synchronizes the stream
  T: num_rows = A.num_columns, num_columns = A.num_rows, num_nonzeros and wide as in A; row_offsets [T.num_rows + 1] and columns [num_nonzeros] are allocated; values [num_nonzeros] too, or NULL:
  structure alone, and values of A are not read. The contents of T are undefined after PETSC_ERR_MEM.
  permutation [num_nonzeros], device, int64_t when wide, int32_t otherwise: entry k of T is entry permutation[k] of A; or NULL: not wanted. Columns of T come out sorted. Bitwise reproducible.
  Cost: with full blocks of the sizes that A says, that of their list, two reads of its structure and writes of what is wanted; workspace: 12 bytes a block beside the list's own. When the pattern is symmetric, a read of the columns and one gather of a column and a value an entry; workspace: 8 bytes a row (16 when wide). Otherwise a radix sort of as many pairs as there
  are entries over the bits that num_columns needs, and a gather of the values; workspace then: 12 bytes an entry (20 when wide), 4 or 8 more without permutation, released at the end.
*/
PetscErrorCode DCSRTranspose(DCSRView A, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRTransposeWith(A, DCSR_TRANSPOSE_AUTO, conjugate, T, permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTransposeWith - DCSRTranspose() by one of its methods, for tests and benchmarks */
PetscErrorCode DCSRTransposeWith(DCSRView A, DCSRTransposeKind kind, PetscBool conjugate, DCSRView T, void *permutation, cudaStream_t stream)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(A.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage can be transposed, call DCSRDefragment() first");
  PetscCheck(T.row_offsets != NULL && T.num_rows == A.num_columns && T.num_columns == A.num_rows && T.num_nonzeros == A.num_nonzeros && T.wide == A.wide, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "The target does not have the shape of the transpose");
  PetscCheck((PetscCount)A.num_rows <= (PetscCount)INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " rows are too many for 32-bit column indices of the transpose", A.num_rows);
  PetscCheck(T.values == NULL || A.values != NULL || A.num_nonzeros == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values to transpose");
  if (kind == DCSR_TRANSPOSE_AUTO) PetscCall(TransposeFullBlocks(A, conjugate, T, permutation, stream, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (!A.num_nonzeros) PetscCallCUDA(cudaMemsetAsync(T.row_offsets, 0, ((size_t)T.num_rows + 1) * (T.wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
  else if (A.wide) PetscCall(Transpose(A, kind, conjugate, T, (int64_t *)permutation, stream));
  else PetscCall(Transpose(A, kind, conjugate, T, (int32_t *)permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTransposeCreate - DCSRTranspose() into new storage, without a permutation; with_values = PETSC_FALSE: structure alone. T owns its arrays; zero after an error */
PetscErrorCode DCSRTransposeCreate(DCSRView A, PetscBool with_values, PetscBool conjugate, cudaStream_t stream, DCSRView *T)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(DCSRViewAllocateStructure(A.num_columns, A.num_rows, A.num_nonzeros, A.wide, stream, T));
  if (with_values) PetscCallGoto(ierr, failed, DCSRViewAllocateValues(T, stream));
  PetscCallGoto(ierr, failed, DCSRTranspose(A, conjugate, *T, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(T, stream));
  PetscFunctionReturn(ierr);
}

/*
  DCSRTransposeKeep - DCSRTranspose() into new storage that its owner keeps; DCSRTransposeRenew() gives it the values that A has then
  T owns its arrays, values with the flag alone, and a list of blocks; permutation is the caller's. Both are zero after an error. With full blocks of the sizes that A says the permutation has 4 bytes a
  block, and the list of T comes from that of A. It has sizes from the start, so that nobody else fills it: whether it is full says which of the two the permutation is.
*/
PetscErrorCode DCSRTransposeKeep(DCSRView A, PetscBool with_values, cudaStream_t stream, DCSRView *T, void **permutation)
{
  DCSRBlockList  list = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *permutation = NULL;
  PetscCall(DCSRViewAllocateStructure(A.num_columns, A.num_rows, A.num_nonzeros, A.wide, stream, T));
  T->row_block    = A.column_block;
  T->column_block = A.row_block;
  PetscCallGoto(ierr, cleanup, DCSRBlockListCreate((int)T->row_block, (int)T->column_block, &T->list));
  PetscCallGoto(ierr, cleanup, DCSRBlockListGet(A, A.row_block, A.column_block, stream, &list));
  if (list != NULL) A.list = list;
  if (list != NULL) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc_Private((size_t)list->view.num_nonzeros * sizeof(int32_t), "permutation of a transpose", stream, permutation));
  else PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc_Private((size_t)A.num_nonzeros * (A.wide ? sizeof(int64_t) : sizeof(int32_t)), "permutation of a transpose", stream, permutation));
  if (with_values) PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(T, stream));
  PetscCallGoto(ierr, cleanup, DCSRTransposeWith(A, DCSR_TRANSPOSE_AUTO, PETSC_FALSE, *T, *permutation, stream));
cleanup:
  PetscCall(DCSRBlockListDestroy(&list, stream));
  if (ierr != PETSC_SUCCESS) {
    PetscCall(DCSRViewFree(T, stream));
    PetscCall(PetscSparseCUDAFree(permutation, stream));
  }
  PetscFunctionReturn(ierr);
}

/* DCSRTransposeRenew - The values of a transpose that DCSRTransposeKeep() has made, where they are allocated; A has the structure of then. Asynchronous. Cost: one gather. */
PetscErrorCode DCSRTransposeRenew(DCSRView A, const void *permutation, DCSRView T, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (T.list->view.row_offsets != NULL) PetscCall(TransposeBlocksEntries(T.list, (const int32_t *)permutation, A, PETSC_FALSE, T, NULL, stream));
  else PetscCall(DCSRTransposeNumeric(A, permutation, PETSC_FALSE, T.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSortRows - the rows of a matrix in the order of their columns, by transposing twice; synchronizes the stream
  A is compact storage but for the order of columns, which are distinct in each row. B owns its arrays; zero after an error.
*/
PetscErrorCode DCSRSortRows(DCSRView A, cudaStream_t stream, DCSRView *B)
{
  const PetscBool with_values = (PetscBool)(A.values != NULL);
  DCSRView        T;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(B, 1));
  PetscCall(DCSRViewAllocateStructure(A.num_columns, A.num_rows, A.num_nonzeros, A.wide, stream, &T));
  if (with_values) PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(&T, stream));
  PetscCallGoto(ierr, cleanup, DCSRTransposeWith(A, DCSR_TRANSPOSE_SORT, PETSC_FALSE, T, NULL, stream)); // needs no order of columns
  PetscCallGoto(ierr, cleanup, DCSRTransposeCreate(T, with_values, PETSC_FALSE, stream, B));
cleanup:
  PetscCall(DCSRViewFree(&T, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRTransposeNumeric - values [num_nonzeros] (device) of the (conjugate: Hermitian) transpose, with the permutation of DCSRTranspose(). Asynchronous. Cost: one gather. */
PetscErrorCode DCSRTransposeNumeric(DCSRView A, const void *permutation, PetscBool conjugate, PetscScalar *values, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!A.num_nonzeros) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(A.values != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix has structure only, it has no values to transpose");
  if (A.wide) PetscCall(Gather(A, (const int64_t *)permutation, conjugate, values, stream));
  else PetscCall(Gather(A, (const int32_t *)permutation, conjugate, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(DCSRForEachKernel<PetscCount, FindRowOffset<int32_t>>);
