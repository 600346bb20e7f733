#pragma once
/*
  Aggregates in order, and the tentative prolongator of smoothed aggregation: the rows of the near null space that belong to an aggregate are factored, Q goes to the prolongator and R
  to the next level.

  A vertex stands for row_block rows. Coarse numbers count the roots of a process. Members of an aggregate that other processes have are foreign; what travels for them is in buffers
  of slots. Places count the vertices that have a row block in the prolongator's diagonal block, or in its off-diagonal one.
*/
#include <petscsparsecuda/dcsr.h>

/* The vertices of this process and their roots. All arrays are on the device and borrowed. */
typedef struct {
  PetscInt       num_vertices; /* below 2^31 - 3 */
  PetscInt       begin;        /* global number of the first one */
  PetscInt       num_roots;    /* of this process */
  const int32_t *parent;       /* [num_vertices] global number of the root of its aggregate; its own for a root; -1: in none */
  const int32_t *first;        /* [num_vertices] differs from parent where a root in the vertex's row took it from another one, or where that root is on another process; NULL: nowhere */
  PetscBool      by_number;    /* members in the order of their numbers; otherwise root, own, others', own that were taken away, others' in whose row the root is */
} DCSRAggregation;

/* Which vertices have a row block. */
typedef enum {
  DCSR_ROOT_OWN,    /* those with a root of this process: the diagonal block */
  DCSR_ROOT_FOREIGN /* those with a root of another one: the off-diagonal block */
} DCSRRootOwner;

/* Members that other processes have, ascending by global number. Arrays [num] on the device, borrowed; NULL without foreign members. */
typedef struct {
  PetscInt       num;
  PetscInt       num_below; /* with numbers below those of this process */
  const int32_t *numbers;   /* coarse number of the aggregate */
  const int32_t *groups;    /* what DCSRAggregatesListForeign() found at their owners */
  const int32_t *slots;     /* where they are in buffers that travel: a permutation of 0, ..., num - 1 */
} DCSRForeignMembers;

/* The members of all aggregates, in order; to be freed with DCSRMembersDestroy(). */
typedef struct {
  PetscInt   num_aggregates;
  PetscCount num_members;
  PetscCount max_size; /* of an aggregate */
  int64_t   *offsets;  /* [num_aggregates + 1] device, owned; NULL without aggregates */
  uint32_t  *members;  /* [num_members or more] device, owned: vertex of this process, or num_vertices + slot of a foreign one; NULL without vertices */
} DCSRMembers;

/* What the factorizations read and write. Arrays are on the device and borrowed. */
typedef struct {
  PetscInt         num_vertices, row_block, num_columns; /* num_columns: vectors of the near null space */
  const PetscReal *data;                                 /* [num_columns][num_vertices * row_block] near null space */
  const PetscReal *foreign_data;                         /* [slots][row_block][num_columns] its rows for foreign members; NULL without them */
  const int32_t   *positions;                            /* [num_vertices + 1] of DCSR_ROOT_OWN */
  PetscScalar     *values;                               /* [row blocks][row_block][num_columns] of the diagonal block, written: Q */
  PetscScalar     *foreign_values;                       /* [slots][row_block][num_columns] written: Q for foreign members; NULL without them */
  PetscReal       *coarse;                               /* [num_columns][num_aggregates * num_columns] written: R */
} DCSRTentative;

/* aggregates.cu */
PETSC_INTERN PetscErrorCode DCSRAggregatesNumber(DCSRAggregation, int32_t numbers[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAggregatesPositions(DCSRAggregation, DCSRRootOwner, int32_t positions[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAggregatesCount(DCSRAggregation, const int32_t numbers[], int32_t counts[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAggregatesCountForeign(PetscInt n, const int32_t numbers[], int32_t counts[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAggregatesGather(PetscInt n, const int32_t at[], const int32_t from[], int32_t to[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAggregatesListForeign(DCSRAggregation, const int32_t positions[], int32_t vertices[], int32_t parents[], int32_t groups[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRAggregatesSort(DCSRAggregation, const int32_t numbers[], DCSRForeignMembers, cudaStream_t, DCSRMembers *);
PETSC_INTERN PetscErrorCode DCSRMembersDestroy(DCSRMembers *, cudaStream_t);

/* tentative.cu */
PETSC_INTERN PetscErrorCode DCSRTentativeStructure(DCSRAggregation, DCSRRootOwner, const int32_t positions[], const int32_t numbers[], PetscInt row_block, PetscInt num_columns, cudaStream_t,
                                                   DCSRView);
PETSC_INTERN PetscErrorCode DCSRTentativeConstant(DCSRAggregation, DCSRRootOwner, const int32_t positions[], const int32_t numbers[], const int32_t counts[], PetscScalar values[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativeConstantCoarse(PetscInt num_roots, const int32_t counts[], PetscReal coarse[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativePackData(PetscInt n, const int32_t vertices[], PetscInt num_rows, PetscInt row_block, PetscInt num_columns, const PetscReal data[], PetscReal packed[],
                                                  cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativePlaceRows(PetscInt n, PetscInt width, const int32_t places[], const PetscScalar from[], PetscScalar to[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativeSetComponents(PetscInt num_rows, PetscInt row_block, PetscReal data[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativeSetOnes(PetscInt num_rows, PetscReal vector[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativeSetRealPart(PetscInt num_rows, const PetscScalar x[], PetscReal vector[], cudaStream_t);

/* smoothed.cu */
PETSC_INTERN PetscErrorCode DCSRTentativePack(int num_blocks, const DCSRView P0[], PetscInt begin, const int32_t ghosts[], int32_t numbers[], PetscScalar weights[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRTentativeLocalize(PetscInt n, PetscInt begin, PetscInt num_own, int32_t numbers[], cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSmoothTentative(int num_blocks, const DCSRView A[], const int32_t numbers[], const PetscScalar weights[], PetscReal factor, PetscReal threshold,
                                                const PetscReal null_vector[], PetscInt num_coarse, cudaStream_t, DCSRView *P, PetscBool *done);

/* factor.cu */
PETSC_INTERN PetscErrorCode DCSRTentativeFactor(DCSRTentative, const DCSRMembers *, cudaStream_t);
