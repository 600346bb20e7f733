/* Operations that go entry by entry, of parallel matrices: norms, sums of rows, the diagonal. */
#include "entries.h"
#include "../core/core.h"
#include "../host/wrappers.h"
#include "../parallel/parallel.h"

static PetscErrorCode MatConjugate_MPIAIJCUDA(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatConjugate(a->A));
  PetscCall(MatConjugate(a->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device computes for this matrix on this process: both blocks do. */
static PetscErrorCode UseDevice(Mat A, PetscBool *use)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscBool   ours[2], device[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(a->A, &ours[0]));
  PetscCall(MatIsSeqAIJCUDA(a->B, &ours[1]));
  if (ours[0] && ours[1]) {
    PetscCall(MatSeqAIJCUDAUseDevice(a->A, &device[0]));
    PetscCall(MatSeqAIJCUDAUseDevice(a->B, &device[1]));
  }
  *use = (PetscBool)(device[0] && device[1] && A->assembled);
  // a decision for all processes, because the norms below communicate
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, use, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NormFrobenius(Mat A, PetscReal *norm)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscReal   diagonal, off_diagonal;

  PetscFunctionBegin;
  PetscCall(MatNorm(a->A, NORM_FROBENIUS, &diagonal));
  PetscCall(MatNorm(a->B, NORM_FROBENIUS, &off_diagonal));
  *norm = diagonal * diagonal + off_diagonal * off_diagonal;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, norm, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
  *norm = PetscSqrtReal(*norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NormInfinity(Mat A, PetscReal *norm)
{
  Vec            sums;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &sums));
  ierr = MatGetRowSumAbs(A, sums);
  if (ierr == PETSC_SUCCESS) ierr = VecNorm(sums, NORM_INFINITY, norm);
  PetscCall(VecDestroy(&sums));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column sums of both blocks; those of ghost columns travel to their owners. */
static PetscErrorCode NormOne(Mat A, PetscReal *norm)
{
  Mat_MPIAIJ    *a = (Mat_MPIAIJ *)A->data;
  Vec            sums;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &sums, NULL));
  PetscCallGoto(ierr, done, MatColumnSumsAbs_SeqAIJCUDA(a->A, sums));
  PetscCallGoto(ierr, done, MatMPIAIJCUDAUseCurrentStream(A)); // the ghost vector may be in use in another context
  PetscCallGoto(ierr, done, MatColumnSumsAbs_SeqAIJCUDA(a->B, a->lvec));
  PetscCallGoto(ierr, done, MatMPIAIJCUDAScatter(A, a->lvec, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCallGoto(ierr, done, VecNorm(sums, NORM_INFINITY, norm));
done:
  PetscCall(VecDestroy(&sums));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc 3.26 adds column sums to a vector that it has not set to zero; a host vector is zero when it is new, a device vector is not. */
static PetscErrorCode NormOneOnHost(Mat A, PetscReal *norm)
{
  const Mat      matrices[2] = {A, ((Mat_MPIAIJ *)A->data)->B};
  char          *types[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PetscStrallocpy(matrices[k]->defaultvectype, &types[k]));
  for (int k = 0; k < 2; k++) PetscCall(MatSetVecType(matrices[k], VECSTANDARD));
  ierr = MatHost_MPIAIJCUDA_norm(A, NORM_1, norm);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetVecType(matrices[k], types[k]));
    PetscCall(PetscFree(types[k]));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_MPIAIJCUDA(Mat A, NormType type, PetscReal *norm)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(UseDevice(A, &device));
  if (device && type == NORM_FROBENIUS) PetscCall(NormFrobenius(A, norm));
  else if (device && type == NORM_INFINITY) PetscCall(NormInfinity(A, norm));
  else if (device && type == NORM_1 && !PetscDefined(USE_COMPLEX) && ((Mat_MPIAIJ *)A->data)->Mvctx != NULL) PetscCall(NormOne(A, norm));
  else if (type == NORM_1) PetscCall(NormOneOnHost(A, norm));
  else PetscCall(MatHost_MPIAIJCUDA_norm(A, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowSumAbs_MPIAIJCUDA(Mat A, Vec v)
{
  PetscFunctionBegin;
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.getrowsumabs)(A, v));
  PetscCall(MatAIJCUDAShowRowSums(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the diagonal block may change the diagonal on the device, and make entries of it that are missing; *grows when some process has such ones. The same answers
  on all processes. What options forbid is left to the host.
*/
static PetscErrorCode DiagonalOnDevice(Mat A, PetscBool *device, PetscBool *grows)
{
  Mat        block = ((Mat_MPIAIJ *)A->data)->A;
  PetscBool  facts[2];
  PetscCount missing;

  PetscFunctionBegin;
  *grows = PETSC_FALSE;
  PetscCall(MatHasCongruentLayouts(A, device));
  if (*device && A->assembled) PetscCall(UseDevice(A, device));
  else *device = PETSC_FALSE;
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDACountMissingDiagonal(block, &missing));
  facts[0] = (PetscBool)(missing > 0);
  facts[1] = (PetscBool)(missing > 0 && (((Mat_SeqAIJ *)block->data)->nonew != 0 || MatSeqAIJCUDAGet(block)->host.active > 0 || MatMPIAIJCUDAGet(A)->state == PARALLEL_HOST));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, facts, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  *grows  = facts[0];
  *device = (PetscBool)!facts[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With all diagonal entries in the diagonal block a shift is the block's. */
static PetscErrorCode MatShift_MPIAIJCUDA(Mat A, PetscScalar s)
{
  PetscBool device, grows;

  PetscFunctionBegin;
  PetscCall(DiagonalOnDevice(A, &device, &grows));
  if (!device) {
    PetscCall(MatHost_MPIAIJCUDA_shift(A, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatShift(((Mat_MPIAIJ *)A->data)->A, s));
  if (grows) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  } else MatAIJCUDAForgetSymmetry(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The assembly that new entries of a block need, which MATMPIAIJ does without: it forgets nothing of symmetry. */
static PetscErrorCode AssembleAndRemember(Mat A)
{
  const PetscBool3 symmetric = A->symmetric, hermitian = A->hermitian, spd = A->spd, structurally_symmetric = A->structurally_symmetric;
  const PetscInt   num_ass = A->num_ass;

  const PetscObjectState ass_nonzerostate = A->ass_nonzerostate;

  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  A->symmetric              = symmetric;
  A->hermitian              = hermitian;
  A->spd                    = spd;
  A->structurally_symmetric = structurally_symmetric;
  A->num_ass                = num_ass;
  A->ass_nonzerostate       = ass_nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent leaves it to the diagonal block, which may get new entries; the buffers of MatGetRow(), as long as the longest row was, go. */
static PetscErrorCode MatDiagonalSet_MPIAIJCUDA(Mat A, Vec diagonal, InsertMode mode)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscBool   device, grows;

  PetscFunctionBegin;
  PetscCall(DiagonalOnDevice(A, &device, &grows));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.diagonalset)(A, diagonal, mode));
  PetscCall(PetscFree2(a->rowvalues, a->rowindices));
  if (device && grows) PetscCall(AssembleAndRemember(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent copies blocks, which one pattern may have with more ghost columns here than there: those without entries. They ascend in both, so that entries are in one order. */
static PetscErrorCode MatCopy_MPIAIJCUDA(Mat A, Mat B, MatStructure str)
{
  const Mat_MPIAIJ *a    = (const Mat_MPIAIJ *)A->data;
  PetscBool         ours = PETSC_FALSE;
  Mat_MPIAIJ       *b;

  PetscFunctionBegin;
  if (str == SAME_NONZERO_PATTERN) PetscCall(MatIsMPIAIJCUDA(B, &ours));
  b = (Mat_MPIAIJ *)B->data;
  if (!ours || b->B->cmap->n == a->B->cmap->n) {
    PetscCall((*MatMPIAIJCUDAGet(A)->parent.copy)(A, B, str));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCopy(a->A, b->A, str));
  PetscCall((*a->B->ops->copy)(a->B, b->B, str));
  PetscCall(PetscObjectStateIncrease((PetscObject)b->B));
  PetscCall(PetscObjectStateIncrease((PetscObject)B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatMPIAIJCUDASetEntriesOps - Puts the operations above into the table of a parallel matrix. */
PetscErrorCode MatMPIAIJCUDASetEntriesOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->copy         = MatCopy_MPIAIJCUDA;
  ops->conjugate    = MatConjugate_MPIAIJCUDA;
  ops->norm         = MatNorm_MPIAIJCUDA;
  ops->getrowsumabs = MatGetRowSumAbs_MPIAIJCUDA;
  ops->shift        = MatShift_MPIAIJCUDA;
  ops->diagonalset  = MatDiagonalSet_MPIAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}
