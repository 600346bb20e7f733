/*
  Conversions between our types and others, by way of MATAIJ: they give what the conversions from and to MATAIJ give.

  MatConvert() looks for functions with the names of both types first, then asks the new type for its convertfrom(), then the old one for its convert(), and at last
  copies entry by entry. Names know MATAIJ and not us; we have the two operations.
*/
#include "host.h"
#include "../core/core.h"

/*
  MatAIJCUDAConvertToAIJ - MatConvert() of a matrix of ours to MATSEQAIJ or MATMPIAIJ, whatever -matconvert_type says. Collective.

  Costs: the host copy is brought up to date; MAT_INITIAL_MATRIX copies it, and MAT_REUSE_MATRIX its values.
*/
PetscErrorCode MatAIJCUDAConvertToAIJ(Mat A, MatReuse reuse, Mat *B)
{
  PetscBool is_mpi;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  if (is_mpi) PetscCall((*MatAIJCUDAHook.to_mpiaij)(A, MATMPIAIJ, reuse, B));
  else PetscCall((*MatAIJCUDAHook.to_seqaij)(A, MATSEQAIJ, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A MATSEQAIJ or MATMPIAIJ, or a matrix of another one of our types, becomes one of a type of ours. */
static PetscErrorCode ConvertFromAIJ(Mat A, MatType type)
{
  PetscBool is_seq, is_mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is_seq));
  if (!is_seq) PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &is_seq));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  if (!is_mpi) PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
  PetscCheck(is_seq || is_mpi, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "A conversion to MATAIJ gave %s: convert to MATAIJ first, then to %s", ((PetscObject)A)->type_name, type);
  if (is_mpi) PetscCall((*MatAIJCUDAHook.from_mpiaij)(A, type, MAT_INPLACE_MATRIX, &A));
  else PetscCall((*MatAIJCUDAHook.from_seqaij)(A, type, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert() as host code: a MATSEQAIJ that is made on the way, or that a subclass begins with, does not obey -mat_seqaij_type. */
static PetscErrorCode ConvertOnHost(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = MatConvert(A, type, reuse, B);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ConvertFromAIJ() after a conversion that may have failed, which then left MATAIJ as it was. */
static PetscErrorCode ConvertBack(Mat A, MatType type, PetscErrorCode ierr)
{
  PetscBool plain;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &plain, MATSEQAIJ, MATMPIAIJ, ""));
  if (plain) PetscCall(ConvertFromAIJ(A, type));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode ConvertInPlace(Mat A, MatType type)
{
  char           old[256];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(old, ((PetscObject)A)->type_name, sizeof(old)));
  PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INPLACE_MATRIX, &A));
  ierr = ConvertOnHost(A, type, MAT_INPLACE_MATRIX, &A);
  if (ierr != PETSC_SUCCESS) ierr = ConvertBack(A, old, ierr);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsAIJ(Mat A, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, is, MATSEQAIJ, MATMPIAIJ, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MAT_REUSE_MATRIX to another subclass of AIJ, which PETSc's own conversions overlook. The assembly renews what MATAIJCRL made of the values. */
static PetscErrorCode CopyToSubclass(Mat A, Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvert_AIJCUDA - MatConvert() of a matrix of ours to a type that is not AIJ, or to another subclass of AIJ: what MATAIJ gives. Collective.

  A conversion in place that fails leaves A as it was. Costs a MATAIJ copy, which goes afterwards, beside the conversion.
*/
PetscErrorCode MatConvert_AIJCUDA(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  Mat            plain;
  PetscBool      is_aij = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(ConvertInPlace(A, type));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_REUSE_MATRIX) PetscCall(IsAIJ(*B, &is_aij));
  PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INITIAL_MATRIX, &plain));
  PetscCallGoto(ierr, cleanup, MatSetOptionsPrefix(plain, ((PetscObject)A)->prefix));
  PetscCallGoto(ierr, cleanup, MatPropagateSymmetryOptions(A, plain));
  if (is_aij) PetscCallGoto(ierr, cleanup, CopyToSubclass(plain, *B));
  else PetscCallGoto(ierr, cleanup, ConvertOnHost(plain, type, reuse, B));
cleanup:
  PetscCall(MatDestroy(&plain));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert() to MATAIJ in its sequential or parallel form. -matconvert_type may have asked for our type and must not do so again: the options prefix is another one meanwhile. */
