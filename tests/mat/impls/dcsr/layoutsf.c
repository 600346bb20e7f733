static char help[] = "The star forest of indices of a layout: an index of one process that is too large is an error of all, and the next forest is right.\n\n";

#include "testmat.h"
#include <src/mat/impls/aijcuda/parallel/parallel.h>

#define LOCAL 12 /* indices of a process in the layout */
#define NUM   3  /* leaves */

/* Every leaf gets what its root has, which is its own number. */
static PetscErrorCode TestBcast(PetscLayout map, const PetscInt indices[])
{
  PetscSF  sf;
  PetscInt roots[LOCAL], leaves[NUM];

  PetscFunctionBegin;
  PetscCall(LayoutCreateSF(map, NUM, indices, &sf));
  for (PetscInt k = 0; k < LOCAL; k++) roots[k] = map->rstart + k;
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, roots, leaves, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, roots, leaves, MPI_REPLACE));
  for (PetscInt k = 0; k < NUM; k++) PetscCheck(leaves[k] == indices[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Index %" PetscInt_FMT " has got %" PetscInt_FMT, indices[k], leaves[k]);
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char          *type;
  PetscMPIInt    rank, size;
  PetscLayout    map;
  PetscInt       indices[NUM];
  PetscSF        sf;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscLayoutCreateFromSizes(PETSC_COMM_WORLD, LOCAL, PETSC_DETERMINE, 1, &map));
  for (PetscInt k = 0; k < NUM; k++) indices[k] = (map->rend + 5 * k) % map->N;
  PetscCall(TestBcast(map, indices));
  if (rank == size - 1) indices[1] = map->N;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = LayoutCreateSF(map, NUM, indices, &sf);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An index that is too large: error %d", (int)ierr);
  indices[1] = 0;
  PetscCall(TestBcast(map, indices));
  PetscCall(PetscLayoutDestroy(&map));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   test:
      nsize: {{1 2 3}}
      output_file: output/empty.out

TEST*/
