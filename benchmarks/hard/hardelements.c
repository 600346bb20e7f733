/*
  Scalar finite elements: entries are sums of products of the matrices of one direction, which are made by quadrature on one element. Rows of points that share no element with the boundary sum up to
  zero.
*/
#include "hardelements.h"
#include <petscdt.h>

#define WIDTH (2 * HARD_MAX_DEGREE + 1)

/* Matrices of one direction: of values, of derivatives, of derivatives of the first factor with values of the second, and of the other way round. */
typedef enum {
  MASS,
  STIFFNESS,
  LEFT,
  RIGHT,
  NUM_KINDS
} Kind;

/* Entries of the row of a point by its position in its element (0: a vertex), and by the distance of the column. */
typedef struct {
  double value[NUM_KINDS][HARD_MAX_DEGREE][WIDTH];
} Line;

/* Values and derivatives of Lagrange's polynomials of the nodes at x. */
static void Lagrange(PetscInt degree, const PetscReal nodes[], double x, double value[], double derivative[])
{
  for (PetscInt a = 0; a <= degree; a++) {
    value[a]      = 1;
    derivative[a] = 0;
    for (PetscInt b = 0; b <= degree; b++) {
      const double distance = (double)(nodes[a] - nodes[b]);

      if (b == a) continue;
      derivative[a] = (derivative[a] * (x - (double)nodes[b]) + value[a]) / distance;
      value[a] *= (x - (double)nodes[b]) / distance;
    }
  }
}

/* Matrices of an element of length 1 with Gauss-Lobatto nodes. */
static PetscErrorCode ElementMatrices(PetscInt degree, double m[NUM_KINDS][HARD_MAX_DEGREE + 1][HARD_MAX_DEGREE + 1])
{
  PetscReal nodes[HARD_MAX_DEGREE + 1], points[HARD_MAX_DEGREE + 1], weights[HARD_MAX_DEGREE + 1];
  double    u[HARD_MAX_DEGREE + 1], du[HARD_MAX_DEGREE + 1];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(m, sizeof(double) * NUM_KINDS * (HARD_MAX_DEGREE + 1) * (HARD_MAX_DEGREE + 1)));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(degree + 1, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, nodes, weights));
  PetscCall(PetscDTGaussQuadrature(degree + 1, -1, 1, points, weights));
  for (PetscInt q = 0; q <= degree; q++) {
    Lagrange(degree, nodes, (double)points[q], u, du);
    for (PetscInt a = 0; a <= degree; a++) {
      for (PetscInt b = 0; b <= degree; b++) {
        m[MASS][a][b] += (double)weights[q] / 2 * u[a] * u[b];
        m[STIFFNESS][a][b] += (double)weights[q] * 2 * du[a] * du[b];
        m[LEFT][a][b] += (double)weights[q] * du[a] * u[b];
        m[RIGHT][a][b] += (double)weights[q] * u[a] * du[b];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vertex has entries of two elements. */
static PetscErrorCode LineCreate(PetscInt degree, Line *line)
{
  double m[NUM_KINDS][HARD_MAX_DEGREE + 1][HARD_MAX_DEGREE + 1];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(line, sizeof(*line)));
  PetscCall(ElementMatrices(degree, m));
  for (PetscInt kind = 0; kind < NUM_KINDS; kind++) {
    for (PetscInt a = 0; a < degree; a++) {
      for (PetscInt b = 0; b <= degree; b++) line->value[kind][a][b - a + degree] += m[kind][a][b];
    }
    for (PetscInt b = 0; b <= degree; b++) line->value[kind][0][b] += m[kind][degree][b];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tensor K of a direction that is strong and all others, in multiples of the sides of an element. Step 1 changes the scale of each direction. */
static void Tensor(const HardSystem *s, PetscInt step, double k[3][3])
{
  const double turn = PETSC_PI / 180 * (double)s->angle[0], rise = PETSC_PI / 180 * (double)s->angle[1], epsilon = s->epsilon > 0 ? (double)s->epsilon : 1;
  const double direction[3] = {cos(turn) * cos(rise), sin(turn) * cos(rise), sin(rise)};

  for (PetscInt a = 0; a < 3; a++) {
    for (PetscInt b = 0; b < 3; b++) {
      k[a][b] = (a == b ? epsilon : 0) + (1 - epsilon) * direction[a] * direction[b];
      if (step > 0) k[a][b] *= (1 + 0.02 * (double)a) * (1 + 0.02 * (double)b);
      if (s->height > 0) k[a][b] /= (a == s->dim - 1 ? (double)s->height : 1) * (b == s->dim - 1 ? (double)s->height : 1);
    }
  }
}

/* Which matrix of direction d the derivatives in a and b take. */
static Kind KindOf(PetscInt d, PetscInt a, PetscInt b)
{
  if (a == d) return b == d ? STIFFNESS : LEFT;
  return b == d ? RIGHT : MASS;
}

static double Entry(const HardSystem *s, const Line *line, double k[3][3], const PetscInt position[3], const PetscInt offset[3])
{
  double sum = 0;

  for (PetscInt a = 0; a < s->dim; a++) {
    for (PetscInt b = 0; b < s->dim; b++) {
      double product = k[a][b];

      if (product == 0) continue;
      for (PetscInt d = 0; d < s->dim; d++) product *= line->value[KindOf(d, a, b)][position[d]][offset[d] + s->degree];
      sum += product;
    }
  }
  return sum;
}

/* The points from which a row has entries: those of the elements around it. */
static void FillRow(const HardSystem *s, const PetscInt n[3], PetscInt row, const Line *line, double k[3][3], HardList *list)
{
  const PetscInt m[3] = {n[0] * s->degree - 1, n[1] * s->degree - 1, s->dim == 3 ? n[2] * s->degree - 1 : 1};
  const PetscInt p[3] = {row % m[0], row / m[0] % m[1], row / m[0] / m[1]};
  PetscInt       position[3], low[3] = {0, 0, 0}, high[3] = {0, 0, 0}, offset[3];

  for (PetscInt d = 0; d < s->dim; d++) {
    position[d] = (p[d] + 1) % s->degree;
    low[d]      = PetscMax(position[d] == 0 ? -s->degree : -position[d], -p[d]);
    high[d]     = PetscMin(s->degree - position[d], m[d] - 1 - p[d]);
  }
  for (offset[2] = low[2]; offset[2] <= high[2]; offset[2]++) {
    for (offset[1] = low[1]; offset[1] <= high[1]; offset[1]++) {
      for (offset[0] = low[0]; offset[0] <= high[0]; offset[0]++) HardListAdd(list, row, row + offset[0] + m[0] * (offset[1] + m[1] * offset[2]), Entry(s, line, k, position, offset));
    }
  }
}

/* HardElementsFill - see hardelements.h */
PetscErrorCode HardElementsFill(const HardSystem *s, const PetscInt n[3], PetscInt begin, PetscInt end, PetscInt step, HardList *list)
{
  double k[3][3];
  Line   line;

  PetscFunctionBegin;
  PetscCall(LineCreate(s->degree, &line));
  Tensor(s, step, k);
  for (PetscInt row = begin; row < end; row++) FillRow(s, n, row, &line, k, list);
  PetscFunctionReturn(PETSC_SUCCESS);
}
