static char help[] =
  "What happens to matrices of full blocks: rows and entries go, entries come, zeros are ignored, block sizes come late or are others, pivots are zero, aggregates have one point. Products and outcomes are MATAIJ's.\n\n";

#include "../mat/impls/dcsr/testmat.h"
#include <petscksp.h>

#define POINTS 24 /* of a process */
#define FINE   3  /* unknowns of a point, */
#define COARSE 6  /* and of one of the coarse points, of which there is one for each three */

typedef enum {
  SCALE,
  KEEP_ROWS, /* MatZeroRows() that keeps the pattern */
  ZERO_ROWS,
  ZERO_ROWS_COLUMNS,
  ELIMINATE_ZEROS,
  ADD_ENTRY,
  ADD_BLOCK,
  ADD_TO_P, /* an entry to the prolongator */
  NUM_CHANGES
} Change;

static const char *const names[NUM_CHANGES] = {"MatScale()",      "MatZeroRows() with its pattern", "MatZeroRows()", "MatZeroRowsColumns()", "MatEliminateZeros()", "a new entry", "a new block",
                                               "a new entry of P"};

/* Whether the blocks of A and of P are full afterwards. */
static const PetscBool full[NUM_CHANGES][2] = {{PETSC_TRUE, PETSC_TRUE},  {PETSC_TRUE, PETSC_TRUE},  {PETSC_FALSE, PETSC_TRUE}, {PETSC_TRUE, PETSC_TRUE},
                                               {PETSC_FALSE, PETSC_TRUE}, {PETSC_FALSE, PETSC_TRUE}, {PETSC_TRUE, PETSC_TRUE},  {PETSC_TRUE, PETSC_FALSE}};

static const PetscBool all[2] = {PETSC_TRUE, PETSC_TRUE}, none[2] = {PETSC_FALSE, PETSC_FALSE};

static PetscBool device; /* the type is on the device */

/* Matrices of MATAIJ and of the type under test, and what is kept while they change. */
typedef struct {
  Mat A[2], P[2];
  Mat C;  /* P^T A P of ours */
  PC  pc; /* PCPBJACOBI of ours */
  KSP ksps[2];
} Case;

