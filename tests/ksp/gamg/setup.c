static char help[] = "PCGAMG sets up what it sets up with MATAIJ: iterations and views of the solver are equal; -pc_gamg_device_check compares levels that were set up on the device.\n\
  -problem (5point|7point|27point|anisotropic|elasticity|unsymmetric|random), -near_null (none|host|device|coordinates|memory), -n points in a direction: see problem.c\n\
  -solves n: solves; after each the values change, and after the last but one the pattern\n\
  -supported n: so many levels at least are set up on the device in the first solve\n\
  -refused: none is\n\n";

#include "problem.h"

/* Another near null space in the same vectors, by a program that does not mind PETSc's lock, or unnoticed in memory of its own. */
static PetscErrorCode ChangeNearNull(Mat A)
{
  MatNullSpace space;
  PetscBool    has_constant;
  PetscInt     n       = 0, m;
  const Vec   *vectors = NULL;
  PetscScalar *memory, *array;

  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(A, &space));
  if (space != NULL) PetscCall(MatNullSpaceGetVecs(space, &has_constant, &n, &vectors));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(VecGetLocalSize(vectors[k], &m));
    PetscCall(PetscObjectContainerQuery((PetscObject)vectors[k], "memory", &memory));
    array = memory;
    PetscCall(VecLockReadPop(vectors[k]));
    if (memory == NULL) PetscCall(VecGetArray(vectors[k], &array));
    for (PetscInt i = 0; i < m; i++) array[i] *= 1 + (PetscReal)(i % 5) / 8;
    if (memory == NULL) PetscCall(VecRestoreArray(vectors[k], &array));
    PetscCall(VecLockReadPush(vectors[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, or values at new positions and another near null space. */
static PetscErrorCode Change(Mat A, PetscBool pattern)
{
  PetscInt begin, end, N;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(A, i, i, 0.03, ADD_VALUES)); // MatShift() of a MATAIJ without rows here and there counts as a new pattern
  for (PetscInt i = begin; i < end && pattern; i++)
    if (i % 11 == 0) PetscCall(MatSetValue(A, i, N - 1 - i, -0.01, ADD_VALUES));
  for (PetscInt i = begin; i < end && pattern; i++)
    if ((N - 1 - i) % 11 == 0) PetscCall(MatSetValue(A, i, N - 1 - i, -0.01, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (pattern) PetscCall(ChangeNearNull(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of PCGAMG are read, whoever sets up. */
static PetscErrorCode CheckOptionsLeft(void)
{
  PetscInt  n;
  char    **names, **values;
  PetscBool ours, check, filter;

  PetscFunctionBegin;
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(PetscStrbeginswith(names[k], "pc_gamg_", &ours));
    PetscCall(PetscStrcmp(names[k], "pc_gamg_device_check", &check));
    PetscCall(PetscStrbeginswith(names[k], "pc_gamg_prolongator_filter", &filter));
    if (PETSC_VERSION_LT(3, 26, 0) && filter) continue; // there is none
    PetscCheck(!ours || check, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Nobody has read the option -%s", names[k]);
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  char      type[64];
  PetscInt  solves, supported;
  PetscBool refused;
} Expected;

static PetscErrorCode TestSolve(const ProblemOptions *o, const Expected *e, PetscInt s, Mat A[], KSP ksp[])
{
  char     what[64];
  PetscInt before, after;
  Solution solution[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, solve %" PetscInt_FMT, Problems[o->problem], s + 1));
  PetscCall(ProblemCountSupported(&before));
  for (int k = 0; k < 2; k++) PetscCall(ProblemSolve(A[k], ksp[k], &solution[k]));
  PetscCall(ProblemCountSupported(&after));
  PetscCheck(s > 0 || after - before >= e->supported, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " levels were set up on the device, not %" PetscInt_FMT, what, after - before,
             e->supported);
  PetscCheck(!e->refused || after == before, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " levels were set up on the device", what, after - before);
  PetscCall(SolutionCompare(o, &solution[0], &solution[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(SolutionDestroy(&solution[k]));
    if (s + 1 < e->solves) PetscCall(Change(A[k], (PetscBool)(e->solves > 2 && s + 2 == e->solves)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const ProblemOptions *o, const void *context)
{
  const Expected *e = (const Expected *)context;
  Mat             A[2];
  KSP             ksp[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(ProblemCreate(o, k ? e->type : MATAIJ, &A[k]));
    PetscCall(ProblemCreateKSP(o, A[k], &ksp[k]));
  }
  for (PetscInt s = 0; s < e->solves; s++) PetscCall(TestSolve(o, e, s, A, ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Expected  expected = {MATAIJDCSRCUDA, 1, 0, PETSC_FALSE};
  PetscBool later[2]; // what PCGAMG has since 3.26: before, HEM reads values that the square of a graph has not, and the square is A^T A, for which there is no such algorithm

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", expected.type, sizeof(expected.type), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &expected.solves, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-supported", &expected.supported, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-refused", &expected.refused, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_gamg_asm_hem_aggs", &later[0]));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_gamg_square_0_mat_product_algorithm", &later[1]));
  if (PETSC_VERSION_GE(3, 26, 0) || (!later[0] && !later[1])) {
    PetscCall(ProblemsTest(TestProblem, &expected));
    PetscCall(CheckOptionsLeft());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   # On the host all levels are PETSc's: ours change nothing.
   testset:
      args: -pc_gamg_device_check -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      test:
         suffix: problems
         nsize: {{1 3}}
         args: -n 7 -problem 5point,27point,elasticity,unsymmetric
      test:
         suffix: hisparse
         nsize: {{1 3}}
         args: -type aijhisparsecuda -n 7 -problem 5point,27point,elasticity
      test:
         suffix: random
         nsize: {{1 4}}
         args: -n 7 -problem random -hubs 2
      test:
         suffix: bare
         args: -problem random -bare 0.1 -pc_gamg_agg_nsmooths 0 -ksp_max_it 2
      test:
         suffix: empty
         nsize: 3
         args: -every_other -solves 3 -pc_gamg_reuse_interpolation 0
      test:
         suffix: empty_elasticity
         nsize: 2
         args: -every_other -n 5 -problem elasticity -solves 2 -pc_gamg_reuse_interpolation 0
      test:
         suffix: near_null
         nsize: 2
         args: -near_null {{host device coordinates}}
      test:
         suffix: mpi1rank
         args: -mpi -problem 27point,elasticity -n 6
      test:
         suffix: reuse
         nsize: 2
         args: -solves 4 -pc_gamg_reuse_interpolation {{0 1}} -pc_gamg_recompute_esteig {{0 1}}
      test:
         suffix: join
         nsize: {{2 3 4}}
         args: -pc_gamg_join_latency 1e9 -problem 27point,elasticity,unsymmetric -solves 4 -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: fallback
         nsize: 2
         args: -pc_gamg_mat_coarsen_type {{mis misk hem}} -pc_gamg_aggressive_square_graph {{0 1}}
      test:
         suffix: off
         args: -pc_gamg_device_setup 0 -refused
      test:
         suffix: options
         nsize: {{1 2}}
         args: -options_left no -pc_gamg_prolongator_filter 0.1 -pc_gamg_mis_k_minimum_degree_ordering -pc_gamg_low_memory_threshold_filter -pc_gamg_threshold 0.02 -n 6 -problem 27point,elasticity
      test:
         suffix: none
         nsize: {{1 2}}
         args: -device_enable none -refused

   # On the device: check mode, and levels were indeed set up there.
   testset:
      requires: cuda
      args: -pc_gamg_device_check -malloc_dump -checkfunctionlist -use_gpu_aware_mpi 0 -supported 1
      output_file: output/empty.out
      test:
         suffix: device
         nsize: {{1 3}}
         args: -problem 5point,7point,27point,anisotropic,elasticity,unsymmetric,random
      test:
         suffix: device_hisparse
         nsize: {{1 3}}
         args: -type aijhisparsecuda -mat_hisparse_format diagonals -problem 5point,27point,elasticity
      test:
         suffix: device_join
         nsize: {{2 3 4}}
         args: -pc_gamg_join_latency 1e9 -problem 7point,27point,elasticity,unsymmetric,random -solves 4 -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: device_many
         nsize: 8
         args: -problem 5point,7point,27point,anisotropic,elasticity,unsymmetric,random
      test:
         suffix: device_threshold
         nsize: {{1 3}}
         args: -pc_gamg_threshold {{0.02 0.1}} -problem 7point,27point,anisotropic,elasticity,unsymmetric,random
      test:
         suffix: device_aggressive
         nsize: {{1 4}}
         args: -pc_gamg_aggressive_coarsening {{0 2}} -pc_gamg_mat_coarsen_type {{mis misk}} -problem 5point,elasticity,random
      test:
         suffix: device_misk
         nsize: {{1 3}}
         args: -pc_gamg_aggressive_square_graph 0 -pc_gamg_aggressive_mis_k 1 -problem 27point,elasticity
      test:
         suffix: device_random
         nsize: 2
         args: -problem random -seed 1 -hubs {{0 3}} -local {{0 1}} -degree 3
      test:
         suffix: device_random_many
         nsize: {{4 8}}
         args: -problem random -seed 2 -hubs 3 -local {{0 1}} -degree 3
      test:
         suffix: device_bare
         nsize: {{1 3 8}}
         args: -problem random -bare 0.1 -isolated 0.2 -pc_gamg_agg_nsmooths 0 -ksp_max_it 2
      test:
         suffix: device_thin
         nsize: 8
         args: -problem 27point -n 16 -pc_gamg_process_eq_limit 1
      test:
         suffix: device_empty
         nsize: 3
         args: -every_other -problem 27point,elasticity,random -solves 3 -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: device_empty_near_null
         nsize: 3
         args: -every_other -problem 7point,elasticity -solves 3 -near_null {{device memory}}
      test:
         suffix: device_near_null
         nsize: {{1 3}}
         args: -near_null {{host device coordinates memory}} -solves 3 -problem 7point,elasticity
      test:
         suffix: device_mpi1rank
         args: -mpi -problem 7point,elasticity,unsymmetric -pc_gamg_threshold {{-1 0.02}}
      test:
         suffix: device_reuse
         nsize: 2
         args: -solves 4 -pc_gamg_reuse_interpolation {{0 1}} -pc_gamg_recompute_esteig {{0 1}} -problem 7point,elasticity
      test:
         suffix: device_smooths
         nsize: {{1 2}}
         args: -pc_gamg_agg_nsmooths 2 -pc_gamg_esteig_ksp_type {{cg gmres}}
      test:
         suffix: device_unsmoothed
         nsize: {{1 2}}
         args: -pc_gamg_agg_nsmooths 0
      test:
         suffix: device_filter
         nsize: {{1 3}}
         args: -options_left no -pc_gamg_prolongator_filter {{0.05 0.07}} -pc_gamg_prolongator_filter_scale {{1 0.5}} -problem 7point,27point,anisotropic,elasticity,unsymmetric,random
      test:
         suffix: device_filter_near_null
         nsize: {{1 3}}
         args: -options_left no -pc_gamg_prolongator_filter 0.07 -near_null {{host device coordinates}} -problem 27point,elasticity
      test:
         suffix: device_filter_smooths
         nsize: {{1 2}}
         args: -options_left no -pc_gamg_prolongator_filter 0.07 -pc_gamg_agg_nsmooths {{0 2}} -problem 27point,elasticity
      test:
         suffix: device_filter_threshold
         nsize: {{1 3}}
         args: -options_left no -pc_gamg_prolongator_filter 0.07 -pc_gamg_threshold 0.05 -problem 7point,anisotropic -solves 4 -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: device_filter_threshold_elasticity
         nsize: {{1 3}}
         args: -options_left no -pc_gamg_prolongator_filter 0.07 -pc_gamg_threshold 0.05 -problem elasticity -solves 2 -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: device_filter_join
         nsize: 3
         args: -options_left no -pc_gamg_prolongator_filter 0.1 -pc_gamg_join_latency 1e9 -problem 27point,elasticity
      test:
         suffix: device_filter_hisparse
         nsize: {{1 3}}
         args: -options_left no -pc_gamg_prolongator_filter 0.1 -type aijhisparsecuda -problem 27point,elasticity
      test:
         suffix: device_ordering
         nsize: {{1 3}}
         args: -pc_gamg_mis_k_minimum_degree_ordering -pc_gamg_aggressive_coarsening {{0 2}} -problem 5point,27point,elasticity,random
      test:
         suffix: device_low_memory
         nsize: {{1 3}}
         args: -pc_gamg_low_memory_threshold_filter -pc_gamg_threshold {{-1 0.02}} -problem 27point,anisotropic,elasticity,unsymmetric
      test:
         suffix: device_repartition
         nsize: 4
         args: -pc_gamg_repartition -pc_gamg_mat_partitioning_type average -pc_gamg_process_eq_limit 100 -problem 27point,elasticity
      test:
         suffix: device_fewer
         nsize: 4
         args: -pc_gamg_process_eq_limit 100 -problem 27point,elasticity
      test:
         suffix: device_parallel_coarse
         nsize: 4
         args: -pc_gamg_parallel_coarse_grid_solver -mg_coarse_pc_type jacobi -pc_gamg_coarse_eq_limit 10
      test:
         suffix: device_pinned
         nsize: {{1 2}}
         args: -pc_gamg_cpu_pin_coarse_grids
      test:
         suffix: device_single_levels
         args: -mat_coarsen_type {{mis hem}}
      test:
         suffix: device_square_options
         args: -pc_gamg_square_0_mat_product_algorithm sorted -options_left no

   # Levels that PETSc sets up
   testset:
      requires: cuda
      nsize: {{1 2}}
      args: -pc_gamg_device_check -malloc_dump -use_gpu_aware_mpi 0 -refused
      output_file: output/empty.out
      test:
         suffix: refused_hem
         args: -pc_gamg_mat_coarsen_type hem
      test:
         suffix: refused_misk
         args: -pc_gamg_mat_coarsen_misk_distance 2 -pc_gamg_aggressive_coarsening 0
      test:
         suffix: refused_aggressive_misk
         args: -pc_gamg_aggressive_square_graph 0 -pc_gamg_aggressive_coarsening 10
      test:
         suffix: refused_asm
         args: -pc_gamg_asm_use_agg
      test:
         suffix: refused_asm_hem
         args: -pc_gamg_asm_hem_aggs 2 -options_left no
      test:
         suffix: refused_classical
         args: -pc_gamg_type classical -options_left 0
      test:
         suffix: refused_option
         args: -pc_gamg_device_setup 0
      test:
         suffix: refused_bound
         args: -mat_bind_below 100000
      test:
         suffix: refused_memory
         args: -petscsparsecuda_test_available_memory 1000

TEST*/
