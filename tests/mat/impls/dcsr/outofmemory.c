static char help[] = "Device allocation fails at every site in turn: the error is clean, the matrix is what it was, nothing leaks.\n\n";

#include "outofmemory/outofmemorycases.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/sys.h>

#define MAX_SITES 500 /* more allocations than an operation makes */

static const char *const kind_names[]  = {"stencil", "long rows", "empty rows"};
static const char *const state_names[] = {"fresh", "uploaded", "fragmented", "fragmented without host copy"};

/* Runs an operation whose n-th allocation fails; *error is what it returned, *pending whether it made fewer. */
static PetscErrorCode RunFailing(OperationFn *run, PetscInt n, Mat A, Data *d, PetscErrorCode *error, PetscBool *pending)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (TestAlone >= 0 && rank != TestAlone) n = 0;
  PetscCall(PetscSparseCUDATestFailAllocation(n));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *error = (*run)(A, d);
  PetscCall(PetscPopErrorHandler());
  *pending = PetscSparseCUDATestFailurePending();
  PetscCall(PetscSparseCUDATestFailAllocation(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -alone all processes fail, or none, and that one knows whether there was anything to fail. Collective. */
static PetscErrorCode CheckAlone(const char what[], PetscErrorCode error, PetscBool *done)
{
  int codes[2] = {(int)error, -(int)error};

  PetscFunctionBegin;
  if (TestAlone < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(done, 1, MPI_C_BOOL, TestAlone, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, codes, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCheck(codes[0] == -codes[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s on process %d alone: error %d here, between %d and %d on all", what, (int)TestAlone, (int)error, -codes[1], codes[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The n-th allocation of an operation fails; *failed when it did on any process. *done when the operation makes fewer on all: one may allocate more than another.
  Memory that is only welcome may be missing without an error. Collective.
*/
static PetscErrorCode RunTrial(const Suite *s, const Case *c, PetscInt n, Trial *t, const char what[], PetscBool *failed, PetscBool *done)
{
  PetscErrorCode error = PETSC_SUCCESS;
  PetscBool      all[2];

  PetscFunctionBegin;
  PetscCall(RunFailing(c->run, n, t->A, &t->got, &error, done));
  PetscCall(CheckAlone(what, error, done));
  PetscCheck(error == PETSC_SUCCESS || error == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: error %d is not PETSC_ERR_MEM", what, (int)error);
  PetscCheck(!s->local || error == PETSC_SUCCESS || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  all[0] = *done;
  all[1] = (PetscBool)(error == PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 2, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  *done   = all[0];
  *failed = (PetscBool)!all[1];
  PetscCheck(!*failed || !*done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the operation failed before", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything about one failing allocation: what the operation left is as it was, then it succeeds, and nothing leaks. */
static PetscErrorCode TestSite(const Suite *s, const Case *c, Kind kind, State state, const char where[], PetscInt n, PetscBool *done)
{
  char      what[256];
  size_t    before, after;
  PetscBool failed = PETSC_FALSE;
  Trial     t;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, allocation %" PetscInt_FMT " fails", c->name, where, n));
  PetscCall(PetscArrayzero(&t, 1));
  PetscCall(TestLibMemoryInUse(&before));
  PetscCall((*s->create)(c, kind, state, &t));
  PetscCall(RunTrial(s, c, n, &t, what, &failed, done));
  if (failed) {
    PetscCall((*s->check)(c, &t, PETSC_TRUE, what));
    PetscCall((*c->run)(t.A, &t.got));
  }
  PetscCall((*s->check)(c, &t, PETSC_FALSE, what));
  PetscCall(DataDestroy(&t.got));
  PetscCall(DataDestroy(&t.expected));
  PetscCall(MatDestroy(&t.A));
  PetscCall(MatDestroy(&t.R));
  PetscCall(TestLibMemoryInUse(&after));
  PetscCheck(after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes were in use before and %zu are afterwards", what, before, after);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Suite *s, const Case *c, Kind kind, State state, const char where[])
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt n = 1; !done; n++) {
    PetscCheck(n < MAX_SITES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: allocates without end", c->name, where);
    PetscCall(TestSite(s, c, kind, state, where, n, &done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every eighth operation, so that eight tests may run side by side. */
static PetscErrorCode TestSequential(PetscInt part)
{
  PetscFunctionBegin;
  for (size_t k = (size_t)part; k < SequentialSuite.num_cases; k += 8) {
    const Case *c = &SequentialSuite.cases[k];

    for (Kind kind = STENCIL; kind < NUM_KINDS; kind++)
      for (State state = FRESH; state < (c->meaning == NEW ? UPLOADED : NUM_STATES); state++) {
        char where[64];

        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s", kind_names[kind], state_names[state]));
        PetscCall(TestCase(&SequentialSuite, c, kind, state, where));
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Part 1: what makes new matrices; part 0: all others. */
static PetscErrorCode TestParallel(PetscInt part)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < CollectiveSuite.num_cases; k++)
    if (CollectiveSuite.cases[k].makes == (part == 1)) PetscCall(TestCase(&CollectiveSuite, &CollectiveSuite.cases[k], STENCIL, FRESH, "parallel, collective"));
  for (size_t k = 0; part != 1 && TestAlone < 0 && k < LocalSuite.num_cases; k++) PetscCall(TestCase(&LocalSuite, &LocalSuite.cases[k], STENCIL, FRESH, "parallel, not collective"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscBool   usable;
  PetscInt    part = 0, who = -1;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (usable) {
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-part", &part, NULL));
    PetscCheck(part >= 0 && part < 8, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-part must be 0 to 7");
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-alone", &who, NULL));
    PetscCheck(who < size, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-alone must be one of %d processes", (int)size);
    TestAlone = (PetscMPIInt)who;
    if (size == 1) PetscCall(TestSequential(part));
    else PetscCall(TestParallel(part));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      requires: cuda
      timeoutfactor: 5
      output_file: output/empty.out
      test:
         suffix: part0
         args: -part 0
      test:
         suffix: part1
         args: -part 1
      test:
         suffix: part2
         args: -part 2
      test:
         suffix: part3
         args: -part 3
      test:
         suffix: part4
         args: -part 4
      test:
         suffix: part5
         args: -part 5
      test:
         suffix: part6
         args: -part 6
      test:
         suffix: part7
         args: -part 7
      test:
         suffix: parallel
         nsize: 2
         args: -part {{0 1}}
      test:
         suffix: alone0
         nsize: 2
         args: -part {{0 1}} -alone 0
      test:
         suffix: alone1
         nsize: 2
         args: -part {{0 1}} -alone 1

TEST*/
