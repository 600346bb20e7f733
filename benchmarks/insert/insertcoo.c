/*
  Lists of coordinates: MatSetPreallocationCOO() and MatSetValuesCOO() of ours and of aijcusparse.
*/
#include "insertbench.h"
#include <cuda.h>
#include <dlfcn.h>

#define REPETITIONS 5
#define COMPETITOR  "aijcusparse"

/* A list wherever it is. */
typedef struct {
  PetscInt           num_rows;
  PetscCount         n;
  PetscBool          on_host;
  const PetscInt    *i, *j;
  PetscInt          *i_copy, *j_copy; /* [n] what MatSetPreallocationCOO() gets, since it may change it */
  const PetscScalar *v;
} COOList;

static PetscErrorCode CopyIndices(const COOList *list)
{
  const size_t bytes = (size_t)list->n * sizeof(PetscInt);

  PetscFunctionBegin;
  if (list->on_host) {
    PetscCall(PetscMemcpy(list->i_copy, list->i, bytes));
    PetscCall(PetscMemcpy(list->j_copy, list->j, bytes));
  } else {
    PetscCallCUDA(cudaMemcpy(list->i_copy, list->i, bytes, cudaMemcpyDeviceToDevice));
    PetscCallCUDA(cudaMemcpy(list->j_copy, list->j, bytes, cudaMemcpyDeviceToDevice));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new matrix of a list and the milliseconds that it took. */
static PetscErrorCode Assemble(const COOList *list, MatType type, PetscReal *ms, Mat *A)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(CopyIndices(list));
  PetscCall(InsertBenchTime(&begin));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, list->num_rows, list->num_rows, list->num_rows, list->num_rows));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, list->n, list->i_copy, list->j_copy));
  PetscCall(MatSetValuesCOO(*A, list->v, INSERT_VALUES));
  PetscCall(InsertBenchTime(&end));
  *ms = (PetscReal)(1e3 * (end - begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median milliseconds of several assemblies; the matrix of the last one. */
static PetscErrorCode AssembleRepeatedly(const COOList *list, MatType type, PetscReal *ms, Mat *A)
{
  PetscReal samples[REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < REPETITIONS; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(Assemble(list, type, samples + k, A));
  }
  PetscCall(InsertBenchMedian(REPETITIONS, samples, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/*
  The first assembly, which warms up, and the most device memory in use during it as a multiple of the finished matrix, or -1. All memory of the library comes
  from one pool, which counts what is handed out; what it keeps in reserve is not counted.
*/
static PetscErrorCode AssembleFirst(InsertBench *b, const COOList *list, PetscReal *peak_memory, Mat *A)
{
  cudaMemPool_t pool;
  PetscReal     ms;
  size_t        before, now, peak;
  uint64_t      zero = 0;
  PetscCount    bytes;

  PetscFunctionBegin;
  *peak_memory = -1;
  PetscCall(GetPool(b->timer.stream, &pool));
  PetscCallCUDA(cudaDeviceSynchronize());
  if (pool != NULL) PetscCallCUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(Assemble(list, MATDCSRCUDA, &ms, A));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  PetscCall(MatDCSRCUDAGetMemoryUsed(*A, &bytes));
  if (pool != NULL && bytes > 0) *peak_memory = (PetscReal)(peak - before) / (PetscReal)bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The competitor's matrix and milliseconds, one repetition; NULL and -1 when it fails, for lack of memory for instance. */
static PetscErrorCode AssembleCompetitor(const COOList *list, PetscReal *ms, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Assemble(list, MATAIJCUSPARSE, ms, B);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_SUCCESS) {
    (void)cudaGetLastError();
    *ms = -1;
    *B  = NULL; // what is left of it may not even be destroyed
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median milliseconds of new values for a matrix. */
static PetscErrorCode Refill(Mat A, const PetscScalar v[], InsertMode mode, PetscReal *ms)
{
  PetscReal      samples[REPETITIONS];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetValuesCOO(A, v, mode));
  for (PetscInt k = 0; k < REPETITIONS; k++) {
    PetscCall(InsertBenchTime(&begin));
    PetscCall(MatSetValuesCOO(A, v, mode));
    PetscCall(InsertBenchTime(&end));
    samples[k] = (PetscReal)(1e3 * (end - begin));
  }
  PetscCall(InsertBenchMedian(REPETITIONS, samples, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refills both matrices in both modes and compares them afterwards. Floor: every value of the list read, every one of the matrix written and, to be added to, read. */
static PetscErrorCode RefillCase(InsertBench *b, const char name[], const COOList *list, Mat A, Mat B)
{
  static const InsertMode  modes[2]   = {INSERT_VALUES, ADD_VALUES};
  static const char *const metrics[2] = {"refill-insert", "refill-add"};
  MatInfo                  info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  for (PetscInt k = 0; k < 2; k++) {
    const PetscReal values = (PetscReal)list->n + (PetscReal)(k + 1) * (PetscReal)info.nz_used;
    InsertResult    r      = {name, metrics[k], "ms", -1, -1, COMPETITOR, (PetscReal)1e-3 * values * (PetscReal)sizeof(PetscScalar) / b->bandwidth};

    PetscCall(Refill(A, list->v, modes[k], &r.ours));
    if (B != NULL) PetscCall(Refill(B, list->v, modes[k], &r.best));
    PetscCall(InsertBenchRecord(b, &r));
  }
  if (B != NULL) PetscCall(InsertBenchCompare(b, name, A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cases of one list: its assembly, and new values with the same structure; either may not be wanted. Floor: the list read once and the matrix written once. */
static PetscErrorCode RunList(InsertBench *b, const char name[], PetscBool assembly, const char refill_name[], PetscBool refill, const COOList *list)
{
  InsertResult time = {name, "assembly-time", "ms", -1, -1, COMPETITOR, -1}, memory = {name, "peak-memory", "matrix sizes", -1, -1, NULL, -1};
  Mat          A = NULL, B = NULL;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(AssembleFirst(b, list, &memory.ours, &A));
  if (assembly) PetscCall(AssembleRepeatedly(list, MATDCSRCUDA, &time.ours, &A));
  PetscCall(AssembleCompetitor(list, &time.best, &B));
  if (B != NULL) PetscCall(InsertBenchCompare(b, name, A, B));
  if (assembly) {
    if (!list->on_host) {
      PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
      time.floor = (PetscReal)list->n * (PetscReal)(2 * sizeof(PetscInt) + sizeof(PetscScalar)) + (PetscReal)info.nz_used * (PetscReal)(sizeof(int32_t) + sizeof(PetscScalar)) + (PetscReal)sizeof(int32_t) * ((PetscReal)list->num_rows + 1);
      time.floor *= (PetscReal)1e-3 / b->bandwidth;
    }
    PetscCall(InsertBenchRecord(b, &time));
    if (memory.ours >= 0) PetscCall(InsertBenchRecord(b, &memory));
  }
  if (refill) PetscCall(RefillCase(b, refill_name, list, A, B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDeviceList(InsertBench *b, const char name[], PetscBool assembly, const char refill_name[], PetscBool refill, const InsertList *from)
{
  COOList list = {from->num_rows, from->n, PETSC_FALSE, from->i, from->j, NULL, NULL, from->v};

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(list.n, "rows for the matrix", b->timer.stream, &list.i_copy));
  PetscCall(PetscSparseCUDAMalloc(list.n, "columns for the matrix", b->timer.stream, &list.j_copy));
  PetscCall(RunList(b, name, assembly, refill_name, refill, &list));
  PetscCall(PetscSparseCUDAFree(&list.i_copy, b->timer.stream));
  PetscCall(PetscSparseCUDAFree(&list.j_copy, b->timer.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same list in pageable memory; the one in device memory is freed, for it would count as somebody else's memory. */
static PetscErrorCode RunHostList(InsertBench *b, const char name[], InsertList *from)
{
  const size_t bytes = (size_t)from->n * sizeof(PetscInt);
  COOList      list  = {from->num_rows, from->n, PETSC_TRUE, NULL, NULL, NULL, NULL, NULL};
  PetscInt    *i, *j;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(list.n, &i, list.n, &j, list.n, &v, list.n, &list.i_copy, list.n, &list.j_copy));
  PetscCallCUDA(cudaMemcpy(i, from->i, bytes, cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(j, from->j, bytes, cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(v, from->v, (size_t)list.n * sizeof(*v), cudaMemcpyDeviceToHost));
  PetscCall(InsertListDestroy(from, b->timer.stream));
  list.i = i;
  list.j = j;
  list.v = v;
  PetscCall(RunList(b, name, PETSC_TRUE, NULL, PETSC_FALSE, &list));
  PetscCall(PetscFree5(i, j, v, list.i_copy, list.j_copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two points: what the first use of either type starts, such as handles, is not part of anything measured later. */
static PetscErrorCode WarmUp(void)
{
  PetscInt          i[2] = {0, 1}, j[2] = {0, 1}, i_copy[2], j_copy[2];
  const PetscScalar v[2]     = {1.0, 1.0};
  const COOList     list     = {2, 2, PETSC_TRUE, i, j, i_copy, j_copy, v};
  const MatType     types[2] = {MATDCSRCUDA, MATAIJCUSPARSE};
  PetscReal         ms;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    Mat A;
    Vec x, y;

    PetscCall(Assemble(&list, types[k], &ms, &A));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 1.0));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchCOO - coo-device, coo-refill, coo-host, coo-fem and coo-fem-refill */
PetscErrorCode InsertBenchCOO(InsertBench *b)
{
  InsertList list;
  PetscBool  device, refill, host, fem, fem_refill;

  PetscFunctionBegin;
  PetscCall(WarmUp());
  PetscCall(InsertBenchWants(b, "coo-device", &device));
  PetscCall(InsertBenchWants(b, "coo-refill", &refill));
  PetscCall(InsertBenchWants(b, "coo-host", &host));
  if (device || refill || host) PetscCall(InsertListStencil27(b->stencil_n, b->timer.stream, &list));
  if (device || refill) PetscCall(RunDeviceList(b, "coo-device", device, "coo-refill", refill, &list));
  if (host) PetscCall(RunHostList(b, "coo-host", &list));
  if (device || refill || host) PetscCall(InsertListDestroy(&list, b->timer.stream));
  PetscCall(InsertBenchWants(b, "coo-fem", &fem));
  PetscCall(InsertBenchWants(b, "coo-fem-refill", &fem_refill));
  if (!fem && !fem_refill) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertListHexahedra(b->hexahedra_n, b->timer.stream, &list));
  PetscCall(RunDeviceList(b, "coo-fem", fem, "coo-fem-refill", fem_refill, &list));
  PetscCall(InsertListDestroy(&list, b->timer.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
