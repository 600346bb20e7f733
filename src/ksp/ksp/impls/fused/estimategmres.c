/* KSPGMRES that estimates eigenvalues: the Arnoldi process without a solution. PETSc's code makes the eigenvalues, or singular values, of what it leaves in KSP_GMRES. */
#include "estimate.h"
#include "../../../../petsc/methods.h"

static PetscErrorCode (*parent_solve)(KSP) = NULL; /* KSPSolve_GMRES() */

/* Numbers of a step, for so many of them: a column of the Hessenberg matrix, with the square of its last entry in its place. That of the norm of D b is before the first column. */
static inline PetscScalar *Column(PetscScalar numbers[], PetscInt max_it, PetscInt k)
{
  return numbers + 1 + k * (max_it + 1);
}

static PetscErrorCode Start(const Estimate *e, Vec w)
{
  const PetscScalar *d, *b;
  PetscScalar       *array;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(e->d, &d, NULL));
  PetscCall(VecGetArrayReadAndMemType(e->b, &b, NULL));
  PetscCall(VecGetArrayWriteAndMemType(w, &array, NULL));
  ierr = DCSRArnoldiStart(e->n, d, b, array, e->work, e->numbers, e->stream);
  PetscCall(VecRestoreArrayWriteAndMemType(w, &array));
  PetscCall(VecRestoreArrayReadAndMemType(e->b, &b));
  PetscCall(VecRestoreArrayReadAndMemType(e->d, &d));
  PetscCall(ierr);
  PetscCall(EstimateAddUp(e, 1, e->numbers));
  PetscCall(PetscLogGpuFlops(3.0 * (PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vector k of the basis, and a copy to multiply with. */
static PetscErrorCode Normalize(const Estimate *e, const PetscScalar square[], Vec w, PetscInt k, Vec x)
{
  const PetscScalar *w_array;
  PetscScalar       *x_array;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(w, &w_array, NULL));
  PetscCall(VecGetArrayWriteAndMemType(x, &x_array, NULL));
  ierr = DCSRArnoldiNormalize(e->n, square, w_array, e->n > 0 ? e->basis + (PetscCount)k * e->n : NULL, x_array, e->stream);
  PetscCall(VecRestoreArrayWriteAndMemType(x, &x_array));
  PetscCall(VecRestoreArrayReadAndMemType(w, &w_array));
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops((PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D times the product w becomes orthogonal to so many vectors of the basis. */
static PetscErrorCode Orthogonalize(const Estimate *e, PetscInt count, Vec w, PetscScalar column[])
{
  const PetscScalar *d;
  PetscScalar       *array;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(e->d, &d, NULL));
  PetscCall(VecGetArrayAndMemType(w, &array, NULL));
  PetscCallGoto(ierr, restore, DCSRArnoldiProject(e->n, d, count, e->basis, array, e->work, column, e->stream));
  PetscCallGoto(ierr, restore, EstimateAddUp(e, count, column));
  PetscCallGoto(ierr, restore, DCSRArnoldiSubtract(e->n, count, e->basis, array, e->work, column, e->stream));
  PetscCallGoto(ierr, restore, EstimateAddUp(e, 1, column + count));
restore:
  PetscCall(VecRestoreArrayAndMemType(w, &array));
  PetscCall(VecRestoreArrayReadAndMemType(e->d, &d));
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops((3.0 + 4.0 * (PetscLogDouble)count) * (PetscLogDouble)e->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps, and their numbers to the host. */
static PetscErrorCode Iterate(KSP ksp, const Estimate *e, Vec x, Vec w, PetscInt num_numbers, PetscScalar numbers[])
{
  PetscFunctionBegin;
  PetscCall(Start(e, w));
  for (PetscInt k = 0; k < ksp->max_it; k++) {
    PetscCall(Normalize(e, k == 0 ? e->numbers : Column(e->numbers, ksp->max_it, k - 1) + k, w, k, x));
    PetscCall(MatMult(e->A, x, w));
    PetscCall(Orthogonalize(e, k + 1, w, Column(e->numbers, ksp->max_it, k)));
  }
  PetscCall(PetscSparseCUDACopyToHost(numbers, e->numbers, (size_t)num_numbers * sizeof(*numbers), e->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column k of the triangular factor of the Hessenberg matrix, by the plane rotations of the columns before and one more, which gives the residual. */
static PetscReal Rotate(const KSP_GMRES *gmres, PetscInt k)
{
  PetscScalar *h = HH(0, k);
  PetscReal    length;

  for (PetscInt j = 0; j < k; j++) {
    const PetscScalar upper = h[j], lower = h[j + 1];

    h[j]     = PetscConj(*CC(j)) * upper + *SS(j) * lower;
    h[j + 1] = *CC(j) * lower - *SS(j) * upper;
  }
  length      = PetscSqrtReal(PetscRealPart(PetscConj(h[k]) * h[k]) + PetscRealPart(PetscConj(h[k + 1]) * h[k + 1]));
  *CC(k)      = h[k] / length;
  *SS(k)      = h[k + 1] / length;
  h[k]        = length;
  *GRS(k + 1) = -*SS(k) * *GRS(k);
  *GRS(k)     = PetscConj(*CC(k)) * *GRS(k);
  return PetscAbsScalar(*GRS(k + 1));
}

/* What KSPGMRES leaves, of the numbers of the steps. usual PETSC_FALSE: PETSc's code would end with an exception, which it has to find itself. */
static PetscErrorCode Follow(KSP ksp, PetscScalar numbers[], PetscBool *usual)
{
  KSP_GMRES *gmres = (KSP_GMRES *)ksp->data;

  PetscFunctionBegin;
  *usual = (PetscBool)(EstimateAreFinite(1, numbers) && PetscRealPart(numbers[0]) > 0.0);
  if (!*usual) PetscFunctionReturn(PETSC_SUCCESS);
  ksp->its         = 0;
  gmres->it        = -1;
  gmres->fullcycle = 0;
  ksp->rnorm = gmres->rnorm0 = PetscSqrtReal(PetscRealPart(numbers[0]));
  *GRS(0)                    = ksp->rnorm;
  PetscCall((*ksp->converged)(ksp, 0, ksp->rnorm, &ksp->reason, ksp->cnvP));
  for (PetscInt k = 0; ksp->reason == KSP_CONVERGED_ITERATING; k++) {
    PetscScalar *column = Column(numbers, ksp->max_it, k);
    PetscReal    length;

    *usual = EstimateAreFinite(k + 2, column);
    if (!*usual) break;
    length = PetscSqrtReal(PetscRealPart(column[k + 1]));
    *usual = (PetscBool)(length > 0.0 && length >= PetscMin(PetscAbsScalar(length / *GRS(k)), gmres->haptol));
    if (!*usual) break;
    column[k + 1] = length;
    PetscCall(PetscArraycpy(HES(0, k), column, k + 2));
    PetscCall(PetscArraycpy(HH(0, k), column, k + 2));
    ksp->rnorm = Rotate(gmres, k);
    gmres->it  = k;
    ksp->its   = k + 1;
    PetscCall((*ksp->converged)(ksp, ksp->its, ksp->rnorm, &ksp->reason, ksp->cnvP));
    if (ksp->its == ksp->max_it && ksp->reason == KSP_CONVERGED_ITERATING) ksp->reason = KSP_DIVERGED_ITS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place of KSPSolve_GMRES(), for a KSP whose solution nobody wants; it is left as it is. */
static PetscErrorCode KSPSolve_GMRES_Estimate(KSP ksp)
{
  const KSP_GMRES *gmres       = (const KSP_GMRES *)ksp->data;
  const PetscBool  plain       = (PetscBool)(KSPGMRESIsClassical(ksp) && !ksp->calc_ritz && ksp->max_it <= gmres->max_k && gmres->vv_allocated >= 2);
  const PetscInt   num_numbers = plain ? 1 + ksp->max_it * (ksp->max_it + 1) : 0; // max_k is small
  PetscScalar     *numbers     = NULL;
  Estimate         e           = {0};
  PetscBool        can = PETSC_FALSE, usual = PETSC_FALSE;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, EstimateBegin(ksp, plain, EstimateHasPlainSettings(ksp), plain ? 2 : 0, gmres->vecs, ksp->max_it, num_numbers, &e, &can));
  if (can) {
    PetscCallGoto(ierr, cleanup, PetscMalloc1(num_numbers, &numbers));
    PetscCallGoto(ierr, cleanup, Iterate(ksp, &e, gmres->vecs[0], gmres->vecs[1], num_numbers, numbers));
    PetscCallGoto(ierr, cleanup, Follow(ksp, numbers, &usual));
    PetscCallGoto(ierr, cleanup, PetscInfo(ksp, usual ? "Estimated without a solution\n" : "Estimated by PETSc's code, because a step has broken down\n"));
  }
  if (!usual) PetscCallGoto(ierr, cleanup, (*parent_solve)(ksp));
cleanup:
  PetscCall(PetscFree(numbers));
  PetscCall(EstimateEnd(&e));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateGMRESRegister - Looks for KSPSolve_GMRES(), and whether PETSc's private struct is the one that we were compiled with: what its public functions set has to be found in our fields */
PetscErrorCode KSPEstimateGMRESRegister(PetscErrorCode (**parent)(KSP), PetscErrorCode (**solve)(KSP))
{
  const KSP_GMRES *gmres;
  KSP              ksp;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 17));
  PetscCall(KSPGMRESSetHapTol(ksp, 0.375));
  PetscCall(KSPGMRESSetBreakdownTolerance(ksp, 0.625));
  PetscCall(KSPGMRESSetPreAllocateVectors(ksp));
  gmres = (const KSP_GMRES *)ksp->data;
  if (gmres->hh_origin == NULL && gmres->vecs == NULL && gmres->max_k == 17 && gmres->haptol == (PetscReal)0.375 && gmres->breakdowntol == (PetscReal)0.625 && gmres->q_preallocate &&
      gmres->vv_allocated == 0)
    parent_solve = ksp->ops->solve;
  PetscCall(KSPDestroy(&ksp));
  *parent = parent_solve;
  *solve  = KSPSolve_GMRES_Estimate;
  PetscFunctionReturn(PETSC_SUCCESS);
}
