/*
  Submatrices. The columns get their new numbers from a map. The entries that stay are counted row by row, and written behind each other.
*/
#include "../common/blockreduce.cuh"
#include "../common/foreach.cuh"
#include "../common/reduce.h"
#include "../common/scan.h"
#include <petscsparsecuda/submatrix.h>
#include <petscsparsecuda/transpose.h>

namespace
{

constexpr int THREADS = 256;
/* A group of lanes reads a row of A of up to so many entries alone. The thread block reads longer ones together. */
constexpr int LONGEST_GROUP_ROW = 4096;

struct IndexOf {
  DCSRIndices set;

  __device__ PetscInt operator()(PetscInt k) const { return set.indices ? set.indices[k] : set.first + k * set.step; }
};

/* New column of an old one, -1: it does not stay. */
struct NewColumn {
  const int32_t *map; // NULL: a stride with a positive step
  PetscInt       first, step, n;

  __device__ int32_t operator()(int32_t column) const
  {
    if (map) return map[column];
    if (step == 1) return column >= first && column - first < n ? (int32_t)(column - first) : -1;
    return column >= first && (column - first) % step == 0 && (column - first) / step < n ? (int32_t)((column - first) / step) : -1;
  }
};

/* Of an index that occurs more than once the last position counts, whatever the order of the threads. */
struct FillMap {
  IndexOf         columns;
  int32_t        *map;
  __device__ void operator()(PetscInt k) const { atomicMax(map + columns(k), (int32_t)k); }
};

/* The entries of A that rows of the submatrix read. */
template <typename Offset>
struct Source {
  const Offset      *row_offsets;
  const int32_t     *columns;
  const PetscScalar *values; // NULL: structure alone
  IndexOf            rows;
  NewColumn          new_column;
  PetscInt           num_rows; // of the submatrix
};

/* Calls visit(row, begin, end, whole) once for each row: by Lanes lanes, or by the whole thread block for a long row. */
template <int Lanes, typename Offset, typename Visit>
__device__ inline void ForEachRow(const Source<Offset> &from, Visit visit)
{
  constexpr int    groups = THREADS / Lanes;
  const PetscCount first = (PetscCount)blockIdx.x * groups, row = first + threadIdx.x / Lanes, last = min(first + groups, (PetscCount)from.num_rows);
  Offset           begin = 0, end = 0;

  if (row < last) {
    const PetscInt old = from.rows((PetscInt)row);

    begin = from.row_offsets[old];
    end   = from.row_offsets[old + 1];
    if (end - begin <= LONGEST_GROUP_ROW) visit((PetscInt)row, begin, end, false);
  }
  if (!__syncthreads_or(end - begin > LONGEST_GROUP_ROW)) return;
  for (PetscCount r = first; r < last; r++) {
    const PetscInt old = from.rows((PetscInt)r);

    begin = from.row_offsets[old];
    end   = from.row_offsets[old + 1];
    if (end - begin > LONGEST_GROUP_ROW) visit((PetscInt)r, begin, end, true);
  }
}

template <int Lanes>
__device__ inline unsigned int GroupMask(void)
{
  return Lanes == 32 ? 0xffffffffu : ((1u << (Lanes % 32)) - 1u) << (threadIdx.x % 32 / Lanes * Lanes);
}

/* How many threads before this one in the thread block have a flag; *total: how many of all. __syncthreads() must stand between two calls. */
__device__ inline int FlagsBefore(bool flag, int *total)
{
  __shared__ int     counts[THREADS / 32];
  const unsigned int flags = __ballot_sync(0xffffffffu, flag);
  const int          warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  int                before = __popc(flags & ((1u << lane) - 1u)), sum = 0;

  if (lane == 0) counts[warp] = __popc(flags);
  __syncthreads();
#pragma unroll
  for (int w = 0; w < THREADS / 32; w++) {
    if (w < warp) before += counts[w];
    sum += counts[w];
  }
  *total = sum;
  return before;
}

template <int Lanes, typename Offset>
__global__ void __launch_bounds__(THREADS) CountKernel(Source<Offset> from, int32_t *sizes)
{
  ForEachRow<Lanes>(from, [&](PetscInt row, Offset begin, Offset end, bool whole) {
    const int lane = whole ? (int)threadIdx.x : (int)threadIdx.x % Lanes, width = whole ? THREADS : Lanes;
    int       count = 0;

    for (Offset k = begin + lane; k < end; k += width) count += from.new_column(from.columns[k]) >= 0;
    if (whole) {
      count = ReduceBlock<THREADS>(count, [](int a, int b) { return a + b; });
      __syncthreads();
    } else {
      for (int d = Lanes / 2; d > 0; d /= 2) count += __shfl_xor_sync(GroupMask<Lanes>(), count, d);
    }
    if (lane == 0) sizes[row] = count;
  });
}

template <int Lanes, typename Offset, typename NewOffset>
__global__ void __launch_bounds__(THREADS) FillKernel(Source<Offset> from, const NewOffset *row_offsets, int32_t *columns, PetscScalar *values)
{
  ForEachRow<Lanes>(from, [&](PetscInt row, Offset begin, Offset end, bool whole) {
    const int lane = whole ? (int)threadIdx.x : (int)threadIdx.x % Lanes, width = whole ? THREADS : Lanes;
    NewOffset to = row_offsets[row];

    for (Offset first = begin; first < end; first += width) {
      const Offset  k      = first + lane;
      const int32_t column = k < end ? from.new_column(from.columns[k]) : -1;
      int           before, total;

      if (whole) {
        before = FlagsBefore(column >= 0, &total);
        __syncthreads();
      } else {
        const unsigned int kept = __ballot_sync(GroupMask<Lanes>(), column >= 0) & GroupMask<Lanes>();

        before = __popc(kept & ((1u << (threadIdx.x % 32)) - 1u));
        total  = __popc(kept);
      }
      if (column >= 0) {
        columns[to + before] = column;
        if (values) values[to + before] = from.values[k];
      }
      to += total;
    }
  });
}

template <typename Offset>
struct Selection {
  Source<Offset> from;
  int            lanes; // of a row
  int32_t       *sizes; // [num_rows] device
  cudaStream_t   stream;

