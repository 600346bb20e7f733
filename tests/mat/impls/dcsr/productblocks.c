static char help[] =
  "Products of parallel matrices without ghost columns, which multiply their diagonal blocks, against MATAIJ: of block diagonal matrices, with operands that get ghost columns and lose them again, for which products on the device, and no others, begin anew.\n\n";

#include "testmat.h"
#include "../../../lib/sys.h"

#define SIZE 40

/* A square matrix that couples the rows of a process alone; with reach every process but the first also has an entry in a column of the one before. */
static PetscErrorCode Create(MatType type, TestLayout layout, PetscInt seed, PetscBool reach, Mat *A)
{
  PetscMPIInt rank, size;
  PetscInt    m = PETSC_DECIDE, begin, end;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (layout == TEST_LAST_RANK) m = rank == size - 1 ? SIZE : 0;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, m, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < 4; k++) PetscCall(MatSetValue(*A, i, begin + (i * 7 + k * (seed + 2)) % (end - begin), 1 + (i * k + seed) % 5, ADD_VALUES));
  if (reach && begin > 0 && begin < end) PetscCall(MatSetValue(*A, begin, begin - 1, -2, ADD_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operands [3] of MATAIJ and of the type under test; the one with the number reaching has ghost columns. */
static PetscErrorCode CreateOperands(MatType type, TestLayout layout, PetscInt seed, PetscInt reaching, Mat mats[2][3])
{
  PetscFunctionBegin;
  for (int r = 0; r < 2; r++)
    for (PetscInt k = 0; k < 3; k++) PetscCall(Create(r ? type : MATAIJ, layout, seed + k, (PetscBool)(k == reaching), &mats[r][k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyOperands(Mat mats[2][3])
{
  PetscFunctionBegin;
  for (int r = 0; r < 2; r++)
    for (int k = 0; k < 3; k++) PetscCall(MatDestroy(&mats[r][k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(MatProductType type, const Mat m[], Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreate(m[0], m[1], type == MATPRODUCT_ABC ? m[2] : NULL, C));
  PetscCall(MatProductSetType(*C, type));
  PetscCall(MatProductSetFromOptions(*C));
  PetscCall(MatProductSymbolic(*C));
  PetscCall(MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other operands for a product of ours; MATAIJ's is made anew. */
static PetscErrorCode Replace(MatProductType type, MatType mat_type, TestLayout layout, PetscInt seed, PetscInt reaching, Mat C)
{
  Mat  mats[2][3], expected;
  char what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, layout %d, seed %" PetscInt_FMT ", operand %" PetscInt_FMT " with ghost columns", MatProductTypes[type], (int)layout, seed, reaching));
  PetscCall(CreateOperands(mat_type, layout, seed, reaching, mats));
  PetscCall(Multiply(type, mats[0], &expected));
  PetscCall(MatProductReplaceMats(mats[1][0], mats[1][1], type == MATPRODUCT_ABC ? mats[1][2] : NULL, C));
  PetscCall(MatProductNumeric(C));
  PetscCall(TestCompareProducts(expected, C, what));
  for (int r = 0; r < 2; r++)
    for (int k = 0; k < 3; k++) PetscCall(MatScale(mats[r][k], 0.5));
  PetscCall(MatProductNumeric(expected));
  PetscCall(MatProductNumeric(C));
  PetscCall(TestCompareProducts(expected, C, what));
  PetscCall(MatDestroy(&expected));
  PetscCall(DestroyOperands(mats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(MatProductType type, MatType mat_type, TestLayout layout)
{
  Mat mats[2][3], C;

  PetscFunctionBegin;
  PetscCall(CreateOperands(mat_type, layout, 1, -1, mats));
  PetscCall(Multiply(type, mats[1], &C));
  PetscCall(Replace(type, mat_type, layout, 1, -1, C)); // the same patterns
  PetscCall(Replace(type, mat_type, layout, 2, -1, C));
  for (PetscInt reaching = 0; reaching < (type == MATPRODUCT_ABC ? 3 : 2); reaching++) {
    PetscCall(Replace(type, mat_type, layout, 3, reaching, C));
    PetscCall(Replace(type, mat_type, layout, 4, -1, C));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(DestroyOperands(mats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values with each allocation of the last process failing once: an error of all, which keep the result that there was, and the right one afterwards. C is the product of ours. */
static PetscErrorCode NumericFailing(MatProductType type, Mat mats[2][3], Mat C)
{
  PetscMPIInt    rank, size;
  PetscErrorCode ierr = PETSC_ERR_MEM;
  Mat            old, expected;
  char           what[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &old));
  PetscCall(Multiply(type, mats[0], &expected));
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    int codes[2];

    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, allocation %" PetscInt_FMT " failed", MatProductTypes[type], n));
    TestLibCallFailing(rank == size - 1 ? n : 0, ierr, MatProductNumeric(C));
    codes[0] = (int)ierr;
    codes[1] = -(int)ierr;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
    PetscCheck(codes[0] == -codes[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d, and %d on another process", what, (int)ierr, codes[0]);
    PetscCall(TestCompareRows(ierr == PETSC_SUCCESS ? expected : old, C, what));
  }
  PetscCall(MatDestroy(&old));
  PetscCall(MatDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That for values of the same patterns, and for products that become those of diagonal blocks, or are it no more. */
static PetscErrorCode TestFailing(MatProductType type, MatType mat_type)
{
  const PetscInt reaching[] = {-1, 1, -1};
  Mat            mats[2][3], C;

  PetscFunctionBegin;
  PetscCall(CreateOperands(mat_type, TEST_EVEN, 1, -1, mats));
  PetscCall(Multiply(type, mats[1], &C));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(reaching); k++) {
    if (k > 0) {
      PetscCall(DestroyOperands(mats));
      PetscCall(CreateOperands(mat_type, TEST_EVEN, 1, reaching[k], mats));
      PetscCall(MatProductReplaceMats(mats[1][0], mats[1][1], type == MATPRODUCT_ABC ? mats[1][2] : NULL, C));
    } else
      for (int r = 0; r < 2; r++) PetscCall(MatScale(mats[r][0], 2));
    PetscCall(NumericFailing(type, mats, C));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(DestroyOperands(mats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatProductType types[] = {MATPRODUCT_AB, MATPRODUCT_AtB, MATPRODUCT_ABt, MATPRODUCT_PtAP, MATPRODUCT_RARt, MATPRODUCT_ABC};
  char                *type;
  PetscMPIInt          size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    if (types[k] == MATPRODUCT_ABt && size > 1) continue; // MATMPIAIJ computes it once
    PetscCall(Test(types[k], type, TEST_EVEN));
    PetscCall(Test(types[k], type, TEST_LAST_RANK));
    PetscCall(TestFailing(types[k], type));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 3}}
    requires: cuda
    output_file: output/empty.out

    test:
      suffix: 1

    test:
      suffix: hisparse
      args: -mat_type hisparsecuda

TEST*/
