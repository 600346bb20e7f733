#pragma once
/* Stands in for NVIDIA's management library where a CUDA toolkit lacks it: what PETSc 3.24 and 3.25 name of it. Devices start, and give no numbers of power and energy. */
#define NVML_SUCCESS               0
#define NVML_ERROR_NOT_SUPPORTED   3
#define NVML_FI_DEV_POWER_INSTANT 186

typedef int                nvmlReturn_t;
typedef struct nvmlStandIn *nvmlDevice_t;
typedef struct {
  unsigned int fieldId;
  nvmlReturn_t nvmlReturn;
  union {
    unsigned int uiVal;
  } value;
} nvmlFieldValue_t;

#if defined(__cplusplus)
extern "C" {
#endif
nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int, nvmlDevice_t *);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t, int, nvmlFieldValue_t *);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long *);
const char  *nvmlErrorString(nvmlReturn_t);
#if defined(__cplusplus)
}
#endif
