#include "hostcopy.h"
#include "problem.h"

const char *const Problems[]  = {"5point", "7point", "27point", "anisotropic", "elasticity", "unsymmetric", "random", "Problem", "", NULL};
const char *const NearNulls[] = {"none", "host", "device", "coordinates", "memory", "NearNull", "", NULL};

/* Numbers in a view are printed with six digits; estimates of eigenvalues depend on the rounding errors of aggregates whose near null space is degenerate. */
#define MOST_ZEROS           2                                             // entries a row of a prolongator that are zero but for rounding: the filter removes those that are zero
#define VIEW_TOLERANCE       (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-4) /* of numbers in a view, relative */
#define NEAR_TOLERANCE       (PetscDefined(USE_REAL_SINGLE) ? 0.9 : 0.99)  /* of the norm that ends a solve: rounding decides about one more iteration */
#define SOLUTION_TOLERANCE   100                                           /* times that of the solver, which is for the preconditioned residual */
#define SINGLE_ESTIMATE      "4" /* iterations of an estimate with a random graph in single precision: CG has converged to rounding errors after six, and ten make of these 2.7 or 3.5 for 1.17 */
#define EIGENVALUE_TOLERANCE 0.2 /* of estimates where the tentative prolongator has columns whose sign rounding decides: ten iterations from another noise; 0.10 was seen */

/* Lengths of PCGAMG's estimates, and of those that KSPCHEBYSHEV makes itself where a prolongator is reused or nothing is smoothed. */
static const char *const EstimateLengths[] = {"-pc_gamg_esteig_ksp_max_it", "-mg_levels_esteig_ksp_max_it"};

