#pragma once
/*
  What operations on matrices share beside their state: vectors and operands on the device, arrays for others, patterns.
*/
#include "../state/state.h"

/* Vectors of any memory type as device arrays (vectors.c) */
typedef enum {
  ARRAY_READ,
  ARRAY_WRITE, /* the old entries are not used */
  ARRAY_READ_WRITE
} ArrayAccess;

/* A device pointer to the local entries of a vector of any memory type, and what it takes to give them back. */
typedef struct {
  Vec          v; /* NULL: nothing to give back */
  ArrayAccess  access;
  PetscScalar *device; /* what kernels use */
  PetscScalar *host;   /* the vector's own array when it lives on the host, else NULL */
  PetscInt     n;      /* local entries */
} DeviceArray;

/* A sequential operand of a product. */
typedef struct {
  PetscObjectId    id;                    /* of the matrix whose structure the product was made for */
  PetscObjectState nonzerostate;          /* its pattern then */
  PetscObjectState state;                 /* its values when the result's were computed last */
  uint64_t        *hash;                  /* [DCSR_PATTERN_WORDS] device, owned: of that pattern, which the matrix may have lost since; NULL: not known */
  PetscInt         num_rows, num_columns; /* sizes then */
  PetscCount       num_nonzeros;
  PetscBool        wide;    /* width of its offsets, which a permutation shares */
  DCSRView         copy;    /* of a matrix that is not ours, owned; zero otherwise */
  PetscObjectId    copy_id; /* what the copy is of; 0: there is none */
  PetscObjectState copy_nonzerostate;
} MatOperand;

/* The nonzero pattern of a matrix at some time. */
typedef struct {
  DCSRPattern blocks[2];  /* of the diagonal and of the off-diagonal block; of a sequential matrix the first one */
  PetscInt    num_ghosts; /* ghost columns: the off-diagonal block counts its columns in them */
  PetscInt   *ghosts;     /* [num_ghosts] their global numbers, owned */
} * MatAIJCUDAPattern;

/* pattern.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAGetBlocks(Mat, Mat[2]);
PETSC_INTERN PetscErrorCode MatAIJCUDAPatternCreate(Mat, const DCSRView *, MatAIJCUDAPattern *);
PETSC_INTERN PetscErrorCode MatAIJCUDAPatternDestroy(MatAIJCUDAPattern *);
PETSC_INTERN PetscErrorCode MatAIJCUDAHasPattern(Mat, int, MatAIJCUDAPattern, PetscBool *);

/* vectors.c */
PETSC_INTERN PetscErrorCode MatAIJCUDAHasDeviceVectors(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode GetDeviceArray(Mat, Vec, PetscInt, ArrayAccess, HostVecBuffer *, cudaStream_t, DeviceArray *);
PETSC_INTERN PetscErrorCode RestoreDeviceArray(DeviceArray *, cudaStream_t, PetscErrorCode);

/* bound.c */
PETSC_INTERN PetscErrorCode MatAIJCUDABoundBegin(Mat, PetscBool[3]);
PETSC_INTERN PetscErrorCode MatAIJCUDABoundEnd(Mat, const PetscBool[3]);

/* arrays.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetArrayHooks(Mat);

/* operands.c */
PETSC_INTERN PetscErrorCode MatOperandsAlike(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatOperandHasType(Mat, PetscBool, PetscBool *);
PETSC_INTERN PetscErrorCode MatOperandUsable(Mat, PetscBool, PetscBool *);
PETSC_INTERN PetscErrorCode MatOperandNoteBlockSizes(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatOperandGet(Mat, MatOperand *, PetscBool, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode MatOperandNote(Mat, MatOperand *, PetscBool);
PETSC_INTERN PetscErrorCode MatOperandNotePattern(Mat, DCSRView, MatOperand *, cudaStream_t);
PETSC_INTERN PetscBool      MatOperandIsSame(Mat, const MatOperand *);
PETSC_INTERN PetscErrorCode MatOperandNoteBlocks(Mat, Mat, const char[]);
PETSC_INTERN PetscErrorCode MatOperandIsOfBlocks(Mat, Mat, const char[], PetscBool *);
PETSC_INTERN PetscErrorCode MatOperandHasPattern(Mat, DCSRView, const MatOperand *, cudaStream_t, PetscBool *);
PETSC_INTERN PetscErrorCode MatOperandHasValues(Mat, const MatOperand *, PetscBool *);
PETSC_INTERN PetscErrorCode MatOperandDestroy(MatOperand *, cudaStream_t);
