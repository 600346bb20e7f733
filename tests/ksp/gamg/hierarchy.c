static char help[] = "The levels that PCGAMG makes of MATAIJ and of our type, level by level: sizes, nonzeros, complexities, and the entries of prolongators and coarse operators.\n\
  -problem, -near_null, -n: see problem.c\n\
  -supported n: so many levels at least are set up on the device\n\
  -again: a second PC on the same matrix has the same bits\n\n";

#include "problem.h"

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOLERANCE 1e-4
#else
  #define TOLERANCE 1e-9
#endif

/* How two matrices are compared. */
typedef enum {
  SAME_BITS,
  SAME_VALUES, /* up to rounding; an entry that is not stored counts as zero */
  SAME_SIZES,  /* absolute values, up to rounding */
  SAME_FINEST, /* the same on the finest level, SAME_SHAPE below */
  SAME_SHAPE   /* sizes and numbers of nonzeros */
} Comparison;

typedef struct {
  char      type[64];
  PetscInt  supported;
  PetscBool again;
} Wanted;

/* A row of a matrix, as MatGetRow() gives it. */
typedef struct {
  PetscInt           n;
  const PetscInt    *columns;
  const PetscScalar *values;
} Row;

/* Where something differs. */
typedef struct {
  const char *problem, *what; /* prolongator or operator */
  PetscInt    level;
} Position;

#define POSITION_FORMAT    "%s: %s of level %" PetscInt_FMT ": "
#define POSITION(position) (position).problem, (position).what, (position).level

/* The largest difference of two rows, whose columns ascend. */
static PetscReal RowDifference(Row a, Row b, Comparison comparison)
{
  PetscReal difference = 0;

  for (PetscInt k = 0, l = 0; k < a.n || l < b.n;) {
    const PetscBool   in_a = (PetscBool)(k < a.n && (l == b.n || a.columns[k] <= b.columns[l])), in_b = (PetscBool)(l < b.n && (k == a.n || b.columns[l] <= a.columns[k]));
    const PetscScalar x = in_a ? a.values[k++] : 0, y = in_b ? b.values[l++] : 0;

    difference = PetscMax(difference, comparison == SAME_SIZES ? PetscAbsReal(PetscAbsScalar(x) - PetscAbsScalar(y)) : PetscAbsScalar(x - y));
  }
  return difference;
}

