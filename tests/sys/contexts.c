static char help[] = "Order of the library's work when the current PetscDeviceContext is switched, when the last one is destroyed, and after another PetscInitialize().\n\n";

#include <petscsparsecuda/sys.h>
#include <petscsparsecuda.h>

#define BYTES   ((size_t)64 << 20)
#define DELAY   200 /* fills that are queued before the one that counts, several milliseconds: a stream that does not wait for them reads what was there before */
#define REPEATS 10
#define NUM     2 /* contexts */

static PetscErrorCode CreateContext(PetscDeviceContext *context)
{
  PetscFunctionBegin;
  PetscCall(PetscDeviceContextCreate(context));
  PetscCall(PetscDeviceContextSetStreamType(*context, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(*context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Queues fills, the last one with value, in the current context. */
static PetscErrorCode Fill(unsigned char *array, int value)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (int k = 0; k < DELAY; k++) PetscCallCUDA(cudaMemsetAsync(array, 255, BYTES, stream));
  PetscCallCUDA(cudaMemsetAsync(array, value, BYTES, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last byte, as the stream of the current context sees it. */
static PetscErrorCode Check(const unsigned char *array, int value, const char what[])
{
  unsigned char last;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDACopyToHost(&last, array + BYTES - 1, 1, stream));
  PetscCheck(last == value, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d where %d should be", what, last, value);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stream is PETSc's. */
static PetscErrorCode TestStream(void)
{
  cudaStream_t ours, petsc;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&ours));
  PetscCall(PetscGetCurrentCUDAStream(&petsc));
  PetscCheck(ours == petsc, PETSC_COMM_SELF, PETSC_ERR_PLIB, "another stream than that of the current context");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSwitch(unsigned char *array)
{
  PetscDeviceContext contexts[NUM];

  PetscFunctionBegin;
  for (int k = 0; k < NUM; k++) PetscCall(CreateContext(&contexts[k]));
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    PetscCall(PetscDeviceContextSetCurrentContext(contexts[repeat % NUM]));
    PetscCall(TestStream());
    PetscCall(Fill(array, repeat));
    PetscCall(PetscDeviceContextSetCurrentContext(contexts[(repeat + 1) % NUM]));
    PetscCall(TestStream());
    PetscCall(Check(array, repeat, "after a switch"));
  }
  PetscCall(PetscDeviceContextSetCurrentContext(NULL)); // the null context of the device
  PetscCall(TestStream());
  for (int k = 0; k < NUM; k++) PetscCall(PetscDeviceContextDestroy(&contexts[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was queued in a context that is gone still comes first; contexts that are made then may get its memory. */
static PetscErrorCode TestDestroyed(unsigned char *array, PetscDeviceContext root)
{
  PetscDeviceContext context, other;

  PetscFunctionBegin;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    PetscCall(CreateContext(&context));
    PetscCall(PetscDeviceContextSetCurrentContext(context));
    PetscCall(Fill(array, repeat));
    PetscCall(PetscDeviceContextSetCurrentContext(root));
    PetscCall(PetscDeviceContextDestroy(&context));
    PetscCall(CreateContext(&other));
    if (repeat % 2) PetscCall(PetscDeviceContextSetCurrentContext(other));
    PetscCall(Check(array, repeat, "after a context is gone"));
    PetscCall(PetscDeviceContextSetCurrentContext(root));
    PetscCall(PetscDeviceContextDestroy(&other));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A context that is not one of CUDA is refused in words, and forgotten. */
static PetscErrorCode TestHost(PetscDeviceContext root)
{
  PetscDeviceContext host;
  PetscDevice        device;
  cudaStream_t       stream;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscDeviceCreate(PETSC_DEVICE_HOST, PETSC_DECIDE, &device));
  PetscCall(PetscDeviceConfigure(device));
  PetscCall(PetscDeviceContextCreate(&host));
  PetscCall(PetscDeviceContextSetDevice(host, device));
  PetscCall(PetscDeviceContextSetUp(host));
  PetscCall(PetscDeviceContextSetCurrentContext(host));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PetscSparseCUDAGetStream(&stream);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscDeviceContextSetCurrentContext(root));
  PetscCheck(ierr == PETSC_ERR_ARG_WRONG, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A context of type host: error %d is not PETSC_ERR_ARG_WRONG", (int)ierr);
  PetscCall(TestStream());
  PetscCall(PetscDeviceContextDestroy(&host));
  PetscCall(PetscDeviceDestroy(&device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(void)
{
  PetscDeviceContext root;
  unsigned char     *array;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&root));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAMalloc(BYTES, "a test", stream, &array));
  PetscCall(TestSwitch(array));
  PetscCall(PetscDeviceContextSetCurrentContext(root));
  PetscCall(TestDestroyed(array, root));
  PetscCall(TestHost(root));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree(&array, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1; // or the first PetscFinalize() would end MPI
  for (int round = 0; round < 2; round++) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscSparseCUDAInitialize());
    PetscCall(Test());
    PetscCall(PetscFinalize());
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

/*TEST

  testset:
    requires: cuda
    output_file: output/empty.out
    test:
      suffix: default
    test:
      suffix: nonblocking
      args: -root_device_context_stream_type nonblocking

TEST*/
