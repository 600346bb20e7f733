/*
  What all benchmarks do; see bench.h.
*/
#include "bench.h"
#include <petscsparsecuda/common.h>
#include <petsctime.h>
#include <stdarg.h>

/* BenchInitializeParallel - see bench.h */
PetscErrorCode BenchInitializeParallel(int *argc, char ***argv, const char help[], Bench *b)
{
  PetscFunctionBegin;
  PetscCall(PetscInitialize(argc, argv, NULL, help));
  b->samples   = BENCH_SAMPLES;
  b->budget_us = BENCH_BUDGET_US;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchInitialize - see bench.h */
PetscErrorCode BenchInitialize(int *argc, char ***argv, const char help[], Bench *b)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  // One process sends nothing, and many MPI libraries are not GPU-aware.
  PetscCall(PetscOptionsSetValue(NULL, "-use_gpu_aware_mpi", "0"));
  PetscCall(BenchInitializeParallel(argc, argv, help, b));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "One process only: the benchmark measures one GPU");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchOptions - see bench.h */
PetscErrorCode BenchOptions(Bench *b, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-output", "File of result records", NULL, b->output, b->output, sizeof(b->output), NULL));
  PetscCall(PetscOptionsString("-commit", "Commit for the records", NULL, b->commit, b->commit, sizeof(b->commit), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchOptionsCases - see bench.h */
PetscErrorCode BenchOptionsCases(Bench *b, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  b->num_chosen = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(b->chosen);
  PetscCall(PetscOptionsInt("-samples", "Samples of one measurement at most", NULL, b->samples, &b->samples, NULL));
  PetscCall(PetscOptionsStringArray("-cases", "Cases", NULL, b->chosen, &b->num_chosen, &b->some));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchOptionsOnly - see bench.h */
PetscErrorCode BenchOptionsOnly(Bench *b, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-only", "Only cases whose name contains this", NULL, b->only, b->only, sizeof(b->only), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchOptionsRepetitions - see bench.h */
PetscErrorCode BenchOptionsRepetitions(Bench *b, PetscOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-repetitions", "Repetitions of each measurement", NULL, b->repetitions, &b->repetitions, NULL));
  PetscCheck(b->repetitions > 0 && b->repetitions <= BENCH_MAX_REPETITIONS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-repetitions must be 1 to %d", BENCH_MAX_REPETITIONS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchOpen - see bench.h */
PetscErrorCode BenchOpen(Bench *b, const char name[])
{
  DCSRDeviceFacts facts;
  PetscBool       usable;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCheck(usable, PETSC_COMM_SELF, PETSC_ERR_SUP, "This benchmark needs a CUDA device");
  PetscCall(PetscSparseCUDAGetStream(&b->stream));
  PetscCall(BenchTimerCreate(b->stream, &b->timer));
  b->timer.samples   = b->samples;
  b->timer.budget_us = b->budget_us;
  PetscCall(DCSRGetDeviceFacts(&facts));
  b->l2_bytes = (PetscReal)facts.l2_bytes;
  PetscCall(BenchBandwidthMeasure(&b->timer, &b->bandwidth));
  PetscCall(BenchRecorderCreate(name, b->output, b->commit, &b->recorder));
  if (!b->quiet) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, driver %s, CUDA %s, bandwidth in TB/s: read %.3f, triad %.3f, copy %.3f, write %.3f\n", b->recorder.gpu, b->recorder.driver, b->recorder.cuda,
                          (double)b->bandwidth.read * 1e-6, (double)b->bandwidth.triad * 1e-6, (double)b->bandwidth.copy * 1e-6, (double)b->bandwidth.write * 1e-6));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchClose - see bench.h */
PetscErrorCode BenchClose(Bench *b)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; b->some && i < b->num_chosen; i++) PetscCall(PetscFree(b->chosen[i]));
  PetscCall(BenchRecorderDestroy(&b->recorder));
  if (b->timer.flush != NULL) PetscCall(BenchTimerDestroy(&b->timer));
  PetscCheck(b->failures == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " wrong results", b->failures);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchWants - see bench.h */
PetscErrorCode BenchWants(Bench *b, const char name[], PetscBool *wants)
{
  char *found;

  PetscFunctionBegin;
  PetscCall(PetscStrstr(name, b->only, &found));
  *wants = (PetscBool)(found != NULL && !b->some);
  for (PetscInt i = 0; b->some && i < b->num_chosen && !*wants; i++) PetscCall(PetscStrcmp(b->chosen[i], name, wants));
  b->num_cases += *wants;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchGetCases - see bench.h */
PetscErrorCode BenchGetCases(const Bench *b, PetscInt *n, const char *const **names)
{
  PetscFunctionBegin;
  if (b->some) {
    *n     = b->num_chosen;
    *names = (const char *const *)b->chosen;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMeasure - see bench.h */
PetscErrorCode BenchMeasure(Bench *b, BenchFn *fn, void *ctx, PetscReal us[2])
{
  PetscFunctionBegin;
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_TRUE, fn, ctx, us));
  PetscCall(BenchTimerMeasure(&b->timer, PETSC_FALSE, fn, ctx, us + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchNow - see bench.h */
PetscErrorCode BenchNow(PetscLogDouble *time)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscTime(time));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchMedian - see bench.h */
PetscErrorCode BenchMedian(PetscInt n, PetscReal samples[], PetscReal *median)
{
  PetscFunctionBegin;
  PetscCall(PetscSortReal(n, samples));
  *median = samples[n / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchWrong - see bench.h */
PetscErrorCode BenchWrong(Bench *b, const char format[], ...)
{
  va_list arguments;

  PetscFunctionBegin;
  va_start(arguments, format);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "WRONG: "));
  PetscCall((*PetscVFPrintf)(PETSC_STDOUT, format, arguments));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  va_end(arguments);
  b->failures++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchFloor - see bench.h */
PetscReal BenchFloor(const Bench *b, PetscReal read, PetscReal written)
{
  written = PetscMax(written - b->l2_bytes, 0);
  return (read + written) / BenchBandwidthOf(&b->bandwidth, read, written);
}

/* BenchFloorWarm - see bench.h */
PetscReal BenchFloorWarm(const Bench *b, PetscReal read, PetscReal written)
{
  return read + written <= 2 * b->l2_bytes ? -1 : BenchFloor(b, read, written);
}

/* BenchRecord - see bench.h */
PetscErrorCode BenchRecord(Bench *b, const char name[], const char metric[], const char unit[], PetscReal ours, PetscReal best, const char competitor[], PetscReal bound)
{
  PetscFunctionBegin;
  PetscCall(BenchRecordBest(b, name, metric, unit, ours, best, competitor, PETSC_FALSE, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchRecordBest - see bench.h */
PetscErrorCode BenchRecordBest(Bench *b, const char name[], const char metric[], const char unit[], PetscReal ours, PetscReal best, const char competitor[], PetscBool earlier, PetscReal bound)
{
  PetscBool rate;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(unit, "entries/s", &rate));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-26s %-22s ours %10.6g %s", name, metric, (double)ours, unit));
  if (best >= 0)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  best %10.6g %s (%s%s)  ratio %6.2f", (double)best, unit, competitor, earlier ? ", measured earlier" : "", (double)(rate ? ours / best : best / ours)));
  else if (competitor) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s failed", competitor));
  if (bound >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  floor %10.6g %s  of floor %5.3f", (double)bound, unit, (double)(bound / ours)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(BenchRecorderAdd(&b->recorder, name, metric, unit, ours, best, competitor, earlier, bound));
  if (b->recorder.file) PetscCheck(fflush(b->recorder.file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the results"); // whatever happens to a later case
  PetscFunctionReturn(PETSC_SUCCESS);
}