static PetscErrorCode RowsHaveSameBits(Row a, Row b, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(a.n == b.n);
  if (*same) PetscCall(PetscArraycmp(a.columns, b.columns, a.n, same));
  if (*same) PetscCall(PetscArraycmp(a.values, b.values, a.n, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest absolute value of an entry. Collective. */
static PetscErrorCode GetLargest(Mat A, PetscReal *largest)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  *largest = 0;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    Row a;

    PetscCall(MatGetRow(A, r, &a.n, &a.columns, &a.values));
    for (PetscInt k = 0; k < a.n; k++) *largest = PetscMax(*largest, PetscAbsScalar(a.values[k]));
    PetscCall(MatRestoreRow(A, r, &a.n, &a.columns, &a.values));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of two MATAIJ of one layout. */
static PetscErrorCode CompareEntries(Position position, Mat A, Mat B, Comparison comparison)
{
  PetscInt  begin, end;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(GetLargest(A, &largest));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    Row       a, b;
    PetscReal difference;
    PetscBool same = PETSC_TRUE;

    PetscCall(MatGetRow(A, r, &a.n, &a.columns, &a.values));
    PetscCall(MatGetRow(B, r, &b.n, &b.columns, &b.values));
    difference = RowDifference(a, b, comparison);
    if (comparison == SAME_BITS) PetscCall(RowsHaveSameBits(a, b, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "row %" PetscInt_FMT " has other bits the second time; entries differ by up to %g", POSITION(position), r, (double)difference);
    PetscCheck(difference <= TOLERANCE * largest, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "entries of row %" PetscInt_FMT " differ by up to %g; the largest entry of the matrix is %g",
               POSITION(position), r, (double)difference, (double)largest);
    PetscCall(MatRestoreRow(B, r, &b.n, &b.columns, &b.values));
    PetscCall(MatRestoreRow(A, r, &a.n, &a.columns, &a.values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATAIJ with the entries of a matrix of any type. */
static PetscErrorCode CreatePlain(Mat A, Mat *plain)
{
  PetscBool mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCall(MatConvert(A, mpi ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareShapes(Position position, Mat A, Mat B)
{
  PetscInt sizes[2][6];
  MatInfo  info[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const Mat mat = k ? B : A;

    PetscCall(MatGetSize(mat, &sizes[k][0], &sizes[k][1]));
    PetscCall(MatGetLocalSize(mat, &sizes[k][2], &sizes[k][3]));
    PetscCall(MatGetBlockSizes(mat, &sizes[k][4], &sizes[k][5]));
    PetscCall(MatGetInfo(mat, MAT_LOCAL, &info[k]));
  }
  for (int s = 0; s < 6; s++)
    PetscCheck(sizes[0][s] == sizes[1][s], PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "size %d of global, local, block is %" PetscInt_FMT ", not %" PetscInt_FMT, POSITION(position), s,
               sizes[1][s], sizes[0][s]);
  PetscCheck(info[0].nz_used == info[1].nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, POSITION_FORMAT "%g local nonzeros, not %g", POSITION(position), info[1].nz_used, info[0].nz_used);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareMatrices(Position position, Mat A, Mat B, Comparison comparison)
{
  Mat plain[2];

  PetscFunctionBegin;
  PetscCall(CompareShapes(position, A, B));
  if (comparison == SAME_SHAPE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreatePlain(A, &plain[0]));
  PetscCall(CreatePlain(B, &plain[1]));
  PetscCall(CompareEntries(position, plain[0], plain[1], comparison));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&plain[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prolongator to a level, which is not the coarsest one, and the operator below it. */
static PetscErrorCode GetMatrices(PC pc, PetscInt level, Mat *P, Mat *A)
{
  KSP smoother;

  PetscFunctionBegin;
  PetscCall(PCMGGetInterpolation(pc, level, P));
  PetscCall(PCMGGetSmoother(pc, level - 1, &smoother));
  PetscCall(KSPGetOperators(smoother, NULL, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static Comparison ComparisonOfLevel(Comparison comparison, PetscBool finest)
{
  if (comparison != SAME_FINEST) return comparison;
  return finest ? SAME_SIZES : SAME_SHAPE;
}

/* The first hierarchy is the one that is right. Level 0 is the coarsest one. */
static PetscErrorCode CompareHierarchies(const char problem[], KSP ksp[], Comparison comparison)
{
  PC        pc[2];
  PetscInt  num_levels[2];
  PetscReal grid[2], operator[2];
  Mat P[2], A[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPGetPC(ksp[k], &pc[k]));
    PetscCall(PCMGGetLevels(pc[k], &num_levels[k]));
    PetscCall(PCMGGetGridComplexity(pc[k], &grid[k], &operator[k]));
  }
  PetscCheck(num_levels[0] == num_levels[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " levels, not %" PetscInt_FMT, problem, num_levels[1], num_levels[0]);
  PetscCheck(num_levels[0] > 1, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: one level alone", problem);
  for (PetscInt l = num_levels[0] - 1; l > 0; l--) {
    const Comparison of_level = ComparisonOfLevel(comparison, (PetscBool)(l == num_levels[0] - 1));

    for (int k = 0; k < 2; k++) PetscCall(GetMatrices(pc[k], l, &P[k], &A[k]));
    PetscCall(CompareMatrices((Position){problem, "the prolongator", l}, P[0], P[1], of_level));
    PetscCall(CompareMatrices((Position){problem, "the operator", l - 1}, A[0], A[1], of_level));
  }
  PetscCheck(grid[0] == grid[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: grid complexity %g, not %g", problem, (double)grid[1], (double)grid[0]);
  PetscCheck(operator[0] == operator[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: operator complexity %g, not %g", problem, (double)operator[1], (double)operator[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where the near null space has rotations, the sign of a column of the tentative prolongator is that of a number which may be zero but for rounding: absolute values are
  compared. Estimates of eigenvalues begin with a vector that does not follow the signs, so that all below the finest level differ by more than rounding, unless the
  eigenvalues are given.
*/
static PetscErrorCode GetComparison(const ProblemOptions *o, Comparison *comparison)
{
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_gamg_eigenvalues", &given));
  if (o->near_null == NEAR_NULL_NONE) *comparison = SAME_VALUES;
  else *comparison = given ? SAME_SIZES : SAME_FINEST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const ProblemOptions *o, const void *context)
{
  const Wanted *wanted     = (const Wanted *)context;
  const char   *problem    = Problems[o->problem];
  Comparison    comparison = SAME_SHAPE;
  PetscInt      before, after;
  Mat           A[2];
  KSP           ksp[3] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  PetscCall(GetComparison(o, &comparison));
  for (int k = 0; k < 2; k++) PetscCall(ProblemCreate(o, k ? wanted->type : MATAIJ, &A[k]));
  PetscCall(ProblemCountSupported(&before));
  for (int k = 0; k < (wanted->again ? 3 : 2); k++) {
    PetscCall(ProblemCreateKSP(o, A[PetscMin(k, 1)], &ksp[k]));
    PetscCall(KSPSetUp(ksp[k]));
  }
  PetscCall(ProblemCountSupported(&after));
  PetscCheck(after - before >= wanted->supported, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " levels were set up on the device, not %" PetscInt_FMT, problem, after - before,
             wanted->supported);
  PetscCall(CompareHierarchies(problem, ksp, comparison));
  if (wanted->again) PetscCall(CompareHierarchies(problem, ksp + 1, SAME_BITS));
  for (int k = 0; k < 3; k++) PetscCall(KSPDestroy(&ksp[k]));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Wanted wanted = {MATAIJDCSRCUDA, 0, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", wanted.type, sizeof(wanted.type), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-supported", &wanted.supported, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-again", &wanted.again, NULL));
  PetscCall(ProblemsTest(TestProblem, &wanted));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   # On the host all levels are PETSc's: ours change nothing.
   testset:
      nsize: {{1 2 3}}
      args: -malloc_dump -device_enable none
      output_file: output/empty.out
      test:
         suffix: host
         args: -problem 5point,7point,27point,anisotropic,unsymmetric,random,elasticity

   # On the device. Eigenvalues are given where the bits are to be those of our kernels alone. Estimates repeat, too: on one stream cuBLAS gives the same bits each time. GMRES makes 1e-8 of a
   # rounding error in the values of the random matrix, so that its estimate is made by CG.
   testset:
      requires: cuda
      nsize: {{1 3}}
      args: -malloc_dump -use_gpu_aware_mpi 0 -supported 1 -again
      output_file: output/empty.out
      test:
         suffix: device
         args: -problem 5point,7point,27point,anisotropic,unsymmetric,elasticity
      test:
         suffix: device_given
         args: -problem 5point,7point,27point,anisotropic,unsymmetric,random,elasticity -pc_gamg_eigenvalues 0.1,2
      test:
         suffix: device_cg
         args: -problem random -pc_gamg_esteig_ksp_type cg
      test:
         suffix: device_components
         args: -problem elasticity -near_null none

TEST*/
