/*
  Estimates of eigenvalues as PETSc makes them, where the matrix is: those of the prolongator's smoothing in PCGAMG, and those of KSPCHEBYSHEV.

  What they start from is made on the device. Of KSPCG with PCJACOBI, which estimates where the matrix is known to be symmetric positive definite, nobody wants the solution. Its iterations are done without one, with all numbers
  on the device, and the host learns in the end what they were: PETSc's code makes eigenvalues of them.
*/
#include "fused.h"
#include "../../../pc/impls/jacobi/jacobi.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include <petscsparsecuda/smooth.h>
#include <../src/ksp/ksp/impls/cg/cgimpl.h>
#include <petsc/private/pcimpl.h>

#define MAX_STEPS 100 /* they are all done before the host looks whether fewer were enough */

/* KSPSolve_CG() of PETSc, a static function; NULL: KSP_CG is another struct than ours, and estimates are PETSc's */
static PetscErrorCode (*parent_solve)(KSP) = NULL;

/* What the steps of an estimate work on. Entry k of sums is described with DCSRLanczosStart(). */
typedef struct {
  Mat          A;
  Vec          d;       /* reciprocals of PCJACOBI, borrowed */
  Vec          b;       /* borrowed, as the next three */
  Vec          r, p, w; /* work vectors of the KSP */
  PetscInt     n;       /* entries of this process */
  PetscScalar *sums;    /* [3 max_it + 2] device, owned */
  char        *work;    /* [DCSR_LANCZOS_BYTES] device, owned */
  cudaStream_t stream;
} Lanczos;

/*
  KSPSetNoise_AIJCUDA - The vector that estimates start from: the entries that KSPSetNoisy_Private() gives, with the null space of the matrix removed

  Collective

  Input Parameter:
. A - of any type; its null space alone is read

  Output Parameter:
. v - of any type; made on the device when that is where its entries are

  Cost: one write of v. Nothing of the size of v goes between host and device.
*/
PetscErrorCode KSPSetNoise_AIJCUDA(Mat A, Vec v)
{
  PetscInt       n, begin;
  PetscScalar   *x;
  PetscMemType   memory;
  MatNullSpace   null_space;
  cudaStream_t   stream;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &begin, NULL));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayWriteAndMemType(v, &x, &memory));
  if (PetscMemTypeDevice(memory)) {
    PetscCallGoto(ierr, restore, PetscSparseCUDAGetStream(&stream));
    PetscCallGoto(ierr, restore, DCSRSetNoise(n, begin, x, stream));
  } else {
    for (PetscInt i = 0; i < n; i++) x[i] = KSPNoisyHash_Private(i + begin);
  }
