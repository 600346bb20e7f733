/*
  Bounds of the transpose product; see spmvtfloor.h. Double precision, real.
*/
#include "spmvtfloor.h"
#include <cub/device/device_radix_sort.cuh>

namespace
{

const int WORD    = 32;  // nonzeros of a word of marks
const int THREADS = 256; // of the kernels that make marks

/* A nonzero or two next to each other. */
template <int Vec>
__device__ __forceinline__ void Load(const PetscReal *values, const int32_t *columns, PetscReal *v, int32_t *c)
{
  if (Vec == 2) {
    const double2 w = __ldcs((const double2 *)values);
    const int2    d = __ldcs((const int2 *)columns);

    v[0]       = w.x;
    v[Vec - 1] = w.y;
    c[0]       = d.x;
    c[Vec - 1] = d.y;
  } else {
    v[0] = __ldcs(values);
    c[0] = __ldcs(columns);
  }
}

/* marks: only nonzeros whose bit is set are added; NULL: all are. What is loaded is used in any case. */
template <int Items, int Vec>
__global__ void ScatterKernel(PetscCount n, const PetscReal *values, const int32_t *columns, const uint32_t *marks, PetscReal *y)
{
  const PetscCount first = (PetscCount)blockIdx.x * blockDim.x * Items + (PetscCount)threadIdx.x * Vec;
  PetscReal        value[Items], others = 0;
  int32_t          column[Items];
  bool             added[Items];

#pragma unroll
  for (int i = 0; i < Items; i += Vec) {
    const PetscCount k = first + (PetscCount)i * blockDim.x;

    if (k + Vec <= n) Load<Vec>(values + k, columns + k, value + i, column + i);
    for (int j = i; j < i + Vec; j++) added[j] = k + Vec <= n;
    if (marks && k + Vec <= n) {
      const uint32_t word = __ldg(marks + k / WORD);

      for (int j = i; j < i + Vec; j++) added[j] = word >> (k % WORD + j - i) & 1;
    }
    for (int j = i; j < i + Vec; j++) others += k + Vec <= n && !added[j] ? value[j] * (PetscReal)column[j] : 0;
  }
#pragma unroll
  for (int i = 0; i < Items; i++)
    if (added[i]) atomicAdd(y + column[i], value[i]);
  if (others == 1.2345678901234567e300) y[0] = others; // never: the loads are not left out
}

typedef void ScatterFn(PetscCount, const PetscReal *, const int32_t *, const uint32_t *, PetscReal *);

struct Shape {
  int        threads, items;
  ScatterFn *kernel;
};
const Shape SHAPES[] = {{128, 1, ScatterKernel<1, 1>}, {128, 4, ScatterKernel<4, 1>}, {256, 1, ScatterKernel<1, 1>}, {256, 2, ScatterKernel<2, 1>},
                        {256, 4, ScatterKernel<4, 1>}, {256, 8, ScatterKernel<8, 1>}, {512, 2, ScatterKernel<2, 1>}, {512, 4, ScatterKernel<4, 1>},
                        {128, 2, ScatterKernel<2, 2>}, {256, 2, ScatterKernel<2, 2>}, {256, 4, ScatterKernel<4, 2>}, {512, 4, ScatterKernel<4, 2>}};

/* Nonzeros of tiles, up to more than the shared memory of a multiprocessor has room for. */
const PetscCount TILES[] = {8192, 32768};

struct Run {
  Shape        shape;
  DCSRView     view;
  uint32_t    *marks;
  PetscScalar *y;
};

PetscErrorCode ScatterRun(void *ctx, cudaStream_t stream)
{
  const Run         *r = (Run *)ctx;
  const PetscCount   n = r->view.num_nonzeros, block = (PetscCount)r->shape.threads * r->shape.items;
  const unsigned int blocks = (unsigned int)((n + block - 1) / block);

  PetscFunctionBegin;
  if (blocks > 0) r->shape.kernel<<<blocks, r->shape.threads, 0, stream>>>(n, (const PetscReal *)r->view.values, r->view.columns, r->marks, (PetscReal *)r->y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BestShape(BenchTimer *timer, PetscBool cold, Run *r, PetscReal *us)
{
  PetscFunctionBegin;
  *us = PETSC_MAX_REAL;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(SHAPES); i++) {
    PetscReal t;

    r->shape = SHAPES[i];
    PetscCall(BenchTimerMeasure(timer, cold, ScatterRun, r, &t));
    *us = PetscMin(*us, t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ void TileKeys(PetscCount n, PetscCount tile, int column_bits, const int32_t *columns, uint64_t *keys, uint32_t *positions)
{
  const PetscCount k = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (k >= n) return;
  keys[k]      = (uint64_t)(k / tile) << column_bits | (uint64_t)columns[k];
  positions[k] = (uint32_t)k;
}

__global__ void MarkFirst(PetscCount n, const uint64_t *keys, const uint32_t *positions, uint32_t *marks)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i < n && (i == 0 || keys[i] != keys[i - 1])) atomicOr(marks + positions[i] / WORD, 1u << positions[i] % WORD);
}

int NumBits(PetscCount n)
{
  int bits = 1;

  while (((PetscCount)1 << bits) < n) bits++;
  return bits;
}

/* A bit for one nonzero of each distinct column of each tile. */
PetscErrorCode CreateMarks(DCSRView view, PetscCount tile, cudaStream_t stream, uint32_t **marks)
{
  const PetscCount   n = view.num_nonzeros, words = n / WORD + 1;
  const unsigned int blocks      = (unsigned int)((n + THREADS - 1) / THREADS);
  const int          column_bits = NumBits(view.num_columns), bits = column_bits + NumBits(n / tile + 1);
  uint64_t          *keys[2];
  uint32_t          *positions[2];
  char              *work;
  size_t             bytes = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(words, "marks of nonzeros", stream, marks));
  PetscCallCUDA(cudaMemsetAsync(*marks, 0, (size_t)words * sizeof(**marks), stream));
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAMalloc(n, "keys of tiles", stream, &keys[k]));
    PetscCall(PetscSparseCUDAMalloc(n, "positions of nonzeros", stream, &positions[k]));
  }
  TileKeys<<<blocks, THREADS, 0, stream>>>(n, tile, column_bits, view.columns, keys[0], positions[0]);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cub::DeviceRadixSort::SortPairs(NULL, bytes, keys[0], keys[1], positions[0], positions[1], (int64_t)n, 0, bits, stream));
  PetscCall(PetscSparseCUDAMalloc(bytes, "sort of tiles", stream, &work));
  PetscCallCUDA(cub::DeviceRadixSort::SortPairs(work, bytes, keys[0], keys[1], positions[0], positions[1], (int64_t)n, 0, bits, stream));
  MarkFirst<<<blocks, THREADS, 0, stream>>>(n, keys[1], positions[1], *marks);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscSparseCUDAFree(&work, stream));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&keys[k], stream));
    PetscCall(PetscSparseCUDAFree(&positions[k], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/* SpMVTScatterBound - see spmvtfloor.h; needs 24 bytes a nonzero for a moment */
PetscErrorCode SpMVTScatterBound(BenchTimer *timer, PetscBool cold, DCSRView view, PetscScalar y[], PetscReal us[2])
{
  Run r = {SHAPES[0], view, NULL, y};

  PetscFunctionBegin;
  PetscCall(BestShape(timer, cold, &r, us));
  us[1] = us[0];
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(TILES); k++) {
    PetscReal t;

    PetscCall(CreateMarks(view, TILES[k], timer->stream, &r.marks));
    PetscCall(BestShape(timer, cold, &r, &t));
    PetscCall(PetscSparseCUDAFree(&r.marks, timer->stream));
    us[1] = PetscMin(us[1], t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
