#pragma once
/*
  Operations whose device allocations fail one after the other, and what they must leave behind; outofmemory.c makes them fail.
*/
#include "../testmat.h"

typedef enum {
  STENCIL,    /* five points on a square grid */
  LONG_ROWS,  /* two full rows among short ones */
  EMPTY_ROWS, /* six of seven rows */
  NUM_KINDS
} Kind;

typedef enum {
  FRESH,      /* assembled on the host, never on the device */
  UPLOADED,   /* on both sides, without plans */
  FRAGMENTED, /* on both sides */
  ALONE,      /* fragmented, without a host copy */
  NUM_STATES
} State;

/* What an operation uses and gives, NULL where a test has none of it; all vectors live on the host. */
typedef struct {
  Vec       right, left, scale_left, scale_right; /* given */
  IS        rows, columns;                        /* of a submatrix */
  Vec       out;                                  /* result of as many entries as there are rows; the matrices are square */
  PetscReal norm;
  PetscInt *idx;
  Mat       X, T, C; /* another operand, something on the way, a new matrix */
} Data;

typedef PetscErrorCode OperationFn(Mat, Data *);

/* What MATAIJ has to do with an operation of one process. */
typedef enum {
  BOTH, /* does the same */
  OURS, /* cannot do it; entries stay what they are */
  NEW   /* does not do it either: the result is a new matrix equal to the given one, whose state does not matter */
} Meaning;

/* All rows of a parallel matrix add up to the same number; 0: there is no such matrix, or nothing in it. */
typedef struct {
  PetscReal before, after; /* of the matrix */
  PetscReal operand;       /* of X, which stays what it is */
  PetscReal old, result;   /* of C, before and after */
} Sums;

typedef struct {
  const char  *name;
  OperationFn *run;
  Meaning      meaning;          /* of one process */
  PetscBool    makes;            /* a new parallel matrix, without another operand */
  OperationFn *prepare, *change; /* what is done first, one after the other; NULL: nothing */
  Sums         sums;             /* of parallel ones */
} Case;

/* The matrix, what it is compared with, and what the operation does with either. */
typedef struct {
  Mat  A, R;
  Data got, expected;
} Trial;

/* Cases that are tested alike. */
typedef struct {
  const Case *cases;
  size_t      num_cases;
  PetscErrorCode (*create)(const Case *, Kind, State, Trial *);
  PetscErrorCode (*check)(const Case *, Trial *, PetscBool, const char[]); /* failed: all is as it was, and the operation can be run again; else it has done its work */
  PetscBool local;                                                         /* each process fails for itself */
} Suite;

extern const Suite SequentialSuite, LocalSuite, CollectiveSuite;

/* The process whose allocations fail, while those of the others succeed; -1: all fail alike. */
extern PetscMPIInt TestAlone;

PetscErrorCode DataDestroy(Data *);
