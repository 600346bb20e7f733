/*
  The floors of the forward product; see spmvfloor.h.
*/
#include "spmvfloor.h"

template <int VEC, typename T>
__device__ __forceinline__ void FloorLoad(const T *p, T *v)
{
#pragma unroll
  for (int i = 0; i < VEC; i++) v[i] = __ldcs(p + i);
}

/* Two consecutive entries at once where the scalar is a real double. */
template <>
__device__ __forceinline__ void FloorLoad<2, double>(const double *p, double *v)
{
  const double2 w = __ldcs((const double2 *)p);

  v[0] = w.x;
  v[1] = w.y;
}

template <>
__device__ __forceinline__ void FloorLoad<2, int32_t>(const int32_t *p, int32_t *v)
{
  const int2 w = __ldcs((const int2 *)p);

  v[0] = w.x;
  v[1] = w.y;
}

/* A tile of THREADS x ITEMS nonzeros a block; the sum is only written when it cannot be. */
template <int THREADS, int ITEMS, int VEC>
__global__ void __launch_bounds__(THREADS) FloorKernel(const double *values, const int32_t *columns, PetscCount n, const double *x, double *never)
{
  const PetscCount base = (PetscCount)blockIdx.x * THREADS * ITEMS + (PetscCount)threadIdx.x * VEC;
  int32_t          c[ITEMS];
  double           v[ITEMS], sum = 0.0;

#pragma unroll
  for (int j = 0; j < ITEMS; j += VEC) {
    const PetscCount k = base + (PetscCount)j * THREADS;

    if (k + VEC <= n) {
      FloorLoad<VEC>(columns + k, c + j);
      FloorLoad<VEC>(values + k, v + j);
    } else {
      for (int i = 0; i < VEC; i++) c[j + i] = 0, v[j + i] = 0.0;
    }
  }
#pragma unroll
  for (int j = 0; j < ITEMS; j++) sum += v[j] * __ldg(x + c[j]);
  if (sum == 1.2345678901234567e300) *never = sum;
}

typedef struct {
  DCSRView      view;
  const double *x;
  double       *never;
  void (*kernel)(const double *, const int32_t *, PetscCount, const double *, double *);
  int threads, items;
} FloorContext;

static PetscErrorCode FloorRun(void *ctx, cudaStream_t stream)
{
  FloorContext    *f    = (FloorContext *)ctx;
  const PetscCount tile = (PetscCount)f->threads * f->items;

  PetscFunctionBegin;
  (*f->kernel)<<<(unsigned int)((f->view.num_nonzeros + tile - 1) / tile), f->threads, 0, stream>>>((const double *)f->view.values, f->view.columns, f->view.num_nonzeros, f->x, f->never);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FLOOR_SHAPE(t, i, v) \
  { \
    FloorKernel<t, i, v>, t, i \
  }
static const struct {
  void (*kernel)(const double *, const int32_t *, PetscCount, const double *, double *);
  int threads, items;
} FloorShapes[] = {FLOOR_SHAPE(128, 2, 1), FLOOR_SHAPE(128, 4, 1), FLOOR_SHAPE(128, 8, 1),  FLOOR_SHAPE(256, 2, 1), FLOOR_SHAPE(256, 4, 1), FLOOR_SHAPE(256, 8, 1),
                   FLOOR_SHAPE(128, 4, 2), FLOOR_SHAPE(128, 8, 2), FLOOR_SHAPE(128, 16, 2), FLOOR_SHAPE(256, 4, 2), FLOOR_SHAPE(256, 8, 2), FLOOR_SHAPE(512, 4, 2)};

/* SpMVFloorGather - microseconds of the fastest launch shape; real double precision only */
PetscErrorCode SpMVFloorGather(BenchTimer *timer, PetscBool cold, DCSRView view, const PetscScalar x[], PetscReal *us)
{
  FloorContext f = {view, (const double *)x, (double *)timer->flush, NULL, 0, 0};

  PetscFunctionBegin;
  *us = PETSC_MAX_REAL;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(FloorShapes); i++) {
    PetscReal t;

    f.kernel  = FloorShapes[i].kernel;
    f.threads = FloorShapes[i].threads;
    f.items   = FloorShapes[i].items;
    PetscCall(BenchTimerMeasure(timer, cold, FloorRun, &f, &t));
    *us = PetscMin(*us, t);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
