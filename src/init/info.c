/* PetscSparseCUDAView(): what a report of a fault is to contain. */
#include <petscsparsecuda/disabled.h>
#include <petscsparsecuda/info.h>
#include <petscviewer.h>
#include <petscsparsecuda.h>
#include "../petsc/sys.h"

/* BUILD_ARCHS is the makefile's. So is this, which the shared library alone has: elsewhere its address is NULL. Empty: not known. */
#if !defined(BUILD_ARCHS)
  #define BUILD_ARCHS "not known"
#endif
extern const char PetscSparseCUDACommit[] __attribute__((weak, visibility("hidden")));

/* Of Open MPI and MPICH; NULL with an MPI that lacks it. */
extern int MPIX_Query_cuda_support(void) __attribute__((weak));

/* Packages of MPI, in its numbers or words. */
#if defined(OMPI_MAJOR_VERSION)
  #define BUILD_MPI "Open MPI " PetscStringize(OMPI_MAJOR_VERSION) "." PetscStringize(OMPI_MINOR_VERSION) "." PetscStringize(OMPI_RELEASE_VERSION)
#elif defined(I_MPI_VERSION)
  #define BUILD_MPI "Intel MPI " I_MPI_VERSION
#elif defined(MPICH_VERSION)
  #define BUILD_MPI "MPICH " MPICH_VERSION
#else
  #define BUILD_MPI "another MPI"
#endif

/* Variables that say which GPU a process gets, how CUDA uses it, and which process this is. */
static const char *const variables[] = {"PETSC_OPTIONS",
                                        "PETSCSPARSECUDA_MPI",
                                        "CUDA_VISIBLE_DEVICES",
                                        "CUDA_MODULE_LOADING",
                                        "CUDA_LAUNCH_BLOCKING",
                                        "CUDA_DEVICE_MAX_CONNECTIONS",
                                        "CUDA_FORCE_PTX_JIT",
                                        "CUDA_DISABLE_PTX_JIT",
                                        "CUDA_MPS_PIPE_DIRECTORY",
                                        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                                        "LD_PRELOAD",
                                        "MPICH_GPU_SUPPORT_ENABLED",
                                        "MPIR_CVAR_ENABLE_GPU",
                                        "OMPI_MCA_pml",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID",
                                        "PALS_LOCAL_RANKID",
                                        "SLURM_LOCALID",
                                        "SLURM_GPUS_ON_NODE"};

#define MAX_LINES 32 /* about processes */

/* A process and the device that it uses; equal ones are counted. All bytes behind strings are zeros. */
typedef struct {
  char host[64];
  char device[32];    /* its position on the PCI bus; empty: it uses none */
  char obstacle[128]; /* what stands against kernels there; empty: nothing */
} Process;

