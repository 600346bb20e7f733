/* A stencil on a grid: what it reaches along each axis, and how many entries that makes. */
#include "stencilimpl.h"

/* The point of the axis that a coordinate stands for; -1: none. */
static PetscInt PointOf(PetscInt coordinate, PetscInt total, DCSRGridEnds ends)
{
  if (coordinate >= 0 && coordinate < total) return coordinate;
  if (ends == DCSR_GRID_WRAP) return (coordinate % total + total) % total;
  if (ends == DCSR_GRID_REFLECT) {
    const PetscInt mirrored = coordinate < 0 ? -coordinate : 2 * (total - 1) - coordinate;

    if (mirrored >= 0 && mirrored < total) return mirrored;
  }
  return -1;
}

/* What the stencil reaches from point x of the own box; positions has room for it. */
static PetscErrorCode Reach(const DCSRGridAxis *grid, const StencilAxis *axis, PetscInt width, PetscInt x, PetscInt points[], StencilPosition positions[], StencilReach *reach)
{
  const PetscInt center = axis->start + x;
  PetscInt       n = 0, box = 0, start = 0;

  PetscFunctionBegin;
  *reach = (StencilReach){0, 0, 0, 0, 0, 0, 0};
  for (PetscInt o = -width; o <= width; o++) {
    const PetscInt point = PointOf(center + o, axis->total, grid->ends);

    if (point < 0) continue;
    points[n++] = point;
    if (point >= axis->start && point < axis->start + axis->width) reach->given_own++;
    if (o != 0 && point == center) reach->comes_back = 1;
  }
  reach->given = (int32_t)n;
  PetscCall(PetscSortRemoveDupsInt(&n, points));
  for (PetscInt k = 0; k < n; k++) {
    while (points[k] >= start + grid->widths[box]) start += grid->widths[box++];
    if (points[k] == center) reach->center = (int32_t)k;
    if (box == grid->box) reach->own++;
    positions[k] = (StencilPosition){(int32_t)(points[k] - start - x), (int32_t)start, (int32_t)grid->widths[box]};
  }
  reach->end = (int32_t)n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateAxis(const DCSRGridAxis *grid, PetscInt width, int which, DCSRStencil s)
{
  StencilAxis *axis  = &s->tables.axes[which];
  PetscInt64   total = 0;
  PetscInt    *points, n = 0;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < grid->num_boxes; b++) {
    if (b == grid->box) axis->start = (int32_t)total;
    total += grid->widths[b];
  }
  PetscCheck(total <= PETSC_INT32_MAX && 2 * (PetscInt64)width < PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt64_FMT " points of a grid and a stencil width of %" PetscInt_FMT " are too many", total, width);
  axis->total = (int32_t)total;
  axis->width = (int32_t)grid->widths[grid->box];
  axis->edge  = (int32_t)PetscMin(width, (PetscInt)axis->width);
  if (axis->width <= 2 * (PetscInt64)width) axis->edge = axis->width;
  s->num_classes[which] = axis->edge == axis->width ? axis->width : 2 * axis->edge + 1;
  PetscCall(PetscMalloc1(s->num_classes[which], &s->reaches[which]));
  PetscCall(PetscMalloc1((size_t)s->num_classes[which] * (size_t)(2 * width + 1), &s->positions[which]));
  PetscCall(PetscMalloc1(2 * width + 1, &points));
  for (int32_t c = 0; c < s->num_classes[which]; c++) {
    const PetscInt x = axis->edge == axis->width || c <= axis->edge ? c : axis->width - s->num_classes[which] + c;
    StencilReach  *r = &s->reaches[which][c];

    PetscCall(Reach(grid, axis, width, x, points, s->positions[which] + n, r));
    r->begin = (int32_t)n;
    r->end += r->begin;
    r->center += r->begin;
    n = r->end;
  }
  PetscCall(PetscFree(points));
  s->num_positions[which] = (int32_t)n;
  axis->reaches           = s->reaches[which];
  axis->positions         = s->positions[which];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Marks the unknowns that unknown l has entries with. */
static void MarkFill(const PetscInt fill[], PetscInt dof, PetscInt l, PetscBool marks[])
{
  if (fill == NULL)
    for (PetscInt k = 0; k < dof; k++) marks[k] = PETSC_TRUE;
  else
    for (PetscInt k = fill[l]; k < fill[l + 1]; k++) marks[fill[k]] = PETSC_TRUE;
}

/* Lists of unknowns, sorted and without repeats. */
static PetscErrorCode CreateFills(const DCSRGridStencil *grid, DCSRStencil s)
{
  const PetscInt dof = grid->dof;
  PetscBool     *marks;
  PetscInt       n = 0;

  PetscFunctionBegin;
  if (grid->center_fill == NULL && grid->other_fill == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck((PetscInt64)NUM_FILLS * dof * dof <= PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " unknowns of a point are too many for fills", dof);
  PetscCall(PetscMalloc1(NUM_FILLS * dof + 1, &s->fill_begins));
  PetscCall(PetscMalloc1((size_t)NUM_FILLS * (size_t)dof * (size_t)dof, &s->fills));
  PetscCall(PetscMalloc1(dof, &marks));
  for (int fill = 0; fill < NUM_FILLS; fill++)
    for (PetscInt l = 0; l < dof; l++) {
      PetscCall(PetscArrayzero(marks, dof));
      if (fill != FILL_OTHER) MarkFill(grid->center_fill, dof, l, marks);
      if (fill != FILL_CENTER) MarkFill(grid->other_fill, dof, l, marks);
      s->fill_begins[fill * dof + l] = (int32_t)n;
      for (PetscInt k = 0; k < dof; k++)
        if (marks[k]) s->fills[n++] = (int32_t)k;
    }
  s->fill_begins[NUM_FILLS * dof] = (int32_t)n;
  PetscCall(PetscFree(marks));
  s->tables.fill_begins = s->fill_begins;
  s->tables.fills       = s->fills;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const DCSRGridStencil *grid, DCSRStencil s)
{
  PetscFunctionBegin;
  s->tables.star = grid->star;
  s->tables.dof  = (int32_t)grid->dof;
  for (int k = 0; k < 3; k++) PetscCall(CreateAxis(&grid->axes[k], grid->width, k, s));
  PetscCheck((double)s->tables.axes[0].total * s->tables.axes[1].total * s->tables.axes[2].total * s->tables.dof <= (double)PETSC_INT32_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%d x %d x %d points with %d unknowns each are too many for 32-bit columns", (int)s->tables.axes[0].total, (int)s->tables.axes[1].total, (int)s->tables.axes[2].total, (int)s->tables.dof);
  PetscCall(CreateFills(grid, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRStencilCreate - Prepares a stencil for the rows of one box; grid: the grid and the stencil, not needed afterwards
  stencil is on the host, free it with DCSRStencilDestroy(); NULL after an error. PETSC_ERR_ARG_OUTOFRANGE when there are more than 2^31 - 1 unknowns. Cost: that of a few stencils, whatever the grid
  is; with fills, 3 dof^2 integers.
*/
PetscErrorCode DCSRStencilCreate(const DCSRGridStencil *grid, DCSRStencil *stencil)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(stencil));
  ierr = Create(grid, *stencil);
  if (ierr != PETSC_SUCCESS) PetscCall(DCSRStencilDestroy(stencil));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRStencilDestroy - Frees a stencil; NULL is fine, and *stencil is NULL afterwards */
PetscErrorCode DCSRStencilDestroy(DCSRStencil *stencil)
{
  PetscFunctionBegin;
  if (*stencil == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscFree((*stencil)->reaches[k]));
    PetscCall(PetscFree((*stencil)->positions[k]));
  }
  PetscCall(PetscFree((*stencil)->fill_begins));
  PetscCall(PetscFree((*stencil)->fills));
  PetscCall(PetscFree(*stencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRStencilNumRows - Unknowns in the own box */
PetscInt DCSRStencilNumRows(DCSRStencil stencil)
{
  const StencilAxis *axes = stencil->tables.axes;

  return (PetscInt)axes[0].width * axes[1].width * axes[2].width * stencil->tables.dof;
}

/* Points of the own box in a class. */
static PetscCount ClassSize(const StencilAxis *axis, int32_t c)
{
  return axis->edge < axis->width && c == axis->edge ? axis->width - 2 * axis->edge : 1;
}

/*
  DCSRStencilCount - How many entries the rows of the box have: num [2], with columns of the own box, and with others
  repeats: entries count as often as the stencil reaches them, which is more than once when it goes around a short axis; in a row no more than the box has unknowns. Cost: that of the points of a box
  twice as wide as the stencil, whatever the grid is.
*/
PetscErrorCode DCSRStencilCount(DCSRStencil stencil, PetscBool repeats, PetscCount num[2])
{
  const StencilTables *t    = &stencil->tables;
  const int64_t        most = DCSRStencilNumRows(stencil);
  int64_t              own, others;

  PetscFunctionBegin;
  num[0] = 0;
  num[1] = 0;
  for (int32_t z = 0; z < stencil->num_classes[2]; z++)
    for (int32_t y = 0; y < stencil->num_classes[1]; y++)
      for (int32_t x = 0; x < stencil->num_classes[0]; x++) {
        const PetscCount points = ClassSize(&t->axes[0], x) * ClassSize(&t->axes[1], y) * ClassSize(&t->axes[2], z);

        for (int32_t l = 0; l < (t->fill_begins != NULL ? t->dof : 1); l++) {
          const PetscCount rows = t->fill_begins != NULL ? points : points * t->dof;

          StencilRowSizes(t, &t->axes[0].reaches[x], &t->axes[1].reaches[y], &t->axes[2].reaches[z], l, repeats, &own, &others);
          num[0] += rows * (PetscCount)PetscMin(own, most);
          num[1] += rows * (PetscCount)others;
        }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of the rows of the points [0, n) of a class, one behind the other; with unknowns of different sizes they come in turn. */
static void RepeatSizes(const PetscInt sizes[], PetscInt dof, PetscInt n, PetscInt rows[])
{
  if (dof == 1)
    for (PetscInt p = 0; p < n; p++) rows[p] = sizes[0];
  else
    for (PetscInt p = 0; p < n; p++)
      for (PetscInt l = 0; l < dof; l++) rows[p * dof + l] = sizes[l];
}

/* The rows of a line of points along the first axis; sizes [2 dof] is scratch. */
static void CountLine(DCSRStencil s, const StencilReach *y, const StencilReach *z, PetscBool repeats, PetscInt most, PetscInt sizes[], PetscInt own[], PetscInt others[])
{
  const StencilTables *t   = &s->tables;
  PetscInt             row = 0;
  int64_t              size[2];

  for (int32_t x = 0; x < s->num_classes[0]; x++) {
    const PetscInt points = (PetscInt)ClassSize(&t->axes[0], x);

    for (int32_t l = 0; l < t->dof; l++) {
      StencilRowSizes(t, &t->axes[0].reaches[x], y, z, l, repeats, &size[0], &size[1]);
      sizes[l]          = (PetscInt)PetscMin(size[0], (int64_t)most);
      sizes[t->dof + l] = (PetscInt)size[1];
    }
    RepeatSizes(sizes, t->dof, points, own + row);
    if (others != NULL) RepeatSizes(sizes + t->dof, t->dof, points, others + row);
    row += points * t->dof;
  }
}

/* DCSRStencilCountRows - The same for each row, own and others [rows] on the host; others = NULL: not wanted. Cost: one pass over the arrays. */
PetscErrorCode DCSRStencilCountRows(DCSRStencil stencil, PetscBool repeats, PetscInt own[], PetscInt others[])
{
  const StencilAxis *axes = stencil->tables.axes;
  const PetscInt     most = DCSRStencilNumRows(stencil), line = (PetscInt)axes[0].width * stencil->tables.dof;
  PetscInt           row = 0, *sizes;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * (size_t)stencil->tables.dof, &sizes));
  for (int32_t z = 0; z < axes[2].width; z++)
    for (int32_t y = 0; y < axes[1].width; y++, row += line)
      CountLine(stencil, &axes[1].reaches[StencilClass(&axes[1], y)], &axes[2].reaches[StencilClass(&axes[2], z)], repeats, most, sizes, own + row, others != NULL ? others + row : NULL);
  PetscCall(PetscFree(sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
