#pragma once
/*
  Products of sparse matrices on the device: what sequential and parallel ones share.

  Structures of factors and intermediate results live as long as the product, their values only while one of its phases runs.
*/
#include <petscsparsecuda/spgemm.h>
#include <petscsparsecuda/blocks.h>
#include <petscsparsecuda/pattern.h>
#include "../core/core.h"

/* An explicit transpose. */
typedef struct {
  DCSRView  view;        /* owned unless shared; values NULL outside of a phase */
  void     *permutation; /* of DCSRTransposeKeep(), owned; NULL when shared */
  PetscBool shared;      /* the arrays are those that the matrix itself keeps (MAT_FORM_EXPLICIT_TRANSPOSE) */
} ProductTranspose;

/* A product of three matrices in slices (productslices.c), and what is told of it. */
typedef struct {
  PetscInt   num_slices;   /* 1: it is not sliced */
  PetscCount num_rows;     /* rows of the intermediate product that were computed, */
  PetscCount num_again;    /* and how many of them were there before */
  PetscCount num_products; /* multiplications */
  PetscCount max_entries;  /* of the intermediate product that were there at a time */
  size_t     workspace;    /* most of one multiplication */
} ProductSlices;

typedef struct _ProductJoinedSlice ProductJoinedSlice;

/* A product whose left factor are two blocks side by side (productjoined.c). */
typedef struct {
  PetscInt            n;      /* slices; more than one where a copy of both blocks is large */
  ProductJoinedSlice *slices; /* [n] host, owned: consecutive rows, which are all rows; NULL: the product is not made yet */
} ProductJoined;

#define PRODUCT_MAX_MATS 4 /* sequential matrices that take part: three operands, or the blocks of two */

typedef struct _ProductOps ProductOps;

/* What the phases of a product with a sparse result keep. */
typedef struct {
  const ProductOps *ops;
  MatOperand        operands[PRODUCT_MAX_MATS]; /* what is known of the matrices of ops->getmats() */
  DCSRView          views[PRODUCT_MAX_MATS];    /* their storage, borrowed while a phase runs; zero: there is no such matrix */
  ProductTranspose  transposes[2];              /* of those of ops->gettransposed() */
  DCSRView          blocks[2];                  /* of the result, from the time they are there until it is installed, owned */
  PetscObjectState  result_nonzerostate;        /* pattern of the result when it was made */
  PetscBool         computed;                   /* the symbolic phase computed the values, too, and nobody has asked for them yet */
  void             *data;                       /* [ops->size] what one kind of product keeps beside that, owned */
} SparseProduct;

/*
  What one kind of product does in its own way; productcycle.c calls it. Functions may be NULL where it says so.

  "Own" functions are work of each process for itself, which may fail on one alone: the caller agrees afterwards. "Collective" ones may exchange something, after
  agreements of their own; what they do after their last exchange may fail on one process alone, too.
*/
struct _ProductOps {
  size_t size; /* of SparseProduct.data, which is zero in an empty product */

  /* Which matrices take part: the sequential ones, [PRODUCT_MAX_MATS], that are operands or their blocks; [2] which of them are transposed, -1: none; [2] blocks of the result. NULL: there is none. */
  void (*getmats)(Mat, Mat[]);
  void (*gettransposed)(Mat, int[]);
  void (*getblocks)(Mat, Mat[]);

  PetscErrorCode (*fits)(Mat, PetscBool *);                                              /* whether all operands are of types that it takes, the same on all processes */
  PetscErrorCode (*usable)(Mat, PetscBool *);                                            /* collective: whether the device supports the product now, the same on all processes */
  PetscErrorCode (*choose)(Mat, const ProductOps **);                                    /* collective or NULL: the table for the patterns of now */
  PetscErrorCode (*startsymbolic)(Mat);                                                  /* collective or NULL: before the operands are looked at */
  PetscErrorCode (*startnumeric)(Mat, SparseProduct *, PetscBool *);                     /* collective: the same; entries staged for the result join it; whether the result is known to be current */
  PetscErrorCode (*multiply)(Mat, SparseProduct *, PetscBool, cudaStream_t);             /* collective: structures of an empty product, and with the flag values; values of one that is not empty */
  PetscErrorCode (*getresult)(Mat, SparseProduct *, PetscBool, cudaStream_t);            /* own: blocks of the result, with values or zeros */
  PetscErrorCode (*install)(Mat, SparseProduct *);                                       /* collective: they become the result, and are zero then */
  PetscErrorCode (*setvalues)(Mat, SparseProduct *, cudaStream_t);                       /* own or NULL: values that were computed again go to the result */
  PetscErrorCode (*noteghosts)(Mat, SparseProduct *);                                    /* own or NULL: ghost columns are part of the pattern */
  PetscErrorCode (*compareghosts)(Mat, const SparseProduct *, PetscBool *, PetscBool *); /* own or NULL: whether they are the same, and whether they ascend */
  PetscErrorCode (*dropvalues)(SparseProduct *, cudaStream_t);                           /* own: values that live while a phase runs */
  PetscErrorCode (*clear)(SparseProduct *, cudaStream_t);                                /* collective: frees what is in data */
  PetscErrorCode (*view)(const SparseProduct *, PetscViewer);                            /* collective */
};

