/*
  What a solve with PCGAMG will need on a device, from the numbers of a matrix alone. The setup of the finest level holds most, while it multiplies A P, or P^T (A P); later the cycle's vectors take less
  than A P did, or little more.
*/
#include "gamg.h"
#include <petscsparsecuda.h>

#define ENTRY_BYTES       (sizeof(PetscScalar) + sizeof(int32_t)) /* of a matrix: value and column */
#define ORDER_BYTES       sizeof(int32_t)                         /* of an entry of P^T: where its value comes from */
#define MAX_WARPS         8448                                    /* of a product of sparse matrices on an H200 (SpGEMMGetMaxWarps()) */
#define LARGEST_BLOCK     6                                       /* of products by blocks */
#define NUM_SETUP_VECTORS 2                                       /* of the user, before there are others */
#define NUM_SOLVE_VECTORS 12                                      /* with those of KSPCG and of the finest level's smoother */

/*
  How smoothed aggregation with aggressive coarsening of the finest level turns out, for points with n neighbors, themselves included: factor * n^exponent. By counting: regular grids of 5 to 57 neighbors,
  triangles, tetrahedra, Q1 elements, 36,000 to 216,000 unknowns. Those had up to 10 % fewer entries, elasticity in three dimensions 15 %: at boundaries aggregates have fewer neighbors.
*/
typedef struct {
  PetscReal prolongator[2]; /* entries of a row of P for each vector of the near null space */
  PetscReal product[2];     /* the same of A P */
  PetscReal points;         /* points of an aggregate, times n */
  PetscReal neighbors;      /* of an aggregate */
} Coarsening;

static const Coarsening coarsenings[] = {
  {{1.98, 0.11}, {3.4, 0.145}, 1.5, 16}, /* in two dimensions */
  {{2.55, 0.17}, {5.4, 0.20}, 1.7, 43}   /* in three */
};

static PetscReal Power(const PetscReal law[2], PetscReal n)
{
  return law[0] * PetscPowReal(n, law[1]);
}

/* Bytes of the workspace of a product, in kernels/spgemm/spgemm.c: room for the columns that are found, by a sample when there are many rows, and what warps leave unused. */
static PetscReal Workspace(PetscReal rows, PetscReal entries_left, PetscReal entries, PetscReal max_warps)
{
  return sizeof(int32_t) * ((rows > 50000 ? 1.08 * entries : PetscMax(2 * entries_left, 6291456)) + 1024 * PetscMin(rows, max_warps));
}

/* What is multiplied, in rows and entries; of blocks where the products go by these. */
typedef struct {
  PetscReal rows, coarse_rows;
  PetscReal matrix, prolongator, product, coarse; /* entries */
} Counts;

/* Bytes that a setup holds at most beside the matrix and the interpolation, entry by entry. */
static PetscReal PredictEntries(const Counts *e, PetscReal max_warps, PetscReal *workspace)
{
  const PetscReal first_workspace = Workspace(e->rows, e->matrix, e->product, max_warps), second_workspace = Workspace(e->coarse_rows, e->prolongator, e->coarse, max_warps);
  const PetscReal first  = sizeof(int32_t) * e->product + first_workspace; // values come when its workspace is gone
  const PetscReal second = ENTRY_BYTES * (e->product + e->coarse) + second_workspace;

  *workspace = first > second ? first_workspace : second_workspace;
  return PetscMax(first, second);
}

/* The same by blocks: lists of all factors, a byte for a product of two blocks, and A P without a structure of its own. */
static PetscReal PredictBlocks(const Counts *e, const Counts *b, PetscReal max_warps, PetscReal *workspace)
{
  const PetscReal first_workspace = Workspace(b->rows, b->matrix, b->product, max_warps), second_workspace = Workspace(b->coarse_rows, b->prolongator, b->coarse, max_warps);
  const PetscReal lists = sizeof(int32_t) * (b->matrix + b->prolongator + b->product), terms = b->matrix * b->prolongator / b->rows, coarse_terms = b->prolongator * b->product / b->rows;
  const PetscReal first  = lists + first_workspace;
  const PetscReal held   = sizeof(PetscScalar) * e->product + lists + terms + sizeof(int32_t) * b->prolongator;
  const PetscReal second = held + PetscMax(second_workspace, ENTRY_BYTES * e->coarse + coarse_terms);

  *workspace = first > second ? first_workspace : second_workspace;
  return PetscMax(first, second);
}

/* Bytes of the most that is held, with the matrix and the workspace. dim: 2 or 3; vectors: bytes of an entry of a vector, 0: vectors do not count */
static PetscReal Predict(PetscReal rows, PetscReal nonzeros, PetscReal bs, PetscInt dim, PetscReal vectors, PetscReal max_warps, PetscReal *workspace)
{
  const Coarsening *c = &coarsenings[dim - 2];
  const PetscReal   n = nonzeros / (rows * bs), modes = bs == 1 ? 1 : bs == dim ? 3 * (dim - 1) : bs; // rigid body modes, or a constant for each unknown
  const PetscReal   offset = nonzeros > PETSC_INT32_MAX ? sizeof(int64_t) : sizeof(int32_t), coarse_points = rows / bs / PetscMax(c->points * n, 1);
  const Counts      b      = {rows / bs, coarse_points, nonzeros / (bs * bs), Power(c->prolongator, n) * rows / bs, Power(c->product, n) * rows / bs, coarse_points * c->neighbors};
  const Counts      e      = {rows, b.coarse_rows * modes, nonzeros, b.prolongator * bs * modes, b.product * bs * modes, b.coarse * modes * modes};
  const PetscReal   matrix = ENTRY_BYTES * nonzeros + offset * rows, interpolation = (2 * ENTRY_BYTES + ORDER_BYTES) * e.prolongator + offset * rows, solve = NUM_SOLVE_VECTORS * vectors * rows;
  const PetscReal   setup = bs > 1 && bs <= LARGEST_BLOCK ? PredictBlocks(&e, &b, max_warps, workspace) : PredictEntries(&e, max_warps, workspace);

  return matrix + interpolation + PetscMax(offset * rows + setup + NUM_SETUP_VECTORS * vectors * rows, ENTRY_BYTES * e.coarse + solve);
}

