static char help[] = "MATAUTOCUDA: when the storage changes, that products do not notice, what is remembered of patterns, looks that are under way, and that nothing is left behind.\n\n";

#include "../dcsr/testmat.h"
#include "../../../../src/mat/kernels/common/message.h"

#define POINTS 400 /* of an edge of the grid: enough rows and entries for other storage than rows to be in question */

static PetscBool device;

/* Whether what -mat_view ::ascii_info says contains a text; the view is to be freed by free(). */
static PetscErrorCode Says(Mat B, const char what[], PetscBool *says, char **view)
{
  char       *text = NULL, *found;
  size_t      length;
  FILE       *file = open_memstream(&text, &length);
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCheck(file != NULL, PETSC_COMM_SELF, PETSC_ERR_SYS, "open_memstream() failed");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(B, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  fclose(file);
  PetscCall(PetscStrstr(text, what, &found));
  *says = (PetscBool)(found != NULL);
  *view = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Expect(Mat B, const char what[], PetscBool expected, const char when[])
{
  PetscBool says = PETSC_FALSE;
  char     *view = NULL;

  PetscFunctionBegin;
  PetscCall(Says(B, what, &says, &view));
  if (device && says != expected) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s", view));
  free(view);
  PetscCheck(!device || says == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: \"%s\" is %s the view", when, what, says ? "in" : "not in");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage is there, or rows were measured to be faster: the first product with it loads its kernel, which is not to be taken for values that change. */
static PetscErrorCode ExpectStorage(Mat B)
{
  PetscBool since, measured;
  char     *view[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(Says(B, "since product", &since, &view[0]));
  PetscCall(Says(B, "measured or found not to pay", &measured, &view[1]));
  free(view[1]);
  if (device && !since && !measured) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s", view[0]));
  free(view[0]);
  PetscCheck(!device || since || measured, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows came back, though no values have changed");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The 5-point Laplacian on n^2 points. */
static PetscErrorCode Laplacian(MatType type, PetscInt n, const char prefix[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetOptionsPrefix(*A, prefix));
  PetscCall(MatSetSizes(*A, n * n, n * n, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  for (PetscInt row = 0; row < n * n; row++) {
    if (row >= n) PetscCall(MatSetValue(*A, row, row - n, (PetscScalar)(-1 - row % 3), ADD_VALUES));
    if (row % n > 0) PetscCall(MatSetValue(*A, row, row - 1, -1, ADD_VALUES));
    PetscCall(MatSetValue(*A, row, row, 4, ADD_VALUES));
    if (row % n < n - 1) PetscCall(MatSetValue(*A, row, row + 1, (PetscScalar)(-1 - row % 2), ADD_VALUES));
    if (row < n * (n - 1)) PetscCall(MatSetValue(*A, row, row + n, -1, ADD_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many products, each of which the host waits for: both directions in turn, or A x alone. */
static PetscErrorCode Multiply(Mat A, int n, PetscBool transpose)
{
  Vec       x, y;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(TestFill(x, 1));
  for (int k = 0; k < n; k++) {
    if (transpose && k % 2) PetscCall(MatMultTranspose(A, x, y));
    else PetscCall(MatMult(A, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that says that many products follow; then a new entry, then the same pattern again, and another matrix that has it. */
static PetscErrorCode TestTold(Mat A)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "told_", &B));
  PetscCall(Expect(B, "autocuda: rows", PETSC_TRUE, "new"));
  PetscCall(Multiply(B, 4, PETSC_FALSE)); // a cold one, one that is measured, one that begins a look, and one that ends it
  PetscCall(Expect(B, "since product", PETSC_TRUE, "many products were announced"));
  PetscCall(TestCompareProducts(A, B, "after the conversion"));
  PetscCall(Multiply(B, 20, PETSC_TRUE));
  PetscCall(TestCompareProducts(A, B, "measured"));
  PetscCall(ExpectStorage(B));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(TestCompareProducts(A, B, "scaled"));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
  PetscCall(TestCompareProducts(A, C, "a copy"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &C));
  PetscCall(Multiply(C, 3, PETSC_TRUE));
  PetscCall(MatDestroy(&C));
  PetscCall(MatScale(A, 0.5));
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "told_", &C));
  PetscCall(Multiply(C, 2, PETSC_FALSE));
  PetscCall(Expect(C, "the pattern was known", PETSC_TRUE, "a second matrix"));
  PetscCall(TestCompareProducts(A, C, "a second matrix"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is told of so many products, at least or in all, and has done four. Few do not pay; where others use the GPU, too, they may be measured to take that long that they do: then it is tried again. */
static PetscErrorCode CreateTold(PetscInt points, PetscInt number, PetscBool minimum, PetscBool few, Mat *B)
{
  PetscBool since = few;
  char     *view;

  PetscFunctionBegin;
  for (int k = 0; k == 0 || (since && few && k < 5); k++) {
    if (k > 0) PetscCall(MatDestroy(B));
    PetscCall(Laplacian(MATAUTOCUDA, points, "hint_", B));
    if (minimum) PetscCall(MatAutoCUDASetMinimumProducts(*B, number, 0));
    else PetscCall(MatAutoCUDASetProducts(*B, number, 0));
    PetscCall(Multiply(*B, 4, PETSC_FALSE));
    PetscCall(Says(*B, "since product", &since, &view));
    free(view);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same told by a call: very many products, then so few that nothing pays, though the pattern is known, and very many at least; those beside them are counted. */
static PetscErrorCode TestHint(void)
{
  const PetscInt numbers[] = {1000000, 4, 1000000}, points[] = {POINTS + 1, POINTS + 1, POINTS + 6}; // the last has a pattern of its own: with one that is known, rows may have been measured to be faster
  PetscCount     n, t;
  Mat            A, B;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(Laplacian(MATAIJ, points[k], NULL, &A));
    PetscCall(CreateTold(points[k], numbers[k], (PetscBool)(k == 2), (PetscBool)(k == 1), &B));
    PetscCall(Expect(B, "since product", (PetscBool)(k != 1), k != 1 ? "very many products were told" : "few products were told"));
    PetscCall(TestCompareProducts(A, B, "told by a call"));
    PetscCall(MatAutoCUDASetProducts(B, 10, 2));
    PetscCall(MatAutoCUDAGetProducts(B, &n, &t, NULL));
    PetscCheck(n >= 10 && t >= 2 && (device ? n >= 14 : n == 10), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " and %" PetscCount_FMT " products are expected, after 10 and 2 were told", n, t);
    PetscCall(Multiply(B, 20, PETSC_TRUE));
    PetscCall(TestCompareProducts(A, B, "more products than were told"));
    PetscCall(MatAutoCUDASetProducts(B, 0, 0));
    PetscCall(MatAutoCUDAGetProducts(B, &n, &t, NULL));
    PetscCheck(n == 0 && t == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " and %" PetscCount_FMT " products are expected, and none were told", n, t);
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is said: with many products the storage may be bought, with values that change it is not. */
static PetscErrorCode TestRented(void)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAIJ, POINTS + 2, NULL, &A)); // no pattern that was measured before
  PetscCall(Laplacian(MATAUTOCUDA, POINTS + 2, "rented_", &B));
  PetscCall(Multiply(B, 7, PETSC_FALSE));
  PetscCall(Expect(B, "since product", PETSC_FALSE, "few products"));
  for (int k = 0; k < 60; k++) {
    PetscCall(MatScale(B, k % 2 ? 2 : 0.5));
    PetscCall(Multiply(B, 1, PETSC_FALSE));
  }
  PetscCall(Expect(B, "since product", PETSC_FALSE, "values change with each product"));
  PetscCall(TestCompareProducts(A, B, "values that changed"));
  PetscCall(Multiply(B, 1500, PETSC_TRUE));
  PetscCall(TestCompareProducts(A, B, "many products"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_auto_choose fixes. */
static PetscErrorCode TestFixed(Mat A)
{
  const char *const prefixes[] = {"rows_", "hisparse_"};
  Mat               B;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Laplacian(MATAUTOCUDA, POINTS, prefixes[k], &B));
    PetscCall(Multiply(B, 12, PETSC_FALSE));
    PetscCall(Expect(B, "as -mat_auto_choose", PETSC_TRUE, prefixes[k]));
    PetscCall(Expect(B, "hisparsecuda: ", (PetscBool)(k == 1), prefixes[k]));
    PetscCall(TestCompareProducts(A, B, prefixes[k]));
    PetscCall(PetscOptionsSetValue(NULL, k ? "-hisparse_mat_auto_choose" : "-rows_mat_auto_choose", k ? "dcsr" : "hisparse"));
    PetscCall(MatSetFromOptions(B));
    PetscCall(Multiply(B, 2, PETSC_FALSE));
    PetscCall(Expect(B, "hisparsecuda: ", (PetscBool)(k == 0), "another choice"));
    PetscCall(TestCompareProducts(A, B, "another choice"));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A structure that changes after every few products: rows each time, and the next conversion later. */
static PetscErrorCode TestPatterns(Mat A)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "told_", &B));
  for (PetscInt k = 0; k < 4; k++) {
    PetscCall(Multiply(B, 5, PETSC_FALSE));
    for (int m = 0; m < 2; m++) {
      PetscCall(MatSetValue(m ? B : C, 7 * k, POINTS * POINTS - 1 - k, 1, ADD_VALUES));
      PetscCall(TestAssemble(m ? B : C, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestCompareProducts(C, B, "new entries"));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes all slots of looks that are free, or gives back those that were taken. */
static PetscErrorCode TakeSlots(DCSRPost posts[DCSR_NUM_POSTS], int *n)
{
  PetscFunctionBegin;
  *n = 0;
  for (int k = 0; k < DCSR_NUM_POSTS; k++) {
    PetscCall(DCSRPostCreate(&posts[k]));
    *n += posts[k] != NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void GiveSlots(DCSRPost posts[DCSR_NUM_POSTS])
{
  for (int k = 0; k < DCSR_NUM_POSTS; k++) DCSRPostDestroy(&posts[k]);
}

static PetscErrorCode ExpectSlots(int expected, const char when[])
{
  DCSRPost posts[DCSR_NUM_POSTS];
  int      n;

  PetscFunctionBegin;
  PetscCall(TakeSlots(posts, &n));
  GiveSlots(posts);
  PetscCheck(n == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d slots of looks are free, not %d", when, n, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the view says was foretold of products, between the number of products and the price. */
static PetscErrorCode Foretold(Mat B, size_t size, char what[])
{
  PetscBool says;
  char     *view = NULL, *begin, *end;

  PetscFunctionBegin;
  PetscCall(Says(B, "of the time of rows", &says, &view));
  PetscCheck(says, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was foretold: %s", view);
  PetscCall(PetscStrstr(view, " products, ", &begin));
  PetscCall(PetscStrstr(view, ", making it", &end));
  PetscCheck(begin != NULL && end != NULL && begin < end, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The view has no prediction: %s", view);
  *end = 0;
  PetscCall(PetscStrncpy(what, begin, size));
  free(view);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without slots the host waits for a look, which ends with the product that began it; what is foretold is the same. */
static PetscErrorCode TestWaiting(void)
{
  DCSRPost  posts[DCSR_NUM_POSTS];
  char      waited[256], asked[256];
  int       n;
  PetscBool same;
  Mat       B, C;

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Laplacian(MATAUTOCUDA, POINTS + 3, "told_", &B)); // no pattern that was kept: nothing is converted
  PetscCall(Laplacian(MATAUTOCUDA, POINTS + 3, "told_", &C));
  PetscCall(TakeSlots(posts, &n));
  PetscCall(Multiply(B, 3, PETSC_FALSE));
  GiveSlots(posts);
  PetscCall(Expect(B, "since product", PETSC_TRUE, "no slots"));
  PetscCall(Multiply(C, 3, PETSC_FALSE));
  PetscCall(Expect(C, "since product", PETSC_FALSE, "a look has begun"));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(Multiply(C, 1, PETSC_FALSE));
  PetscCall(Expect(C, "since product", PETSC_TRUE, "a look has ended"));
  PetscCall(Foretold(B, sizeof(waited), waited));
  PetscCall(Foretold(C, sizeof(asked), asked));
  PetscCall(PetscStrcmp(waited, asked, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A look that the host waited for: %s; that it asked for later: %s", waited, asked);
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose look is under way: the third product with it begins one, behind work that takes milliseconds. */
static PetscErrorCode BeginLook(const TestBusy *busy, Mat *B)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS + 4, "told_", B));
  PetscCall(MatCreateVecs(*B, &x, &y));
  PetscCall(TestFill(x, 1));
  for (int k = 0; k < 2; k++) PetscCall(MatMult(*B, x, y)); // x and y come to the device, which would wait for other work later
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(ExpectSlots(DCSR_NUM_POSTS, "before a look"));
  PetscCall(TestBusyRun(busy, 200));
  PetscCall(MatMult(*B, x, y));
  PetscCall(ExpectSlots(DCSR_NUM_POSTS - 1, "a look is under way"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix goes, gets another structure, or becomes one of another type while a look is under way: nothing is left, and the slot serves again. */
static PetscErrorCode TestUnderWay(void)
{
  TestBusy busy;
  Mat      A, B;

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestBusyCreate(&busy));
  PetscCall(Laplacian(MATAIJ, POINTS + 4, NULL, &A));
  for (int k = 0; k < 3; k++) {
    PetscCall(BeginLook(&busy, &B));
    if (k == 1) {
      for (int m = 0; m < 2; m++) {
        PetscCall(MatSetValue(m ? B : A, 0, (POINTS + 4) * (POINTS + 4) - 1, 1, ADD_VALUES));
        PetscCall(TestAssemble(m ? B : A, MAT_FINAL_ASSEMBLY));
      }
      PetscCall(TestCompareProducts(A, B, "another structure while a look is under way"));
    } else if (k == 2) PetscCall(MatConvert(B, MATDCSRCUDA, MAT_INPLACE_MATRIX, &B));
    PetscCall(MatDestroy(&B));
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(ExpectSlots(DCSR_NUM_POSTS, "the matrix is gone"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(TestBusyDestroy(&busy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Very many matrices, in all states: no memory of the device and of the host is left, and no events pile up. The first ones leave what is made once. */
static PetscErrorCode TestMany(void)
{
  PetscLogDouble host   = 0, host_now;
  size_t         before = 0, now, peak;
  Mat            B;

  PetscFunctionBegin;
  for (int k = 0; k < 4000; k++) {
    if (k == 42) {
      PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
      PetscCall(PetscMallocGetCurrentUsage(&host));
    }
    PetscCall(Laplacian(MATAUTOCUDA, 4, "many_", &B));
    if (k % 2) PetscCall(MatAutoCUDASetProducts(B, k % 5, k % 2));
    PetscCall(Multiply(B, k % 7, (PetscBool)(k % 2)));
    if (k % 3 == 0) PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
    if (k % 3 == 1) PetscCall(MatConvert(B, MATDCSRCUDA, MAT_INPLACE_MATRIX, &B));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  PetscCheck(now == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory in use, and %zu before", now, before);
  PetscCall(PetscMallocGetCurrentUsage(&host_now));
  PetscCheck(host_now == host, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g bytes of memory in use, and %g before", host_now, host);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char  *type;
  size_t before, now, peak;
  Mat    A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(MATAUTOCUDA, 3, 3, TEST_EVEN, 1, 1, &A, &B));
  PetscCall(TestUsesDevice(B, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(Laplacian(MATAIJ, POINTS, NULL, &A));
  PetscCall(TestTold(A));
  PetscCall(TestHint());
  PetscCall(TestRented());
  PetscCall(TestFixed(A));
  PetscCall(TestPatterns(A));
  PetscCall(TestWaiting());
  PetscCall(TestUnderWay());
  PetscCall(MatDestroy(&A));
  PetscCall(TestMany());
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, &peak));
  PetscCheck(now == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory in use at the end, and %zu before", now, before);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   testset:
      output_file: output/empty.out
      timeoutfactor: 5
      args: -told_mat_auto_products 1000000 -rows_mat_auto_choose dcsr -hisparse_mat_auto_choose hisparse -many_mat_hisparse_format diagonals -many_mat_auto_products 100
      test:
         suffix: 1
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_dcsr_require_device -malloc_debug
      test:
         suffix: host
         args: -device_enable none -malloc_debug

TEST*/
