/*
  Memory in use on the device of a process, as NVIDIA's management library sees it, which every driver brings: it counts what any library holds.
*/
#include "benchmemory.h"
#include <petscdevice_cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#define NANOSECONDS 5000000 // from look to look

/* nvmlMemory_t */
typedef struct {
  unsigned long long total, free, used;
} Memory;

static struct {
  int (*get)(void *, Memory *); /* NULL: there is no library */
  void              *device;
  unsigned long long first, peak; /* bytes */
  volatile PetscBool stop;
  PetscBool          running;
  pthread_t          thread;
} look;

static void *Look(void *unused)
{
  const struct timespec pause = {0, NANOSECONDS};
  Memory                memory;

  while (!look.stop) {
    if ((*look.get)(look.device, &memory) == 0) look.peak = PetscMax(look.peak, memory.used);
    (void)nanosleep(&pause, NULL);
  }
  return unused;
}

/* The library, and the device that this process uses; get stays NULL when one of them is not found. */
static PetscErrorCode Open(void)
{
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init)(void), (*find)(const char *, void **);
  char   bus[64];
  int    device;
  Memory memory;

  PetscFunctionBegin;
  if (library == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *(void **)&init     = dlsym(library, "nvmlInit_v2");
  *(void **)&find     = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void **)&look.get = dlsym(library, "nvmlDeviceGetMemoryInfo");
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetPCIBusId(bus, sizeof(bus), device));
  if (init == NULL || find == NULL || look.get == NULL || (*init)() != 0 || (*find)(bus, &look.device) != 0 || (*look.get)(look.device, &memory) != 0) look.get = NULL;
  else look.first = memory.used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpenOnce(void)
{
  static PetscBool opened = PETSC_FALSE;

  PetscFunctionBegin;
  if (!opened) PetscCall(Open());
  opened = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives back what the device's own pool holds and has not handed out: hypre keeps all that it once had there. */
static PetscErrorCode TrimPool(void)
{
  int           device;
  cudaMemPool_t pool;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  PetscCallCUDA(cudaMemPoolTrimTo(pool, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMemoryMark - see benchmemory.h */
PetscErrorCode BenchMemoryMark(void)
{
  Memory memory;

  PetscFunctionBegin;
  PetscCall(OpenOnce());
  PetscCall(TrimPool());
  if (look.get != NULL && (*look.get)(look.device, &memory) == 0) look.first = memory.used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMemoryBegin - see benchmemory.h */
PetscErrorCode BenchMemoryBegin(void)
{
  PetscFunctionBegin;
  PetscCall(OpenOnce());
  if (look.get == NULL || look.running) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TrimPool());
  look.peak    = 0;
  look.stop    = PETSC_FALSE;
  look.running = (PetscBool)(pthread_create(&look.thread, NULL, Look, NULL) == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMemoryEnd - see benchmemory.h */
PetscErrorCode BenchMemoryEnd(MPI_Comm comm, PetscReal *bytes)
{
  PetscFunctionBegin;
  *bytes = -1;
  if (look.running) {
    look.stop = PETSC_TRUE;
    (void)pthread_join(look.thread, NULL);
    look.running = PETSC_FALSE;
    *bytes       = (PetscReal)(look.peak > look.first ? look.peak - look.first : 0);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, bytes, 1, MPIU_REAL, MPIU_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
