#include "nvml.h"

nvmlReturn_t nvmlInit_v2(void)
{
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int device, nvmlDevice_t *handle)
{
  (void)device;
  (void)handle;
  return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int n, nvmlFieldValue_t *values)
{
  (void)handle;
  (void)n;
  (void)values;
  return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t handle, unsigned long long *energy)
{
  (void)handle;
  (void)energy;
  return NVML_ERROR_NOT_SUPPORTED;
}

const char *nvmlErrorString(nvmlReturn_t error)
{
  return error == NVML_SUCCESS ? "no error" : "PETSc was built without NVIDIA's management library: install the toolkit's nvml.h and build PETSc again";
}
