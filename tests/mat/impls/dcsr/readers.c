static char help[] = "Functions of PETSc that read the host arrays of a MATAIJ without asking, with matrices whose newest structure and values are on the device.\n\n";

#include "testmat.h"
#include <petscksp.h>
#include "../../../../src/petsc/mat.h"

/* The same columns in every row; for matrices without values. */
static PetscErrorCode CompareStructure(Mat A, Mat B, const char what[])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscInt        na, nb;
    const PetscInt *a, *b;

    PetscCall(MatGetRow(A, i, &na, &a, NULL));
    PetscCall(MatGetRow(B, i, &nb, &b, NULL));
    PetscCheck(na == nb, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has %" PetscInt_FMT " entries and should have %" PetscInt_FMT, what, i, nb, na);
    for (PetscInt k = 0; k < na; k++)
      PetscCheck(a[k] == b[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has column %" PetscInt_FMT " where %" PetscInt_FMT " should be", what, i, b[k], a[k]);
    PetscCall(MatRestoreRow(A, i, &na, &a, NULL));
    PetscCall(MatRestoreRow(B, i, &nb, &b, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sequential matrix with values and a pattern of this process. */
static PetscErrorCode CreateLocal(MatType type, PetscInt m, PetscInt n, Mat *A)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, m, n, m, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(TestEnter(*A, 2 + rank, 3 + rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both matrices, one of them on the device. */
static PetscErrorCode Scale(Mat A, Mat B, PetscScalar s)
{
  PetscFunctionBegin;
  PetscCall(MatScale(A, s));
  PetscCall(MatScale(B, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two phases one by one: without the structure on the host they are refused, everywhere. */
static PetscErrorCode TestSumPhases(Mat A, Mat B, PetscBool kept)
{
  PetscErrorCode ierr;
  Mat            a, b;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatCreateMPIAIJSumSeqAIJSymbolic(PETSC_COMM_WORLD, B, PETSC_DECIDE, PETSC_DECIDE, &b);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_SUCCESS || (!kept && ierr == PETSC_ERR_SUP), PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatCreateMPIAIJSumSeqAIJSymbolic() returned %d", (int)ierr);
  if (ierr != PETSC_SUCCESS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateMPIAIJSumSeqAIJNumeric(B, b));
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, A, PETSC_DECIDE, PETSC_DECIDE, MAT_INITIAL_MATRIX, &a));
  PetscCall(TestCompareRows(a, b, "MatCreateMPIAIJSumSeqAIJSymbolic(), MatCreateMPIAIJSumSeqAIJNumeric()"));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSum(MatType type)
{
  PetscMPIInt size;
  Mat         A, B, fresh, a, b;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateLocal(MATAIJ, 23, 23, &A));
  PetscCall(CreateLocal(type, 23, 23, &B));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &fresh));
  PetscCall(Scale(A, B, 3.0));
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, A, PETSC_DECIDE, PETSC_DECIDE, MAT_INITIAL_MATRIX, &a));
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, B, PETSC_DECIDE, PETSC_DECIDE, MAT_INITIAL_MATRIX, &b));
  PetscCall(TestCompare(a, b, "MatCreateMPIAIJSumSeqAIJ()"));
  PetscCall(Scale(A, B, -0.5));
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, A, PETSC_DECIDE, PETSC_DECIDE, MAT_REUSE_MATRIX, &a));
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, B, PETSC_DECIDE, PETSC_DECIDE, MAT_REUSE_MATRIX, &b));
  PetscCall(TestCompare(a, b, "MatCreateMPIAIJSumSeqAIJ() with MAT_REUSE_MATRIX"));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  /* a new pattern, made on the device after the structure had to be there */
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (int k = 0; k < 2; k++) {
    Mat M = k == 0 ? A : B;

    for (PetscInt i = 0; i < 20; i++) PetscCall(MatSetValue(M, i, (7 * i + 3) % 23, 0.25, ADD_VALUES));
    PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, A, PETSC_DECIDE, PETSC_DECIDE, MAT_INITIAL_MATRIX, &a));
  PetscCall(MatCreateMPIAIJSumSeqAIJ(PETSC_COMM_WORLD, B, PETSC_DECIDE, PETSC_DECIDE, MAT_INITIAL_MATRIX, &b));
  PetscCall(TestCompare(a, b, "MatCreateMPIAIJSumSeqAIJ() after an insertion"));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  if (size > 1) PetscCall(TestSumPhases(A, B, PETSC_TRUE)); /* the structure is kept from now on */
  PetscCall(MatDestroy(&A));
  PetscCall(CreateLocal(MATAIJ, 23, 23, &A));
  PetscCall(Scale(A, fresh, 2.0));
  if (size > 1) PetscCall(TestSumPhases(A, fresh, PETSC_FALSE));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = M x + z and y = M^T x + z */
