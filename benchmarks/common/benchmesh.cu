/*
  Graphs of meshes; see benchmesh.h. A kernel visits the neighbors of a point, first to count them and then to write their keys.
*/
#include "benchkeys.h"
#include "benchmesh.h"
#include "benchrandom.cuh"
#include <cub/device/device_scan.cuh>

#define BENCH_THREADS     256
#define BENCH_WINDOW      64   /* points that BENCH_MESH_SHUFFLED shuffles */
#define BENCH_MORTON_BITS 10   /* of a coordinate, in the order of random points */
#define BENCH_MEAN_DEGREE 15.0 /* neighbors of a random point */
#define BENCH_SEED_WINDOW 77
#define BENCH_SEED_POINTS 5

static inline unsigned int BenchGrid(PetscCount n)
{
  return (unsigned int)((n + BENCH_THREADS - 1) / BENCH_THREADS);
}

__device__ __forceinline__ PetscCount BenchIndex(void)
{
  return (PetscCount)blockIdx.x * BENCH_THREADS + threadIdx.x;
}

/* The bits of three coordinates in turn (Morton 1966). */
__device__ __forceinline__ int32_t BenchMorton(int32_t x, int32_t y, int32_t z)
{
  int32_t code = 0;

  for (int b = 0; b < BENCH_MORTON_BITS; b++) code |= (x >> b & 1) << (3 * b) | (y >> b & 1) << (3 * b + 1) | (z >> b & 1) << (3 * b + 2);
  return code;
}

/* Where a point goes inside of its window: the number of points there whose random number is smaller. Windows are full: n^3 is a multiple. */
__device__ __forceinline__ int32_t BenchShuffled(int32_t point)
{
  const int32_t            begin    = point / BENCH_WINDOW * BENCH_WINDOW;
  const unsigned long long mine     = BenchHash(point, BENCH_SEED_WINDOW);
  int32_t                  position = begin;

  for (int32_t p = begin; p < begin + BENCH_WINDOW; p++) position += BenchHash(p, BENCH_SEED_WINDOW) < mine;
  return position;
}

/* A 27-point stencil: points are visited in the order of the grid, and have numbers in another one. */
struct BenchBoxMesh {
  int32_t        n;
  const int32_t *numbers; /* [n^3] device */

  __device__ int32_t Number(int32_t point) const { return numbers[point]; }

  template <typename Visit>
  __device__ void Neighbors(int32_t point, Visit visit) const
  {
    const int32_t x = point % n, y = point / n % n, z = point / n / n;

    for (int32_t w = max(z - 1, 0); w <= min(z + 1, n - 1); w++)
      for (int32_t v = max(y - 1, 0); v <= min(y + 1, n - 1); v++)
        for (int32_t u = max(x - 1, 0); u <= min(x + 1, n - 1); u++) visit(numbers[u + n * (v + n * w)]);
  }
};

/* Points nearer than a distance. They are sorted by the cells of a grid that are not smaller than it, in Morton order: neighbors lie in the 27 cells around. */
struct BenchPointMesh {
  int            levels; /* the grid has 2^levels cells in each direction */
  double         distance;
  const double  *points; /* [3 n] device, in order */
  const int32_t *cells;  /* [8^levels + 1] device: the first point of each cell */

  __device__ int32_t Number(int32_t point) const { return point; }
  __device__ int32_t Cell(int32_t point, int d) const { return (int32_t)(points[3 * (PetscCount)point + d] * (1 << levels)); }

  template <typename Visit>
  __device__ void Neighbors(int32_t point, Visit visit) const
  {
    const int32_t last = (1 << levels) - 1, x = Cell(point, 0), y = Cell(point, 1), z = Cell(point, 2);
    const double *a = points + 3 * (PetscCount)point;

    for (int32_t w = max(z - 1, 0); w <= min(z + 1, last); w++)
      for (int32_t v = max(y - 1, 0); v <= min(y + 1, last); v++)
        for (int32_t u = max(x - 1, 0); u <= min(x + 1, last); u++) {
          const int32_t cell = BenchMorton(u, v, w);

          for (int32_t p = cells[cell]; p < cells[cell + 1]; p++) {
            const double *b = points + 3 * (PetscCount)p;

            // no fused operation: the distance of two points is the same from both
            if (__dadd_rn(__dadd_rn(__dmul_rn(a[0] - b[0], a[0] - b[0]), __dmul_rn(a[1] - b[1], a[1] - b[1])), __dmul_rn(a[2] - b[2], a[2] - b[2])) < distance * distance) visit(p);
          }
        }
  }
};

