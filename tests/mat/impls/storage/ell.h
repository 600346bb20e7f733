#pragma once
/*
  A second, small storage for the interface in petscsparsecuda/storage.h: ELLPACK on the device. Every row has width slots; slot s of row r is at r + s * num_rows. Slots that a row does not use are
  behind those it uses, with column -1 and value 0.
*/
#include <petscmat.h>
#include <petscsparsecuda/dcsr.h>

/* What kernels see; all pointers are device pointers. */
typedef struct {
  PetscInt     num_rows, num_columns, width;
  PetscScalar *values;  /* [num_rows * width] */
  int32_t     *columns; /* the same */
} ELLView;

/* Kernels (ellkernels.cu), asynchronous on the stream; compact CSR of the same matrix */
PETSC_INTERN PetscErrorCode ELLFromCSR(ELLView, PetscBool structure, DCSRView, cudaStream_t); /* values, and columns as well if structure */
PETSC_INTERN PetscErrorCode ELLToCSR(ELLView, PetscBool structure, DCSRView, cudaStream_t);   /* row offsets are there */
PETSC_INTERN PetscErrorCode ELLMult(ELLView, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t);
PETSC_INTERN PetscErrorCode ELLMultTranspose(ELLView, PetscBool conjugate, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t);
PETSC_INTERN PetscErrorCode ELLScale(ELLView, PetscScalar, cudaStream_t);
PETSC_INTERN PetscErrorCode ELLGetDiagonal(ELLView, PetscScalar[], cudaStream_t);

/* What was done to all matrices, for the test to see who worked. */
typedef struct {
  PetscInt created, declined, values_set, csr_given, structure_given, mults, scaled;
} ELLCounts;

extern ELLCounts ell_counts;

#define MATSEQAIJELLCUDA       "seqaijellcuda"       /* replaces the CSR */
#define MATSEQAIJELLBESIDECUDA "seqaijellbesidecuda" /* stays beside it */

PETSC_INTERN PetscErrorCode ELLRegister(void); /* after PetscSparseCUDAInitialize() */
