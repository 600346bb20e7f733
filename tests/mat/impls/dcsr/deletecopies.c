static char help[] = "What deletion copies between host and device: MatZeroRowsColumns() nothing of the matrix, MatFilter() of PETSc 3.26 all of it once and not once a row.\n\n";

#include "testmat.h"

#define SIZE 160

/* How often matrices were brought to the host so far, each block and its structure and values counted separately. */
static PetscErrorCode CountCopiesToHost(PetscInt *count)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("MatDCSRToHost", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *count = (PetscInt)info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckCopies(PetscInt before, PetscInt most, const char what[])
{
  PetscInt after;

  PetscFunctionBegin;
  PetscCall(CountCopiesToHost(&after));
  PetscCheck(after - before <= most, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s brought a block to the host %" PetscInt_FMT " times, at most %" PetscInt_FMT " was expected", what, after - before, most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the next rank, and one of this one. */
static PetscErrorCode TestZeroRowsColumns(const char type[], PetscBool vectors)
{
  PetscInt begin, end, rows[3], before = 0;
  Vec      x[2] = {NULL, NULL}, b[2] = {NULL, NULL};
  Mat      M[2];

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, 5, 1, &M[0], &M[1]));
  for (int k = 0; k < 2; k++) PetscCall(MatShift(M[k], 1));                // every row has a diagonal entry
  PetscCall(TestCompareProducts(M[0], M[1], "before MatZeroRowsColumns")); // the matrix is on the device
  PetscCall(MatGetOwnershipRange(M[0], &begin, &end));
  rows[0] = begin;
  rows[1] = end % SIZE;
  rows[2] = (end + 2) % SIZE;
  for (int k = 0; k < 2; k++) {
    if (vectors) {
      PetscCall(MatCreateVecs(M[k], &x[k], &b[k]));
      PetscCall(TestFill(x[k], 3));
      PetscCall(TestFill(b[k], 4));
    }
    if (k == 1) PetscCall(CountCopiesToHost(&before));
    for (int pass = 0; pass < 3; pass++) PetscCall(MatZeroRowsColumns(M[k], 3, rows, 1 + pass, x[k], b[k]));
  }
  PetscCall(CheckCopies(before, 0, "MatZeroRowsColumns"));
  if (vectors) PetscCall(TestCompareVec(b[0], b[1], "MatZeroRowsColumns"));
  PetscCall(TestCompare(M[0], M[1], "MatZeroRowsColumns"));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(MatDestroy(&M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also of a duplicate, which was never assembled itself, and of a matrix that was bound to the CPU before and is afterwards. */
static PetscErrorCode TestFilter(const char type[], PetscBool compress, PetscBool duplicate, PetscBool bind)
{
  PetscInt  before;
  PetscBool bound;
  Mat       M[2], C;

  PetscFunctionBegin;
  PetscCall(TestCreatePair(type, SIZE, SIZE, TEST_EVEN, 5, 1, &M[0], &M[1]));
  if (duplicate) {
    PetscCall(MatDuplicate(M[1], MAT_COPY_VALUES, &C));
    PetscCall(MatDestroy(&M[1]));
    M[1] = C;
  }
  PetscCall(TestCompareProducts(M[0], M[1], "before MatFilter"));
  for (int k = 0; k < 2; k++) PetscCall(MatScale(M[k], 2)); // the newest values are on the device
  if (bind) PetscCall(MatBindToCPU(M[1], PETSC_TRUE));
  PetscCall(MatFilter(M[0], 0.8, compress, PETSC_TRUE));
  PetscCall(CountCopiesToHost(&before));
  PetscCall(MatFilter(M[1], 0.8, compress, PETSC_TRUE));
  // structure and values of both blocks, and the structure again after compression and in the copy that MatFilter() makes then
  PetscCall(CheckCopies(before, compress ? 10 : 4, "MatFilter"));
  if (!compress) {
    PetscCall(MatBoundToCPU(M[1], &bound));
    PetscCheck(bound || !bind, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatFilter: the matrix was bound to the CPU and is not any more");
  }
  PetscCall(TestCompare(M[0], M[1], "MatFilter"));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&M[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscLogDefaultBegin());
  for (int vectors = 0; vectors < 2; vectors++) PetscCall(TestZeroRowsColumns(type, (PetscBool)vectors));
  for (int compress = 0; compress < 2; compress++)
    for (int duplicate = 0; duplicate < 2; duplicate++)
      for (int bind = 0; bind < 2; bind++) PetscCall(TestFilter(type, (PetscBool)compress, (PetscBool)duplicate, (PetscBool)bind));
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
         nsize: {{1 3}}
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         nsize: {{1 3}}
         args: -mat_dcsr_test_hide_host

TEST*/
