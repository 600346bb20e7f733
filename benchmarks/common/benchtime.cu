/*
  Times by CUDA events; see benchtime.h.
*/
#include "benchtime.h"

#define BENCH_FLUSH_BYTES (256 << 20)
#define BENCH_SPIN_NS     30000
#define BENCH_WARM_CALLS  10
#define BENCH_MAX_SAMPLES 1001

__global__ void BenchSpinKernel(unsigned long long ns)
{
  unsigned long long begin, now;

  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

/* Reads the buffer through L2, so that its lines replace all others and none is dirty. */
__global__ void BenchFlushKernel(const PetscScalar *buffer, PetscCount n, PetscScalar *never)
{
  PetscScalar sum(0.0);

  for (PetscCount i = (PetscCount)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscCount)gridDim.x * blockDim.x) sum += buffer[i];
  if (PetscAbsScalar(sum) > 1.0) *never = sum;
}

/* BenchTimerCreate - events and the flush buffer; free them with BenchTimerDestroy() */
PetscErrorCode BenchTimerCreate(cudaStream_t stream, BenchTimer *timer)
{
  PetscFunctionBegin;
  timer->stream     = stream;
  timer->samples    = BENCH_SAMPLES;
  timer->budget_us  = BENCH_BUDGET_US;
  timer->flush_size = BENCH_FLUSH_BYTES / sizeof(PetscScalar);
  PetscCallCUDA(cudaEventCreate(&timer->begin));
  PetscCallCUDA(cudaEventCreate(&timer->end));
  PetscCall(PetscSparseCUDAMalloc(timer->flush_size, "cache flush", stream, &timer->flush));
  PetscCallCUDA(cudaMemsetAsync(timer->flush, 0, BENCH_FLUSH_BYTES, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchTimerDestroy - frees a timer */
PetscErrorCode BenchTimerDestroy(BenchTimer *timer)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventDestroy(timer->begin));
  PetscCallCUDA(cudaEventDestroy(timer->end));
  PetscCall(PetscSparseCUDAFree(&timer->flush, timer->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchTimerSample(BenchTimer *timer, PetscBool cold, PetscInt calls, BenchFn *fn, void *ctx, PetscReal *us)
{
  float ms;

  PetscFunctionBegin;
  if (cold) BenchFlushKernel<<<1024, 256, 0, timer->stream>>>(timer->flush, timer->flush_size, timer->flush);
  BenchSpinKernel<<<1, 1, 0, timer->stream>>>(BENCH_SPIN_NS + 5000ull * (unsigned long long)calls);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaEventRecord(timer->begin, timer->stream));
  for (PetscInt i = 0; i < calls; i++) PetscCall((*fn)(ctx, timer->stream));
  PetscCallCUDA(cudaEventRecord(timer->end, timer->stream));
  PetscCallCUDA(cudaEventSynchronize(timer->end));
  PetscCallCUDA(cudaEventElapsedTime(&ms, timer->begin, timer->end));
  *us = (PetscReal)(1000.0 * ms / (double)calls);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchTimerMeasure - see benchtime.h */
PetscErrorCode BenchTimerMeasure(BenchTimer *timer, PetscBool cold, BenchFn *fn, void *ctx, PetscReal *us)
{
  const PetscInt calls = cold ? 1 : BENCH_WARM_CALLS;
  PetscReal      samples[BENCH_MAX_SAMPLES], first;
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(BenchTimerSample(timer, cold, 1, fn, ctx, &first));
  PetscCall(BenchTimerSample(timer, cold, 1, fn, ctx, &first));
  n = (PetscInt)(timer->budget_us / (first * (PetscReal)calls + 1));
  n = PetscMax(5, PetscMin(n, PetscMin(timer->samples, BENCH_MAX_SAMPLES))) | 1;
  for (PetscInt i = 0; i < n; i++) PetscCall(BenchTimerSample(timer, cold, calls, fn, ctx, samples + i));
  PetscCall(PetscSortReal(n, samples));
  *us = samples[n / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
