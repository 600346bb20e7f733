static char help[] = "Sums of hisparsecuda against MATAIJ: all patterns and what callers say of them, scaled, shared and transposed terms, before and after products.\n\
  -small : few pairs, for tools that take long\n\n";

#include "../../small.h"
#include "../dcsr/testmat.h"
#include <petscsparsecuda/sys.h>

static const char *type;
static PetscBool   small;  /* few pairs, each in one state */
static PetscBool   stores; /* sums of diagonals need no rows */

/* What the terms look like, of one size. */
typedef enum {
  STENCIL,   /* five points of a grid */
  TWICE,     /* the same with the neighbors after the next */
  THIRD,     /* every third diagonal entry, and one diagonal */
  BAND,      /* three diagonals, some rows without any entry, single entries far away */
  SCATTERED, /* random */
  EMPTY,     /* no entries */
  NUM_KINDS
} Kind;
static const char *const Kinds[] = {"stencil", "twice", "third", "band", "scattered", "empty"};

static PetscBool HasEntry(Kind kind, PetscInt i, PetscInt j)
{
  const PetscInt d = PetscAbsInt(i - j);

  switch (kind) {
  case STENCIL:
    return (PetscBool)(d == 0 || d == 19 || (d == 1 && i / 19 == j / 19));
  case TWICE:
    return (PetscBool)(d == 0 || d == 19 || d == 38 || (d <= 2 && i / 19 == j / 19));
  case THIRD:
    return (PetscBool)((d == 0 && i % 3 == 0) || j - i == 7);
  case BAND:
    return (PetscBool)(i % 17 != 5 && (d < 2 || (7 * i + 3) % 401 == j));
  case SCATTERED:
    return (PetscBool)((i * 7919 + j * 104729 + (i * j) % 31) % 97 == 0);
  default:
    return PETSC_FALSE;
  }
}

