static char help[] = "Deletion: MatZeroRows(), MatZeroRowsColumns(), MatEliminateZeros() and MatFilter() against MATAIJ, on compact and fragmented storage.\n\n";

#include "testmat.h"

#define SIZE     120
#define MAX_ROWS 8

typedef enum {
  NO_VECTORS,
  ONE_VECTOR,    /* x alone: nothing to be done for it */
  OWN_VECTORS,   /* of MatCreateVecs() */
  MIXED_VECTORS, /* x on the host */
  HOST_VECTORS,  /* both on the host */
  NUM_VECTORS
} Vectors;

/* Which rows each rank gives. */
typedef enum {
  LIST_EMPTY,
  LIST_SOME,  /* its own, ascending */
  LIST_MIXED, /* repeated, descending, also of the next rank */
  LIST_ONE,   /* one rank gives a row, the others none */
  NUM_LISTS
} List;

typedef struct {
  const char *type;
  PetscBool   keep, columns, fragmented;
  PetscScalar diag;
  Vectors     vectors;
  List        list;
} Case;

static PetscErrorCode CheckEntries(Mat A, Mat B, const char what[])
{
  MatInfo a, b;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &a));
  PetscCall(MatGetInfo(B, MAT_LOCAL, &b));
  PetscCheck(a.nz_used == b.nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: MatGetInfo() says %g entries and should say %g", what, (double)b.nz_used, (double)a.nz_used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products, also by a duplicate, pattern and values. */
static PetscErrorCode Compare(Mat A, Mat B, const char what[])
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(TestIsValid(B, what));
  PetscCall(TestCompareProducts(A, B, what));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
  PetscCall(TestCompare(A, C, what));
  PetscCall(MatDestroy(&C));
  PetscCall(TestCompareRows(A, B, what));
  PetscCall(CheckEntries(A, B, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetRows(Mat A, List list, PetscInt *n, PetscInt rows[])
{
  PetscMPIInt rank, size;
  PetscInt    begin, end, M;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &M, NULL));
  *n = 0;
  if (list == LIST_SOME) {
    for (PetscInt row = begin; row < end && *n < MAX_ROWS; row += 5) rows[(*n)++] = row;
  } else if (list == LIST_MIXED) {
    for (; *n < MAX_ROWS; (*n)++) rows[*n] = (end + M - 1 + 3 * (*n % 5 - 2)) % M;
  } else if (list == LIST_ONE && rank == size - 1) rows[(*n)++] = M / 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReplaceByHostVector(Vec *x)
{
  PetscInt n, N;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(*x, &n));
  PetscCall(VecGetSize(*x, &N));
  PetscCall(VecDestroy(x));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, N, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, b for one matrix, filled alike for both. */
static PetscErrorCode CreateVectors(Mat A, Vectors vectors, Vec *x, Vec *b)
{
  PetscFunctionBegin;
  *x = *b = NULL;
  if (vectors == NO_VECTORS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, x, b));
  if (vectors == ONE_VECTOR) PetscCall(VecDestroy(b));
  if (vectors == MIXED_VECTORS || vectors == HOST_VECTORS) PetscCall(ReplaceByHostVector(x));
  if (vectors == HOST_VECTORS) PetscCall(ReplaceByHostVector(b));
  PetscCall(TestFill(*x, 7));
  if (*b != NULL) PetscCall(TestFill(*b, 8));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same calls for MATAIJ and our type, twice: what the second deletion meets, the first one left behind. */
static PetscErrorCode RunCase(const Case *c)
{
  char     what[256];
  PetscInt n, rows[MAX_ROWS];
  Vec      x[2], b[2];
  Mat      M[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, diagonal %g, list %d, vectors %d%s", c->columns ? "MatZeroRowsColumns" : "MatZeroRows", c->keep ? "pattern kept" : "pattern not kept",
                          (double)PetscRealPart(c->diag), (int)c->list, (int)c->vectors, c->fragmented ? ", fragmented" : ""));
  PetscCall(TestCreatePair(c->type, SIZE, SIZE, TEST_EVEN, 5, 1, &M[0], &M[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(M[k], MAT_KEEP_NONZERO_PATTERN, c->keep));
    PetscCall(CreateVectors(M[k], c->vectors, &x[k], &b[k]));
  }
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 0 || c->fragmented) PetscCall(TestCompareProducts(M[0], M[1], what)); // a device copy and plans to be renewed
    if (c->fragmented) PetscCall(TestFragment(M[1], 2));
    PetscCall(GetRows(M[0], pass ? LIST_SOME : c->list, &n, rows));
    for (int k = 0; k < 2; k++) {
      if (c->columns) PetscCall(MatZeroRowsColumns(M[k], n, rows, c->diag, x[k], b[k]));
      else PetscCall(MatZeroRows(M[k], n, rows, c->diag, x[k], b[k]));
    }
    if (b[0] != NULL) PetscCall(TestCompareVec(b[0], b[1], what));
    PetscCall(Compare(M[0], M[1], what));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(MatDestroy(&M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRows(const char type[])
{
  Case c;

  PetscFunctionBegin;
  c.type = type;
  for (int columns = 0; columns < 2; columns++)
    for (int keep = 0; keep < 2; keep++)
      for (int diag = 0; diag < 2; diag++)
        for (int fragmented = 0; fragmented < 2; fragmented++)
          for (Vectors vectors = NO_VECTORS; vectors < NUM_VECTORS; vectors++)
            for (List list = LIST_EMPTY; list < NUM_LISTS; list++) {
              c.columns    = (PetscBool)columns;
              c.keep       = (PetscBool)keep;
              c.fragmented = (PetscBool)fragmented;
              c.diag       = diag ? 2.5 : 0.0;
              c.vectors    = vectors;
              c.list       = list;
              if (columns && vectors == ONE_VECTOR) continue; // MATMPIAIJ would use a vector that is not there
              PetscCall(RunCase(&c));
            }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Four entries a row, some of them zero; every fifth row is empty, and on request others lack the diagonal entry. */
static PetscErrorCode Enter(Mat A, PetscBool complete)
{
  PetscInt begin, end, M, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &M, &N));
  for (PetscInt row = begin; row < end; row++) {
    if (row % 5 == 4) continue;
    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt column = (row + k * 17) % N;

      if (k == 0 && !complete && row % 3 == 1) continue;
      PetscCall(MatSetValue(A, row, column, (row + k) % 3 == 0 ? 0.0 : (PetscReal)(row % 7 + k), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePair(const char type[], PetscInt rows, PetscInt columns, PetscBool complete, Mat M[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &M[k]));
    PetscCall(MatSetSizes(M[k], PETSC_DECIDE, PETSC_DECIDE, rows, columns));
    PetscCall(MatSetType(M[k], k ? type : MATAIJ));
    PetscCall(MatSetUp(M[k]));
    PetscCall(Enter(M[k], complete));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows of this rank that are empty, or all that lack a diagonal entry and are not. */
static PetscErrorCode RowsWithout(Mat A, PetscBool empty, PetscInt *n, PetscInt rows[])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  *n = 0;
  for (PetscInt row = begin; row < end; row++)
    if (empty ? row % 5 == 4 : row % 5 != 4 && row % 3 == 1) rows[(*n)++] = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows without a diagonal entry get one when new entries are allowed; with MAT_NEW_NONZERO_LOCATIONS off they do not. */
static PetscErrorCode TestMissing(const char type[])
{
  PetscInt n, rows[SIZE];
  Mat      M[2];

  PetscFunctionBegin;
  for (int columns = 0; columns < 2; columns++)
    for (int empty = 0; empty < 2; empty++)
      for (int forbidden = 0; forbidden < 2; forbidden++) {
        if (PETSC_VERSION_LT(3, 26, 0) && columns && forbidden) continue; // an error of MATSEQAIJ
        PetscCall(CreatePair(type, SIZE, SIZE, PETSC_FALSE, M));
        PetscCall(RowsWithout(M[0], (PetscBool)empty, &n, rows));
        PetscCall(TestCompareProducts(M[0], M[1], "before rows without a diagonal entry"));
        for (int k = 0; k < 2; k++) {
          PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
          if (forbidden) PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
          if (columns) PetscCall(MatZeroRowsColumns(M[k], n, rows, 3, NULL, NULL));
          else PetscCall(MatZeroRows(M[k], n, rows, 3, NULL, NULL));
        }
        PetscCall(TestIsValid(M[1], "rows without a diagonal entry"));
        PetscCall(TestCompare(M[0], M[1], columns ? "MatZeroRowsColumns of rows without a diagonal entry" : "MatZeroRows of rows without a diagonal entry"));
        for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MATAIJ refuses, ours refuses. */
static PetscErrorCode TestErrors(const char type[])
{
  PetscInt       n, rows[SIZE];
  PetscMPIInt    size;
  PetscErrorCode ierr[2];
  Mat            M[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int which = 0; which < 4; which++) {
    PetscCall(CreatePair(type, SIZE, SIZE, PETSC_FALSE, M));
    PetscCall(TestCompareProducts(M[0], M[1], "before errors"));
    PetscCall(RowsWithout(M[0], (PetscBool)(which == 1), &n, rows));
    for (int k = 0; k < 2; k++) {
      if (which == 0) PetscCall(MatSetOption(M[k], MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
      if (which == 1) PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
      if (which == 2) PetscCall(MatSetOption(M[k], MAT_UNUSED_NONZERO_LOCATION_ERR, PETSC_TRUE));
      if (which == 3) rows[1] = SIZE;
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr[k] = MatZeroRows(M[k], n, rows, 1, NULL, NULL);
      PetscCall(PetscPopErrorHandler());
    }
    PetscCheck(ierr[0] != PETSC_SUCCESS && ierr[0] == ierr[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d: %d and should be %d", which, (int)ierr[1], (int)ierr[0]);
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rectangular matrices: rows beyond the last column have no diagonal entry. */
static PetscErrorCode TestRectangular(const char type[])
{
  PetscInt    n, rows[MAX_ROWS];
  PetscMPIInt size;
  Mat         M[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int wide = 0; wide < 2; wide++)
    for (int keep = 0; keep < 2; keep++)
      for (int diag = 0; diag < 2; diag++)
        for (int columns = 0; columns < (size > 1 ? 1 : 2); columns++) {                // MATMPIAIJ takes the same layout for granted
          if (diag && size > 1) continue;                                               // PETSc 3.26's MATMPIAIJ writes beyond the end of an array
          if (PETSC_VERSION_LT(3, 25, 0) && columns && diag && keep && !wide) continue; // MATSEQAIJ writes the diagonal of rows that have none into the next row
          PetscCall(TestCreatePair(type, wide ? 40 : SIZE, wide ? SIZE : 40, TEST_EVEN, 4, 1, &M[0], &M[1]));
          PetscCall(TestCompareProducts(M[0], M[1], "before rows of a rectangular matrix"));
          PetscCall(GetRows(M[0], LIST_MIXED, &n, rows));
          for (int k = 0; k < 2; k++) {
            for (PetscInt row = 0; diag && keep && size == 1 && row < 40; row++) PetscCall(MatSetValue(M[k], row, row, 1, INSERT_VALUES));
            PetscCall(MatAssemblyBegin(M[k], MAT_FINAL_ASSEMBLY));
            PetscCall(MatAssemblyEnd(M[k], MAT_FINAL_ASSEMBLY));
            PetscCall(MatSetOption(M[k], MAT_KEEP_NONZERO_PATTERN, (PetscBool)keep));
            if (columns) PetscCall(MatZeroRowsColumns(M[k], n, rows, diag, NULL, NULL));
            else PetscCall(MatZeroRows(M[k], n, rows, diag, NULL, NULL));
          }
          PetscCall(Compare(M[0], M[1], columns ? "MatZeroRowsColumns of a rectangular matrix" : "MatZeroRows of a rectangular matrix"));
          for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with new diagonal entries on several processes, on a device: MATAIJ gets them one by one. */
static PetscErrorCode TestNewDiagonal(const char type[])
{
  PetscInt  n, rows[MAX_ROWS];
  PetscBool wanted;
  Mat       M[2];

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-new_diagonal", &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS); // on the host PETSc 3.26's MATMPIAIJ writes beyond the end of an array
  for (int wide = 0; wide < 2; wide++) {
    PetscCall(TestCreatePair(type, wide ? 40 : SIZE, wide ? SIZE : 40, TEST_EVEN, 4, 1, &M[0], &M[1]));
    PetscCall(GetRows(M[0], LIST_MIXED, &n, rows));
    PetscCall(MatZeroRows(M[0], n, rows, 0, NULL, NULL));
    PetscCall(MatSetOption(M[0], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt r = 0; r < n; r++)
      if (rows[r] < (wide ? SIZE : 40)) PetscCall(MatSetValue(M[0], rows[r], rows[r], 3, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(M[0], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M[0], MAT_FINAL_ASSEMBLY));
    PetscCall(MatZeroRows(M[1], n, rows, 3, NULL, NULL));
    PetscCall(Compare(M[0], M[1], "MatZeroRows with new diagonal entries"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestZeros(const char type[])
{
  Mat M[2];

  PetscFunctionBegin;
  for (int fragmented = 0; fragmented < 2; fragmented++)
    for (int keep = 0; keep < 2; keep++)
      for (int filter = 0; filter < 2; filter++)
        for (int rectangular = 0; rectangular < 2; rectangular++) {
          PetscCall(CreatePair(type, SIZE, rectangular ? 77 : SIZE, PETSC_TRUE, M));
          for (int pass = 0; pass < 2; pass++) { // nothing is left to do for the second one
            PetscCall(TestCompareProducts(M[0], M[1], "before zeros"));
            if (fragmented) PetscCall(TestFragment(M[1], 2));
            for (int k = 0; k < 2; k++) {
              if (filter) PetscCall(MatFilter(M[k], 2.5, PETSC_TRUE, (PetscBool)keep));
              else PetscCall(MatEliminateZeros(M[k], (PetscBool)keep));
            }
            PetscCall(Compare(M[0], M[1], filter ? "MatFilter" : "MatEliminateZeros"));
          }
          for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New entries, other values, deletion again: nobody remembers a pattern that is no more. */
static PetscErrorCode TestSequence(const char type[])
{
  PetscInt n, rows[MAX_ROWS];
  Mat      M[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, 4, 1, &M[0], &M[1]));
  PetscCall(MatSetOption(M[1], MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
  for (int pass = 0; pass < 3; pass++) {
    PetscCall(GetRows(M[0], LIST_MIXED, &n, rows));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatZeroRows(M[k], n, rows, 1, NULL, NULL));
      PetscCall(MatScale(M[k], 2));
    }
    PetscCall(TestCompareProducts(M[0], M[1], "scaled after MatZeroRows"));
    for (int k = 0; k < 2; k++) {
      PetscCall(TestEnter(M[k], 4 + pass, 2 + pass));
      PetscCall(MatZeroRowsColumns(M[k], n, rows, 2, NULL, NULL));
      PetscCall(MatEliminateZeros(M[k], PETSC_TRUE));
      PetscCall(MatShift(M[k], 1));
    }
    PetscCall(Compare(M[0], M[1], "new entries and deletion in turn"));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestRows(type));
  PetscCall(TestMissing(type));
  PetscCall(TestErrors(type));
  PetscCall(TestRectangular(type));
  PetscCall(TestNewDiagonal(type));
  PetscCall(TestZeros(type));
  PetscCall(TestSequence(type));
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
         nsize: {{1 2 3}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         timeoutfactor: 5
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         nsize: {{1 3}}
         timeoutfactor: 5
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: eager
         nsize: {{1 2 3}}
         args: -mat_dcsr_host_structure eager
      test:
         suffix: hidden
         nsize: {{1 2 3}}
         args: -mat_dcsr_test_hide_host
      test:
         suffix: wide
         nsize: {{1 2 3}}
         args: -mat_dcsr_test_wide_from 300
      test:
         suffix: new_diagonal
         requires: cuda
         nsize: {{2 3}}
         args: -new_diagonal -use_gpu_aware_mpi 0 -mat_dcsr_require_device
      test:
         suffix: nonblocking
         requires: cuda
         args: -root_device_context_stream_type nonblocking

TEST*/
