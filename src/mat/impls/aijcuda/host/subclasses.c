/*
  PETSc's own subclasses of MATAIJ (MATAIJPERM and its like), and -mat_seqaij_type.

  PETSc obeys the option whenever a MATSEQAIJ is made, also when that is the first step of a constructor to a subclass, or a block that a subclass is about to convert.
  The subclass would then take our data for its own. So their constructors, and functions of parallel ones that make blocks, are registered again with our code around
  them, which counts as host code; and the functions behind the option, theirs and ours, leave matrices alone that are made while host code runs.
*/
#include "host.h"
#include "wrappers.h"
#include "../core/core.h"
#include "../parallel/parallel.h"

/* X(name, sequential type, parallel type) for each subclass that PETSc may have. */
#define SUBCLASSES(X) \
  X(crl, MATSEQAIJCRL, MATMPIAIJCRL) \
  X(perm, MATSEQAIJPERM, MATMPIAIJPERM) \
  X(sell, MATSEQAIJSELL, MATMPIAIJSELL) \
  X(mkl, MATSEQAIJMKL, MATMPIAIJMKL) \
  X(cusparse, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE) \
  X(hipsparse, MATSEQAIJHIPSPARSE, MATMPIAIJHIPSPARSE) \
  X(kokkos, MATSEQAIJKOKKOS, MATMPIAIJKOKKOS) \
  X(viennacl, MATSEQAIJVIENNACL, MATMPIAIJVIENNACL)

typedef PetscErrorCode (*MatFn)(Mat);
typedef PetscErrorCode (*ConvertFn)(Mat, MatType, MatReuse, Mat *);
typedef PetscErrorCode (*PreallocationFn)(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);

/* PETSc's functions for one subclass. */
typedef struct {
  MatFn           create_seq, create_mpi; /* constructors */
  ConvertFn       convert;                /* what -mat_seqaij_type calls */
  ConvertFn       convert_mpi;            /* from MATMPIAIJ */
  PreallocationFn setpreallocation;       /* of the parallel type: these make blocks */
  MatFn           resethash, setup;
} Subclass;

/*
  MatSetType() of an assembled matrix destroys its data before it calls the constructor of the new type, unless that is a subclass of the old one by its name. Entries of
  matrices of ours outlive it when the new type is AIJ: the option makes ours of a MATSEQAIJ that PETSc is about to give the type of another matrix.
*/
static struct {
  Mat           matrix;  /* MATSEQAIJ or MATMPIAIJ, NULL: none */
  PetscObjectId of;      /* whose entries, */
  PetscInt      num_ass; /* and after how many of its assemblies */
  PetscBool     created; /* by our constructor: then MATSEQAIJ starts without entries, as PETSc has it */
} saved = {NULL, 0, 0, PETSC_FALSE};

