/*
  Products whose left factor is a parallel matrix, its two blocks side by side. Kernels read one matrix: rows of both blocks are joined for the time of a multiplication. A copy of all would be as
  large as the matrix, and most of the memory of a product. So rows are cut into slices, of which one is joined at a time. Many consecutive rows without an entry in the right block are a slice that
  is multiplied as it is.

  Rows of products do not depend on other rows: results have the same bits however the rows are cut.
*/
#include "product.h"
#include "productimpl.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/slices.h>

#define NUM_PARTS    64          /* parts with equal numbers of entries, of which slices are made */
#define LEAST_PARTS  8           /* so many consecutive parts without entries in the right block are a slice that is not copied */
#define MAX_COPIES   16          /* a copy may have this part of all entries, since each slice costs several synchronizations and a search for its blocks, */
#define SMALL_BYTES  268435456.0 /* or so many bytes, */
#define ENTRY_BYTES  ((PetscReal)(sizeof(PetscScalar) + sizeof(int32_t)))
#define MEMORY_PARTS 64 /* or this part of the memory available: six slices of 3 million unknowns of elasticity took two processes that share a GPU 6 of 92 ms, twice */

size_t ProductJoinedBytes = 0;

/* Some rows of the product. */
struct _ProductJoinedSlice {
  PetscInt   rows[2];    /* the first one, and the one behind the last */
  PetscBool  copied;     /* the rows are joined; otherwise the right block has no entries in them */
  PetscCount entries[2]; /* of the left and of the right block */
  PetscCount first;      /* number of the first entry in the product; 0 where the slice is all rows */
  DCSRView   chunk;      /* these rows of the product: row offsets from 0, owned, and sizes; columns and values NULL: they are the product's. Zero where the slice is all rows */
  DCSRSpGEMM plan;       /* owned; NULL before the structure is known */
};

/* The rows of a slice in a block, whose list is that of all. Row offsets do not begin at 0. */
static DCSRView GetRows(DCSRView block, const ProductJoinedSlice *s, int which)
{
  block.list         = NULL;
  block.num_rows     = s->rows[1] - s->rows[0];
  block.num_nonzeros = block.used = s->entries[which];
  block.row_offsets               = (char *)block.row_offsets + (size_t)s->rows[0] * (block.wide ? sizeof(int64_t) : sizeof(int32_t));
  return block;
}

