static char help[] = "Matrices that become others of our types, or MATAIJ, or were MATAIJ, under something that remembers them: products, solvers, and what is attached to them.\n\n";

#include "testmat.h"
#include <petscksp.h>

#define SIZE 26

static const char *const all_types[] = {MATAIJ, MATAIJDCSRCUDA, MATAIJHISPARSECUDA, MATAIJAUTOCUDA};
#define NUM_TYPES 4

/* How a matrix changes its type. */
typedef enum {
  BY_CONVERT,
  BY_SETTYPE,
  BY_REPLACE, /* another matrix takes its place; for operands of products alone */
  NUM_WAYS
} Way;

static const char *const way_names[] = {"MatConvert()", "MatSetType()", "replacement"};

static PetscBool device = PETSC_FALSE; /* whether there is one */

static PetscErrorCode ChangeType(Mat *A, MatType type, Way way)
{
  Mat B;

  PetscFunctionBegin;
  if (way == BY_CONVERT) PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  else if (way == BY_SETTYPE) PetscCall(MatSetType(*A, type));
  else {
    PetscCall(MatConvert(*A, type, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatDestroy(A));
    *A = B;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(MatProductType type, const Mat m[], MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (type == MATPRODUCT_AB) PetscCall(MatMatMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_AtB) PetscCall(MatTransposeMatMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_ABt) PetscCall(MatMatTransposeMult(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_PtAP) PetscCall(MatPtAP(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else if (type == MATPRODUCT_RARt) PetscCall(MatRARt(m[0], m[1], reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMatMult(m[0], m[1], m[2], reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product, its operands and the same of MATAIJ. */
typedef struct {
  MatProductType type;
  Mat            mats[3], refs[3], C;
  char           what[160];
} Product;

static PetscErrorCode Destroy(Product *p)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDestroy(&p->mats[k]));
    PetscCall(MatDestroy(&p->refs[k]));
  }
  PetscCall(MatDestroy(&p->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values again, against a new product of the references. */
static PetscErrorCode Compare(Product *p, const char step[])
{
  Mat  R;
  char what[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s: %s", p->what, step));
  PetscCall(Multiply(p->type, p->mats, MAT_REUSE_MATRIX, &p->C));
  PetscCall(Multiply(p->type, p->refs, MAT_INITIAL_MATRIX, &R));
  PetscCall(TestCompareProducts(R, p->C, what));
  PetscCall(TestCompareRows(R, p->C, what));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale(Product *p, PetscScalar factor)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(MatScale(p->mats[k], factor));
    PetscCall(MatScale(p->refs[k], factor));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another pattern. */
static PetscErrorCode Enter(Mat A, PetscInt seed)
{
  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(TestEnter(A, 6, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* which: the operand that changes its type, 3 the result. */
static PetscErrorCode TestProduct(MatProductType type, MatType from, MatType to, int which, Way way)
{
  const PetscBool follows = (PetscBool)(device && from != all_types[0] && (which == 3 || to != all_types[0])); /* MATAIJ's products do not follow patterns */
  MatNullSpace    nullspace, kept;
  Product         p = {.type = type, .C = NULL};

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(p.what, sizeof(p.what), "%s, %s %d of type %s becomes %s by %s", MatProductTypes[type], which == 3 ? "result" : "operand", which, from, to, way_names[way]));
  for (int k = 0; k < 3; k++) PetscCall(TestCreatePair(from, SIZE, SIZE, TEST_EVEN, 4, 1 + k, &p.refs[k], &p.mats[k]));
  PetscCall(Multiply(type, p.mats, MAT_INITIAL_MATRIX, &p.C));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
  PetscCall(MatSetNullSpace(p.C, nullspace));
  PetscCall(ChangeType(which == 3 ? &p.C : &p.mats[which], to, way));
  PetscCall(Scale(&p, 2));
  PetscCall(Compare(&p, "other values"));
  for (int k = 0; k < 2 && follows; k++) {
    PetscCall(Enter(p.mats[k], 8));
    PetscCall(Enter(p.refs[k], 8));
    PetscCall(Compare(&p, "another pattern"));
    PetscCall(Scale(&p, 0.5));
    PetscCall(Compare(&p, "other values of another pattern"));
  }
  PetscCall(MatGetNullSpace(p.C, &kept));
  if (to != all_types[0] && from != all_types[0] && (way == BY_CONVERT || (way == BY_SETTYPE && which != 3)))
    PetscCheck(kept == nullspace, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the result has lost its null space", p.what);
  PetscCall(MatNullSpaceDestroy(&nullspace));
  PetscCall(Destroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetType() to MATAIJ starts without entries, also for PETSc's own types; MATMPIAIJ's A B^T cannot be computed again. */
static PetscBool Possible(MatProductType type, MatType from, MatType to, Way way, PetscMPIInt size)
{
  const PetscBool aij = (PetscBool)(from == all_types[0] || to == all_types[0]);

  return (PetscBool)(from != to && (way != BY_SETTYPE || to != all_types[0]) && !(type == MATPRODUCT_ABt && size > 1 && (aij || !device)));
}

static PetscErrorCode TestProducts(MatType type)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (MatProductType product = MATPRODUCT_AB; product <= MATPRODUCT_ABC; product++)
    for (int which = 0; which < 4; which++)
      for (int other = 0; other < NUM_TYPES; other++)
        for (Way way = BY_CONVERT; way < NUM_WAYS; way++) {
          if ((which == 2 && product != MATPRODUCT_ABC) || (which == 3 && way == BY_REPLACE)) continue;
          if (Possible(product, type, all_types[other], way, size)) PetscCall(TestProduct(product, type, all_types[other], which, way));
          if (other == 0 && Possible(product, all_types[0], type, way, size)) PetscCall(TestProduct(product, all_types[0], type, which, way));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver that keeps what it has made of the matrix, through two changes of type with other values after each. Vectors that MATAIJ uses, too, are on the host. */
static PetscErrorCode TestSolver(PCType pctype, MatType from, MatType to)
{
  const char *const types[] = {to, from};
  const PetscBool   aij     = (PetscBool)(from == all_types[0] || to == all_types[0]);
  Mat               m[2];
  KSP               ksp[2];
  Vec               x[2], b[2];
  PC                pc;
  char              what[160];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s becomes %s and the former again", pctype, from, to));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestCreatePoisson(k ? from : MATAIJ, 9, &m[k]));
    PetscCall(MatCreateVecs(m[aij ? 0 : k], &x[k], &b[k]));
    PetscCall(TestFill(b[k], 5));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetOperators(ksp[k], m[k], m[k]));
    PetscCall(KSPSetType(ksp[k], KSPGMRES));
    PetscCall(KSPSetTolerances(ksp[k], 1e-30, 1e-30, PETSC_CURRENT, 4)); /* so that the preconditioner shows */
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, pctype));
    PetscCall(KSPSolve(ksp[k], b[k], x[k]));
  }
  PetscCall(TestCompareVec(x[0], x[1], what));
  for (int change = 0; change < 2; change++) {
    PetscCall(ChangeType(&m[1], types[change], BY_CONVERT));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatShift(m[k], 1 + change));
      PetscCall(MatScale(m[k], 3));
      PetscCall(KSPSolve(ksp[k], b[k], x[k]));
    }
    PetscCall(TestCompareVec(x[0], x[1], what));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(MatDestroy(&m[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolvers(MatType type)
{
  const char *const pcs[] = {PCJACOBI, PCBJACOBI, PCSOR};

  PetscFunctionBegin;
  for (int other = 0; other < NUM_TYPES; other++) {
    if (type == all_types[other]) continue;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(pcs); k++) PetscCall(TestSolver(pcs[k], type, all_types[other]));
    if (other > 0) PetscCall(TestSolver(PCGAMG, type, all_types[other])); /* on a device the levels of MATAIJ have their vectors elsewhere */
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(pcs); k++) PetscCall(TestSolver(pcs[k], all_types[0], type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is attached to a matrix. */
typedef struct {
  MatNullSpace           nullspace, near;
  ISLocalToGlobalMapping map;
  PetscContainer         container;
} Attached;

static PetscErrorCode Attach(Mat A, Attached *a)
{
  PetscInt n, begin, *indices;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &a->nullspace));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &a->near));
  PetscCall(MatSetNullSpace(A, a->nullspace));
  PetscCall(MatSetNearNullSpace(A, a->near));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(PetscMalloc1(n, &indices));
  for (PetscInt k = 0; k < n; k++) indices[k] = begin + k;
  PetscCall(ISLocalToGlobalMappingCreate(PETSC_COMM_WORLD, 1, n, indices, PETSC_OWN_POINTER, &a->map));
  PetscCall(MatSetLocalToGlobalMapping(A, a->map, a->map));
  PetscCall(PetscContainerCreate(PETSC_COMM_WORLD, &a->container));
  PetscCall(PetscObjectCompose((PetscObject)A, "attached", (PetscObject)a->container));
  PetscCall(PetscObjectSetName((PetscObject)A, "named"));
  PetscCall(MatSetOptionsPrefix(A, "prefix_"));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckAttached(Mat A, const Attached *a, Way way, const char what[])
{
  MatNullSpace           nullspace, near;
  ISLocalToGlobalMapping map;
  PetscObject            container;
  const char            *name, *prefix;
  PetscBool              set, symmetric, off_proc, same[2];

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(MatGetNearNullSpace(A, &near));
  if (way == BY_CONVERT) PetscCheck(nullspace == a->nullspace && near == a->near, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lost a null space", what); /* MatSetType() itself may drop them */
  PetscCall(MatGetLocalToGlobalMapping(A, &map, NULL));
  PetscCheck(map == a->map, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lost its map from local to global numbers", what);
  PetscCall(PetscObjectQuery((PetscObject)A, "attached", &container));
  PetscCheck(container == (PetscObject)a->container, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lost a composed object", what);
  PetscCall(PetscObjectGetName((PetscObject)A, &name));
  PetscCall(MatGetOptionsPrefix(A, &prefix));
  PetscCall(PetscStrcmp(name, "named", &same[0]));
  PetscCall(PetscStrcmp(prefix, "prefix_", &same[1]));
  PetscCheck(same[0] && same[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lost its name or its prefix", what);
  PetscCall(MatIsSymmetricKnown(A, &set, &symmetric));
  PetscCheck(set && symmetric, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: does not know any more that it is symmetric", what);
  PetscCall(MatGetOption(A, MAT_NO_OFF_PROC_ENTRIES, &off_proc));
  PetscCheck(off_proc, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: lost an option", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAttached(MatType from, MatType to, Way way)
{
  const PetscInt row = 0;
  Mat            m[2];
  Attached       a[2];
  char           what[160];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s that becomes %s by %s", from, to, way_names[way]));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestCreate(k ? from : MATAIJ, 24, 24, TEST_EVEN, 4, 1, &m[k]));
    PetscCall(Attach(m[k], &a[k]));
  }
  PetscCall(ChangeType(&m[1], to, way));
  PetscCall(CheckAttached(m[1], &a[1], way, what));
  for (int k = 0; k < 2; k++) PetscCall(MatZeroRowsLocal(m[k], 1, &row, 2, NULL, NULL)); /* by the map, and the pattern stays */
  PetscCall(TestCompare(m[0], m[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatNullSpaceDestroy(&a[k].nullspace));
    PetscCall(MatNullSpaceDestroy(&a[k].near));
    PetscCall(ISLocalToGlobalMappingDestroy(&a[k].map));
    PetscCall(PetscContainerDestroy(&a[k].container));
    PetscCall(MatDestroy(&m[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A type that a program sets and an option replaces leaves nothing behind: vectors and product are those of the second. */
static PetscErrorCode TestReplaced(MatType type, MatType other)
{
  Mat         m[2];
  Vec         x, y;
  VecType     types[2];
  PetscScalar sum;
  PetscBool   bound[2], same;
  PetscInt    start, end;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &m[k]));
    PetscCall(MatSetSizes(m[k], 4, 4, PETSC_DETERMINE, PETSC_DETERMINE));
    if (k > 0) PetscCall(MatSetType(m[k], type));
    PetscCall(MatSetType(m[k], other));
    PetscCall(MatGetVecType(m[k], &types[k]));
    PetscCall(MatBoundToCPU(m[k], &bound[k]));
  }
  PetscCall(PetscStrcmp(types[0], types[1], &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s that becomes %s makes vectors of type %s, not %s", type, other, types[1], types[0]);
  PetscCheck(bound[0] == bound[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s that becomes %s: bound to the CPU %d, not %d", type, other, bound[1], bound[0]);
  PetscCall(MatSetUp(m[1]));
  PetscCall(MatGetOwnershipRange(m[1], &start, &end));
  for (PetscInt row = start; row < end; row++) PetscCall(MatSetValue(m[1], row, row, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(m[1], MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(m[1], MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(m[1], &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(m[1], x, y));
  PetscCall(VecSum(y, &sum));
  PetscCall(VecGetSize(y, &end));
  PetscCheck(sum == (PetscScalar)(2 * end), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s that becomes %s: a product is wrong", type, other);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&m[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  const char *full = NULL;
  Mat         A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int k = 1; k < NUM_TYPES; k++)
    if (strstr(all_types[k], type) != NULL) full = all_types[k];
  PetscCheck(full != NULL, PETSC_COMM_SELF, PETSC_ERR_USER, "-mat_type is one of dcsrcuda, hisparsecuda, autocuda");
  PetscCall(TestCreate(full, 4, 4, TEST_EVEN, 1, 1, &A));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  for (int other = 0; other < NUM_TYPES; other++) PetscCall(TestReplaced(full, all_types[other]));
  PetscCall(TestReplaced(full, MATBAIJ));
  PetscCall(TestProducts(full));
  PetscCall(TestSolvers(full));
  for (int other = 0; other < NUM_TYPES; other++)
    for (Way way = BY_CONVERT; way <= BY_SETTYPE; way++) {
      if (full != all_types[other] && (other > 0 || way == BY_CONVERT)) PetscCall(TestAttached(full, all_types[other], way));
      if (other == 0) PetscCall(TestAttached(all_types[0], full, way));
    }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      args: -mat_type {{dcsrcuda hisparsecuda autocuda}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: diagonals
         args: -mat_hisparse_format diagonals -mat_auto_test_switch 1

TEST*/
