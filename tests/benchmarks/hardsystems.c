static char help
  [] = "The systems of the benchmark hard in small: the same on any number of processes, symmetric where they say so, with the near null space of their problem, and with values that come back.\n\n";

#include "hard/hardsystem.h"
#include "hard/hardelasticity.h"
#include "hard/hardelements.h"
#include "hard/hardvolumes.h"
#include <petscsparsecuda.h>

#define TOLERANCE (100 * PETSC_MACHINE_EPSILON)

/* Both vectors, of which b has all entries on each process, are the same. */
static PetscErrorCode Compare(const HardProblem *problem, Vec a, Vec b, const char what[])
{
  const PetscScalar *x, *y;
  PetscInt           begin, end;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(a, &begin, &end));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm));
  PetscCall(VecGetArrayRead(a, &x));
  PetscCall(VecGetArrayRead(b, &y));
  for (PetscInt k = begin; k < end; k++)
    PetscCheck(PetscAbsScalar(x[k - begin] - y[k]) <= TOLERANCE * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s differs in row %" PetscInt_FMT, problem->system->name, what, k);
  PetscCall(VecRestoreArrayRead(a, &x));
  PetscCall(VecRestoreArrayRead(b, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the row of a point belongs to no cell or element at the boundary with u = 0. */
static PetscBool IsInside(const HardProblem *problem, PetscInt point)
{
  const HardSystem *s    = problem->system;
  PetscBool         is   = PETSC_TRUE;
  PetscInt          rest = point;

  if (s->nu > 0) return (PetscBool)(point % problem->n[0] > 0);
  for (PetscInt d = 0; d < s->dim; d++) {
    const PetscInt m = s->degree > 0 ? problem->n[d] * s->degree - 1 : problem->n[d], p = rest % m, margin = PetscMax(s->degree, 1);

    is   = (PetscBool)(is && p >= margin && p < m - margin);
    rest = rest / m;
  }
  return is;
}

/* A times a vector of the near null space vanishes in rows inside: the rest is rounding, of sums of absolute values. */
static PetscErrorCode CheckNull(const HardProblem *problem, Mat A, Vec null)
{
  const PetscScalar *x;
  PetscInt           n, inside = 0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(VecGetArrayRead(null, &x));
  for (PetscInt row = 0; row < n; row++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           num;
    PetscScalar        sum   = 0;
    PetscReal          bound = 0;

    if (!IsInside(problem, row / problem->block_size)) continue;
    inside++;
    PetscCall(MatGetRow(A, row, &num, &columns, &values));
    for (PetscInt k = 0; k < num; k++) {
      sum += values[k] * x[columns[k]];
      bound += PetscAbsScalar(values[k] * x[columns[k]]);
    }
    PetscCall(MatRestoreRow(A, row, &num, &columns, &values));
    PetscCheck(PetscAbsScalar(sum) <= TOLERANCE * bound, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the near null space is wrong in row %" PetscInt_FMT ": %g of %g", problem->system->name, row,
               (double)PetscAbsScalar(sum), (double)bound);
  }
  PetscCall(VecRestoreArrayRead(null, &x));
  PetscCheck(inside > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is too small: no row is inside", problem->system->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNullSpace(const HardProblem *problem, Mat A)
{
  MatNullSpace near;
  const Vec   *vecs;
  Vec          ones;
  Mat          T;
  PetscInt     n = 0;

  PetscFunctionBegin;
  PetscCall(MatGetNearNullSpace(A, &near));
  if (near != NULL) PetscCall(MatNullSpaceGetVecs(near, NULL, &n, &vecs));
  PetscCheck(n == (problem->block_size > 1 ? 6 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the near null space has %" PetscInt_FMT " vectors", problem->system->name, n);
  for (PetscInt k = 0; k < n; k++) PetscCall(CheckNull(problem, A, vecs[k]));
  if (n > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &ones, NULL));
  PetscCall(VecSet(ones, 1));
  PetscCall(CheckNull(problem, A, ones));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T)); // what flows into a cell flows out
  PetscCall(CheckNull(problem, T, ones));
  PetscCall(MatDestroy(&T));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Symmetric and with a positive diagonal, or not symmetric at all. */
static PetscErrorCode CheckSymmetry(const HardProblem *problem, Mat A)
{
  Mat       T;
  Vec       diagonal;
  PetscReal norm, difference, least;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(T, -1, A, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(T, NORM_FROBENIUS, &difference));
  PetscCall(MatDestroy(&T));
  PetscCheck((PetscBool)(difference <= TOLERANCE * norm) == HardSystemIsSymmetric(problem->system), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: A and its transpose differ by %g of A", problem->system->name,
             (double)(difference / norm));
  PetscCall(MatCreateVecs(A, &diagonal, NULL));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecMin(diagonal, NULL, &least));
  PetscCheck(least > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a diagonal entry is %g", problem->system->name, (double)least);
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product of the parallel matrix with the values of a step is that of a matrix of one process. */
static PetscErrorCode CheckStep(const HardProblem *problem, const HardProblem *alone, Mat A, Mat B, PetscInt step, Vec y)
{
  Vec x, u, v;

  PetscFunctionBegin;
  PetscCall(MatSetValuesCOO(A, problem->v[step], INSERT_VALUES));
  PetscCall(MatSetValuesCOO(B, alone->v[step], INSERT_VALUES));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(HardProblemSetRandom(problem, x));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatCreateVecs(B, &u, &v));
  PetscCall(HardProblemSetRandom(alone, u));
  PetscCall(MatMult(B, u, v));
  PetscCall(Compare(problem, x, u, "the random vector"));
  PetscCall(Compare(problem, y, v, "the product"));
  PetscCall(CheckSymmetry(alone, B));
  PetscCall(CheckNullSpace(alone, B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSystem(const HardSystem *system, PetscInt unknowns, MatType type)
{
  HardProblem problem, alone;
  Mat         A, B;
  Vec         y[3];
  PetscReal   norm, changed;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(HardProblemCreate(PETSC_COMM_WORLD, system, unknowns, &problem));
  PetscCall(HardProblemCreate(PETSC_COMM_SELF, system, unknowns, &alone));
  PetscCall(HardProblemCreateMat(&problem, type, &A));
  PetscCall(HardProblemCreateMat(&alone, type, &B));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall(MatCreateVecs(A, NULL, &y[k]));
    PetscCall(CheckStep(&problem, &alone, A, B, k % 2, y[k]));
  }
  PetscCall(VecEqual(y[0], y[2], &same));
  PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the first values do not come back", system->name);
  PetscCall(VecAXPY(y[1], -1, y[0]));
  PetscCall(VecNorm(y[0], NORM_2, &norm));
  PetscCall(VecNorm(y[1], NORM_2, &changed));
  PetscCheck(changed > (PetscReal)1e-3 * norm && changed < (PetscReal)0.3 * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the next step changes the product by %g of it", system->name,
             (double)(changed / norm));
  for (PetscInt k = 0; k < 3; k++) PetscCall(VecDestroy(&y[k]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(HardProblemDestroy(&problem));
  PetscCall(HardProblemDestroy(&alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names begin with a family and are not used twice; the set that chooses nothing is not that of the benchmark. */
static PetscErrorCode CheckTable(PetscInt n, const HardSystem all[])
{
  PetscInt held = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const HardSystem *found;

    PetscCall(HardSystemFind(all[k].name, &found));
    PetscCheck(found == &all[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Two systems are called %s", all[k].name);
    held += all[k].held;
  }
  PetscCheck(n - held == 38 && held == 11, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " systems and %" PetscInt_FMT " that are held out", n - held, held);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HardSystem *all;
  PetscInt          n, unknowns = 700;
  char              type[64] = MATAIJ;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-unknowns", &unknowns, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(HardSystemGetAll(&n, &all));
  PetscCall(CheckTable(n, all));
  for (PetscInt k = 0; k < n; k++) PetscCall(CheckSystem(&all[k], unknowns, type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -malloc_dump
      output_file: output/empty.out
      test:
         suffix: host
         nsize: {{1 2}}
      test:
         suffix: device
         requires: cuda
         nsize: {{1 2}}
         args: -type dcsrcuda -use_gpu_aware_mpi 0

TEST*/
