static char help[] =
  "Patterns of stencils on grids that are cut into boxes, both blocks of every box, against loops over all pairs of points; out of memory at each allocation. Counts on the host need no device.\n\n";

#include "../entries/kerneltest.h"
#include "../../../lib/sys.h"
#include <petscsparsecuda/stencil.h>

#define MAX_BOXES 3

typedef struct {
  PetscInt     num_boxes[3], widths[3][MAX_BOXES];
  DCSRGridEnds ends[3];
  PetscInt     width;
  PetscBool    star;
  PetscInt     dof;
  PetscBool    fills;
} Grid;

static const Grid grids[] = {{{1, 1, 1}, {{1}, {1}, {1}}, {DCSR_GRID_CUT, DCSR_GRID_CUT, DCSR_GRID_CUT}, 1, PETSC_TRUE, 1, PETSC_FALSE},
                             {{3, 1, 1}, {{4, 2, 5}, {1}, {1}}, {DCSR_GRID_CUT, DCSR_GRID_CUT, DCSR_GRID_CUT}, 2, PETSC_FALSE, 2, PETSC_FALSE},
                             {{2, 1, 1}, {{7, 6}, {1}, {1}}, {DCSR_GRID_REFLECT, DCSR_GRID_CUT, DCSR_GRID_CUT}, 3, PETSC_TRUE, 1, PETSC_FALSE},
                             {{2, 2, 1}, {{3, 4}, {5, 2}, {1}}, {DCSR_GRID_WRAP, DCSR_GRID_WRAP, DCSR_GRID_CUT}, 2, PETSC_TRUE, 1, PETSC_FALSE},
                             {{2, 3, 1}, {{3, 4}, {5, 2, 3}, {1}}, {DCSR_GRID_WRAP, DCSR_GRID_CUT, DCSR_GRID_CUT}, 2, PETSC_FALSE, 3, PETSC_TRUE},
                             {{1, 1, 1}, {{3}, {1}, {1}}, {DCSR_GRID_WRAP, DCSR_GRID_WRAP, DCSR_GRID_CUT}, 1, PETSC_FALSE, 2, PETSC_TRUE},
                             {{2, 2, 2}, {{3, 2}, {2, 3}, {3, 3}}, {DCSR_GRID_CUT, DCSR_GRID_CUT, DCSR_GRID_CUT}, 1, PETSC_TRUE, 1, PETSC_FALSE},
                             {{3, 2, 2}, {{3, 2, 2}, {2, 3}, {3, 3}}, {DCSR_GRID_WRAP, DCSR_GRID_CUT, DCSR_GRID_WRAP}, 2, PETSC_FALSE, 1, PETSC_FALSE},
                             {{2, 3, 2}, {{5, 6}, {4, 5, 3}, {6, 2}}, {DCSR_GRID_WRAP, DCSR_GRID_WRAP, DCSR_GRID_CUT}, 1, PETSC_TRUE, 2, PETSC_TRUE},
                             {{1, 1, 2}, {{4}, {5}, {3, 4}}, {DCSR_GRID_CUT, DCSR_GRID_CUT, DCSR_GRID_CUT}, 0, PETSC_FALSE, 3, PETSC_FALSE}};

/* Fills of two and of three unknowns, neither sorted nor without repeats. */
static const PetscInt center_fills[2][10] = {{3, 4, 6, 1, 1, 0}, {4, 6, 9, 10, 0, 1, 2, 1, 2, 0}}, other_fills[2][8] = {{3, 3, 6, 1, 0, 1}, {4, 5, 5, 8, 2, 1, 0, 1}};

/* The box of a point on one axis, and its position there. */
static void Locate(const Grid *g, int axis, PetscInt x, PetscInt *box, PetscInt *position)
{
  for (*box = 0; x >= g->widths[axis][*box]; (*box)++) x -= g->widths[axis][*box];
  *position = x;
}

