/*
  The bandwidth of device memory; see benchbandwidth.h.
*/
#include "benchbandwidth.h"

#define MAX_BYTES     ((size_t)2 << 30) /* of an array: what of the last one stays in the L2 cache hardly counts */
#define MIN_BYTES     ((size_t)64 << 20)
#define NEVER         1.2345678901234567e300
#define NUM_SHAPES    8
#define LARGEST_BLOCK (1024 * 16 * sizeof(double2)) /* bytes of an array that a thread block covers at most: divides the size of arrays */

/* What one measurement moves; nothing is owned. */
typedef struct {
  char  *a, *b, *c; /* [bytes] */
  size_t bytes;
  int    threads;
  int    items; /* double2 that a thread takes */
  void (*kernel)(const double2 *, const double2 *, double2 *);
} Move;

/* Evicted first; or without a line in L1, and with the whole of 256 bytes brought into L2. */
template <bool Ahead>
__device__ __forceinline__ double2 MoveLoad(const double2 *p)
{
  double2 v;

  if (!Ahead) return __ldcs(p);
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
  return v;
}

template <int Reads, bool Writes, int Items, bool Ahead>
__global__ void MoveKernel(const double2 *a, const double2 *b, double2 *c)
{
  const PetscCount first = (PetscCount)blockIdx.x * blockDim.x * Items + threadIdx.x;
  double2          v[Items], w[Items];

#pragma unroll
  for (int i = 0; i < Items; i++) {
    v[i] = Reads > 0 ? MoveLoad<Ahead>(a + first + (PetscCount)i * blockDim.x) : make_double2(1.0, 2.0);
    w[i] = Reads > 1 ? MoveLoad<Ahead>(b + first + (PetscCount)i * blockDim.x) : make_double2(0.0, 0.0);
  }
  if (Writes) {
#pragma unroll
    for (int i = 0; i < Items; i++) __stcs(c + first + (PetscCount)i * blockDim.x, make_double2(v[i].x + 3.0 * w[i].x, v[i].y + 3.0 * w[i].y));
  } else {
    double sum = 0.0;

#pragma unroll
    for (int i = 0; i < Items; i++) sum += v[i].x + v[i].y;
    if (sum == NEVER) c[0] = make_double2(sum, sum);
  }
}

static PetscErrorCode MoveRun(void *ctx, cudaStream_t stream)
{
  const Move  *m     = (const Move *)ctx;
  const size_t block = (size_t)m->threads * (size_t)m->items * sizeof(double2);

  PetscFunctionBegin;
  (*m->kernel)<<<(unsigned int)(m->bytes / block), m->threads, 0, stream>>>((const double2 *)m->a, (const double2 *)m->b, (double2 *)m->c);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyRun(void *ctx, cudaStream_t stream)
{
  const Move *m = (const Move *)ctx;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(m->c, m->a, m->bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRun(void *ctx, cudaStream_t stream)
{
  const Move *m = (const Move *)ctx;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(m->c, 0, m->bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The best of all shapes, and of another function unless that is NULL. */
template <int Reads, bool Writes>
static PetscErrorCode MeasureMove(BenchTimer *timer, Move *m, BenchFn *other, PetscReal *bytes_us)
{
  static const int threads[NUM_SHAPES] = {128, 256, 256, 256, 512, 512, 1024, 1024}, items[NUM_SHAPES] = {8, 2, 4, 8, 2, 4, 2, 4};
  PetscReal        us, best                                                                            = PETSC_MAX_REAL;

  PetscFunctionBegin;
  for (int k = 0; k < (Reads > 0 ? 2 : 1) * NUM_SHAPES; k++) {
    m->threads = threads[k % NUM_SHAPES];
    m->items   = items[k % NUM_SHAPES];
    if (k < NUM_SHAPES) m->kernel = m->items == 2 ? MoveKernel<Reads, Writes, 2, false> : m->items == 4 ? MoveKernel<Reads, Writes, 4, false> : MoveKernel<Reads, Writes, 8, false>;
    else m->kernel = m->items == 2 ? MoveKernel<Reads, Writes, 2, true> : m->items == 4 ? MoveKernel<Reads, Writes, 4, true> : MoveKernel<Reads, Writes, 8, true>;
    PetscCall(BenchTimerMeasure(timer, PETSC_TRUE, MoveRun, m, &us));
    best = PetscMin(best, us);
  }
  if (other) {
    PetscCall(BenchTimerMeasure(timer, PETSC_TRUE, other, m, &us));
    best = PetscMin(best, us);
  }
  *bytes_us = (PetscReal)(Reads + (Writes ? 1 : 0)) * (PetscReal)m->bytes / best;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  BenchBandwidthMeasure - see benchbandwidth.h; needs 6 GiB for a moment, or a half of what is free

  All bytes are counted, although the last ones written are still in the L2 cache when the time ends: a bandwidth that is a little too large makes floors a little too low, and they stay floors.
*/
PetscErrorCode BenchBandwidthMeasure(BenchTimer *timer, BenchBandwidth *bandwidth)
{
  Move   m = {NULL, NULL, NULL, MAX_BYTES, 0, 0, NULL}, all;
  size_t available, total;

  PetscFunctionBegin;
  static_assert(MIN_BYTES % LARGEST_BLOCK == 0, "Thread blocks cover the arrays");
  PetscCallCUDA(cudaMemGetInfo(&available, &total));
  while (m.bytes > MIN_BYTES && 3 * m.bytes > available / 2) m.bytes /= 2;
  PetscCallCUDA(cudaMalloc((void **)&m.a, 3 * m.bytes)); // not from the library's pool, which would keep it
  m.b = m.a + m.bytes;
  m.c = m.b + m.bytes;
  PetscCallCUDA(cudaMemsetAsync(m.a, 0, 3 * m.bytes, timer->stream));
  all       = m; // one array for the sum
  all.bytes = 3 * m.bytes;
  PetscCall(MeasureMove<1, false>(timer, &all, NULL, &bandwidth->read));
  PetscCall(MeasureMove<2, true>(timer, &m, NULL, &bandwidth->triad));
  PetscCall(MeasureMove<1, true>(timer, &m, CopyRun, &bandwidth->copy));
  PetscCall(MeasureMove<0, true>(timer, &m, SetRun, &bandwidth->write));
  PetscCallCUDA(cudaStreamSynchronize(timer->stream));
  PetscCallCUDA(cudaFree(m.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchBandwidthOf - see benchbandwidth.h */
PetscReal BenchBandwidthOf(const BenchBandwidth *bandwidth, PetscReal read, PetscReal written)
{
  if (2 * written <= read) return PetscMax(bandwidth->read, bandwidth->triad);
  if (written <= read) return PetscMax(bandwidth->triad, bandwidth->copy);
  return PetscMax(bandwidth->copy, bandwidth->write);
}