template <typename Mesh>
__global__ void BenchMeshCountKernel(Mesh mesh, int32_t num_points, int32_t *counts)
{
  const PetscCount p     = BenchIndex();
  int32_t          count = 0;

  if (p > num_points) return;
  if (p < num_points) mesh.Neighbors((int32_t)p, [&](int32_t) { count++; });
  counts[p] = count;
}

template <typename Mesh>
__global__ void BenchMeshKeysKernel(Mesh mesh, int32_t num_points, int32_t dof, const int32_t *offsets, unsigned long long *keys)
{
  const PetscCount p = BenchIndex();
  PetscCount       k;
  int32_t          row;

  if (p >= num_points) return;
  k   = (PetscCount)offsets[p] * dof * dof;
  row = mesh.Number((int32_t)p) * dof;
  mesh.Neighbors((int32_t)p, [&](int32_t neighbor) {
    for (int32_t d = 0; d < dof * dof; d++) keys[k++] = (unsigned long long)(row + d / dof) << 32 | (unsigned int)(neighbor * dof + d % dof);
  });
}

__global__ void BenchNumbersKernel(BenchMeshKind kind, int32_t n, int32_t num_points, int32_t *numbers)
{
  const PetscCount p = BenchIndex();

  if (p >= num_points) return;
  numbers[p] = kind == BENCH_MESH_MORTON ? BenchMorton((int32_t)p % n, (int32_t)p / n % n, (int32_t)p / n / n) : BenchShuffled((int32_t)p);
}

/* Keys of random points: the position in Morton order above, the number of the point below. */
__global__ void BenchPointKeysKernel(int32_t num_points, unsigned long long *keys)
{
  const PetscCount i = BenchIndex();
  int32_t          c[3];

  if (i >= num_points) return;
  for (int d = 0; d < 3; d++) c[d] = (int32_t)(BenchUniform(3 * i + d, BENCH_SEED_POINTS) * (1 << BENCH_MORTON_BITS));
  keys[i] = (unsigned long long)BenchMorton(c[0], c[1], c[2]) << 32 | (unsigned int)i;
}

__global__ void BenchPointsKernel(int32_t num_points, const unsigned long long *keys, double *points)
{
  const PetscCount i = BenchIndex();

  if (i >= num_points) return;
  for (int d = 0; d < 3; d++) points[3 * i + d] = BenchUniform(3 * (keys[i] & 0xffffffffull) + d, BENCH_SEED_POINTS);
}

/* The first point of every cell: all positions in a cell begin with its number. */
__global__ void BenchCellsKernel(int32_t num_points, const unsigned long long *keys, int32_t num_cells, int shift, int32_t *cells)
{
  const PetscCount c     = BenchIndex();
  int32_t          begin = 0, end = num_points;

  if (c > num_cells) return;
  while (begin < end) {
    const int32_t middle = begin + (end - begin) / 2;

    if (keys[middle] >> 32 >> shift < (unsigned long long)c) begin = middle + 1;
    else end = middle;
  }
  cells[c] = begin;
}

