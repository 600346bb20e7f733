static char help[] = "hypre: what is composed for it, conversions to and from MATHYPRE, PCHYPRE with new values, and products that hypre computes.\n\n";

#include "testmat.h"
#include <petscksp.h>

/* The functions that ours have when the parent type has one for hypre, and only then. */
static PetscErrorCode CheckComposed(Mat A, const char parent[], const char ours[], PetscBool expected, const char when[])
{
  const struct {
    const char *format, *first, *second;
  } functions[] = {
    {"MatConvert_%s_%s_C", ours, "hypre"},
    {"MatConvert_%s_%s_C", "hypre", ours},
    {"MatConvert_%s_%s_C", "hypre", "dcsrcuda"},
    {"MatProductSetFromOptions_%s_%s_C", ours, "hypre"},
    {"MatProductSetFromOptions_transpose_%s_%s_C", ours, ours},
    {"MatProductSetFromOptions_transpose_%s_%s_C", ours, parent},
    {"MatProductSetFromOptions_transpose_%s_%s_C", parent, ours},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(functions); k++) {
    char      name[128];
    PetscBool has;

    PetscCall(PetscSNPrintf(name, sizeof(name), functions[k].format, functions[k].first, functions[k].second));
    PetscCall(PetscObjectHasFunction((PetscObject)A, name, &has));
    PetscCheck(has == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s is %s", when, name, has ? "there" : "missing");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Composed(const char parent_type[], const char ours[])
{
  char      name[128];
  PetscBool hypre, has;
  Mat       A, B;

  PetscFunctionBegin;
  PetscCall(TestCreate(parent_type, 20, 20, TEST_EVEN, 3, 1, &A));
  PetscCall(PetscSNPrintf(name, sizeof(name), "MatConvert_%s_hypre_C", parent_type));
  PetscCall(PetscObjectHasFunction((PetscObject)A, name, &hypre));
  PetscCall(CheckComposed(A, parent_type, ours, PETSC_FALSE, parent_type));
  PetscCall(MatConvert(A, ours, MAT_INITIAL_MATRIX, &B));
  PetscCall(CheckComposed(B, parent_type, ours, hypre, "converted"));
  PetscCall(MatConvert(B, parent_type, MAT_INPLACE_MATRIX, &B));
  PetscCall(CheckComposed(B, parent_type, ours, PETSC_FALSE, "converted back"));
  PetscCall(PetscObjectHasFunction((PetscObject)B, name, &has));
  PetscCheck(has == hypre, PETSC_COMM_SELF, PETSC_ERR_PLIB, "converted back: %s is %s", name, has ? "there" : "missing");
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(TestCreate(ours, 20, 20, TEST_EVEN, 3, 1, &B));
  PetscCall(CheckComposed(B, parent_type, ours, hypre, "created"));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &A));
  PetscCall(CheckComposed(A, parent_type, ours, hypre, "duplicated"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B, which is ours, to MATHYPRE in all reuse modes, and back to ours by a name; A is the same as MATAIJ. */
static PetscErrorCode Convert(Mat A, Mat B, const char name[], const char ours[])
{
  Mat H, C, D;

  PetscFunctionBegin;
  PetscCall(MatConvert(B, MATHYPRE, MAT_INITIAL_MATRIX, &H));
  PetscCall(TestCompareProducts(A, H, "to MATHYPRE, initial"));
  PetscCall(MatScale(A, -3));
  PetscCall(MatScale(B, -3));
  PetscCall(MatConvert(B, MATHYPRE, MAT_REUSE_MATRIX, &H));
  PetscCall(MatConvert(H, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(TestCompareRows(A, C, "to MATHYPRE, reuse"));
  PetscCall(MatDestroy(&C));

  PetscCall(MatConvert(H, name, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestHasType(D, ours, name));
  PetscCall(TestCompare(A, D, "from MATHYPRE, initial"));
  PetscCall(MatScale(D, 2));
  PetscCall(MatConvert(H, name, MAT_REUSE_MATRIX, &D));
  PetscCall(TestCompare(A, D, "from MATHYPRE, reuse"));
  PetscCall(MatConvert(D, MATHYPRE, MAT_INPLACE_MATRIX, &D));
  PetscCall(TestHasType(D, MATHYPRE, "to MATHYPRE, in place"));
  PetscCall(TestCompareProducts(A, D, "to MATHYPRE, in place"));
  PetscCall(MatConvert(D, name, MAT_INPLACE_MATRIX, &D));
  PetscCall(TestHasType(D, ours, name));
  PetscCall(TestCompare(A, D, "from MATHYPRE, in place"));
  PetscCall(TestCompare(A, B, "converted"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What hypre gets does not depend on the type: rows have the same entries in the same order. Row by row, PETSc would enter them in another one. The reference is PETSc's type
  that lives where ours does for hypre.
*/
static PetscErrorCode CompareOrder(Mat A, Mat B, MatType reference)
{
  Mat      HA, HB;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, reference, MAT_INITIAL_MATRIX, &HA));
  PetscCall(MatConvert(HA, MATHYPRE, MAT_INPLACE_MATRIX, &HA));
  PetscCall(MatConvert(B, MATHYPRE, MAT_INITIAL_MATRIX, &HB));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    PetscInt           na, nb;
    const PetscInt    *ja, *jb;
    const PetscScalar *va, *vb;

    PetscCall(MatGetRow(HA, row, &na, &ja, &va));
    PetscCall(MatGetRow(HB, row, &nb, &jb, &vb));
    PetscCheck(na == nb, PETSC_COMM_SELF, PETSC_ERR_PLIB, "row %" PetscInt_FMT " of MATHYPRE has %" PetscInt_FMT " entries from MATAIJ, %" PetscInt_FMT " from ours", row, na, nb);
    for (PetscInt k = 0; k < na; k++)
      PetscCheck(ja[k] == jb[k] && va[k] == vb[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "entry %" PetscInt_FMT " of row %" PetscInt_FMT " of MATHYPRE differs from that from MATAIJ", k, row);
    PetscCall(MatRestoreRow(HB, row, &nb, &jb, &vb));
    PetscCall(MatRestoreRow(HA, row, &na, &ja, &va));
  }
  PetscCall(MatDestroy(&HA));
  PetscCall(MatDestroy(&HB));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills H from A and compares it with B, which is the same as MATAIJ. */
static PetscErrorCode Refill(Mat A, Mat B, Mat H, const char when[])
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATHYPRE, MAT_REUSE_MATRIX, &H));
  PetscCall(TestHasType(H, MATHYPRE, when));
  PetscCall(TestCompareProducts(B, H, when));
  PetscCall(MatConvert(H, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(TestCompareRows(B, C, when));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATHYPRE that is filled again from matrices whose pattern or position is another one, and after others have changed it; device: hypre computes there. */
static PetscErrorCode RefillOthers(MatType type, PetscBool device)
{
  Mat A[3], B[3], H, X;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) PetscCall(TestCreatePair(type, 60, 60, TEST_EVEN, 3 + k / 2, k, &B[k], &A[k])); // the third one has more entries
  PetscCall(MatConvert(A[0], MATHYPRE, MAT_INITIAL_MATRIX, &H));
  PetscCall(Refill(A[0], B[0], H, "refilled"));
  PetscCall(MatZeroEntries(H));
  PetscCall(Refill(A[0], B[0], H, "refilled after MatZeroEntries()"));
  PetscCall(MatDuplicate(A[0], MAT_COPY_VALUES, &X));
  PetscCall(MatScale(X, 4));
  PetscCall(MatScale(B[0], 4));
  PetscCall(Refill(X, B[0], H, "refilled from a duplicate"));
  PetscCall(MatDestroy(&X));
  if (device) { // PETSc's own conversion cannot do that
    PetscCall(Refill(A[2], B[2], H, "refilled from another pattern"));
    PetscCall(MatBindToCPU(H, PETSC_TRUE));
    PetscCall(Refill(A[2], B[2], H, "refilled when bound to the CPU"));
    PetscCall(MatBindToCPU(H, PETSC_FALSE));
    PetscCall(Refill(A[1], B[1], H, "refilled after having been bound"));
    PetscCall(MatBindToCPU(A[1], PETSC_TRUE));
    PetscCall(Refill(A[1], B[1], H, "refilled from one bound to the CPU"));
    PetscCall(MatBindToCPU(A[1], PETSC_FALSE));
  }
  PetscCall(MatDestroy(&H));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&B[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with -matmatmult_via hypre -matptap_via hypre, with new values, too. */
static PetscErrorCode Multiply(MatType type)
{
  Mat A[2], P[2], AP[2], PtAP[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 40, 40, TEST_EVEN, 4, 1, &A[0], &A[1]));
  PetscCall(TestCreatePair(type, 40, 17, TEST_EVEN, 2, 2, &P[0], &P[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatMatMult(A[k], P[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &AP[k]));
    PetscCall(MatPtAP(A[k], P[k], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &PtAP[k]));
  }
  PetscCall(TestCompareRows(AP[0], AP[1], "A P by hypre"));
  PetscCall(TestCompareRows(PtAP[0], PtAP[1], "PtAP by hypre"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(A[k], 2));
    PetscCall(MatScale(P[k], -0.5));
    PetscCall(MatMatMult(A[k], P[k], MAT_REUSE_MATRIX, PETSC_DETERMINE, &AP[k]));
    PetscCall(MatPtAP(A[k], P[k], MAT_REUSE_MATRIX, PETSC_DETERMINE, &PtAP[k]));
  }
  PetscCall(TestCompareRows(AP[0], AP[1], "A P by hypre, new values"));
  PetscCall(TestCompareRows(PtAP[0], PtAP[1], "PtAP by hypre, new values"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&P[k]));
    PetscCall(MatDestroy(&AP[k]));
    PetscCall(MatDestroy(&PtAP[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PtAP with a P that is MATHYPRE on the host. */
static PetscErrorCode MultiplyWithHYPRE(MatType type)
{
  Mat A[2], P, H, C[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 40, 40, TEST_EVEN, 4, 1, &A[0], &A[1]));
  PetscCall(TestCreate(MATAIJ, 40, 17, TEST_EVEN, 2, 2, &P));
  PetscCall(MatConvert(P, MATHYPRE, MAT_INITIAL_MATRIX, &H));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatScale(A[k], 3));
    PetscCall(MatPtAP(A[k], H, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
  }
  PetscCall(TestCompareRows(C[0], C[1], "PtAP with a MATHYPRE"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&C[k]));
  }
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T A P with a virtual transpose, which PETSc has with hypre alone. */
static PetscErrorCode MultiplyTranspose(MatType type)
{
  Mat A[2], P[2], At, C[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 40, 40, TEST_EVEN, 4, 1, &A[0], &A[1]));
  PetscCall(TestCreatePair(type, 40, 17, TEST_EVEN, 2, 2, &P[0], &P[1]));
  for (int ours = 0; ours < 2; ours++) { /* of both types, or P alone a MATAIJ */
    for (int k = 0; k < 2; k++) {
      PetscCall(MatScale(A[k], 3));
      PetscCall(MatCreateTranspose(A[k], &At));
      PetscCall(MatMatMatMult(At, A[k], P[ours ? k : 0], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[k]));
      PetscCall(MatDestroy(&At));
    }
    PetscCall(TestCompareRows(C[0], C[1], "A^T A P with a virtual transpose"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&C[k]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&P[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The five-point stencil on a grid of n x n points. */
static PetscErrorCode Poisson(MatType type, PetscInt n, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt i = row / n, j = row % n;

    PetscCall(MatSetValue(*A, row, row, 4, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, row, row - n, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, row, row + n, -1, INSERT_VALUES));
    if (j > 0) PetscCall(MatSetValue(*A, row, row - 1, -1, INSERT_VALUES));
    if (j < n - 1) PetscCall(MatSetValue(*A, row, row + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three solves with new values before the second one and new entries before the third one. */
static PetscErrorCode Solve(Mat A, const char pc_type[], PetscInt its[3], Vec x[3])
{
  KSP      ksp;
  PC       pc;
  Vec      b, ones;
  PetscInt begin, N;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(TestFill(b, 3));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHYPRE));
#if defined(PETSC_HAVE_HYPRE) // without it PETSc 3.24 has no such function
  PetscCall(PCHYPRESetType(pc, pc_type));
#endif
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatCreateVecs(A, &x[k], NULL));
    PetscCall(KSPSolve(ksp, b, x[k]));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    if (k == 0) { /* another matrix of the same pattern */
      PetscCall(VecDuplicate(b, &ones));
      PetscCall(VecSet(ones, 5));
      PetscCall(MatDiagonalSet(A, ones, INSERT_VALUES));
      PetscCall(VecDestroy(&ones));
    }
    if (k == 1) {
      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatSetValue(A, begin, (begin + N / 2) % N, -0.5, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSolves(MatType type, MatType reference, const char pc_type[])
{
  PetscInt  its[2][3];
  PetscReal error, norm;
  Vec       x[2][3];
  Mat       A;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Poisson(k ? type : reference, 24, &A));
    PetscCall(Solve(A, pc_type, its[k], x[k]));
    PetscCall(MatDestroy(&A));
  }
  for (int k = 0; k < 3; k++) {
    Vec difference;

    PetscCheck(its[0][k] == its[1][k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, solve %d: %" PetscInt_FMT " iterations with %s, %" PetscInt_FMT " with %s", pc_type, k + 1, its[0][k], reference,
               its[1][k], type);
    PetscCall(VecDuplicate(x[0][k], &difference));
    PetscCall(VecCopy(x[1][k], difference));
    PetscCall(VecAXPY(difference, -1, x[0][k]));
    PetscCall(VecNorm(difference, NORM_2, &error));
    PetscCall(VecNorm(x[0][k], NORM_2, &norm));
    PetscCheck(error <= 1e-7 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, solve %d: the solutions differ by %g", pc_type, k + 1, (double)(error / norm));
    PetscCall(VecDestroy(&difference));
    PetscCall(VecDestroy(&x[0][k]));
    PetscCall(VecDestroy(&x[1][k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's type to compare with: a hypre with GPU support gets a MATAIJ on the host and ours on the device, and does not do the same there. */
static PetscErrorCode GetReference(MatType type, MatType *reference, PetscBool *device)
{
  Mat          A, H;
  PetscMemType memory;

  PetscFunctionBegin;
  PetscCall(TestCreate(type, 10, 10, TEST_EVEN, 2, 1, &A));
  PetscCall(MatConvert(A, MATHYPRE, MAT_INITIAL_MATRIX, &H));
  PetscCall(MatGetCurrentMemType(H, &memory));
  *device    = (PetscBool)PetscMemTypeDevice(memory);
  *reference = *device ? MATAIJCUSPARSE : MATAIJ;
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWithHYPRE(MatType type)
{
  const char *names[]    = {"dcsrcuda", "aijdcsrcuda", NULL};
  const char *pc_types[] = {"boomeramg", "pilut", "parasails", "ilu"}; /* the last three on the host alone */
  MatType     reference  = MATAIJ;
  PetscBool   device     = PETSC_FALSE;
  PetscMPIInt size;
  Mat         A, B;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  names[2] = size > 1 ? "mpiaijdcsrcuda" : "seqaijdcsrcuda";
  PetscCall(GetReference(type, &reference, &device));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names); k++) {
      PetscCall(TestCreatePair(type, 37, layout == TEST_EVEN ? 23 : 37, layout, 4, 1, &A, &B));
      PetscCall(Convert(A, B, names[k], "aijdcsrcuda"));
      PetscCall(CompareOrder(A, B, reference));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
  }
  PetscCall(RefillOthers(type, device));
  PetscCall(Multiply(type));
  PetscCall(MultiplyWithHYPRE(type));
  PetscCall(MultiplyTranspose(type));
  for (size_t k = 0; k < (device ? 1 : PETSC_STATIC_ARRAY_LENGTH(pc_types)); k++) PetscCall(CompareSolves(type, reference, pc_types[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscBool   hypre = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-hypre", &hypre, NULL));
  if (size == 1) PetscCall(Composed(MATSEQAIJ, "seqaijdcsrcuda"));
  PetscCall(Composed(MATMPIAIJ, "mpiaijdcsrcuda"));
  if (hypre) PetscCall(TestWithHYPRE(type));
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
         suffix: composed
      test:
         suffix: 1
         requires: hypre double !complex
         args: -hypre -matmatmult_via hypre -matptap_via hypre
      test:
         suffix: hidden
         requires: hypre double !complex
         args: -hypre -matmatmult_via hypre -matptap_via hypre -mat_dcsr_test_hide_host

TEST*/
