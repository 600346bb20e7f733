#pragma once
/*
  The seam for device storage: what the subclasses of MATSEQAIJ ask of the storage of a sequential matrix.

  A type has a table of functions, as PETSc has them, and is registered with it (MatDeviceStorageRegister()). Compact CSR, DCSRView, is what all rooms of this floor read and write:
  insertion and deletion, sums and products, transposes, submatrices, PCGAMG's graph, and the copies to and from the host. They ask for it with MatSeqAIJCUDACopyToDevice() and MatSeqAIJCUDACompact(), and do not know of
  other storage. Products with vectors and operations entry by entry go through the table.

  DCSR is its own CSR view: its table works on the view without a copy, and has no data beside it. Any other storage is made of compact CSR by the first product with a vector, and:

  - goes with the structure (MatSeqAIJCUDADropPlans());
  - gets new values from CSR (setvalues), at the next product, when those of CSR are newer;
  - gives values back (getcsr) when somebody asks for CSR after an operation of the storage changed them;
  - may replace the CSR, which is released then. It is made again when somebody asks for it, and from then on stays: a matrix that only multiplies has one storage, one whose CSR is in use has both
    until its structure changes.

  Which side has the newest values is a state like PetscOffloadMask, one floor below it: offloadmask says host or device, MatDeviceValues says CSR or storage.

  Operations entry by entry do not make it: they use it where it is current, and CSR otherwise. What a storage leaves NULL, CSR does: the values then come from the storage and go back to it as
  above. So a new storage begins with create, getcsr, setvalues, mult, bytes, view and destroy.

  While MatDeviceStorageUseSingle() says so, products may read values in single precision instead, which a storage keeps beside those that it has: made by preparemult(), and again when the object state of the
  matrix has changed. All else goes on with PetscScalar. A storage that cannot multiplies as ever.

  CSR whose values somebody holds (MatSeqAIJGetCSRAndMemType()) is used alone until the structure changes.

  A family of types (MatAIJCUDATypes) is what a user sees of a storage: names for one process and for several, and the types of the blocks of the parallel matrix. The code of all families is the same.
  A sequential type may also stand alone, with a storage and without a family.
*/
#include <petscmat.h>
#include <petscsparsecuda/dcsr.h>
#include <petscsparsecuda/delete.h>
#include <petscsparsecuda/insert.h>
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

/* Rows that become zero, or go. Arrays are on the device. */
typedef struct {
  PetscInt             n;
  const PetscInt      *rows;  /* [n] may repeat */
  AlignedScalar        diag;  /* what their diagonal entries become */
  const unsigned char *flags; /* [max(rows, columns)] not 0 for the same rows: columns of these numbers become zero, too; NULL: rows alone */
  const PetscScalar   *x;     /* [columns] and */
  PetscScalar         *b;     /* [rows]: with flags, b -= A_columns x in the other rows; NULL together */
} MatDeviceRows;

