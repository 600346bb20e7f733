#include "samelevels.h"
#include "hostcopy.h"

#define TOLERANCE (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-7) /* of vectors, relative: estimates of eigenvalues come from iterations */

/* LevelsCreateKSP - A solver with PCGAMG; levels are as with MATAIJ, split over all processes that PETSc splits them over. */
PetscErrorCode LevelsCreateKSP(Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_no_inode", NULL)); // equal rows, which ours does not look for, change the ordering of a factorization
  PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_join_levels", "false"));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGSetCoarseEqLim(pc, 20));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSizes(PC pc[], PetscInt level, const char what[])
{
  PetscInt sizes[2];
  MatInfo  info[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    KSP smoother;
    Mat A;

    PetscCall(PCMGGetSmoother(pc[k], level, &smoother));
    PetscCall(KSPGetOperators(smoother, NULL, &A));
    PetscCall(MatGetSize(A, &sizes[k], NULL));
    PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info[k]));
  }
  PetscCheck(sizes[0] == sizes[1] && info[0].nz_used == info[1].nz_used, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s: level %" PetscInt_FMT " has %" PetscInt_FMT " rows and %g nonzeros, not %" PetscInt_FMT " and %g", what, level, sizes[1], info[1].nz_used, sizes[0], info[0].nz_used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = M^-1 b on the host, for a vector that is not smooth. */
static PetscErrorCode Apply(KSP ksp, PC pc, Vec *z)
{
  Mat          A;
  Vec          x, y;
  PetscInt     begin, end;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetOwnershipRange(x, &begin, &end));
  PetscCall(VecGetArrayWrite(x, &array));
  for (PetscInt i = begin; i < end; i++) array[i - begin] = 1 + 0.5 * PetscSinReal((PetscReal)(i % 1013));
  PetscCall(VecRestoreArrayWrite(x, &array));
  PetscCall(PCApply(pc, x, y));
  PetscCall(TestCopyToHost(y, z));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LevelsCompare - Sizes and nonzeros of levels, then the preconditioners themselves. */
PetscErrorCode LevelsCompare(KSP theirs, KSP ours, const char what[])
{
  const KSP ksp[2] = {theirs, ours};
  PC        pc[2];
  PetscInt  num_levels[2];
  Vec       z[2];
  PetscReal norm, difference;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPGetPC(ksp[k], &pc[k]));
    PetscCall(PCMGGetLevels(pc[k], &num_levels[k]));
  }
  PetscCheck(num_levels[0] == num_levels[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " levels, not %" PetscInt_FMT, what, num_levels[1], num_levels[0]);
  for (PetscInt level = num_levels[0] - 1; level >= 0; level--) PetscCall(CompareSizes(pc, level, what));
  for (int k = 0; k < 2; k++) PetscCall(Apply(ksp[k], pc[k], &z[k]));
  PetscCall(VecNorm(z[0], NORM_2, &norm));
  PetscCall(VecAXPY(z[1], -1, z[0]));
  PetscCall(VecNorm(z[1], NORM_2, &difference));
  PetscCheck(difference <= TOLERANCE * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: what the preconditioner gives differs by %g of %g", what, (double)difference, (double)norm);
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&z[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
