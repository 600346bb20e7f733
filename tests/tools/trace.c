/*
  Says what a program asks of the CUDA runtime, and how long that takes: LD_PRELOAD=trace.so PROGRAM. For operations that take as long as a few launches, where a profiler
  is not at hand or takes longer than what it looks at.

  What lies between two cudaDeviceSynchronize() is an interval; the benchmarks take the time there. At the end of the program stderr gets a line for each interval, and for
  the shortest one a table of its calls by function and kernel, and the calls one after the other.

  Variables of the environment
+ TRACE_KERNEL  - if set, only intervals with a launch of a kernel whose name contains this, or with NAME#BLOCKS of so many thread blocks
. TRACE_WITHOUT - if set, only intervals without such a launch
. TRACE_LAST    - if set, the last interval in place of the shortest one
- TRACE_DEVICE  - if set, events are recorded around each launch, copy and memset, and the time between them is shown: that of the device, and up to 3 us more when the device
                  waits for the host. The host takes longer then

  Times are in microseconds. Calls of threads other than the first, and those of libraries that carry a CUDA runtime of their own (cuSPARSE, cuBLAS), are not seen.
  Where no device is, nothing calls these functions; nothing here needs the CUDA runtime to be there.
*/
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED  __attribute__((visibility("default")))
#define MAX_CALLS 16384 /* of an interval; those behind are counted and not kept */
#define MAX_NAMES 1024  /* kernels */
#define NAME_SIZE 120

typedef struct {
  const char *function, *kernel; /* kernel: NULL when it is no launch */
  size_t      bytes;             /* allocated, copied or set; thread blocks of a launch */
  double      begin, end;        /* from the beginning of the interval */
  cudaEvent_t before, after;     /* NULL unless the device's time is wanted */
  float       device;            /* negative: not known */
} Call;

typedef struct {
  int    number; /* of the interval, counted from 0 */
  double length;
  int    num_calls; /* MAX_CALLS of them are kept at most */
  Call   calls[MAX_CALLS];
} Interval;

static Interval    current, chosen = {.number = -1};
static double      start       = -1; /* of the current interval; negative: the program has not synchronized yet */
static const char *with_kernel = NULL, *without_kernel = NULL;
static int         wants_last = 0, wants_device = 0;

static struct {
  const void *kernel;
  char        name[NAME_SIZE];
} names[MAX_NAMES];
static int num_names = 0;

/* The function of this name that the program would call without this library; NULL without a CUDA runtime. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static double Now(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Takes all of what out of text. */
static void Remove(char *text, const char what[])
{
  for (char *at = strstr(text, what); at != NULL; at = strstr(at, what)) memmove(at, at + strlen(what), strlen(at + strlen(what)) + 1);
}

/* The name without what says little; its beginning when it is long. */
static void ShortName(const char mangled[], char name[])
{
  char *(*demangle)(const char *, char *, size_t *, int *);
  char *full = NULL;

  *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle"); // a library in C++ brings it
  if (demangle != NULL) full = demangle(mangled, NULL, NULL, NULL);
  if (full == NULL) full = strdup(mangled);
  if (full != NULL) {
    Remove(full, "(anonymous namespace)::");
    Remove(full, "void ");
    Remove(full, "cub::");
    snprintf(name, NAME_SIZE, "%s", full);
  }
  free(full);
}

static const char *NameOf(const void *kernel)
{
  static __typeof__(&cudaFuncGetName) get     = NULL;
  const char                         *mangled = NULL;
  int                                 k;

  for (k = 0; k < num_names; k++)
    if (names[k].kernel == kernel) return names[k].name;
  if (k == MAX_NAMES) return "one kernel too many";
  if (get == NULL) get = NEXT(cudaFuncGetName);
  if (get == NULL || get(&mangled, kernel) != cudaSuccess || mangled == NULL) mangled = "unknown kernel";
  names[k].kernel = kernel;
  ShortName(mangled, names[k].name);
  num_names++;
  return names[k].name;
}

/* Whether the kernel of a call is NAME or NAME#BLOCKS. */
static int IsLaunchOf(const Call *c, const char which[])
{
  const char  *number = strchr(which, '#');
  const size_t length = number == NULL ? strlen(which) : (size_t)(number - which);

  if (c->kernel == NULL || memmem(c->kernel, strlen(c->kernel), which, length) == NULL) return 0;
  return number == NULL || strtoul(number + 1, NULL, 10) == c->bytes;
}

