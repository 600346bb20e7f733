static char help[] = "Applies a long random sequence of Mat operations to one matrix kept in MATAIJ and in -mat_type, and compares after each.\n\
  -mat_type (dcsrcuda)  type under test\n\
  -seed n               of the sequence; printed when something is wrong\n\
  -steps n              operations\n\
  -life n               operations until the next new matrix\n\
  -only name            operations whose name contains this\n\
  -trace                prints each operation before it is done, for crashes\n\n";

#include <petscsparsecuda.h>
#include "oracle.h"

#define LOG_LENGTH 20

static const OracleOperation *const tables[] = {OracleValueOperations, OracleStructureOperations, OracleProductOperations, OracleAccessOperations};

static PetscBool OracleApplies(Oracle o, const OracleOperation *op, const char only[])
{
  char     *found;
  PetscBool wanted = PETSC_TRUE;

  if (only[0]) {
    (void)PetscStrstr(op->name, only, &found);
    wanted = (PetscBool)(found != NULL);
  }
  return (PetscBool)(wanted && (!op->square || o->square) && (!op->max_size || o->size <= op->max_size));
}

/* Draws by weight among those that apply to the present matrix; NULL when none does. */
static const OracleOperation *OracleDraw(Oracle o, const char only[])
{
  PetscInt total = 0, ticket;

  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tables); t++)
    for (const OracleOperation *op = tables[t]; op->name; op++)
      if (OracleApplies(o, op, only)) total += op->weight;
  if (total == 0) return NULL;
  ticket = OracleShared(o, total);
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tables); t++)
    for (const OracleOperation *op = tables[t]; op->name; op++)
      if (OracleApplies(o, op, only)) {
        ticket -= op->weight;
        if (ticket < 0) return op;
      }
  return NULL;
}

/* One operation; then a comparison that leaves the matrix where it is, and now and then the entries one by one. */
static PetscErrorCode OracleStep(Oracle o, const OracleOperation *op)
{
  PetscFunctionBegin;
  o->operation = op->name;
  for (int k = 0; k < 2; k++) { /* whatever the last one left behind, new entries are welcome */
    PetscCall(MatSetOption(k ? o->B : o->A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(k ? o->B : o->A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  }
  PetscCall(op->function(o));
  PetscCall(OracleUpdateNorm(o));
  PetscCall(OracleCompareMult(o, o->A, o->B, o->norm));
  if (OracleFlip(o, 4)) PetscCall(OracleCompareMat(o, o->A, o->B, PETSC_TRUE, o->norm));
  if (o->norm > 1e4) OracleBoth(MatScale(o->A, 1 / o->norm), MatScale(o->B, 1 / o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OracleReport(Oracle o, PetscInt seed, PetscInt step, const char *const log[])
{
  PetscInt M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, &M, &N));
  fprintf(stderr, "[%d] failed at step %d with -mat_type %s -seed %d, in %s, on a %d x %d matrix; the last operations, newest first:\n", o->rank, (int)step, o->type, (int)seed, o->operation, (int)M, (int)N);
  for (PetscInt k = step; k >= 0 && k > step - LOG_LENGTH; k--) fprintf(stderr, "[%d]   %s\n", o->rank, log[k % LOG_LENGTH]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt               steps = 200, life = 40, seed = 1;
  char                   type[128] = "dcsrcuda", only[128] = "";
  PetscBool              trace = PETSC_FALSE;
  const char            *log[LOG_LENGTH];
  const OracleOperation *op;
  PetscErrorCode         ierr;
  struct _n_Oracle       oracle;
  Oracle                 o = &oracle;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-life", &life, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-trace", &trace, NULL));
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->comm  = PETSC_COMM_WORLD;
  o->type  = type;
  o->state = (uint64_t)seed << 32;
  o->fill  = (uint64_t)seed << 32;
  PetscCallMPI(MPI_Comm_size(o->comm, &o->size));
  PetscCallMPI(MPI_Comm_rank(o->comm, &o->rank));
  for (PetscInt step = 0; step < steps; step++) {
    log[step % LOG_LENGTH] = o->operation = "a new matrix";
    ierr                                  = PETSC_SUCCESS;
    if (step % life == 0) ierr = OracleCreateMatrices(o);
    op = ierr ? NULL : OracleDraw(o, only);
    if (op) {
      if (trace) fprintf(stderr, "[%d] %d %s\n", o->rank, (int)step, op->name);
      log[step % LOG_LENGTH] = op->name;
      ierr                   = OracleStep(o, op);
    }
    if (ierr) PetscCall(OracleReport(o, seed, step, log));
    PetscCall(ierr);
  }
  PetscCall(MatDestroy(&o->A));
  PetscCall(MatDestroy(&o->B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: matrices.c compare.c values.c structure.c products.c access.c

   testset:
      output_file: output/empty.out
      timeoutfactor: 5
      test:
         suffix: 1
         args: -steps 1000 -seed {{1 2 3 4}}
      test:
         suffix: 2
         nsize: 2
         args: -steps 1000 -seed {{11 12 13}}
      test:
         suffix: 3
         nsize: 3
         args: -steps 1000 -seed {{21 22}}
      test:
         suffix: 8
         nsize: 8
         args: -steps 500 -seed {{31 32}}

TEST*/
