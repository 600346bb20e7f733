static char help[] = "MatConvert() from our type to every type that MATAIJ converts to, and back: entries, block sizes and errors are those that MATAIJ gives and gets.\n\n";

#include "testmat.h"

/* What becomes of a call that may fail. */
#define Try(ierr, call) \
  do { \
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr = call; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

static const MatReuse    modes[]      = {MAT_INITIAL_MATRIX, MAT_REUSE_MATRIX, MAT_INPLACE_MATRIX};
static const char *const mode_names[] = {"initial", "reuse", "in place"};

/* A band matrix with explicit zeros that were set; square. */
static PetscErrorCode Create(MatType type, PetscInt bs, PetscBool symmetric, Mat *A)
{
  const PetscInt n = 24, offsets[] = {0, -1, 1, -7, 7};
  PetscInt       begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(offsets); k++) {
      const PetscInt j = i + offsets[k];

      if (j < 0 || j >= n || (!symmetric && offsets[k] == 7)) continue;
      PetscCall(MatSetValue(*A, i, j, k == 0 ? 5 : i + j == 11 ? 0 : -1 - 0.01 * (PetscReal)(symmetric ? i + j : i + 2 * j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (symmetric) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatScale(*A, 2)); /* on the device */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Has(Mat A, Mat B, MatOperation operation, PetscBool *both)
{
  PetscBool has[2];

  PetscFunctionBegin;
  PetscCall(MatHasOperation(A, operation, &has[0]));
  PetscCall(MatHasOperation(B, operation, &has[1]));
  *both = (PetscBool)(has[0] && has[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Same(Mat A, Mat B, const char what[])
{
  PetscInt  bs[2][2];
  PetscBool has;
  MatInfo   info[2];
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(B, &type));
  PetscCall(MatGetBlockSizes(A, &bs[0][0], &bs[0][1]));
  PetscCall(MatGetBlockSizes(B, &bs[1][0], &bs[1][1]));
  PetscCheck(bs[0][0] == bs[1][0] && bs[0][1] == bs[1][1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: block sizes %" PetscInt_FMT ", %" PetscInt_FMT " and not %" PetscInt_FMT ", %" PetscInt_FMT, what,
             bs[1][0], bs[1][1], bs[0][0], bs[0][1]);
  PetscCall(Has(A, B, MATOP_GETINFO, &has));
  if (has) {
    PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info[0]));
    PetscCall(MatGetInfo(B, MAT_GLOBAL_SUM, &info[1]));
    PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g entries and not %g", what, (double)info[1].nz_used, (double)info[0].nz_used);
  }
  PetscCall(TestCompareMult(A, B, what));
  PetscCall(Has(A, B, MATOP_GET_ROW, &has));
  if (has) PetscCall(MatGetRowUpperTriangular(A));
  if (has) PetscCall(MatGetRowUpperTriangular(B));
  if (has) PetscCall(TestCompareRows(A, B, what));
  if (has) PetscCall(MatRestoreRowUpperTriangular(A));
  if (has) PetscCall(MatRestoreRowUpperTriangular(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Converts A in one of the three ways; MAT_REUSE_MATRIX renews values that have been scaled, where the type can do that. */
static PetscErrorCode Convert(Mat A, MatType type, MatReuse mode, Mat *B)
{
  PetscBool      scales;
  PetscErrorCode ierr;

  *B = mode == MAT_INPLACE_MATRIX ? A : NULL;
  if (mode == MAT_INPLACE_MATRIX) return MatConvert(A, type, mode, B);
  ierr = MatConvert(A, type, MAT_INITIAL_MATRIX, B);
  if (ierr == PETSC_SUCCESS && mode == MAT_REUSE_MATRIX) {
    ierr = MatHasOperation(A, MATOP_SCALE, &scales);
    if (ierr == PETSC_SUCCESS && scales) ierr = MatScale(A, -3);
    if (ierr == PETSC_SUCCESS) ierr = MatConvert(A, type, mode, B);
    if (ierr != PETSC_SUCCESS) (void)MatDestroy(B);
  }
  return ierr;
}

static PetscErrorCode SameErrors(PetscErrorCode theirs, PetscErrorCode ours, const char what[])
{
  PetscFunctionBegin;
  PetscCheck(theirs == ours, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d where MATAIJ has %d", what, (int)ours, (int)theirs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From ours to another type. */
static PetscErrorCode ConvertTo(MatType ours, MatType type, PetscInt bs, PetscBool symmetric, int mode)
{
  char           what[128];
  PetscBool      same, subclass;
  MatType        types[2];
  Mat            A, B, C, D;
  PetscErrorCode ierr[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "to %s, %s, block size %" PetscInt_FMT "%s", type, mode_names[mode], bs, symmetric ? ", symmetric" : ""));
  PetscCall(Create(MATAIJ, bs, symmetric, &A));
  PetscCall(Create(ours, bs, symmetric, &B));
  PetscCall(PetscStrcmpAny(type, &subclass, MATAIJPERM, MATAIJSELL, MATAIJCRL, ""));
  if (subclass && modes[mode] == MAT_REUSE_MATRIX) { /* PETSc's own conversion leaves the old values, and memory behind */
    PetscCall(MatScale(A, -3));
    Try(ierr[0], Convert(A, type, MAT_INITIAL_MATRIX, &C));
  } else Try(ierr[0], Convert(A, type, modes[mode], &C));
  Try(ierr[1], Convert(B, type, modes[mode], &D));
  PetscCall(SameErrors(ierr[0], ierr[1], what));
  if (ierr[0] == PETSC_SUCCESS) {
    PetscCall(MatGetType(C, &types[0]));
    PetscCall(MatGetType(D, &types[1]));
    PetscCall(PetscStrcmp(types[0], types[1], &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: type %s and not %s", what, types[1], types[0]);
    PetscCall(Same(C, D, what));
    if (modes[mode] != MAT_INPLACE_MATRIX) {
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&D));
    }
  } else {
    PetscCall(TestHasType(B, ours, what));
    PetscCall(TestCompare(A, B, what));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of another type, two of them; *found: PETSc has a way to make it. */
typedef PetscErrorCode (*CreateFn)(const char[], PetscInt, PetscBool, Mat *);

static PetscErrorCode CreateByConversion(const char type[], PetscInt bs, PetscBool symmetric, Mat *C)
{
  Mat            A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, bs, symmetric, &A));
  Try(ierr, MatConvert(A, type, MAT_INITIAL_MATRIX, C));
  if (ierr != PETSC_SUCCESS) *C = NULL;
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that are made of others. */
static PetscErrorCode CreateOfOthers(const char type[], PetscInt bs, PetscBool symmetric, Mat *C)
{
  PetscBool is[5];
  Mat       A;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, bs, symmetric, &A));
  PetscCall(PetscStrcmp(type, MATTRANSPOSEVIRTUAL, &is[0]));
  PetscCall(PetscStrcmp(type, MATMAIJ, &is[1]));
  PetscCall(PetscStrcmp(type, MATNEST, &is[2]));
  PetscCall(PetscStrcmp(type, MATCOMPOSITE, &is[3]));
  PetscCall(PetscStrcmp(type, MATNORMAL, &is[4]));
  *C = NULL;
  if (is[0]) PetscCall(MatCreateTranspose(A, C));
  if (is[1]) PetscCall(MatCreateMAIJ(A, 2, C));
  if (is[2]) {
    Mat blocks[] = {A, NULL, A, A};

    PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, blocks, C));
  }
  if (is[3]) {
    Mat summands[] = {A, A};

    PetscCall(MatCreateComposite(PETSC_COMM_WORLD, 2, summands, C));
  }
  if (is[4]) PetscCall(MatCreateNormal(A, C));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From another type to ours. */
static PetscErrorCode ConvertFrom(CreateFn create, MatType type, MatType ours, PetscInt bs, PetscBool symmetric, int mode)
{
  char           what[128];
  PetscBool      scales;
  Mat            A[2], B, C;
  PetscErrorCode ierr[2];

  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 25, 0) // whose MatAXPY() counts too few entries of what it made of a MATSELL on ranks
  PetscMPIInt size;

  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1 && modes[mode] == MAT_REUSE_MATRIX && !strcmp(type, MATSELL)) PetscFunctionReturn(PETSC_SUCCESS);
#endif
  PetscCall(PetscSNPrintf(what, sizeof(what), "from %s, %s, block size %" PetscInt_FMT "%s", type, mode_names[mode], bs, symmetric ? ", symmetric" : ""));
  for (int k = 0; k < 2; k++) PetscCall((*create)(type, bs, symmetric, &A[k]));
  if (A[0] == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHasOperation(A[0], MATOP_SCALE, &scales));
  if (modes[mode] == MAT_REUSE_MATRIX && scales) PetscCall(MatScale(A[0], -3));
  Try(ierr[0], Convert(A[0], MATAIJ, modes[mode] == MAT_INPLACE_MATRIX ? MAT_INPLACE_MATRIX : MAT_INITIAL_MATRIX, &B));
  Try(ierr[1], Convert(A[1], ours, modes[mode], &C));
  PetscCall(SameErrors(ierr[0], ierr[1], what));
  if (ierr[0] == PETSC_SUCCESS) {
    PetscCall(TestHasType(C, ours, what));
    PetscCall(Same(B, C, what));
    if (modes[mode] != MAT_INPLACE_MATRIX) {
      PetscCall(MatDestroy(&B));
      PetscCall(MatDestroy(&C));
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -matconvert_type asks every conversion of this matrix for our type, also those on the way there. */
static PetscErrorCode ConvertByOption(MatType ours)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(CreateByConversion(MATBAIJ, 2, PETSC_FALSE, &A));
  PetscCall(MatSetOptionsPrefix(A, "asked_"));
  PetscCall(PetscOptionsSetValue(NULL, "-asked_matconvert_type", ours));
  PetscCall(MatConvert(A, MATSAME, MAT_INITIAL_MATRIX, &B));
  PetscCall(TestHasType(B, ours, "-matconvert_type"));
  PetscCall(TestCompare(A, B, "-matconvert_type"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatType types[]  = {MATBAIJ, MATSBAIJ, MATDENSE, MATSELL, MATAIJPERM, MATAIJSELL, MATAIJCRL, MATIS, MATSHELL, MATAIJCUSPARSE, MATDENSECUDA, MATMPIAIJ, MATMPIDENSE, MATMPIBAIJ};
  const MatType others[] = {MATTRANSPOSEVIRTUAL, MATMAIJ, MATNEST, MATCOMPOSITE, MATNORMAL};
  char         *type;
  PetscBool     gpu = PETSC_FALSE, needs_gpu;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
  for (PetscInt bs = 1; bs <= 2; bs++) {
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      for (int mode = 0; mode < 3; mode++) {
        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
          PetscCall(PetscStrcmpAny(types[k], &needs_gpu, MATAIJCUSPARSE, MATDENSECUDA, ""));
          if (needs_gpu && !gpu) continue;
          PetscCall(ConvertTo(type, types[k], bs, (PetscBool)symmetric, mode));
          PetscCall(ConvertFrom(CreateByConversion, types[k], type, bs, (PetscBool)symmetric, mode));
        }
        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(others); k++) PetscCall(ConvertFrom(CreateOfOthers, others[k], type, bs, (PetscBool)symmetric, mode));
      }
    }
  }
  PetscCall(ConvertByOption(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: gpu
         requires: cuda
         args: -gpu

TEST*/