/*
  The functions of one storage. They are called with the matrix, whose device.data is what create() made; work is queued on stream, arrays are on the device unless it says otherwise. A function that
  fails leaves the storage as it was.
*/
typedef struct {
  const char *name;         /* what the viewer says */
  PetscBool   replaces_csr; /* the CSR is released when the storage is made */

  PetscErrorCode (*setfromoptions)(Mat, PetscOptionItems); /* its options, part of MatSetFromOptions() and of the constructor; what they say is in options.storage_format and options.storage_precision; NULL: it has none */

  /* Storage from compact CSR, with sorted columns and with values, and back. DCSR has none of these three. */
  PetscErrorCode (*create)(Mat, DCSRView, cudaStream_t, void **);              /* *data NULL: the storage does not pay for this matrix, which uses CSR until its structure changes */
  PetscErrorCode (*getcsr)(Mat, PetscBool, PetscBool, DCSRView, cudaStream_t); /* structure and values, as they are asked for, into the arrays of compact CSR, which the caller allocated; no others are */
  PetscErrorCode (*setvalues)(Mat, DCSRView, cudaStream_t);                    /* the values of compact CSR of the same structure */
  PetscErrorCode (*duplicate)(Mat, cudaStream_t, void **);                     /* a copy with values, for another matrix; NULL: copies are made of CSR */
  PetscErrorCode (*transpose)(Mat, cudaStream_t, void **);                     /* the same for the transpose of the matrix; NULL: transposes are made of CSR, as with the next one */
  PetscErrorCode (*transposevalues)(Mat, Mat, cudaStream_t, PetscBool *);      /* all values into the storage of the transpose; PETSC_FALSE: its structure may be another one, nothing was done */
  PetscErrorCode (*destroy)(Mat, void **);                                     /* the storage, and what it keeps for products; *data is NULL afterwards */
  PetscErrorCode (*bytes)(Mat, PetscCount *);                                  /* adds the device memory it holds */
  PetscErrorCode (*view)(Mat, PetscViewer);                                    /* one line of facts for ::ascii_info */

  /* y = A x + z and y = op(A) x + z, op the transpose or, if true, the Hermitian transpose; z may be NULL or y. What goes before, for the first product after a change: plans, defragmentation */
  PetscErrorCode (*preparemult)(Mat, MultKind, cudaStream_t);
  PetscErrorCode (*mult)(Mat, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
  PetscErrorCode (*multtranspose)(Mat, PetscBool, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
  PetscErrorCode (*multepilogue)(Mat, const PetscScalar[], const DCSRSpMVEpilogue *, PetscScalar[], cudaStream_t, PetscBool *); /* x, epilogue, y: what it makes of A x; *done as below. NULL, or not done: mult, and a kernel over the vectors */

  PetscErrorCode (*releasesingle)(Mat); /* frees what preparemult() makes for products with values in single precision, MatDeviceStorageUsesSingle(); NULL: it makes nothing */

  /* Single entries, and values of another matrix with the same storage; *done PETSC_FALSE: CSR has to do it, nothing has changed */
  PetscErrorCode (*insert)(Mat, const DCSRBatch *, InsertMode, DCSRNewEntries, PetscBool, cudaStream_t, DCSRInsertInfo *, PetscBool *); /* policy and facts as in DCSRInsertBatch(); whether new entries that it allows may join the storage */
  PetscErrorCode (*copyvalues)(Mat, Mat, cudaStream_t, PetscBool *);                                                                    /* from the first, which is current, to the second, when they have the same structure */

  /* All values of a sorted list, [split] and [num_given - split] of them in two arrays as in DCSRListReduce(), for a matrix that has the list's structure; *done as above */
  PetscErrorCode (*setlist)(Mat, const DCSRList *, const PetscScalar[], const PetscScalar[], PetscCount, InsertMode, cudaStream_t, PetscBool *);

  /* Deletion; *done as above, also when the diagonal entries of listed rows are to become a number that is not 0 and one of them is missing */
  PetscErrorCode (*zerorows)(Mat, const MatDeviceRows *, cudaStream_t, PetscBool *);                   /* the pattern stays */
  PetscErrorCode (*removerows)(Mat, const MatDeviceRows *, cudaStream_t, DCSRDeletion *, PetscBool *); /* rows keep their diagonal entry, or nothing when that is 0 */
  PetscErrorCode (*removezeros)(Mat, PetscBool, cudaStream_t, DCSRDeletion *, PetscBool *);            /* whether zeros on the diagonal stay */

  /* Entry by entry */
  PetscErrorCode (*scale)(Mat, PetscScalar, cudaStream_t); /* by 0 is zero() */
  PetscErrorCode (*zero)(Mat, cudaStream_t);
  PetscErrorCode (*conjugate)(Mat, cudaStream_t);
  PetscErrorCode (*realpart)(Mat, cudaStream_t);
  PetscErrorCode (*imaginarypart)(Mat, cudaStream_t);
  PetscErrorCode (*diagonalscale)(Mat, const PetscScalar[], const PetscScalar[], cudaStream_t);  /* left [rows] and right [columns], or NULL */
  PetscErrorCode (*getdiagonal)(Mat, PetscScalar[], cudaStream_t);                               /* [min(rows, columns)], 0 where a row has none */
  PetscErrorCode (*missingdiagonal)(Mat, PetscCount *, cudaStream_t);                            /* how many rows with a place on the diagonal have no entry there; synchronizes. Goes with diagonaladd */
  PetscErrorCode (*diagonaladd)(Mat, const PetscScalar[], PetscScalar, PetscBool, cudaStream_t); /* adds to the entries that are there, or if true replaces them by, the array or, when that is NULL, the scalar */
  PetscErrorCode (*norm)(Mat, NormType, PetscReal *, cudaStream_t);                              /* NORM_1, NORM_INFINITY, NORM_FROBENIUS, on the host */
  PetscErrorCode (*rowmaxabs)(Mat, PetscScalar[], PetscInt[], cudaStream_t);                     /* [rows] largest, and [rows] the first column where it is, on the host or NULL */
  PetscErrorCode (*rowsumabs)(Mat, PetscScalar[], cudaStream_t);                                 /* [rows] */
  PetscErrorCode (*columnsumsabs)(Mat, PetscReal[], cudaStream_t);                               /* [columns] */

  /* Y += a X with the storage of two matrices of this type and of one size, where the sum has at most so many entries; how many it has, where it has grown. May synchronize; NULL: CSR does it */
  PetscErrorCode (*axpy)(Mat, PetscScalar, Mat, PetscCount, cudaStream_t, PetscCount *, MatDeviceSum *);

  /* For types that choose, while the program runs, between CSR and the storage; all NULL: the storage is made by the first product, and what it declines stays in CSR */
  PetscErrorCode (*wants)(Mat, PetscBool *);                     /* whether the product that comes next goes by the storage, which is made if it is not there */
  PetscErrorCode (*multbegin)(Mat, MatDeviceWork, cudaStream_t); /* around every product that is queued, with what it works on current: */
  PetscErrorCode (*multend)(Mat, MatDeviceWork, cudaStream_t);   /* may drop the storage */
  PetscErrorCode (*decide)(Mat, PetscBool, cudaStream_t);        /* chooses now, by the products that are told; if true, it stays so until the structure changes, and products may be recorded */
  PetscErrorCode (*viewchoice)(Mat, PetscViewer);                /* a line about the choice for ::ascii_info */
  PetscErrorCode (*forget)(Mat);                                 /* frees device.choice, part of MatDestroy() and of a change of the type */
} MatDeviceStorageOps;

/* Types that belong together: one storage, on one process and on several. */
typedef struct {
  MatType root, aij;    /* what users say, "dcsrcuda" and "aijdcsrcuda" for example */
  MatType seq, mpi;     /* what the matrix is then */
  MatType off_diagonal; /* sequential type of the off-diagonal block of mpi; that of the diagonal block is seq */
} MatAIJCUDATypes;

/* Families of types (types.c) */
PETSC_INTERN PetscErrorCode MatAIJCUDATypesRegister(const MatAIJCUDATypes *);
PETSC_INTERN PetscErrorCode MatAIJCUDATypesFind(MatType, const MatAIJCUDATypes **);
PETSC_INTERN PetscErrorCode MatAIJCUDATypesFindParallel(MatType, const MatAIJCUDATypes **);

/* Types and their storage (devicestorage.c) */
PETSC_INTERN PetscErrorCode MatDeviceStorageRegister(MatType, const MatDeviceStorageOps *);
PETSC_INTERN PetscErrorCode MatDeviceStorageFind(MatType, MatType *, const MatDeviceStorageOps **);

/* Setups of preconditioners, and their cycles (devicestorage.c) */
PETSC_INTERN void           MatDeviceStorageDefer(PetscBool);
PETSC_INTERN PetscErrorCode MatDeviceStorageMake(Mat);
PETSC_INTERN PetscErrorCode MatDeviceStorageSettle(Mat);
PETSC_INTERN void           MatDeviceStorageUseSingle(PetscBool);
PETSC_INTERN PetscBool      MatDeviceStorageUsesSingle(void);
PETSC_INTERN PetscErrorCode MatDeviceStorageReleaseSingle(Mat);

/* The storage of one matrix, sequential matrices of ours only (devicestorage.c). */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseStorage(Mat, const MatDeviceStorageOps **);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseCSR(Mat, const MatDeviceStorageOps **);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStorageChanged(Mat, const MatDeviceStorageOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetCSR(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetStructure(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARestoreStructure(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseStorageOrCSR(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDALendCSR(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADropStorage(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAMultBegin(Mat, MatDeviceWork, cudaStream_t);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAMultEnd(Mat, MatDeviceWork, cudaStream_t);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAForgetChoice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADuplicateStorage(Mat, PetscBool, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertIntoStorage(Mat, const DCSRBatch *, InsertMode, DCSRNewEntries, PetscBool, DCSRInsertInfo *, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetListInStorage(Mat, const DCSRList *, const PetscScalar[], const PetscScalar[], PetscCount, InsertMode, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAZeroRowsInStorage(Mat, const MatDeviceRows *, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARemoveRowsFromStorage(Mat, const MatDeviceRows *, DCSRDeletion *, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDARemoveZerosFromStorage(Mat, PetscBool, DCSRDeletion *, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACopyStorageValues(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATransposeStorage(Mat, Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATransposeStorageValues(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStorageAXPY(Mat, PetscScalar, Mat, PetscCount, MatDeviceSum *);
PETSC_INTERN PetscBool      MatSeqAIJCUDACSRReleased(Mat);
PETSC_INTERN PetscBool      MatSeqAIJCUDAStorageIsCurrent(Mat);

/*
  The table whose function serves an operation of A, a sequential matrix of ours: that of its storage or, where the storage has none, that of CSR. What the table works on is current then.

  MatSeqAIJCUDAUseForMult - makes the storage, or gives it the values, when it is not current.

  MatSeqAIJCUDAUseForEntries - uses CSR when the storage is not current.
*/
#define MatSeqAIJCUDAUseForMult(A, operation, table)    (MatSeqAIJCUDAGet(A)->device.storage->operation != NULL ? MatSeqAIJCUDAUseStorage(A, table) : MatSeqAIJCUDAUseCSR(A, table))
#define MatSeqAIJCUDAUseForEntries(A, operation, table) (MatSeqAIJCUDAGet(A)->device.storage->operation != NULL && MatSeqAIJCUDAStorageIsCurrent(A) ? MatSeqAIJCUDAUseStorage(A, table) : MatSeqAIJCUDAUseCSR(A, table))
