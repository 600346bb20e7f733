#pragma once
/*
  Graphs of meshes that are not in the order of a grid: lists of the keys of their entries (benchkeys.h), made on the device. The same mesh is the same graph in every run.
*/
#include <petscsparsecuda/sys.h>

typedef enum {
  BENCH_MESH_MORTON,   /* 27 points on n^3, points in Morton order; n is a power of 2 */
  BENCH_MESH_SHUFFLED, /* 27 points on n^3, points in the order of the grid, but each 64 that follow each other at random */
  BENCH_MESH_GEOMETRIC /* n points at random in the unit cube, in Morton order; neighbors are those nearer than a distance that gives 15 a point inside of the cube */
} BenchMeshKind;

typedef struct {
  BenchMeshKind kind;
  int32_t       n;   /* points, or points of an edge */
  int32_t       dof; /* unknowns a point: each entry of the graph is a block */
} BenchMesh;

PETSC_INTERN int32_t        BenchMeshRows(BenchMesh);
PETSC_INTERN PetscErrorCode BenchMeshKeys(BenchMesh, cudaStream_t, unsigned long long **, PetscCount *); /* keys in no order, to be freed with PetscSparseCUDAFree(), and their number; synchronizes */
