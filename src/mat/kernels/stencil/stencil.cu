/*
  Fills compact storage with the pattern of a stencil. A thread has a row. The sizes of rows and the columns come from the tables of the axes alone; columns come out sorted: the boxes that the stencil
  reaches are visited in the order of their numbers, and in a box its points.
*/
#include "stencilimpl.h"
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/scan.h"
#include <petscsparsecuda/common.h>

namespace
{

constexpr int THREADS = 256;

/* A point of the own box, and what the stencil reaches from there along each axis. */
struct Center {
  int32_t             at[3];
  const StencilReach *reach[3];

  __device__ Center(const StencilTables &t, int32_t point)
  {
    at[0] = point % t.axes[0].width;
    point /= t.axes[0].width;
    at[1] = point % t.axes[1].width;
    at[2] = point / t.axes[1].width;
    for (int k = 0; k < 3; k++) reach[k] = t.axes[k].reaches + StencilClass(&t.axes[k], at[k]);
  }
};

/* Entries of each row in one of the blocks, and none behind the last row. */
struct RowSize {
  StencilTables      tables;
  PetscInt           num_rows;
  bool               outside;
  __device__ int64_t operator()(PetscInt row) const
  {
    int64_t own, others;

    if (row >= num_rows) return 0;
    const Center c(tables, (int32_t)row / tables.dof);

    StencilRowSizes(&tables, c.reach[0], c.reach[1], c.reach[2], (int32_t)row % tables.dof, PETSC_FALSE, &own, &others);
    return outside ? others : own;
  }
};

template <typename Offset>
struct WriteRowSize {
  RowSize         size;
  Offset         *sizes;
  __device__ void operator()(PetscCount row) const { sizes[row] = (Offset)size((PetscInt)row); }
};

/* Writes the columns of a row one after the other. */
struct RowWriter {
  const StencilTables &tables;
  const Center        &center;
  int32_t              unknown;
  bool                 outside;
  int32_t             *columns;

  /* Whether three positions, one of each axis, are a point of the own box. */
  __device__ bool IsOwn(const StencilPosition &x, const StencilPosition &y, const StencilPosition &z) const
  {
    return x.start == tables.axes[0].start && y.start == tables.axes[1].start && z.start == tables.axes[2].start;
  }

  __device__ void WriteUnknowns(StencilFill fill, int32_t first)
  {
    if (!tables.fill_begins) {
      for (int32_t k = 0; k < tables.dof; k++) *columns++ = first + k;
    } else {
      const int32_t list = (int32_t)fill * tables.dof + unknown;

      for (int32_t k = tables.fill_begins[list]; k < tables.fill_begins[list + 1]; k++) *columns++ = first + tables.fills[k];
    }
  }

  /* The point that three positions make, by its number in the own box or in the grid. */
  __device__ void WritePoint(const StencilPosition &x, const StencilPosition &y, const StencilPosition &z, bool is_center)
  {
    const int32_t in_box = center.at[0] + x.delta + x.width * (center.at[1] + y.delta + y.width * (center.at[2] + z.delta));
    const int32_t before = outside ? (tables.axes[0].total * (tables.axes[1].total * z.start + y.start * z.width)) + x.start * y.width * z.width : 0;

    WriteUnknowns(is_center ? StencilCenterFill(center.reach[0], center.reach[1], center.reach[2]) : FILL_OTHER, (before + in_box) * tables.dof);
  }

  /* Where the positions of the box end that has position k. */
  __device__ int32_t EndOfBox(int axis, int32_t k) const
  {
    const StencilPosition *positions = tables.axes[axis].positions;
    int32_t                end       = k + 1;

    while (end < center.reach[axis]->end && positions[end].start == positions[k].start) end++;
    return end;
  }

  /* The points in one box, which begin and end on each axis. */
  __device__ void WriteBox(const int32_t begin[], const int32_t end[])
  {
    const StencilAxis *axes = tables.axes;

    for (int32_t z = begin[2]; z < end[2]; z++)
      for (int32_t y = begin[1]; y < end[1]; y++)
        for (int32_t x = begin[0]; x < end[0]; x++)
          WritePoint(axes[0].positions[x], axes[1].positions[y], axes[2].positions[z], x == center.reach[0]->center && y == center.reach[1]->center && z == center.reach[2]->center);
  }

  __device__ void WriteBoxStencil()
  {
    const StencilAxis *axes = tables.axes;
    int32_t            begin[3], end[3];

    for (begin[2] = center.reach[2]->begin; begin[2] < center.reach[2]->end; begin[2] = end[2]) {
      end[2] = EndOfBox(2, begin[2]);
      for (begin[1] = center.reach[1]->begin; begin[1] < center.reach[1]->end; begin[1] = end[1]) {
        end[1] = EndOfBox(1, begin[1]);
        for (begin[0] = center.reach[0]->begin; begin[0] < center.reach[0]->end; begin[0] = end[0]) {
          end[0] = EndOfBox(0, begin[0]);
          if (IsOwn(axes[0].positions[begin[0]], axes[1].positions[begin[1]], axes[2].positions[begin[2]]) != outside) WriteBox(begin, end);
        }
      }
    }
  }

  /* The points of an axis from begin to end, one of which may be the center. */
  __device__ void WriteAxis(int axis, int32_t begin, int32_t end)
  {
    StencilPosition at[3];

    for (int k = 0; k < 3; k++) at[k] = tables.axes[k].positions[center.reach[k]->center];
    for (int32_t k = begin; k < end; k++) {
      at[axis] = tables.axes[axis].positions[k];
      if (IsOwn(at[0], at[1], at[2]) != outside) WritePoint(at[0], at[1], at[2], k == center.reach[axis]->center);
    }
  }

