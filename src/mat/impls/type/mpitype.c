/* The parallel types: a MATMPIAIJ whose blocks have the sequential types that its family says (MatAIJCUDATypes). */
#include "type.h"
#include "../aijcuda/core/core.h"
#include "../../../petsc/parents.h"
#include "../aijcuda/delete/delete.h"
#include "../aijcuda/entries/entries.h"
#include "../aijcuda/graph/graph.h"
#include "../aijcuda/host/host.h"
#include "../aijcuda/insert/insert.h"
#include "../aijcuda/mult/mult.h"
#include "../aijcuda/parallel/ghosts.h"
#include "../aijcuda/parallel/parallel.h"
#include "../aijcuda/product/product.h"
#include "../aijcuda/submatrix/submatrix.h"
#include "../aijcuda/sum/sum.h"
#include "../aijcuda/transpose/transpose.h"

static PetscErrorCode SetOps(Mat, struct _MatOps *);

static PetscErrorCode MatAssemblyEnd_MPIAIJCUDA(Mat A, MatAssemblyType mode)
{
  PetscBool      own, done;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAssemblyEndDevice_MPIAIJCUDA(A, mode, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJCUDASetBlockTypes(A)); // before, so that the parent makes the ghost vector from a block of ours
  // entries from other processes, new off-diagonal columns and their compaction are written straight into the blocks' arrays
  // also where another process has new off-diagonal columns, for which the parent disassembles this one, too, unless no process can have any
  own = (PetscBool)(!A->was_assembled || (!((Mat_MPIAIJ *)A->data)->donotstash && !A->nooffprocentries) || ((Mat_SeqAIJ *)((Mat_MPIAIJ *)A->data)->B->data)->nonew == 0);
  if (own) PetscCall(MatAIJCUDAHostBegin(A, HOST_WRITE));
  ierr = (*MatMPIAIJCUDAGet(A)->parent.assemblyend)(A, mode);
  if (own) ierr = MatAIJCUDAHostFinish(A, HOST_WRITE, ierr);
  PetscCall(ierr);
  if (mode == MAT_FINAL_ASSEMBLY) {
    PetscCall(MatMPIAIJCUDASetBlockTypes(A));
    PetscCall(SetOps(A, A->ops));
    PetscCall(MatMPIAIJCUDASetDeviceAssembly(A, PETSC_TRUE)); // from now on
    // a new off-diagonal block that the parent has made is not bound
    if (A->boundtocpu) {
      PetscCall(MatBindToCPU(((Mat_MPIAIJ *)A->data)->A, PETSC_TRUE));
      PetscCall(MatBindToCPU(((Mat_MPIAIJ *)A->data)->B, PETSC_TRUE));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy of a matrix whose first assembly is under way on the device can be assembled there, too. */
static PetscErrorCode MatDuplicate_MPIAIJCUDA(Mat A, MatDuplicateOption option, Mat *B)
{
  const Mat_MPIAIJCUDA *a      = MatMPIAIJCUDAGet(A);
  const PetscBool       builds = (PetscBool)(a->state == PARALLEL_DEVICE_OPEN);
  Mat_MPIAIJCUDA       *b;

  PetscFunctionBegin;
  PetscCall((*a->parent.duplicate)(A, option, B));
  PetscCall(MatMPIAIJCUDASetBlockTypes(*B));
  b                  = MatMPIAIJCUDAGet(*B);
  b->state           = b->no_device ? PARALLEL_HOST : builds ? PARALLEL_DEVICE_OPEN : A->assembled && a->state != PARALLEL_HOST ? PARALLEL_DEVICE : PARALLEL_HOST;
  b->columns_changed = (PetscBool)(builds && a->columns_changed);
  MatAIJCUDASetNonzeroState(*B, A->nonzerostate); // as the blocks, whose sum it is after the next assembly
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_MPIAIJCUDA(Mat A, PetscViewer viewer)
{
  PetscBool         ascii;
  PetscViewerFormat format;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_FACTOR_INFO)) {
    PetscCall((*MatMPIAIJCUDAGet(A)->parent.view)(A, viewer)); // reads no array
  } else {
    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
    ierr = (*MatMPIAIJCUDAGet(A)->parent.view)(A, viewer);
    PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_MPIAIJCUDA(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  Mat         blocks[2];
  PetscBool   require = PETSC_FALSE, is;

  PetscFunctionBegin;
  if (MatMPIAIJCUDAGet(A)->parent.setfromoptions != NULL) PetscCall((*MatMPIAIJCUDAGet(A)->parent.setfromoptions)(A, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "Dynamic CSR on the device (dcsrcuda) options");
  PetscCall(PetscOptionsBool("-mat_dcsr_require_device", "Raise an error when there is no usable device, instead of computing on the host", "MATDCSRCUDA", require, &require, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(!require || !MatMPIAIJCUDAGet(A)->no_device, PetscObjectComm((PetscObject)A), PETSC_ERR_GPU,
             "-mat_dcsr_require_device is set and a process has no usable CUDA device: check nvidia-smi, CUDA_VISIBLE_DEVICES and -device_enable");
  blocks[0] = a->A;
  blocks[1] = a->B;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatIsSeqAIJCUDA(blocks[k], &is));
    if (is) PetscTryTypeMethod(blocks[k], setfromoptions, PetscOptionsObject);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The ghost vector stays where it is: blocks take vectors of any memory type, and scattering from a vector on the device to a bound one fails in PETSc 3.26
  (wrong or NULL message buffers when MPI is not GPU-aware).
*/
static PetscErrorCode MatBindToCPU_MPIAIJCUDA(Mat A, PetscBool flag)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  A->boundtocpu = (PetscBool)(flag || MatMPIAIJCUDAGet(A)->no_device);
  if (a->A != NULL) PetscCall(MatBindToCPU(a->A, A->boundtocpu));
  if (a->B != NULL) PetscCall(MatBindToCPU(a->B, A->boundtocpu));
  PetscCall(MatMPIAIJCUDAUpdateGhostVector(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertInPlaceToMPIAIJ(Mat);

/* What MatSetType() destroys when it makes another type of A, which keeps the entries when that is AIJ. */
static PetscErrorCode DestroyButEntries(Mat A)
{
  PetscFunctionBegin;
  PetscCall(ConvertInPlaceToMPIAIJ(A));
  PetscCall(MatAIJCUDASave(A, PETSC_TRUE));
  PetscUseTypeMethod(A, destroy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_MPIAIJCUDA(Mat A)
{
  Mat_MPIAIJ *a                 = (Mat_MPIAIJ *)A->data;
  PetscErrorCode (*parent)(Mat) = a->spptr != NULL ? MatMPIAIJCUDAGet(A)->parent.destroy : MatAIJCUDAParentMPI.destroy;

  const MatAIJCUDATypes *types = NULL;

  PetscFunctionBegin;
  if (a->spptr != NULL && MatAIJCUDAChangesType(A)) {
    PetscCall(DestroyButEntries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (a->spptr != NULL) types = MatMPIAIJCUDAGet(A)->types;
  else PetscCall(MatAIJCUDATypesFindParallel(((PetscObject)A)->type_name, &types));
  if (types != NULL) PetscCall(MatMPIAIJCUDARemoveComposed(A, types));
  if (a->spptr != NULL) {
    PetscCall(MatMPIAIJCUDADestroyInsertion(A));
    PetscCall(MatMPIAIJCUDAUseCurrentStream(A)); // the ghost vector goes
  }
  PetscCall(PetscFree(a->spptr));
  PetscCall(MatSetVecType(A, VECSTANDARD)); // MatSetType() makes another type of it, from what MatCreate() gives every matrix
  A->boundtocpu = PETSC_TRUE;
  PetscCall((*parent)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertBlockInPlaceToSeqAIJ(Mat block)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, &ours));
  if (ours) PetscCall(MatAIJCUDAConvertToAIJ(block, MAT_INPLACE_MATRIX, &block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the blocks of a parallel matrix MATSEQAIJ, and the matrix MATMPIAIJ. */
static PetscErrorCode ConvertInPlaceToMPIAIJ(Mat B)
{
  Mat_MPIAIJ *b = (Mat_MPIAIJ *)B->data;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAFinishInsertion(B));
  PetscCall(MatMPIAIJCUDADestroyInsertion(B));
  PetscCall(ConvertBlockInPlaceToSeqAIJ(b->A));
  PetscCall(ConvertBlockInPlaceToSeqAIJ(b->B));
  PetscCall(MatAIJCUDAReturnColorings(B));
  MatProductKeepOps_AIJCUDA(B, &MatMPIAIJCUDAGet(B)->parent);
  *B->ops       = MatMPIAIJCUDAGet(B)->parent;
  B->boundtocpu = PETSC_TRUE; // what MatCreate() gives every matrix
  PetscCall(MatMPIAIJCUDARestoreComposed(B, MatMPIAIJCUDAGet(B)->types));
  PetscCall(PetscFree(b->spptr));
  PetscCall(MatSetVecType(B, VECSTANDARD));
  if (b->lvec != NULL) {
    PetscCall(VecDestroy(&b->lvec));
    PetscCall(MatCreateVecs(b->B, &b->lvec, NULL));
  }
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert_MPIAIJCUDA_MPIAIJ - Converts a matrix of ours to MATMPIAIJ; see MatConvert() for the parameters. */
PetscErrorCode MatConvert_MPIAIJCUDA_MPIAIJ(Mat A, PETSC_UNUSED MatType type, MatReuse reuse, Mat *B)
{
  PetscBool alike;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatOperandsAlike(A, *B, &alike));
    if (!alike) {
      PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(MatConvert_SeqAIJCUDA_SeqAIJ(((Mat_MPIAIJ *)A->data)->A, MATSEQAIJ, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->A));
    PetscCall(MatConvert_SeqAIJCUDA_SeqAIJ(((Mat_MPIAIJ *)A->data)->B, MATSEQAIJ, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(ConvertInPlaceToMPIAIJ(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The operations of a matrix of ours, all in one place: wrappers wherever the parent's operation uses host arrays, over them what each room has, over them the type's own. Called again after assemblies
  of the parent. Products with vectors that the program has set stay.
*/
static PetscErrorCode SetOps(Mat A, struct _MatOps *ops)
{
  const struct _MatOps *parent = &MatMPIAIJCUDAGet(A)->parent;
  struct _MatOps        program;

  PetscFunctionBegin;
  MatAIJCUDATakeProducts(ops, &MatMPIAIJCUDAGet(A)->installed, &program);
  PetscCall(MatMPIAIJCUDASetWrappers(A, ops));
  PetscCall(MatMPIAIJCUDASetMultOps(A, ops));
  PetscCall(MatMPIAIJCUDASetEntriesOps(ops));
  PetscCall(MatMPIAIJCUDASetDeletionOps(ops));
  PetscCall(MatMPIAIJCUDASetInsertOps(A, ops));
  PetscCall(MatMPIAIJCUDASetTransposeOps(ops));
  PetscCall(MatMPIAIJCUDASetSubmatrixOps(ops));
  PetscCall(MatAIJCUDASetRowAccessOps(ops, PETSC_TRUE));
  ops->setfromoptions = MatSetFromOptions_MPIAIJCUDA;
  ops->assemblyend    = MatAssemblyEnd_MPIAIJCUDA;
  if (ops->view == parent->view) ops->view = MatView_MPIAIJCUDA; // a DMDA may have put its own there, which stays
  ops->destroy                   = MatDestroy_MPIAIJCUDA;
  ops->bindtocpu                 = MatBindToCPU_MPIAIJCUDA;
  ops->creategraph               = MatCreateGraph_AIJCUDA;
  ops->convert                   = MatConvert_AIJCUDA;
  ops->convertfrom               = MatConvertFrom_AIJCUDA;
  ops->productsetfromoptions     = MatProductSetFromOptions_AIJCUDA;
  ops->duplicate                 = MatDuplicate_MPIAIJCUDA;
  ops->axpy                      = MatAXPY_MPIAIJCUDA;
  ops->getvecs                   = MatCreateVecs_MPIAIJCUDA;
  MatMPIAIJCUDAGet(A)->installed = *ops;
  MatAIJCUDAPutProducts(ops, &program);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a parallel matrix of ours one of another type of ours. Its operations stay, names change, and the types of the blocks. */
static PetscErrorCode ChangeTypes(Mat A, const MatAIJCUDATypes *types)
{
  Mat_MPIAIJCUDA *d = MatMPIAIJCUDAGet(A);

  PetscFunctionBegin;
  if (types == d->types) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJCUDARemoveComposed(A, d->types));
  d->types = types;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, types->mpi));
  PetscCall(MatMPIAIJCUDACompose(A, types));
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a MATMPIAIJ our spptr, operations and name, and its blocks theirs. */
static PetscErrorCode ConvertInPlaceFromMPIAIJ(Mat B, const MatAIJCUDATypes *types)
{
  Mat_MPIAIJ     *b   = (Mat_MPIAIJ *)B->data;
  struct _MatOps *ops = B->hash_active ? &b->cops : B->ops;
  Mat_MPIAIJCUDA *d;
  PetscBool       usable;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)B)));
  PetscCall(PetscNew(&d));
  d->types     = types;
  d->parent    = *ops;
  d->no_device = (PetscBool)!usable;
  b->spptr     = d;
  d->state     = PARALLEL_HOST;
  if (B->assembled) PetscCall(MatMPIAIJCUDASetDeviceAssembly(B, PETSC_TRUE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, types->mpi));
  PetscCall(SetOps(B, ops));
  PetscCall(MatMPIAIJCUDACompose(B, types));
  B->boundtocpu = d->no_device;
  if (usable) PetscCall(MatSetVecType(B, VECCUDA));
  PetscCall(MatMPIAIJCUDASetBlockTypes(B));
  PetscCall(MatProductWrapNumeric_AIJCUDA(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_MPIAIJ_MPIAIJCUDA - Converts a parallel AIJ matrix, assembled or not, to one of our types; see MatConvert() for the parameters.

  A matrix that is ours already is duplicated, copied or left where it is, and gets the type.
*/
PetscErrorCode MatConvert_MPIAIJ_MPIAIJCUDA(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  const MatAIJCUDATypes *types;
  PetscBool              ours, alike;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDATypesFind(type, &types));
  PetscCheck(types != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "Type %s belongs to no family with a parallel type: call MatAIJCUDATypesRegister() before MatRegister()", type);
  PetscCall(MatIsMPIAIJCUDA(A, &ours));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(MatOperandsAlike(A, *B, &alike));
  if (reuse == MAT_REUSE_MATRIX && (ours || !alike)) PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  else if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert_SeqAIJ_SeqAIJCUDA(((Mat_MPIAIJ *)A->data)->A, types->seq, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->A));
    PetscCall(MatConvert_SeqAIJ_SeqAIJCUDA(((Mat_MPIAIJ *)A->data)->B, types->off_diagonal, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->B));
  }
  PetscCall(MatIsMPIAIJCUDA(*B, &ours));
  if (alike && !ours) PetscCall(ConvertInPlaceFromMPIAIJ(*B, types));
  else if (reuse != MAT_REUSE_MATRIX) PetscCall(ChangeTypes(*B, types));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJCUDA(B, MATMPIAIJDCSRCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreate_MPIAIJCUDA - The constructor of a parallel type, of a family that MatAIJCUDATypesRegister() knows. Collective. */
PetscErrorCode MatCreate_MPIAIJCUDA(Mat B, MatType type)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJ_AIJCUDA(B));
  PetscCall(MatConvert_MPIAIJ_MPIAIJCUDA(B, type, MAT_INPLACE_MATRIX, &B));
  PetscCall(MatAIJCUDARestoreSaved(B, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
