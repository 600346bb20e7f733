#include "exportable.h"
#include "testing.h"
#include "../petsc/sys.h"
#include <petscsparsecuda/record.h>

PETSC_HASH_SET(Addresses, khint64_t, kh_int64_hash_func, kh_int64_hash_equal)

/*
  While the pool has up to this part of the device's memory, it keeps what is free in it, because at each synchronization it gives back the rest, and mapping that
  again takes longer than the operations that want it. Out of memory, it gives back everything.
*/
#define POOL_KEEP_PART 4

/* PetscSparseCUDATrimMemory() leaves less than this part of what is in use. */
#define TRIM_PART 16
/* A device with less than this part of its memory free is short of it, */
#define SHORT_PART 4
/* and more than this part that our pool holds and has not handed out is much. */
#define IDLE_PART 8

cudaMemPool_t MemoryPool                              = NULL; /* destroyed in PetscFinalize() */
PetscInt      MemoryTestFail                          = 0;
size_t        MemoryTestAvailable                     = 0;
PetscErrorCode (*PetscSparseCUDATestInitialize)(void) = NULL;

/* What recorded work has to know: whether memory that it may use is still there. */
static PetscAddresses young    = NULL; /* what was handed out since PetscSparseCUDAWatchMemory() and is not freed; NULL before the first call */
static PetscInt64     changes  = 0;    /* allocations and releases so far */
static PetscInt64     old_lost = 0;    /* releases of what was there before that call; before the first one, all */
static int            unused   = 0;    /* calls of PetscSparseCUDAReleaseUnused() without an end */

