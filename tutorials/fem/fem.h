#pragma once
/*
  Trilinear hexahedra for -div(k grad u) + u on the unit cube with k = 1 + x + y + z: the mesh and its element matrices, the same on host and device.

  The solution is cos(pi x) cos(pi y) cos(pi z), which has no flux through the boundary, so that no node is special.
*/
#include <petscksp.h>

#if defined(__CUDACC__)
  #define FEM_HOST_DEVICE __host__ __device__
#else
  #define FEM_HOST_DEVICE
#endif

/* The elements of this process. */
typedef struct {
  PetscInt  n;            /* elements in each direction */
  PetscInt  first;        /* number of the first element of this process; x runs fastest */
  PetscInt  num_elements; /* of this process */
  PetscInt *nodes;        /* [8 * num_elements] host: global numbers of the nodes, which are rows and columns; bit d of a node is its side in direction d */
  PetscInt *device_nodes; /* the same in device memory, NULL until needed */
} Mesh;

/* Gauss points and shape functions in one direction of the element [0, 1]: the shape function of a node at the Gauss point on the same side, and at the other one. */
#define FEM_NEAR ((PetscReal)0.78867513459481288)
#define FEM_FAR  ((PetscReal)1 - FEM_NEAR)

/* Coordinate of Gauss point q of an element in direction d. */
FEM_HOST_DEVICE static inline PetscReal GaussPoint(PetscInt n, PetscInt element, int d, int q)
{
  const PetscInt  stride[] = {1, n, n * n};
  const PetscReal lower    = (PetscReal)(element / stride[d] % n);

  return (lower + (q >> d & 1 ? FEM_NEAR : FEM_FAR)) * (1 / (PetscReal)n);
}

/* Shape function of node a at Gauss point q, and its gradient, for an element with sides of length 1 / n. */
FEM_HOST_DEVICE static inline PetscReal ShapeFunction(PetscInt n, int a, int q, PetscReal gradient[3])
{
  const int       same = ~(a ^ q); /* bit d: on the same side in direction d */
  const PetscReal fx = same & 1 ? FEM_NEAR : FEM_FAR, fy = same & 2 ? FEM_NEAR : FEM_FAR, fz = same & 4 ? FEM_NEAR : FEM_FAR;

  gradient[0] = (a & 1 ? n : -n) * (fy * fz);
  gradient[1] = (a & 2 ? n : -n) * (fx * fz);
  gradient[2] = (a & 4 ? n : -n) * (fx * fy);
  return fx * fy * fz;
}

/* Row a of the matrix of an element, by 2 x 2 x 2 Gauss points. */
FEM_HOST_DEVICE static inline void ElementMatrixRow(PetscInt n, PetscInt element, int a, PetscScalar row[8])
{
  const PetscReal h = 1 / (PetscReal)n, weight = h * h * h / 8;

  for (int b = 0; b < 8; b++) row[b] = 0;
#if defined(__CUDA_ARCH__)
  #pragma unroll
#endif
  for (int q = 0; q < 8; q++) {
    const PetscReal k = 1 + GaussPoint(n, element, 0, q) + GaussPoint(n, element, 1, q) + GaussPoint(n, element, 2, q);
    PetscReal       grad_a[3], grad_b[3];
    const PetscReal value_a = weight * ShapeFunction(n, a, q, grad_a);

    for (int d = 0; d < 3; d++) grad_a[d] *= weight * k;
#if defined(__CUDA_ARCH__)
  #pragma unroll
#endif
    for (int b = 0; b < 8; b++) {
      const PetscReal value_b = ShapeFunction(n, b, q, grad_b);

      row[b] += grad_a[0] * grad_b[0] + grad_a[1] * grad_b[1] + grad_a[2] * grad_b[2] + value_a * value_b;
    }
  }
}
