static char help[] = "Submatrices and permutations with rows and columns of other processes: MatCreateSubMatrix(), MatCreateSubMatrices(), MatPermute(); used again after changes.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

static PetscBool device = PETSC_FALSE; /* whether there is one */

/* Index sets over all processes: each gets a part of the numbers below N. */
typedef enum {
  SET_OWN,       /* consecutive numbers, as PETSc spreads them */
  SET_REVERSED,  /* the last ones come first */
  SET_CYCLIC,    /* dealt out like cards, as a general set */
  SET_STRIDE,    /* the same as strides */
  SET_LAST,      /* all on the last process */
  SET_FIRST_ODD, /* every other number, on the first process */
  SET_MIXED,     /* own ones in another order */
  SET_REPEATED,  /* own ones, all (rows) or some (columns) twice */
  SET_NONE,
  SET_NULL, /* columns only: no index set */
  NUM_SETS
} Set;

static const char *const set_names[] = {"own", "reversed", "cyclic", "stride", "last", "first odd", "mixed", "repeated", "none", "NULL"};

static PetscInt Index(Set which, PetscBool rows, PetscInt k, PetscInt n, PetscInt begin, PetscInt N, PetscMPIInt rank, PetscMPIInt size)
{
  switch (which) {
  case SET_REVERSED:
    return N - 1 - (begin + k);
  case SET_CYCLIC:
  case SET_STRIDE:
    return rank + k * size;
  case SET_FIRST_ODD:
    return 1 + 2 * k;
  case SET_LAST:
    return k;
  case SET_REPEATED:
    return rows ? begin + k / 2 : begin + k - (k % 3 == 1 ? 1 : 0);
  case SET_MIXED:
    return begin + (n - 1 - (k + 3) % n);
  default:
    return begin + k;
  }
}

