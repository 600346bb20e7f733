#pragma once
/* The random order in which PCGAMG traverses the vertices of a graph, by the loop of PETSc. */
#include <petscsys.h>

static PetscErrorCode RandomOrder(PetscInt n, PetscInt permutation[])
{
  PetscRandom random;
  PetscBool  *was_target;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscCalloc1(n, &was_target));
  for (PetscInt k = 0; k < n; k++) permutation[k] = k;
  for (PetscInt k = 0; k < n; k++) {
    PetscReal number;
    PetscInt  target, moved;

    PetscCall(PetscRandomGetValueReal(random, &number));
    target = (PetscInt)(number * n) % n;
    if (was_target[target] || target == k) continue;
    moved               = permutation[target];
    permutation[target] = permutation[k];
    permutation[k]      = moved;
    was_target[target]  = PETSC_TRUE;
  }
  PetscCall(PetscFree(was_target));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}
