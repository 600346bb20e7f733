/*
  A stand-in for the CUDA runtime that runs kernels on the host, for tests without a GPU: device memory is memory of the host, a launch returns when its kernel has ended, and streams and events are
  names. Programs are the same; the loader finds this library in place of libcudart.

  Kernels are translated from the PTX in the program and its libraries when they are launched first (kernel.py). The blocks of a launch run one after the other; the threads of a block are fibers, which
  take turns where they wait for each other. So races between blocks, orders of streams, and what memory costs stay unseen: a GPU decides.

  Variables of the environment
+ EMULATOR_CACHE     - the folder where translated kernels are kept
. EMULATOR_KERNEL    - the command that makes one of them: NAME PROGRAM OUTPUT
. EMULATOR_MEMORY    - prints what the device holds when that is most, at the end
- EMULATOR_TRACE     - prints each launch
*/
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ptx.h"
#undef cudaGetDeviceProperties

#define NUM_PROCESSORS 4 /* with so few, kernels of any size have few blocks */
#define MAX_THREADS    1024
#define STACK          (64 * 1024)
#define SHARED_SIZE    (256 * 1024)
#define NUM_CALLS      12

static void Fail(const char *what, const char *which)
{
  fprintf(stderr, "emulator: %s %s\n", what, which);
  _exit(3);
}

/* Memory: of the device, or pinned. New memory has values that no program wants. */
typedef struct {
  char  *begin;
  size_t size;
  int    device; /* 0: pinned; 1, 2: of the device, of a pool */
  void  *calls[NUM_CALLS]; /* that led to it, with EMULATOR_MEMORY */
} Memory;

static Memory  *memory;
static size_t   num_memory, max_memory;
static uint64_t pool_now, pool_most; /* bytes of all pools */

/* What the device held when it held most, an array in a line, with the calls that led to it as FILE(FUNCTION+OFFSET). */
static struct {
  int     wanted; /* 0: not known yet; -1: no */
  size_t  now, most;
  Memory *held; /* [num_held] when most was held */
  size_t  num_held;
} usage;

static void PrintUsage(void)
{
  fprintf(stderr, "emulator: %zu bytes in %zu arrays when most is held\n", usage.most, usage.num_held);
  for (size_t k = 0; k < usage.num_held; k++) {
    char **names = backtrace_symbols(usage.held[k].calls, NUM_CALLS);

    fprintf(stderr, "emulator: %zu bytes", usage.held[k].size);
    for (int i = 2; i < NUM_CALLS; i++) fprintf(stderr, " %s", names[i]);
    fprintf(stderr, "\n");
    free(names);
  }
}

static void NoteUsage(Memory *m)
{
  if (!usage.wanted) {
    usage.wanted = getenv("EMULATOR_MEMORY") ? 1 : -1;
    if (usage.wanted > 0) (void)atexit(PrintUsage);
  }
  if (usage.wanted < 0 || !m->device) return;
  (void)backtrace(m->calls, NUM_CALLS);
  usage.now += m->size;
  if (usage.now <= usage.most) return;
  usage.most     = usage.now;
  usage.num_held = 0;
  usage.held     = realloc(usage.held, num_memory * sizeof(*usage.held));
  for (size_t k = 0; k < num_memory; k++)
    if (memory[k].device) usage.held[usage.num_held++] = memory[k];
}

static cudaError_t Allocate(void **p, size_t size, int device)
{
  if (posix_memalign(p, 512, size > 0 ? size : 1)) return cudaErrorMemoryAllocation;
  memset(*p, 0xff, size);
  if (num_memory == max_memory) {
    max_memory = 2 * max_memory + 1024;
    memory     = realloc(memory, max_memory * sizeof(*memory));
  }
  memory[num_memory++] = (Memory){*p, size, device};
  pool_now += device == 2 ? size : 0;
  if (pool_most < pool_now) pool_most = pool_now;
  NoteUsage(&memory[num_memory - 1]);
  return cudaSuccess;
}

