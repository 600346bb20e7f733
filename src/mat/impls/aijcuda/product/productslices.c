/*
  Products of three matrices in slices, C = L (X Y): of a slice of rows of L the columns that occur are found, the rows of X that they meet are multiplied with Y, and
  the slice with what that gives. So the intermediate product is never there as a whole; rows of it that several slices need are computed several times.

  That costs time: slices are for memory alone (benchmark ptap: on no matrix are they faster than two products).

  Rows of products do not depend on what is computed with them, and columns keep their order: results have the same bits as without slices.

  Between the phases nothing is kept but the number of slices: the numeric phase computes the chunks of C, structure included, again and copies their values.
*/
#include "product.h"
#include "productimpl.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/slices.h>
#include <petscsparsecuda/submatrix.h>

#define BYTES_PER_ENTRY (sizeof(PetscScalar) + 2.1 * sizeof(int32_t)) /* of an intermediate product while it is computed: its entries and the pool of columns */
#define SMALL_BYTES     16777216.0                                    /* intermediate products up to this size need no thought about memory */
#define UNSLICED_PART   0.5                                           /* of the memory available, which an intermediate product may take; the rest is for C and for what nobody foresees */
#define SLICE_PART      0.25                                          /* the same for one slice of it, with the rows of X that it needs */
#define OVERLAP         1.25                                          /* slices of three-dimensional problems share this part of their rows */
#define SAMPLE_ROWS     2048                                          /* of the intermediate product, whose entries are counted */

/* The slices of one phase. */
typedef struct {
  PetscInt       n;
  PetscInt      *rows;    /* [n + 1] of L: first row of each slice */
  PetscCount    *entries; /* [n + 1] of L: first entry of each slice */
  DCSRSliceMarks marks;
} Slicing;

static PetscErrorCode SlicingDestroy(Slicing *g, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(g->rows));
  PetscCall(PetscFree(g->entries));
  PetscCall(DCSRSliceMarksDestroy(&g->marks, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SlicingCreate(DCSRView L, PetscInt n, cudaStream_t stream, Slicing *g)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(g, 1));
  g->n = n;
  PetscCallGoto(ierr, failed, PetscMalloc1(n + 1, &g->rows));
  PetscCallGoto(ierr, failed, PetscMalloc1(n + 1, &g->entries));
  PetscCallGoto(ierr, failed, DCSRGetSliceBounds(L, NULL, n, g->rows, g->entries, NULL, stream));
  PetscCallGoto(ierr, failed, DCSRSliceMarksCreate(L.num_columns, stream, &g->marks));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(SlicingDestroy(g, stream));
  PetscFunctionReturn(ierr);
}

static PetscInt CeilPositive(PetscReal x)
{
  return x >= (PetscReal)PETSC_INT32_MAX ? PETSC_INT32_MAX : (PetscInt)PetscCeilReal(x);
}

/* Rows that lie all over x; odd steps, since on a grid whose size is a power of two others lie on its boundary. */
static DCSRIndices GetSampleRows(DCSRView x)
{
  DCSRIndices rows = {PetscMin(x.num_rows, SAMPLE_ROWS), NULL, 0, 1, PETSC_TRUE};

  rows.step = (x.num_rows / rows.n - 1) | 1;
  return rows;
}