static PetscErrorCode CreateSet(Set which, PetscBool rows, PetscInt N, PetscInt begin, PetscInt end, IS *is)
{
  PetscInt    n = end - begin, *indices;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  *is = NULL;
  if (which == SET_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (which == SET_CYCLIC || which == SET_STRIDE) n = N > rank ? (N - rank + size - 1) / size : 0;
  if (which == SET_LAST) n = rank == size - 1 ? N : 0;
  if (which == SET_FIRST_ODD) n = rank == 0 ? N / 2 : 0;
  if (which == SET_REPEATED && rows) n *= 2;
  if (which == SET_NONE) n = 0;
  if (which == SET_STRIDE) {
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, n, rank, size, is));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(n, &indices));
  for (PetscInt k = 0; k < n; k++) indices[k] = Index(which, rows, k, n, begin, N, rank, size);
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, n, indices, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSorted(Mat A, Mat B, PetscInt row, const char what[])
{
  PetscInt           na, nb, *ca, *cb;
  const PetscInt    *c;
  const PetscScalar *v;
  PetscScalar       *va, *vb;

  PetscFunctionBegin;
  PetscCall(MatGetRow(A, row, &na, &c, &v));
  PetscCall(PetscMalloc2(na, &ca, na, &va));
  PetscCall(PetscArraycpy(ca, c, na));
  PetscCall(PetscArraycpy(va, v, na));
  PetscCall(MatRestoreRow(A, row, &na, &c, &v));
  PetscCall(MatGetRow(B, row, &nb, &c, &v));
  PetscCall(PetscMalloc2(nb, &cb, nb, &vb));
  PetscCall(PetscArraycpy(cb, c, nb));
  PetscCall(PetscArraycpy(vb, v, nb));
  PetscCall(MatRestoreRow(B, row, &nb, &c, &v));
  PetscCheck(na == nb, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has %" PetscInt_FMT " entries and should have %" PetscInt_FMT, what, row, nb, na);
  PetscCall(PetscSortIntWithScalarArray(na, ca, va));
  PetscCall(PetscSortIntWithScalarArray(nb, cb, vb));
  for (PetscInt k = 0; k < na; k++)
    PetscCheck(ca[k] == cb[k] && PetscAbsScalar(va[k] - vb[k]) <= 1e3 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(va[k])), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: entry %" PetscInt_FMT ", %" PetscInt_FMT " is %g where %" PetscInt_FMT ", %g should be", what, row, cb[k], (double)PetscRealPart(vb[k]), ca[k], (double)PetscRealPart(va[k]));
  PetscCall(PetscFree2(ca, va));
  PetscCall(PetscFree2(cb, vb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry by entry, and products; MATMPIAIJ leaves rows unsorted when own columns are mixed up, and its ghost columns, too. */
static PetscErrorCode Compare(Mat A, Mat B, PetscBool sorted, PetscBool products, const char what[])
{
  PetscInt  begin, end, m[2], n[2];
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m[0], &n[0]));
  PetscCall(MatGetLocalSize(B, &m[1], &n[1]));
  PetscCheck(m[0] == m[1] && n[0] == n[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: local sizes are %" PetscInt_FMT " x %" PetscInt_FMT " and should be %" PetscInt_FMT " x %" PetscInt_FMT, what, m[1],
             n[1], m[0], n[0]);
  if (products) PetscCall(TestCompareProducts(A, B, what));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(CompareSorted(A, B, i, what));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (sorted && parallel) {
    const PetscInt *ga, *gb;
    Mat             oa, ob;

    PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &oa, &ga));
    PetscCall(MatMPIAIJGetSeqAIJ(B, NULL, &ob, &gb));
    for (PetscInt k = 0, l = 0; l < ob->cmap->n; k++, l++) {
      while (k < oa->cmap->n && ga[k] < gb[l]) k++; /* MATMPIAIJ keeps ghost columns without entries when all rows and columns are own ones */
      PetscCheck(k < oa->cmap->n && ga[k] == gb[l], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: ghost column %" PetscInt_FMT " is %" PetscInt_FMT ", which should not be one", what, l, gb[l]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleBoth(Mat A, Mat B, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, a));
  PetscCall(MatScale(B, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSets(Mat A, Set i, Set j, IS *rows, IS *columns)
{
  PetscInt M, N, begin, end, cbegin, cend;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &cbegin, &cend));
  PetscCall(CreateSet(i, PETSC_TRUE, M, begin, end, rows));
  PetscCall(CreateSet(j, PETSC_FALSE, N, cbegin, cend, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the device makes matrices, it has made this one. */
static PetscErrorCode CheckPosition(Mat C, const char what[])
{
  PetscInt n;
  Mat      blocks[2];

  PetscFunctionBegin;
  PetscCall(TestBlocks(C, &n, blocks));
  for (PetscInt k = 0; k < n && device; k++) PetscCheck(blocks[k]->offloadmask == PETSC_OFFLOAD_GPU, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the device did not make it", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATMPIAIJ takes a row twice only when all rows and columns are own ones. */
static PetscBool Taken(Set i, Set j)
{
  return (PetscBool)(i != SET_REPEATED || j == SET_OWN || j == SET_MIXED || j == SET_REPEATED || j == SET_NONE || j == SET_NULL);
}

/* One pair of index sets: new, and used again. */
static PetscErrorCode TestPair(Mat A, Mat B, const char type[], Set i, Set j, TestLayout layout)
{
  const PetscBool sorted = (PetscBool)(j != SET_MIXED && j != SET_REPEATED);
  char            what[128];
  IS              rows, columns;
  Mat             C, D;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "MatCreateSubMatrix, layout %d, rows %s, columns %s", (int)layout, set_names[i], set_names[j]));
  PetscCall(CreateSets(A, i, j, &rows, &columns));
  PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestHasType(D, type, what));
  PetscCall(CheckPosition(D, what));
  for (int pass = 0; pass < 2; pass++) {
    PetscCall(Compare(C, D, sorted, (PetscBool)(pass == 0), what));
    PetscCall(ScaleBoth(A, B, -0.5));
    PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_REUSE_MATRIX, &D));
    PetscCall(PetscStrlcat(what, ", again", sizeof(what)));
  }
  PetscCall(CheckPosition(D, what));
  PetscCall(Compare(C, D, sorted, PETSC_FALSE, what));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One process works on the host for a while: all do. */
static PetscErrorCode TestBinding(const char type[], Set i, Set j)
{
  PetscInt    n;
  PetscMPIInt rank;
  IS          rows, columns;
  Mat         A, B, C, D, blocks[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscLogSyncOn = PETSC_FALSE; /* -petsc_ci turns it on: a process that multiplies on the host calls VecSet(), and its event would wait for the others */
  PetscCall(TestCreatePair(type, 47, 47, TEST_EVEN, 5, 1, &A, &B));
  PetscCall(TestBlocks(B, &n, blocks));
  PetscCall(CreateSets(A, i, j, &rows, &columns));
  PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_INITIAL_MATRIX, &D));
  for (int pass = 0; pass < 2; pass++) {
    if (rank == 0) PetscCall(MatBindToCPU(blocks[0], (PetscBool)(pass == 0)));
    PetscCall(ScaleBoth(A, B, 3));
    PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_REUSE_MATRIX, &D));
    PetscCall(Compare(C, D, PETSC_FALSE, PETSC_TRUE, pass ? "after one process was on the host" : "one process on the host"));
  }
  PetscCall(MatDestroy(&D));
  if (rank == 0) PetscCall(MatBindToCPU(blocks[0], PETSC_TRUE));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestHasType(D, type, "one process on the host, new"));
  PetscCall(Compare(C, D, PETSC_FALSE, PETSC_TRUE, "one process on the host, new"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries in columns of one kind, everywhere. */
static PetscErrorCode AddEntries(Mat A, PetscInt remainder)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = remainder; k < N; k += 6) PetscCall(MatSetValue(A, i, k, 1.5 + (PetscReal)k, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern changes where the submatrix has no columns, and where it has some: MATAIJ notices neither. */
static PetscErrorCode TestPatterns(const char type[], Set which)
{
  PetscInt       n, begin;
  PetscErrorCode ierr;
  IS             rows, columns, all;
  Mat            A, B, C, D, *E, *F;

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestCreatePair(type, 48, 48, TEST_EVEN, 5, 1, &A, &B));
  PetscCall(MatGetOwnershipRangeColumn(A, &begin, NULL));
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(CreateSet(which, PETSC_TRUE, 48, begin, begin + n, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, 2, begin, 2, &columns)); /* even ones: 48 is a multiple of the number of processes, and begin is even */
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 24, 0, 2, &all));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatCreateSubMatrices(B, 1, &all, &all, MAT_INITIAL_MATRIX, &F));
  PetscCall(AddEntries(A, 1)); /* odd ones */
  PetscCall(AddEntries(B, 1));
  PetscCall(ScaleBoth(A, B, 3));
  PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrices(A, 1, &all, &all, MAT_INITIAL_MATRIX, &E));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_REUSE_MATRIX, &D));
  PetscCall(MatCreateSubMatrices(B, 1, &all, &all, MAT_REUSE_MATRIX, &F));
  PetscCall(Compare(C, D, PETSC_TRUE, PETSC_TRUE, "new entries in other columns"));
  PetscCall(TestCompare(E[0], F[0], "new entries in other columns, MatCreateSubMatrices"));
  PetscCall(AddEntries(B, 0));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatCreateSubMatrix(B, rows, columns, MAT_REUSE_MATRIX, &D);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_SIZ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "New entries in columns of the submatrix: error %d is not PETSC_ERR_ARG_SIZ", (int)ierr);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatCreateSubMatrices(B, 1, &all, &all, MAT_REUSE_MATRIX, &F);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_SIZ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "New entries in columns of submatrices: error %d is not PETSC_ERR_ARG_SIZ", (int)ierr);
  PetscCall(Compare(C, D, PETSC_TRUE, PETSC_TRUE, "after new entries were refused"));
  PetscCall(TestCompare(E[0], F[0], "after new entries were refused, MatCreateSubMatrices"));
  PetscCall(MatDestroySubMatrices(1, &E));
  PetscCall(MatDestroySubMatrices(1, &F));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new entry in a column that no process had as a ghost column of the submatrix, of own rows and columns or of others: it would have been lost without a word. */
