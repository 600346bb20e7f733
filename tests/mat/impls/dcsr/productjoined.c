static char help[] =
  "Products of several processes do not copy the left factor: bits are those of products that do, memory stays below that of a copy, and an allocation that fails gives an error on all processes. Rows without and rows with only ghost columns, processes without either.\n\
  -bits_alone : without the tests of memory\n\n";

#include "testmat.h"
#include "../../../lib/sys.h"
#include "../../../../src/mat/impls/aijcuda/product/productimpl.h"

/* Rows of a process with entries: so many own ones, and so many in ghost columns. */
typedef enum {
  MANY,   /* every third row has ghost columns only; every second of the others has none */
  FIRST,  /* the first rows alone have ghost columns, and one in the middle */
  NOTHING /* no row has ghost columns */
} Ghosts;

#define NUM_COPIES 2 /* the left factor in one copy, and in copies as small as possible */

static const size_t copies[NUM_COPIES] = {PETSC_COUNT_MAX, 1};

/* A matrix of m rows and n columns on this process, which couples neighboring rows; N columns of all. */
static PetscErrorCode Create(MatType type, PetscInt m, PetscInt n, PetscInt num_own, PetscInt num_ghosts, Ghosts ghosts, PetscInt seed, Mat *A)
{
  PetscInt  begin, first, end, N;
  PetscBool is_reference;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, type));
  PetscCall(PetscStrcmp(type, MATAIJ, &is_reference));
  if (!is_reference) PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &begin, NULL));
  PetscCall(MatGetOwnershipRangeColumn(*A, &first, &end));
  PetscCall(MatGetSize(*A, NULL, &N));
  for (PetscInt i = 0; i < m; i++) {
    const PetscBool only = (PetscBool)(ghosts == MANY && i % 3 == 1), some = (PetscBool)(ghosts == MANY ? i % 2 : ghosts == FIRST && (i <= m / 8 || i == 5 * m / 8));

    for (PetscInt k = 0; k < num_own && !only && n > 0; k++)
      PetscCall(MatSetValue(*A, begin + i, first + ((PetscInt)((PetscReal)i * n / m) + k * (k % 2 ? 1 : 3)) % n, 1 + (i * 7 + k * 3 + seed) % 11 / 7.0, ADD_VALUES));
    for (PetscInt k = 0; k < num_ghosts && (only || some) && n < N; k++)
      PetscCall(MatSetValue(*A, begin + i, (end + (i + k * 5 + seed) % PetscMin(N - n, 40)) % N, 1 + (i * 5 + k + seed) % 13 / 9.0, ADD_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the rows of this process are like. */
static PetscErrorCode GetGhosts(Ghosts *ghosts)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  *ghosts = (Ghosts)(rank % 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three factors of m rows on this process: A with such rows, B, and a left one of fewer rows. */
static PetscErrorCode CreateOperands(MatType type, PetscInt m, Ghosts ghosts, Mat mats[3])
{
  PetscFunctionBegin;
  PetscCall(Create(type, m, m, 5, 3, ghosts, 1, &mats[0]));
  PetscCall(Create(type, m, m / 4, 2, 1, MANY, 2, &mats[1]));
  PetscCall(Create(type, m / 4, m, 4, 2, MANY, 3, &mats[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(MatProductType type, const Mat m[], MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (type == MATPRODUCT_AB) PetscCall(MatMatMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_PtAP) PetscCall(MatPtAP(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_RARt) PetscCall(MatRARt(m[0], m[2], reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMatMult(m[2], m[0], m[1], reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Results of both kinds have the same bits, and the values of MATAIJ's. */
static PetscErrorCode Compare(MatProductType type, const Mat refs[], Mat C[], const char what[])
{
  PetscBool equal;
  Mat       R;

  PetscFunctionBegin;
  PetscCall(MatEqual(C[0], C[1], &equal));
  PetscCheck(equal, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s has other bits when the left factor is not copied", MatProductTypes[type], what);
  PetscCall(Multiply(type, refs, MAT_INITIAL_MATRIX, &R));
  PetscCall(TestIsValid(C[1], what));
  PetscCall(TestCompareRows(R, C[1], what));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBits(MatProductType type, MatType mat_type, PetscInt m)
{
  Ghosts ghosts;
  Mat    refs[3], mats[3], C[NUM_COPIES];

  PetscFunctionBegin;
  PetscCall(GetGhosts(&ghosts));
  PetscCall(CreateOperands(MATAIJ, m, ghosts, refs));
  PetscCall(CreateOperands(mat_type, m, ghosts, mats));
  for (PetscInt step = 0; step < 4; step++) {
    for (PetscInt k = 0; k < 3 && step > 0; k++) {
      PetscCall(MatScale(refs[k], 1.5));
      PetscCall(MatScale(mats[k], 1.5));
    }
    for (int k = 0; k < NUM_COPIES; k++) {
      ProductJoinedBytes = copies[k];
      PetscCall(Multiply(type, mats, step > 0 ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &C[k]));
    }
    PetscCall(Compare(type, refs, C, step > 0 ? "with new values" : "new"));
  }
  for (int k = 0; k < NUM_COPIES; k++) PetscCall(MatDestroy(&C[k]));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&refs[k]));
    PetscCall(MatDestroy(&mats[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The most bytes of device memory of a product with new values, beyond those before it. */
static PetscErrorCode GetPeak(const Mat mats[], Mat *C, size_t *bytes)
{
  size_t now, start, peak;

  PetscFunctionBegin;
  PetscCall(MatScale(mats[0], 2));
  PetscCall(TestLibMemoryInUse(&now));
  PetscCall(PetscSparseCUDATestResetPeak());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &start));
  PetscCall(Multiply(MATPRODUCT_PtAP, mats, MAT_REUSE_MATRIX, C));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  *bytes = peak - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P with long rows of A and short ones of P, where a copy of A is most of the memory. */
static PetscErrorCode TestMemory(MatType type, PetscInt m)
{
  size_t  whole, peak[NUM_COPIES];
  MatInfo info;
  Ghosts  ghosts;
  Mat     mats[3] = {NULL, NULL, NULL}, C;

  PetscFunctionBegin;
  PetscCall(GetGhosts(&ghosts));
  PetscCall(Create(type, m, m, 60, 20, ghosts, 1, &mats[0]));
  PetscCall(Create(type, m, m / 8, 1, 0, NOTHING, 2, &mats[1]));
  PetscCall(MatGetInfo(mats[0], MAT_LOCAL, &info));
  whole = (size_t)info.nz_used * (sizeof(PetscScalar) + sizeof(int32_t));
  for (int k = 0; k < NUM_COPIES; k++) {
    ProductJoinedBytes = copies[k];
    PetscCall(Multiply(MATPRODUCT_PtAP, mats, MAT_INITIAL_MATRIX, &C));
    for (int r = 0; r < 2; r++) PetscCall(GetPeak(mats, &C, &peak[k])); // the first one keeps something for those after it
    PetscCall(MatDestroy(&C));
  }
  PetscCheck(ghosts == NOTHING || m == 0 || peak[0] >= whole, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes with a copy of %zu: the test measures something else", peak[0], whole);
  PetscCheck(peak[1] <= whole / 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory beside a left factor of %zu, which should not be copied; with a copy %zu", peak[1], whole, peak[0]);
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&mats[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An allocation of the last process fails, one after the other: an error of all, and nothing stays allocated. */
static PetscErrorCode TestFailing(MatType mat_type, PetscInt m, MatReuse reuse)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  PetscMPIInt    rank, size;
  size_t         before, after;
  Mat            refs[3], mats[3], R, C = NULL;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  ProductJoinedBytes = 1;
  PetscCall(CreateOperands(MATAIJ, m, FIRST, refs));
  PetscCall(CreateOperands(mat_type, m, FIRST, mats));
  PetscCall(Multiply(MATPRODUCT_PtAP, mats, MAT_INITIAL_MATRIX, &C));
  PetscCall(Multiply(MATPRODUCT_PtAP, refs, MAT_INITIAL_MATRIX, &R));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDestroy(&C));
  else PetscCall(Multiply(MATPRODUCT_PtAP, mats, reuse, &C));                             // what is kept is there
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n += reuse == MAT_INITIAL_MATRIX ? 3 : 1) { // a new product makes hundreds
    int codes[2];

    PetscCall(PetscObjectStateIncrease((PetscObject)mats[0]));
    PetscCall(TestLibMemoryInUse(&before));
    TestLibCallFailing(rank == size - 1 ? n : 0, ierr, Multiply(MATPRODUCT_PtAP, mats, reuse, &C));
    if (ierr != PETSC_SUCCESS && reuse == MAT_INITIAL_MATRIX) PetscCall(MatDestroy(&C));
    PetscCall(TestLibMemoryInUse(&after));
    codes[0] = (int)ierr;
    codes[1] = -(int)ierr;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
    PetscCheck(codes[0] == -codes[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " failed: error %d, and %d on another process", n, (int)ierr, codes[0]);
    PetscCheck(ierr == PETSC_SUCCESS || before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Allocation %" PetscInt_FMT " failed: %zu bytes are in use, before it were %zu", n, after, before);
    if (ierr == PETSC_SUCCESS || reuse == MAT_REUSE_MATRIX) PetscCall(TestCompareRows(R, C, "after an error"));
  }
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&C));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&refs[k]));
    PetscCall(MatDestroy(&mats[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatProductType types[] = {MATPRODUCT_AB, MATPRODUCT_PtAP, MATPRODUCT_RARt, MATPRODUCT_ABC};
  const MatReuse       reuse[] = {MAT_INITIAL_MATRIX, MAT_REUSE_MATRIX};
  PetscMPIInt          rank;
  PetscBool            bits_alone = PETSC_FALSE;
  char                *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bits_alone", &bits_alone, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(TestBits(types[k], type, 400));
    PetscCall(TestBits(types[k], type, rank % 2 ? 0 : 200)); // processes without rows
    PetscCall(TestBits(types[k], type, 8));
  }
  if (!bits_alone) PetscCall(TestMemory(type, 2000));
  for (size_t r = 0; r < 2 && !bits_alone; r++) PetscCall(TestFailing(type, 64, reuse[r]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{2 3 4}}
    requires: cuda
    timeoutfactor: 3
    output_file: output/empty.out

    test:
      suffix: 1

    test:
      suffix: slices
      args: -mat_dcsr_product_slices 3 -bits_alone

TEST*/
