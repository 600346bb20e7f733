static char help[] = "PCGAMG with levels on fewer processes: what our rule chooses is what PETSc makes of an explicit limit for processes, and nothing else is touched.\n\
  -problem, -n: see problem.c\n\
  -active n: processes that have rows of the first coarse level, with the rule and with -limit\n\
  -limit n: PETSc's option -pc_gamg_process_eq_limit of the reference, a MATAIJ; -explicit: of ours too\n\
  -type type: ours\n\n";

#include "problem.h"

/* Processes that have rows of the first level below the finest. */
static PetscErrorCode CountActive(KSP ksp, PetscInt *active)
{
  PC       pc;
  KSP      smoother;
  Mat      A;
  PetscInt num_levels, m;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &num_levels));
  PetscCheck(num_levels > 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "There are %" PetscInt_FMT " levels only: the problem is too small for the test", num_levels);
  PetscCall(PCMGGetSmoother(pc, num_levels - 2, &smoother));
  PetscCall(KSPGetOperators(smoother, &A, NULL));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  *active = m > 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, active, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  ProblemOptions o;
  char           type[64] = MATAIJDCSRCUDA;
  PetscInt       active = 1, limit = 1000000, found;
  PetscBool      explicit_limit = PETSC_FALSE;
  Mat            A[2];
  KSP            ksp[2];
  PC             pc;
  Solution       solution[2];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(ProblemFromOptions(&o));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-active", &active, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-limit", &limit, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-explicit", &explicit_limit, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(ProblemCreate(&o, k ? type : MATAIJ, &A[k]));
    PetscCall(ProblemCreateKSP(&o, A[k], &ksp[k]));
    PetscCall(KSPGetPC(ksp[k], &pc));
    if (k == 0 || explicit_limit) PetscCall(PCGAMGSetProcEqLim(pc, limit));
    PetscCall(ProblemSolve(A[k], ksp[k], &solution[k]));
    PetscCall(CountActive(ksp[k], &found));
    PetscCheck(found == active, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " processes have rows of the first coarse level, not %" PetscInt_FMT, k ? type : MATAIJ, found, active);
  }
  PetscCall(SolutionCompare(&o, &solution[0], &solution[1], Problems[o.problem]));
  for (int k = 0; k < 2; k++) {
    PetscCall(SolutionDestroy(&solution[k]));
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   testset:
      args: -malloc_dump -n 14 -pc_gamg_aggressive_coarsening 0
      output_file: output/empty.out
      test:
         suffix: rule
         nsize: {{2 3 4}}
         args: -pc_gamg_join_latency 1e9 -problem {{7point 27point elasticity}}
      # Without a word of a latency the rule is for large systems on GPUs alone.
      test:
         suffix: small
         nsize: 2
         args: -limit 50 -active 2 -problem 27point
      test:
         suffix: fast
         nsize: 3
         args: -limit 50 -active 3 -problem 27point -pc_gamg_join_latency 0
      test:
         suffix: never
         nsize: 3
         args: -limit 50 -active 3 -problem 27point -pc_gamg_join_latency 1e9 -pc_gamg_join_levels 0
      # What was said explicitly stays.
      test:
         suffix: explicit
         nsize: 3
         args: -limit 50 -active 3 -explicit -problem 27point -pc_gamg_join_latency 1e9
      test:
         suffix: explicit_one
         nsize: 4
         args: -explicit -problem elasticity
      test:
         suffix: hisparse
         nsize: 2
         args: -type aijhisparsecuda -pc_gamg_join_latency 1e9 -problem 27point

   # On the device the nonzeros that a level has count at last: by their estimate, 11,000 of 29,000, the first one would go to one process.
   test:
      suffix: nonzeros
      requires: cuda
      nsize: 2
      args: -malloc_dump -n 14 -pc_gamg_aggressive_coarsening 0 -use_gpu_aware_mpi 0 -pc_gamg_join_latency 0.67 -limit 200 -active 2 -problem 7point
      output_file: output/empty.out

   # On the device: matrices go there as they lie; a reference on the host.
   testset:
      requires: cuda
      args: -malloc_dump -n 14 -pc_gamg_aggressive_coarsening 0 -use_gpu_aware_mpi 0 -pc_gamg_join_latency 1e9
      output_file: output/empty.out
      test:
         suffix: device
         nsize: {{2 3 4}}
         args: -problem {{7point 27point elasticity unsymmetric}}
      test:
         suffix: device_hisparse
         nsize: 3
         args: -type aijhisparsecuda -mat_hisparse_format diagonals -problem 27point

TEST*/
