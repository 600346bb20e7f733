/*
  Linear elasticity: the stiffness matrix of one cube, times the modulus of each element. Rows of points that share no element with the clamped side vanish for rigid bodies.
*/
#include "hardelasticity.h"
#include "hardvolumes.h"

#define NUM_NODES 8               // of a brick
#define SIZE      (3 * NUM_NODES) // of its matrix

/* Coordinate d of node a: 0 or 1. */
static inline PetscInt NodeBit(PetscInt a, PetscInt d)
{
  return (a >> d) & 1;
}

/* Derivative of the shape function of node a in direction d at x. */
static double Derivative(PetscInt a, PetscInt d, const double x[3])
{
  double product = 1;

  for (PetscInt e = 0; e < 3; e++) {
    if (e == d) product *= NodeBit(a, e) ? 1 : -1;
    else product *= NodeBit(a, e) ? x[e] : 1 - x[e];
  }
  return product;
}

/* The matrix of the unit cube with modulus 1 by two Gauss points in each direction: the integral of lambda div u div v + 2 mu e(u) : e(v). */
static void ElementMatrix(double nu, double m[SIZE][SIZE])
{
  const double lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 1 / (2 * (1 + nu));

  for (PetscInt r = 0; r < SIZE; r++) {
    for (PetscInt c = 0; c < SIZE; c++) m[r][c] = 0;
  }
  for (PetscInt q = 0; q < 8; q++) {
    double x[3], g[NUM_NODES][3];

    for (PetscInt d = 0; d < 3; d++) x[d] = 0.5 + (NodeBit(q, d) ? 0.5 : -0.5) / sqrt(3);
    for (PetscInt r = 0; r < SIZE; r++) g[r / 3][r % 3] = Derivative(r / 3, r % 3, x);
    for (PetscInt r = 0; r < SIZE; r++) {
      for (PetscInt c = 0; c < SIZE; c++) {
        const double *a = g[r / 3], *b = g[c / 3], dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

        m[r][c] += (lambda * a[r % 3] * b[c % 3] + mu * a[c % 3] * b[r % 3] + (r % 3 == c % 3 ? mu * dot : 0)) / 8;
      }
    }
  }
}

/* Adds the element e, of which the point is node a, to the blocks of its 27 neighbors. */
static void AddElement(double m[SIZE][SIZE], double modulus, PetscInt a, double blocks[27][3][3])
{
  for (PetscInt b = 0; b < NUM_NODES; b++) {
    const PetscInt neighbor = 13 + NodeBit(b, 0) - NodeBit(a, 0) + 3 * (NodeBit(b, 1) - NodeBit(a, 1)) + 9 * (NodeBit(b, 2) - NodeBit(a, 2));

    for (PetscInt r = 0; r < 3; r++) {
      for (PetscInt c = 0; c < 3; c++) blocks[neighbor][r][c] += modulus * m[3 * a + r][3 * b + c];
    }
  }
}

/* Rows of one point. Points have x from 1 to n[0], the clamped ones have 0; moduli are those of the elements from the number first on. */
static void FillPoint(const PetscInt n[3], PetscInt point, double m[SIZE][SIZE], const double moduli[], PetscInt first, HardList *list)
{
  const PetscInt p[3]             = {point % n[0] + 1, point / n[0] % (n[1] + 1), point / n[0] / (n[1] + 1)};
  double         blocks[27][3][3] = {{{0}}};

  for (PetscInt a = 0; a < NUM_NODES; a++) {
    const PetscInt e[3] = {p[0] - NodeBit(a, 0), p[1] - NodeBit(a, 1), p[2] - NodeBit(a, 2)};

    if (e[0] < 0 || e[0] >= n[0] || e[1] < 0 || e[1] >= n[1] || e[2] < 0 || e[2] >= n[2]) continue;
    AddElement(m, moduli[e[0] + n[0] * (e[1] + n[1] * e[2]) - first], a, blocks);
  }
  for (PetscInt r = 0; r < 3; r++) {
    for (PetscInt k = 0; k < 27; k++) {
      const PetscInt q[3] = {p[0] + k % 3 - 1, p[1] + k / 3 % 3 - 1, p[2] + k / 9 - 1}, column = q[0] - 1 + n[0] * (q[1] + (n[1] + 1) * q[2]);

      if (q[0] < 1 || q[0] > n[0] || q[1] < 0 || q[1] > n[1] || q[2] < 0 || q[2] > n[2]) continue;
      for (PetscInt c = 0; c < 3; c++) HardListAdd(list, 3 * point + r, 3 * column + c, blocks[k][r][c]);
    }
  }
}

/* HardElasticityFill - see hardelasticity.h */
PetscErrorCode HardElasticityFill(const HardSystem *s, const PetscInt n[3], PetscInt begin, PetscInt end, PetscInt step, HardList *list)
{
  const PetscInt layer = n[0] * (n[1] + 1), first = PetscMax(begin / layer - 1, 0) * n[0] * n[1], last = PetscMin((end + layer - 1) / layer, n[2]) * n[0] * n[1];
  double         m[SIZE][SIZE], *moduli;

  PetscFunctionBegin;
  ElementMatrix((double)s->nu, m);
  PetscCall(PetscMalloc1(PetscMax(last - first, 1), &moduli));
  PetscCall(HardFieldFill(s, n, first, last, moduli));
  for (PetscInt e = first; e < last; e++) moduli[e - first] *= HardStepFactor(e, step);
  for (PetscInt point = begin; point < end; point++) FillPoint(n, point, m, moduli, first, list);
  PetscCall(PetscFree(moduli));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HardElasticityCoordinates - see hardelasticity.h */
PetscErrorCode HardElasticityCoordinates(const HardProblem *problem, PetscReal x[])
{
  const PetscInt *n = problem->n;

  PetscFunctionBegin;
  for (PetscInt point = problem->begin; point < problem->end; point++, x += 3) {
    x[0] = (PetscReal)(point % n[0] + 1);
    x[1] = (PetscReal)(point / n[0] % (n[1] + 1));
    x[2] = (PetscReal)(point / n[0] / (n[1] + 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
