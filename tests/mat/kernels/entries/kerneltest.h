#pragma once
/*
  Matrices for the kernel tests: made on the host, put on the device compact or fragmented, with offsets of either width.
*/
#include <petscsparsecuda/convert.h>

typedef struct {
  const char  *name;
  PetscInt     m, n;
  PetscCount   nz;
  PetscInt    *i, *j; /* sorted, zero-based */
  PetscScalar *a;
} KernelTestMatrix;

/* How a matrix lies on the device. */
typedef struct {
  const char *name;
  PetscBool   wide;
  PetscInt    max_segments; /* 0: compact */
  PetscInt    slack;
} KernelTestStorage;

PETSC_INTERN const KernelTestStorage KernelTestStorages[];
PETSC_INTERN const PetscInt          KernelTestNumStorages;

PETSC_INTERN PetscErrorCode KernelTestMatrixCreate(PetscInt, KernelTestMatrix *, PetscBool *); /* shape number from 0; PETSC_FALSE past the last */
PETSC_INTERN PetscErrorCode KernelTestMatrixDestroy(KernelTestMatrix *);
PETSC_INTERN PetscErrorCode KernelTestViewCreate(const KernelTestMatrix *, const KernelTestStorage *, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode KernelTestViewDestroy(DCSRView *, cudaStream_t);
PETSC_INTERN PetscErrorCode KernelTestViewAllocate(PetscInt, PetscInt, PetscCount, PetscBool, cudaStream_t, DCSRView *); /* compact, not filled: m, n, nz, wide */

/* Compact or fragmented device storage back to host CSR with sorted rows. */
PETSC_INTERN PetscErrorCode KernelTestMatrixFromView(DCSRView, cudaStream_t, KernelTestMatrix *);
/* Structure equal, and values within tol; an error that names the first difference otherwise. */
PETSC_INTERN PetscErrorCode KernelTestMatrixCompare(const KernelTestMatrix *, const KernelTestMatrix *, PetscReal, const char[]);

PETSC_INTERN PetscScalar    KernelTestNumber(PetscCount, PetscInt); /* index, seed: in [-1, 1], with an imaginary part when complex */
PetscScalar                 KernelTestRound(PetscScalar v);
PETSC_INTERN PetscErrorCode KernelTestToDevice(size_t, const void *, cudaStream_t, void **);
PETSC_INTERN PetscErrorCode KernelTestToHost(size_t, const void *, cudaStream_t, void *);
PETSC_INTERN PetscErrorCode KernelTestCompareScalars(PetscCount, const PetscScalar[], const PetscScalar[], const PetscReal[], const char[], const char[],
                                                     const char[]); /* n, got, expected, scale of the rounding errors or NULL for equality, what, matrix, storage */

PETSC_INTERN PetscErrorCode KernelTestMemoryInUse(cudaStream_t, size_t *); /* bytes of device memory when all work queued so far is done */

/* Loops over all shapes and storages. */
typedef PetscErrorCode      KernelTestFn(const KernelTestMatrix *, const KernelTestStorage *, DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode KernelTestRun(KernelTestFn *);
PETSC_INTERN PetscErrorCode KernelTestMain(int, char **, const char[], KernelTestFn *); /* a whole main(): argc, argv, help, the test */
