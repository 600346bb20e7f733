/*
  Composed functions of MATSEQAIJ and MATMPIAIJ ("..._C") that use the host arrays directly, called through the host copy.
*/
#include "composed.h"
#include "host.h"
#include "wrappers.h"
#include "../core/core.h"
#include "../../../../petsc/parents.h"

/* MatAIJCUDAHostReplaced - A matrix got new host arrays: the host copy is the matrix, the device copy is void. */
PetscErrorCode MatAIJCUDAHostReplaced(Mat A)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &is));
  if (is) {
    MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_ON_HOST);
    ((Mat_SeqAIJ *)A->data)->inode.use = PETSC_FALSE; // MatResetHash() turns it on again
    PetscCall(MatSeqAIJCUDADropDevice(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A wrapper around a parent function that discards the old entries: no copy to the host first. */
#define DEFINE_REPLACE(name, function, parameters, arguments) \
  PetscErrorCode name parameters \
  { \
    PetscFunctionBegin; \
    PetscCall(MatSeqAIJCUDADiscardStaged(A)); \
    PetscCall(MatSeqAIJCUDAShowHostArrays(A)); \
    PetscCall((*function)arguments); \
    PetscCall(MatAIJCUDAHostReplaced(A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* A wrapper around a parent function that uses the old entries. */
#define DEFINE_COMPOSED(name, function, parameters, arguments, access) \
  PetscErrorCode name parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBegin(A, access)); \
    ierr = (*function)arguments; \
    PetscCall(MatAIJCUDAHostFinish(A, access, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

/* The same with a second matrix that is read. */
#define DEFINE_COMPOSED_TWO(name, function, parameters, arguments) \
  PetscErrorCode name parameters \
  { \
    PetscErrorCode ierr; \
\
    PetscFunctionBegin; \
    PetscCall(MatAIJCUDAHostBeginTwo(A, HOST_READ, B, HOST_READ)); \
    ierr = (*function)arguments; \
    PetscCall(MatAIJCUDAHostFinishTwo(A, HOST_READ, B, HOST_READ, ierr)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

DEFINE_REPLACE(MatHost_SeqAIJCUDA_SetPreallocation, MatAIJCUDAParentSeq.setpreallocation, (Mat A, PetscInt nz, const PetscInt nnz[]), (A, nz, nnz))
DEFINE_REPLACE(MatHost_SeqAIJCUDA_ResetHash, MatAIJCUDAParentSeq.resethash, (Mat A), (A))
DEFINE_COMPOSED(MatSeqAIJSetPreallocationCSR_SeqAIJCUDA, MatAIJCUDAParentSeq.setpreallocationcsr, (Mat A, const PetscInt i[], const PetscInt j[], const PetscScalar v[]), (A, i, j, v), HOST_BUILD)
DEFINE_COMPOSED(MatHost_SeqAIJCUDA_SetColumnIndices, MatAIJCUDAParentSeq.setcolumnindices, (Mat A, PetscInt *j), (A, j), HOST_BUILD)
DEFINE_COMPOSED(MatStoreValues_SeqAIJCUDA, MatAIJCUDAParentSeq.storevalues, (Mat A), (A), HOST_READ)
DEFINE_COMPOSED(MatRetrieveValues_SeqAIJCUDA, MatAIJCUDAParentSeq.retrievevalues, (Mat A), (A), HOST_WRITE)
DEFINE_COMPOSED(MatHost_SeqAIJCUDA_ResetPreallocation, MatAIJCUDAParentSeq.resetpreallocation, (Mat A), (A), HOST_BUILD)
DEFINE_COMPOSED(MatReorderForNonzeroDiagonal_SeqAIJCUDA, MatAIJCUDAParentSeq.reorder, (Mat A, PetscReal atol, IS rows, IS columns), (A, atol, rows, columns), HOST_READ)
DEFINE_COMPOSED_TWO(MatHost_SeqAIJCUDA_IsTranspose, MatAIJCUDAParentSeq.istranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED_TWO(MatHost_SeqAIJCUDA_IsHermitianTranspose, MatAIJCUDAParentSeq.ishermitiantranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
DEFINE_COMPOSED_TWO(MatIsTranspose_MPIAIJCUDA, MatAIJCUDAParentMPI.istranspose, (Mat A, Mat B, PetscReal tol, PetscBool *f), (A, B, tol, f))
/* MatMPIAIJSetUseScalableIncreaseOverlap(), which puts an operation of the parent into the table: without it one that reads the arrays of the blocks. */
PetscErrorCode MatMPIAIJSetUseScalableIncreaseOverlap_MPIAIJCUDA(Mat A, PetscBool scalable)
{
  struct _MatOps *parent = &MatMPIAIJCUDAGet(A)->parent, *installed = &MatMPIAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
  PetscCall((*MatAIJCUDAParentMPI.setscalableoverlap)(A, scalable));
  INSTALL_WRAPPER(A->ops, parent, installed, MatHost_MPIAIJCUDA_, increaseoverlap);
  PetscFunctionReturn(PETSC_SUCCESS);
}

DEFINE_COMPOSED(MatHost_MPIAIJCUDA_ResetPreallocation, MatAIJCUDAParentMPI.resetpreallocation, (Mat A), (A), HOST_BUILD)

/* MatSeqAIJKron(). PETSc 3.26 takes MATSEQAIJ alone for B, no subclass (aij.c:4136): a matrix of ours is copied as one. */
PetscErrorCode MatSeqAIJKron_SeqAIJCUDA(Mat A, Mat B, MatReuse reuse, Mat *C)
{
  Mat            right = B, copy = NULL;
  PetscBool      ours;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(B, &ours));
  if (ours) {
    PetscCall(MatConvert(B, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
    right = copy;
  }
  PetscCallGoto(ierr, done, MatAIJCUDAHostBeginTwo(A, HOST_READ, right, HOST_READ));
  if (reuse == MAT_REUSE_MATRIX) ierr = MatAIJCUDAHostBegin(*C, HOST_WRITE);
  if (ierr == PETSC_SUCCESS) {
    ierr = (*MatAIJCUDAParentSeq.kron)(A, right, reuse, C);
    if (reuse == MAT_REUSE_MATRIX) ierr = MatAIJCUDAHostFinish(*C, HOST_WRITE, ierr);
  }
  ierr = MatAIJCUDAHostFinishTwo(A, HOST_READ, right, HOST_READ, ierr);
done:
  PetscCall(MatDestroy(&copy));
  PetscFunctionReturn(ierr);
}

/* MatConvert_AIJCUDA_IS - MatConvert() to MATIS by the parent's function; without it PETSc would take a general one that gives MATIS other local matrices. Collective. */
PetscErrorCode MatConvert_AIJCUDA_IS(Mat A, MatType type, MatReuse reuse, Mat *B)
{
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *);
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_seqaij_is_C", &convert));
  if (convert == NULL) PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatConvert_mpiaij_is_C", &convert));
  PetscCheck(convert != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "MATAIJ of this PETSc has no conversion to MATIS");
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ));
  ierr = (*convert)(A, type, reuse, B);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The names of a table with one type, made once: every new matrix needs them. There are two tables for each of eight sequential types (MAX_TYPES in state/storage.c), and eight more for each of four
  families (MAX_FAMILIES in state/types.c).
*/
#define MAX_TABLES    48
#define MAX_FUNCTIONS 24
#define NAME_SIZE     128
static struct {
  const MatAIJCUDANamedFunction *table;
  char                           type[NAME_SIZE];
  char                           names[MAX_FUNCTIONS][NAME_SIZE];
} made[MAX_TABLES];
static size_t num_made = 0;

static PetscErrorCode MakeNames(const MatAIJCUDANamedFunction table[], size_t num_functions, MatType type)
{
  size_t length;

  PetscFunctionBegin;
  PetscCheck(num_made < MAX_TABLES && num_functions <= MAX_FUNCTIONS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for the names of %zu composed functions of type %s: raise MAX_TABLES or MAX_FUNCTIONS",
             num_functions, type);
  for (size_t k = 0; k < num_functions; k++) {
    PetscCall(PetscSNPrintfCount(made[num_made].names[k], NAME_SIZE, table[k].format, &length, type, type, type));
    PetscCheck(length <= NAME_SIZE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The name of type %s is too long for those of its composed functions: raise NAME_SIZE", type);
  }
  PetscCall(PetscStrncpy(made[num_made].type, type, NAME_SIZE));
  made[num_made].table = table;
  num_made++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *k: where the names of a table with a type are. */
static PetscErrorCode FindNames(const MatAIJCUDANamedFunction table[], size_t num_functions, MatType type, size_t *k)
{
  PetscBool same;

  PetscFunctionBegin;
  for (*k = 0; *k < num_made; (*k)++) {
    if (made[*k].table != table) continue;
    PetscCall(PetscStrcmp(made[*k].type, type, &same));
    if (same) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MakeNames(table, num_functions, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAComposeNamed - Composes the functions of a table, which are static, under the names that they have with a type, or removes them.

  A is a matrix of ours, or one that got the functions of one and is none.
*/
PetscErrorCode MatAIJCUDAComposeNamed(Mat A, MatType type, size_t num_functions, const MatAIJCUDANamedFunction table[], PetscBool compose)
{
  size_t k;

  PetscFunctionBegin;
  PetscCall(FindNames(table, num_functions, type, &k));
  for (size_t i = 0; i < num_functions; i++) {
    PetscErrorCodeFn *f = compose ? table[i].function : NULL;

    if (compose && table[i].parent != NULL) PetscCall(PetscObjectQueryFunction((PetscObject)A, table[i].parent, &f));
    PetscCall(PetscObjectComposeFunction((PetscObject)A, made[k].names[i], f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
