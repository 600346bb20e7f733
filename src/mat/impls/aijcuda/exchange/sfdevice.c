/*
  PetscSF and device memory. A PetscSF packs and unpacks device arrays with its backend:
  - CUDA: on the stream of the context in which it did that first, which it keeps with its buffers (link->stream). Before it is used again it gets the stream of now.
  - Kokkos, the one that a PETSc with Kokkos takes unless -sf_backend cuda is given: on the stream of PETSc's Kokkos::DefaultExecutionSpace. That is the one that PetscDefaultCudaStream was when Kokkos
    was initialized (PetscKokkosInitializeCheck()); no later context changes it, link->stream is not read, and C has no way to ask for it. So the host waits: for what PetscSF reads or overwrites before
    it does that, and by the link's SyncStream() for what PetscSF has queued.

  What is contiguous PetscSF does not pack: MPI gets the array itself. So all device arrays of ours go to it through PetscSparseCUDASFBcast(), which checks that MPI can export them.
*/
#include "exchange.h"
#include "../../../../petsc/vec.h"
#include <petscsparsecuda/tuning.h>

/*
  PetscSparseCUDASetSFNumThreads - Says to a PetscSF how many threads the device runs at a time. Nothing is waited for.

  It would ask for all properties of the device when it first packs there: 1 ms for each PetscSF, 36 to 49 ms beside 15 other tests (H200).
*/
PetscErrorCode PetscSparseCUDASetSFNumThreads(PetscSF sf)
{
  const PetscSparseCUDATuning *tuning;

  PetscFunctionBegin;
  if (sf->maxResidentThreadsPerGPU > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  sf->maxResidentThreadsPerGPU = tuning->device.max_threads * tuning->device.num_multiprocessors;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLinkStream(PetscSFLink link, cudaStream_t stream)
{
  link->stream = stream;
  return PETSC_SUCCESS;
}

static PetscErrorCode WaitForLink(PetscSFLink link, PETSC_UNUSED cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((*link->SyncStream)(link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls a function for all buffers of a PetscSF that device arrays have been packed into. */
static PetscErrorCode ForLinks(PetscSF sf, PetscErrorCode (*f)(PetscSFLink, cudaStream_t), cudaStream_t stream)
{
  PetscBool window;

  PetscFunctionBegin;
  if (sf == NULL || sf->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)sf, PETSCSFWINDOW, &window)); // the only type without such buffers
  if (window) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++)
    for (PetscSFLink link = k ? ((PetscSF_Basic *)sf->data)->inuse : ((PetscSF_Basic *)sf->data)->avail; link != NULL; link = link->next) {
      if (link->deviceinited) PetscCall((*f)(link, stream));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDASetSFStream - Says to a PetscSF, any or NULL, that what it does next with arrays in device memory comes after what is queued on a stream by now: it packs and unpacks on that stream,
  also what is under way. With the Kokkos backend the host waits for the stream.

  Buffers that do not exist yet will get the stream of the context that is current then, and may be given another one while the communication is under way that they were made for.
*/
PetscErrorCode PetscSparseCUDASetSFStream(PetscSF sf, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (sf == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDASetSFNumThreads(sf));
  if (sf->backend == PETSCSF_BACKEND_KOKKOS) PetscCallCUDA(cudaStreamSynchronize(stream));
  else PetscCall(ForLinks(sf, SetLinkStream, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAFollowSF - What is queued from now on comes after what a PetscSF has done with arrays in device memory: on the stream that it was given, anyway; with the Kokkos backend the host waits. */
PetscErrorCode PetscSparseCUDAFollowSF(PetscSF sf)
{
  PetscFunctionBegin;
  if (sf->backend == PETSCSF_BACKEND_KOKKOS) PetscCall(ForLinks(sf, WaitForLink, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That MPI can export what PetscSF may give it, when anything of it is for other processes. */
static PetscErrorCode CheckArrays(PetscSF sf, const void *root, const void *leaf)
{
  PetscSF_Basic *basic;
  PetscBool      window;

  PetscFunctionBegin;
  PetscCall(PetscSFSetUp(sf));
  PetscCall(PetscObjectTypeCompare((PetscObject)sf, PETSCSFWINDOW, &window));
  if (window) PetscFunctionReturn(PETSC_SUCCESS);
  basic = (PetscSF_Basic *)sf->data;
  if (basic->rootbuflen[PETSCSF_REMOTE] > 0) PetscCall(PetscSparseCUDACheckExportable(root, "roots"));
  if (sf->leafbuflen[PETSCSF_REMOTE] > 0) PetscCall(PetscSparseCUDACheckExportable(leaf, "leaves"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDASFBcast - Entries of device arrays of PetscSparseCUDAMallocExportable() travel from the roots of a PetscSF to its leaves. Collective.

  No communication of the PetscSF is under way. The stream is that of the current PetscDeviceContext; the leaves are set by the work queued on it so far.
  PETSC_ERR_PLIB: an array that MPI may get is other memory.
*/
PetscErrorCode PetscSparseCUDASFBcast(PetscSF sf, MPI_Datatype unit, const void *root, void *leaf, cudaStream_t stream)
{
  const PetscMemType mtype = PetscSparseCUDAExportableMemType; // the host's in tests without a GPU

  PetscFunctionBegin;
  PetscCall(CheckArrays(sf, root, leaf));
  if (PetscMemTypeDevice(mtype)) PetscCall(PetscSparseCUDASetSFStream(sf, stream));
  PetscCall(PetscSFBcastWithMemTypeBegin(sf, unit, mtype, root, mtype, leaf, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, unit, root, leaf, MPI_REPLACE));
  PetscCall(PetscSparseCUDAFollowSF(sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}
