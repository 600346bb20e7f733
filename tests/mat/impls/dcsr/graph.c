static char help[] = "MatCreateGraph(): symmetrized, scaled and filtered or not, of symmetric matrices and others, with one and several unknowns a point.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

/* The graph is a plain MATAIJ with the entries that MATAIJ's has, and the matrix is as it was. */
static PetscErrorCode TestGraph(Mat A, Mat B, PetscBool symmetrize, PetscBool scale, PetscReal filter)
{
  char      what[256];
  PetscBool same, known[2], symmetric[2];
  Mat       G[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "The graph of %d x %d unknowns, symmetrize %d, scale %d, filter %g", (int)A->rmap->N, (int)A->rmap->bs, (int)symmetrize, (int)scale, (double)filter));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateGraph(k ? B : A, symmetrize, scale, filter, 0, NULL, &G[k]));
    PetscCall(MatIsSymmetricKnown(G[k], &known[k], &symmetric[k]));
  }
  PetscCall(PetscStrcmp(((PetscObject)G[0])->type_name, ((PetscObject)G[1])->type_name, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: type %s and not %s", what, ((PetscObject)G[1])->type_name, ((PetscObject)G[0])->type_name);
  PetscCheck(known[0] == known[1] && (!known[0] || symmetric[0] == symmetric[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: what is known of its symmetry differs", what);
  PetscCall(TestCompare(G[0], G[1], what));
  PetscCall(TestCompare(A, B, "the matrix after MatCreateGraph()"));
  PetscCall(MatDestroy(&G[0]));
  PetscCall(MatDestroy(&G[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How blocks are filled. */
typedef enum {
  WHOLE,
  HOLES,   /* with holes */
  TWISTED, /* columns that pass for those of whole blocks, each in a block of its own */
  NUM_FILLINGS
} Filling;

/* The graph of a matrix with blocks has the sums that MATAIJ's has, of all rows and columns of a block or of some. */
static PetscErrorCode TestBlockGraph(const char type[], Filling filling, PetscInt bs)
{
  const PetscInt num_nodes = 24;
  PetscInt       begin, end, index[] = {bs - 1, 0};
  Mat            X[2], G[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, num_nodes * bs, num_nodes * bs));
    PetscCall(MatSetBlockSize(X[k], bs));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatGetOwnershipRange(X[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      for (PetscInt j = 0; j < num_nodes * bs; j++) {
        const PetscInt  node = i / bs, other = j / bs, group = filling == TWISTED ? other / bs : other;
        const PetscBool near = (PetscBool)((node * 5 + group * 3) % 7 < 2 && node % 6 != 4 && group < num_nodes / (filling == TWISTED ? bs : 1));

        if (near && (filling != HOLES || (i + 2 * j) % 3) && (filling != TWISTED || j % bs == other % bs)) PetscCall(MatSetValue(X[k], i, j, (PetscReal)((3 * i + 5 * j) % 11) - 5.5, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
  }
  for (PetscInt n = 0; n <= 2; n++) {
    for (int k = 0; k < 2; k++) PetscCall(MatCreateGraph(X[k], (PetscBool)(n != 1), PETSC_FALSE, -1, n, index, &G[k]));
    PetscCall(TestCompare(G[0], G[1], n ? "the graph of some rows and columns of blocks" : "the graph of blocks"));
    for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&G[k]));
  }
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&X[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal that is there and large, or negative here and there, and whatever TestCreate() has beside it. */
static PetscErrorCode CreatePair(const char type[], PetscInt n, PetscInt bs, PetscInt per_row, Mat X[2])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &X[k]));
    PetscCall(MatSetSizes(X[k], PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetBlockSize(X[k], bs));
    PetscCall(MatSetType(X[k], k ? type : MATAIJ));
    PetscCall(MatGetOwnershipRange(X[k], &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      PetscCall(MatSetValue(X[k], i, i, i % 7 == 3 ? -9 : 8 + i % 3, ADD_VALUES));
      for (PetscInt j = 1; j <= per_row; j++) PetscCall(MatSetValue(X[k], i, (i * j + 5 * j) % n, (PetscReal)((i + 3 * j) % 11) - 5.5, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(X[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X[k], MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other one of each pair is X + X^T and known to be symmetric, or to have a symmetric structure. */
static PetscErrorCode AddTransposes(Mat X[2], MatOption known)
{
  Mat T;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(X[k], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(X[k], 1, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatSetOption(X[k], known, PETSC_TRUE));
    PetscCall(MatDestroy(&T));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal filters[] = {-1, 0, 0.31};
  char           *type;
  Mat             X[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int kind = 0; kind < 4; kind++) {
    PetscCall(CreatePair(type, 60, kind == 3 ? 3 : 1, 4, X));
    if (kind > 0) PetscCall(AddTransposes(X, kind == 1 ? MAT_STRUCTURALLY_SYMMETRIC : MAT_SYMMETRIC));
    for (int flags = 0; flags < 4; flags++)
      for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(filters); f++) PetscCall(TestGraph(X[0], X[1], (PetscBool)(flags & 1), (PetscBool)(flags & 2), filters[f]));
    PetscCall(MatDestroy(&X[0]));
    PetscCall(MatDestroy(&X[1]));
  }
  for (int filling = 0; filling < NUM_FILLINGS; filling++)
    for (PetscInt bs = 2; bs <= 6; bs++) PetscCall(TestBlockGraph(type, (Filling)filling, bs));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 3 8}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: scalar
         args: -mat_dcsr_blocks 0
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: hidden
         args: -mat_dcsr_test_hide_host

TEST*/
