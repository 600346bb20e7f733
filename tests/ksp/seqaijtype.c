static char help[] = "Preconditioners with -mat_seqaij_type, which makes our type of MATSEQAIJ: iterations and solutions are those without the option.\n\n";

#include <petscsparsecuda.h>
#include <petscksp.h>

/* Preconditioners for any number of processes. */
static const char *const parallel_pcs[] = {
  "-pc_type gamg",
  "-pc_type gamg -pc_gamg_type classical",
  "-pc_type gamg -pc_gamg_aggressive_square_graph false",
  "-pc_type gamg -pc_gamg_mat_coarsen_type mis",
  "-pc_type gamg -pc_gamg_mat_coarsen_type misk -pc_gamg_mat_coarsen_misk_distance 2",
  "-pc_type gamg -pc_gamg_asm_use_agg",
  "-pc_type gamg -pc_gamg_threshold 0.05 -pc_gamg_agg_nsmooths 2",
  "-pc_type gamg -pc_gamg_prolongator_filter 0.01",
  "-pc_type gamg -pc_gamg_cpu_pin_coarse_grids",
  "-pc_type gamg -mg_levels_pc_type sor",
  "-pc_type gamg -mg_levels_pc_type bjacobi -mg_levels_sub_pc_type ilu",
  "-pc_type gamg -mg_coarse_pc_type redundant",
  "-pc_type hmg",
  "-pc_type hmg -pc_hmg_use_subspace_coarsening",
  "-pc_type jacobi",
  "-pc_type jacobi -pc_jacobi_type rowmax",
  "-pc_type jacobi -pc_jacobi_type rowl1",
  "-pc_type pbjacobi",
  "-pc_type bjacobi",
  "-pc_type bjacobi -pc_bjacobi_blocks 6",
  "-pc_type bjacobi -sub_pc_type lu",
  "-pc_type bjacobi -sub_pc_type icc -ksp_type cg",
  "-pc_type bjacobi -sub_pc_type cholesky -ksp_type cg",
  "-pc_type asm",
  "-pc_type asm -pc_asm_blocks 6 -pc_asm_overlap 2",
  "-pc_type asm -pc_asm_type basic -sub_pc_type lu",
  "-pc_type gasm -pc_gasm_total_subdomains 6",
  "-pc_type sor",
  "-pc_type sor -pc_sor_local_symmetric -ksp_type cg",
  "-pc_type redundant",
  "-pc_type redundant -redundant_pc_type ilu",
  "-pc_type redistribute",
  "-pc_type ksp -ksp_ksp_max_it 5 -ksp_type fgmres",
  "-pc_type composite -pc_composite_pcs jacobi,sor",
  "-pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type multiplicative",
#if PETSC_VERSION_GE(3, 25, 0) // before, each rank must have whole blocks
  "-pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type schur -pc_fieldsplit_schur_precondition selfp",
#endif
};

/*
  For one process alone. hem is here because of one run of this problem on a GPU: 13 iterations on two processes where the host needs 11, and "HEM stalled" on three. The cause is
  not known. A Laplacian on 24 x 24 points took as many iterations with MATAIJ, MATAIJCUSPARSE and our type, on two and on three processes.
*/
static const char *const sequential_pcs[] = {
  "-pc_type ilu",
  "-pc_type ilu -pc_factor_levels 2",
  "-pc_type icc -ksp_type cg",
  "-pc_type icc -pc_factor_mat_solver_type bas -ksp_type cg",
  "-pc_type lu",
  "-pc_type cholesky -ksp_type cg",
  "-pc_type eisenstat",
  "-pc_type svd",
#if PETSC_VERSION_GE(3, 26, 0) // before, PETSc reads values of a squared graph that has none
  "-pc_type gamg -pc_gamg_mat_coarsen_type hem",
#endif
};

/* Those that need no more than MatMult(), MatSOR() and factors: MATAIJCRL cannot be duplicated. */
static const char *const simple_pcs[] = {"-pc_type jacobi", "-pc_type sor", "-pc_type bjacobi"};

/* These multiply matrices, too. */
static const char *const product_pcs[] = {"-pc_type gamg",
#if PETSC_VERSION_GE(3, 26, 0) // the same
                                          "-pc_type gamg -pc_gamg_asm_hem_aggs 2",
#endif
                                          "-pc_type hmg", "-pc_type asm"};

