static char help[] = "Copies between host arrays and the device: lengths around chunks, alignments, pinned memory, numbers of threads, order on the stream.\n\n";

#include "../../src/sys/testing.h"
#include <petscsparsecuda.h>

#define GUARD     64   /* bytes on both sides of an array that must stay what they are */
#define SHIFT     3    /* of unaligned host arrays, below GUARD */
#define DELAY     20   /* fills of the array that are queued before the copy, so that one that does not wait for them is seen */
#define OLD       0xa5 /* what is in an array before the copy, and in guards */
#define LATER     0x5a /* what is put there right after it */
#define MEBIBYTE  (1024 * 1024)
#define MAX_BYTES 100000000

static const size_t   sizes[]   = {0, 1, 1000, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 4 * MEBIBYTE - 1, 4 * MEBIBYTE, 4 * MEBIBYTE + 1, 33554432 + 4097, MAX_BYTES};
static const PetscInt threads[] = {0, 1, 3, 8};

/* What all cases share. Arrays have room for the largest case and both guards. */
typedef struct {
  unsigned char *pattern;   /* [MAX_BYTES] host */
  unsigned char *host;      /* pageable or pinned */
  unsigned char *check;     /* host */
  unsigned char *from, *to; /* device */
  cudaStream_t   stream;
} Arrays;

typedef struct {
  const char *memory; /* pageable or pinned */
  size_t      bytes, shift;
  PetscInt    threads;
} Case;

