static char help[] = "Smoothed prolongators and estimated eigenvalues are those of PETSc's operation with a MATAIJ.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"
#include "../../../src/ksp/pc/impls/jacobi/jacobi.h"

typedef enum {
  PLAIN,
  SPD,
  SINGULAR,  /* with a null space */
  GIVEN,     /* the user says what the eigenvalues are */
  NOT_KEPT,  /* smoothers shall not use them */
  TWICE,     /* two steps */
  NO_SMOOTH, /* none */
  NUM_CASES
} Case;
static const char *const cases[NUM_CASES] = {"plain", "SPD", "singular", "eigenvalues given", "not kept", "two steps", "no step"};

/* A chain with jumps, with natural ends when singular. */
static PetscErrorCode CreateMatrix(MatType type, Case c, PetscInt n, Mat *A)
{
  PetscInt     begin, end;
  MatNullSpace constants;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscReal left = i == 0 ? 0 : 1 + i % 4, right = i == n - 1 ? 0 : 1 + (i + 1) % 4;

    PetscCall(MatSetValue(*A, i, i, left + right + (c == SINGULAR ? 0 : 0.01), INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -left, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -right, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (c == SPD) PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  if (c == SINGULAR) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(*A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Aggregates of up to three rows; a row in fifty belongs to none, and one in forty to the first aggregate of all. */
static PetscErrorCode CreateTentative(MatType type, Mat A, Mat *P)
{
  PetscInt begin, end, first, n;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  n = (end - begin + 2) / 3;
  PetscCall(MatCreate(PETSC_COMM_WORLD, P));
  PetscCall(MatSetSizes(*P, end - begin, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*P, type));
  PetscCall(MatSetUp(*P));
  PetscCall(MatGetOwnershipRangeColumn(*P, &first, NULL));
  for (PetscInt i = begin; i < end; i++)
    if (i % 50 != 7) PetscCall(MatSetValue(*P, i, i % 40 == 9 ? 0 : first + (i - begin) / 3, -0.6, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Case c, PetscInt level, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCGAMG));
  PetscCall(PCGAMGSetNSmooths(*pc, c == TWICE ? 2 : c == NO_SMOOTH ? 0 : 1));
  if (c == GIVEN) PetscCall(PCGAMGSetEigenvalues(*pc, 2.1, 0.2));
  if (c == NOT_KEPT) PetscCall(PCGAMGSetUseSAEstEig(*pc, PETSC_FALSE));
  PetscCall(PCSetFromOptions(*pc));
  GAMGGet(*pc)->current_level = level;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckClose(PetscReal got, PetscReal expected, PetscReal scale, Case c, const char what[])
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;

  PetscFunctionBegin;
  PetscCheck(PetscAbsReal(got - expected) <= tolerance * scale, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s is %.15g, and with PETSc's code %.15g", cases[c], what, (double)got, (double)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's prolongator is destroyed. */
static PetscErrorCode ComparePs(Mat ours, Mat *theirs, Case c)
{
  Mat       plain;
  PetscReal norm, difference;
  MatInfo   info[2];

  PetscFunctionBegin;
  PetscCall(MatGetInfo(ours, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(MatGetInfo(*theirs, MAT_GLOBAL_SUM, &info[1]));
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %g entries, and with PETSc's code %g", cases[c], info[0].nz_used, info[1].nz_used);
  PetscCall(MatConvert(ours, MATAIJ, MAT_INITIAL_MATRIX, &plain));
  PetscCall(MatNorm(*theirs, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(plain, -1, *theirs, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(plain, NORM_FROBENIUS, &difference));
  PetscCall(CheckClose(difference, 0, norm, c, "the norm of the difference"));
  PetscCall(MatDestroy(&plain));
  PetscCall(MatDestroy(theirs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(MatType type, Case c, PetscInt level)
{
  PC     pcs[2];
  Mat    A[2], P[2];
  PC_MG *mg[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreatePC(c, level, &pcs[k]));
    PetscCall(CreateMatrix(k ? type : MATAIJ, c, 203, &A[k]));
    PetscCall(CreateTentative(k ? type : MATAIJ, A[k], &P[k]));
    mg[k]                         = (PC_MG *)pcs[k]->data;
    mg[k]->min_eigen_DinvA[level] = mg[k]->max_eigen_DinvA[level] = -1;
  }
  PetscCall((*GAMGGet(pcs[0])->ops->optprolongator)(pcs[0], A[0], &P[0]));
  PetscCall(GAMGSmoothProlongator(pcs[1], A[1], &P[1]));
  PetscCall(CheckClose(mg[1]->min_eigen_DinvA[level], mg[0]->min_eigen_DinvA[level], 1, c, "the smallest eigenvalue"));
  PetscCall(CheckClose(mg[1]->max_eigen_DinvA[level], mg[0]->max_eigen_DinvA[level], 1, c, "the largest eigenvalue"));
  PetscCall(TestHasType(P[1], ((PetscObject)A[1])->type_name, "the prolongator"));
  PetscCall(ComparePs(P[1], &P[0], c));
  PetscCall(MatDestroy(&P[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(PCDestroy(&pcs[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PCJacobiRegister_AIJCUDA());
  for (int c = 0; c < NUM_CASES; c++)
    for (PetscInt level = 0; level < 2; level++) PetscCall(TestCase(type, (Case)c, level));
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
         suffix: cg
         args: -pc_gamg_esteig_ksp_type cg -pc_gamg_esteig_ksp_max_it 7
      test:
         suffix: sor
         args: -pc_gamg_esteig_pc_type sor

TEST*/
