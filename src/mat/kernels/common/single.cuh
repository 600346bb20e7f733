#pragma once
/* Values in single precision: real or complex, as PetscScalar is. With PETSc in single precision they are PetscScalar. */
#include <petscsys.h>
#if PetscDefined(USE_COMPLEX)
  #include <thrust/complex.h>
#endif

#if PetscDefined(USE_COMPLEX)
typedef thrust::complex<float> DCSRSingle;
#else
typedef float DCSRSingle;
#endif
static_assert(sizeof(DCSRSingle) == sizeof(PetscScalar) / sizeof(PetscReal) * sizeof(float), "The host counts the bytes of values so");