static int HasLaunchOf(const Interval *interval, const char which[])
{
  const int n = interval->num_calls < MAX_CALLS ? interval->num_calls : MAX_CALLS;

  for (int k = 0; k < n; k++)
    if (IsLaunchOf(&interval->calls[k], which)) return 1;
  return 0;
}

static void Record(cudaEvent_t *event, cudaStream_t stream)
{
  static __typeof__(&cudaEventCreate) create = NULL;
  static __typeof__(&cudaEventRecord) record = NULL;

  if (create == NULL) create = NEXT(cudaEventCreate);
  if (record == NULL) record = NEXT(cudaEventRecord);
  if (create != NULL && record != NULL && create(event) == cudaSuccess && record(*event, stream) == cudaSuccess) return;
  *event = NULL;
}

/* Reads the events of an interval, whose work is done, and gives them back. */
static void ReadEvents(Interval *interval)
{
  static __typeof__(&cudaEventElapsedTime) elapsed = NULL;
  static __typeof__(&cudaEventDestroy)     destroy = NULL;
  static __typeof__(&cudaGetLastError)     forget  = NULL;
  const int                                n       = interval->num_calls < MAX_CALLS ? interval->num_calls : MAX_CALLS;
  int                                      failed  = 0;

  if (elapsed == NULL) elapsed = NEXT(cudaEventElapsedTime);
  if (destroy == NULL) destroy = NEXT(cudaEventDestroy);
  if (forget == NULL) forget = NEXT(cudaGetLastError);
  for (int k = 0; k < n; k++) {
    Call *const c = &interval->calls[k];

    c->device = -1;
    if (c->before != NULL && c->after != NULL && elapsed != NULL) {
      if (elapsed(&c->device, c->before, c->after) == cudaSuccess) c->device *= 1000;
      else {
        c->device = -1;
        failed    = 1;
      }
    }
    if (c->before != NULL && destroy != NULL) (void)destroy(c->before);
    if (c->after != NULL && destroy != NULL) (void)destroy(c->after);
    c->before = NULL;
    c->after  = NULL;
  }
  if (failed && forget != NULL) (void)forget(); // events of recorded work have no times, and the program must not take that for an error of its own
}

/* The current interval ends, and the next one begins. */
static void EndInterval(void)
{
  static int number = 0;

  if (start >= 0) {
    current.number = number++;
    current.length = Now() - start;
    ReadEvents(&current);
    if ((with_kernel == NULL || HasLaunchOf(&current, with_kernel)) && (without_kernel == NULL || !HasLaunchOf(&current, without_kernel))) {
      fprintf(stderr, "trace: interval %d: %.1f us, %d calls\n", current.number, current.length, current.num_calls);
      if (chosen.number < 0 || wants_last || current.length < chosen.length) memcpy(&chosen, &current, sizeof(chosen));
    }
  }
  current.num_calls = 0;
  start             = Now();
}

static int IsFirstThread(void)
{
  return (long)getpid() == syscall(SYS_gettid);
}

/* Notes a call before it is made; NULL: it is not kept. Work on the device is in a stream. */
static Call *BeginCall(const char function[], const void *kernel, size_t bytes, int work, cudaStream_t stream)
{
  Call *c;

  if (start < 0 || !IsFirstThread() || current.num_calls++ >= MAX_CALLS) return NULL;
  c           = &current.calls[current.num_calls - 1];
  c->function = function;
  c->kernel   = kernel != NULL ? NameOf(kernel) : NULL;
  c->bytes    = bytes;
  c->before   = NULL;
  c->after    = NULL;
  if (work && wants_device) Record(&c->before, stream);
  c->begin = Now() - start;
  return c;
}

static void EndCall(Call *c, int work, cudaStream_t stream)
{
  if (c == NULL) return;
  c->end = Now() - start;
  if (work && wants_device) Record(&c->after, stream);
}

