#pragma once
/*
  What the stencil reaches along each axis, as tables.

  Points of an axis farther than the stencil's width from both ends of the own box all reach the same, all of it their own. They are one class, every other point is a class of its own. So the tables
  are as small as the stencil, whatever the grid is.
*/
#include <petscsparsecuda/stencil.h>

#if defined(__CUDACC__)
  #define STENCIL_INLINE __host__ __device__ inline
#else
  #define STENCIL_INLINE static inline
#endif

/* A point that the stencil reaches along an axis. */
typedef struct {
  int32_t delta; /* its position in the box that has it, less the position of the center in the own box */
  int32_t start; /* of that box on the axis */
  int32_t width; /* of that box */
} StencilPosition;

/* All that it reaches from a class of points: positions [begin, end), distinct, in the order of the axis. */
typedef struct {
  int32_t begin, end;
  int32_t center;     /* the point itself */
  int32_t own;        /* how many of them are in the own box */
  int32_t given_own;  /* with repeats: how often the stencil reaches into the own box, */
  int32_t given;      /* and how often it reaches anything */
  int32_t comes_back; /* whether it reaches the center a second time */
} StencilReach;

typedef struct {
  const StencilReach    *reaches;   /* [classes] host, or device in the struct that kernels see */
  const StencilPosition *positions; /* the same */
  int32_t                start;     /* first point of the own box on the axis */
  int32_t                width;     /* points of the own box */
  int32_t                edge;      /* points at either end of it that are classes of their own; the whole box, when it is short */
  int32_t                total;     /* points of the axis */
} StencilAxis;

/* Unknowns that an unknown has entries with, which depends on the point of the stencil. */
typedef enum {
  FILL_OTHER,  /* not the center */
  FILL_CENTER, /* the center, that the stencil reaches once */
  FILL_BOTH,   /* the center, that it reaches again around the axis */
  NUM_FILLS
} StencilFill;

/* What counting and filling need; passed by value to kernels. */
typedef struct {
  StencilAxis    axes[3];
  PetscBool      star;
  int32_t        dof;
  const int32_t *fill_begins; /* [NUM_FILLS * dof + 1] where the list of each fill and unknown begins; NULL: all unknowns everywhere */
  const int32_t *fills;       /* unknowns, ascending in each list; NULL likewise */
} StencilTables;

struct _n_DCSRStencil {
  StencilTables    tables;         /* on the host */
  StencilReach    *reaches[3];     /* owned */
  StencilPosition *positions[3];   /* owned */
  int32_t          num_classes[3]; /* of reaches */
  int32_t          num_positions[3];
  int32_t         *fill_begins; /* owned; NULL without fills */
  int32_t         *fills;       /* owned */
};

/* The class of a point of the own box. */
STENCIL_INLINE int32_t StencilClass(const StencilAxis *axis, int32_t x)
{
  if (x < axis->edge) return x;
  return x < axis->width - axis->edge ? axis->edge : x - (axis->width - 2 * axis->edge - 1);
}

/* How many unknowns of a point, in a way of filling, unknown l has entries with. */
STENCIL_INLINE int32_t StencilFillSize(const StencilTables *t, StencilFill fill, int32_t l)
{
  if (!t->fill_begins) return t->dof;
  return t->fill_begins[fill * t->dof + l + 1] - t->fill_begins[fill * t->dof + l];
}

/* Which fill the center has. */
STENCIL_INLINE StencilFill StencilCenterFill(const StencilReach *x, const StencilReach *y, const StencilReach *z)
{
  return x->comes_back || y->comes_back || z->comes_back ? FILL_BOTH : FILL_CENTER;
}

/* Entries of a row in the diagonal and in the off-diagonal block; repeats: as often as the stencil reaches them. */
STENCIL_INLINE void StencilRowSizes(const StencilTables *t, const StencilReach *x, const StencilReach *y, const StencilReach *z, int32_t l, PetscBool repeats, int64_t *own, int64_t *others)
{
  const int64_t nx = repeats ? x->given_own : x->own, ny = repeats ? y->given_own : y->own, nz = repeats ? z->given_own : z->own;
  const int64_t mx = repeats ? x->given : x->end - x->begin, my = repeats ? y->given : y->end - y->begin, mz = repeats ? z->given : z->end - z->begin;
  const int64_t points = t->star ? nx + ny + nz - 2 : nx * ny * nz, all = t->star ? mx + my + mz - 2 : mx * my * mz;
  const int64_t other = StencilFillSize(t, FILL_OTHER, l);

  *own    = (points - 1) * other + StencilFillSize(t, repeats ? FILL_CENTER : StencilCenterFill(x, y, z), l);
  *others = (all - points) * other;
}
