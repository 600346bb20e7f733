/*
  Generators of the benchmark matrices, all on the device: stencils row by row, the others from a list of (row, column) keys that is sorted and rid of duplicates.
*/
#include "benchmatrix.h"
#include "benchkeys.h"
#include "benchmesh.h"
#include "benchrandom.cuh"
#include <cub/device/device_scan.cuh>

#define BENCH_THREADS 256

static inline unsigned int BenchGrid(PetscCount n)
{
  return (unsigned int)((n + BENCH_THREADS - 1) / BENCH_THREADS);
}

__device__ __forceinline__ PetscCount BenchIndex(void)
{
  return (PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x;
}

/* A box (27, 9 points) or a star (7, 5) of neighbors on a grid, dof unknowns a point. */
struct BenchStencil {
  int32_t nx, ny, nz, dof;
  bool    star;
};

template <typename Visit>
__device__ __forceinline__ void BenchStencilVisit(BenchStencil s, int32_t point, Visit visit)
{
  const int32_t x = point % s.nx, y = point / s.nx % s.ny, z = point / s.nx / s.ny;

  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int  away   = (dx != 0) + (dy != 0) + (dz != 0);
        const bool inside = x + dx >= 0 && x + dx < s.nx && y + dy >= 0 && y + dy < s.ny && z + dz >= 0 && z + dz < s.nz;

        if (inside && (!s.star || away <= 1)) visit(point + dx + s.nx * (dy + s.ny * dz));
      }
}

__global__ void BenchStencilCount(BenchStencil s, int32_t num_rows, int32_t *counts)
{
  const PetscCount r     = BenchIndex();
  int32_t          count = 0;

  if (r > num_rows) return;
  if (r < num_rows) BenchStencilVisit(s, (int32_t)r / s.dof, [&](int32_t) { count += s.dof; });
  counts[r] = count;
}

__global__ void BenchStencilFill(BenchStencil s, int32_t num_rows, const int32_t *row_offsets, int32_t *columns)
{
  const PetscCount r = BenchIndex();
  int32_t          k;

  if (r >= num_rows) return;
  k = row_offsets[r];
  BenchStencilVisit(s, (int32_t)r / s.dof, [&](int32_t point) {
    for (int32_t d = 0; d < s.dof; d++) columns[k++] = point * s.dof + d;
  });
}

/* Distributions of the entries of the irregular matrices. */
typedef enum {
  BENCH_RMAT,
  BENCH_UNIFORM,
  BENCH_BAND4,
  BENCH_POWERLAW,
  BENCH_LONGROW,
  BENCH_TALL,
  BENCH_WIDE,
  BENCH_EMPTY,
  BENCH_HYPERSPARSE,
  BENCH_RMAT16,
  BENCH_DIAGONAL,
  BENCH_PERMUTATION,
  BENCH_BLOCKS,
  BENCH_DENSEROWS,
  BENCH_DENSECOLUMNS
} BenchPattern;

__device__ __forceinline__ void BenchBand4(unsigned long long e, int32_t n, int32_t *row, int32_t *column)
{
  const unsigned long long band = 5ull * n, random = 4ull * n / 7;

  if (e < band) {
    *row    = (int32_t)(e / 5);
    *column = min(max(*row + (int32_t)(e % 5) - 2, 0), n - 1);
  } else if (e < band + random) {
    *row    = (int32_t)(BenchHash(e, 3) % n);
    *column = (int32_t)(BenchHash(e, 4) % n);
  } else {
    *row    = n / 8 + n / 4 * (int32_t)((e - band - random) / (n / 2));
    *column = 2 * (int32_t)((e - band - random) % (n / 2));
  }
}

