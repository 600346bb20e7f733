static char help[] = "hisparsecuda: entries that are there and new ones by MatSetValues() between products, and values by MatCopy(), against MATAIJ.\n\
  -small : fewer copies, for tools that take long\n\n";

#include "../../small.h"
#include "../dcsr/testmat.h"
#include <petscsparsecuda/sys.h>

static const char *type;        /* under test */
static PetscBool   one_process; /* with a device */
static PetscBool   small;       /* fewer copies */

static PetscInt block = 1; /* new entries, and the matrix, have full blocks of this size */

#define M 600 /* rows and columns */

/* The matrix: three diagonals, two that live for some rows, and single entries elsewhere. */
static PetscBool HasEntry(PetscInt row, PetscInt column)
{
  const PetscInt i = row / block, j = column / block;

  return (PetscBool)(PetscAbsInt(i - j) < 2 || (j - i == 40 && i % 170 < 120) || (i - j == 130 && i % 5 != 2) || (i % (block > 1 ? 23 : 11) == 3 && j == (i * 29 + 7) % (M / block)));
}

/* Exact in single precision, also after the changes below. */
static PetscScalar Value(PetscInt i, PetscInt j, PetscInt seed)
{
  return i == j ? (PetscScalar)(5 + seed) : PetscCMPLX((PetscReal)((i * 31 + j * 17 + seed * 7) % 23 - 11) / 8, (PetscReal)((i + 2 * j + seed) % 5 - 2) / 4);
}

