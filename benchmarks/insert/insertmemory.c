/*
  The most device memory in use during an assembly. All memory of the library comes from one pool, which counts what is handed out; what it keeps in reserve is
  not counted.
*/
#include "insertbench.h"
#include "../../tests/lib/sys.h"
#include <cuda.h>
#include <dlfcn.h>

/* The pool that the library's device memory comes from, by the driver, which every pointer tells its pool; NULL when it cannot be had. */
static PetscErrorCode GetPool(cudaStream_t stream, cudaMemPool_t *pool)
{
  void *library                                             = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CUresult (*get)(void *, CUpointer_attribute, CUdeviceptr) = NULL;
  char *memory;

  PetscFunctionBegin;
  *pool = NULL;
  if (library == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *(void **)&get = dlsym(library, "cuPointerGetAttribute");
  PetscCall(PetscSparseCUDAMalloc(1, "a byte of the pool", stream, &memory));
  if (get == NULL || (*get)(pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, (CUdeviceptr)memory) != CUDA_SUCCESS) *pool = NULL;
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  (void)dlclose(library);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertMemoryBegin - see insertbench.h */
PetscErrorCode InsertMemoryBegin(Bench *b, InsertMemory *memory)
{
  size_t   peak;
  uint64_t zero = 0;

  PetscFunctionBegin;
  PetscCall(GetPool(b->stream, &memory->pool));
  PetscCallCUDA(cudaDeviceSynchronize());
  if (memory->pool != NULL) PetscCallCUDA(cudaMemPoolSetAttribute(memory->pool, cudaMemPoolAttrUsedMemHigh, &zero));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&memory->before, &peak));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertMemoryRecord - see insertbench.h */
PetscErrorCode InsertMemoryRecord(Bench *b, const char name[], PetscReal peak)
{
  const InsertResult r = {name, "peak-memory", "matrix sizes", peak, -1, NULL, -1};

  PetscFunctionBegin;
  if (peak >= 0) PetscCall(InsertBenchRecord(b, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertMemoryEnd - see insertbench.h */
PetscErrorCode InsertMemoryEnd(const InsertMemory *memory, Mat A, PetscReal *peak)
{
  size_t     now, most;
  PetscCount bytes;

  PetscFunctionBegin;
  *peak = -1;
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &most));
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, &bytes));
  if (memory->pool != NULL && bytes > 0) *peak = (PetscReal)(most - memory->before) / (PetscReal)bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}
