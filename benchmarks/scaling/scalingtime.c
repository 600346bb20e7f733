/*
  Times of what several processes do together; see scaling.h.
*/
#include "scaling.h"
#include <petsctime.h>

#define SAMPLES    7
#define BATCH_TIME 0.01 // seconds that the calls of a sample should last
#define MAX_CALLS  200

/* ScalingNow - see scaling.h */
PetscErrorCode ScalingNow(Scaling *s, PetscLogDouble *time)
{
  PetscFunctionBegin;
  if (s->device) PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallMPI(MPI_Barrier(s->comm));
  PetscCall(PetscTime(time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingSince - see scaling.h */
PetscErrorCode ScalingSince(Scaling *s, PetscLogDouble begin, PetscReal *seconds)
{
  PetscLogDouble end;

  PetscFunctionBegin;
  if (s->device) PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscTime(&end));
  *seconds = (PetscReal)(end - begin);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPIU_MAX, s->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sample(Scaling *s, ScalingFn *fn, void *ctx, PetscInt calls, PetscReal *seconds)
{
  PetscLogDouble begin;

  PetscFunctionBegin;
  PetscCall(ScalingNow(s, &begin));
  for (PetscInt k = 0; k < calls; k++) PetscCall((*fn)(ctx));
  PetscCall(ScalingSince(s, begin, seconds));
  *seconds /= (PetscReal)calls;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingMeasure - see scaling.h */
PetscErrorCode ScalingMeasure(Scaling *s, ScalingFn *fn, void *ctx, PetscReal *seconds)
{
  PetscReal samples[SAMPLES], about;
  PetscInt  calls;

  PetscFunctionBegin;
  PetscCall(Sample(s, fn, ctx, 2, &about)); // the first calls make what is kept
  PetscCall(Sample(s, fn, ctx, 1, &about));
  calls = (PetscInt)PetscClipInterval((PetscReal)BATCH_TIME / (about + (PetscReal)1e-9), (PetscReal)1, (PetscReal)MAX_CALLS); // the same on all processes
  for (PetscInt k = 0; k < SAMPLES; k++) PetscCall(Sample(s, fn, ctx, calls, samples + k));
  PetscCall(BenchMedian(SAMPLES, samples, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  ScalingFn *fn;
  void      *ctx;
} Call;

static PetscErrorCode CallOnStream(void *ctx, cudaStream_t stream)
{
  const Call *call = (const Call *)ctx;

  PetscFunctionBegin;
  PetscCall((*call->fn)(call->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingMeasureKernel - see scaling.h */
PetscErrorCode ScalingMeasureKernel(Scaling *s, ScalingFn *fn, void *ctx, PetscReal *seconds)
{
  Call call = {fn, ctx};

  PetscFunctionBegin;
  if (s->timer == NULL) PetscCall(ScalingMeasure(s, fn, ctx, seconds));
  else {
    PetscCall(BenchTimerMeasure(s->timer, PETSC_FALSE, CallOnStream, &call, seconds));
    *seconds *= (PetscReal)1e-6;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPIU_MAX, s->comm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
