#pragma once
/*
  What was measured on a GPU: launch rules, costs and ski_costs. src/tuning has a file for each GPU (sm90.c), and tuning.c takes one of them for a device. Kernels stay where they are: a rule names one
  by its shape.

  A table is read from the top, and the first row that fits is taken. The last one fits always. A row whose thread blocks the device cannot hold (PetscSparseCUDATuningHolds()) gives way to the next
  one.
*/
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/skirental.h>
#include <petscsparsecuda/spmv.h>

/* y = A x + z: a launch shape. The fields that a kernel does not have are 0. The kernels that exist are in spmv/spmvrule.h. */
typedef struct {
  DCSRSpMVKind kind;
  int          lanes;    /* lanes that sum one row: 1, 2, 4, 8, 16, 32; scan: 1; warp: 32 */
  int          threads;  /* of a thread block */
  int          items;    /* split, scan: nonzeros of a thread; vector, warp: nonzeros that a lane loads before it uses the first */
  int          vec;      /* split, scan: consecutive nonzeros of one load; warp: waves of the device */
  int          load;     /* how values and columns are loaded: SPMV_LOAD_* */
  int          resident; /* threads that a multiprocessor holds at least, which limits the registers; 0 for no limit */
} SpMVConfig;

/* Cache hints of the loads that stream the matrix. */
#define SPMV_LOAD_CACHED 0 /* through L1 */
#define SPMV_LOAD_STREAM 1 /* evict first */
#define SPMV_LOAD_ONCE   2 /* no line in L1, evict first in L2 */

typedef struct {
  PetscCount num_nonzeros; /* The rule is for at most so many nonzeros. */
  PetscCount row_size;     /* Nonempty rows have at most so many nonzeros on average. */
  PetscReal  skew;         /* The largest row has at most so many times the mean. */
  PetscCount max_row_size; /* The largest row has at most so many nonzeros. */
  SpMVConfig config;
} SpMVRule;

/* The same for values in single precision. */
typedef struct {
  PetscCount num_nonzeros[2]; /* The rule is for so many nonzeros, at least and at most, */
  PetscCount row_size[2];     /* for nonempty rows that have so many on average, */
  PetscReal  skew;            /* and when the largest row has at most so many times the mean. */
  SpMVConfig config;          /* of kind DCSR_SPMV_AUTO: that of full precision */
} SpMVSingleRule;

typedef struct {
  const SpMVRule       *rules;
  const SpMVSingleRule *single;
  size_t                num_rules, num_single;
} SpMVRules;

/*
  y = A^T x + z. Tiles are chosen when distinct columns of tiles / nonzeros <= max_ratio, or when columns are heavy, otherwise one atomic a nonzero, which reads fewer bytes when there is nothing to
  combine. The kernels that exist are in spmvtranspose/spmvtransposeimpl.h.
*/
typedef struct {
  PetscCount min_nonzeros;  /* The rule is for at least so many. */
  int        tile_nonzeros; /* 0: no tiles */
  int        tile_threads, tile_width;
  PetscBool  tile_ahead;
  double     max_ratio;
} SpMVTransposeRule;

typedef struct {
  const SpMVTransposeRule *tile;
  size_t                   num_tile;
  int                      atomic;    /* line of SPMVT_ATOMIC_KERNELS */
  double                   max_heavy; /* Tiles are also chosen when more than this share of the sampled tiles has a column with more than SPMVT_MAX_RUN nonzeros. */
} SpMVTransposeRules;

/* Sparse times dense. In a matrix of up to mean entries a row, rows of more than size entries are long. */
typedef struct {
  double     mean;
  PetscCount size;
} SpMMLongRule;

typedef struct {
  double              direct_neighbors; /* X is read where it is when at least this part of the sampled rows reads what their neighbors read. */
  const SpMMLongRule *long_rows;        /* A few lanes that sum a long row would hold up all others. */
  size_t              num_long_rows;
  double              slot_entries; /* A row of so many entries on average has one more slot. */
  double              warp_entries; /* A row of so many entries on average may have a whole warp. */
  int                 staged_lanes; /* A shorter row has at most so many lanes, where a copy of X is read. */
} SpMMRules;

/* Products of matrices. A bin of the numeric phase; a row of C is in the first one that holds it. The kinds of bins are in spgemm/spgemmimpl.h. */
typedef struct {
  const char *name;
  int         log2_slots;  /* of a group's table of windows; three quarters of it are used at most; 0: not a bin of groups */
  int         max_entries; /* of a row of C */
  int         min_lanes;   /* smallest group: fewer lanes would leave shared memory for too few warps */
} SpGEMMBin;

/* A group of lanes takes a row of B at a time. It has so many lanes for rows of B of up to mean entries. */
typedef struct {
  double mean;
  int    lanes;
} SpGEMMLanesRule;