/* Defines a function of the CUDA runtime that is noted. */
#define TRACED(name, parameters, arguments, kernel, bytes, work, stream) \
  EXPORTED cudaError_t CUDARTAPI name parameters \
  { \
    static __typeof__(&(name)) next = NULL; \
    cudaError_t                error; \
    Call                      *call; \
\
    if (next == NULL) next = NEXT(name); \
    if (next == NULL) return cudaErrorSharedObjectSymbolNotFound; \
    call  = BeginCall(#name, kernel, bytes, work, stream); \
    error = next arguments; \
    EndCall(call, work, stream); \
    return error; \
  }
#define TRACED_HOST(name, parameters, arguments, bytes) TRACED(name, parameters, arguments, NULL, bytes, 0, NULL)

typedef enum cudaMemcpyKind Kind;

TRACED_HOST(cudaMalloc, (void **p, size_t n), (p, n), n)
TRACED_HOST(cudaMallocAsync, (void **p, size_t n, cudaStream_t stream), (p, n, stream), n)
TRACED_HOST(cudaMallocFromPoolAsync, (void **p, size_t n, cudaMemPool_t pool, cudaStream_t stream), (p, n, pool, stream), n)
TRACED_HOST(cudaHostAlloc, (void **p, size_t n, unsigned int flags), (p, n, flags), n)
TRACED_HOST(cudaMallocHost, (void **p, size_t n), (p, n), n)
TRACED_HOST(cudaFree, (void *p), (p), 0)
TRACED_HOST(cudaFreeAsync, (void *p, cudaStream_t stream), (p, stream), 0)
TRACED_HOST(cudaFreeHost, (void *p), (p), 0)
TRACED_HOST(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t n), (pool, n), n)
TRACED_HOST(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr a, void *value), (pool, a, value), 0)
TRACED_HOST(cudaMemGetInfo, (size_t * available, size_t *total), (available, total), 0)
TRACED(cudaMemcpy, (void *d, const void *s, size_t n, Kind kind), (d, s, n, kind), NULL, n, 1, NULL)
TRACED(cudaMemcpy2D, (void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, Kind kind), (d, dp, s, sp, w, h, kind), NULL, w *h, 1, NULL)
TRACED(cudaMemcpyAsync, (void *d, const void *s, size_t n, Kind kind, cudaStream_t stream), (d, s, n, kind, stream), NULL, n, 1, stream)
TRACED(cudaMemcpy2DAsync, (void *d, size_t dp, const void *s, size_t sp, size_t w, size_t h, Kind kind, cudaStream_t stream), (d, dp, s, sp, w, h, kind, stream), NULL, w *h, 1, stream)
TRACED(cudaMemset, (void *d, int value, size_t n), (d, value, n), NULL, n, 1, NULL)
TRACED(cudaMemset2D, (void *d, size_t dp, int value, size_t w, size_t h), (d, dp, value, w, h), NULL, w *h, 1, NULL)
TRACED(cudaMemsetAsync, (void *d, int value, size_t n, cudaStream_t stream), (d, value, n, stream), NULL, n, 1, stream)
TRACED(cudaMemset2DAsync, (void *d, size_t dp, int value, size_t w, size_t h, cudaStream_t stream), (d, dp, value, w, h, stream), NULL, w *h, 1, stream)
TRACED_HOST(cudaStreamSynchronize, (cudaStream_t stream), (stream), 0)
TRACED_HOST(cudaStreamQuery, (cudaStream_t stream), (stream), 0)
TRACED_HOST(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags), 0)
TRACED_HOST(cudaEventCreate, (cudaEvent_t * event), (event), 0)
TRACED_HOST(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), (event, flags), 0)
TRACED_HOST(cudaEventDestroy, (cudaEvent_t event), (event), 0)
TRACED_HOST(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream), 0)
TRACED_HOST(cudaEventSynchronize, (cudaEvent_t event), (event), 0)
TRACED_HOST(cudaEventQuery, (cudaEvent_t event), (event), 0)
TRACED_HOST(cudaGetDevice, (int *device), (device), 0)
TRACED_HOST(cudaSetDevice, (int device), (device), 0)
TRACED_HOST(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr a, int device), (value, a, device), 0)
TRACED_HOST(cudaPointerGetAttributes, (struct cudaPointerAttributes * a, const void *p), (a, p), 0)
TRACED_HOST(cudaFuncGetAttributes, (struct cudaFuncAttributes * a, const void *kernel), (a, kernel), 0)
TRACED_HOST(cudaFuncSetAttribute, (const void *kernel, enum cudaFuncAttribute a, int value), (kernel, a, value), 0)
TRACED_HOST(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, const void *kernel, int threads, size_t shared), (blocks, kernel, threads, shared), 0)
TRACED_HOST(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *blocks, const void *kernel, int threads, size_t shared, unsigned int flags), (blocks, kernel, threads, shared, flags), 0)
TRACED_HOST(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t f, void *data), (stream, f, data), 0)

