/*
  hypre, when PETSc has it: conversions between matrices of ours and MATHYPRE, and products that hypre computes.

  A matrix becomes MATHYPRE on the device where hypre computes there (hypredevice.c). All else is PETSc's code for MATAIJ, which reads i and j of the host copy directly. A matrix has our functions
  exactly when its parent type has PETSc's.
*/
#include "hypre.h"
#include "../core/core.h"
#include "../host/composed.h"
#include "../product/product.h"

typedef PetscErrorCode (*ConvertFn)(Mat, MatType, MatReuse, Mat *);

/* Whether the hypre of this PETSc computes on the device: its matrices can be bound to the CPU then. */
static PetscErrorCode HYPREHasDevice(PetscBool *has)
{
  Mat H;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &H));
  PetscCall(MatSetType(H, MATHYPRE));
  *has = (PetscBool)(H->ops->bindtocpu != NULL);
  PetscCall(MatDestroy(&H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a MATHYPRE made of A, or filled again with its values, is on the device. */
static PetscErrorCode ConvertsOnDevice(Mat A, MatReuse reuse, const Mat *B, PetscBool *device)
{
  PetscMemType type;

  PetscFunctionBegin;
  PetscCall(MatGetCurrentMemType(A, &type));
  if (PetscMemTypeDevice(type) && reuse == MAT_REUSE_MATRIX) PetscCall(MatGetCurrentMemType(*B, &type));
  *device = (PetscBool)PetscMemTypeDevice(type);
  if (*device && reuse != MAT_REUSE_MATRIX) PetscCall(HYPREHasDevice(device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's conversion to MATHYPRE, NULL when PETSc has no hypre. */
static PetscErrorCode GetParentConvert(Mat A, ConvertFn *convert)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_seqaij_hypre_C", convert));
  if (*convert == NULL) PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_mpiaij_hypre_C", convert));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's own conversion, by the host. For a hypre without GPU support PETSc reads the values that MatSeqAIJGetCSRAndMemType() gives on the host: the matrix counts as bound to the
  CPU meanwhile. For one with GPU support it copies them on the device, on the stream on which they were computed.
*/
static PetscErrorCode ConvertByParent(Mat A, MatType type, MatReuse reuse, PetscBool device, Mat *B)
{
  const int      access = device ? HOST_READ_STRUCTURE : HOST_READ;
  ConvertFn      convert;
  PetscBool      bound[3];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetParentConvert(A, &convert));
  PetscCheck(convert != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "MATAIJ of this PETSc has no conversion to MATHYPRE");
  PetscCall(MatAIJCUDAHostBegin(A, access));
  if (!device) PetscCall(MatAIJCUDABoundBegin(A, bound));
  ierr = (*convert)(A, type, reuse, B);
  if (!device) PetscCall(MatAIJCUDABoundEnd(A, bound));
  PetscCall(MatAIJCUDAHostFinish(A, access, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_AIJCUDA_HYPRE(Mat, MatType, MatReuse, Mat *);

/* A MATHYPRE that was made on the device, and cannot be filled there any more, becomes a new one that is where it was. */
static PetscErrorCode ReplaceHYPRE(Mat A, MatType type, Mat B)
{
  PetscBool bound;
  Mat       H;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(B, &bound));
  PetscCall(MatConvert_AIJCUDA_HYPRE(A, type, MAT_INITIAL_MATRIX, &H));
  if (bound) PetscCall(MatBindToCPU(H, PETSC_TRUE));
  PetscCall(MatHeaderReplace(B, &H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_AIJCUDA_HYPRE(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  Mat       H      = NULL;
  PetscBool device = PETSC_FALSE, ours = PETSC_FALSE, done = PETSC_FALSE;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatAIJCUDARefillHYPREDevice(A, *B, &ours, &done));
  if (ours) {
    if (!done) PetscCall(ReplaceHYPRE(A, type, *B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ConvertsOnDevice(A, reuse, B, &device));
  if (device && reuse != MAT_REUSE_MATRIX) PetscCall(MatAIJCUDAConvertHYPREDevice(A, &H));
  if (H == NULL) PetscCall(ConvertByParent(A, type, reuse, device, B));
  else if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &H));
  else *B = H;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Through a MATAIJ on the host: PETSc's function puts a parallel matrix together from its blocks, which is not how ours come to be. */
static PetscErrorCode MatConvert_HYPRE_AIJCUDA(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  ConvertFn      convert;
  PetscMPIInt    size;
  PetscBool      parallel;
  Mat            host;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_hypre_aij_C", &convert));
  PetscCheck(convert != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "MATHYPRE of this PETSc has no conversion to MATAIJ");
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscStrbeginswith(type, MATMPIAIJ, &parallel));
  PetscCall((*convert)(A, size > 1 || parallel ? MATMPIAIJ : MATSEQAIJ, MAT_INITIAL_MATRIX, &host));
  if (reuse == MAT_REUSE_MATRIX) ierr = MatConvert(host, type, MAT_REUSE_MATRIX, B);
  else ierr = MatConvert(host, type, MAT_INPLACE_MATRIX, &host);
  if (ierr != PETSC_SUCCESS || reuse == MAT_REUSE_MATRIX) PetscCall(MatDestroy(&host));
  PetscCall(ierr);
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &host));
  else if (reuse == MAT_INITIAL_MATRIX) *B = host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PtAP with a MATHYPRE P. PETSc hands the values of A to hypre on the host, whatever the type of A is. */
static PetscErrorCode MatProductSetFromOptions_AIJCUDA_HYPRE(Mat C)
{
  PetscMemType type;

  PetscFunctionBegin;
  PetscCall(MatGetCurrentMemType(C->product->B, &type));
  PetscCheck(PetscMemTypeHost(type), PetscObjectComm((PetscObject)C), PETSC_ERR_SUP,
             "No product of a matrix of type %s and a MATHYPRE on the device: convert the former with MatConvert() to MATHYPRE, or the latter to MATAIJ", ((PetscObject)C->product->A)->type_name);
  PetscCall(MatProductSetFromOptions_AIJCUDA_Mixed(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent's numeric phase for a virtual transpose times two matrices, from a product of empty matrices. Its symbolic phase refuses the transpose of a matrix of ours. */
static PetscErrorCode GetParentTransposeNumeric(PetscErrorCode (**numeric)(Mat))
{
  static PetscErrorCode (*known)(Mat) = NULL;

  PetscFunctionBegin;
  if (known == NULL) {
    Mat A, At, C;

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetOptionsPrefix(A, "petscsparsecuda_parent_"));
    PetscCall(MatSetSizes(A, 0, 0, 0, 0));
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(MatSetUp(A));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateTranspose(A, &At));
    PetscCall(MatProductCreate(At, A, A, &C));
    PetscCall(MatProductSetType(C, MATPRODUCT_ABC));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    known = C->ops->productnumeric;
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&At));
    PetscCall(MatDestroy(&A));
  }
  *numeric = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_Transpose_AIJCUDA(Mat C)
{
  PetscErrorCode (*numeric)(Mat) = NULL;

  PetscFunctionBegin;
  PetscCall(GetParentTransposeNumeric(&numeric));
  PetscCall(MatSetType(C, MATAIJ)); // as the parent's
  C->ops->productnumeric = numeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSetFromOptions_Transpose_AIJCUDA(Mat C)
{
  PetscFunctionBegin;
  PetscCheck(C->product->type == MATPRODUCT_ABC, PetscObjectComm((PetscObject)C), PETSC_ERR_SUP, "No product of type %s of a virtual transpose and two matrices: MATPRODUCT_ABC is the only one",
             MatProductTypes[C->product->type]);
  C->ops->productsymbolic = MatProductSymbolic_Transpose_AIJCUDA;
  PetscCall(MatProductWrapSymbolic_AIJCUDA(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc looks for on a matrix of ours whose parent type is "parent" when hypre takes part. */
#define NAMED_HYPRE(parent) \
  NAMED_FUNCTION("MatConvert_%s_" MATHYPRE "_C", MatConvert_AIJCUDA_HYPRE), NAMED_FUNCTION("MatConvert_" MATHYPRE "_%s_C", MatConvert_HYPRE_AIJCUDA), \
    NAMED_FUNCTION("MatProductSetFromOptions_%s_" MATHYPRE "_C", MatProductSetFromOptions_AIJCUDA_HYPRE), \
    NAMED_FUNCTION("MatProductSetFromOptions_transpose_%s_%s_C", MatProductSetFromOptions_Transpose_AIJCUDA), \
    NAMED_FUNCTION("MatProductSetFromOptions_transpose_%s_" parent "_C", MatProductSetFromOptions_Transpose_AIJCUDA), \
    NAMED_FUNCTION("MatProductSetFromOptions_transpose_" parent "_%s_C", MatProductSetFromOptions_Transpose_AIJCUDA)
static const MatAIJCUDANamedFunction seq_functions[] = {NAMED_HYPRE(MATSEQAIJ)};
static const MatAIJCUDANamedFunction mpi_functions[] = {NAMED_HYPRE(MATMPIAIJ)};

/* The same under the name that users say, which is no form of the type's own. */
static const MatAIJCUDANamedFunction root_functions[] = {NAMED_FUNCTION("MatConvert_" MATHYPRE "_%s_C", MatConvert_HYPRE_AIJCUDA)};

/*
  MatAIJCUDAComposeHYPRE - Composes the functions that PETSc looks for on a matrix of ours when hypre takes part, under the names of the type, if its parent type has them; or removes them.

  A is a matrix of ours, or one that got the functions of one and is none.
*/
PetscErrorCode MatAIJCUDAComposeHYPRE(Mat A, MatType type, PetscBool compose)
{
  ConvertFn convert = NULL;
  PetscBool is_mpi;

  const MatAIJCUDATypes *types;

  PetscFunctionBegin;
  if (compose) {
    PetscCall(GetParentConvert(A, &convert));
    if (convert == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrbeginswith(type, MATMPIAIJ, &is_mpi));
  PetscCall(MatAIJCUDAComposeNamed(A, type, PETSC_STATIC_ARRAY_LENGTH(seq_functions), is_mpi ? mpi_functions : seq_functions, compose));
  PetscCall(MatAIJCUDATypesFind(type, &types));
  if (types != NULL) PetscCall(MatAIJCUDAComposeNamed(A, types->root, PETSC_STATIC_ARRAY_LENGTH(root_functions), root_functions, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}
