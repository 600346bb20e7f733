/*
  The filter of smoothed prolongators. The numbers are those of PETSc's filter but for rounding (PCGAMGSetProlongatorFilter() of PETSc 3.26.1).

  A group of lanes takes a node and flags the entries of its weak couplings, and zeros; then a group takes a row. What a row lacks after that is the sum of what leaves, so that its product
  with the near null space before the filter is not needed. What is flagged leaves the pattern.

  Reference: the minimum-norm correction that keeps a near null space is that of energy minimization: L. Olson, J. Schroder, R. Tuminaro, A General Interpolation Strategy for Algebraic
  Multigrid Using Energy Minimization, SIAM J. Sci. Comput. 2011.
*/
#include "../common/blockreduce.cuh"
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/rowloop.cuh"
#include "../common/scalar.cuh"
#include "../common/search.cuh"
#include "../delete/compact.cuh"
#include <petscsparsecuda/filter.h>

namespace
{

constexpr int FILTER_THREADS = 256;

/* A block of the prolongator, as kernels see it. */
struct Block {
  Offsets          offsets;
  const int32_t   *columns, *numbers; // numbers: NULL for own columns
  const PetscReal *coarse;
  PetscScalar     *values;
  unsigned char   *leaves; // [nonzeros] written by the first kernel

  __device__ int32_t Node(PetscCount e, PetscInt num_vectors) const
  {
    const int32_t column = columns[e];

    return (numbers ? numbers[column] : column) / num_vectors;
  }
};

struct Filter {
  PetscInt  num_rows, row_block, num_vectors;
  PetscReal threshold2; // squared
  int       lanes, num_blocks;
  Block     blocks[2];
};

/* The first entry of a row whose coarse node is not before this one. */
__device__ inline PetscCount FindNode(const Filter &f, const Block &b, PetscInt row, int32_t node)
{
  return PartitionPoint(b.offsets(row), b.offsets(row + 1), [&](PetscCount e) { return b.Node(e, f.num_vectors) < node; });
}

/* Whether a row has entries of a coarse node. */
__device__ inline bool HasNode(const Filter &f, const Block &b, PetscInt row, int32_t node)
{
  const PetscCount e = FindNode(f, b, row, node);

  return e < b.offsets(row + 1) && b.Node(e, f.num_vectors) == node;
}

/* The coupling of a node with a coarse node; it begins with entry e of its first row that has it. */
struct Coupling {
  const Block &b;
  PetscInt     row, end_row;
  PetscCount   e;
  int32_t      node;

  template <typename Visit>
  __device__ void ForEachEntry(const Filter &f, Visit visit) const
  {
    for (PetscInt r = row; r < end_row; r++) {
      const PetscCount end = b.offsets(r + 1);

      for (PetscCount k = r == row ? e : FindNode(f, b, r, node); k < end && b.Node(k, f.num_vectors) == node; k++) visit(k);
    }
  }