/* The list of -problem; n of problems[NUM_PROBLEMS]. */
static PetscErrorCode ProblemsFromOptions(PetscInt *n, Problem problems[])
{
  PetscBool set;

  PetscFunctionBegin;
  *n          = NUM_PROBLEMS;
  problems[0] = PROBLEM_7POINT;
  PetscCall(PetscOptionsGetEnumArray(NULL, NULL, "-problem", Problems, (PetscEnum *)problems, n, &set));
  if (!set) *n = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Estimates with a random graph end early in single precision, unless an option says how long they are. Four iterations are too few for elasticity: from another noise they differed by 0.21. */
static PetscErrorCode ProblemLimitEstimates(const ProblemOptions *o)
{
  static PetscBool limited[PETSC_STATIC_ARRAY_LENGTH(EstimateLengths)]; /* by the problem before */

  PetscFunctionBegin;
  if (!PetscDefined(USE_REAL_SINGLE)) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(EstimateLengths); k++) {
    PetscBool given;

    if (limited[k]) PetscCall(PetscOptionsClearValue(NULL, EstimateLengths[k]));
    PetscCall(PetscOptionsHasName(NULL, NULL, EstimateLengths[k], &given));
    limited[k] = (PetscBool)(o->problem == PROBLEM_RANDOM && !given);
    if (!limited[k]) continue;
    PetscCall(PetscOptionsSetValue(NULL, EstimateLengths[k], SINGLE_ESTIMATE));
    PetscCall(PetscOptionsHasName(NULL, NULL, EstimateLengths[k], &given)); // not every solver reads it
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -near_null, whose default depends on the problem, and the length of estimates. */
static PetscErrorCode ProblemSetDefaults(ProblemOptions *o)
{
  PetscFunctionBegin;
  PetscCall(ProblemLimitEstimates(o));
  o->near_null = o->problem == PROBLEM_ELASTICITY ? NEAR_NULL_HOST : NEAR_NULL_NONE;
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-near_null", NearNulls, (PetscEnum *)&o->near_null, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProblemFromOptions - -problem (the first of a list), -near_null, -n and so on. */
PetscErrorCode ProblemFromOptions(ProblemOptions *o)
{
  PetscInt num_problems;
  Problem  problems[NUM_PROBLEMS];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_no_inode", NULL)); // equal rows, which ours does not look for, change the ordering of a factorization
  o->n        = 9;
  o->seed     = 1;
  o->degree   = 4;
  o->isolated = 0.05;
  o->local    = PETSC_TRUE;
  PetscCall(ProblemsFromOptions(&num_problems, problems));
  o->problem = problems[0];
  PetscCall(ProblemSetDefaults(o));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &o->n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &o->seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &o->degree, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-hubs", &o->hubs, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-isolated", &o->isolated, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-bare", &o->bare, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-local", &o->local, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-every_other", &o->every_other, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-mpi", &o->mpi, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProblemsTest - Runs a test for each problem of the list. */
PetscErrorCode ProblemsTest(PetscErrorCode (*test)(const ProblemOptions *, const void *), const void *context)
{
  PetscInt       n;
  Problem        problems[NUM_PROBLEMS];
  ProblemOptions options;

  PetscFunctionBegin;
  PetscCall(ProblemFromOptions(&options));
  PetscCall(ProblemsFromOptions(&n, problems));
  for (PetscInt k = 0; k < n; k++) {
    options.problem = problems[k];
    PetscCall(ProblemSetDefaults(&options));
    PetscCall((*test)(&options, context));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of the grid in the direction of d. */
static PetscInt Extent(const ProblemOptions *o, int d)
{
  if (o->problem == PROBLEM_5POINT) return d < 2 ? 3 * o->n : 1;
  return o->n;
}

static PetscInt NumPoints(const ProblemOptions *o)
{
  return Extent(o, 0) * Extent(o, 1) * Extent(o, 2);
}

static PetscReal Coordinate(const ProblemOptions *o, PetscInt point, int d)
{
  const PetscInt stride = d == 0 ? 1 : d == 1 ? Extent(o, 0) : Extent(o, 0) * Extent(o, 1);

  return (PetscReal)(point / stride % Extent(o, d)) / (PetscReal)o->n;
}

/* The neighbor of a point by a step; -1: none. */
static PetscInt Neighbor(const ProblemOptions *o, PetscInt point, const PetscInt step[3])
{
  PetscInt stride = 1, neighbor = 0;

  for (int d = 0; d < 3; d++) {
    const PetscInt x = point / stride % Extent(o, d) + step[d];

    if (x < 0 || x >= Extent(o, d)) return -1;
    neighbor += x * stride;
    stride *= Extent(o, d);
  }
  return neighbor;
}

/* Coupling of two points, step apart; 0: none. Jumps of the coefficients make thresholds matter. */
static PetscReal Coupling(const ProblemOptions *o, PetscInt point, PetscInt neighbor, const PetscInt step[3])
{
  static const PetscReal anisotropy[] = {1, 0.1, 0.01};
  const PetscInt         length       = PetscAbsInt(step[0]) + PetscAbsInt(step[1]) + PetscAbsInt(step[2]);
  const PetscReal        jump         = 1 + 9 * (PetscReal)((point < NumPoints(o) / 3) != (neighbor < NumPoints(o) / 3) ? 0 : point < NumPoints(o) / 3);

  if (length == 0 || (length > 1 && o->problem != PROBLEM_27POINT)) return 0;
  if (o->problem == PROBLEM_ANISOTROPIC) return anisotropy[step[0] ? 0 : step[1] ? 1 : 2];
  if (o->problem == PROBLEM_UNSYMMETRIC && (point + 2 * neighbor) % 7 == 0) return 0;
  if (o->problem == PROBLEM_UNSYMMETRIC) return step[0] > 0 ? 1.5 : 1;
  return jump / (PetscReal)length;
}

static PetscErrorCode EnterScalar(const ProblemOptions *o, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt p = begin; p < end; p++) {
    PetscInt    columns[27], n = 1;
    PetscScalar values[27];

    columns[0] = p;
    values[0]  = 0.01;
    for (PetscInt m = 0; m < 27; m++) {
      const PetscInt  step[3]  = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
      const PetscInt  neighbor = Neighbor(o, p, step);
      const PetscReal c        = neighbor < 0 ? 0 : Coupling(o, p, neighbor, step);

      if (c == 0) continue;
      columns[n]  = neighbor;
      values[n++] = -c;
      values[0] += c;
    }
    PetscCall(MatSetValues(A, 1, &p, n, columns, values, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Springs to the 26 neighbors; points at the left side are held. */
static PetscErrorCode EnterElasticity(const ProblemOptions *o, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt p = begin / 3; p < end / 3; p++) {
    PetscScalar diagonal[9];

    for (int c = 0; c < 9; c++) diagonal[c] = Coordinate(o, p, 0) == 0 && c % 4 == 0 ? 1 : 0;
    for (PetscInt m = 0; m < 27; m++) {
      const PetscInt  step[3]  = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
      const PetscInt  neighbor = Neighbor(o, p, step);
      const PetscReal r2       = (PetscReal)(PetscSqr(step[0]) + PetscSqr(step[1]) + PetscSqr(step[2]));
      PetscScalar     block[9];

      if (neighbor < 0 || neighbor == p) continue;
      for (int c = 0; c < 9; c++) {
        const PetscScalar spring = (step[c / 3] * step[c % 3] + (c % 4 == 0 ? 0.1 : 0)) / (r2 * r2);

        block[c] = -spring;
        diagonal[c] += spring;
      }
      PetscCall(MatSetValuesBlocked(A, 1, &p, 1, &neighbor, block, INSERT_VALUES));
    }
    PetscCall(MatSetValuesBlocked(A, 1, &p, 1, &p, diagonal, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry of a random graph, where this process has its row. */
static PetscErrorCode Enter(Mat A, PetscInt row, PetscInt column, PetscReal value)
{
  const PetscScalar v = value;
  PetscInt          begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (row >= begin && row < end) PetscCall(MatSetValue(A, row, column, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every process draws the whole graph. Pairs of isolated vertices and others have no edge. */
static PetscErrorCode EnterRandom(const ProblemOptions *o, Mat A)
{
  const PetscInt N = NumPoints(o);
  PetscRandom    random;
  PetscReal      u;
  PetscBool     *isolated;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, (unsigned long)o->seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(PetscMalloc1(N, &isolated));
  for (PetscInt i = 0; i < N; i++) {
    PetscCall(PetscRandomGetValueReal(random, &u));
    isolated[i] = (PetscBool)(u < o->isolated && i >= o->hubs);
  }
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt degree = i < o->hubs ? N / 10 : o->degree;

    PetscCall(PetscRandomGetValueReal(random, &u));
    if (u >= o->bare || isolated[i]) PetscCall(Enter(A, i, i, isolated[i] ? 1 : 4 * degree));
    for (PetscInt k = 0; k < degree; k++) {
      PetscInt j;

      PetscCall(PetscRandomGetValueReal(random, &u));
      j = (o->local && i >= o->hubs ? i + (PetscInt)((u - 0.5) * 60) + N : (PetscInt)(u * N)) % N;
      PetscCall(PetscRandomGetValueReal(random, &u));
      if (i == j || isolated[i] || isolated[j]) continue;
      PetscCall(Enter(A, i, j, -u));
      PetscCall(Enter(A, j, i, -u));
      if (u <= 1 - o->bare) PetscCall(Enter(A, j, j, u));
    }
  }
  PetscCall(PetscFree(isolated));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of this process. */
static PetscErrorCode LocalPoints(const ProblemOptions *o, PetscInt *n)
{
  const PetscInt N = NumPoints(o);
  PetscMPIInt    rank, size, parts, part;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  parts = o->every_other ? (size + 1) / 2 : size;
  part  = o->every_other ? rank / 2 : rank;
  *n    = o->every_other && rank % 2 ? 0 : N / parts + (part < N % parts ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coordinates of the points of this process, interleaved; to be freed. */
static PetscErrorCode GetCoordinates(const ProblemOptions *o, Mat A, PetscInt *n, PetscReal **coordinates)
{
  PetscInt begin, end, bs;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  *n = (end - begin) / bs;
  PetscCall(PetscMalloc1(3 * *n, coordinates));
  for (PetscInt p = 0; p < *n; p++)
    for (int d = 0; d < 3; d++) (*coordinates)[3 * p + d] = Coordinate(o, begin / bs + p, d);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector with the layout of A, of its type or an ordinary one. */
static PetscErrorCode CreateVector(const ProblemOptions *o, Mat A, Vec *v)
{
  PetscInt n, bs;

  PetscFunctionBegin;
  if (o->near_null == NEAR_NULL_DEVICE) {
    PetscCall(MatCreateVecs(A, v, NULL));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(VecCreate(PETSC_COMM_WORLD, v));
  PetscCall(VecSetSizes(*v, n, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(*v, bs));
  PetscCall(VecSetType(*v, VECSTANDARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same null space in arrays of the program. */
static PetscErrorCode MoveToMemory(MatNullSpace *space)
{
  MatNullSpace moved;
  PetscBool    has_constant;
  PetscInt     n, m, bs;
  const Vec   *vectors;
  Vec          w[6];

  PetscFunctionBegin;
  PetscCall(MatNullSpaceGetVecs(*space, &has_constant, &n, &vectors));
  for (PetscInt k = 0; k < n; k++) {
    PetscScalar       *array;
    const PetscScalar *x;

    PetscCall(VecGetLocalSize(vectors[k], &m));
    PetscCall(VecGetBlockSize(vectors[k], &bs));
    PetscCall(PetscMalloc1(m + 1, &array));
    PetscCall(VecGetArrayRead(vectors[k], &x));
    PetscCall(PetscArraycpy(array, x, m));
    PetscCall(VecRestoreArrayRead(vectors[k], &x));
    PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, bs, m, PETSC_DETERMINE, array, &w[k]));
    PetscCall(PetscObjectContainerCompose((PetscObject)w[k], "memory", array, PetscCtxDestroyDefault));
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, has_constant, n, w, &moved));
  for (PetscInt k = 0; k < n; k++) PetscCall(VecDestroy(&w[k]));
  PetscCall(MatNullSpaceDestroy(space));
  *space = moved;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Six rigid body modes; with single unknowns the constants and a linear function. */
static PetscErrorCode SetNearNull(const ProblemOptions *o, Mat A)
{
  PetscInt     n, bs, N;
  PetscReal   *coordinates;
  PetscScalar *x, mean;
  Vec          v;
  MatNullSpace space;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(GetCoordinates(o, A, &n, &coordinates));
  PetscCall(CreateVector(o, A, &v));
  PetscCall(VecGetArrayWrite(v, &x));
  for (PetscInt i = 0; i < n * bs; i++) x[i] = coordinates[bs == 3 ? i : 3 * i];
  PetscCall(VecRestoreArrayWrite(v, &x));
  if (bs == 3) PetscCall(MatNullSpaceCreateRigidBody(v, &space));
  else {
    PetscCall(VecSum(v, &mean));
    PetscCall(VecGetSize(v, &N));
    PetscCall(VecShift(v, -mean / (PetscReal)N));
    PetscCall(VecNormalize(v, NULL));
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 1, &v, &space));
  }
  if (o->near_null == NEAR_NULL_MEMORY) PetscCall(MoveToMemory(&space));
  PetscCall(MatSetNearNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&v));
  PetscCall(PetscFree(coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProblemCreate - The matrix of a problem, of any type. */
PetscErrorCode ProblemCreate(const ProblemOptions *o, const char type[], Mat *A)
{
  const PetscInt bs = o->problem == PROBLEM_ELASTICITY ? 3 : 1;
  char           name[64];
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(LocalPoints(o, &n));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", o->mpi ? "mpi" : "", type));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n * bs, n * bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, name));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  if (o->problem == PROBLEM_ELASTICITY) PetscCall(EnterElasticity(o, *A));
  else if (o->problem == PROBLEM_RANDOM) PetscCall(EnterRandom(o, *A));
  else PetscCall(EnterScalar(o, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (o->problem < PROBLEM_UNSYMMETRIC && o->problem != PROBLEM_7POINT) PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE)); // of one nothing is known
  if (o->near_null == NEAR_NULL_HOST || o->near_null == NEAR_NULL_DEVICE || o->near_null == NEAR_NULL_MEMORY) PetscCall(SetNearNull(o, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProblemCreateKSP - A solver with PCGAMG and the options; GMRES unless the matrix is known to be symmetric. */
PetscErrorCode ProblemCreateKSP(const ProblemOptions *o, Mat A, KSP *ksp)
{
  PC         pc;
  PetscBool  known, spd;
  PetscInt   n;
  PetscReal *coordinates;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(MatIsSPDKnown(A, &known, &spd));
  PetscCall(KSPSetType(*ksp, known && spd ? KSPCG : KSPGMRES));
  PetscCall(KSPSetTolerances(*ksp, PetscMax(1e-8, 1e3 * PETSC_MACHINE_EPSILON), PETSC_CURRENT, PETSC_CURRENT, 60));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCGAMGCUDASetLevelValues(pc, "double")); // iterations, views and memory are compared
  PetscCall(KSPSetFromOptions(*ksp));
  if (o->near_null != NEAR_NULL_COORDINATES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetCoordinates(o, A, &n, &coordinates));
  PetscCall(PCSetCoordinates(pc, 3, n, coordinates));
  PetscCall(PetscFree(coordinates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ProblemCountSupported - How many levels were set up on the device so far: how often our coarsening ran, which the default log handler knows. The most of all processes: levels on the first one are
  coarsened by it alone. Collective.
*/
PetscErrorCode ProblemCountSupported(PetscInt *count)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("GAMGDevIndSet", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *count = info.count;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, count, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProblemSolve - Solves with a right-hand side that is not smooth, and keeps what KSPView() prints. */
PetscErrorCode ProblemSolve(Mat A, KSP ksp, Solution *s)
{
  Vec          x, b;
  PetscScalar *array;
  PetscInt     begin, end;
  PetscReal    history[64], rtol;
  PetscMPIInt  rank;
  PetscViewer  viewer;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetOwnershipRange(b, &begin, &end));
  PetscCall(VecGetArrayWrite(b, &array));
  for (PetscInt i = begin; i < end; i++) array[i - begin] = 1 + 0.5 * PetscSinReal((PetscReal)(i % 1013));
  PetscCall(VecRestoreArrayWrite(b, &array));
  PetscCall(KSPSetResidualHistory(ksp, history, PETSC_STATIC_ARRAY_LENGTH(history), PETSC_TRUE));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &s->its));
  PetscCall(KSPGetResidualNorm(ksp, &s->rnorm));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  s->rtol      = rtol;
  s->rtol_norm = rtol * history[0];
  PetscCall(KSPSetResidualHistory(ksp, NULL, 0, PETSC_FALSE));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  s->view = rank == 0 ? tmpfile() : NULL;
  PetscCheck(rank > 0 || s->view != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, s->view, &viewer));
  PetscCall(KSPView(ksp, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(TestCopyToHost(x, &s->x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What may differ between two types: their names, what they say of preallocation and of equal rows, and what ours says besides. */
static PetscErrorCode NormalizeLine(char line[], PetscBool *skip)
{
  static const char *const lines[] = {"I-node", "scalable MatPtAP", "dcsrcuda: ", "hisparsecuda: ", "autocuda: ", "mallocs used", NULL};
  static const char *const words[] = {"dcsrcuda", "hisparsecuda", "autocuda", NULL};
  char                    *found;

  PetscFunctionBegin;
  *skip = PETSC_FALSE;
  for (int k = 0; lines[k] != NULL && !*skip; k++) *skip = (PetscBool)(strstr(line, lines[k]) != NULL);
  for (int k = 0; words[k] != NULL; k++)
    while ((found = strstr(line, words[k])) != NULL) memmove(found, found + strlen(words[k]), strlen(found + strlen(words[k])) + 1);
  if ((found = strstr(line, "allocated nonzeros=")) != NULL) *found = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NextLine(FILE *file, size_t length, char line[], PetscBool *more)
{
  PetscBool skip = PETSC_TRUE;

  PetscFunctionBegin;
  *more = PETSC_TRUE;
  while (skip && *more) {
    *more = (PetscBool)(fgets(line, (int)length, file) != NULL);
    if (*more) PetscCall(NormalizeLine(line, &skip));
  }
  if (!*more) line[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Words are equal, numbers with a fraction nearly so. */
static PetscBool SameLine(double tolerance, char a[], char b[])
{
  static const char separators[] = " ,=;:[]()\n";
  char             *rest[2]      = {NULL, NULL};
  char             *x = strtok_r(a, separators, &rest[0]), *y = strtok_r(b, separators, &rest[1]);

  for (; x != NULL && y != NULL; x = strtok_r(NULL, separators, &rest[0]), y = strtok_r(NULL, separators, &rest[1])) {
    char        *end[2];
    const double u = strtod(x, &end[0]), v = strtod(y, &end[1]);

    if (strcmp(x, y) == 0) continue;
    if (*end[0] != 0 || *end[1] != 0 || (strchr(x, '.') == NULL && strchr(y, '.') == NULL) || fabs(u - v) > tolerance * fabs(v)) return PETSC_FALSE;
  }
  return (PetscBool)(x == NULL && y == NULL);
}

/* Lines of the table of levels: equations, processes, entries a row of the operator and of the prolongator, of which the last may be others by as much. */
static PetscBool SameLevel(long most, const char a[], const char b[])
{
  long x[4], y[4];
  int  n[2] = {0, 0};

  if (sscanf(a, "%ld %ld %ld %ld%n", &x[0], &x[1], &x[2], &x[3], &n[0]) < 4 || sscanf(b, "%ld %ld %ld %ld%n", &y[0], &y[1], &y[2], &y[3], &n[1]) < 4) return PETSC_FALSE;
  return (PetscBool)(x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && labs(x[3] - y[3]) <= most && strspn(a + n[0], " \n") == strlen(a + n[0]) && strspn(b + n[1], " \n") == strlen(b + n[1]));
}

/* prolongators: entries a row by which they may differ */
static PetscErrorCode CompareViews(double eigenvalue_tolerance, long prolongators, FILE *a, FILE *b, const char what[])
{
  char      line[2][1024], copy[2][1024];
  PetscBool more[2] = {PETSC_TRUE, PETSC_TRUE};

  PetscFunctionBegin;
  if (a == NULL || b == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  rewind(a);
  rewind(b);
  while (more[0] && more[1]) {
    PetscCall(NextLine(a, sizeof(line[0]), line[0], &more[0]));
    PetscCall(NextLine(b, sizeof(line[1]), line[1], &more[1]));
    for (int k = 0; k < 2; k++) PetscCall(PetscStrncpy(copy[k], line[k], sizeof(copy[k])));
    PetscCheck(SameLevel(prolongators, line[0], line[1]) || SameLine(strstr(line[0], "eigenvalue") != NULL ? eigenvalue_tolerance : VIEW_TOLERANCE, copy[0], copy[1]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: views differ:\n  %s  %s", what, line[0], line[1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both have the error that the tolerance allows. */
static PetscErrorCode CompareValues(const Solution *a, const Solution *b, const char what[])
{
  PetscReal norm, difference;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(a->x, &d));
  PetscCall(VecWAXPY(d, -1, a->x, b->x));
  PetscCall(VecNorm(d, NORM_2, &difference));
  PetscCall(VecNorm(a->x, NORM_2, &norm));
  PetscCall(VecDestroy(&d));
  PetscCheck(difference <= SOLUTION_TOLERANCE * PetscMax(a->rtol, PETSC_SQRT_MACHINE_EPSILON) * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: the solutions differ by %g of their norm, and the tolerance is %g", what, (double)(difference / norm), (double)a->rtol);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SolutionCompare - Iterations are equal, or differ by one where the norm was near the tolerance; so are the views, and solutions up to what the tolerance leaves open. */
PetscErrorCode SolutionCompare(const ProblemOptions *o, const Solution *a, const Solution *b, const char what[])
{
  const Solution *shorter = a->its < b->its ? a : b;
  const PetscBool near    = (PetscBool)(PetscAbsInt(a->its - b->its) == 1 && shorter->rnorm > NEAR_TOLERANCE * shorter->rtol_norm);
  PetscBool       filter;

  PetscFunctionBegin;
  PetscCheck(a->its == b->its || near, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscInt_FMT " iterations with MATAIJ, %" PetscInt_FMT " with ours, and the fewer end with %g of the norm that is asked for", what, a->its, b->its,
             (double)(shorter->rnorm / shorter->rtol_norm));
  PetscCall(CompareValues(a, b, what));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_gamg_prolongator_filter", &filter));
  PetscCall(CompareViews(o->near_null == NEAR_NULL_NONE ? VIEW_TOLERANCE : EIGENVALUE_TOLERANCE, filter && o->problem == PROBLEM_ELASTICITY ? MOST_ZEROS : 0, a->view, b->view, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SolutionDestroy - Closes the view, and frees the vector. */
PetscErrorCode SolutionDestroy(Solution *s)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&s->x));
  if (s->view != NULL) fclose(s->view);
  s->view = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