/* Number of a point, and of its box. */
static PetscInt Number(const Grid *g, const PetscInt x[], PetscInt *number_of_box)
{
  PetscInt box[3], position[3], before = 0;

  for (int k = 0; k < 3; k++) Locate(g, k, x[k], &box[k], &position[k]);
  *number_of_box = box[0] + g->num_boxes[0] * (box[1] + g->num_boxes[1] * box[2]);
  for (PetscInt b = 0; b < *number_of_box; b++) before += g->widths[0][b % g->num_boxes[0]] * g->widths[1][b / g->num_boxes[0] % g->num_boxes[1]] * g->widths[2][b / g->num_boxes[0] / g->num_boxes[1]];
  return before + position[0] + g->widths[0][box[0]] * (position[1] + g->widths[1][box[1]] * position[2]);
}

/* Where coordinate x of the axis is; -1: nowhere. */
static PetscInt Bring(const Grid *g, int axis, PetscInt x)
{
  PetscInt total = 0;

  for (PetscInt b = 0; b < g->num_boxes[axis]; b++) total += g->widths[axis][b];
  if (g->ends[axis] == DCSR_GRID_WRAP) return (x + 100 * total) % total;
  if (g->ends[axis] == DCSR_GRID_REFLECT && x < 0) x = -x;
  else if (g->ends[axis] == DCSR_GRID_REFLECT && x >= total) x = 2 * total - 2 - x;
  return x >= 0 && x < total ? x : -1;
}

/* Marks the entries of all unknowns of a point in a dense matrix [size][size]. */
static void MarkPoint(const Grid *g, const PetscInt x[], PetscInt size, char *dense)
{
  PetscInt box, row = Number(g, x, &box) * g->dof, o[3];

  for (o[2] = -g->width; o[2] <= g->width; o[2]++)
    for (o[1] = -g->width; o[1] <= g->width; o[1]++)
      for (o[0] = -g->width; o[0] <= g->width; o[0]++) {
        const PetscInt  y[3] = {Bring(g, 0, x[0] + o[0]), Bring(g, 1, x[1] + o[1]), Bring(g, 2, x[2] + o[2])};
        const PetscInt  off  = (o[0] != 0) + (o[1] != 0) + (o[2] != 0);
        const PetscInt *fill = off == 0 ? center_fills[g->dof == 3] : other_fills[g->dof == 3];
        PetscInt        column;

        if (y[0] < 0 || y[1] < 0 || y[2] < 0 || (g->star && off > 1)) continue;
        column = Number(g, y, &box) * g->dof;
        for (PetscInt l = 0; l < g->dof; l++) {
          if (g->fills)
            for (PetscInt k = fill[l]; k < fill[l + 1]; k++) dense[(row + l) * size + column + fill[k]] = 1;
          else
            for (PetscInt k = 0; k < g->dof; k++) dense[(row + l) * size + column + k] = 1;
        }
      }
}

