#pragma once
#include <petscsparsecuda/dcsr.h>

/* What a product C = A B keeps between its symbolic and its numeric phase: lists of C's rows by bin, on the device. */
typedef struct _n_DCSRSpGEMM *DCSRSpGEMM;

/* What -info and MatView() say about a product; on the host. */
#define DCSR_SPGEMM_MAX_BINS 16
typedef struct {
  PetscCount  num_products;                    /* terms: multiplications of an entry of A by one of B */
  int         blocks[3];                       /* products of full blocks: rows and columns of one of A, columns of one of B, and rows in bins are block rows; zero otherwise */
  PetscInt    num_bins;                        /* bins of the numeric phase */
  const char *bin_names[DCSR_SPGEMM_MAX_BINS]; /* [num_bins] static strings */
  PetscCount  bin_rows[DCSR_SPGEMM_MAX_BINS];  /* [num_bins] rows of C in each */
  size_t      positions;                       /* bytes that repetitions of the numeric phase read in place of tables; 0: none are kept, or not yet */
  size_t      workspace;                       /* bytes of device memory held at once beside A, B and C, but CUB's temporary storage */
} DCSRSpGEMMInfo;

/*
  C = A B. A and B are compact with sorted rows, A.num_columns == B.num_rows; C comes out compact with sorted rows. Bitwise reproducible.

  Symbolic allocates C, which its caller owns: row offsets and columns; with the flag also values, computed in the same pass (A.values and B.values are there
  then). *product is NULL after an error, as are C's arrays. Numeric computes the values of the same structures again: A and B with the patterns of the symbolic
  phase, C with the structure that it gave and values allocated [num_nonzeros].
*/
PETSC_INTERN PetscErrorCode DCSRSpGEMMSymbolic(DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product);
/* The same without row offsets and columns of C where a list of its full blocks does, as the right factor of another product; B may be such a C in both: *product is NULL then where it does not. */
PETSC_INTERN PetscErrorCode DCSRSpGEMMSymbolicOfList(DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product);
PETSC_INTERN PetscErrorCode DCSRSpGEMMExpand(DCSRView *C, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpGEMMNumeric(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream);
PETSC_INTERN PetscBool      DCSRSpGEMMAllocates(DCSRSpGEMM product); /* whether Numeric needs memory in the middle: an error may then leave some of C's values new and others old */
PETSC_INTERN PetscErrorCode DCSRSpGEMMGetInfo(DCSRSpGEMM product, DCSRSpGEMMInfo *info);
PETSC_INTERN PetscErrorCode DCSRSpGEMMDestroy(DCSRSpGEMM *product, cudaStream_t stream);

/* Whether products begin with far too little room, and traverse once more; for tests alone. */
PETSC_INTERN PetscBool DCSRSpGEMMSmallRoom;
