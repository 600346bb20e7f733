static char help[] =
  "Products of parallel matrices without ghost columns, which multiply their diagonal blocks, against MATAIJ: of block diagonal matrices, with operands that get ghost columns and lose them again, for which products on the device, and no others, begin anew.\n\n";

#include "testmat.h"

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
