static char help[] = "hisparsecuda: values by COO, rows and columns that become zero, and entries that are deleted, between products, against MATAIJ.\n\
  -small : fewer copies, for tools that take long\n\n";

#include "../../small.h"
#include "../dcsr/testmat.h"
#include <petscsparsecuda/sys.h>

static const char *type;      /* under test */
static PetscBool   small;     /* few deletions beside copies */
static PetscInt    block = 1; /* the matrix has full blocks of this size */

#define M 600 /* rows and columns */

/* The matrix: three diagonals, two that live for some rows, and single entries elsewhere. */
static PetscBool HasEntry(PetscInt row, PetscInt column)
{
  const PetscInt i = row / block, j = column / block;

  return (PetscBool)(PetscAbsInt(i - j) < 2 || (j - i == 40 && i % 170 < 120) || (i - j == 130 && i % 5 != 2) || (i % 11 == 3 && j == (i * 29 + 7) % (M / block)));
}

/* A list of coordinates with values: own entries, every fourth of them twice, and some of other processes. */
typedef struct {
  PetscCount   n;
  PetscInt    *i, *j;
  PetscScalar *v;
} List;

static PetscErrorCode ListAppend(List *list, PetscInt i, PetscInt j, PetscInt seed)
{
  PetscFunctionBegin;
  list->i[list->n]   = i;
  list->j[list->n]   = j;
  list->v[list->n++] = (i * 13 + j * 7 + seed) % 9 == 4 ? 0.0
                       : i == j                         ? (PetscScalar)(6 + seed)
                                                        : PetscCMPLX((PetscReal)((i * 31 + j * 17 + seed * 7) % 23 - 11) / 8, (PetscReal)((i + 2 * j + seed) % 5 - 2) / 4);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListCreate(Mat A, PetscInt seed, List *list)
{
  PetscInt   begin, end;
  PetscCount room = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < M; j++) room += 3 * HasEntry(i, j) + HasEntry((i + M / 2) % M, j);
  PetscCall(PetscMalloc3(room, &list->i, room, &list->j, room, &list->v));
  list->n = 0;
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = M - 1; j >= 0; j--) {
      const PetscInt other = (i + M / 2) % M;

      if (HasEntry(i, j)) PetscCall(ListAppend(list, i, j, seed));
      if (HasEntry(i, j) && (i + j) % 4 == 0) PetscCall(ListAppend(list, i, j, seed + 1));
      if (HasEntry(other, j) && (i + j) % 31 == 0) PetscCall(ListAppend(list, other, j, seed + 2));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListDestroy(List *list)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(list->i, list->j, list->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values by COO; in device memory for odd seeds, where there is any. */
static PetscErrorCode SetCOO(Mat A, InsertMode mode, PetscInt seed)
{
  List         list;
  PetscBool    device;
  PetscScalar *copy = NULL;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(ListCreate(A, seed, &list));
  PetscCall(TestUsesDevice(A, &device));
  if (device && seed % 2) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(PetscSparseCUDAMalloc(list.n, "values of a list", stream, &copy));
    PetscCall(PetscSparseCUDACopyToDevice(copy, list.v, (size_t)list.n * sizeof(*copy), stream));
  }
  PetscCall(MatSetValuesCOO(A, copy != NULL ? copy : list.v, mode));
  if (copy != NULL) PetscCall(PetscSparseCUDAFree(&copy, stream));
  PetscCall(ListDestroy(&list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePair(PetscInt seed, Mat mats[2])
{
  List list;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &mats[k]));
    PetscCall(MatSetSizes(mats[k], PETSC_DECIDE, PETSC_DECIDE, M, M));
    PetscCall(MatSetType(mats[k], k ? type : MATAIJ));
    PetscCall(MatSetUp(mats[k]));
    PetscCall(ListCreate(mats[k], 0, &list));
    PetscCall(TestPreallocateCOO(mats[k], list.n, list.i, list.j));
    PetscCall(ListDestroy(&list));
    PetscCall(SetCOO(mats[k], INSERT_VALUES, seed));
  }
  PetscCall(TestCompareProducts(mats[0], mats[1], "new")); // makes the storage
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Mat mats[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest entries of the rows of sequential matrices, and where they are; absolute values of complex numbers may round differently. */
static PetscErrorCode CompareLargest(Mat mats[2], const char what[])
{
  PetscInt           m, *columns[2];
  Vec                x[2];
  const PetscScalar *largest;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(mats[0], &m, NULL));
  PetscCall(PetscCalloc2(m, &columns[0], m, &columns[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(mats[k], NULL, &x[k]));
    PetscCall(MatGetRowMaxAbs(mats[k], x[k], columns[k]));
  }
  PetscCall(TestCompareVec(x[0], x[1], what));
  PetscCall(VecGetArrayRead(x[0], &largest));
  for (PetscInt r = 0; r < m && !PetscDefined(USE_COMPLEX); r++)
    PetscCheck(PetscAbsScalar(largest[r]) == 0 || columns[0][r] == columns[1][r], PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: the largest entry of row %" PetscInt_FMT " is in column %" PetscInt_FMT ", not %" PetscInt_FMT, what, r, columns[1][r], columns[0][r]);
  PetscCall(VecRestoreArrayRead(x[0], &largest));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
  PetscCall(PetscFree2(columns[0], columns[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of entries, norms, products and the largest entries of rows. */
static PetscErrorCode Compare(Mat mats[2], const char what[])
{
  const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscReal      norms[2];
  MatInfo        info[2];
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestIsValid(mats[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatGetInfo(mats[k], MAT_GLOBAL_SUM, &info[k]));
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g entries, not %g", what, info[1].nz_used, info[0].nz_used);
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (int k = 0; k < 2; k++) PetscCall(MatNorm(mats[k], types[t], &norms[k]));
    PetscCheck(PetscAbsReal(norms[0] - norms[1]) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + norms[0]), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s is %g and should be %g", what,
               NormTypes[types[t]], (double)norms[1], (double)norms[0]);
  }
  PetscCall(TestCompareProducts(mats[0], mats[1], what));
  if (size == 1) PetscCall(CompareLargest(mats, what));
  PetscCall(TestIsValid(mats[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rows are listed. */
static PetscBool IsListed(PetscInt i, PetscInt seed)
{
  return (PetscBool)((i * 7 + 3 * seed) % 23 < 2 + seed % 3);
}

/* Rows of this process and of the next one; b and x, when they are given, are compared with those of the other type. */
static PetscErrorCode ZeroRows(Mat A, PetscBool columns, PetscBool keep, PetscScalar diag, PetscInt seed, Vec x, Vec b)
{
  PetscInt begin, end, n = 0, *rows;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(PetscMalloc1(2 * M, &rows));
  for (PetscInt i = end - 1; i >= begin; i--)
    if (IsListed(i, seed)) rows[n++] = i;
  if (IsListed((begin + M / 3) % M, seed)) rows[n++] = (begin + M / 3) % M;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, keep));
  if (columns) PetscCall(MatZeroRowsColumns(A, n, rows, diag, x, b));
  else PetscCall(MatZeroRows(A, n, rows, diag, x, b));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for both, with vectors. */
static PetscErrorCode ZeroRowsOfBoth(Mat mats[2], PetscBool columns, PetscBool keep, PetscScalar diag, PetscInt seed)
{
  Vec x[2], b[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(mats[k], &x[k], &b[k]));
    PetscCall(TestFill(x[k], 5));
    PetscCall(TestFill(b[k], 6));
    PetscCall(ZeroRows(mats[k], columns, keep, diag, seed, x[k], b[k]));
  }
  PetscCall(TestCompareVec(b[0], b[1], "a right-hand side"));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both get the same change. */
#define APPLY(mats, call) \
  for (int k = 0; k < 2; k++) { \
    const Mat C = (mats)[k]; \
\
    PetscCall(call); \
  }

/* Values by COO, alone and beside what shares them. */
static PetscErrorCode TestCOO(void)
{
  Mat mats[2], copies[2], transposes[2], others[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(1, mats));
#define CHANGE(call) \
  APPLY(mats, call) \
  PetscCall(Compare(mats, #call));
  CHANGE(SetCOO(C, ADD_VALUES, 2))
  CHANGE(SetCOO(C, INSERT_VALUES, 3))
  CHANGE(MatScale(C, 0.5))
  CHANGE(SetCOO(C, ADD_VALUES, 5))
  CHANGE(SetCOO(C, INSERT_VALUES, 4))
  CHANGE(MatShift(C, 1.5))
  CHANGE(SetCOO(C, ADD_VALUES, 1))
  CHANGE(MatZeroEntries(C))
  CHANGE(SetCOO(C, ADD_VALUES, 7))
#undef CHANGE
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(mats[k], MAT_COPY_VALUES, &copies[k]));
    PetscCall(MatDuplicate(mats[k], MAT_COPY_VALUES, &others[k]));
    PetscCall(MatTranspose(mats[k], MAT_INITIAL_MATRIX, &transposes[k]));
  }
  APPLY(mats, MatScale(C, 3))
  APPLY(mats, SetCOO(C, INSERT_VALUES, 2))
  PetscCall(Compare(mats, "a write"));
  PetscCall(Compare(copies, "a copy beside a write"));
  PetscCall(Compare(transposes, "a transpose beside a write"));
  APPLY(copies, SetCOO(C, ADD_VALUES, 3))
  PetscCall(Compare(mats, "beside a write to a copy"));
  PetscCall(Compare(copies, "a write to a copy"));
  PetscCall(Compare(others, "another copy"));
  for (int k = 0; k < 2; k++) PetscCall(MatTranspose(mats[k], MAT_REUSE_MATRIX, &transposes[k]));
  PetscCall(Compare(transposes, "a transpose again"));
  PetscCall(TestCompare(mats[0], mats[1], "after all values"));
  APPLY(mats, SetCOO(C, ADD_VALUES, 4)) // rows are there now
  PetscCall(TestCompare(mats[0], mats[1], "values in CSR"));
  PetscCall(Compare(mats, "values in CSR"));
  PetscCall(TestCompare(copies[0], copies[1], "a copy"));
  PetscCall(TestCompare(others[0], others[1], "another copy"));
  PetscCall(TestCompare(transposes[0], transposes[1], "a transpose"));
  PetscCall(DestroyPair(copies));
  PetscCall(DestroyPair(others));
  PetscCall(DestroyPair(transposes));
  PetscCall(DestroyPair(mats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(call for both matrices): what zeroes or deletes. */
#define DELETIONS(X) \
  X(ZeroRowsOfBoth(m, PETSC_FALSE, PETSC_TRUE, 2.0, 1)) \
  X(ZeroRowsOfBoth(m, PETSC_FALSE, PETSC_TRUE, 0.0, 2)) \
  X(ZeroRowsOfBoth(m, PETSC_TRUE, PETSC_TRUE, -3.0, 3)) \
  X(ZeroRowsOfBoth(m, PETSC_TRUE, PETSC_FALSE, 0.0, 4)) \
  X(EliminateZeros(m, PETSC_TRUE)) \
  X(ScaleBoth(m, 0.5)) \
  X(ZeroRowsOfBoth(m, PETSC_FALSE, PETSC_FALSE, 2.5, 5)) \
  X(ZeroRowsOfBoth(m, PETSC_FALSE, PETSC_FALSE, 1.5, 6)) \
  X(ZeroRowsOfBoth(m, PETSC_TRUE, PETSC_FALSE, 1.0, 7)) \
  X(EliminateZeros(m, PETSC_TRUE)) \
  X(EliminateZeros(m, PETSC_FALSE)) \
  X(ScaleBoth(m, -1)) \
  X(ZeroRowsOfBoth(m, PETSC_FALSE, PETSC_FALSE, 0.0, 8))

static PetscErrorCode EliminateZeros(Mat m[2], PetscBool keep)
{
  PetscFunctionBegin;
  APPLY(m, MatEliminateZeros(C, keep))
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleBoth(Mat m[2], PetscScalar s)
{
  PetscFunctionBegin;
  APPLY(m, MatScale(C, s))
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Deletions one after the other; rows, when they are wanted after each, are deleted from. */
static PetscErrorCode TestDeletions(PetscBool rows)
{
  Mat m[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(1, m));
#define CHANGE(call) \
  PetscCall(call); \
  PetscCall(Compare(m, #call)); \
  if (rows) PetscCall(TestCompareRows(m[0], m[1], #call));
  DELETIONS(CHANGE)
#undef CHANGE
  PetscCall(TestCompare(m[0], m[1], "after all deletions"));
  PetscCall(DestroyPair(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every deletion beside a copy and a transpose that do not see it, and entries that come back. */
static PetscErrorCode TestCopies(void)
{
  Mat      m[2], copies[2], transposes[2];
  PetscInt number = 0;

  PetscFunctionBegin;
#define CHANGE(call) \
  if (!small || number % 4 == 0) { \
    PetscCall(CreatePair(2, m)); \
    for (int k = 0; k < 2; k++) { \
      PetscCall(MatDuplicate(m[k], MAT_COPY_VALUES, &copies[k])); \
      PetscCall(MatTranspose(m[k], MAT_INITIAL_MATRIX, &transposes[k])); \
    } \
    PetscCall(call); \
    PetscCall(Compare(m, #call)); \
    PetscCall(Compare(copies, "a copy beside " #call)); \
    PetscCall(Compare(transposes, "a transpose beside " #call)); \
    PetscCall(TestCompare(m[0], m[1], #call)); \
    PetscCall(TestCompare(copies[0], copies[1], "a copy beside " #call)); \
    PetscCall(DestroyPair(m)); \
    PetscCall(DestroyPair(copies)); \
    PetscCall(DestroyPair(transposes)); \
  } \
  number++;
  DELETIONS(CHANGE)
#undef CHANGE
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Deletion from a transpose that shares what is stored, and entries that come back after a deletion. */
static PetscErrorCode TestTransposeAndReturn(void)
{
  Mat      m[2], transposes[2];
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(CreatePair(3, m));
  for (int k = 0; k < 2; k++) PetscCall(MatTranspose(m[k], MAT_INITIAL_MATRIX, &transposes[k]));
  PetscCall(ZeroRowsOfBoth(transposes, PETSC_FALSE, PETSC_TRUE, 1.5, 2));
  PetscCall(ZeroRowsOfBoth(transposes, PETSC_FALSE, PETSC_FALSE, 2.5, 5));
  PetscCall(Compare(transposes, "deletion from a transpose"));
  PetscCall(Compare(m, "beside a deletion from a transpose"));
  PetscCall(ZeroRowsOfBoth(m, PETSC_FALSE, PETSC_FALSE, 2.5, 5));
  PetscCall(Compare(m, "deletion"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(m[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(m[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(m[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++)
      for (PetscInt j = 0; j < M; j++)
        if (HasEntry(i, j) && IsListed(i, 5)) PetscCall(MatSetValue(m[k], i, j, (PetscScalar)(i % 7 + j % 5), ADD_VALUES));
    PetscCall(TestAssemble(m[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(Compare(m, "entries that come back"));
  PetscCall(TestCompare(m[0], m[1], "entries that come back"));
  PetscCall(DestroyPair(m));
  PetscCall(DestroyPair(transposes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      format[32] = "auto", *name;
  PetscBool is_block_diagonals;
  size_t    before, now, peak;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &name));
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_hisparse_format", format, sizeof(format), NULL));
  type = MATHISPARSECUDA;
  PetscCall(PetscStrcmp(format, "blockdiagonals", &is_block_diagonals));
  if (is_block_diagonals) block = 2;
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(TestCOO());
  PetscCall(TestDeletions(PETSC_FALSE));
  PetscCall(TestDeletions(PETSC_TRUE));
  PetscCall(TestCopies());
  PetscCall(TestTransposeAndReturn());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  PetscCheck(now == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory in use, and %zu before", now, before);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
         args: -mat_hisparse_format {{diagonals blockdiagonals}}
      test:
         suffix: formats
         nsize: {{1 2 3}}
         args: -mat_hisparse_format auto
      test:
         suffix: hidden
         nsize: {{1 2}}
         args: -mat_dcsr_test_hide_host -mat_hisparse_format {{diagonals blockdiagonals}}
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager -mat_hisparse_format diagonals
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 300 -mat_hisparse_format {{diagonals blockdiagonals}}
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_hisparse_format {{diagonals blockdiagonals}}

TEST*/
