static char help[] =
  "Products of three matrices in slices have the bits of those without: patterns with empty and with full rows, all numbers of slices, reuse, and the number that is chosen when memory is short.\n\
  -grid n  : points in every direction of a grid, for a product that needs memory\n\
  -block n : unknowns of a point there; twice as many of a coarse one when there are several\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

/* Patterns of rows. */
typedef enum {
  RANDOM,
  MANY_EMPTY, /* two of three rows have no entry */
  ONE_FULL,   /* one row has all columns */
  NOTHING,    /* no entry at all */
  NUM_KINDS
} Kind;

static const char *const kind_names[] = {"random", "many empty rows", "one full row", "nothing"};

static PetscErrorCode Enter(Mat A, Kind kind, PetscInt shift)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < m && kind != NOTHING; i++) {
    const PetscInt size = kind == MANY_EMPTY && i % 3 != 1 ? 0 : kind == ONE_FULL && i == m / 3 ? n : PetscMin(3, n);

    for (PetscInt k = 0; k < size; k++) PetscCall(MatSetValue(A, i, (i * 7 + k * (k == 2 ? 5 : 1) + shift) % n, 0.3 + (PetscReal)((i * 31 + k * 17 + shift) % 101) / 97, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* slices 0: MATAIJ */
static PetscErrorCode Create(MatType type, PetscInt slices, PetscInt m, PetscInt n, Kind kind, Mat *A)
{
  char value[16];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(value, sizeof(value), "%" PetscInt_FMT, slices));
  if (slices > 0) PetscCall(PetscOptionsSetValue(NULL, "-mat_dcsr_product_slices", value));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, m, n, m, n));
  PetscCall(MatSetType(*A, slices > 0 ? type : MATSEQAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(Enter(*A, kind, 0));
  if (slices > 0) PetscCall(PetscOptionsClearValue(NULL, "-mat_dcsr_product_slices"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(MatProductType type, const Mat m[], MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (type == MATPRODUCT_PtAP) PetscCall(MatPtAP(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_RARt) PetscCall(MatRARt(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMatMult(m[0], m[1], m[2], reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C in slices against C without and against MATAIJ's. */
static PetscErrorCode Compare(MatProductType product, const Mat refs[], Mat whole, Mat sliced, const char what[])
{
  Mat       R;
  PetscBool equal;

  PetscFunctionBegin;
  PetscCall(MatEqual(whole, sliced, &equal));
  PetscCheck(equal, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the bits differ from those without slices", what);
  PetscCall(Multiply(product, refs, MAT_INITIAL_MATRIX, &R));
  PetscCall(TestCompareRows(R, sliced, what));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix itself is viewed, and nothing is shown of it. */
static PetscErrorCode ViewQuietly(Mat C)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_SELF, "/dev/null", &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(C, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProduct(MatType type, MatProductType product, PetscInt size, PetscInt width, PetscInt slices, const Kind kinds[])
{
  const PetscInt shapes[3][2] = {{size, size}, {product == MATPRODUCT_RARt ? width : size, product == MATPRODUCT_RARt ? size : width}, {width, size}};
  const PetscInt n            = product == MATPRODUCT_ABC ? 3 : 2;
  Mat            mats[3][3], C[2]; /* MATAIJ, ours without slices, ours with them */
  char           what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %" PetscInt_FMT " x %" PetscInt_FMT ", %" PetscInt_FMT " slices, %s and %s", MatProductTypes[product], size, width, slices, kind_names[kinds[0]],
                          kind_names[kinds[1]]));
  for (int w = 0; w < 3; w++)
    for (PetscInt k = 0; k < n; k++) PetscCall(Create(type, w == 0 ? 0 : w == 1 ? 1 : slices, shapes[k][0], shapes[k][1], kinds[k % 2], &mats[w][k]));
  for (int w = 0; w < 2; w++) PetscCall(Multiply(product, mats[w + 1], MAT_INITIAL_MATRIX, &C[w]));
  PetscCall(Compare(product, mats[0], C[0], C[1], what));
  PetscCall(ViewQuietly(C[1]));
  for (PetscInt k = 0; k < n; k++) {
    for (int w = 0; w < 3; w++) PetscCall(MatScale(mats[w][k], 1.7));
    for (int w = 0; w < 2; w++) PetscCall(Multiply(product, mats[w + 1], MAT_REUSE_MATRIX, &C[w]));
    PetscCall(Compare(product, mats[0], C[0], C[1], what));
  }
  for (PetscInt k = 0; k < n && !C[1]->boundtocpu; k++) { /* MATAIJ's own products do not notice */
    for (int w = 0; w < 3; w++) PetscCall(Enter(mats[w][k], ONE_FULL, 3));
    for (int w = 0; w < 2; w++) PetscCall(Multiply(product, mats[w + 1], MAT_REUSE_MATRIX, &C[w]));
    PetscCall(Compare(product, mats[0], C[0], C[1], what));
  }
  for (int w = 0; w < 2; w++) PetscCall(MatDestroy(&C[w]));
  for (int w = 0; w < 3; w++)
    for (PetscInt k = 0; k < n; k++) PetscCall(MatDestroy(&mats[w][k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stencil of 7 points, and a prolongator to every other point of each line; full br x bc blocks. */
static PetscErrorCode EnterGrid(Mat A, PetscInt n, PetscBool prolongator)
{
  const PetscInt steps[] = {0, -1, 1, -n, n, -n * n, n * n}, size = n * n * n;
  PetscInt       br, bc;
  PetscScalar    values[32];

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(A, &br, &bc));
  for (PetscInt i = 0; i < size; i++) {
    for (int k = 0; k < (prolongator ? 3 : 7); k++) {
      const PetscInt j = (i + steps[k]) / (prolongator ? 2 : 1);

      for (PetscInt e = 0; e < br * bc; e++) values[e] = 1 + (PetscReal)((i + k + 5 * e) % 13) / 7;
      if (i + steps[k] >= 0 && i + steps[k] < size) PetscCall(MatSetValuesBlocked(A, 1, &i, 1, &j, values, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that needs more memory than -petscsparsecuda_test_available_memory says there is. */
static PetscErrorCode TestGrid(MatType type, PetscInt n, PetscInt block)
{
  const PetscInt coarse = block > 1 ? 2 * block : 1;
  Mat            mats[2][2], C[2];
  PetscBool      equal;

  PetscFunctionBegin;
  for (int w = 0; w < 2; w++) {
    if (w == 0 || block > 1) PetscCall(PetscOptionsSetValue(NULL, "-mat_dcsr_product_slices", w == 0 ? "1" : "4"));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatCreate(PETSC_COMM_SELF, &mats[w][k]));
      PetscCall(MatSetSizes(mats[w][k], n * n * n * block, k ? (n * n * n + 1) / 2 * coarse : n * n * n * block, PETSC_DETERMINE, PETSC_DETERMINE));
      PetscCall(MatSetBlockSizes(mats[w][k], block, k ? coarse : block));
      PetscCall(MatSetType(mats[w][k], type));
      PetscCall(MatSeqAIJSetPreallocation(mats[w][k], 7 * block, NULL));
      PetscCall(EnterGrid(mats[w][k], n, (PetscBool)k));
    }
    PetscCall(PetscOptionsClearValue(NULL, "-mat_dcsr_product_slices"));
    PetscCall(MatPtAP(mats[w][0], mats[w][1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C[w]));
  }
  PetscCall(MatEqual(C[0], C[1], &equal));
  PetscCheck(equal, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A product whose slices memory asks for has other bits");
  PetscCall(MatViewFromOptions(C[1], NULL, "-result_view"));
  for (int w = 0; w < 2; w++) {
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[w][k]));
    PetscCall(MatDestroy(&C[w]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All kinds of one operand, while the other one is random. */
static PetscErrorCode TestKinds(MatType type, MatProductType product, PetscInt size, PetscInt width, PetscInt slices)
{
  PetscFunctionBegin;
  for (Kind k = RANDOM; k < NUM_KINDS; k++) {
    const Kind pairs[][2] = {{k, RANDOM}, {RANDOM, k}};

    for (int pair = 0; pair < (k == RANDOM ? 1 : 2); pair++) PetscCall(TestProduct(type, product, size, width, slices, pairs[pair]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt       cases[][3] = {{60, 25, 3}, {9, 1, 1000}, {5, 40, 1000}, {1, 1, 2}, {300, 40, 7}}; // rows, columns, slices
  const MatProductType products[] = {MATPRODUCT_PtAP, MATPRODUCT_RARt, MATPRODUCT_ABC};
  char                *type;
  PetscInt             grid = 0, block = 1;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-grid", &grid, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-block", &block, NULL));
  if (grid > 0) PetscCall(TestGrid(type, grid, block));
  for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(products) && grid == 0; p++)
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(TestKinds(type, products[p], cases[k][0], cases[k][1], cases[k][2]));
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
      test:
         suffix: hidden
         requires: cuda
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         requires: cuda
         args: -mat_dcsr_test_wide_from 50
      test:
         suffix: grid
         args: -grid {{30 31}}
      test:
         suffix: blocks
         args: -grid 9 -block 3

   test:
      suffix: memory
      requires: cuda
      args: -grid 50 -petscsparsecuda_test_available_memory 20000000 -result_view ::ascii_info
      filter: grep -c "slices:"

TEST*/