/* transposes.c */
PETSC_INTERN PetscErrorCode ProductTransposeGet(Mat, DCSRView, PetscBool, cudaStream_t, ProductTranspose *);
PETSC_INTERN PetscErrorCode ProductTransposeDropValues(ProductTranspose *, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductTransposeDestroy(ProductTranspose *, cudaStream_t);

/* productlocal.c */
PETSC_INTERN PetscErrorCode ProductSymbolicOfList(Mat, const char[], DCSRView, DCSRView, PetscBool, PetscBool, cudaStream_t, DCSRView *, DCSRSpGEMM *);
PETSC_INTERN PetscErrorCode ProductSymbolic(Mat, const char[], DCSRView, DCSRView, PetscBool, cudaStream_t, DCSRView *, DCSRSpGEMM *);
PETSC_INTERN PetscErrorCode ProductNumeric(DCSRSpGEMM, DCSRView, DCSRView, DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductViewPlan(PetscViewer, const char[], DCSRSpGEMM);

/* productslices.c */
PETSC_INTERN PetscErrorCode ProductSlicesChoose(Mat, PetscInt, const DCSRView[], cudaStream_t, PetscInt *);
PETSC_INTERN PetscErrorCode ProductSlicesSymbolic(Mat, const DCSRView[], PetscBool, cudaStream_t, ProductSlices *, DCSRView *);
PETSC_INTERN PetscErrorCode ProductSlicesNumeric(Mat, const DCSRView[], cudaStream_t, const ProductSlices *, DCSRView);
PETSC_INTERN PetscErrorCode ProductSlicesView(PetscViewer, const ProductSlices *);
PETSC_INTERN PetscErrorCode ProductSlicesConcatenate(PetscInt, const PetscInt[], DCSRView[], PetscInt, PetscBool, cudaStream_t, DCSRView *);

/* productjoined.c */
PETSC_INTERN size_t         ProductJoinedBytes; /* of a copy of rows of a left factor, set by tests; 0: as memory allows */
PETSC_INTERN PetscErrorCode ProductJoinedSymbolic(Mat, const char[], const DCSRView[], DCSRView, PetscBool, PetscBool, cudaStream_t, DCSRView *, ProductJoined *);
PETSC_INTERN PetscErrorCode ProductJoinedNumeric(const ProductJoined *, const DCSRView[], DCSRView, DCSRView, cudaStream_t);
PETSC_INTERN PetscErrorCode ProductJoinedView(PetscViewer, const char[], const ProductJoined *);
PETSC_INTERN PetscErrorCode ProductJoinedDestroy(ProductJoined *, cudaStream_t);

/* productright.c */
PETSC_INTERN PetscBool      ProductRightIsOperand(Mat);
PETSC_INTERN PetscErrorCode ProductRightDrop(Mat);
PETSC_INTERN PetscErrorCode ProductRightCreate(Mat);
PETSC_INTERN PetscErrorCode ProductRightRefresh(Mat);

/* productcycle.c */
PETSC_INTERN PetscErrorCode ProductCycleSetFromOptions(Mat, const ProductOps *, PetscErrorCode (*)(Mat), PetscBool *);
PETSC_INTERN PetscErrorCode ProductCycleSymbolic(Mat, const ProductOps *);
PETSC_INTERN PetscErrorCode ProductLayoutsFit(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode ProductInstallBlocks(Mat, SparseProduct *, PetscInt, const int32_t[]);
PETSC_INTERN PetscBool      ProductCycleSupports(Mat);
PETSC_INTERN PetscErrorCode ProductCycleHasValues(Mat, const SparseProduct *, PetscBool *);

/* productseq.c */
PETSC_INTERN const ProductOps ProductBlocksOps; /* parallel matrices without ghost columns on any process */
PETSC_INTERN PetscErrorCode   MatProductSetFromOptions_SeqAIJCUDA(Mat, PetscBool *);

/* productdense.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_SeqAIJCUDA_SeqDense(Mat, PetscBool *);

/* productmpi.c */
PETSC_INTERN PetscErrorCode ProductMPIFits(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode ProductMPIUsable(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode ProductMPIChoose(Mat, const ProductOps **);
PETSC_INTERN void           ProductMPIGetBlocks(Mat, Mat[]);
PETSC_INTERN int            ProductMPIGetOperands(Mat, Mat[]);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_MPIAIJCUDA(Mat, PetscBool *);

/* product.c */
PETSC_INTERN PetscErrorCode ProductSetTypeOfFirst(Mat);
PETSC_INTERN PetscErrorCode MatProductSymbolicOnHost_AIJCUDA(Mat);