/* PCGAMGCUDAPredictMemory() for a device with so many warps in products, with or without PETSc's vectors. workspace: what of it is a workspace, which does not grow with small matrices */
PetscErrorCode GAMGPredictMemory(PetscInt rows, PetscCount nonzeros, PetscInt bs, PetscInt dim, PetscBool vectors, PetscCount max_warps, PetscLogDouble *bytes, PetscLogDouble *workspace)
{
  const PetscInt first = dim > 0 ? dim : 2, last = dim > 0 ? dim : 3;
  PetscReal      sum = 0, sum_workspace = 0, part;

  PetscFunctionBegin;
  PetscCheck(rows >= 0 && nonzeros >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "A matrix with %" PetscInt_FMT " rows and %" PetscCount_FMT " nonzeros", rows, nonzeros);
  PetscCheck(bs > 0 && rows % bs == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "%" PetscInt_FMT " rows are no multiple of the block size %" PetscInt_FMT, rows, bs);
  PetscCheck(dim == 0 || dim == 2 || dim == 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "The dimension is 2 or 3, or 0 when it is not known, and not %" PetscInt_FMT, dim);
  for (PetscInt d = first; d <= last && rows > 0; d++) {
    sum += Predict((PetscReal)rows, (PetscReal)nonzeros, (PetscReal)bs, d, vectors ? sizeof(PetscScalar) : 0, (PetscReal)max_warps, &part);
    sum_workspace += part;
  }
  *bytes     = (PetscLogDouble)(sum / (last - first + 1));
  *workspace = (PetscLogDouble)(sum_workspace / (last - first + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCGAMGCUDAPredictMemory - Tells how much device memory `PCGAMG` will need for a matrix, before there is one

  Not Collective

  Input Parameters:
+ rows     - of the matrix on this process
. nonzeros - of these rows
. bs       - block size; 2 in two and 3 in three dimensions are taken for elasticity with its rigid body modes
- dim      - dimension of the problem, 2 or 3; 0: unknown, the mean of both

  Output Parameter:
. bytes - the most that is in use from the assembled matrix to the end of the solve

  Options Database Key:
. -pc_gamg_predict_memory <rows,nonzeros[,bs[,dim]]> - prints it in `PetscSparseCUDAInitialize()`

  Level: intermediate

  Notes:
  It counts matrix, hierarchy and vectors on one process with a type of this library, `KSPCG`, PETSc's defaults and `-pc_gamg_level_values double`, within 15 percent for stencils and Q1
  elements. Rounded values need more. Without aggressive coarsening, or with thresholds, more is needed. CUDA takes 0.5 to 0.8 GB beside it. Assembly may need more for a while.

  Errors: `PETSC_ERR_ARG_OUTOFRANGE`, `PETSC_ERR_ARG_INCOMP` for numbers that no matrix has.

.seealso: `MatDCSRCUDAGetMemoryUsed()`, `PCGAMG`
@*/
PetscErrorCode PCGAMGCUDAPredictMemory(PetscInt rows, PetscCount nonzeros, PetscInt bs, PetscInt dim, PetscLogDouble *bytes)
{
  PetscLogDouble workspace;

  PetscFunctionBegin;
  PetscAssertPointer(bytes, 5);
  PetscCall(GAMGPredictMemory(rows, nonzeros, bs, dim, PETSC_TRUE, MAX_WARPS, bytes, &workspace));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMGPredictFromOptions_AIJCUDA - -pc_gamg_predict_memory, whose numbers may be more than a PetscInt or a float holds. Collective on PETSC_COMM_WORLD */
PetscErrorCode PCGAMGPredictFromOptions_AIJCUDA(void)
{
  const double   most[4]    = {PetscMin((double)PETSC_INT_MAX, 1e18), 1e18, 1000, 3};
  double         numbers[4] = {0, 0, 1, 0};
  char           text[256], *at = text;
  PetscInt       count = 0;
  PetscBool      wanted;
  PetscLogDouble bytes;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_gamg_predict_memory", text, sizeof(text), &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscBool more = PETSC_TRUE; more && count < 4; count++) {
    char *end;

    numbers[count] = strtod(at, &end);
    if (end == at || !(numbers[count] >= 0 && numbers[count] <= most[count])) break;
    more = (PetscBool)(*end == ',');
    at   = end + (more ? 1 : 0);
  }
  PetscCheck(count >= 2 && *at == '\0', PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-pc_gamg_predict_memory %s: it wants rows,nonzeros[,block size[,dimension]], rows up to %g", text, most[0]);
  PetscCall(PCGAMGCUDAPredictMemory((PetscInt)numbers[0], (PetscCount)numbers[1], (PetscInt)numbers[2], (PetscInt)numbers[3], &bytes));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PCGAMG and a matrix of %g rows and %g nonzeros take about %.2f GB of device memory, beside CUDA itself and what the assembly needs\n", numbers[0],
                        numbers[1], bytes * 1e-9));
  PetscFunctionReturn(PETSC_SUCCESS);
}
