static char help[] = "-pc_gamg_level_values auto solves what double precision solves, in about as many iterations: generated systems of each kind.\n\
  -each n: systems of a kind; -unknowns n: about so many in each; -seed n: other ones\n\n";

#include "hard/hardcompare.h"
#include "hard/hardelasticity.h"
#include "hard/hardelements.h"
#include "hard/hardgenerated.h"
#include "hard/hardsystem.h"
#include "hard/hardvolumes.h"
#include <petscsparsecuda.h>

static PetscErrorCode TestSystem(const HardGenerated *g, PetscInt unknowns)
{
  HardOutcome full, o;
  Mat         A, P;
  Vec         b;

  PetscFunctionBegin;
  PetscCall(HardGeneratedCreate(PETSC_COMM_WORLD, g, unknowns, &A, &P, &b));
  PetscCall(HardCompareSolve(g, A, P, b, "double", &full));
  PetscCall(HardCompareSolve(g, A, P, b, "auto", &o));
  PetscCheck(!full.solved || (o.solved && o.its <= full.its + PetscMax(2, full.its / 5)), PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "%s: %s after %" PetscInt_FMT " iterations, residual %g, %d bits; in double %" PetscInt_FMT, g->name, o.end, o.its, (double)o.residual, o.bits, full.its);
  PetscCall(PetscInfo(A, "%s: %" PetscInt_FMT " iterations, %d bits, in double %" PetscInt_FMT "; %s\n", g->name, o.its, o.bits, full.its, o.guard ? o.guard : ""));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt each = 2, unknowns = 2000, seed = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-each", &each, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-unknowns", &unknowns, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  for (PetscInt k = 0; k < HARD_NUM_GENERATED; k++) {
    HardGenerated g;

    PetscCall(HardGeneratedGet(seed, k, &g));
    if (g.number < each) PetscCall(TestSystem(&g, unknowns));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      requires: double !complex
      test:
         suffix: host
         args: -device_enable none -unknowns 300 -each 1
      test:
         suffix: device
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0

TEST*/
