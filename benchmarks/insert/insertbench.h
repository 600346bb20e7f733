#pragma once
/*
  What the parts of the benchmark of insertion share.
*/
#include <petscmat.h>
#include <petscsparsecuda.h>
#include "../common/bench.h"
#include "insertlists.h"
#include "insertrebuild.h"

/* What the command line says about sizes. */
typedef struct {
  PetscInt stencil_n, hexahedra_n, grid_n;
} InsertSizes;

PETSC_INTERN InsertSizes InsertBenchSizes;

/* What one record says; numbers that are not known are -1, as in benchrecord.h. */
typedef struct {
  const char *name, *metric, *unit;
  PetscReal   ours, best;
  const char *competitor;
  PetscReal   floor;
} InsertResult;

/* The first assembly of a list by the competitors. */
typedef struct {
  Mat         B;    /* of aijcusparse; NULL when it failed, for lack of memory for instance */
  PetscReal   ms;   /* of the fastest one, -1 when all failed */
  const char *name; /* its name */
} InsertCompetitor;

/* Between InsertMemoryBegin() and InsertMemoryEnd(). */
typedef struct {
  cudaMemPool_t pool;   /* where the library's memory comes from, NULL when that cannot be had */
  size_t        before; /* bytes that were in use at the beginning */
} InsertMemory;

#define INSERT_REBUILD      "CUB sort, merge, reduce" /* names of competitors by CUB: of a batch, of a list, of new values for that */
#define INSERT_REBUILD_LIST "CUB sort, reduce"
#define INSERT_REFILL       "kept permutation"

/* The matrix that batches go into, once as ours and once as the rebuild's. */
typedef struct {
  Mat           A;           /* compact; batches go into copies of it */
  Vec           x, y;        /* of all ones; of the rows */
  PetscCount    num_entries; /* of the matrix */
  InsertRebuild rebuild;     /* has the same entries saved */
} InsertBase;

PETSC_INTERN PetscErrorCode InsertBenchRecord(Bench *, const InsertResult *); /* BenchRecord() */
/* Compares two matrices by their number of nonzeros and a product with a random vector, and says WRONG when they differ. */
PETSC_INTERN PetscErrorCode InsertBenchCompare(Bench *, const char[], Mat, Mat);
PETSC_INTERN PetscErrorCode InsertBenchCompareRebuild(Bench *, const char[], Mat, InsertRebuild *);

PETSC_INTERN PetscErrorCode InsertBenchMatrixBytes(Mat, PetscReal *); /* bytes of the matrix as CSR with 32-bit offsets */

/* The most device memory handed out between both calls, as a multiple of the finished matrix, or -1 when that cannot be had; and its record. */
PETSC_INTERN PetscErrorCode InsertMemoryBegin(Bench *, InsertMemory *);
PETSC_INTERN PetscErrorCode InsertMemoryEnd(const InsertMemory *, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode InsertMemoryRecord(Bench *, const char[], PetscReal);

/* A matrix of a list, which is destroyed, or of the case rmat20; for batches up to so many entries in total. */
PETSC_INTERN PetscErrorCode InsertBaseCreate(Bench *, InsertList *, PetscCount, InsertBase *);
PETSC_INTERN PetscErrorCode InsertBaseCreateRMAT(Bench *, PetscCount, InsertBase *);
PETSC_INTERN PetscErrorCode InsertBaseDestroy(Bench *, InsertBase *);
PETSC_INTERN PetscErrorCode InsertBaseCopy(const InsertBase *, Mat *); /* a copy that takes new entries and was multiplied with */
/* n entries of a list from one on into our matrix, with the assembly, or into the rebuild's; the device may be busy with it afterwards, and the rebuild not finished */
PETSC_INTERN PetscErrorCode InsertBatch(Mat, const InsertList *, PetscCount, PetscCount);
PETSC_INTERN PetscErrorCode InsertBatchRebuild(Bench *, InsertRebuild *, const InsertList *, PetscCount, PetscCount);

#define INSERT_RMAT_LEVELS  20
#define INSERT_RMAT_ENTRIES ((PetscCount)16 << INSERT_RMAT_LEVELS) /* of the stream in the case rmat20; batches go on behind them */

PETSC_INTERN PetscErrorCode InsertBenchCOO(Bench *);
/* nodes and list of the mesh of hexahedra, and the competitor's assembly of that list */
PETSC_INTERN PetscErrorCode InsertBenchFEMKernel(Bench *, PetscInt[], const InsertList *, const InsertCompetitor *);
PETSC_INTERN PetscErrorCode InsertBenchSetValues(Bench *);
PETSC_INTERN PetscErrorCode InsertBenchBatches(Bench *);
PETSC_INTERN PetscErrorCode InsertBenchSteady(Bench *);
PETSC_INTERN PetscErrorCode InsertBenchSpMV(Bench *);