static PetscErrorCode NoteAllocation(const void *ptr)
{
  PetscFunctionBegin;
  changes++;
  if (young != NULL) PetscCall(PetscAddressesAdd(young, (khint64_t)(uintptr_t)ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoteRelease(const void *ptr)
{
  PetscBool is_young = PETSC_FALSE;

  PetscFunctionBegin;
  changes++;
  if (young != NULL) PetscCall(PetscAddressesQueryDel(young, (khint64_t)(uintptr_t)ptr, &is_young));
  if (!is_young && unused == 0) old_lost++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPool(void)
{
  PetscFunctionBegin;
  PetscCall(PetscAddressesDestroy(&young));
  if (MemoryPool != NULL) PetscCallCUDA(cudaMemPoolDestroy(MemoryPool));
  MemoryPool = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePool(void)
{
  struct cudaMemPoolProps props;
  uint64_t                keep;
  size_t                  free_bytes, total_bytes;
  int                     device;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCall(PetscMemzero(&props, sizeof(props)));
  props.allocType     = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id   = device;
  PetscCallCUDA(cudaMemPoolCreate(&MemoryPool, &props));
  PetscCallCUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  keep = (uint64_t)total_bytes / POOL_KEEP_PART;
  PetscCallCUDA(cudaMemPoolSetAttribute(MemoryPool, cudaMemPoolAttrReleaseThreshold, &keep));
  PetscCall(PetscRegisterFinalize(DestroyPool));
  PetscCall(PetscSparseCUDAPreloadBegin()); // the first use of the device
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One more allocation; whether a test wants it to fail. */
static PetscErrorCode CountAllocation(PetscBool *fails)
{
  PetscFunctionBegin;
  if (MemoryPool == NULL && PetscMemTypeDevice(PetscSparseCUDAExportableMemType)) PetscCall(CreatePool());
  *fails = (PetscBool)(MemoryTestFail > 0 && --MemoryTestFail == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device is full: all that is kept and not in use goes back to it. */
static PetscErrorCode GiveBack(cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaMemPoolTrimTo(MemoryPool, 0));
  PetscCall(ExportableGiveBack(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TryPool(size_t bytes, cudaStream_t stream, void **ptr)
{
  cudaError_t error;

  PetscFunctionBegin;
  error = cudaMallocFromPoolAsync(ptr, bytes, MemoryPool, stream);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    PetscCall(GiveBack(stream));
    error = cudaMallocFromPoolAsync(ptr, bytes, MemoryPool, stream);
  }
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    *ptr = NULL;
  } else PetscCallCUDA(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDATryMalloc_Private - Stream-ordered device allocation, for work queued on the stream from now on; use the macro PetscSparseCUDATryMalloc().
  ptr is aligned for any type; NULL for 0 bytes, and when there is no memory. When the device is full, memory that is kept and not in use is given back and the allocation is tried once more.
*/
PetscErrorCode PetscSparseCUDATryMalloc_Private(size_t bytes, cudaStream_t stream, void **ptr)
{
  PetscBool fails = PETSC_FALSE;

  PetscFunctionBegin;
  *ptr = NULL;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscSparseCUDARecorder() == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory is asked for while work is recorded");
  PetscCall(CountAllocation(&fails));
  if (!fails) PetscCall(TryPool(bytes, stream, ptr));
  if (*ptr != NULL) PetscCall(NoteAllocation(*ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of an allocation that has got nothing. */
static PetscErrorCode CheckAllocated(const void *ptr, size_t bytes, const char what[])
{
  size_t available = 0, total = 0;

  PetscFunctionBegin;
  if (ptr != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  (void)cudaMemGetInfo(&available, &total);
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
          "Out of device memory for %s: asked for %zu bytes, %zu of %zu are free. Use more GPUs, or keep this matrix on the host with -mat_bind_below or MatBindToCPU()", what, bytes, available,
          total);
}

/* PetscSparseCUDAMalloc_Private - The same for memory that must be had, which what names in the message of PETSC_ERR_MEM; use the macro PetscSparseCUDAMalloc(). ptr is NULL after an error */
PetscErrorCode PetscSparseCUDAMalloc_Private(size_t bytes, const char what[], cudaStream_t stream, void **ptr)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMalloc_Private(bytes, stream, ptr));
  if (bytes > 0) PetscCall(CheckAllocated(*ptr, bytes, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDATryMallocExportable_Private - PetscSparseCUDATryMalloc_Private() for buffers that PetscSF or MPI reads or writes (exportable.c); use the macro PetscSparseCUDATryMallocExportable().
  An MPI that is not GPU-aware gets no device memory, and the pool's will do.
*/
PetscErrorCode PetscSparseCUDATryMallocExportable_Private(size_t bytes, cudaStream_t stream, void **ptr)
{
  PetscBool fails = PETSC_FALSE;

  PetscFunctionBegin;
  *ptr = NULL;
  if (bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscSparseCUDARecorder() == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory is asked for while work is recorded");
  PetscCall(CountAllocation(&fails));
  if (!fails && (use_gpu_aware_mpi || PetscMemTypeHost(PetscSparseCUDAExportableMemType))) {
    PetscCall(ExportableGet(bytes, ptr));
    if (*ptr == NULL) {
      PetscCall(GiveBack(stream));
      PetscCall(ExportableGet(bytes, ptr));
    }
  } else if (!fails) {
    PetscCall(ExportableReserve());
    PetscCall(TryPool(bytes, stream, ptr));
    if (*ptr != NULL) ExportableAdd(*ptr, bytes);
  }
  if (*ptr != NULL) PetscCall(NoteAllocation(*ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAMallocExportable_Private - PetscSparseCUDAMalloc_Private() for such buffers; use the macro PetscSparseCUDAMallocExportable(). ptr is NULL for 0 bytes and after an error */
PetscErrorCode PetscSparseCUDAMallocExportable_Private(size_t bytes, const char what[], cudaStream_t stream, void **ptr)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDATryMallocExportable_Private(bytes, stream, ptr));
  if (bytes > 0) PetscCall(CheckAllocated(*ptr, bytes, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAFree_Private - Stream-ordered release, after the work queued on the stream so far; use the macro PetscSparseCUDAFree().
  ptr points to memory of PetscSparseCUDAMalloc() or PetscSparseCUDAMallocExportable(), or to NULL; *ptr is NULL afterwards.
*/
PetscErrorCode PetscSparseCUDAFree_Private(void **ptr, cudaStream_t stream)
{
  PetscBool exportable, pooled;

  PetscFunctionBegin;
  if (*ptr == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscSparseCUDARecorder() == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory is freed while work is recorded");
  PetscCall(NoteRelease(*ptr));
  PetscCall(ExportableReturn(*ptr, &exportable, &pooled));
  if (!exportable || pooled) PetscCallCUDA(cudaFreeAsync(*ptr, stream));
  *ptr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAGetMemoryAvailable - Bytes of device memory that allocations can count on: what is free, and what our pool and exportable memory hold and have not handed out.
  Memory that is fragmented, or that other processes take meanwhile, makes it less.
*/
PetscErrorCode PetscSparseCUDAGetMemoryAvailable(size_t *available)
{
  uint64_t reserved = 0, used = 0;
  size_t   total, in_use, kept;

  PetscFunctionBegin;
  if (MemoryPool == NULL) PetscCall(CreatePool());
  if (MemoryTestAvailable > 0) {
    *available = MemoryTestAvailable;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaMemGetInfo(available, &total));
  PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrUsedMemCurrent, &used));
  if (reserved > used) *available += (size_t)(reserved - used);
  ExportableGetBytes(&in_use, &kept);
  *available += kept;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDATrimMemory - Gives back what our pool holds and has not handed out, when that is much or the device is short of memory, and exportable memory that is kept, when it is short.
  always: in any case; for tests, whose pools are small. Vectors of PETSc and other libraries cannot use what our pool holds. To be called between phases of a program that need different temporaries,
  not inside of them.
  Cost: one synchronization with the current stream, whose frees are waited for. What is given back has to be mapped again, which takes longer than giving it back.
*/
PetscErrorCode PetscSparseCUDATrimMemory(PetscBool always)
{
  uint64_t     reserved = 0, used = 0;
  size_t       free_bytes, total_bytes;
  PetscBool    is_short;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (MemoryPool == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  is_short = (PetscBool)(free_bytes < total_bytes / SHORT_PART);
  PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrUsedMemCurrent, &used));
  if (!always && !is_short && reserved - used <= total_bytes / IDLE_PART) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  PetscCallCUDA(cudaMemPoolGetAttribute(MemoryPool, cudaMemPoolAttrUsedMemCurrent, &used));
  if (reserved > used + used / TRIM_PART) PetscCallCUDA(cudaMemPoolTrimTo(MemoryPool, (size_t)used));
  if (is_short) PetscCall(ExportableGiveBack(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAWatchMemory - What the library has handed out by now counts as old from now on: PetscSparseCUDAGetMemoryChanges() says when some of it is freed
  For work that is recorded now, with the addresses that it uses. When there was an earlier call, memory that came since then becomes old for its caller too, who may learn of more than he has to.
*/
PetscErrorCode PetscSparseCUDAWatchMemory(void)
{
  PetscFunctionBegin;
  if (MemoryPool == NULL) PetscCall(CreatePool()); // so that the set goes with it
  if (young == NULL) PetscCall(PetscAddressesCreate(&young));
  else PetscCall(PetscAddressesClear(young));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDAReleaseUnused - Says (begin) that no recorded work uses what is freed from now on, until the call with PETSC_FALSE: PetscSparseCUDAGetMemoryChanges() does not count it as lost. Pairs
  of calls may be nested
*/
void PetscSparseCUDAReleaseUnused(PetscBool begin)
{
  unused += begin ? 1 : -1;
}

/*
  PetscSparseCUDAGetMemoryChanges - How often the library's device memory has changed: all allocations and releases so far
  lost: releases of what was there at the last PetscSparseCUDAWatchMemory(); all before the first. Temporaries that came later do not count, nor what PetscSparseCUDAReleaseUnused() was told of.
*/
PetscErrorCode PetscSparseCUDAGetMemoryChanges(PetscInt64 *all, PetscInt64 *lost)
{
  PetscFunctionBegin;
  *all  = changes;
  *lost = old_lost;
  PetscFunctionReturn(PETSC_SUCCESS);
}
