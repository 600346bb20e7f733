#pragma once
/* Vectors that smoothing and smoothers need; device arrays. */
#include <petscsparsecuda/sys.h>

PETSC_INTERN PetscErrorCode DCSRSetNoise(PetscInt n, PetscInt begin, PetscScalar x[], cudaStream_t stream);                                                 /* x [n] on the device; asynchronous */
PETSC_INTERN PetscErrorCode DCSRReplaceZeros(PetscInt n, PetscScalar value, PetscBool reciprocals, PetscScalar x[], cudaStream_t stream, PetscBool *found); /* x [n] on the device */

/* Sums that kernels leave on the device, and the memory that they are made in: the caller's, the same for all steps of a method. */
#define DCSR_SUM_MAX    8    /* numbers that are added up at once */
#define DCSR_SUM_BLOCKS 1024 /* no launch has more */
#define DCSR_SUM_HEAD   256  /* bytes before the sums of thread blocks */
#define DCSR_SUM_BYTES  (DCSR_SUM_HEAD + DCSR_SUM_MAX * DCSR_SUM_BLOCKS * sizeof(PetscScalar))

#define DCSR_CG_SUMS 3 /* of a step */

/*
  Conjugate gradients for A with the diagonal preconditioner D, with a solution or without: what a step needs of others is its product w = A p and, where d is NULL, z in place of D r. A step has three
  sums on the device,

    sums[0] = r^H D r, sums[1] = |D r|^2 or, when residual says so, |r|^2, sums[2] = w^H p

  of which alpha = sums[0] / sums[2], and beta = next[0] / sums[0] with those of the next step, are made where they are used. On several processes the caller adds them up before a function that reads
  them.

  DCSRCGStart    - r = b, p = D r; writes sums[0] and sums[1]; without D p stays, and sums[0] is 0
  DCSRCGMultiply - writes sums[2]
  DCSRCGUpdate   - r = r - alpha w, x = x + alpha p; reads sums[0] and sums[2], writes next[0] and next[1]
  DCSRCGDots     - without D: writes next[0] and, unless residual, next[1] of z and r
  DCSRCGTurn     - p = D r + beta p; reads sums[0] and next[0]; without D r is z; sums NULL: beta is 0
  DCSRCGGet      - the sums of two steps to the host, which waits for the stream

  Input Parameters:
+ n        - entries of this process
. d        - [n] device, reciprocals
. b        - [n] device; may be r
. w        - [n] device
. residual - what the second sum is
. before   - [3] device, sums of the step before; NULL in the first step, or without x
- stream   - asynchronous on it

  Input/Output Parameters:
+ r    - [n] device
. p    - [n] device
. x    - [n] device; NULL: there is none. With it r and x stay as they are when sums[0] or sums[2] is 0, no number, or of another sign than the one before, as KSPCG then ends.
. work - [DCSR_SUM_BYTES] device
. sums - [3] device, of a step
- next - [3] device, of the next one

  Cost: one kernel each. DCSRCGStart() and DCSRCGTurn() read or write four vectors, without D two and three, DCSRCGMultiply() and DCSRCGDots() two, DCSRCGUpdate() four, with x seven. Sums are added in a fixed order.
*/
PETSC_INTERN PetscErrorCode DCSRCGStart(PetscInt n, const PetscScalar d[], const PetscScalar b[], PetscBool residual, PetscScalar r[], PetscScalar p[], void *work, PetscScalar sums[],
                                        cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCGMultiply(PetscInt n, const PetscScalar p[], const PetscScalar w[], void *work, PetscScalar sums[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCGUpdate(PetscInt n, const PetscScalar d[], const PetscScalar p[], const PetscScalar w[], PetscBool residual, const PetscScalar before[], const PetscScalar sums[],
                                         PetscScalar r[], PetscScalar x[], void *work, PetscScalar next[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCGDots(PetscInt n, const PetscScalar z[], const PetscScalar r[], PetscBool residual, void *work, PetscScalar next[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCGTurn(PetscInt n, const PetscScalar d[], const PetscScalar r[], const PetscScalar sums[], const PetscScalar next[], PetscScalar p[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRCGGet(const PetscScalar sums[], cudaStream_t stream, PetscScalar host[]); /* [2 * DCSR_CG_SUMS] each */

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