  __device__ PetscReal SquaredNorm(const Filter &f) const
  {
    PetscReal sum = 0;

    ForEachEntry(f, [&](PetscCount k) { sum += SquaredValue(b.values[k]); });
    return sum;
  }
};

/* The couplings of a node that this lane finds. Each is found by one lane, as the rows above its first one do not have it. */
template <typename Visit>
__device__ inline void ForEachCoupling(const Filter &f, PetscInt first_row, int lane, Visit visit)
{
  for (int k = 0; k < f.num_blocks; k++) {
    const Block &b = f.blocks[k];

    for (PetscInt row = first_row; row < first_row + f.row_block; row++) {
      const PetscCount begin = b.offsets(row), end = b.offsets(row + 1);

      for (PetscCount e = begin + lane; e < end; e += f.lanes) {
        const int32_t node  = b.Node(e, f.num_vectors);
        bool          first = e == begin || b.Node(e - 1, f.num_vectors) != node;

        for (PetscInt above = first_row; above < row && first; above++) first = !HasNode(f, b, above, node);
        if (first) visit(Coupling{b, row, first_row + f.row_block, e, node});
      }
    }
  }
}

/* All lanes of a warp go round together because they shuffle: calls f(item, mine, lane) for all items below n. */
template <typename F>
__device__ inline void ForEachByLanes(PetscInt n, int lanes, F f)
{
  const int        lane = (threadIdx.x % 32) % lanes, group = (threadIdx.x % 32) / lanes, groups = 32 / lanes;
  const PetscCount warp = (PetscCount)blockIdx.x * (FILTER_THREADS / 32) + threadIdx.x / 32, stride = (PetscCount)gridDim.x * (FILTER_THREADS / 32) * groups;

  for (PetscCount first = warp * groups; first < n; first += stride) f((PetscInt)(first + group), first + group < n, lane);
}

__global__ static void __launch_bounds__(FILTER_THREADS) MarkKernel(Filter f)
{
  ForEachByLanes(f.num_rows / f.row_block, f.lanes, [&](PetscInt node, bool mine, int lane) {
    const PetscInt row     = node * f.row_block;
    PetscReal      largest = 0;

    if (mine)
      ForEachCoupling(f, row, lane, [&](const Coupling &c) {
        const PetscReal norm2 = c.SquaredNorm(f);

        if (norm2 > largest) largest = norm2; // NaN is not larger
      });
    largest = AllReduceLanes(largest, f.lanes, [](PetscReal a, PetscReal b) { return a > b ? a : b; });
    if (mine)
      ForEachCoupling(f, row, lane, [&](const Coupling &c) {
        const bool weak = c.SquaredNorm(f) < f.threshold2 * largest; // NaN stays

        c.ForEachEntry(f, [&](PetscCount k) { c.b.leaves[k] = weak || c.b.values[k] == PetscScalar(0); });
      });
  });
}

/* One vector: rows are scaled. */
struct ScaleRow {
  struct Sum {
    PetscScalar kept = 0, lost = 0; // what the row gives
  };
  using Change = PetscScalar;

  __device__ static void Add(const Filter &, const Block &b, PetscCount e, Sum &s)
  {
    const PetscScalar product = b.values[e] * b.coarse[b.columns[e]];

    if (b.leaves[e]) s.lost += product;
    else s.kept += product;
  }
  __device__ static Sum Combine(const Sum &a, const Sum &b)
  {
    Sum s;

    s.kept = a.kept + b.kept;
    s.lost = a.lost + b.lost;
    return s;
  }
  __device__ static bool Solve(const Filter &, const Sum &s, Change &scale)
  {
    const PetscScalar before = s.kept + s.lost;

    if (!(AbsoluteValue(before) > 0 && (PetscReal)DCSR_FILTER_LARGEST_SCALE * AbsoluteValue(s.kept) > AbsoluteValue(before))) return false;
    scale = before / s.kept;
    return true;
  }
  __device__ static PetscScalar Apply(const Filter &, const Block &b, PetscCount e, const Change &scale) { return b.values[e] * scale; }
};

/* Up to N vectors: the smallest change, in the 2-norm, of the entries that stay, by the Gram matrix of the near null space in their columns. It is scaled to a unit diagonal, and
   solved by Gaussian elimination with the pivots of LAPACK's gesv. */
template <int N>
struct CorrectRow {
  struct Sum {
    PetscReal   gram[N * (N + 1) / 2]; // by rows, the upper triangle
    PetscScalar lost[N];
    int         active; // entries that stay

    __device__ Sum()
    {
#pragma unroll
      for (int i = 0; i < N * (N + 1) / 2; i++) gram[i] = 0;
#pragma unroll
      for (int i = 0; i < N; i++) lost[i] = 0;
      active = 0;
    }
  };
  struct Change {
    PetscScalar x[N];
  };

  /* The near null space in the column of an entry. */
  struct Coarse {
    PetscReal v[N];

    __device__ Coarse(const Filter &f, const Block &b, PetscCount e)
    {
      const PetscReal *p = b.coarse + (PetscCount)b.columns[e] * f.num_vectors;

#pragma unroll
      for (int i = 0; i < N; i++) v[i] = i < f.num_vectors ? p[i] : PetscReal(0);
    }
  };

