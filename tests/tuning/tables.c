static char
  help[] = "Tunings: which one a device gets, what scales, what gives way on a small device; and that the tables of all of them name kernels that exist and end with a row that fits always.\n\n";

#include <petscsparsecuda.h>
#include <petscsparsecuda/tuning.h>
#include "../../src/mat/kernels/spgemm/spgemmimpl.h"
#include "../../src/mat/kernels/spmv/spmvimpl.h"
#include "../../src/mat/kernels/spmvtranspose/spmvtransposeimpl.h"

#define CheckTable(ok, what) PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s", tuning->name, what)

/* Own capability, else the nearest below, else the nearest. */
static PetscErrorCode TestSelection(void)
{
  static PetscSparseCUDATuning       tunings[]  = {{.device = {.capability = 100}}, {.device = {.capability = 80}}, {.device = {.capability = 90}}};
  const PetscSparseCUDATuning *const all[]      = {&tunings[0], &tunings[1], &tunings[2], NULL};
  static const int                   cases[][2] = {{70, 80}, {80, 80}, {86, 80}, {90, 90}, {99, 90}, {100, 100}, {120, 100}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const int found = PetscSparseCUDATuningFind(all, cases[k][0])->device.capability;

    PetscCheck(found == cases[k][1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Capability %d gets the tuning of %d, not of %d", cases[k][0], found, cases[k][1]);
  }
  for (size_t k = 0; PetscSparseCUDATunings[k] != NULL; k++) {
    const PetscSparseCUDATuning *found = PetscSparseCUDATuningFind(PetscSparseCUDATunings, PetscSparseCUDATunings[k]->device.capability);

    PetscCheck(found == PetscSparseCUDATunings[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: two tunings have its capability", found->name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With half the bandwidth bytes take twice as long, and nothing else changes. The GPU of the tuning, and one that does not report its bandwidth, have the numbers that were measured. */
static PetscErrorCode TestScaling(const PetscSparseCUDATuning *tuning)
{
  static const double   ratios[] = {0.5, 1, 0};
  DCSRDeviceFacts       device   = tuning->device;
  PetscSparseCUDATuning scaled;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ratios); k++) {
    const double times = ratios[k] > 0 ? 1 / ratios[k] : 1;

    scaled           = *tuning;
    device.bandwidth = ratios[k] * tuning->device.bandwidth;
    PetscSparseCUDATuningSetDevice(&device, &scaled);
    CheckTable(scaled.device.bandwidth == (ratios[k] > 0 ? device.bandwidth : tuning->device.bandwidth) && scaled.join.product * times == tuning->join.product &&
                 scaled.costs.sampling == tuning->costs.sampling,
               "wrong with another bandwidth");
    for (int format = 0; format < HISPARSE_CSR; format++)
      for (int target = 0; target < AUTO_NUM_TARGETS; target++)
        for (int term = 0; term < AUTO_NUM_TERMS; term++) {
          const double factor = tuning->costs.factors[format][target][term];

          CheckTable(factor >= 0 && scaled.costs.factors[format][target][term] == factor * (term == AUTO_TERM_ONE ? 1 : times), "costs are wrong with another bandwidth");
        }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What thread blocks a device holds. */
static PetscErrorCode TestHolding(void)
{
  const PetscSparseCUDATuning small = {.device = {.max_threads = 1024, .max_block_threads = 512, .shared_bytes = 64 << 10, .block_shared_bytes = 32 << 10, .reserved_shared_bytes = 1 << 10}};
  const SpMVConfig            split = {DCSR_SPMV_SPLIT, 1, 512, 16, 2, SPMV_LOAD_ONCE, 1024}, vector = {DCSR_SPMV_VECTOR, 1, 256, 4, 0, SPMV_LOAD_CACHED, 0};
  const SpGEMMBin             bins[] = {{"", 4, 16, 4}, {"", 9, 512, 8}};
  static const struct {
    int       threads;
    size_t    bytes;
    int       blocks;
    PetscBool held;
  } cases[] = {{512, 32 << 10, 1, PETSC_TRUE},       {513, 0, 1, PETSC_FALSE},      {512, 0, 2, PETSC_TRUE},       {512, 0, 3, PETSC_FALSE},
               {32, (32 << 10) + 1, 1, PETSC_FALSE}, {32, 31 << 10, 2, PETSC_TRUE}, {32, 32 << 10, 2, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    PetscCheck(PetscSparseCUDATuningHolds(&small, cases[k].threads, cases[k].bytes, cases[k].blocks) == cases[k].held, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Case %d", (int)k);
  PetscCheck(!SpMVConfigIsHeld(&split, &small) && SpMVConfigIsHeld(&vector, &small), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A product with a vector has the wrong shared memory");
  PetscCheck(SpGEMMNumericHolds(&small, &bins[0]) && !SpGEMMNumericHolds(&small, &bins[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "A bin has the wrong shared memory");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const SpMVEntry *FindEntry(const SpMVConfig *config, PetscBool wide)
{
  switch (config->kind) {
  case DCSR_SPMV_SPLIT:
    return SpMVSplitGetEntry(config, wide);
  case DCSR_SPMV_SCAN:
    return SpMVScanGetEntry(config, wide);
  case DCSR_SPMV_WARP:
    return SpMVWarpGetEntry(config, wide);
  case DCSR_SPMV_VECTOR:
    return SpMVRowsGetEntry(config, wide);
  default:
    return NULL;
  }
}

static PetscErrorCode CheckSpMVTable(const PetscSparseCUDATuning *tuning, const SpMVRule rules[], size_t n)
{
  const SpMVRule *last = &rules[n - 1];

  PetscFunctionBegin;
  for (size_t k = 0; k < n; k++) {
    for (int wide = 0; wide < 2; wide++) CheckTable(FindEntry(&rules[k].config, (PetscBool)wide) != NULL, "no such kernel for products with vectors");
    CheckTable(SpMVConfigIsHeld(&rules[k].config, tuning), "its own GPU does not hold a thread block of a product with a vector");
  }
  CheckTable(last->num_nonzeros == PETSC_COUNT_MAX && last->row_size == PETSC_COUNT_MAX && last->skew == PETSC_MAX_REAL && last->max_row_size == PETSC_COUNT_MAX,
             "the last rule of products with vectors does not fit always");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSpMV(const PetscSparseCUDATuning *tuning)
{
  const SpMVSingleRule *single = tuning->spmv.single, *last = &single[tuning->spmv.num_single - 1];

  PetscFunctionBegin;
  PetscCall(CheckSpMVTable(tuning, tuning->spmv.rules, tuning->spmv.num_rules));
  for (; single < last; single++) {
    const SpMVEntry *entry = FindEntry(&single->config, PETSC_FALSE);

    CheckTable(entry != NULL && (PetscDefined(USE_REAL_SINGLE) || entry->launch[SPMV_VALUES_SINGLE] != NULL), "no such kernel for products in single precision");
  }
  CheckTable(last->num_nonzeros[0] == 0 && last->row_size[0] == 0 && last->num_nonzeros[1] == PETSC_COUNT_MAX && last->row_size[1] == PETSC_COUNT_MAX && last->skew == PETSC_MAX_REAL,
             "the last rule of products in single precision does not fit always");
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define TILE(nonzeros, threads, blocks, width, ahead) {nonzeros, threads, width, ahead},
#define ATOMIC(threads, words)                        +1
#define true 1
#define false 0

static PetscErrorCode CheckSpMVTranspose(const PetscSparseCUDATuning *tuning)
{
  static const int         tiles[][4]  = {SPMVT_TILE_KERNELS(TILE)};
  const int                num_atomics = 0 SPMVT_ATOMIC_KERNELS(ATOMIC);
  const SpMVTransposeRule *rule = tuning->spmvt.tile, *last = rule + tuning->spmvt.num_tile - 1;

  PetscFunctionBegin;
  for (; rule < last; rule++) {
    PetscBool found = PETSC_FALSE;

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(tiles); k++)
      found = (PetscBool)(found || (tiles[k][0] == rule->tile_nonzeros && tiles[k][1] == rule->tile_threads && tiles[k][2] == rule->tile_width && tiles[k][3] == rule->tile_ahead));
    CheckTable(found, "no such kernel for transposes");
  }
  CheckTable(last->min_nonzeros == 0 && last->tile_nonzeros == 0, "the last rule of transposes does not fit always");
  CheckTable(tuning->spmvt.atomic >= 0 && tuning->spmvt.atomic < num_atomics, "no such kernel with atomics");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Groups have 4, 8, 16 or 32 lanes, and threads compute values of bins with 16 slots alone. */
static PetscErrorCode CheckSpGEMM(const PetscSparseCUDATuning *tuning)
{
  const SpGEMMRules *rules = &tuning->spgemm;

  PetscFunctionBegin;
  CheckTable(rules->num_bins == SPGEMM_NUM_BINS, "products of matrices have another number of bins");
  for (int k = 0; k < SPGEMM_NUM_BINS; k++) {
    const SpGEMMBin *bin    = &rules->bins[k];
    const PetscBool  groups = (PetscBool)(k > SPGEMM_BIN_EMPTY && k < SPGEMM_BIN_BLOCK);

    CheckTable((bin->log2_slots > 0) == groups, "a bin of groups is at the place of another one");
    if (!groups) continue;
    CheckTable(bin->min_lanes == 4 || bin->min_lanes == 8 || bin->min_lanes == 16 || bin->min_lanes == 32, "a bin has groups that there are not");
    CheckTable(bin->log2_slots == 4 || bin->max_entries > rules->thread_entries, "threads would compute a bin with more than 16 slots");
    CheckTable(SpGEMMNumericHolds(tuning, bin), "its own GPU does not hold a bin");
  }
  for (size_t k = 0; k < rules->num_lanes; k++)
    CheckTable(rules->lanes[k].lanes == 4 || rules->lanes[k].lanes == 8 || rules->lanes[k].lanes == 16 || rules->lanes[k].lanes == 32, "products of matrices have groups that there are not");
  CheckTable(rules->lanes[rules->num_lanes - 1].mean >= 1e300, "the last rule of lanes does not fit always");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckHiSparse(const PetscSparseCUDATuning *tuning)
{
  const HiSparseRules *rules = &tuning->hisparse;

  PetscFunctionBegin;
  CheckTable(rules->csr > 0 && rules->csr_blocks > 0 && rules->diagonals > 0 && rules->remainder > 0 && rules->block_diagonals > 0, "HiSparse has a format without bandwidth");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left. */
static PetscErrorCode CheckOthers(const PetscSparseCUDATuning *tuning)
{
  PetscFunctionBegin;
  CheckTable(tuning->device.bandwidth > 0, "it has no bandwidth");
  CheckTable(tuning->spmm.long_rows[tuning->spmm.num_long_rows - 1].mean >= 1e300, "the last rule of long rows does not fit always");
  for (size_t k = 0; k < tuning->num_row_loops; k++) {
    const int lanes = tuning->row_loops[k].lanes;

    CheckTable(lanes >= 1 && lanes <= 32 && (lanes & (lanes - 1)) == 0, "loops over rows have lanes that a warp does not have");
  }
  CheckTable(tuning->row_loops[tuning->num_row_loops - 1].mean >= 1e300, "the last rule of loops over rows does not fit always");
  CheckTable(tuning->append_part > 0, "no batch is appended");
  for (int way = 0; way < 2; way++) CheckTable(tuning->join.latency[way] > 0 && tuning->join.bandwidth[way] > 0 && tuning->join.product > 0, "exchanges take no time");
  for (int k = 0; k < SKI_NUM_ITEMS; k++) CheckTable(tuning->ski_costs[k] > 0, "something has no cost");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscSparseCUDATuning *current = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestSelection());
  PetscCall(TestHolding());
  for (size_t k = 0; PetscSparseCUDATunings[k] != NULL; k++) {
    PetscCall(TestScaling(PetscSparseCUDATunings[k]));
    PetscCall(CheckSpMV(PetscSparseCUDATunings[k]));
    PetscCall(CheckSpMVTranspose(PetscSparseCUDATunings[k]));
    PetscCall(CheckSpGEMM(PetscSparseCUDATunings[k]));
    PetscCall(CheckHiSparse(PetscSparseCUDATunings[k]));
    PetscCall(CheckOthers(PetscSparseCUDATunings[k]));
  }
  PetscCall(PetscSparseCUDAGetTuning(&current)); // without a device the first one
  PetscCheck(current == PetscSparseCUDATunings[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The tuning without a device is that of %s", current->name);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      output_file: output/empty.out
      args: -device_enable none

TEST*/
