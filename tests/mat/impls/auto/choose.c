static char help[] = "MATAUTOCUDA: when the storage changes, by hints, products and new values, that products do not notice, samples that are under way, and that nothing is left behind.\n\
  -no_memory : there is none for other storage than CSR\n\n";

#include "../dcsr/testmat.h"
#include "../../../../src/mat/kernels/common/message.h"
#include <petscsparsecuda/storage.h>

#define POINTS 400 /* of an edge of the grid: enough rows and entries for other storage than CSR to be in question */

static PetscBool device;

/* Whether what -mat_view ::ascii_info says contains a text; the view is to be freed by free(). */
static PetscErrorCode Says(Mat B, const char what[], PetscBool *says, char **view)
{
  char *text = NULL, *found;

  PetscFunctionBegin;
  PetscCall(TestGetInfo(B, &text));
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

/* A hint of very many products. */
static PetscErrorCode TestHint(Mat A)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "hint_", &B));
  PetscCall(Expect(B, "autocuda: CSR", PETSC_TRUE, "new"));
  PetscCall(Multiply(B, 1, PETSC_FALSE));
  PetscCall(Expect(B, "since product", PETSC_FALSE, "a sample has begun"));
  PetscCall(Multiply(B, 1, PETSC_FALSE));
  PetscCall(Expect(B, "since product 3", PETSC_TRUE, "a sample has ended"));
  PetscCall(TestCompareProducts(A, B, "after the conversion"));
  PetscCall(Multiply(B, 20, PETSC_TRUE));
  PetscCall(TestCompareProducts(A, B, "many products"));
  PetscCall(Expect(B, "autocuda: storage beside CSR", PETSC_TRUE, "many products"));
  PetscCall(MatScale(A, 2));
  PetscCall(MatScale(B, 2));
  PetscCall(TestCompareProducts(A, B, "scaled"));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
  PetscCall(TestCompareProducts(A, C, "a copy"));
  PetscCall(Expect(C, "autocuda: storage beside CSR", PETSC_TRUE, "a copy"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &C));
  PetscCall(Multiply(C, 3, PETSC_TRUE));
  PetscCall(MatDestroy(&C));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by a call: very many products, then so few that nothing pays, and very many at least; those beside them are counted. */
