/*
  Compute capability 9.0, measured on an NVIDIA H200. Names in comments are cases of benchmarks, and times those of that GPU.
*/
#include "sm90costs.h"
#include <petscsparsecuda/tuning.h>

// clang-format off
#define SPMV_ANY                                    PETSC_COUNT_MAX
#define SPMV_INF                                    PETSC_MAX_REAL
#define SPLIT(lanes, threads, items, vec, resident) {DCSR_SPMV_SPLIT, lanes, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define SCAN(threads, items, vec, resident)         {DCSR_SPMV_SCAN, 1, threads, items, vec, SPMV_LOAD_ONCE, resident}
#define WARP(items, waves, resident)                {DCSR_SPMV_WARP, 32, 128, items, waves, SPMV_LOAD_ONCE, resident}
#define VECTOR(lanes)                               {DCSR_SPMV_VECTOR, lanes, 256, 4, 0, SPMV_LOAD_CACHED, 0}

/*
  Compact storage. Figures with "us" are microseconds, cold / warm, 2026-11-21; names are cases of benchmarks/spmv. Other figures are times, cold, over that of the fastest
  kernel, the geometric mean of the matrices of benchmarks/spmv/shapes with an even number, 0.3 to 4 M nonzeros, for which the row is, 2026-11-24; those with "in select" are of matrices of
  benchmarks/select. Rows without a figure fill the gaps between measured ones.

  What decides:
  - Without shared memory, a warp takes as long as its largest row. That is fast where rows are alike and one wave of threads holds all of them.
  - Through shared memory, a warp takes rows of more than 32 + 8 lanes nonzeros one after the other. So many lanes a row that few are as large.
  - A row that more than one thread block sums and that has more nonzeros than a thread block has threads makes its thread blocks wait for each other. 512 threads where such rows are many and not very
    large.
  - Up to 2 M nonzeros thread blocks are but one or two waves. More loads under way in each, then.
*/
static const SpMVRule spmv_rules[] = {
  /* Small: the launch and one chain of loads, so no table to read first and no barrier. */
  {200000,   64,       16,       SPMV_ANY, VECTOR(8)}, /* 3d27-16: 5.1 / 2.9 us, split 5.1 / 3.2, cuSPARSE 9.1 / 7.0 */
  {200000,   64,       64,       SPMV_ANY, SPLIT(2, 128, 4, 2, 1536)},
  /* Rows alike, one wave: no table and no barrier either. */
  {2000000,  8,        1.25,     SPMV_ANY, VECTOR(1)}, /* 3d7-64: 12.0 / 7.3 us, 2 lanes 13.5 / 7.9, split 12.3 / 10.0, cuSPARSE 19.9 / 16.3 */
  {1000000,  12,       1.25,     SPMV_ANY, VECTOR(2)},
  {1000000,  40,       1.25,     SPMV_ANY, VECTOR(4)}, /* 3d27-32: 7.6 / 5.0 us, 8 lanes 8.5 / 5.2, split 8.6 / 6.0, cuSPARSE 11.7 / 9.2 */
  /* Rows of a few nonzeros, and with long ones. */
  {6000000,  12,       SPMV_INF, 128,      SPLIT(1, 128, 4, 2, 1536)}, /* 17 matrices: 1.01; split 1 lane 512 x 4 1.03, split 2 lanes 128 x 4 1.04, vector 2 1.39 */
  {6000000,  20,       SPMV_INF, 128,      SPLIT(1, 512, 4, 2, 1536)}, /* 9 matrices: 1.00; split 2 lanes 128 x 4 1.01, split 1 lane 128 x 4 1.02, vector 2 1.18 */
  {6000000,  28,       SPMV_INF, 128,      SPLIT(2, 128, 4, 2, 1536)}, /* 4 matrices: 1.01; split 2 lanes 128 x 8 1.06, split 8 lanes 128 x 4 1.09, vector 4 1.25 */
  {6000000,  28,       SPMV_INF, 1024,     SPLIT(1, 512, 4, 2, 1536)}, /* 9 matrices: 1.01; scan 1.07, split 2 lanes 128 x 4 1.15, vector 8 2.13 */
  {6000000,  12,       SPMV_INF, SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* 22 shapes in select: 1.02; split 1 lane 512 x 4 1.04, split 2 lanes 128 x 4 1.06, scan 1.10 */
  {6000000,  28,       SPMV_INF, 20000,    SPLIT(1, 512, 4, 2, 1536)}, /* R-MAT in select, 10 even: 1.03; scan 1.03, split 1 lane 128 x 4 1.13; 4 odd: 1.01, 1.02, 1.15; 4 shapes: 1.00, 1.08, 1.03 */
  {6000000,  28,       SPMV_INF, SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* power laws in select, 10 even: 1.00; split 2 lanes 128 x 4 1.01, scan 1.06, split 1 lane 512 x 4 1.13; 10 odd: 1.00, 1.01,
                                                                          1.08, 1.16 */
  /* Larger rows. */
  {6000000,  40,       SPMV_INF, 48,       SPLIT(2, 128, 4, 2, 1536)}, /* 3 matrices: 1.00; split 2 lanes 128 x 8 1.03, split 8 lanes 128 x 4 1.04, vector 4 1.15 */
  {6000000,  40,       300,      SPMV_ANY, SPLIT(8, 128, 4, 2, 1536)}, /* 5 matrices: 1.01; split 2 lanes 128 x 4 1.03, split 8 lanes 256 x 8 1.04, vector 4 1.36 */
  {6000000,  40,       SPMV_INF, 24000,    SCAN(512, 4, 1, 1536)}, /* R-MAT in select, 4 even: 1.00; split 1 lane 512 x 4 1.08, 128 x 4 1.15, 8 lanes 128 x 4 2.38; 4 odd: 1.00, 1.05, 1.09, 2.49 */
  {6000000,  40,       SPMV_INF, SPMV_ANY, SPLIT(8, 128, 4, 2, 1536)},
  {2000000,  200,      1.25,     SPMV_ANY, VECTOR(8)}, /* 3 matrices: 1.00; split 8 lanes 256 x 8 1.05, vector 16 1.11 */
  {2000000,  96,       SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* 8 matrices: 1.02; split 8 lanes 128 x 4 1.08, scan 1.11, vector 16 1.45 */
  {1000000,  200,      SPMV_INF, SPMV_ANY, SCAN(512, 4, 1, 1536)}, /* 4 matrices: 1.01; split 8 lanes 256 x 8 1.07, split 8 lanes 128 x 4 1.11, vector 32 1.14 */
  {6000000,  96,       SPMV_INF, 384,      SPLIT(8, 128, 4, 2, 1536)}, /* 10 matrices: 1.01; split 8 lanes 256 x 8 1.04, split 2 lanes 128 x 4 1.14, vector 8 1.18 */
  {6000000,  200,      SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* 6 matrices: 1.03; split 8 lanes 128 x 4 1.05, scan 1.05, vector 16 1.37 */
  {6000000,  SPMV_ANY, 1.5,      SPMV_ANY, VECTOR(32)}, /* 2 matrices: 1.01; vector 16 1.09, vector 8 1.14 */
  {6000000,  SPMV_ANY, SPMV_INF, SPMV_ANY, WARP(8, 1, 1024)}, /* 11 of the 200 shapes: 0.95 of cuSPARSE's best, 0.97 by the best of ours for each; thread blocks of split wait about 1.5 us for each
                                                                 row that several of them sum, and there are 10 to 15 such blocks one after the other */
  {6000000,  SPMV_ANY, SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* 4 matrices: 1.01; scan 1.08, split 2 lanes 128 x 8 1.08, vector 32 1.17 */
  /* Many waves. Rows alike: small thread blocks, and lanes so that a warp's rows are summed in few steps. */
  {SPMV_ANY, 12,       64,       SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* 2d5-4096: 313 / 314 us, 128 x 8: 335, cuSPARSE 504; 3d7-256: 413 / 414, 128 x 8: 432, cuSPARSE 635; tall: 99 / 101, 1 lane
                                                                          without shared memory 112, cuSPARSE 166 */
  {SPMV_ANY, 20,       1.25,     SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)}, /* uniform4m: 576 / 572 us, all shapes within 3 %, cuSPARSE 588 */
  {SPMV_ANY, 20,       64,       128,      SPLIT(2, 128, 4, 2, 1536)}, /* rgg15-2M: 1 lane, 512 x 4: 132 us, the fastest split kernel 108 */
  {SPMV_ANY, 20,       64,       SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)},
  {SPMV_ANY, 40,       64,       SPMV_ANY, SPLIT(2, 128, 8, 2, 1280)}, /* 3d27-200: 656 / 656 us, 128 x 16 with 1 lane 659 / 668, 128 x 4: 693 / 698, cuSPARSE 930 */
  {SPMV_ANY, 200,      8,        SPMV_ANY, SPLIT(8, 128, 4, 2, 1536)}, /* elast3-80: 378 / 382 us, 128 x 12: 391 / 389, cuSPARSE 464 */
  /* Long rows, all alike: many loads under way in a thread block, and eight lanes a row. */
  {SPMV_ANY, SPMV_ANY, 2,        SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)}, /* wide: 103 / 98 us, 32 lanes without shared memory 105 / 103, cuSPARSE 99 / 94 */
  /* Short rows and a few long ones. */
  {SPMV_ANY, 4,        SPMV_INF, SPMV_ANY, SPLIT(1, 128, 4, 2, 1536)}, /* longrow: 224 / 225 us, cuSPARSE 293 */
  {SPMV_ANY, 12,       SPMV_INF, SPMV_ANY, SPLIT(1, 128, 8, 2, 1280)}, /* band4: 95 / 93 us, 128 x 16: 100 / 97, cuSPARSE 151 */
  /* Skewed: the time must not depend on the rows of a thread block. */
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, SCAN(512, 4, 1, 1536)}, /* rmat20: 127 / 119 us, 256 x 8: 142 / 131, products in registers only 147 / 140, cuSPARSE 137 / 125; powerlaw: 139 / 134,
                                                                      cuSPARSE 141 / 136 */
  /* Where split was asked for. */
  {SPMV_ANY, 64,       SPMV_INF, SPMV_ANY, SPLIT(1, 512, 4, 2, 1536)},
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, SPLIT(8, 256, 8, 1, 1024)},
  /* Where warp was asked for. */
  {SPMV_ANY, SPMV_ANY, SPMV_INF, SPMV_ANY, WARP(8, 1, 1024)}
};

/*
  Values in single precision: what a cycle of PCGAMG multiplies with, for 27 points on 200^3 (spmvkernels -sweep -levels 200 -single), cold, us with the row and with the configuration of full
  precision. Other matrices were not measured, so ranges are narrow.
*/
static const SpMVSingleRule spmv_single[] = {
  {{50000000, PETSC_COUNT_MAX}, {24,  32},  2, {DCSR_SPMV_SPLIT,  1,  128, 8, 2, SPMV_LOAD_ONCE,   1280}}, /* step of a smoother, 8 M rows of 27: 609, 691 */
  {{3000000,  50000000},        {40,  64},  2, {DCSR_SPMV_VECTOR, 4,  256, 4, 0, SPMV_LOAD_CACHED, 0}},    /* the same of the next level, 169,377 rows of 44: 36.8, 39.6 */
  {{1000000,  3000000},         {128, 256}, 4, {DCSR_SPMV_VECTOR, 32, 256, 4, 0, SPMV_LOAD_CACHED, 0}},    /* transposed prolongator, 10,788 rows of 146: 12.6, 15.6 */
  {{10000000, PETSC_COUNT_MAX}, {128, 256}, 4, {DCSR_SPMV_VECTOR, 16, 256, 4, 0, SPMV_LOAD_CACHED, 0}},    /* that of the finest level, 169,377 rows of 196: 117, 169 */
  {{0,        PETSC_COUNT_MAX}, {0,   PETSC_COUNT_MAX}, PETSC_MAX_REAL, {DCSR_SPMV_AUTO, 0, 0, 0, 0, 0, 0}}
};

/*
  Transposes: two nonzeros a load. Small matrices do not have the tiles to fill the device. The second row is for devices and scalars for which the tile of the first is too large.

  2026-11-21, cold L2, two nonzeros a load, in microseconds: one atomic a nonzero; 8192 nonzeros a tile, 1024 threads, with lists ahead and without;
  4096, 512, ahead; 2048, 256, ahead and without:
    2d5-4096   84 M nonzeros   541   486   482   475   476   463   ratio 0.60
    3d7-256   117 M            783   598   601   628   683   645
    3d27-200  214 M           1562   807   839   881   882   831
    elast3-80 121 M            679   367   410   362   372   408
    rmat20     16 M            308   196   196   223   251   249   ratio 0.84 with 8192 nonzeros, 0.95 with 2048
    band4      23 M            161   134   133   133   132   130
    tall       12 M           8480   111   112   140   237   238
    uniform4m  64 M            845  1041   964  1044  1049   971   ratio 1.00
    3d7-128    15 M            102    78    78    78    79    80
    2d5-1024  5.2 M           37.6  33.7  34.5  35.8  35.3  33.6
    3d7-64    1.8 M           17.8  14.0  14.9  14.2  14.5  14.8
    3d27-32   0.8 M           12.7   9.2  11.4   9.9   9.1  11.0
    3d27-16   0.1 M            5.8   9.4  11.2   8.4   7.3  10.1
*/
static const SpMVTransposeRule spmvt_tile[] = {
  {500000, 8192, 1024, 2, PETSC_TRUE,  0.90},
  {500000, 2048, 256,  2, PETSC_TRUE,  0.85},
  {300000, 2048, 256,  2, PETSC_TRUE,  0.45},
  {0,      0,    0,    0, PETSC_FALSE, 0}
};

static const SpMMLongRule spmm_long_rows[] = {
  {32,    256},
  {1e300, 1024}
};

/* Tables of windows and sums fill shared memory, so that a bin is as small as its rows allow. */
static const SpGEMMBin spgemm_bins[] = {
  {"empty",   0, 0,   0},
  {"16x16",   4, 16,  4},
  {"32x48",   5, 48,  4},
  {"64x128",  6, 128, 8},
  {"64x512",  6, 512, 16},
  {"128x256", 7, 256, 16},
  {"128x512", 7, 512, 16},
  {"512x384", 9, 384, 16},
  {"512x512", 9, 512, 16},
  {"block",   0, 0,   0},
  {"slices",  0, 0,   0}
};

static const SpGEMMLanesRule spgemm_lanes[] = {
  {4.2,   4},
  {10.0,  8},
  {20.0,  16},
  {1e300, 32}
};

static const RowLoopRule row_loops[] = {
  {1.5,   1,  256},
  {3.0,   2,  256},
  {8.0,   4,  256},
  {20.0,  8,  512},
  {48.0,  16, 1024},
  {1e300, 32, 2048}
};

#define TABLE(table, rows) .table = rows, .num_##table = PETSC_STATIC_ARRAY_LENGTH(rows)

const PetscSparseCUDATuning PetscSparseCUDATuningSM90 = {
  .name = "NVIDIA H200",
  .device = {
    .capability            = 90,
    .num_multiprocessors   = 132,
    .max_threads           = 2048,
    .max_block_threads     = 1024,
    .l2_bytes              = 62914560,
    .shared_bytes          = 233472,
    .block_shared_bytes    = 232448,
    .reserved_shared_bytes = 1024,
    .bandwidth             = 4814304
  },
  .spmv = {
    TABLE(rules, spmv_rules),
    TABLE(single, spmv_single)
  },
  .spmvt = {
    TABLE(tile, spmvt_tile),
    .atomic = 0, /* 256 threads, 2 nonzeros in flight; the others differ by a few percent */
    /*
      Atomics on one entry of y wait for each other, about 2.7 ns each, and a heavy column has many. Of the matrices of benchmarks/spmv/shapes with an even number whose ratio is too large, 22 have
      0.00 to 0.05, and 3 have 0.30 to 1.00. With one atomic a nonzero these take 1.3 to 3.3 times as long as with tiles, the others 0.65 to 1.11 times.

      The same matrices, offline: geometric mean of cuSPARSE's best over the rule's choice 1.615, with 1.5 million as the smallest matrix for 8192 nonzeros, 0.5 million for tiles and without this
      1.493, with the best kernel each 1.653; on those with an odd number 1.679, 1.534 and 1.735.
    */
    .max_heavy = 0.125
  },
  .spmm = {
    .direct_neighbors = 0.5,
    TABLE(long_rows, spmm_long_rows),
    .slot_entries = 3,
    .warp_entries = 64,
    .staged_lanes = 8
  },
  .spgemm = {
    TABLE(bins, spgemm_bins),
    TABLE(lanes, spgemm_lanes),
    .few_rows       = 32768,
    .sample_rows    = 50000, /* a sample takes 50 us */
    .sample_entries = 200000,
    .thread_rows    = 65536,
    .thread_length  = 40,
    .max_variation  = 0.75,
    .thread_lanes   = 4,
    .thread_entries = 16,
    .thread_factors = 10,
    .window_gain    = 0.7,
    .window_reuse   = 2
  },
  .hisparse = {
    .min_nonzeros    = 200000,
    .min_slices      = 1024, /* 3d27-32, 256 slices, 12.7 us, CSR 7.5; 3d7-64, 2048 slices, 9.3 us, CSR 11.8 */
    .csr             = 0.97, /* 3d27-200 656 us, bytes at copy bandwidth 635; 2d5-4096 313 of 313; elast3-80 378 of 347 */
    .csr_blocks      = 0.91, /* elast3-80 266 to 272 us, bytes at copy bandwidth 246 */
    .diagonals       = 0.98, /* 0.96 to 1.01 on 3d27-200, 2d5-4096, 3d7-256, elast3-80 (438, 230, 289, 254 us; CSR 651, 312, 411, 379) */
    .remainder        = 0.30, /* band4 with a third of its entries in the remainder 146 us, CSR 97 us */
    .block_diagonals = 1.00, /* 1.04 on elast3-80 (225 us; A^T x 255 us) */
  },
  TABLE(row_loops, row_loops),
  .append_part = 64, /* batches of 1 M into a matrix that grows to 50 M, 2026-11-21: 1.28 G entries/s merged and 1.14 appended */
  /*
    Benchmark scaling on two GPUs: latencies are products of levels with few rows less those of one GPU, bandwidths the exchange of 320 kB less that of little; from device to device it was too short
    to tell, and this is half of what a long message has.
  */
  .join = {
    .latency         = {28, 36},
    .bandwidth       = {2.2e3, 2e5},
    .product         = 2.6e6,
    .smallest_system = 100000
  },
  .ski_costs = {
    [SKI_COMPACT_ROWS]    = 0.5, /* products for each entry that a row has in the mean: 12 to 13 for 27, 6 to 8 for 16, 1 to 3 for 5 and 7 (spmv-inserted-* of benchmarks/insert: the difference to an overflow) */
    [SKI_TRANSPOSE_LISTS] = 1,  /* products: one alone would not pay for them */
    [SKI_STORAGE]         = 20, /* products: making it takes 4 to 10 of them, new CSR 2.4 to 5, and each gains a third (hisparse.jsonl: 16 to 25) */
    [SKI_SAMPLING]    = 50, /* samples: one takes about 2 % of the products then, which is what a matrix that stays in CSR may lose */
    [SKI_SAMPLING_AT_LEAST]    = 25  /* so that it falls into the setup that gives the hint, of which it is a thousandth: a conversion in the middle of a solve costs more than one before it */
  },
  .costs = SM90_COSTS
};
// clang-format on
