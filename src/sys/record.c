/* Work of the library that is recorded instead of done, to be done again and again as one CUDA graph. */
#include <petscsparsecuda/record.h>

static cudaStream_t recorder  = NULL; /* made at first use, destroyed in PetscFinalize(). PETSc's stream may be the legacy stream, on which nothing can be recorded */
static PetscBool    recording = PETSC_FALSE;

static PetscErrorCode DestroyRecorder(void)
{
  PetscFunctionBegin;
  if (recorder != NULL) PetscCallCUDA(cudaStreamDestroy(recorder));
  recorder = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDARecorder - The stream of the work that is recorded now; NULL: work is done. */
cudaStream_t PetscSparseCUDARecorder(void)
{
  return recording ? recorder : NULL;
}

/*
  PetscSparseCUDARecordBegin - Work that the library queues from now on is recorded, not done
  Until PetscSparseCUDARecordEnd(), PetscSparseCUDAGetStream() gives the stream that records. Work that PETSc queues itself is done, and not recorded. What waits for the device, allocates or frees
  device memory cannot be recorded, and is an error meanwhile.
*/
PetscErrorCode PetscSparseCUDARecordBegin(void)
{
  PetscFunctionBegin;
  PetscCheck(!recording, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Work is being recorded already");
  if (recorder == NULL) {
    PetscCallCUDA(cudaStreamCreateWithFlags(&recorder, cudaStreamNonBlocking));
    PetscCall(PetscRegisterFinalize(DestroyRecorder));
  }
  PetscCallCUDA(cudaStreamBeginCapture(recorder, cudaStreamCaptureModeThreadLocal));
  recording = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDARecordEnd - Ends the recording, also after an error in it
  graph: what was recorded since PetscSparseCUDARecordBegin(); NULL when it cannot be a graph. Free it with PetscSparseCUDAGraphDestroy(). nodes: how many launches, copies and memsets that is.
  Addresses and numbers that kernels got as arguments are in the graph as they were.
*/
PetscErrorCode PetscSparseCUDARecordEnd(cudaGraphExec_t *graph, size_t *nodes)
{
  cudaGraph_t recorded = NULL;

  PetscFunctionBegin;
  *graph = NULL;
  *nodes = 0;
  if (!recording) PetscFunctionReturn(PETSC_SUCCESS);
  recording = PETSC_FALSE;
  if (cudaStreamEndCapture(recorder, &recorded) != cudaSuccess || recorded == NULL || cudaGraphGetNodes(recorded, NULL, nodes) != cudaSuccess ||
      cudaGraphInstantiateWithFlags(graph, recorded, 0) != cudaSuccess) {
    (void)cudaGetLastError(); // not for a later check to find
    *graph = NULL;
  }
  if (recorded != NULL) PetscCallCUDA(cudaGraphDestroy(recorded));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAGraphUpload - Brings a graph of PetscSparseCUDARecordEnd() to the device, which its first launch would do */
PetscErrorCode PetscSparseCUDAGraphUpload(cudaGraphExec_t graph)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaGraphUpload(graph, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAGraphLaunch - Does what was recorded, once more, on the stream of now. Cost: one call of the driver; asynchronous. */
PetscErrorCode PetscSparseCUDAGraphLaunch(cudaGraphExec_t graph)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaGraphLaunch(graph, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAGraphDestroy - Frees a graph, NULL is fine; *graph is NULL afterwards. Waits for its launches. */
PetscErrorCode PetscSparseCUDAGraphDestroy(cudaGraphExec_t *graph)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (*graph == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaGraphExecDestroy(*graph));
  *graph = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