static PetscErrorCode CompareAdd(Mat M, Mat N, const char what[])
{
  Vec x[2], y[2], z[2], w[2];
  Mat mats[2] = {M, N};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(mats[k], &x[k], &y[k]));
    PetscCall(VecDuplicate(y[k], &z[k]));
    PetscCall(VecDuplicate(x[k], &w[k]));
    PetscCall(TestFill(x[k], 3));
    PetscCall(TestFill(z[k], 4));
    PetscCall(MatMultAdd(mats[k], x[k], z[k], y[k]));
    PetscCall(MatMultTransposeAdd(mats[k], y[k], x[k], w[k]));
  }
  PetscCall(TestCompareVec(y[0], y[1], what));
  PetscCall(TestCompareVec(w[0], w[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
    PetscCall(VecDestroy(&z[k]));
    PetscCall(VecDestroy(&w[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareConverted(Mat M, Mat N)
{
  Mat C, D;

  PetscFunctionBegin;
  PetscCall(MatConvert(M, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatConvert(N, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(TestCompareRows(C, D, "MATMAIJ as MATAIJ"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = M^T A M with one of the type and, where PETSc announces it, with a MATAIJ. */
static PetscErrorCode ComparePtAP(MatType type, PetscInt n, Mat M, Mat N, PetscBool announced)
{
  Mat A, B, C, D;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, n, n, TEST_EVEN, 4, 9, &A, &B));
  PetscCall(MatPtAP(A, M, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  if (announced) {
    PetscCall(MatPtAP(A, N, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(TestCompareProducts(C, D, "MatPtAP() of a MATAIJ with MATMAIJ"));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(MatPtAP(B, N, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(TestCompareProducts(C, D, "MatPtAP() with MATMAIJ"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATMAIJ of a matrix of the type, which changes while it is below. */
static PetscErrorCode TestMAIJ(MatType type, PetscInt unknowns, PetscBool announced)
{
  const PetscInt m = 24, n = 12;
  PetscMPIInt    size;
  Mat            A, B, M, N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestCreatePair(type, m, n, TEST_EVEN, 3, 7, &A, &B));
  PetscCall(MatCreateMAIJ(A, unknowns, &M));
  PetscCall(MatCreateMAIJ(B, unknowns, &N));
  PetscCall(TestCompareProducts(M, N, "MATMAIJ"));
  PetscCall(Scale(A, B, 1.5));
  PetscCall(CompareAdd(M, N, "MATMAIJ after MatScale() below it"));
  PetscCall(Scale(A, B, -2.0));
  PetscCall(CompareConverted(M, N));
  PetscCall(Scale(A, B, 0.5));
  PetscCall(TestCompareProducts(M, N, "MATMAIJ after its conversion"));
  if (size == 1) { /* MATMAIJ of MATMPIAIJ does not follow new ghost columns */
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetValue(k == 0 ? A : B, 5, 1, 7.0, INSERT_VALUES));
      PetscCall(MatSetValue(k == 0 ? A : B, 20, 11, -3.0, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(k == 0 ? A : B, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(k == 0 ? A : B, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestCompareProducts(M, N, "MATMAIJ after an insertion below it"));
  }
  PetscCall(Scale(A, B, 3.0));
  PetscCall(ComparePtAP(type, m * unknowns, M, N, announced));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&N));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern of a product, which PETSc computes with MATSEQAIJ's own code for all types. */
static PetscErrorCode StructureOnlyProduct(Mat A, MatProductType kind, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, A, NULL, C));
  PetscCall(MatSetOption(*C, MAT_STRUCTURE_ONLY, PETSC_TRUE));
  PetscCall(MatProductSetType(*C, kind));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStructureOnlyProducts(MatType type)
{
  const MatProductType kinds[] = {MATPRODUCT_AB, MATPRODUCT_AtB};
  Mat                  A, B, fresh, C, D;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 31, 31, TEST_EVEN, 4, 2, &A, &B));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++) {
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &fresh));
    PetscCall(MatScale(fresh, 2.0));
    PetscCall(StructureOnlyProduct(A, kinds[k], &C));
    PetscCall(StructureOnlyProduct(fresh, kinds[k], &D));
    PetscCall(CompareStructure(C, D, MatProductTypes[kinds[k]]));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
    PetscCall(MatDestroy(&fresh));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A symmetric positive definite matrix. */
static PetscErrorCode CreateTridiagonal(MatType type, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, type));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(MatSetValue(*A, i, i, 3.0 + (PetscReal)(i % 3), INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1.0, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors A, or again, and solves. */
static PetscErrorCode FactorAndSolve(Mat A, Mat *F, Vec b, Vec x)
{
  MatFactorInfo info;
  IS            rows, columns;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill   = 2;
  info.levels = 1;
  if (*F == NULL) {
    PetscCall(MatGetFactor(A, MATSOLVERBAS, MAT_FACTOR_ICC, F));
    PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &columns));
    PetscCall(MatICCFactorSymbolic(*F, A, rows, &info));
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
  }
  PetscCall(MatCholeskyFactorNumeric(*F, A, &info));
  PetscCall(MatSolve(*F, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factorizations of another package than MATSOLVERPETSC: that of MATSOLVERBAS is part of every PETSc. */
static PetscErrorCode TestPackage(MatType type)
{
  Mat A, B, F = NULL, G = NULL;
  Vec b, x, y;

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(MATAIJ, 29, &A));
  PetscCall(CreateTridiagonal(type, 29, &B));
  PetscCall(MatScale(B, 1.0));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 29, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestFill(b, 8));
  for (int k = 0; k < 2; k++) {
    PetscCall(FactorAndSolve(A, &F, b, x));
    PetscCall(FactorAndSolve(B, &G, b, y));
    PetscCall(TestCompareVec(x, y, "MatSolve() with MATSOLVERBAS"));
    PetscCall(Scale(A, B, 4.0));
  }
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A coloring of the columns compresses rows into a dense matrix, and expands one. */
static PetscErrorCode ApplyTransposeColoring(Mat A, ISColoring colors, Mat dense)
{
  MatTransposeColoring coloring;

  PetscFunctionBegin;
  PetscCall(MatTransposeColoringCreate(A, colors, &coloring));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatTransColoringApplySpToDen(coloring, A, dense));
  PetscCall(MatScale(A, 0.25));
  PetscCall(MatScale(dense, -3.0));
  PetscCall(MatTransColoringApplyDenToSp(coloring, dense, A));
  PetscCall(MatTransposeColoringDestroy(&coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTransposeColoring(MatType type)
{
  const PetscInt n = 26;
  PetscInt       num_colors;
  MatColoring    coloring;
  ISColoring     colors;
  Mat            A, B, dense[2];

  PetscFunctionBegin;
  PetscCall(CreateTridiagonal(MATAIJ, n, &A));
  PetscCall(CreateTridiagonal(type, n, &B));
  PetscCall(MatColoringCreate(A, &coloring));
  PetscCall(MatColoringSetType(coloring, MATCOLORINGSL));
  PetscCall(MatColoringApply(coloring, &colors));
  PetscCall(MatColoringDestroy(&coloring));
  PetscCall(ISColoringGetColors(colors, NULL, &num_colors, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, num_colors, NULL, &dense[k]));
    PetscCall(ApplyTransposeColoring(k == 0 ? A : B, colors, dense[k]));
  }
  PetscCall(TestCompareRows(dense[0], dense[1], "MatTransColoringApplySpToDen()"));
  PetscCall(TestCompare(A, B, "MatTransColoringApplyDenToSp()"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&dense[k]));
  PetscCall(ISColoringDestroy(&colors));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -1 where the structure is not on the host. */
static PetscErrorCode TestLongestRow(MatType type, PetscBool eager)
{
  PetscInt a, b;
  Mat      A, B;

  PetscFunctionBegin;
  PetscCall(CreateLocal(MATAIJ, 19, 11, &A));
  PetscCall(CreateLocal(type, 19, 11, &B));
  PetscCall(MatSeqAIJGetMaxRowNonzeros(A, &a));
  PetscCall(MatSeqAIJGetMaxRowNonzeros(B, &b));
  PetscCheck(a == b || (!eager && b == -1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSeqAIJGetMaxRowNonzeros(): %" PetscInt_FMT " where %" PetscInt_FMT " should be", b, a);
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Readers for which there is -mat_dcsr_host_structure eager alone. */
static PetscErrorCode TestEager(MatType type)
{
  const PetscInt         row = 4, columns[] = {4, 5}; /* the second entry is not there, and ignored */
  const PetscScalar      values[] = {2.0, 3.0};
  PetscInt               n, *degrees[2];
  ISLocalToGlobalMapping map;
  IS                     is;
  Mat                    mats[2];

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, 29, 0, 1, &is));
  PetscCall(ISLocalToGlobalMappingCreateIS(is, &map));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateLocal(k == 0 ? MATAIJ : type, 29, 29, &mats[k]));
    PetscCall(MatSetLocalToGlobalMapping(mats[k], map, map));
    PetscCall(MatScale(mats[k], 2.0));
    PetscCall(MatSeqAIJSetValuesLocalFast(mats[k], 1, &row, 2, columns, values, ADD_VALUES));
  }
  PetscCall(TestCompare(mats[0], mats[1], "MatSeqAIJSetValuesLocalFast()"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[k]));
  PetscCall(TestCreatePair(type, 40, 40, TEST_EVEN, 3, 6, &mats[0], &mats[1]));
  PetscCall(MatGetLocalSize(mats[0], &n, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscMalloc1(n, &degrees[k]));
    PetscCall(MatColoringGetDegrees(mats[k], 1, degrees[k]));
  }
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(degrees[0][i] == degrees[1][i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatColoringGetDegrees(): row %" PetscInt_FMT " has %" PetscInt_FMT " where %" PetscInt_FMT " should be", i,
               degrees[1][i], degrees[0][i]);
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFree(degrees[k]));
    PetscCall(MatDestroy(&mats[k]));
  }
  PetscCall(ISLocalToGlobalMappingDestroy(&map));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of a parallel matrix, gathered by rows, and what a MATAIJ with the same entries gives; a block of ours without structure on the host is what they are read from. */
static PetscErrorCode CompareLocalMat(Mat B, const char what[])
{
  Mat A, a, b;
  IS  ga, gb;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetLocalMat(B, MAT_INITIAL_MATRIX, &b));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatMPIAIJGetLocalMat(A, MAT_INITIAL_MATRIX, &a));
  PetscCall(TestCompare(a, b, what));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  PetscCall(MatMPIAIJGetLocalMatMerge(A, MAT_INITIAL_MATRIX, &ga, &a));
  PetscCall(MatMPIAIJGetLocalMatMerge(B, MAT_INITIAL_MATRIX, &gb, &b));
  PetscCall(TestCompare(a, b, what));
  PetscCall(ISDestroy(&ga));
  PetscCall(ISDestroy(&gb));
  PetscCall(MatDestroy(&a));
  PetscCall(MatDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operators and interpolations of PCGAMG, which have the structure of large blocks on the host only once somebody asks for it; of all blocks with the hidden host copy. */
static PetscErrorCode TestLevels(MatType type)
{
  PetscMPIInt size;
  PetscInt    levels;
  KSP         ksp, smoother;
  PC          pc;
  Mat         A, P;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestCreatePoisson(type, 40, &A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGSetRepartition(pc, PETSC_FALSE));
  PetscCall(PCGAMGSetProcEqLim(pc, 1)); // all processes stay
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCMGGetLevels(pc, &levels));
  PetscCheck(levels > 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "One level only");
  for (PetscInt level = 1; level < levels; level++) {
    PetscCall(PCMGGetInterpolation(pc, level, &P));
    PetscCall(CompareLocalMat(P, "interpolation of a level"));
    if (level == levels - 1) continue;
    PetscCall(PCMGGetSmoother(pc, level, &smoother));
    PetscCall(KSPGetOperators(smoother, NULL, &P));
    PetscCall(CompareLocalMat(P, "operator of a level"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix with rows of this process as MatCreateMPIAIJWithArrays() wants them: three to four entries a row, ascending; v [4 n] is filled. */
static PetscErrorCode CreateFromCSR(MatType type, PetscInt n, PetscInt i[], PetscInt j[], PetscScalar v[], Mat *A)
{
  PetscInt begin, N;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(PetscLayoutSetUp((*A)->rmap));
  begin = (*A)->rmap->rstart;
  N     = (*A)->rmap->N;
  i[0]  = 0;
  for (PetscInt k = 0; k < n; k++) {
    PetscInt columns[] = {(begin + k + N - 1) % N, begin + k, (begin + k + 1) % N, (begin + k + N / 2) % N}, count = 4;

    PetscCall(PetscSortRemoveDupsInt(&count, columns));
    for (PetscInt l = 0; l < count; l++) {
      j[i[k] + l] = columns[l];
      v[i[k] + l] = 1.0 + 0.1 * (PetscReal)((7 * k + 3 * l) % 11);
    }
    i[k + 1] = i[k] + count;
  }
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatUpdateMPIAIJWithArray() and MatUpdateMPIAIJWithArrays() read where rows of the diagonal block begin, and nobody announces them. */
static PetscErrorCode TestUpdate(MatType type)
{
  const PetscInt n = 23;
  PetscInt       i[24], j[92];
  PetscScalar    v[92];
  PetscMPIInt    size;
  Mat            A, B;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS); // MatMPIAIJSetPreallocationCSR() is for MATMPIAIJ
  PetscCall(CreateFromCSR(MATMPIAIJ, n, i, j, v, &A));
  PetscCall(CreateFromCSR(type, n, i, j, v, &B));
  PetscCall(TestCompare(A, B, "a matrix of arrays"));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatScale(B, 2.0));
  for (PetscInt k = 0; k < i[n]; k++) v[k] *= 3.0;
  PetscCall(MatUpdateMPIAIJWithArrays(A, n, n, PETSC_DETERMINE, PETSC_DETERMINE, i, j, v));
  PetscCall(MatUpdateMPIAIJWithArrays(B, n, n, PETSC_DETERMINE, PETSC_DETERMINE, i, j, v));
  PetscCall(TestCompare(A, B, "MatUpdateMPIAIJWithArrays()"));
  for (PetscInt k = 0; k < i[n]; k++) v[k] += 1.0;
  PetscCall(MatUpdateMPIAIJWithArray(A, v));
  PetscCall(MatUpdateMPIAIJWithArray(B, v));
  PetscCall(TestCompare(A, B, "MatUpdateMPIAIJWithArray()"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index set of each process grows by two neighbors, by the code that reads the arrays of the blocks. */
static PetscErrorCode GrowSet(Mat A, IS *set)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJSetUseScalableIncreaseOverlap(A, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, PetscMin(end - begin, 3), begin, 1, set));
  PetscCall(MatIncreaseOverlap(A, 1, set, 2));
  PetscCall(ISSort(*set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that shares the diagonal block of A, its duplicate, and itself after the pattern of A has changed: their infinity norms. */
static PetscErrorCode GetMultiProcNorms(Mat A, PetscReal norms[3])
{
  PetscInt    begin, end;
  PetscMPIInt rank;
  MPI_Comm    comm;
  Mat         part, copy;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank > 0, rank, &comm));
  PetscCall(MatGetMultiProcBlock(A, comm, MAT_INITIAL_MATRIX, &part));
  PetscCall(MatNorm(part, NORM_INFINITY, &norms[0]));
  PetscCall(MatDuplicate(part, MAT_COPY_VALUES, &copy));
  PetscCall(MatNorm(copy, NORM_INFINITY, &norms[1]));
  PetscCall(MatDestroy(&copy));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = begin; k < end; k++) PetscCall(MatSetValue(A, k, begin + (k - begin + 3) % (end - begin), 2.0, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatNorm(part, NORM_INFINITY, &norms[2]));
  PetscCall(MatDestroy(&part));
  PetscCallMPI(MPI_Comm_free(&comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Readers of blocks that no event announces. */
static PetscErrorCode TestUnannounced(MatType type)
{
  Mat         A, B;
  IS          sets[2];
  PetscReal   norms[2][3];
  PetscMPIInt size;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestCreatePair(type, 31, 31, TEST_EVEN, 4, 2, &A, &B));
  PetscCall(GrowSet(A, &sets[0]));
  PetscCall(GrowSet(B, &sets[1]));
  PetscCall(ISEqualUnsorted(sets[0], sets[1], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatIncreaseOverlap() gives another set");
  PetscCall(GetMultiProcNorms(A, norms[0]));
  PetscCall(GetMultiProcNorms(B, norms[1]));
  for (int k = 0; k < 3; k++)
    PetscCheck(PetscAbsReal(norms[0][k] - norms[1][k]) <= 100 * PETSC_MACHINE_EPSILON * norms[0][k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatGetMultiProcBlock(): norm %d is %g and should be %g", k,
               (double)norms[1][k], (double)norms[0][k]);
  for (int k = 0; k < 2; k++) PetscCall(ISDestroy(&sets[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAnnounced(MatType type)
{
  PetscFunctionBegin;
  PetscCall(TestSum(type));
  PetscCall(TestMAIJ(type, 3, PETSC_TRUE));
  PetscCall(TestMAIJ(type, 12, PETSC_TRUE));
  if (PETSC_VERSION_GE(3, 26, 0)) PetscCall(TestStructureOnlyProducts(type)); // which are of 3.26
  PetscCall(TestLevels(type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATMAIJ where PETSc announces nothing: in a stage, and of a class, that are not active. */
static PetscErrorCode TestNotAnnounced(MatType type)
{
  PetscLogStage stage;

  PetscFunctionBegin;
  PetscCall(PetscLogStageRegister("Not active", &stage));
  PetscCall(PetscLogStageSetActive(stage, PETSC_FALSE));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(TestMAIJ(type, 3, PETSC_FALSE));
  PetscCall(TestMAIJ(type, 12, PETSC_FALSE));
  PetscCall(PetscLogStagePop());
  PetscCall(PetscLogEventDeactivateClass(MAT_CLASSID));
  PetscCall(TestMAIJ(type, 3, PETSC_FALSE));
  PetscCall(TestMAIJ(type, 12, PETSC_FALSE));
  PetscCall(PetscLogEventActivateClass(MAT_CLASSID));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Log handlers of the program: as many as PETSc has positions for. */
static PetscLogHandler handlers[PETSC_LOG_HANDLER_MAX];
static PetscInt        num_begun = 0, num_ended = 0; /* events that they were told of */
static PetscLogEvent   test_event;

static PetscErrorCode CountBegin(PETSC_UNUSED PetscLogEvent event, PETSC_UNUSED int unused, PETSC_UNUSED PetscObject o1, PETSC_UNUSED PetscObject o2, PETSC_UNUSED PetscObject o3,
                                 PETSC_UNUSED PetscObject o4)
{
  num_begun++;
  return PETSC_SUCCESS;
}

static PetscErrorCode CountEnd(PETSC_UNUSED PetscLogEvent event, PETSC_UNUSED int unused, PETSC_UNUSED PetscObject o1, PETSC_UNUSED PetscObject o2, PETSC_UNUSED PetscObject o3,
                               PETSC_UNUSED PetscObject o4)
{
  num_ended++;
  return PETSC_SUCCESS;
}

static PetscErrorCode CreateHandlers(void)
{
  PetscLogHandler others;

  PetscFunctionBegin;
  PetscCall(PetscLogGetDefaultHandler(&others)); /* -petsc_ci starts it */
  if (others != NULL) PetscCall(PetscLogHandlerStop(others));
  PetscCall(PetscLogEventRegister("TestHandlers", PETSC_OBJECT_CLASSID, &test_event));
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) PetscCall(PetscLogHandlerCreateLegacy(PETSC_COMM_WORLD, CountBegin, CountEnd, NULL, NULL, &handlers[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StartHandlers(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) PetscCall(PetscLogHandlerStart(handlers[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each has been told of an event once. */
static PetscErrorCode StopHandlers(void)
{
  PetscFunctionBegin;
  num_begun = num_ended = 0;
  PetscCall(PetscLogEventBegin(test_event, NULL, NULL, NULL, NULL));
  PetscCall(PetscLogEventEnd(test_event, NULL, NULL, NULL, NULL));
  PetscCheck(num_begun == PETSC_LOG_HANDLER_MAX && num_ended == PETSC_LOG_HANDLER_MAX, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%d log handlers were told %" PetscInt_FMT " times that an event begins, and %" PetscInt_FMT " times that it ends", PETSC_LOG_HANDLER_MAX, num_begun, num_ended);
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) PetscCall(PetscLogHandlerStop(handlers[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyHandlers(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) PetscCall(PetscLogHandlerDestroy(&handlers[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Handlers that are started and stopped one by one, and those of PETSc, with stages. */
static PetscErrorCode TestHandlers(MatType type)
{
  PetscLogStage stage;

  PetscFunctionBegin;
  PetscCall(CreateHandlers());
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) {
    PetscCall(PetscLogHandlerStart(handlers[k]));
    PetscCall(TestSum(type));
  }
  PetscCall(TestAnnounced(type));
  for (int k = 0; k < PETSC_LOG_HANDLER_MAX; k++) {
    PetscCall(PetscLogHandlerStop(handlers[k]));
    PetscCall(TestSum(type));
  }
  PetscCall(DestroyHandlers());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscLogNestedBegin());
  PetscCall(PetscLogStageRegister("Readers", &stage));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(TestAnnounced(type));
  PetscCall(PetscLogStagePop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type, structure[16]   = "";
  PetscBool eager, handlers_first = PETSC_FALSE, handlers_later = PETSC_FALSE, not_active = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-handlers_first", &handlers_first, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-handlers_later", &handlers_later, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-not_active", &not_active, NULL));
  if (handlers_first) {
    PetscCall(CreateHandlers());
    PetscCall(StartHandlers());
  }
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_dcsr_host_structure", structure, sizeof(structure), NULL));
  PetscCall(PetscStrcmp(structure, "eager", &eager));
  PetscCall(TestAnnounced(type));
  if (handlers_first) {
    PetscCall(StopHandlers());
    PetscCall(TestLevels(type)); // assemblies take the positions again
    PetscCall(DestroyHandlers());
  }
  if (handlers_later) PetscCall(TestHandlers(type));
  if (not_active) PetscCall(TestNotAnnounced(type));
  PetscCall(TestUpdate(type));
  PetscCall(TestUnannounced(type));
  PetscCall(TestPackage(type));
  PetscCall(TestTransposeColoring(type));
  PetscCall(TestLongestRow(type, eager));
  if (eager) PetscCall(TestEager(type));
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
         suffix: on_demand
         args: -mat_dcsr_test_small_block 0
      test:
         suffix: eager
         args: -mat_dcsr_host_structure eager
      test:
         suffix: handlers
         requires: defined(PETSC_USE_LOG)
         args: -handlers_later -mat_type {{dcsrcuda hisparsecuda autocuda}}
      test:
         suffix: handlers_first
         requires: defined(PETSC_USE_LOG)
         args: -handlers_first -mat_dcsr_test_hide_host {{0 1}}
      test:
         suffix: not_active
         requires: defined(PETSC_USE_LOG)
         args: -not_active -mat_dcsr_test_hide_host {{0 1}} -mat_type {{dcsrcuda hisparsecuda autocuda}}

TEST*/
