/*
  y = A x and y = A^T x by cuSPARSE; see benchcusparse.h.
*/
#include "benchcusparse.h"
#include <dlfcn.h>

#define MAX_LIBRARIES 2
#define MAX_NAMES     64

static const double One = 1.0, Zero = 0.0;

static BenchCusparseLibrary libraries[MAX_LIBRARIES];
static PetscInt             num_libraries = 0;

/* Functions from what dlopen() gave; NULL: from what is linked. */
static PetscErrorCode LoadLibrary(void *file, BenchCusparseLibrary *l)
{
  int version;

  PetscFunctionBegin;
#define LOAD(f) \
  l->f = cusparse##f; \
  if (file) *(void **)&l->f = dlsym(file, "cusparse" #f); \
  PetscCheck(l->f, PETSC_COMM_SELF, PETSC_ERR_LIB, "The library of -newest_cusparse has no cusparse" #f "(): give it the libcusparse.so.12 of CUDA 13");
  BENCH_CUSPARSE_FUNCTIONS(LOAD)
#define LOAD_NEW(f, arguments) *(void **)&l->f = dlsym(file ? file : RTLD_DEFAULT, "cusparse" #f);
  BENCH_CUSPARSE_NEW_FUNCTIONS(LOAD_NEW)
  PetscCallCUSPARSE(l->Create(&l->handle));
  PetscCallCUSPARSE(l->SetPointerMode(l->handle, CUSPARSE_POINTER_MODE_HOST));
  PetscCallCUSPARSE(l->GetVersion(l->handle, &version));
  if (file) PetscCall(PetscSNPrintf(l->version, sizeof(l->version), " %d.%d.%d", version / 1000, version / 100 % 10, version % 100));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCusparseGetLibraries - see benchcusparse.h */
PetscErrorCode BenchCusparseGetLibraries(cudaStream_t stream, PetscInt *n, const BenchCusparseLibrary *first[])
{
  PetscFunctionBegin;
  if (num_libraries == 0) {
    char      path[PETSC_MAX_PATH_LEN];
    PetscBool given;

    PetscCall(LoadLibrary(NULL, &libraries[num_libraries++]));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-newest_cusparse", path, sizeof(path), &given));
    if (given) {
      void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND); // its path has a slash: the one that is linked has the same name

      PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-newest_cusparse %s: %s", path, dlerror());
      PetscCall(LoadLibrary(file, &libraries[num_libraries++]));
    }
  }
  for (PetscInt i = 0; i < num_libraries; i++) PetscCallCUSPARSE(libraries[i].SetStream(libraries[i].handle, stream));
  *n     = num_libraries;
  *first = libraries;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCusparseName - see benchcusparse.h */
PetscErrorCode BenchCusparseName(const BenchCusparseLibrary *l, const char algorithm[], const char *name[])
{
  static char names[MAX_NAMES][64];
  char        wanted[64];
  PetscInt    i = 0;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(wanted, sizeof(wanted), "cuSPARSE%s %s", l->version, algorithm));
  for (; names[i][0]; i++) {
    PetscCall(PetscStrcmp(names[i], wanted, &same));
    if (same) break;
  }
  PetscCheck(i + 1 < MAX_NAMES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d names of algorithms", MAX_NAMES - 1);
  PetscCall(PetscStrncpy(names[i], wanted, sizeof(names[i])));
  *name = names[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSpMV(BenchCusparse *c, cudaStream_t stream)
{
  const BenchCusparseLibrary *l     = c->library;
  size_t                      bytes = 0;

  PetscFunctionBegin;
  PetscCallCUSPARSE(l->SpMV_bufferSize(l->handle, c->operation, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, &bytes));
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  PetscCallCUSPARSE(l->SpMV_preprocess(l->handle, c->operation, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->plan stays NULL where the library, or its algorithm, does not do the product so. */
static PetscErrorCode CreateSpMVOp(BenchCusparse *c, int algorithm, cudaStream_t stream)
{
  const BenchCusparseLibrary *l     = c->library;
  size_t                      bytes = 0;

  PetscFunctionBegin;
  if (!l->SpMVOp_bufferSize || l->SpMVOp_bufferSize(l->handle, c->operation, c->matrix, c->x, c->y, c->y, CUDA_R_64F, algorithm, &bytes) != CUSPARSE_STATUS_SUCCESS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc(bytes + 16, "cuSPARSE buffer", stream, &c->buffer));
  if (l->SpMVOp_createDescr(l->handle, &c->descr, c->operation, c->matrix, c->x, c->y, c->y, CUDA_R_64F, algorithm, c->buffer) != CUSPARSE_STATUS_SUCCESS) c->descr = NULL;
  if (c->descr && l->SpMVOp_createPlan(l->handle, c->descr, &c->plan, NULL, 0) != CUSPARSE_STATUS_SUCCESS) c->plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(BenchCusparse *c, cudaStream_t stream)
{
  const BenchCusparseLibrary *l = c->library;

  PetscFunctionBegin;
  if (c->plan) PetscCallCUSPARSE(l->SpMVOp_destroyPlan(c->plan));
  if (c->descr) PetscCallCUSPARSE(l->SpMVOp_destroyDescr(c->descr));
  PetscCallCUSPARSE(l->DestroySpMat(c->matrix));
  PetscCallCUSPARSE(l->DestroyDnVec(c->x));
  PetscCallCUSPARSE(l->DestroyDnVec(c->y));
  PetscCall(PetscSparseCUDAFree(&c->buffer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* op: of SpMVOp, else of SpMV. */
static const struct {
  const char *name;
  PetscBool   op;
  int         algorithm;
} algorithms[] = {{"ALG1", PETSC_FALSE, CUSPARSE_SPMV_CSR_ALG1},
                  {"ALG2", PETSC_FALSE, CUSPARSE_SPMV_CSR_ALG2},
                  {"DEFAULT", PETSC_FALSE, CUSPARSE_SPMV_ALG_DEFAULT},
                  {"SpMVOp ALG1", PETSC_TRUE, 1},
                  {"SpMVOp ALG2", PETSC_TRUE, 2}};

/*
  BenchCusparseForEach - Calls a function with each algorithm of each library that does the product; compact storage with 32-bit offsets, real double

  Input Parameters:
+ view      - A
. operation - whether A or its transpose is multiplied
. x         - on the device
. y         - on the device
. stream    - of all work
. fn        - what is called, with a product that BenchCusparseRun() makes
- ctx       - given to it
*/
PetscErrorCode BenchCusparseForEach(DCSRView view, cusparseOperation_t operation, PetscScalar x[], PetscScalar y[], cudaStream_t stream, BenchCusparseFn *fn, void *ctx)
{
  const PetscBool             transpose = (PetscBool)(operation == CUSPARSE_OPERATION_TRANSPOSE);
  const BenchCusparseLibrary *l;
  PetscInt                    n;

  PetscFunctionBegin;
  PetscCall(BenchCusparseGetLibraries(stream, &n, &l));
  for (; n > 0; n--, l++) {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(algorithms); i++) {
      BenchCusparse c = {.library = l, .operation = operation, .algorithm = (cusparseSpMVAlg_t)algorithms[i].algorithm};

      PetscCall(BenchCusparseName(l, algorithms[i].name, &c.name));
      PetscCallCUSPARSE(l->CreateCsr(&c.matrix, view.num_rows, view.num_columns, view.num_nonzeros, view.row_offsets, view.columns, view.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
      PetscCallCUSPARSE(l->CreateDnVec(&c.x, transpose ? view.num_rows : view.num_columns, x, CUDA_R_64F));
      PetscCallCUSPARSE(l->CreateDnVec(&c.y, transpose ? view.num_columns : view.num_rows, y, CUDA_R_64F));
      if (algorithms[i].op) PetscCall(CreateSpMVOp(&c, algorithms[i].algorithm, stream));
      else PetscCall(CreateSpMV(&c, stream));
      if (!algorithms[i].op || c.plan) PetscCall((*fn)(&c, ctx));
      else if (l->SpMVOp) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s failed\n", c.name));
      PetscCall(Destroy(&c, stream));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchCusparseRun - one product; a BenchFn */
PetscErrorCode BenchCusparseRun(void *ctx, cudaStream_t stream)
{
  const BenchCusparse        *c = (const BenchCusparse *)ctx;
  const BenchCusparseLibrary *l = c->library;

  PetscFunctionBegin;
  (void)stream;
  if (c->plan) PetscCallCUSPARSE(l->SpMVOp(l->handle, c->plan, &One, &Zero, c->x, c->y, c->y));
  else PetscCallCUSPARSE(l->SpMV(l->handle, c->operation, &One, c->matrix, c->x, &Zero, c->y, CUDA_R_64F, c->algorithm, c->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
