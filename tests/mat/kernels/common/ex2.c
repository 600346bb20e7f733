static char help[] = "Sorts, selections, scans and reductions that kernels share, against loops on the host; out of memory.\n\n";

#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/common/reduce.h"
#include "../../../../src/mat/kernels/common/scan.h"
#include "../../../../src/mat/kernels/common/select.h"
#include "../../../../src/mat/kernels/common/sort.h"
#include "../../../lib/sys.h"

/* None, one, a ragged tile, several tiles, and enough for every launch rule of a sort. */
static const PetscInt sizes[] = {0, 1, 2, 31, 257, 4097, 40000, 300007};

static uint64_t Random(uint64_t *state)
{
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (*state >> 33) ^ *state << 31;
}

/* The copy of an array, or an array that nobody has written. */
static PetscErrorCode ToDevice(const void *host, size_t bytes, cudaStream_t stream, void *device)
{
  char **const ptr = (char **)device;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(bytes, "array of a test", stream, ptr));
  if (bytes > 0 && host) PetscCall(PetscSparseCUDACopyToDevice(*ptr, host, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToHost(void *host, void *device, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (bytes > 0) PetscCall(PetscSparseCUDACopyToHost(host, device, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt     n; // length of the arrays
  cudaStream_t stream;
  uint64_t     random;
} Context;

/* The sorts of pairs, with what keys and values have of bits. The last two are in buffers. */
#define NUM_OUT_OF_PLACE 3
static const char *const variants[] = {"32 with 32", "32 with 64", "32 with scalars", "buffers 32 with 32", "buffers 64 with 32"};

static int KeyBytes(int variant)
{
  return variant == 4 ? 8 : 4;
}

static int ValueBytes(int variant)
{
  const int bytes[] = {4, 8, (int)sizeof(PetscScalar), 4, 4};

  return bytes[variant];
}

static PetscErrorCode Sort(const Context *c, int variant, int bits, char *keys[2], char *values[2])
{
  PetscFunctionBegin;
  switch (variant) {
  case 0:
    PetscCall(DCSRSortPairs32With32("test", c->n, bits, (uint32_t *)keys[0], (uint32_t *)keys[1], (uint32_t *)values[0], (uint32_t *)values[1], c->stream));
    break;
  case 1:
    PetscCall(DCSRSortPairs32With64("test", c->n, bits, (uint32_t *)keys[0], (uint32_t *)keys[1], (PetscCount *)values[0], (PetscCount *)values[1], c->stream));
    break;
  case 2:
    PetscCall(DCSRSortPairs32WithScalars("test", c->n, bits, (uint32_t *)keys[0], (uint32_t *)keys[1], (PetscScalar *)values[0], (PetscScalar *)values[1], c->stream));
    break;
  case 3:
    PetscCall(DCSRSortBuffers32With32("test", c->n, bits, (uint32_t **)keys, (uint32_t **)values, c->stream));
    break;
  default:
    PetscCall(DCSRSortBuffers64With32("test", c->n, bits, (uint64_t **)keys, (uint32_t **)values, c->stream));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static uint64_t KeyOf(const char *keys, PetscInt k, int bytes)
{
  return bytes == 4 ? ((const uint32_t *)keys)[k] : ((const uint64_t *)keys)[k];
}

/* Values are the positions of their keys before, so that they show the order of equal keys. Single precision holds positions below 2^24. */
static PetscInt PositionOf(const char *values, PetscInt k, int variant)
{
  if (variant == 2) return (PetscInt)PetscRealPart(((const PetscScalar *)values)[k]);
  return (PetscInt)(ValueBytes(variant) == 4 ? (PetscCount)((const uint32_t *)values)[k] : ((const PetscCount *)values)[k]);
}

static void SetPosition(char *values, PetscInt k, int variant)
{
  if (variant == 2) ((PetscScalar *)values)[k] = (PetscReal)k;
  else if (ValueBytes(variant) == 4) ((uint32_t *)values)[k] = (uint32_t)k;
  else ((PetscCount *)values)[k] = (PetscCount)k;
}

/* Every position occurs once, with its key; keys ascend by the bits that count, and equal ones keep their order. */
static PetscErrorCode CheckSorted(const Context *c, int variant, int bits, const char *before, const char *keys, const char *values)
{
  const int      bytes = KeyBytes(variant);
  const uint64_t mask  = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < c->n; k++) {
    const PetscInt position = PositionOf(values, k, variant);
    const uint64_t key      = KeyOf(keys, k, bytes);

    PetscCheck(position >= 0 && position < c->n && KeyOf(before, position, bytes) == key, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s, %d bits, %" PetscInt_FMT " keys: place %" PetscInt_FMT " has another value", variants[variant], bits, c->n, k);
    if (k == 0) continue;
    PetscCheck((KeyOf(keys, k - 1, bytes) & mask) < (key & mask) || ((KeyOf(keys, k - 1, bytes) & mask) == (key & mask) && PositionOf(values, k - 1, variant) < position), PETSC_COMM_SELF,
               PETSC_ERR_PLIB, "%s, %d bits, %" PetscInt_FMT " keys: place %" PetscInt_FMT " is out of order", variants[variant], bits, c->n, k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPairs(Context *c, int variant, int bits)
{
  const size_t key_bytes = (size_t)c->n * KeyBytes(variant), value_bytes = (size_t)c->n * ValueBytes(variant);
  const int    result = variant < NUM_OUT_OF_PLACE;
  char        *before, *keys, *values, *device_keys[2], *device_values[2];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(key_bytes, &before, key_bytes, &keys, value_bytes, &values));
  for (PetscInt k = 0; k < c->n; k++) {
    const uint64_t key = Random(&c->random);

    if (KeyBytes(variant) == 4) ((uint32_t *)before)[k] = (uint32_t)key;
    else ((uint64_t *)before)[k] = key;
    SetPosition(values, k, variant);
  }
  PetscCall(ToDevice(before, key_bytes, c->stream, &device_keys[0]));
  PetscCall(ToDevice(NULL, key_bytes, c->stream, &device_keys[1]));
  PetscCall(ToDevice(values, value_bytes, c->stream, &device_values[0]));
  PetscCall(ToDevice(NULL, value_bytes, c->stream, &device_values[1]));
  PetscCall(Sort(c, variant, bits, device_keys, device_values));
  PetscCall(ToHost(keys, device_keys[result], key_bytes, c->stream));
  PetscCall(ToHost(values, device_values[result], value_bytes, c->stream));
  PetscCall(CheckSorted(c, variant, bits, before, keys, values));
  if (variant < NUM_OUT_OF_PLACE) { // what was sorted has not changed
    PetscBool same;

    PetscCall(ToHost(keys, device_keys[0], key_bytes, c->stream));
    PetscCall(PetscMemcmp(keys, before, key_bytes, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %" PetscInt_FMT " keys: the unsorted keys have changed", variants[variant], c->n);
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscSparseCUDAFree(&device_keys[k], c->stream));
    PetscCall(PetscSparseCUDAFree(&device_values[k], c->stream));
  }
  PetscCall(PetscFree3(before, keys, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int CompareKeys(const void *a, const void *b)
{
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return x < y ? -1 : x > y;
}

/* Keys alone, and their distinct values. */
static PetscErrorCode TestKeys(Context *c, uint32_t num_values)
{
  const size_t bytes = (size_t)c->n * sizeof(uint32_t);
  uint32_t    *keys, *sorted, *device_keys, *device_sorted;
  PetscCount  *device_num, num, expected = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(c->n, &keys, c->n, &sorted));
  for (PetscInt k = 0; k < c->n; k++) keys[k] = (uint32_t)(Random(&c->random) % num_values);
  PetscCall(ToDevice(keys, bytes, c->stream, &device_keys));
  PetscCall(ToDevice(NULL, bytes, c->stream, &device_sorted));
  PetscCall(ToDevice(NULL, sizeof(num), c->stream, &device_num));
  PetscCall(DCSRSortKeys32("test", c->n, 31, device_keys, device_sorted, c->stream));
  PetscCall(DCSRSelectDistinct32("test", c->n, (int32_t *)device_sorted, (int32_t *)device_keys, device_num, c->stream));
  qsort(keys, (size_t)c->n, sizeof(*keys), CompareKeys);
  PetscCall(ToHost(sorted, device_sorted, bytes, c->stream));
  for (PetscInt k = 0; k < c->n; k++)
    PetscCheck(sorted[k] == keys[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " keys of %u: place %" PetscInt_FMT " is wrong", c->n, (unsigned int)num_values, k);
  PetscCall(ToHost(sorted, device_keys, bytes, c->stream));
  PetscCall(ToHost(&num, device_num, sizeof(num), c->stream));
  for (PetscInt k = 0; k < c->n; k++)
    if (k == 0 || keys[k] != keys[k - 1])
      PetscCheck(sorted[expected++] == keys[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " keys of %u: distinct key %" PetscCount_FMT " is wrong", c->n, (unsigned int)num_values,
                 expected - 1);
  PetscCheck(num == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " keys of %u: %" PetscCount_FMT " distinct ones, not %" PetscCount_FMT, c->n, (unsigned int)num_values, num, expected);
  PetscCall(PetscSparseCUDAFree(&device_keys, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_sorted, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_num, c->stream));
  PetscCall(PetscFree2(keys, sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is selected, by the width of its entries: 4, 8, or those of scalars (2). */
static PetscErrorCode SelectFlagged(const Context *c, int kind, const char *from, const unsigned char *flags, char *to, char *num)
{
  PetscFunctionBegin;
  if (kind == 2) PetscCall(DCSRSelectFlaggedScalars("test", c->n, (const PetscScalar *)from, flags, (PetscScalar *)to, (PetscCount *)num, c->stream));
  else if (kind == 4) PetscCall(DCSRSelectFlagged32("test", c->n, (const int32_t *)from, flags, (int32_t *)to, (PetscCount *)num, c->stream));
  else PetscCall(DCSRSelectFlagged64("test", c->n, (const int64_t *)from, flags, (int64_t *)to, (PetscCount *)num, c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One of so many entries has a flag, whose value may be any but 0; one of 0: none has. */
static PetscErrorCode TestFlagged(Context *c, int kind, int one_of)
{
  const size_t   width = kind == 2 ? sizeof(PetscScalar) : (size_t)kind, bytes = (size_t)c->n * width;
  char          *from, *to, *device_from, *device_to, *device_num;
  unsigned char *flags, *device_flags;
  PetscCount     num = 0, expected = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(bytes, &from, bytes, &to, c->n, &flags));
  for (size_t k = 0; k < bytes / 4; k++) ((uint32_t *)from)[k] = (uint32_t)Random(&c->random);
  for (PetscInt k = 0; k < c->n; k++) flags[k] = one_of && Random(&c->random) % one_of == 0 ? (unsigned char)(1 + k % 255) : 0;
  PetscCall(ToDevice(from, bytes, c->stream, &device_from));
  PetscCall(ToDevice(NULL, bytes, c->stream, &device_to));
  PetscCall(ToDevice(flags, (size_t)c->n, c->stream, &device_flags));
  PetscCall(ToDevice(NULL, sizeof(num), c->stream, &device_num));
  PetscCall(SelectFlagged(c, kind, device_from, device_flags, device_to, device_num));
  PetscCall(ToHost(to, device_to, bytes, c->stream));
  PetscCall(ToHost(&num, device_num, sizeof(num), c->stream));
  for (PetscInt k = 0; k < c->n; k++) {
    PetscBool same;

    if (!flags[k]) continue;
    PetscCall(PetscMemcmp(to + (size_t)expected++ * width, from + (size_t)k * width, width, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Kind %d, one of %d of %" PetscInt_FMT ": entry %" PetscCount_FMT " is wrong", kind, one_of, c->n, expected - 1);
  }
  PetscCheck(num == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Kind %d, one of %d of %" PetscInt_FMT ": %" PetscCount_FMT " entries, not %" PetscCount_FMT, kind, one_of, c->n, num, expected);
  PetscCall(PetscSparseCUDAFree(&device_from, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_to, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_flags, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_num, c->stream));
  PetscCall(PetscFree3(from, to, flags));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of rows, their sums in both widths by all scans, and facts. */
typedef struct {
  int32_t *sizes, *sums; // [n], [n + 1]
  int64_t *wide;         // [n + 1]
  int32_t *device_sizes; // [n]
  int32_t *device_sums;  // [n + 1]
  int64_t *device_wide;  // [n + 1]
} Rows;

static PetscErrorCode CheckSums(const Context *c, const Rows *r, PetscInt n, const char what[])
{
  int64_t sum = 0;

  PetscFunctionBegin;
  PetscCall(ToHost(r->sums, r->device_sums, (size_t)n * sizeof(*r->sums), c->stream));
  PetscCall(ToHost(r->wide, r->device_wide, (size_t)n * sizeof(*r->wide), c->stream));
  for (PetscInt k = 0; k < n; k++) {
    PetscCheck(r->sums[k] == sum && r->wide[k] == sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of %" PetscInt_FMT ": sum %" PetscInt_FMT " is wrong", what, c->n, k);
    if (k < c->n) sum += r->sizes[k];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestScans(const Context *c, const Rows *r)
{
  const size_t n = (size_t)c->n;

  PetscFunctionBegin;
  PetscCall(DCSROffsetsFromSizes32("test", r->device_sizes, c->n, r->device_sums, c->stream));
  PetscCall(DCSROffsetsFromSizes64("test", r->device_sizes, c->n, r->device_wide, c->stream));
  PetscCall(CheckSums(c, r, c->n + 1, "Offsets"));
  PetscCallCUDA(cudaMemsetAsync(r->device_sums, 0xff, (n + 1) * sizeof(*r->sums), c->stream));
  PetscCallCUDA(cudaMemsetAsync(r->device_wide, 0xff, (n + 1) * sizeof(*r->wide), c->stream));
  PetscCall(DCSRExclusiveSumTo32("test", r->device_sizes, c->n, r->device_sums, c->stream));
  PetscCall(DCSRExclusiveSumTo64("test", r->device_sizes, c->n, r->device_wide, c->stream));
  PetscCall(CheckSums(c, r, c->n, "Sums"));
  for (size_t k = 0; k < n; k++) r->wide[k] = r->sizes[k];
  if (n > 0) PetscCall(PetscSparseCUDACopyToDevice(r->device_sums, r->sizes, n * sizeof(*r->sums), c->stream));
  if (n > 0) PetscCall(PetscSparseCUDACopyToDevice(r->device_wide, r->wide, n * sizeof(*r->wide), c->stream));
  PetscCall(DCSRExclusiveSum32("test", r->device_sums, c->n, c->stream));
  PetscCall(DCSRExclusiveSum64("test", r->device_wide, c->n, c->stream));
  PetscCall(CheckSums(c, r, c->n, "Sums in place"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows with more entries than a limit, from offsets of both widths, which are there. */
static PetscErrorCode TestLongRows(const Context *c, const Rows *r, int32_t limit)
{
  int32_t *rows, *device_rows, *device_num, num;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->n, &rows));
  PetscCall(ToDevice(NULL, (size_t)c->n * sizeof(*rows), c->stream, &device_rows));
  PetscCall(ToDevice(NULL, sizeof(num), c->stream, &device_num));
  for (int kind = 0; kind < 2; kind++) {
    int32_t expected = 0;

    if (kind == 0) PetscCall(DCSRSelectLongRows32("test", (int32_t)c->n, r->device_sums, limit, device_rows, device_num, c->stream));
    else PetscCall(DCSRSelectLongRows64("test", (int32_t)c->n, r->device_wide, limit, device_rows, device_num, c->stream));
    PetscCall(ToHost(rows, device_rows, (size_t)c->n * sizeof(*rows), c->stream));
    PetscCall(ToHost(&num, device_num, sizeof(num), c->stream));
    for (PetscInt k = 0; k < c->n; k++)
      if (r->sizes[k] > limit) PetscCheck(rows[expected++] == k, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Kind %d, %" PetscInt_FMT " rows: long row %d is wrong", kind, c->n, (int)expected - 1);
    PetscCheck(num == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Kind %d, %" PetscInt_FMT " rows: %d long ones, not %d", kind, c->n, (int)num, (int)expected);
  }
  PetscCall(PetscSparseCUDAFree(&device_rows, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_num, c->stream));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFacts(const Context *c, const Rows *r)
{
  DCSRSizeFacts facts, expected = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < c->n; k++) {
    expected.num_nonzeros += r->sizes[k];
    expected.num_nonempty_rows += r->sizes[k] > 0;
    expected.max_row_size = PetscMax(expected.max_row_size, r->sizes[k]);
  }
  PetscCall(DCSRReduceSizes(c->n, r->device_sizes, c->stream, &facts));
  PetscCheck(facts.num_nonzeros == expected.num_nonzeros && facts.num_nonempty_rows == expected.num_nonempty_rows && facts.max_row_size == expected.max_row_size, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Wrong facts about %" PetscInt_FMT " rows", c->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRows(Context *c)
{
  const size_t n = (size_t)c->n;
  Rows         r;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &r.sizes, n + 1, &r.sums, n + 1, &r.wide));
  for (size_t k = 0; k < n; k++) r.sizes[k] = (int32_t)(Random(&c->random) % 9);
  PetscCall(ToDevice(r.sizes, n * sizeof(*r.sizes), c->stream, &r.device_sizes));
  PetscCall(ToDevice(NULL, (n + 1) * sizeof(*r.sums), c->stream, &r.device_sums));
  PetscCall(ToDevice(NULL, (n + 1) * sizeof(*r.wide), c->stream, &r.device_wide));
  PetscCall(TestScans(c, &r));
  PetscCall(DCSROffsetsFromSizes32("test", r.device_sizes, c->n, r.device_sums, c->stream));
  PetscCall(DCSROffsetsFromSizes64("test", r.device_sizes, c->n, r.device_wide, c->stream));
  for (int32_t limit = 0; limit <= 8; limit += 4) PetscCall(TestLongRows(c, &r, limit));
  PetscCall(TestFacts(c, &r));
  PetscCall(PetscSparseCUDAFree(&r.device_sizes, c->stream));
  PetscCall(PetscSparseCUDAFree(&r.device_sums, c->stream));
  PetscCall(PetscSparseCUDAFree(&r.device_wide, c->stream));
  PetscCall(PetscFree3(r.sizes, r.sums, r.wide));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small integers, whose sums are exact in any order also in single precision; shift makes all of them negative. */
static PetscErrorCode TestNorms(Context *c, int shift)
{
  PetscScalar *scalars, *device_scalars;
  PetscReal   *reals, *device_reals, sum = 0, squares = 0, largest = 0, found;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(c->n, &scalars, c->n, &reals));
  for (PetscInt k = 0; k < c->n; k++) {
    const int value = (int)(Random(&c->random) % 7) - shift;

    reals[k]   = (PetscReal)value;
    scalars[k] = (PetscReal)value;
    sum += reals[k];
    squares += reals[k] * reals[k];
    largest = PetscMax(largest, reals[k]);
  }
  PetscCall(ToDevice(scalars, (size_t)c->n * sizeof(*scalars), c->stream, &device_scalars));
  PetscCall(ToDevice(reals, (size_t)c->n * sizeof(*reals), c->stream, &device_reals));
  PetscCall(DCSRReduceSum(c->n, device_reals, c->stream, &found));
  PetscCheck(found == sum, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The sum of %" PetscInt_FMT " numbers is %g, not %g", c->n, (double)found, (double)sum);
  PetscCall(DCSRReduceMax(c->n, device_reals, c->stream, &found));
  PetscCheck(found == largest, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The largest of %" PetscInt_FMT " numbers is %g, not %g", c->n, (double)found, (double)largest);
  PetscCall(DCSRReduceSumSquares(c->n, device_scalars, c->stream, &found));
  PetscCheck(found == squares, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The sum of squares of %" PetscInt_FMT " scalars is %g, not %g", c->n, (double)found, (double)squares);
  PetscCall(PetscSparseCUDAFree(&device_scalars, c->stream));
  PetscCall(PetscSparseCUDAFree(&device_reals, c->stream));
  PetscCall(PetscFree2(scalars, reals));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without memory for the workspace buffers stay as they are. */
static PetscErrorCode TestOutOfMemory(Context *c)
{
  uint64_t      *keys[2], *same_keys[2];
  uint32_t      *values[2], *same_values[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(ToDevice(NULL, (size_t)c->n * sizeof(**keys), c->stream, &keys[k]));
    PetscCall(ToDevice(NULL, (size_t)c->n * sizeof(**values), c->stream, &values[k]));
    same_keys[k]   = keys[k];
    same_values[k] = values[k];
  }
  TestLibCallFailing(1, ierr, DCSRSortBuffers64With32("test", c->n, 64, keys, values, c->stream));
  PetscCheck(ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d in place of out of memory", (int)ierr);
  for (int k = 0; k < 2; k++) {
    PetscCheck(keys[k] == same_keys[k] && values[k] == same_values[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Buffers were exchanged after an error");
    PetscCall(PetscSparseCUDAFree(&keys[k], c->stream));
    PetscCall(PetscSparseCUDAFree(&values[k], c->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(Context *c)
{
  const int bits[] = {1, 5, 13, 32, 40, 64}, kinds[] = {2, 4, 8};

  PetscFunctionBegin;
  for (int variant = 0; variant < (int)PETSC_STATIC_ARRAY_LENGTH(variants); variant++)
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bits); k++)
      if (bits[k] <= 8 * KeyBytes(variant)) PetscCall(TestPairs(c, variant, bits[k]));
  PetscCall(TestKeys(c, 7));
  PetscCall(TestKeys(c, PETSC_INT32_MAX));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++)
    for (int one_of = 0; one_of < 4; one_of++) PetscCall(TestFlagged(c, kinds[k], one_of));
  PetscCall(TestRows(c));
  PetscCall(TestNorms(c, 3));
  PetscCall(TestNorms(c, 9));
  PetscCall(TestOutOfMemory(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Context c;
  size_t  before, after;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscSparseCUDAGetStream(&c.stream));
  c.random = 1;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    c.n = sizes[k];
    PetscCall(KernelTestMemoryInUse(c.stream, &before));
    PetscCall(Test(&c));
    PetscCall(KernelTestMemoryInUse(c.stream, &after));
    PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT ": %zu bytes of device memory were not freed", c.n, after - before);
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
