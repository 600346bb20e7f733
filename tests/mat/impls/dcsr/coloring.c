static char help[] = "MatColoring of matrices right after an assembly, all types: PETSc's greedy and jp read the host arrays directly, and so do the weights they use.\n\n";

#include "testmat.h"

static const char *const weight_names[] = {"random", "lexical", "lf", "sl"};

/* A 9-point stencil on n x n points, whose pattern is symmetric. */
static PetscErrorCode CreateStencil(MatType type, PetscInt n, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (int dx = -1; dx <= 1; dx++) {
      for (int dy = -1; dy <= 1; dy++) {
        const PetscInt x = i % n + dx, y = i / n + dy;

        if (x >= 0 && x < n && y >= 0 && y < n) PetscCall(MatSetValue(*A, i, x + n * y, dx == 0 && dy == 0 ? 8.0 : -1.0, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Color(Mat A, MatColoringType type, PetscInt distance, MatColoringWeightType weights, ISColoring *colors)
{
  MatColoring coloring;

  PetscFunctionBegin;
  PetscCall(MatColoringCreate(A, &coloring));
  PetscCall(MatColoringSetType(coloring, type));
  PetscCall(MatColoringSetDistance(coloring, distance));
  PetscCall(MatColoringSetWeightType(coloring, weights));
  PetscCall(MatColoringSetFromOptions(coloring));
  PetscCall(MatColoringApply(coloring, colors));
  PetscCall(MatColoringDestroy(&coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A is a MATAIJ, B of the type; a duplicate of B is as fresh as B was after its assembly. */
static PetscErrorCode Compare(Mat A, Mat B, MatColoringType type, PetscInt distance, MatColoringWeightType weights)
{
  ISColoring             a, b;
  MatType                name;
  PetscInt               na, nb, num_a, num_b;
  const ISColoringValue *colors_a, *colors_b;
  Mat                    fresh;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &fresh));
  PetscCall(MatScale(fresh, 2.0));
  PetscCall(Color(A, type, distance, weights, &a));
  PetscCall(Color(fresh, type, distance, weights, &b));
  PetscCall(ISColoringGetColors(a, &na, &num_a, &colors_a));
  PetscCall(ISColoringGetColors(b, &nb, &num_b, &colors_b));
  PetscCheck(na == nb && num_a == num_b, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, distance %" PetscInt_FMT ", weights %s: %" PetscInt_FMT " colors where %" PetscInt_FMT " should be", type, distance,
             weight_names[weights], num_b, num_a);
  for (PetscInt i = 0; i < na; i++)
    PetscCheck(colors_a[i] == colors_b[i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, distance %" PetscInt_FMT ", weights %s: local column %" PetscInt_FMT " has color %d where %d should be", type,
               distance, weight_names[weights], i, (int)colors_b[i], (int)colors_a[i]);
  PetscCall(ISColoringDestroy(&a));
  PetscCall(ISColoringDestroy(&b));
  PetscCall(MatGetType(B, &name));
  PetscCall(TestHasType(fresh, name, "the matrix after MatColoringApply()"));
  PetscCall(MatDestroy(&fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const MatColoringType       weighted[] = {MATCOLORINGGREEDY, MATCOLORINGJP, MATCOLORINGPOWER}, others[] = {MATCOLORINGSL, MATCOLORINGLF, MATCOLORINGID, MATCOLORINGNATURAL};
  const MatColoringWeightType weights[] = {MAT_COLORING_WEIGHT_RANDOM, MAT_COLORING_WEIGHT_LEXICAL, MAT_COLORING_WEIGHT_LF, MAT_COLORING_WEIGHT_SL};
  char                       *type;
  Mat                         A, B;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(CreateStencil(MATAIJ, 9, &A));
  PetscCall(CreateStencil(type, 9, &B));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(weighted); k++) {
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(weights); w++) {
      for (PetscInt distance = 1; distance <= 2; distance++) PetscCall(Compare(A, B, weighted[k], distance, weights[w]));
    }
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(others); k++) PetscCall(Compare(A, B, others[k], 2, MAT_COLORING_WEIGHT_RANDOM));
  PetscCall(TestCompare(A, B, "the matrix after its colorings"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

   test:
      suffix: unsymmetric
      output_file: output/empty.out
      args: -mat_coloring_greedy_symmetric 0 -mat_dcsr_test_hide_host

TEST*/
