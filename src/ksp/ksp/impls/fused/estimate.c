/*
  Estimates of eigenvalues as PETSc makes them, where the matrix is: those of the prolongator's smoothing in PCGAMG, and those of KSPCHEBYSHEV.

  What they start from is made on the device. Of the Krylov method, KSPCG or KSPGMRES with PCJACOBI, nobody wants the solution. Its iterations are done without one, with all numbers on the device, and
  the host learns in the end what they were: PETSc's code makes eigenvalues of them.
*/
#include "estimate.h"
#include "../../../pc/impls/jacobi/jacobi.h"
#include "../../../../mat/impls/aijcuda/mult/mult.h"
#include <petscsparsecuda/exportable.h>

/* The methods that have steps of ours. */
static struct {
  PetscErrorCode (*parent)(KSP); /* static function of PETSc; NULL: its struct is another one than ours, and estimates are PETSc's */
  PetscErrorCode (*solve)(KSP);
} methods[2];

/*
  KSPSetNoise_AIJCUDA - The vector that estimates start from: the entries that KSPSetNoisy_Private() gives, with the null space of the matrix removed. Collective
  Of A its null space alone is read. v is made on the device when that is where its entries are. Cost: one write of v; nothing of the size of v goes between host and device.
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

/* What a vector composes its memory by. */
#define POOL_ARRAY "KSPEstimateArray_AIJCUDA"