/* Rows of a dense matrix, columns inside a range or outside of it. */
static PetscErrorCode Cut(const char *dense, PetscInt size, PetscInt first, PetscInt m, PetscBool outside, KernelTestMatrix *A)
{
  PetscFunctionBegin;
  A->name = "stencil";
  A->m    = m;
  A->n    = outside ? size : m;
  PetscCall(PetscMalloc1(m + 1, &A->i));
  PetscCall(PetscCalloc2(m * size, &A->j, m * size, &A->a));
  A->i[0] = 0;
  for (PetscInt r = 0; r < m; r++) {
    A->i[r + 1] = A->i[r];
    for (PetscInt c = 0; c < size; c++)
      if (dense[(first + r) * size + c] && (PetscBool)(c < first || c >= first + m) == outside) A->j[A->i[r + 1]++] = outside ? c : c - first;
  }
  A->nz = A->i[m];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With every allocation failing once the error is that, and nothing stays. */
static PetscErrorCode Build(DCSRStencil stencil, PetscBool outside, cudaStream_t stream, DCSRView *view)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;

  PetscFunctionBegin;
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    TestLibCallFailing(n, ierr, DCSRStencilBuild(stencil, outside, stream, view));
    PetscCheck(ierr == PETSC_SUCCESS || view->row_offsets == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "There is a matrix after an error");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDevice(DCSRStencil stencil, PetscBool outside, const KernelTestMatrix *expected)
{
  DCSRView         view;
  KernelTestMatrix got;
  cudaStream_t     stream;
  size_t           before, after;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(Build(stencil, outside, stream, &view));
  PetscCheck(view.num_rows == expected->m && view.num_columns == expected->n && view.num_nonzeros == expected->nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Sizes of the matrix of a stencil");
  PetscCall(KernelTestMatrixFromView(view, stream, &got));
  PetscCall(KernelTestMatrixCompare(&got, expected, 0.0, "stencil"));
  PetscCall(KernelTestMatrixDestroy(&got));
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(KernelTestMemoryInUse(stream, &after));
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes of device memory were not freed", after - before);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of one box. */
static PetscErrorCode TestBox(const Grid *g, PetscInt number, const char *dense, PetscInt size, PetscInt first, PetscBool device)
{
  DCSRGridStencil  grid = {.width = g->width, .star = g->star, .dof = g->dof, .center_fill = g->fills ? center_fills[g->dof == 3] : NULL, .other_fill = g->fills ? other_fills[g->dof == 3] : NULL};
  DCSRStencil      stencil;
  PetscCount       num[2];
  PetscInt        *counts[2], m;
  KernelTestMatrix expected;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    grid.axes[k] = (DCSRGridAxis){g->num_boxes[k], g->widths[k], number % g->num_boxes[k], g->ends[k]};
    number /= g->num_boxes[k];
  }
  PetscCall(DCSRStencilCreate(&grid, &stencil));
  m = DCSRStencilNumRows(stencil);
  PetscCall(DCSRStencilCount(stencil, PETSC_FALSE, num));
  PetscCall(PetscMalloc2(m, &counts[0], m, &counts[1]));
  PetscCall(DCSRStencilCountRows(stencil, PETSC_FALSE, counts[0], counts[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(Cut(dense, size, first, m, (PetscBool)k, &expected));
    PetscCheck(num[k] == expected.nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries are counted in place of %" PetscCount_FMT, num[k], expected.nz);
    for (PetscInt r = 0; r < m; r++)
      PetscCheck(counts[k][r] == expected.i[r + 1] - expected.i[r], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries are counted in row %" PetscInt_FMT, counts[k][r], r);
    if (device) PetscCall(TestDevice(stencil, (PetscBool)k, &expected));
    PetscCall(KernelTestMatrixDestroy(&expected));
  }
  PetscCall(PetscFree2(counts[0], counts[1]));
  PetscCall(DCSRStencilDestroy(&stencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGrid(const Grid *g, PetscBool device)
{
  PetscInt total[3] = {0, 0, 0}, size, first = 0, x[3];
  char    *dense;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++)
    for (PetscInt b = 0; b < g->num_boxes[k]; b++) total[k] += g->widths[k][b];
  size = total[0] * total[1] * total[2] * g->dof;
  PetscCall(PetscCalloc1((size_t)size * (size_t)size, &dense));
  for (x[2] = 0; x[2] < total[2]; x[2]++)
    for (x[1] = 0; x[1] < total[1]; x[1]++)
      for (x[0] = 0; x[0] < total[0]; x[0]++) MarkPoint(g, x, size, dense);
  for (PetscInt b = 0; b < g->num_boxes[0] * g->num_boxes[1] * g->num_boxes[2]; b++) {
    PetscCall(TestBox(g, b, dense, size, first, device));
    first += g->widths[0][b % g->num_boxes[0]] * g->widths[1][b / g->num_boxes[0] % g->num_boxes[1]] * g->widths[2][b / g->num_boxes[0] / g->num_boxes[1]] * g->dof;
  }
  PetscCall(PetscFree(dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool device;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(PetscSparseCUDADeviceUsable(&device));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(grids); k++) PetscCall(TestGrid(&grids[k], device));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    test:
      suffix: host
      args: -device_enable none
    test:
      suffix: 1
      requires: cuda
    test:
      suffix: wide
      requires: cuda
      args: -mat_dcsr_test_wide_from 100

TEST*/