__global__ void BenchKeys(BenchPattern pattern, int32_t m, int32_t n, PetscCount num_keys, unsigned long long *keys)
{
  const PetscCount         i   = BenchIndex();
  const unsigned long long e   = i;
  int32_t                  row = 0, column = (int32_t)(BenchHash(e, 1) % n);

  if (i >= num_keys) return;
  switch (pattern) {
  case BENCH_RMAT:
    BenchRMAT(e, 20, &row, &column);
    break;
  case BENCH_RMAT16:
    BenchRMAT(e, 16, &row, &column);
    break;
  case BENCH_DIAGONAL:
    row = column = (int32_t)e;
    break;
  case BENCH_PERMUTATION:
    row    = (int32_t)e;
    column = (int32_t)(e * 7919 % n);
    break;
  case BENCH_BLOCKS:
    row    = (int32_t)(e / 32);
    column = row / 32 * 32 + (int32_t)(e % 32);
    break;
  case BENCH_DENSEROWS:
    row    = e < 3ull * m ? (int32_t)(e / 3) : m / 8 + m / 4 * (int32_t)((e - 3ull * m) / (n / 5));
    column = e < 3ull * m ? min(max(row + (int32_t)(e % 3) - 1, 0), n - 1) : 5 * (int32_t)((e - 3ull * m) % (n / 5));
    break;
  case BENCH_DENSECOLUMNS:
    row    = (int32_t)(e / 5);
    column = e % 5 < 3 ? min(max(row + (int32_t)(e % 5) - 1, 0), n - 1) : (int32_t)(e % 5 - 3) * (n / 2);
    break;
  case BENCH_UNIFORM:
    row = (int32_t)(e / 16);
    break;
  case BENCH_BAND4:
    BenchBand4(e, n, &row, &column);
    break;
  case BENCH_POWERLAW:
    row = (int32_t)(m * pow(BenchUniform(e, 2), 4.0));
    break;
  case BENCH_LONGROW:
    row    = e < 3ull * m ? (int32_t)(e / 3) : m / 2;
    column = e < 3ull * m ? min(max(row + (int32_t)(e % 3) - 1, 0), n - 1) : (int32_t)(e - 3ull * m);
    break;
  case BENCH_TALL:
    row = (int32_t)(e / 3);
    break;
  case BENCH_WIDE:
    row = (int32_t)(e % m);
    break;
  case BENCH_EMPTY:
    row    = 4 * (int32_t)(e / 10);
    column = (int32_t)((row + BenchHash(e, 1) % 1000) % n);
    break;
  case BENCH_HYPERSPARSE:
    row = (int32_t)(BenchHash(e / 2, 2) % m);
    break;
  }
  keys[i] = (unsigned long long)row << 32 | (unsigned int)column;
}

__global__ void BenchKeyRows(const unsigned long long *keys, PetscCount num_keys, int32_t m, int32_t *row_offsets)
{
  const PetscCount r     = BenchIndex();
  PetscCount       begin = 0, end = num_keys;

  if (r > m) return;
  while (begin < end) {
    const PetscCount middle = (begin + end) / 2;

    if (keys[middle] < (unsigned long long)r << 32) begin = middle + 1;
    else end = middle;
  }
  row_offsets[r] = (int32_t)begin;
}

__global__ void BenchKeyColumns(const unsigned long long *keys, PetscCount num_keys, int32_t *columns)
{
  const PetscCount i = BenchIndex();

  if (i < num_keys) columns[i] = (int32_t)(keys[i] & 0xffffffffull);
}

__global__ void BenchRandom(PetscCount n, unsigned long long seed, PetscScalar *v)
{
  const PetscCount i = BenchIndex();

  if (i < n) v[i] = PetscScalar((PetscReal)(2.0 * BenchUniform(i, seed) - 1.0));
}

__global__ void BenchFill(PetscCount n, PetscScalar value, PetscScalar *v)
{
  const PetscCount i = BenchIndex();

  if (i < n) v[i] = value;
}