static PetscErrorCode TestNewGhost(const char type[], PetscBool own)
{
  PetscInt       n, begin;
  PetscMPIInt    size;
  PetscErrorCode ierr;
  IS             set;
  Mat            A, C;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (!device || size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 48, 48));
  PetscCall(MatSetType(A, type));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  for (PetscInt i = begin; i < begin + n; i++) PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (own) PetscCall(ISCreateStride(PETSC_COMM_WORLD, n - 1, begin, 1, &set)); /* with all rows and columns PETSc returns the matrix itself */
  else PetscCall(ISCreateStride(PETSC_COMM_WORLD, n, 47 - begin, -1, &set));
  PetscCall(MatCreateSubMatrix(A, set, set, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, begin, (begin + n) % 48, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatCreateSubMatrix(A, set, set, MAT_REUSE_MATRIX, &C);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_SIZ, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A new ghost column: error %d is not PETSC_ERR_ARG_SIZ", (int)ierr);
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&A));
  PetscCall(ISDestroy(&set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A submatrix of own rows and columns takes the values of another matrix with the same pattern in it, and other ghost columns elsewhere. */
static PetscErrorCode TestOtherMatrix(const char type[])
{
  PetscInt n, begin;
  IS       rows, columns;
  Mat      A, B, C, D, E;

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestCreatePair(type, 48, 48, TEST_EVEN, 5, 1, &A, &B));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &E));
  PetscCall(AddEntries(A, 1)); /* columns outside of the submatrix, which come between the ghost columns */
  PetscCall(AddEntries(E, 1));
  PetscCall(ScaleBoth(A, E, 7));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, n, begin, 1, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, 2, begin, 2, &columns));
  PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrix(B, rows, columns, MAT_INITIAL_MATRIX, &D));
  for (int pass = 0; pass < 2; pass++) { /* the second time it is the matrix that it was made of */
    PetscCall(MatCreateSubMatrix(E, rows, columns, MAT_REUSE_MATRIX, &D));
    PetscCall(Compare(C, D, PETSC_TRUE, PETSC_TRUE, "the values of another matrix"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&E));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of this process and some around them, all backwards, none, and every third, n of these; with them as columns, or with all columns. */
static PetscErrorCode CreateSequentialSets(Mat A, PetscInt n, IS rows[], IS columns[])
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  begin = PetscMax(begin - 7, 0);
  end   = PetscMin(end + 7, N);
  for (PetscInt k = 0; k < n; k++) {
    if (k % 4 == 0) PetscCall(ISCreateStride(PETSC_COMM_SELF, end - begin, begin, 1, &rows[k]));
    else if (k % 4 == 1) PetscCall(ISCreateStride(PETSC_COMM_SELF, N, N - 1, -1, &rows[k]));
    else if (k % 4 == 2) PetscCall(ISCreateStride(PETSC_COMM_SELF, 0, 0, 1, &rows[k]));
    else PetscCall(ISCreateStride(PETSC_COMM_SELF, (N + 2) / 3, 0, 3, &rows[k]));
    if (k % 4 != 0) PetscCall(ISToGeneral(rows[k]));
    columns[k] = rows[k];
    PetscCall(PetscObjectReference((PetscObject)rows[k]));
    if (k % 2 == 0 && k > 0) {
      PetscCall(ISDestroy(&columns[k]));
      PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &columns[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sequential submatrices: as many on each process, or not. */
static PetscErrorCode TestSequential(Mat A, Mat B, PetscInt n, const char what[])
{
  PetscInt    num_blocks;
  PetscMPIInt rank;
  IS          rows[8], columns[8];
  Mat        *C, *D, blocks[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TestBlocks(B, &num_blocks, blocks));
  PetscCall(CreateSequentialSets(A, n, rows, columns));
  PetscCall(MatCreateSubMatrices(A, n, rows, columns, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateSubMatrices(B, n, rows, columns, MAT_INITIAL_MATRIX, &D));
  for (int pass = 0; pass < 4; pass++) {
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(TestHasType(D[k], ((PetscObject)blocks[0])->type_name, what));
      PetscCall(TestCompare(C[k], D[k], what));
    }
    if (rank == 0 && (pass == 1 || pass == 2)) PetscCall(MatBindToCPU(blocks[0], (PetscBool)(pass == 1)));
    PetscCall(ScaleBoth(A, B, pass % 2 ? 3.0 : 0.3));
    PetscCall(MatCreateSubMatrices(A, n, rows, columns, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrices(B, n, rows, columns, MAT_REUSE_MATRIX, &D));
  }
  PetscCall(MatDestroySubMatrices(n, &C));
  PetscCall(MatDestroySubMatrices(n, &D));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(ISDestroy(&rows[k]));
    PetscCall(ISDestroy(&columns[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MAT_SUBMAT_SINGLEIS: a submatrix that lost a row, and got new zeros, becomes what the matrix has there when it is used again. */
static PetscErrorCode TestSingleIS(Mat A, Mat B)
{
  const PetscScalar value = 0;
  const PetscInt    zero  = 0;
  PetscInt          n, columns;
  IS                rows, all;
  Mat              *C, *D;

  PetscFunctionBegin;
  PetscCall(CreateSequentialSets(A, 1, &rows, &all));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &all, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatSetOption(B, MAT_SUBMAT_SINGLEIS, PETSC_TRUE));
  PetscCall(MatCreateSubMatrices(B, 1, &rows, &all, MAT_INITIAL_MATRIX, &D));
  for (int change = 0; change < 2; change++) {
    PetscCall(MatSetOption(D[0], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetSize(D[0], &n, &columns));
    if (change == 0 && n > 0) PetscCall(MatZeroRows(D[0], 1, &zero, 0, NULL, NULL));
    for (PetscInt j = 0; j < columns && change == 1 && n > 0; j++) PetscCall(MatSetValues(D[0], 1, &zero, 1, &j, &value, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(D[0], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(D[0], MAT_FINAL_ASSEMBLY));
    PetscCall(ScaleBoth(A, B, 2));
    PetscCall(MatCreateSubMatrices(A, 1, &rows, &all, MAT_REUSE_MATRIX, &C));
    PetscCall(MatCreateSubMatrices(B, 1, &rows, &all, MAT_REUSE_MATRIX, &D));
    PetscCall(TestCompare(C[0], D[0], change ? "MAT_SUBMAT_SINGLEIS after new entries" : "MAT_SUBMAT_SINGLEIS after MatZeroRows()"));
  }
  PetscCall(MatDestroySubMatrices(1, &C));
  PetscCall(MatDestroySubMatrices(1, &D));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Permutations that take rows and columns to other processes. */
static PetscErrorCode TestPermute(Mat A, Mat B, const char type[], PetscBool same)
{
  PetscInt begin, end, M, N;
  IS       rows, columns;
  Mat      C, D;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &M, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(CreateSet(SET_REVERSED, PETSC_TRUE, M, begin, end, &rows));
  PetscCall(MatGetOwnershipRangeColumn(A, &begin, &end));
  PetscCall(CreateSet(same ? SET_REVERSED : SET_MIXED, PETSC_FALSE, N, begin, end, &columns));
  PetscCall(ISSetPermutation(rows));
  PetscCall(ISSetPermutation(columns));
  PetscCall(MatPermute(A, rows, columns, &C));
  PetscCall(MatPermute(B, rows, columns, &D));
  PetscCall(TestHasType(D, type, "MatPermute"));
  PetscCall(CheckPosition(D, "MatPermute"));
  PetscCall(Compare(C, D, PETSC_TRUE, PETSC_TRUE, "MatPermute"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[][2] = {{47, 47}, {30, 61}, {2, 2}};
  char          *type;
  Mat            A, B, blocks[2];
  PetscInt       n, steps;
  PetscMPIInt    rank, size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
    for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
      PetscCall(TestCreatePair(type, sizes[s][0], sizes[s][1], layout, 5, 1, &A, &B));
      PetscCall(TestBlocks(B, &n, blocks));
      device = (PetscBool)!blocks[0]->boundtocpu;
      steps  = s > 0 ? 9 : size > 4 ? 7 : layout > 0 ? 5 : 1; /* every pair once, on few processes: many that share a device take long */
      for (Set i = SET_OWN; i < SET_NULL; i++)
        for (Set j = SET_OWN; j < NUM_SETS; j++)
          if ((i + 2 * j + (PetscInt)layout) % steps == 0 && Taken(i, j)) PetscCall(TestPair(A, B, type, i, j, layout));
      if (sizes[s][0] == sizes[s][1]) {
        PetscCall(TestSequential(A, B, 1, "MatCreateSubMatrices, one"));
        PetscCall(TestSequential(A, B, 5, "MatCreateSubMatrices, five"));
        PetscCall(TestSequential(A, B, 1 + rank % 4, "MatCreateSubMatrices, other numbers"));
        if (size > 1) PetscCall(TestSequential(A, B, rank % 4, "MatCreateSubMatrices, some have none"));
        if (n == 2 && device) PetscCall(TestSingleIS(A, B)); /* parallel matrices alone have it; MATMPIAIJ of PETSc 3.26 crashes here on three processes */
        PetscCall(TestPermute(A, B, type, PETSC_TRUE));
      }
      PetscCall(TestPermute(A, B, type, PETSC_FALSE));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
  }
  PetscCall(TestBinding(type, SET_OWN, SET_OWN));
  PetscCall(TestBinding(type, SET_CYCLIC, SET_REVERSED));
  PetscCall(TestBinding(type, SET_OWN, SET_MIXED));
  PetscCall(TestPatterns(type, SET_REVERSED));
  PetscCall(TestPatterns(type, SET_OWN));
  PetscCall(TestNewGhost(type, PETSC_FALSE));
  PetscCall(TestNewGhost(type, PETSC_TRUE));
  PetscCall(TestOtherMatrix(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 3 8}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda
      test:
         suffix: mpi1
         args: -mat_type mpiaijdcsrcuda
      test:
         suffix: eager
         nsize: 3
         args: -mat_dcsr_host_structure eager
      test:
         suffix: hidden
         nsize: 3
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         nsize: 3
         args: -mat_dcsr_test_wide_from 60

TEST*/