/* MatAIJCUDAForgetSaved - Frees the entries that a change of type left behind, if any. */
PetscErrorCode MatAIJCUDAForgetSaved(void)
{
  Mat matrix = saved.matrix;

  PetscFunctionBegin;
  saved.matrix = NULL;
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDAChangesType - Whether it is MatSetType() that destroys the data of an assembled matrix: MatDestroy() comes without references, MatHeaderMerge() without a type. */
PetscBool MatAIJCUDAChangesType(Mat A)
{
  return (PetscBool)(((PetscObject)A)->refct > 0 && ((PetscObject)A)->type_name != NULL && A->assembled && A->factortype == MAT_FACTOR_NONE);
}

/* An empty matrix of the type and with the layouts of A. */
static PetscErrorCode CreateEmpty(Mat A, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = MatSetLayouts(*B, A->rmap, A->cmap);
  if (ierr == PETSC_SUCCESS) ierr = MatSetType(*B, ((PetscObject)A)->type_name);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDASave - Keeps the data of a matrix whose type changes. Collective.

  A is a MATSEQAIJ or MATMPIAIJ, which ours has become; its data are those of an empty matrix afterwards. created: whether our constructor made it.
*/
PetscErrorCode MatAIJCUDASave(Mat A, PetscBool created)
{
  Mat   B;
  void *data = A->data;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAForgetSaved());
  PetscCall(CreateEmpty(A, &B));
  A->data           = B->data;
  B->data           = data; // the same arrays: whoever gave them to the matrix may hold them
  B->ops[0]         = A->ops[0];
  B->assembled      = PETSC_TRUE;
  B->was_assembled  = A->was_assembled;
  B->preallocated   = PETSC_TRUE;
  B->structure_only = A->structure_only;
  MatAIJCUDASetNonzeroState(B, A->nonzerostate);
  B->num_ass    = A->num_ass;
  saved.matrix  = B;
  saved.num_ass = A->num_ass;
  saved.created = created;
  PetscCall(PetscObjectGetId((PetscObject)A, &saved.of));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertAsHostCode(Mat A, MatType type)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = MatConvert(A, type, MAT_INPLACE_MATRIX, &A);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define EXCHANGE(type, field) \
  do { \
    type of_a = A->field; \
\
    A->field = B->field; \
    B->field = of_a; \
  } while (0)

/* Two matrices of the same layouts exchange types and data. The headers stay, with what others have noted there: composed objects, products, flags, and whatever else MatSetType() leaves. */
static void ExchangeData(Mat A, Mat B)
{
  EXCHANGE(char *, hdr.type_name);
  EXCHANGE(PetscFunctionList, hdr.qlist);
  EXCHANGE(char *, defaultvectype);
  EXCHANGE(PetscBool, boundtocpu);
  EXCHANGE(void *, data);
  EXCHANGE(void *, spptr);
  EXCHANGE(struct _MatOps, ops[0]);
  EXCHANGE(PetscOffloadMask, offloadmask);
  EXCHANGE(PetscBool, assembled);
  EXCHANGE(PetscBool, was_assembled);
  EXCHANGE(PetscBool, preallocated);
  EXCHANGE(PetscObjectState, nonzerostate);
}

/*
  MatAIJCUDARestoreSaved - Gives a matrix, which its constructor has just made, the entries that it had before as one of our types. Collective.

  Without entries that are kept for A nothing is done. The type is A's, a subclass of MATSEQAIJ or MATMPIAIJ, or one of these.
*/
PetscErrorCode MatAIJCUDARestoreSaved(Mat A, MatType type)
{
  Mat            B = saved.matrix;
  PetscObjectId  id;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (B == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  if (id != saved.of || A->num_ass != saved.num_ass) PetscFunctionReturn(PETSC_SUCCESS);
  saved.matrix = NULL;
  ierr         = ConvertAsHostCode(B, type);
  if (ierr == PETSC_SUCCESS) ierr = MatAIJCUDARaiseNonzeroState(B, A->nonzerostate - 2); // what it was before MatSetType(), since the pattern is the same
  if (ierr == PETSC_SUCCESS) ExchangeData(A, B);
  PetscCall(MatDestroy(&B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*parent_duplicate)(Mat, MatDuplicateOption, Mat *) = NULL;

/*
  A MATSEQAIJ that is none of ours in spite of the option, since host code made it, has duplicates of its own type. The option would make them ours before PETSc gives them the inodes and the
  composed functions of the original, and they would lose the inodes at the next assembly.
*/
static PetscErrorCode MatDuplicate_SeqAIJ_AIJCUDA(Mat A, MatDuplicateOption option, Mat *B)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = (*parent_duplicate)(A, option, B);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJKeepDuplicates_AIJCUDA - Makes duplicates of a MATSEQAIJ, now and later, of that type, whatever -mat_seqaij_type says. Sequential subclasses of it are left alone. */
PetscErrorCode MatSeqAIJKeepDuplicates_AIJCUDA(Mat A)
{
  PetscBool plain;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &plain));
  if (!plain || A->ops->duplicate == MatDuplicate_SeqAIJ_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  parent_duplicate  = A->ops->duplicate; // the same for all of them
  A->ops->duplicate = MatDuplicate_SeqAIJ_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's constructor of MATSEQAIJ, for matrices that the option made ours on the way to another type. */
static PetscErrorCode MatCreate_SeqAIJ_AIJCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJ(A));
  PetscCall(MatSeqAIJKeepDuplicates_AIJCUDA(A));
  if (saved.matrix != NULL && !saved.created) PetscCall(MatAIJCUDARestoreSaved(A, MATSEQAIJ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls PETSc's code with -mat_seqaij_type switched off. */
static PetscErrorCode CallAsHostCode(MatFn f, Mat A)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = (*f)(A);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PreallocateAsHostCode(PreallocationFn f, Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = (*f)(A, d_nz, d_nnz, o_nz, o_nnz);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stands in front of the functions of a parallel subclass that make blocks. */
typedef struct {
  PreallocationFn setpreallocation;
  MatFn           resethash, setup;
} BlockMakers;

static PetscErrorCode WrapBlockMakers(Mat A, Subclass *parent, const BlockMakers *ours)
{
  PreallocationFn setpreallocation;
  MatFn           resethash;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", &setpreallocation));
  if (setpreallocation != NULL && setpreallocation != ours->setpreallocation) {
    parent->setpreallocation = setpreallocation;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", ours->setpreallocation));
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatResetHash_C", &resethash));
  if (resethash != NULL && resethash != ours->resethash) {
    parent->resethash = resethash;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatResetHash_C", ours->resethash));
  }
  if (A->ops->setup != NULL && A->ops->setup != ours->setup) {
    parent->setup = A->ops->setup;
    A->ops->setup = ours->setup;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateParallel(Mat A, Subclass *parent, const BlockMakers *ours)
{
  PetscFunctionBegin;
  PetscCall(CallAsHostCode(parent->create_mpi, A));
  PetscCall(WrapBlockMakers(A, parent, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of a MATMPIAIJ become MATSEQAIJ where -mat_seqaij_type made them ours. */
static PetscErrorCode ReleaseBlocks(Mat A)
{
  Mat_MPIAIJ *a         = (Mat_MPIAIJ *)A->data;
  Mat         blocks[2] = {a->A, a->B};
  PetscBool   ours, any = PETSC_FALSE;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatIsSeqAIJCUDA(blocks[k], &ours));
    if (ours) PetscCall(MatAIJCUDAConvertToAIJ(blocks[k], MAT_INPLACE_MATRIX, &blocks[k]));
    any = (PetscBool)(any || ours);
  }
  if (any && a->lvec != NULL) {
    PetscCall(VecDestroy(&a->lvec));
    PetscCall(MatCreateVecs(a->B, &a->lvec, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertInPlaceToParallel(Mat A, MatType type, Subclass *parent, const BlockMakers *ours)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(ReleaseBlocks(A));
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ));
  ierr = (*parent->convert_mpi)(A, type, MAT_INPLACE_MATRIX, &A);
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscCall(WrapBlockMakers(A, parent, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert() from MATMPIAIJ to a subclass, whose code takes the blocks for MATSEQAIJ. */
static PetscErrorCode ConvertToParallel(Mat A, MatType type, MatReuse reuse, Mat *B, Subclass *parent, const BlockMakers *ours)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall((*parent->convert_mpi)(A, type, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  ierr = ConvertInPlaceToParallel(*B, type, parent, ours);
  if (ierr != PETSC_SUCCESS && reuse == MAT_INITIAL_MATRIX) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Any sequential AIJ matrix becomes MATSEQAIJ, whatever the option says; conversions to subclasses begin there. */
static PetscErrorCode BecomeSeqAIJ(Mat A)
{
  PetscBool ours, plain;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &plain));
  if (plain) PetscFunctionReturn(PETSC_SUCCESS);
  if (ours) {
    PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ConvertAsHostCode(A, MATSEQAIJ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_seqaij_type and MatSeqAIJSetType() do for a subclass of PETSc. */
static PetscErrorCode SetSubclass(Mat A, MatType type, ConvertFn convert)
{
  PetscFunctionBegin;
  if (MatAIJCUDAInHostCode()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BecomeSeqAIJ(A));
  PetscCall((*convert)(A, type, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJSetType_AIJCUDA - What -mat_seqaij_type and MatSeqAIJSetType() do for our types; see MatConvert() for the parameters.

  Matrices that are made while host code runs are left as they are: PETSc calls this inside our own constructor, too.
*/
PetscErrorCode MatSeqAIJSetType_AIJCUDA(Mat A, MatType type, PETSC_UNUSED MatReuse reuse, PETSC_UNUSED Mat *B)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (MatAIJCUDAInHostCode()) PetscFunctionReturn(PETSC_SUCCESS);
  if (!ours) PetscCall(BecomeSeqAIJ(A));
  PetscCall((*MatAIJCUDAHook.from_seqaij)(A, type, MAT_INPLACE_MATRIX, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_SUBCLASS(name, seq, mpi) \
  static Subclass       name; \
  static PetscErrorCode MatCreate_seq_##name(Mat A) \
  { \
    PetscFunctionBegin; \
    PetscCall(CallAsHostCode(name.create_seq, A)); \
    PetscCall(MatAIJCUDARestoreSaved(A, seq)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatSetUp_mpi_##name(Mat A) \
  { \
    PetscFunctionBegin; \
    PetscCall(CallAsHostCode(name.setup, A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatResetHash_mpi_##name(Mat A) \
  { \
    PetscFunctionBegin; \
    PetscCall(CallAsHostCode(name.resethash, A)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatSetPreallocation_mpi_##name(Mat A, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[]) \
  { \
    PetscFunctionBegin; \
    PetscCall(PreallocateAsHostCode(name.setpreallocation, A, d_nz, d_nnz, o_nz, o_nnz)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static const BlockMakers block_makers_##name = {MatSetPreallocation_mpi_##name, MatResetHash_mpi_##name, MatSetUp_mpi_##name}; \
  static PetscErrorCode    MatCreate_mpi_##name(Mat A) \
  { \
    PetscFunctionBegin; \
    PetscCall(CreateParallel(A, &name, &block_makers_##name)); \
    PetscCall(MatAIJCUDARestoreSaved(A, mpi)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatConvert_mpi_##name(Mat A, MatType type, MatReuse reuse, Mat *B) \
  { \
    PetscFunctionBegin; \
    PetscCall(ConvertToParallel(A, type, reuse, B, &name, &block_makers_##name)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatSeqAIJSetType_##name(Mat A, MatType type, PETSC_UNUSED MatReuse reuse, PETSC_UNUSED Mat *B) \
  { \
    PetscFunctionBegin; \
    PetscCall(SetSubclass(A, type, name.convert)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
SUBCLASSES(DEFINE_SUBCLASS)
#undef DEFINE_SUBCLASS

/*
  A MATMPIAIJ has blocks of ours with -mat_seqaij_type, and submatrices of the type of its blocks. PETSc writes into the arrays of those that are used again without a
  word to them, and its conversions to subclasses take the blocks for MATSEQAIJ.
*/
static CreateSubMatricesFn parent_createsubmatrices = NULL;

static PetscErrorCode MatCreateSubMatrices_MPIAIJ_AIJCUDA(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDACreateSubMatricesOnHost(parent_createsubmatrices, A, n, rows, columns, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composes our function in place of PETSc's conversion to a subclass, when there is one; *parent is what it was. */
static PetscErrorCode ComposeConversion(Mat A, MatType type, ConvertFn ours, ConvertFn *parent)
{
  char      name[128];
  ConvertFn f;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "MatConvert_%s_%s_C", MATMPIAIJ, type));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &f));
  if (f == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  *parent = f;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCreate_MPIAIJ_AIJCUDA - PETSc's constructor of MATMPIAIJ, with our code in front of what blocks and submatrices of ours need. Collective. */
PetscErrorCode MatCreate_MPIAIJ_AIJCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJ(A));
  parent_createsubmatrices  = A->ops->createsubmatrices;
  A->ops->createsubmatrices = MatCreateSubMatrices_MPIAIJ_AIJCUDA;
#define COMPOSE(name, seq, mpi) PetscCall(ComposeConversion(A, mpi, MatConvert_mpi_##name, &name.convert_mpi));
  SUBCLASSES(COMPOSE)
#undef COMPOSE
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Registers ours in place of the function of this name in a list, when there is one; *parent is what it was. */
#define REPLACE(list, type, register_function, ours, parent) \
  do { \
    PetscCall(PetscFunctionListFind(list, type, &found)); \
    if (found != NULL && found != ours) { \
      (parent) = found; \
      PetscCall(register_function(type, ours)); \
    } \
  } while (0)

static PetscErrorCode RegisterConstructors(void)
{
  MatFn found;

  PetscFunctionBegin;
#define REGISTER(name, seq, mpi) \
  REPLACE(MatList, seq, MatRegister, MatCreate_seq_##name, name.create_seq); \
  REPLACE(MatList, mpi, MatRegister, MatCreate_mpi_##name, name.create_mpi);
  SUBCLASSES(REGISTER)
#undef REGISTER
  PetscCall(MatRegister(MATSEQAIJ, MatCreate_SeqAIJ_AIJCUDA));
  PetscCall(MatRegister(MATMPIAIJ, MatCreate_MPIAIJ_AIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RegisterOption(void)
{
  ConvertFn found;

  PetscFunctionBegin;
#define REGISTER(name, seq, mpi) REPLACE(MatSeqAIJList, seq, MatSeqAIJRegister, MatSeqAIJSetType_##name, name.convert);
  SUBCLASSES(REGISTER)
#undef REGISTER
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDARegisterSubclasses - Registers PETSc's subclasses of MATAIJ again, with our code around PETSc's; part of PetscSparseCUDAInitialize(). */
PetscErrorCode MatAIJCUDARegisterSubclasses(void)
{
  PetscFunctionBegin;
  PetscCall(RegisterConstructors());
  PetscCall(RegisterOption());
  PetscFunctionReturn(PETSC_SUCCESS);
}