/* A 5-point stencil on n x n points, entered twice: the second time the pattern is there. */
static PetscErrorCode Create(MatType type, PetscInt n, PetscBool preallocate, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  if (preallocate) {
    PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 5, NULL, 5, NULL));
  }
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (int k = 0; k < 2; k++) {
    for (PetscInt i = begin; i < end; i++) {
      const PetscInt columns[] = {i, i % n > 0 ? i - 1 : -1, i % n < n - 1 ? i + 1 : -1, i - n, i + n < n * n ? i + n : -1};

      for (int c = 0; c < 5; c++)
        if (columns[c] >= 0) PetscCall(MatSetValue(*A, i, columns[c], (c == 0 ? 4.1 : -1) * (k + 1), INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckType(Mat A, const char expected[])
{
  MatType type;
  char   *found;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrstr(type, expected, &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Type %s where one of %s should be", type, expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector on the host with the entries of another one. */
static PetscErrorCode CopyToHost(Vec x, Vec *copy)
{
  PetscInt           n;
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, copy));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArrayWrite(*copy, &to));
  PetscCall(PetscArraycpy(to, from, n));
  PetscCall(VecRestoreArrayWrite(*copy, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with these options alone; a second time after the values changed. The solution is on the host. */
static PetscErrorCode Solve(MatType type, const char expected[], const char options[], PetscBool preallocate, PetscInt its[2], Vec *solution)
{
  PetscBool    hide = PETSC_FALSE;
  PetscOptions own;
  Mat          A;
  KSP          ksp;
  Vec          x, b;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mat_dcsr_test_hide_host", &hide, NULL));
  PetscCall(PetscOptionsCreate(&own));
  PetscCall(PetscOptionsInsertString(own, options));
  if (hide) PetscCall(PetscOptionsSetValue(own, "-mat_dcsr_test_hide_host", NULL));
  PetscCall(PetscOptionsPush(own));
  PetscCall(Create(type, 14, preallocate, &A));
  PetscCall(CheckType(A, expected));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, PETSC_SMALL, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    if (k == 0) PetscCall(MatShift(A, 0.05));
  }
  PetscCall(CopyToHost(x, solution));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type with an option, which leaves a matrix of the expected type, and another type without it. */
static PetscErrorCode Compare(MatType type, const char expected[], const char option[], MatType reference, const char pc[])
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6;
  char            options[512];
  PetscInt        its[2][2];
  PetscReal       norm, error;
  Vec             x[2];

  PetscFunctionBegin;
  for (int preallocate = 0; preallocate < 2; preallocate++) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "%s -mat_seqaij_type %s", pc, option));
    PetscCall(Solve(reference, reference, pc, (PetscBool)preallocate, its[0], &x[0]));
    PetscCall(Solve(type, expected, options, (PetscBool)preallocate, its[1], &x[1]));
    for (int k = 0; k < 2; k++)
      PetscCheck(PetscAbsInt(its[0][k] - its[1][k]) <= 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: %" PetscInt_FMT " iterations, and %" PetscInt_FMT " of %s without the option", type, options,
                 its[1][k], its[0][k], reference);
    PetscCall(VecNorm(x[0], NORM_2, &norm));
    PetscCall(VecAXPY(x[1], -1, x[0]));
    PetscCall(VecNorm(x[1], NORM_2, &error));
    PetscCheck(error <= tolerance * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: the solution differs by %g from that of %s without the option", type, options, (double)(error / norm), reference);
    for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&x[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other subclasses stay what they are, and so do ours when the option names one of the others. */
static PetscErrorCode CompareSubclasses(PetscBool gpu)
{
  const MatType others[]  = {MATAIJPERM, MATAIJSELL, MATAIJCRL, MATAIJCUSPARSE};
  const char   *options[] = {MATSEQAIJPERM, MATSEQAIJSELL, MATSEQAIJCRL, MATSEQAIJCUSPARSE};
  PetscBool     crl;

  PetscFunctionBegin;
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(others) - (gpu ? 0 : 1); t++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(simple_pcs); k++) {
      PetscCall(Compare(others[t], others[t], MATDCSRCUDA, others[t], simple_pcs[k]));
      PetscCall(Compare(MATDCSRCUDA, MATDCSRCUDA, options[t], MATAIJ, simple_pcs[k]));
    }
    PetscCall(PetscStrcmp(others[t], MATAIJCRL, &crl));
    for (size_t k = 0; !crl && k < PETSC_STATIC_ARRAY_LENGTH(product_pcs); k++) PetscCall(Compare(others[t], others[t], MATDCSRCUDA, others[t], product_pcs[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool   gpu = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parallel_pcs); k++) PetscCall(Compare(MATAIJ, size > 1 ? MATMPIAIJ : MATDCSRCUDA, MATDCSRCUDA, MATAIJ, parallel_pcs[k]));
  for (size_t k = 0; size == 1 && k < PETSC_STATIC_ARRAY_LENGTH(sequential_pcs); k++) PetscCall(Compare(MATAIJ, MATDCSRCUDA, MATDCSRCUDA, MATAIJ, sequential_pcs[k]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(product_pcs); k++) PetscCall(Compare(MATDCSRCUDA, MATDCSRCUDA, MATDCSRCUDA, MATAIJ, product_pcs[k]));
  PetscCall(CompareSubclasses(gpu));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host
      test:
         suffix: gpu
         requires: cuda
         args: -gpu

TEST*/
