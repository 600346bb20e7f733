#pragma once
/*
  Aggregates across processes: vertices of this process whose roots are on others, and members that others have of aggregates of this process.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include <petscsparsecuda/tentative.h>

/* Both sides. It is made by ForeignMembersCreate() and freed by ForeignMembersDestroy(); zero when no process has a root elsewhere. They travel in the order of owners, and of vertices for each. */
typedef struct {
  PetscInt           num;        /* vertices of this process whose roots are on others */
  int32_t           *positions;  /* [num_vertices + 1] device, owned: of DCSRAggregatesPositions() for them */
  int32_t           *vertices;   /* [num] device, owned: their local numbers, in the order in which they travel */
  int32_t           *numbers;    /* [num] device, owned: global coarse numbers of their aggregates, by position */
  PetscInt          *order;      /* [num] host, owned: their positions in the order in which they travel */
  int32_t           *places;     /* [num] device, owned: where each position travels; NULL: positions are in that order */
  RowMessages        messages;   /* from the owners of roots */
  int32_t           *aggregates; /* [members.num] device, owned: coarse numbers of the aggregates of members, by slot */
  int32_t           *scratch;    /* [members.num] device, owned */
  PetscInt          *host[2];    /* [members.num], [num] host, owned: numbers that are sent, and that have come */
  DCSRForeignMembers members;    /* num is set always, the rest when the members were asked for; slots are in the order in which they come */
  int32_t           *arrays;     /* [3 * members.num] device, owned: the arrays of members; NULL when they were not asked for */
} ForeignMembers;

/* foreignmembers.c */
PETSC_INTERN PetscErrorCode ForeignMembersCreate(Mat, PetscInt, DCSRAggregation, PetscInt, const int32_t[], PetscLayout, PetscInt, PetscBool, cudaStream_t, ForeignMembers *);
PETSC_INTERN PetscErrorCode ForeignMembersDestroy(ForeignMembers *, cudaStream_t);
PETSC_INTERN PetscErrorCode ForeignMembersGatherData(const ForeignMembers *, PetscInt, const PetscReal[], PetscReal[], cudaStream_t);
PETSC_INTERN PetscErrorCode ForeignMembersScatterValues(const ForeignMembers *, PetscInt, const PetscScalar[], PetscScalar[], PetscScalar[], cudaStream_t);
PETSC_INTERN PetscErrorCode ForeignMembersBcastCounts(const ForeignMembers *, const int32_t[], int32_t[], cudaStream_t);