  /* Below the center the axes come from the slowest to the fastest, above it the other way: so do boxes, and points in a box. */
  __device__ void WriteStarStencil()
  {
    for (int k = 2; k > 0; k--) WriteAxis(k, center.reach[k]->begin, center.reach[k]->center);
    WriteAxis(0, center.reach[0]->begin, center.reach[0]->end);
    for (int k = 1; k < 3; k++) WriteAxis(k, center.reach[k]->center + 1, center.reach[k]->end);
  }
};

__global__ void __launch_bounds__(THREADS) FillKernel(StencilTables tables, PetscInt num_rows, bool outside, Offsets offsets, int32_t *columns)
{
  const PetscCount row = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (row >= num_rows) return;
  const PetscCount begin = offsets(row);

  if (begin == offsets(row + 1)) return;
  const Center center(tables, (int32_t)row / tables.dof);
  RowWriter    writer{tables, center, (int32_t)row % tables.dof, outside, columns + begin};

  if (tables.star) writer.WriteStarStencil();
  else writer.WriteBoxStencil();
}

template <typename Offset>
PetscErrorCode ScanSizes(const RowSize &size, cudaStream_t stream, Offset *row_offsets)
{
  const PetscCount n = (PetscCount)size.num_rows + 1;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, WriteRowSize<Offset>{size, row_offsets}, stream));
  PetscCall(DCSRExclusiveSum("workspace of row offsets", row_offsets, n, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Fill(const StencilTables &tables, bool outside, cudaStream_t stream, DCSRView view)
{
  const RowSize size{tables, view.num_rows, outside};

  PetscFunctionBegin;
  if (view.wide) PetscCall(ScanSizes(size, stream, (int64_t *)view.row_offsets));
  else PetscCall(ScanSizes(size, stream, (int32_t *)view.row_offsets));
  if (view.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  FillKernel<<<DCSRNumBlocks(view.num_rows, THREADS), THREADS, 0, stream>>>(tables, view.num_rows, outside, Offsets(view), view.columns);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemsetAsync(view.values, 0, (size_t)view.num_nonzeros * sizeof(*view.values), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of the tables that become one allocation. */
struct Chunk {
  const void  *host;
  size_t       bytes;
  const void **device; // where the pointer to its copy goes
};

/* The tables with their arrays on the device, in memory that the caller frees. */
PetscErrorCode CopyTables(DCSRStencil s, cudaStream_t stream, StencilTables *tables, char **memory)
{
  const PetscInt num_fills = s->fill_begins ? NUM_FILLS * (PetscInt)s->tables.dof : 0;
  Chunk          chunks[8];
  size_t         bytes = 0;

  PetscFunctionBegin;
  *tables = s->tables;
  for (int k = 0; k < 3; k++) {
    chunks[2 * k]     = {s->reaches[k], (size_t)s->num_classes[k] * sizeof(StencilReach), (const void **)&tables->axes[k].reaches};
    chunks[2 * k + 1] = {s->positions[k], (size_t)s->num_positions[k] * sizeof(StencilPosition), (const void **)&tables->axes[k].positions};
  }
  chunks[6] = {s->fill_begins, num_fills ? (size_t)(num_fills + 1) * sizeof(int32_t) : 0, (const void **)&tables->fill_begins};
  chunks[7] = {s->fills, num_fills ? (size_t)s->fill_begins[num_fills] * sizeof(int32_t) : 0, (const void **)&tables->fills};
  for (const Chunk &chunk : chunks) bytes += chunk.bytes;
  PetscCall(PetscSparseCUDAMalloc(bytes, "tables of a stencil", stream, memory));
  bytes = 0;
  for (const Chunk &chunk : chunks) {
    if (chunk.bytes == 0) continue;
    PetscCall(PetscSparseCUDACopyToDevice(*memory + bytes, chunk.host, chunk.bytes, stream));
    *chunk.device = *memory + bytes;
    bytes += chunk.bytes;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRStencilBuild - The rows of the own box as a matrix with zero values. Asynchronous, but for the copy of the tables
  outside = PETSC_FALSE: the diagonal block, with columns counted from the first one of the own box. PETSC_TRUE: the off-diagonal block, with global columns.
  view is compact, its arrays are the caller's; zero after an error, and nothing stays allocated. Cost: one pass over the row offsets and one write of columns and values.
*/
PetscErrorCode DCSRStencilBuild(DCSRStencil stencil, PetscBool outside, cudaStream_t stream, DCSRView *view)
{
  const StencilAxis *axes = stencil->tables.axes;
  const PetscInt     rows = DCSRStencilNumRows(stencil), columns = outside ? (PetscInt)axes[0].total * axes[1].total * axes[2].total * stencil->tables.dof : rows;
  StencilTables      tables;
  PetscCount         num[2];
  PetscBool          wide;
  char              *memory = NULL;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  PetscCall(DCSRStencilCount(stencil, PETSC_FALSE, num));
  PetscCall(DCSRNeedsWide(num[outside ? 1 : 0], &wide));
  PetscCallGoto(ierr, cleanup, CopyTables(stencil, stream, &tables, &memory));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateCompact(rows, columns, num[outside ? 1 : 0], wide, stream, view));
  PetscCallGoto(ierr, cleanup, Fill(tables, (bool)outside, stream, *view));
cleanup:
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(view, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
