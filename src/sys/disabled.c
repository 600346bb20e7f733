/* What the library does not do with this PETSc, and why. It stays known until the process ends, as the PETSc does. */
#include <petscsparsecuda/disabled.h>

#define MAX_LINES 64 /* there is room for all that may be said: 20 functions of two parents, and the probes */

static const char *lines[MAX_LINES];
static int         num_lines = 0;

/* PetscSparseCUDADisabled - Notes what is left to PETSc, and why: a line for PetscInfo() and PetscSparseCUDAView(), borrowed for good. The same line is noted once. */
PetscErrorCode PetscSparseCUDADisabled(const char line[])
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(NULL, "%s\n", line));
  for (int k = 0; k < num_lines; k++) {
    if (!strcmp(lines[k], line)) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(num_lines < MAX_LINES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d lines about what is left to PETSc", MAX_LINES);
  lines[num_lines++] = line;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSparseCUDAGetDisabled - The k-th of these lines, counted from 0; NULL behind the last one */
const char *PetscSparseCUDAGetDisabled(int k)
{
  return k < num_lines ? lines[k] : NULL;
}
