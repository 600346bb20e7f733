#pragma once
/* The limits of width.c, which the tests' library lowers (tests/lib/sys.c). */
#include <petscsparsecuda/dcsr.h>

PETSC_INTERN PetscCount DCSRMaxNarrow;   /* as many entries have 32-bit offsets */
PETSC_INTERN PetscCount DCSRMaxNonzeros; /* of a sequential matrix */