/* BenchVectorSet - every entry of a device vector becomes value */
PetscErrorCode BenchVectorSet(PetscCount n, PetscScalar value, PetscScalar v[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  BenchFill<<<BenchGrid(n), BENCH_THREADS, 0, stream>>>(n, value, v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchVectorRandom(PetscCount n, PetscInt seed, PetscScalar v[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  BenchRandom<<<BenchGrid(n), BENCH_THREADS, 0, stream>>>(n, 1000 + (unsigned long long)seed, v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchVectorCreate - a device vector of random entries in [-1, 1]; free it with PetscSparseCUDAFree() */
PetscErrorCode BenchVectorCreate(PetscCount n, PetscInt seed, cudaStream_t stream, PetscScalar **v)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "benchmark vector", stream, v));
  PetscCall(BenchVectorRandom(n, seed, *v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocates columns and values of a view whose number of nonzeros is known, the values random. */
static PetscErrorCode BenchMatrixAllocate(DCSRView *view, cudaStream_t stream)
{
  PetscFunctionBegin;
  view->capacity = view->used = view->num_nonzeros;
  PetscCall(PetscSparseCUDAMalloc(view->num_nonzeros, "benchmark columns", stream, &view->columns));
  PetscCall(BenchVectorCreate(view->num_nonzeros, 1, stream, &view->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchStencilCreate(BenchStencil s, cudaStream_t stream, DCSRView *view)
{
  const int32_t num_rows = s.nx * s.ny * s.nz * s.dof;
  int32_t      *row_offsets, last;
  char         *work;
  size_t        bytes = 0;

  PetscFunctionBegin;
  view->num_rows = view->num_columns = num_rows;
  PetscCall(PetscSparseCUDAMalloc((PetscCount)num_rows + 1, "benchmark row offsets", stream, &row_offsets));
  view->row_offsets = row_offsets;
  BenchStencilCount<<<BenchGrid((PetscCount)num_rows + 1), BENCH_THREADS, 0, stream>>>(s, num_rows, row_offsets);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cub::DeviceScan::ExclusiveSum(NULL, bytes, row_offsets, row_offsets, num_rows + 1, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "benchmark scan", stream, &work));
  PetscCallCUDA(cub::DeviceScan::ExclusiveSum(work, bytes, row_offsets, row_offsets, num_rows + 1, stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCallCUDA(cudaMemcpyAsync(&last, row_offsets + num_rows, sizeof(last), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  view->num_nonzeros = last;
  PetscCall(BenchMatrixAllocate(view, stream));
  BenchStencilFill<<<BenchGrid(num_rows), BENCH_THREADS, 0, stream>>>(s, num_rows, row_offsets, view->columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMatrixFromKeys - the matrix of the entries that a list of keys names (benchkeys.h), duplicates once, with random values; keys of all bits name none. The list is freed. */
PetscErrorCode BenchMatrixFromKeys(PetscInt m, PetscInt n, PetscCount num_keys, unsigned long long *keys, cudaStream_t stream, DCSRView *view)
{
  int32_t           *row_offsets;
  unsigned long long last = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(view, 1));
  view->num_rows    = m;
  view->num_columns = n;
  PetscCall(BenchKeysSort(&keys, &num_keys, stream));
  if (num_keys > 0) PetscCallCUDA(cudaMemcpyAsync(&last, keys + num_keys - 1, sizeof(last), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (last == ~0ull) num_keys--;
  view->num_nonzeros = num_keys;
  PetscCall(PetscSparseCUDAMalloc((PetscCount)m + 1, "benchmark row offsets", stream, &row_offsets));
  view->row_offsets = row_offsets;
  BenchKeyRows<<<BenchGrid((PetscCount)m + 1), BENCH_THREADS, 0, stream>>>(keys, num_keys, (int32_t)m, row_offsets);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(BenchMatrixAllocate(view, stream));
  BenchKeyColumns<<<BenchGrid(num_keys), BENCH_THREADS, 0, stream>>>(keys, num_keys, view->columns);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAFree(&keys, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchPatternCreate(BenchPattern pattern, int32_t m, int32_t n, PetscCount num_keys, cudaStream_t stream, DCSRView *view)
{
  unsigned long long *keys;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num_keys, "benchmark keys", stream, &keys));
  BenchKeys<<<BenchGrid(num_keys), BENCH_THREADS, 0, stream>>>(pattern, m, n, num_keys, keys);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(BenchMatrixFromKeys(m, n, num_keys, keys, stream, view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchMeshCreate(BenchMesh mesh, cudaStream_t stream, DCSRView *view)
{
  const int32_t       m = BenchMeshRows(mesh);
  unsigned long long *keys;
  PetscCount          num_keys;

  PetscFunctionBegin;
  PetscCall(BenchMeshKeys(mesh, stream, &keys, &num_keys));
  PetscCall(BenchMatrixFromKeys(m, m, num_keys, keys, stream, view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every case: a stencil when nx > 0, a mesh when it has points, else a pattern of m x n with so many entries drawn. */
typedef struct {
  const char  *what;
  PetscBool    irregular;
  BenchStencil stencil;
  BenchPattern pattern;
  int32_t      m, n;
  PetscCount   entries;
  BenchMesh    mesh;
} BenchCase;

static const char *const BenchNames[] = {"2d5-4096", "3d7-256", "3d27-200", "elast3-80", "rmat20", "uniform4m", "band4", "2d5-1024", "3d7-128", "3d7-64", "3d27-32", "3d27-16", "longrow", "powerlaw",
                                         "tall", "wide", "empty", "hypersparse",
                                         /* operands of products and sums, not in the tables of the matrix-vector product */
                                         "2d9-1024", "3d27-128", "3d27-64", "elast3-40", "rmat16", "uniform500k", "identity", "permutation", "blockdiagonal", "denserows", "densecolumns", "skewed",
                                         "tall20k", "shell6-200", "elast6-24", "elast3-100",
                                         /* meshes out of order, for hisparse */
                                         "mort27-128", "perm27-128", "rgg15-2M", "rgg15x3"};
#define BENCH_NUM_EXTRA 20
static const BenchCase BenchCases[] = {{"5-point stencil, 4096^2", PETSC_FALSE, {4096, 4096, 1, 1, true}, BENCH_RMAT, 0, 0, 0},
                                       {"7-point stencil, 256^3", PETSC_FALSE, {256, 256, 256, 1, true}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 200^3", PETSC_FALSE, {200, 200, 200, 1, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 3 unknowns, 80^3", PETSC_FALSE, {80, 80, 80, 3, false}, BENCH_RMAT, 0, 0, 0},
                                       {"R-MAT, scale 20, edge factor 16", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_RMAT, 1 << 20, 1 << 20, 16 << 20},
                                       {"4 M rows of 16 random entries", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_UNIFORM, 4000000, 4000000, 64000000},
                                       {"3 M rows, band, random, 4 half full", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_BAND4, 3000000, 3000000, 5 * 3000000 + 4 * 3000000 / 7 + 4 * 1500000},
                                       {"5-point stencil, 1024^2", PETSC_FALSE, {1024, 1024, 1, 1, true}, BENCH_RMAT, 0, 0, 0},
                                       {"7-point stencil, 128^3", PETSC_FALSE, {128, 128, 128, 1, true}, BENCH_RMAT, 0, 0, 0},
                                       {"7-point stencil, 64^3", PETSC_FALSE, {64, 64, 64, 1, true}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 32^3", PETSC_FALSE, {32, 32, 32, 1, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 16^3", PETSC_FALSE, {16, 16, 16, 1, false}, BENCH_RMAT, 0, 0, 0},
                                       {"10 M rows of 3, one of 10 M", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_LONGROW, 10000000, 10000000, 40000000},
                                       {"1 M rows, sizes by a power law", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_POWERLAW, 1 << 20, 1 << 20, 16 << 20},
                                       {"8 M rows of 3, 100 columns", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_TALL, 8000000, 100, 24000000},
                                       {"1000 rows of 10 k, 4 M columns", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_WIDE, 1000, 4000000, 10000000},
                                       {"16 M rows, one in 4 has 10, near band", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_EMPTY, 16000000, 16000000, 40000000},
                                       {"16 M rows, 200 k entries", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_HYPERSPARSE, 16000000, 200000, 200000},
                                       {"9-point stencil, 1024^2", PETSC_FALSE, {1024, 1024, 1, 1, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 128^3", PETSC_FALSE, {128, 128, 128, 1, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 64^3", PETSC_FALSE, {64, 64, 64, 1, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 3 unknowns, 40^3", PETSC_FALSE, {40, 40, 40, 3, false}, BENCH_RMAT, 0, 0, 0},
                                       {"R-MAT, scale 16, edge factor 8", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_RMAT16, 1 << 16, 1 << 16, 8 << 16},
                                       {"500 k rows of 16 random entries", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_UNIFORM, 500000, 500000, 8000000},
                                       {"identity, 1 M rows", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_DIAGONAL, 1 << 20, 1 << 20, 1 << 20},
                                       {"permutation, 1 M rows", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_PERMUTATION, 1 << 20, 1 << 20, 1 << 20},
                                       {"dense blocks of 32, 262 k rows", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_BLOCKS, 1 << 18, 1 << 18, 32 << 18},
                                       {"100 k rows of 3, 4 of 20 k", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_DENSEROWS, 100000, 100000, 380000},
                                       {"500 k rows of 3, 2 full columns", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_DENSECOLUMNS, 500000, 500000, 2500000},
                                       {"131 k rows, sizes by a power law", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_POWERLAW, 1 << 17, 1 << 17, 1 << 20},
                                       {"20 k rows of 3, 1000 columns", PETSC_TRUE, {0, 0, 0, 0, false}, BENCH_TALL, 20000, 1000, 60000},
                                       {"9-point stencil, 6 unknowns, 200^2", PETSC_FALSE, {200, 200, 1, 6, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 6 unknowns, 24^3", PETSC_FALSE, {24, 24, 24, 6, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 3 unknowns, 100^3", PETSC_FALSE, {100, 100, 100, 3, false}, BENCH_RMAT, 0, 0, 0},
                                       {"27-point stencil, 128^3, Morton order", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_RMAT, 0, 0, 0, {BENCH_MESH_MORTON, 128, 1}},
                                       {"27-point stencil, 128^3, each 64 rows at random", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_RMAT, 0, 0, 0, {BENCH_MESH_SHUFFLED, 128, 1}},
                                       {"random geometric graph, 2 M points, Morton order", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_RMAT, 0, 0, 0, {BENCH_MESH_GEOMETRIC, 2000000, 1}},
                                       {"the same with 500 k points, 3 unknowns", PETSC_FALSE, {0, 0, 0, 0, false}, BENCH_RMAT, 0, 0, 0, {BENCH_MESH_GEOMETRIC, 500000, 3}}};

/* BenchMatrixGetNames - the names of the cases of the matrix-vector product */
PetscErrorCode BenchMatrixGetNames(PetscInt *n, const char *const **names)
{
  PetscFunctionBegin;
  *n     = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(BenchNames) - BENCH_NUM_EXTRA;
  *names = BenchNames;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMatrixCreate - generates the case of that name on the device; free it with BenchMatrixDestroy(). A failure ends the benchmark: nothing is freed. */
PetscErrorCode BenchMatrixCreate(const char name[], cudaStream_t stream, BenchMatrix *matrix)
{
  PetscInt found = -1;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(BenchNames); i++) {
    PetscBool same;

    PetscCall(PetscStrcmp(name, BenchNames[i], &same));
    if (same) found = i;
  }
  PetscCheck(found >= 0, PETSC_COMM_SELF, PETSC_ERR_USER, "No benchmark case %s", name);
  PetscCall(PetscMemzero(matrix, sizeof(*matrix)));
  matrix->name      = BenchNames[found];
  matrix->what      = BenchCases[found].what;
  matrix->irregular = BenchCases[found].irregular;
  matrix->block     = PetscMax(1, PetscMax(BenchCases[found].stencil.dof, BenchCases[found].mesh.dof));
  if (BenchCases[found].stencil.nx > 0) PetscCall(BenchStencilCreate(BenchCases[found].stencil, stream, &matrix->view));
  else if (BenchCases[found].mesh.n > 0) PetscCall(BenchMeshCreate(BenchCases[found].mesh, stream, &matrix->view));
  else PetscCall(BenchPatternCreate(BenchCases[found].pattern, BenchCases[found].m, BenchCases[found].n, BenchCases[found].entries, stream, &matrix->view));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMatrixDestroy - frees the arrays of a matrix */
PetscErrorCode BenchMatrixDestroy(BenchMatrix *matrix, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&matrix->view.values, stream));
  PetscCall(PetscSparseCUDAFree(&matrix->view.columns, stream));
  PetscCall(PetscSparseCUDAFree(&matrix->view.row_offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