  __device__ static void Add(const Filter &f, const Block &b, PetscCount e, Sum &s)
  {
    const PetscScalar value = b.values[e];
    const Coarse      c(f, b, e);

    if (b.leaves[e]) {
#pragma unroll
      for (int i = 0; i < N; i++) s.lost[i] += value * c.v[i];
      return;
    }
    s.active++;
#pragma unroll
    for (int i = 0, at = 0; i < N; i++)
#pragma unroll
      for (int j = i; j < N; j++) s.gram[at++] += c.v[i] * c.v[j];
  }

  __device__ static Sum Combine(const Sum &a, const Sum &b)
  {
    Sum s;

#pragma unroll
    for (int i = 0; i < N * (N + 1) / 2; i++) s.gram[i] = a.gram[i] + b.gram[i];
#pragma unroll
    for (int i = 0; i < N; i++) s.lost[i] = a.lost[i] + b.lost[i];
    s.active = a.active + b.active;
    return s;
  }

  __device__ static bool Eliminate(PetscReal a[N][N], PetscScalar x[N])
  {
#pragma unroll
    for (int j = 0; j < N; j++) {
      PetscReal largest = fabs(a[j][j]);
      int       pivot   = j;

#pragma unroll
      for (int i = j + 1; i < N; i++) {
        if (fabs(a[i][j]) <= largest) continue;
        largest = fabs(a[i][j]);
        pivot   = i;
      }
      if (largest == 0) return false;
#pragma unroll
      for (int i = j + 1; i < N; i++) {
        if (i == pivot) { // with indices known when this is compiled, so that rows stay in registers
#pragma unroll
          for (int k = j; k < N; k++) {
            const PetscReal t = a[i][k];

            a[i][k] = a[j][k];
            a[j][k] = t;
          }
          const PetscScalar t = x[i];

          x[i] = x[j];
          x[j] = t;
        }
      }
#pragma unroll
      for (int i = j + 1; i < N; i++) {
        const PetscReal factor = a[i][j] / a[j][j];

#pragma unroll
        for (int k = j + 1; k < N; k++) a[i][k] -= factor * a[j][k];
        x[i] -= factor * x[j];
      }
    }
#pragma unroll
    for (int j = N - 1; j >= 0; j--) {
#pragma unroll
      for (int k = j + 1; k < N; k++) x[j] -= a[j][k] * x[k];
      x[j] /= a[j][j];
    }
    return true;
  }

  __device__ static bool Solve(const Filter &f, const Sum &s, Change &change)
  {
    PetscReal a[N][N], scale[N];
    bool      lost = false;

    if (s.active < f.num_vectors) return false; // PETSc leaves what is not determined
#pragma unroll
    for (int i = 0, at = 0; i < N; at += N - i, i++) {
      scale[i] = s.gram[at] > 0 ? 1 / PetscSqrtReal(s.gram[at]) : PetscReal(1);
      lost     = lost || s.lost[i] != PetscScalar(0);
    }
    if (!lost) return false;
#pragma unroll
    for (int i = 0, at = 0; i < N; i++) {
#pragma unroll
      for (int j = i; j < N; j++) a[i][j] = a[j][i] = s.gram[at++] * (scale[i] * scale[j]);
      if (i >= f.num_vectors) a[i][i] = 1;
      change.x[i] = scale[i] * s.lost[i];
    }
    if (!Eliminate(a, change.x)) return false;
#pragma unroll
    for (int i = 0; i < N; i++) change.x[i] *= scale[i];
    return true;
  }

