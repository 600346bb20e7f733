#pragma once
/*
  Matrices in the shapes of those of the SuiteSparse Matrix Collection, generated on the host. The same number gives the same matrix in every run.
*/
#include <petscsparsecuda/dcsr.h>

/* Where the entries of a row lie. */
typedef enum {
  SHAPE_DIAGONALS, /* the diagonals of a stencil on a grid */
  SHAPE_BLOCKS,    /* full dense blocks, positions as SHAPE_LOCAL */
  SHAPE_LOCAL,     /* half of a row right beside the diagonal, the others at random in a band of rows^(2/3) to each side */
  SHAPE_MIXED,     /* as SHAPE_LOCAL, but every eighth entry anywhere */
  SHAPE_POWER,     /* few columns have most of the entries */
  SHAPE_UNIFORM    /* anywhere */
} ShapeKind;

typedef struct {
  const char *name; /* of the matrix in the collection whose shape this is */
  int32_t     rows, columns;
  int32_t     sizes[5]; /* of rows: the smallest, quartile, median, quartile, largest; ascending */
  double      mean;     /* of the sizes */
  ShapeKind   kind;
  int32_t     block; /* SHAPE_BLOCKS: rows of a block, which divides rows, columns and sizes; otherwise 0 */
} Shape;

/* Structure of a matrix in host memory. */
typedef struct {
  const Shape *shape;   /* not owned */
  int32_t     *offsets; /* [shape->rows + 1] of rows in columns; owned */
  int32_t     *columns; /* [offsets[shape->rows]] ascending in each row; owned */
} ShapeMatrix;

PETSC_INTERN PetscErrorCode    ShapesGet(PetscInt *, const Shape **);           /* number, table */
PETSC_INTERN PetscErrorCode    ShapeMatrixCreate(const Shape *, ShapeMatrix *); /* with a shape of the table */
PETSC_INTERN PetscErrorCode    ShapeMatrixDestroy(ShapeMatrix *);
PETSC_INTERN PetscErrorCode    ShapeMatrixCheck(const ShapeMatrix *); /* an error unless it is CSR with columns that ascend and about as many nonzeros as the shapes have */
PETSC_INTERN PetscErrorCode    ShapeMatrixPrint(const ShapeMatrix *); /* for people; the line is not ended */
PETSC_INTERN PetscErrorCode    ShapeMatrixCreateView(const ShapeMatrix *, cudaStream_t, DCSRView *); /* on the device, with random values; free it with DCSRViewFree() */
PETSC_INTERN const char *const ShapeKinds[];                                                         /* names, by ShapeKind */
