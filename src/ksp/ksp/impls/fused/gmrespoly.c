/*
  KSPGMRESPOLY: the residual polynomial of some steps of GMRES, found in the setup with one vector and then the same for all. As it does not depend on the right-hand side it is linear, and may stand
  in a preconditioner of any Krylov method.
*/
#include <petscsparsecuda.h>
#include "fused.h"
#include "../../../../petsc/ksp.h"

#define MAX_DEGREE 64                            /* the setup keeps so many vectors, and products of more roots lose all digits */
#define NEGLIGIBLE (100 * PETSC_MACHINE_EPSILON) /* relative to what a number is the rest of */

/* v[j + 1] = B A v[j], without what lies in v[0] to v[j], whose factors go to a column of the Hessenberg matrix; not scaled yet. A second pass removes what rounding left. norm is that of B A v[j]. */
static PetscErrorCode ArnoldiStep(KSP ksp, Vec v[], PetscInt j, PetscScalar h[], PetscReal *norm, PetscReal *rest)
{
  Mat         A;
  PetscScalar c[MAX_DEGREE];

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatMult(A, v[j], ksp->work[0]));
  PetscCall(PCApply(ksp->pc, ksp->work[0], v[j + 1]));
  PetscCall(KSP_RemoveNullSpace(ksp, v[j + 1]));
  PetscCall(VecNorm(v[j + 1], NORM_2, norm));
  for (int pass = 0; pass < 2; pass++) {
    PetscCall(VecMDot(v[j + 1], j + 1, v, c));
    for (PetscInt i = 0; i <= j; i++) {
      h[i] += c[i];
      c[i] = -c[i];
    }
    PetscCall(VecMAXPYSmall(v[j + 1], j + 1, c, v));
  }
  PetscCall(VecNorm(v[j + 1], NORM_2, rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Hessenberg matrix H [degree][degree + 1], by columns and zero before, of n steps; fewer than the degree when the vectors are all of an invariant subspace. */
static PetscErrorCode Arnoldi(KSP ksp, Vec v[], PetscInt degree, PetscScalar H[], PetscInt *n, PetscBool *finite)
{
  const PetscInt ld = degree + 1;
  PetscReal      norm, rest;
  Mat            A;

  PetscFunctionBegin;
  *n = 0;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(KSPSetNoise_AIJCUDA(A, v[0]));
  PetscCall(VecNormalize(v[0], &norm));
  *finite = (PetscBool)!PetscIsInfOrNanReal(norm);
  if (norm == 0) PetscFunctionReturn(PETSC_SUCCESS); // there are no rows, or nothing but the null space
  while (*n < degree && *finite) {
    const PetscInt j = *n;

    PetscCall(ArnoldiStep(ksp, v, j, H + j * ld, &norm, &rest));
    *finite = (PetscBool) !(PetscIsInfOrNanReal(norm) || PetscIsInfOrNanReal(rest));
    *n      = j + 1;
    if (rest <= NEGLIGIBLE * norm) break;
    H[j * ld + j + 1] = rest;
    if (*finite) PetscCall(VecScale(v[j + 1], 1 / rest));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows i and i + 1 of a matrix, by columns, from one column on: the rotation that makes a zero of b below a, with r the norm of both. */
static void Rotate(PetscInt ld, PetscInt i, PetscInt begin, PetscInt end, PetscScalar a, PetscScalar b, PetscReal r, PetscScalar M[])
{
  for (PetscInt k = begin; k < end; k++) {
    PetscScalar *m = M + k * ld + i, upper = (PetscConj(a) * m[0] + PetscConj(b) * m[1]) / r;

    m[1] = (a * m[1] - b * m[0]) / r;
    m[0] = upper;
  }
}

/*
  With H = Q R, which has one row more than its n columns, and Q_1 all rows of Q but the last: H becomes R, and M, the identity before, Q^H, whose first n rows and columns are Q_1^H. n becomes less by
  one when the last column depends on the others, as in the invariant subspace of a singular operator.
*/
static void Factor(PetscInt ld, PetscInt *n, PetscScalar H[], PetscScalar M[])
{
  PetscReal largest = 0;

  for (PetscInt j = 0; j < *n; j++) {
    const PetscScalar a = H[j * ld + j], b = H[j * ld + j + 1];
    const PetscReal   r = PetscSqrtReal(PetscSqr(PetscAbsScalar(a)) + PetscSqr(PetscAbsScalar(b)));

    if (b == (PetscScalar)0.0 && r <= NEGLIGIBLE * largest) {
      *n = j; // the last one: nothing is zero below the diagonal but there
      return;
    }
    largest = PetscMax(largest, r);
    Rotate(ld, j, j, *n, a, b, r, H);
    Rotate(ld, j, 0, j + 2, a, b, r, M);
  }
}

/* Eigenvalues of G [n][n], by PETSc's LAPACK. */
static PetscErrorCode GetEigenvalues(PetscInt n, PetscScalar G[], PetscReal re[], PetscReal im[])
{
  KSP            ksp = NULL;
  PC             pc;
  Mat            A = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, MatCreateSeqDense(PETSC_COMM_SELF, n, n, G, &A));
  PetscCallGoto(ierr, cleanup, KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCallGoto(ierr, cleanup, KSPSetType(ksp, KSPPREONLY));
  PetscCallGoto(ierr, cleanup, KSPSetOperators(ksp, A, A));
  PetscCallGoto(ierr, cleanup, KSPGetPC(ksp, &pc));
  PetscCallGoto(ierr, cleanup, PCSetType(pc, PCNONE));
  PetscCallGoto(ierr, cleanup, KSPSetUp(ksp));
  PetscCallGoto(ierr, cleanup, KSPComputeEigenvaluesExplicitly(ksp, n, re, im));
cleanup:
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reciprocals of the harmonic Ritz values of H, which is overwritten: the eigenvalues of G = Q_1^H R^-1. That exists also where a Ritz value is infinite; its reciprocal is zero. */
static PetscErrorCode GetReciprocals(PetscInt degree, PetscScalar H[], PetscInt *n, PetscReal re[], PetscReal im[])
{
  const PetscInt ld = degree + 1;
  PetscScalar   *M, *G;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(ld * ld, &M, degree * degree, &G));
  for (PetscInt k = 0; k < ld; k++) M[k * ld + k] = 1;
  Factor(ld, n, H, M);
  for (PetscInt j = 0; j < *n; j++) {
    for (PetscInt i = 0; i < *n; i++) {
      PetscScalar sum = M[j * ld + i];

      for (PetscInt k = 0; k < j; k++) sum -= G[k * *n + i] * H[j * ld + k];
      G[j * *n + i] = sum / H[j * ld + j];
    }
  }
  if (*n > 0) ierr = GetEigenvalues(*n, G, re, im);
  PetscCall(PetscFree2(M, G));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The roots of reciprocals, without those that are infinite. */
static PetscInt GetRoots(PetscInt n, PetscReal re[], PetscReal im[])
{
  PetscReal largest = 0;
  PetscInt  num     = 0;

  for (PetscInt k = 0; k < n; k++) largest = PetscMax(largest, PetscSqrtReal(re[k] * re[k] + im[k] * im[k]));
  for (PetscInt k = 0; k < n; k++) {
    const PetscReal r = PetscSqrtReal(re[k] * re[k] + im[k] * im[k]), a = re[k], b = im[k];

    if (r <= PETSC_MACHINE_EPSILON * largest) continue;
    re[num]   = a / r / r;
    im[num++] = b == 0 ? 0 : -b / r / r;
  }
  return num;
}

/* The logarithm of how far a root is from another one, and in real arithmetic also from the conjugate of that one. */
static PetscReal GetDistance(PetscReal re, PetscReal im, PetscReal other_re, PetscReal other_im)
{
  PetscReal distance = PetscSqr(re - other_re) + PetscSqr(im - other_im);

  if (!PetscDefined(USE_COMPLEX) && other_im != 0) distance *= PetscSqr(re - other_re) + PetscSqr(im + other_im);
  return distance > 0 ? PetscLogReal(distance) : -PETSC_MAX_REAL;
}

/* Steps for a root, and in real arithmetic for its conjugate, too; how many. */
static PetscInt SetSteps(PetscReal re, PetscReal im, KSPGMRESPolyStep steps[])
{
#if PetscDefined(USE_COMPLEX)
  steps[0] = (KSPGMRESPolyStep){re, im, 1 / PetscCMPLX(re, im), 0};
  return 1;
#else
  const PetscReal r = PetscSqrtReal(re * re + im * im);

  steps[0] = (KSPGMRESPolyStep){re, im, im == 0 ? 1 / re : 1 / r, 0};
  if (im == 0) return 1;
  steps[1] = (KSPGMRESPolyStep){re, -im, 1 / r, 2 - 2 * re / r};
  return 2;
#endif
}

/*
  The steps of roots in the order of Leja: the root of largest modulus first, then always the one whose product of distances from those before is the largest. In real arithmetic a root comes with its
  conjugate.
*/
static PetscInt OrderSteps(PetscInt n, PetscReal re[], PetscReal im[], KSPGMRESPolyStep steps[])
{
  PetscReal score[MAX_DEGREE];
  PetscInt  num_steps = 0, num = 0;

  for (PetscInt k = 0; k < n; k++) {
    if (!PetscDefined(USE_COMPLEX) && im[k] < 0) continue;
    re[num]      = re[k];
    im[num]      = im[k];
    score[num++] = re[k] * re[k] + im[k] * im[k];
  }
  for (PetscInt first = 1; num > 0; first = 0) {
    PetscReal chosen_re, chosen_im;
    PetscInt  best = 0;

    for (PetscInt k = 1; k < num; k++)
      if (score[k] > score[best]) best = k;
    chosen_re = re[best];
    chosen_im = im[best];
    num_steps += SetSteps(chosen_re, chosen_im, steps + num_steps);
    num--;
    re[best]    = re[num];
    im[best]    = im[num];
    score[best] = score[num];
    for (PetscInt k = 0; k < num; k++) score[k] = (first ? 0 : score[k]) + GetDistance(re[k], im[k], chosen_re, chosen_im);
  }
  return num_steps;
}

/* The steps from the Hessenberg matrix of n steps of Arnoldi's process. */
static PetscErrorCode GetSteps(KSP_GMRESPoly *poly, PetscScalar H[], PetscInt n)
{
  PetscReal re[MAX_DEGREE], im[MAX_DEGREE];

  PetscFunctionBegin;
  PetscCall(GetReciprocals(poly->degree, H, &n, re, im));
  n               = GetRoots(n, re, im);
  poly->num_steps = OrderSteps(n, re, im, poly->steps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all processes. */
static PetscErrorCode SetUpPC(KSP ksp, PetscBool *failed)
{
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PCSetErrorIfFailure(ksp->pc, ksp->errorifnotconverged));
  PetscCall(PCSetUp(ksp->pc));
  PetscCall(PCReduceFailedReason(ksp->pc));
  PetscCall(PCGetFailedReason(ksp->pc, &reason));
  *failed = (PetscBool)(reason != PC_NOERROR);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices and their states. */
static PetscErrorCode GetStates(KSP ksp, PetscObjectId ids[2], PetscObjectState states[2])
{
  Mat mats[2];

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &mats[0], &mats[1]));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscObjectGetId((PetscObject)mats[k], &ids[k]));
    PetscCall(PetscObjectStateGet((PetscObject)mats[k], &states[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the steps are for the number of iterations, and the matrices, of now. The preconditioner may be meant to stay. */
static PetscErrorCode StepsAreCurrent(KSP ksp, PetscBool *current)
{
  const KSP_GMRESPoly *poly = (const KSP_GMRESPoly *)ksp->data;
  PetscObjectId        ids[2];
  PetscObjectState     states[2];

  PetscFunctionBegin;
  *current = (PetscBool)(poly->degree == ksp->max_it);
  if (!*current || KSPSetUpSeesValues() || ksp->pc->reusepreconditioner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GetStates(ksp, ids, states));
  for (int k = 0; k < 2; k++) *current = (PetscBool)(*current && ids[k] == poly->ids[k] && states[k] == poly->states[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the steps for the operator of now. */
static PetscErrorCode MakeSteps(KSP ksp)
{
  KSP_GMRESPoly *poly   = (KSP_GMRESPoly *)ksp->data;
  PetscInt       degree = ksp->max_it, n;
  PetscBool      finite = PETSC_TRUE, gamg;
  PetscScalar   *H      = NULL;
  Vec           *v      = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(degree <= MAX_DEGREE, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "The degree of KSPGMRESPOLY is the number of iterations, %" PetscInt_FMT ", and at most %d: choose it by KSPSetTolerances() or -%sksp_max_it", degree, MAX_DEGREE,
             ((PetscObject)ksp)->prefix != NULL ? ((PetscObject)ksp)->prefix : "");
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCGAMG, &gamg));
  PetscCheck(ksp->pc->ops->presolve == NULL || gamg, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "KSPGMRESPOLY does not work with preconditioners of type %s, which change the system before a solve: choose another one", ((PetscObject)ksp->pc)->type_name);
  PetscCall(PetscFree(poly->steps));
  poly->degree    = -1;
  poly->num_steps = 0;
  poly->setups++;
  PetscCall(SetUpPC(ksp, &poly->failed));
  PetscCall(GetStates(ksp, poly->ids, poly->states));
  PetscCall(PetscMalloc1(degree, &poly->steps));
  poly->degree = degree;
  if (degree == 0 || poly->failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(degree * (degree + 1), &H));
  PetscCallGoto(ierr, cleanup, KSPCreateVecs(ksp, degree + 1, &v, 0, NULL));
  PetscCallGoto(ierr, cleanup, Arnoldi(ksp, v, degree, H, &n, &finite));
  poly->failed = (PetscBool)!finite;
  if (n > 0 && finite) PetscCallGoto(ierr, cleanup, GetSteps(poly, H, n));
  if (poly->failed) PetscCallGoto(ierr, cleanup, PetscInfo(ksp, "There is no polynomial: the operator has values that are infinite or not a number\n"));
  else
    PetscCallGoto(ierr, cleanup,
                  PetscInfo(ksp, "A polynomial of degree %" PetscInt_FMT " of GMRES, from %" PetscInt_FMT " of %" PetscInt_FMT " steps of Arnoldi's process\n", poly->num_steps, n, degree));
cleanup:
  if (ierr != PETSC_SUCCESS) poly->degree = -1;
  PetscCall(PetscFree(H));
  PetscCall(VecDestroyVecs(degree + 1, &v));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_GMRESPoly(KSP ksp)
{
  PetscBool point_blocks;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCPBJACOBI, &point_blocks));
  PetscCall(KSPSetWorkVecs(ksp, point_blocks ? 3 : 2));
  PetscCall(MakeSteps(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps as kernels of the library. */
static PetscErrorCode SolveFused(const KSP_GMRESPoly *poly, KSPFusedIteration *iteration)
{
  PetscFunctionBegin;
  iteration->num_steps = poly->num_steps;
  for (PetscInt k = 0; k < poly->num_steps; k++) PetscCall(KSPFusedStep(iteration, poly->steps[k].alpha, 1 - poly->steps[k].gamma, poly->steps[k].gamma));
  PetscCall(KSPFusedEnd(iteration));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps as operations of vectors. Before the second step of a pair, z is still what the first one has added, alpha times: the iterate before is x - alpha z. */
static PetscErrorCode SolveVectors(KSP ksp)
{
  const KSP_GMRESPoly *poly = (const KSP_GMRESPoly *)ksp->data;
  Vec                  x = ksp->vec_sol, r = ksp->work[0], z = ksp->work[1];
  Mat                  A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  for (PetscInt k = 0; k < poly->num_steps; k++) {
    const KSPGMRESPolyStep *step = &poly->steps[k];

    PetscCall(KSPMonitor(ksp, k, 0));
    PetscCall(KSPLogResidualHistory(ksp, 0));
    if (k == 0 && ksp->guess_zero) PetscCall(VecCopy(ksp->vec_rhs, r));
    else {
      PetscCall(KSP_MatMult(ksp, A, x, r));
      PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
    }
    if (step->gamma != 0) PetscCall(VecAXPY(x, -step->gamma * step->alpha, z));
    PetscCall(KSP_PCApply(ksp, r, z));
    PetscCall(VecAXPY(x, step->alpha, z));
    ksp->its++;
  }
  PetscCall(KSPMonitor(ksp, ksp->its, 0));
  PetscCall(KSPLogResidualHistory(ksp, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_GMRESPoly(KSP ksp)
{
  const KSP_GMRESPoly *poly  = (const KSP_GMRESPoly *)ksp->data;
  PetscBool            plain = PETSC_FALSE, current;
  KSPFusedIteration    iteration;

  PetscFunctionBegin;
  PetscCall(StepsAreCurrent(ksp, &current));
  if (!current) PetscCall(MakeSteps(ksp)); // KSPSetTolerances() after the setup, or new values
  ksp->its   = 0;
  ksp->rnorm = 0;
  if (poly->failed) {
    if (ksp->reason == KSP_CONVERGED_ITERATING) ksp->reason = KSP_DIVERGED_NANORINF;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (poly->num_steps > 0) PetscCall(KSPFusedBegin(ksp, &iteration, &plain));
  if (plain) PetscCall(SolveFused(poly, &iteration));
  else PetscCall(SolveVectors(ksp));
  ksp->reason = KSP_CONVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPGMRESPolyGetFactors_AIJCUDA - Numbers that are others when the polynomial is another one; PETSC_FALSE: the KSP has another solve, or no polynomial. */
PetscBool KSPGMRESPolyGetFactors_AIJCUDA(KSP ksp, PetscReal factors[2])
{
  const KSP_GMRESPoly *poly = (const KSP_GMRESPoly *)ksp->data;

  if (ksp->ops->solve != KSPSolve_GMRESPoly || poly->num_steps == 0) return PETSC_FALSE;
  factors[0] = (PetscReal)poly->setups;
  factors[1] = (PetscReal)poly->num_steps;
  return PETSC_TRUE;
}

static PetscErrorCode KSPView_GMRESPoly(KSP ksp, PetscViewer viewer)
{
  const KSP_GMRESPoly *poly = (const KSP_GMRESPoly *)ksp->data;
  PetscBool            ascii;
  PetscViewerFormat    format;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerGetFormat(viewer, &format));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  polynomial of degree %" PetscInt_FMT "%s\n", poly->num_steps, poly->degree < 0 ? ", not set up" : poly->failed ? ": the setup has failed" : ""));
  for (PetscInt k = 0; k < poly->num_steps && format == PETSC_VIEWER_ASCII_INFO_DETAIL; k++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "    root %g %+gi\n", (double)poly->steps[k].re, (double)poly->steps[k].im));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPReset_GMRESPoly(KSP ksp)
{
  KSP_GMRESPoly *poly = (KSP_GMRESPoly *)ksp->data;

  PetscFunctionBegin;
  PetscCall(PetscFree(poly->steps));
  poly->degree    = -1;
  poly->num_steps = 0;
  poly->failed    = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_GMRESPoly(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPReset_GMRESPoly(ksp));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  KSPGMRESPOLY - KSPGMRESPOLY = "gmrespoly" - A fixed polynomial of GMRES, for smoothing unsymmetric systems.

  Options Database Keys:
+ -ksp_type gmrespoly - sets this type in `KSPSetFromOptions()`; for the smoothers of `PCGAMG` and `PCMG` it is `-mg_levels_ksp_type gmrespoly`
. -ksp_max_it <n>     - the degree, up to 64
- -ksp_fused <true>   - one kernel a step, with `PCJACOBI` and a matrix of ours on the device

  Level: intermediate

  Notes:
  `KSPSetUp()` does as many steps of Arnoldi's process as the degree says, with the preconditioned operator and a start vector that looks random and is always the same. The harmonic Ritz values become
  the roots of a polynomial p with p(0) = 1, the one that GMRES would have made for that vector, and each solve multiplies the error by p(B A): an iteration for each root. So a solve is a linear
  function of the right-hand side and the guess, as that of `KSPRICHARDSON` is, and no inner product is computed. It can be used inside of any Krylov method and for `KSPSolveTranspose()`, where
  `KSPGMRES` as a smoother would ask for `KSPFGMRES`.

  The polynomial needs no bounds of eigenvalues and no symmetry, and with complex eigenvalues it is damped where these are: `KSPCHEBYSHEV` diverges there. It is made again when the operator has
  changed, and costs as many products and twice as many passes of orthogonalization as `KSPGMRES` of that degree, whose vectors are freed after the setup.

  The roots are taken in the order of Leja; complex ones come in pairs, which with real `PetscScalar` take two steps of real numbers. When Arnoldi's process ends early, in an invariant subspace, there
  are fewer roots and iterations. Degrees above 30 or so lose digits.

  The preconditioner is on the left and the norm type `KSP_NORM_NONE`, the only ones: others are errors. A null space of the operator is removed as in `KSPRICHARDSON`. Solves end with
  `KSP_CONVERGED_ITS`; with `KSP_DIVERGED_NANORINF` where the setup has found values that are not finite.

  `KSPView()` shows the degree, with `::ascii_info_detail` also the roots.

  The method is that of Nachtigal, Reichel and Trefethen, A hybrid GMRES algorithm for nonsymmetric linear systems, SIAM J. Matrix Anal. Appl. 1992, with the roots in the form of Loe and Morgan,
  Toward efficient polynomial preconditioning for GMRES, Numer. Linear Algebra Appl. 2022; the order of conjugate roots is that of Bai, Hu and Reichel, A Newton basis GMRES implementation, IMA J.
  Numer. Anal. 1994.

  Errors: `PETSC_ERR_ARG_OUTOFRANGE` for a degree above 64.

.seealso: `KSPRICHARDSON`, `KSPCHEBYSHEV`, `KSPGMRES`, `PCGAMG`, `PetscSparseCUDAInitialize()`
M*/
static PetscErrorCode KSPCreate_GMRESPoly(KSP ksp)
{
  KSP_GMRESPoly *poly;

  PetscFunctionBegin;
  PetscCall(PetscNew(&poly));
  poly->degree = -1;
  ksp->data    = poly;
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 3));
  ksp->setupnewmatrix      = PETSC_TRUE;
  ksp->ops->setup          = KSPSetUp_GMRESPoly;
  ksp->ops->solve          = KSPSolve_GMRESPoly;
  ksp->ops->setfromoptions = KSPFusedSetFromOptions;
  ksp->ops->view           = KSPView_GMRESPoly;
  ksp->ops->reset          = KSPReset_GMRESPoly;
  ksp->ops->destroy        = KSPDestroy_GMRESPoly;
  ksp->ops->buildsolution  = KSPBuildSolutionDefault;
  ksp->ops->buildresidual  = KSPBuildResidualDefault;
  PetscCall(KSPFusedCreate(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPGMRESPolyRegister_AIJCUDA - Registers KSPGMRESPOLY. */
PetscErrorCode KSPGMRESPolyRegister_AIJCUDA(void)
{
  PetscFunctionBegin;
  PetscCall(KSPRegister(KSPGMRESPOLY, KSPCreate_GMRESPoly));
  PetscFunctionReturn(PETSC_SUCCESS);
}
