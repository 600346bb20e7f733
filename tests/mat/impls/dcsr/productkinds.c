static char help[] = "Products of matrices of every type that MATAIJ takes part in, every algorithm of MATAIJ's by name, and results with a forced diagonal, against MATAIJ.\n\n";

#include "testmat.h"

#define SIZE 24

/* What an operand is; the first three are made of a matrix of the type under test. */
typedef enum {
  OURS,
  TRANSPOSE, /* MatCreateTranspose() */
  NEST,      /* of one matrix */
  AIJ,
  DENSE,
  BAIJ,
  IS_MATRIX,
  DIAGONAL,
  NONE
} Kind;

static const char *const kind_names[] = {"ours", "transpose of ours", "nest of ours", "aij", "dense", "baij", "is", "diagonal", ""};

/* All products that PETSc 3.26 has for MATAIJ in the place of ours, on one process and on several. again: MATAIJ's can be computed again, with operands that MatScale() has changed. */
static const struct {
  MatProductType type;
  Kind           kinds[3];
  PetscBool      again;
} products[] = {
  {MATPRODUCT_AB, {OURS, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {OURS, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {OURS, AIJ, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {OURS, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {OURS, DIAGONAL, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {TRANSPOSE, OURS, NONE}, PETSC_FALSE},
  {MATPRODUCT_AB, {TRANSPOSE, AIJ, NONE}, PETSC_FALSE},
  {MATPRODUCT_AB, {TRANSPOSE, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {NEST, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {NEST, DIAGONAL, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {AIJ, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {AIJ, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {DENSE, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {DIAGONAL, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_AB, {DIAGONAL, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_AB, {DIAGONAL, NEST, NONE}, PETSC_TRUE},
  {MATPRODUCT_AtB, {OURS, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_AtB, {OURS, AIJ, NONE}, PETSC_TRUE},
  {MATPRODUCT_AtB, {OURS, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AtB, {TRANSPOSE, OURS, NONE}, PETSC_FALSE},
  {MATPRODUCT_AtB, {TRANSPOSE, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_AtB, {TRANSPOSE, AIJ, NONE}, PETSC_FALSE},
  {MATPRODUCT_AtB, {TRANSPOSE, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AtB, {TRANSPOSE, DIAGONAL, NONE}, PETSC_FALSE},
  {MATPRODUCT_AtB, {NEST, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_AtB, {AIJ, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_ABt, {OURS, OURS, NONE}, PETSC_FALSE},
  {MATPRODUCT_ABt, {OURS, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_ABt, {OURS, AIJ, NONE}, PETSC_FALSE},
  {MATPRODUCT_ABt, {TRANSPOSE, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_ABt, {AIJ, OURS, NONE}, PETSC_FALSE},
  {MATPRODUCT_ABt, {AIJ, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_ABt, {DENSE, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {OURS, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {OURS, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_PtAP, {OURS, AIJ, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {OURS, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {OURS, DIAGONAL, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {NEST, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {NEST, DIAGONAL, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {AIJ, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {AIJ, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_PtAP, {DENSE, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {IS_MATRIX, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {DIAGONAL, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_PtAP, {DIAGONAL, TRANSPOSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_RARt, {OURS, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_RARt, {OURS, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_RARt, {OURS, AIJ, NONE}, PETSC_TRUE},
  {MATPRODUCT_RARt, {OURS, DENSE, NONE}, PETSC_TRUE},
  {MATPRODUCT_RARt, {AIJ, OURS, NONE}, PETSC_TRUE},
  {MATPRODUCT_RARt, {AIJ, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_RARt, {DENSE, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_RARt, {IS_MATRIX, TRANSPOSE, NONE}, PETSC_FALSE},
  {MATPRODUCT_ABC, {OURS, OURS, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, OURS, AIJ}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, OURS, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, NEST, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, AIJ, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, AIJ, AIJ}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, AIJ, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, DENSE, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, DENSE, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, BAIJ, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {OURS, IS_MATRIX, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {AIJ, OURS, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {AIJ, OURS, AIJ}, PETSC_TRUE},
  {MATPRODUCT_ABC, {AIJ, OURS, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {AIJ, AIJ, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {AIJ, DENSE, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {DENSE, OURS, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {DENSE, OURS, AIJ}, PETSC_TRUE},
  {MATPRODUCT_ABC, {DENSE, OURS, DENSE}, PETSC_TRUE},
  {MATPRODUCT_ABC, {DENSE, AIJ, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {DENSE, DENSE, OURS}, PETSC_TRUE},
  {MATPRODUCT_ABC, {BAIJ, OURS, DENSE}, PETSC_TRUE},
};

/* MATAIJ's algorithms; where: on one process, on several, or on both. */
typedef enum {
  ON_ONE     = 1,
  ON_SEVERAL = 2,
  ON_ANY     = 3
} Where;

static const struct {
  MatProductType type;
  Where          where;
  const char    *name;
} algorithms[] = {
  {MATPRODUCT_AB, ON_ONE, "sorted"},
  {MATPRODUCT_AB, ON_ANY, "scalable"},
  {MATPRODUCT_AB, ON_ONE, "scalable_fast"},
  {MATPRODUCT_AB, ON_ONE, "heap"},
  {MATPRODUCT_AB, ON_ONE, "btheap"},
  {MATPRODUCT_AB, ON_ONE, "llcondensed"},
  {MATPRODUCT_AB, ON_ONE, "rowmerge"},
  {MATPRODUCT_AB, ON_SEVERAL, "nonscalable"},
  {MATPRODUCT_AB, ON_SEVERAL, "seqmpi"},
  {MATPRODUCT_AB, ON_SEVERAL, "backend"},
  {MATPRODUCT_AtB, ON_ANY, "at*b"},
  {MATPRODUCT_AtB, ON_ONE, "outerproduct"},
  {MATPRODUCT_AtB, ON_SEVERAL, "scalable"},
  {MATPRODUCT_AtB, ON_SEVERAL, "nonscalable"},
  {MATPRODUCT_AtB, ON_SEVERAL, "backend"},
  {MATPRODUCT_ABt, ON_ONE, "color"},
  {MATPRODUCT_PtAP, ON_ANY, "scalable"},
  {MATPRODUCT_PtAP, ON_ONE, "rap"},
  {MATPRODUCT_PtAP, ON_SEVERAL, "nonscalable"},
  {MATPRODUCT_PtAP, ON_SEVERAL, "allatonce"},
  {MATPRODUCT_PtAP, ON_SEVERAL, "allatonce_merged"},
  {MATPRODUCT_PtAP, ON_SEVERAL, "backend"},
  {MATPRODUCT_RARt, ON_ONE, "r*a*rt"},
  {MATPRODUCT_RARt, ON_ONE, "r*art"},
  {MATPRODUCT_RARt, ON_ONE, "coloring_rart"},
  {MATPRODUCT_ABC, ON_ONE, "sorted"},
  {MATPRODUCT_ABC, ON_ANY, "scalable"},
  {MATPRODUCT_ABC, ON_ONE, "scalable_fast"},
  {MATPRODUCT_ABC, ON_ONE, "heap"},
  {MATPRODUCT_ABC, ON_ONE, "btheap"},
  {MATPRODUCT_ABC, ON_ONE, "llcondensed"},
  {MATPRODUCT_ABC, ON_ONE, "rowmerge"},
  {MATPRODUCT_ABC, ON_SEVERAL, "nonscalable"},
};

static PetscErrorCode CreateDiagonal(Mat A, PetscInt seed, Mat *D)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(TestFill(d, seed));
  PetscCall(MatCreateDiagonal(d, D));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One operand; type is MATAIJ for the reference. */
static PetscErrorCode CreateOperand(Kind kind, MatType type, MatType dense, PetscInt seed, Mat *M)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(TestCreate(kind < AIJ ? type : MATAIJ, SIZE, SIZE, TEST_EVEN, 3, seed, &A));
  if (kind == OURS || kind == AIJ) {
    *M = A;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (kind == TRANSPOSE) PetscCall(MatCreateTranspose(A, M));
  else if (kind == NEST) PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &A, M));
  else if (kind == DIAGONAL) PetscCall(CreateDiagonal(A, seed, M));
  else if (kind == DENSE) {
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, M));
    PetscCall(MatConvert(*M, dense, MAT_INPLACE_MATRIX, M));
  } else PetscCall(MatConvert(A, kind == BAIJ ? MATBAIJ : MATIS, MAT_INITIAL_MATRIX, M));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(MatProductType type, const Mat m[], MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (type == MATPRODUCT_AB) PetscCall(MatMatMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_AtB) PetscCall(MatTransposeMatMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_ABt) PetscCall(MatMatTransposeMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_PtAP) PetscCall(MatPtAP(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_RARt) PetscCall(MatRARt(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMatMult(m[0], m[1], m[2], reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line of the table: new, again with other values, and new again. */
static PetscErrorCode TestKinds(size_t k, MatType type, MatType dense)
{
  const PetscInt n = products[k].kinds[2] == NONE ? 2 : 3;
  Mat            mats[2][3], C[2];
  char           what[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s of %s, %s %s (%s)", MatProductTypes[products[k].type], kind_names[products[k].kinds[0]], kind_names[products[k].kinds[1]],
                          kind_names[products[k].kinds[2]], dense));
  for (int r = 0; r < 2; r++) {
    for (PetscInt i = 0; i < n; i++) PetscCall(CreateOperand(products[k].kinds[i], r ? type : MATAIJ, r ? dense : MATDENSE, i + 1, &mats[r][i]));
    PetscCall(Multiply(products[k].type, mats[r], MAT_INITIAL_MATRIX, &C[r]));
  }
  PetscCall(TestCompareProducts(C[0], C[1], what));
  for (int pass = 0; products[k].again && pass < 2; pass++) {
    for (int r = 0; r < 2; r++) {
      for (PetscInt i = 0; i < n; i++) PetscCall(MatScale(mats[r][i], 2 + pass));
      if (pass) PetscCall(MatDestroy(&C[r]));
      PetscCall(Multiply(products[k].type, mats[r], pass ? MAT_INITIAL_MATRIX : MAT_REUSE_MATRIX, &C[r]));
    }
    PetscCall(TestCompareProducts(C[0], C[1], what));
  }
  for (int r = 0; r < 2; r++) {
    for (PetscInt i = 0; i < n; i++) PetscCall(MatDestroy(&mats[r][i]));
    PetscCall(MatDestroy(&C[r]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a line is one of ours and dense matrices alone, without a dense one on the left of ours: PETSc has no product of MATDENSECUDA and a sparse matrix. */
static PetscBool OursAndDense(size_t k)
{
  PetscInt num_ours = 0, num_dense = 0;

  for (PetscInt i = 0; i < 3; i++) {
    const Kind kind = products[k].kinds[i];

    if (kind == OURS && num_dense > 0) return PETSC_FALSE;
    num_ours += kind == OURS || kind == NONE;
    num_dense += kind == DENSE;
  }
  return (PetscBool)(num_dense > 0 && num_ours + num_dense == 3 && products[k].type != MATPRODUCT_RARt);
}

/* On several processes PETSc 3.26 gives zero for this product of MATAIJ. Before 3.26 there are none with MATDIAGONAL, and a call of NULL for ABC with MATMPIBAIJ in front. */
static PetscBool ReferenceIsWrong(size_t k, PetscMPIInt size)
{
  for (int i = 0; PETSC_VERSION_LT(3, 26, 0) && i < 3; i++)
    if (products[k].kinds[i] == DIAGONAL || (size > 1 && products[k].type == MATPRODUCT_ABC && products[k].kinds[0] == BAIJ)) return PETSC_TRUE;
  return (PetscBool)(size > 1 && products[k].type == MATPRODUCT_PtAP && products[k].kinds[0] == DIAGONAL && products[k].kinds[1] == TRANSPOSE);
}

/* All lines of the table, or those with ours and dense matrices alone. */
static PetscErrorCode TestAllKinds(MatType type, MatType dense, PetscBool only_dense)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(products); k++)
    if (!ReferenceIsWrong(k, size) && (!only_dense || OursAndDense(k))) PetscCall(TestKinds(k, type, dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the phases, since then the algorithm can be named. */
static PetscErrorCode Phases(MatProductType type, const Mat m[], const char algorithm[], PetscBool forced, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(m[0], m[1], type == MATPRODUCT_ABC ? m[2] : NULL, C));
  PetscCall(MatProductSetType(*C, type));
  PetscCall(MatProductSetAlgorithm(*C, algorithm));
  PetscCall(MatSetOption(*C, MAT_FORCE_DIAGONAL_ENTRIES, forced));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscCall(MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One algorithm of MATAIJ's: values, and values again. */
static PetscErrorCode TestAlgorithm(size_t k, MatType type)
{
  const MatProductType product = algorithms[k].type;
  Mat                  mats[2][3], C[2];

  PetscFunctionBegin;
  for (int r = 0; r < 2; r++) {
    for (PetscInt i = 0; i < 3; i++) PetscCall(CreateOperand(OURS, r ? type : MATAIJ, MATDENSE, i + 1, &mats[r][i]));
    PetscCall(Phases(product, mats[r], algorithms[k].name, PETSC_FALSE, &C[r]));
  }
  PetscCall(TestCompare(C[0], C[1], algorithms[k].name));
  for (int r = 0; r < 2; r++) {
    for (PetscInt i = 0; i < 3; i++) PetscCall(MatScale(mats[r][i], 2));
    PetscCall(MatProductNumeric(C[r]));
  }
  PetscCall(TestCompare(C[0], C[1], algorithms[k].name));
  for (int r = 0; r < 2; r++) {
    for (PetscInt i = 0; i < 3; i++) PetscCall(MatDestroy(&mats[r][i]));
    PetscCall(MatDestroy(&C[r]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing in the first row and column. */
static PetscErrorCode CreateWithEmptyRow(MatType type, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = PetscMax(begin, 1); i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, 2, INSERT_VALUES));
    if (i > 1) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MAT_FORCE_DIAGONAL_ENTRIES: the diagonal can be set afterwards though new nonzeros are forbidden. */
static PetscErrorCode TestForcedDiagonal(MatType type, MatProductType product)
{
  Mat A[2], C[2];

  PetscFunctionBegin;
  for (int r = 0; r < 2; r++) {
    Mat mats[2];
    Vec diagonal;

    PetscCall(CreateWithEmptyRow(r ? type : MATAIJ, &A[r]));
    mats[0] = mats[1] = A[r];
    PetscCall(Phases(product, mats, MATPRODUCTALGORITHMDEFAULT, PETSC_TRUE, &C[r]));
    PetscCall(MatSetOption(C[r], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
    PetscCall(MatCreateVecs(C[r], NULL, &diagonal));
    PetscCall(TestFill(diagonal, 3));
    PetscCall(MatDiagonalSet(C[r], diagonal, INSERT_VALUES));
    PetscCall(VecDestroy(&diagonal));
  }
  PetscCall(TestCompare(C[0], C[1], "MAT_FORCE_DIAGONAL_ENTRIES"));
  for (int r = 0; r < 2; r++) {
    PetscCall(MatDestroy(&A[r]));
    PetscCall(MatDestroy(&C[r]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  Mat         A;
  VecType     vec_type;
  PetscBool   device;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestCreate(type, 4, 4, TEST_EVEN, 1, 1, &A));
  PetscCall(MatGetVecType(A, &vec_type));
  PetscCall(PetscStrcmp(vec_type, VECCUDA, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(TestAllKinds(type, MATDENSE, PETSC_FALSE));
  if (device) PetscCall(TestAllKinds(type, MATDENSECUDA, PETSC_TRUE));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(algorithms); k++)
    if (algorithms[k].where & (size > 1 ? ON_SEVERAL : ON_ONE)) PetscCall(TestAlgorithm(k, type));
  PetscCall(TestForcedDiagonal(type, MATPRODUCT_AB));
  PetscCall(TestForcedDiagonal(type, MATPRODUCT_AtB));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