  __device__ static PetscScalar Apply(const Filter &f, const Block &b, PetscCount e, const Change &change)
  {
    const Coarse c(f, b, e);
    PetscScalar  value = b.values[e];

#pragma unroll
    for (int i = 0; i < N; i++) value += c.v[i] * change.x[i];
    return value;
  }
};

template <typename Row>
__global__ static void __launch_bounds__(FILTER_THREADS) CorrectKernel(Filter f)
{
  ForEachByLanes(f.num_rows, f.lanes, [&](PetscInt row, bool mine, int lane) {
    typename Row::Sum    sum;
    typename Row::Change change;

    for (int k = 0; k < f.num_blocks && mine; k++)
      for (PetscCount e = f.blocks[k].offsets(row) + lane; e < f.blocks[k].offsets(row + 1); e += f.lanes) Row::Add(f, f.blocks[k], e, sum);
    sum = AllReduceLanes(sum, f.lanes, [](const typename Row::Sum &a, const typename Row::Sum &b) { return Row::Combine(a, b); });

    const bool changes = mine && Row::Solve(f, sum, change);

    for (int k = 0; k < f.num_blocks && mine; k++)
      for (PetscCount e = f.blocks[k].offsets(row) + lane; e < f.blocks[k].offsets(row + 1); e += f.lanes) {
        if (changes && !f.blocks[k].leaves[e]) f.blocks[k].values[e] = Row::Apply(f, f.blocks[k], e, change);
      }
  });
}

/* What corrects rows with up to so many vectors. */
struct FilterRule {
  PetscInt num_vectors;
  void (*kernel)(Filter);
};
constexpr FilterRule FILTER_RULES[] = {{1, CorrectKernel<ScaleRow>},
                                       {2, CorrectKernel<CorrectRow<2>>},
                                       {3, CorrectKernel<CorrectRow<3>>},
                                       {4, CorrectKernel<CorrectRow<4>>},
                                       {DCSR_FILTER_MAX_VECTORS, CorrectKernel<CorrectRow<DCSR_FILTER_MAX_VECTORS>>}};

struct PackCoarse {
  PetscInt         n, num_vectors;
  const PetscReal *data;
  PetscReal       *coarse;

  __device__ void operator()(PetscCount k) const { coarse[k] = data[(k % num_vectors) * n + k / num_vectors]; }
};

struct NoteColumn {
  const int32_t       *columns;
  const unsigned char *leaves;
  int32_t             *kept;

  __device__ void operator()(PetscCount e) const
  {
    if (!leaves[e]) kept[columns[e]] = 1; // all who write write the same
  }
};

struct SpareColumn {
  const int32_t     *columns;
  const PetscScalar *values;
  const int32_t     *kept;
  unsigned char     *leaves;

  __device__ void operator()(PetscCount e) const
  {
    if (!kept[columns[e]] && values[e] != PetscScalar(0)) leaves[e] = 0;
  }
};

struct KeepUnflagged {
  const unsigned char *leaves;

