#pragma once
/* Vectors that smoothing and smoothers need; device arrays. */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode DCSRSetNoise(PetscInt n, PetscInt begin, PetscScalar x[], cudaStream_t stream);                          /* x [n] on the device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRReplaceZeros(PetscInt n, PetscScalar value, PetscScalar x[], cudaStream_t stream, PetscBool *found); /* x [n] on the device; synchronizes */

/* Sums that kernels leave on the device, and the memory that they are made in: the caller's, the same for all steps of a method. */
#define DCSR_SUM_MAX    8    /* numbers that are added up at once */
#define DCSR_SUM_BLOCKS 1024 /* no launch has more */
#define DCSR_SUM_HEAD   256  /* bytes before the sums of thread blocks */
#define DCSR_SUM_BYTES  (DCSR_SUM_HEAD + DCSR_SUM_MAX * DCSR_SUM_BLOCKS * sizeof(PetscScalar))

/*
  Conjugate gradients without a solution, for A with the diagonal preconditioner D: what a step needs of others is its product w = A p. Step k has three sums, sums[3 k] and the next two on the device,

    sums[0] = r^H D r, sums[1] = |D r|^2, sums[2] = w^H p

  of which alpha = sums[0] / sums[2], and beta = sums[3] / sums[0] of the next one, are made where they are used. On several processes the caller adds them up before a function that reads them.

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
. work - [DCSR_SUM_BYTES] device
- sums - device, from the step's first one on

  Cost: one kernel each; four vectors are read or written by the first and by the last two, two by the second. Sums are added in a fixed order.
*/
PETSC_INTERN PetscErrorCode DCSRLanczosStart(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t); /* n, d, b, r, p, work, sums */
PETSC_INTERN PetscErrorCode DCSRLanczosMultiply(PetscInt, const PetscScalar[], const PetscScalar[], void *, PetscScalar[], cudaStream_t);                            /* n, p, w, work, sums */
PETSC_INTERN PetscErrorCode DCSRLanczosUpdate(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t);               /* n, d, w, r, work, sums */
PETSC_INTERN PetscErrorCode DCSRLanczosTurn(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], const PetscScalar[], cudaStream_t);                   /* n, d, r, p, sums */

/*
  The Arnoldi process for D A. A step normalizes w, which gives the next vector of the basis, needs A x of others, which is the new w, and makes D w orthogonal to the basis by classical Gram-Schmidt.
  On several processes the caller adds up the sums before a function that reads them.

  DCSRArnoldiStart     - w = D b; writes square, that of the norm of w
  DCSRArnoldiNormalize - v = x = w / |w|; reads square
  DCSRArnoldiProject   - w = D w; writes h[0] to h[count - 1], its inner products with the basis
  DCSRArnoldiSubtract  - w = w - basis h; reads these, and writes h[count], the square of the norm of w

  Input Parameters:
+ n      - entries of this process
. d      - [n] device, reciprocals
. b      - [n] device
. count  - vectors of the basis so far
. basis  - [count][n] device
- stream - asynchronous on it

  Input/Output Parameters:
+ w      - [n] device
. v      - [n] device, of the basis
. x      - [n] device, to be multiplied
. work   - [DCSR_SUM_BYTES] device
. square - [1] device
- h      - [count + 1] device, column of the Hessenberg matrix

  Cost: one kernel each, the third one a kernel for each DCSR_SUM_MAX vectors; it and the fourth read the basis. Sums are added in a fixed order.
*/
PETSC_INTERN PetscErrorCode DCSRArnoldiStart(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t);             /* n, d, b, w, work, square */
PETSC_INTERN PetscErrorCode DCSRArnoldiNormalize(PetscInt, const PetscScalar[], const PetscScalar[], PetscScalar[], PetscScalar[], cudaStream_t);                 /* n, square, w, v, x */
PETSC_INTERN PetscErrorCode DCSRArnoldiProject(PetscInt, const PetscScalar[], PetscInt, const PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t); /* n, d, count, basis, w, work, h */
PETSC_INTERN PetscErrorCode DCSRArnoldiSubtract(PetscInt, PetscInt, const PetscScalar[], PetscScalar[], void *, PetscScalar[], cudaStream_t);                     /* n, count, basis, w, work, h */
