#pragma once
/*
  The interface of device storage: what the subclasses of MATSEQAIJ ask of the storage of a sequential matrix.

  A type has a table of functions, as PETSc has them, and is registered with it (MatDeviceStorageRegister()). Compact CSR, DCSRView, is what all modules read and write: insertion and deletion, norms
  and what else goes entry by entry, sums and products, transposes, submatrices, PCGAMG's graph, and the copies to and from the host. They ask for it with MatSeqAIJCUDACopyToDevice() and
  MatSeqAIJCUDACompact(), and know no other storage.
  What goes through the table are products with vectors, and what costs nothing beside them: factors, copies and transposes that share, diagonals, and sums.

  DCSR is its own CSR view: its table works on the view without a copy, and has no data beside it. Any other storage is made of compact CSR by a product with a vector, and:

  - goes with the structure (MatSeqAIJCUDADropPlans()). The first structure of a matrix gets it at once, later ones when products have lost what making it costs (skirental.h), or a hint says that they
    will;
  - gets new values from CSR (setvalues), at the next product, when those of CSR are newer;
  - gives values back (getcsr) when somebody asks for CSR after an operation of the storage changed them;
  - may replace the CSR, which is released then. It is made again when somebody asks for it, and from then on stays: a matrix that only multiplies has one storage, one whose CSR is in use has both
    until its structure changes.

  Which side has the newest values is a state like PetscOffloadMask, one level below it: offloadmask says host or device, MatDeviceValues says CSR or storage.

  While MatDeviceStorageUseSingle() says so, products may read values in single precision instead, which a storage keeps beside those that it has: made by prepare(), and again when the object state of
  the matrix has changed, unless only what is made is to be read. All else goes on with PetscScalar. A storage that cannot multiplies as ever. Of one matrix, the finest, they may read masked diagonals,
  and FP16. More bits than asked for serve, so that cycles of two preconditioners do not take turns at rounding a matrix that they share.

  CSR whose values somebody holds (MatSeqAIJGetCSRAndMemType()) is used alone until the structure changes.

  A type that chooses between CSR and its storage while the program runs has a second table, MatDeviceChooserOps.

  A family of types (MatAIJCUDATypes) is what a user sees of a storage: names for one process and for several, and the types of the blocks of the parallel matrix. The code of all families is the same.
  A sequential type may also stand alone, with a storage and without a family.
*/
#include <petscmat.h>
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/spmv.h>

/* Products with vectors. */
typedef enum {
  MULT_FORWARD,
  MULT_TRANSPOSE,
  MULT_HERMITIAN
} MultKind;

/* What is counted by types that choose their storage. */
typedef enum {
  DEVICE_WORK_FORWARD,   /* y = A x + z */
  DEVICE_WORK_TRANSPOSE, /* the same with the transpose, Hermitian or not */
  DEVICE_WORK_EPILOGUE,  /* a product with an epilogue, such as a step of a smoother */
  DEVICE_NUM_WORKS
} MatDeviceWork;

/* What products read inside of cycles, beside values in single precision. */
typedef struct {
  Mat       finest; /* the sequential matrix of the finest level, or its diagonal block; NULL: none */
  PetscBool half;   /* values in FP16 will do for it */
  PetscBool made;   /* rounded values are read where they are there and of now; none are made */
} MatDeviceRounding;

/* Who of CSR and storage has the newest values of the device. Without storage beside it CSR has them, whatever this says. */
typedef enum {
  DEVICE_VALUES_CSR,
  DEVICE_VALUES_STORAGE,
  DEVICE_VALUES_BOTH
} MatDeviceValues;

/* What a sum by storage did to its first term. */
typedef enum {
  DEVICE_SUM_NONE,   /* nothing: left to CSR */
  DEVICE_SUM_SAME,   /* the patterns are the same, values alone were added */
  DEVICE_SUM_SUBSET, /* it has all entries of the other term, values alone were added */
  DEVICE_SUM_GROWN   /* the storage has a new structure, with the other term's entries */
} MatDeviceSum;

