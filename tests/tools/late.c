/*
  Makes work on CUDA streams late, so that a wait that is missing shows every time and not now and then: LD_PRELOAD=late.so PROGRAM, or conf/run-tests -U late.

  A host function that sleeps is queued before each copy, memset and launch on the chosen streams. Pinned host memory that a copy from the device will fill is filled
  with 0xff (NaN as a number, -1 as an index) when the copy is asked for: a program that reads it without waiting finds that, and not an older result that happens to
  be right.

  Variables of the environment
+ LATE_STREAMS      - `legacy`: the legacy default stream, PETSc's streams of type `default`; shows waits of the host that are missing;
                      `non-legacy`: all others; shows, with -root_device_context_stream_type nonblocking, waits of the legacy stream for them;
                      `both` (the default)
. LATE_MICROSECONDS - how long each sleeps; default 300
- LATE_TRACE        - if set, each copy whose destination is filled with 0xff is printed to stderr, with the calls that led to it

  Two streams that are late alike keep their order more often than not: to find out which one does not wait for the other, make one of them late.
  The work of libraries that carry a CUDA runtime of their own (cuSPARSE, cuBLAS) is not late, but waits in the stream behind what is. A copy from pinned memory,
  not yet done, and then one into the same memory on the same stream is in order, and still copies 0xff here.
  The functions are those that PETSc and this library call. Where no device is, nothing calls them; nothing here needs the CUDA runtime to be there.
*/
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

typedef enum {
  NON_LEGACY = 1,
  LEGACY     = 2,
  BOTH       = NON_LEGACY | LEGACY
} Streams;

static Streams         late_streams = BOTH;
static struct timespec late_time    = {.tv_sec = 0, .tv_nsec = 300000};
static int             trace        = 0;

/* The program ends with a message when a variable means nothing: tests without late streams would pass. */
__attribute__((constructor)) static void ReadSettings(void)
{
  const char *streams = getenv("LATE_STREAMS"), *microseconds = getenv("LATE_MICROSECONDS");
  char       *end;

  trace = getenv("LATE_TRACE") != NULL;
  if (streams != NULL) {
    if (strcmp(streams, "legacy") == 0) late_streams = LEGACY;
    else if (strcmp(streams, "non-legacy") == 0) late_streams = NON_LEGACY;
    else if (strcmp(streams, "both") != 0) {
      fprintf(stderr, "late: LATE_STREAMS is %s and must be legacy, non-legacy or both\n", streams);
      _exit(1);
    }
  }
  if (microseconds != NULL) {
    const long us = strtol(microseconds, &end, 10);

    if (*microseconds == '\0' || *end != '\0' || us < 0) {
      fprintf(stderr, "late: LATE_MICROSECONDS is %s and must be a number that is not negative\n", microseconds);
      _exit(1);
    }
    late_time.tv_sec  = us / 1000000;
    late_time.tv_nsec = 1000 * (us % 1000000);
  }
}

static void CUDART_CB Sleep(void *time)
{
  nanosleep((const struct timespec *)time, NULL);
}

/* The function of this name that the program would call without this library; NULL without a CUDA runtime. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static int IsLate(cudaStream_t stream)
{
  return (late_streams & (stream == NULL || stream == cudaStreamLegacy ? LEGACY : NON_LEGACY)) != 0;
}

static void MakeLate(cudaStream_t stream)
{
  static __typeof__(&cudaLaunchHostFunc) launch = NULL;

  if (!IsLate(stream)) return;
  if (launch == NULL) launch = NEXT(cudaLaunchHostFunc);
  if (launch != NULL) (void)launch(stream, Sleep, &late_time);
}

static int IsOfType(const void *pointer, enum cudaMemoryType type)
{
  static __typeof__(&cudaPointerGetAttributes) get = NULL;
  struct cudaPointerAttributes                 attributes;

  if (get == NULL) get = NEXT(cudaPointerGetAttributes);
  return get != NULL && get(&attributes, pointer) == cudaSuccess && attributes.type == type;
}

/* height rows of width bytes, each pitch bytes after the last one */
static void FillPinned(void *destination, size_t pitch, const void *source, size_t width, size_t height, cudaStream_t stream)
{
  void *calls[16];

  if (width == 0 || height == 0 || !IsLate(stream)) return;
  if (!IsOfType(destination, cudaMemoryTypeHost) || !IsOfType(source, cudaMemoryTypeDevice)) return;
  for (size_t row = 0; row < height; row++) memset((char *)destination + row * pitch, 0xff, width);
  if (trace) {
    fprintf(stderr, "late: copy of %zu bytes from the device to pinned memory at %p\n", width * height, destination);
    backtrace_symbols_fd(calls, backtrace(calls, 16), STDERR_FILENO);
  }
}

/* Defines a function of the CUDA runtime that does something before the function itself. */
#define BEFORE(name, parameters, arguments, what) \
  EXPORTED cudaError_t CUDARTAPI name parameters \
  { \
    static __typeof__(&(name)) next = NULL; \
\
    if (next == NULL) next = NEXT(name); \
    if (next == NULL) return cudaErrorSharedObjectSymbolNotFound; \
    what; \
    return next arguments; \
  }

typedef enum cudaMemcpyKind Kind;

BEFORE(cudaMemcpy, (void *d, const void *s, size_t n, Kind kind), (d, s, n, kind), MakeLate(NULL))
BEFORE(cudaMemcpy2D, (void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, Kind kind), (d, dp, s, sp, w, h, kind), MakeLate(NULL))
BEFORE(cudaMemcpyAsync, (void *d, const void *s, size_t n, Kind kind, cudaStream_t stream), (d, s, n, kind, stream), MakeLate(stream); FillPinned(d, n, s, n, 1, stream))
BEFORE(cudaMemcpy2DAsync, (void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, Kind kind, cudaStream_t stream), (d, dp, s, sp, w, h, kind, stream), MakeLate(stream);
       FillPinned(d, dp, s, w, h, stream))
BEFORE(cudaMemset, (void *d, int value, size_t n), (d, value, n), MakeLate(NULL))
BEFORE(cudaMemset2D, (void *d, size_t dp, int value, size_t w, size_t h), (d, dp, value, w, h), MakeLate(NULL))
BEFORE(cudaMemsetAsync, (void *d, int value, size_t n, cudaStream_t stream), (d, value, n, stream), MakeLate(stream))
BEFORE(cudaMemset2DAsync, (void *d, size_t dp, int value, size_t w, size_t h, cudaStream_t stream), (d, dp, value, w, h, stream), MakeLate(stream))

/* What a launch in a .cu file becomes is in no header for C. */
cudaError_t CUDARTAPI __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, cudaStream_t);

BEFORE(__cudaLaunchKernel, (void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream), MakeLate(stream))
BEFORE(cudaLaunchKernel, (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream), MakeLate(stream))
BEFORE(cudaLaunchKernelExC, (const cudaLaunchConfig_t *config, const void *kernel, void **arguments), (config, kernel, arguments), MakeLate(config->stream))
