/*
  The table of systems, their sizes, and matrices made of them; see hardsystem.h.
*/
#include "hardsystem.h"
#include "hardelasticity.h"
#include "hardelements.h"
#include "hardvolumes.h"

#define MIN_CELLS 3 // in each direction

#define CUBE(size)   .dim = 3, .n = {size, size, size}
#define SQUARE(size) .dim = 2, .n = {size, size, 1}

#define BOARD(block_, contrast_)      .fill = HardVolumesFill, .field = HARD_CHECKERBOARD, .block = block_, .contrast = contrast_
#define ISLANDS(fraction_, contrast_) .fill = HardVolumesFill, .field = HARD_ISLANDS, .block = 4, .fraction = fraction_, .contrast = contrast_
#define LOGNORMAL(sigma_, length_)    .fill = HardVolumesFill, .field = HARD_LOGNORMAL, .sigma = sigma_, .length = length_
#define WEIGHTS(x, y, z)              .fill = HardVolumesFill, .weight = {x, y, z}
#define ROTATED(turn, rise, epsilon_) .fill = HardElementsFill, .degree = 1, .angle = {turn, rise}, .epsilon = epsilon_
#define STRETCHED(ratio)              .fill = HardVolumesFill, .stretch = ratio
#define ELEMENTS(degree_)             .fill = HardElementsFill, .degree = degree_
#define ELASTICITY(nu_)               .fill = HardElasticityFill, .nu = nu_
#define E_JUMPS(contrast_)            .field = HARD_CHECKERBOARD, .block = 4, .contrast = contrast_
#define FLOW(flow_, peclet_)          .fill = HardVolumesFill, .flow = flow_, .peclet = peclet_
#define HELD                          .held = PETSC_TRUE

static const HardSystem systems[] = {
  {"checkerboard-8-1e2", CUBE(160), BOARD(8, 1e2)},
  {"checkerboard-8-1e4", CUBE(160), BOARD(8, 1e4)},
  {"checkerboard-8-1e6", CUBE(160), BOARD(8, 1e6)},
  {"checkerboard-4-1e4", CUBE(160), BOARD(4, 1e4)},
  {"checkerboard-32-1e4", CUBE(160), BOARD(32, 1e4)},
  {"checkerboard-8-1e4-small", CUBE(59), BOARD(8, 1e4)},
  {"checkerboard-8-1e4-large", CUBE(200), BOARD(8, 1e4)},
  {"checkerboard-6-1e3", CUBE(160), BOARD(6, 1e3), HELD},
  {"islands-30-1e4", CUBE(128), ISLANDS(0.3, 1e4)},
  {"islands-30-1e-4", CUBE(128), ISLANDS(0.3, 1e-4)},
  {"islands-2d-board-20-1e5", SQUARE(2048), BOARD(20, 1e5)},
  {"islands-50-1e4", CUBE(128), ISLANDS(0.5, 1e4), HELD},
  {"lognormal-1-length-1", CUBE(100), LOGNORMAL(1, 1)},
  {"lognormal-1-length-4", CUBE(160), LOGNORMAL(1, 4)},
  {"lognormal-3-length-1", CUBE(160), LOGNORMAL(3, 1)},
  {"lognormal-3-length-4", CUBE(160), LOGNORMAL(3, 4)},
  {"lognormal-2d-3-length-4", SQUARE(2048), LOGNORMAL(3, 4)},
  {"lognormal-2.5-length-4", CUBE(160), LOGNORMAL(2.5, 4), HELD},
  {"anisotropy-strong-100", CUBE(160), WEIGHTS(100, 1, 1)},
  {"anisotropy-weak-100", CUBE(160), WEIGHTS(100, 100, 1)},
  {"anisotropy-strong-1000", CUBE(160), WEIGHTS(1000, 1, 1)},
  {"anisotropy-2d-1000", SQUARE(2048), WEIGHTS(1000, 1, 1)},
  {"anisotropy-three", CUBE(160), WEIGHTS(100, 10, 1), HELD},
  {"rotated-30-0.1", SQUARE(2048), ROTATED(30, 0, 0.1)},
  {"rotated-30-0.01", SQUARE(2048), ROTATED(30, 0, 0.01)},
  {"rotated-30-0.001", SQUARE(2048), ROTATED(30, 0, 0.001)},
  {"rotated-3d-30-0.01", CUBE(100), ROTATED(30, 30, 0.01)},
  {"rotated-20-0.01", SQUARE(2048), ROTATED(20, 0, 0.01), HELD},
  {"rotated-60-0.01", SQUARE(2048), ROTATED(60, 0, 0.01), HELD},
  {"stretched-100", CUBE(160), STRETCHED(100)},
  {"stretched-1000", CUBE(160), STRETCHED(1000)},
  {"stretched-2d-1000", SQUARE(2048), STRETCHED(1000)},
  {"stretched-30", CUBE(160), STRETCHED(30), HELD},
  {"elements-q1-bricks-10", CUBE(128), ELEMENTS(1), .height = 0.1},
  {"elements-q2", CUBE(56), ELEMENTS(2)},
  {"elements-2d-q4", SQUARE(362), ELEMENTS(4)},
  {"elements-q1-bricks-4", CUBE(128), ELEMENTS(1), .height = 0.25, HELD},
  {"elements-2d-q3", SQUARE(482), ELEMENTS(3), HELD},
  {"elasticity-0.3-jumps-1e3", CUBE(68), ELASTICITY(0.3), E_JUMPS(1e3)},
  {"elasticity-0.45-jumps-1e3", CUBE(68), ELASTICITY(0.45), E_JUMPS(1e3)},
  {"elasticity-beam", .dim = 3, .n = {200, 25, 25}, ELASTICITY(0.3)},
  {"elasticity-plate", .dim = 3, .n = {128, 128, 4}, ELASTICITY(0.3)},
  {"elasticity-0.3-jumps-1e5", CUBE(68), ELASTICITY(0.3), E_JUMPS(1e5), HELD},
  {"convection-10", CUBE(160), FLOW(HARD_STRAIGHT, 10)},
  {"convection-100", CUBE(160), FLOW(HARD_STRAIGHT, 100)},
  {"convection-1e4", CUBE(160), FLOW(HARD_STRAIGHT, 1e4)},
  {"convection-2d-recirculating-100", SQUARE(1024), FLOW(HARD_RECIRCULATING, 100)},
  {"convection-recirculating-100", CUBE(100), FLOW(HARD_RECIRCULATING, 100)},
  {"convection-recirculating-50", CUBE(100), FLOW(HARD_RECIRCULATING, 50), HELD},
};

