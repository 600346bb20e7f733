/* The sequential types: life cycle, options, assembly and view; what their storage is does not matter here. */
#include "type.h"
#include "../dcsr/dcsr.h"
#include "../aijcuda/core/core.h"
#include "../../../petsc/parents.h"
#include "../aijcuda/delete/delete.h"
#include "../aijcuda/entries/entries.h"
#include "../aijcuda/graph/graph.h"
#include "../aijcuda/host/host.h"
#include "../aijcuda/insert/insert.h"
#include "../aijcuda/mult/mult.h"
#include "../aijcuda/product/product.h"
#include "../aijcuda/submatrix/submatrix.h"
#include "../aijcuda/sum/sum.h"
#include "../aijcuda/transpose/transpose.h"

static const char *const HostStructures[]  = {"lazy", "eager", "HostStructure", "", NULL};
static const char *const DefragmentKinds[] = {"auto", "never", "always", "DCSRDefragmentKind", "DCSR_DEFRAGMENT_", NULL};

static PetscErrorCode MatSetFromOptions_SeqAIJCUDA(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_SeqAIJCUDA *d     = MatSeqAIJCUDAGet(A);
  PetscInt        eager = d->options.eager;
  PetscEnum       spmv = (PetscEnum)d->options.spmv_kind, spmvt = (PetscEnum)d->options.spmvt_kind, defragment = (PetscEnum)d->options.defragment;
  PetscBool       set, set_transpose, require = PETSC_FALSE, blocks = d->options.blocks;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Dynamic CSR on the device (dcsrcuda) options");
  PetscCall(PetscOptionsEList("-mat_dcsr_host_structure", "When the host copy of the structure is made: on demand, or at once for code that reads it directly", "MATDCSRCUDA", HostStructures, 2,
                              HostStructures[eager], &eager, NULL));
  PetscCall(PetscOptionsBool("-mat_dcsr_require_device", "Raise an error when there is no usable device, instead of computing on the host", "MATDCSRCUDA", require, &require, NULL));
  PetscCall(PetscOptionsBool("-mat_dcsr_blocks", "Products by blocks where the matrix consists of full ones of the size of its layouts", "MATDCSRCUDA", blocks, &blocks, NULL));
  PetscCall(PetscOptionsEnum("-mat_dcsr_spmv", "Kernel of MatMult()", "MATDCSRCUDA", DCSRSpMVKinds, spmv, &spmv, &set));
  PetscCall(PetscOptionsEnum("-mat_dcsr_spmv_transpose", "Kernel of MatMultTranspose()", "MATDCSRCUDA", DCSRSpMVTransposeKinds, spmvt, &spmvt, &set_transpose));
  PetscCall(PetscOptionsBool("-mat_dcsr_deterministic", "Bitwise reproducible MatMultTranspose(), at the price of a stored transpose", "MATDCSRCUDA", d->options.deterministic,
                             &d->options.deterministic, NULL));
  PetscCall(PetscOptionsBoundedInt("-mat_dcsr_stage_size", "Bytes of each of the two pinned buffers that MatSetValues() fills", "MATDCSRCUDA", d->options.stage_size, &d->options.stage_size, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-mat_dcsr_stage_entries", "Inserted entries that wait on the device at most, unless the matrix has more", "MATDCSRCUDA", d->options.stage_entries,
                                   &d->options.stage_entries, NULL, 1));
  PetscCall(PetscOptionsEnum("-mat_dcsr_defragment", "When storage that insertion left fragmented becomes compact", "MatDCSRCUDADefragment", DefragmentKinds, defragment, &defragment, NULL));
  PetscCall(
    PetscOptionsBoundedReal("-mat_dcsr_slack", "Unused entries behind a segment that insertion makes, as a part of the row's entries", "MATDCSRCUDA", d->options.slack, &d->options.slack, NULL, 0.0));
  PetscCall(PetscOptionsRangeInt("-mat_dcsr_max_segments", "Segments that insertion may give a row", "MATDCSRCUDA", d->options.max_segments, &d->options.max_segments, NULL, 1, DCSR_MAX_SEGMENTS));
  PetscCall(PetscOptionsBoundedInt("-mat_dcsr_product_slices",
                                   "Slices in which a product of three matrices is computed, so that its intermediate product is never there as a whole: 0 as many as memory asks for, 1 never",
                                   "MATDCSRCUDA", d->options.product_slices, &d->options.product_slices, NULL, 0));
  PetscOptionsHeadEnd();
  PetscCheck(!require || !d->no_device, PetscObjectComm((PetscObject)A), PETSC_ERR_GPU,
             "-mat_dcsr_require_device is set and this process has no usable CUDA device: check nvidia-smi, CUDA_VISIBLE_DEVICES and -device_enable");
  d->options.eager = (PetscBool)eager;
  if (blocks != d->options.blocks || (set && d->options.spmv_kind != (DCSRSpMVKind)spmv) || (set_transpose && d->options.spmvt_kind != (DCSRSpMVTransposeKind)spmvt))
    PetscCall((*d->device.csr->destroy)(A, NULL));
  d->options.blocks     = blocks;
  d->options.defragment = (DCSRDefragmentKind)defragment;
  d->options.spmv_kind  = (DCSRSpMVKind)spmv;
  d->options.spmvt_kind = (DCSRSpMVTransposeKind)spmvt;
  if (d->device.storage->setfromoptions != NULL) PetscCall((*d->device.storage->setfromoptions)(A, PetscOptionsObject));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same options for a matrix that never sees MatSetFromOptions(), such as a block of a parallel one or a Galerkin product. */
static PetscErrorCode ReadOptions(Mat A)
{
  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)A);
  PetscCall(MatSetFromOptions_SeqAIJCUDA(A, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOps(Mat, struct _MatOps *);

/* Makes the host copy the matrix: it gets the newest values, and the device copy goes. */
static PetscErrorCode ReleaseDevice(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  PetscCall(MatAIJCUDAHostEnd(A, HOST_READ));
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
  PetscCall(MatSeqAIJCUDADropDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAssemblyEnd_SeqAIJCUDA(Mat A, MatAssemblyType mode)
{
  Mat_SeqAIJ     *a = (Mat_SeqAIJ *)A->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  PetscBool       host;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDATakeColoringValues(A));
  if (mode == MAT_FINAL_ASSEMBLY) PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  host = MatSeqAIJCUDAHasHost(A);
  if (mode == MAT_FINAL_ASSEMBLY) {
    PetscCall(MatSeqAIJCUDACheckUnused(A));
    PetscCall(MatSeqAIJCUDAUpdateKept(A));
    if (A->boundtocpu && MatSeqAIJCUDABuildsOnDevice(A)) PetscCall(ReleaseDevice(A)); // bound meanwhile
    if (!host) a->inode.use = PETSC_FALSE;                                            // as below: the parent, which would look for inodes, is not asked
  }
  if (!host) PetscFunctionReturn(PETSC_SUCCESS); // nobody has written into it, so nothing was inserted there, and a new one is complete
  PetscCall(MatSeqAIJCUDAShowHostArrays(A));
  PetscCall((*d->parent.assemblyend)(A, mode));
  if (mode == MAT_FINAL_ASSEMBLY) {
    a->inode.use = PETSC_FALSE; // inode routines read the host arrays behind our back
    PetscCall(SetOps(A, A->ops));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_SeqAIJCUDA(Mat A, MatOption option, PetscBool flag)
{
  Mat_SeqAIJCUDA *d              = MatSeqAIJCUDAGet(A);
  const PetscBool structure_only = (PetscBool)(option == MAT_STRUCTURE_ONLY && flag);
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (MatSeqAIJCUDAOptionChangesInsertion(A, option, flag)) PetscCall(MatSeqAIJCUDAFinishInsertion(A)); // what came before the option does not obey it
  if (option == MAT_USE_INODES) flag = PETSC_FALSE;
  if (structure_only) PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  ierr = (*d->parent.setoption)(A, option, flag);
  if (structure_only) ierr = MatAIJCUDAHostFinish(A, HOST_READ_STRUCTURE, ierr);
  PetscCall(ierr);
  if (structure_only) {
    MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
    PetscCall(MatSeqAIJCUDADropDevice(A));
  }
  if (option == MAT_FORM_EXPLICIT_TRANSPOSE && !flag && d->plans.spmv_transpose != NULL && !d->options.deterministic) PetscCall((*d->device.csr->destroy)(A, NULL));
  if (!A->hash_active) PetscCall(SetOps(A, A->ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line of storage facts for -mat_view ::ascii_info. */
static PetscErrorCode ViewStorage(Mat A, PetscViewer viewer)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (!MatSeqAIJCUDAHasDevice(A)) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: no device copy%s\n", d->device.storage->name, d->no_device ? " (no usable device)" : A->boundtocpu ? " (bound to the CPU)" : ""));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (d->device.chooser != NULL) PetscCall((*d->device.chooser->view)(A, viewer));
  if (d->device.data != NULL) PetscCall((*d->device.storage->view)(A, viewer));
  else if (d->device.storage != d->device.csr && d->device.chooser == NULL)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %s\n", d->device.storage->name, d->device.csr_use == CSR_ALONE ? "does not pay for this matrix" : "not made yet"));
  if (MatSeqAIJCUDACSRReleased(A)) PetscCall(PetscViewerASCIIPrintf(viewer, "%s: released\n", d->device.csr->name));
  else PetscCall((*d->device.csr->view)(A, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s: newest values %s, structure on the host %s\n", d->device.storage->name, MatSeqAIJCUDAStates[MatSeqAIJCUDAGetState(A)],
                                   MatSeqAIJCUDAHasHostArrays(A) ? "yes" : "no"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_SeqAIJCUDA(Mat A, PetscViewer viewer)
{
  Mat_SeqAIJCUDA   *d = MatSeqAIJCUDAGet(A);
  PetscBool         ascii;
  PetscViewerFormat format;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL || format == PETSC_VIEWER_ASCII_FACTOR_INFO)) {
    PetscCall((*d->parent.view)(A, viewer)); // reads no array
    if (format == PETSC_VIEWER_ASCII_INFO) PetscCall(ViewStorage(A, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = (*d->parent.view)(A, viewer);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetCurrentMemType_SeqAIJCUDA(PETSC_UNUSED Mat A, PetscMemType *type)
{
  PetscFunctionBegin;
  *type = A->boundtocpu ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatBindToCPU() has set the flag already when it calls this. */
static PetscErrorCode MatBindToCPU_SeqAIJCUDA(Mat A, PetscBool flag)
{
  PetscFunctionBegin;
  A->boundtocpu = (PetscBool)(flag || MatSeqAIJCUDAGet(A)->no_device);
  if (A->boundtocpu && !MatSeqAIJCUDABuildsOnDevice(A)) PetscCall(ReleaseDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees what waits to be inserted, and the scratch for vectors of the host. */
static PetscErrorCode DestroyBuffers(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (d->staging.stage == NULL && d->x.array == NULL && d->y.array == NULL && d->z.array == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (d->staging.stage != NULL) PetscCall(DCSRStageDestroy(&d->staging.stage, stream));
  PetscCall(PetscSparseCUDAFree(&d->x.array, stream));
  PetscCall(PetscSparseCUDAFree(&d->y.array, stream));
  PetscCall(PetscSparseCUDAFree(&d->z.array, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertInPlaceToSeqAIJ(Mat);

/* What MatSetType() destroys when it makes another type of A, which keeps the entries when that is AIJ. */
static PetscErrorCode DestroyButEntries(Mat A)
{
  const PetscBool created = (PetscBool)(MatSeqAIJCUDAGet(A)->host.role == ROLE_USER);

  PetscFunctionBegin;
  PetscCall(ConvertInPlaceToSeqAIJ(A));
  PetscCall(MatAIJCUDASave(A, created));
  PetscUseTypeMethod(A, destroy);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_SeqAIJCUDA(Mat A)
{
  Mat_SeqAIJCUDA *d             = MatSeqAIJCUDAGet(A);                                         // NULL: a header merged into another matrix
  PetscErrorCode (*parent)(Mat) = d != NULL ? d->parent.destroy : MatAIJCUDAParentSeq.destroy; // submatrices have one of their own

  PetscFunctionBegin;
  if (d != NULL && MatAIJCUDAChangesType(A)) {
    PetscCall(DestroyButEntries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (d != NULL) {
    PetscCall(DestroyBuffers(A));
    PetscCall(MatSeqAIJCUDAShowHostArrays(A));
    PetscCall(MatSeqAIJCUDADropDevice(A));
    PetscCall(MatSeqAIJCUDAForgetChoice(A));
    PetscCall(MatSeqAIJCUDARemoveComposed(A, d->type));
    PetscCall(PetscFree(d->host.hidden));
  }
  PetscCall(PetscFree(A->spptr));
  PetscCall(MatSetVecType(A, VECSTANDARD)); // MatSetType() makes another type of it, from what MatCreate() gives every matrix
  A->boundtocpu = PETSC_TRUE;
  PetscCall((*parent)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of one matrix into the other, whose structures are the same and one of which is ours. */
static PetscErrorCode CopyValues(Mat A, Mat B)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           na, nb;
  PetscBool          alike;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(MatOperandsAlike(A, B, &alike));
  if (!alike) { // as PETSc does it for a superclass
    PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  na = ((Mat_SeqAIJ *)A->data)->nz;
  nb = ((Mat_SeqAIJ *)B->data)->nz;
  PetscCheck(na == nb, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "MAT_REUSE_MATRIX needs the same nonzero pattern; the matrices have %" PetscInt_FMT " and %" PetscInt_FMT " nonzeros", na, nb);
  PetscCall(MatSeqAIJGetArrayRead(A, &from));
  ierr = MatSeqAIJGetArrayWrite(B, &to);
  if (ierr == PETSC_SUCCESS) {
    ierr = PetscArraycpy(to, from, na);
    PetscCall(MatSeqAIJRestoreArrayWrite(B, &to));
  }
  PetscCall(MatSeqAIJRestoreArrayRead(A, &from));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a matrix of ours MATSEQAIJ; the host copy is brought up to date first and becomes the matrix. */
static PetscErrorCode ConvertInPlaceToSeqAIJ(Mat B)
{
  Mat_SeqAIJ     *b = (Mat_SeqAIJ *)B->data;
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(B);

  PetscFunctionBegin;
  PetscCall(ReleaseDevice(B));
  PetscCall(DestroyBuffers(B));
  PetscCall(MatSeqAIJCUDAForgetChoice(B));
  PetscCall(MatSeqAIJCUDAShowHostArrays(B));
  PetscCall(MatAIJCUDAReturnColorings(B));
  MatProductKeepOps_AIJCUDA(B, &d->parent);
  *b->ops       = d->parent_arrays;
  *B->ops       = d->parent;
  B->boundtocpu = PETSC_TRUE; // what MatCreate() gives every matrix
  PetscCall(MatSeqAIJCUDARestoreComposed(B, d->type));
  PetscCall(PetscFree(d->host.hidden));
  PetscCall(PetscFree(B->spptr));
  PetscCall(MatSetVecType(B, VECSTANDARD));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATSEQAIJ));
  PetscCall(MatSeqAIJKeepDuplicates_AIJCUDA(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert_SeqAIJCUDA_SeqAIJ - Converts a matrix of ours to MATSEQAIJ; see MatConvert() for the parameters. */
PetscErrorCode MatConvert_SeqAIJCUDA_SeqAIJ(Mat A, PETSC_UNUSED MatType type, MatReuse reuse, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(CopyValues(A, *B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) { // a duplicate on the host, no detour through the device
    const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;

    PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
    ierr = (*MatSeqAIJCUDAGet(A)->parent.duplicate)(A, a->a != NULL ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, B); // graphs of PCGAMG have no values before PETSc 3.26
    PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  }
  PetscCall(ConvertInPlaceToSeqAIJ(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The operations of a matrix of ours, all in one place: wrappers wherever the parent has an operation, over them what each room has.

  Called again after every parent operation that rewrites the table: assemblyend (inode code) and setoption (MAT_SORTED_FULL). Products with vectors that the program has set stay.
*/
static PetscErrorCode SetOps(Mat A, struct _MatOps *ops)
{
  struct _MatOps program;

  PetscFunctionBegin;
  MatAIJCUDATakeProducts(ops, &MatSeqAIJCUDAGet(A)->installed, &program);
  PetscCall(MatSeqAIJCUDASetWrappers(A, ops));
  PetscCall(MatSeqAIJCUDASetMultOps(ops));
  PetscCall(MatSeqAIJCUDASetEntriesOps(ops));
  PetscCall(MatSeqAIJCUDASetDeletionOps(ops));
  PetscCall(MatSeqAIJCUDASetTransposeOps(ops));
  PetscCall(MatSeqAIJCUDASetSubmatrixOps(ops));
  PetscCall(MatSeqAIJCUDASetInsertOps(ops));
  PetscCall(MatAIJCUDASetRowAccessOps(ops, PETSC_FALSE));
  ops->axpy                      = MatAXPY_SeqAIJCUDA;
  MatSeqAIJCUDAGet(A)->installed = *ops;
  MatAIJCUDAPutProducts(ops, &program);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The type's own operations, set once: PETSc puts others over some of them, such as those that destroy submatrices. */
static PetscErrorCode SetOwnOps(struct _MatOps *ops)
{
  PetscFunctionBegin;
  ops->setfromoptions        = MatSetFromOptions_SeqAIJCUDA;
  ops->assemblyend           = MatAssemblyEnd_SeqAIJCUDA;
  ops->setoption             = MatSetOption_SeqAIJCUDA;
  ops->view                  = MatView_SeqAIJCUDA;
  ops->destroy               = MatDestroy_SeqAIJCUDA;
  ops->bindtocpu             = MatBindToCPU_SeqAIJCUDA;
  ops->getcurrentmemtype     = MatGetCurrentMemType_SeqAIJCUDA;
  ops->creategraph           = MatCreateGraph_AIJCUDA;
  ops->convert               = MatConvert_AIJCUDA;
  ops->convertfrom           = MatConvertFrom_AIJCUDA;
  ops->productsetfromoptions = MatProductSetFromOptions_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inode routines read the host arrays behind our back; an assembled matrix drops what it has of them in assemblyend. */
static PetscErrorCode DropInodes(Mat B, struct _MatOps *ops)
{
  PetscFunctionBegin;
  PetscCall((*ops->setoption)(B, MAT_USE_INODES, PETSC_FALSE));
  if (B->assembled && B->preallocated && !B->hash_active) PetscCall((*ops->assemblyend)(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether -mat_seqaij_type makes ours of matrices that PETSc's host code takes for MATSEQAIJ: it reads their structure, and may fill their arrays, without asking. */
static PetscErrorCode HostCodeReadsStructure(Mat B, PetscBool *reads)
{
  char      name[256];
  PetscBool set;

  const MatAIJCUDATypes *types = NULL;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(((PetscObject)B)->options, ((PetscObject)B)->prefix, "-mat_seqaij_type", name, sizeof(name), &set));
  if (set) PetscCall(MatAIJCUDATypesFind(name, &types));
  *reads = (PetscBool)(types != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sequential type behind any of our names, as it was registered. */
static PetscErrorCode GetSequentialType(MatType type, MatType *registered)
{
  const MatAIJCUDATypes *types;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDATypesFind(type, &types));
  PetscCall(MatDeviceStorageFind(types != NULL ? types->seq : type, registered));
  PetscCheck(*registered != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Type %s has no storage: call MatDeviceStorageRegister() before MatRegister()", type);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Makes a matrix of ours one of another type of ours, with its device copy and its host copy.

  The operations of all our types are the same: names change, and storage beside CSR goes.
*/
static PetscErrorCode ChangeType(Mat A, MatType type)
{
  Mat_SeqAIJCUDA *d        = MatSeqAIJCUDAGet(A);
  const PetscBool borrowed = (PetscBool)(d->device.csr_use == CSR_BORROWED);
  MatType         registered;

  PetscFunctionBegin;
  PetscCall(GetSequentialType(type, &registered));
  if (registered == d->type) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAGetCSR(A));
  PetscCall(MatSeqAIJCUDADropStorage(A));
  PetscCall(MatSeqAIJCUDAForgetChoice(A));
  PetscCall(MatSeqAIJCUDARemoveComposed(A, d->type));
  PetscCall(MatSeqAIJCUDASetStorage(A, registered));
  if (borrowed) PetscCall(MatSeqAIJCUDANoteBorrowed(A));
  d->device.turn              = STORAGE_FIRST;
  d->options.storage_format   = 0;
  d->options.storage_products = 0;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, registered));
  PetscCall(MatSeqAIJCUDACompose(A, registered));
  PetscCall(ReadOptions(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Gives a MATSEQAIJ our spptr, operations and name.

  One that is not assembled comes from -mat_seqaij_type (or becomes a block of ours): it may be a block of a MATMPIAIJ, whose operations read its structure directly.
*/
static PetscErrorCode ConvertInPlaceFromSeqAIJ(Mat B, MatType type)
{
  Mat_SeqAIJ     *b   = (Mat_SeqAIJ *)B->data;
  struct _MatOps *ops = B->hash_active ? &b->cops : B->ops; // the hash of MatSetValues() puts the saved table back at assembly
  Mat_SeqAIJCUDA *d;
  PetscBool       usable, hide = PETSC_FALSE;
  MatType         registered;

  PetscFunctionBegin;
  PetscCall(GetSequentialType(type, &registered));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCall(DropInodes(B, ops));
  PetscCall(PetscNew(&d));
  d->parent                = *ops;
  d->parent_arrays         = *b->ops;
  d->device.csr            = &MatDeviceStorageDCSR;
  d->no_device             = (PetscBool)!usable;
  d->options.stage_size    = 1 << 25;
  d->options.blocks        = PETSC_TRUE;
  d->options.stage_entries = 1 << 25;
  d->options.slack         = 0.25;
  d->options.max_segments  = DCSR_MAX_SEGMENTS;
  B->spptr                 = d;
  PetscCall(MatSeqAIJCUDASetStorage(B, registered));
  MatSeqAIJCUDANoteValues(B, VALUES_NONE);

  d->host.at_once = (PetscBool)!B->assembled;
  PetscCall(HostCodeReadsStructure(B, &d->options.eager));
  PetscCall(PetscOptionsGetBool(((PetscObject)B)->options, NULL, "-mat_dcsr_test_hide_host", &hide, NULL));
  if (hide) PetscCall(PetscNew(&d->host.hidden));
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, d->type));
  PetscCall(SetOps(B, ops));
  PetscCall(SetOwnOps(ops));
  PetscCall(MatSeqAIJCUDASetArrayHooks(B));
  PetscCall(MatSeqAIJCUDACompose(B, d->type));
  B->boundtocpu = d->no_device;
  if (usable) PetscCall(MatSetVecType(B, VECCUDA));
  else PetscCall(PetscInfo(B, "No usable CUDA device: this matrix computes on the host\n"));
  PetscCall(ReadOptions(B));
  PetscCall(MatProductWrapNumeric_AIJCUDA(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_SeqAIJ_SeqAIJCUDA - Converts a sequential AIJ matrix, assembled or not, to one of our types; see MatConvert() for the parameters.

  A matrix that is ours already is duplicated, copied or left where it is, and gets the type.
*/
PetscErrorCode MatConvert_SeqAIJ_SeqAIJCUDA(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscBool ours, alike;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  else if (reuse == MAT_REUSE_MATRIX && ours) PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  else if (reuse == MAT_REUSE_MATRIX) PetscCall(CopyValues(A, *B));
  PetscCall(MatOperandsAlike(A, *B, &alike));
  PetscCall(MatIsSeqAIJCUDA(*B, &ours));
  if (alike && !ours) PetscCall(ConvertInPlaceFromSeqAIJ(*B, type));
  else if (reuse != MAT_REUSE_MATRIX) PetscCall(ChangeType(*B, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATDCSRCUDA - MATDCSRCUDA = "dcsrcuda" - Sparse matrices in dynamic compressed row storage on NVIDIA GPUs.

  Options Database Keys:
+ -mat_type dcsrcuda                           - sets this type in `MatSetFromOptions()`
. -mat_dcsr_blocks <true>                      - products by blocks where the matrix consists of full ones of the size of its layouts
. -mat_dcsr_spmv (auto|split|scan|warp|vector|blocks) - kernel of `MatMult()`
. -mat_dcsr_spmv_transpose (auto|atomic|tile)  - kernel of `MatMultTranspose()`
. -mat_dcsr_deterministic                      - bitwise reproducible `MatMultTranspose()`, with a stored transpose
. -mat_dcsr_host_structure (lazy|eager)        - when the host copy of the structure is made
. -mat_dcsr_stage_size <33554432>              - bytes of each of the two pinned buffers that `MatSetValues()` fills
. -mat_dcsr_stage_entries <33554432>           - inserted entries that wait on the device at most, unless the matrix has more
. -mat_dcsr_defragment (auto|never|always)     - when storage that insertion left fragmented becomes compact
. -mat_dcsr_slack <0.25>                       - unused entries behind a segment that insertion makes, as a part of the row's entries
. -mat_dcsr_max_segments <4>                   - segments that insertion may give a row; 1: new entries are always merged
. -mat_dcsr_product_slices <0>                 - slices in which products of three matrices are computed; 0: as many as memory asks for, 1: never
- -mat_dcsr_require_device                     - raise an error when there is no usable device

  Level: beginner

  Notes:
  The type is a subclass of `MATAIJ`: `MATSEQAIJDCSRCUDA` on one process, `MATMPIAIJDCSRCUDA` on several. What `MATAIJ` can do it can do, on the host when there is no
  device code for it; the host arrays are brought up to date first. Without a usable device everything runs on the host.

  The storage is that of King, Gilray, Kirby and Might, Dynamic-CSR, ISC 2016; the products follow Steinberger, Zayer and Seidel, Globally homogeneous, locally
  adaptive sparse matrix-vector multiplication on the GPU, ICS 2017.

.seealso: `MATAIJ`, `MATAIJCUSPARSE`, `PetscSparseCUDAInitialize()`, `MatDCSRCUDASetValuesDevice()`, `MatDCSRCUDAGetInserter()`, `MatDCSRCUDADefragment()`
M*/
PetscErrorCode MatCreate_SeqAIJDCSRCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJCUDA(B, MATSEQAIJDCSRCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreate_SeqAIJCUDA - The constructor of a sequential type with the storage it is registered with by MatDeviceStorageRegister(). Collective. */
PetscErrorCode MatCreate_SeqAIJCUDA(Mat B, MatType type)
{
  PetscBool      reads;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // as long as it is a MATSEQAIJ it does not obey -mat_seqaij_type
  ierr = MatCreate_SeqAIJ(B);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscCall(MatConvert_SeqAIJ_SeqAIJCUDA(B, type, MAT_INPLACE_MATRIX, &B));
  PetscCall(HostCodeReadsStructure(B, &reads));
  MatSeqAIJCUDAGet(B)->host.role    = reads ? ROLE_FOREIGN : ROLE_USER;
  MatSeqAIJCUDAGet(B)->host.at_once = reads;
  PetscCall(MatAIJCUDARestoreSaved(B, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
