#pragma once
/*
  Rows of a parallel matrix on one process, those of other processes fetched: what its submatrices are made of.
*/
#include "../core/core.h"
#include "../parallel/parallel.h"

typedef struct {
  MatOperand operands[2]; /* blocks of the matrix */
  RowStack   stack;       /* rows of this process, and the wanted ones below; values NULL but between Fill and DropValues */
  PetscInt   num_wanted;
  PetscInt  *wanted;   /* [num_wanted] host, owned: rows of other processes by their global numbers, ascending */
  PetscBool  singleis; /* MAT_SUBMAT_SINGLEIS when the submatrices were made: these may be changed before they are used again, which PETSc allows for them alone */
} GatheredRows;

/* Life (gatheredrows.c) */
PETSC_INTERN PetscErrorCode GatheredRowsGetBlocks(Mat, GatheredRows *, cudaStream_t, DCSRView[]);
PETSC_INTERN PetscErrorCode GatheredRowsCreate(Mat, const DCSRView[], PetscInt, const IS[], cudaStream_t, GatheredRows *);
PETSC_INTERN PetscErrorCode GatheredRowsAreCurrent(Mat, const GatheredRows *, PetscBool *);
PETSC_INTERN PetscErrorCode GatheredRowsFill(GatheredRows *, const DCSRView[], cudaStream_t);
PETSC_INTERN PetscErrorCode GatheredRowsDropValues(GatheredRows *, cudaStream_t);
PETSC_INTERN PetscErrorCode GatheredRowsDestroy(GatheredRows *, cudaStream_t);

/* Use (gatheredrows.c) */
PETSC_INTERN PetscInt       GatheredRowsNumColumns(const GatheredRows *);
PETSC_INTERN PetscInt       GatheredRowsFindColumn(const GatheredRows *, PetscInt);
PETSC_INTERN PetscErrorCode GatheredRowsSelect(const GatheredRows *, Mat, IS, const int32_t[], PetscInt, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDACreateSubMatrices(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]); /* mpisubmatrices.c */
