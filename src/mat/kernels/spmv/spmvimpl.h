#pragma once
/*
  What the files of this folder share: the plan and what its kernels read.
*/
#include "spmvrule.h"
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/spmvtranspose.h>

/* What a thread block of the split and the scan kernel, or a warp of the warp kernel, must know before it can start, in one 16-byte load. */
typedef struct {
  int32_t row;  /* first row that starts in the thread block */
  int32_t rows; /* rows from there that the thread block finishes alone */
  int32_t over; /* entries behind the thread block's end that belong to them */
  int32_t part; /* 4 * (number of the leading long row) + SPMV_PART_* */
} SpMVBlock;
#define SPMV_PART_LEADING  1 /* the thread block begins inside a long row */
#define SPMV_PART_TRAILING 2 /* a long row starts in the thread block */

/*
  A row that several thread blocks sum. Each leaves a partial sum, and the last one to come adds these in order. For the kernels that split, its number is that of the thread block in which it starts,
  first_block, and first_part is twice that: no two rows share a position, since two long rows have but one thread block in common, and nothing has to be counted. So some numbers have no row.
*/
typedef struct {
  int32_t row;         /* position in y (through the row map, if there is one) */
  int32_t first_block; /* thread block (split) or chunk (vector) of its first part */
  int32_t first_part;  /* position of its first partial sum */
  int32_t num_parts;
} SpMVLongRow;

/* Threads that a multiprocessor holds of the warp kernel. Complex values in double precision take twice the registers. */
#define SPMV_WARP_RESIDENT(resident) (sizeof(PetscScalar) > sizeof(double) ? (resident) / 2 : (resident))

/* values, in the precision of the launcher; x; z, or the epilogue; y */
typedef PetscErrorCode SpMVLaunchFn(DCSRSpMVPlan, const DCSRView *, const void *, const PetscScalar[], const PetscScalar[], PetscScalar[], cudaStream_t);
typedef PetscErrorCode SpMVLaunchEpilogueFn(DCSRSpMVPlan, const DCSRView *, const void *, const PetscScalar[], const DCSRSpMVEpilogue *, PetscScalar[], cudaStream_t);

/* Precisions of values that kernels are compiled for. */
#define SPMV_VALUES_SCALAR 0 /* PetscScalar */
#define SPMV_VALUES_SINGLE 1 /* single precision (common/single.cuh) */
#define SPMV_NUM_VALUES    2

/*
  The launchers of a configuration, by the precision of the values. What is not there is NULL: a kernel more for sweeps or for 64-bit
  offsets would add little.
*/
typedef struct {
  SpMVConfig            config;
  SpMVLaunchFn         *launch[SPMV_NUM_VALUES];
  SpMVLaunchEpilogueFn *launch_epilogue[SPMV_NUM_VALUES];
} SpMVEntry;

/* One for values in single precision, where that differs from PetscScalar. */
#define SPMV_SINGLE(launcher) (PetscDefined(USE_REAL_SINGLE) ? NULL : (launcher))

static inline const SpMVEntry *SpMVEntryFind(const SpMVEntry *entries, size_t n, const SpMVConfig *config)
{
  for (size_t i = 0; i < n; i++)
    if (SpMVConfigSame(&entries[i].config, config)) return entries + i;
  return NULL;
}

struct _n_DCSRSpMVPlan {
  SpMVConfig       config;
  DCSRFacts        facts;
  const SpMVEntry *entry;     /* the kernels of config; NULL when there is nothing to multiply */
  char             info[128]; /* for people */
  size_t           bytes;     /* device memory held */
  int32_t          num_rows;  /* rows that the kernel sees: nonempty ones when compressed */

  int32_t       num_blocks;
  PetscCount    tile;       /* split, scan, warp: nonzeros of a thread block or a warp */
  int32_t       num_long;   /* vector: long rows; split, scan, warp: numbers of these, 0 or num_blocks */
  int32_t       num_parts;  /* positions of partial sums */
  int32_t       long_limit; /* vector: larger rows are long */
  PetscBool     compressed;
  DCSRBlockList list;        /* blocks: of items x vec ones, a reference; NULL otherwise */
  int32_t      *row_index;   /* [num_rows] positions in y, when compressed and of an overflow; NULL: the rows themselves */
  void         *row_offsets; /* compressed: [num_rows + 1], as wide as the view's */
  SpMVBlock    *blocks;      /* split, scan, warp: [num_blocks], of the last the warps */
  unsigned int *heads;       /* scan: bit k % 32 of word k / 32 is set where a row starts or ends at nonzero k */
  SpMVLongRow  *long_rows;   /* [num_long] */
  int32_t      *chunk_rows;  /* vector: [num_parts] long row of each chunk */
  PetscScalar  *parts;       /* [num_parts] partial sums */
  unsigned int *arrived;     /* [num_long] parts that are there; 0 between two calls */
};

/* The entries of fragmented storage that are not in its base, sorted. All arrays are on the device, owned. */
struct _n_DCSROverflow {
  PetscInt     num_columns; /* of the matrix */
  PetscCount   num_entries; /* 2^31 - 1 at most */
  int32_t      num;         /* rows that have some */
  int32_t     *rows;        /* [num] ascending */
  int32_t     *offsets;     /* [num + 1] */
  int32_t     *columns;     /* [num_entries] */
  PetscScalar *values;      /* [num_entries] as they were when they were copied */

  DCSRSpMVPlan          plan;      /* of O, with a list of its rows; NULL until DCSROverflowPlan() */
  DCSRSpMVTransposePlan transpose; /* the same for the transpose */
};

PETSC_INTERN const SpMVEntry *SpMVSplitGetEntry(const SpMVConfig *config, PetscBool wide);
PETSC_INTERN const SpMVEntry *SpMVScanGetEntry(const SpMVConfig *config, PetscBool wide);
PETSC_INTERN const SpMVEntry *SpMVWarpGetEntry(const SpMVConfig *config, PetscBool wide);
PETSC_INTERN const SpMVEntry *SpMVBlocksGetEntry(const SpMVConfig *config);
PETSC_INTERN PetscErrorCode   SpMVPlanSetUpBlocks(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream, PetscBool *full);
PETSC_INTERN const SpMVEntry *SpMVRowsGetEntry(const SpMVConfig *config, PetscBool wide);
PETSC_INTERN PetscErrorCode   SpMVFactsGet(DCSRView view, cudaStream_t stream, DCSRFacts *facts);
PETSC_INTERN PetscErrorCode   SpMVPlanSetConfig(DCSRSpMVPlan plan, DCSRView view, const SpMVConfig *config, cudaStream_t stream);
PETSC_INTERN PetscErrorCode   SpMVPlanCompressRows(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode   SpMVPlanSetUpSplit(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode   SpMVPlanSetUpRows(DCSRSpMVPlan plan, DCSRView view, cudaStream_t stream);
