#pragma once
/*
  The heat equation u' = div(k grad u) + s in the unit cube with u = 0 on its boundary, seven points: rows of the matrix and the source, the same on host and device.

  A part of the material that conducts ten times as well goes around the center once in a unit of time. The source is such that exp(-t) sin(pi x) sin(pi y) sin(pi z) is the solution.
*/
#include <petscts.h>

#if defined(__CUDACC__)
  #define HEAT_HOST_DEVICE __host__ __device__
#else
  #define HEAT_HOST_DEVICE
#endif

#define HEAT_POINTS 7              /* of a row: the point itself, then its neighbors below and above in each direction */
#define HEAT_BETTER ((PetscReal)9) /* by how much the material conducts better in the middle of that part */
#define HEAT_WIDTH  ((PetscReal)0.02)

/* The points of this process. */
typedef struct {
  PetscInt n;        /* inner points in each direction; x runs fastest */
  PetscInt first;    /* the first one of this process */
  PetscInt num_rows; /* of this process */
} HeatGrid;

/* What is added to 1 in the coefficient, and its vector from the middle of the part. */
HEAT_HOST_DEVICE static inline PetscReal HeatConducts(const PetscReal x[3], PetscReal t, PetscReal from[3])
{
  from[0] = x[0] - (PetscReal)0.5 - PetscCosReal(2 * PETSC_PI * t) / 4;
  from[1] = x[1] - (PetscReal)0.5 - PetscSinReal(2 * PETSC_PI * t) / 4;
  from[2] = x[2] - (PetscReal)0.5;
  return HEAT_BETTER * PetscExpReal(-(from[0] * from[0] + from[1] * from[1] + from[2] * from[2]) / HEAT_WIDTH);
}

HEAT_HOST_DEVICE static inline void HeatPoint(PetscInt n, PetscInt row, PetscReal x[3])
{
  const PetscReal h = 1 / (PetscReal)(n + 1);

  x[0] = h * (PetscReal)(row % n + 1);
  x[1] = h * (PetscReal)(row / n % n + 1);
  x[2] = h * (PetscReal)(row / n / n + 1);
}

/* Columns of a row; those on the boundary are negative, which COO lists ignore. */
HEAT_HOST_DEVICE static inline void HeatColumns(PetscInt n, PetscInt row, PetscInt columns[HEAT_POINTS])
{
  const PetscInt place[] = {row % n, row / n % n, row / n / n};
  PetscInt       stride  = 1;

  columns[0] = row;
  for (int d = 0; d < 3; d++, stride *= n) {
    columns[1 + 2 * d] = place[d] > 0 ? row - stride : -1;
    columns[2 + 2 * d] = place[d] < n - 1 ? row + stride : -1;
  }
}

/* A row of shift I - div(k grad) at a time. */
HEAT_HOST_DEVICE static inline void HeatRow(PetscInt n, PetscInt row, PetscReal t, PetscReal shift, PetscScalar values[HEAT_POINTS])
{
  const PetscReal h = 1 / (PetscReal)(n + 1);
  PetscReal       x[3], from[3], sum = shift;

  HeatPoint(n, row, x);
  for (int d = 0; d < 3; d++)
    for (int side = 0; side < 2; side++) {
      const PetscReal middle = x[d], step = side ? h / 2 : -h / 2;
      PetscReal       k;

      x[d]                     = middle + step;
      k                        = (1 + HeatConducts(x, t, from)) / (h * h);
      x[d]                     = middle;
      values[1 + 2 * d + side] = -k;
      sum += k;
    }
  values[0] = sum;
}

HEAT_HOST_DEVICE static inline PetscReal HeatSolution(PetscInt n, PetscInt row, PetscReal t)
{
  PetscReal x[3];

  HeatPoint(n, row, x);
  return PetscExpReal(-t) * PetscSinReal(PETSC_PI * x[0]) * PetscSinReal(PETSC_PI * x[1]) * PetscSinReal(PETSC_PI * x[2]);
}

/* u' - div(k grad u) of the solution. */
HEAT_HOST_DEVICE static inline PetscScalar HeatSource(PetscInt n, PetscInt row, PetscReal t)
{
  PetscReal x[3], s[3], c[3], from[3], better, along;

  HeatPoint(n, row, x);
  for (int d = 0; d < 3; d++) {
    s[d] = PetscSinReal(PETSC_PI * x[d]);
    c[d] = PetscCosReal(PETSC_PI * x[d]);
  }
  better = HeatConducts(x, t, from);
  along  = -2 * better / HEAT_WIDTH * PETSC_PI * (from[0] * c[0] * s[1] * s[2] + from[1] * s[0] * c[1] * s[2] + from[2] * s[0] * s[1] * c[2]);
  return PetscExpReal(-t) * ((3 * PETSC_PI * PETSC_PI * (1 + better) - 1) * s[0] * s[1] * s[2] - along);
}

/* heatkernels.cu: the same for all rows, asynchronous on the stream of the current PetscDeviceContext. Entry b of all rows stands before entry b + 1 of the first. */
PETSC_EXTERN PetscErrorCode HeatRowsOnDevice(const HeatGrid *, PetscReal t, PetscReal shift, PetscScalar values[]); /* [HEAT_POINTS * num_rows] device */
PETSC_EXTERN PetscErrorCode HeatSourceOnDevice(const HeatGrid *, PetscReal t, PetscScalar source[]);                /* [num_rows] device */
PETSC_EXTERN PetscErrorCode HeatAllocate(size_t bytes, PetscScalar **values);                                       /* device */
PETSC_EXTERN PetscErrorCode HeatFree(PetscScalar **values);
