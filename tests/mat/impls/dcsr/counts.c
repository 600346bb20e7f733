static char help[] = "Products are counted once, also on several processes, and what they pay for is made when it is due: compact rows, and lists for transpose products.\n\n";

#include "testmat.h"
#include "../../../lib/sys.h"
#include "../../../../src/mat/impls/aijcuda/core/core.h"

#define MANY 1000 /* products that pay for compact rows of any block here */

/* The block of a parallel matrix, or the matrix itself, as number 0; *found PETSC_FALSE: no such block, or it is not on the device, or has no entries. */
static PetscErrorCode GetBlock(Mat A, int k, Mat *block, PetscBool *found)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  *found = (PetscBool)(mpi || k == 0);
  if (!*found) PetscFunctionReturn(PETSC_SUCCESS);
  *block = mpi ? MatMPIAIJCUDAGetBlock(A, k) : A;
  PetscCall(MatIsSeqAIJCUDA(*block, found));
  *found = (PetscBool)(*found && MatSeqAIJCUDAHasDevice(*block) && MatSeqAIJCUDAGet(*block)->device.view.num_nonzeros > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(Mat A, int n, PetscBool transpose)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(TestFill(x, 1));
  PetscCall(TestFill(y, 2));
  for (int k = 0; k < n; k++) {
    if (transpose) PetscCall(MatMultTranspose(A, y, x));
    else PetscCall(MatMult(A, x, y));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half as many products as a row has entries in the mean pay for compact rows. */
static PetscCount GetDue(const DCSRView *view)
{
  return (PetscCount)PetscCeilReal((PetscReal)view->num_nonzeros / (PetscReal)(2 * view->num_rows));
}

/*
  Every block is fragmented as long as the products since its structure changed, n, have not paid for compact rows; then it is compact, with room for the next batch. So it is from the first product on
  when as many as expected pay. */
static PetscErrorCode CheckFragments(Mat A, PetscCount expected, PetscCount n, const char when[])
{
  PetscBool found;
  Mat       block;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const DCSRView *view;
    PetscBool       compact;

    PetscCall(GetBlock(A, k, &block, &found));
    if (!found) continue;
    view    = &MatSeqAIJCUDAGet(block)->device.view;
    compact = (PetscBool)(n > 0 && (2 * view->num_rows * expected > view->num_nonzeros || n > GetDue(view)));
    PetscCheck((PetscBool)(view->row_offsets != NULL) == compact, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: block %d is %s after %" PetscCount_FMT " products, %" PetscCount_FMT " are due", when, k,
               compact ? "fragmented" : "compact", n, GetDue(view));
    if (compact) PetscCheck(view->capacity > view->num_nonzeros, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: block %d has no room for a batch", when, k);
    else
      PetscCheck(MatSeqAIJCUDAGet(block)->plans.fragmented_mults == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: block %d has counted %" PetscCount_FMT " products in place of %" PetscCount_FMT, when, k,
                 MatSeqAIJCUDAGet(block)->plans.fragmented_mults, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many products one by one, after a batch. */
static PetscErrorCode MultiplyChecked(Mat A, PetscCount expected, PetscCount n, const char when[])
{
  PetscFunctionBegin;
  PetscCall(CheckFragments(A, expected, 0, when));
  for (PetscCount k = 1; k <= n; k++) {
    PetscCall(Multiply(A, 1, PETSC_FALSE));
    PetscCall(CheckFragments(A, expected, k, when));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As a batch leaves it: fragmented rows, and a structure that has had no products. */
static PetscErrorCode Fragment(Mat A)
{
  PetscBool found;
  Mat       block;

  PetscFunctionBegin;
  PetscCall(TestFragment(A, 2));
  for (int k = 0; k < 2; k++) {
    PetscCall(GetBlock(A, k, &block, &found));
    if (!found) continue;
    MatSeqAIJCUDANewStructure(block);
    MatSeqAIJCUDAGet(block)->plans.fragmented_mults = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFragments(MatType type)
{
  Mat A, B;

  PetscFunctionBegin;
  for (int told = 0; told < 3; told++) { // nothing, too few, enough
    PetscCall(TestCreatePair(type, 60, 60, TEST_EVEN, 5, 1, &A, &B));
    PetscCall(Multiply(B, 1, PETSC_FALSE)); // to the device; one is expected then
    PetscCall(Fragment(B));
    if (told > 0) PetscCall(MatAutoCUDASetProducts(B, told == 1 ? 1 : MANY, 0));
    PetscCall(MultiplyChecked(B, told == 2 ? MANY : 1, 10, "first fragments"));
    PetscCall(TestCompareProducts(A, B, "fragmented, then compact"));
    if (told == 0) { // as many as with the structure before are expected
      PetscCall(Fragment(B));
      PetscCall(MultiplyChecked(B, 12, 2, "expected by the structure before"));
      PetscCall(Fragment(B));
      PetscCall(MultiplyChecked(B, 2, 10, "not expected"));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows stay fragmented when there is no memory to make them compact, which is no error, and become compact later. */
static PetscErrorCode TestNoMemory(MatType type)
{
  PetscMPIInt size;
  MatPlans   *plans;
  Mat         A, B;
  Vec         x, y;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt n = 1; n < 4; n++) { // row offsets, values, columns
    PetscCall(TestCreatePair(type, 60, 60, TEST_EVEN, 5, 1, &A, &B));
    PetscCall(MatCreateVecs(B, &x, &y));
    PetscCall(TestFill(x, 1));
    PetscCall(MatMult(B, x, y));
    PetscCall(Fragment(B));
    plans = &MatSeqAIJCUDAGet(B)->plans;
    for (PetscCount k = 0; k < GetDue(&MatSeqAIJCUDAGet(B)->device.view); k++) PetscCall(MatMult(B, x, y));
    PetscCall(PetscSparseCUDATestFailAllocation(n));
    PetscCall(MatMult(B, x, y));
    PetscCall(PetscSparseCUDATestFailAllocation(0));
    PetscCheck(MatSeqAIJCUDAGet(B)->device.view.row_offsets == NULL && plans->compact_from > plans->fragmented_mults, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Allocation %" PetscInt_FMT " fails, and rows are compact", n);
    PetscCall(TestCompareProducts(A, B, "without memory for compact rows"));
    while (plans->fragmented_mults < plans->compact_from) PetscCall(MatMult(B, x, y));
    PetscCall(TestCompareProducts(A, B, "with memory again"));
    PetscCheck(MatSeqAIJCUDAGet(B)->device.view.row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is memory again, and rows stay fragmented");
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first transpose product leaves the plan as it was made, the second one completes it; at once when more than one is told. */
static PetscErrorCode TestTransposes(MatType type)
{
  PetscBool found;
  Mat       A, B, block;

  PetscFunctionBegin;
  for (int told = 0; told < 2; told++) {
    PetscCall(TestCreatePair(type, 60, 60, TEST_EVEN, 5, 1, &A, &B));
    if (told) PetscCall(MatAutoCUDASetProducts(B, 0, 2));
    for (PetscCount n = 1; n < 4; n++) {
      PetscCall(Multiply(B, 1, PETSC_TRUE));
      for (int k = 0; k < 2; k++) {
        PetscCall(GetBlock(B, k, &block, &found));
        if (!found) continue;
        PetscCheck(MatSeqAIJCUDAGet(block)->plans.transpose_mults == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Block %d has counted %" PetscCount_FMT " transpose products in place of %" PetscCount_FMT, k,
                   MatSeqAIJCUDAGet(block)->plans.transpose_mults, n);
        PetscCheck((n < 2 && !told) || DCSRSpMVTransposePlanIsComplete(MatSeqAIJCUDAGet(block)->plans.spmvt), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "Block %d: the plan of %" PetscCount_FMT " transpose products is not complete", k, n);
      }
    }
    PetscCall(TestCompareProducts(A, B, "transposes"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     *type;
  PetscBool device;
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(TestCreatePair(type, 3, 3, TEST_EVEN, 1, 1, &A, &B));
  PetscCall(TestUsesDevice(B, &device));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  if (device) {
    PetscCall(TestFragments(type));
    PetscCall(TestNoMemory(type));
    PetscCall(TestTransposes(type));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   test:
      requires: cuda
      nsize: {{1 3}}
      output_file: output/empty.out
      args: -use_gpu_aware_mpi 0 -mat_type {{dcsrcuda autocuda}}

TEST*/
