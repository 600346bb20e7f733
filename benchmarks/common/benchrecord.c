/*
  Result records as JSON Lines; see benchrecord.h.
*/
#include "benchrecord.h"
#include <petscdevice_cuda.h>
#include <ctype.h>
#include <dlfcn.h>
#include <string.h>
#include <time.h>

/* The driver's own version, such as 580.95.05, by its management library, which every driver brings; the CUDA version that it supports when that fails. */
static PetscErrorCode BenchDriverVersion(size_t n, char version[])
{
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  int   cuda = 0, status = -1;

  PetscFunctionBegin;
  if (library) {
    int (*init)(void) = NULL, (*shutdown)(void) = NULL, (*get)(char *, unsigned int) = NULL;

    *(void **)&init     = dlsym(library, "nvmlInit_v2");
    *(void **)&shutdown = dlsym(library, "nvmlShutdown");
    *(void **)&get      = dlsym(library, "nvmlSystemGetDriverVersion");
    if (init && shutdown && get && (*init)() == 0) {
      status = (*get)(version, (unsigned int)n);
      (void)(*shutdown)();
    }
    (void)dlclose(library);
  }
  if (status != 0 || !isdigit((unsigned char)version[0])) {
    PetscCallCUDA(cudaDriverGetVersion(&cuda));
    PetscCall(PetscSNPrintf(version, n, "for CUDA %d.%d", cuda / 1000, cuda % 1000 / 10));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchRecorderCreate - opens the file for appending and notes device, versions and date */
PetscErrorCode BenchRecorderCreate(const char benchmark[], const char output[], const char commit[], BenchRecorder *recorder)
{
  const time_t          now = time(NULL);
  struct cudaDeviceProp properties;
  int                   runtime = 0, device = 0;

  PetscFunctionBegin;
  recorder->benchmark = benchmark;
  recorder->file      = NULL;
  recorder->gpus      = 0;
  recorder->failed    = NULL;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&properties, device));
  PetscCall(BenchDriverVersion(sizeof(recorder->driver), recorder->driver));
  PetscCallCUDA(cudaRuntimeGetVersion(&runtime));
  PetscCall(PetscSNPrintf(recorder->gpu, sizeof(recorder->gpu), "%s", properties.name));
  PetscCall(PetscSNPrintf(recorder->cuda, sizeof(recorder->cuda), "%d.%d", runtime / 1000, runtime % 1000 / 10));
  PetscCall(PetscSNPrintf(recorder->petsc, sizeof(recorder->petsc), "%d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR));
  PetscCall(PetscSNPrintf(recorder->commit, sizeof(recorder->commit), "%s", commit ? commit : ""));
  strftime(recorder->date, sizeof(recorder->date), "%Y-%m-%d", gmtime(&now));
  if (output && output[0]) {
    recorder->file = fopen(output, "a");
    PetscCheck(recorder->file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot open %s for the results", output);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BenchRecorderDestroy - closes the file */
PetscErrorCode BenchRecorderDestroy(BenchRecorder *recorder)
{
  PetscFunctionBegin;
  if (recorder->file) PetscCheck(fclose(recorder->file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the results");
  recorder->file = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void BenchNumber(FILE *file, const char key[], PetscReal value)
{
  if (value >= 0) fprintf(file, ", \"%s\": %.6g", key, (double)value);
  else fprintf(file, ", \"%s\": null", key);
}

static void BenchString(FILE *file, const char key[], const char value[])
{
  if (value) fprintf(file, ", \"%s\": \"%s\"", key, value);
  else fprintf(file, ", \"%s\": null", key);
}

/* BenchRecorderAdd - one record */
PetscErrorCode BenchRecorderAdd(BenchRecorder *recorder, const char name[], const char metric[], const char unit[], PetscReal ours, PetscReal best, const char competitor[], PetscBool earlier,
                                PetscReal bound)
{
  FILE *file = recorder->file;

  PetscFunctionBegin;
  if (file == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  fprintf(file, "{\"benchmark\": \"%s\"", recorder->benchmark);
  BenchString(file, "case", name);
  BenchString(file, "metric", metric);
  BenchString(file, "unit", unit);
  BenchNumber(file, "ours", ours);
  if (recorder->failed != NULL) BenchString(file, "failed", recorder->failed);
  BenchNumber(file, "best", best);
  BenchString(file, "competitor", competitor);
  if (earlier) fprintf(file, ", \"best_measured\": \"earlier\"");
  BenchNumber(file, "floor", bound);
  if (bound >= 0) fprintf(file, ", \"floor_version\": %d", BENCH_FLOOR_VERSION);
  BenchString(file, "gpu", recorder->gpu);
  if (recorder->gpus > 0) fprintf(file, ", \"gpus\": %d", recorder->gpus);
  BenchString(file, "driver", recorder->driver);
  BenchString(file, "cuda", recorder->cuda);
  BenchString(file, "petsc", recorder->petsc);
  BenchString(file, "commit", recorder->commit);
  BenchString(file, "date", recorder->date);
  PetscCheck(fprintf(file, "}\n") == 2, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write the results");
  PetscFunctionReturn(PETSC_SUCCESS);
}