/*
  The functions of one storage. They are called with the matrix, whose device.data is what create() made; work is queued on stream, arrays are on the device unless it says otherwise. A function that
  fails leaves the storage as it was.
*/
typedef struct {
  const char *name;         /* what the viewer says */
  PetscBool   replaces_csr; /* the CSR is released when the storage is made */

  PetscErrorCode (*setfromoptions)(Mat, PetscOptionItems); /* its options, part of MatSetFromOptions() and of the constructor; what they say is in options.storage_format; NULL: it has none */

  /* Storage from compact CSR, with sorted columns and with values, and back. DCSR has none of these three. */
  PetscErrorCode (*create)(Mat, DCSRView, cudaStream_t, void **); /* *data NULL: the storage does not pay for this matrix, which uses CSR until its structure changes */
  PetscErrorCode (*getcsr)(Mat, PetscBool, PetscBool, DCSRView,
                           cudaStream_t);                   /* structure and values, as they are asked for, into the arrays of compact CSR, which the caller allocated; no others are */
  PetscErrorCode (*setvalues)(Mat, DCSRView, cudaStream_t); /* the values of compact CSR of the same structure */

  /* Storage of another matrix, of the matrix itself or, if true, of its transpose; NULL together: both are made of CSR */
  PetscErrorCode (*share)(Mat, PetscBool, cudaStream_t, void **); /* a copy with values; structure is shared */
  PetscErrorCode (*sharevalues)(Mat, Mat, PetscBool, cudaStream_t,
                                PetscBool *); /* all values of the first into the storage of the second; PETSC_FALSE: its structure may be another one, nothing was done */

  PetscErrorCode (*destroy)(Mat, void **);    /* the storage, and what it keeps for products; *data is NULL afterwards */
  PetscErrorCode (*bytes)(Mat, PetscCount *); /* adds the device memory it holds */
  PetscErrorCode (*view)(Mat, PetscViewer);   /* one line of facts for ::ascii_info */

  /* y = op(A) x + z; z may be NULL or y. What goes before, for the first product after a change: plans, defragmentation; NULL: nothing */
  PetscErrorCode (*prepare)(Mat, MultKind, cudaStream_t);
  PetscErrorCode (*mult)(Mat, MultKind, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
  PetscErrorCode (*multepilogue)(Mat, const PetscScalar[], const DCSRSpMVEpilogue *, PetscScalar[], cudaStream_t,
                                 PetscBool *);     /* x, epilogue, y: what it makes of A x. NULL, or PETSC_FALSE: mult, and a kernel over the vectors */
  PetscErrorCode (*releasesingle)(Mat);            /* frees what prepare() makes for products with values in single precision, MatDeviceStorageUsesSingle(); NULL: it makes nothing */
  PetscErrorCode (*getrounding)(Mat, PetscReal *); /* HiSparseGetRounding() of that; -1 without values in FP16, as when this is NULL */

  PetscErrorCode (*scale)(Mat, PetscScalar, cudaStream_t);         /* by a number that is not 0 */
  PetscErrorCode (*getdiagonal)(Mat, PetscScalar[], cudaStream_t); /* [min(rows, columns)], 0 where a row has none */

  /* Y += a X with the storage of two matrices of this type and of one size, where the sum has at most so many entries; how many it has, where it has grown. May synchronize; NULL: CSR does it */
  PetscErrorCode (*axpy)(Mat, PetscScalar, Mat, PetscCount, cudaStream_t, PetscCount *, MatDeviceSum *);
} MatDeviceStorageOps;

/* The functions of a type that selects, while the program runs, between CSR and its storage. What it keeps for a matrix is in device.choice. */
typedef struct {
  PetscErrorCode (*wants)(Mat, PetscBool *);                 /* whether the product that comes next goes by the storage, which is made if it is not there */
  PetscErrorCode (*count)(Mat, MatDeviceWork, cudaStream_t); /* a product is about to be queued, with what it works on current */
  PetscErrorCode (*decide)(Mat, PetscBool,
                           cudaStream_t);   /* selects now, by hints about products that follow; if true, it stays so until the structure changes, and products may be captured in a graph */
  PetscErrorCode (*view)(Mat, PetscViewer); /* a line about the selection for ::ascii_info */
  PetscErrorCode (*destroy)(Mat);           /* frees device.choice, part of MatDestroy() and of a change of the type */
} MatDeviceChooserOps;

/* Types that belong together: one storage, on one process and on several. */
typedef struct {
  MatType root, aij;    /* what users say, "dcsrcuda" and "aijdcsrcuda" for example */
  MatType seq, mpi;     /* what the matrix is then */
  MatType off_diagonal; /* sequential type of the off-diagonal block of mpi; that of the diagonal block is seq */
} MatAIJCUDATypes;

/* Families of types (state/types.c) */
PETSC_INTERN PetscErrorCode MatAIJCUDATypesRegister(const MatAIJCUDATypes *);
PETSC_INTERN PetscErrorCode MatAIJCUDATypesFind(MatType, const MatAIJCUDATypes **);
PETSC_INTERN PetscErrorCode MatAIJCUDATypesFindParallel(MatType, const MatAIJCUDATypes **);

/* Types and their storage (state/storage.c) */
PETSC_INTERN PetscErrorCode MatDeviceStorageRegister(MatType, const MatDeviceStorageOps *, const MatDeviceChooserOps *);
PETSC_INTERN PetscErrorCode MatDeviceStorageFind(MatType, MatType *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetStorage(Mat, MatType);

/* Setups of preconditioners, and their cycles (state/storage.c) */
PETSC_INTERN void           MatDeviceStorageDefer(PetscBool);
PETSC_INTERN PetscErrorCode MatDeviceStorageMake(Mat);
PETSC_INTERN PetscErrorCode MatDeviceStorageSettle(Mat);
PETSC_INTERN void           MatDeviceStorageUseSingle(PetscBool, MatDeviceRounding *);
PETSC_INTERN PetscBool      MatDeviceStorageUsesSingle(void);
PETSC_INTERN PetscBool      MatDeviceStorageMakesSingle(void);
PETSC_INTERN PetscBool      MatDeviceStorageIsFinest(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatDeviceStorageGetRounding(Mat, PetscReal *);
PETSC_INTERN PetscErrorCode MatDeviceStorageReleaseSingle(Mat);

/* The storage of one matrix, sequential matrices of ours only (state/storage.c). */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseStorage(Mat, const MatDeviceStorageOps **);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseCurrent(Mat, const MatDeviceStorageOps **);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStorageChanged(Mat, const MatDeviceStorageOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetCSR(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetStructure(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARestoreStructure(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDANoteBorrowed(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADropStorage(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACountMult(Mat, MatDeviceWork, cudaStream_t);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAForgetChoice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAShareStorage(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATransposeStorage(Mat, Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAShareStorageValues(Mat, Mat, PetscBool, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStorageAXPY(Mat, PetscScalar, Mat, PetscCount, MatDeviceSum *);
PETSC_INTERN void           MatSeqAIJCUDANewStructure(Mat);
PETSC_INTERN PetscCount     MatSeqAIJCUDANumProducts(Mat);
PETSC_INTERN PetscBool      MatSeqAIJCUDACSRReleased(Mat);
PETSC_INTERN PetscBool      MatSeqAIJCUDAStorageIsCurrent(Mat);
