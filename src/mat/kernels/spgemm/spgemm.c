/*
  The phases of a product. Symbolic: count windows and entries of every row of C, level by level; one synchronization for the size of C; row offsets; columns,
  and values when they are wanted, bin by bin. Numeric: values, bin by bin.
*/
#include "spgemmimpl.h"

/* Launch rule of the groups: their tables of windows and their entries are what fills shared memory, so the smallest that holds a row. Measured: docs/spgemm.md. */
const SpGEMMBin SpGEMMBins[SPGEMM_NUM_BINS] = {
  {"empty", 0, 0, 0}, {"16x16", 4, 16, 4}, {"32x48", 5, 48, 4}, {"64x128", 6, 128, 8}, {"64x512", 6, 512, 16}, {"128x256", 7, 256, 32}, {"512x512", 9, 512, 32}, {"block", 0, 0, 0}, {"slices", 0, 0, 0},
};

/* A group of lanes takes a row of B at a time: this many for rows of B of up to mean entries. */
static const struct {
  double mean;
  int    lanes;
} lanes_rule[] = {
  {2.5, 4},
  {10.0, 8},
  {20.0, 16},
  {1e300, 32},
};

struct _n_DCSRSpGEMM {
  PetscInt            num_rows;
  PetscCount          num_nonzeros; /* of C */
  int                 lanes;        /* of a group */
  SpGEMMStats         stats;
  int32_t            *list;       /* [num_rows] device, owned: rows of C by bin; NULL when all rows are in one */
  unsigned long long *chunks;     /* [max_chunks] device, owned: chunks of the rows of the last two bins; NULL when there are none */
  unsigned long long *num_chunks; /* [1] device, owned: how many; NULL when there are none */
  PetscCount          max_chunks;
  size_t              workspace; /* most bytes held at once */
};

static SpGEMMBinLimits GetLimits(void)
{
  SpGEMMBinLimits limits;

  for (int bin = 0; bin < SPGEMM_NUM_BINS; bin++) {
    limits.max_windows[bin] = SpGEMMBins[bin].log2_slots ? 3 << SpGEMMBins[bin].log2_slots >> 2 : 0;
    limits.max_entries[bin] = SpGEMMBins[bin].max_entries;
  }
  limits.max_windows[SPGEMM_BIN_BLOCK] = SPGEMM_BLOCK_WINDOWS;
  limits.max_entries[SPGEMM_BIN_BLOCK] = PETSC_INT32_MAX;
  return limits;
}

static int GetLanes(const DCSRView *B)
{
  const double mean = (double)B->num_nonzeros / (double)PetscMax(B->num_rows, 1);
  int          k    = 0;

  while (mean > lanes_rule[k].mean) k++;
  return lanes_rule[k].lanes;
}

static PetscErrorCode FreeCount(SpGEMMCount *count, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&count->counts, stream));
  PetscCall(PetscSparseCUDAFree(&count->bins, stream));
  PetscCall(PetscSparseCUDAFree(&count->lists[0], stream));
  PetscCall(PetscSparseCUDAFree(&count->lists[1], stream));
  PetscCall(PetscSparseCUDAFree(&count->stats, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateCount(PetscInt num_rows, cudaStream_t stream, SpGEMMCount *count, size_t *bytes)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(count, sizeof(*count)));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc((PetscCount)num_rows + 1, "entries of the rows of a product", stream, &count->counts));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_rows, "bins of the rows of a product", stream, &count->bins));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_rows, "rows of a product by bin", stream, &count->lists[0]));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(num_rows, "long rows of a product", stream, &count->lists[1]));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(1, "statistics of a product", stream, &count->stats));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(count->counts + num_rows, 0, sizeof(*count->counts), stream));
  PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(count->stats, 0, sizeof(*count->stats), stream));
  *bytes = (size_t)num_rows * 13 + sizeof(*count->counts) + sizeof(*count->stats);
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(FreeCount(count, stream));
  PetscFunctionReturn(ierr);
}

