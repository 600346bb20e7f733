static char help[] = "Insertion of every kind, compared with MATAIJ: modes, flushes, blocks, orders, ignored and forbidden entries, other processes' rows, lists, growth after assembly.\n\n";

#include "testmat.h"

static uint64_t state;

static PetscInt Random(PetscInt end)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((state >> 33) % (uint64_t)end);
}

static PetscErrorCode Create(MatType type, PetscInt m, PetscInt n, PetscInt bs, Mat *A)
{
  ISLocalToGlobalMapping map;
  PetscInt               begin, end, *indices;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  /* not the hash: that of MATMPIAIJ knows no flush between modes, that of MATSEQAIJ forgets entries that add up to zero where zeros are ignored */
  PetscCall(MatSeqAIJSetPreallocation(*A, 20, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 20, NULL, 20, NULL));
  PetscCall(MatSetUp(*A));
  if (m == n) { /* the rows of this process and a few of the next one, in blocks */
    PetscCall(MatGetOwnershipRange(*A, &begin, &end));
    const PetscInt num = (end - begin) / bs + 2;

    PetscCall(PetscMalloc1(num, &indices));
    for (PetscInt k = 0; k < num; k++) indices[k] = (begin / bs + k) % (n / bs);
    PetscCall(ISLocalToGlobalMappingCreate(PETSC_COMM_WORLD, bs, num, indices, PETSC_OWN_POINTER, &map));
    PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
    PetscCall(ISLocalToGlobalMappingDestroy(&map));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few blocks of values, the same for the same seed; rows below `end` of anybody when begin is 0. */
static PetscErrorCode SetBlocks(Mat A, uint64_t seed, PetscInt begin, PetscInt end, InsertMode mode, PetscInt num)
{
  PetscInt    n, rows[4], columns[5], smallest;
  PetscMPIInt size;
  PetscScalar v[20];

  PetscFunctionBegin;
  state = seed;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  smallest = size > 1 ? 0 : -8; /* MATMPIAIJ adds up what goes to another process before it ignores zeros */
  PetscCall(MatGetSize(A, NULL, &n));
  for (PetscInt b = 0; end > begin && b < num; b++) {
    const PetscInt m = 1 + Random(4), k = 1 + Random(5);

    for (PetscInt i = 0; i < m; i++) rows[i] = Random(9) ? begin + Random(end - begin) : -1;
    for (PetscInt j = 0; j < k; j++) columns[j] = Random(9) ? Random(n) : -1;
    for (PetscInt i = 0; i < m * k; i++) v[i] = (PetscScalar)(Random(17) + smallest) / 4; /* zeros among them; sums are exact in any order */
    PetscCall(MatSetValues(A, m, rows, k, columns, v, mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetBlocksLocal(Mat A, PetscInt bs, uint64_t seed, PetscInt num)
{
  ISLocalToGlobalMapping map;
  PetscInt               n, rows[2], columns[2];
  PetscScalar            v[64];

  PetscFunctionBegin;
  state = seed;
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCall(ISLocalToGlobalMappingGetSize(map, &n));
  for (PetscInt b = 0; b < num; b++) {
    for (PetscInt i = 0; i < 2; i++) rows[i] = Random(n / bs);
    for (PetscInt i = 0; i < 2; i++) columns[i] = Random(n / bs);
    for (PetscInt i = 0; i < 4 * bs * bs; i++) v[i] = (PetscScalar)(1 + Random(16)) / 4;
    PetscCall(MatSetValuesBlockedLocal(A, 2, rows, 2, columns, v, ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One story told to one matrix. */
static PetscErrorCode Tell(Mat A, PetscInt bs, uint64_t seed, PetscBool ignore_zeros, PetscBool by_columns)
{
  PetscInt    m, n, begin, end;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  seed += (uint64_t)rank * 1000;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_IGNORE_ZERO_ENTRIES, ignore_zeros));
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, (PetscBool)!by_columns));
  PetscCall(SetBlocks(A, seed + 1, 0, m, ADD_VALUES, 60)); /* anybody's rows */
  PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(SetBlocks(A, seed + 2, begin, end, INSERT_VALUES, 40));
  PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(SetBlocks(A, seed + 3, 0, m, ADD_VALUES, 10));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SetBlocks(A, seed + 4, 0, m, ADD_VALUES, 30)); /* grows */
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SetBlocks(A, seed + 4, 0, m, ADD_VALUES, 30)); /* does not */
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  if (m == n) {
    PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
    PetscCall(SetBlocksLocal(A, bs, seed + 5, 20));
    PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(SetBlocks(A, seed + 6, begin, end, INSERT_VALUES, 30));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(SetBlocks(A, seed + 7, 0, m, ADD_VALUES, 20));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscCall(MatZeroEntries(A));
  PetscCall(SetBlocks(A, seed + 8, begin, end, ADD_VALUES, 20));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists with repeats, ignored entries and rows of other processes. */
static PetscErrorCode TellList(Mat A, uint64_t seed)
{
  const PetscCount num = 500;
  PetscInt         m, n, *i, *j;
  PetscScalar     *v;
  PetscMPIInt      rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  state = seed + (uint64_t)rank * 1000;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(PetscMalloc3(num, &i, num, &j, num, &v));
  for (PetscCount k = 0; k < num; k++) {
    i[k] = Random(10) ? Random(m) : -1;
    j[k] = Random(10) ? Random(n) : -1;
    v[k] = (PetscScalar)(1 + Random(16)) / 4;
  }
  PetscCall(MatSetPreallocationCOO(A, num, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[][3] = {{36, 36, 1}, {48, 48, 3}, {30, 17, 1}, {8, 200, 1}, {90, 1, 1}};
  char          *type, what[128];
  Mat            A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (int variant = 0; variant < 5; variant++) {
      PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " x %" PetscInt_FMT ", variant %d", sizes[s][0], sizes[s][1], variant));
      for (int k = 0; k < 2; k++) {
        PetscCall(Create(k ? type : MATAIJ, sizes[s][0], sizes[s][1], sizes[s][2], k ? &B : &A));
        if (variant < 4) PetscCall(Tell(k ? B : A, sizes[s][2], 17 * (uint64_t)(s + 1), (PetscBool)(variant & 1), (PetscBool)(variant >> 1)));
        else PetscCall(TellList(k ? B : A, 3 + s));
      }
      PetscCall(TestCompare(A, B, what));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
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
         nsize: {{1 3 8}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         nsize: {{1 3}}
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: small_stage
         nsize: {{1 3}}
         args: -mat_dcsr_stage_entries 7
      test:
         suffix: segments
         nsize: {{1 3}}
         args: -mat_dcsr_defragment never -mat_dcsr_slack 0.1 -mat_dcsr_stage_entries {{7 33554432}}
      test:
         suffix: wide
         nsize: {{1 3}}
         args: -mat_dcsr_test_wide_from {{0 100}}

TEST*/
