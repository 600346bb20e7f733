/*
  Sets up a multigrid preconditioner several times, in programs that do it once: LD_PRELOAD=repeat.so PROGRAM. The first setup of a process pays for handles and for
  loading kernels; the later ones are what a program pays that solves again and again.

  Each outermost PCSetUp() of a preconditioner of type gamg, hypre or amgx is done, undone by PCReset(), and done again. Then it is refreshed: set up again for a matrix that has
  new values and the same pattern. At the end a line on stderr says what the first one took and what the medians of the others were, in seconds. With REPEAT_SOLVE a line says what the longest
  KSPSolve() takes, the median of several without setup, and the norm of its residual over that of the right-hand side, computed by MATAIJ on the host.

  Variables of the environment
+ REPEAT_SETUP   - how many times more each is set up; default 5
. REPEAT_REFRESH - how many times it is refreshed then; default 5
. REPEAT_SOLVE   - how many times more each outermost solve is done; default 0
- REPEAT_TYPES   - types of preconditioners, separated by commas; default gamg,hypre,amgx

  Notes:
  The library needs no other one: PETSc's functions are looked up in the program. What PCSetCoordinates() said is lost at PCReset().

  For a refresh the state of the matrix is raised, which tells everybody that its values are others; they stay what they are. Solves are repeated with the solution for the first guess where the
  program has KSPSetInitialGuessNonzero(). Real numbers in double precision alone.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED     __attribute__((visibility("default")))
#define MAX_REPEATED 1000

typedef int (*SetUpFn)(void *);

static struct {
  SetUpFn set_up, reset, reference;
  int (*synchronize)(void); /* NULL without the CUDA runtime */
  int (*get_type)(void *, const char **);
  int (*get_operators)(void *, void **, void **);
  int (*set_operators)(void *, void *, void *);
  int (*get_state)(void *, int64_t *);
  int (*set_state)(void *, int64_t);
  int (*destroy)(void **);
  int (*solve)(void *, void *, void *);
  int (*get_rhs)(void *, void **), (*get_solution)(void *, void **), (*get_ksp_operators)(void *, void **, void **);
  int (*convert)(void *, const char *, int, void **);
  int (*duplicate)(void *, void **), (*mult)(void *, void *, void *), (*aypx)(void *, double, void *), (*norm)(void *, int, double *), (*destroy_vec)(void **);
} petsc;

/* The seconds of setups of one kind. */
typedef struct {
  int    n;
  double seconds[MAX_REPEATED];
} Times;

static int    inside = 0, solving = 0;
static double first   = -1;
static double longest = -1, its_residual; /* of the solves; -1: none was repeated */
static int    num_solves;                 /* repetitions of each */
static Times  repeated, refreshed;

/* The program ends when it has no PETSc: there is nothing to repeat. */
static void *Find(void *where, const char name[])
{
  void *function = dlsym(where, name);

  if (function == NULL) {
    fprintf(stderr, "repeat: the program has no %s()\n", name);
    _exit(1);
  }
  return function;
}

static void FindFunctions(void)
{
  if (petsc.set_up != NULL) return;
  *(void **)&petsc.set_up            = Find(RTLD_NEXT, "PCSetUp");
  *(void **)&petsc.reset             = Find(RTLD_DEFAULT, "PCReset");
  *(void **)&petsc.reference         = Find(RTLD_DEFAULT, "PetscObjectReference");
  *(void **)&petsc.get_type          = Find(RTLD_DEFAULT, "PCGetType");
  *(void **)&petsc.get_operators     = Find(RTLD_DEFAULT, "PCGetOperators");
  *(void **)&petsc.set_operators     = Find(RTLD_DEFAULT, "PCSetOperators");
  *(void **)&petsc.get_state         = Find(RTLD_DEFAULT, "PetscObjectStateGet");
  *(void **)&petsc.set_state         = Find(RTLD_DEFAULT, "PetscObjectStateSet");
  *(void **)&petsc.destroy           = Find(RTLD_DEFAULT, "MatDestroy");
  *(void **)&petsc.solve             = Find(RTLD_NEXT, "KSPSolve");
  *(void **)&petsc.get_rhs           = Find(RTLD_DEFAULT, "KSPGetRhs");
  *(void **)&petsc.get_solution      = Find(RTLD_DEFAULT, "KSPGetSolution");
  *(void **)&petsc.get_ksp_operators = Find(RTLD_DEFAULT, "KSPGetOperators");
  *(void **)&petsc.convert           = Find(RTLD_DEFAULT, "MatConvert");
  *(void **)&petsc.duplicate         = Find(RTLD_DEFAULT, "VecDuplicate");
  *(void **)&petsc.mult              = Find(RTLD_DEFAULT, "MatMult");
  *(void **)&petsc.aypx              = Find(RTLD_DEFAULT, "VecAYPX");
  *(void **)&petsc.norm              = Find(RTLD_DEFAULT, "VecNorm");
  *(void **)&petsc.destroy_vec       = Find(RTLD_DEFAULT, "VecDestroy");
  *(void **)&petsc.synchronize       = dlsym(RTLD_DEFAULT, "cudaDeviceSynchronize");
}

static int IsWanted(void *pc)
{
  const char *types = getenv("REPEAT_TYPES"), *type = NULL, *found;
  size_t      length;

  if (types == NULL) types = "gamg,hypre,amgx";
  if (petsc.get_type(pc, &type) || type == NULL) return 0;
  length = strlen(type);
  for (found = strstr(types, type); found != NULL; found = strstr(found + 1, type)) {
    if ((found == types || found[-1] == ',') && (found[length] == ',' || found[length] == '\0')) return 1;
  }
  return 0;
}

