#include "oracle.h"

/* Products of sparse matrices. Patterns are the same, those of entries that happen to be zero included. */

typedef enum {
  AB,
  ATB,
  PTAP,
  RART,
  AAB,
  RAP,
  ABT, /* not in parallel: MATMPIAIJ's cannot be computed again */
  NUM_PRODUCTS
} Product;

/* The other factors. */
typedef struct {
  Mat X, left; /* left: NULL unless RAP */
} Factors;

static PetscErrorCode Multiply(Product which, Mat A, Factors f, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  switch (which) {
  case AB:
    PetscCall(MatMatMult(A, f.X, reuse, PETSC_DETERMINE, C));
    break;
  case ATB:
    PetscCall(MatTransposeMatMult(A, f.X, reuse, PETSC_DETERMINE, C));
    break;
  case PTAP:
    PetscCall(MatPtAP(A, f.X, reuse, PETSC_DETERMINE, C));
    break;
  case RART:
    PetscCall(MatRARt(A, f.X, reuse, PETSC_DETERMINE, C));
    break;
  case AAB:
    PetscCall(MatMatMatMult(A, A, f.X, reuse, PETSC_DETERMINE, C));
    break;
  case RAP:
    PetscCall(MatMatMatMult(f.left, A, f.X, reuse, PETSC_DETERMINE, C));
    break;
  default:
    PetscCall(MatMatTransposeMult(A, f.X, reuse, PETSC_DETERMINE, C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other entries join a factor, or rows leave it. */
static PetscErrorCode ChangePattern(Oracle o, const Mat both[2])
{
  const PetscInt  row = OracleShared(o, 1 << 20), column = OracleShared(o, 1 << 20);
  const PetscBool leave = OracleFlip(o, 3);

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscInt M, N, begin, end, n = 0, rows[5];

    PetscCall(MatGetSize(both[k], &M, &N));
    PetscCall(MatGetOwnershipRange(both[k], &begin, &end));
    PetscCall(MatSetOption(both[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(both[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt e = 0; e < 5 && M > 0 && N > 0; e++) {
      const PetscInt i = (row + 7 * e) % M, j = (column + 3 * e) % N;

      if (i < begin || i >= end) continue;
      rows[n++] = i;
      if (!leave) PetscCall(MatSetValue(both[k], i, j, 0.5, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(both[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(both[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(both[k], MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
    if (leave) PetscCall(MatZeroRows(both[k], n, rows, 0, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a change of a factor's pattern the products are computed again, MATAIJ's as a new one, since it does not notice; then once more with other values. */
static PetscErrorCode ReuseWithOtherPattern(Oracle o, Product which, Factors f, Factors g, Mat *C, Mat *D, PetscReal scale)
{
  const PetscBool own     = OracleFlip(o, 2);
  const Mat       both[2] = {own ? o->A : f.X, own ? o->B : g.X};
  PetscBool       notices = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ChangePattern(o, both));
  PetscCall(OracleOnDevice(o, &notices)); /* there it notices by itself, unlike MATAIJ's code */
  if (!notices) PetscCall(MatDestroy(D));
  PetscCall(MatDestroy(C));
  OracleBoth(Multiply(which, o->A, f, MAT_INITIAL_MATRIX, C), Multiply(which, o->B, g, notices ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, D));
  PetscCall(OracleCompareMult(o, *C, *D, scale));
  PetscCall(OracleCompareMat(o, *C, *D, PETSC_TRUE, scale));
  OracleBoth(MatScale(f.X, 0.5), MatScale(g.X, 0.5));
  OracleBoth(Multiply(which, o->A, f, MAT_REUSE_MATRIX, C), Multiply(which, o->B, g, MAT_REUSE_MATRIX, D));
  PetscCall(OracleCompareAndDestroy(o, C, D, PETSC_TRUE, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random sparse ones, of some rows or columns. */
static PetscErrorCode CreateFactors(Oracle o, Product which, Factors *f, Factors *g)
{
  const PetscInt width = 1 + OracleShared(o, 40);
  PetscLayout    rmap, cmap, other;

  PetscFunctionBegin;
  PetscCall(MatGetLayouts(o->A, &rmap, &cmap));
  PetscCall(PetscLayoutCreateFromSizes(o->comm, PETSC_DECIDE, width, 1, &other));
  if (which == ATB) PetscCall(OracleCreatePair(o, rmap, other, 3, &f->X, &g->X));
  else if (which == ABT || which == RART) PetscCall(OracleCreatePair(o, other, cmap, 3, &f->X, &g->X));
  else PetscCall(OracleCreatePair(o, cmap, other, 3, &f->X, &g->X));
  f->left = g->left = NULL;
  if (which == RAP) PetscCall(OracleCreatePair(o, other, rmap, 3, &f->left, &g->left));
  PetscCall(PetscLayoutDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyFactors(Factors *f)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&f->X));
  PetscCall(MatDestroy(&f->left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with random sparse matrices, then again with other values, and with other patterns. */
static PetscErrorCode MatMat(Oracle o)
{
  const Product which = (Product)OracleShared(o, (PetscInt)(o->size == 1 ? NUM_PRODUCTS : ABT));
  PetscReal     scale, norm, left = 0;
  PetscInt      cbs;
  Factors       f, g;
  Mat           C, D;

  PetscFunctionBegin;
  if (o->large || ((which == PTAP || which == RART || which == AAB) && !o->square)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSizes(o->A, NULL, &cbs));
  if (which == ABT && cbs > 1) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc 3.26 gives the columns of A B^T the block size of B's columns, not of its rows */
  PetscCall(CreateFactors(o, which, &f, &g));
  PetscCall(MatNorm(f.X, NORM_FROBENIUS, &norm));
  if (f.left != NULL) PetscCall(MatNorm(f.left, NORM_FROBENIUS, &left));
  scale = 10 * (o->norm + 1) * (norm + 1) * (which == AAB ? o->norm + 1 : norm + left + 1);
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, g.X));
  OracleBoth(Multiply(which, o->A, f, MAT_INITIAL_MATRIX, &C), Multiply(which, o->B, g, MAT_INITIAL_MATRIX, &D));
  PetscCall(OracleCompareMult(o, C, D, scale));
  PetscCall(OracleCompareMat(o, C, D, PETSC_TRUE, scale));
  OracleBoth(MatScale(o->A, -1), MatScale(o->B, -1));
  OracleBoth(MatScale(f.X, 2), MatScale(g.X, 2));
  if (f.left != NULL && OracleFlip(o, 2)) OracleBoth(MatScale(f.left, -1), MatScale(g.left, -1));
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, o->B));
  OracleBoth(Multiply(which, o->A, f, MAT_REUSE_MATRIX, &C), Multiply(which, o->B, g, MAT_REUSE_MATRIX, &D));
  PetscCall(OracleCompareMat(o, C, D, PETSC_TRUE, scale));
  PetscCall(ReuseWithOtherPattern(o, which, f, g, &C, &D, scale));
  OracleBoth(DestroyFactors(&f), DestroyFactors(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleProductOperations[] = {{"MatMatMult, TransposeMatMult, PtAP, ABt, RARt, MatMatMatMult", 6, MatMat, PETSC_FALSE, 0}, {NULL, 0, NULL, PETSC_FALSE, 0}};