/* A block, of which some values are zero. */
static PetscErrorCode AddBlock(Mat A, PetscInt br, PetscInt bc, PetscInt i, PetscInt j, PetscReal diagonal)
{
  PetscInt    rows[COARSE], columns[COARSE];
  PetscScalar values[COARSE * COARSE];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < br; r++) rows[r] = br * i + r;
  for (PetscInt c = 0; c < bc; c++) columns[c] = bc * j + c;
  for (PetscInt k = 0; k < br * bc; k++) values[k] = (k / bc == k % bc ? diagonal : 0) + (PetscReal)((i + j + 2 * (k / bc + k % bc)) % 5 - 2) / 8;
  PetscCall(MatSetValues(A, br, rows, bc, columns, values, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points in a row that are coupled to the next and to the fifth in both directions; with coarse ones a prolongator to them. Block sizes are told unless late. */
static PetscErrorCode Create(MatType type, PetscBool coarse, PetscBool late, PetscBool ignore_zeros, Mat *A)
{
  const PetscInt bc = coarse ? COARSE : FINE;
  PetscInt       begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, POINTS * FINE, coarse ? POINTS / 3 * COARSE : POINTS * FINE, PETSC_DETERMINE, PETSC_DETERMINE));
  if (!late) PetscCall(MatSetBlockSizes(*A, FINE, bc));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOptionsPrefix(*A, "test_"));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(*A, MAT_IGNORE_ZERO_ENTRIES, ignore_zeros));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatGetSize(*A, &N, NULL));
  for (PetscInt i = begin / FINE; i < end / FINE; i++) {
    if (coarse) {
      PetscCall(AddBlock(*A, FINE, bc, i, i / 3, 1));
      if (i % 3 == 2 && i + 1 < N / FINE) PetscCall(AddBlock(*A, FINE, bc, i, i / 3 + 1, 0));
      continue;
    }
    for (PetscInt k = -5; k <= 5; k++)
      if ((PetscAbs(k) <= 1 || PetscAbs(k) == 5) && i + k >= 0 && i + k < N / FINE) PetscCall(AddBlock(*A, FINE, FINE, i, i + k, k ? 0 : 8));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the last process alone, but for what is an operation of all entries. */
static PetscErrorCode ChangeMatrices(Change change, Mat A, Mat P)
{
  PetscInt begin, end, N, rows[2], num;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetSize(A, &N, NULL));
  rows[0] = begin + 4;
  rows[1] = end - 1;
  num     = end == N ? 2 : 0;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, (PetscBool)(change == KEEP_ROWS)));
  if (change == SCALE) PetscCall(MatScale(A, 1.5));
  else if (change == KEEP_ROWS || change == ZERO_ROWS) PetscCall(MatZeroRows(A, num, rows, 3, NULL, NULL));
  else if (change == ZERO_ROWS_COLUMNS) PetscCall(MatZeroRowsColumns(A, num, rows, 3, NULL, NULL));
  else if (change == ELIMINATE_ZEROS) PetscCall(MatEliminateZeros(A, PETSC_TRUE));
  else {
    if (change == ADD_ENTRY && num > 0) PetscCall(MatSetValue(A, begin + 1, begin + 11 * FINE, 0.5, ADD_VALUES));
    if (change == ADD_BLOCK && num > 0) PetscCall(AddBlock(A, FINE, FINE, begin / FINE, begin / FINE + 11, 0.5));
    if (change == ADD_TO_P && num > 0) PetscCall(MatSetValue(P, end - 1, 1, 0.5, ADD_VALUES)); // a ghost column on several processes
    PetscCall(TestAssemble(change == ADD_TO_P ? P : A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product with a vector, and one of matrices, went by blocks; told of one process alone. */
static PetscErrorCode CheckBlocks(Mat A, Mat C, const PetscBool expected[2], const char what[])
{
  PetscMPIInt size;
  PetscBool   is_dcsr;
  char       *text[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is_dcsr, MATSEQAIJDCSRCUDA, ""));
  if (size > 1 || !device || !is_dcsr) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestGetInfo(A, &text[0]));
  PetscCall(TestGetInfo(C, &text[1]));
  PetscCheck((strstr(text[0], "blocks of 3 x 3") != NULL) == expected[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: A x goes%s by blocks:\n%s", what, expected[0] ? " not" : "", text[0]);
  PetscCheck((strstr(text[1], "of blocks 3 x 3") != NULL) == (expected[0] && expected[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: A P goes%s by blocks:\n%s", what,
             expected[0] && expected[1] ? " not" : "", text[1]);
  for (int k = 0; k < 2; k++) free(text[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCPBJACOBI makes of a vector; zero if it fails. A new one unless there is one. */
static PetscErrorCode ApplyPointBlocks(Mat A, PC *pc, Vec *y)
{
  PCFailedReason reason;
  Vec            x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, y));
  PetscCall(TestFill(x, 3));
  if (*pc == NULL) {
    PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
    PetscCall(PCSetType(*pc, PCPBJACOBI));
  }
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetUp(*pc));
  PetscCall(PCGetFailedReason(*pc, &reason));
  if (reason == PC_NOERROR) PetscCall(PCApply(*pc, x, *y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of MATAIJ, a new one of ours, and on the device the kept one; MATAIJ keeps inverses with room for the block sizes that it had first. */
static PetscErrorCode ComparePointBlocks(Case *c, const char what[])
{
  PC  pcs[2] = {NULL, NULL};
  Vec y[3];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(ApplyPointBlocks(c->A[k], &pcs[k], &y[k]));
  PetscCall(ApplyPointBlocks(c->A[1], device ? &c->pc : &pcs[1], &y[2]));
  for (int k = 1; k < 3; k++) PetscCall(TestCompareVec(y[0], y[k], what));
  for (int k = 0; k < 3; k++) PetscCall(VecDestroy(&y[k]));
  for (int k = 0; k < 2; k++) PetscCall(PCDestroy(&pcs[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with vectors, P^T A P and PCPBJACOBI. On the device the product of ours is used again if there is one; PETSc's does not take new patterns. */
static PetscErrorCode Compare(Case *c, const PetscBool by_blocks[2], const char what[])
{
  Mat R;

  PetscFunctionBegin;
  PetscCall(TestIsValid(c->A[1], what));
  PetscCall(TestCompareProducts(c->A[0], c->A[1], what));
  PetscCall(MatPtAP(c->A[0], c->P[0], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  if (!device) PetscCall(MatDestroy(&c->C));
  PetscCall(MatPtAP(c->A[1], c->P[1], c->C != NULL ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &c->C));
  PetscCall(TestCompareRows(R, c->C, what));
  PetscCall(CheckBlocks(c->A[1], c->C, by_blocks, what));
  PetscCall(ComparePointBlocks(c, what));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseCreate(MatType type, PetscBool late, PetscBool ignore_zeros, Case *c)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(c, 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, PETSC_FALSE, late, ignore_zeros, &c->A[k]));
    PetscCall(Create(k ? type : MATAIJ, PETSC_TRUE, late, ignore_zeros, &c->P[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&c->A[k]));
    PetscCall(MatDestroy(&c->P[k]));
    PetscCall(KSPDestroy(&c->ksps[k]));
  }
  PetscCall(MatDestroy(&c->C));
  PetscCall(PCDestroy(&c->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a solve ends. */
typedef struct {
  KSPConvergedReason reason;
  PCFailedReason     failed;
  PetscInt           its;
} Outcome;

/* A new solver unless there is one. */
static PetscErrorCode Solve(Mat A, KSPType ksp_type, PCType pc_type, KSP *ksp, Outcome *outcome)
{
  PC  pc;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestFill(b, 7));
  if (*ksp == NULL) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetType(*ksp, ksp_type));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetType(pc, pc_type));
    PetscCall(PCGAMGCUDASetLevelValues(pc, "double"));
    PetscCall(KSPSetFromOptions(*ksp));
  }
  PetscCall(KSPSolve(*ksp, b, x));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(KSPGetConvergedReason(*ksp, &outcome->reason));
  PetscCall(KSPGetIterationNumber(*ksp, &outcome->its));
  PetscCall(PCGetFailedReason(pc, &outcome->failed));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareOutcomes(const Outcome o[2], const char what[])
{
  PetscFunctionBegin;
  PetscCheck(o[0].reason == o[1].reason && o[0].failed == o[1].failed && PetscAbs(o[0].its - o[1].its) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: reason %d, failure %d and %" PetscInt_FMT " iterations, and not %d, %d and %" PetscInt_FMT, what, (int)o[1].reason, (int)o[1].failed, o[1].its, (int)o[0].reason, (int)o[0].failed,
             o[0].its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG that is kept. */
static PetscErrorCode CompareSolves(Case *c, const char what[])
{
  Outcome outcomes[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(Solve(c->A[k], KSPGMRES, PCGAMG, &c->ksps[k], &outcomes[k]));
  PetscCheck(outcomes[0].reason > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: MATAIJ's solve ends with reason %d", what, (int)outcomes[0].reason);
  PetscCall(CompareOutcomes(outcomes, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A change after products by blocks; then what went from the blocks is there again. */
static PetscErrorCode TestChange(MatType type, Change change)
{
  PetscInt begin, end, N;
  Case     c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(type, PETSC_FALSE, PETSC_FALSE, &c));
  PetscCall(Compare(&c, all, "a new matrix"));
  PetscCall(CompareSolves(&c, "a new matrix"));
  for (int k = 0; k < 2; k++) PetscCall(ChangeMatrices(change, c.A[k], c.P[k]));
  PetscCall(Compare(&c, full[change], names[change]));
  PetscCall(CompareSolves(&c, names[change]));
  PetscCall(MatGetOwnershipRange(c.A[0], &begin, &end));
  PetscCall(MatGetSize(c.A[0], &N, NULL));
  for (int k = 0; k < 2; k++) {
    for (PetscInt i = begin / FINE; i < end / FINE; i++)
      for (PetscInt j = PetscMax(i - 5, 0); j <= i + 11 && j < N / FINE; j++) PetscCall(AddBlock(c.A[k], FINE, FINE, i, j, i == j ? 16 : 0));
    PetscCall(TestAssemble(c.A[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(Compare(&c, full[change][1] ? all : full[change], "all blocks again"));
  PetscCall(CompareSolves(&c, "all blocks again"));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestIgnoredZeros(MatType type)
{
  Case c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(type, PETSC_FALSE, PETSC_TRUE, &c));
  PetscCall(Compare(&c, none, "ignored zeros"));
  PetscCall(CompareSolves(&c, "ignored zeros"));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Block sizes that are told after products, and others later. What there is goes on as it does while the pattern stays; new products and new matrices go by the sizes of now. */
static PetscErrorCode TestLateSizes(MatType type)
{
  static const PetscInt sizes[][2] = {{3, 6}, {1, 1}, {6, 3}, {2, 2}, {4, 4}, {3, 6}};
  Case                  c, copy;
  Mat                   D = NULL; /* P^T A P of MATAIJ */
  PetscBool             by_blocks[2];
  char                  what[128];

  PetscFunctionBegin;
  PetscCall(CaseCreate(type, PETSC_TRUE, PETSC_FALSE, &c));
  PetscCall(Compare(&c, none, "without block sizes"));
  PetscCall(MatPtAP(c.A[0], c.P[0], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "late blocks of %" PetscInt_FMT " and %" PetscInt_FMT, sizes[s][0], sizes[s][1]));
    copy         = c;
    by_blocks[0] = (PetscBool)(sizes[s][0] == FINE);
    by_blocks[1] = (PetscBool)(sizes[s][1] == COARSE);
    for (int k = 0; k < 2; k++) {
      PetscCall(MatSetBlockSize(c.A[k], sizes[s][0]));
      PetscCall(MatSetBlockSizes(c.P[k], sizes[s][0], sizes[s][1]));
      PetscCall(MatScale(c.A[k], 1.5));
      PetscCall(MatDuplicate(c.A[k], MAT_COPY_VALUES, &copy.A[k]));
    }
    PetscCall(TestCompareProducts(c.A[0], c.A[1], what));
    PetscCall(MatPtAP(c.A[0], c.P[0], MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(MatPtAP(c.A[1], c.P[1], MAT_REUSE_MATRIX, PETSC_DETERMINE, &c.C));
    PetscCall(TestCompareRows(D, c.C, what));
    copy.C = NULL;
    PetscCall(Compare(&copy, by_blocks, what));
    PetscCall(CompareSolves(&copy, what));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatDestroy(&copy.A[k]));
      PetscCall(KSPDestroy(&copy.ksps[k]));
    }
    PetscCall(MatDestroy(&copy.C));
    PetscCall(MatDestroy(&c.C));
    PetscCall(MatPtAP(c.A[1], c.P[1], MAT_INITIAL_MATRIX, PETSC_DETERMINE, &c.C));
    c.pc = copy.pc;
  }
  PetscCall(MatDestroy(&D));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last process has a block without inverse. Every process has PETSc's reason; where failures are errors every process has one (with PETSc's code that process alone). */
static PetscErrorCode TestZeroPivot(MatType type, KSPType ksp_type)
{
  Outcome        outcomes[2];
  PetscInt       begin, end, N;
  KSP            ksp;
  PetscErrorCode ierr;
  PC             pc;
  Mat            A[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, &A[k]));
    PetscCall(MatGetOwnershipRange(A[k], &begin, &end));
    PetscCall(MatGetSize(A[k], &N, NULL));
    for (PetscInt c = 0; c < FINE && end == N; c++) PetscCall(MatSetValue(A[k], end - 1, end - FINE + c, 0, INSERT_VALUES));
    PetscCall(TestAssemble(A[k], MAT_FINAL_ASSEMBLY));
    ksp = NULL;
    PetscCall(Solve(A[k], ksp_type, PCPBJACOBI, &ksp, &outcomes[k]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCheck(outcomes[0].reason == KSP_DIVERGED_PC_FAILED, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s with a zero pivot: MATAIJ ends with reason %d", ksp_type, (int)outcomes[0].reason);
  PetscCall(CompareOutcomes(outcomes, "a zero pivot"));
  if (device) {
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCPBJACOBI));
    PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
    PetscCall(PCSetOperators(pc, A[1], A[1]));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(ierr == PETSC_ERR_MAT_LU_ZRPVT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A zero pivot gives error %d", (int)ierr);
    PetscCall(PCDestroy(&pc));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some aggregates have one point, whose three rows leave three of six coarse unknowns without entries. PCJACOBI takes 1 for them, PCPBJACOBI fails. */
static PetscErrorCode TestSmallAggregates(MatType type, PCType smoother)
{
  Outcome      outcomes[2];
  MatNullSpace modes;
  KSP          ksp;
  Vec          points;
  PetscInt     begin, end;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mg_levels_pc_type", smoother));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, &A));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, POINTS * FINE, PETSC_DETERMINE, &points));
    PetscCall(VecSetBlockSize(points, FINE));
    PetscCall(VecGetOwnershipRange(points, &begin, &end));
    for (PetscInt i = begin; i < end; i++) PetscCall(VecSetValue(points, i, (PetscReal)(i % FINE == 0 ? i / FINE : i / FINE % (3 + i % FINE)), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(points));
    PetscCall(VecAssemblyEnd(points));
    PetscCall(MatNullSpaceCreateRigidBody(points, &modes));
    PetscCall(MatSetNearNullSpace(A, modes));
    ksp = NULL;
    PetscCall(Solve(A, KSPCG, PCGAMG, &ksp, &outcomes[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscCall(VecDestroy(&points));
    PetscCall(MatDestroy(&A));
  }
  PetscCheck((outcomes[0].reason == KSP_DIVERGED_PC_FAILED) == !strcmp(smoother, PCPBJACOBI), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: MATAIJ's solve ends with reason %d", smoother,
             (int)outcomes[0].reason);
  PetscCall(CompareOutcomes(outcomes, smoother));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const KSPType ksp_types[] = {KSPCG, KSPGMRES, KSPRICHARDSON, KSPCHEBYSHEV};
  char                *type;
  Mat                  A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(Create(type, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, &A));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  for (int change = 0; change < NUM_CHANGES; change++) PetscCall(TestChange(type, (Change)change));
  PetscCall(TestIgnoredZeros(type));
  PetscCall(TestLateSizes(type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(ksp_types); k++) PetscCall(TestZeroPivot(type, ksp_types[k]));
  PetscCall(TestSmallAggregates(type, PCJACOBI));
  PetscCall(TestSmallAggregates(type, PCPBJACOBI));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0 -pc_gamg_aggressive_coarsening 0 -pc_gamg_coarse_eq_limit 20 -mg_levels_pc_type jacobi
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         requires: cuda
         args: -mat_type hisparsecuda
      test:
         suffix: host
         requires: cuda
         args: -device_enable none

TEST*/
