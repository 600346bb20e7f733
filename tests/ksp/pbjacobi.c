static char help[] = "PCPBJACOBI and PCVPBJACOBI with our type give what they give with MATAIJ: sizes of blocks, pivots, holes, failures, new values, views.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/ksp/pc/impls/pbjacobi/pbjacobi.h"
#include "../../src/petsc/ksp.h"

typedef enum {
  REGULAR,  /* blocks that have an inverse without pivoting */
  PIVOTS,   /* their first entries are zero, so that rows are exchanged */
  HOLES,    /* some entries are not there */
  SINGULAR, /* one block has a row of zeros */
  NOTHING,  /* the matrix has no entries */
  NUM_BLOCKS
} Blocks;
static const char *const names[NUM_BLOCKS] = {"regular", "with pivots", "with holes", "with a singular one", "without entries"};

static PetscBool device; /* the type is on the device */

/* Sizes of the blocks of this process: size, or up to size where they are variable. */
static PetscInt GetSize(PetscInt b, PetscInt size, PetscBool variable)
{
  return variable ? 1 + (5 * b + 2) % size : size;
}

/* A band outside of the blocks, and the blocks of this process. */
static PetscErrorCode Enter(Mat A, PetscInt num_blocks, PetscInt size, PetscBool variable, Blocks kind, PetscInt seed)
{
  PetscInt begin, end, n, first;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  first = begin;
  for (PetscInt b = 0; b < (kind == NOTHING ? 0 : num_blocks); b++) {
    const PetscInt rows = GetSize(b, size, variable);

    for (PetscInt r = 0; r < rows; r++) {
      for (PetscInt c = 0; c < rows; c++) {
        PetscScalar value = (PetscReal)((3 * r + 7 * c + b + seed) % 11) / 8 - 0.5;

        if (r == c) value += 2 + size;
        if (kind == PIVOTS && rows > 1 && c == r) value = r == 0 ? 0 : -1;
        if (kind == PIVOTS && rows > 1 && c == rows - 1 - r) value += 3 + size;
        if (kind == SINGULAR && b == num_blocks / 2 && r == rows / 2) value = 0;
        if (kind == HOLES && r != c && (r + c + b) % 3 == 0) continue;
        PetscCall(MatSetValue(A, first + r, first + c, value, INSERT_VALUES));
      }
      for (PetscInt k = 1; k < 3; k++) {
        const PetscInt i = first + r, j = i + k * (size + 3);

        if (j < n) PetscCall(MatSetValue(A, i, j, (PetscReal)((i + seed) % 5) - 2, INSERT_VALUES));
        if (i - k * (size + 3) >= 0) PetscCall(MatSetValue(A, i, i - k * (size + 3), 0.25, INSERT_VALUES));
      }
    }
    first += rows;
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt num_blocks, PetscInt size, PetscBool variable, Mat *A)
{
  PetscInt *sizes, n = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(num_blocks, &sizes));
  for (PetscInt b = 0; b < num_blocks; b++) {
    sizes[b] = GetSize(b, size, variable);
    n += sizes[b];
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  if (!variable) PetscCall(MatSetBlockSize(*A, size));
  PetscCall(MatSetType(*A, type));
  if (variable) PetscCall(MatSetVariableBlockSizes(*A, num_blocks, sizes));
  PetscCall(PetscFree(sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() writes of the PC itself. */
static PetscErrorCode GetView(PC pc, char **text)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(TestTextOpen(PETSC_COMM_SELF, &viewer));
  PetscUseTypeMethod(pc, view, viewer);
  PetscCall(TestTextClose(&viewer, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareViews(PC pcs[2], const char what[])
{
  char     *texts[2];
  PetscBool same;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(GetView(pcs[k], &texts[k]));
  PetscCall(PetscStrcmp(texts[0], texts[1], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: viewed as\n%s\nand not\n%s", what, texts[1], texts[0]);
  for (int k = 0; k < 2; k++) free(texts[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Applications to vectors of each PC's matrix and to vectors on the host. */
static PetscErrorCode CompareApplications(Mat A[2], PC pcs[2], PetscInt size, const char what[])
{
  const PetscReal tolerance = 1000 * (PetscReal)size * PETSC_MACHINE_EPSILON;
  Vec             x[2], y[2];
  PetscReal       norm, difference;
  char            text[256];

  PetscFunctionBegin;
  for (int host = 0; host < 2; host++) {
    for (int transpose = 0; transpose < 2; transpose++) {
      PetscCall(PetscSNPrintf(text, sizeof(text), "%s%s%s", what, transpose ? ", transposed" : "", host ? ", vectors on the host" : ""));
      for (int k = 0; k < 2; k++) {
        PetscCall(MatCreateVecs(A[host ? 0 : k], &x[k], &y[k]));
        PetscCall(TestFill(x[k], 5));
        PetscCall(VecSet(y[k], 99));
        if (transpose) PetscCall(PCApplyTranspose(pcs[k], x[k], y[k]));
        else PetscCall(PCApply(pcs[k], x[k], y[k]));
      }
      PetscCall(VecNorm(y[0], NORM_INFINITY, &norm));
      PetscCall(VecCopy(y[1], x[0])); // MATAIJ's vectors are on the host
      PetscCall(VecAXPY(x[0], -1.0, y[0]));
      PetscCall(VecNorm(x[0], NORM_INFINITY, &difference));
      PetscCheck(difference <= tolerance * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: differs by %g of %g", text, (double)difference, (double)norm);
      for (int k = 0; k < 2; k++) {
        PetscCall(VecDestroy(&x[k]));
        PetscCall(VecDestroy(&y[k]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up and compares the outcome; *failed: on this process. */
static PetscErrorCode SetUp(PC pcs[2], PetscBool *failed, const char what[])
{
  PCFailedReason reasons[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PCSetUp(pcs[k]));
    PetscCall(PCGetFailedReason(pcs[k], &reasons[k]));
  }
  PetscCheck(reasons[0] == reasons[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: failure %d and not %d", what, (int)reasons[1], (int)reasons[0]);
  *failed = (PetscBool)(reasons[0] != PC_NOERROR);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our code inverts where the type is on the device and blocks are small enough. */
static PetscErrorCode CheckOurs(PC pc, PetscInt size, const char what[])
{
  void *blocks;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)pc, "PCPointBlocks_AIJCUDA", &blocks));
  PetscCheck((blocks != NULL) == (device && size <= DCSR_POINT_BLOCK_MAX), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: blocks are%s on the device", what, blocks != NULL ? "" : " not");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New, with other values, with a failure and without it again, after a reset. A matrix that failed says so for good in PETSc's code, so that a PC gets another one. */
static PetscErrorCode TestPC(MatType type, PetscInt num_blocks, PetscInt size, PetscBool variable, Blocks kind)
{
  char      what[256];
  Mat       A[2];
  PC        pcs[2];
  PetscBool failed;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " blocks of %s%" PetscInt_FMT " rows, %s", num_blocks, variable ? "up to " : "", size, names[kind]));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, num_blocks, size, variable, &A[k]));
    PetscCall(Enter(A[k], num_blocks, size, variable, kind, 0));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pcs[k]));
    PetscCall(PCSetType(pcs[k], variable ? PCVPBJACOBI : PCPBJACOBI));
    PetscCall(PCSetOperators(pcs[k], A[k], A[k]));
  }
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 2 && round; k++) PetscCall(Enter(A[k], num_blocks, size, variable, kind, round));
    PetscCall(SetUp(pcs, &failed, what));
    PetscCheck(num_blocks == 0 || failed == (kind >= SINGULAR), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a setup has%s failed", what, failed ? "" : " not");
    if (!failed) PetscCall(CompareApplications(A, pcs, size, what));
    PetscCall(CompareViews(pcs, what));
    PetscCall(CheckOurs(pcs[1], size, what));
    if (round == 1) PetscCall(PCReset(pcs[1]));
    if (round == 1) PetscCall(PCSetOperators(pcs[1], A[1], A[1]));
  }
  if (kind >= SINGULAR && device && size <= DCSR_POINT_BLOCK_MAX) { // values that have inverses again
    PCFailedReason reason;

    PetscCall(Enter(A[1], num_blocks, size, variable, REGULAR, 1));
    PetscCall(PCSetUp(pcs[1]));
    PetscCall(PCGetFailedReason(pcs[1], &reason));
    PetscCheck(reason == PC_NOERROR, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: failed with values that have inverses", what);
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PCDestroy(&pcs[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One PC that gets MATAIJ, our type, larger blocks, our type bound to the CPU, and MATAIJ again, and becomes another type in between. */
static PetscErrorCode TestTypes(MatType type)
{
  Mat A[4];
  PC  pcs[2];

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    PetscCall(Create(k % 2 ? type : MATAIJ, 20, k < 2 ? 3 : 6, PETSC_FALSE, &A[k]));
    PetscCall(Enter(A[k], 20, k < 2 ? 3 : 6, PETSC_FALSE, REGULAR, 1));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pcs[k]));
    PetscCall(PCSetType(pcs[k], PCPBJACOBI));
  }
  for (int round = 0; round < 7; round++) {
    static const int ours[7] = {0, 1, 3, 3, 1, 2, 3};
    Mat              pair[2] = {A[ours[round] - ours[round] % 2], A[ours[round]]};
    PetscBool        failed;

    if (round == 3 || round == 4) PetscCall(MatBindToCPU(A[3], (PetscBool)(round == 3)));
    for (int k = 0; k < 2; k++) {
      if (round == 5) PetscCall(PCSetType(pcs[k], PCJACOBI));
      if (round == 5) PetscCall(PCSetType(pcs[k], PCPBJACOBI));
      PetscCall(PCReset(pcs[k]));
      PetscCall(PCSetOperators(pcs[k], pair[k], pair[k]));
    }
    PetscCall(SetUp(pcs, &failed, "Other matrices"));
    PetscCall(CompareApplications(pair, pcs, 6, "Other matrices"));
    PetscCall(CompareViews(pcs, "Other matrices"));
  }
  for (int k = 0; k < 4; k++) PetscCall(MatDestroy(&A[k]));
  for (int k = 0; k < 2; k++) PetscCall(PCDestroy(&pcs[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where failures are errors. */
static PetscErrorCode TestError(MatType type)
{
  Mat            A;
  PC             pc;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(Create(type, 4, 3, PETSC_FALSE, &A));
  PetscCall(Enter(A, 4, 3, PETSC_FALSE, SINGULAR, 0));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCPBJACOBI));
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_MAT_LU_ZRPVT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A singular block gives error %d", (int)ierr);
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17, 32, 33};
  char                 *type;
  Mat                   A;
  PetscMPIInt           rank, num_ranks;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PCPBJacobiRegister_AIJCUDA()); // once more does nothing
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &num_ranks));
  PetscCall(Create(type, 3, 3, PETSC_FALSE, &A));
  PetscCall(Enter(A, 3, 3, PETSC_FALSE, REGULAR, 0));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    for (int kind = 0; kind < NUM_BLOCKS; kind++) {
      for (int variable = 0; variable < 2; variable++) {
        // PETSc's inverses of variable blocks fail in silence if they have one row, and on several processes
        if (!(variable && kind >= SINGULAR && (num_ranks > 1 || GetSize(25 / 2, sizes[k], PETSC_TRUE) == 1))) PetscCall(TestPC(type, 25, sizes[k], (PetscBool)variable, (Blocks)kind));
      }
    }
  }
  PetscCall(TestPC(type, 700, 3, PETSC_FALSE, PIVOTS));
  PetscCall(TestPC(type, rank ? 0 : 30, 3, PETSC_FALSE, HOLES)); // processes without rows
  PetscCall(TestTypes(type));
  if (device || num_ranks == 1) PetscCall(TestError(type)); // MATMPIAIJ does not tell its block
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: host
         args: -device_enable none

TEST*/
