static char help[] =
  "Products of several processes do not copy the left factor, and go by full blocks: bits are those of products that do, and of those entry by entry, memory stays below that of a copy, and an allocation that fails gives an error on all processes. Rows without and rows with only ghost columns, processes without either.\n\
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

#define NUM_COPIES 2 /* the left factor in one copy, and in copies as small as possible; */
#define NUM_WAYS   3 /* and entry by entry where there are blocks */

static const size_t copies[NUM_WAYS] = {PETSC_COUNT_MAX, 1, 1};

/* Sizes of full blocks of points, and of coarse ones; 1 and 1: scalars. */
typedef struct {
  PetscInt fine, coarse;
} Sizes;

static const Sizes scalar = {1, 1};

/* A block of values at this place. */
static PetscErrorCode AddBlock(Mat A, PetscInt i, PetscInt j, PetscScalar value)
{
  PetscInt    br, bc, rows[6], columns[6];
  PetscScalar values[36];

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(A, &br, &bc));
  for (PetscInt r = 0; r < br; r++) rows[r] = i * br + r;
  for (PetscInt c = 0; c < bc; c++) columns[c] = j * bc + c;
  for (PetscInt k = 0; k < br * bc; k++) values[k] = value + (PetscReal)((i + 2 * j + 5 * k) % 17) / 3 * (k > 0);
  PetscCall(MatSetValues(A, br, rows, bc, columns, values, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of m rows and n columns of br x bc blocks on this process, which couples neighboring rows; N columns of all. */
static PetscErrorCode Create(MatType type, const char prefix[], PetscInt m, PetscInt n, PetscInt br, PetscInt bc, PetscInt num_own, PetscInt num_ghosts, Ghosts ghosts, PetscInt seed, Mat *A)
{
  PetscInt  begin, first, end, N;
  PetscBool is_reference;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m * br, n * bc, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*A, br, bc));
  PetscCall(MatSetOptionsPrefix(*A, prefix));
  PetscCall(MatSetType(*A, type));
  PetscCall(PetscStrcmp(type, MATAIJ, &is_reference));
  if (!is_reference) PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &begin, NULL));
  PetscCall(MatGetOwnershipRangeColumn(*A, &first, &end));
  PetscCall(MatGetSize(*A, NULL, &N));
  begin /= br;
  first /= bc;
  end /= bc;
  N /= bc;
  for (PetscInt i = 0; i < m; i++) {
    const PetscBool only = (PetscBool)(ghosts == MANY && i % 3 == 1), some = (PetscBool)(ghosts == MANY ? i % 2 : ghosts == FIRST && (i <= m / 8 || i == 5 * m / 8));

    for (PetscInt k = 0; k < num_own && !only && n > 0; k++)
      PetscCall(AddBlock(*A, begin + i, first + ((PetscInt)((PetscReal)i * n / m) + k * (k % 2 ? 1 : 3)) % n, 1 + (i * 7 + k * 3 + seed) % 11 / 7.0));
    for (PetscInt k = 0; k < num_ghosts && (only || some) && n < N; k++) PetscCall(AddBlock(*A, begin + i, (end + (i + k * 5 + seed) % PetscMin(N - n, 40)) % N, 1 + (i * 5 + k + seed) % 13 / 9.0));
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
static PetscErrorCode CreateOperands(MatType type, const char prefix[], PetscInt m, Sizes s, Ghosts ghosts, Mat mats[3])
{
  PetscFunctionBegin;
  PetscCall(Create(type, prefix, m, m, s.fine, s.fine, 5, 3, ghosts, 1, &mats[0]));
  PetscCall(Create(type, prefix, m, m / 4, s.fine, s.coarse, 2, 1, MANY, 2, &mats[1]));
  PetscCall(Create(type, prefix, m / 4, m, s.coarse, s.fine, 4, 2, MANY, 3, &mats[2]));
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

/* Results of all ways have the same bits, and the values of MATAIJ's. Complex sums by blocks may be fused in another way. */
static PetscErrorCode Compare(MatProductType type, const Mat refs[], Mat C[], const char what[])
{
  PetscBool equal;
  Mat       R;

  PetscFunctionBegin;
  for (int k = 1; k < (PetscDefined(USE_COMPLEX) ? NUM_COPIES : NUM_WAYS); k++) {
    PetscCall(MatEqual(C[0], C[k], &equal));
    PetscCheck(equal, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s has other bits when the left factor is not copied%s", MatProductTypes[type], what, k == NUM_COPIES ? ", entry by entry" : "");
  }
  PetscCall(Multiply(type, refs, MAT_INITIAL_MATRIX, &R));
  PetscCall(TestIsValid(C[1], what));
  PetscCall(TestCompareRows(R, C[1], what));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product on one process went by blocks, as its view says. */
static PetscErrorCode CheckBlocks(MatProductType type, Mat C, Sizes s, PetscBool expected)
{
  PetscMPIInt size;
  PetscBool   device, by_blocks;
  char       *text;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestUsesDevice(C, &device));
  if (size > 1 || !device || C->rmap->N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestGetInfo(C, &text));
  by_blocks = (PetscBool)(strstr(text, "of blocks") != NULL);
  PetscCheck(by_blocks == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s of blocks of %" PetscInt_FMT " and %" PetscInt_FMT " goes%s by blocks:\n%s", MatProductTypes[type], s.fine, s.coarse,
             by_blocks ? "" : " not", text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBits(MatProductType type, MatType mat_type, PetscInt m, Sizes s)
{
  Ghosts ghosts;
  Mat    refs[3], mats[2][3], C[NUM_WAYS];

  PetscFunctionBegin;
  PetscCall(GetGhosts(&ghosts));
  PetscCall(CreateOperands(MATAIJ, NULL, m, s, ghosts, refs));
  PetscCall(CreateOperands(mat_type, NULL, m, s, ghosts, mats[0]));
  PetscCall(CreateOperands(mat_type, "entries_", m, s, ghosts, mats[1]));
  for (PetscInt step = 0; step < 4; step++) {
    for (PetscInt k = 0; k < 3 && step > 0; k++) {
      PetscCall(MatScale(refs[k], 1.5));
      for (int w = 0; w < 2; w++) PetscCall(MatScale(mats[w][k], 1.5));
    }
    for (int k = 0; k < NUM_WAYS; k++) {
      ProductJoinedBytes = copies[k];
      PetscCall(Multiply(type, mats[k == NUM_COPIES], step > 0 ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &C[k]));
      PetscCall(CheckBlocks(type, C[k], s, (PetscBool)(s.coarse > 1 && k < NUM_COPIES)));
    }
    PetscCall(Compare(type, refs, C, step > 0 ? "with new values" : "new"));
  }
  for (int k = 0; k < NUM_WAYS; k++) PetscCall(MatDestroy(&C[k]));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&refs[k]));
    for (int w = 0; w < 2; w++) PetscCall(MatDestroy(&mats[w][k]));
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
  PetscCall(Create(type, NULL, m, m, 1, 1, 60, 20, ghosts, 1, &mats[0]));
  PetscCall(Create(type, NULL, m, m / 8, 1, 1, 1, 0, NOTHING, 2, &mats[1]));
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
static PetscErrorCode TestFailing(MatType mat_type, PetscInt m, Sizes s, MatReuse reuse)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  PetscMPIInt    rank, size;
  size_t         before, after;
  Mat            refs[3], mats[3], R, C = NULL;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  ProductJoinedBytes = 1;
  PetscCall(CreateOperands(MATAIJ, NULL, m, s, FIRST, refs));
  PetscCall(CreateOperands(mat_type, NULL, m, s, FIRST, mats));
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
  const Sizes          sizes[] = {{1, 1}, {3, 6}, {2, 3}, {6, 6}};
  PetscMPIInt          rank;
  PetscBool            bits_alone = PETSC_FALSE;
  char                *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bits_alone", &bits_alone, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsSetValue(NULL, "-entries_mat_dcsr_blocks", "0"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
      PetscCall(TestBits(types[k], type, 400, sizes[s]));
      PetscCall(TestBits(types[k], type, rank % 2 ? 0 : 200, sizes[s])); // processes without rows
      PetscCall(TestBits(types[k], type, 8, sizes[s]));
    }
  }
  if (!bits_alone) PetscCall(TestMemory(type, 2000));
  for (size_t r = 0; r < 2 && !bits_alone; r++) {
    PetscCall(TestFailing(type, 64, scalar, reuse[r]));
    PetscCall(TestFailing(type, 64, sizes[1], reuse[r]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: one
    requires: cuda
    args: -bits_alone
    output_file: output/empty.out

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