static PetscErrorCode ConvertToAIJ(Mat A, MatType base, MatReuse reuse, Mat *B)
{
  char          *prefix = NULL;
  PetscBool      set;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-matconvert_type", &set));
  if (!set) {
    PetscCall(ConvertOnHost(A, base, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscStrallocpy(((PetscObject)A)->prefix, &prefix));
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)A, "petscsparsecuda_convert_"));
  ierr = ConvertOnHost(A, base, reuse, B);
  PetscCall(PetscObjectSetOptionsPrefix((PetscObject)A, prefix));
  PetscCall(PetscFree(prefix));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The MATAIJ that stands for one of our types. */
static PetscErrorCode GetBaseType(MatType type, MatType *base)
{
  PetscBool is_seq, is_mpi;

  PetscFunctionBegin;
  PetscCall(PetscStrbeginswith(type, "seq", &is_seq));
  PetscCall(PetscStrbeginswith(type, "mpi", &is_mpi));
  *base = is_seq ? MATSEQAIJ : is_mpi ? MATMPIAIJ : MATAIJ;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of a MATAIJ into another matrix; one of ours is MATAIJ meanwhile. */
static PetscErrorCode CopyFromAIJ(Mat A, Mat B)
{
  char           type[256];
  PetscBool      ours[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(type, ((PetscObject)B)->type_name, sizeof(type)));
  PetscCall(MatIsSeqAIJCUDA(B, &ours[0]));
  PetscCall(MatIsMPIAIJCUDA(B, &ours[1]));
  if (ours[0] || ours[1]) PetscCall(MatAIJCUDAConvertToAIJ(B, MAT_INPLACE_MATRIX, &B));
  ierr = MatCopy(A, B, DIFFERENT_NONZERO_PATTERN); // zeros may have come or gone
  if (ours[0] || ours[1]) ierr = ConvertBack(B, type, ierr);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MAT_REUSE_MATRIX. PETSc's own ones to MATAIJ leave values where there is a zero now (MATDENSE), or spoil row offsets (MATSBAIJ with blocks). */
static PetscErrorCode ConvertInto(Mat A, MatType base, Mat B)
{
  Mat            plain;
  PetscBool      is_aij;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(IsAIJ(A, &is_aij));
  if (is_aij) {
    PetscCall(CopyFromAIJ(A, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ConvertToAIJ(A, base, MAT_INITIAL_MATRIX, &plain));
  ierr = CopyFromAIJ(plain, B);
  PetscCall(MatDestroy(&plain));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of our types a conversion is for. PETSc asks us for MATSEQAIJ, too, where -mat_seqaij_type makes those ours. */
static PetscErrorCode GetOurType(Mat A, MatType type, MatType *ours)
{
  const MatAIJCUDATypes *types;
  MatType                registered;
  char                   name[256];
  PetscBool              set;

  PetscFunctionBegin;
  *ours = type;
  PetscCall(MatAIJCUDATypesFind(type, &types));
  PetscCall(MatDeviceStorageFind(type, &registered));
  if (types != NULL || registered != NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetString(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_seqaij_type", name, sizeof(name), &set));
  if (set) PetscCall(MatAIJCUDATypesFind(name, &types));
  *ours = types != NULL ? types->seq : MATSEQAIJDCSRCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is of one of our types, and on one process when the new type is sequential, on several when it is parallel. */
static PetscErrorCode IsOursInForm(Mat A, MatType type, PetscBool *is)
{
  PetscBool is_seq, is_mpi, to_seq, to_mpi;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is_seq));
  PetscCall(MatIsMPIAIJCUDA(A, &is_mpi));
  PetscCall(PetscStrbeginswith(type, "seq", &to_seq));
  PetscCall(PetscStrbeginswith(type, "mpi", &to_mpi));
  *is = (PetscBool)((is_seq && !to_mpi) || (is_mpi && !to_seq));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatConvertFrom_AIJCUDA - MatConvert() of a matrix that is not MATAIJ to one of our types: what MATAIJ gets; and between our types. Collective.

  Costs the conversion to MATAIJ; values come to the device when they are used. A matrix of another one of our types stays on the device, unless it goes into one that is there already.
*/
PetscErrorCode MatConvertFrom_AIJCUDA(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  MatType        base;
  PetscBool      ours = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetBaseType(type, &base));
  PetscCall(IsOursInForm(A, type, &ours));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(ConvertInto(A, base, *B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GetOurType(A, type, &type));
  if (!ours) PetscCall(ConvertToAIJ(A, base, reuse, B));
  else if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  ierr = ConvertFromAIJ(*B, type);
  if (ierr != PETSC_SUCCESS && reuse == MAT_INITIAL_MATRIX) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