static cudaError_t Free(void *p)
{
  for (size_t k = num_memory; k-- > 0 && p != NULL;)
    if (memory[k].begin == (char *)p) {
      usage.now -= memory[k].device ? memory[k].size : 0;
      pool_now -= memory[k].device == 2 ? memory[k].size : 0;
      memory[k] = memory[--num_memory];
      break;
    }
  free(p);
  return cudaSuccess;
}

/* clang-format off */
cudaError_t cudaMalloc(void **p, size_t n) { return Allocate(p, n, 1); }
cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t s) { return Allocate(p, n, 1); }
cudaError_t cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t m, cudaStream_t s) { return Allocate(p, n, 2); }
cudaError_t cudaMallocHost(void **p, size_t n) { return Allocate(p, n, 0); }
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned f) { return Allocate(p, n, 0); }
cudaError_t cudaFree(void *p) { return Free(p); }
cudaError_t cudaFreeAsync(void *p, cudaStream_t s) { return Free(p); }
cudaError_t cudaFreeHost(void *p) { return Free(p); }
/* clang-format on */

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
  *available = *total = (size_t)80 << 30;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
  memset(a, 0, sizeof(*a));
  a->type = cudaMemoryTypeUnregistered;
  for (size_t k = num_memory; k-- > 0;) {
    if ((const char *)p < memory[k].begin || (const char *)p >= memory[k].begin + memory[k].size) continue;
    a->type          = memory[k].device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    a->devicePointer = (void *)p;
    a->hostPointer   = memory[k].device ? NULL : (void *)p;
    break;
  }
  return cudaSuccess;
}

/* Kernels of the program, as its fat binaries register them. */
typedef struct {
  const void        *host;  /* the function that the host launches */
  const char        *name;  /* in PTX */
  const KernelFacts *facts; /* NULL until the first launch */
  void (*main)(Thread *);
} Kernel;

static Kernel *kernels;
static size_t  num_kernels, max_kernels;

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid, void *block, void *grid, int *warp)
{
  if (num_kernels == max_kernels) {
    max_kernels = 2 * max_kernels + 4096;
    kernels     = realloc(kernels, max_kernels * sizeof(*kernels));
  }
  kernels[num_kernels++] = (Kernel){host, name, NULL, NULL};
}

/* Makes the library of a kernel unless it is there; of several processes one does. */
static void Translate(const char *name, const char *path)
{
  char   lock[4096], program[4096], *command = NULL;
  int    file;
  ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

  program[n < 0 ? 0 : n] = '\0';
  snprintf(lock, sizeof(lock), "%s.lock", path);
  file = open(lock, O_CREAT | O_RDWR, 0666);
  if (file < 0 || flock(file, LOCK_EX) != 0) Fail("cannot lock", lock);
  if (access(path, R_OK) != 0) {
    const char *kernel = getenv("EMULATOR_KERNEL");

    if (kernel == NULL || asprintf(&command, "LD_PRELOAD= %s '%s' '%s' '%s'", kernel, name, program, path) < 0) Fail("set EMULATOR_KERNEL, to make", name);
    if (system(command) != 0) Fail("cannot translate", name);
    free(command);
  }
  close(file);
}

/* The time of the program's last change, for kernels of its own; 0 for those of libraries, whose kernels go when these change (make-emulator). */
static unsigned long ProgramTime(const Kernel *k)
{
  const uintptr_t program = getauxval(AT_PHDR) & ~(uintptr_t)4095;
  struct stat     status;
  Dl_info         info;

  if (!dladdr(k->host, &info) || (uintptr_t)info.dli_fbase != program || stat("/proc/self/exe", &status) != 0) return 0;
  return (unsigned long)status.st_mtim.tv_sec * 1000000000ul + (unsigned long)status.st_mtim.tv_nsec;
}

static void Load(Kernel *k)
{
  const char   *cache = getenv("EMULATOR_CACHE");
  char          path[4096];
  unsigned long hash = 5381 + ProgramTime(k);
  void         *library;

  for (const char *c = k->name; *c != '\0'; c++) hash = hash * 33 + (unsigned char)*c;
  snprintf(path, sizeof(path), "%s/%016lx.so", cache != NULL ? cache : "/tmp", hash);
  if (access(path, R_OK) != 0) Translate(k->name, path);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) Fail("cannot load", dlerror());
  k->facts = dlsym(library, "Facts");
  k->main  = (void (*)(Thread *))dlsym(library, "KernelMain");
}

