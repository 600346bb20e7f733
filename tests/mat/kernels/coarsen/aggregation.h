#pragma once
/*
  Aggregates for the tests of kernels: made at random on the host, put on the device, with their members in the order in which PETSc lists them.
*/
#include "../entries/kerneltest.h"
#include <petscsparsecuda/tentative.h>

typedef struct {
  PetscInt  n;
  PetscInt  begin;
  PetscInt  max_root; /* one of so many vertices is a root, more or less; 0: none is */
  PetscBool foreign;  /* some roots and some members are on other processes */
  PetscBool two_hops; /* there are vertices that were taken away */
  PetscBool by_number;
} TestAggregationKind;

/* Arrays on the host and their copies on the device, all owned. */
typedef struct {
  DCSRAggregation    a;       /* device */
  DCSRForeignMembers foreign; /* device */
  int32_t           *parent;  /* [n] host */
  int32_t           *first;   /* [n] host; not used with one hop */
  int32_t           *numbers; /* [n] host: coarse number of a root, -1 elsewhere */
  int32_t           *arrays;  /* [3 * foreign.num] host: numbers, groups, slots */
  int64_t           *offsets; /* [num_roots + 1] host: of members */
  uint32_t          *members; /* [offsets[num_roots]] host: in order */
  int32_t           *device_parent, *device_first, *device_arrays;
} TestAggregation;

PETSC_INTERN const TestAggregationKind TestAggregationKinds[];
PETSC_INTERN const PetscInt            TestAggregationNumKinds;

PETSC_INTERN PetscErrorCode TestAggregationCreate(const TestAggregationKind *, cudaStream_t, TestAggregation *);
PETSC_INTERN PetscErrorCode TestAggregationDestroy(TestAggregation *, cudaStream_t);
PETSC_INTERN PetscErrorCode TestToHost(size_t n, const int32_t *device, cudaStream_t, int32_t **host); /* to be freed with PetscFree() */
