#pragma once
/*
  The linear systems of the benchmark hard: families of problems on which multigrid with its defaults converges badly or not at all. Entries are formulas and hashes of the numbers of points, so that
  a system is the same in every run and on any number of processes.
*/
#include <petscmat.h>

/* Coefficients of cells or elements. */
typedef enum {
  HARD_CONSTANT,     /* 1 */
  HARD_CHECKERBOARD, /* 1 and the contrast in turn, in blocks of cells */
  HARD_ISLANDS,      /* blocks of cells have the contrast with a probability, and 1 otherwise */
  HARD_CHANNELS,     /* the same, with blocks through the whole domain */
  HARD_LOGNORMAL     /* exp(sigma g), where g is a sum of cosines with variance 1 */
} HardField;

/* Flow through the cells. */
typedef enum {
  HARD_NO_FLOW,
  HARD_STRAIGHT,     /* along (5, 3, 1) */
  HARD_RECIRCULATING /* one vortex that fills the domain */
} HardFlow;

/* Where entries are written, in the order of the rows. */
typedef struct {
  PetscCount   n;     /* entries so far */
  PetscInt    *i, *j; /* NULL: values alone */
  PetscScalar *v;     /* values */
} HardList;

typedef struct HardSystem HardSystem;

/* Writes the rows of the points begin to end - 1. Values of step 0 are those of the first system; those of step 1 differ by a few percent, with the same symmetry and near null space. */
typedef PetscErrorCode HardFillFn(const HardSystem *, const PetscInt[3], PetscInt, PetscInt, PetscInt, HardList *);

/* A row of the table: what it does not name is zero, and zero is no such effect. */
struct HardSystem {
  const char *name; /* FAMILY-..., the case of the records */
  PetscBool   held; /* of the held-out set, which never chooses anything */
  HardFillFn *fill;
  PetscInt    dim;  /* 2 or 3 */
  PetscInt    n[3]; /* cells or elements in each direction at full size; the third is 1 in 2-D */

  HardField field;
  PetscInt  block;    /* cells of a block in each direction */
  PetscReal contrast; /* of the other blocks */
  PetscReal fraction; /* of islands */
  PetscReal sigma;    /* of the logarithm */
  PetscReal length;   /* correlation, in cells */

  /* Finite volumes. */
  PetscReal weight[3]; /* factors of the directions */
  PetscReal stretch;   /* ratio of the largest and the smallest spacing in each direction */
  HardFlow  flow;
  PetscReal peclet; /* largest Peclet number of a cell */

  /* Finite elements. */
  PetscInt  degree;   /* of scalar elements */
  PetscReal angle[2]; /* degrees, of the strong direction in the plane and above it */
  PetscReal epsilon;  /* diffusion across the strong direction */
  PetscReal height;   /* of an element in the last direction, over its other sides */
  PetscReal nu;       /* Poisson's ratio; above zero: elasticity */
};

/* A system of some size on some processes, with the lists of its rows in host memory. */
typedef struct {
  MPI_Comm          comm;
  const HardSystem *system;
  PetscInt          n[3];        /* cells or elements in each direction */
  PetscInt          block_size;  /* unknowns of a point */
  PetscInt          num_points;  /* of all processes */
  PetscInt          begin, end;  /* points of this process */
  PetscCount        num_entries; /* of this process */
  PetscInt         *i, *j;       /* [num_entries] */
  PetscScalar      *v[2];        /* [num_entries] values of step 0 and step 1 */
} HardProblem;

PETSC_INTERN PetscErrorCode HardSystemGetAll(PetscInt *, const HardSystem **);                        /* number and table */
PETSC_INTERN PetscErrorCode HardSystemFind(const char[], const HardSystem **);                        /* by name; an error names the option that lists them */
PETSC_INTERN PetscBool      HardSystemIsSymmetric(const HardSystem *);                                /* then it is positive definite, too */
PETSC_INTERN PetscErrorCode HardProblemCreate(MPI_Comm, const HardSystem *, PetscInt, HardProblem *); /* about so many unknowns; 0: full size. Collective */
PETSC_INTERN PetscErrorCode HardProblemDestroy(HardProblem *);
PETSC_INTERN PetscErrorCode HardProblemCreateMat(const HardProblem *, MatType, Mat *); /* with the values of step 0, block size, near null space, and what is known of its symmetry. Collective */
PETSC_INTERN PetscErrorCode HardProblemSetRandom(const HardProblem *, Vec);            /* entries in [-1, 1] by their global numbers */

/* HardHash - a number in [0, 1) of a key and a seed: the finalizer of splitmix64 (Steele, Lea, Flood 2014) */
static inline double HardHash(PetscInt64 key, PetscInt64 seed)
{
  unsigned long long h = ((unsigned long long)key + 1) * 0x9e3779b97f4a7c15ull + (unsigned long long)seed * 0xd1342543de82ef95ull;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return (double)((h ^ (h >> 31)) >> 11) * 0x1p-53;
}

/* HardStepFactor - what step 1 does to the coefficient of a cell: it changes by 10 % at most */
static inline double HardStepFactor(PetscInt64 cell, PetscInt step)
{
  return step == 0 ? 1 : 0.9 + 0.2 * HardHash(cell, 7);
}

/* HardListAdd - one entry */
static inline void HardListAdd(HardList *list, PetscInt row, PetscInt column, double value)
{
  if (list->i != NULL) {
    list->i[list->n] = row;
    list->j[list->n] = column;
  }
  list->v[list->n++] = (PetscScalar)value;
}
