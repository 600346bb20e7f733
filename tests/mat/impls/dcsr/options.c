static char help[] = "MatSetOption(): structure only, errors for new entries, sorted full rows, kept patterns, ignored entries, known symmetry.\n\n";

#include "testmat.h"

/* No values, for good: products of patterns still work. */
static PetscErrorCode StructureOnly(const char type[])
{
  MatInfo info[2];
  Mat     X[2], C[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, 30, 30));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatSetOption(X[k], MAT_STRUCTURE_ONLY, PETSC_TRUE));
    PetscCall(TestEnter(X[k], 4, 1));
    PetscCall(MatGetInfo(X[k], MAT_GLOBAL_SUM, &info[k]));
    if (PETSC_VERSION_GE(3, 26, 0)) { // before, MATAIJ copies values that there are not
      PetscCall(MatDuplicate(X[k], MAT_DO_NOT_COPY_VALUES, &C[k]));
      PetscCall(MatDestroy(&C[k]));
    }
    PetscCall(MatTranspose(X[k], MAT_INITIAL_MATRIX, &C[k]));
    PetscCall(MatDestroy(&C[k]));
    PetscCall(MatDestroy(&X[k]));
  }
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MAT_STRUCTURE_ONLY: %g entries and should be %g", (double)info[1].nz_used, (double)info[0].nz_used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewEntries(const char type[])
{
  PetscInt       begin, end, col = 0;
  PetscErrorCode ierr;
  Mat            A, B;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 30, 30, TEST_EVEN, 0, 1, &A, &B)); /* the diagonal */
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  if (begin < end) {
    col = begin == 0 ? 1 : 0;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatSetValue(B, begin, col, 1, INSERT_VALUES);
    if (ierr == PETSC_SUCCESS) { /* on the device new entries are found when values are merged, which an option that they obey makes them do */
      ierr = MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE);
    }
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr != PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MAT_NEW_NONZERO_LOCATION_ERR: no error");
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(TestCompare(A, B, "the matrix after MAT_NEW_NONZERO_LOCATION_ERR"));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  if (begin < end) PetscCall(MatSetValue(B, begin, col, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(TestCompare(A, B, "the matrix after an ignored new entry"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the host computes for A, for want of a device. */
static PetscErrorCode IsBound(Mat A, PetscBool *bound)
{
  PetscInt num_blocks;
  Mat      blocks[2];

  PetscFunctionBegin;
  PetscCall(TestBlocks(A, &num_blocks, blocks));
  PetscCall(MatBoundToCPU(blocks[0], bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new entry that is forbidden to one process alone, set there or sent to it, is an error on all: on the device it is found in the assembly, where nobody may be left to wait. */
static PetscErrorCode RefusedOnOne(const char type[], PetscBool sent)
{
  PetscBool      bound;
  PetscMPIInt    rank, size;
  PetscErrorCode ierr = PETSC_ERR_ARG_OUTOFRANGE; /* on the host, where MATMPIAIJ raises it at once */
  Mat            A, B;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestCreatePair(type, 30, 30, TEST_EVEN, 0, 1, &A, &B)); /* the diagonal */
  PetscCall(IsBound(B, &bound));
  if (!bound) {
    PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
    if (rank == (sent ? 0 : size - 1)) PetscCall(MatSetValue(B, 29, 0, 1, INSERT_VALUES));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY);
    if (ierr == PETSC_SUCCESS) ierr = MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY);
    PetscCall(PetscPopErrorHandler());
  }
  PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A new entry of one process: error %d is not PETSC_ERR_ARG_OUTOFRANGE", (int)ierr);
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(TestCompare(A, B, "the matrix after a new entry was refused"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index out of range in the list of one process alone. */
static PetscErrorCode BadCoordinateOnOne(const char type[], PetscBool row)
{
  PetscBool      bound;
  PetscInt       i = 0, j = 0;
  PetscMPIInt    rank, size;
  PetscErrorCode ierr;
  Mat            A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 30, 30));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetUp(A));
  PetscCall(IsBound(A, &bound));
  if (!bound) {
    if (rank == size - 1) *(row ? &i : &j) = 30;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatSetPreallocationCOO(A, 1, &i, &j);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSetPreallocationCOO with an index out of range on one process: error %d is not PETSC_ERR_ARG_OUTOFRANGE",
               (int)ierr);
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whole sorted rows at once, entered twice. */
static PetscErrorCode SortedFull(const char type[])
{
  PetscInt    begin, end, cols[3];
  PetscScalar vals[3];
  Mat         X[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, 30, 30));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(X[k], 3, NULL));
    PetscCall(MatMPIAIJSetPreallocation(X[k], 3, NULL, 2, NULL));
    PetscCall(MatSetOption(X[k], MAT_SORTED_FULL, PETSC_TRUE));
    PetscCall(MatSetOption(X[k], MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
    PetscCall(MatGetOwnershipRange(X[k], &begin, &end));
    for (int pass = 0; pass < 2; pass++) {
      for (PetscInt i = begin; i < end; i++) {
        PetscInt n = 0;

        for (PetscInt j = PetscMax(0, i - 1); j <= PetscMin(29, i + 1); j++, n++) {
          cols[n] = j;
          vals[n] = (PetscReal)(i + 2 * j + pass);
        }
        PetscCall(MatSetValues(X[k], 1, &i, n, cols, vals, INSERT_VALUES));
      }
      PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
    }
  }
  PetscCall(TestCompare(X[0], X[1], "MAT_SORTED_FULL"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(const char type[], PetscBool keep)
{
  PetscInt begin, end;
  Mat      X[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, 30, 30, TEST_EVEN, 4, 1, &X[0], &X[1]));
  PetscCall(MatGetOwnershipRange(X[0], &begin, &end));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(X[k], MAT_KEEP_NONZERO_PATTERN, keep));
    PetscCall(MatZeroRows(X[k], begin < end ? 1 : 0, &begin, 3, NULL, NULL));
  }
  PetscCall(TestCompare(X[0], X[1], keep ? "MatZeroRows with MAT_KEEP_NONZERO_PATTERN" : "MatZeroRows"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ignored(const char type[])
{
  PetscInt begin, end;
  Mat      X[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, 30, 30));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatSetUp(X[k]));
    PetscCall(MatSetOption(X[k], MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
    PetscCall(MatSetOption(X[k], MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
    PetscCall(MatGetOwnershipRange(X[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      PetscCall(MatSetValue(X[k], i, i, 1, ADD_VALUES));
      PetscCall(MatSetValue(X[k], i, (i + 1) % 30, 0, ADD_VALUES));
      PetscCall(MatSetValue(X[k], (i + 15) % 30, i, 2, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestCompare(X[0], X[1], "MAT_IGNORE_ZERO_ENTRIES and MAT_IGNORE_OFF_PROC_ENTRIES"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of a matrix must survive the conversion. */
static PetscErrorCode Known(const char type[])
{
  PetscBool set, flag;
  Mat       A, B;

  PetscFunctionBegin;
  PetscCall(TestCreate(MATAIJ, 30, 30, TEST_EVEN, 0, 1, &A));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetBlockSize(A, 1));
  PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatIsSPDKnown(A, &set, &flag));
  PetscCheck(set && flag, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MAT_SPD is lost in MatConvert in place");
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatIsSymmetricKnown(B, &set, &flag));
  PetscCheck(set && flag, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MAT_SPD is lost in MatDuplicate");
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(StructureOnly(type));
  PetscCall(NewEntries(type));
  PetscCall(RefusedOnOne(type, PETSC_FALSE));
  PetscCall(RefusedOnOne(type, PETSC_TRUE));
  PetscCall(BadCoordinateOnOne(type, PETSC_FALSE));
  PetscCall(BadCoordinateOnOne(type, PETSC_TRUE));
  PetscCall(SortedFull(type));
  PetscCall(ZeroRows(type, PETSC_TRUE));
  PetscCall(ZeroRows(type, PETSC_FALSE));
  PetscCall(Ignored(type));
  PetscCall(Known(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3 8}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda

TEST*/