/* Fibers: the registers that a function keeps are on the stack, whose pointer is all that there is of one that waits. */
typedef struct {
  Thread thread;
  void  *stack;
  int    runs;
} Fiber;

static Fiber fibers[MAX_THREADS];
static void *scheduler; /* its stack pointer, while a fiber runs */

void EmulatorSwitch(void **from, void *to);
__asm__(".text\n.globl EmulatorSwitch\n.hidden EmulatorSwitch\nEmulatorSwitch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,(%rdi)\n"
        "mov %rsi,%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

/* The block that runs. */
static struct {
  void (*main)(Thread *);
  int running, current;          /* threads that have not returned; the one that runs */
  int arrived[16], passed[16];   /* of each barrier: threads there, and how many times it was opened */
  int counted, result, of;       /* votes of the block: those so far, and of the last one the sum and the number of voters */
} block;

void ThreadYield(Thread *t)
{
  EmulatorSwitch(&fibers[t->number].stack, scheduler);
}

static void FiberMain(void)
{
  Fiber *f = &fibers[block.current];
  void  *unused;

  block.main(&f->thread);
  f->runs = 0;
  f->thread.warp->gone |= 1u << f->thread.lane;
  block.running--;
  EmulatorSwitch(&unused, scheduler);
}

/* Waits at a barrier for so many threads; 0: for all that have not returned. */
void BlockSync(Thread *t, uint32_t barrier, uint32_t threads)
{
  const int passed = block.passed[barrier];

  block.arrived[barrier]++;
  while (block.passed[barrier] == passed) {
    if (block.arrived[barrier] >= (threads > 0 ? (int)threads : block.running)) {
      block.arrived[barrier] = 0;
      block.passed[barrier]++;
    } else ThreadYield(t);
  }
}

int BlockReduce(Thread *t, int predicate, int kind)
{
  const int passed = block.passed[0];

  block.arrived[0]++;
  block.counted += predicate != 0;
  while (block.passed[0] == passed) {
    if (block.arrived[0] >= block.running) {
      block.result     = block.counted;
      block.of         = block.arrived[0];
      block.arrived[0] = block.counted = 0;
      block.passed[0]++;
    } else ThreadYield(t);
  }
  return kind == REDUCE_POPC ? block.result : kind == REDUCE_AND ? block.result == block.of : block.result > 0;
}

/* Of the same lanes there may be two at a time, when some have not read the values of the one before. */
Exchange *WarpExchange(Thread *t, uint32_t mask, uint64_t value)
{
  const uint32_t bit   = 1u << t->lane;
  Exchange      *e     = NULL, *empty = NULL;

  for (int k = 0; k < MAX_EXCHANGES; k++) {
    Exchange *candidate = &t->warp->exchanges[k];

    if (candidate->mask == 0) empty = candidate;
    else if (candidate->mask == mask && !(candidate->arrived & bit) && candidate->left == 0) e = candidate;
  }
  if (e == NULL && empty == NULL) Fail("too many exchanges in", "a warp");
  if (e == NULL) {
    e       = empty;
    e->mask = mask;
    e->arrived = e->left = 0;
  }
  e->arrived |= bit;
  e->values[t->lane] = value;
  while (((e->arrived | t->warp->gone) & mask) != mask) ThreadYield(t);
  return e;
}

static void SetThread(Thread *t, const Thread *first, int number)
{
  *t        = *first;
  t->number = number;
  t->lane   = number % 32;
  t->tid[0] = number % t->ntid[0];
  t->tid[1] = number / t->ntid[0] % t->ntid[1];
  t->tid[2] = number / t->ntid[0] / t->ntid[1];
}

/* An order of n blocks or threads: 0 to n - 1, or with EMULATOR_ORDER=SEED another one in each launch. */
typedef struct {
  size_t n, factor, first;
} Order;

static Order GetOrder(size_t n)
{
  static const size_t  primes[4] = {2147483659, 2147483693, 2147483713, 2147483743}; // larger than n, so that they have no divisor with it
  static unsigned long state = 0;
  static int           known = 0;
  Order                o     = {n, 1, 0};

  if (!known) state = getenv("EMULATOR_ORDER") != NULL ? strtoul(getenv("EMULATOR_ORDER"), NULL, 10) : 0;
  known = 1;
  if (state == 0 || n < 2) return o;
  state    = state * 6364136223846793005ul + 1442695040888963407ul;
  o.first  = (state >> 33) % n;
  o.factor = primes[(state >> 20) % 4];
  return o;
}

static size_t At(const Order *o, size_t i)
{
  return (o->first + i * o->factor) % o->n;
}

static void RunFibers(const Kernel *k, const Thread *first, int n)
{
  const Order  order = GetOrder((size_t)n);
  static Warp  warps[MAX_THREADS / 32];
  static char *stacks = NULL;

  if (stacks == NULL) stacks = mmap(NULL, (size_t)MAX_THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  memset(&block, 0, sizeof(block));
  block.main    = k->main;
  block.running = n;
  for (int w = 0; w < (n + 31) / 32; w++) {
    warps[w].gone = n - 32 * w < 32 ? ~((1u << n % 32) - 1) : 0;
    for (int e = 0; e < MAX_EXCHANGES; e++) warps[w].exchanges[e].mask = 0;
  }
  for (int i = 0; i < n; i++) {
    void **top = (void **)(stacks + (size_t)(i + 1) * STACK - 128);

    SetThread(&fibers[i].thread, first, i);
    fibers[i].thread.warp = &warps[i / 32];
    fibers[i].runs        = 1;
    fibers[i].stack       = top;
    top[6]                = (void *)FiberMain; // behind the registers
  }
  while (block.running > 0)
    for (int l = 0; l < n; l++) {
      const int i = (int)At(&order, (size_t)l);

      if (!fibers[i].runs) continue;
      block.current = i;
      EmulatorSwitch(&scheduler, fibers[i].stack);
    }
}

static void Run(const Kernel *k, dim3 grid, dim3 size, void **params, size_t dynamic)
{
  static char  shared[SHARED_SIZE] __attribute__((aligned(128)));
  const size_t n = (size_t)size.x * size.y * size.z, blocks = (size_t)grid.x * grid.y * grid.z;
  Order        order = {blocks, 1, 0}, threads;

  if (strstr(k->name, "3cub") == NULL) order = GetOrder(blocks); // scans wait for blocks before them
  if (n > MAX_THREADS || k->facts->shared_size + dynamic > SHARED_SIZE) Fail("too many threads, or too much shared memory:", k->name);
  for (size_t l = 0; l < blocks; l++) {
    const size_t b     = At(&order, l);
    const Thread first = {.shared = shared, .dynamic = k->facts->shared_size, .params = params, .ntid = {size.x, size.y, size.z}, .nctaid = {grid.x, grid.y, grid.z},
                          .ctaid = {(uint32_t)(b % grid.x), (uint32_t)(b / grid.x % grid.y), (uint32_t)(b / grid.x / grid.y)}};
    Thread       t;

    if (k->facts->together) RunFibers(k, &first, (int)n);
    else {
      threads = GetOrder(n);
      for (size_t i = 0; i < n; i++) {
        SetThread(&t, &first, (int)At(&threads, i));
        k->main(&t);
      }
    }
  }
}

/* Graphs: lists of what was recorded. They are never freed, since what was made of them may be. */
typedef struct Node {
  const Kernel *kernel; /* NULL: a copy, or without a source values are set */
  dim3          grid, size;
  size_t        dynamic, bytes;
  void        **params, *to;
  const void   *from;
  int           value;
  struct Node  *next;
} Node;

typedef struct {
  Node  *first, **end;
  size_t n;
} Graph;

static Graph *recorded; /* what is being recorded; NULL: nothing is */

static void Do(const Node *node)
{
  if (node->kernel != NULL) Run(node->kernel, node->grid, node->size, node->params, node->dynamic);
  else if (node->from != NULL) memmove(node->to, node->from, node->bytes);
  else memset(node->to, node->value, node->bytes);
}

static cudaError_t DoOrRecord(Node node)
{
  Node *copy;

  if (recorded == NULL) {
    Do(&node);
    return cudaSuccess;
  }
  copy  = malloc(sizeof(*copy));
  *copy = node;
  if (node.kernel != NULL) copy->params = malloc(((size_t)node.kernel->facts->num_params + 1) * sizeof(void *));
  for (int k = 0; node.kernel != NULL && k < node.kernel->facts->num_params; k++) {
    if (posix_memalign(&copy->params[k], 64, node.kernel->facts->param_sizes[k] + 64)) return cudaErrorMemoryAllocation;
    memcpy(copy->params[k], node.params[k], node.kernel->facts->param_sizes[k]);
  }
  *recorded->end = copy;
  recorded->end  = &copy->next;
  recorded->n++;
  return cudaSuccess;
}

static cudaError_t Launch(const void *host, dim3 grid, dim3 size, void **params, size_t dynamic)
{
  for (size_t k = num_kernels; k-- > 0;) {
    if (kernels[k].host != host) continue;
    if (kernels[k].facts == NULL) Load(&kernels[k]);
    if (getenv("EMULATOR_TRACE") != NULL) fprintf(stderr, "emulator: %s, %u blocks of %u\n", kernels[k].name, grid.x, size.x);
    return DoOrRecord((Node){.kernel = &kernels[k], .grid = grid, .size = size, .params = params, .dynamic = dynamic});
  }
  return cudaErrorInvalidDeviceFunction;
}

/* clang-format off */
cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **p, size_t n, cudaStream_t s) { return Launch(f, g, b, p, n); }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **p) { return Launch(f, c->gridDim, c->blockDim, p, c->dynamicSmemBytes); }
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 g, dim3 b, void **p, size_t n, cudaStream_t s) { return Launch((const void *)f, g, b, p, n); }
cudaError_t __cudaGetKernel(cudaKernel_t *k, const void *f) { *k = (cudaKernel_t)f; return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind k, cudaStream_t s) { return DoOrRecord((Node){.to = to, .from = from, .bytes = n}); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind k) { return DoOrRecord((Node){.to = to, .from = from, .bytes = n}); }
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *data) { if (recorded) Fail("cannot record", "cudaLaunchHostFunc()"); f(data); return cudaSuccess; }
cudaError_t cudaMemsetAsync(void *to, int v, size_t n, cudaStream_t s) { return DoOrRecord((Node){.to = to, .value = v, .bytes = n}); }
cudaError_t cudaMemset(void *to, int v, size_t n) { return DoOrRecord((Node){.to = to, .value = v, .bytes = n}); }
/* clang-format on */

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
  for (size_t k = 0; k < height; k++) (void)cudaMemcpy((char *)to + k * to_pitch, (const char *)from + k * from_pitch, width, kind);
  return cudaSuccess;
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
  for (size_t k = 0; k < height; k++) (void)cudaMemset((char *)to + k * pitch, value, width);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m)
{
  recorded      = calloc(1, sizeof(*recorded));
  recorded->end = &recorded->first;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
  *g       = (cudaGraph_t)recorded;
  recorded = NULL;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s)
{
  for (const Node *node = ((const Graph *)e)->first; node != NULL; node = node->next) Do(node);
  return cudaSuccess;
}