  __device__ bool operator()(const DCSRView &, RowEntry e) const { return !leaves[e.position]; }
};

/* What kernels get. */
inline PetscErrorCode GetFilter(const DCSRFilter *filter, PetscReal threshold, Filter *f)
{
  const RowLoopRule *rule     = NULL; // its lanes
  double             nonzeros = 0;

  PetscFunctionBegin;
  memset(f, 0, sizeof(*f));
  f->num_rows    = filter->blocks[0].view.num_rows;
  f->row_block   = filter->row_block;
  f->num_vectors = filter->num_vectors;
  f->threshold2  = threshold * threshold;
  f->num_blocks  = filter->num_blocks;
  for (int k = 0; k < f->num_blocks; k++) {
    const DCSRFilterBlock &b = filter->blocks[k];

    f->blocks[k] = {Offsets(b.view), b.view.columns, b.numbers, b.coarse, b.view.values, filter->leaves[k]};
    nonzeros += (double)b.view.num_nonzeros;
  }
  PetscCall(RowLoopGetRule(f->num_rows, nonzeros, &rule));
  f->lanes = rule->lanes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* DCSRFilterPackCoarse - From data [num_vectors][n] to coarse [n][num_vectors], both on the device. Asynchronous on the stream. */
PetscErrorCode DCSRFilterPackCoarse(PetscInt n, PetscInt num_vectors, const PetscReal data[], PetscReal coarse[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)n * num_vectors, PackCoarse{n, num_vectors, data, coarse}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRFilterMark - Flags what leaves a prolongator: zeros, and couplings whose Frobenius norm is below a threshold (positive) times the largest one of their node. Asynchronous
  filter has at most DCSR_FILTER_MAX_VECTORS vectors. Cost: a read of columns and values, and a byte an entry that is there until DCSRFilterDestroy().
*/
PetscErrorCode DCSRFilterMark(DCSRFilter *filter, PetscReal threshold, cudaStream_t stream)
{
  const PetscInt num_rows = filter->blocks[0].view.num_rows;
  Filter         f;

  PetscFunctionBegin;
  PetscCheck(filter->num_vectors >= 1 && filter->num_vectors <= DCSR_FILTER_MAX_VECTORS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The filter on the device takes 1 to %d vectors, not %" PetscInt_FMT,
             DCSR_FILTER_MAX_VECTORS, filter->num_vectors);
  PetscCheck(num_rows % filter->row_block == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " rows are no nodes of %" PetscInt_FMT, num_rows, filter->row_block);
  for (int k = 0; k < filter->num_blocks; k++) PetscCall(PetscSparseCUDAMalloc(filter->blocks[k].view.num_nonzeros, "flags of a prolongator", stream, &filter->leaves[k]));
  if (num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetFilter(filter, threshold, &f));
  MarkKernel<<<RowLoopGrid((PetscCount)num_rows * f.lanes), FILTER_THREADS, 0, stream>>>(f);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRFilterNoteColumns - kept [columns of the block] on the device becomes 1 where an entry stays, and is left alone elsewhere. Asynchronous on the stream. */
PetscErrorCode DCSRFilterNoteColumns(const DCSRFilter *filter, int block, int32_t kept[], cudaStream_t stream)
{
  const DCSRView &view = filter->blocks[block].view;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(view.num_nonzeros, NoteColumn{view.columns, filter->leaves[block], kept}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRFilterSpareColumns - In the columns in which nothing is kept, kept [columns of the block] on the device, only zeros leave. Asynchronous on the stream. */
PetscErrorCode DCSRFilterSpareColumns(DCSRFilter *filter, int block, const int32_t kept[], cudaStream_t stream)
{
  const DCSRView &view = filter->blocks[block].view;

  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(view.num_nonzeros, SpareColumn{view.columns, view.values, kept, filter->leaves[block]}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRFilterApply - Corrects what stays, and makes new storage of it; synchronizes with the stream
  filter is marked; the values of its blocks are changed, also after an error. to [num_blocks]: what stays of each block, owned by the caller; zero where that is all.
  With one vector a row is scaled, unless by more than 1e4. With several ones the entries of a row that stay get the smallest change with which it gives the near null space as before. A row with fewer
  of them than vectors, or whose Gram matrix is singular, is left as it is.
  Cost: two reads and a write of values and columns, and that of DCSRCompactIf(). Nothing stays allocated after PETSC_ERR_MEM.
*/
PetscErrorCode DCSRFilterApply(DCSRFilter *filter, DCSRView to[], cudaStream_t stream)
{
  const FilterRule *rule = FILTER_RULES;
  Filter            f;
  DCSRDeletion      deletion;
  PetscErrorCode    ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(GetFilter(filter, 0, &f));
  for (int k = 0; k < f.num_blocks; k++) PetscCall(PetscArrayzero(&to[k], 1));
  if (f.num_rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  while (f.num_vectors > rule->num_vectors) rule++;
  rule->kernel<<<RowLoopGrid((PetscCount)f.num_rows * f.lanes), FILTER_THREADS, 0, stream>>>(f);
  PetscCallCUDA(cudaGetLastError());
  for (int k = 0; k < f.num_blocks; k++) PetscCallGoto(ierr, failed, DCSRCompactIf(filter->blocks[k].view, KeepUnflagged{filter->leaves[k]}, stream, &to[k], &deletion));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  for (int k = 0; k < f.num_blocks; k++) PetscCall(FreeView(&to[k], stream));
  PetscFunctionReturn(ierr);
}

/* DCSRFilterDestroy - Frees the flags. */
PetscErrorCode DCSRFilterDestroy(DCSRFilter *filter, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&filter->leaves[k], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
