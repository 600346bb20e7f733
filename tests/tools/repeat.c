/*
  Sets up a multigrid preconditioner several times, in programs that do it once: LD_PRELOAD=repeat.so PROGRAM. The first setup of a process pays for handles and for
  loading kernels; the later ones are what a program pays that solves again and again.

  Each outermost PCSetUp() of a preconditioner of type gamg or hypre is done, undone by PCReset(), and done again. At the end a line on stderr says what the first one took
  and what the median of the others was, in seconds.

  Variables of the environment
+ REPEAT_SETUP - how many times more each is set up; default 5
- REPEAT_TYPES - types of preconditioners, separated by commas; default gamg,hypre

  Notes:
  The library needs no other one: PETSc's functions are looked up in the program. What PCSetCoordinates() said is lost at PCReset().
*/
#define _GNU_SOURCE
#include <dlfcn.h>
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
  int (*destroy)(void **);
} petsc;

static int    inside = 0, num_repeated = 0;
static double first = -1, repeated[MAX_REPEATED];

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
  *(void **)&petsc.set_up        = Find(RTLD_NEXT, "PCSetUp");
  *(void **)&petsc.reset         = Find(RTLD_DEFAULT, "PCReset");
  *(void **)&petsc.reference     = Find(RTLD_DEFAULT, "PetscObjectReference");
  *(void **)&petsc.get_type      = Find(RTLD_DEFAULT, "PCGetType");
  *(void **)&petsc.get_operators = Find(RTLD_DEFAULT, "PCGetOperators");
  *(void **)&petsc.set_operators = Find(RTLD_DEFAULT, "PCSetOperators");
  *(void **)&petsc.destroy       = Find(RTLD_DEFAULT, "MatDestroy");
  *(void **)&petsc.synchronize   = dlsym(RTLD_DEFAULT, "cudaDeviceSynchronize");
}

static int IsWanted(void *pc)
{
  const char *types = getenv("REPEAT_TYPES"), *type = NULL, *found;
  size_t      length;

  if (types == NULL) types = "gamg,hypre";
  if (petsc.get_type(pc, &type) || type == NULL) return 0;
  length = strlen(type);
  for (found = strstr(types, type); found != NULL; found = strstr(found + 1, type)) {
    if ((found == types || found[-1] == ',') && (found[length] == ',' || found[length] == '\0')) return 1;
  }
  return 0;
}

/* Seconds that it takes until the device has done it all; the error of PCSetUp(). */
static int Timed(void *pc, double *seconds)
{
  struct timespec begin, end;
  int             error;

  clock_gettime(CLOCK_MONOTONIC, &begin);
  error = petsc.set_up(pc);
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

EXPORTED int PCSetUp(void *pc)
{
  const char *times = getenv("REPEAT_SETUP");
  double      seconds;
  int         error;

  FindFunctions();
  if (inside || !IsWanted(pc)) return petsc.set_up(pc);
  inside = 1;
  error  = Timed(pc, &seconds);
  /* A preconditioner that was up to date is asked many times, and does nothing. */
  if (!error && first < 0) {
    first = seconds;
    for (int k = 0, n = times != NULL ? atoi(times) : 5; !error && k < n && k < MAX_REPEATED; k++) {
      if ((error = Undo(pc))) break;
      error = Timed(pc, &repeated[num_repeated]);
      if (!error) num_repeated++;
    }
  }
  inside = 0;
  return error;
}

static int Compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

__attribute__((destructor)) static void Report(void)
{
  if (first < 0) return;
  qsort(repeated, (size_t)num_repeated, sizeof(*repeated), Compare);
  fprintf(stderr, "repeat: first %.6f repeated %.6f of %d\n", first, num_repeated ? repeated[num_repeated / 2] : 0.0, num_repeated);
}
