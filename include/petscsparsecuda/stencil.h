#pragma once
/*
  The nonzero pattern of a stencil on a structured grid that is cut into boxes, one a process.

  The grid has three axes; x varies fastest. Cuts go through the whole grid, so that box (i, j, k) is number i + num_boxes_x (j + num_boxes_y k). Points are numbered box by box, and in a box row by
  row.
  Every point has dof unknowns, whose numbers are consecutive.
*/
#include <petscsparsecuda/dcsr.h>

/* Where a stencil ends that reaches beyond the first or the last point of an axis. */
typedef enum {
  DCSR_GRID_CUT,    /* there is nothing */
  DCSR_GRID_WRAP,   /* the axis is a circle */
  DCSR_GRID_REFLECT /* the first and the last point are mirrors: -1 is 1 */
} DCSRGridEnds;

typedef struct {
  PetscInt        num_boxes; /* that the axis is cut into, at least 1 */
  const PetscInt *widths;    /* [num_boxes] host: points of each, at least 1 */
  PetscInt        box;       /* of this process */
  DCSRGridEnds    ends;
} DCSRGridAxis;

typedef struct {
  DCSRGridAxis    axes[3];     /* x, y, z; an axis that the grid does not have is one box of one point, DCSR_GRID_CUT */
  PetscInt        width;       /* points that the stencil reaches to either side */
  PetscBool       star;        /* points on the axes alone; PETSC_FALSE: all points of the box around the center */
  PetscInt        dof;         /* unknowns of a point, at least 1 */
  const PetscInt *center_fill; /* host: unknowns of the center that unknown l has entries with are center_fill[center_fill[l]] to center_fill[center_fill[l + 1] - 1]; NULL: all */
  const PetscInt *other_fill;  /* the same for all other points of the stencil */
} DCSRGridStencil;

/* A stencil, prepared for the process that has the box. */
typedef struct _n_DCSRStencil *DCSRStencil;

PETSC_INTERN PetscErrorCode DCSRStencilCreate(const DCSRGridStencil *grid, DCSRStencil *stencil);
PETSC_INTERN PetscErrorCode DCSRStencilDestroy(DCSRStencil *stencil);
PETSC_INTERN PetscInt       DCSRStencilNumRows(DCSRStencil stencil);
PETSC_INTERN PetscErrorCode DCSRStencilCount(DCSRStencil stencil, PetscBool repeats, PetscCount num[2]);
PETSC_INTERN PetscErrorCode DCSRStencilCountRows(DCSRStencil stencil, PetscBool repeats, PetscInt own[], PetscInt others[]);
PETSC_INTERN PetscErrorCode DCSRStencilBuild(DCSRStencil stencil, PetscBool outside, cudaStream_t stream, DCSRView *view);
