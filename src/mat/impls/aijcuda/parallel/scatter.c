/*
  The scatter of products with parallel matrices, and the streams that it works on.

  A product queues the kernel of the diagonal block first. What the messages need, packing, copies and unpacking, goes to a stream of its own with a higher priority, which waits for the vector and not
  for that kernel. So the host waits for what is sent alone, while the device multiplies, and the device has work while the host is in MPI.

  That kernel, too, has a stream of its own: a CUDA-aware Open MPI copies on blocking streams, which wait for the legacy stream, and the stream of the context is that one.
*/
#include "parallel.h"
#include "../core/core.h"
#include "../exchange/exchange.h"
#include <petscsparsecuda/sidestream.h>
#include "../../../../petsc/sys.h"

/*
  MatMPIAIJCUDAUseCurrentStream - What is done next with the ghost vector and the scatter of products comes after all that was queued with them, also in another PetscDeviceContext.

  To be called by operations that leave both to code of PETSc, which knows the stream of the current context only. PETSc's code works with the Kokkos backend of PetscSF in one context alone, the one that
  was current when Kokkos was initialized.
*/
PetscErrorCode MatMPIAIJCUDAUseCurrentStream(Mat A)
{
  Mat_MPIAIJ  *a = (Mat_MPIAIJ *)A->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (MatMPIAIJCUDAGet(A)->no_device || a->Mvctx == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDASetSFStream(a->Mvctx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDAScatter - The scatter of products, in the order of the stream of the current context; the vectors are where they may be. Collective. */
PetscErrorCode MatMPIAIJCUDAScatter(Mat A, Vec from, Vec to, InsertMode insert, ScatterMode mode)
{
  const VecScatter scatter = ((Mat_MPIAIJ *)A->data)->Mvctx;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  PetscCall(VecScatterBegin(scatter, from, to, insert, mode));
  PetscCall(VecScatterEnd(scatter, from, to, insert, mode));
  PetscCall(PetscSparseCUDAFollowSF(scatter));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Streams of messages, and of what hides them; of the device that was current at first use. */
static cudaStream_t message_stream = NULL, work_stream = NULL;

static PetscErrorCode DestroyStreams(void)
{
  PetscFunctionBegin;
  if (message_stream != NULL) PetscCallCUDA(cudaStreamDestroy(message_stream));
  if (work_stream != NULL) PetscCallCUDA(cudaStreamDestroy(work_stream));
  message_stream = work_stream = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neither waits for the legacy stream, which PETSc's default streams are. */
static PetscErrorCode CreateStreams(void)
{
  int least, greatest;

  PetscFunctionBegin;
  if (work_stream != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  if (message_stream == NULL) {
    PetscCall(PetscRegisterFinalize(DestroyStreams));
    PetscCallCUDA(cudaStreamCreateWithPriority(&message_stream, cudaStreamNonBlocking, greatest));
  }
  PetscCallCUDA(cudaStreamCreateWithPriority(&work_stream, cudaStreamNonBlocking, least));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether this process sends or receives something: none does on a level that one process has alone. */
static PetscErrorCode Exchanges(VecScatter scatter, PetscBool *exchanges)
{
  PetscMPIInt owners, users = 1;
  PetscBool   window;

  PetscFunctionBegin;
  PetscCall(PetscSFSetUp(scatter));
  PetscCall(PetscSFGetRootRanks(scatter, &owners, NULL, NULL, NULL, NULL));
  PetscCall(PetscObjectTypeCompare((PetscObject)scatter, PETSCSFWINDOW, &window)); // does not know who needs its values
  if (!window) PetscCall(PetscSFGetLeafRanks(scatter, &users, NULL, NULL, NULL));
  *exchanges = (PetscBool)(owners > 0 || users > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ghost vector gets its memory before the stream of messages, which writes to it, follows that of the context, on which PETSc allocates: the memory may be that of something still in use there. */
static PetscErrorCode AllocateGhosts(Vec ghosts)
{
  PetscScalar     *array;
  PetscMemType     mtype;
  PetscOffloadMask mask;

  PetscFunctionBegin;
  PetscCall(VecGetOffloadMask(ghosts, &mask));
  if (mask == PETSC_OFFLOAD_GPU || mask == PETSC_OFFLOAD_BOTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayWriteAndMemType(ghosts, &array, &mtype));
  PetscCall(VecRestoreArrayWriteAndMemType(ghosts, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductMessagesBegin - What is sent, from, has been queued, and what hides the exchange comes next; the blocks of A are on the device.

  ProductMessagesEnd() must be called with m, also after an error; the library's work goes to a side stream until then.
  With -log_view_gpu_time it stays on the stream of the context, which PETSc measures. Costs two events, where something is exchanged.
*/
PetscErrorCode ProductMessagesBegin(Mat A, Vec from, ProductMessages *m)
{
  const PetscScalar *array;
  PetscMemType       mtype;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&m->stream));
  PetscCall(PetscSparseCUDASetSFNumThreads(((Mat_MPIAIJ *)A->data)->Mvctx));
  PetscCall(Exchanges(((Mat_MPIAIJ *)A->data)->Mvctx, &m->exchanges));
  if (!m->exchanges) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateStreams());
  PetscCall(VecGetArrayReadAndMemType(from, &array, &mtype)); // a copy to the device, if it takes one, is queued before the event
  PetscCall(VecRestoreArrayReadAndMemType(from, &array));
  PetscCall(AllocateGhosts(((Mat_MPIAIJ *)A->data)->lvec));
  PetscCall(PetscSparseCUDAFollow(message_stream, m->stream));
  if (!PetscLogGpuTimeFlag) PetscCall(PetscSparseCUDASideStreamBegin(work_stream, m->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductMessagesEnd - The exchange of a product: ghost values, or with reverse sums for the owners of ghost columns. Collective.

  With reverse, from is the ghost vector, whose entries are added to those of to, which work queued since the beginning may write. to is for work on the stream of the current context.
  The host waits as PetscSF does: for what is sent, and for the messages. Processes that have neither come here, too: the log event of VecScatterEnd() may be a barrier.
*/
PetscErrorCode ProductMessagesEnd(Mat A, const ProductMessages *m, Vec from, Vec to, PetscBool reverse)
{
  const VecScatter   scatter = ((Mat_MPIAIJ *)A->data)->Mvctx;
  const ScatterMode  mode    = reverse ? SCATTER_REVERSE : SCATTER_FORWARD;
  const InsertMode   insert  = reverse ? ADD_VALUES : INSERT_VALUES;
  const cudaStream_t side = PetscSparseCUDAGetSideStream(), work = side != NULL ? side : m->stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDASideStreamEnd());
  if (m->exchanges) PetscCall(PetscSparseCUDASetSFStream(scatter, message_stream));
  PetscCall(VecScatterBegin(scatter, from, to, insert, mode));
  if (m->exchanges && reverse) PetscCall(PetscSparseCUDAFollow(message_stream, work));
  if (m->exchanges) PetscCall(PetscSparseCUDASetSFStream(scatter, message_stream)); // buffers that were made just now have the stream of the context, which does not wait for the side stream
  PetscCall(VecScatterEnd(scatter, from, to, insert, mode));
  if (!m->exchanges) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFollowSF(scatter));
  PetscCall(PetscSparseCUDASetSFStream(scatter, m->stream));
  PetscCall(PetscSparseCUDAFollow(m->stream, message_stream));
  if (side != NULL) PetscCall(PetscSparseCUDAFollow(m->stream, side)); // not before the messages: a CUDA-aware MPI may copy on streams that wait for this one
  PetscFunctionReturn(PETSC_SUCCESS);
}
