/*
  Finite volumes on boxes: two-point fluxes with harmonic means of the coefficients, and upwind convection. Rows whose cells touch no boundary sum up to zero.
*/
#include "hardvolumes.h"

#define NUM_COSINES 32

/* A cosine wave: its phases as unit complex numbers of each coordinate, which multiply. */
typedef struct {
  double *re[3], *im[3]; /* [n[d]] */
} Wave;

/* A normally distributed number of a key (Box and Muller 1958). */
static double Normal(PetscInt64 key)
{
  return sqrt(-2 * log(1 - HardHash(key, 1))) * cos(2 * (double)PETSC_PI * HardHash(key, 2));
}

/* Waves with normally distributed frequencies have the covariance exp(-(distance / length)^2 / 2). */
static PetscErrorCode WavesCreate(const HardSystem *s, const PetscInt n[3], Wave waves[])
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < NUM_COSINES; m++) {
    for (PetscInt d = 0; d < 3; d++) {
      const double frequency = Normal(3 * m + d) / (double)s->length, phase = d == 0 ? 2 * (double)PETSC_PI * HardHash(m, 3) : 0;

      PetscCall(PetscMalloc2(n[d], &waves[m].re[d], n[d], &waves[m].im[d]));
      for (PetscInt x = 0; x < n[d]; x++) {
        waves[m].re[d][x] = cos(frequency * (double)x + phase);
        waves[m].im[d][x] = sin(frequency * (double)x + phase);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WavesDestroy(Wave waves[])
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < NUM_COSINES; m++) {
    for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree2(waves[m].re[d], waves[m].im[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double WavesSum(const Wave waves[], PetscInt x, PetscInt y, PetscInt z)
{
  double sum = 0;

  for (PetscInt m = 0; m < NUM_COSINES; m++) {
    const double *const *re = (const double *const *)waves[m].re, *const *im = (const double *const *)waves[m].im;

    sum += (re[0][x] * re[1][y] - im[0][x] * im[1][y]) * re[2][z] - (re[0][x] * im[1][y] + im[0][x] * re[1][y]) * im[2][z];
  }
  return sum * sqrt(2.0 / NUM_COSINES);
}

/* The coefficient of a cell in blocks. */
static double BlockCoefficient(const HardSystem *s, const PetscInt n[3], PetscInt x, PetscInt y, PetscInt z)
{
  const PetscInt   bx = s->field == HARD_CHANNELS ? 0 : x / s->block, by = y / s->block, bz = z / s->block;
  const PetscInt64 number = bx + (n[0] / s->block + 1) * (by + (PetscInt64)(n[1] / s->block + 1) * bz);
  const PetscBool  other  = (PetscBool)(s->field == HARD_CHECKERBOARD ? (bx + by + bz) % 2 : HardHash(number, 4) < (double)s->fraction);

  return other ? (double)s->contrast : 1;
}

/* HardFieldFill - see hardvolumes.h */
PetscErrorCode HardFieldFill(const HardSystem *s, const PetscInt n[3], PetscInt begin, PetscInt end, double k[])
{
  Wave waves[NUM_COSINES];

  PetscFunctionBegin;
  if (s->field == HARD_LOGNORMAL) PetscCall(WavesCreate(s, n, waves));
  for (PetscInt cell = begin; cell < end; cell++) {
    const PetscInt x = cell % n[0], y = cell / n[0] % n[1], z = cell / n[0] / n[1];

    if (s->field == HARD_CONSTANT) k[cell - begin] = 1;
    else if (s->field == HARD_LOGNORMAL) k[cell - begin] = exp((double)s->sigma * WavesSum(waves, x, y, z));
    else k[cell - begin] = BlockCoefficient(s, n, x, y, z);
  }
  if (s->field == HARD_LOGNORMAL) PetscCall(WavesDestroy(waves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The spacing of cell x of n: from 1 to 1 / stretch in a geometric series. */
static double Spacing(const HardSystem *s, PetscInt n, PetscInt x)
{
  return s->stretch > 0 && n > 1 ? pow((double)s->stretch, -(double)x / (double)(n - 1)) : 1;
}

/*
  The flow in direction d through the face of a cell at x, y, z in [0, 1], the face's own coordinate and those of the cell's center; the largest speed is 1. What flows into a cell flows out, also
  after rounding to the faces: each component is at most quadratic in its own coordinate, and linear in those that the others are quadratic in.
*/
static double Velocity(const HardSystem *s, PetscInt d, const double x[3])
{
  static const double straight[3] = {5, 3, 1};

  if (s->flow == HARD_STRAIGHT) return straight[d] / sqrt(s->dim == 2 ? 34 : 35);
  if (s->dim == 2) return d == 0 ? 4 * x[0] * (1 - x[0]) * (2 * x[1] - 1) : -4 * (2 * x[0] - 1) * x[1] * (1 - x[1]);
  if (d == 0) return 4 * x[0] * (1 - x[0]) * (2 * x[1] - 1) * x[2];
  return d == 1 ? -2 * (2 * x[0] - 1) * x[1] * (1 - x[1]) : -2 * (2 * x[0] - 1) * (2 * x[1] - 1) * x[2] * (1 - x[2]);
}

/* What flows into a cell through its face of direction d and side -1 or 1, in multiples of the diffusion between cells. */
static double Inflow(const HardSystem *s, const PetscInt n[3], const PetscInt p[3], PetscInt d, PetscInt side)
{
  double x[3], flow;

  if (s->flow == HARD_NO_FLOW) return 0;
  for (PetscInt e = 0; e < 3; e++) x[e] = ((double)p[e] + 0.5) / (double)n[e];
  x[d] = (double)(p[d] + (side > 0)) / (double)n[d];
  flow = -(double)side * (double)s->peclet * Velocity(s, d, x);
  return PetscMax(flow, 0);
}

/* The coefficient of the flux through that face: k is that of the cell, other that of its neighbor, 0 at the boundary. */
static double Flux(const HardSystem *s, const PetscInt n[3], const PetscInt p[3], PetscInt d, PetscInt side, double k, double other)
{
  double area = s->weight[d] > 0 ? (double)s->weight[d] : 1, resistance = Spacing(s, n[d], p[d]) / k;

  for (PetscInt e = 0; e < s->dim; e++) area *= e == d ? 1 : Spacing(s, n[e], p[e]);
  if (other > 0) resistance += Spacing(s, n[d], p[d] + side) / other;
  return 2 * area / resistance + Inflow(s, n, p, d, side);
}

static void FillRow(const HardSystem *s, const PetscInt n[3], PetscInt row, const double k[], HardList *list)
{
  const PetscInt p[3] = {row % n[0], row / n[0] % n[1], row / n[0] / n[1]}, stride[3] = {1, n[0], n[0] * n[1]};
  double         diagonal = 0;

  for (PetscInt d = 0; d < s->dim; d++) {
    for (PetscInt side = -1; side <= 1; side += 2) {
      const PetscBool inside = (PetscBool)(p[d] + side >= 0 && p[d] + side < n[d]);
      const double    flux   = Flux(s, n, p, d, side, k[0], inside ? k[side * stride[d]] : 0);

      diagonal += flux;
      if (inside) HardListAdd(list, row, row + side * stride[d], -flux);
    }
  }
  HardListAdd(list, row, row, diagonal);
}

/* HardVolumesFill - see hardvolumes.h */
PetscErrorCode HardVolumesFill(const HardSystem *s, const PetscInt n[3], PetscInt begin, PetscInt end, PetscInt step, HardList *list)
{
  const PetscInt layer = s->dim == 3 ? n[0] * n[1] : n[0], first = PetscMax(begin - layer, 0), last = PetscMin(end + layer, n[0] * n[1] * n[2]);
  HardSystem     now = *s;
  double        *k;

  PetscFunctionBegin;
  if (step > 0) now.peclet *= (PetscReal)1.05;
  PetscCall(PetscMalloc1(last - first, &k));
  PetscCall(HardFieldFill(s, n, first, last, k));
  for (PetscInt cell = first; cell < last; cell++) k[cell - first] *= HardStepFactor(cell, step);
  for (PetscInt row = begin; row < end; row++) FillRow(&now, n, row, k + (row - first), list);
  PetscCall(PetscFree(k));
  PetscFunctionReturn(PETSC_SUCCESS);
}