/* Rows of the blocks of X, joined when there are two; their owner is the caller. Zero after an error. */
static PetscErrorCode GatherRows(const DCSRView X[], const DCSRIndices *rows, PetscBool values, cudaStream_t stream, DCSRView *gathered)
{
  DCSRView       parts[2], blocks[2] = {X[0], X[1]};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(parts, 2));
  PetscCall(PetscArrayzero(gathered, 1));
  for (int k = 0; k < 2; k++) {
    if (!values) blocks[k].values = NULL;
    if (k == 0 || X[1].num_columns > 0) PetscCallGoto(ierr, cleanup, DCSRSubmatrixMapped(blocks[k], rows, NULL, PETSC_TRUE, X[k].num_columns, stream, &parts[k]));
  }
  PetscCallGoto(ierr, cleanup, JoinBlocks(parts[0], parts[1], values, stream, gathered));
  if (gathered->row_offsets == parts[0].row_offsets) PetscCall(PetscArrayzero(parts, 1)); // there is one block
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(DCSRViewFree(&parts[k], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of X Y, from a sample of its rows; [2] blocks of X. */
static PetscErrorCode EstimateEntries(const DCSRView X[], DCSRView Y, cudaStream_t stream, PetscReal *entries)
{
  const DCSRIndices rows = GetSampleRows(X[0]);
  DCSRView          sample, product;
  DCSRSpGEMM        plan = NULL;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&product, 1));
  PetscCall(GatherRows(X, &rows, PETSC_FALSE, stream, &sample));
  ierr = DCSRSpGEMMSymbolic(sample, Y, PETSC_FALSE, stream, &product, &plan);
  if (ierr == PETSC_SUCCESS) *entries = (PetscReal)product.num_nonzeros / (PetscReal)rows.n * (PetscReal)X->num_rows;
  PetscCall(DCSRViewFree(&sample, stream));
  PetscCall(DCSRViewFree(&product, stream));
  if (plan != NULL) PetscCall(DCSRSpGEMMDestroy(&plan, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many slices as memory asks for; 1 when the intermediate product is small beside what is available. */
static PetscErrorCode ChooseForMemory(Mat C, const DCSRView X[], DCSRView Y, cudaStream_t stream, PetscInt *n)
{
  const PetscReal num_factors  = (PetscReal)(X[0].num_nonzeros + X[1].num_nonzeros);
  const PetscReal num_products = num_factors * (PetscReal)Y.num_nonzeros / (PetscReal)PetscMax(Y.num_rows, 1);
  PetscReal       entries      = 0, bytes;
  size_t          available;

  PetscFunctionBegin;
  *n = 1;
  if (num_products * BYTES_PER_ENTRY <= SMALL_BYTES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  if (num_products * BYTES_PER_ENTRY <= UNSLICED_PART / 4 * (PetscReal)available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(EstimateEntries(X, Y, stream, &entries));
  bytes = entries * BYTES_PER_ENTRY;
  PetscCall(PetscInfo(C, "The intermediate product would take %.1f MB, %.1f MB are available\n", (double)bytes * 1e-6, (double)available * 1e-6));
  if (bytes <= UNSLICED_PART * (PetscReal)available && entries < (PetscReal)PETSC_INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  bytes += num_factors * (sizeof(PetscScalar) + sizeof(int32_t));
  *n = PetscMax(CeilPositive(OVERLAP * bytes / (SLICE_PART * (PetscReal)available)), CeilPositive(2 * entries / (PetscReal)PETSC_INT_MAX));
  *n = PetscMax(*n, 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSlicesChoose - In how many slices C = L (X Y) is computed; 1: the product is not sliced. C is for -info.

  asked: so many; 0: as many as memory asks for, 1 if the intermediate product fits. factors are as for ProductSlicesSymbolic(). Synchronizes the stream when the intermediate product is large.
*/
PetscErrorCode ProductSlicesChoose(Mat C, PetscInt asked, const DCSRView factors[], cudaStream_t stream, PetscInt *n)
{
  PetscFunctionBegin;
  *n = asked;
  if (asked == 0) PetscCall(ChooseForMemory(C, &factors[1], factors[3], stream, n));
  *n = PetscMax(PetscMin(*n, factors[0].num_rows), 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds what a multiplication did to what the product tells, and frees its plan. */
static PetscErrorCode FinishPlan(ProductSlices *s, DCSRSpGEMM *plan, cudaStream_t stream)
{
  DCSRSpGEMMInfo info;

  PetscFunctionBegin;
  PetscCall(DCSRSpGEMMGetInfo(*plan, &info));
  s->num_products += info.num_products;
  s->workspace = PetscMax(s->workspace, info.workspace);
  PetscCall(DCSRSpGEMMDestroy(plan, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slice (X Y); values NULL in all factors when they are not wanted. */
static PetscErrorCode MultiplySlice(Mat C, const DCSRSlice *slice, const DCSRView factors[], PetscBool values, cudaStream_t stream, ProductSlices *s, DCSRView *chunk)
{
  const DCSRIndices rows = {slice->view.num_columns, slice->columns, 0, 1, PETSC_TRUE};
  DCSRView          gathered, work;
  DCSRSpGEMM        plan = NULL;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&work, 1));
  PetscCall(GatherRows(&factors[1], &rows, values, stream, &gathered));
  gathered.row_block    = factors[1].row_block;
  gathered.column_block = factors[1].column_block;
  PetscCallGoto(ierr, cleanup, ProductSymbolic(C, "Intermediate product of a slice", gathered, factors[3], values, stream, &work, &plan));
  PetscCallGoto(ierr, cleanup, FinishPlan(s, &plan, stream));
  PetscCallGoto(ierr, cleanup, DCSRViewFree(&gathered, stream));
  s->max_entries = PetscMax(s->max_entries, work.num_nonzeros);
  PetscCallGoto(ierr, cleanup, ProductSymbolic(C, "Product of a slice", slice->view, work, values, stream, chunk, &plan));
  PetscCallGoto(ierr, cleanup, FinishPlan(s, &plan, stream));
cleanup:
  PetscCall(DCSRViewFree(&gathered, stream));
  PetscCall(DCSRViewFree(&work, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of C of slice k, which has some; *chunk owns its arrays and is zero after an error. */
static PetscErrorCode ComputeChunk(Mat C, const Slicing *g, PetscInt k, const DCSRView factors[], PetscBool values, cudaStream_t stream, ProductSlices *s, DCSRView *chunk)
{
  DCSRSlice      slice;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(chunk, 1));
  PetscCall(DCSRSliceCreate(factors[0], &g->rows[k], &g->entries[k], (int32_t)(k + 1), &g->marks, stream, &slice));
  s->num_rows += slice.view.num_columns;
  ierr = MultiplySlice(C, &slice, factors, values, stream, s, chunk);
  PetscCall(DCSRSliceDestroy(&slice, stream));
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRViewFree(chunk, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeChunks(PetscInt n, DCSRView chunks[], cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) PetscCall(DCSRViewFree(&chunks[k], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSlicesConcatenate - Puts n chunks together, chunk k has the rows from rows[k] on; their columns and values are each freed as soon as they are copied. After an error the caller frees what is
  left of them.

  The result owns its arrays, values NULL without the flag; zero after an error. PETSC_ERR_ARG_OUTOFRANGE: more nonzeros than PetscInt can count.
*/
PetscErrorCode ProductSlicesConcatenate(PetscInt n, const PetscInt rows[], DCSRView chunks[], PetscInt num_columns, PetscBool values, cudaStream_t stream, DCSRView *result)
{
  PetscCount     num = 0, first = 0;
  PetscBool      wide;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) num += chunks[k].num_nonzeros;
  PetscCall(DCSRCheckNonzeros(num));
  PetscCall(DCSRNeedsWide(num, &wide));
  PetscCall(DCSRViewAllocateStructure(rows[n], num_columns, num, wide, stream, result));
  if (rows[n] == 0) PetscCallCUDAGoto(ierr, failed, cudaMemsetAsync(result->row_offsets, 0, wide ? sizeof(int64_t) : sizeof(int32_t), stream));
  for (PetscInt k = 0; k < n; first += chunks[k++].num_nonzeros) {
    if (rows[k] == rows[k + 1]) continue;
    PetscCallGoto(ierr, failed, DCSRCopyRows(chunks[k], rows[k], first, DCSR_WRITE_STRUCTURE, stream, *result));
    PetscCallGoto(ierr, failed, PetscSparseCUDAFree(&chunks[k].columns, stream));
  }
  if (!values) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, DCSRViewAllocateValues(result, stream));
  first = 0;
  for (PetscInt k = 0; k < n; first += chunks[k++].num_nonzeros) {
    PetscCallGoto(ierr, failed, DCSRCopyRows(chunks[k], rows[k], first, DCSR_WRITE_VALUES, stream, *result));
    PetscCallGoto(ierr, failed, PetscSparseCUDAFree(&chunks[k].values, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(result, stream));
  PetscFunctionReturn(ierr);
}

/* What is told of slices, when they have all been computed. */
static PetscErrorCode FinishSlices(Mat C, const Slicing *g, DCSRView L, cudaStream_t stream, ProductSlices *s)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(DCSRSliceMarksCount(L.num_columns, &g->marks, stream, &n));
  s->num_again = s->num_rows - n;
  PetscCall(PetscInfo(C, "%" PetscInt_FMT " slices: %" PetscCount_FMT " rows of the intermediate product, and %" PetscCount_FMT " of them once more; %" PetscCount_FMT " entries of it at a time\n",
                      g->n, (PetscCount)n, s->num_again, s->max_entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSlicesSymbolic - C = L (X Y) in as many slices as s says, of which the rest is set; C is for -info.

  factors are [4] views of L, of the two blocks of X side by side, and of Y; the second block is zero where X has one. With values these are computed, too; without, the result gets none. The result
  owns its arrays; zero after an error, when nothing stays allocated.
  PETSC_ERR_ARG_OUTOFRANGE: more nonzeros than PetscInt can count. Synchronizes the stream for each slice.
  Costs, beside the multiplications, a copy of the rows of X for each slice that needs them, a pass over the columns of L for each slice, and one copy of C, which is there twice for its time.
*/
PetscErrorCode ProductSlicesSymbolic(Mat C, const DCSRView factors[], PetscBool values, cudaStream_t stream, ProductSlices *s, DCSRView *result)
{
  const PetscInt n = s->num_slices;
  DCSRView      *chunks;
  Slicing        g;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, 1));
  PetscCall(PetscArrayzero(result, 1));
  s->num_slices = n;
  PetscCall(SlicingCreate(factors[0], n, stream, &g));
  PetscCallGoto(ierr, cleanup, PetscCalloc1(n, &chunks));
  for (PetscInt k = 0; k < n; k++) // empty slices come from rows that are longer than a slice
    if (g.rows[k] < g.rows[k + 1]) PetscCallGoto(ierr, finish, ComputeChunk(C, &g, k, factors, values, stream, s, &chunks[k]));
  PetscCallGoto(ierr, finish, FinishSlices(C, &g, factors[0], stream, s));
  PetscCallGoto(ierr, finish, ProductSlicesConcatenate(n, g.rows, chunks, factors[3].num_columns, values, stream, result));
finish:
  PetscCall(FreeChunks(n, chunks, stream));
  PetscCall(PetscFree(chunks));
cleanup:
  PetscCall(SlicingDestroy(&g, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of a chunk into an array for all of C. */
static PetscErrorCode CopyValues(DCSRView chunk, PetscCount first, cudaStream_t stream, DCSRView fresh)
{
  PetscFunctionBegin;
  PetscCheck(first + chunk.num_nonzeros <= fresh.num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The slices of a product have more nonzeros than the product, which has %" PetscCount_FMT,
             fresh.num_nonzeros);
  PetscCall(DCSRCopyRows(chunk, 0, first, DCSR_WRITE_VALUES, stream, fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductSlicesNumeric - Writes the values of C into result again, with the patterns and s of ProductSlicesSymbolic(); C is for -info, factors are as there.

  Synchronizes the stream for each slice. After PETSC_ERR_MEM the result is as it was then. Costs what the symbolic phase does, with the values alone of C there twice.
*/
PetscErrorCode ProductSlicesNumeric(Mat C, const DCSRView factors[], cudaStream_t stream, const ProductSlices *s, DCSRView result)
{
  ProductSlices  again = {s->num_slices, 0, 0, 0, 0, 0};
  PetscCount     first = 0;
  DCSRView       chunk, fresh = result;
  Slicing        g;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&chunk, 1));
  PetscCall(SlicingCreate(factors[0], s->num_slices, stream, &g));
  PetscCallGoto(ierr, cleanup, DCSRViewAllocateValues(&fresh, stream));
  for (PetscInt k = 0; k < g.n; k++) {
    if (g.rows[k] == g.rows[k + 1]) continue;
    PetscCallGoto(ierr, cleanup, ComputeChunk(C, &g, k, factors, PETSC_TRUE, stream, &again, &chunk));
    PetscCallGoto(ierr, cleanup, CopyValues(chunk, first, stream, fresh));
    first += chunk.num_nonzeros;
    PetscCallGoto(ierr, cleanup, DCSRViewFree(&chunk, stream));
  }
  if (first > 0) PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(result.values, fresh.values, (size_t)first * sizeof(*result.values), cudaMemcpyDeviceToDevice, stream));
cleanup:
  if (fresh.values != result.values) PetscCall(PetscSparseCUDAFree(&fresh.values, stream));
  PetscCall(DCSRViewFree(&chunk, stream));
  PetscCall(SlicingDestroy(&g, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductSlicesView - One line about the slices of a product, if it has any; collective on the viewer */
PetscErrorCode ProductSlicesView(PetscViewer viewer, const ProductSlices *s)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii || s->num_slices <= 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "dcsrcuda: product in %" PetscInt_FMT " slices: %" PetscCount_FMT " products, %.1f MB workspace, %" PetscCount_FMT
                                   " rows of the intermediate product, %" PetscCount_FMT " of them repeated, %" PetscCount_FMT " entries at a time\n",
                                   s->num_slices, s->num_products, (double)s->workspace * 1e-6, s->num_rows, s->num_again, s->max_entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists of blocks in place of P, A and R = P^T, as long as these consist of full ones of the sizes that they say; entries of a block of the product, 1: the matrices stay. */
static PetscErrorCode UseLists(DCSRView *views[], cudaStream_t stream, DCSRBlockList lists[], PetscInt *num_entries)
{
  PetscBool full = PETSC_TRUE;

  PetscFunctionBegin;
  for (int k = 0; k < 3 && full; k++) {
    PetscCall(DCSRBlockListGet(*views[k], views[k]->row_block, views[k]->column_block, stream, &lists[k]));
    full = (PetscBool)(lists[k] != NULL);
  }
  full         = (PetscBool)(full && lists[1]->rows == lists[0]->rows && lists[1]->columns == lists[0]->rows);
  *num_entries = full ? lists[0]->columns * lists[0]->columns : 1;
  for (int k = 0; k < 3 && full; k++) *views[k] = lists[k]->view;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAEstimatePtAP - How many entries P^T A P will have, of two matrices on the device: an estimate from a sample of 2048 rows, or rows of full blocks; exact when there are not more.

  Costs the part of the symbolic product that these rows are, the lists of blocks of P, A and P^T unless these have them, and the transpose of P unless P keeps it (MAT_FORM_EXPLICIT_TRANSPOSE).
*/
PetscErrorCode MatSeqAIJCUDAEstimatePtAP(Mat A, Mat P, PetscReal *entries)
{
  ProductTranspose R;
  ProductSlices    slices;
  DCSRIndices      rows;
  DCSRBlockList    lists[3];
  DCSRView         factors[4], left, result, *views[3] = {&factors[3], &factors[1], &left};
  PetscInt         num_entries = 1;
  cudaStream_t     stream;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  *entries = 0;
  PetscCall(PetscArrayzero(&R, 1));
  PetscCall(PetscArrayzero(&slices, 1));
  PetscCall(PetscArrayzero(factors, 4));
  PetscCall(PetscArrayzero(lists, 3));
  PetscCall(PetscArrayzero(&result, 1));
  slices.num_slices = 1;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDAGetCompact(A, &factors[1]));
  PetscCall(MatSeqAIJCUDAGetCompact(P, &factors[3]));
  PetscCall(MatOperandNoteBlockSizes(A, &factors[1]));
  PetscCall(MatOperandNoteBlockSizes(P, &factors[3]));
  if (factors[1].num_nonzeros == 0 || factors[3].num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProductTransposeGet(P, factors[3], PETSC_FALSE, stream, &R));
  left        = R.view;
  left.values = NULL;
  PetscCallGoto(ierr, cleanup, UseLists(views, stream, lists, &num_entries));
  rows = GetSampleRows(left);
  PetscCallGoto(ierr, cleanup, DCSRSubmatrixMapped(left, &rows, NULL, PETSC_TRUE, left.num_columns, stream, &factors[0]));
  PetscCallGoto(ierr, cleanup, ProductSlicesSymbolic(A, factors, PETSC_FALSE, stream, &slices, &result));
  *entries = (PetscReal)result.num_nonzeros * (PetscReal)num_entries / (PetscReal)rows.n * (PetscReal)left.num_rows;
cleanup:
  PetscCall(DCSRViewFree(&factors[0], stream));
  PetscCall(DCSRViewFree(&result, stream));
  for (int k = 0; k < 3; k++) PetscCall(DCSRBlockListDestroy(&lists[k], stream));
  PetscCall(ProductTransposeDestroy(&R, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
