#pragma once
/*
  MATDCSRCUDA: dynamic CSR as a storage (dcsrstorage.c), and what users may ask of it (storage.c).
*/
#include "../aijcuda/core/core.h"

PETSC_INTERN const MatDeviceStorageOps MatDeviceStorageDCSR;
