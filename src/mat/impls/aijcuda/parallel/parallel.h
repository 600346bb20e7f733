#pragma once
/*
  Blocks of parallel matrices: their types, ghost columns, scatters, and rows of other processes.
*/
#include <petscsparsecuda/blocks.h>
#include "../core/core.h"
#include "../exchange/exchange.h"

/* Columns of a joined matrix, on the host and on the device. */
typedef struct {
  DCSRColumns device;
  PetscInt   *ghosts;        /* [device.num_ghosts] host, owned */
  int32_t    *ghosts_device; /* the same on the device, owned; device.ghosts */
} JoinedColumns;

/* Rows on their way between processes. */
typedef struct {
  RowMessages messages; /* of entries */
  int32_t    *rows;     /* [sent.num_rows] device, owned: rows of the matrix that others want; NULL: all */
  DCSRView    sent;     /* packed rows; only their offsets between phases */
  DCSRView    received; /* the same */
} RemoteRows;

/* A joined matrix with rows of other processes below it. */
typedef struct {
  RemoteRows    rows;
  JoinedColumns columns;   /* of the whole */
  PetscInt      num_upper; /* rows of this process */
  DCSRView      view;      /* structure; values NULL between phases */
} RowStack;

/* The exchange of a product with a parallel matrix (scatter.c). */
typedef struct {
  cudaStream_t stream;    /* of the current context */
  PetscBool    exchanges; /* this process sends or receives something */
} ProductMessages;

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

/* createvecs.c */
PETSC_INTERN PetscErrorCode MatAIJCUDABindVec(Vec);
PETSC_INTERN PetscErrorCode MatCreateVecs_MPIAIJCUDA(Mat, Vec *, Vec *);

/* scatter.c */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAUseCurrentStream(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAScatter(Mat, Vec, Vec, InsertMode, ScatterMode); /* matrix, from, to */
PETSC_INTERN PetscErrorCode ProductMessagesBegin(Mat, Vec, ProductMessages *);
PETSC_INTERN PetscErrorCode ProductMessagesEnd(Mat, const ProductMessages *, Vec, Vec, PetscBool);

/* joined.c */
PETSC_INTERN PetscErrorCode JoinBlocks(DCSRView, DCSRView, PetscBool, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode FreeJoinedBlocks(DCSRView, DCSRView *, cudaStream_t);

/* rows.c */
PETSC_INTERN PetscErrorCode JoinedColumnsCreateOf(Mat, cudaStream_t, JoinedColumns *);
PETSC_INTERN PetscErrorCode JoinedColumnsDestroy(JoinedColumns *, cudaStream_t);
PETSC_INTERN PetscErrorCode LayoutCreateSF(PetscLayout, PetscInt, const PetscInt[], PetscSF *);
PETSC_INTERN PetscErrorCode RowStackCreateFetched(Mat, PetscInt, const PetscInt[], const DCSRView[], cudaStream_t, RowStack *);
PETSC_INTERN PetscErrorCode RowStackFill(RowStack *, const DCSRView[], cudaStream_t);
PETSC_INTERN PetscErrorCode RowStackCreateReturned(PetscLayout, PetscLayout, const PetscInt[], DCSRView, DCSRView, const JoinedColumns *, cudaStream_t, RowStack *, DCSRView *);
PETSC_INTERN PetscErrorCode RowStackPackValues(RowStack *, DCSRView, const JoinedColumns *, cudaStream_t);
PETSC_INTERN PetscErrorCode RowStackExchangeValues(RowStack *, cudaStream_t);
PETSC_INTERN PetscErrorCode RowStackFreeBuffers(RowStack *, cudaStream_t);
PETSC_INTERN PetscErrorCode RowStackDestroy(RowStack *, cudaStream_t);

/* installblocks.c */
PETSC_INTERN PetscErrorCode GhostColumnsRenumberTo(DCSRView *, PetscInt, const int32_t[], cudaStream_t);
PETSC_INTERN PetscErrorCode GhostColumnsRenumber(PetscInt, DCSRView *, cudaStream_t, PetscInt *, int32_t **);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAInstallBlocks(Mat, DCSRView[], PetscInt, const int32_t[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDACreateLike(Mat, DCSRView[], PetscInt, const int32_t[], Mat *);
PETSC_INTERN PetscErrorCode MatAIJCUDACreateReduced(Mat, DCSRView[], PetscErrorCode, Mat *);
