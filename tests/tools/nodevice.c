/*
  Loaded before a program that asks for facts of devices alone, it makes CUDA's runtime say that there is a driver, and a device if the driver is new enough. MPI says that it takes no device memory.
  Nothing can run there.

  NODEVICE_DRIVER     : CUDA version of the driver, 1000 major + 10 minor
  NODEVICE_CAPABILITY : compute capability of the device, 10 major + minor
*/
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

#define CLOCK 1000000 /* kHz, */
#define WIDTH 4000    /* and bits: 1 TB/s */

static int Variable(const char name[])
{
  const char *value = getenv(name);

  return value != NULL ? atoi(value) : 0;
}

int          MPIX_Query_cuda_support(void);
EXPORTED int MPIX_Query_cuda_support(void)
{
  return 0;
}

EXPORTED cudaError_t cudaDriverGetVersion(int *version)
{
  *version = Variable("NODEVICE_DRIVER");
  return cudaSuccess;
}

EXPORTED cudaError_t cudaGetDeviceCount(int *count)
{
  *count = Variable("NODEVICE_DRIVER") / 1000 >= CUDART_VERSION / 1000;
  return *count ? cudaSuccess : cudaErrorInsufficientDriver;
}

EXPORTED cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
  (void)device;
  memset(properties, 0, sizeof(*properties));
  strcpy(properties->name, "No GPU");
  properties->totalGlobalMem = (size_t)80 << 30;
  return cudaSuccess;
}

EXPORTED cudaError_t cudaDeviceGetPCIBusId(char *name, int length, int device)
{
  (void)device;
  strncpy(name, "0000:01:00.0", (size_t)length);
  return cudaSuccess;
}

EXPORTED cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  const int capability = Variable("NODEVICE_CAPABILITY");

  (void)device;
  switch (attribute) {
  case cudaDevAttrComputeCapabilityMajor:
    *value = capability / 10;
    break;
  case cudaDevAttrComputeCapabilityMinor:
    *value = capability % 10;
    break;
  case cudaDevAttrMemoryClockRate:
    *value = CLOCK;
    break;
  case cudaDevAttrGlobalMemoryBusWidth:
    *value = WIDTH;
    break;
  default:
    *value = 1024;
  }
  return cudaSuccess;
}
