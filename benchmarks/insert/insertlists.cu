/*
  Generators of lists of entries; see insertlists.h.
*/
#include "insertlists.h"
#include "../common/benchmatrix.h"
#include "../common/benchrandom.cuh"
#include "../../tutorials/fem/fem.h"
#include <cub/device/device_radix_sort.cuh>

#define INSERT_THREADS 256

static inline unsigned int InsertGrid(PetscCount n)
{
  return (unsigned int)((n + INSERT_THREADS - 1) / INSERT_THREADS);
}

__device__ __forceinline__ PetscCount InsertIndex(void)
{
  return (PetscCount)blockIdx.x * INSERT_THREADS + threadIdx.x;
}

static PetscErrorCode ListAllocate(PetscInt num_rows, PetscInt num_columns, PetscCount n, PetscInt seed, cudaStream_t stream, InsertList *list)
{
  PetscFunctionBegin;
  list->num_rows    = num_rows;
  list->num_columns = num_columns;
  list->n           = n;
  PetscCall(PetscSparseCUDAMalloc(n, "rows of a list", stream, &list->i));
  PetscCall(PetscSparseCUDAMalloc(n, "columns of a list", stream, &list->j));
  PetscCall(BenchVectorCreate(n, seed, stream, &list->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertListDestroy - frees a list */
PetscErrorCode InsertListDestroy(InsertList *list, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&list->i, stream));
  PetscCall(PetscSparseCUDAFree(&list->j, stream));
  PetscCall(PetscSparseCUDAFree(&list->v, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neighbors of x on a line of n points, itself included, and those of all points before x. */
__device__ __forceinline__ PetscCount LineCount(PetscInt n, PetscInt x)
{
  return 3 - (x == 0) - (x == n - 1);
}

__device__ __forceinline__ PetscCount LineBefore(PetscInt x)
{
  return 3 * (PetscCount)x - (x > 0);
}

__global__ void Stencil27Kernel(PetscInt n, PetscInt *i, PetscInt *j)
{
  const PetscCount r = InsertIndex();
  const PetscInt   x = (PetscInt)(r % n), y = (PetscInt)(r / n % n), z = (PetscInt)(r / n / n);
  const PetscCount total = 3 * (PetscCount)n - 2; // of a line
  PetscCount       k;

  if (z >= n) return;
  k = LineBefore(z) * total * total + LineCount(n, z) * (LineBefore(y) * total + LineCount(n, y) * LineBefore(x));
  for (int away = 3; away >= 0; away--) {
    for (int dz = -1; dz <= 1; dz++)
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
          if ((dx != 0) + (dy != 0) + (dz != 0) != away) continue;
          if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 || z + dz >= n) continue;
          i[k]   = (PetscInt)r;
          j[k++] = (PetscInt)(r + dx + (PetscCount)n * (dy + (PetscCount)n * dz));
        }
  }
}

/* InsertListStencil27 - see insertlists.h */
PetscErrorCode InsertListStencil27(PetscInt n, cudaStream_t stream, InsertList *list)
{
  const PetscCount line = 3 * (PetscCount)n - 2;

  PetscFunctionBegin;
  PetscCheck(n >= 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "A grid of %" PetscInt_FMT "^3 points is too small: at least 2", n);
  PetscCall(ListAllocate(n * n * n, n * n * n, line * line * line, 1, stream, list));
  Stencil27Kernel<<<InsertGrid((PetscCount)n * n * n), INSERT_THREADS, 0, stream>>>(n, list->i, list->j);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void TorusKernel(int dimensions, PetscCount side, PetscCount num_rows, PetscInt *i, PetscInt *j)
{
  const PetscCount r = InsertIndex(), before = r * (2 * dimensions + 1);
  PetscCount       stride = 1;

  if (r >= num_rows) return;
  i[before] = j[before] = (PetscInt)r;
  for (int d = 0; d < dimensions; d++, stride *= side) {
    const PetscCount x = r / stride % side;

    for (int s = 0; s < 2; s++) {
      i[before + 2 * d + s + 1] = (PetscInt)r;
      j[before + 2 * d + s + 1] = (PetscInt)(r + stride * ((x + (s ? 1 : side - 1)) % side - x));
    }
  }
}

/* InsertListTorus - see insertlists.h */
PetscErrorCode InsertListTorus(int dimensions, PetscInt side, cudaStream_t stream, InsertList *list)
{
  const PetscCount num_rows = dimensions == 2 ? (PetscCount)side * side : (PetscCount)side * side * side;

  PetscFunctionBegin;
  PetscCall(ListAllocate((PetscInt)num_rows, (PetscInt)num_rows, num_rows * (2 * dimensions + 1), 1, stream, list));
  TorusKernel<<<InsertGrid(num_rows), INSERT_THREADS, 0, stream>>>(dimensions, side, num_rows, list->i, list->j);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void HashKernel(PetscCount n, unsigned long long *hashes, PetscInt *numbers)
{
  const PetscCount k = InsertIndex();

  if (k >= n) return;
  hashes[k]  = BenchHash(k, 5);
  numbers[k] = (PetscInt)k;
}

/* Random numbers of n nodes: the order of their hashes. */
static PetscErrorCode PermutationCreate(PetscCount n, cudaStream_t stream, PetscInt **permutation)
{
  unsigned long long *hashes, *sorted;
  PetscInt           *numbers;
  char               *work;
  size_t              bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(n, "node hashes", stream, &hashes));
  PetscCall(PetscSparseCUDAMalloc(n, "sorted node hashes", stream, &sorted));
  PetscCall(PetscSparseCUDAMalloc(n, "nodes", stream, &numbers));
  PetscCall(PetscSparseCUDAMalloc(n, "node numbers", stream, permutation));
  HashKernel<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(n, hashes, numbers);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cub::DeviceRadixSort::SortPairs(NULL, bytes, hashes, sorted, numbers, *permutation, n, 0, 64, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "sort of node hashes", stream, &work));
  PetscCallCUDA(cub::DeviceRadixSort::SortPairs(work, bytes, hashes, sorted, numbers, *permutation, n, 0, 64, stream));
  PetscCall(PetscSparseCUDAFree(&work, stream));
  PetscCall(PetscSparseCUDAFree(&numbers, stream));
  PetscCall(PetscSparseCUDAFree(&sorted, stream));
  PetscCall(PetscSparseCUDAFree(&hashes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Corner k % 8 of element k / 8 in the numbering of the mesh. */
__global__ void ElementNodesKernel(PetscInt n, PetscCount num, const PetscInt *permutation, PetscInt *nodes)
{
  const PetscCount k = InsertIndex(), e = k / 8;
  const PetscCount x = e % n + (k & 1), y = e / n % n + (k >> 1 & 1), z = e / n / n + (k >> 2 & 1);

  if (k < num) nodes[k] = permutation[x + (n + 1) * (y + (n + 1) * z)];
}

/* InsertMeshHexahedra - see insertlists.h */
PetscErrorCode InsertMeshHexahedra(PetscInt n, cudaStream_t stream, PetscInt **nodes)
{
  const PetscCount num = 8 * (PetscCount)n * n * n;
  PetscInt        *permutation;

  PetscFunctionBegin;
  PetscCall(PermutationCreate((PetscCount)(n + 1) * (n + 1) * (n + 1), stream, &permutation));
  PetscCall(PetscSparseCUDAMalloc(num, "nodes of elements", stream, nodes));
  ElementNodesKernel<<<InsertGrid(num), INSERT_THREADS, 0, stream>>>(n, num, permutation, *nodes);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAFree(&permutation, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread a row of an element matrix. */
__global__ void HexahedraKernel(PetscInt n, PetscCount num_rows, const PetscInt *nodes, PetscInt *i, PetscInt *j, PetscScalar *v)
{
  const PetscCount r = InsertIndex();
  PetscScalar      row[8];

  if (r >= num_rows) return;
  ElementMatrixRow(n, (PetscInt)(r / 8), (int)(r % 8), row);
  for (int b = 0; b < 8; b++) {
    i[8 * r + b] = nodes[r];
    j[8 * r + b] = nodes[r / 8 * 8 + b];
    v[8 * r + b] = row[b];
  }
}

/* InsertListHexahedra - see insertlists.h */
PetscErrorCode InsertListHexahedra(PetscInt n, const PetscInt nodes[], cudaStream_t stream, InsertList *list)
{
  const PetscInt   num_nodes = (n + 1) * (n + 1) * (n + 1);
  const PetscCount num_rows  = 8 * (PetscCount)n * n * n;

  PetscFunctionBegin;
  PetscCall(ListAllocate(num_nodes, num_nodes, 8 * num_rows, 2, stream, list));
  HexahedraKernel<<<InsertGrid(num_rows), INSERT_THREADS, 0, stream>>>(n, num_rows, nodes, list->i, list->j, list->v);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void RMATKernel(int levels, PetscCount first, PetscCount n, PetscInt *i, PetscInt *j)
{
  const PetscCount k = InsertIndex();
  int32_t          row, column;

  if (k >= n) return;
  BenchRMAT(first + k, levels, &row, &column);
  i[k] = row;
  j[k] = column;
}

/* InsertListRMAT - see insertlists.h */
PetscErrorCode InsertListRMAT(int levels, PetscCount first, PetscCount n, cudaStream_t stream, InsertList *list)
{
  PetscFunctionBegin;
  PetscCall(ListAllocate((PetscInt)1 << levels, (PetscInt)1 << levels, n, 3, stream, list));
  RMATKernel<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(levels, first, n, list->i, list->j);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void UniformKernel(PetscInt num_rows, PetscInt num_columns, PetscCount first, PetscCount n, PetscInt *i, PetscInt *j)
{
  const PetscCount k = InsertIndex();

  if (k >= n) return;
  i[k] = (PetscInt)(BenchHash(first + k, 3) % (unsigned long long)num_rows);
  j[k] = (PetscInt)(BenchHash(first + k, 4) % (unsigned long long)num_columns);
}

/* InsertListUniform - see insertlists.h */
PetscErrorCode InsertListUniform(PetscInt num_rows, PetscInt num_columns, PetscCount first, PetscCount n, cudaStream_t stream, InsertList *list)
{
  PetscFunctionBegin;
  PetscCall(ListAllocate(num_rows, num_columns, n, 4, stream, list));
  UniformKernel<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(num_rows, num_columns, first, n, list->i, list->j);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void RowsKernel(PetscInt row_size, PetscInt width, bool descending, PetscCount n, PetscInt *i, PetscInt *j)
{
  const PetscCount k = InsertIndex();
  const PetscInt   l = descending ? row_size - 1 - (PetscInt)(k % row_size) : (PetscInt)(k % row_size);

  if (k >= n) return;
  i[k] = (PetscInt)(k / row_size);
  j[k] = l * width + (PetscInt)(BenchHash(k, 6) % (unsigned long long)width);
}

/* InsertListRows - see insertlists.h */
PetscErrorCode InsertListRows(PetscInt num_rows, PetscInt num_columns, PetscInt row_size, PetscBool descending, cudaStream_t stream, InsertList *list)
{
  const PetscCount n = (PetscCount)num_rows * row_size;

  PetscFunctionBegin;
  PetscCheck(row_size <= num_columns, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Rows of %" PetscInt_FMT " entries in %" PetscInt_FMT " columns", row_size, num_columns);
  PetscCall(ListAllocate(num_rows, num_columns, n, 5, stream, list));
  RowsKernel<<<InsertGrid(n), INSERT_THREADS, 0, stream>>>(row_size, num_columns / row_size, descending, n, list->i, list->j);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
