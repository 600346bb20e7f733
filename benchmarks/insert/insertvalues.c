/*
  MatSetValues() from the host: element matrices into an empty matrix, and new nonzeros one at a time.
*/
#include "insertbench.h"

#define REPETITIONS    3
#define NUM_BLOCKS     1024 /* different element matrices, which stay in the host's cache: insertion is measured, not where the values come from */
#define ONE_BY_ONE     300
#define ONE_BY_ONE_AIJ 20

/* Bilinear elements on n^2 squares. */
typedef struct {
  PetscInt     n, num_rows;
  PetscScalar *blocks;    /* [NUM_BLOCKS * 16] */
  PetscInt    *row_sizes; /* [num_rows] exact */
  Vec          x, y;      /* on the device */
} Grid;

/* New entries. */
typedef struct {
  PetscInt    i[ONE_BY_ONE], j[ONE_BY_ONE];
  PetscScalar v[ONE_BY_ONE];
} Entries;

static PetscErrorCode GridCreate(PetscInt n, Grid *grid)
{
  PetscRandom random;

  PetscFunctionBegin;
  grid->n        = n;
  grid->num_rows = (n + 1) * (n + 1);
  PetscCall(PetscMalloc1(NUM_BLOCKS * 16, &grid->blocks));
  PetscCall(PetscMalloc1(grid->num_rows, &grid->row_sizes));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt k = 0; k < NUM_BLOCKS * 16; k++) PetscCall(PetscRandomGetValue(random, grid->blocks + k));
  PetscCall(PetscRandomDestroy(&random));
  for (PetscInt r = 0; r < grid->num_rows; r++) {
    const PetscInt x = r % (n + 1), y = r / (n + 1);

    grid->row_sizes[r] = (3 - (x == 0) - (x == n)) * (3 - (y == 0) - (y == n));
  }
  PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, grid->num_rows, &grid->x));
  PetscCall(VecDuplicate(grid->x, &grid->y));
  PetscCall(VecSet(grid->x, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridDestroy(Grid *grid)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(grid->blocks));
  PetscCall(PetscFree(grid->row_sizes));
  PetscCall(VecDestroy(&grid->x));
  PetscCall(VecDestroy(&grid->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new matrix of the grid's element matrices; with exact preallocation when type is MATAIJ and preallocate. */
static PetscErrorCode GridAssemble(const Grid *grid, MatType type, PetscBool preallocate, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, grid->num_rows, grid->num_rows, grid->num_rows, grid->num_rows));
  PetscCall(MatSetType(*A, type));
  if (preallocate) PetscCall(MatSeqAIJSetPreallocation(*A, 0, grid->row_sizes));
  else PetscCall(MatSetUp(*A));
  for (PetscInt y = 0, e = 0; y < grid->n; y++) {
    for (PetscInt x = 0; x < grid->n; x++, e++) {
      const PetscInt first = y * (grid->n + 1) + x, nodes[4] = {first, first + 1, first + grid->n + 2, first + grid->n + 1};

      PetscCall(MatSetValues(*A, 4, nodes, 4, nodes, grid->blocks + e % NUM_BLOCKS * 16, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median nanoseconds a value until the first product is done: that of MATAIJCUSPARSE copies to the device. */
static PetscErrorCode GridMeasure(const Grid *grid, MatType type, PetscBool preallocate, PetscInt repetitions, PetscReal *ns, Mat *A)
{
  PetscReal      samples[REPETITIONS];
  PetscLogDouble begin, end;
  PetscBool      is_aij;

  PetscFunctionBegin;
  *A = NULL;
  PetscCall(PetscStrcmp(type, MATAIJ, &is_aij));
  for (PetscInt k = 0; k < repetitions; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(BenchNow(&begin));
    PetscCall(GridAssemble(grid, type, preallocate, A));
    if (is_aij) PetscCall(MatConvert(*A, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, A)); // in place: no second copy on the host
    PetscCall(MatMult(*A, grid->x, grid->y));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e9 * (end - begin) / (16.0 * grid->n * grid->n));
  }
  PetscCall(BenchMedian(repetitions, samples, ns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValuesCase(Bench *b, const Grid *grid)
{
  static const char name[] = "setvalues-host";
  InsertResult      r = {name, "time-per-value", "ns", -1, -1, "aij preallocated, then aijcusparse", -1}, hash = {name, "hash", "ns", -1, -1, "aij not preallocated, then aijcusparse", -1};
  PetscReal         warm_up;
  Mat               A, B;

  PetscFunctionBegin;
  PetscCall(GridMeasure(grid, MATDCSRCUDA, PETSC_FALSE, 1, &warm_up, &A));
  PetscCall(MatDestroy(&A));
  PetscCall(GridMeasure(grid, MATDCSRCUDA, PETSC_FALSE, REPETITIONS, &r.ours, &A));
  PetscCall(GridMeasure(grid, MATAIJ, PETSC_TRUE, 1, &warm_up, &B));
  PetscCall(MatDestroy(&B));
  PetscCall(GridMeasure(grid, MATAIJ, PETSC_TRUE, REPETITIONS, &r.best, &B));
  PetscCall(InsertBenchCompare(b, name, A, B));
  PetscCall(MatDestroy(&B));
  PetscCall(GridMeasure(grid, MATAIJ, PETSC_FALSE, 1, &hash.best, &B));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  hash.ours = r.ours;
  PetscCall(InsertBenchRecord(b, &r));
  PetscCall(InsertBenchRecord(b, &hash));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries at random positions of the grid's matrix; hardly one of them is there already. */
static PetscErrorCode EntriesCreate(const Grid *grid, Entries *e)
{
  PetscRandom random;
  PetscReal   position;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt k = 0; k < ONE_BY_ONE; k++) {
    PetscCall(PetscRandomGetValueReal(random, &position));
    e->i[k] = PetscMin((PetscInt)(position * (PetscReal)grid->num_rows), grid->num_rows - 1);
    PetscCall(PetscRandomGetValueReal(random, &position));
    e->j[k] = PetscMin((PetscInt)(position * (PetscReal)grid->num_rows), grid->num_rows - 1);
    PetscCall(PetscRandomGetValue(random, e->v + k));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Milliseconds of each of n insertions, each assembled and done before the next one begins. */
static PetscErrorCode InsertOneByOne(Mat A, const Entries *e, PetscInt n, PetscReal *ms)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(BenchNow(&begin));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MatSetValues(A, 1, e->i + k, 1, e->j + k, e->v + k, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCallCUDA(cudaDeviceSynchronize());
  }
  PetscCall(BenchNow(&end));
  *ms = (PetscReal)(1e3 * (end - begin) / n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours warms up with the insertions that the competitor makes, too, and is compared after them. */
static PetscErrorCode OneByOneCase(Bench *b, const Grid *grid)
{
  static const char name[] = "one-by-one";
  InsertResult      r      = {name, "time-each", "ms", -1, -1, "aij", -1};
  Entries           entries;
  PetscReal         warm_up;
  Mat               A, copy, B;

  PetscFunctionBegin;
  PetscCall(EntriesCreate(grid, &entries));
  PetscCall(GridAssemble(grid, MATAIJ, PETSC_TRUE, &B));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(InsertOneByOne(B, &entries, ONE_BY_ONE_AIJ, &r.best));
  PetscCall(GridAssemble(grid, MATDCSRCUDA, PETSC_FALSE, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy));
  PetscCall(MatSetOption(copy, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(InsertOneByOne(copy, &entries, ONE_BY_ONE_AIJ, &warm_up));
  PetscCall(InsertBenchCompare(b, name, copy, B));
  PetscCall(MatDestroy(&copy));
  PetscCall(MatDestroy(&B));
  PetscCall(InsertOneByOne(A, &entries, ONE_BY_ONE, &r.ours));
  PetscCall(MatDestroy(&A));
  PetscCall(InsertBenchRecord(b, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchSetValues - setvalues-host and one-by-one */
PetscErrorCode InsertBenchSetValues(Bench *b)
{
  Grid      grid;
  PetscBool values, one_by_one;

  PetscFunctionBegin;
  PetscCall(BenchWants(b, "setvalues-host", &values));
  PetscCall(BenchWants(b, "one-by-one", &one_by_one));
  if (!values && !one_by_one) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GridCreate(InsertBenchSizes.grid_n, &grid));
  if (values) PetscCall(SetValuesCase(b, &grid));
  if (one_by_one) PetscCall(OneByOneCase(b, &grid));
  PetscCall(GridDestroy(&grid));
  PetscFunctionReturn(PETSC_SUCCESS);
}
