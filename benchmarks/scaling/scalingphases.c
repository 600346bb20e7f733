/*
  Where a setup of PCGAMG goes on several processes: seconds, collectives, messages and bytes of each phase, by the log events of PETSc. Seconds are the host's, of the slowest process, waits for
  others included; with -log_sync the processes begin each phase together. The counts are those of PETSc and of the library, which depend on no machine.
*/
#include "scaling.h"

/* The phases: the setup, those that follow one another in it, and parts of the last two. */
static const struct {
  const char *event, *metric;
} phases[] = {
  {"PCSetUp_GAMG+", "setup"},       {" PCGAMGCreateG", "graph"},        {" GAMG Coarsen", "coarsening"},  {" PCGAMGProl", "tentative"},
  {" PCGAMGOptProl", "smoothing"},  {" PCGAMGCreateL", "coarse-level"}, {"  GAMG smooth", "smoothed"},    {"PCGAMG Gal l00", "galerkin-0"},
  {"PCGAMG Gal l01", "galerkin-1"}, {"PCGAMG Gal l02", "galerkin-2"},   {"  GAMG Reduce", "one-process"},
};
#define NUM_PHASES PETSC_STATIC_ARRAY_LENGTH(phases)

/* What of a phase is recorded. */
enum {
  PHASE_SECONDS,
  PHASE_COLLECTIVES,
  PHASE_MESSAGES,
  PHASE_BYTES,
  PHASE_NUM
};

static const struct {
  const char *suffix, *unit;
  double      scale;
} quantities[PHASE_NUM] = {
  {"time", "ms", 1e3},
  {"collectives", "1", 1},
  {"messages", "1", 1},
  {"sent", "MB", 1e-6},
};

/* Of the slowest process, and of the one with most messages. */
static PetscErrorCode GetPhase(Scaling *s, PetscLogHandler handler, PetscLogStage stage, const char event_name[], PetscReal values[])
{
  PetscEventPerfInfo *info;
  PetscLogEvent       event;

  PetscFunctionBegin;
  for (int k = 0; k < PHASE_NUM; k++) values[k] = 0;
  PetscCall(PetscLogEventGetId(event_name, &event));
  if (event >= 0) {
    PetscCall(PetscLogHandlerGetEventPerfInfo(handler, stage, event, &info));
    values[PHASE_SECONDS]     = (PetscReal)info->time;
    values[PHASE_COLLECTIVES] = (PetscReal)info->numReductions;
    values[PHASE_MESSAGES]    = (PetscReal)info->numMessages;
    values[PHASE_BYTES]       = (PetscReal)info->messageLength;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, values, PHASE_NUM, MPIU_REAL, MPIU_MAX, s->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects of PETSc that this process has made so far. */
static PetscErrorCode CountObjects(PetscObjectId *count)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscObjectGetId((PetscObject)container, count));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Report(Scaling *s, const char name[], PetscLogHandler handler, PetscLogStage stage)
{
  PetscReal values[PHASE_NUM];
  char      metric[64];

  PetscFunctionBegin;
  PetscCall(PetscPrintf(s->comm, "%-22s%12s%14s%12s%12s\n", "phase", "ms", "collectives", "messages", "MB"));
  for (size_t k = 0; k < NUM_PHASES; k++) {
    PetscCall(GetPhase(s, handler, stage, phases[k].event, values));
    PetscCall(PetscPrintf(s->comm, "%-22s%12.2f%14.0f%12.0f%12.2f\n", phases[k].metric, (double)(1e3 * values[PHASE_SECONDS]), (double)values[PHASE_COLLECTIVES], (double)values[PHASE_MESSAGES],
                          (double)(1e-6 * values[PHASE_BYTES])));
    for (int q = 0; q < PHASE_NUM && s->rank == 0; q++) {
      PetscCall(PetscSNPrintf(metric, sizeof(metric), "phase-%s-%s", phases[k].metric, quantities[q].suffix));
      PetscCall(BenchRecorderAdd(&s->bench->recorder, name, metric, quantities[q].unit, (PetscReal)quantities[q].scale * values[q], -1, NULL, PETSC_FALSE, -1));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingMeasurePhases - see scaling.h. The handler of log events is there for this setup alone: it costs time. */
PetscErrorCode ScalingMeasurePhases(Scaling *s, const char name[], KSP ksp)
{
  PetscLogHandler handler;
  PetscLogStage   stage;
  PetscObjectId   before, after;

  PetscFunctionBegin;
  PetscCall(PetscLogHandlerCreate(s->comm, &handler));
  PetscCall(PetscLogHandlerSetType(handler, PETSCLOGHANDLERDEFAULT));
  PetscCall(PetscLogHandlerStart(handler));
  PetscCall(PetscLogStageGetId(name, &stage));
  if (stage < 0) PetscCall(PetscLogStageRegister(name, &stage)); // a case may run twice
  PetscCall(CountObjects(&before));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscLogStagePop());
  PetscCall(CountObjects(&after));
  PetscCall(PetscLogHandlerStop(handler));
  PetscCall(Report(s, name, handler, stage));
  PetscCall(PetscLogHandlerDestroy(&handler));
  PetscCall(PetscPrintf(s->comm, "%s: a setup makes %" PetscInt64_FMT " objects of PETSc\n", name, after - before - 1));
  if (s->rank == 0) PetscCall(BenchRecorderAdd(&s->bench->recorder, name, "phase-setup-objects", "1", (PetscReal)(after - before - 1), -1, NULL, PETSC_FALSE, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
