#pragma once
/*
  Aggregates across processes: vertices of this process whose roots are on others, and members that others have of aggregates of this process.
*/
#include "gamg.h"
#include <petscsparsecuda/tentative.h>

/* Both sides. It is made by ForeignMembersCreate() and freed by ForeignMembersDestroy(); zero when no process has a root elsewhere. */
typedef struct {
  PetscInt           num;        /* vertices of this process whose roots are on others */
  int32_t           *positions;  /* [num_vertices + 1] device, owned: of DCSRAggregatesPositions() for them */
  int32_t           *vertices;   /* [num] device, owned: their local numbers, ascending */
  int32_t           *parents;    /* [num] device, owned: global numbers of their roots; NULL when made */
  int32_t           *groups;     /* [num] device, owned: where their owners sort them in; NULL when made */
  int32_t           *numbers;    /* [num] device, owned: global coarse numbers of their aggregates */
  PetscInt          *sent;       /* [num] pairs of global number and group, host, owned; NULL when made */
  PetscSF            roots;      /* roots: vertices of this process; leaves: those vertices, at their roots; NULL when made */
  PetscSF            aggregates; /* owned; roots: aggregates of this process; leaves: those vertices */
  PetscSF            multi;      /* borrowed from aggregates; roots: slots of foreign members; leaves: the same */
  const PetscInt    *degree;     /* [num_roots] host, borrowed from aggregates: foreign members of each aggregate */
  DCSRForeignMembers members;    /* num is set always, the rest when the members were asked for */
  int32_t           *arrays;     /* [3 * members.num] device, owned: the arrays of members; NULL when they were not asked for */
} ForeignMembers;

/* foreignmembers.c */
PETSC_INTERN PetscErrorCode ForeignMembersCreate(Mat, PetscInt, DCSRAggregation, PetscInt, const int32_t[], PetscLayout, PetscInt, PetscBool, cudaStream_t, ForeignMembers *);
PETSC_INTERN PetscErrorCode ForeignMembersDestroy(ForeignMembers *, cudaStream_t);
PETSC_INTERN PetscErrorCode ForeignMembersGatherData(ForeignMembers *, PetscInt, PetscReal[], PetscReal[], cudaStream_t);
PETSC_INTERN PetscErrorCode ForeignMembersScatterValues(ForeignMembers *, PetscInt, PetscScalar[], PetscScalar[], cudaStream_t);
PETSC_INTERN PetscErrorCode ForeignMembersBcastCounts(ForeignMembers *, int32_t[], int32_t[], cudaStream_t);
