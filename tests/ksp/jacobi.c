static char help[] = "PCJACOBI with our type gives what it gives with MATAIJ: all its types, zeros on the diagonal, new values, views.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/ksp/pc/impls/jacobi/jacobi.h"
#include "../../src/petsc/ksp.h"
#include <math.h>

typedef enum {
  REGULAR,  /* no zero on the diagonal */
  ZEROS,    /* some diagonal entries are zero, or negative */
  MISSING,  /* some are not there */
  INFINITE, /* some are infinite: their reciprocals are zero */
  NUM_DIAGONALS
} Diagonal;
static const char *const diagonals[NUM_DIAGONALS] = {"regular", "with zeros", "with holes", "with infinite entries"};

/* A band whose values depend on the seed. */
static PetscErrorCode Enter(Mat A, Diagonal diagonal, PetscInt seed)
{
  PetscInt begin, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscScalar value = 4 + (i * seed) % 7;

    if (diagonal == ZEROS && i % 5 == 2) value = i % 10 == 2 ? 0 : -3;
    if (diagonal == INFINITE && i % 5 == 2) value = (PetscReal)INFINITY; // PETSC_INFINITY is a number
    if (diagonal != MISSING || i % 5 != 2) PetscCall(MatSetValue(A, i, i, value, INSERT_VALUES));
    for (PetscInt j = PetscMax(0, i - 3); j < PetscMin(n, i + 3); j++)
      if (j != i) PetscCall(MatSetValue(A, i, j, (PetscReal)((i + 2 * j + seed) % 9) - 4, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() writes of PCJACOBI; the rest is about the matrix. */
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
  PetscBool same, fixes[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(GetView(pcs[k], &texts[k]));
    PetscCall(PCJacobiGetFixDiagonal(pcs[k], &fixes[k]));
  }
  PetscCall(PetscStrcmp(texts[0], texts[1], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: viewed as\n%s\nand not\n%s", what, texts[1], texts[0]);
  for (int k = 0; k < 2; k++) free(texts[k]);
  PetscCheck(fixes[0] == fixes[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: zeros are %sto be replaced", what, fixes[1] ? "" : "not ");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Equal but for rounding, also where they are infinite or not numbers. */
static PetscErrorCode CompareVectors(Vec x, Vec y, const char what[], const char operation[])
{
  PetscInt           n;
  const PetscScalar *a, *b;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt i = 0; i < n; i++) {
    const PetscBool strange = (PetscBool)(PetscIsInfOrNanScalar(a[i]) && PetscIsInfOrNanScalar(b[i]));

    PetscCheck(strange || PetscAbsScalar(a[i] - b[i]) <= 100 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(a[i])), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s, %s: entry %" PetscInt_FMT " is %g and should be %g", what, operation, i, (double)PetscRealPart(b[i]), (double)PetscRealPart(a[i]));
  }
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(PC pc, int operation, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (operation == 0) PetscCall(PCApply(pc, x, y));
  else if (operation == 1) PetscCall(PCApplyTranspose(pc, x, y));
  else if (operation == 2) PetscCall(PCApplySymmetricLeft(pc, x, y));
  else PetscCall(PCApplySymmetricRight(pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* operations has a bit for each of the four that are applied, in their order. */
static PetscErrorCode CompareApplications(Mat A[2], PC pcs[2], int operations, const char what[])
{
  static const char *const names[] = {"PCApply", "PCApplyTranspose", "PCApplySymmetricLeft", "PCApplySymmetricRight"};
  Vec                      x[2], y[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(A[k], &x[k], &y[k]));
    PetscCall(TestFill(x[k], 5));
  }
  for (int operation = 0; operation < 4; operation++) {
    if (!(operations & (1 << operation))) continue;
    for (int k = 0; k < 2; k++) PetscCall(Apply(pcs[k], operation, x[k], y[k]));
    PetscCall(CompareVectors(y[0], y[1], what, names[operation]));
    PetscCall(CompareViews(pcs, what));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, PCJacobiType type, PetscBool use_abs, PetscBool fix, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCJACOBI));
  PetscCall(PCJacobiSetType(*pc, type));
  PetscCall(PCJacobiSetUseAbs(*pc, use_abs));
  PetscCall(PCJacobiSetFixDiagonal(*pc, fix));
  if (type == PC_JACOBI_ROWL1) PetscCall(PCJacobiSetRowl1Scale(*pc, 0.5));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Applied when it is new, after other values, and once more after those before. */
static PetscErrorCode TestPC(Mat A[2], Diagonal diagonal, PCJacobiType type, PetscBool use_abs, PetscBool fix, int operations)
{
  char what[256];
  PC   pcs[2];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(what, sizeof(what), "Diagonal %s, %s%s%s, operations %d", diagonals[diagonal], PCJacobiTypes[type], use_abs ? ", absolute values" : "", fix ? "" : ", zeros stay", operations));
  for (int k = 0; k < 2; k++) PetscCall(CreatePC(A[k], type, use_abs, fix, &pcs[k]));
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 2; k++) {
      PetscCall(Enter(A[k], round == 1 && diagonal != MISSING ? REGULAR : diagonal, round + 1));
      PetscCall(PCSetUp(pcs[k]));
    }
    PetscCall(CompareApplications(A, pcs, operations, what));
  }
  for (int k = 0; k < 2; k++) PetscCall(PCReset(pcs[k]));
  for (int k = 0; k < 2; k++) PetscCall(PCSetOperators(pcs[k], A[k], A[k]));
  PetscCall(CompareApplications(A, pcs, operations, what));
  for (int k = 0; k < 2; k++) PetscCall(PCDestroy(&pcs[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMatrix(MatType type, Diagonal diagonal, PetscBool spd)
{
  Mat A[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A[k]));
    PetscCall(MatSetSizes(A[k], PETSC_DECIDE, PETSC_DECIDE, 61, 61));
    PetscCall(MatSetType(A[k], k ? type : MATAIJ));
    if (spd) PetscCall(MatSetOption(A[k], MAT_SPD, PETSC_TRUE)); // as the user says
    if (spd) PetscCall(MatSetOption(A[k], MAT_SPD_ETERNAL, PETSC_TRUE));
    PetscCall(Enter(A[k], diagonal, 1));
  }
  for (PCJacobiType t = PC_JACOBI_DIAGONAL; t <= PC_JACOBI_ROWSUM; t++) {
    for (int flags = 0; flags < 4; flags++) {
      if (t == PC_JACOBI_ROWL1 && (flags & 1) && diagonal == ZEROS) continue; // PETSc refuses negative diagonals then
      for (int operations = 1; operations < 16; operations = 2 * operations + 1) PetscCall(TestPC(A, diagonal, t, (PetscBool)(flags & 1), (PetscBool) !(flags & 2), operations));
      PetscCall(TestPC(A, diagonal, t, (PetscBool)(flags & 1), (PetscBool) !(flags & 2), 4));
      PetscCall(TestPC(A, diagonal, t, (PetscBool)(flags & 1), (PetscBool) !(flags & 2), 2));
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PCJacobiRegister_AIJCUDA());
  PetscCall(PCJacobiRegister_AIJCUDA());                                                                // once more does nothing
  for (int diagonal = 0; diagonal < (PetscDefined(USE_COMPLEX) ? INFINITE : NUM_DIAGONALS); diagonal++) // divisions by infinite complex numbers are not the same everywhere
    for (int spd = 0; spd < 2; spd++) PetscCall(TestMatrix(type, (Diagonal)diagonal, (PetscBool)spd));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 4}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: host
         args: -device_enable none

TEST*/