/* Bytes [GUARD, GUARD + bytes) are those expected, or value when expected is NULL; the guards are OLD. */
static PetscErrorCode CheckBytes(const unsigned char got[], const unsigned char expected[], unsigned char value, const Case *c, const char what[])
{
  PetscFunctionBegin;
  for (size_t k = 0; k < c->bytes + 2 * GUARD; k++) {
    const PetscBool     guard = (PetscBool)(k < GUARD || k >= GUARD + c->bytes);
    const unsigned char right = guard ? OLD : (expected != NULL ? expected[k - GUARD] : value);

    PetscCheck(got[k] == right, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %zu bytes, %s memory shifted by %zu, %" PetscInt_FMT " threads: %s byte %td is 0x%x, not 0x%x", what, c->bytes, c->memory,
               c->shift, c->threads, guard ? "guard" : "array", (ptrdiff_t)k - GUARD, got[k], right);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckDevice(const Arrays *a, const unsigned char *device, const unsigned char expected[], unsigned char value, const Case *c, const char what[])
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(a->check, device, c->bytes + 2 * GUARD, cudaMemcpyDeviceToHost, a->stream));
  PetscCallCUDA(cudaStreamSynchronize(a->stream));
  PetscCall(CheckBytes(a->check, expected, value, c, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy comes after the fills and before the copy from to to from, and the host array is free when the call returns. */
static PetscErrorCode TestToDevice(const Arrays *a, const Case *c)
{
  unsigned char *host = a->host + GUARD + c->shift;

  PetscFunctionBegin;
  PetscCall(PetscMemcpy(host, a->pattern, c->bytes));
  PetscCallCUDA(cudaMemsetAsync(a->from, OLD, c->bytes + 2 * GUARD, a->stream));
  for (int k = 0; k < DELAY; k++) PetscCallCUDA(cudaMemsetAsync(a->to, OLD, c->bytes + 2 * GUARD, a->stream));
  PetscCall(PetscSparseCUDACopyToDevice(a->to + GUARD, host, c->bytes, a->stream));
  if (c->bytes > 0) memset(host, LATER, c->bytes);
  PetscCallCUDA(cudaMemcpyAsync(a->from, a->to, c->bytes + 2 * GUARD, cudaMemcpyDeviceToDevice, a->stream));
  PetscCallCUDA(cudaMemsetAsync(a->to + GUARD, LATER, c->bytes, a->stream));
  PetscCall(CheckDevice(a, a->from, a->pattern, 0, c, "to the device, seen by later work"));
  PetscCall(CheckDevice(a, a->to, NULL, LATER, c, "to the device, overwritten by later work"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy comes after the fills and the copy from from to to, and is there when the call returns. */
static PetscErrorCode TestToHost(const Arrays *a, const Case *c)
{
  unsigned char *host = a->host + GUARD + c->shift;

  PetscFunctionBegin;
  memset(host - GUARD, OLD, c->bytes + 2 * GUARD);
  if (c->bytes > 0) PetscCallCUDA(cudaMemcpyAsync(a->from, a->pattern, c->bytes, cudaMemcpyHostToDevice, a->stream));
  for (int k = 0; k < DELAY; k++) PetscCallCUDA(cudaMemsetAsync(a->to, OLD, c->bytes + 2 * GUARD, a->stream));
  if (c->bytes > 0) PetscCallCUDA(cudaMemcpyAsync(a->to + GUARD, a->from, c->bytes, cudaMemcpyDeviceToDevice, a->stream));
  PetscCall(PetscSparseCUDACopyToHost(host, a->to + GUARD, c->bytes, a->stream));
  PetscCallCUDA(cudaMemsetAsync(a->to, LATER, c->bytes + 2 * GUARD, a->stream));
  PetscCall(CheckBytes(host - GUARD, a->pattern, 0, c, "to the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns with gaps on the host, to the device and back; the host array is free when the first call returns, and filled when the second one does. Gaps are left alone. */
static PetscErrorCode TestColumns(const Arrays *a, const char memory[], size_t width, size_t height, size_t gap)
{
  const size_t pitch = width + gap;

  PetscFunctionBegin;
  for (size_t k = 0; k < height; k++) PetscCall(PetscMemcpy(a->host + k * pitch, a->pattern + k * width, width));
  for (int k = 0; k < DELAY; k++) PetscCallCUDA(cudaMemsetAsync(a->to, OLD, MAX_BYTES, a->stream));
  PetscCall(PetscSparseCUDACopyToDevice2D(a->to, width, a->host, pitch, width, height, a->stream));
  if (height > 0) memset(a->host, LATER, height * pitch);
  PetscCall(PetscSparseCUDACopyToHost2D(a->host, pitch, a->to, width, width, height, a->stream));
  PetscCallCUDA(cudaMemsetAsync(a->to, LATER, MAX_BYTES, a->stream));
  for (size_t k = 0; k < height * pitch; k++) {
    const size_t        column = k / pitch, row = k % pitch;
    const unsigned char right = row < width ? a->pattern[column * width + row] : LATER;

    PetscCheck(a->host[k] == right, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu columns of %zu bytes with gaps of %zu, %s memory: byte %zu of column %zu is 0x%x, not 0x%x", height, width, gap, memory, row,
               column, a->host[k], right);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMemory(Arrays *a, const char memory[])
{
  const int before = TransferThreads;
  Case      c;

  PetscFunctionBegin;
  for (size_t gap = 0; gap <= 24; gap += 8) {
    PetscCall(TestColumns(a, memory, 0, 5, gap));
    PetscCall(TestColumns(a, memory, 8, 0, gap));
    PetscCall(TestColumns(a, memory, 1, 1, gap));
    PetscCall(TestColumns(a, memory, 3 * MEBIBYTE + 8, 7, gap));
  }
  c.memory = memory;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(threads); i++) {
    c.threads       = threads[i];
    TransferThreads = (int)c.threads;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
      c.bytes = sizes[k];
      for (c.shift = 0; c.shift <= SHIFT; c.shift += SHIFT) {
        PetscCall(TestToDevice(a, &c));
        PetscCall(TestToHost(a, &c));
      }
    }
    PetscCheck(TransferThreads == c.threads, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " threads became %d: no pinned memory", c.threads, TransferThreads);
  }
  TransferThreads = before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCopies(void)
{
  const size_t room = MAX_BYTES + 2 * GUARD + SHIFT;
  Arrays       a;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&a.stream));
  PetscCall(PetscMalloc2(MAX_BYTES, &a.pattern, room, &a.check));
  for (size_t k = 0; k < MAX_BYTES; k++) a.pattern[k] = (unsigned char)(((uint64_t)k * 0x9e3779b97f4a7c15ull) >> 56);
  PetscCall(PetscSparseCUDAMalloc(room, "a test", a.stream, &a.from));
  PetscCall(PetscSparseCUDAMalloc(room, "a test", a.stream, &a.to));
  PetscCall(PetscMalloc1(room, &a.host));
  PetscCall(TestMemory(&a, "pageable"));
  PetscCall(PetscFree(a.host));
  PetscCallCUDA(cudaHostAlloc((void **)&a.host, room, cudaHostAllocDefault));
  PetscCall(TestMemory(&a, "pinned"));
  PetscCallCUDA(cudaFreeHost(a.host));
  PetscCall(PetscSparseCUDAFree(&a.from, a.stream));
  PetscCall(PetscSparseCUDAFree(&a.to, a.stream));
  PetscCall(PetscFree2(a.pattern, a.check));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of threads is that of the option, otherwise at least one and not too many. */
static PetscErrorCode TestOption(void)
{
  PetscInt  asked = 8;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_transfer_threads", &asked, &set));
  PetscCheck(set ? TransferThreads == asked : (TransferThreads >= 1 && TransferThreads <= 8), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d threads, %" PetscInt_FMT " were asked for", TransferThreads, asked);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool usable;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(TestOption());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(TestCopies());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}
    test:
      suffix: copies
      requires: cuda
    test:
      suffix: default
      args: -device_enable none
    test:
      suffix: option
      args: -device_enable none -mat_dcsr_transfer_threads {{0 2}}

TEST*/
