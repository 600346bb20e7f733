/*
  Index arrays between host and device and between widths. Where PetscInt and the device's width agree they are plain copies. Narrow ones are widened on the host, in place: half of
  the bytes travel, and no device memory is needed, which a matrix that is being replaced could not do without. Others go through a device buffer of bounded size.
*/
#include <petscsparsecuda/convert.h>
#include <cstring>
#include <type_traits>
#include "../common/foreach.cuh"

namespace
{

constexpr PetscCount STAGING_ENTRIES = 8 * 1024 * 1024; // entries converted at a time

template <typename From, typename To>
struct ConvertIndex {
  const From     *from;
  To             *to;
  __device__ void operator()(PetscCount k) const { to[k] = (To)from[k]; }
};

template <typename Device>
PetscErrorCode CopyToDevice(PetscCount n, const PetscInt host[], Device *device, cudaStream_t stream)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  PetscInt      *staging = NULL;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if constexpr (sizeof(Device) == sizeof(PetscInt)) PetscCall(PetscSparseCUDACopyToDevice(device, host, (size_t)n * sizeof(*host), stream));
  else {
    PetscCall(PetscSparseCUDAMalloc(PetscMin(n, STAGING_ENTRIES), "staging of indices", stream, &staging));
    for (PetscCount k = 0; k < n; k += STAGING_ENTRIES) {
      const PetscCount m = PetscMin(n - k, STAGING_ENTRIES);

      PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToDevice(staging, host + k, (size_t)m * sizeof(*host), stream));
      PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(m, ConvertIndex<PetscInt, Device>{staging, device + k}, stream));
    }
  cleanup:
    PetscCall(PetscSparseCUDAFree(&staging, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Narrow indices arrive at the end of the array and are widened from its beginning: entry k is read before anything is written there. */
template <typename Device>
PetscErrorCode CopyNarrowToHost(PetscCount n, const Device *device, PetscInt host[], cudaStream_t stream)
{
  char *const narrow = (char *)host + (size_t)n * (sizeof(PetscInt) - sizeof(Device));

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDACopyToHost(narrow, device, (size_t)n * sizeof(Device), stream));
  for (PetscCount k = 0; k < n; k++) {
    Device from;

    std::memcpy(&from, narrow + (size_t)k * sizeof(from), sizeof(from));
    host[k] = (PetscInt)from;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Device>
PetscErrorCode CopyToHost(PetscCount n, const Device *device, PetscInt host[], cudaStream_t stream)
{
  PetscErrorCode ierr    = PETSC_SUCCESS;
  PetscInt      *staging = NULL;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if constexpr (sizeof(Device) == sizeof(PetscInt)) PetscCall(PetscSparseCUDACopyToHost(host, device, (size_t)n * sizeof(*host), stream));
  else if constexpr (sizeof(Device) < sizeof(PetscInt)) PetscCall(CopyNarrowToHost(n, device, host, stream));
  else {
    PetscCall(PetscSparseCUDAMalloc(PetscMin(n, STAGING_ENTRIES), "staging of indices", stream, &staging));
    for (PetscCount k = 0; k < n; k += STAGING_ENTRIES) {
      const PetscCount m = PetscMin(n - k, STAGING_ENTRIES);

      PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(m, ConvertIndex<Device, PetscInt>{device + k, staging}, stream));
      PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(host + k, staging, (size_t)m * sizeof(*host), stream));
    }
  cleanup:
    PetscCall(PetscSparseCUDAFree(&staging, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename From>
PetscErrorCode Widen(PetscCount n, const From *from, PetscInt to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n) PetscCallCUDA(DCSRForEach(n, ConvertIndex<From, PetscInt>{from, to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRCopyOffsetsToDevice - host row offsets [n] to device row offsets; ordered on the stream, and host may be changed when the call returns
  wide: the device array is int64_t, otherwise int32_t, and every offset must fit. Workspace: none when the widths agree, otherwise at most 64 MiB.
*/
PetscErrorCode DCSRCopyOffsetsToDevice(PetscCount n, const PetscInt host[], PetscBool wide, void *device, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (wide) PetscCall(CopyToDevice(n, host, (int64_t *)device, stream));
  else PetscCall(CopyToDevice(n, host, (int32_t *)device, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCopyOffsetsToHost - device row offsets [n], int64_t when wide, otherwise int32_t, to host row offsets; comes after the work queued on the stream so far, and is there when the call returns */
PetscErrorCode DCSRCopyOffsetsToHost(PetscCount n, const void *device, PetscBool wide, PetscInt host[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (wide) PetscCall(CopyToHost(n, (const int64_t *)device, host, stream));
  else PetscCall(CopyToHost(n, (const int32_t *)device, host, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCopyColumnsToDevice - host column indices [n], all below 2^31, to 32-bit device column indices; ordered on the stream, and host may be changed when the call returns */
PetscErrorCode DCSRCopyColumnsToDevice(PetscCount n, const PetscInt host[], int32_t *device, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CopyToDevice(n, host, device, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRCopyColumnsToHost - 32-bit device column indices [n] to host column indices; comes after the work queued on the stream so far, and is there when the call returns */
PetscErrorCode DCSRCopyColumnsToHost(PetscCount n, const int32_t *device, PetscInt host[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CopyToHost(n, device, host, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRWidenOffsets - device row offsets [n], int64_t when wide, otherwise int32_t, as a device array of PetscInt. Asynchronous */
PetscErrorCode DCSRWidenOffsets(PetscCount n, const void *from, PetscBool wide, PetscInt *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (wide) PetscCall(Widen(n, (const int64_t *)from, to, stream));
  else PetscCall(Widen(n, (const int32_t *)from, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRWidenColumns - 32-bit device column indices [n] as a device array of PetscInt. Asynchronous */
PetscErrorCode DCSRWidenColumns(PetscCount n, const int32_t *from, PetscInt *to, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(Widen(n, from, to, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
