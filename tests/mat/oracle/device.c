#include "oracle.h"
#include "devicekernels.h"
#include <petscdevice_cuda.h>

/* What only a device has: insertion from inside kernels, and device contexts that change. Without one the same entries and operations come from the host. */

#define BLOCK_ROWS    2
#define BLOCK_COLUMNS 3

/* Entries for kernels: [BLOCK_ROWS * n] rows, [BLOCK_COLUMNS * n] columns, and their product of values, of which single entries take the first n of each. */
typedef struct {
  PetscInt     n;
  PetscInt    *i, *j;
  PetscScalar *v;
} Lists;

static PetscErrorCode ListsCreate(Oracle o, InsertMode mode, Lists *l)
{
  PetscInt M, N, begin, end;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  l->n = mode == INSERT_VALUES ? end - begin : OracleShared(o, OracleFlip(o, 2) ? 20 : 700);
  if (M == 0 || N == 0) l->n = 0;
  PetscCall(PetscMalloc3(BLOCK_ROWS * l->n, &l->i, BLOCK_COLUMNS * l->n, &l->j, BLOCK_ROWS * BLOCK_COLUMNS * l->n, &l->v));
  for (PetscInt k = 0; k < BLOCK_ROWS * l->n; k++) {
    const uint64_t h = OracleHash(o->fill, (uint64_t)o->rank + 1, (uint64_t)k);

    l->i[k] = mode == INSERT_VALUES ? begin + k % l->n : h % 13 ? (PetscInt)(h % (uint64_t)M) : -1; /* one entry a row: which of several is kept is left open */
  }
  for (PetscInt k = 0; k < BLOCK_COLUMNS * l->n; k++) {
    const uint64_t h = OracleHash(o->fill, (uint64_t)o->rank + 101, (uint64_t)k);

    l->j[k] = h % 17 ? (PetscInt)(h % (uint64_t)N) : -1;
  }
  for (PetscInt k = 0; k < BLOCK_ROWS * BLOCK_COLUMNS * l->n; k++) l->v[k] = OracleReal(o->fill, (uint64_t)o->rank + 201, (uint64_t)k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListsDestroy(Lists *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(l->i, l->j, l->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromHost(Mat X, const Lists *l, PetscBool blocks, InsertMode mode)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < l->n; k++) {
    if (blocks) PetscCall(MatSetValues(X, BLOCK_ROWS, &l->i[BLOCK_ROWS * k], BLOCK_COLUMNS, &l->j[BLOCK_COLUMNS * k], &l->v[BLOCK_ROWS * BLOCK_COLUMNS * k], mode));
    else PetscCall(MatSetValues(X, 1, &l->i[k], 1, &l->j[k], &l->v[k], mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToDevice(size_t bytes, const void *host, void **device)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(device, bytes + 1));
  PetscCallCUDA(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromKernel(Mat X, const Lists *l, PetscBool blocks, InsertMode mode)
{
  const PetscInt      capacity = l->n * (blocks ? BLOCK_ROWS * BLOCK_COLUMNS : 1);
  MatDCSRCUDAInserter ins;
  void               *i, *j, *v;

  PetscFunctionBegin;
  PetscCall(ToDevice((size_t)(BLOCK_ROWS * l->n) * sizeof(*l->i), l->i, &i));
  PetscCall(ToDevice((size_t)(BLOCK_COLUMNS * l->n) * sizeof(*l->j), l->j, &j));
  PetscCall(ToDevice((size_t)(BLOCK_ROWS * BLOCK_COLUMNS * l->n) * sizeof(*l->v), l->v, &v));
  PetscCallCUDA(cudaDeviceSynchronize()); /* PETSc's stream waits for no other */
  PetscCall(MatDCSRCUDAGetInserter(X, capacity, mode, &ins));
  if (blocks) PetscCall(OracleLaunchInsertBlocks(ins, l->n, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)v));
  else PetscCall(OracleLaunchInsert(ins, l->n, (const PetscInt *)i, (const PetscInt *)j, (const PetscScalar *)v));
  PetscCall(MatDCSRCUDARestoreInserter(X, &ins));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaFree(i));
  PetscCallCUDA(cudaFree(j));
  PetscCallCUDA(cudaFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kernels that insert entries, or blocks; now and then beside values from the host in the same assembly. */
static PetscErrorCode Inserter(Oracle o)
{
  const InsertMode mode   = OracleFlip(o, 4) ? INSERT_VALUES : ADD_VALUES;
  const PetscBool  blocks = (PetscBool)(mode == ADD_VALUES && OracleFlip(o, 2));
  const PetscInt   rounds = mode == ADD_VALUES ? 1 + OracleShared(o, 3) : 1;
  PetscBool        device;
  Lists            l;

  PetscFunctionBegin;
  PetscCall(OracleOnDevice(o, &device));
  for (PetscInt r = 0; r < rounds; r++) {
    PetscCall(ListsCreate(o, mode, &l));
    PetscCall(FromHost(o->A, &l, blocks, mode));
    if (device && r != 1) PetscCall(FromKernel(o->B, &l, blocks, mode));
    else PetscCall(FromHost(o->B, &l, blocks, mode));
    PetscCall(ListsDestroy(&l));
  }
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The root context, and others of its kind; NULL before they are needed. */
static PetscDeviceContext contexts[3];

/* Another context becomes the current one, after what the last one has under way: PETSc's own operations on vectors are in no order between contexts. */
PetscErrorCode OracleChangeContext(Oracle o)
{
  const PetscInt     which = OracleShared(o, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(contexts));
  PetscDeviceContext old;
  PetscBool          device;

  PetscFunctionBegin;
  PetscCall(OracleOnDevice(o, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDeviceContextGetCurrentContext(&old));
  if (contexts[0] == NULL) contexts[0] = old;
  if (contexts[which] == NULL) {
    PetscCall(PetscDeviceContextCreate(&contexts[which]));
    PetscCall(PetscDeviceContextSetUp(contexts[which]));
  }
  if (contexts[which] != old) PetscCall(PetscDeviceContextWaitForContext(contexts[which], old));
  PetscCall(PetscDeviceContextSetCurrentContext(contexts[which]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Back to the root context. */
PetscErrorCode OracleDestroyContexts(void)
{
  PetscFunctionBegin;
  if (contexts[0] != NULL) PetscCall(PetscDeviceContextSetCurrentContext(contexts[0]));
  for (size_t k = 1; k < PETSC_STATIC_ARRAY_LENGTH(contexts); k++) PetscCall(PetscDeviceContextDestroy(&contexts[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operation of our own code alone, since PETSc's vectors do not keep to the streams of such contexts. */
static PetscErrorCode Operate(Oracle o, PetscInt which)
{
  Mat X[2];

  PetscFunctionBegin;
  if (which == 0) OracleBoth(MatScale(o->A, -0.5), MatScale(o->B, -0.5));
  else if (which == 1) OracleBoth(MatAXPY(o->A, 0.5, o->A, SAME_NONZERO_PATTERN), MatAXPY(o->B, 0.5, o->B, SAME_NONZERO_PATTERN));
  else if (which == 2 && o->square) OracleBoth(MatShift(o->A, 1), MatShift(o->B, 1));
  else if (which == 3) {
    OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &X[0]), MatDuplicate(o->B, MAT_COPY_VALUES, &X[1]));
    PetscCall(OracleReplace(o, X[0], X[1]));
  } else if (which == 4) {
    Lists l;

    PetscCall(ListsCreate(o, ADD_VALUES, &l));
    OracleBoth(FromHost(o->A, &l, PETSC_FALSE, ADD_VALUES), FromHost(o->B, &l, PETSC_FALSE, ADD_VALUES));
    PetscCall(ListsDestroy(&l));
    PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  } else if (which == 5) {
    OracleBoth(MatTranspose(o->A, MAT_INITIAL_MATRIX, &X[0]), MatTranspose(o->B, MAT_INITIAL_MATRIX, &X[1]));
    PetscCall(OracleReplace(o, X[0], X[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations in two contexts in turn, whose streams know nothing of each other, without a wait of the host in between. */
static PetscErrorCode TwoContexts(Oracle o)
{
  const PetscInt     rounds = 2 + OracleShared(o, 8);
  PetscDeviceContext root = NULL, pair[2] = {NULL, NULL};
  PetscBool          device;

  PetscFunctionBegin;
  PetscCall(OracleOnDevice(o, &device));
  if (device) {
    PetscCall(PetscDeviceContextGetCurrentContext(&root));
    PetscCallCUDA(cudaDeviceSynchronize());
    for (int k = 0; k < 2; k++) {
      PetscCall(PetscDeviceContextCreate(&pair[k]));
      PetscCall(PetscDeviceContextSetStreamType(pair[k], PETSC_STREAM_NONBLOCKING));
      PetscCall(PetscDeviceContextSetUp(pair[k]));
    }
  }
  PetscCall(OracleSetOption(o, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt r = 0; r < rounds; r++) {
    if (device) PetscCall(PetscDeviceContextSetCurrentContext(pair[r % 2]));
    PetscCall(Operate(o, OracleShared(o, 6)));
    PetscCall(OracleSetOption(o, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* a duplicate forgets */
  }
  if (device) {
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(PetscDeviceContextSetCurrentContext(root));
    for (int k = 0; k < 2; k++) PetscCall(PetscDeviceContextDestroy(&pair[k]));
  }
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleDeviceOperations[] = {{"insertion from a kernel", 4, Inserter, PETSC_FALSE, 0},
                                                  {"operations in two device contexts", 2, TwoContexts, PETSC_FALSE, 1},
                                                  {NULL, 0, NULL, PETSC_FALSE, 0}};
