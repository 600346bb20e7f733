/*
  MATMAIJ multiplies with, and is converted from, the arrays of the matrix that it was made of. MatCreateMAIJ() sets its operations after its constructor, so we put ours in front of them at the
  first chance after that: MatCreateVecs() of the MATMAIJ, whose position in the table it leaves to us, a product that is ours, and what is announced to log handlers (events.c).
*/
#include "host.h"
#include "../core/core.h"
#include "../../../../petsc/mat.h"
#include "../../../../petsc/vec.h"

/* What MatCreateMAIJ() set. */
typedef struct {
  PetscErrorCode (*mult)(Mat, Vec, Vec);
  PetscErrorCode (*multadd)(Mat, Vec, Vec, Vec);
  PetscErrorCode (*multtranspose)(Mat, Vec, Vec);
  PetscErrorCode (*multtransposeadd)(Mat, Vec, Vec, Vec);
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);
} Parent;

static const char parent_name[] = "MatAIJCUDA_MAIJ";

/* Gives a parallel MATMAIJ a ghost vector that lives where x does: PETSc 3.26 does not scatter between host and device when MPI is not GPU-aware. */
static PetscErrorCode MatchGhostVector(Mat M, Vec x)
{
  Mat_MPIMAIJ *maij = (Mat_MPIMAIJ *)M->data;
  PetscBool    parallel;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATMPIMAIJ, &parallel));
  if (!parallel) PetscFunctionReturn(PETSC_SUCCESS);
  if (VecIsOnDevice(x) == VecIsOnDevice(maij->w)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(maij->w, &n));
  PetscCall(VecDestroy(&maij->w));
  PetscCall(VecCreate(PETSC_COMM_SELF, &maij->w));
  PetscCall(VecSetSizes(maij->w, n, n));
  PetscCall(VecSetBlockSize(maij->w, maij->dof));
  PetscCall(VecSetType(maij->w, VecIsOnDevice(x) ? VECSEQCUDA : VECSEQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatMAIJShowMatrixBelow_AIJCUDA - Brings the host arrays of the matrix below a MATMAIJ up to date, which are read right after this call.

  M is any matrix; others than a MATMAIJ of a matrix of ours are left alone. *maij: whether it is a MATMAIJ.
*/
PetscErrorCode MatMAIJShowMatrixBelow_AIJCUDA(Mat M, PetscBool *maij)
{
  Mat       A;
  PetscBool sequential;

  PetscFunctionBegin;
  PetscCall(MatMAIJGetAIJ(M, &A));
  *maij = (PetscBool)(A != NULL && A != M);
  if (!*maij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSeqAIJCUDA(A, &sequential));
  if (sequential) PetscCall(MatSeqAIJCUDAKeepStructure(A));
  PetscCall(MatAIJCUDAShowToReader(A, HOST_READ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before a product of M with x. */
static PetscErrorCode BeginMultiply(Mat M, Vec x, Parent **parent)
{
  Mat       A;
  PetscBool maij, parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)M, parent_name, parent));
  PetscCall(MatMAIJGetAIJ(M, &A));
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  if (parallel) PetscCall(MatchGhostVector(M, x));
  PetscCall(MatMAIJShowMatrixBelow_AIJCUDA(M, &maij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_PRODUCT(name, operation, parameters, arguments) \
  static PetscErrorCode name##_MAIJ_AIJCUDA parameters \
  { \
    Parent *parent; \
\
    PetscFunctionBegin; \
    PetscCall(BeginMultiply(M, x, &parent)); \
    PetscCall((*parent->operation)arguments); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
DEFINE_PRODUCT(MatMult, mult, (Mat M, Vec x, Vec y), (M, x, y))
DEFINE_PRODUCT(MatMultAdd, multadd, (Mat M, Vec x, Vec y, Vec z), (M, x, y, z))
DEFINE_PRODUCT(MatMultTranspose, multtranspose, (Mat M, Vec x, Vec y), (M, x, y))
DEFINE_PRODUCT(MatMultTransposeAdd, multtransposeadd, (Mat M, Vec x, Vec y, Vec z), (M, x, y, z))
#undef DEFINE_PRODUCT

/* With MAT_INPLACE_MATRIX what we keep of the MATMAIJ goes with it. */
static PetscErrorCode MatConvert_MAIJ_AIJCUDA(Mat M, MatType type, MatReuse reuse, Mat *B)
{
  Parent   *parent;
  PetscBool maij;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)M, parent_name, &parent));
  PetscCall(MatMAIJShowMatrixBelow_AIJCUDA(M, &maij));
  PetscCall((*parent->convert)(M, type, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours in front of the operations of a complete MATMAIJ. */
static PetscErrorCode PutInFront(Mat M)
{
  Parent     *parent;
  PetscBool   parallel;
  const char *convert;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATMPIMAIJ, &parallel));
  convert = parallel ? "MatConvert_mpimaij_mpiaij_C" : "MatConvert_seqmaij_seqaij_C";
  PetscCall(PetscNew(&parent));
  PetscCall(PetscSparseCUDACompose((PetscObject)M, parent_name, parent, PetscCtxDestroyDefault));
  parent->mult             = M->ops->mult;
  parent->multadd          = M->ops->multadd;
  parent->multtranspose    = M->ops->multtranspose;
  parent->multtransposeadd = M->ops->multtransposeadd;
  M->ops->mult             = MatMult_MAIJ_AIJCUDA;
  M->ops->multadd          = MatMultAdd_MAIJ_AIJCUDA;
  M->ops->multtranspose    = MatMultTranspose_MAIJ_AIJCUDA;
  M->ops->multtransposeadd = MatMultTransposeAdd_MAIJ_AIJCUDA;
  PetscCall(PetscObjectQueryFunction((PetscObject)M, convert, &parent->convert));
  if (parent->convert != NULL) PetscCall(PetscObjectComposeFunction((PetscObject)M, convert, MatConvert_MAIJ_AIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateVecs_MAIJ_AIJCUDA(Mat, Vec *, Vec *);

/* MatMAIJPrepare_AIJCUDA - Makes a MATMAIJ ask for the host arrays of the matrix below it, from now on. Any other matrix, and one that asks already, are left alone. */
PetscErrorCode MatMAIJPrepare_AIJCUDA(Mat M)
{
  Mat A;

  PetscFunctionBegin;
  if (M->ops->getvecs != MatCreateVecs_MAIJ_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  M->ops->getvecs = NULL;
  PetscCall(MatMAIJGetAIJ(M, &A));
  if (A != NULL && A != M) PetscCall(PutInFront(M)); // there is none without MatCreateMAIJ()
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Only the first time: a MATMAIJ has no such operation of its own. */
static PetscErrorCode MatCreateVecs_MAIJ_AIJCUDA(Mat M, Vec *right, Vec *left)
{
  PetscFunctionBegin;
  PetscCall(MatMAIJPrepare_AIJCUDA(M));
  PetscCall(MatCreateVecs(M, right, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*parent_create)(Mat) = NULL;

static PetscErrorCode MatCreate_MAIJ_AIJCUDA(Mat M)
{
  PetscFunctionBegin;
  PetscCall((*parent_create)(M));
  M->ops->getvecs = MatCreateVecs_MAIJ_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDARegisterMAIJ - Registers PETSc's constructor of MATMAIJ again, with our code around it; part of PetscSparseCUDAInitialize(). */
PetscErrorCode MatAIJCUDARegisterMAIJ(void)
{
  const MatType types[] = {MATSEQMAIJ, MATMPIMAIJ, MATMAIJ};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscErrorCode (*create)(Mat);

    PetscCall(PetscFunctionListFind(MatList, types[k], &create));
    if (create == NULL || create == MatCreate_MAIJ_AIJCUDA) continue;
    parent_create = create;
    PetscCall(MatRegister(types[k], MatCreate_MAIJ_AIJCUDA));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