static int SetUp(void *pc, void *unused[])
{
  (void)unused;
  return petsc.set_up(pc);
}

static int Solve(void *ksp, void *vecs[])
{
  return petsc.solve(ksp, vecs[0], vecs[1]);
}

/* Seconds that it takes until the device has done it all; the error of what is done. */
static int Timed(int (*what)(void *, void *[]), void *object, void *vecs[], double *seconds)
{
  struct timespec begin, end;
  int             error;

  if (petsc.synchronize != NULL) (void)petsc.synchronize();
  clock_gettime(CLOCK_MONOTONIC, &begin);
  error = what(object, vecs);
  if (petsc.synchronize != NULL) (void)petsc.synchronize();
  clock_gettime(CLOCK_MONOTONIC, &end);
  *seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
  return error;
}

/* PCReset() forgets the matrices. */
static int Undo(void *pc)
{
  void *A, *P;
  int   error;

  if ((error = petsc.get_operators(pc, &A, &P))) return error;
  if ((error = petsc.reference(A))) return error;
  if ((error = petsc.reference(P))) return error;
  if ((error = petsc.reset(pc))) return error;
  if ((error = petsc.set_operators(pc, A, P))) return error;
  if ((error = petsc.destroy(&A))) return error;
  return petsc.destroy(&P);
}

/* The values of the matrices are others. */
static int Change(void *pc)
{
  void   *A[2];
  int64_t state;
  int     error = petsc.get_operators(pc, &A[0], &A[1]);

  for (int k = 0; !error && k < (A[0] == A[1] ? 1 : 2); k++) {
    error = petsc.get_state(A[k], &state);
    if (!error) error = petsc.set_state(A[k], state + 1);
  }
  return error;
}

/* So many setups as the variable says, each after something that makes it necessary. */
static int Repeat(void *pc, const char variable[], int (*before)(void *), Times *times)
{
  const char *number = getenv(variable);
  int         error  = 0;

  for (int k = 0, n = number != NULL ? atoi(number) : 5; !error && k < n && k < MAX_REPEATED; k++) {
    if ((error = before(pc))) break;
    error = Timed(SetUp, pc, NULL, &times->seconds[times->n]);
    if (!error) times->n++;
  }
  return error;
}

EXPORTED int PCSetUp(void *pc)
{
  double seconds;
  int    error;

  FindFunctions();
  if (inside || !IsWanted(pc)) return petsc.set_up(pc);
  inside = 1;
  error  = Timed(SetUp, pc, NULL, &seconds);
  /* A preconditioner that was up to date is asked many times, and does nothing. */
  if (!error && first < 0) {
    first = seconds;
    error = Repeat(pc, "REPEAT_SETUP", Undo, &repeated);
    if (!error) error = Repeat(pc, "REPEAT_REFRESH", Change, &refreshed);
  }
  inside = 0;
  return error;
}

/* |b - A x| / |b| by MATAIJ. */
static int GetResidual(void *ksp, double *residual)
{
  void  *A, *P, *B = NULL, *b, *x, *r = NULL;
  double norm = 0;
  int    error;

  if ((error = petsc.get_ksp_operators(ksp, &A, &P))) return error;
  if ((error = petsc.get_rhs(ksp, &b))) return error;
  if ((error = petsc.get_solution(ksp, &x))) return error;
  if ((error = petsc.convert(A, "aij", 0, &B))) return error; // MAT_INITIAL_MATRIX
  if ((error = petsc.duplicate(b, &r))) return error;
  if ((error = petsc.mult(B, x, r))) return error;
  if ((error = petsc.aypx(r, -1, b))) return error;
  if ((error = petsc.norm(r, 1, residual))) return error; // NORM_2
  if ((error = petsc.norm(b, 1, &norm))) return error;
  if (norm > 0) *residual /= norm;
  if ((error = petsc.destroy_vec(&r))) return error;
  return petsc.destroy(&B);
}

static int Compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double Median(Times *times)
{
  qsort(times->seconds, (size_t)times->n, sizeof(*times->seconds), Compare);
  return times->n ? times->seconds[times->n / 2] : 0.0;
}

EXPORTED int KSPSolve(void *ksp, void *b, void *x)
{
  const char *number = getenv("REPEAT_SOLVE");
  const int   n      = number != NULL ? atoi(number) : 0;
  void       *vecs[] = {b, x};
  Times       times  = {0};
  double      residual;
  int         error;

  FindFunctions();
  if (solving || inside || n < 1) return petsc.solve(ksp, b, x);
  solving = 1;
  error   = petsc.solve(ksp, b, x); // with setups
  for (; !error && times.n < n && times.n < MAX_REPEATED; times.n++) error = Timed(Solve, ksp, vecs, &times.seconds[times.n]);
  if (!error) error = GetResidual(ksp, &residual);
  if (!error && Median(&times) > longest) {
    longest      = Median(&times);
    its_residual = residual;
    num_solves   = times.n;
  }
  solving = 0;
  return error;
}

__attribute__((destructor)) static void Report(void)
{
  if (first < 0) return;
  if (longest >= 0) fprintf(stderr, "repeat: solve %.6f of %d residual %.3e\n", longest, num_solves, its_residual);
  fprintf(stderr, "repeat: first %.6f repeated %.6f of %d refresh %.6f of %d\n", first, Median(&repeated), repeated.n, Median(&refreshed), refreshed.n);
}
