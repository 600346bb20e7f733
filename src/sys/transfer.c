/*
  Copies between host arrays and the device: all that the library makes but those out of the pinned buffers of the stage (kernels/insert/stage.c). The host array belongs
  to the caller again when a copy returns: the driver has read pageable memory by then, and memory that the device reads by itself, such as pinned memory, is waited for.

  One thread cannot fill the bus from pageable memory, several can: each has two small pinned buffers, and while the copy engine works on one of them the thread copies
  between the other and the array.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE // sched_getaffinity()
#endif
#include "testing.h"
#include <petsctime.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_THREADS       64                  /* that the option accepts */
#define DEFAULT_THREADS   8                   /* enough to fill the bus */
#define BUFFER_BYTES      ((size_t)4 << 20)   /* of a pinned buffer, and of the largest chunk */
#define MIN_CHUNK_BYTES   ((size_t)512 << 10) /* a smaller one is not worth a thread */
#define CHUNK_ALIGNMENT   ((size_t)4096)
#define CHUNKS_PER_THREAD 4                  /* so that both buffers have work, and a slow thread does not keep the others waiting */
#define MIN_BYTES         ((size_t)1 << 20)  /* of an array that is worth starting threads */
#define HUGE_PAGE         ((size_t)2 << 20)  /* of x86-64, and of Arm with pages of 4 KiB */
#define WORKER_BYTES      ((size_t)32 << 20) /* pinning a worker's buffers, 3 ms, takes as long as a plain copy of so much */

/* One array on its way. */
typedef struct {
  enum cudaMemcpyKind kind;
  char               *device, *host;
  size_t              bytes, chunk_bytes, num_chunks;
  atomic_size_t       next; /* chunk that nobody has taken yet */
} Transfer;

/* What a thread works with; kept between transfers. */
typedef struct {
  char        *buffer[2]; /* pinned, one allocation */
  cudaEvent_t  done[2];   /* recorded after the last copy of each buffer */
  cudaStream_t stream;
  pthread_t    thread;
  Transfer    *transfer;
  cudaError_t  error; /* PETSc's error handling is not for threads */
} Worker;

int TransferThreads = 0;

static Worker      workers[MAX_THREADS];
static int         num_workers   = 0;    /* that exist; the first one is the calling thread's */
static int         worker_device = 0;    /* whose streams and events they have */
static size_t      traffic       = 0;    /* bytes of the large pageable arrays copied so far: a worker is made when they would have paid for it */
static cudaEvent_t begun         = NULL; /* on the caller's stream when a transfer begins */
static PetscBool   registered    = PETSC_FALSE;

static cudaError_t DestroyWorker(Worker *w)
{
  cudaError_t error = w->stream != NULL ? cudaStreamSynchronize(w->stream) : cudaSuccess;

  for (int k = 0; k < 2; k++) {
    if (w->done[k] != NULL && cudaEventDestroy(w->done[k]) != cudaSuccess) error = cudaErrorUnknown;
  }
  if (w->stream != NULL && cudaStreamDestroy(w->stream) != cudaSuccess) error = cudaErrorUnknown;
  if (w->buffer[0] != NULL && cudaFreeHost(w->buffer[0]) != cudaSuccess) error = cudaErrorUnknown;
  memset(w, 0, sizeof(*w));
  return error;
}

static cudaError_t CreateWorker(Worker *w)
{
  cudaError_t error = cudaHostAlloc((void **)&w->buffer[0], 2 * BUFFER_BYTES, cudaHostAllocDefault);

  if (error == cudaSuccess) {
    w->buffer[1] = w->buffer[0] + BUFFER_BYTES;
    error        = cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking);
  } else w->buffer[0] = NULL;
  for (int k = 0; k < 2 && error == cudaSuccess; k++) error = cudaEventCreateWithFlags(&w->done[k], cudaEventDisableTiming);
  if (error != cudaSuccess) (void)DestroyWorker(w);
  return error;
}