  unsigned int grid(void) const { return (unsigned int)(((PetscCount)from.num_rows + THREADS / lanes - 1) / (THREADS / lanes)); }
};

template <typename Offset>
PetscErrorCode Count(const Selection<Offset> &s, PetscCount *num_nonzeros)
{
  DCSRSizeFacts facts;

  PetscFunctionBegin;
  if (s.lanes == 8) CountKernel<8, Offset><<<s.grid(), THREADS, 0, s.stream>>>(s.from, s.sizes);
  else CountKernel<32, Offset><<<s.grid(), THREADS, 0, s.stream>>>(s.from, s.sizes);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(DCSRReduceSizes((PetscCount)s.from.num_rows, s.sizes, s.stream, &facts));
  *num_nonzeros = (PetscCount)facts.num_nonzeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, typename NewOffset>
PetscErrorCode Fill(const Selection<Offset> &s, DCSRView to)
{
  NewOffset *row_offsets = (NewOffset *)to.row_offsets;

  PetscFunctionBegin;
  PetscCall(DCSROffsetsFromSizes("workspace of row offsets", s.sizes, (PetscCount)s.from.num_rows, row_offsets, s.stream));
  if (to.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (s.lanes == 8) FillKernel<8, Offset, NewOffset><<<s.grid(), THREADS, 0, s.stream>>>(s.from, row_offsets, to.columns, to.values);
  else FillKernel<32, Offset, NewOffset><<<s.grid(), THREADS, 0, s.stream>>>(s.from, row_offsets, to.columns, to.values);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocates and fills the submatrix, whose columns are in the order of A's. */
template <typename Offset>
PetscErrorCode Select(DCSRView A, const DCSRIndices *rows, NewColumn new_column, PetscInt num_columns, cudaStream_t stream, DCSRView *B)
{
  Selection<Offset> s   = {{(const Offset *)A.row_offsets, A.columns, A.values, IndexOf{*rows}, new_column, rows->n}, A.num_nonzeros > 12 * (PetscCount)A.num_rows ? 32 : 8, NULL, stream};
  PetscCount        num = 0;
  PetscBool         wide;
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(rows->n, "row sizes of a submatrix", stream, &s.sizes));
  if (rows->n > 0) PetscCallGoto(ierr, failed, Count(s, &num));
  PetscCallGoto(ierr, failed, DCSRCheckNonzeros(num)); // rows may be there more than once
  PetscCallGoto(ierr, failed, DCSRNeedsWide(num, &wide));
  PetscCallGoto(ierr, failed, DCSRViewAllocateStructure(rows->n, num_columns, num, wide, stream, B));
  if (A.values) PetscCallGoto(ierr, failed, DCSRViewAllocateValues(B, stream));
  if (wide) PetscCallGoto(ierr, failed, (Fill<Offset, int64_t>(s, *B)));
  else PetscCallGoto(ierr, failed, (Fill<Offset, int32_t>(s, *B)));
  PetscCall(PetscSparseCUDAFree(&s.sizes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&s.sizes, stream));
  PetscCall(DCSRViewFree(B, stream));
  PetscFunctionReturn(ierr);
}

PetscErrorCode SelectAny(DCSRView A, const DCSRIndices *rows, NewColumn new_column, PetscInt num_columns, cudaStream_t stream, DCSRView *B)
{
  PetscFunctionBegin;
  PetscCheck(A.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage has submatrices, call DCSRDefragment() first");
  PetscCheck(num_columns <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " columns are too many", num_columns);
  if (A.wide) PetscCall(Select<int64_t>(A, rows, new_column, num_columns, stream, B));
  else PetscCall(Select<int32_t>(A, rows, new_column, num_columns, stream, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct FindDifference {
  const int32_t  *a, *b;
  int            *found;
  __device__ void operator()(PetscCount k) const
  {
    if (a[k] != b[k]) *found = 1; // all threads write the same
  }
};

/* Whether n 32-bit words are the same. */
PetscErrorCode SameWords(const void *a, const void *b, PetscCount n, cudaStream_t stream, PetscBool *same)
{
  int           *device = NULL, host = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *same = PETSC_TRUE;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(1, "comparison", stream, &device));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(device, 0, sizeof(*device), stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, FindDifference{(const int32_t *)a, (const int32_t *)b, device}, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&host, device, sizeof(host), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  *same = (PetscBool)(host == 0);
cleanup:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same rows in the order of their columns. */
PetscErrorCode SortColumns(DCSRView *B, cudaStream_t stream)
{
  DCSRView       sorted;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = DCSRSortRows(*B, stream, &sorted);
  PetscCall(DCSRViewFree(B, stream));
  if (ierr == PETSC_SUCCESS) *B = sorted;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRSubmatrix - rows and columns of compact storage, with or without values, in the order of the index sets; synchronizes the stream
  rows and columns are inside the matrix; of a column that is listed more than once the last position counts. The arrays of B belong to the caller; sorted columns; zero after an error.
  PETSC_ERR_ARG_OUTOFRANGE for more nonzeros than a matrix may have.
  Cost: two reads of the columns of the listed rows, one read and write of what stays, and when columns are not in ascending order two transposes of the result. Workspace: 4 bytes a row and, unless
  the columns are a stride, 4 bytes a column of A.
*/
PetscErrorCode DCSRSubmatrix(DCSRView A, const DCSRIndices *rows, const DCSRIndices *columns, cudaStream_t stream, DCSRView *B)
{
  NewColumn      new_column = {NULL, columns->first, columns->step, columns->n};
  int32_t       *map        = NULL;
  PetscErrorCode ierr       = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(B, 1));
  if (columns->indices || columns->step <= 0) {
    PetscCall(PetscSparseCUDAMalloc(A.num_columns, "map of columns", stream, &map));
    if (A.num_columns > 0) PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(map, 0xff, (size_t)A.num_columns * sizeof(*map), stream));
    PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(columns->n, FillMap{IndexOf{*columns}, map}, stream));
    new_column.map = map;
  }
  PetscCallGoto(ierr, cleanup, SelectAny(A, rows, new_column, columns->n, stream, B));
  if (!columns->sorted && B->num_nonzeros > 0) PetscCallGoto(ierr, cleanup, SortColumns(B, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&map, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSubmatrixMapped - DCSRSubmatrix() with columns by their new numbers
  map [A.num_columns], device: new numbers, no number twice, negative: the column does not stay; NULL: all stay as they are. ascend: whether these ascend where they are not negative. num_columns: of
  B.
*/
PetscErrorCode DCSRSubmatrixMapped(DCSRView A, const DCSRIndices *rows, const int32_t map[], PetscBool ascend, PetscInt num_columns, cudaStream_t stream, DCSRView *B)
{
  const NewColumn new_column = {map, 0, 1, 0};

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(B, 1));
  PetscCall(SelectAny(A, rows, map ? new_column : NewColumn{NULL, 0, 1, num_columns}, num_columns, stream, B));
  if (!ascend && B->num_nonzeros > 0) PetscCall(SortColumns(B, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRHaveSameStructure - whether two compact matrices have the same entries, whatever their values */
PetscErrorCode DCSRHaveSameStructure(DCSRView A, DCSRView B, cudaStream_t stream, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(A.num_rows == B.num_rows && A.num_columns == B.num_columns && A.num_nonzeros == B.num_nonzeros && A.wide == B.wide);
  if (*same) PetscCall(SameWords(A.row_offsets, B.row_offsets, ((PetscCount)A.num_rows + 1) * (A.wide ? 2 : 1), stream, same));
  if (*same) PetscCall(SameWords(A.columns, B.columns, A.num_nonzeros, stream, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}