/* The rows of a slice in both blocks; to be freed with FreeSlice(), zero after an error. */
static PetscErrorCode JoinSlice(const DCSRView blocks[], const ProductJoinedSlice *s, PetscBool values, cudaStream_t stream, DCSRView *left)
{
  PetscFunctionBegin;
  *left = GetRows(blocks[0], s, 0);
  if (s->copied) PetscCall(JoinBlocks(*left, GetRows(blocks[1], s, 1), values, stream, left));
  else left->num_columns += blocks[1].num_columns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeSlice(const ProductJoinedSlice *s, DCSRView *left, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->copied) PetscCall(DCSRViewFree(left, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many consecutive parts from the first on have no entries in the right block. */
static PetscInt CountWithout(PetscInt n, PetscInt first, const PetscCount right[])
{
  PetscInt k = first;

  while (k < n && right[k + 1] == right[first]) k++;
  return k - first;
}

/* Slices from the bounds of n parts, [n + 1] each: rows, entries of the left and of the right block. most: entries of a copy, unless a part has more. */
static void MergeParts(PetscInt n, const PetscInt rows[], const PetscCount left[], const PetscCount right[], PetscCount most, ProductJoined *p)
{
  for (PetscInt k = 0, num; k < n; k += num) {
    const PetscInt      without = CountWithout(n, k, right);
    const PetscBool     copied  = (PetscBool)(without < LEAST_PARTS);
    ProductJoinedSlice *s       = p->n > 0 ? &p->slices[p->n - 1] : NULL;

    num = copied ? 1 : without;
    if (s == NULL || !copied || !s->copied || s->entries[0] + s->entries[1] + left[k + 1] - left[k] + right[k + 1] - right[k] > most) {
      s          = &p->slices[p->n++];
      s->rows[0] = rows[k];
      s->copied  = copied;
    }
    s->rows[1] = rows[k + num];
    s->entries[0] += left[k + num] - left[k];
    s->entries[1] += right[k + num] - right[k];
  }
}

/* The rows are cut, when a copy of all of them has more bytes than small. */
static PetscErrorCode CutRows(const DCSRView blocks[], PetscReal small, cudaStream_t stream, ProductJoined *p)
{
  PetscInt   rows[NUM_PARTS + 1];
  PetscCount left[NUM_PARTS + 1], right[NUM_PARTS + 1];
  PetscReal  bytes;
  size_t     available = 0;

  PetscFunctionBegin;
  if (ProductJoinedBytes == 0) PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  bytes = PetscMax(small, (PetscReal)available / MEMORY_PARTS);
  PetscCall(PetscCalloc1(NUM_PARTS, &p->slices));
  PetscCall(DCSRGetSliceBounds(blocks[0], &blocks[1], NUM_PARTS, rows, left, right, stream));
  MergeParts(NUM_PARTS, rows, left, right, PetscMax((PetscCount)(bytes / ENTRY_BYTES), (left[NUM_PARTS] + right[NUM_PARTS]) / MAX_COPIES), p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slices of a product. Where no row is joined, or a copy of all is small, there is one. */
static PetscErrorCode CreateSlices(const DCSRView blocks[], cudaStream_t stream, ProductJoined *p)
{
  const PetscReal small = ProductJoinedBytes > 0 ? (PetscReal)ProductJoinedBytes : SMALL_BYTES;

  PetscFunctionBegin;
  if (blocks[1].num_nonzeros > 0 && (PetscReal)(blocks[0].num_nonzeros + blocks[1].num_nonzeros) * ENTRY_BYTES > small) PetscCall(CutRows(blocks, small, stream, p));
  else {
    PetscCall(PetscCalloc1(1, &p->slices));
    p->n               = 1;
    p->slices->rows[1] = blocks[0].num_rows;
    p->slices->copied  = (PetscBool)(blocks[1].num_nonzeros > 0);
    for (int k = 0; k < 2; k++) p->slices->entries[k] = blocks[k].num_nonzeros;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A slice of the product: its structure, or a list of blocks in its place, and with the flag values. */
static PetscErrorCode SymbolicSlice(Mat C, const char what[], const DCSRView blocks[], DCSRView right, PetscBool structure, PetscBool values, cudaStream_t stream, ProductJoinedSlice *s,
                                    DCSRView *result)
{
  DCSRView       left;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(JoinSlice(blocks, s, values, stream, &left));
  ierr = ProductSymbolicOfList(C, what, left, right, structure, values, stream, result, &s->plan);
  PetscCall(FreeSlice(s, &left, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of the product from those of its slices, whose columns are freed. */
static PetscErrorCode Concatenate(const ProductJoined *p, PetscInt num_columns, DCSRView chunks[], cudaStream_t stream, DCSRView *result)
{
  PetscInt      *rows;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->n + 1, &rows));
  for (PetscInt k = 0; k < p->n; k++) rows[k] = p->slices[k].rows[0];
  rows[p->n] = p->slices[p->n - 1].rows[1];
  ierr       = ProductSlicesConcatenate(p->n, rows, chunks, num_columns, PETSC_FALSE, stream, result);
  PetscCall(PetscFree(rows));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structures of all slices, put together. After an error the caller frees what is there. */
static PetscErrorCode SymbolicSlices(Mat C, const char what[], const DCSRView blocks[], DCSRView right, cudaStream_t stream, ProductJoined *p, DCSRView *result)
{
  PetscCount     first = 0;
  DCSRView      *chunks;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(p->n, &chunks));
  for (PetscInt k = 0; k < p->n; k++) {
    PetscCallGoto(ierr, cleanup, SymbolicSlice(C, what, blocks, right, PETSC_TRUE, PETSC_FALSE, stream, &p->slices[k], &chunks[k]));
    p->slices[k].first = first;
    first += chunks[k].num_nonzeros;
  }
  PetscCallGoto(ierr, cleanup, Concatenate(p, right.num_columns, chunks, stream, result));
  result->row_block    = blocks[0].row_block;
  result->column_block = right.column_block;
cleanup:
  for (PetscInt k = 0; k < p->n; k++) {
    PetscCall(PetscSparseCUDAFree(&chunks[k].columns, stream));
    p->slices[k].chunk = chunks[k];
  }
  PetscCall(PetscFree(chunks));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProductJoinedSymbolic - ProductSymbolicOfList() whose left factor are blocks [2] side by side; the second one may have no columns.

  With several slices the result has its structure. p is zero before, and to be freed with ProductJoinedDestroy() afterwards, also after an error.
*/
PetscErrorCode ProductJoinedSymbolic(Mat C, const char what[], const DCSRView blocks[], DCSRView right, PetscBool structure, PetscBool values, cudaStream_t stream, DCSRView *result, ProductJoined *p)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(result, 1));
  PetscCall(CreateSlices(blocks, stream, p));
  if (p->n == 1) PetscCall(SymbolicSlice(C, what, blocks, right, structure, values, stream, p->slices, result));
  else {
    PetscCall(SymbolicSlices(C, what, blocks, right, stream, p, result));
    if (!values) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCallGoto(ierr, failed, DCSRViewAllocateValues(result, stream));
    PetscCallGoto(ierr, failed, ProductJoinedNumeric(p, blocks, right, *result, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(result, stream));
  PetscFunctionReturn(ierr);
}

/* ProductJoinedNumeric - Values of a product again, into result with its structure. */
PetscErrorCode ProductJoinedNumeric(const ProductJoined *p, const DCSRView blocks[], DCSRView right, DCSRView result, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) {
    const ProductJoinedSlice *s     = &p->slices[k];
    DCSRView                  chunk = p->n > 1 ? s->chunk : result, left;
    PetscErrorCode            ierr;

    if (p->n > 1 && chunk.num_nonzeros > 0) {
      chunk.columns = result.columns + s->first;
      chunk.values  = result.values + s->first;
    }
    PetscCall(JoinSlice(blocks, s, PETSC_TRUE, stream, &left));
    ierr = ProductNumeric(s->plan, left, right, chunk, stream);
    PetscCall(FreeSlice(s, &left, stream));
    PetscCall(ierr);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductJoinedView - ProductViewPlan() for each slice. */
PetscErrorCode ProductJoinedView(PetscViewer viewer, const char what[], const ProductJoined *p)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) PetscCall(ProductViewPlan(viewer, what, p->slices[k].plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductJoinedDestroy - Frees what a product keeps, also one that is not complete; zero afterwards. */
PetscErrorCode ProductJoinedDestroy(ProductJoined *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->n; k++) {
    PetscCall(DCSRViewFree(&p->slices[k].chunk, stream));
    if (p->slices[k].plan != NULL) PetscCall(DCSRSpGEMMDestroy(&p->slices[k].plan, stream));
  }
  PetscCall(PetscFree(p->slices));
  PetscCall(PetscArrayzero(p, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
