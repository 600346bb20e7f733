#pragma once
/*
  Blocks of parallel matrices: their types, ghost columns, scatters, and rows of other processes.
*/
#include <petscsparsecuda/blocks.h>
#include "../core/core.h"

/* Columns of a joined matrix, on the host and on the device. */
typedef struct {
  DCSRColumns device;
  PetscInt   *ghosts;        /* [device.num_ghosts] host, owned */
  int32_t    *ghosts_device; /* the same on the device, owned; device.ghosts */
} ProductColumns;

/* Rows on their way between processes. */
typedef struct {
  PetscSF  entries;  /* roots: entries of sent; leaves: entries of received */
  int32_t *rows;     /* [sent.num_rows] device, owned: rows of the matrix that others want; NULL: all */
  DCSRView sent;     /* packed rows; only their offsets between phases */
  DCSRView received; /* the same */
} ProductRows;

/* A joined matrix with rows of other processes below it. */
typedef struct {
  ProductRows    rows;
  ProductColumns columns;   /* of the whole */
  PetscInt       num_upper; /* rows of this process */
  DCSRView       view;      /* structure; values NULL between phases */
} ProductStack;

/* mpireplace.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAStructureOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDADestroyInsertion(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetEmpty(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetBlocks(Mat, DCSRView[], PetscInt, const int32_t[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetBlock(Mat, PetscBool, DCSRView *);

/* blocktypes.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetBlockTypes(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAUpdateGhostVector(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAParentSetPreallocation(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);

/* scatter.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAUseCurrentStream(Mat);

/* joined.c */
PETSC_INTERN PetscErrorCode ProductJoin(DCSRView, DCSRView, PetscBool, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode ProductFreeJoined(DCSRView, DCSRView *, cudaStream_t);

/* rows.c */
PETSC_INTERN PetscErrorCode ProductColumnsCreateOf(Mat, cudaStream_t, ProductColumns *);
PETSC_INTERN PetscErrorCode ProductColumnsDestroy(ProductColumns *, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductCreateSF(PetscLayout, PetscInt, const PetscInt[], PetscSF *);
PETSC_INTERN PetscErrorCode ProductStackCreateFetched(Mat, PetscSF, const DCSRView[], cudaStream_t, ProductStack *);
PETSC_INTERN PetscErrorCode ProductStackFill(ProductStack *, const DCSRView[], cudaStream_t);
PETSC_INTERN PetscErrorCode ProductStackCreateReturned(PetscLayout, PetscSF, DCSRView, DCSRView, const ProductColumns *, cudaStream_t, ProductStack *, DCSRView *);
PETSC_INTERN PetscErrorCode ProductStackPackValues(ProductStack *, DCSRView, const ProductColumns *, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductStackExchangeValues(ProductStack *, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductStackFreeBuffers(ProductStack *, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductStackDestroy(ProductStack *, cudaStream_t);

/* installblocks.c */
PETSC_INTERN PetscErrorCode ProductRenumberGhosts(PetscInt, DCSRView *, cudaStream_t, PetscInt *, int32_t **);
PETSC_INTERN PetscErrorCode ProductInstallBlocks(Mat, DCSRView[], PetscInt, const int32_t[]);
PETSC_INTERN PetscErrorCode ProductRaiseNonzeroState(Mat, PetscObjectState);
