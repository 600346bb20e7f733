/* MATMPIAIJDCSRCUDA: a MATMPIAIJ whose diagonal and off-diagonal blocks are MATSEQAIJDCSRCUDA. */
#include <petscsparsecuda/dcsrimpl.h>
#include <petscsparsecuda/thunks.h>

/* Makes the ghost vector one that lives on the device, when products run there and the parent made another one. */
static PetscErrorCode UpdateGhostVector(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscBool   cuda;

  PetscFunctionBegin;
  if (a->lvec == NULL || A->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)a->lvec, &cuda, VECSEQCUDA, VECCUDA, ""));
  if (!cuda) {
    PetscCall(VecDestroy(&a->lvec));
    PetscCall(MatCreateVecs(a->B, &a->lvec, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a block is MATSEQAIJ; assembled ones of other subclasses, which -mat_seqaij_type made, become that. */
static PetscErrorCode MakeSeqAIJ(Mat *block, PetscBool *is)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)*block, MATSEQAIJ, is));
  if (*is || !(*block)->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = MatConvert(*block, MATSEQAIJ, MAT_INPLACE_MATRIX, block);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  *is = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMPIAIJCUDASetBlockTypes - Makes the blocks of a parallel matrix of ours ours, and its ghost vector one of their type.

  Not Collective

  Input Parameter:
. A - any matrix; others than ours are left alone

  Note:
  The blocks get their host structure, if they do not have it: PETSc's public functions on parallel matrices read it directly.

  Several parent operations (the hash of MatSetValues(), MatCreateSubMatrix(), MatCreateMPIAIJWithSeqAIJ()) leave MATSEQAIJ blocks behind. A block that is
  still in its hash phase is left for the next call.
*/
PetscErrorCode MatMPIAIJCUDASetBlockTypes(Mat A)
{
  Mat_MPIAIJ *a;
  Mat        *blocks[2];
  PetscBool   is, changed = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  a         = (Mat_MPIAIJ *)A->data;
  blocks[0] = &a->A;
  blocks[1] = &a->B;
  for (int k = 0; k < 2; k++) {
    if (*blocks[k] == NULL) continue;
    PetscCall(MatIsSeqAIJCUDA(*blocks[k], &is));
    if (is || (*blocks[k])->hash_active) is = PETSC_FALSE;
    else PetscCall(MakeSeqAIJ(blocks[k], &is));
    if (is) {
      PetscCall(MatConvert_SeqAIJ_SeqAIJDCSRCUDA(*blocks[k], MATSEQAIJDCSRCUDA, MAT_INPLACE_MATRIX, blocks[k]));
      if (A->boundtocpu) PetscCall(MatBindToCPU(*blocks[k], PETSC_TRUE));
      changed = PETSC_TRUE;
    }
    PetscCall(MatIsSeqAIJCUDA(*blocks[k], &is));
    if (is) {
      MatSeqAIJCUDAGet(*blocks[k])->is_block = PETSC_TRUE;
      MatSeqAIJCUDAGet(*blocks[k])->diagonal = k ? DCSR_NO_DIAGONAL : A->rmap->rstart - A->cmap->rstart;
      if ((*blocks[k])->assembled) {
        PetscCall(MatAIJCUDAHostBegin(*blocks[k], HOST_READ_STRUCTURE));
        PetscCall(MatAIJCUDAHostEnd(*blocks[k], HOST_READ_STRUCTURE));
      }
    }
  }
  if (changed) PetscCall(UpdateGhostVector(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOps(Mat, struct _MatOps *);

static PetscErrorCode MatAssemblyEnd_MPIAIJDCSRCUDA(Mat A, MatAssemblyType mode)
{
  PetscBool      own, done;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAssemblyEndDevice_MPIAIJCUDA(A, mode, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJCUDASetBlockTypes(A)); // before, so that the parent makes the ghost vector from a block of ours
  // entries from other processes, new off-diagonal columns and their compaction are written straight into the blocks' arrays
  own = (PetscBool)(!A->was_assembled || (!((Mat_MPIAIJ *)A->data)->donotstash && !A->nooffprocentries));
  if (own) PetscCall(MatAIJCUDAHostBegin(A, HOST_WRITE));
  ierr = (*MatMPIAIJCUDAGet(A)->parent.assemblyend)(A, mode);
  if (own) ierr = MatAIJCUDAHostFinish(A, HOST_WRITE, ierr);
  PetscCall(ierr);
  if (mode == MAT_FINAL_ASSEMBLY) {
    PetscCall(MatMPIAIJCUDASetBlockTypes(A));
    PetscCall(SetOps(A, A->ops));
    MatMPIAIJCUDAGet(A)->device_assembly = (PetscBool)!MatMPIAIJCUDAGet(A)->no_device; // from now on
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_MPIAIJDCSRCUDA(Mat A, MatDuplicateOption option, Mat *B)
{
  PetscFunctionBegin;
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.duplicate)(A, option, B));
  PetscCall(MatMPIAIJCUDASetBlockTypes(*B));
  MatMPIAIJCUDAGet(*B)->device_assembly = (PetscBool)(A->assembled && !MatMPIAIJCUDAGet(*B)->no_device);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConjugate_MPIAIJDCSRCUDA(Mat A)
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
  PetscCallGoto(ierr, done, MatMPIAIJCUDAUseCurrentStream(A));
  PetscCallGoto(ierr, done, MatColumnSumsAbs_SeqAIJCUDA(a->B, a->lvec));
  PetscCallGoto(ierr, done, VecScatterBegin(a->Mvctx, a->lvec, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCallGoto(ierr, done, VecScatterEnd(a->Mvctx, a->lvec, sums, ADD_VALUES, SCATTER_REVERSE));
  PetscCallGoto(ierr, done, VecNorm(sums, NORM_INFINITY, norm));
done:
  PetscCall(VecDestroy(&sums));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc 3.26 adds column sums to a vector that it has not set to zero; a host vector is zero when it is new, a device vector is not. */
static PetscErrorCode NormOneOnHost(Mat A, PetscReal *norm)
{
  Mat             B      = ((Mat_MPIAIJ *)A->data)->B;
  const PetscBool device = (PetscBool)!MatMPIAIJCUDAGet(A)->no_device;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (device) {
    PetscCall(MatSetVecType(A, VECSTANDARD));
    PetscCall(MatSetVecType(B, VECSTANDARD));
  }
  ierr = MatHost_MPIAIJCUDA_norm(A, NORM_1, norm);
  if (device) {
    PetscCall(MatSetVecType(A, VECCUDA));
    PetscCall(MatSetVecType(B, VECCUDA));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_MPIAIJDCSRCUDA(Mat A, NormType type, PetscReal *norm)
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

static PetscErrorCode MatGetRowSumAbs_MPIAIJDCSRCUDA(Mat A, Vec v)
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
  Mat          block = ((Mat_MPIAIJ *)A->data)->A;
  PetscBool    facts[2];
  PetscCount   missing;
  cudaStream_t stream;

  PetscFunctionBegin;
  *grows = PETSC_FALSE;
  PetscCall(MatHasCongruentLayouts(A, device));
  if (*device && A->assembled) PetscCall(UseDevice(A, device));
  else *device = PETSC_FALSE;
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDACopyToDevice(block));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRCountMissingDiagonal(MatSeqAIJCUDAGet(block)->view, block->rmap->n, stream, &missing));
  facts[0] = (PetscBool)(missing > 0);
  facts[1] = (PetscBool)(missing > 0 && (((Mat_SeqAIJ *)block->data)->nonew != 0 || MatSeqAIJCUDAGet(block)->host_active > 0 || !MatMPIAIJCUDAGet(A)->device_assembly));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, facts, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  *grows  = facts[0];
  *device = (PetscBool)!facts[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With all diagonal entries in the diagonal block a shift is the block's. */
static PetscErrorCode MatShift_MPIAIJDCSRCUDA(Mat A, PetscScalar s)
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
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent leaves it to the diagonal block, which may get new entries; the buffers of MatGetRow(), as long as the longest row was, go. */
static PetscErrorCode MatDiagonalSet_MPIAIJDCSRCUDA(Mat A, Vec diagonal, InsertMode mode)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  PetscBool   device, grows;

  PetscFunctionBegin;
  PetscCall(DiagonalOnDevice(A, &device, &grows));
  PetscCall((*MatMPIAIJCUDAGet(A)->parent.diagonalset)(A, diagonal, mode));
  PetscCall(PetscFree2(a->rowvalues, a->rowindices));
  if (device && grows) {
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(USE_COMPLEX)
static PetscErrorCode MatMultHermitianTransposeAdd_MPIAIJDCSRCUDA(Mat A, Vec x, Vec z, Vec y)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  PetscUseTypeMethod(a->B, multhermitiantranspose, x, a->lvec);
  if (z == NULL) PetscUseTypeMethod(a->A, multhermitiantranspose, x, y);
  else PetscUseTypeMethod(a->A, multhermitiantransposeadd, x, z, y);
  PetscCall(VecScatterBegin(a->Mvctx, a->lvec, y, ADD_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(a->Mvctx, a->lvec, y, ADD_VALUES, SCATTER_REVERSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultHermitianTranspose_MPIAIJDCSRCUDA(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultHermitianTransposeAdd_MPIAIJDCSRCUDA(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode MatView_MPIAIJDCSRCUDA(Mat A, PetscViewer viewer)
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

static PetscErrorCode MatSetFromOptions_MPIAIJDCSRCUDA(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;
  Mat         blocks[2];
  PetscBool   require = PETSC_FALSE, is;

  PetscFunctionBegin;
  if (MatMPIAIJCUDAGet(A)->parent.setfromoptions != NULL) PetscCall((*MatMPIAIJCUDAGet(A)->parent.setfromoptions)(A, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "Dynamic CSR on the device (dcsrcuda) options");
  PetscCall(PetscOptionsBool("-mat_dcsr_require_device", "Raise an error when there is no usable device, instead of computing on the host", "MATDCSRCUDA", require, &require, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(!require || !MatMPIAIJCUDAGet(A)->no_device, PetscObjectComm((PetscObject)A), PETSC_ERR_GPU, "-mat_dcsr_require_device is set and a process has no usable CUDA device: check nvidia-smi, CUDA_VISIBLE_DEVICES and -device_enable");
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
static PetscErrorCode MatBindToCPU_MPIAIJDCSRCUDA(Mat A, PetscBool flag)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  A->boundtocpu = (PetscBool)(flag || MatMPIAIJCUDAGet(A)->no_device);
  if (a->A != NULL) PetscCall(MatBindToCPU(a->A, A->boundtocpu));
  if (a->B != NULL) PetscCall(MatBindToCPU(a->B, A->boundtocpu));
  PetscCall(UpdateGhostVector(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent makes MATSEQAIJ blocks; ours take their place while they are empty. */
static PetscErrorCode (*parent_setpreallocation)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[])     = NULL;
static PetscErrorCode (*parent_setpreallocationcsr)(Mat, const PetscInt[], const PetscInt[], const PetscScalar[]) = NULL;
static PetscErrorCode (*parent_resethash)(Mat)                                                                    = NULL;
static PetscErrorCode (*parent_destroy)(Mat)                                                                      = NULL;

/* MatMPIAIJCUDAParentSetPreallocation - MATMPIAIJ's MatMPIAIJSetPreallocation() */
PetscErrorCode MatMPIAIJCUDAParentSetPreallocation(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAUseCurrentStream(A));     // the ghost vector goes
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // -mat_seqaij_type is not for the blocks
  ierr = (*parent_setpreallocation)(A, d_nz, d_nnz, o_nz, o_nnz);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the device room is made when the entries come: nothing is preallocated, and nothing forbids more, unless an option is set afterwards. */
static PetscErrorCode MatMPIAIJSetPreallocation_MPIAIJDCSRCUDA(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  if (A->hash_active) device = PETSC_FALSE;
  else PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device && d_nz != MAT_SKIP_ALLOCATION && o_nz != MAT_SKIP_ALLOCATION) {
    PetscCall(MatAIJCUDACheckPreallocation(A->rmap->n, A->cmap->n, d_nz, d_nnz));
    PetscCall(MatAIJCUDACheckPreallocation(A->rmap->n, A->cmap->N, o_nz, o_nnz));
    PetscCall(MatMPIAIJCUDASetEmpty(A));
    PetscCall(MatSeqAIJCUDASetRowLimits(((Mat_MPIAIJ *)A->data)->A, d_nz, d_nnz));
    PetscCall(MatSeqAIJCUDASetRowLimits(((Mat_MPIAIJ *)A->data)->B, o_nz, o_nnz));
  } else {
    MatMPIAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
    PetscCall((*parent_setpreallocation)(A, d_nz, d_nnz, o_nz, o_nnz));
    PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJSetPreallocationCSR_MPIAIJDCSRCUDA(Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  MatMPIAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_BUILD));
  ierr = (*parent_setpreallocationcsr)(A, i, j, v);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_BUILD, ierr));
  PetscCall(MatMPIAIJCUDASetBlockTypes(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatResetHash_MPIAIJDCSRCUDA(Mat A)
{
  PetscBool      device;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device && MatMPIAIJCUDAGet(A)->device_assembly) {
    PetscCall(MatMPIAIJCUDASetEmpty(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatMPIAIJCUDADestroyInsertion(A));
  MatMPIAIJCUDAGet(A)->device_assembly = PETSC_FALSE;
  MatMPIAIJCUDAGet(A)->first_assembly  = PETSC_FALSE;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_BUILD));
  ierr = (*parent_resethash)(A);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_BUILD, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions that other objects look for on ours. */
static PetscErrorCode ComposeFunctions(Mat A, PetscBool compose)
{
  PetscErrorCode (*product)(Mat)                           = compose ? MatProductSetFromOptions_AIJCUDA : NULL;
  PetscErrorCode (*mixed)(Mat)                             = compose ? MatProductSetFromOptions_AIJCUDA_Mixed : NULL;
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *) = compose ? MatConvert_MPIAIJ_MPIAIJDCSRCUDA : NULL;
  PetscErrorCode (*back)(Mat, MatType, MatReuse, Mat *)    = compose ? MatConvert_MPIAIJDCSRCUDA_MPIAIJ : NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpiaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaij_mpiaijdcsrcuda_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpiaij_C", product));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpidense_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpidensecuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpidense_mpiaijdcsrcuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpidensecuda_mpiaijdcsrcuda_C", mixed));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_mpiaijdcsrcuda_mpimaij_C", mixed));
  PetscCall(MatAIJCUDAComposeTripleProducts(A, MATMPIAIJDCSRCUDA, MATMPIAIJ, product));
  PetscCall(MatAIJCUDAComposeAlias(A, "MatProductSetFromOptions_is_mpiaij_C", "MatProductSetFromOptions_is_mpiaijdcsrcuda_C", compose));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatDCSRCUDAFragment_C", compose ? MatDCSRCUDAFragment_Private : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_mpiaijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_aijdcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaij_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijdcsrcuda_dcsrcuda_C", convert));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijdcsrcuda_mpiaij_C", back));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_mpiaijdcsrcuda_is_C", compose ? MatConvert_AIJCUDA_IS : NULL));
  PetscCall(MatAIJCUDAComposeHYPRE(A, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's functions that ours stand in for; its destroy removes them, so they are put back only in a matrix that lives on. */
static PetscErrorCode ComposeReplacements(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", compose ? MatMPIAIJSetPreallocation_MPIAIJDCSRCUDA : parent_setpreallocation));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocationCSR_C", compose ? MatMPIAIJSetPreallocationCSR_MPIAIJDCSRCUDA : parent_setpreallocationcsr));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatResetHash_C", compose ? MatResetHash_MPIAIJDCSRCUDA : parent_resethash));
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

static PetscErrorCode MatDestroy_MPIAIJDCSRCUDA(Mat A)
{
  Mat_MPIAIJ *a = (Mat_MPIAIJ *)A->data;

  PetscFunctionBegin;
  if (a->spptr != NULL && MatAIJCUDAChangesType(A)) {
    PetscCall(DestroyButEntries(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ComposeFunctions(A, PETSC_FALSE));
  if (a->spptr != NULL) {
    PetscCall(MatMPIAIJCUDADestroyInsertion(A));
    PetscCall(MatMPIAIJCUDAUseCurrentStream(A)); // the ghost vector goes
  }
  PetscCall(PetscFree(a->spptr));
  PetscCall((*parent_destroy)(A));
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
  *B->ops       = MatMPIAIJCUDAGet(B)->parent;
  B->boundtocpu = PETSC_TRUE; // what MatCreate() gives every matrix
  PetscCall(MatMPIAIJCUDAComposeThunks(B, PETSC_FALSE));
  PetscCall(ComposeFunctions(B, PETSC_FALSE));
  PetscCall(ComposeReplacements(B, PETSC_FALSE));
  PetscCall(PetscFree(b->spptr));
  PetscCall(MatSetVecType(B, VECSTANDARD));
  if (b->lvec != NULL) {
    PetscCall(VecDestroy(&b->lvec));
    PetscCall(MatCreateVecs(b->B, &b->lvec, NULL));
  }
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_MPIAIJDCSRCUDA_MPIAIJ - Converts a matrix of ours to MATMPIAIJ; see MatConvert() for the parameters.
*/
PetscErrorCode MatConvert_MPIAIJDCSRCUDA_MPIAIJ(Mat A, PETSC_UNUSED MatType type, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert_SeqAIJDCSRCUDA_SeqAIJ(((Mat_MPIAIJ *)A->data)->A, MATSEQAIJ, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->A));
    PetscCall(MatConvert_SeqAIJDCSRCUDA_SeqAIJ(((Mat_MPIAIJ *)A->data)->B, MATSEQAIJ, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(ConvertInPlaceToMPIAIJ(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Thunks where the parent's operation uses host arrays, our own operations over them. */
static PetscErrorCode SetOps(Mat A, struct _MatOps *ops)
{
  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDASetOps(A, ops));
  ops->setfromoptions        = MatSetFromOptions_MPIAIJDCSRCUDA;
  ops->assemblyend           = MatAssemblyEnd_MPIAIJDCSRCUDA;
  ops->view                  = MatView_MPIAIJDCSRCUDA;
  ops->destroy               = MatDestroy_MPIAIJDCSRCUDA;
  ops->bindtocpu             = MatBindToCPU_MPIAIJDCSRCUDA;
  ops->creategraph           = MatCreateGraph_AIJCUDA;
  ops->convert               = MatConvert_AIJCUDA;
  ops->convertfrom           = MatConvertFrom_AIJCUDA;
  ops->productsetfromoptions = MatProductSetFromOptions_AIJCUDA;
  ops->conjugate             = MatConjugate_MPIAIJDCSRCUDA;
  ops->duplicate             = MatDuplicate_MPIAIJDCSRCUDA;
  ops->norm                  = MatNorm_MPIAIJDCSRCUDA;
  ops->getrowsumabs          = MatGetRowSumAbs_MPIAIJDCSRCUDA;
  ops->axpy                  = MatAXPY_MPIAIJCUDA;
  ops->shift                 = MatShift_MPIAIJDCSRCUDA;
  ops->diagonalset           = MatDiagonalSet_MPIAIJDCSRCUDA;
  ops->zerorows              = MatZeroRows_MPIAIJDCSRCUDA;
  ops->zerorowscolumns       = MatZeroRowsColumns_MPIAIJDCSRCUDA;
  ops->eliminatezeros        = MatEliminateZeros_MPIAIJDCSRCUDA;
#if PetscDefined(USE_COMPLEX)
  ops->multhermitiantranspose    = MatMultHermitianTranspose_MPIAIJDCSRCUDA;
  ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_MPIAIJDCSRCUDA;
#endif
  MatMPIAIJCUDAGet(A)->installed = *ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a MATMPIAIJ our spptr, operations and name, and its blocks theirs. */
static PetscErrorCode ConvertInPlaceFromMPIAIJ(Mat B)
{
  Mat_MPIAIJ     *b   = (Mat_MPIAIJ *)B->data;
  struct _MatOps *ops = B->hash_active ? &b->cops : B->ops;
  Mat_MPIAIJCUDA *d;
  PetscBool       usable;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)B)));
  PetscCall(PetscNew(&d));
  d->parent          = *ops;
  d->no_device       = (PetscBool)!usable;
  b->spptr           = d;
  d->device_assembly = (PetscBool)(B->assembled && usable);
  parent_destroy     = ops->destroy;
  PetscCall(PetscObjectChangeTypeName((PetscObject)B, MATMPIAIJDCSRCUDA));
  PetscCall(SetOps(B, ops));
  if (parent_setpreallocation == NULL) {
    PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatMPIAIJSetPreallocation_C", &parent_setpreallocation));
    PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatMPIAIJSetPreallocationCSR_C", &parent_setpreallocationcsr));
    PetscCall(PetscObjectQueryFunction((PetscObject)B, "MatResetHash_C", &parent_resethash));
  }
  PetscCall(MatMPIAIJCUDAComposeThunks(B, PETSC_TRUE));
  PetscCall(ComposeFunctions(B, PETSC_TRUE));
  PetscCall(ComposeReplacements(B, PETSC_TRUE));
  B->boundtocpu = d->no_device;
  if (usable) PetscCall(MatSetVecType(B, VECCUDA));
  PetscCall(MatMPIAIJCUDASetBlockTypes(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_MPIAIJ_MPIAIJDCSRCUDA - Converts a parallel AIJ matrix, assembled or not, to MATMPIAIJDCSRCUDA; see MatConvert() for the parameters.
*/
PetscErrorCode MatConvert_MPIAIJ_MPIAIJDCSRCUDA(Mat A, PETSC_UNUSED MatType type, MatReuse reuse, Mat *B)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &ours));
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  else if (reuse == MAT_REUSE_MATRIX && ours) PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  else if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert_SeqAIJ_SeqAIJDCSRCUDA(((Mat_MPIAIJ *)A->data)->A, MATSEQAIJDCSRCUDA, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->A));
    PetscCall(MatConvert_SeqAIJ_SeqAIJDCSRCUDA(((Mat_MPIAIJ *)A->data)->B, MATSEQAIJDCSRCUDA, MAT_REUSE_MATRIX, &((Mat_MPIAIJ *)(*B)->data)->B));
  }
  PetscCall(MatIsMPIAIJCUDA(*B, &ours));
  if (!ours) PetscCall(ConvertInPlaceFromMPIAIJ(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJDCSRCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJ_AIJCUDA(B));
  PetscCall(MatConvert_MPIAIJ_MPIAIJDCSRCUDA(B, MATMPIAIJDCSRCUDA, MAT_INPLACE_MATRIX, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