/* What the device is. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  switch (attribute) {
  case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
  case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
  case cudaDevAttrMultiProcessorCount: *value = NUM_PROCESSORS; break;
  case cudaDevAttrMaxThreadsPerBlock: *value = MAX_THREADS; break;
  case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
  case cudaDevAttrWarpSize: *value = 32; break;
  case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 << 10; break;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 << 10; break;
  case cudaDevAttrMaxGridDimX: *value = INT32_MAX; break;
  case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
  case cudaDevAttrMemoryClockRate: *value = 2619000; break;
  case cudaDevAttrGlobalMemoryBusWidth: *value = 5120; break;
  case cudaDevAttrPageableMemoryAccess: *value = 0; break;
  default: *value = 1;
  }
  return cudaSuccess;
}

#if CUDART_VERSION < 13000
  #define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#endif
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
  memset(p, 0, sizeof(*p));
  strcpy(p->name, "Emulator");
  p->major                       = 9;
  p->multiProcessorCount         = NUM_PROCESSORS;
  p->warpSize                    = 32;
  p->maxThreadsPerBlock          = MAX_THREADS;
  p->maxThreadsPerMultiProcessor = 2048;
  p->totalGlobalMem              = (size_t)80 << 30;
  p->sharedMemPerBlock           = 48 << 10;
  p->sharedMemPerBlockOptin      = 227 << 10;
  p->l2CacheSize                 = 50 << 20;
  p->maxGridSize[0]              = INT32_MAX;
  p->unifiedAddressing           = 1;
  return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char **name, const void *f)
{
  for (size_t k = 0; k < num_kernels; k++) {
    if (kernels[k].host != f) continue;
    *name = kernels[k].name;
    return cudaSuccess;
  }
  return cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f)
{
  memset(a, 0, sizeof(*a));
  a->maxThreadsPerBlock        = MAX_THREADS;
  a->ptxVersion                = 90;
  a->binaryVersion             = 90;
  a->numRegs                   = 32;
  a->maxDynamicSharedSizeBytes = 48 << 10;
  return cudaSuccess;
}

/* The configuration of a launch, between the two halves of <<<>>>. */
static struct {
  dim3   grid, size;
  size_t dynamic;
  void  *stream;
} launch;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 size, size_t dynamic, struct CUstream_st *stream)
{
  launch.grid    = grid;
  launch.size    = size;
  launch.dynamic = dynamic;
  launch.stream  = stream;
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *size, size_t *dynamic, void *stream)
{
  *grid            = launch.grid;
  *size            = launch.size;
  *dynamic         = launch.dynamic;
  *(void **)stream = launch.stream;
  return cudaSuccess;
}

