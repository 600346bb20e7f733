static char help[] = "DMCreateMatrix() and DMCreateInterpolation() with -dm_mat_type: DMDA in one, two and three dimensions, one and three unknowns a point.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/dm.h"
#include "../../../../src/petsc/mat.h"
#include <petscdmda.h>

static PetscErrorCode CreateDM(PetscInt dim, PetscInt dof, MatType type, DM *dm)
{
  const PetscInt n = 7;

  PetscFunctionBegin;
  if (dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, n * n, dof, 1, NULL, dm));
  else if (dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n + 1, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, dm));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, 4, 5, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, NULL, dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMSetMatType(*dm, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt dim, PetscInt dof, MatType type, PetscBool empty, Mat *A)
{
  DM                     dm;
  ISLocalToGlobalMapping map;
  PetscInt               begin, end, first = 0;
  PetscScalar            one = 1;

  PetscFunctionBegin;
  PetscCall(CreateDM(dim, dof, type, &dm));
  PetscCall(DMSetMatrixPreallocateOnly(dm, empty));
  PetscCall(DMCreateMatrix(dm, A));
  PetscCall(MatGetLocalToGlobalMapping(*A, &map, NULL));
  PetscCheck(map != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "DMCreateMatrix: no local to global mapping");
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SORTED_FULL, PETSC_FALSE)); /* DMDA may leave it on, and rows come entry by entry here */
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValues(*A, 1, &i, 1, &i, &one, ADD_VALUES));
  if (!empty) { /* then all entries exist, and a second time may follow */
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  }
  if (end > begin) PetscCall(MatSetValuesLocal(*A, 1, &first, 1, &first, &one, ADD_VALUES)); /* the first point with its neighbours of other ranks, perhaps not ours */
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateInterpolation(PetscInt dim, PetscInt dof, MatType type, DMDAInterpolationType kind, Mat *P, Vec *scale)
{
  DM coarse, fine;

  PetscFunctionBegin;
  PetscCall(CreateDM(dim, dof, type, &coarse));
  PetscCall(DMDASetInterpolationType(coarse, kind));
  PetscCall(DMRefine(coarse, PETSC_COMM_WORLD, &fine));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dm_bind_below", &fine->bind_below, NULL)); // it is about vectors of the fine grid, which DMRefine() has set up
  PetscCall(DMCreateInterpolation(coarse, fine, P, scale));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATAIJ's with more than one unknown a point is a MATMAIJ; ours is of our type where the device computes. */
static PetscErrorCode TestInterpolation(PetscInt dim, PetscInt dof, const char type[], DMDAInterpolationType kind, PetscBool device)
{
  Mat       P, Q;
  Vec       scale[2];
  PetscBool bind;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_bind_below", &bind));
  PetscCall(CreateInterpolation(dim, dof, MATAIJ, kind, &P, &scale[0]));
  PetscCall(CreateInterpolation(dim, dof, type, kind, &Q, &scale[1]));
  if (device) PetscCall(TestHasType(Q, type, "DMCreateInterpolation"));
  PetscCheck(!bind || (Q->boundtocpu && Q->bindingpropagates), PETSC_COMM_SELF, PETSC_ERR_PLIB, "DMCreateInterpolation: not bound to the CPU with -dm_bind_below");
  PetscCall(TestCompareProducts(P, Q, "DMCreateInterpolation"));
  PetscCall(TestCompareVec(scale[0], scale[1], "the scale of DMCreateInterpolation"));
  for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&scale[k]));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscInt    n;
  PetscBool   show = PETSC_FALSE;
  PetscMPIInt size;
  Mat         A, B, blocks[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &show, NULL));
  if (show) { /* one matrix, for -mat_view */
    DM dm;

    PetscCall(CreateDM(2, 2, type, &dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (PetscInt dim = 1; dim <= 3; dim++)
    for (PetscInt dof = 1; dof <= 3; dof += 2) {
      PetscBool device = PETSC_FALSE;

      for (int empty = 0; empty < (dim > 1 ? 2 : 1); empty++) { /* in one dimension DMDA needs the entries it enters itself */
        PetscCall(Create(dim, dof, MATAIJ, (PetscBool)empty, &A));
        PetscCall(Create(dim, dof, type, (PetscBool)empty, &B));
        PetscCall(TestHasType(B, type, "DMCreateMatrix"));
        PetscCall(TestBlocks(B, &n, blocks));
        for (PetscInt k = 0; k < n; k++) PetscCall(TestBlockHasType(blocks[k], k, type, "a block of DMCreateMatrix"));
        PetscCall(TestCompare(A, B, "DMCreateMatrix"));
        PetscCheck(A->ops->view == B->ops->view || size == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "DMCreateMatrix: MatView() does not show the natural ordering after assemblies");
        device = (PetscBool)!blocks[0]->boundtocpu;
        PetscCall(MatDestroy(&A));
        PetscCall(MatDestroy(&B));
      }
      PetscCall(TestInterpolation(dim, dof, type, DMDA_Q1, device));
      if (dim > 1) PetscCall(TestInterpolation(dim, dof, type, DMDA_Q0, device)); /* PETSc's in one dimension wants a periodic DMDA */
    }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 4}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: bind
         args: -dm_bind_below 1000000
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda

   test:
      suffix: view
      nsize: 2
      args: -show -mat_view ::ascii_info
      filter: grep "Mat Object"

TEST*/