/* What a launch in a .cu file becomes is in no header for C. */
cudaError_t CUDARTAPI __cudaLaunchKernel(void *, dim3, dim3, void **, size_t, cudaStream_t);

TRACED(__cudaLaunchKernel, (void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream), kernel, grid.x, 1, stream)
TRACED(cudaLaunchKernel, (const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream), kernel, grid.x, 1, stream)
TRACED(cudaLaunchKernelExC, (const cudaLaunchConfig_t *config, const void *kernel, void **arguments), (config, kernel, arguments), kernel, config->gridDim.x, 1, config->stream)

EXPORTED cudaError_t CUDARTAPI cudaDeviceSynchronize(void)
{
  static __typeof__(&cudaDeviceSynchronize) next = NULL;
  cudaError_t                               error;
  Call                                     *call;

  if (next == NULL) next = NEXT(cudaDeviceSynchronize);
  if (next == NULL) return cudaErrorSharedObjectSymbolNotFound;
  call  = BeginCall("cudaDeviceSynchronize", NULL, 0, 0, NULL);
  error = next();
  EndCall(call, 0, NULL);
  if (IsFirstThread()) EndInterval();
  return error;
}

__attribute__((constructor)) static void ReadSettings(void)
{
  with_kernel    = getenv("TRACE_KERNEL");
  without_kernel = getenv("TRACE_WITHOUT");
  wants_last     = getenv("TRACE_LAST") != NULL;
  wants_device   = getenv("TRACE_DEVICE") != NULL;
}

static int IsSame(const Call *a, const Call *b)
{
  return strcmp(a->function, b->function) == 0 && (a->kernel == NULL) == (b->kernel == NULL) && (a->kernel == NULL || strcmp(a->kernel, b->kernel) == 0);
}

static void PrintTime(double us)
{
  if (us < 0) fprintf(stderr, "        -");
  else fprintf(stderr, " %8.1f", us);
}

/* One line for each function, and kernel. */
static void PrintSums(const Interval *interval, int n)
{
  double host_sum = 0;

  fprintf(stderr, "trace:  calls     host   device  function\n");
  for (int k = 0; k < n; k++) {
    const Call *const c      = &interval->calls[k];
    int               before = 0, num = 0;
    double            host = 0, device = -1;

    for (int l = 0; l < k && !before; l++) before = IsSame(c, &interval->calls[l]);
    if (before) continue;
    for (int l = k; l < n; l++) {
      const Call *const other = &interval->calls[l];

      if (!IsSame(c, other)) continue;
      num++;
      host += other->end - other->begin;
      if (other->device >= 0) device = (device < 0 ? 0 : device) + (double)other->device;
    }
    host_sum += host;
    fprintf(stderr, "trace: %6d", num);
    PrintTime(host);
    PrintTime(device);
    fprintf(stderr, "  %s\n", c->kernel != NULL ? c->kernel : c->function);
  }
  fprintf(stderr, "trace: %6d", n);
  PrintTime(host_sum);
  fprintf(stderr, "           all; %.1f us of the interval lie outside of them\n", interval->length - host_sum);
}

static void PrintCalls(const Interval *interval, int n)
{
  fprintf(stderr, "trace:     at     host   device      bytes or blocks  function\n");
  for (int k = 0; k < n; k++) {
    const Call *const c = &interval->calls[k];

    fprintf(stderr, "trace:");
    PrintTime(c->begin);
    PrintTime(c->end - c->begin);
    PrintTime((double)c->device);
    fprintf(stderr, " %20zu  %s\n", c->bytes, c->kernel != NULL ? c->kernel : c->function);
  }
}

__attribute__((destructor)) static void Print(void)
{
  const int n = chosen.num_calls < MAX_CALLS ? chosen.num_calls : MAX_CALLS;

  if (chosen.number < 0) return;
  fprintf(stderr, "trace: interval %d, %.1f us, %d calls%s\n", chosen.number, chosen.length, chosen.num_calls, n < chosen.num_calls ? ", of which the first are shown" : "");
  PrintSums(&chosen, n);
  PrintCalls(&chosen, n);
}
