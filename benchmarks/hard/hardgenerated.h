#pragma once
/*
  Small systems whose kinds are given and whose numbers are drawn, with which precisions of cycles are compared. The same seed gives the same systems.
*/
#include "hardsystem.h"
#include <petscksp.h>

#define HARD_NUM_GENERATED 200

typedef struct {
  char        name[64]; /* KIND-number */
  const char *kind;
  PetscInt    number; /* of this kind */
  HardSystem  system;
  PetscInt    unknowns; /* about */
  MatType     mat_type;
  KSPType     ksp_type;
  PetscBool   robust;   /* with the preset */
  PetscBool   solution; /* the right-hand side is that of a random solution, not random itself */

  /* What is done to the matrix of the system. */
  PetscReal scale;      /* it is multiplied; 0: it is not */
  PetscReal decades;    /* D A D, or D A where it is unsymmetric; the entries of D are over so many powers of ten; 0: it is A */
  PetscBool components; /* those are the same for the first unknowns of all points, the second, the third */
  PetscBool near_null;  /* the near null space of D A D is given */
  PetscBool plain;      /* no block size, no near null space */
  PetscReal shift;      /* A minus so many times the smallest eigenvalue of the Laplacian; 0: A */
  PetscBool unshifted;  /* the preconditioner is made of A */
  PetscReal singular;   /* rows sum to zero, plus so many times the largest entry; below zero: without that, with a null space; 0: A */
} HardGenerated;

PETSC_INTERN PetscErrorCode HardGeneratedGet(PetscInt, PetscInt, HardGenerated *); /* seed, number of all, the system */
/* about so many unknowns, 0: as drawn; matrix, matrix of the preconditioner, right-hand side. Collective */
PETSC_INTERN PetscErrorCode HardGeneratedCreate(MPI_Comm, const HardGenerated *, PetscInt, Mat *, Mat *, Vec *);