typedef struct {
  const SpGEMMBin       *bins;
  const SpGEMMLanesRule *lanes;
  size_t                 num_bins, num_lanes;
  int                    few_rows;       /* A product of at most so many rows has a warp for each row in the symbolic phase. Groups of fewer lanes would leave multiprocessors idle. */
  int                    sample_rows;    /* A product of more rows begins with a sample, */
  int                    sample_entries; /* when A has more nonzeros than that, too. */
  int                    thread_rows;    /* Threads take rows when there are at least so many. A multiprocessor works on several hundred at a time. */
  int                    thread_length;  /* Threads take rows of A of at most so many entries on average. */
  double                 max_variation;  /* Threads take rows when the number of terms of a row has a standard deviation of at most this part of its mean. */
  int                    thread_lanes;   /* Threads compute values where a group would have at most so many lanes. */
  int                    thread_entries; /* Threads compute values of rows of C of at most so many entries. */
  int                    thread_factors; /* Threads compute values when rows of A have at most so many entries on average. More do not fit into the L1 cache for all threads. */
  double                 window_gain;    /* Rows of B are made windows when they have at most so many windows an entry. */
  int                    window_reuse;   /* Rows of B are made windows when each is met at least so often on average. */
} SpGEMMRules;

typedef struct {
  PetscCount min_nonzeros; /* Smaller matrices stay CSR: their products cost a launch and a chain of loads, whatever the bytes, */
  PetscCount min_slices;   /* and so do those with fewer slices, of which a warp each does not fill the device. */

  /* Part of the bandwidth of a copy that the bytes of a format move at */
  double csr;
  double csr_blocks; /* CSR of full blocks, of which products read one column a block */
  double diagonals;
  double remainder;       /* an entry counts with a value and a 32-bit column: its rows are read and written a second time, by a launch of its own */
  double block_diagonals; /* diagonals of blocks */
} HiSparseRules;

/* Loops over the entries of all rows: with up to mean entries a row, a row has so many lanes. Rows longer than long_size are cut into chunks. */
typedef struct {
  double  mean;
  int     lanes;
  int32_t long_size;
} RowLoopRule;

/* Levels of PCGAMG that go to one process. Exchanges: through the host, and from device to device by an MPI that takes device memory. */
typedef struct {
  double   latency[2];      /* microseconds that a product of a split level takes beside its work, with packing, unpacking, and the kernel of the off-diagonal block */
  double   bandwidth[2];    /* bytes a microsecond that a process receives */
  double   product;         /* bytes a microsecond that a product with a coarse matrix reads; scales */
  PetscInt smallest_system; /* rows a process of the finest level: smaller ones keep PETSc's hierarchy, all of their levels are latency */
} JoinRule;

/* What autocuda makes is predicted to take a sum, in microseconds. */
typedef enum {
  AUTO_TARGET_CONVERT, /* making the storage */
  AUTO_TARGET_LIST,    /* making what the first transpose product needs, more */
  AUTO_TARGET_UPDATE,  /* new values */
  AUTO_NUM_TARGETS
} AutoTarget;

/* The terms of a sum. */
typedef enum {
  AUTO_TERM_ONE,     /* 1 */
  AUTO_TERM_VECTORS, /* millions of bytes of both vectors, */
  AUTO_TERM_VALUES,  /* of the values; factors of bytes scale */
  AUTO_NUM_TERMS
} AutoTerm;

typedef struct {
  double sampling;                                                /* microseconds of the sample that a format is selected by */
  double factors[HISPARSE_CSR][AUTO_NUM_TARGETS][AUTO_NUM_TERMS]; /* by HiSparseFormat, not negative */
} AutoCosts;

/* All of it. What scales is for the bandwidth of the device beside it. */
typedef struct {
  const char        *name;   /* of the GPU */
  DCSRDeviceFacts    device; /* that GPU, or of PetscSparseCUDAGetTuning() the current device */
  SpMVRules          spmv;
  SpMVTransposeRules spmvt;
  SpMMRules          spmm;
  SpGEMMRules        spgemm;
  HiSparseRules      hisparse;
  const RowLoopRule *row_loops;
  size_t             num_row_loops;
  PetscCount         append_part; /* A batch is appended when it has at most one entry for so many of the matrix. */
  JoinRule           join;
  double             ski_costs[SKI_NUM_ITEMS]; /* skirental.h; in products, or in samples */
  AutoCosts          costs;
} PetscSparseCUDATuning;

PETSC_INTERN const PetscSparseCUDATuning *const PetscSparseCUDATunings[]; /* ends with NULL */
PETSC_INTERN PetscErrorCode                     PetscSparseCUDAGetTuning(const PetscSparseCUDATuning **tuning);
PETSC_INTERN PetscBool                          PetscSparseCUDATuningHolds(const PetscSparseCUDATuning *tuning, int threads, size_t shared_bytes, int blocks);
PETSC_INTERN const PetscSparseCUDATuning       *PetscSparseCUDATuningFind(const PetscSparseCUDATuning *const tunings[], int capability);
PETSC_INTERN void                               PetscSparseCUDATuningSetDevice(const DCSRDeviceFacts *device, PetscSparseCUDATuning *tuning);