static PetscErrorCode DestroyWorkers(void)
{
  cudaError_t error = cudaSuccess;

  PetscFunctionBegin;
  for (int k = 0; k < num_workers; k++) {
    const cudaError_t failed = DestroyWorker(&workers[k]);

    if (failed != cudaSuccess) error = failed;
  }
  num_workers = 0;
  if (begun != NULL && cudaEventDestroy(begun) != cudaSuccess) error = cudaErrorUnknown;
  begun = NULL;
  PetscCallCUDA(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Finalize(void)
{
  PetscFunctionBegin;
  registered = PETSC_FALSE;
  traffic    = 0;
  PetscCall(DestroyWorkers());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the workers that are missing and pay; *n is how many of the wanted there are, fewer also when pinned memory is short. */
static PetscErrorCode GetWorkers(int wanted, int *n)
{
  int device;

  PetscFunctionBegin;
  if (!registered) PetscCall(PetscRegisterFinalize(Finalize)); // not earlier: it has to run before PETSc's device is gone
  registered = PETSC_TRUE;
  PetscCallCUDA(cudaGetDevice(&device));
  if (begun != NULL && device != worker_device) PetscCall(DestroyWorkers());
  worker_device = device;
  if (begun == NULL) PetscCallCUDA(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
  wanted = (int)PetscMin((size_t)wanted, PetscMax((size_t)num_workers, traffic / WORKER_BYTES));
  while (num_workers < wanted && CreateWorker(&workers[num_workers]) == cudaSuccess) num_workers++;
  if (num_workers < wanted) {
    (void)cudaGetLastError(); // a later check must not find this one
    TransferThreads = num_workers;
    PetscCall(PetscInfo(NULL, "No pinned memory for more than %d threads that copy between host and device\n", num_workers));
  }
  *n = PetscMin(wanted, num_workers);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the next chunk; *bytes is 0 when there is none. */
static void TakeChunk(Transfer *t, size_t *begin, size_t *bytes)
{
  const size_t chunk = atomic_fetch_add(&t->next, 1);

  *begin = chunk < t->num_chunks ? chunk * t->chunk_bytes : t->bytes;
  *bytes = PetscMin(t->bytes - *begin, t->chunk_bytes);
}

/* Queues the copy of buffer k to or from a chunk of the device array. */
static cudaError_t QueueBuffer(const Worker *w, int k, size_t begin, size_t bytes)
{
  const Transfer *t      = w->transfer;
  char           *device = t->device + begin;
  cudaError_t     error;

  if (t->kind == cudaMemcpyHostToDevice) error = cudaMemcpyAsync(device, w->buffer[k], bytes, t->kind, w->stream);
  else error = cudaMemcpyAsync(w->buffer[k], device, bytes, t->kind, w->stream);
  return error == cudaSuccess ? cudaEventRecord(w->done[k], w->stream) : error;
}

/* On return the last copies out of the buffers may still be under way. */
static cudaError_t SendChunks(Worker *w)
{
  Transfer *t = w->transfer;

  for (int k = 0;; k = 1 - k) {
    size_t      begin, bytes;
    cudaError_t error;

    TakeChunk(t, &begin, &bytes);
    if (bytes == 0) return cudaSuccess;
    error = cudaEventSynchronize(w->done[k]);
    if (error == cudaSuccess) {
      memcpy(w->buffer[k], t->host + begin, bytes);
      error = QueueBuffer(w, k, begin, bytes);
    }
    if (error != cudaSuccess) return error;
  }
}

/* One buffer is filled by the copy engine while the other one is emptied into the array. */
static cudaError_t ReceiveChunks(Worker *w)
{
  Transfer *t        = w->transfer;
  size_t    begin[2] = {0, 0}, bytes[2] = {0, 0};

  for (int k = 0;; k = 1 - k) {
    const int   other = 1 - k;
    cudaError_t error = cudaSuccess;

    TakeChunk(t, &begin[k], &bytes[k]);
    if (bytes[k] > 0) error = QueueBuffer(w, k, begin[k], bytes[k]);
    if (bytes[other] > 0 && error == cudaSuccess) {
      error = cudaEventSynchronize(w->done[other]);
      if (error == cudaSuccess) memcpy(t->host + begin[other], w->buffer[other], bytes[other]);
    }
    if (error != cudaSuccess || bytes[k] == 0) return error;
  }
}

static void Work(Worker *w)
{
  w->error = w->transfer->kind == cudaMemcpyHostToDevice ? SendChunks(w) : ReceiveChunks(w);
  if (w->error != cudaSuccess) atomic_store(&w->transfer->next, w->transfer->num_chunks); // nothing left to take: the others stop too
}

static void *WorkInThread(void *worker)
{
  Worker *w = (Worker *)worker;

  w->error = cudaSetDevice(worker_device); // a new thread begins with device 0
  if (w->error == cudaSuccess) Work(w);
  else atomic_store(&w->transfer->next, w->transfer->num_chunks);
  return NULL;
}

/* The first error of the workers; without one, the caller's stream is made to wait for what they have queued. */
static cudaError_t JoinWorkers(int started, cudaStream_t stream)
{
  cudaError_t error = workers[0].error;

  for (int k = 1; k < started; k++) {
    (void)pthread_join(workers[k].thread, NULL);
    if (error == cudaSuccess) error = workers[k].error;
  }
  for (int k = 0; k < 2 * started && error == cudaSuccess; k++) error = cudaStreamWaitEvent(stream, workers[k / 2].done[k % 2], 0);
  for (int k = 0; k < started && error != cudaSuccess; k++) (void)cudaStreamSynchronize(workers[k].stream); // the caller may free the arrays now
  return error;
}

static PetscErrorCode RunTransfer(Transfer *t, int n, cudaStream_t stream)
{
  int started = 1;

  PetscFunctionBegin;
  PetscCallCUDA(cudaEventRecord(begun, stream));
  for (int k = 0; k < n; k++) {
    workers[k].transfer = t;
    PetscCallCUDA(cudaStreamWaitEvent(workers[k].stream, begun, 0));
  }
  while (started < n && pthread_create(&workers[started].thread, NULL, WorkInThread, &workers[started]) == 0) started++; // fewer do the same work
  Work(&workers[0]);
  PetscCallCUDA(JoinWorkers(started, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Through the pinned buffers; *done is PETSC_FALSE when there are none yet. */
static PetscErrorCode CopyThroughBuffers(enum cudaMemcpyKind kind, char *device, char *host, size_t bytes, cudaStream_t stream, PetscBool *done)
{
  Transfer t     = {.kind = kind, .device = device, .host = host, .bytes = bytes};
  size_t   chunk = bytes / ((size_t)TransferThreads * CHUNKS_PER_THREAD);
  int      n     = 0;

  PetscFunctionBegin;
  chunk         = (chunk + CHUNK_ALIGNMENT - 1) / CHUNK_ALIGNMENT * CHUNK_ALIGNMENT;
  t.chunk_bytes = PetscMin(PetscMax(chunk, MIN_CHUNK_BYTES), BUFFER_BYTES);
  t.num_chunks  = (bytes + t.chunk_bytes - 1) / t.chunk_bytes;
  atomic_init(&t.next, 0);
  traffic += bytes;
  PetscCall(GetWorkers((int)PetscMin((size_t)TransferThreads, t.num_chunks), &n));
  if (n > 0) PetscCall(RunTransfer(&t, n, stream));
  *done = (PetscBool)(n > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the driver has to stage copies of this host memory; no where it is pinned, managed, or read by the device through the host's page tables. */
static PetscErrorCode IsStaged(const void *host, PetscBool *staged)
{
  struct cudaPointerAttributes attributes;
  int                          device, shared = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaPointerGetAttributes(&attributes, host));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrPageableMemoryAccessUsesHostPageTables, device));
  *staged = (PetscBool)(attributes.type == cudaMemoryTypeUnregistered && !shared);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time when a copy begins, if anybody wants to know. */
static PetscLogDouble ReportBegin(void)
{
  PetscLogDouble now = 0;

  if (PetscSparseCUDAReportActive()) (void)PetscTime(&now);
  return now;
}

/* Counts a copy that began then. */
static void ReportEnd(PetscBool to_host, size_t bytes, PetscLogDouble begin)
{
  if (PetscSparseCUDAReportActive()) PetscSparseCUDAReportCopy(to_host, bytes, ReportBegin() - begin);
}

/*
  PetscSparseCUDACopyToDevice - Copies a host array, pageable or pinned, of any alignment, to the device; 0 bytes do nothing. Ordered on the stream
  host may be changed or freed when the call returns. device is valid in work queued on the stream from now on.
  Large pageable arrays go through pinned buffers that are kept until PetscFinalize(), 8 MiB a thread (-mat_dcsr_transfer_threads, 0 for plain copies); when those cannot be had, by a plain copy.
  Another thread joins with each 32 MiB that have been copied, so that a program that copies little pins nothing. Small and pinned arrays are copied plainly.
  Raises PETSC_ERR_GPU when a copy fails; no thread is left then, and nothing is under way any more. Cost: one pass over the array, at the speed of the bus when there are threads enough.
*/
PetscErrorCode PetscSparseCUDACopyToDevice(void *device, const void *host, size_t bytes, cudaStream_t stream)
{
  PetscBool      staged, done = PETSC_FALSE;
  PetscLogDouble begin;

  PetscFunctionBegin;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  begin = ReportBegin();
  PetscCall(IsStaged(host, &staged));
  if (staged && TransferThreads > 0 && bytes >= MIN_BYTES) PetscCall(CopyThroughBuffers(cudaMemcpyHostToDevice, (char *)device, (char *)host, bytes, stream, &done));
  if (!done) {
    PetscCallCUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    if (!staged) PetscCallCUDA(cudaStreamSynchronize(stream)); // a staged array has been read when cudaMemcpyAsync() returns
  }
  ReportEnd(PETSC_FALSE, bytes, begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDACopyToHost - Copies a device array to the host, pageable or pinned, of any alignment, and waits for it; 0 bytes do nothing.
  The copy comes after the work queued on the stream before the call. Memory and errors are those of PetscSparseCUDACopyToDevice(). Cost: one pass over the array, at the speed of the bus when there
  are threads enough, and one synchronization with the stream.
*/
PetscErrorCode PetscSparseCUDACopyToHost(void *host, const void *device, size_t bytes, cudaStream_t stream)
{
  PetscBool      staged, done = PETSC_FALSE;
  PetscLogDouble begin;

  PetscFunctionBegin;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  begin = ReportBegin();
  PetscCall(IsStaged(host, &staged));
  if (staged && TransferThreads > 0 && bytes >= MIN_BYTES) PetscCall(CopyThroughBuffers(cudaMemcpyDeviceToHost, (char *)device, (char *)host, bytes, stream, &done));
  if (!done) {
    PetscCallCUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  ReportEnd(PETSC_TRUE, bytes, begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDACopyToDevice2D - Copies the columns of a dense array on the host, pageable or pinned, to the device: height columns of width bytes. Ordered on the stream
  The pitches are bytes from one column to the next. Without columns, or with a width of 0, nothing is done. host may be changed or freed when the call returns. device is valid in work queued on the
  stream from now on.
  Columns without gaps are copied as PetscSparseCUDACopyToDevice() does it, others plainly.
*/
PetscErrorCode PetscSparseCUDACopyToDevice2D(void *device, size_t device_pitch, const void *host, size_t host_pitch, size_t width, size_t height, cudaStream_t stream)
{
  PetscBool      staged;
  PetscLogDouble begin;

  PetscFunctionBegin;
  if (width == 0 || height == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (device_pitch == width && host_pitch == width) {
    PetscCall(PetscSparseCUDACopyToDevice(device, host, width * height, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  begin = ReportBegin();
  PetscCall(IsStaged(host, &staged));
  PetscCallCUDA(cudaMemcpy2DAsync(device, device_pitch, host, host_pitch, width, height, cudaMemcpyHostToDevice, stream));
  if (!staged) PetscCallCUDA(cudaStreamSynchronize(stream));
  ReportEnd(PETSC_FALSE, width * height, begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAAdviseHost - Asks for huge pages behind an array of the host that was allocated and not written yet.
  The first write to each page of a new array costs more than copying what comes from the device: 5 MB came with 1.3 GB/s. Advice that a system does not take is no error.
*/
PetscErrorCode PetscSparseCUDAAdviseHost(void *host, size_t bytes)
{
  PetscFunctionBegin;
#if defined(MADV_HUGEPAGE)
  {
    const uintptr_t begin = ((uintptr_t)host + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE, end = ((uintptr_t)host + bytes) / HUGE_PAGE * HUGE_PAGE;

    if (begin < end) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDACopyToHost2D - Copies the columns of a dense array on the device to the host, pageable or pinned, and waits for them: height columns of width bytes.
  The pitches are bytes from one column to the next. Without columns, or with a width of 0, nothing is done. The copy comes after the work queued on the stream before the call. What lies between the
  columns on the host is left alone. Columns without gaps are copied as PetscSparseCUDACopyToHost() does it, others plainly.
*/
PetscErrorCode PetscSparseCUDACopyToHost2D(void *host, size_t host_pitch, const void *device, size_t device_pitch, size_t width, size_t height, cudaStream_t stream)
{
  PetscLogDouble begin;

  PetscFunctionBegin;
  if (width == 0 || height == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (device_pitch == width && host_pitch == width) {
    PetscCall(PetscSparseCUDACopyToHost(host, device, width * height, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  begin = ReportBegin();
  PetscCallCUDA(cudaMemcpy2DAsync(host, host_pitch, device, device_pitch, width, height, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  ReportEnd(PETSC_TRUE, width * height, begin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDACountCores - Cores that this process may run on, at least 1, shared fairly with the processes of the node that may run on them too. Collective on PETSC_COMM_WORLD */
PetscErrorCode PetscSparseCUDACountCores(int *cores)
{
  cpu_set_t   mine;
  PetscMPIInt users[CPU_SETSIZE], most = 1;
  MPI_Comm    node;

  PetscFunctionBegin;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) CPU_ZERO(&mine); // more cores than the mask has bits
  for (int k = 0; k < CPU_SETSIZE; k++) users[k] = CPU_ISSET(k, &mine) ? 1 : 0;
  PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, users, CPU_SETSIZE, MPI_INT, MPI_SUM, node));
  PetscCallMPI(MPI_Comm_free(&node));
  for (int k = 0; k < CPU_SETSIZE; k++) {
    if (CPU_ISSET(k, &mine)) most = PetscMax(most, users[k]);
  }
  *cores = PetscMax(CPU_COUNT(&mine) / most, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDATransferInitialize - Decides how many threads copy large arrays between host and device.
  cores: that this process has to itself. -mat_dcsr_transfer_threads n: this many in each process, 0 for plain copies; default: its share of the cores, at most 8.
*/
PetscErrorCode PetscSparseCUDATransferInitialize(int cores)
{
  PetscInt n = PetscMin(cores, DEFAULT_THREADS);

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_transfer_threads", &n, NULL));
  PetscCheck(n >= 0 && n <= MAX_THREADS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-mat_dcsr_transfer_threads %" PetscInt_FMT " is not in 0 to %d; 0 asks for plain copies", n, MAX_THREADS);
  TransferThreads = (int)n;
  PetscFunctionReturn(PETSC_SUCCESS);
}