static PetscErrorCode Enter(Mat A, Kind kind, PetscInt seed)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if (HasEntry(kind, i, j)) PetscCall(MatSetValue(A, i, j, PetscCMPLX((PetscReal)((i * 31 + j * 17 + seed * 7) % 23 - 11) / 8, (PetscReal)((i + 2 * j + seed) % 5 - 2) / 4), INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* mats[0] is MATAIJ's, mats[1] ours. */
static PetscErrorCode CreatePair(Kind kind, PetscInt seed, PetscBool wide, Mat mats[])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &mats[k]));
    PetscCall(MatSetSizes(mats[k], PETSC_DECIDE, PETSC_DECIDE, 400, wide ? 560 : 400));
    PetscCall(MatSetType(mats[k], k ? type : MATAIJ));
    PetscCall(Enter(mats[k], kind, seed));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyPair(Mat mats[])
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&mats[0]));
  PetscCall(MatDestroy(&mats[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareProducts(const Mat mats[], const char what[])
{
  PetscFunctionBegin;
  PetscCall(TestCompareProducts(mats[0], mats[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_view ::ascii_info says has this in it. */
static PetscErrorCode CheckView(Mat B, const char expected[], const char what[])
{
  char *view = NULL, *found;

  PetscFunctionBegin;
  PetscCall(TestGetInfo(B, &view));
  PetscCall(PetscStrstr(view, expected, &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" is not in: %s", what, expected, view);
  free(view);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of entries, and that the pattern counts as changed when it has; MATAIJ's may repeat its state. */
static PetscErrorCode CompareInfo(const Mat mats[], PetscObjectState before, PetscCount nonzeros, const char what[])
{
  MatInfo          info[2];
  PetscObjectState after;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatGetInfo(mats[k], MAT_GLOBAL_SUM, &info[k]));
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g entries, not %g", what, info[1].nz_used, info[0].nz_used);
  PetscCall(MatGetNonzeroState(mats[1], &after));
  PetscCheck(!stores || after != before || (PetscCount)info[1].nz_used == nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the pattern has changed, and its state has not", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountEntries(Mat A, PetscCount *n)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  *n = (PetscCount)info.nz_used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all entries of one kind are entries of another. */
static PetscBool IsSubset(Kind x, Kind y)
{
  return (PetscBool)(x == y || x == EMPTY || (x == STENCIL && y == TWICE));
}

/* Whether the storage of the kind is diagonals without other entries. */
static PetscBool IsDiagonals(Kind kind)
{
  return (PetscBool)(kind == STENCIL || kind == TWICE || kind == THIRD);
}

/* What is done to the terms before. */
typedef enum {
  PLAIN,      /* nothing: the terms are rows */
  PRODUCTS,   /* products, which make the storage */
  SCALED,     /* and scale factors beside the values */
  SHARED,     /* and copies of both terms, which stay as they are */
  TRANSPOSED, /* the terms are replaced by transposes, which share */
  NUM_STATES
} State;
static const char *const States[] = {"plain", "products", "scaled", "shared", "transposed"};

static PetscErrorCode Ready(Mat mats[], State state, Mat copies[])
{
  PetscFunctionBegin;
  copies[0] = copies[1] = NULL;
  if (state >= PRODUCTS) PetscCall(CompareProducts(mats, "before a sum"));
  for (int k = 0; k < 2; k++) {
    if (state >= SCALED) PetscCall(MatScale(mats[k], PetscCMPLX(0.75, 0.5)));
    if (state == SHARED) PetscCall(MatDuplicate(mats[k], MAT_COPY_VALUES, &copies[k]));
    if (state == TRANSPOSED) {
      copies[k] = mats[k];
      PetscCall(MatTranspose(copies[k], MAT_INITIAL_MATRIX, &mats[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X, and then what uses the sum. */
static PetscErrorCode TestSum(Kind y, Kind x, MatStructure str, State state, PetscBool wide)
{
  Mat              Y[2], X[2], ycopies[2], xcopies[2], T[2];
  PetscCount       nonzeros = 0;
  PetscObjectState before   = 0;
  char             what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s += %s, %s, %s%s", Kinds[y], Kinds[x], MatStructures[str], States[state], wide ? ", wide" : ""));
  PetscCall(CreatePair(y, 1, wide, Y));
  PetscCall(CreatePair(x, 2, wide, X));
  PetscCall(Ready(Y, state, ycopies));
  PetscCall(Ready(X, state, xcopies));
  PetscCall(CountEntries(Y[1], &nonzeros));
  PetscCall(MatGetNonzeroState(Y[1], &before));
  for (int k = 0; k < 2; k++) PetscCall(MatAXPY(Y[k], -1.5, X[k], str));
  if (stores && state >= PRODUCTS && IsDiagonals(y) && IsDiagonals(x)) {
    PetscCall(CheckView(Y[1], "hisparsecuda: diagonals", what));
    PetscCall(CheckView(Y[1], "dcsrcuda: released", what));
    PetscCall(CheckView(X[1], "dcsrcuda: released", what));
  }
  PetscCall(CompareInfo(Y, before, nonzeros, what));
  PetscCall(CompareProducts(Y, what));
  for (int k = 0; k < 2; k++) PetscCall(MatAYPX(Y[k], 0.5, X[k], str == DIFFERENT_NONZERO_PATTERN ? SUBSET_NONZERO_PATTERN : str));
  PetscCall(CompareProducts(Y, what));
  PetscCall(CompareProducts(X, what));
  for (int k = 0; k < 2; k++) PetscCall(MatTranspose(Y[k], MAT_INITIAL_MATRIX, &T[k]));
  for (int k = 0; k < 2; k++) PetscCall(MatScale(Y[k], 2));
  PetscCall(CompareProducts(T, what));
  PetscCall(TestCompare(Y[0], Y[1], what));
  PetscCall(TestCompare(X[0], X[1], what));
  PetscCall(TestCompare(T[0], T[1], what));
  if (ycopies[1] != NULL) {
    PetscCall(TestCompare(ycopies[0], ycopies[1], what));
    PetscCall(TestCompare(xcopies[0], xcopies[1], what));
    PetscCall(DestroyPair(ycopies));
    PetscCall(DestroyPair(xcopies));
  }
  PetscCall(DestroyPair(Y));
  PetscCall(DestroyPair(X));
  PetscCall(DestroyPair(T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y and its copies, Y itself, new values and new entries between sums. */
static PetscErrorCode TestRelated(Kind kind)
{
  Mat Y[2], X[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(kind, 1, PETSC_FALSE, Y));
  PetscCall(CompareProducts(Y, Kinds[kind]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(Y[k], MAT_COPY_VALUES, &X[k]));
    PetscCall(MatAXPY(Y[k], 2, X[k], SAME_NONZERO_PATTERN));
  }
  PetscCall(CompareProducts(Y, "a copy added"));
  PetscCall(CompareProducts(X, "a copy that was added"));
  for (int k = 0; k < 2; k++) PetscCall(MatAXPY(Y[k], 2, Y[k], SAME_NONZERO_PATTERN));
  PetscCall(CompareProducts(Y, "a matrix added to itself"));
  for (int k = 0; k < 2; k++) {
    PetscCall(Enter(X[k], kind, 5));
    PetscCall(MatAXPY(Y[k], 2, X[k], UNKNOWN_NONZERO_PATTERN));
  }
  PetscCall(CompareProducts(Y, "new values added"));
  for (int k = 0; k < 2; k++) {
    PetscInt begin, end;

    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(X[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(X[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(X[k], i, i, 3, ADD_VALUES));
    for (PetscInt i = begin; i < end; i++)
      if (i >= 60) PetscCall(MatSetValue(X[k], i, i - 60, 3, ADD_VALUES));
    PetscCall(TestAssemble(X[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(CompareProducts(X, "new entries"));
  for (int k = 0; k < 2; k++) PetscCall(MatAXPY(Y[k], 2, X[k], DIFFERENT_NONZERO_PATTERN));
  PetscCall(TestCompare(Y[0], Y[1], "new entries added"));
  for (int k = 0; k < 2; k++) PetscCall(MatAXPY(Y[k], -1, X[k], SUBSET_NONZERO_PATTERN));
  PetscCall(TestCompare(Y[0], Y[1], "a subset added"));
  for (int k = 0; k < 2; k++) PetscCall(MatShift(Y[k], 0.5));
  PetscCall(TestCompare(Y[0], Y[1], "a sum shifted"));
  PetscCall(DestroyPair(Y));
  PetscCall(DestroyPair(X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  PetscFunctionBegin;
  for (Kind y = STENCIL; y < NUM_KINDS; y++) {
    for (Kind x = STENCIL; x < NUM_KINDS; x++)
      for (State state = PLAIN; state < NUM_STATES; state++) {
        const PetscBool wide = (PetscBool)((x + y + (int)state) % 2);

        if (small && ((x != y && x != (y + 1) % NUM_KINDS) || (int)state != (int)(x + y) % NUM_STATES)) continue;
        if (x == y) PetscCall(TestSum(y, x, SAME_NONZERO_PATTERN, state, wide));
        if (IsSubset(x, y)) PetscCall(TestSum(y, x, SUBSET_NONZERO_PATTERN, state, wide));
        PetscCall(TestSum(y, x, DIFFERENT_NONZERO_PATTERN, state, wide));
        if (state == PRODUCTS || state == TRANSPOSED) PetscCall(TestSum(y, x, UNKNOWN_NONZERO_PATTERN, state, wide));
      }
    if (!small || y == STENCIL || y == SCATTERED) PetscCall(TestRelated(y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static char format[32] = "auto";
  char       *name;
  size_t      before, now, peak;
  PetscMPIInt size;
  PetscBool   eager;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &name));
  PetscCall(TestIsSmall(&small));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_hisparse_format", format, sizeof(format), NULL));
  type = MATHISPARSECUDA;
  PetscCall(PetscSparseCUDADeviceUsable(&stores));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_dcsr_host_structure", &eager));
  stores = (PetscBool)(stores && size == 1 && format[0] == 'd' && !eager);
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(Run());
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
         args: -mat_hisparse_format diagonals
      test:
         suffix: auto
         args: -mat_hisparse_format {{auto csr}}
      test:
         suffix: hidden
         nsize: {{1 2}}
         args: -mat_dcsr_test_hide_host -mat_hisparse_format diagonals
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager -mat_hisparse_format diagonals
      test:
         suffix: wide
         args: -mat_dcsr_test_wide_from 300 -mat_hisparse_format diagonals

TEST*/
