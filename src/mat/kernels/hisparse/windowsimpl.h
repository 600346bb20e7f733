#pragma once
/*
  CSR with 16-bit columns. A block of consecutive nonzeros has up to 4 windows of 16384 columns. A column is the number of its window, 2 bits, and the place in it, 14 bits. In a block that needs more windows it is the
  lower half of a 32-bit column, and the upper half lies elsewhere. So all loads of a product can be on their way before the kernel knows which kind of block it has.
*/
#include "../spmv/spmvimpl.h"
#include "hisparseimpl.h"

#define WINDOWS_BLOCK 2048 /* nonzeros of a block; thread blocks of products cover 1 / 2^k of it */
#define WINDOWS_COUNT 4    /* windows of a block; their first columns are one load of 16 bytes */
#define WINDOWS_BITS  14   /* bits of a place in a window */
#define WINDOWS_WIDTH (1 << WINDOWS_BITS)

typedef struct _n_Windows *Windows;

/* What a product does beside y = A x + z. */
typedef struct {
  const void       *values;    /* [num_nonzeros], with room for an even number of them */
  AlignedScalar     scale;     /* of the matrix */
  PetscBool         conjugate; /* the values */
  HiSparsePrecision precision; /* of values: PetscScalar, or single precision (storedvalues.cuh) */
} WindowsValues;