static PetscErrorCode TestHintByCall(Mat A)
{
  const PetscInt numbers[] = {1000000, 4, 1000000};
  PetscCount     n, t;
  PetscBool      minimum;
  Mat            B;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(Laplacian(MATAUTOCUDA, POINTS, "counted_", &B));
    if (k == 2) PetscCall(MatAutoCUDASetMinimumProducts(B, numbers[k], 0));
    else PetscCall(MatAutoCUDASetProducts(B, numbers[k], 0));
    PetscCall(Multiply(B, 4, PETSC_FALSE));
    PetscCall(Expect(B, "since product", (PetscBool)(k != 1), k != 1 ? "a hint of very many products" : "a hint of few products"));
    PetscCall(TestCompareProducts(A, B, "a hint by a call"));
    PetscCall(MatAutoCUDASetProducts(B, 10, 2));
    PetscCall(TestLibGetProducts(B, &n, &t, &minimum));
    PetscCheck(n >= 10 && t >= 2 && (device ? n >= 14 : n == 10), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " and %" PetscCount_FMT " products are expected, after a hint of 10 and 2", n, t);
    PetscCall(Multiply(B, 20, PETSC_TRUE));
    PetscCall(TestCompareProducts(A, B, "more products than the hint says"));
    PetscCall(MatAutoCUDASetProducts(B, 0, 0));
    PetscCall(TestLibGetProducts(B, &n, &t, &minimum));
    PetscCheck(n == 0 && t == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " and %" PetscCount_FMT " products are expected without a hint", n, t);
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many products, each after new values of CSR, which are the old ones. */
static PetscErrorCode MultiplyChanged(Mat B, int n)
{
  PetscScalar *values;

  PetscFunctionBegin;
  for (int k = 0; k < n; k++) {
    PetscCall(MatSeqAIJGetArray(B, &values));
    PetscCall(MatSeqAIJRestoreArray(B, &values));
    PetscCall(Multiply(B, 1, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a hint: values that change with each product make no storage, many products in a row do. */
static PetscErrorCode TestCounted(Mat A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "counted_", &B));
  PetscCall(Multiply(B, 7, PETSC_FALSE));
  PetscCall(Expect(B, "since product", PETSC_FALSE, "few products"));
  for (int k = 0; k < 300; k++) {
    PetscCall(MatScale(B, k % 2 ? 2 : 0.5));
    PetscCall(Multiply(B, 1, PETSC_FALSE));
  }
  PetscCall(Expect(B, "of the time of CSR", PETSC_TRUE, "enough products for a sample"));
  PetscCall(Expect(B, "since product", PETSC_FALSE, "values change with each product"));
  PetscCall(TestCompareProducts(A, B, "values that changed"));
  PetscCall(Multiply(B, 4000, PETSC_TRUE));
  PetscCall(Expect(B, "since product", PETSC_TRUE, "many products"));
  PetscCall(TestCompareProducts(A, B, "many products"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Storage by a hint, and then new values before each product: CSR comes back, the hint is ignored, and many products in a row make the storage again. */
static PetscErrorCode TestChanges(Mat A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "hint_", &B));
  PetscCall(Multiply(B, 4, PETSC_FALSE));
  PetscCall(MultiplyChanged(B, 2));
  PetscCall(Expect(B, "since product 3", PETSC_TRUE, "values have changed twice"));
  PetscCall(TestCompareProducts(A, B, "values have changed twice"));
  PetscCall(MultiplyChanged(B, 300));
  PetscCall(Expect(B, "since product", PETSC_FALSE, "values change with each product"));
  PetscCall(Expect(B, "autocuda: CSR", PETSC_TRUE, "values change with each product"));
  PetscCall(TestCompareProducts(A, B, "values change with each product"));
  PetscCall(Multiply(B, 4, PETSC_FALSE));
  PetscCall(Expect(B, "since product", PETSC_FALSE, "values have changed often"));
  PetscCall(Multiply(B, 3000, PETSC_FALSE));
  PetscCall(Expect(B, "since product", PETSC_TRUE, "values do not change any more"));
  PetscCall(TestCompareProducts(A, B, "values do not change any more"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may be captured in a graph stays as it is, with the storage or with CSR, whatever comes. */
static PetscErrorCode TestSettled(Mat A)
{
  Mat B;

  PetscFunctionBegin;
  for (int k = 0; device && k < 2; k++) {
    PetscCall(Laplacian(MATAUTOCUDA, POINTS, k ? "hint_" : "counted_", &B));
    PetscCall(Multiply(B, 4, PETSC_FALSE));
    PetscCall(MatDeviceStorageSettle(B));
    PetscCall(MultiplyChanged(B, 100));
    PetscCall(Multiply(B, 2000, PETSC_FALSE));
    PetscCall(Expect(B, "autocuda: storage beside CSR", (PetscBool)k, "fixed"));
    PetscCall(TestCompareProducts(A, B, "fixed"));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is no memory for storage beside CSR. */
static PetscErrorCode TestNoMemory(Mat A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "hint_", &B));
  PetscCall(Multiply(B, 8, PETSC_FALSE));
  PetscCall(Expect(B, "rejected", PETSC_TRUE, "no memory"));
  PetscCall(Expect(B, "autocuda: CSR", PETSC_TRUE, "no memory"));
  PetscCall(TestCompareProducts(A, B, "no memory"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CSR by an option, and then what pays. */
static PetscErrorCode TestFormat(Mat A)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "csr_", &B));
  PetscCall(Multiply(B, 12, PETSC_FALSE));
  PetscCall(Expect(B, "autocuda: CSR, as -mat_hisparse_format csr says", PETSC_TRUE, "CSR"));
  PetscCall(TestCompareProducts(A, B, "CSR"));
  PetscCall(PetscOptionsSetValue(NULL, "-csr_mat_hisparse_format", "auto"));
  PetscCall(MatSetFromOptions(B));
  PetscCall(Multiply(B, 3, PETSC_FALSE));
  PetscCall(Expect(B, "autocuda: storage beside CSR", PETSC_TRUE, "what pays"));
  PetscCall(TestCompareProducts(A, B, "what pays"));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A structure that changes after every few products: CSR each time, and the next conversion later. */
static PetscErrorCode TestPatterns(Mat A)
{
  Mat B, C;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "hint_", &B));
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

/* Takes all slots of samples that are free, or gives back those that were taken. */
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
  PetscCheck(n == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d slots of samples are free, not %d", when, n, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prediction in the view, between the number of products and the cost. */
static PetscErrorCode Predicted(Mat B, size_t size, char what[])
{
  PetscBool says;
  char     *view = NULL, *begin, *end;

  PetscFunctionBegin;
  PetscCall(Says(B, "of the time of CSR", &says, &view));
  PetscCheck(says, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Nothing was predicted: %s", view);
  PetscCall(PetscStrstr(view, " products, ", &begin));
  PetscCall(PetscStrstr(view, ", making it", &end));
  PetscCheck(begin != NULL && end != NULL && begin < end, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The view has no prediction: %s", view);
  *end = 0;
  PetscCall(PetscStrncpy(what, begin, size));
  free(view);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without slots the host waits for a sample, which ends with the product that began it; the prediction is the same. */
static PetscErrorCode TestWaiting(void)
{
  DCSRPost  posts[DCSR_NUM_POSTS];
  char      waited[256], asked[256];
  int       n;
  PetscBool same;
  Mat       B, C;

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "hint_", &B));
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "hint_", &C));
  PetscCall(TakeSlots(posts, &n));
  PetscCall(Multiply(B, 1, PETSC_FALSE));
  GiveSlots(posts);
  PetscCall(Expect(B, "since product 2", PETSC_TRUE, "no slots"));
  PetscCall(Multiply(C, 2, PETSC_FALSE));
  PetscCall(Predicted(B, sizeof(waited), waited));
  PetscCall(Predicted(C, sizeof(asked), asked));
  PetscCall(PetscStrcmp(waited, asked, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A sample that the host waited for: %s; that it asked for later: %s", waited, asked);
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose sample is under way: the first product after a hint begins one, behind work that takes milliseconds. */
static PetscErrorCode BeginSample(const TestBusy *busy, Mat *B)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(Laplacian(MATAUTOCUDA, POINTS, "counted_", B));
  PetscCall(MatCreateVecs(*B, &x, &y));
  PetscCall(TestFill(x, 1));
  for (int k = 0; k < 2; k++) PetscCall(MatMult(*B, x, y)); // x and y come to the device, which would wait for other work later
  PetscCall(MatAutoCUDASetProducts(*B, 1000000, 0));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(ExpectSlots(DCSR_NUM_POSTS, "before a sample"));
  PetscCall(TestBusyRun(busy, 200));
  PetscCall(MatMult(*B, x, y));
  PetscCall(ExpectSlots(DCSR_NUM_POSTS - 1, "a sample is under way"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix goes, gets another structure, or becomes one of another type while a sample is under way: nothing is left, and the slot serves again. */
static PetscErrorCode TestUnderWay(void)
{
  TestBusy busy;
  Mat      A, B;

  PetscFunctionBegin;
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestBusyCreate(&busy));
  PetscCall(Laplacian(MATAIJ, POINTS, NULL, &A));
  for (int k = 0; k < 3; k++) {
    PetscCall(BeginSample(&busy, &B));
    if (k == 1) {
      for (int m = 0; m < 2; m++) {
        PetscCall(MatSetValue(m ? B : A, 0, POINTS * POINTS - 1, 1, ADD_VALUES));
        PetscCall(TestAssemble(m ? B : A, MAT_FINAL_ASSEMBLY));
      }
      PetscCall(TestCompareProducts(A, B, "another structure while a sample is under way"));
    } else if (k == 2) PetscCall(MatConvert(B, MATDCSRCUDA, MAT_INPLACE_MATRIX, &B));
    PetscCall(MatDestroy(&B));
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCall(ExpectSlots(DCSR_NUM_POSTS, "the matrix is gone"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(TestBusyDestroy(&busy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Very many matrices, in all states: no memory of the device and of the host is left. The first ones leave what is made once. */
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
  char     *type;
  size_t    before, now, peak;
  PetscBool no_memory = PETSC_FALSE;
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(MATAUTOCUDA, 3, 3, TEST_EVEN, 1, 1, &A, &B));
  PetscCall(TestUsesDevice(B, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, &peak));
  PetscCall(Laplacian(MATAIJ, POINTS, NULL, &A));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-no_memory", &no_memory, NULL));
  if (no_memory) PetscCall(TestNoMemory(A));
  else {
    PetscCall(TestHint(A));
    PetscCall(TestHintByCall(A));
    PetscCall(TestCounted(A));
    PetscCall(TestChanges(A));
    PetscCall(TestSettled(A));
    PetscCall(TestFormat(A));
    PetscCall(TestPatterns(A));
    PetscCall(TestWaiting());
    PetscCall(TestUnderWay());
    PetscCall(TestMany());
  }
  PetscCall(MatDestroy(&A));
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
      args: -hint_mat_auto_products 1000000 -csr_mat_auto_products 1000000 -csr_mat_hisparse_format csr -many_mat_hisparse_format diagonals -many_mat_auto_products 100
      test:
         suffix: 1
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_dcsr_require_device -malloc_debug
      test:
         suffix: no_memory
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_dcsr_require_device -no_memory -petscsparsecuda_test_available_memory 1000
      test:
         suffix: host
         args: -device_enable none -malloc_debug

TEST*/