static PetscErrorCode ViewLibrary(PetscViewer viewer)
{
  const char *commit = PetscSparseCUDACommit;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "petscsparsecuda: %d.%d.%d, commit %s\n", PETSCSPARSECUDA_VERSION_MAJOR, PETSCSPARSECUDA_VERSION_MINOR, PETSCSPARSECUDA_VERSION_SUBMINOR,
                                   commit != NULL && commit[0] ? commit : "not known"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  code for compute capabilities: %s\n", BUILD_ARCHS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scalars, precision and indices are the same in both: others are refused. */
static PetscErrorCode ViewPETSc(PetscViewer viewer)
{
  char     arch[PETSC_MAX_PATH_LEN], packages[] = PETSC_HAVE_PACKAGES;
  PetscInt major, minor, subminor;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCall(PetscGetArchType(arch, sizeof(arch)));
  for (size_t k = 0; packages[k]; k++) {
    if (packages[k] == ':') packages[k] = packages[k + 1] ? ' ' : 0;
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "PETSc: %" PetscInt_FMT ".%" PetscInt_FMT ".%" PetscInt_FMT ", %s, %s %s, PetscInt of %d bits\n", major, minor, subminor, arch,
                                   PetscDefined(USE_COMPLEX) ? "complex" : "real", PetscDefined(USE_REAL_SINGLE) ? "single" : "double", 8 * (int)sizeof(PetscInt)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  built with: %d.%d.%d, %s, %s debugging\n", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, PETSC_ARCH,
                                   PetscDefined(USE_DEBUG) ? "with" : "without"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  packages:%s\n", packages));
  if (PetscDefined(HAVE_HYPRE)) PetscCall(PetscViewerASCIIPrintf(viewer, "  hypre: for %s\n", PetscDefined(HAVE_HYPRE_DEVICE) ? "GPUs" : "the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *DriverMeaning(int driver, int runtime)
{
  if (driver == 0) return ", which means that there is none: the host computes";
  if (driver / 1000 < runtime / 1000) return ", too old for the runtime: the host computes";
  if (driver < runtime) return ", older than the runtime: PTX is not compiled, a GPU needs code for its compute capability";
  return "";
}

static PetscErrorCode ViewCUDA(PetscViewer viewer)
{
  int runtime = 0, driver = 0;

  PetscFunctionBegin;
  PetscCallCUDA(cudaRuntimeGetVersion(&runtime));
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  (void)cudaGetLastError(); // a later check must not find this one
  PetscCall(PetscViewerASCIIPrintf(viewer, "CUDA: runtime %d.%d\n", runtime / 1000, runtime % 1000 / 10));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  built with: %d.%d\n", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  driver for CUDA: %d.%d%s\n", driver / 1000, driver % 1000 / 10, DriverMeaning(driver, runtime)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The devices that the first process sees, whether the options let it use them or not. */
static PetscErrorCode ViewDevices(PetscViewer viewer)
{
  const PetscSparseCUDATuning *measured;
  DCSRDeviceFacts              facts;
  struct cudaDeviceProp        properties;
  char                         bus[32];
  int                          count = 0;

  PetscFunctionBegin;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  (void)cudaGetLastError(); // a later check must not find this one
  PetscCall(PetscViewerASCIIPrintf(viewer, "GPUs: %d\n", count));
  for (int k = 0; k < count; k++) {
    PetscCallCUDA(cudaGetDeviceProperties(&properties, k));
    PetscCallCUDA(cudaDeviceGetPCIBusId(bus, (int)sizeof(bus), k));
    PetscCall(PetscSparseCUDATuningOfDevice(k, &facts, &measured));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %d: %s, %s, compute capability %d.%d, %.1f GiB, %.2f TB/s, launch table %s %s\n", k, properties.name, bus, facts.capability / 10, facts.capability % 10,
                                     (double)properties.totalGlobalMem / 1073741824, facts.bandwidth * 1e-6, measured->device.capability == facts.capability ? "of its own," : "of another GPU,",
                                     measured->name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc is likely to end the program when it first uses a device, which is still to come: it tries then whether MPI takes device memory. */
static PetscBool MPIRefuses(void)
{
  return (PetscBool)(use_gpu_aware_mpi && !PetscDeviceInitialized(PETSC_DEVICE_CUDA) && MPIX_Query_cuda_support != NULL && !MPIX_Query_cuda_support());
}

static PetscErrorCode ViewMPI(PetscViewer viewer)
{
  const char *takes = MPIX_Query_cuda_support == NULL ? "it does not say" : MPIX_Query_cuda_support() ? "yes" : "no";
#if defined(PETSC_HAVE_MPI_GET_LIBRARY_VERSION)
  char        version[MPI_MAX_LIBRARY_VERSION_STRING];
  PetscMPIInt length;
#else
  char version[] = "not known";
#endif

  PetscFunctionBegin;
#if defined(PETSC_HAVE_MPI_GET_LIBRARY_VERSION)
  PetscCallMPI(MPI_Get_library_version(version, &length));
  version[strcspn(version, "\n")] = 0;
#endif
  PetscCall(PetscViewerASCIIPrintf(viewer, "MPI: %s\n", version));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  built with: %s\n", BUILD_MPI));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  takes device memory: %s; gets it from PETSc: %s\n", takes, use_gpu_aware_mpi ? "yes" : "no, -use_gpu_aware_mpi 0"));
  if (MPIRefuses()) PetscCall(PetscViewerASCIIPrintf(viewer, "  PETSc tries MPI at the first use of a GPU, and ends the program when it fails: -use_gpu_aware_mpi 0\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewEnvironment(PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "Environment:\n"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(variables); k++) {
    const char *value = getenv(variables[k]);

    if (value != NULL) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s=%s\n", variables[k], value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewDisabled(PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "Left to PETSc:%s\n", PetscSparseCUDAGetDisabled(0) == NULL ? " nothing" : ""));
  for (int k = 0; PetscSparseCUDAGetDisabled(k) != NULL; k++) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", PetscSparseCUDAGetDisabled(k)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Initializes PETSc's device where there is one, unless PETSc would end the program. */
static PetscErrorCode AskProcess(Process *process)
{
  const char *obstacle;
  PetscBool   usable;
  cudaError_t error;
  int         device;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero((char *)process, sizeof(*process)));
  PetscCall(PetscGetHostName(process->host, sizeof(process->host)));
  PetscCall(PetscSparseCUDADeviceObstacle(&obstacle));
  if (!obstacle[0] && MPIRefuses()) obstacle = "not tried, since MPI does not take device memory";
  if (!obstacle[0]) {
    PetscCall(PetscSparseCUDADeviceUsable(&usable));
    PetscCallCUDA(cudaGetDevice(&device));
    PetscCallCUDA(cudaDeviceGetPCIBusId(process->device, (int)sizeof(process->device), device));
    error = PetscSparseCUDAPreloadTry();
    if (error != cudaSuccess) obstacle = cudaGetErrorString(error);
  }
  PetscCall(PetscStrncpy(process->obstacle, obstacle, sizeof(process->obstacle)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many processes share a device, or have none. Collective */
static PetscErrorCode ViewProcesses(PetscViewer viewer)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)viewer);
  Process        own, *all = NULL;
  PetscMPIInt    rank, size;
  int            num_lines = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Processes: %d\n", size));
  PetscCall(PetscViewerFlush(viewer)); // PETSc may end the program now
  PetscCall(AskProcess(&own));
  if (rank == 0) PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Gather(&own, (PetscMPIInt)sizeof(own), MPI_BYTE, all, (PetscMPIInt)sizeof(own), MPI_BYTE, 0, comm));
  for (PetscMPIInt p = 0; all != NULL && p < size; p++) {
    int count = 0;

    if (!all[p].host[0]) continue; // counted already
    own = all[p];
    for (PetscMPIInt q = p; q < size; q++) {
      if (memcmp(&own, &all[q], sizeof(own))) continue;
      all[q].host[0] = 0;
      count++;
    }
    if (num_lines++ < MAX_LINES)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  %s: %d with %s%s%s%s\n", own.host, count, own.device[0] ? "GPU " : "no GPU", own.device, own.obstacle[0] ? ": " : "", own.obstacle));
  }
  if (num_lines > MAX_LINES) PetscCall(PetscViewerASCIIPrintf(viewer, "  and %d more lines\n", num_lines - MAX_LINES));
  PetscCall(PetscFree(all));
  if (use_gpu_aware_mpi && PetscDeviceInitialized(PETSC_DEVICE_CUDA)) PetscCall(PetscViewerASCIIPrintf(viewer, "  PETSc has found that MPI takes device memory\n"));
  PetscCall(PetscViewerFlush(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscSparseCUDAView - Prints what a report of a fault needs: versions, driver, GPUs, what is left to PETSc, and the GPU of each process.

  Collective

  Input Parameter:
. viewer - an ASCII viewer; others print nothing

  Options Database Key:
. -petscsparsecuda_info [viewer] - prints it in `PetscSparseCUDAInitialize()`

  Level: beginner

  Notes:
  The program petscsparsecuda-info prints the same. Facts of GPUs, environment and MPI are those of the first process.

  It initializes GPUs, except where MPI says that it does not take device memory and PETSc relies on it.

.seealso: `PetscSparseCUDAInitialize()`, `PetscDeviceView()`
@*/
PetscErrorCode PetscSparseCUDAView(PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 1);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ViewLibrary(viewer));
  PetscCall(ViewPETSc(viewer));
  PetscCall(ViewCUDA(viewer));
  PetscCall(ViewDevices(viewer));
  PetscCall(ViewMPI(viewer));
  PetscCall(ViewEnvironment(viewer));
  PetscCall(ViewDisabled(viewer));
  PetscCall(ViewProcesses(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