/* x; z, or the epilogue; y */
typedef PetscErrorCode WindowsLaunchFn(Windows, const WindowsValues *, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
typedef PetscErrorCode WindowsLaunchEpilogueFn(Windows, const WindowsValues *, const PetscScalar[], const DCSRSpMVEpilogue *, PetscScalar[], cudaStream_t);

/* The launchers of a configuration. */
typedef struct {
  SpMVConfig               config;
  WindowsLaunchFn         *launch;
  WindowsLaunchEpilogueFn *launch_epilogue; /* NULL for sweeps and for 64-bit offsets */
} WindowsEntry;

/*
  Structure of a matrix, without values; it owns its arrays. Columns are not in the order of the nonzeros: a warp loads vec columns a lane by one load, and the values that belong to them by loads of two values a lane.
  So, in a group of 32 * vec nonzeros, the pair of columns that lane l needs for the j-th load of values is pair j of the vec / 2 pairs behind lane l (WindowsPlace() in windows.cuh).
*/
struct _n_Windows {
  PetscInt     num_rows, num_columns;
  PetscCount   num_nonzeros;
  PetscBool    wide;        /* row offsets are int64_t */
  SpMVConfig   config;      /* of the product; its vec is the order of columns[]: 2, 4 or 8 */
  PetscCount   num_blocks;  /* of WINDOWS_BLOCK nonzeros, the last one padded */
  PetscCount   num_wide;    /* blocks with 32-bit columns */
  void        *row_offsets; /* [num_rows + 1] of int32_t or int64_t */
  uint16_t    *columns;     /* [num_blocks * WINDOWS_BLOCK]; NULL without nonzeros */
  int32_t     *windows;     /* [num_blocks * WINDOWS_COUNT] first columns, less window * WINDOWS_WIDTH so that the code is added as it is; or the first of a block is -1 - (number of the block among those with 32-bit columns) */
  uint16_t    *upper;       /* [num_wide * WINDOWS_BLOCK] upper halves of 32-bit columns, in the order of columns[]; NULL when there are none */
  DCSRSpMVPlan plan;        /* block-to-row table and long rows; NULL without nonzeros */

  const WindowsEntry *entry; /* its launchers; NULL without nonzeros */

  size_t bytes; /* device memory held */
};

/* Compact CSR without columns and values: what a loop over rows needs whose operation finds them itself. */
static inline DCSRView WindowsRows(Windows w)
{
  DCSRView view = {0};

  view.num_rows     = w->num_rows;
  view.num_columns  = w->num_columns;
  view.num_nonzeros = view.capacity = view.used = w->num_nonzeros;
  view.wide                                     = w->wide;
  view.row_offsets                              = w->row_offsets;
  return view;
}

/* Structure of the format (windows.c). */
typedef struct {
  HiSparsePrecision precision;   /* of all values that are made for this structure; HISPARSE_VALUES_SCALAR with PETSc in single precision */
  Windows           windows;     /* owned */
  Windows           transpose;   /* structure of A^T; NULL before the first product with it; owned */
  void             *permutation; /* [nonzeros] of int32_t, or int64_t when wide: entry k of A^T is entry permutation[k] of A; NULL as transpose; owned */
} WindowsStructure;

/* Values of the format. */
typedef struct {
  HiSparsePrecision precision;          /* of both arrays: PetscScalar, or single precision (storedvalues.cuh) */
  void             *values;             /* [nonzeros] in CSR's order; owned */
  void             *transposed;         /* [nonzeros] of A^T, without the conjugate; NULL before the first product with it; owned */
  PetscBool         transposed_current; /* transposed are these values; whoever writes values sets it PETSC_FALSE */
} WindowsFormatValues;

/*
  The kernels that exist: lanes a row, threads, items (nonzeros of a thread), vec (columns of one load), resident (see SpMVConfig). A rule of windowsrule.c names them. Those of the SWEEP group are for the sweep of
  the benchmark, and are compiled with SPMV_SWEEP alone.
*/
#define WINDOWS_CONFIGS(X) \
  X(1, 128, 4, 4, 1536) \
  X(1, 128, 8, 8, 1152) \
  X(2, 128, 8, 8, 1152) \
  X(8, 128, 4, 4, 1536) \
  X(8, 256, 8, 8, 1024)
#define WINDOWS_SWEEP_CONFIGS(X) \
  X(1, 128, 8, 8, 1280) \
  X(2, 128, 4, 4, 1536) \
  X(1, 128, 16, 8, 640)

/* windowsstructure.c */
PETSC_INTERN PetscErrorCode WindowsCreate(DCSRView csr, const SpMVConfig *config, cudaStream_t stream, Windows *windows);
PETSC_INTERN PetscErrorCode WindowsDestroy(Windows *windows, cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsMult(Windows windows, const WindowsValues *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsMultEpilogue(Windows windows, const WindowsValues *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done);

/* windowsencode.cu */
PETSC_INTERN PetscErrorCode WindowsEncode(Windows windows, const int32_t columns[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsDecode(Windows windows, int32_t columns[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsGetOffsets(Windows windows, PetscBool wide, void *row_offsets, cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsScaleReals(PetscInt n, PetscReal alpha, PetscReal array[], cudaStream_t stream);

/* windowsvalid.cu: the structure alone, after which WindowsDecode() may be called, and the permutation between valid CSR and its transpose. Both synchronize. */
PETSC_INTERN PetscErrorCode WindowsIsValid(Windows windows, cudaStream_t stream, HiSparseViolation *violation);
PETSC_INTERN PetscErrorCode WindowsPermutationIsValid(DCSRView A, DCSRView T, void *permutation, cudaStream_t stream, HiSparseViolation *violation);

/* windowslookup.cu: where the entries of a batch are, positions in the values */
PETSC_INTERN PetscErrorCode WindowsLookup(Windows windows, const DCSRBatch *batch, cudaStream_t stream, DCSRLookup *lookup);

/* windowsvalues.cu: arrays of values in single precision */
PETSC_INTERN PetscErrorCode WindowsSingleGet(PetscCount n, const void *from, PetscScalar alpha, PetscScalar to[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsSingleTranspose(const WindowsStructure *s, const void *values, void *transposed, cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsSingleGetDiagonal(Windows windows, const void *values, PetscScalar alpha, PetscScalar diagonal[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsSingleDiagonalAdd(Windows windows, void *values, const PetscScalar d[], PetscScalar scalar, PetscBool insert, cudaStream_t stream);

/* windowsdelete.cu and windowslargest.cu, in the table under the names of their operations: structure is a WindowsStructure *, values a WindowsFormatValues * */
PETSC_INTERN PetscErrorCode WindowsCountWithoutDiagonal(void *structure, PetscInt n, const PetscInt rows[], cudaStream_t stream, PetscCount *count);
PETSC_INTERN PetscErrorCode WindowsZeroRows(void *structure, void *values, PetscInt n, const PetscInt rows[], PetscScalar diag, cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsZeroColumns(void *structure, void *values, const unsigned char flags[], const PetscScalar x[], PetscScalar b[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode WindowsRowMaxAbs(void *structure, void *values, PetscReal alpha, PetscScalar largest[], PetscInt indices[], cudaStream_t stream);

/* windowsmult.cu */
PETSC_INTERN const WindowsEntry *WindowsGetEntry(const SpMVConfig *config, PetscBool wide);

/* windowsrule.c */
PETSC_INTERN PetscErrorCode WindowsRuleApply(PetscCount num_nonzeros, const DCSRFacts *facts, SpMVConfig *config);
PETSC_INTERN PetscErrorCode WindowsConfigGetCount(PetscInt *n);
PETSC_INTERN PetscErrorCode WindowsConfigGet(PetscInt i, SpMVConfig *config);
