#pragma once
/*
  Sparse matrix types for PETSc on NVIDIA GPUs, as an add-on to an unmodified PETSc.

  Load with -dll_append /path/to/libpetscsparsecuda.so, or link the library and call PetscSparseCUDAInitialize() after PetscInitialize().
*/
#include <petscpc.h>
#include <petscsparsecudaversion.h>

/* SUBMANSEC = Mat */
/* A line with TOPIC names the part of docs/api.md that what follows belongs to; conf/make-api writes that page from the docstrings. */

/* TOPIC = Loading the library */

PETSC_EXTERN PetscErrorCode PetscSparseCUDAInitialize(void);
PETSC_EXTERN PetscErrorCode PetscSparseCUDAView(PetscViewer);

/* TOPIC = Matrix types */

#define MATDCSRCUDA       "dcsrcuda"
#define MATAIJDCSRCUDA    "aijdcsrcuda"    /* Another name of `MATDCSRCUDA`. */
#define MATSEQAIJDCSRCUDA "seqaijdcsrcuda" /* What a matrix of type `MATDCSRCUDA` is on one process. */
#define MATMPIAIJDCSRCUDA "mpiaijdcsrcuda" /* What a matrix of type `MATDCSRCUDA` is on several processes. */

#define MATHISPARSECUDA       "hisparsecuda"
#define MATAIJHISPARSECUDA    "aijhisparsecuda"    /* Another name of `MATHISPARSECUDA`. */
#define MATSEQAIJHISPARSECUDA "seqaijhisparsecuda" /* What a matrix of type `MATHISPARSECUDA` is on one process. */
#define MATMPIAIJHISPARSECUDA "mpiaijhisparsecuda" /* What a matrix of type `MATHISPARSECUDA` is on several processes. */

#define MATAUTOCUDA       "autocuda"
#define MATAIJAUTOCUDA    "aijautocuda"    /* Another name of `MATAUTOCUDA`. */
#define MATSEQAIJAUTOCUDA "seqaijautocuda" /* What a matrix of type `MATAUTOCUDA` is on one process. */
#define MATMPIAIJAUTOCUDA "mpiaijautocuda" /* What a matrix of type `MATAUTOCUDA` is on several processes. */

/* TOPIC = Solvers */

#define KSPGMRESPOLY "gmrespoly"

PETSC_EXTERN PetscErrorCode PCGAMGCUDASetLevelValues(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCGAMGCUDASetTune(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCGAMGCUDAGetTuned(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCGAMGCUDAPredictMemory(PetscInt, PetscCount, PetscInt, PetscInt, PetscLogDouble *);

/* TOPIC = Storage of a matrix */

PETSC_EXTERN PetscErrorCode MatDCSRCUDADefragment(Mat);
PETSC_EXTERN PetscErrorCode MatDCSRCUDAGetMemoryUsed(Mat, PetscCount *);
PETSC_EXTERN PetscErrorCode MatAutoCUDASetProducts(Mat, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode MatAutoCUDASetMinimumProducts(Mat, PetscInt, PetscInt);

/* TOPIC = Insertion of entries in device memory */

PETSC_EXTERN PetscErrorCode MatDCSRCUDASetValuesDevice(Mat, PetscCount, const PetscInt[], const PetscInt[], const PetscScalar[], InsertMode);

/* TOPIC = Insertion from inside a CUDA kernel */

/*S
  MatDCSRCUDAInserter - What a CUDA kernel needs to put entries into a matrix; passed to kernels by value.

  Level: intermediate

  Note:
  From `MatDCSRCUDAGetInserter()`. Kernels insert with `MatDCSRCUDAInsert()` and `MatDCSRCUDAInsertBlock()` of petscsparsecuda_device.h and leave the members alone.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDAGetInserter()`, `MatDCSRCUDARestoreInserter()`
S*/
typedef struct {
  PetscInt           *rows, *columns; /* [capacity] device memory */
  PetscScalar        *values;         /* [capacity] device memory */
  unsigned long long *count;          /* device memory: entries inserted so far, those for which there is no room included */
  PetscCount          capacity;
  InsertMode          mode; /* for MatDCSRCUDARestoreInserter() */
} MatDCSRCUDAInserter;

PETSC_EXTERN PetscErrorCode MatDCSRCUDAGetInserter(Mat, PetscCount, InsertMode, MatDCSRCUDAInserter *);
PETSC_EXTERN PetscErrorCode MatDCSRCUDARestoreInserter(Mat, MatDCSRCUDAInserter *);
