#pragma once
/* Vectors that smoothing and smoothers need; device arrays. */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode DCSRSetNoise(PetscInt n, PetscInt begin, PetscScalar x[], cudaStream_t stream);                          /* x [n] on the device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRReplaceZeros(PetscInt n, PetscScalar value, PetscScalar x[], cudaStream_t stream, PetscBool *found); /* x [n] on the device; synchronizes */

/*
  Conjugate gradients without a solution, for A with the diagonal preconditioner D: what a step needs of others is its product w = A p. Step k has three sums, sums[3 k] on the device,

    sums[0] = r^H D r, sums[1] = |D r|^2, sums[2] = w^H p

  of which alpha = sums[0] / sums[2] and beta = sums[3] / sums[0] of the next one are made, where they are used. On several processes the caller adds them up before a function that reads them.

  DCSRLanczosStart    - r = b, p = D r; writes sums[0] and sums[1]
  DCSRLanczosMultiply - writes sums[2]
  DCSRLanczosUpdate   - r = r - alpha w; reads sums[0] and sums[2], writes sums[3] and sums[4]
  DCSRLanczosTurn     - p = D r + beta p; reads sums[0] and sums[3]

  Input Parameters:
+ n      - entries of this process
. d      - [n] device, reciprocals
. b      - [n] device
. w      - [n] device
- stream - asynchronous on it

  Input/Output Parameters:
+ r    - [n] device
. p    - [n] device
. work - [DCSR_LANCZOS_BYTES] device, the same one for all steps
- sums - device, from the step's first one on

  Cost: one kernel each; four vectors are read or written by the first and by the last two, two by the second. Sums are added in a fixed order.
*/
#define DCSR_LANCZOS_BLOCKS 1024 /* no launch has more */
#define DCSR_LANCZOS_HEAD   256  /* bytes */
#define DCSR_LANCZOS_BYTES  (DCSR_LANCZOS_HEAD + 2 * DCSR_LANCZOS_BLOCKS * sizeof(PetscScalar))
PETSC_INTERN PetscErrorCode DCSRLanczosStart(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t); /* n, d, b, r, p, work, sums */
PETSC_INTERN PetscErrorCode DCSRLanczosMultiply(PetscInt, const PetscScalar[], const PetscScalar[], void *, PetscScalar[], cudaStream_t);                            /* n, p, w, work, sums */
PETSC_INTERN PetscErrorCode DCSRLanczosUpdate(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t);               /* n, d, w, r, work, sums */
PETSC_INTERN PetscErrorCode DCSRLanczosTurn(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], const PetscScalar[], cudaStream_t);                   /* n, d, r, p, sums */
