#pragma once
/* What a program can change of a PCGAMG that is set up, and what then becomes of cycles that were recorded. */
#include <petscksp.h>

typedef enum {
  CYCLES_PETSC, /* are PETSc's from then on */
  CYCLES_GRAPH, /* are recorded anew, or go on */
  CYCLES_ANY
} CyclesAfter;

typedef struct {
  const char *name;
  PetscErrorCode (*change)(PC, PetscInt); /* at a level that is neither the coarsest nor the finest */
  CyclesAfter after;
  PetscBool   noticed;  /* the key of cycles below the finest level is another one afterwards, also on the host */
  const char *smoother; /* the type that the change is for; NULL: any */
  PetscBool   sequential;
} Change;
extern const Change   Changes[];
extern const PetscInt NumChanges;
