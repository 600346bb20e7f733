static char help[] =
  "Products that hide an exchange work on a stream of their own: it is in order with what the program does with the vectors before and after, and what waits for the legacy stream does not wait for it.\n\
  Streams are PETSc's default ones: with others PETSc orders its own work on vectors in no way (docs/limits.md).\n\n";

#include "testmat.h"
#include <petscsparsecuda/sidestream.h>
#include "../../../../src/petsc/mat.h"
#include <time.h>

#define BUSY_PRODUCTS 100                 /* queued before a product: milliseconds, in which it would be done if it did not wait */
#define ATTEMPTS      10                  /* a host that others keep from its core may come too late */
#define SIDE          (usable ? 600 : 20) /* points of a side: on a device a product takes longer than the host to queue what comes next */

static PetscBool usable;
static TestBusy  busy;

typedef enum {
  MULT,
  MULT_ADD,
  TRANSPOSE,
  TRANSPOSE_ADD,
  NUM_PRODUCTS
} Product;

static const char *const names[] = {"MatMult()", "MatMultAdd()", "MatMultTranspose()", "MatMultTransposeAdd()"};

static PetscErrorCode Multiply(Product product, Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  if (product == MULT) PetscCall(MatMult(A, x, y));
  else if (product == MULT_ADD) PetscCall(MatMultAdd(A, x, z, y));
  else if (product == TRANSPOSE) PetscCall(MatMultTranspose(A, x, y));
  else PetscCall(MatMultTransposeAdd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of a product. They live until it has been compared, so that nothing waits for the device when they go. */
typedef struct {
  Vec x, z, y;
} Vectors;

/* x is changed on the device and z on the host just before the product, y has no memory yet; all three are changed on the device just after it. */
static PetscErrorCode Run(Product product, Mat A, const TestBusy *before, Vectors *v)
{
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v->x, &v->z));
  PetscCall(TestFill(v->x, 1));
  PetscCall(VecScale(v->x, 2)); // now on the device
  PetscCall(VecScale(v->z, 2));
  PetscCall(VecDuplicate(v->z, &v->y));
  PetscCall(TestBusyRun(before, BUSY_PRODUCTS));
  PetscCall(VecScale(v->x, 0.25));
  PetscCall(TestFill(v->z, 2));
  PetscCall(Multiply(product, A, v->x, v->z, v->y));
  PetscCall(VecSet(v->x, -1));
  PetscCall(VecSet(v->z, -1));
  PetscCall(VecShift(v->y, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorsDestroy(Vectors *v)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&v->x));
  PetscCall(VecDestroy(&v->z));
  PetscCall(VecDestroy(&v->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With all plans made, and without. */
static PetscErrorCode TestOrder(MatType type)
{
  const TestBusy idle = {0};
  Mat            A[2];
  Vectors        v[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(TestCreatePoisson(k ? type : MATAIJ, SIDE, &A[k]));
  for (int round = 0; round < 2; round++)
    for (Product p = MULT; p < NUM_PRODUCTS; p++) {
      for (int k = 0; k < 2; k++) PetscCall(Run(p, A[k], k ? &busy : &idle, &v[k]));
      PetscCall(TestCompareVec(v[0].y, v[1].y, names[p]));
      for (int k = 0; k < 2; k++) PetscCall(VectorsDestroy(&v[k]));
    }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static struct _MatOps own; /* of the diagonal block */

static void CUDART_CB Sleep(void *unused)
{
  const struct timespec late = {.tv_nsec = 5000000};

  (void)unused;
  (void)nanosleep(&late, NULL);
}

/* The products of the diagonal block, when their stream has slept. */
static PetscErrorCode BeLate(void)
{
  PetscFunctionBegin;
  if (PetscSparseCUDAGetSideStream() != NULL) PetscCallCUDA(cudaLaunchHostFunc(PetscSparseCUDAGetSideStream(), Sleep, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_LATE(operation, parameters, arguments) \
  static PetscErrorCode Late_##operation parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(BeLate()); \
    PetscCall((*own.operation)arguments); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_LATE(mult, (Mat A, Vec x, Vec y), (A, x, y))
DEFINE_LATE(multadd, (Mat A, Vec x, Vec z, Vec y), (A, x, z, y))
DEFINE_LATE(multtranspose, (Mat A, Vec x, Vec y), (A, x, y))
DEFINE_LATE(multtransposeadd, (Mat A, Vec x, Vec z, Vec y), (A, x, z, y))

static PetscErrorCode MakeLate(Mat A)
{
  PetscInt num;
  Mat      blocks[2];

  PetscFunctionBegin;
  PetscCall(TestBlocks(A, &num, blocks));
  own                              = *blocks[0]->ops;
  blocks[0]->ops->mult             = Late_mult;
  blocks[0]->ops->multadd          = Late_multadd;
  blocks[0]->ops->multtranspose    = Late_multtranspose;
  blocks[0]->ops->multtransposeadd = Late_multtransposeadd;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The side stream is late: the first product of a matrix, for which PetscSF makes its buffers, and the second one. */
static PetscErrorCode TestLate(MatType type)
{
  const TestBusy idle = {0};

  PetscFunctionBegin;
  for (Product p = MULT; p < NUM_PRODUCTS; p++) {
    Mat A[2];

    for (int k = 0; k < 2; k++) PetscCall(TestCreatePoisson(k ? type : MATAIJ, 20, &A[k]));
    PetscCall(MakeLate(A[1]));
    for (int round = 0; round < 2; round++) {
      Vectors v[2];

      for (int k = 0; k < 2; k++) PetscCall(Run(p, A[k], &idle, &v[k]));
      PetscCall(TestCompareVec(v[0].y, v[1].y, names[p]));
      for (int k = 0; k < 2; k++) PetscCall(VectorsDestroy(&v[k]));
    }
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Queues products on a side stream, and then a copy on a blocking stream, as a CUDA-aware MPI makes it; first: it is done before them. */
static PetscErrorCode TryCopy(cudaStream_t work, cudaStream_t copies, char memory[], PetscBool *first)
{
  cudaError_t state;

  PetscFunctionBegin;
  PetscCall(TestBusyRun(&busy, BUSY_PRODUCTS));
  PetscCallCUDA(cudaMemsetAsync(memory, 0, 1, copies));
  PetscCallCUDA(cudaStreamSynchronize(copies));
  state  = cudaStreamQuery(work);
  *first = (PetscBool)(state == cudaErrorNotReady);
  if (*first) (void)cudaGetLastError(); // not for a later check to find
  else PetscCallCUDA(state);
  PetscCallCUDA(cudaStreamSynchronize(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSideStream(void)
{
  cudaStream_t   work, copies, given, context;
  PetscBool      first = PETSC_FALSE;
  PetscErrorCode ierr;
  char          *memory;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  PetscCallCUDA(cudaStreamCreate(&copies));
  PetscCallCUDA(cudaMalloc((void **)&memory, 1));
  PetscCall(PetscSparseCUDAGetStream(&context));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscSparseCUDASideStreamBegin(work, context));
  PetscCall(PetscSparseCUDAGetStream(&given));
  PetscCheck(given == work, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Work does not go to the side stream");
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PetscSparseCUDASideStreamBegin(work, context);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_PLIB, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Work that goes to a side stream goes to one again: error %d is not PETSC_ERR_PLIB", (int)ierr);
  for (int k = 0; k < ATTEMPTS && !first; k++) PetscCall(TryCopy(work, copies, memory, &first));
  PetscCheck(first, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Copies wait for work on the side stream");
  PetscCall(PetscSparseCUDASideStreamEnd());
  PetscCall(PetscSparseCUDAFollow(context, work));
  PetscCall(PetscSparseCUDAGetStream(&given));
  PetscCheck(given == context, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Work goes to the side stream for ever");
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaFree(memory));
  PetscCallCUDA(cudaStreamDestroy(copies));
  PetscCallCUDA(cudaStreamDestroy(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool waits;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCall(PetscArrayzero(&busy, 1));
  if (usable) PetscCall(TestBusyCreate(&busy));
  PetscCall(TestOrder(type));
  PetscCall(TestLate(type));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-log_view_gpu_time", &waits)); // for each product
  if (usable && !waits) PetscCall(TestSideStream());
  PetscCall(TestBusyDestroy(&busy));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      timeoutfactor: 2
      test:
         suffix: 1
      test:
         suffix: types
         args: -mat_type {{hisparsecuda autocuda}}
      test:
         suffix: gpu_time
         requires: cuda
         args: -log_view :/dev/null -log_view_gpu_time

TEST*/