/* The keys of all entries, the number of neighbors counted first. */
template <typename Mesh>
static PetscErrorCode BenchMeshKeysOf(Mesh mesh, int32_t num_points, int32_t dof, cudaStream_t stream, unsigned long long **keys, PetscCount *num_keys)
{
  int32_t *offsets, last;
  char    *work;
  size_t   bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((PetscCount)num_points + 1, "benchmark neighbors", stream, &offsets));
  BenchMeshCountKernel<<<BenchGrid((PetscCount)num_points + 1), BENCH_THREADS, 0, stream>>>(mesh, num_points, offsets);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cub::DeviceScan::ExclusiveSum(NULL, bytes, offsets, offsets, num_points + 1, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "benchmark scan", stream, &work));
  PetscCallCUDA(cub::DeviceScan::ExclusiveSum(work, bytes, offsets, offsets, num_points + 1, stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCallCUDA(cudaMemcpyAsync(&last, offsets + num_points, sizeof(last), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *num_keys = (PetscCount)last * dof * dof;
  PetscCall(PetscSparseCUDAMalloc(*num_keys, "benchmark keys", stream, keys));
  BenchMeshKeysKernel<<<BenchGrid(num_points), BENCH_THREADS, 0, stream>>>(mesh, num_points, dof, offsets, *keys);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAFree(&offsets, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchBoxKeys(BenchMesh mesh, cudaStream_t stream, unsigned long long **keys, PetscCount *num_keys)
{
  const int32_t num_points = mesh.n * mesh.n * mesh.n;
  int32_t      *numbers;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num_points, "benchmark numbers of points", stream, &numbers));
  BenchNumbersKernel<<<BenchGrid(num_points), BENCH_THREADS, 0, stream>>>(mesh.kind, mesh.n, num_points, numbers);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(BenchMeshKeysOf(BenchBoxMesh{mesh.n, numbers}, num_points, mesh.dof, stream, keys, num_keys));
  PetscCall(PetscSparseCUDAFree(&numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchPointMeshKeys(BenchMesh mesh, cudaStream_t stream, unsigned long long **keys, PetscCount *num_keys)
{
  const double        distance   = cbrt(BENCH_MEAN_DEGREE / mesh.n * 3.0 / (4.0 * PETSC_PI));
  const int           levels     = (int)floor(-log2(distance));
  const int32_t       num_cells  = 1 << (3 * levels);
  PetscCount          num_points = mesh.n;
  unsigned long long *order;
  double             *points;
  int32_t            *cells;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num_points, "benchmark order of points", stream, &order));
  BenchPointKeysKernel<<<BenchGrid(num_points), BENCH_THREADS, 0, stream>>>(mesh.n, order);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(BenchKeysSort(&order, &num_points, stream));
  PetscCall(PetscSparseCUDAMalloc(3 * num_points, "benchmark points", stream, &points));
  BenchPointsKernel<<<BenchGrid(num_points), BENCH_THREADS, 0, stream>>>(mesh.n, order, points);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAMalloc((PetscCount)num_cells + 1, "benchmark cells", stream, &cells));
  BenchCellsKernel<<<BenchGrid((PetscCount)num_cells + 1), BENCH_THREADS, 0, stream>>>(mesh.n, order, num_cells, 3 * (BENCH_MORTON_BITS - levels), cells);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(BenchMeshKeysOf(BenchPointMesh{levels, distance, points, cells}, mesh.n, mesh.dof, stream, keys, num_keys));
  PetscCall(PetscSparseCUDAFree(&order, stream));
  PetscCall(PetscSparseCUDAFree(&points, stream));
  PetscCall(PetscSparseCUDAFree(&cells, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMeshRows - the number of rows, and of columns, of the matrix of a mesh */
int32_t BenchMeshRows(BenchMesh mesh)
{
  return (mesh.kind == BENCH_MESH_GEOMETRIC ? mesh.n : mesh.n * mesh.n * mesh.n) * mesh.dof;
}

/* BenchMeshKeys - see benchmesh.h. A failure ends the benchmark: nothing is freed. */
PetscErrorCode BenchMeshKeys(BenchMesh mesh, cudaStream_t stream, unsigned long long **keys, PetscCount *num_keys)
{
  PetscFunctionBegin;
  if (mesh.kind == BENCH_MESH_GEOMETRIC) PetscCall(BenchPointMeshKeys(mesh, stream, keys, num_keys));
  else PetscCall(BenchBoxKeys(mesh, stream, keys, num_keys));
  PetscFunctionReturn(PETSC_SUCCESS);
}