static PetscErrorCode FreeArray(PetscCtxRt array)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAFree((PetscScalar **)array, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecDuplicate_Pool(Vec, Vec *);

/* A vector of zeros with memory of ours, which goes with it, as that of its duplicates does; with PETSc's where there is none. Several processes send what is in vectors. Collective. */
static PetscErrorCode CreateInPool(PetscLayout map, Vec *w)
{
  const PetscInt n = map->n, bs = PetscAbs(map->bs);
  PetscScalar   *array = NULL;
  PetscMPIInt    size;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *w = NULL;
  PetscCallMPI(MPI_Comm_size(map->comm, &size));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (n == map->N) PetscCall(PetscSparseCUDATryMalloc(n, stream, &array));
  else PetscCall(PetscSparseCUDATryMallocExportable(n, stream, &array));
  if (size == 1) ierr = VecCreateSeqCUDAWithArrays(map->comm, bs, n, NULL, array, w);
  else ierr = VecCreateMPICUDAWithArrays(map->comm, bs, n, map->N, NULL, array, w);
  PetscCallGoto(ierr, failed, ierr);
  if (array != NULL) PetscCallGoto(ierr, failed, PetscSparseCUDACompose((PetscObject)*w, POOL_ARRAY, array, FreeArray));
  (*w)->ops->duplicate = VecDuplicate_Pool;
  PetscCall(VecSet(*w, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)VecDestroy(w);
  (void)PetscSparseCUDAFree(&array, stream);
  PetscFunctionReturn(ierr);
}

static PetscErrorCode VecDuplicate_Pool(Vec v, Vec *w)
{
  PetscFunctionBegin;
  PetscCall(CreateInPool(v->map, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCreateVecForSetup - A right vector as MatCreateVecs() makes it; on the device with memory of ours, also that of its duplicates, among them the work vectors of a KSP. Collective
  PETSc's allocations of the six vectors of an estimate, and what frees them, take longer than the steps of a small level, and a millisecond with 32 MB each.
*/
PetscErrorCode MatCreateVecForSetup(Mat A, Vec *v)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHasDeviceVectors(A, &device));
  if (device) PetscCall(CreateInPool(A->cmap, v));
  else PetscCall(MatCreateVecs(A, v, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateHasPlainSettings - Whether a KSP does nothing but the steps of its method, and nobody is told of them. The same on all processes, but for a preconditioner that has failed on some. */
PetscBool EstimateHasPlainSettings(KSP ksp)
{
  const PetscBool norms = (PetscBool)((ksp->normtype == KSP_NORM_NONE || ksp->normtype == KSP_NORM_PRECONDITIONED) && ksp->res_hist == NULL && ksp->err_hist == NULL);
  const PetscBool tests = (PetscBool)(ksp->converged == KSPConvergedSkip || ksp->converged == KSPConvergedDefault);

  return (PetscBool)(norms && tests && KSPIsSilent(ksp) && ksp->calc_sings && ksp->guess_zero && !ksp->transpose_solve && ksp->pc_side == PC_LEFT && ksp->max_it > 0 &&
                     ksp->max_it <= ESTIMATE_MAX_STEPS && ksp->reason == KSP_CONVERGED_ITERATING);
}

/* Memory of the device, unless there is none. */
static PetscErrorCode Allocate(Estimate *e, PetscInt num_basis, PetscInt num_numbers, PetscBool *enough)
{
  const size_t size = (size_t)num_basis * (size_t)e->n;

  PetscFunctionBegin;
  if (size > 0) PetscCall(PetscSparseCUDATryMalloc(size, e->stream, &e->basis));
  PetscCall(PetscSparseCUDATryMalloc(num_numbers, e->stream, &e->numbers));
  PetscCall(PetscSparseCUDATryMalloc(DCSR_SUM_BYTES, e->stream, &e->work));
  *enough = (PetscBool)((size == 0 || e->basis != NULL) && e->numbers != NULL && e->work != NULL);
  if (*enough) PetscCallCUDA(cudaMemsetAsync(e->numbers, 0, (size_t)num_numbers * sizeof(*e->numbers), e->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  EstimateBegin - Whether all processes can do the steps of an estimate on the device, and what they work on. Collective
  ksp is in its solve. e is zero, but for pc. plain says whether the settings of its type are those of the steps; it is the same on all processes. So should be settings, of any type, but for a preconditioner that has failed
  on some. The steps keep num_basis vectors beside vecs, and have num_numbers sums in all.
  e is to be given to EstimateEnd() in any case. can = PETSC_FALSE: PETSc's code has to solve. Cost: on several processes a reduction.
*/
PetscErrorCode EstimateBegin(KSP ksp, PetscBool plain, PetscBool settings, size_t num_vecs, const Vec vecs[], PetscInt num_basis, PetscInt num_numbers, Estimate *e, PetscBool *can)
{
  MatNullSpace space;
  PetscBool    fused = PETSC_TRUE;

  PetscFunctionBegin;
  *can = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(((PetscObject)ksp)->options, NULL, "-ksp_fused", &fused, NULL));
  PetscCall(PetscOptionsGetBool(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-ksp_fused", &fused, NULL));
  PetscCall(PCGetOperators(ksp->pc, &e->A, NULL));
  PetscCall(MatGetNullSpace(e->A, &space));
  if (e->pc == NULL) PetscCall(PCJacobiGetReciprocals_AIJCUDA(ksp->pc, ksp->vec_rhs->ops->duplicate == VecDuplicate_Pool ? ksp->vec_rhs : NULL, &e->d));
  if (!plain || !fused || space != NULL || (e->pc == NULL && e->d == NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  e->b = ksp->vec_rhs;
  PetscCall(MatAIJCUDACanSmooth(e->A, can));
  for (size_t k = 0; k < num_vecs; k++)
    if (!VecIsOnDevice(vecs[k])) *can = PETSC_FALSE;
  if (!VecIsOnDevice(e->b) || (e->d != NULL && !VecIsOnDevice(e->d))) *can = PETSC_FALSE;
  if (!settings) *can = PETSC_FALSE;
  if (*can) {
    PetscCall(VecGetLocalSize(e->b, &e->n));
    PetscCall(PetscSparseCUDAGetStream(&e->stream));
    PetscCall(Allocate(e, num_basis, num_numbers, can));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, can, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateEnd - Frees what EstimateBegin() has allocated. */
PetscErrorCode EstimateEnd(Estimate *e)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&e->basis, e->stream));
  PetscCall(PetscSparseCUDAFree(&e->numbers, e->stream));
  PetscCall(PetscSparseCUDAFree(&e->work, e->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateAddUp - n sums of this process, on the device, become those of all. Collective; the host waits on several processes alone. */
PetscErrorCode EstimateAddUp(const Estimate *e, PetscInt n, PetscScalar sums[])
{
  const size_t bytes = (size_t)n * sizeof(*sums);
  PetscMPIInt  size;
  PetscScalar  host[ESTIMATE_MAX_STEPS];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)e->A), &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDACopyToHost(host, sums, bytes, e->stream));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, host, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)e->A)));
  PetscCall(PetscSparseCUDACopyToDevice(sums, host, bytes, e->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* EstimateAreFinite - Whether n numbers on the host are */
PetscBool EstimateAreFinite(PetscInt n, const PetscScalar numbers[])
{
  for (PetscInt k = 0; k < n; k++)
    if (PetscIsInfOrNanScalar(numbers[k])) return PETSC_FALSE;
  return PETSC_TRUE;
}

/*
  KSPEstimateBegin - Tells a KSP, which has its type and options, that it is for estimates: nobody is going to look at its solution. Nothing is done unless it is KSPCG or KSPGMRES.
  With PCJACOBI and a matrix of ours on the device its iterations are done without a solution; otherwise, and with `-ksp_fused false`, PETSc's code does them. The eigenvalues are the same but for
  rounding.
*/
PetscErrorCode KSPEstimateBegin(KSP ksp)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++) {
    if (methods[k].parent != NULL && ksp->ops->solve == methods[k].parent) ksp->ops->solve = methods[k].solve;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateEnd - Takes back KSPEstimateBegin(). */
PetscErrorCode KSPEstimateEnd(KSP ksp)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++) {
    if (methods[k].parent != NULL && ksp->ops->solve == methods[k].solve) ksp->ops->solve = methods[k].parent;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPEstimateRegister_AIJCUDA - Looks for PETSc's solves that have steps of ours; part of KSPFusedRegister_AIJCUDA() */
PetscErrorCode KSPEstimateRegister_AIJCUDA(void)
{
  PetscFunctionBegin;
  PetscCall(KSPEstimateCGRegister(&methods[0].parent, &methods[0].solve));
  PetscCall(KSPEstimateGMRESRegister(&methods[1].parent, &methods[1].solve));
  if (methods[0].parent == NULL) PetscCall(PetscSparseCUDADisabled("The struct of KSPCG is not the one of PETSc 3.26: its estimates of eigenvalues are PETSc's"));
  if (methods[1].parent == NULL) PetscCall(PetscSparseCUDADisabled("The struct of KSPGMRES is not the one of PETSc 3.26: its estimates of eigenvalues are PETSc's"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
