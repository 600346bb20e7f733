static char help[] = "What PCGAMG tells the matrices of its levels about the products that follow a setup: as many as followed the last one.\n\n";

#include "../../mat/impls/dcsr/testmat.h"
#include <petscksp.h>

#define CYCLES       5
#define FIRST_CYCLES 6 /* that are expected before there was one */

/* What the operators and the interpolations of all levels expect: at least, after the first setup. */
static PetscErrorCode GetTold(PC pc, PetscBool first, PetscCount *operators, PetscCount *interpolations, PetscCount *restrictions)
{
  PetscInt   num_levels;
  PetscCount n, t;
  PetscBool  minimum;
  KSP        smoother;
  Mat        A;

  PetscFunctionBegin;
  *operators = *interpolations = *restrictions = 0;
  PetscCall(PCMGGetLevels(pc, &num_levels));
  PetscCheck(num_levels > 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " levels are too few", num_levels);
  for (PetscInt level = 0; level < num_levels; level++) {
    PetscCall(PCMGGetSmoother(pc, level, &smoother));
    PetscCall(KSPGetOperators(smoother, &A, NULL));
    PetscCall(TestLibGetProducts(A, &n, &t, &minimum));
    PetscCheck(t == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The operator of level %" PetscInt_FMT " expects %" PetscCount_FMT " transpose products", level, t);
    PetscCheck(n == 0 || minimum == first, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The operator of level %" PetscInt_FMT " %s", level,
               first ? "takes what the first setup tells for all that comes" : "takes the cycles of the last solve for a minimum");
    *operators += n;
    if (level == 0) continue;
    PetscCall(PCMGGetInterpolation(pc, level, &A));
    PetscCall(TestLibGetProducts(A, &n, &t, &minimum));
    PetscCheck(n == 0 || minimum == first, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The interpolation of level %" PetscInt_FMT ": what it is told is %sa minimum", level, minimum ? "" : "not ");
    *interpolations += n;
    *restrictions += t;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often an operation was called since the program began. */
static PetscErrorCode GetCount(const char event[], PetscCount *count)
{
  PetscLogEvent      number;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId(event, &number));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, number, &info));
  *count = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCounts(PetscCount counts[3])
{
  static const char *const events[3] = {"MatMult", "MatMultAdd", "MatMultTranspose"};

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) PetscCall(GetCount(events[k], &counts[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first cycle estimates eigenvalues. What the others multiplied is what is told for all of them. */
static PetscErrorCode TestCycles(Mat A, const char prefix[], PetscBool known)
{
  PetscCount operators, interpolations, restrictions, first[3], before[3], after[3];
  PC         pc;
  Vec        x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOptionsPrefix(pc, prefix));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(MatAutoCUDASetProducts(A, 0, 0));
  PetscCall(PCSetUp(pc));
  PetscCall(GetTold(pc, PETSC_TRUE, &first[0], &first[1], &first[2]));
  PetscCall(PCApply(pc, x, y));
  PetscCall(GetCounts(before));
  for (int k = 1; k < CYCLES; k++) PetscCall(PCApply(pc, x, y));
  PetscCall(GetCounts(after));
  for (int k = 0; k < 3; k++) after[k] = (after[k] - before[k]) / (CYCLES - 1) * CYCLES;
  PetscCall(MatScale(A, 2));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(GetTold(pc, PETSC_FALSE, &operators, &interpolations, &restrictions));
  if (known) {
    PetscCheck(interpolations == after[1] && restrictions == after[2], PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s: %" PetscCount_FMT " interpolations and %" PetscCount_FMT " restrictions are predicted, there were %" PetscCount_FMT " and %" PetscCount_FMT, prefix, interpolations, restrictions,
               after[1], after[2]);
    PetscCheck(operators == after[0] + CYCLES, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s: %" PetscCount_FMT " products with operators are predicted, there were %" PetscCount_FMT " and one a cycle of a Krylov method", prefix, operators, after[0]);
    PetscCheck(first[0] * CYCLES == operators * FIRST_CYCLES && first[1] * CYCLES == interpolations * FIRST_CYCLES && first[2] * CYCLES == restrictions * FIRST_CYCLES, PETSC_COMM_WORLD,
               PETSC_ERR_PLIB,
               "%s: %" PetscCount_FMT ", %" PetscCount_FMT " and %" PetscCount_FMT " products are predicted before there was a cycle, %" PetscCount_FMT ", %" PetscCount_FMT " and %" PetscCount_FMT
               " for %d cycles",
               prefix, first[0], first[1], first[2], operators, interpolations, restrictions, CYCLES);
  } else PetscCheck(operators == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " products with operators are predicted", prefix, operators);
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that somebody tells, one of another type, and numbers that are none. */
static PetscErrorCode TestFunctions(Mat A)
{
  PetscErrorCode ierr;
  PetscCount     n, t;
  PetscBool      minimum;
  Mat            B;

  PetscFunctionBegin;
  PetscCall(MatAutoCUDASetProducts(A, 7, 3));
  PetscCall(TestLibGetProducts(A, &n, &t, &minimum));
  PetscCheck(n == 7 && t == 3 && !minimum, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscCount_FMT " and %" PetscCount_FMT " products%s in place of 7 and 3", n, t, minimum ? " at least" : "");
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatAutoCUDASetProducts(A, -1, 0);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A number below 0 gives error %d", (int)ierr);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatAutoCUDASetMinimumProducts(A, 0, -1);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A minimum below 0 gives error %d", (int)ierr);
  PetscCall(TestLibGetProducts(A, &n, &t, &minimum));
  PetscCheck(n == 7 && t == 3 && !minimum, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A number below 0 changed what was told");
  PetscCall(MatAutoCUDASetMinimumProducts(A, 8, 2));
  PetscCall(TestLibGetProducts(A, &n, &t, &minimum));
  PetscCheck(n == 8 && t == 2 && minimum, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscCount_FMT " and %" PetscCount_FMT " products%s in place of at least 8 and 2", n, t, minimum ? " at least" : "");
  PetscCall(MatAutoCUDASetMinimumProducts(A, 0, 0));
  PetscCall(TestLibGetProducts(A, &n, &t, &minimum));
  PetscCheck(n == 0 && t == 0 && !minimum, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A minimum of 0 tells something: %" PetscCount_FMT " and %" PetscCount_FMT " products%s", n, t,
             minimum ? " at least" : "");
  PetscCall(TestCreatePoisson(MATAIJ, 3, &B));
  PetscCall(MatAutoCUDASetProducts(B, 5, 5));
  PetscCall(TestLibGetProducts(B, &n, &t, &minimum));
  PetscCheck(n == 0 && t == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "A MATAIJ expects products");
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;
  Mat   A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(TestCreatePoisson(type, 40, &A));
  PetscCall(TestFunctions(A));
  PetscCall(TestCycles(A, "v_", PETSC_TRUE));
  PetscCall(TestCycles(A, "w_", PETSC_TRUE));
  PetscCall(TestCycles(A, "new_", PETSC_TRUE));
  PetscCall(TestCycles(A, "tolerance_", PETSC_FALSE));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../../mat/impls/dcsr/testmat.c

   testset:
      output_file: output/empty.out
      args: -ksp_fused 0 -v_pc_gamg_coarse_eq_limit 10 -w_pc_gamg_coarse_eq_limit 10 -new_pc_gamg_coarse_eq_limit 10 -tolerance_pc_gamg_coarse_eq_limit 10
      args: -v_pc_gamg_reuse_interpolation 1 -w_pc_mg_cycle_type w -w_mg_levels_ksp_max_it 3 -new_pc_gamg_reuse_interpolation 0 -tolerance_mg_levels_ksp_norm_type preconditioned -tolerance_mg_levels_ksp_type cg
      test:
         suffix: host
         args: -device_enable none -mat_type {{aijautocuda aijdcsrcuda}}
      test:
         suffix: device
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_dcsr_require_device -mat_type {{aijautocuda aijdcsrcuda}}
      test:
         suffix: several
         nsize: 2
         args: -device_enable none -mat_type aijautocuda

TEST*/
