static char help[] = "MatCoarsen with a graph of our type: PETSc's coarsenings read the graph's host arrays directly.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

/* A 5-point stencil on n x n points, with different weights so that heavy edges are unique. */
static PetscErrorCode CreateGraph(MatType type, PetscInt n, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt columns[] = {i, i % n > 0 ? i - 1 : -1, i % n < n - 1 ? i + 1 : -1, i - n, i + n < n * n ? i + n : -1};

    for (int k = 0; k < 5; k++) {
      const PetscInt low = PetscMin(i, columns[k]);

      if (columns[k] >= 0) PetscCall(MatSetValue(*A, i, columns[k], k == 0 ? 4.0 : 1.0 + 0.001 * (PetscReal)((37 * low + k / 3) % 101), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Coarsen(Mat A, MatCoarsenType type, PetscCoarsenData **lists)
{
  MatCoarsen coarsen;

  PetscFunctionBegin;
  PetscCall(MatCoarsenCreate(PETSC_COMM_WORLD, &coarsen));
  PetscCall(MatCoarsenSetType(coarsen, type));
  PetscCall(MatCoarsenSetAdjacency(coarsen, A));
  PetscCall(MatCoarsenSetStrictAggs(coarsen, PETSC_TRUE));
  PetscCall(MatCoarsenApply(coarsen));
  PetscCall(MatCoarsenGetData(coarsen, lists));
  PetscCall(MatCoarsenDestroy(&coarsen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareLists(const PetscCoarsenData *a, const PetscCoarsenData *b, PetscInt n, MatCoarsenType type)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCDIntNd *x, *y;
    PetscInt      id[2];

    PetscCall(PetscCDGetHeadPos(a, i, &x));
    PetscCall(PetscCDGetHeadPos(b, i, &y));
    while (x != NULL && y != NULL) {
      PetscCall(PetscCDIntNdGetID(x, &id[0]));
      PetscCall(PetscCDIntNdGetID(y, &id[1]));
      PetscCheck(id[0] == id[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: list %" PetscInt_FMT " has %" PetscInt_FMT " where %" PetscInt_FMT " should be", type, i, id[1], id[0]);
      PetscCall(PetscCDGetNextPos(a, i, &x));
      PetscCall(PetscCDGetNextPos(b, i, &y));
    }
    PetscCheck(x == NULL && y == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: list %" PetscInt_FMT " has another length than MATAIJ's", type, i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatCoarsenType kinds[] = {MATCOARSENMIS, MATCOARSENMISK, MATCOARSENHEM};
  char                *type;
  PetscInt             n;
  PetscCoarsenData    *lists[2];
  Mat                  A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(CreateGraph(MATAIJ, 17, &A));
  PetscCall(CreateGraph(type, 17, &B));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++) {
    PetscCall(Coarsen(A, kinds[k], &lists[0]));
    PetscCall(Coarsen(B, kinds[k], &lists[1]));
    PetscCall(CompareLists(lists[0], lists[1], n, kinds[k]));
    for (int i = 0; i < 2; i++) PetscCall(PetscCDDestroy(lists[i]));
    PetscCall(TestHasType(B, type, "the graph after MatCoarsenApply()"));
  }
  PetscCall(TestCompare(A, B, "the graph after MatCoarsenApply()"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