restore:
  PetscCall(VecRestoreArrayWriteAndMemType(v, &x));
  PetscCall(ierr);
  PetscCall(MatGetNullSpace(A, &null_space));
  if (null_space != NULL) PetscCall(MatNullSpaceRemove(null_space, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a KSPCG does nothing but what the steps do, and nobody is told of them. The same on all processes, but for a preconditioner that has failed on some. */
static PetscBool HasPlainSettings(KSP ksp)
{
  const KSP_CG   *cg    = (const KSP_CG *)ksp->data;
  const PetscBool plain = (PetscBool)(cg->radius == 0.0 && cg->obj_min >= 0.0 && !cg->singlereduction && (!PetscDefined(USE_COMPLEX) || cg->type == KSP_CG_HERMITIAN));
  const PetscBool norms = (PetscBool)((ksp->normtype == KSP_NORM_NONE || (ksp->normtype == KSP_NORM_PRECONDITIONED && ksp->chknorm <= 0)) && ksp->res_hist == NULL && ksp->err_hist == NULL);
  const PetscBool tests = (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->converged == KSPConvergedDefault);

  return (PetscBool)(plain && norms && tests && KSPIsSilent(ksp) && ksp->calc_sings && ksp->guess_zero && !ksp->transpose_solve && ksp->pc_side == PC_LEFT && ksp->max_it > 0 && ksp->max_it <= MAX_STEPS && ksp->nwork == 3 &&
                     ksp->reason == KSP_CONVERGED_ITERATING);
}

/* Whether all processes can do the steps on the device; then lanczos has what they need. */
static PetscErrorCode Begin(KSP ksp, Lanczos *lanczos, PetscBool *can)
{
  const Vec    vecs[] = {ksp->vec_rhs, ksp->work[0], ksp->work[1], ksp->work[2]};
  MatNullSpace space;
  PetscBool    fused = PETSC_TRUE, device;

  PetscFunctionBegin;
  *can = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(((PetscObject)ksp)->options, NULL, "-ksp_fused", &fused, NULL));
  PetscCall(PetscOptionsGetBool(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-ksp_fused", &fused, NULL));
  PetscCall(PCGetOperators(ksp->pc, &lanczos->A, NULL));
  PetscCall(MatGetNullSpace(lanczos->A, &space));
  PetscCall(PCJacobiGetReciprocals_AIJCUDA(ksp->pc, &lanczos->d));
  if (!fused || space != NULL || lanczos->d == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDACanSmooth(lanczos->A, can));
  PetscCall(KSPFusedIsOnDevice(lanczos->d, &device));
  if (!device || !HasPlainSettings(ksp)) *can = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(vecs) && *can; k++) PetscCall(KSPFusedIsOnDevice(vecs[k], can));
  lanczos->b = vecs[0];
  lanczos->r = vecs[1];
  lanczos->w = vecs[2];
  lanczos->p = vecs[3];
  if (*can) {
    PetscCall(VecGetLocalSize(lanczos->b, &lanczos->n));
    PetscCall(PetscSparseCUDAGetStream(&lanczos->stream));
    PetscCall(PetscSparseCUDATryMalloc(3 * ksp->max_it + 2, lanczos->stream, &lanczos->sums));
    PetscCall(PetscSparseCUDATryMalloc(DCSR_LANCZOS_BYTES, lanczos->stream, &lanczos->work));
    if (lanczos->sums == NULL || lanczos->work == NULL) *can = PETSC_FALSE;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, can, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode End(Lanczos *lanczos)
{
  PetscFunctionBegin;
  if (lanczos->sums != NULL || lanczos->work != NULL) {
    PetscCall(PetscSparseCUDAFree(&lanczos->sums, lanczos->stream));
    PetscCall(PetscSparseCUDAFree(&lanczos->work, lanczos->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of this process become those of all. */
static PetscErrorCode AddUp(const Lanczos *lanczos, PetscInt n, PetscScalar sums[])
{
  const size_t bytes = (size_t)n * sizeof(*sums);
  PetscMPIInt  size;
  PetscScalar  host[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)lanczos->A), &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDACopyToHost(host, sums, bytes, lanczos->stream));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, host, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)lanczos->A)));
  PetscCall(PetscSparseCUDACopyToDevice(sums, host, bytes, lanczos->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Start(const Lanczos *lanczos)
{
  const PetscScalar *d, *b;
  PetscScalar       *r, *p;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(lanczos->d, &d, NULL));
  PetscCall(VecGetArrayReadAndMemType(lanczos->b, &b, NULL));
  PetscCall(VecGetArrayWriteAndMemType(lanczos->r, &r, NULL));
  PetscCall(VecGetArrayWriteAndMemType(lanczos->p, &p, NULL));
  ierr = DCSRLanczosStart(lanczos->n, d, b, r, p, lanczos->work, lanczos->sums, lanczos->stream);
  PetscCall(VecRestoreArrayWriteAndMemType(lanczos->p, &p));
  PetscCall(VecRestoreArrayWriteAndMemType(lanczos->r, &r));
  PetscCall(VecRestoreArrayReadAndMemType(lanczos->b, &b));
  PetscCall(VecRestoreArrayReadAndMemType(lanczos->d, &d));
  PetscCall(ierr);
  PetscCall(AddUp(lanczos, 2, lanczos->sums));
  PetscCall(PetscLogGpuFlops(5.0 * (PetscLogDouble)lanczos->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The direction of a step, which the one before has left there for the first; its product; the next residual. */
static PetscErrorCode Step(const Lanczos *lanczos, PetscInt k)
{
  PetscScalar *const sums = lanczos->sums + 3 * k;
  const PetscScalar *d, *w;
  PetscScalar       *r, *p;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(lanczos->d, &d, NULL));
  PetscCall(VecGetArrayAndMemType(lanczos->r, &r, NULL));
  if (k > 0) {
    PetscCallGoto(ierr, restore, VecGetArrayAndMemType(lanczos->p, &p, NULL));
    ierr = DCSRLanczosTurn(lanczos->n, d, r, p, sums - 3, lanczos->stream);
    PetscCall(VecRestoreArrayAndMemType(lanczos->p, &p));
    PetscCallGoto(ierr, restore, ierr);
  }
  PetscCallGoto(ierr, restore, MatMult(lanczos->A, lanczos->p, lanczos->w));
  PetscCallGoto(ierr, restore, VecGetArrayReadAndMemType(lanczos->w, &w, NULL));
  PetscCallGoto(ierr, restore, VecGetArrayReadAndMemType(lanczos->p, (const PetscScalar **)&p, NULL));
  ierr = DCSRLanczosMultiply(lanczos->n, p, w, lanczos->work, sums, lanczos->stream);
  if (ierr == PETSC_SUCCESS) ierr = AddUp(lanczos, 1, sums + 2);
  if (ierr == PETSC_SUCCESS) ierr = DCSRLanczosUpdate(lanczos->n, d, w, r, lanczos->work, sums, lanczos->stream);
  if (ierr == PETSC_SUCCESS) ierr = AddUp(lanczos, 2, sums + 3);
  PetscCall(VecRestoreArrayReadAndMemType(lanczos->p, (const PetscScalar **)&p));
  PetscCall(VecRestoreArrayReadAndMemType(lanczos->w, &w));
restore:
  PetscCall(VecRestoreArrayAndMemType(lanczos->r, &r));
  PetscCall(VecRestoreArrayReadAndMemType(lanczos->d, &d));
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops((k > 0 ? 12.0 : 9.0) * (PetscLogDouble)lanczos->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The convergence test before a step. */
static PetscErrorCode TestConvergence(KSP ksp, PetscInt k, const PetscScalar sums[])
{
  PetscFunctionBegin;
  ksp->rnorm = ksp->normtype == KSP_NORM_NONE ? 0.0 : PetscSqrtReal(PetscRealPart(sums[1]));
  PetscCall((*ksp->converged)(ksp, k, ksp->rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AreFinite(int n, const PetscScalar sums[])
{
  for (int k = 0; k < n; k++)
    if (PetscIsInfOrNanScalar(sums[k])) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Whether a step is one as that of a positive definite matrix and preconditioner is; before: sums of the one before, NULL for the first. */
static PetscBool IsUsual(const PetscScalar before[], const PetscScalar sums[])
{
  if (!AreFinite(5, sums) || sums[0] == (PetscScalar)0.0 || sums[2] == (PetscScalar)0.0) return PETSC_FALSE;
  return (PetscBool)(before == NULL || (PetscRealPart(before[0]) * PetscRealPart(sums[0]) > 0.0 && PetscRealPart(before[2]) * PetscRealPart(sums[2]) > 0.0));
}

/* What KSPCG leaves for its eigenvalues, a tridiagonal matrix, of the numbers of the steps. usual PETSC_FALSE: PETSc's code would end with an exception, which it has to find itself. */
static PetscErrorCode Follow(KSP ksp, const PetscScalar numbers[], PetscBool *usual)
{
  const KSP_CG *cg    = (const KSP_CG *)ksp->data;
  PetscScalar   alpha = 1.0, beta;

  PetscFunctionBegin;
  *usual = AreFinite(2, numbers);
  if (!*usual) PetscFunctionReturn(PETSC_SUCCESS);
  ksp->its = 0;
  cg->e[0] = 0.0;
  PetscCall(TestConvergence(ksp, 0, numbers));
  for (PetscInt k = 0; ksp->reason == KSP_CONVERGED_ITERATING; k++) {
    const PetscScalar *sums = numbers + 3 * k, *before = k > 0 ? sums - 3 : NULL;

    *usual = IsUsual(before, sums);
    if (!*usual) break;
    beta = before != NULL ? sums[0] / before[0] : 0.0;
    if (before != NULL) cg->e[k] = PetscSqrtReal(PetscAbsScalar(beta)) / alpha;
    alpha    = sums[0] / sums[2];
    cg->d[k] = PetscSqrtReal(PetscAbsScalar(beta)) * cg->e[k] + (PetscReal)1.0 / alpha;
    ksp->its = k + 1;
    PetscCall(TestConvergence(ksp, ksp->its, sums + 3));
    if (ksp->its == ksp->max_it && ksp->reason == KSP_CONVERGED_ITERATING) ksp->reason = KSP_DIVERGED_ITS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place of KSPSolve_CG(), for a KSP whose solution nobody wants; it is left as it is. */
static PetscErrorCode KSPSolve_CG_Estimate(KSP ksp)
{
  PetscScalar    numbers[3 * MAX_STEPS + 2];
  Lanczos        lanczos = {0};
  PetscBool      can = PETSC_FALSE, usual = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, Begin(ksp, &lanczos, &can));
  if (can) {
    PetscCallGoto(ierr, cleanup, Start(&lanczos));
    for (PetscInt k = 0; k < ksp->max_it; k++) PetscCallGoto(ierr, cleanup, Step(&lanczos, k));
    PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(numbers, lanczos.sums, (3 * (size_t)ksp->max_it + 2) * sizeof(*numbers), lanczos.stream));
    PetscCallGoto(ierr, cleanup, Follow(ksp, numbers, &usual));
    PetscCallGoto(ierr, cleanup, PetscInfo(ksp, usual ? "Estimated without a solution\n" : "Estimated by PETSc's code, because a step is not one of a positive definite matrix\n"));
  }
  if (!usual) PetscCallGoto(ierr, cleanup, (*parent_solve)(ksp));
cleanup:
  PetscCall(End(&lanczos));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPEstimateBegin - Tells a KSP that it is for estimates: nobody is going to look at its solution

  Not Collective

  Input Parameter:
. ksp - with its type and options; nothing is done unless it is KSPCG

  Note:
  With PCJACOBI and a matrix of ours on the device its iterations are done without a solution; otherwise, and with `-ksp_fused false`, PETSc's code does them. The eigenvalues are the same but for rounding.
*/
PetscErrorCode KSPEstimateBegin(KSP ksp)
{
  PetscFunctionBegin;
  if (parent_solve != NULL && ksp->ops->solve == parent_solve) ksp->ops->solve = KSPSolve_CG_Estimate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateEnd - Takes back KSPEstimateBegin(). Not collective. */
PetscErrorCode KSPEstimateEnd(KSP ksp)
{
  PetscFunctionBegin;
  if (ksp->ops->solve == KSPSolve_CG_Estimate) ksp->ops->solve = parent_solve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateRegister_AIJCUDA - Looks for KSPSolve_CG(), and whether PETSc's private struct is the one that we were compiled with: what its public functions set has to be found in our fields */
PetscErrorCode KSPEstimateRegister_AIJCUDA(void)
{
  const KSP_CG *cg;
  KSP           ksp;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPCGSetRadius(ksp, 0.375));
  PetscCall(KSPCGSetObjectiveTarget(ksp, -0.625));
  cg = (const KSP_CG *)ksp->data;
  if (cg->e == NULL && cg->d == NULL && cg->ee == NULL && cg->dd == NULL && cg->radius == (PetscReal)0.375 && cg->obj_min == (PetscReal)-0.625 && !cg->singlereduction) {
    parent_solve = ksp->ops->solve;
    PetscCall(KSPCGUseSingleReduction(ksp, PETSC_TRUE));
    if (!cg->singlereduction || ksp->ops->solve == parent_solve) parent_solve = NULL;
  }
  if (parent_solve == NULL) PetscCall(PetscInfo(NULL, "The struct of KSPCG is not the one of PETSc 3.26: estimates of eigenvalues are PETSc's\n"));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
