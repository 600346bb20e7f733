#pragma once
/*
  Matrices from which a selection of storage is learnt: families of them, with parameters by a fixed seed, generated on the device. The same family and number give the same matrix in every run.
*/
#include <petscsparsecuda/dcsr.h>

/* How points of a grid are numbered. */
typedef enum {
  SELECT_NATURAL,
  SELECT_WINDOWS, /* each 64 that follow each other at random */
  SELECT_PERMUTED /* all at random */
} SelectOrder;

/* Where entries are. */
typedef enum {
  SELECT_GRID,      /* a stencil of a box or a star on a grid, dof unknowns a point, some entries left out */
  SELECT_RMAT,      /* R-MAT */
  SELECT_UNIFORM,   /* anywhere */
  SELECT_BAND,      /* anywhere in a band */
  SELECT_POWERLAW,  /* few rows have most of the entries */
  SELECT_DIAGONALS, /* on some diagonals, some entries left out */
  SELECT_BLOCKS,    /* dense blocks in a band, some entries left out */
  SELECT_MESH       /* random points in space, benchmesh.h */
} SelectKind;

typedef struct {
  const char        *family;
  PetscInt           number;
  SelectKind         kind;
  int32_t            n[3];     /* points of a grid; SELECT_GRID */
  int32_t            rows;     /* and columns; of all others */
  int32_t            row_size; /* entries that are drawn for a row, or for a row of blocks blocks, or diagonals */
  int32_t            band;     /* columns to each side, rows of blocks for SELECT_BLOCKS */
  int32_t            dof;      /* unknowns of a point, rows of a block */
  bool               star;     /* neighbors along the axes alone */
  SelectOrder        order;
  double             kept; /* share of the entries that are there */
  unsigned long long seed;
} SelectMatrix;

PETSC_INTERN PetscInt       SelectCount(void);                                                                /* matrices of all families, those of different ones in turn */
PETSC_INTERN void           SelectGet(PetscInt, SelectMatrix *);                                              /* the parameters of one of them */
PETSC_INTERN PetscErrorCode SelectCreate(const SelectMatrix *, cudaStream_t, DCSRView *);                     /* to be freed with DCSRViewFree() */
PETSC_INTERN PetscErrorCode SelectKeys(const SelectMatrix *, PetscCount, unsigned long long *, cudaStream_t); /* as many keys as SelectNumKeys() says, on the device */
PETSC_INTERN PetscCount     SelectNumKeys(const SelectMatrix *);
PETSC_INTERN PetscInt       SelectRows(const SelectMatrix *);