/* Names, and numbers that nobody relies on. What is missing here does nothing and succeeds (make-emulator). */
static cudaError_t NewName(void *p)
{
  *(void **)p = malloc(8);
  return cudaSuccess;
}

/* clang-format off */
void      **__cudaRegisterFatBinary(void *f) { static void *handle; return &handle; }
cudaError_t cudaGetDeviceCount(int *n) { *n = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *n) { *n = 0; return cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char *s, int n, int d) { snprintf(s, n, "0000:00:00.0"); return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return cudaSuccess; }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *p, int d) { return NewName(p); }
cudaError_t cudaMemPoolCreate(cudaMemPool_t *p, const struct cudaMemPoolProps *props) { return NewName(p); }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t p, enum cudaMemPoolAttr a, void *v) { *(uint64_t *)v = a == cudaMemPoolAttrUsedMemHigh || a == cudaMemPoolAttrReservedMemHigh ? pool_most : pool_now; return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t p, enum cudaMemPoolAttr a, void *v) { if (a == cudaMemPoolAttrUsedMemHigh) pool_most = pool_now; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *v) { *v = 13000; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *v) { *v = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *e) { return NewName(e); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned f) { return NewName(e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) { free(e); return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *t, cudaEvent_t a, cudaEvent_t b) { *t = 0.001f; return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned f) { return NewName(s); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned f, int p) { return NewName(s); }
cudaError_t cudaStreamDestroy(cudaStream_t s) { free(s); return cudaSuccess; }
cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned *f) { *f = cudaStreamNonBlocking; return cudaSuccess; }
cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n) { *n = ((Graph *)g)->n; return cudaSuccess; }
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long f) { *e = (cudaGraphExec_t)g; return cudaSuccess; }
cudaError_t cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, enum cudaMemcpyKind k, cudaStream_t s) { return cudaMemcpy2D(to, tp, from, fp, w, h, k); }
cudaError_t cudaMemset2DAsync(void *to, size_t p, int v, size_t w, size_t h, cudaStream_t s) { return cudaMemset2D(to, p, v, w, h); }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int b, size_t s) { *n = 2; return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *f, int b, size_t s, unsigned g) { *n = 2; return cudaSuccess; }
const char *cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "an error of the emulator"; }
const char *cudaGetErrorString(cudaError_t e) { return cudaGetErrorName(e); }
/* clang-format on */
