#pragma once
/*
  The random-operation oracle: one random matrix kept twice, as MATAIJ and in the type under test, through a long random sequence of Mat operations.

  Decisions (which operation, which variant, which sizes) come from a generator that runs alike on all ranks; matrix and vector entries are hashes of their
  global indices, so that they do not depend on the distribution.
*/
#include "../../lib/testlib.h"
#include <petscmat.h>
#include <petscdevice.h>

typedef struct _n_Oracle *Oracle;
struct _n_Oracle {
  MPI_Comm    comm;
  PetscMPIInt size, rank;
  Mat         A, B;      /* the reference and the matrix under test */
  const char *type;      /* type under test, as given to MatSetType(); what B is now */
  const char *other;     /* another type that B becomes now and then, and operands have; NULL: none */
  PetscBool   square;    /* same sizes and layouts of rows and columns */
  PetscBool   large;     /* too many entries for products */
  PetscBool   every;     /* compare entry by entry after every operation */
  PetscReal   norm;      /* scale of the entries: max of the one- and infinity-norm of A */
  PetscInt    seed;      /* of the sequence */
  uint64_t    state;     /* of the generator shared by all ranks */
  uint64_t    fill;      /* counts fillings, so that each has other entries */
  const char *operation; /* name of the one that runs */
  PetscInt    step;      /* the operation that runs, from 0 on */
};

typedef PetscErrorCode (*OracleFn)(Oracle);
typedef struct {
  const char *name;
  int         weight;
  OracleFn    function;
  PetscBool   square;   /* needs a square matrix with equal layouts */
  PetscMPIInt max_size; /* most ranks it is for; 0: any number */
} OracleOperation;

extern const OracleOperation OracleValueOperations[], OracleStructureOperations[], OracleProductOperations[], OracleAccessOperations[], OracleInsertionOperations[], OracleBlockOperations[],
  OracleDenseOperations[], OracleSolveOperations[], OracleReaderOperations[], OracleLargeOperations[], OracleDeviceOperations[];

/* Random numbers; Shared: alike on all ranks. */
uint64_t  OracleHash(uint64_t, uint64_t, uint64_t);
PetscInt  OracleShared(Oracle, PetscInt);           /* 0 to n - 1 */
PetscBool OracleFlip(Oracle, PetscInt);             /* true once in n times */
PetscReal OracleReal(uint64_t, uint64_t, uint64_t); /* -1 to 1, at least 0.01 in absolute value */

/* Matrices and vectors */
PetscErrorCode OracleCreateMatrices(Oracle);
PetscErrorCode OracleCreatePair(Oracle, PetscLayout, PetscLayout, PetscInt, Mat *, Mat *); /* rows, columns, entries a row; sparse random */
PetscErrorCode OracleCreateSubset(Oracle, Mat *, Mat *);                                   /* pattern inside A's, other values */
PetscErrorCode OracleUpdateNorm(Oracle);
PetscErrorCode OracleCreateVec(Oracle, Mat, PetscBool, Vec *, Vec *); /* left (else right) vectors of A's kind for the reference and of any kind for the type under test, filled alike */
PetscErrorCode OracleReplace(Oracle, Mat, Mat);                       /* takes both, and a reference to each, in place of A and B; they may be A and B, as the submatrix of everything is */
PetscErrorCode OracleFragment(Oracle, Mat);                           /* spreads rows over several segments, where the matrix is on a device */

/* What both matrices get */
PetscErrorCode OracleAssemble(Oracle, MatAssemblyType);
PetscErrorCode OracleSetOption(Oracle, MatOption, PetscBool);
PetscErrorCode OracleCheckValid(Oracle);            /* the storage of the matrix under test, when it is one of ours */
PetscErrorCode OracleIsOurs(Oracle, PetscBool *);   /* and not another type that the oracle is tried on */
PetscErrorCode OracleOnDevice(Oracle, PetscBool *); /* whether the matrix under test is one of ours and computes on a device */

/* Dense matrices */
PetscErrorCode OracleCreateDense(Oracle, PetscInt, PetscInt, PetscInt, PetscBool, Mat *,
                                 Mat *); /* local and global rows, columns, whether the type under test may get MATDENSECUDA; MATDENSE otherwise, filled alike */
PetscErrorCode OracleFillDense(Oracle, Mat);
PetscErrorCode OracleCompareDense(Oracle, Mat, Mat, PetscReal);

/* Device contexts */
PetscErrorCode OracleChangeContext(Oracle);
PetscErrorCode OracleDestroyContexts(void);

/* Comparisons */
PetscErrorCode OracleCompareVec(Oracle, Vec, Vec, PetscReal);
PetscErrorCode OracleCompareMat(Oracle, Mat, Mat, PetscBool, PetscReal); /* exact structure or up to zeros, scale */
PetscErrorCode OracleComparePattern(Oracle, Mat, Mat);
PetscErrorCode OracleCompareReal(Oracle, PetscReal, PetscReal, PetscReal);
PetscErrorCode OracleCompareMult(Oracle, Mat, Mat, PetscReal);
PetscErrorCode OracleCompareAndDestroy(Oracle, Mat *, Mat *, PetscBool, PetscReal);

#define OracleBoth(call_A, call_B) \
  do { \
    PetscCall(call_A); \
    PetscCall(call_B); \
  } while (0)
