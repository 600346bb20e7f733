#include "oracle.h"

/* PETSc's code that reads a matrix by itself: colorings and finite differences, overlap, MATNEST. */

/* f(x) = M (x + x^2 / 2), whose Jacobian has the pattern of M. VecDuplicate() is no way to y: PETSc 3.26 binds x to the CPU, and a duplicate of such a VECCUDA has no host array. */
static PetscErrorCode Function(PETSC_UNUSED void *snes, Vec x, Vec f, void *ctx)
{
  Vec y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs((Mat)ctx, &y, NULL));
  PetscCall(VecCopy(x, y));
  PetscCall(VecPointwiseMult(y, y, y));
  PetscCall(VecAYPX(y, 0.5, x));
  PetscCall(MatMult((Mat)ctx, y, f));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By JP alone: greedy and the sequential ones of PETSc 3.26 write behind arrays for some matrices, with MATAIJ, too. */
static PetscErrorCode Color(Mat J, ISColoring *colors)
{
  MatColoring coloring;

  PetscFunctionBegin;
  PetscCall(MatColoringCreate(J, &coloring));
  PetscCall(MatColoringSetDistance(coloring, 2));
  PetscCall(MatColoringSetType(coloring, MATCOLORINGJP));
  PetscCall(MatColoringApply(coloring, colors));
  PetscCall(MatColoringDestroy(&coloring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Jacobian of the function by finite differences, twice, with a change of the values in between. */
static PetscErrorCode Differentiate(const char differences[], PetscInt columns, Mat M, Mat J, Vec x)
{
  PetscInt      num_colors;
  ISColoring    colors;
  MatFDColoring fd;

  PetscFunctionBegin;
  PetscCall(Color(J, &colors));
  PetscCall(ISColoringGetColors(colors, NULL, &num_colors, NULL));
  PetscCall(MatFDColoringCreate(J, colors, &fd));
  PetscCall(MatFDColoringSetType(fd, differences));
  PetscCall(MatFDColoringSetBlockSize(fd, PETSC_DEFAULT, PetscMin(columns, PetscMax(1, num_colors))));
  PetscCall(MatFDColoringSetFunction(fd, Function, M));
  PetscCall(MatFDColoringSetUp(J, colors, fd));
  PetscCall(MatFDColoringApply(J, fd, x, NULL));
  PetscCall(MatScale(J, 3));
  PetscCall(VecScale(x, 0.5));
  PetscCall(MatFDColoringApply(J, fd, x, NULL));
  PetscCall(MatFDColoringDestroy(&fd));
  PetscCall(ISColoringDestroy(&colors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FiniteDifferences(Oracle o)
{
  static const char *const differences[] = {MATMFFD_WP, MATMFFD_DS};
  const PetscInt           columns       = OracleFlip(o, 2) ? 1 : 1 + OracleShared(o, 4);
  const char              *difference    = differences[OracleShared(o, 2)];
  const PetscReal          noise         = PetscSqrtReal(1 / PETSC_MACHINE_EPSILON) / 1000; /* of the differences, in units of the tolerance of comparisons */
  const PetscInt          *ranges;
  Mat                      M, T, J[2];
  Vec                      x[2];

  PetscFunctionBegin;
  if (o->large || o->norm == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRanges(o->A, &ranges));
  for (PetscMPIInt r = 0; r < o->size; r++)
    if (ranges[r] == ranges[r + 1]) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc 3.26 divides by the number of colors of a process */
  for (int k = 0; k < 2; k++) {                                         /* colorings take a symmetric pattern for granted, and every row has an entry */
    PetscCall(MatDuplicate(k ? o->B : o->A, MAT_COPY_VALUES, &J[k]));
    PetscCall(MatTranspose(J[k], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(J[k], 1, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatScale(J[k], 0.5 / o->norm));
    PetscCall(MatShift(J[k], 1));
    PetscCall(MatDestroy(&T));
  }
  PetscCall(MatDuplicate(J[0], MAT_COPY_VALUES, &M));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &x[0], &x[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(Differentiate(difference, columns, M, J[k], x[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscCall(OracleCompareAndDestroy(o, &J[0], &J[1], PETSC_TRUE, 10 * noise));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some blocks of rows, of this process or of any. */
static PetscErrorCode SomeBlocks(Oracle o, PetscInt bs, PetscInt begin, PetscInt end, PetscInt one_in, IS *is)
{
  PetscInt n = 0, *blocks;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(PetscMalloc1(end - begin, &blocks));
  for (PetscInt b = begin; b < end; b++)
    if (OracleHash(o->fill, (uint64_t)b, (uint64_t)o->rank) % (uint64_t)one_in == 0) blocks[n++] = b;
  PetscCall(ISCreateBlock(PETSC_COMM_SELF, bs, n, blocks, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Index sets of whole blocks grow by one or two layers; submatrices of what they are then. */
static PetscErrorCode Overlap(Oracle o)
{
  const PetscInt  layers = 1 + OracleShared(o, 2), n = 1 + OracleShared(o, 2);
  const PetscBool any = OracleFlip(o, 2);
  PetscInt        rbs, cbs, begin, end, M;
  IS              sets[2][2];
  Mat            *X[2];

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(o->A, &rbs, &cbs));
  if (rbs != cbs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(MatGetSize(o->A, &M, NULL));
  for (PetscInt s = 0; s < n; s++) {
    PetscCall(SomeBlocks(o, rbs, any ? 0 : begin / rbs, (any ? M : end) / rbs, 4, &sets[0][s]));
    PetscCall(ISDuplicate(sets[0][s], &sets[1][s]));
  }
  OracleBoth(MatIncreaseOverlap(o->A, n, sets[0], layers), MatIncreaseOverlap(o->B, n, sets[1], layers));
  for (PetscInt s = 0; s < n; s++) {
    PetscBool same;

    OracleBoth(ISSort(sets[0][s]), ISSort(sets[1][s]));
    PetscCall(ISEqual(sets[0][s], sets[1][s], &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: index set %" PetscInt_FMT " grows differently with MATAIJ and with %s", o->operation, s, o->type);
  }
  OracleBoth(MatCreateSubMatrices(o->A, n, sets[0], sets[0], MAT_INITIAL_MATRIX, &X[0]), MatCreateSubMatrices(o->B, n, sets[1], sets[1], MAT_INITIAL_MATRIX, &X[1]));
  for (PetscInt s = 0; s < n; s++) PetscCall(OracleCompareMat(o, X[0][s], X[1][s], PETSC_TRUE, o->norm));
  OracleBoth(MatDestroySubMatrices(n, &X[0]), MatDestroySubMatrices(n, &X[1]));
  for (int k = 0; k < 2; k++)
    for (PetscInt s = 0; s < n; s++) PetscCall(ISDestroy(&sets[k][s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same numbers into a vector of a MATNEST, whose parts may be vectors of any type. */
static PetscErrorCode FillParts(Oracle o, Vec x)
{
  PetscInt     n, num;
  Vec         *parts;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(VecNestGetSubVecs(x, &num, &parts));
  for (PetscInt p = 0; p < num; p++) {
    PetscCall(VecGetLocalSize(parts[p], &n));
    PetscCall(VecGetArrayWrite(parts[p], &array));
    for (PetscInt i = 0; i < n; i++) array[i] = OracleReal(o->fill, (uint64_t)i, (uint64_t)(o->rank + 100 * p));
    PetscCall(VecRestoreArrayWrite(parts[p], &array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareNestProducts(Oracle o, const Mat nest[2], PetscBool transpose, PetscReal scale)
{
  Vec      x[2], y[2], *parts[2];
  PetscInt num;

  PetscFunctionBegin;
  o->fill++;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateVecs(nest[k], transpose ? &y[k] : &x[k], transpose ? &x[k] : &y[k]));
    PetscCall(FillParts(o, x[k]));
    if (transpose) PetscCall(MatMultTranspose(nest[k], x[k], y[k]));
    else PetscCall(MatMult(nest[k], x[k], y[k]));
    PetscCall(VecNestGetSubVecs(y[k], &num, &parts[k]));
  }
  for (PetscInt p = 0; p < num; p++) PetscCall(OracleCompareVec(o, parts[0][p], parts[1][p], scale));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in the corner, sparse random ones beside and below it, and nothing or another one behind these. */
static PetscErrorCode CreateNests(Oracle o, Mat nest[2], PetscReal *scale)
{
  const PetscInt width    = 1 + OracleShared(o, 20);
  PetscReal      norms[3] = {0, 0, 0};
  PetscLayout    rmap, cmap, other;
  Mat            blocks[2][4] = {{NULL}};

  PetscFunctionBegin;
  PetscCall(MatGetLayouts(o->A, &rmap, &cmap));
  PetscCall(PetscLayoutCreateFromSizes(o->comm, PETSC_DECIDE, width, 1, &other));
  blocks[0][0] = o->A;
  blocks[1][0] = o->B;
  PetscCall(OracleCreatePair(o, rmap, other, 3, &blocks[0][1], &blocks[1][1]));
  PetscCall(OracleCreatePair(o, other, cmap, 3, &blocks[0][2], &blocks[1][2]));
  if (OracleFlip(o, 2)) PetscCall(OracleCreatePair(o, other, other, 2, &blocks[0][3], &blocks[1][3]));
  PetscCall(PetscLayoutDestroy(&other));
  *scale = o->norm + 1;
  for (int b = 1; b < 4; b++) {
    if (blocks[0][b] != NULL) PetscCall(MatNorm(blocks[0][b], NORM_FROBENIUS, &norms[b - 1]));
    *scale += norms[b - 1];
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateNest(o->comm, 2, NULL, 2, NULL, blocks[k], &nest[k]));
    PetscCall(MatNestSetVecType(nest[k], VECNEST));
    for (int b = 1; b < 4; b++) PetscCall(MatDestroy(&blocks[k][b]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products, and the nest as one matrix of MATAIJ and of the type under test, again after a change of the values. */
static PetscErrorCode Nest(Oracle o)
{
  const PetscBool again = OracleFlip(o, 2);
  PetscReal       scale = 1;
  Mat             nest[2], X[2], Y;

  PetscFunctionBegin;
  PetscCall(CreateNests(o, nest, &scale));
  PetscCall(CompareNestProducts(o, nest, PETSC_FALSE, scale));
  PetscCall(CompareNestProducts(o, nest, PETSC_TRUE, scale));
  for (int k = 0; k < 2; k++) PetscCall(MatConvert(nest[k], k ? o->type : MATAIJ, MAT_INITIAL_MATRIX, &X[k]));
  PetscCall(MatConvert(nest[1], MATAIJ, MAT_INITIAL_MATRIX, &Y));
  PetscCall(OracleCompareMat(o, X[0], X[1], PETSC_TRUE, scale));
  PetscCall(OracleCompareMat(o, X[0], Y, PETSC_TRUE, scale));
  for (int k = 0; again && k < 2; k++) {
    PetscCall(MatScale(k ? o->B : o->A, -1));
    PetscCall(MatConvert(nest[k], k ? o->type : MATAIJ, MAT_REUSE_MATRIX, &X[k]));
  }
  PetscCall(OracleCompareAndDestroy(o, &X[0], &X[1], PETSC_TRUE, scale));
  PetscCall(MatDestroy(&Y));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&nest[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleReaderOperations[] = {{"MatColoring and MatFDColoring", 2, FiniteDifferences, PETSC_TRUE, 0},
                                                  {"MatIncreaseOverlap", 2, Overlap, PETSC_TRUE, 0},
                                                  {"MatNest", 2, Nest, PETSC_FALSE, 0},
                                                  {NULL, 0, NULL, PETSC_FALSE, 0}};