/* HardSystemGetAll - see hardsystem.h */
PetscErrorCode HardSystemGetAll(PetscInt *n, const HardSystem **all)
{
  PetscFunctionBegin;
  *n   = PETSC_STATIC_ARRAY_LENGTH(systems);
  *all = systems;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardSystemFind - see hardsystem.h */
PetscErrorCode HardSystemFind(const char name[], const HardSystem **system)
{
  PetscBool found = PETSC_FALSE;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(systems) && !found; k++) {
    PetscCall(PetscStrcmp(systems[k].name, name, &found));
    *system = &systems[k];
  }
  PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "There is no system %s: -list names all", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardSystemIsSymmetric - see hardsystem.h */
PetscBool HardSystemIsSymmetric(const HardSystem *system)
{
  return (PetscBool)(system->flow == HARD_NO_FLOW);
}

static PetscInt BlockSize(const HardSystem *s)
{
  return s->nu > 0 ? 3 : 1;
}

/* Points of n cells or elements in each direction; inside alone for scalar elements, all but those of the clamped side for elasticity. */
static PetscInt NumPoints(const HardSystem *s, const PetscInt n[3])
{
  if (s->nu > 0) return n[0] * (n[1] + 1) * (n[2] + 1);
  if (s->degree > 0) return (n[0] * s->degree - 1) * (n[1] * s->degree - 1) * (s->dim == 3 ? n[2] * s->degree - 1 : 1);
  return n[0] * n[1] * n[2];
}

/* Entries of a row at most. */
static PetscInt MostEntries(const HardSystem *s)
{
  if (s->nu > 0) return HARD_ELASTICITY_ENTRIES;
  if (s->degree == 0) return HARD_VOLUMES_ENTRIES;
  return (PetscInt)PetscPowInt(2 * s->degree + 1, s->dim);
}

/* Cells in each direction for about so many unknowns; full size at most. */
static void ChooseSize(const HardSystem *s, PetscInt unknowns, PetscInt n[3])
{
  const double full = (double)BlockSize(s) * (double)NumPoints(s, s->n), scale = unknowns > 0 ? pow((double)unknowns / full, 1.0 / (double)s->dim) : 1;

  for (PetscInt d = 0; d < 3; d++) n[d] = d < s->dim ? PetscMax((PetscInt)(scale * (double)s->n[d] + 0.5), PetscMin(MIN_CELLS, s->n[d])) : 1;
}

/* HardProblemCreate - see hardsystem.h */
PetscErrorCode HardProblemCreate(MPI_Comm comm, const HardSystem *system, PetscInt unknowns, HardProblem *problem)
{
  PetscInt   num_local = PETSC_DECIDE;
  PetscCount most;
  HardList   list;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(problem, sizeof(*problem)));
  problem->comm   = comm;
  problem->system = system;
  ChooseSize(system, unknowns, problem->n);
  problem->block_size = BlockSize(system);
  problem->num_points = NumPoints(system, problem->n);
  PetscCall(PetscSplitOwnership(comm, &num_local, &problem->num_points));
  PetscCallMPI(MPI_Scan(&num_local, &problem->end, 1, MPIU_INT, MPI_SUM, comm));
  problem->begin = problem->end - num_local;
  most           = (PetscCount)num_local * problem->block_size * MostEntries(system);
  PetscCall(PetscMalloc4(most, &problem->i, most, &problem->j, most, &problem->v[0], most, &problem->v[1]));
  for (PetscInt step = 1; step >= 0; step--) {
    list = (HardList){0, step == 0 ? problem->i : NULL, step == 0 ? problem->j : NULL, problem->v[step]};
    PetscCall((*system->fill)(system, problem->n, problem->begin, problem->end, step, &list));
  }
  problem->num_entries = list.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardProblemDestroy - see hardsystem.h */
PetscErrorCode HardProblemDestroy(HardProblem *problem)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(problem->i, problem->j, problem->v[0], problem->v[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rigid bodies. */
static PetscErrorCode SetNearNullSpace(const HardProblem *problem, Mat A)
{
  Vec          coordinates;
  PetscScalar *array;
  PetscReal   *x;
  PetscInt     n = 3 * (problem->end - problem->begin);
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &coordinates, NULL));
  PetscCall(VecSetBlockSize(coordinates, 3));
  PetscCall(PetscMalloc1(n, &x));
  PetscCall(HardElasticityCoordinates(problem, x));
  PetscCall(VecGetArrayWrite(coordinates, &array));
  for (PetscInt k = 0; k < n; k++) array[k] = x[k];
  PetscCall(VecRestoreArrayWrite(coordinates, &array));
  PetscCall(PetscFree(x));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &null));
  PetscCall(MatSetNearNullSpace(A, null));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscCall(VecDestroy(&coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardProblemCreateMat - see hardsystem.h */
PetscErrorCode HardProblemCreateMat(const HardProblem *problem, MatType type, Mat *A)
{
  const PetscInt bs = problem->block_size, n = bs * (problem->end - problem->begin), N = bs * problem->num_points;
  PetscInt      *i, *j; // the lists may be changed by what reads them

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(problem->num_entries, &i, problem->num_entries, &j));
  PetscCall(PetscArraycpy(i, problem->i, problem->num_entries));
  PetscCall(PetscArraycpy(j, problem->j, problem->num_entries));
  PetscCall(MatCreate(problem->comm, A));
  PetscCall(MatSetSizes(*A, n, n, N, N));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, problem->num_entries, i, j));
  PetscCall(MatSetValuesCOO(*A, problem->v[0], INSERT_VALUES));
  PetscCall(PetscFree2(i, j));
  if (HardSystemIsSymmetric(problem->system)) {
    PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
    PetscCall(MatSetOption(*A, MAT_SPD_ETERNAL, PETSC_TRUE));
  }
  if (bs > 1) PetscCall(SetNearNullSpace(problem, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardProblemSetRandom - see hardsystem.h */
PetscErrorCode HardProblemSetRandom(const HardProblem *problem, Vec x)
{
  const PetscInt first = problem->block_size * problem->begin, n = problem->block_size * (problem->end - problem->begin);
  PetscScalar   *array;

  PetscFunctionBegin;
  PetscCall(VecGetArrayWrite(x, &array));
  for (PetscInt k = 0; k < n; k++) array[k] = (PetscScalar)(2 * HardHash(first + k, 5) - 1);
  PetscCall(VecRestoreArrayWrite(x, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}