/* The counting phase; its statistics come to the host. */
static PetscErrorCode Count(DCSRView A, DCSRView B, int lanes, const SpGEMMCount *count, cudaStream_t stream, SpGEMMStats *stats)
{
  const SpGEMMBinLimits limits = GetLimits();

  PetscFunctionBegin;
  PetscCall(SpGEMMCountGroups(A, B, lanes, &limits, count, stream));
  PetscCall(SpGEMMCountWarps(A, B, &limits, count, stream));
  PetscCall(SpGEMMCountBlocks(A, B, &limits, count, stream));
  PetscCall(SpGEMMCountSlices(A, B, count, stream));
  PetscCallCUDA(cudaMemcpyAsync(stats, count->stats, sizeof(*stats), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether every row of C is in one and the same bin. */
static PetscBool HasOneBin(const SpGEMMStats *stats, PetscInt num_rows)
{
  for (int bin = 0; bin < SPGEMM_NUM_BINS; bin++)
    if (stats->bin_rows[bin] == (unsigned int)num_rows) return (PetscBool)(bin != SPGEMM_BIN_BLOCK && bin != SPGEMM_BIN_LONG);
  return PETSC_FALSE;
}

/* Rows of each bin in the product's list; chunks of long rows. The list of the counting phase becomes that of the product. */
static PetscErrorCode MakeLists(DCSRSpGEMM product, DCSRView C, SpGEMMCount *count, cudaStream_t stream)
{
  const PetscCount num_block = product->stats.bin_rows[SPGEMM_BIN_BLOCK], num_long = product->stats.bin_rows[SPGEMM_BIN_LONG];
  const int32_t   *long_rows;

  PetscFunctionBegin;
  if (HasOneBin(&product->stats, product->num_rows)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpGEMMSortRows(product->num_rows, count->bins, &product->stats, count->lists[0], stream));
  product->list   = count->lists[0];
  count->lists[0] = NULL;
  if (num_block + num_long == 0) PetscFunctionReturn(PETSC_SUCCESS);
  long_rows           = product->list + product->num_rows - product->stats.bin_rows[SPGEMM_BIN_EMPTY] - num_block - num_long; // they are the last in the list
  product->max_chunks = C.num_nonzeros / SPGEMM_CHUNK_ENTRIES + num_block + num_long;
  PetscCall(PetscSparseCUDAMalloc(product->max_chunks, "chunks of long rows of a product", stream, &product->chunks));
  PetscCall(PetscSparseCUDAMalloc(1, "number of chunks of long rows of a product", stream, &product->num_chunks));
  PetscCall(SpGEMMListChunks(C, num_block + num_long, long_rows, product->chunks, product->num_chunks, stream));
  product->workspace += (size_t)product->max_chunks * sizeof(*product->chunks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns, and values when wanted, of all bins. */
static PetscErrorCode Fill(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, PetscBool values, cudaStream_t stream)
{
  const int32_t *list = product->list;

  PetscFunctionBegin;
  for (int bin = 1; bin < SPGEMM_NUM_BINS; bin++) {
    const PetscCount n = product->stats.bin_rows[bin];

    if (bin == SPGEMM_BIN_BLOCK) PetscCall(SpGEMMFillBlocks(A, B, C, n, list, stream));
    else if (bin == SPGEMM_BIN_LONG) PetscCall(SpGEMMFillSlices(A, B, C, n, list, stream));
    else PetscCall(SpGEMMFillGroups(A, B, C, values, &SpGEMMBins[bin], product->lanes, n, list, stream));
    if (list != NULL) list += n;
  }
  if (values) PetscCall(SpGEMMNumericChunks(A, B, C, product->max_chunks, product->chunks, product->num_chunks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllocateResult(DCSRView A, DCSRView B, PetscCount num_nonzeros, PetscBool values, cudaStream_t stream, DCSRView *C)
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(num_nonzeros, &wide));
  if (values) PetscCall(DCSRViewAllocateCompact(A.num_rows, B.num_columns, num_nonzeros, wide, stream, C));
  else PetscCall(DCSRViewAllocateStructure(A.num_rows, B.num_columns, num_nonzeros, wide, stream, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that follows the checks. */
static PetscErrorCode Symbolic(DCSRSpGEMM product, DCSRView A, DCSRView B, PetscBool values, SpGEMMCount *count, cudaStream_t stream, DCSRView *C)
{
  PetscFunctionBegin;
  if (A.num_nonzeros == 0 || B.num_nonzeros == 0) {
    PetscCall(AllocateResult(A, B, 0, values, stream, C));
    PetscCallCUDA(cudaMemsetAsync(C->row_offsets, 0, ((size_t)A.num_rows + 1) * (C->wide ? sizeof(int64_t) : sizeof(int32_t)), stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AllocateCount(A.num_rows, stream, count, &product->workspace));
  PetscCall(Count(A, B, product->lanes, count, stream, &product->stats));
  PetscCall(AllocateResult(A, B, (PetscCount)product->stats.num_nonzeros, values, stream, C));
  product->num_nonzeros = C->num_nonzeros;
  PetscCall(SpGEMMScan(A.num_rows, count->counts, *C, stream));
  PetscCall(MakeLists(product, *C, count, stream));
  PetscCall(Fill(product, A, B, *C, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFactors(DCSRView A, DCSRView B, PetscBool values)
{
  PetscFunctionBegin;
  PetscCheck(A.row_offsets != NULL && B.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Only compact storage can be multiplied, call DCSRDefragment() first");
  PetscCheck(A.num_columns == B.num_rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A has %" PetscInt_FMT " columns and B %" PetscInt_FMT " rows", A.num_columns, B.num_rows);
  PetscCheck((PetscCount)A.num_rows <= (PetscCount)PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " rows are more than lists of 32-bit row numbers hold", A.num_rows);
  PetscCheck(!values || ((A.values != NULL || A.num_nonzeros == 0) && (B.values != NULL || B.num_nonzeros == 0)), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "A matrix with structure only has no values to multiply");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpGEMMSymbolic - The structure of C = A B, and its values

  Not Collective

  Input Parameters:
+ A      - compact storage
. B      - compact storage, A.num_columns rows
. values - whether the values of C are computed, too; A and B have values then
- stream - synchronizes once, for the size of C; what follows is asynchronous

  Output Parameters:
+ C       - compact storage with sorted rows, owned by the caller; values NULL when they were not wanted
- product - for DCSRSpGEMMNumeric(); DCSRSpGEMMDestroy() frees it

  Errors: PETSC_ERR_MEM; C's arrays and product are NULL then.

  Cost: three walks over the products (two without values) in shared memory; 13 bytes of workspace a row of C, 8 for 256 entries of rows with more than 512.

  Reference: rows in bins by work as Dalton, Olson and Bell, Optimizing sparse matrix-matrix multiplication for the GPU, ACM TOMS 41, 2015; the bits of neighbouring
  columns in one word as Deveci, Trott and Rajamanickam, Multithreaded sparse matrix-matrix multiplication, Parallel Computing 78, 2018.
*/
PetscErrorCode DCSRSpGEMMSymbolic(DCSRView A, DCSRView B, PetscBool values, cudaStream_t stream, DCSRView *C, DCSRSpGEMM *product)
{
  SpGEMMCount    count;
  PetscErrorCode ierr, freed;

  PetscFunctionBegin;
  *product = NULL;
  PetscCall(PetscMemzero(C, sizeof(*C)));
  PetscCall(PetscMemzero(&count, sizeof(count)));
  PetscCall(CheckFactors(A, B, values));
  PetscCall(PetscNew(product));
  (*product)->num_rows = A.num_rows;
  (*product)->lanes    = GetLanes(&B);
  ierr                 = Symbolic(*product, A, B, values, &count, stream, C);
  freed                = FreeCount(&count, stream);
  if (ierr == PETSC_SUCCESS) ierr = freed;
  if (ierr != PETSC_SUCCESS) {
    PetscCall(DCSRViewFree(C, stream));
    PetscCall(DCSRSpGEMMDestroy(product, stream));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRSpGEMMNumeric - The values of C = A B again

  Not Collective

  Input Parameters:
+ product - of DCSRSpGEMMSymbolic()
. A, B    - with the patterns of that call
. C       - the structure of that call, with values allocated [num_nonzeros]
- stream  - asynchronous on it

  Cost: one walk over the products.
*/
PetscErrorCode DCSRSpGEMMNumeric(DCSRSpGEMM product, DCSRView A, DCSRView B, DCSRView C, cudaStream_t stream)
{
  const int32_t *list = product->list;

  PetscFunctionBegin;
  PetscCall(CheckFactors(A, B, PETSC_TRUE));
  PetscCheck(A.num_rows == product->num_rows && C.num_rows == A.num_rows && C.num_nonzeros == product->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The product was made for %" PetscInt_FMT " rows and %" PetscCount_FMT " nonzeros, C has %" PetscInt_FMT " and %" PetscCount_FMT, product->num_rows, product->num_nonzeros, C.num_rows, C.num_nonzeros);
  if (C.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int bin = 1; bin < SPGEMM_BIN_BLOCK; bin++) {
    const PetscCount n = product->stats.bin_rows[bin];

    PetscCall(SpGEMMNumericGroups(A, B, C, &SpGEMMBins[bin], product->lanes, n, list, stream));
    if (list != NULL) list += n;
  }
  PetscCall(SpGEMMNumericChunks(A, B, C, product->max_chunks, product->chunks, product->num_chunks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpGEMMGetInfo - What a product did; see DCSRSpGEMMInfo. Not collective. */
PetscErrorCode DCSRSpGEMMGetInfo(DCSRSpGEMM product, DCSRSpGEMMInfo *info)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->num_products = (PetscCount)product->stats.num_products;
  info->workspace    = product->workspace;
  for (int bin = 0; bin < SPGEMM_NUM_BINS; bin++) {
    if (!product->stats.bin_rows[bin]) continue;
    info->bin_names[info->num_bins]  = SpGEMMBins[bin].name;
    info->bin_rows[info->num_bins++] = product->stats.bin_rows[bin];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRSpGEMMDestroy - Frees what a product keeps; *product is NULL afterwards. Not collective. */
PetscErrorCode DCSRSpGEMMDestroy(DCSRSpGEMM *product, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*product == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAFree(&(*product)->list, stream));
  PetscCall(PetscSparseCUDAFree(&(*product)->chunks, stream));
  PetscCall(PetscSparseCUDAFree(&(*product)->num_chunks, stream));
  PetscCall(PetscFree(*product));
  PetscFunctionReturn(PETSC_SUCCESS);
}