static PetscErrorCode CreatePair(PetscInt seed, Mat mats[2])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &mats[k]));
    PetscCall(MatSetSizes(mats[k], PETSC_DECIDE, PETSC_DECIDE, M, M));
    PetscCall(MatSetBlockSize(mats[k], block));
    PetscCall(MatSetType(mats[k], k ? type : MATAIJ));
    PetscCall(MatGetOwnershipRange(mats[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++)
      for (PetscInt j = 0; j < M; j++)
        if (HasEntry(i, j)) PetscCall(MatSetValue(mats[k], i, j, Value(i, j, seed), INSERT_VALUES));
    PetscCall(TestAssemble(mats[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
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

/* What is entered. */
typedef enum {
  OLD,       /* entries that are there, in own rows */
  REPEATED,  /* some of them several times */
  HOLES,     /* new ones in a diagonal with holes */
  ELSEWHERE, /* new ones in a few positions */
  DIAGONAL,  /* a new diagonal */
  BOTH,      /* new ones and such that are there */
  OTHERS     /* entries that are there, of rows of other processes */
} What;

static PetscBool IsEntered(What what, PetscInt i, PetscInt j, PetscInt seed)
{
  const PetscInt r = i / block, c = j / block;

  switch (what) {
  case OLD:
    return (PetscBool)(HasEntry(i, j) && (i + 3 * j + seed) % 4 == 0);
  case REPEATED:
  case OTHERS:
    return (PetscBool)(HasEntry(i, j) && (i + j + seed) % 29 == 0);
  case HOLES:
    return (PetscBool)(r - c == 130 && r % 5 == 2 && (r / 5 + seed) % 3 == 0);
  case ELSEWHERE:
    return (PetscBool)((r * 7 + seed) % 97 == 5 && c == (r * 41 + 13 * seed) % (M / block));
  case DIAGONAL:
    return (PetscBool)(c - r == 60 + seed && r % 9 != 4);
  case BOTH:
    return (PetscBool)(IsEntered(OLD, i, j, seed) || IsEntered(HOLES, i, j, seed + 1) || IsEntered(ELSEWHERE, i, j, seed));
  }
  return PETSC_FALSE;
}

static PetscErrorCode Enter(Mat A, What what, InsertMode mode, PetscInt seed)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = begin; k < end; k++) {
    const PetscInt i = what == OTHERS ? (k + M / 2) % M : k;

    for (PetscInt j = 0; j < M; j++)
      for (PetscInt times = 0; IsEntered(what, i, j, seed) && times < (what == REPEATED ? 3 : 1); times++) PetscCall(MatSetValue(A, i, j, Value(i, j, seed + times + 3), mode));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of entries, norms and products. */
static PetscErrorCode Compare(Mat mats[2], const char what[])
{
  const NormType types[] = {NORM_1, NORM_FROBENIUS, NORM_INFINITY};
  PetscReal      norms[2];
  MatInfo        info[2];

  PetscFunctionBegin;
  PetscCall(TestIsValid(mats[1], what));
  for (int k = 0; k < 2; k++) PetscCall(MatGetInfo(mats[k], MAT_GLOBAL_SUM, &info[k]));
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g entries, not %g", what, info[1].nz_used, info[0].nz_used);
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    for (int k = 0; k < 2; k++) PetscCall(MatNorm(mats[k], types[t], &norms[k]));
    PetscCheck(PetscAbsReal(norms[0] - norms[1]) <= (PetscReal)1e3 * PETSC_MACHINE_EPSILON * (1 + norms[0]), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s is %g and should be %g", what,
               NormTypes[types[t]], (double)norms[1], (double)norms[0]);
  }
  PetscCall(TestCompareProducts(mats[0], mats[1], what));
  PetscCall(TestIsValid(mats[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(call with the matrix C): what changes values or entries. */
#define CHANGES(X) \
  X(Enter(C, OLD, INSERT_VALUES, 1)) \
  X(Enter(C, OLD, ADD_VALUES, 2)) \
  X(Enter(C, REPEATED, ADD_VALUES, 3)) \
  X(Enter(C, REPEATED, INSERT_VALUES, 4)) \
  X(MatScale(C, 0.5)) \
  X(Enter(C, OLD, ADD_VALUES, 5)) \
  X(MatShift(C, 1.5)) \
  X(Enter(C, OLD, INSERT_VALUES, 6)) \
  X(MatZeroEntries(C)) \
  X(Enter(C, OLD, ADD_VALUES, 0)) \
  X(Enter(C, OLD, ADD_VALUES, 1)) \
  X(Enter(C, OTHERS, ADD_VALUES, 1)) \
  X(Enter(C, OTHERS, INSERT_VALUES, 2)) \
  X(Enter(C, HOLES, INSERT_VALUES, 1)) \
  X(Enter(C, HOLES, ADD_VALUES, 1)) \
  X(Enter(C, ELSEWHERE, ADD_VALUES, 1)) \
  X(MatScale(C, 2)) \
  X(Enter(C, BOTH, ADD_VALUES, 2)) \
  X(Enter(C, DIAGONAL, INSERT_VALUES, 1)) \
  X(MatShift(C, -0.5)) \
  X(Enter(C, BOTH, INSERT_VALUES, 3)) \
  X(Enter(C, ELSEWHERE, INSERT_VALUES, 4)) \
  X(MatScale(C, 0.25)) \
  X(Enter(C, OLD, ADD_VALUES, 7)) \
  X(Enter(C, DIAGONAL, ADD_VALUES, 9))

/* One change after another; rows: the entries are on the host after each. */
static PetscErrorCode TestChanges(PetscBool rows)
{
  Mat mats[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(1, mats));
#define APPLY(call) \
  for (int k = 0; k < 2; k++) { \
    const Mat C = mats[k]; \
\
    PetscCall(call); \
  } \
  PetscCall(Compare(mats, #call)); \
  if (rows) PetscCall(TestCompareRows(mats[0], mats[1], #call));
  CHANGES(APPLY)
#undef APPLY
  PetscCall(TestCompare(mats[0], mats[1], "after all changes"));
  PetscCall(DestroyPair(mats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies share; what changes in one is not seen in the other. */
static PetscErrorCode TestCopies(void)
{
  static const What kinds[] = {OLD, HOLES, BOTH, DIAGONAL};
  Mat               mats[2], copies[2];

  PetscFunctionBegin;
  for (size_t i = 0; i < 2 * PETSC_STATIC_ARRAY_LENGTH(kinds); i++) {
    const What kind    = kinds[i / 2];
    Mat       *changed = i % 2 ? mats : copies, *other = i % 2 ? copies : mats;

    if (small && i % 2 != i / 2 % 2) continue;
    PetscCall(CreatePair((PetscInt)i, mats));
    for (int k = 0; k < 2; k++) PetscCall(MatDuplicate(mats[k], MAT_COPY_VALUES, &copies[k]));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetOption(copies[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
      PetscCall(MatSetOption(copies[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatScale(changed[k], 4));
      PetscCall(Enter(changed[k], kind, ADD_VALUES, 2));
    }
    PetscCall(Compare(other, "beside a change"));
    PetscCall(Compare(changed, "a change"));
    for (int k = 0; k < 2; k++) PetscCall(Enter(other[k], BOTH, INSERT_VALUES, 1));
    PetscCall(Compare(changed, "beside a second change"));
    PetscCall(TestCompare(other[0], other[1], "a second change"));
    PetscCall(TestCompare(changed[0], changed[1], "beside a second change"));
    PetscCall(DestroyPair(copies));
    PetscCall(Compare(mats, "without its copy"));
    PetscCall(DestroyPair(mats));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCopy() between matrices that share their structure, that have the same one, and one that has new entries. */
static PetscErrorCode TestCopyValues(void)
{
  Mat mats[2], duplicates[2], others[2];

  PetscFunctionBegin;
  PetscCall(CreatePair(1, mats));
  PetscCall(CreatePair(2, others));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(mats[k], MAT_DO_NOT_COPY_VALUES, &duplicates[k]));
    PetscCall(MatScale(mats[k], 2));
    PetscCall(MatCopy(mats[k], duplicates[k], SAME_NONZERO_PATTERN));
    PetscCall(MatCopy(mats[k], others[k], SAME_NONZERO_PATTERN));
  }
  PetscCall(Compare(duplicates, "MatCopy() to a duplicate"));
  PetscCall(Compare(others, "MatCopy() to a matrix of the same structure"));
  for (int k = 0; k < 2; k++) {
    PetscCall(Enter(mats[k], OLD, ADD_VALUES, 1));
    PetscCall(MatScale(duplicates[k], -1));
    PetscCall(Enter(others[k], HOLES, ADD_VALUES, 1));
  }
  PetscCall(Compare(mats, "the original later"));
  PetscCall(Compare(duplicates, "a copy later"));
  PetscCall(Compare(others, "another copy later"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCopy(mats[k], others[k], DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatCopy(duplicates[k], mats[k], SAME_NONZERO_PATTERN));
  }
  PetscCall(Compare(others, "MatCopy() to another structure"));
  PetscCall(TestCompare(mats[0], mats[1], "MatCopy() back"));
  PetscCall(DestroyPair(mats));
  PetscCall(DestroyPair(duplicates));
  PetscCall(DestroyPair(others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries that an option ignores, and such that it forbids, which change nothing. */
static PetscErrorCode TestOptions(void)
{
  Mat            mats[2];
  MatInfo        info;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreatePair(1, mats));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    PetscCall(Enter(mats[k], BOTH, INSERT_VALUES, 2));
  }
  PetscCall(Compare(mats, "MAT_NEW_NONZERO_LOCATIONS"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
    PetscCall(MatSetOption(mats[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
    PetscCall(Enter(mats[k], OLD, ADD_VALUES, 3));
  }
  PetscCall(Compare(mats, "MAT_NEW_NONZERO_LOCATION_ERR"));
  if (one_process) { // on several processes, and without a device, other entries are errors, and at other times
    PetscCall(MatSetValue(mats[1], 7, 7, 3.0, ADD_VALUES));
    PetscCall(MatSetValue(mats[1], 7, 500, 3.0, ADD_VALUES));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatGetInfo(mats[1], MAT_LOCAL, &info);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A new entry that is forbidden gave error %d", (int)ierr);
    PetscCall(MatSetOption(mats[1], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(TestAssemble(mats[1], MAT_FINAL_ASSEMBLY));
    PetscCall(Compare(mats, "forbidden entries"));
  }
  PetscCall(DestroyPair(mats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *name;
  PetscMPIInt size;
  size_t      before, now, peak;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &name));
  PetscCall(TestIsSmall(&small));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  type = MATHISPARSECUDA;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-block", &block, NULL));
  PetscCall(PetscSparseCUDADeviceUsable(&one_process));
  one_process = (PetscBool)(one_process && size == 1);
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(TestChanges(PETSC_FALSE));
  PetscCall(TestChanges(PETSC_TRUE));
  PetscCall(TestCopies());
  PetscCall(TestCopyValues());
  PetscCall(TestOptions());
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
         args: -mat_hisparse_format {{auto diagonals}}
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
      test:
         suffix: blocks
         nsize: {{1 2 3}}
         args: -block 3 -mat_hisparse_format blockdiagonals
      test:
         suffix: sizes
         args: -block {{2 4 6}} -mat_hisparse_format blockdiagonals
      test:
         suffix: hidden_blocks
         nsize: {{1 2}}
         args: -block 3 -mat_dcsr_test_hide_host -mat_hisparse_format blockdiagonals
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_hisparse_format diagonals

TEST*/
