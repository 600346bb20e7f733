#pragma once
/*
  Loops over the entries of all rows, compact or fragmented, with rows of any length. A group of lanes takes a short row. A long row is cut into chunks of fixed size,
  and a thread block takes a chunk. What the chunks reduce to is combined in chunk order, so that results are bitwise reproducible.

  An operation is a struct that is passed by value to the kernels. There are two kinds:

    struct Visitor {                                   struct Reducer {
      using Result = void;                               using Result = PetscReal;
      __device__ void Visit(RowEntry e) const;           __device__ Result Identity() const;
    };                                                   __device__ Result Map(RowEntry e) const;
                                                         __device__ Result Combine(Result, Result) const;
                                                         __device__ void   Store(PetscInt row, Result) const;
                                                       };

  Each thread has a Visitor of its own. One that changes itself in Visit(), which is not const then, has End(), which the threads of a block call together behind their last entries. It visits rows with
  fewer lanes, as they do not meet before the end.
*/
#include "blockreduce.cuh"
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/tuning.h>
#include <type_traits>

namespace
{

constexpr int     ROW_LOOP_THREADS = 256;
constexpr int32_t ROW_LOOP_CHUNK   = 4096; // entries of a long row that one thread block takes
constexpr int     ROW_LOOP_ROWS    = 4;    // so many times as many rows a warp are visited by what has End()
constexpr int     ROW_LOOP_ENDS    = 4096; // thread blocks that call End(): some waves of any device
constexpr int     ROW_LOOP_BLOCKS  = 1024; // thread blocks that share the chunks of all long rows: enough to fill any device, and cheap when there are none

/* RowLoopGetRule - The launch rule for so many rows with so many entries. */
inline PetscErrorCode RowLoopGetRule(PetscInt num_rows, double num_entries, const RowLoopRule **rule)
{
  const double                 mean   = num_entries / (double)PetscMax(num_rows, 1);
  const PetscSparseCUDATuning *tuning = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  *rule = tuning->row_loops;
  while (mean > (*rule)->mean) (*rule)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry as an operation sees it: column and value are view.columns[position], view.values[position]. */
struct RowEntry {
  PetscInt   row;
  int32_t    index;    // 0 <= index < size in the row's order
  int32_t    size;     // entries of the row
  PetscCount position; // in the pool
};

/* The rows of a view with the offset width known. */
template <typename Offset, bool Compact>
struct RowLoopRows {
  PetscInt       num_rows;
  const Offset  *row_offsets;
  const Offset  *segments;
  const int32_t *row_sizes;
  PetscCount     pitch;
  int            max_segments;

  explicit RowLoopRows(const DCSRView &view)
      : num_rows(view.num_rows), row_offsets((const Offset *)view.row_offsets), segments((const Offset *)view.segments), row_sizes(view.row_sizes), pitch(view.pitch),
        max_segments((int)view.max_segments)
  {}

  __device__ int32_t Size(PetscInt row) const
  {
    if constexpr (Compact) return (int32_t)(row_offsets[row + 1] - row_offsets[row]);
    else return row_sizes[row];
  }
};

/* Where the entries of one row are: entry index k lies at k + shift of the segment that holds it. */
template <typename Offset, bool Compact>
struct RowLoopRow {
  int32_t    size;
  int32_t    end[DCSR_MAX_SEGMENTS];
  PetscCount shift[DCSR_MAX_SEGMENTS];

  __device__ RowLoopRow(const RowLoopRows<Offset, Compact> &rows, PetscInt row)
  {
    if constexpr (Compact) {
      shift[0] = rows.row_offsets[row];
      size     = (int32_t)(rows.row_offsets[row + 1] - shift[0]);
    } else {
      PetscCount sum = 0;

      size = rows.row_sizes[row];
#pragma unroll
      for (int s = 0; s < DCSR_MAX_SEGMENTS; s++) {
        shift[s] = 0;
        if (s < rows.max_segments && sum < size) {
          const Offset *pair = rows.segments + 2 * (row + s * rows.pitch);

          shift[s] = (PetscCount)pair[0] - sum;
          sum += (PetscCount)(pair[1] - pair[0]);
        }
        end[s] = sum < size ? (int32_t)sum : size;
      }
    }
  }

  __device__ PetscCount Position(int32_t k) const
  {
    PetscCount offset = shift[0];

    if constexpr (!Compact) {
#pragma unroll
      for (int s = 1; s < DCSR_MAX_SEGMENTS; s++)
        if (k >= end[s - 1]) offset = shift[s];
    }
    return offset + k;
  }
};

/* Long rows and their chunks. Filled on the device: the host knows only how many there can be. */
struct RowLoopWork {
  int                 lanes;
  int32_t             long_size;
  PetscCount          max_long, max_chunks;
  char               *memory;      // owned, all the arrays below; NULL when there are no long rows, or none are listed
  unsigned long long *counts;      // [2] long rows, chunks
  PetscInt           *long_rows;   // [max_long] row
  PetscCount         *first_chunk; // [max_long] first chunk of the row; its chunks are consecutive
  PetscCount         *chunk_long;  // [max_chunks] which long row the chunk belongs to
};

template <typename Op>
__device__ inline typename Op::Result RowLoopReduceLanes(const Op &op, typename Op::Result r, int lanes)
{
  return ReduceLanes(r, lanes, [&op](const typename Op::Result &a, const typename Op::Result &b) { return op.Combine(a, b); });
}

/* Whether a Visitor has End(). */
template <typename Op, typename = void>
struct RowLoopEnds : std::false_type {};
template <typename Op>
struct RowLoopEnds<Op, std::void_t<decltype(&Op::End)>> : std::true_type {};

/* Short rows: a group of lanes takes a row. All lanes of a warp go round together because they shuffle. */
template <typename Offset, bool Compact, typename Op>
__global__ static void __launch_bounds__(ROW_LOOP_THREADS) RowLoopShortKernel(RowLoopRows<Offset, Compact> rows, int lanes, int32_t long_size, Op op)
{
  const PetscCount warps = (PetscCount)gridDim.x * (ROW_LOOP_THREADS / 32);
  const int        lane  = (threadIdx.x % 32) % lanes;
  const int        group = (threadIdx.x % 32) / lanes, groups = 32 / lanes;

  for (PetscCount first = ((PetscCount)blockIdx.x * (ROW_LOOP_THREADS / 32) + threadIdx.x / 32) * groups; first < rows.num_rows; first += warps * groups) {
    const PetscInt row  = (PetscInt)(first + group);
    const bool     mine = first + group < rows.num_rows && rows.Size(row) <= long_size;

    if constexpr (std::is_void_v<typename Op::Result>) {
      if (mine) {
        const RowLoopRow<Offset, Compact> where(rows, row);

        for (int32_t k = lane; k < where.size; k += lanes) op.Visit(RowEntry{row, k, where.size, where.Position(k)});
      }
    } else {
      auto r = op.Identity();

      if (mine) {
        const RowLoopRow<Offset, Compact> where(rows, row);

        for (int32_t k = lane; k < where.size; k += lanes) r = op.Combine(r, op.Map(RowEntry{row, k, where.size, where.Position(k)}));
      }
      r = RowLoopReduceLanes(op, r, lanes);
      if (mine && lane == 0) op.Store(row, r);
    }
  }
  if constexpr (RowLoopEnds<Op>::value) op.End();
}

/* Lists the long rows and cuts them into chunks. Their order varies from run to run. What is computed from them does not. */
template <typename Offset, bool Compact>
__global__ static void __launch_bounds__(ROW_LOOP_THREADS) RowLoopListKernel(RowLoopRows<Offset, Compact> rows, RowLoopWork work)
{
  const PetscCount stride = (PetscCount)gridDim.x * ROW_LOOP_THREADS;

  for (PetscCount row = (PetscCount)blockIdx.x * ROW_LOOP_THREADS + threadIdx.x; row < rows.num_rows; row += stride) {
    const int32_t size = rows.Size((PetscInt)row);

    if (size > work.long_size) {
      const int32_t    chunks = (int32_t)(((PetscCount)size + ROW_LOOP_CHUNK - 1) / ROW_LOOP_CHUNK);
      const PetscCount q      = (PetscCount)atomicAdd(work.counts, 1ull);
      const PetscCount first  = (PetscCount)atomicAdd(work.counts + 1, (unsigned long long)chunks);

      work.long_rows[q]   = (PetscInt)row;
      work.first_chunk[q] = first;
      for (int32_t c = 0; c < chunks; c++) work.chunk_long[first + c] = q;
    }
  }
}

/* Long rows: a thread block takes a chunk. partial is [max_chunks] for a Reducer and unused for a Visitor. */
template <typename Offset, bool Compact, typename Op>
__global__ static void __launch_bounds__(ROW_LOOP_THREADS) RowLoopChunkKernel(RowLoopRows<Offset, Compact> rows, RowLoopWork work, Op op, void *partial)
{
  const PetscCount num_chunks = (PetscCount)work.counts[1];

  for (PetscCount chunk = blockIdx.x; chunk < num_chunks; chunk += gridDim.x) {
    const PetscCount                  q   = work.chunk_long[chunk];
    const PetscInt                    row = work.long_rows[q];
    const RowLoopRow<Offset, Compact> where(rows, row);
    const PetscCount                  begin = (chunk - work.first_chunk[q]) * ROW_LOOP_CHUNK;
    const int32_t                     end   = (int32_t)(begin + ROW_LOOP_CHUNK < where.size ? begin + ROW_LOOP_CHUNK : where.size);

    if constexpr (std::is_void_v<typename Op::Result>) {
      for (PetscCount k = begin + threadIdx.x; k < end; k += ROW_LOOP_THREADS) op.Visit(RowEntry{row, (int32_t)k, where.size, where.Position((int32_t)k)});
    } else {
      using Result = typename Op::Result;
      Result r     = op.Identity();

      for (PetscCount k = begin + threadIdx.x; k < end; k += ROW_LOOP_THREADS) r = op.Combine(r, op.Map(RowEntry{row, (int32_t)k, where.size, where.Position((int32_t)k)}));
      r = ReduceBlock<ROW_LOOP_THREADS>(r, [&op](const Result &a, const Result &b) { return op.Combine(a, b); });
      if (threadIdx.x == 0) ((Result *)partial)[chunk] = r;
      __syncthreads();
    }
  }
  if constexpr (RowLoopEnds<Op>::value) op.End();
}

/* A warp combines the chunks of a long row in order. */
template <typename Offset, bool Compact, typename Op>
__global__ static void __launch_bounds__(ROW_LOOP_THREADS) RowLoopFinishKernel(RowLoopRows<Offset, Compact> rows, RowLoopWork work, Op op, const void *partial)
{
  const PetscCount num_long = (PetscCount)work.counts[0];
  const PetscCount warps    = (PetscCount)gridDim.x * (ROW_LOOP_THREADS / 32);
  const int        lane     = threadIdx.x % 32;

  for (PetscCount q = (PetscCount)blockIdx.x * (ROW_LOOP_THREADS / 32) + threadIdx.x / 32; q < num_long; q += warps) {
    const PetscInt   row    = work.long_rows[q];
    const PetscCount chunks = ((PetscCount)rows.Size(row) + ROW_LOOP_CHUNK - 1) / ROW_LOOP_CHUNK;
    auto             r      = op.Identity();

    for (PetscCount c = lane; c < chunks; c += 32) r = op.Combine(r, ((const typename Op::Result *)partial)[work.first_chunk[q] + c]);
    r = RowLoopReduceLanes(op, r, 32);
    if (lane == 0) op.Store(row, r);
  }
}

inline unsigned int RowLoopGrid(PetscCount threads)
{
  const PetscCount blocks = (threads + ROW_LOOP_THREADS - 1) / ROW_LOOP_THREADS;

  return (unsigned int)(blocks < (1 << 30) ? blocks : (1 << 30));
}

/* Calls f with the typed rows of a view: one place for the four storage variants. */
template <typename F>
PetscErrorCode RowLoopDispatch(const DCSRView &view, F f)
{
  PetscFunctionBegin;
  if (view.row_offsets) {
    if (view.wide) PetscCall(f(RowLoopRows<int64_t, true>(view)));
    else PetscCall(f(RowLoopRows<int32_t, true>(view)));
  } else {
    if (view.wide) PetscCall(f(RowLoopRows<int64_t, false>(view)));
    else PetscCall(f(RowLoopRows<int32_t, false>(view)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, bool Compact>
PetscErrorCode RowLoopList(const RowLoopRows<Offset, Compact> rows, const RowLoopWork work, cudaStream_t stream)
{
  PetscFunctionBegin;
  RowLoopListKernel<<<RowLoopGrid(rows.num_rows), ROW_LOOP_THREADS, 0, stream>>>(rows, work);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* RowLoopWorkDestroy - releases what RowLoopWorkCreate() made; a zeroed struct is fine. */
inline PetscErrorCode RowLoopWorkDestroy(RowLoopWork *work, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&work->memory, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One allocation for all arrays of the list; with need an error when there is no memory, else memory is NULL then. */
inline PetscErrorCode RowLoopWorkAllocate(bool need, cudaStream_t stream, RowLoopWork *work)
{
  const size_t counts = 2 * sizeof(*work->counts), first = (size_t)work->max_long * sizeof(*work->first_chunk), chunks = (size_t)work->max_chunks * sizeof(*work->chunk_long);
  const size_t bytes = counts + first + chunks + (size_t)work->max_long * sizeof(*work->long_rows);

  PetscFunctionBegin;
  if (need) PetscCall(PetscSparseCUDAMalloc(bytes, "list of long rows", stream, &work->memory));
  else PetscCall(PetscSparseCUDATryMalloc(bytes, stream, &work->memory));
  if (work->memory == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  work->counts      = (unsigned long long *)work->memory;
  work->first_chunk = (PetscCount *)(work->memory + counts);
  work->chunk_long  = (PetscCount *)(work->memory + counts + first);
  work->long_rows   = (PetscInt *)(work->memory + counts + first + chunks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowLoopWorkCreate - picks the lanes a row and finds the long rows of compact or fragmented storage. Asynchronous
  need: whether it is an error when there is no memory for the list. Otherwise every row counts as short then, which is right, and slow for long rows.
  RowLoopWorkDestroy() releases work. Nothing stays allocated after an error. Cost: one read of the row sizes, none when
  the matrix is too small to have long rows.
*/
inline PetscErrorCode RowLoopWorkCreate(const DCSRView &view, bool need, cudaStream_t stream, RowLoopWork *work)
{
  const RowLoopRule *rule = NULL;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(RowLoopGetRule(view.num_rows, (double)view.num_nonzeros, &rule));
  memset(work, 0, sizeof(*work));
  work->lanes      = rule->lanes;
  work->long_size  = rule->long_size;
  work->max_long   = view.num_nonzeros / work->long_size;
  work->max_chunks = work->max_long ? view.num_nonzeros / ROW_LOOP_CHUNK + work->max_long : 0;
  if (!work->max_long) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RowLoopWorkAllocate(need, stream, work));
  if (work->memory == NULL) {
    work->long_size = INT32_MAX;
    work->max_long = work->max_chunks = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(work->counts, 0, 2 * sizeof(*work->counts), stream));
  PetscCallGoto(ierr, failed, RowLoopDispatch(view, [&](auto rows) { return RowLoopList(rows, *work, stream); }));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(RowLoopWorkDestroy(work, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset, bool Compact, typename Op>
PetscErrorCode RowLoopRun(const RowLoopRows<Offset, Compact> rows, const RowLoopWork work, Op op, void *partial, cudaStream_t stream)
{
  const unsigned int blocks = (unsigned int)PetscMin(work.max_chunks, (PetscCount)ROW_LOOP_BLOCKS);
  const int          lanes  = RowLoopEnds<Op>::value ? PetscMax(work.lanes / ROW_LOOP_ROWS, 1) : work.lanes;
  unsigned int       grid   = RowLoopGrid((PetscCount)rows.num_rows * lanes);

  PetscFunctionBegin;
  if (RowLoopEnds<Op>::value) grid = PetscMin(grid, (unsigned int)ROW_LOOP_ENDS);
  RowLoopShortKernel<<<grid, ROW_LOOP_THREADS, 0, stream>>>(rows, lanes, work.long_size, op);
  PetscCallCUDA(cudaGetLastError());
  if (blocks) {
    RowLoopChunkKernel<<<blocks, ROW_LOOP_THREADS, 0, stream>>>(rows, work, op, partial);
    PetscCallCUDA(cudaGetLastError());
    if constexpr (!std::is_void_v<typename Op::Result>) {
      RowLoopFinishKernel<<<RowLoopGrid(PetscMin(work.max_long, (PetscCount)ROW_LOOP_BLOCKS) * 32), ROW_LOOP_THREADS, 0, stream>>>(rows, work, op, partial);
      PetscCallCUDA(cudaGetLastError());
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  RowLoop - runs an operation over every entry in use of compact or fragmented storage. Asynchronous
  op: a Visitor or a Reducer, see the head of this file; a Reducer stores for every row, also an empty one.
  PETSC_ERR_MEM of a Reducer without memory for the long rows' partial results, which decide about the last bits; nothing stays allocated. A Visitor needs no memory.
*/
template <typename Op>
PetscErrorCode RowLoop(const DCSRView &view, Op op, cudaStream_t stream)
{
  constexpr bool   reduces     = !std::is_void_v<typename Op::Result>;
  constexpr size_t result_size = sizeof(std::conditional_t<reduces, typename Op::Result, char>);
  PetscErrorCode   ierr        = PETSC_SUCCESS;
  RowLoopWork      work;
  char            *partial = NULL;

  PetscFunctionBegin;
  if (!view.num_rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RowLoopWorkCreate(view, reduces, stream, &work));
  if constexpr (reduces) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc((size_t)work.max_chunks * result_size, "partial results of long rows", stream, &partial));
  PetscCallGoto(ierr, cleanup, RowLoopDispatch(view, [&](auto rows) { return RowLoopRun(rows, work, op, partial, stream); }));
cleanup:
  PetscCall(PetscSparseCUDAFree(&partial, stream));
  PetscCall(RowLoopWorkDestroy(&work, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
