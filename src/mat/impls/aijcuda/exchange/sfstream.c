/*
  Scatters and the stream of the current PetscDeviceContext. A PetscSF packs and unpacks device arrays on the stream of the context in which it did that first: it keeps
  the stream with its buffers. Before it is used again it is told the stream of now.
*/
#include "exchange.h"
#include <../src/vec/is/sf/impls/basic/sfpack.h>

/*
  PetscSparseCUDASetSFStream - Tells a PetscSF that arrays in device memory are written and read on a stream

  Not Collective

  Input Parameters:
+ sf     - any, or NULL; no communication of it under way
- stream - of the current PetscDeviceContext

  Note:
  Buffers that do not exist yet will get the stream of the context that is current then.

  Cost: a few comparisons.
*/
PetscErrorCode PetscSparseCUDASetSFStream(PetscSF sf, cudaStream_t stream)
{
  PetscBool window;

  PetscFunctionBegin;
  if (sf == NULL || sf->data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)sf, PETSCSFWINDOW, &window)); // the only type without such buffers
  if (window) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscSFLink link = ((PetscSF_Basic *)sf->data)->avail; link != NULL; link = link->next) {
    if (link->deviceinited) link->stream = stream;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscSparseCUDASFIsIdle - Whether a PetscSF sends and receives nothing on this process, so that it need not be called here: its communication is with neighbors alone

  Not Collective

  Input Parameter:
. sf - any

  Output Parameter:
. idle - PETSC_FALSE also for types that are not PETSCSFBASIC

  Cost: a few comparisons.
*/
PetscErrorCode PetscSparseCUDASFIsIdle(PetscSF sf, PetscBool *idle)
{
  const PetscSF_Basic *basic = (const PetscSF_Basic *)sf->data;
  PetscBool            is;

  PetscFunctionBegin;
  *idle = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare((PetscObject)sf, PETSCSFBASIC, &is));
  if (!is || !sf->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  *idle = (PetscBool)(basic->rootbuflen[PETSCSF_LOCAL] == 0 && basic->rootbuflen[PETSCSF_REMOTE] == 0 && sf->leafbuflen[PETSCSF_LOCAL] == 0 && sf->leafbuflen[PETSCSF_REMOTE] == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}
